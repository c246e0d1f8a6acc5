/* sums.c - creates, clears and merges the tables of all reducers, and converts their rows to
 * events. */
#include "reduce/sums.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_DEFAULT (UINT32_C(1) << 22)

static bool sums_has(const struct pasta_sums *s, int reducer)
{
	return s->reducers >> reducer & 1;
}

struct pasta_sums *pasta_sums_new(uint32_t reducers, uint32_t rows)
{
	struct pasta_sums *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	for (int i = 1; i < PASTA_REDUCER_COUNT; i++) {
		if (!(reducers >> i & 1))
			continue;
		if (pasta_rows_init(&s->tables[i], rows ? rows : ROWS_DEFAULT)) {
			pasta_sums_free(s);
			return NULL;
		}
		s->reducers |= 1u << i;
	}
	return s;
}

void pasta_sums_free(struct pasta_sums *s)
{
	if (!s)
		return;
	for (int i = 1; i < PASTA_REDUCER_COUNT; i++)
		pasta_rows_free(&s->tables[i]);
	free(s);
}

void pasta_sums_clear(struct pasta_sums *s)
{
	for (int i = 1; i < PASTA_REDUCER_COUNT; i++)
		if (sums_has(s, i))
			pasta_rows_clear(&s->tables[i]);
}

void pasta_sums_merge(struct pasta_sums *into, const struct pasta_sums *from)
{
	for (int i = 1; i < PASTA_REDUCER_COUNT; i++)
		if (sums_has(into, i) && sums_has(from, i))
			pasta_rows_merge(&into->tables[i], &from->tables[i]);
}

void pasta_sums_event(struct pasta_event *ev, enum pasta_reducer reducer,
		      const struct pasta_row *row, uint64_t corr)
{
	memset(ev, 0, PASTA_EVENT_SIZE(access_sum));
	ev->size = PASTA_EVENT_SIZE(access_sum);
	ev->kind = PASTA_KIND_ACCESS_SUM;
	ev->access_sum.corr = corr;
	ev->access_sum.key0 = row->key0;
	ev->access_sum.key1 = row->key1;
	ev->access_sum.loads = row->loads;
	ev->access_sum.stores = row->stores;
	ev->access_sum.bytes = row->bytes;
	ev->access_sum.extra = row->extra;
	ev->access_sum.reducer = reducer;
	/* In the tables of other reducers, the numbers of bytes are not those of single
	 * accesses. */
	if (reducer <= PASTA_REDUCER_DIVERGE && !row->unsplit) {
		ev->access_sum.written = row->written;
		ev->access_sum.flags = PASTA_SUM_SPLIT;
	}
}

static int row_compare_keys(const void *a, const void *b)
{
	const struct pasta_row *x = *(const struct pasta_row *const *)a;
	const struct pasta_row *y = *(const struct pasta_row *const *)b;

	if (x->key0 != y->key0)
		return x->key0 < y->key0 ? -1 : 1;
	return x->key1 < y->key1 ? -1 : x->key1 > y->key1;
}

static int sums_each_row(const struct pasta_rows *t, enum pasta_reducer reducer, pasta_sums_fn fn,
			 void *arg)
{
	const struct pasta_row **rows = malloc(((size_t)t->count + 1) * sizeof(struct pasta_row *));
	uint32_t count = t->count;
	int error = 0;

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		rows[i] = &t->rows[i + 1];
	qsort(rows, count, sizeof(struct pasta_row *), row_compare_keys);
	if (!pasta_row_is_zero(pasta_rows_other(t)))
		rows[count++] = pasta_rows_other(t);
	for (uint32_t i = 0; i < count && !error; i++)
		error = fn(arg, reducer, rows[i]);
	free(rows);
	return error;
}

int pasta_sums_each(const struct pasta_sums *s, pasta_sums_fn fn, void *arg)
{
	int error = 0;

	for (int i = 1; i < PASTA_REDUCER_COUNT && !error; i++)
		if (sums_has(s, i))
			error = sums_each_row(&s->tables[i], (enum pasta_reducer)i, fn, arg);
	return error;
}
