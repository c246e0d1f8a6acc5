/*
 * batch.h - raw accesses: buffers of records on their way from who accesses to who writes.
 *
 * There is a fixed number of buffers. A producer fills one and hands it over; where none is free
 * it waits as long as it was told, and then loses, and counts. Once all producers have ended and
 * all buffers were taken, pushed = taken + lost.
 *
 * As bytes, for PASTA_ACCESS_BATCH: a byte 1, and then for each access a byte of flags and what
 * they say, in this order; a difference is modulo 2^32 (the address's 2^64), a zigzag varint:
 *   bit 0     site, the difference to the access before
 *   bit 1     size, varint
 *   bit 2     kind, and space above it from bit 8, varint
 *   bit 3     launch, then group, the differences to the access before
 *   bits 4-5  thread: 0 that of the access before, 1 the next, 2 the difference to it
 *   bit 6     turn, the difference
 *   always    address, the difference
 * What is not said is as before. Size, kind, space, turn and address are held against the access
 * before whose site is the same modulo 64. Before the first access all is 0.
 */
#ifndef PASTA_REDUCE_BATCH_H
#define PASTA_REDUCE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <pasta/device.h>

struct pasta_batches;

struct pasta_buffer {
	struct pasta_buffer *next;
	size_t count;
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
struct pasta_buffer *pasta_batches_take(struct pasta_batches *q, bool wait);
void pasta_batches_give(struct pasta_batches *q, struct pasta_buffer *buffer);

/* A producer: one thread's at a time. */
struct pasta_filler {
	struct pasta_batches *q;
	struct pasta_buffer *buffer;
	size_t room; /* of a buffer */
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

/* The most bytes that one access takes, and that come before the first. */
enum { PASTA_BATCH_ACCESS_MAX = 48, PASTA_BATCH_HEAD = 1 };
/* Write accesses as bytes, as many as there is room for; returns how many, and *size is the bytes
 * that they take. */
size_t pasta_raw_encode(const struct pasta_access *accesses, size_t count, uint8_t *bytes,
			size_t room, size_t *size);
/* Read them back, max at most. Returns how many; -EINVAL: the bytes are damaged or of another
 * version; -ENOSPC: there are more. */
ssize_t pasta_raw_decode(const uint8_t *bytes, size_t size, struct pasta_access *accesses,
			 size_t max);

#endif
