/* fold.c - what a device has counted, read back and told as rows. */
#include <stdlib.h>

#include "handlers/sanitizer/sanitizer.h"

struct san_reading {
	struct pasta_gpu_launch header;
	uint64_t *counts;
	struct pasta_gpu_row
		*rows[PASTA_REDUCERS]; /* count of them, and that of what had no room */
	uint32_t count[PASTA_REDUCERS];
	uint64_t *begin, *end; /* of blocks */
	uint32_t blocks;
	struct pasta_gpu_raw raw;
};

/* -- Reading -- */

/* In memory of its own. False: none, or what the library returned. */
static bool get(void *to, const void *from, size_t size, const struct san_slot *s, int *result)
{
	void **memory = to;

	*memory = malloc(size ? size : 1);
	if (*memory && size)
		*result = SAN_CALL(MemcpyDeviceToHost, *memory, (void *)from, size, s->handle);
	return *memory && *result == SAN_OK;
}

/* Rows are behind each other, but that of what had no room, which is the last. */
static bool get_rows(const struct san_slot *s, struct san_reading *r, uint32_t i, int *result)
{
	const struct pasta_gpu_table *t = &s->image.tables[i];
	uint32_t asked = r->header.tables[i].count, n = asked < t->max ? asked : t->max;

	if (!t->index)
		return true;
	if (!get(&r->rows[i], t->rows, (n + 1) * sizeof(*t->rows), s, result))
		return false;
	r->count[i] = n;
	*result = SAN_CALL(MemcpyDeviceToHost, &r->rows[i][n], &t->rows[t->max], sizeof(*t->rows),
			   s->handle);
	return *result == SAN_OK;
}

static bool get_all(const struct san_slot *s, struct san_reading *r, int *result)
{
	const struct pasta_gpu_launch *l = &s->image;
	size_t counts = ((size_t)PASTA_GPU_PLACES(l->count) << l->spread) * PASTA_GPU_COUNTERS;
	bool got = true;

	*result = SAN_CALL(MemcpyDeviceToHost, &r->header, s->memory, sizeof(r->header), s->handle);
	if (*result == SAN_OK && l->raw)
		*result = SAN_CALL(MemcpyDeviceToHost, &r->raw, l->raw, sizeof(r->raw), s->handle);
	if (*result != SAN_OK)
		return false;
	if (l->reducers & PASTA_REDUCE_BIT(OBJECT))
		got = get(&r->counts, l->counts, counts * sizeof(*r->counts), s, result);
	for (uint32_t i = 0; i < PASTA_REDUCERS && got; i++)
		got = get_rows(s, r, i, result);
	r->blocks = s->blocks < l->blocks.max ? (uint32_t)s->blocks : l->blocks.max;
	return got && (!r->blocks ||
		       (get(&r->begin, l->blocks.begin, r->blocks * sizeof(*r->begin), s, result) &&
			get(&r->end, l->blocks.end, r->blocks * sizeof(*r->end), s, result)));
}

struct san_reading *san_read(const struct san_slot *s, int *result)
{
	struct san_reading *r = calloc(1, sizeof(*r));

	*result = SAN_OK;
	if (!r || get_all(s, r, result))
		return r;
	san_reading_free(r);
	return NULL;
}

const struct pasta_gpu_raw *san_reading_raw(const struct san_reading *r)
{
	return &r->raw;
}

void san_reading_free(struct san_reading *r)
{
	if (!r)
		return;
	free(r->counts);
	for (uint32_t i = 0; i < PASTA_REDUCERS; i++)
		free(r->rows[i]);
	free(r->begin);
	free(r->end);
	free(r);
}

/* -- Telling -- */

/* The key of an object, of what is in none, or of a space. */
static uint64_t object_of(const struct san_slot *s, uint64_t place)
{
	uint32_t count = s->image.count;

	if (place < count)
		return s->places[place].object;
	if (place >= PASTA_GPU_PLACES(count))
		return PASTA_KEY_OTHER; /* no place at all: a device has written rubbish */
	return place == PASTA_GPU_NOWHERE(count) ? PASTA_OBJECT_NONE
						 : place - PASTA_GPU_SPACE(count, 0);
}

static void fold_object(const struct san_slot *s, uint64_t place, const uint64_t *c)
{
	struct pasta_row row = {.key0 = object_of(s, place),
				.loads = c[PASTA_GPU_LOADS],
				.stores = c[PASTA_GPU_STORES],
				.bytes = c[PASTA_GPU_BYTES],
				.extra = c[PASTA_GPU_CROSS]};

	for (uint32_t i = 0; i < PASTA_GPU_SIZES; i++) {
		uint64_t loads = c[PASTA_GPU_OF(PASTA_ACCESS_LOAD, i)];
		uint64_t stores = c[PASTA_GPU_OF(PASTA_ACCESS_STORE, i)];
		uint64_t atomics = c[PASTA_GPU_OF(PASTA_ACCESS_ATOMIC, i)];

		row.loads += loads + atomics;
		row.stores += stores + atomics;
		row.bytes += (loads + stores + 2 * atomics) << i;
	}
	if (row.loads || row.stores)
		pasta_accesses_add(s->launch, PASTA_REDUCE_OBJECT, &row);
}

static bool is_by_site(enum pasta_reducer reducer)
{
	return reducer == PASTA_REDUCE_OWN ? san.own_sites : reducer != PASTA_REDUCE_PAGE;
}

/* Of a site. Only tables by site alone know where it is. */
static uint32_t flags_of(enum pasta_reducer reducer, const struct pasta_gpu_row *from)
{
	if (reducer == PASTA_REDUCE_SITE)
		return (uint32_t)from->key1;
	if (reducer == PASTA_REDUCE_BARRIER)
		return PASTA_ACCESS_BARRIER;
	return (from->loads ? PASTA_ACCESS_LOAD : 0u) | (from->stores ? PASTA_ACCESS_STORE : 0u);
}

static void fold_row(const struct san_slot *s, enum pasta_reducer reducer,
		     const struct pasta_gpu_row *from)
{
	struct pasta_row row = {.key0 = from->key0,
				.key1 = from->key1,
				.loads = from->loads,
				.stores = from->stores,
				.bytes = from->bytes,
				.extra = from->extra};

	if (!row.loads && !row.stores &&
	    (reducer != PASTA_REDUCE_OWN || (!row.bytes && !row.extra)))
		return;
	if (is_by_site(reducer))
		row.key0 = san_site(s, from->key0, flags_of(reducer, from));
	if (!row.key0 && is_by_site(reducer))
		row.key0 = PASTA_KEY_OTHER;
	if (reducer == PASTA_REDUCE_SITE)
		row.key1 = 0;
	if (reducer == PASTA_REDUCE_SITE_OBJECT)
		row.key1 = object_of(s, from->key1);
	pasta_accesses_add(s->launch, reducer, &row);
}

static void fold_other(const struct san_slot *s, enum pasta_reducer reducer,
		       const struct pasta_gpu_row *from)
{
	struct pasta_row row = {.key0 = PASTA_KEY_OTHER,
				.loads = from->loads,
				.stores = from->stores,
				.bytes = from->bytes,
				.extra = from->extra};

	if (row.loads || row.stores || row.bytes || row.extra)
		pasta_accesses_add(s->launch, reducer, &row);
}

static void fold_blocks(const struct san_slot *s, const struct san_reading *r)
{
	uint64_t unseen = s->blocks - r->blocks, ns;
	struct pasta_row row = {0};

	for (uint32_t i = 0; i < r->blocks; i++) {
		if (!r->begin[i] || r->end[i] < r->begin[i]) {
			unseen++;
			continue;
		}
		ns = r->end[i] - r->begin[i];
		row = (struct pasta_row){.key0 = pasta_block_bucket(ns), .loads = 1, .bytes = ns};
		pasta_accesses_add(s->launch, PASTA_REDUCE_BLOCK, &row);
	}
	row = (struct pasta_row){.extra = unseen};
	if (unseen)
		pasta_accesses_add(s->launch, PASTA_REDUCE_BLOCK, &row);
}

/* A copy is told as what it does to memory that has objects: that side is first. */
static void fold_sites(const struct san_slot *s, const struct san_reading *r)
{
	const struct pasta_gpu_row *rows = r->rows[PASTA_REDUCE_SITE];

	for (uint32_t apart = 0; rows && apart < 2; apart++)
		for (uint32_t i = 0; i < r->count[PASTA_REDUCE_SITE]; i++)
			if ((rows[i].key1 >> 8 >= PASTA_SPACE_LOCAL) == apart)
				fold_row(s, PASTA_REDUCE_SITE, &rows[i]);
}

void san_fold(const struct san_slot *s, const struct san_reading *r)
{
	uint32_t spread = s->image.spread;

	fold_sites(s, r);
	for (uint32_t i = 0; r->counts && i < PASTA_GPU_PLACES(s->image.count) << spread; i++)
		fold_object(s, i >> spread, r->counts + (size_t)i * PASTA_GPU_COUNTERS);
	for (uint32_t i = 0; i < PASTA_REDUCERS; i++) {
		for (uint32_t k = 0; i != PASTA_REDUCE_SITE && r->rows[i] && k < r->count[i]; k++)
			fold_row(s, i, &r->rows[i][k]);
		if (r->rows[i])
			fold_other(s, i, &r->rows[i][r->count[i]]);
	}
	if (s->image.reducers & PASTA_REDUCE_BIT(BLOCK))
		fold_blocks(s, r);
}
