/* relay.c - decides which signals accelprof forwards to the program. */
#include "cli/relay.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "process/io/files.h"

/* ns. If accelprof receives the same signal twice within this time, once sent to the process and
 * once to its group, the two count as one signal. A sender sends both within microseconds, or
 * within several time slices on a busy machine. */
#define TOGETHER INT64_C(20000000)

static pid_t relay_parent(pid_t pid)
{
	char path[40], text[512], *paren;
	FILE *file;
	int parent = 0;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	file = pasta_files_system(path);
	if (!file)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	paren = strrchr(text, ')'); /* skip the program's name, which may contain parentheses */
	if (!paren || sscanf(paren + 1, " %*c %d", &parent) != 1)
		return 0;
	return parent;
}

/* Returns whether the sender is the program or one of its descendants. If one of them signals its
 * parent or process group, the signal must not be forwarded, because without accelprof the signal
 * would not reach the program. */
static bool relay_is_its_own(const struct pasta_relay *r, pid_t sender)
{
	int depth;

	for (depth = 0; sender > 1 && depth < 64; depth++) {
		if (sender == r->program)
			return true;
		sender = relay_parent(sender);
	}
	return false;
}

static bool relay_was_sent(const siginfo_t *info)
{
	return info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL;
}

/* Returns whether to forward a signal. accelprof forwards three types of signals that the kernel
 * sends: an alarm that was set before accelprof was executed, a signal of the terminal that arrived
 * before the program started, and a hang-up, which the kernel sends to the session leader. Other
 * signals from the kernel, such as SIGXCPU, concern accelprof itself. Without a witness process,
 * accelprof assumes that signals of the terminal have reached the program. */
static bool relay_is_for_program(const struct pasta_relay *r, const siginfo_t *info)
{
	if (relay_was_sent(info))
		return info->si_pid != getpid() && !relay_is_its_own(r, info->si_pid);
	switch (info->si_signo) {
	case SIGALRM:
		return true;
	case SIGHUP:
	case SIGINT:
	case SIGQUIT:
	case SIGTSTP:
	case SIGCONT:
	case SIGWINCH:
		return r->witness.pid != 0;
	default:
		return false;
	}
}

static void relay_send(const struct pasta_relay *r, const siginfo_t *info)
{
	if (info->si_code == SI_QUEUE)
		sigqueue(r->program, info->si_signo, info->si_value);
	else
		kill(r->program, info->si_signo);
}

/* Returns whether to forward a signal although the process group has received the signal, too.
 * Returns true if the program has left the group and the sender is accelprof's parent. Programs
 * such as timeout(1) signal both a process and its group, and accelprof cannot detect whether this
 * sender signalled both. */
static bool relay_is_owed(const struct pasta_relay *r, const siginfo_t *info)
{
	return relay_was_sent(info) && info->si_pid == getppid() &&
	       getpgid(r->program) != getpgrp();
}

static void relay_cancel(struct pasta_relay *r, int sig)
{
	r->signals[sig].due = 0;
	/* the kernel has also cancelled the signal that was pending in the witness process */
	r->witness.seen[sig] = false;
}

/* As in the kernel, a signal that stops a process cancels a pending SIGCONT, and SIGCONT cancels
 * pending signals that stop a process. */
static void relay_cancel_opposite(struct pasta_relay *r, int sig)
{
	static const int stops[] = {SIGTSTP, SIGTTIN, SIGTTOU};
	size_t i;

	for (i = 0; i < sizeof(stops) / sizeof(*stops); i++) {
		if (sig == SIGCONT)
			relay_cancel(r, stops[i]);
		else if (sig == stops[i])
			relay_cancel(r, SIGCONT);
	}
}

void pasta_relay_signal(struct pasta_relay *r, const siginfo_t *info, int64_t now)
{
	int sig = info->si_signo;
	bool known = pasta_witness_query(&r->witness);

	if (sig <= 0 || sig >= PASTA_WITNESS_SIGNALS)
		return;
	relay_cancel_opposite(r, sig);
	if (known && pasta_witness_saw(&r->witness, info) && !relay_is_owed(r, info)) {
		r->signals[sig].due = 0;
		r->signals[sig].until = now + TOGETHER;
		return;
	}
	if (!relay_is_for_program(r, info))
		return;
	/* the kernel queues pending real-time signals, and does not merge them */
	if (!known || sig >= SIGRTMIN) {
		relay_send(r, info);
	} else if (now >= r->signals[sig].until && !r->signals[sig].due) {
		r->signals[sig].due = now + TOGETHER;
		r->signals[sig].info = *info;
	}
}

int64_t pasta_relay_due(const struct pasta_relay *r)
{
	int64_t due = INT64_MAX;
	int sig;

	for (sig = 1; sig < PASTA_WITNESS_SIGNALS; sig++)
		if (r->signals[sig].due && r->signals[sig].due < due)
			due = r->signals[sig].due;
	return due;
}

void pasta_relay_forward(struct pasta_relay *r, int64_t now)
{
	int64_t due;
	int sig;

	while ((due = pasta_relay_due(r)) <= now) {
		/* Since the last query, the witness process may have received a signal that was
		 * sent to the group. */
		bool known = pasta_witness_query(&r->witness);

		for (sig = 1; r->signals[sig].due != due; sig++)
			;
		r->signals[sig].due = 0;
		if (!known || !r->witness.seen[sig] || relay_is_owed(r, &r->signals[sig].info))
			relay_send(r, &r->signals[sig].info);
	}
}
