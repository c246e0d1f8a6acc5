/*
 * producer.h - pushes records into a ring, and declares the state of a thread that emits. Only
 * emit.c, port.c and names.c include this file. All functions on the fast path are inline, so
 * emitting into a ring with room calls no function.
 */
#ifndef PASTA_COLLECT_PRODUCER_H
#define PASTA_COLLECT_PRODUCER_H

#include <string.h>

#include "collect/state.h"

enum {
	PRODUCER_CACHE = 256,  /* number of names that a thread caches by address */
	PRODUCER_KNOWN = 1024, /* number of names that a thread caches by text */
};

/* The end of a ring at which records are written. Only one thread at a time may use it. */
struct pusher {
	struct pasta_ring *ring; /* NULL if memory for a ring was exhausted */
	uint64_t head, tail; /* positions in the ring; `tail` may be older than the ring's tail */
	uint64_t check;	     /* the head's position at which to call pasta_pusher_check */
	uint64_t mask, pushed, seed;
};

/* The state of a thread of the program. A forked child inherits its parent's producer, and
 * recognizes the inherited producer by the member `gen`. */
struct producer {
	struct pusher push;
	uint32_t gen, tid;
	/* stack frame of the call that is writing to the ring; 0 if there is no such call */
	uintptr_t busy;
	uint64_t refused_at; /* time at which a call first found the ring busy; 0 if no call did */
	uint64_t refused_head; /* position of the ring's head at the time refused_at */
	/* number of changes of the caches below; number of lookups by text */
	uint32_t changes, peeks;
	struct {
		const char *text;
		const struct pasta_string *entry;
		uint32_t id;
	} cache[PRODUCER_CACHE];
	/* A cache of names by the hash of their text. A text has two possible slots. */
	struct {
		const struct pasta_string *entry;
		uint32_t id;
	} known[PRODUCER_KNOWN];
};

/* The calling thread's producer, or NULL before the thread's first event. Only a pointer is
 * thread-local, because the agent is loaded late, when little room is left for initial-exec
 * variables. */
extern _Thread_local struct producer *pasta_producer_self;

/* Creates the calling thread's producer. This is the slow path of producer_get. */
struct producer *pasta_producer_new(void);

/* Acquires a ring for the thread tid, or for a port. q->ring is NULL if memory is exhausted. */
void pasta_pusher_open(struct pusher *q, uint32_t tid, uint32_t clock, bool port);
/* Checks how full the ring is, and wakes the writer early enough. Call this function when
 * pusher_publish returns true. */
void pasta_pusher_check(struct pusher *q);

static inline bool producer_is_current(const struct producer *p)
{
	return p && p->gen == atomic_load_explicit(&pasta_state->gen, memory_order_relaxed);
}

/* Returns the calling thread's producer, or NULL if the process cannot record. */
static inline struct producer *producer_get(void)
{
	struct producer *p = pasta_producer_self;

	return __builtin_expect(producer_is_current(p), 1) ? p : pasta_producer_new();
}

static inline bool pusher_has_room(struct pusher *q, uint64_t need)
{
	if (q->head + need - q->tail <= q->mask + 1)
		return true;
	q->tail = atomic_load_explicit(&q->ring->tail, memory_order_acquire);
	return q->head + need - q->tail <= q->mask + 1;
}

/* Returns the address of `size` contiguous free bytes in the ring, or NULL if the ring is full.
 * *pad is the number of bytes skipped at the end of the ring. */
static inline char *pusher_room(struct pusher *q, uint64_t size, uint64_t *pad)
{
	uint64_t off = q->head & q->mask, filler;
	char *data = (char *)q->ring + PASTA_RING_DATA;

	*pad = off + size > q->mask + 1 ? q->mask + 1 - off : 0;
	if (!pusher_has_room(q, *pad + size))
		return NULL;
	if (!*pad)
		return data + off;
	/* The padding is a record whose kind and sub are 0; the padding's size is the record's
	 * size. */
	filler = *pad;
	memcpy(data + off, &filler, sizeof(filler));
	return data;
}

/* Moves the head past complete records. Returns true if the caller must call pasta_pusher_check. */
static inline bool pusher_publish(struct pusher *q, uint64_t head, uint64_t size, uint64_t count)
{
	struct pasta_ring *r = q->ring;
	uint64_t pushed = q->pushed + count;

	head += size;
	q->head = head;
	q->pushed = pushed;
	atomic_store_explicit(&r->head, head, memory_order_release);
	atomic_store_explicit(&r->pushed, pushed, memory_order_relaxed);
	return __builtin_expect(head >= q->check, 0);
}

/* Copies a record into the ring, and computes the record's checksum at the same time. */
static inline void pusher_copy(char *to, const struct pasta_event *ev, uint32_t tid, uint64_t size,
			       uint64_t seed, uint64_t at)
{
	const char *from = (const char *)ev;
	uint32_t first = pasta_check_half(from);
	struct pasta_check c = pasta_check_begin(seed, at, first, tid, ev->time);
	uint64_t word, check;

	word = first | (uint64_t)tid << 32;
	memcpy(to, &word, 8);
	memcpy(to + 8, &ev->time, 8);
	for (uint64_t i = PASTA_RECORD_CHECK + 8; i < size; i += 8) {
		uint32_t low = pasta_check_half(from + i), high = pasta_check_half(from + i + 4);

		memcpy(to + i, &low, 4);
		memcpy(to + i + 4, &high, 4);
		pasta_check_add(&c, low, high);
	}
	check = pasta_check_end(&c);
	memcpy(to + PASTA_RECORD_CHECK, &check, 8);
}
_Static_assert(offsetof(struct pasta_event, tid) == 4 && offsetof(struct pasta_event, time) == 8 &&
		       offsetof(struct pasta_event, proc) == PASTA_RECORD_CHECK,
	       "pusher_copy depends on these offsets");

/* Computes the checksum of a record that was created inside the ring. */
static inline void pusher_seal(const struct pusher *q, struct pasta_event *ev, uint64_t at)
{
	uint64_t check = pasta_record_check(q->seed, at, ev);

	memcpy((char *)ev + PASTA_RECORD_CHECK, &check, 8);
}

/* Counts dropped events. The addition is atomic, because a signal handler may count at the same
 * time. */
static inline void pusher_drop(const struct pusher *q, enum pasta_loss_sub reason, uint64_t n)
{
	pasta_sealed_add(&q->ring->dropped[reason], reason, n);
}

#endif
