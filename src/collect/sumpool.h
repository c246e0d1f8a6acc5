/* sumpool.h - declares a pool of sums, which launches reuse. */
#ifndef PASTA_COLLECT_SUMPOOL_H
#define PASTA_COLLECT_SUMPOOL_H

#include <pthread.h>

#include "reduce/sums.h"

enum { PASTA_SUMPOOL = 64 };

/* A pool of sums, which are the tables with the counts of a launch. Set all members except
 * `reducers` to zero to create an empty pool. Any thread may use a pool. */
struct pasta_sumpool {
	uint32_t reducers;
	pthread_mutex_t lock; /* protects the members that follow */
	uint32_t pooled, count;
	struct pasta_sums *sums[PASTA_SUMPOOL]; /* sums that no launch uses */
};

/* Returns empty sums, or NULL if memory is exhausted or all sums are in use. */
struct pasta_sums *pasta_sumpool_acquire(struct pasta_sumpool *p);
/* Empties the sums and returns them to the pool. Sums that have grown large free their memory.
 * `sums` may be NULL. */
void pasta_sumpool_release(struct pasta_sumpool *p, struct pasta_sums *sums);

#endif
