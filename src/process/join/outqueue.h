/*
 * outqueue.h - what a correlator gives on, in order: copies of what it took, or events of its own.
 *
 * One that waits holds up all that is behind it. One thread at a time.
 */
#ifndef PASTA_PROCESS_OUTQUEUE_H
#define PASTA_PROCESS_OUTQUEUE_H

#include <stdbool.h>
#include <string.h>

#include <pasta/pasta.h>

struct pasta_outqueue_entry {
	struct pasta_event own;
	struct pasta_where where;
	uint64_t pair; /* that a begin and an end have in common; 0: it is neither */
	uint64_t same; /* the next one that waits for the same launch; 0: none */
	bool waits;
};

/* A ring: numbers from head up to, but not with, tail. Zero it before use. */
struct pasta_outqueue {
	struct pasta_outqueue_entry *ring;
	uint64_t head, tail, mask;
	const struct pasta_outqueue_entry *last; /* that was given */
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

/* One more: the caller fills in own and where. NULL when out of memory. */
static inline struct pasta_outqueue_entry *pasta_outqueue_add(struct pasta_outqueue *q)
{
	struct pasta_outqueue_entry *g;

	if (pasta_outqueue_empty(q))
		q->head = q->tail = 1; /* the same few lines of the cache, mostly */
	else if (q->tail - q->head > q->mask && pasta_outqueue_grow(q))
		return NULL;
	g = pasta_outqueue_at(q, q->tail++);
	g->pair = g->same = 0;
	g->waits = false;
	return g;
}

/* The same, for a copy of an event that was taken: own is filled in. */
static inline struct pasta_outqueue_entry *pasta_outqueue_push(struct pasta_outqueue *q,
							       const struct pasta_event *ev)
{
	struct pasta_outqueue_entry *g = pasta_outqueue_add(q);

	if (g)
		memcpy(&g->own, ev, ev->size);
	return g;
}

/* The next, until another is added or taken; NULL: there is none, or it waits. */
static inline const struct pasta_outqueue_entry *pasta_outqueue_next(struct pasta_outqueue *q)
{
	const struct pasta_outqueue_entry *g = pasta_outqueue_at(q, q->head);

	if (pasta_outqueue_empty(q) || g->waits)
		return NULL;
	q->head++;
	return q->last = g;
}

#endif
