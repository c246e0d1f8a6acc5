/* csv.c - tables and charts as comma-separated values (RFC 4180). docs/report.md describes it. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "process/json.h"
#include "process/utf8.h"
#include "sink/cell.h"
#include "sink/sink.h"

#define EOL "\r\n"

/* Nothing that a terminal would obey: escapes as in the text format. */
static void safe(FILE *f, const char *s, bool field)
{
	const char *end = s + strlen(s);
	char buf[PASTA_CELL_PUT];

	while (s < end) {
		uint32_t c = pasta_utf8_next(&s, end);
		size_t size = pasta_cell_put(buf, c);

		if (c == '"' && field)
			fputc('"', f);
		fwrite(buf, 1, size, f);
	}
}

/* By what a spreadsheet knows a formula, also in full width. */
static bool csv_begins_formula(uint32_t c)
{
	return c == '=' || c == '+' || c == '-' || c == '@' || c == 0xff1d || c == 0xff0b ||
	       c == 0xff0d || c == 0xff20;
}

/* Behind quotes, too: so one quote can be taken away from each cell that looks like that. A sign
 * alone, or a number, is no formula. */
static bool csv_is_formula(const char *s)
{
	const char *end;
	uint32_t c;

	s += strspn(s, "'");
	end = s + strlen(s);
	c = s < end ? pasta_utf8_next(&s, end) : 0;
	if (c == '+' || c == '-')
		s += strspn(s, "0123456789.");
	return csv_begins_formula(c) && s < end;
}

static void text(FILE *f, const char *s)
{
	/* Where people write 1,5 spreadsheets divide lines at semicolons, and take what follows one
	 * for a cell, or a formula. */
	bool quoted = strpbrk(s, ",;\"") != NULL;

	if (quoted)
		fputc('"', f);
	if (csv_is_formula(s))
		fputc('\'', f);
	safe(f, s, true);
	if (quoted)
		fputc('"', f);
}

static void number(FILE *f, double value)
{
	char buf[40];

	if (!isfinite(value))
		return; /* an empty field: there is no value */
	pasta_json_float_text(buf, sizeof(buf), value);
	fputs(buf, f);
}

static void cell(FILE *f, enum pasta_column_type type, const union pasta_value *value)
{
	if (!value)
		return; /* an empty field */
	if (type == PASTA_COLUMN_STRING)
		text(f, value->s);
	else if (type == PASTA_COLUMN_INT)
		fprintf(f, "%" PRId64, value->i);
	else
		number(f, value->f);
}

static void table(FILE *f, const struct pasta_table *t)
{
	size_t row, i;

	for (i = 0; i < t->count; i++) {
		fputs(i ? "," : "", f);
		text(f, t->columns[i].name);
	}
	fputs(EOL, f);
	for (row = 0; row < pasta_table_rows(t); row++) {
		for (i = 0; i < t->count; i++) {
			fputs(i ? "," : "", f);
			cell(f, t->columns[i].type, pasta_table_cell(t, row, i));
		}
		fputs(EOL, f);
	}
}

/* -- Charts: the names of their axes are those of the columns. -- */

static void numbers(FILE *f, const double *values, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		fputs(i ? "," : "", f);
		number(f, values[i]);
	}
	fputs(EOL, f);
}

static void heads(FILE *f, const struct pasta_chart *c)
{
	fputs(c->type == PASTA_CHART_LINE ? "series," : "", f);
	text(f, c->x.name);
	fputs(",", f);
	text(f, c->y.name);
	if (c->type == PASTA_CHART_HEAT) {
		fputs(",", f);
		text(f, c->value.name);
	}
	fputs(EOL, f);
}

static int item(FILE *f, const struct pasta_chart *c, const union pasta_item *it)
{
	char *stack;

	switch (c->type) {
	case PASTA_CHART_LINE:
		numbers(f, (const double[]){it->point.x, it->point.y}, 2);
		break;
	case PASTA_CHART_HEAT:
		numbers(f, (const double[]){it->cell.x, it->cell.y, it->cell.value}, 3);
		break;
	case PASTA_CHART_BAR:
		text(f, it->bar.label);
		fputs(",", f);
		numbers(f, &it->bar.value, 1);
		break;
	case PASTA_CHART_FLAME:
		stack = pasta_folded_text(it);
		if (!stack)
			return -ENOMEM;
		text(f, stack);
		fprintf(f, ",%" PRId64 EOL, it->stack.value);
		free(stack);
		break;
	}
	return 0;
}

static int chart(FILE *f, const struct pasta_chart *c)
{
	size_t i, series = 0;
	int error = 0;

	heads(f, c);
	for (i = 0; i < c->used && !error; i++) {
		if (c->type == PASTA_CHART_LINE) {
			while (i >= c->series[series].first + c->series[series].count)
				series++;
			text(f, c->series[series].name);
			fputs(",", f);
		}
		error = item(f, c, &c->items[i]);
	}
	return error;
}

/* -- What to write -- */

struct choice {
	size_t count; /* tables and charts that are wanted */
	const struct pasta_table *table;
	const struct pasta_chart *chart; /* one of the two is the first */
};

static void choose(struct choice *choice, const struct pasta_out *out, const char *name)
{
	size_t i;

	for (i = 0; i < out->table_count; i++)
		if (pasta_sink_wanted(out, out->tables[i]->name, name) && !choice->count++)
			choice->table = out->tables[i];
	for (i = 0; i < out->chart_count; i++)
		if (pasta_sink_wanted(out, out->charts[i]->name, name) && !choice->count++)
			choice->chart = out->charts[i];
}

static void title(FILE *f, const char *what, const char *name)
{
	fprintf(f, "# %s ", what);
	safe(f, name, false);
	fputs(EOL, f);
}

static int all_of_tool(FILE *f, const struct pasta_out *out)
{
	int error = 0;
	size_t i;

	for (i = 0; i < out->table_count; i++) {
		title(f, "table", out->tables[i]->name);
		table(f, out->tables[i]);
		fputs(EOL, f);
	}
	for (i = 0; i < out->chart_count && !error; i++) {
		title(f, "chart", out->charts[i]->name);
		error = chart(f, out->charts[i]);
		fputs(EOL, f);
	}
	return error;
}

static int all(FILE *f, const struct pasta_result *r)
{
	int error = 0;
	size_t i;

	for (i = 0; i < r->count && !error; i++)
		error = all_of_tool(f, r->outs[i]);
	fprintf(f, "# table loss" EOL "expected,captured,dropped" EOL);
	fprintf(f, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 EOL, r->loss.expected, r->loss.captured,
		r->loss.dropped);
	return error;
}

static int csv(FILE *file, const struct pasta_result *result, const struct pasta_sink_opts *opts,
	       struct pasta_error *err)
{
	struct choice choice = {0};
	int error = 0;
	size_t i;

	for (i = 0; i < result->count; i++)
		choose(&choice, result->outs[i], opts->table);
	if (opts->table && !choice.count)
		return pasta_fail(err, -ENOENT,
				  "there is no table '%s': --format text shows what there is",
				  opts->table);
	if (opts->table && choice.count > 1)
		return pasta_fail(err, -EINVAL, "there are %zu tables '%s': say TOOL.%s",
				  choice.count, opts->table, opts->table);
	if (choice.count != 1)
		error = all(file, result);
	else if (choice.table)
		table(file, choice.table);
	else
		error = chart(file, choice.chart);
	if (error)
		return pasta_fail(err, error, "cannot write the report: %s", strerror(-error));
	return pasta_sink_flush(file, err);
}

const struct pasta_sink pasta_sink_csv = {
	.name = "csv",
	.summary = "comma-separated values, a table or chart after the other",
	.one = true,
	.write = csv,
};
