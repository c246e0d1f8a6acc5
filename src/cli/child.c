/* child.c - the program under study: started, waited for, and given its signals. */
#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

#define SECOND INT64_C(1000000000)

void pasta_child_hold(struct pasta_child *child)
{
	/* Faults of our own must stay what they are. */
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
	struct sigaction chld = {.sa_handler = SIG_DFL};
	size_t i;

	sigfillset(&child->held);
	for (i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		sigdelset(&child->held, faults[i]);
	sigprocmask(SIG_BLOCK, &child->held, &child->before);
	/* Who ignores SIGCHLD never learns how a child ended. */
	sigaction(SIGCHLD, &chld, &child->chld_before);
}

/* In the child: become the program, or say through the pipe why not. */
static _Noreturn void become(const struct pasta_child *child, char **argv,
			     const struct pasta_child_env *env, int pipe_fd)
{
	int error = 0;

	for (; env->name && !error; env++)
		if (env->value ? setenv(env->name, env->value, 1) : unsetenv(env->name))
			error = errno;
	if (!error) {
		sigaction(SIGCHLD, &child->chld_before, NULL);
		sigprocmask(SIG_SETMASK, &child->before, NULL);
		execvp(argv[0], argv);
		error = errno;
	}
	while (write(pipe_fd, &error, sizeof(error)) < 0 && errno == EINTR)
		;
	_exit(PASTA_CLI_NOT_FOUND);
}

/* Is there such a file, as execvp looks for it? */
static bool is_there(const char *name)
{
	const char *path = getenv("PATH"), *next;
	bool there = false;
	char *file;

	if (strchr(name, '/') || !path)
		return !access(name, F_OK);
	for (; path && !there; path = next) {
		const char *end = strchrnul(path, ':');

		next = *end ? end + 1 : NULL;
		if (asprintf(&file, "%.*s/%s", end > path ? (int)(end - path) : 1,
			     end > path ? path : ".", name) < 0)
			return true;
		there = !access(file, F_OK);
		free(file);
	}
	return there;
}

/* Why there is no program. */
static int not_started(const char *name, int error, struct pasta_err *err)
{
	/* A folder in PATH that we may not look into is not what the user wants to hear of. */
	if (error == EACCES && !is_there(name))
		error = ENOENT;
	if (error == ENOENT && strchr(name, '/') && !access(name, F_OK))
		pasta_fail(err, -error, "%s: its interpreter or loader is not there", name);
	else if (error == ENOENT)
		pasta_fail(err, -error, "%s: not found", name);
	else
		pasta_fail(err, -error, "cannot execute %s: %s", name, strerror(error));
	return error == ENOENT ? PASTA_CLI_NOT_FOUND : PASTA_CLI_NOT_EXECUTABLE;
}

int pasta_child_start(struct pasta_child *child, char **argv, const struct pasta_child_env *env,
		      struct pasta_err *err)
{
	int error = 0, fds[2];
	ssize_t n;

	if (pipe2(fds, O_CLOEXEC)) {
		pasta_fail(err, -errno, "cannot make a pipe: %s", strerror(errno));
		return PASTA_CLI_NOT_STARTED;
	}
	child->pid = fork();
	if (child->pid == 0)
		become(child, argv, env, fds[1]);
	if (child->pid < 0) {
		pasta_fail(err, -errno, "cannot fork: %s", strerror(errno));
		close(fds[0]);
		close(fds[1]);
		return PASTA_CLI_NOT_STARTED;
	}
	close(fds[1]);
	/* exec closes the other end; what comes before that is an error. */
	while ((n = read(fds[0], &error, sizeof(error))) < 0 && errno == EINTR)
		;
	close(fds[0]);
	if (n <= 0)
		return 0;
	while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
		;
	return not_started(argv[0], error, err);
}

static pid_t parent_of(pid_t pid)
{
	char path[40], text[512], *paren;
	FILE *file;
	int parent = 0;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	paren = strrchr(text, ')'); /* a program's name may have anything in it */
	if (!paren || sscanf(paren + 1, " %*c %d", &parent) != 1)
		return 0;
	return parent;
}

/* A signal that the program, or what it started, sent to its process group has reached it. */
static bool is_its_own(const struct pasta_child *child, pid_t sender)
{
	int depth;

	for (depth = 0; sender > 1 && depth < 64; depth++) {
		if (sender == child->pid)
			return true;
		sender = parent_of(sender);
	}
	return false;
}

static void forward(const struct pasta_child *child, const siginfo_t *info)
{
	bool sent =
		info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL;

	/* An alarm that was set before accelprof was started is meant for the program. */
	if (info->si_signo == SIGALRM && !sent)
		kill(child->pid, SIGALRM);
	if (!sent || info->si_pid == getpid() || is_its_own(child, info->si_pid))
		return;
	if (info->si_code == SI_QUEUE)
		sigqueue(child->pid, info->si_signo, info->si_value);
	else
		kill(child->pid, info->si_signo);
}

/* Is there a shell that can continue us? Without job control nobody would. */
static bool has_job_control(int sig)
{
	int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
	bool foreground;

	if (fd < 0)
		return false;
	foreground = tcgetpgrp(fd) == getpgrp();
	close(fd);
	/* SIGSTOP is not the terminal's: whoever sent it to the program alone, behind our back,
	 * will continue the program alone. */
	return sig != SIGSTOP || foreground;
}

/* The program has stopped: so do we, for the shell to see it, until we are continued. */
static void stop_too(const struct pasta_child *child, int sig)
{
	const struct timespec now = {0};
	sigset_t cont;

	if (!has_job_control(sig))
		return;
	raise(SIGSTOP);
	sigemptyset(&cont);
	sigaddset(&cont, SIGCONT);
	sigtimedwait(&cont, NULL, &now);
	kill(child->pid, SIGCONT);
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * SECOND + now.tv_nsec;
}

int pasta_child_wait(struct pasta_child *child, void (*every_second)(void *ctx), void *ctx)
{
	int64_t next = now_ns() + SECOND;

	for (;;) {
		int64_t start = now_ns(), left = next - start;
		struct timespec timeout = {left > 0 ? left / SECOND : 0,
					   left > 0 ? left % SECOND : 0};
		siginfo_t info;
		int status;
		pid_t pid = waitpid(child->pid, &status, WNOHANG | WUNTRACED);

		if (pid == child->pid && !WIFSTOPPED(status))
			return status;
		if (pid < 0 && errno == ECHILD) /* someone else took its status; none is known */
			return W_EXITCODE(PASTA_CLI_FAILED, 0);
		if (pid == child->pid)
			stop_too(child, WSTOPSIG(status));
		if (sigtimedwait(&child->held, &info, &timeout) > 0) {
			if (info.si_signo != SIGCHLD)
				forward(child, &info);
		} else if (left <= 0) {
			every_second(ctx);
			/* Never more than a tenth of our time. */
			next = now_ns() + SECOND + 9 * (now_ns() - start);
		}
	}
}

bool pasta_child_asked_to_end(const struct pasta_child *child)
{
	static const int ends[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
	const struct timespec now = {0};
	bool asked = false;
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigaddset(&set, ends[i]);
	while (sigtimedwait(&set, NULL, &now) > 0)
		asked = true;
	return asked;
}

void pasta_child_die(int sig)
{
	const struct rlimit none = {0, 0};
	sigset_t set;

	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0); /* a core_pattern with a pipe knows no limit */
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(sig);
	_exit(128 + sig);
}
