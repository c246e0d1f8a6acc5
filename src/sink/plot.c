/* plot.c - draws lines, areas, bars and heat maps with characters, for the text format. */
#include "sink/plot.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sink/cell.h"
#include "sink/margin.h"

#define DRAWING_LEAST PASTA_PLOT_LEAST

/* -- Parts of a chart -- */

size_t pasta_plot_limit(size_t count, const struct pasta_sink_opts *opts)
{
	return opts->rows && count > opts->rows ? opts->rows : count;
}

void pasta_plot_more(FILE *f, size_t count, const char *what, const struct pasta_sink_opts *opts)
{
	if (count)
		fprintf(f, "%s %zu more %s (--rows 0 for all)\n", opts->ascii ? "..." : "…", count,
			what);
}

/* Divide before subtracting, because hi - lo may overflow. */
double pasta_plot_share(double value, double lo, double hi)
{
	double share = (value / 2 - lo / 2) / (hi / 2 - lo / 2);

	return share >= 1 ? 1 : share > 0 ? share : 0;
}

size_t pasta_plot_bar(FILE *f, double share, size_t width, const struct pasta_sink_opts *opts)
{
	static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	size_t i, parts = opts->ascii ? 1 : 8, n = (size_t)lround(share * (double)(width * parts));

	if (!n && share > 0)
		n = 1; /* make even the smallest value visible */
	if (!n)
		return 0;
	pasta_plot_on(f, PASTA_CYAN, opts);
	for (i = 0; i < n / parts; i++)
		fputs(opts->ascii ? "#" : "█", f);
	fputs(eighths[n % parts], f);
	pasta_plot_off(f, opts);
	return (n + parts - 1) / parts;
}

void pasta_plot_pad(FILE *f, size_t n)
{
	while (n--)
		fputc(' ', f);
}

void pasta_plot_on(FILE *f, const char *color, const struct pasta_sink_opts *opts)
{
	fputs(opts->color ? color : "", f);
}

void pasta_plot_off(FILE *f, const struct pasta_sink_opts *opts)
{
	fputs(opts->color ? "\033[m" : "", f);
}

void pasta_plot_range_add(struct pasta_plot_range *r, double value)
{
	if (!isfinite(value))
		return;
	r->lo = r->some && r->lo < value ? r->lo : value;
	r->hi = r->some && r->hi > value ? r->hi : value;
	r->some = true;
}

/* The axis of values starts at 0, so that half the height means half the value. */
static struct pasta_plot_range plot_from_zero(struct pasta_plot_range r)
{
	if (!r.log)
		pasta_plot_range_add(&r, 0);
	return r;
}

double pasta_plot_range_share(const struct pasta_plot_range *r, double value)
{
	if (r->log)
		return value > 0 ? pasta_plot_share(log(value), log(r->lo), log(r->hi)) : 0;
	return pasta_plot_share(value, r->lo, r->hi);
}

size_t pasta_plot_part(const struct pasta_plot_range *r, double value, size_t n)
{
	size_t i = (size_t)(pasta_plot_range_share(r, value) * (double)n);

	return i < n ? i : n - 1;
}

/* Format a coordinate. If the axis has labels, use the label. The caller frees the text. */
static char *plot_coordinate_text(const struct pasta_axis *axis, double value)
{
	return axis->label_count ? pasta_cell_safe(axis->labels[(size_t)value])
				 : pasta_axis_text(axis, value);
}

int pasta_plot_range_put(FILE *f, const struct pasta_axis *axis, const struct pasta_plot_range *r,
			 const char *more, size_t width)
{
	char *name = pasta_axis_head(axis), *lo = plot_coordinate_text(axis, r->lo);
	char *hi = plot_coordinate_text(axis, r->hi), *line = NULL;
	int error = name && lo && hi ? 0 : -ENOMEM;

	bool one = r->lo == r->hi;

	if (!error && asprintf(&line, "%s: %s%s%s%s", name, lo, one ? "" : " to ", one ? "" : hi,
			       r->log ? " (log)" : "") < 0)
		error = -ENOMEM;
	if (!error) {
		bool fits = pasta_cell_width(line) + strlen(more) + 2 <= width;

		fprintf(f, "%s%s%s\n", line, !*more ? "" : fits ? "; " : "\n", more);
		free(line);
	}
	free(name);
	free(lo);
	free(hi);
	return error;
}

int pasta_plot_head(FILE *f, const struct pasta_margin *s, const struct pasta_axis *axis,
		    const struct pasta_sink_opts *opts)
{
	char *head = axis ? pasta_axis_head(axis) : strdup("");
	int error = head ? 0 : -ENOMEM;

	pasta_plot_on(f, PASTA_BOLD, opts);
	if (!error && !axis && s->left && s->columns == 1)
		fputs(s->cells[0], f); /* nothing follows the last column, so it needs no padding */
	else if (!error)
		error = pasta_margin_put(f, s, 0);
	if (head && *head)
		fprintf(f, "%*s%s", PASTA_GAP, "", head);
	pasta_plot_off(f, opts);
	fputc('\n', f);
	free(head);
	return error;
}

/* -- Lines: one row per series -- */

/* One column of a line: the maximum of the points in the column. */
struct column {
	double most;
	bool filled, gap;
};

/* Interpolate the values of the columns between two points, unless there is a gap. */
static void line_connect(struct column *columns, size_t count)
{
	size_t from = SIZE_MAX, i, k;

	for (i = 0; i < count; i++) {
		if (columns[i].gap)
			from = SIZE_MAX;
		if (!columns[i].filled)
			continue;
		for (k = from; k != SIZE_MAX && ++k < i;) {
			double share = (double)(k - from) / (double)(i - from);

			columns[k].most =
				columns[from].most * (1 - share) + columns[i].most * share;
		}
		for (k = from; k != SIZE_MAX && ++k < i;)
			columns[k].filled = true;
		from = i;
	}
}

static void line_resample(const struct pasta_chart *c, const struct pasta_series *series,
			  const struct pasta_plot_range *x, struct column *columns, size_t count)
{
	size_t i;

	memset(columns, 0, count * sizeof(*columns));
	for (i = 0; i < series->count; i++) {
		const union pasta_item *it = &c->items[series->first + i];
		struct column *at = &columns[pasta_plot_part(x, it->point.x, count)];

		if (!isfinite(it->point.y)) {
			at->gap = !at->filled;
			continue;
		}
		at->most = at->filled && at->most > it->point.y ? at->most : it->point.y;
		at->filled = true;
		at->gap = false;
	}
	line_connect(columns, count);
}

static void line_put(FILE *f, const struct column *columns, size_t count,
		     const struct pasta_plot_range *y, const struct pasta_sink_opts *opts)
{
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char plain[] = ".:-=+*#";
	size_t i, end = count;

	while (end && !columns[end - 1].filled)
		end--;
	pasta_plot_pad(f, end ? PASTA_GAP : 0);
	pasta_plot_on(f, PASTA_CYAN, opts);
	for (i = 0; i < end; i++)
		if (!columns[i].filled)
			fputc(' ', f);
		else if (opts->ascii)
			fputc(plain[pasta_plot_part(y, columns[i].most, 7)], f);
		else
			fputs(blocks[pasta_plot_part(y, columns[i].most, 8)], f);
	pasta_plot_off(f, opts);
	fputc('\n', f);
}

static int line_margin_row(struct pasta_margin *s, size_t row, const struct pasta_chart *c,
			   const struct pasta_series *series)
{
	double last = series->count ? c->items[series->first + series->count - 1].point.y : NAN;
	struct pasta_plot_range r = {0};
	size_t i;

	for (i = 0; i < series->count; i++)
		pasta_plot_range_add(&r, c->items[series->first + i].point.y);
	if (pasta_margin_set(s, row, 0, pasta_cell_safe(series->name)) ||
	    pasta_margin_set(s, row, 1, pasta_axis_text(&c->y, r.some ? r.lo : NAN)) ||
	    pasta_margin_set(s, row, 2, pasta_axis_text(&c->y, r.some ? r.hi : NAN)))
		return -ENOMEM;
	return pasta_margin_set(s, row, 3, pasta_axis_text(&c->y, last));
}

static int line_margin(struct pasta_margin *s, const struct pasta_chart *c, size_t rows)
{
	static const char *const heads[] = {"series", "min", "max", "last"};
	int error = pasta_margin_init(s, rows, 4);
	size_t i;

	s->left = true;
	for (i = 0; i < 4 && !error; i++)
		error = pasta_margin_set(s, 0, i, strdup(heads[i]));
	for (i = 0; i < rows && !error; i++)
		error = line_margin_row(s, i + 1, c, &c->series[i]);
	return error;
}

static int line_put_all(FILE *f, const struct pasta_chart *c, const struct pasta_margin *s,
			size_t width, const struct pasta_sink_opts *opts)
{
	struct pasta_plot_range x = pasta_plot_range_of(&c->x), y = pasta_plot_range_of(&c->y);
	struct column *columns;
	size_t i, k, most = 1;
	int error = 0;

	for (i = 0; i < s->rows; i++) {
		most = c->series[i].count > most ? c->series[i].count : most;
		for (k = 0; k < c->series[i].count; k++) {
			pasta_plot_range_add(&x, c->items[c->series[i].first + k].point.x);
			pasta_plot_range_add(&y, c->items[c->series[i].first + k].point.y);
		}
	}
	y = plot_from_zero(y);
	width = most < width ? most : width;
	columns = calloc(width, sizeof(*columns));
	if (!columns)
		return -ENOMEM;
	for (i = 0; i < s->rows && !error; i++) {
		error = pasta_margin_put(f, s, i + 1);
		line_resample(c, &c->series[i], &x, columns, width);
		line_put(f, columns, width, &y, opts);
	}
	free(columns);
	if (error || !x.some)
		return error;
	return pasta_plot_range_put(
		f, &c->x, &x, width < most ? "each column shows the maximum" : "", opts->width);
}

static int plot_line(FILE *f, const struct pasta_chart *c, const struct pasta_sink_opts *opts)
{
	size_t rows = pasta_plot_limit(c->series_count, opts), width;
	struct pasta_margin s;
	int error = line_margin(&s, c, rows);

	if (!error) {
		width = pasta_margin_fit(&s, opts->width, DRAWING_LEAST);
		error = pasta_plot_head(f, &s, &c->y, opts);
		if (!error)
			error = line_put_all(f, c, &s, width, opts);
		pasta_plot_more(f, c->series_count - rows, "series", opts);
	}
	pasta_margin_free(&s);
	return error;
}

/* -- Bars -- */

static int bar_margin(struct pasta_margin *s, const struct pasta_chart *c, size_t rows)
{
	int error = pasta_margin_init(s, rows, 2);
	size_t i;

	s->left = true;
	if (!error)
		error = pasta_margin_set(s, 0, 0, pasta_axis_head(&c->x));
	if (!error)
		error = pasta_margin_set(s, 0, 1, pasta_axis_head(&c->y));
	for (i = 0; i < rows && !error; i++) {
		error = pasta_margin_set(s, i + 1, 0, pasta_cell_safe(c->items[i].bar.label));
		if (!error)
			error = pasta_margin_set(s, i + 1, 1,
						 pasta_axis_text(&c->y, c->items[i].bar.value));
	}
	return error;
}

static int plot_bar(FILE *f, const struct pasta_chart *c, const struct pasta_sink_opts *opts)
{
	size_t i, rows = pasta_plot_limit(c->used, opts), width;
	struct pasta_plot_range length = {0};
	struct pasta_margin s;
	int error = bar_margin(&s, c, rows);

	for (i = 0; i < rows; i++)
		pasta_plot_range_add(&length, fabs(c->items[i].bar.value));
	length = plot_from_zero(length);
	width = error ? 0 : pasta_margin_fit(&s, opts->width, DRAWING_LEAST);
	if (!error)
		error = pasta_plot_head(f, &s, NULL, opts);
	for (i = 0; i < rows && !error; i++) {
		double size = fabs(c->items[i].bar.value);

		error = pasta_margin_put(f, &s, i + 1);
		if (isfinite(size) && size > 0) {
			pasta_plot_pad(f, PASTA_GAP);
			pasta_plot_bar(f, pasta_plot_share(size, 0, length.hi), width, opts);
		}
		fputc('\n', f);
	}
	if (!error)
		pasta_plot_more(f, c->used - rows, "bars", opts);
	pasta_margin_free(&s);
	return error;
}

/* -- Heat maps: the first row has the largest y -- */

struct heat {
	struct pasta_plot_range x, y, value;
	size_t rows, columns; /* of the drawing */
	/* number of different y coordinates, and of different x coordinates */
	size_t all_rows, all_columns;
	/* maximum value of each cell, in rows * columns entries; NAN: the cell has no value */
	double *most;
	double *lows; /* smallest y of the points in each row; NAN if the row has no value */
};

static void heat_free(struct heat *h)
{
	free(h->most);
	free(h->lows);
}

static int heat_by_number(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Sort the numbers. Returns how many different numbers there are. */
static size_t heat_count_distinct(double *numbers, size_t count)
{
	size_t i, n = 0;

	qsort(numbers, count, sizeof(*numbers), heat_by_number);
	for (i = 0; i < count; i++)
		n += !i || numbers[i] > numbers[i - 1];
	return n;
}

static int heat_measure(struct heat *h, const struct pasta_chart *c)
{
	double *xs = calloc(c->used, sizeof(*xs)), *ys = calloc(c->used, sizeof(*ys));
	int error = xs && ys ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; i < c->used && !error; i++) {
		pasta_plot_range_add(&h->x, xs[i] = c->items[i].cell.x);
		pasta_plot_range_add(&h->y, ys[i] = c->items[i].cell.y);
		pasta_plot_range_add(&h->value, c->items[i].cell.value);
	}
	if (!error) {
		h->all_columns = heat_count_distinct(xs, c->used);
		h->all_rows = heat_count_distinct(ys, c->used);
	}
	free(xs);
	free(ys);
	return error;
}

static size_t heat_row(const struct heat *h, double y)
{
	return h->rows - 1 - pasta_plot_part(&h->y, y, h->rows);
}

static int heat_rows(struct heat *h, struct pasta_margin *s, const struct pasta_chart *c,
		     const struct pasta_sink_opts *opts)
{
	int error;
	size_t i;

	h->rows = pasta_plot_limit(h->all_rows, opts);
	error = pasta_margin_init(s, h->rows, 1);
	s->left = c->y.label_count;
	h->lows = calloc(h->rows, sizeof(*h->lows));
	if (error || !h->lows)
		return -ENOMEM;
	for (i = 0; i < h->rows; i++)
		h->lows[i] = NAN;
	for (i = 0; i < c->used; i++) {
		double *low = &h->lows[heat_row(h, c->items[i].cell.y)];

		*low = fmin(*low, c->items[i].cell.y);
	}
	error = pasta_margin_set(s, 0, 0, pasta_axis_head(&c->y));
	for (i = 0; i < h->rows && !error; i++)
		error = pasta_margin_set(
			s, i + 1, 0,
			isnan(h->lows[i]) ? strdup("") : plot_coordinate_text(&c->y, h->lows[i]));
	return error;
}

static int heat_fill(struct heat *h, const struct pasta_chart *c, size_t width)
{
	size_t i;

	h->columns = h->all_columns < width ? h->all_columns : width;
	h->most = calloc(h->rows * h->columns, sizeof(*h->most));
	if (!h->most)
		return -ENOMEM;
	for (i = 0; i < h->rows * h->columns; i++)
		h->most[i] = NAN;
	for (i = 0; i < c->used; i++) {
		size_t row = heat_row(h, c->items[i].cell.y);
		double *most = &h->most[row * h->columns +
					pasta_plot_part(&h->x, c->items[i].cell.x, h->columns)];

		if (isfinite(c->items[i].cell.value))
			*most = fmax(*most, c->items[i].cell.value);
	}
	return 0;
}

static void heat_put_shade(FILE *f, double value, const struct pasta_plot_range *r, bool ascii)
{
	static const char *const shades[] = {" ", "░", "▒", "▓", "█"};
	static const char plain[] = " .:+#";
	double share = isnan(value) ? 0 : pasta_plot_range_share(r, value);
	size_t level = (size_t)ceil(share * 4);

	if (ascii)
		fputc(plain[level], f);
	else
		fputs(shades[level], f);
}

static int heat_put(FILE *f, const struct heat *h, const struct pasta_margin *s,
		    const struct pasta_chart *c, const struct pasta_sink_opts *opts)
{
	struct pasta_plot_range shades = plot_from_zero(h->value);
	bool folded = h->rows < h->all_rows || h->columns < h->all_columns;
	size_t row, i;

	for (row = 0; row < h->rows; row++) {
		if (pasta_margin_put(f, s, row + 1))
			return -ENOMEM;
		fputs(opts->ascii ? "  |" : "  │", f);
		pasta_plot_on(f, PASTA_CYAN, opts);
		for (i = 0; i < h->columns; i++)
			heat_put_shade(f, h->most[row * h->columns + i], &shades, opts->ascii);
		pasta_plot_off(f, opts);
		fputs(opts->ascii ? "|\n" : "│\n", f);
	}
	if (pasta_plot_range_put(f, &c->x, &h->x, "", opts->width))
		return -ENOMEM;
	return pasta_plot_range_put(f, &c->value, &shades,
				    folded ? "each cell shows the maximum" : "", opts->width);
}

static int plot_cells(FILE *f, const struct pasta_chart *c, const struct pasta_sink_opts *opts)
{
	struct pasta_margin s = {0};
	struct heat h = {.x = pasta_plot_range_of(&c->x),
			 .y = pasta_plot_range_of(&c->y),
			 .value = pasta_plot_range_of(&c->value)};
	size_t width;
	int error;

	if (!c->used)
		return 0; /* nothing to draw */
	error = heat_measure(&h, c);
	if (!error)
		error = heat_rows(&h, &s, c, opts);
	if (!error) {
		width = pasta_margin_fit(&s, opts->width, DRAWING_LEAST + 2);
		error = heat_fill(&h, c, width - 2); /* without the frame */
	}
	if (!error)
		error = pasta_plot_head(f, &s, NULL, opts);
	if (!error)
		error = heat_put(f, &h, &s, c, opts);
	pasta_margin_free(&s);
	heat_free(&h);
	return error;
}

/* Draw a heat map. If it has a grid, first convert the grid to a list of the cells that have a
 * value. */
static int plot_heat(FILE *f, const struct pasta_chart *c, const struct pasta_sink_opts *opts)
{
	struct pasta_chart cells = *c;
	const struct pasta_grid *g;
	size_t i;
	int error;

	if (!c->grid)
		return plot_cells(f, c, opts);
	g = &c->grid->as;
	cells.items = calloc(c->grid->filled, sizeof(*cells.items));
	if (!cells.items)
		return -ENOMEM;
	cells.used = 0;
	for (i = 0; i < g->nx * g->ny; i++)
		if (!isnan(c->grid->cells[i]))
			cells.items[cells.used++] = pasta_chart_grid_item(c->grid, i);
	error = plot_cells(f, &cells, opts);
	free(cells.items);
	return error;
}

int pasta_plot(FILE *f, const struct pasta_chart *chart, const struct pasta_sink_opts *opts)
{
	static const struct {
		int (*plot)(FILE *f, const struct pasta_chart *c,
			    const struct pasta_sink_opts *opts);
		const char *nothing;
	} types[] = {[PASTA_CHART_LINE] = {plot_line, "(no points)\n"},
		     [PASTA_CHART_BAR] = {plot_bar, "(no bars)\n"},
		     [PASTA_CHART_HEAT] = {plot_heat, "(no cells)\n"},
		     [PASTA_CHART_FLAME] = {pasta_flame_plot, "(no stacks)\n"},
		     [PASTA_CHART_TIMELINE] = {pasta_lanes_plot, "(no slices)\n"},
		     [PASTA_CHART_SCATTER] = {pasta_spots_plot, "(no points)\n"},
		     [PASTA_CHART_AREA] = {plot_line, "(no points)\n"},
		     [PASTA_CHART_HISTOGRAM] = {pasta_bins_plot, "(no counts)\n"},
		     [PASTA_CHART_GRAPH] = {pasta_nodes_plot, "(no nodes)\n"}};
	char *name = pasta_cell_safe(chart->name);

	if (!name)
		return -ENOMEM;
	pasta_plot_on(f, PASTA_BOLD, opts);
	fputs(name, f);
	pasta_plot_off(f, opts);
	fputc('\n', f);
	free(name);
	if (!pasta_chart_is_empty(chart))
		return types[chart->type].plot(f, chart, opts);
	fputs(types[chart->type].nothing, f);
	return 0;
}
