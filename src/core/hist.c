/* hist.c - a log-linear histogram, which computes approximate quantiles with little memory. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <pasta/hist.h>

/*
 * Octave 0 counts the numbers below SUBS. Octave n counts the numbers from SUBS << (n - 1) to (SUBS
 * << n) - 1. Each octave has SUBS buckets of equal width. The width of a bucket is at most 1/SUBS
 * of each number in it. The middle of the bucket represents its numbers. Octaves are allocated on
 * demand; most histograms have few.
 */
#define SUB_BITS 5
#define SUBS (1u << SUB_BITS)
#define OCTAVES (65 - SUB_BITS)

struct pasta_hist {
	uint64_t count, sum, min, max;
	uint64_t *octaves[OCTAVES];
};

struct pasta_hist *pasta_hist_new(void)
{
	return calloc(1, sizeof(struct pasta_hist));
}

void pasta_hist_free(struct pasta_hist *hist)
{
	unsigned int i;

	for (i = 0; hist && i < OCTAVES; i++)
		free(hist->octaves[i]);
	free(hist);
}

static unsigned int hist_octave(uint64_t value)
{
	return value < SUBS ? 0 : 64 - SUB_BITS - (unsigned int)__builtin_clzll(value);
}

/* Returns the binary logarithm of the width of the buckets in an octave. */
static unsigned int hist_shift(unsigned int octave)
{
	return octave ? octave - 1 : 0;
}

static uint64_t hist_middle(unsigned int octave, unsigned int sub)
{
	uint64_t low = (uint64_t)(octave ? SUBS + sub : sub) << hist_shift(octave);

	return low + ((UINT64_C(1) << hist_shift(octave)) - 1) / 2;
}

/* Returns the sum of two numbers, or UINT64_MAX on overflow. */
static uint64_t hist_plus(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* Returns the product of two numbers, or UINT64_MAX on overflow. */
static uint64_t hist_times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static int hist_make_octave(struct pasta_hist *hist, unsigned int octave)
{
	if (!hist->octaves[octave])
		hist->octaves[octave] = calloc(SUBS, sizeof(uint64_t));
	return hist->octaves[octave] ? 0 : -ENOMEM;
}

/* Adds the first value of an octave. Not inline: otherwise the caller, which runs often, would have
 * to save registers. */
__attribute__((noinline)) static int hist_add_first(struct pasta_hist *hist, uint64_t value,
						    uint64_t count)
{
	int error = hist_make_octave(hist, hist_octave(value));

	return error ? error : pasta_hist_add(hist, value, count);
}

int pasta_hist_add(struct pasta_hist *hist, uint64_t value, uint64_t count)
{
	unsigned int octave = hist_octave(value);

	if (!count)
		return 0;
	if (hist->count + count < count)
		return -EOVERFLOW;
	if (!hist->octaves[octave])
		return hist_add_first(hist, value, count);
	hist->octaves[octave][value >> hist_shift(octave) & (SUBS - 1)] += count;
	if (!hist->count || value < hist->min)
		hist->min = value;
	if (value > hist->max)
		hist->max = value;
	hist->count += count;
	hist->sum = hist_plus(hist->sum, hist_times(value, count));
	return 0;
}

int pasta_hist_merge(struct pasta_hist *into, const struct pasta_hist *from)
{
	unsigned int i, k;

	if (!from->count)
		return 0;
	if (into->count + from->count < into->count)
		return -EOVERFLOW;
	for (i = 0; i < OCTAVES; i++)
		if (from->octaves[i] && hist_make_octave(into, i))
			return -ENOMEM;
	for (i = 0; i < OCTAVES; i++)
		for (k = 0; from->octaves[i] && k < SUBS; k++)
			into->octaves[i][k] += from->octaves[i][k];
	if (!into->count || from->min < into->min)
		into->min = from->min;
	if (from->max > into->max)
		into->max = from->max;
	into->count += from->count;
	into->sum = hist_plus(into->sum, from->sum);
	return 0;
}

uint64_t pasta_hist_count(const struct pasta_hist *hist)
{
	return hist->count;
}

uint64_t pasta_hist_sum(const struct pasta_hist *hist)
{
	return hist->sum;
}

uint64_t pasta_hist_min(const struct pasta_hist *hist)
{
	return hist->min;
}

uint64_t pasta_hist_max(const struct pasta_hist *hist)
{
	return hist->max;
}

/* Returns the middle of the bucket that contains the number with this rank, where the smallest
 * number has rank 1. */
static uint64_t hist_at_rank(const struct pasta_hist *hist, uint64_t rank)
{
	uint64_t seen = 0;
	unsigned int i, k;

	for (i = 0; i < OCTAVES; i++)
		for (k = 0; hist->octaves[i] && k < SUBS; k++) {
			seen += hist->octaves[i][k];
			if (seen >= rank)
				return hist_middle(i, k);
		}
	return hist->max;
}

uint64_t pasta_hist_quantile(const struct pasta_hist *hist, double q)
{
	double rank = ceil(q * (double)hist->count);
	uint64_t value;

	if (!(rank > 1))
		return hist->min;
	/* Converting a large count to double may have rounded it up. */
	if (rank >= (double)hist->count)
		return hist->max;
	value = hist_at_rank(hist, (uint64_t)rank);
	return value < hist->min ? hist->min : value > hist->max ? hist->max : value;
}

uint64_t pasta_hist_above(const struct pasta_hist *hist, uint64_t value, uint64_t *sum)
{
	uint64_t count = 0, total = 0;
	unsigned int i, k;

	for (i = value < hist->max ? hist_octave(value) : OCTAVES; i < OCTAVES; i++)
		for (k = 0; hist->octaves[i] && k < SUBS; k++) {
			uint64_t middle = hist_middle(i, k);

			middle = middle < hist->min ? hist->min : middle;
			middle = middle > hist->max ? hist->max : middle;
			if (!hist->octaves[i][k] || middle <= value)
				continue;
			count += hist->octaves[i][k];
			total = hist_plus(total, hist_times(middle, hist->octaves[i][k]));
		}
	if (sum)
		*sum = total;
	return count;
}

/* Returns how many values are at most `distance` away from `middle`. */
static uint64_t hist_within(const struct pasta_hist *hist, uint64_t middle, uint64_t distance)
{
	uint64_t high = hist_plus(middle, distance);
	uint64_t all = hist->count - pasta_hist_above(hist, high, NULL);

	return middle <= distance
		       ? all
		       : all - (hist->count - pasta_hist_above(hist, middle - distance - 1, NULL));
}

uint64_t pasta_hist_mad(const struct pasta_hist *hist)
{
	uint64_t median = pasta_hist_quantile(hist, 0.5), half = hist->count - hist->count / 2;
	uint64_t low = 0, high = hist->max - median;

	high = median - hist->min > high ? median - hist->min : high;
	while (low < high) {
		uint64_t distance = low + (high - low) / 2;

		if (hist_within(hist, median, distance) >= half)
			high = distance;
		else
			low = distance + 1;
	}
	return low;
}
