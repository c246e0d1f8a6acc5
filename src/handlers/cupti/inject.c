/* inject.c - the way in: CUDA's driver calls us while it is initialized. */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/cupti/cupti.h"
#include "handlers/handler.h"

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

static void at_exit(void)
{
	cupti_follow_end();
	cupti_activity_flush();
}

void cupti_trouble(const char *what, int result)
{
	char why[300];

	if (result == CUPTI_MULTIPLE_SUBSCRIBERS)
		snprintf(why, sizeof(why),
			 "the program, or another library in it, uses CUPTI itself: its own trace "
			 "goes on, and CUDA is not recorded");
	else
		snprintf(why, sizeof(why), "%s: %s", what, cupti_text(result));
	pasta_agent_say("cupti", why);
}

static void start(void)
{
	char why[300] = "";
	bool active;
	int r;

	if (cupti_bind(why, sizeof(why))) {
		pasta_agent_say("cupti", why);
		return;
	}
	r = cupti_callbacks_start();
	if (r != CUPTI_OK) {
		cupti_trouble("launches cannot be seen", r);
		cupti_callbacks_stop();
		return;
	}
	active = pasta_agent_active();
	r = cupti_activity_start(active);
	if (r != CUPTI_OK) {
		cupti_trouble("what devices do cannot be seen", r);
		return;
	}
	atexit(at_exit);
	if (cupti_follow_start(active))
		pasta_agent_say("cupti", "no thread for starting and stopping: kernels are "
					 "recorded as at the beginning, all or none");
}

__attribute__((visibility("default"))) int InitializeInjection(void)
{
	static atomic_flag done = ATOMIC_FLAG_INIT;

	if (atomic_flag_test_and_set(&done))
		return 1;
	chain();
	if (pasta_agent_attach())
		start();
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
