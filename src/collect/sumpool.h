/* sumpool.h - a pool of sums, which launches reuse. */
#ifndef PASTA_COLLECT_SUMPOOL_H
#define PASTA_COLLECT_SUMPOOL_H

#include <pthread.h>

#include "reduce/sums.h"

enum { PASTA_SUMPOOL = 64 };

/* A pool whose members are zero, except for `reducers`, is empty. Any thread may use it. */
struct pasta_sumpool {
	uint32_t reducers;
	pthread_mutex_t lock; /* protects the following members */
	uint32_t pooled, count;
	struct pasta_sums *sums[PASTA_SUMPOOL]; /* free sums */
};

/* Returns empty sums, or NULL if memory is exhausted or all sums are in use. */
struct pasta_sums *pasta_sumpool_acquire(struct pasta_sumpool *p);
/* Empties the sums and returns them to the pool; sums that have grown large free their memory. NULL
 * is ignored. */
void pasta_sumpool_release(struct pasta_sumpool *p, struct pasta_sums *sums);

#endif
