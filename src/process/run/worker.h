/*
 * worker.h - workers, the processes that run the tools of plug-ins: start, check and end them.
 *
 * A worker is the same executable, started with "--tool-worker FD" (toolworker.h). It receives one
 * request, in a sealed memory file, and sends one answer in another. It has a session of its own,
 * inherits only the descriptors that it needs, ends when accelprof ends, and writes to stderr only.
 * A worker may crash, hang or send garbage: every wait has a limit, and the receiver checks
 * everything. Call these functions from the main thread: a worker ends with the thread that started
 * it.
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
#define PASTA_WORKER_TIMEOUT 60 /* s; the default */

/* How to start workers. */
struct pasta_worker_setup {
	const char *program;	 /* NULL: load plug-ins into this process, without workers */
	uint64_t timeout;	 /* s that a call may last; 0: no limit */
	uint64_t memory;	 /* bytes of address space; 0: no limit */
	bool (*stop)(void *ctx); /* returns whether the user interrupted the loading; or NULL */
	void *ctx;
	void (*notify)(const char *line); /* shows a line to the user; or NULL */
};
void pasta_worker_set_up(const struct pasta_worker_setup *setup);
/* Returns whether plug-ins run in workers. */
bool pasta_worker_used(void);
/* Returns whether the user interrupted: the answer of stop. */
bool pasta_worker_interrupted(void);

/* The task of a worker. */
enum pasta_worker_verb { PASTA_WORKER_LOAD = 1, PASTA_WORKER_OPEN, PASTA_WORKER_RUN };

/* The message in both directions. A request comes with two descriptors, its data and the page; an
 * answer with one, its data. */
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
	const char *file; /* the library; must outlive the worker */
	/* Names of the tools, which are numbered from 1; must outlive the worker. */
	const char *const *tools;
	size_t tool_count;
	const struct pasta_wire *request;
	const int *fds; /* descriptors that the worker inherits, with the same numbers */
	size_t fd_count;
	uint64_t patience; /* s that replace the timeout; 0: use the timeout */
	bool quiet;	   /* send the worker's stderr to /dev/null */
};

/* Returns a worker, which the caller frees; NULL, with *err: it could not be started. */
struct pasta_worker *pasta_worker_start(const struct pasta_worker_start *start,
					struct pasta_error *err);
/* Kills the worker if it still runs. */
void pasta_worker_free(struct pasta_worker *w);

/* Receives the answer, and checks that the worker is alive and that no call lasts too long. Does
 * not block; call it several times a second. Any return but PASTA_WORKER_RUNS: the worker has
 * ended. */
enum pasta_worker_end pasta_worker_check(struct pasta_worker *w);
/* Repeats pasta_worker_check until the worker has ended, for at most ms. */
enum pasta_worker_end pasta_worker_wait(struct pasta_worker *w, int ms);
/* The user interrupted: asks the worker to stop reading, and to report. */
void pasta_worker_stop(struct pasta_worker *w);
/* Bytes that the worker has read, and all that it has to read. */
void pasta_worker_progress(const struct pasta_worker *w, uint64_t *done, uint64_t *total);

/* Returns the answer of a worker that has ended; the caller frees *bytes. -ENODATA: there is none;
 * or another error. */
int pasta_worker_answer(struct pasta_worker *w, uint8_t **bytes, struct pasta_wire_in *in);
/* Describes what went wrong: "it crashed in event (SIGSEGV)"; "": nothing. *tool is the number of
 * the tool that failed, or 0 if unknown. */
const char *pasta_worker_why(const struct pasta_worker *w, char *text, size_t size, size_t *tool);
/* Returns whether the worker ended without an answer. */
bool pasta_worker_failed(const struct pasta_worker *w);
/* Returns the error code that goes with pasta_worker_why: -EFAULT, -ETIMEDOUT or -ECHILD. */
int pasta_worker_code(const struct pasta_worker *w);

#endif
