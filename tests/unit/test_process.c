/* test_process.c - what a process is called, in all outputs. */
/* labels: onethread */
#include "unit/support.h"

static void a_process_is_called_by_what_is_known_of_it(void **state)
{
	char text[40];

	(void)state;
	assert_string_equal(pasta_process_text("node7", 19392, 3, text, sizeof(text)),
			    "node7-19392");
	assert_string_equal(pasta_process_text("", 19392, 3, text, sizeof(text)), "pid 19392");
	assert_string_equal(pasta_process_text(NULL, 19392, 3, text, sizeof(text)), "pid 19392");
	assert_string_equal(pasta_process_text("", 0, 3, text, sizeof(text)), "#3");
	/* A host alone may have many. */
	assert_string_equal(pasta_process_text("node7", 0, 3, text, sizeof(text)), "#3");
	assert_string_equal(pasta_process_text("node7", 19392, 3, text, 6), "node7");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_called_by_what_is_known_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
