/* test_workset.c - tests how work is divided among operators, kernels and layers, and which chains
 * are found. */
/* labels: onethread */
#include "unit/support.h"

#include "process/diagnosis/kernelkind.h"
#include "process/diagnosis/occupancy.h"
#include "process/diagnosis/peaks.h"
#include "process/diagnosis/workset.h"
#include "process/join/directory.h"

static struct pasta_diagnosis *diagnosis;
static struct pasta_workset *w;
static uint64_t first;

static uint32_t id(const char *name)
{
	return *name ? pasta_strings_add(name, strlen(name)) : 0;
}

static int setup(void **state)
{
	(void)state;
	diagnosis = calloc(1, sizeof(*diagnosis));
	w = diagnosis ? pasta_workset_new() : NULL;
	if (!w)
		return -1;
	diagnosis->work = w;
	first = PASTA_NO_STEP;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pasta_workset_free(w);
	free(diagnosis);
	pasta_directory_fill(NULL);
	return 0;
}

/* -- Events -- */

static void begin_texts(uint64_t op, const char *name, const char *inputs, const char *scalars)
{
	struct pasta_event ev = {.size = PASTA_EVENT_SIZE(op_begin),
				 .kind = PASTA_KIND_OP_BEGIN,
				 .tid = 1,
				 .time = op};
	const struct pasta_where where = {.size = sizeof(where)};

	ev.op_begin.id = op;
	ev.op_begin.name = id(name);
	ev.op_begin.inputs = id(inputs);
	ev.op_begin.scalars = id(scalars);
	pasta_workset_event(w, &ev, &where, PASTA_NO_STEP);
}

static void begin(uint64_t op, const char *name, const char *inputs)
{
	begin_texts(op, name, inputs, "");
}

static void end_outputs(uint64_t op, const char *outputs)
{
	struct pasta_event ev = {
		.size = PASTA_EVENT_SIZE(op_end), .kind = PASTA_KIND_OP_END, .tid = 1};
	const struct pasta_where where = {.size = sizeof(where)};

	ev.op_end.id = op;
	ev.op_end.outputs = id(outputs);
	pasta_workset_event(w, &ev, &where, PASTA_NO_STEP);
}

static void end(uint64_t op)
{
	end_outputs(op, "");
}

/* What a kernel has besides its operator. */
struct attributes {
	uint64_t time, launched, step;
	const char *module;
	uint32_t flags, device;
	const struct pasta_scope *scope;
};

static void kernel_with(const char *name, uint64_t op, uint64_t ns, const struct attributes *a)
{
	struct pasta_event ev = {
		.size = PASTA_EVENT_SIZE(kernel), .kind = PASTA_KIND_KERNEL, .time = a->time};
	struct pasta_where where = {.size = sizeof(where),
				    .flags = PASTA_WHERE_LAUNCH | a->flags,
				    .op = op,
				    .launched = a->launched ? a->launched : op,
				    .module = a->module ? id(a->module) : 0,
				    .scope = a->scope};

	ev.kernel.name = id(name);
	ev.kernel.dur = ns;
	ev.kernel.device = a->device;
	ev.kernel.grid_x = ev.kernel.grid_y = ev.kernel.grid_z = 1;
	pasta_workset_event(w, &ev, &where, a->step);
}

static void kernel(const char *name, uint64_t op, uint64_t ns)
{
	kernel_with(name, op, ns, &(struct attributes){.step = PASTA_NO_STEP});
}

static void argument(uint64_t op, uint64_t tensor, enum pasta_op_arg_sub sub)
{
	struct pasta_event ev = {.size = PASTA_EVENT_SIZE(op_arg),
				 .kind = PASTA_KIND_OP_ARG,
				 .sub = (uint8_t)sub,
				 .tid = 1};
	const struct pasta_where where = {.size = sizeof(where)};

	ev.op_arg.op = op;
	ev.op_arg.tensor = tensor;
	pasta_workset_event(w, &ev, &where, PASTA_NO_STEP);
}

static void tensor(uint64_t number, uint64_t storage)
{
	struct pasta_event ev = {.size = PASTA_EVENT_SIZE(tensor), .kind = PASTA_KIND_TENSOR};
	const struct pasta_where where = {.size = sizeof(where)};

	ev.tensor.id = number;
	ev.tensor.storage = storage;
	pasta_workset_event(w, &ev, &where, PASTA_NO_STEP);
}

static uint64_t first_step(void *ctx, uint32_t proc)
{
	(void)ctx;
	(void)proc;
	return first;
}

/* -- Results -- */

static void finish(void)
{
	assert_int_equal(pasta_workset_finish(w, first_step, NULL), 0);
}

static size_t rows(void)
{
	size_t at = 0, count = 0;

	while (pasta_diagnosis_work(diagnosis, &at))
		count++;
	return count;
}

/* Returns the row of a kernel and an operator. */
static const struct pasta_work *row(const char *kernel_name, const char *op)
{
	const struct pasta_work *r;

	for (size_t at = 0; (r = pasta_diagnosis_work(diagnosis, &at));)
		if (r->kernel == id(kernel_name) && r->op == id(op))
			return r;
	fail_msg("no row for %s of %s", kernel_name, op);
	return NULL;
}

static const struct pasta_layer *layer(const char *name, uint32_t phase)
{
	const struct pasta_layer *l;

	for (size_t at = 0; (l = pasta_diagnosis_layer(diagnosis, &at));)
		if (l->layer == id(name) && l->phase == phase)
			return l;
	fail_msg("no layer %s, %u", name, phase);
	return NULL;
}

static void same(double value, double expected)
{
	if (value < expected * (1 - 1e-12) || value > expected * (1 + 1e-12))
		fail_msg("%.17g, expected %.17g", value, expected);
}

#define MM "float[10,20], float[20,30]" /* 12000 FLOPs, 4400 bytes */

/* -- Operators -- */

static void flops_count_once_at_the_innermost_formula(void **state)
{
	(void)state;
	begin(1, "aten::linear", "float[10,20], float[30,20]");
	kernel("bias", 1, 5);
	begin(2, "aten::t", "float[30,20]");
	end(2);
	begin(3, "aten::mm", MM);
	begin(4, "aten::empty", "");
	kernel("gemm", 4, 100);
	end(4);
	end(3);
	end(1);
	finish();
	assert_int_equal(rows(), 2);
	same(row("gemm", "aten::mm")->flops, 12000);
	same(row("gemm", "aten::mm")->bytes, 4400);
	assert_int_equal(row("gemm", "aten::mm")->flags, PASTA_WORK_MATRIX);
	assert_string_equal(pasta_str(row("gemm", "aten::mm")->inputs), MM);
	assert_string_equal(pasta_str(row("gemm", "aten::mm")->dtype), "float32");
	assert_int_equal(row("gemm", "aten::mm")->calls, 1);
	same(row("bias", "aten::linear")->flops, 0);
}

static void an_elementwise_operator_inside_leaves_the_matrix_operator_its_flops(void **state)
{
	(void)state;
	begin(1, "aten::mm", MM);
	kernel("gemm", 1, 100);
	begin(2, "aten::add_", "float[10,30], float[30], Scalar");
	kernel("add", 2, 10);
	end(2);
	end(1);
	finish();
	same(row("gemm", "aten::mm")->flops, 12000);
	same(row("add", "aten::add_")->flops, 300);
	assert_int_equal(row("add", "aten::add_")->flags, PASTA_WORK_ELEMENTWISE);
}

static void kernels_divide_the_work_by_time_even_after_the_operator_ended(void **state)
{
	(void)state;
	for (uint64_t op = 1; op <= 3; op++) {
		begin(op, "aten::mm", MM);
		end(op);
	}
	for (uint64_t op = 1; op <= 3; op++) {
		kernel("a", op, 30);
		kernel("b", op, 60);
		kernel("b", op, 30);
	}
	finish();
	same(row("a", "aten::mm")->flops, 3 * 12000 * 0.25);
	same(row("b", "aten::mm")->flops, 3 * 12000 * 0.75);
	same(row("b", "aten::mm")->bytes, 3 * 4400 * 0.75);
	assert_int_equal(row("b", "aten::mm")->calls, 3);
	assert_int_equal(row("b", "aten::mm")->launches, 6);
	assert_int_equal(row("b", "aten::mm")->ns, 270);
}

static void kernels_without_time_share_the_work_of_their_operator(void **state)
{
	(void)state;
	begin(1, "aten::mm", MM);
	kernel("a", 1, 0);
	kernel("b", 1, 0);
	end(1);
	finish();
	same(row("a", "aten::mm")->flops + row("b", "aten::mm")->flops, 12000);
}

static void work_may_come_before_its_operator(void **state)
{
	(void)state;
	kernel_with("gemm", 7, 100, &(struct attributes){.launched = 9, .step = PASTA_NO_STEP});
	begin(7, "aten::mm", MM);
	end(7);
	/* launched before the operator with the same id began */
	kernel_with("old", 8, 100, &(struct attributes){.launched = 2, .step = PASTA_NO_STEP});
	begin(8, "aten::mm", MM);
	end(8);
	kernel("never", 9, 1);
	finish();
	same(row("gemm", "aten::mm")->flops, 12000);
	same(row("old", "")->flops, 0);
	assert_int_equal(row("never", "")->launches, 1);
}

static void an_operator_that_expired_has_the_work_of_its_early_kernels(void **state)
{
	(void)state;
	begin(1, "aten::mm", MM);
	kernel("gemm", 1, 100);
	end(1);
	for (uint64_t op = 2; op < (1 << 17) + 10; op++) {
		begin(op, "aten::relu", "float[8]");
		end(op);
	}
	kernel("late", 1, 100);
	finish();
	same(row("gemm", "aten::mm")->flops, 12000);
	same(row("late", "")->flops, 0);
}

static void outputs_at_the_end_complete_a_formula(void **state)
{
	(void)state;
	begin(1, "aten::convolution", "float[1,2,8,8], float[4,2,3,3], -");
	kernel("conv", 1, 10);
	end_outputs(1, "float32[1,4,6,6]");
	finish();
	same(row("conv", "aten::convolution")->flops, 2 * 144 * 18);
}

static void copies_and_fills_have_rows_without_a_kernel(void **state)
{
	struct pasta_event ev = {
		.size = PASTA_EVENT_SIZE(copy), .kind = PASTA_KIND_COPY, .copy = {.dur = 7}};
	struct pasta_where where = {
		.size = sizeof(where), .flags = PASTA_WHERE_LAUNCH, .op = 1, .launched = 1};

	(void)state;
	begin(1, "aten::copy_", "float[10], float[10], Scalar");
	pasta_workset_event(w, &ev, &where, PASTA_NO_STEP);
	end(1);
	finish();
	assert_int_equal(row("", "aten::copy_")->kernel, 0);
	same(row("", "aten::copy_")->bytes, 80);
}

/* -- Window -- */

static void only_steps_of_the_window_count(void **state)
{
	(void)state;
	begin(1, "aten::mm", MM);
	end(1);
	for (uint64_t step = 0; step < 6; step++)
		kernel_with("k", 1, 10 + step, &(struct attributes){.step = step});
	kernel("k", 1, 1000);
	first = 2;
	finish();
	assert_int_equal(row("k", "aten::mm")->ns, 12 + 13 + 14 + 15);
	assert_int_equal(row("k", "aten::mm")->steps, 4);
	assert_int_equal(row("k", "aten::mm")->launches, 4);
}

static void all_steps_count_if_there_are_few(void **state)
{
	(void)state;
	begin(1, "aten::mm", MM);
	end(1);
	for (uint64_t step = 0; step < 3; step++)
		for (int i = 0; i < 2; i++)
			kernel_with("k", 1, 10, &(struct attributes){.step = step});
	kernel("k", 1, 1000);
	first = 0;
	finish();
	assert_int_equal(row("k", "aten::mm")->ns, 60);
	assert_int_equal(row("k", "aten::mm")->steps, 3);
}

static void all_work_counts_without_steps(void **state)
{
	(void)state;
	kernel_with("k", 0, 10, &(struct attributes){.step = 1});
	kernel("k", 0, 1000);
	finish();
	assert_int_equal(row("k", "")->ns, 1010);
	assert_int_equal(row("k", "")->steps, 0);
}

static void a_restart_moves_earlier_work_out_of_the_steps(void **state)
{
	(void)state;
	begin(1, "aten::mm", MM);
	end(1);
	kernel_with("k", 1, 10, &(struct attributes){.step = 0, .module = "m"});
	kernel_with("k", 1, 10, &(struct attributes){.step = 5, .module = "m"});
	pasta_workset_restart(w, 0);
	begin(2, "aten::mm", MM);
	end(2);
	kernel_with("k", 2, 7, &(struct attributes){.step = 0, .module = "n"});
	first = 0;
	finish();
	assert_int_equal(row("k", "aten::mm")->ns, 7);
	same(row("k", "aten::mm")->flops, 12000);
	assert_int_equal(rows(), 1);
}

static void merging_moves_processes(void **state)
{
	struct pasta_workset *other = w;

	(void)state;
	begin(1, "aten::mm", MM);
	kernel_with("gemm", 1, 10, &(struct attributes){.step = 3, .module = "h.1"});
	end(1);
	w = pasta_workset_new();
	assert_non_null(w);
	assert_int_equal(pasta_workset_merge(w, other), 0);
	pasta_workset_free(other);
	diagnosis->work = w;
	first = 2;
	finish();
	same(row("gemm", "aten::mm")->flops, 12000);
	assert_int_equal(row("gemm", "aten::mm")->steps, 1);
	assert_int_equal(layer("h.*", PASTA_TRAIN_FORWARD)->count, 1);
}

/* -- Layers -- */

static void modules_that_differ_in_numbers_are_one_layer(void **state)
{
	(void)state;
	kernel_with("k", 0, 10, &(struct attributes){.step = PASTA_NO_STEP, .module = "h.0.attn"});
	kernel_with("k", 0, 10, &(struct attributes){.step = PASTA_NO_STEP, .module = "h.11.attn"});
	kernel_with("k", 0, 10, &(struct attributes){.step = PASTA_NO_STEP, .module = "h.11.attn"});
	kernel_with("k", 0, 5,
		    &(struct attributes){.step = PASTA_NO_STEP,
					 .module = "h.11.attn",
					 .flags = PASTA_WHERE_BACKWARD});
	finish();
	assert_int_equal(layer("h.*.attn", PASTA_TRAIN_FORWARD)->count, 2);
	assert_int_equal(layer("h.*.attn", PASTA_TRAIN_FORWARD)->ns, 30);
	assert_int_equal(layer("h.*.attn", PASTA_TRAIN_BACKWARD)->count, 1);
	assert_int_equal(layer("h.*.attn", PASTA_TRAIN_BACKWARD)->launches, 1);
}

static void scopes_decide_the_phase(void **state)
{
	const struct pasta_scope step = {.id = 1, .name = id("Optimizer.step#AdamW.step")};
	const struct pasta_scope add = {.id = 2, .up = &step, .name = id("aten::add_")};
	const struct pasta_scope node = {
		.id = 3, .name = id("autograd::engine::evaluate_function: MmBackward0")};
	const struct pasta_scope mm = {.id = 4, .up = &node, .name = id("aten::mm")};

	(void)state;
	for (int i = 0; i < 2; i++) {
		kernel_with("k", 0, 1, &(struct attributes){.step = PASTA_NO_STEP, .scope = &add});
		kernel_with("k", 0, 10, &(struct attributes){.step = PASTA_NO_STEP, .scope = &mm});
	}
	finish();
	/* without modules, the layer is the outermost scope */
	assert_int_equal(layer("Optimizer.step#AdamW.step", PASTA_TRAIN_OPTIMIZER)->ns, 2);
	assert_int_equal(
		layer("autograd::engine::evaluate_function: MmBackward0", PASTA_TRAIN_BACKWARD)->ns,
		20);
}

static void operators_replace_layers_only_without_modules(void **state)
{
	const struct pasta_scope add = {.id = 5, .name = id("aten::add_")};

	(void)state;
	kernel_with("k", 0, 1, &(struct attributes){.step = PASTA_NO_STEP, .scope = &add});
	kernel_with("k", 0, 1, &(struct attributes){.step = PASTA_NO_STEP, .module = "m"});
	finish();
	assert_int_equal(layer("", PASTA_TRAIN_FORWARD)->ns, 1);
	assert_int_equal(layer("m", PASTA_TRAIN_FORWARD)->ns, 1);
}

/* A device whose peaks are known: 3350 bytes and 67000 float32 FLOPs per ns. */
static void know_h100(void)
{
	struct pasta_event ev = {.size = PASTA_EVENT_SIZE(device), .kind = PASTA_KIND_DEVICE};

	ev.device.name = id("NVIDIA H100 80GB HBM3");
	ev.device.arch = id("sm_90");
	ev.device.units = 132;
	assert_int_equal(pasta_directory_event(&ev), 0);
}

static void roofs_and_bounds_follow_from_the_peaks(void **state)
{
	struct attributes a = {.step = PASTA_NO_STEP, .module = "memory"};
	const struct pasta_layer *l;

	(void)state;
	know_h100();
	/* 3 x 4 x 10^6 bytes: 3582 ns at least */
	begin(1, "aten::add", "float[1000000], float[1000000], Scalar");
	end(1);
	kernel_with("add", 1, 5000, &a);
	/* 2 x 1000^3 FLOPs: 29851 ns at least without tensor cores, 4043 ns with them */
	begin(2, "aten::mm", "float[1000,1000], float[1000,1000]");
	end(2);
	a.module = "compute";
	kernel_with("sgemm", 2, 40000, &a);
	begin(3, "aten::mm", "float[1000,1000], float[1000,1000]");
	end(3);
	a.module = "latency";
	kernel_with("xmma_gemm_tf32", 3, 40000, &a);
	a.module = "unknown";
	kernel_with("k", 0, 40000, &a);
	a.module = "comm";
	kernel_with("ncclDevKernel_AllReduce", 0, 40000, &a);
	/* idle from 40000 to 90000, because the launch is late */
	a.module = "launch";
	a.time = 90000;
	a.launched = 89000;
	kernel_with("k", 0, 100, &a);
	finish();
	same(row("add", "aten::add")->roof, 12e6 / 3350e9 * 1e9);
	for (size_t at = 0; (l = pasta_diagnosis_layer(diagnosis, &at));)
		assert_string_equal(pasta_bound_name(l->bound), !strcmp(pasta_str(l->layer), "comm")
									? "communication"
									: pasta_str(l->layer));
	same(row("sgemm", "aten::mm")->roof, 2e9 / 67e12 * 1e9);
	same(row("xmma_gemm_tf32", "aten::mm")->roof, 2e9 / 494.7e12 * 1e9);
	assert_int_equal(layer("launch", PASTA_TRAIN_FORWARD)->wait, 50000);
	assert_int_equal(layer("memory", PASTA_TRAIN_FORWARD)->working_set, 12000000);
	assert_null(pasta_bound_name(PASTA_BOUND_COUNT));
}

/* -- Chains -- */

#define E8 "float[8]"
#define E88 "float[8], float[8]"

/* Runs an elementwise operator with a kernel of 10 ns. */
static void compute(uint64_t op, const char *name, const char *inputs, uint64_t in, uint64_t out)
{
	begin(op, name, inputs);
	argument(op, in, PASTA_OP_ARG_IN);
	argument(op, out, PASTA_OP_ARG_OUT);
	end(op);
	kernel(name, op, 10);
}

static void know_tensors(uint64_t count)
{
	for (uint64_t i = 1; i <= count; i++)
		tensor(i, 100 + i);
}

static const struct pasta_chain *only_chain(void)
{
	const struct pasta_chain *chain;
	size_t at = 0;

	chain = pasta_diagnosis_chain(diagnosis, &at);
	assert_null(pasta_diagnosis_chain(diagnosis, &at));
	return chain;
}

static void elementwise_operators_in_a_row_are_a_chain(void **state)
{
	const struct pasta_chain *chain;

	(void)state;
	know_h100();
	know_tensors(10);
	for (uint64_t i = 0; i < 2; i++) {
		compute(10 * i + 1, "aten::mul", E88, 5 * i + 1, 5 * i + 2);
		compute(10 * i + 2, "aten::add", E88, 5 * i + 2, 5 * i + 3);
		compute(10 * i + 3, "aten::tanh", E8, 5 * i + 3, 5 * i + 4);
	}
	finish();
	chain = only_chain();
	assert_non_null(chain);
	assert_string_equal(pasta_str(chain->ops), "mul, add, tanh");
	assert_string_equal(pasta_str(chain->inputs), E88);
	assert_int_equal(chain->chains, 2);
	assert_int_equal(chain->length, 3);
	assert_int_equal(chain->kernels, 6);
	assert_int_equal(chain->ns, 60);
	/* each reads two inputs of mul and one of add, and writes the output of tanh */
	same(chain->bytes, 2 * 4 * 32);
	same(chain->roof, 256 / 3350e9 * 1e9);
}

static void a_second_reader_ends_a_chain(void **state)
{
	(void)state;
	know_tensors(10);
	compute(1, "aten::mul", E88, 1, 2);
	compute(2, "aten::add", E88, 2, 3);
	compute(3, "aten::tanh", E8, 3, 4);
	compute(4, "aten::mm", MM, 3, 5); /* also reads the output of add */
	finish();
	assert_null(only_chain());
}

static void views_do_not_end_a_chain(void **state)
{
	(void)state;
	know_tensors(4);
	tensor(9, 103); /* a view of tensor 3 */
	compute(1, "aten::mul", E88, 1, 2);
	compute(2, "aten::add", E88, 2, 3);
	begin(3, "aten::view", E8);
	argument(3, 3, PASTA_OP_ARG_IN);
	argument(3, 9, PASTA_OP_ARG_OUT);
	end(3);
	compute(4, "aten::tanh", E8, 9, 4);
	finish();
	assert_non_null(only_chain());
}

static void nested_operators_read_and_write_once(void **state)
{
	(void)state;
	know_tensors(4);
	compute(1, "aten::mul", E88, 1, 2);
	begin(2, "custom::add", E88);
	argument(2, 2, PASTA_OP_ARG_IN);
	compute(3, "aten::add", E88, 2, 3);
	argument(2, 3, PASTA_OP_ARG_OUT);
	end(2);
	compute(4, "aten::tanh", E8, 3, 4);
	finish();
	assert_non_null(only_chain());
	assert_string_equal(pasta_str(only_chain()->ops), "mul, add, tanh");
}

static void changes_in_place_end_a_chain(void **state)
{
	(void)state;
	know_tensors(4);
	compute(1, "aten::mul", E88, 1, 2);
	compute(2, "aten::add", E88, 2, 3);
	compute(3, "aten::relu_", E8, 3, 3);
	compute(4, "aten::tanh", E8, 3, 4);
	finish();
	assert_null(only_chain());
}

static void layers_and_steps_divide_chains(void **state)
{
	(void)state;
	know_tensors(8);
	for (uint64_t i = 1; i <= 6; i++) {
		begin(i, "aten::tanh", E8);
		argument(i, i, PASTA_OP_ARG_IN);
		argument(i, i + 1, PASTA_OP_ARG_OUT);
		end(i);
		kernel_with("k", i, 10,
			    &(struct attributes){.step = 0, .module = i <= 2 ? "a" : "b"});
	}
	first = 0;
	finish();
	assert_int_equal(only_chain()->length, 4);
	assert_int_equal(only_chain()->layer, id("b"));
	assert_int_equal(only_chain()->steps, 1);
}

/* -- Devices -- */

static void tails_follow_from_the_last_wave(void **state)
{
	const struct pasta_occupancy_limits *limits = pasta_occupancy_limits("sm_90");
	struct pasta_kernel_record k = {.dur = 1000,
					.grid_x = 140,
					.grid_y = 1,
					.grid_z = 1,
					.block_x = 1024,
					.block_y = 1,
					.block_z = 1,
					.registers = 64};

	(void)state;
	assert_non_null(limits);
	assert_null(pasta_occupancy_limits("gfx942"));
	assert_int_equal(pasta_occupancy_blocks(limits, &k), 1);
	/* two waves: the second has 8 blocks for 132 multiprocessors */
	same(pasta_occupancy_tail_of(limits, 132, &k), 500 * (1 - 8.0 / 132));
	k.grid_x = 264;
	same(pasta_occupancy_tail_of(limits, 132, &k) + 1, 1);
	k.grid_x = 6 * 132;
	same(pasta_occupancy_tail_of(limits, 132, &k) + 1, 1);
	k.registers = 32;
	assert_int_equal(pasta_occupancy_blocks(limits, &k), 2);
	k.shared_dynamic = 150000;
	assert_int_equal(pasta_occupancy_blocks(limits, &k), 1);
	k.block_x = 4096;
	assert_int_equal(pasta_occupancy_blocks(limits, &k), 0);
	k.block_x = k.block_y = k.block_z = UINT32_MAX;
	assert_int_equal(pasta_occupancy_blocks(limits, &k), 0);
}

static void kernels_are_classified_by_name(void **state)
{
	static const struct {
		const char *name;
		uint32_t flags;
	} kernels[] = {
		{"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x128x8", PASTA_WORK_MATRIX},
		{"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n",
		 PASTA_WORK_MATRIX | PASTA_WORK_TENSOR_CORE},
		{"void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x64_16x6_nn_align4>",
		 PASTA_WORK_MATRIX | PASTA_WORK_TENSOR_CORE},
		{"void cutlass::Kernel2<cutlass_80_simt_sgemm_128x128_8x4_nn_align1>",
		 PASTA_WORK_MATRIX},
		{"volta_h884gemm_128x64_ldg8_nn", PASTA_WORK_MATRIX | PASTA_WORK_TENSOR_CORE},
		{"Cijk_Ailk_Bljk_BBS_BH_MT128x64x128_MI16x16x16x1_SN",
		 PASTA_WORK_MATRIX | PASTA_WORK_TENSOR_CORE},
		{"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64>>",
		 PASTA_WORK_MATRIX | PASTA_WORK_TENSOR_CORE},
		{"ncclDevKernel_AllReduce_Sum_f32_RING_LL", PASTA_WORK_COLLECTIVE},
		{"void cudnn::ops::nchwToNhwcKernel<float, float>", PASTA_WORK_LAYOUT},
		{"void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor>",
		 PASTA_WORK_ELEMENTWISE},
		{"my_kernel<884>", 0},
		{"", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++)
		if (pasta_kernelkind_flags(kernels[i].name) != kernels[i].flags)
			fail_msg("%s: %u, expected %u", kernels[i].name,
				 pasta_kernelkind_flags(kernels[i].name), kernels[i].flags);
}

static void products_are_found_by_words(void **state)
{
	static const struct {
		const char *product;
		double memory;
	} products[] = {
		{"NVIDIA H200", 4800e9},
		{"NVIDIA H100 80GB HBM3", 3350e9},
		{"NVIDIA H100 PCIe", 2000e9},
		{"NVIDIA A100-SXM4-80GB", 2039e9},
		{"NVIDIA A100-SXM4-40GB", 1555e9},
		{"NVIDIA A100 80GB PCIe", 1935e9},
		{"NVIDIA A10", 600e9},
		{"NVIDIA A10G", 0},
		{"NVIDIA L4", 300e9},
		{"NVIDIA L40S", 864e9},
		{"Tesla V100-SXM2-32GB", 900e9},
		{"Tesla T4", 320e9},
		{"NVIDIA GeForce RTX 4090", 1008e9},
		{"NVIDIA GeForce RTX 4090 D", 1008e9},
		{"AMD Instinct MI300X", 5300e9},
		{"AMD Instinct MI210", 1638e9},
		{"NVIDIA H100 80GB HBM3 MIG 1g.10gb", 0},
		{"", 0},
	};
	struct pasta_peaks peaks;

	(void)state;
	for (size_t i = 0; i < sizeof(products) / sizeof(*products); i++) {
		bool found = pasta_peaks_datasheet(products[i].product, &peaks);

		if (found != (products[i].memory > 0) || peaks.memory != products[i].memory)
			fail_msg("%s: %g", products[i].product, peaks.memory);
	}
}

static void measured_peaks_are_read_back(void **state)
{
	static const char text[] =
		"# comment\n[GPU one]\nmemory = 1e12\nfp32 = nonsense\n"
		"half = -3\nfp64 = 2.5e12\nother = 7\n[GPU two]\nmemory = 5e11\n";
	struct pasta_peaks peaks, again;
	FILE *file = fmemopen((void *)(uintptr_t)text, sizeof(text) - 1, "r"), *copy = tmpfile();

	(void)state;
	assert_true(pasta_peaks_read(file, "GPU one", &peaks));
	assert_int_equal(peaks.measured, 1);
	same(peaks.memory, 1e12);
	same(peaks.fp64, 2.5e12);
	assert_true(peaks.fp32 == 0 && peaks.half == 0);
	rewind(file);
	assert_false(pasta_peaks_read(file, "GPU", &again));
	rewind(file);
	assert_int_equal(pasta_peaks_copy(file, copy, "GPU one"), 0);
	peaks.h2d = 25e9;
	assert_int_equal(pasta_peaks_write(copy, "GPU one", &peaks), 0);
	rewind(copy);
	assert_true(pasta_peaks_read(copy, "GPU one", &again));
	assert_memory_equal(&again, &peaks, sizeof(again));
	rewind(copy);
	assert_true(pasta_peaks_read(copy, "GPU two", &again));
	same(again.memory, 5e11);
	fclose(file);
	fclose(copy);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(flops_count_once_at_the_innermost_formula),
		TEST(an_elementwise_operator_inside_leaves_the_matrix_operator_its_flops),
		TEST(kernels_divide_the_work_by_time_even_after_the_operator_ended),
		TEST(kernels_without_time_share_the_work_of_their_operator),
		TEST(work_may_come_before_its_operator),
		TEST(an_operator_that_expired_has_the_work_of_its_early_kernels),
		TEST(outputs_at_the_end_complete_a_formula),
		TEST(copies_and_fills_have_rows_without_a_kernel),
		TEST(only_steps_of_the_window_count),
		TEST(all_steps_count_if_there_are_few),
		TEST(all_work_counts_without_steps),
		TEST(a_restart_moves_earlier_work_out_of_the_steps),
		TEST(merging_moves_processes),
		TEST(modules_that_differ_in_numbers_are_one_layer),
		TEST(scopes_decide_the_phase),
		TEST(operators_replace_layers_only_without_modules),
		TEST(roofs_and_bounds_follow_from_the_peaks),
		TEST(elementwise_operators_in_a_row_are_a_chain),
		TEST(a_second_reader_ends_a_chain),
		TEST(views_do_not_end_a_chain),
		TEST(nested_operators_read_and_write_once),
		TEST(changes_in_place_end_a_chain),
		TEST(layers_and_steps_divide_chains),
		TEST(tails_follow_from_the_last_wave),
		TEST(kernels_are_classified_by_name),
		TEST(products_are_found_by_words),
		TEST(measured_peaks_are_read_back),
	};

	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
