/* test_seriestable.c - the series of a group's rows as a table and a chart, in a tool. */
/* labels: onethread */
#include <pasta/tool.h>

struct row {
	struct {
		uint32_t name, device;
	} key;
	uint64_t time;
};

struct state {
	struct pasta_group *kernels;
	struct pasta_series_set *busy, *last;
};

static bool is_long(const void *row, const void *state)
{
	return ((const struct row *)row)->time > 2;
}

static const struct pasta_member members[] = {
	PASTA_MEMBER(NAME, struct row, key.name, .column = "kernel"),
	PASTA_MEMBER(SUM, struct row, time, .column = "time", .unit = "ns"),
	PASTA_MEMBER(DEVICE, struct row, key.device, .column = "on"),
	{0},
};
static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct state, kernels, struct row, members, .order = "-time", .keep = is_long),
	{0},
};
static const struct pasta_series_def series[] = {
	PASTA_SERIES(struct state, busy, SUM, uint64_t, 64, .width = 10),
	PASTA_SERIES(struct state, last, LEVEL, uint64_t, 64, .width = 10),
	{0},
};

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	struct state *s = state;
	struct row *r = PASTA_ROW(s->kernels, struct row, ev->kernel.name, ev->kernel.device);

	r->time += ev->kernel.dur;
	pasta_series_add(s->busy, &r->key, ev->time, ev->kernel.dur);
	pasta_series_add(s->last, &r->key, ev->time, ev->kernel.dur);
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct state *s = state;

	pasta_out_series(out, s->busy, s->kernels, .rows = 5, .points = 1000, .table = "busy",
			 .sum = "sum", .unit = "ns");
	pasta_out_series(out, s->last, s->kernels, .rows = 1000, .points = 4, .table = "level",
			 .last = "last", .max = "most", .unit = "ns", .chart = "levels");
	return 0;
}

PASTA_TOOL(.name = "series_table", .summary = "a test", .events = PASTA_MASK(KERNEL),
	   .state_size = sizeof(struct state), .event = on_event, .report = report,
	   .charts = PASTA_CHART_MASK(LINE), .groups = groups, .series = series);

/* What is above sees the SDK alone; what is below tests it. */
#include "unit/tooltest.h"

static void send_on_device(uint64_t time, const char *name, uint32_t device, uint64_t dur)
{
	struct pasta_event ev = kernel_event(0, time, 0, name, dur);

	ev.kernel.device = device;
	send_event(&ev);
}

static void send_three_kernels(void)
{
	send_on_device(0, "short", 0, 2);
	send_on_device(1, "a", 0, 3);
	send_on_device(2, "b", 1, 7);
	send_on_device(12, "a", 0, 1);
	send_on_device(35, "b", 1, 5);
}

static void rows_come_in_the_order_of_the_group_without_the_hidden_ones(void **state)
{
	send_three_kernels();
	assert_int_equal(finish(), 0);
	assert_string_equal(table("level"), "0 b device 1 7 7\n"
					    "10 b device 1 7 7\n"
					    "20 b device 1 7 7\n"
					    "30 b device 1 5 7\n"
					    "0 a device 0 3 3\n"
					    "10 a device 0 1 3\n"
					    "20 a device 0 1 1\n"
					    "30 a device 0 1 1\n");
	assert_string_equal(table_of("level")->columns[1].name, "kernel");
	assert_string_equal(table_of("level")->columns[4].unit, "ns");
}

static void all_series_share_the_rows_that_the_table_may_have(void **state)
{
	send_three_kernels();
	assert_int_equal(finish(), 0);
	assert_string_equal(table("busy"), "0 b device 1 7\n"
					   "20 b device 1 5\n"
					   "0 a device 0 4\n"
					   "20 a device 0 0\n");
}

static void a_chart_names_its_series_by_the_texts_of_their_rows(void **state)
{
	const struct pasta_chart *c;

	send_three_kernels();
	assert_int_equal(finish(), 0);
	assert_int_equal(result.outs[0]->chart_count, 1); /* busy has none */
	c = result.outs[0]->charts[0];
	assert_string_equal(c->name, "levels");
	assert_int_equal(c->series_count, 2);
	assert_string_equal(c->series[0].name, "b, device 1");
	assert_string_equal(c->series[1].name, "a, device 0");
	assert_int_equal(c->used, 2 * (2 + 1)); /* two points each, and the last value */
	assert_true(c->items[0].point.y == 7 && c->items[2].point.y == 5);
}

static void without_rows_there_is_an_empty_table(void **state)
{
	assert_int_equal(finish(), 0);
	assert_string_equal(table("busy"), "");
	assert_int_equal(result.outs[0]->charts[0]->series_count, 0);
}

static void a_view_that_no_macro_made_fails_the_report(void **state)
{
	const struct pasta_series_view view = {.table = "busy", .sum = "sum"};
	struct state none = {0};

	assert_int_equal(finish(), 0);
	pasta_out_series_view(result.outs[0], none.busy, none.kernels, &view);
	assert_int_equal(result.outs[0]->err.code, -EINVAL);
	assert_string_equal(result.outs[0]->err.text, "series: use pasta_out_series, with .table");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rows_come_in_the_order_of_the_group_without_the_hidden_ones),
		TEST(all_series_share_the_rows_that_the_table_may_have),
		TEST(a_chart_names_its_series_by_the_texts_of_their_rows),
		TEST(without_rows_there_is_an_empty_table),
		TEST(a_view_that_no_macro_made_fails_the_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
