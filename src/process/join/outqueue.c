/* outqueue.c - grows the queue of events that the correlator delivers. */
#include "process/join/outqueue.h"

#include <errno.h>
#include <stdlib.h>

#define RING 64 /* initial number of entries, a power of two */

int pasta_outqueue_open(struct pasta_outqueue *q)
{
	q->ring = calloc(RING, sizeof(*q->ring));
	q->mask = RING - 1;
	q->head = q->tail = 1;
	return q->ring ? 0 : -ENOMEM;
}

void pasta_outqueue_close(struct pasta_outqueue *q)
{
	free(q->ring);
	q->ring = NULL;
}

int pasta_outqueue_grow(struct pasta_outqueue *q)
{
	uint64_t mask = q->mask * 2 + 1, i;
	struct pasta_outqueue_entry *ring = calloc(mask + 1, sizeof(*ring));

	if (!ring)
		return -ENOMEM;
	for (i = q->head; i < q->tail; i++)
		ring[i & mask] = *pasta_outqueue_at(q, i);
	free(q->ring);
	q->ring = ring;
	q->mask = mask;
	q->last = NULL;
	return 0;
}
