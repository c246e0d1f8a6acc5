/*
 * sums.h - stores the counts of reducers. Each reducer has one table, whose rows become events.
 *
 * Sums belong to one thread at a time. The rows depend neither on the number of counting threads
 * nor on the order of merging. If a table is full, the row PASTA_KEY_OTHER counts the accesses
 * whose keys did not fit, and only the totals are independent of threads and order.
 */
#ifndef PASTA_REDUCE_SUMS_H
#define PASTA_REDUCE_SUMS_H

#include <stddef.h>

#include <pasta/event.h>

#include "reduce/rows.h"

struct pasta_sums {
	uint32_t reducers; /* mask of the reducers that have a table (PASTA_REDUCER_MASK) */
	struct pasta_rows tables[PASTA_REDUCER_COUNT];
};

/* Returns tables for the reducers in the mask. Each table has at most `rows` rows; 0 stands for
 * 4,194,304. Returns NULL if memory is exhausted or `rows` is too large. */
struct pasta_sums *pasta_sums_new(uint32_t reducers, uint32_t rows);
void pasta_sums_free(struct pasta_sums *s);
void pasta_sums_clear(struct pasta_sums *s);
/* Adds the rows of one set of tables to another set. A table that exists in only one of the two
 * sets is ignored. */
void pasta_sums_merge(struct pasta_sums *into, const struct pasta_sums *from);

/* Fills in all fields of an event from a row, except for its time, name and thread. */
void pasta_sums_event(struct pasta_event *ev, enum pasta_reducer reducer,
		      const struct pasta_row *row, uint64_t corr);
/* Calls fn for all rows, sorted by reducer and keys. The "other" row is the last row of its table,
 * and is omitted if its counts are 0. The function stops at the first result of fn that is not 0,
 * and returns that result. If memory is exhausted, the function returns -ENOMEM. */
typedef int (*pasta_sums_fn)(void *arg, enum pasta_reducer reducer, const struct pasta_row *row);
int pasta_sums_each(const struct pasta_sums *s, pasta_sums_fn fn, void *arg);

#endif
