/*
 * outqueue.h - stores the queue of events that the correlator delivers.
 *
 * An event in the queue is a copy of an input event, or an event that the correlator supplies. An
 * entry that waits delays all entries behind it. Only one thread at a time may call these
 * functions.
 */
#ifndef PASTA_PROCESS_OUTQUEUE_H
#define PASTA_PROCESS_OUTQUEUE_H

#include <stdbool.h>
#include <string.h>

#include <pasta/pasta.h>

struct pasta_outqueue_entry {
	struct pasta_event own;
	struct pasta_where where;
	uint64_t pair; /* number that a start event and its end event share; 0 for other events */
	/* Number of the next entry that waits for the same launch, or 0 if this entry is the last
	 * one. */
	uint64_t same;
	bool waits;
};

/* A ring buffer with the entries from number `head` to `tail` - 1. Zero the struct before use. */
struct pasta_outqueue {
	struct pasta_outqueue_entry *ring;
	uint64_t head, tail, mask;
	const struct pasta_outqueue_entry *last; /* the entry that was delivered last */
};

int pasta_outqueue_open(struct pasta_outqueue *q); /* 0 or -ENOMEM */
void pasta_outqueue_close(struct pasta_outqueue *q);
int pasta_outqueue_grow(struct pasta_outqueue *q);

static inline bool pasta_outqueue_empty(const struct pasta_outqueue *q)
{
	return q->head == q->tail;
}

static inline struct pasta_outqueue_entry *pasta_outqueue_at(const struct pasta_outqueue *q,
							     uint64_t number)
{
	return &q->ring[number & q->mask];
}

/* Adds an entry. The caller fills in `own` and `where`. Returns NULL when out of memory. */
static inline struct pasta_outqueue_entry *pasta_outqueue_add(struct pasta_outqueue *q)
{
	struct pasta_outqueue_entry *e;

	/* When the queue is empty, restart at slot 1, so that a short queue uses only a few cache
	 * lines. */
	if (pasta_outqueue_empty(q))
		q->head = q->tail = 1;
	else if (q->tail - q->head > q->mask && pasta_outqueue_grow(q))
		return NULL;
	e = pasta_outqueue_at(q, q->tail++);
	e->pair = e->same = 0;
	e->waits = false;
	return e;
}

/* Adds a copy of an event. The caller fills in `where`. Returns NULL when out of memory. */
static inline struct pasta_outqueue_entry *pasta_outqueue_push(struct pasta_outqueue *q,
							       const struct pasta_event *ev)
{
	struct pasta_outqueue_entry *e = pasta_outqueue_add(q);

	if (e)
		memcpy(&e->own, ev, ev->size);
	return e;
}

/* Removes the first entry and returns it; it is valid until the queue changes. Returns NULL if the
 * queue is empty or its first entry waits. */
static inline const struct pasta_outqueue_entry *pasta_outqueue_next(struct pasta_outqueue *q)
{
	const struct pasta_outqueue_entry *e = pasta_outqueue_at(q, q->head);

	if (pasta_outqueue_empty(q) || e->waits)
		return NULL;
	q->head++;
	return q->last = e;
}

#endif
