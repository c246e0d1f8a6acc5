/* test_skeleton.c - tests the tool skeleton with single events. */
#include "../../tools/skeleton.c"

#include "unit/tooltest.h"

static void kernels_are_in_order_of_time(void **state)
{
	(void)state;
	send_kernel(0, 10, 1, "small", 5);
	send_kernel(0, 20, 2, "large", 30);
	send_kernel(1, 30, 1, "small", 5);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("skeleton"), "large 1 30\nsmall 2 10\n");
	assert_string_equal(finding(0), "most device time is in one kernel");
	assert_string_equal(result.outs[0]->findings[0].where, "large");
	assert_string_equal(result.outs[0]->findings[0].evidence,
			    "75% of device time, in 1 launches");
}

static void kernels_with_equal_times_are_in_order_of_names(void **state)
{
	(void)state;
	send_kernel(0, 10, 1, "tie b", 5);
	send_kernel(0, 20, 2, "tie a", 5);
	send_kernel(0, 30, 3, "tie c", 5);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("skeleton"), "tie a 1 5\ntie b 1 5\ntie c 1 5\n");
}

static void shared_time_is_not_a_finding(void **state)
{
	(void)state;
	send_kernel(0, 10, 1, "one", 5);
	send_kernel(0, 20, 2, "other", 5);
	assert_int_equal(finish(), 0);
	assert_string_equal(finding(0), "");
}

static void top_limits_the_rows(void **state)
{
	(void)state;
	start_over("skeleton.top=1");
	send_kernel(0, 10, 1, "one", 5);
	send_kernel(0, 20, 2, "other", 6);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("skeleton"), "other 1 6\n");
}

static void an_option_that_is_not_a_number_is_refused(void **state)
{
	const char *option = "skeleton.top=many";

	(void)state;
	assert_int_equal(pasta_choice_set(&choice, option, NULL), -EINVAL);
}

static void without_events_the_table_is_empty(void **state)
{
	(void)state;
	assert_int_equal(finish(), 0);
	assert_string_equal(table("skeleton"), "");
}

static void merged_states_equal_one_state(void **state)
{
	static const char *const names[] = {"a", "b", "c", "d", "e"};
	struct pasta_result own = {0};
	struct pasta_toolset *parts[2];
	char *want;

	(void)state;
	for (int i = 0; i < 2; i++)
		parts[i] = another_toolset(&own);
	for (int i = 0; i < 1000; i++) {
		struct pasta_event ev =
			kernel_event(0, 10, 1, names[random_below(5)], random_below(1000));

		pasta_toolset_event(parts[random_below(2)], &ev, NULL);
		send_event(&ev);
	}
	pasta_toolset_merge(parts[0], parts[1]);
	assert_int_equal(finish(), 0);
	want = strdup(table("skeleton"));
	assert_non_null(want);
	pasta_result_free(&result);
	result = own;
	pasta_toolset_report(parts[0]);
	assert_int_equal(pasta_out_end(result.outs[0]), 0);
	assert_string_equal(table("skeleton"), want);
	free(want);
	for (int i = 0; i < 2; i++)
		pasta_toolset_free(parts[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(kernels_are_in_order_of_time),
		TEST(kernels_with_equal_times_are_in_order_of_names),
		TEST(shared_time_is_not_a_finding),
		TEST(top_limits_the_rows),
		TEST(an_option_that_is_not_a_number_is_refused),
		TEST(without_events_the_table_is_empty),
		TEST(merged_states_equal_one_state),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
