/*
 * raw_internal.h - declarations that raw.c, rawconsume.c and rawcopy.c share.
 *
 * raw.c opens and closes launches, and starts and stops the threads. rawconsume.c collects records
 * of the ring in lists. rawcopy.c copies the lists and delivers their records.
 */
#ifndef PASTA_SANITIZER_RAW_INTERNAL_H
#define PASTA_SANITIZER_RAW_INTERNAL_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "handlers/sanitizer/raw.h"

enum { OPEN_BITS = 8, OPEN = 1 << OPEN_BITS, SITES = 4096, PIECE = 4096, LISTS = 16 };

/* An open launch, whose records may still arrive. */
struct open {
	/* number of the launch; the lowest bits are the index into open[]; 0 if the launch is
	 * closed */
	_Atomic uint32_t number;
	uint32_t generation, group_size;
	uint64_t base;
	struct pasta_accesses_launch *launch;
	void *data;
	/* A cache of site numbers. The upper half of a value is the instruction's offset from the
	 * launch's base; the lower half is the site's number. An empty slot is 0. */
	_Atomic uint64_t *sites;
};

/* Records to be copied. */
struct list {
	struct pasta_access *records;
	size_t count, next, copied;
	/* new value of the ring's member `consumed` after the list is copied; 0 if the value does
	 * not change */
	uint64_t ring_consumed;
	/* the records, if the list is an incomplete request (`edge`) */
	struct pasta_access edge[2 * PASTA_WARP];
};

struct worker {
	struct pasta_raw *raw;
	pthread_t thread;
	/* number of the piece that the worker is processing, or 0; protected by raw->lock */
	uint64_t ticket;
	size_t count;
	bool mixed; /* whether the records belong to more than one launch */
	struct pasta_access copy[PIECE + PASTA_WARP], sorted[PIECE + PASTA_WARP];
};

/* A thread that needs both mutexes locks "consuming" before "lock". */
struct pasta_raw {
	struct pasta_raw_config config;
	struct pasta_raw_ops ops;
	struct open open[OPEN];
	struct worker *workers;
	pthread_t watcher;
	uint32_t threads; /* started workers */
	bool watching;
	_Atomic uint32_t waiting; /* threads that wait for "consuming" in order to flush */
	/* held while ops.site is called; the calling thread holds no other lock of struct
	 * pasta_raw */
	pthread_mutex_t resolving;

	pthread_mutex_t consuming; /* protects the next group */
	/* the incomplete request at the end of a half of the ring */
	struct pasta_access edge[2 * PASTA_WARP];
	size_t edge_count;
	struct pasta_access *gathered; /* 2 * half, and an edge */
	_Atomic uint64_t delivered; /* records passed to workers since the start, in whole halves */
	/* number of records that were passed to workers or moved to `gathered`; at least
	 * `delivered` */
	uint64_t walked;
	uint64_t dropped; /* dropped accesses that were already reported */

	pthread_mutex_t lock; /* protects the next group */
	pthread_cond_t work, copied, done, opened;
	/* a queue of lists, with the numbers from "popped" to "pushed" - 1 */
	struct list lists[LISTS];
	uint64_t pushed, popped;
	uint32_t idle, open_count, running;
	uint64_t tickets;
	uint32_t copying; /* workers that read records */
	bool quit;
	bool watched; /* whether the watcher thread runs and may queue lists */
	/* whether the ring must not be used any more; set under `lock`, read under `consuming` */
	_Atomic bool cut;
};

static inline struct timespec in_ms(clockid_t clock, uint64_t ms)
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

/* -- Access to the ring, to which a device may write concurrently -- */

/* Returns the number of the last record that may exist, plus 1. The device has no room for later
 * records, because records that are not copied yet occupy their slots. */
static inline uint64_t written(const struct pasta_raw *r)
{
	return __atomic_load_n(&r->config.ring->consumed, __ATOMIC_RELAXED) +
	       2 * (uint64_t)r->config.half;
}

static inline bool is_stopped(const struct pasta_raw *r)
{
	return __atomic_load_n(&r->config.ring->stop, __ATOMIC_RELAXED);
}

static inline uint32_t launch_of(const struct pasta_access *a)
{
	return __atomic_load_n(&a->launch, __ATOMIC_RELAXED);
}

static inline void raw_move_record(struct pasta_access *to, struct pasta_access *from)
{
	*to = *from;
	__atomic_store_n(&from->launch, 0, __ATOMIC_RELAXED);
}

/* Returns whether two adjacent records of the ring belong to the same request. */
static inline bool is_same_request(const struct pasta_access *a, const struct pasta_access *b)
{
	return launch_of(b) && launch_of(a) == launch_of(b) && a->group == b->group &&
	       a->site == b->site && a->turn == b->turn &&
	       a->thread / PASTA_WARP == b->thread / PASTA_WARP && a->thread < b->thread;
}

static inline bool is_open(struct pasta_raw *r, uint32_t number)
{
	return number &&
	       atomic_load_explicit(&r->open[number % OPEN].number, memory_order_acquire) == number;
}

/* The main function of a worker thread; in rawcopy.c. */
void *raw_work(void *worker);
/* Removes copied lists from the queue, and lets the device reuse their slots in the ring. The
 * caller holds r->lock. */
void raw_pop_lists(struct pasta_raw *r);

/* The main function of the thread that watches the ring; in rawconsume.c. */
void *raw_watch(void *raw);
/* raw_consume_rest and raw_consume_own consume the remaining records of a finished launch.
 * raw_consume_rest consumes all records before `head`; no other launch may be open. raw_consume_own
 * consumes only the launch's own records, and returns false on timeout. The caller holds
 * r->consuming. */
void raw_consume_rest(struct pasta_raw *r, uint64_t head);
bool raw_consume_own(struct pasta_raw *r, uint32_t number, uint64_t head,
		     const struct timespec *until);
/* Waits until the workers have copied all lists that were queued before the call. Returns false on
 * timeout. */
bool raw_wait_copied(struct pasta_raw *r, const struct timespec *until);

#endif
