/*
 * relay.h - decides which signals accelprof forwards to the program.
 *
 * A signal sent to accelprof alone is forwarded. A signal sent to the process group is not: either
 * it has reached the program directly, or the program has left the group and the signal was not
 * meant for it. Senders such as timeout(1) signal a process and then its group. Without accelprof
 * the program would usually see the two as one signal, so the relay forwards only one.
 */
#ifndef PASTA_CLI_RELAY_H
#define PASTA_CLI_RELAY_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/witness.h"

/* Zero the struct before use. Times are ns of CLOCK_MONOTONIC. */
struct pasta_relay {
	pid_t program;
	struct pasta_witness witness;
	struct {
		/* time at which to forward the signal, unless it is sent to the group, too; 0:
		 * do not forward */
		int64_t due;
		/* until this time, more signals of this number count as sent to the group */
		int64_t until;
		siginfo_t info;
	} signals[PASTA_WITNESS_SIGNALS];
};

/* Decide whether to forward a signal that accelprof received: now, later or never. */
void pasta_relay_signal(struct pasta_relay *r, const siginfo_t *info, int64_t now);
/* Returns the time at which to call pasta_relay_forward next; INT64_MAX if no signal is waiting. */
int64_t pasta_relay_due(const struct pasta_relay *r);
/* Forward the signals that are due. */
void pasta_relay_forward(struct pasta_relay *r, int64_t now);

#endif
