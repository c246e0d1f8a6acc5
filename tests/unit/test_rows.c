/* test_rows.c - tables of rows that grow, that are full, that find no memory, and that are emptied.
 */
/* labels: onethread */
#include "unit/support.h"

static int until = -1; /* requests until all are refused; -1: none is */

static bool refused(void)
{
	if (until > 0)
		until--;
	return !until;
}

/* The table itself, with these. */
#define calloc(count, size) (refused() ? NULL : calloc(count, size))
#define realloc(old, size) (refused() ? NULL : realloc(old, size))
#include "../../src/reduce/rows.c"
#undef calloc
#undef realloc

enum { MANY = 200000 };

/* All different, and in no order. */
static uint64_t key_of(uint64_t i)
{
	return (i * UINT64_C(0x9e3779b97f4a7c15) ^ UINT64_C(0x123456789)) << 12;
}

static void count(struct pasta_rows *t, uint64_t i)
{
	pasta_row_count(pasta_rows_at(t, key_of(i), i % 3), PASTA_ACCESS_LOAD, i, 1);
}

static void assert_counted(const struct pasta_rows *t, uint64_t i, uint64_t times)
{
	const struct pasta_row *row = pasta_rows_find(t, key_of(i), i % 3);

	assert_property(row && row->key0 == key_of(i) && row->key1 == i % 3);
	assert_property(row->loads == times && !row->stores && row->bytes == times * i);
	assert_property(row->extra == times);
}

static uint64_t loads_of(const struct pasta_rows *t)
{
	uint64_t loads = 0;

	for (uint32_t i = 0; i <= t->count; i++)
		loads += t->rows[i].loads;
	return loads;
}

static struct pasta_rows make(uint32_t max)
{
	struct pasta_rows t;

	assert_int_equal(pasta_rows_init(&t, max), 0);
	return t;
}

static void a_table_that_grows_retains_every_row_in_any_order(void **state)
{
	struct pasta_rows t = make(1 << 22);
	uint32_t first = t.room;

	for (uint64_t i = 0; i < MANY; i++) {
		count(&t, i);
		count(&t, i / 2); /* one that may have moved */
	}
	assert_int_equal(t.count, MANY);
	assert_true(first < MANY / 100 && t.room >= MANY);
	for (uint64_t i = 0; i < MANY; i++)
		assert_counted(&t, i, i < MANY / 2 ? 3 : 1);
	assert_null(pasta_rows_find(&t, key_of(MANY), 0));
	assert_null(pasta_rows_find(&t, key_of(1), 0));
	assert_int_equal(pasta_rows_other(&t)->loads, 0);
	pasta_rows_free(&t);
}

static void a_full_table_has_its_most_rows_and_one_for_the_rest(void **state)
{
	static const uint32_t sizes[] = {1, 10, 1023, 1024, 1025, 5000};

	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		struct pasta_rows t = make(sizes[k]);

		for (uint64_t i = 0; i < 9000; i++)
			count(&t, i);
		for (uint64_t i = 0; i < 9000; i++)
			count(&t, i);
		assert_int_equal(t.count, sizes[k]);
		for (uint64_t i = 0; i < sizes[k]; i++)
			assert_counted(&t, i, 2);
		assert_int_equal(pasta_rows_other(&t)->key0, PASTA_KEY_OTHER);
		assert_int_equal(pasta_rows_other(&t)->key1, PASTA_KEY_OTHER);
		assert_int_equal(pasta_rows_other(&t)->loads, 2 * (9000 - sizes[k]));
		pasta_rows_free(&t);
	}
}

/* The first request is for the index, the second for rows. */
static void a_table_without_memory_retains_its_rows_and_goes_on_counting(void **state)
{
	for (int k = 0; k < 2; k++) {
		struct pasta_rows t = make(1 << 22);
		uint32_t had = t.room;

		for (uint64_t i = 0; i < had; i++)
			count(&t, i);
		until = k;
		for (uint64_t i = 0; i < 2 * had; i++)
			count(&t, i);
		until = -1;
		count(&t, 2 * had); /* it does not ask for memory each time */
		assert_int_equal(t.count, had);
		for (uint64_t i = 0; i < had; i++)
			assert_counted(&t, i, 2);
		assert_int_equal(pasta_rows_other(&t)->loads, had + 1);
		pasta_rows_clear(&t); /* but it may grow again when it is empty */
		for (uint64_t i = 0; i < 2 * had; i++)
			count(&t, i);
		assert_int_equal(t.count, 2 * had);
		assert_int_equal(pasta_rows_other(&t)->loads, 0);
		pasta_rows_free(&t);
	}
}

static void a_table_that_finds_no_memory_at_first_is_refused(void **state)
{
	struct pasta_rows t;

	for (until = 0; until < 2; until++) {
		int left = until;

		assert_int_equal(pasta_rows_init(&t, 100), -ENOMEM);
		pasta_rows_free(&t);
		until = left;
	}
	until = -1;
	assert_int_equal(pasta_rows_init(&t, 0), -EINVAL);
	assert_int_equal(pasta_rows_init(&t, (1u << 26) + 1), -EINVAL);
	assert_null(pasta_rows_find(&t, 1, 2));
}

static void an_emptied_table_is_empty_and_a_large_one_gives_memory_back(void **state)
{
	struct pasta_rows t = make(1 << 22);
	uint32_t first = t.room, slots = t.mask;

	for (uint64_t i = 0; i < MANY; i++)
		count(&t, i);
	pasta_rows_clear(&t);
	assert_int_equal(t.room, first);
	assert_int_equal(t.mask, slots);
	for (int turn = 0; turn < 3; turn++) {
		assert_int_equal(loads_of(&t), 0);
		for (uint64_t i = 0; i < MANY; i += 1000)
			assert_null(pasta_rows_find(&t, key_of(i), i % 3));
		for (uint64_t i = 7; i < 9000; i++)
			count(&t, i);
		assert_int_equal(t.count, 9000 - 7);
		for (uint64_t i = 7; i < 9000; i++)
			assert_counted(&t, i, 1);
		pasta_rows_clear(&t);
		assert_true(t.room >= 9000 - 7); /* this much it keeps */
	}
	pasta_rows_free(&t);
}

static void a_large_table_that_cannot_give_memory_back_is_empty_all_the_same(void **state)
{
	for (int k = 0; k < 2; k++) {
		struct pasta_rows t = make(1 << 22);

		for (uint64_t i = 0; i < MANY; i++)
			count(&t, i);
		until = k;
		pasta_rows_clear(&t);
		until = -1;
		assert_int_equal(loads_of(&t), 0);
		for (uint64_t i = 0; i < MANY; i++)
			count(&t, i);
		for (uint64_t i = 0; i < MANY; i++)
			assert_counted(&t, i, 1);
		pasta_rows_free(&t);
	}
}

static void a_table_that_has_all_its_memory_does_not_move(void **state)
{
	struct pasta_rows t = make(9000);
	struct pasta_row *rows;

	count(&t, 1);
	assert_int_equal(pasta_rows_reserve(&t), 0);
	rows = t.rows;
	until = 0;
	for (uint64_t i = 1; i <= 9000; i++)
		count(&t, i);
	until = -1;
	assert_ptr_equal(t.rows, rows);
	assert_int_equal(t.count, 9000);
	assert_counted(&t, 1, 2);
	assert_counted(&t, 9000, 1);
	pasta_rows_free(&t);
}

/* Parts of any size, merged in any order; and into one that is too small. */
static void merged_tables_have_the_rows_of_all(void **state)
{
	static uint64_t times[20000];
	struct pasta_rows all = make(1 << 22), few = make(100);
	uint64_t total = 0;

	random_begin();
	for (int part = 0; part < 20; part++) {
		struct pasta_rows t = make(1 << 22);
		uint64_t first = random_below(10000), counted = random_below(part % 2 ? 10000 : 50);

		for (uint64_t i = first + counted; i > first; i--) {
			count(&t, i);
			times[i]++;
		}
		total += counted;
		pasta_rows_merge(&all, &t);
		pasta_rows_merge(&few, &t);
		pasta_rows_free(&t);
	}
	for (uint64_t i = 0; i < 20000; i++)
		if (times[i])
			assert_counted(&all, i, times[i]);
		else
			assert_property(!pasta_rows_find(&all, key_of(i), i % 3));
	assert_int_equal(loads_of(&all), total);
	assert_int_equal(pasta_rows_other(&all)->loads, 0);
	assert_int_equal(loads_of(&few), total);
	assert_int_equal(few.count, 100);
	pasta_rows_free(&all);
	pasta_rows_free(&few);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_that_grows_retains_every_row_in_any_order),
		cmocka_unit_test(a_full_table_has_its_most_rows_and_one_for_the_rest),
		cmocka_unit_test(a_table_without_memory_retains_its_rows_and_goes_on_counting),
		cmocka_unit_test(a_table_that_finds_no_memory_at_first_is_refused),
		cmocka_unit_test(an_emptied_table_is_empty_and_a_large_one_gives_memory_back),
		cmocka_unit_test(a_large_table_that_cannot_give_memory_back_is_empty_all_the_same),
		cmocka_unit_test(a_table_that_has_all_its_memory_does_not_move),
		cmocka_unit_test(merged_tables_have_the_rows_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
