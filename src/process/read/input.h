/* input.h - opens what a report reads: a run's folder, or single shards, as one stream. */
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
	PASTA_COUNTED_SOME,  /* some of the runs counted these accesses; the others counted none */
	PASTA_COUNTED_OTHER, /* some of the runs counted these accesses; the others counted
				something else, which must not be mixed with them */
	PASTA_COUNTED_ALL,
};

/* Zero it before use, then set warn. */
struct pasta_input {
	/* Called with one line for each file or part that is skipped; the line includes the reason.
	 * May be NULL. */
	void (*warn)(const char *line);
	struct pasta_stream *stream;
	struct pasta_filter *filter;  /* the caller's filter; NULL: all events */
	struct pasta_runinfo run;     /* run.json of the first folder that has one */
	struct pasta_runinfo *others; /* run.json of further runs; empty for single shards */
	size_t other_count;
	size_t shards;	   /* shards in the stream */
	size_t refused;	   /* shards, rings and run.json files that could not be read completely */
	uint64_t dropped;  /* events that reached no shard */
	uint64_t expected; /* number of events that run.json expects, summed over all runs */
	uint64_t failed;   /* processes that could not record at all */
	char why[256];	   /* the error of the first process that could not record, or empty */
	char notes[PASTA_RUN_NOTES]
		  [256]; /* notes on what handlers could not record; unused notes are empty */
	uint64_t recovered, alive; /* number of processes recovered from their rings, and of
				      processes that still run */
	uint64_t unsure;	   /* processes whose state is unknown */
	bool unnamed;		   /* the last folder has no run.json */
	uint64_t made;		   /* shards that the last folder's processes have made */
	size_t first;		   /* stream's number of the first shard of the last folder */
};

/* Adds a folder or a shard. First recovers the rings in a folder, if this user may write to it.
 * Warns about parts that cannot be read; returns an error if nothing can be read. */
int pasta_input_add(struct pasta_input *in, const char *path, struct pasta_error *err);
/* Add open shards of a run that is not in a folder, then the description of that run, called name.
 * The input owns the descriptors and what info contains, even on failure. */
struct pasta_shard_parts;
int pasta_input_add_open(struct pasta_input *in, const struct pasta_shard_parts *parts,
			 struct pasta_error *err);
int pasta_input_describe(struct pasta_input *in, struct pasta_runinfo *info, const char *name,
			 struct pasta_error *err);
/* Restricts the input to what a filter selects: excludes shards of other ranks, and sets the
 * filter's start to the run's or, without a run, to that of the first shard. Call it after
 * everything was added; filter must outlive in. -ENOENT and *err if no shard is left. */
int pasta_input_filter(struct pasta_input *in, struct pasta_filter *filter,
		       struct pasta_error *err);
/* In which of the runs the memory accesses that a tool needs were counted, or may have been. Counts
 * of another tool's own reducer don't qualify. */
enum pasta_counted pasta_input_counted(const struct pasta_input *in, const struct pasta_tool *tool);
/* Whether one of the runs counted only sampled launches; false if unknown. */
bool pasta_input_sampled(const struct pasta_input *in);
void pasta_input_free(struct pasta_input *in);

#endif
