/*
 * witness.h - a process that detects signals sent to the whole process group.
 *
 * A signal's siginfo does not show whether it was sent to accelprof alone or to its process group.
 * A signal to the group reaches the program directly and must not be forwarded. The witness is a
 * child of accelprof in the same group. It blocks all signals and handles none, so a signal that is
 * pending in the witness was sent to the group. The witness closes the descriptors that it inherits
 * from accelprof, and ends when accelprof ends.
 */
#ifndef PASTA_CLI_WITNESS_H
#define PASTA_CLI_WITNESS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PASTA_WITNESS_SIGNALS 65 /* 1 to 64 */

enum { PASTA_WITNESS_QUEUED = 256 }; /* capacity of the queue of real-time signals */

struct pasta_witness_signal {
	int32_t signo, code, pid;
	/* number of the request that the entry answers; an entry whose signo is 0 ends the
	 * answer */
	uint32_t round;
	uint64_t value;
};

/* Zero the struct before use. There is no witness until pasta_witness_start is called. */
struct pasta_witness {
	pid_t pid;
	int fd; /* the socket to the witness; valid if pid is not 0 */
	uint32_t round;
	bool late; /* the witness has not answered the last request yet */
	/* whether a signal was sent to the group, by number of the signal */
	bool seen[PASTA_WITNESS_SIGNALS];
	struct pasta_witness_signal queued[PASTA_WITNESS_QUEUED];
	size_t queued_count;
};

/* Start the witness. The caller must have blocked all signals. `args` are accelprof's arguments.
 * The witness overwrites its copy of them, so that `pkill -f` does not mistake the witness for
 * accelprof. If the witness cannot be started, accelprof runs without one. */
void pasta_witness_start(struct pasta_witness *w, char **args);
/* Request the list of signals that were sent to the group so far. Waits at most one second for the
 * answer. Returns false if there is no witness or no answer. If the last answer is still missing,
 * further calls do not wait. */
bool pasta_witness_query(struct pasta_witness *w);
/* Returns whether a signal that accelprof received was sent to the group, and removes the signal
 * from those that the witness has reported. Call pasta_witness_query first. */
bool pasta_witness_saw(struct pasta_witness *w, const siginfo_t *info);
/* End the witness. */
void pasta_witness_end(struct pasta_witness *w);

#endif
