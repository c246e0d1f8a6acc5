/*
 * ringfile.h - the file beside a shard that holds a process's rings and strings while it runs.
 *
 * The file is mapped shared, so what was pushed outlives the process. A segment is a ring or a
 * block of strings; the head lists them. Blocks are allocated on disk before they are mapped: a
 * full disk must not become a SIGBUS. Salvage reads this after the process has died.
 */
#ifndef PASTA_COLLECT_RINGFILE_H
#define PASTA_COLLECT_RINGFILE_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/frame.h"

#define PASTA_RINGFILE_MAGIC "PASTARNG"
#define PASTA_RINGFILE_VERSION 2
#define PASTA_RINGFILE_HEAD 65536
#define PASTA_SEGMENTS_MAX 2048

enum pasta_segment_type { PASTA_SEGMENT_RING = 1, PASTA_SEGMENT_STRINGS };

struct pasta_segment {
	uint64_t offset; /* in the file, a multiple of the page size */
	uint64_t size;
	uint32_t type;
	uint32_t in_file; /* 0: it is in plain memory, and was lost with the process */
};

struct pasta_ringfile {
	char magic[8];
	uint32_t version;
	uint32_t pid;
	uint64_t start; /* the process's start time, field 22 of its stat */
	uint8_t guid[16], boot[16];
	uint64_t raw, real;
	_Atomic uint64_t lost[PASTA_LOSS_REASONS]; /* events of threads that have no ring */
	_Atomic uint32_t segments;		   /* how many are published */
	uint32_t schema;			   /* of the records */
	struct pasta_segment segment[PASTA_SEGMENTS_MAX];
};

enum pasta_ring_state { PASTA_RING_OPEN = 1, PASTA_RING_CLOSED };

#define PASTA_RING_DATA 4096 /* where its bytes begin, from the start of the segment */

/* Positions count bytes since the ring was made; a record lies at position & (size - 1), whole.
 * A record of kind 0 fills up the end. When its thread ends the ring is closed, and the next thread
 * goes on where it stopped: the source is the ring, and each event has its thread's id. */
struct pasta_ring {
	uint64_t size; /* of the data, a power of two */
	uint32_t source;
	_Atomic uint32_t state;
	_Atomic uint32_t tid;
	uint32_t clock;
	uint32_t port; /* fed by a delivery thread: not in order of time */
	uint32_t reserved;
	char name[16]; /* of its thread, when it took the ring; "": the program has named it */
	/* The producer's. */
	_Alignas(128) _Atomic uint64_t head;
	_Atomic uint64_t pushed;
	_Atomic uint64_t dropped[PASTA_LOSS_REASONS];
	_Atomic uint64_t watermark; /* of a port; a thread's events come in order */
	/* The writer's. */
	_Alignas(128) _Atomic uint64_t tail;
	uint64_t drained;		       /* events in frames */
	uint64_t reported[PASTA_LOSS_REASONS]; /* drops in frames */
	uint32_t announced;		       /* the tid whose name is in a frame */
};

/* A block of strings: { u32 size, bytes, padding to 4 } each, ids from first. */
struct pasta_strings {
	uint64_t size; /* of the data */
	uint64_t first;
	_Atomic uint64_t used;
	_Alignas(8) unsigned char data[];
};

/* The records from position *at up to head, at most max of them; *at is then past the last. It
 * stops short of head, too, at what is no record. */
static inline size_t pasta_ring_collect(const struct pasta_ring *r, uint64_t *at, uint64_t head,
					const struct pasta_event **events, size_t max)
{
	const char *data = (const char *)r + PASTA_RING_DATA;
	size_t n = 0;

	while (*at < head && n < max) {
		uint64_t off = *at & (r->size - 1);
		const struct pasta_event *ev = (const void *)(data + off);

		if (ev->size < 8 || ev->size % 8 || off + ev->size > r->size ||
		    *at + ev->size > head)
			break;
		if (ev->kind != PASTA_NONE) {
			if (ev->kind >= PASTA_KINDS_MAX || ev->size != pasta_kinds[ev->kind].size)
				break;
			events[n++] = ev;
		}
		*at += ev->size;
	}
	return n;
}

#endif
