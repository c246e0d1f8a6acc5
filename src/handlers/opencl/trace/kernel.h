/* kernel.h - replaces a kernel by a clone with one more parameter, the token. */
#ifndef PASTA_HANDLERS_OPENCL_TRACE_KERNEL_H
#define PASTA_HANDLERS_OPENCL_TRACE_KERNEL_H

#include <llvm-c/Core.h>
#include <stdbool.h>

/* Replaces a kernel by a clone with a last parameter of the given integer type. The kernel itself
 * is deleted. Other kernels that call it pass PASTA_TRACE_NO_TOKEN. The module must have no debug
 * information. NULL: out of memory, and the module is unusable. */
LLVMValueRef trace_clone(LLVMBuilderRef builder, LLVMValueRef kernel, LLVMTypeRef token);

/* Returns whether a parameter is a pointer. A structure passed by value is not. */
bool trace_is_address(LLVMValueRef function, unsigned int index);

#endif
