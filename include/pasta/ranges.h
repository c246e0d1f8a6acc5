/* ranges.h - a map from address ranges to values. */
#ifndef PASTA_RANGES_H
#define PASTA_RANGES_H

#include <pasta/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A map from ranges of addresses, [begin, begin + size), to values of one size, aligned to 8. No
 * two ranges overlap. A value does not move until it is removed. All functions are O(log count).
 * Only one thread at a time may use a map.
 */
struct pasta_ranges;
PASTA_EXPORT struct pasta_ranges *pasta_ranges_new(size_t value_size); /* NULL: out of memory */
PASTA_EXPORT void pasta_ranges_free(struct pasta_ranges *ranges);
/* Adds a range, and returns its zeroed value. Removes the ranges that overlap the new range,
 * because they must have been freed without an event. *gone, which may be NULL, receives the number
 * of removed ranges. Returns NULL when out of memory, and for a range that is empty or reaches past
 * UINT64_MAX; then nothing has changed. */
PASTA_EXPORT void *pasta_ranges_add(struct pasta_ranges *ranges, uint64_t begin, uint64_t size,
				    size_t *gone);
/* Returns the value of the range that contains addr, or NULL. `begin` and `size` may be NULL. */
PASTA_EXPORT void *pasta_ranges_find(const struct pasta_ranges *ranges, uint64_t addr,
				     uint64_t *begin, uint64_t *size);
/* Removes the range that begins at an address. Returns -ENOENT if no range begins there. */
PASTA_EXPORT int pasta_ranges_remove(struct pasta_ranges *ranges, uint64_t begin);
PASTA_EXPORT size_t pasta_ranges_count(const struct pasta_ranges *ranges);
/* Returns the value of the range that contains addr, or else of the first range after addr; NULL if
 * there is none. Ranges may be added and removed during a walk. To visit all ranges that overlap
 * [a, b), where a < b: for (at = a; (v = pasta_ranges_next(r, at, &begin, &size)) && begin < b; at
 * = begin + size) */
PASTA_EXPORT void *pasta_ranges_next(const struct pasta_ranges *ranges, uint64_t addr,
				     uint64_t *begin, uint64_t *size);

#ifdef __cplusplus
}
#endif
#endif
