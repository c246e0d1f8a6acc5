/*
 * limits - a program with resource limits.
 *
 *	limits memory MB|fsize KB|fsize-default KB|nproc|stack KB|memlock MB|disk THOUSANDS
 *
 * The program sets the limits itself, before its first call or after some.
 */
#include "harm.h"

#include <sys/resource.h>
#include <sys/stat.h>

static _Atomic int signals;
static char *self;

static void emit_all(void)
{
	for (unsigned int i = 0; i < 50 * HARM_CALLS; i++)
		harm_call(i);
}

static void *run(void *arg)
{
	emit_all();
	return arg;
}

/* Returns 0, or why the thread could not start. */
static int with_threads(int n)
{
	pthread_t thread[64];
	int error = 0, started = 0;

	for (; started < n && !error; started += !error)
		error = pthread_create(&thread[started], NULL, run, NULL);
	for (int i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	return error;
}

static void set(int resource, rlim_t value)
{
	const struct rlimit limit = {value, value};

	if (setrlimit(resource, &limit))
		broken("setrlimit");
}

static rlim_t address_space(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	if (!file || fscanf(file, "%lu", &pages) != 1)
		broken("statm");
	fclose(file);
	return (rlim_t)pages * 4096;
}

/* Room for the program and a few pages, but not for rings of megabytes. */
static void memory(int megabytes)
{
	char *p;

	set(RLIMIT_AS, address_space() + ((rlim_t)megabytes << 20) + (64 << 10));
	emit_all();
	p = malloc(1 << 20);
	harm_print("a megabyte: %s", p ? "there" : strerror(errno));
	harm_print("too much: %s", malloc((size_t)1 << 40) ? "there" : strerror(errno));
	emit_all();
	free(p);
}

static void on_signal(int sig)
{
	(void)sig;
	atomic_fetch_add(&signals, 1);
	harm_call(1);
}

/* What the program writes beyond the limit raises a signal each time; what the agent writes raises
 * none. */
static void write_too_much(const char *when)
{
	char block[4096];
	ssize_t n = 1;
	int fd = open("own", O_WRONLY | O_CREAT | O_TRUNC, 0644), whole = 0;

	memset(block, 'x', sizeof(block));
	while (n > 0) {
		n = write(fd, block, sizeof(block));
		whole += n == sizeof(block);
	}
	harm_print("%s: %d blocks, then %s; signals %d", when, whole, strerror(errno),
		   atomic_load(&signals));
	close(fd);
}

static void fsize(int kilobytes)
{
	harm_handle(SIGXFSZ, on_signal, SA_RESTART);
	if (kilobytes < 0) {
		emit_all();
		kilobytes = -kilobytes;
	}
	set(RLIMIT_FSIZE, (rlim_t)kilobytes << 10);
	emit_all();
	harm_print("signals %d", atomic_load(&signals));
	write_too_much("first");
	with_threads(8);
	write_too_much("after threads");
	harm_nap(250);
	harm_print("signals %d", atomic_load(&signals));
}

/* The signal's default action kills; only the program's writes may cause it. */
static void fsize_default(int kilobytes)
{
	set(RLIMIT_FSIZE, (rlim_t)kilobytes << 10);
	emit_all();
	with_threads(8);
	harm_nap(250);
	harm_print("alive");
	write_too_much("never");
}

/* No more threads or processes. Root is exempt: run this as another user. */
static void nproc(int unused)
{
	pid_t pid;

	(void)unused;
	set(RLIMIT_NPROC, 1);
	emit_all();
	pid = fork();
	if (!pid)
		_exit(0);
	harm_print("fork: %s", pid < 0 ? strerror(errno) : "works");
	harm_print("thread: %s", strerror(with_threads(1)));
	emit_all();
}

static void stack_again(int unused)
{
	(void)unused;
	emit_all();
	harm_print("threads: %s", strerror(with_threads(4)));
}

/* Small stacks for all threads of the program that is executed. */
static void stack(int kilobytes)
{
	set(RLIMIT_STACK, (rlim_t)kilobytes << 10);
	execl(self, self, "stack-again", (char *)NULL);
	broken("exec");
}

/* Locks all memory, present and future. */
static void memlock(int megabytes)
{
	if (megabytes)
		set(RLIMIT_MEMLOCK, (rlim_t)megabytes << 20);
	harm_print("mlockall: %s", mlockall(MCL_CURRENT | MCL_FUTURE) ? strerror(errno) : "locked");
	emit_all();
	harm_print("threads: %s", strerror(with_threads(2)));
	harm_print("munlockall: %s", munlockall() ? strerror(errno) : "done");
	emit_all();
}

/* Many events, for a disk without room for them. */
static void disk(int thousands)
{
	for (int i = 0; i < thousands; i++) {
		for (unsigned int k = 0; k < 1000; k++)
			harm_call(k % 4);
		if (i % 50 == 0)
			harm_nap(1); /* let the writer reach the end of the disk */
	}
	harm_print("threads: %s", strerror(with_threads(16)));
	emit_all();
}

int main(int argc, char **argv)
{
	static const struct harm_modes modes[] = {
		{"memory", memory},
		{"fsize", fsize},
		{"fsize-default", fsize_default},
		{"nproc", nproc},
		{"stack-again", stack_again},
		{"stack", stack},
		{"memlock", memlock},
		{"disk", disk},
		{NULL, NULL},
	};

	self = realpath("/proc/self/exe", NULL);
	return harm_main(argc, argv, modes);
}
