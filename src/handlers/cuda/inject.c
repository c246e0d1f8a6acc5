/* inject.c - the first function of the agent that the CUDA driver calls. The function starts the
 * CUPTI handler or the sanitizer handler. */
#include "handlers/cuda/inject.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "handlers/cupti/cupti.h"
#include "handlers/sanitizer/sanitizer.h"

/* Loads and initializes the library that the user had set in CUDA_INJECTION64_PATH. */
static void inject_chained(void)
{
	const char *path = getenv(CUDA_INJECT_CHAINED);
	void *lib = path && *path ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
	int (*initialize)(void) = NULL;

	if (lib)
		*(void **)&initialize = dlsym(lib, "InitializeInjection");
	if (initialize && initialize != InitializeInjection)
		initialize();
}

/* Starts the user's injection library and a handler. The library starts after cupti_prepare and
 * before the handler, so that a library that uses CUPTI can continue to use CUPTI. A process cannot
 * use CUPTI and the Compute Sanitizer at the same time, so a run that counts accesses does not use
 * CUPTI. */
static void inject_start(void)
{
	bool attached = pasta_agent_attach_vendor();
	bool accesses = attached && pasta_accesses_config.on;
	bool cupti_ready = attached && !accesses && cupti_prepare();

	inject_chained();
	if (accesses)
		san_start();
	else if (cupti_ready)
		cupti_start();
}

__attribute__((visibility("default"))) int InitializeInjection(void)
{
	static atomic_flag done = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&done))
		inject_start();
	/* CUDA continues its initialization even if the agent could not start. */
	return 1;
}
