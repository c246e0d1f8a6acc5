/* rows.c - creates, grows, clears and merges tables of rows. */
#include "reduce/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX (UINT32_C(1) << 26)
/* The initial capacity of a table, and the largest capacity that pasta_rows_clear retains. */
enum { ROWS_FIRST = 1 << 10, ROWS_CLEARED = 1 << 16 };

static const struct pasta_row other = {.key0 = PASTA_KEY_OTHER, .key1 = PASTA_KEY_OTHER};

static uint32_t rows_least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t rows_slots_for(uint32_t room)
{
	uint32_t slots = 16;

	while (slots < 2 * room)
		slots *= 2;
	return slots;
}

static void rows_index(struct pasta_rows *t)
{
	uint32_t i;

	for (uint32_t row = 1; row <= t->count; row++) {
		i = pasta_rows_hash(t->rows[row].key0, t->rows[row].key1) & t->mask;
		while (t->slots[i])
			i = (i + 1) & t->mask;
		t->slots[i] = row;
		t->rows[row].slot = i;
	}
}

/* Changes the capacity of a table. The new capacity must suffice for all rows. If memory is
 * exhausted, returns an error and leaves the table unchanged. */
static int rows_resize(struct pasta_rows *t, uint32_t room)
{
	uint32_t count = rows_slots_for(room);
	uint32_t *slots = calloc(count, sizeof(*slots));
	struct pasta_row *rows = NULL;

	if (slots)
		rows = realloc(t->rows, ((size_t)room + 1) * sizeof(*rows));
	if (!rows) {
		free(slots);
		return -ENOMEM;
	}
	free(t->slots);
	t->rows = rows;
	t->slots = slots;
	t->mask = count - 1;
	t->room = room;
	rows_index(t);
	return 0;
}

int pasta_rows_init(struct pasta_rows *t, uint32_t max)
{
	memset(t, 0, sizeof(*t));
	if (!max || max > ROWS_MAX)
		return -EINVAL;
	t->max = max;
	if (rows_resize(t, rows_least(max, ROWS_FIRST)))
		return -ENOMEM;
	t->rows[0] = other;
	return 0;
}

int pasta_rows_reserve(struct pasta_rows *t)
{
	return t->room < t->max ? rows_resize(t, t->max) : 0;
}

void pasta_rows_free(struct pasta_rows *t)
{
	free(t->rows);
	free(t->slots);
	memset(t, 0, sizeof(*t));
}

void pasta_rows_clear(struct pasta_rows *t)
{
	for (uint32_t row = 1; row <= t->count; row++)
		t->slots[t->rows[row].slot] = 0;
	t->count = 0;
	t->stuck = false;
	t->rows[0] = other;
	/* If memory is exhausted, the table remains large, although it is empty. */
	if (t->room > ROWS_CLEARED)
		rows_resize(t, ROWS_FIRST);
}

static bool rows_grow(struct pasta_rows *t)
{
	if (t->room == t->max || t->stuck)
		return false;
	t->stuck = rows_resize(t, rows_least(t->max, 2 * t->room));
	return !t->stuck;
}

struct pasta_row *pasta_rows_add(struct pasta_rows *t, uint64_t key0, uint64_t key1)
{
	uint32_t i;

	if (t->count == t->room && !rows_grow(t))
		return pasta_rows_other(t);
	i = pasta_rows_hash(key0, key1) & t->mask;
	while (t->slots[i])
		i = (i + 1) & t->mask;
	t->slots[i] = ++t->count;
	t->rows[t->count] = (struct pasta_row){.key0 = key0, .key1 = key1, .slot = i};
	return &t->rows[t->count];
}

void pasta_rows_merge(struct pasta_rows *into, const struct pasta_rows *from)
{
	const struct pasta_row *row;

	for (uint32_t i = 1; i <= from->count; i++) {
		row = &from->rows[i];
		pasta_row_add(pasta_rows_at(into, row->key0, row->key1), row);
	}
	pasta_row_add(pasta_rows_other(into), pasta_rows_other(from));
}

const struct pasta_row *pasta_rows_find(const struct pasta_rows *t, uint64_t key0, uint64_t key1)
{
	uint32_t i = pasta_rows_hash(key0, key1) & t->mask, row;

	for (; t->rows && (row = t->slots[i]); i = (i + 1) & t->mask)
		if (t->rows[row].key0 == key0 && t->rows[row].key1 == key1)
			return &t->rows[row];
	return NULL;
}
