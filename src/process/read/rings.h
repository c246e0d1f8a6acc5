/*
 * rings.h - extracts the events of a ring file that its shard lacks, as frames.
 *
 * The file may be truncated or changed while it is read: missing bytes count as damage and never
 * cause a fault. Damaged parts are skipped and counted.
 */
#ifndef PASTA_PROCESS_RINGS_H
#define PASTA_PROCESS_RINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/ringfile.h"
#include "process/read/shard.h"

enum pasta_rings_head {
	PASTA_RINGS_WHOLE,
	PASTA_RINGS_REPAIRED, /* only the magic number or the version was damaged */
	PASTA_RINGS_DAMAGED,  /* the head does not identify the process, but the segments have their
				 own checksums */
	PASTA_RINGS_OTHER,    /* the ring file has another version or another schema */
	PASTA_RINGS_HALF,     /* the file is unfinished, and thus empty; its process may still be
				 writing it */
};

struct pasta_rings {
	int fd; /* the caller's */
	uint64_t size;
	struct pasta_ringfile *file; /* the head; bytes past the end of the file are zero */
	enum pasta_rings_head head;
};

struct pasta_rings_found {
	uint64_t events;
	bool damaged;	  /* part of the ring file is missing or inconsistent */
	uint64_t missing; /* events that are known to be missing from the rings */
	bool uncounted;	  /* an unknown number of further events is missing */
	bool unread;	  /* a ring could not be read: out of memory, or a read error */
	bool gap; /* the shard lacks frames whose events the writer has removed from the rings */
	uint64_t unfiled; /* number of rings that were not in the file, but only in the process's
			     memory */
};

/* Reads the head. 0 or a negative errno; call pasta_rings_close in either case. */
int pasta_rings_open(struct pasta_rings *r, int fd, uint64_t size);
void pasta_rings_close(struct pasta_rings *r);
/* Whether all bytes are zero. */
bool pasta_rings_is_zero(const void *p, size_t size);

/* Appends the events that shard lacks to file, which is empty. Without a shard (NULL), file becomes
 * a complete one. Adds to *found. 0, -ENOMEM, or the error of writing. */
int pasta_rings_extract(const struct pasta_rings *r, const struct pasta_shard *shard, int file,
			struct pasta_rings_found *found);

#endif
