/* test_diagnosis.c - steps, parts, and each cause of a gap, in closed form. */
/* labels: onethread */
#include "unit/diagnosistest.h"

#include <inttypes.h>

#include "process/diagnosis/diagnosis.h"

enum { MAIN = 7, US = 1000 };

/* Two kernels with a gap from 200 to 300 us. Thread MAIN launches the second at `launch` us. */
static void gap_begins(void)
{
	send_launch(0, MAIN, 90 * US, 1, "first");
	send_kernel(0, 100 * US, 1, "first", 100 * US);
}

static const struct pasta_gap *gap_ends(uint64_t launch)
{
	const struct pasta_gap *gap;
	size_t at = 0;

	send_launch(0, MAIN, launch * US, 2, "second");
	send_kernel(0, 300 * US, 2, "second", 50 * US);
	assert_int_equal(finish(), 0);
	check_sums();
	gap = pasta_diagnosis_gap(diagnosis, &at);
	assert_non_null(gap);
	assert_int_equal(gap->begin, 200 * US);
	assert_int_equal(gap->end, 300 * US);
	assert_null(pasta_diagnosis_gap(diagnosis, &at));
	assert_int_equal(usage(0, 0)->part[PASTA_PART_COMPUTE], 150 * US);
	assert_int_equal(usage(0, 0)->cause[gap->cause], 100 * US);
	assert_int_equal(usage(0, 0)->gaps[gap->cause], 1);
	return gap;
}

static const char *cause(const struct pasta_gap *gap)
{
	return pasta_cause_name(gap->cause);
}

/* -- Causes -- */

static void a_late_launch_outside_of_operators_is_host(void **state)
{
	const struct pasta_gap *gap;

	send_region(MAIN, 10 * US, "train");
	gap_begins();
	send_op(MAIN, 290 * US, 1, "aten::mm");
	gap = gap_ends(295);
	assert_string_equal(cause(gap), "host");
	assert_string_equal(pasta_str(gap->region), "train");
	assert_int_equal(gap->op, 0);
	assert_string_equal(pasta_str(gap->work), "second");
	assert_int_equal(gap->tid, MAIN);
}

static void a_late_launch_in_operators_is_dispatch(void **state)
{
	const struct pasta_gap *gap;

	gap_begins();
	send_op(MAIN, 210 * US, 1, "aten::mm");
	gap = gap_ends(295);
	assert_string_equal(cause(gap), "dispatch");
	assert_string_equal(pasta_str(gap->op), "aten::mm");
}

static void a_call_of_the_api_is_dispatch(void **state)
{
	gap_begins();
	send_api(MAIN, 210 * US, 80 * US, "cudaLaunchKernel");
	assert_string_equal(cause(gap_ends(290)), "dispatch");
}

static void time_of_another_thread_does_not_count(void **state)
{
	gap_begins();
	send_op(MAIN + 1, 201 * US, 1, "aten::mm");
	assert_string_equal(cause(gap_ends(295)), "host");
}

static void time_in_a_data_loader_is_data(void **state)
{
	const struct pasta_gap *gap;

	gap_begins();
	send_region(MAIN, 205 * US, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
	send_op(MAIN, 210 * US, 1, "aten::stack");
	send_op(MAIN, 270 * US, 1, NULL);
	send_region(MAIN, 280 * US, NULL);
	gap = gap_ends(295);
	assert_string_equal(cause(gap), "data");
	assert_string_equal(pasta_str(gap->region),
			    "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
}

static void time_in_an_allocation_is_allocator(void **state)
{
	const struct pasta_gap *gap;

	gap_begins();
	send_op(MAIN, 205 * US, 1, "aten::empty");
	send_alloc(MAIN, 206 * US, 70 * US);
	gap = gap_ends(295);
	assert_string_equal(cause(gap), "allocator");
	assert_string_equal(pasta_str(gap->op), "aten::empty");
	start_over(NULL);
	gap_begins();
	send_api(MAIN, 206 * US, 70 * US, "cudaMalloc");
	gap = gap_ends(295);
	assert_string_equal(cause(gap), "allocator");
	assert_string_equal(pasta_str(gap->api), "cudaMalloc");
}

static void time_in_a_load_of_code_is_loading(void **state)
{
	gap_begins();
	send_op(MAIN, 205 * US, 1, "aten::mm");
	send_module(MAIN, 206 * US, 70 * US);
	assert_string_equal(cause(gap_ends(295)), "loading");
}

static void the_longest_activity_is_the_cause(void **state)
{
	gap_begins();
	send_alloc(MAIN, 200 * US, 30 * US);		      /* 30 us */
	send_module(MAIN, 230 * US, 34 * US);		      /* 34 us */
	assert_string_equal(cause(gap_ends(297)), "loading"); /* host: 33 us */
}

static void a_wait_at_the_beginning_is_sync(void **state)
{
	const struct pasta_gap *gap;

	gap_begins();
	send_region(MAIN, 120 * US, "log");
	send_api(MAIN, 150 * US, 55 * US, "cudaStreamSynchronize");
	send_op(MAIN, 210 * US, 1, "aten::mm");
	gap = gap_ends(295);
	assert_string_equal(cause(gap), "sync");
	assert_string_equal(pasta_str(gap->api), "cudaStreamSynchronize");
	assert_string_equal(pasta_str(gap->region), "log");
	assert_int_equal(gap->op, 0);
}

static void a_wait_that_ended_earlier_is_not_sync(void **state)
{
	gap_begins();
	send_api(MAIN, 150 * US, 49 * US, "cudaStreamSynchronize");
	assert_string_equal(cause(gap_ends(295)), "host");
}

static void a_wait_before_most_of_a_data_loader_is_data(void **state)
{
	gap_begins();
	send_api(MAIN, 150 * US, 55 * US, "cudaStreamSynchronize");
	send_region(MAIN, 210 * US, "enumerate(DataLoader)#x.__next__");
	send_region(MAIN, 280 * US, NULL);
	assert_string_equal(cause(gap_ends(295)), "data");
}

static void a_wait_without_a_thread_is_of_a_thread_that_recorded_nothing(void **state)
{
	const struct pasta_gap *gap;

	gap_begins();
	send_op(MAIN, 140 * US, 1, "aten::item");
	send_sync(0, 150 * US, 55 * US, PASTA_SYNC_STREAM, 0);
	send_op(MAIN, 210 * US, 1, NULL);
	gap = gap_ends(295);
	assert_string_equal(cause(gap), "sync");
	assert_string_equal(pasta_str(gap->op), "aten::item");
	start_over(NULL);
	gap_begins();
	send_sync(0, 150 * US, 55 * US, PASTA_SYNC_STREAM, 0);
	send_op(MAIN, 160 * US, 1, "aten::mm"); /* the thread is not the one that waits */
	assert_string_equal(cause(gap_ends(295)), "dispatch");
}

/* A copy in an operator from 110 to 200 us; the operator ends at `end` us. */
static const char *copy_cause(const char *op, uint64_t end, uint32_t target)
{
	struct pasta_event copy = EVENT(copy, COPY, 0, 0, 110 * US);

	send_op(MAIN, 80 * US, 1, op);
	send_launch(0, MAIN, 90 * US, 1, NULL);
	copy.sub = PASTA_COPY_D2H;
	copy.copy.corr = 1;
	copy.copy.dur = 90 * US;
	copy.copy.dst_memory = target;
	if (end < 110)
		send_op(MAIN, end * US, 1, NULL);
	send_event(&copy);
	if (end >= 110)
		send_op(MAIN, end * US, 1, NULL);
	send_launch(0, MAIN, 250 * US, 2, "second");
	send_kernel(0, 300 * US, 2, "second", 50 * US);
	assert_int_equal(finish(), 0);
	check_sums();
	for (uint32_t i = 0; i < PASTA_CAUSE_COUNT; i++)
		if (usage(0, 0)->gaps[i])
			return pasta_cause_name(i);
	return NULL;
}

static void a_copy_that_blocks_its_thread_is_sync(void **state)
{
	assert_string_equal(copy_cause("aten::_local_scalar_dense", 202, 0), "sync");
	start_over(NULL);
	assert_string_equal(copy_cause("aten::copy_", 202, PASTA_MEMORY_PAGEABLE), "sync");
	start_over(NULL);
	assert_string_equal(copy_cause("aten::copy_", 100, PASTA_MEMORY_PAGEABLE), "host");
	start_over(NULL);
	assert_string_equal(copy_cause("aten::copy_", 202, PASTA_MEMORY_PINNED), "host");
}

static void a_stream_that_waits_for_another_is_dependency(void **state)
{
	struct pasta_event next = kernel_event(0, 300 * US, 2, "second", 50 * US);
	const struct pasta_gap *gap;
	size_t at = 0;

	next.kernel.stream = 9;
	gap_begins();
	/* The stream must have a device before it can wait. */
	send_sync(0, 110 * US, 1, PASTA_SYNC_STREAM_WAIT, 9);
	send_launch(0, MAIN, 120 * US, 2, "second");
	send_event(&next);
	assert_int_equal(finish(), 0);
	check_sums();
	gap = pasta_diagnosis_gap(diagnosis, &at);
	assert_string_equal(cause(gap), "dependency");
	assert_int_equal(usage(0, 0)->streams, 2);
}

static void a_short_gap_between_queued_kernels_is_kernels(void **state)
{
	/* Kernel i runs from 10 i us on; all are launched before the first. The gaps last 2 us, but
	 * the last one lasts 20 us. */
	for (uint64_t i = 1; i <= 30; i++)
		send_launch(0, MAIN, i, i, "k");
	for (uint64_t i = 1; i <= 29; i++)
		send_kernel(0, i * 10 * US, i, "k", 8 * US);
	send_kernel(0, 318 * US, 30, "k", 8 * US);
	assert_int_equal(finish(), 0);
	check_sums();
	assert_int_equal(usage(0, 0)->gaps[PASTA_CAUSE_KERNELS], 28);
	assert_int_equal(usage(0, 0)->cause[PASTA_CAUSE_KERNELS], 28 * 2 * US);
	assert_int_equal(usage(0, 0)->gaps[PASTA_CAUSE_UNKNOWN], 1);
	assert_int_equal(usage(0, 0)->cause[PASTA_CAUSE_UNKNOWN], 20 * US);
	assert_int_equal(usage(0, 0)->kernel_p50, 8 * US);
}

static void the_threshold_is_twice_the_usual_gap(void **state)
{
	uint64_t time = 100;

	/* Gaps of 10 us, except every 25th, which lasts 19 or 21 us. */
	for (uint64_t i = 1; i <= 100; i++)
		send_launch(0, MAIN, i, i, "k");
	for (uint64_t i = 1; i <= 100; i++) {
		send_kernel(0, time, i, "k", 8 * US);
		time += 8 * US + (i % 25 ? 10 : i % 50 ? 19 : 21) * US;
	}
	assert_int_equal(finish(), 0);
	check_sums();
	assert_int_equal(usage(0, 0)->gaps[PASTA_CAUSE_KERNELS], 98);
	assert_int_equal(usage(0, 0)->gaps[PASTA_CAUSE_UNKNOWN], 1);
	assert_int_equal(usage(0, 0)->cause[PASTA_CAUSE_UNKNOWN], 21 * US);
}

static void work_without_a_launch_is_unknown(void **state)
{
	send_kernel(0, 100 * US, 0, "k", 100 * US);
	send_kernel(0, 300 * US, 0, "k", 100 * US);
	send_kernel(0, 401 * US, 0, "k", 100 * US);
	assert_int_equal(finish(), 0);
	check_sums();
	assert_int_equal(usage(0, 0)->cause[PASTA_CAUSE_UNKNOWN], 100 * US);
	assert_int_equal(usage(0, 0)->cause[PASTA_CAUSE_KERNELS], 1 * US);
}

static void rows_of_waits_combine_the_modules_of_a_layer(void **state)
{
	static const char *const modules[] = {"lm_head", "h.0.attn", "h.12.attn"};
	const struct pasta_wait *w;
	size_t at = 0;

	/* A kernel runs for 20 us of every 100 us; the next operator begins 5 us later. */
	for (uint64_t i = 0; i < 3; i++) {
		struct pasta_event op = EVENT(op_begin, OP_BEGIN, 0, MAIN, (45 + 100 * i) * US);

		op.op_begin.id = i + 1;
		op.op_begin.name = id("aten::mm");
		op.op_begin.module = id(modules[i]);
		send_event(&op);
		send_launch(0, MAIN, (110 + 100 * i) * US, i + 1, "k");
		send_kernel(0, (120 + 100 * i) * US, i + 1, "k", 20 * US);
		send_op(MAIN, (141 + 100 * i) * US, i + 1, NULL);
	}
	assert_int_equal(finish(), 0);
	check_sums();
	w = pasta_diagnosis_wait(diagnosis, &at);
	assert_int_equal(w->cause, PASTA_CAUSE_DISPATCH);
	assert_string_equal(pasta_str(w->module), "h.*.attn");
	assert_int_equal(w->gaps, 2);
	assert_int_equal(w->ns, 160 * US);
	assert_int_equal(w->max, 80 * US);
	assert_null(pasta_diagnosis_wait(diagnosis, &at));
}

/* -- Parts -- */

static void computing_precedes_communication_and_communication_precedes_copies(void **state)
{
	/*           0    10   20   30   40   50   60   70
	 * compute        |---------|
	 * collective          |---------|
	 * copy      |---------|         |-----|
	 * fill                                    |--|	*/
	struct pasta_event set = EVENT(set, SET, 0, 0, 165);

	set.set.dur = 5;
	send_copy(100, 0, 20, PASTA_COPY_H2D, 100);
	send_kernel(0, 110, 0, "k", 20);
	send_kernel(0, 120, 0, "ncclDevKernel_AllReduce_Sum_f32", 20);
	send_copy(135, 0, 20, PASTA_COPY_D2H, 1 << 20);
	send_event(&set);
	assert_int_equal(finish(), 0);
	check_sums();
	assert_int_equal(usage(0, 0)->time, 70);
	assert_int_equal(usage(0, 0)->part[PASTA_PART_COMPUTE], 20);
	assert_int_equal(usage(0, 0)->part[PASTA_PART_COMMUNICATION], 10);
	assert_int_equal(usage(0, 0)->part[PASTA_PART_COPY], 10 + 15 + 5);
	assert_int_equal(usage(0, 0)->part[PASTA_PART_IDLE], 10);
	assert_int_equal(usage(0, 0)->kernels, 2);
	assert_int_equal(usage(0, 0)->kernel_ns, 40);
	assert_int_equal(usage(0, 0)->copies, 2);
	assert_int_equal(usage(0, 0)->fills, 1);
}

static void transfers_have_the_time_in_which_nothing_else_runs(void **state)
{
	const struct pasta_transfer *t;
	size_t at = 0;

	send_copy(100, 0, 30, PASTA_COPY_H2D, 64 << 10);
	send_copy(110, 0, 40, PASTA_COPY_D2H, 100); /* exposed from 130 on */
	send_kernel(0, 140, 0, "k", 5);
	assert_int_equal(finish(), 0);
	check_sums();
	t = pasta_diagnosis_transfer(diagnosis, &at);
	assert_int_equal(t->direction, PASTA_COPY_D2H);
	assert_int_equal(t->bytes, 100);
	assert_int_equal(t->ns, 40);
	assert_int_equal(t->exposed, 15);
	assert_int_equal(t->small, 1);
	assert_int_equal(t->small_exposed, 15);
	t = pasta_diagnosis_transfer(diagnosis, &at);
	assert_int_equal(t->direction, PASTA_COPY_H2D);
	assert_int_equal(t->exposed, 30);
	assert_int_equal(t->small, 0);
	assert_null(pasta_diagnosis_transfer(diagnosis, &at));
}

/* -- Steps -- */

/* Sends steps of 100 us, from 1 ms on, with a kernel of 60 us each. */
static void send_steps(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t time = 1000 * US + i * 100 * US;

		send_iteration(MAIN, time, 50 + i, "loop");
		send_launch(0, MAIN, time + 10 * US, i + 1, "k");
		send_kernel(0, time + 20 * US, i + 1, "k", 60 * US);
	}
}

static void few_steps_all_count(void **state)
{
	const struct pasta_step *s;
	size_t at = 0;

	send_kernel(0, 500 * US, 0, "setup", 100 * US);
	send_steps(4);
	assert_int_equal(finish(), 0);
	check_sums();
	assert_int_equal(window(0)->steps, 4);
	assert_int_equal(window(0)->all, 4);
	assert_int_equal(window(0)->source, PASTA_STEPS_ITERATIONS);
	assert_int_equal(window(0)->begin, 1000 * US);
	assert_int_equal(window(0)->end, 1380 * US);
	assert_int_equal(window(0)->launches, 4);
	assert_int_equal(window(0)->step_p50, 100 * US);
	assert_int_equal(window(0)->step_max, 100 * US);
	assert_int_equal(usage(0, 0)->kernels, 4);
	assert_int_equal(usage(0, 0)->part[PASTA_PART_COMPUTE], 240 * US);
	/* The launch is 10 us after the beginning of the step, or 30 us after the last kernel. */
	assert_int_equal(usage(0, 0)->cause[PASTA_CAUSE_HOST], 140 * US);
	s = pasta_diagnosis_step(diagnosis, &at);
	assert_int_equal(s->iteration, 50);
	assert_int_equal(s->end, 1100 * US);
	assert_int_equal(s->kernels, 1);
	assert_int_equal(s->launches, 1);
	assert_int_equal(s->part[PASTA_PART_IDLE], 40 * US);
	assert_true(s->in_window);
}

static void the_first_two_of_five_steps_do_not_count(void **state)
{
	const struct pasta_step *s;
	size_t at = 0, counted = 0;

	send_steps(5);
	assert_int_equal(finish(), 0);
	check_sums();
	assert_int_equal(window(0)->steps, 3);
	assert_int_equal(window(0)->all, 5);
	assert_int_equal(window(0)->begin, 1200 * US);
	assert_int_equal(window(0)->launches, 3);
	assert_int_equal(usage(0, 0)->kernels, 3);
	while ((s = pasta_diagnosis_step(diagnosis, &at)))
		counted += s->in_window;
	assert_int_equal(counted, 3);
	assert_int_equal(pasta_diagnosis_wait(diagnosis, &(size_t){0})->steps, 3);
}

static void a_last_step_without_a_launch_is_part_of_its_predecessor(void **state)
{
	send_steps(4);
	send_iteration(MAIN, 1400 * US, 99, "loop");
	send_kernel(0, 1420 * US, 0, "k", 10 * US); /* not launched in the step */
	assert_int_equal(finish(), 0);
	check_sums();
	assert_int_equal(window(0)->all, 4);
	assert_int_equal(window(0)->begin, 1000 * US);
	assert_int_equal(window(0)->end, 1430 * US);
	assert_int_equal(usage(0, 0)->kernels, 5);
	assert_int_equal(window(0)->step_max, 130 * US);
}

static void other_loops_and_threads_begin_no_steps(void **state)
{
	for (uint64_t i = 0; i < 6; i++) {
		uint64_t time = 1000 * US + i * 100 * US;

		send_iteration(MAIN, time, i, "loop");
		send_iteration(MAIN, time + 1, 0, "inner");
		send_iteration(MAIN + 1, time + 2, i, "loop");
		send_launch(0, MAIN, time + 10 * US, i + 1, "k");
		send_kernel(0, time + 20 * US, i + 1, "k", 60 * US);
	}
	assert_int_equal(finish(), 0);
	check_sums();
	assert_int_equal(window(0)->all, 6);
	assert_int_equal(window(0)->begin, 1200 * US);
}

/* Sends a call of an optimizer that ends at a time. */
static void send_optimizer(uint64_t end)
{
	send_region(MAIN, end - 20 * US, "Optimizer.step#SGD.step");
	send_region(MAIN, end - 15 * US, "Optimizer.step#SGD.step"); /* a wrapper */
	send_region(MAIN, end - 5 * US, NULL);
	send_region(MAIN, end, NULL);
}

static void calls_of_an_optimizer_end_steps(void **state)
{
	for (uint64_t i = 0; i < 4; i++) {
		uint64_t time = 1000 * US + i * 100 * US;

		send_launch(0, MAIN, time + 10 * US, i + 1, "k");
		send_kernel(0, time + 20 * US, i + 1, "k", 60 * US);
		send_optimizer(time + 100 * US);
	}
	send_launch(0, MAIN, 1410 * US, 9, "item");
	send_kernel(0, 1420 * US, 9, "item", 20 * US);
	assert_int_equal(finish(), 0);
	check_sums();
	assert_int_equal(window(0)->source, PASTA_STEPS_OPTIMIZER);
	assert_int_equal(window(0)->all, 3); /* from the end of the first call on */
	assert_int_equal(window(0)->begin, 1100 * US);
	assert_int_equal(window(0)->end, 1440 * US);
	assert_int_equal(window(0)->step_p50, 100 * US);
	assert_int_equal(window(0)->step_max, 140 * US);
	assert_int_equal(usage(0, 0)->kernels, 4);
}

static void iterations_replace_the_steps_of_an_optimizer(void **state)
{
	for (uint64_t i = 0; i < 7; i++)
		send_optimizer(100 * US + i * 100 * US);
	send_kernel(0, 750 * US, 0, "long", 300 * US); /* until 1050 us */
	send_steps(3);
	assert_int_equal(finish(), 0);
	check_sums();
	assert_int_equal(window(0)->source, PASTA_STEPS_ITERATIONS);
	assert_int_equal(window(0)->all, 3);
	assert_int_equal(window(0)->begin, 1000 * US);
	assert_int_equal(usage(0, 0)->kernels, 3);
	assert_int_equal(usage(0, 0)->part[PASTA_PART_COMPUTE], (80 + 60 + 60) * US);
}

static void without_steps_the_window_is_all_work(void **state)
{
	send_launch(0, MAIN, 10, 1, "k");
	send_kernel(0, 100, 1, "k", 50);
	send_launch(0, MAIN, 120, 2, "k");
	send_kernel(0, 150, 2, "k", 50);
	send_launch(0, MAIN, 1000, 3, "no work");
	assert_int_equal(finish(), 0);
	check_sums();
	assert_int_equal(window(0)->source, PASTA_STEPS_NONE);
	assert_int_equal(window(0)->steps, 0);
	assert_int_equal(window(0)->begin, 100);
	assert_int_equal(window(0)->end, 200);
	assert_null(pasta_diagnosis_step(diagnosis, &(size_t){0}));
}

static void a_run_without_work_has_no_window(void **state)
{
	send_launch(0, MAIN, 10, 1, "k");
	assert_int_equal(finish(), 0);
	assert_null(window(0));
	assert_null(usage(0, 0));
}

/* -- Hostile input -- */

static void times_at_the_limits_do_not_overflow(void **state)
{
	send_iteration(MAIN, 5, 0, NULL);
	send_launch(0, MAIN, 6, 1, "k");
	send_kernel(0, 10, 1, "k", UINT64_MAX);
	send_kernel(0, 5, 1, "k", UINT64_MAX - 2);
	send_copy(UINT64_MAX - 1, 1, UINT64_MAX, PASTA_COPY_D2H, UINT64_MAX);
	send_copy(UINT64_MAX, 1, UINT64_MAX, PASTA_COPY_D2H, UINT64_MAX);
	send_iteration(MAIN, UINT64_MAX, 1, NULL);
	send_launch(0, MAIN, UINT64_MAX, 2, "k");
	send_api(MAIN, UINT64_MAX, UINT64_MAX, "cudaMalloc");
	send_sync(0, UINT64_MAX, UINT64_MAX, PASTA_SYNC_CONTEXT, 0);
	assert_int_equal(finish(), 0);
	check_sums();
	assert_int_equal(window(0)->begin, 5);
	assert_int_equal(window(0)->end, UINT64_MAX);
}

static void events_out_of_order_leave_the_sums_exact(void **state)
{
	for (int run = 0; run < 200; run++) {
		for (int i = 0; i < 300; i++) {
			uint64_t time = random_below(5000), corr = random_below(40);

			switch (random_below(8)) {
			case 0:
				send_iteration(MAIN, time, (uint64_t)i, NULL);
				break;
			case 1:
			case 2:
				send_launch(0, MAIN, time, corr, "k");
				break;
			case 3:
				send_api(MAIN, time, random_below(900), "cudaDeviceSynchronize");
				break;
			case 4:
				send_copy(time, corr, random_below(300), PASTA_COPY_D2H, 5);
				break;
			case 5:
				send_sync(0, time, random_below(300), PASTA_SYNC_STREAM_WAIT, 0);
				break;
			default:
				send_kernel(0, time, corr, "k", random_below(300));
			}
		}
		assert_int_equal(finish(), 0);
		check_sums();
		start_over(NULL);
	}
}

static void many_devices_and_threads_need_bounded_memory(void **state)
{
	for (uint32_t i = 0; i < 70000; i++) {
		struct pasta_event ev = kernel_event(0, 1000 + i, 0, "k", 1);

		ev.kernel.device = i;
		send_event(&ev);
		send_launch(0, i, 1000 + i, i, "k");
	}
	assert_int_equal(finish(), 0);
	check_sums();
	assert_non_null(usage(0, 255));
	assert_null(usage(0, 256));
	assert_int_equal(window(0)->launches, 70000);
}

static void many_kernels_share_a_row_without_a_name(void **state)
{
	const struct pasta_busy *b;
	uint64_t rows = 0, rest = 0;
	char name[20];

	for (int i = 0; i < 70000; i++) {
		snprintf(name, sizeof(name), "kernel %d", i);
		send_kernel(0, 1000 + 10 * (uint64_t)i, 0, name, 10);
	}
	assert_int_equal(finish(), 0);
	check_sums();
	for (size_t at = 0; (b = pasta_diagnosis_busy(diagnosis, &at)); rows++)
		rest += b->kernel ? 0 : b->count;
	assert_int_equal(rows, 65536 + 1);
	assert_int_equal(rest, 70000 - 65536);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_late_launch_outside_of_operators_is_host),
		TEST(a_late_launch_in_operators_is_dispatch),
		TEST(a_call_of_the_api_is_dispatch),
		TEST(time_of_another_thread_does_not_count),
		TEST(time_in_a_data_loader_is_data),
		TEST(time_in_an_allocation_is_allocator),
		TEST(time_in_a_load_of_code_is_loading),
		TEST(the_longest_activity_is_the_cause),
		TEST(a_wait_at_the_beginning_is_sync),
		TEST(a_wait_that_ended_earlier_is_not_sync),
		TEST(a_wait_before_most_of_a_data_loader_is_data),
		TEST(a_wait_without_a_thread_is_of_a_thread_that_recorded_nothing),
		TEST(a_copy_that_blocks_its_thread_is_sync),
		TEST(a_stream_that_waits_for_another_is_dependency),
		TEST(a_short_gap_between_queued_kernels_is_kernels),
		TEST(the_threshold_is_twice_the_usual_gap),
		TEST(work_without_a_launch_is_unknown),
		TEST(rows_of_waits_combine_the_modules_of_a_layer),
		TEST(computing_precedes_communication_and_communication_precedes_copies),
		TEST(transfers_have_the_time_in_which_nothing_else_runs),
		TEST(few_steps_all_count),
		TEST(the_first_two_of_five_steps_do_not_count),
		TEST(a_last_step_without_a_launch_is_part_of_its_predecessor),
		TEST(other_loops_and_threads_begin_no_steps),
		TEST(calls_of_an_optimizer_end_steps),
		TEST(iterations_replace_the_steps_of_an_optimizer),
		TEST(without_steps_the_window_is_all_work),
		TEST(a_run_without_work_has_no_window),
		TEST(times_at_the_limits_do_not_overflow),
		TEST(events_out_of_order_leave_the_sums_exact),
		TEST(many_devices_and_threads_need_bounded_memory),
		TEST(many_kernels_share_a_row_without_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
