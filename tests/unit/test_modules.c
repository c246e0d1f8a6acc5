/* test_modules.c - tests tool modules with made-up events. */
/* labels: onethread */
#include "../../tools/modules.c"

#include "unit/tooltest.h"

static struct pasta_event load_event(uint32_t proc, uint32_t context, uint64_t number,
				     uint64_t bytes, uint64_t crc)
{
	struct pasta_event ev = EVENT(module, MODULE, proc, 1, 10);

	ev.sub = PASTA_MODULE_LOAD;
	ev.module.id = number;
	ev.module.bytes = bytes;
	ev.module.crc = crc;
	ev.module.name = id("cubin");
	ev.module.context = context;
	return ev;
}

static void load(uint32_t proc, uint32_t context, uint64_t number, uint64_t bytes, uint64_t crc)
{
	struct pasta_event ev = load_event(proc, context, number, bytes, crc);

	send_event(&ev);
}

static void unload(uint32_t proc, uint32_t context, uint64_t number)
{
	struct pasta_event ev = load_event(proc, context, number, 0, 0);

	ev.sub = PASTA_MODULE_UNLOAD;
	send_event(&ev);
}

static void code_that_is_loaded_often_is_one_row(void **state)
{
	(void)state;
	load(0, 1, 7, 100, 0xabc);
	load(0, 2, 8, 100, 0xabc);
	load(0, 1, 9, 100, 0xabc);
	load(1, 1, 7, 100, 0xabc);
	load(0, 1, 10, 5000, UINT64_C(0x123456789a));
	load(0, 1, 11, 5000, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("modules"), "cubin 5000 - 0 1 1 0 -\n"
					      "cubin 5000 123456789a 0 1 1 0 -\n"
					      "cubin 100 00000abc 0 3 4 0 -\n");
	assert_string_equal(finding(0), "");
}

static void an_unload_is_of_the_load_that_has_its_id_context_and_process(void **state)
{
	(void)state;
	load(0, 1, 7, 100, 1);
	load(0, 2, 7, 200, 2);
	load(1, 1, 7, 300, 3);
	unload(0, 2, 7);
	unload(0, 2, 7); /* already unloaded */
	unload(3, 1, 7);
	load(0, 2, 7, 400, 4); /* the id is reused */
	unload(0, 2, 7);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("modules"), "cubin 400 00000004 0 1 1 1 -\n"
					      "cubin 300 00000003 0 1 1 0 -\n"
					      "cubin 200 00000002 0 1 1 1 -\n"
					      "cubin 100 00000001 0 1 1 0 -\n");
	assert_string_equal(finding(0), "unloads of modules whose load was not recorded: 2");
}

static void devices_and_copies_make_rows_differ(void **state)
{
	struct pasta_event ev = load_event(0, 1, 7, 100, 1);

	(void)state;
	ev.module.path = id("modules/a.cubin");
	send_event(&ev);
	ev.module.device = 3;
	ev.module.id = 8;
	send_event(&ev);
	ev.module.path = id("modules/b.cubin"); /* CUPTI's crc covers parts of the code */
	ev.module.id = 9;
	send_event(&ev);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("modules"), "cubin 100 00000001 0 1 1 0 modules/a.cubin\n"
					      "cubin 100 00000001 3 1 1 0 modules/a.cubin\n"
					      "cubin 100 00000001 3 1 1 0 modules/b.cubin\n");
}

static void a_number_that_stands_for_several_is_found_once(void **state)
{
	struct pasta_event ev = load_event(0, 1, 1, 100, 5);

	(void)state;
	for (ev.module.device = 0; ev.module.device < 3; ev.module.device++) {
		ev.module.path = id("modules/a.cubin");
		send_event(&ev);
	}
	ev.module.path = id("modules/b.cubin");
	send_event(&ev);
	ev.module.path = id("modules/c.cubin");
	send_event(&ev);
	ev.module.crc = 6; /* the same code on two devices */
	send_event(&ev);
	ev.module.device++;
	send_event(&ev);
	load(0, 1, 2, 300, 0); /* and these have no crc */
	load(0, 1, 3, 400, 0);
	load(0, 1, 4, 500, 7);
	load(0, 1, 5, 600, 7);
	assert_int_equal(finish(), 0);
	assert_string_equal(finding(0), "modules without a saved copy: 4");
	assert_string_equal(finding(1), "checksums (crc) that several modules share: 2");
	assert_string_equal(finding(2), "");
}

static void one_without_a_copy_among_those_with_one_is_found(void **state)
{
	struct pasta_event ev = load_event(0, 1, 7, 100, 1);

	(void)state;
	ev.module.path = id("modules/a.cubin");
	send_event(&ev);
	load(0, 1, 8, 50, 2);
	assert_int_equal(finish(), 0);
	assert_string_equal(finding(0), "modules without a saved copy: 1");
}

static void the_hosts_own_libraries_are_left_out(void **state)
{
	struct pasta_event ev = load_event(0, 0, 1, 100, 1);

	(void)state;
	ev.module.device = PASTA_MODULE_HOST;
	send_event(&ev);
	ev.sub = PASTA_MODULE_UNLOAD;
	send_event(&ev);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("modules"), "");
	assert_string_equal(finding(0), "");
}

static void many_modules_are_all_counted(void **state)
{
	enum { MANY = 20000 };
	char last[64];

	(void)state;
	for (uint64_t i = 1; i <= MANY; i++)
		load((uint32_t)(i % 8), 1, i, i, i);
	for (uint64_t i = 1; i <= MANY; i++)
		unload((uint32_t)(i % 8), 1, i);
	assert_int_equal(finish(), 0);
	assert_int_equal(pasta_table_rows(table_of("modules")), MANY);
	assert_int_equal(pasta_table_cell(table_of("modules"), MANY - 1, 1)->i, 1);
	snprintf(last, sizeof(last), "%08x", 1);
	assert_string_equal(pasta_table_cell(table_of("modules"), MANY - 1, 2)->s, last);
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(pasta_table_cell(table_of("modules"), i, 6)->i, 1);
	assert_string_equal(finding(0), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(code_that_is_loaded_often_is_one_row),
		TEST(an_unload_is_of_the_load_that_has_its_id_context_and_process),
		TEST(devices_and_copies_make_rows_differ),
		TEST(a_number_that_stands_for_several_is_found_once),
		TEST(one_without_a_copy_among_those_with_one_is_found),
		TEST(the_hosts_own_libraries_are_left_out),
		TEST(many_modules_are_all_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
