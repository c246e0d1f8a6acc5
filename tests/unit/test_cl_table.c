/* test_cl_table.c - the OpenCL handler's table of handles. */
#include "unit/support.h"

#include <pthread.h>

#include "handlers/opencl/table.h"

struct value {
	uint32_t number;
	uintptr_t handle;
};

static const void *handle(uintptr_t i)
{
	return (const void *)(i * 16 + 0x1000);
}

static void a_handle_has_one_value_and_a_number_from_1(void **state)
{
	struct cl_table t = {0};
	struct value *a, *b;
	bool added;

	(void)state;
	assert_null(cl_table_find(&t, handle(1)));
	assert_null(cl_table_get(&t, NULL, sizeof(*a), &added));
	a = cl_table_get(&t, handle(1), sizeof(*a), &added);
	assert_true(added);
	assert_int_equal(a->number, 1);
	b = cl_table_get(&t, handle(2), sizeof(*b), &added);
	assert_int_equal(b->number, 2);
	assert_ptr_equal(cl_table_get(&t, handle(1), sizeof(*a), &added), a);
	assert_false(added);
	assert_ptr_equal(cl_table_find(&t, handle(2)), b);
}

static void a_reused_handle_has_a_new_number(void **state)
{
	struct cl_table t = {0};
	struct value *a = cl_table_put(&t, handle(1), sizeof(*a));

	(void)state;
	assert_int_equal(a->number, 1);
	assert_ptr_equal(cl_table_put(&t, handle(1), sizeof(*a)), a);
	assert_int_equal(a->number, 2);
}

static void values_do_not_move_while_the_table_grows(void **state)
{
	enum { MANY = 10000 };
	static struct value *values[MANY];
	struct cl_table t = {0};

	(void)state;
	for (uintptr_t i = 0; i < MANY; i++) {
		values[i] = cl_table_put(&t, handle(i), sizeof(struct value));
		values[i]->handle = i;
	}
	for (uintptr_t i = 0; i < MANY; i++) {
		assert_ptr_equal(cl_table_find(&t, handle(i)), values[i]);
		assert_int_equal(values[i]->handle, i);
	}
	assert_null(cl_table_find(&t, handle(MANY)));
}

static struct cl_table shared;

static void *use(void *arg)
{
	bool added;

	for (uintptr_t i = 0; i < 5000; i++) {
		struct value *v = cl_table_get(&shared, handle(i), sizeof(*v), &added);

		if (!v || !v->number || cl_table_find(&shared, handle(i)) != v)
			return arg;
	}
	return NULL;
}

static void threads_find_the_same_values(void **state)
{
	pthread_t threads[4];
	void *bad;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_false(pthread_create(&threads[i], NULL, use, threads));
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &bad);
		assert_null(bad);
	}
	assert_int_equal(shared.number, 5000);
}

static void equal_texts_share_one_copy(void **state)
{
	char text[] = "kernel";
	const char *a = cl_table_text(text);

	(void)state;
	assert_string_equal(a, "kernel");
	text[0] = 'K';
	assert_string_equal(a, "kernel");
	assert_ptr_equal(cl_table_text("kernel"), a);
	assert_string_equal(cl_table_text(text), "Kernel");
	assert_string_equal(cl_table_text(""), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_handle_has_one_value_and_a_number_from_1),
		cmocka_unit_test(a_reused_handle_has_a_new_number),
		cmocka_unit_test(values_do_not_move_while_the_table_grows),
		cmocka_unit_test(threads_find_the_same_values),
		cmocka_unit_test(equal_texts_share_one_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
