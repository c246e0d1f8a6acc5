/*
 * sums.h - what reducers have counted: a table a reducer, of rows that become events.
 *
 * Sums are one thread's at a time. However many threads counted, and in whatever order they are
 * merged, the rows are the same, unless a table is full: then it is the total that is the same,
 * and the row of PASTA_KEY_OTHER has what had no room.
 */
#ifndef PASTA_REDUCE_SUMS_H
#define PASTA_REDUCE_SUMS_H

#include <stddef.h>

#include <pasta/event.h>

#include "reduce/rows.h"

struct pasta_sums {
	uint32_t reducers; /* PASTA_REDUCER_MASK of those that have a table */
	struct pasta_rows tables[PASTA_REDUCER_COUNT];
};

/* Tables for these reducers, each for at most so many rows; 0: 4,194,304. NULL: no memory, or too
 * many. */
struct pasta_sums *pasta_sums_new(uint32_t reducers, uint32_t rows);
void pasta_sums_free(struct pasta_sums *s);
void pasta_sums_clear(struct pasta_sums *s);
/* Tables that only one of them has are left out. */
void pasta_sums_merge(struct pasta_sums *into, const struct pasta_sums *from);

/* A row of a reducer's table as an event: all of it but time, name and thread. */
void pasta_sums_event(struct pasta_event *ev, enum pasta_reducer reducer,
		      const struct pasta_row *row, uint64_t corr);
/* Call fn for all rows, reducer by reducer, by their keys; the row of what had no room is the last
 * of its table, and only there if there is some. -ENOMEM; or what fn returned, if not 0: it stops
 * there. */
typedef int (*pasta_sums_fn)(void *arg, enum pasta_reducer reducer, const struct pasta_row *row);
int pasta_sums_each(const struct pasta_sums *s, pasta_sums_fn fn, void *arg);

#endif
