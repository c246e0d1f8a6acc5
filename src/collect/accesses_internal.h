/*
 * accesses_internal.h - declarations that the files accesses*.c share.
 *
 * accesses.c manages a process's counter and its launches. accesses_config.c reads the
 * configuration. accesses_threads.c contains the state of counting threads, and all functions on
 * hot paths. accesses_rows.c emits the rows of a launch.
 *
 * The memory for counting is limited. A launch has 144 bytes, and at most 65,536 launches are open.
 * A counting thread has 7 MiB for its table by page and object, 2 MiB for each table by site, and 2
 * MiB for open requests. At most 1,024 threads count. The sums of a launch have 72 bytes per row
 * and at most 4,194,304 rows per reducer. At most 64 launches have sums. If device and host both
 * count, 64 more sets of sums exist. Memory is allocated on first use, and reused. Sums that have
 * grown large free their memory. rawwriter.h states the limits for raw accesses.
 *
 * A thread that needs several locks acquires the lock of a struct thread first, then a launch's
 * lock, and the lock of the counter or of a pool of sums last. A thread that holds the lock
 * `emitting` holds none of these locks.
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
	_Atomic uint64_t token; /* number of the open launch in this slot; 0 if the slot is free */
	struct counter *counter;
	uint64_t corr;
	void *data; /* data of the handler */
	uint32_t name, tid;
	uint32_t next_free; /* index of the next free slot, plus 1 */
	/* whether device and host counted different accesses, so that their counts cannot be
	 * compared */
	_Atomic bool partial;
	/* Whether the counts of device and host are compared. If so, threads add their counts to
	 * the member `host` instead of `sums`. */
	bool compared;
	_Atomic uint64_t dropped, raw_dropped;
	_Atomic uint64_t stored; /* number of raw accesses that the raw writer has received */
	/* The kernel's name, if the counts of device and host are compared. The member is NULL if
	 * the counts are not compared, or if memory was exhausted. */
	char *kernel;
	/* The set of objects that all threads of the launch use. If it is NULL, each thread uses
	 * its own set. */
	const struct pasta_version *version;
	pthread_mutex_t lock; /* protects the members `sums` and `host` */
	struct pasta_sums *sums, *host;
};

/* The access counter of a process. A forked child creates its own counter. That counter points to
 * the parent process's counter, so that leak checkers can reach all memory. */
struct counter {
	struct counter *parent;
	struct pasta_sampler *sampler;
	struct pasta_objreg *objects;
	/* NULL if raw accesses are disabled, or if the raw writer could not start */
	struct pasta_rawwriter *raw;
	/* the list of all threads that have counted; its entries are never freed */
	_Atomic(struct thread *) threads;
	_Atomic bool warned_shapes, warned_objects;
	pthread_mutex_t lock; /* protects the members that follow, up to launch_count */
	struct thread *free_threads;
	uint32_t thread_count, launch_count, free_launch;
	struct pasta_compare compare;
	struct pasta_sumpool pool, host_pool;
	pthread_mutex_t emitting; /* held while the rows of a launch are pushed into the port */
	struct pasta_port *port;
	struct pasta_accesses_launch launches[SLOTS];
};

/* -- Functions of accesses.c -- */
/* Returns whether the counter belongs to this process, and not to the parent process. */
bool pasta_accesses_is_here(const struct counter *c);
/* Returns whether the launch is open and belongs to this process. */
bool pasta_accesses_is_live(const struct pasta_accesses_launch *l);

/* -- Functions of accesses_threads.c -- */
/* The agent calls this function once, when it attaches. Returns false on failure. */
bool pasta_accesses_threads_bind(void);
/* A forked child calls this function at its start, when it has only one thread. */
void pasta_accesses_threads_forked(void);
/* Adds the counts of all threads to the sums of a launch. Called when the launch ends. */
void pasta_accesses_gather(struct counter *c, struct pasta_accesses_launch *l);

/* Emits the rows of a launch, if the launch ran. Then emits the number of dropped accesses and the
 * end of the launch. `each` may be NULL. This function is in accesses_rows.c. */
void pasta_accesses_emit(struct counter *c, const struct pasta_accesses_launch *l, bool ran,
			 pasta_accesses_rest each, void *arg);

#endif
