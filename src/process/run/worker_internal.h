/* worker_internal.h - a worker's parts, shared by workerstart.c and worker.c. */
#ifndef PASTA_PROCESS_WORKER_INTERNAL_H
#define PASTA_PROCESS_WORKER_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/run/worker.h"

#define PASTA_WORKER_NOT_EXECUTED 127 /* exit status of a child that could not run the program */

/* The latest call that a check found in a thread's slot. */
struct pasta_worker_call {
	uint64_t calls;
	int64_t since; /* ms; the begin of the call, or after an interrupt of the reading */
	uint32_t tool, phase;
	bool reported; /* as slow */
};

struct pasta_worker {
	struct pasta_worker_start start;
	pid_t pid;
	int socket, page, answer; /* -1: none */
	struct pasta_calls *calls;
	struct pasta_worker_call seen[PASTA_CALL_SLOTS];
	uint64_t progress;   /* sum of all counters on the page */
	int64_t progress_at; /* ms; when the sum last changed */
	int64_t stopped;     /* ms; when the user interrupted; 0: not yet */
	int64_t limit;	     /* ms that a call may last; 0: no limit */
	enum pasta_worker_end end;
	int status; /* of waitpid */
	uint32_t tool, phase;
	bool halted; /* by SIGSTOP */
};

extern struct pasta_worker_setup pasta_worker_settings;

/* Returns the time in ms, of a clock that never goes back. */
int64_t pasta_worker_now(void);
/* A worker was reaped: the last one restores the disposition of SIGCHLD. */
void pasta_worker_reaped(void);

#endif
