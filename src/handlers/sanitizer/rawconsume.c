/* rawconsume.c - collects records of a context's ring: full halves, and the remaining records of
 * finished launches. */
#include <sched.h>

#include "collect/agent.h"
#include "core/lock.h"
#include "handlers/sanitizer/raw_internal.h"

enum { NAP_LEAST = 20, NAP_MOST = 200 }; /* us */

static bool ring_is_full(const struct pasta_raw *r)
{
	uint64_t half = r->config.half;
	uint64_t n = atomic_load_explicit(&r->delivered, memory_order_relaxed) / half;

	return __atomic_load_n(&r->config.ring->filled[n & 1], __ATOMIC_ACQUIRE) >=
	       (n / 2 + 1) * half;
}

static uint64_t ring_filled(const struct pasta_raw *r)
{
	return __atomic_load_n(&r->config.ring->filled[0], __ATOMIC_RELAXED) +
	       __atomic_load_n(&r->config.ring->filled[1], __ATOMIC_RELAXED);
}

static void watcher_nap(uint32_t us)
{
	struct timespec t = {0, (long)us * 1000};

	pasta_nap(&t);
}

static void ring_stop(struct pasta_raw *r)
{
	if (is_stopped(r))
		return;
	__atomic_store_n(&r->config.ring->stop, 1, __ATOMIC_RELEASE);
	pasta_agent_log("accesses", "raw accesses are dropped, because they arrive faster than "
				    "they can be written: use a faster disk, --sample or --lossy");
}

/* Waits for room in the queue of lists. Kernels may have to wait as well, so the ring is stopped
 * after stuck_ms to let kernels continue. The caller holds r->lock. */
static void lists_wait_room(struct pasta_raw *r)
{
	struct timespec until = in_ms(CLOCK_MONOTONIC, r->config.stuck_ms);

	while (r->pushed - r->popped == LISTS && !atomic_load(&r->cut))
		if (pthread_cond_timedwait(&r->copied, &r->lock, &until) == ETIMEDOUT) {
			ring_stop(r);
			until = in_ms(CLOCK_MONOTONIC, r->config.stuck_ms);
		}
}

/* Queues a list of records and wakes at most one worker for each piece of the list. When the list
 * is copied, the ring's member `consumed` is set to ring_consumed, unless ring_consumed is 0. The
 * caller holds r->consuming. */
static void lists_push(struct pasta_raw *r, struct pasta_access *records, size_t count,
		       uint64_t consumed)
{
	size_t pieces = (count + PIECE - 1) / PIECE, i;
	struct list *list;

	if (!count && !consumed)
		return;
	pasta_lock(&r->lock);
	lists_wait_room(r);
	if (atomic_load(&r->cut)) {
		pasta_unlock(&r->lock);
		return;
	}
	list = &r->lists[r->pushed++ % LISTS];
	list->records = records;
	list->count = count;
	list->next = list->copied = 0;
	list->ring_consumed = consumed;
	if (records == r->edge) {
		memcpy(list->edge, records, count * sizeof(*records));
		list->records = list->edge;
	}
	for (i = 0; i < pieces && i < r->idle; i++)
		pthread_cond_signal(&r->work);
	raw_pop_lists(r); /* the list may be empty */
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

/* Queues the incomplete request at the end of the previous half, together with the request's
 * remaining records in this half. Returns the number of these remaining records. */
static size_t edge_push(struct pasta_raw *r, struct pasta_access *list, size_t size)
{
	size_t n = 0;

	while (r->edge_count && n < PASTA_WARP && n < size &&
	       is_same_request(&r->edge[r->edge_count - 1], &list[n])) {
		raw_move_record(&r->edge[r->edge_count++], &list[n]);
		n++;
	}
	lists_push(r, r->edge, r->edge_count, 0);
	r->edge_count = 0;
	return n;
}

/* Stores the last request of a list in r->edge, because the request may continue in the next half.
 * Returns the number of records before the request. */
static size_t edge_store(struct pasta_raw *r, struct pasta_access *list, size_t count)
{
	size_t n = 0, i;

	if (!count || !launch_of(&list[count - 1]))
		return count;
	for (n = 1; n < PASTA_WARP && n < count; n++)
		if (!is_same_request(&list[count - n - 1], &list[count - n]))
			break;
	for (i = 0; i < n; i++)
		raw_move_record(&r->edge[i], &list[count - n + i]);
	r->edge_count = n;
	return count - n;
}

/* Queues the records before `end`, which is at most the end of the current half. The caller holds
 * r->consuming. */
static void ring_consume_to(struct pasta_raw *r, uint64_t end, uint64_t consumed)
{
	struct pasta_access *list = r->config.records + r->walked % (2 * (uint64_t)r->config.half);
	size_t size = (size_t)(end - r->walked), begun = edge_push(r, list, size);
	size_t count = edge_store(r, list, size);

	/* All records after the queued records may be in r->edge. */
	lists_push(r, list + begun, count > begun ? count - begun : 0, consumed);
	r->walked = end;
}

static void ring_consume_half(struct pasta_raw *r)
{
	uint64_t end = atomic_load(&r->delivered) + r->config.half;

	if (r->walked < end)
		ring_consume_to(r, end, end);
	else
		lists_push(r, NULL, 0, end);
	atomic_store(&r->delivered, end);
}

/* If the next half of the ring is full, consumes this half and returns true. */
static bool ring_consume_if_full(struct pasta_raw *r)
{
	bool full = false;

	if (!ring_is_full(r))
		return false;
	pasta_lock(&r->consuming);
	full = ring_is_full(r);
	if (full)
		ring_consume_half(r);
	pasta_unlock(&r->consuming);
	return full;
}

/* Updates the time since which the workers have made no progress. */
struct stuck_check {
	uint64_t step;
	/* time at which to stop the ring; 0 while the workers make progress */
	struct timespec until;
};

/* Kernels may wait for the workers. After stuck_ms without progress, the ring is therefore stopped,
 * so that kernels continue. */
static void watcher_check_stuck(struct pasta_raw *r, struct stuck_check *p)
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
		ring_stop(r);
}

/* Waits until a launch is open. Returns false if the watcher must end. */
static bool watcher_wait_open(struct pasta_raw *r)
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
	struct stuck_check patience = {0};
	uint64_t seen = 0, now;
	uint32_t us = NAP_LEAST;

	while (watcher_wait_open(r)) {
		bool consumed = ring_consume_if_full(r);

		now = ring_filled(r);
		if (!consumed)
			watcher_check_stuck(r, &patience);
		/* sleep, so that a waiting thread can lock the mutex */
		if (atomic_load(&r->waiting))
			watcher_nap(NAP_LEAST);
		else if (consumed || now != seen)
			sched_yield();
		else
			watcher_nap(us);
		us = consumed || now != seen ? NAP_LEAST : us < NAP_MOST / 2 ? 2 * us : NAP_MOST;
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

/* Moves the remaining records of a finished launch to r->gathered and returns their number. Other
 * launches may be writing to the ring, so of the records of other launches only the launch number
 * is read. The caller holds r->consuming. */
static size_t ring_gather(struct pasta_raw *r, uint32_t number, uint64_t head)
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
			raw_move_record(&r->gathered[count++], &r->config.records[at % size]);
	return count;
}

/* The workers can copy several lists in parallel. */
void raw_consume_rest(struct pasta_raw *r, uint64_t head)
{
	uint64_t half = r->config.half, last = written(r), end = head < last ? head : last, next;

	while (r->walked < end) {
		next = (r->walked / half + 1) * half;
		ring_consume_to(r, next < end ? next : end, 0);
	}
	lists_push(r, r->edge, r->edge_count, 0);
	r->edge_count = 0;
}

/* Waits for the workers first, so that a worker and this thread do not read the same record. */
bool raw_consume_own(struct pasta_raw *r, uint32_t number, uint64_t head,
		     const struct timespec *until)
{
	if (!raw_wait_copied(r, until) || atomic_load(&r->cut))
		return false;
	lists_push(r, r->gathered, ring_gather(r, number, head), 0);
	return true;
}
