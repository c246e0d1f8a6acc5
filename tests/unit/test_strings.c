/* test_strings.c - the table of interned bytes. */
#include "support.h"

#include <pthread.h>

#include "core/strings.h"

static void equal_bytes_have_the_same_id_and_different_bytes_another(void **state)
{
	uint32_t a = pasta_strings_add("one", 3), b = pasta_strings_add("two", 3);

	assert_int_not_equal(a, 0);
	assert_int_not_equal(a, b);
	assert_int_equal(pasta_strings_add("one", 3), a);
	assert_int_not_equal(pasta_strings_add("one", 2), a);
	assert_string_equal(pasta_str(a), "one");
}

static void what_was_never_added_is_the_empty_string(void **state)
{
	size_t size = 1;

	assert_string_equal(pasta_str(0), "");
	assert_string_equal(pasta_str(UINT32_MAX), "");
	assert_string_equal(pasta_str(1u << 28), "");
	assert_string_equal(pasta_bytes(UINT32_MAX, &size), "");
	assert_int_equal(size, 0);
}

static void bytes_may_have_zeros_in_them_and_still_end_in_one(void **state)
{
	const char data[] = {'a', 0, 'b', 0};
	uint32_t id = pasta_strings_add(data, 4);
	size_t size;

	assert_memory_equal(pasta_bytes(id, &size), data, 4);
	assert_int_equal(size, 4);
	assert_int_equal(pasta_bytes(id, &size)[4], 0);
	assert_int_not_equal(pasta_strings_add(data, 3), id);
}

static void the_empty_string_is_a_string(void **state)
{
	uint32_t id = pasta_strings_add("", 0);

	assert_int_not_equal(id, 0);
	assert_int_equal(pasta_strings_add("x", 0), id);
	assert_string_equal(pasta_str(id), "");
}

static void texts_do_not_move_while_the_table_grows(void **state)
{
	enum { COUNT = 200000 };
	static uint32_t ids[COUNT];
	const char *first = NULL;
	char text[32];

	for (int i = 0; i < COUNT; i++) {
		snprintf(text, sizeof(text), "name %d", i);
		ids[i] = pasta_strings_add(text, strlen(text));
		assert_int_not_equal(ids[i], 0);
		first = first ? first : pasta_str(ids[0]);
	}
	assert_ptr_equal(pasta_str(ids[0]), first);
	for (int i = 0; i < COUNT; i += 7) {
		snprintf(text, sizeof(text), "name %d", i);
		assert_string_equal(pasta_str(ids[i]), text);
		assert_int_equal(pasta_strings_add(text, strlen(text)), ids[i]);
	}
}

enum { WORDS = 20000, WORKERS = 4 };
static uint32_t seen[WORKERS][WORDS];

static void *worker(void *arg)
{
	uint32_t *ids = arg;
	char text[32];

	for (int i = 0; i < WORDS; i++) {
		snprintf(text, sizeof(text), "shared %d", i);
		ids[i] = pasta_strings_add(text, strlen(text));
		if (strcmp(pasta_str(ids[i]), text) != 0)
			ids[i] = 0;
	}
	return NULL;
}

static void threads_agree_on_ids_and_read_without_a_lock(void **state)
{
	pthread_t threads[WORKERS];

	for (int i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, worker, seen[i]), 0);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < WORDS; i++) {
		assert_int_not_equal(seen[0][i], 0);
		for (int k = 1; k < WORKERS; k++)
			assert_int_equal(seen[k][i], seen[0][i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_bytes_have_the_same_id_and_different_bytes_another),
		cmocka_unit_test(what_was_never_added_is_the_empty_string),
		cmocka_unit_test(bytes_may_have_zeros_in_them_and_still_end_in_one),
		cmocka_unit_test(the_empty_string_is_a_string),
		cmocka_unit_test(texts_do_not_move_while_the_table_grows),
		cmocka_unit_test(threads_agree_on_ids_and_read_without_a_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
