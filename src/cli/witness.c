/* witness.c - starts a process that detects signals sent to the whole process group. */
#include "cli/witness.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* name of the witness process, which `pkill accelprof` does not match */
#define NAME "pasta-witness"
/* time limit of an answer in ms; a witness process that was stopped by a signal answers late or
 * never */
#define PATIENCE 1000

/* -- The witness itself -- */

/* Close all descriptors except fd. If the witness held the program's output open, a process that
 * reads this output would wait for the witness to end. */
static void witness_close_others(int fd)
{
	struct rlimit limit;
	unsigned int other, last;

#ifdef SYS_close_range
	if (!syscall(SYS_close_range, 0u, (unsigned int)fd - 1, 0u) &&
	    !syscall(SYS_close_range, (unsigned int)fd + 1, ~0u, 0u))
		return;
#endif
	last = getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > 1 << 20
		       ? 1 << 20
		       : (unsigned int)limit.rlim_cur;
	for (other = 0; other < last; other++)
		if (other != (unsigned int)fd)
			close((int)other);
}

/* Overwrite the arguments of the process. The arguments are contiguous in memory, and visible in
 * /proc/PID/cmdline. */
static void witness_rename(char **args)
{
	char *start = program_invocation_name, *end = start + strlen(start) + 1;

	while (*args && *args <= end) {
		if (*args == end)
			end += strlen(end) + 1;
		args++;
	}
	if ((size_t)(end - start) >= sizeof(NAME)) {
		memset(start, 0, (size_t)(end - start));
		memcpy(start, NAME, sizeof(NAME));
	}
	prctl(PR_SET_NAME, NAME);
}

static bool witness_send(int fd, const struct pasta_witness_signal *s)
{
	return send(fd, s, sizeof(*s), MSG_NOSIGNAL) == (ssize_t)sizeof(*s);
}

/* Report the pending signals to accelprof, followed by an end mark. Each signal that is pending in
 * the witness was sent to the process group. */
static bool witness_answer(int fd, const sigset_t *all, uint32_t round)
{
	const struct timespec now = {0};
	siginfo_t info;

	while (sigtimedwait(all, &info, &now) > 0) {
		struct pasta_witness_signal s = {info.si_signo, info.si_code, 0, round, 0};

		if (info.si_code <= 0) {
			s.pid = info.si_pid;
			s.value = info.si_code == SI_QUEUE ? (uintptr_t)info.si_value.sival_ptr : 0;
		}
		if (!witness_send(fd, &s))
			return false;
	}
	return witness_send(fd, &(struct pasta_witness_signal){.round = round});
}

static _Noreturn void witness_main(int fd, char **args)
{
	uint32_t round;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	/* If accelprof has died before this call, recv returns 0, and the witness process ends. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	witness_close_others(fd);
	witness_rename(args);
	while (recv(fd, &round, sizeof(round), 0) == (ssize_t)sizeof(round))
		if (!witness_answer(fd, &all, round))
			break;
	_exit(0);
}

/* -- In accelprof -- */

void pasta_witness_start(struct pasta_witness *w, char **args)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return;
	w->pid = fork();
	if (w->pid == 0)
		witness_main(fds[1], args);
	close(fds[1]);
	w->fd = fds[0];
	if (w->pid < 0) {
		w->pid = 0;
		close(w->fd);
	}
}

void pasta_witness_end(struct pasta_witness *w)
{
	if (!w->pid)
		return;
	kill(w->pid, SIGKILL);
	while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(w->fd);
	w->pid = 0;
}

static void witness_add(struct pasta_witness *w, const struct pasta_witness_signal *s)
{
	if (s->signo < SIGRTMIN) {
		w->seen[s->signo] = true;
		return;
	}
	/* If the queue of real-time signals is full, drop the oldest signal in it. */
	if (w->queued_count == PASTA_WITNESS_QUEUED)
		memmove(w->queued, w->queued + 1, --w->queued_count * sizeof(*w->queued));
	w->queued[w->queued_count++] = *s;
}

/* Read the witness's answer to the last request. Returns false if the whole answer does not arrive
 * in time. */
static bool witness_read(struct pasta_witness *w)
{
	struct pollfd p = {w->fd, POLLIN, 0};
	struct pasta_witness_signal s;
	ssize_t n;

	while (poll(&p, 1, w->late ? 0 : PATIENCE) == 1) {
		n = recv(w->fd, &s, sizeof(s), MSG_DONTWAIT);
		if (n != (ssize_t)sizeof(s)) { /* the witness was killed */
			pasta_witness_end(w);
			return false;
		}
		if (s.signo > 0 && s.signo < PASTA_WITNESS_SIGNALS)
			witness_add(w, &s);
		else if (s.round == w->round)
			return true;
	}
	return false;
}

bool pasta_witness_query(struct pasta_witness *w)
{
	if (!w->pid)
		return false;
	if (w->late) {
		if (!witness_read(w))
			return false;
		/* Remove the signals that the relay has forwarded, because they would hide later
		 * signals of the same number. */
		memset(w->seen, 0, sizeof(w->seen));
		w->queued_count = 0;
		w->late = false;
	}
	w->round++;
	if (send(w->fd, &w->round, sizeof(w->round), MSG_NOSIGNAL) < 0) {
		pasta_witness_end(w);
		return false;
	}
	w->late = !witness_read(w);
	return !w->late;
}

bool pasta_witness_saw(struct pasta_witness *w, const siginfo_t *info)
{
	bool seen = false;
	size_t i;

	if (info->si_signo < SIGRTMIN) {
		seen = w->seen[info->si_signo];
		w->seen[info->si_signo] = false;
		return seen;
	}
	for (i = 0; i < w->queued_count && !seen; i++) {
		const struct pasta_witness_signal *s = &w->queued[i];

		seen = s->signo == info->si_signo && s->code == info->si_code &&
		       (info->si_code > 0 || s->pid == info->si_pid) &&
		       (info->si_code != SI_QUEUE ||
			s->value == (uintptr_t)info->si_value.sival_ptr);
	}
	if (seen) {
		w->queued_count--;
		memmove(w->queued + i - 1, w->queued + i,
			(w->queued_count - (i - 1)) * sizeof(*w->queued));
	}
	return seen;
}
