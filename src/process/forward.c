/* forward.c - where a process's operators came from, by sequence number. */
#include "process/forward.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST 1024 /* slots, a power of two */

void pasta_forwards_free(struct pasta_forwards *f)
{
	free(f->slots);
	f->slots = NULL;
}

static int grow(struct pasta_forwards *f)
{
	size_t i, count = f->slots ? 2 * (f->mask + 1) : FIRST;
	struct pasta_forward *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (i = 0; f->slots && i <= f->mask; i++)
		slots[f->slots[i].seq & (count - 1)] = f->slots[i];
	free(f->slots);
	f->slots = slots;
	f->mask = count - 1;
	return 0;
}

int pasta_forwards_add(struct pasta_forwards *f, const struct pasta_forward *forward)
{
	struct pasta_forward *slot;

	if (!f->slots && grow(f))
		return -ENOMEM;
	/* Numbers follow one another: two in one slot are as far apart as there are slots. */
	for (;;) {
		slot = &f->slots[forward->seq & f->mask];
		if (!slot->seq || slot->seq == forward->seq || f->mask + 1 >= PASTA_FORWARD_MAX)
			break;
		if (grow(f))
			return -ENOMEM;
	}
	*slot = *forward;
	return 0;
}

const struct pasta_forward *pasta_forwards_find(const struct pasta_forwards *f, uint64_t seq,
						int *gone)
{
	const struct pasta_forward *slot = f->slots && seq ? &f->slots[seq & f->mask] : NULL;

	*gone = slot && slot->seq > seq && f->mask + 1 >= PASTA_FORWARD_MAX;
	return slot && slot->seq == seq ? slot : NULL;
}
