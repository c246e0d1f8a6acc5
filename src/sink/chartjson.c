/* chartjson.c - writes a chart as a JSON object. docs/report.md describes the format. */
#include "sink/chartjson.h"

#include <math.h>

static void chart_member(struct pasta_json *j, const char *key, const char *text)
{
	pasta_json_key(j, key);
	pasta_json_str(j, text);
}

static void chart_number(struct pasta_json *j, const char *key, double value)
{
	pasta_json_key(j, key);
	pasta_json_float(j, value);
}

static void chart_axis(struct pasta_json *j, const char *key, const struct pasta_axis *a)
{
	size_t i;

	pasta_json_key(j, key);
	pasta_json_map(j);
	chart_member(j, "name", a->name);
	chart_member(j, "unit", a->unit);
	chart_member(j, "scale", pasta_scale_name(a->scale));
	if (a->label_count) {
		pasta_json_key(j, "labels");
		pasta_json_list(j);
		for (i = 0; i < a->label_count; i++)
			pasta_json_str(j, a->labels[i]);
		pasta_json_list_end(j);
	}
	pasta_json_map_end(j);
}

static void chart_stack(struct pasta_json *j, const union pasta_item *it)
{
	size_t i;

	pasta_json_list(j);
	for (i = 0; i < it->stack.count; i++)
		pasta_json_str(j, it->stack.frames[i]);
	pasta_json_list_end(j);
	pasta_json_int(j, it->stack.value);
}

static void chart_slice(struct pasta_json *j, const union pasta_item *it)
{
	pasta_json_uint(j, it->slice.lane);
	pasta_json_int(j, it->slice.start);
	pasta_json_int(j, it->slice.dur);
	pasta_json_uint(j, it->slice.name);
	if (isfinite(it->slice.value))
		pasta_json_float(j, it->slice.value);
}

static void chart_node(struct pasta_json *j, const union pasta_item *it, size_t id)
{
	pasta_json_uint(j, id);
	if (it->node.parent == PASTA_NO_NODE)
		pasta_json_null(j);
	else
		pasta_json_uint(j, it->node.parent);
	pasta_json_str(j, it->node.label);
	pasta_json_float(j, it->node.value);
	pasta_json_float(j, it->node.cost);
}

/* Write the members of an item. If the item is a point of a scatter plot, the caller adds its
 * series. */
static void chart_item(struct pasta_json *j, const struct pasta_chart *c, size_t i)
{
	const union pasta_item *it = &c->items[i];

	switch (c->type) {
	case PASTA_CHART_LINE:
	case PASTA_CHART_AREA:
		pasta_json_float(j, it->point.x);
		pasta_json_float(j, it->point.y);
		break;
	case PASTA_CHART_BAR:
		pasta_json_str(j, it->bar.label);
		pasta_json_float(j, it->bar.value);
		break;
	case PASTA_CHART_HEAT:
		pasta_json_float(j, it->cell.x);
		pasta_json_float(j, it->cell.y);
		pasta_json_float(j, it->cell.value);
		break;
	case PASTA_CHART_FLAME:
		chart_stack(j, it);
		break;
	case PASTA_CHART_TIMELINE:
		chart_slice(j, it);
		break;
	case PASTA_CHART_SCATTER:
		pasta_json_float(j, it->spot.x);
		pasta_json_float(j, it->spot.y);
		pasta_json_float(j, it->spot.size);
		pasta_json_str(j, it->spot.label);
		break;
	case PASTA_CHART_GRAPH:
		chart_node(j, it, i);
		break;
	case PASTA_CHART_HISTOGRAM:
		break; /* chart_items writes its counts */
	}
}

static void chart_items(struct pasta_json *j, const char *key, const struct pasta_chart *c,
			size_t first, size_t count)
{
	size_t i;

	pasta_json_key(j, key);
	pasta_json_list(j);
	for (i = first; i < first + count; i++) {
		if (c->type == PASTA_CHART_HISTOGRAM) {
			pasta_json_uint(j, c->items[i].count);
			continue;
		}
		pasta_json_list(j);
		chart_item(j, c, i);
		pasta_json_list_end(j);
	}
	pasta_json_list_end(j);
}

static void chart_series(struct pasta_json *j, const struct pasta_chart *c)
{
	const char *key = c->type == PASTA_CHART_HISTOGRAM ? "counts" : "points";
	size_t i;

	pasta_json_key(j, "series");
	pasta_json_list(j);
	for (i = 0; i < c->series_count; i++) {
		pasta_json_map(j);
		chart_member(j, "name", c->series[i].name);
		chart_items(j, key, c, c->series[i].first, c->series[i].count);
		pasta_json_map_end(j);
	}
	pasta_json_list_end(j);
}

static void chart_spots(struct pasta_json *j, const struct pasta_chart *c)
{
	size_t i, series = 0;

	pasta_json_key(j, "points");
	pasta_json_list(j);
	for (i = 0; i < c->used; i++) {
		while (series < c->series_count && i >= c->series[series].first)
			series++;
		pasta_json_list(j);
		chart_item(j, c, i);
		pasta_json_str(j, series ? c->series[series - 1].name : NULL);
		pasta_json_list_end(j);
	}
	pasta_json_list_end(j);
	pasta_json_key(j, "limits");
	pasta_json_list(j);
	for (i = 0; i < c->limit_count; i++) {
		pasta_json_map(j);
		chart_member(j, "name", c->limits[i].name);
		chart_number(j, c->limits[i].slope ? "slope" : "level", c->limits[i].value);
		pasta_json_map_end(j);
	}
	pasta_json_list_end(j);
}

static void chart_edges(struct pasta_json *j, const struct pasta_chart *c)
{
	size_t i;

	pasta_json_key(j, "edges");
	pasta_json_list(j);
	for (i = 0; i < c->edge_count; i++) {
		pasta_json_list(j);
		pasta_json_uint(j, c->edges[i].from);
		pasta_json_uint(j, c->edges[i].to);
		pasta_json_float(j, c->edges[i].value);
		pasta_json_list_end(j);
	}
	pasta_json_list_end(j);
}

static void chart_lanes(struct pasta_json *j, const struct pasta_chart *c)
{
	size_t i;

	pasta_json_key(j, "lanes");
	pasta_json_list(j);
	for (i = 0; i < c->lane_count; i++) {
		pasta_json_map(j);
		chart_member(j, "name", c->lanes[i].name);
		chart_member(j, "group", c->lanes[i].group);
		pasta_json_key(j, "depth");
		pasta_json_uint(j, c->lanes[i].depth);
		pasta_json_map_end(j);
	}
	pasta_json_list_end(j);
	pasta_json_key(j, "names");
	pasta_json_list(j);
	for (i = 0; i < c->name_count; i++) {
		pasta_json_list(j);
		pasta_json_str(j, c->names[i].text);
		pasta_json_str(j, pasta_category_name(c->names[i].category));
		pasta_json_list_end(j);
	}
	pasta_json_list_end(j);
}

static void chart_bins(struct pasta_json *j, const struct pasta_chart *c)
{
	size_t i;

	pasta_json_key(j, "edges");
	pasta_json_list(j);
	for (i = 0; i < c->bin_edges; i++)
		pasta_json_float(j, c->bins[i]);
	pasta_json_list_end(j);
}

/* Write all cells of the grid, or only the cells with a value, whichever is shorter. */
static void chart_grid_cells(struct pasta_json *j, const struct pasta_chart_grid *g)
{
	size_t i, cells = (size_t)(g->as.nx * g->as.ny);
	bool sparse = g->filled < cells / 3;

	pasta_json_key(j, sparse ? "sparse" : "dense");
	pasta_json_list(j);
	for (i = 0; i < cells; i++) {
		if (!sparse) {
			pasta_json_float(j, g->cells[i]);
			continue;
		}
		if (isnan(g->cells[i]))
			continue;
		pasta_json_list(j);
		pasta_json_uint(j, i % g->as.nx);
		pasta_json_uint(j, i / g->as.nx);
		pasta_json_float(j, g->cells[i]);
		pasta_json_list_end(j);
	}
	pasta_json_list_end(j);
}

static void chart_grid(struct pasta_json *j, const struct pasta_chart_grid *g)
{
	pasta_json_key(j, "grid");
	pasta_json_map(j);
	chart_number(j, "x0", g->as.x0);
	chart_number(j, "dx", g->as.dx);
	pasta_json_key(j, "nx");
	pasta_json_uint(j, g->as.nx);
	chart_number(j, "y0", g->as.y0);
	chart_number(j, "dy", g->as.dy);
	pasta_json_key(j, "ny");
	pasta_json_uint(j, g->as.ny);
	chart_grid_cells(j, g);
	pasta_json_map_end(j);
}

/* Write the members that depend on the chart's type. */
static void chart_content(struct pasta_json *j, const struct pasta_chart *c)
{
	static const char *const keys[PASTA_CHART_TYPES] = {[PASTA_CHART_BAR] = "bars",
							    [PASTA_CHART_HEAT] = "cells",
							    [PASTA_CHART_FLAME] = "stacks",
							    [PASTA_CHART_TIMELINE] = "slices",
							    [PASTA_CHART_GRAPH] = "nodes"};

	if (c->type == PASTA_CHART_TIMELINE)
		chart_lanes(j, c);
	if (c->type == PASTA_CHART_HISTOGRAM)
		chart_bins(j, c);
	if (c->type == PASTA_CHART_AREA) {
		pasta_json_key(j, "stacked");
		pasta_json_bool(j, true);
	}
	if (c->type == PASTA_CHART_SCATTER)
		chart_spots(j, c);
	else if (pasta_chart_has_series(c->type))
		chart_series(j, c);
	else if (c->grid)
		chart_grid(j, c->grid);
	else
		chart_items(j, keys[c->type], c, 0, c->used);
	if (c->type == PASTA_CHART_GRAPH)
		chart_edges(j, c);
}

void pasta_json_chart(struct pasta_json *j, const struct pasta_chart *c)
{
	bool value = c->type == PASTA_CHART_HEAT || c->type == PASTA_CHART_TIMELINE ||
		     c->type == PASTA_CHART_SCATTER || c->type == PASTA_CHART_GRAPH;

	pasta_json_map(j);
	chart_member(j, "name", c->name);
	chart_member(j, "type", pasta_chart_type_name(c->type));
	chart_axis(j, "x", &c->x);
	chart_axis(j, "y", &c->y);
	if (value)
		chart_axis(j, "value", &c->value);
	chart_content(j, c);
	pasta_json_map_end(j);
}
