/*
 * rows.h - a table of counted rows, on the host: found by two keys, and growing as rows come.
 *
 * A table is one thread's at a time. It begins small and doubles, up to the most rows that it was
 * made for; where that is reached, or there is no memory, what is new is counted in one row, that
 * of what had no room. Rows move when a table grows: a pointer to one is good until the next
 * pasta_rows_at.
 */
#ifndef PASTA_REDUCE_ROWS_H
#define PASTA_REDUCE_ROWS_H

#include <stdbool.h>

#include "reduce/accumulate.h"

struct pasta_row {
	uint64_t key0, key1;
	uint64_t loads, stores, bytes, extra;
	uint64_t written;     /* of bytes */
	uint32_t slot;	      /* its own, in the index */
	uint32_t stamp, turn; /* how often a thread was at this site */
	uint32_t unsplit;     /* not 0: written is not known */
};

/* Rows are in the order in which they came, from 1 to count; row 0 is of what had no room. slots
 * have their numbers, 0: none; it is open addressing, and at most half of them are used. */
struct pasta_rows {
	struct pasta_row *rows;
	uint32_t *slots;
	uint32_t mask, count;
	uint32_t room, max; /* rows there is memory for, and that there may ever be */
	bool stuck;	    /* there was no memory to grow; until it is emptied */
};

/* At most so many rows, themselves at most 2^26; -EINVAL, -ENOMEM. */
int pasta_rows_init(struct pasta_rows *t, uint32_t max);
void pasta_rows_free(struct pasta_rows *t);
/* Memory for all of them now: it will not grow. -ENOMEM: it is as it was. */
int pasta_rows_reserve(struct pasta_rows *t);
/* Empty it. Takes as long as there are rows. One that has grown large gives its memory back. */
void pasta_rows_clear(struct pasta_rows *t);
/* Add all rows of another table. */
void pasta_rows_merge(struct pasta_rows *into, const struct pasta_rows *from);
/* The row of a key; NULL: it has none, or there is no table. */
const struct pasta_row *pasta_rows_find(const struct pasta_rows *t, uint64_t key0, uint64_t key1);

/* For pasta_rows_at: the key has no row. */
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

/* The row of a key, made if there is none; where there is no room, the other one. */
static inline struct pasta_row *pasta_rows_at(struct pasta_rows *t, uint64_t key0, uint64_t key1)
{
	uint32_t i = pasta_rows_hash(key0, key1) & t->mask, row;

	for (; (row = t->slots[i]); i = (i + 1) & t->mask)
		if (t->rows[row].key0 == key0 && t->rows[row].key1 == key1)
			return &t->rows[row];
	return pasta_rows_add(t, key0, key1);
}

/* Accesses of one kind, which move so many bytes. */
static inline void pasta_row_count(struct pasta_row *row, uint32_t kind, uint64_t bytes,
				   uint64_t extra)
{
	row->loads += kind & PASTA_ACCESS_LOAD;
	row->stores += (kind & PASTA_ACCESS_STORE) >> 1;
	row->bytes += bytes;
	row->written += pasta_access_written(kind, bytes);
	row->extra += extra;
}

/* Whether nothing is counted in it. */
static inline bool pasta_row_is_zero(const struct pasta_row *row)
{
	return !(row->loads | row->stores | row->bytes | row->extra);
}

/* The counts alone. */
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
