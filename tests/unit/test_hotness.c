/* test_hotness.c - tests tool hotness with made-up events, and against a recount. */
/* labels: onethread */
#include "../../tools/hotness.c"

#include "unit/accesstest.h"

static const struct pasta_chart *chart(void)
{
	return result.outs[0]->chart_count ? result.outs[0]->charts[0] : NULL;
}

static void objects_are_sorted_by_accesses_and_other_memory_follows(void **state)
{
	(void)state;
	send_buffer(16, 0xa, 0x10000, 3 * PAGE);
	send_buffer(17, 0xb, 0x20010, 100);
	send_buffer(18, 0xc, 0x30000, 2 * PAGE);	  /* cold */
	send_alloc(PASTA_ALLOC_DEVICE, 0xd, 50, 0, NULL); /* not passed to any kernel */
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_row(1, "k", PASTA_REDUCER_OBJECT, PASTA_OBJECT_NONE, 0, 3, 12, 0);
	send_row(1, "k", PASTA_REDUCER_OBJECT, PASTA_SPACE_LOCAL, 7, 8, 60, 0);
	send_row(1, "k", PASTA_REDUCER_OBJECT, PASTA_SPACE_PRIVATE, 1, 0, 4, 0);
	send_row(1, "k", PASTA_REDUCER_OBJECT, 16, 10, 0, 40, 0);
	send_row(1, "k", PASTA_REDUCER_OBJECT, 17, 0, 25, 100, 2);
	send_row(1, "k", PASTA_REDUCER_OBJECT, PASTA_KEY_OTHER, 1, 1, 8, 0);
	send_row(1, "k", PASTA_REDUCER_PAGE, 0x11000, 10, 0, 40, 0);
	send_row(1, "k", PASTA_REDUCER_PAGE, 0x20000, 0, 25, 100, 0);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 2, "j", 5, NULL);
	send_row(2, "j", PASTA_REDUCER_OBJECT, 16, 30, 0, 120, 0);
	send_row(2, "j", PASTA_REDUCER_PAGE, 0x11000, 30, 0, 120, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("objects"),
			    "buffer 1 12288 40 0 160 4096 33.33 2 100.00 #0\n"
			    "buffer 2 100 0 25 100 100 100.00 1 100.00 #0\n"
			    "buffer 3 8192 0 0 0 0 0.00 0 - #0\n"
			    "(objects passed to no counted kernel: 1) 50 0 0 0 0 0.00 0 - \n"
			    "(outside of objects) - 0 3 12 - - 1 100.00 \n"
			    "(local) - 7 8 60 - - 1 100.00 \n"
			    "(private) - 1 0 4 - - 1 100.00 \n"
			    "(no room in tables) - 1 1 8 - - 1 100.00 \n");
	assert_non_null(find("bytes never touched: 16434")); /* 8192 + 8192 + 50 */
	assert_non_null(strstr(find("accesses outside of all objects: 3")->evidence, "__constant"));
	assert_string_equal(find("accesses that cross the end of an object: 2")->where, "buffer 2");
	assert_null(find("counted"));
	assert_null(find("one object has")); /* 40 of 86 */
}

static void operands_of_tensor_copies_are_touched_and_their_bytes_reported(void **state)
{
	(void)state;
	send_buffer(16, 0xa, 0x10000, 4 * PAGE);
	send_buffer(17, 0xb, 0x20000, 4 * PAGE);
	send_buffer(18, 0xc, 0x30000, PAGE);
	for (uint64_t i = 1; i <= 4; i++)
		send_access_launch(i < 3 ? PASTA_ACCESS_LAUNCH_COUNTED
					 : PASTA_ACCESS_LAUNCH_SAMPLED,
				   i, "gemm", 5, NULL);
	for (uint64_t i = 1; i <= 2; i++) {
		send_row(i, "gemm", PASTA_REDUCER_OBJECT, 16, 10, 0, 40, 0);
		send_row(i, "gemm", PASTA_REDUCER_PAGE, 0x11000, 10, 0, 40, 0);
		send_row(i, "gemm", PASTA_REDUCER_TENSOR, 16, 1, 0, 3 * PAGE, 0);
		send_row(i, "gemm", PASTA_REDUCER_TENSOR, 17, 2, 0, 100 + i, 0);
	}
	assert_int_equal(finish(), 0);
	/* touched covers one launch; copies are scaled like accesses. */
	assert_string_equal(table("objects"),
			    "buffer 1 16384 40 0 160 12288 75.00 1 50.00 #0 49152\n"
			    "buffer 2 16384 0 0 0 102 0.62 1 - #0 406\n"
			    "buffer 3 4096 - - - 0 0.00 0 - #0 0\n");
	assert_non_null(find(
		"tensor copies are not counted individually: kernels received 12 tensor descriptors"));
	assert_non_null(find("bytes never touched by counted launches: "
			     "24474"));
}

static void counted_blocks_stand_for_all_and_a_note_reports_it(void **state)
{
	(void)state;
	send_buffer(16, 0xa, 0x10000, 2 * PAGE);
	send_partial(1, "k", 5, 8);
	send_row(1, "k", PASTA_REDUCER_OBJECT, 16, 3, 1, 16, 1);
	send_row(1, "k", PASTA_REDUCER_PAGE, 0x10000, 3, 1, 16, 0);
	send_partial(2, "k", 5, 0); /* from an older run, without this field */
	send_row(2, "k", PASTA_REDUCER_OBJECT, 16, 100, 0, 400, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("objects"), "buffer 1 8192 124 8 528 4096 50.00 1 100.00 #0\n");
	assert_non_null(find("in 1 launches, only one thread block in 8 was counted; "
			     "accesses are scaled to all thread blocks"));
	assert_non_null(find("accesses that cross the end of an object: 8"));
	assert_non_null(find("bytes never touched by counted launches: "
			     "4096"));
}

static void sites_that_are_not_counted_are_named(void **state)
{
	(void)state;
	send_buffer(16, 0xa, 0x10000, PAGE);
	send_site(1, NULL, 0, 0, PASTA_SPACE_GLOBAL, "tensor copies (3 in its code)");
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	assert_int_equal(finish(), 0);
	assert_string_equal(find("not counted: accesses by tensor copies")->evidence,
			    "the sums of source lines and objects do not include accesses "
			    "that are not counted");
	assert_string_equal(table("objects"), "buffer 1 4096 0 0 0 0 0.00 0 - #0\n");
}

static void names_show_the_type_of_memory(void **state)
{
	(void)state;
	send_alloc(PASTA_ALLOC_MANAGED, 0xa, 64, 0, NULL);
	send_alloc(PASTA_ALLOC_POOL, 0xb, 64, 0, "weights");
	send_alloc(PASTA_ALLOC_DEVICE, 0xc, 8192, 0, NULL);
	send_alloc(PASTA_ALLOC_DEVICE, 0xd, 64, 0xc, NULL);
	send_object(16, 0xa, 0x10000, 64);
	send_object(17, 0xb, 0x20000, 64);
	send_object(18, 0xd, 0x31000, 64);
	send_object(19, 0, 0x40000, 64);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	for (uint64_t i = 16; i < 21; i++)
		send_row(1, "k", PASTA_REDUCER_OBJECT, i, 100 - i, 0, 4, 0);
	send_row(1, "k", PASTA_REDUCER_PAGE, 0x31000, 1, 0, 4, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("objects"),
			    "managed buffer 1 64 84 0 4 0 0.00 1 100.00 #0\n"
			    "weights (pool buffer 2) 64 83 0 4 0 0.00 1 100.00 #0\n"
			    "sub-buffer 4 of buffer 3 64 82 0 4 64 100.00 1 100.00 #0\n"
			    "memory at 0x40000 64 81 0 4 0 0.00 1 100.00 #0\n"
			    "object 20 (unknown) - 80 0 4 - - 1 100.00 #0\n");
	/* Accesses to a part touch the parent: 3 * 64, and 8192 - 64. */
	assert_non_null(find("bytes never touched: 8320"));
	assert_non_null(find("unknown objects: 1"));
}

static void an_allocation_is_the_same_one_on_every_device(void **state)
{
	(void)state;
	send_buffer(16, 0xa, 0x10000, 2 * PAGE);
	send_object(17, 0xa, 0x50000, 2 * PAGE);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_row(1, "k", PASTA_REDUCER_OBJECT, 16, 1, 0, 4, 0);
	send_row(1, "k", PASTA_REDUCER_PAGE, 0x10000, 1, 0, 4, 0);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 2, "k", 5, NULL);
	send_row(2, "k", PASTA_REDUCER_OBJECT, 17, 1, 0, 4, 0);
	send_row(2, "k", PASTA_REDUCER_PAGE, 0x50000, 1, 0, 4, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("objects"), "buffer 1 8192 2 0 8 4096 50.00 1 100.00 #0\n");
}

static void a_reused_handle_is_another_object(void **state)
{
	(void)state;
	send_buffer(16, 0xa, 0x10000, 64);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_free(0xa);
	send_buffer(17, 0xa, 0x10000, 32);
	send_row(1, "k", PASTA_REDUCER_OBJECT, 16, 5, 0, 20,
		 0); /* the kernel ran on after the end */
	send_row(1, "k", PASTA_REDUCER_PAGE, 0x10000, 5, 0, 20, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("objects"), "buffer 1 64 5 0 20 64 100.00 1 100.00 #0\n"
					      "buffer 2 32 0 0 0 0 0.00 0 - #0\n");
}

static void refused_launches_are_scaled_by_counted_ones_of_their_shape(void **state)
{
	(void)state;
	send_buffer(16, 0xa, 0x10000, PAGE);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	for (uint64_t i = 2; i <= 4; i++)
		send_access_launch(PASTA_ACCESS_LAUNCH_REFUSED, i, "k", 5,
				   "too many are under way");
	send_access_launch(PASTA_ACCESS_LAUNCH_REFUSED, 5, "k", 6,
			   "too many are under way"); /* none was counted */
	send_access_launch(PASTA_ACCESS_LAUNCH_FILTERED, 6, "k", 5, NULL);
	send_row(1, "k", PASTA_REDUCER_OBJECT, 16, 3, 1, 12, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("objects"), "buffer 1 4096 12 4 48 0 0.00 1 25.00 #0\n");
	assert_string_equal(
		find("counted 1 of 4 launches; numbers are scaled")->evidence,
		"the scaling assumes that launches of the same kernel and shape access the "
		"same objects in the same way");
	assert_null(find("counted 1 of 4 launches; numbers are scaled")->action); /* not --all */
	assert_string_equal(find("accesses of this kernel could not be counted")->evidence,
			    "launches that were not counted: 4");
}

static void sampled_launches_are_scaled_by_shape_and_a_note_reports_it(void **state)
{
	(void)state;
	send_buffer(16, 0xa, 0x10000, 2 * PAGE);
	for (uint64_t i = 1; i <= 3; i++)
		send_access_launch(i < 3 ? PASTA_ACCESS_LAUNCH_COUNTED
					 : PASTA_ACCESS_LAUNCH_SAMPLED,
				   i, "k", 5, NULL);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 4, "k", 6, NULL);
	send_row(1, "k", PASTA_REDUCER_OBJECT, 16, 3, 0, 12, 0);
	send_row(1, "k", PASTA_REDUCER_PAGE, 0x10000, 3, 0, 12, 0);
	send_row(2, "k", PASTA_REDUCER_OBJECT, 16, 4, 0, 16, 0);
	send_row(4, "k", PASTA_REDUCER_OBJECT, 16, 100, 0, 400, 0);
	assert_int_equal(finish(), 0);
	/* 7 * 3 / 2 is 10.5, and 100; 28 * 3 / 2, and 400 */
	assert_string_equal(table("objects"), "buffer 1 8192 111 0 442 4096 50.00 1 75.00 #0\n");
	assert_non_null(find("counted 3 of 4 launches; numbers are scaled to all launches, "
			     "by kernel and shape"));
	assert_non_null(find("bytes never touched by counted launches: "
			     "4096"));
	assert_int_equal(chart()->used, 1);
	assert_true(chart()->items[0].cell.value == 3); /* not scaled */
}

static void the_hottest_object_is_found(void **state)
{
	(void)state;
	send_buffer(16, 0xa, 0x10000, 64);
	send_buffer(17, 0xb, 0x20000, 64);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_row(1, "k", PASTA_REDUCER_OBJECT, 16, 10, 0, 40, 0);
	send_row(1, "k", PASTA_REDUCER_OBJECT, 17, 60, 30, 360, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(find("one object has 90% of all accesses")->where, "buffer 2");
}

static void a_shared_page_is_of_the_objects_that_the_launch_accesses(void **state)
{
	(void)state;
	send_buffer(16, 0xa, 0x10000, 100);
	send_buffer(17, 0xb, 0x10100, 50);
	send_buffer(18, 0xc, 0x10200, 30); /* in the same page, and not accessed */
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_row(1, "k", PASTA_REDUCER_OBJECT, 17, 2, 0, 8, 0);
	send_row(1, "k", PASTA_REDUCER_OBJECT, 16, 1, 0, 4, 0);
	send_row(1, "k", PASTA_REDUCER_PAGE, 0x10000, 3, 0, 12, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("objects"), "buffer 2 50 2 0 8 50 100.00 1 100.00 #0\n"
					      "buffer 1 100 1 0 4 100 100.00 1 100.00 #0\n"
					      "buffer 3 30 0 0 0 0 0.00 0 - #0\n");
}

static void the_chart_lays_objects_end_to_end_and_folds_windows(void **state)
{
	double sum = 0, x = 0, y = 0;

	(void)state;
	send_buffer(16, 0xa, 0x100000, 64 * PAGE);
	send_buffer(17, 0xb, 0x800000, 64 * PAGE);
	for (uint64_t i = 0; i < 256; i++) {
		send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, i, "k", 5, NULL);
		send_row(i, "k", PASTA_REDUCER_OBJECT, 17, 2, 0, 8, 0);
		send_row(i, "k", PASTA_REDUCER_PAGE, 0x800000 + i % 64 * PAGE, 2, 0, 8, 0);
	}
	assert_int_equal(finish(), 0);
	assert_non_null(chart());
	assert_string_equal(chart()->name, "pages");
	for (size_t i = 0; i < chart()->used; i++) {
		sum += chart()->items[i].cell.value;
		x = chart()->items[i].cell.x > x ? chart()->items[i].cell.x : x;
		y = chart()->items[i].cell.y > y ? chart()->items[i].cell.y : y;
		/* 128 pages in 64 rows, the second object in the upper half */
		assert_true(chart()->items[i].cell.y >= 64 * (double)PAGE);
	}
	assert_true(sum == 512);
	assert_true(x == 252); /* windows of 4 launches */
	assert_true(y == 126 * (double)PAGE);
	assert_int_equal(chart()->used, 64 * 2);
}

static void windows_may_be_of_time(void **state)
{
	struct pasta_event ev;

	(void)state;
	start_over("hotness.window=time");
	send_buffer(16, 0xa, 0x10000, PAGE);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_row(1, "k", PASTA_REDUCER_OBJECT, 16, 2, 0, 8, 0);
	for (uint64_t i = 0; i < 3; i++) {
		ev = row_event(1, "k", PASTA_REDUCER_PAGE, 0x10000, 1 + i, 0, 4, 0);
		ev.time = (UINT64_C(1) << 40) + i * 640;
		send_event(&ev);
	}
	assert_int_equal(finish(), 0);
	assert_string_equal(chart()->x.name, "time");
	assert_int_equal(chart()->used, 3);
	assert_true(chart()->items[0].cell.x == 0);
	assert_true(chart()->items[2].cell.x == 1280); /* 32 ns a window: 1280 is one's begin */
	assert_true(chart()->items[2].cell.value == 3);
}

static void another_window_is_an_error_that_lists_the_choices(void **state)
{
	(void)state;
	start_over("hotness.window=pages");
	assert_int_equal(finish(), -EINVAL);
	assert_non_null(strstr(result.outs[0]->err.text,
			       "hotness.window must be launches or time, not 'pages'"));
}

static void colder_objects_share_a_row(void **state)
{
	(void)state;
	start_over("hotness.rows=1");
	for (uint64_t i = 0; i < 3; i++)
		send_buffer(16 + i, 0xa + i, 0x10000 + i * PAGE, 100);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	for (uint64_t i = 0; i < 3; i++)
		send_row(1, "k", PASTA_REDUCER_OBJECT, 16 + i, 1 + i, 1, 4, 0);
	send_row(1, "k", PASTA_REDUCER_PAGE, 0x10000, 1, 1, 4, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("objects"), "buffer 3 100 3 1 4 0 0.00 1 100.00 #0\n"
					      "(2 colder ones) 200 3 2 8 100 50.00 - - -\n");
}

static void sums_past_2_63_stay_there_and_are_reported(void **state)
{
	(void)state;
	send_buffer(16, 0xa, 0x10000, UINT64_MAX);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_access_launch(PASTA_ACCESS_LAUNCH_SAMPLED, 2, "k", 5, NULL);
	send_row(1, "k", PASTA_REDUCER_OBJECT, 16, INT64_MAX / 3 * 2, 1, UINT64_MAX, 0);
	send_row(1, "k", PASTA_REDUCER_PAGE, 0x10000, UINT64_MAX, UINT64_MAX, 4, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("objects"), "buffer 1 9223372036854775807 9223372036854775807 2 "
					      "9223372036854775807 4096 0.00 1 50.00 #0\n");
	assert_non_null(find("some sums exceed 2^63 - 1, and are shown as 2^63 - 1"));
}

static void without_room_for_pages_untouched_bytes_are_of_counted_launches_only(void **state)
{
	(void)state;
	send_buffer(16, 0xa, 0x10000, 2 * PAGE);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_row(1, "k", PASTA_REDUCER_OBJECT, 16, 9, 0, 36, 0);
	send_row(1, "k", PASTA_REDUCER_PAGE, PASTA_KEY_OTHER, 9, 0, 36, 0);
	assert_int_equal(finish(), 0);
	assert_non_null(find("accesses to pages for which the table had no room: 9"));
	assert_non_null(find("bytes never touched by counted launches"));
	assert_non_null(find("bytes never touched by counted launches")->action);
}

/* -- Against a recount -- */

struct r_line {
	uint64_t loads, stores, bytes, touched, kernels, counted, launches;
	int proc, object;
};

static int hotter(const void *a, const void *b)
{
	const struct r_line *x = a, *y = b;

	if (x->loads + x->stores != y->loads + y->stores)
		return x->loads + x->stores > y->loads + y->stores ? -1 : 1;
	if (x->proc != y->proc)
		return x->proc - y->proc;
	return x->object - y->object;
}

static void recount(struct r_line *line, const struct r_proc *p, int object)
{
	for (int k = 0; k < R_KERNELS; k++) {
		bool has = false;

		for (int i = 0; i < R_SHAPES; i++) {
			const struct r_shape *s = &p->shapes[k][i];

			line->loads += r_scale(s, s->loads[object]);
			line->stores += r_scale(s, s->stores[object]);
			line->bytes += r_scale(s, s->bytes[object]);
			if (!s->loads[object])
				continue;
			has = true;
			line->counted += s->counted;
			line->launches += s->launches;
		}
		line->kernels += has;
	}
	for (uint64_t page = 0; page < R_PAGES + 2; page++)
		if (p->touched[object][page])
			line->touched += r_clip(p, (uint64_t)object, page);
}

/* Returns whether all launches were counted. */
static bool r_all(void)
{
	for (int p = 0; p < R_PROCS; p++)
		for (int k = 0; k < R_KERNELS; k++)
			for (int i = 0; i < R_SHAPES; i++)
				if (r_procs[p].shapes[k][i].counted !=
				    r_procs[p].shapes[k][i].launches)
					return false;
	return true;
}

static const char *wanted(void)
{
	static struct r_line lines[R_PROCS * R_OBJECTS];
	static char text[1 << 14];
	size_t at = 0;

	memset(lines, 0, sizeof(lines));
	for (int i = 0; i < R_PROCS * R_OBJECTS; i++) {
		lines[i].proc = i / R_OBJECTS;
		lines[i].object = i % R_OBJECTS;
		recount(&lines[i], &r_procs[lines[i].proc], lines[i].object);
	}
	qsort(lines, R_PROCS * R_OBJECTS, sizeof(*lines), hotter);
	for (int i = 0; i < R_PROCS * R_OBJECTS; i++) {
		const struct r_line *l = &lines[i];
		uint64_t size = r_procs[l->proc].size[l->object];
		char counted[40] = "-", sums[100] = "- - -";

		if (l->loads + l->stores || r_all())
			sprintf(sums, "%llu %llu %llu", (unsigned long long)l->loads,
				(unsigned long long)l->stores, (unsigned long long)l->bytes);
		if (l->launches)
			sprintf(counted, "%.2f", 100.0 * (double)l->counted / (double)l->launches);
		at += (size_t)sprintf(text + at, "buffer %d %llu %s %llu %.2f %llu %s #%d\n",
				      l->object + 1, (unsigned long long)size, sums,
				      (unsigned long long)l->touched,
				      100.0 * (double)l->touched / (double)size,
				      (unsigned long long)l->kernels, counted, l->proc);
	}
	return text;
}

static void random_runs_equal_a_plain_recount(void **state)
{
	(void)state;
	for (int i = 0; i < 40; i++) {
		r_make(i % 2);
		r_send_all(send_event);
		assert_int_equal(finish(), 0);
		assert_string_equal(table("objects"), wanted());
		start_over(NULL);
	}
}

/* Returns the cells as text, in the order of the chart. */
static char *cells(void)
{
	static char text[1 << 17];
	size_t at = 0;

	text[0] = '\0';
	for (size_t i = 0; chart() && i < chart()->used && at < sizeof(text) - 100; i++)
		at += (size_t)sprintf(text + at, "%.0f %.0f %.0f\n", chart()->items[i].cell.x,
				      chart()->items[i].cell.y, chart()->items[i].cell.value);
	return text;
}

static void states_merged_in_any_order_equal_a_single_one(void **state)
{
	char *whole;

	(void)state;
	for (int i = 0; i < 20; i++) {
		start_over(i % 2 ? "hotness.window=time" : "hotness.window=launches");
		r_make(false);
		r_send_all(send_event);
		assert_int_equal(finish(), 0);
		whole = strdup(cells());
		start_over(NULL);
		merged(0, 1, 2);
		assert_string_equal(table("objects"), wanted());
		assert_string_equal(cells(), whole);
		start_over(NULL);
		merged(2, 0, 1);
		assert_string_equal(table("objects"), wanted());
		assert_string_equal(cells(), whole);
		free(whole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(objects_are_sorted_by_accesses_and_other_memory_follows),
		TEST(operands_of_tensor_copies_are_touched_and_their_bytes_reported),
		TEST(counted_blocks_stand_for_all_and_a_note_reports_it),
		TEST(sites_that_are_not_counted_are_named),
		TEST(names_show_the_type_of_memory),
		TEST(an_allocation_is_the_same_one_on_every_device),
		TEST(a_reused_handle_is_another_object),
		TEST(refused_launches_are_scaled_by_counted_ones_of_their_shape),
		TEST(sampled_launches_are_scaled_by_shape_and_a_note_reports_it),
		TEST(the_hottest_object_is_found),
		TEST(a_shared_page_is_of_the_objects_that_the_launch_accesses),
		TEST(the_chart_lays_objects_end_to_end_and_folds_windows),
		TEST(windows_may_be_of_time),
		TEST(another_window_is_an_error_that_lists_the_choices),
		TEST(colder_objects_share_a_row),
		TEST(sums_past_2_63_stay_there_and_are_reported),
		TEST(without_room_for_pages_untouched_bytes_are_of_counted_launches_only),
		TEST(random_runs_equal_a_plain_recount),
		TEST(states_merged_in_any_order_equal_a_single_one),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
