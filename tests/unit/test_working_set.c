/* test_working_set.c - tests tool working_set with made-up events, and against a recount. */
/* labels: onethread */
#include "../../tools/working_set.c"

#include "unit/accesstest.h"

static void a_footprint_is_the_pages_of_objects_that_a_launch_touches(void **state)
{
	(void)state;
	send_buffer(16, 0xa, 0x10000, 3 * PAGE);
	send_buffer(17, 0xb, 0x20010, 100); /* a small object counts with its size */
	send_buffer(18, 0xc, 0x30000, 1000);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_row(1, "k", PASTA_REDUCER_OBJECT, 16, 2048, 0, 8192, 0);
	send_row(1, "k", PASTA_REDUCER_OBJECT, 17, 0, 25, 100, 0);
	send_row(1, "k", PASTA_REDUCER_OBJECT, PASTA_SPACE_LOCAL, 9, 9, 72, 0);
	send_row(1, "k", PASTA_REDUCER_PAGE, 0x10000, 1024, 0, 4096, 0);
	send_row(1, "k", PASTA_REDUCER_PAGE, 0x12000, 1024, 0, 4096, 0);
	send_row(1, "k", PASTA_REDUCER_PAGE, 0x20000, 0, 25, 100, 0);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 2, "k", 5, NULL);
	send_row(2, "k", PASTA_REDUCER_OBJECT, 16, 1, 0, 4, 0);
	send_row(2, "k", PASTA_REDUCER_PAGE, 0x11000, 1, 0, 4, 0);
	assert_int_equal(finish(), 0);
	/* (8292 + 4096) / 2; 13388 live; 8296 bytes by 12388 */
	assert_string_equal(table("kernels"), "k 2 2 6194 8292 1.50 2 13388 7194 0.67\n");
	assert_string_equal(finding(0), "");
}

static void memory_of_a_frameworks_allocator_is_live_once(void **state)
{
	(void)state;
	send_alloc(PASTA_ALLOC_DEVICE, 0x10000, 20 * PAGE, 0, NULL);
	send_alloc(PASTA_ALLOC_SEGMENT, 0x10000, 20 * PAGE, 0, "torch");
	send_alloc(PASTA_ALLOC_POOL, 0x10000, 12 * PAGE, 0, "torch");
	send_object(16, 0x10000, 0x10000, 12 * PAGE);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_row(1, "k", PASTA_REDUCER_OBJECT, 16, 1, 0, 4, 0);
	send_row(1, "k", PASTA_REDUCER_PAGE, 0x10000, 1, 0, 4, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("kernels"), "k 1 1 4096 4096 1.00 1 81920 77824 0.00\n");
}

static void sampled_launches_weigh_by_their_shape(void **state)
{
	(void)state;
	send_buffer(16, 0xa, 0x10000, 3 * PAGE);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_row(1, "k", PASTA_REDUCER_OBJECT, 16, 1, 0, 4, 0);
	send_row(1, "k", PASTA_REDUCER_PAGE, 0x10000, 1, 0, 4, 0);
	send_access_launch(PASTA_ACCESS_LAUNCH_SAMPLED, 2, "k", 5, NULL);
	send_access_launch(PASTA_ACCESS_LAUNCH_SAMPLED, 3, "k", 5, NULL);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 4, "k", 6, NULL);
	send_row(4, "k", PASTA_REDUCER_OBJECT, 16, 2, 0, 8, 0);
	send_row(4, "k", PASTA_REDUCER_PAGE, 0x10000, 1, 0, 4, 0);
	send_row(4, "k", PASTA_REDUCER_PAGE, 0x11000, 1, 0, 4, 0);
	assert_int_equal(finish(), 0);
	/* 3 launches of one page and 1 of two */
	assert_string_equal(table("kernels"), "k 4 2 5120 8192 1.00 1 12288 7168 0.00\n");
	assert_string_equal(
		finding(0),
		"counted 2 of 4 launches; numbers are scaled to all launches, by kernel and shape");
	assert_string_equal(finding(1), "");
}

static void a_kernel_that_is_refused_is_named_and_has_no_numbers(void **state)
{
	(void)state;
	send_access_launch(PASTA_ACCESS_LAUNCH_REFUSED, 1, "binary", 5,
			   "it did not come as source");
	send_access_launch(PASTA_ACCESS_LAUNCH_REFUSED, 2, "binary", 5,
			   "it did not come as source");
	send_access_launch(PASTA_ACCESS_LAUNCH_FILTERED, 3, "other", 5, NULL);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("kernels"), "binary 2 0 - - - - - - -\n");
	assert_string_equal(finding(0), "accesses of this kernel could not be counted: it did not "
					"come as source");
	assert_string_equal(result.outs[0]->findings[0].where, "binary");
	assert_string_equal(result.outs[0]->findings[0].evidence,
			    "launches that were not counted: 2");
	assert_int_equal(result.outs[0]->findings[0].severity, PASTA_SEVERITY_WARNING);
	assert_non_null(find("launches excluded by the run's filters"));
}

static void where_none_could_be_counted_those_that_are_sampled_out_are_left_out_too(void **state)
{
	(void)state;
	send_access_launch(PASTA_ACCESS_LAUNCH_REFUSED, 1, "binary", 5,
			   "it did not come as source");
	for (uint64_t i = 2; i < 9; i++)
		send_access_launch(PASTA_ACCESS_LAUNCH_SAMPLED, i, "binary", 5, NULL);
	send_access_launch(PASTA_ACCESS_LAUNCH_REFUSED, 9, "some", 5, "there was no memory");
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 10, "some", 5, NULL);
	send_access_launch(PASTA_ACCESS_LAUNCH_SAMPLED, 11, "some", 5, NULL);
	assert_int_equal(finish(), 0);
	assert_string_equal(
		finding(0),
		"counted 1 of 3 launches; numbers are scaled to all launches, by kernel and shape");
	assert_string_equal(result.outs[0]->findings[1].where, "binary");
	assert_string_equal(result.outs[0]->findings[1].evidence,
			    "launches that were not counted: 8");
	assert_string_equal(result.outs[0]->findings[2].where, "some");
	assert_string_equal(result.outs[0]->findings[2].evidence,
			    "launches that were not counted: 1");
}

static void an_object_freed_after_the_launch_still_counts_as_touched(void **state)
{
	(void)state;
	send_buffer(16, 0xa, 0x10000, PAGE);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_free(0xa);
	send_buffer(17, 0xa, 0x10000, 64); /* another object at the same address */
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 2, "k", 5, NULL);
	send_row(1, "k", PASTA_REDUCER_OBJECT, 16, 1, 0, 4, 0);
	send_row(2, "k", PASTA_REDUCER_OBJECT, 17, 1, 0, 4,
		 0); /* rows of two launches, interleaved */
	send_row(1, "k", PASTA_REDUCER_PAGE, 0x10000, 1, 0, 4, 0);
	send_row(2, "k", PASTA_REDUCER_PAGE, 0x10000, 1, 0, 4, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("kernels"), "k 2 2 2080 4096 1.00 1 2080 0 0.00\n");
}

static void parts_add_nothing_to_what_is_live_and_the_hosts_does_once_it_is_used(void **state)
{
	(void)state;
	send_buffer(16, 0xa, 0x10000, 2 * PAGE);
	send_alloc(PASTA_ALLOC_DEVICE, 0xb, PAGE, 0xa, NULL);
	send_alloc(PASTA_ALLOC_HOST, 0xc, 500, 0, NULL);
	send_alloc(PASTA_ALLOC_HOST, 0xd, 70, 0, NULL);
	send_object(17, 0xb, 0x11000, PAGE);
	send_object(18, 0xd, 0x90000, 70);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_row(1, "k", PASTA_REDUCER_OBJECT, 17, 1, 0, 4, 0);
	send_row(1, "k", PASTA_REDUCER_PAGE, 0x11000, 1, 0, 4, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("kernels"), "k 1 1 4096 4096 1.00 1 8262 4166 0.00\n");
}

static void what_is_missing_is_unknown_and_nothing_fails(void **state)
{
	(void)state;
	send_row(9, "k", PASTA_REDUCER_OBJECT, 77, 5, 0, 20, 0); /* no launch, no object */
	send_row(9, "k", PASTA_REDUCER_PAGE, 0x5000, 5, 0, 20, 0);
	send_row(9, NULL, PASTA_REDUCER_PAGE, PASTA_KEY_OTHER, 3, 1, 4, 0);
	send_row(9, "k", 0, 1, 1, 1, 1, 1);
	send_row(9, "k", 99, 1, 1, 1, 1, 1);
	send_free(0x123);
	send_object(18, 0x999, UINT64_MAX - 10, 1000);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 10, "k", 5, NULL);
	send_row(10, "k", PASTA_REDUCER_OBJECT, 18, 5, 0, 20, 0);
	send_row(10, "k", PASTA_REDUCER_PAGE, UINT64_MAX - 4095, 5, 0, 20, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("kernels"), "k 1 1 10 10 1.00 1 0 0 2.00\n");
	assert_string_equal(finding(0), "accesses to pages for which the table had no room: 4");
	assert_non_null(find("kernels with accesses of unknown launches: 1"));
	assert_non_null(find("unknown objects: 1"));
}

static void sums_past_2_63_stay_there_and_are_reported(void **state)
{
	(void)state;
	send_buffer(16, 0xa, 0x10000, UINT64_C(1) << 62);
	for (uint64_t i = 1; i <= 3; i++)
		send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, i, "k", 5, NULL);
	send_row(1, "k", PASTA_REDUCER_OBJECT, 16, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0);
	send_row(2, "k", PASTA_REDUCER_OBJECT, 16, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0);
	send_row(1, "k", PASTA_REDUCER_PAGE, 0x10000, 1, 0, 4, 0);
	assert_int_equal(finish(), 0);
	assert_true(pasta_table_cell(table_of("kernels"), 0, 7)->i > 0);
	assert_non_null(find("some sums exceed 2^63 - 1, and are shown as 2^63 - 1"));
}

/* The expected table, from the recount: sorted by largest footprint, then name. */
static const char *wanted(void)
{
	static char text[2000];
	struct r_shape sums[R_KERNELS] = {0};
	uint64_t untouched[R_KERNELS] = {0};
	bool done[R_KERNELS] = {0};
	size_t at = 0;

	for (int p = 0; p < R_PROCS; p++)
		for (int k = 0; k < R_KERNELS; k++)
			for (int i = 0; i < R_SHAPES; i++) {
				const struct r_shape *s = &r_procs[p].shapes[k][i];

				sums[k].launches += s->launches;
				sums[k].counted += s->counted;
				sums[k].footprint += r_scale(s, s->footprint);
				sums[k].objects += r_scale(s, s->objects);
				sums[k].live += r_scale(s, s->live);
				sums[k].all_bytes += r_scale(s, s->all_bytes);
				untouched[k] += r_scale(s, s->live) - r_scale(s, s->footprint);
				if (s->footprint_max > sums[k].footprint_max)
					sums[k].footprint_max = s->footprint_max;
				if (s->objects_max > sums[k].objects_max)
					sums[k].objects_max = s->objects_max;
			}
	for (int n = 0; n < R_KERNELS; n++) {
		int best = 0;

		while (done[best])
			best++;
		for (int k = best + 1; k < R_KERNELS; k++)
			if (!done[k] && sums[k].footprint_max > sums[best].footprint_max)
				best = k;
		done[best] = true;
		const struct r_shape *s = &sums[best];
		uint64_t all = s->launches;

		if (!all)
			continue;
		at += (size_t)sprintf(
			text + at, "%s %llu %llu %llu %llu %.2f %llu %llu %llu ", r_names[best],
			(unsigned long long)all, (unsigned long long)s->counted,
			(unsigned long long)((2 * s->footprint + all) / (2 * all)),
			(unsigned long long)s->footprint_max, (double)s->objects / (double)all,
			(unsigned long long)s->objects_max,
			(unsigned long long)((2 * s->live + all) / (2 * all)),
			(unsigned long long)((2 * untouched[best] + all) / (2 * all)));
		if (s->footprint)
			at += (size_t)sprintf(text + at, "%.2f\n",
					      (double)s->all_bytes / (double)s->footprint);
		else
			at += (size_t)sprintf(text + at, "-\n");
	}
	return text;
}

static void random_runs_are_as_a_plain_recount_has_them(void **state)
{
	(void)state;
	for (int i = 0; i < 40; i++) {
		r_make(i % 2);
		r_send_all(send_event);
		assert_int_equal(finish(), 0);
		assert_string_equal(table("kernels"), wanted());
		assert_true(i % 2 == 0 || !find("counted "));
		start_over(NULL);
	}
}

static void merged_in_any_order_is_as_one(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++) {
		r_make(false);
		merged(0, 1, 2);
		assert_string_equal(table("kernels"), wanted());
		start_over(NULL);
		merged(2, 0, 1);
		assert_string_equal(table("kernels"), wanted());
		start_over(NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_footprint_is_the_pages_of_objects_that_a_launch_touches),
		TEST(sampled_launches_weigh_by_their_shape),
		TEST(a_kernel_that_is_refused_is_named_and_has_no_numbers),
		TEST(where_none_could_be_counted_those_that_are_sampled_out_are_left_out_too),
		TEST(an_object_freed_after_the_launch_still_counts_as_touched),
		TEST(parts_add_nothing_to_what_is_live_and_the_hosts_does_once_it_is_used),
		TEST(what_is_missing_is_unknown_and_nothing_fails),
		TEST(memory_of_a_frameworks_allocator_is_live_once),
		TEST(sums_past_2_63_stay_there_and_are_reported),
		TEST(random_runs_are_as_a_plain_recount_has_them),
		TEST(merged_in_any_order_is_as_one),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
