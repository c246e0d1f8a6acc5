/* kernel.h - a kernel's twin, that takes one argument more. */
#ifndef PASTA_HANDLERS_OPENCL_TRACE_KERNEL_H
#define PASTA_HANDLERS_OPENCL_TRACE_KERNEL_H

#include <llvm-c/Core.h>
#include <stdbool.h>

/* The kernel anew, with a last parameter more, of an integer type: the old one is gone. Kernels
 * that call it give all ones for it. Debug information must be gone. NULL: out of memory; the
 * module is then of no use. */
LLVMValueRef trace_twin(LLVMBuilderRef builder, LLVMValueRef kernel, LLVMTypeRef token);

/* Whether a parameter is the address of memory that is not the kernel's own. */
bool trace_is_address(LLVMValueRef function, unsigned int index);

#endif
