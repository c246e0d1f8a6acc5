/*
 * killat - runs a program and kills it at its Nth system call, entries and returns counted alike.
 *
 *	killat N PROGRAM ARGS...
 *
 * All threads of the process are counted, its children are not. The kill is the program's end as
 * others see it: killat dies of the same signal. A program that ends before has its own status, or
 * its own signal. With N 0 nothing is killed, and the number of stops goes to file descriptor 3.
 * 77: the system does not permit ptrace.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL };

static int end_like(int status)
{
	const struct rlimit none = {0, 0};

	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &none);
	signal(WTERMSIG(status), SIG_DFL);
	kill(getpid(), WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

/* The signal to go on with: a stop of ours is none. */
static int signal_of(int status)
{
	int sig = WSTOPSIG(status);

	return sig == (SIGTRAP | 0x80) || sig == SIGTRAP || sig == SIGSTOP ? 0 : sig;
}

static int follow(pid_t child, unsigned long wanted)
{
	unsigned long stops = 0;
	int status;
	pid_t pid;

	ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(long)OPTIONS);
	ptrace(PTRACE_SYSCALL, child, NULL, NULL);
	while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		if (pid == child && !WIFSTOPPED(status))
			break;
		if (pid < 0 || !WIFSTOPPED(status))
			continue;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80) && ++stops == wanted)
			kill(child, SIGKILL);
		ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(long)signal_of(status));
	}
	if (!wanted)
		dprintf(3, "%lu\n", stops);
	return end_like(status);
}

int main(int argc, char **argv)
{
	pid_t child;
	int status;

	if (argc < 3) {
		fprintf(stderr, "killat N PROGRAM ARGS...\n");
		return 2;
	}
	child = fork();
	if (!child) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(77);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 2;
	if (!WIFSTOPPED(status))
		return end_like(status);
	return follow(child, strtoul(argv[1], NULL, 10));
}
