/* bins.c - draws histograms in the text format. Each bin has a bar, and the series are drawn one
 * after another. */
#include <errno.h>
#include <stdlib.h>

#include "sink/cell.h"
#include "sink/plot.h"
#include "sink/margin.h"

/* The layout of the drawing. If there are more bins than rows, a row sums several adjacent bins. */
struct bins {
	size_t count, each, rows;
	double most; /* the largest sum of a row; the bar of this row has the full length */
};

static uint64_t bins_sum(const struct pasta_chart *c, const struct bins *b, size_t series,
			 size_t row)
{
	size_t i, end = (row + 1) * b->each < b->count ? (row + 1) * b->each : b->count;
	uint64_t sum = 0;

	for (i = row * b->each; i < end && i < c->series[series].count; i++)
		if (__builtin_add_overflow(sum, c->items[c->series[series].first + i].count, &sum))
			sum = UINT64_MAX;
	return sum;
}

static struct bins bins_of(const struct pasta_chart *c, const struct pasta_sink_opts *opts)
{
	struct bins b = {.count = c->bin_edges - 1};
	size_t i, row, most = pasta_plot_limit(b.count, opts);

	b.each = (b.count + most - 1) / most;
	b.rows = (b.count + b.each - 1) / b.each;
	for (i = 0; i < c->series_count; i++)
		for (row = 0; row < b.rows; row++) {
			double sum = (double)bins_sum(c, &b, i, row);

			b.most = sum > b.most ? sum : b.most;
		}
	return b;
}

static int bins_margin(struct pasta_margin *s, const struct pasta_chart *c, const struct bins *b,
		       size_t series)
{
	static const struct pasta_axis to = {.name = "to"};
	struct pasta_column count = {
		.name = c->y.name, .type = PASTA_COLUMN_INT, .unit = c->y.unit};
	int error = pasta_margin_init(s, b->rows, 3);
	size_t row;

	if (!error && (pasta_margin_set(s, 0, 0, pasta_axis_head(&c->x)) ||
		       pasta_margin_set(s, 0, 1, pasta_axis_head(&to)) ||
		       pasta_margin_set(s, 0, 2, pasta_axis_head(&c->y))))
		error = -ENOMEM;
	for (row = 0; row < b->rows && !error; row++) {
		size_t end = (row + 1) * b->each < b->count ? (row + 1) * b->each : b->count;
		uint64_t sum = bins_sum(c, b, series, row);
		union pasta_value value = {.i = sum < INT64_MAX ? (int64_t)sum : INT64_MAX};

		if (pasta_margin_set(s, row + 1, 0,
				     pasta_axis_text(&c->x, c->bins[row * b->each])) ||
		    pasta_margin_set(s, row + 1, 1, pasta_axis_text(&c->x, c->bins[end])) ||
		    pasta_margin_set(s, row + 1, 2, pasta_cell_text(&count, &value)))
			error = -ENOMEM;
	}
	return error;
}

static int bins_series(FILE *f, const struct pasta_chart *c, const struct bins *b, size_t series,
		       const struct pasta_sink_opts *opts)
{
	char *name = pasta_cell_safe(c->series[series].name);
	struct pasta_margin s = {0};
	int error = name ? bins_margin(&s, c, b, series) : -ENOMEM;
	size_t row, width = error ? 0 : pasta_margin_fit(&s, opts->width, PASTA_PLOT_LEAST);

	if (name && *name)
		fprintf(f, "%s:\n", name);
	free(name);
	if (!error)
		error = pasta_plot_head(f, &s, NULL, opts);
	for (row = 0; row < b->rows && !error; row++) {
		double sum = (double)bins_sum(c, b, series, row);

		error = pasta_margin_put(f, &s, row + 1);
		if (sum > 0) {
			pasta_plot_pad(f, PASTA_GAP);
			pasta_plot_bar(f, pasta_plot_share(sum, 0, b->most), width, opts);
		}
		fputc('\n', f);
	}
	pasta_margin_free(&s);
	return error;
}

int pasta_bins_plot(FILE *f, const struct pasta_chart *chart, const struct pasta_sink_opts *opts)
{
	struct bins b = bins_of(chart, opts);
	int error = 0;
	size_t i;

	for (i = 0; i < chart->series_count && !error; i++)
		error = bins_series(f, chart, &b, i, opts);
	if (!error && b.each > 1)
		fprintf(f, "each row is the sum of at most %zu bins (--rows 0 shows all bins)\n",
			b.each);
	return error;
}
