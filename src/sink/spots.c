/* spots.c - draws scatter plots in the text format: one letter per series, and dots for limits. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sink/cell.h"
#include "sink/plot.h"
#include "sink/margin.h"

enum { ROWS = 12 };

struct spots {
	struct pasta_plot_range x, y;
	size_t width;
	char *cells; /* ROWS * width */
};

static char spots_letter(size_t series)
{
	return (char)('A' + series % 26);
}

static void spots_measure(struct spots *s, const struct pasta_chart *c)
{
	size_t i;

	for (i = 0; i < c->used; i++) {
		pasta_plot_range_add(&s->x, c->items[i].spot.x);
		pasta_plot_range_add(&s->y, c->items[i].spot.y);
	}
	for (i = 0; i < c->limit_count; i++)
		pasta_plot_range_add(&s->y, c->limits[i].slope ? c->limits[i].value * s->x.lo
							       : c->limits[i].value);
}

/* Returns the x coordinate of the middle of a column. */
static double spots_x(const struct spots *s, size_t column)
{
	double share = ((double)column + 0.5) / (double)s->width;

	if (s->x.log)
		return exp(log(s->x.lo) * (1 - share) + log(s->x.hi) * share);
	return s->x.lo * (1 - share) + s->x.hi * share;
}

static char *spots_cell(const struct spots *s, size_t column, double y)
{
	size_t row = ROWS - 1 - pasta_plot_part(&s->y, y, ROWS);

	return &s->cells[row * s->width + column];
}

static void spots_limit(struct spots *s, const struct pasta_limit *limit)
{
	size_t i;

	for (i = 0; i < s->width; i++) {
		double y = limit->slope ? limit->value * spots_x(s, i) : limit->value;

		if (y >= s->y.lo && y <= s->y.hi)
			*spots_cell(s, i, y) = '.';
	}
}

static int spots_fill(struct spots *s, const struct pasta_chart *c)
{
	size_t i, series = 0;

	s->cells = malloc(ROWS * s->width + 1);
	if (!s->cells)
		return -ENOMEM;
	memset(s->cells, ' ', ROWS * s->width);
	for (i = 0; i < c->limit_count; i++)
		spots_limit(s, &c->limits[i]);
	for (i = 0; i < c->used; i++) {
		const union pasta_item *it = &c->items[i];
		char *cell =
			spots_cell(s, pasta_plot_part(&s->x, it->spot.x, s->width), it->spot.y);
		char letter = '*';

		while (series < c->series_count && i >= c->series[series].first)
			series++;
		if (series)
			letter = spots_letter(series - 1);
		*cell = *cell == ' ' || *cell == '.' || *cell == letter ? letter : '+';
	}
	return 0;
}

static int spots_margin(struct pasta_margin *margin, const struct spots *s,
			const struct pasta_chart *c)
{
	int error = pasta_margin_init(margin, ROWS, 1);
	size_t i;

	if (!error)
		error = pasta_margin_set(margin, 0, 0, pasta_axis_head(&c->y));
	for (i = 0; i < ROWS && !error; i++)
		error = pasta_margin_set(margin, i + 1, 0,
					 i && i < ROWS - 1
						 ? strdup("")
						 : pasta_axis_text(&c->y, i ? s->y.lo : s->y.hi));
	return error;
}

static int spots_safe(FILE *f, const char *before, const char *name)
{
	char *safe = pasta_cell_safe(*name ? name : PASTA_UNNAMED);

	if (safe)
		fprintf(f, "%s%s", before, safe);
	free(safe);
	return safe ? 0 : -ENOMEM;
}

/* Print the legend, such as "A gemm, B copy; + several", and then a line for each limit. */
static int spots_legend(FILE *f, const struct pasta_chart *c)
{
	size_t i;

	for (i = 0; i < c->series_count; i++) {
		fprintf(f, "%s%c", i ? ", " : "", spots_letter(i));
		if (spots_safe(f, " ", c->series[i].name))
			return -ENOMEM;
	}
	if (c->series_count)
		fputs(c->series_count > 1 ? "; + several\n" : "\n", f);
	for (i = 0; i < c->limit_count; i++) {
		char *value =
			c->limits[i].slope ? NULL : pasta_axis_text(&c->y, c->limits[i].value);

		if (spots_safe(f, ". limit ", c->limits[i].name)) {
			free(value);
			return -ENOMEM;
		}
		if (value)
			fprintf(f, ": %s\n", value);
		else
			fprintf(f, ": slope %.6g\n", c->limits[i].value);
		free(value);
	}
	return 0;
}

static int spots_put(FILE *f, const struct spots *s, const struct pasta_margin *margin,
		     const struct pasta_chart *c, const struct pasta_sink_opts *opts)
{
	size_t row;

	for (row = 0; row < ROWS; row++) {
		if (pasta_margin_put(f, margin, row + 1))
			return -ENOMEM;
		fputs(opts->ascii ? "  |" : "  │", f);
		pasta_plot_on(f, PASTA_CYAN, opts);
		fwrite(s->cells + row * s->width, 1, s->width, f);
		pasta_plot_off(f, opts);
		fputs(opts->ascii ? "|\n" : "│\n", f);
	}
	if (pasta_plot_range_put(f, &c->x, &s->x, "", opts->width) ||
	    pasta_plot_range_put(f, &c->y, &s->y, "", opts->width))
		return -ENOMEM;
	return spots_legend(f, c);
}

int pasta_spots_plot(FILE *f, const struct pasta_chart *chart, const struct pasta_sink_opts *opts)
{
	struct spots s = {.x = pasta_plot_range_of(&chart->x), .y = pasta_plot_range_of(&chart->y)};
	struct pasta_margin margin = {0};
	int error;

	spots_measure(&s, chart);
	error = spots_margin(&margin, &s, chart);
	if (!error) {
		s.width = pasta_margin_fit(&margin, opts->width, PASTA_PLOT_LEAST + 2) - 2;
		error = spots_fill(&s, chart);
	}
	if (!error)
		error = pasta_plot_head(f, &margin, NULL, opts);
	if (!error)
		error = spots_put(f, &s, &margin, chart, opts);
	pasta_margin_free(&margin);
	free(s.cells);
	return error;
}
