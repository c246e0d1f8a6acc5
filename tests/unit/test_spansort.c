/* test_spansort.c - sorted spans, compared with qsort, from memory and from a temporary file. */
/* labels: onethread */
#include "unit/support.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "import/spansort.h"

/* The order in spansort.h: by begin, rank, longest first, then order of adding. */
static int compare(const void *a, const void *b)
{
	const struct pasta_span *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Uses few different times, so that many are equal. Fills all members. */
static struct pasta_span random_span(uint64_t times)
{
	struct pasta_span s = {.begin = random_below(times), .a = random_u64(), .b = random_u64()};

	s.end = s.begin + random_below(times / 4 + 1);
	if (!random_below(50))
		s.end = UINT64_MAX;
	s.order = random_u64(); /* the sorter overwrites it */
	s.track = (uint32_t)random_u64();
	s.name = (uint32_t)random_u64();
	s.extra = (uint32_t)random_u64();
	s.what = (uint8_t)random_u64();
	s.sub = (uint8_t)random_u64();
	s.rank = (uint16_t)random_below(3);
	return s;
}

static unsigned int files(void)
{
	DIR *d = opendir(support_dir);
	unsigned int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void check(struct pasta_spansort *s, struct pasta_span *spans, size_t count)
{
	const struct pasta_span *span;
	struct pasta_error err = {0};

	assert_int_equal(pasta_spansort_count(s), count);
	qsort(spans, count, sizeof(*spans), compare);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(pasta_spansort_next(s, &span, &err), 1);
		if (memcmp(span, &spans[i], sizeof(*span)) != 0)
			fail_msg("span %zu of %zu is another, with SEED=%llu", i, count,
				 (unsigned long long)support_seed_);
	}
	for (int i = 0; i < 3; i++)
		assert_int_equal(pasta_spansort_next(s, &span, &err), 0);
	assert_int_equal(err.code, 0);
}

static void sort(size_t count, size_t fit, uint64_t times, bool in_order)
{
	struct pasta_spansort *s = pasta_spansort_new(fit * sizeof(struct pasta_span), support_dir);
	struct pasta_span *spans = calloc(count + 1, sizeof(*spans));
	struct pasta_error err = {0};

	assert_true(s && spans);
	for (size_t i = 0; i < count; i++) {
		struct pasta_span span = random_span(times);

		if (in_order)
			span.begin = span.end = i / 3;
		assert_int_equal(pasta_spansort_add(s, &span, &err), 0);
		spans[i] = span;
		spans[i].order = i;
	}
	assert_int_equal(files(), 0);
	check(s, spans, count);
	free(spans);
	pasta_spansort_free(s);
}

static void spans_that_fit_come_in_order(void **state)
{
	for (size_t count = 0; count < 40; count++)
		sort(count, 0, 1 + count / 2, false);
	sort(20000, 0, UINT64_C(1) << 60, false);
	sort(20000, 0, 100, false);
	sort(20000, 0, 100, true);
}

static void spans_that_do_not_fit_come_in_the_same_order(void **state)
{
	static const size_t fits[] = {1, 2, 3, 7, 64, 1000};

	for (size_t i = 0; i < sizeof(fits) / sizeof(*fits); i++) {
		for (size_t count = fits[i]; count < fits[i] + 3; count++)
			sort(count, fits[i], 5, false);
		sort(300 * (fits[i] < 20 ? 3 : fits[i]) / 2, fits[i], 50, false);
		sort(300 + fits[i], fits[i], 50, true);
	}
}

/* A run is also read back in parts. */
static void long_pieces_are_merged_as_well_as_short_ones(void **state)
{
	sort(50000, 3000, UINT64_C(1) << 40, false);
	sort(50000, 5000, 1000, false);
	sort(10240, 1024, 1000, false);
}

static void random_counts_and_memory_make_no_difference(void **state)
{
	for (int i = 0; i < (support_slow ? 40 : 300); i++)
		sort(random_below(3000), 1 + random_below(500), 1 + random_below(2000),
		     !random_below(5));
}

static void no_spans_are_at_their_end_at_once(void **state)
{
	struct pasta_spansort *s = pasta_spansort_new(0, support_dir);

	assert_non_null(s);
	check(s, (struct pasta_span[1]){{0}}, 0);
	pasta_spansort_free(s);
	pasta_spansort_free(NULL);
}

/* Adds spans until one is rejected. */
static void fill(struct pasta_spansort *s, size_t max, struct pasta_error *err)
{
	for (size_t i = 0; i < max && !err->code; i++) {
		struct pasta_span span = random_span(1000);
		int r = pasta_spansort_add(s, &span, err);

		assert_int_equal(r, err->code);
	}
}

static void a_full_disk_is_reported_and_nothing_is_left_behind(void **state)
{
	struct pasta_spansort *s = pasta_spansort_new(100 * sizeof(struct pasta_span), support_dir);
	struct rlimit old, limit;
	struct pasta_error err = {0};

	assert_non_null(s);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = old;
	limit.rlim_cur = 1000 * sizeof(struct pasta_span) + 17;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	fill(s, 5000, &err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(err.code, -EFBIG);
	assert_non_null(strstr(err.text, "cannot write a temporary file in "));
	assert_non_null(strstr(err.text, support_dir));
	assert_true(pasta_spansort_count(s) >= 1000 && pasta_spansort_count(s) < 1200);
	pasta_spansort_free(s);
	assert_int_equal(files(), 0);
}

static void a_missing_folder_is_reported(void **state)
{
	struct pasta_spansort *s =
		pasta_spansort_new(2 * sizeof(struct pasta_span), in_dir("absent"));
	struct pasta_error err = {0};

	assert_non_null(s);
	fill(s, 10, &err);
	assert_int_equal(err.code, -ENOENT);
	assert_non_null(strstr(err.text, "absent"));
	pasta_spansort_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_that_fit_come_in_order),
		cmocka_unit_test(spans_that_do_not_fit_come_in_the_same_order),
		cmocka_unit_test(long_pieces_are_merged_as_well_as_short_ones),
		cmocka_unit_test(random_counts_and_memory_make_no_difference),
		cmocka_unit_test(no_spans_are_at_their_end_at_once),
		cmocka_unit_test(a_full_disk_is_reported_and_nothing_is_left_behind),
		cmocka_unit_test(a_missing_folder_is_reported),
	};

	random_begin();
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
