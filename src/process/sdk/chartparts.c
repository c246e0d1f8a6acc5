/* chartparts.c - draws timelines, scatter plots and graphs. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "process/sdk/result.h"

/* -- Timelines -- */

/* Makes room for one more entry in an array with 32-bit indices. Returns false if the report has
 * failed. */
static bool parts_grow(struct pasta_chart *c, void **array, size_t used, size_t *room, size_t each)
{
	if (used >= UINT32_MAX - 1)
		pasta_chart_fail(c, "a chart must have at most 2^32 - 2 lanes, names, limits or "
				    "edges");
	else if (pasta_result_grow(array, used, room, each))
		return true;
	else
		pasta_chart_no_memory(c);
	return false;
}

uint32_t pasta_chart_lane(struct pasta_chart *chart, const char *name, const char *group,
			  uint32_t depth)
{
	struct pasta_lane_row lane = {.depth = depth};

	if (!pasta_chart_can(chart, PASTA_CHART_TIMELINE, "lanes"))
		return 0;
	lane.name = pasta_chart_text(chart, name);
	lane.group = group && lane.name ? pasta_chart_text(chart, group) : NULL;
	if (!lane.name || (group && !lane.group) ||
	    !parts_grow(chart, (void **)&chart->lanes, chart->lane_count, &chart->lane_room,
			sizeof(lane))) {
		free(lane.name);
		free(lane.group);
		return 0;
	}
	chart->lanes[chart->lane_count] = lane;
	return (uint32_t)chart->lane_count++;
}

uint32_t pasta_chart_name(struct pasta_chart *chart, const char *text, enum pasta_category category)
{
	char *copy;

	if (!pasta_chart_can(chart, PASTA_CHART_TIMELINE, "names"))
		return 0;
	if ((unsigned int)category >= PASTA_CATEGORIES) {
		pasta_chart_fail(chart, "a slice name has an unknown category");
		return 0;
	}
	copy = pasta_chart_text(chart, text);
	if (!copy || !parts_grow(chart, (void **)&chart->names, chart->name_count,
				 &chart->name_room, sizeof(*chart->names))) {
		free(copy);
		return 0;
	}
	chart->names[chart->name_count] = (struct pasta_slice_name){copy, category};
	return (uint32_t)chart->name_count++;
}

void pasta_chart_slice(struct pasta_chart *chart, uint32_t lane, int64_t start, int64_t dur,
		       uint32_t name, double value)
{
	const char *wrong = NULL;

	if (!pasta_chart_can(chart, PASTA_CHART_TIMELINE, "slices"))
		return;
	if (lane >= chart->lane_count || name >= chart->name_count)
		wrong = "a slice refers to an unknown lane or name";
	else if (start < 0 || dur < 0 || start > INT64_MAX - dur)
		wrong = "the start or duration of a slice is below 0, or too large";
	else if (start < chart->lanes[lane].last)
		wrong = "a slice starts before the previous slice of its lane";
	if (wrong)
		pasta_chart_fail(chart, wrong);
	else if (pasta_chart_add(chart,
				 (union pasta_item){.slice = {lane, name, start, dur, value}}))
		chart->lanes[lane].last = start;
}

/* -- Scatter plots -- */

void pasta_chart_spot(struct pasta_chart *chart, double x, double y, double size, const char *label)
{
	char *copy = NULL;

	if (!pasta_chart_can(chart, PASTA_CHART_SCATTER, "spots") ||
	    !pasta_chart_position(chart, &chart->x, x, "a point's x") ||
	    !pasta_chart_position(chart, &chart->y, y, "a point's y"))
		return;
	if (!isfinite(size) || size < 0) {
		pasta_chart_fail(chart, "the size of a point must be a finite number of at least "
					"0");
		return;
	}
	if (label) {
		copy = pasta_chart_text(chart, label);
		if (!copy)
			return;
	}
	if (!pasta_chart_add(chart, (union pasta_item){.spot = {x, y, size, copy}}))
		free(copy);
}

static void chart_limit(struct pasta_chart *c, const char *name, bool slope, double value)
{
	char *copy;

	if (!pasta_chart_can(c, PASTA_CHART_SCATTER, "limits") ||
	    !pasta_chart_position(c, &c->y, value, "a limit"))
		return;
	if (slope && value <= 0) {
		pasta_chart_fail(c, "the slope of a limit line must be above 0");
		return;
	}
	copy = pasta_chart_text(c, name);
	if (!copy || !parts_grow(c, (void **)&c->limits, c->limit_count, &c->limit_room,
				 sizeof(*c->limits))) {
		free(copy);
		return;
	}
	c->limits[c->limit_count++] = (struct pasta_limit){copy, slope, value};
}

void pasta_chart_limit_slope(struct pasta_chart *chart, const char *name, double slope)
{
	chart_limit(chart, name, true, slope);
}

void pasta_chart_limit_level(struct pasta_chart *chart, const char *name, double level)
{
	chart_limit(chart, name, false, level);
}

/* -- Graphs -- */

uint32_t pasta_chart_node(struct pasta_chart *chart, uint32_t parent, const char *label,
			  double value, double cost)
{
	char *copy;

	if (!pasta_chart_can(chart, PASTA_CHART_GRAPH, "nodes"))
		return 0;
	if ((parent != PASTA_NO_NODE && parent >= chart->used) || chart->used >= PASTA_NO_NODE) {
		pasta_chart_fail(chart, "a node of a graph must be added after its parent");
		return 0;
	}
	copy = pasta_chart_text(chart, label);
	if (!copy)
		return 0;
	if (!pasta_chart_add(chart, (union pasta_item){.node = {copy, value, cost, parent}})) {
		free(copy);
		return 0;
	}
	return (uint32_t)(chart->used - 1);
}

void pasta_chart_edge(struct pasta_chart *chart, uint32_t from, uint32_t to, double value)
{
	if (!pasta_chart_can(chart, PASTA_CHART_GRAPH, "edges"))
		return;
	if (from >= chart->used || to >= chart->used)
		pasta_chart_fail(chart, "an edge refers to an unknown node");
	else if (parts_grow(chart, (void **)&chart->edges, chart->edge_count, &chart->edge_room,
			    sizeof(*chart->edges)))
		chart->edges[chart->edge_count++] = (struct pasta_edge){from, to, value};
}
