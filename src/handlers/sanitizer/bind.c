/* bind.c - the Compute Sanitizer's library and our patches, found and bound. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/control.h"
#include "handlers/sanitizer/sanitizer.h"
#include "handlers/vendor.h"

#define PATCHES "pasta-patches.fatbin"

struct sanitizer sanitizer;

static const char *const names[] = {"libsanitizer-public.so", NULL};
static const char *const below[] = {"compute-sanitizer", "extras/compute-sanitizer", NULL};
static const char *const beside[] = {"cu13/lib", NULL};
static const struct pasta_vendor vendor = {"PASTA_SANITIZER", names, below, beside};

static const char *bind_all(void *lib)
{
#define F(name, args)                                                                              \
	*(void **)&sanitizer.name = dlsym(lib, "sanitizer" #name);                                 \
	if (!sanitizer.name)                                                                       \
		return "sanitizer" #name;
	SANITIZER_FUNCTIONS(F)
#undef F
	return NULL;
}

/* Found when the library is bound, before there is another thread of ours. */
static char patches[PATH_MAX];

const char *san_patches_path(void)
{
	return patches;
}

/* Structures of CUDA 12's library are shorter than those that we read, and it does not say which it
 * is: by where it lies. */
static bool is_older(const char *path)
{
	static const char *const marks[] = {"/cuda-12", "/cuda-11", "/cuda_sanitizer_api/"};
	char real[PATH_MAX];

	if (!realpath(path, real))
		return false;
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (strstr(real, marks[i]))
			return true;
	return false;
}

static int bind_library(char *why, size_t size)
{
	const char *path = getenv(vendor.env), *missing;
	struct link_map *map = NULL;
	void *lib = pasta_vendor_find(&vendor);

	if (!lib && path && *path)
		snprintf(why, size,
			 "PASTA_SANITIZER must be the path of a libsanitizer-public.so: %s",
			 dlerror());
	else if (!lib)
		snprintf(why, size,
			 "no libsanitizer-public.so of CUDA 13: install cuda-sanitizer, or the "
			 "Python package nvidia-cuda-sanitizer-api, or set PASTA_SANITIZER to its "
			 "path");
	if (!lib)
		return -ENODEV;
	missing = bind_all(lib);
	if (!dlinfo(lib, RTLD_DI_LINKMAP, &map) && map)
		snprintf(sanitizer.path, sizeof(sanitizer.path), "%s", map->l_name);
	if (missing)
		snprintf(why, size,
			 "the Compute Sanitizer has no %s: install that of CUDA 13, or set "
			 "PASTA_SANITIZER to its path (found %s)",
			 missing, sanitizer.path);
	else if (is_older(sanitizer.path))
		snprintf(
			why, size,
			"%s is of a CUDA before 13: install that of CUDA 13, or set PASTA_SANITIZER "
			"to its path",
			sanitizer.path);
	else
		return 0;
	return -ENOSYS;
}

/* A tool's own where the run has one, else accelprof's. */
static int find_patches(char *why, size_t size)
{
	const char *own = pasta_accesses_config_reducer();

	if (own)
		snprintf(patches, sizeof(patches), "%s", own);
	else
		pasta_vendor_beside(PATCHES, patches, sizeof(patches));
	if (!access(patches, R_OK))
		return 0;
	if (own)
		snprintf(why, size, "the tool's reducer %.200s cannot be read: %s", own,
			 strerror(errno));
	else
		snprintf(why, size,
			 "no " PATCHES " beside the agent: build accelprof where there is nvcc of "
			 "CUDA 13");
	return -ENODEV;
}

/* -- What the library has no functions for, and the driver has -- */

static struct {
	int (*push)(void *), (*pop)(void **);
	int (*range)(int *, int *);
	int (*create)(void **, unsigned int, int);
	int (*synchronize)(void);
} driver;

/* Once, and early: a thread of ours that looked for them later would wait for a program that is
 * loading a library, and call them when nobody expects it any more. */
static void bind_driver(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

	if (!lib)
		return;
	*(void **)&driver.push = dlsym(lib, "cuCtxPushCurrent_v2");
	*(void **)&driver.pop = dlsym(lib, "cuCtxPopCurrent_v2");
	*(void **)&driver.range = dlsym(lib, "cuCtxGetStreamPriorityRange");
	*(void **)&driver.create = dlsym(lib, "cuStreamCreateWithPriority");
	*(void **)&driver.synchronize = dlsym(lib, "cuCtxSynchronize");
	dlclose(lib); /* the program has it */
}

/* With the context as this thread's. False: it cannot be had. */
static bool enter(void *context)
{
	return driver.push && driver.pop && driver.range && driver.create && driver.synchronize &&
	       !driver.push(context);
}

/* Of the highest priority: streams of one share queues, where one may be behind another. */
static int new_stream(void *context, void **handle)
{
	enum { NON_BLOCKING = 1 };
	void *stream = NULL, *old;
	int least = 0, greatest = 0, r;

	if (!enter(context))
		return -1;
	driver.range(&least, &greatest);
	r = driver.create(&stream, NON_BLOCKING, greatest);
	driver.pop(&old);
	return r ? r : sanitizer.GetStreamHandle(context, stream, handle);
}

static int context_synchronize(void *context)
{
	void *old;
	int r;

	if (!enter(context))
		return -1;
	r = driver.synchronize();
	driver.pop(&old);
	return r;
}

int san_bind(char *why, size_t size)
{
	int error;

	if (sanitizer.bound)
		return 0;
	error = find_patches(why, size);
	if (error)
		return error;
	error = bind_library(why, size);
	bind_driver();
	sanitizer.NewStream = new_stream;
	sanitizer.ContextSynchronize = context_synchronize;
	sanitizer.bound = !error;
	return error;
}

const char *san_text(int result)
{
	const char *text = NULL;

	if (sanitizer.GetResultString(result, &text) != SAN_OK || !text)
		return "unknown error";
	return text;
}
