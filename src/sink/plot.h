/* plot.h - charts for people, drawn with characters; flame.c has the flame graphs. */
#ifndef PASTA_SINK_PLOT_H
#define PASTA_SINK_PLOT_H

#include <stddef.h>
#include <stdio.h>

#include "process/result.h"
#include "sink/sink.h"

/* Draw a chart, with its name. 0 or -ENOMEM. */
int pasta_plot(FILE *f, const struct pasta_chart *chart, const struct pasta_sink_opts *opts);
/* What is below the name, for a flame graph. */
int pasta_flame_plot(FILE *f, const struct pasta_chart *chart, const struct pasta_sink_opts *opts);

/* -- What both are made of -- */

/* How many of count to show, and a line about those that are not. */
size_t pasta_plot_limit(size_t count, const struct pasta_sink_opts *opts);
void pasta_plot_more(FILE *f, size_t count, const char *what, const struct pasta_sink_opts *opts);

/* Where a value is between lo and hi: from 0 to 1. */
double pasta_plot_share(double value, double lo, double hi);
/* A bar of at most width columns; returns those that it has. */
size_t pasta_plot_bar(FILE *f, double share, size_t width, const struct pasta_sink_opts *opts);
void pasta_plot_pad(FILE *f, size_t n);
/* Colours on and off; nothing where there are none. */
void pasta_plot_on(FILE *f, const char *color, const struct pasta_sink_opts *opts);
void pasta_plot_off(FILE *f, const struct pasta_sink_opts *opts);

#define PASTA_BOLD "\033[1m"
#define PASTA_CYAN "\033[36m"

#endif
