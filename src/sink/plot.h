/* plot.h - draws charts with characters, for the text format. */
#ifndef PASTA_SINK_PLOT_H
#define PASTA_SINK_PLOT_H

#include <stddef.h>
#include <stdio.h>

#include "process/sdk/result.h"
#include "sink/margin.h"
#include "sink/sink.h"

/* Draw a chart below its name. Like all functions here, returns 0 or -ENOMEM. */
int pasta_plot(FILE *f, const struct pasta_chart *chart, const struct pasta_sink_opts *opts);
/* Draw a flame chart, a timeline, a scatter plot, a histogram or a graph, without its name. */
int pasta_flame_plot(FILE *f, const struct pasta_chart *chart, const struct pasta_sink_opts *opts);
int pasta_lanes_plot(FILE *f, const struct pasta_chart *chart, const struct pasta_sink_opts *opts);
int pasta_spots_plot(FILE *f, const struct pasta_chart *chart, const struct pasta_sink_opts *opts);
int pasta_bins_plot(FILE *f, const struct pasta_chart *chart, const struct pasta_sink_opts *opts);
int pasta_nodes_plot(FILE *f, const struct pasta_chart *chart, const struct pasta_sink_opts *opts);

/* -- Parts of a chart -- */

#define PASTA_PLOT_LEAST 10 /* minimum width of a drawing in columns, even on a narrow terminal */

/* pasta_plot_limit returns how many of `count` rows to show. pasta_plot_more prints a line that
 * states how many rows were omitted. */
size_t pasta_plot_limit(size_t count, const struct pasta_sink_opts *opts);
void pasta_plot_more(FILE *f, size_t count, const char *what, const struct pasta_sink_opts *opts);

/* Returns the position of a value in the range from lo to hi, as a number from 0 to 1. */
double pasta_plot_share(double value, double lo, double hi);

/* The range of all numbers that were added so far. */
struct pasta_plot_range {
	double lo, hi;
	bool some, log;
};
static inline struct pasta_plot_range pasta_plot_range_of(const struct pasta_axis *axis)
{
	return (struct pasta_plot_range){.log = axis->scale == PASTA_SCALE_LOG};
}
void pasta_plot_range_add(struct pasta_plot_range *r, double value);
/* pasta_plot_range_share returns the position of a number in the range, from 0 to 1.
 * pasta_plot_part divides the range into n equal parts, and returns the index of the part that
 * contains the number. */
double pasta_plot_range_share(const struct pasta_plot_range *r, double value);
size_t pasta_plot_part(const struct pasta_plot_range *r, double value, size_t n);
/* Print a line such as "time: 0 ns to 1.500 ms; MORE". If it is too long for one line, print two.
 * Returns 0 or -ENOMEM. */
int pasta_plot_range_put(FILE *f, const struct pasta_axis *axis, const struct pasta_plot_range *r,
			 const char *more, size_t width);
/* Print the heads of the margin's columns, and the head of the drawing. `axis` is the axis of the
 * drawing, or NULL. Returns 0 or -ENOMEM. */
int pasta_plot_head(FILE *f, const struct pasta_margin *s, const struct pasta_axis *axis,
		    const struct pasta_sink_opts *opts);

/* Draw a bar with a length of `share` * `width` columns. Returns the number of columns that it
 * occupies. */
size_t pasta_plot_bar(FILE *f, double share, size_t width, const struct pasta_sink_opts *opts);
void pasta_plot_pad(FILE *f, size_t n);
/* Turn a color on or off. Does nothing if opts has no colors. */
void pasta_plot_on(FILE *f, const char *color, const struct pasta_sink_opts *opts);
void pasta_plot_off(FILE *f, const struct pasta_sink_opts *opts);

#define PASTA_BOLD "\033[1m"
#define PASTA_CYAN "\033[36m"

#endif
