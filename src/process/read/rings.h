/*
 * rings.h - a ring file, read piece by piece: what its shard lacks, as frames.
 *
 * The file may be cut or changed while it is read: what is not there is damage, never a fault. What
 * is damaged is passed over and counted.
 */
#ifndef PASTA_PROCESS_RINGS_H
#define PASTA_PROCESS_RINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/ringfile.h"
#include "process/read/shard.h"

enum pasta_rings_head {
	PASTA_RINGS_WHOLE,
	PASTA_RINGS_MENDED,  /* the magic or the version was damaged; all else is as it was */
	PASTA_RINGS_DAMAGED, /* whose it is cannot be trusted; what it holds has checks of its own
			      */
	PASTA_RINGS_OTHER,   /* of another version, or with other records */
	PASTA_RINGS_HALF,    /* its maker died at it, or is at it: there is nothing in it yet */
};

struct pasta_rings {
	int fd; /* the caller's */
	uint64_t size;
	struct pasta_ringfile *file; /* its head; what the file lacks of it is zero */
	enum pasta_rings_head head;
};

struct pasta_rings_found {
	uint64_t events;
	bool damaged;	  /* something is missing, or cannot be trusted */
	uint64_t missing; /* events that are known to be missing from the rings */
	bool uncounted;	  /* and more, nobody knows how many */
	bool unread;	  /* there was no memory to read all of it, or the disk failed */
	bool gap;	  /* the shard lacks frames that were taken from the rings */
	uint64_t unfiled; /* rings that were in memory alone, and were lost with the process */
};

/* 0, -ENOMEM, or why it cannot be read; close in any case. */
int pasta_rings_open(struct pasta_rings *r, int fd, uint64_t size);
void pasta_rings_close(struct pasta_rings *r);
/* Whether all bytes are zero. */
bool pasta_rings_is_zero(const void *p, size_t size);

/* Append to a file, which is empty, what the shard lacks; shard NULL: there is none, and the file
 * becomes one. Adds to *found. -ENOMEM, or why the file cannot be written. */
int pasta_rings_extract(const struct pasta_rings *r, const struct pasta_shard *shard, int file,
			struct pasta_rings_found *found);

#endif
