/* hookcall.c - inserts calls of the hooks into the code of a module. */
#include "handlers/opencl/trace/hookcall.h"

#include <stdlib.h>
#include <string.h>

#include "handlers/opencl/trace/kernel.h"

LLVMValueRef trace_int32(struct instrumenter *in, uint32_t n)
{
	return LLVMConstInt(in->i32, n, false);
}

LLVMValueRef trace_int64(struct instrumenter *in, uint64_t n)
{
	return LLVMConstInt(in->i64, n, false);
}

static void hook_types(struct instrumenter *in)
{
	LLVMTypeRef none = LLVMVoidTypeInContext(in->context), arguments[5];

	in->i32 = LLVMInt32TypeInContext(in->context);
	in->i64 = LLVMInt64TypeInContext(in->context);
	in->pointer = LLVMPointerTypeInContext(in->context, 0);
	in->layout = LLVMGetModuleDataLayout(in->module);
	arguments[0] = arguments[3] = in->i64;
	arguments[1] = arguments[2] = arguments[4] = in->i32;
	in->hook[HOOK_ENTER] = LLVMFunctionType(none, arguments, 5, false);
	in->hook[HOOK_ACCESS] = LLVMFunctionType(none, arguments, 3, false);
	arguments[4] = in->i64;
	in->hook[HOOK_RANGE] = LLVMFunctionType(none, arguments, 5, false);
	arguments[2] = in->i64;
	in->hook[HOOK_ARGUMENT] = LLVMFunctionType(none, arguments, 3, false);
	/* Hooks are called through external weak variables, whose addresses the dynamic linker
	 * resolves. PoCL refuses calls of unknown functions, and makes external variables private
	 * unless they are weak. */
	in->hooks =
		LLVMAddGlobal(in->module, LLVMArrayType(in->pointer, HOOKS), "pasta_trace_hooks");
	LLVMSetLinkage(in->hooks, LLVMExternalWeakLinkage);
}

static void hook_mark_call(struct instrumenter *in, LLVMValueRef call, const char *attribute)
{
	unsigned int kind = LLVMGetEnumAttributeKindForName(attribute, strlen(attribute));

	if (kind)
		LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex,
					 LLVMCreateEnumAttribute(in->context, kind, 0));
}

/* Hooks don't access the kernel's memory. These attributes let the compiler optimise the code
 * around hook calls as if there were no hook calls. */
void trace_call_hook(struct instrumenter *in, int which, LLVMValueRef *arguments,
		     unsigned int count)
{
	LLVMValueRef at[] = {trace_int64(in, (uint64_t)which)};
	LLVMValueRef slot = LLVMBuildInBoundsGEP2(in->builder, in->pointer, in->hooks, at, 1, "");
	LLVMValueRef hook = LLVMBuildLoad2(in->builder, in->pointer, slot, "");
	LLVMValueRef call =
		LLVMBuildCall2(in->builder, in->hook[which], hook, arguments, count, "");

	hook_mark_call(in, call, "nounwind");
	hook_mark_call(in, call, "inaccessiblememonly");
	hook_mark_call(in, call, "willreturn");
}

LLVMValueRef trace_item(struct instrumenter *in)
{
	return LLVMBuildCall2(in->builder, LLVMGlobalGetValueType(in->item), in->item, NULL, 0, "");
}

LLVMValueRef trace_address(struct instrumenter *in, LLVMValueRef pointer)
{
	return LLVMBuildPtrToInt(in->builder, pointer, in->i64, "");
}

/* -- Work-items -- */

/* Adds a call of a work-item function, such as get_local_id, for one dimension. */
static LLVMValueRef hook_query(struct instrumenter *in, const char *mangled, unsigned int dimension)
{
	LLVMTypeRef type = LLVMFunctionType(in->i64, &in->i32, 1, false);
	LLVMValueRef f = LLVMGetNamedFunction(in->module, mangled), n = trace_int32(in, dimension);

	if (!f)
		f = LLVMAddFunction(in->module, mangled, type);
	return LLVMBuildCall2(in->builder, type, f, &n, 1, "");
}

/* Adds code that turns a three-dimensional id into one number. */
static LLVMValueRef hook_linear(struct instrumenter *in, const char *id, const char *extent)
{
	LLVMValueRef n = hook_query(in, id, 2);

	for (unsigned int i = 2; i-- > 0;)
		n = LLVMBuildAdd(in->builder,
				 LLVMBuildMul(in->builder, n, hook_query(in, extent, i), ""),
				 hook_query(in, id, i), "");
	return n;
}

/* Adds to the module a function that returns the work-item's number in its work-group. */
static void hook_make_item(struct instrumenter *in)
{
	LLVMTypeRef type = LLVMFunctionType(in->i32, NULL, 0, false);
	LLVMValueRef n;

	in->item = LLVMAddFunction(in->module, "pasta_trace_item", type);
	LLVMSetLinkage(in->item, LLVMInternalLinkage);
	LLVMPositionBuilderAtEnd(in->builder,
				 LLVMAppendBasicBlockInContext(in->context, in->item, "entry"));
	n = hook_linear(in, "_Z12get_local_idj", "_Z14get_local_sizej");
	LLVMBuildRet(in->builder, LLVMBuildTrunc(in->builder, n, in->i32, ""));
}

void trace_hooks_init(struct instrumenter *in)
{
	hook_types(in);
	hook_make_item(in);
}

/* -- Kernel entry -- */

/* Adds calls of the argument hook for all pointers among the kernel's parameters. */
static void hook_enter_arguments(struct instrumenter *in, LLVMValueRef kernel, LLVMValueRef enter)
{
	unsigned int count = LLVMCountParams(enter) - 1;
	LLVMValueRef arguments[] = {LLVMGetParam(enter, count), NULL, NULL};

	for (unsigned int i = 0; i < count; i++) {
		if (!trace_is_address(kernel, i))
			continue;
		arguments[1] = trace_int32(in, i);
		arguments[2] = trace_address(in, LLVMGetParam(enter, i));
		trace_call_hook(in, HOOK_ARGUMENT, arguments, 3);
	}
}

/* Adds a call of the enter hook, and returns the work-item's number. */
static LLVMValueRef hook_enter_item(struct instrumenter *in, LLVMValueRef token, uint32_t number)
{
	LLVMValueRef arguments[] = {token, trace_int32(in, number), trace_item(in), NULL, NULL};
	LLVMValueRef size = hook_query(in, "_Z14get_local_sizej", 0);

	for (unsigned int i = 1; i < 3; i++)
		size = LLVMBuildMul(in->builder, size, hook_query(in, "_Z14get_local_sizej", i),
				    "");
	arguments[3] = hook_linear(in, "_Z12get_group_idj", "_Z14get_num_groupsj");
	arguments[4] = LLVMBuildTrunc(in->builder, size, in->i32, "");
	trace_call_hook(in, HOOK_ENTER, arguments, 5);
	return arguments[2];
}

static void hook_branch(struct instrumenter *in, LLVMValueRef a, LLVMValueRef b,
			LLVMBasicBlockRef equal, LLVMBasicBlockRef other)
{
	LLVMBuildCondBr(in->builder, LLVMBuildICmp(in->builder, LLVMIntEQ, a, b, ""), equal, other);
}

/* Adds a function with the kernel's parameters. The added function calls the enter hook and, in the
 * first work-item of a work-group, the argument hook. If another kernel has called this kernel, the
 * added function does nothing. */
static LLVMValueRef hook_make_enter(struct instrumenter *in, LLVMValueRef kernel, uint32_t number)
{
	LLVMValueRef f =
		LLVMAddFunction(in->module, "pasta_trace_enter", LLVMGlobalGetValueType(kernel));
	LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(in->context, f, "entry");
	LLVMBasicBlockRef launched = LLVMAppendBasicBlockInContext(in->context, f, "launched");
	LLVMBasicBlockRef first = LLVMAppendBasicBlockInContext(in->context, f, "first");
	LLVMBasicBlockRef end = LLVMAppendBasicBlockInContext(in->context, f, "end");
	LLVMValueRef token = LLVMGetLastParam(f);

	LLVMSetLinkage(f, LLVMInternalLinkage);
	LLVMPositionBuilderAtEnd(in->builder, entry);
	hook_branch(in, token, trace_int64(in, PASTA_TRACE_NO_TOKEN), end, launched);
	LLVMPositionBuilderAtEnd(in->builder, launched);
	hook_branch(in, hook_enter_item(in, token, number), trace_int32(in, 0), first, end);
	LLVMPositionBuilderAtEnd(in->builder, first);
	hook_enter_arguments(in, kernel, f);
	LLVMBuildBr(in->builder, end);
	LLVMPositionBuilderAtEnd(in->builder, end);
	LLVMBuildRetVoid(in->builder);
	return f;
}

void trace_kernel_enter(struct instrumenter *in, LLVMValueRef kernel, uint32_t number)
{
	unsigned int count = LLVMCountParams(kernel);
	LLVMValueRef at = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(kernel)), f;
	LLVMValueRef *arguments = calloc(count, sizeof(*arguments));

	if (!arguments) {
		in->no_memory = true;
		return;
	}
	f = hook_make_enter(in, kernel, number);
	while (LLVMIsAAllocaInst(at))
		at = LLVMGetNextInstruction(at);
	LLVMPositionBuilderBefore(in->builder, at);
	LLVMGetParams(kernel, arguments);
	LLVMBuildCall2(in->builder, LLVMGlobalGetValueType(f), f, arguments, count, "");
	free(arguments);
}
