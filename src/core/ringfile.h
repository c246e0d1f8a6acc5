/*
 * ringfile.h - the file beside a shard that holds a process's rings and strings while it runs.
 *
 * The file is mapped shared, so what was pushed outlives the process. A segment is a ring or a
 * block of strings; the head lists them. Blocks are allocated on disk before they are mapped: a
 * full disk must not become a SIGBUS. Salvage reads this after the process has died.
 *
 * Everything that a report depends on carries a check, so that damage is never taken for absence:
 *   - the head, the head of each segment and each entry of the segment table have a sum of the
 *     fields that never change; all sums depend on the file's guid, so that a page of another file
 *     does not fit in;
 *   - records are checked span by span: a span is what one call published, followed by a check
 * word;
 *   - each string has a sum; counters have theirs in their upper bits, stored with the value.
 * The remaining words (head, tail, pushed, used, segments) are hints: what they say can be found
 * again by walking what is checked.
 */
#ifndef PASTA_CORE_RINGFILE_H
#define PASTA_CORE_RINGFILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/frame.h"

#define PASTA_RINGFILE_MAGIC "PASTARNG"
#define PASTA_RINGFILE_VERSION 3
#define PASTA_RINGFILE_HEAD 65536
#define PASTA_SEGMENTS_MAX 2048

enum pasta_segment_type { PASTA_SEGMENT_RING = 1, PASTA_SEGMENT_STRINGS };

struct pasta_segment {
	uint64_t offset; /* in the file, a multiple of the page size */
	uint64_t size;
	uint16_t type;
	uint16_t in_file; /* 0: it is in plain memory, and was lost with the process */
	uint32_t sum;	  /* pasta_segment_sum */
};

struct pasta_ringfile {
	char magic[8]; /* written last */
	uint32_t version;
	uint32_t pid;
	uint64_t start; /* the process's start time, field 22 of its stat */
	uint8_t guid[16], boot[16];
	uint64_t raw, real;
	uint32_t schema; /* of the records */
	uint32_t reserved;
	uint64_t sum; /* pasta_ringfile_sum: of all before it */
	/* Events of threads that have no ring; sealed, the reason is the salt. */
	_Atomic uint64_t lost[PASTA_LOSS_COUNT];
	_Atomic uint64_t own; /* events of the writer's own in frames; sealed with PASTA_OWN_SALT */
	_Atomic uint32_t segments; /* how many are published */
	struct pasta_segment segment[PASTA_SEGMENTS_MAX];
};
_Static_assert(sizeof(struct pasta_ringfile) <= PASTA_RINGFILE_HEAD, "the head has room for it");

enum pasta_ring_state { PASTA_RING_OPEN = 1, PASTA_RING_CLOSED };

#define PASTA_RING_DATA 4096 /* where its bytes begin, from the start of the segment */

/*
 * Positions count bytes since the ring was made; a record lies at position & (size - 1), whole. A
 * filler, a record of kind 0, leads from the last record before the ring's end to its beginning.
 * When its thread ends the ring is closed, and the next thread continues where it stopped: the
 * source is the ring, and each event has its thread's id.
 */
struct pasta_ring {
	uint64_t size; /* of the data, a power of two */
	uint32_t source;
	uint32_t clock;
	uint32_t port; /* fed by a delivery thread: not in order of time */
	uint32_t reserved;
	uint64_t sum; /* pasta_ring_sum: of all before it */
	_Atomic uint32_t state;
	_Atomic uint32_t tid;
	char name[16]; /* of its thread, when it took the ring; "": the program has named it */
	/* The producer's. */
	_Alignas(128) _Atomic uint64_t head;
	_Atomic uint64_t pushed;
	_Atomic uint64_t dropped[PASTA_LOSS_COUNT]; /* sealed, the reason is the salt */
	_Atomic uint64_t watermark;		    /* of a port; a thread's events come in order */
	/* The writer's. */
	_Alignas(128) _Atomic uint64_t tail;
	uint64_t drained;		     /* events in frames */
	uint64_t reported[PASTA_LOSS_COUNT]; /* drops in frames, plain numbers */
	uint32_t announced;		     /* the tid whose name is in a frame */
};

/* A block of strings, with ids from first on. Each is a struct pasta_string, padded to 4 bytes. */
struct pasta_strings {
	uint64_t size; /* of the data */
	uint64_t first;
	uint64_t sum; /* pasta_strings_sum: of all before it */
	_Atomic uint64_t used;
	_Alignas(8) unsigned char data[];
};
struct pasta_string {
	uint32_t size;
	uint32_t sum; /* pasta_string_sum */
	unsigned char bytes[];
};
static inline uint64_t pasta_string_room(uint32_t size)
{
	return (sizeof(struct pasta_string) + (uint64_t)size + 3) & ~UINT64_C(3);
}

/* -- Sums of what never changes -- */

/* From the guid; source 0 is for strings. */
uint64_t pasta_ring_seed(const struct pasta_ringfile *f, uint32_t source);
uint64_t pasta_ringfile_sum(const struct pasta_ringfile *f);
uint32_t pasta_segment_sum(const struct pasta_ringfile *f, uint32_t i);
uint64_t pasta_ring_sum(const struct pasta_ringfile *f, const struct pasta_ring *r);
uint64_t pasta_strings_sum(const struct pasta_ringfile *f, const struct pasta_strings *b);
uint32_t pasta_string_sum(uint64_t seed, uint64_t id, const void *bytes, uint32_t size);

/* -- Counters -- */

#define PASTA_OWN_SALT 1000
#define PASTA_SEAL_BITS 48
#define PASTA_SEAL_MAX ((UINT64_C(1) << PASTA_SEAL_BITS) - 1)

/* A counter with a check in its upper bits: one store changes both. No valid one is zero. */
static inline uint64_t pasta_seal(uint64_t n, uint32_t salt)
{
	uint64_t value = n < PASTA_SEAL_MAX ? n : PASTA_SEAL_MAX;
	uint64_t mixed = (value + salt + 1) * UINT64_C(0x9e3779b97f4a7c15);

	mixed ^= mixed >> 32;
	mixed *= UINT64_C(0xd6e8feb86659fd93);
	return value | (mixed >> PASTA_SEAL_BITS | 1) << PASTA_SEAL_BITS;
}

/* False: it is damaged, and *n is what its lower bits are. */
static inline bool pasta_unseal(uint64_t word, uint32_t salt, uint64_t *n)
{
	*n = word & PASTA_SEAL_MAX;
	return word == pasta_seal(*n, salt);
}

/* Add to a sealed counter. Any thread. */
static inline void pasta_sealed_add(_Atomic uint64_t *word, uint32_t salt, uint64_t n)
{
	uint64_t old = atomic_load_explicit(word, memory_order_relaxed), count;

	do
		pasta_unseal(old, salt, &count);
	while (!atomic_compare_exchange_weak(word, &old, pasta_seal(count + n, salt)));
}

/* -- Records -- */

#define PASTA_RECORD_CHECK 16 /* where a record has its check word, in a ring: proc and source */

/*
 * The check word is a sum of the others, with the ring's seed and the record's position: what an
 * earlier lap left there does not fit. The halves of each word, mixed with a key that changes from
 * word to word, are multiplied and added up.
 */
struct pasta_check {
	uint64_t sum;
	uint32_t key;
};

/* Half a word of what has just been written: a record's fields have 4 or 8 bytes, and a wider read
 * would wait until they have left the processor's store buffer. The compiler must not make one read
 * of two. */
static inline uint32_t pasta_check_half(const char *from)
{
	uint32_t half;

	memcpy(&half, from, 4);
	__asm__("" : "+r"(half));
	return half;
}

static inline struct pasta_check pasta_check_begin(uint64_t seed, uint64_t at, uint32_t first,
						   uint32_t tid, uint64_t time)
{
	return (struct pasta_check){
		seed + at * UINT64_C(0x9e3779b97f4a7c15) + time * UINT64_C(0xc2b2ae3d27d4eb4f) +
			(uint64_t)(first ^ UINT32_C(0x27d4eb2f)) * (tid ^ UINT32_C(0x165667b1)),
		UINT32_C(0x9e3779b9)};
}

static inline void pasta_check_add(struct pasta_check *c, uint32_t low, uint32_t high)
{
	c->sum += (uint64_t)(low ^ c->key) * (high + c->key);
	c->key += UINT32_C(0x85ebca6b);
}

static inline uint64_t pasta_check_end(const struct pasta_check *c)
{
	return c->sum * UINT64_C(0xd6e8feb86659fd93) >> 8;
}

/* Of a record that is in its place. */
static inline uint64_t pasta_record_check(uint64_t seed, uint64_t at, const struct pasta_event *ev)
{
	const char *from = (const char *)ev;
	struct pasta_check c =
		pasta_check_begin(seed, at, pasta_check_half(from), ev->tid, ev->time);

	for (uint64_t i = PASTA_RECORD_CHECK + 8; i < ev->size; i += 8) {
		uint64_t word;

		memcpy(&word, from + i, 8);
		pasta_check_add(&c, (uint32_t)word, (uint32_t)(word >> 32));
	}
	return pasta_check_end(&c);
}

/* The position behind the whole record at a position; 0: there is none. A filler before it counts
 * as part of it. */
uint64_t pasta_ring_next(const struct pasta_ring *r, uint64_t seed, uint64_t at);

/* The records from position *at up to head, at most max of them; *at is then behind the last. What
 * is no whole record is passed over, up to the next that is, and its bytes are added to *damaged.
 */
size_t pasta_ring_collect(const struct pasta_ring *r, uint64_t seed, uint64_t *at, uint64_t head,
			  const struct pasta_event **events, size_t max, uint64_t *damaged);

/* Where the whole records from a position on end, whatever the head says. */
uint64_t pasta_ring_end(const struct pasta_ring *r, uint64_t seed, uint64_t at);

#endif
