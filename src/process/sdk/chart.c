/* chart.c - creates charts, and draws lines, areas, bars and flame graphs. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "process/sdk/result.h"

/* -- Names -- */

const char *pasta_chart_type_name(enum pasta_chart_type type)
{
	static const char *const names[PASTA_CHART_TYPES] = {
		[PASTA_CHART_LINE] = "line",	     [PASTA_CHART_BAR] = "bar",
		[PASTA_CHART_HEAT] = "heat",	     [PASTA_CHART_FLAME] = "flame",
		[PASTA_CHART_TIMELINE] = "timeline", [PASTA_CHART_SCATTER] = "scatter",
		[PASTA_CHART_AREA] = "area",	     [PASTA_CHART_HISTOGRAM] = "histogram",
		[PASTA_CHART_GRAPH] = "graph",
	};

	return (unsigned int)type < PASTA_CHART_TYPES ? names[type] : "unknown";
}

const char *pasta_category_name(enum pasta_category category)
{
	static const char *const names[PASTA_CATEGORIES] = {
		[PASTA_CATEGORY_OTHER] = "other",
		[PASTA_CATEGORY_KERNEL] = "kernel",
		[PASTA_CATEGORY_COPY] = "copy",
		[PASTA_CATEGORY_SET] = "set",
		[PASTA_CATEGORY_OPERATOR] = "operator",
		[PASTA_CATEGORY_REGION] = "region",
		[PASTA_CATEGORY_LAUNCH] = "launch",
		[PASTA_CATEGORY_SYNC] = "sync",
		[PASTA_CATEGORY_COLLECTIVE] = "collective",
	};

	return (unsigned int)category < PASTA_CATEGORIES ? names[category] : "unknown";
}

const char *pasta_scale_name(uint32_t scale)
{
	return scale == PASTA_SCALE_LINEAR ? "linear"
	       : scale == PASTA_SCALE_LOG  ? "log"
					   : "unknown";
}

bool pasta_chart_has_series(enum pasta_chart_type type)
{
	return type == PASTA_CHART_LINE || type == PASTA_CHART_AREA ||
	       type == PASTA_CHART_SCATTER || type == PASTA_CHART_HISTOGRAM;
}

bool pasta_chart_is_empty(const struct pasta_chart *chart)
{
	return !chart->used && !(chart->grid && chart->grid->filled);
}

/* -- Making and freeing -- */

static void chart_axis_free(struct pasta_axis *axis)
{
	size_t i;

	for (i = 0; axis->labels && i < axis->label_count; i++)
		free((char *)axis->labels[i]);
	free((void *)axis->labels);
	free((char *)axis->name);
	free((char *)axis->unit);
}

static void chart_items_free(struct pasta_chart *c)
{
	size_t i;

	for (i = 0; i < c->used; i++) {
		if (c->type == PASTA_CHART_BAR)
			free(c->items[i].bar.label);
		else if (c->type == PASTA_CHART_FLAME)
			free(c->items[i].stack.frames);
		else if (c->type == PASTA_CHART_SCATTER)
			free(c->items[i].spot.label);
		else if (c->type == PASTA_CHART_GRAPH)
			free(c->items[i].node.label);
	}
	free(c->items);
}

void pasta_chart_free(struct pasta_chart *c)
{
	size_t i;

	if (!c)
		return;
	chart_items_free(c);
	for (i = 0; i < c->series_count; i++)
		free(c->series[i].name);
	for (i = 0; i < c->lane_count; i++) {
		free(c->lanes[i].name);
		free(c->lanes[i].group);
	}
	for (i = 0; i < c->name_count; i++)
		free(c->names[i].text);
	for (i = 0; i < c->limit_count; i++)
		free(c->limits[i].name);
	if (c->grid)
		free(c->grid->cells);
	chart_axis_free(&c->x);
	chart_axis_free(&c->y);
	chart_axis_free(&c->value);
	free(c->series);
	free(c->lanes);
	free(c->names);
	free(c->limits);
	free(c->edges);
	free(c->bins);
	free(c->grid);
	free(c->name);
	free(c);
}

static bool chart_labels_copy(struct pasta_axis *to, const struct pasta_axis *from)
{
	char **labels = calloc(from->label_count, sizeof(*labels));

	if (!labels)
		return false;
	to->labels = (const char *const *)labels;
	for (; to->label_count < from->label_count; to->label_count++) {
		const char *label = from->labels[to->label_count];

		labels[to->label_count] = strdup(label ? label : "");
		if (!labels[to->label_count])
			return false;
	}
	return true;
}

/* Copies an axis. `plain` is the name to use if the axis has none. Returns false when out of
 * memory. */
static bool chart_axis_copy(struct pasta_axis *to, const struct pasta_axis *from, const char *plain)
{
	to->name = strdup(from->name && *from->name ? from->name : plain);
	to->unit = from->unit ? strdup(from->unit) : NULL;
	to->scale = from->scale;
	if (!to->name || (from->unit && !to->unit))
		return false;
	return !from->label_count || chart_labels_copy(to, from);
}

static bool chart_def_copy(struct pasta_chart *c, const struct pasta_chart_def *def)
{
	static const char *const plain[PASTA_CHART_TYPES][3] = {
		[PASTA_CHART_LINE] = {"x", "y", "value"},
		[PASTA_CHART_BAR] = {"label", "value", "value"},
		[PASTA_CHART_HEAT] = {"x", "y", "value"},
		[PASTA_CHART_FLAME] = {"stack", "value", "value"},
		[PASTA_CHART_TIMELINE] = {"time", "lane", "value"},
		[PASTA_CHART_SCATTER] = {"x", "y", "size"},
		[PASTA_CHART_AREA] = {"x", "y", "value"},
		[PASTA_CHART_HISTOGRAM] = {"value", "count", "value"},
		[PASTA_CHART_GRAPH] = {"node", "value", "cost"},
	};
	struct pasta_axis x = def->x;

	if (c->type == PASTA_CHART_TIMELINE)
		x.unit = "ns";
	c->name = strdup(def->name);
	return c->name && chart_axis_copy(&c->x, &x, plain[c->type][0]) &&
	       chart_axis_copy(&c->y, &def->y, plain[c->type][1]) &&
	       chart_axis_copy(&c->value, &def->value, plain[c->type][2]);
}

/* Returns a description of the first error in an axis, or NULL if the axis is valid. */
static const char *chart_axis_wrong(const struct pasta_axis *axis, bool labels)
{
	if (axis->scale > PASTA_SCALE_LOG)
		return "an axis has an unknown scale";
	if (!axis->label_count)
		return NULL;
	if (!axis->labels)
		return "an axis sets .label_count, but its .labels is NULL";
	return labels ? NULL : "only the axes of a heat map have labels";
}

static bool chart_def_check(struct pasta_out *out, const struct pasta_chart_def *def)
{
	const char *name = def && def->size >= sizeof(*def) ? def->name : NULL, *wrong;
	bool heat;

	if (def && def->size < sizeof(*def)) {
		pasta_out_fail(out, -EINVAL,
			       "a chart definition does not set .size: declare it with "
			       "PASTA_CHART_DEF");
		return false;
	}
	if (!pasta_out_plain(out, "chart", name))
		return false;
	if (!name || !*name || def->type >= PASTA_CHART_TYPES || pasta_out_has(out, name)) {
		pasta_out_fail(out, -EINVAL,
			       "cannot add chart '%s': its type is unknown, or its name is empty "
			       "or already in use",
			       name ? name : "");
		return false;
	}
	heat = def->type == PASTA_CHART_HEAT;
	wrong = chart_axis_wrong(&def->x, heat);
	wrong = wrong ? wrong : chart_axis_wrong(&def->y, heat);
	wrong = wrong ? wrong : chart_axis_wrong(&def->value, false);
	if (wrong)
		pasta_out_fail(out, -EINVAL, "chart %s: %s", name, wrong);
	return !wrong;
}

struct pasta_chart *pasta_out_chart(struct pasta_out *out, const struct pasta_chart_def *def)
{
	struct pasta_chart *c;

	if (!chart_def_check(out, def))
		return NULL;
	c = calloc(1, sizeof(*c));
	if (!c)
		goto fail;
	c->out = out;
	c->type = (enum pasta_chart_type)def->type;
	if (!chart_def_copy(c, def) || !pasta_result_grow((void **)&out->charts, out->chart_count,
							  &out->chart_room, sizeof(*out->charts)))
		goto fail;
	out->charts[out->chart_count++] = c;
	return c;
fail:
	pasta_chart_free(c);
	pasta_out_fail(out, -ENOMEM, "chart %s: out of memory", def->name);
	return NULL;
}

/* -- Common to all types -- */

bool pasta_chart_can(struct pasta_chart *c, enum pasta_chart_type type, const char *what)
{
	if (!c || c->out->err.code)
		return false;
	if (c->type == type)
		return true;
	pasta_out_fail(c->out, -EINVAL, "chart %s: type %s has no %s", c->name,
		       pasta_chart_type_name(c->type), what);
	return false;
}

void pasta_chart_fail(struct pasta_chart *c, const char *why)
{
	pasta_out_fail(c->out, -EINVAL, "chart %s: %s", c->name, why);
}

void pasta_chart_no_memory(struct pasta_chart *c)
{
	pasta_out_fail(c->out, -ENOMEM, "chart %s: out of memory", c->name);
}

/* Makes the report fail, with the message "chart NAME, series NAME: WHAT WHY". */
static void chart_position_fail(struct pasta_chart *c, const char *what, const char *why)
{
	const char *series = c->series_count ? c->series[c->series_count - 1].name : NULL;

	pasta_out_fail(c->out, -EINVAL, "chart %s%s%s: %s %s", c->name, series ? ", series " : "",
		       series ? series : "", what, why);
}

bool pasta_chart_position(struct pasta_chart *c, const struct pasta_axis *axis, double position,
			  const char *what)
{
	if (!isfinite(position))
		chart_position_fail(c, what, "is not a finite number");
	else if (axis->scale == PASTA_SCALE_LOG && position <= 0)
		chart_position_fail(c, what, "must be above 0 on a logarithmic axis");
	else if (axis->label_count && (position < 0 || position >= (double)axis->label_count ||
				       position != floor(position)))
		chart_position_fail(c, what, "must be the index of an axis label");
	else
		return true;
	return false;
}

bool pasta_chart_add(struct pasta_chart *c, union pasta_item item)
{
	if (!pasta_result_grow((void **)&c->items, c->used, &c->room, sizeof(*c->items))) {
		pasta_chart_no_memory(c);
		return false;
	}
	c->items[c->used++] = item;
	if (c->series_count)
		c->series[c->series_count - 1].count++;
	return true;
}

char *pasta_chart_text(struct pasta_chart *c, const char *text)
{
	char *copy = strdup(text ? text : "");

	if (!copy)
		pasta_chart_no_memory(c);
	return copy;
}

struct pasta_series *pasta_chart_last(struct pasta_chart *c, const char *what)
{
	if (c->series_count)
		return &c->series[c->series_count - 1];
	pasta_out_fail(c->out, -EINVAL, "chart %s: %s was added before the first series", c->name,
		       what);
	return NULL;
}

void pasta_chart_series(struct pasta_chart *chart, const char *name)
{
	char *copy;

	if (!chart ||
	    (!pasta_chart_has_series(chart->type) &&
	     !pasta_chart_can(chart, PASTA_CHART_LINE, "series")) ||
	    chart->out->err.code)
		return;
	copy = pasta_chart_text(chart, name);
	if (!copy)
		return;
	if (!pasta_result_grow((void **)&chart->series, chart->series_count, &chart->series_room,
			       sizeof(*chart->series))) {
		free(copy);
		pasta_chart_no_memory(chart);
		return;
	}
	chart->series[chart->series_count++] =
		(struct pasta_series){.name = copy, .first = chart->used};
}

/* -- Lines, areas, bars, flame graphs -- */

void pasta_chart_point(struct pasta_chart *chart, double x, double y)
{
	struct pasta_series *series;
	bool area = chart && chart->type == PASTA_CHART_AREA;

	if (!pasta_chart_can(chart, area ? PASTA_CHART_AREA : PASTA_CHART_LINE, "points"))
		return;
	series = pasta_chart_last(chart, "a point");
	if (!series || !pasta_chart_position(chart, &chart->x, x, "a point's x"))
		return;
	if (series->count && x < chart->items[chart->used - 1].point.x)
		chart_position_fail(chart, "x", "must not decrease");
	else if (area && y < 0)
		chart_position_fail(chart, "an area", "must not be below 0");
	else if (!isfinite(y) || pasta_chart_position(chart, &chart->y, y, "a point's y"))
		pasta_chart_add(chart, (union pasta_item){.point = {x, y}});
}

void pasta_chart_bar(struct pasta_chart *chart, const char *label, double value)
{
	char *copy;

	if (!pasta_chart_can(chart, PASTA_CHART_BAR, "bars"))
		return;
	copy = pasta_chart_text(chart, label);
	if (copy && !pasta_chart_add(chart, (union pasta_item){.bar = {copy, value}}))
		free(copy);
}

/* Returns a copy of the frames and their texts, in a single allocation. */
static char **chart_copy_frames(const char *const *frames, size_t count)
{
	size_t i, size = count * sizeof(*frames);
	char **copy, *text;

	for (i = 0; i < count; i++)
		size += strlen(frames[i] ? frames[i] : "") + 1;
	copy = malloc(size);
	if (!copy)
		return NULL;
	text = (char *)(copy + count);
	for (i = 0; i < count; i++) {
		copy[i] = text;
		text = stpcpy(text, frames[i] ? frames[i] : "") + 1;
	}
	return copy;
}

void pasta_chart_stack(struct pasta_chart *chart, const char *const *frames, size_t count,
		       int64_t value)
{
	char **copy;

	if (!pasta_chart_can(chart, PASTA_CHART_FLAME, "stacks"))
		return;
	if (!frames || !count || value < 0) {
		pasta_chart_fail(chart, "a stack must have at least one frame, and a value of at "
					"least 0");
		return;
	}
	copy = chart_copy_frames(frames, count);
	if (!copy)
		pasta_chart_no_memory(chart);
	else if (!pasta_chart_add(chart, (union pasta_item){.stack = {copy, count, value}}))
		free(copy);
}
