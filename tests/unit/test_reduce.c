/* test_reduce.c - reducers on the host, compared with closed forms and with sorted lists. */
#include "unit/support.h"

#include <pthread.h>

#include "reduce/cpu.h"
#include "reduce/requests.h"

enum { ALL = (1 << PASTA_REDUCER_COUNT) - 2, SHIFT = 12, PAGE = 1 << SHIFT };

/* -- Expected rows: one line for each contribution, sorted and added up -- */

struct line {
	uint32_t reducer;
	uint64_t key0, key1, loads, stores, bytes, extra, written;
};

enum { LINES = 1 << 18 };
static struct line wanted[LINES], got[LINES];
static size_t wanted_count, got_count;

static int by_key(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->reducer != y->reducer)
		return x->reducer < y->reducer ? -1 : 1;
	if (x->key0 != y->key0)
		return x->key0 < y->key0 ? -1 : 1;
	return x->key1 < y->key1 ? -1 : x->key1 > y->key1;
}

static void want(uint32_t reducer, uint64_t key0, uint64_t key1, uint32_t kind, uint64_t bytes,
		 uint64_t extra)
{
	assert_true(wanted_count < LINES);
	wanted[wanted_count++] = (struct line){
		.reducer = reducer,
		.key0 = key0,
		.key1 = key1,
		.loads = kind & 1,
		.stores = kind >> 1,
		.bytes = bytes,
		.extra = extra,
		.written = kind == PASTA_ACCESS_LOAD	 ? 0
			   : kind == PASTA_ACCESS_ATOMIC ? bytes / 2
							 : bytes,
	};
}

static void add_up(void)
{
	size_t n = 0;

	qsort(wanted, wanted_count, sizeof(wanted[0]), by_key);
	for (size_t i = 0; i < wanted_count; i++) {
		if (!n || by_key(&wanted[n - 1], &wanted[i])) {
			wanted[n++] = wanted[i];
			continue;
		}
		wanted[n - 1].loads += wanted[i].loads;
		wanted[n - 1].stores += wanted[i].stores;
		wanted[n - 1].bytes += wanted[i].bytes;
		wanted[n - 1].extra += wanted[i].extra;
		wanted[n - 1].written += wanted[i].written;
	}
	wanted_count = n;
}

static int store_line(void *arg, enum pasta_reducer reducer, const struct pasta_row *row)
{
	assert_true(got_count < LINES);
	got[got_count++] = (struct line){reducer,     row->key0,  row->key1,  row->loads,
					 row->stores, row->bytes, row->extra, row->written};
	return 0;
}

static void read_sums(const struct pasta_sums *sums)
{
	got_count = 0;
	assert_int_equal(pasta_sums_each(sums, store_line, NULL), 0);
}

static void assert_as_wanted(const struct pasta_sums *sums)
{
	add_up();
	read_sums(sums);
	assert_property(got_count == wanted_count);
	for (size_t i = 0; i < got_count; i++)
		assert_property(!memcmp(&got[i], &wanted[i], sizeof(got[i])));
}

/* Returns the row of a table; all zero if there is none. */
static struct line row_of(const struct pasta_sums *sums, uint32_t reducer, uint64_t key0,
			  uint64_t key1)
{
	read_sums(sums);
	for (size_t i = 0; i < got_count; i++)
		if (got[i].reducer == reducer && got[i].key0 == key0 && got[i].key1 == key1)
			return got[i];
	return (struct line){0};
}

static void assert_row(const struct pasta_sums *sums, uint32_t reducer, uint64_t key0,
		       uint64_t key1, const uint64_t counts[4])
{
	struct line l = row_of(sums, reducer, key0, key1);

	assert_int_equal(l.loads, counts[0]);
	assert_int_equal(l.stores, counts[1]);
	assert_int_equal(l.bytes, counts[2]);
	assert_int_equal(l.extra, counts[3]);
}
#define ROW(sums, reducer, key0, key1, ...)                                                        \
	assert_row(sums, PASTA_REDUCER_##reducer, key0, key1, (const uint64_t[4]){__VA_ARGS__})

/* -- A state with objects -- */

struct fixture {
	struct pasta_objects *objects;
	const struct pasta_version *version;
	struct pasta_cpu *cpu;
	struct pasta_sums *sums;
};

static struct pasta_cpu *new_cpu(struct pasta_cpu_config config)
{
	struct pasta_error err = {0};
	struct pasta_cpu *c;

	config.reducers = config.reducers ? config.reducers : ALL;
	c = pasta_cpu_new(&config, &err);
	if (!c)
		fail_msg("%s", err.text);
	return c;
}

/* Objects 16 and 17 are adjacent, with 100 and 10,000 bytes; 18 is at the end of memory. */
static struct fixture begin(struct pasta_cpu_config config)
{
	struct fixture f = {.objects = pasta_objects_new(0),
			    .cpu = new_cpu(config),
			    .sums = pasta_sums_new(ALL, 0)};

	wanted_count = 0;
	assert_int_equal(pasta_objects_add(f.objects, 5 * PAGE, 100, 16), 0);
	assert_int_equal(pasta_objects_add(f.objects, 5 * PAGE + 100, 10000, 17), 0);
	assert_int_equal(pasta_objects_add(f.objects, UINT64_MAX - 99, 100, 18), 0);
	f.version = pasta_objects_pin(f.objects);
	pasta_cpu_launch(f.cpu, f.version, 3, 256);
	return f;
}

static void end(struct fixture *f)
{
	pasta_cpu_free(f->cpu);
	pasta_sums_free(f->sums);
	pasta_objects_unpin(f->version);
	pasta_objects_free(f->objects);
}

static void load(struct fixture *f, uint64_t addr, uint32_t size)
{
	pasta_cpu_access(f->cpu, addr, size, PASTA_ACCESS_LOAD, PASTA_SPACE_GLOBAL, 7);
}

/* -- Closed forms -- */

static void accesses_count_for_the_object_of_their_first_byte(void **state)
{
	struct fixture f = begin((struct pasta_cpu_config){0});
	uint64_t end_17 = 5 * PAGE + 10100, site = PASTA_SITE_KEY(3, 7);

	for (int twice = 0; twice < 2; twice++) {
		load(&f, 5 * PAGE, 4);	     /* object 16 */
		load(&f, 5 * PAGE + 96, 4);  /* its last bytes */
		load(&f, 5 * PAGE + 97, 4);  /* one byte beyond, in 17 */
		load(&f, 5 * PAGE + 100, 8); /* 17 */
		load(&f, 6 * PAGE - 2, 4);   /* 17, across pages */
		load(&f, end_17 - 1, 2);     /* one byte beyond, outside */
		load(&f, end_17, 4);	     /* outside */
		load(&f, 5 * PAGE - 1, 2);   /* outside, into 16, across pages */
	}
	pasta_cpu_drain(f.cpu, f.sums);
	ROW(f.sums, OBJECT, 16, 0, 6, 0, 24, 2);
	ROW(f.sums, OBJECT, 17, 0, 6, 0, 28, 2);
	ROW(f.sums, OBJECT, PASTA_OBJECT_NONE, 0, 4, 0, 12, 2);
	ROW(f.sums, PAGE, 4 * PAGE, 0, 2, 0, 4, 2);
	ROW(f.sums, PAGE, 5 * PAGE, 0, 10, 0, 48, 2);
	ROW(f.sums, PAGE, 7 * PAGE, 0, 4, 0, 12, 0);
	ROW(f.sums, SITE, site, 0, 16, 0, 64, 6);
	ROW(f.sums, SITE_OBJECT, site, 16, 6, 0, 24, 2);
	ROW(f.sums, SITE_OBJECT, site, PASTA_OBJECT_NONE, 4, 0, 12, 2);
	end(&f);
}

static void an_atomic_is_a_load_and_a_store(void **state)
{
	struct fixture f = begin((struct pasta_cpu_config){0});

	pasta_cpu_access(f.cpu, 5 * PAGE, 4, PASTA_ACCESS_ATOMIC, PASTA_SPACE_GENERIC, 1);
	pasta_cpu_access(f.cpu, 5 * PAGE, 8, PASTA_ACCESS_STORE, PASTA_SPACE_CONSTANT, 2);
	pasta_cpu_drain(f.cpu, f.sums);
	ROW(f.sums, OBJECT, 16, 0, 1, 2, 16, 0);
	ROW(f.sums, PAGE, 5 * PAGE, 0, 1, 2, 16, 0);
	ROW(f.sums, SITE, PASTA_SITE_KEY(3, 1), 0, 1, 1, 8, 0);
	end(&f);
}

static void local_and_private_memory_have_no_objects_and_no_pages(void **state)
{
	struct fixture f = begin((struct pasta_cpu_config){0});

	pasta_cpu_access(f.cpu, 5 * PAGE, 4, PASTA_ACCESS_LOAD, PASTA_SPACE_LOCAL, 1);
	pasta_cpu_access(f.cpu, 5 * PAGE, 8, PASTA_ACCESS_ATOMIC, PASTA_SPACE_PRIVATE, 1);
	pasta_cpu_drain(f.cpu, f.sums);
	ROW(f.sums, OBJECT, PASTA_SPACE_LOCAL, 0, 1, 0, 4, 0);
	ROW(f.sums, OBJECT, PASTA_SPACE_PRIVATE, 0, 1, 1, 16, 0);
	ROW(f.sums, OBJECT, 16, 0, 0);
	ROW(f.sums, PAGE, 5 * PAGE, 0, 0);
	ROW(f.sums, SITE_OBJECT, PASTA_SITE_KEY(3, 1), PASTA_SPACE_PRIVATE, 1, 1, 16, 0);
	end(&f);
}

static void hostile_sizes_are_counted_and_do_not_wrap(void **state)
{
	struct fixture f = begin((struct pasta_cpu_config){0});
	uint64_t top = UINT64_MAX >> SHIFT << SHIFT;

	for (int twice = 0; twice < 2; twice++) {
		load(&f, 5 * PAGE, 0);
		load(&f, 5 * PAGE + 10, UINT32_MAX);
		load(&f, UINT64_MAX, 1);
		load(&f, UINT64_MAX, 2);
		load(&f, UINT64_MAX - 3, UINT32_MAX);
		load(&f, UINT64_MAX, 0);
		load(&f, 0, 1);
	}
	pasta_cpu_drain(f.cpu, f.sums);
	ROW(f.sums, OBJECT, 16, 0, 4, 0, 2 * (uint64_t)UINT32_MAX, 2);
	ROW(f.sums, OBJECT, 18, 0, 8, 0, 2 * (3 + (uint64_t)UINT32_MAX), 4);
	ROW(f.sums, PAGE, top, 0, 8, 0, 2 * (3 + (uint64_t)UINT32_MAX), 4);
	ROW(f.sums, PAGE, 0, 0, 2, 0, 2, 0);
	end(&f);
}

static void a_cell_carries_what_it_cannot_hold(void **state)
{
	struct fixture f = begin((struct pasta_cpu_config){0});
	uint64_t many = (UINT64_C(1) << 31) - 2;

	load(&f, 5 * PAGE, 4);
	f.cpu->cells[1].counts = many | many << 32;
	for (int i = 0; i < 5; i++)
		pasta_cpu_access(f.cpu, 5 * PAGE, 1, PASTA_ACCESS_ATOMIC, PASTA_SPACE_GLOBAL, 7);
	pasta_cpu_drain(f.cpu, f.sums);
	ROW(f.sums, OBJECT, 16, 0, many + 5, many + 5, 14, 0);
	end(&f);
}

/* Sectors of a warp whose active threads access size bytes at base + lane * stride. */
static uint64_t sectors_of(uint64_t base, uint64_t stride, uint32_t size, uint32_t active)
{
	struct pasta_request r = {.active = active, .kind = PASTA_ACCESS_LOAD};

	for (uint32_t i = 0; i < PASTA_WARP; i++) {
		r.addrs[i] = base + i * stride;
		r.sizes[i] = size;
	}
	return pasta_request_sectors(&r);
}

static void sectors_are_those_of_the_active_threads_bytes(void **state)
{
	assert_int_equal(sectors_of(0, 4, 4, UINT32_MAX), 4);
	assert_int_equal(sectors_of(16, 4, 4, UINT32_MAX), 5);
	assert_int_equal(sectors_of(0, 8, 8, UINT32_MAX), 8);
	assert_int_equal(sectors_of(0, 16, 16, UINT32_MAX), 16);
	assert_int_equal(sectors_of(0, 128, 4, UINT32_MAX), 32);
	assert_int_equal(sectors_of(30, 128, 4, UINT32_MAX), 64);
	assert_int_equal(sectors_of(4096, 0, 4, UINT32_MAX), 1);
	assert_int_equal(sectors_of(4096, (uint64_t)-4, 4, UINT32_MAX), 5);
	assert_int_equal(sectors_of(0, 4, 4, 0xff), 1);
	assert_int_equal(sectors_of(0, 4, 4, 0x80000001), 2);
	assert_int_equal(sectors_of(0, 4, 0, UINT32_MAX), 0);
	assert_int_equal(sectors_of(0, 4, 4, 0), 0);
	assert_int_equal(sectors_of(0, 0, UINT32_MAX, UINT32_MAX), 1 << 27);
	assert_int_equal(sectors_of(UINT64_MAX - 3, 0, UINT32_MAX, 1), 1);
}

/* Threads of a group of 40 run one after the other, twice each: even threads load, all store. */
static void requests_are_put_together_from_threads_that_run_alone(void **state)
{
	struct fixture f = begin((struct pasta_cpu_config){0});
	uint64_t even = PASTA_SITE_KEY(3, 1), all = PASTA_SITE_KEY(3, 2);

	pasta_cpu_launch(f.cpu, f.version, 3, 40);
	for (uint32_t sweep = 0; sweep < 2; sweep++)
		for (uint32_t thread = 0; thread < 40; thread++) {
			pasta_cpu_thread(f.cpu, 9, thread);
			for (uint32_t turn = 0; turn < 3; turn++) {
				if (thread % 2 == 0)
					pasta_cpu_access(f.cpu, 8 * PAGE + turn * 256 + thread * 4,
							 4, PASTA_ACCESS_LOAD, 0, 1);
				pasta_cpu_access(f.cpu, 9 * PAGE + thread * 32, 4,
						 PASTA_ACCESS_STORE, 0, 2);
			}
		}
	pasta_cpu_drain(f.cpu, f.sums);
	/* Six requests of each warp: 32 threads in 4 sectors, and 8 in 1. */
	ROW(f.sums, COALESCE, even, 0, 12, 0, 480, 6 * 4 + 6 * 1);
	ROW(f.sums, COALESCE, all, 0, 0, 12, 960, 6 * 32 + 6 * 8);
	ROW(f.sums, DIVERGE, even, 16, 6, 0, 384, 6 * 32);
	ROW(f.sums, DIVERGE, even, 4, 6, 0, 96, 6 * 8);
	ROW(f.sums, DIVERGE, all, 32, 0, 6, 768, 6 * 32);
	ROW(f.sums, DIVERGE, all, 8, 0, 6, 192, 6 * 8);
	end(&f);
}

static void a_warp_in_two_halves_is_two_requests(void **state)
{
	struct fixture f = begin((struct pasta_cpu_config){0});

	/* The first half in one sweep, the second in the next. */
	for (uint32_t sweep = 0; sweep < 2; sweep++)
		for (uint32_t thread = 0; thread < 32; thread++) {
			pasta_cpu_thread(f.cpu, 0, thread);
			if (thread / 16 == sweep)
				load(&f, 5 * PAGE + 4 * thread, 4);
		}
	pasta_cpu_drain(f.cpu, f.sums);
	ROW(f.sums, DIVERGE, PASTA_SITE_KEY(3, 7), 16, 2, 0, 128, 64);
	ROW(f.sums, COALESCE, PASTA_SITE_KEY(3, 7), 0, 2, 0, 128, 4);
	end(&f);
}

/* -- Limits -- */

static void full_cells_leave_objects_exact_and_pages_in_one_row(void **state)
{
	struct fixture f = begin((struct pasta_cpu_config){.cells = 3});
	struct line other, total = {0};

	for (int i = 0; i < 1000; i++) {
		load(&f, 5 * PAGE + 4 * (uint64_t)(i % 2500), 4);
		load(&f, 100 * PAGE + PAGE * (uint64_t)i, 4);
	}
	pasta_cpu_drain(f.cpu, f.sums);
	ROW(f.sums, OBJECT, 16, 0, 25, 0, 100, 0);
	ROW(f.sums, OBJECT, 17, 0, 975, 0, 3900, 0);
	ROW(f.sums, OBJECT, PASTA_OBJECT_NONE, 0, 1000, 0, 4000, 0);
	other = row_of(f.sums, PASTA_REDUCER_PAGE, PASTA_KEY_OTHER, PASTA_KEY_OTHER);
	assert_int_equal(other.bytes, 4 * other.loads);
	assert_int_equal(other.loads, 2000 - 25 - 2); /* all but three cells */
	for (size_t i = 0; i < got_count; i++)
		total.loads += got[i].reducer == PASTA_REDUCER_PAGE ? got[i].loads : 0;
	assert_int_equal(total.loads, 2000);
	end(&f);
}

/* Spills the cells when they are used up. */
struct spiller {
	struct pasta_cpu *cpu;
	struct pasta_sums *sums;
	uint32_t asked;
	bool cannot;
};

static bool take(void *arg)
{
	struct spiller *t = arg;

	t->asked++;
	if (!t->cannot)
		pasta_cpu_spill(t->cpu, t->sums);
	return !t->cannot;
}

static void cells_that_are_used_up_are_spilled_and_all_pages_are_counted(void **state)
{
	struct spiller taker = {0};
	struct fixture f =
		begin((struct pasta_cpu_config){.cells = 3, .full = take, .arg = &taker});

	taker = (struct spiller){.cpu = f.cpu, .sums = f.sums};
	for (uint64_t i = 0; i < 1000; i++) {
		load(&f, 5 * PAGE + 4 * i, 4);
		load(&f, 100 * PAGE + PAGE * i, 4);
	}
	pasta_cpu_drain(f.cpu, f.sums);
	assert_true(taker.asked > 300);
	ROW(f.sums, OBJECT, 16, 0, 25, 0, 100, 0);
	ROW(f.sums, OBJECT, 17, 0, 975, 0, 3900, 0);
	ROW(f.sums, OBJECT, PASTA_OBJECT_NONE, 0, 1000, 0, 4000, 0);
	ROW(f.sums, PAGE, 5 * PAGE, 0, 1000, 0, 4000, 0);
	ROW(f.sums, PAGE, PASTA_KEY_OTHER, PASTA_KEY_OTHER, 0);
	for (uint64_t i = 0; i < 1000; i += 37)
		ROW(f.sums, PAGE, 100 * PAGE + PAGE * i, 0, 1, 0, 4, 0);
	end(&f);
}

static void a_failed_spill_is_not_tried_again_until_the_next_drain(void **state)
{
	struct spiller taker = {.cannot = true};
	struct fixture f =
		begin((struct pasta_cpu_config){.cells = 3, .full = take, .arg = &taker});

	for (uint32_t turn = 1; turn <= 3; turn++) {
		for (uint64_t i = 0; i < 100; i++)
			load(&f, 100 * PAGE + PAGE * i, 4);
		assert_int_equal(taker.asked, turn);
		pasta_cpu_drain(f.cpu, f.sums);
		ROW(f.sums, PAGE, PASTA_KEY_OTHER, PASTA_KEY_OTHER, 97 * turn, 0, 4 * 97 * turn, 0);
		ROW(f.sums, OBJECT, PASTA_OBJECT_NONE, 0, 100 * turn, 0, 400 * turn, 0);
	}
	end(&f);
}

static void a_full_table_counts_the_rest_in_its_last_row(void **state)
{
	struct fixture f = begin((struct pasta_cpu_config){.rows = 10});
	uint64_t loads = 0;

	for (uint32_t i = 0; i < 100; i++)
		pasta_cpu_access(f.cpu, 5 * PAGE, 4, PASTA_ACCESS_LOAD, 0, i);
	pasta_cpu_drain(f.cpu, f.sums);
	ROW(f.sums, SITE, PASTA_KEY_OTHER, PASTA_KEY_OTHER, 90, 0, 360, 0);
	ROW(f.sums, SITE_OBJECT, PASTA_KEY_OTHER, PASTA_KEY_OTHER, 90, 0, 360, 0);
	for (uint64_t i = 0; i < 10; i++)
		loads += row_of(f.sums, PASTA_REDUCER_SITE, PASTA_SITE_KEY(3, i), 0).loads;
	assert_int_equal(loads, 10);
	/* After draining, the state is empty and has room again. */
	pasta_sums_clear(f.sums);
	pasta_cpu_access(f.cpu, 5 * PAGE, 4, PASTA_ACCESS_LOAD, 0, 55);
	pasta_cpu_drain(f.cpu, f.sums);
	ROW(f.sums, SITE, PASTA_SITE_KEY(3, 55), 0, 1, 0, 4, 0);
	assert_int_equal(got_count, 6);
	end(&f);
}

static void requests_beyond_their_limits_are_excluded_and_counted(void **state)
{
	struct fixture f = begin((struct pasta_cpu_config){.turns = 8, .requests = 12});

	for (uint32_t thread = 0; thread < 32; thread++) {
		pasta_cpu_thread(f.cpu, 0, thread);
		for (int i = 0; i < 100; i++)
			load(&f, 5 * PAGE, 4);
		for (uint32_t site = 20; site < 30; site++)
			pasta_cpu_access(f.cpu, 5 * PAGE, 4, PASTA_ACCESS_STORE, 0, site);
	}
	pasta_cpu_drain(f.cpu, f.sums);
	ROW(f.sums, COALESCE, PASTA_SITE_KEY(3, 7), 0, 8, 0, 8 * 128, 8);
	ROW(f.sums, COALESCE, PASTA_SITE_KEY(3, 23), 0, 0, 1, 128, 1);
	ROW(f.sums, COALESCE, PASTA_SITE_KEY(3, 24), 0, 0);
	ROW(f.sums, COALESCE, PASTA_KEY_OTHER, PASTA_KEY_OTHER, 92 * 32, 6 * 32, 98 * 128, 0);
	ROW(f.sums, SITE, PASTA_SITE_KEY(3, 7), 0, 3200, 0, 12800, 0);
	end(&f);
}

static void tables_that_cannot_be_are_refused_with_a_reason(void **state)
{
	struct pasta_error err = {0};

	assert_null(pasta_cpu_new(&(struct pasta_cpu_config){.page_shift = 3}, &err));
	assert_non_null(strstr(err.text, "2^5 to 2^30"));
	assert_null(pasta_cpu_new(&(struct pasta_cpu_config){.cells = 1u << 27}, &err));
	assert_non_null(strstr(err.text, "at most"));
	assert_null(pasta_sums_new(ALL, 1u << 27));
	pasta_cpu_free(NULL);
	pasta_sums_free(NULL);
}

static void a_batch_ends_with_its_launch_and_counts_what_is_no_access(void **state)
{
	struct fixture f = begin((struct pasta_cpu_config){.reducers = PASTA_REDUCER_MASK(OBJECT)});
	struct pasta_access a[5] = {
		{.addr = 5 * PAGE, .size = 4, .launch = 1, .kind = PASTA_ACCESS_LOAD},
		{.addr = 5 * PAGE, .size = 4, .launch = 1, .kind = 0},
		{.addr = 5 * PAGE, .size = 4, .launch = 1, .kind = 4},
		{.addr = 5 * PAGE, .size = 4, .launch = 1, .kind = 1, .space = PASTA_SPACE_COUNT},
		{.addr = 5 * PAGE, .size = 4, .launch = 2, .kind = PASTA_ACCESS_LOAD},
	};
	size_t bad = 0;

	assert_int_equal(pasta_cpu_batch(f.cpu, a, 5, &bad), 4);
	assert_int_equal(bad, 3);
	assert_int_equal(pasta_cpu_batch(f.cpu, a + 4, 1, NULL), 1);
	assert_int_equal(pasta_cpu_batch(f.cpu, a, 0, &bad), 0);
	pasta_cpu_drain(f.cpu, f.sums);
	ROW(f.sums, OBJECT, 16, 0, 2, 0, 8, 0);
	assert_int_equal(got_count, 1);
	end(&f);
}

static void a_row_becomes_an_event(void **state)
{
	struct pasta_row row = {.key0 = 1,
				.key1 = 2,
				.loads = 3,
				.stores = 4,
				.bytes = 5,
				.written = 2,
				.extra = 6};
	struct pasta_event ev;

	pasta_sums_event(&ev, PASTA_REDUCER_PAGE, &row, 99);
	assert_int_equal(ev.size, PASTA_EVENT_SIZE(access_sum));
	assert_int_equal(ev.kind, PASTA_KIND_ACCESS_SUM);
	assert_int_equal(ev.access_sum.corr, 99);
	assert_int_equal(ev.access_sum.key0, 1);
	assert_int_equal(ev.access_sum.key1, 2);
	assert_int_equal(ev.access_sum.loads, 3);
	assert_int_equal(ev.access_sum.stores, 4);
	assert_int_equal(ev.access_sum.bytes, 5);
	assert_int_equal(ev.access_sum.extra, 6);
	assert_int_equal(ev.access_sum.reducer, PASTA_REDUCER_PAGE);
	assert_int_equal(ev.access_sum.written, 2);
	assert_int_equal(ev.access_sum.flags, PASTA_SUM_SPLIT);
	row.unsplit = 1;
	pasta_sums_event(&ev, PASTA_REDUCER_PAGE, &row, 99);
	assert_int_equal(ev.access_sum.written, 0);
	assert_int_equal(ev.access_sum.flags, 0);
	row.unsplit = 0; /* the author defines a tool's own sums */
	pasta_sums_event(&ev, PASTA_REDUCER_OWN, &row, 99);
	assert_int_equal(ev.access_sum.flags, 0);
}

/* -- Random launches, queued while their objects are added and removed -- */

enum { LAUNCHES = 8, OBJECTS = 60, RECORDS = 1 << 15, GROUP = 40, SITES = 5, SPAN = 40 * PAGE };
#define BASE (UINT64_C(77) << 32)

struct range {
	uint64_t begin, size, object; /* object 0: removed */
};

static struct range ranges[OBJECTS];
static struct pasta_access records[RECORDS];
static uint32_t sweeps[RECORDS];
static const struct pasta_version *versions[LAUNCHES];
static size_t firsts[LAUNCHES + 1];

static bool overlaps(const struct range *r, uint64_t begin, uint64_t size)
{
	return r->object && begin < r->begin + r->size && r->begin < begin + size;
}

static void change_objects(struct pasta_objects *t)
{
	static uint64_t next = PASTA_OBJECT_FIRST;

	for (int n = 0; n < 30; n++) {
		struct range *r = &ranges[random_below(OBJECTS)];
		uint64_t size = 1 + random_below(random_below(3) ? 64 : 3 * PAGE);
		uint64_t at = BASE + random_below(SPAN - size);

		if (r->object)
			assert_property(!pasta_objects_remove(t, r->begin));
		r->object = 0;
		for (size_t i = 0; i < OBJECTS; i++)
			if (overlaps(&ranges[i], at, size))
				ranges[i].object = 0;
		*r = (struct range){at, size, next++};
		assert_property(!pasta_objects_add(t, at, size, r->object));
	}
}

/* Returns the object, and whether all bytes are in it, or all are outside. */
static uint64_t object_of(const struct pasta_access *a, uint32_t *crosses)
{
	uint64_t object = PASTA_OBJECT_NONE, last = a->addr + (a->size ? a->size - 1 : 0);

	*crosses = 0;
	for (size_t i = 0; i < OBJECTS; i++)
		if (ranges[i].object && a->addr - ranges[i].begin < ranges[i].size) {
			object = ranges[i].object;
			*crosses = last - ranges[i].begin >= ranges[i].size;
		}
	for (size_t i = 0; i < OBJECTS && object == PASTA_OBJECT_NONE; i++)
		*crosses |= overlaps(&ranges[i], a->addr, last - a->addr + 1);
	return object;
}

static void want_access(const struct pasta_access *a)
{
	uint64_t bytes = a->kind == PASTA_ACCESS_ATOMIC ? 2 * (uint64_t)a->size : a->size;
	uint64_t site = PASTA_SITE_KEY(a->launch % 3, a->site), object = a->space;
	uint32_t crosses = 0;

	if (a->space < PASTA_SPACE_LOCAL) {
		uint64_t page = a->addr - a->addr % PAGE;

		object = object_of(a, &crosses);
		want(PASTA_REDUCER_PAGE, page, 0, a->kind, bytes,
		     a->addr + a->size > page + PAGE ? 1 : 0);
	}
	want(PASTA_REDUCER_OBJECT, object, 0, a->kind, bytes, crosses);
	want(PASTA_REDUCER_SITE, site, 0, a->kind, bytes, crosses);
	want(PASTA_REDUCER_SITE_OBJECT, site, object, a->kind, bytes, crosses);
}

static uint64_t any_address(void)
{
	const struct range *r = &ranges[random_below(OBJECTS)];

	if (r->object && random_below(10))
		return r->begin + random_below(r->size + 2) - random_below(2);
	return BASE + random_below(SPAN);
}

static size_t make_thread(size_t n, struct pasta_access a, uint32_t sweep)
{
	static const uint32_t sizes[] = {0, 1, 2, 4, 4, 4, 8, 16, 64, 5000};
	uint32_t turns[SITES] = {0};

	for (uint64_t i = random_below(6); i; i--) {
		a.site = (uint32_t)random_below(SITES);
		a.turn = turns[a.site]++;
		a.addr = any_address();
		a.size = sizes[random_below(sizeof(sizes) / sizeof(sizes[0]))];
		a.kind = (uint8_t)(1 + a.site % 3);
		a.space = random_below(8) ? 0 : (uint8_t)random_below(PASTA_SPACE_COUNT);
		assert_true(n < RECORDS);
		sweeps[n] = sweep;
		records[n++] = a;
		want_access(&a);
	}
	return n;
}

/* Groups of 40 threads, which run twice, as between barriers. */
static size_t make_launch(size_t n, uint32_t launch)
{
	for (uint32_t group = 0; group < 4; group++)
		for (uint32_t sweep = 0; sweep < 2; sweep++)
			for (uint16_t thread = 0; thread < GROUP; thread++)
				n = make_thread(n,
						(struct pasta_access){.launch = launch,
								      .group = group,
								      .thread = thread},
						sweep);
	return n;
}

static bool together(size_t i, size_t k)
{
	const struct pasta_access *a = &records[i], *b = &records[k];

	return a->launch == b->launch && a->group == b->group && a->thread / 32 == b->thread / 32 &&
	       a->site == b->site && a->turn == b->turn && sweeps[i] == sweeps[k];
}

/* Adds the expected rows of the request that begins with record i. */
static void expect_request(size_t i, size_t count, bool *seen)
{
	static uint8_t touched[(SPAN + 4 * PAGE) / 32];
	uint64_t bytes = 0, sectors = 0, threads = 0, site;
	uint32_t kind = records[i].kind;

	memset(touched, 0, sizeof(touched));
	for (size_t k = i; k < count && k < i + 400; k++) {
		const struct pasta_access *a = &records[k];

		if (!together(i, k))
			continue;
		seen[k] = true;
		threads++;
		bytes += kind == PASTA_ACCESS_ATOMIC ? 2 * (uint64_t)a->size : a->size;
		for (uint64_t byte = 0; byte < a->size; byte++) {
			uint8_t *t = &touched[(a->addr - BASE + PAGE + byte) / 32];

			sectors += !*t;
			*t = 1;
		}
	}
	site = PASTA_SITE_KEY(records[i].launch % 3, records[i].site);
	want(PASTA_REDUCER_COALESCE, site, 0, kind, bytes, sectors);
	want(PASTA_REDUCER_DIVERGE, site, threads, kind, bytes, records[i].thread < 32 ? 32 : 8);
}

static size_t make_launches(struct pasta_objects *t)
{
	static bool seen[RECORDS];
	size_t n = 0;

	memset(ranges, 0, sizeof(ranges));
	memset(seen, 0, sizeof(seen));
	wanted_count = 0;
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		if (random_below(3))
			change_objects(t);
		versions[i] = pasta_objects_pin(t);
		firsts[i] = n;
		n = make_launch(n, i);
	}
	firsts[LAUNCHES] = n;
	for (size_t i = 0; i < n; i++)
		if (!seen[i])
			expect_request(i, n, seen);
	return n;
}

/* As an instrumented program does, which does not know turns. */
static void feed_direct(struct pasta_cpu *c, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		const struct pasta_access *a = &records[i];

		if (i == from || a[-1].thread != a->thread || a[-1].group != a->group ||
		    sweeps[i - 1] != sweeps[i])
			pasta_cpu_thread(c, a->group, a->thread);
		pasta_cpu_access(c, a->addr, a->size, a->kind, a->space, a->site);
	}
}

static void feed_launch(struct pasta_cpu *c, uint32_t launch, bool direct)
{
	size_t from = firsts[launch], to = firsts[launch + 1], bad = 0;
	size_t rest = firsts[LAUNCHES] - from;

	pasta_cpu_launch(c, versions[launch], launch % 3, GROUP);
	if (direct)
		feed_direct(c, from, to);
	else
		assert_property(pasta_cpu_batch(c, records + from, rest, &bad) == to - from &&
				!bad);
}

/* cells and rows limit the state of each counting thread; 0: no limit. */
static void random_round(bool direct, uint32_t cells, uint32_t rows)
{
	struct spiller takers[3] = {0};
	uint32_t asked = 0;
	struct pasta_objects *t = pasta_objects_new(0);
	struct pasta_sums *sums = pasta_sums_new(ALL, 0), *parts[3];
	struct pasta_cpu *cpus[3];

	memset(records, 0, sizeof(records));
	make_launches(t);
	for (int i = 0; i < 3; i++) {
		cpus[i] = new_cpu((struct pasta_cpu_config){.page_shift = SHIFT,
							    .cells = cells,
							    .rows = rows,
							    .full = take,
							    .arg = &takers[i]});
		parts[i] = pasta_sums_new(ALL, 0);
		takers[i] = (struct spiller){.cpu = cpus[i], .sums = parts[i]};
	}
	/* In random order, with random states, drained at random times. */
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		size_t k = random_below(3);

		feed_launch(cpus[k], i * 3 % LAUNCHES, direct);
		if (!random_below(3))
			pasta_cpu_drain(cpus[k], parts[random_below(3)]);
	}
	for (int i = 2; i >= 0; i--) {
		asked += takers[i].asked;
		pasta_cpu_drain(cpus[i], parts[random_below(3)]);
		pasta_cpu_free(cpus[i]);
	}
	for (int i = 0; i < 3; i++) {
		pasta_sums_merge(sums, parts[i]);
		pasta_sums_free(parts[i]);
	}
	assert_property(!cells == !asked);
	assert_as_wanted(sums);
	pasta_sums_free(sums);
	for (int i = 0; i < LAUNCHES; i++)
		pasta_objects_unpin(versions[i]);
	pasta_objects_free(t);
}

static void random_launches_are_counted_as_lists_count_them(void **state)
{
	random_begin();
	for (int i = 0; i < (support_slow ? 6 : 30); i++)
		random_round(i % 2, 0, 0);
}

/* Just enough rows for the sites and their requests. */
static void random_launches_are_counted_the_same_when_cells_and_rows_spill(void **state)
{
	random_begin();
	for (int i = 0; i < (support_slow ? 6 : 30); i++)
		random_round(i % 2, 1 + (uint32_t)random_below(9), 3 * SITES * PASTA_WARP);
}

/* -- Threads -- */

static struct pasta_objects *shared;
static pthread_mutex_t sums_lock = PTHREAD_MUTEX_INITIALIZER;
enum { THREADS = 4, TURNS = 200, EACH = 500 };

/* Adds and removes objects of its own; one shared object stays. */
static void *count_alone(void *arg)
{
	uint64_t mine = BASE + (uint64_t)(uintptr_t)pthread_self() % 1000 * 4 * PAGE;
	struct pasta_cpu *c = new_cpu((struct pasta_cpu_config){0});

	for (uint32_t n = 0; n < TURNS; n++) {
		const struct pasta_version *v;

		pasta_objects_add(shared, mine, 64, 100 + n);
		v = pasta_objects_pin(shared);
		pasta_objects_remove(shared, mine);
		pasta_cpu_launch(c, v, 0, 32);
		for (uint64_t i = 0; i < EACH; i++)
			pasta_cpu_access(c, 5 * PAGE + 8 * i, 8, PASTA_ACCESS_STORE, 0, 1);
		pasta_objects_unpin(v);
		if (n % 16)
			continue;
		pthread_mutex_lock(&sums_lock);
		pasta_cpu_drain(c, arg);
		pthread_mutex_unlock(&sums_lock);
	}
	pthread_mutex_lock(&sums_lock);
	pasta_cpu_drain(c, arg);
	pthread_mutex_unlock(&sums_lock);
	pasta_cpu_free(c);
	return NULL;
}

static void threads_count_alone_and_their_sums_are_whole(void **state)
{
	struct pasta_sums *sums = pasta_sums_new(ALL, 0);
	pthread_t threads[THREADS];
	uint64_t all = (uint64_t)THREADS * TURNS * EACH;

	shared = pasta_objects_new(0);
	assert_int_equal(pasta_objects_add(shared, 5 * PAGE, 8 * EACH, 16), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count_alone, sums), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ROW(sums, OBJECT, 16, 0, 0, all, 8 * all, 0);
	ROW(sums, PAGE, 5 * PAGE, 0, 0, all, 8 * all, 0);
	ROW(sums, SITE_OBJECT, 1, 16, 0, all, 8 * all, 0);
	pasta_objects_free(shared);
	pasta_sums_free(sums);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accesses_count_for_the_object_of_their_first_byte),
		cmocka_unit_test(an_atomic_is_a_load_and_a_store),
		cmocka_unit_test(local_and_private_memory_have_no_objects_and_no_pages),
		cmocka_unit_test(hostile_sizes_are_counted_and_do_not_wrap),
		cmocka_unit_test(a_cell_carries_what_it_cannot_hold),
		cmocka_unit_test(sectors_are_those_of_the_active_threads_bytes),
		cmocka_unit_test(requests_are_put_together_from_threads_that_run_alone),
		cmocka_unit_test(a_warp_in_two_halves_is_two_requests),
		cmocka_unit_test(full_cells_leave_objects_exact_and_pages_in_one_row),
		cmocka_unit_test(cells_that_are_used_up_are_spilled_and_all_pages_are_counted),
		cmocka_unit_test(a_failed_spill_is_not_tried_again_until_the_next_drain),
		cmocka_unit_test(a_full_table_counts_the_rest_in_its_last_row),
		cmocka_unit_test(requests_beyond_their_limits_are_excluded_and_counted),
		cmocka_unit_test(tables_that_cannot_be_are_refused_with_a_reason),
		cmocka_unit_test(a_batch_ends_with_its_launch_and_counts_what_is_no_access),
		cmocka_unit_test(a_row_becomes_an_event),
		cmocka_unit_test(random_launches_are_counted_as_lists_count_them),
		cmocka_unit_test(random_launches_are_counted_the_same_when_cells_and_rows_spill),
		cmocka_unit_test(threads_count_alone_and_their_sums_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
