/*
 * rows.h - a table on the host whose rows are found by two keys.
 *
 * A table belongs to one thread at a time. A table begins small, and doubles its size up to a
 * maximum number of rows. When the maximum is reached or memory is exhausted, new keys are counted
 * in one row, the "other" row. Rows move when the table grows, so a pointer to a row is valid only
 * until the next pasta_rows_at.
 */
#ifndef PASTA_REDUCE_ROWS_H
#define PASTA_REDUCE_ROWS_H

#include <stdbool.h>

#include "reduce/accumulate.h"

struct pasta_row {
	uint64_t key0, key1;
	uint64_t loads, stores, bytes, extra;
	uint64_t written; /* number of written bytes, which the member `bytes` includes */
	uint32_t slot;	  /* the slot of the row in the index */
	/* `turn` is the number of times that the thread with the stamp `stamp` has visited the
	 * site */
	uint32_t stamp, turn;
	uint32_t unsplit; /* not 0 if the member `written` is unknown */
};

/* A table of rows. Rows 1 to `count` are in the order of insertion, and row 0 is the "other" row.
 * `slots` is an index with open addressing, which is at most half full. A slot contains a row's
 * number, or 0 if it is empty. */
struct pasta_rows {
	struct pasta_row *rows;
	uint32_t *slots;
	uint32_t mask, count;
	uint32_t room, max; /* current and maximum number of rows for which there is room */
	/* Whether the table could not grow because memory was exhausted. pasta_rows_clear resets
	 * this member. */
	bool stuck;
};

/* Initializes a table for at most `max` rows; `max` is at most 2^26. Returns 0, -EINVAL or
 * -ENOMEM. */
int pasta_rows_init(struct pasta_rows *t, uint32_t max);
void pasta_rows_free(struct pasta_rows *t);
/* Allocates memory for `max` rows, so that the table does not grow later. If memory is exhausted,
 * returns -ENOMEM and leaves the table unchanged. */
int pasta_rows_reserve(struct pasta_rows *t);
/* Removes all rows, in time proportional to their number. The memory of a large table is freed. */
void pasta_rows_clear(struct pasta_rows *t);
/* Adds all rows of the table `from` to the table `into`. */
void pasta_rows_merge(struct pasta_rows *into, const struct pasta_rows *from);
/* Returns the row of a key, or NULL if the row or the table does not exist. */
const struct pasta_row *pasta_rows_find(const struct pasta_rows *t, uint64_t key0, uint64_t key1);

/* Adds a row for a key that has no row. Only pasta_rows_at calls this function. */
struct pasta_row *pasta_rows_add(struct pasta_rows *t, uint64_t key0, uint64_t key1);

static inline uint32_t pasta_rows_hash(uint64_t key0, uint64_t key1)
{
	uint64_t h = key0 * UINT64_C(0x9e3779b97f4a7c15) + key1 * UINT64_C(0xd6e8feb86659fd93);

	h ^= h >> 32;
	return (uint32_t)(h * UINT64_C(0xd6e8feb86659fd93) >> 32);
}

static inline struct pasta_row *pasta_rows_other(const struct pasta_rows *t)
{
	return t->rows;
}

/* Returns the row of a key, and creates the row if necessary. If there is no room, returns the
 * "other" row. */
static inline struct pasta_row *pasta_rows_at(struct pasta_rows *t, uint64_t key0, uint64_t key1)
{
	uint32_t i = pasta_rows_hash(key0, key1) & t->mask, row;

	for (; (row = t->slots[i]); i = (i + 1) & t->mask)
		if (t->rows[row].key0 == key0 && t->rows[row].key1 == key1)
			return &t->rows[row];
	return pasta_rows_add(t, key0, key1);
}

/* Counts an access of one kind that moves `bytes` bytes. */
static inline void pasta_row_count(struct pasta_row *row, uint32_t kind, uint64_t bytes,
				   uint64_t extra)
{
	row->loads += kind & PASTA_ACCESS_LOAD;
	row->stores += (kind & PASTA_ACCESS_STORE) >> 1;
	row->bytes += bytes;
	row->written += pasta_access_written(kind, bytes);
	row->extra += extra;
}

/* Returns whether all counts of a row are 0. */
static inline bool pasta_row_is_zero(const struct pasta_row *row)
{
	return !(row->loads | row->stores | row->bytes | row->extra);
}

/* Adds the counts of one row to another row. The keys do not change. */
static inline void pasta_row_add(struct pasta_row *to, const struct pasta_row *from)
{
	to->loads += from->loads;
	to->stores += from->stores;
	to->bytes += from->bytes;
	to->written += from->written;
	to->extra += from->extra;
	to->unsplit |= from->unsplit;
}

#endif
