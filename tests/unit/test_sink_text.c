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
		"== tool ==\n"
		"-- t\n"
		"name                             time              size  share  rate (events/s)\n"
		"plain                          999 ns             512 B  12.5%                1\n"
		"q\"uo,te\\r\\n          9223372036.855 s  -8388608.000 TiB      -                2\n"
		"\\x1b[31mred\\x01 \xef\xbf\xbd\xef\xbf\xbd(          1.235 ms         1.500 MiB      -"
		"                3\n"
		"größe 漢字 \\u202e                0 ns               0 B   0.1%               -4\n"
		"\n"
		"-- empty (no rows)\n"
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
	assert_string_equal(text, "== gaps ==\n"
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
	assert_non_null(strstr(text, "== tool ==\nname   size\nname\nother   1 B\n"));
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
	assert_non_null(strstr(text, "-4\n\n-- bars\nlabel  value\na          1  █"));
	assert_non_null(strstr(text, "█\n\n-- flames\n(no stacks)\nwarning: slow"));
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
	assert_string_equal(text, "== tool ==\ncharts in the report: c\n\n"
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
	sample_row(sample_table(r.outs[0], "c"), "row", 1, 1, 1, 1);
	text = write_text(&r, &opts);
	assert_non_null(strstr(text, "\033[1m== tool ==\033[m\n-- a\\u202eb (no rows)\n"));
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
	assert_string_equal(text, "== tool ==\n"
				  "name                                       time  size  share\n"
				  "a/very/long/name/…es/not/fit/at/all  123.457 ms   1 B   1.0%\n"
				  "\n"
				  "columns that do not fit: 1 (--width 72 shows them)\n"
				  "events: 0 expected, 0 captured, 0 dropped\n");
	free(text);
}

static void a_narrow_terminal_removes_columns_of_zeros_first(void **state)
{
	static const struct pasta_column columns[] = {{"name", PASTA_COLUMN_STRING, NULL},
						      {"zero", PASTA_COLUMN_INT, NULL},
						      {"number", PASTA_COLUMN_INT, NULL},
						      {"nothing", PASTA_COLUMN_INT, "ns"}};
	static const size_t widths[] = {44, 43, 33, 20};
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
		end = strchr(strchr(text, '\n') + 1, '\n');
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
	struct pasta_sink_opts opts = {.width = 30};
	struct pasta_result r = {0};
	struct pasta_table *t = sample_table(pasta_result_out(&r, "tool"), "t");
	char *text;

	(void)state;
	sample_row(t, "buffer 1 at initialise (program.c:19)", 123456789, 1, 1, 1);
	sample_row(t, "buffer 2 at initialise (program.c:19)", 123456789, 1, 1, 1);
	text = write_text(&r, &opts);
	assert_non_null(strstr(text, "\nbuffer 1…19)  123.457 ms   1.0%\n"));
	assert_non_null(strstr(text, "\nbuffer 2…19)  123.457 ms   1.0%\n"));
	free(text);
}

/* Cut texts to a width, and compare. */
static void fits(size_t width, size_t count, const char *const *texts, const char *const *expected)
{
	char *cut[8];

	for (size_t i = 0; i < count; i++)
		cut[i] = strdup(texts[i]);
	assert_int_equal(pasta_cell_fit(cut, count, 1, width), 0);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(cut[i], expected[i]);
		assert_true(pasta_cell_width(cut[i]) <= width);
		free(cut[i]);
	}
}

static void texts_that_would_be_cut_alike_show_where_they_differ(void **state)
{
	(void)state;
	/* The difference is in the middle of the texts. */
	fits(20, 3,
	     (const char *const[]){"void some::long::name<float>::operator()(int, int, int)",
				   "void some::long::name<double>::operator()(int, int, int)",
				   "short"},
	     (const char *const[]){"void …float>::opera…", "void …double>::oper…", "short"});
	/* No 20 columns of these texts show all differences. */
	fits(20, 3,
	     (const char *const[]){
		     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1bbbbbbbbbbbbbbbbbbbbbbbb1ccccccccc"
		     "ccccccccccccccccccccccc",
		     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1bbbbbbbbbbbbbbbbbbbbbbbb2ccccccccc"
		     "ccccccccccccccccccccccc",
		     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa2bbbbbbbbbbbbbbbbbbbbbbbb2ccccccccc"
		     "ccccccccccccccccccccccc"},
	     (const char *const[]){"aaaaa…1bbbbbbbbbbbb…", "aaaaaaaaaa…ccccccc~2",
				   "aaaaa…2bbbbbbbbbbbb…"});
	/* Equal texts are cut alike. */
	fits(5, 2, (const char *const[]){"abcdefgh", "abcdefgh"},
	     (const char *const[]){"ab…gh", "ab…gh"});
	fits(1, 2, (const char *const[]){"ab", "cd"}, (const char *const[]){"…", "…"});
}

/* Random texts of few letters: different texts stay different, unless the width is too small for
 * numbers. */
static void different_texts_stay_different(void **state)
{
	unsigned int seed = 7;
	char *texts[40], *full[40];

	(void)state;
	for (int round = 0; round < 300; round++) {
		size_t width = 8 + (size_t)(rand_r(&seed) % 30), i, k;
		size_t length = (size_t)(rand_r(&seed) % 80);

		pasta_cell_set_ascii(round % 2);
		for (i = 0; i < 40; i++) {
			texts[i] = calloc(1, length + 1);
			for (k = 0; k < length; k++)
				texts[i][k] = rand_r(&seed) % 12 ? 'a' : 'b';
			full[i] = strdup(texts[i]);
		}
		assert_int_equal(pasta_cell_fit(texts, 40, 1, width), 0);
		for (i = 0; i < 40; i++)
			for (k = 0; k < i; k++)
				assert_int_equal(!strcmp(texts[i], texts[k]),
						 !strcmp(full[i], full[k]));
		for (i = 0; i < 40; i++) {
			assert_true(pasta_cell_width(texts[i]) <= width);
			free(texts[i]);
			free(full[i]);
		}
	}
	pasta_cell_set_ascii(false);
}

/* A table of kernels: the names are different, but their short names are not. */
static void kernels(struct pasta_result *r, const char *tool)
{
	static const struct pasta_column columns[] = {{"kernel", PASTA_COLUMN_STRING,
						       .role = PASTA_ROLE_KERNEL},
						      {"launches", PASTA_COLUMN_INT}};
	struct pasta_table *t = pasta_out_table(pasta_result_out(r, tool), "t", columns, 2);

	pasta_cell_str(t, "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
			  "at::native::MaxOps<float> > >(int)");
	pasta_cell_int(t, 3);
	pasta_cell_str(t, "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<float, "
			  "at::native::MaxOps<float> > >(int)");
	pasta_cell_int(t, 2);
	pasta_cell_str(t, "saxpy(float*)");
	pasta_cell_int(t, 1);
}

static void kernels_have_short_names_that_differ_and_are_the_same_in_all_tables(void **state)
{
	struct pasta_sink_opts opts = {.width = 100};
	struct pasta_result r = {0};
	char *text;

	(void)state;
	kernels(&r, "one");
	kernels(&r, "two");
	text = write_text(&r, &opts);
	assert_string_equal(text, "== one ==\n"
				  "kernel            launches\n"
				  "reduce max f32           3\n"
				  "reduce max f32~2         2\n"
				  "saxpy                    1\n"
				  "\n"
				  "== two ==\n"
				  "kernel            launches\n"
				  "reduce max f32           3\n"
				  "reduce max f32~2         2\n"
				  "saxpy                    1\n"
				  "\n"
				  "events: 0 expected, 0 captured, 0 dropped\n");
	free(text);
}

static void statistics_are_removed_before_names_are_cut(void **state)
{
	static const struct pasta_column columns[] = {
		{"name", PASTA_COLUMN_STRING},	    {"process", PASTA_COLUMN_STRING},
		{"calls", PASTA_COLUMN_INT},	    {"host", PASTA_COLUMN_INT, "ns"},
		{"device", PASTA_COLUMN_INT, "ns"}, {"max", PASTA_COLUMN_INT, "ns"},
		{"share", PASTA_COLUMN_FLOAT, "%"}};
	static const struct {
		size_t width;
		const char *head;
	} cases[] = {
		{73, "name                            process  calls  host  device   max  share\n"},
		{72, "name                            calls  host  device   max  share\n"},
		{64, "name                            calls  host  device   max  share\n"},
		{63, "name                            calls  host  device  share\n"},
		{58, "name                            calls  host  device  share\n"},
		{57, "name                            calls  device  share\n"},
		{52, "name                            calls  device  share\n"},
		{51, "name                            device  share\n"},
		{45, "name                            device  share\n"},
		{44, "name                           device  share\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct pasta_sink_opts opts = {.width = cases[i].width};
		struct pasta_result r = {0};
		struct pasta_table *t =
			pasta_out_table(pasta_result_out(&r, "tool"), "t", columns, 7);
		char *text;

		for (int row = 0; row < 2; row++) {
			pasta_cell_str(t, row ? "b" : "a name of exactly 30 character");
			pasta_cell_str(t, "one");
			pasta_cell_int(t, 1 + row);
			pasta_cell_int(t, 1 + row);
			pasta_cell_int(t, 9 - row);
			pasta_cell_int(t, 3);
			pasta_cell_float(t, 50);
		}
		text = write_text(&r, &opts);
		assert_memory_equal(text + strlen("== tool ==\n"), cases[i].head,
				    strlen(cases[i].head));
		free(text);
	}
}

static void in_ascii_there_is_no_other_character(void **state)
{
	struct pasta_sink_opts opts = {.width = 40, .rows = 3, .ascii = true};
	struct pasta_result r = {0};
	struct pasta_table *t = sample_table(pasta_result_out(&r, "größe"), "t");
	char *text;

	(void)state;
	sample_row(t, "a name that is cut in its middle", 1, 1, 1, 1);
	sample_row(t, "128×64, 5 µs → …", 1, 1, 1, 1);
	sample_row(t, "漢 \xff 😀", 1, 1, 1, 1);
	sample_row(t, "fourth", 1, 1, 1, 1);
	text = write_text(&r, &opts);
	assert_string_equal(text, "== gr\\u00f6\\u00dfe ==\n"
				  "name                         time  share\n"
				  "a name that i... its middle  1 ns   1.0%\n"
				  "128x64, 5 us -> ...          1 ns   1.0%\n"
				  "\\u6f22 ? \\U0001f600          1 ns   1.0%\n"
				  "... 1 more rows (--rows 0 for all)\n"
				  "\n"
				  "columns that do not fit: 2 (--width 66 shows them)\n"
				  "events: 0 expected, 0 captured, 0 dropped\n");
	free(text);
}

static void a_finding_of_several_tools_is_printed_once(void **state)
{
	struct pasta_sink_opts opts = {.width = 100, .rows = 20};
	struct pasta_result r = {0};
	char *text;

	(void)state;
	for (int i = 0; i < 3; i++) {
		char name[] = {'t', (char)('0' + i), '\0'};
		struct pasta_out *out = pasta_result_out(&r, name);

		sample_table(out, "t");
		pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, .what = "events dropped",
				 .action = "record again");
		pasta_out_report(out, .what = i ? "other" : "own");
	}
	text = write_text(&r, &opts);
	assert_string_equal(text, "== t0 ==\n(no rows)\n"
				  "warning: events dropped; record again (reported by 3 tools)\n"
				  "note: own\n\n"
				  "== t1 ==\n(no rows)\n"
				  "note: other (reported by 2 tools)\n\n"
				  "== t2 ==\n(no rows)\n\n"
				  "events: 0 expected, 0 captured, 0 dropped\n");
	free(text);
}

static void findings_of_a_kind_are_counted(void **state)
{
	static const char *const expected[] = {
		"== t ==\n(no rows)\n"
		"warning: only 0% of threads are active, at k0 (2 times)\n"
		"warning: only 2% of threads are active, at k1 (2 times)\n"
		"warning: only 4% of threads are active, at k2 (2 times)\n"
		"… 4 more findings of this kind (--rows 0 for all)\n"
		"note: only 1 of them\n"
		"note: saves; saves at most 5.000 ns\n"
		"note: saves; saves at most 5.000 ns\n\n",
		"== t ==\n(no rows)\n"
		"warning: only 0% of threads are active, at k0\n"
		"warning: only 1% of threads are active, at k0\n"};
	char *text;

	(void)state;
	for (int all = 0; all < 2; all++) {
		struct pasta_sink_opts opts = {.width = 100, .rows = all ? 0 : 20};
		struct pasta_result r = {0};
		struct pasta_out *out = pasta_result_out(&r, "t");

		sample_table(out, "t");
		for (int i = 0; i < 10; i++)
			pasta_out_report(
				out, .severity = PASTA_SEVERITY_WARNING,
				.what = pasta_out_text(out, "only %d%% of threads are active", i),
				.where = pasta_out_text(out, "k%d", i / 2));
		pasta_out_report(out, .what = "only 1 of them");
		pasta_out_report(out, .what = "saves", .saving = 5);
		pasta_out_report(out, .what = "saves", .saving = 5);
		text = write_text(&r, &opts);
		assert_memory_equal(text, expected[all], strlen(expected[all]));
		free(text);
	}
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
		cmocka_unit_test(texts_that_would_be_cut_alike_show_where_they_differ),
		cmocka_unit_test(different_texts_stay_different),
		cmocka_unit_test(
			kernels_have_short_names_that_differ_and_are_the_same_in_all_tables),
		cmocka_unit_test(statistics_are_removed_before_names_are_cut),
		cmocka_unit_test(in_ascii_there_is_no_other_character),
		cmocka_unit_test(a_finding_of_several_tools_is_printed_once),
		cmocka_unit_test(findings_of_a_kind_are_counted),
		cmocka_unit_test(times_and_sizes_have_readable_units),
		cmocka_unit_test(shares_are_not_rounded_to_zero_or_to_all),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
