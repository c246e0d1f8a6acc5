/*
 * recover.h - adds the events that a crashed process left in its rings to its shard.
 *
 * The rings are read, never mapped, and their events are appended to the shard in memory. Thus each
 * report has all events, even if its user cannot write to the run. If the user can, and no other
 * process uses the files, the same bytes are appended to the shard's file and the ring file is
 * removed. A ring file that is damaged or has another version is never removed.
 */
#ifndef PASTA_PROCESS_RECOVER_H
#define PASTA_PROCESS_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include <pasta/pasta.h>

#include "process/read/shard.h"

#define PASTA_RECOVER_RING ".ring"
/* The suffix of a damaged ring file, which is not read again nor removed. Further ones end with -2,
 * -3 and so on. */
#define PASTA_RECOVER_DAMAGED ".ring.damaged"

struct pasta_recovered {
	uint64_t processes; /* processes whose rings were read */
	uint64_t events;    /* events that only the rings had */
	uint64_t committed; /* rings whose events were written to their shards on disk */
	uint64_t alive;	    /* processes that still run; their rings are not read */
	uint64_t unsure;    /* processes whose rings were read, but that may still run */
	uint64_t damaged;   /* rings that lack events, or whose content is inconsistent */
	uint64_t failed;    /* ring files that could not be read, or whose shards could not */
	uint64_t unwritten; /* rings that were read, but could not be written to their shards */
};

/* Opens the shard of a folder called name (HOST-PID.pst), with the events in its ring file. *parts
 * is always valid; its file and tail are -1 if neither file exists. path is the shard's path for
 * messages and must outlive parts. commit: write to the folder if that is safe. Adds to *out.
 * Returns 0, or a negative errno and *err if the ring or the shard is damaged or unreadable; then
 * both files are unchanged. */
int pasta_recover_shard(int folder, const char *name, const char *path, bool commit,
			struct pasta_shard_parts *parts, struct pasta_recovered *out,
			struct pasta_error *err);

/* Commits every ring file in "RUN/shards" whose process has ended. Adds to *out. A ring that fails
 * stays for the next attempt; err has the last error. A symbolic link as shards_dir is not
 * followed. Several sweeps may run at once. */
int pasta_recover_sweep(const char *shards_dir, struct pasta_recovered *out,
			struct pasta_error *err);

#endif
