/* clockmap.h - converts times of a source's clock to the host's CLOCK_MONOTONIC_RAW. */
#ifndef PASTA_PROCESS_CLOCKMAP_H
#define PASTA_PROCESS_CLOCKMAP_H

#include <stddef.h>
#include <stdint.h>

struct pasta_clockmap_point {
	uint64_t value, raw, error;
};

/* Pairs of times of two clocks, sorted by time. Zero the struct before use. */
struct pasta_clockmap {
	struct pasta_clockmap_point *points;
	size_t count, capacity;
};

/* Adds a pair of times; `error` is its uncertainty in ns. If inexact points are less than half a
 * second apart, only the most exact one is stored. A point that does not advance both clocks is
 * ignored. When there are 2^16 points, every second one is removed, so that a damaged shard cannot
 * use unlimited memory. Returns 0 or -ENOMEM. */
int pasta_clockmap_add(struct pasta_clockmap *c, uint64_t value, uint64_t raw, uint64_t error);
void pasta_clockmap_free(struct pasta_clockmap *c);

/* Converts a time by linear interpolation. Before the first and after the last point, uses the rate
 * of the nearest two points. Returns `value` if there are no points. */
uint64_t pasta_clockmap_raw(const struct pasta_clockmap *c, uint64_t value);
/* Converts n times in place. This is fastest if the times are sorted. */
void pasta_clockmap_convert(const struct pasta_clockmap *c, uint64_t *values, size_t n);

#endif
