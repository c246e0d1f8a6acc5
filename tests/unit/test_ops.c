/* test_ops.c - tests tool ops with made-up events. */
/* labels: onethread */
#define NODES 4096
#include "../../tools/ops.c"

#include "unit/tooltest.h"

#include "process/join/sourceline.h"
#include "unit/torchevents.h"

/* Begins an operator with inputs and a stack. */
static void begin_with(uint32_t proc, uint64_t time, uint64_t op, const char *name,
		       const char *inputs, uint32_t stack)
{
	struct pasta_event ev = EVENT(op_begin, OP_BEGIN, proc, 1, time);

	ev.op_begin.id = op;
	ev.op_begin.name = id(name);
	ev.op_begin.inputs = id(inputs);
	ev.op_begin.stack = stack;
	send_event(&ev);
}

static void begin(uint64_t time, uint64_t op, const char *name)
{
	begin_with(0, time, op, name, NULL, 0);
}

static void end_in(uint32_t proc, uint64_t time, uint64_t op)
{
	struct pasta_event ev = EVENT(op_end, OP_END, proc, 1, time);

	ev.op_end.id = op;
	send_event(&ev);
}

static void end(uint64_t time, uint64_t op)
{
	end_in(0, time, op);
}

/* Emits a launch and a kernel that runs at once. */
static void kernel(uint64_t time, uint64_t corr, uint64_t dur)
{
	send_launch(0, 1, time, corr, "k");
	send_kernel(0, time, corr, "k", dur);
}

static void copy(uint32_t proc, uint64_t time, uint64_t corr, uint64_t dur)
{
	struct pasta_event ev = EVENT(copy, COPY, proc, 0, time);

	ev.copy.corr = corr;
	ev.copy.dur = dur;
	send_event(&ev);
}

static const char *evidence(size_t i)
{
	return i < result.outs[0]->finding_count ? result.outs[0]->findings[i].evidence : "";
}

/* -- Tests -- */

static void a_launch_belongs_to_the_innermost_operator_and_to_all_around_it(void **state)
{
	struct pasta_event fill = EVENT(set, SET, 0, 0, 55);

	(void)state;
	begin(0, 1, "linear");
	kernel(5, 1, 1);
	begin(10, 2, "addmm");
	kernel(15, 2, 100);
	send_launch(0, 1, 16, 3, NULL);
	send_launch(0, 1, 17, 4, NULL);
	end(20, 2);
	end(30, 1);
	begin(40, 3, "addmm");
	end(45, 3);
	copy(0, 50, 3, 7);
	fill.set.corr = 4;
	fill.set.dur = 2;
	send_event(&fill);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("ops"), "addmm 2 15 15 42.86 100 100 9 99.01\n"
					  "linear 1 30 20 57.14 1 101 9 0.99\n");
	assert_null(table("ops_shapes"));
	assert_null(table("ops_lines"));
	assert_string_equal(finding(0), "");
}

static void nested_calls_of_one_name_count_their_time_once(void **state)
{
	(void)state;
	begin(0, 1, "f");
	begin(10, 2, "g");
	begin(20, 3, "f");
	kernel(25, 1, 50);
	end(30, 3);
	kernel(35, 2, 3);
	end(40, 2);
	end(100, 1);
	begin(200, 4, "g");
	end(201, 4);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("ops"), "f 2 100 80 79.21 50 53 0 94.34\n"
					  "g 2 31 21 20.79 3 53 0 5.66\n");
}

static void inputs_are_distinct_and_are_keys_of_their_own(void **state)
{
	(void)state;
	begin_with(0, 0, 1, "mm", "float[2,3]", 0);
	begin_with(0, 1, 2, "mm", "float[9]", 0);
	kernel(2, 1, 10);
	end(3, 2);
	end(10, 1);
	begin_with(0, 20, 3, "mm", "float[9]", 0);
	end(21, 3);
	begin(30, 4, "empty");
	end(35, 4);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("ops"), "mm 3 11 11 68.75 10 10 0 100.00\n"
					  "empty 1 5 5 31.25 0 0 0 0.00\n");
	assert_string_equal(table("ops_shapes"), "mm float[9] 2 3 3 18.75 10 10 0 100.00\n"
						 "mm float[2,3] 1 10 8 50.00 0 10 0 0.00\n"
						 "empty  1 5 5 31.25 0 0 0 0.00\n");
	assert_null(table("ops_lines"));
}

static void a_line_is_that_of_the_innermost_function_in_a_file(void **state)
{
	uint32_t step = call(call(0, "<module>", "/w/train.py", 90), "step", "/w/train.py", 12);
	uint32_t module = call(step, "nn.Module: Linear_0", NULL, 0);
	uint32_t forward = call(module, "forward", "/lib/linear.py", 125);
	uint32_t built = call(forward, "<built-in function linear>", NULL, 0);

	(void)state;
	begin_with(0, 0, 1, "linear", NULL, built);
	kernel(1, 1, 10);
	end(10, 1);
	begin_with(0, 20, 2, "linear", NULL, forward); /* another path, the same line */
	end(25, 2);
	begin_with(0, 30, 3, "zero_", NULL, call(module, "f", "<string>", 1));
	end(33, 3);
	begin_with(0, 40, 4, "zero_", NULL, call(0, "<built-in function zeros>", NULL, 0));
	end(41, 4);
	begin(50, 5, "zero_"); /* as on a backward thread */
	end(51, 5);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("ops_lines"),
			    "forward (linear.py:125) linear 2 15 15 75.00 10 10 0 100.00\n"
			    "step (train.py:12) zero_ 1 3 3 15.00 0 0 0 0.00\n"
			    "(unknown) zero_ 2 2 2 10.00 0 0 0 0.00\n");
	assert_string_equal(table("ops"), "linear 2 15 15 75.00 10 10 0 100.00\n"
					  "zero_ 3 5 5 25.00 0 0 0 0.00\n");
}

static void a_line_of_the_program_has_precedence_over_lines_of_libraries(void **state)
{
	uint32_t step = call(0, "step", "/w/train.py", 12);
	uint32_t module = call(step, "forward", "/v/lib/python3.11/site-packages/net/linear.py", 9);
	uint32_t linear = call(module, "linear", "/usr/lib/python3/dist-packages/torch/f.py", 7);
	uint32_t alone = call(0, "run", "/usr/lib/python3.11/threading.py", 3);

	(void)state;
	for (int library = 0; library < 2; library++) {
		start_over(NULL);
		pasta_sourceline_prefer_library(library);
		begin_with(0, 0, 1, "mm", NULL, linear);
		end(3, 1);
		begin_with(0, 4, 2, "add", NULL,
			   call(alone, "get", "/usr/lib/python3.11/queue.py", 8));
		end(5, 2);
		assert_int_equal(finish(), 0);
		assert_string_equal(table("ops_lines"),
				    library ? "linear (f.py:7) mm 1 3 3 75.00 0 0 0 0.00\n"
					      "get (queue.py:8) add 1 1 1 25.00 0 0 0 0.00\n"
					    : "step (train.py:12) mm 1 3 3 75.00 0 0 0 0.00\n"
					      "get (queue.py:8) add 1 1 1 25.00 0 0 0 0.00\n");
	}
	pasta_sourceline_prefer_library(false);
}

static void the_backward_pass_has_the_line_of_the_forward_operator(void **state)
{
	const struct op forward = {
		.name = "mm", .tid = 1, .id = 1, .seq = 4, .stack = call(0, "f", "f.py", 3)};
	const struct op backward = {.name = "MmBackward0",
				    .tid = 1,
				    .id = 2,
				    .seq = 4,
				    .stack = call(0, "train", "f.py", 9),
				    .flags = PASTA_OP_BACKWARD};

	(void)state;
	begin_op(0, &forward);
	end_op(1, &forward);
	begin_op(2, &backward);
	end_op(5, &backward);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("ops_lines"), "f (f.py:3) MmBackward0 1 3 3 75.00 0 0 0 0.00\n"
						"f (f.py:3) mm 1 1 1 25.00 0 0 0 0.00\n");
}

static void files_of_one_name_differ_by_their_paths(void **state)
{
	(void)state;
	begin_with(0, 0, 1, "mm", NULL, call(0, "f", "/a/model.py", 3));
	end(1, 1);
	begin_with(0, 10, 2, "mm", NULL, call(0, "f", "/b/model.py", 3));
	end(12, 2);
	begin_with(0, 20, 3, "mm", NULL, call(0, "f", "/b/model.py", 4));
	end(23, 3);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("ops_lines"), "f (model.py:4) mm 1 3 3 50.00 0 0 0 0.00\n"
						"f (/b/model.py:3) mm 1 2 2 33.33 0 0 0 0.00\n"
						"f (/a/model.py:3) mm 1 1 1 16.67 0 0 0 0.00\n");
}

static void tables_can_be_left_out(void **state)
{
	(void)state;
	start_over("ops.inputs=no");
	start_over("ops.lines=no");
	begin_with(0, 0, 1, "mm", "float[2]", call(0, "f", "f.py", 3));
	end(1, 1);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("ops"), "mm 1 1 1 100.00 0 0 0 0.00\n");
	assert_null(table("ops_shapes"));
	assert_null(table("ops_lines"));
	assert_int_equal(pasta_choice_set(&choice, "ops.lines=maybe", NULL), -EINVAL);
}

/* -- Modules -- */

static void modules_have_the_time_of_those_in_them_and_of_their_backward_pass(void **state)
{
	const struct op a = {.name = "mm", .module = "net.0.linear", .tid = 1, .id = 1, .seq = 1};
	const struct op in = {.name = "t", .tid = 1, .id = 2};
	const struct op b = {.name = "relu", .module = "net.1", .tid = 1, .id = 3, .seq = 2};
	const struct op loss = {.name = "mean", .tid = 1, .id = 4};
	const struct op back = {.name = "MmBackward0", .tid = 2, .id = 5, .seq = 1};

	(void)state;
	begin_op(0, &a);
	begin_op(1, &in);
	run_kernel(2, 0, 1, 1, "k", 100);
	end_op(3, &in);
	end_op(10, &a);
	begin_op(11, &b);
	run_kernel(12, 0, 1, 2, "k", 20);
	end_op(14, &b);
	begin_op(15, &loss);
	run_kernel(16, 0, 1, 3, "k", 30);
	end_op(17, &loss);
	begin_op(18, &back);
	run_kernel(19, 0, 2, 4, "k", 50);
	end_op(23, &back);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("modules"), "net 1 4 18 0 170 50 85.00\n"
					      "net.0 1 3 15 0 150 50 75.00\n"
					      "net.0.linear 1 3 15 150 150 50 75.00\n"
					      "net.1 1 1 3 20 20 0 10.00\n");
}

static void a_module_is_called_when_a_thread_comes_to_it(void **state)
{
	static const struct {
		const char *module;
		uint64_t iteration;
	} steps[] = {
		{"a.x", 0}, {"a.x", 0}, {"a.y", 0}, {"b", 0},  {"a.x", 0},
		{NULL, 0},  {"a.x", 0}, {"a.x", 1}, {"ab", 1},
	};

	(void)state;
	for (uint64_t i = 0, now = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		const struct op op = {
			.name = "op", .module = steps[i].module, .tid = 1, .id = i + 1};

		if (steps[i].iteration > now)
			iterate(10 * i, 0, now = steps[i].iteration);
		begin_op(10 * i + 1, &op);
		end_op(10 * i + 2, &op);
	}
	assert_int_equal(finish(), 0);
	assert_string_equal(table("modules"), "a 4 6 6 0 0 0 0.00\n"
					      "a.x 4 5 5 0 0 0 0.00\n"
					      "a.y 1 1 1 0 0 0 0.00\n"
					      "ab 1 1 1 0 0 0 0.00\n"
					      "b 1 1 1 0 0 0 0.00\n");
}

static void an_operator_in_another_of_its_module_counts_its_time_once(void **state)
{
	const struct op outer = {.name = "f", .module = "a.x", .tid = 1, .id = 1};
	const struct op inner = {.name = "g", .module = "a.y", .tid = 1, .id = 2};

	(void)state;
	begin_op(0, &outer);
	begin_op(10, &inner);
	end_op(15, &inner);
	end_op(20, &outer);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("modules"), "a 1 2 20 0 0 0 0.00\n"
					      "a.x 1 1 20 0 0 0 0.00\n"
					      "a.y 1 1 5 0 0 0 0.00\n");
}

static void a_path_of_very_many_modules_takes_little_memory(void **state)
{
	const size_t length = 1 << 20;
	char *path = malloc(length + 1);
	const struct op op = {.name = "f", .module = path, .tid = 1, .id = 1};

	(void)state;
	assert_non_null(path);
	memset(path, '.', length);
	path[0] = 'a';
	path[length] = '\0';
	begin_op(0, &op);
	end_op(20, &op);
	free(path);
	assert_int_equal(finish(), 0);
	assert_int_equal(pasta_table_rows(table_of("modules")), 128);
}

/* Random modules, compared with sums over all operators and kernels. */
enum { MODULES = 7, STEPS = 500 };
static const char *const module_names[MODULES] = {"a", "a.b", "a.b.c", "a.bc", "d", "d.e.f", NULL};

static bool within(const char *module, const char *other)
{
	size_t n = strlen(other);

	return module && !strncmp(module, other, n) && (!module[n] || module[n] == '.');
}

static void random_modules_add_up(void **state)
{
	static const char *const all[] = {"a", "a.b", "a.b.c", "a.bc", "d", "d.e", "d.e.f"};
	struct {
		uint64_t ops, host, self, total;
	} sums[7] = {0};
	struct {
		struct op op;
		uint64_t begin;
	} open[8];
	size_t depth = 0;
	uint64_t time = 0, corr = 0;

	(void)state;
	for (uint64_t i = 0; i < STEPS || depth; time += 1 + random_below(9)) {
		uint64_t what = i >= STEPS ? 0 : random_below(3);

		if (what == 0 && depth) {
			const struct op *op = &open[--depth].op;
			const char *around = depth ? open[depth - 1].op.module : NULL;

			end_op(time, op);
			for (int m = 0; m < 7; m++)
				if (within(op->module, all[m]) && !within(around, all[m]))
					sums[m].host += time - open[depth].begin;
		} else if (what == 1 && depth < 8) {
			const char *name = module_names[random_below(MODULES)];

			/* Without a module of its own, it has the enclosing operator's. */
			open[depth].op =
				(struct op){.name = "op", .module = name, .tid = 1, .id = ++i};
			open[depth].begin = time;
			begin_op(time, &open[depth].op);
			if (!name && depth)
				open[depth].op.module = open[depth - 1].op.module;
			for (int m = 0; m < 7; m++)
				sums[m].ops += within(open[depth].op.module, all[m]);
			depth++;
		} else if (what == 2 && depth) {
			const char *name = open[depth - 1].op.module;

			corr++;
			run_kernel(time, 0, 1, corr, "k", corr);
			for (int m = 0; m < 7; m++) {
				sums[m].total += within(name, all[m]) ? corr : 0;
				sums[m].self += name && !strcmp(name, all[m]) ? corr : 0;
			}
		}
	}
	assert_int_equal(finish(), 0);
	assert_int_equal(pasta_table_rows(table_of("modules")), 7);
	for (size_t row = 0; row < 7; row++) {
		const struct pasta_table *t = table_of("modules");
		int m = 0;

		while (strcmp(all[m], pasta_table_cell(t, row, 0)->s))
			m++;
		assert_property((uint64_t)pasta_table_cell(t, row, 2)->i == sums[m].ops);
		assert_property((uint64_t)pasta_table_cell(t, row, 3)->i == sums[m].host);
		assert_property((uint64_t)pasta_table_cell(t, row, 4)->i == sums[m].self);
		assert_property((uint64_t)pasta_table_cell(t, row, 5)->i == sums[m].total);
	}
}

static void modules_of_processes_are_merged(void **state)
{
	struct pasta_toolset *whole = toolset, *part;
	struct pasta_out *out = result.outs[0];

	(void)state;
	for (uint32_t proc = 0; proc < 3; proc++) {
		const struct op op = {.name = "op",
				      .module = proc ? "a.b" : "a",
				      .proc = proc,
				      .tid = 1,
				      .id = 1};

		part = pasta_toolset_new(&choice, &out, PASTA_TOOLSET_ALL);
		assert_non_null(part);
		pasta_toolset_open(part);
		toolset = part;
		begin_op(0, &op);
		run_kernel(1, proc, 1, 1, "k", 10);
		end_op(5, &op);
		pasta_toolset_merge(whole, part);
		pasta_toolset_free(part);
	}
	toolset = whole;
	assert_int_equal(finish(), 0);
	assert_string_equal(table("modules"), "a 3 3 15 10 30 0 100.00\n"
					      "a.b 2 2 10 20 20 0 66.67\n");
}

static void work_that_belongs_to_no_operator_is_reported_with_its_reason(void **state)
{
	(void)state;
	kernel(0, 1, 2000000);		    /* outside of all operators */
	send_kernel(0, 1, 99, "k", 500000); /* no launch */
	begin(10, 1, "mm");
	kernel(15, 2, 7500000);
	end(20, 1);
	send_launch(0, 2, 25, 3, "k"); /* another thread */
	copy(0, 30, 3, 1000000);
	copy(0, 30, 98, 1000000);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("ops"), "mm 1 10 10 100.00 7500000 7500000 0 75.00\n");
	assert_string_equal(finding(0), "kernels launched outside of all operators: 1");
	assert_string_equal(evidence(0), "2.000 ms (20.0% of the total time) are in no row");
	assert_string_equal(finding(1), "kernels without a known launch: 1");
	assert_string_equal(evidence(1), "0.500 ms (5.0% of the total time) are in no row");
	assert_string_equal(finding(2), "copies and fills without an operator: 2");
	assert_string_equal(evidence(2), "2.000 ms (100.0% of the total time) are in no row");
	assert_string_equal(finding(3), "");
}

static void an_operator_without_an_id_has_no_kernels(void **state)
{
	(void)state;
	begin(0, 0, "mm");
	kernel(5, 1, 100);
	end(10, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("ops"), "mm 1 10 10 100.00 0 0 0 0.00\n");
	assert_string_equal(finding(0), "kernels without a known operator: 1");
}

/* Clocks differ: a kernel seems to begin before its launch, and even before its operator. */
static void work_before_its_operator_is_the_operators(void **state)
{
	(void)state;
	send_kernel(0, 5, 1, "k", 100);
	send_kernel(0, 6, 1, "k", 10);
	copy(0, 7, 2, 1);
	begin(10, 1, "mm");
	send_launch(0, 1, 11, 1, "k");
	send_launch(0, 1, 12, 2, NULL);
	end(20, 1);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("ops"), "mm 1 10 10 100.00 110 110 1 100.00\n");
	assert_string_equal(finding(0), "");
}

static void every_node_of_a_graph_is_its_launchs(void **state)
{
	struct pasta_event ev = kernel_event(0, 30, 1, "k", 100);
	struct pasta_event node = EVENT(graph, GRAPH, 0, 1, 5);

	(void)state;
	begin(0, 1, "captured");
	node.graph.node = 1;
	send_event(&node);
	end(10, 1);
	begin(20, 2, "replay");
	send_launch(0, 1, 21, 1, NULL);
	end(25, 2);
	ev.kernel.node = 1;
	send_event(&ev);
	ev.kernel.node = 2;
	send_event(&ev);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("ops"), "replay 1 5 5 33.33 200 200 0 100.00\n"
					  "captured 1 10 10 66.67 0 0 0 0.00\n");
}

static void operators_whose_end_is_missing_are_counted_and_in_no_sum(void **state)
{
	(void)state;
	begin(0, 1, "f");
	begin(10, 2, "g");
	begin(20, 3, "h");
	end(30, 2); /* h has ended, too */
	kernel(50, 1, 5);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("ops"), "f 0 0 0 0.00 5 5 0 100.00\n"
					  "g 1 20 10 100.00 0 0 0 0.00\n");
	assert_string_equal(finding(0), "operators whose end is missing: 2");
}

static void begin_at(uint64_t time, uint64_t op, const char *name, uint32_t depth, uint32_t module)
{
	struct pasta_event ev = EVENT(op_begin, OP_BEGIN, 0, 1, time);

	ev.op_begin.id = op;
	ev.op_begin.name = id(name);
	ev.op_begin.depth = depth;
	ev.op_begin.module = module;
	send_event(&ev);
}

/* Each operator lasts 10 and has a kernel of 3; every fourth lacks its end. */
static void dropped_ends_stretch_no_operator(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 100; i++) {
		begin_at(100 * i, i, "mm", 1, id("net"));
		kernel(100 * i + 1, i, 3);
		if (i % 4)
			end(100 * i + 10, i);
	}
	assert_int_equal(finish(), 0);
	assert_string_equal(table("ops"), "mm 75 750 750 100.00 300 300 0 100.00\n");
	assert_string_equal(table("modules"), "net 1 75 750 300 300 0 100.00\n");
	assert_string_equal(finding(0), "operators whose end is missing: 25");
	assert_string_equal(finding(1), "");
}

static void time_that_runs_backwards_is_never_negative(void **state)
{
	(void)state;
	begin(100, 1, "f");
	end(90, 1);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("ops"), "f 1 0 0 0.00 0 0 0 0.00\n");
}

static void an_open_operator_is_known_however_many_began_since(void **state)
{
	uint64_t i;

	(void)state;
	begin(0, 1, "outer");
	send_launch(0, 1, 1, 1, "k");
	for (i = 2; i < RECENT + 10; i++) {
		begin(i, i, "inner");
		if (i == 2)
			send_launch(0, 1, i, 2, "k");
		end(i, i);
	}
	send_kernel(0, i, 1, "k", 100);
	send_kernel(0, i, 2, "k",
		    11); /* too late: the operator has ended, and too many began after it */
	end(i, 1);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("ops"), "outer 1 262154 262154 100.00 100 100 0 90.09\n"
					  "inner 262152 0 0 0.00 0 0 0 0.00\n");
	assert_string_equal(finding(0), "kernels without a known operator: 1");
}

static void an_id_that_comes_again_is_the_later_operators(void **state)
{
	uint64_t i;

	(void)state;
	begin(0, 1, "first");
	send_launch(0, 1, 1, 1, "k");
	end(2, 1);
	for (i = 2; i < RECENT + 10; i++) {
		begin(i, i, "other");
		end(i, i);
	}
	send_kernel(0, i, 1, "k", 100); /* of the first operator, which has expired */
	begin(i + 1, 1, "second");
	kernel(i + 2, 2, 11);
	end(i + 3, 1);
	assert_int_equal(finish(), 0);
	assert_non_null(strstr(table("ops"), "second 1 2 2 50.00 11 11 0 9.91\n"));
	assert_string_equal(finding(0), "kernels without a known operator: 1");
}

static void past_the_limits_inputs_and_then_operators_are_merged(void **state)
{
	enum { MORE = 100 };
	uint64_t i, calls = 0;
	char text[32];
	const struct pasta_table *t;

	(void)state;
	for (i = 0; i < NODES + MORE; i++) {
		snprintf(text, sizeof(text), "int[%llu]", (unsigned long long)i);
		begin_with(0, i, i + 1, "mm", text, 0);
		if (i == NODES)
			kernel(i, 1, 10);
		end(i + 1, i + 1);
	}
	/* Names past all limits: inside of a known operator, and outside. */
	for (; i < NODES + MORE + NODES / 4 + 5; i++) {
		snprintf(text, sizeof(text), "op %llu", (unsigned long long)i);
		begin_with(0, i, i + 1, "mm", "int[7]", 0);
		begin(i, 1000000 + i, text);
		kernel(i, i, 1);
		end(i + 1, 1000000 + i);
		end(i + 1, i + 1);
	}
	begin(i, 999999, "another");
	kernel(i, i, 100);
	end(i + 1, 999999);
	assert_int_equal(finish(), 0);
	t = table_of("ops_shapes");
	for (size_t row = 0; row < pasta_table_rows(t); row++)
		calls += (uint64_t)pasta_table_cell(t, row, 2)->i;
	/* All but the parts: "(other)" of mm uses one of the nodes. */
	assert_int_equal(calls, NODES + MORE + (NODES / 4 + 5) + (NODES / 4 - 1));
	assert_null(table("ops_lines"));
	assert_non_null(strstr(table("ops_shapes"), "mm (other) 100 100 100 1.91 10 10 0 "));
	assert_non_null(strstr(table("ops"), "mm 5225 5225 4202 80.42 16 1039 0 "));
	assert_string_equal(finding(0), "kernels without a known operator: 1");
	assert_string_equal(finding(1),
			    "calls of operators that are not split by inputs and line: 1123");
	assert_string_equal(finding(2), "calls of operators that count as part of the enclosing "
					"operator: 7");
}

/* -- A recount -- */

enum { RECOUNT_OPS = 3000, RECOUNT_DEPTH = 6, RECOUNT_KEYS = 200, RECOUNT_LINES = 6 };
static const char *const names[] = {"a", "b", "c"}, *const inputs[] = {NULL, "x", "y"};

/* An open operator, or the counts of a key. */
struct counted {
	char keys[3][40];
	uint64_t begin, calls, host, host_self, self, total, copies;
	uint64_t nested; /* ns of the operators that were called directly in this one */
};
static struct counted counted[3][RECOUNT_KEYS];

static struct counted *count_of(int by, const char *key)
{
	struct counted *c = counted[by];

	while (c->keys[0][0] && strcmp(c->keys[0], key))
		c++;
	assert_true(c < counted[by] + RECOUNT_KEYS);
	strcpy(c->keys[0], key);
	return c;
}

/* Returns whether the key differs from all earlier ones. */
static bool is_outermost(const struct counted *open, size_t depth, int by, const char *key)
{
	for (size_t i = 0; i < depth; i++)
		if (!strcmp(open[i].keys[by], key))
			return false;
	return true;
}

static void count_work(const struct counted *open, size_t depth, uint64_t ns, bool is_copy)
{
	for (int by = 0; by < 3; by++)
		for (size_t i = 0; i < depth; i++) {
			const char *key = open[i].keys[by];
			struct counted *c = count_of(by, key);

			c->self += !is_copy && i + 1 == depth ? ns : 0;
			if (is_outermost(open, i, by, key))
				*(is_copy ? &c->copies : &c->total) += ns;
		}
}

static void count_end(struct counted *open, size_t depth, uint64_t time)
{
	const struct counted *last = &open[depth - 1];
	uint64_t ns = time - last->begin;

	if (depth > 1)
		open[depth - 2].nested += ns;
	for (int by = 0; by < 3; by++) {
		struct counted *c = count_of(by, last->keys[by]);

		c->calls++;
		c->host_self += ns - last->nested;
		if (is_outermost(open, depth - 1, by, last->keys[by]))
			c->host += ns;
	}
}

static void open_one(struct counted *c, uint32_t proc, uint64_t time, uint64_t op)
{
	size_t n = random_below(3), i = random_below(3), l = random_below(RECOUNT_LINES);
	/* Each has its own path: only lines matter. */
	uint32_t caller = call(0, "main", "t.py", (uint32_t)random_below(4));

	snprintf(c->keys[0], sizeof(c->keys[0]), "%s", names[n]);
	snprintf(c->keys[1], sizeof(c->keys[1]), "%s %s", names[n], inputs[i] ? inputs[i] : "");
	if (l)
		snprintf(c->keys[2], sizeof(c->keys[2]), "f (t.py:%zu) %s", l, names[n]);
	else
		snprintf(c->keys[2], sizeof(c->keys[2]), "(unknown) %s", names[n]);
	c->begin = time;
	c->nested = 0;
	begin_with(proc, time, op, names[n], inputs[i],
		   l ? call(caller, "f", "t.py", (uint32_t)l) : 0);
}

/* Makes random nests and work of one process. Counts them if requested. */
static void random_ops(uint32_t proc)
{
	struct counted open[RECOUNT_DEPTH];
	uint64_t ids[RECOUNT_DEPTH], time = 1000;
	size_t depth = 0;

	for (uint64_t i = 1; i <= RECOUNT_OPS || depth; i++) {
		bool is_copy = random_below(3) == 0, early = random_below(3) == 0;
		uint64_t ns = random_below(1000);

		time += random_below(100);
		if (i <= RECOUNT_OPS && depth < RECOUNT_DEPTH && random_below(2)) {
			ids[depth] = i;
			open_one(&open[depth++], proc, time, i);
		} else if (depth) {
			count_end(open, depth, time);
			end_in(proc, time, ids[--depth]);
		}
		if (!depth)
			continue;
		count_work(open, depth, ns, is_copy);
		if (!early)
			send_launch(proc, 1, time, i, "k");
		if (is_copy)
			copy(proc, time, i, ns);
		else
			send_kernel(proc, time, i, "k", ns);
		if (early)
			send_launch(proc, 1, time, i, "k");
	}
}

static void compare_with_counted(int by, const char *name)
{
	const struct pasta_table *t = table_of(name);
	size_t at = by ? 2 : 1, keys = 0;
	uint64_t all = 0;
	char key[80];

	assert_non_null(t);
	for (size_t row = 0; row < pasta_table_rows(t); row++) {
		const struct counted *c;

		snprintf(key, sizeof(key), "%s%s%s", pasta_table_cell(t, row, 0)->s, by ? " " : "",
			 by ? pasta_table_cell(t, row, 1)->s : "");
		c = count_of(by, key);
		assert_property(pasta_table_cell(t, row, at)->i == (int64_t)c->calls);
		assert_property(pasta_table_cell(t, row, at + 1)->i == (int64_t)c->host);
		assert_property(pasta_table_cell(t, row, at + 2)->i == (int64_t)c->host_self);
		assert_property(pasta_table_cell(t, row, at + 4)->i == (int64_t)c->self);
		assert_property(pasta_table_cell(t, row, at + 5)->i == (int64_t)c->total);
		assert_property(pasta_table_cell(t, row, at + 6)->i == (int64_t)c->copies);
	}
	for (; counted[by][keys].keys[0][0]; keys++)
		all += counted[by][keys].host_self;
	for (size_t row = 0; row < pasta_table_rows(t); row++)
		assert_property(pasta_table_cell(t, row, at + 3)->f ==
				pasta_percent((uint64_t)pasta_table_cell(t, row, at + 2)->i, all));
	assert_property(keys == pasta_table_rows(t));
}

static void all_numbers_equal_a_recount(void **state)
{
	(void)state;
	memset(counted, 0, sizeof(counted));
	random_ops(0);
	random_ops(1);
	assert_int_equal(finish(), 0);
	compare_with_counted(0, "ops");
	compare_with_counted(1, "ops_shapes");
	compare_with_counted(2, "ops_lines");
	assert_string_equal(finding(0), "");
}

/* One toolset for each process; the result does not depend on the order of merging. */
static void processes_that_are_merged_equal_a_recount(void **state)
{
	struct pasta_toolset *whole = toolset, *part;
	struct pasta_out *out = result.outs[0];

	(void)state;
	memset(counted, 0, sizeof(counted));
	for (uint32_t proc = 3; proc-- > 0;) {
		part = pasta_toolset_new(&choice, &out, PASTA_TOOLSET_ALL);
		assert_non_null(part);
		pasta_toolset_open(part);
		toolset = part;
		random_ops(proc);
		pasta_toolset_merge(whole, part);
		pasta_toolset_free(part);
	}
	toolset = whole;
	assert_int_equal(finish(), 0);
	compare_with_counted(0, "ops");
	compare_with_counted(1, "ops_shapes");
	compare_with_counted(2, "ops_lines");
	assert_string_equal(finding(0), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_launch_belongs_to_the_innermost_operator_and_to_all_around_it),
		TEST(nested_calls_of_one_name_count_their_time_once),
		TEST(inputs_are_distinct_and_are_keys_of_their_own),
		TEST(a_line_is_that_of_the_innermost_function_in_a_file),
		TEST(a_line_of_the_program_has_precedence_over_lines_of_libraries),
		TEST(the_backward_pass_has_the_line_of_the_forward_operator),
		TEST(files_of_one_name_differ_by_their_paths),
		TEST(tables_can_be_left_out),
		TEST(modules_have_the_time_of_those_in_them_and_of_their_backward_pass),
		TEST(a_module_is_called_when_a_thread_comes_to_it),
		TEST(an_operator_in_another_of_its_module_counts_its_time_once),
		TEST(a_path_of_very_many_modules_takes_little_memory),
		TEST(random_modules_add_up),
		TEST(modules_of_processes_are_merged),
		TEST(work_that_belongs_to_no_operator_is_reported_with_its_reason),
		TEST(an_operator_without_an_id_has_no_kernels),
		TEST(work_before_its_operator_is_the_operators),
		TEST(every_node_of_a_graph_is_its_launchs),
		TEST(operators_whose_end_is_missing_are_counted_and_in_no_sum),
		TEST(dropped_ends_stretch_no_operator),
		TEST(time_that_runs_backwards_is_never_negative),
		TEST(an_open_operator_is_known_however_many_began_since),
		TEST(an_id_that_comes_again_is_the_later_operators),
		TEST(past_the_limits_inputs_and_then_operators_are_merged),
		TEST(all_numbers_equal_a_recount),
		TEST(processes_that_are_merged_equal_a_recount),
	};

	random_begin();
	return cmocka_run_group_tests_name("ops", tests, NULL, NULL);
}
