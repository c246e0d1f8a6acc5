/* chart.h - charts that a tool reports. */
#ifndef PASTA_CHART_H
#define PASTA_CHART_H

#include <pasta/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pasta_out;

/*
 * Charts, typed as tables are. A line chart has series of points, a bar chart labels with values, a
 * heat map cells with a value at numeric places, a flame graph stacks of frames with a value.
 */
enum pasta_chart_type { PASTA_CHART_LINE, PASTA_CHART_BAR, PASTA_CHART_HEAT, PASTA_CHART_FLAME };

/* unit as a column has it. */
struct pasta_axis {
	const char *name;
	const char *unit;
};

struct pasta_chart;

/*
 * A new chart; NULL when out of memory (the report then fails as a whole). Its name must not be
 * empty, have no control characters, and be that of no other chart or table of the tool. x is the
 * axis of a line's and a heat map's places, of the labels, or of the frames; y that of the values,
 * or of a heat map's rows. An axis that is NULL, or has no name, gets a plain one.
 */
PASTA_EXPORT struct pasta_chart *pasta_out_chart(struct pasta_out *out, const char *name,
						 enum pasta_chart_type type,
						 const struct pasta_axis *x,
						 const struct pasta_axis *y);
/*
 * What is in it, in the order in which it is to be shown. A call that does not suit the chart's
 * type, or on a NULL chart, makes the report fail with an error that names the chart; it never
 * crashes. So does a place (x, and a cell's y) that is not finite. A value that is not finite
 * stands for none: a gap. Doubles hold whole numbers up to 2^53 exactly, which are 104 days in ns.
 */
/* Line: the points that follow are of this series. Names may be there twice. */
PASTA_EXPORT void pasta_chart_series(struct pasta_chart *chart, const char *name);
/* Line: x must not go down within a series. */
PASTA_EXPORT void pasta_chart_point(struct pasta_chart *chart, double x, double y);
PASTA_EXPORT void pasta_chart_bar(struct pasta_chart *chart, const char *label, double value);
/* Heat map: what its values are; without it they are plain numbers. */
PASTA_EXPORT void pasta_chart_value(struct pasta_chart *chart, const struct pasta_axis *value);
PASTA_EXPORT void pasta_chart_cell(struct pasta_chart *chart, double x, double y, double value);
/* Flame graph: frames, the outermost first, and a value, at least 0, that is this stack's own, not
 * that of longer ones. At least one frame. A stack that is there twice adds up. */
PASTA_EXPORT void pasta_chart_stack(struct pasta_chart *chart, const char *const *frames,
				    size_t count, int64_t value);

/* The bit of a type, for pasta_tool.charts. */
#define PASTA_CHART_MASK(TYPE) (UINT64_C(1) << PASTA_CHART_##TYPE)

#ifdef __cplusplus
}
#endif
#endif
