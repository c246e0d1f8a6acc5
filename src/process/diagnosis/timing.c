/* timing.c - the steps of each process, and how each device spends the time of the window. */
#include <stdlib.h>

#include "process/diagnosis/diagnosis.h"

struct pasta_timing {
	int error;
};

struct pasta_timing *pasta_timing_new(void)
{
	return calloc(1, sizeof(struct pasta_timing));
}

void pasta_timing_free(struct pasta_timing *t)
{
	free(t);
}

uint64_t pasta_timing_event(struct pasta_timing *t, const struct pasta_event *ev,
			    const struct pasta_where *where, bool *restart)
{
	return PASTA_NO_STEP;
}

int pasta_timing_merge(struct pasta_timing *t, struct pasta_timing *from)
{
	return 0;
}

int pasta_timing_finish(struct pasta_timing *t)
{
	return 0;
}

uint64_t pasta_timing_first_step(const struct pasta_timing *t, uint32_t proc)
{
	return PASTA_NO_STEP;
}

int pasta_timing_error(const struct pasta_timing *t)
{
	return t->error;
}

const struct pasta_window *pasta_diagnosis_window(struct pasta_diagnosis *d, size_t *at)
{
	return NULL;
}

const struct pasta_usage *pasta_diagnosis_usage(struct pasta_diagnosis *d, size_t *at)
{
	return NULL;
}

const struct pasta_step *pasta_diagnosis_step(struct pasta_diagnosis *d, size_t *at)
{
	return NULL;
}

const struct pasta_gap *pasta_diagnosis_gap(struct pasta_diagnosis *d, size_t *at)
{
	return NULL;
}

const struct pasta_wait *pasta_diagnosis_wait(struct pasta_diagnosis *d, size_t *at)
{
	return NULL;
}

const struct pasta_transfer *pasta_diagnosis_transfer(struct pasta_diagnosis *d, size_t *at)
{
	return NULL;
}
