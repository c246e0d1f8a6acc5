/* worker_internal.h - defines struct pasta_worker for workerstart.c and worker.c. */
#ifndef PASTA_PROCESS_WORKER_INTERNAL_H
#define PASTA_PROCESS_WORKER_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/run/worker.h"

#define PASTA_WORKER_NOT_EXECUTED 127 /* exit status of a child that could not run the program */

/* The latest call that pasta_worker_check found in a thread's slot. */
struct pasta_worker_call {
	uint64_t calls;
	/* time in ms at which the call was first seen. After the user's interrupt, consecutive
	 * calls of `event` count as one call. */
	int64_t since;
	uint32_t tool, phase;
	bool reported; /* as slow */
};

struct pasta_worker {
	struct pasta_worker_start start;
	pid_t pid;
	int socket, page, answer; /* -1: none */
	struct pasta_calls *calls;
	struct pasta_worker_call seen[PASTA_CALL_SLOTS];
	/* Sum of all counters on the shared page. The sum grows when the worker makes progress. */
	uint64_t progress;
	int64_t progress_at; /* time, in ms, at which `progress` last changed */
	int64_t stopped;     /* time, in ms, of the user's interrupt; 0 if there was none */
	int64_t limit;	     /* maximum time of a call in ms; 0: no limit */
	enum pasta_worker_end end;
	int status; /* of waitpid */
	uint32_t tool, phase;
	bool halted; /* by SIGSTOP */
};

extern struct pasta_worker_setup pasta_worker_settings;

/* Returns the time of a monotonic clock, in ms. */
int64_t pasta_worker_now(void);
/* Call this function after a worker has been reaped. After the last worker, restores the
 * disposition of SIGCHLD. */
void pasta_worker_reaped(void);

#endif
