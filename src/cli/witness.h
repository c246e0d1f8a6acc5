/*
 * witness.h - a process that shows which signals were sent to the whole process group.
 *
 * A signal's siginfo is the same whether it was sent to accelprof alone or to its process group,
 * but a signal for the group reaches the program directly and must not be forwarded. The witness is
 * a child of accelprof in the same group. It blocks all signals and does nothing: what is pending
 * there was sent to the group. It holds none of the program's descriptors and ends with accelprof.
 */
#ifndef PASTA_CLI_WITNESS_H
#define PASTA_CLI_WITNESS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PASTA_WITNESS_SIGNALS 65 /* 1 to 64 */

enum { PASTA_WITNESS_QUEUED = 256 }; /* queued signals that are remembered */

struct pasta_witness_signal {
	int32_t signo, code, pid;
	uint32_t round; /* of the question; with signo 0: all has been sent */
	uint64_t value;
};

/* Zero it before use; then there is no witness. */
struct pasta_witness {
	pid_t pid;
	int fd; /* to the witness, with pid */
	uint32_t round;
	bool late;			  /* it has not answered the last question */
	bool seen[PASTA_WITNESS_SIGNALS]; /* standard signals, since the last take */
	struct pasta_witness_signal queued[PASTA_WITNESS_QUEUED];
	size_t queued_count;
};

/* Start it, with all signals blocked. args are the arguments that accelprof was started with: the
 * witness overwrites them, so that kill-by-name (pkill -f) does not take it for accelprof. Without
 * a witness nothing is known of groups. */
void pasta_witness_start(struct pasta_witness *w, char **args);
/* Learn what has been sent to the group until now. False: there is no witness, or it does not
 * answer. It is waited for a second at most, once. */
bool pasta_witness_ask(struct pasta_witness *w);
/* Was this signal, which accelprof has got, sent to the group? Each is known once. Ask before. */
bool pasta_witness_take(struct pasta_witness *w, const siginfo_t *info);
/* It ends. */
void pasta_witness_end(struct pasta_witness *w);

#endif
