/*
 * accesses_threads.c - the threads that run launches, and what they count.
 *
 * What of the driver is called for each access is all here, a launch's token too, so that it can be
 * inlined.
 */
#include <stdlib.h>

#include "collect/accesses_internal.h"
#include "collect/agent.h"
#include "collect/rawwriter.h"
#include "collect/objregistry.h"
#include "core/lock.h"

enum { THREADS = 1024 };
#define NO_LAUNCH 1 /* no token: those are from SLOTS on */

/* One that runs work; it outlives its thread, and is another's then, with what it has counted. */
struct thread {
	struct driver *driver;
	struct thread *next, *next_free;
	struct pasta_cpu *cpu;
	_Atomic uint64_t token; /* of the launch that it counts for; changed under the lock */
	uint32_t group_size;
	pthread_mutex_t lock; /* taken by who drains it; not while it counts, but to spill */
	const struct pasta_version *version;
	struct pasta_filler filler; /* of raw ones; its q is NULL where there are none */
	uint64_t put;		    /* into it, of the launch that it counts for */
};

static pthread_key_t thread_end;
/* Of the initial-exec kind, as the agent's own. */
static _Thread_local struct thread *self;

uint64_t pasta_accesses_token(const struct pasta_accesses_launch *launch)
{
	return atomic_load_explicit(&launch->token, memory_order_relaxed);
}

void pasta_accesses_dropped(struct pasta_accesses_launch *launch, uint64_t count)
{
	if (launch)
		atomic_fetch_add_explicit(&launch->lost, count, memory_order_relaxed);
}

void pasta_accesses_raw_dropped(struct pasta_accesses_launch *launch, uint64_t count)
{
	if (launch)
		atomic_fetch_add_explicit(&launch->unkept, count, memory_order_relaxed);
}

/* Under the launch's lock: where its threads' counts go; NULL: there is no memory. */
static struct pasta_sums *threads_sums(struct pasta_accesses_launch *l)
{
	struct pasta_sums **to = l->compared ? &l->host : &l->sums;

	if (!*to)
		*to = pasta_sumpool_acquire(l->compared ? &l->driver->host_pool : &l->driver->pool);
	return *to;
}

/* By the thread itself, while it counts: what its tables have no more room for goes to its launch.
 * False: there is no memory. */
static bool spill(void *arg)
{
	struct thread *t = arg;
	uint64_t token = atomic_load(&t->token);
	struct pasta_accesses_launch *l = &t->driver->launches[token % SLOTS];
	struct pasta_sums *to;

	if (token == NO_LAUNCH || !pasta_accesses_is_here(t->driver))
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

static struct thread *thread_make(struct driver *d)
{
	struct thread *t = calloc(1, sizeof(*t));
	struct pasta_cpu_config cpu = pasta_wanted.cpu;
	struct pasta_error err = {0};

	if (!t)
		return NULL;
	t->driver = d;
	t->token = NO_LAUNCH;
	cpu.full = spill;
	cpu.arg = t;
	t->cpu = pasta_cpu_new(&cpu, &err);
	if (d->raw)
		pasta_filler_begin(&t->filler, pasta_rawwriter_batches(d->raw));
	if (!t->cpu || pthread_mutex_init(&t->lock, NULL)) {
		pasta_cpu_free(t->cpu);
		free(t);
		return NULL;
	}
	t->next = atomic_load(&d->threads);
	while (!atomic_compare_exchange_weak(&d->threads, &t->next, t))
		;
	return t;
}

/* One that a thread left behind, or a new one. */
static struct thread *thread_take(struct driver *d)
{
	struct thread *t;
	bool more;

	pasta_lock(&d->lock);
	t = d->free_threads;
	if (t)
		d->free_threads = t->next_free;
	more = !t && d->thread_count < THREADS;
	d->thread_count += more;
	pasta_unlock(&d->lock);
	if (!more)
		return t;
	t = thread_make(d);
	if (!t) {
		pasta_lock(&d->lock);
		d->thread_count--;
		pasta_unlock(&d->lock);
	}
	return t;
}

static struct thread *thread_get(struct driver *d)
{
	if (self && self->driver == d)
		return self;
	self = thread_take(d);
	if (self)
		pthread_setspecific(thread_end, self);
	return self;
}

static void thread_ended(void *arg)
{
	struct thread *t = arg;
	struct driver *d = t->driver;

	self = NULL;
	if (!pasta_accesses_is_here(d))
		return;
	pasta_lock(&d->lock);
	t->next_free = d->free_threads;
	d->free_threads = t;
	pasta_unlock(&d->lock);
}

bool pasta_accesses_threads_bind(void)
{
	return !pthread_key_create(&thread_end, thread_ended);
}

void pasta_accesses_threads_forked(void)
{
	self = NULL;
}

/* Under its lock: it counts for no launch any more. */
static void rest(struct thread *t, struct pasta_accesses_launch *l)
{
	if (t->filler.q)
		pasta_filler_flush(&t->filler);
	atomic_fetch_add(&l->handed, t->put);
	t->put = 0;
	pasta_objects_unpin(t->version);
	t->version = NULL;
	atomic_store(&t->token, NO_LAUNCH);
}

/* Under its lock: what it counted goes to its launch, which has not ended, or it would have been
 * drained. False: there is no memory, and it keeps its counts. */
static bool leave(struct thread *t)
{
	uint64_t token = atomic_load(&t->token);
	struct pasta_accesses_launch *l = &t->driver->launches[token % SLOTS];
	struct pasta_sums *to;

	if (token == NO_LAUNCH)
		return true;
	pasta_lock(&l->lock);
	to = threads_sums(l);
	if (to)
		pasta_cpu_drain(t->cpu, to);
	pasta_unlock(&l->lock);
	if (to)
		rest(t, l);
	return to;
}

/* Under its lock. */
static void enter(struct thread *t, const struct pasta_accesses_launch *l, uint32_t group_size)
{
	if (!t->version)
		t->version = l->version ? pasta_version_pin(l->version)
					: pasta_objreg_acquire(t->driver->told);
	t->group_size = group_size;
	pasta_cpu_launch(t->cpu, t->version, 0, group_size);
	pasta_rawwriter_tag(t->filler.tag, l->corr, l->name, l->tid);
	atomic_store(&t->token, pasta_accesses_token(l));
}

__attribute__((noinline)) static struct pasta_cpu *
switch_to(const struct pasta_accesses_launch *launch, uint32_t group_size)
{
	uint64_t token = pasta_accesses_token(launch);
	struct thread *t = pasta_accesses_is_live(launch) ? thread_get(launch->driver) : NULL;
	bool here;

	if (!t)
		return NULL;
	pasta_lock(&t->lock);
	here = atomic_load(&t->token) == token || leave(t);
	if (here)
		enter(t, launch, group_size);
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
	return switch_to(launch, group_size);
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
	enter(t, launch, t->group_size);
	pasta_objects_unpin(old);
	pasta_unlock(&t->lock);
}

/* What is lost leaves no buffer behind. */
void pasta_accesses_put(struct pasta_accesses_launch *launch, const struct pasta_access *access)
{
	struct thread *t = self;
	struct pasta_access a = *access;

	if (t && t->filler.q &&
	    atomic_load_explicit(&t->token, memory_order_relaxed) == pasta_accesses_token(launch)) {
		a.launch = (uint32_t)launch->corr;
		pasta_filler_put(&t->filler, &a);
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
	/* Whatever number they have, they are of this launch. */
	for (; counts && done < count; bad += none)
		done += pasta_cpu_batch(cpu, accesses + done, count - done, &none);
	for (size_t i = 0; pasta_wanted.raw && i < count; i++)
		pasta_accesses_put(launch, &accesses[i]);
	if (bad)
		pasta_accesses_dropped(launch, bad);
}

/* Threads that counted for it last, and have nothing to count now. */
void pasta_accesses_gather(struct driver *d, struct pasta_accesses_launch *l)
{
	uint64_t token = pasta_accesses_token(l);
	struct pasta_sums none = {0};

	for (struct thread *t = atomic_load(&d->threads); t; t = t->next) {
		pasta_lock(&t->lock);
		if (atomic_load(&t->token) == token && !leave(t)) {
			pasta_cpu_drain(t->cpu, &none);
			rest(t, l);
			pasta_accesses_partial(l);
			pasta_emit_loss(PASTA_LOSS_MEMORY, 1);
		}
		pasta_unlock(&t->lock);
	}
}
