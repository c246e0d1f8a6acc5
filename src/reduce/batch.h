/*
 * batch.h - raw accesses: buffers of records on their way from who accesses to who writes.
 *
 * There is a fixed number of buffers. A producer fills one and hands it over; where none is free
 * it waits as long as it was told, and then loses, and counts; who has waited in vain does not wait
 * again before a buffer was given back. Once all producers have ended and all buffers were taken,
 * pushed = taken + lost.
 * As bytes they are in core/rawblock.h.
 */
#ifndef PASTA_REDUCE_BATCH_H
#define PASTA_REDUCE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/device.h>

#include "core/rawblock.h"

struct pasta_batches;

struct pasta_buffer {
	struct pasta_buffer *next;
	size_t count;
	uint64_t tag[2]; /* its producer's */
	struct pasta_access accesses[];
};

struct pasta_batches_stats {
	uint64_t pushed, taken, lost; /* accesses, of producers that handed over or ended */
};

/* buffers of so many accesses each, both at least 1. wait_ms: how long a producer waits for a
 * buffer; 0: it loses at once; UINT32_MAX: until there is one. NULL: no memory. */
struct pasta_batches *pasta_batches_new(uint32_t buffers, uint32_t accesses, uint32_t wait_ms);
/* All producers have ended and all buffers were given back. */
void pasta_batches_free(struct pasta_batches *q);
/* Nobody waits any longer: producers lose, and consumers take what is left. Any thread. */
void pasta_batches_close(struct pasta_batches *q);
void pasta_batches_stats(struct pasta_batches *q, struct pasta_batches_stats *stats);

/* Consumers; any thread. The oldest full buffer, to be given back; NULL: there is none, and, if it
 * was to wait for one, there will be none. */
struct pasta_buffer *pasta_batches_acquire(struct pasta_batches *q, bool wait);
void pasta_batches_release(struct pasta_batches *q, struct pasta_buffer *buffer);

/* A producer: one thread's at a time. */
struct pasta_filler {
	struct pasta_batches *q;
	struct pasta_buffer *buffer;
	size_t room;	 /* of a buffer */
	uint64_t tag[2]; /* the caller's, of what is handed over */
	uint64_t pushed, lost;
};

void pasta_filler_begin(struct pasta_filler *b, struct pasta_batches *q);
/* Hand over what there is, as at the end of a launch. */
void pasta_filler_flush(struct pasta_filler *b);
/* The same, and no more is put. */
void pasta_filler_end(struct pasta_filler *b);

/* Whether there is an empty buffer now, in place of a full one or of none. */
bool pasta_filler_turn(struct pasta_filler *b);
static inline void pasta_filler_put(struct pasta_filler *b, const struct pasta_access *access)
{
	b->pushed++;
	if ((!b->buffer || b->buffer->count == b->room) && !pasta_filler_turn(b)) {
		b->lost++;
		return;
	}
	b->buffer->accesses[b->buffer->count++] = *access;
}

#endif
