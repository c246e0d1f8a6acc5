/* test_copies.c - tests tool copies with made-up events. */
/* labels: onethread */
#include "../../tools/copies.c"

#include "unit/tooltest.h"

static struct pasta_event copy_event(unsigned int sub, uint64_t bytes, uint64_t dur)
{
	struct pasta_event ev = EVENT(copy, COPY, 0, 1, 10);

	ev.sub = (uint8_t)sub;
	ev.copy.bytes = bytes;
	ev.copy.dur = dur;
	return ev;
}

static void copy(unsigned int sub, uint64_t bytes, uint64_t dur)
{
	struct pasta_event ev = copy_event(sub, bytes, dur);

	send_event(&ev);
}

static void every_direction_has_its_name_and_sums(void **state)
{
	struct pasta_event fill = EVENT(set, SET, 0, 1, 10);

	(void)state;
	for (unsigned int sub = 0; sub <= PASTA_COPY_UNMAP; sub++)
		copy(sub, sub + 1, 10);
	copy(PASTA_COPY_UNMAP + 1, 9, 10);
	copy(PASTA_COPY_H2D, 1000, 490);
	fill.set.bytes = 4096;
	fill.set.dur = 1;
	send_event(&fill);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("copies"), "unspecified 2 10 20 500000000.00 5\n"
					     "h2d 2 1002 500 2004000000.00 501\n"
					     "d2h 1 3 10 300000000.00 3\n"
					     "d2d 1 4 10 400000000.00 4\n"
					     "h2h 1 5 10 500000000.00 5\n"
					     "p2p 1 6 10 600000000.00 6\n"
					     "map 1 7 10 - 7\n"
					     "unmap 1 8 10 - 8\n"
					     "set 1 4096 1 4096000000000.00 4096\n");
	assert_string_equal(finding(0), "");
}

static void sizes_are_in_powers_of_two(void **state)
{
	static const uint64_t sizes[] = {
		0, 1, 2, 3, 4, 1023, 1024, 2047, 2048, (uint64_t)INT64_MAX, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		copy(PASTA_COPY_D2H, sizes[i], 1000000000);
	assert_int_equal(finish(), 0);
	assert_string_equal(
		table("copy_sizes"),
		"d2h 0 1 0 1000000000 -\n"
		"d2h 1 1 1 1000000000 1.00\n"
		"d2h 2 2 5 2000000000 2.50\n"
		"d2h 4 1 4 1000000000 4.00\n"
		"d2h 512 1 1023 1000000000 1023.00\n"
		"d2h 1024 2 3071 2000000000 1535.50\n"
		"d2h 2048 1 2048 1000000000 2048.00\n"
		"d2h 4611686018427387904 1 9223372036854775807 1000000000 "
		"9223372036854775808.00\n"
		"d2h 9223372036854775807 1 9223372036854775807 1000000000 18446744073709551616.00\n");
}

static void copies_without_a_duration_do_not_count_in_bandwidth(void **state)
{
	(void)state;
	copy(PASTA_COPY_H2D, 100, 100);
	copy(PASTA_COPY_H2D, 900, 0);
	copy(PASTA_COPY_D2H, 5, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("copies"), "h2d 2 1000 100 1000000000.00 500\n"
					     "d2h 1 5 0 - 5\n");
	assert_string_equal(finding(0), "copies without a time: 2");
}

static void without_moved_bytes_there_is_no_bandwidth(void **state)
{
	(void)state;
	copy(PASTA_COPY_MAP, 1 << 30, 1);
	copy(PASTA_COPY_UNMAP, 1 << 30, 1);
	copy(PASTA_COPY_D2H, 0, 10);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("copies"), "d2h 1 0 10 - 0\n"
					     "map 1 1073741824 1 - 1073741824\n"
					     "unmap 1 1073741824 1 - 1073741824\n");
	assert_string_equal(table("copy_sizes"), "d2h 0 1 0 10 -\n"
						 "map 1073741824 1 1073741824 1 -\n"
						 "unmap 1073741824 1 1073741824 1 -\n");
}

static void many_small_copies_are_found(void **state)
{
	(void)state;
	for (int i = 0; i < MANY; i++)
		copy(PASTA_COPY_H2D, 65535, 1000);
	copy(PASTA_COPY_H2D, 1 << 30, 999000);
	for (int i = 0; i < MANY; i++)
		copy(PASTA_COPY_D2H, 65536, 1000);
	assert_int_equal(finish(), 0);
	assert_string_equal(finding(0), "small copies take most of the copy time in one direction");
	assert_string_equal(result.outs[0]->findings[0].where, "h2d");
	assert_string_equal(finding(1), "");
}

/* Returns both tables as text, which the caller frees. */
static char *both_tables(void)
{
	char *text = calloc(2, 1 << 18);

	assert_non_null(text);
	strcat(text, table("copies"));
	strcat(text, table("copy_sizes"));
	return text;
}

static void merged_shards_equal_a_single_one(void **state)
{
	struct pasta_result own = {0};
	struct pasta_toolset *parts[3];
	char *want, *got;

	(void)state;
	for (int i = 0; i < 3; i++)
		parts[i] = another_toolset(&own);
	for (int i = 0; i < 5000; i++) {
		struct pasta_event ev =
			copy_event((unsigned int)random_below(9),
				   random_u64() >> (20 + random_below(44)), random_below(1000));

		ev.kind = random_below(4) ? PASTA_KIND_COPY : PASTA_KIND_SET;
		pasta_toolset_event(parts[random_below(3)], &ev, NULL);
		send_event(&ev);
	}
	pasta_toolset_merge(parts[0], parts[1]);
	pasta_toolset_merge(parts[0], parts[2]);
	assert_int_equal(finish(), 0);
	want = both_tables();
	pasta_result_free(&result);
	result = own;
	pasta_toolset_report(parts[0]);
	assert_int_equal(pasta_out_end(result.outs[0]), 0);
	got = both_tables();
	assert_string_equal(got, want);
	free(want);
	free(got);
	for (int i = 0; i < 3; i++)
		pasta_toolset_free(parts[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_direction_has_its_name_and_sums),
		TEST(sizes_are_in_powers_of_two),
		TEST(copies_without_a_duration_do_not_count_in_bandwidth),
		TEST(without_moved_bytes_there_is_no_bandwidth),
		TEST(many_small_copies_are_found),
		TEST(merged_shards_equal_a_single_one),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
