/* test_sink_folded.c - flame charts as folded stacks. */
/* labels: onethread */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/sample.h"

/* Compare the output, or the error. */
static void check(struct pasta_result *r, const char *table, int expected_error,
		  const char *expected)
{
	struct pasta_sink_opts opts = {.table = table};
	struct pasta_error err = {0};
	int error;
	char *text = sample_write(&pasta_sink_folded, r, &opts, &error, &err);

	assert_int_equal(error, expected_error);
	assert_string_equal(error ? err.text : text, expected);
	free(text);
}

static void a_stack_is_one_line_whatever_the_names_of_its_frames(void **state)
{
	static const char expected[] =
		"main; [31mr: \"q\",\xef\xbf\xbd;(unnamed);größe 9223372036854775807\nmain 0\n";
	struct pasta_result r = {0};

	sample_charts(&r);
	check(&r, NULL, 0, expected);
	check(&r, "flame", 0, expected);
	check(&r, "plots.flame", 0, expected);
	check(&r, "line", -ENOENT, "the report has no flame chart 'line', only plots.flame");
	pasta_result_free(&r);
}

static void one_of_several_flame_charts_must_be_chosen(void **state)
{
	static const char *const frames[] = {"a b", "c"};
	struct pasta_result r = {0};

	sample_charts(&r);
	pasta_chart_stack(sample_chart(pasta_result_out(&r, "other"), "flame", PASTA_CHART_FLAME,
				       NULL, NULL),
			  frames, 2, 5);
	check(&r, NULL, -EINVAL,
	      "the report has 2 flame charts: choose one with --table (plots.flame, other.flame)");
	check(&r, "flame", -EINVAL,
	      "the report has 2 flame charts: choose one with --table (plots.flame, other.flame)");
	check(&r, "other.flame", 0, "a b;c 5\n");
	pasta_result_free(&r);
}

static void an_empty_flame_chart_is_an_empty_file(void **state)
{
	struct pasta_result r = {0};

	sample_chart(pasta_result_out(&r, "tool"), "f", PASTA_CHART_FLAME, NULL, NULL);
	check(&r, NULL, 0, "");
	pasta_result_free(&r);
}

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	return 0;
}

/* Must be the last test: tools cannot be unregistered. */
static void without_a_flame_chart_the_error_names_tools_that_make_one(void **state)
{
	static const struct pasta_tool tools[] = {
		{PASTA_TOOL_HEAD, .name = "lines", .summary = "s", .events = PASTA_MASK(KERNEL),
		 .event = on_event, .report = report, .charts = PASTA_CHART_MASK(LINE)},
		{PASTA_TOOL_HEAD, .name = "burn", .summary = "s", .events = PASTA_MASK(KERNEL),
		 .event = on_event, .report = report,
		 .charts = PASTA_CHART_MASK(FLAME) | PASTA_CHART_MASK(BAR)},
		{PASTA_TOOL_HEAD, .name = "ash", .summary = "s", .events = PASTA_MASK(KERNEL),
		 .event = on_event, .report = report, .charts = PASTA_CHART_MASK(FLAME)}};
	struct pasta_result r = {0};

	sample(&r, true);
	check(&r, NULL, -ENOENT,
	      "the report has no flame chart, and no tool makes one: use another --format");
	for (int i = 0; i < 3; i++)
		pasta_tool_register(&tools[i]);
	check(&r, NULL, -ENOENT,
	      "the report has no flame chart: choose a tool that makes one with -t (ash, burn)");
	pasta_result_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_is_one_line_whatever_the_names_of_its_frames),
		cmocka_unit_test(one_of_several_flame_charts_must_be_chosen),
		cmocka_unit_test(an_empty_flame_chart_is_an_empty_file),
		cmocka_unit_test(without_a_flame_chart_the_error_names_tools_that_make_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
