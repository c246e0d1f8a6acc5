/* parcelchart.c - serializes charts. */
#include "process/run/parcelchart.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void parcel_put_axis(struct pasta_wire *w, const struct pasta_axis *axis)
{
	size_t i;

	pasta_wire_text(w, axis->name);
	pasta_wire_text(w, axis->unit);
	pasta_wire_number(w, axis->scale);
	pasta_wire_number(w, axis->label_count);
	for (i = 0; i < axis->label_count; i++)
		pasta_wire_text(w, axis->labels[i]);
}

/* Reads the number of texts in a list. Each text has at least a length byte and a final NUL, so the
 * remaining bytes limit the number. */
static size_t parcel_get_count(struct pasta_wire_in *in)
{
	return (size_t)pasta_wire_get_below(in, (size_t)(in->end - in->at) / 9);
}

/* Returns an array of pointers to texts in the parcel, which the caller frees. Returns NULL only
 * when out of memory; if `count` is 0, the array is empty. */
static const char **parcel_get_texts(struct pasta_wire_in *in, size_t count)
{
	const char **texts = calloc(count + 1, sizeof(*texts));
	size_t i;

	for (i = 0; texts && i < count; i++)
		texts[i] = pasta_wire_get_text(in);
	return texts;
}

/* Reads an axis. The caller frees its labels, even after an error. */
static int parcel_get_axis(struct pasta_wire_in *in, struct pasta_axis *axis)
{
	axis->name = pasta_wire_get_text(in);
	axis->unit = pasta_wire_get_text_or_null(in);
	axis->scale = (uint32_t)pasta_wire_get_below(in, PASTA_SCALE_LOG);
	axis->label_count = parcel_get_count(in);
	axis->labels = parcel_get_texts(in, axis->label_count);
	return axis->labels ? 0 : -ENOMEM;
}

static void parcel_put_item(struct pasta_wire *w, enum pasta_chart_type type,
			    const union pasta_item *item)
{
	size_t i;

	switch (type) {
	case PASTA_CHART_LINE:
	case PASTA_CHART_AREA:
		pasta_wire_double(w, item->point.x);
		pasta_wire_double(w, item->point.y);
		break;
	case PASTA_CHART_BAR:
		pasta_wire_text(w, item->bar.label);
		pasta_wire_double(w, item->bar.value);
		break;
	case PASTA_CHART_HEAT:
		pasta_wire_double(w, item->cell.x);
		pasta_wire_double(w, item->cell.y);
		pasta_wire_double(w, item->cell.value);
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
		pasta_wire_double(w, item->slice.value);
		break;
	case PASTA_CHART_SCATTER:
		pasta_wire_double(w, item->spot.x);
		pasta_wire_double(w, item->spot.y);
		pasta_wire_double(w, item->spot.size);
		pasta_wire_text(w, item->spot.label);
		break;
	case PASTA_CHART_HISTOGRAM:
		pasta_wire_number(w, item->count);
		break;
	case PASTA_CHART_GRAPH:
		pasta_wire_number(w, item->node.parent);
		pasta_wire_text(w, item->node.label);
		pasta_wire_double(w, item->node.value);
		pasta_wire_double(w, item->node.cost);
		break;
	}
}

static int parcel_get_stack(struct pasta_wire_in *in, struct pasta_chart *chart)
{
	size_t count = parcel_get_count(in);
	const char **frames = parcel_get_texts(in, count);
	int64_t value = (int64_t)pasta_wire_get_number(in);

	if (!frames)
		return -ENOMEM;
	if (!in->bad)
		pasta_chart_stack(chart, frames, count, value);
	free(frames);
	return 0;
}

static void parcel_get_slice(struct pasta_wire_in *in, struct pasta_chart *chart)
{
	uint64_t ids = pasta_wire_get_number(in);
	int64_t start = (int64_t)pasta_wire_get_number(in);
	int64_t dur = (int64_t)pasta_wire_get_number(in);

	pasta_chart_slice(chart, (uint32_t)(ids >> 32), start, dur, (uint32_t)ids,
			  pasta_wire_get_double(in));
}

static void parcel_get_spot(struct pasta_wire_in *in, struct pasta_chart *chart)
{
	double x = pasta_wire_get_double(in), y = pasta_wire_get_double(in),
	       size = pasta_wire_get_double(in);

	pasta_chart_spot(chart, x, y, size, pasta_wire_get_text_or_null(in));
}

static void parcel_get_node(struct pasta_wire_in *in, struct pasta_chart *chart)
{
	uint32_t parent = (uint32_t)pasta_wire_get_below(in, UINT32_MAX);
	const char *label = pasta_wire_get_text(in);
	double value = pasta_wire_get_double(in);

	pasta_chart_node(chart, parent, label, value, pasta_wire_get_double(in));
}

/* Reads one item of a chart. The functions that add the item check its values. */
static int parcel_get_item(struct pasta_wire_in *in, struct pasta_chart *chart)
{
	double x, y;
	const char *label;

	switch (chart->type) {
	case PASTA_CHART_LINE:
	case PASTA_CHART_AREA:
		x = pasta_wire_get_double(in);
		pasta_chart_point(chart, x, pasta_wire_get_double(in));
		return 0;
	case PASTA_CHART_BAR:
		label = pasta_wire_get_text(in);
		pasta_chart_bar(chart, label, pasta_wire_get_double(in));
		return 0;
	case PASTA_CHART_HEAT:
		x = pasta_wire_get_double(in);
		y = pasta_wire_get_double(in);
		pasta_chart_cell(chart, x, y, pasta_wire_get_double(in));
		return 0;
	case PASTA_CHART_FLAME:
		return parcel_get_stack(in, chart);
	case PASTA_CHART_TIMELINE:
		parcel_get_slice(in, chart);
		return 0;
	case PASTA_CHART_SCATTER:
		parcel_get_spot(in, chart);
		return 0;
	case PASTA_CHART_GRAPH:
		parcel_get_node(in, chart);
		return 0;
	case PASTA_CHART_HISTOGRAM:
		return -EBADMSG; /* not reached, because parcel_get_counts reads the items of a
				  * histogram */
	}
	return -EBADMSG;
}

/* Writes the parts of a chart that its items refer to. Does not write the edges of a graph, which
 * come after the items. */
static void parcel_put_parts(struct pasta_wire *w, const struct pasta_chart *c)
{
	size_t i;

	pasta_wire_number(w, c->bin_edges);
	for (i = 0; i < c->bin_edges; i++)
		pasta_wire_double(w, c->bins[i]);
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
		pasta_wire_double(w, c->limits[i].value);
	}
}

static bool parcel_is_good(const struct pasta_wire_in *in, const struct pasta_chart *chart)
{
	return !in->bad && !chart->out->err.code;
}

/* Returns an array of numbers, which the caller frees. Returns NULL if `count` is too large for the
 * rest of the parcel, or when out of memory. */
static uint64_t *parcel_get_numbers(struct pasta_wire_in *in, size_t count)
{
	const void *bytes = pasta_wire_get(in, count * sizeof(uint64_t));
	uint64_t *numbers = bytes ? malloc((count + 1) * sizeof(*numbers)) : NULL;

	if (numbers)
		memcpy(numbers, bytes, count * sizeof(*numbers));
	return numbers;
}

static int parcel_get_bins(struct pasta_wire_in *in, struct pasta_chart *chart)
{
	size_t count = (size_t)pasta_wire_get_below(in, (size_t)(in->end - in->at) / 8);
	uint64_t *bits = count ? parcel_get_numbers(in, count) : NULL;
	double *edges = bits ? malloc(count * sizeof(*edges)) : NULL;

	if (edges) {
		memcpy(edges, bits, count * sizeof(*edges));
		pasta_chart_edges(chart, edges, count);
	}
	free(bits);
	free(edges);
	return count && !edges && !in->bad ? -ENOMEM : 0;
}

static int parcel_get_parts(struct pasta_wire_in *in, struct pasta_chart *chart)
{
	int error = parcel_get_bins(in, chart);
	uint64_t n;

	for (n = pasta_wire_get_number(in); n && parcel_is_good(in, chart) && !error; n--) {
		const char *name = pasta_wire_get_text(in),
			   *group = pasta_wire_get_text_or_null(in);

		pasta_chart_lane(chart, name, group,
				 (uint32_t)pasta_wire_get_below(in, UINT32_MAX));
	}
	for (n = pasta_wire_get_number(in); n && parcel_is_good(in, chart) && !error; n--) {
		const char *text = pasta_wire_get_text(in);

		pasta_chart_name(chart, text,
				 (enum pasta_category)pasta_wire_get_below(in,
									   PASTA_CATEGORIES - 1));
	}
	for (n = pasta_wire_get_number(in); n && parcel_is_good(in, chart) && !error; n--) {
		const char *name = pasta_wire_get_text(in);
		bool slope = pasta_wire_get_below(in, 1);

		if (slope)
			pasta_chart_limit_slope(chart, name, pasta_wire_get_double(in));
		else
			pasta_chart_limit_level(chart, name, pasta_wire_get_double(in));
	}
	return error;
}

/* Writes a grid: its dimensions, a bitmap of its non-empty cells, and their values. */
static void parcel_put_grid(struct pasta_wire *w, const struct pasta_chart_grid *g)
{
	size_t i, cells = g ? (size_t)(g->as.nx * g->as.ny) : 0;
	uint8_t bits = 0;

	pasta_wire_number(w, g != NULL);
	if (!g)
		return;
	pasta_wire_double(w, g->as.x0);
	pasta_wire_double(w, g->as.dx);
	pasta_wire_double(w, g->as.y0);
	pasta_wire_double(w, g->as.dy);
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
			pasta_wire_double(w, g->cells[i]);
}

static int parcel_get_grid(struct pasta_wire_in *in, struct pasta_chart *chart)
{
	struct pasta_grid grid = {.size = sizeof(grid)};
	const uint8_t *bits;
	size_t i, cells;

	if (!pasta_wire_get_below(in, 1))
		return 0;
	grid.x0 = pasta_wire_get_double(in);
	grid.dx = pasta_wire_get_double(in);
	grid.y0 = pasta_wire_get_double(in);
	grid.dy = pasta_wire_get_double(in);
	grid.nx = pasta_wire_get_below(in, PASTA_GRID_COLUMNS);
	grid.ny = pasta_wire_get_below(in, PASTA_GRID_ROWS);
	cells = (size_t)(grid.nx * grid.ny);
	bits = pasta_wire_get(in, (cells + 7) / 8);
	if (!bits)
		return -EBADMSG;
	pasta_chart_grid(chart, &grid);
	for (i = 0; i < cells && parcel_is_good(in, chart); i++) {
		double value;

		if (!(bits[i / 8] >> i % 8 & 1))
			continue;
		value = pasta_wire_get_double(in);
		if (!isfinite(value))
			return -EBADMSG;
		chart->grid->cells[i] = value;
		chart->grid->filled++;
	}
	return 0;
}

/* Writes the items of a series. Items before the first series form a series without a name. */
static void parcel_put_series(struct pasta_wire *w, const struct pasta_chart *c, const char *name,
			      size_t first, size_t count)
{
	size_t i;

	pasta_wire_text(w, name);
	pasta_wire_number(w, count);
	for (i = first; i < first + count; i++)
		parcel_put_item(w, c->type, &c->items[i]);
}

void pasta_parcel_put_chart(struct pasta_wire *w, const struct pasta_chart *c)
{
	size_t i;

	pasta_wire_text(w, c->name);
	pasta_wire_number(w, (uint64_t)c->type);
	parcel_put_axis(w, &c->x);
	parcel_put_axis(w, &c->y);
	parcel_put_axis(w, &c->value);
	parcel_put_parts(w, c);
	parcel_put_grid(w, c->grid);
	pasta_wire_number(w, c->series_count + 1);
	parcel_put_series(w, c, NULL, 0, c->series_count ? c->series[0].first : c->used);
	for (i = 0; i < c->series_count; i++)
		parcel_put_series(w, c, c->series[i].name, c->series[i].first, c->series[i].count);
	pasta_wire_number(w, c->edge_count);
	for (i = 0; i < c->edge_count; i++) {
		pasta_wire_number(w, (uint64_t)c->edges[i].from << 32 | c->edges[i].to);
		pasta_wire_double(w, c->edges[i].value);
	}
}

static int parcel_get_counts(struct pasta_wire_in *in, struct pasta_chart *chart, uint64_t count)
{
	uint64_t *counts;

	if (!count)
		return 0;
	if (count > (size_t)(in->end - in->at) / sizeof(*counts))
		return -EBADMSG;
	counts = parcel_get_numbers(in, (size_t)count);
	if (!counts)
		return -ENOMEM;
	pasta_chart_counts(chart, counts, (size_t)count);
	free(counts);
	return 0;
}

static int parcel_get_series(struct pasta_wire_in *in, struct pasta_chart *chart)
{
	const char *name = pasta_wire_get_text_or_null(in);
	uint64_t i, count = pasta_wire_get_number(in);
	int error = 0;

	if (name && !in->bad)
		pasta_chart_series(chart, name);
	if (chart->type == PASTA_CHART_HISTOGRAM && parcel_is_good(in, chart))
		return parcel_get_counts(in, chart, count);
	for (i = 0; i < count && parcel_is_good(in, chart) && !error; i++)
		error = parcel_get_item(in, chart);
	return error;
}

static int parcel_get_content(struct pasta_wire_in *in, struct pasta_chart *chart)
{
	int error = parcel_get_parts(in, chart);
	uint64_t i, n;

	if (!error)
		error = parcel_get_grid(in, chart);
	n = pasta_wire_get_number(in);
	for (i = 0; i < n && parcel_is_good(in, chart) && !error; i++)
		error = parcel_get_series(in, chart);
	for (n = pasta_wire_get_number(in); n && parcel_is_good(in, chart) && !error; n--) {
		uint64_t ends = pasta_wire_get_number(in);

		pasta_chart_edge(chart, (uint32_t)(ends >> 32), (uint32_t)ends,
				 pasta_wire_get_double(in));
	}
	return error;
}

int pasta_parcel_get_chart(struct pasta_wire_in *in, struct pasta_out *out)
{
	struct pasta_chart_def def = PASTA_CHART_DEF(.name = pasta_wire_get_text(in));
	struct pasta_chart *chart = NULL;
	int error;

	def.type = (uint32_t)pasta_wire_get_below(in, PASTA_CHART_TYPES - 1);
	error = parcel_get_axis(in, &def.x);
	if (!error)
		error = parcel_get_axis(in, &def.y);
	if (!error)
		error = parcel_get_axis(in, &def.value);
	if (!error && !in->bad)
		chart = pasta_out_chart(out, &def);
	if (chart)
		error = parcel_get_content(in, chart);
	free((void *)def.x.labels);
	free((void *)def.y.labels);
	free((void *)def.value.labels);
	return error ? error : in->bad ? -EBADMSG : out->err.code;
}
