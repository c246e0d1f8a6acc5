/* launches.c - launches and their work, by process and correlation. */
#include "process/launches.h"

#include <errno.h>
#include <string.h>

#include "core/pending.h"

int pasta_launches_open(struct pasta_launches *l)
{
	l->known = pasta_pending_new(sizeof(struct pasta_launched), PASTA_LAUNCHES_MAX);
	return l->known ? 0 : -ENOMEM;
}

void pasta_launches_close(struct pasta_launches *l)
{
	pasta_pending_free(l->known);
	l->known = NULL;
}

struct pasta_launched *pasta_launches_add(struct pasta_launches *l, uint32_t proc, uint64_t corr)
{
	struct pasta_launched *launch = pasta_pending_renew(l->known, proc, corr);

	if (launch) {
		launch->use = 0;
		launch->graph = launch->used = false;
	}
	return launch;
}

void pasta_launches_use(struct pasta_launches *l, struct pasta_launch_uses *uses, uint32_t proc,
			uint64_t corr, struct pasta_launched *launch)
{
	uint64_t *slot = &uses->corr[uses->count % PASTA_LAUNCHES_RECENT];
	struct pasta_launched *old = uses->count < PASTA_LAUNCHES_RECENT
					     ? NULL
					     : pasta_pending_find(l->known, proc, *slot);

	/* It may be another launch by now, or one of later use. */
	if (old && old->used && old->use + PASTA_LAUNCHES_RECENT == uses->count)
		pasta_pending_drop(l->known, old);
	launch->used = true;
	launch->use = uses->count++;
	*slot = corr;
}
