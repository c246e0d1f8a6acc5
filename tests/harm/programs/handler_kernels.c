/*
 * handler_kernels - cancellation, signals, fork and descriptors in a CUDA program whose memory
 * accesses are counted, on the fake of the Compute Sanitizer that HARM_FAKE names.
 */
#include "handler.h"

#include <dlfcn.h>

#include "../../../include/pasta/device.h"
#include "../../programs/fake_sanitizer.h"

#define FUNCTIONS(F) F(context) F(stream) F(synchronize) F(module) F(alloc) F(free) F(launch) F(pc)
static struct {
#define F(name) __typeof__(&fake_##name) name;
	FUNCTIONS(F)
#undef F
} fake;
static void *context, *stream, *module;
static uint64_t in;

static void *function(void *lib, const char *name)
{
	void *f = lib ? dlsym(lib, name) : NULL;

	if (!f) {
		fprintf(stderr, "%s: %s\n", name, dlerror());
		exit(99);
	}
	return f;
}

/* As cuInit does. */
static void prepare(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH"), *name = getenv("HARM_FAKE");
	void *lib = dlopen(name ? name : "HARM_FAKE", RTLD_NOW | RTLD_LOCAL);
	int (*injection)(void);

#define F(name) *(void **)&fake.name = function(lib, "fake_" #name);
	FUNCTIONS(F)
#undef F
	lib = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	if (lib) {
		*(void **)&injection = function(lib, "InitializeInjection");
		injection();
	}
	context = fake.context(0);
	stream = fake.stream(context);
	module = fake.module(context);
	in = fake.alloc(context, 4096, 0);
}

static void unit(void)
{
	const struct fake_access a[] = {
		{fake.pc(module) + 0x10, in + 4, 100, 4, PASTA_ACCESS_LOAD},
		{fake.pc(module) + 0x20, in + 8, 50, 8, PASTA_ACCESS_STORE},
	};
	const struct fake_kernel k = {module, "kernel", 4, 64, a, 2, 0};
	uint64_t more = fake.alloc(context, 8192, 0);

	fake.launch(stream, &k);
	fake.free(context, more);
}

static const char *settle(void)
{
	return fake.synchronize(stream) ? "a kernel failed" : NULL;
}
