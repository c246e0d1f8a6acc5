/* test_reduce_wide.c - reducers on the host without pages, compared with a linear search. */
/* labels: onethread */
#include "unit/support.h"

#include "reduce/cpu.h"

enum { SMALL = 300, OBJECTS = SMALL + 3, RECORDS = 20000, ROUNDS = 6, SPACES = 8 };
#define BASE (UINT64_C(1) << 40)
#define GIB (UINT64_C(1) << 30)

/* Of each object, by address; then outside of objects, and the memory spaces. */
struct sum {
	uint64_t loads, stores, bytes, extra;
};
static struct range {
	uint64_t begin, size;
	bool there;
} ranges[OBJECTS];
static struct sum wanted[OBJECTS + 1 + SPACES];
static struct pasta_access list[RECORDS];

static struct pasta_objects *objects;
static struct pasta_sums *sums;
static struct pasta_cpu *cpu;

/* Several objects on a page, adjacent objects, and three that are too large for one cell. */
static void make_ranges(void)
{
	uint64_t at = BASE;

	for (uint32_t i = 0; i < OBJECTS; i++) {
		uint64_t size = i < SMALL ? 1 + random_below(i % 3 ? 600 : 50000) : 5 * GIB + i;

		ranges[i] = (struct range){at, size, true};
		at += size + (i % 4 ? random_below(300) : 0);
		assert_int_equal(pasta_objects_add(objects, ranges[i].begin, size,
						   PASTA_OBJECT_FIRST + i),
				 0);
	}
}

static int set_up(void **state)
{
	const struct pasta_cpu_config config = {.reducers = PASTA_REDUCER_MASK(OBJECT),
						.page_shift = 30};
	struct pasta_error err = {0};

	(void)state;
	objects = pasta_objects_new(0);
	sums = pasta_sums_new(PASTA_REDUCER_MASK(OBJECT), 0);
	cpu = pasta_cpu_new(&config, &err);
	memset(wanted, 0, sizeof(wanted));
	make_ranges();
	return objects && sums && cpu ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	pasta_cpu_free(cpu);
	pasta_sums_free(sums);
	pasta_objects_free(objects);
	return 0;
}

static void want(const struct pasta_access *a)
{
	struct sum *s = &wanted[a->space < PASTA_SPACE_LOCAL ? OBJECTS : OBJECTS + 1 + a->space];
	uint64_t last = UINT64_MAX;

	for (uint32_t i = 0; i < OBJECTS && a->space < PASTA_SPACE_LOCAL; i++) {
		const struct range *r = &ranges[i];

		if (r->there && a->addr - r->begin < r->size) {
			s = &wanted[i];
			last = r->begin + r->size - 1;
		} else if (r->there && r->begin > a->addr && s == &wanted[OBJECTS] &&
			   r->begin - 1 < last) {
			last = r->begin - 1;
		}
	}
	s->loads += a->kind & 1;
	s->stores += a->kind >> 1;
	s->bytes += (uint64_t)a->size << (a->kind == PASTA_ACCESS_ATOMIC);
	s->extra += a->space < PASTA_SPACE_LOCAL && a->size && a->size - 1 > last - a->addr;
}

/* Accesses near an object's ends, or anywhere in it; or a series of them, as a warp makes. */
static void make_list(void)
{
	struct pasta_access a = {.launch = 1};

	for (uint32_t i = 0; i < RECORDS; i++, a.addr += a.size) {
		if (!i || !random_below(20)) {
			const struct range *r = &ranges[random_below(OBJECTS)];
			uint64_t far = random_below(2) ? r->size : 0;

			a.addr = r->begin + (random_below(3) ? random_below(r->size)
							     : far - 4 + random_below(8));
			a.size = 1u << random_below(5);
			a.kind = (uint8_t)(1 + random_below(3));
			a.space = random_below(8) ? PASTA_SPACE_GLOBAL : PASTA_SPACE_LOCAL;
		}
		list[i] = a;
		want(&a);
	}
}

static int check_row(void *rows, enum pasta_reducer reducer, const struct pasta_row *row)
{
	uint64_t key = row->key0;
	const struct sum *s = &wanted[key == PASTA_OBJECT_NONE	  ? OBJECTS
				      : key >= PASTA_OBJECT_FIRST ? key - PASTA_OBJECT_FIRST
								  : OBJECTS + 1 + key];

	assert_int_equal(reducer, PASTA_REDUCER_OBJECT);
	assert_int_equal(row->loads, s->loads);
	assert_int_equal(row->stores, s->stores);
	assert_int_equal(row->bytes, s->bytes);
	assert_int_equal(row->extra, s->extra);
	++*(uint32_t *)rows;
	return 0;
}

static void assert_as_wanted(void)
{
	uint32_t rows = 0, due = 0;

	for (uint32_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		due += wanted[i].loads || wanted[i].stores;
	assert_int_equal(pasta_sums_each(sums, check_row, &rows), 0);
	assert_int_equal(rows, due);
}

static void count_list(const struct pasta_version *v, bool in_records)
{
	size_t bad;

	pasta_cpu_launch(cpu, v, 0, 256);
	make_list();
	if (in_records) {
		assert_int_equal(pasta_cpu_batch(cpu, list, RECORDS, &bad), RECORDS);
		assert_int_equal(bad, 0);
		return;
	}
	for (uint32_t i = 0; i < RECORDS; i++)
		pasta_cpu_access(cpu, list[i].addr, list[i].size, list[i].kind, list[i].space, 0);
}

/* -- Tests -- */

static void objects_are_counted_as_a_plain_search_finds_them(void **state)
{
	const struct pasta_version *v = pasta_objects_pin(objects);

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		count_list(v, round % 2);
		if (round % 3 == 2)
			pasta_cpu_drain(cpu, sums);
	}
	pasta_cpu_drain(cpu, sums);
	assert_as_wanted();
	pasta_cpu_drain(cpu, sums); /* a second drain adds nothing */
	assert_as_wanted();
	pasta_objects_unpin(v);
}

static void what_lies_where_may_change_between_launches_with_or_without_a_drain(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		const struct pasta_version *v;

		for (uint32_t i = round; i < OBJECTS; i += ROUNDS) {
			assert_int_equal(pasta_objects_remove(objects, ranges[i].begin), 0);
			ranges[i].there = false;
		}
		v = pasta_objects_pin(objects);
		count_list(v, round % 2);
		if (round == 3)
			pasta_cpu_drain(cpu, sums);
		pasta_objects_unpin(v);
	}
	pasta_cpu_drain(cpu, sums);
	assert_as_wanted();
}

static void more_objects_than_cells_are_exact(void **state)
{
	const struct pasta_cpu_config config = {.reducers = PASTA_REDUCER_MASK(OBJECT), .cells = 5};
	const struct pasta_version *v = pasta_objects_pin(objects);
	struct pasta_error err = {0};

	(void)state;
	pasta_cpu_free(cpu);
	cpu = pasta_cpu_new(&config, &err);
	assert_non_null(cpu);
	for (int round = 0; round < ROUNDS; round++) {
		count_list(v, round % 2);
		pasta_cpu_drain(cpu, sums);
	}
	assert_as_wanted();
	pasta_objects_unpin(v);
}

/* In the middle of a stretch, and at the begin of the list. */
static void records_that_are_no_accesses_are_counted_as_none(void **state)
{
	const struct pasta_version *v = pasta_objects_pin(objects);
	size_t bad;

	(void)state;
	pasta_cpu_launch(cpu, v, 0, 256);
	for (uint32_t i = 0; i < 64; i++) {
		list[i] = (struct pasta_access){.addr = ranges[SMALL].begin + 4 * i,
						.size = 4,
						.launch = 1,
						.kind = i % 8 ? PASTA_ACCESS_STORE : 0};
		if (i % 8)
			want(&list[i]);
	}
	list[60].launch = 2;
	for (uint32_t i = 60; i < 64; i++)
		wanted[SMALL].stores--, wanted[SMALL].bytes -= 4;
	assert_int_equal(pasta_cpu_batch(cpu, list, 64, &bad), 60);
	assert_int_equal(bad, 8);
	pasta_cpu_drain(cpu, sums);
	assert_as_wanted();
	pasta_objects_unpin(v);
}

static void a_stretch_carries_what_a_cell_cannot_hold(void **state)
{
	const struct pasta_version *v = pasta_objects_pin(objects);
	uint64_t many = (UINT64_C(1) << 31) - 2;
	struct pasta_access a = {
		.addr = ranges[SMALL].begin, .size = 1, .launch = 1, .kind = PASTA_ACCESS_ATOMIC};

	(void)state;
	pasta_cpu_launch(cpu, v, 0, 256);
	for (int i = 0; i < 9; i++)
		list[i] = a;
	assert_int_equal(pasta_cpu_batch(cpu, list, 1, NULL), 1);
	cpu->cells[1].counts = many | many << 32;
	assert_int_equal(pasta_cpu_batch(cpu, list, 9, NULL), 9);
	wanted[SMALL] = (struct sum){many + 9, many + 9, 20, 0};
	pasta_cpu_drain(cpu, sums);
	assert_as_wanted();
	pasta_objects_unpin(v);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(objects_are_counted_as_a_plain_search_finds_them),
		TEST(what_lies_where_may_change_between_launches_with_or_without_a_drain),
		TEST(more_objects_than_cells_are_exact),
		TEST(records_that_are_no_accesses_are_counted_as_none),
		TEST(a_stretch_carries_what_a_cell_cannot_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
