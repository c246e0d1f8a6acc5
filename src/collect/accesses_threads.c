/*
 * accesses_threads.c - counts accesses on the threads that run launches.
 *
 * This file contains all functions that are called for each access, including pasta_accesses_token,
 * so that the compiler can inline them.
 */
#include <stdlib.h>

#include "collect/accesses_internal.h"
#include "collect/agent.h"
#include "collect/rawwriter.h"
#include "collect/objregistry.h"
#include "core/lock.h"

enum { THREADS = 1024 };
#define NO_LAUNCH 1 /* an invalid token, because valid tokens are at least SLOTS */

/* The counting state of a thread that runs work. When the thread ends, another thread reuses the
 * state, with the counts that the state contains. */
struct thread {
	struct counter *counter;
	struct thread *next, *next_free;
	struct pasta_cpu *cpu;
	/* The token of the launch for which the thread counts. The token changes only while the
	 * thread's lock is held. */
	_Atomic uint64_t token;
	uint32_t group_size;
	/* held while the tables' counts are added to the launch's sums, but not while accesses are
	 * counted */
	pthread_mutex_t lock;
	const struct pasta_version *version;
	/* a buffer for raw accesses; its member `q` is NULL if raw accesses are disabled */
	struct pasta_filler filler;
	/* number of raw accesses of the current launch that were put into buffers */
	uint64_t put;
};

static pthread_key_t thread_end;
static _Thread_local struct thread *self;

uint64_t pasta_accesses_token(const struct pasta_accesses_launch *launch)
{
	return atomic_load_explicit(&launch->token, memory_order_relaxed);
}

void pasta_accesses_dropped(struct pasta_accesses_launch *launch, uint64_t count)
{
	if (launch)
		atomic_fetch_add_explicit(&launch->dropped, count, memory_order_relaxed);
}

void pasta_accesses_raw_dropped(struct pasta_accesses_launch *launch, uint64_t count)
{
	if (launch)
		atomic_fetch_add_explicit(&launch->raw_dropped, count, memory_order_relaxed);
}

/* Returns the sums to which threads add their counts, or NULL if memory is exhausted. The caller
 * holds the launch's lock. */
static struct pasta_sums *threads_sums(struct pasta_accesses_launch *l)
{
	struct pasta_sums **to = l->compared ? &l->host : &l->sums;

	if (!*to)
		*to = pasta_sumpool_acquire(l->compared ? &l->counter->host_pool
							: &l->counter->pool);
	return *to;
}

/* Adds a thread's full tables to its launch's sums, and empties the tables. The counting thread
 * itself calls this function. Returns false if memory is exhausted. */
static bool thread_spill(void *arg)
{
	struct thread *t = arg;
	uint64_t token = atomic_load(&t->token);
	struct pasta_accesses_launch *l = &t->counter->launches[token % SLOTS];
	struct pasta_sums *to;

	if (token == NO_LAUNCH || !pasta_accesses_is_here(t->counter))
		return false;
	pasta_lock(&t->lock);
	pasta_lock(&l->lock);
	to = threads_sums(l);
	if (to)
		pasta_cpu_spill(t->cpu, to);
	pasta_unlock(&l->lock);
	pasta_unlock(&t->lock);
	return to;
}

static struct thread *thread_make(struct counter *c)
{
	struct thread *t = calloc(1, sizeof(*t));
	struct pasta_cpu_config cpu = pasta_accesses_config.cpu;
	struct pasta_error err = {0};

	if (!t)
		return NULL;
	t->counter = c;
	t->token = NO_LAUNCH;
	cpu.full = thread_spill;
	cpu.arg = t;
	t->cpu = pasta_cpu_new(&cpu, &err);
	if (c->raw)
		pasta_filler_begin(&t->filler, pasta_rawwriter_batches(c->raw));
	if (!t->cpu || pthread_mutex_init(&t->lock, NULL)) {
		pasta_cpu_free(t->cpu);
		free(t);
		return NULL;
	}
	t->next = atomic_load(&c->threads);
	while (!atomic_compare_exchange_weak(&c->threads, &t->next, t))
		;
	return t;
}

/* Returns the state of a thread that has ended, or a new state. Returns NULL if memory is
 * exhausted, or if there are too many threads. */
static struct thread *thread_acquire(struct counter *c)
{
	struct thread *t;
	bool more;

	pasta_lock(&c->lock);
	t = c->free_threads;
	if (t)
		c->free_threads = t->next_free;
	more = !t && c->thread_count < THREADS;
	c->thread_count += more;
	pasta_unlock(&c->lock);
	if (!more)
		return t;
	t = thread_make(c);
	if (!t) {
		pasta_lock(&c->lock);
		c->thread_count--;
		pasta_unlock(&c->lock);
	}
	return t;
}

static struct thread *thread_get(struct counter *c)
{
	if (self && self->counter == c)
		return self;
	self = thread_acquire(c);
	if (self)
		pthread_setspecific(thread_end, self);
	return self;
}

static void thread_ended(void *arg)
{
	struct thread *t = arg;
	struct counter *c = t->counter;

	self = NULL;
	if (!pasta_accesses_is_here(c))
		return;
	pasta_lock(&c->lock);
	t->next_free = c->free_threads;
	c->free_threads = t;
	pasta_unlock(&c->lock);
}

bool pasta_accesses_threads_bind(void)
{
	return !pthread_key_create(&thread_end, thread_ended);
}

void pasta_accesses_threads_forked(void)
{
	self = NULL;
}

/* Stops the thread from counting for the launch. The caller holds the thread's lock. */
static void thread_rest(struct thread *t, struct pasta_accesses_launch *l)
{
	if (t->filler.q)
		pasta_filler_flush(&t->filler);
	atomic_fetch_add(&l->stored, t->put);
	t->put = 0;
	pasta_objects_unpin(t->version);
	t->version = NULL;
	atomic_store(&t->token, NO_LAUNCH);
}

/* Adds a thread's counts to its launch. The launch is still open, because the counts of all threads
 * are added to a launch before the launch ends. The caller holds the thread's lock. Returns false
 * if memory is exhausted; the counts then stay in the thread. */
static bool thread_leave(struct thread *t)
{
	uint64_t token = atomic_load(&t->token);
	struct pasta_accesses_launch *l = &t->counter->launches[token % SLOTS];
	struct pasta_sums *to;

	if (token == NO_LAUNCH)
		return true;
	pasta_lock(&l->lock);
	to = threads_sums(l);
	if (to)
		pasta_cpu_drain(t->cpu, to);
	pasta_unlock(&l->lock);
	if (to)
		thread_rest(t, l);
	return to;
}

/* Makes the thread count for a launch. The caller holds the thread's lock. */
static void thread_enter(struct thread *t, const struct pasta_accesses_launch *l,
			 uint32_t group_size)
{
	if (!t->version)
		t->version = l->version ? pasta_version_pin(l->version)
					: pasta_objreg_acquire(t->counter->objects);
	t->group_size = group_size;
	pasta_cpu_launch(t->cpu, t->version, 0, group_size);
	pasta_rawwriter_tag(t->filler.tag, l->corr, l->name, l->tid);
	atomic_store(&t->token, pasta_accesses_token(l));
}

__attribute__((noinline)) static struct pasta_cpu *
thread_switch(const struct pasta_accesses_launch *launch, uint32_t group_size)
{
	uint64_t token = pasta_accesses_token(launch);
	struct thread *t = pasta_accesses_is_live(launch) ? thread_get(launch->counter) : NULL;
	bool here;

	if (!t)
		return NULL;
	pasta_lock(&t->lock);
	here = atomic_load(&t->token) == token || thread_leave(t);
	if (here)
		thread_enter(t, launch, group_size);
	pasta_unlock(&t->lock);
	return here ? t->cpu : NULL;
}

struct pasta_cpu *pasta_accesses_thread(struct pasta_accesses_launch *launch, uint32_t group_size)
{
	struct thread *t = self;

	if (__builtin_expect(t &&
				     atomic_load_explicit(&t->token, memory_order_relaxed) ==
					     pasta_accesses_token(launch) &&
				     t->group_size == group_size,
			     1))
		return t->cpu;
	return thread_switch(launch, group_size);
}

void pasta_accesses_renew(struct pasta_accesses_launch *launch)
{
	struct thread *t = self;
	const struct pasta_version *old;

	if (!t || !pasta_accesses_is_live(launch) ||
	    atomic_load(&t->token) != pasta_accesses_token(launch))
		return;
	pasta_lock(&t->lock);
	old = t->version;
	t->version = NULL;
	thread_enter(t, launch, t->group_size);
	pasta_objects_unpin(old);
	pasta_unlock(&t->lock);
}

void pasta_accesses_put(struct pasta_accesses_launch *launch, const struct pasta_access *access)
{
	struct thread *t = self;
	struct pasta_access a = *access;

	if (t && t->filler.q &&
	    atomic_load_explicit(&t->token, memory_order_relaxed) == pasta_accesses_token(launch)) {
		a.launch = (uint32_t)launch->corr;
		pasta_filler_put(&t->filler, &a);
		/* The member `buffer` is NULL if there was no free buffer, so that the access was
		 * dropped. */
		if (t->filler.buffer) {
			t->put++;
			return;
		}
	}
	pasta_accesses_raw_dropped(launch, 1);
}

void pasta_accesses_batch(struct pasta_accesses_launch *launch, const struct pasta_access *accesses,
			  size_t count, uint32_t group_size, bool counts)
{
	struct pasta_cpu *cpu = pasta_accesses_thread(launch, group_size);
	size_t done = 0, bad = 0, none;

	if (!cpu) {
		if (counts && !launch->compared)
			pasta_accesses_dropped(launch, count);
		else
			pasta_accesses_raw_dropped(launch, count);
		return;
	}
	/* The member `launch` of these accesses is ignored, because all of these accesses belong to
	 * one launch. */
	for (; counts && done < count; bad += none)
		done += pasta_cpu_batch(cpu, accesses + done, count - done, &none);
	for (size_t i = 0; pasta_accesses_config.raw && i < count; i++)
		pasta_accesses_put(launch, &accesses[i]);
	if (bad)
		pasta_accesses_dropped(launch, bad);
}

void pasta_accesses_gather(struct counter *c, struct pasta_accesses_launch *l)
{
	uint64_t token = pasta_accesses_token(l);
	struct pasta_sums none = {0};

	for (struct thread *t = atomic_load(&c->threads); t; t = t->next) {
		pasta_lock(&t->lock);
		if (atomic_load(&t->token) == token && !thread_leave(t)) {
			pasta_cpu_drain(t->cpu, &none);
			thread_rest(t, l);
			pasta_accesses_partial(l);
			pasta_emit_loss(PASTA_LOSS_MEMORY, 1);
		}
		pasta_unlock(&t->lock);
	}
}
