/* parcel.c - serializes reports and tool descriptors, to pass them from a worker to accelprof. */
#include "process/run/parcel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/run/parcelchart.h"

/* -- Tables are written column by column, each column after a bitmap of its empty cells -- */

static void parcel_put_cells(struct pasta_wire *w, const struct pasta_table *t, size_t column)
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

static void parcel_put_table(struct pasta_wire *w, const struct pasta_table *t)
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
		parcel_put_cells(w, t, i);
}

static int parcel_get_cells(struct pasta_wire_in *in, struct pasta_table *t, size_t column,
			    size_t rows)
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

static int parcel_get_rows(struct pasta_wire_in *in, struct pasta_table *t, size_t *cells)
{
	size_t rows = (size_t)pasta_wire_get_below(in, (PASTA_PARCEL_CELLS - *cells) / t->count);
	size_t i, used = rows * t->count;
	int error = 0;

	/* Each cell takes at least one bit in the parcel, so the parcel's size limits the number of
	 * rows. */
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
		error = parcel_get_cells(in, t, i, rows);
	return error ? error : in->bad ? -EBADMSG : 0;
}

static int parcel_get_table(struct pasta_wire_in *in, struct pasta_out *out, size_t *cells)
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
	return t ? parcel_get_rows(in, t, cells) : in->bad ? -EBADMSG : out->err.code;
}

/* -- The report of one tool -- */

static void parcel_put_finding(struct pasta_wire *w, const struct pasta_finding *f)
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
	pasta_wire_double(w, f->ref.from);
	pasta_wire_double(w, f->ref.to);
	pasta_wire_number(w, f->saving);
	pasta_wire_number(w, f->claim_count);
	for (i = 0; i < f->claim_count; i++)
		pasta_wire_put(w, &f->claims[i], sizeof(f->claims[i]));
}

/* Reads the claims into an array, which the caller frees. */
static int parcel_get_claims(struct pasta_wire_in *in, struct pasta_finding *f)
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

static int parcel_get_finding(struct pasta_wire_in *in, struct pasta_out *out)
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
	f.ref.from = pasta_wire_get_double(in);
	f.ref.to = pasta_wire_get_double(in);
	f.saving = pasta_wire_get_number(in);
	error = parcel_get_claims(in, &f);
	if (!error && !in->bad)
		pasta_out_finding_take(out, &f);
	free((void *)f.claims);
	return error ? error : in->bad ? -EBADMSG : out->err.code;
}

static void parcel_limit(struct pasta_out *out)
{
	size_t i, cells = 0, columns = 0;

	for (i = 0; i < out->table_count; i++) {
		cells += out->tables[i]->used;
		columns = out->tables[i]->count > columns ? out->tables[i]->count : columns;
	}
	if (out->table_count + out->chart_count > PASTA_PARCEL_TABLES ||
	    columns > PASTA_PARCEL_COLUMNS || cells > PASTA_PARCEL_CELLS)
		pasta_out_fail(out, -E2BIG,
			       "the tool's report is too large: at most %d tables and charts, %d "
			       "columns and %zu cells are allowed",
			       PASTA_PARCEL_TABLES, PASTA_PARCEL_COLUMNS, PASTA_PARCEL_CELLS);
	pasta_out_end(out);
}

static void parcel_put_out(struct pasta_wire *w, struct pasta_out *out)
{
	size_t i;

	parcel_limit(out);
	pasta_wire_text(w, out->name);
	pasta_wire_number(w, (uint64_t)(int64_t)out->err.code);
	pasta_wire_text(w, out->err.code ? out->err.text : "");
	pasta_wire_number(w, out->table_count);
	for (i = 0; i < out->table_count; i++)
		parcel_put_table(w, out->tables[i]);
	pasta_wire_number(w, out->chart_count);
	for (i = 0; i < out->chart_count; i++)
		pasta_parcel_put_chart(w, out->charts[i]);
	pasta_wire_number(w, out->finding_count);
	for (i = 0; i < out->finding_count; i++)
		parcel_put_finding(w, &out->findings[i]);
}

static int parcel_get_error(struct pasta_wire_in *in, struct pasta_error *err)
{
	int64_t code = (int64_t)pasta_wire_get_number(in);
	const char *text = pasta_wire_get_text(in);

	if (in->bad || code > INT32_MAX || code < -INT32_MAX)
		return -EBADMSG;
	if (code)
		pasta_fail(err, (int)code, "%s", text);
	return 0;
}

static int parcel_get_out(struct pasta_wire_in *in, struct pasta_out *out)
{
	const char *name = pasta_wire_get_text(in);
	struct pasta_error err = {0};
	int error = strcmp(name, out->name) ? -EBADMSG : parcel_get_error(in, &err);
	size_t cells = 0;
	uint64_t n;

	n = pasta_wire_get_below(in, PASTA_PARCEL_TABLES);
	for (; n && !error; n--)
		error = parcel_get_table(in, out, &cells);
	n = pasta_wire_get_below(in, PASTA_PARCEL_TABLES);
	for (; n && !error; n--)
		error = pasta_parcel_get_chart(in, out);
	n = error ? 0 : pasta_wire_get_number(in);
	for (; n && !error && !in->bad; n--)
		error = parcel_get_finding(in, out);
	if (!error && !in->bad)
		error = pasta_out_end(out);
	/* out->err stores only the tool's own error, not an error in the format of the parcel. */
	if (!error && !in->bad && !out->err.code &&
	    (!err.code || !(out->table_count + out->chart_count))) {
		out->err = err;
		return 0;
	}
	return error == -ENOMEM || out->err.code == -ENOMEM ? -ENOMEM : -EBADMSG;
}

/* -- The reports of all tools -- */

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
		parcel_put_out(w, outs[i]);
}

/* Moves the tables, charts and findings of `read` to `out`, which retains its name. */
static void parcel_move(struct pasta_out *out, struct pasta_out *read)
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
	error = parcel_get_error(in, &parcel->unread);
	if (!error && pasta_wire_get_number(in) != count)
		error = -EBADMSG;
	for (i = 0; i < count && !error; i++) {
		struct pasta_out *out = pasta_result_out(&read, outs[i]->name);

		error = out ? parcel_get_out(in, out) : -ENOMEM;
	}
	if (!error && (in->bad || in->at != in->end))
		error = -EBADMSG;
	for (i = 0; i < count && !error; i++)
		parcel_move(outs[i], read.outs[i]);
	pasta_result_free(&read);
	return error;
}

/* -- Tools -- */

static size_t parcel_count_options(const struct pasta_tool *tool)
{
	size_t n = 0;

	while (tool->options && tool->options[n].name)
		n++;
	return n;
}

void pasta_parcel_put_tool(struct pasta_wire *w, const struct pasta_tool *tool)
{
	size_t i, n = parcel_count_options(tool);

	pasta_wire_text(w, tool->name);
	pasta_wire_text(w, tool->summary);
	pasta_wire_number(w, tool->events);
	pasta_wire_number(w, tool->needs);
	pasta_wire_number(w, tool->charts);
	pasta_wire_number(w, pasta_tool_is_sharded(tool));
	pasta_wire_text(w, tool->reducer);
	pasta_wire_number(w, tool->ledger != NULL);
	pasta_wire_number(w, tool->ledger ? tool->ledger->levels : 0);
	pasta_wire_number(w, tool->diagnosis != NULL);
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

static _Noreturn void parcel_no_event(void *state, const struct pasta_event *ev,
				      const struct pasta_where *where)
{
	(void)state;
	(void)ev;
	(void)where;
	abort(); /* never called: the tool runs in another process */
}

static int parcel_no_report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	(void)state;
	(void)out;
	return -ENOSYS;
}

/* A descriptor and everything that it points to, in one allocation. */
struct parcel_tool {
	struct pasta_tool tool;
	struct pasta_option options[PASTA_PARCEL_OPTIONS + 1];
	struct pasta_ledger_def ledger;
	struct pasta_access_index_def index;
	struct pasta_diagnosis_def diagnosis;
	char texts[];
};

static const char *parcel_tool_text(char **at, const char *text)
{
	char *copy = *at;

	if (!text)
		return NULL;
	*at = stpcpy(copy, text) + 1;
	return copy;
}

struct pasta_tool *pasta_parcel_get_tool(struct pasta_wire_in *in, int *error)
{
	/* The allocation is large enough, because no text is longer than its bytes in the parcel,
	 * and texts past the end of the parcel are read as "". */
	struct parcel_tool *made = calloc(1, sizeof(*made) + (size_t)(in->end - in->at) + 8);
	struct pasta_tool *tool = made ? &made->tool : NULL;
	size_t i, n;
	char *at;

	*error = made ? 0 : -ENOMEM;
	if (!made)
		return NULL;
	at = made->texts;
	tool->size = sizeof(*tool);
	tool->api_major = PASTA_API_MAJOR;
	tool->api_minor = PASTA_API_MINOR;
	tool->name = parcel_tool_text(&at, pasta_wire_get_text(in));
	tool->summary = parcel_tool_text(&at, pasta_wire_get_text(in));
	tool->events = pasta_wire_get_number(in);
	tool->needs = pasta_wire_get_number(in);
	tool->charts = pasta_wire_get_number(in);
	tool->flags = pasta_wire_get_below(in, 1) ? PASTA_TOOL_SHARDED : 0;
	tool->reducer = parcel_tool_text(&at, pasta_wire_get_text_or_null(in));
	made->ledger.size = sizeof(made->ledger);
	made->index.size = sizeof(made->index);
	made->index.state_offset = sizeof(void *);
	made->diagnosis.size = sizeof(made->diagnosis);
	made->diagnosis.state_offset = 2 * sizeof(void *);
	tool->state_size = 3 * sizeof(void *);
	tool->ledger = pasta_wire_get_below(in, 1) ? &made->ledger : NULL;
	made->ledger.levels = (uint32_t)pasta_wire_get_below(in, UINT32_MAX);
	tool->diagnosis = pasta_wire_get_below(in, 1) ? &made->diagnosis : NULL;
	tool->accesses = pasta_wire_get_below(in, 1) ? &made->index : NULL;
	made->index.reducers = (uint32_t)pasta_wire_get_below(in, UINT32_MAX);
	made->index.kinds = pasta_wire_get_number(in);
	tool->options = made->options;
	tool->event = tool->events ? parcel_no_event : NULL;
	tool->report = parcel_no_report;
	n = (size_t)pasta_wire_get_below(in, PASTA_PARCEL_OPTIONS);
	for (i = 0; i < n && !in->bad; i++) {
		made->options[i].name = parcel_tool_text(&at, pasta_wire_get_text(in));
		made->options[i].value = parcel_tool_text(&at, pasta_wire_get_text_or_null(in));
		made->options[i].summary = parcel_tool_text(&at, pasta_wire_get_text_or_null(in));
		made->options[i].type =
			(enum pasta_option_type)pasta_wire_get_below(in, PASTA_OPTION_SIZE);
	}
	if (!in->bad)
		return tool;
	free(made);
	*error = -EBADMSG;
	return NULL;
}

void pasta_parcel_free_tool(struct pasta_tool *tool)
{
	free(tool);
}
