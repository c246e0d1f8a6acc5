/*
 * recover.h - what a process that died left in its rings, brought to its shard.
 *
 * The rings are read, never mapped, and what they have is appended to the shard in memory: whoever
 * reads the run sees all of it, whether or not he may write there. Where he may, and it is certain
 * that nobody else is at it, the same bytes are appended to the shard's file, and the ring file
 * goes. A ring file that is damaged, or of another version, is never removed.
 */
#ifndef PASTA_PROCESS_RECOVER_H
#define PASTA_PROCESS_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include <pasta/pasta.h>

#include "process/read/shard.h"

#define PASTA_RECOVER_RING ".ring"
#define PASTA_RECOVER_DAMAGED                                                                      \
	".ring.damaged" /* read once, and never removed; or with -2, -3...                         \
			 */

struct pasta_recovered {
	uint64_t processes; /* whose rings were read */
	uint64_t events;    /* that were in them alone */
	uint64_t committed; /* rings that are in their shards now, on the disk */
	uint64_t alive;	    /* processes that still run: their rings are left alone */
	uint64_t unsure;    /* of the processes whose rings were read: they may still run */
	uint64_t damaged;   /* rings of which something is missing, or cannot be trusted */
	uint64_t failed;    /* rings, or their shards, that could not be read */
	uint64_t unwritten; /* rings that were read, and could not be committed */
};

/* A shard of a folder, by its name (HOST-PID.pst), with what its ring file has: *parts can be read,
 * whatever is returned; where there is neither, file and tail are -1. path is the shard's, for
 * messages, and must outlive parts. commit: write to the folder if that is safe. Adds to *out. 0,
 * or a negative errno with *err: something is wrong with the ring or the shard, which stays as it
 * is. */
int pasta_recover_shard(int folder, const char *name, const char *path, bool commit,
			struct pasta_shard_parts *parts, struct pasta_recovered *out,
			struct pasta_error *err);

/* Commit every ring file in a run's shards folder, "RUN/shards", whose process is dead. Adds to
 * *out. What fails is left as it is, to be tried again: err has the last. A link in the folder's
 * place is not followed. Two sweepers do no harm to each other. */
int pasta_recover_sweep(const char *shards_dir, struct pasta_recovered *out,
			struct pasta_error *err);

#endif
