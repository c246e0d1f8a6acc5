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
	/* Some of the runs counted the accesses that the tool needs; the other runs counted
	 * none. */
	PASTA_COUNTED_SOME,
	/* Some of the runs counted the accesses that the tool needs. Other runs used another tool's
	 * reducer, whose rows have another meaning. */
	PASTA_COUNTED_OTHER,
	PASTA_COUNTED_ALL,
};

/* The input of a report. Zero the struct before use, then set warn. */
struct pasta_input {
	/* Callback for each file, or part of a file, that is skipped. `line` names the file and the
	 * reason. NULL if no callback is needed. */
	void (*warn)(const char *line);
	struct pasta_stream *stream;
	struct pasta_filter *filter; /* the caller's filter; NULL selects all events */
	struct pasta_runinfo run;    /* run.json of the first folder that has one */
	/* Contents of the run.json files of all runs except the first, which is `run`. */
	struct pasta_runinfo *others;
	size_t other_count;
	size_t shards; /* shards in the stream */
	/* Number of shards, rings and run.json files that could not be read completely. */
	size_t refused;
	uint64_t dropped; /* number of events that were not written to any shard */
	/* Number of events that should exist according to the run.json files of all runs. */
	uint64_t expected;
	uint64_t failed; /* number of processes that could not record anything */
	char why[256];	 /* the error of the first process that could not record anything, or "" */
	char notes[PASTA_RUN_NOTES]
		  [256]; /* notes on what handlers could not record; unused entries are empty */
	/* Number of processes whose rings were recovered, and number of processes that are still
	 * running. */
	uint64_t recovered, alive;
	/* Number of processes that may still be running, but whose state is unknown. */
	uint64_t unsure;
	bool unnamed; /* whether the most recently added folder lacks a run.json */
	/* Number of shards in the most recently added folder, according to its control page. */
	uint64_t made;
	/* The stream's number for the first shard of the most recently added folder. */
	size_t first;
};

/* Adds a folder or a single shard. If this user may write to the folder, first recovers its rings.
 * Warns about parts that cannot be read. Returns an error only if nothing can be read. */
int pasta_input_add(struct pasta_input *in, const char *path, struct pasta_error *err);
/* Add a run that is not in a folder: call the first function for each open shard, then the second
 * one with the run's description. `name` is the run's name for messages. The input then owns the
 * descriptors and the contents of info, even on failure. */
struct pasta_shard_parts;
int pasta_input_add_open(struct pasta_input *in, const struct pasta_shard_parts *parts,
			 struct pasta_error *err);
int pasta_input_describe(struct pasta_input *in, struct pasta_runinfo *info, const char *name,
			 struct pasta_error *err);
/* Restricts the input to the events that a filter selects. Excludes shards of other ranks. Sets the
 * filter's start time to the start of the run or, without a run.json, to the start of the first
 * shard. Call this function after everything has been added; `filter` must outlive `in`. Returns
 * -ENOENT with *err if no shard is left. */
int pasta_input_filter(struct pasta_input *in, struct pasta_filter *filter,
		       struct pasta_error *err);
/* Returns which of the runs counted, or may have counted, the memory accesses that a tool needs.
 * Rows of another tool's reducer do not count. */
enum pasta_counted pasta_input_counted(const struct pasta_input *in, const struct pasta_tool *tool);
/* Returns whether any of the runs counted only sampled launches; false if that is unknown. */
bool pasta_input_sampled(const struct pasta_input *in);
void pasta_input_free(struct pasta_input *in);

#endif
