/* plot.h - draws charts with characters, for the text format. */
#ifndef PASTA_SINK_PLOT_H
#define PASTA_SINK_PLOT_H

#include <stddef.h>
#include <stdio.h>

#include "process/sdk/result.h"
#include "sink/margin.h"
#include "sink/sink.h"

/* Draw a chart below its name. Returns 0 or -ENOMEM, as all of these functions do. */
int pasta_plot(FILE *f, const struct pasta_chart *chart, const struct pasta_sink_opts *opts);
/* Draw a flame chart, a timeline, a scatter plot, a histogram or a graph, without the name. */
int pasta_flame_plot(FILE *f, const struct pasta_chart *chart, const struct pasta_sink_opts *opts);
int pasta_lanes_plot(FILE *f, const struct pasta_chart *chart, const struct pasta_sink_opts *opts);
int pasta_spots_plot(FILE *f, const struct pasta_chart *chart, const struct pasta_sink_opts *opts);
int pasta_bins_plot(FILE *f, const struct pasta_chart *chart, const struct pasta_sink_opts *opts);
int pasta_nodes_plot(FILE *f, const struct pasta_chart *chart, const struct pasta_sink_opts *opts);

/* -- Parts of a chart -- */

#define PASTA_PLOT_LEAST 10 /* the least width of a drawing, however narrow the terminal is */

/* pasta_plot_limit returns how many of `count` rows to show; pasta_plot_more prints a line about
 * `count` omitted rows. */
size_t pasta_plot_limit(size_t count, const struct pasta_sink_opts *opts);
void pasta_plot_more(FILE *f, size_t count, const char *what, const struct pasta_sink_opts *opts);

/* Returns the position of a value between lo and hi, from 0 to 1. */
double pasta_plot_share(double value, double lo, double hi);

/* The range of the numbers added so far. */
struct pasta_plot_range {
	double lo, hi;
	bool some, log;
};
static inline struct pasta_plot_range pasta_plot_range_of(const struct pasta_axis *axis)
{
	return (struct pasta_plot_range){.log = axis->scale == PASTA_SCALE_LOG};
}
void pasta_plot_range_add(struct pasta_plot_range *r, double value);
/* Return the position of a number in the range, from 0 to 1; and the number of the part in which
 * it is, if the range is divided into n parts. */
double pasta_plot_range_share(const struct pasta_plot_range *r, double value);
size_t pasta_plot_part(const struct pasta_plot_range *r, double value, size_t n);
/* Print a line such as "time: 0 ns to 1.500 ms; MORE", or two lines if it is too long. Returns 0
 * or -ENOMEM. */
int pasta_plot_range_put(FILE *f, const struct pasta_axis *axis, const struct pasta_plot_range *r,
			 const char *more, size_t width);
/* Print the heads of the margin and of the drawing. `axis` is the axis of the drawing, or NULL.
 * Returns 0 or -ENOMEM. */
int pasta_plot_head(FILE *f, const struct pasta_margin *s, const struct pasta_axis *axis,
		    const struct pasta_sink_opts *opts);

/* Draw a bar of `share` * `width` columns. Returns its columns. */
size_t pasta_plot_bar(FILE *f, double share, size_t width, const struct pasta_sink_opts *opts);
void pasta_plot_pad(FILE *f, size_t n);
/* Turn a color on and off, if opts has colors. */
void pasta_plot_on(FILE *f, const char *color, const struct pasta_sink_opts *opts);
void pasta_plot_off(FILE *f, const struct pasta_sink_opts *opts);

#define PASTA_BOLD "\033[1m"
#define PASTA_CYAN "\033[36m"

#endif
