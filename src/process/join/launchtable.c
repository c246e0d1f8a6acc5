/* launchtable.c - stores launches by process and correlation id until their work is read. */
#include "process/join/launchtable.h"

#include <errno.h>
#include <string.h>

enum pasta_due pasta_launch_due_any(const struct pasta_launch_record *launch, uint64_t recorded)
{
	static const uint64_t kinds[] = {
		[PASTA_LAUNCH_WORK_KERNEL] = PASTA_MASK(KERNEL),
		[PASTA_LAUNCH_WORK_COPY] = PASTA_MASK(COPY),
		[PASTA_LAUNCH_WORK_FILL] = PASTA_MASK(SET),
	};
	uint32_t work = launch->work;

	if (launch->graph)
		return PASTA_DUE_NEVER;
	if (work == PASTA_LAUNCH_WORK_UNKNOWN && launch->name)
		work = PASTA_LAUNCH_WORK_KERNEL;
	if (work == PASTA_LAUNCH_WORK_HOST)
		return PASTA_DUE_NOW; /* host functions on a stream have no work records */
	if (work >= sizeof(kinds) / sizeof(*kinds) || !kinds[work])
		return PASTA_DUE_NEVER;
	if (recorded && !(recorded & kinds[work]))
		return PASTA_DUE_NOW;
	return launch->corr ? PASTA_DUE_LATER : PASTA_DUE_NEVER;
}

int pasta_launchtable_open(struct pasta_launchtable *l, bool events)
{
	size_t size = sizeof(struct pasta_launched) + (events ? PASTA_EVENT_SIZE(launch) : 0);

	l->known = pasta_pending_new(size, PASTA_LAUNCHTABLE_MAX);
	return l->known ? 0 : -ENOMEM;
}

void pasta_launchtable_close(struct pasta_launchtable *l)
{
	pasta_pending_free(l->known);
	l->known = NULL;
}

struct pasta_launched *pasta_launchtable_next_out(struct pasta_launchtable *l, uint32_t *proc,
						  uint64_t *corr)
{
	struct pasta_launched *same = pasta_pending_find(l->known, *proc, *corr);

	if (same)
		return same;
	return pasta_pending_full(l->known) ? pasta_pending_oldest(l->known, proc, corr) : NULL;
}

void pasta_launchtable_use(struct pasta_launchtable *l, struct pasta_launch_uses *uses,
			   uint32_t proc, uint64_t corr, struct pasta_launched *launch)
{
	size_t at = uses->count % PASTA_LAUNCHTABLE_RECENT;
	struct pasta_launched *old = uses->recent[at].launch;

	/* Remove the old launch, unless its memory has been reused for another launch, or the old
	 * launch has matched more work. */
	if (old && pasta_pending_is(old, proc, uses->recent[at].corr) && old->used &&
	    old->use + PASTA_LAUNCHTABLE_RECENT == uses->count)
		pasta_pending_drop(l->known, old);
	launch->used = true;
	launch->use = uses->count++;
	uses->recent[at].launch = launch;
	uses->recent[at].corr = corr;
}

bool pasta_launchtable_full(const struct pasta_launchtable *l)
{
	return pasta_pending_full(l->known);
}

struct pasta_launched *pasta_launchtable_oldest(const struct pasta_launchtable *l)
{
	uint32_t proc;
	uint64_t corr;

	return pasta_pending_oldest(l->known, &proc, &corr);
}

void pasta_launchtable_drop_oldest(struct pasta_launchtable *l)
{
	pasta_pending_drop(l->known, pasta_launchtable_oldest(l));
}

/* -- Launches that expired without their work -- */

static uint64_t launchtable_expired_bit(uint64_t corr)
{
	return UINT64_C(1) << corr % 64;
}

int pasta_expired_add(struct pasta_map **expired, uint64_t corr)
{
	uint64_t *bits;

	if (!*expired)
		*expired = pasta_map_new(sizeof(*bits));
	bits = *expired ? pasta_map_add(*expired, corr / 64) : NULL;
	if (!bits)
		return -ENOMEM;
	*bits |= launchtable_expired_bit(corr);
	return 0;
}

void pasta_expired_remove(struct pasta_map *expired, uint64_t corr)
{
	uint64_t *bits = expired ? pasta_map_find(expired, corr / 64) : NULL;

	if (bits)
		*bits &= ~launchtable_expired_bit(corr);
}

bool pasta_expired_has(const struct pasta_map *expired, uint64_t corr)
{
	const uint64_t *bits = expired ? pasta_map_find(expired, corr / 64) : NULL;

	return bits && *bits & launchtable_expired_bit(corr);
}
