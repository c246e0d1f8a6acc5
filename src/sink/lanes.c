/* lanes.c - draws timelines in the text format. Each lane is a row, in which each column has the
 * letter of the category that fills most of it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sink/cell.h"
#include "sink/plot.h"
#include "sink/margin.h"

/* The letters of each category. The second letter is used if most of the column is idle. */
static const char letters[PASTA_CATEGORIES][2] = {
	[PASTA_CATEGORY_OTHER] = {'X', 'x'},	  [PASTA_CATEGORY_KERNEL] = {'K', 'k'},
	[PASTA_CATEGORY_COPY] = {'C', 'c'},	  [PASTA_CATEGORY_SET] = {'S', 's'},
	[PASTA_CATEGORY_OPERATOR] = {'O', 'o'},	  [PASTA_CATEGORY_REGION] = {'R', 'r'},
	[PASTA_CATEGORY_LAUNCH] = {'L', 'l'},	  [PASTA_CATEGORY_SYNC] = {'W', 'w'},
	[PASTA_CATEGORY_COLLECTIVE] = {'A', 'a'},
};

/* One column of a lane: for each category, the part of the column that the category fills, from 0
 * to 1. */
struct column {
	double of[PASTA_CATEGORIES];
};

struct lanes {
	size_t rows, width;
	int64_t begin, end;
	struct column *columns; /* rows * width */
	/* for each row: ns that slices cover, and the end of the last slice */
	int64_t *busy, *last;
	bool seen[PASTA_CATEGORIES];
};

static void lanes_free(struct lanes *l)
{
	free(l->columns);
	free(l->busy);
	free(l->last);
}

/* Compute the time range of the shown lanes, and for how long each lane is busy. */
static int lanes_measure(struct lanes *l, const struct pasta_chart *c)
{
	bool some = false;
	size_t i;

	l->busy = calloc(l->rows + 1, sizeof(*l->busy));
	l->last = calloc(l->rows + 1, sizeof(*l->last));
	if (!l->busy || !l->last)
		return -ENOMEM;
	for (i = 0; i < c->used; i++) {
		uint32_t lane = c->items[i].slice.lane;
		int64_t start = c->items[i].slice.start, end = start + c->items[i].slice.dur;

		if (lane >= l->rows)
			continue;
		l->begin = some && l->begin < start ? l->begin : start;
		l->end = some && l->end > end ? l->end : end;
		some = true;
		if (end <= l->last[lane])
			continue;
		l->busy[lane] += end - (start > l->last[lane] ? start : l->last[lane]);
		l->last[lane] = end;
	}
	return 0;
}

/* Returns the position of a time on the time axis, in columns. */
static double lanes_at(const struct lanes *l, int64_t time)
{
	double all = (double)(l->end - l->begin);

	return all > 0 ? (double)(time - l->begin) / all * (double)l->width : 0;
}

static void lanes_add(struct lanes *l, uint32_t lane, int64_t start, int64_t dur,
		      enum pasta_category category)
{
	double from = lanes_at(l, start), to = lanes_at(l, start + dur);
	size_t i = (size_t)from < l->width ? (size_t)from : l->width - 1;

	l->seen[category] = true;
	/* Make even the shortest slice visible. */
	l->columns[lane * l->width + i].of[category] += 1e-9;
	for (; i < l->width && (double)i < to; i++) {
		double begin = from > (double)i ? from : (double)i;
		double end = to < (double)(i + 1) ? to : (double)(i + 1);

		l->columns[lane * l->width + i].of[category] += end - begin;
	}
}

static int lanes_fill(struct lanes *l, const struct pasta_chart *c)
{
	size_t i;

	l->columns = calloc(l->rows * l->width + 1, sizeof(*l->columns));
	if (!l->columns)
		return -ENOMEM;
	for (i = 0; i < c->used; i++)
		if (c->items[i].slice.lane < l->rows)
			lanes_add(l, c->items[i].slice.lane, c->items[i].slice.start,
				  c->items[i].slice.dur, c->names[c->items[i].slice.name].category);
	return 0;
}

static char lanes_letter(const struct column *column)
{
	double all = 0;
	size_t i, best = 0;

	for (i = 0; i < PASTA_CATEGORIES; i++) {
		all += column->of[i];
		best = column->of[i] > column->of[best] ? i : best;
	}
	return all > 0 ? letters[best][all < 0.5] : ' ';
}

static char *lanes_text(const struct pasta_lane_row *lane)
{
	char *name = pasta_cell_safe(*lane->name ? lane->name : PASTA_UNNAMED),
	     *group = pasta_cell_safe(lane->group ? lane->group : ""), *text = NULL;
	int indent = lane->depth < 8 ? 2 * (int)lane->depth : 16;

	if (name && group &&
	    asprintf(&text, "%s%s%*s%s", group, *group ? " " : "", indent, "", name) < 0)
		text = NULL;
	free(name);
	free(group);
	return text;
}

static int lanes_margin(struct pasta_margin *s, const struct lanes *l, const struct pasta_chart *c)
{
	static const struct pasta_axis busy = {.name = "busy", .unit = "ns"};
	int error = pasta_margin_init(s, l->rows, 2);
	size_t i;

	s->left = true;
	if (!error)
		error = pasta_margin_set(s, 0, 0, pasta_axis_head(&c->y));
	if (!error)
		error = pasta_margin_set(s, 0, 1, pasta_axis_head(&busy));
	for (i = 0; i < l->rows && !error; i++) {
		error = pasta_margin_set(s, i + 1, 0, lanes_text(&c->lanes[i]));
		if (!error)
			error = pasta_margin_set(s, i + 1, 1,
						 pasta_axis_text(&busy, (double)l->busy[i]));
	}
	return error;
}

/* Print the legend: "K kernel, C copy; a lower-case letter fills less than half of its column". */
static void lanes_legend(FILE *f, const struct lanes *l)
{
	const char *before = "";
	size_t i;

	for (i = 0; i < PASTA_CATEGORIES; i++) {
		size_t at = (i + 1) % PASTA_CATEGORIES; /* category "other" comes last */

		if (!l->seen[at])
			continue;
		fprintf(f, "%s%c %s", before, letters[at][0],
			pasta_category_name((enum pasta_category)at));
		before = ", ";
	}
	fputs("; a lower-case letter fills less than half of its column\n", f);
}

static int lanes_put(FILE *f, const struct lanes *l, const struct pasta_margin *s,
		     const struct pasta_chart *c, const struct pasta_sink_opts *opts)
{
	struct pasta_plot_range time = {.lo = (double)l->begin, .hi = (double)l->end};
	size_t row, i;

	for (row = 0; row < l->rows; row++) {
		if (pasta_margin_put(f, s, row + 1))
			return -ENOMEM;
		fputs(opts->ascii ? "  |" : "  │", f);
		pasta_plot_on(f, PASTA_CYAN, opts);
		for (i = 0; i < l->width; i++)
			fputc(lanes_letter(&l->columns[row * l->width + i]), f);
		pasta_plot_off(f, opts);
		fputs(opts->ascii ? "|\n" : "│\n", f);
	}
	if (pasta_plot_range_put(f, &c->x, &time, "", opts->width))
		return -ENOMEM;
	lanes_legend(f, l);
	return 0;
}

int pasta_lanes_plot(FILE *f, const struct pasta_chart *chart, const struct pasta_sink_opts *opts)
{
	struct lanes l = {.rows = pasta_plot_limit(chart->lane_count, opts)};
	struct pasta_margin s = {0};
	int error = lanes_measure(&l, chart);

	if (!error)
		error = lanes_margin(&s, &l, chart);
	if (!error) {
		l.width = pasta_margin_fit(&s, opts->width, PASTA_PLOT_LEAST + 2) - 2;
		error = lanes_fill(&l, chart);
	}
	if (!error)
		error = pasta_plot_head(f, &s, NULL, opts);
	if (!error)
		error = lanes_put(f, &l, &s, chart, opts);
	if (!error)
		pasta_plot_more(f, chart->lane_count - l.rows, "lanes", opts);
	pasta_margin_free(&s);
	lanes_free(&l);
	return error;
}
