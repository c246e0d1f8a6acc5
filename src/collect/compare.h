/*
 * compare.h - checks that a device and the host have the same counts for a launch.
 *
 * Rows are compared by key, with all four sums. A row that only one side has is compared with a row
 * of zeros.
 */
#ifndef PASTA_COLLECT_COMPARE_H
#define PASTA_COLLECT_COMPARE_H

#include <pthread.h>
#include <stdbool.h>

#include "reduce/sums.h"

/* The results of all comparisons in a process. Zero it before use. */
struct pasta_compare {
	pthread_mutex_t lock;	 /* protects the following members */
	uint64_t launches, rows; /* compared */
	uint64_t unlike, wrong;	 /* compared launches and rows that differ */
	uint64_t open;		 /* launches that have not ended */
	uint64_t skipped;	 /* launches that could not be compared */
	char first[200];	 /* the first row that differs */
};

/* Registers a launch that is to be compared. Any thread may call these functions. */
void pasta_compare_begin(struct pasta_compare *c);
/* Ends a launch without a comparison, because it never ran, or because one side did not see all of
 * its accesses. */
void pasta_compare_drop(struct pasta_compare *c, bool ran);
/* Ends a launch and compares the tables of these reducers. device or host is NULL if that side has
 * no rows. A launch that has filled up a table is not compared. */
void pasta_compare_end(struct pasta_compare *c, uint32_t reducers, const struct pasta_sums *device,
		       const struct pasta_sums *host, const char *kernel);
/* Reports the result to the user, if there was a launch to compare. */
void pasta_compare_report(struct pasta_compare *c);

#endif
