/*
 * engine.h - runs the chosen tools over a run's events, on several threads.
 *
 * A sharded tool has one state for each shard, and the threads divide the shards among them. Any
 * other tool has one state, and reads the whole run in order of time on its own thread. With only
 * one thread, tools of both types share one pass over the whole run. Results do not depend on the
 * number of threads. A tool that crashes ends its process, so isolate.h runs the tools of plug-ins
 * in other processes.
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
	/* maximum number of threads; 0: one for each processor that accelprof may use */
	size_t threads;
	const struct pasta_filter *filter; /* or NULL */
	/* Called several times a second on the caller's thread. If it returns false, the engine
	 * stops reading, and the tools report. May be NULL. */
	bool (*go_on)(void *ctx);
	/* Callback that prints a line for the user, or NULL. */
	void (*notify)(const char *line);
	/* Called once for each tool. Returns 0, or an error with the reason in err if the tool
	 * cannot analyze this run; such a tool is not opened. May be NULL. */
	int (*check)(const struct pasta_tool *tool, struct pasta_error *err, void *ctx);
	/* Callback that the engine calls on the caller's thread after all tools have reported,
	 * before it closes them. May be NULL. */
	void (*reported)(void *ctx);
	void *ctx; /* passed to go_on, `check` and `reported` */
	/* the page that shows which callback each thread is in, or NULL */
	struct pasta_calls *calls;
};

/* Returns the maximum number of threads that the engine uses for this value of the option
 * `threads`. */
size_t pasta_engine_threads(size_t threads);

/* Reads all events, runs the tools on them, and calls the tools' `report`. Adds an entry for each
 * chosen tool to the result, in the order of the choice; if a tool failed, its entry has the error.
 * Without tools, all events are still read, to count losses. Returns 0, -ENOMEM, -EINTR if go_on
 * returned false (the result then covers the events that were read so far), or -EAGAIN if no thread
 * could be started. */
int pasta_engine_run(const struct pasta_choice *choice, struct pasta_stream *s,
		     struct pasta_result *result, const struct pasta_engine_opts *opts);
/* Like pasta_engine_run, but fills entries that exist already, one for each tool. Does not call
 * check. Does not open a tool whose entry has an error. */
int pasta_engine_run_into(const struct pasta_choice *choice, struct pasta_stream *s,
			  struct pasta_out *const *outs, const struct pasta_engine_opts *opts);
/* Adds an entry for each chosen tool to the result, and calls opts->check for each tool. Returns 0
 * or -ENOMEM. */
int pasta_engine_outs(const struct pasta_choice *choice, struct pasta_result *result,
		      const struct pasta_engine_opts *opts);

#endif
