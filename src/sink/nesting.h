/*
 * nesting.h - a stream's events with where each belongs: its regions, operator and iteration.
 *
 * Every end that is delivered is that of a begin, innermost first, and has its name and depth: an
 * end that is missing comes with the next one around it, and one without a begin is left out. What
 * never ends has no end. It grows with threads, depth, paths and launches whose work has not come,
 * not with events. One thread at a time.
 */
#ifndef PASTA_SINK_NESTING_H
#define PASTA_SINK_NESTING_H

#include <stdbool.h>
#include <stdint.h>

#include <pasta/pasta.h>

#include "process/stream.h"

/* A place in the nesting of a thread's regions and operators: one object a path and process. Lives
 * as long as the nesting. */
struct pasta_nesting_scope {
	const struct pasta_nesting_scope *up;	       /* NULL: the outermost */
	const struct pasta_nesting_scope *region, *op; /* the innermost, itself included; or NULL */
	uint32_t name, depth, id;
	uint32_t kind; /* PASTA_REGION, PASTA_OP_BEGIN */
};

/* Where an event belongs: for work on a device, where it was launched. */
struct pasta_nesting_where {
	const struct pasta_nesting_scope *scope; /* NULL: none; of a begin or end, its own */
	uint64_t iteration;			 /* UINT64_MAX: none */
	uint64_t launch_time;			 /* 0: it was not launched, or that is not known */
	uint64_t op_id;				 /* of the innermost operator; 0: none */
	uint32_t tid;				 /* 0: not known */
};

struct pasta_nesting;

/* The stream must outlive it. NULL when out of memory. */
struct pasta_nesting *pasta_nesting_new(struct pasta_stream *stream);
void pasta_nesting_free(struct pasta_nesting *n);

/* The next event and where it belongs, both until the next call; NULL at the end, or when memory
 * has run out. */
const struct pasta_event *pasta_nesting_next(struct pasta_nesting *n,
					     const struct pasta_nesting_where **where);
bool pasta_nesting_failed(const struct pasta_nesting *n);

#endif
