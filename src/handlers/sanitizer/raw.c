/* raw.c - opens and closes launches that write raw accesses, and starts and stops the threads that
 * consume them. */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include "handlers/sanitizer/raw_internal.h"
#include "core/lock.h"

enum { WORKERS = 64, HALF_LEAST = 1024, STUCK_MS = 5000, END_MS = 5000, STACK = 256 << 10 };

/* -- Launches -- */

/* Restarts a stopped ring, which may have gaps where launches found no room. No launch may be
 * writing to the ring. The caller holds r->consuming and r->lock. */
static void raw_clear(struct pasta_raw *r)
{
	struct pasta_gpu_ring *ring = r->config.ring;

	if (!r->ops.rewind || r->ops.rewind(r->ops.ctx))
		return;
	memset(r->config.records, 0, 2 * (size_t)r->config.half * sizeof(*r->config.records));
	r->edge_count = 0;
	r->dropped = 0;
	r->walked = 0;
	atomic_store(&r->delivered, 0);
	__atomic_store_n(&ring->filled[0], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->filled[1], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->consumed, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->stop, 0, __ATOMIC_RELEASE);
}

/* Restarts a stopped ring if no launch is open and no other thread holds r->consuming. If another
 * thread holds r->consuming, the next launch tries again. The caller holds r->lock. */
static void raw_reuse(struct pasta_raw *r)
{
	if (r->open_count || !is_stopped(r) || r->popped < r->pushed ||
	    pasta_trylock(&r->consuming))
		return;
	raw_clear(r);
	pasta_unlock(&r->consuming);
}

/* Returns an unused entry for a launch, or NULL if all entries are in use, or if out of memory. The
 * caller holds r->lock. */
static struct open *open_acquire(struct pasta_raw *r)
{
	uint32_t i = 0;

	while (i < OPEN && r->open[i].launch)
		i++;
	if (i == OPEN)
		return NULL;
	if (!r->open[i].sites)
		r->open[i].sites = malloc(SITES * sizeof(*r->open[i].sites));
	return r->open[i].sites ? &r->open[i] : NULL;
}

static uint32_t open_next_number(struct pasta_raw *r, struct open *o)
{
	o->generation = o->generation % ((1u << (32 - OPEN_BITS)) - 1) + 1;
	return o->generation << OPEN_BITS | (uint32_t)(o - r->open);
}

uint32_t pasta_raw_begin(struct pasta_raw *r, struct pasta_accesses_launch *launch,
			 uint32_t group_size, uint64_t base, void *data)
{
	uint32_t number = 0, i;
	struct open *o;

	pasta_lock(&r->lock);
	if (!atomic_load(&r->cut))
		raw_reuse(r);
	o = atomic_load(&r->cut) ? NULL : open_acquire(r);
	if (o) {
		number = open_next_number(r, o);
		o->launch = launch;
		o->group_size = group_size;
		o->base = base;
		o->data = data;
		for (i = 0; i < SITES; i++)
			atomic_store_explicit(&o->sites[i], 0, memory_order_relaxed);
		atomic_store_explicit(&o->number, number, memory_order_release);
		r->open_count++;
		pthread_cond_signal(&r->opened);
	}
	pasta_unlock(&r->lock);
	return number;
}

/* Returns whether this launch is the only open launch. The caller holds r->consuming. */
static bool open_is_alone(struct pasta_raw *r, const struct open *o, uint32_t number)
{
	bool alone;

	pasta_lock(&r->lock);
	alone = r->open_count == 1 && atomic_load(&o->number) == number;
	pasta_unlock(&r->lock);
	return alone;
}

/* Reports the accesses that the device has dropped. The device does not record to which launch a
 * dropped access belongs, so all dropped accesses count for the first launch that is flushed. The
 * caller holds r->consuming. */
static void raw_report_dropped(struct pasta_raw *r, const struct open *o, uint64_t dropped)
{
	if (dropped <= r->dropped) /* another thread has already reported these accesses */
		return;
	r->ops.dropped(o->launch, dropped - r->dropped);
	r->dropped = dropped;
}

/* Waits until the workers have delivered the records that they are processing at the time of the
 * call. Returns false on timeout. */
static bool raw_wait_done(struct pasta_raw *r, const struct timespec *until)
{
	uint64_t last;
	uint32_t i = 0;
	int error = 0;

	pasta_lock(&r->lock);
	last = r->tickets;
	while (!error && i < r->threads)
		if (r->workers[i].ticket && r->workers[i].ticket <= last)
			error = pthread_cond_timedwait(&r->done, &r->lock, until);
		else
			i++;
	pasta_unlock(&r->lock);
	return !error;
}

/* Returns the launch with this number, even if the launch was abandoned and its records are still
 * being delivered. Returns NULL if the launch was released. */
static struct open *open_find(struct pasta_raw *r, uint32_t number)
{
	struct open *o = &r->open[number % OPEN];
	bool has;

	pasta_lock(&r->lock);
	has = number && o->launch && o->generation == number >> OPEN_BITS;
	pasta_unlock(&r->lock);
	return has ? o : NULL;
}

static void open_close(struct pasta_raw *r, struct open *o, uint32_t number)
{
	pasta_lock(&r->lock);
	if (atomic_load(&o->number) == number) {
		atomic_store(&o->number, 0);
		r->open_count--;
	}
	pasta_unlock(&r->lock);
}

/* Check the number, because two threads may close the same launch, and another launch may already
 * use the entry. */
static void open_release(struct pasta_raw *r, struct open *o, uint32_t number)
{
	pasta_lock(&r->lock);
	if (o->generation == number >> OPEN_BITS)
		o->launch = NULL;
	pasta_unlock(&r->lock);
}

int pasta_raw_flush(struct pasta_raw *r, uint32_t number, uint32_t timeout_ms)
{
	struct timespec until = in_ms(CLOCK_MONOTONIC, timeout_ms);
	struct timespec limit = in_ms(CLOCK_REALTIME, timeout_ms);
	uint64_t head = UINT64_MAX, dropped = 0;
	struct open *o = &r->open[number % OPEN];
	bool read;
	int error;

	if (!is_open(r, number)) {
		error = pasta_raw_abandon(r, number, timeout_ms);
		return error || !atomic_load(&r->cut) ? error : -ENODEV;
	}
	read = r->ops.read && !r->ops.read(r->ops.ctx, &head, &dropped);
	atomic_fetch_add(&r->waiting, 1);
	error = pthread_mutex_timedlock(&r->consuming, &limit);
	atomic_fetch_sub(&r->waiting, 1);
	if (error)
		return -error;
	if (read)
		raw_report_dropped(r, o, dropped);
	if (atomic_load(&r->cut))
		error = ENODEV;
	else if (read && open_is_alone(r, o, number))
		raw_consume_rest(r, head);
	else if (!raw_consume_own(r, number, read ? head : UINT64_MAX, &until))
		error = ETIMEDOUT;
	pasta_unlock(&r->consuming);
	if (!error && (!raw_wait_copied(r, &until) || !raw_wait_done(r, &until)))
		error = ETIMEDOUT;
	if (atomic_load(&r->cut))
		error = ENODEV;
	if (error)
		return -error;
	open_close(r, o, number);
	open_release(r, o, number);
	return 0;
}

/* A worker that has found the launch open has a ticket number, so raw_wait_done waits for that
 * worker. */
int pasta_raw_abandon(struct pasta_raw *r, uint32_t number, uint32_t timeout_ms)
{
	struct timespec until = in_ms(CLOCK_MONOTONIC, timeout_ms);
	struct open *o = open_find(r, number);

	if (!o)
		return 0;
	open_close(r, o, number);
	if (!raw_wait_done(r, &until))
		return -ETIMEDOUT;
	open_release(r, o, number);
	return 0;
}

/* -- Start and end -- */

/* Drops all lists of records that no worker has started to copy, including lists in the agent's own
 * memory. The launches to which these records belong report a loss. The caller holds r->lock. */
static void raw_drop_lists(struct pasta_raw *r)
{
	for (uint64_t i = r->popped; i < r->pushed; i++) {
		struct list *list = &r->lists[i % LISTS];

		list->count = list->next;
	}
	raw_pop_lists(r);
}

void pasta_raw_cut(struct pasta_raw *r)
{
	pasta_lock(&r->lock);
	atomic_store(&r->cut, true);
	raw_drop_lists(r); /* the thread that holds "consuming" may be waiting for room */
	pthread_cond_broadcast(&r->copied);
	pthread_cond_broadcast(&r->opened);
	pasta_unlock(&r->lock);
	pasta_lock(&r->consuming); /* wait for the last thread that uses the ring */
	pasta_unlock(&r->consuming);
	pasta_lock(&r->lock);
	while (r->copying)
		pthread_cond_wait(&r->copied, &r->lock);
	while (r->watched)
		pthread_cond_wait(&r->done, &r->lock);
	pasta_unlock(&r->lock);
}

static uint32_t raw_processors(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

	return n < 1 ? 1 : n > WORKERS ? WORKERS : (uint32_t)n;
}

static int raw_make_locks(struct pasta_raw *r)
{
	pthread_condattr_t attr;
	int error = pthread_condattr_init(&attr);

	if (error)
		return -error;
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&r->resolving, NULL);
	pthread_mutex_init(&r->consuming, NULL);
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->work, &attr);
	pthread_cond_init(&r->copied, &attr);
	pthread_cond_init(&r->done, &attr);
	pthread_cond_init(&r->opened, &attr);
	pthread_condattr_destroy(&attr);
	return 0;
}

/* The threads block all signals, because the program handles them. */
static int raw_start(struct pasta_raw *r)
{
	sigset_t all, old;
	pthread_attr_t attr;
	int error = pthread_attr_init(&attr);

	if (error)
		return -error;
	pthread_attr_setstacksize(&attr, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	r->running = r->config.workers + 1;
	r->watched = true;
	while (!error && r->threads < r->config.workers) {
		struct worker *w = &r->workers[r->threads];

		w->raw = r;
		error = pthread_create(&w->thread, &attr, raw_work, w);
		r->threads += !error;
	}
	if (!error)
		error = pthread_create(&r->watcher, &attr, raw_watch, r);
	r->watching = !error;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	pasta_lock(&r->lock);
	r->running -= r->config.workers - r->threads + !r->watching;
	r->watched &= r->watching;
	pasta_unlock(&r->lock);
	return -error;
}

static void raw_destroy(struct pasta_raw *r)
{
	for (uint32_t i = 0; i < OPEN; i++)
		free(r->open[i].sites);
	pthread_mutex_destroy(&r->resolving);
	pthread_mutex_destroy(&r->consuming);
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->work);
	pthread_cond_destroy(&r->copied);
	pthread_cond_destroy(&r->done);
	pthread_cond_destroy(&r->opened);
	free(r->workers);
	free(r->gathered);
	free(r);
}

static int raw_check(const struct pasta_raw_config *c, const struct pasta_raw_ops *ops,
		     struct pasta_error *err)
{
	if (!c->ring || !c->records || c->half < HALF_LEAST || c->half & (c->half - 1))
		return pasta_fail(
			err, -EINVAL,
			"the number of accesses in each half of the raw-access buffer must "
			"be a power of two and at least %d, not %u",
			HALF_LEAST, c->half);
	if (!ops->site || !ops->batch || !ops->dropped)
		return pasta_fail(
			err, -EINVAL,
			"pasta_raw_new needs the functions 'site', 'batch' and 'dropped'");
	return 0;
}

struct pasta_raw *pasta_raw_new(const struct pasta_raw_config *config,
				const struct pasta_raw_ops *ops, struct pasta_error *err)
{
	struct pasta_raw *r = raw_check(config, ops, err) ? NULL : calloc(1, sizeof(*r));
	size_t size = 2 * (size_t)config->half;

	if (!r || raw_make_locks(r)) {
		free(r);
		if (!err->code)
			pasta_fail(err, -ENOMEM,
				   "out of memory for the threads that store raw accesses");
		return NULL;
	}
	r->config = *config;
	r->ops = *ops;
	if (!r->config.workers || r->config.workers > WORKERS)
		r->config.workers = raw_processors();
	if (!r->config.stuck_ms)
		r->config.stuck_ms = STUCK_MS;
	r->workers = calloc(r->config.workers, sizeof(*r->workers));
	r->gathered = calloc(size + PASTA_WARP, sizeof(*r->gathered));
	memset(config->records, 0, size * sizeof(*config->records));
	memset(config->ring, 0, sizeof(*config->ring));
	if (!r->workers || !r->gathered) {
		raw_destroy(r);
		pasta_fail(err, -ENOMEM, "out of memory for the threads that store raw accesses");
		return NULL;
	}
	if (raw_start(r)) {
		pasta_raw_free(r);
		pasta_fail(err, -EAGAIN, "cannot start a thread that stores raw accesses");
		return NULL;
	}
	return r;
}

int pasta_raw_free(struct pasta_raw *r)
{
	struct timespec until = in_ms(CLOCK_MONOTONIC, END_MS);
	bool ended;
	uint32_t i;

	if (!r)
		return 0;
	pasta_lock(&r->lock);
	r->quit = true;
	pthread_cond_broadcast(&r->work);
	pthread_cond_broadcast(&r->opened);
	while (r->running && pthread_cond_timedwait(&r->done, &r->lock, &until) != ETIMEDOUT)
		;
	ended = !r->running;
	pasta_unlock(&r->lock);
	for (i = 0; i < r->threads; i++)
		if (ended)
			pthread_join(r->workers[i].thread, NULL);
		else
			pthread_detach(r->workers[i].thread);
	if (r->watching && ended)
		pthread_join(r->watcher, NULL);
	else if (r->watching)
		pthread_detach(r->watcher);
	if (!ended)
		return -ETIMEDOUT;
	raw_destroy(r);
	return 0;
}
