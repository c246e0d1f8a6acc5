/*
 * crew.h - the chosen tools, run over a run's events on worker threads.
 *
 * Tools that have merge get a state a shard, on as many threads as there are; the others get one
 * state and the whole run in order, on a thread of their own. With one thread both sorts share one
 * reading in order. Results do not depend on the number of threads.
 *
 * A tool that crashes, or is still in a call when an interrupt is some seconds old, is named and
 * left out. Its thread stays where it is for ever, and another takes over its work.
 */
#ifndef PASTA_PROCESS_CREW_H
#define PASTA_PROCESS_CREW_H

#include <stdbool.h>

#include "process/filter.h"
#include "process/result.h"
#include "process/stream.h"
#include "process/tool.h"

struct pasta_crew_opts {
	size_t threads;			   /* at most; 0: as many as there are processors for us */
	const struct pasta_filter *filter; /* or NULL */
	/* Asked by the caller's thread some times a second; false: stop reading, and report. Or
	 * NULL. */
	bool (*go_on)(void *ctx);
	/* Told, a line each, what a person should know at once. Or NULL. */
	void (*say)(const char *line);
	/* Asked once of each tool: 0, or an error and in err why it can say nothing of this run: it
	 * is not opened then. Or NULL. */
	int (*check)(const struct pasta_tool *tool, struct pasta_err *err, void *ctx);
	void *ctx; /* go_on's and check's */
};

/* Read all, and let the tools report: each has its place in the result, in the order of the choice,
 * and its error there if it failed. 0; -EINTR: go_on said no, and the result is of what was read;
 * -ENOMEM, -EAGAIN (no thread), -EDEADLK (all wait for what a lost tool has locked). Signals of
 * faults are caught while it runs. */
int pasta_crew_run(const struct pasta_choice *choice, struct pasta_stream *s,
		   struct pasta_result *result, const struct pasta_crew_opts *opts);

/* Whether a tool was ever lost: its thread may have locked what exit needs, so leave with _exit.
 * Any thread. */
bool pasta_crew_lost(void);

#endif
