/* json.c - a result as one JSON object. docs/report.md describes it. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "process/read/loss.h"
#include "process/io/json.h"
#include "process/read/runinfo.h"
#include "sink/chartjson.h"
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
		member(j, "role", pasta_role_name(t->columns[i].role));
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

static void number_or_null(struct pasta_json *j, const char *key, bool there, uint64_t value)
{
	pasta_json_key(j, key);
	if (there)
		pasta_json_uint(j, value);
	else
		pasta_json_null(j);
}

/* from and to of a part of a chart; the whole chart has none. */
static void ref(struct pasta_json *j, const struct pasta_ref *r)
{
	bool part = r->from != 0 || r->to != 0;

	pasta_json_key(j, "ref");
	if (!r->table && !r->chart) {
		pasta_json_null(j);
		return;
	}
	pasta_json_map(j);
	member(j, r->table ? "table" : "chart", r->table ? r->table : r->chart);
	if (r->table) {
		number_or_null(j, "row", r->row != PASTA_NO_ROW, r->row);
	} else {
		pasta_json_key(j, "from");
		pasta_json_float(j, part ? r->from : NAN);
		pasta_json_key(j, "to");
		pasta_json_float(j, part ? r->to : NAN);
	}
	pasta_json_map_end(j);
}

static void saving(struct pasta_json *j, const struct pasta_finding *f, const uint64_t *disjoint)
{
	size_t i;

	pasta_json_key(j, "saving");
	if (!f->saving) {
		pasta_json_null(j);
		return;
	}
	pasta_json_map(j);
	number_or_null(j, "ns", true, f->saving);
	number_or_null(j, "disjoint_ns", disjoint && *disjoint != UINT64_MAX,
		       disjoint ? *disjoint : 0);
	pasta_json_key(j, "claims");
	pasta_json_list(j);
	for (i = 0; i < f->claim_count; i++) {
		pasta_json_list(j);
		pasta_json_uint(j, f->claims[i].proc);
		pasta_json_uint(j, f->claims[i].device);
		pasta_json_uint(j, f->claims[i].begin);
		pasta_json_uint(j, f->claims[i].end);
		pasta_json_list_end(j);
	}
	pasta_json_list_end(j);
	pasta_json_map_end(j);
}

static void finding(struct pasta_json *j, const struct pasta_finding *f, const uint64_t *disjoint)
{
	pasta_json_map(j);
	member(j, "severity", pasta_severity_name(f->severity));
	member(j, "what", f->what);
	number_or_null(j, "count", f->counted, f->count);
	member(j, "where", f->where);
	member(j, "evidence", f->evidence);
	member(j, "action", f->action);
	ref(j, &f->ref);
	saving(j, f, disjoint);
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
		pasta_json_chart(j, out->charts[i]);
	pasta_json_list_end(j);
	pasta_json_key(j, "findings");
	pasta_json_list(j);
	for (i = 0; i < out->finding_count; i++)
		finding(j, &out->findings[i], out->disjoint ? &out->disjoint[i] : NULL);
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
	pasta_loss_json(&r->loss, j);
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
