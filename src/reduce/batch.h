/*
 * batch.h - a queue of buffers with raw accesses. The threads that access memory put buffers into
 * the queue, and the writer removes them.
 *
 * The number of buffers is fixed. A producer fills a buffer and hands it over. If no buffer is
 * free, the producer waits for a configured time, and then drops accesses and counts them. After a
 * timeout, producers do not wait again until a buffer is released. When all producers have ended
 * and consumers have acquired all buffers, the number of pushed accesses is the sum of the numbers
 * of consumed and dropped accesses. core/rawblock.h defines the format of accesses in a file.
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
	uint64_t tag[2]; /* the tag of the producer that filled the buffer */
	struct pasta_access accesses[];
};

struct pasta_batches_stats {
	/* Numbers of accesses. When a producer hands over a buffer, the producer adds the numbers
	 * of accesses that it has pushed and dropped. */
	uint64_t pushed, consumed, dropped;
};

/* Returns a queue, or NULL if memory is exhausted. A queue has at least one buffer, with room for
 * at least one access. wait_ms limits the time for which a producer waits for a buffer. With 0,
 * producers do not wait; with UINT32_MAX, they wait without limit. */
struct pasta_batches *pasta_batches_new(uint32_t buffers, uint32_t accesses, uint32_t wait_ms);
/* Frees the queue. All producers must have ended, and all buffers must be released. */
void pasta_batches_free(struct pasta_batches *q);
/* Closes the queue, and ends all waits. Producers then drop accesses, and consumers acquire the
 * remaining buffers. Any thread may call this function. */
void pasta_batches_close(struct pasta_batches *q);
void pasta_batches_stats(struct pasta_batches *q, struct pasta_batches_stats *stats);

/* Returns the oldest full buffer, which the consumer must release. If there is no full buffer and
 * `wait` is true, the function waits for one, and returns NULL only if the queue was closed. If
 * `wait` is false, the function returns NULL at once. Any thread may call this function. */
struct pasta_buffer *pasta_batches_acquire(struct pasta_batches *q, bool wait);
void pasta_batches_release(struct pasta_batches *q, struct pasta_buffer *buffer);

/* A producer of accesses. Only one thread at a time may use a producer. */
struct pasta_filler {
	struct pasta_batches *q;
	struct pasta_buffer *buffer;
	size_t room;	 /* number of accesses for which a buffer has room */
	uint64_t tag[2]; /* the caller's tag, which is copied to each buffer that is handed over */
	uint64_t pushed, dropped;
};

void pasta_filler_begin(struct pasta_filler *b, struct pasta_batches *q);
/* Passes the producer's current buffer to the consumers, for example at the end of a launch. */
void pasta_filler_flush(struct pasta_filler *b);
/* Ends a producer and hands over its current buffer. The producer must not be used afterwards. */
void pasta_filler_end(struct pasta_filler *b);

/* Replaces the producer's full or missing buffer with an empty buffer. Returns false if no buffer
 * is free. */
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
