/*
 * worker.h - processes that run the tools of plug-ins: started, watched, and ended.
 *
 * A worker is the same executable, told to be one ("--tool-worker FD"; toolworker.h). It gets one
 * request, in a sealed memory file, and gives one answer in another. It is in a session of its own,
 * has none of our descriptors but those it is given, ends when we end, and writes to stderr alone.
 * It may crash, hang, or lie: nothing that it does is waited for without a limit, and all that it
 * sends is checked. All from the main thread: a worker ends with the thread that started it.
 */
#ifndef PASTA_PROCESS_WORKER_H
#define PASTA_PROCESS_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <pasta/pasta.h>

#include "process/run/calls.h"
#include "process/io/wire.h"

#define PASTA_WORKERS_MAX 4	/* at once */
#define PASTA_WORKER_TIMEOUT 60 /* s, where nobody chose */

/* How workers are started, from now on. */
struct pasta_worker_setup {
	const char *program; /* NULL: there are none, and plug-ins are loaded into this process */
	uint64_t timeout;    /* s that a call may last; 0: for ever */
	uint64_t memory;     /* bytes of address space; 0: no limit */
	bool (*stop)(void *ctx); /* whether the user has interrupted, while libraries are loaded; or
				    NULL */
	void *ctx;
	void (*say)(const char *line); /* what a person should know at once; or NULL */
};
void pasta_worker_set_up(const struct pasta_worker_setup *setup);
/* Whether there are workers. */
bool pasta_worker_used(void);
/* What stop says. */
bool pasta_worker_asked_to_stop(void);

/* What is asked of a worker. */
enum pasta_worker_verb { PASTA_WORKER_LOAD = 1, PASTA_WORKER_OPEN, PASTA_WORKER_RUN };

/* The one message in either direction, with its descriptors: the request and the page; the answer.
 */
#define PASTA_WORKER_MAGIC 0x7a57a001u
struct pasta_worker_message {
	uint32_t magic, verb;
};

/* Why a worker has ended. */
enum pasta_worker_end {
	PASTA_WORKER_RUNS,
	PASTA_WORKER_DONE,
	PASTA_WORKER_CRASHED, /* by a signal */
	PASTA_WORKER_EXITED,  /* without an answer */
	PASTA_WORKER_HUNG,
};

struct pasta_worker;

struct pasta_worker_start {
	enum pasta_worker_verb verb;
	const char *file; /* the library; must outlive it */
	/* The tools that it is about, by number from 1; must outlive it. */
	const char *const *tools;
	size_t tool_count;
	const struct pasta_wire *request;
	const int *fds; /* that it gets under the same numbers */
	size_t fd_count;
	uint64_t patience; /* s in place of the timeout; 0: the timeout itself */
	bool quiet;	   /* its stderr is nowhere */
};

/* NULL, with *err. */
struct pasta_worker *pasta_worker_start(const struct pasta_worker_start *start,
					struct pasta_error *err);
/* Ends it, if it runs still. */
void pasta_worker_free(struct pasta_worker *w);

/* Look after it: what it has sent, whether it is alive, whether a call lasts too long. Does not
 * wait. Some times a second. Not PASTA_WORKER_RUNS: it has ended. */
enum pasta_worker_end pasta_worker_look(struct pasta_worker *w);
/* The same, until it has ended; waits at most ms for that. */
enum pasta_worker_end pasta_worker_wait(struct pasta_worker *w, int ms);
/* The user has interrupted: read no more, and report. */
void pasta_worker_stop(struct pasta_worker *w);
/* How far it has read, in bytes. */
void pasta_worker_progress(const struct pasta_worker *w, uint64_t *done, uint64_t *total);

/* Once it has ended: its answer, to be freed, or an error, such as -ENODATA if there is none. */
int pasta_worker_answer(struct pasta_worker *w, uint8_t **bytes, struct pasta_wire_in *in);
/* And what went wrong: "it crashed in event (SIGSEGV)", of tool number *tool, or 0 if it is not
 * known whose call it was. "" if nothing did. */
const char *pasta_worker_why(const struct pasta_worker *w, char *text, size_t size, size_t *tool);
/* Whether that was before its answer. */
bool pasta_worker_failed(const struct pasta_worker *w);
/* -EFAULT, -ETIMEDOUT or -ECHILD, to go with it. */
int pasta_worker_code(const struct pasta_worker *w);

#endif
