/*
 * accesses_internal.h - counting memory accesses: what the files accesses*.c share.
 *
 * accesses.c has a process's counter and its launches; accesses_config.c reads the configuration;
 * accesses_threads.c has the threads that count, with everything on hot paths; accesses_rows.c
 * emits the rows of a launch.
 *
 * Memory, at most: 144 bytes for each of 65,536 open launches; for each of 1,024 threads 7 MiB of
 * cells, 2 MiB for each table by site and 2 MiB for requests; for the sums of a launch 72 bytes a
 * row, with 4,194,304 rows a reducer, for 64 launches at a time, and for 64 more on the host where
 * device and host both count. Memory is allocated when there is something to count, and reused;
 * sums that have grown large free theirs. rawwriter.h has the memory of raw accesses.
 *
 * Order of locks: a thread's, a launch's, then the counter's or a pool's. No other lock is held
 * together with emitting.
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
	uint32_t next_free;   /* index + 1 of the next free slot */
	_Atomic bool partial; /* device and host did not count the same: do not compare */
	bool compared;	      /* threads count into host, not into sums */
	_Atomic uint64_t dropped, raw_dropped;
	_Atomic uint64_t stored;	     /* raw accesses that the raw writer has received */
	char *kernel;			     /* if compared; NULL: no memory */
	const struct pasta_version *version; /* objects for all threads; NULL: each has its own */
	pthread_mutex_t lock;		     /* protects the sums */
	struct pasta_sums *sums, *host;
};

/* A process's state for counting. A forked child makes its own and links its parent's, so that leak
 * checkers find all memory reachable. */
struct counter {
	struct counter *parent;
	struct pasta_sampler *sampler;
	struct pasta_objreg *objects;
	struct pasta_rawwriter *raw;	  /* NULL: off, or it could not start */
	_Atomic(struct thread *) threads; /* all threads ever; none is freed */
	_Atomic bool warned_shapes, warned_objects;
	pthread_mutex_t lock; /* protects the following members, up to launch_count */
	struct thread *free_threads;
	uint32_t thread_count, launch_count, free_launch;
	struct pasta_compare compare;
	struct pasta_sumpool pool, host_pool;
	pthread_mutex_t emitting; /* held while a launch's rows go into the port */
	struct pasta_port *port;
	struct pasta_accesses_launch launches[SLOTS];
};

/* accesses.c */
/* Whether the counter belongs to this process, not to its parent. */
bool pasta_accesses_is_here(const struct counter *c);
/* Whether the launch is open, and of this process. */
bool pasta_accesses_is_live(const struct pasta_accesses_launch *l);

/* accesses_threads.c */
bool pasta_accesses_threads_bind(void);	  /* once, when the agent attaches; false on failure */
void pasta_accesses_threads_forked(void); /* in the child, on its only thread */
/* The launch is done: adds what threads counted for it to its sums. */
void pasta_accesses_gather(struct counter *c, struct pasta_accesses_launch *l);

/* accesses_rows.c: emits the launch's rows, if it ran, the number of dropped accesses, and its end.
 * each may be NULL. */
void pasta_accesses_emit(struct counter *c, const struct pasta_accesses_launch *l, bool ran,
			 pasta_accesses_rest each, void *arg);

#endif
