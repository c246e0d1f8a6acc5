/*
 * raw_internal.h - the host's side of raw accesses, inside: raw.c, rawtake.c and rawwork.c share it.
 *
 * raw.c opens and closes launches, and begins and ends it all; rawtake.c takes records out of the
 * ring, as lists; rawwork.c copies lists and hands them on.
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
	uint32_t copying;   /* workers that read records */
	bool quit, watched; /* watched: more may be given */
	_Atomic bool cut;   /* set under the lock. Under taking: the ring is not looked at */
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

/* -- The ring: also a device's. -- */

/* Nobody has written what comes after it: there was no room. Where what was given is not copied,
 * it lies in the same places. */
static inline uint64_t written(const struct pasta_raw *r)
{
	return __atomic_load_n(&r->config.ring->taken, __ATOMIC_RELAXED) +
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

static inline void take_one(struct pasta_access *to, struct pasta_access *from)
{
	*to = *from;
	__atomic_store_n(&from->launch, 0, __ATOMIC_RELAXED);
}

/* Whether two that follow one another are of one request. */
static inline bool goes_on(const struct pasta_access *a, const struct pasta_access *b)
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

/* rawwork.c */
void *raw_work(void *worker);
/* Under the lock: lists that are copied go, and the ring is freed. */
void raw_pop_lists(struct pasta_raw *r);

/* rawtake.c */
void *raw_watch(void *raw);
/* Under taking: what the ring still has of a launch that has run: all before head, where no other
 * is open; else what is found to be its own. False: that takes too long. */
void raw_take_rest(struct pasta_raw *r, uint64_t head);
bool raw_take_own(struct pasta_raw *r, uint32_t number, uint64_t head,
		  const struct timespec *until);
/* What was given up to now is copied. */
bool raw_wait_copied(struct pasta_raw *r, const struct timespec *until);

#endif
