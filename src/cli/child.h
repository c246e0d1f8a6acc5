/*
 * child.h - starts the program, forwards signals to it and waits until it ends.
 *
 * After pasta_child_hold, signals do not interrupt accelprof. accelprof forwards a signal to the
 * program if the signal was sent to accelprof alone. A signal that the terminal sent, or that was
 * sent to the process group, has already reached the program.
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
	/* the program was started without AccelProf's environment variables, because they exceeded
	 * the kernel's limit */
	bool unrecorded;
};

/* An environment variable of the program. It is set to `value`, or unset if `value` is NULL. A list
 * ends with a NULL name. */
struct pasta_child_env {
	const char *name, *value;
};

/* Block all signals except those of faults. The program starts with the previous signal mask. */
void pasta_child_hold(struct pasta_child *child);
/* Start the program `argv` with the variables `env` added to its environment. `args` are the
 * arguments of accelprof itself. If the environment exceeds the kernel's limit, the program starts
 * without `env`, and `unrecorded` is set. Returns 0; or, if the program cannot be started,
 * accelprof's exit status with *err. */
int pasta_child_start(struct pasta_child *child, char **args, char **argv,
		      const struct pasta_child_env *env, struct pasta_error *err);
/* Wait until the program ends, calling every_second about once a second. Returns waitpid's status.
 */
int pasta_child_wait(struct pasta_child *child, void (*every_second)(void *ctx), void *ctx);
/* Returns whether, since the last call, accelprof has received a signal that requests it to end.
 * Does not wait. */
bool pasta_child_got_end_signal(const struct pasta_child *child);
/* Kill accelprof with the same signal that ended the program, but without a core file. */
_Noreturn void pasta_child_die(int sig);

#endif
