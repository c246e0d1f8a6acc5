/*
 * chart.h - charts that a tool reports, typed as tables are.
 *
 * What is in a chart is put in the order in which it is to be shown. A call that does not suit the
 * chart's type, or on a NULL chart, makes the report fail with an error that names the chart; it
 * never crashes. So does a place (a coordinate, an edge, a limit) that is not finite, or not above
 * 0 on a logarithmic axis. A value that is not finite stands for none: a gap. Texts are copied.
 * Doubles hold whole numbers up to 2^53 exactly, which are 104 days in ns.
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
	PASTA_CHART_LINE,      /* series of points */
	PASTA_CHART_BAR,       /* labels with values */
	PASTA_CHART_HEAT,      /* cells with a value, at numeric places or in a grid */
	PASTA_CHART_FLAME,     /* stacks of frames with a value */
	PASTA_CHART_TIMELINE,  /* slices of time, in lanes */
	PASTA_CHART_SCATTER,   /* points with a size and a label, and limits */
	PASTA_CHART_AREA,      /* as lines, one on top of the other */
	PASTA_CHART_HISTOGRAM, /* series of counts between edges */
	PASTA_CHART_GRAPH,     /* a forest of nodes, and edges between them */
};

/* The bit of a type, for pasta_tool.charts. */
#define PASTA_CHART_MASK(TYPE) (UINT64_C(1) << PASTA_CHART_##TYPE)

enum pasta_scale { PASTA_SCALE_LINEAR, PASTA_SCALE_LOG };

/* An axis. Its size never changes: what is reserved is 0. */
struct pasta_axis {
	const char *name; /* NULL or "": a plain one */
	const char *unit; /* as a column has it */
	/* Of a heat map: place i, a whole number below label_count, is called labels[i]. */
	const char *const *labels;
	size_t label_count;
	uint32_t scale; /* of enum pasta_scale */
	uint32_t reserved;
	uint64_t more[3];
};

/*
 * x is the axis of places, labels, frames or times; y that of values, of a heat map's rows, or of
 * a timeline's lanes. value is the axis of a heat map's values, of the sizes in a scatter plot, of
 * the values of slices, or of the costs of nodes. Members that are added come last.
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

/* A new chart; NULL when out of memory (the report then fails as a whole). Its name must not be
 * empty, have no control characters, and be that of no other chart or table of the tool. */
PASTA_EXPORT struct pasta_chart *pasta_out_chart(struct pasta_out *out,
						 const struct pasta_chart_def *def);

/* Line, area, histogram, scatter: what follows is of this series. Names may be there twice. Only a
 * scatter plot can do without. */
PASTA_EXPORT void pasta_chart_series(struct pasta_chart *chart, const char *name);
/* Line, area: x must not go down within a series. An area's y is at least 0. */
PASTA_EXPORT void pasta_chart_point(struct pasta_chart *chart, double x, double y);
PASTA_EXPORT void pasta_chart_bar(struct pasta_chart *chart, const char *label, double value);

/*
 * Heat map: a grid of nx by ny cells, before the first cell. Cell (i, j) covers the places from
 * x0 + i * dx and y0 + j * dy on. More than 1024 rows or 4096 columns are folded: a cell then has
 * the maximum of those that it stands for. An axis with labels begins at 0 in steps of 1, has as
 * many cells as labels, and is not folded.
 */
struct pasta_grid {
	uint32_t size, reserved;
	double x0, dx, y0, dy; /* dx and dy are above 0 */
	uint64_t nx, ny;
};
PASTA_EXPORT void pasta_chart_grid(struct pasta_chart *chart, const struct pasta_grid *grid);
/* A cell; in a grid, the one that covers the place, which has the maximum of what is put there. */
PASTA_EXPORT void pasta_chart_cell(struct pasta_chart *chart, double x, double y, double value);

/* Flame graph: frames, the outermost first, and a value, at least 0, that is this stack's own, not
 * that of longer ones. At least one frame. A stack that is there twice adds up. */
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
/* Timeline: a lane, of a group such as a process or a device, which may be NULL. depth: how deep
 * what is in it is nested. Lanes have numbers from 0 on, in their order: the number is returned;
 * and so have names. */
PASTA_EXPORT uint32_t pasta_chart_lane(struct pasta_chart *chart, const char *name,
				       const char *group, uint32_t depth);
PASTA_EXPORT uint32_t pasta_chart_name(struct pasta_chart *chart, const char *text,
				       enum pasta_category category);
/* Timeline: in ns, with lane and name by their numbers. start and dur are at least 0, and start
 * does not go down within a lane. */
PASTA_EXPORT void pasta_chart_slice(struct pasta_chart *chart, uint32_t lane, int64_t start,
				    int64_t dur, uint32_t name, double value);

/* Scatter plot: size is at least 0; label may be NULL. */
PASTA_EXPORT void pasta_chart_spot(struct pasta_chart *chart, double x, double y, double size,
				   const char *label);
/* Scatter plot: what no point can be above: y = slope * x, with a slope above 0; or y = level. */
PASTA_EXPORT void pasta_chart_limit_slope(struct pasta_chart *chart, const char *name,
					  double slope);
PASTA_EXPORT void pasta_chart_limit_level(struct pasta_chart *chart, const char *name,
					  double level);

/* Histogram: the edges of its bins, at least two and at most 65536, which go up; once, before the
 * counts. Bin i is from edges[i] to edges[i + 1]. */
PASTA_EXPORT void pasta_chart_edges(struct pasta_chart *chart, const double *edges, size_t count);
/* Histogram: the counts of the last series, one a bin; once a series. */
PASTA_EXPORT void pasta_chart_counts(struct pasta_chart *chart, const uint64_t *counts,
				     size_t count);

#define PASTA_NO_NODE UINT32_MAX
/* Graph: a node below parent, which is the number of an earlier node, or PASTA_NO_NODE. Its own
 * number, from 0 on, is returned. cost is what it takes away: a stall, a copy. */
PASTA_EXPORT uint32_t pasta_chart_node(struct pasta_chart *chart, uint32_t parent,
				       const char *label, double value, double cost);
/* Graph: an edge between nodes that are there, beside those to parents. */
PASTA_EXPORT void pasta_chart_edge(struct pasta_chart *chart, uint32_t from, uint32_t to,
				   double value);

#ifdef __cplusplus
}
#endif
#endif
