/* raw.c - raw accesses of a context: who watches its ring, and the workers that hand them on. */
#include "handlers/sanitizer/raw.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collect/agent.h"

enum { OPEN_BITS = 8, OPEN = 1 << OPEN_BITS, SITES = 4096, PIECE = 4096, WORKERS = 64, LISTS = 16 };
enum { HALF_LEAST = 1024, STUCK_MS = 5000, END_MS = 5000, STACK = 256 << 10 };
enum { NAP_LEAST = 20, NAP_MOST = 200 }; /* us */

/* A launch whose records may come. */
struct open {
	_Atomic uint32_t number; /* 0: nobody's. Its place is in the lowest bits */
	uint32_t generation, group_size;
	uint64_t base;
	struct pasta_accesses_launch *launch;
	void *data;
	_Atomic uint64_t *sites; /* by difference: that above the number; 0: empty */
};

/* Records to be copied. */
struct list {
	struct pasta_access *records;
	size_t count, next, copied;
	uint64_t taken; /* what the ring's taken is after it; 0: as before */
	struct pasta_access edge[2 * PASTA_WARP]; /* where they are if they are few */
};

struct worker {
	struct pasta_raw *raw;
	pthread_t thread;
	uint64_t ticket; /* of the piece that it has; 0: none. Under the lock */
	size_t count;
	bool mixed; /* they are of more than one launch */
	struct pasta_access copy[PIECE + PASTA_WARP], sorted[PIECE + PASTA_WARP];
};

/* Locks are taken in this order: taking, lock. */
struct pasta_raw {
	struct pasta_raw_config config;
	struct pasta_raw_ops ops;
	struct open open[OPEN];
	struct worker *workers;
	pthread_t watcher;
	uint32_t threads; /* workers that were started */
	bool watching;
	_Atomic uint32_t waiting; /* for taking, to flush */
	pthread_mutex_t asking;	  /* the handler for a site: no other lock of ours is */

	pthread_mutex_t taking;			  /* who takes out of the ring; for what follows */
	struct pasta_access edge[2 * PASTA_WARP]; /* a request at the end of a half */
	size_t edge_count;
	struct pasta_access *gathered; /* 2 * half, and an edge */
	_Atomic uint64_t given;	       /* to workers, ever: whole halves */
	uint64_t walked;	       /* what is before it was given, or gathered; given or more */
	uint64_t lost;		       /* of the device's, that were told */

	pthread_mutex_t lock; /* for what follows */
	pthread_cond_t work, copied, done, opened;
	struct list lists[LISTS]; /* from popped to pushed, by number */
	uint64_t pushed, popped;
	uint32_t idle, open_count, running;
	uint64_t tickets;
	bool quit, watched; /* watched: more may be given */
};

/* -- Time. -- */

static struct timespec in_ms(clockid_t clock, uint64_t ms)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_sec += (time_t)(ms / 1000);
	t.tv_nsec += (long)(ms % 1000) * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

static void nap(uint32_t us)
{
	struct timespec t = {0, (long)us * 1000};

	nanosleep(&t, NULL);
}

/* -- The ring: also a device's. -- */

static bool is_full(const struct pasta_raw *r)
{
	uint64_t half = r->config.half;
	uint64_t n = atomic_load_explicit(&r->given, memory_order_relaxed) / half;

	return __atomic_load_n(&r->config.ring->filled[n & 1], __ATOMIC_ACQUIRE) >=
	       (n / 2 + 1) * half;
}

static uint64_t filled(const struct pasta_raw *r)
{
	return __atomic_load_n(&r->config.ring->filled[0], __ATOMIC_RELAXED) +
	       __atomic_load_n(&r->config.ring->filled[1], __ATOMIC_RELAXED);
}

/* Nobody has written what comes after it: there was no room. Where what was given is not copied,
 * it lies in the same places. */
static uint64_t written(const struct pasta_raw *r)
{
	return __atomic_load_n(&r->config.ring->taken, __ATOMIC_RELAXED) +
	       2 * (uint64_t)r->config.half;
}

static bool is_stopped(const struct pasta_raw *r)
{
	return __atomic_load_n(&r->config.ring->stop, __ATOMIC_RELAXED);
}

static uint32_t launch_of(const struct pasta_access *a)
{
	return __atomic_load_n(&a->launch, __ATOMIC_RELAXED);
}

static void take_one(struct pasta_access *to, struct pasta_access *from)
{
	*to = *from;
	__atomic_store_n(&from->launch, 0, __ATOMIC_RELAXED);
}

/* Whether two that follow one another are of one request. */
static bool goes_on(const struct pasta_access *a, const struct pasta_access *b)
{
	return launch_of(b) && launch_of(a) == launch_of(b) && a->group == b->group &&
	       a->site == b->site && a->turn == b->turn &&
	       a->thread / PASTA_WARP == b->thread / PASTA_WARP && a->thread < b->thread;
}

/* -- Workers: what is theirs to do. -- */

static bool is_open(struct pasta_raw *r, uint32_t number)
{
	return number &&
	       atomic_load_explicit(&r->open[number % OPEN].number, memory_order_acquire) == number;
}

static struct open *open_of(struct pasta_raw *r, uint32_t number)
{
	return is_open(r, number) ? &r->open[number % OPEN] : NULL;
}

/* Whether its site is known; else *place is where it is to be put, NULL: there is no room. */
static bool find_site(struct open *o, uint32_t difference, uint32_t *site, _Atomic uint64_t **place)
{
	uint32_t i = difference / 16 * UINT32_C(2654435761) % SITES, tries;

	*place = NULL;
	for (tries = 0; tries < 16; tries++, i = (i + 1) % SITES) {
		uint64_t cell = atomic_load_explicit(&o->sites[i], memory_order_relaxed);

		*site = (uint32_t)cell;
		if (cell && cell >> 32 == difference)
			return true;
		*place = &o->sites[i];
		if (!cell)
			return false;
	}
	*place = NULL;
	return false;
}

/* Where the cache is full the handler is asked each time. Workers begin a launch together, with the
 * same sites: one of them asks. */
static uint32_t site_of(struct pasta_raw *r, struct open *o, const struct pasta_access *a)
{
	uint32_t difference = a->site, flags = a->kind | (uint32_t)a->space << 8, site;
	_Atomic uint64_t *place;

	if (r->config.siteless)
		return 0;
	if (find_site(o, difference, &site, &place))
		return site;
	pthread_mutex_lock(&r->asking);
	if (!find_site(o, difference, &site, &place)) {
		site = r->ops.site(r->ops.ctx, o->data,
				   o->base + (uint64_t)(int64_t)(int32_t)difference, flags);
		if (place)
			atomic_store_explicit(place, (uint64_t)difference << 32 | site,
					      memory_order_relaxed);
	}
	pthread_mutex_unlock(&r->asking);
	return site;
}

/* Those of the first one's launch, in their order; others stay. */
static size_t sort_out(struct worker *w, struct open *o, uint32_t number)
{
	uint32_t difference = 0, site = 0;
	size_t i, kept = 0, count = 0;

	for (i = 0; i < w->count; i++) {
		struct pasta_access *a = &w->copy[i];

		if (a->launch != number) {
			w->copy[kept++] = *a;
			continue;
		}
		if (o && (!count || a->site != difference)) {
			difference = a->site;
			site = site_of(w->raw, o, a);
		}
		w->sorted[count] = *a;
		w->sorted[count++].site = site;
	}
	w->count = kept;
	return count;
}

/* They are all of one launch. */
static void name_sites(struct worker *w, struct open *o)
{
	uint32_t difference = w->copy[0].site, site = site_of(w->raw, o, &w->copy[0]);

	for (size_t i = 0; i < w->count; i++) {
		struct pasta_access *a = &w->copy[i];

		if (a->site != difference) {
			difference = a->site;
			site = site_of(w->raw, o, a);
		}
		a->site = site;
	}
}

static void hand_on(struct pasta_raw *r, struct worker *w)
{
	while (w->count) {
		uint32_t number = w->copy[0].launch;
		struct open *o = open_of(r, number);
		const struct pasta_access *list = w->mixed ? w->sorted : w->copy;
		size_t count = w->mixed ? sort_out(w, o, number) : w->count;

		if (!w->mixed) {
			if (o && !r->config.siteless)
				name_sites(w, o);
			w->count = 0;
		}
		if (o)
			r->ops.batch(o->launch, list, count, o->group_size, r->config.counts);
		else if (r->ops.stray)
			r->ops.stray(count);
		else
			pasta_emit_lost(PASTA_LOSS_SOURCE, count);
	}
}

static void copy(struct worker *w, struct pasta_access *from, size_t count)
{
	struct pasta_access *to = w->copy;
	size_t i;

	w->mixed = false;
	for (i = 0; i < count; i++) {
		if (!launch_of(&from[i])) /* it was taken before */
			continue;
		take_one(to, &from[i]);
		w->mixed |= to->launch != w->copy[0].launch;
		to++;
	}
	w->count = (size_t)(to - w->copy);
}

/* Under the lock: one that is not all somebody's. NULL: there is none. */
static struct list *find_list(struct pasta_raw *r)
{
	for (uint64_t i = r->popped; i < r->pushed; i++) {
		struct list *list = &r->lists[i % LISTS];

		if (list->next < list->count)
			return list;
	}
	return NULL;
}

/* Under the lock: the next piece. A request is one worker's. */
static struct pasta_access *take_piece(struct worker *w, struct list *list, size_t *count)
{
	struct pasta_access *records = list->records, *piece = records + list->next;
	size_t end = list->count - list->next > PIECE ? list->next + PIECE : list->count;

	while (end < list->count && goes_on(&records[end - 1], &records[end]))
		end++;
	*count = end - list->next;
	list->next = end;
	w->ticket = ++w->raw->tickets;
	return piece;
}

/* Under the lock. What was copied is the device's again, in the order in which it came. */
static void pop_lists(struct pasta_raw *r)
{
	uint64_t before = r->popped;

	while (r->popped < r->pushed) {
		struct list *list = &r->lists[r->popped % LISTS];

		if (list->copied < list->count)
			break;
		if (list->taken)
			__atomic_store_n(&r->config.ring->taken, list->taken, __ATOMIC_RELEASE);
		r->popped++;
	}
	if (r->popped != before)
		pthread_cond_broadcast(&r->copied);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct pasta_raw *r = w->raw;
	struct pasta_access *piece;
	struct list *list;
	size_t count;

	pthread_mutex_lock(&r->lock);
	while ((list = find_list(r)) || !r->quit || r->watched) {
		if (!list) {
			r->idle++;
			pthread_cond_wait(&r->work, &r->lock);
			r->idle--;
			continue;
		}
		piece = take_piece(w, list, &count);
		pthread_mutex_unlock(&r->lock);
		copy(w, piece, count);
		pthread_mutex_lock(&r->lock);
		list->copied += count;
		pop_lists(r);
		pthread_mutex_unlock(&r->lock);
		hand_on(r, w);
		pthread_mutex_lock(&r->lock);
		w->ticket = 0;
		pthread_cond_broadcast(&r->done);
	}
	r->running--;
	pthread_cond_broadcast(&r->done);
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* -- Taking. -- */

static void stop(struct pasta_raw *r)
{
	if (is_stopped(r))
		return;
	__atomic_store_n(&r->config.ring->stop, 1, __ATOMIC_RELEASE);
	pasta_agent_say("accesses", "raw ones are lost: they come faster than they can be written, "
				    "and nothing moves; use a faster disk, --sample, or --lossy");
}

/* Under the lock: room for a list. Kernels may wait for that: after too long they no longer do. */
static void wait_room(struct pasta_raw *r)
{
	struct timespec until = in_ms(CLOCK_MONOTONIC, r->config.stuck_ms);

	while (r->pushed - r->popped == LISTS)
		if (pthread_cond_timedwait(&r->copied, &r->lock, &until) == ETIMEDOUT) {
			stop(r);
			until = in_ms(CLOCK_MONOTONIC, r->config.stuck_ms);
		}
}

/* Under taking: give a list to the workers, no more of them than it has pieces for. taken is the
 * ring's when it is copied; 0: as before. */
static void give(struct pasta_raw *r, struct pasta_access *records, size_t count, uint64_t taken)
{
	size_t pieces = (count + PIECE - 1) / PIECE, i;
	struct list *list;

	if (!count && !taken)
		return;
	pthread_mutex_lock(&r->lock);
	wait_room(r);
	list = &r->lists[r->pushed++ % LISTS];
	list->records = records;
	list->count = count;
	list->next = list->copied = 0;
	list->taken = taken;
	if (records == r->edge) {
		memcpy(list->edge, records, count * sizeof(*records));
		list->records = list->edge;
	}
	for (i = 0; i < pieces && i < r->idle; i++)
		pthread_cond_signal(&r->work);
	pop_lists(r); /* where it is empty */
	pthread_mutex_unlock(&r->lock);
}

/* What was given up to now is copied. */
static bool wait_copied(struct pasta_raw *r, const struct timespec *until)
{
	uint64_t last;
	int error = 0;

	pthread_mutex_lock(&r->lock);
	last = r->pushed;
	while (!error && r->popped < last)
		error = pthread_cond_timedwait(&r->copied, &r->lock, until);
	pthread_mutex_unlock(&r->lock);
	return !error;
}

/* The request at the end of the half before, with what begins this one. Returns how many that is.
 */
static size_t give_edge(struct pasta_raw *r, struct pasta_access *list, size_t size)
{
	size_t n = 0;

	while (r->edge_count && n < PASTA_WARP && n < size &&
	       goes_on(&r->edge[r->edge_count - 1], &list[n])) {
		take_one(&r->edge[r->edge_count++], &list[n]);
		n++;
	}
	give(r, r->edge, r->edge_count, 0);
	r->edge_count = 0;
	return n;
}

/* The request that the list ends with may go on in the next one. */
static size_t keep_edge(struct pasta_raw *r, struct pasta_access *list, size_t count)
{
	size_t n = 0, i;

	if (!count || !launch_of(&list[count - 1]))
		return count;
	for (n = 1; n < PASTA_WARP && n < count; n++)
		if (!goes_on(&list[count - n - 1], &list[count - n]))
			break;
	for (i = 0; i < n; i++)
		take_one(&r->edge[i], &list[count - n + i]);
	r->edge_count = n;
	return count - n;
}

/* Under taking: what comes next, up to end, which is in the same half or its end. */
static void take_list(struct pasta_raw *r, uint64_t end, uint64_t taken)
{
	struct pasta_access *list = r->config.records + r->walked % (2 * (uint64_t)r->config.half);
	size_t size = (size_t)(end - r->walked), begun = give_edge(r, list, size);
	size_t count = keep_edge(r, list, size);

	/* The edge that was kept may be all that there is past the one that was given. */
	give(r, list + begun, count > begun ? count - begun : 0, taken);
	r->walked = end;
}

static void take_half(struct pasta_raw *r)
{
	uint64_t end = atomic_load(&r->given) + r->config.half;

	if (r->walked < end)
		take_list(r, end, end);
	else
		give(r, NULL, 0, end);
	atomic_store(&r->given, end);
}

/* Whether there was one. */
static bool take_if_full(struct pasta_raw *r)
{
	bool full = false;

	if (!is_full(r))
		return false;
	pthread_mutex_lock(&r->taking);
	full = is_full(r);
	if (full)
		take_half(r);
	pthread_mutex_unlock(&r->taking);
	return full;
}

/* Workers that are held up: by which step, and since when. */
struct patience {
	uint64_t step;
	struct timespec until; /* 0: they are not */
};

/* Kernels may wait for them: after too long they no longer do. */
static void look_after(struct pasta_raw *r, struct patience *p)
{
	struct timespec now = in_ms(CLOCK_MONOTONIC, 0);
	bool held;

	pthread_mutex_lock(&r->lock);
	held = r->popped < r->pushed && r->tickets == p->step;
	p->step = r->tickets;
	pthread_mutex_unlock(&r->lock);
	if (!held)
		p->until = (struct timespec){0};
	else if (!p->until.tv_sec)
		p->until = in_ms(CLOCK_MONOTONIC, r->config.stuck_ms);
	else if (now.tv_sec > p->until.tv_sec ||
		 (now.tv_sec == p->until.tv_sec && now.tv_nsec > p->until.tv_nsec))
		stop(r);
}

/* Nothing is open, nothing comes. False: it ends. */
static bool wait_open(struct pasta_raw *r)
{
	bool go_on;

	pthread_mutex_lock(&r->lock);
	while (!r->open_count && !r->quit)
		pthread_cond_wait(&r->opened, &r->lock);
	go_on = !r->quit;
	pthread_mutex_unlock(&r->lock);
	return go_on;
}

static void *watch(void *arg)
{
	struct pasta_raw *r = arg;
	struct patience patience = {0};
	uint64_t seen = 0, now;
	uint32_t us = NAP_LEAST;

	while (wait_open(r)) {
		bool took = take_if_full(r);

		now = filled(r);
		if (!took)
			look_after(r, &patience);
		if (atomic_load(&r->waiting)) /* a lock is not fair */
			nap(NAP_LEAST);
		else if (took || now != seen)
			sched_yield();
		else
			nap(us);
		us = took || now != seen ? NAP_LEAST : us < NAP_MOST / 2 ? 2 * us : NAP_MOST;
		seen = now;
	}
	pthread_mutex_lock(&r->lock);
	r->running--;
	r->watched = false;
	pthread_cond_broadcast(&r->work);
	pthread_cond_broadcast(&r->done);
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* -- Launches. -- */

/* Under taking and the lock: those who found no room have left gaps, and nobody writes now. */
static void clear(struct pasta_raw *r)
{
	struct pasta_gpu_ring *ring = r->config.ring;

	if (!r->ops.rewind || r->ops.rewind(r->ops.ctx))
		return;
	memset(r->config.records, 0, 2 * (size_t)r->config.half * sizeof(*r->config.records));
	r->edge_count = 0;
	r->lost = 0;
	r->walked = 0;
	atomic_store(&r->given, 0);
	__atomic_store_n(&ring->filled[0], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->filled[1], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->taken, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->stop, 0, __ATOMIC_RELEASE);
}

/* Under the lock. Who launches does not wait for it: the next one may find it free. */
static void use_again(struct pasta_raw *r)
{
	if (r->open_count || !is_stopped(r) || r->popped < r->pushed ||
	    pthread_mutex_trylock(&r->taking))
		return;
	clear(r);
	pthread_mutex_unlock(&r->taking);
}

/* Under the lock. NULL: all are taken, or there is no memory. */
static struct open *open_take(struct pasta_raw *r)
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

static uint32_t next_number(struct pasta_raw *r, struct open *o)
{
	o->generation = o->generation % ((1u << (32 - OPEN_BITS)) - 1) + 1;
	return o->generation << OPEN_BITS | (uint32_t)(o - r->open);
}

uint32_t pasta_raw_begin(struct pasta_raw *r, struct pasta_accesses_launch *launch,
			 uint32_t group_size, uint64_t base, void *data)
{
	uint32_t number = 0, i;
	struct open *o;

	pthread_mutex_lock(&r->lock);
	use_again(r);
	o = open_take(r);
	if (o) {
		number = next_number(r, o);
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
	pthread_mutex_unlock(&r->lock);
	return number;
}

/* Under taking: what the ring still has of a launch that has run, wherever it lies. Others may be
 * writing there: of theirs nothing is looked at but whose they are. */
static size_t gather(struct pasta_raw *r, uint32_t number, uint64_t head)
{
	uint64_t size = 2 * (uint64_t)r->config.half, at;
	uint64_t last = written(r), end = head < last ? head : last;
	size_t count = 0;

	if (r->edge_count && r->edge[0].launch == number) {
		memcpy(r->gathered, r->edge, r->edge_count * sizeof(*r->edge));
		count = r->edge_count;
		r->edge_count = 0;
	}
	for (at = r->walked; at < end; at++)
		if (launch_of(&r->config.records[at % size]) == number)
			take_one(&r->gathered[count++], &r->config.records[at % size]);
	return count;
}

/* Under taking: whether it is open, and no other is. */
static bool is_alone(struct pasta_raw *r, const struct open *o, uint32_t number)
{
	bool alone;

	pthread_mutex_lock(&r->lock);
	alone = r->open_count == 1 && atomic_load(&o->number) == number;
	pthread_mutex_unlock(&r->lock);
	return alone;
}

/* Under taking: what comes before head, and is nobody else's. It is not copied by one alone. */
static void take_rest(struct pasta_raw *r, uint64_t head)
{
	uint64_t half = r->config.half, last = written(r), end = head < last ? head : last, next;

	while (r->walked < end) {
		next = (r->walked / half + 1) * half;
		take_list(r, next < end ? next : end, 0);
	}
	give(r, r->edge, r->edge_count, 0);
	r->edge_count = 0;
}

/* Under taking. Which launch lost them is not known: the first one that asks has them. */
static void tell_lost(struct pasta_raw *r, const struct open *o, uint64_t lost)
{
	if (lost <= r->lost) /* another has read it later, and was here first */
		return;
	r->ops.lost(o->launch, lost - r->lost);
	r->lost = lost;
}

/* What was given to workers up to now is handed on. */
static bool wait_done(struct pasta_raw *r, const struct timespec *until)
{
	uint64_t last;
	uint32_t i = 0;
	int error = 0;

	pthread_mutex_lock(&r->lock);
	last = r->tickets;
	while (!error && i < r->threads)
		if (r->workers[i].ticket && r->workers[i].ticket <= last)
			error = pthread_cond_timedwait(&r->done, &r->lock, until);
		else
			i++;
	pthread_mutex_unlock(&r->lock);
	return !error;
}

/* Whose place is not given away yet: also one that was abandoned, and may still be handed on. */
static struct open *place_of(struct pasta_raw *r, uint32_t number)
{
	struct open *o = &r->open[number % OPEN];
	bool has;

	pthread_mutex_lock(&r->lock);
	has = number && o->launch && o->generation == number >> OPEN_BITS;
	pthread_mutex_unlock(&r->lock);
	return has ? o : NULL;
}

static void close_one(struct pasta_raw *r, struct open *o, uint32_t number)
{
	pthread_mutex_lock(&r->lock);
	if (atomic_load(&o->number) == number) {
		atomic_store(&o->number, 0);
		r->open_count--;
	}
	pthread_mutex_unlock(&r->lock);
}

/* Its place may be another's, and is already where two have closed it. */
static void leave(struct pasta_raw *r, struct open *o, uint32_t number)
{
	pthread_mutex_lock(&r->lock);
	if (o->generation == number >> OPEN_BITS)
		o->launch = NULL;
	pthread_mutex_unlock(&r->lock);
}

int pasta_raw_flush(struct pasta_raw *r, uint32_t number, uint32_t timeout_ms)
{
	struct timespec until = in_ms(CLOCK_MONOTONIC, timeout_ms);
	struct timespec limit = in_ms(CLOCK_REALTIME, timeout_ms);
	uint64_t head = UINT64_MAX, lost = 0;
	struct open *o = &r->open[number % OPEN];
	bool told;
	int error;

	if (!is_open(r, number))
		return pasta_raw_abandon(r, number, timeout_ms);
	told = r->ops.read && !r->ops.read(r->ops.ctx, &head, &lost);
	atomic_fetch_add(&r->waiting, 1);
	error = pthread_mutex_timedlock(&r->taking, &limit);
	atomic_fetch_sub(&r->waiting, 1);
	if (error)
		return -error;
	if (told)
		tell_lost(r, o, lost);
	if (told && is_alone(r, o, number))
		take_rest(r, head);
	else if (wait_copied(r, &until)) /* who gathers takes what no worker does */
		give(r, r->gathered, gather(r, number, told ? head : UINT64_MAX), 0);
	else
		error = ETIMEDOUT;
	pthread_mutex_unlock(&r->taking);
	if (error || !wait_copied(r, &until) || !wait_done(r, &until))
		return -ETIMEDOUT;
	close_one(r, o, number);
	leave(r, o, number);
	return 0;
}

/* Whoever has found it open has a ticket by now. */
int pasta_raw_abandon(struct pasta_raw *r, uint32_t number, uint32_t timeout_ms)
{
	struct timespec until = in_ms(CLOCK_MONOTONIC, timeout_ms);
	struct open *o = place_of(r, number);

	if (!o)
		return 0;
	close_one(r, o, number);
	if (!wait_done(r, &until))
		return -ETIMEDOUT;
	leave(r, o, number);
	return 0;
}

/* -- Beginning and end. -- */

static uint32_t processors(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

	return n < 1 ? 1 : n > WORKERS ? WORKERS : (uint32_t)n;
}

static int make_locks(struct pasta_raw *r)
{
	pthread_condattr_t attr;
	int error = pthread_condattr_init(&attr);

	if (error)
		return -error;
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&r->asking, NULL);
	pthread_mutex_init(&r->taking, NULL);
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->work, &attr);
	pthread_cond_init(&r->copied, &attr);
	pthread_cond_init(&r->done, &attr);
	pthread_cond_init(&r->opened, &attr);
	pthread_condattr_destroy(&attr);
	return 0;
}

/* The program's signals are not for them. */
static int start(struct pasta_raw *r)
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
		error = pthread_create(&w->thread, &attr, work, w);
		r->threads += !error;
	}
	if (!error)
		error = pthread_create(&r->watcher, &attr, watch, r);
	r->watching = !error;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	pthread_mutex_lock(&r->lock);
	r->running -= r->config.workers - r->threads + !r->watching;
	r->watched &= r->watching;
	pthread_mutex_unlock(&r->lock);
	return -error;
}

static void destroy(struct pasta_raw *r)
{
	for (uint32_t i = 0; i < OPEN; i++)
		free(r->open[i].sites);
	pthread_mutex_destroy(&r->asking);
	pthread_mutex_destroy(&r->taking);
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->work);
	pthread_cond_destroy(&r->copied);
	pthread_cond_destroy(&r->done);
	pthread_cond_destroy(&r->opened);
	free(r->workers);
	free(r->gathered);
	free(r);
}

static int check(const struct pasta_raw_config *c, const struct pasta_raw_ops *ops,
		 struct pasta_err *err)
{
	if (!c->ring || !c->records || c->half < HALF_LEAST || c->half & (c->half - 1))
		return pasta_fail(err, -EINVAL,
				  "a ring of raw accesses has halves of a power of two from %d "
				  "on, not of %u",
				  HALF_LEAST, c->half);
	if (!ops->site || !ops->batch || !ops->lost)
		return pasta_fail(err, -EINVAL, "raw accesses need site, batch and lost");
	return 0;
}

struct pasta_raw *pasta_raw_new(const struct pasta_raw_config *config,
				const struct pasta_raw_ops *ops, struct pasta_err *err)
{
	struct pasta_raw *r = check(config, ops, err) ? NULL : calloc(1, sizeof(*r));
	size_t size = 2 * (size_t)config->half;

	if (!r || make_locks(r)) {
		free(r);
		if (!err->code)
			pasta_fail(err, -ENOMEM, "out of memory for raw accesses");
		return NULL;
	}
	r->config = *config;
	r->ops = *ops;
	if (!r->config.workers || r->config.workers > WORKERS)
		r->config.workers = processors();
	if (!r->config.stuck_ms)
		r->config.stuck_ms = STUCK_MS;
	r->workers = calloc(r->config.workers, sizeof(*r->workers));
	r->gathered = calloc(size + PASTA_WARP, sizeof(*r->gathered));
	memset(config->records, 0, size * sizeof(*config->records));
	memset(config->ring, 0, sizeof(*config->ring));
	if (!r->workers || !r->gathered) {
		destroy(r);
		pasta_fail(err, -ENOMEM, "out of memory for raw accesses");
		return NULL;
	}
	if (start(r)) {
		pasta_raw_free(r);
		pasta_fail(err, -EAGAIN, "no thread can be started for raw accesses");
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
	pthread_mutex_lock(&r->lock);
	r->quit = true;
	pthread_cond_broadcast(&r->work);
	pthread_cond_broadcast(&r->opened);
	while (r->running && pthread_cond_timedwait(&r->done, &r->lock, &until) != ETIMEDOUT)
		;
	ended = !r->running;
	pthread_mutex_unlock(&r->lock);
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
	destroy(r);
	return 0;
}
