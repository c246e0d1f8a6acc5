/* test_tensors.c - tests tool tensors with made-up events. */
/* labels: onethread */
#include "../../tools/tensors.c"

#include "unit/tooltest.h"

#include "unit/torchevents.h"

#define MIB (UINT64_C(1) << 20)

/* A block of tensor memory; by default on a device, by thread 1 of process 0. */
struct piece {
	uint64_t addr, bytes;
	uint32_t proc, tid, device;
	unsigned int sub; /* 0: a block of the caching allocator */
};

#define AT(addr_, bytes_) .addr = (addr_), .bytes = (bytes_)

static uint32_t pool_of(const struct piece *a)
{
	enum { TORCH = 77, SEGMENTS };

	if (a->sub == PASTA_ALLOC_DEVICE)
		return 0;
	return a->sub == PASTA_ALLOC_SEGMENT ? SEGMENTS : TORCH;
}

static void alloc(uint64_t time, const struct piece *a)
{
	struct pasta_event ev = EVENT(alloc, ALLOC, a->proc, a->tid ? a->tid : 1, time);

	ev.sub = (uint8_t)(a->sub ? a->sub : PASTA_ALLOC_POOL);
	ev.alloc.addr = a->addr;
	ev.alloc.bytes = a->bytes;
	ev.alloc.device = a->device;
	ev.alloc.name = id("torch");
	ev.alloc.pool = pool_of(a);
	send_event(&ev);
}

static void release_(uint64_t time, const struct piece *a)
{
	struct pasta_event ev = EVENT(free, FREE, a->proc, a->tid ? a->tid : 1, time);

	ev.sub = (uint8_t)(a->sub ? a->sub : PASTA_ALLOC_POOL);
	ev.free.addr = a->addr;
	ev.free.bytes = a->bytes;
	ev.free.device = a->device;
	ev.free.pool = pool_of(a);
	send_event(&ev);
}

static void tensor(uint64_t time, uint64_t number, uint64_t storage, const struct piece *a,
		   unsigned int sub)
{
	struct pasta_event ev = EVENT(tensor, TENSOR, a->proc, 1, time);

	ev.sub = (uint8_t)sub;
	ev.tensor.id = number;
	ev.tensor.storage = storage;
	ev.tensor.addr = a->addr;
	ev.tensor.bytes = a->bytes;
	ev.tensor.device = a->sub == PASTA_ALLOC_HOST ? 0 : a->device + 1;
	send_event(&ev);
}

static void arg(uint64_t time, uint32_t proc, uint64_t number)
{
	struct pasta_event ev = EVENT(op_arg, OP_ARG, proc, 1, time);

	ev.sub = PASTA_OP_ARG_IN;
	ev.op_arg.tensor = number;
	send_event(&ev);
}

static const struct pasta_finding *found(size_t i)
{
	assert_true(i < result.outs[0]->finding_count);
	return &result.outs[0]->findings[i];
}

/* -- Tests -- */

static void the_peak_has_its_time_its_reserve_and_who_held_it(void **state)
{
	const struct op linear = {
		.name = "linear", .tid = 1, .id = 1, .stack = call(0, "f", "/w/f.py", 3)};
	const struct op addmm = {.name = "addmm", .tid = 1, .id = 2, .flags = PASTA_OP_STACK_SAME};
	const struct op gelu = {
		.name = "gelu", .tid = 1, .id = 3, .stack = call(0, "g", "/w/f.py", 9)};
	const struct piece segment = {AT(0x1000, 20 * MIB), .sub = PASTA_ALLOC_SEGMENT};
	const struct piece a = {AT(0x1000, 4 * MIB)}, b = {AT(0x1000 + 4 * MIB, 8 * MIB)},
			   c = {AT(0x1000 + 12 * MIB, MIB)},
			   host = {AT(0x9000, 64), .sub = PASTA_ALLOC_HOST};

	(void)state;
	alloc(100, &segment);
	begin_op(101, &linear);
	begin_op(102, &addmm);
	alloc(103, &a);
	end_op(104, &addmm);
	end_op(105, &linear);
	begin_op(106, &gelu);
	alloc(110, &b); /* the peak: 12 MiB */
	end_op(111, &gelu);
	release_(120, &a);
	alloc(130, &c);
	alloc(140, &host);
	release_(150, &b);
	release_(160, &segment);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("peak"), "device 0 #0 12582912 10 20971520 8388608 1048576\n"
					   "host #0 64 40 - - 64\n");
	assert_string_equal(table("peak_held"),
			    "device 0 #0 gelu g (f.py:9) 1 8388608 66.67\n"
			    "device 0 #0 linear/addmm f (f.py:3) 1 4194304 33.33\n"
			    "host #0 (no operator)  1 64 100.00\n");
	assert_string_equal(table("sites"), "gelu g (f.py:9) 1 8388608 0 0 40 0 0\n"
					    "linear/addmm f (f.py:3) 1 4194304 0 0 17 0 0\n"
					    "(no operator)  2 1048640 2 1048640 - 0 0\n");
	assert_string_equal(finding(0), "");
}

static void reserved_memory_is_a_counter_where_there_are_no_segments(void **state)
{
	struct pasta_event reserved = EVENT(counter, COUNTER, 0, 1, 10);
	struct pasta_event process = EVENT(process, PROCESS, 0, 0, 0);
	const struct piece a = {AT(0x1000, MIB), .sub = PASTA_ALLOC_DEVICE};

	(void)state;
	process.process.source = id("kineto");
	send_event(&process);
	alloc(10, &a);
	reserved.counter.name = id("reserved");
	reserved.counter.value = 2 * MIB;
	send_event(&reserved);
	release_(20, &a);
	reserved.time = 30;
	reserved.counter.value = 7 * MIB;
	send_event(&reserved);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("peak"), "device 0 #0 1048576 10 2097152 1048576 0\n");
}

static void memory_that_is_no_tensors_is_left_out(void **state)
{
	const struct piece device = {AT(0x1000, MIB), .sub = PASTA_ALLOC_DEVICE};
	struct pasta_event pinned = EVENT(alloc, ALLOC, 0, 1, 5);

	(void)state;
	alloc(1, &device);
	pinned.sub = PASTA_ALLOC_HOST;
	pinned.alloc.addr = 0x5000;
	pinned.alloc.bytes = 10;
	send_event(&pinned);
	release_(6, &device);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("peak"), "");
	start_over(NULL);
	alloc(1, &(struct piece){AT(0x1000, 10)});
	release_(2, &device);
	release_(3, &(struct piece){AT(0x1000, 10), .sub = PASTA_ALLOC_SEGMENT});
	assert_int_equal(finish(), 0);
	assert_string_equal(table("peak"), "device 0 #0 10 0 - - 10\n");
	start_over(NULL);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("sites"), "");
	assert_string_equal(finding(0), "");
}

static void lifetimes_are_within_an_operator_an_iteration_or_longer(void **state)
{
	const struct op outer = {.name = "outer", .tid = 1, .id = 1};
	const struct op inner = {.name = "inner", .tid = 1, .id = 2};
	const struct op again = {.name = "outer", .tid = 1, .id = 3};
	const struct piece before = {AT(0x1000, 10)}, op = {AT(0x2000, 20)},
			   step = {AT(0x3000, 5000)}, longer = {AT(0x4000, 40)},
			   never = {AT(0x5000, 2 * MIB)}, early = {AT(0x6000, 1)};

	(void)state;
	alloc(0, &before);
	alloc(1, &early);
	release_(4, &early);
	iterate(10, 0, 1);
	release_(12, &before); /* across the begin of the first iteration */
	begin_op(20, &outer);
	begin_op(21, &inner);
	alloc(22, &op);
	alloc(23, &step);
	end_op(24, &inner);
	release_(26, &op); /* the outer one still runs */
	end_op(27, &outer);
	begin_op(28, &again);
	release_(29, &step); /* another call of the same name */
	alloc(30, &longer);
	end_op(31, &again);
	iterate(40, 0, 2);
	alloc(41, &never);
	release_(50, &longer);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("lifetimes"), "4 KiB operator 1 20 4\n"
						"4 KiB longer 2 50 16\n"
						"4 KiB no iteration 1 1 3\n"
						"64 KiB iteration 1 5000 6\n"
						"16 MiB never freed 1 2097152 -\n");
	assert_string_equal(table("sites"), "(no operator)  3 2097163 1 2097152 7 0 0\n"
					    "outer/inner  2 5020 0 0 5 20 5000\n"
					    "outer  1 40 0 0 20 0 0\n");
}

static void what_the_backward_pass_allocates_is_the_forward_lines(void **state)
{
	const struct op forward = {
		.name = "mul", .tid = 1, .id = 1, .seq = 5, .stack = call(0, "f", "f.py", 3)};
	const struct op backward = {.name = "MulBackward0", .tid = 2, .id = 2, .seq = 5};

	(void)state;
	begin_op(0, &forward);
	end_op(1, &forward);
	begin_op(2, &backward);
	alloc(3, &(struct piece){AT(0x1000, 7), .tid = 2});
	end_op(4, &backward);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("sites"), "MulBackward0 f (f.py:3) (backward) 1 7 1 7 - 0 0\n");
}

static void a_site_is_the_same_in_every_region(void **state)
{
	const struct op op = {.name = "mul", .tid = 1, .id = 1};
	struct pasta_event region = EVENT(region, REGION, 0, 1, 0);

	(void)state;
	for (uint64_t i = 0; i < 8; i++) {
		char name[16];

		snprintf(name, sizeof(name), "step %d", (int)i);
		iterate(10 * i, 0, i);
		region.time = 10 * i + 1;
		region.sub = PASTA_REGION_BEGIN;
		region.region.name = id(name);
		send_event(&region);
		begin_op(10 * i + 2, &op);
		alloc(10 * i + 3, &(struct piece){AT(0x1000 + (i << 12), 16)});
		end_op(10 * i + 4, &op);
		region.time = 10 * i + 5;
		region.sub = PASTA_REGION_END;
		send_event(&region);
	}
	assert_int_equal(finish(), 0);
	assert_string_equal(table("sites"), "mul  8 128 8 128 - 0 0\n");
	assert_string_equal(finding(0), "live tensors of mul grow with every iteration");
}

static void a_sites_line_is_in_a_file(void **state)
{
	uint32_t train = call(0, "train", "/w/t.py", 7), text = call(train, "f", "<string>", 1);
	const struct op in = {
		.name = "mm", .tid = 1, .id = 1, .stack = call(text, "<built-in mm>", "mm.py", 2)};
	const struct op no = {.name = "mul", .tid = 1, .id = 2, .stack = call(0, "f", NULL, 0)};

	(void)state;
	begin_op(0, &in);
	alloc(1, &(struct piece){AT(0x1000, 7)});
	end_op(2, &in);
	begin_op(3, &no);
	alloc(4, &(struct piece){AT(0x2000, 5)});
	end_op(5, &no);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("sites"), "mm train (t.py:7) 1 7 1 7 - 0 0\n"
					    "mul  1 5 1 5 - 0 0\n");
}

/* A list that grows by one loss per iteration, and activations that are freed. */
static void a_site_with_more_alive_after_every_iteration_is_a_leak(void **state)
{
	const struct op loss = {
		.name = "mean", .tid = 1, .id = 1, .stack = call(0, "train", "t.py", 12)};
	uint64_t time = 0;

	(void)state;
	for (uint64_t i = 0; i < 8; i++) {
		const struct piece kept = {AT(0x100000 + (i << 22), MIB)},
				   gone = {AT(0x10000000, 3 * MIB)};

		iterate(time++, 0, 100 + i);
		begin_op(time++, &loss);
		alloc(time++, &kept);
		end_op(time++, &loss);
		alloc(time++, &gone);
		release_(time++, &gone);
	}
	assert_int_equal(finish(), 0);
	assert_string_equal(finding(0), "live tensors of mean grow with every iteration");
	assert_string_equal(found(0)->where, "device 0, #0, train (t.py:12)");
	/* The last iteration may be incomplete: seven are complete. */
	assert_string_equal(found(0)->evidence, "live: 8, 8.000 MiB (72.7% of the peak); 7 "
						"iterations before: 0");
	assert_int_equal(found(0)->severity, PASTA_SEVERITY_PROBLEM);
	assert_string_equal(finding(1), "");
}

/* As Python does when it exits. */
static void a_leak_that_the_programs_end_frees_is_reported_as_it_was(void **state)
{
	struct piece kept[8];
	uint64_t time = 0;

	(void)state;
	for (uint64_t i = 0; i < 8; i++) {
		kept[i] = (struct piece){AT(0x100000 + (i << 22), MIB)};
		iterate(time++, 0, i);
		alloc(time++, &kept[i]);
	}
	for (uint64_t i = 0; i < 8; i++)
		release_(time++, &kept[i]);
	assert_int_equal(finish(), 0);
	assert_string_equal(finding(0), "live tensors of (no operator) grow with every iteration");
	assert_string_equal(found(0)->evidence, "live: 7, 7.000 MiB (87.5% of the peak); 7 "
						"iterations before: 0");
	assert_int_equal(found(0)->severity, PASTA_SEVERITY_PROBLEM);
}

static void what_grows_and_stops_or_is_as_large_again_is_no_leak(void **state)
{
	const struct op grown = {.name = "state", .tid = 1, .id = 1};
	uint64_t time = 0;

	(void)state;
	for (uint64_t i = 0; i < 20; i++) {
		const struct piece step = {AT(0x100000, MIB)},
				   more = {AT(0x10000000 + (i << 22), 10)};

		iterate(time++, 0, i);
		if (i)
			release_(time++, &step); /* alive at every end of an iteration */
		alloc(time++, &step);
		begin_op(time++, &grown);
		if (i < 10)
			alloc(time++, &more);
		end_op(time++, &grown);
	}
	assert_int_equal(finish(), 0);
	assert_string_equal(finding(0), "");
}

static void few_bytes_are_a_warning_and_the_growth_is_an_option(void **state)
{
	uint64_t time = 0;

	(void)state;
	for (int round = 0; round < 2; round++) {
		start_over(round ? "tensors.growth=3" : NULL);
		alloc(time++, &(struct piece){AT(0x10000000, 1000000)});
		for (uint64_t i = 0; i < 5; i++) {
			const struct op op = {.name = "op", .tid = 1, .id = i + 1};

			iterate(time++, 0, i);
			begin_op(time++, &op);
			alloc(time++, &(struct piece){AT(0x1000 + i * 100, 10)});
			end_op(time++, &op);
		}
		assert_int_equal(finish(), 0);
		assert_string_equal(finding(0),
				    round ? "live tensors of op grow with every iteration" : "");
	}
	assert_int_equal(found(0)->severity, PASTA_SEVERITY_WARNING);
	assert_string_equal(found(0)->where, "device 0, #0");
}

static void only_the_largest_leaks_have_findings_of_their_own(void **state)
{
	uint64_t time = 0;
	char name[16];

	(void)state;
	for (uint64_t i = 0; i < 7; i++) {
		iterate(time++, 0, i);
		for (uint64_t k = 1; k <= LEAKS + 3; k++) {
			const struct op op = {.name = name, .tid = 1, .id = k};

			snprintf(name, sizeof(name), "op%02d", (int)k);
			begin_op(time++, &op);
			alloc(time++, &(struct piece){AT((i << 20) + (k << 10), k)});
			end_op(time++, &op);
		}
	}
	assert_int_equal(finish(), 0);
	assert_string_equal(finding(0), "live tensors of op13 grow with every iteration");
	assert_string_equal(finding(LEAKS - 1), "live tensors of op04 grow with every iteration");
	assert_string_equal(finding(LEAKS),
			    "other sites whose live tensors grow with every iteration: 3");
}

static void tensors_long_unused_by_operators_are_in_table_kept(void **state)
{
	const struct op make = {
		.name = "empty", .tid = 1, .id = 1, .stack = call(0, "f", "f.py", 3)};
	const struct piece unused = {AT(0x1000, 100)}, view = {AT(0x1040, 100)},
			   used = {AT(0x2000, 200)}, young = {AT(0x3000, 300)},
			   bare = {AT(0x4000, 400)};

	(void)state;
	iterate(0, 0, 50);
	begin_op(1, &make);
	alloc(2, &unused);
	tensor(3, 1, 1, &unused, PASTA_TENSOR_NEW);
	alloc(4, &used);
	tensor(5, 2, 2, &used, PASTA_TENSOR_NEW);
	tensor(6, 3, 2, &(struct piece){AT(0x2010, 200)}, PASTA_TENSOR_NEW); /* a view */
	alloc(7, &bare);						     /* without a tensor */
	end_op(8, &make);
	iterate(10, 0, 51);
	arg(11, 0, 1);
	tensor(12, 4, 1, &view, PASTA_TENSOR_NEW);
	for (uint64_t i = 0; i < 3; i++)
		iterate(20 + i, 0, 52 + i);
	begin_op(30, &make);
	alloc(31, &young);
	tensor(32, 5, 5, &young, PASTA_TENSOR_NEW);
	end_op(33, &make);
	arg(34, 0, 3); /* through its view */
	assert_int_equal(finish(), 0);
	assert_string_equal(table("kept"), "empty f (f.py:3) 1 100 50 51\n");
	assert_string_equal(finding(0), "blocks of tensors that are live but not used: 1");
	start_over("tensors.untouched=4");
	iterate(0, 0, 50);
	assert_int_equal(finish(), 0);
	assert_null(table("kept"));
}

static void memory_from_before_the_recording_has_no_lifetime(void **state)
{
	const struct piece param = {AT(0x1000, 100)}, half = {AT(0x1010, 100)},
			   freed = {AT(0x2000, 200)}, snapshot = {AT(0x3000, 300)};

	(void)state;
	tensor(0, 1, 1, &param, PASTA_TENSOR_FOUND);
	tensor(1, 2, 1, &half, PASTA_TENSOR_FOUND);
	tensor(2, 3, 3, &freed, PASTA_TENSOR_FOUND);
	alloc(3, &snapshot);
	tensor(4, 4, 4, &snapshot, PASTA_TENSOR_FOUND);
	arg(5, 0, 1);
	for (uint64_t i = 0; i < 6; i++)
		iterate(10 + i, 0, i);
	release_(20, &freed);
	release_(30, &snapshot);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("peak"), "device 0 #0 300 3 - - 0\n");
	assert_string_equal(table("sites"), "(no operator)  1 300 0 0 - 0 0\n");
	assert_string_equal(table("lifetimes"), "4 KiB (not known) 1 300 -\n");
	assert_string_equal(table("kept"), "(not seen)  1 100 - -\n");
	assert_string_equal(finding(1), "blocks of tensors whose allocation was not recorded: 2");
	assert_string_equal(finding(2), "frees of unknown memory: 1");
}

/* Only damaged or hostile shards contain this. */
static void a_tensor_without_a_number_drops_no_other(void **state)
{
	const struct piece a = {AT(0x1000, MIB)};

	(void)state;
	for (uint64_t i = 0; i < 100; i++) {
		alloc(100 + 10 * i, &a);
		tensor(101 + 10 * i, 5, 7, &a, 0);
		tensor(102 + 10 * i, 0, 7, &a, 0);
		release_(103 + 10 * i, &a);
		arg(104 + 10 * i, 0, 5); /* of a freed block */
		arg(105 + 10 * i, 0, 0);
	}
	assert_int_equal(finish(), 0);
}

static void frees_that_were_dropped_are_reported(void **state)
{
	(void)state;
	alloc(0, &(struct piece){AT(0x1000, 0x100)});
	alloc(1, &(struct piece){AT(0x1100, 0x100)});
	alloc(2, &(struct piece){AT(0x1080, 0x100)}); /* overlaps both */
	alloc(3, &(struct piece){AT(0x1180, 0x10)});
	assert_int_equal(finish(), 0);
	assert_string_equal(table("peak"), "device 0 #0 512 1 - - 272\n");
	assert_string_equal(finding(0), "allocations at addresses that were not free: 2");
	assert_int_equal(pasta_choice_set(&choice, "tensors.growth=0", NULL), 0);
	start_over(NULL);
	assert_int_not_equal(finish(), 0);
}

static void the_chart_has_every_peak_and_ends_with_what_is_live(void **state)
{
	const struct pasta_chart *c;
	double most = 0;

	(void)state;
	for (uint64_t i = 0; i < 100; i++) {
		const struct piece a = {AT(0x1000, i == 50 ? 5000 : 10)};

		alloc(i * 1000000, &a);
		if (i < 99)
			release_(i * 1000000 + 1, &a);
	}
	assert_int_equal(finish(), 0);
	assert_int_equal(result.outs[0]->chart_count, 1);
	c = result.outs[0]->charts[0];
	for (size_t i = 0; i < c->used; i++)
		most = c->items[i].point.y > most ? c->items[i].point.y : most;
	assert_true(c->used <= BINS + 1);
	assert_true(most == 5000);
	assert_true(c->items[c->used - 1].point.y == 10);
}

/* -- Random runs, against a search through the whole history -- */

enum { HISTORY = 600, SITES = 5, SLOTS = 24, PLACES = 4 };

static struct past {
	struct piece piece;
	uint32_t site, pool;
	uint64_t begin, end; /* times; end 0: still live */
	uint64_t iteration, end_iteration, top, end_top, tid, end_tid;
	uint64_t touched;
	bool tensor;
} history[HISTORY];
static size_t past_count;
static uint64_t iterations[2];

static uint64_t live_at(uint32_t pool, uint64_t time)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < past_count; i++)
		if (history[i].pool == pool && history[i].begin <= time &&
		    (!history[i].end || history[i].end > time))
			bytes += history[i].piece.bytes;
	return bytes;
}

static const char *life_by_definition(const struct past *h)
{
	if (!h->end)
		return "never freed";
	if (h->top && h->top == h->end_top && h->tid == h->end_tid)
		return "operator";
	if (h->iteration != h->end_iteration)
		return "longer";
	return h->iteration ? "iteration" : "no iteration";
}

/* Compares a table with sums over the history; a missing row shows in the sum. */
static void check_lifetimes(void)
{
	const struct pasta_table *t = table_of("lifetimes");
	uint64_t rows = 0, in_rows = 0;

	for (size_t row = 0; row < pasta_table_rows(t); row++) {
		uint64_t count = 0, bytes = 0, ns = 0;
		const char *size = pasta_table_cell(t, row, 0)->s;
		const char *life = pasta_table_cell(t, row, 1)->s;

		for (size_t i = 0; i < past_count; i++) {
			const struct past *h = &history[i];
			const char *up_to = h->piece.bytes <= 4096    ? "4 KiB"
					    : h->piece.bytes <= 65536 ? "64 KiB"
								      : "1 MiB";

			if (strcmp(life_by_definition(h), life) || strcmp(up_to, size))
				continue;
			count++;
			bytes += h->piece.bytes;
			ns += h->end - h->begin;
		}
		rows += count;
		in_rows += (uint64_t)pasta_table_cell(t, row, 2)->i;
		assert_property((uint64_t)pasta_table_cell(t, row, 2)->i == count);
		assert_property((uint64_t)pasta_table_cell(t, row, 3)->i == bytes);
		assert_property(!strcmp(life, "never freed") ||
				(uint64_t)pasta_table_cell(t, row, 4)->i == ns / count);
	}
	assert_property(rows == past_count && in_rows == past_count);
}

static void check_sites(void)
{
	const struct pasta_table *t = table_of("sites");
	uint64_t rows = 0;

	for (size_t row = 0; row < pasta_table_rows(t); row++) {
		uint64_t count = 0, bytes = 0, live = 0, life = 0, in_op = 0, in_step = 0;
		char line[32];

		for (size_t i = 0; i < past_count; i++) {
			const struct past *h = &history[i];
			const char *what = life_by_definition(h);

			snprintf(line, sizeof(line), "f (f.py:%u)", h->site);
			if (strcmp(h->site ? line : "", pasta_table_cell(t, row, 1)->s))
				continue;
			count++;
			bytes += h->piece.bytes;
			live += !h->end;
			life += h->end ? h->end - h->begin : 0;
			in_op += strcmp(what, "operator") ? 0 : h->piece.bytes;
			in_step += strcmp(what, "iteration") ? 0 : h->piece.bytes;
		}
		rows += count;
		assert_property((uint64_t)pasta_table_cell(t, row, 2)->i == count);
		assert_property((uint64_t)pasta_table_cell(t, row, 3)->i == bytes);
		assert_property((uint64_t)pasta_table_cell(t, row, 4)->i == live);
		if (count > live)
			assert_property((uint64_t)pasta_table_cell(t, row, 6)->i ==
					life / (count - live));
		assert_property((uint64_t)pasta_table_cell(t, row, 7)->i == in_op);
		assert_property((uint64_t)pasta_table_cell(t, row, 8)->i == in_step);
	}
	assert_property(rows == past_count);
}

static void check_peaks(void)
{
	const struct pasta_table *t = table_of("peak"), *held = table_of("peak_held");
	uint64_t rows = 0, all = 0, shown = 0;
	char memory[32], process[32];

	for (uint32_t pool = 0; pool < PLACES; pool++) {
		uint64_t peak = 0, at = 0;

		for (size_t i = 0; i < past_count; i++)
			if (history[i].pool == pool && live_at(pool, history[i].begin) > peak) {
				peak = live_at(pool, history[i].begin);
				at = history[i].begin;
			}
		all += peak;
		snprintf(memory, sizeof(memory), "device %u", pool / 2);
		snprintf(process, sizeof(process), "#%u", pool % 2);
		for (size_t row = 0; row < pasta_table_rows(t); row++) {
			if (strcmp(pasta_table_cell(t, row, 0)->s, memory) ||
			    strcmp(pasta_table_cell(t, row, 1)->s, process))
				continue;
			rows++;
			assert_property((uint64_t)pasta_table_cell(t, row, 2)->i == peak);
			assert_property((uint64_t)pasta_table_cell(t, row, 3)->i == at);
			assert_property((uint64_t)pasta_table_cell(t, row, 6)->i ==
					live_at(pool, UINT64_MAX - 1));
		}
	}
	assert_property(rows == PLACES && pasta_table_rows(t) == PLACES);
	for (size_t row = 0; row < pasta_table_rows(held); row++)
		shown += (uint64_t)pasta_table_cell(held, row, 5)->i;
	assert_property(shown == all);
}

static void check_table_kept(void)
{
	const struct pasta_table *t = table_of("kept");
	uint64_t count = 0, bytes = 0, got = 0, got_bytes = 0;

	for (size_t i = 0; i < past_count; i++) {
		const struct past *h = &history[i];
		uint64_t now = iterations[h->piece.proc];
		bool kept =
			!h->end && h->tensor && now - h->iteration >= 3 && now - h->touched >= 3;

		count += kept;
		bytes += kept ? h->piece.bytes : 0;
	}
	for (size_t row = 0; t && row < pasta_table_rows(t); row++) {
		got += (uint64_t)pasta_table_cell(t, row, 2)->i;
		got_bytes += (uint64_t)pasta_table_cell(t, row, 3)->i;
	}
	assert_property(got == count);
	assert_property(got_bytes == bytes);
}

struct slot {
	struct past *past;
};

static void random_alloc(uint64_t time, struct slot *slot, size_t number, uint64_t top,
			 uint32_t tid, uint32_t site)
{
	uint32_t pool = (uint32_t)(number % PLACES);
	struct past *h = &history[past_count++];

	*h = (struct past){.piece = {.addr = (number + 1) << 24,
				     .bytes = 1 + random_below(random_below(2) ? 5000 : MIB),
				     .proc = pool % 2,
				     .tid = tid,
				     .device = pool / 2},
			   .site = site,
			   .pool = pool,
			   .begin = time,
			   .top = top,
			   .tid = tid,
			   .tensor = random_below(3) != 0};
	h->iteration = h->touched = iterations[h->piece.proc];
	alloc(time, &h->piece);
	if (h->tensor)
		tensor(time, past_count, past_count, &h->piece, PASTA_TENSOR_NEW);
	slot->past = h;
}

static void random_free(uint64_t time, struct slot *slot, uint64_t top, uint32_t tid)
{
	struct past *h = slot->past;

	h->end = time;
	h->end_top = top;
	h->end_tid = tid;
	h->end_iteration = iterations[h->piece.proc];
	h->piece.tid = tid;
	release_(time, &h->piece);
	slot->past = NULL;
}

/* Two processes with two threads each; thread 1 and 2 are in operators at times. */
static void random_run(void)
{
	struct {
		struct op outer;
		bool open;
	} threads[2][3] = {0};
	struct slot slots[SLOTS] = {0};
	uint64_t time = 0, ops = 0;

	while (past_count < HISTORY) {
		size_t n = (size_t)random_below(SLOTS);
		uint32_t proc = (uint32_t)(n % PLACES) % 2, tid = 1 + (uint32_t)random_below(2);
		uint64_t what = random_below(12), top;
		struct op *op = &threads[proc][tid].outer;

		time++;
		top = threads[proc][tid].open ? op->id : 0;
		if (what == 0) {
			iterations[proc]++;
			iterate(time, proc, iterations[proc]);
		} else if (what <= 3 && threads[proc][tid].open) {
			end_op(time, op);
			threads[proc][tid].open = false;
		} else if (what <= 3) {
			uint32_t site = 1 + (uint32_t)random_below(SITES);

			*op = (struct op){.name = "op",
					  .proc = proc,
					  .tid = tid,
					  .id = ++ops,
					  .stack = call(0, "f", "f.py", site),
					  .module = NULL,
					  .seq = 0,
					  .flags = 0};
			threads[proc][tid].open = true;
			begin_op(time, op);
		} else if (what <= 9 && slots[n].past) {
			random_free(time, &slots[n], top, tid);
		} else if (what <= 9) {
			struct pasta_pathnode node = {0};
			size_t size;
			const char *bytes = pasta_bytes(op->stack, &size);

			pasta_pathnode_decode(bytes, size, &node);
			random_alloc(time, &slots[n], n, top, tid, top ? node.line : 0);
		} else if (slots[n].past && slots[n].past->tensor) {
			slots[n].past->touched = iterations[proc];
			arg(time, proc, (uint64_t)(slots[n].past - history) + 1);
		}
	}
	arg(++time, 0, 999999999); /* of an unknown tensor */
	arg(++time, 1, 999999999);
}

static void all_numbers_equal_a_search_through_the_history(void **state)
{
	(void)state;
	for (int round = 0; round < 20; round++) {
		start_over(NULL);
		memset(history, 0, sizeof(history));
		memset(iterations, 0, sizeof(iterations));
		past_count = 0;
		iterate(0, 2, 0); /* time begins at 0 */
		random_run();
		assert_int_equal(finish(), 0);
		check_lifetimes();
		check_sites();
		check_peaks();
		check_table_kept();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_peak_has_its_time_its_reserve_and_who_held_it),
		TEST(reserved_memory_is_a_counter_where_there_are_no_segments),
		TEST(memory_that_is_no_tensors_is_left_out),
		TEST(lifetimes_are_within_an_operator_an_iteration_or_longer),
		TEST(what_the_backward_pass_allocates_is_the_forward_lines),
		TEST(a_site_is_the_same_in_every_region),
		TEST(a_sites_line_is_in_a_file),
		TEST(a_site_with_more_alive_after_every_iteration_is_a_leak),
		TEST(a_leak_that_the_programs_end_frees_is_reported_as_it_was),
		TEST(what_grows_and_stops_or_is_as_large_again_is_no_leak),
		TEST(few_bytes_are_a_warning_and_the_growth_is_an_option),
		TEST(only_the_largest_leaks_have_findings_of_their_own),
		TEST(tensors_long_unused_by_operators_are_in_table_kept),
		TEST(memory_from_before_the_recording_has_no_lifetime),
		TEST(a_tensor_without_a_number_drops_no_other),
		TEST(frees_that_were_dropped_are_reported),
		TEST(the_chart_has_every_peak_and_ends_with_what_is_live),
		TEST(all_numbers_equal_a_search_through_the_history),
	};

	random_begin();
	return cmocka_run_group_tests_name("tensors", tests, NULL, NULL);
}
