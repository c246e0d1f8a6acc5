/* text.c - writes a result as text: aligned tables, and charts that fit the terminal. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/read/loss.h"
#include "sink/cell.h"
#include "sink/findings.h"
#include "sink/grid.h"
#include "sink/plot.h"
#include "sink/sink.h"

#define YELLOW "\033[33m"

enum { BRIEF = 30 };

/* A report while it is written. */
struct text {
	const struct pasta_sink_opts *opts;
	struct pasta_findings *findings;
	struct pasta_grids grids;
};

static int text_put_safe(FILE *f, const char *before, const char *text)
{
	char *safe = pasta_cell_safe(text);

	if (!safe)
		return -ENOMEM;
	fprintf(f, "%s%s", before, safe);
	free(safe);
	return 0;
}

/* Print the heading of a tool, "== memory ==". */
static int text_put_heading(FILE *f, const char *name, const struct pasta_sink_opts *opts)
{
	int error;

	pasta_plot_on(f, PASTA_BOLD, opts);
	error = text_put_safe(f, "== ", name);
	fputs(" ==", f);
	pasta_plot_off(f, opts);
	fputc('\n', f);
	return error;
}

/* Returns whether the first column has the name of the table, so that a heading would repeat it. */
static bool text_names_itself(const struct pasta_table *t)
{
	return pasta_table_rows(t) && !strcmp(t->name, t->columns[0].name);
}

/* Returns the number of tables of a brief report. A tool whose first table needs no heading fills a
 * screen with its tables, of at most BRIEF lines. Of other tools, only the first table is shown. */
static size_t text_brief_tables(const struct pasta_out *out, const struct pasta_sink_opts *opts)
{
	size_t n = 0, lines = 1;

	if (out->table_count && !text_names_itself(out->tables[0]))
		return 1;
	for (; n < out->table_count; n++) {
		const struct pasta_table *t = out->tables[n];
		size_t rows = pasta_table_rows(t);

		/* the header, a heading, and the blank line between tables */
		lines += (opts->rows && rows > opts->rows ? opts->rows + 1 : rows) + 1;
		lines += (n > 0) + !text_names_itself(t);
		if (n && lines > BRIEF)
			break;
	}
	return n;
}

/* Print a table of a tool, under the heading "-- sites" unless it is the tool's only or main
 * table. */
static int text_put_table(FILE *f, const struct pasta_table *t, bool heading, struct text *text)
{
	bool empty = !pasta_table_rows(t);
	int error = heading ? text_put_safe(f, "-- ", t->name) : 0;

	if (heading)
		fputs(empty ? " " : "\n", f);
	if (empty)
		fputs("(no rows)\n", f);
	return error || empty ? error : pasta_grid_put(f, t, &text->grids);
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

/* Returns whether a tool has reported neither rows nor items of charts. */
static bool text_has_nothing(const struct pasta_out *out)
{
	size_t i;

	for (i = 0; i < out->table_count; i++)
		if (pasta_table_rows(out->tables[i]))
			return false;
	for (i = 0; i < out->chart_count; i++)
		if (!pasta_chart_is_empty(out->charts[i]))
			return false;
	return true;
}

/* Print the tables and charts of a tool. */
static int text_put_items(FILE *f, const struct pasta_out *out, size_t tables, struct text *text)
{
	size_t i, charts = text->opts->brief ? 0 : out->chart_count;
	int error = 0;

	if (tables && text_has_nothing(out)) {
		fputs("(no rows)\n", f);
		return 0;
	}
	for (i = 0; i < tables && !error; i++) {
		const struct pasta_table *t = out->tables[i];
		bool main = !i && (tables + charts == 1 || !strcmp(t->name, out->name));

		fputs(i ? "\n" : "", f);
		error = text_put_table(f, t, !main && !text_names_itself(t), text);
	}
	for (i = 0; i < charts && !error; i++) {
		fputs(i || tables ? "\n-- " : "-- ", f);
		error = pasta_plot(f, out->charts[i], text->opts);
	}
	return error;
}

static int text_put_tool(FILE *f, const struct pasta_out *out, struct text *text)
{
	bool brief = text->opts->brief;
	size_t tables = brief ? text_brief_tables(out, text->opts) : out->table_count;
	int error = text_put_heading(f, out->name, text->opts);

	if (!error)
		error = text_put_items(f, out, tables, text);
	if (brief && !error)
		error = text_put_omitted(f, out, tables);
	if (!error)
		error = pasta_findings_put(f, text->findings, out, text->grids.names, text->opts);
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
	return text_has_nothing(out) && !out->finding_count && !out->err.code;
}

static bool text_all_empty(const struct pasta_result *result)
{
	size_t i = 0;

	while (i < result->count && text_is_empty(result->outs[i]))
		i++;
	return i == result->count;
}

/* Print what the report does not show, and how many events were dropped. */
static void text_put_end(FILE *f, const struct pasta_result *result, const struct text *text)
{
	bool dropped = result->loss.dropped;
	char line[400];

	if (text->grids.hidden)
		fprintf(f, "columns that do not fit: %zu (--width %zu shows them)\n",
			text->grids.hidden, text->grids.widest);
	if (dropped)
		pasta_plot_on(f, YELLOW, text->opts);
	fputs(pasta_loss_line(&result->loss, line, sizeof(line)), f);
	if (dropped)
		pasta_plot_off(f, text->opts);
	fputc('\n', f);
}

static int text_put(FILE *f, const struct pasta_result *result, struct text *text)
{
	bool skip = text->opts->brief && !text_all_empty(result);
	int error = 0;

	for (size_t i = 0; i < result->count && !error; i++) {
		if (skip && text_is_empty(result->outs[i]))
			continue;
		error = text_put_tool(f, result->outs[i], text);
		fputc('\n', f);
	}
	if (!error)
		text_put_end(f, result, text);
	return error;
}

static int text_write(FILE *file, const struct pasta_result *result,
		      const struct pasta_sink_opts *opts, struct pasta_error *err)
{
	struct text text = {.opts = opts,
			    .findings = pasta_findings_new(result, opts),
			    .grids = {.opts = opts, .names = pasta_shortnames_new()}};
	bool before = pasta_cell_set_ascii(opts->ascii);
	int error = text.findings && text.grids.names ? text_put(file, result, &text) : -ENOMEM;

	pasta_cell_set_ascii(before);
	pasta_findings_free(text.findings);
	pasta_shortnames_free(text.grids.names);
	if (error)
		return pasta_fail(err, error, "cannot write the report: %s", strerror(-error));
	return pasta_sink_flush(file, err);
}

const struct pasta_sink pasta_sink_text = {
	.name = "text", .summary = "tables and charts that fit the terminal", .write = text_write};
