/* test_bank_conflicts.c - tests the example bank_conflicts with made-up events. */
/* labels: onethread */
#include "../../examples/bank_conflicts/bank_conflicts.c"

#include "unit/accesstest.h"

static void send_sum(uint64_t corr, const char *name, uint64_t site, uint64_t loads,
		     uint64_t stores, uint64_t needed, uint64_t taken)
{
	send_row(corr, name, PASTA_REDUCER_OWN, site, loads, stores, needed, taken);
}

static void lines_are_by_kernel_and_most_conflicts_come_first(void **state)
{
	(void)state;
	send_site(1, "a.cu", 10, PASTA_ACCESS_LOAD, 0, "+0x10");
	send_site(2, "a.cu", 10, PASTA_ACCESS_STORE, 0, "+0x20");
	send_site(3, "a.cu", 12, PASTA_ACCESS_ATOMIC, 0, "+0x30");
	send_site(4, NULL, 0, PASTA_ACCESS_LOAD, 0, "+0x40");
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_sum(1, "k", 1, 100, 0, 100, 100);
	send_sum(1, "k", 2, 0, 50, 50, 1600);
	send_sum(1, "k", 3, 10, 10, 10, 40);
	send_sum(1, "k", 4, 7, 0, 28, 28);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 2, "m", 5, NULL);
	send_sum(2, "m", 1, 3, 0, 3, 6);
	send_sum(2, "m", PASTA_KEY_OTHER, 5, 0, 5, 5);
	/* Rows of other reducers do not count. */
	send_row(2, "m", PASTA_REDUCER_COALESCE, 1, 9, 9, 9, 9);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("bank_conflicts"), "k a.cu:10 150 1700 1550 11.33\n"
						     "k a.cu:12 10 40 30 4.00\n"
						     "m a.cu:10 3 6 3 2.00\n"
						     "k f+0x40 7 28 0 4.00\n"
						     "m (no room in the table) 5 5 0 1.00\n");
	assert_string_equal(finding(0), "requests take 11.3 times the wavefronts they need");
	assert_non_null(find("requests take 4.0 times"));
	assert_null(find("requests take 2.0 times")); /* less than 1 % */
}

static void sampled_launches_and_blocks_are_scaled(void **state)
{
	(void)state;
	send_site(1, "a.cu", 10, PASTA_ACCESS_LOAD, 0, "+0x10");
	send_partial(1, "k", 5, 4);
	send_sum(1, "k", 1, 10, 0, 10, 20);
	send_access_launch(PASTA_ACCESS_LAUNCH_SAMPLED, 2, "k", 5, NULL);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("bank_conflicts"), "k a.cu:10 80 160 80 2.00\n");
}

static void a_run_without_rows_has_an_empty_table_and_no_findings(void **state)
{
	(void)state;
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("bank_conflicts"), "");
	assert_string_equal(finding(0), "");
}

static void merged_states_have_the_rows_of_all(void **state)
{
	(void)state;
	r_count = 0;
	deliver = r_store;
	for (now_proc = 0; now_proc < 2; now_proc++)
		send_sum(1, "k", 1, 4, 0, 4, 8);
	now_proc = 0;
	deliver = send_event;
	merged(0, 1, 2);
	assert_string_equal(table("bank_conflicts"), "k (unknown, site 1) 4 8 4 2.00\n"
						     "k (unknown, site 1) 4 8 4 2.00\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lines_are_by_kernel_and_most_conflicts_come_first),
		TEST(sampled_launches_and_blocks_are_scaled),
		TEST(a_run_without_rows_has_an_empty_table_and_no_findings),
		TEST(merged_states_have_the_rows_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
