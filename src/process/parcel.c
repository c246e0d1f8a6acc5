/* parcel.c - what tools reported, and the tools of a library, from one process to another. */
#include "process/parcel.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- Tables: column by column, with a bitmap of the cells that have no value -- */

static void put_cells(struct pasta_wire *w, const struct pasta_table *t, size_t column)
{
	size_t row, rows = pasta_table_rows(t);
	uint8_t bits = 0;

	for (row = 0; row < rows; row++) {
		bits |= (uint8_t)(!pasta_table_cell(t, row, column) << row % 8);
		if (row % 8 == 7 || row + 1 == rows) {
			pasta_wire_put(w, &bits, 1);
			bits = 0;
		}
	}
	for (row = 0; row < rows; row++) {
		const union pasta_value *cell = pasta_table_cell(t, row, column);

		if (cell && t->columns[column].type == PASTA_COLUMN_STRING)
			pasta_wire_text(w, cell->s);
		else if (cell)
			pasta_wire_put(w, &cell->i, sizeof(cell->i));
	}
}

static void put_table(struct pasta_wire *w, const struct pasta_table *t)
{
	size_t i;

	pasta_wire_text(w, t->name);
	pasta_wire_number(w, t->count);
	for (i = 0; i < t->count; i++) {
		pasta_wire_text(w, t->columns[i].name);
		pasta_wire_number(w, (uint64_t)t->columns[i].type);
		pasta_wire_text(w, t->columns[i].unit);
		pasta_wire_number(w, t->columns[i].role);
	}
	pasta_wire_number(w, pasta_table_rows(t));
	for (i = 0; i < t->count; i++)
		put_cells(w, t, i);
}

static int get_cells(struct pasta_wire_in *in, struct pasta_table *t, size_t column, size_t rows)
{
	const uint8_t *bits = pasta_wire_get(in, (rows + 7) / 8);
	size_t row;

	for (row = 0; bits && !in->bad && row < rows; row++) {
		size_t i = row * t->count + column;

		t->empty[i] = bits[row / 8] >> row % 8 & 1;
		if (t->empty[i])
			continue;
		if (t->columns[column].type != PASTA_COLUMN_STRING) {
			t->cells[i].i = (int64_t)pasta_wire_get_number(in);
			continue;
		}
		t->cells[i].s = strdup(pasta_wire_get_text(in));
		if (!t->cells[i].s)
			return -ENOMEM;
	}
	return 0;
}

static int get_rows(struct pasta_wire_in *in, struct pasta_table *t, size_t *cells)
{
	size_t rows = (size_t)pasta_wire_get_below(in, (PASTA_PARCEL_CELLS - *cells) / t->count);
	size_t i, used = rows * t->count;
	int error = 0;

	/* Each cell has a bit at least. */
	if (in->bad || rows / 8 > (size_t)(in->end - in->at) / t->count)
		return -EBADMSG;
	t->cells = calloc(used + 1, sizeof(*t->cells));
	t->empty = calloc(used + 1, sizeof(*t->empty));
	if (!t->cells || !t->empty)
		return -ENOMEM;
	t->used = used;
	t->room = t->empty_room = used + 1;
	*cells += used;
	for (i = 0; i < t->count && !error; i++)
		error = get_cells(in, t, i, rows);
	return error ? error : in->bad ? -EBADMSG : 0;
}

static int get_table(struct pasta_wire_in *in, struct pasta_out *out, size_t *cells)
{
	const char *name = pasta_wire_get_text(in);
	size_t i, count = (size_t)pasta_wire_get_below(in, PASTA_PARCEL_COLUMNS);
	struct pasta_column *columns = calloc(count + 1, sizeof(*columns));
	struct pasta_table *t = NULL;

	if (!columns)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		columns[i].name = pasta_wire_get_text(in);
		columns[i].type =
			(enum pasta_column_type)pasta_wire_get_below(in, PASTA_COLUMN_FLOAT);
		columns[i].unit = pasta_wire_get_text_or_null(in);
		columns[i].role = (uint32_t)pasta_wire_get_below(in, PASTA_ROLES - 1);
	}
	if (!in->bad)
		t = pasta_out_table(out, name, columns, count);
	free(columns);
	return t ? get_rows(in, t, cells) : in->bad ? -EBADMSG : out->err.code;
}

/* -- Charts -- */

static void put_double(struct pasta_wire *w, double value)
{
	pasta_wire_put(w, &value, sizeof(value));
}

static double get_double(struct pasta_wire_in *in)
{
	uint64_t bits = pasta_wire_get_number(in);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static void put_axis(struct pasta_wire *w, const struct pasta_axis *axis)
{
	size_t i;

	pasta_wire_text(w, axis->name);
	pasta_wire_text(w, axis->unit);
	pasta_wire_number(w, axis->scale);
	pasta_wire_number(w, axis->label_count);
	for (i = 0; i < axis->label_count; i++)
		pasta_wire_text(w, axis->labels[i]);
}

/* Of texts: each has its length and its end. */
static size_t get_count(struct pasta_wire_in *in)
{
	return (size_t)pasta_wire_get_below(in, (size_t)(in->end - in->at) / 9);
}

/* Texts where they lie; the array, which is never NULL for 0 texts, is to be freed. */
static const char **get_texts(struct pasta_wire_in *in, size_t count)
{
	const char **texts = calloc(count + 1, sizeof(*texts));
	size_t i;

	for (i = 0; texts && i < count; i++)
		texts[i] = pasta_wire_get_text(in);
	return texts;
}

/* Its labels are to be freed, also if it fails. */
static int get_axis(struct pasta_wire_in *in, struct pasta_axis *axis)
{
	axis->name = pasta_wire_get_text(in);
	axis->unit = pasta_wire_get_text_or_null(in);
	axis->scale = (uint32_t)pasta_wire_get_below(in, PASTA_SCALE_LOG);
	axis->label_count = get_count(in);
	axis->labels = get_texts(in, axis->label_count);
	return axis->labels ? 0 : -ENOMEM;
}

static void put_item(struct pasta_wire *w, enum pasta_chart_type type, const union pasta_item *item)
{
	size_t i;

	switch (type) {
	case PASTA_CHART_LINE:
	case PASTA_CHART_AREA:
		put_double(w, item->point.x);
		put_double(w, item->point.y);
		break;
	case PASTA_CHART_BAR:
		pasta_wire_text(w, item->bar.label);
		put_double(w, item->bar.value);
		break;
	case PASTA_CHART_HEAT:
		put_double(w, item->cell.x);
		put_double(w, item->cell.y);
		put_double(w, item->cell.value);
		break;
	case PASTA_CHART_FLAME:
		pasta_wire_number(w, item->stack.count);
		for (i = 0; i < item->stack.count; i++)
			pasta_wire_text(w, item->stack.frames[i]);
		pasta_wire_number(w, (uint64_t)item->stack.value);
		break;
	case PASTA_CHART_TIMELINE:
		pasta_wire_number(w, (uint64_t)item->slice.lane << 32 | item->slice.name);
		pasta_wire_number(w, (uint64_t)item->slice.start);
		pasta_wire_number(w, (uint64_t)item->slice.dur);
		put_double(w, item->slice.value);
		break;
	case PASTA_CHART_SCATTER:
		put_double(w, item->spot.x);
		put_double(w, item->spot.y);
		put_double(w, item->spot.size);
		pasta_wire_text(w, item->spot.label);
		break;
	case PASTA_CHART_HISTOGRAM:
		pasta_wire_number(w, item->count);
		break;
	case PASTA_CHART_GRAPH:
		pasta_wire_number(w, item->node.parent);
		pasta_wire_text(w, item->node.label);
		put_double(w, item->node.value);
		put_double(w, item->node.cost);
		break;
	}
}

static int get_stack(struct pasta_wire_in *in, struct pasta_chart *chart)
{
	size_t count = get_count(in);
	const char **frames = get_texts(in, count);
	int64_t value = (int64_t)pasta_wire_get_number(in);

	if (!frames)
		return -ENOMEM;
	if (!in->bad)
		pasta_chart_stack(chart, frames, count, value);
	free(frames);
	return 0;
}

static void get_slice(struct pasta_wire_in *in, struct pasta_chart *chart)
{
	uint64_t ids = pasta_wire_get_number(in);
	int64_t start = (int64_t)pasta_wire_get_number(in);
	int64_t dur = (int64_t)pasta_wire_get_number(in);

	pasta_chart_slice(chart, (uint32_t)(ids >> 32), start, dur, (uint32_t)ids, get_double(in));
}

static void get_spot(struct pasta_wire_in *in, struct pasta_chart *chart)
{
	double x = get_double(in), y = get_double(in), size = get_double(in);

	pasta_chart_spot(chart, x, y, size, pasta_wire_get_text_or_null(in));
}

static void get_node(struct pasta_wire_in *in, struct pasta_chart *chart)
{
	uint32_t parent = (uint32_t)pasta_wire_get_below(in, UINT32_MAX);
	const char *label = pasta_wire_get_text(in);
	double value = get_double(in);

	pasta_chart_node(chart, parent, label, value, get_double(in));
}

/* The chart refuses what does not suit it. */
static int get_item(struct pasta_wire_in *in, struct pasta_chart *chart)
{
	double x, y;
	const char *label;

	switch (chart->type) {
	case PASTA_CHART_LINE:
	case PASTA_CHART_AREA:
		x = get_double(in);
		pasta_chart_point(chart, x, get_double(in));
		return 0;
	case PASTA_CHART_BAR:
		label = pasta_wire_get_text(in);
		pasta_chart_bar(chart, label, get_double(in));
		return 0;
	case PASTA_CHART_HEAT:
		x = get_double(in);
		y = get_double(in);
		pasta_chart_cell(chart, x, y, get_double(in));
		return 0;
	case PASTA_CHART_FLAME:
		return get_stack(in, chart);
	case PASTA_CHART_TIMELINE:
		get_slice(in, chart);
		return 0;
	case PASTA_CHART_SCATTER:
		get_spot(in, chart);
		return 0;
	case PASTA_CHART_GRAPH:
		get_node(in, chart);
		return 0;
	case PASTA_CHART_HISTOGRAM:
		return -EBADMSG; /* its counts come as a whole */
	}
	return -EBADMSG;
}

/* What a chart has beside its items: before them, but edges of graphs after them. */
static void put_parts(struct pasta_wire *w, const struct pasta_chart *c)
{
	size_t i;

	pasta_wire_number(w, c->bin_edges);
	for (i = 0; i < c->bin_edges; i++)
		put_double(w, c->bins[i]);
	pasta_wire_number(w, c->lane_count);
	for (i = 0; i < c->lane_count; i++) {
		pasta_wire_text(w, c->lanes[i].name);
		pasta_wire_text(w, c->lanes[i].group);
		pasta_wire_number(w, c->lanes[i].depth);
	}
	pasta_wire_number(w, c->name_count);
	for (i = 0; i < c->name_count; i++) {
		pasta_wire_text(w, c->names[i].text);
		pasta_wire_number(w, (uint64_t)c->names[i].category);
	}
	pasta_wire_number(w, c->limit_count);
	for (i = 0; i < c->limit_count; i++) {
		pasta_wire_text(w, c->limits[i].name);
		pasta_wire_number(w, c->limits[i].slope);
		put_double(w, c->limits[i].value);
	}
}

static bool can_go_on(const struct pasta_wire_in *in, const struct pasta_chart *chart)
{
	return !in->bad && !chart->out->err.code;
}

/* Numbers of 8 bytes each, in an array that is to be freed; NULL: the count is wrong, or -ENOMEM.
 */
static uint64_t *get_numbers(struct pasta_wire_in *in, size_t count)
{
	const void *bytes = pasta_wire_get(in, count * sizeof(uint64_t));
	uint64_t *numbers = bytes ? malloc((count + 1) * sizeof(*numbers)) : NULL;

	if (numbers)
		memcpy(numbers, bytes, count * sizeof(*numbers));
	return numbers;
}

static int get_bins(struct pasta_wire_in *in, struct pasta_chart *chart)
{
	size_t count = (size_t)pasta_wire_get_below(in, (size_t)(in->end - in->at) / 8);
	uint64_t *bits = count ? get_numbers(in, count) : NULL;
	double *edges = bits ? malloc(count * sizeof(*edges)) : NULL;

	if (edges) {
		memcpy(edges, bits, count * sizeof(*edges));
		pasta_chart_edges(chart, edges, count);
	}
	free(bits);
	free(edges);
	return count && !edges && !in->bad ? -ENOMEM : 0;
}

static int get_parts(struct pasta_wire_in *in, struct pasta_chart *chart)
{
	int error = get_bins(in, chart);
	uint64_t n;

	for (n = pasta_wire_get_number(in); n && can_go_on(in, chart) && !error; n--) {
		const char *name = pasta_wire_get_text(in),
			   *group = pasta_wire_get_text_or_null(in);

		pasta_chart_lane(chart, name, group,
				 (uint32_t)pasta_wire_get_below(in, UINT32_MAX));
	}
	for (n = pasta_wire_get_number(in); n && can_go_on(in, chart) && !error; n--) {
		const char *text = pasta_wire_get_text(in);

		pasta_chart_name(chart, text,
				 (enum pasta_category)pasta_wire_get_below(in,
									   PASTA_CATEGORIES - 1));
	}
	for (n = pasta_wire_get_number(in); n && can_go_on(in, chart) && !error; n--) {
		const char *name = pasta_wire_get_text(in);
		bool slope = pasta_wire_get_below(in, 1);

		if (slope)
			pasta_chart_limit_slope(chart, name, get_double(in));
		else
			pasta_chart_limit_level(chart, name, get_double(in));
	}
	return error;
}

/* A grid: what it is, a bitmap of the cells that have a value, and the values. */
static void put_grid(struct pasta_wire *w, const struct pasta_chart_grid *g)
{
	size_t i, cells = g ? (size_t)(g->as.nx * g->as.ny) : 0;
	uint8_t bits = 0;

	pasta_wire_number(w, g != NULL);
	if (!g)
		return;
	put_double(w, g->as.x0);
	put_double(w, g->as.dx);
	put_double(w, g->as.y0);
	put_double(w, g->as.dy);
	pasta_wire_number(w, g->as.nx);
	pasta_wire_number(w, g->as.ny);
	for (i = 0; i < cells; i++) {
		bits |= (uint8_t)(!isnan(g->cells[i]) << i % 8);
		if (i % 8 == 7 || i + 1 == cells) {
			pasta_wire_put(w, &bits, 1);
			bits = 0;
		}
	}
	for (i = 0; i < cells; i++)
		if (!isnan(g->cells[i]))
			put_double(w, g->cells[i]);
}

static int get_grid(struct pasta_wire_in *in, struct pasta_chart *chart)
{
	struct pasta_grid grid = {.size = sizeof(grid)};
	const uint8_t *bits;
	size_t i, cells;

	if (!pasta_wire_get_below(in, 1))
		return 0;
	grid.x0 = get_double(in);
	grid.dx = get_double(in);
	grid.y0 = get_double(in);
	grid.dy = get_double(in);
	grid.nx = pasta_wire_get_below(in, PASTA_GRID_COLUMNS);
	grid.ny = pasta_wire_get_below(in, PASTA_GRID_ROWS);
	cells = (size_t)(grid.nx * grid.ny);
	bits = pasta_wire_get(in, (cells + 7) / 8);
	if (!bits)
		return -EBADMSG;
	pasta_chart_grid(chart, &grid);
	for (i = 0; i < cells && can_go_on(in, chart); i++) {
		double value;

		if (!(bits[i / 8] >> i % 8 & 1))
			continue;
		value = get_double(in);
		if (!isfinite(value))
			return -EBADMSG;
		chart->grid->cells[i] = value;
		chart->grid->filled++;
	}
	return 0;
}

/* Items of a series; those before the first one, which has no name, come first. */
static void put_series(struct pasta_wire *w, const struct pasta_chart *c, const char *name,
		       size_t first, size_t count)
{
	size_t i;

	pasta_wire_text(w, name);
	pasta_wire_number(w, count);
	for (i = first; i < first + count; i++)
		put_item(w, c->type, &c->items[i]);
}

static void put_chart(struct pasta_wire *w, const struct pasta_chart *c)
{
	size_t i;

	pasta_wire_text(w, c->name);
	pasta_wire_number(w, (uint64_t)c->type);
	put_axis(w, &c->x);
	put_axis(w, &c->y);
	put_axis(w, &c->value);
	put_parts(w, c);
	put_grid(w, c->grid);
	pasta_wire_number(w, c->series_count + 1);
	put_series(w, c, NULL, 0, c->series_count ? c->series[0].first : c->used);
	for (i = 0; i < c->series_count; i++)
		put_series(w, c, c->series[i].name, c->series[i].first, c->series[i].count);
	pasta_wire_number(w, c->edge_count);
	for (i = 0; i < c->edge_count; i++) {
		pasta_wire_number(w, (uint64_t)c->edges[i].from << 32 | c->edges[i].to);
		put_double(w, c->edges[i].value);
	}
}

static int get_counts(struct pasta_wire_in *in, struct pasta_chart *chart, uint64_t count)
{
	uint64_t *counts;

	if (!count)
		return 0;
	if (count > (size_t)(in->end - in->at) / sizeof(*counts))
		return -EBADMSG;
	counts = get_numbers(in, (size_t)count);
	if (!counts)
		return -ENOMEM;
	pasta_chart_counts(chart, counts, (size_t)count);
	free(counts);
	return 0;
}

static int get_series(struct pasta_wire_in *in, struct pasta_chart *chart)
{
	const char *name = pasta_wire_get_text_or_null(in);
	uint64_t i, count = pasta_wire_get_number(in);
	int error = 0;

	if (name && !in->bad)
		pasta_chart_series(chart, name);
	if (chart->type == PASTA_CHART_HISTOGRAM && can_go_on(in, chart))
		return get_counts(in, chart, count);
	for (i = 0; i < count && can_go_on(in, chart) && !error; i++)
		error = get_item(in, chart);
	return error;
}

static int get_content(struct pasta_wire_in *in, struct pasta_chart *chart)
{
	int error = get_parts(in, chart);
	uint64_t i, n;

	if (!error)
		error = get_grid(in, chart);
	n = pasta_wire_get_number(in);
	for (i = 0; i < n && can_go_on(in, chart) && !error; i++)
		error = get_series(in, chart);
	for (n = pasta_wire_get_number(in); n && can_go_on(in, chart) && !error; n--) {
		uint64_t ends = pasta_wire_get_number(in);

		pasta_chart_edge(chart, (uint32_t)(ends >> 32), (uint32_t)ends, get_double(in));
	}
	return error;
}

static int get_chart(struct pasta_wire_in *in, struct pasta_out *out)
{
	struct pasta_chart_def def = PASTA_CHART_DEF(.name = pasta_wire_get_text(in));
	struct pasta_chart *chart = NULL;
	int error;

	def.type = (uint32_t)pasta_wire_get_below(in, PASTA_CHART_TYPES - 1);
	error = get_axis(in, &def.x);
	if (!error)
		error = get_axis(in, &def.y);
	if (!error)
		error = get_axis(in, &def.value);
	if (!error && !in->bad)
		chart = pasta_out_chart(out, &def);
	if (chart)
		error = get_content(in, chart);
	free((void *)def.x.labels);
	free((void *)def.y.labels);
	free((void *)def.value.labels);
	return error ? error : in->bad ? -EBADMSG : out->err.code;
}

/* -- What one tool reported -- */

static void put_finding(struct pasta_wire *w, const struct pasta_finding *f)
{
	size_t i;

	pasta_wire_number(w, f->severity);
	pasta_wire_number(w, f->count);
	pasta_wire_text(w, f->what);
	pasta_wire_text(w, f->where);
	pasta_wire_text(w, f->evidence);
	pasta_wire_text(w, f->action);
	pasta_wire_text(w, f->ref.table);
	pasta_wire_text(w, f->ref.chart);
	pasta_wire_number(w, f->ref.row);
	put_double(w, f->ref.from);
	put_double(w, f->ref.to);
	pasta_wire_number(w, f->saving);
	pasta_wire_number(w, f->claim_count);
	for (i = 0; i < f->claim_count; i++)
		pasta_wire_put(w, &f->claims[i], sizeof(f->claims[i]));
}

/* The claims, in an array that is to be freed. */
static int get_claims(struct pasta_wire_in *in, struct pasta_finding *f)
{
	struct pasta_claim *claims;
	const void *bytes;

	f->claim_count =
		(size_t)pasta_wire_get_below(in, (size_t)(in->end - in->at) / sizeof(*claims));
	bytes = pasta_wire_get(in, f->claim_count * sizeof(*claims));
	claims = malloc((f->claim_count + 1) * sizeof(*claims));
	f->claims = claims;
	if (claims && bytes)
		memcpy(claims, bytes, f->claim_count * sizeof(*claims));
	return claims ? 0 : -ENOMEM;
}

static int get_finding(struct pasta_wire_in *in, struct pasta_out *out)
{
	struct pasta_finding f = {.size = sizeof(f)};
	int error;

	f.severity = (uint32_t)pasta_wire_get_below(in, PASTA_SEVERITY_PROBLEM);
	f.count = pasta_wire_get_number(in);
	f.what = pasta_wire_get_text(in);
	f.where = pasta_wire_get_text_or_null(in);
	f.evidence = pasta_wire_get_text_or_null(in);
	f.action = pasta_wire_get_text_or_null(in);
	f.ref.table = pasta_wire_get_text_or_null(in);
	f.ref.chart = pasta_wire_get_text_or_null(in);
	f.ref.row = pasta_wire_get_number(in);
	f.ref.from = get_double(in);
	f.ref.to = get_double(in);
	f.saving = pasta_wire_get_number(in);
	error = get_claims(in, &f);
	if (!error && !in->bad)
		pasta_out_finding_take(out, &f);
	free((void *)f.claims);
	return error ? error : in->bad ? -EBADMSG : out->err.code;
}

static void limit_out(struct pasta_out *out)
{
	size_t i, cells = 0, columns = 0;

	for (i = 0; i < out->table_count; i++) {
		cells += out->tables[i]->used;
		columns = out->tables[i]->count > columns ? out->tables[i]->count : columns;
	}
	if (out->table_count + out->chart_count > PASTA_PARCEL_TABLES ||
	    columns > PASTA_PARCEL_COLUMNS || cells > PASTA_PARCEL_CELLS)
		pasta_out_fail(out, -E2BIG,
			       "its report is too large: at most %d tables and charts, %d columns "
			       "and %zu cells",
			       PASTA_PARCEL_TABLES, PASTA_PARCEL_COLUMNS, PASTA_PARCEL_CELLS);
	pasta_out_end(out);
}

static void put_out(struct pasta_wire *w, struct pasta_out *out)
{
	size_t i;

	limit_out(out);
	pasta_wire_text(w, out->name);
	pasta_wire_number(w, (uint64_t)(int64_t)out->err.code);
	pasta_wire_text(w, out->err.code ? out->err.text : "");
	pasta_wire_number(w, out->table_count);
	for (i = 0; i < out->table_count; i++)
		put_table(w, out->tables[i]);
	pasta_wire_number(w, out->chart_count);
	for (i = 0; i < out->chart_count; i++)
		put_chart(w, out->charts[i]);
	pasta_wire_number(w, out->finding_count);
	for (i = 0; i < out->finding_count; i++)
		put_finding(w, &out->findings[i]);
}

static int get_error(struct pasta_wire_in *in, struct pasta_error *err)
{
	int64_t code = (int64_t)pasta_wire_get_number(in);
	const char *text = pasta_wire_get_text(in);

	if (in->bad || code > INT32_MAX || code < -INT32_MAX)
		return -EBADMSG;
	if (code)
		pasta_fail(err, (int)code, "%s", text);
	return 0;
}

static int get_out(struct pasta_wire_in *in, struct pasta_out *out)
{
	const char *name = pasta_wire_get_text(in);
	struct pasta_error err = {0};
	int error = strcmp(name, out->name) ? -EBADMSG : get_error(in, &err);
	size_t cells = 0;
	uint64_t n;

	n = pasta_wire_get_below(in, PASTA_PARCEL_TABLES);
	for (; n && !error; n--)
		error = get_table(in, out, &cells);
	n = pasta_wire_get_below(in, PASTA_PARCEL_TABLES);
	for (; n && !error; n--)
		error = get_chart(in, out);
	n = error ? 0 : pasta_wire_get_number(in);
	for (; n && !error && !in->bad; n--)
		error = get_finding(in, out);
	if (!error && !in->bad)
		error = pasta_out_end(out);
	/* What is wrong with the parcel is no error of the tool's. */
	if (!error && !in->bad && !out->err.code &&
	    (!err.code || !(out->table_count + out->chart_count))) {
		out->err = err;
		return 0;
	}
	return error == -ENOMEM || out->err.code == -ENOMEM ? -ENOMEM : -EBADMSG;
}

/* -- All of it -- */

void pasta_parcel_put(struct pasta_wire *w, const struct pasta_parcel *parcel,
		      struct pasta_out *const *outs, size_t count)
{
	size_t i;

	pasta_wire_number(w, parcel->captured);
	pasta_wire_number(w, parcel->stopped);
	pasta_wire_number(w, parcel->read);
	pasta_wire_number(w, parcel->to_read);
	pasta_wire_number(w, parcel->changed);
	pasta_wire_text(w, parcel->changed_file);
	pasta_wire_number(w, (uint64_t)(int64_t)parcel->unread.code);
	pasta_wire_text(w, parcel->unread.code ? parcel->unread.text : "");
	pasta_wire_number(w, count);
	for (i = 0; i < count; i++)
		put_out(w, outs[i]);
}

/* What was read becomes what out has. */
static void move_out(struct pasta_out *out, struct pasta_out *read)
{
	struct pasta_out before = *out;
	size_t i;

	*out = *read;
	out->name = before.name;
	*read = (struct pasta_out){.name = read->name};
	for (i = 0; i < out->table_count; i++)
		out->tables[i]->out = out;
	for (i = 0; i < out->chart_count; i++)
		out->charts[i]->out = out;
}

int pasta_parcel_get(struct pasta_wire_in *in, struct pasta_parcel *parcel,
		     struct pasta_out *const *outs, size_t count)
{
	struct pasta_result read = {0};
	int error;
	size_t i;

	*parcel = (struct pasta_parcel){.captured = pasta_wire_get_number(in)};
	parcel->stopped = pasta_wire_get_below(in, 1);
	parcel->read = pasta_wire_get_number(in);
	parcel->to_read = pasta_wire_get_number(in);
	parcel->changed = (size_t)pasta_wire_get_below(in, UINT32_MAX);
	parcel->changed_file = pasta_wire_get_text_or_null(in);
	error = get_error(in, &parcel->unread);
	if (!error && pasta_wire_get_number(in) != count)
		error = -EBADMSG;
	for (i = 0; i < count && !error; i++) {
		struct pasta_out *out = pasta_result_out(&read, outs[i]->name);

		error = out ? get_out(in, out) : -ENOMEM;
	}
	if (!error && (in->bad || in->at != in->end))
		error = -EBADMSG;
	for (i = 0; i < count && !error; i++)
		move_out(outs[i], read.outs[i]);
	pasta_result_free(&read);
	return error;
}

/* -- Tools -- */

static size_t tool_options(const struct pasta_tool *tool)
{
	size_t n = 0;

	while (tool->options && tool->options[n].name)
		n++;
	return n;
}

void pasta_parcel_put_tool(struct pasta_wire *w, const struct pasta_tool *tool)
{
	size_t i, n = tool_options(tool);

	pasta_wire_text(w, tool->name);
	pasta_wire_text(w, tool->summary);
	pasta_wire_number(w, tool->events);
	pasta_wire_number(w, tool->needs);
	pasta_wire_number(w, tool->charts);
	pasta_wire_number(w, pasta_tool_is_sharded(tool));
	pasta_wire_text(w, tool->reducer);
	pasta_wire_number(w, tool->ledger != NULL);
	pasta_wire_number(w, tool->ledger ? tool->ledger->levels : 0);
	pasta_wire_number(w, tool->accesses != NULL);
	pasta_wire_number(w, tool->accesses ? tool->accesses->reducers : 0);
	pasta_wire_number(w, tool->accesses ? tool->accesses->kinds : 0);
	pasta_wire_number(w, n);
	for (i = 0; i < n; i++) {
		pasta_wire_text(w, tool->options[i].name);
		pasta_wire_text(w, tool->options[i].value);
		pasta_wire_text(w, tool->options[i].summary);
		pasta_wire_number(w, (uint64_t)tool->options[i].type);
	}
}

static _Noreturn void elsewhere_event(void *state, const struct pasta_event *ev,
				      const struct pasta_where *where)
{
	(void)state;
	(void)ev;
	(void)where;
	abort(); /* the tool is in another process */
}

static int elsewhere_report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	(void)state;
	(void)out;
	return -ENOSYS;
}

/* Its strings are in one piece, behind it and its options. */
struct held {
	struct pasta_tool tool;
	struct pasta_option options[PASTA_PARCEL_OPTIONS + 1];
	struct pasta_ledger_def ledger;
	struct pasta_access_index_def book;
	char texts[];
};

static const char *held_text(char **at, const char *text)
{
	char *copy = *at;

	if (!text)
		return NULL;
	*at = stpcpy(copy, text) + 1;
	return copy;
}

struct pasta_tool *pasta_parcel_get_tool(struct pasta_wire_in *in, int *error)
{
	/* No text is longer than the bytes that it comes in; where these end, some are "". */
	struct held *held = calloc(1, sizeof(*held) + (size_t)(in->end - in->at) + 8);
	struct pasta_tool *tool = held ? &held->tool : NULL;
	size_t i, n;
	char *at;

	*error = held ? 0 : -ENOMEM;
	if (!held)
		return NULL;
	at = held->texts;
	tool->size = sizeof(*tool);
	tool->api_major = PASTA_API_MAJOR;
	tool->api_minor = PASTA_API_MINOR;
	tool->name = held_text(&at, pasta_wire_get_text(in));
	tool->summary = held_text(&at, pasta_wire_get_text(in));
	tool->events = pasta_wire_get_number(in);
	tool->needs = pasta_wire_get_number(in);
	tool->charts = pasta_wire_get_number(in);
	tool->flags = pasta_wire_get_below(in, 1) ? PASTA_TOOL_SHARDED : 0;
	tool->reducer = held_text(&at, pasta_wire_get_text_or_null(in));
	held->ledger.size = sizeof(held->ledger);
	held->book.size = sizeof(held->book);
	held->book.state_offset = sizeof(void *);
	tool->state_size = 2 * sizeof(void *);
	tool->ledger = pasta_wire_get_below(in, 1) ? &held->ledger : NULL;
	held->ledger.levels = (uint32_t)pasta_wire_get_below(in, UINT32_MAX);
	tool->accesses = pasta_wire_get_below(in, 1) ? &held->book : NULL;
	held->book.reducers = (uint32_t)pasta_wire_get_below(in, UINT32_MAX);
	held->book.kinds = pasta_wire_get_number(in);
	tool->options = held->options;
	tool->event = tool->events ? elsewhere_event : NULL;
	tool->report = elsewhere_report;
	n = (size_t)pasta_wire_get_below(in, PASTA_PARCEL_OPTIONS);
	for (i = 0; i < n && !in->bad; i++) {
		held->options[i].name = held_text(&at, pasta_wire_get_text(in));
		held->options[i].value = held_text(&at, pasta_wire_get_text_or_null(in));
		held->options[i].summary = held_text(&at, pasta_wire_get_text_or_null(in));
		held->options[i].type =
			(enum pasta_option_type)pasta_wire_get_below(in, PASTA_OPTION_SIZE);
	}
	if (!in->bad)
		return tool;
	free(held);
	*error = -EBADMSG;
	return NULL;
}

void pasta_parcel_free_tool(struct pasta_tool *tool)
{
	free(tool);
}
