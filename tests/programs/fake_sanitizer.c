/* fake_sanitizer - the Compute Sanitizer without a GPU: see fake_sanitizer.h. */
#define _GNU_SOURCE
#include "fake_sanitizer/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DOMAINS = 13, CALLS = 1024 };

static san_callback callback;
static void *user;
static bool on[DOMAINS];
static bool enabled[CALLS];
static _Atomic uint64_t patched, unpatched, own_bytes;

static int result_of(const char *function)
{
	const char *text = getenv("FAKE_SANITIZER_FAIL");
	size_t size = strlen(function);

	if (!text || strncmp(text, function, size) != 0 || text[size] != '=')
		return SAN_OK;
	return atoi(text + size + 1);
}

void fake_deliver(int domain, uint32_t id, const void *data)
{
	if (callback && on[domain])
		callback(user, domain, id, data);
}

void fake_deliver_api(uint32_t id, void *stream, const void *arguments, uint32_t site)
{
	struct san_call c = {.site = site,
			     .arguments = arguments,
			     .context = ((struct stream *)stream)->context};

	if (callback && enabled[id])
		callback(user, SAN_DRIVER_API, id, &c);
}

uint64_t fake_patched(void)
{
	return atomic_load(&patched);
}

uint64_t fake_unpatched(void)
{
	return atomic_load(&unpatched);
}

uint64_t fake_own_bytes(void)
{
	return atomic_load(&own_bytes);
}

/* -- The library's -- */

int sanitizerGetResultString(int result, const char **text)
{
	*text = result == FAILED ? "the fake has failed" : "the fake says no";
	return SAN_OK;
}

int sanitizerSubscribe(san_subscriber *subscriber, san_callback f, void *arg)
{
	int r = result_of("sanitizerSubscribe");

	if (r != SAN_OK)
		return r;
	callback = f;
	user = arg;
	*subscriber = (san_subscriber)&callback;
	return SAN_OK;
}

int sanitizerUnsubscribe(san_subscriber subscriber)
{
	(void)subscriber;
	callback = NULL;
	return SAN_OK;
}

int sanitizerEnableCallback(uint32_t is, san_subscriber s, int domain, uint32_t id)
{
	(void)s;
	if (domain == SAN_DRIVER_API && id < CALLS)
		enabled[id] = is;
	return SAN_OK;
}

int sanitizerEnableDomain(uint32_t is, san_subscriber s, int domain)
{
	(void)s;
	on[domain] = is;
	return result_of("sanitizerEnableDomain");
}

int sanitizerAddPatchesFromFile(const char *path, void *context)
{
	struct context *c = context;
	int r = result_of("sanitizerAddPatchesFromFile");

	fake_must_not_hang("sanitizerAddPatchesFromFile");
	if (r == SAN_OK && (access(path, R_OK) || atomic_exchange(&c->patches, true)))
		r = SAN_INVALID_PARAMETER;
	snprintf(c->path, sizeof(c->path), "%s", path);
	return r;
}

/* Of a tool's own patches there are those whose names the file has. */
static bool is_there(const struct context *c, const char *name)
{
	static char bytes[1 << 20];
	size_t n;
	FILE *f;

	if (strncmp(name, "pasta_own_", 10) != 0)
		return !strncmp(name, "pasta_", 6);
	f = fopen(c->path, "r");
	n = f ? fread(bytes, 1, sizeof(bytes), f) : 0;
	if (f)
		fclose(f);
	return memmem(bytes, n, name, strlen(name) + 1) != NULL;
}

int sanitizerPatchInstructions(int id, void *module, const char *name)
{
	struct module *m = module;
	int r = result_of(name);

	if (r != SAN_OK)
		return r;
	if (!atomic_load(&m->context->patches) || !is_there(m->context, name))
		return SAN_INVALID_PARAMETER;
	m->marked[id] = true;
	return SAN_OK;
}

int sanitizerPatchModule(void *module)
{
	struct module *m = module;
	int r = result_of("sanitizerPatchModule");

	fake_must_not_hang("sanitizerPatchModule");
	if (r == SAN_OK && (m->marked[1] || m->marked[3] || m->marked[4])) {
		m->patched = true;
		atomic_fetch_add(&patched, 1);
	}
	return r;
}

int sanitizerUnpatchModule(void *module)
{
	struct module *m = module;

	fake_must_not_hang("sanitizerUnpatchModule");
	memset(m->marked, 0, sizeof(m->marked));
	m->patched = false;
	atomic_fetch_add(&unpatched, 1);
	return SAN_OK;
}

int sanitizerSetLaunchCallbackData(void *launch, void *f, void *stream, const void *data)
{
	(void)f;
	(void)stream;
	((struct launch *)launch)->data = (void *)data;
	((struct launch *)launch)->set = true;
	return SAN_OK;
}

int sanitizerGetFunctionPcAndSize(void *module, const char *name, uint64_t *pc, uint64_t *size)
{
	(void)name;
	*pc = fake_pc(module);
	*size = 0x1000;
	return SAN_OK;
}

int sanitizerAlloc(void *context, void **memory, size_t size)
{
	struct san_memory_data d = {.bytes = size, .context = context};
	int r = result_of("sanitizerAlloc");

	if (r != SAN_OK)
		return r;
	*memory = malloc(size);
	memset(*memory, 0xa5, size);
	atomic_fetch_add(&own_bytes, size);
	d.addr = (uintptr_t)*memory;
	fake_deliver(SAN_RESOURCE, SAN_DEVICE_ALLOC, &d); /* as the library does, perhaps */
	return SAN_OK;
}

int sanitizerFree(void *context, void *memory)
{
	(void)context;
	fake_must_not_hang("sanitizerFree");
	free(memory);
	return SAN_OK;
}

int sanitizerAllocHost(void *context, void **memory, size_t size)
{
	struct san_memory_data d = {.bytes = size, .context = context, .flags = SAN_MEMORY_HOST};
	int r = result_of("sanitizerAllocHost");

	if (r != SAN_OK)
		return r;
	*memory = malloc(size);
	memset(*memory, 0xa5, size);
	d.addr = (uintptr_t)*memory;
	fake_deliver(SAN_RESOURCE, SAN_HOST_ALLOC, &d);
	return SAN_OK;
}

int sanitizerMemcpyHostToDeviceAsync(void *to, void *from, size_t size, void *stream)
{
	struct stream *s = stream;
	struct op *op;

	if (atomic_load(&s->context->failed))
		return FAILED;
	op = calloc(1, sizeof(*op) + size);
	op->what = COPY;
	op->to = to;
	op->size = size;
	memcpy(op->bytes, from, size);
	fake_stage(size);
	fake_hold();
	fake_give(s, op);
	fake_let_go();
	return SAN_OK;
}

int sanitizerMemset(void *to, int value, size_t size, void *stream)
{
	struct stream *s = stream;
	struct op *op;

	if (atomic_load(&s->context->failed))
		return FAILED;
	op = calloc(1, sizeof(*op));
	op->what = SET;
	op->to = to;
	op->size = size;
	op->value = value;
	fake_hold();
	fake_give(s, op);
	fake_let_go();
	return SAN_OK;
}

/* Kernels of other streams may be adding there: words are whole. */
static void read_words(uint64_t *to, const uint64_t *from, size_t size)
{
	for (size_t i = 0; i < size / sizeof(*to); i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	for (size_t i = size / sizeof(*to) * sizeof(*to); i < size; i++)
		((char *)to)[i] = __atomic_load_n((const char *)from + i, __ATOMIC_RELAXED);
}

int sanitizerMemcpyDeviceToHost(void *to, void *from, size_t size, void *stream)
{
	int r;

	fake_hold();
	r = fake_synchronize(stream);
	if (r == SAN_OK)
		read_words(to, from, size);
	fake_let_go();
	return r;
}

int sanitizerGetStreamHandle(void *context, void *stream, void **handle)
{
	(void)context;
	*handle = stream;
	return SAN_OK;
}

int sanitizerStreamSynchronize(void *stream)
{
	return fake_synchronize(stream);
}
