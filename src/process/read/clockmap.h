/* clockmap.h - from a source's clock to the host's CLOCK_MONOTONIC_RAW. */
#ifndef PASTA_PROCESS_CLOCKMAP_H
#define PASTA_PROCESS_CLOCKMAP_H

#include <stddef.h>
#include <stdint.h>

struct pasta_clockmap_point {
	uint64_t value, raw, error;
};

/* Pairs of one clock, in order. Zeroed: empty. */
struct pasta_clockmap {
	struct pasta_clockmap_point *points;
	size_t count, capacity;
};

/* 0 or -ENOMEM. Of points that may be off, and are less than half a second apart, the best is kept.
 * Points that do not go forward in both clocks are left out. Past 2^16 points every
 * second one is forgotten: memory is bounded, whatever a shard says. */
int pasta_clockmap_add(struct pasta_clockmap *c, uint64_t value, uint64_t raw, uint64_t error);
void pasta_clockmap_free(struct pasta_clockmap *c);

/* Linear between points, and past the ends by the nearest pair's rate. Without points, value. */
uint64_t pasta_clockmap_raw(const struct pasta_clockmap *c, uint64_t value);
/* Many, in place; fastest where they are in order. */
void pasta_clockmap_convert(const struct pasta_clockmap *c, uint64_t *values, size_t n);

#endif
