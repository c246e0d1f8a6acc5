/* input.h - what a report is made of: a run's folder, or shards by name, as one stream. */
#ifndef PASTA_PROCESS_INPUT_H
#define PASTA_PROCESS_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

#include "process/join/filter.h"
#include "process/read/run.h"
#include "process/read/runinfo.h"
#include "process/read/stream.h"

enum pasta_counted {
	PASTA_COUNTED_NONE,
	PASTA_COUNTED_SOME,  /* and nothing of accesses in the others */
	PASTA_COUNTED_OTHER, /* in some, and others counted something else, which would be mixed in
			      */
	PASTA_COUNTED_ALL,
};

/* Zero it before use; set warn first. */
struct pasta_input {
	/* Told, a line each, what is passed over and why. May be NULL. */
	void (*warn)(const char *line);
	struct pasta_stream *stream;
	struct pasta_filter *filter;  /* the caller's: what of it is read; or NULL */
	struct pasta_runinfo run;     /* of the first folder that has a run.json */
	struct pasta_runinfo *others; /* of further ones; of shards nothing is known */
	size_t other_count;
	size_t shards;			  /* that are in the stream */
	size_t refused;			  /* and run.json, that could not be read */
	uint64_t lost;			  /* events that reached no shard */
	uint64_t expected;		  /* events in the accounts of the runs' ends */
	uint64_t failed;		  /* processes that could not record at all */
	char why[256];			  /* what went wrong first in those, or empty */
	char notes[PASTA_RUN_NOTES][256]; /* what handlers could not do; the rest are empty */
	uint64_t recovered, alive;	  /* processes */
	uint64_t unsure;		  /* processes that may still run, or may not */
	bool unnamed;			  /* the last folder has no run.json */
	uint64_t made;			  /* shards that its processes have made */
	size_t first;			  /* in the stream, of its shards */
};

/* Add a folder or a shard. A folder is recovered first, if we may. An error if nothing of it can be
 * read; what can be read in part is, with warnings. */
int pasta_input_add(struct pasta_input *in, const char *path, struct pasta_error *err);
/* Add a shard that is open, and belongs to a run that is in no folder: its descriptors are taken,
 * whatever happens. When all are added, what is known of that run, which is taken, too; name is
 * what it is called. */
struct pasta_shard_parts;
int pasta_input_add_open(struct pasta_input *in, const struct pasta_shard_parts *parts,
			 struct pasta_error *err);
int pasta_input_describe(struct pasta_input *in, struct pasta_runinfo *info, const char *name,
			 struct pasta_error *err);
/* Read no more than a filter wants, which must outlive it: shards of other ranks are left out, and
 * times are from the run's start or, without a run, from the first shard's. After all are added.
 * -ENOENT, with *err: no shard is left. */
int pasta_input_filter(struct pasta_input *in, struct pasta_filter *filter,
		       struct pasta_error *err);
/* In which of the runs that were added what a tool needs of memory accesses was counted, or may
 * have been. What another tool's own reducer has counted is not what it needs. */
enum pasta_counted pasta_input_counted(const struct pasta_input *in, const struct pasta_tool *tool);
/* Whether one of the runs counted the accesses of some launches only; false where it is unknown. */
bool pasta_input_sampled(const struct pasta_input *in);
void pasta_input_free(struct pasta_input *in);

#endif
