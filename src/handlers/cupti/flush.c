/*
 * flush.c - what devices did, handed over once a second.
 *
 * CUPTI gives its buffers when they are full, or asked for. A program that ends without a word
 * (_exit, SIGKILL) then has lost a second's records at most.
 */
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "handlers/cupti/cupti.h"

enum { STACK = 256 << 10 };

static void *main_(void *arg)
{
	const struct timespec second = {.tv_sec = 1};

	(void)arg;
	pthread_setname_np(pthread_self(), "pasta-cupti");
	for (;;) {
		nanosleep(&second, NULL);
		cupti_activity_flush(false);
	}
	return NULL;
}

void cupti_flush_start(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are the program's */
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	/* Without it buffers come when they are full, and at the end. */
	if (pthread_create(&thread, &attr, main_, NULL))
		thread = 0;
	(void)thread;
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}
