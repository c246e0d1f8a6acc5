/*
 * engine.h - runs the chosen tools over a run's events, on several threads.
 *
 * A sharded tool has one state for each shard, and all threads share the shards. Any other tool has
 * one state, and reads the whole run in order on a thread of its own. With one thread, both types
 * of tools share one reading in order. Results do not depend on the number of threads.
 *
 * A tool that crashes ends its process: isolate.h runs the tools of plug-ins in other processes.
 */
#ifndef PASTA_PROCESS_ENGINE_H
#define PASTA_PROCESS_ENGINE_H

#include <stdbool.h>

#include "process/run/calls.h"
#include "process/join/filter.h"
#include "process/sdk/result.h"
#include "process/read/stream.h"
#include "process/run/tool.h"

struct pasta_engine_opts {
	size_t threads;			   /* at most; 0: one for each processor we may use */
	const struct pasta_filter *filter; /* or NULL */
	/* Called on the caller's thread several times a second; false: stop reading, and report.
	 * Or NULL. */
	bool (*go_on)(void *ctx);
	/* Shows a line to the user. Or NULL. */
	void (*notify)(const char *line);
	/* Called once for each tool. Returns 0, or an error, and in err why the tool cannot
	 * analyze this run: then the tool is not opened. Or NULL. */
	int (*check)(const struct pasta_tool *tool, struct pasta_error *err, void *ctx);
	/* Called on the caller's thread when all tools have reported, before they are closed. Or
	 * NULL. */
	void (*reported)(void *ctx);
	void *ctx;		   /* passed to go_on, check and reported */
	struct pasta_calls *calls; /* the page that shows the calls of tools, or NULL */
};

/* Returns the most threads that a run with this setting uses. */
size_t pasta_engine_threads(size_t threads);

/* Reads all events, and lets the tools report. The result gets an entry for each tool, in the order
 * of the choice, with an error if the tool failed. Without tools it still reads everything, to
 * count losses. Returns 0; -EINTR: go_on returned false, and the result covers what was read;
 * -ENOMEM; -EAGAIN: no thread could be started. */
int pasta_engine_run(const struct pasta_choice *choice, struct pasta_stream *s,
		     struct pasta_result *result, const struct pasta_engine_opts *opts);
/* The same with existing entries, one for each tool. Does not call check, nor open tools whose
 * entry has an error. */
int pasta_engine_run_into(const struct pasta_choice *choice, struct pasta_stream *s,
			  struct pasta_out *const *outs, const struct pasta_engine_opts *opts);
/* Adds an entry for each tool to the result, and calls check. Returns 0 or -ENOMEM. */
int pasta_engine_outs(const struct pasta_choice *choice, struct pasta_result *result,
		      const struct pasta_engine_opts *opts);

#endif
