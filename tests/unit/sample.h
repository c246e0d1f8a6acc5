/* sample.h - a result with everything in it that a sink could get wrong. */
#ifndef TESTS_UNIT_SAMPLE_H
#define TESTS_UNIT_SAMPLE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/sdk/result.h"
#include "process/read/runinfo.h"
#include "sink/sink.h"

/* x, y and value may be NULL. */
static inline struct pasta_chart *sample_heat(struct pasta_out *out, const char *name,
					      uint32_t type, const struct pasta_axis *x,
					      const struct pasta_axis *y,
					      const struct pasta_axis *value)
{
	const struct pasta_axis none = {0};
	const struct pasta_chart_def def =
		PASTA_CHART_DEF(.type = type, .name = name, .x = x ? *x : none, .y = y ? *y : none,
				.value = value ? *value : none);

	return pasta_out_chart(out, &def);
}

static inline struct pasta_chart *sample_chart(struct pasta_out *out, const char *name,
					       uint32_t type, const struct pasta_axis *x,
					       const struct pasta_axis *y)
{
	return sample_heat(out, name, type, x, y, NULL);
}

static inline struct pasta_table *sample_table(struct pasta_out *out, const char *name)
{
	static const struct pasta_column columns[] = {{"name", PASTA_COLUMN_STRING, NULL},
						      {"time", PASTA_COLUMN_INT, "ns"},
						      {"size", PASTA_COLUMN_INT, "bytes"},
						      {"share", PASTA_COLUMN_FLOAT, "%"},
						      {"rate", PASTA_COLUMN_INT, "events/s"}};

	return pasta_out_table(out, name, columns, 5);
}

static inline void sample_row(struct pasta_table *t, const char *name, int64_t time, int64_t size,
			      double share, int64_t events)
{
	pasta_cell_str(t, name);
	pasta_cell_int(t, time);
	pasta_cell_int(t, size);
	pasta_cell_float(t, share);
	pasta_cell_int(t, events);
}

/* One tool; tables of tool.t only, unless two. */
static inline void sample(struct pasta_result *r, bool two)
{
	struct pasta_out *out;
	struct pasta_table *t;

	memset(r, 0, sizeof(*r));
	r->loss.expected = UINT64_MAX;
	r->loss.captured = 7;
	r->loss.dropped = 3;
	r->loss.by_reason[PASTA_LOSS_FULL] = 2;
	r->loss.damaged = 1;
	out = pasta_result_out(r, "tool");
	t = sample_table(out, "t");
	sample_row(t, "plain", 999, 512, 12.5, 1);
	sample_row(t, "q\"uo,te\r\n", INT64_MAX, INT64_MIN, NAN, 2);
	sample_row(t, "\033[31mred\001 \xff\xc3(", 1234567, 1572864, INFINITY, 3);
	sample_row(t, "größe 漢字 \xe2\x80\xae", 0, 0, 0.1, -4);
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, .what = "slow\nlines",
			 .where = "here", .action = "be quick");
	if (two)
		sample_table(out, "empty");
	pasta_out_end(out);
}

/* A tool whose table's first row has values only at its ends, and its last row only a name. */
static inline void sample_gaps(struct pasta_result *r)
{
	struct pasta_out *out = pasta_result_out(r, "gaps");
	struct pasta_table *t = sample_table(out, "t");
	int i;

	pasta_cell_str(t, "ends");
	for (i = 0; i < 3; i++)
		pasta_cell_none(t);
	pasta_cell_int(t, 5);
	sample_row(t, "", 1, 2, 3, 4);
	pasta_cell_none(t);
	for (i = 0; i < 4; i++)
		pasta_cell_none(t);
	pasta_cell_str(t, "name");
	for (i = 0; i < 4; i++)
		pasta_cell_none(t);
	pasta_out_end(out);
}

#define SAMPLE_HOSTILE "\033[31mr;\n\"q\",\xff"

/* A tool with a chart of every type, and an empty one, all with awkward names. */
static inline void sample_charts(struct pasta_result *r)
{
	static const struct pasta_axis time = {"time", "ns"}, size = {"size", "bytes"},
				       odd = {SAMPLE_HOSTILE, "a,b"};
	static const char *const frames[] = {"main", SAMPLE_HOSTILE, "", "größe"};
	struct pasta_out *out = pasta_result_out(r, "plots");
	struct pasta_chart *c = sample_chart(out, "line", PASTA_CHART_LINE, &time, &size);

	pasta_chart_series(c, "a");
	pasta_chart_point(c, 0, 1024);
	pasta_chart_point(c, 1500, NAN);
	pasta_chart_point(c, 3000, -0.5);
	pasta_chart_series(c, SAMPLE_HOSTILE);
	pasta_chart_point(c, 3000, 1e300);
	c = sample_chart(out, "bar", PASTA_CHART_BAR, &odd, NULL);
	pasta_chart_bar(c, SAMPLE_HOSTILE, 0.1);
	pasta_chart_bar(c, NULL, INFINITY);
	c = sample_heat(out, "heat", PASTA_CHART_HEAT, &time, &size, &odd);
	pasta_chart_cell(c, 0, 4096, 7);
	pasta_chart_cell(c, 10, -4096, NAN);
	c = sample_chart(out, "flame", PASTA_CHART_FLAME, NULL, &time);
	pasta_chart_stack(c, frames, 4, INT64_MAX);
	pasta_chart_stack(c, frames, 1, 0);
	sample_chart(out, "empty", PASTA_CHART_LINE, NULL, NULL);
	pasta_out_end(out);
}

static inline void sample_more_drawn(struct pasta_out *out)
{
	static const struct pasta_axis log = {.name = "l", .scale = PASTA_SCALE_LOG};
	static const double edges[] = {0, 1, 2.5, 10};
	static const uint64_t counts[] = {1, 4, 0};
	struct pasta_chart *c = sample_chart(out, "time", PASTA_CHART_TIMELINE, NULL, NULL);

	pasta_chart_lane(c, "s", "g", 0);
	pasta_chart_lane(c, "deep", NULL, 1);
	pasta_chart_name(c, "gemm", PASTA_CATEGORY_KERNEL);
	pasta_chart_name(c, "copy", PASTA_CATEGORY_COPY);
	pasta_chart_slice(c, 0, 0, 50, 0, 3.5);
	pasta_chart_slice(c, 0, 90, 10, 1, NAN);
	pasta_chart_slice(c, 1, 10, 5, 1, INFINITY);
	c = sample_chart(out, "roof", PASTA_CHART_SCATTER, &log, &log);
	pasta_chart_spot(c, 1, 10, 0, NULL);
	pasta_chart_series(c, "a");
	pasta_chart_series(c, "b");
	pasta_chart_spot(c, 100, 500, 2.5, "big");
	pasta_chart_limit_slope(c, "roof", 12);
	pasta_chart_limit_level(c, "peak", 1000);
	c = sample_chart(out, "area", PASTA_CHART_AREA, NULL, NULL);
	pasta_chart_series(c, "a");
	pasta_chart_point(c, 0, 1);
	pasta_chart_point(c, 5, NAN);
	c = sample_chart(out, "hist", PASTA_CHART_HISTOGRAM, NULL, NULL);
	pasta_chart_edges(c, edges, 4);
	pasta_chart_series(c, "h");
	pasta_chart_counts(c, counts, 3);
}

static inline void sample_more_placed(struct pasta_out *out)
{
	static const char *const ranks[] = {"rank 0", "rank 1"};
	static const struct pasta_axis rank = {.name = "rank", .labels = ranks, .label_count = 2};
	struct pasta_grid grid = {.size = sizeof(grid), .dx = 1, .nx = 3, .dy = 1, .ny = 2};
	struct pasta_chart *c = sample_chart(out, "dense", PASTA_CHART_HEAT, NULL, &rank);

	pasta_chart_grid(c, &grid);
	pasta_chart_cell(c, 0, 0, 5);
	pasta_chart_cell(c, 2, 1, 7);
	grid.nx = 2;
	grid.ny = 2000;
	c = sample_chart(out, "sparse", PASTA_CHART_HEAT, NULL, NULL);
	pasta_chart_grid(c, &grid);
	pasta_chart_cell(c, 0, 0, 3);
	pasta_chart_cell(c, 0, 1, 9);
	pasta_chart_cell(c, 1, 1999, 1);
	c = sample_chart(out, "graph", PASTA_CHART_GRAPH, NULL, NULL);
	pasta_chart_node(c, PASTA_NO_NODE, "root", 4096, NAN);
	pasta_chart_node(c, 0, "leaf", 1024, 2);
	pasta_chart_node(c, PASTA_NO_NODE, "other", 1, 0);
	pasta_chart_edge(c, 1, 2, 7);
}

/* A tool with the chart types that sample_charts lacks, and a finding with every field. */
static inline void sample_more(struct pasta_result *r)
{
	static const struct pasta_column kernel = {
		.name = "kernel", .type = PASTA_COLUMN_STRING, .role = PASTA_ROLE_KERNEL};
	static const struct pasta_claim claims[] = {{0, 0, 100, 300}, {0, 0, 200, 400}};
	struct pasta_out *out = pasta_result_out(r, "more");

	pasta_cell_str(pasta_out_table(out, "kernels", &kernel, 1), "gemm");
	sample_more_drawn(out);
	sample_more_placed(out);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .count = 3, .what = "many",
			 .ref = {.table = "kernels", .row = 0}, .saving = 1000, .claims = claims,
			 .claim_count = 2);
	pasta_out_report(out, .what = "part", .ref = {.chart = "time", .from = 1, .to = 2},
			 .saving = 100);
	pasta_out_report(out, .what = "all", .ref = {.table = "kernels", .row = PASTA_NO_ROW});
	pasta_out_report(out, .what = "all", .ref = {.chart = "time"});
	pasta_out_end(out);
}

/* Returns what a sink writes. The caller frees it. */
static inline char *sample_write(const struct pasta_sink *sink, const struct pasta_result *r,
				 const struct pasta_sink_opts *opts, int *error,
				 struct pasta_error *err)
{
	size_t size;
	char *text = NULL;
	FILE *f = open_memstream(&text, &size);

	*error = sink->write(f, r, opts, err);
	fclose(f);
	return text;
}

#endif
