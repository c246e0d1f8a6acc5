/* csv.c - writes tables and charts as comma-separated values (RFC 4180). docs/report.md describes
 * the format. */
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

/* Write a text, escaped as in the text format. In a field, double the quotes. */
static void csv_escaped(FILE *f, const char *s, bool field)
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

/* Returns whether a spreadsheet treats a text that begins with this character as a formula.
 * Spreadsheets also recognize the full-width forms of such characters. */
static bool csv_begins_formula(uint32_t c)
{
	return c == '=' || c == '+' || c == '-' || c == '@' || c == 0xff1d || c == 0xff0b ||
	       c == 0xff0d || c == 0xff20;
}

/*
 * Returns whether a spreadsheet would evaluate the text. Quotes at the start of the text are
 * skipped, so that a program can restore the original text by removing exactly one quote from such
 * a cell. A sign alone, or a number, is not a formula.
 */
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

static void csv_text(FILE *f, const char *s)
{
	/* In locales with a decimal comma, spreadsheets split lines at semicolons. Therefore quote
	 * fields that contain semicolons. */
	bool quoted = strpbrk(s, ",;\"") != NULL;

	if (quoted)
		fputc('"', f);
	if (csv_is_formula(s))
		fputc('\'', f);
	csv_escaped(f, s, true);
	if (quoted)
		fputc('"', f);
}

static void csv_number(FILE *f, double value)
{
	char buf[40];

	if (!isfinite(value))
		return; /* an empty field */
	pasta_json_float_text(buf, sizeof(buf), value);
	fputs(buf, f);
}

static void csv_cell(FILE *f, enum pasta_column_type type, const union pasta_value *value)
{
	if (!value)
		return; /* an empty field */
	if (type == PASTA_COLUMN_STRING)
		csv_text(f, value->s);
	else if (type == PASTA_COLUMN_INT)
		fprintf(f, "%" PRId64, value->i);
	else
		csv_number(f, value->f);
}

static void csv_table(FILE *f, const struct pasta_table *t)
{
	size_t row, i;

	for (i = 0; i < t->count; i++) {
		fputs(i ? "," : "", f);
		csv_text(f, t->columns[i].name);
	}
	fputs(EOL, f);
	for (row = 0; row < pasta_table_rows(t); row++) {
		for (i = 0; i < t->count; i++) {
			fputs(i ? "," : "", f);
			csv_cell(f, t->columns[i].type, pasta_table_cell(t, row, i));
		}
		fputs(EOL, f);
	}
}

/* -- Charts: each column has the name of an axis of the chart -- */

static void csv_numbers(FILE *f, const double *values, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		fputs(i ? "," : "", f);
		csv_number(f, values[i]);
	}
	fputs(EOL, f);
}

/* Write a line of texts. */
static void csv_texts(FILE *f, const char *const *list, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		fputs(i ? "," : "", f);
		csv_text(f, list[i]);
	}
	fputs(EOL, f);
}

static void csv_heads(FILE *f, const struct pasta_chart *c)
{
	const char *x = c->x.name, *y = c->y.name, *value = c->value.name;

	switch (c->type) {
	case PASTA_CHART_LINE:
	case PASTA_CHART_AREA:
		csv_texts(f, (const char *const[]){"series", x, y}, 3);
		break;
	case PASTA_CHART_BAR:
	case PASTA_CHART_FLAME:
		csv_texts(f, (const char *const[]){x, y}, 2);
		break;
	case PASTA_CHART_HEAT:
		csv_texts(f, (const char *const[]){x, y, value}, 3);
		break;
	case PASTA_CHART_TIMELINE:
		csv_texts(f,
			  (const char *const[]){"group", y, "depth", x, "duration", "name",
						"category", value},
			  8);
		break;
	case PASTA_CHART_SCATTER:
		csv_texts(f,
			  (const char *const[]){"series", x, y, value, "label", "slope", "level"},
			  7);
		break;
	case PASTA_CHART_HISTOGRAM:
		csv_texts(f, (const char *const[]){"series", "from", "to", y}, 4);
		break;
	case PASTA_CHART_GRAPH:
		csv_texts(f, (const char *const[]){x, "parent", "label", y, value, "to"}, 6);
		break;
	}
}

/* Write a coordinate of a heat map. If its axis has labels, write the label instead. */
static void csv_coordinate(FILE *f, const struct pasta_axis *axis, double value)
{
	if (axis->label_count)
		csv_text(f, axis->labels[(size_t)value]);
	else
		csv_number(f, value);
	fputs(",", f);
}

static void csv_heat_cell(FILE *f, const struct pasta_chart *c, double x, double y, double value)
{
	csv_coordinate(f, &c->x, x);
	csv_coordinate(f, &c->y, y);
	csv_numbers(f, &value, 1);
}

static void csv_slice(FILE *f, const struct pasta_chart *c, const union pasta_item *it)
{
	const struct pasta_lane_row *lane = &c->lanes[it->slice.lane];
	const struct pasta_slice_name *name = &c->names[it->slice.name];

	csv_text(f, lane->group ? lane->group : "");
	fputs(",", f);
	csv_text(f, lane->name);
	fprintf(f, ",%" PRIu32 ",%" PRId64 ",%" PRId64 ",", lane->depth, it->slice.start,
		it->slice.dur);
	csv_text(f, name->text);
	fprintf(f, ",%s,", pasta_category_name(name->category));
	csv_numbers(f, &it->slice.value, 1);
}

static void csv_node(FILE *f, const union pasta_item *it, size_t id)
{
	fprintf(f, "%zu,", id);
	if (it->node.parent != PASTA_NO_NODE)
		fprintf(f, "%" PRIu32, it->node.parent);
	fputs(",", f);
	csv_text(f, it->node.label);
	fputs(",", f);
	csv_numbers(f, (const double[]){it->node.value, it->node.cost, NAN}, 3);
}

static void csv_spot(FILE *f, const union pasta_item *it)
{
	csv_number(f, it->spot.x);
	fputs(",", f);
	csv_number(f, it->spot.y);
	fputs(",", f);
	csv_number(f, it->spot.size);
	fputs(",", f);
	csv_text(f, it->spot.label ? it->spot.label : "");
	fputs(",," EOL, f);
}

static int csv_stack(FILE *f, const union pasta_item *it)
{
	char *folded = pasta_folded_text(it);

	if (!folded)
		return -ENOMEM;
	csv_text(f, folded);
	fprintf(f, ",%" PRId64 EOL, it->stack.value);
	free(folded);
	return 0;
}

static void csv_bin(FILE *f, const union pasta_item *it, const double *edges)
{
	csv_number(f, edges[0]);
	fputs(",", f);
	csv_number(f, edges[1]);
	fprintf(f, ",%" PRIu64 EOL, it->count);
}

/* Write item i of a chart. `series` is the item's series, or NULL. */
static int csv_item(FILE *f, const struct pasta_chart *c, size_t i,
		    const struct pasta_series *series)
{
	const union pasta_item *it = &c->items[i];

	switch (c->type) {
	case PASTA_CHART_LINE:
	case PASTA_CHART_AREA:
		csv_numbers(f, (const double[]){it->point.x, it->point.y}, 2);
		break;
	case PASTA_CHART_HEAT:
		csv_heat_cell(f, c, it->cell.x, it->cell.y, it->cell.value);
		break;
	case PASTA_CHART_BAR:
		csv_text(f, it->bar.label);
		fputs(",", f);
		csv_numbers(f, &it->bar.value, 1);
		break;
	case PASTA_CHART_FLAME:
		return csv_stack(f, it);
	case PASTA_CHART_TIMELINE:
		csv_slice(f, c, it);
		break;
	case PASTA_CHART_SCATTER:
		csv_spot(f, it);
		break;
	case PASTA_CHART_HISTOGRAM:
		csv_bin(f, it, &c->bins[series ? i - series->first : i]);
		break;
	case PASTA_CHART_GRAPH:
		csv_node(f, it, i);
		break;
	}
	return 0;
}

static void csv_grid(FILE *f, const struct pasta_chart *c)
{
	const struct pasta_grid *g = &c->grid->as;
	size_t i;

	for (i = 0; i < g->nx * g->ny; i++) {
		union pasta_item it = pasta_chart_grid_item(c->grid, i);

		if (!isnan(it.cell.value))
			csv_heat_cell(f, c, it.cell.x, it.cell.y, it.cell.value);
	}
}

/* Write the rows that follow the items of a chart: the limits of a scatter plot, or the edges of a
 * graph. */
static void csv_parts(FILE *f, const struct pasta_chart *c)
{
	size_t i;

	for (i = 0; i < c->limit_count; i++) {
		fputs(",,,,", f);
		csv_text(f, c->limits[i].name);
		fputs(c->limits[i].slope ? "," : ",,", f);
		csv_number(f, c->limits[i].value);
		fputs(c->limits[i].slope ? "," EOL : EOL, f);
	}
	for (i = 0; i < c->edge_count; i++) {
		fprintf(f, "%" PRIu32 ",,,", c->edges[i].from);
		csv_number(f, c->edges[i].value);
		fprintf(f, ",,%" PRIu32 EOL, c->edges[i].to);
	}
}

static int csv_chart(FILE *f, const struct pasta_chart *c)
{
	const struct pasta_series *series = NULL;
	size_t i, next = 0;
	int error = 0;

	csv_heads(f, c);
	for (i = 0; i < c->used && !error; i++) {
		while (next < c->series_count && i >= c->series[next].first)
			series = &c->series[next++];
		if (series)
			csv_text(f, series->name);
		if (pasta_chart_has_series(c->type))
			fputs(",", f);
		error = csv_item(f, c, i, series);
	}
	if (c->grid)
		csv_grid(f, c);
	csv_parts(f, c);
	return error;
}

/* -- Selection -- */

/* What --table selects: the number of matching tables and charts, and the first of them. */
struct choice {
	size_t count;
	const struct pasta_table *table;
	const struct pasta_chart *chart;
};

static void csv_select(struct choice *choice, const struct pasta_out *out, const char *name)
{
	size_t i;

	for (i = 0; i < out->table_count; i++)
		if (pasta_sink_select(out, out->tables[i]->name, name) && !choice->count++)
			choice->table = out->tables[i];
	for (i = 0; i < out->chart_count; i++)
		if (pasta_sink_select(out, out->charts[i]->name, name) && !choice->count++)
			choice->chart = out->charts[i];
}

static void csv_title(FILE *f, const char *what, const char *name)
{
	fprintf(f, "# %s ", what);
	csv_escaped(f, name, false);
	fputs(EOL, f);
}

static int csv_tool(FILE *f, const struct pasta_out *out)
{
	int error = 0;
	size_t i;

	for (i = 0; i < out->table_count; i++) {
		csv_title(f, "table", out->tables[i]->name);
		csv_table(f, out->tables[i]);
		fputs(EOL, f);
	}
	for (i = 0; i < out->chart_count && !error; i++) {
		csv_title(f, "chart", out->charts[i]->name);
		error = csv_chart(f, out->charts[i]);
		fputs(EOL, f);
	}
	return error;
}

static int csv_all(FILE *f, const struct pasta_result *r)
{
	int error = 0;
	size_t i;

	for (i = 0; i < r->count && !error; i++)
		error = csv_tool(f, r->outs[i]);
	fprintf(f, "# table loss" EOL "expected,captured,dropped" EOL);
	fprintf(f, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 EOL, r->loss.expected, r->loss.captured,
		r->loss.dropped);
	return error;
}

static int csv_write(FILE *file, const struct pasta_result *result,
		     const struct pasta_sink_opts *opts, struct pasta_error *err)
{
	struct choice choice = {0};
	int error = 0;
	size_t i;

	for (i = 0; i < result->count; i++)
		csv_select(&choice, result->outs[i], opts->table);
	if (opts->table && !choice.count)
		return pasta_fail(err, -ENOENT,
				  "the report has no table or chart '%s': --format text shows all "
				  "tables and charts",
				  opts->table);
	if (opts->table && choice.count > 1)
		return pasta_fail(err, -EINVAL, "%zu tables or charts are named '%s': use TOOL.%s",
				  choice.count, opts->table, opts->table);
	if (choice.count != 1)
		error = csv_all(file, result);
	else if (choice.table)
		csv_table(file, choice.table);
	else
		error = csv_chart(file, choice.chart);
	if (error)
		return pasta_fail(err, error, "cannot write the report: %s", strerror(-error));
	return pasta_sink_flush(file, err);
}

const struct pasta_sink pasta_sink_csv = {
	.name = "csv",
	.summary = "comma-separated values, one table or chart after another",
	.one = true,
	.write = csv_write,
};
