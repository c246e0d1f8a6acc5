/*
 * child.h - starts the program, forwards signals to it and waits for its end.
 *
 * After pasta_child_hold, signals do not interrupt accelprof. A signal sent to accelprof alone is
 * forwarded to the program. A signal sent to the process group, or by the terminal, has reached the
 * program already.
 */
#ifndef PASTA_CLI_CHILD_H
#define PASTA_CLI_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include <pasta/pasta.h>

#include "cli/relay.h"

struct pasta_child {
	pid_t pid;
	sigset_t held, before;
	struct sigaction chld_before;
	struct pasta_relay relay;
	bool unrecorded; /* AccelProf's variables did not fit: the program runs without them */
};

/* A variable of the program's environment. A NULL value unsets it. A list ends with a NULL name. */
struct pasta_child_env {
	const char *name, *value;
};

/* Block all signals but faults. The program starts with the mask from before. */
void pasta_child_hold(struct pasta_child *child);
/* Start the program argv with env added to its environment. args are accelprof's own arguments.
 * Returns 0, or the exit status for a program that could not be started, with *err. If env does not
 * fit into the kernel's limit, the program starts without env, and unrecorded is set. */
int pasta_child_start(struct pasta_child *child, char **args, char **argv,
		      const struct pasta_child_env *env, struct pasta_error *err);
/* Wait until the program ends, calling every_second about once a second. Returns waitpid's status.
 */
int pasta_child_wait(struct pasta_child *child, void (*every_second)(void *ctx), void *ctx);
/* Returns whether accelprof got a signal that asks it to end, since the last call. Never waits. */
bool pasta_child_got_end_signal(const struct pasta_child *child);
/* End accelprof with the signal that ended the program, without a core file. */
_Noreturn void pasta_child_die(int sig);

#endif
