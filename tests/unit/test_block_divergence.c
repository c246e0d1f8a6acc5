/* test_block_divergence.c - tests tool block_divergence with made-up events. */
/* labels: onethread */
#include "../../tools/block_divergence.c"

#include "unit/accesstest.h"

static void send_blocks(uint64_t corr, const char *name, uint64_t least, uint64_t blocks,
			uint64_t time, uint64_t unseen)
{
	send_row(corr, name, PASTA_REDUCER_BLOCK, least, blocks, 0, time, unseen);
}

static void times_are_by_kernel_and_shape_and_the_tail_is_found(void **state)
{
	(void)state;
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 2, "k", 6, NULL);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 3, "even", 5, NULL);
	/* 97 blocks of about 1,000 ns, 2 of 2,500, one of 20,000. */
	send_blocks(1, "k", 1024, 97, 97 * 1050, 0);
	send_blocks(1, "k", 2560, 2, 2 * 2600, 0);
	send_blocks(1, "k", 20480, 1, 20500, 0);
	send_blocks(2, "k", 1024, 4, 4 * 1100, 0);
	send_blocks(3, "even", 896, 10, 9000, 0);
	send_blocks(3, "even", 1024, 10, 10400, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("blocks"),
			    "k 100 1 100.00 100 0 1050 1050 2600 20500 19.52 20.15 0.00\n"
			    "even 20 1 100.00 20 0 900 900 1040 1040 1.16 0.00 0.00\n"
			    "k 4 1 100.00 4 0 1100 1100 1100 1100 1.00 0.00 0.00\n");
	assert_string_equal(finding(0), "run times of thread blocks are uneven: the longest is "
					"19.5 times the median");
	assert_string_equal(result.outs[0]->findings[0].where, "k");
	assert_string_equal(result.outs[0]->findings[0].evidence,
			    "thread blocks that run for at least twice the median take "
			    "20% of the time of all 100 thread blocks");
	assert_string_equal(finding(1), "");
	assert_int_equal(result.outs[0]->chart_count, 1);
	assert_int_equal(result.outs[0]->charts[0]->used, 6);
}

static void launches_and_processes_are_added_up_and_scaled(void **state)
{
	(void)state;
	for (now_proc = 0; now_proc < 2; now_proc++) {
		send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
		send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 2, "k", 5, NULL);
		send_access_launch(PASTA_ACCESS_LAUNCH_SAMPLED, 3, "k", 5, NULL);
		send_access_launch(PASTA_ACCESS_LAUNCH_SAMPLED, 4, "k", 5, NULL);
		send_blocks(1, "k", 512, 8, 8 * 520, 0);
		send_blocks(2, "k", 512, 8, 8 * 540, 0);
	}
	now_proc = 0;
	assert_int_equal(finish(), 0);
	assert_string_equal(table("blocks"), "k 8 8 50.00 64 0 530 530 530 530 1.00 0.00 0.00\n");
	assert_non_null(find("counted 4 of 8 launches"));
}

static void unmeasured_blocks_are_reported_and_do_not_scale_times(void **state)
{
	(void)state;
	send_partial(1, "k", 5, 4);
	send_blocks(1, "k", 512, 25, 25 * 520, 75);
	send_partial(2, "none", 5, 4);
	send_blocks(2, "none", 0, 0, 0, 3); /* none of its blocks was sampled */
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 3, "full", 5, NULL);
	send_blocks(3, "full", 512, 1, 520, 0);
	send_blocks(3, "full", PASTA_KEY_OTHER, 7, 7 * 520, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("blocks"), "k 100 1 100.00 25 75 520 520 520 520 1.00 0.00 0.00\n"
					     "full 1 1 100.00 1 0 520 520 520 520 1.00 0.00 0.00\n"
					     "none 3 1 100.00 0 3 - - - - - - 0.00\n");
	assert_non_null(find("thread blocks for which a table had no room: 7"));
	assert_non_null(find("in 2 launches, only one thread block in 4 was counted"));
}

static void blocks_without_a_duration_are_not_a_finding(void **state)
{
	(void)state;
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_blocks(1, "k", 0, 10, 0, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("blocks"), "k 10 1 100.00 10 0 0 0 0 0 - 0.00 0.00\n");
	assert_string_equal(finding(0), "");
}

static void send_barrier(uint64_t corr, const char *name, uint64_t site, uint64_t warps,
			 uint64_t threads, uint64_t all)
{
	send_row(corr, name, PASTA_REDUCER_BARRIER, site, warps, threads, 0, all);
}

/* Two shapes of a kernel: 4 blocks of 2 warps, and 1 block of 3 whose last warp has 8 threads. */
static void arrivals_at_barriers_are_by_block_and_by_line(void **state)
{
	(void)state;
	send_site(1, "k.cu", 10, PASTA_ACCESS_BARRIER, 0, NULL);
	send_site(2, "k.cu", 10, PASTA_ACCESS_BARRIER, 0, NULL); /* an unrolled loop */
	send_site(3, "k.cu", 12, PASTA_ACCESS_BARRIER, 0, NULL);
	send_site(4, NULL, 0, PASTA_ACCESS_BARRIER, 0, "+0x40");
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 2, "k", 6, NULL);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 3, "still", 5, NULL);
	send_blocks(1, "k", 1024, 4, 4 * 1100, 0);
	send_blocks(2, "k", 1024, 1, 1050, 0);
	send_blocks(3, "still", 896, 1, 900, 0);
	send_barrier(1, "k", 1, 5 * 8, 5 * 8 * 32, 5 * 8 * 32);
	send_barrier(1, "k", 2, 5 * 8, 5 * 8 * 32, 5 * 8 * 32);
	send_barrier(1, "k", 3, 8, 8 * 16, 8 * 32);
	send_barrier(2, "k", 1, 3, 72, 72);
	send_barrier(2, "k", 4, 3, 72, 72);
	send_barrier(2, "k", PASTA_KEY_OTHER, 3, 36, 72);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("blocks"),
			    "k 4 1 100.00 4 0 1100 1100 1100 1100 1.00 0.00 22.00\n"
			    "k 1 1 100.00 1 0 1050 1050 1050 1050 1.00 0.00 9.00\n"
			    "still 1 1 100.00 1 0 900 900 900 900 1.00 0.00 0.00\n");
	assert_string_equal(table("barriers"), "k k.cu 10 83 2632 100.00\n"
					       "k k.cu 12 8 128 50.00\n"
					       "k - - 6 108 75.00\n");
	assert_string_equal(finding(0), "");
}

static void arrivals_are_scaled_to_all_launches_and_blocks(void **state)
{
	(void)state;
	send_partial(1, "k", 5, 4);
	send_access_launch(PASTA_ACCESS_LAUNCH_SAMPLED, 2, "k", 5, NULL);
	send_blocks(1, "k", 512, 25, 25 * 520, 75);
	send_barrier(1, "k", 1, 50, 1600, 1600);
	/* Launches of a graph have no times of blocks. */
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 3, "graph: k", 5, NULL);
	send_barrier(3, "graph: k", 1, 7, 0, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("blocks"),
			    "k 100 2 50.00 50 150 520 520 520 520 1.00 0.00 2.00\n");
	assert_string_equal(table("barriers"), "k - - 400 12800 100.00\n"
					       "graph: k - - 7 0 -\n");
}

static void without_blocks_the_tables_are_empty(void **state)
{
	(void)state;
	send_access_launch(PASTA_ACCESS_LAUNCH_REFUSED, 1, "k", 5, "no patches");
	assert_int_equal(finish(), 0);
	assert_string_equal(table("blocks"), "");
	assert_string_equal(table("barriers"), "");
	assert_int_equal(result.outs[0]->chart_count, 0);
	assert_non_null(find("accesses of this kernel could not be counted: no patches"));
}

static void merged_states_report_like_a_single_one(void **state)
{
	(void)state;
	r_count = 0;
	deliver = r_store;
	for (now_proc = 0; now_proc < R_PROCS; now_proc++) {
		send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
		send_blocks(1, "k", 512, 1 + now_proc, 520 * (1 + now_proc), now_proc);
		send_site(1, "k.cu", 10, PASTA_ACCESS_BARRIER, 0, NULL);
		send_barrier(1, "k", 1, 9, 144, 288);
	}
	now_proc = 0;
	deliver = send_event;
	merged(2, 0, 1);
	assert_string_equal(table("blocks"), "k 3 3 100.00 6 3 520 520 520 520 1.00 0.00 3.00\n");
	assert_string_equal(table("barriers"), "k k.cu 10 27 432 50.00\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(times_are_by_kernel_and_shape_and_the_tail_is_found),
		TEST(launches_and_processes_are_added_up_and_scaled),
		TEST(unmeasured_blocks_are_reported_and_do_not_scale_times),
		TEST(blocks_without_a_duration_are_not_a_finding),
		TEST(arrivals_at_barriers_are_by_block_and_by_line),
		TEST(arrivals_are_scaled_to_all_launches_and_blocks),
		TEST(without_blocks_the_tables_are_empty),
		TEST(merged_states_report_like_a_single_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
