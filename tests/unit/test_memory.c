/* test_memory.c - tests tool memory with made-up events, and against a recount. */
/* labels: onethread */
#include "../../tools/memory.c"

#include "unit/tooltest.h"

/* As in the tool: bins of a series, points of its chart. */
enum { BINS = 200, POINTS = 4000 };

static struct pasta_event alloc_event(uint64_t time, uint64_t addr, uint64_t bytes)
{
	struct pasta_event ev = EVENT(alloc, ALLOC, 0, 1, time);

	ev.sub = PASTA_ALLOC_DEVICE;
	ev.alloc.addr = addr;
	ev.alloc.bytes = bytes;
	return ev;
}

static void get(uint64_t time, uint64_t addr, uint64_t bytes, const char *name)
{
	struct pasta_event ev = alloc_event(time, addr, bytes);

	ev.alloc.name = id(name);
	send_event(&ev);
}

static void drop(uint64_t time, uint64_t addr)
{
	struct pasta_event ev = EVENT(free, FREE, 0, 1, time);

	ev.free.addr = addr;
	send_event(&ev);
}

static void the_peak_is_what_was_live_then(void **state)
{
	(void)state;
	get(100, 0x10, 50, "a");
	get(110, 0x20, 30, "b");
	drop(120, 0x10);
	get(130, 0x10, 70, "c"); /* at the address of a: 30 + 70 is the peak */
	drop(140, 0x20);
	drop(150, 0x10);
	get(160, 0x30, 60, NULL);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("memory"), "device 0 #0 held 4 3 210 100 30 60\n");
	assert_string_equal(table("peak"), "c device 70 c 0 device 0 #0 held\n"
					   "b device 30 b 20 device 0 #0 held\n");
	assert_string_equal(table("never_freed"),
			    "0x30 device 60 (unknown) 0 device 0 #0 driver\n");
	assert_string_equal(table("sites"), "c driver 1 70 70 70.00\n"
					    "b driver 1 30 30 30.00\n"
					    "(unknown) driver 1 60 0 0.00\n"
					    "a driver 1 50 0 0.00\n");
	assert_string_equal(table("live"), "0 device 0 #0 held 60 100\n");
	assert_string_equal(finding(0), "allocations that were never freed: 1");
	assert_string_equal(finding(1), "");
}

static void the_first_of_equal_peaks_is_the_peak(void **state)
{
	(void)state;
	get(1, 0x10, 50, "first");
	drop(2, 0x10);
	get(3, 0x10, 50, "second");
	drop(4, 0x10);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("peak"), "first device 50 first 0 device 0 #0 held\n");
}

static void parts_are_a_level_of_their_own_and_end_before_what_they_are_part_of(void **state)
{
	struct pasta_event part = alloc_event(2, 0x10, 40);

	(void)state;
	get(1, 0x10, 100, "whole");
	part.alloc.parent = 0x10;
	send_event(&part); /* begins at the parent's first byte */
	part.alloc.addr = 0x40;
	send_event(&part);
	drop(3, 0x10);
	drop(4, 0x40);
	drop(5, 0x10);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("memory"), "device 0 #0 held 1 1 100 100 0 0\n"
					     "device 0 #0 driver 1 1 100 100 0 0\n"
					     "device 0 #0 allocated 2 2 80 80 1 0\n");
	assert_string_equal(finding(0), "");
}

static void a_pool_may_give_out_an_address_that_is_another_pools(void **state)
{
	struct pasta_event ev = alloc_event(2, 0x10, 7), end = EVENT(free, FREE, 0, 1, 3);

	(void)state;
	get(1, 0x10, 100, NULL);
	ev.alloc.pool = end.free.pool = 1;
	send_event(&ev);
	end.free.addr = 0x10;
	send_event(&end);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("memory"), "device 0 #0 held 2 1 107 107 1 100\n");
}

static void pools_are_by_process_device_and_host(void **state)
{
	struct pasta_event ev = EVENT(process, PROCESS, 3, 0, 1);

	(void)state;
	ev.process.pid = 77;
	ev.process.host = id("box");
	send_event(&ev);
	ev = alloc_event(2, 0x10, 5);
	ev.proc = 3;
	ev.alloc.device = 1;
	send_event(&ev);
	ev.proc = 4; /* the same address, another process */
	send_event(&ev);
	ev.proc = 3;
	ev.sub = PASTA_ALLOC_HOST;
	ev.alloc.addr = 0x20;
	send_event(&ev);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("memory"), "device 1 box-77 held 1 0 5 5 1 5\n"
					     "host box-77 held 1 0 5 5 1 5\n"
					     "device 1 #4 held 1 0 5 5 1 5\n");
	assert_string_equal(table("never_freed"),
			    "0x10 device 5 (unknown) 0 device 1 box-77 driver\n"
			    "0x20 host 5 (unknown) 0 host box-77 driver\n"
			    "0x10 device 5 (unknown) 0 device 1 #4 driver\n");
}

static void what_is_not_known_is_counted(void **state)
{
	(void)state;
	drop(1, 0x10);
	get(2, 0x20, 8, "a");
	get(3, 0x20, 9, "b");
	assert_int_equal(finish(), 0);
	assert_string_equal(table("memory"), "device 0 #0 held 2 1 17 9 2 9\n");
	assert_string_equal(finding(1), "frees of unknown memory: 1");
	assert_string_equal(finding(2), "allocations at addresses that were not free: 1");
}

static void the_smallest_share_a_row(void **state)
{
	(void)state;
	start_over("memory.rows=2");
	for (uint64_t i = 1; i <= 5; i++)
		get(i, i, i * 10, NULL);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("peak"), "0x5 device 50 (unknown) 0 device 0 #0 held\n"
					   "0x4 device 40 (unknown) 1 device 0 #0 held\n"
					   "(3 smaller ones) - 60 - - device 0 #0 held\n");
	assert_int_equal(pasta_choice_set(&choice, "memory.rows=many", NULL), -EINVAL);
}

static void a_million_allocations_are_fast_and_their_peaks_have_the_right_time(void **state)
{
	enum { COUNT = 1000000, LIVE = 1000 };
	const struct pasta_table *t;
	int64_t most = 0;

	(void)state;
	for (uint64_t i = 0; i < COUNT; i++) {
		get(i * 1000, i + 1, i == COUNT / 3 ? 1 << 20 : 1, NULL);
		if (i >= LIVE)
			drop(i * 1000 + 1, i + 1 - LIVE);
	}
	assert_int_equal(finish(), 0);
	t = table_of("live");
	assert_in_range(pasta_table_rows(t), BINS / 2, BINS);
	for (size_t i = 0; i < pasta_table_rows(t); i++)
		if (pasta_table_cell(t, i, 5)->i > most)
			most = pasta_table_cell(t, i, 5)->i;
	assert_int_equal(most, (1 << 20) + LIVE);
	assert_int_equal(pasta_table_rows(table_of("peak")), 1001);
}

static void the_chart_has_every_peak_and_ends_with_what_is_live(void **state)
{
	const struct pasta_chart *c;
	double most = 0, last = -1;

	(void)state;
	for (uint64_t i = 0; i < 5000; i++) {
		get(i * 1000, i + 1, i == 1234 ? 1 << 20 : 16, NULL);
		drop(i * 1000 + 1, i + 1);
	}
	get(6000000, 1, 7, NULL);
	assert_int_equal(finish(), 0);
	assert_int_equal(result.outs[0]->chart_count, 1);
	c = result.outs[0]->charts[0];
	assert_string_equal(c->name, "live_bytes");
	assert_int_equal(c->type, PASTA_CHART_LINE);
	assert_int_equal(c->series_count, 1);
	assert_string_equal(c->series[0].name, "device 0, #0, held");
	assert_in_range(c->used, BINS / 2, BINS + 1);
	for (size_t i = 0; i < c->used; i++) {
		assert_true(c->items[i].point.x >= last);
		last = c->items[i].point.x;
		most = c->items[i].point.y > most ? c->items[i].point.y : most;
	}
	assert_true(most == 1 << 20);
	assert_true(last == 6000000 && c->items[c->used - 1].point.y == 7);
}

static void the_chart_of_many_pools_is_not_larger(void **state)
{
	struct pasta_event ev = alloc_event(0, 1, 1);

	(void)state;
	for (uint32_t i = 0; i < 20000; i++) {
		ev.time = i * 1000;
		ev.proc = i % 1000;
		ev.alloc.addr = i + 1;
		send_event(&ev);
	}
	assert_int_equal(finish(), 0);
	assert_int_equal(result.outs[0]->charts[0]->series_count, 1000);
	assert_in_range(result.outs[0]->charts[0]->used, 2000, POINTS + 1000);
}

static void send_alloc(uint64_t time, unsigned int sub, uint32_t pool, uint64_t addr,
		       uint64_t bytes)
{
	struct pasta_event ev = alloc_event(time, addr, bytes);

	ev.sub = (uint8_t)sub;
	ev.alloc.pool = pool;
	ev.alloc.name = id(pool ? "torch" : NULL);
	send_event(&ev);
}

static void levels_of_one_memory_are_not_added(void **state)
{
	(void)state;
	send_alloc(1, PASTA_ALLOC_DEVICE, 0, 0x1000, 20);
	send_alloc(2, PASTA_ALLOC_SEGMENT, 1, 0x1000, 20);
	send_alloc(3, PASTA_ALLOC_POOL, 2, 0x1000, 8);
	send_alloc(4, PASTA_ALLOC_POOL, 2, 0x1008, 4);
	send_alloc(5, PASTA_ALLOC_HOST, 2, 0x9000, 3);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("memory"), "device 0 #0 held 1 0 20 20 0 20\n"
					     "device 0 #0 driver 1 0 20 20 0 20\n"
					     "device 0 #0 reserved 1 0 20 20 1 20\n"
					     "device 0 #0 allocated 2 0 12 12 3 12\n"
					     "host #0 held 1 0 3 3 4 3\n");
	assert_string_equal(table("peak"), "0x1000 device 20 (unknown) 0 device 0 #0 held\n"
					   "0x1000 device 20 (unknown) 0 device 0 #0 driver\n"
					   "torch segment 20 torch 0 device 0 #0 reserved\n"
					   "torch pool 8 torch 1 device 0 #0 allocated\n"
					   "torch pool 4 torch 0 device 0 #0 allocated\n"
					   "torch host 3 torch 0 host #0 held\n");
	assert_string_equal(table("sites"), "(unknown) driver 1 20 20 100.00\n"
					    "torch reserved 1 20 20 100.00\n"
					    "torch allocated 3 15 15 100.00\n");
	assert_int_equal(result.outs[0]->charts[0]->series_count, 5);
	assert_string_equal(result.outs[0]->charts[0]->series[3].name, "device 0, #0, allocated");
}

static void what_is_reserved_may_be_counted(void **state)
{
	struct pasta_event ev = EVENT(counter, COUNTER, 0, 1, 2);

	(void)state;
	send_alloc(1, PASTA_ALLOC_POOL, 2, 0x1000, 8);
	ev.counter.name = id("reserved");
	ev.counter.value = 50;
	send_event(&ev);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("memory"), "device 0 #0 held 1 0 8 8 0 8\n"
					     "device 0 #0 reserved 0 0 0 50 1 50\n"
					     "device 0 #0 allocated 1 0 8 8 0 8\n");
}

/* -- Against a recount -- */

enum { EVENTS = 300, PROCS = 2, DEVICES = 2, PLACES = PROCS * (DEVICES + 1), ADDRS = 12 };
static struct record {
	int place; /* -1: none */
	uint32_t proc, pool;
	uint64_t addr, bytes;
	int begin, end; /* events: live from begin until before end */
} records[EVENTS];
static uint64_t times[EVENTS];
static int record_count;

static uint64_t live_after(int place, int event)
{
	uint64_t live = 0;

	for (int i = 0; i < record_count; i++)
		if (records[i].place == place && records[i].begin <= event &&
		    records[i].end > event)
			live += records[i].bytes;
	return live;
}

static void end_record(uint32_t proc, uint32_t pool, uint64_t addr, int event)
{
	for (int i = 0; i < record_count; i++)
		if (records[i].end == EVENTS && records[i].proc == proc &&
		    records[i].pool == pool && records[i].addr == addr)
			records[i].end = event;
}

static void random_event(int i)
{
	uint32_t proc = (uint32_t)random_below(PROCS), pool = (uint32_t)random_below(2);
	uint64_t addr = 1 + random_below(ADDRS);
	struct pasta_event ev = alloc_event(times[i], addr, random_below(100));

	end_record(proc, pool, addr, i);
	if (random_below(2)) {
		ev = (struct pasta_event)EVENT(free, FREE, proc, 1, times[i]);
		ev.free.addr = addr;
		ev.free.pool = pool;
		send_event(&ev);
		return;
	}
	ev.proc = proc;
	ev.sub = random_below(4) ? PASTA_ALLOC_DEVICE : PASTA_ALLOC_HOST;
	ev.alloc.device = (uint32_t)random_below(DEVICES);
	ev.alloc.pool = pool;
	/* Host memory of a pool belongs to a framework, and is a level of its own. */
	if (pool)
		ev.sub = PASTA_ALLOC_DEVICE;
	records[record_count++] = (struct record){
		(int)proc * (DEVICES + 1) +
			(ev.sub == PASTA_ALLOC_HOST ? DEVICES : (int)ev.alloc.device),
		proc,
		pool,
		addr,
		ev.alloc.bytes,
		i,
		EVENTS};
	send_event(&ev);
}

/* Returns a cell's pool, from its two columns. */
static int pool_at(const struct pasta_table *t, size_t row, size_t memory_column)
{
	const char *memory = pasta_table_cell(t, row, memory_column)->s;
	int proc = pasta_table_cell(t, row, memory_column + 1)->s[1] - '0';

	return proc * (DEVICES + 1) + (*memory == 'h' ? DEVICES : memory[7] - '0');
}

static int first_peak(int place)
{
	uint64_t most = 0;
	int event = -1;

	for (int i = 0; i < EVENTS; i++)
		if (live_after(place, i) > most) {
			most = live_after(place, i);
			event = i;
		}
	return event;
}

/* All rows of a pool are right, and none is missing. */
static void check_list(const char *name, bool at_peak)
{
	const struct pasta_table *t = table_of(name);
	size_t rows = 0;

	for (int i = 0; i < record_count; i++) {
		int when = at_peak ? first_peak(records[i].place) : EVENTS - 1;

		rows += when >= 0 && records[i].begin <= when && records[i].end > when;
	}
	assert_property(pasta_table_rows(t) == rows);
	for (size_t row = 0; row < rows; row++) {
		uint64_t addr = strtoull(pasta_table_cell(t, row, 0)->s, NULL, 16);
		int place = pool_at(t, row, 5), found = 0;
		int when = at_peak ? first_peak(place) : EVENTS - 1;

		for (int i = 0; i < record_count; i++)
			found += records[i].place == place && records[i].addr == addr &&
				 records[i].begin <= when && records[i].end > when &&
				 (int64_t)records[i].bytes == pasta_table_cell(t, row, 2)->i &&
				 (int64_t)(times[when] - times[records[i].begin]) ==
					 pasta_table_cell(t, row, 4)->i;
		assert_property(found > 0);
	}
}

static void check_live(void)
{
	const struct pasta_table *t = table_of("live");
	size_t rows = pasta_table_rows(t);
	int64_t width = rows > 1 ? pasta_table_cell(t, 1, 0)->i : 0;

	assert_property(rows <= BINS);
	width = width ? width : INT64_MAX / 2;
	for (size_t row = 0; row < rows; row++) {
		int64_t from = pasta_table_cell(t, row, 0)->i, at;
		int place = pool_at(t, row, 1), last = -1;
		uint64_t peak = 0;

		for (int i = 0; i < EVENTS; i++) {
			at = (int64_t)(times[i] - times[0]);
			if (at < from)
				peak = live_after(place, i);
			else if (at < from + width && live_after(place, i) > peak)
				peak = live_after(place, i);
			last = at < from + width ? i : last;
		}
		assert_property(pasta_table_cell(t, row, 4)->i == (int64_t)live_after(place, last));
		assert_property(pasta_table_cell(t, row, 5)->i == (int64_t)peak);
	}
}

static void everything_equals_a_recount(void **state)
{
	(void)state;
	for (int round = 0; round < (support_slow ? 5 : 40); round++) {
		uint64_t step = UINT64_C(1) << random_below(30);

		start_over(NULL);
		record_count = 0;
		for (int i = 0; i < EVENTS; i++) {
			times[i] = i ? times[i - 1] + random_below(step) : random_below(1000);
			random_event(i);
		}
		assert_int_equal(finish(), 0);
		check_list("peak", true);
		check_list("never_freed", false);
		check_live();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_peak_is_what_was_live_then),
		TEST(the_first_of_equal_peaks_is_the_peak),
		TEST(parts_are_a_level_of_their_own_and_end_before_what_they_are_part_of),
		TEST(a_pool_may_give_out_an_address_that_is_another_pools),
		TEST(pools_are_by_process_device_and_host),
		TEST(what_is_not_known_is_counted),
		TEST(the_smallest_share_a_row),
		TEST(a_million_allocations_are_fast_and_their_peaks_have_the_right_time),
		TEST(the_chart_has_every_peak_and_ends_with_what_is_live),
		TEST(the_chart_of_many_pools_is_not_larger),
		TEST(levels_of_one_memory_are_not_added),
		TEST(what_is_reserved_may_be_counted),
		TEST(everything_equals_a_recount),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
