/*
 * relay.h - decides which signals accelprof forwards to the program.
 *
 * A signal sent to accelprof alone is forwarded. A signal sent to the process group is not: it has
 * reached the program already, unless the program has left the group, and then it was not meant for
 * the program. Senders such as timeout(1) signal a process and then its group. Without accelprof
 * the program would usually see the two as one signal, so the relay forwards only one.
 */
#ifndef PASTA_CLI_RELAY_H
#define PASTA_CLI_RELAY_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/witness.h"

/* Zero it before use. Times are ns of CLOCK_MONOTONIC. */
struct pasta_relay {
	pid_t program;
	struct pasta_witness witness;
	struct {
		int64_t due;   /* when to forward it, unless the group gets it before; 0: never */
		int64_t until; /* until then it counts as sent to the group */
		siginfo_t info;
	} signals[PASTA_WITNESS_SIGNALS];
};

/* Accelprof got a signal: decide whether to forward it now, later or never. */
void pasta_relay_signal(struct pasta_relay *r, const siginfo_t *info, int64_t now);
/* Returns when to call pasta_relay_forward next; INT64_MAX: no signal waits. */
int64_t pasta_relay_due(const struct pasta_relay *r);
/* Forward the signals that are due. */
void pasta_relay_forward(struct pasta_relay *r, int64_t now);

#endif
