/* input.h - opens the input of a report as one stream: a run's folder, or single shards. */
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
	PASTA_COUNTED_SOME, /* some of the runs counted these accesses; the others counted none */
	/* Some of the runs counted these accesses; others counted with another reducer, whose rows
	 * must not be mixed with them. */
	PASTA_COUNTED_OTHER,
	PASTA_COUNTED_ALL,
};

/* The input of a report. Zero the struct before use, then set warn. */
struct pasta_input {
	/* Called with one line for each file, or part of a file, that is skipped. The line includes
	 * the reason. May be NULL. */
	void (*warn)(const char *line);
	struct pasta_stream *stream;
	struct pasta_filter *filter;  /* the caller's filter; NULL selects all events */
	struct pasta_runinfo run;     /* run.json of the first folder that has one */
	struct pasta_runinfo *others; /* run.json of further runs; empty for single shards */
	size_t other_count;
	size_t shards;	  /* shards in the stream */
	size_t refused;	  /* shards, rings and run.json files that could not be read completely */
	uint64_t dropped; /* events that producers could not write to any shard */
	/* Number of events that should exist according to the run.json files of all runs. */
	uint64_t expected;
	uint64_t failed; /* number of processes that could not record anything */
	char why[256];	 /* the error of the first process that could not record, or empty */
	char notes[PASTA_RUN_NOTES]
		  [256]; /* notes on what handlers could not record; unused notes are empty */
	/* Number of processes whose rings were recovered; number of processes that still run. */
	uint64_t recovered, alive;
	uint64_t unsure; /* number of processes that may still run, but whose state is unknown */
	bool unnamed;	 /* the most recently added folder has no run.json */
	uint64_t made; /* number of shards that processes of the most recently added folder made */
	/* Number, in the stream, of the first shard of the most recently added folder. */
	size_t first;
};

/* Adds a folder or a single shard. In a folder that this user may write to, first recovers the
 * rings. Warns about parts that cannot be read; returns an error only if nothing can be read. */
int pasta_input_add(struct pasta_input *in, const char *path, struct pasta_error *err);
/* Add a run that is not in a folder: first its open shards, then its description. `name` is the
 * run's name for messages. The input then owns the descriptors and the contents of info, even on
 * failure. */
struct pasta_shard_parts;
int pasta_input_add_open(struct pasta_input *in, const struct pasta_shard_parts *parts,
			 struct pasta_error *err);
int pasta_input_describe(struct pasta_input *in, struct pasta_runinfo *info, const char *name,
			 struct pasta_error *err);
/* Restricts the input to what a filter selects. Excludes shards of other ranks, and sets the
 * filter's start time to the start of the run; without a run.json, to the start of the first shard.
 * Call this function after everything has been added; `filter` must outlive `in`. Returns -ENOENT
 * with *err if no shard is left. */
int pasta_input_filter(struct pasta_input *in, struct pasta_filter *filter,
		       struct pasta_error *err);
/* Returns which of the runs counted, or may have counted, the memory accesses that a tool needs.
 * Rows of another tool's reducer don't qualify. */
enum pasta_counted pasta_input_counted(const struct pasta_input *in, const struct pasta_tool *tool);
/* Returns whether any of the runs counted only sampled launches; false if that is unknown. */
bool pasta_input_sampled(const struct pasta_input *in);
void pasta_input_free(struct pasta_input *in);

#endif
