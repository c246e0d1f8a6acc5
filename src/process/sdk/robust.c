/* robust.c - statistics that outliers do not change. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <pasta/robust.h>

#define ROBUST_LEVEL 5	   /* least number of values of a level */
#define ROBUST_DIFFER 0.05 /* least difference of levels */
#define ROBUST_CLIP 5	   /* values are moved to at most this many deviations from the median */
/* A cut must reduce the sum of the squares by this many times the variance, and by ROBUST_LOG more
 * for each factor of e in the length of the series. */
#define ROBUST_PENALTY 20.0
#define ROBUST_LOG 4.0

static int robust_by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Sorts the values and returns their median. */
static uint64_t robust_median(uint64_t *values, size_t count)
{
	qsort(values, count, sizeof(*values), robust_by_value);
	return values[(count - 1) / 2];
}

int pasta_robust_of(const uint64_t *values, size_t count, struct pasta_robust *r)
{
	uint64_t *own;

	*r = (struct pasta_robust){.count = count};
	if (!count)
		return 0;
	own = reallocarray(NULL, count, sizeof(*own));
	if (!own)
		return -ENOMEM;
	memcpy(own, values, count * sizeof(*own));
	r->median = robust_median(own, count);
	for (size_t i = 0; i < count; i++)
		own[i] = own[i] > r->median ? own[i] - r->median : r->median - own[i];
	r->mad = robust_median(own, count);
	free(own);
	return 0;
}

double pasta_robust_sigma(const struct pasta_robust *r)
{
	double sigma = PASTA_ROBUST_SIGMA * (double)r->mad;
	double least = PASTA_ROBUST_LEAST * (double)r->median;

	sigma = sigma > least ? sigma : least;
	return sigma > 1 ? sigma : 1;
}

double pasta_robust_score(const struct pasta_robust *r, uint64_t value)
{
	return ((double)value - (double)r->median) / pasta_robust_sigma(r);
}

/* -- Changes -- */

struct robust_series {
	const uint64_t *values;
	size_t count;
	/* Sums of the first i values, after outliers were moved and the median was subtracted. The
	 * unit is the standard deviation of the noise. */
	double *sums;
	uint64_t *scratch;
};

/* The best cut of the values from `begin` to `end` - 1. */
struct robust_cut {
	size_t begin, end, at;
	double gain;
};

/* Returns the standard deviation of the noise, from the differences of adjacent values, which a
 * change of level does not change. */
static double robust_noise(const struct robust_series *s, const struct pasta_robust *r)
{
	double least = PASTA_ROBUST_LEAST * (double)r->median, noise;

	for (size_t i = 1; i < s->count; i++)
		s->scratch[i - 1] = s->values[i] > s->values[i - 1]
					    ? s->values[i] - s->values[i - 1]
					    : s->values[i - 1] - s->values[i];
	noise = PASTA_ROBUST_SIGMA * (double)robust_median(s->scratch, s->count - 1) / sqrt(2);
	noise = noise > least ? noise : least;
	return noise > 1 ? noise : 1;
}

static void robust_sum(const struct robust_series *s, const struct pasta_robust *r, double noise)
{
	double clip = ROBUST_CLIP * pasta_robust_sigma(r);

	s->sums[0] = 0;
	for (size_t i = 0; i < s->count; i++) {
		double value = (double)s->values[i] - (double)r->median;

		value = value > clip ? clip : value < -clip ? -clip : value;
		s->sums[i + 1] = s->sums[i] + value / noise;
	}
}

/* Finds the cut that reduces the sum of the squares most: by a * b / (a + b) times the square of
 * the difference of the means, where a and b are the lengths of the parts. */
static struct robust_cut robust_best(const struct robust_series *s, size_t begin, size_t end)
{
	struct robust_cut best = {.begin = begin, .end = end};

	for (size_t at = begin + ROBUST_LEVEL; at + ROBUST_LEVEL <= end; at++) {
		double a = (double)(at - begin), b = (double)(end - at);
		double left = (s->sums[at] - s->sums[begin]) / a;
		double right = (s->sums[end] - s->sums[at]) / b;
		double gain = a * b / (a + b) * (left - right) * (left - right);

		if (gain > best.gain) {
			best.gain = gain;
			best.at = at;
		}
	}
	return best;
}

static uint64_t robust_level(const struct robust_series *s, size_t begin, size_t end)
{
	memcpy(s->scratch, s->values + begin, (end - begin) * sizeof(*s->scratch));
	return robust_median(s->scratch, end - begin);
}

static bool robust_differs(uint64_t before, uint64_t after)
{
	double low = (double)(before < after ? before : after);
	double high = (double)(before < after ? after : before);

	return high - low >= ROBUST_DIFFER * high && high - low >= 1;
}

static bool robust_cut_counts(const struct robust_series *s, const struct robust_cut *cut)
{
	double penalty = ROBUST_PENALTY + ROBUST_LOG * log((double)s->count);

	return cut->gain > penalty && robust_differs(robust_level(s, cut->begin, cut->at),
						     robust_level(s, cut->at, cut->end));
}

/* Cuts the series, the best cut first. cuts[0] is the whole series; has room for max + 1 parts.
 * Returns the number of parts. */
static size_t robust_segment(const struct robust_series *s, struct robust_cut *cuts, size_t max)
{
	size_t parts = 1;

	cuts[0] = robust_best(s, 0, s->count);
	while (parts <= max) {
		struct robust_cut cut, *best = NULL;

		for (size_t i = 0; i < parts; i++)
			if (cuts[i].gain > 0 && (!best || cuts[i].gain > best->gain))
				best = &cuts[i];
		if (!best)
			break;
		cut = *best;
		best->gain = 0;
		if (!robust_cut_counts(s, &cut))
			continue;
		*best = robust_best(s, cut.begin, cut.at);
		cuts[parts++] = robust_best(s, cut.at, cut.end);
	}
	return parts;
}

static int robust_by_begin(const void *a, const void *b)
{
	const struct robust_cut *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static int robust_find(const struct robust_series *s, struct pasta_change *changes, size_t max)
{
	struct robust_cut *cuts = calloc(max + 2, sizeof(*cuts));
	size_t parts, n = 0;

	if (!cuts)
		return -ENOMEM;
	parts = robust_segment(s, cuts, max);
	qsort(cuts, parts, sizeof(*cuts), robust_by_begin);
	for (size_t i = 1; i < parts; i++)
		changes[n++] = (struct pasta_change){
			.at = cuts[i].begin,
			.before = robust_level(s, cuts[i - 1].begin, cuts[i - 1].end),
			.after = robust_level(s, cuts[i].begin, cuts[i].end)};
	free(cuts);
	return (int)n;
}

int pasta_robust_changes(const uint64_t *values, size_t count, struct pasta_change *changes,
			 size_t max)
{
	struct robust_series s = {.values = values, .count = count};
	struct pasta_robust r;
	int found = -ENOMEM;

	if (count < (size_t)2 * ROBUST_LEVEL || !max)
		return 0;
	s.sums = reallocarray(NULL, count + 1, sizeof(*s.sums));
	s.scratch = reallocarray(NULL, count, sizeof(*s.scratch));
	if (s.sums && s.scratch && !pasta_robust_of(values, count, &r)) {
		robust_sum(&s, &r, robust_noise(&s, &r));
		found = robust_find(&s, changes, max < 1000 ? max : 1000);
	}
	free(s.sums);
	free(s.scratch);
	return found;
}
