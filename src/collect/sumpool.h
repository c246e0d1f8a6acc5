/* sumpool.h - sums of launches: a few, used again. */
#ifndef PASTA_COLLECT_SUMPOOL_H
#define PASTA_COLLECT_SUMPOOL_H

#include <pthread.h>

#include "reduce/sums.h"

enum { PASTA_SUMPOOL = 64 };

/* All zero but for the reducers, a pool is empty. Any thread. */
struct pasta_sumpool {
	uint32_t reducers;
	pthread_mutex_t lock; /* for what follows */
	uint32_t pooled, count;
	struct pasta_sums *sums[PASTA_SUMPOOL]; /* nobody's */
};

/* Empty ones. NULL: there is no memory, or all are somebody's. */
struct pasta_sums *pasta_sumpool_acquire(struct pasta_sumpool *p);
/* They are emptied, and those that have grown large give their memory back. NULL: nothing is done.
 */
void pasta_sumpool_release(struct pasta_sumpool *p, struct pasta_sums *sums);

#endif
