/* inject.c - the way in: CUDA's driver calls us while it is initialized. */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/cupti/cupti.h"
#include "handlers/handler.h"
#include "handlers/sanitizer/sanitizer.h"

/* Another library that wanted to be loaded in our place. */
#define CHAIN "PASTA_CUDA_INJECTION"

int InitializeInjection(void);

static void chain(void)
{
	const char *path = getenv(CHAIN);
	void *lib = path && *path ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
	int (*initialize)(void) = NULL;

	if (lib)
		*(void **)&initialize = dlsym(lib, "InitializeInjection");
	if (initialize && initialize != InitializeInjection)
		initialize();
}

static const char *advice(int result)
{
	switch (result) {
	case CUPTI_MULTIPLE_SUBSCRIBERS:
		return "the program, or another library in it, uses CUPTI itself: turn its "
		       "profiler off, and CUDA is recorded";
	case CUPTI_INSUFFICIENT_PRIVILEGES:
		return "NVIDIA's driver lets only root profile: run as root, or load the driver "
		       "with NVreg_RestrictProfilingToAdminUsers=0";
	case CUPTI_NOT_INITIALIZED:
		return "CUPTI does not work with this driver: set PASTA_CUPTI to a libcupti.so "
		       "of the driver's CUDA version";
	default:
		return NULL;
	}
}

void cupti_trouble(const char *what, int result)
{
	const char *text = advice(result);
	char why[300];

	if (!text)
		snprintf(why, sizeof(why), "%s: %s; 'accelprof doctor' says what CUPTI was found",
			 what, cupti_text(result));
	pasta_agent_log("cupti", text ? text : why);
}

static void start(void)
{
	int r = cupti_callbacks_start();

	if (r != CUPTI_OK) {
		cupti_trouble("launches cannot be seen", r);
		cupti_callbacks_stop();
		return;
	}
	r = cupti_activity_start();
	if (r != CUPTI_OK)
		cupti_trouble("what devices do cannot be seen, or not all of it", r);
	cupti_yield_watch(true);
	cupti_flush_start();
	atexit(cupti_flush_end); /* after CUPTI's own, so that it runs before them */
}

/* Another library's turn comes first: if it uses CUPTI it keeps it. */
static void initialize(void)
{
	bool attached = pasta_agent_attach_vendor(), bound = false;
	char why[300] = "";

	/* They exclude each other: whoever counts accesses does without CUPTI. */
	if (attached && pasta_accesses_config.on) {
		chain();
		san_start();
		return;
	}
	if (attached) {
		bound = !cupti_bind(why, sizeof(why));
		if (bound)
			cupti_yield_watch(false);
		else
			pasta_agent_log("cupti", why);
	}
	chain();
	if (bound && !cupti_yield_end())
		start();
}

__attribute__((visibility("default"))) int InitializeInjection(void)
{
	static atomic_flag done = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&done))
		initialize();
	return 1; /* whatever we fail at, CUDA goes on */
}

/* -- Can it work here? -- */

static int probe(char *why, size_t size)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);

	if (!driver) {
		snprintf(why, size,
			 "no driver (libcuda.so.1): there is no NVIDIA GPU, or its "
			 "driver is not installed");
		return -ENODEV;
	}
	if (cupti_bind(why, size))
		return -ENODEV;
	if (cupti.version < 10000)
		snprintf(why, size, "CUPTI %u of CUDA 12, %s", cupti.version, cupti.path);
	else
		snprintf(why, size, "CUPTI of CUDA %u.%u, %s", cupti.version / 10000,
			 cupti.version % 10000 / 100, cupti.path);
	return 0;
}

const struct pasta_handler pasta_cupti_handler = {
	.name = "cupti",
	.summary = "kernels, copies and memory of CUDA programs on NVIDIA's GPUs",
	.probe = probe,
	.env = "CUDA_INJECTION64_PATH",
	.env_other = CHAIN,
};
