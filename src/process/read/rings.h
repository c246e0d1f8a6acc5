/*
 * rings.h - extracts the events that are in a ring file but not in the shard, and encodes them as
 * frames.
 *
 * Another process may truncate or change the ring file while it is read. Missing bytes count as
 * damage, and never cause a SIGBUS. Damaged parts are skipped and counted.
 */
#ifndef PASTA_PROCESS_RINGS_H
#define PASTA_PROCESS_RINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/ringfile.h"
#include "process/read/shard.h"

enum pasta_rings_head {
	PASTA_RINGS_WHOLE,
	/* The head's magic number or version was damaged, and has been repaired. */
	PASTA_RINGS_REPAIRED,
	/* The head is damaged and does not identify the process. The segments may be intact; they
	 * have their own checksums. */
	PASTA_RINGS_DAMAGED,
	PASTA_RINGS_OTHER, /* the ring file has another version or another schema */
	/* The process has not finished writing the head, and may have died. The file has no
	 * events. */
	PASTA_RINGS_HALF,
};

struct pasta_rings {
	int fd; /* the caller's */
	uint64_t size;
	struct pasta_ringfile *file; /* the head; bytes past the end of the file are zero */
	enum pasta_rings_head head;
};

struct pasta_rings_found {
	uint64_t events;
	bool damaged;	  /* some part of the ring file is missing or inconsistent */
	uint64_t missing; /* number of events that are known to be missing from the rings */
	bool uncounted;	  /* an unknown number of further events is missing */
	/* At least one ring could not be read, because of a read error or lack of memory. */
	bool unread;
	bool gap; /* some events were removed from the rings, but are not in the shard */
	/* Number of rings that were only in the process's memory, and not in the ring file. */
	uint64_t unfiled;
};

/* Reads the head of a ring file. Returns 0 or a negative errno; call pasta_rings_close in either
 * case. */
int pasta_rings_open(struct pasta_rings *r, int fd, uint64_t size);
void pasta_rings_close(struct pasta_rings *r);
/* Returns whether all bytes are zero. */
bool pasta_rings_is_zero(const void *p, size_t size);

/* Writes the events that `shard` lacks to `file`, which must be empty. If `shard` is NULL, writes a
 * complete shard. Adds to the counts in *found. Returns 0, -ENOMEM, or a write error. */
int pasta_rings_extract(const struct pasta_rings *r, const struct pasta_shard *shard, int file,
			struct pasta_rings_found *found);

#endif
