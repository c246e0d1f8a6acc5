/* kernel.h - replaces a kernel with a clone that has an additional parameter, the token. */
#ifndef PASTA_HANDLERS_OPENCL_TRACE_KERNEL_H
#define PASTA_HANDLERS_OPENCL_TRACE_KERNEL_H

#include <llvm-c/Core.h>
#include <stdbool.h>

/* Replaces a kernel with a clone whose last parameter has the given integer type, and deletes the
 * original. Other kernels that call the kernel pass PASTA_TRACE_NO_TOKEN. The module must have no
 * debug information. Returns NULL when out of memory; the module is then unusable. */
LLVMValueRef trace_clone(LLVMBuilderRef builder, LLVMValueRef kernel, LLVMTypeRef token);

/* Returns whether a parameter is a pointer. A structure that is passed by value does not count as a
 * pointer. */
bool trace_is_address(LLVMValueRef function, unsigned int index);

#endif
