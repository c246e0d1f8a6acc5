/*
 * relay.h - decides which signals accelprof forwards to the program.
 *
 * accelprof forwards a signal that was sent to accelprof alone. It does not forward a signal that
 * was sent to the process group: either the signal has reached the program directly, or the program
 * has left the group and was not meant to receive the signal. Senders such as timeout(1) signal a
 * process and then its group. Without accelprof the program would usually see the two as one
 * signal, so the relay forwards only one.
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
		/* time at which to forward the signal, unless the group receives it before; 0: do
		 * not forward it */
		int64_t due;
		/* until this time, further signals with this number count as sent to the group */
		int64_t until;
		siginfo_t info;
	} signals[PASTA_WITNESS_SIGNALS];
};

/* Decide whether to forward a signal that accelprof received: now, later or not at all. */
void pasta_relay_signal(struct pasta_relay *r, const siginfo_t *info, int64_t now);
/* Returns the time at which to call pasta_relay_forward next; INT64_MAX if no signal waits to be
 * forwarded. */
int64_t pasta_relay_due(const struct pasta_relay *r);
/* Forward the signals whose time has come. */
void pasta_relay_forward(struct pasta_relay *r, int64_t now);

#endif
