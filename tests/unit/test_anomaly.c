/* test_anomaly.c - tests tool anomaly and the anomalous steps of the diagnosis. */
/* labels: onethread */
#define KERNELS 8
#include "../../tools/anomaly.c"

#include "unit/tooltest.h"

static void iteration(uint32_t proc, uint64_t time, uint64_t index)
{
	struct pasta_event ev = EVENT(iteration, ITERATION, proc, 1, time);

	ev.iteration.index = index;
	ev.iteration.name = id("step");
	send_event(&ev);
}

static void kernel_of_grid(uint64_t time, const char *name, uint32_t grid, uint64_t dur)
{
	struct pasta_event ev = kernel_event(0, time, 0, name, dur);

	ev.kernel.grid_x = grid;
	send_event(&ev);
}

static void memory(unsigned int kind, unsigned int sub, uint64_t time)
{
	struct pasta_event ev = EVENT(alloc, ALLOC, 0, 1, time);
	struct pasta_event load = EVENT(module, MODULE, 0, 1, time);

	ev.kind = (uint8_t)kind;
	ev.sub = load.sub = (uint8_t)sub;
	send_event(kind == PASTA_KIND_MODULE ? &load : &ev);
}

/* Sends steps of 1000 us, each with 500 us of kernel a and 200 us of kernel b. In step `odd`,
 * kernel b takes `more` ns longer, and so does the step. Returns the time of the end. */
static uint64_t send_steps(uint64_t count, uint64_t odd, uint64_t more)
{
	uint64_t time = 1000000;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t extra = i == odd ? more : 0;

		iteration(0, time, i);
		send_kernel(0, time + 1000, 0, "a", 500000);
		send_kernel(0, time + 501000, 0, "b", 200000 + extra);
		time += 1000000 + extra;
	}
	/* The last step lasts until the end of its work. */
	iteration(0, time, count);
	send_kernel(0, time, 0, "a", 1000);
	return time;
}

/* process, device, step, time, median, excess, score, grew, by, kernel, kernel_by, memory */
static void an_anomalous_step_is_shown_with_what_grew(void **state)
{
	const struct pasta_finding *f;

	(void)state;
	send_steps(20, 13, 400000);
	assert_int_equal(finish(), 0);
	/* 2 % of the median is the least standard deviation: 400 / 20 = 20. */
	assert_string_equal(table("steps"), "#0 device 0 13 1400000 1000000 400000 20.00 compute "
					    "400000 b 400000 -\n");
	f = &result.outs[0]->findings[0];
	assert_string_equal(f->what, "1 of 19 steps take longer than usual");
	assert_string_equal(f->evidence,
			    "step 13 takes 1.400 ms, the median step 1.000 ms; compute takes 0.400 "
			    "ms longer; kernel b takes 0.400 ms longer");
	assert_int_equal(f->saving, 400000);
	assert_int_equal(f->severity, PASTA_SEVERITY_WARNING);
}

static void memory_events_of_an_anomalous_step_are_counted(void **state)
{
	uint64_t time = 1000000;

	(void)state;
	for (uint64_t i = 0; i < 12; i++) {
		uint64_t extra = i == 8 ? 300000 : 0;

		iteration(0, time, i);
		memory(PASTA_KIND_ALLOC, PASTA_ALLOC_DEVICE, time + 1);
		memory(PASTA_KIND_ALLOC, PASTA_ALLOC_POOL, time + 2);
		for (int k = 0; extra && k < 3; k++)
			memory(PASTA_KIND_ALLOC, PASTA_ALLOC_SEGMENT, time + 3);
		if (extra)
			memory(PASTA_KIND_MODULE, PASTA_MODULE_LOAD, time + 4);
		send_kernel(0, time + 1000 + extra, 0, "a", 500000);
		time += 1000000 + extra;
	}
	assert_int_equal(finish(), 0);
	assert_string_equal(table("steps"),
			    "#0 device 0 8 1300000 1000000 300000 15.00 idle: unknown 300000 - - 4 "
			    "allocations (usually 1), 1 module load (usually 0)\n");
}

static void the_first_two_steps_are_not_judged(void **state)
{
	(void)state;
	send_steps(20, 1, 4000000);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("steps"), "");
	assert_string_equal(finding(0), "");
}

static void few_steps_are_not_compared(void **state)
{
	(void)state;
	send_steps(4, 3, 4000000);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("steps"), "");
	assert_string_equal(finding(0), "the run has too few steps to compare");
}

static void a_lasting_change_of_steps_and_kernels_is_found(void **state)
{
	uint64_t time = 1000000;

	(void)state;
	for (uint64_t i = 0; i < 60; i++) {
		uint64_t dur = i < 40 ? 500000 : 700000;

		iteration(0, time, i);
		send_kernel(0, time, 0, "a", dur);
		send_kernel(0, time + dur, 0, "b", 100000);
		time += dur + 100000;
	}
	iteration(0, time, 60);
	send_kernel(0, time, 0, "b", 1000);
	assert_int_equal(finish(), 0);
	/* what, grid, in, from, of, before, after, change, cost: 21 steps include the last one */
	assert_string_equal(table("changes"),
			    "#0 device 0 steps - steps 40 61 600000 800000 33.33 4200000\n"
			    "#0 device 0 a 1,1,1 steps 40 60 500000 700000 40.00 4000000\n");
}

static void a_kernel_with_several_kinds_of_inputs_does_not_change(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 200; i++)
		send_kernel(0, 1000000 * i, 0, "a", i / 20 % 2 ? 20000 : 10000);
	assert_int_equal(finish(), 0);
	assert_null(table("changes"));
}

static void launches_that_take_longer_are_counted_by_kernel_and_grid(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 200; i++) {
		kernel_of_grid(100000 * i, "a", 4, i % 50 ? 32000 : 64000);
		kernel_of_grid(100000 * i + 70000, "a", 5, 16000);
	}
	assert_int_equal(finish(), 0);
	/* The histogram's buckets are 1/32 wide: medians and sums may be off by 1/64. */
	assert_int_equal(pasta_table_rows(table_of("kernels")), 1);
	assert_string_equal(pasta_table_cell(table_of("kernels"), 0, 3)->s, "4,1,1");
	assert_int_equal(pasta_table_cell(table_of("kernels"), 0, 4)->i, 200);
	assert_true(llabs(pasta_table_cell(table_of("kernels"), 0, 5)->i - 32000) <= 500);
	assert_int_equal(pasta_table_cell(table_of("kernels"), 0, 6)->i, 0);
	assert_int_equal(pasta_table_cell(table_of("kernels"), 0, 8)->i, 4);
	assert_true(llabs(pasta_table_cell(table_of("kernels"), 0, 9)->i - 128000) <= 6000);
	assert_int_equal(pasta_table_cell(table_of("kernels"), 0, 10)->i, 64000);
}

static void frequent_long_launches_are_another_kind_of_work(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 200; i++)
		send_kernel(0, 100000 * i, 0, "a", i % 10 ? 32000 : 64000);
	assert_int_equal(finish(), 0);
	assert_null(table("kernels"));
}

static void kernels_past_the_limit_are_not_judged(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 100; i++)
		for (uint32_t grid = 1; grid < 20; grid++)
			kernel_of_grid(100000 * i + 1000 * grid, "a", grid, i == 50 ? 5000 : 500);
	assert_int_equal(finish(), 0);
	assert_int_equal(pasta_table_rows(table_of("kernels")), KERNELS);
}

/* Work before the first iteration belongs to no step, also if an optimizer made steps. */
static void work_before_the_first_iteration_does_not_count(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 30; i++) {
		struct pasta_event begin = EVENT(op_begin, OP_BEGIN, 0, 1, 10000 * i);
		struct pasta_event end = EVENT(op_end, OP_END, 0, 1, 10000 * i + 100);

		begin.op_begin.id = end.op_end.id = i + 1;
		begin.op_begin.name = id("Optimizer.step#SGD.step");
		send_event(&begin);
		send_kernel(0, 10000 * i + 50, 0, "a", i % 15 ? 1000 : 5000);
		send_event(&end);
	}
	send_steps(20, 13, 400000);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("steps"), "#0 device 0 13 1400000 1000000 400000 20.00 compute "
					    "400000 b 400000 -\n");
	assert_int_equal(pasta_table_rows(table_of("steps")), 1);
}

static void times_at_the_end_of_time_do_not_overflow(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 30; i++) {
		iteration(0, UINT64_MAX - 30 + i, i);
		send_kernel(0, UINT64_MAX - 30 + i, 0, "a", i % 7 ? UINT64_MAX : 1);
	}
	assert_int_equal(finish(), 0);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t median_of(const uint64_t *values, size_t n)
{
	uint64_t sorted[200] = {0};

	memcpy(sorted, values, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_value);
	return sorted[(n - 1) / 2];
}

/* Returns the sum of the excess of all anomalous steps, counted from the definition. */
static uint64_t count_odd(const uint64_t *steps, size_t n, uint64_t *odd)
{
	uint64_t distance[200] = {0}, median = median_of(steps, n), excess = 0;
	double sigma;

	for (size_t i = 0; i < n; i++)
		distance[i] = steps[i] > median ? steps[i] - median : median - steps[i];
	sigma = 1.4826 * (double)median_of(distance, n);
	sigma = sigma > 0.02 * (double)median ? sigma : 0.02 * (double)median;
	*odd = 0;
	for (size_t i = 0; i < n; i++)
		if (((double)steps[i] - (double)median) / sigma > 3.5) {
			++*odd;
			excess += steps[i] - median;
		}
	return excess;
}

static void random_steps_match_the_definition(void **state)
{
	(void)state;
	for (int run = 0; run < 40; run++) {
		uint64_t steps[100], time = 1000000, odd, excess, got = 0;
		size_t n = 8 + random_below(92);
		const struct pasta_table *t;

		start_over(NULL);
		for (size_t i = 0; i < n; i++) {
			uint64_t dur = 100000 + random_below(20000);

			if (!random_below(10))
				dur += random_below(100000);
			iteration(0, time, i);
			send_kernel(0, time, 0, "a", dur);
			steps[i] = dur;
			time += dur;
		}
		assert_int_equal(finish(), 0);
		excess = count_odd(steps + 2, n - 2, &odd);
		t = table_of("steps");
		assert_int_equal(pasta_table_rows(t), odd);
		for (size_t row = 0; row < odd; row++) {
			got += (uint64_t)pasta_table_cell(t, row, 5)->i;
			/* The kernel is the whole step. */
			assert_int_equal(pasta_table_cell(t, row, 8)->i,
					 pasta_table_cell(t, row, 5)->i);
		}
		assert_int_equal(got, excess);
	}
}

/* Returns the state's report as text, which the caller frees. */
static char *reported(struct pasta_toolset *from)
{
	static const char *const names[] = {"steps", "changes", "kernels"};
	char *text = calloc(3, 1 << 18);

	assert_non_null(text);
	pasta_toolset_report(from);
	assert_int_equal(pasta_out_end(result.outs[0]), 0);
	for (int i = 0; i < 3; i++)
		strcat(text, table(names[i]) ? table(names[i]) : "none");
	for (size_t i = 0; *finding(i); i++)
		strcat(strcat(text, finding(i)), "\n");
	return text;
}

static void merged_states_report_like_a_single_one(void **state)
{
	enum { PROCS = 3 };
	struct pasta_toolset *parts[PROCS];
	struct pasta_result own = {0};
	char *want, *got;

	(void)state;
	for (uint32_t i = 0; i < PROCS; i++)
		parts[i] = another_toolset(&own);
	for (uint64_t i = 0; i < 6000; i++) {
		uint32_t proc = (uint32_t)random_below(PROCS);
		struct pasta_event step = EVENT(iteration, ITERATION, proc, 1, 1000 * i);
		uint64_t dur = random_below(20) ? 500 + random_below(20) : 3000;
		struct pasta_event k =
			kernel_event(proc, 1000 * i, 0, random_below(2) ? "a" : "b", dur);

		step.iteration.index = i;
		for (int both = 0; both < 2; both++) {
			struct pasta_toolset *l = both ? toolset : parts[proc];

			if (i % 60 < PROCS)
				pasta_toolset_event(l, &step, NULL);
			pasta_toolset_event(l, &k, NULL);
		}
	}
	for (uint32_t i = 1; i < PROCS; i++)
		pasta_toolset_merge(parts[0], parts[i]);
	want = reported(toolset);
	pasta_result_free(&result);
	result = own;
	got = reported(parts[0]);
	assert_string_equal(got, want);
	assert_non_null(strstr(want, "#2 "));
	free(want);
	free(got);
	for (uint32_t i = 0; i < PROCS; i++)
		pasta_toolset_free(parts[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_anomalous_step_is_shown_with_what_grew),
		TEST(memory_events_of_an_anomalous_step_are_counted),
		TEST(the_first_two_steps_are_not_judged),
		TEST(few_steps_are_not_compared),
		TEST(a_lasting_change_of_steps_and_kernels_is_found),
		TEST(a_kernel_with_several_kinds_of_inputs_does_not_change),
		TEST(launches_that_take_longer_are_counted_by_kernel_and_grid),
		TEST(frequent_long_launches_are_another_kind_of_work),
		TEST(kernels_past_the_limit_are_not_judged),
		TEST(work_before_the_first_iteration_does_not_count),
		TEST(times_at_the_end_of_time_do_not_overflow),
		TEST(random_steps_match_the_definition),
		TEST(merged_states_report_like_a_single_one),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
