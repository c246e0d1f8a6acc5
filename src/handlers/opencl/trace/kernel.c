/* kernel.c - replaces a kernel with a clone that has an additional parameter, the token. */
#include "handlers/opencl/trace/kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* -- Attributes -- */

/* Returns a list of the attributes of a function or a call, which ends with NULL. The caller frees
 * the list. */
typedef LLVMAttributeRef *(*list_fn)(LLVMValueRef of, LLVMAttributeIndex index);
typedef void (*add_fn)(LLVMValueRef to, LLVMAttributeIndex index, LLVMAttributeRef attribute);

static LLVMAttributeRef *kernel_function_attributes(LLVMValueRef of, LLVMAttributeIndex index)
{
	unsigned int count = LLVMGetAttributeCountAtIndex(of, index);
	LLVMAttributeRef *list = calloc(count + 1, sizeof(*list));

	if (list)
		LLVMGetAttributesAtIndex(of, index, list);
	return list;
}

static LLVMAttributeRef *kernel_call_attributes(LLVMValueRef of, LLVMAttributeIndex index)
{
	unsigned int count = LLVMGetCallSiteAttributeCount(of, index);
	LLVMAttributeRef *list = calloc(count + 1, sizeof(*list));

	if (list)
		LLVMGetCallSiteAttributes(of, index, list);
	return list;
}

static int kernel_copy_attributes(LLVMValueRef from, LLVMValueRef to, LLVMAttributeIndex index,
				  list_fn list_of, add_fn add)
{
	LLVMAttributeRef *list = list_of(from, index);

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; list[i]; i++)
		add(to, index, list[i]);
	free(list);
	return 0;
}

/* Copies the attributes of a function or a call, of its result (index 0) and of its parameters
 * (indexes from 1). */
static int kernel_copy_all_attributes(LLVMValueRef from, LLVMValueRef to, unsigned int parameters,
				      list_fn list_of, add_fn add)
{
	int r = kernel_copy_attributes(from, to, LLVMAttributeFunctionIndex, list_of, add);

	for (unsigned int i = 0; !r && i <= parameters; i++)
		r = kernel_copy_attributes(from, to, i, list_of, add);
	return r;
}

bool trace_is_address(LLVMValueRef function, unsigned int index)
{
	unsigned int byval = LLVMGetEnumAttributeKindForName("byval", strlen("byval"));

	return LLVMGetTypeKind(LLVMTypeOf(LLVMGetParam(function, index))) == LLVMPointerTypeKind &&
	       !LLVMGetEnumAttributeAtIndex(function, index + 1, byval);
}

/* -- Metadata -- */

/* Some kernel metadata is a list with one entry per argument. Returns the token's entry for such a
 * list; NULL if the metadata is not such a list. */
static LLVMMetadataRef kernel_token_metadata(LLVMContextRef context, unsigned int kind)
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

/* Returns a copy of a list with one more entry, or NULL when out of memory. */
static LLVMMetadataRef kernel_metadata_append(LLVMContextRef context, LLVMMetadataRef node,
					      LLVMMetadataRef more)
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

static int kernel_copy_metadata(LLVMContextRef context, LLVMValueRef from, LLVMValueRef to)
{
	size_t count = 0;
	LLVMValueMetadataEntry *list = LLVMGlobalCopyAllMetadata(from, &count);
	int r = 0;

	for (unsigned int i = 0; !r && i < count; i++) {
		unsigned int kind = LLVMValueMetadataEntriesGetKind(list, i);
		LLVMMetadataRef node = LLVMValueMetadataEntriesGetMetadata(list, i);
		LLVMMetadataRef more = kernel_token_metadata(context, kind);

		if (more)
			node = kernel_metadata_append(context, node, more);
		if (node)
			LLVMGlobalSetMetadata(to, kind, node);
		else
			r = -ENOMEM;
	}
	LLVMDisposeValueMetadataEntries(list);
	return r;
}

/* -- Clones -- */

static LLVMTypeRef kernel_type_with_token(LLVMValueRef kernel, LLVMTypeRef token)
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

/* Moves the kernel's code to the clone. A clone that only calls the kernel would not work, because
 * PoCL allocates an array in local memory for each work-group only if the code of the launched
 * kernel itself uses the array. */
static void kernel_move_code(LLVMValueRef from, LLVMValueRef to)
{
	LLVMBasicBlockRef b;

	while ((b = LLVMGetFirstBasicBlock(from))) {
		LLVMRemoveBasicBlockFromParent(b);
		LLVMAppendExistingBasicBlock(to, b);
	}
	for (unsigned int i = 0; i < LLVMCountParams(from); i++)
		LLVMReplaceAllUsesWith(LLVMGetParam(from, i), LLVMGetParam(to, i));
}

/* Replaces a call of the kernel with a call of the clone. Passes PASTA_TRACE_NO_TOKEN as the
 * token. */
static int kernel_replace_call(LLVMBuilderRef builder, LLVMValueRef call, LLVMValueRef clone)
{
	unsigned int count = LLVMGetNumArgOperands(call);
	LLVMValueRef *arguments = calloc(count + 1, sizeof(*arguments)), more;
	LLVMTypeRef token = LLVMTypeOf(LLVMGetLastParam(clone));
	int r;

	if (!arguments)
		return -ENOMEM;
	for (unsigned int i = 0; i < count; i++)
		arguments[i] = LLVMGetOperand(call, i);
	arguments[count] = LLVMConstAllOnes(token);
	LLVMPositionBuilderBefore(builder, call);
	more = LLVMBuildCall2(builder, LLVMGlobalGetValueType(clone), clone, arguments, count + 1,
			      "");
	free(arguments);
	LLVMSetInstructionCallConv(more, LLVMGetInstructionCallConv(call));
	r = kernel_copy_all_attributes(call, more, count, kernel_call_attributes,
				       LLVMAddCallSiteAttribute);
	LLVMInstructionEraseFromParent(call);
	return r;
}

/* Replaces all calls of the kernel in other kernels. */
static int kernel_move_calls(LLVMBuilderRef builder, LLVMValueRef from, LLVMValueRef to)
{
	LLVMUseRef u = LLVMGetFirstUse(from), next;
	int r = 0;

	for (; !r && u; u = next) {
		LLVMValueRef user = LLVMGetUser(u);

		next = LLVMGetNextUse(u);
		if (LLVMIsACallInst(user) && LLVMGetCalledValue(user) == from)
			r = kernel_replace_call(builder, user, to);
	}
	LLVMReplaceAllUsesWith(from, to);
	return r;
}

LLVMValueRef trace_clone(LLVMBuilderRef builder, LLVMValueRef kernel, LLVMTypeRef token)
{
	LLVMModuleRef module = LLVMGetGlobalParent(kernel);
	LLVMTypeRef type = kernel_type_with_token(kernel, token);
	LLVMValueRef clone;
	size_t size;
	char *name = strdup(LLVMGetValueName2(kernel, &size));
	int r;

	if (!name || !type) {
		free(name);
		return NULL;
	}
	LLVMSetValueName2(kernel, "", 0);
	clone = LLVMAddFunction(module, name, type);
	free(name);
	LLVMSetLinkage(clone, LLVMGetLinkage(kernel));
	LLVMSetVisibility(clone, LLVMGetVisibility(kernel));
	LLVMSetFunctionCallConv(clone, LLVMGetFunctionCallConv(kernel));
	r = kernel_copy_all_attributes(kernel, clone, LLVMCountParams(kernel),
				       kernel_function_attributes, LLVMAddAttributeAtIndex);
	if (!r)
		r = kernel_copy_metadata(LLVMGetModuleContext(module), kernel, clone);
	kernel_move_code(kernel, clone);
	if (!r)
		r = kernel_move_calls(builder, kernel, clone);
	if (r)
		return NULL;
	LLVMDeleteFunction(kernel);
	return clone;
}
