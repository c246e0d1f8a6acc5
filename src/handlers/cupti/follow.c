/*
 * follow.c - CUPTI's records of activity begin and end as recording does.
 *
 * Recording may be started and stopped in a signal handler that interrupts CUPTI itself, and by the
 * agent's writer: so CUPTI is told by a thread of our own, for which others wait, but not for ever.
 * In a callback of CUPTI's it is told at once: there another thread might wait for the callback.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "handlers/cupti/cupti.h"

#define WAIT_NS UINT64_C(100000000)
#define END_WAIT_NS UINT64_C(900000000)
enum { STACK = 256 << 10 };

/* Numbers of changes, and futexes: finished says that CUPTI is left alone again. */
static _Atomic uint32_t asked, answered, finished;
static _Atomic bool enabled, ended;
static atomic_flag busy = ATOMIC_FLAG_INIT;
static pid_t owner; /* a forked child has no thread of ours */
static _Thread_local bool direct;

static void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
	const struct timespec t = {.tv_nsec = (long)ns};

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns ? &t : NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* Whoever finds another at it leaves it to him: he looks again. */
static void apply(void)
{
	bool active = pasta_agent_active();

	while (active != atomic_load(&enabled) && !atomic_flag_test_and_set(&busy)) {
		int r = cupti_activity_enable(active);

		if (r != CUPTI_OK)
			cupti_trouble(active ? "not all can be started" : "not all can be stopped",
				      r);
		atomic_store(&enabled, active);
		atomic_flag_clear(&busy);
		active = pasta_agent_active();
	}
}

static uint32_t ask(void)
{
	uint32_t number = atomic_fetch_add(&asked, 1) + 1;

	futex_wake(&asked);
	return number;
}

/* What is ready is handed over when recording stops, after those who wait have gone on. */
static void *main_(void *arg)
{
	bool was = atomic_load(&enabled);

	(void)arg;
	direct = true;
	pthread_setname_np(pthread_self(), "pasta-cupti");
	for (;;) {
		uint32_t number = atomic_load(&asked);

		if (!atomic_load(&ended))
			apply();
		atomic_store(&answered, number);
		futex_wake(&answered);
		if (was && !atomic_load(&enabled) && !atomic_load(&ended))
			cupti.ActivityFlushAll(0);
		was = atomic_load(&enabled);
		atomic_store(&finished, number);
		futex_wake(&finished);
		futex_wait(&asked, number, 0);
	}
	return NULL;
}

static void wait_for(_Atomic uint32_t *word, uint32_t number, uint64_t ns)
{
	uint64_t now = pasta_now(), until = now + ns;
	uint32_t seen = atomic_load(word);

	while ((int32_t)(seen - number) < 0 && now < until) {
		futex_wait(word, seen, until - now);
		seen = atomic_load(word);
		now = pasta_now();
	}
}

static void changed(void)
{
	int saved = errno;

	if (direct) {
		apply();
		ask();
	} else if (getpid() == owner && !atomic_load(&ended)) {
		wait_for(&answered, ask(), WAIT_NS);
	}
	errno = saved;
}

void cupti_follow_set(bool active)
{
	direct = true;
	pasta_agent_set_active(active);
	direct = false;
}

int cupti_follow_start(bool active)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;
	int r;

	atomic_store(&enabled, active);
	owner = getpid();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are the program's */
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&thread, &attr, main_, NULL);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r)
		return -r;
	pasta_agent_follow(changed);
	ask(); /* for what has changed meanwhile */
	return 0;
}

void cupti_follow_end(void)
{
	atomic_store(&ended, true);
	if (getpid() == owner)
		wait_for(&finished, ask(), END_WAIT_NS);
}
