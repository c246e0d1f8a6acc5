/* instrument.c - calls of the hooks put into a module's code, before each access. */
#include <errno.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Linker.h>
#include <llvm-c/Target.h>
#include <llvm/Config/llvm-config.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/opencl/trace/builtin.h"
#include "handlers/opencl/trace/kernel.h"
#include "handlers/opencl/trace/space.h"
#include "handlers/opencl/trace/trace.h"

/* As struct pasta_trace_hooks has them. */
enum { HOOK_ENTER, HOOK_ARGUMENT, HOOK_ACCESS, HOOK_RANGE, HOOKS };

struct pasta_trace_text {
	struct pasta_trace_text *next;
	char text[];
};

struct inst {
	LLVMContextRef context;
	LLVMModuleRef module;
	LLVMBuilderRef builder;
	LLVMTargetDataRef layout;
	LLVMTypeRef pointer, i32, i64, hook[HOOKS];
	LLVMValueRef hooks, item;
	struct pasta_trace_module *out;
	size_t site_room, kernel_room;
	struct pasta_trace_subscribe want;
	bool no_memory;
};

/* -- Sites -- */

static const char *keep(struct inst *in, const char *text, size_t size)
{
	struct pasta_trace_text *t;

	for (t = in->out->texts; t; t = t->next)
		if (strlen(t->text) == size && !memcmp(t->text, text, size))
			return t->text;
	t = malloc(sizeof(*t) + size + 1);
	if (!t) {
		in->no_memory = true;
		return "";
	}
	memcpy(t->text, text, size);
	t->text[size] = '\0';
	t->next = in->out->texts;
	in->out->texts = t;
	return t->text;
}

/* The source that the program gave is a file of the driver's, of no meaning to anybody. */
static const char *file_of(struct inst *in, LLVMValueRef at)
{
	unsigned int size = 0;
	const char *file = LLVMGetDebugLocFilename(at, &size), *slash;

	if (!file)
		return "";
	slash = memrchr(file, '/', size);
	slash = slash ? slash + 1 : file;
	if (!strncmp(slash, "tempfile_", 9) || !strncmp(slash, "<stdin>", 7))
		return "";
	return keep(in, file, size);
}

static void *grow(struct inst *in, void *list, size_t count, size_t *room, size_t size)
{
	size_t wanted = *room ? *room * 2 : 64;
	void *p;

	if (count < *room)
		return list;
	p = realloc(list, wanted * size);
	if (!p) {
		in->no_memory = true;
		return NULL;
	}
	*room = wanted;
	return p;
}

/* The number that the hooks get; what the site is is filled in by the caller. */
static uint32_t add_site(struct inst *in, LLVMValueRef at, const struct pasta_trace_site *like)
{
	struct pasta_trace_module *m = in->out;
	LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(at));
	struct pasta_trace_site *list =
		grow(in, m->sites, m->site_count, &in->site_room, sizeof(*list));
	size_t size;
	const char *name = LLVMGetValueName2(function, &size);

	if (!list)
		return 0;
	m->sites = list;
	list += m->site_count;
	*list = *like;
	list->function = keep(in, name, size);
	list->file = file_of(in, at);
	list->line = LLVMGetDebugLocLine(at);
	list->column = LLVMGetDebugLocColumn(at);
	return in->want.first_site + (uint32_t)m->site_count++;
}

/* -- Calls -- */

static LLVMValueRef int32(struct inst *in, uint32_t n)
{
	return LLVMConstInt(in->i32, n, false);
}

static LLVMValueRef int64(struct inst *in, uint64_t n)
{
	return LLVMConstInt(in->i64, n, false);
}

static void mark(struct inst *in, LLVMValueRef call, const char *attribute)
{
	unsigned int kind = LLVMGetEnumAttributeKindForName(attribute, strlen(attribute));

	if (kind)
		LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex,
					 LLVMCreateEnumAttribute(in->context, kind, 0));
}

/* Hooks touch nothing of the program's: what surrounds them is optimised as if they were not. */
static void call_hook(struct inst *in, int which, LLVMValueRef *arguments, unsigned int count)
{
	LLVMValueRef at[] = {int64(in, (uint64_t)which)};
	LLVMValueRef slot = LLVMBuildInBoundsGEP2(in->builder, in->pointer, in->hooks, at, 1, "");
	LLVMValueRef hook = LLVMBuildLoad2(in->builder, in->pointer, slot, "");
	LLVMValueRef call =
		LLVMBuildCall2(in->builder, in->hook[which], hook, arguments, count, "");

	mark(in, call, "nounwind");
	mark(in, call, "inaccessiblememonly");
	mark(in, call, "willreturn");
}

static LLVMValueRef item(struct inst *in)
{
	return LLVMBuildCall2(in->builder, LLVMGlobalGetValueType(in->item), in->item, NULL, 0, "");
}

static LLVMValueRef address(struct inst *in, LLVMValueRef pointer)
{
	return LLVMBuildPtrToInt(in->builder, pointer, in->i64, "");
}

static bool is_wanted(const struct inst *in, uint8_t space)
{
	return space == PASTA_TRACE_UNKNOWN || !in->want.spaces || (in->want.spaces >> space & 1);
}

static void tell_access(struct inst *in, LLVMValueRef addr, uint32_t site)
{
	LLVMValueRef arguments[] = {addr, int32(in, site), item(in)};

	call_hook(in, HOOK_ACCESS, arguments, 3);
}

static void plain(struct inst *in, LLVMValueRef at, LLVMValueRef pointer, uint64_t bytes,
		  uint8_t does)
{
	struct pasta_trace_site site = {.bytes = (uint32_t)bytes, .does = does};

	if (trace_is_register(pointer))
		return;
	site.space = (uint8_t)trace_space(pointer);
	if (!is_wanted(in, site.space))
		return;
	LLVMPositionBuilderBefore(in->builder, at);
	tell_access(in, address(in, pointer), add_site(in, at, &site));
}

/* -- Calls of functions of the language -- */

static LLVMValueRef wide(struct inst *in, LLVMValueRef n)
{
	return LLVMBuildIntCast2(in->builder, n, in->i64, false, "");
}

static void builtin_access(struct inst *in, LLVMValueRef call, const struct trace_access *a,
			   const char *name)
{
	LLVMValueRef pointer = LLVMGetOperand(call, a->pointer), addr;
	struct pasta_trace_site like = {.bytes = a->bytes, .does = a->does, .space = a->space};
	uint32_t site;

	if (like.space == PASTA_TRACE_UNKNOWN)
		like.space = (uint8_t)trace_space(pointer);
	if (!is_wanted(in, like.space))
		return;
	like.callee = keep(in, name, strlen(name));
	LLVMPositionBuilderBefore(in->builder, call);
	site = add_site(in, call, &like);
	addr = address(in, pointer);
	if (a->offset >= 0) {
		LLVMValueRef n = wide(in, LLVMGetOperand(call, (unsigned int)a->offset));

		addr = LLVMBuildAdd(in->builder, addr,
				    LLVMBuildMul(in->builder, n, int64(in, a->step), ""), "");
	}
	if (a->count < 0) {
		tell_access(in, addr, site);
	} else {
		LLVMValueRef stride = int64(in, a->step);
		LLVMValueRef arguments[] = {addr, int32(in, site), item(in),
					    wide(in, LLVMGetOperand(call, (unsigned int)a->count)),
					    NULL};

		if (a->stride >= 0)
			stride = LLVMBuildMul(
				in->builder, stride,
				wide(in, LLVMGetOperand(call, (unsigned int)a->stride)), "");
		arguments[4] = stride;
		call_hook(in, HOOK_RANGE, arguments, 5);
	}
}

/* A copy of a structure, or what begins a variable. Its source is of interest only if it is the
 * program's: constants that the compiler made are not. */
static void block(struct inst *in, LLVMValueRef call, bool copies)
{
	LLVMValueRef size = LLVMGetOperand(call, 2), from = LLVMGetOperand(call, 1);
	struct pasta_trace_site missed = {.callee = "memcpy"};
	uint64_t bytes;

	if (!LLVMIsAConstantInt(size)) {
		add_site(in, call, &missed);
		return;
	}
	bytes = LLVMConstIntGetZExtValue(size);
	if (copies && !(LLVMIsAGlobalVariable(from) && LLVMGetLinkage(from) == LLVMPrivateLinkage))
		plain(in, call, from, bytes, PASTA_TRACE_LOAD);
	plain(in, call, LLVMGetOperand(call, 0), bytes, PASTA_TRACE_STORE);
}

static void called(struct inst *in, LLVMValueRef call)
{
	LLVMValueRef function = LLVMGetCalledValue(call);
	struct pasta_trace_site missed = {0};
	struct trace_access access[2];
	const char *name;
	char plain_name[64];
	size_t size;
	int n;

	if (!LLVMIsAFunction(function) || !LLVMIsDeclaration(function))
		return;
	name = LLVMGetValueName2(function, &size);
	if (!strncmp(name, "llvm.memcpy.", 12) || !strncmp(name, "llvm.memmove.", 13)) {
		block(in, call, true);
		return;
	}
	if (!strncmp(name, "llvm.memset.", 12)) {
		block(in, call, false);
		return;
	}
	n = trace_builtin(name, access);
	trace_builtin_name(name, plain_name, sizeof(plain_name));
	for (int i = 0; i < n; i++)
		builtin_access(in, call, &access[i], plain_name);
	if (n < 0) {
		missed.callee = keep(in, plain_name, strlen(plain_name));
		add_site(in, call, &missed);
	}
}

/* -- Functions -- */

static uint64_t bytes_of(struct inst *in, LLVMTypeRef type)
{
	return LLVMStoreSizeOfType(in->layout, type);
}

static void instruction(struct inst *in, LLVMValueRef v)
{
	LLVMValueRef value;

	/* The compiler's own, such as keeping an argument, is at no place in the source. */
	if (!LLVMInstructionGetDebugLoc(v))
		return;
	switch (LLVMGetInstructionOpcode(v)) {
	case LLVMLoad:
		plain(in, v, LLVMGetOperand(v, 0), bytes_of(in, LLVMTypeOf(v)), PASTA_TRACE_LOAD);
		break;
	case LLVMStore:
		value = LLVMGetOperand(v, 0);
		plain(in, v, LLVMGetOperand(v, 1), bytes_of(in, LLVMTypeOf(value)),
		      PASTA_TRACE_STORE);
		break;
	case LLVMAtomicRMW:
	case LLVMAtomicCmpXchg:
		value = LLVMGetOperand(v, 1);
		plain(in, v, LLVMGetOperand(v, 0), bytes_of(in, LLVMTypeOf(value)),
		      PASTA_TRACE_ATOMIC);
		break;
	case LLVMCall:
		called(in, v);
		break;
	default:
		break;
	}
}

static LLVMValueRef ask(struct inst *in, const char *mangled, unsigned int dimension)
{
	LLVMTypeRef type = LLVMFunctionType(in->i64, &in->i32, 1, false);
	LLVMValueRef f = LLVMGetNamedFunction(in->module, mangled), n = int32(in, dimension);

	if (!f)
		f = LLVMAddFunction(in->module, mangled, type);
	return LLVMBuildCall2(in->builder, type, f, &n, 1, "");
}

/* A number in three dimensions, as one. */
static LLVMValueRef linear(struct inst *in, const char *id, const char *extent)
{
	LLVMValueRef n = ask(in, id, 2);

	for (unsigned int i = 2; i-- > 0;)
		n = LLVMBuildAdd(in->builder, LLVMBuildMul(in->builder, n, ask(in, extent, i), ""),
				 ask(in, id, i), "");
	return n;
}

/* A function of the module's that tells the work-item's number in its group. */
static void make_item(struct inst *in)
{
	LLVMTypeRef type = LLVMFunctionType(in->i32, NULL, 0, false);
	LLVMValueRef n;

	in->item = LLVMAddFunction(in->module, "pasta_trace_item", type);
	LLVMSetLinkage(in->item, LLVMInternalLinkage);
	LLVMPositionBuilderAtEnd(in->builder,
				 LLVMAppendBasicBlockInContext(in->context, in->item, "entry"));
	n = linear(in, "_Z12get_local_idj", "_Z14get_local_sizej");
	LLVMBuildRet(in->builder, LLVMBuildTrunc(in->builder, n, in->i32, ""));
}

/* The group's first work-item tells of where the kernel's own arguments point to. */
static void tell_arguments(struct inst *in, LLVMValueRef kernel, LLVMValueRef enter)
{
	unsigned int count = LLVMCountParams(enter) - 1;
	LLVMValueRef arguments[] = {LLVMGetParam(enter, count), NULL, NULL};

	for (unsigned int i = 0; i < count; i++) {
		if (!trace_is_address(kernel, i))
			continue;
		arguments[1] = int32(in, i);
		arguments[2] = address(in, LLVMGetParam(enter, i));
		call_hook(in, HOOK_ARGUMENT, arguments, 3);
	}
}

static LLVMValueRef tell_enter(struct inst *in, LLVMValueRef token, uint32_t number)
{
	LLVMValueRef arguments[] = {token, int32(in, number), item(in), NULL, NULL};
	LLVMValueRef size = ask(in, "_Z14get_local_sizej", 0);

	for (unsigned int i = 1; i < 3; i++)
		size = LLVMBuildMul(in->builder, size, ask(in, "_Z14get_local_sizej", i), "");
	arguments[3] = linear(in, "_Z12get_group_idj", "_Z14get_num_groupsj");
	arguments[4] = LLVMBuildTrunc(in->builder, size, in->i32, "");
	call_hook(in, HOOK_ENTER, arguments, 5);
	return arguments[2];
}

static void branch(struct inst *in, LLVMValueRef a, LLVMValueRef b, LLVMBasicBlockRef equal,
		   LLVMBasicBlockRef other)
{
	LLVMBuildCondBr(in->builder, LLVMBuildICmp(in->builder, LLVMIntEQ, a, b, ""), equal, other);
}

/* A function of the module's, with the kernel's parameters, that tells of a work-item's begin. */
static LLVMValueRef make_enter(struct inst *in, LLVMValueRef kernel, uint32_t number)
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
	branch(in, token, int64(in, PASTA_TRACE_NO_TOKEN), end, launched);
	LLVMPositionBuilderAtEnd(in->builder, launched);
	branch(in, tell_enter(in, token, number), int32(in, 0), first, end);
	LLVMPositionBuilderAtEnd(in->builder, first);
	tell_arguments(in, kernel, f);
	LLVMBuildBr(in->builder, end);
	LLVMPositionBuilderAtEnd(in->builder, end);
	LLVMBuildRetVoid(in->builder);
	return f;
}

static void enter(struct inst *in, LLVMValueRef kernel, uint32_t number)
{
	unsigned int count = LLVMCountParams(kernel);
	LLVMValueRef at = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(kernel)), f;
	LLVMValueRef *arguments = calloc(count, sizeof(*arguments));

	if (!arguments) {
		in->no_memory = true;
		return;
	}
	f = make_enter(in, kernel, number);
	while (LLVMIsAAllocaInst(at))
		at = LLVMGetNextInstruction(at);
	LLVMPositionBuilderBefore(in->builder, at);
	LLVMGetParams(kernel, arguments);
	LLVMBuildCall2(in->builder, LLVMGlobalGetValueType(f), f, arguments, count, "");
	free(arguments);
}

static void kernel(struct inst *in, LLVMValueRef old)
{
	struct pasta_trace_module *m = in->out;
	struct pasta_trace_kernel *list =
		grow(in, m->kernels, m->kernel_count, &in->kernel_room, sizeof(*list));
	LLVMValueRef twin;
	size_t size;
	const char *name = LLVMGetValueName2(old, &size);

	if (!list)
		return;
	m->kernels = list;
	list += m->kernel_count;
	list->name = keep(in, name, size);
	list->arguments = LLVMCountParams(old);
	twin = trace_twin(in->builder, old, in->i64);
	if (!twin) {
		in->no_memory = true;
		return;
	}
	enter(in, twin, in->want.first_kernel + (uint32_t)m->kernel_count++);
}

static void forget(LLVMValueRef function, const char *attribute)
{
	LLVMRemoveEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex,
				       LLVMGetEnumAttributeKindForName(attribute,
								       strlen(attribute)));
}

static void function(struct inst *in, LLVMValueRef f)
{
	LLVMValueRef v, next;

	trace_mark_variables(f);
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
		for (v = LLVMGetFirstInstruction(b); v; v = next) {
			next = LLVMGetNextInstruction(v);
			instruction(in, v);
		}
	/* From here on it is to be optimised like any other. */
	forget(f, "optnone");
	forget(f, "noinline");
}

/* -- Modules -- */

static void types(struct inst *in)
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
	/* A function that is not the language's is refused by PoCL, and a variable that is but
	 * external is made private; a weak one is left to the dynamic linker. */
	in->hooks =
		LLVMAddGlobal(in->module, LLVMArrayType(in->pointer, HOOKS), "pasta_trace_hooks");
	LLVMSetLinkage(in->hooks, LLVMExternalWeakLinkage);
}

static int parse(struct inst *in, const void *bitcode, size_t size, LLVMModuleRef *module,
		 struct pasta_error *err)
{
	LLVMMemoryBufferRef buffer =
		LLVMCreateMemoryBufferWithMemoryRangeCopy((const char *)bitcode, size, "program");
	int failed = LLVMParseBitcodeInContext2(in->context, buffer, module);

	LLVMDisposeMemoryBuffer(buffer);
	return failed ? pasta_fail(err, -EINVAL,
				   "opencl: the driver's compiler made what LLVM %d cannot read",
				   LLVM_VERSION_MAJOR)
		      : 0;
}

static int load(struct inst *in, const void *const *bitcode, const size_t *sizes, size_t count,
		struct pasta_error *err)
{
	LLVMModuleRef more;
	int r = parse(in, bitcode[0], sizes[0], &in->module, err);

	for (size_t i = 1; !r && i < count; i++) {
		r = parse(in, bitcode[i], sizes[i], &more, err);
		if (!r && LLVMLinkModules2(in->module, more))
			r = pasta_fail(err, -EINVAL, "opencl: the parts of a program do not fit");
	}
	return r;
}

static int write_out(struct inst *in, struct pasta_error *err)
{
	LLVMMemoryBufferRef buffer;
	char *why = NULL;
	int r = 0;

	/* The driver ends the process where a module is not right. */
	if (LLVMVerifyModule(in->module, LLVMReturnStatusAction, &why))
		r = pasta_fail(err, -EINVAL, "opencl: the instrumented code is not right: %s", why);
	LLVMDisposeMessage(why);
	if (r)
		return r;
	buffer = LLVMWriteBitcodeToMemoryBuffer(in->module);
	in->out->size = LLVMGetBufferSize(buffer);
	in->out->bitcode = malloc(in->out->size);
	if (in->out->bitcode)
		memcpy(in->out->bitcode, LLVMGetBufferStart(buffer), in->out->size);
	LLVMDisposeMemoryBuffer(buffer);
	return in->out->bitcode ? 0 : pasta_fail(err, -ENOMEM, "opencl: out of memory");
}

/* Pointers are followed into kernels' arguments: so kernels stay what they are until the end. */
static void functions(struct inst *in)
{
	LLVMValueRef f, last = LLVMGetLastFunction(in->module), next;

	for (f = LLVMGetFirstFunction(in->module); f; f = LLVMGetNextFunction(f))
		if (!LLVMIsDeclaration(f) && LLVMGetSubprogram(f))
			function(in, f);
	LLVMStripModuleDebugInfo(in->module);
	LLVMSetCurrentDebugLocation2(in->builder, NULL);
	for (f = LLVMGetFirstFunction(in->module); f; f = next) {
		next = f == last ? NULL : LLVMGetNextFunction(f);
		if (!LLVMIsDeclaration(f) && trace_is_kernel(f))
			kernel(in, f);
	}
}

/* The default handler prints, and may exit. */
static void on_diagnostic(LLVMDiagnosticInfoRef info, void *context)
{
}

int pasta_trace_instrument(const void *const *bitcode, const size_t *sizes, size_t count,
			   const struct pasta_trace_subscribe *want, struct pasta_trace_module *out,
			   struct pasta_error *err)
{
	struct inst in = {.out = out, .want = *want};
	int r;

	memset(out, 0, sizeof(*out));
	in.context = LLVMContextCreate();
	LLVMContextSetDiagnosticHandler(in.context, on_diagnostic, NULL);
	r = load(&in, bitcode, sizes, count, err);
	if (!r) {
		in.builder = LLVMCreateBuilderInContext(in.context);
		types(&in);
		make_item(&in);
		functions(&in);
		r = in.no_memory ? pasta_fail(err, -ENOMEM, "opencl: out of memory")
				 : write_out(&in, err);
		LLVMDisposeBuilder(in.builder);
	}
	if (in.module)
		LLVMDisposeModule(in.module);
	LLVMContextDispose(in.context);
	if (r)
		pasta_trace_module_free(out);
	return r;
}

void pasta_trace_module_free(struct pasta_trace_module *m)
{
	struct pasta_trace_text *t, *next;

	for (t = m->texts; t; t = next) {
		next = t->next;
		free(t);
	}
	free(m->bitcode);
	free(m->sites);
	free(m->kernels);
	memset(m, 0, sizeof(*m));
}
