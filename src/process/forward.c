/* forward.c - where a process's operators came from, by sequence number. */
#include "process/forward.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST 64 /* slots, a power of two, that a process always has */

void pasta_forwards_free(struct pasta_forwards *f)
{
	free(f->slots);
	f->slots = NULL;
}

static int grow(struct pasta_forwards *f, size_t *all)
{
	size_t i, had = f->slots ? f->mask + 1 : 0, count = had ? 2 * had : FIRST;
	struct pasta_forward *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (i = 0; i < had; i++)
		slots[f->slots[i].seq & (count - 1)] = f->slots[i];
	free(f->slots);
	f->slots = slots;
	f->mask = count - 1;
	*all += count - had;
	return 0;
}

int pasta_forwards_add(struct pasta_forwards *f, const struct pasta_forward *forward, size_t *all)
{
	struct pasta_forward *slot;

	if (!f->slots && grow(f, all))
		return -ENOMEM;
	/* Numbers follow one another: two in one slot are as far apart as there are slots. */
	for (;;) {
		slot = &f->slots[forward->seq & f->mask];
		if (!slot->seq || slot->seq == forward->seq || f->full)
			break;
		f->full = f->mask + 1 >= PASTA_FORWARD_MAX || *all + f->mask >= PASTA_FORWARD_ALL;
		if (!f->full && grow(f, all))
			return -ENOMEM;
	}
	*slot = *forward;
	return 0;
}

const struct pasta_forward *pasta_forwards_find(const struct pasta_forwards *f, uint64_t seq,
						bool *gone)
{
	const struct pasta_forward *slot = f->slots && seq ? &f->slots[seq & f->mask] : NULL;

	*gone = slot && slot->seq > seq && f->full;
	return slot && slot->seq == seq ? slot : NULL;
}
