/*
 * accesses_internal.h - the reducers' driver, inside: what accesses.c and its rooms share.
 *
 * accesses.c has the driver of a process, and launches from their beginning to their end;
 * accesses_wanted.c reads what is wanted; accesses_threads.c has the threads that count, and all
 * that is hot; accesses_rows.c has the rows of a launch, and tells them.
 *
 * What it takes, at most: a launch that is under way 144 bytes, and there are 65,536 of them; a
 * thread 7 MiB of cells, 2 MiB for each table by site and 2 MiB for requests, and there are 1,024;
 * the sums of a launch 72 bytes a row, and 4,194,304 rows a reducer, and there are 64 that have
 * some, and 64 of the host's where both count. Memory is taken when there is something to count,
 * and used again, but for what large sums have taken: that is given back. rawwriter.h has what raw
 * accesses take.
 *
 * Locks are taken in this order: a thread's, a launch's, the driver's or a pool's. emitting is
 * never held together with them.
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

/* From the environment, once; a forked child keeps it. */
struct pasta_wanted {
	bool on, raw, inexact, on_host, both, lossy;
	uint32_t launches, blocks, reducers;
	struct pasta_cpu_config cpu;
	char *kernel, *exclude;
};
extern struct pasta_wanted pasta_wanted;

struct pasta_accesses_launch {
	_Atomic uint64_t token; /* 0: it has ended, or never was */
	struct driver *driver;
	uint64_t corr;
	void *data; /* the handler's */
	uint32_t name, tid;
	uint32_t next_free;   /* its index + 1 */
	_Atomic bool partial; /* it is not to be compared */
	bool compared;	      /* threads count into host */
	_Atomic uint64_t lost, unkept;
	_Atomic uint64_t handed; /* raw ones that the writer has, or will have when it ends */
	char *kernel;		 /* where it is compared; NULL: no memory */
	const struct pasta_version *version; /* all threads' objects; NULL: each one's own */
	pthread_mutex_t lock;		     /* for what follows */
	struct pasta_sums *sums, *host;
};

/* All there is of one process: a forked child makes its own. From the heap, as all that it points
 * to, and its parent's stays: so a leak checker finds none of it lost. */
struct driver {
	struct driver *parent;
	struct pasta_sampler *sampler;
	struct pasta_objreg *told;
	struct pasta_rawwriter *raw;	  /* NULL: they are not wanted, or cannot be written */
	_Atomic(struct thread *) threads; /* those that ever were: none is freed */
	_Atomic bool said_full, said_refused;
	pthread_mutex_t lock; /* for what follows */
	struct thread *free_threads;
	uint32_t thread_count, launch_count, free_launch;
	struct pasta_compare compare;
	struct pasta_sumpool pool, host_pool;
	pthread_mutex_t emitting; /* for the port */
	struct pasta_port *port;
	struct pasta_accesses_launch launches[SLOTS];
};

/* accesses.c */
/* Whether it is this process's own. */
bool pasta_accesses_is_here(const struct driver *d);
/* What its own process still has of it; not that of a parent. */
bool pasta_accesses_is_live(const struct pasta_accesses_launch *l);

/* accesses_wanted.c: into pasta_wanted, all but on. False: err says why. */
bool pasta_accesses_read(const char *words, struct pasta_error *err);

/* accesses_threads.c */
bool pasta_accesses_threads_bind(void);	  /* once, while the agent attaches */
void pasta_accesses_threads_forked(void); /* in the child, on its one thread */
/* The launch is done: have what threads counted for it in its sums. */
void pasta_accesses_gather(struct driver *d, struct pasta_accesses_launch *l);

/* accesses_rows.c: tell its rows, if it ran, what was lost, and that this is all. each may be NULL.
 */
void pasta_accesses_emit(struct driver *d, const struct pasta_accesses_launch *l, bool ran,
			 pasta_accesses_rest each, void *arg);

#endif
