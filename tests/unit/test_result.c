/* test_result.c - what tools report: typed cells, whole rows, copies of everything. */
/* labels: onethread */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "process/sdk/result.h"

static const struct pasta_column columns[] = {{"name", PASTA_COLUMN_STRING, NULL},
					      {"time", PASTA_COLUMN_INT, "ns"},
					      {"share", PASTA_COLUMN_FLOAT, "%"}};

static int begin(void **state)
{
	static struct pasta_result result;

	memset(&result, 0, sizeof(result));
	*state = &result;
	return pasta_result_out(&result, "tool") ? 0 : -1;
}

static int end(void **state)
{
	pasta_result_free(*state);
	return 0;
}

static struct pasta_out *out_of(void **state)
{
	return ((struct pasta_result *)*state)->outs[0];
}

static void cells_fill_rows_from_left_to_right(void **state)
{
	struct pasta_out *out = out_of(state);
	struct pasta_table *t = pasta_out_table(out, "t", columns, 3);
	char name[] = "first";

	pasta_cell_str(t, name);
	name[0] = 'X';
	pasta_cell_int(t, INT64_MIN);
	pasta_cell_float(t, 0.5);
	pasta_cell_str(t, NULL);
	pasta_cell_int(t, 2);
	pasta_cell_float(t, 1);
	assert_int_equal(pasta_out_end(out), 0);
	assert_int_equal(pasta_table_rows(t), 2);
	assert_string_equal(pasta_table_cell(t, 0, 0)->s, "first");
	assert_true(pasta_table_cell(t, 0, 1)->i == INT64_MIN);
	assert_string_equal(pasta_table_cell(t, 1, 0)->s, "");
	assert_true(pasta_table_cell(t, 1, 2)->f == 1);
}

static void a_cell_of_any_type_may_have_no_value(void **state)
{
	struct pasta_out *out = out_of(state);
	struct pasta_table *t = pasta_out_table(out, "t", columns, 3);

	for (int row = 0; row < 20; row++) {
		for (int i = 0; i < 3; i++)
			pasta_cell_none(t);
		pasta_cell_str(t, "");
		pasta_cell_int(t, 0);
		pasta_cell_float(t, 0);
	}
	assert_int_equal(pasta_out_end(out), 0);
	assert_int_equal(pasta_table_rows(t), 40);
	for (size_t row = 0; row < 40; row++)
		for (size_t i = 0; i < 3; i++)
			assert_true(!pasta_table_cell(t, row, i) == (row % 2 == 0));
	pasta_cell_none(t);
	assert_int_equal(pasta_out_end(out), -EINVAL);
	assert_string_equal(out->err.text,
			    "table t: the last row is incomplete, and ends before column time");
}

static void a_cell_of_the_wrong_type_fails_and_names_the_column(void **state)
{
	struct pasta_out *out = out_of(state);
	struct pasta_table *t = pasta_out_table(out, "t", columns, 3);

	pasta_cell_str(t, "a");
	pasta_cell_float(t, 1.0);
	pasta_cell_int(t, 1);
	pasta_cell_str(t, "b");
	assert_int_equal(pasta_out_end(out), -EINVAL);
	assert_string_equal(out->err.text,
			    "table t, column time: the tool added a cell of type float, not int");
	assert_int_equal(out->table_count, 0);
}

static void a_row_that_is_not_whole_fails_and_names_the_column(void **state)
{
	struct pasta_out *out = out_of(state);
	struct pasta_table *t = pasta_out_table(out, "t", columns, 3);

	pasta_cell_str(t, "a");
	pasta_cell_int(t, 1);
	assert_int_equal(pasta_out_end(out), -EINVAL);
	assert_string_equal(out->err.text,
			    "table t: the last row is incomplete, and ends before column share");
}

static void a_null_table_is_no_crash(void **state)
{
	struct pasta_out *out = out_of(state);

	assert_null(pasta_out_table(out, "t", columns, 0));
	assert_null(pasta_out_table(out, NULL, columns, 3));
	pasta_cell_str(NULL, "a");
	pasta_cell_int(NULL, 1);
	pasta_cell_float(NULL, 1);
	pasta_cell_none(NULL);
	assert_int_equal(pasta_out_end(out), -EINVAL);
}

static void two_tables_of_one_name_fail(void **state)
{
	struct pasta_out *out = out_of(state);

	assert_non_null(pasta_out_table(out, "t", columns, 3));
	assert_null(pasta_out_table(out, "t", columns, 3));
	assert_int_equal(pasta_out_end(out), -EINVAL);
}

static void names_with_control_characters_fail_and_are_made_safe(void **state)
{
	static const struct pasta_column bad[] = {{"fine", PASTA_COLUMN_INT, NULL},
						  {"a\tb", PASTA_COLUMN_INT, NULL}};
	struct pasta_out *out = out_of(state);

	assert_null(pasta_out_table(out, "a\nb\x7f", columns, 3));
	assert_int_equal(pasta_out_end(out), -EINVAL);
	assert_string_equal(
		out->err.text,
		"the name of table 'a\\x0ab\\x7f' has a control character: remove the character");
	end(state);
	begin(state);
	out = out_of(state);
	assert_null(pasta_out_table(out, "t", bad, 2));
	assert_int_equal(pasta_out_end(out), -EINVAL);
	assert_string_equal(
		out->err.text,
		"the name of table t, column 'a\\x09b' has a control character: remove the character");
}

static void a_column_of_no_known_type_fails(void **state)
{
	const struct pasta_column bad[] = {{"x", PASTA_COLUMN_INT, NULL},
					   {"y", (enum pasta_column_type)77, NULL}};
	struct pasta_out *out = out_of(state);

	assert_null(pasta_out_table(out, "t", bad, 2));
	assert_int_equal(pasta_out_end(out), -EINVAL);
	assert_string_equal(out->err.text, "table t, column 2: unknown type 77");
}

static void a_long_name_that_is_wrong_is_cut(void **state)
{
	struct pasta_out *out = out_of(state);
	char name[1000];

	memset(name, '\n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_null(pasta_out_table(out, name, columns, 3));
	assert_memory_equal(out->err.text, "the name of table '\\x0a\\x0a", 27);
	assert_non_null(strstr(out->err.text, "\\x0a' has a control character"));
	assert_null(strchr(out->err.text, '\n'));
}

static void a_count_s_text_is_cut_and_its_number_is_not(void **state)
{
	struct pasta_out *out = out_of(state);
	char what[300];

	memset(what, 'w', sizeof(what) - 1);
	what[sizeof(what) - 1] = '\0';
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, PASTA_COUNT(UINT64_MAX),
			 .what = what);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, PASTA_COUNT(0), .what = what);
	assert_int_equal(out->finding_count, 1);
	assert_int_equal(strspn(out->findings[0].what, "w"), 200);
	assert_string_equal(out->findings[0].what + 200, ": 18446744073709551615");
}

static void a_copy_of_an_event_reads_no_more_than_its_size(void **state)
{
	volatile size_t known = PASTA_EVENT_SIZE(iteration); /* to us, not to the compiler */
	size_t size = known;
	struct pasta_event *ev = calloc(1, size), copy;

	(void)state;
	assert_non_null(ev);
	assert_true(size < sizeof(copy));
	memset(&copy, 0xff, sizeof(copy));
	ev->size = (uint16_t)size;
	ev->kind = PASTA_KIND_ITERATION;
	ev->time = 7;
	pasta_event_copy(&copy, ev);
	assert_memory_equal(&copy, ev, size);
	for (size_t i = size; i < sizeof(copy); i++)
		assert_int_equal(((const char *)&copy)[i], 0);
	free(ev);
}

static void a_count_of_0_is_none_unless_it_is_counted(void **state)
{
	struct pasta_out *out = out_of(state);

	pasta_out_report(out, .what = "no count");
	pasta_out_report(out, .what = "three", .count = 3);
	pasta_out_report(out, .what = "zero", .counted = true);
	assert_int_equal(out->finding_count, 2);
	assert_string_equal(out->findings[0].what, "no count");
	assert_false(out->findings[0].counted);
	assert_string_equal(out->findings[1].what, "three: 3");
	assert_int_equal(out->findings[1].count, 3);
}

static void texts_of_findings_are_formatted_and_stay(void **state)
{
	struct pasta_result result = {0};
	struct pasta_out *out = pasta_result_out(&result, "test");
	const char *one = pasta_out_text(out, "%u of %s", 1, "two");
	const char *long_one = pasta_out_text(out, "%2000d", 1);

	assert_string_equal(one, "1 of two");
	assert_int_equal(strlen(long_one), 1023);
	assert_string_equal(pasta_out_text(out, "%s", ""), "");
	assert_int_equal(pasta_out_end(out), 0);
	pasta_result_free(&result);
}

static void what_is_wrong_with_a_finding_is_named(void **state)
{
	static const struct pasta_claim back = {0, 0, 5, 5};
	static const struct {
		struct pasta_finding finding;
		const char *text;
	} wrong[] = {
		{{.severity = 3}, "finding 'w': unknown severity 3"},
		{{.ref = {.table = "t", .chart = "c"}},
		 "finding 'w': the finding refers to both a table and a chart"},
		{{.ref = {.chart = "c", .from = 2, .to = 1}},
		 "finding 'w': the finding refers to a chart range that is not finite, or that "
		 "ends before it begins"},
		{{.ref = {.chart = "c"}},
		 "finding 'w': the finding refers to an unknown table or chart"},
		{{.ref = {.table = "t", .row = 1}},
		 "finding 'w': the finding refers to a row past the end of the table"},
		{{.claim_count = 1, .saving = 5},
		 "finding 'w': the finding sets .claim_count, but not both .claims and .saving"},
		{{.claims = &back, .claim_count = 1, .saving = 5},
		 "finding 'w': a claim of the finding ends before it begins"},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct pasta_result r = {0};
		struct pasta_out *out = pasta_result_out(&r, "tool");
		struct pasta_finding f = wrong[i].finding;

		f.size = sizeof(f);
		f.what = "w";
		pasta_out_finding(out, &f);
		pasta_out_table(out, "t", columns, 3);
		assert_int_equal(pasta_out_end(out), -EINVAL);
		assert_string_equal(out->err.text, wrong[i].text);
		pasta_result_free(&r);
	}
}

static void a_finding_without_its_size_is_refused(void **state)
{
	pasta_out_finding(out_of(state), &(struct pasta_finding){.what = "w"});
	assert_string_equal(
		out_of(state)->err.text,
		"a finding does not set .size: report the finding with pasta_out_report");
}

static void columns_have_roles_by_their_units_too(void **state)
{
	static const struct pasta_column roles[] =
		{{.name = "k", .type = PASTA_COLUMN_STRING, .role = PASTA_ROLE_KERNEL},
		 {.name = "t", .type = PASTA_COLUMN_INT, .unit = "ns"},
		 {.name = "s", .type = PASTA_COLUMN_FLOAT, .unit = "%"},
		 {.name = "n", .type = PASTA_COLUMN_INT, .unit = "bytes"}},
					 strange = {.name = "x", .role = PASTA_ROLES};
	struct pasta_table *t = pasta_out_table(out_of(state), "t", roles, 4);

	assert_int_equal(t->columns[0].role, PASTA_ROLE_KERNEL);
	assert_int_equal(t->columns[1].role, PASTA_ROLE_TIME);
	assert_int_equal(t->columns[2].role, PASTA_ROLE_SHARE);
	assert_int_equal(t->columns[3].role, PASTA_ROLE_NONE);
	assert_null(pasta_out_table(out_of(state), "u", &strange, 1));
	assert_string_equal(out_of(state)->err.text, "table u, column 1: unknown role 8");
}

static void findings_are_copied(void **state)
{
	struct pasta_out *out = out_of(state);
	char what[] = "slow";
	int i;

	for (i = 0; i < 20; i++)
		pasta_out_report(out, .severity = PASTA_SEVERITY_PROBLEM, .what = what,
				 .action = "go faster");
	what[0] = 'X';
	assert_int_equal(out->finding_count, 20);
	assert_string_equal(out->findings[19].what, "slow");
	assert_null(out->findings[19].where);
	assert_string_equal(out->findings[19].action, "go faster");
}

static void the_first_error_is_retained(void **state)
{
	struct pasta_out *out = out_of(state);

	pasta_out_fail(out, -EIO, "first %d", 1);
	pasta_out_fail(out, -ENOMEM, "second");
	assert_int_equal(pasta_out_end(out), -EIO);
	assert_string_equal(out->err.text, "first 1");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(cells_fill_rows_from_left_to_right),
		TEST(a_cell_of_any_type_may_have_no_value),
		TEST(a_cell_of_the_wrong_type_fails_and_names_the_column),
		TEST(a_row_that_is_not_whole_fails_and_names_the_column),
		TEST(a_null_table_is_no_crash),
		TEST(two_tables_of_one_name_fail),
		TEST(names_with_control_characters_fail_and_are_made_safe),
		TEST(a_column_of_no_known_type_fails),
		TEST(a_long_name_that_is_wrong_is_cut),
		TEST(a_count_s_text_is_cut_and_its_number_is_not),
		TEST(a_copy_of_an_event_reads_no_more_than_its_size),
		TEST(findings_are_copied),
		TEST(a_count_of_0_is_none_unless_it_is_counted),
		TEST(texts_of_findings_are_formatted_and_stay),
		TEST(what_is_wrong_with_a_finding_is_named),
		TEST(a_finding_without_its_size_is_refused),
		TEST(columns_have_roles_by_their_units_too),
		TEST(the_first_error_is_retained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
