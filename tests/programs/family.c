/*
 * family - processes that start processes, some with events and some without.
 *
 *	family fork|forkexec|vfork|spawn|exec|daemon|children N|threads N|leaf|quiet
 */
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <pasta/annotate.h>

extern char **environ;
static char *self;

static int wait_for(pid_t pid)
{
	int status = -1;

	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
									       : 1;
}

static void event(const char *name)
{
	pasta_region_begin(name);
	pasta_region_end();
}

/* A child with events, a child without, and a grandchild. */
static int with_fork(void)
{
	pid_t pid;
	int bad;

	event("parent");
	pasta_region_begin("around the fork");
	pid = fork();
	if (!pid) {
		pasta_region_end(); /* the parent's: not recorded here */
		event("child");
		pid = fork();
		if (!pid) {
			event("grandchild");
			exit(0);
		}
		exit(wait_for(pid));
	}
	pasta_region_end();
	bad = wait_for(pid);
	pid = fork();
	if (!pid)
		exit(0);
	bad |= wait_for(pid);
	pid = fork();
	if (!pid)
		_exit(0);
	return bad | wait_for(pid);
}

static int with_exec(pid_t (*start)(void), const char *mode)
{
	pid_t pid;

	event("parent");
	pid = start();
	if (!pid) {
		execl(self, self, mode, (char *)NULL);
		_exit(9);
	}
	return wait_for(pid);
}

static int with_spawn(void)
{
	char *argv[] = {self, (char *)"leaf", NULL};
	pid_t pid;

	event("parent");
	return posix_spawn(&pid, self, NULL, NULL, argv, environ) ? 1 : wait_for(pid);
}

/* The same process, another program: the first one's events must not be dropped. */
static int with_exec_alone(void)
{
	for (int i = 0; i < 1000; i++)
		event("before exec");
	execl(self, self, "leaf", (char *)NULL);
	return 9;
}

static int with_daemon(void)
{
	pid_t pid = fork();

	if (pid)
		return pid < 0;
	if (setsid() < 0 || fork())
		_exit(0);
	for (int fd = 0; fd < 1024; fd++)
		close(fd);
	if (chdir("/"))
		_exit(1);
	umask(0);
	for (int i = 0; i < 20; i++) {
		event("daemon");
		usleep(100000);
	}
	exit(0);
}

static int with_children(int n)
{
	int bad = 0;

	event("parent");
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (!pid) {
			if (i % 2)
				event("child");
			if (i % 4 < 2)
				exit(0);
			_exit(0);
		}
		bad |= wait_for(pid);
	}
	return bad;
}

static void *thread(void *arg)
{
	event("thread");
	return arg;
}

static int with_threads(int n)
{
	for (int i = 0; i < n; i++) {
		pthread_t t;

		if (pthread_create(&t, NULL, thread, NULL))
			return 1;
		pthread_join(t, NULL);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 0;

	self = argv[0];
	if (!strcmp(mode, "fork"))
		return with_fork();
	if (!strcmp(mode, "forkexec"))
		return with_exec(fork, "leaf");
	if (!strcmp(mode, "vfork"))
		return with_exec(vfork, "leaf");
	if (!strcmp(mode, "forkquiet"))
		return with_exec(fork, "quiet");
	if (!strcmp(mode, "spawn"))
		return with_spawn();
	if (!strcmp(mode, "exec"))
		return with_exec_alone();
	if (!strcmp(mode, "daemon"))
		return with_daemon();
	if (!strcmp(mode, "children"))
		return with_children(n);
	if (!strcmp(mode, "threads"))
		return with_threads(n);
	if (!strcmp(mode, "leaf"))
		event("leaf");
	return strcmp(mode, "leaf") && strcmp(mode, "quiet");
}
