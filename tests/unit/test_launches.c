/* test_launches.c - the smallest whole tool there is, as the house style shows it. */
/* labels: onethread */
#include <pasta/pasta.h>

struct launches {
	struct pasta_topk *names;
};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	struct launches *l = state;

	l->names = pasta_topk_new(0);
	return l->names ? 0 : pasta_fail(err, -ENOMEM, "launches: out of memory");
}

static void on_event(void *state, const struct pasta_event *ev)
{
	struct launches *l = state;

	pasta_topk_add(l->names, ev->kernel.name, 1);
}

static void merge(void *into, const void *from)
{
	pasta_topk_merge(((struct launches *)into)->names, ((const struct launches *)from)->names);
}

static int report(void *state, struct pasta_out *out)
{
	struct launches *l = state;

	return pasta_out_topk(out, "launches", "kernel", l->names);
}

static void close_(void *state)
{
	pasta_topk_free(((struct launches *)state)->names);
}

PASTA_TOOL(.name = "launches", .summary = "count kernel launches by name",
	   .events = PASTA_MASK(KERNEL), .state_size = sizeof(struct launches), .open = open_,
	   .event = on_event, .merge = merge, .report = report, .close = close_);

/* What is above sees the SDK alone; what is below tests it. */
#include "unit/tooltest.h"

static void kernels_are_counted_by_name_the_most_frequent_first(void **state)
{
	(void)state;
	give_kernel(0, 1, 0, "zebra", 1);
	for (uint64_t i = 0; i < 5; i++)
		give_kernel(0, i, i, "often", 1);
	give_kernel(1, 2, 0, "ant", 1);
	give_kernel(1, 2, 0, NULL, 1);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("launches"), "often 5 62.50\n"
					       "(unnamed) 1 12.50\n"
					       "ant 1 12.50\n"
					       "zebra 1 12.50\n");
	assert_string_equal(table_of("launches")->columns[0].name, "kernel");
	assert_string_equal(table_of("launches")->columns[2].unit, "%");
	assert_string_equal(finding(0), "");
}

static void two_states_merge_into_one(void **state)
{
	struct launches a = {0}, b = {0};
	struct pasta_event ev = kernel_event(0, 1, 1, "one", 1);

	(void)state;
	assert_int_equal(open_(&a, NULL, NULL), 0);
	assert_int_equal(open_(&b, NULL, NULL), 0);
	on_event(&a, &ev);
	on_event(&b, &ev);
	ev.kernel.name = id("two");
	on_event(&b, &ev);
	merge(&a, &b);
	assert_int_equal(report(&a, result.outs[0]), 0);
	assert_string_equal(table("launches"), "one 2 66.67\ntwo 1 33.33\n");
	close_(&a);
	close_(&b);
}

static void an_empty_table_is_a_table(void **state)
{
	(void)state;
	assert_int_equal(finish(), 0);
	assert_string_equal(table("launches"), "");
}

static void a_bounded_one_says_how_far_it_may_be_off(void **state)
{
	struct pasta_topk *t = pasta_topk_new(1);

	(void)state;
	pasta_topk_add(t, id("one"), 3);
	pasta_topk_add(t, id("two"), 1);
	assert_int_equal(pasta_out_topk(result.outs[0], "launches", "kernel", t), 0);
	assert_string_equal(table("launches"), "two 4 100.00\n");
	assert_string_equal(finding(0), "counts are too high by at most 3");
	assert_string_equal(result.outs[0]->findings[0].where, "launches");
	pasta_topk_free(t);
}

static void what_was_not_added_or_is_no_string_fails_the_report(void **state)
{
	struct pasta_topk *t = pasta_topk_new(1), *other = pasta_topk_new(2);

	(void)state;
	assert_int_equal(pasta_topk_merge(t, other), -EINVAL);
	assert_int_equal(pasta_out_topk(result.outs[0], "launches", "kernel", t), -EINVAL);
	assert_null(table("launches"));
	pasta_topk_add(other, UINT64_C(1) << 32, 1);
	assert_int_equal(pasta_out_topk(result.outs[0], "launches", "kernel", other), -EINVAL);
	assert_string_equal(result.outs[0]->err.text,
			    "table launches: key 4294967296 is no interned string");
	pasta_topk_free(t);
	pasta_topk_free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(kernels_are_counted_by_name_the_most_frequent_first),
		TEST(two_states_merge_into_one),
		TEST(an_empty_table_is_a_table),
		TEST(a_bounded_one_says_how_far_it_may_be_off),
		TEST(what_was_not_added_or_is_no_string_fails_the_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
