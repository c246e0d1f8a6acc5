/* test_hist.c - compares the SDK's histogram with a sorted array. */
/* labels: onethread */
#include <errno.h>
#include <math.h>

#include "unit/support.h"

enum { MAX = 20000 };
static uint64_t numbers[MAX];

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static struct pasta_hist *hist_of(const uint64_t *values, size_t count)
{
	struct pasta_hist *hist = pasta_hist_new();

	assert_non_null(hist);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(pasta_hist_add(hist, values[i], 1), 0);
	return hist;
}

static bool near(uint64_t got, uint64_t expected)
{
	uint64_t off = got > expected ? got - expected : expected - got;

	return expected < 64 ? !off : off <= expected / 64;
}

/* Sorts the numbers, and compares the histogram's results with them. */
static void check(const struct pasta_hist *hist, size_t count)
{
	static const double quantiles[] = {-1, 0, 0.001, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 1, 2};
	uint64_t sum = 0;

	qsort(numbers, count, sizeof(*numbers), by_value);
	for (size_t i = 0; i < count; i++)
		sum = sum + numbers[i] < sum ? UINT64_MAX : sum + numbers[i];
	assert_property(pasta_hist_count(hist) == count);
	assert_property(pasta_hist_sum(hist) == sum);
	assert_property(pasta_hist_min(hist) == numbers[0]);
	assert_property(pasta_hist_max(hist) == numbers[count - 1]);
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(*quantiles); i++) {
		double rank = ceil(quantiles[i] * (double)count);
		size_t at = rank < 1 ? 0 : rank > (double)count ? count - 1 : (size_t)rank - 1;

		assert_property(near(pasta_hist_quantile(hist, quantiles[i]), numbers[at]));
	}
}

/* All numbers of bits are equally likely, so that all octaves occur. */
static uint64_t any_size(void)
{
	return random_u64() >> random_below(64);
}

static void quantiles_of_random_numbers_are_within_the_documented_error(void **state)
{
	(void)state;
	for (int round = 0; round < (support_slow ? 30 : 300); round++) {
		size_t count = 1 + random_below(round % 10 ? 300 : MAX);
		uint64_t around = any_size() | 1;
		struct pasta_hist *hist;

		for (size_t i = 0; i < count; i++)
			numbers[i] = round % 2 ? any_size() : around / 2 + random_below(around);
		hist = hist_of(numbers, count);
		check(hist, count);
		pasta_hist_free(hist);
	}
}

/* Numbers at and next to the edges of buckets and octaves, one by one and all together. */
static void edges_of_buckets_are_within_the_documented_error(void **state)
{
	struct pasta_hist *hist;
	size_t count = 0;

	(void)state;
	for (unsigned int bit = 0; bit < 64; bit++)
		for (uint64_t part = 32; part < 64; part++) {
			uint64_t edge = bit < 5 ? part >> (5 - bit) : part << (bit - 5);

			numbers[count++] = edge;
			numbers[count++] = edge - 1;
		}
	numbers[count++] = UINT64_MAX;
	numbers[count++] = 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t value = numbers[i];

		hist = hist_of(&value, 1);
		assert_int_equal(pasta_hist_quantile(hist, 0.5), value);
		/* Between other numbers, min and max don't limit the result. */
		pasta_hist_add(hist, 0, 1);
		pasta_hist_add(hist, UINT64_MAX, 1);
		assert_true(near(pasta_hist_quantile(hist, 0.5), value));
		pasta_hist_free(hist);
	}
	hist = hist_of(numbers, count);
	check(hist, count);
	pasta_hist_free(hist);
}

static void merging_parts_is_adding_everything_to_one(void **state)
{
	(void)state;
	for (int round = 0; round < 50; round++) {
		size_t count = 1 + random_below(1000), cut = random_below(count + 1);
		struct pasta_hist *whole, *part, *rest;

		for (size_t i = 0; i < count; i++)
			numbers[i] = any_size();
		whole = hist_of(numbers, count);
		part = hist_of(numbers, cut);
		rest = hist_of(numbers + cut, count - cut);
		assert_int_equal(pasta_hist_merge(part, rest), 0);
		for (double q = 0; q <= 1; q += 1.0 / 64)
			assert_property(pasta_hist_quantile(part, q) ==
					pasta_hist_quantile(whole, q));
		check(part, count);
		pasta_hist_free(whole);
		pasta_hist_free(part);
		pasta_hist_free(rest);
	}
}

static void counts_are_weights_and_an_overflow_is_refused(void **state)
{
	struct pasta_hist *hist = pasta_hist_new(), *big = pasta_hist_new();

	(void)state;
	assert_int_equal(pasta_hist_add(hist, 10, 99), 0);
	assert_int_equal(pasta_hist_add(hist, 1000, 1), 0);
	assert_int_equal(pasta_hist_add(hist, 5, 0), 0);
	assert_int_equal(pasta_hist_min(hist), 10);
	assert_int_equal(pasta_hist_sum(hist), 1990);
	assert_int_equal(pasta_hist_quantile(hist, 0.99), 10);
	assert_int_equal(pasta_hist_quantile(hist, 0.991), 1000);
	assert_int_equal(pasta_hist_add(big, 7, UINT64_MAX), 0);
	assert_int_equal(pasta_hist_sum(big), UINT64_MAX);
	assert_int_equal(pasta_hist_quantile(big, 0.5), 7);
	assert_int_equal(pasta_hist_quantile(big, 1), 7);
	assert_int_equal(pasta_hist_add(big, 1, 1), -EOVERFLOW);
	assert_int_equal(pasta_hist_merge(hist, big), -EOVERFLOW);
	assert_int_equal(pasta_hist_min(big), 7);
	assert_int_equal(pasta_hist_count(hist), 100);
	pasta_hist_free(hist);
	pasta_hist_free(big);
}

static void an_empty_histogram_is_all_zero(void **state)
{
	struct pasta_hist *hist = pasta_hist_new(), *other = pasta_hist_new();

	(void)state;
	assert_int_equal(pasta_hist_merge(hist, other), 0);
	assert_int_equal(pasta_hist_count(hist), 0);
	assert_int_equal(pasta_hist_min(hist), 0);
	assert_int_equal(pasta_hist_max(hist), 0);
	assert_int_equal(pasta_hist_quantile(hist, 0.5), 0);
	pasta_hist_free(hist);
	pasta_hist_free(other);
	pasta_hist_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_of_random_numbers_are_within_the_documented_error),
		cmocka_unit_test(edges_of_buckets_are_within_the_documented_error),
		cmocka_unit_test(merging_parts_is_adding_everything_to_one),
		cmocka_unit_test(counts_are_weights_and_an_overflow_is_refused),
		cmocka_unit_test(an_empty_histogram_is_all_zero),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
