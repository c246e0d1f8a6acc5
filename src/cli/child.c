/* child.c - starts the program, forwards signals to it and waits until it ends. */
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
#include "process/io/files.h"

#define SECOND INT64_C(1000000000)

void pasta_child_hold(struct pasta_child *child)
{
	/* The signals of faults are not blocked: a fault in accelprof itself must end accelprof. */
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
	struct sigaction chld = {.sa_handler = SIG_DFL};
	size_t i;

	sigfillset(&child->held);
	for (i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		sigdelset(&child->held, faults[i]);
	sigprocmask(SIG_BLOCK, &child->held, &child->before);
	/* If SIGCHLD were ignored, waitpid would return no status. */
	sigaction(SIGCHLD, &chld, &child->chld_before);
}

/* The message that the child writes into the pipe before it executes the program. Any other message
 * is an errno. */
enum { MESSAGE_UNRECORDED = -1 };

static void child_report(int pipe_fd, int message)
{
	while (write(pipe_fd, &message, sizeof(message)) < 0 && errno == EINTR)
		;
}

/* Returns a copy of environ; NULL when out of memory. Later calls of setenv do not change the
 * copy. */
static char **child_environment(void)
{
	size_t count = 0;
	char **copy;

	while (environ && environ[count])
		count++;
	copy = calloc(count + 1, sizeof(*copy));
	if (copy && count)
		memcpy(copy, environ, count * sizeof(*copy));
	return copy;
}

static int child_exec(char **argv, const struct pasta_child_env *env)
{
	for (; env->name; env++)
		if (env->value ? setenv(env->name, env->value, 1) : unsetenv(env->name))
			return errno;
	execvp(argv[0], argv);
	return errno;
}

/* In the child process: execute the program. If that fails, send the error through the pipe. */
static _Noreturn void child_become(const struct pasta_child *child, char **argv,
				   const struct pasta_child_env *env, int pipe_fd)
{
	char **native = child_environment();
	int error;

	sigaction(SIGCHLD, &child->chld_before, NULL);
	sigprocmask(SIG_SETMASK, &child->before, NULL);
	error = child_exec(argv, env);
	/* The environment was larger than the kernel's limit. Try again without AccelProf's
	 * variables. */
	if (native && (error == E2BIG || error == ENOMEM)) {
		environ = native;
		child_report(pipe_fd, MESSAGE_UNRECORDED);
		execvp(argv[0], argv);
		error = errno;
	}
	child_report(pipe_fd, error);
	_exit(PASTA_CLI_NOT_FOUND);
}

/* Returns whether the program exists. Searches PATH in the same way as execvp. */
static bool child_in_path(const char *name)
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

/* Describe in *err why the program could not be executed. Returns the exit status. */
static int child_not_started(const char *name, int error, struct pasta_error *err)
{
	/* If PATH contains an unreadable folder, execvp also fails with EACCES when the program
	 * does not exist. */
	if (error == EACCES && !child_in_path(name))
		error = ENOENT;
	if (error == ENOENT && strchr(name, '/') && !access(name, F_OK))
		pasta_fail(err, -error,
			   "%s cannot be executed, because its interpreter or "
			   "dynamic loader does not exist",
			   name);
	else if (error == ENOENT)
		pasta_fail(err, -error, "%s: not found", name);
	else
		pasta_fail(err, -error, "cannot execute %s: %s", name, strerror(error));
	return error == ENOENT ? PASTA_CLI_NOT_FOUND : PASTA_CLI_NOT_EXECUTABLE;
}

/* Read the messages of the child until the pipe is closed by exec. Returns 0, or an errno. */
static int child_messages(struct pasta_child *child, int pipe_fd)
{
	int message, error = 0;
	ssize_t n;

	while ((n = read(pipe_fd, &message, sizeof(message))) > 0 || (n < 0 && errno == EINTR)) {
		if (n == (ssize_t)sizeof(message) && message == MESSAGE_UNRECORDED)
			child->unrecorded = true;
		else if (n == (ssize_t)sizeof(message))
			error = message;
	}
	return error;
}

int pasta_child_start(struct pasta_child *child, char **args, char **argv,
		      const struct pasta_child_env *env, struct pasta_error *err)
{
	int error, fds[2];

	if (pipe2(fds, O_CLOEXEC)) {
		pasta_fail(err, -errno, "cannot create a pipe: %s", strerror(errno));
		return PASTA_CLI_NOT_STARTED;
	}
	child->pid = fork();
	if (child->pid == 0)
		child_become(child, argv, env, fds[1]);
	if (child->pid < 0) {
		pasta_fail(err, -errno, "cannot fork: %s", strerror(errno));
		close(fds[0]);
		close(fds[1]);
		return PASTA_CLI_NOT_STARTED;
	}
	close(fds[1]);
	/* The witness process starts after the program, so every signal that the witness process
	 * receives through the process group has also reached the program. */
	child->relay.program = child->pid;
	pasta_witness_start(&child->relay.witness, args);
	error = child_messages(child, fds[0]);
	close(fds[0]);
	if (!error)
		return 0;
	pasta_witness_end(&child->relay.witness);
	while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
		;
	return child_not_started(argv[0], error, err);
}

/* Returns whether a shell with job control can continue accelprof after it has stopped. */
static bool child_has_job_control(int sig)
{
	int fd = pasta_files_open_system("/dev/tty", O_RDONLY);
	bool foreground;

	if (fd < 0)
		return false;
	foreground = tcgetpgrp(fd) == getpgrp();
	close(fd);
	/* A terminal never sends SIGSTOP. If SIGSTOP has stopped the program, another process sent
	 * the signal to the program alone, and will also continue only the program. */
	return sig != SIGSTOP || foreground;
}

/* Stop accelprof when the program has stopped, so that the shell notices. The SIGCONT that
 * continues accelprof is handled like any other signal: accelprof forwards it if it was sent to
 * accelprof alone. */
static void child_stop_too(int sig)
{
	if (child_has_job_control(sig))
		raise(SIGSTOP);
}

static int64_t child_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * SECOND + now.tv_nsec;
}

/* Wait for a signal until the given time. Returns false if no signal arrived. */
static bool child_signal(const struct pasta_child *child, int64_t until, siginfo_t *info)
{
	int64_t left = until - child_now();
	struct timespec timeout = {left > 0 ? left / SECOND : 0, left > 0 ? left % SECOND : 0};

	return sigtimedwait(&child->held, info, &timeout) > 0;
}

/* Forward signals until the program ends. Returns waitpid's status. */
static int child_follow(struct pasta_child *child, void (*every_second)(void *ctx), void *ctx)
{
	int64_t next = child_now() + SECOND, start, due;
	siginfo_t info;

	for (;;) {
		int status;
		pid_t pid = waitpid(child->pid, &status, WNOHANG | WUNTRACED);

		if (pid == child->pid && !WIFSTOPPED(status))
			return status;
		/* another call of waitpid has already read the status */
		if (pid < 0 && errno == ECHILD)
			return W_EXITCODE(PASTA_CLI_FAILED, 0);
		if (pid == child->pid)
			child_stop_too(WSTOPSIG(status));
		due = pasta_relay_due(&child->relay);
		if (child_signal(child, due < next ? due : next, &info)) {
			if (info.si_signo != SIGCHLD)
				pasta_relay_signal(&child->relay, &info, child_now());
			continue;
		}
		start = child_now();
		pasta_relay_forward(&child->relay, start);
		if (start >= next) {
			every_second(ctx);
			/* The callback every_second may use at most a tenth of the time. */
			next = child_now() + SECOND + 9 * (child_now() - start);
		}
	}
}

int pasta_child_wait(struct pasta_child *child, void (*every_second)(void *ctx), void *ctx)
{
	int status = child_follow(child, every_second, ctx);

	pasta_witness_end(&child->relay.witness);
	return status;
}

bool pasta_child_got_end_signal(const struct pasta_child *child)
{
	static const int ends[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
	const struct timespec now = {0};
	bool ended = false;
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigaddset(&set, ends[i]);
	while (sigtimedwait(&set, NULL, &now) > 0)
		ended = true;
	return ended;
}

void pasta_child_die(int sig)
{
	const struct rlimit none = {0, 0};
	sigset_t set;

	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0); /* a core_pattern with a pipe ignores RLIMIT_CORE */
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(sig);
	_exit(128 + sig);
}
