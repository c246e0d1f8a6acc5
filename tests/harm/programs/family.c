/*
 * family - processes that start processes in every way, and count their children.
 *
 *	family fork|vfork|spawn|clone|chain N|many N|daemon|orphan|plain|wall|sigchld|death|stop N|
 *		race N|leave HOW|crowd N|leaf
 */
#include "harm.h"

#include <linux/sched.h>
#include <sched.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

extern char **environ;
static char *self;

static void emit_all(void)
{
	for (unsigned int i = 0; i < HARM_CALLS; i++)
		harm_call(i);
}

static void leaf(int status)
{
	emit_all();
	exit(status);
}

static _Noreturn void execute(const char *mode, const char *number)
{
	execl(self, self, mode, number, (char *)NULL);
	_exit(93);
}

/* Emits before the fork, in the child, and in the child's child. */
static void forks(int unused)
{
	(void)unused;
	for (int i = 0; i < 4; i++) {
		pid_t pid;

		if (i)
			emit_all();
		pid = fork();
		if (!pid) {
			if (i & 1)
				emit_all();
			pid = fork();
			if (!pid)
				leaf(i + 10);
			harm_print("grandchild %d: %s", i, harm_ended(harm_wait(pid)));
			if (i & 2)
				_exit(i);
			exit(i);
		}
		harm_print("child %d: %s", i, harm_ended(harm_wait(pid)));
	}
}

__attribute__((noinline)) static pid_t vfork_leaf(void)
{
	pid_t pid = vfork();

	if (!pid)
		execute("leaf", "21");
	return pid;
}

static void vforks(int unused)
{
	(void)unused;
	for (int i = 0; i < 3; i++) {
		pid_t pid = vfork_leaf();

		emit_all();
		harm_print("child: %s", harm_ended(harm_wait(pid)));
	}
}

static void spawns(int unused)
{
	char *argv[] = {self, (char *)"leaf", (char *)"22", NULL};

	(void)unused;
	for (int i = 0; i < 3; i++) {
		pid_t pid;

		if (i)
			emit_all();
		if (posix_spawn(&pid, self, NULL, NULL, argv, environ))
			broken("posix_spawn");
		harm_print("child: %s", harm_ended(harm_wait(pid)));
	}
}

static int with_memory(void *arg)
{
	if (*(int *)arg)
		execute("leaf", "23");
	return 24;
}

static int without_memory(void *arg)
{
	emit_all();
	return *(int *)arg;
}

/* Processes that share the parent's memory, or that libc does not know of. */
static void clones(int unused)
{
	enum { STACK = 256 << 10 };
	char *stack = malloc(STACK);
	int executes, status = 25;
	pid_t pid;

	(void)unused;
	emit_all();
	for (executes = 0; executes < 2; executes++) {
		pid = clone(with_memory, stack + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD,
			    &executes);
		harm_print("shared memory: %s", harm_ended(harm_wait(pid)));
	}
	pid = clone(without_memory, stack + STACK, SIGCHLD, &status);
	harm_print("own memory: %s", harm_ended(harm_wait(pid)));
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (!pid)
		syscall(SYS_exit_group, 26);
	harm_print("by the system call: %s", harm_ended(harm_wait(pid)));
	emit_all();
}

/* One process that executes N programs. */
static void chain(int n)
{
	char number[16];

	EMIT(pasta_mark("link"));
	if (!n) {
		harm_print("the last link");
		return;
	}
	snprintf(number, sizeof(number), "%d", n - 1);
	execute("chain", number);
}

/* Many at once; every second one ends by _exit. */
static void many(int n)
{
	int normal = 0, others = 0;

	emit_all();
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			broken("fork");
		if (!pid) {
			for (int k = 0; k < 10; k++)
				emit_all();
			if (i % 2)
				_exit(0);
			exit(0);
		}
		harm_call((unsigned int)i);
	}
	for (int i = 0, status; i < n; i++) {
		pid_t pid = waitpid(-1, &status, __WALL);

		normal += pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
		others += pid <= 0;
	}
	harm_print("%d children, %d ended well, %d not found", n, normal, others);
}

static void daemons(int unused)
{
	int fd;

	(void)unused;
	emit_all();
	harm_print("before");
	if (daemon(1, 0)) /* closes the terminal, stdin, stdout and stderr; the directory stays */
		broken("daemon");
	emit_all();
	fd = open("daemon", O_WRONLY | O_CREAT | O_EXCL, 0644);
	dprintf(fd, "descriptor %d\n", fd);
	harm_nap(300);
	emit_all();
	close(fd);
	exit(0);
}

/* The grandchild is not a child of this process when it ends. */
static void orphan(int unused)
{
	pid_t pid;

	(void)unused;
	emit_all();
	pid = fork();
	if (!pid) {
		pid = fork();
		if (pid)
			_exit(pid < 0);
		harm_nap(200);
		emit_all();
		close(open("orphan", O_WRONLY | O_CREAT | O_EXCL, 0644));
		exit(9);
	}
	harm_print("child: %s", harm_ended(harm_wait(pid)));
	errno = 0;
	harm_print("others: %d %s", (int)waitpid(-1, NULL, __WALL), strerror(errno));
}

static void *run_brief(void *arg)
{
	harm_call(1);
	return arg;
}

/* A child whose threads constantly make first calls is stopped: its parent is notified. */
static void stop(int n)
{
	int stopped = 0, status;
	pid_t pid = fork();

	if (pid < 0)
		broken("fork");
	while (!pid) {
		pthread_t thread[4];

		for (int i = 0; i < 4; i++)
			if (pthread_create(&thread[i], NULL, run_brief, NULL))
				broken("pthread_create");
		for (int i = 0; i < 4; i++)
			pthread_join(thread[i], NULL);
	}
	harm_nap(20);
	for (int i = 0; i < n && stopped == i; i++) {
		uint64_t until = harm_ns() + UINT64_C(5000000000);

		kill(pid, SIGSTOP);
		while (harm_ns() < until && !waitpid(pid, &status, WUNTRACED | WNOHANG))
			harm_nap(1);
		stopped += harm_ns() < until && WIFSTOPPED(status);
		kill(pid, SIGCONT);
		harm_spin(harm_random() % 1000000);
	}
	kill(pid, SIGKILL);
	harm_print("stopped %d times, %s", stopped, harm_ended(harm_wait(pid)));
}

/* A program that does not use annotate.h. */
static void plain(int unused)
{
	pid_t pid;

	(void)unused;
	emit_all();
	pid = fork();
	if (!pid) {
		emit_all();
		execl("/bin/sh", "sh", "-c", "echo from the shell; exit 27", (char *)NULL);
		_exit(93);
	}
	harm_print("child: %s", harm_ended(harm_wait(pid)));
	emit_all();
	execl("/bin/sh", "sh", "-c", "echo instead of the program; exit 28", (char *)NULL);
}

/* A program that waits for all children finds exactly those that it started. */
static void wall(int unused)
{
	static const int flags[] = {__WALL, __WCLONE, 0, __WNOTHREAD};

	(void)unused;
	emit_all();
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		int status = 0;
		pid_t pid = waitpid(-1, &status, flags[i] | WNOHANG);

		harm_print("without children: %s %s", pid < 0 ? "none" : "some", strerror(errno));
	}
	for (int i = 0; i < 5; i++)
		if (!fork()) {
			emit_all();
			_exit(0);
		}
	for (int i = 0; i < 6; i++) {
		int status = 0;
		pid_t pid = waitpid(-1, &status, __WALL);

		harm_print("child: %s", pid < 0 ? strerror(errno) : harm_ended(status));
	}
}

static _Atomic int deaths;

static void on_child(int sig)
{
	(void)sig;
	atomic_fetch_add(&deaths, 1);
	harm_call(1);
}

static void sigchld(int unused)
{
	(void)unused;
	harm_handle(SIGCHLD, on_child, SA_RESTART);
	for (int i = 0; i < 30; i++) {
		pid_t pid = fork();

		if (!pid)
			leaf(0);
		emit_all();
		harm_wait(pid);
		while (atomic_load(&deaths) <= i)
			; /* signals must not coincide: SIGCHLD does not queue */
	}
	harm_print("SIGCHLD: %d", atomic_load(&deaths));
}

/* Waits for the signal that it requested, and prints it. */
static _Noreturn void await_death(int to)
{
	sigset_t set;
	int sig = 0;

	prctl(PR_SET_PDEATHSIG, SIGUSR1);
	harm_block(SIG_BLOCK, SIGUSR1);
	emit_all();
	if (write(to, "", 1) != 1)
		_exit(1);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigwait(&set, &sig);
	_exit(write(to, sig == SIGUSR1 ? "y" : "n", 1) != 1);
}

/* A child requests a signal at its parent's death: it arrives then, and not before. */
static void death(int unused)
{
	int fds[2];
	pid_t child;
	char c = 0;

	(void)unused;
	emit_all();
	if (pipe(fds))
		broken("pipe");
	child = fork();
	if (!child) {
		if (!fork())
			await_death(fds[1]);
		emit_all();
		_exit(read(fds[0], &c, 1) != 1);
	}
	harm_print("child: %s", harm_ended(harm_wait(child)));
	if (read(fds[0], &c, 1) != 1)
		broken("read");
	harm_print("its child was signalled: %c", c);
}

static _Atomic int finished;

static void *run_once(void *arg)
{
	emit_all();
	return arg;
}

/* Threads that make their first call, one after the other. */
static void *run_firsts(void *arg)
{
	while (!atomic_load(&finished)) {
		pthread_t thread;

		/* While the process exits or executes, no thread can start. */
		if (!pthread_create(&thread, NULL, run_once, NULL))
			pthread_join(thread, NULL);
	}
	return arg;
}

/* Forks while other threads are anywhere in their first calls. */
static void race(int n)
{
	pthread_t threads[3];
	int right = 0;

	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, run_firsts, NULL))
			broken("pthread_create");
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			emit_all();
			if (i % 2)
				_exit(0);
			exit(0);
		}
		status = harm_wait(pid);
		right += WIFEXITED(status) && !WEXITSTATUS(status);
	}
	atomic_store(&finished, 1);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	harm_print("%d of %d children", right, n);
}

static void *run_on(void *arg)
{
	for (unsigned int i = 0;; i++) {
		harm_call(i);
		harm_spin(1000);
	}
	return arg;
}

/* Other threads emit while the process ends, in the way that the number selects. */
static void leave(int how)
{
	pthread_t thread;

	for (int i = 0; i < 4; i++)
		if (pthread_create(&thread, NULL, i % 2 ? run_on : run_firsts, NULL))
			broken("pthread_create");
	harm_nap(20);
	harm_print("leaves");
	if (how == 1)
		_exit(1);
	if (how == 2)
		quick_exit(2);
	if (how == 3)
		abort();
	if (how == 4)
		raise(SIGKILL);
	if (how == 5)
		execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
	exit(how);
}

static pthread_barrier_t all_here;

static void *run_crowd(void *arg)
{
	pthread_barrier_wait(&all_here);
	for (int i = 0; i < 5; i++)
		emit_all();
	pthread_barrier_wait(&all_here);
	return arg;
}

/* More threads at once than there is room for rings. */
static void crowd(int n)
{
	pthread_t *threads = calloc((size_t)n, sizeof(*threads));
	int joined = 0;

	pthread_barrier_init(&all_here, NULL, (unsigned int)n);
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, run_crowd, NULL))
			broken("pthread_create");
	for (int i = 0; i < n; i++)
		joined += !pthread_join(threads[i], NULL);
	harm_print("%d threads", joined);
	free(threads);
}

int main(int argc, char **argv)
{
	static const struct harm_modes modes[] = {
		{"fork", forks},  {"vfork", vforks}, {"spawn", spawns},	   {"clone", clones},
		{"chain", chain}, {"many", many},    {"daemon", daemons},  {"orphan", orphan},
		{"plain", plain}, {"wall", wall},    {"sigchld", sigchld}, {"leaf", leaf},
		{"stop", stop},	  {"death", death},  {"race", race},	   {"leave", leave},
		{"crowd", crowd}, {NULL, NULL},
	};

	self = realpath("/proc/self/exe", NULL);
	return harm_main(argc, argv, modes);
}
