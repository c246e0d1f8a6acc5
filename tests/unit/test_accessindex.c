/* test_accessindex.c - the access index: its joins, and its errors without memory. */
/* labels: onethread */
#include "unit/support.h"

#include <errno.h>

#include "core/strings.h"

static int until = -1; /* allocations before all others fail; -1: none fails */
static bool was_refused;

static bool refused(void)
{
	if (until > 0)
		until--;
	was_refused |= until == 0;
	return until == 0;
}

#define malloc(size) (refused() ? NULL : malloc(size))
#define calloc(count, size) (refused() ? NULL : calloc(count, size))
#define reallocarray(old, count, size) (refused() ? NULL : reallocarray(old, count, size))
#define pasta_map_new(size) (refused() ? NULL : pasta_map_new(size))
#define pasta_map_add(map, key) (refused() ? NULL : pasta_map_add(map, key))
#define pasta_map_sorted(map, order) (refused() ? NULL : pasta_map_sorted(map, order))
#define pasta_pending_new(size, limit) (refused() ? NULL : pasta_pending_new(size, limit))
#define pasta_pending_add(p, proc, corr) (refused() ? NULL : pasta_pending_add(p, proc, corr))
#include "../../src/process/sdk/accessindex.c"
#include "../../src/process/sdk/accessobjects.c"
#include "../../src/process/sdk/accessrows.c"
#include "../../src/process/sdk/accesstext.c"
#undef malloc
#undef calloc
#undef reallocarray
#undef pasta_map_new
#undef pasta_map_add

#define ALL                                                                                        \
	(PASTA_REDUCER_MASK(OBJECT) | PASTA_REDUCER_MASK(PAGE) | PASTA_REDUCER_MASK(SITE) |        \
	 PASTA_REDUCER_MASK(COALESCE) | PASTA_REDUCER_MASK(DIVERGE))

static struct pasta_event event(unsigned int kind, size_t size, uint32_t proc)
{
	return (struct pasta_event){
		.size = (uint16_t)size, .kind = (uint8_t)kind, .proc = proc, .time = 1};
}

static void alloc(struct pasta_access_index *b, uint32_t proc, uint64_t addr, uint64_t bytes,
		  uint64_t parent, uint32_t pool)
{
	struct pasta_event ev = event(PASTA_KIND_ALLOC, PASTA_EVENT_SIZE(alloc), proc);

	ev.sub = PASTA_ALLOC_DEVICE;
	ev.alloc.addr = addr;
	ev.alloc.bytes = bytes;
	ev.alloc.parent = parent;
	ev.alloc.pool = pool;
	pasta_access_index_event(b, &ev);
}

static void end(struct pasta_access_index *b, uint64_t addr, uint32_t pool)
{
	struct pasta_event ev = event(PASTA_KIND_FREE, PASTA_EVENT_SIZE(free), 0);

	ev.free.addr = addr;
	ev.free.pool = pool;
	pasta_access_index_event(b, &ev);
}

static void object(struct pasta_access_index *b, uint32_t proc, uint64_t id, uint64_t alloc_,
		   uint64_t addr, uint64_t bytes)
{
	struct pasta_event ev = event(PASTA_KIND_OBJECT, PASTA_EVENT_SIZE(object), proc);

	ev.object.id = id;
	ev.object.alloc = alloc_;
	ev.object.addr = addr;
	ev.object.bytes = bytes;
	pasta_access_index_event(b, &ev);
}

static void launch(struct pasta_access_index *b, uint32_t proc, unsigned int what, uint64_t corr)
{
	struct pasta_event ev =
		event(PASTA_KIND_ACCESS_LAUNCH, PASTA_EVENT_SIZE(access_launch), proc);

	ev.sub = (uint8_t)what;
	ev.access_launch.corr = corr;
	ev.access_launch.shape = 5;
	pasta_access_index_event(b, &ev);
}

static struct pasta_event row(struct pasta_access_index *b, uint32_t proc, uint64_t corr,
			      uint32_t reducer, uint64_t key0)
{
	struct pasta_event ev = event(PASTA_KIND_ACCESS_SUM, PASTA_EVENT_SIZE(access_sum), proc);

	ev.access_sum.corr = corr;
	ev.access_sum.reducer = reducer;
	ev.access_sum.key0 = key0;
	ev.access_sum.loads = 1;
	ev.access_sum.bytes = 4;
	pasta_access_index_event(b, &ev);
	return ev;
}

static const struct pasta_access_object *number(const struct pasta_access_index *b, uint64_t n)
{
	const struct pasta_access_object *o;
	size_t at = 0;

	while ((o = pasta_access_index_objects(b, &at)) && o->number != n)
		;
	return o;
}

static const char *text_of(const struct pasta_access_index *b, uint64_t n)
{
	static char text[200];
	const struct pasta_access_object *o = number(b, n);

	return o ? pasta_access_object_text(b, o, text, sizeof(text)) : "";
}

static void an_address_belongs_to_its_latest_live_allocation(void **state)
{
	struct pasta_access_index *b = pasta_access_index_new(ALL);

	(void)state;
	alloc(b, 0, 0x10, 100, 0, 0);
	alloc(b, 0, 0x10, 40, 0x10, 1); /* a pool allocates its first part */
	object(b, 0, 16, 0x10, 0x1000, 40);
	end(b, 0x10, 1);
	object(b, 0, 17, 0x10, 0x1000, 100);
	end(b, 0x10, 0);
	object(b, 0, 18, 0x10, 0x2000, 8); /* freed by now */
	assert_string_equal(text_of(b, 1), "buffer 1");
	assert_string_equal(text_of(b, 2), "sub-buffer 2 of buffer 1");
	assert_int_equal(number(b, 1)->id, 17);
	assert_int_equal(number(b, 2)->id, 16);
	assert_string_equal(text_of(b, 0), "memory at 0x2000");
	assert_int_equal(pasta_access_index_error(b), 0);
	pasta_access_index_free(b);
}

static void allocations_that_are_not_passed_to_a_kernel_are_counted(void **state)
{
	struct pasta_access_index *b = pasta_access_index_new(ALL);
	struct pasta_access_totals t;

	(void)state;
	alloc(b, 0, 0x10, 100, 0, 0);
	alloc(b, 0, 0x20, 7, 0, 0);
	end(b, 0x20, 0);
	alloc(b, 0, 0x20, 9, 0, 0);
	alloc(b, 0, 0x20, 11, 0, 0); /* the previous allocation's free was dropped */
	alloc(b, 0, 0x30, 50, 0x10, 0);
	object(b, 0, 16, 0x30, 0x1000, 50); /* a part: its parent then counts as passed, too */
	t = pasta_access_index_totals(b);
	assert_int_equal(t.untouched, 3);
	assert_int_equal(t.untouched_bytes, 7 + 9 + 11);
	pasta_access_index_free(b);
}

/* Older runs do not record the ends of launches. */
static void launches_that_have_not_ended_are_counted(void **state)
{
	struct pasta_access_index *b = pasta_access_index_new(ALL),
				  *c = pasta_access_index_new(ALL);
	struct pasta_event ev = event(PASTA_KIND_ACCESS_LAUNCH, PASTA_EVENT_SIZE(access_launch), 0);

	(void)state;
	launch(b, 0, PASTA_ACCESS_LAUNCH_COUNTED, 1);
	assert_int_equal(pasta_access_index_totals(b).unended, 0);
	ev.sub = PASTA_ACCESS_LAUNCH_COUNTED;
	ev.access_launch.flags = PASTA_ACCESS_LAUNCH_ENDS;
	for (uint64_t i = 2; i < 5; i++) {
		ev.access_launch.corr = i;
		pasta_access_index_event(b, &ev);
	}
	ev.sub = PASTA_ACCESS_LAUNCH_ENDED;
	ev.access_launch.flags = 0;
	pasta_access_index_event(b, &ev);
	assert_int_equal(pasta_access_index_totals(b).unended, 2);
	assert_int_equal(pasta_access_index_totals(b).counted, 4);
	pasta_access_index_event(c, &ev);
	assert_int_equal(pasta_access_index_merge(b, c), 0);
	assert_int_equal(pasta_access_index_totals(b).unended, 1);
	pasta_access_index_free(c);
	pasta_access_index_free(b);
}

static void dropped_accesses_are_added_up_and_are_not_a_launch(void **state)
{
	struct pasta_access_index *b = pasta_access_index_new(ALL);
	struct pasta_event ev = event(PASTA_KIND_ACCESS_LAUNCH, PASTA_EVENT_SIZE(access_launch), 0);

	(void)state;
	launch(b, 0, PASTA_ACCESS_LAUNCH_COUNTED, 1);
	ev.sub = PASTA_ACCESS_LAUNCH_REFUSED + 1;
	ev.access_launch.corr = 1;
	ev.access_launch.lost = 40;
	pasta_access_index_event(b, &ev);
	ev.access_launch.lost = 2;
	pasta_access_index_event(b, &ev);
	ev.access_launch.flags =
		PASTA_ACCESS_LAUNCH_RAW_DROPPED; /* dropped raw accesses are still in the sums */
	ev.access_launch.lost = 100;
	pasta_access_index_event(b, &ev);
	assert_int_equal(pasta_access_index_totals(b).lost, 42);
	assert_int_equal(pasta_access_index_totals(b).counted, 1);
	assert_int_equal(pasta_map_count(b->shapes), 1);
	pasta_access_index_free(b);
}

static void rows_of_many_launches_may_alternate(void **state)
{
	struct pasta_access_index *b = pasta_access_index_new(ALL);
	const struct pasta_access_part *parts;
	const struct pasta_access_shape *s;
	struct pasta_event ev;
	size_t at = 0;

	(void)state;
	for (uint64_t i = 0; i < PASTA_ACCIDX_RECENT; i++) {
		object(b, 0, 100 + i, 0, 0x10000, 100 + i); /* all at one address */
		launch(b, 0, PASTA_ACCESS_LAUNCH_COUNTED, i);
	}
	for (uint64_t i = 0; i < PASTA_ACCIDX_RECENT; i++)
		row(b, 0, i, PASTA_REDUCER_OBJECT, 100 + i);
	for (uint64_t i = 0; i < PASTA_ACCIDX_RECENT; i++) {
		uint64_t n;

		ev = row(b, 0, i, PASTA_REDUCER_PAGE, 0x10000);
		assert_int_equal(pasta_access_index_page(b, &ev, &parts, &n), 1);
		assert_int_equal(parts[0].object->id, 100 + i);
		assert_int_equal(parts[0].bytes, 100 + i);
		assert_int_equal(n, i);
	}
	s = pasta_access_index_shapes(b, &at);
	assert_int_equal(s->counted, PASTA_ACCIDX_RECENT);
	assert_int_equal(s->footprint_max, 100 + PASTA_ACCIDX_RECENT - 1);
	assert_int_equal(s->objects_max, 1);
	assert_null(pasta_access_index_shapes(b, &at));
	pasta_access_index_free(b);
}

static void a_page_has_the_bytes_of_each_object_in_it(void **state)
{
	struct pasta_access_index *b = pasta_access_index_new(ALL);
	const struct pasta_access_part *parts;
	struct pasta_event ev;

	(void)state;
	object(b, 0, 16, 0, 0x10800, 0x1000); /* over the end of the page */
	object(b, 0, 17, 0, 0x10000, 0x10);
	launch(b, 0, PASTA_ACCESS_LAUNCH_COUNTED, 1);
	row(b, 0, 1, PASTA_REDUCER_OBJECT, 16);
	row(b, 0, 1, PASTA_REDUCER_OBJECT, 17);
	ev = row(b, 0, 1, PASTA_REDUCER_PAGE, 0x10000);
	assert_int_equal(pasta_access_index_page(b, &ev, &parts, NULL), 2);
	assert_int_equal(parts[0].object->id, 17);
	assert_int_equal(parts[0].bytes, 0x10);
	assert_int_equal(parts[1].object->id, 16);
	assert_int_equal(parts[1].bytes, 0x800);
	assert_int_equal(parts[1].page, 0);
	ev = row(b, 0, 1, PASTA_REDUCER_PAGE, 0x11000);
	assert_int_equal(pasta_access_index_page(b, &ev, &parts, NULL), 1);
	assert_int_equal(parts[0].bytes, 0x800);
	assert_int_equal(parts[0].page, 1);
	pasta_access_index_free(b);
}

static void scaling_rounds_and_never_wraps(void **state)
{
	struct pasta_access_shape s = {.counted = 2, .sampled = 1};

	(void)state;
	assert_int_equal(pasta_access_scale(&s, 1), 2); /* 1.5 */
	assert_int_equal(pasta_access_scale(&s, 3), 5); /* 4.5 */
	assert_int_equal(pasta_access_scale(&s, 4), 6);
	assert_int_equal(pasta_access_scale(&s, UINT64_MAX), INT64_MAX);
	s.refused = 1; /* not counted: sums are scaled to include it */
	assert_int_equal(pasta_access_launches(&s), 4);
	assert_int_equal(pasta_access_scale(&s, 3), 6);
	s.refused = 0;
	s.filtered = 9; /* sums are not scaled to include these */
	assert_int_equal(pasta_access_launches(&s), 3);
	assert_int_equal(pasta_access_scale(&s, 4), 6);
	s.sampled = 0;
	assert_int_equal(pasta_access_scale(&s, 12345), 12345);
	s = (struct pasta_access_shape){0};
	assert_int_equal(pasta_access_scale(&s, 7), 7); /* its launches are unknown */
	assert_int_equal(pasta_access_add(INT64_MAX, 1), INT64_MAX);
	assert_int_equal(pasta_access_add(1, UINT64_MAX), INT64_MAX);
	assert_int_equal(pasta_access_add(INT64_MAX - 1, 1), INT64_MAX);
	assert_int_equal(pasta_access_add(2, 3), 5);
}

static void split_row(struct pasta_access_index *b, uint64_t object, uint64_t bytes,
		      uint64_t written, uint32_t flags)
{
	struct pasta_event ev = event(PASTA_KIND_ACCESS_SUM, PASTA_EVENT_SIZE(access_sum), 0);

	ev.access_sum.corr = 1;
	ev.access_sum.reducer = PASTA_REDUCER_OBJECT;
	ev.access_sum.key0 = object;
	ev.access_sum.loads = 1;
	ev.access_sum.bytes = bytes;
	ev.access_sum.written = written;
	ev.access_sum.flags = flags;
	pasta_access_index_event(b, &ev);
}

struct split {
	uint64_t bytes, read, written;
};

static int take_split(void *ctx, const struct pasta_access_shape *shape,
		      const struct pasta_access_row *row)
{
	struct split *s = ctx;

	(void)shape;
	s[row->key] = (struct split){row->bytes, row->bytes_read, row->bytes_written};
	return 0;
}

#define assert_split(s, bytes_, read_, written_)                                                   \
	do {                                                                                       \
		assert_int_equal((s).bytes, bytes_);                                               \
		assert_int_equal((s).read, read_);                                                 \
		assert_int_equal((s).written, written_);                                           \
	} while (0)

static void bytes_are_split_where_all_rows_of_a_key_are(void **state)
{
	struct pasta_access_index *b = pasta_access_index_new(ALL),
				  *all = pasta_access_index_new(ALL);
	struct split s[PASTA_OBJECT_FIRST] = {0};

	(void)state;
	launch(b, 0, PASTA_ACCESS_LAUNCH_COUNTED, 1);
	launch(b, 0, PASTA_ACCESS_LAUNCH_SAMPLED, 2); /* all sums are twice as large */
	split_row(b, 0, 100, 40, PASTA_SUM_SPLIT);
	split_row(b, 0, 10, 0, PASTA_SUM_SPLIT);
	split_row(b, PASTA_SPACE_LOCAL, 8, 8, PASTA_SUM_SPLIT);
	split_row(b, PASTA_SPACE_LOCAL, 8, 8, 0);		  /* an older agent's */
	split_row(b, PASTA_SPACE_PRIVATE, 8, 9, PASTA_SUM_SPLIT); /* damaged: more than all */
	assert_int_equal(pasta_access_index_merge(all, b), 0);
	pasta_access_index_rows(all, PASTA_REDUCER_OBJECT, take_split, s);
	assert_split(s[0], 220, 140, 80);
	assert_split(s[PASTA_SPACE_LOCAL], 32, UINT64_MAX, UINT64_MAX);
	assert_split(s[PASTA_SPACE_PRIVATE], 16, UINT64_MAX, UINT64_MAX);
	pasta_access_index_free(all);
	pasta_access_index_free(b);
}

/* Sends every type of event for which the index allocates memory. */
static void feed(struct pasta_access_index *b, uint32_t proc)
{
	const struct pasta_access_part *parts;
	struct pasta_event ev = event(PASTA_KIND_SITE, PASTA_EVENT_SIZE(site), proc);

	alloc(b, proc, 0x10, 8192, 0, 0);
	alloc(b, proc, 0x20, 64, 0x10, 0);
	object(b, proc, 16, 0x10, 0x10000, 8192);
	object(b, proc, 17, 0x20, 0x20000, 64);
	object(b, proc, 18, 0, 0x30000, 64);
	ev.site.id = 3;
	pasta_access_index_event(b, &ev);
	launch(b, proc, PASTA_ACCESS_LAUNCH_COUNTED, 1);
	launch(b, proc, PASTA_ACCESS_LAUNCH_SAMPLED, 2);
	launch(b, proc, PASTA_ACCESS_LAUNCH_REFUSED, 3);
	for (uint64_t i = 16; i < 20; i++)
		row(b, proc, 1, PASTA_REDUCER_OBJECT, i);
	ev = row(b, proc, 1, PASTA_REDUCER_PAGE, 0x10000);
	pasta_access_index_page(b, &ev, &parts, NULL);
	row(b, proc, 1, PASTA_REDUCER_SITE, 3);
	row(b, proc, 1, PASTA_REDUCER_COALESCE, 3);
	row(b, proc, 1, PASTA_REDUCER_DIVERGE, 4);
	row(b, proc, 9, PASTA_REDUCER_SITE, 3);
}

/* From the n-th allocation on, all fail: the index reports the error, and nothing leaks. */
static bool survives(int n)
{
	struct pasta_access_index *a, *b;
	bool whole;

	until = n;
	was_refused = false;
	a = pasta_access_index_new(ALL);
	b = a ? pasta_access_index_new(ALL) : NULL;
	if (b) {
		feed(a, 0);
		feed(b, 1);
		pasta_access_index_merge(a, b);
		assert_int_equal(pasta_access_index_error(a), was_refused ? -ENOMEM : 0);
		pasta_access_index_totals(a);
	}
	whole = !was_refused;
	until = -1;
	pasta_access_index_free(a);
	pasta_access_index_free(b);
	return whole;
}

static void every_failed_allocation_is_an_error(void **state)
{
	int n = 1;

	(void)state;
	while (!survives(n))
		n++;
	assert_true(n > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_belongs_to_its_latest_live_allocation),
		cmocka_unit_test(allocations_that_are_not_passed_to_a_kernel_are_counted),
		cmocka_unit_test(launches_that_have_not_ended_are_counted),
		cmocka_unit_test(dropped_accesses_are_added_up_and_are_not_a_launch),
		cmocka_unit_test(rows_of_many_launches_may_alternate),
		cmocka_unit_test(a_page_has_the_bytes_of_each_object_in_it),
		cmocka_unit_test(scaling_rounds_and_never_wraps),
		cmocka_unit_test(bytes_are_split_where_all_rows_of_a_key_are),
		cmocka_unit_test(every_failed_allocation_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
