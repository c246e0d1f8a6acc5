/* test_launches.c - the smallest complete tool, as the house style shows it. */
/* labels: onethread */
#include <pasta/tool.h>

struct kernel {
	struct {
		uint32_t name;
	} key;
	uint64_t launches;
};

struct launches {
	struct pasta_group *kernels;
};

static const struct pasta_member members[] = {
	PASTA_MEMBER(NAME, struct kernel, key.name, .column = "kernel"),
	PASTA_MEMBER(SUM, struct kernel, launches, .column = "launches"),
	PASTA_MEMBER(SHARE, struct kernel, launches, .column = "share"),
	{0},
};

static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct launches, kernels, struct kernel, members, .table = "launches",
		    .order = "-launches kernel", .limit = 3, .flags = PASTA_GROUP_REST),
	{0},
};

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	struct launches *l = state;

	PASTA_ROW(l->kernels, struct kernel, ev->kernel.name)->launches++;
}

PASTA_TOOL(.name = "launches", .summary = "count kernel launches by name",
	   .events = PASTA_MASK(KERNEL), .state_size = sizeof(struct launches), .event = on_event,
	   .flags = PASTA_TOOL_SHARDED, .groups = groups);

/* The tool above sees only the SDK; the tests follow. */
#include "unit/tooltest.h"

static void kernels_are_counted_by_name_the_most_frequent_first(void **state)
{
	send_kernel(0, 1, 0, "zebra", 1);
	for (uint64_t i = 0; i < 5; i++)
		send_kernel(0, i, i, "often", 1);
	send_kernel(1, 2, 0, NULL, 1);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("launches"), "often 5 71.43\n"
					       "(unnamed) 1 14.29\n"
					       "zebra 1 14.29\n");
	assert_string_equal(table_of("launches")->columns[0].name, "kernel");
	assert_string_equal(table_of("launches")->columns[2].unit, "%");
	assert_string_equal(finding(0), "");
}

static void past_the_limit_the_others_are_one_row(void **state)
{
	for (uint64_t i = 0; i < 5; i++)
		send_kernel(0, i, i, "often", 1);
	send_kernel(0, 6, 6, "a", 1);
	send_kernel(0, 7, 7, "b", 1);
	send_kernel(0, 8, 8, "c", 1);
	send_kernel(0, 9, 9, "d", 1);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("launches"), "often 5 55.56\n"
					       "a 1 11.11\n"
					       "b 1 11.11\n"
					       "(2 others) 2 22.22\n");
}

static void two_states_merge_into_one(void **state)
{
	struct pasta_toolset *other = another_toolset(&result);
	struct pasta_event ev = kernel_event(0, 1, 1, "one", 1);

	pasta_toolset_event(toolset, &ev, NULL);
	pasta_toolset_event(other, &ev, NULL);
	ev.kernel.name = id("two");
	pasta_toolset_event(other, &ev, NULL);
	pasta_toolset_merge(toolset, other);
	pasta_toolset_free(other);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("launches"), "one 2 66.67\ntwo 1 33.33\n");
}

static void an_empty_table_is_a_table(void **state)
{
	assert_int_equal(finish(), 0);
	assert_string_equal(table("launches"), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(kernels_are_counted_by_name_the_most_frequent_first),
		TEST(past_the_limit_the_others_are_one_row),
		TEST(two_states_merge_into_one),
		TEST(an_empty_table_is_a_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
