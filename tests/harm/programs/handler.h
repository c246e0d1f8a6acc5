/*
 * handler.h - the test cases that programs for all vendors' interfaces share.
 *
 *	PROGRAM pending|random N|signals|fork|descriptors
 *
 * The program that includes this file defines:
 *	prepare		initializes the interface, on the main thread
 *	unit		does one piece of work, on any thread, without a cancellation point
 *	settle		waits for all work, on the main thread; returns what went wrong, or NULL
 */
#ifndef HARM_HANDLER_H
#define HARM_HANDLER_H

#include "harm.h"

static void prepare(void);
static void unit(void);
static const char *settle(void);

enum { UNITS = 50, HZ = 10000, TICKS = 200, LAST = 1023 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int ticks, finished, cleanups;
static char *self;

static void units(int n)
{
	for (int i = 0; i < n; i++)
		unit();
}

static void settled(const char *when)
{
	const char *wrong = settle();

	harm_print("%s: %s", when, wrong ? wrong : "right");
}

static void *run_pending(void *done)
{
	pthread_cancel(pthread_self());
	for (int i = 0; i < UNITS; i++) {
		unit();
		atomic_fetch_add((_Atomic int *)done, 1);
	}
	pthread_testcancel();
	return NULL;
}

/* A cancelled thread continues to its own first cancellation point. */
static void pending(int unused)
{
	(void)unused;
	for (int i = 0; i < 4; i++) {
		_Atomic int done = 0;
		pthread_t thread;
		void *result;

		if (pthread_create(&thread, NULL, run_pending, &done))
			broken("pthread_create");
		pthread_join(thread, &result);
		harm_print("%d units, %s", done,
			   result == PTHREAD_CANCELED ? "cancelled" : "returned");
		units(2);
	}
	settled("pending");
}

static void cleanup(void *arg)
{
	(void)arg;
	units(2);
	atomic_fetch_add(&cleanups, 1);
	pthread_mutex_unlock(&lock);
}

static void *run_random(void *arg)
{
	pthread_mutex_lock(&lock);
	pthread_cleanup_push(cleanup, NULL);
	for (int i = 0;; i++) {
		if (i < 2000)
			unit();
		pthread_testcancel();
	}
	pthread_cleanup_pop(1);
	return arg;
}

static void random_moments(int n)
{
	int cancelled = 0;

	for (int i = 0; i < n; i++) {
		pthread_t thread;
		void *result;

		if (pthread_create(&thread, NULL, run_random, NULL))
			broken("pthread_create");
		harm_spin(harm_random() % 300000);
		pthread_cancel(thread);
		pthread_join(thread, &result);
		cancelled += result == PTHREAD_CANCELED;
		pthread_mutex_lock(&lock);
		units(1);
		pthread_mutex_unlock(&lock);
	}
	harm_print("%d cancelled, %d cleanups", cancelled, atomic_load(&cleanups));
	settled("random");
}

/* The signal handler calls only annotate.h. */
static void on_tick(int sig)
{
	int saved = errno;

	(void)sig;
	harm_call((unsigned int)atomic_fetch_add(&ticks, 1));
	errno = saved;
}

static void *run_ticking(void *arg)
{
	while (atomic_load(&ticks) < TICKS) {
		unit();
		harm_spin(20000);
	}
	return arg;
}

static void signals(int unused)
{
	pthread_t thread;

	(void)unused;
	harm_handle(SIGALRM, on_tick, SA_RESTART);
	harm_timer(HZ);
	if (pthread_create(&thread, NULL, run_ticking, NULL))
		broken("pthread_create");
	run_ticking(NULL);
	pthread_join(thread, NULL);
	harm_timer(0);
	settled("signals");
}

/* The vendor's library may do anything in a child; the child must survive. */
static void forks(int unused)
{
	(void)unused;
	for (int i = 0; i < 6; i++) {
		pid_t pid;

		units(2);
		pid = fork();
		if (!pid && i % 3 == 0)
			_exit(i);
		if (!pid && i % 3 == 1) {
			harm_call(1);
			_exit(i);
		}
		if (!pid) {
			execl(self, self, "leaf", (char *)NULL);
			_exit(93);
		}
		units(2);
		harm_print("child: %s", harm_ended(harm_wait(pid)));
	}
	settled("fork");
}

static void leaf(int unused)
{
	(void)unused;
	units(3);
	settled("leaf");
}

static void *run_beside(void *arg)
{
	for (int i = 0; i < 5000 && !atomic_load(&finished); i++) {
		unit();
		harm_spin(20000);
	}
	return arg;
}

/* While work is done, all numbers that the program does not use are opened and closed. */
static void descriptors(int unused)
{
	bool used[LAST + 1];
	pthread_t thread;
	int own, wrong = 0;
	char line[16];

	(void)unused;
	units(2);
	settled("before");
	harm_descriptors("open");
	own = open("own", O_RDWR | O_CREAT | O_APPEND, 0644);
	for (int fd = 0; fd <= LAST; fd++)
		used[fd] = fcntl(fd, F_GETFD) >= 0;
	if (pthread_create(&thread, NULL, run_beside, NULL))
		broken("pthread_create");
	for (int fd = 3; fd <= LAST; fd++) {
		int n = snprintf(line, sizeof(line), "%5d\n", fd);

		if (used[fd])
			continue;
		wrong += dup2(own, fd) != fd || write(fd, line, (size_t)n) != n;
		if (fd % 2)
			close(fd);
	}
	atomic_store(&finished, 1);
	pthread_join(thread, NULL);
	settled("beside");
	harm_print("wrong: %d", wrong);
	for (int fd = 3; fd <= LAST; fd++)
		if (!used[fd])
			close(fd);
	harm_descriptors("at the end");
}

int main(int argc, char **argv)
{
	static const struct harm_modes modes[] = {
		{"pending", pending}, {"random", random_moments},   {"signals", signals},
		{"fork", forks},      {"descriptors", descriptors}, {"leaf", leaf},
		{NULL, NULL},
	};

	self = realpath("/proc/self/exe", NULL);
	prepare();
	return harm_main(argc, argv, modes);
}

#endif
