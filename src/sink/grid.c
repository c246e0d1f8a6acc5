/* grid.c - writes tables as aligned columns that fit the terminal. Names have priority: columns of
 * statistics are removed before names are cut. */
#include "sink/grid.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sink/cell.h"
#include "sink/margin.h"
#include "sink/plot.h"

/* columns of statistics are removed until columns of text can have this width, if they need it */
#define NAME_ENOUGH 30

/* The layout of a table: the texts of the column heads and of the rows to show. */
struct grid {
	const struct pasta_table *table;
	size_t rows;
	/* array of (rows + 1) * columns texts, which begins with the heads of the columns */
	char **cells;
	size_t *widths; /* width of each column; 0: the column is not shown */
	size_t last;	/* the last column of the table that is shown */
};

static void grid_free(struct grid *g)
{
	size_t i;

	for (i = 0; g->cells && i < (g->rows + 1) * g->table->count; i++)
		free(g->cells[i]);
	free(g->cells);
	free(g->widths);
}

static bool grid_is_text(const struct grid *g, size_t column)
{
	return g->table->columns[column].type == PASTA_COLUMN_STRING;
}

static char *grid_cell(const struct pasta_table *t, size_t row, size_t column,
		       struct pasta_grids *grids)
{
	const union pasta_value *value = pasta_table_cell(t, row, column);
	const char *name;

	if (!value || t->columns[column].type != PASTA_COLUMN_STRING ||
	    t->columns[column].role != PASTA_ROLE_KERNEL)
		return pasta_cell_text(&t->columns[column], value);
	name = pasta_shortnames_add(grids->names, value->s);
	return name ? pasta_cell_safe(name) : NULL;
}

static int grid_fill(struct grid *g, struct pasta_grids *grids)
{
	const struct pasta_table *t = g->table;
	size_t i, n = t->count;

	g->cells = calloc((g->rows + 1) * n, sizeof(*g->cells));
	g->widths = calloc(n, sizeof(*g->widths));
	if (!g->cells || !g->widths)
		return -ENOMEM;
	for (i = 0; i < (g->rows + 1) * n; i++) {
		size_t width;

		g->cells[i] = i < n ? pasta_cell_head(&t->columns[i])
				    : grid_cell(t, i / n - 1, i % n, grids);
		if (!g->cells[i])
			return -ENOMEM;
		width = pasta_cell_width(g->cells[i]);
		if (width > g->widths[i % n])
			g->widths[i % n] = width;
	}
	return 0;
}

/* -- Which columns to show -- */

/* Returns the width of the table if no column of text is wider than `most`. */
static size_t grid_width(const struct grid *g, size_t most)
{
	size_t i, total = 0;

	for (i = 0; i < g->table->count; i++) {
		bool cut = grid_is_text(g, i) && g->widths[i] > most;

		total += g->widths[i] ? (cut ? most : g->widths[i]) + PASTA_GAP : 0;
	}
	return total ? total - PASTA_GAP : 0;
}

/* Returns whether all cells of a column are 0 or empty. */
static bool grid_is_blank(const struct pasta_table *t, size_t column)
{
	bool whole = t->columns[column].type == PASTA_COLUMN_INT;
	size_t row;

	for (row = 0; row < pasta_table_rows(t); row++) {
		const union pasta_value *value = pasta_table_cell(t, row, column);

		if (value && (!whole || value->i))
			return false;
	}
	return row > 0;
}

/* Returns whether a column of text that is not a name has the same text in all rows. */
static bool grid_is_uniform(const struct pasta_table *t, size_t column)
{
	const union pasta_value *first =
		pasta_table_rows(t) ? pasta_table_cell(t, 0, column) : NULL;
	size_t row;

	if (!first || t->columns[column].type != PASTA_COLUMN_STRING || t->columns[column].role)
		return false;
	for (row = 1; row < pasta_table_rows(t); row++) {
		const union pasta_value *value = pasta_table_cell(t, row, column);

		if (!value || strcmp(value->s, first->s) != 0)
			return false;
	}
	return row > 1;
}

/* Returns whether the rows are sorted by an integer column, the greatest first, and not all
 * equal. */
static bool grid_is_sorted(const struct pasta_table *t, size_t column)
{
	size_t row, rows = pasta_table_rows(t);
	const union pasta_value *first = rows ? pasta_table_cell(t, 0, column) : NULL,
				*before = first;

	for (row = 1; row < rows; row++) {
		const union pasta_value *value = pasta_table_cell(t, row, column);

		if (!before || !value || before->i < value->i)
			return false;
		before = value;
	}
	return before && before->i < first->i;
}

/* Returns the column that is always shown: the first time by which the rows are sorted, else the
 * first number by which they are sorted, else the first time or size. Returns SIZE_MAX if there is
 * none. */
static size_t grid_main(const struct grid *g)
{
	const struct pasta_table *t = g->table;
	size_t i, sorted = SIZE_MAX, first = SIZE_MAX;

	for (i = 0; i < t->count; i++) {
		bool time = t->columns[i].role == PASTA_ROLE_TIME, is_sorted;
		bool size = t->columns[i].unit && !strcmp(t->columns[i].unit, "bytes");

		if (t->columns[i].type != PASTA_COLUMN_INT || !g->widths[i])
			continue;
		is_sorted = grid_is_sorted(t, i);
		if (is_sorted && time)
			return i;
		if (is_sorted && sorted == SIZE_MAX)
			sorted = i;
		if ((time || size) && first == SIZE_MAX)
			first = i;
	}
	return sorted == SIZE_MAX ? first : sorted;
}

/* Returns the first share after the main column, which is usually a share of that column. If there
 * is none, returns the first share, or SIZE_MAX. */
static size_t grid_share(const struct grid *g, size_t main)
{
	size_t i, share = SIZE_MAX;

	for (i = 0; i < g->table->count; i++) {
		if (g->table->columns[i].role != PASTA_ROLE_SHARE || !g->widths[i])
			continue;
		if (share == SIZE_MAX || (share < main && i > main && main != SIZE_MAX))
			share = i;
	}
	return share;
}

/* Returns whether the table has a column of long texts. */
static bool grid_has_long_text(const struct grid *g)
{
	size_t i;

	for (i = 0; i < g->table->count; i++)
		if (grid_is_text(g, i) && g->widths[i] >= NAME_ENOUGH)
			return true;
	return false;
}

/* Remove columns, starting from the right, until columns of text of `most` columns fit. If there
 * are long texts, first remove texts that are the same in all rows, and then statistics. The main
 * column and one share are always shown; if the table has neither, the first number. */
static void grid_drop(struct grid *g, size_t width, size_t most, struct pasta_grids *grids)
{
	const struct pasta_table *t = g->table;
	size_t i, main = grid_main(g), share = grid_share(g, main), first = 0;

	while (first < t->count && (grid_is_text(g, first) || !g->widths[first]))
		first++;
	if (main != SIZE_MAX || share != SIZE_MAX)
		first = SIZE_MAX;
	for (int numbers = grid_has_long_text(g) ? 0 : 1; numbers < 2; numbers++)
		for (i = t->count; --i > 0 && grid_width(g, most) > width;) {
			bool drop = numbers ? !grid_is_text(g, i) && i != main && i != share &&
						      i != first
					    : grid_is_uniform(t, i);

			if (drop && g->widths[i]) {
				g->widths[i] = 0;
				grids->hidden++;
			}
		}
}

/* Returns the widest column of text that can be made narrower; SIZE_MAX if no column can. */
static size_t grid_widest(const struct grid *g)
{
	size_t i, best = SIZE_MAX;

	for (i = 0; i < g->table->count; i++)
		if (grid_is_text(g, i) && g->widths[i] > PASTA_NAME_LEAST &&
		    (best == SIZE_MAX || g->widths[i] > g->widths[best]))
			best = i;
	return best;
}

/* Make the table fit the terminal: remove blank columns, remove columns that matter least, and cut
 * texts, starting with the widest column. */
static int grid_fit(struct grid *g, struct pasta_grids *grids)
{
	size_t i, total, width = grids->opts->width;
	int error = 0;

	for (i = g->table->count; grid_width(g, SIZE_MAX) > width && --i > 0;)
		if (grid_is_blank(g->table, i))
			g->widths[i] = 0;
	total = grid_width(g, NAME_ENOUGH);
	grid_drop(g, width, NAME_ENOUGH, grids);
	if (grids->widest < total)
		grids->widest = total;
	g->last = g->table->count - 1;
	while (g->last && !g->widths[g->last])
		g->last--;
	for (total = grid_width(g, SIZE_MAX); total > width; total--) {
		i = grid_widest(g);
		if (i == SIZE_MAX)
			break;
		g->widths[i]--;
	}
	for (i = 0; i < g->table->count && !error; i++)
		if (grid_is_text(g, i) && g->widths[i])
			error = pasta_cell_fit(g->cells + g->table->count + i, g->rows,
					       g->table->count, g->widths[i]);
	return error;
}

/* -- Writing -- */

static int grid_put_cell(FILE *f, const struct grid *g, size_t row, size_t i, size_t end)
{
	char *cut = pasta_cell_cut(g->cells[row * g->table->count + i], g->widths[i], g->widths[i]);
	size_t width = cut ? pasta_cell_width(cut) : 0, space;

	if (!cut)
		return -ENOMEM;
	space = width < g->widths[i] ? g->widths[i] - width : 0;
	pasta_plot_pad(f, i ? PASTA_GAP : 0);
	pasta_plot_pad(f, grid_is_text(g, i) ? 0 : space);
	fputs(cut, f);
	pasta_plot_pad(f, grid_is_text(g, i) && i != g->last && i + 1 != end ? space : 0);
	free(cut);
	return 0;
}

/* Returns the number of cells of a row, without the cells at the row's end that are empty or not
 * shown. */
static size_t grid_row_end(const struct grid *g, size_t row)
{
	size_t end = g->table->count;

	while (end && (!*g->cells[row * g->table->count + end - 1] || !g->widths[end - 1]))
		end--;
	return end;
}

static int grid_put_rows(FILE *f, const struct grid *g, const struct pasta_sink_opts *opts)
{
	size_t row, i;

	for (row = 0; row <= g->rows; row++) {
		size_t end = grid_row_end(g, row);

		if (!row)
			pasta_plot_on(f, PASTA_BOLD, opts);
		for (i = 0; i < end; i++)
			if (g->widths[i] && grid_put_cell(f, g, row, i, end))
				return -ENOMEM;
		if (!row)
			pasta_plot_off(f, opts);
		fputc('\n', f);
	}
	return 0;
}

int pasta_grid_put(FILE *f, const struct pasta_table *table, struct pasta_grids *grids)
{
	size_t rows = pasta_table_rows(table);
	struct grid g = {.table = table, .rows = pasta_plot_limit(rows, grids->opts)};
	int error = grid_fill(&g, grids);

	if (!error)
		error = grid_fit(&g, grids);
	if (!error)
		error = grid_put_rows(f, &g, grids->opts);
	if (!error)
		pasta_plot_more(f, rows - g.rows, "rows", grids->opts);
	grid_free(&g);
	return error;
}
