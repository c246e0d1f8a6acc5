/*
 * flush.c - flushes CUPTI's activity buffers once a second and when the program ends.
 *
 * CUPTI delivers a buffer when it is full or when a flush is requested. A program that ends by
 * _exit, as workers of Python's multiprocessing do, runs no atexit handlers, so the agent also
 * flushes inside _exit. If a program is killed, at most the records of its last second are dropped.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/lock.h"
#include "handlers/cuda/exit.h"
#include "handlers/cupti/cupti.h"

enum { STACK = 256 << 10 };
#define SECOND UINT64_C(1000000000)

/* The number of full flushes that were requested, and the number that are done. */
static _Atomic uint32_t requested, done;
static pid_t owner;
/* This lock is held during a flush. CUPTI is torn down before the process ends, so nothing may be
 * flushed after cupti_flush_end. */
static pthread_mutex_t flushing = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool ended; /* whether the last flush is done, so that no other flush may follow */

/* Waits on a futex instead of a condition variable, because a signal handler may call _exit. */
static void flush_wait(_Atomic uint32_t *word, uint32_t while_, uint64_t ns)
{
	const struct timespec t = {.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)};

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, while_, &t, NULL, 0);
}

static void flush_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void flush_now(bool all)
{
	pasta_lock(&flushing);
	if (!atomic_load(&ended)) {
		cupti_activity_flush(all);
		if (!all)
			cupti_activity_rest();
	}
	pasta_unlock(&flushing);
}

static void *flush_thread(void *arg)
{
	uint32_t seen = 0, latest;

	(void)arg;
	pthread_setname_np(pthread_self(), "pasta-cupti");
	for (;;) {
		flush_wait(&requested, seen, SECOND);
		latest = atomic_load(&requested);
		flush_now(latest != seen);
		seen = latest;
		atomic_store(&done, latest);
		flush_wake(&done);
	}
	return NULL;
}

/* Requests a flush from the flush thread, and waits at most a second until the flush is done. The
 * calling thread must not flush itself, because a signal may have interrupted that thread while it
 * held a lock of CUPTI. */
static void flush_before_exit(void)
{
	uint32_t mine, latest;
	uint64_t until, t;

	if (atomic_load(&ended))
		return;
	mine = atomic_fetch_add(&requested, 1) + 1;
	until = pasta_now() + SECOND;
	flush_wake(&requested);
	while (latest = atomic_load(&done), t = pasta_now(),
	       (int32_t)(latest - mine) < 0 && t < until)
		flush_wait(&done, latest, until - t);
}

void cupti_flush_end(void)
{
	/* CUPTI's threads do not exist in a forked child, and a flush would wait for these
	 * threads. */
	if (getpid() != owner)
		return;
	pasta_lock(&flushing);
	cupti_activity_flush(true);
	atomic_store(&ended, true);
	pasta_unlock(&flushing);
}

void cupti_flush_start(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;
	bool runs;

	owner = getpid();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all,
			/* the new thread inherits this mask, so that the program's threads receive
			 * all signals */
			&old);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	/* If this thread cannot be created, CUPTI delivers buffers only when they are full, and
	 * when the program ends. */
	runs = !pthread_create(&thread, &attr, flush_thread, NULL);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (runs)
		cuda_exit_watch(flush_before_exit);
}
