/* inject.c - starts the CUPTI handler after the CUDA driver has loaded the agent. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "handlers/cuda/inject.h"
#include "handlers/cuda/library.h"
#include "handlers/cupti/cupti.h"
#include "handlers/handler.h"

/* Returns what the user can do about an error of CUPTI, or NULL if there is no advice. */
static const char *inject_advice(int result)
{
	switch (result) {
	case CUPTI_MULTIPLE_SUBSCRIBERS:
		return "the program, or a library in it, uses CUPTI itself: to record CUDA, "
		       "disable the program's own profiler";
	case CUPTI_INSUFFICIENT_PRIVILEGES:
		return "NVIDIA's driver permits only root to profile: run as root, or load the "
		       "driver with NVreg_RestrictProfilingToAdminUsers=0";
	case CUPTI_NOT_INITIALIZED:
		return "CUPTI does not work with this driver: set PASTA_CUPTI to a libcupti.so "
		       "of the driver's CUDA version";
	default:
		return NULL;
	}
}

void cupti_trouble(const char *what, int result)
{
	const char *text = inject_advice(result);
	char why[300];

	if (!text)
		snprintf(why, sizeof(why),
			 "%s: %s; run 'accelprof doctor' to see which CUPTI is used", what,
			 cupti_text(result));
	pasta_agent_log("cupti", text ? text : why);
}

bool cupti_prepare(void)
{
	char why[300] = "";

	if (cupti_bind(why, sizeof(why))) {
		pasta_agent_log("cupti", why);
		return false;
	}
	cupti_handover_watch(false);
	return true;
}

void cupti_start(void)
{
	int r;

	if (cupti_handover_end())
		return;
	r = cupti_callbacks_start();
	if (r != CUPTI_OK) {
		cupti_trouble("launches are not recorded", r);
		cupti_callbacks_stop();
		return;
	}
	r = cupti_activity_start();
	if (r != CUPTI_OK)
		cupti_trouble("device activity is missing or incomplete", r);
	cupti_handover_watch(true);
	cupti_flush_start();
	/* exit handlers run in reverse order, so cupti_flush_end runs before the handlers that
	 * CUPTI has registered */
	atexit(cupti_flush_end);
}

static int cupti_probe(char *why, size_t size)
{
	int error = cuda_library_probe_driver(why, size);

	if (error)
		return error;
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
	.probe = cupti_probe,
	.env = CUDA_INJECT_ENV,
	.env_other = CUDA_INJECT_CHAINED,
};
