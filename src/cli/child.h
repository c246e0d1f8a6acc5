/*
 * child.h - the program under study: started, waited for, and given its signals.
 *
 * From hold on, signals do not interrupt accelprof: those that were sent to it alone go on to the
 * program, those of its process group and of the terminal have reached the program already.
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
	bool unrecorded; /* our variables did not fit: it runs without them */
};

/* A variable of the program's environment; value NULL: unset. A list ends with a NULL name. */
struct pasta_child_env {
	const char *name, *value;
};

void pasta_child_hold(struct pasta_child *child);
/* args: those of accelprof. 0, or the exit status for a program that could not be started, with
 * *err. Where the program fits into the kernel's limits without env only, it is started without. */
int pasta_child_start(struct pasta_child *child, char **args, char **argv,
		      const struct pasta_child_env *env, struct pasta_error *err);
/* Wait for its end; every_second is called about that often. Returns waitpid's status. */
int pasta_child_wait(struct pasta_child *child, void (*every_second)(void *ctx), void *ctx);
/* Has someone asked accelprof to end, since the last call? Never waits. */
bool pasta_child_asked_to_end(const struct pasta_child *child);
/* End as the program ended, from this signal, without a core of our own. */
_Noreturn void pasta_child_die(int sig);

#endif
