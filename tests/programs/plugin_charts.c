/*
 * plugin_charts - tools for tests of reports, loaded into accelprof: charts has a chart of every
 * type and names that no one would choose, empty has charts with nothing in them, failing fails
 * after it has made some.
 */
#include <math.h>

#include <pasta/pasta.h>

#define HOSTILE "\033[31mred;\n\"q\",\xff<\xe2\x80\xae>"
#define HOSTILE_NAME "red;\"q\",\xff<\xe2\x80\xae>" /* a name has no control characters */

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	(void)state;
	(void)ev;
}

static const struct pasta_axis time_ = {.name = "time", .unit = "ns"},
			       bytes = {.name = "bytes", .unit = "bytes"};

static struct pasta_chart *chart(struct pasta_out *out, const char *name, uint32_t type,
				 const struct pasta_axis *x, const struct pasta_axis *y)
{
	const struct pasta_axis none = {0}, accesses = {.name = "accesses"};
	const struct pasta_chart_def def =
		PASTA_CHART_DEF(.type = type, .name = name, .x = x ? *x : none, .y = y ? *y : none,
				.value = type == PASTA_CHART_HEAT ? accesses : none);

	return pasta_out_chart(out, &def);
}

static void lines(struct pasta_out *out)
{
	struct pasta_chart *c = chart(out, "wave", PASTA_CHART_LINE, &time_, &bytes);

	pasta_chart_series(c, HOSTILE);
	for (int i = 0; i < 1000; i++)
		pasta_chart_point(c, i * 1e6, i % 100 == 50 ? NAN : i * 1024.0);
	pasta_chart_series(c, "negative");
	pasta_chart_point(c, 0, -INFINITY);
	pasta_chart_point(c, 5e8, -1e5);
	pasta_chart_series(c, "");
}

static void bars(struct pasta_out *out)
{
	static const struct pasta_axis hostile = {.name = HOSTILE, .unit = HOSTILE};
	struct pasta_chart *c = chart(out, "bars", PASTA_CHART_BAR, &hostile, NULL);

	pasta_chart_bar(c, HOSTILE, 1e300);
	pasta_chart_bar(c, "", -0.25);
	pasta_chart_bar(c, "none", NAN);
}

static void heat(struct pasta_out *out)
{
	struct pasta_chart *c = chart(out, HOSTILE_NAME, PASTA_CHART_HEAT, &time_, &bytes);

	for (int i = 0; i < 300; i++)
		pasta_chart_cell(c, i % 30, i / 30 * 4096.0, i == 7 ? NAN : i * i);
}

static void flames(struct pasta_out *out)
{
	static const char *const frames[] = {"main", HOSTILE, "", "leaf"};
	struct pasta_chart *c = chart(out, "calls", PASTA_CHART_FLAME, NULL, &time_);

	pasta_chart_stack(c, frames, 1, 5);
	pasta_chart_stack(c, frames, 4, INT64_MAX / 2);
	pasta_chart_stack(c, frames + 1, 2, 0);
	c = chart(out, "more_calls", PASTA_CHART_FLAME, NULL, NULL);
	pasta_chart_stack(c, frames + 3, 1, 12);
}

static int report(void *state, struct pasta_out *out)
{
	(void)state;
	lines(out);
	bars(out);
	heat(out);
	flames(out);
	pasta_out_report(out, .severity = PASTA_SEVERITY_PROBLEM, .what = HOSTILE, .where = HOSTILE,
			 .evidence = HOSTILE, .action = HOSTILE);
	return 0;
}

static int report_empty(void *state, struct pasta_out *out)
{
	static const char *const names[] = {"line",    "bar",  "heat",	    "flame", "timeline",
					    "scatter", "area", "histogram", "graph"};

	(void)state;
	for (unsigned int type = 0; type <= PASTA_CHART_GRAPH; type++)
		chart(out, names[type], type, NULL, NULL);
	return 0;
}

static int report_failing(void *state, struct pasta_out *out)
{
	report(state, out);
	pasta_chart_bar(chart(out, "wrong", PASTA_CHART_FLAME, NULL, NULL), "x", 1);
	return 0;
}

#define CHARTS                                                                                     \
	(PASTA_CHART_MASK(LINE) | PASTA_CHART_MASK(BAR) | PASTA_CHART_MASK(HEAT) |                 \
	 PASTA_CHART_MASK(FLAME))

#define TOOL(name_, report_)                                                                       \
	static const struct pasta_tool name_ = {                                                   \
		PASTA_TOOL_HEAD,	.name = #name_,                                            \
		.summary = "for tests", .events = PASTA_MASK(KERNEL),                              \
		.event = on_event,	.report = report_,                                         \
		.charts = CHARTS}

TOOL(charts, report);
TOOL(empty, report_empty);
TOOL(failing, report_failing);

__attribute__((constructor)) static void start(void)
{
	pasta_tool_register(&charts);
	pasta_tool_register(&empty);
	pasta_tool_register(&failing);
}
