/* map.c - a hash map from 64-bit keys to values that never move. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <pasta/map.h>

/*
 * Entries are allocated in chunks, each twice as large as the one before, and never move. The index
 * uses open addressing with linear probing. Each slot of the index has a copy of the key, so that a
 * look-up costs one cache miss instead of two.
 */
#define CHUNK_SHIFT 6 /* log2 of the number of entries in the first chunk */
#define CHUNKS (32 - CHUNK_SHIFT)
#define ENTRIES_MAX ((UINT32_C(1) << 31) - 1)

struct entry {
	uint64_t key;
	uint32_t used;	    /* the number of the entry plus 1; 0: the entry is free */
	uint32_t next_free; /* if this entry is free: the number of the next free entry plus 1 */
			    /* the value follows */
};

struct slot {
	uint64_t key;
	struct entry *entry; /* NULL if the slot is empty */
};

struct pasta_map {
	size_t value_size, stride;
	char *chunks[CHUNKS];
	struct slot *index;
	uint32_t mask;	  /* slots - 1 */
	uint32_t entries; /* number of entries, used or free */
	uint32_t count;	  /* number of used entries */
	uint32_t free;	  /* the number of the first free entry plus 1; 0: no entry is free */
};

static struct entry *map_entry(const struct pasta_map *map, uint32_t number)
{
	uint32_t n = (number >> CHUNK_SHIFT) + 1;
	unsigned int chunk = 31u - (unsigned int)__builtin_clz(n);
	uint32_t first = ((UINT32_C(1) << chunk) - 1) << CHUNK_SHIFT;

	return (struct entry *)(map->chunks[chunk] + (number - first) * map->stride);
}

/* Hashes a key. Spreads consecutive keys, and keys that differ only in their high bits. */
static uint32_t map_hash(uint64_t key)
{
	unsigned __int128 product = (unsigned __int128)(key ^ UINT64_C(0x9e3779b97f4a7c15)) *
				    UINT64_C(0xd6e8feb86659fd93);

	return (uint32_t)((uint64_t)(product >> 64) ^ (uint64_t)product);
}

struct pasta_map *pasta_map_new(size_t value_size)
{
	struct pasta_map *map = calloc(1, sizeof(*map));

	if (!map)
		return NULL;
	map->value_size = value_size;
	map->stride = (sizeof(struct entry) + value_size + 7) & ~(size_t)7;
	map->mask = (UINT32_C(2) << CHUNK_SHIFT) - 1;
	map->index = calloc((size_t)map->mask + 1, sizeof(*map->index));
	if (!map->index) {
		free(map);
		return NULL;
	}
	return map;
}

void pasta_map_free(struct pasta_map *map)
{
	unsigned int i;

	if (!map)
		return;
	for (i = 0; i < CHUNKS; i++)
		free(map->chunks[i]);
	free(map->index);
	free(map);
}

/* Returns the slot of the key. If the key has none, returns the empty slot to which the key
 * belongs. */
static struct slot *map_slot(const struct pasta_map *map, uint64_t key)
{
	uint32_t i = map_hash(key) & map->mask;

	while (map->index[i].entry && map->index[i].key != key)
		i = (i + 1) & map->mask;
	return &map->index[i];
}

void *pasta_map_find(const struct pasta_map *map, uint64_t key)
{
	struct entry *entry = map_slot(map, key)->entry;

	return entry ? entry + 1 : NULL;
}

/* If less than a quarter of the slots is empty, doubles the size of the index. Returns false when
 * out of memory. */
static bool map_grow_index(struct pasta_map *map)
{
	uint32_t i, mask = map->mask * 2 + 1;
	struct slot *index;

	if (map->count < map->mask - map->mask / 4)
		return true;
	index = calloc((size_t)mask + 1, sizeof(*index));
	if (!index)
		return false;
	free(map->index);
	map->index = index;
	map->mask = mask;
	for (i = 0; i < map->entries; i++) {
		struct entry *entry = map_entry(map, i);

		if (entry->used)
			*map_slot(map, entry->key) = (struct slot){entry->key, entry};
	}
	return true;
}

/* Returns the number of a free entry plus 1; 0 when out of memory. */
static uint32_t map_acquire(struct pasta_map *map)
{
	uint32_t number = map->free, n = (map->entries >> CHUNK_SHIFT) + 1;
	unsigned int chunk = 31u - (unsigned int)__builtin_clz(n);

	if (number) {
		map->free = map_entry(map, number - 1)->next_free;
		return number;
	}
	if (map->entries == ENTRIES_MAX)
		return 0;
	if (!map->chunks[chunk])
		map->chunks[chunk] = malloc(((size_t)1 << (chunk + CHUNK_SHIFT)) * map->stride);
	if (!map->chunks[chunk])
		return 0;
	return ++map->entries;
}

void *pasta_map_add(struct pasta_map *map, uint64_t key)
{
	struct slot *slot = map_slot(map, key);
	uint32_t number, mask = map->mask;
	struct entry *entry;

	if (slot->entry)
		return slot->entry + 1;
	if (!map_grow_index(map))
		return NULL;
	if (map->mask != mask)
		slot = map_slot(map, key);
	number = map_acquire(map);
	if (!number)
		return NULL;
	entry = map_entry(map, number - 1);
	memset(entry, 0, map->stride);
	entry->key = key;
	entry->used = number;
	*slot = (struct slot){key, entry};
	map->count++;
	return entry + 1;
}

/* Empties a slot. If necessary, moves the entries in the slots directly after this slot, so that
 * probing still finds them. */
static void map_close_gap(struct pasta_map *map, uint32_t gap)
{
	uint32_t i = gap;

	while (map->index[i = (i + 1) & map->mask].entry) {
		uint32_t home = map_hash(map->index[i].key) & map->mask;

		if (((i - home) & map->mask) < ((i - gap) & map->mask))
			continue;
		map->index[gap] = map->index[i];
		gap = i;
	}
	map->index[gap].entry = NULL;
}

void pasta_map_remove(struct pasta_map *map, uint64_t key)
{
	struct slot *slot = map_slot(map, key);
	struct entry *entry = slot->entry;
	uint32_t number;

	if (!entry)
		return;
	number = entry->used;
	entry->used = 0;
	entry->next_free = map->free;
	map->free = number;
	map->count--;
	map_close_gap(map, (uint32_t)(slot - map->index));
}

size_t pasta_map_count(const struct pasta_map *map)
{
	return map->count;
}

void *pasta_map_next(const struct pasta_map *map, size_t *at, uint64_t *key)
{
	while (*at < map->entries) {
		struct entry *entry = map_entry(map, (uint32_t)(*at)++);

		if (!entry->used)
			continue;
		if (key)
			*key = entry->key;
		return entry + 1;
	}
	return NULL;
}

void *pasta_map_sorted(const struct pasta_map *map, int (*order)(const void *, const void *))
{
	void **values = calloc((size_t)map->count + 1, sizeof(*values)), *value;
	size_t i = 0, at = 0;

	while (values && (value = pasta_map_next(map, &at, NULL)))
		values[i++] = value;
	if (values)
		qsort(values, map->count, sizeof(*values), order);
	return values;
}
