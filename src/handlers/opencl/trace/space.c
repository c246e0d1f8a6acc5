/* space.c - finds the address space of a pointer by tracing it back to its definition. */
#include "handlers/opencl/trace/space.h"

#include <stdlib.h>
#include <string.h>

/* Maximum number of values that a search visits. If a search reaches this limit, the address space
 * counts as unknown. */
enum { STEPS = 512 };

enum { UNKNOWN = 1 << PASTA_TRACE_UNKNOWN };

/* The values that a search has visited. The functions below return a set of address spaces, with
 * one bit each: the address spaces of all definitions that the search reaches. */
struct walk {
	LLVMValueRef seen[STEPS];
	size_t count;
};

static unsigned int space_follow(struct walk *w, LLVMValueRef v);

bool trace_is_kernel(LLVMValueRef function)
{
	return LLVMGetFunctionCallConv(function) == LLVMSPIRKERNELCallConv;
}

static LLVMValueRef space_base(LLVMValueRef v)
{
	while (LLVMIsAGetElementPtrInst(v) || LLVMIsABitCastInst(v))
		v = LLVMGetOperand(v, 0);
	return v;
}

static unsigned int space_mark_kind(LLVMValueRef v)
{
	LLVMModuleRef module = LLVMGetGlobalParent(v);

	return LLVMGetMDKindIDInContext(LLVMGetModuleContext(module), "pasta_variable", 14);
}

/* Debug information describes the variables of the source, but not the compiler's temporaries. */
void trace_mark_variables(LLVMValueRef function)
{
	unsigned int kind = space_mark_kind(function);
	LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
	LLVMValueRef declare =
		LLVMGetNamedFunction(LLVMGetGlobalParent(function), "llvm.dbg.declare");
	LLVMValueRef v, what,
		mark = LLVMMetadataAsValue(context, LLVMMDNodeInContext2(context, NULL, 0));

	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b;
	     b = LLVMGetNextBasicBlock(b))
		for (v = LLVMGetFirstInstruction(b); v; v = LLVMGetNextInstruction(v)) {
			if (!LLVMIsACallInst(v) || LLVMGetCalledValue(v) != declare)
				continue;
			what = LLVMGetOperand(v, 0);
			if (LLVMGetMDNodeNumOperands(what) != 1)
				continue;
			LLVMGetMDNodeOperands(what, &what);
			if (what && LLVMIsAAllocaInst(what))
				LLVMSetMetadata(what, kind, mark);
		}
}

static bool space_is_variable(LLVMValueRef alloca)
{
	LLVMBasicBlockRef b = LLVMGetInstructionParent(alloca);

	return LLVMGetMetadata(alloca, space_mark_kind(LLVMGetBasicBlockParent(b))) != NULL;
}

bool trace_is_register(LLVMValueRef pointer)
{
	LLVMTypeRef type;

	pointer = space_base(pointer);
	if (!LLVMIsAAllocaInst(pointer))
		return false;
	if (!space_is_variable(pointer))
		return true;
	type = LLVMGetAllocatedType(pointer);
	for (LLVMUseRef u = LLVMGetFirstUse(pointer); u; u = LLVMGetNextUse(u)) {
		LLVMValueRef user = LLVMGetUser(u);

		if (LLVMIsALoadInst(user)) {
			if (LLVMTypeOf(user) != type || LLVMGetVolatile(user))
				return false;
		} else if (LLVMIsAStoreInst(user)) {
			LLVMValueRef value = LLVMGetOperand(user, 0);

			if (value == pointer || LLVMTypeOf(value) != type || LLVMGetVolatile(user))
				return false;
		} else {
			return false;
		}
	}
	return true;
}

/* Returns the address space of a kernel's argument, from the kernel's metadata. */
static unsigned int space_of_kernel_argument(LLVMValueRef function, unsigned int index)
{
	static const unsigned int spaces[] = {1 << PASTA_TRACE_PRIVATE, 1 << PASTA_TRACE_GLOBAL,
					      1 << PASTA_TRACE_CONSTANT, 1 << PASTA_TRACE_LOCAL};
	LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
	unsigned int kind = LLVMGetMDKindIDInContext(context, "kernel_arg_addr_space", 21);
	unsigned int found = UNKNOWN;
	size_t count = 0;
	LLVMValueMetadataEntry *list = LLVMGlobalCopyAllMetadata(function, &count);

	for (unsigned int i = 0; i < count; i++) {
		LLVMValueRef node, *operands;
		unsigned int n;

		if (LLVMValueMetadataEntriesGetKind(list, i) != kind)
			continue;
		node = LLVMMetadataAsValue(context, LLVMValueMetadataEntriesGetMetadata(list, i));
		n = LLVMGetMDNodeNumOperands(node);
		operands = calloc(n + 1, sizeof(*operands));
		if (operands && index < n) {
			LLVMGetMDNodeOperands(node, operands);
			n = (unsigned int)LLVMConstIntGetZExtValue(operands[index]);
			found = n < sizeof(spaces) / sizeof(spaces[0]) ? spaces[n] : UNKNOWN;
		}
		free(operands);
	}
	LLVMDisposeValueMetadataEntries(list);
	return found;
}

static bool space_has_attribute(LLVMValueRef function, unsigned int index, const char *attribute)
{
	unsigned int kind = LLVMGetEnumAttributeKindForName(attribute, strlen(attribute));

	return LLVMGetEnumAttributeAtIndex(function, index, kind) != NULL;
}

/* Returns the address spaces of the pointers that calls of the function pass for a parameter. */
static unsigned int space_of_argument(struct walk *w, LLVMValueRef v)
{
	LLVMValueRef function = LLVMGetParamParent(v);
	unsigned int index = 0, spaces = 0;

	while (LLVMGetParam(function, index) != v)
		index++;
	if (space_has_attribute(function, index + 1, "byval") ||
	    space_has_attribute(function, index + 1, "sret"))
		return 1 << PASTA_TRACE_PRIVATE;
	if (trace_is_kernel(function))
		spaces = space_of_kernel_argument(function, index);
	for (LLVMUseRef u = LLVMGetFirstUse(function); u; u = LLVMGetNextUse(u)) {
		LLVMValueRef call = LLVMGetUser(u);

		if (!LLVMIsACallInst(call) || LLVMGetCalledValue(call) != function)
			return UNKNOWN;
		spaces |= space_follow(w, LLVMGetOperand(call, index));
	}
	return spaces;
}

/* Returns whether the value is an argument of a hook call that was inserted earlier. */
static bool space_is_hook_argument(LLVMValueRef v)
{
	LLVMUseRef u = LLVMIsAPtrToIntInst(v) ? LLVMGetFirstUse(v) : NULL;
	LLVMValueRef call = u ? LLVMGetUser(u) : NULL;

	return call && LLVMIsACallInst(call) && LLVMIsALoadInst(LLVMGetCalledValue(call));
}

/* Returns the address spaces of all pointers that are stored in a variable, array or structure. */
static unsigned int space_of_stored(struct walk *w, LLVMValueRef pointer)
{
	unsigned int spaces = 0;

	for (LLVMUseRef u = LLVMGetFirstUse(pointer); u; u = LLVMGetNextUse(u)) {
		LLVMValueRef user = LLVMGetUser(u);

		if (LLVMIsAStoreInst(user) && LLVMGetOperand(user, 0) != pointer)
			spaces |= space_follow(w, LLVMGetOperand(user, 0));
		else if (LLVMIsAGetElementPtrInst(user) || LLVMIsABitCastInst(user))
			spaces |= space_of_stored(w, user);
		else if (!LLVMIsALoadInst(user) && !space_is_hook_argument(user))
			return UNKNOWN;
	}
	return spaces;
}

/* LLVM represents a variable in local memory as a global variable, which is called
 * KERNEL.VARIABLE. */
static unsigned int space_of_global(LLVMValueRef v)
{
	size_t size;
	const char *name = LLVMGetValueName2(v, &size), *dot = memchr(name, '.', size);
	char function[256];
	LLVMValueRef f;

	if (LLVMIsGlobalConstant(v))
		return 1 << PASTA_TRACE_CONSTANT;
	if (!dot || dot == name || (size_t)(dot - name) >= sizeof(function))
		return 1 << PASTA_TRACE_GLOBAL;
	memcpy(function, name, (size_t)(dot - name));
	function[dot - name] = '\0';
	f = LLVMGetNamedFunction(LLVMGetGlobalParent(v), function);
	return f && trace_is_kernel(f) ? 1 << PASTA_TRACE_LOCAL : 1 << PASTA_TRACE_GLOBAL;
}

static unsigned int space_of_returned(struct walk *w, LLVMValueRef call)
{
	LLVMValueRef function = LLVMGetCalledValue(call);
	unsigned int spaces = 0;

	if (!LLVMIsAFunction(function) || LLVMIsDeclaration(function))
		return UNKNOWN;
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b;
	     b = LLVMGetNextBasicBlock(b)) {
		LLVMValueRef last = LLVMGetBasicBlockTerminator(b);

		if (LLVMIsAReturnInst(last))
			spaces |= space_follow(w, LLVMGetOperand(last, 0));
	}
	return spaces;
}

static unsigned int space_of_choices(struct walk *w, LLVMValueRef v)
{
	unsigned int spaces = 0;

	if (LLVMIsASelectInst(v))
		return space_follow(w, LLVMGetOperand(v, 1)) |
		       space_follow(w, LLVMGetOperand(v, 2));
	for (unsigned int i = 0; i < LLVMCountIncoming(v); i++)
		spaces |= space_follow(w, LLVMGetIncomingValue(v, i));
	return spaces;
}

static unsigned int space_of_value(struct walk *w, LLVMValueRef v)
{
	if (LLVMIsAAllocaInst(v))
		return 1 << PASTA_TRACE_PRIVATE;
	if (LLVMIsAGlobalVariable(v))
		return space_of_global(v);
	if (LLVMIsAArgument(v))
		return space_of_argument(w, v);
	if (LLVMIsASelectInst(v) || LLVMIsAPHINode(v))
		return space_of_choices(w, v);
	if (LLVMIsAGetElementPtrInst(v) || LLVMIsABitCastInst(v) || LLVMIsAAddrSpaceCastInst(v))
		return space_follow(w, LLVMGetOperand(v, 0));
	if (LLVMIsALoadInst(v)) {
		LLVMValueRef from = space_base(LLVMGetOperand(v, 0));

		return LLVMIsAAllocaInst(from) ? space_of_stored(w, from) : UNKNOWN;
	}
	if (LLVMIsACallInst(v))
		return space_of_returned(w, v);
	if (LLVMIsAConstantExpr(v) && LLVMGetConstOpcode(v) != LLVMIntToPtr)
		return space_follow(w, LLVMGetOperand(v, 0));
	/* Null and undefined pointers are never dereferenced. */
	return LLVMIsAConstant(v) && !LLVMIsAConstantExpr(v) ? 0 : UNKNOWN;
}

static unsigned int space_follow(struct walk *w, LLVMValueRef v)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->seen[i] == v)
			return 0;
	if (w->count == STEPS)
		return UNKNOWN;
	w->seen[w->count++] = v;
	return space_of_value(w, v);
}

enum pasta_trace_space trace_space(LLVMValueRef pointer)
{
	struct walk w;
	unsigned int spaces;

	w.count = 0;
	spaces = space_follow(&w, pointer);
	for (unsigned int i = PASTA_TRACE_GLOBAL; i <= PASTA_TRACE_PRIVATE; i++)
		if (spaces == 1u << i)
			return (enum pasta_trace_space)i;
	return PASTA_TRACE_UNKNOWN;
}
