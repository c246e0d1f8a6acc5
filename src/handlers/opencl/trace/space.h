/* space.h - finds the address space of a pointer by following it back to its definition. */
#ifndef PASTA_HANDLERS_OPENCL_TRACE_SPACE_H
#define PASTA_HANDLERS_OPENCL_TRACE_SPACE_H

#include <llvm-c/Core.h>
#include <stdbool.h>

#include "handlers/opencl/trace/trace.h"

/* Returns the address space of a pointer. Code for a CPU has only one address space, so the
 * pointer's type doesn't show it. The module must not be optimised. */
enum pasta_trace_space trace_space(LLVMValueRef pointer);

/* Marks the variables of the source, as opposed to the compiler's temporaries. Call it before
 * trace_is_register. */
void trace_mark_variables(LLVMValueRef function);

/* Returns whether a pointer refers to a variable whose address is never taken, or to a temporary of
 * the compiler, such as one that holds an argument of a call. Their uses don't count as accesses.
 */
bool trace_is_register(LLVMValueRef pointer);

/* Returns whether a function is a kernel. */
bool trace_is_kernel(LLVMValueRef function);

#endif
