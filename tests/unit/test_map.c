/* test_map.c - compares the SDK's map with an array. */
/* labels: onethread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pasta/tool.h>

static void a_new_value_is_zeroed_and_never_moves(void **state)
{
	struct pasta_map *map = pasta_map_new(24);
	uint64_t *first = pasta_map_add(map, 7), key;

	assert_int_equal(first[0] | first[1] | first[2], 0);
	assert_int_equal((uintptr_t)first % 8, 0);
	*first = 42;
	for (key = 100; key < 100000; key++)
		assert_non_null(pasta_map_add(map, key));
	assert_ptr_equal(pasta_map_find(map, 7), first);
	assert_ptr_equal(pasta_map_add(map, 7), first);
	assert_int_equal(*first, 42);
	assert_int_equal(pasta_map_count(map), 99901);
	pasta_map_free(map);
}

static void iteration_is_in_order_of_insertion(void **state)
{
	static const uint64_t keys[] = {9, 0, UINT64_MAX, 1, UINT64_C(1) << 32};
	struct pasta_map *map = pasta_map_new(sizeof(uint32_t));
	size_t i, at = 0;
	uint64_t key;

	for (i = 0; i < 5; i++)
		*(uint32_t *)pasta_map_add(map, keys[i]) = (uint32_t)i;
	for (i = 0; i < 5; i++) {
		assert_int_equal(*(uint32_t *)pasta_map_next(map, &at, &key), i);
		assert_int_equal(key, keys[i]);
	}
	assert_null(pasta_map_next(map, &at, NULL));
	pasta_map_free(map);
}

/* Adds and removes keys from a small range, which collide often. */
static void adding_and_removing_agrees_with_an_array(void **state)
{
	enum { KEYS = 3000, STEPS = 400000 };
	static uint64_t expected[KEYS]; /* 0: absent */
	struct pasta_map *map = pasta_map_new(sizeof(uint64_t));
	size_t at = 0, count = 0, seen = 0;
	uint64_t key, *value;
	int i;

	srand(1);
	for (i = 1; i <= STEPS; i++) {
		key = (uint64_t)rand() % KEYS;
		value = pasta_map_find(map, key << 20);
		assert_int_equal(value ? *value : 0, expected[key]);
		count -= expected[key] != 0;
		expected[key] = rand() % 2 ? (uint64_t)i : 0;
		count += expected[key] != 0;
		if (expected[key])
			*(uint64_t *)pasta_map_add(map, key << 20) = expected[key];
		else
			pasta_map_remove(map, key << 20);
		assert_int_equal(pasta_map_count(map), count);
	}
	while ((value = pasta_map_next(map, &at, &key))) {
		assert_int_equal(*value, expected[key >> 20]);
		seen++;
	}
	assert_int_equal(seen, count);
	pasta_map_free(map);
}

static void a_reused_value_is_zeroed(void **state)
{
	struct pasta_map *map = pasta_map_new(sizeof(uint64_t));

	*(uint64_t *)pasta_map_add(map, 1) = 5;
	pasta_map_remove(map, 1);
	pasta_map_remove(map, 1);
	assert_null(pasta_map_find(map, 1));
	assert_int_equal(*(uint64_t *)pasta_map_add(map, 2), 0);
	pasta_map_free(map);
	pasta_map_free(NULL);
}

static int by_value(const void *a, const void *b)
{
	return **(const int64_t *const *)a < **(const int64_t *const *)b ? -1 : 1;
}

static void sorted_returns_all_values_and_a_final_null(void **state)
{
	static const int64_t values[] = {5, -3, 9, 0, 7};
	struct pasta_map *map = pasta_map_new(sizeof(int64_t));
	int64_t **sorted = pasta_map_sorted(map, by_value);
	size_t i;

	assert_null(sorted[0]);
	free(sorted);
	for (i = 0; i < 5; i++)
		*(int64_t *)pasta_map_add(map, i) = values[i];
	pasta_map_remove(map, 2);
	sorted = pasta_map_sorted(map, by_value);
	assert_int_equal(*sorted[0], -3);
	assert_int_equal(*sorted[1], 0);
	assert_int_equal(*sorted[2], 5);
	assert_int_equal(*sorted[3], 7);
	assert_null(sorted[4]);
	*sorted[0] = 1;
	assert_int_equal(*(int64_t *)pasta_map_find(map, 1), 1);
	free(sorted);
	pasta_map_free(map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_value_is_zeroed_and_never_moves),
		cmocka_unit_test(iteration_is_in_order_of_insertion),
		cmocka_unit_test(adding_and_removing_agrees_with_an_array),
		cmocka_unit_test(a_reused_value_is_zeroed),
		cmocka_unit_test(sorted_returns_all_values_and_a_final_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
