/* test_python_flame.c - tests tool python_flame with made-up events. */
/* labels: onethread */
#define LEAVES 512
#include "../../tools/python_flame.c"

#include "unit/tooltest.h"

#include "sink/sink.h"
#include "unit/torchevents.h"

/* Returns the chart as folded stacks, one per line. */
static const char *folded(void)
{
	static char text[1 << 20];
	const struct pasta_chart *c = result.outs[0]->charts[0];
	size_t at = 0;

	text[0] = '\0';
	for (size_t i = 0; i < c->used; i++) {
		char *line = pasta_folded_text(&c->items[i]);

		assert_non_null(line);
		assert_true(at + strlen(line) + 32 < sizeof(text));
		at += (size_t)sprintf(text + at, "%s %lld\n", line,
				      (long long)c->items[i].stack.value);
		free(line);
	}
	return text;
}

/* -- Tests -- */

static void device_time_is_that_of_the_line_the_operator_and_the_kernel(void **state)
{
	uint32_t main_ = call(0, "<module>", "/w/train.py", 20);
	uint32_t forward = call(main_, "forward", "/w/net.py", 7);
	uint32_t built = call(forward, "<built-in method mm>", NULL, 0);
	const struct op linear = {.name = "linear", .tid = 1, .id = 1, .stack = built};
	const struct op addmm = {.name = "addmm", .tid = 1, .id = 2, .flags = PASTA_OP_STACK_SAME};
	const struct op zero = {.name = "zero_", .tid = 1, .id = 3, .stack = main_};

	(void)state;
	begin_op(0, &linear);
	begin_op(1, &addmm);
	run_kernel(2, 0, 1, 1, "gemm", 60);
	run_kernel(3, 0, 1, 2, "gemm", 10);
	end_op(4, &addmm);
	run_kernel(5, 0, 1, 3, "bias", 5);
	end_op(6, &linear);
	begin_op(7, &zero);
	run_kernel(8, 0, 1, 4, "fill", 25);
	end_op(9, &zero);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("lines"), "forward /w/net.py 7 75 75 0 3 75.00\n"
					    "<module> /w/train.py 20 25 100 0 1 25.00\n");
	assert_string_equal(folded(),
			    "<module> (train.py:20);forward (net.py:7);<built-in method mm>;"
			    "linear;addmm;gemm 70\n"
			    "<module> (train.py:20);forward (net.py:7);<built-in method mm>;"
			    "linear;bias 5\n"
			    "<module> (train.py:20);zero_;fill 25\n");
	assert_string_equal(
		finding(0),
		"100.0% of device time is attributed to an operator, 100.0% to a Python line");
	assert_string_equal(finding(1), "");
}

static void the_backward_pass_is_a_frame_of_the_forward_line(void **state)
{
	uint32_t forward = call(0, "forward", "/w/net.py", 7);
	const struct op linear = {.name = "addmm", .tid = 1, .id = 1, .seq = 4, .stack = forward};
	const struct op back = {.name = "AddmmBackward0", .tid = 2, .id = 2, .seq = 4};
	const struct op mm = {.name = "mm", .tid = 2, .id = 3};

	(void)state;
	begin_op(0, &linear);
	run_kernel(1, 0, 1, 1, "gemm", 10);
	end_op(2, &linear);
	begin_op(3, &back);
	begin_op(4, &mm);
	run_kernel(5, 0, 2, 2, "gemm_nt", 30);
	end_op(6, &mm);
	end_op(7, &back);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("lines"), "forward /w/net.py 7 40 40 30 2 100.00\n");
	assert_string_equal(folded(), "forward (net.py:7);(backward);AddmmBackward0;mm;gemm_nt 30\n"
				      "forward (net.py:7);addmm;gemm 10\n");
}

static void what_autograd_runs_after_a_backward_function_is_of_its_forward_line(void **state)
{
	uint32_t forward = call(0, "forward", "/w/net.py", 7);
	const struct op linear = {.name = "addmm", .tid = 1, .id = 1, .seq = 4, .stack = forward};
	const struct op engine = {.name = "evaluate_function", .tid = 2, .id = 2};
	const struct op back = {
		.name = "AddmmBackward0", .tid = 2, .id = 3, .seq = 4, .flags = PASTA_OP_BACKWARD};
	const struct op sum = {.name = "sum", .tid = 2, .id = 4};
	const struct op other = {.name = "evaluate_function", .tid = 2, .id = 5};

	(void)state;
	begin_op(0, &linear);
	end_op(1, &linear);
	begin_op(2, &engine);
	run_kernel(3, 0, 2, 1, "before", 1);
	begin_op(4, &back);
	end_op(5, &back);
	begin_op(6, &sum);
	run_kernel(7, 0, 2, 2, "reduce", 30);
	end_op(8, &sum);
	end_op(9, &engine);
	begin_op(10, &other);
	run_kernel(11, 0, 2, 3, "later", 2);
	end_op(12, &other);
	assert_int_equal(finish(), 0);
	assert_string_equal(folded(),
			    "(no Python line);evaluate_function;before 1\n"
			    "(no Python line);evaluate_function;later 2\n"
			    "forward (net.py:7);(backward);evaluate_function;sum;reduce 30\n");
}

static void begin_region(uint64_t time, uint32_t tid, const char *name)
{
	struct pasta_event ev = EVENT(region, REGION, 0, tid, time);

	ev.sub = PASTA_REGION_BEGIN;
	ev.region.name = id(name);
	send_event(&ev);
}

static void end_region(uint64_t time, uint32_t tid)
{
	struct pasta_event ev = EVENT(region, REGION, 0, tid, time);

	ev.sub = PASTA_REGION_END;
	send_event(&ev);
}

/* Thread 1 runs from 0 to 150; the times of its stacks add up to 150. Thread 2 runs only operators
 * of the backward pass: the time between them does not count. */
static void each_ns_of_the_host_has_the_operator_or_region_that_ran(void **state)
{
	uint32_t main_ = call(0, "<module>", "/w/train.py", 20);
	uint32_t net = call(main_, "forward", "/w/net.py", 7);
	uint32_t forward = call(net, "linear", "/usr/lib/python3/dist-packages/torch/f.py", 9);
	const struct op linear = {.name = "linear", .tid = 1, .id = 1, .seq = 4, .stack = forward};
	const struct op addmm = {.name = "addmm", .tid = 1, .id = 2, .flags = PASTA_OP_STACK_SAME};
	const struct op zero = {.name = "zero_", .tid = 1, .id = 3, .stack = main_};
	const struct op back = {
		.name = "AddmmBackward0", .tid = 2, .id = 4, .seq = 4, .flags = PASTA_OP_BACKWARD};
	const struct op again = {
		.name = "AddmmBackward0", .tid = 2, .id = 5, .seq = 4, .flags = PASTA_OP_BACKWARD};

	(void)state;
	start_over("python_flame.time=host");
	begin_region(0, 1, "step");
	begin_op(10, &linear);
	begin_op(12, &addmm);
	begin_region(14, 1, "inside"); /* a region in an operator is part of the operator */
	end_region(15, 1);
	run_kernel(15, 0, 1, 1, "gemm", 1000);
	end_op(40, &addmm);
	end_op(50, &linear);
	end_region(70, 1);
	begin_op(100, &zero);
	end_op(105, &zero);
	begin_op(106, &back);
	end_op(126, &back);
	begin_op(130, &again);
	end_op(137, &again);
	begin_region(138, 1, "step");
	end_region(150, 1);
	assert_int_equal(finish(), 0);
	/* outside: 30 (70 to 100) + 33 (105 to 138) in no region, and 30 + 12 in region step */
	assert_string_equal(
		folded(), "(outside operators) 63\n"
			  "(outside operators);step 42\n"
			  "<module> (train.py:20);forward (net.py:7);linear (f.py:9);(backward);"
			  "AddmmBackward0 27\n"
			  "<module> (train.py:20);forward (net.py:7);linear (f.py:9);linear 12\n"
			  "<module> (train.py:20);forward (net.py:7);linear (f.py:9);linear;addmm "
			  "28\n"
			  "<module> (train.py:20);zero_ 5\n");
	assert_string_equal(table("lines"),
			    "(outside operators)  - 105 105 0 0 59.32\n"
			    "forward /w/net.py 7 67 67 27 4 37.85\n"
			    "<module> /w/train.py 20 5 72 0 1 2.82\n"
			    "linear /usr/lib/python3/dist-packages/torch/f.py 9 0 67 "
			    "0 0 0.00\n");
	assert_string_equal(finding(0),
			    "40.7% of host time is in operators, 40.7% has a Python line");
	assert_string_equal(finding(1), "");
	start_over("python_flame.time=device");
}

static void host_time_with_an_unknown_end_counts_nowhere(void **state)
{
	const struct op open = {.name = "f", .tid = 1, .id = 1};
	const struct op add = {.name = "add", .tid = 1, .id = 2};

	(void)state;
	start_over("python_flame.time=host");
	begin_op(0, &open);
	begin_op(10, &add);
	end_op(15, &add);
	begin_region(20, 3, "r");
	assert_int_equal(finish(), 0);
	assert_string_equal(folded(), "(no Python line);f;add 5\n");
	start_over("python_flame.time=host");
	assert_int_equal(finish(), 0);
	assert_string_equal(finding(0), "no host time");
	start_over("python_flame.time=device");
}

static void a_run_without_device_time_has_a_note(void **state)
{
	const struct op add = {.name = "add", .tid = 1, .id = 1};

	(void)state;
	begin_op(0, &add);
	end_op(1, &add);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("lines"), "");
	assert_string_equal(finding(0), "no device time");
}

static void what_has_no_operator_no_line_or_no_launch_has_rows_of_its_own(void **state)
{
	const struct op plain = {.name = "mm", .tid = 1, .id = 1};
	const struct op text = {
		.name = "exec", .tid = 1, .id = 2, .stack = call(0, "f", "<string>", 3)};
	const struct op lined = {
		.name = "add", .tid = 1, .id = 3, .stack = call(0, "f", "f.py", 3)};

	(void)state;
	run_kernel(0, 0, 1, 1, "k", 10);
	begin_op(1, &plain);
	run_kernel(2, 0, 1, 2, "k", 20);
	end_op(3, &plain);
	begin_op(4, &text);
	run_kernel(5, 0, 1, 3, "k", 30);
	end_op(6, &text);
	begin_op(7, &lined);
	run_kernel(8, 0, 1, 4, "k", 100);
	end_op(9, &lined);
	send_kernel(0, 20000000, 99, "k", 40);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("lines"), "f f.py 3 100 100 0 1 50.00\n"
					    "(no Python line)  - 50 50 0 2 25.00\n"
					    "(launch not known)  - 40 40 0 1 20.00\n"
					    "(no operator)  - 10 10 0 1 5.00\n");
	assert_string_equal(folded(), "(launch not known);k 40\n"
				      "(no Python line);f (<string>:3);exec;k 30\n"
				      "(no Python line);mm;k 20\n"
				      "(no operator);k 10\n"
				      "f (f.py:3);add;k 100\n");
	assert_string_equal(
		finding(0),
		"75.0% of device time is attributed to an operator, 50.0% to a Python line");
}

static void a_function_that_calls_itself_counts_once(void **state)
{
	uint32_t f = call(0, "f", "f.py", 3), g = call(f, "g", "f.py", 9),
		 ff = call(g, "f", "f.py", 3);
	const struct op op = {.name = "mm", .tid = 1, .id = 1, .stack = ff};

	(void)state;
	begin_op(0, &op);
	run_kernel(1, 0, 1, 1, "k", 10);
	run_kernel(2, 0, 1, 2, "l", 10);
	end_op(3, &op);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("lines"), "f f.py 3 20 20 0 2 100.00\ng f.py 9 0 20 0 0 0.00\n");
}

static void copies_and_fills_are_there_if_asked_for(void **state)
{
	struct pasta_event copy = EVENT(copy, COPY, 0, 0, 5), fill = EVENT(set, SET, 0, 0, 6);
	const struct op op = {.name = "to", .tid = 1, .id = 1, .stack = call(0, "f", "f.py", 3)};

	(void)state;
	copy.sub = PASTA_COPY_H2D;
	copy.copy.corr = 1;
	copy.copy.dur = 7;
	fill.set.corr = 2;
	fill.set.dur = 2;
	for (int round = 0; round < 2; round++) {
		start_over(round ? "python_flame.copies=yes" : NULL);
		begin_op(0, &op);
		send_launch(0, 1, 1, 1, NULL);
		send_launch(0, 1, 2, 2, NULL);
		end_op(3, &op);
		send_event(&copy);
		send_event(&fill);
		assert_int_equal(finish(), 0);
		assert_string_equal(folded(), round ? "f (f.py:3);to;[copy h2d] 7\n"
						      "f (f.py:3);to;[fill] 2\n"
						    : "");
		assert_string_equal(table("lines"), round ? "f f.py 3 9 9 0 2 100.00\n" : "");
	}
}

static void past_the_limit_work_is_merged_and_still_counts(void **state)
{
	char name[16];

	(void)state;
	for (uint64_t i = 1; i <= 2 * LEAVES; i++) {
		snprintf(name, sizeof(name), "k%llu", (unsigned long long)i);
		run_kernel(i, 0, 1, i, name, 2);
	}
	assert_int_equal(finish(), 0);
	assert_string_equal(table("lines"), "(no operator)  - 1024 1024 0 512 50.00\n"
					    "(other)  - 1024 1024 0 512 50.00\n");
	assert_string_equal(finding(1), "work that is counted as (other): 512");
}

/* -- Random runs, against a recount with a list of all kernels -- */

enum { STACKS = 12, KERNELS = 300, THREADS = 3, DEPTH = 4 };

static struct recount {
	uint64_t self[STACKS + 1], back[STACKS + 1], kernels[STACKS + 1], total[STACKS + 1];
	uint64_t none, no_op, all;
} counted;
static uint32_t stacks[STACKS + 1];	/* from 1; the caller of stack n is n / 2 */
static uint64_t forward_of[1 << 16][2]; /* number of a stack, by process and sequence number */

static void make_stacks(void)
{
	for (uint32_t i = 1; i <= STACKS; i++)
		stacks[i] = call(stacks[i / 2], "f", "f.py", i);
}

static void count_kernel(uint32_t stack, bool op, bool back, uint64_t ns)
{
	counted.all += ns;
	if (!stack) {
		*(op ? &counted.none : &counted.no_op) += ns;
		return;
	}
	counted.self[stack] += ns;
	counted.back[stack] += back ? ns : 0;
	counted.kernels[stack]++;
	for (; stack; stack /= 2)
		counted.total[stack] += ns;
}

/* Threads 1 and 2 run Python; 3 runs the backward pass. */
static void random_run(uint32_t proc)
{
	struct {
		struct op op;
		uint32_t stack;
		bool back, joined;
	} open[THREADS + 1][DEPTH + 1] = {0}, *top;
	size_t depth[THREADS + 1] = {0};
	uint64_t seq = 0, op = 0, time = 0;

	for (uint64_t kernels = 0; kernels < KERNELS; time++) {
		uint32_t t = 1 + (uint32_t)random_below(THREADS);
		uint64_t ns = 1 + random_below(1000), what = random_below(3);

		top = &open[t][depth[t]];
		if (what == 0 && depth[t]) {
			end_op(time, &top->op);
			if (--depth[t] && top->joined && !top[-1].joined) {
				top[-1].stack = top->stack;
				top[-1].back = true;
			}
		} else if (what == 1 && depth[t] < DEPTH) {
			top[1].op = (struct op){.name = "op", .proc = proc, .tid = t, .id = ++op};
			top[1].stack = depth[t] ? top->stack : 0;
			top[1].back = depth[t] && top->back;
			top[1].joined = false;
			if (t < THREADS) {
				top[1].stack = 1 + (uint32_t)random_below(STACKS);
				top[1].op.stack = stacks[top[1].stack];
				top[1].op.seq = ++seq;
				forward_of[seq][proc] = top[1].stack;
			} else if (seq && random_below(4)) {
				top[1].op.seq = 1 + random_below(seq);
				top[1].stack = (uint32_t)forward_of[top[1].op.seq][proc];
				top[1].back = top[1].joined = true;
			}
			depth[t]++;
			begin_op(time, &top[1].op);
		} else if (what == 2) {
			kernels++;
			count_kernel(depth[t] ? top->stack : 0, depth[t], depth[t] && top->back,
				     ns);
			run_kernel(time, proc, t, kernels, "k", ns);
		}
	}
}

static void check_recount(void)
{
	const struct pasta_table *t = table_of("lines");
	uint64_t seen = 0;

	for (size_t row = 0; row < pasta_table_rows(t); row++) {
		const union pasta_value *line = pasta_table_cell(t, row, 2);
		uint64_t self = (uint64_t)pasta_table_cell(t, row, 3)->i;

		seen += self;
		if (!line) {
			const char *name = pasta_table_cell(t, row, 0)->s;

			assert_property(self == (strcmp(name, "(no operator)") ? counted.none
									       : counted.no_op));
			continue;
		}
		assert_property(self == counted.self[line->i]);
		assert_property((uint64_t)pasta_table_cell(t, row, 4)->i == counted.total[line->i]);
		assert_property((uint64_t)pasta_table_cell(t, row, 5)->i == counted.back[line->i]);
		assert_property((uint64_t)pasta_table_cell(t, row, 6)->i ==
				counted.kernels[line->i]);
	}
	assert_property(seen == counted.all);
}

static void all_numbers_equal_a_recount(void **state)
{
	(void)state;
	for (int round = 0; round < 20; round++) {
		struct pasta_toolset *whole, *part;
		struct pasta_out *out;

		start_over(NULL);
		memset(&counted, 0, sizeof(counted));
		make_stacks();
		/* One toolset for each process, merged; or one for both. */
		whole = toolset;
		out = result.outs[0];
		for (uint32_t proc = 0; proc < 2; proc++) {
			if (round % 2 == 0) {
				random_run(proc);
				continue;
			}
			part = pasta_toolset_new(&choice, &out, PASTA_TOOLSET_ALL);
			assert_non_null(part);
			pasta_toolset_open(part);
			toolset = part;
			random_run(proc);
			pasta_toolset_merge(whole, part);
			pasta_toolset_free(part);
			toolset = whole;
		}
		assert_int_equal(finish(), 0);
		check_recount();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(device_time_is_that_of_the_line_the_operator_and_the_kernel),
		TEST(the_backward_pass_is_a_frame_of_the_forward_line),
		TEST(what_autograd_runs_after_a_backward_function_is_of_its_forward_line),
		TEST(each_ns_of_the_host_has_the_operator_or_region_that_ran),
		TEST(host_time_with_an_unknown_end_counts_nowhere),
		TEST(a_run_without_device_time_has_a_note),
		TEST(what_has_no_operator_no_line_or_no_launch_has_rows_of_its_own),
		TEST(a_function_that_calls_itself_counts_once),
		TEST(copies_and_fills_are_there_if_asked_for),
		TEST(past_the_limit_work_is_merged_and_still_counts),
		TEST(all_numbers_equal_a_recount),
	};

	random_begin();
	return cmocka_run_group_tests_name("python_flame", tests, NULL, NULL);
}
