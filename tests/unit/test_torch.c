/* test_torch.c - the records of the PyTorch handler, with a fake shim. */
#include "unit/agent_run.h"

#include <pthread.h>

#include "handlers/torch/torch.h"

/* -- The fake shim -- */

static const struct pasta_torch_agent *agent;
static const struct pasta_torch_tensor *base_is; /* the base of every tensor */
static uint32_t shim_abi = PASTA_TORCH_ABI;
static int yields, start_result;

static int start_(char *why, size_t size)
{
	snprintf(why, size, "the fake refuses");
	return start_result;
}

static void yield_(void)
{
	yields++;
}

static int base_(const struct pasta_torch_tensor *tensor, struct pasta_torch_tensor *base)
{
	if (!base_is || base_is->impl == tensor->impl)
		return 0;
	*base = *base_is;
	return 1;
}

static const char *dtype_(uint8_t dtype)
{
	return dtype == 6 ? "Float" : "Odd";
}

/* Describes values as "shapes HASH", "scalars HASH" and "strides HASH". Odd hashes have no scalars.
 */
static int described;

static size_t describe_(const struct pasta_torch_op *op, enum pasta_torch_description what,
			char *to, size_t size)
{
	static const char *const names_[] = {"shapes", "scalars", "strides"};

	described++;
	if (what == PASTA_TORCH_SCALARS && op->values_hash % 2)
		return 0;
	return (size_t)snprintf(to, size, "%s %llu", names_[what],
				(unsigned long long)op->values_hash);
}

static const struct pasta_torch_shim *entry(const struct pasta_torch_agent *with, char *why,
					    size_t size)
{
	static struct pasta_torch_shim shim;

	shim = (struct pasta_torch_shim){shim_abi, sizeof(shim), start_,   yield_,
					 base_,	   dtype_,	 describe_};
	agent = with;
	if (shim_abi)
		return &shim;
	snprintf(why, size, "the fake is of no ABI");
	return NULL;
}

static const int64_t shape[] = {2, 3}, strides[] = {3, 1}, flat[] = {6}, one[] = {1};
static char heap[1 << 20];

/* A tensor of six floats; impl and storage are numbers that stand for addresses. */
static struct pasta_torch_tensor tensor(int impl, int storage)
{
	const char *data = heap + 100000 + storage * 64;

	return (struct pasta_torch_tensor){
		.impl = heap + impl * 64,
		.storage = heap + 500000 + storage * 64,
		.data = data,
		.addr = data,
		.shape = shape,
		.strides = strides,
		.bytes = 24,
		.dims = 2,
		.dtype = 6,
	};
}

static struct pasta_torch_tensor view(int impl, int storage)
{
	struct pasta_torch_tensor t = tensor(impl, storage);

	t.shape = flat;
	t.strides = one;
	t.dims = 1;
	return t;
}

static void memory(int storage, int64_t bytes)
{
	const struct pasta_torch_memory m = {.addr = heap + 100000 + storage * 64, .bytes = bytes};

	agent->memory(&m);
}

static void begin(const void *key, const char *name, const struct pasta_torch_tensor *in,
		  uint32_t count)
{
	struct pasta_torch_op op = {
		.key = key, .name = name, .seq = -1, .thread = 1, .tensors = in, .count = count};

	agent->begin(&op);
}

static void end(const void *key, const struct pasta_torch_tensor *out, uint32_t count)
{
	struct pasta_torch_op op = {.key = key, .tensors = out, .count = count};

	agent->end(&op);
}

static void start(void)
{
	char why[100] = "";

	if (torch_start(entry, why, sizeof(why)))
		_exit(98);
}

/* The run's events of a thread in order, one word each. Ids are numbered in order of appearance. */
static uint64_t named[4096];
static size_t names;

static size_t number(uint64_t id)
{
	size_t i = 0;

	while (i < names && named[i] != id)
		i++;
	if (i == names && names < sizeof(named) / sizeof(named[0]))
		named[names++] = id;
	return i + 1;
}

static const char *word(const struct pasta_event *ev, char *to, size_t size)
{
	switch (ev->kind) {
	case PASTA_KIND_OP_BEGIN:
		snprintf(to, size, "%s(%s", pasta_str(ev->op_begin.name),
			 ev->op_begin.flags & PASTA_OP_BACKWARD ? "<" : "");
		break;
	case PASTA_KIND_OP_END:
		snprintf(to, size, ")");
		break;
	case PASTA_KIND_OP_ARG:
		snprintf(to, size, "%s%zu", ev->sub == PASTA_OP_ARG_IN ? "i" : "o",
			 number(ev->op_arg.tensor));
		break;
	case PASTA_KIND_TENSOR:
		snprintf(to, size, "%s%zu", ev->sub == PASTA_TENSOR_NEW ? "new" : "found",
			 number(ev->tensor.id));
		if (ev->tensor.base)
			snprintf(to + strlen(to), size - strlen(to), "of%zu",
				 number(ev->tensor.base));
		break;
	case PASTA_KIND_ALLOC:
		snprintf(to, size, "+%llu", (unsigned long long)ev->alloc.bytes);
		break;
	case PASTA_KIND_FREE:
		snprintf(to, size, "-%llu", (unsigned long long)ev->free.bytes);
		break;
	case PASTA_KIND_REGION:
		snprintf(to, size, "%s", ev->sub == PASTA_REGION_BEGIN ? "{" : "}");
		break;
	default:
		return NULL;
	}
	return to;
}

static const char *story(void)
{
	static char text[8192];
	struct pasta_stream *s = open_run(NULL);
	const struct pasta_event *ev;
	char w[200];
	size_t at = 0;

	names = 0;
	text[0] = '\0';
	while ((ev = pasta_stream_next(s)) && at + sizeof(w) < sizeof(text))
		if (word(ev, w, sizeof(w)))
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", at ? " " : "",
					       w);
	pasta_stream_free(s);
	return text;
}

#define STORY(body, expected)                                                                      \
	do {                                                                                       \
		assert_int_equal(in_child(body), 0);                                               \
		assert_string_equal(story(), expected);                                            \
	} while (0)

/* -- Tensors -- */

static void an_addition(void)
{
	struct pasta_torch_tensor in[2] = {tensor(1, 1), tensor(2, 2)}, out = tensor(3, 3);

	start();
	begin(&in, "aten::add", in, 2);
	memory(3, 24);
	end(&in, &out, 1);
	begin(&in, "aten::neg", &out, 1);
	end(&in, NULL, 0);
	pasta_agent_close();
}

static void existing_tensors_are_found_and_created_ones_new(void **state)
{
	(void)state;
	STORY(an_addition, "aten::add( found1 i1 found2 i2 +24 new3 o3 ) aten::neg( i3 )");
}

static void again_at_the_same_address(void)
{
	struct pasta_torch_tensor out = tensor(3, 3);

	start();
	for (int i = 0; i < 3; i++) {
		begin(&out, "make", NULL, 0);
		memory(3, 24);
		end(&out, &out, 1);
		memory(3, -24);
	}
	pasta_agent_close();
}

static void a_tensor_at_the_address_of_a_freed_one_is_another(void **state)
{
	(void)state;
	STORY(again_at_the_same_address,
	      "make( +24 new1 o1 ) -24 make( +24 new2 o2 ) -24 make( +24 "
	      "new3 o3 ) -24");
}

static void some_views(void)
{
	struct pasta_torch_tensor own = tensor(1, 1), a = view(2, 1), b = view(3, 1);

	start();
	begin(&own, "make", NULL, 0);
	memory(1, 24);
	end(&own, &own, 1);
	begin(&own, "view", &own, 1);
	end(&own, &a, 1);
	begin(&own, "view", &a, 1);
	end(&own, &b, 1);
	begin(&own, "add_", &b, 1); /* in-place operator: the same tensor */
	end(&own, &b, 1);
	begin(&own, "view", &own, 1); /* at the address of b, which was freed */
	end(&own, &b, 1);
	pasta_agent_close();
}

static void views_have_the_first_tensor_of_their_storage_as_base(void **state)
{
	(void)state;
	STORY(some_views, "make( +24 new1 o1 ) view( i1 new2of1 o2 ) view( i2 new3of1 o3 ) "
			  "add_( i3 o3 ) view( i1 new4of1 o4 )");
}

static void a_nested_one(void)
{
	struct pasta_torch_tensor out = tensor(3, 3);
	int outer, inner;

	start();
	begin(&outer, "matmul", NULL, 0);
	begin(&inner, "mm", NULL, 0);
	memory(3, 24);
	end(&inner, &out, 1);
	end(&outer, &out, 1);
	pasta_agent_close();
}

static void an_outer_operator_returns_the_tensor_that_an_inner_one_made(void **state)
{
	(void)state;
	STORY(a_nested_one, "matmul( mm( +24 new1 o1 ) o1 )");
}

static void a_view_before_its_base(void)
{
	struct pasta_torch_tensor own = tensor(1, 1), a = view(2, 1);

	start();
	base_is = &own;
	begin(&own, "sum", &a, 1);
	end(&own, NULL, 0);
	begin(&own, "sum", &own, 1);
	end(&own, NULL, 0);
	pasta_agent_close();
}

static void a_view_that_comes_before_its_base_finds_it(void **state)
{
	(void)state;
	STORY(a_view_before_its_base, "sum( found1 found2of1 i2 ) sum( i1 )");
}

static void another_shape(void)
{
	struct pasta_torch_tensor t = tensor(1, 1), u = view(1, 1);

	start();
	begin(&t, "a", &t, 1);
	end(&t, NULL, 0);
	begin(&t, "b", &u, 1);
	end(&t, NULL, 0);
	begin(&t, "c", &u, 1);
	end(&t, NULL, 0);
	pasta_agent_close();
}

static void a_tensor_of_another_shape_is_another(void **state)
{
	(void)state;
	STORY(another_shape, "a( found1 i1 ) b( found2of1 i2 ) c( i2 )");
}

static void while_blind(void)
{
	struct pasta_torch_tensor out = tensor(3, 3);

	start();
	begin(&out, "make", NULL, 0);
	memory(3, 24);
	end(&out, &out, 1);
	agent->blind();
	begin(&out, "make", NULL, 0); /* freed and allocated again without a report */
	end(&out, &out, 1);
	pasta_agent_close();
}

static void while_memory_reports_are_missing_no_tensor_becomes_a_view(void **state)
{
	(void)state;
	STORY(while_blind, "make( +24 new1 o1 ) make( new2 o2 )");
}

static void many_in_parts(void)
{
	static struct pasta_torch_tensor all[300];
	struct pasta_torch_op op = {.key = &op, .name = "cat", .seq = -1};

	start();
	for (int i = 0; i < 300; i++) {
		all[i] = tensor(i, i);
		all[i].list = (uint32_t)i;
	}
	for (int i = 0; i < 300; i += 50) {
		op.tensors = all + i;
		op.count = 50;
		op.more = i < 250;
		agent->begin(&op);
	}
	end(&op, NULL, 0);
	pasta_agent_close();
}

static void an_operator_with_many_tensors_is_reported_in_parts(void **state)
{
	struct pasta_stream *s;
	const struct pasta_event *ev;
	uint32_t args = 0, begins = 0;
	uint64_t op = 0;

	(void)state;
	assert_int_equal(in_child(many_in_parts), 0);
	s = open_run(NULL);
	while ((ev = pasta_stream_next(s))) {
		if (ev->kind == PASTA_KIND_OP_BEGIN) {
			begins++;
			op = ev->op_begin.id;
		}
		if (ev->kind == PASTA_KIND_OP_ARG) {
			assert_int_equal(ev->op_arg.op, op);
			assert_int_equal(ev->op_arg.list, args++);
		}
	}
	pasta_stream_free(s);
	assert_int_equal(begins, 1);
	assert_int_equal(args, 300);
}

/* -- Fields of records -- */

static void a_record(void)
{
	struct pasta_torch_tensor t = tensor(1, 1);

	t.device = 2;
	t.addr = heap + 77;
	start();
	begin(&t, "a", &t, 1);
	end(&t, NULL, 0);
	pasta_agent_close();
}

static void a_tensors_record_has_all_fields(void **state)
{
	struct pasta_stream *s;
	const struct pasta_event *ev;
	size_t size;
	int seen = 0;

	(void)state;
	assert_int_equal(in_child(a_record), 0);
	s = open_run(NULL);
	while ((ev = pasta_stream_next(s))) {
		if (ev->kind != PASTA_KIND_TENSOR)
			continue;
		seen++;
		assert_int_equal(ev->tensor.addr, (uintptr_t)heap + 77);
		assert_int_equal(ev->tensor.bytes, 24);
		assert_int_equal(ev->tensor.device, 2);
		assert_true(ev->tensor.storage != 0);
		assert_string_equal(pasta_str(ev->tensor.dtype), "float32");
		assert_memory_equal(pasta_bytes(ev->tensor.shape, &size), shape, sizeof(shape));
		assert_int_equal(size, sizeof(shape));
		assert_memory_equal(pasta_bytes(ev->tensor.strides, &size), strides,
				    sizeof(strides));
	}
	pasta_stream_free(s);
	assert_int_equal(seen, 1);
}

/* -- Operators -- */

static void backward(void)
{
	struct pasta_torch_op outer = {.key = &outer,
				       .name = "AddBackward0",
				       .seq = 7,
				       .thread = 2,
				       .forward = 1,
				       .scope = PASTA_TORCH_BACKWARD};
	struct pasta_torch_op inner = {.key = &inner, .name = "aten::mul", .seq = -1, .thread = 2};

	start();
	agent->begin(&outer);
	agent->begin(&inner);
	end(&inner, NULL, 0);
	end(&outer, NULL, 0);
	begin(&inner, "aten::add", NULL, 0);
	end(&inner, NULL, 0);
	pasta_agent_close();
}

static void operators_inside_a_backward_operator_have_its_sequence_number(void **state)
{
	struct pasta_stream *s;
	const struct pasta_event *ev;
	uint64_t seq[3] = {0};
	uint32_t depth[3] = {0};
	int n = 0;

	(void)state;
	STORY(backward, "AddBackward0(< aten::mul(< ) ) aten::add( )");
	s = open_run(NULL);
	while ((ev = pasta_stream_next(s)))
		if (ev->kind == PASTA_KIND_OP_BEGIN && n < 3) {
			depth[n] = ev->op_begin.depth;
			seq[n++] = ev->op_begin.seq;
		}
	pasta_stream_free(s);
	assert_int_equal(depth[0], 1);
	assert_int_equal(depth[1], 2);
	assert_int_equal(depth[2], 1);
	assert_int_equal(seq[0], 8);
	assert_int_equal(seq[1], 8);
	assert_int_equal(seq[2], 0);
}

static void odd_ends(void)
{
	int a, b, c;
	struct pasta_torch_op region = {.key = &c, .name = "r", .scope = PASTA_TORCH_USER};

	start();
	end(&a, NULL, 0); /* began before recording */
	begin(&a, "a", NULL, 0);
	agent->begin(&region);
	begin(&b, "b", NULL, 0);
	end(&a, NULL, 0); /* b and the region end on another thread, or never */
	end(&b, NULL, 0);
	end(&c, NULL, 0);
	pasta_agent_close();
}

static void operators_nest_even_if_ends_are_missing(void **state)
{
	(void)state;
	STORY(odd_ends, "a( { b( ) } )");
}

static void deep(void)
{
	static char keys[1000];

	start();
	for (int i = 0; i < 1000; i++)
		begin(&keys[i], "deep", NULL, 0);
	for (int i = 999; i >= 0; i--)
		end(&keys[i], NULL, 0);
	pasta_agent_close();
}

static void deep_operators_are_all_ended(void **state)
{
	struct pasta_stream *s;
	const struct pasta_event *ev;
	int begins = 0, ends = 0;

	(void)state;
	assert_int_equal(in_child(deep), 0);
	s = open_run(NULL);
	while ((ev = pasta_stream_next(s))) {
		begins += ev->kind == PASTA_KIND_OP_BEGIN;
		ends += ev->kind == PASTA_KIND_OP_END;
	}
	pasta_stream_free(s);
	assert_int_equal(begins, 1000);
	assert_int_equal(ends, 1000);
}

static void stopped(void)
{
	struct pasta_torch_tensor out = tensor(3, 3);
	int key;

	start();
	pasta_agent_set_active(false);
	begin(&key, "hidden", NULL, 0);
	memory(3, 24);
	end(&key, &out, 1);
	pasta_agent_set_active(true);
	begin(&key, "shown", &out, 1);
	pasta_agent_set_active(false);
	end(&key, NULL, 0);
	pasta_agent_close();
}

static void state_is_recorded_while_operators_are_not(void **state)
{
	(void)state;
	STORY(stopped, "+24 new1 shown( i1 )");
}

static void only_names(void **state)
{
	(void)state;
	setenv(PASTA_ENV_KINDS, "600", 1); /* operators */
	STORY(an_addition, "aten::add( ) aten::neg( )");
	unsetenv(PASTA_ENV_KINDS);
}

static void forks(void)
{
	struct pasta_torch_tensor t = tensor(1, 1);
	int outer, inner, status;
	pid_t pid;

	start();
	begin(&outer, "parent", &t, 1);
	pid = fork();
	if (!pid) {
		end(&outer, NULL, 0); /* began in the parent */
		begin(&inner, "child", &t, 1);
		end(&inner, NULL, 0);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	end(&outer, NULL, 0);
	pasta_agent_close();
}

static void a_child_starts_with_no_open_operators(void **state)
{
	(void)state;
	assert_int_equal(in_child(forks), 0);
	assert_string_equal(story(), "parent( found1 i1 child( found2 i2 ) )");
}

/* -- Descriptions of arguments and results -- */

/* An operator with these hashes of its arguments and results. */
static void described_op(uint64_t arguments, uint64_t results)
{
	struct pasta_torch_op op = {
		.key = &op, .name = "op", .seq = -1, .thread = 1, .values_hash = arguments};

	agent->begin(&op);
	op.time = op.id = 0;
	op.values_hash = results;
	agent->end(&op);
}

static void descriptions(void)
{
	start();
	if (!(agent->records & PASTA_TORCH_VALUES))
		_exit(1);
	for (int i = 0; i < 3; i++) {
		described_op(1002, 7);
		described_op(7, 1002);
		described_op(0, 0);
	}
	/* Arguments have three descriptions, results one. */
	if (described != 8)
		_exit(2);
	/* More than the cache holds: all are described again, and right. */
	for (uint64_t n = 0; n < 2; n++)
		for (uint64_t i = 1; i <= 4 * TORCH_TEXT_SETS * TORCH_TEXT_WAYS; i++)
			described_op(i * 0x100000001, 0);
	pasta_agent_close();
}

static uint64_t hash_in(const char *text, const char *what)
{
	size_t size = strlen(what);

	return !strncmp(text, what, size) && text[size] == ' ' ? strtoull(text + size, NULL, 10)
							       : 0;
}

static void arguments_and_results_are_described_and_each_only_once(void **state)
{
	static const uint64_t expected[3][2] = {{1002, 7}, {7, 1002}, {0, 0}};
	const uint64_t many = 4 * TORCH_TEXT_SETS * TORCH_TEXT_WAYS;
	struct pasta_stream *s;
	const struct pasta_event *ev;
	uint64_t begins = 0, ends = 0;

	(void)state;
	assert_int_equal(in_child(descriptions), 0);
	s = open_run(NULL);
	while ((ev = pasta_stream_next(s))) {
		uint64_t hash, at = ev->kind == PASTA_KIND_OP_BEGIN ? begins : ends;

		if (ev->kind != PASTA_KIND_OP_BEGIN && ev->kind != PASTA_KIND_OP_END)
			continue;
		hash = at < 9 ? expected[at % 3][ev->kind == PASTA_KIND_OP_END]
			      : ((at - 9) % many + 1) * 0x100000001;
		if (ev->kind == PASTA_KIND_OP_END) {
			ends++;
			assert_int_equal(hash_in(pasta_str(ev->op_end.outputs), "shapes"),
					 at < 9 ? hash : 0);
			continue;
		}
		begins++;
		assert_int_equal(hash_in(pasta_str(ev->op_begin.inputs), "shapes"), hash);
		assert_int_equal(hash_in(pasta_str(ev->op_begin.strides), "strides"), hash);
		assert_int_equal(hash_in(pasta_str(ev->op_begin.scalars), "scalars"),
				 hash % 2 ? 0 : hash);
	}
	pasta_stream_free(s);
	assert_int_equal(begins, 9 + 2 * many);
	assert_int_equal(ends, begins);
}

static void too_many_descriptions(void)
{
	const struct timespec gap = {.tv_nsec = 1000000};

	start();
	for (uint64_t i = 1; i <= 300000; i++) {
		described_op(2 * i, 0);
		if (i % 1000 == 0)
			nanosleep(&gap, NULL); /* so that the writer can follow */
	}
	begin(&gap, "late", NULL, 0);
	end(&gap, NULL, 0);
	pasta_agent_close();
}

/* Descriptions may use an eighth of the memory. After that, names are still recorded. */
static void descriptions_leave_memory_for_names(void **state)
{
	struct pasta_stream *s;
	const struct pasta_event *ev;
	uint64_t without = 0, with = 0;
	const char *last = "";

	(void)state;
	setenv(PASTA_ENV_MEMORY, "33554432", 1);
	assert_int_equal(in_child(too_many_descriptions), 0);
	unsetenv(PASTA_ENV_MEMORY);
	s = open_run(NULL);
	while ((ev = pasta_stream_next(s))) {
		if (ev->kind != PASTA_KIND_OP_BEGIN)
			continue;
		last = pasta_str(ev->op_begin.name);
		*(ev->op_begin.inputs ? &with : &without) += 1;
	}
	assert_string_equal(last, "late");
	assert_true(without > 1000 && with > 1000);
	pasta_stream_free(s);
}

static void steps(void)
{
	static const char *const names_[] = {"ProfilerStep#7", "ProfilerStep#8x", "ProfilerStep#",
					     "ProfilerStep#-1", "other"};

	start();
	for (size_t i = 0; i < sizeof(names_) / sizeof(*names_); i++) {
		struct pasta_torch_op op = {.key = &op,
					    .name = names_[i],
					    .seq = -1,
					    .thread = 1,
					    .scope = PASTA_TORCH_USER};

		agent->begin(&op);
		agent->end(&op);
	}
	pasta_agent_close();
}

static void a_step_of_pytorchs_profiler_is_a_region_and_an_iteration(void **state)
{
	struct pasta_stream *s;
	const struct pasta_event *ev;
	uint64_t regions = 0, iterations = 0, time = 0;

	(void)state;
	assert_int_equal(in_child(steps), 0);
	s = open_run(NULL);
	while ((ev = pasta_stream_next(s))) {
		if (ev->kind == PASTA_KIND_REGION && ev->sub == PASTA_REGION_BEGIN && !regions++)
			assert_true(time && ev->time >= time);
		if (ev->kind != PASTA_KIND_ITERATION)
			continue;
		iterations++;
		time = ev->time;
		assert_int_equal(ev->iteration.index, 7);
		assert_string_equal(pasta_str(ev->iteration.name), "ProfilerStep");
	}
	pasta_stream_free(s);
	assert_int_equal(regions, 5);
	assert_int_equal(iterations, 1);
}

static void user_region(const char *name)
{
	struct pasta_torch_op op = {
		.key = &op, .name = name, .seq = -1, .thread = 1, .scope = PASTA_TORCH_USER};
	const struct timespec wait = {.tv_nsec = 1000000};

	agent->begin(&op);
	nanosleep(&wait, NULL);
	op.time = 0;
	agent->end(&op);
}

static void compilations(void)
{
	start();
	user_region("_compile.<locals>.compile_inner (dynamo_timed)");
	user_region("_compile.compile_inner (dynamo_timed)");
	user_region("compile_inner (dynamo_timed) of another");
	user_region("inner (dynamo_timed)");
	pasta_agent_close();
}

static void frames_that_torch_compile_compiles_are_loads_of_modules(void **state)
{
	struct pasta_stream *s;
	const struct pasta_event *ev;
	uint64_t loads = 0, regions = 0;

	(void)state;
	assert_int_equal(in_child(compilations), 0);
	s = open_run(NULL);
	while ((ev = pasta_stream_next(s))) {
		regions += ev->kind == PASTA_KIND_REGION && ev->sub == PASTA_REGION_BEGIN;
		if (ev->kind != PASTA_KIND_MODULE || ev->module.device == PASTA_MODULE_HOST)
			continue;
		loads++;
		assert_int_equal(ev->sub, PASTA_MODULE_LOAD);
		assert_string_equal(pasta_str(ev->module.name), "torch.compile");
		assert_in_range(ev->module.dur, 1000000, UINT64_C(10000000000));
	}
	pasta_stream_free(s);
	assert_int_equal(regions, 4);
	assert_int_equal(loads, 2);
}

static void segment(int64_t bytes, uint32_t device)
{
	const struct pasta_torch_memory m = {.addr = heap, .bytes = bytes, .device = device + 1};

	agent->segment(&m);
}

static void retried(void)
{
	start();
	begin(&heap, "aten::empty", NULL, 0); /* a segment is allocated at once */
	segment(1024, 0);
	end(&heap, NULL, 0);
	begin(&heap, "aten::empty", NULL, 0); /* a retry, after two segments were freed */
	segment(-1024, 0);
	segment(-1024, 0);
	segment(2048, 0);
	segment(2048, 0);
	end(&heap, NULL, 0);
	segment(-1024, 0); /* the program frees the cache */
	begin(&heap, "aten::empty", NULL, 0);
	segment(2048, 0);
	segment(-2048, 0); /* the second retry of device 0, and the first of device 1 */
	segment(2048, 0);
	segment(-2048, 1);
	segment(2048, 1);
	end(&heap, NULL, 0);
	pasta_agent_close();
}

static void allocations_after_frees_in_one_operator_are_retries(void **state)
{
	static const double expected[][2] = {{1, 0}, {2, 0}, {1, 1}};
	struct pasta_stream *s;
	const struct pasta_event *ev;
	size_t n = 0;

	(void)state;
	assert_int_equal(in_child(retried), 0);
	s = open_run(NULL);
	while ((ev = pasta_stream_next(s))) {
		if (ev->kind != PASTA_KIND_COUNTER ||
		    strcmp(pasta_str(ev->counter.name), "allocator retries") != 0)
			continue;
		assert_true(n < 3);
		assert_true(ev->counter.value == expected[n][0]);
		assert_true(ev->counter.device == expected[n][1]);
		n++;
	}
	pasta_stream_free(s);
	assert_int_equal(n, 3);
}

/* -- Many threads, and many tensors -- */

enum { THREADS = 4, ROUNDS = 3000 };

static void *worker(void *arg)
{
	int id = (int)(intptr_t)arg;

	for (int i = 0; i < ROUNDS; i++) {
		struct pasta_torch_tensor in = tensor(i % 50, i % 50);
		struct pasta_torch_tensor out = tensor(100 + id, 100 + id);

		begin(&in, "op", &in, 1);
		memory(100 + id, 24);
		end(&in, &out, 1);
		memory(100 + id, -24);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t all[THREADS];

	start();
	for (intptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&all[i], NULL, worker, (void *)i))
			_exit(97);
	for (int i = 0; i < THREADS; i++)
		pthread_join(all[i], NULL);
	pasta_agent_close();
}

struct sums {
	uint64_t found, made, args, dropped;
};

static struct sums run_threads(void)
{
	struct sums sums = {0};
	struct pasta_loss_summary a;
	struct pasta_stream *s;
	const struct pasta_event *ev;

	assert_int_equal(in_child(threads), 0);
	s = open_run(NULL);
	while ((ev = pasta_stream_next(s))) {
		sums.found += ev->kind == PASTA_KIND_TENSOR && ev->sub == PASTA_TENSOR_FOUND;
		sums.made += ev->kind == PASTA_KIND_TENSOR && ev->sub == PASTA_TENSOR_NEW;
		sums.args += ev->kind == PASTA_KIND_OP_ARG;
	}
	pasta_stream_loss(s, &a);
	pasta_stream_free(s);
	sums.dropped = a.dropped;
	return sums;
}

/* On a busy machine the holder of a lock may be descheduled. Other threads then give up after a
 * while and count a loss. */
static void threads_share_tensors_and_each_is_recorded_once(void **state)
{
	struct sums sums = run_threads();

	for (int i = 0; i < 9 && sums.dropped; i++) {
		remove_run(state);
		make_run(state);
		sums = run_threads();
	}
	assert_int_equal(sums.dropped, 0);
	assert_int_equal(sums.found, 50);
	assert_int_equal(sums.made, THREADS * ROUNDS);
	assert_int_equal(sums.args, 2 * THREADS * ROUNDS);
}

static void too_many(void)
{
	struct pasta_torch_tensor t = tensor(1, 1);

	start();
	/* All map to one set of the table. */
	for (uintptr_t i = 1; i <= 10; i++) {
		t.impl = (const void *)(i << 50);
		t.data = t.addr = (const void *)(i << 50);
		begin(&t, "op", &t, 1);
		end(&t, NULL, 0);
	}
	pasta_agent_close();
}

static void tensors_that_do_not_fit_the_tables_are_counted(void **state)
{
	struct pasta_stream *s;
	struct pasta_loss_summary a;

	(void)state;
	assert_int_equal(in_child(too_many), 0);
	s = open_run(NULL);
	while (pasta_stream_next(s))
		;
	pasta_stream_loss(s, &a);
	pasta_stream_free(s);
	assert_true(a.by_reason[PASTA_LOSS_MEMORY] >= 7);
}

/* -- Start -- */

static void refusals(void)
{
	char why[100] = "";

	shim_abi = 3;
	if (torch_start(entry, why, sizeof(why)) != -EPROTO ||
	    strcmp(why, "the PyTorch shim has ABI version 3, but the agent has version 2") != 0)
		_exit(1);
	shim_abi = 0;
	if (torch_start(entry, why, sizeof(why)) != -EPROTO || strcmp(why, "the fake is of no ABI"))
		_exit(2);
	shim_abi = PASTA_TORCH_ABI;
	start_result = -1;
	if (torch_start(entry, why, sizeof(why)) != -EIO || strcmp(why, "the fake refuses") != 0)
		_exit(3);
	pasta_torch_yield();
	if (yields)
		_exit(4);
	if (!pasta_torch_attach("/nowhere.so", why, sizeof(why)) || !strstr(why, "/nowhere.so"))
		_exit(5);
	start_result = 0;
	start();
	pasta_torch_yield();
	if (yields != 1)
		_exit(6);
}

static void a_shim_with_another_abi_is_refused_with_a_reason(void **state)
{
	(void)state;
	assert_int_equal(in_child(refusals), 0);
}

static void unwanted(void)
{
	if (pasta_torch_enabled() || pasta_torch_attach("/nowhere.so", NULL, 0))
		_exit(1);
}

static void without_recorded_kinds_the_shim_is_not_loaded(void **state)
{
	(void)state;
	setenv(PASTA_ENV_KINDS, "8", 1); /* copies */
	assert_int_equal(in_child(unwanted), 0);
	unsetenv(PASTA_ENV_KINDS);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, make_run, remove_run)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(existing_tensors_are_found_and_created_ones_new),
		CASE(a_tensor_at_the_address_of_a_freed_one_is_another),
		CASE(views_have_the_first_tensor_of_their_storage_as_base),
		CASE(an_outer_operator_returns_the_tensor_that_an_inner_one_made),
		CASE(a_view_that_comes_before_its_base_finds_it),
		CASE(a_tensor_of_another_shape_is_another),
		CASE(while_memory_reports_are_missing_no_tensor_becomes_a_view),
		CASE(an_operator_with_many_tensors_is_reported_in_parts),
		CASE(a_tensors_record_has_all_fields),
		CASE(operators_inside_a_backward_operator_have_its_sequence_number),
		CASE(operators_nest_even_if_ends_are_missing),
		CASE(deep_operators_are_all_ended),
		CASE(state_is_recorded_while_operators_are_not),
		CASE(only_names),
		CASE(a_child_starts_with_no_open_operators),
		CASE(arguments_and_results_are_described_and_each_only_once),
		CASE(descriptions_leave_memory_for_names),
		CASE(a_step_of_pytorchs_profiler_is_a_region_and_an_iteration),
		CASE(frames_that_torch_compile_compiles_are_loads_of_modules),
		CASE(allocations_after_frees_in_one_operator_are_retries),
		CASE(threads_share_tensors_and_each_is_recorded_once),
		CASE(tensors_that_do_not_fit_the_tables_are_counted),
		CASE(a_shim_with_another_abi_is_refused_with_a_reason),
		CASE(without_recorded_kinds_the_shim_is_not_loaded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
