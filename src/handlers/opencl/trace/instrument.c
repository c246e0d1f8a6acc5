/* instrument.c - instruments a module: lists the sites, and inserts a hook call before each
 * access. */
#include <errno.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Linker.h>
#include <llvm/Config/llvm-config.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/opencl/trace/builtin.h"
#include "handlers/opencl/trace/hookcall.h"
#include "handlers/opencl/trace/kernel.h"
#include "handlers/opencl/trace/space.h"
#include "handlers/opencl/trace/trace.h"

struct pasta_trace_text {
	struct pasta_trace_text *next;
	char text[];
};

/* -- Sites -- */

/* Returns a copy of a text that lives as long as the module. Equal texts share one copy. */
static const char *instrument_text(struct instrumenter *in, const char *text, size_t size)
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

/* Returns "" for the program's own source, because the driver compiles this source from a temporary
 * file. */
static const char *instrument_file(struct instrumenter *in, LLVMValueRef at)
{
	unsigned int size = 0;
	const char *file = LLVMGetDebugLocFilename(at, &size), *slash;

	if (!file)
		return "";
	slash = memrchr(file, '/', size);
	slash = slash ? slash + 1 : file;
	if (!strncmp(slash, "tempfile_", 9) || !strncmp(slash, "<stdin>", 7))
		return "";
	return instrument_text(in, file, size);
}

static void *instrument_grow(struct instrumenter *in, void *list, size_t count, size_t *room,
			     size_t size)
{
	size_t bigger = *room ? *room * 2 : 64;
	void *p;

	if (count < *room)
		return list;
	p = realloc(list, bigger * size);
	if (!p) {
		in->no_memory = true;
		return NULL;
	}
	*room = bigger;
	return p;
}

/* Adds a copy of a site, with the source position of an instruction. Returns the site's id. */
static uint32_t instrument_add_site(struct instrumenter *in, LLVMValueRef at,
				    const struct pasta_trace_site *like)
{
	struct pasta_trace_module *m = in->out;
	LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(at));
	struct pasta_trace_site *list =
		instrument_grow(in, m->sites, m->site_count, &in->site_room, sizeof(*list));
	size_t size;
	const char *name = LLVMGetValueName2(function, &size);

	if (!list)
		return 0;
	m->sites = list;
	list += m->site_count;
	*list = *like;
	list->function = instrument_text(in, name, size);
	list->file = instrument_file(in, at);
	list->line = LLVMGetDebugLocLine(at);
	list->column = LLVMGetDebugLocColumn(at);
	return in->subscribe.first_site + (uint32_t)m->site_count++;
}

/* -- Accesses -- */

static bool instrument_selects(const struct instrumenter *in, uint8_t space)
{
	return space == PASTA_TRACE_UNKNOWN || !in->subscribe.spaces ||
	       (in->subscribe.spaces >> space & 1);
}

static void instrument_access_hook(struct instrumenter *in, LLVMValueRef addr, uint32_t site)
{
	LLVMValueRef arguments[] = {addr, trace_int32(in, site), trace_item(in)};

	trace_call_hook(in, HOOK_ACCESS, arguments, 3);
}

static void instrument_access(struct instrumenter *in, LLVMValueRef at, LLVMValueRef pointer,
			      uint64_t bytes, uint8_t does)
{
	struct pasta_trace_site site = {.bytes = (uint32_t)bytes, .does = does};

	if (trace_is_register(pointer))
		return;
	site.space = (uint8_t)trace_space(pointer);
	if (!instrument_selects(in, site.space))
		return;
	LLVMPositionBuilderBefore(in->builder, at);
	instrument_access_hook(in, trace_address(in, pointer), instrument_add_site(in, at, &site));
}

/* -- Calls of built-in functions -- */

static LLVMValueRef instrument_widen(struct instrumenter *in, LLVMValueRef n)
{
	return LLVMBuildIntCast2(in->builder, n, in->i64, false, "");
}

static void instrument_builtin(struct instrumenter *in, LLVMValueRef call,
			       const struct trace_access *a, const char *name)
{
	LLVMValueRef pointer = LLVMGetOperand(call, a->pointer), addr;
	struct pasta_trace_site like = {.bytes = a->bytes, .does = a->does, .space = a->space};
	uint32_t site;

	if (like.space == PASTA_TRACE_UNKNOWN)
		like.space = (uint8_t)trace_space(pointer);
	if (!instrument_selects(in, like.space))
		return;
	like.callee = instrument_text(in, name, strlen(name));
	LLVMPositionBuilderBefore(in->builder, call);
	site = instrument_add_site(in, call, &like);
	addr = trace_address(in, pointer);
	if (a->offset >= 0) {
		LLVMValueRef n =
			instrument_widen(in, LLVMGetOperand(call, (unsigned int)a->offset));

		addr = LLVMBuildAdd(in->builder, addr,
				    LLVMBuildMul(in->builder, n, trace_int64(in, a->step), ""), "");
	}
	if (a->count < 0) {
		instrument_access_hook(in, addr, site);
	} else {
		LLVMValueRef stride = trace_int64(in, a->step);
		LLVMValueRef arguments[] = {
			addr, trace_int32(in, site), trace_item(in),
			instrument_widen(in, LLVMGetOperand(call, (unsigned int)a->count)), NULL};

		if (a->stride >= 0)
			stride = LLVMBuildMul(
				in->builder, stride,
				instrument_widen(in, LLVMGetOperand(call, (unsigned int)a->stride)),
				"");
		arguments[4] = stride;
		trace_call_hook(in, HOOK_RANGE, arguments, 5);
	}
}

/* Instruments a copy of a structure, or the initialization of a variable. Does not count reads of
 * constants that the compiler added. */
static void instrument_block(struct instrumenter *in, LLVMValueRef call, bool copies)
{
	LLVMValueRef size = LLVMGetOperand(call, 2), from = LLVMGetOperand(call, 1);
	struct pasta_trace_site missed = {.callee = "memcpy"};
	uint64_t bytes;

	if (!LLVMIsAConstantInt(size)) {
		instrument_add_site(in, call, &missed);
		return;
	}
	bytes = LLVMConstIntGetZExtValue(size);
	if (copies && !(LLVMIsAGlobalVariable(from) && LLVMGetLinkage(from) == LLVMPrivateLinkage))
		instrument_access(in, call, from, bytes, PASTA_TRACE_LOAD);
	instrument_access(in, call, LLVMGetOperand(call, 0), bytes, PASTA_TRACE_STORE);
}

static void instrument_call(struct instrumenter *in, LLVMValueRef call)
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
		instrument_block(in, call, true);
		return;
	}
	if (!strncmp(name, "llvm.memset.", 12)) {
		instrument_block(in, call, false);
		return;
	}
	n = trace_builtin(name, access);
	trace_builtin_name(name, plain_name, sizeof(plain_name));
	for (int i = 0; i < n; i++)
		instrument_builtin(in, call, &access[i], plain_name);
	if (n < 0) {
		missed.callee = instrument_text(in, plain_name, strlen(plain_name));
		instrument_add_site(in, call, &missed);
	}
}

/* -- Functions -- */

static uint64_t instrument_bytes(struct instrumenter *in, LLVMTypeRef type)
{
	return LLVMStoreSizeOfType(in->layout, type);
}

static void instrument_instruction(struct instrumenter *in, LLVMValueRef v)
{
	LLVMValueRef value;

	/* Skip code that the compiler has added, such as stores of arguments. Such code has no
	 * source position. */
	if (!LLVMInstructionGetDebugLoc(v))
		return;
	switch (LLVMGetInstructionOpcode(v)) {
	case LLVMLoad:
		instrument_access(in, v, LLVMGetOperand(v, 0), instrument_bytes(in, LLVMTypeOf(v)),
				  PASTA_TRACE_LOAD);
		break;
	case LLVMStore:
		value = LLVMGetOperand(v, 0);
		instrument_access(in, v, LLVMGetOperand(v, 1),
				  instrument_bytes(in, LLVMTypeOf(value)), PASTA_TRACE_STORE);
		break;
	case LLVMAtomicRMW:
	case LLVMAtomicCmpXchg:
		value = LLVMGetOperand(v, 1);
		instrument_access(in, v, LLVMGetOperand(v, 0),
				  instrument_bytes(in, LLVMTypeOf(value)), PASTA_TRACE_ATOMIC);
		break;
	case LLVMCall:
		instrument_call(in, v);
		break;
	default:
		break;
	}
}

static void instrument_kernel(struct instrumenter *in, LLVMValueRef old)
{
	struct pasta_trace_module *m = in->out;
	struct pasta_trace_kernel *list =
		instrument_grow(in, m->kernels, m->kernel_count, &in->kernel_room, sizeof(*list));
	LLVMValueRef clone;
	size_t size;
	const char *name = LLVMGetValueName2(old, &size);

	if (!list)
		return;
	m->kernels = list;
	list += m->kernel_count;
	list->name = instrument_text(in, name, size);
	list->arguments = LLVMCountParams(old);
	clone = trace_clone(in->builder, old, in->i64);
	if (!clone) {
		in->no_memory = true;
		return;
	}
	trace_kernel_enter(in, clone, in->subscribe.first_kernel + (uint32_t)m->kernel_count++);
}

static void instrument_remove_attribute(LLVMValueRef function, const char *attribute)
{
	LLVMRemoveEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex,
				       LLVMGetEnumAttributeKindForName(attribute,
								       strlen(attribute)));
}

static void instrument_function(struct instrumenter *in, LLVMValueRef f)
{
	LLVMValueRef v, next;

	trace_mark_variables(f);
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
		for (v = LLVMGetFirstInstruction(b); v; v = next) {
			next = LLVMGetNextInstruction(v);
			instrument_instruction(in, v);
		}
	/* The option -cl-opt-disable has added these attributes to the function. Remove the
	 * attributes, so that the driver optimises the function. */
	instrument_remove_attribute(f, "optnone");
	instrument_remove_attribute(f, "noinline");
}

/* -- Modules -- */

static int instrument_parse(struct instrumenter *in, const void *bitcode, size_t size,
			    LLVMModuleRef *module, struct pasta_error *err)
{
	LLVMMemoryBufferRef buffer =
		LLVMCreateMemoryBufferWithMemoryRangeCopy((const char *)bitcode, size, "program");
	int failed = LLVMParseBitcodeInContext2(in->context, buffer, module);

	LLVMDisposeMemoryBuffer(buffer);
	return failed ? pasta_fail(
				err, -EINVAL,
				"opencl: LLVM %d cannot read the bitcode of the driver's compiler",
				LLVM_VERSION_MAJOR)
		      : 0;
}

static int instrument_load(struct instrumenter *in, const void *const *bitcode, const size_t *sizes,
			   size_t count, struct pasta_error *err)
{
	LLVMModuleRef more;
	int r = instrument_parse(in, bitcode[0], sizes[0], &in->module, err);

	for (size_t i = 1; !r && i < count; i++) {
		r = instrument_parse(in, bitcode[i], sizes[i], &more, err);
		if (!r && LLVMLinkModules2(in->module, more))
			r = pasta_fail(err, -EINVAL,
				       "opencl: LLVM cannot link the parts of the program");
	}
	return r;
}

static int instrument_write(struct instrumenter *in, struct pasta_error *err)
{
	LLVMMemoryBufferRef buffer;
	char *why = NULL;
	int r = 0;

	/* Check the module here, because the driver would abort the process on an invalid
	 * module. */
	if (LLVMVerifyModule(in->module, LLVMReturnStatusAction, &why))
		r = pasta_fail(err, -EINVAL, "opencl: the instrumented code is invalid: %s", why);
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

/* trace_space follows pointers back to kernel arguments, so kernels are replaced last. */
static void instrument_functions(struct instrumenter *in)
{
	LLVMValueRef f, last = LLVMGetLastFunction(in->module), next;

	for (f = LLVMGetFirstFunction(in->module); f; f = LLVMGetNextFunction(f))
		if (!LLVMIsDeclaration(f) && LLVMGetSubprogram(f))
			instrument_function(in, f);
	LLVMStripModuleDebugInfo(in->module);
	LLVMSetCurrentDebugLocation2(in->builder, NULL);
	for (f = LLVMGetFirstFunction(in->module); f; f = next) {
		next = f == last ? NULL : LLVMGetNextFunction(f);
		if (!LLVMIsDeclaration(f) && trace_is_kernel(f))
			instrument_kernel(in, f);
	}
}

/* LLVM's default handler prints messages, and may exit the process. */
static void instrument_diagnostic(LLVMDiagnosticInfoRef info, void *context)
{
}

int pasta_trace_instrument(const void *const *bitcode, const size_t *sizes, size_t count,
			   const struct pasta_trace_subscribe *subscribe,
			   struct pasta_trace_module *out, struct pasta_error *err)
{
	struct instrumenter in = {.out = out, .subscribe = *subscribe};
	int r;

	memset(out, 0, sizeof(*out));
	in.context = LLVMContextCreate();
	LLVMContextSetDiagnosticHandler(in.context, instrument_diagnostic, NULL);
	r = instrument_load(&in, bitcode, sizes, count, err);
	if (!r) {
		in.builder = LLVMCreateBuilderInContext(in.context);
		trace_hooks_init(&in);
		instrument_functions(&in);
		r = in.no_memory ? pasta_fail(err, -ENOMEM, "opencl: out of memory")
				 : instrument_write(&in, err);
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
