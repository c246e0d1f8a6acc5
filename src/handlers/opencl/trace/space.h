/* space.h - which memory a pointer points to: followed to where it came from. */
#ifndef PASTA_HANDLERS_OPENCL_TRACE_SPACE_H
#define PASTA_HANDLERS_OPENCL_TRACE_SPACE_H

#include <llvm-c/Core.h>
#include <stdbool.h>

#include "handlers/opencl/trace/trace.h"

/* On a processor all address spaces are one, and the code does not name them. The module is one
 * that was not optimised. */
enum pasta_trace_space trace_space(LLVMValueRef pointer);

/* Tell the function's variables from the compiler's own: before the one below is asked. */
void trace_mark_variables(LLVMValueRef function);

/* Whether it is a variable whose address nobody takes, or no variable of the source's at all, such
 * as what holds an argument while it is passed: its uses are no accesses. */
bool trace_is_register(LLVMValueRef pointer);

/* Whether the program starts the function, or only calls it. */
bool trace_is_kernel(LLVMValueRef function);

#endif
