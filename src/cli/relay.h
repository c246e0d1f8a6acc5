/*
 * relay.h - which of the signals that accelprof gets go on to the program.
 *
 * A signal for accelprof alone does. One for the process group has reached the program already, or
 * was not meant for it where it has left the group. Senders such as timeout(1) signal a process and
 * at once its group: without accelprof the two are mostly one signal, so they are here.
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
		int64_t due; /* to be forwarded then, if it is not sent to the group before; 0: none
			      */
		int64_t until; /* until then it is the group's, which the program has got */
		siginfo_t info;
	} signals[PASTA_WITNESS_SIGNALS];
};

/* A signal that accelprof has got. */
void pasta_relay_take(struct pasta_relay *r, const siginfo_t *info, int64_t now);
/* When forward is to be called next; INT64_MAX: nothing waits. */
int64_t pasta_relay_due(const struct pasta_relay *r);
/* Forward what is due. */
void pasta_relay_forward(struct pasta_relay *r, int64_t now);

#endif
