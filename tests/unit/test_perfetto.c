/* test_perfetto.c - timelines of handmade shards: repaired nesting, separate lanes, exact times. */
/* labels: onethread */
#include "unit/support.h"

#include <math.h>
#include <stdlib.h>
#include <yajl/yajl_tree.h>

#include "process/read/input.h"
#include "sink/sink.h"

enum { NAMES = 5, EVENTS = 64 };
static const char *const names[NAMES] = {"outer", "inner", "op", "bad \xff\xc3( \"\\\n", "kernel"};
enum { OUTER = 1, INNER, OP, BAD, KERNEL };

static struct pasta_event made[EVENTS];
static size_t made_count;

static int make(void **state)
{
	made_count = 0;
	return make_dir(state);
}

static struct pasta_event *add(enum pasta_kind kind, unsigned int sub, uint64_t time)
{
	struct pasta_event *ev = &made[made_count++];

	assert_true(made_count <= EVENTS);
	memset(ev, 0, sizeof(*ev));
	ev->size = pasta_kinds[kind].size;
	ev->kind = (uint8_t)kind;
	ev->sub = (uint8_t)sub;
	ev->tid = 7;
	ev->time = RAW_0 + time;
	return ev;
}

static void add_region(unsigned int sub, uint64_t time, uint32_t name, uint32_t depth)
{
	struct pasta_event *ev = add(PASTA_KIND_REGION, sub, time);

	ev->region.name = name;
	ev->region.depth = depth;
}

static void add_kernel(uint64_t time, uint64_t dur, uint64_t corr)
{
	struct pasta_event *ev = add(PASTA_KIND_KERNEL, 0, time);

	ev->kernel.dur = dur;
	ev->kernel.corr = corr;
	ev->kernel.name = KERNEL;
	ev->kernel.device = 1;
	ev->kernel.stream = 2;
	ev->kernel.grid_x = 3;
}

/* Returns the events added so far as a document; *list has its events. */
static yajl_val timeline(yajl_val *list)
{
	const char *path = in_dir("one.pst"), *keys[] = {"traceEvents", NULL};
	struct pasta_input in = {0};
	struct pasta_error err = {0};
	struct bytes b = {0};
	size_t size;
	char *text = NULL, why[200];
	FILE *f = open_memstream(&text, &size);
	yajl_val doc;

	put_head(&b, 1, REAL_0);
	put_schema(&b, NULL, 0);
	put_strings(&b, 1, NAMES, names);
	put_frame(&b, made, made_count, (struct pasta_frame_meta){.source = 1});
	save(&b, b.size, path);
	free(b.data);
	assert_int_equal(pasta_input_add(&in, path, &err), 0);
	if (pasta_sink_perfetto.events(f, &in, NULL, NULL, &err))
		fail_msg("%s", err.text);
	fclose(f);
	pasta_input_free(&in);
	doc = yajl_tree_parse(text, why, sizeof(why));
	if (!doc)
		fail_msg("%s in %s", why, text);
	free(text);
	*list = yajl_tree_get(doc, keys, yajl_t_array);
	assert_non_null(*list);
	return doc;
}

static const char *member(yajl_val event, const char *key)
{
	const char *keys[] = {key, NULL};
	yajl_val v = yajl_tree_get(event, keys, yajl_t_any);

	return !v ? "-" : YAJL_IS_STRING(v) ? YAJL_GET_STRING(v) : YAJL_GET_NUMBER(v);
}

/* Compare the events of these phases, one per line: ph, name, ts, dur and the last digit of tid. */
static char *lines(yajl_val list, const char *phases)
{
	size_t size;
	char *text = NULL;
	FILE *f = open_memstream(&text, &size);

	for (size_t i = 0; i < list->u.array.len; i++) {
		yajl_val e = list->u.array.values[i];
		const char *tid = member(e, "tid");

		if (strchr(phases, *member(e, "ph")))
			fprintf(f, "%s %s %s %s %s\n", member(e, "ph"), member(e, "name"),
				member(e, "ts"), member(e, "dur"), tid + strlen(tid) - 1);
	}
	fclose(f);
	return text;
}

static void expect(const char *phases, const char *expected)
{
	yajl_val list, doc = timeline(&list);
	char *got = lines(list, phases);

	assert_string_equal(got, expected);
	free(got);
	yajl_tree_free(doc);
}

static void times_are_exact_to_the_nanosecond(void **state)
{
	(void)state;
	add_kernel(0, 1, 0);
	add_kernel(UINT64_C(86400000000000) * 30 + 1, UINT64_C(9007199254740993), 0);
	expect("X", "X kernel 0.000 0.001 4\n"
		    "X kernel 2592000000000.001 9007199254740.993 4\n");
}

static void regions_and_operators_nest(void **state)
{
	(void)state;
	add_region(PASTA_REGION_BEGIN, 1000, OUTER, 1);
	add(PASTA_KIND_OP_BEGIN, 0, 2000)->op_begin.id = 5;
	made[made_count - 1].op_begin.name = OP;
	add_region(PASTA_REGION_BEGIN, 3000, INNER, 2);
	add_region(PASTA_REGION_MARK, 3500, BAD, 3);
	add_region(PASTA_REGION_END, 4000, 0, 2);
	add(PASTA_KIND_OP_END, 0, 5000)->op_end.id = 5;
	add_region(PASTA_REGION_END, 6000, 0, 1);
	expect("XBE", "X inner 2.000 1.000 7\nX op 1.000 3.000 7\nX outer 0.000 5.000 7\n");
	expect("i", "i bad \xef\xbf\xbd\xef\xbf\xbd( \"\\\n 2.500 - 7\n");
}

static void an_operator_without_an_end_has_an_argument(void **state)
{
	const char *keys[] = {"args", "end", NULL};
	yajl_val list, doc, end, argument;
	size_t n = 0;

	(void)state;
	for (uint64_t op = 1; op <= 2; op++)
		add(PASTA_KIND_OP_BEGIN, 0, 1000 * op)->op_begin =
			(struct pasta_op_begin_record){.id = op, .name = OP, .depth = 1};
	add(PASTA_KIND_OP_END, 0, 3000)->op_end.id = 2;
	expect("XBE", "X op 0.000 1.000 7\nX op 1.000 1.000 7\n");
	doc = timeline(&list);
	for (size_t i = 0; i < list->u.array.len; i++) {
		end = list->u.array.values[i];
		if (*member(end, "ph") != 'X')
			continue;
		argument = yajl_tree_get(end, keys, yajl_t_string);
		assert_int_equal(argument != NULL, n++ == 0);
	}
	yajl_tree_free(doc);
}

static void nesting_is_repaired_after_drops(void **state)
{
	(void)state;
	add_region(PASTA_REGION_BEGIN, 0, INNER, 3);	 /* two begins are missing */
	add_region(PASTA_REGION_END, 1000, 0, 2);	 /* the end of 3 is missing */
	add_region(PASTA_REGION_END, 2000, 0, 9);	 /* it never began */
	add_region(PASTA_REGION_BEGIN, 3000, OUTER, 1);	 /* the end of 1 is missing */
	add(PASTA_KIND_OP_END, 0, 4000)->op_end.id = 77; /* it never began */
	add_region(PASTA_REGION_MARK, 5000, OUTER, 2);
	/* The last slice never ended, so it lasts until the last event. */
	expect("XBE", "X (lost) 0.000 3.000 7\nX (lost) 0.000 1.000 7\nX inner 0.000 1.000 7\n"
		      "X outer 3.000 2.000 7\n");
}

static void ends_by_name_without_a_depth_end_what_is_inside_as_well(void **state)
{
	(void)state;
	add_region(PASTA_REGION_END, 0, 0, 0);
	add_region(PASTA_REGION_BEGIN, 1000, OUTER, 0);
	add_region(PASTA_REGION_BEGIN, 2000, INNER, 0);
	add_region(PASTA_REGION_END, 3000, BAD, 0);
	add_region(PASTA_REGION_END, 4000, OUTER, 0);
	add_region(PASTA_REGION_END, 5000, INNER, 0);
	expect("XBE", "X inner 2.000 2.000 7\nX outer 1.000 3.000 7\n");
}

static void add_api(uint64_t time, uint64_t dur)
{
	struct pasta_event *ev = add(PASTA_KIND_API, 0, time);

	ev->api.dur = dur;
	ev->api.name = KERNEL;
}

static void calls_nest_in_regions_and_a_launch_is_cut_to_fit(void **state)
{
	(void)state;
	add_region(PASTA_REGION_BEGIN, 0, OUTER, 1);
	add_api(1000, 3000);
	add(PASTA_KIND_LAUNCH, 0, 3999)->launch.name = INNER;
	add_api(4000, 1000);
	add(PASTA_KIND_LAUNCH, 0, 5000)->launch.name = INNER;
	add_region(PASTA_REGION_END, 5000, 0, 1);
	expect("XBE", "X inner 3.999 0.001 7\nX kernel 1.000 3.000 7\nX kernel 4.000 1.000 7\n"
		      "X inner 5.000 0.000 7\nX outer 0.000 5.000 7\n");
}

static void a_call_that_overlaps_a_slice_partially_has_a_row_of_its_own(void **state)
{
	(void)state;
	add_api(0, 2000);
	add_api(1000, 2000); /* ends after the first call */
	add_region(PASTA_REGION_BEGIN, 4000, OUTER, 1);
	add_api(5000, 3000); /* ends after the region */
	add_region(PASTA_REGION_END, 6000, 0, 1);
	add_api(9000, 2000); /* a region begins in the call and ends after it */
	add_region(PASTA_REGION_BEGIN, 10000, INNER, 1);
	add_region(PASTA_REGION_END, 12000, 0, 1);
	/* DEVICE_TID ends in 4: the rows are in the order in which their first call ended. */
	expect("XBE", "X kernel 1.000 2.000 4\nX kernel 0.000 2.000 7\n"
		      "X kernel 5.000 3.000 4\nX outer 4.000 2.000 7\n"
		      "X inner 10.000 2.000 7\nX kernel 9.000 2.000 4\n");
}

static void of_equal_slices_the_outer_one_comes_first(void **state)
{
	(void)state;
	add_region(PASTA_REGION_BEGIN, 0, OUTER, 1);
	add_region(PASTA_REGION_BEGIN, 0, INNER, 2);
	add(PASTA_KIND_OP_BEGIN, 0, 0)->op_begin.id = 5;
	made[made_count - 1].op_begin.name = OP;
	add_api(0, 1000);
	add(PASTA_KIND_OP_END, 0, 1000)->op_end.id = 5;
	add_region(PASTA_REGION_END, 1000, 0, 2);
	add_region(PASTA_REGION_END, 1000, 0, 1);
	expect("XBE", "X outer 0.000 1.000 7\nX inner 0.000 1.000 7\nX op 0.000 1.000 7\n"
		      "X kernel 0.000 1.000 7\n");
}

/* A slice of a document: its position there, its row, and its begin and end in ns. */
struct slice {
	size_t index;
	long long row, begin, end;
};

static int by_begin(const void *a, const void *b)
{
	const struct slice *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return x->index < y->index ? -1 : 1;
}

/* Check that no two slices of a row overlap partially, and return the number of slices. */
static size_t check_nesting(yajl_val list)
{
	struct slice slices[2 * EVENTS] = {{0}}, *stack[2 * EVENTS];
	size_t count = 0, depth = 0;

	for (size_t i = 0; i < list->u.array.len; i++) {
		yajl_val e = list->u.array.values[i];

		if (*member(e, "ph") != 'X')
			continue;
		assert_true(count < 2 * EVENTS);
		slices[count] = (struct slice){.index = i, .row = atoll(member(e, "tid"))};
		slices[count].begin = llround(1000 * strtod(member(e, "ts"), NULL));
		slices[count].end =
			slices[count].begin + llround(1000 * strtod(member(e, "dur"), NULL));
		assert_true(slices[count].begin >= 0 && slices[count].end >= slices[count].begin);
		count++;
	}
	qsort(slices, count, sizeof(*slices), by_begin);
	for (size_t i = 0; i < count; i++) {
		while (depth && (stack[depth - 1]->row != slices[i].row ||
				 stack[depth - 1]->end <= slices[i].begin))
			depth--;
		assert_true(!depth || slices[i].end <= stack[depth - 1]->end);
		stack[depth++] = &slices[i];
	}
	return count;
}

/* Random regions, operators, calls and launches, some at the same time, some late, some without
 * begin or end. */
static void slices_of_a_row_always_nest(void **state)
{
	unsigned int seed = 11;

	(void)state;
	for (int round = 0; round < 400; round++) {
		uint64_t time = 0, step = rand_r(&seed) % 3 ? 40 : 4;
		size_t begins = 0;
		yajl_val list, doc;

		made_count = 0;
		while (made_count < EVENTS - 1) {
			time += rand_r(&seed) % step;
			switch (rand_r(&seed) % 8) {
			case 0:
			case 1:
				add_region(PASTA_REGION_BEGIN, time, OUTER, 0);
				begins++;
				break;
			case 2:
				add_region(PASTA_REGION_END, time, OUTER, 0);
				break;
			case 3:
				add(PASTA_KIND_OP_BEGIN, 0, time)->op_begin =
					(struct pasta_op_begin_record){.id = made_count % 7,
								       .name = OP};
				begins++;
				break;
			case 4:
				add(PASTA_KIND_OP_END, 0, time)->op_end.id = rand_r(&seed) % 7;
				break;
			case 5:
				add(PASTA_KIND_LAUNCH, 0, time)->launch.name = INNER;
				begins++;
				break;
			default:
				add_api(time, rand_r(&seed) % 100);
				begins++;
			}
		}
		doc = timeline(&list);
		/* The reader adds slices for begins that are missing. */
		assert_true(check_nesting(list) >= begins);
		yajl_tree_free(doc);
	}
}

static void kernels_that_overlap_get_lanes_of_their_own(void **state)
{
	(void)state;
	add_kernel(0, 3000, 1);
	add_kernel(1000, 3000, 2);
	add_kernel(2000, 500, 3);
	add_kernel(3000, 500, 4);
	expect("X", "X kernel 0.000 3.000 4\nX kernel 1.000 3.000 5\n"
		    "X kernel 2.000 0.500 6\nX kernel 3.000 0.500 4\n");
}

static void a_launch_has_an_arrow_to_its_work(void **state)
{
	yajl_val list, doc;
	char ids[2][40] = {"", ""};

	(void)state;
	add(PASTA_KIND_LAUNCH, 0, 0)->launch.corr = 42;
	add_kernel(1500, 10, 42);
	doc = timeline(&list);
	for (size_t i = 0; i < list->u.array.len; i++) {
		yajl_val e = list->u.array.values[i];
		char ph = *member(e, "ph");

		if (ph != 's' && ph != 'f')
			continue;
		snprintf(ids[ph == 'f'], sizeof(ids[0]), "%s", member(e, "id"));
		assert_string_equal(member(e, "ts"), ph == 'f' ? "1.500" : "0.000");
	}
	assert_true(*ids[0]);
	assert_string_equal(ids[0], ids[1]);
	yajl_tree_free(doc);
}

static struct pasta_event *add_alloc(unsigned int sub, uint64_t time, uint64_t addr, uint64_t bytes)
{
	struct pasta_event *ev = add(PASTA_KIND_ALLOC, sub, time);

	ev->alloc.addr = addr;
	ev->alloc.bytes = bytes;
	return ev;
}

/* The values of all counters, in order. */
static void expect_values(const char *key, const char *expected)
{
	yajl_val list, doc = timeline(&list);
	const char *keys[] = {"args", key, NULL};
	char text[400] = "";

	for (size_t i = 0; i < list->u.array.len; i++) {
		yajl_val e = list->u.array.values[i];

		if (*member(e, "ph") == 'C')
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s ",
				 YAJL_GET_NUMBER(yajl_tree_get(e, keys, yajl_t_number)));
	}
	assert_string_equal(text, expected);
	yajl_tree_free(doc);
}

static void live_memory_is_right_even_if_the_source_omits_fields(void **state)
{
	(void)state;
	add_alloc(PASTA_ALLOC_SEGMENT, 0, 0x1000, 100);
	add_alloc(PASTA_ALLOC_POOL, 1, 0x1000, 10); /* the same address, another level */
	add_alloc(PASTA_ALLOC_DEVICE, 2, 0x2000, 7)->alloc.parent = 1; /* part of another */
	add(PASTA_KIND_FREE, PASTA_ALLOC_POOL, 3)->free.addr = 0x1000; /* the size is not known */
	add(PASTA_KIND_FREE, 0, 4)->free.addr = 0x1000;		       /* nor the type */
	add(PASTA_KIND_FREE, 0, 5)->free.addr = 0x9999;		       /* never allocated */
	add_alloc(PASTA_ALLOC_DEVICE, 6, 0x3000, 5);
	add_alloc(PASTA_ALLOC_DEVICE, 7, 0x3000, 6); /* the free between them was dropped */
	expect_values("bytes", "100 10 17 7 0 5 6 ");
}

static void add_uvm(unsigned int sub, uint64_t time, uint32_t src, uint32_t dst)
{
	struct pasta_event *ev = add(PASTA_KIND_UVM, sub, time);

	ev->uvm.dur = 5;
	ev->uvm.src = src;
	ev->uvm.dst = dst;
	ev->uvm.bytes = 4096;
}

static void migrations_are_in_a_row_of_their_device(void **state)
{
	yajl_val list, doc;
	size_t rows = 0;

	(void)state;
	add_kernel(0, 10, 0); /* of device 1 */
	add_uvm(PASTA_UVM_TO_DEVICE, 10, PASTA_UVM_HOST, 1);
	add_uvm(PASTA_UVM_TO_HOST, 20, 1, PASTA_UVM_HOST);
	add_uvm(PASTA_UVM_CPU_FAULT, 25, PASTA_UVM_HOST, PASTA_UVM_HOST);
	add_uvm(PASTA_UVM_GPU_FAULT, 30, 0, 0);
	add_uvm(PASTA_UVM_REMOTE_MAP + 1, 40, 0, 0);
	add(PASTA_KIND_EVENT_RECORD, 0, 50);
	expect("Xi", "X kernel 0.000 0.010 4\n"
		     "X migration to device 0.010 0.005 5\n"
		     "X migration to host 0.020 0.005 5\n"
		     "X page faults 0.030 0.005 6\n"
		     "i event record 0.050 - 7\n");
	doc = timeline(&list);
	for (size_t i = 0; i < list->u.array.len; i++) {
		const char *keys[] = {"args", "name", NULL};
		yajl_val name = yajl_tree_get(list->u.array.values[i], keys, yajl_t_string);
		const char *text = name ? YAJL_GET_STRING(name) : NULL;

		rows += text && strstr(text, ", unified memory");
	}
	yajl_tree_free(doc);
	assert_int_equal(rows, 2);
}

/* Add the value of an argument, or "-", of each complete or begun slice. */
static void expect_args(const char *key, const char *expected)
{
	yajl_val list, doc = timeline(&list);
	char text[200] = "";

	for (size_t i = 0; i < list->u.array.len; i++) {
		const char *keys[] = {"args", key, NULL};
		yajl_val e = list->u.array.values[i], v = yajl_tree_get(e, keys, yajl_t_string);

		if (strchr("XB", *member(e, "ph")))
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s ",
				 v ? YAJL_GET_STRING(v) : "-");
	}
	assert_string_equal(text, expected);
	yajl_tree_free(doc);
}

static void slices_have_arguments_of_operators_copies_and_waits(void **state)
{
	struct pasta_event *ev = add(PASTA_KIND_OP_BEGIN, 0, 1000);

	(void)state;
	ev->op_begin.id = 5;
	ev->op_begin.name = OP;
	ev->op_begin.inputs = INNER;
	ev->op_begin.scalars = OUTER;
	add(PASTA_KIND_SYNC, PASTA_SYNC_STREAM, 1500)->sync.dur = 100;
	add(PASTA_KIND_OP_END, 0, 2000)->op_end.id = 5;
	ev = add(PASTA_KIND_COPY, PASTA_COPY_D2H, 3000);
	ev->copy.src_memory = PASTA_MEMORY_DEVICE;
	ev->copy.dst_memory = PASTA_MEMORY_PINNED;
	add(PASTA_KIND_COPY, PASTA_COPY_D2H, 4000)->copy.dst_memory = 99;
	expect_args("inputs", "- inner - - ");
	expect_args("scalars", "- outer - - ");
	expect_args("of", "stream - - - ");
	expect_args("from", "- - device - ");
	expect_args("to", "- - pinned - ");
}

static void loads_of_modules_with_a_duration_are_slices(void **state)
{
	struct pasta_event *ev = add(PASTA_KIND_MODULE, PASTA_MODULE_LOAD, 1000);

	(void)state;
	ev->module.name = OUTER;
	ev->module.dur = 500;
	add(PASTA_KIND_MODULE, PASTA_MODULE_LOAD, 2000)->module.name = INNER;
	add(PASTA_KIND_MODULE, PASTA_MODULE_UNLOAD, 3000)->module.dur = 7;
	expect("X", "X load outer 0.000 0.500 7\n");
}

static void counters_have_their_finite_values(void **state)
{
	(void)state;
	add(PASTA_KIND_COUNTER, 0, 0)->counter.value = 0.1;
	add(PASTA_KIND_COUNTER, 0, 1)->counter.value = NAN;
	add(PASTA_KIND_COUNTER, 0, 2)->counter.value = -INFINITY;
	add(PASTA_KIND_COUNTER, 0, 3)->counter.value = 1e300;
	expect_values("value", "0.1 1e+300 ");
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, make, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_DIR(times_are_exact_to_the_nanosecond),
		IN_DIR(regions_and_operators_nest),
		IN_DIR(an_operator_without_an_end_has_an_argument),
		IN_DIR(nesting_is_repaired_after_drops),
		IN_DIR(ends_by_name_without_a_depth_end_what_is_inside_as_well),
		IN_DIR(calls_nest_in_regions_and_a_launch_is_cut_to_fit),
		IN_DIR(a_call_that_overlaps_a_slice_partially_has_a_row_of_its_own),
		IN_DIR(of_equal_slices_the_outer_one_comes_first),
		IN_DIR(slices_of_a_row_always_nest),
		IN_DIR(kernels_that_overlap_get_lanes_of_their_own),
		IN_DIR(a_launch_has_an_arrow_to_its_work),
		IN_DIR(live_memory_is_right_even_if_the_source_omits_fields),
		IN_DIR(migrations_are_in_a_row_of_their_device),
		IN_DIR(slices_have_arguments_of_operators_copies_and_waits),
		IN_DIR(loads_of_modules_with_a_duration_are_slices),
		IN_DIR(counters_have_their_finite_values),
	};

	return cmocka_run_group_tests_name("perfetto", tests, NULL, NULL);
}
