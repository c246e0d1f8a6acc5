/* test_sink_text.c - tables of the text format: aligned, cut to fit, escaped. */
/* labels: onethread */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sink/cell.h"
#include "unit/sample.h"

static char *write_text(struct pasta_result *r, const struct pasta_sink_opts *opts)
{
	struct pasta_error err = {0};
	int error;
	char *text = sample_write(&pasta_sink_text, r, opts, &error, &err);

	assert_int_equal(error, 0);
	pasta_result_free(r);
	return text;
}

static void columns_are_aligned_and_names_are_safe(void **state)
{
	struct pasta_sink_opts opts = {.width = 100};
	struct pasta_result r;
	char *text;

	sample(&r, true);
	text = write_text(&r, &opts);
	assert_string_equal(
		text,
		"t\n"
		"name                             time              size  share  rate (events/s)\n"
		"plain                          999 ns             512 B  12.5%                1\n"
		"q\"uo,te\\r\\n          9223372036.855 s  -8388608.000 TiB      -                2\n"
		"\\x1b[31mred\\x01 \xef\xbf\xbd\xef\xbf\xbd(          1.235 ms         1.500 MiB      -"
		"                3\n"
		"größe 漢字 \\u202e                0 ns               0 B   0.1%               -4\n"
		"\n"
		"empty\n"
		"name  time  size  share  rate (events/s)\n"
		"(no rows)\n"
		"warning: slow\\nlines, at here; be quick\n"
		"\n"
		"events: 18446744073709551615 expected, 7 captured, 3 dropped (full 2, damaged 1)\n");
	free(text);
}

static void a_cell_without_a_value_is_blank_and_a_line_has_no_blanks_at_its_end(void **state)
{
	struct pasta_sink_opts opts = {.width = 100};
	struct pasta_result r = {0};
	char *text;

	sample_gaps(&r);
	text = write_text(&r, &opts);
	assert_string_equal(text, "t\n"
				  "name  time  size  share  rate (events/s)\n"
				  "ends                                   5\n"
				  "      1 ns   2 B   3.0%                4\n"
				  "\n"
				  "name\n"
				  "\n"
				  "events: 0 expected, 0 captured, 0 dropped\n");
	free(text);
}

static void a_narrow_terminal_removes_columns_without_values(void **state)
{
	static const struct pasta_column columns[] = {{"name", PASTA_COLUMN_STRING, NULL},
						      {"share", PASTA_COLUMN_FLOAT, "%"},
						      {"size", PASTA_COLUMN_INT, "bytes"}};
	struct pasta_sink_opts opts = {.width = 14};
	struct pasta_result r = {0};
	struct pasta_table *t = pasta_out_table(pasta_result_out(&r, "tool"), "t", columns, 3);
	char *text;

	pasta_cell_str(t, "name");
	pasta_cell_none(t);
	pasta_cell_none(t);
	pasta_cell_str(t, "other");
	pasta_cell_none(t);
	pasta_cell_int(t, 1);
	text = write_text(&r, &opts);
	assert_non_null(strstr(text, "t\nname   size\nname\nother   1 B\n"));
	free(text);
}

static void rows_and_tables_can_be_limited(void **state)
{
	struct pasta_sink_opts opts = {.width = 100, .rows = 1, .brief = true};
	struct pasta_result r;
	char *text;

	sample(&r, true);
	text = write_text(&r, &opts);
	assert_non_null(strstr(text, "plain"));
	assert_null(strstr(text, "größe"));
	assert_non_null(strstr(text, "… 3 more rows (--rows 0 for all)\n"));
	assert_non_null(strstr(text, "more tables in the report: empty\n"));
	assert_null(strstr(text, "no rows"));
	free(text);
}

static void charts_come_after_the_tables_and_before_the_findings(void **state)
{
	struct pasta_sink_opts opts = {.width = 100};
	struct pasta_result r;
	struct pasta_chart *c;
	char *text;

	sample(&r, false);
	c = sample_chart(r.outs[0], "bars", PASTA_CHART_BAR, NULL, NULL);
	pasta_chart_bar(c, "a", 1);
	sample_chart(r.outs[0], "flames", PASTA_CHART_FLAME, NULL, NULL);
	text = write_text(&r, &opts);
	assert_non_null(strstr(text, "-4\n\nbars\nlabel  value\na          1  █"));
	assert_non_null(strstr(text, "█\n\nflames\n(no stacks)\nwarning: slow"));
	free(text);
}

static void a_brief_report_names_its_charts(void **state)
{
	static const char *const expected[] = {
		"(--rows 0 for all)\nmore tables in the report: empty; charts: a, \\u202e\nwarning",
		"(--rows 0 for all)\ncharts in the report: a, \\u202e\nwarning"};
	struct pasta_sink_opts opts = {.width = 100, .rows = 1, .brief = true};
	struct pasta_result r;
	char *text;

	for (int i = 0; i < 2; i++) {
		sample(&r, !i);
		sample_chart(r.outs[0], "a", PASTA_CHART_BAR, NULL, NULL);
		sample_chart(r.outs[0], "\xe2\x80\xae", PASTA_CHART_BAR, NULL, NULL);
		text = write_text(&r, &opts);
		assert_non_null(strstr(text, expected[i]));
		free(text);
	}
}

static void a_tool_with_charts_alone_is_not_empty(void **state)
{
	struct pasta_sink_opts opts = {.width = 100, .brief = true};
	struct pasta_result r = {0};
	char *text;

	sample_table(pasta_result_out(&r, "nothing"), "nothing");
	pasta_chart_bar(sample_chart(pasta_result_out(&r, "tool"), "c", PASTA_CHART_BAR, NULL,
				     NULL),
			"a", 1);
	text = write_text(&r, &opts);
	assert_string_equal(text, "charts in the report: c\n\n"
				  "events: 0 expected, 0 captured, 0 dropped\n");
	free(text);
}

static void a_table_s_name_is_safe_too(void **state)
{
	struct pasta_sink_opts opts = {.width = 100, .color = true};
	struct pasta_result r = {0};
	char *text;

	sample_table(pasta_result_out(&r, "tool"), "a\xe2\x80\xae"
						   "b");
	text = write_text(&r, &opts);
	assert_non_null(strstr(text, "\033[1ma\\u202eb\033[m\n"));
	free(text);
}

static void a_unit_is_as_safe_as_a_name(void **state)
{
	struct pasta_column column = {"a\tb", PASTA_COLUMN_INT, "\033[31m"};
	char *head = pasta_cell_head(&column);

	assert_string_equal(head, "a\\tb (\\x1b[31m)");
	free(head);
}

static void a_narrow_terminal_cuts_names_and_never_numbers(void **state)
{
	struct pasta_sink_opts opts = {.width = 60};
	struct pasta_result r;
	struct pasta_table *t;
	char *text;

	memset(&r, 0, sizeof(r));
	t = sample_table(pasta_result_out(&r, "tool"), "t");
	sample_row(t, "a/very/long/name/that/does/not/fit/at/all", 123456789, 1, 1, 1);
	text = write_text(&r, &opts);
	assert_non_null(strstr(text, "\na/very/l…it/at/all  123.457 ms"));
	free(text);
}

static void a_narrow_terminal_removes_columns_of_zeros_first(void **state)
{
	static const struct pasta_column columns[] = {{"name", PASTA_COLUMN_STRING, NULL},
						      {"zero", PASTA_COLUMN_INT, NULL},
						      {"number", PASTA_COLUMN_INT, NULL},
						      {"nothing", PASTA_COLUMN_INT, "ns"}};
	static const size_t widths[] = {44, 43, 33, 10};
	static const char *const expected[] = {"zero  number  nothing\n", "zero  number\n",
					       "  number\n", "  number\n"};
	char *text, *end;

	for (size_t i = 0; i < 4; i++) {
		struct pasta_sink_opts opts = {.width = widths[i]};
		struct pasta_result r = {0};
		struct pasta_table *t =
			pasta_out_table(pasta_result_out(&r, "tool"), "t", columns, 4);

		for (int64_t row = 0; row < 2; row++) {
			pasta_cell_str(t, "a name of 21 columns.");
			pasta_cell_int(t, 0);
			pasta_cell_int(t, row);
			pasta_cell_int(t, 0);
		}
		text = write_text(&r, &opts);
		end = strchr(text + 2, '\n');
		assert_memory_equal(end + 1 - strlen(expected[i]), expected[i],
				    strlen(expected[i]));
		assert_true(!!strstr(text, "a name of 21 columns.") == (i < 3));
		free(text);
	}
}

static void cutting_preserves_both_ends_and_whole_characters(void **state)
{
	static const struct {
		const char *text;
		size_t width;
		const char *expected;
	} cases[] = {
		{"abcdef", 6, "abcdef"}, {"abcdef", 5, "ab…ef"},      {"abcdef", 4, "a…ef"},
		{"abcdef", 1, "…"},	 {"漢字漢字", 8, "漢字漢字"}, {"漢字漢字", 7, "漢…字"},
		{"漢字漢字", 4, "…字"},	 {"äöüß", 3, "ä…ß"},	      {"", 1, ""},
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *cut = pasta_cell_cut(cases[i].text, cases[i].width, (cases[i].width - 1) / 2);

		assert_string_equal(cut, cases[i].expected);
		assert_true(pasta_cell_width(cut) <= cases[i].width);
		free(cut);
	}
}

static void names_are_cut_where_most_of_them_still_differ(void **state)
{
	static const struct {
		const char *names[4];
		const char *expected;
	} cases[] = {
		{{"nothing to tell apart here", "nothing to tell apart here"}, "nothi…t here"},
		{{"buffer 1 at init (prog.c:19)", "buffer 2 at init (prog.c:19)",
		  "buffer 3 at init (prog.c:19)"},
		 "buffer 1…19)"},
		{{"buffer 10 at init (prog.c:19)", "buffer 2 at init (prog.c:19)",
		  "buffer 11 at init (prog.c:19)"},
		 "buffer 10…9)"},
		{{"program/1.forward", "program/2.forward", "program"}, "pr…1.forward"},
		{{"ends like that: 100000000", NULL, "ends like that: 200000000"}, "en…100000000"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t head = pasta_cell_cut_head((char *const *)cases[i].names, 4, 1, 12);
		char *cut = pasta_cell_cut(cases[i].names[0], 12, head);

		assert_string_equal(cut, cases[i].expected);
		free(cut);
	}
}

static void names_of_objects_differ_in_a_narrow_table(void **state)
{
	struct pasta_sink_opts opts = {.width = 50};
	struct pasta_result r = {0};
	struct pasta_table *t = sample_table(pasta_result_out(&r, "tool"), "t");
	char *text;

	(void)state;
	sample_row(t, "buffer 1 at initialise (program.c:19)", 123456789, 1, 1, 1);
	sample_row(t, "buffer 2 at initialise (program.c:19)", 123456789, 1, 1, 1);
	text = write_text(&r, &opts);
	assert_non_null(strstr(text, "\nbuffer 1…19)  123.457 ms"));
	assert_non_null(strstr(text, "\nbuffer 2…19)  123.457 ms"));
	free(text);
}

static void times_and_sizes_have_readable_units(void **state)
{
	static const struct {
		const char *unit;
		int64_t value;
		const char *expected;
	} cases[] = {
		{"ns", 0, "0 ns"},
		{"ns", 999, "999 ns"},
		{"ns", 1000, "1.000 us"},
		{"ns", 999999, "999.999 us"},
		{"ns", 999999999, "1.000 s"},
		{"ns", -1500, "-1.500 us"},
		{"ns", 3600000000000, "3600.000 s"},
		{"bytes", 1023, "1023 B"},
		{"bytes", 1024, "1.000 KiB"},
		{"bytes", INT64_C(5) << 40, "5.000 TiB"},
		{"bytes/s", INT64_C(3) << 30, "3.000 GiB/s"},
		{"%", 7, "7%"},
		{NULL, -12, "-12"},
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct pasta_column column = {"c", PASTA_COLUMN_INT, cases[i].unit};
		union pasta_value value = {.i = cases[i].value};
		char *text = pasta_cell_text(&column, &value);

		assert_string_equal(text, cases[i].expected);
		free(text);
	}
}

static void shares_are_not_rounded_to_zero_or_to_all(void **state)
{
	static const struct {
		double value;
		const char *expected;
	} cases[] = {
		{0, "0.0%"},	   {1e-30, "<0.1%"},  {0.04, "<0.1%"},
		{0.06, "0.1%"},	   {66.666, "66.7%"}, {99.94, "99.9%"},
		{99.96, ">99.9%"}, {100, "100.0%"},   {100.01, "100.0%"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct pasta_column column = {"c", PASTA_COLUMN_FLOAT, "%"};
		union pasta_value value = {.f = cases[i].value};
		char *text = pasta_cell_text(&column, &value);

		assert_string_equal(text, cases[i].expected);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_aligned_and_names_are_safe),
		cmocka_unit_test(
			a_cell_without_a_value_is_blank_and_a_line_has_no_blanks_at_its_end),
		cmocka_unit_test(a_narrow_terminal_removes_columns_without_values),
		cmocka_unit_test(rows_and_tables_can_be_limited),
		cmocka_unit_test(charts_come_after_the_tables_and_before_the_findings),
		cmocka_unit_test(a_brief_report_names_its_charts),
		cmocka_unit_test(a_tool_with_charts_alone_is_not_empty),
		cmocka_unit_test(a_table_s_name_is_safe_too),
		cmocka_unit_test(a_unit_is_as_safe_as_a_name),
		cmocka_unit_test(a_narrow_terminal_cuts_names_and_never_numbers),
		cmocka_unit_test(a_narrow_terminal_removes_columns_of_zeros_first),
		cmocka_unit_test(cutting_preserves_both_ends_and_whole_characters),
		cmocka_unit_test(names_are_cut_where_most_of_them_still_differ),
		cmocka_unit_test(names_of_objects_differ_in_a_narrow_table),
		cmocka_unit_test(times_and_sizes_have_readable_units),
		cmocka_unit_test(shares_are_not_rounded_to_zero_or_to_all),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
