/* plot.h - charts for people, drawn with characters. */
#ifndef PASTA_SINK_PLOT_H
#define PASTA_SINK_PLOT_H

#include <stddef.h>
#include <stdio.h>

#include "process/sdk/result.h"
#include "sink/margin.h"
#include "sink/sink.h"

/* Draw a chart, with its name. 0 or -ENOMEM. */
int pasta_plot(FILE *f, const struct pasta_chart *chart, const struct pasta_sink_opts *opts);
/* What is below the name, for flame graphs, timelines, scatter plots, histograms and graphs. */
int pasta_flame_plot(FILE *f, const struct pasta_chart *chart, const struct pasta_sink_opts *opts);
int pasta_lanes_plot(FILE *f, const struct pasta_chart *chart, const struct pasta_sink_opts *opts);
int pasta_spots_plot(FILE *f, const struct pasta_chart *chart, const struct pasta_sink_opts *opts);
int pasta_bins_plot(FILE *f, const struct pasta_chart *chart, const struct pasta_sink_opts *opts);
int pasta_nodes_plot(FILE *f, const struct pasta_chart *chart, const struct pasta_sink_opts *opts);

/* -- What all are made of -- */

#define PASTA_PLOT_LEAST 10 /* columns of a drawing, however narrow the terminal */

/* How many of count to show, and a line about those that are not. */
size_t pasta_plot_limit(size_t count, const struct pasta_sink_opts *opts);
void pasta_plot_more(FILE *f, size_t count, const char *what, const struct pasta_sink_opts *opts);

/* Where a value is between lo and hi: from 0 to 1. */
double pasta_plot_share(double value, double lo, double hi);

/* From the least to the most, of as many numbers as were added. */
struct pasta_plot_range {
	double lo, hi;
	bool some, log;
};
static inline struct pasta_plot_range pasta_plot_range_of(const struct pasta_axis *axis)
{
	return (struct pasta_plot_range){.log = axis->scale == PASTA_SCALE_LOG};
}
void pasta_plot_range_add(struct pasta_plot_range *r, double value);
/* Where a number is in the range: from 0 to 1; and which of n parts that is. */
double pasta_plot_range_share(const struct pasta_plot_range *r, double value);
size_t pasta_plot_part(const struct pasta_plot_range *r, double value, size_t n);
/* "time: 0 ns to 1.500 ms", and more, in a line of its own where it does not fit. -ENOMEM. */
int pasta_plot_range_put(FILE *f, const struct pasta_axis *axis, const struct pasta_plot_range *r,
			 const char *more, size_t width);
/* The heads of the columns to the left, and of the drawing, which may be NULL. -ENOMEM. */
int pasta_plot_head(FILE *f, const struct pasta_margin *s, const struct pasta_axis *axis,
		    const struct pasta_sink_opts *opts);

/* A bar of at most width columns; returns those that it has. */
size_t pasta_plot_bar(FILE *f, double share, size_t width, const struct pasta_sink_opts *opts);
void pasta_plot_pad(FILE *f, size_t n);
/* Colours on and off; nothing where there are none. */
void pasta_plot_on(FILE *f, const char *color, const struct pasta_sink_opts *opts);
void pasta_plot_off(FILE *f, const struct pasta_sink_opts *opts);

#define PASTA_BOLD "\033[1m"
#define PASTA_CYAN "\033[36m"

#endif
