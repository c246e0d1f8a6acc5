/* fwdops.c - stores the call path and module of forward operators by sequence number. */
#include "process/join/fwdops.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST 64 /* initial number of slots, a power of two */
/* Each thread has its own sequence numbers; the bits above bit THREAD identify the thread. */
#define THREAD 40

/* Returns the slot of a sequence number. Consecutive numbers of a thread use consecutive slots, so
 * number n replaces number n - (mask + 1). The numbers of all threads start at 1, so a hash of the
 * thread id spreads the threads over the slots. */
static size_t fwdops_slot(uint64_t seq, size_t mask)
{
	return (seq + (seq >> THREAD) * UINT64_C(0x9e3779b97f4a7c15)) & mask;
}

void pasta_forward_ops_free(struct pasta_forward_ops *f)
{
	free(f->slots);
	f->slots = NULL;
}

static int fwdops_grow(struct pasta_forward_ops *f, size_t *all)
{
	size_t i, had = f->slots ? f->mask + 1 : 0, count = had ? 2 * had : FIRST;
	struct pasta_forward_op *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (i = 0; i < had; i++)
		slots[fwdops_slot(f->slots[i].seq, count - 1)] = f->slots[i];
	free(f->slots);
	f->slots = slots;
	f->mask = count - 1;
	*all += count - had;
	return 0;
}

int pasta_forward_ops_add(struct pasta_forward_ops *f, const struct pasta_forward_op *forward,
			  size_t *all)
{
	struct pasta_forward_op *slot;

	if (!f->slots && fwdops_grow(f, all))
		return -ENOMEM;
	for (;;) {
		slot = &f->slots[fwdops_slot(forward->seq, f->mask)];
		if (!slot->seq || slot->seq == forward->seq || f->full)
			break;
		f->full = f->mask + 1 >= PASTA_FORWARD_OPS_MAX ||
			  *all + f->mask >= PASTA_FORWARD_OPS_ALL;
		if (!f->full && fwdops_grow(f, all))
			return -ENOMEM;
	}
	*slot = *forward;
	return 0;
}

const struct pasta_forward_op *pasta_forward_ops_find(const struct pasta_forward_ops *f,
						      uint64_t seq, bool *expired)
{
	const struct pasta_forward_op *slot =
		f->slots && seq ? &f->slots[fwdops_slot(seq, f->mask)] : NULL;

	/* Only sequence numbers of the same thread can be compared. */
	*expired = slot && slot->seq && f->full &&
		   (slot->seq > seq || slot->seq >> THREAD != seq >> THREAD);
	return slot && slot->seq == seq ? slot : NULL;
}
