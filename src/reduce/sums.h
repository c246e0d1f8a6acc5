/*
 * sums.h - stores the counts of reducers: one table for each reducer, whose rows become events.
 * Sums belong to one thread at a time. The rows do not depend on the number of counting threads or
 * on the order of merging. If a table is full, only the totals are independent of both; the row
 * PASTA_KEY_OTHER counts the keys that did not fit.
 */
#ifndef PASTA_REDUCE_SUMS_H
#define PASTA_REDUCE_SUMS_H

#include <stddef.h>

#include <pasta/event.h>

#include "reduce/rows.h"

struct pasta_sums {
	uint32_t reducers; /* PASTA_REDUCER_MASK of the reducers with a table */
	struct pasta_rows tables[PASTA_REDUCER_COUNT];
};

/* Returns tables for these reducers. Each table has at most "rows" rows; 0: 4,194,304. Returns NULL
 * if out of memory or if `rows` is too large. */
struct pasta_sums *pasta_sums_new(uint32_t reducers, uint32_t rows);
void pasta_sums_free(struct pasta_sums *s);
void pasta_sums_clear(struct pasta_sums *s);
/* Adds the rows of one set of tables to another. Ignores tables that exist in only one of the
 * two. */
void pasta_sums_merge(struct pasta_sums *into, const struct pasta_sums *from);

/* Fills in an event from a row, except for its time, name and thread. */
void pasta_sums_event(struct pasta_event *ev, enum pasta_reducer reducer,
		      const struct pasta_row *row, uint64_t corr);
/* Calls fn for all rows, sorted by reducer and keys. The "other" row is the last one of its table;
 * it is omitted if its counts are 0. Stops at the first non-zero result of fn and returns it.
 * Returns -ENOMEM if out of memory. */
typedef int (*pasta_sums_fn)(void *arg, enum pasta_reducer reducer, const struct pasta_row *row);
int pasta_sums_each(const struct pasta_sums *s, pasta_sums_fn fn, void *arg);

#endif
