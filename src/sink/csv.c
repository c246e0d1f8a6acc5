/* csv.c - tables and charts as comma-separated values (RFC 4180). docs/report.md describes it. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "process/io/json.h"
#include "process/io/utf8.h"
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

/* Heads: a text each. */
static void texts(FILE *f, const char *const *list, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		fputs(i ? "," : "", f);
		text(f, list[i]);
	}
	fputs(EOL, f);
}

static void heads(FILE *f, const struct pasta_chart *c)
{
	const char *x = c->x.name, *y = c->y.name, *value = c->value.name;

	switch (c->type) {
	case PASTA_CHART_LINE:
	case PASTA_CHART_AREA:
		texts(f, (const char *const[]){"series", x, y}, 3);
		break;
	case PASTA_CHART_BAR:
	case PASTA_CHART_FLAME:
		texts(f, (const char *const[]){x, y}, 2);
		break;
	case PASTA_CHART_HEAT:
		texts(f, (const char *const[]){x, y, value}, 3);
		break;
	case PASTA_CHART_TIMELINE:
		texts(f,
		      (const char *const[]){"group", y, "depth", x, "duration", "name", "category",
					    value},
		      8);
		break;
	case PASTA_CHART_SCATTER:
		texts(f, (const char *const[]){"series", x, y, value, "label", "slope", "level"},
		      7);
		break;
	case PASTA_CHART_HISTOGRAM:
		texts(f, (const char *const[]){"series", "from", "to", y}, 4);
		break;
	case PASTA_CHART_GRAPH:
		texts(f, (const char *const[]){x, "parent", "label", y, value, "to"}, 6);
		break;
	}
}

/* A place of a heat map: its label, where there are labels. */
static void place(FILE *f, const struct pasta_axis *axis, double value)
{
	if (axis->label_count)
		text(f, axis->labels[(size_t)value]);
	else
		number(f, value);
	fputs(",", f);
}

static void heat_cell(FILE *f, const struct pasta_chart *c, double x, double y, double value)
{
	place(f, &c->x, x);
	place(f, &c->y, y);
	numbers(f, &value, 1);
}

static void slice(FILE *f, const struct pasta_chart *c, const union pasta_item *it)
{
	const struct pasta_lane_row *lane = &c->lanes[it->slice.lane];
	const struct pasta_slice_name *name = &c->names[it->slice.name];

	text(f, lane->group ? lane->group : "");
	fputs(",", f);
	text(f, lane->name);
	fprintf(f, ",%" PRIu32 ",%" PRId64 ",%" PRId64 ",", lane->depth, it->slice.start,
		it->slice.dur);
	text(f, name->text);
	fprintf(f, ",%s,", pasta_category_name(name->category));
	numbers(f, &it->slice.value, 1);
}

static void node(FILE *f, const union pasta_item *it, size_t id)
{
	fprintf(f, "%zu,", id);
	if (it->node.parent != PASTA_NO_NODE)
		fprintf(f, "%" PRIu32, it->node.parent);
	fputs(",", f);
	text(f, it->node.label);
	fputs(",", f);
	numbers(f, (const double[]){it->node.value, it->node.cost, NAN}, 3);
}

static void spot(FILE *f, const union pasta_item *it)
{
	number(f, it->spot.x);
	fputs(",", f);
	number(f, it->spot.y);
	fputs(",", f);
	number(f, it->spot.size);
	fputs(",", f);
	text(f, it->spot.label ? it->spot.label : "");
	fputs(",," EOL, f);
}

static int stack(FILE *f, const union pasta_item *it)
{
	char *folded = pasta_folded_text(it);

	if (!folded)
		return -ENOMEM;
	text(f, folded);
	fprintf(f, ",%" PRId64 EOL, it->stack.value);
	free(folded);
	return 0;
}

static void bin(FILE *f, const union pasta_item *it, const double *edges)
{
	number(f, edges[0]);
	fputs(",", f);
	number(f, edges[1]);
	fprintf(f, ",%" PRIu64 EOL, it->count);
}

/* One of a series, if it is of one. */
static int item(FILE *f, const struct pasta_chart *c, size_t i, const struct pasta_series *series)
{
	const union pasta_item *it = &c->items[i];

	switch (c->type) {
	case PASTA_CHART_LINE:
	case PASTA_CHART_AREA:
		numbers(f, (const double[]){it->point.x, it->point.y}, 2);
		break;
	case PASTA_CHART_HEAT:
		heat_cell(f, c, it->cell.x, it->cell.y, it->cell.value);
		break;
	case PASTA_CHART_BAR:
		text(f, it->bar.label);
		fputs(",", f);
		numbers(f, &it->bar.value, 1);
		break;
	case PASTA_CHART_FLAME:
		return stack(f, it);
	case PASTA_CHART_TIMELINE:
		slice(f, c, it);
		break;
	case PASTA_CHART_SCATTER:
		spot(f, it);
		break;
	case PASTA_CHART_HISTOGRAM:
		bin(f, it, &c->bins[series ? i - series->first : i]);
		break;
	case PASTA_CHART_GRAPH:
		node(f, it, i);
		break;
	}
	return 0;
}

static void grid(FILE *f, const struct pasta_chart *c)
{
	const struct pasta_grid *g = &c->grid->as;
	size_t i;

	for (i = 0; i < g->nx * g->ny; i++) {
		union pasta_item it = pasta_chart_grid_item(c->grid, i);

		if (!isnan(it.cell.value))
			heat_cell(f, c, it.cell.x, it.cell.y, it.cell.value);
	}
}

/* What comes after the items: limits of scatter plots, and edges of graphs. */
static void parts(FILE *f, const struct pasta_chart *c)
{
	size_t i;

	for (i = 0; i < c->limit_count; i++) {
		fputs(",,,,", f);
		text(f, c->limits[i].name);
		fputs(c->limits[i].slope ? "," : ",,", f);
		number(f, c->limits[i].value);
		fputs(c->limits[i].slope ? "," EOL : EOL, f);
	}
	for (i = 0; i < c->edge_count; i++) {
		fprintf(f, "%" PRIu32 ",,,", c->edges[i].from);
		number(f, c->edges[i].value);
		fprintf(f, ",,%" PRIu32 EOL, c->edges[i].to);
	}
}

static int chart(FILE *f, const struct pasta_chart *c)
{
	const struct pasta_series *series = NULL;
	size_t i, next = 0;
	int error = 0;

	heads(f, c);
	for (i = 0; i < c->used && !error; i++) {
		while (next < c->series_count && i >= c->series[next].first)
			series = &c->series[next++];
		if (series)
			text(f, series->name);
		if (pasta_chart_has_series(c->type))
			fputs(",", f);
		error = item(f, c, i, series);
	}
	if (c->grid)
		grid(f, c);
	parts(f, c);
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
		if (pasta_sink_select(out, out->tables[i]->name, name) && !choice->count++)
			choice->table = out->tables[i];
	for (i = 0; i < out->chart_count; i++)
		if (pasta_sink_select(out, out->charts[i]->name, name) && !choice->count++)
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
