/* json.c - writes a result as one JSON object. docs/report.md describes the format. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "process/read/loss.h"
#include "process/io/json.h"
#include "process/read/runinfo.h"
#include "sink/chartjson.h"
#include "sink/sink.h"

static void json_member(struct pasta_json *j, const char *key, const char *text)
{
	pasta_json_key(j, key);
	pasta_json_str(j, text);
}

static void json_columns(struct pasta_json *j, const struct pasta_table *t)
{
	size_t i;

	pasta_json_key(j, "columns");
	pasta_json_list(j);
	for (i = 0; i < t->count; i++) {
		pasta_json_map(j);
		json_member(j, "name", t->columns[i].name);
		json_member(j, "type", pasta_column_type_name(t->columns[i].type));
		json_member(j, "unit", t->columns[i].unit);
		json_member(j, "role", pasta_role_name(t->columns[i].role));
		pasta_json_map_end(j);
	}
	pasta_json_list_end(j);
}

static void json_cell(struct pasta_json *j, enum pasta_column_type type,
		      const union pasta_value *value)
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

static void json_table(struct pasta_json *j, const struct pasta_table *t)
{
	size_t row, i;

	pasta_json_map(j);
	json_member(j, "name", t->name);
	json_columns(j, t);
	pasta_json_key(j, "rows");
	pasta_json_list(j);
	for (row = 0; row < pasta_table_rows(t); row++) {
		pasta_json_list(j);
		for (i = 0; i < t->count; i++)
			json_cell(j, t->columns[i].type, pasta_table_cell(t, row, i));
		pasta_json_list_end(j);
	}
	pasta_json_list_end(j);
	pasta_json_map_end(j);
}

static void json_number_or_null(struct pasta_json *j, const char *key, bool there, uint64_t value)
{
	pasta_json_key(j, key);
	if (there)
		pasta_json_uint(j, value);
	else
		pasta_json_null(j);
}

/* Write a reference to a table's row, or to a part of a chart's x axis. */
static void json_ref(struct pasta_json *j, const struct pasta_ref *r)
{
	bool part = r->from != 0 || r->to != 0;

	pasta_json_key(j, "ref");
	if (!r->table && !r->chart) {
		pasta_json_null(j);
		return;
	}
	pasta_json_map(j);
	json_member(j, r->table ? "table" : "chart", r->table ? r->table : r->chart);
	if (r->table) {
		json_number_or_null(j, "row", r->row != PASTA_NO_ROW, r->row);
	} else {
		pasta_json_key(j, "from");
		pasta_json_float(j, part ? r->from : NAN);
		pasta_json_key(j, "to");
		pasta_json_float(j, part ? r->to : NAN);
	}
	pasta_json_map_end(j);
}

static void json_saving(struct pasta_json *j, const struct pasta_finding *f,
			const uint64_t *disjoint)
{
	size_t i;

	pasta_json_key(j, "saving");
	if (!f->saving) {
		pasta_json_null(j);
		return;
	}
	pasta_json_map(j);
	json_number_or_null(j, "ns", true, f->saving);
	json_number_or_null(j, "disjoint_ns", disjoint && *disjoint != UINT64_MAX,
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

static void json_finding(struct pasta_json *j, const struct pasta_finding *f,
			 const uint64_t *disjoint)
{
	pasta_json_map(j);
	json_member(j, "severity", pasta_severity_name(f->severity));
	json_member(j, "what", f->what);
	json_number_or_null(j, "count", f->counted, f->count);
	json_member(j, "where", f->where);
	json_member(j, "evidence", f->evidence);
	json_member(j, "action", f->action);
	json_ref(j, &f->ref);
	json_saving(j, f, disjoint);
	pasta_json_map_end(j);
}

static void json_tool(struct pasta_json *j, const struct pasta_out *out)
{
	size_t i;

	pasta_json_map(j);
	json_member(j, "name", out->name);
	if (out->err.code)
		json_member(j, "error", out->err.text);
	pasta_json_key(j, "tables");
	pasta_json_list(j);
	for (i = 0; i < out->table_count; i++)
		json_table(j, out->tables[i]);
	pasta_json_list_end(j);
	pasta_json_key(j, "charts");
	pasta_json_list(j);
	for (i = 0; i < out->chart_count; i++)
		pasta_json_chart(j, out->charts[i]);
	pasta_json_list_end(j);
	pasta_json_key(j, "findings");
	pasta_json_list(j);
	for (i = 0; i < out->finding_count; i++)
		json_finding(j, &out->findings[i], out->disjoint ? &out->disjoint[i] : NULL);
	pasta_json_list_end(j);
	pasta_json_map_end(j);
}

static void json_document(struct pasta_json *j, const struct pasta_result *r)
{
	static const struct pasta_runinfo unknown;
	const struct pasta_runinfo *run = r->run ? r->run : &unknown;
	size_t i;

	pasta_json_map(j);
	json_member(j, "schema", PASTA_REPORT_SCHEMA);
	pasta_json_key(j, "run");
	pasta_json_map(j);
	json_member(j, "path", run->path);
	pasta_runinfo_json(run, j);
	pasta_json_map_end(j);
	pasta_json_key(j, "loss");
	pasta_loss_json(&r->loss, j);
	pasta_json_key(j, "tools");
	pasta_json_list(j);
	for (i = 0; i < r->count; i++)
		json_tool(j, r->outs[i]);
	pasta_json_list_end(j);
	pasta_json_map_end(j);
}

static int json_write(FILE *file, const struct pasta_result *result,
		      const struct pasta_sink_opts *opts, struct pasta_error *err)
{
	struct pasta_json *j = pasta_json_new(file, false);
	int error, flushed;

	if (j)
		json_document(j, result);
	error = pasta_json_free(j);
	flushed = pasta_sink_flush(file, err);
	if (!error || flushed)
		return flushed;
	return pasta_fail(err, error, "cannot write the report: %s", strerror(-error));
}

const struct pasta_sink pasta_sink_json = {
	.name = "json", .summary = "one JSON object, for programs", .write = json_write};
