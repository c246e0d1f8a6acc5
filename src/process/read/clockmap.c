/* clockmap.c - converts times of a source's clock to the host's CLOCK_MONOTONIC_RAW. */
#include "process/read/clockmap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

enum { POINTS_MAX = 1 << 16 };
#define NEAR_NS UINT64_C(500000000)
#define TWO_63 9223372036854775808.0

static void clockmap_thin_out(struct pasta_clockmap *c)
{
	for (size_t i = 0; i < c->count / 2; i++)
		c->points[i] = c->points[2 * i];
	c->count /= 2;
}

/* Returns whether the last point is close to the new one and at least as exact. If the last point
 * is close to the new one but less exact, removes it, because later samples of a clock are usually
 * more exact. */
static bool clockmap_is_worse(struct pasta_clockmap *c, uint64_t raw, uint64_t error)
{
	const struct pasta_clockmap_point *last = &c->points[c->count - 1];

	if (!error || raw > last->raw + NEAR_NS || last->raw > raw + NEAR_NS)
		return false;
	if (error >= last->error)
		return true;
	c->count--;
	return false;
}

int pasta_clockmap_add(struct pasta_clockmap *c, uint64_t value, uint64_t raw, uint64_t error)
{
	if (c->count && clockmap_is_worse(c, raw, error))
		return 0;
	if (c->count &&
	    (value <= c->points[c->count - 1].value || raw <= c->points[c->count - 1].raw))
		return 0;
	if (c->count == POINTS_MAX)
		clockmap_thin_out(c);
	if (c->count == c->capacity) {
		size_t n = c->capacity ? c->capacity * 2 : 16;
		struct pasta_clockmap_point *p = realloc(c->points, n * sizeof(*p));

		if (!p)
			return -ENOMEM;
		c->points = p;
		c->capacity = n;
	}
	c->points[c->count++] = (struct pasta_clockmap_point){value, raw, error};
	return 0;
}

void pasta_clockmap_free(struct pasta_clockmap *c)
{
	free(c->points);
	*c = (struct pasta_clockmap){0};
}

/* A linear function that converts the clock values from `first` to `end` - 1. */
struct line {
	uint64_t first, end, value, raw;
	double rate;
};

static struct line clockmap_line_at(const struct pasta_clockmap *c, uint64_t value)
{
	const struct pasta_clockmap_point *p = c->points, *a, *b;
	size_t lo = 0, hi = c->count;
	struct line l;

	if (c->count == 1)
		return (struct line){0, UINT64_MAX, p->value, p->raw, 1.0};
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (p[mid].value <= value)
			lo = mid;
		else
			hi = mid;
	}
	a = &p[lo + 1 < c->count ? lo : lo - 1];
	b = a + 1;
	l.first = lo ? p[lo].value : 0;
	l.end = lo + 1 < c->count ? p[lo + 1].value : UINT64_MAX;
	l.value = a->value;
	l.raw = a->raw;
	l.rate = (double)(b->raw - a->raw) / (double)(b->value - a->value);
	return l;
}

/* Converts a double to an integer, limited to the integer's range. A damaged clock may produce any
 * double, and a cast of a value out of range is undefined. */
static uint64_t clockmap_round(double d)
{
	if (d >= TWO_63 || d < -TWO_63)
		return d > 0 ? INT64_MAX : (uint64_t)INT64_MIN;
	return (uint64_t)(int64_t)d;
}

void pasta_clockmap_convert(const struct pasta_clockmap *c, uint64_t *values, size_t n)
{
	struct line l = {0};

	for (size_t i = 0; c->count && i < n; i++) {
		uint64_t v = values[i];

		if (v < l.first || v >= l.end)
			l = clockmap_line_at(c, v);
		/* Times of an imported trace may be years apart. A double cannot represent such a
		 * difference exactly in ns. */
		values[i] =
			l.raw + (l.rate == 1.0
					 ? v - l.value
					 : clockmap_round((double)(int64_t)(v - l.value) * l.rate));
	}
}

uint64_t pasta_clockmap_raw(const struct pasta_clockmap *c, uint64_t value)
{
	pasta_clockmap_convert(c, &value, 1);
	return value;
}
