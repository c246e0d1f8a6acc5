/* test_detour.c - detours: set on a library function, and undone. */
/* labels: onethread */
#include "unit/support.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "handlers/cuda/detour.h"

static void *libc_function(const char *name)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), *f;

	assert_non_null(libc);
	f = dlsym(libc, name);
	dlclose(libc);
	assert_non_null(f);
	return f;
}

static long our_strtol(const char *text, char **end, int base)
{
	*end = (char *)text + base;
	return 4711;
}

static void a_call_goes_to_the_detour_with_its_arguments_until_it_is_undone(void **state)
{
	long (*strtol_)(const char *, char **, int);
	const char *text = "42x";
	uint8_t before[DETOUR_SIZE];
	struct detour d;
	char *end;

	(void)state;
	*(void **)&strtol_ = libc_function("strtol");
	memcpy(before, (void *)strtol_, DETOUR_SIZE);
	assert_true(detour_set(&d, (void *)strtol_, (void *)our_strtol));
	assert_int_equal(strtol_(text, &end, 3), 4711);
	assert_ptr_equal(end, text + 3);
	detour_undo(&d);
	assert_memory_equal((void *)strtol_, before, DETOUR_SIZE);
	assert_int_equal(strtol_(text, &end, 10), 42);
	assert_ptr_equal(end, text + 2);
	detour_undo(&d); /* the second undo does nothing */
	assert_int_equal(strtol_(text, &end, 10), 42);
}

static void code_that_is_not_a_library_function_is_left_alone(void **state)
{
	char bytes[64] = "as it was";
	struct detour d;

	(void)state;
	assert_false(detour_set(&d, NULL, (void *)our_strtol));
	assert_false(detour_set(&d, bytes, (void *)our_strtol));
	assert_string_equal(bytes, "as it was");
	/* Shorter than the jump. */
	assert_false(detour_set(&d, libc_function("getppid"), (void *)our_strtol));
	/* Not the start of a function. */
	assert_false(detour_set(&d, (char *)libc_function("strtol") + 4, (void *)our_strtol));
	detour_undo(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_goes_to_the_detour_with_its_arguments_until_it_is_undone),
		cmocka_unit_test(code_that_is_not_a_library_function_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
