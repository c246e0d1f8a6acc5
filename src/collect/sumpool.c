/* sumpool.c - implements a pool of sums, which launches reuse. */
#include "collect/sumpool.h"
#include "core/lock.h"

#include <stdbool.h>

struct pasta_sums *pasta_sumpool_acquire(struct pasta_sumpool *p)
{
	struct pasta_sums *s = NULL;
	bool more;

	pasta_lock(&p->lock);
	if (p->pooled)
		s = p->sums[--p->pooled];
	more = !s && p->count < PASTA_SUMPOOL;
	p->count += more;
	pasta_unlock(&p->lock);
	if (!more)
		return s;
	s = pasta_sums_new(p->reducers, 0);
	if (!s) {
		pasta_lock(&p->lock);
		p->count--;
		pasta_unlock(&p->lock);
	}
	return s;
}

void pasta_sumpool_release(struct pasta_sumpool *p, struct pasta_sums *s)
{
	if (!s)
		return;
	pasta_sums_clear(s);
	pasta_lock(&p->lock);
	p->sums[p->pooled++] = s;
	pasta_unlock(&p->lock);
}
