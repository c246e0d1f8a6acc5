/* clockmap.c - from a source's clock to the host's CLOCK_MONOTONIC_RAW. */
#include "process/clockmap.h"

#include <errno.h>
#include <stdlib.h>

int pasta_clockmap_add(struct pasta_clockmap *c, uint64_t value, uint64_t raw)
{
	if (c->count && (value <= c->points[c->count - 1].value || raw <= c->points[c->count - 1].raw))
		return 0;
	if (c->count == c->capacity) {
		size_t n = c->capacity ? c->capacity * 2 : 16;
		struct pasta_clockmap_point *p = realloc(c->points, n * sizeof(*p));

		if (!p)
			return -ENOMEM;
		c->points = p;
		c->capacity = n;
	}
	c->points[c->count++] = (struct pasta_clockmap_point){value, raw};
	return 0;
}

void pasta_clockmap_free(struct pasta_clockmap *c)
{
	free(c->points);
	*c = (struct pasta_clockmap){0};
}

uint64_t pasta_clockmap_raw(const struct pasta_clockmap *c, uint64_t value)
{
	const struct pasta_clockmap_point *a, *b;
	size_t lo = 0, hi = c->count;
	double rate;

	if (!c->count)
		return value;
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->points[mid].value <= value)
			lo = mid;
		else
			hi = mid;
	}
	if (c->count == 1)
		return c->points[0].raw + (value - c->points[0].value);
	a = &c->points[lo + 1 < c->count ? lo : lo - 1];
	b = a + 1;
	rate = (double)(b->raw - a->raw) / (double)(b->value - a->value);
	return a->raw + (uint64_t)(int64_t)((double)(int64_t)(value - a->value) * rate);
}
