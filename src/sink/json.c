/* json.c - a result as one JSON object. docs/report.md describes it. */
#include <errno.h>
#include <string.h>

#include "process/account.h"
#include "process/json.h"
#include "process/runinfo.h"
#include "sink/sink.h"

static void member(struct pasta_json *j, const char *key, const char *text)
{
	pasta_json_key(j, key);
	pasta_json_str(j, text);
}

static void columns(struct pasta_json *j, const struct pasta_table *t)
{
	size_t i;

	pasta_json_key(j, "columns");
	pasta_json_list(j);
	for (i = 0; i < t->count; i++) {
		pasta_json_map(j);
		member(j, "name", t->columns[i].name);
		member(j, "type", pasta_column_type_name(t->columns[i].type));
		member(j, "unit", t->columns[i].unit);
		pasta_json_map_end(j);
	}
	pasta_json_list_end(j);
}

static void cell(struct pasta_json *j, enum pasta_column_type type, const union pasta_value *value)
{
	if (!value)
		pasta_json_str(j, NULL);
	else if (type == PASTA_COLUMN_STRING)
		pasta_json_str(j, value->s);
	else if (type == PASTA_COLUMN_INT)
		pasta_json_int(j, value->i);
	else
		pasta_json_float(j, value->f);
}

static void table(struct pasta_json *j, const struct pasta_table *t)
{
	size_t row, i;

	pasta_json_map(j);
	member(j, "name", t->name);
	columns(j, t);
	pasta_json_key(j, "rows");
	pasta_json_list(j);
	for (row = 0; row < pasta_table_rows(t); row++) {
		pasta_json_list(j);
		for (i = 0; i < t->count; i++)
			cell(j, t->columns[i].type, pasta_table_cell(t, row, i));
		pasta_json_list_end(j);
	}
	pasta_json_list_end(j);
	pasta_json_map_end(j);
}

static void axis(struct pasta_json *j, const char *key, const struct pasta_axis *a)
{
	pasta_json_key(j, key);
	pasta_json_map(j);
	member(j, "name", a->name);
	member(j, "unit", a->unit);
	pasta_json_map_end(j);
}

static void item(struct pasta_json *j, enum pasta_chart_type type, const union pasta_item *it)
{
	size_t i;

	pasta_json_list(j);
	switch (type) {
	case PASTA_CHART_LINE:
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
		pasta_json_list(j);
		for (i = 0; i < it->stack.count; i++)
			pasta_json_str(j, it->stack.frames[i]);
		pasta_json_list_end(j);
		pasta_json_int(j, it->stack.value);
		break;
	}
	pasta_json_list_end(j);
}

static void items(struct pasta_json *j, const char *key, const struct pasta_chart *c, size_t first,
		  size_t count)
{
	size_t i;

	pasta_json_key(j, key);
	pasta_json_list(j);
	for (i = first; i < first + count; i++)
		item(j, c->type, &c->items[i]);
	pasta_json_list_end(j);
}

static void series(struct pasta_json *j, const struct pasta_chart *c)
{
	size_t i;

	pasta_json_key(j, "series");
	pasta_json_list(j);
	for (i = 0; i < c->series_count; i++) {
		pasta_json_map(j);
		member(j, "name", c->series[i].name);
		items(j, "points", c, c->series[i].first, c->series[i].count);
		pasta_json_map_end(j);
	}
	pasta_json_list_end(j);
}

static void chart(struct pasta_json *j, const struct pasta_chart *c)
{
	static const char *const keys[] = {[PASTA_CHART_BAR] = "bars",
					   [PASTA_CHART_HEAT] = "cells",
					   [PASTA_CHART_FLAME] = "stacks"};

	pasta_json_map(j);
	member(j, "name", c->name);
	member(j, "type", pasta_chart_type_name(c->type));
	axis(j, "x", &c->x);
	axis(j, "y", &c->y);
	if (c->type == PASTA_CHART_HEAT)
		axis(j, "value", &c->value);
	if (c->type == PASTA_CHART_LINE)
		series(j, c);
	else
		items(j, keys[c->type], c, 0, c->used);
	pasta_json_map_end(j);
}

static void finding(struct pasta_json *j, const struct pasta_finding *f)
{
	pasta_json_map(j);
	member(j, "severity", pasta_severity_name(f->severity));
	member(j, "what", f->what);
	member(j, "where", f->where);
	member(j, "evidence", f->evidence);
	member(j, "action", f->action);
	pasta_json_map_end(j);
}

static void tool(struct pasta_json *j, const struct pasta_out *out)
{
	size_t i;

	pasta_json_map(j);
	member(j, "name", out->name);
	if (out->err.code)
		member(j, "error", out->err.text);
	pasta_json_key(j, "tables");
	pasta_json_list(j);
	for (i = 0; i < out->table_count; i++)
		table(j, out->tables[i]);
	pasta_json_list_end(j);
	pasta_json_key(j, "charts");
	pasta_json_list(j);
	for (i = 0; i < out->chart_count; i++)
		chart(j, out->charts[i]);
	pasta_json_list_end(j);
	pasta_json_key(j, "findings");
	pasta_json_list(j);
	for (i = 0; i < out->finding_count; i++)
		finding(j, &out->findings[i]);
	pasta_json_list_end(j);
	pasta_json_map_end(j);
}

static void document(struct pasta_json *j, const struct pasta_result *r)
{
	static const struct pasta_runinfo unknown;
	const struct pasta_runinfo *run = r->run ? r->run : &unknown;
	size_t i;

	pasta_json_map(j);
	member(j, "schema", PASTA_REPORT_SCHEMA);
	pasta_json_key(j, "run");
	pasta_json_map(j);
	member(j, "path", run->path);
	pasta_runinfo_json(run, j);
	pasta_json_map_end(j);
	pasta_json_key(j, "loss");
	pasta_account_json(&r->loss, j);
	pasta_json_key(j, "tools");
	pasta_json_list(j);
	for (i = 0; i < r->count; i++)
		tool(j, r->outs[i]);
	pasta_json_list_end(j);
	pasta_json_map_end(j);
}

static int json(FILE *file, const struct pasta_result *result, const struct pasta_sink_opts *opts,
		struct pasta_error *err)
{
	struct pasta_json *j = pasta_json_new(file, false);
	int error, flushed;

	if (j)
		document(j, result);
	error = pasta_json_free(j);
	flushed = pasta_sink_flush(file, err);
	if (!error || flushed)
		return flushed;
	return pasta_fail(err, error, "cannot write the report: %s", strerror(-error));
}

const struct pasta_sink pasta_sink_json = {
	.name = "json", .summary = "one JSON object, for programs", .write = json};
