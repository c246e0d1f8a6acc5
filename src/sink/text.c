/* text.c - writes a result as text: aligned tables, and charts that fit the terminal. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/read/loss.h"
#include "process/io/utf8.h"
#include "sink/cell.h"
#include "sink/plot.h"
#include "sink/margin.h"
#include "sink/sink.h"

#define GAP PASTA_GAP
#define NAME_LEAST PASTA_NAME_LEAST

#define BOLD PASTA_BOLD
#define RED "\033[31m"
#define YELLOW "\033[33m"
#define PLAIN "\033[m"

/* The layout of a table: the texts of the column heads and of the rows to show. */
struct grid {
	const struct pasta_table *table;
	size_t rows;
	/* array of (rows + 1) * columns texts, which begins with the heads of the columns */
	char **cells;
	size_t *widths; /* width of each column; 0: the column is not shown */
	/* for each column of the table: how many terminal columns of a truncated text remain before
	 * the ellipsis */
	size_t *heads;
	size_t last; /* the last of the table's columns that are shown */
};

static void grid_free(struct grid *g)
{
	size_t i;

	for (i = 0; g->cells && i < (g->rows + 1) * g->table->count; i++)
		free(g->cells[i]);
	free(g->cells);
	free(g->widths);
	free(g->heads);
}

static int grid_fill(struct grid *g)
{
	const struct pasta_table *t = g->table;
	size_t i, n = t->count;

	g->cells = calloc((g->rows + 1) * n, sizeof(*g->cells));
	g->widths = calloc(n, sizeof(*g->widths));
	g->heads = calloc(n, sizeof(*g->heads));
	if (!g->cells || !g->widths || !g->heads)
		return -ENOMEM;
	for (i = 0; i < (g->rows + 1) * n; i++) {
		const struct pasta_column *column = &t->columns[i % n];
		size_t width;

		g->cells[i] =
			i < n ? pasta_cell_head(column)
			      : pasta_cell_text(column, pasta_table_cell(t, i / n - 1, i % n));
		if (!g->cells[i])
			return -ENOMEM;
		width = pasta_cell_width(g->cells[i]);
		if (width > g->widths[i % n])
			g->widths[i % n] = width;
	}
	return 0;
}

/* Returns the widest column of text that can be made narrower; SIZE_MAX if no column can. */
static size_t grid_widest(const struct grid *g)
{
	size_t i, best = SIZE_MAX;

	for (i = 0; i < g->table->count; i++)
		if (g->table->columns[i].type == PASTA_COLUMN_STRING && g->widths[i] > NAME_LEAST &&
		    (best == SIZE_MAX || g->widths[i] > g->widths[best]))
			best = i;
	return best;
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

/* Make the table fit the terminal. First remove blank columns, starting from the right. Then
 * truncate texts, starting with the widest column. A column of numbers that is not blank is always
 * shown. */
static void grid_fit(struct grid *g, size_t width)
{
	size_t i, total = 0;

	for (i = 0; i < g->table->count; i++)
		total += g->widths[i] + (i ? GAP : 0);
	for (i = g->table->count; total > width && --i > 0;)
		if (grid_is_blank(g->table, i)) {
			total -= g->widths[i] + GAP;
			g->widths[i] = 0;
		}
	g->last = g->table->count - 1;
	while (g->last && !g->widths[g->last])
		g->last--;
	while (total > width && (i = grid_widest(g)) != SIZE_MAX) {
		g->widths[i]--;
		total--;
	}
	for (i = 0; i < g->table->count; i++)
		if (g->table->columns[i].type == PASTA_COLUMN_STRING && g->widths[i])
			g->heads[i] = pasta_cell_cut_head(g->cells + g->table->count + i, g->rows,
							  g->table->count, g->widths[i]);
}

static void text_pad(FILE *f, size_t n)
{
	while (n--)
		fputc(' ', f);
}

static int grid_put_cell(FILE *f, const struct grid *g, size_t row, size_t i, size_t end)
{
	bool left = g->table->columns[i].type == PASTA_COLUMN_STRING;
	char *cut = pasta_cell_cut(g->cells[row * g->table->count + i], g->widths[i], g->heads[i]);
	size_t width = cut ? pasta_cell_width(cut) : 0, space;

	if (!cut)
		return -ENOMEM;
	space = width < g->widths[i] ? g->widths[i] - width : 0;
	text_pad(f, i ? GAP : 0);
	text_pad(f, left ? 0 : space);
	fputs(cut, f);
	text_pad(f, left && i != g->last && i + 1 != end ? space : 0);
	free(cut);
	return 0;
}

/* Returns the number of cells of a row, without the empty cells at the row's end. */
static size_t grid_row_end(const struct grid *g, size_t row)
{
	size_t end = g->table->count;

	while (end && !*g->cells[row * g->table->count + end - 1])
		end--;
	return end;
}

static int grid_put(FILE *f, const struct grid *g, bool color)
{
	size_t row, i;

	for (row = 0; row <= g->rows; row++) {
		size_t end = grid_row_end(g, row);

		fputs(color && !row ? BOLD : "", f);
		for (i = 0; i < end; i++)
			if (g->widths[i] && grid_put_cell(f, g, row, i, end))
				return -ENOMEM;
		fputs(color && !row ? PLAIN "\n" : "\n", f);
	}
	return 0;
}

static int text_put_safe(FILE *f, const char *before, const char *text)
{
	char *safe = text ? pasta_cell_safe(text) : NULL;

	if (text && !safe)
		return -ENOMEM;
	if (safe)
		fprintf(f, "%s%s", before, safe);
	free(safe);
	return 0;
}

static int text_put_table(FILE *f, const struct pasta_table *t, const struct pasta_sink_opts *opts)
{
	size_t rows = pasta_table_rows(t),
	       shown = opts->rows && rows > opts->rows ? opts->rows : rows;
	struct grid g = {.table = t, .rows = shown};
	int error = grid_fill(&g);

	if (!error) {
		grid_fit(&g, opts->width);
		error = text_put_safe(f, opts->color ? BOLD : "", t->name);
		fputs(opts->color ? PLAIN "\n" : "\n", f);
	}
	if (!error)
		error = grid_put(f, &g, opts->color);
	if (!error && !rows)
		fputs("(no rows)\n", f);
	if (!error && shown < rows)
		fprintf(f, "… %zu more rows (--rows 0 for all)\n", rows - shown);
	grid_free(&g);
	return error;
}

static int text_put_time(FILE *f, const char *before, uint64_t ns)
{
	static const struct pasta_column time = {.type = PASTA_COLUMN_FLOAT, .unit = "ns"};
	char *text = pasta_cell_text(&time, &(union pasta_value){.f = (double)ns});

	if (text)
		fprintf(f, "%s%s", before, text);
	free(text);
	return text ? 0 : -ENOMEM;
}

/* Print "; saves at most 3.000 ms; saving that no other finding claims: 1.000 ms". */
static int text_put_saving(FILE *f, const struct pasta_finding *finding, const uint64_t *disjoint)
{
	if (!finding->saving)
		return 0;
	if (text_put_time(f, "; saves at most ", finding->saving))
		return -ENOMEM;
	if (!disjoint || *disjoint >= finding->saving)
		return 0;
	return text_put_time(f, "; saving that no other finding claims: ", *disjoint);
}

/* Print "; see table kernels, row 1". */
static int text_put_ref(FILE *f, const struct pasta_ref *ref)
{
	if (text_put_safe(f, "; see table ", ref->table) ||
	    text_put_safe(f, "; see chart ", ref->chart))
		return -ENOMEM;
	if (ref->table && ref->row != PASTA_NO_ROW)
		fprintf(f, ", row %llu", (unsigned long long)ref->row + 1);
	return 0;
}

/* Print "warning: what, at where: evidence; action". */
static int text_put_finding(FILE *f, const struct pasta_finding *finding, const uint64_t *disjoint,
			    bool color)
{
	static const char *const colors[] = {"", YELLOW, RED};
	const char *on = color && finding->severity <= PASTA_SEVERITY_PROBLEM
				 ? colors[finding->severity]
				 : "";

	fprintf(f, "%s%s%s", on, pasta_severity_name(finding->severity), *on ? PLAIN : "");
	if (text_put_safe(f, ": ", finding->what) || text_put_safe(f, ", at ", finding->where) ||
	    text_put_safe(f, ": ", finding->evidence) || text_put_safe(f, "; ", finding->action) ||
	    text_put_saving(f, finding, disjoint) || text_put_ref(f, &finding->ref))
		return -ENOMEM;
	fputc('\n', f);
	return 0;
}

/* Print what a brief report leaves out: "more tables in the report: a, b; charts: c". */
static int text_put_omitted(FILE *f, const struct pasta_out *out, size_t tables)
{
	size_t i;

	for (i = tables; i < out->table_count; i++)
		if (text_put_safe(f, i == tables ? "more tables in the report: " : ", ",
				  out->tables[i]->name))
			return -ENOMEM;
	for (i = 0; i < out->chart_count; i++) {
		const char *first =
			tables < out->table_count ? "; charts: " : "charts in the report: ";

		if (text_put_safe(f, i ? ", " : first, out->charts[i]->name))
			return -ENOMEM;
	}
	fputs(tables < out->table_count || out->chart_count ? "\n" : "", f);
	return 0;
}

static int text_put_tool(FILE *f, const struct pasta_out *out, const struct pasta_sink_opts *opts)
{
	size_t i, tables = opts->brief && out->table_count > 1 ? 1 : out->table_count;
	int error = 0;

	for (i = 0; i < tables && !error; i++) {
		fputs(i ? "\n" : "", f);
		error = text_put_table(f, out->tables[i], opts);
	}
	for (i = 0; i < out->chart_count && !error && !opts->brief; i++) {
		fputs(i || tables ? "\n" : "", f);
		error = pasta_plot(f, out->charts[i], opts);
	}
	if (opts->brief && !error)
		error = text_put_omitted(f, out, tables);
	for (i = 0; i < out->finding_count && !error; i++)
		error = text_put_finding(f, &out->findings[i],
					 out->disjoint ? &out->disjoint[i] : NULL, opts->color);
	if (!error && out->err.code)
		error = text_put_safe(f, "this tool failed: ", out->err.text);
	if (out->err.code)
		fputc('\n', f);
	return error;
}

/* Returns whether a tool has found nothing, because the run has no events of the kinds that the
 * tool analyzes. */
static bool text_is_empty(const struct pasta_out *out)
{
	size_t i, rows = 0;

	for (i = 0; i < out->table_count; i++)
		rows += pasta_table_rows(out->tables[i]);
	for (i = 0; i < out->chart_count; i++)
		rows += !pasta_chart_is_empty(out->charts[i]);
	return !rows && !out->finding_count && !out->err.code;
}

static bool text_all_empty(const struct pasta_result *result)
{
	size_t i = 0;

	while (i < result->count && text_is_empty(result->outs[i]))
		i++;
	return i == result->count;
}

static int text_write(FILE *file, const struct pasta_result *result,
		      const struct pasta_sink_opts *opts, struct pasta_error *err)
{
	bool skip = opts->brief && !text_all_empty(result);
	char line[400];
	size_t i;
	int error = 0;

	for (i = 0; i < result->count && !error; i++) {
		if (skip && text_is_empty(result->outs[i]))
			continue;
		error = text_put_tool(file, result->outs[i], opts);
		fputc('\n', file);
	}
	if (error)
		return pasta_fail(err, error, "cannot write the report: %s", strerror(-error));
	fprintf(file, opts->color && result->loss.dropped ? YELLOW "%s" PLAIN "\n" : "%s\n",
		pasta_loss_line(&result->loss, line, sizeof(line)));
	return pasta_sink_flush(file, err);
}

const struct pasta_sink pasta_sink_text = {
	.name = "text", .summary = "tables and charts that fit the terminal", .write = text_write};
