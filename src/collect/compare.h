/*
 * compare.h - checks that a device and the host have counted the same accesses for a launch. Rows
 * with equal keys are compared in all four sums. If only the device or the host has a row, it is
 * compared with a row of zeros.
 */
#ifndef PASTA_COLLECT_COMPARE_H
#define PASTA_COLLECT_COMPARE_H

#include <pthread.h>
#include <stdbool.h>

#include "reduce/sums.h"

/* The results of all comparisons in a process. Zero the struct before use. */
struct pasta_compare {
	pthread_mutex_t lock;	 /* protects the following members */
	uint64_t launches, rows; /* compared */
	/* number of compared launches that differ; number of their rows that differ */
	uint64_t unlike, wrong;
	uint64_t open;	  /* number of launches that have not ended */
	uint64_t skipped; /* number of launches that could not be compared */
	char first[200];  /* describes the first row that differs; "" if there is none */
};

/* Registers a launch that is to be compared. Any thread may call these functions. */
void pasta_compare_begin(struct pasta_compare *c);
/* Ends a launch without comparing it, because it never ran, or because the device or the host
 * did not see all of its accesses. */
void pasta_compare_drop(struct pasta_compare *c, bool ran);
/* Ends a launch and compares the tables of these reducers. `device` and `host` are NULL if they
 * have no rows. A launch is not compared if one of its tables is full. */
void pasta_compare_end(struct pasta_compare *c, uint32_t reducers, const struct pasta_sums *device,
		       const struct pasta_sums *host, const char *kernel);
/* Reports the result to the user, if a launch was to be compared. */
void pasta_compare_report(struct pasta_compare *c);

#endif
