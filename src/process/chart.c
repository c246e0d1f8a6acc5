/* chart.c - charts that tools reported. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "process/result.h"

const char *pasta_chart_type_name(enum pasta_chart_type type)
{
	static const char *const names[] = {[PASTA_CHART_LINE] = "line",
					    [PASTA_CHART_BAR] = "bar",
					    [PASTA_CHART_HEAT] = "heat",
					    [PASTA_CHART_FLAME] = "flame"};

	return (unsigned int)type <= PASTA_CHART_FLAME ? names[type] : "unknown";
}

static void axis_free(struct pasta_axis *axis)
{
	free((char *)axis->name);
	free((char *)axis->unit);
}

void pasta_chart_free(struct pasta_chart *c)
{
	size_t i;

	if (!c)
		return;
	for (i = 0; i < c->used; i++) {
		if (c->type == PASTA_CHART_BAR)
			free(c->items[i].bar.label);
		else if (c->type == PASTA_CHART_FLAME)
			free(c->items[i].stack.frames);
	}
	for (i = 0; i < c->series_count; i++)
		free(c->series[i].name);
	axis_free(&c->x);
	axis_free(&c->y);
	axis_free(&c->value);
	free(c->series);
	free(c->items);
	free(c->name);
	free(c);
}

/* A copy of an axis; plain is its name where it has none. */
static bool axis_copy(struct pasta_axis *to, const struct pasta_axis *from, const char *plain)
{
	const char *name = from && from->name && *from->name ? from->name : plain;
	const char *unit = from ? from->unit : NULL;

	to->name = strdup(name);
	to->unit = unit ? strdup(unit) : NULL;
	return to->name && (!unit || to->unit);
}

static void no_memory(struct pasta_out *out, const char *name)
{
	pasta_out_fail(out, -ENOMEM, "chart %s: out of memory", name);
}

struct pasta_chart *pasta_out_chart(struct pasta_out *out, const char *name,
				    enum pasta_chart_type type, const struct pasta_axis *x,
				    const struct pasta_axis *y)
{
	static const char *const plain[][2] = {[PASTA_CHART_LINE] = {"x", "y"},
					       [PASTA_CHART_BAR] = {"label", "value"},
					       [PASTA_CHART_HEAT] = {"x", "y"},
					       [PASTA_CHART_FLAME] = {"stack", "value"}};
	struct pasta_chart *c;

	if (!pasta_out_plain(out, "chart", name))
		return NULL;
	if (!name || !*name || (unsigned int)type > PASTA_CHART_FLAME || pasta_out_has(out, name)) {
		pasta_out_fail(out, -EINVAL,
			       "chart '%s' has no name, no known type, or is there twice",
			       name ? name : "");
		return NULL;
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		goto fail;
	c->out = out;
	c->type = type;
	c->name = strdup(name);
	if (!c->name || !axis_copy(&c->x, x, plain[type][0]) ||
	    !axis_copy(&c->y, y, plain[type][1]) || !axis_copy(&c->value, NULL, "value") ||
	    !pasta_result_grow((void **)&out->charts, out->chart_count, &out->chart_room,
			       sizeof(*out->charts)))
		goto fail;
	out->charts[out->chart_count++] = c;
	return c;
fail:
	pasta_chart_free(c);
	no_memory(out, name);
	return NULL;
}

/* Whether the chart can have what: else the report has failed. */
static bool can_have(struct pasta_chart *c, enum pasta_chart_type type, const char *what)
{
	if (!c || c->out->err.code)
		return false;
	if (c->type == type)
		return true;
	pasta_out_fail(c->out, -EINVAL, "chart %s: it is of type %s, which has no %s", c->name,
		       pasta_chart_type_name(c->type), what);
	return false;
}

/* Add what was made; what cannot be added is the caller's again. */
static bool add(struct pasta_chart *c, union pasta_item item)
{
	if (!pasta_result_grow((void **)&c->items, c->used, &c->room, sizeof(*c->items))) {
		no_memory(c->out, c->name);
		return false;
	}
	c->items[c->used++] = item;
	return true;
}

void pasta_chart_series(struct pasta_chart *chart, const char *name)
{
	char *copy;

	if (!can_have(chart, PASTA_CHART_LINE, "series"))
		return;
	copy = strdup(name ? name : "");
	if (!copy || !pasta_result_grow((void **)&chart->series, chart->series_count,
					&chart->series_room, sizeof(*chart->series))) {
		free(copy);
		no_memory(chart->out, chart->name);
		return;
	}
	chart->series[chart->series_count++] =
		(struct pasta_series){.name = copy, .first = chart->used};
}

void pasta_chart_point(struct pasta_chart *chart, double x, double y)
{
	struct pasta_series *series;

	if (!can_have(chart, PASTA_CHART_LINE, "points"))
		return;
	series = chart->series_count ? &chart->series[chart->series_count - 1] : NULL;
	if (!series)
		pasta_out_fail(chart->out, -EINVAL, "chart %s: a point before the first series",
			       chart->name);
	else if (!isfinite(x))
		pasta_out_fail(chart->out, -EINVAL,
			       "chart %s, series %s: a point's x is no finite number", chart->name,
			       series->name);
	else if (series->count && x < chart->items[chart->used - 1].point.x)
		pasta_out_fail(chart->out, -EINVAL, "chart %s, series %s: x goes down", chart->name,
			       series->name);
	else if (add(chart, (union pasta_item){.point = {x, y}}))
		series->count++;
}

void pasta_chart_bar(struct pasta_chart *chart, const char *label, double value)
{
	char *copy;

	if (!can_have(chart, PASTA_CHART_BAR, "bars"))
		return;
	copy = strdup(label ? label : "");
	if (!copy)
		no_memory(chart->out, chart->name);
	else if (!add(chart, (union pasta_item){.bar = {copy, value}}))
		free(copy);
}

void pasta_chart_value(struct pasta_chart *chart, const struct pasta_axis *value)
{
	if (!can_have(chart, PASTA_CHART_HEAT, "axis of values"))
		return;
	axis_free(&chart->value);
	if (!axis_copy(&chart->value, value, "value"))
		no_memory(chart->out, chart->name);
}

void pasta_chart_cell(struct pasta_chart *chart, double x, double y, double value)
{
	if (!can_have(chart, PASTA_CHART_HEAT, "cells"))
		return;
	if (!isfinite(x) || !isfinite(y))
		pasta_out_fail(chart->out, -EINVAL, "chart %s: a cell's place is no finite number",
			       chart->name);
	else
		add(chart, (union pasta_item){.cell = {x, y, value}});
}

/* The frames, and what they point to, in one piece. */
static char **copy_frames(const char *const *frames, size_t count)
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

	if (!can_have(chart, PASTA_CHART_FLAME, "stacks"))
		return;
	if (!frames || !count || value < 0) {
		pasta_out_fail(chart->out, -EINVAL,
			       "chart %s: a stack has no frames, or a value below 0", chart->name);
		return;
	}
	copy = copy_frames(frames, count);
	if (!copy)
		no_memory(chart->out, chart->name);
	else if (!add(chart, (union pasta_item){.stack = {copy, count, value}}))
		free(copy);
}
