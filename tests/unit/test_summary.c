/* test_summary.c - tests tool summary with made-up events: its rows, and that they fit a screen. */
/* labels: onethread */
#include "../../tools/summary.c"

#include "unit/tooltest.h"

#include "unit/sample.h"

static void send_process(uint32_t proc, const char *command, uint32_t pid, uint32_t rank,
			 uint32_t world)
{
	struct pasta_event ev = EVENT(process, PROCESS, proc, 1, 1);

	ev.process.command = id(command);
	ev.process.host = id("host");
	ev.process.pid = pid;
	ev.process.rank = rank;
	ev.process.world = world;
	send_event(&ev);
}

static void send_device(uint32_t proc, uint32_t number, const char *name, const char *arch,
			uint64_t memory)
{
	struct pasta_event ev = EVENT(device, DEVICE, proc, 1, 1);

	ev.device.id = number;
	ev.device.name = id(name);
	ev.device.vendor = id("vendor");
	ev.device.arch = id(arch);
	ev.device.memory = memory;
	send_event(&ev);
}

static void send_kernel_on(uint32_t proc, uint32_t device, uint64_t time, uint64_t corr,
			   const char *name, uint64_t dur)
{
	struct pasta_event ev = kernel_event(proc, time, corr, name, dur);

	ev.kernel.device = device;
	send_event(&ev);
}

static void send_op_at(uint32_t proc, uint64_t time, uint64_t number, const char *name,
		       uint32_t depth)
{
	struct pasta_event ev = EVENT(op_begin, OP_BEGIN, proc, 1, time);

	ev.op_begin.id = number;
	ev.op_begin.name = id(name);
	ev.op_begin.depth = depth;
	send_event(&ev);
}

static void send_op(uint32_t proc, uint64_t time, uint64_t number, const char *name)
{
	send_op_at(proc, time, number, name, 0);
}

static void send_op_end(uint32_t proc, uint64_t time, uint64_t number)
{
	struct pasta_event ev = EVENT(op_end, OP_END, proc, 1, time);

	ev.op_end.id = number;
	send_event(&ev);
}

static void send_region(uint32_t proc, unsigned int sub, uint64_t time, const char *name)
{
	struct pasta_event ev = EVENT(region, REGION, proc, 1, time);

	ev.sub = (uint8_t)sub;
	ev.region.name = id(name);
	send_event(&ev);
}

static void send_copy(unsigned int sub, uint64_t time, uint64_t bytes, uint64_t dur)
{
	struct pasta_event ev = EVENT(copy, COPY, 0, 1, time);

	ev.sub = (uint8_t)sub;
	ev.copy.bytes = bytes;
	ev.copy.dur = dur;
	send_event(&ev);
}

static void send_collective(uint32_t proc, uint64_t time, uint64_t corr, uint64_t bytes)
{
	struct pasta_event ev = EVENT(collective, COLLECTIVE, proc, 1, time);

	ev.collective.corr = corr;
	ev.collective.bytes_in = bytes;
	send_event(&ev);
}

static void send_alloc(unsigned int sub, uint32_t device, uint64_t addr, uint64_t bytes,
		       uint64_t parent)
{
	struct pasta_event ev = EVENT(alloc, ALLOC, 0, 1, 5);

	ev.sub = (uint8_t)sub;
	ev.alloc.device = device;
	ev.alloc.addr = addr;
	ev.alloc.bytes = bytes;
	ev.alloc.parent = parent;
	send_event(&ev);
}

static void send_free(uint64_t addr)
{
	struct pasta_event ev = EVENT(free, FREE, 0, 1, 6);

	ev.free.addr = addr;
	send_event(&ev);
}

static void send_counter(const char *name, uint32_t device, double value)
{
	struct pasta_event ev = EVENT(counter, COUNTER, 0, 1, 100);

	ev.counter.name = id(name);
	ev.counter.device = device;
	ev.counter.value = value;
	send_event(&ev);
}

/* -- Rows -- */

static void nothing_is_no_rows(void **state)
{
	(void)state;
	assert_int_equal(finish(), 0);
	assert_null(table_of("other"));
}

static void a_process_that_did_nothing_has_no_share(void **state)
{
	(void)state;
	send_process(0, "./a.out", 42, 0, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("other"), "process ./a.out, host-42 - 0 - -\n");
}

static void one_or_two_processes_have_a_row_each_and_more_have_one(void **state)
{
	(void)state;
	send_process(0, "python train.py", 42, 1, 2);
	send_process(1, NULL, 43, 2, 2);
	send_kernel(0, 100, 1, "k", 100);
	send_kernel(1, 150, 1, "k", 25);
	assert_int_equal(finish(), 0);
	assert_non_null(strstr(table("other"), "process python train.py, rank 0 - 100 100.00 -\n"
					       "process rank 1 - 25 25.00 -\n"
					       "device rank 0, device 0 1 100 100.00 -\n"
					       "device rank 1, device 0 1 25 25.00 -\n"));
	start_over(NULL);
	for (uint32_t i = 0; i < 6; i++)
		send_process(i, "x", i + 1, i / 2 + 1, 8);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("other"), "process 6 processes, 3 of 8 ranks - 0 - -\n");
	start_over(NULL);
	for (uint32_t i = 0; i < 3; i++)
		send_process(i, "x", i + 1, i + 1, i + 7);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("other"), "process 3 processes, 3 ranks - 0 - -\n");
}

static void a_device_is_busy_while_any_kernel_runs(void **state)
{
	(void)state;
	send_device(0, 0, "Fast", "a1", 0);
	send_kernel(0, 1000, 1, "a", 100);
	send_kernel(0, 1050, 2, "b", 100);
	send_kernel(0, 1060, 3, "b", 10);
	send_kernel(0, 1500, 4, "a", 50);
	send_copy(PASTA_COPY_H2D, 1900, 4096, 100);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("why"),
			    "program #0\n"
			    "device Fast; no steps; 1.0 us from the first to the last work\n"
			    "why Device busy 30%. Many short gaps separate the "
			    "kernels.\n"
			    "time idle 70%, compute 20%, copy 10%; idle: kernels 70%\n");
	assert_string_equal(table("kernel"), "a 2 150 57.69 -\n"
					     "b 2 110 42.31 -\n");
	assert_string_equal(table("other"), "copy h2d 1 100 10.00 4096\n");
}

static void an_unknown_device_has_a_name_only_if_all_others_have_it(void **state)
{
	(void)state;
	send_device(0, 0, "Fast", "a1", 0);
	send_device(0, 1, "Fast", "a1", 0);
	send_kernel_on(0, 0, 100, 1, "k", 100);
	send_kernel_on(0, 5, 100, 2, "k", 50);
	assert_int_equal(finish(), 0);
	assert_non_null(strstr(table("other"), "device Fast, device 0 1 100 100.00 -\n"
					       "device Fast, device 5 1 50 50.00 -\n"));
	start_over(NULL);
	send_device(0, 0, "Fast", "a1", 0);
	send_device(0, 1, "Fast", "a2", 0);
	send_kernel_on(0, 0, 100, 1, "k", 100);
	send_kernel_on(0, 5, 100, 2, "k", 50);
	assert_int_equal(finish(), 0);
	assert_non_null(strstr(table("other"), "device Fast, device 0 1 100 100.00 -\n"
					       "device device 5 1 50 50.00 -\n"));
}

static void the_busiest_devices_come_first_and_the_rest_in_one_row(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 6; i++)
		send_kernel_on(0, i, 100, i + 1, "k", 100 + 10 * i);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("other"), "device device 5 1 150 100.00 -\n"
					    "device device 4 1 140 93.33 -\n"
					    "device device 3 1 130 86.67 -\n"
					    "device and 3 more devices 3 330 73.33 -\n");
	assert_string_equal(table("kernel"), "k 6 750 100.00 -\n");
	assert_non_null(strstr(table("why"), "device 6 devices; no steps; 150 ns from"));
}

static void a_kernel_is_of_the_layer_around_its_launch(void **state)
{
	(void)state;
	send_op(0, 100, 1, "linear");
	send_launch(0, 1, 110, 1, "gemm");
	send_op(0, 120, 2, "copy");
	send_launch(0, 1, 125, 2, "copy_kernel");
	send_op_end(0, 130, 2);
	send_launch(0, 1, 135, 3, "gemm");
	send_op_end(0, 140, 1);
	send_op(0, 150, 3, "view");
	send_op_end(0, 160, 3);
	send_kernel(0, 200, 1, "gemm", 60);
	send_kernel(0, 260, 2, "copy_kernel", 30);
	send_kernel(0, 300, 3, "gemm", 60);
	send_kernel(0, 400, 4, "lost", 50);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("layer"), "linear forward 150 75.00 - - unknown\n"
					    "(no module) forward 50 25.00 - - unknown\n");
	assert_null(table_of("other"));
}

static void without_kernels_operators_have_host_self_time(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 2; i++) {
		send_op(0, 100 + 100 * i, 3 * i + 1, "linear");
		send_op(0, 110 + 100 * i, 3 * i + 2, "matmul");
		send_op_end(0, 150 + 100 * i, 3 * i + 2);
		send_op_end(0, 160 + 100 * i, 3 * i + 1);
		send_op(0, 170 + 100 * i, 3 * i + 3, "relu");
		send_op_end(0, 180 + 100 * i, 3 * i + 3);
	}
	send_region(0, PASTA_REGION_BEGIN, 290, "late");
	send_region(0, PASTA_REGION_END, 300, NULL);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("other"), "process #0 - 200 100.00 -\n"
					    "op matmul 2 80 40.00 -\n"
					    "op linear 2 40 20.00 -\n"
					    "op relu 2 20 10.00 -\n"
					    "region late 1 10 5.00 -\n");
	assert_null(table_of("why"));
}

static void operators_whose_end_is_missing_are_in_no_sum_and_a_note_counts_them(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 4; i++) {
		send_op_at(0, 100 + 100 * i, i + 1, "linear", 1);
		if (i != 1)
			send_op_end(0, 110 + 100 * i, i + 1);
	}
	assert_int_equal(finish(), 0);
	assert_non_null(strstr(table("other"), "op linear 3 30 "));
	assert_string_equal(finding(0), "operators whose end is missing: 1");
}

/* Two processes with a device each, for 1000 ns. */
static void every_share_is_of_the_run_and_of_as_many_as_the_row_is_about(void **state)
{
	const struct pasta_column *share;

	(void)state;
	send_kernel(0, 1000, 1, "k", 1000);
	send_kernel(1, 1500, 1, "k", 500);
	send_copy(PASTA_COPY_D2H, 1100, 8, 100);
	send_region(1, PASTA_REGION_BEGIN, 1500, "r");
	send_region(1, PASTA_REGION_END, 1700, NULL);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("other"), "process #0 - 1000 100.00 -\n"
					    "process #1 - 500 50.00 -\n"
					    "device device 0 1 1000 100.00 -\n"
					    "device device 0 1 500 50.00 -\n"
					    "region r 1 200 10.00 -\n"
					    "copy d2h 1 100 5.00 8\n");
	share = &table_of("other")->columns[4];
	assert_string_equal(share->name, "of_run");
	assert_string_equal(share->unit, "%");
}

static void without_operators_regions_have_host_time(void **state)
{
	static const char *const inner[] = {"a", "b", "c", "d"};

	(void)state;
	send_region(0, PASTA_REGION_BEGIN, 100, "step");
	for (uint64_t i = 0; i < 4; i++) {
		send_region(0, PASTA_REGION_BEGIN, 100 + 20 * i, inner[i]);
		send_region(0, PASTA_REGION_END, 110 + 20 * i + (i == 3), NULL);
	}
	send_region(0, PASTA_REGION_MARK, 190, "mark");
	send_region(0, PASTA_REGION_END, 200, NULL);
	send_region(0, PASTA_REGION_END, 300, NULL);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("other"), "process #0 - 200 100.00 -\n"
					    "region step 1 100 50.00 -\n"
					    "region step/d 1 11 5.50 -\n"
					    "region step/a 1 10 5.00 -\n");
}

static void the_three_directions_that_take_longest_are_there(void **state)
{
	struct pasta_event fill = EVENT(set, SET, 0, 1, 100);

	(void)state;
	send_copy(PASTA_COPY_H2D, 100, 10, 10);
	send_copy(PASTA_COPY_D2H, 100, 20, 30);
	send_copy(PASTA_COPY_D2D, 100, 30, 10);
	send_copy(200, 100, 5, 1);
	fill.set.dur = 100;
	fill.set.bytes = 7;
	send_event(&fill);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("other"), "copy set 1 100 100.00 7\n"
					    "copy d2h 1 30 30.00 20\n"
					    "copy d2d 1 10 10.00 30\n");
}

static void communication_is_exposed_where_no_other_kernel_runs(void **state)
{
	(void)state;
	send_kernel(0, 1000, 1, "gemm", 100);
	send_collective(0, 1050, 2, 4096);
	send_kernel(0, 1050, 2, "nccl", 100);
	send_kernel(0, 1180, 2, "not again", 10);
	send_collective(1, 1000, 2, 4096);
	send_kernel(1, 1000, 2, "nccl", 200);
	assert_int_equal(finish(), 0);
	assert_non_null(strstr(table("other"), "communication collectives 2 300 75.00 8192\n"
					       "communication exposed - 250 62.50 -\n"));
	start_over(NULL);
	send_collective(0, 1000, 7, 100);
	assert_int_equal(finish(), 0);
	assert_non_null(strstr(table("other"), "communication collectives 1 0 - 100\n"));
	assert_null(strstr(table("other"), "exposed"));
}

static void a_collective_without_a_correlation_is_of_the_kernel_right_after_it(void **state)
{
	(void)state;
	send_collective(0, 1000, 0, 4096);
	send_kernel(0, 1000, 0, "nccl", 100);
	send_collective(0, 1200, 0, 4096);
	send_kernel(0, 1300, 0, "gemm", 100);
	assert_int_equal(finish(), 0);
	assert_non_null(strstr(table("other"), "communication collectives 2 100 25.00 8192\n"
					       "communication exposed - 100 25.00 -\n"));
}

static void the_peak_is_of_the_device_that_has_the_highest(void **state)
{
	(void)state;
	send_device(0, 1, "Big", "a1", 4000);
	send_alloc(PASTA_ALLOC_DEVICE, 0, 0x100, 300, 0);
	send_alloc(PASTA_ALLOC_HOST, 1, 0x900, 9999, 0);
	send_alloc(PASTA_ALLOC_DEVICE, 1, 0x200, 600, 0);
	send_alloc(PASTA_ALLOC_DEVICE, 1, 0x200, 500, 0x200);
	send_free(0x200);
	send_alloc(0, 1, 0x300, 400, 0);
	send_free(0x200);
	send_free(0x200);
	send_free(0x777);
	send_alloc(PASTA_ALLOC_DEVICE, 1, 0x300, 450, 0);
	assert_int_equal(finish(), 0);
	assert_non_null(
		strstr(table("other"), "memory Big, device 1, 25.0% of its memory - - - 1000\n"));
}

static void what_a_framework_reserves_and_allocates_has_rows(void **state)
{
	(void)state;
	send_alloc(0, 0, 0x100, 5000, 0);
	send_counter("reserved", 0, 9000);
	send_counter("allocated", 0, 3000);
	send_counter("allocated", 0, 2000);
	send_counter("allocated", UINT32_MAX, 99999);
	send_counter("else", 0, 9000);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("other"), "process #0 - 0 - -\n"
					    "memory device 0 - - - 9000\n"
					    "memory reserved - - - 9000\n"
					    "memory allocated - - - 3000\n");
}

static void levels_of_one_memory_are_not_added(void **state)
{
	struct pasta_event ev = EVENT(alloc, ALLOC, 0, 1, 5);

	(void)state;
	send_alloc(PASTA_ALLOC_DEVICE, 0, 0x1000, 20, 0);
	ev.sub = PASTA_ALLOC_SEGMENT;
	ev.alloc.addr = 0x1000;
	ev.alloc.bytes = 18;
	ev.alloc.pool = 1;
	send_event(&ev);
	ev.sub = PASTA_ALLOC_POOL;
	ev.alloc.bytes = 12;
	ev.alloc.pool = 2;
	send_event(&ev);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("other"), "memory device 0 - - - 20\n"
					    "memory reserved - - - 18\n"
					    "memory allocated - - - 12\n");
}

static void names_are_whole_whatever_their_length(void **state)
{
	char name[3001];

	(void)state;
	memset(name, 'x', 3000);
	name[3000] = '\0';
	send_process(0, name, 1, 0, 0);
	send_device(0, 0, name, "a", 0);
	send_region(0, PASTA_REGION_BEGIN, 100, name);
	send_region(0, PASTA_REGION_BEGIN, 100, name);
	send_kernel(0, 100, 1, name, 5);
	assert_int_equal(finish(), 0);
	assert_int_equal(strlen(pasta_table_cell(table_of("kernel"), 0, 0)->s), 3000);
	assert_int_equal(strlen(pasta_table_cell(table_of("other"), 0, 1)->s), 3000);
	assert_int_equal(strlen(pasta_table_cell(table_of("other"), 1, 1)->s), 6001);
	/* a sentence is limited */
	assert_int_equal(strlen(pasta_table_cell(table_of("why"), 0, 1)->s), 1000);
}

/* -- A screen -- */

/* Makes count entries of everything that has a row. */
static void send_all(uint32_t n)
{
	uint64_t corr = 0;
	char name[20];

	for (uint32_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		send_process(i, "x", 1, i + 1, n);
		send_device(i, i, name, "a", 1000);
		send_op(i, 100, 1, name);
		send_launch(i, 1, 101, ++corr, name);
		send_collective(i, 101, corr, 1);
		send_op_end(i, 102, 1);
		send_kernel_on(i, i, 200, corr, name, 10 + i);
		send_copy(i % 8, 300, i, i);
	}
	send_alloc(0, 0, 0x100, 500, 0);
}

/* With two notes of accelprof. */
static size_t lines(void)
{
	struct pasta_sink_opts opts = {.width = 100, .rows = 20};
	struct pasta_error err = {0};
	size_t count = 0;
	char *text;
	int error;

	for (int i = 0; i < 2; i++)
		pasta_out_report(result.outs[0], .severity = PASTA_SEVERITY_NOTE, PASTA_COUNT(1),
				 .what = "a note");
	text = sample_write(&pasta_sink_text, &result, &opts, &error, &err);
	assert_int_equal(error, 0);
	assert_null(strstr(text, "more rows"));
	for (const char *p = text; (p = strchr(p, '\n')); p++)
		count++;
	free(text);
	return count;
}

static void the_text_of_any_run_has_30_lines_at_most(void **state)
{
	size_t longest = 0;

	(void)state;
	for (uint32_t n = 0; n < 20; n++) {
		size_t count;

		start_over(NULL);
		send_all(n);
		assert_int_equal(finish(), 0);
		count = lines();
		assert_true(count <= 30);
		longest = count > longest ? count : longest;
	}
	assert_in_range(longest, 28, 30);
}

/* -- Merging -- */

/* Returns all tables as text, which the caller frees. */
static char *all_tables(void)
{
	static const char *const names[] = {"why", "finding", "kernel", "other"};
	char *all = strdup("");

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *text = table(names[i]);
		char *more;

		assert_true(asprintf(&more, "%s%s:\n%s", all, names[i], text ? text : "") > 0);
		free(all);
		all = more;
	}
	return all;
}

static void merged_states_are_as_one(void **state)
{
	struct pasta_toolset *parts_[4];
	struct pasta_result own = {0};
	char *want, *have;

	(void)state;
	for (int i = 0; i < 4; i++)
		parts_[i] = another_toolset(&own);
	for (int i = 0; i < 3000; i++) {
		static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
		uint32_t proc = (uint32_t)random_below(4);
		struct pasta_event ev = kernel_event(proc, (uint64_t)i * 10, 0,
						     names[random_below(8)], random_below(50));

		ev.kernel.device = (uint32_t)random_below(3);
		pasta_toolset_event(parts_[proc], &ev, NULL);
		send_event(&ev);
		ev = (struct pasta_event)EVENT(alloc, ALLOC, proc, 1, (uint64_t)i * 10);
		ev.sub = PASTA_ALLOC_DEVICE;
		ev.alloc.addr = 1 + random_below(100);
		ev.alloc.bytes = random_below(1000);
		pasta_toolset_event(parts_[proc], &ev, NULL);
		send_event(&ev);
	}
	for (int i = 1; i < 4; i++)
		pasta_toolset_merge(parts_[0], parts_[i]);
	assert_int_equal(finish(), 0);
	want = all_tables();
	assert_true(strlen(want) > 300);
	assert_non_null(strstr(want, "memory"));
	pasta_result_free(&result);
	result = own;
	pasta_toolset_report(parts_[0]);
	assert_int_equal(pasta_out_end(result.outs[0]), 0);
	have = all_tables();
	assert_string_equal(have, want);
	free(have);
	free(want);
	for (int i = 0; i < 4; i++)
		pasta_toolset_free(parts_[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_no_rows),
		TEST(a_process_that_did_nothing_has_no_share),
		TEST(one_or_two_processes_have_a_row_each_and_more_have_one),
		TEST(a_device_is_busy_while_any_kernel_runs),
		TEST(an_unknown_device_has_a_name_only_if_all_others_have_it),
		TEST(the_busiest_devices_come_first_and_the_rest_in_one_row),
		TEST(a_kernel_is_of_the_layer_around_its_launch),
		TEST(without_kernels_operators_have_host_self_time),
		TEST(operators_whose_end_is_missing_are_in_no_sum_and_a_note_counts_them),
		TEST(every_share_is_of_the_run_and_of_as_many_as_the_row_is_about),
		TEST(without_operators_regions_have_host_time),
		TEST(the_three_directions_that_take_longest_are_there),
		TEST(communication_is_exposed_where_no_other_kernel_runs),
		TEST(a_collective_without_a_correlation_is_of_the_kernel_right_after_it),
		TEST(the_peak_is_of_the_device_that_has_the_highest),
		TEST(what_a_framework_reserves_and_allocates_has_rows),
		TEST(levels_of_one_memory_are_not_added),
		TEST(names_are_whole_whatever_their_length),
		TEST(the_text_of_any_run_has_30_lines_at_most),
		TEST(merged_states_are_as_one),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
