/*
 * corrproc.h - stores the correlator's data about each process: its threads, launches and
 * operators.
 *
 * Only one thread at a time may call these functions.
 */
#ifndef PASTA_PROCESS_CORRPROC_H
#define PASTA_PROCESS_CORRPROC_H

#include <pasta/pasta.h>

#include "process/join/fwdops.h"
#include "process/join/launchtable.h"
#include "process/join/nesting.h"

struct pasta_corrproc {
	struct pasta_map *threads; /* struct pasta_nest, by tid */
	struct pasta_nest *thread; /* the thread of the last event */
	/* Map from a graph node to its capture scope (const struct pasta_scope *). NULL if no node
	 * has a capture scope. */
	struct pasta_map *captured;
	struct pasta_launch_uses *uses; /* NULL if no work has matched a launch yet */
	/* Set of the launches that expired (see launchtable.h). NULL if no launch has expired. */
	struct pasta_map *expired;
	struct pasta_forward_ops forwards; /* operators, by sequence number */
	/* `last` is the latest time of a region, an iteration or a launch; last_op also includes
	 * operators. A region without an end ends at `last`, so that its end does not depend on
	 * whether operators are read. */
	uint64_t last, last_op;
	struct pasta_progress now;
	uint64_t recorded; /* mask of the kinds that the process records; 0: unknown */
	uint64_t highest;  /* highest correlation id of the process's launches so far */
	uint32_t number;
};

/* The correlator's data about all processes. Zero the struct before use. */
struct pasta_corrprocs {
	/* Array of processes; the entry of a process without events is NULL. */
	struct pasta_corrproc **by_number;
	size_t count;
};

void pasta_corrprocs_close(struct pasta_corrprocs *all);

/* Adds a process. Returns NULL when out of memory. */
struct pasta_corrproc *pasta_corrprocs_add(struct pasta_corrprocs *all, uint32_t number);

/* Finds the process with this number, or adds it. Returns NULL when out of memory. */
static inline struct pasta_corrproc *pasta_corrprocs_get(struct pasta_corrprocs *all,
							 uint32_t number)
{
	return number < all->count && all->by_number[number] ? all->by_number[number]
							     : pasta_corrprocs_add(all, number);
}

/* Finds or adds a thread, and makes it p->thread. Returns NULL when out of memory. */
struct pasta_nest *pasta_corrproc_find_thread(struct pasta_corrproc *p, uint32_t tid);

/* Finds a thread of a process, or adds it. Returns NULL when out of memory. */
static inline struct pasta_nest *pasta_corrproc_thread(struct pasta_corrproc *p, uint32_t tid)
{
	struct pasta_nest *thread = p->thread;

	return thread && thread->tid == tid ? thread : pasta_corrproc_find_thread(p, tid);
}

/* Returns all pasta_map_count(p->threads) threads of a process, sorted by tid. The caller frees the
 * array. Returns NULL when out of memory. */
struct pasta_nest **pasta_corrproc_threads(const struct pasta_corrproc *p);

#endif
