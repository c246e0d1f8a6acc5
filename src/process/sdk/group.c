/* group.c - finds, adds and merges the rows of a group by key. */
#include "process/sdk/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 64, CHUNKS = 40, LAST_BITS = 9, SLOTS = 128, NEAR = 8 };
#define FACTOR UINT64_C(0x9e3779b97f4a7c15)
#define FACTOR_NEXT UINT64_C(0xd6e8feb86659fd93) /* an odd number, so that all factors are odd */

/* -- Members -- */

size_t pasta_member_size(const struct pasta_member *m)
{
	switch (m->type) {
	case PASTA_MEMBER_NAME:
	case PASTA_MEMBER_SCOPE:
	case PASTA_MEMBER_LINE:
	case PASTA_MEMBER_PROCESS:
	case PASTA_MEMBER_DEVICE:
	case PASTA_MEMBER_ENUM:
	case PASTA_MEMBER_LEVEL:
	case PASTA_MEMBER_SUBTYPE:
	case PASTA_MEMBER_U32:
		return sizeof(uint32_t);
	case PASTA_MEMBER_DIM3:
		return 3 * sizeof(uint32_t);
	case PASTA_MEMBER_STACK:
		return sizeof(struct pasta_stack_ref);
	case PASTA_MEMBER_ADDRESS:
	case PASTA_MEMBER_U64:
	case PASTA_MEMBER_I64:
	case PASTA_MEMBER_MIN:
	case PASTA_MEMBER_MAX:
		return sizeof(uint64_t);
	case PASTA_MEMBER_SUM:
		return m->item_size ? m->item_size : sizeof(uint64_t);
	case PASTA_MEMBER_STAT:
		return sizeof(struct pasta_stat);
	case PASTA_MEMBER_HIST:
		return sizeof(struct pasta_hist *);
	case PASTA_MEMBER_LIST:
		return sizeof(struct pasta_list);
	case PASTA_MEMBER_COVER:
		return sizeof(struct pasta_cover);
	case PASTA_MEMBER_BYTES:
		return m->item_size;
	default:
		return 0;
	}
}

bool pasta_member_is_measure(const struct pasta_member *m)
{
	return m->type >= PASTA_MEMBER_SUM && m->type <= PASTA_MEMBER_COVER;
}

static uint64_t group_plus(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static void group_merge_stat(struct pasta_stat *into, const struct pasta_stat *from)
{
	if (!from->count)
		return;
	into->min = !into->count || from->min < into->min ? from->min : into->min;
	into->max = from->max > into->max ? from->max : into->max;
	into->sum = group_plus(into->sum, from->sum);
	into->count += from->count;
}

static int group_merge_hist(struct pasta_hist **into, const struct pasta_hist *from)
{
	if (!from)
		return 0;
	if (!*into)
		*into = pasta_hist_new();
	return *into ? pasta_hist_merge(*into, from) : -ENOMEM;
}

/* Makes room for `count` more items in a list. Returns false when out of memory. */
static bool group_grow_list(struct pasta_list *list, size_t item_size, uint32_t count)
{
	uint32_t room = list->room;
	void *items;

	while (room - list->count < count && room < UINT32_MAX / 2)
		room = room ? 2 * room : 8;
	if (room - list->count < count)
		return false;
	if (room == list->room)
		return true;
	items = reallocarray(list->items, room, item_size);
	if (!items)
		return false;
	list->items = items;
	list->room = room;
	return true;
}

static int group_merge_list(struct pasta_list *into, const struct pasta_list *from, size_t size)
{
	if (!from->count)
		return 0;
	if (!group_grow_list(into, size, from->count))
		return -ENOMEM;
	memcpy((char *)into->items + into->count * size, from->items, from->count * size);
	into->count += from->count;
	return 0;
}

static void group_merge_cover(struct pasta_cover *into, const struct pasta_cover *from)
{
	struct pasta_cover other = *from;

	if (!other.count)
		return;
	if (!into->count) {
		*into = other;
		return;
	}
	pasta_cover_finish(into);
	pasta_cover_finish(&other);
	for (size_t i = 0; i < sizeof(other.time) / sizeof(*other.time); i++)
		into->time[i] = group_plus(into->time[i], other.time[i]);
	into->count += other.count;
}

static int group_merge_member(const struct pasta_member *m, void *into, const void *from)
{
	uint64_t *a = into;
	const uint64_t *b = from;

	switch (m->type) {
	case PASTA_MEMBER_SUM:
		for (size_t i = 0; i < pasta_member_size(m) / sizeof(*a); i++)
			a[i] = group_plus(a[i], b[i]);
		return 0;
	case PASTA_MEMBER_MIN:
		*a = !*a || (*b && *b < *a) ? *b : *a;
		return 0;
	case PASTA_MEMBER_MAX:
		*a = *b > *a ? *b : *a;
		return 0;
	case PASTA_MEMBER_STAT:
		group_merge_stat(into, from);
		return 0;
	case PASTA_MEMBER_HIST:
		return group_merge_hist(into, *(struct pasta_hist *const *)from);
	case PASTA_MEMBER_LIST:
		return group_merge_list(into, from, m->item_size);
	case PASTA_MEMBER_COVER:
		group_merge_cover(into, from);
		return 0;
	default:
		return 0;
	}
}

int pasta_group_merge_row(const struct pasta_group_def *def, void *into, const void *from)
{
	const struct pasta_member *m;
	int error = 0;

	for (m = def->members; m->type && !error; m++)
		if (pasta_member_is_measure(m) && !(m->flags & PASTA_MEMBER_MORE))
			error = group_merge_member(m, (char *)into + m->offset,
						   (const char *)from + m->offset);
	return error;
}

void pasta_group_clear_row(const struct pasta_group_def *def, void *row)
{
	const struct pasta_member *m;

	for (m = def->members; m->type; m++) {
		void *member = (char *)row + m->offset;

		if (m->type == PASTA_MEMBER_HIST) {
			pasta_hist_free(*(struct pasta_hist **)member);
			*(struct pasta_hist **)member = NULL;
		} else if (m->type == PASTA_MEMBER_LIST) {
			free(((struct pasta_list *)member)->items);
			*(struct pasta_list *)member = (struct pasta_list){0};
		}
	}
}

/* -- Rows -- */

/* Returns the size of the spare row. The same memory also serves as a spare item of lists. */
static size_t group_spare_size(const struct pasta_group_def *def)
{
	size_t size = def->row_size;
	const struct pasta_member *m;

	for (m = def->members; m->type; m++)
		size = m->item_size > size ? m->item_size : size;
	return size;
}

static void *group_at(const struct pasta_group *g, size_t number)
{
	size_t n = number / CHUNK + 1;
	unsigned int chunk = 63u - (unsigned int)__builtin_clzll(n);
	size_t first = (((size_t)1 << chunk) - 1) * CHUNK;

	return (char *)g->chunks[chunk] + (number - first) * g->stride;
}

void pasta_group_free(struct pasta_group *g)
{
	if (!g)
		return;
	for (size_t i = 0; g->chunks && i < g->count; i++)
		pasta_group_clear_row(g->def, group_at(g, i));
	if (g->spare)
		pasta_group_clear_row(g->def, g->spare);
	for (size_t i = 0; g->chunks && i < g->chunk_count; i++)
		free(g->chunks[i]);
	free(g->chunks);
	free(g->spare);
	free(g->index);
	free(g->last);
	free(g->sorted);
	free(g);
}

/*
 * Returns two words of a key as one number. Loads each word separately, because the caller has just
 * stored the key word by word, and a wider load would have to wait for these stores.
 */
__attribute__((always_inline)) static inline uint64_t group_pair(const uint32_t *key, uint32_t i,
								 uint32_t words)
{
	return i + 1 < words ? key[i] | (uint64_t)key[i + 1] << 32 : key[i];
}

/*
 * Returns a hash of a key. Its upper half is well mixed, but its lower half is not (see group_mix).
 * The products are independent, so that the processor can compute them in parallel. No factor is a
 * small multiple of another one, because keys of small numbers would then collide.
 */
__attribute__((always_inline)) static inline uint64_t group_hash(const uint32_t *key,
								 uint32_t words)
{
	uint64_t h = 0, factor = FACTOR;

#pragma GCC unroll 4
	for (uint32_t i = 0; i < words; i += 2) {
		h += group_pair(key, i, words) * factor;
		factor *= FACTOR_NEXT;
	}
	return h;
}

/*
 * Converts a hash to one whose lower half is well mixed, for the index. Keys that differ only in
 * the lowest bits of their last number, such as consecutive iterations or pages, get neighboring
 * slots of the index, which share a cache line.
 */
static uint64_t group_mix(const struct pasta_group *g, const uint32_t *key, uint64_t hash)
{
	uint64_t near = key[g->last_pair] & (NEAR - 1);

	/* Make the hash equal for keys that differ only in the lowest bits of their last number. */
	hash -= near * g->last_factor;
	hash ^= hash >> 32;
	hash *= UINT64_C(0xd6e8feb86659fd93);
	hash ^= hash >> 32;
	return (hash & ~(uint64_t)(NEAR - 1)) | near;
}

__attribute__((always_inline)) static inline bool group_is(const void *row, const uint32_t *key,
							   uint32_t words)
{
	uint64_t differ = 0, own;

#pragma GCC unroll 4
	for (uint32_t i = 0; i < words; i += 2) {
		own = 0;
		memcpy(&own, (const uint32_t *)row + i, i + 1 < words ? sizeof(own) : 4);
		differ |= own ^ group_pair(key, i, words);
	}
	return !differ;
}

/* Returns the slot of a key, or the empty slot in which to store it. */
static struct pasta_group_slot *group_slot(const struct pasta_group *g, const uint32_t *key,
					   uint64_t hash)
{
	size_t i = hash & g->mask;

	while (g->index[i].number &&
	       (g->index[i].hash != (uint32_t)hash ||
		memcmp(group_at(g, g->index[i].number - 1), key, g->def->key_size) != 0))
		i = (i + 1) & g->mask;
	return &g->index[i];
}

static void *group_slot_row(const struct pasta_group *g, const struct pasta_group_slot *slot)
{
	return slot->number ? group_at(g, slot->number - 1) : NULL;
}

static struct pasta_group_slot *group_empty(struct pasta_group_slot *index, size_t mask,
					    uint32_t hash)
{
	size_t i = hash & mask;

	while (index[i].number)
		i = (i + 1) & mask;
	return &index[i];
}

/* Doubles the size of the index when half of its slots are in use. Returns false when out of
 * memory. */
static bool group_grow_index(struct pasta_group *g)
{
	size_t mask = g->mask * 2 + 1;
	struct pasta_group_slot *index;

	if (g->count <= g->mask / 2)
		return true;
	index = mask <= UINT32_MAX ? calloc(mask + 1, sizeof(*index)) : NULL;
	if (!index)
		return false;
	for (size_t i = 0; i <= g->mask; i++)
		if (g->index[i].number)
			*group_empty(index, mask, g->index[i].hash) = g->index[i];
	free(g->index);
	g->index = index;
	g->mask = mask;
	return true;
}

static void *group_new_row(struct pasta_group *g)
{
	size_t n = g->count / CHUNK + 1;
	unsigned int chunk = 63u - (unsigned int)__builtin_clzll(n);

	if (chunk >= CHUNKS)
		return NULL;
	if (chunk == g->chunk_count) {
		g->chunks[chunk] = calloc((size_t)CHUNK << chunk, g->stride);
		if (!g->chunks[chunk])
			return NULL;
		g->chunk_count++;
	}
	return group_at(g, g->count++);
}

/* Adds a row and a slot for a new key. Returns NULL when out of memory. */
static void *group_put(struct pasta_group *g, const void *key, uint64_t hash)
{
	void *row = group_grow_index(g) ? group_new_row(g) : NULL;

	if (!row)
		return NULL;
	memcpy(row, key, g->def->key_size);
	*group_empty(g->index, g->mask, (uint32_t)hash) =
		(struct pasta_group_slot){(uint32_t)hash, (uint32_t)g->count};
	return row;
}

__attribute__((noinline)) static void *group_add(struct pasta_group *g, const void *key,
						 uint64_t weak)
{
	uint64_t hash = group_mix(g, key, weak);
	void *row = group_slot_row(g, group_slot(g, key, hash));

	/* If memory ran out before, do not try to allocate again: that would be slow for each row,
	 * and the tool fails anyway. */
	row = row || g->error == -ENOMEM ? row : group_put(g, key, hash);
	if (row)
		return g->last[weak >> (64 - LAST_BITS)] = row;
	g->error = -ENOMEM;
	memcpy(g->spare, key, g->def->key_size);
	return g->spare;
}

__attribute__((always_inline)) static inline void *group_row(struct pasta_group *g, const void *key,
							     uint32_t words)
{
	uint64_t hash = group_hash(key, words);
	void *row = g->last[hash >> (64 - LAST_BITS)];

	return __builtin_expect(row && group_is(row, key, words), 1) ? row
								     : group_add(g, key, hash);
}

/* With a constant number of words, the compiler unrolls all loops over the key. */
#define GROUP_ROW(name, words)                                                                     \
	static void *name(struct pasta_group *g, const void *key)                                  \
	{                                                                                          \
		return group_row(g, key, words);                                                   \
	}
GROUP_ROW(group_row_any, g->key_words)
GROUP_ROW(group_row_1, 1)
GROUP_ROW(group_row_2, 2)
GROUP_ROW(group_row_3, 3)
GROUP_ROW(group_row_4, 4)
GROUP_ROW(group_row_5, 5)
GROUP_ROW(group_row_6, 6)
GROUP_ROW(group_row_7, 7)
GROUP_ROW(group_row_8, 8)
#undef GROUP_ROW

static void *(*const group_row_by_words[])(struct pasta_group *g, const void *key) = {
	group_row_any, group_row_1, group_row_2, group_row_3, group_row_4,
	group_row_5,   group_row_6, group_row_7, group_row_8,
};
enum { WORDS = sizeof(group_row_by_words) / sizeof(*group_row_by_words) };

struct pasta_group *pasta_group_new(const struct pasta_group_def *def,
				    const struct pasta_opts *opts, const void *state)
{
	struct pasta_group *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->def = def;
	g->opts = opts;
	g->state = state;
	g->key_words = def->key_size / 4;
	g->last_factor = FACTOR;
	for (; g->last_pair + 2 < g->key_words; g->last_pair += 2)
		g->last_factor *= FACTOR_NEXT;
	g->row = group_row_by_words[g->key_words < WORDS ? g->key_words : 0];
	g->stride = (def->row_size + 7) & ~(size_t)7;
	g->mask = SLOTS - 1;
	g->spare = calloc(1, group_spare_size(def));
	g->chunks = calloc(CHUNKS, sizeof(*g->chunks));
	g->index = calloc(SLOTS, sizeof(*g->index));
	g->last = calloc((size_t)1 << LAST_BITS, sizeof(*g->last));
	if (g->spare && g->chunks && g->index && g->last)
		return g;
	pasta_group_free(g);
	return NULL;
}

void *pasta_group_row(struct pasta_group *g, const void *key)
{
	return g->row(g, key);
}

void *pasta_group_find(const struct pasta_group *g, const void *key)
{
	return group_slot_row(g,
			      group_slot(g, key, group_mix(g, key, group_hash(key, g->key_words))));
}

size_t pasta_group_number(const struct pasta_group *g, const void *key)
{
	return group_slot(g, key, group_mix(g, key, group_hash(key, g->key_words)))->number;
}

void pasta_group_hist(struct pasta_group *g, struct pasta_hist **hist, uint64_t value)
{
	if (!*hist)
		*hist = pasta_hist_new();
	if (!*hist || pasta_hist_add(*hist, value, 1))
		g->error = -ENOMEM;
}

void *pasta_group_append(struct pasta_group *g, struct pasta_list *list, size_t item_size)
{
	void *item;

	if (!group_grow_list(list, item_size, 1)) {
		g->error = -ENOMEM;
		/* When out of memory, return the last item, which the caller then overwrites. If
		 * the list is empty, return the spare row. */
		if (!list->count)
			return memset(g->spare, 0, item_size);
		list->count--;
	}
	item = (char *)list->items + list->count++ * item_size;
	return memset(item, 0, item_size);
}

void *pasta_group_next(const struct pasta_group *g, size_t *at)
{
	return *at < g->count ? group_at(g, (*at)++) : NULL;
}

void *pasta_group_next_by(struct pasta_group *g, const char *order, size_t *at)
{
	size_t count;
	void *row;

	if (!*at) {
		free(g->sorted);
		g->sorted = pasta_group_sorted(g, order, &count);
	}
	row = g->sorted ? g->sorted[*at] : NULL;
	*at += row != NULL;
	if (!row) {
		free(g->sorted);
		g->sorted = NULL;
	}
	return row;
}

uint32_t pasta_group_intern(struct pasta_group *g, const void *bytes, size_t size)
{
	uint32_t id = pasta_strings_add(bytes, size);

	if (!id)
		pasta_group_fail(g, -ENOMEM);
	return id;
}

void pasta_group_fail(struct pasta_group *g, int error)
{
	g->error = g->error ? g->error : error;
}

size_t pasta_group_count(const struct pasta_group *g)
{
	return g->count;
}

uint64_t pasta_group_sum(const struct pasta_group *g, size_t offset)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < g->count; i++)
		sum = group_plus(sum, *(uint64_t *)((char *)group_at(g, i) + offset));
	return sum;
}

int pasta_group_error(const struct pasta_group *g)
{
	return g->error;
}

/* Merges a row of another group. A member that is not a measure has the same value in all rows with
 * the same key, so it is copied only to new rows. */
static int group_merge_from(struct pasta_group *into, const void *key, const void *other)
{
	const struct pasta_group_def *def = into->def;
	size_t before = into->count;
	char *row = pasta_group_row(into, key);
	const struct pasta_member *m;

	for (m = def->members; into->count > before && m->type; m++)
		if (!pasta_member_is_measure(m) && m->offset >= def->key_size)
			memcpy(row + m->offset, (const char *)other + m->offset,
			       pasta_member_size(m));
	return into->error ? into->error : pasta_group_merge_row(def, row, other);
}

int pasta_group_merge(struct pasta_group *into, const struct pasta_group *from)
{
	const void *other;
	size_t at = 0;
	int error = from->error;

	while (!error && (other = pasta_group_next(from, &at)))
		error = group_merge_from(into, other, other);
	into->error = into->error ? into->error : error;
	return error;
}

void pasta_group_rekey(struct pasta_group *g, void (*change)(void *key, const void *ctx),
		       const void *ctx)
{
	struct pasta_group *to = pasta_group_new(g->def, g->opts, g->state), old = *g;
	int error = to ? g->error : -ENOMEM;
	const void *row;
	size_t at = 0;

	while (!error && (row = pasta_group_next(g, &at))) {
		memcpy(g->spare, row, g->def->key_size);
		change(g->spare, ctx);
		error = group_merge_from(to, g->spare, row);
	}
	if (to) {
		*g = *to;
		*to = old;
	}
	g->error = error;
	pasta_group_free(to);
}

struct pasta_group **pasta_group_in(const struct pasta_group_def *def, const void *state)
{
	return (struct pasta_group **)((uintptr_t)state + def->state_offset);
}
