/* hookcall.h - inserts calls of the hooks into the code of a module. */
#ifndef PASTA_HANDLERS_OPENCL_TRACE_HOOKCALL_H
#define PASTA_HANDLERS_OPENCL_TRACE_HOOKCALL_H

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <stdbool.h>
#include <stdint.h>

#include "handlers/opencl/trace/trace.h"

/* The hooks, in the order of struct pasta_trace_hooks. */
enum { HOOK_ENTER, HOOK_ARGUMENT, HOOK_ACCESS, HOOK_RANGE, HOOKS };

/* A module that is being instrumented. */
struct instrumenter {
	LLVMContextRef context;
	LLVMModuleRef module;
	LLVMBuilderRef builder;
	LLVMTargetDataRef layout;
	LLVMTypeRef pointer, i32, i64, hook[HOOKS];
	LLVMValueRef hooks, item;
	struct pasta_trace_module *out;
	size_t site_room, kernel_room;
	struct pasta_trace_subscribe subscribe;
	bool no_memory;
};

/* Sets the types in *in. Adds to the module the hooks, and the helper function that trace_item
 * calls. */
void trace_hooks_init(struct instrumenter *in);

/* The functions below add code at the builder's position. */

/* Adds a call of a hook, which is one of HOOK_*. */
void trace_call_hook(struct instrumenter *in, int which, LLVMValueRef *arguments,
		     unsigned int count);
/* Adds a call that returns the work-item's number in its work-group. */
LLVMValueRef trace_item(struct instrumenter *in);
/* Adds code that converts a pointer to an integer. */
LLVMValueRef trace_address(struct instrumenter *in, LLVMValueRef pointer);

LLVMValueRef trace_int32(struct instrumenter *in, uint32_t n);
LLVMValueRef trace_int64(struct instrumenter *in, uint64_t n);

/* Adds calls of the hooks `enter` and `argument` to the start of a kernel, whose last parameter is
 * the token. Sets in->no_memory when out of memory. */
void trace_kernel_enter(struct instrumenter *in, LLVMValueRef kernel, uint32_t number);

#endif
