/* bind.c - finds the Compute Sanitizer's library, its functions, and the file with the patches for
 * kernels. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/control.h"
#include "handlers/cuda/library.h"
#include "handlers/sanitizer/sanitizer.h"

#define PATCHES "pasta-patches.fatbin"

struct sanitizer sanitizer;

static const char *const names[] = {"libsanitizer-public.so", NULL};
static const char *const toolkit[] = {"compute-sanitizer", "extras/compute-sanitizer", NULL};
static const char *const python[] = {"cu13/lib", NULL};
static const struct cuda_library library = {"PASTA_SANITIZER", names, toolkit, python};

/* Looks up the library's functions. Returns the name of the first missing function; NULL if all
 * exist. */
static const char *bind_functions(void *lib)
{
#define F(name, args)                                                                              \
	*(void **)&sanitizer.name = dlsym(lib, "sanitizer" #name);                                 \
	if (!sanitizer.name)                                                                       \
		return "sanitizer" #name;
	SANITIZER_FUNCTIONS(F)
#undef F
	return NULL;
}

/* The path of the file with the patches. san_bind sets the path before the agent starts a
 * thread. */
static char patches[PATH_MAX];

const char *san_patches_path(void)
{
	return patches;
}

/* Returns whether the library belongs to CUDA 12 or 11, where some structures are shorter. The
 * library has no function that returns its version, so the library's path is checked. */
static bool bind_is_older(const char *path)
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
	const char *path = getenv(library.env), *missing;
	void *lib = cuda_library_find(&library);

	if (!lib && path && *path)
		snprintf(why, size,
			 "PASTA_SANITIZER is not the path of a libsanitizer-public.so: %s",
			 dlerror());
	else if (!lib)
		snprintf(why, size,
			 "cannot find libsanitizer-public.so of CUDA 13: install cuda-sanitizer, "
			 "or the Python package nvidia-cuda-sanitizer-api, or set PASTA_SANITIZER "
			 "to its path");
	if (!lib)
		return -ENODEV;
	missing = bind_functions(lib);
	cuda_library_path(lib, sanitizer.path, sizeof(sanitizer.path));
	if (missing)
		snprintf(why, size,
			 "%s lacks %s: install the Compute Sanitizer of CUDA 13, or set "
			 "PASTA_SANITIZER to its path",
			 sanitizer.path, missing);
	else if (bind_is_older(sanitizer.path))
		snprintf(
			why, size,
			"%s is older than CUDA 13: install the Compute Sanitizer of CUDA 13, or set "
			"PASTA_SANITIZER to its path",
			sanitizer.path);
	else
		return 0;
	return -ENOSYS;
}

/* Selects the patches of the tool's own reducer if the run has such a reducer. If not, selects
 * accelprof's patches. */
static int bind_patches(char *why, size_t size)
{
	const char *own = pasta_accesses_config_reducer();

	if (own)
		snprintf(patches, sizeof(patches), "%s", own);
	else
		cuda_library_beside_agent(PATCHES, patches, sizeof(patches));
	if (!access(patches, R_OK))
		return 0;
	if (own)
		snprintf(why, size, "cannot read the tool's reducer %.200s: %s", own,
			 strerror(errno));
	else
		snprintf(
			why, size,
			"%s is missing from the agent's folder: build accelprof with nvcc of CUDA 13",
			PATCHES);
	return -ENODEV;
}

/* -- Driver functions that the Compute Sanitizer's library does not offer -- */

static struct {
	int (*push)(void *), (*pop)(void **);
	int (*range)(int *, int *);
	int (*create)(void **, unsigned int, int);
	int (*synchronize)(void);
} driver;

/* Looks up the driver's functions once, at the start. If a thread of the agent looked up a function
 * later, the thread could wait for the dynamic loader's lock until after CUDA has ended. */
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
	/* libcuda stays loaded, because the program holds its own reference to libcuda */
	dlclose(lib);
}

/* Makes the context current on the calling thread. Returns false on failure. */
static bool bind_enter(void *context)
{
	return driver.push && driver.pop && driver.range && driver.create && driver.synchronize &&
	       !driver.push(context);
}

/* Creates a stream of the highest priority. Streams of equal priority share hardware queues, in
 * which this stream could wait behind the program's work. */
static int bind_new_stream(void *context, void **handle)
{
	enum { NON_BLOCKING = 1 };
	void *stream = NULL, *old;
	int least = 0, greatest = 0, r;

	if (!bind_enter(context))
		return -1;
	driver.range(&least, &greatest);
	r = driver.create(&stream, NON_BLOCKING, greatest);
	driver.pop(&old);
	return r ? r : sanitizer.GetStreamHandle(context, stream, handle);
}

static int bind_context_synchronize(void *context)
{
	void *old;
	int r;

	if (!bind_enter(context))
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
	error = bind_patches(why, size);
	if (error)
		return error;
	error = bind_library(why, size);
	bind_driver();
	sanitizer.NewStream = bind_new_stream;
	sanitizer.ContextSynchronize = bind_context_synchronize;
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
