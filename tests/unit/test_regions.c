/* test_regions.c - tests tool regions with made-up events. */
/* labels: onethread */
#include "../../tools/regions.c"

#include "unit/tooltest.h"

static void region(uint32_t proc, uint32_t tid, uint64_t time, unsigned int sub, const char *name)
{
	struct pasta_event ev = {.size = PASTA_EVENT_SIZE(region),
				 .kind = PASTA_KIND_REGION,
				 .sub = (uint8_t)sub,
				 .tid = tid,
				 .proc = proc,
				 .time = time};

	ev.region.name = id(name);
	send_event(&ev);
}

#define B PASTA_REGION_BEGIN
#define E PASTA_REGION_END
#define M PASTA_REGION_MARK

static void iter(uint32_t proc, uint64_t time, uint64_t index)
{
	struct pasta_event ev = {.size = PASTA_EVENT_SIZE(iteration),
				 .kind = PASTA_KIND_ITERATION,
				 .tid = 99,
				 .proc = proc,
				 .time = time};

	ev.iteration.index = index;
	send_event(&ev);
}

static void times_are_inclusive_and_exclusive_by_path(void **state)
{
	region(0, 1, 0, B, "train");
	region(0, 1, 10, B, "forward");
	region(0, 1, 30, E, NULL);
	region(0, 1, 40, B, "backward");
	region(0, 1, 90, E, NULL);
	region(0, 1, 90, B, "forward");
	region(0, 1, 95, E, NULL);
	region(0, 1, 100, E, NULL);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("regions"), "train 1 100 25 100 100 100 0 0 0\n"
					      "train/backward 1 50 50 50 50 50 0 0 0\n"
					      "train/forward 2 25 25 12 5 20 0 0 0\n");
	assert_null(table("regions_by_iteration"));
	assert_null(table("marks"));
	assert_int_equal(result.outs[0]->finding_count, 0);
}

static void threads_and_processes_are_apart_while_open_and_added_up_after(void **state)
{
	region(0, 1, 0, B, "a");
	region(0, 2, 1, B, "b");
	region(1, 1, 2, B, "b");
	region(0, 1, 10, E, NULL);
	region(0, 2, 11, E, NULL);
	region(1, 1, 12, E, NULL);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("regions"), "b 2 20 20 10 10 10 0 0 0\n"
					      "a 1 10 10 10 10 10 0 0 0\n");
}

static void an_end_with_a_name_ends_what_is_above_it(void **state)
{
	region(0, 1, 0, B, "a");
	region(0, 1, 10, B, "b");
	region(0, 1, 20, E, "a");
	region(0, 1, 30, E, "b");
	region(0, 1, 40, E, "b");
	assert_int_equal(finish(), 0);
	assert_string_equal(table("regions"),
			    "a 1 20 10 20 20 20 0 0 0\na/b 1 10 10 10 10 10 0 0 0\n");
	assert_int_equal(result.outs[0]->finding_count, 2);
	assert_string_equal(result.outs[0]->findings[0].what, "region ends without a begin: 1");
	assert_string_equal(result.outs[0]->findings[1].what,
			    "regions that did not end before their enclosing region: 1");
}

static void what_never_ended_lasts_until_the_last_event_of_its_process(void **state)
{
	region(0, 1, 0, B, "a");
	region(0, 1, 10, B, "b");
	region(0, 2, 50, M, "tick");
	region(1, 1, 900, M, "tick");
	assert_int_equal(finish(), 0);
	assert_string_equal(table("regions"),
			    "a 1 50 10 50 50 50 1 0 0\na/b 1 40 40 40 40 40 1 0 0\n");
	assert_string_equal(table("marks"), "tick  2\n");
	assert_string_equal(result.outs[0]->findings[0].what, "regions that never ended: 2");
}

static void an_end_without_a_begin_is_counted(void **state)
{
	region(0, 1, 5, E, NULL);
	region(0, 1, 6, E, "x");
	region(0, 1, 7, B, "y");
	region(0, 1, 8, E, "x");
	region(0, 1, 9, E, "y");
	assert_int_equal(finish(), 0);
	assert_string_equal(table("regions"), "y 1 2 2 2 2 2 0 0 0\n");
	assert_string_equal(result.outs[0]->findings[0].what, "region ends without a begin: 3");
}

static void a_region_belongs_to_the_iteration_of_its_process_in_which_it_began(void **state)
{
	region(0, 1, 0, B, "setup");
	iter(0, 10, 7);
	region(0, 1, 10, E, NULL);
	region(0, 2, 20, B, "step");
	region(1, 2, 21, B, "step");
	iter(0, 30, 8);
	region(0, 2, 40, E, NULL);
	region(0, 2, 50, B, "step");
	region(0, 2, 60, E, NULL);
	iter(1, 70, 8);
	region(1, 2, 70, E, NULL);
	region(1, 2, 80, B, "step");
	region(1, 2, 85, E, NULL);
	iter(0, 90, 7);
	region(0, 2, 90, B, "step");
	region(0, 2, 91, B, "part");
	region(0, 2, 92, E, NULL);
	region(0, 2, 95, E, NULL);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("regions_by_iteration"), "7 step 2 25 24\n"
							   "7 step/part 1 1 1\n"
							   "8 step 2 15 15\n");
}

static void marks_are_counted_where_they_are(void **state)
{
	region(0, 1, 0, B, "a");
	region(0, 1, 1, M, "m");
	region(0, 1, 2, M, "m");
	region(0, 1, 3, E, NULL);
	region(0, 1, 4, M, "m");
	assert_int_equal(finish(), 0);
	assert_string_equal(table("marks"), "m  1\nm a 2\n");
}

static void recursion_is_a_path_of_its_own(void **state)
{
	region(0, 1, 0, B, "f");
	region(0, 1, 1, B, "f");
	region(0, 1, 2, B, NULL);
	region(0, 1, 3, E, NULL);
	region(0, 1, 4, E, "f");
	region(0, 1, 9, E, "f");
	assert_int_equal(finish(), 0);
	assert_string_equal(
		table("regions"),
		"f 1 9 6 9 9 9 0 0 0\nf/f 1 3 2 3 3 3 0 0 0\nf/f/(unnamed) 1 1 1 1 1 1 0 0 0\n");
}

static void ten_thousand_deep_is_fine_and_readable(void **state)
{
	enum { DEPTH = 10000 };
	const struct pasta_table *t;
	uint64_t i;

	for (i = 0; i < DEPTH; i++)
		region(0, 1, i, B, "deep");
	for (i = 0; i < DEPTH; i++)
		region(0, 1, DEPTH + i, E, NULL);
	assert_int_equal(finish(), 0);
	t = result.outs[0]->tables[0];
	assert_int_equal(pasta_table_rows(t), DEPTH);
	assert_int_equal(pasta_table_cell(t, 0, 2)->i, 2 * DEPTH - 1);
	assert_int_equal(pasta_table_cell(t, DEPTH - 1, 2)->i, 1);
	assert_int_equal(strlen(pasta_table_cell(t, 62, 0)->s), 63 * 5 - 1);
	assert_non_null(strstr(pasta_table_cell(t, 63, 0)->s, "/deep/…(1)…/deep/"));
	assert_non_null(strstr(pasta_table_cell(t, DEPTH - 1, 0)->s, "/deep/…(9937)…/deep/"));
}

static void time_that_runs_backwards_is_never_negative(void **state)
{
	region(0, 1, 100, B, "a");
	region(0, 1, 50, B, "b");
	region(0, 1, 200, E, NULL);
	region(0, 1, 90, E, NULL);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("regions"),
			    "a 1 0 0 0 0 0 0 0 0\na/b 1 150 150 150 150 150 0 0 0\n");
}

static void send_copy(uint64_t time, uint64_t corr, uint64_t node, uint64_t dur)
{
	struct pasta_event ev = EVENT(copy, COPY, 0, 1, time);

	ev.copy.corr = corr;
	ev.copy.node = node;
	ev.copy.dur = dur;
	send_event(&ev);
}

static void device_time_belongs_to_the_region_of_the_launch(void **state)
{
	struct pasta_event fill = EVENT(set, SET, 0, 1, 70);

	(void)state;
	region(0, 1, 0, B, "a");
	send_launch(0, 1, 5, 1, "k");
	region(0, 1, 10, B, "b");
	send_launch(0, 1, 15, 2, NULL);
	send_launch(0, 2, 16, 3, "k"); /* another thread: outside of all regions */
	region(0, 1, 20, E, NULL);
	region(0, 1, 30, E, NULL);
	send_kernel(0, 40, 1, "k", 100);
	send_copy(50, 2, 0, 1000);
	send_kernel(0, 60, 3, "k", 7);
	fill.set.corr = 9;
	fill.set.dur = 1;
	send_event(&fill);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("regions"), "a 1 30 20 30 30 30 0 1100 100\n"
					      "a/b 1 10 10 10 10 10 0 1000 1000\n");
	assert_string_equal(finding(0), "launches outside of all regions: 1");
	assert_string_equal(finding(1), "device work without a known launch: 1");
}

static void work_before_its_launch_is_joined_in_its_own_process(void **state)
{
	(void)state;
	region(0, 1, 0, B, "a");
	send_kernel(0, 5, 1, "k", 100);
	send_kernel(1, 5, 1, "k", 5000);
	send_launch(0, 1, 6, 1, "k");
	send_launch(1, 1, 7, 1, "k");
	/* The id occurs again, much later. */
	send_launch(0, 1, 8, 1, "k");
	send_kernel(0, 9, 1, "k", 10);
	region(0, 1, 10, E, NULL);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("regions"), "a 1 10 10 10 10 10 0 110 110\n");
	assert_string_equal(finding(0), "launches outside of all regions: 1");
	assert_string_equal(finding(1), "");
}

static void every_node_of_a_graph_is_its_launchs(void **state)
{
	struct pasta_event ev = kernel_event(0, 4, 1, "k", 100);

	(void)state;
	region(0, 1, 0, B, "a");
	ev.kernel.node = 1;
	send_event(&ev); /* before its launch */
	send_launch(0, 1, 5, 1, NULL);
	region(0, 1, 10, E, NULL);
	ev.kernel.node = 2;
	send_event(&ev);
	send_copy(12, 1, 3, 10);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("regions"), "a 1 10 10 10 10 10 0 210 210\n");
	assert_string_equal(finding(0), "");
}

/* Returns the inclusive device time of a path. */
static uint64_t device_of(const char *path)
{
	const struct pasta_table *t = table_of("regions");

	for (size_t row = 0; row < pasta_table_rows(t); row++)
		if (!strcmp(pasta_table_cell(t, row, 0)->s, path))
			return (uint64_t)pasta_table_cell(t, row, 8)->i;
	return 0;
}

/* Random nests of regions on two threads, launches in them, work in any order after or before. */
static void device_time_equals_a_recount_by_path(void **state)
{
	enum { LAUNCHES = 2000, DEPTH = 3 };
	static const char *const names[] = {"x", "y"};
	uint64_t self[2][2][2] = {{{0}}};
	unsigned int open[2][DEPTH] = {{0}}, depth[2] = {0};
	char path[16];

	(void)state;
	for (uint64_t i = 0; i < LAUNCHES; i++) {
		unsigned int tid = (unsigned int)random_below(2), early = random_below(4) == 0;
		uint64_t ns = random_below(1000);

		while (depth[tid] < DEPTH) {
			unsigned int name = (unsigned int)random_below(2);

			open[tid][depth[tid]++] = name;
			region(0, tid, i, B, names[name]);
		}
		self[open[tid][0]][open[tid][1]][open[tid][2]] += ns;
		if (early)
			send_kernel(0, i, i + 1, "k", ns);
		send_launch(0, tid, i, i + 1, "k");
		if (!early)
			send_kernel(0, i, i + 1, "k", ns);
		for (unsigned int ends = 1 + (unsigned int)random_below(DEPTH); ends; ends--) {
			depth[tid]--;
			region(0, tid, i, E, NULL);
		}
	}
	assert_int_equal(finish(), 0);
	for (unsigned int i = 0; i < 8; i++) {
		const uint64_t *pair = self[i >> 2][i >> 1 & 1];

		snprintf(path, sizeof(path), "%s/%s/%s", names[i >> 2], names[i >> 1 & 1],
			 names[i & 1]);
		assert_property(device_of(path) == pair[i & 1]);
		path[3] = '\0';
		assert_property(device_of(path) == pair[0] + pair[1]);
	}
}

static void the_table_by_iteration_can_be_left_out(void **state)
{
	(void)state;
	start_over("regions.iterations=no");
	iter(0, 0, 1);
	region(0, 1, 1, B, "a");
	region(0, 1, 2, E, NULL);
	assert_int_equal(finish(), 0);
	assert_null(table("regions_by_iteration"));
	assert_int_equal(pasta_choice_set(&choice, "regions.iterations=maybe", NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(times_are_inclusive_and_exclusive_by_path),
		TEST(threads_and_processes_are_apart_while_open_and_added_up_after),
		TEST(an_end_with_a_name_ends_what_is_above_it),
		TEST(what_never_ended_lasts_until_the_last_event_of_its_process),
		TEST(an_end_without_a_begin_is_counted),
		TEST(a_region_belongs_to_the_iteration_of_its_process_in_which_it_began),
		TEST(marks_are_counted_where_they_are),
		TEST(recursion_is_a_path_of_its_own),
		TEST(ten_thousand_deep_is_fine_and_readable),
		TEST(time_that_runs_backwards_is_never_negative),
		TEST(device_time_belongs_to_the_region_of_the_launch),
		TEST(work_before_its_launch_is_joined_in_its_own_process),
		TEST(every_node_of_a_graph_is_its_launchs),
		TEST(device_time_equals_a_recount_by_path),
		TEST(the_table_by_iteration_can_be_left_out),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
