/* kernel.h - a kernel's twin, that takes one argument more. */
#ifndef PASTA_HANDLERS_OPENCL_TRACE_KERNEL_H
#define PASTA_HANDLERS_OPENCL_TRACE_KERNEL_H

#include <llvm-c/Core.h>
#include <stdbool.h>

/* A kernel of the same name, parameters, attributes and metadata, with a last parameter more, of an
 * integer type, and no code yet. The kernel itself becomes a function like any other, also to the
 * kernels that call it. Debug information must be gone. NULL: out of memory. */
LLVMValueRef trace_twin(LLVMValueRef kernel, LLVMTypeRef token);

/* Call, in a twin, what was the kernel, with all of the twin's parameters but the last. */
int trace_call_body(LLVMBuilderRef builder, LLVMValueRef twin, LLVMValueRef body);

/* Whether a parameter is the address of memory that is not the kernel's own. */
bool trace_is_address(LLVMValueRef function, unsigned int index);

#endif
