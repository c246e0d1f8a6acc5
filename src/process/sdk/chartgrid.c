/* chartgrid.c - draws heat maps and histograms. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "process/sdk/result.h"

enum { EDGES_MAX = 65536 };

/* -- Heat maps -- */

static bool grid_labels_fit(const struct pasta_axis *axis, double first, double step, uint64_t n,
			    uint64_t most)
{
	return !axis->label_count ||
	       (first == 0 && step == 1 && n == axis->label_count && n <= most);
}

/* Returns a description of the first error in a grid, or NULL if the grid is valid. */
static const char *grid_wrong(const struct pasta_chart *c, const struct pasta_grid *g)
{
	if (!g || g->size < sizeof(*g))
		return "the grid definition does not set .size: set it to sizeof(struct "
		       "pasta_grid)";
	if (c->grid || c->used)
		return "pasta_chart_grid must be called once, before pasta_chart_cell";
	if (!g->nx || !g->ny || g->nx > UINT32_MAX || g->ny > UINT32_MAX)
		return "a grid must have 1 to 2^32 - 1 rows and columns";
	if (!isfinite(g->x0) || !isfinite(g->y0) || !isfinite(g->dx) || !isfinite(g->dy) ||
	    g->dx <= 0 || g->dy <= 0 || !isfinite(g->x0 + g->dx * (double)g->nx) ||
	    !isfinite(g->y0 + g->dy * (double)g->ny))
		return "the start positions of a grid must be finite, and its steps must be above "
		       "0";
	if (c->x.scale == PASTA_SCALE_LOG || c->y.scale == PASTA_SCALE_LOG)
		return "the axes of a heat map with a grid cannot be logarithmic";
	if (!grid_labels_fit(&c->x, g->x0, g->dx, g->nx, PASTA_GRID_COLUMNS) ||
	    !grid_labels_fit(&c->y, g->y0, g->dy, g->ny, PASTA_GRID_ROWS))
		return "a grid with labels must start at 0, and have steps of 1 and one cell for "
		       "each label";
	return NULL;
}

/* Combines neighboring cells along one axis, until the axis has at most `most` cells. */
static void grid_fold(uint64_t *n, double *step, uint64_t most)
{
	uint64_t each = (*n + most - 1) / most;

	*n = (*n + each - 1) / each;
	*step *= (double)each;
}

void pasta_chart_grid(struct pasta_chart *chart, const struct pasta_grid *grid)
{
	struct pasta_chart_grid *g;
	const char *wrong;
	size_t i, cells;

	if (!pasta_chart_can(chart, PASTA_CHART_HEAT, "grid"))
		return;
	wrong = grid_wrong(chart, grid);
	if (wrong) {
		pasta_chart_fail(chart, wrong);
		return;
	}
	g = calloc(1, sizeof(*g));
	if (!g) {
		pasta_chart_no_memory(chart);
		return;
	}
	g->as = *grid;
	grid_fold(&g->as.nx, &g->as.dx, PASTA_GRID_COLUMNS);
	grid_fold(&g->as.ny, &g->as.dy, PASTA_GRID_ROWS);
	cells = (size_t)(g->as.nx * g->as.ny);
	g->cells = calloc(cells, sizeof(*g->cells));
	for (i = 0; g->cells && i < cells; i++)
		g->cells[i] = NAN;
	if (g->cells) {
		chart->grid = g;
		return;
	}
	free(g);
	pasta_chart_no_memory(chart);
}

/* Returns the number of the cell at a position on an axis, or n if the position is outside of the
 * grid. */
static uint64_t grid_at(double position, double first, double step, uint64_t n)
{
	double at = floor((position - first) / step);

	if (position < first || position >= first + step * (double)n)
		return n;
	return at < (double)n ? (uint64_t)at : n - 1; /* rounded up */
}

static void grid_put(struct pasta_chart *c, double x, double y, double value)
{
	struct pasta_grid *g = &c->grid->as;
	uint64_t i = grid_at(x, g->x0, g->dx, g->nx), j = grid_at(y, g->y0, g->dy, g->ny);
	double *cell;

	if (i == g->nx || j == g->ny) {
		pasta_chart_fail(c, "a cell's position is outside of the grid");
		return;
	}
	if (!isfinite(value))
		return;
	cell = &c->grid->cells[j * g->nx + i];
	c->grid->filled += isnan(*cell);
	*cell = fmax(*cell, value);
}

void pasta_chart_cell(struct pasta_chart *chart, double x, double y, double value)
{
	if (!pasta_chart_can(chart, PASTA_CHART_HEAT, "cells") ||
	    !pasta_chart_position(chart, &chart->x, x, "a cell's position") ||
	    !pasta_chart_position(chart, &chart->y, y, "a cell's position"))
		return;
	if (chart->grid)
		grid_put(chart, x, y, value);
	else
		pasta_chart_add(chart, (union pasta_item){.cell = {x, y, value}});
}

union pasta_item pasta_chart_grid_item(const struct pasta_chart_grid *grid, size_t number)
{
	const struct pasta_grid *g = &grid->as;
	uint64_t column = number % g->nx, row = number / g->nx;

	return (union pasta_item){.cell = {g->x0 + g->dx * (double)column,
					   g->y0 + g->dy * (double)row, grid->cells[number]}};
}

/* -- Histograms -- */

void pasta_chart_edges(struct pasta_chart *chart, const double *edges, size_t count)
{
	size_t i;

	if (!pasta_chart_can(chart, PASTA_CHART_HISTOGRAM, "edges"))
		return;
	if (chart->bins || !edges || count < 2 || count > EDGES_MAX) {
		pasta_chart_fail(chart, "pasta_chart_edges must be called once, with 2 to 65536 "
					"edges");
		return;
	}
	for (i = 0; i < count; i++) {
		if (!pasta_chart_position(chart, &chart->x, edges[i], "an edge"))
			return;
		if (i && edges[i] <= edges[i - 1]) {
			pasta_chart_fail(chart, "the edges of a histogram must ascend");
			return;
		}
	}
	chart->bins = calloc(count, sizeof(*edges));
	if (!chart->bins) {
		pasta_chart_no_memory(chart);
		return;
	}
	memcpy(chart->bins, edges, count * sizeof(*edges));
	chart->bin_edges = count;
}

void pasta_chart_counts(struct pasta_chart *chart, const uint64_t *counts, size_t count)
{
	struct pasta_series *series;
	size_t i;

	if (!pasta_chart_can(chart, PASTA_CHART_HISTOGRAM, "counts"))
		return;
	series = pasta_chart_last(chart, "counts");
	if (!series)
		return;
	if (!chart->bins || !counts || count + 1 != chart->bin_edges || series->count) {
		pasta_chart_fail(chart,
				 "pasta_chart_counts must be called once for each series, after "
				 "pasta_chart_edges, with one count for each bin");
		return;
	}
	for (i = 0; i < count; i++)
		if (!pasta_chart_add(chart, (union pasta_item){.count = counts[i]}))
			return;
}
