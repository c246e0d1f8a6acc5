/*
 * batch.h - a queue of buffers with raw accesses, from the threads that access memory to the
 * writer.
 *
 * The number of buffers is fixed. A producer fills a buffer and hands it over. If no buffer is
 * free, the producer waits for a configured time, and then drops accesses and counts them. After a
 * timeout, producers do not wait again until a buffer is released. When all producers have ended
 * and consumers have acquired all buffers, pushed = consumed + dropped. core/rawblock.h defines
 * the bytes in a file.
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
	uint64_t tag[2]; /* the producer's tag */
	struct pasta_access accesses[];
};

struct pasta_batches_stats {
	uint64_t pushed, consumed,
		dropped; /* accesses of producers that have handed over or ended */
};

/* Returns a queue; NULL without memory. The number of buffers, and of accesses in each, is at least
 * 1. wait_ms limits how long a producer waits for a buffer; 0: not at all; UINT32_MAX: without
 * limit. */
struct pasta_batches *pasta_batches_new(uint32_t buffers, uint32_t accesses, uint32_t wait_ms);
/* All producers must have ended and all buffers must be released. */
void pasta_batches_free(struct pasta_batches *q);
/* Ends all waits: producers drop accesses, and consumers acquire the remaining buffers. Any thread.
 */
void pasta_batches_close(struct pasta_batches *q);
void pasta_batches_stats(struct pasta_batches *q, struct pasta_batches_stats *stats);

/* For consumers; any thread. Returns the oldest full buffer, which the consumer releases
 * afterwards. Returns NULL if there is none; if wait is true, then only after pasta_batches_close.
 */
struct pasta_buffer *pasta_batches_acquire(struct pasta_batches *q, bool wait);
void pasta_batches_release(struct pasta_batches *q, struct pasta_buffer *buffer);

/* A producer. One thread at a time. */
struct pasta_filler {
	struct pasta_batches *q;
	struct pasta_buffer *buffer;
	size_t room;	 /* capacity of a buffer, in accesses */
	uint64_t tag[2]; /* the caller's tag for buffers that are handed over */
	uint64_t pushed, dropped;
};

void pasta_filler_begin(struct pasta_filler *b, struct pasta_batches *q);
/* Hands over the current buffer, for example at the end of a launch. */
void pasta_filler_flush(struct pasta_filler *b);
/* As pasta_filler_flush; the producer must not be used afterwards. */
void pasta_filler_end(struct pasta_filler *b);

/* Replaces a full or missing buffer by an empty one. Returns false if there is none. */
bool pasta_filler_turn(struct pasta_filler *b);
static inline void pasta_filler_put(struct pasta_filler *b, const struct pasta_access *access)
{
	b->pushed++;
	if ((!b->buffer || b->buffer->count == b->room) && !pasta_filler_turn(b)) {
		b->dropped++;
		return;
	}
	b->buffer->accesses[b->buffer->count++] = *access;
}

#endif
