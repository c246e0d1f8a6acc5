/* test_kernel_gaps.c - tests the example kernel_gaps with made-up events. */
/* labels: onethread */
#include "../../examples/kernel_gaps.c"

#include "unit/tooltest.h"

static void send_at(uint32_t proc, uint32_t device, uint64_t time, uint64_t dur, const char *name)
{
	struct pasta_event ev = kernel_event(proc, time, 1, name, dur);

	ev.kernel.device = device;
	send_event(&ev);
}

static void kernels_that_overlap_are_one_stretch(void **state)
{
	(void)state;
	send_at(0, 0, 100, 50, "a");
	send_at(0, 0, 110, 10, "b");
	send_at(0, 0, 140, 30, "c"); /* until 170 */
	send_at(0, 0, 200, 10, "d");
	send_at(0, 0, 210, 10, "e"); /* no gap before */
	assert_int_equal(finish(), 0);
	assert_string_equal(table("gaps"), "0 0 5 90 30 25.00 1 30 30 30\n");
	assert_string_equal(table("longest_gaps"), "0 0 70 30 c d\n");
	assert_string_equal(finding(0), "");
}

static void devices_and_processes_are_apart(void **state)
{
	(void)state;
	send_at(1, 0, 10, 10, "a");
	send_at(0, 1, 15, 10, "b");
	send_at(0, 0, 20, 10, "c");
	send_at(0, 1, 40, 10, "d");
	send_at(1, 0, 120, 10, "e");
	assert_int_equal(finish(), 0);
	assert_string_equal(table("gaps"), "0 0 1 10 0 0.00 0 0 0 0\n"
					   "0 1 2 20 15 42.86 1 15 15 15\n"
					   "1 0 2 20 100 83.33 1 100 100 100\n");
	assert_string_equal(table("longest_gaps"), "1 0 10 100 a e\n0 1 10 15 b d\n");
	assert_string_equal(finding(0), "the device waits for the program most of the time");
	assert_string_equal(result.outs[0]->findings[0].where, "process 1, device 0");
	assert_string_equal(finding(1), "");
}

static void kernels_without_a_name_or_a_time_are_kernels(void **state)
{
	(void)state;
	send_at(0, 0, 10, 0, NULL);
	send_at(0, 0, 10, 10, NULL);
	send_at(0, 0, 12, 2, NULL);
	send_at(0, 0, 30, 0, NULL);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("gaps"), "0 0 4 10 10 50.00 1 10 10 10\n");
}

static void the_longest_gaps_are_listed_in_order(void **state)
{
	uint64_t time = 10;

	(void)state;
	start_over("kernel_gaps.longest=3");
	for (uint64_t gap = 1; gap <= 20; gap++) {
		send_at(0, 0, time, 5, "k");
		time += 5 + gap * 7 % 20;
	}
	assert_int_equal(finish(), 0);
	assert_string_equal(table("longest_gaps"),
			    "0 0 237 19 k k\n0 0 187 18 k k\n0 0 140 17 k k\n");
	start_over("kernel_gaps.longest=0");
	send_at(0, 0, 1, 1, "k");
	send_at(0, 0, 9, 1, "k");
	assert_int_equal(finish(), 0);
	assert_string_equal(table("longest_gaps"), "");
	start_over("kernel_gaps.longest=1001");
	assert_int_equal(finish(), -EINVAL);
}

static char *both_tables(void)
{
	static char text[2][1 << 17];
	static int turn;
	char *to = text[turn++ % 2];

	to += sprintf(to, "%s", table("gaps"));
	sprintf(to, "%s", table("longest_gaps"));
	return text[(turn - 1) % 2];
}

static void merged_states_equal_a_single_one(void **state)
{
	struct pasta_result own = {0};
	struct pasta_toolset *parts[3];
	const char *want;

	(void)state;
	start_over("kernel_gaps.longest=100");
	for (int i = 0; i < 3; i++)
		parts[i] = another_toolset(&own);
	for (uint64_t time = 1; time < 20000; time += random_below(20)) {
		struct pasta_event ev =
			kernel_event((uint32_t)random_below(3), time, 1, "k", random_below(30));

		ev.kernel.device = (uint32_t)random_below(2);
		pasta_toolset_event(parts[ev.proc], &ev, NULL);
		send_event(&ev);
	}
	pasta_toolset_merge(parts[0], parts[1]);
	pasta_toolset_merge(parts[0], parts[2]);
	assert_int_equal(finish(), 0);
	assert_int_equal(pasta_table_rows(table_of("gaps")), 6);
	assert_int_equal(pasta_table_rows(table_of("longest_gaps")), 100);
	want = both_tables();
	pasta_result_free(&result);
	result = own;
	pasta_toolset_report(parts[0]);
	assert_int_equal(pasta_out_end(result.outs[0]), 0);
	assert_string_equal(both_tables(), want);
	for (int i = 0; i < 3; i++)
		pasta_toolset_free(parts[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(kernels_that_overlap_are_one_stretch),
		TEST(devices_and_processes_are_apart),
		TEST(kernels_without_a_name_or_a_time_are_kernels),
		TEST(the_longest_gaps_are_listed_in_order),
		TEST(merged_states_equal_a_single_one),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
