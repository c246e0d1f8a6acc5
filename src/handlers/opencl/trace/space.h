/* space.h - finds the address space of a pointer by tracing it back to its definition. */
#ifndef PASTA_HANDLERS_OPENCL_TRACE_SPACE_H
#define PASTA_HANDLERS_OPENCL_TRACE_SPACE_H

#include <llvm-c/Core.h>
#include <stdbool.h>

#include "handlers/opencl/trace/trace.h"

/* Returns the address space of a pointer. In code for a CPU, all pointers have the same LLVM
 * address space, so the pointer's type doesn't show the address space in OpenCL. The module must
 * not be optimised. */
enum pasta_trace_space trace_space(LLVMValueRef pointer);

/* Marks the variables that the source declares, to distinguish them from the compiler's
 * temporaries. Call this function before trace_is_register. */
void trace_mark_variables(LLVMValueRef function);

/* Returns whether a pointer refers to a variable whose address is never taken, or to a temporary of
 * the compiler, such as an argument of a call. Loads and stores of such variables and temporaries
 * don't count as accesses. */
bool trace_is_register(LLVMValueRef pointer);

/* Returns whether a function is a kernel. */
bool trace_is_kernel(LLVMValueRef function);

#endif
