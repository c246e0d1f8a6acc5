/*
 * corrproc.h - what the correlator knows of each process: its threads, launches and operators.
 *
 * One thread at a time.
 */
#ifndef PASTA_PROCESS_CORRPROC_H
#define PASTA_PROCESS_CORRPROC_H

#include <pasta/pasta.h>

#include "process/join/fwdops.h"
#include "process/join/launchtable.h"
#include "process/join/nesting.h"

struct pasta_corrproc {
	struct pasta_map *threads;	/* struct pasta_nest, by tid */
	struct pasta_nest *thread;	/* the thread of the last event */
	struct pasta_map *captured;	/* const struct pasta_scope *, by graph node; NULL: empty */
	struct pasta_launch_uses *uses; /* NULL: no launch has had its work yet */
	struct pasta_map *expired;	/* expired launches, see launchtable.h; NULL: empty */
	struct pasta_forward_ops forwards; /* operators, by sequence number */
	/* The latest time of the threads' regions, iterations and launches; last_op includes
	 * operators. Two times, because operators are not always read, and the end times that the
	 * correlator supplies for regions must not depend on that. */
	uint64_t last, last_op;
	struct pasta_progress now;
	uint64_t recorded; /* mask of the kinds that the process records; 0: unknown */
	uint64_t highest;  /* highest correlation id of its launches so far */
	uint32_t number;
};

/* Zero it before use. */
struct pasta_corrprocs {
	struct pasta_corrproc **by_number; /* NULL where a process has had no event */
	size_t count;
};

void pasta_corrprocs_close(struct pasta_corrprocs *all);

/* Adds a process. Returns NULL when out of memory. */
struct pasta_corrproc *pasta_corrprocs_add(struct pasta_corrprocs *all, uint32_t number);

/* The process of this number, added if it is new. Returns NULL when out of memory. */
static inline struct pasta_corrproc *pasta_corrprocs_get(struct pasta_corrprocs *all,
							 uint32_t number)
{
	return number < all->count && all->by_number[number] ? all->by_number[number]
							     : pasta_corrprocs_add(all, number);
}

/* Finds or adds a thread, and makes it p->thread. Returns NULL when out of memory. */
struct pasta_nest *pasta_corrproc_find_thread(struct pasta_corrproc *p, uint32_t tid);

/* The thread, added if it is new. Returns NULL when out of memory. */
static inline struct pasta_nest *pasta_corrproc_thread(struct pasta_corrproc *p, uint32_t tid)
{
	struct pasta_nest *thread = p->thread;

	return thread && thread->tid == tid ? thread : pasta_corrproc_find_thread(p, tid);
}

/* All pasta_map_count(p->threads) threads, by tid. The caller frees the array. Returns NULL when
 * out of memory. */
struct pasta_nest **pasta_corrproc_threads(const struct pasta_corrproc *p);

#endif
