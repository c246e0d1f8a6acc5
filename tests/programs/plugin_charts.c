/*
 * plugin_charts - tools for tests of reports, loaded into accelprof: charts has a chart of every
 * of the first four types and names that no one would choose, more has the other types and all that
 * a finding can have, empty has charts with nothing in them, failing fails after it has made some.
 */
#include <math.h>

#include <pasta/tool.h>

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

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
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

static void spans(struct pasta_out *out)
{
	struct pasta_chart *c = chart(out, "spans", PASTA_CHART_TIMELINE, NULL, NULL);
	uint32_t stream = pasta_chart_lane(c, "stream 7", "device 0", 0),
		 nested = pasta_chart_lane(c, HOSTILE, NULL, 1),
		 gemm = pasta_chart_name(c, "gemm", PASTA_CATEGORY_KERNEL),
		 copy = pasta_chart_name(c, HOSTILE, PASTA_CATEGORY_COPY);

	pasta_chart_slice(c, stream, 0, 500, gemm, 3.5);
	pasta_chart_slice(c, nested, 100, 10, copy, NAN);
	pasta_chart_slice(c, stream, 900, 100, copy, 4096);
}

static void roofline(struct pasta_out *out)
{
	static const struct pasta_axis x = {.name = "intensity", .scale = PASTA_SCALE_LOG},
				       y = {.name = "rate", .scale = PASTA_SCALE_LOG};
	struct pasta_chart *c = chart(out, "roofline", PASTA_CHART_SCATTER, &x, &y);

	pasta_chart_spot(c, 1, 10, 0, NULL);
	pasta_chart_series(c, HOSTILE);
	pasta_chart_spot(c, 100, 500, 2.5, HOSTILE);
	pasta_chart_limit_slope(c, "bandwidth", 12);
	pasta_chart_limit_level(c, HOSTILE, 1000);
}

static void stacked(struct pasta_out *out)
{
	static const double edges[] = {0, 1, 2.5, 10};
	static const uint64_t counts[] = {1, UINT64_MAX, 0};
	struct pasta_chart *c = chart(out, "live", PASTA_CHART_AREA, &time_, &bytes);

	pasta_chart_series(c, HOSTILE);
	pasta_chart_point(c, 0, 1024);
	pasta_chart_point(c, 10, NAN);
	c = chart(out, "durations", PASTA_CHART_HISTOGRAM, &time_, NULL);
	pasta_chart_edges(c, edges, 4);
	pasta_chart_series(c, HOSTILE);
	pasta_chart_counts(c, counts, 3);
}

static void grids(struct pasta_out *out)
{
	static const char *const ranks[] = {"rank 0", HOSTILE};
	const struct pasta_grid dense = {.size = sizeof(dense), .dx = 1, .nx = 3, .dy = 1, .ny = 2},
				sparse = {.size = sizeof(sparse),
					  .x0 = -5,
					  .dx = 0.5,
					  .nx = 100000,
					  .y0 = 1e9,
					  .dy = 4096,
					  .ny = 1000000};
	const struct pasta_axis y = {.name = "rank", .labels = ranks, .label_count = 2};
	struct pasta_chart *c = chart(out, "steps", PASTA_CHART_HEAT, NULL, &y);

	pasta_chart_grid(c, &dense);
	pasta_chart_cell(c, 0, 0, 5);
	pasta_chart_cell(c, 2, 1, 7);
	c = chart(out, "pages", PASTA_CHART_HEAT, &time_, &bytes);
	pasta_chart_grid(c, &sparse);
	pasta_chart_cell(c, 0, 1e9, 3);
	pasta_chart_cell(c, 0, 1e9 + 4096, 9);
}

static void forest(struct pasta_out *out)
{
	struct pasta_chart *c = chart(out, "tensors", PASTA_CHART_GRAPH, NULL, &bytes);
	uint32_t root = pasta_chart_node(c, PASTA_NO_NODE, HOSTILE, 4096, NAN),
		 leaf = pasta_chart_node(c, root, "leaf", 1024, 2);

	pasta_chart_edge(c, leaf, root, 7);
}

static int report_more(void *state, struct pasta_out *out, struct pasta_error *err)
{
	static const struct pasta_column column = {
		.name = "kernel", .type = PASTA_COLUMN_STRING, .role = PASTA_ROLE_KERNEL};
	const struct pasta_claim claims[] = {{0, 0, 100, 300}, {0, 0, 200, 400}, {0, 1, 0, 50}};

	(void)state;
	spans(out);
	roofline(out);
	stacked(out);
	grids(out);
	forest(out);
	pasta_cell_str(pasta_out_table(out, "kernels", &column, 1), HOSTILE);
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, .what = "small", .saving = 100,
			 .ref = {.chart = "spans", .from = 1, .to = 2}, .claims = &claims[1],
			 .claim_count = 2);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, PASTA_COUNT(3), .what = "large",
			 .ref = {.table = "kernels", .row = 0}, .saving = 1000, .claims = claims,
			 .claim_count = 2);
	pasta_out_report(out, .what = "none", .counted = true);
	return 0;
}

static int report_empty(void *state, struct pasta_out *out, struct pasta_error *err)
{
	static const char *const names[] = {"line",    "bar",  "heat",	    "flame", "timeline",
					    "scatter", "area", "histogram", "graph"};

	(void)state;
	for (unsigned int type = 0; type <= PASTA_CHART_GRAPH; type++)
		chart(out, names[type], type, NULL, NULL);
	return 0;
}

static int report_failing(void *state, struct pasta_out *out, struct pasta_error *err)
{
	report(state, out, err);
	pasta_chart_bar(chart(out, "wrong", PASTA_CHART_FLAME, NULL, NULL), "x", 1);
	return 0;
}

#define CHARTS                                                                                     \
	(PASTA_CHART_MASK(LINE) | PASTA_CHART_MASK(BAR) | PASTA_CHART_MASK(HEAT) |                 \
	 PASTA_CHART_MASK(FLAME) | PASTA_CHART_MASK(TIMELINE) | PASTA_CHART_MASK(SCATTER) |        \
	 PASTA_CHART_MASK(AREA) | PASTA_CHART_MASK(HISTOGRAM) | PASTA_CHART_MASK(GRAPH))

#define TOOL(name_, report_)                                                                       \
	static const struct pasta_tool name_ = {                                                   \
		PASTA_TOOL_HEAD,	.name = #name_,                                            \
		.summary = "for tests", .events = PASTA_MASK(KERNEL),                              \
		.event = on_event,	.report = report_,                                         \
		.charts = CHARTS}

TOOL(charts, report);
TOOL(more, report_more);
TOOL(empty, report_empty);
TOOL(failing, report_failing);

__attribute__((constructor)) static void start(void)
{
	pasta_tool_register(&charts);
	pasta_tool_register(&more);
	pasta_tool_register(&empty);
	pasta_tool_register(&failing);
}
