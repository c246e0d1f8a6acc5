/* test_robust.c - tests medians, scores and changes of series. */
/* labels: onethread */
#include <math.h>

#include <pasta/collect.h>

#include "unit/support.h"

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void medians_match_sorted_values(void **state)
{
	(void)state;
	for (size_t n = 1; n < 200; n++) {
		uint64_t values[200], sorted[200], median;
		struct pasta_hist *hist = pasta_hist_new();
		struct pasta_robust r;

		assert_non_null(hist);
		for (size_t i = 0; i < n; i++) {
			values[i] = sorted[i] = random_below(60);
			assert_int_equal(pasta_hist_add(hist, values[i], 1), 0);
		}
		assert_int_equal(pasta_robust_of(values, n, &r), 0);
		qsort(sorted, n, sizeof(*sorted), by_value);
		median = sorted[(n - 1) / 2];
		assert_int_equal(r.median, median);
		for (size_t i = 0; i < n; i++)
			sorted[i] = sorted[i] > median ? sorted[i] - median : median - sorted[i];
		qsort(sorted, n, sizeof(*sorted), by_value);
		assert_int_equal(r.mad, sorted[(n - 1) / 2]);
		assert_int_equal(r.count, n);
		/* A histogram is exact below 64. */
		assert_int_equal(pasta_hist_mad(hist), r.mad);
		pasta_hist_free(hist);
	}
}

static void the_mad_of_a_histogram_is_close_to_the_exact_one(void **state)
{
	(void)state;
	for (int run = 0; run < 50; run++) {
		struct pasta_hist *hist = pasta_hist_new();
		uint64_t values[1000];
		struct pasta_robust r;
		double error;

		assert_non_null(hist);
		for (size_t i = 0; i < 1000; i++) {
			values[i] = 100000 + random_below(100000);
			assert_int_equal(pasta_hist_add(hist, values[i], 1), 0);
		}
		assert_int_equal(pasta_robust_of(values, 1000, &r), 0);
		error = (double)pasta_hist_mad(hist) - (double)r.mad;
		/* Each value is off by at most 1/64, and so is the median. */
		assert_true(fabs(error) <= 2.0 * 200000 / 64);
		pasta_hist_free(hist);
	}
}

static void values_above_a_limit_are_counted_and_added(void **state)
{
	(void)state;
	for (int run = 0; run < 50; run++) {
		struct pasta_hist *hist = pasta_hist_new();
		uint64_t limit = random_below(64), count = 0, sum = 0, got;

		assert_non_null(hist);
		for (size_t i = 0; i < 500; i++) {
			uint64_t value = random_below(64);

			assert_int_equal(pasta_hist_add(hist, value, 1), 0);
			count += value > limit;
			sum += value > limit ? value : 0;
		}
		assert_int_equal(pasta_hist_above(hist, limit, &got), count);
		assert_int_equal(got, sum);
		assert_int_equal(pasta_hist_above(hist, UINT64_MAX, &got), 0);
		assert_int_equal(got, 0);
		pasta_hist_free(hist);
	}
}

static void the_largest_values_do_not_overflow(void **state)
{
	const uint64_t values[] = {0, UINT64_MAX, UINT64_MAX, 1, UINT64_MAX, 5,
				   0, UINT64_MAX, 3,	      9, UINT64_MAX, 0};
	struct pasta_hist *hist = pasta_hist_new();
	struct pasta_change changes[4];
	struct pasta_robust r;
	uint64_t sum;

	(void)state;
	assert_non_null(hist);
	assert_int_equal(pasta_hist_mad(hist), 0);
	for (size_t i = 0; i < 12; i++)
		assert_int_equal(pasta_hist_add(hist, values[i], 1), 0);
	assert_int_equal(pasta_hist_above(hist, 5, &sum), 6);
	assert_int_equal(sum, UINT64_MAX);
	pasta_hist_mad(hist);
	assert_int_equal(pasta_robust_of(values, 12, &r), 0);
	assert_true(pasta_robust_score(&r, UINT64_MAX) > 0);
	assert_true(pasta_robust_changes(values, 12, changes, 4) >= 0);
	pasta_hist_free(hist);
}

/* The sum of 12 uniform numbers is almost normal, with variance 1. */
static double noise(void)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += (double)random_below(1 << 20) / (1 << 20);
	return sum;
}

static void scores_are_in_standard_deviations(void **state)
{
	struct pasta_robust r = {.count = 10, .median = 1000, .mad = 100};

	(void)state;
	assert_float_equal(pasta_robust_score(&r, 1000 + 741), 741 / 148.26, 1e-9);
	assert_float_equal(pasta_robust_score(&r, 1000 - 741), -741 / 148.26, 1e-9);
	r.mad = 0; /* 2 % of the median */
	assert_float_equal(pasta_robust_score(&r, 1100), 5, 1e-9);
	r.median = 3;
	assert_float_equal(pasta_robust_score(&r, 8), 5, 1e-9);
}

static void a_step_is_found_where_it_is(void **state)
{
	(void)state;
	for (int run = 0; run < 100; run++) {
		uint64_t values[300];
		size_t n = 60 + random_below(240), at = 20 + random_below(n - 39);
		struct pasta_change changes[4];

		for (size_t i = 0; i < n; i++)
			values[i] = i < at ? 1000 : 1200;
		assert_int_equal(pasta_robust_changes(values, n, changes, 4), 1);
		assert_int_equal(changes[0].at, at);
		assert_int_equal(changes[0].before, 1000);
		assert_int_equal(changes[0].after, 1200);
	}
}

static void a_clear_step_in_noise_is_found_near_its_place(void **state)
{
	(void)state;
	for (int run = 0; run < 100; run++) {
		uint64_t values[200];
		size_t at = 20 + random_below(160);
		struct pasta_change changes[4];

		for (size_t i = 0; i < 200; i++)
			values[i] = (uint64_t)((i < at ? 10000 : 12000) + 300 * noise());
		assert_int_equal(pasta_robust_changes(values, 200, changes, 4), 1);
		assert_true(changes[0].at + 2 >= at && changes[0].at <= at + 2);
		assert_true(changes[0].before > 9700 && changes[0].before < 10300);
		assert_true(changes[0].after > 11700 && changes[0].after < 12300);
	}
}

static void two_steps_come_in_order(void **state)
{
	uint64_t values[300];
	struct pasta_change changes[4];

	(void)state;
	for (size_t i = 0; i < 300; i++)
		values[i] = i < 100 ? 1000 : i < 180 ? 2000 : 1500;
	assert_int_equal(pasta_robust_changes(values, 300, changes, 4), 2);
	assert_int_equal(changes[0].at, 100);
	assert_int_equal(changes[0].before, 1000);
	assert_int_equal(changes[0].after, 2000);
	assert_int_equal(changes[1].at, 180);
	assert_int_equal(changes[1].after, 1500);
	/* Of two steps, only the greater one fits. */
	assert_int_equal(pasta_robust_changes(values, 300, changes, 1), 1);
	assert_int_equal(changes[0].at, 100);
}

static void noise_and_outliers_are_no_changes(void **state)
{
	unsigned int found = 0;

	(void)state;
	for (int run = 0; run < 300; run++) {
		uint64_t values[200];
		struct pasta_change changes[4];

		for (size_t i = 0; i < 200; i++)
			values[i] = (uint64_t)(10000 + 300 * noise());
		for (size_t i = 0; i < 10; i++)
			values[random_below(200)] = 100000;
		found += pasta_robust_changes(values, 200, changes, 4) != 0;
	}
	assert_int_equal(found, 0);
}

static void short_series_have_no_changes(void **state)
{
	const uint64_t values[] = {1, 1, 1, 1, 100, 100, 100, 100, 100};
	struct pasta_change changes[4];

	(void)state;
	for (size_t n = 0; n < 10; n++)
		assert_int_equal(pasta_robust_changes(values, n, changes, 4), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(medians_match_sorted_values),
		cmocka_unit_test(the_mad_of_a_histogram_is_close_to_the_exact_one),
		cmocka_unit_test(values_above_a_limit_are_counted_and_added),
		cmocka_unit_test(the_largest_values_do_not_overflow),
		cmocka_unit_test(scores_are_in_standard_deviations),
		cmocka_unit_test(a_step_is_found_where_it_is),
		cmocka_unit_test(a_clear_step_in_noise_is_found_near_its_place),
		cmocka_unit_test(two_steps_come_in_order),
		cmocka_unit_test(noise_and_outliers_are_no_changes),
		cmocka_unit_test(short_series_have_no_changes),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
