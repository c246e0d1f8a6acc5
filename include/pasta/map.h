/* map.h - a map from 64-bit keys to values. */
#ifndef PASTA_MAP_H
#define PASTA_MAP_H

#include <pasta/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A map from 64-bit keys (an id, an address, a pair of 32-bit numbers) to values of one size,
 * aligned to 8. A value does not move until it is removed. Only one thread at a time may use a map.
 * pasta_map_new returns NULL when out of memory.
 */
struct pasta_map;
PASTA_EXPORT struct pasta_map *pasta_map_new(size_t value_size);
PASTA_EXPORT void pasta_map_free(struct pasta_map *map);
/* Return the value of a key. If there is none, pasta_map_find returns NULL, and pasta_map_add adds
 * a zeroed value, or returns NULL when out of memory. */
PASTA_EXPORT void *pasta_map_find(const struct pasta_map *map, uint64_t key);
PASTA_EXPORT void *pasta_map_add(struct pasta_map *map, uint64_t key);
PASTA_EXPORT void pasta_map_remove(struct pasta_map *map, uint64_t key);
PASTA_EXPORT size_t pasta_map_count(const struct pasta_map *map);
/* Returns the next value, or NULL at the end. If `key` is not NULL, sets *key to the value's key.
 * Set *at to 0 before the first call. If no value was ever removed, values come in the order in
 * which they were added. Do not add or remove values during a walk. */
PASTA_EXPORT void *pasta_map_next(const struct pasta_map *map, size_t *at, uint64_t *key);
/* Returns an array of pointers to all values, with a NULL at the end. The array is sorted by qsort
 * with the comparison function `order`, to which qsort passes the addresses of two of the pointers.
 * The caller frees the array; the map owns the values. Returns NULL when out of memory. */
PASTA_EXPORT void *pasta_map_sorted(const struct pasta_map *map,
				    int (*order)(const void *, const void *));

/* Combines two 32-bit numbers into one key. */
static inline uint64_t pasta_pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

#ifdef __cplusplus
}
#endif
#endif
