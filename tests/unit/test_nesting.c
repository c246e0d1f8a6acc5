/* test_nesting.c - shards made by hand: what is open on a thread, and where work belongs. */
#include "unit/made.h"

#include "sink/nesting.h"

static const char *const names[] = {"outer", "inner", "op"};
enum { OUTER = 1, INNER, OP, NAMES = OP };

static void put_scope(const struct pasta_nesting_scope *s, char *text, size_t size)
{
	if (s->up)
		put_scope(s->up, text, size);
	snprintf(text + strlen(text), size - strlen(text), "/%s", pasta_str(s->name));
}

/* All events, a line each: what it is, its time, and where it is. */
static const char *transcript(void)
{
	static char text[4096];
	struct pasta_stream *s = open_stream(made_shard(names, NAMES));
	struct pasta_nesting *n = pasta_nesting_new(s);
	const struct pasta_nesting_where *w;
	const struct pasta_event *ev;

	text[0] = '\0';
	assert_non_null(n);
	while ((ev = pasta_nesting_next(n, &w))) {
		size_t at = strlen(text);

		snprintf(text + at, sizeof(text) - at, "%s%s %d ", pasta_kind_name(ev->kind),
			 ev->kind != PASTA_REGION	 ? ""
			 : ev->sub == PASTA_REGION_BEGIN ? " begin"
			 : ev->sub == PASTA_REGION_END	 ? " end"
							 : " mark",
			 (int)(ev->time - REAL_0));
		if (w->scope)
			put_scope(w->scope, text, sizeof(text));
		at = strlen(text);
		if (w->launch_time)
			snprintf(text + at, sizeof(text) - at, " launched %d",
				 (int)(w->launch_time - REAL_0));
		at = strlen(text);
		if (w->iteration != UINT64_MAX)
			snprintf(text + at, sizeof(text) - at, " in %d", (int)w->iteration);
		at = strlen(text);
		if (w->op_id)
			snprintf(text + at, sizeof(text) - at, " op %d", (int)w->op_id);
		strcat(text, "\n");
	}
	assert_false(pasta_nesting_failed(n));
	pasta_nesting_free(n);
	pasta_stream_free(s);
	return text;
}

static void ends_have_the_scope_of_their_begin(void **state)
{
	(void)state;
	add_region(PASTA_REGION_BEGIN, 1, OUTER, 1);
	add_op(true, 2, 5, OP);
	add_region(PASTA_REGION_BEGIN, 3, INNER, 2);
	add_region(PASTA_REGION_MARK, 4, INNER, 0);
	add_region(PASTA_REGION_END, 5, 0, 2);
	add_op(false, 6, 5, 0);
	add_region(PASTA_REGION_END, 7, 0, 1);
	assert_string_equal(transcript(), "region begin 1 /outer\n"
					  "op_begin 2 /outer/op op 5\n"
					  "region begin 3 /outer/op/inner op 5\n"
					  "region mark 4 /outer/op/inner op 5\n"
					  "region end 5 /outer/op/inner op 5\n"
					  "op_end 6 /outer/op op 5\n"
					  "region end 7 /outer\n");
}

static void an_end_that_is_missing_comes_with_the_one_around_it(void **state)
{
	(void)state;
	add_region(PASTA_REGION_BEGIN, 1, OUTER, 0);
	add_region(PASTA_REGION_BEGIN, 2, INNER, 0);
	add_op(true, 3, 5, OP);
	add_region(PASTA_REGION_END, 4, OUTER, 0);
	add_op(false, 5, 5, 0);
	assert_string_equal(transcript(), "region begin 1 /outer\n"
					  "region begin 2 /outer/inner\n"
					  "op_begin 3 /outer/inner/op op 5\n"
					  "op_end 4 /outer/inner/op op 5\n"
					  "region end 4 /outer/inner\n"
					  "region end 4 /outer\n");
}

static void an_end_without_a_begin_is_left_out(void **state)
{
	(void)state;
	add_region(PASTA_REGION_END, 1, 0, 0);
	add_op(false, 2, 9, 0);
	add_region(PASTA_REGION_BEGIN, 3, OUTER, 1);
	add_region(PASTA_REGION_END, 4, 0, 2); /* of one below, whose begin was dropped */
	add_region(PASTA_REGION_END, 5, INNER, 0);
	add_region(PASTA_REGION_END, 6, 0, 1);
	assert_string_equal(transcript(), "region begin 3 /outer\n"
					  "region end 6 /outer\n");
}

static void a_begin_ends_what_is_as_deep_as_itself(void **state)
{
	(void)state;
	add_region(PASTA_REGION_BEGIN, 1, OUTER, 1);
	add_region(PASTA_REGION_BEGIN, 2, INNER, 2);
	add_region(PASTA_REGION_BEGIN, 3, INNER, 2);
	add_region(PASTA_REGION_MARK, 4, OUTER, 1);
	assert_string_equal(transcript(), "region begin 1 /outer\n"
					  "region begin 2 /outer/inner\n"
					  "region end 3 /outer/inner\n"
					  "region begin 3 /outer/inner\n"
					  "region end 4 /outer/inner\n"
					  "region end 4 /outer\n"
					  "region mark 4 \n");
}

static void work_belongs_where_it_was_launched(void **state)
{
	(void)state;
	add(PASTA_ITERATION, 0, 1)->iteration.index = 3;
	add_region(PASTA_REGION_BEGIN, 2, OUTER, 1);
	add_op(true, 3, 5, OP);
	add_launch(4, 77);
	add_op(false, 5, 5, 0);
	add_region(PASTA_REGION_END, 6, 0, 1);
	add(PASTA_ITERATION, 0, 7)->iteration.index = 4;
	add_kernel(8, 1, 77);
	add_kernel(9, 1, 77); /* a launch starts one thing */
	add_kernel(10, 1, 78);
	assert_string_equal(transcript(), "iteration 1  in 3\n"
					  "region begin 2 /outer in 3\n"
					  "op_begin 3 /outer/op in 3 op 5\n"
					  "launch 4 /outer/op in 3 op 5\n"
					  "op_end 5 /outer/op op 5\n"
					  "region end 6 /outer\n"
					  "iteration 7  in 4\n"
					  "kernel 8 /outer/op launched 4 in 3 op 5\n"
					  "kernel 9 \n"
					  "kernel 10 \n");
}

static void all_nodes_of_a_graph_belong_to_its_launch(void **state)
{
	(void)state;
	add_region(PASTA_REGION_BEGIN, 1, OUTER, 1);
	add_launch(2, 77);
	add_kernel(3, 1, 77)->node = 1;
	add_kernel(4, 1, 77)->node = 2;
	assert_string_equal(transcript(), "region begin 1 /outer\n"
					  "launch 2 /outer\n"
					  "kernel 3 /outer launched 2\n"
					  "kernel 4 /outer launched 2\n");
}

static void threads_nest_on_their_own(void **state)
{
	(void)state;
	add_region(PASTA_REGION_BEGIN, 1, OUTER, 1);
	add_region(PASTA_REGION_BEGIN, 2, INNER, 1);
	made[made_count - 1].tid = 8;
	add_region(PASTA_REGION_END, 3, 0, 0);
	add_region(PASTA_REGION_END, 4, 0, 0);
	made[made_count - 1].tid = 8;
	assert_string_equal(transcript(), "region begin 1 /outer\n"
					  "region begin 2 /inner\n"
					  "region end 3 /outer\n"
					  "region end 4 /inner\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ends_have_the_scope_of_their_begin),
		TEST(an_end_that_is_missing_comes_with_the_one_around_it),
		TEST(an_end_without_a_begin_is_left_out),
		TEST(a_begin_ends_what_is_as_deep_as_itself),
		TEST(work_belongs_where_it_was_launched),
		TEST(all_nodes_of_a_graph_belong_to_its_launch),
		TEST(threads_nest_on_their_own),
	};

	return cmocka_run_group_tests_name("nesting", tests, NULL, NULL);
}
