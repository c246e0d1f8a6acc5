/* test_toolindex.c - the access index that a tool declares and the framework owns. */
/* labels: onethread */
#include <pasta/tool.h>

#include "unit/accesstest.h"

#include "process/sdk/toolindex.h"

struct state {
	struct pasta_access_index *accesses;
	struct pasta_group *kernels;
};

struct kernel {
	struct {
		uint32_t name;
	} key;
	uint64_t loads;
};

static const struct pasta_member members[] = {
	PASTA_MEMBER(NAME, struct kernel, key.name, .column = "kernel"),
	PASTA_MEMBER(SUM, struct kernel, loads, .column = "loads"),
	{0},
};
static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct state, kernels, struct kernel, members, .table = "kernels"),
	{0},
};
static struct pasta_access_index_def accesses =
	PASTA_ACCESS_INDEX(struct state, accesses, PASTA_REDUCER_MASK(OBJECT));

static int add(void *ctx, const struct pasta_access_shape *shape,
	       const struct pasta_access_row *row)
{
	struct kernel *k = PASTA_ROW(((struct state *)ctx)->kernels, struct kernel, shape->name);

	pasta_access_add_to(&k->loads, row->loads);
	return 0;
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	const struct state *s = state;

	pasta_access_index_rows(s->accesses, PASTA_REDUCER_OBJECT, add, state);
	return pasta_out_groups(out, state, err);
}

/* Neither open, event, merge nor close. */
PASTA_TOOL(.name = "book", .summary = "a test", .state_size = sizeof(struct state),
	   .report = report, .flags = PASTA_TOOL_SHARDED, .groups = groups, .accesses = &accesses);

static void send_run(void)
{
	send_buffer(16, 0xa, 0x10000, 100);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_row(1, "k", PASTA_REDUCER_OBJECT, 16, 7, 0, 28, 0);
	send_row(1, "k", PASTA_REDUCER_PAGE, 0x10000, 100, 0, 400, 0);
	send_access_launch(PASTA_ACCESS_LAUNCH_SAMPLED, 2, "k", 5, NULL);
}

static void an_index_receives_all_events_and_stores_the_requested_rows(void **state)
{
	send_run();
	assert_int_equal(finish(), 0);
	assert_string_equal(table("kernels"), "k 14\n");
}

static void an_index_of_some_kinds_receives_no_others(void **state)
{
	teardown(state);
	accesses.kinds = PASTA_MASK(ACCESS_LAUNCH);
	setup(state);
	send_run();
	assert_int_equal(finish(), 0);
	accesses.kinds = 0;
	assert_string_equal(table("kernels"), "");
}

static void indexes_of_shards_are_merged(void **state)
{
	r_count = 0;
	deliver = r_store;
	for (now_proc = 0; now_proc < R_PROCS; now_proc++)
		send_run();
	now_proc = 0;
	deliver = send_event;
	merged(1, 0, 2);
	assert_string_equal(table("kernels"), "k 42\n");
}

static void a_declaration_that_cannot_be_is_refused_with_its_reason(void **state)
{
	struct pasta_tool tool = pasta_tool_;
	struct pasta_access_index_def def = accesses;
	struct pasta_error err = {0};

	assert_int_equal(pasta_toolindex_check(&tool, &err), 0);
	tool.accesses = &def;
	def.state_offset = sizeof(struct state);
	assert_int_equal(pasta_toolindex_check(&tool, &err), -EINVAL);
	assert_non_null(strstr(err.text, "outside of the tool's state"));
	def = accesses;
	def.reducers = 1u << PASTA_REDUCER_COUNT;
	assert_int_equal(pasta_toolindex_check(&tool, &err), -EINVAL);
	assert_non_null(strstr(err.text, "an unknown reducer"));
	def = accesses;
	def.size = 0;
	assert_int_equal(pasta_toolindex_check(&tool, &err), -EINVAL);
	assert_non_null(strstr(err.text, "declare its access index with PASTA_ACCESS_INDEX"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_index_receives_all_events_and_stores_the_requested_rows),
		TEST(an_index_of_some_kinds_receives_no_others),
		TEST(indexes_of_shards_are_merged),
		TEST(a_declaration_that_cannot_be_is_refused_with_its_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
