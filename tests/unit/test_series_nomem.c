/* test_series_nomem.c - series and windows when memory runs out, at each allocation. */
/* labels: onethread */
#include "unit/support.h"

static int until = -1; /* requests until one is refused; -1: none is */

static bool refused(void)
{
	return until >= 0 && until-- == 0;
}

/* The code itself, with these. */
#define calloc(count, size) (refused() ? NULL : calloc(count, size))
#define reallocarray(old, count, size) (refused() ? NULL : reallocarray(old, count, size))
#include "../../src/process/sdk/group.c"
#include "../../src/process/sdk/series.c"
#include "../../src/process/sdk/windows.c"
#undef calloc
#undef reallocarray

static void combine(void *into, const void *from)
{
	*(uint64_t *)into += *(const uint64_t *)from;
}

static int sum_up(void *ctx, const void *key, uint64_t begin, uint64_t end, const void *value)
{
	*(uint64_t *)ctx += *(const uint64_t *)value;
	return 0;
}

/* Keys and positions enough for chunks and indexes to grow. */
static void fill_windows(struct pasta_windows *w)
{
	for (uint32_t i = 0; i < 600; i++) {
		uint32_t key = i % 150;

		++*(uint64_t *)pasta_windows_at(w, &key, i);
	}
}

static void windows_without_memory_return_an_error_and_leak_nothing(void **state)
{
	static const struct pasta_window_def def = {.size = sizeof(def),
						    .length = 4,
						    .step = 2,
						    .key_size = 4,
						    .value_size = 8,
						    .merge = combine};
	int failures = 0, n;

	for (n = 0; n < 100; n++) {
		struct pasta_windows *w, *into;
		struct pasta_error err = {0};
		uint64_t sum = 0;
		int error = 0;

		until = n;
		w = pasta_windows_new(&def, NULL, &err);
		into = w ? pasta_windows_new(&def, NULL, &err) : NULL;
		if (into) {
			fill_windows(w);
			error = pasta_windows_merge(into, w);
			error = error ? error : pasta_windows_each(into, sum_up, &sum);
			assert_true(!error || error == -ENOMEM);
			assert_int_equal(error ? 1198 : sum, 1198); /* 0 and 1 are in one window */
			assert_true(!pasta_windows_error(w) || pasta_windows_error(into));
		}
		failures += !into || error;
		until = -1;
		pasta_windows_free(w);
		pasta_windows_free(into);
	}
	assert_in_range(failures, 25, 99);
}

static void series_without_memory_return_an_error_and_leak_nothing(void **state)
{
	static const struct pasta_series_def def = {
		.size = sizeof(def), .type = PASTA_SERIES_SUM, .key_size = 4, .bins = 8};
	int failures = 0;

	for (int n = 0; n < 400; n++) {
		struct pasta_series_set *s, *into;
		int error = 0;

		until = n;
		s = pasta_series_new(&def);
		into = s ? pasta_series_new(&def) : NULL;
		for (uint32_t i = 0; into && i < 400; i++)
			pasta_series_add(s, &(uint32_t){i % 130}, i, 1);
		if (into)
			error = pasta_series_merge(into, s);
		assert_true(!error || (error == -ENOMEM && pasta_series_error(into) == error));
		assert_true(!into || until == -1 || !pasta_series_error(into));
		if (into && error) { /* it stays, and nothing is read */
			struct pasta_series_point points[8];

			pasta_series_add(into, &(uint32_t){1}, 1, 1);
			assert_int_equal(pasta_series_error(into), -ENOMEM);
			assert_int_equal(pasta_series_points(into, &(uint32_t){1}, points, 8), 0);
		}
		failures += !into || error;
		until = -1;
		pasta_series_free(s);
		pasta_series_free(into);
	}
	assert_in_range(failures, 260, 399);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_without_memory_return_an_error_and_leak_nothing),
		cmocka_unit_test(series_without_memory_return_an_error_and_leak_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
