/*
 * harm.h - what the programs of tests/harm share.
 *
 * Each program prints a trace of what it observed. The trace is the same on every native run, so
 * that the run under accelprof can be compared with it byte for byte. The program
 * counts what it emits in the file that HARM_TALLY names: a shared mapping, which survives every
 * kind of end, and which forked and executed processes share. The trace must not contain that
 * count: how often a timer's handler emits differs from run to run.
 */
#ifndef HARM_H
#define HARM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <pasta/annotate.h>

/* A call that is interrupted for good (a jump, a cancellation) has begun and has not ended: its
 * event may be recorded or not. The report must account for all others. */
struct harm_tally {
	_Atomic uint64_t begun, ended;
};

static struct harm_tally harm_nowhere;
static struct harm_tally *harm_tally = &harm_nowhere;

/* The first constructor: the program's own constructors may emit. */
__attribute__((constructor(101))) static void harm_begin(void)
{
	const char *path = getenv("HARM_TALLY");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *p = MAP_FAILED;

	if (fd >= 0) {
		p = mmap(NULL, sizeof(*harm_tally), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
	}
	if (p != MAP_FAILED)
		harm_tally = p;
}

/* The call emits n events. */
#define EMITS(n, call)                                                                             \
	do {                                                                                       \
		atomic_fetch_add(&harm_tally->begun, (n));                                         \
		call;                                                                              \
		atomic_fetch_add(&harm_tally->ended, (n));                                         \
	} while (0)
#define EMIT(call) EMITS(1, call)

/* Prints a line of the trace in one write: signal handlers and forked children print too. */
__attribute__((format(printf, 1, 2), unused)) static void harm_print(const char *format, ...)
{
	char line[1024];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	if (n < 0 || n > (int)sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	line[n++] = '\n';
	if (write(STDOUT_FILENO, line, (size_t)n) != n)
		_exit(90);
}

/* The program itself cannot continue. */
__attribute__((format(printf, 1, 2), noreturn, unused)) static void broken(const char *format, ...)
{
	int error = errno;
	va_list args;

	va_start(args, format);
	vdprintf(STDERR_FILENO, format, args);
	va_end(args);
	dprintf(STDERR_FILENO, ": %s\n", strerror(error));
	_exit(91);
}

/* Calls every function of annotate.h, by number; each emits one event, except for start and stop.
 */
enum { HARM_CALLS = 6 };

__attribute__((unused)) static const char *harm_call(unsigned int number)
{
	switch (number % HARM_CALLS) {
	case 0:
		EMITS(2, (pasta_region_begin("harm"), pasta_region_end()));
		return "region";
	case 1:
		EMIT(pasta_mark("harm"));
		return "mark";
	case 2:
		EMIT(pasta_iteration(number));
		return "iteration";
	case 3:
		EMIT(pasta_counter("harm", number));
		return "counter";
	case 4:
		EMIT(pasta_thread_name("harm"));
		return "thread_name";
	default:
		pasta_start();
		return "start";
	}
}

__attribute__((unused)) static uint64_t harm_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

__attribute__((unused)) static void harm_nap(long ms)
{
	struct timespec left = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

__attribute__((unused)) static void harm_spin(uint64_t ns)
{
	uint64_t until = harm_ns() + ns;

	while (harm_ns() < until)
		;
}

/* A different sequence in each repetition: HARM_SEED is its number. */
__attribute__((unused)) static uint32_t harm_random(void)
{
	static _Atomic uint64_t state;
	uint64_t x = atomic_load(&state);

	if (!x) {
		const char *seed = getenv("HARM_SEED");

		x = UINT64_C(0x9e3779b97f4a7c15) * (1 + (seed ? strtoull(seed, NULL, 10) : 0));
	}
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	atomic_store(&state, x);
	return (uint32_t)(x >> 32);
}

/* SIGALRM at 10 kHz, for the whole process; hz 0 stops it. */
__attribute__((unused)) static void harm_timer(int hz)
{
	struct timeval every = {0, hz ? 1000000 / hz : 0};
	struct itimerval timer = {every, every};

	if (setitimer(ITIMER_REAL, &timer, NULL))
		broken("setitimer");
}

__attribute__((unused)) static void harm_handle(int sig, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	if (sigaction(sig, &action, NULL))
		broken("sigaction");
}

__attribute__((unused)) static void harm_block(int how, int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	pthread_sigmask(how, &set, NULL);
}

/* Returns how a child ended: "exit 3", "signal 9". */
__attribute__((unused)) static const char *harm_ended(int status)
{
	static _Thread_local char text[32];

	if (WIFEXITED(status))
		snprintf(text, sizeof(text), "exit %d", WEXITSTATUS(status));
	else
		snprintf(text, sizeof(text), "signal %d", WTERMSIG(status));
	return text;
}

__attribute__((unused)) static int harm_wait(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			broken("waitpid");
	return status;
}

/* Prints the open descriptors by number, without what differs between runs: inode numbers and
 * folders. */
__attribute__((unused)) static void harm_descriptors(const char *when)
{
	for (int fd = 0; fd < 4096; fd++) {
		char link[64], to[1024], *name;
		ssize_t n;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, to, sizeof(to) - 1);
		if (n < 0)
			continue;
		to[n] = '\0';
		name = strrchr(to, '/') ? strrchr(to, '/') + 1 : to;
		name[strcspn(name, "[")] = '\0';
		harm_print("%s: %d %s%s", when, fd, name,
			   fcntl(fd, F_GETFD) & FD_CLOEXEC ? " cloexec" : "");
	}
}

typedef void (*harm_mode)(int argument);
struct harm_modes {
	const char *name;
	harm_mode run;
};

/* PROGRAM MODE [NUMBER] */
__attribute__((unused)) static int harm_main(int argc, char **argv, const struct harm_modes *modes)
{
	for (; argc > 1 && modes->name; modes++)
		if (!strcmp(argv[1], modes->name)) {
			modes->run(argc > 2 ? atoi(argv[2]) : 0);
			harm_print("done");
			return 0;
		}
	fprintf(stderr, "%s: no such mode\n", argc > 1 ? argv[1] : "(none)");
	return 2;
}

#endif
