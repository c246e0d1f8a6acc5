/* result.c - stores tables and findings in results. chart.c stores charts. */
#include "process/sdk/result.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/io/utf8.h"

const char *pasta_column_type_name(enum pasta_column_type type)
{
	static const char *const names[] = {[PASTA_COLUMN_STRING] = "string",
					    [PASTA_COLUMN_INT] = "int",
					    [PASTA_COLUMN_FLOAT] = "float"};

	return (unsigned int)type <= PASTA_COLUMN_FLOAT ? names[type] : "unknown";
}

const char *pasta_role_name(uint32_t role)
{
	static const char *const names[PASTA_ROLES] = {
		[PASTA_ROLE_KEY] = "key",	  [PASTA_ROLE_TIME] = "time",
		[PASTA_ROLE_SHARE] = "share",	  [PASTA_ROLE_KERNEL] = "kernel",
		[PASTA_ROLE_OP] = "op",		  [PASTA_ROLE_LINE] = "line",
		[PASTA_ROLE_ADDRESS] = "address",
	};

	return role < PASTA_ROLES ? names[role] : "unknown";
}

const char *pasta_severity_name(uint32_t severity)
{
	static const char *const names[] = {[PASTA_SEVERITY_NOTE] = "note",
					    [PASTA_SEVERITY_WARNING] = "warning",
					    [PASTA_SEVERITY_PROBLEM] = "problem"};

	return severity <= PASTA_SEVERITY_PROBLEM ? names[severity] : "unknown";
}

bool pasta_result_grow(void **array, size_t used, size_t *room, size_t each)
{
	size_t more = *room ? *room * 2 : 8;
	void *bigger;

	if (used < *room)
		return true;
	bigger = reallocarray(*array, more, each);
	if (!bigger)
		return false;
	*array = bigger;
	*room = more;
	return true;
}

static void table_free(struct pasta_table *t)
{
	size_t i;

	if (!t)
		return;
	for (i = 0; i < t->used; i++)
		if (t->columns[i % t->count].type == PASTA_COLUMN_STRING)
			free(t->cells[i].s);
	for (i = 0; t->columns && i < t->count; i++) {
		free((char *)t->columns[i].name);
		free((char *)t->columns[i].unit);
	}
	free(t->columns);
	free(t->cells);
	free(t->empty);
	free(t->name);
	free(t);
}

static void out_drop_all(struct pasta_out *out)
{
	size_t i;

	for (i = 0; i < out->table_count; i++)
		table_free(out->tables[i]);
	for (i = 0; i < out->chart_count; i++)
		pasta_chart_free(out->charts[i]);
	out->table_count = out->chart_count = 0;
}

static void finding_free(struct pasta_finding *f)
{
	free((char *)f->what);
	free((char *)f->where);
	free((char *)f->evidence);
	free((char *)f->action);
	free((char *)f->ref.table);
	free((char *)f->ref.chart);
	free((struct pasta_claim *)f->claims);
}

static void out_free(struct pasta_out *out)
{
	size_t i;

	if (!out)
		return;
	out_drop_all(out);
	for (i = 0; i < out->finding_count; i++)
		finding_free(&out->findings[i]);
	free(out->disjoint);
	free(out->tables);
	free(out->charts);
	free(out->findings);
	free(out->changed_file);
	free(out->name);
	free(out);
}

void pasta_result_free(struct pasta_result *result)
{
	size_t i;

	for (i = 0; i < result->count; i++)
		out_free(result->outs[i]);
	free(result->outs);
	memset(result, 0, sizeof(*result));
}

struct pasta_out *pasta_result_out(struct pasta_result *result, const char *tool)
{
	struct pasta_out *out = calloc(1, sizeof(*out));

	if (!out)
		return NULL;
	out->name = strdup(tool);
	if (!out->name || !pasta_result_grow((void **)&result->outs, result->count, &result->room,
					     sizeof(*result->outs))) {
		out_free(out);
		return NULL;
	}
	result->outs[result->count++] = out;
	return out;
}

void pasta_out_fail(struct pasta_out *out, int code, const char *fmt, ...)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	va_list args;

	pthread_mutex_lock(&lock);
	if (!out->err.code) {
		out->err.code = code;
		va_start(args, fmt);
		vsnprintf(out->err.text, sizeof(out->err.text), fmt, args);
		va_end(args);
	}
	pthread_mutex_unlock(&lock);
}

static char *result_copy(const char *text, bool *failed)
{
	char *s = text ? strdup(text) : NULL;

	if (text && !s)
		*failed = true;
	return s;
}

/* Returns the column's role that the tool set. If the tool set none, returns the role that follows
 * from the unit. */
static uint32_t column_role(const struct pasta_column *column)
{
	if (column->role || column->type == PASTA_COLUMN_STRING || !column->unit)
		return column->role;
	return !strcmp(column->unit, "ns")  ? PASTA_ROLE_TIME
	       : !strcmp(column->unit, "%") ? PASTA_ROLE_SHARE
					    : PASTA_ROLE_NONE;
}

static bool table_columns(struct pasta_table *t, const struct pasta_column *columns, size_t count)
{
	bool failed = false;
	size_t i;

	t->columns = calloc(count, sizeof(*t->columns));
	if (!t->columns)
		return false;
	t->count = count;
	for (i = 0; i < count; i++) {
		t->columns[i].type = columns[i].type;
		t->columns[i].role = column_role(&columns[i]);
		t->columns[i].name = result_copy(columns[i].name ? columns[i].name : "", &failed);
		t->columns[i].unit = result_copy(columns[i].unit, &failed);
	}
	return !failed;
}

bool pasta_out_has(const struct pasta_out *out, const char *name)
{
	size_t i;

	for (i = 0; i < out->table_count; i++)
		if (!strcmp(out->tables[i]->name, name))
			return true;
	for (i = 0; i < out->chart_count; i++)
		if (!strcmp(out->charts[i]->name, name))
			return true;
	return false;
}

bool pasta_out_plain(struct pasta_out *out, const char *what, const char *name)
{
	char safe[200];

	if (!name || !pasta_utf8_control(name))
		return true;
	pasta_out_fail(out, -EINVAL,
		       "the name of %s '%s' has a control character: remove the "
		       "character",
		       what, pasta_utf8_plain(name, safe, sizeof(safe)));
	return false;
}

static bool table_columns_plain(struct pasta_out *out, const char *table,
				const struct pasta_column *columns, size_t count)
{
	char what[200];
	size_t i = 0;

	snprintf(what, sizeof(what), "table %.180s, column", table);
	while (i < count && (unsigned int)columns[i].type <= PASTA_COLUMN_FLOAT &&
	       columns[i].role < PASTA_ROLES && pasta_out_plain(out, what, columns[i].name))
		i++;
	if (i < count && (unsigned int)columns[i].type <= PASTA_COLUMN_FLOAT)
		pasta_out_fail(out, -EINVAL, "%s %zu: unknown role %u", what, i + 1,
			       columns[i].role);
	else if (i < count)
		pasta_out_fail(out, -EINVAL, "%s %zu: unknown type %u", what, i + 1,
			       (unsigned int)columns[i].type);
	return i == count;
}

struct pasta_table *pasta_out_table(struct pasta_out *out, const char *name,
				    const struct pasta_column *columns, size_t count)
{
	struct pasta_table *t;
	bool failed = false;

	if (!pasta_out_plain(out, "table", name))
		return NULL;
	if (!name || !*name || !columns || !count || pasta_out_has(out, name)) {
		pasta_out_fail(out, -EINVAL,
			       "cannot add table '%s': it has no columns, or its name is empty or "
			       "already in use",
			       name ? name : "");
		return NULL;
	}
	if (!table_columns_plain(out, name, columns, count))
		return NULL;
	t = calloc(1, sizeof(*t));
	if (!t)
		goto fail;
	t->out = out;
	t->name = result_copy(name, &failed);
	if (failed || !table_columns(t, columns, count) ||
	    !pasta_result_grow((void **)&out->tables, out->table_count, &out->table_room,
			       sizeof(*out->tables)))
		goto fail;
	out->tables[out->table_count++] = t;
	return t;
fail:
	table_free(t);
	pasta_out_fail(out, -ENOMEM, "table %s: out of memory", name);
	return NULL;
}

/* Returns the next cell of a table, or NULL if the report has failed. */
static union pasta_value *cell_next_of_any(struct pasta_table *t)
{
	if (!t || t->out->err.code)
		return NULL;
	if (!pasta_result_grow((void **)&t->cells, t->used, &t->room, sizeof(*t->cells)) ||
	    !pasta_result_grow((void **)&t->empty, t->used, &t->empty_room, sizeof(*t->empty))) {
		pasta_out_fail(t->out, -ENOMEM, "table %s: out of memory", t->name);
		return NULL;
	}
	t->empty[t->used] = false;
	return &t->cells[t->used];
}

/* Returns the next cell of a table. If the cell does not have this type, the report fails. Returns
 * NULL if the report has failed. */
static union pasta_value *cell_next(struct pasta_table *t, enum pasta_column_type type)
{
	const struct pasta_column *column;

	if (!t || t->out->err.code)
		return NULL;
	column = &t->columns[t->used % t->count];
	if (column->type != type) {
		pasta_out_fail(t->out, -EINVAL,
			       "table %s, column %s: the tool added a cell of type %s, not %s",
			       t->name, column->name, pasta_column_type_name(type),
			       pasta_column_type_name(column->type));
		return NULL;
	}
	return cell_next_of_any(t);
}

void pasta_cell_take(struct pasta_table *table, char *text)
{
	union pasta_value *cell = cell_next(table, PASTA_COLUMN_STRING);

	if (!cell) {
		free(text);
		return;
	}
	cell->s = text;
	if (cell->s)
		table->used++;
	else
		pasta_out_fail(table->out, -ENOMEM, "table %s: out of memory", table->name);
}

void pasta_cell_str(struct pasta_table *table, const char *text)
{
	pasta_cell_take(table, strdup(text ? text : ""));
}

void pasta_cell_int(struct pasta_table *table, int64_t value)
{
	union pasta_value *cell = cell_next(table, PASTA_COLUMN_INT);

	if (!cell)
		return;
	cell->i = value;
	table->used++;
}

void pasta_cell_float(struct pasta_table *table, double value)
{
	union pasta_value *cell = cell_next(table, PASTA_COLUMN_FLOAT);

	if (!cell)
		return;
	cell->f = value;
	table->used++;
}

void pasta_cell_none(struct pasta_table *table)
{
	union pasta_value *cell = cell_next_of_any(table);

	if (!cell)
		return;
	memset(cell, 0, sizeof(*cell));
	table->empty[table->used++] = true;
}

/* -- Findings -- */

/* Returns a description of the first error in a finding, or NULL if the finding is valid. */
static const char *finding_wrong(const struct pasta_finding *f)
{
	const struct pasta_ref *ref = &f->ref;
	size_t i;

	if (ref->table && ref->chart)
		return "the finding refers to both a table and a chart";
	if (!isfinite(ref->from) || !isfinite(ref->to) || ref->from > ref->to)
		return "the finding refers to a chart range that is not finite, or that ends "
		       "before it begins";
	if (f->claim_count && (!f->claims || !f->saving))
		return "the finding sets .claim_count, but not both .claims and .saving";
	for (i = 0; i < f->claim_count; i++)
		if (f->claims[i].begin >= f->claims[i].end)
			return "a claim of the finding ends before it begins";
	return NULL;
}

static bool finding_copy(struct pasta_finding *to, const struct pasta_finding *from)
{
	bool failed = false;

	*to = *from;
	to->size = sizeof(*to);
	to->counted = from->count != 0;
	to->what = result_copy(from->what ? from->what : "", &failed);
	to->where = result_copy(from->where, &failed);
	to->evidence = result_copy(from->evidence, &failed);
	to->action = result_copy(from->action, &failed);
	to->ref.table = result_copy(from->ref.table, &failed);
	to->ref.chart = result_copy(from->ref.chart, &failed);
	to->claims = from->claim_count ? calloc(from->claim_count, sizeof(*to->claims)) : NULL;
	if (to->claims)
		memcpy((void *)to->claims, from->claims, from->claim_count * sizeof(*to->claims));
	return !failed && (to->claims || !from->claim_count);
}

static void finding_add(struct pasta_out *out, const struct pasta_finding *finding)
{
	struct pasta_finding f;

	if (finding_copy(&f, finding) &&
	    pasta_result_grow((void **)&out->findings, out->finding_count, &out->finding_room,
			      sizeof(*out->findings))) {
		out->findings[out->finding_count++] = f;
		return;
	}
	finding_free(&f);
	pasta_out_fail(out, -ENOMEM, "a finding: out of memory");
}

void pasta_out_finding_take(struct pasta_out *out, const struct pasta_finding *f)
{
	const char *wrong = finding_wrong(f), *what = f->what ? f->what : "";

	if (f->severity > PASTA_SEVERITY_PROBLEM)
		pasta_out_fail(out, -EINVAL, "finding '%.200s': unknown severity %u", what,
			       f->severity);
	else if (wrong)
		pasta_out_fail(out, -EINVAL, "finding '%.200s': %s", what, wrong);
	else
		finding_add(out, f);
}

void pasta_out_finding(struct pasta_out *out, const struct pasta_finding *finding)
{
	/* Size of the struct in the first version. The tool's struct may be smaller or larger than
	 * the current struct. */
	size_t least = offsetof(struct pasta_finding, claim_count) + sizeof(finding->claim_count);
	struct pasta_finding f = {0};
	char text[224];

	if (finding->size < least) {
		pasta_out_fail(out, -EINVAL,
			       "a finding does not set .size: report the finding with "
			       "pasta_out_report");
		return;
	}
	memcpy(&f, finding, finding->size < sizeof(f) ? finding->size : sizeof(f));
	if (f.counted && !f.count)
		return;
	if (f.count) {
		snprintf(text, sizeof(text), "%.200s: %llu", f.what ? f.what : "",
			 (unsigned long long)f.count);
		f.what = text;
	}
	pasta_out_finding_take(out, &f);
}

const char *pasta_out_text(struct pasta_out *out, const char *fmt, ...)
{
	char text[1024];
	va_list args;
	uint32_t id;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	id = pasta_strings_add(text, strlen(text));
	if (!id)
		pasta_out_fail(out, -ENOMEM, "a finding: out of memory");
	return pasta_str(id);
}

/* Returns a description of the error in a finding's reference, or NULL. References are checked at
 * the end of the report, because a finding may refer to a table that is reported later. */
static const char *finding_ref_wrong(const struct pasta_out *out, const struct pasta_ref *ref)
{
	size_t i;

	for (i = 0; ref->table && i < out->table_count; i++)
		if (!strcmp(out->tables[i]->name, ref->table))
			return ref->row == PASTA_NO_ROW ||
					       ref->row < pasta_table_rows(out->tables[i])
				       ? NULL
				       : "the finding refers to a row past the end of the table";
	for (i = 0; ref->chart && i < out->chart_count; i++)
		if (!strcmp(out->charts[i]->name, ref->chart))
			return NULL;
	return ref->table || ref->chart ? "the finding refers to an unknown table or chart" : NULL;
}

static void finding_check_refs(struct pasta_out *out)
{
	size_t i;

	for (i = 0; i < out->finding_count && !out->err.code; i++) {
		const char *wrong = finding_ref_wrong(out, &out->findings[i].ref);

		if (wrong)
			pasta_out_fail(out, -EINVAL, "finding '%.200s': %s", out->findings[i].what,
				       wrong);
	}
}

/* Removes the references of all findings to tables and charts, because the tables and charts are
 * dropped. */
static void finding_drop_refs(struct pasta_out *out)
{
	size_t i;

	for (i = 0; i < out->finding_count; i++) {
		free((char *)out->findings[i].ref.table);
		free((char *)out->findings[i].ref.chart);
		out->findings[i].ref = (struct pasta_ref){0};
	}
}

int pasta_out_end(struct pasta_out *out)
{
	size_t i;

	for (i = 0; i < out->table_count; i++) {
		const struct pasta_table *t = out->tables[i];

		if (t->used % t->count)
			pasta_out_fail(out, -EINVAL,
				       "table %s: the last row is incomplete, and "
				       "ends before column %s",
				       t->name, t->columns[t->used % t->count].name);
	}
	finding_check_refs(out);
	if (out->err.code) {
		out_drop_all(out);
		finding_drop_refs(out);
	}
	return out->err.code;
}
