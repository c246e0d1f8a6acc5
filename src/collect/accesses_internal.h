/*
 * accesses_internal.h - declarations that the files accesses*.c share.
 *
 * accesses.c manages a process's counter and its launches. accesses_config.c reads the
 * configuration. accesses_threads.c contains the state of counting threads, and all functions on
 * hot paths. accesses_rows.c emits the rows of a launch.
 *
 * Limits of memory: A launch has 144 bytes, and at most 65,536 are open. A thread has 7 MiB of
 * cells, 2 MiB for each table by site and 2 MiB for requests; at most 1,024 threads count. The sums
 * of a launch have 72 bytes per row and at most 4,194,304 rows per reducer; at most 64 launches
 * have sums, and 64 more if device and host both count. Memory is allocated on first use, and
 * reused; sums that have grown large free their memory. rawwriter.h states the limits for raw
 * accesses.
 *
 * Locks are acquired in this order: a thread's, a launch's, then the counter's or a pool's. A
 * thread that holds the lock `emitting` holds none of these locks.
 */
#ifndef PASTA_COLLECT_ACCESSES_INTERNAL_H
#define PASTA_COLLECT_ACCESSES_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "collect/accesses.h"
#include "collect/compare.h"
#include "collect/sumpool.h"
#include "core/err.h"

enum { SLOT_BITS = 16, SLOTS = 1 << SLOT_BITS };

struct pasta_accesses_launch {
	_Atomic uint64_t token; /* 0: the slot is free */
	struct counter *counter;
	uint64_t corr;
	void *data; /* the handler's */
	uint32_t name, tid;
	uint32_t next_free; /* index of the next free slot, plus 1 */
	/* device and host did not count the same accesses, so do not compare them */
	_Atomic bool partial;
	/* device and host are compared: threads add their counts to the member `host`, not to
	 * `sums` */
	bool compared;
	_Atomic uint64_t dropped, raw_dropped;
	_Atomic uint64_t stored; /* raw accesses that the raw writer has received */
	/* the kernel's name, if device and host are compared; NULL when out of memory */
	char *kernel;
	/* the set of objects that all threads use; NULL: each thread uses its own */
	const struct pasta_version *version;
	pthread_mutex_t lock; /* protects the sums */
	struct pasta_sums *sums, *host;
};

/* A process's state for counting. A forked child creates its own counter, which points to its
 * parent's so that leak checkers can reach all memory. */
struct counter {
	struct counter *parent;
	struct pasta_sampler *sampler;
	struct pasta_objreg *objects;
	/* NULL: raw accesses are disabled, or the writer could not start */
	struct pasta_rawwriter *raw;
	/* all threads that have counted; never freed */
	_Atomic(struct thread *) threads;
	_Atomic bool warned_shapes, warned_objects;
	pthread_mutex_t lock; /* protects the members that follow, up to launch_count */
	struct thread *free_threads;
	uint32_t thread_count, launch_count, free_launch;
	struct pasta_compare compare;
	struct pasta_sumpool pool, host_pool;
	pthread_mutex_t emitting; /* held while rows of a launch are pushed into the port */
	struct pasta_port *port;
	struct pasta_accesses_launch launches[SLOTS];
};

/* accesses.c */
/* Returns whether the counter belongs to this process, and not to its parent process. */
bool pasta_accesses_is_here(const struct counter *c);
/* Returns whether the launch is open and belongs to this process. */
bool pasta_accesses_is_live(const struct pasta_accesses_launch *l);

/* accesses_threads.c */
/* Called once, when the agent attaches. Returns false on failure. */
bool pasta_accesses_threads_bind(void);
/* called in a forked child, when it has only one thread */
void pasta_accesses_threads_forked(void);
/* Adds the counts of all threads to the sums of a launch that has ended. */
void pasta_accesses_gather(struct counter *c, struct pasta_accesses_launch *l);

/* Implemented in accesses_rows.c. If the launch ran, emits its rows; then emits the number of
 * dropped accesses and the end of the launch. `each` may be NULL. */
void pasta_accesses_emit(struct counter *c, const struct pasta_accesses_launch *l, bool ran,
			 pasta_accesses_rest each, void *arg);

#endif
