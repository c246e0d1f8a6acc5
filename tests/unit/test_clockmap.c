/* test_clockmap.c - conversion from a device's clock to the host's. */
/* labels: onethread */
#include "support.h"

#include "process/read/clockmap.h"

static void without_points_a_time_stays_as_it_is(void **state)
{
	struct pasta_clockmap c = {0};

	assert_int_equal(pasta_clockmap_raw(&c, 0), 0);
	assert_int_equal(pasta_clockmap_raw(&c, UINT64_MAX), UINT64_MAX);
	pasta_clockmap_free(&c);
}

static void with_one_point_the_rate_is_one(void **state)
{
	struct pasta_clockmap c = {0};

	assert_int_equal(pasta_clockmap_add(&c, 5000, 900, 0), 0);
	assert_int_equal(pasta_clockmap_raw(&c, 5000), 900);
	assert_int_equal(pasta_clockmap_raw(&c, 5100), 1000);
	assert_int_equal(pasta_clockmap_raw(&c, 4900), 800);
	pasta_clockmap_free(&c);
}

static void with_one_point_times_years_apart_are_exact_to_the_nanosecond(void **state)
{
	const uint64_t years = UINT64_C(1700000000000000001);
	struct pasta_clockmap c = {0};

	assert_int_equal(pasta_clockmap_add(&c, 0, 5, 0), 0);
	assert_int_equal(pasta_clockmap_raw(&c, years), years + 5);
	assert_int_equal(pasta_clockmap_raw(&c, years + 2), years + 7);
	pasta_clockmap_free(&c);
}

static void between_points_time_is_linear_and_past_them_it_goes_on(void **state)
{
	struct pasta_clockmap c = {0};

	pasta_clockmap_add(&c, 1000, 10000, 0);
	pasta_clockmap_add(&c, 2000, 12000, 0);
	pasta_clockmap_add(&c, 3000, 13000, 0);
	assert_int_equal(pasta_clockmap_raw(&c, 1500), 11000);
	assert_int_equal(pasta_clockmap_raw(&c, 2500), 12500);
	assert_int_equal(pasta_clockmap_raw(&c, 500), 9000);
	assert_int_equal(pasta_clockmap_raw(&c, 4000), 14000);
	assert_int_equal(pasta_clockmap_raw(&c, 2000), 12000);
	pasta_clockmap_free(&c);
}

/* A device that is 50 ppm fast and drifts, sampled once a second for an hour. */
static void drift_costs_less_than_a_microsecond(void **state)
{
	struct pasta_clockmap c = {0};
	const double second = 1e9;

	for (int i = 0; i <= 3600; i++)
		pasta_clockmap_add(&c, (uint64_t)(i * (second + 50000 + i)) + 12345,
				   (uint64_t)(i * second) + (UINT64_C(1) << 52), 0);
	for (int i = 0; i < 3600; i++) {
		uint64_t device = (uint64_t)((i + 0.5) * (second + 50000 + i + 0.5)) + 12345;
		int64_t error = (int64_t)(pasta_clockmap_raw(&c, device) - (UINT64_C(1) << 52)) -
				(int64_t)((i + 0.5) * second);

		assert_in_range(error + 1000, 0, 2000);
	}
	pasta_clockmap_free(&c);
}

static void the_most_exact_of_close_points_is_stored(void **state)
{
	struct pasta_clockmap c = {0};

	pasta_clockmap_add(&c, 1000, 500000, 300000);
	pasta_clockmap_add(&c, 2000, 102000, 4000); /* more exact: replaces the first point */
	pasta_clockmap_add(&c, 3000, 203000, 9000); /* less exact: ignored */
	assert_int_equal(c.count, 1);
	assert_int_equal(pasta_clockmap_raw(&c, 2500), 102500);
	pasta_clockmap_add(&c, 1000002000, 1000102000, 9000); /* a second later: added */
	assert_int_equal(c.count, 2);
	assert_int_equal(pasta_clockmap_raw(&c, 500002000), 500102000);
	pasta_clockmap_free(&c);
}

static void points_that_go_back_are_ignored(void **state)
{
	struct pasta_clockmap c = {0};

	pasta_clockmap_add(&c, 1000, 10000, 0);
	pasta_clockmap_add(&c, 900, 11000, 0);
	pasta_clockmap_add(&c, 1100, 9000, 0);
	pasta_clockmap_add(&c, 1000, 10000, 0);
	assert_int_equal(c.count, 1);
	pasta_clockmap_add(&c, 1100, 10100, 0);
	assert_int_equal(c.count, 2);
	pasta_clockmap_free(&c);
}

static void a_later_time_is_never_converted_to_an_earlier_one(void **state)
{
	struct pasta_clockmap c = {0};
	uint64_t value = 0, raw = UINT64_C(1) << 40, last = 0;

	random_begin();
	for (int i = 0; i < 1000; i++)
		pasta_clockmap_add(&c, value += 1 + random_below(1 << 20),
				   raw += 1 + random_below(1 << 20), 0);
	for (uint64_t v = 0; v < value + (1 << 20); v += random_below(500)) {
		uint64_t r = pasta_clockmap_raw(&c, v);

		assert_property(r >= last);
		last = r;
	}
	pasta_clockmap_free(&c);
}

static void a_million_points_retain_their_ends_in_bounded_memory(void **state)
{
	struct pasta_clockmap c = {0};

	for (uint64_t i = 0; i <= 1000000; i++)
		pasta_clockmap_add(&c, i * 10, i * 1000, 0);
	assert_in_range(c.count, 2, 1 << 16);
	assert_true(c.capacity <= 1 << 16);
	for (uint64_t v = 0; v < 10000000; v += 997)
		assert_int_equal(pasta_clockmap_raw(&c, v), v * 100);
	pasta_clockmap_free(&c);
}

static void nonsense_is_converted_to_something(void **state)
{
	struct pasta_clockmap c = {0};
	static const uint64_t values[] = {0, 1, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};

	pasta_clockmap_add(&c, 1, 1, 0);
	pasta_clockmap_add(&c, 2, UINT64_MAX - 1, 0);
	for (size_t i = 0; i < 5; i++)
		pasta_clockmap_raw(&c, values[i]);
	assert_int_equal(pasta_clockmap_raw(&c, 1), 1);
	pasta_clockmap_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_points_a_time_stays_as_it_is),
		cmocka_unit_test(with_one_point_the_rate_is_one),
		cmocka_unit_test(with_one_point_times_years_apart_are_exact_to_the_nanosecond),
		cmocka_unit_test(between_points_time_is_linear_and_past_them_it_goes_on),
		cmocka_unit_test(drift_costs_less_than_a_microsecond),
		cmocka_unit_test(the_most_exact_of_close_points_is_stored),
		cmocka_unit_test(points_that_go_back_are_ignored),
		cmocka_unit_test(a_later_time_is_never_converted_to_an_earlier_one),
		cmocka_unit_test(a_million_points_retain_their_ends_in_bounded_memory),
		cmocka_unit_test(nonsense_is_converted_to_something),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
