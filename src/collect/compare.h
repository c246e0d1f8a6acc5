/*
 * compare.h - checks that a device and the host have counted the same accesses for a launch. Rows
 * with equal keys are compared in all four sums. A row that only the device or only the host has is
 * compared with a row of zeros.
 */
#ifndef PASTA_COLLECT_COMPARE_H
#define PASTA_COLLECT_COMPARE_H

#include <pthread.h>
#include <stdbool.h>

#include "reduce/sums.h"

/* The results of all comparisons in a process. Set the struct to zero before use. */
struct pasta_compare {
	pthread_mutex_t lock;	 /* protects the members that follow */
	uint64_t launches, rows; /* numbers of compared launches and of compared rows */
	/* number of launches that differ; number of rows that differ */
	uint64_t unlike, wrong;
	uint64_t open;	  /* number of registered launches that have not ended */
	uint64_t skipped; /* number of launches that could not be compared */
	char first[200];  /* description of the first row that differs; "" if no row differs */
};

/* Registers a launch that is to be compared. Any thread may call this function and the functions
 * below. */
void pasta_compare_begin(struct pasta_compare *c);
/* Ends a launch without a comparison, because the launch never ran, or because the device or the
 * host did not see all of the launch's accesses. */
void pasta_compare_drop(struct pasta_compare *c, bool ran);
/* Ends a launch, and compares the tables of the reducers in the mask. `device` is NULL if the
 * device has no rows, and `host` is NULL if the host has no rows. A launch is not compared if one
 * of its tables is full. */
void pasta_compare_end(struct pasta_compare *c, uint32_t reducers, const struct pasta_sums *device,
		       const struct pasta_sums *host, const char *kernel);
/* Reports the result to the user. If no launch was to be compared, the function reports nothing. */
void pasta_compare_report(struct pasta_compare *c);

#endif
