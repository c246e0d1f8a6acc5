/* kernel.c - a kernel's twin, that takes one argument more. */
#include "handlers/opencl/trace/kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* -- Attributes -- */

typedef void (*add_fn)(LLVMValueRef to, LLVMAttributeIndex index, LLVMAttributeRef attribute);

static int copy_attributes(LLVMValueRef from, LLVMValueRef to, LLVMAttributeIndex index, add_fn add)
{
	unsigned int count = LLVMGetAttributeCountAtIndex(from, index);
	LLVMAttributeRef *list = calloc(count + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	LLVMGetAttributesAtIndex(from, index, list);
	for (unsigned int i = 0; i < count; i++)
		add(to, index, list[i]);
	free(list);
	return 0;
}

/* How each parameter is passed: by value, how aligned. 0 is what is returned, 1 the first. */
static int copy_parameters(LLVMValueRef from, LLVMValueRef to, unsigned int count, add_fn add)
{
	int r = 0;

	for (unsigned int i = 0; !r && i <= count; i++)
		r = copy_attributes(from, to, i, add);
	return r;
}

bool trace_is_address(LLVMValueRef function, unsigned int index)
{
	unsigned int byval = LLVMGetEnumAttributeKindForName("byval", strlen("byval"));

	return LLVMGetTypeKind(LLVMTypeOf(LLVMGetParam(function, index))) == LLVMPointerTypeKind &&
	       !LLVMGetEnumAttributeAtIndex(function, index + 1, byval);
}

/* -- Metadata -- */

/* What the token is, in the lists that have an entry for each argument. */
static LLVMMetadataRef token_is(LLVMContextRef context, unsigned int kind)
{
	static const char *const lists[][2] = {{"kernel_arg_access_qual", "none"},
					       {"kernel_arg_type", "ulong"},
					       {"kernel_arg_base_type", "ulong"},
					       {"kernel_arg_type_qual", ""},
					       {"kernel_arg_name", "pasta_token"}};
	static const char space[] = "kernel_arg_addr_space";

	if (kind == LLVMGetMDKindIDInContext(context, space, strlen(space)))
		return LLVMValueAsMetadata(LLVMConstInt(LLVMInt32TypeInContext(context), 0, false));
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (kind == LLVMGetMDKindIDInContext(context, lists[i][0],
						     (unsigned int)strlen(lists[i][0])))
			return LLVMMDStringInContext2(context, lists[i][1], strlen(lists[i][1]));
	return NULL;
}

static LLVMMetadataRef longer(LLVMContextRef context, LLVMMetadataRef node, LLVMMetadataRef more)
{
	LLVMValueRef value = LLVMMetadataAsValue(context, node);
	unsigned int n = LLVMGetMDNodeNumOperands(value);
	LLVMValueRef *values = calloc(n + 1, sizeof(*values));
	LLVMMetadataRef *operands = calloc(n + 1, sizeof(*operands));

	if (values && operands) {
		LLVMGetMDNodeOperands(value, values);
		for (unsigned int i = 0; i < n; i++)
			operands[i] = LLVMValueAsMetadata(values[i]);
		operands[n] = more;
		node = LLVMMDNodeInContext2(context, operands, n + 1);
	} else {
		node = NULL;
	}
	free(values);
	free(operands);
	return node;
}

static int move_metadata(LLVMContextRef context, LLVMValueRef from, LLVMValueRef to)
{
	size_t count = 0;
	LLVMValueMetadataEntry *list = LLVMGlobalCopyAllMetadata(from, &count);
	int r = 0;

	for (unsigned int i = 0; !r && i < count; i++) {
		unsigned int kind = LLVMValueMetadataEntriesGetKind(list, i);
		LLVMMetadataRef node = LLVMValueMetadataEntriesGetMetadata(list, i);
		LLVMMetadataRef more = token_is(context, kind);

		if (more)
			node = longer(context, node, more);
		if (node)
			LLVMGlobalSetMetadata(to, kind, node);
		else
			r = -ENOMEM;
	}
	LLVMDisposeValueMetadataEntries(list);
	LLVMGlobalClearMetadata(from);
	return r;
}

/* -- Twins -- */

static LLVMTypeRef type_with(LLVMValueRef kernel, LLVMTypeRef token)
{
	LLVMTypeRef old = LLVMGlobalGetValueType(kernel), type = NULL;
	unsigned int count = LLVMCountParamTypes(old);
	LLVMTypeRef *list = calloc(count + 1, sizeof(*list));

	if (list) {
		LLVMGetParamTypes(old, list);
		list[count] = token;
		type = LLVMFunctionType(LLVMGetReturnType(old), list, count + 1, false);
	}
	free(list);
	return type;
}

/* PoCL takes for a kernel what has a kernel's calling convention or metadata, and gives each group
 * its own local arrays where it finds them in the kernel: before, only what must be is inlined. */
static void make_plain(LLVMContextRef context, LLVMValueRef kernel)
{
	unsigned int inlined = LLVMGetEnumAttributeKindForName("alwaysinline", 12);

	LLVMSetLinkage(kernel, LLVMInternalLinkage);
	LLVMSetVisibility(kernel, LLVMDefaultVisibility);
	LLVMSetFunctionCallConv(kernel, LLVMCCallConv);
	LLVMAddAttributeAtIndex(kernel, LLVMAttributeFunctionIndex,
				LLVMCreateEnumAttribute(context, inlined, 0));
	for (LLVMUseRef u = LLVMGetFirstUse(kernel); u; u = LLVMGetNextUse(u)) {
		LLVMValueRef call = LLVMGetUser(u);

		if (LLVMIsACallInst(call) && LLVMGetCalledValue(call) == kernel)
			LLVMSetInstructionCallConv(call, LLVMCCallConv);
	}
}

LLVMValueRef trace_twin(LLVMValueRef kernel, LLVMTypeRef token)
{
	LLVMModuleRef module = LLVMGetGlobalParent(kernel);
	LLVMContextRef context = LLVMGetModuleContext(module);
	LLVMTypeRef type = type_with(kernel, token);
	LLVMValueRef twin;
	size_t size;
	char *name = strdup(LLVMGetValueName2(kernel, &size));
	int r;

	if (!name || !type) {
		free(name);
		return NULL;
	}
	LLVMSetValueName2(kernel, "pasta_trace_body", strlen("pasta_trace_body"));
	twin = LLVMAddFunction(module, name, type);
	free(name);
	LLVMSetLinkage(twin, LLVMGetLinkage(kernel));
	LLVMSetVisibility(twin, LLVMGetVisibility(kernel));
	LLVMSetFunctionCallConv(twin, LLVMGetFunctionCallConv(kernel));
	r = copy_attributes(kernel, twin, LLVMAttributeFunctionIndex, LLVMAddAttributeAtIndex);
	if (!r)
		r = copy_parameters(kernel, twin, LLVMCountParams(kernel), LLVMAddAttributeAtIndex);
	if (!r)
		r = move_metadata(context, kernel, twin);
	make_plain(context, kernel);
	return r ? NULL : twin;
}

int trace_call_body(LLVMBuilderRef builder, LLVMValueRef twin, LLVMValueRef body)
{
	unsigned int count = LLVMCountParams(body);
	LLVMValueRef *arguments = calloc(count + 1, sizeof(*arguments)), call;
	int r = -ENOMEM;

	if (arguments) {
		LLVMGetParams(twin, arguments);
		call = LLVMBuildCall2(builder, LLVMGlobalGetValueType(body), body, arguments, count,
				      "");
		r = copy_parameters(body, call, count, LLVMAddCallSiteAttribute);
	}
	free(arguments);
	return r;
}
