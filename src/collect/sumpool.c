/* sumpool.c - sums of launches: a few, used again. */
#include "collect/sumpool.h"

#include <stdbool.h>

struct pasta_sums *pasta_sumpool_take(struct pasta_sumpool *p)
{
	struct pasta_sums *s = NULL;
	bool more;

	pthread_mutex_lock(&p->lock);
	if (p->pooled)
		s = p->sums[--p->pooled];
	more = !s && p->count < PASTA_SUMPOOL;
	p->count += more;
	pthread_mutex_unlock(&p->lock);
	if (!more)
		return s;
	s = pasta_sums_new(p->reducers, 0);
	if (!s) {
		pthread_mutex_lock(&p->lock);
		p->count--;
		pthread_mutex_unlock(&p->lock);
	}
	return s;
}

void pasta_sumpool_give(struct pasta_sumpool *p, struct pasta_sums *s)
{
	if (!s)
		return;
	pasta_sums_clear(s);
	pthread_mutex_lock(&p->lock);
	p->sums[p->pooled++] = s;
	pthread_mutex_unlock(&p->lock);
}
