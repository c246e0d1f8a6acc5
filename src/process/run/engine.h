/*
 * engine.h - the chosen tools, run over a run's events on several threads.
 *
 * Tools that have merge get a state a shard, on as many threads as there are; the others get one
 * state and the whole run in order, on a thread of their own. With one thread both sorts share one
 * reading in order. Results do not depend on the number of threads.
 *
 * A tool that crashes takes its process along: isolate.h runs the tools of plug-ins in others.
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
	size_t threads;			   /* at most; 0: as many as there are processors for us */
	const struct pasta_filter *filter; /* or NULL */
	/* Asked by the caller's thread some times a second; false: stop reading, and report. Or
	 * NULL. */
	bool (*go_on)(void *ctx);
	/* Told, a line each, what a person should know at once. Or NULL. */
	void (*say)(const char *line);
	/* Asked once of each tool: 0, or an error and in err why it can say nothing of this run: it
	 * is not opened then. Or NULL. */
	int (*check)(const struct pasta_tool *tool, struct pasta_error *err, void *ctx);
	/* Called by the caller's thread when all have reported, and are still open. Or NULL. */
	void (*reported)(void *ctx);
	void *ctx;		   /* go_on's, check's and reported's */
	struct pasta_calls *calls; /* where calls of tools are noted, or NULL */
};

/* At most so many threads are used; 0: as many as there are processors for us. */
size_t pasta_engine_threads(size_t threads);

/* Read all, and let the tools report: each has its place in the result, in the order of the choice,
 * and its error there if it failed. Without tools all is read all the same, for the account. 0;
 * -EINTR: go_on said no, and the result is of what was read; -ENOMEM, -EAGAIN (no thread). */
int pasta_engine_run(const struct pasta_choice *choice, struct pasta_stream *s,
		   struct pasta_result *result, const struct pasta_engine_opts *opts);
/* The same with places that are there already, one for each tool: those that have an error are not
 * opened, and check is not asked. */
int pasta_engine_run_into(const struct pasta_choice *choice, struct pasta_stream *s,
			struct pasta_out *const *outs, const struct pasta_engine_opts *opts);
/* Add a place for each tool to the result, and ask check. -ENOMEM. */
int pasta_engine_outs(const struct pasta_choice *choice, struct pasta_result *result,
		    const struct pasta_engine_opts *opts);

#endif
