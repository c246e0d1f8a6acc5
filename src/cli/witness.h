/*
 * witness.h - a process that detects signals sent to the whole process group.
 *
 * A signal's siginfo does not show whether it was sent to accelprof alone or to its process group.
 * A signal to the group reaches the program directly and must not be forwarded. The witness is a
 * child of accelprof in the same group. It blocks all signals and does nothing: a signal that is
 * pending in the witness was sent to the group. It closes the program's descriptors and ends with
 * accelprof.
 */
#ifndef PASTA_CLI_WITNESS_H
#define PASTA_CLI_WITNESS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PASTA_WITNESS_SIGNALS 65 /* 1 to 64 */

enum { PASTA_WITNESS_QUEUED = 256 }; /* real-time signals to remember */

struct pasta_witness_signal {
	int32_t signo, code, pid;
	uint32_t round; /* number of the request; with signo 0: the answer is complete */
	uint64_t value;
};

/* Zero it before use. Until pasta_witness_start there is no witness. */
struct pasta_witness {
	pid_t pid;
	int fd; /* socket to the witness; valid if pid is not 0 */
	uint32_t round;
	bool late;			  /* the last request has no answer yet */
	bool seen[PASTA_WITNESS_SIGNALS]; /* standard signals sent to the group */
	struct pasta_witness_signal queued[PASTA_WITNESS_QUEUED];
	size_t queued_count;
};

/* Start the witness. The caller has blocked all signals. args are accelprof's arguments: the
 * witness overwrites its copy, so that pkill -f does not mistake it for accelprof. On failure there
 * is no witness. */
void pasta_witness_start(struct pasta_witness *w, char **args);
/* Ask the witness for the signals sent to the group so far. Returns false if there is no witness,
 * or no answer. Waits for at most a second, and only once. */
bool pasta_witness_query(struct pasta_witness *w);
/* Returns whether a signal that accelprof got was sent to the group, and forgets it. Call
 * pasta_witness_query before. */
bool pasta_witness_saw(struct pasta_witness *w, const siginfo_t *info);
/* End the witness. */
void pasta_witness_end(struct pasta_witness *w);

#endif
