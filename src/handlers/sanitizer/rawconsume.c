/* rawconsume.c - who watches a context's ring, and takes records out of it: in halves that are full,
 * and what is left of a launch that has run. */
#include <sched.h>

#include "collect/agent.h"
#include "core/lock.h"
#include "handlers/sanitizer/raw_internal.h"

enum { NAP_LEAST = 20, NAP_MOST = 200 }; /* us */

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

static void nap(uint32_t us)
{
	struct timespec t = {0, (long)us * 1000};

	pasta_nap(&t);
}

static void stop(struct pasta_raw *r)
{
	if (is_stopped(r))
		return;
	__atomic_store_n(&r->config.ring->stop, 1, __ATOMIC_RELEASE);
	pasta_agent_log("accesses", "raw ones are lost: they come faster than they can be written, "
				    "and nothing moves; use a faster disk, --sample, or --lossy");
}

/* Under the lock: room for a list. Kernels may wait for that: after too long they no longer do. */
static void wait_room(struct pasta_raw *r)
{
	struct timespec until = in_ms(CLOCK_MONOTONIC, r->config.stuck_ms);

	while (r->pushed - r->popped == LISTS && !atomic_load(&r->cut))
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
	pasta_lock(&r->lock);
	wait_room(r);
	if (atomic_load(&r->cut)) {
		pasta_unlock(&r->lock);
		return;
	}
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
	raw_pop_lists(r); /* where it is empty */
	pasta_unlock(&r->lock);
}

bool raw_wait_copied(struct pasta_raw *r, const struct timespec *until)
{
	uint64_t last;
	int error = 0;

	pasta_lock(&r->lock);
	last = r->pushed;
	while (!error && r->popped < last && !atomic_load(&r->cut))
		error = pthread_cond_timedwait(&r->copied, &r->lock, until);
	pasta_unlock(&r->lock);
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
	pasta_lock(&r->taking);
	full = is_full(r);
	if (full)
		take_half(r);
	pasta_unlock(&r->taking);
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

	pasta_lock(&r->lock);
	held = r->popped < r->pushed && r->tickets == p->step;
	p->step = r->tickets;
	pasta_unlock(&r->lock);
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

	pasta_lock(&r->lock);
	while (!r->open_count && !r->quit && !atomic_load(&r->cut))
		pthread_cond_wait(&r->opened, &r->lock);
	go_on = !r->quit && !atomic_load(&r->cut);
	pasta_unlock(&r->lock);
	return go_on;
}

void *raw_watch(void *arg)
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
	pasta_lock(&r->lock);
	r->running--;
	r->watched = false;
	pthread_cond_broadcast(&r->work);
	pthread_cond_broadcast(&r->done);
	pasta_unlock(&r->lock);
	return NULL;
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

/* It is not copied by one alone. */
void raw_take_rest(struct pasta_raw *r, uint64_t head)
{
	uint64_t half = r->config.half, last = written(r), end = head < last ? head : last, next;

	while (r->walked < end) {
		next = (r->walked / half + 1) * half;
		take_list(r, next < end ? next : end, 0);
	}
	give(r, r->edge, r->edge_count, 0);
	r->edge_count = 0;
}

/* Who gathers takes what no worker does. */
bool raw_take_own(struct pasta_raw *r, uint32_t number, uint64_t head, const struct timespec *until)
{
	if (!raw_wait_copied(r, until) || atomic_load(&r->cut))
		return false;
	give(r, r->gathered, gather(r, number, head), 0);
	return true;
}
