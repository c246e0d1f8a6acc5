/*
 * chart.h - lets a tool report charts.
 *
 * Add the items of a chart in the order in which they should be shown. A call that does not match
 * the chart's type fails the report, with an error that names the chart. So does a coordinate, an
 * edge or a limit that is not finite, or that is 0 or less on a logarithmic axis. Calls on a NULL
 * chart are ignored. A value that is not finite is shown as a gap. Texts are copied. A double is
 * exact for whole numbers up to 2^53. As a time in ns, 2^53 is 104 days.
 */
#ifndef PASTA_CHART_H
#define PASTA_CHART_H

#include <pasta/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pasta_out;
struct pasta_chart;

enum pasta_chart_type {
	PASTA_CHART_LINE,     /* series of points */
	PASTA_CHART_BAR,      /* labels with values */
	PASTA_CHART_HEAT,     /* cells with a value, at numeric positions or in a grid */
	PASTA_CHART_FLAME,    /* call stacks, each with a value */
	PASTA_CHART_TIMELINE, /* slices of time, in lanes */
	PASTA_CHART_SCATTER,  /* points, each with a size and a label, and lines that mark limits */
	/* series of points as in a line chart, drawn on top of each other so that their values add
	 * up */
	PASTA_CHART_AREA,
	/* series of counts, with one count for each bin of a range of values */
	PASTA_CHART_HISTOGRAM,
	PASTA_CHART_GRAPH, /* a forest of nodes, with additional edges between nodes */
};

/* The bit of a chart type in the mask pasta_tool.charts. */
#define PASTA_CHART_MASK(TYPE) (UINT64_C(1) << PASTA_CHART_##TYPE)

enum pasta_scale { PASTA_SCALE_LINEAR, PASTA_SCALE_LOG };

/* An axis of a chart. The size of this struct never changes. Set its reserved members to 0. */
struct pasta_axis {
	const char *name; /* NULL or "": a default name */
	const char *unit; /* as for columns */
	/* For heat maps: labels[i] is the name of position i, for i from 0 to label_count - 1. */
	const char *const *labels;
	size_t label_count;
	uint32_t scale; /* of enum pasta_scale */
	uint32_t reserved;
	uint64_t more[3];
};

/*
 * `x` is the axis of positions, labels, frames or times. `y` is the axis of values, of a heat map's
 * rows, or of a timeline's lanes. `value` is the axis of a heat map's values, of point sizes in a
 * scatter plot, of the values of slices, or of the costs of nodes. New members are added at the
 * end.
 */
struct pasta_chart_def {
	uint32_t size, type; /* of enum pasta_chart_type */
	const char *name;
	struct pasta_axis x, y, value;
};
#define PASTA_CHART_DEF(...)                                                                       \
	{                                                                                          \
		.size = sizeof(struct pasta_chart_def), __VA_ARGS__                                \
	}

/* Adds a chart. Returns NULL if the report has failed. The name must not be empty, must not have
 * control characters, and must differ from the names of the tool's other charts and tables. */
PASTA_EXPORT struct pasta_chart *pasta_out_chart(struct pasta_out *out,
						 const struct pasta_chart_def *def);

/* Line, area, histogram, scatter plot: begins a series. All items that follow belong to it. Several
 * series may have the same name. Only a scatter plot may have no series. */
PASTA_EXPORT void pasta_chart_series(struct pasta_chart *chart, const char *name);
/* Line, area: adds a point to the series. `x` must not decrease within a series. In an area chart,
 * `y` must be at least 0. */
PASTA_EXPORT void pasta_chart_point(struct pasta_chart *chart, double x, double y);
PASTA_EXPORT void pasta_chart_bar(struct pasta_chart *chart, const char *label, double value);

/*
 * Heat map: sets a grid of nx by ny cells. Call this before adding cells. Cell (i, j) begins at the
 * position x0 + i * dx, y0 + j * dy. If a grid has more than 1024 rows or 4096 columns, adjacent
 * cells are merged, and the merged cell has their maximum. An axis with labels starts at 0, and has
 * steps of 1 and one cell per label; its cells are never merged.
 */
struct pasta_grid {
	uint32_t size, reserved;
	double x0, dx, y0, dy; /* width and height of a cell, above 0 */
	uint64_t nx, ny;
};
PASTA_EXPORT void pasta_chart_grid(struct pasta_chart *chart, const struct pasta_grid *grid);
/* Heat map: adds a cell. If the chart has a grid, the function sets the grid cell that covers
 * the position to the greater of its present value and `value`. */
PASTA_EXPORT void pasta_chart_cell(struct pasta_chart *chart, double x, double y, double value);

/* Flame graph: adds a stack of at least one frame, outermost first. `value` is at least 0, and does
 * not include the values of deeper stacks. The values of equal stacks are added. */
PASTA_EXPORT void pasta_chart_stack(struct pasta_chart *chart, const char *const *frames,
				    size_t count, int64_t value);

enum pasta_category {
	PASTA_CATEGORY_OTHER,
	PASTA_CATEGORY_KERNEL,
	PASTA_CATEGORY_COPY,
	PASTA_CATEGORY_SET,
	PASTA_CATEGORY_OPERATOR,
	PASTA_CATEGORY_REGION,
	PASTA_CATEGORY_LAUNCH,
	PASTA_CATEGORY_SYNC,
	PASTA_CATEGORY_COLLECTIVE,
};
/* Timeline: pasta_chart_lane adds a lane, pasta_chart_name a name for slices; both return its
 * number, from 0 on. `group`, such as a process or a device, may be NULL. `depth` is the nesting
 * depth of the lane's slices. */
PASTA_EXPORT uint32_t pasta_chart_lane(struct pasta_chart *chart, const char *name,
				       const char *group, uint32_t depth);
PASTA_EXPORT uint32_t pasta_chart_name(struct pasta_chart *chart, const char *text,
				       enum pasta_category category);
/* Timeline: adds a slice, in ns, with the numbers of its lane and name. `start` and `dur` are at
 * least 0, and `start` must not decrease within a lane. */
PASTA_EXPORT void pasta_chart_slice(struct pasta_chart *chart, uint32_t lane, int64_t start,
				    int64_t dur, uint32_t name, double value);

/* Scatter plot: adds a point. `size` is at least 0; `label` may be NULL. */
PASTA_EXPORT void pasta_chart_spot(struct pasta_chart *chart, double x, double y, double size,
				   const char *label);
/* Scatter plot: add a line that marks an upper limit for the points. The line is y = slope * x,
 * where `slope` is above 0, or y = level. */
PASTA_EXPORT void pasta_chart_limit_slope(struct pasta_chart *chart, const char *name,
					  double slope);
PASTA_EXPORT void pasta_chart_limit_level(struct pasta_chart *chart, const char *name,
					  double level);

/* Histogram: sets the 2 to 65536 edges of the bins, in ascending order. Bin i reaches from
 * edges[i] to edges[i + 1]. Call this once, before setting the counts. */
PASTA_EXPORT void pasta_chart_edges(struct pasta_chart *chart, const double *edges, size_t count);
/* Histogram: sets the counts of the last series, one for each bin. Call this once per series. */
PASTA_EXPORT void pasta_chart_counts(struct pasta_chart *chart, const uint64_t *counts,
				     size_t count);

#define PASTA_NO_NODE UINT32_MAX
/* Graph: adds a node, and returns its number, from 0 on. `parent` is the number of an earlier node,
 * or PASTA_NO_NODE. `cost` is time spent on overhead, such as a stall or a copy. */
PASTA_EXPORT uint32_t pasta_chart_node(struct pasta_chart *chart, uint32_t parent,
				       const char *label, double value, double cost);
/* Graph: adds an edge between two nodes, in addition to the edges to parents. */
PASTA_EXPORT void pasta_chart_edge(struct pasta_chart *chart, uint32_t from, uint32_t to,
				   double value);

#ifdef __cplusplus
}
#endif
#endif
