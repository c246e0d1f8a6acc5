/*
 * handler_cuda - cancellation, signals, fork and descriptors in a CUDA program, on the fake of
 * CUPTI that HARM_FAKE names.
 */
#include "handler.h"

#include <dlfcn.h>

#include "../../programs/fake_cupti.h"

static __typeof__(&fake_call) call;
static __typeof__(&fake_context) context;
static _Atomic int calls;

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
	const char *fake = getenv("HARM_FAKE"), *path = getenv("CUDA_INJECTION64_PATH");
	void *lib = dlopen(fake ? fake : "HARM_FAKE", RTLD_NOW | RTLD_LOCAL);
	int (*injection)(void);

	*(void **)&call = function(lib, "fake_call");
	*(void **)&context = function(lib, "fake_context");
	lib = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	if (lib) {
		*(void **)&injection = function(lib, "InitializeInjection");
		injection();
	}
	context();
}

static void unit(void)
{
	struct fake_work launch = {.function = "cuLaunchKernel",
				   .kind = CUPTI_KERNEL,
				   .context = 1,
				   .stream = 10,
				   .name = "kernel"};
	struct fake_work copy = {.function = "cuMemcpyHtoDAsync_v2",
				 .kind = CUPTI_MEMCPY,
				 .context = 1,
				 .stream = 10,
				 .copy = 1,
				 .bytes = 4096};

	call(&launch);
	call(&copy);
	atomic_fetch_add(&calls, 2);
}

static const char *settle(void)
{
	return atomic_load(&calls) ? NULL : "nothing was called";
}
