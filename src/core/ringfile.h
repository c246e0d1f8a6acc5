/*
 * ringfile.h - the format of a ring file, which holds the rings and strings of a running process.
 *
 * The ring file is next to the shard of the process. The process maps the ring file as shared
 * memory, so that the records survive a crash; recovery then moves the records to the shard. A
 * segment of the file holds a ring, or strings with consecutive ids. The head of the file lists the
 * segments. Disk blocks are allocated before they are mapped, so that a full disk doesn't cause a
 * SIGBUS.
 *
 * All data on which a report depends has a checksum, so that damaged data is not mistaken for
 * missing data:
 *   - The head of the file, the head of each segment, and each entry of the segment table have a
 *     checksum of their constant fields. The checksum includes the guid, so that pages of other
 *     files are detected.
 *   - Each record has a check word.
 *   - Each string has a checksum.
 *   - Each counter has a checksum in its upper bits. One store changes both.
 * Only the words `head`, `tail`, `pushed`, `used` and `segments` have no checksum, because their
 * values can be restored from the other data.
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
	uint64_t offset; /* offset in the file, a multiple of the page size */
	uint64_t size;
	uint16_t type;
	/* 0: the segment is in anonymous memory, which does not survive the process */
	uint16_t in_file;
	uint32_t sum; /* pasta_segment_sum */
};

struct pasta_ringfile {
	char magic[8]; /* written last */
	uint32_t version;
	uint32_t pid;
	uint64_t start; /* the start time of the process, which is field 22 of /proc/PID/stat */
	uint8_t guid[16], boot[16];
	uint64_t raw, real;
	uint32_t schema; /* pasta_schema_hash of the records' schema */
	uint32_t reserved;
	uint64_t sum; /* pasta_ringfile_sum */
	/* Number of records that were dropped in threads without a ring, by reason. Each counter is
	 * sealed (pasta_seal), with the reason as salt. */
	_Atomic uint64_t lost[PASTA_LOSS_COUNT];
	/* Number of the writer's own records in frames. The counter is sealed (pasta_seal), with
	 * PASTA_OWN_SALT as salt. */
	_Atomic uint64_t own;
	_Atomic uint32_t segments; /* number of valid entries in `segment` */
	struct pasta_segment segment[PASTA_SEGMENTS_MAX];
};
_Static_assert(sizeof(struct pasta_ringfile) <= PASTA_RINGFILE_HEAD,
	       "struct pasta_ringfile must fit into the head of a ring file");

enum pasta_ring_state { PASTA_RING_OPEN = 1, PASTA_RING_CLOSED };

#define PASTA_RING_DATA 4096 /* offset of the ring's data from the start of the segment */

/*
 * Positions count bytes since the ring was created. A record is stored at the offset position &
 * (size - 1), and doesn't wrap around. If it doesn't fit before the end of the ring, a filler takes
 * up the rest of the lap. A filler is a record of kind 0. When a thread ends, its ring is closed,
 * and the next new thread reuses the ring and continues at the same position. Therefore a source is
 * a ring, not a thread, and each record has the id of its thread.
 */
struct pasta_ring {
	uint64_t size; /* size of the data in bytes, which is a power of two */
	uint32_t source;
	uint32_t clock;
	/* 1: a thread of the vendor's library pushes the records, so they are not in order of
	 * time. */
	uint32_t port;
	uint32_t reserved;
	uint64_t sum; /* pasta_ring_sum */
	_Atomic uint32_t state;
	_Atomic uint32_t tid;
	/* The system name of the thread when it acquired the ring; "" after the program has set
	 * another name. */
	char name[16];
	/* Only the producer writes the members below. */
	_Alignas(128) _Atomic uint64_t head;
	_Atomic uint64_t pushed;
	/* Number of dropped records, by reason. Each counter is sealed (pasta_seal), with the
	 * reason as salt. */
	_Atomic uint64_t dropped[PASTA_LOSS_COUNT];
	/* Used only if `port` is set, because other types of producers push their records in order
	 * of time. */
	_Atomic uint64_t watermark;
	/* Only the writer thread writes the members below. */
	_Alignas(128) _Atomic uint64_t tail;
	uint64_t drained; /* number of records that were written to frames */
	/* How many of the dropped records are already reported in frames. This counter has no
	 * checksum. */
	uint64_t reported[PASTA_LOSS_COUNT];
	uint32_t announced; /* id of the thread whose name was last written to a frame */
};

/* A segment with strings that have consecutive ids. The first string has the id `first`. Each
 * string is a struct pasta_string, padded to a multiple of 4 bytes. */
struct pasta_strings {
	uint64_t size; /* size of the data in bytes */
	uint64_t first;
	uint64_t sum; /* pasta_strings_sum */
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

/* -- Checksums of constant fields -- */

/* Returns the seed for the check words of a source, which is derived from the guid. Source 0 stands
 * for strings. */
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

/* Seals a counter: returns it with a checksum in its upper bits, so that one store changes both. A
 * sealed counter is never zero. */
static inline uint64_t pasta_seal(uint64_t n, uint32_t salt)
{
	uint64_t value = n < PASTA_SEAL_MAX ? n : PASTA_SEAL_MAX;
	uint64_t mixed = (value + salt + 1) * UINT64_C(0x9e3779b97f4a7c15);

	mixed ^= mixed >> 32;
	mixed *= UINT64_C(0xd6e8feb86659fd93);
	return value | (mixed >> PASTA_SEAL_BITS | 1) << PASTA_SEAL_BITS;
}

/* Reads a sealed counter. If the counter is damaged, returns false, and sets *n to the unchecked
 * value. */
static inline bool pasta_unseal(uint64_t word, uint32_t salt, uint64_t *n)
{
	*n = word & PASTA_SEAL_MAX;
	return word == pasta_seal(*n, salt);
}

/* Adds a number to a sealed counter. Any thread may call this function. */
static inline void pasta_sealed_add(_Atomic uint64_t *word, uint32_t salt, uint64_t n)
{
	uint64_t old = atomic_load_explicit(word, memory_order_relaxed), count;

	do
		pasta_unseal(old, salt, &count);
	while (!atomic_compare_exchange_weak(word, &old, pasta_seal(count + n, salt)));
}

/* -- Records -- */

/* Offset of the check word in a record. While a record is in a ring, the check word replaces the
 * fields proc and source. */
#define PASTA_RECORD_CHECK 16

/*
 * The check word is a hash of the other words of the record, the seed of the ring, and the position
 * of the record. The position makes sure that a stale record of an earlier lap doesn't match. The
 * hash is a sum over the words. For each word, the two halves are combined with a key that changes
 * from word to word, and then multiplied.
 */
struct pasta_check {
	uint64_t sum;
	uint32_t key;
};

/* Reads half a word of a record that was just written. A field has 4 or 8 bytes. If the read were
 * wider than the write before it, the read would stall until the store buffer is drained. The asm
 * statement prevents the compiler from merging two reads. */
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

/* Returns the check word of a record in a ring. */
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

/* Returns the position after the record at position `at`; 0 if there is no valid record. A filler
 * may precede the record. */
uint64_t pasta_ring_next(const struct pasta_ring *r, uint64_t seed, uint64_t at);

/* Collects up to `max` records between the positions *at and `head`, and advances *at to the
 * position after the last of them. Skips the invalid bytes before a valid record, and adds their
 * number to *damaged. Returns the number of records. */
size_t pasta_ring_collect(const struct pasta_ring *r, uint64_t seed, uint64_t *at, uint64_t head,
			  const struct pasta_event **events, size_t max, uint64_t *damaged);

/* Returns the end of the sequence of valid records that starts at a position. Does not use the
 * ring's head, which may be damaged. */
uint64_t pasta_ring_end(const struct pasta_ring *r, uint64_t seed, uint64_t at);

#endif
