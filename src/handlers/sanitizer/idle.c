/*
 * idle.c - times when nothing of the program's runs on a device.
 *
 * To patch code, and to unpatch it, the library waits for all kernels, and holds up the program
 * meanwhile: a kernel that waits for the program would be waited for for ever. So nobody is let
 * launch, a thread of ours waits for all contexts, and where they are not through in time it is
 * left for later. Not stream by stream: one that is gone may still have something to run.
 */
#include <time.h>

#include "handlers/sanitizer/sanitizer.h"
#include "core/lock.h"

/* ns that who patches waits for at most: what is queued, of code that is patched, may take as long.
 * One that was in vain is twice as long the next time, and that is ten times later. Others who
 * launch wait for the patching as well. */
#define PAUSE UINT64_C(1000000000)
#define PAUSE_MOST (8 * PAUSE)
#define GATE (PAUSE_MOST + SAN_WAIT)
#define WITHIN UINT64_C(20000000) /* ns that a thread takes to come to the driver */
enum { BETWEEN = 10, CONTEXTS = 64 };

static atomic_bool closed;	/* nobody launches */
static atomic_bool breached;	/* but somebody did, who has waited for too long */
static _Atomic uint32_t inside; /* threads in calls that launch */
/* Streams that are captured: they must not be waited for. */
static _Atomic uint32_t captures;
static struct pasta_map *captured; /* by the program's handles; threads' own ones have one */
struct capture {
	const void *context;
	uint32_t count;
};
static uint64_t not_before, pause_ns = PAUSE;

/* Who waits for contexts: what it is to wait for, and how far it is. */
static struct {
	pthread_cond_t wake;
	struct san_context *contexts[CONTEXTS];
	size_t count, done;
	const struct san_context *now;
	uint64_t since; /* it began with that */
	bool runs, failed;
} waiter = {.wake = PTHREAD_COND_INITIALIZER};

/* -- Who launches -- */

/* Under the lock. */
static void wait_open(void)
{
	struct timespec until = san_deadline(GATE);

	while (atomic_load(&closed) && !pthread_cond_timedwait(&san.changed, &san.lock, &until))
		;
}

void san_quiet_enter(void)
{
	atomic_fetch_add(&inside, 1);
	if (!atomic_load(&closed))
		return;
	san_quiet_leave();
	pasta_lock(&san.lock);
	wait_open();
	if (atomic_load(&closed))
		atomic_store(&breached, true);
	atomic_fetch_add(&inside, 1);
	pasta_unlock(&san.lock);
}

void san_quiet_leave(void)
{
	if (atomic_fetch_sub(&inside, 1) != 1 || !atomic_load(&closed))
		return;
	pasta_lock(&san.lock);
	pthread_cond_broadcast(&san.changed);
	pasta_unlock(&san.lock);
}

static void capture_begins(const void *context, const void *stream)
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

static void capture_ends(const void *stream)
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

/* Whoever has begun to wait for a context is in the driver by then, which asks for captures first;
 * it was given up, else nobody were here. */
static void wait_until_within(void)
{
	const struct timespec ms = {.tv_nsec = 1000000};
	bool begins;

	do {
		pasta_lock(&san.lock);
		begins = waiter.now && pasta_now() < waiter.since + WITHIN;
		pasta_unlock(&san.lock);
		if (begins)
			pasta_nap(&ms);
	} while (begins);
}

void san_quiet_capture(const void *context, const void *stream, bool begins)
{
	if (!begins) {
		capture_ends(stream);
		return;
	}
	san_quiet_enter();
	capture_begins(context, stream);
	wait_until_within();
	san_quiet_leave();
}

void san_quiet_uncapture(const void *context, const void *stream)
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

/* -- Who waits -- */

/* Whether the context has failed, and will go on to. */
static bool has_failed(int result)
{
	return result > 0 && (result < SAN_CAPTURE_ERRORS || result == SAN_UNKNOWN_ERROR);
}

/* Under the lock, which is let go meanwhile. One that has failed runs nothing any more. */
static void wait_for(struct san_context *c)
{
	void *handle = atomic_load(&san.ended) || c->broken ? NULL : c->handle;
	int r;

	if (!handle)
		return;
	waiter.now = c;
	waiter.since = pasta_now();
	pasta_unlock(&san.lock);
	r = SAN_CALL(ContextSynchronize, handle);
	pasta_lock(&san.lock);
	waiter.now = NULL;
	if (has_failed(r))
		c->broken = true;
	else if (r != SAN_OK)
		waiter.failed = true;
}

static void *main_(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "pasta-quiet");
	pasta_lock(&san.lock);
	for (;;) {
		if (waiter.done == waiter.count) {
			pthread_cond_wait(&waiter.wake, &san.lock);
			continue;
		}
		wait_for(waiter.contexts[waiter.done]);
		waiter.done++;
		pthread_cond_broadcast(&san.changed);
	}
	return NULL;
}

/* Under the lock: what it has not come to yet it does not come to. */
static void stop_waiter(void)
{
	waiter.count = waiter.done + (waiter.now != NULL);
}

/* Under the lock. Whether all contexts are through, in time. */
static bool wait_for_contexts(const struct timespec *until)
{
	size_t count = san_contexts(waiter.contexts, CONTEXTS);
	int late = 0;

	if (count > CONTEXTS)
		return false;
	waiter.runs = waiter.runs || san_thread(main_, NULL);
	if (!waiter.runs)
		return false;
	waiter.count = count;
	waiter.done = 0;
	waiter.failed = false;
	pthread_cond_signal(&waiter.wake);
	while (waiter.done < waiter.count && !late)
		late = pthread_cond_timedwait(&san.changed, &san.lock, until);
	if (late) /* the others may go before it comes to them */
		stop_waiter();
	return !late && !waiter.failed;
}

/* Under the lock. */
static bool wait_for_all(void)
{
	struct timespec until = san_deadline(pause_ns);

	while (atomic_load(&inside))
		if (pthread_cond_timedwait(&san.changed, &san.lock, &until))
			return false;
	return !atomic_load(&captures) && wait_for_contexts(&until) && !san_quiet_breached();
}

bool san_quiet_breached(void)
{
	return atomic_load(&breached) || atomic_load(&san.ended);
}

/* Under the lock. */
static bool may_begin(void)
{
	return !atomic_load(&closed) && !atomic_load(&captures) && !atomic_load(&san.ended) &&
	       waiter.done == waiter.count && pasta_now() >= not_before;
}

bool san_quiet_begin(void)
{
	bool quiet = false;

	pasta_lock(&san.lock);
	wait_open();
	if (may_begin()) {
		atomic_store(&breached, false);
		atomic_store(&closed, true);
		quiet = wait_for_all();
		if (quiet) {
			pause_ns = PAUSE;
		} else {
			not_before = pasta_now() + BETWEEN * pause_ns;
			pause_ns = pause_ns < PAUSE_MOST ? 2 * pause_ns : PAUSE_MOST;
			atomic_store(&closed, false);
			pthread_cond_broadcast(&san.changed);
		}
	}
	pasta_unlock(&san.lock);
	return quiet;
}

void san_quiet_end(void)
{
	pasta_lock(&san.lock);
	atomic_store(&closed, false);
	pthread_cond_broadcast(&san.changed);
	pasta_unlock(&san.lock);
}

void san_quiet_stop(void)
{
	struct timespec until = san_deadline(SAN_WAIT);

	stop_waiter();
	waiter.failed = true;
	while (waiter.now && !pthread_cond_timedwait(&san.changed, &san.lock, &until))
		;
}
