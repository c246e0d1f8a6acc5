/* test_sink_csv.c - tables and charts as comma-separated values (RFC 4180). */
/* labels: onethread */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/sample.h"

#define T                                                                                          \
	"name,time,size,share,rate\r\n"                                                            \
	"plain,999,512,12.5,1\r\n"                                                                 \
	"\"q\"\"uo,te\\r\\n\",9223372036854775807,-9223372036854775808,,2\r\n"                     \
	"\\x1b[31mred\\x01 \xef\xbf\xbd\xef\xbf\xbd(,1234567,1572864,,3\r\n"                       \
	"größe 漢字 \\u202e,0,0,0.1,-4\r\n"

static void check(bool two, const char *table, int expected_error, const char *expected)
{
	struct pasta_sink_opts opts = {.table = table};
	struct pasta_error err = {0};
	struct pasta_result r;
	int error;
	char *text;

	sample(&r, two);
	text = sample_write(&pasta_sink_csv, &r, &opts, &error, &err);
	assert_int_equal(error, expected_error);
	assert_string_equal(error ? err.text : text, expected);
	free(text);
	pasta_result_free(&r);
}

static void one_table_is_plain(void **state)
{
	check(false, NULL, 0, T);
}

static void several_tables_have_their_names_before_them(void **state)
{
	check(true, NULL, 0,
	      "# table t\r\n" T "\r\n# table empty\r\nname,time,size,share,rate\r\n"
	      "\r\n# table loss\r\nexpected,captured,dropped\r\n18446744073709551615,7,3\r\n");
}

static void one_of_several_tables_can_be_chosen(void **state)
{
	check(true, "t", 0, T);
	check(true, "tool.t", 0, T);
	check(true, "empty", 0, "name,time,size,share,rate\r\n");
	check(true, "nosuch", -ENOENT,
	      "the report has no table or chart 'nosuch': --format text shows all tables and "
	      "charts");
	check(true, "too.t", -ENOENT,
	      "the report has no table or chart 'too.t': --format text shows all tables and "
	      "charts");
}

static void a_cell_without_a_value_is_an_empty_field(void **state)
{
	struct pasta_sink_opts opts = {0};
	struct pasta_result r = {0};
	struct pasta_error err = {0};
	char *text;
	int error;

	sample_gaps(&r);
	text = sample_write(&pasta_sink_csv, &r, &opts, &error, &err);
	assert_int_equal(error, 0);
	assert_string_equal(text, "name,time,size,share,rate\r\nends,,,,5\r\n,1,2,3,4\r\n"
				  ",,,,\r\nname,,,,\r\n");
	free(text);
	pasta_result_free(&r);
}

/* A table with one column and one cell. */
static char *one_cell(const char *name, const char *value)
{
	const struct pasta_column column = {name, PASTA_COLUMN_STRING, NULL};
	struct pasta_sink_opts opts = {0};
	struct pasta_error err = {0};
	struct pasta_result r = {0};
	struct pasta_out *out = pasta_result_out(&r, "tool");
	char *text;
	int error;

	pasta_cell_str(pasta_out_table(out, "t", &column, 1), value);
	pasta_out_end(out);
	text = sample_write(&pasta_sink_csv, &r, &opts, &error, &err);
	assert_int_equal(error, 0);
	pasta_result_free(&r);
	return text;
}

static void a_cell_that_a_spreadsheet_would_evaluate_begins_with_a_quote(void **state)
{
	static const char *const cells[][2] = {
		{"=1+1", "'=1+1"},
		{"+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"},
		{"-2+3", "'-2+3"},
		{"@SUM(1,2)", "\"'@SUM(1,2)\""},
		{"=HYPERLINK(\"x\")", "\"'=HYPERLINK(\"\"x\"\")\""},
		{"\t=1", "\\t=1"},
		{"\r=1", "\\r=1"},
		{"\xef\xbc\x9d"
		 "1+1",
		 "'\xef\xbc\x9d"
		 "1+1"},
		/* one more quote, so that readers can remove exactly one */
		{"'=1", "''=1"},
		{"'lambda'(int)", "'lambda'(int)"},
		{"a=b", "a=b"},
		{"a;=1+1", "\"a;=1+1\""}, /* spreadsheets may split lines at semicolons */
		{"-", "-"},
		{"-1.5", "-1.5"},
		{"", ""},
		{"\xc2\x9b"
		 "31m\x7f",
		 "\\x9b31m\\x7f"},
	};
	char expected[200];
	size_t i;

	for (i = 0; i < sizeof(cells) / sizeof(*cells); i++) {
		char *text = one_cell("head", cells[i][0]);

		snprintf(expected, sizeof(expected), "head\r\n%s\r\n", cells[i][1]);
		assert_string_equal(text, expected);
		free(text);
	}
}

static void a_column_name_that_is_a_formula_begins_with_a_quote(void **state)
{
	char *text = one_cell("=1+1", "a");

	assert_string_equal(text, "'=1+1\r\na\r\n");
	free(text);
}

static void a_name_that_two_tools_have_needs_the_tool(void **state)
{
	struct pasta_sink_opts opts = {.table = "t"};
	struct pasta_error err = {0};
	struct pasta_result r;
	int error;

	sample(&r, false);
	sample_row(sample_table(pasta_result_out(&r, "other"), "t"), "x", 1, 2, 3, 4);
	free(sample_write(&pasta_sink_csv, &r, &opts, &error, &err));
	assert_int_equal(error, -EINVAL);
	assert_string_equal(err.text, "2 tables or charts are named 't': use TOOL.t");
	pasta_result_free(&r);
}

#define LINE                                                                                       \
	"series,time,size\r\na,0,1024\r\na,1500,\r\na,3000,-0.5\r\n"                               \
	"\"\\x1b[31mr;\\n\"\"q\"\",\xef\xbf\xbd\",3000,1e+300\r\n"
#define BAR                                                                                        \
	"\"\\x1b[31mr;\\n\"\"q\"\",\xef\xbf\xbd\",value\r\n"                                       \
	"\"\\x1b[31mr;\\n\"\"q\"\",\xef\xbf\xbd\",0.1\r\n,\r\n"
#define HEAT "time,size,\"\\x1b[31mr;\\n\"\"q\"\",\xef\xbf\xbd\"\r\n0,4096,7\r\n10,-4096,\r\n"
#define FLAME                                                                                      \
	"stack,time\r\n\"main; [31mr: \"\"q\"\",\xef\xbf\xbd;(unnamed);größe\","                 \
	"9223372036854775807\r\nmain,0\r\n"

static void check_charts(bool table, const char *name, const char *expected)
{
	struct pasta_sink_opts opts = {.table = name};
	struct pasta_error err = {0};
	struct pasta_result r = {0};
	int error;
	char *text;

	if (table)
		sample(&r, false);
	sample_charts(&r);
	text = sample_write(&pasta_sink_csv, &r, &opts, &error, &err);
	assert_int_equal(error, 0);
	assert_string_equal(text, expected);
	free(text);
	pasta_result_free(&r);
}

static void charts_come_after_the_tables_of_their_tool(void **state)
{
	check_charts(true, NULL,
		     "# table t\r\n" T "\r\n# chart line\r\n" LINE "\r\n# chart bar\r\n" BAR
		     "\r\n# chart heat\r\n" HEAT "\r\n# chart flame\r\n" FLAME
		     "\r\n# chart empty\r\nseries,x,y\r\n"
		     "\r\n# table loss\r\nexpected,captured,dropped\r\n"
		     "18446744073709551615,7,3\r\n");
}

static void a_chart_can_be_chosen_as_a_table_can(void **state)
{
	check_charts(false, "line", LINE);
	check_charts(true, "plots.bar", BAR);
	check_charts(true, "heat", HEAT);
	check_charts(true, "flame", FLAME);
	check_charts(true, "t", T);
}

static void new_charts_are_rows_too(void **state)
{
	static const char *const expected[] = {
		"time",
		"group,lane,depth,time,duration,name,category,value\r\n"
		"g,s,0,0,50,gemm,kernel,3.5\r\ng,s,0,90,10,copy,copy,\r\n"
		",deep,1,10,5,copy,copy,\r\n",
		"roof",
		"series,l,l,size,label,slope,level\r\n,1,10,0,,,\r\n"
		"b,100,500,2.5,big,,\r\n,,,,roof,12,\r\n,,,,peak,,1000\r\n",
		"area",
		"series,x,y\r\na,0,1\r\na,5,\r\n",
		"hist",
		"series,from,to,count\r\nh,0,1,1\r\nh,1,2.5,4\r\nh,2.5,10,0\r\n",
		"dense",
		"x,rank,value\r\n0,rank 0,5\r\n2,rank 1,7\r\n",
		"sparse",
		"x,y,value\r\n0,0,9\r\n1,1998,1\r\n",
		"graph",
		"node,parent,label,value,cost,to\r\n0,,root,4096,,\r\n"
		"1,0,leaf,1024,2,\r\n2,,other,1,0,\r\n1,,,7,,2\r\n"};
	struct pasta_error err = {0};
	struct pasta_result r = {0};
	int error;

	sample_more(&r);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i += 2) {
		struct pasta_sink_opts opts = {.table = expected[i]};
		char *text = sample_write(&pasta_sink_csv, &r, &opts, &error, &err);

		assert_int_equal(error, 0);
		assert_string_equal(text, expected[i + 1]);
		free(text);
	}
	pasta_result_free(&r);
}

static void one_chart_alone_is_plain(void **state)
{
	struct pasta_sink_opts opts = {0};
	struct pasta_error err = {0};
	struct pasta_result r = {0};
	int error;
	char *text;

	pasta_chart_bar(sample_chart(pasta_result_out(&r, "tool"), "c", PASTA_CHART_BAR, NULL,
				     NULL),
			"a", 2);
	text = sample_write(&pasta_sink_csv, &r, &opts, &error, &err);
	assert_string_equal(text, "label,value\r\na,2\r\n");
	free(text);
	pasta_result_free(&r);
}

static void series_and_labels_have_no_ends_of_lines(void **state)
{
	struct pasta_sink_opts opts = {0};
	struct pasta_result r = {0};
	struct pasta_out *out = pasta_result_out(&r, "tool");
	struct pasta_chart *c = sample_chart(out, "line", PASTA_CHART_LINE, NULL, NULL);
	struct pasta_error err = {0};
	int error;
	char *text;

	pasta_chart_series(c, "a\rb");
	pasta_chart_point(c, 1, 2);
	c = sample_chart(out, "bar", PASTA_CHART_BAR, NULL, NULL);
	pasta_chart_bar(c, "a\r\nb", 3);
	text = sample_write(&pasta_sink_csv, &r, &opts, &error, &err);
	assert_int_equal(error, 0);
	assert_non_null(strstr(text, "# chart line\r\nseries,x,y\r\na\\rb,1,2\r\n"));
	assert_non_null(strstr(text, "# chart bar\r\nlabel,value\r\na\\r\\nb,3\r\n"));
	free(text);
	pasta_result_free(&r);
}

static void a_full_disk_is_noticed(void **state)
{
	const struct pasta_sink *sink;
	struct pasta_sink_opts opts = {.width = 80};
	struct pasta_result r;
	size_t i;

	sample(&r, true);
	sample_charts(&r);
	for (i = 0; (sink = pasta_sink_at(i)); i++) {
		if (!sink->write) /* it writes events, not results */
			continue;
		struct pasta_error err = {0};
		FILE *f = fopen("/dev/full", "w");

		assert_int_equal(sink->write(f, &r, &opts, &err), -ENOSPC);
		assert_string_equal(err.text, "cannot write the report: No space left on device");
		fclose(f);
	}
	pasta_result_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_table_is_plain),
		cmocka_unit_test(several_tables_have_their_names_before_them),
		cmocka_unit_test(one_of_several_tables_can_be_chosen),
		cmocka_unit_test(a_cell_without_a_value_is_an_empty_field),
		cmocka_unit_test(a_cell_that_a_spreadsheet_would_evaluate_begins_with_a_quote),
		cmocka_unit_test(a_column_name_that_is_a_formula_begins_with_a_quote),
		cmocka_unit_test(a_name_that_two_tools_have_needs_the_tool),
		cmocka_unit_test(charts_come_after_the_tables_of_their_tool),
		cmocka_unit_test(a_chart_can_be_chosen_as_a_table_can),
		cmocka_unit_test(new_charts_are_rows_too),
		cmocka_unit_test(one_chart_alone_is_plain),
		cmocka_unit_test(series_and_labels_have_no_ends_of_lines),
		cmocka_unit_test(a_full_disk_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
