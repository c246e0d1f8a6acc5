/*
 * idle.c - creates periods in which no kernel of the program runs.
 *
 * To patch or unpatch a module, the Compute Sanitizer waits for all kernels, and blocks the
 * program's calls meanwhile. If a kernel waits for the program, kernel and program are deadlocked.
 * idle.c therefore stops new launches and lets a separate thread wait for all contexts. If the
 * contexts do not finish in time, patching is postponed. The thread waits for contexts and not for
 * streams, because a destroyed stream may still have work to run.
 */
#include <time.h>

#include "handlers/sanitizer/completion.h"
#include "handlers/sanitizer/contexts.h"
#include "handlers/sanitizer/idle.h"
#include "core/lock.h"

/* An attempt to create a period without kernels waits PAUSE ns for running kernels, because queued
 * kernels with patches may take that long. After a timeout, no attempt starts for BETWEEN times the
 * length of that wait, and the next attempt waits twice as long, up to PAUSE_MOST. During an
 * attempt, other threads that launch wait for at most GATE ns. */
#define PAUSE UINT64_C(1000000000)
#define PAUSE_MOST (8 * PAUSE)
#define GATE (PAUSE_MOST + san_limits.wait_ns)
#define WITHIN UINT64_C(20000000) /* ns after which a calling thread is surely in the driver */
enum { BETWEEN = 10, CONTEXTS = 64 };

static atomic_bool closed; /* launches must wait */
/* whether a thread has waited too long and has launched a kernel nevertheless */
static atomic_bool breached;
static _Atomic uint32_t inside; /* number of threads that are in a launch function */
/* The number of stream captures in progress. Waiting for a captured stream is an error. */
static _Atomic uint32_t captures;
static struct pasta_map
	/* map of struct capture by stream handle; all per-thread default streams share one entry */
	*captured;
struct capture {
	const void *context;
	uint32_t count;
};
static uint64_t not_before, pause_ns = PAUSE;

/* The current task of the waiter, a thread that waits for contexts, and its progress. */
static struct {
	pthread_cond_t wake;
	struct san_context *contexts[CONTEXTS];
	size_t count, done;
	const struct san_context *current;
	uint64_t since; /* time at which the waiter started to wait for the context `current` */
	bool runs, failed;
} waiter = {.wake = PTHREAD_COND_INITIALIZER};

/* -- Threads that launch -- */

/* The caller holds san.lock. */
static void idle_wait_open(void)
{
	struct timespec until = san_deadline(GATE);

	while (atomic_load(&closed) && !pthread_cond_timedwait(&san.changed, &san.lock, &until))
		;
}

void san_idle_enter(void)
{
	atomic_fetch_add(&inside, 1);
	if (!atomic_load(&closed))
		return;
	san_idle_leave();
	pasta_lock(&san.lock);
	idle_wait_open();
	if (atomic_load(&closed))
		atomic_store(&breached, true);
	atomic_fetch_add(&inside, 1);
	pasta_unlock(&san.lock);
}

void san_idle_leave(void)
{
	if (atomic_fetch_sub(&inside, 1) != 1 || !atomic_load(&closed))
		return;
	pasta_lock(&san.lock);
	pthread_cond_broadcast(&san.changed);
	pasta_unlock(&san.lock);
}

static void capture_begin(const void *context, const void *stream)
{
	struct capture *c;

	pasta_lock(&san.lock);
	if (!captured)
		captured = pasta_map_new(sizeof(*c));
	c = captured ? pasta_map_add(captured, (uintptr_t)stream) : NULL;
	if (c) {
		c->context = context;
		c->count++;
	}
	atomic_fetch_add(&captures, 1);
	pasta_unlock(&san.lock);
}

static void capture_end(const void *stream)
{
	struct capture *c;

	pasta_lock(&san.lock);
	c = captured ? pasta_map_find(captured, (uintptr_t)stream) : NULL;
	if (c && c->count) {
		c->count--;
		atomic_fetch_sub(&captures, 1);
	}
	pasta_unlock(&san.lock);
}

/* If the waiter is about to wait for a context, this function delays the program's capture until
 * the waiter is certainly inside the driver. The driver checks for captures only on entry. */
static void idle_wait_for_driver(void)
{
	const struct timespec ms = {.tv_nsec = 1000000};
	bool begins;

	do {
		pasta_lock(&san.lock);
		begins = waiter.current && pasta_now() < waiter.since + WITHIN;
		pasta_unlock(&san.lock);
		if (begins)
			pasta_nap(&ms);
	} while (begins);
}

void san_idle_capture(const void *context, const void *stream, bool begins)
{
	if (!begins) {
		capture_end(stream);
		return;
	}
	san_idle_enter();
	capture_begin(context, stream);
	idle_wait_for_driver();
	san_idle_leave();
}

void san_idle_uncapture(const void *context, const void *stream)
{
	struct capture *c;
	uint64_t key;
	size_t at = 0;

	pasta_lock(&san.lock);
	while (captured && (c = pasta_map_next(captured, &at, &key))) {
		if (stream ? key != (uintptr_t)stream : c->context != context)
			continue;
		atomic_fetch_sub(&captures, c->count);
		c->count = 0;
	}
	pasta_unlock(&san.lock);
}

/* -- The waiter -- */

/* Returns whether the driver's error is permanent because the context has failed. */
static bool context_has_failed(int result)
{
	return result > 0 && (result < SAN_CAPTURE_ERRORS || result == SAN_UNKNOWN_ERROR);
}

/* Waits for the work of a context. A failed context counts as finished. The caller holds san.lock,
 * which is released during the wait. */
static void waiter_sync(struct san_context *c)
{
	void *handle = atomic_load(&san.ended) || c->broken ? NULL : c->handle;
	int r;

	if (!handle)
		return;
	waiter.current = c;
	waiter.since = pasta_now();
	pasta_unlock(&san.lock);
	r = SAN_CALL(ContextSynchronize, handle);
	pasta_lock(&san.lock);
	waiter.current = NULL;
	if (context_has_failed(r))
		c->broken = true;
	else if (r != SAN_OK)
		waiter.failed = true;
}

static void *waiter_main(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "pasta-idle");
	pasta_lock(&san.lock);
	for (;;) {
		if (waiter.done == waiter.count) {
			pthread_cond_wait(&waiter.wake, &san.lock);
			continue;
		}
		waiter_sync(waiter.contexts[waiter.done]);
		waiter.done++;
		pthread_cond_broadcast(&san.changed);
	}
	return NULL;
}

/* Makes the waiter skip all contexts after the current one. The caller holds san.lock. */
static void waiter_stop(void)
{
	waiter.count = waiter.done + (waiter.current != NULL);
}

/* Waits for the work of all contexts. Returns false on timeout. The caller holds san.lock. */
static bool idle_wait_for_contexts(const struct timespec *until)
{
	size_t count = san_contexts(waiter.contexts, CONTEXTS);
	int late = 0;

	if (count > CONTEXTS)
		return false;
	waiter.runs = waiter.runs || san_thread(waiter_main, NULL);
	if (!waiter.runs)
		return false;
	waiter.count = count;
	waiter.done = 0;
	waiter.failed = false;
	pthread_cond_signal(&waiter.wake);
	while (waiter.done < waiter.count && !late)
		late = pthread_cond_timedwait(&san.changed, &san.lock, until);
	/* skip the remaining contexts, because the program may soon destroy them */
	if (late)
		waiter_stop();
	return !late && !waiter.failed;
}

/* Waits until no thread is launching and all contexts have finished their work. Returns false on
 * timeout. The caller holds san.lock. */
static bool idle_wait_for_all(void)
{
	struct timespec until = san_deadline(pause_ns);

	while (atomic_load(&inside))
		if (pthread_cond_timedwait(&san.changed, &san.lock, &until))
			return false;
	return !atomic_load(&captures) && idle_wait_for_contexts(&until) && !san_idle_breached();
}

bool san_idle_breached(void)
{
	return atomic_load(&breached) || atomic_load(&san.ended);
}

/* The caller holds san.lock. */
static bool idle_may_begin(void)
{
	return !atomic_load(&closed) && !atomic_load(&captures) && !atomic_load(&san.ended) &&
	       waiter.done == waiter.count && pasta_now() >= not_before;
}

bool san_idle_begin(void)
{
	bool idle = false;

	pasta_lock(&san.lock);
	idle_wait_open();
	if (idle_may_begin()) {
		atomic_store(&breached, false);
		atomic_store(&closed, true);
		idle = idle_wait_for_all();
		if (idle) {
			pause_ns = PAUSE;
		} else {
			not_before = pasta_now() + BETWEEN * pause_ns;
			pause_ns = pause_ns < PAUSE_MOST ? 2 * pause_ns : PAUSE_MOST;
			atomic_store(&closed, false);
			pthread_cond_broadcast(&san.changed);
		}
	}
	pasta_unlock(&san.lock);
	return idle;
}

void san_idle_end(void)
{
	pasta_lock(&san.lock);
	atomic_store(&closed, false);
	pthread_cond_broadcast(&san.changed);
	pasta_unlock(&san.lock);
}

void san_idle_stop(void)
{
	struct timespec until = san_deadline(san_limits.wait_ns);

	waiter_stop();
	waiter.failed = true;
	while (waiter.current && !pthread_cond_timedwait(&san.changed, &san.lock, &until))
		;
}
