/* test_kernel_freq.c - tests tool kernel_freq with made-up events. */
/* labels: onethread */
#include "../../tools/kernel_freq.c"

#include "unit/tooltest.h"

#include "process/join/launchtable.h"

static void send_shape(const char *name, uint32_t x, uint32_t y, uint32_t block, uint64_t dur)
{
	struct pasta_event ev = kernel_event(0, 1, 0, name, dur);

	ev.kernel.grid_x = x;
	ev.kernel.grid_y = y;
	ev.kernel.block_x = block;
	ev.kernel.block_y = ev.kernel.block_z = block ? 1 : 0;
	send_event(&ev);
}

static void kernels_are_by_name_the_longest_first(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 10; i++) {
		send_launch(0, 1, 10 * i, i, "small");
		send_kernel(0, 10 * i + 5, i, "small", i);
	}
	send_launch(0, 1, 200, 11, "big");
	send_kernel(0, 201, 11, "big", 45);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("kernels"), "small 10 55 5 1 10 5 10 10 55.00\n"
					      "big 1 45 45 45 45 45 45 45 45.00\n");
	assert_string_equal(finding(0), "");
}

static void shapes_are_apart_and_a_block_of_0_is_auto(void **state)
{
	(void)state;
	send_shape("a", 8, 1, 64, 10);
	send_shape("a", 8, 1, 64, 30);
	send_shape("a", 1, 8, 64, 7);
	send_shape("a", 8, 1, 0, 6);
	send_shape("b", 8, 1, 64, 5);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("kernels_by_shape"), "a 8,1,1 64,1,1 2 40 20 10 30\n"
						       "a 1,8,1 64,1,1 1 7 7 7 7\n"
						       "a 8,1,1 auto 1 6 6 6 6\n"
						       "b 8,1,1 64,1,1 1 5 5 5 5\n");
}

static void a_launch_without_a_record_counts_and_is_reported(void **state)
{
	(void)state;
	send_launch(0, 1, 10, 1, "k");
	send_launch(0, 1, 11, 2, "k");
	send_launch(0, 1, 12, 3, "gone");
	send_kernel(0, 20, 1, "k", 100);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("kernels"), "k 2 100 100 100 100 100 100 100 100.00\n"
					      "gone 1 - - - - - - - -\n");
	assert_string_equal(finding(0), "launches without a record of their kernel: 2");
}

static void records_alone_count_and_so_do_those_of_launches_without_a_name(void **state)
{
	(void)state;
	send_kernel(0, 20, 1, "k", 1);
	send_kernel(0, 30, 2, "k", 1);
	send_launch(0, 1, 40, 3, NULL); /* a kernel's */
	send_launch(0, 1, 50, 4, NULL); /* a copy's */
	send_kernel(0, 45, 3, NULL, 1);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("kernels"), "k 2 2 1 1 1 1 1 1 66.67\n"
					      "(unnamed) 1 1 1 1 1 1 1 1 33.33\n");
	assert_string_equal(finding(0), "");
}

static void a_record_before_its_launch_is_joined(void **state)
{
	(void)state;
	send_kernel(0, 10, 1, "k", 1);
	send_launch(0, 1, 11, 1, "k");
	send_kernel(1, 12, 2, "k", 1); /* in another process */
	send_launch(0, 1, 13, 2, "k");
	assert_int_equal(finish(), 0);
	assert_string_equal(table("kernels"), "k 3 2 1 1 1 1 1 1 100.00\n");
	assert_string_equal(finding(0), "launches without a record of their kernel: 1");
}

static void every_node_of_a_graph_is_an_execution(void **state)
{
	struct pasta_event launch = EVENT(launch, LAUNCH, 0, 1, 10);

	(void)state;
	launch.launch.corr = 5;
	launch.launch.graph = 77;
	launch.launch.name = id("graph");
	send_event(&launch);
	for (uint64_t node = 1; node <= 3; node++) {
		struct pasta_event ev = kernel_event(0, 10 + node, 5, "k", 2);

		ev.kernel.node = node;
		send_event(&ev);
	}
	assert_int_equal(finish(), 0);
	assert_string_equal(table("kernels"), "k 3 6 2 2 2 2 2 2 100.00\n");
	assert_string_equal(finding(0), "");
}

static void send_process(uint32_t proc, uint64_t time, uint64_t kinds)
{
	struct pasta_event ev = EVENT(process, PROCESS, proc, 0, time);

	ev.process.kinds = kinds;
	send_event(&ev);
}

static void send_region(uint64_t time, unsigned int sub, const char *name)
{
	struct pasta_event ev = EVENT(region, REGION, 0, 1, time);

	ev.sub = (uint8_t)sub;
	ev.region.name = id(name);
	send_event(&ev);
}

static void launches_of_a_process_without_kernels_count_by_name_and_origin(void **state)
{
	(void)state;
	send_process(0, 9, PASTA_MASK(LAUNCH));
	send_launch(0, 1, 10, 1, "k");
	send_region(12, PASTA_REGION_BEGIN, "step");
	send_launch(0, 1, 13, 2, "k");
	send_launch(0, 1, 14, 3, "k");
	send_launch(0, 1, 15, 4, "rare");
	send_launch(0, 1, 16, 5, NULL); /* a copy's */
	send_region(17, PASTA_REGION_END, NULL);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("kernels"), "k 3 - - - - - - - -\n"
					      "rare 1 - - - - - - - -\n");
	assert_string_equal(table("launches_by_origin"), "k step  2\n"
							 "k   1\n"
							 "rare step  1\n");
	assert_string_equal(finding(0), "");
}

static void one_process_counts_and_another_that_records_kernels_misses_some(void **state)
{
	(void)state;
	send_process(0, 1, PASTA_MASK(LAUNCH));
	send_process(1, 2, PASTA_MASK(LAUNCH) | PASTA_MASK(KERNEL));
	send_launch(0, 1, 10, 1, "k");
	send_launch(1, 1, 11, 1, "k");
	send_launch(1, 1, 12, 2, "k");
	send_kernel(1, 20, 1, "k", 100);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("kernels"), "k 3 100 100 100 100 100 100 100 100.00\n");
	assert_string_equal(table("launches_by_origin"), "k   1\n");
	assert_string_equal(finding(0), "launches without a record of their kernel: 1");
}

static void a_process_that_records_kernels_has_no_table_of_origins(void **state)
{
	(void)state;
	send_process(0, 1, PASTA_MASK(LAUNCH) | PASTA_MASK(KERNEL));
	send_launch(0, 1, 10, 1, "k");
	send_kernel(0, 20, 1, "k", 100);
	assert_int_equal(finish(), 0);
	assert_null(table("launches_by_origin"));
}

static void send_work(uint64_t time, uint64_t corr, const char *name, uint32_t work)
{
	struct pasta_event ev = EVENT(launch, LAUNCH, 0, 1, time);

	ev.launch.corr = corr;
	ev.launch.name = id(name);
	ev.launch.work = work;
	send_event(&ev);
}

static void a_kernel_whose_launch_has_no_name_is_unnamed_and_copies_are_not_kernels(void **state)
{
	(void)state;
	send_work(10, 1, NULL, PASTA_LAUNCH_WORK_KERNEL);
	send_work(11, 2, NULL, PASTA_LAUNCH_WORK_COPY);
	send_work(12, 3, "fill", PASTA_LAUNCH_WORK_FILL);
	send_work(13, 4, NULL, PASTA_LAUNCH_WORK_GRAPH);
	send_work(14, 5, NULL, PASTA_LAUNCH_WORK_HOST);
	send_work(15, 6, NULL, PASTA_LAUNCH_WORK_KERNEL);
	send_kernel(0, 20, 6, "k", 100);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("kernels"), "k 1 100 100 100 100 100 100 100 100.00\n"
					      "(unnamed) 1 - - - - - - - -\n");
	assert_string_equal(finding(0), "launches without a record of their kernel: 1");
}

static void a_record_that_comes_after_its_launch_expired_counts_once(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= PASTA_LAUNCHTABLE_MAX + 2; i++)
		send_launch(0, 1, i, i, "k");
	send_kernel(0, PASTA_LAUNCHTABLE_MAX + 3, 1, "k", 100);
	assert_int_equal(finish(), 0);
	assert_int_equal(pasta_table_cell(table_of("kernels"), 0, 1)->i, PASTA_LAUNCHTABLE_MAX + 2);
	assert_int_equal(pasta_table_cell(table_of("kernels"), 0, 2)->i, 100);
}

/* -- Against a simple recount -- */

enum { NAMES = 5, SHARDS = 3, CORRS = 400 };
static const char *const texts[NAMES] = {"a", "b", "c", "d", "e"};

static void launches_equal_a_recount(void **state)
{
	uint64_t launches[NAMES] = {0}, totals[NAMES] = {0};

	(void)state;
	for (uint64_t i = 0; i < SHARDS * CORRS; i++) {
		uint32_t proc = (uint32_t)(i % SHARDS);
		size_t name = random_below(NAMES);
		struct pasta_event launch = EVENT(launch, LAUNCH, proc, 1, i);
		struct pasta_event kernel =
			kernel_event(proc, i, i / SHARDS + 1, texts[name], random_below(100));
		unsigned int what = (unsigned int)random_below(5);

		launch.launch.corr = i / SHARDS + 1;
		launch.launch.name = id(texts[name]);
		kernel.kernel.grid_x = 1 + (uint32_t)random_below(3);
		if (what < 3) /* launch and kernel; launch only; kernel before its launch */
			for (unsigned int half = 0; half < (what == 1 ? 1 : 2); half++) {
				const struct pasta_event *ev =
					(half ^ (what == 2)) ? &kernel : &launch;

				send_event(ev);
			}
		else
			send_event(&kernel);
		launches[name]++;
		totals[name] += what == 1 ? 0 : kernel.kernel.dur;
	}
	assert_int_equal(finish(), 0);
	for (size_t row = 0; row < NAMES; row++) {
		const struct pasta_table *t = table_of("kernels");
		size_t name = (size_t)(pasta_table_cell(t, row, 0)->s[0] - 'a');

		assert_property(pasta_table_cell(t, row, 1)->i == (int64_t)launches[name]);
		assert_property(pasta_table_cell(t, row, 2)->i == (int64_t)totals[name]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(kernels_are_by_name_the_longest_first),
		TEST(shapes_are_apart_and_a_block_of_0_is_auto),
		TEST(a_launch_without_a_record_counts_and_is_reported),
		TEST(records_alone_count_and_so_do_those_of_launches_without_a_name),
		TEST(a_record_before_its_launch_is_joined),
		TEST(every_node_of_a_graph_is_an_execution),
		TEST(launches_of_a_process_without_kernels_count_by_name_and_origin),
		TEST(one_process_counts_and_another_that_records_kernels_misses_some),
		TEST(a_process_that_records_kernels_has_no_table_of_origins),
		TEST(a_kernel_whose_launch_has_no_name_is_unnamed_and_copies_are_not_kernels),
		TEST(a_record_that_comes_after_its_launch_expired_counts_once),
		TEST(launches_equal_a_recount),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
