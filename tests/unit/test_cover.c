/* test_cover.c - the time that intervals of two types cover. */
/* labels: onethread */
#include "unit/support.h"

#include <pasta/tool.h>

enum { LINE = 96, INTERVALS = 24 };

struct interval {
	unsigned int type;
	uint64_t begin, dur;
};

static struct pasta_cover cover_of(const struct interval *intervals, size_t count)
{
	struct pasta_cover cover = {0};

	for (size_t i = 0; i < count; i++)
		pasta_cover_add(&cover, intervals[i].type, intervals[i].begin, intervals[i].dur);
	pasta_cover_finish(&cover);
	return cover;
}

#define COVER(...)                                                                                 \
	cover_of((struct interval[]){__VA_ARGS__},                                                 \
		 sizeof((struct interval[]){__VA_ARGS__}) / sizeof(struct interval))

static void assert_times(const struct pasta_cover *cover, uint64_t none, uint64_t first,
			 uint64_t second, uint64_t both)
{
	assert_int_equal(cover->time[0], none);
	assert_int_equal(cover->time[1], first);
	assert_int_equal(cover->time[2], second);
	assert_int_equal(cover->time[3], both);
}

static void empty_intervals_cover_nothing(void **state)
{
	struct pasta_cover cover = {0};

	(void)state;
	pasta_cover_finish(&cover);
	pasta_cover_finish(&cover);
	assert_times(&cover, 0, 0, 0, 0);
	cover = COVER({0, 5, 0});
	assert_times(&cover, 0, 0, 0, 0);
	assert_int_equal(cover.count, 1);
}

static void two_intervals_of_two_types_in_all_relative_positions(void **state)
{
	struct pasta_cover cover;

	(void)state;
	cover = COVER({0, 10, 5}, {1, 20, 7}); /* apart */
	assert_times(&cover, 5, 5, 7, 0);
	cover = COVER({0, 10, 5}, {1, 15, 7}); /* adjacent */
	assert_times(&cover, 0, 5, 7, 0);
	cover = COVER({0, 10, 5}, {1, 12, 7}); /* overlapping */
	assert_times(&cover, 0, 2, 4, 3);
	cover = COVER({0, 10, 9}, {1, 12, 3}); /* one inside the other */
	assert_times(&cover, 0, 6, 0, 3);
	cover = COVER({0, 10, 5}, {1, 10, 5}); /* the same */
	assert_times(&cover, 0, 0, 0, 5);
	cover = COVER({0, 10, 5}, {1, 10, 9}); /* the same begin */
	assert_times(&cover, 0, 0, 4, 5);
	cover = COVER({1, 10, 9}, {0, 14, 5}); /* the same end */
	assert_times(&cover, 0, 0, 4, 5);
}

static void overlapping_intervals_of_one_type_count_once(void **state)
{
	struct pasta_cover cover = COVER({1, 10, 10}, {1, 12, 2}, {1, 15, 10}, {1, 25, 1});

	(void)state;
	assert_times(&cover, 0, 0, 16, 0);
}

static void time_may_begin_at_zero(void **state)
{
	struct pasta_cover cover;

	(void)state;
	cover = COVER({0, 0, 10}, {1, 100, 1});
	assert_times(&cover, 90, 10, 1, 0);
	cover = COVER({0, 0, 0}, {1, 100, 1});
	assert_times(&cover, 100, 0, 1, 0);
	cover = COVER({0, 0, 10}, {1, 0, 4}, {0, 2, 4});
	assert_times(&cover, 0, 6, 0, 4);
}

static void time_may_end_at_the_last_moment(void **state)
{
	struct pasta_cover cover;

	(void)state;
	cover = COVER({0, UINT64_MAX - 10, 100}, {1, UINT64_MAX - 4, UINT64_MAX});
	assert_times(&cover, 0, 6, 0, 4);
	cover = COVER({0, 0, UINT64_MAX}, {1, UINT64_MAX, UINT64_MAX});
	assert_times(&cover, 0, UINT64_MAX, 0, 0);
	cover = COVER({0, 0, 1}, {1, UINT64_MAX, 1});
	assert_times(&cover, UINT64_MAX - 1, 1, 0, 0);
}

static void the_part_of_a_late_interval_before_the_current_time_is_ignored(void **state)
{
	struct pasta_cover cover;

	(void)state;
	cover = COVER({0, 100, 10}, {1, 50, 55}); /* 100 to 105 */
	assert_times(&cover, 0, 5, 0, 5);
	cover = COVER({0, 100, 10}, {1, 50, 50}); /* none of it */
	assert_times(&cover, 0, 10, 0, 0);
	cover = COVER({0, 100, 10}, {1, 200, 1}, {0, 120, 90}); /* 200 to 210 */
	assert_times(&cover, 90, 19, 0, 1);
}

static void a_copy_may_be_finished_while_the_original_continues(void **state)
{
	struct pasta_cover cover = {0}, copy;

	(void)state;
	pasta_cover_add(&cover, 0, 0, 10);
	copy = cover;
	pasta_cover_finish(&copy);
	assert_times(&copy, 0, 10, 0, 0);
	pasta_cover_add(&cover, 1, 5, 10);
	pasta_cover_finish(&cover);
	assert_times(&cover, 0, 5, 5, 5);
	/* After finish, intervals before its end are ignored. */
	pasta_cover_add(&cover, 0, 12, 5);
	pasta_cover_finish(&cover);
	assert_times(&cover, 0, 7, 5, 5);
	pasta_cover_add(&cover, 0, 20, 1);
	pasta_cover_finish(&cover);
	assert_times(&cover, 3, 8, 5, 5);
}

/* The reference: counts each moment. */
static void reference(const struct interval *intervals, size_t count, uint64_t time[4])
{
	unsigned int masks[2 * LINE] = {0};
	uint64_t latest = 0, end = 0;

	memset(time, 0, 4 * sizeof(*time));
	for (size_t i = 0; i < count; i++) {
		latest = intervals[i].begin > latest ? intervals[i].begin : latest;
		for (uint64_t t = latest; t < intervals[i].begin + intervals[i].dur; t++) {
			masks[t] |= 1u << intervals[i].type;
			end = t + 1 > end ? t + 1 : end;
		}
		end = latest > end ? latest : end;
	}
	for (uint64_t t = count ? intervals[0].begin : 0; t < end; t++)
		time[masks[t]]++;
}

static int by_begin(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void random_intervals_agree_with_a_count_of_each_moment(void **state)
{
	struct interval intervals[INTERVALS];

	(void)state;
	for (int run = 0; run < 100000; run++) {
		size_t i, count = random_below(INTERVALS + 1);
		uint64_t expected[4], longest = 1 + random_below(LINE);
		struct pasta_cover cover;

		for (i = 0; i < count; i++)
			intervals[i] = (struct interval){(unsigned int)random_below(2),
							 random_below(LINE), random_below(longest)};
		if (random_below(4)) /* sorted in three of four cases */
			qsort(intervals, count, sizeof(*intervals), by_begin);
		cover = cover_of(intervals, count);
		reference(intervals, count, expected);
		assert_property(!memcmp(cover.time, expected, sizeof(expected)));
		assert_property(cover.count == count);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_intervals_cover_nothing),
		cmocka_unit_test(two_intervals_of_two_types_in_all_relative_positions),
		cmocka_unit_test(overlapping_intervals_of_one_type_count_once),
		cmocka_unit_test(time_may_begin_at_zero),
		cmocka_unit_test(time_may_end_at_the_last_moment),
		cmocka_unit_test(the_part_of_a_late_interval_before_the_current_time_is_ignored),
		cmocka_unit_test(a_copy_may_be_finished_while_the_original_continues),
		cmocka_unit_test(random_intervals_agree_with_a_count_of_each_moment),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
