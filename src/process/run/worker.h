/*
 * worker.h - starts, checks and ends workers, which are the processes that run the tools of
 * plug-ins.
 *
 * A worker is the same executable, started with "--tool-worker FD" (toolworker.h). It receives one
 * request in a sealed memory file, and sends one answer in another. A worker has its own session,
 * inherits only the file descriptors that it needs, ends when accelprof ends, and writes only to
 * stderr. It may crash, hang or send invalid data, so every wait has a time limit, and accelprof
 * checks everything that it receives. Call these functions from the main thread, because a worker
 * ends when the thread that started it ends.
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
	/* path of accelprof; if NULL, plug-ins are loaded into this process instead of into
	 * workers */
	const char *program;
	uint64_t timeout; /* maximum time in seconds of a call; 0: no limit */
	/* Maximum size of a worker's address space, in bytes; 0: no limit. */
	uint64_t memory;
	bool (*stop)(void *ctx); /* returns whether the user interrupted accelprof; may be NULL */
	void *ctx;
	void (*notify)(const char *line); /* prints a line for the user; may be NULL */
};
void pasta_worker_set_up(const struct pasta_worker_setup *setup);
/* Returns whether plug-ins run in workers. */
bool pasta_worker_used(void);
/* Returns the result of `stop`, which is whether the user interrupted accelprof. */
bool pasta_worker_interrupted(void);

/* The task of a worker. */
enum pasta_worker_verb { PASTA_WORKER_LOAD = 1, PASTA_WORKER_OPEN, PASTA_WORKER_RUN };

/* The header of requests and answers. A request carries two file descriptors: one for its data, and
 * one for the shared page. An answer carries one file descriptor, for its data. */
#define PASTA_WORKER_MAGIC 0x7a57a001u
struct pasta_worker_message {
	uint32_t magic, verb;
};

/* Why a worker has ended. */
enum pasta_worker_end {
	PASTA_WORKER_RUNS,
	PASTA_WORKER_DONE,
	PASTA_WORKER_CRASHED, /* by a signal */
	PASTA_WORKER_EXITED,  /* the worker exited without an answer */
	PASTA_WORKER_HUNG,
};

struct pasta_worker;

struct pasta_worker_start {
	enum pasta_worker_verb verb;
	const char *file; /* path of the library; must outlive the worker */
	/* Names of the tools. Tool numbers start at 1. The array must outlive the worker. */
	const char *const *tools;
	size_t tool_count;
	const struct pasta_wire *request;
	/* File descriptors that the worker inherits; they have the same numbers in the worker. */
	const int *fds;
	size_t fd_count;
	/* if not 0: maximum time of a call in seconds, which replaces `timeout` */
	uint64_t patience;
	bool quiet; /* send the worker's stderr to /dev/null */
};

/* Starts a worker, which the caller frees with pasta_worker_free. On failure, returns NULL and sets
 * *err. */
struct pasta_worker *pasta_worker_start(const struct pasta_worker_start *start,
					struct pasta_error *err);
/* Frees a worker, and kills it if it still runs. */
void pasta_worker_free(struct pasta_worker *w);

/* Receives the worker's answer, and checks that the worker is alive and that no call takes too
 * long. Does not block. Call this function several times a second. Returns PASTA_WORKER_RUNS until
 * the worker has ended. */
enum pasta_worker_end pasta_worker_check(struct pasta_worker *w);
/* Calls pasta_worker_check repeatedly, until the worker has ended or `ms` milliseconds have
 * passed. */
enum pasta_worker_end pasta_worker_wait(struct pasta_worker *w, int ms);
/* Makes the worker stop reading events, and then report, because the user interrupted accelprof. */
void pasta_worker_stop(struct pasta_worker *w);
/* Sets *done to the number of bytes that the worker has read, and *total to the number of bytes to
 * read. */
void pasta_worker_progress(const struct pasta_worker *w, uint64_t *done, uint64_t *total);

/* Sets *bytes to the answer of a worker that has ended; the caller frees *bytes. Returns 0,
 * -ENODATA if the worker sent no answer, or another error. */
int pasta_worker_answer(struct pasta_worker *w, uint8_t **bytes, struct pasta_wire_in *in);
/* Describes why the worker failed, such as "the plug-in crashed in event (SIGSEGV)". The text is ""
 * if it did not fail. Sets *tool to the number of the tool that failed, or to 0 if that tool is
 * unknown. */
const char *pasta_worker_why(const struct pasta_worker *w, char *text, size_t size, size_t *tool);
/* Returns whether the worker ended without an answer. */
bool pasta_worker_failed(const struct pasta_worker *w);
/* Returns the error code for the failure that pasta_worker_why describes: -EFAULT, -ETIMEDOUT or
 * -ECHILD. */
int pasta_worker_code(const struct pasta_worker *w);

#endif
