/*
 * compare.h - launches that a device and the host have both counted: whether they agree.
 *
 * Of each row the keys and all four sums are compared; one that only one of them has is a row of
 * zeros for the other.
 */
#ifndef PASTA_COLLECT_COMPARE_H
#define PASTA_COLLECT_COMPARE_H

#include <pthread.h>
#include <stdbool.h>

#include "reduce/sums.h"

/* Of one process. Zero it before use. */
struct pasta_compare {
	pthread_mutex_t lock;	 /* for what follows */
	uint64_t launches, rows; /* that were compared */
	uint64_t unlike, wrong;	 /* launches and rows of them that differ */
	uint64_t open, left_out; /* launches that have not ended; and that cannot be compared */
	char first[200];	 /* the first row that differs */
};

/* A launch that will be compared begins. Any thread, as below. */
void pasta_compare_begin(struct pasta_compare *c);
/* It never ran, or has not all of its accesses on both sides: it is left out. */
void pasta_compare_drop(struct pasta_compare *c, bool ran);
/* It is done. Only these reducers are looked at; NULL: there are no rows. Where a table was full it
 * is left out. */
void pasta_compare_end(struct pasta_compare *c, uint32_t reducers, const struct pasta_sums *device,
		       const struct pasta_sums *host, const char *kernel);
/* Tell the user, where there was a launch. */
void pasta_compare_report(struct pasta_compare *c);

#endif
