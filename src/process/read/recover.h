/*
 * recover.h - adds the events that a crashed process left in its rings to its shard.
 *
 * The recovered events become a tail of the shard in memory. Thus each report has all events, even
 * if its user cannot write to the run. If the user can, and no other process uses the files, the
 * tail is also appended to the shard's file, and the ring file is removed. A ring file that is
 * damaged or has another version is never removed. Ring files are read, not mapped.
 */
#ifndef PASTA_PROCESS_RECOVER_H
#define PASTA_PROCESS_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include <pasta/pasta.h>

#include "process/read/shard.h"

#define PASTA_RECOVER_RING ".ring"
/* The suffix of damaged ring files, which accelprof neither reads again nor removes. If a file with
 * this name exists already, accelprof appends -2, -3 and so on to the suffix. */
#define PASTA_RECOVER_DAMAGED ".ring.damaged"

struct pasta_recovered {
	uint64_t processes; /* number of processes whose rings were read */
	uint64_t events;    /* number of events that were only in the rings, not in a shard */
	uint64_t committed; /* number of rings whose events were written to their shards on disk */
	/* Number of processes that are still running; their rings are not read. */
	uint64_t alive;
	/* Number of processes whose rings were read although the process may still be running. */
	uint64_t unsure;
	uint64_t damaged; /* number of rings that lack events or whose content is inconsistent */
	/* Number of ring files that could not be read, or whose shards could not be read. */
	uint64_t failed;
	/* Number of rings whose events were read, but could not be written to a shard. */
	uint64_t unwritten;
};

/* Opens the shard called `name` (HOST-PID.pst) in a folder, including the events in its ring file.
 * *parts is always valid; if neither file exists, parts->file and parts->tail are -1. `path` is the
 * shard's path for messages and must outlive `parts`. If `commit` is true, writes to the folder if
 * that is safe. Adds to the counts in *out. Returns 0, or a negative errno with *err if the ring or
 * the shard is damaged or unreadable. In that case, both files are unchanged. */
int pasta_recover_shard(int folder, const char *name, const char *path, bool commit,
			struct pasta_shard_parts *parts, struct pasta_recovered *out,
			struct pasta_error *err);

/* For every ring file in the folder shards_dir (RUN/shards) whose process has ended, writes the
 * recovered events to the shard of the process, and removes the ring file. Adds to the counts in
 * *out. If that fails for a ring file, the ring file stays in the folder for the next attempt, and
 * *err is the last error. Does not follow shards_dir if it is a symbolic link. Several processes
 * may call this function at the same time. */
int pasta_recover_sweep(const char *shards_dir, struct pasta_recovered *out,
			struct pasta_error *err);

#endif
