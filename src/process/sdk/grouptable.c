/* grouptable.c - shows a group as a table: merges, sorts and limits the rows of the group. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/sdk/groupcell.h"
#include "process/join/sourceline.h"
#include "process/sdk/result.h"

/* A line of the table. */
struct line {
	const void *row;
	void *own; /* a merged row that the line owns, or NULL */
	/* number of the line in the order in which rows were added; it selects the line's cells in
	 * the view */
	size_t number;
};

struct view {
	const struct pasta_group *group;
	const struct pasta_group_def *def;
	struct pasta_group_plan plan;
	struct line *lines;
	size_t count;
	union pasta_value *cells; /* cells of all lines */
	bool *empty;
	uint64_t totals[PASTA_GROUP_COLUMNS]; /* denominator of each column that is a share */
	bool shown[PASTA_GROUP_COLUMNS];
};

static _Thread_local const struct view *sorting; /* for qsort */

static union pasta_value *line_cells(const struct view *v, const struct line *line)
{
	return v->cells + line->number * v->plan.count;
}

static bool *line_empty(const struct view *v, const struct line *line)
{
	return v->empty + line->number * v->plan.count;
}

/* -- Cells -- */

/* Fills in the texts of a line. Call this function before the numbers are filled in, because the
 * texts decide which lines are merged. */
static int view_texts(const struct view *v, struct line *line)
{
	for (size_t i = 0; i < v->plan.count; i++) {
		if (v->plan.columns[i].type != PASTA_COLUMN_STRING)
			continue;
		line_cells(v, line)[i].s = pasta_group_text(v->group, v->plan.columns[i].member,
							    line->row, &line_empty(v, line)[i]);
		if (!line_cells(v, line)[i].s)
			return -ENOMEM;
	}
	return 0;
}

static void view_numbers(const struct view *v, struct line *line)
{
	for (size_t i = 0; i < v->plan.count; i++) {
		const struct pasta_group_column *c = &v->plan.columns[i];
		bool has = !c->member->has || c->member->has(line->row, v->group->state);

		if (c->type == PASTA_COLUMN_INT)
			line_empty(v, line)[i] = !pasta_group_int(v->group, c, line->row,
								  &line_cells(v, line)[i].i) ||
						 !has;
		else if (c->type == PASTA_COLUMN_FLOAT)
			line_empty(v, line)[i] =
				!pasta_group_float(v->group, c, line->row, v->totals[i],
						   &line_cells(v, line)[i].f) ||
				!has;
	}
}

/* -- Lines -- */

static void line_free(const struct view *v, struct line *line)
{
	for (size_t i = 0; i < v->plan.count; i++)
		if (v->plan.columns[i].type == PASTA_COLUMN_STRING)
			free(line_cells(v, line)[i].s);
	if (line->own)
		pasta_group_clear_row(v->def, line->own);
	free(line->own);
}

/* Copies the row of a line, so that other rows can be merged into the copy. */
static int line_own(const struct view *v, struct line *line)
{
	void *own;
	int error;

	if (line->own)
		return 0;
	own = calloc(1, v->group->stride);
	if (!own)
		return -ENOMEM;
	error = pasta_group_merge_row(v->def, own, line->row);
	for (const struct pasta_member *m = v->def->members; m->type; m++)
		if (!pasta_member_is_measure(m) && pasta_member_size(m))
			memcpy((char *)own + m->offset, pasta_group_member(m, line->row),
			       pasta_member_size(m));
	line->own = own;
	line->row = own;
	return error;
}

/* If several source lines share a text, replaces it with a text that has the path of the file. */
static int view_widen_lines(const struct view *v, size_t column)
{
	const struct pasta_member *m = v->plan.columns[column].member;
	struct pasta_map *texts = pasta_map_new(sizeof(uint32_t));
	int error = texts ? 0 : -ENOMEM;

	for (size_t i = 0; !error && i < v->count; i++)
		error = pasta_sourcelines_note(texts, line_cells(v, &v->lines[i])[column].s,
					       pasta_group_u32(m, v->lines[i].row));
	for (size_t i = 0; !error && i < v->count; i++)
		error = pasta_sourcelines_widen(texts, &line_cells(v, &v->lines[i])[column].s,
						pasta_group_u32(m, v->lines[i].row));
	pasta_map_free(texts);
	return error;
}

static int view_fill(struct view *v)
{
	const struct pasta_group *g = v->group;
	size_t at = 0;
	const void *row;
	int error = 0;

	v->lines = calloc(g->count + 1, sizeof(*v->lines));
	v->cells = calloc(g->count + 1, v->plan.count * sizeof(*v->cells) + 1);
	v->empty = calloc(g->count + 1, v->plan.count * sizeof(*v->empty) + 1);
	if (!v->lines || !v->cells || !v->empty)
		return -ENOMEM;
	while (!error && (row = pasta_group_next(g, &at))) {
		if (v->def->keep && !v->def->keep(row, g->state))
			continue;
		v->lines[v->count] = (struct line){.row = row, .number = v->count};
		error = view_texts(v, &v->lines[v->count++]);
	}
	for (size_t i = 0; !error && i < v->plan.count; i++)
		if (v->plan.columns[i].member->type == PASTA_MEMBER_LINE)
			error = view_widen_lines(v, i);
	return error;
}

static int view_by_texts(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	for (size_t i = 0; i < sorting->plan.count; i++) {
		int order =
			sorting->plan.columns[i].type == PASTA_COLUMN_STRING
				? strcmp(line_cells(sorting, x)[i].s, line_cells(sorting, y)[i].s)
				: 0;

		if (order)
			return order;
	}
	return 0;
}

static int view_by_texts_and_number(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int order = view_by_texts(a, b);

	return order ? order : x->number < y->number ? -1 : 1;
}

static int view_fold(struct view *v)
{
	size_t kept = 0;
	int error = 0;

	if (!(v->def->flags & PASTA_GROUP_FOLD) || !v->count)
		return 0;
	sorting = v;
	qsort(v->lines, v->count, sizeof(*v->lines), view_by_texts_and_number);
	for (size_t i = 0; i < v->count; i++) {
		struct line *into = kept ? &v->lines[kept - 1] : NULL;

		if (!error && into && !view_by_texts(into, &v->lines[i])) {
			error = line_own(v, into);
			if (!error)
				error = pasta_group_merge_row(v->def, into->own, v->lines[i].row);
			line_free(v, &v->lines[i]);
		} else {
			v->lines[kept++] = v->lines[i];
		}
	}
	v->count = kept;
	return error;
}

static int view_ascending(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Compares processes by rank, then by number, in the same order as the directory. */
static int view_by_process(uint32_t a, uint32_t b)
{
	int order = view_ascending(pasta_process(a)->rank, pasta_process(b)->rank);

	return order ? order : view_ascending(a, b);
}

/* Returns the sort key of a level. HELD comes before the other levels. */
static uint32_t view_level(const struct pasta_member *m, const void *row)
{
	uint32_t level = pasta_group_u32(m, row);

	return level == PASTA_LEVEL_HELD ? 0 : level + 1;
}

static int view_compare(const struct view *v, const struct line *x, const struct line *y,
			size_t column)
{
	const struct pasta_member *m = v->plan.columns[column].member;
	size_t i = x->number * v->plan.count + column, k = y->number * v->plan.count + column;
	const union pasta_value *a = &v->cells[i], *b = &v->cells[k];

	/* an empty cell comes before all other cells */
	if (v->empty[i] || v->empty[k])
		return v->empty[k] - v->empty[i];
	if (v->plan.columns[column].type == PASTA_COLUMN_INT)
		return a->i < b->i ? -1 : a->i > b->i;
	/* Compare the numbers of processes, because as a text, 10 would come before 2. */
	if (m->type == PASTA_MEMBER_PROCESS)
		return view_by_process(pasta_group_u32(m, x->row), pasta_group_u32(m, y->row));
	if (m->type == PASTA_MEMBER_DEVICE || m->type == PASTA_MEMBER_ENUM)
		return view_ascending(pasta_group_u32(m, x->row), pasta_group_u32(m, y->row));
	if (m->type == PASTA_MEMBER_LEVEL)
		return view_ascending(view_level(m, x->row), view_level(m, y->row));
	if (v->plan.columns[column].type == PASTA_COLUMN_STRING)
		return strcmp(a->s, b->s);
	return a->f < b->f ? -1 : a->f > b->f;
}

static int view_by_order(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	const struct view *v = sorting;

	for (size_t i = 0; i < v->plan.order_count; i++) {
		int order = view_compare(v, x, y, v->plan.order[i].column);

		if (order)
			return v->plan.order[i].down ? -order : order;
	}
	/* Compare texts before ids, because ids and the order in which rows were added depend on
	 * the timing of threads. */
	for (size_t i = 0; i < v->plan.count; i++) {
		int order = view_compare(v, x, y, i);

		if (order)
			return order;
	}
	return x->number < y->number ? -1 : x->number > y->number;
}

static int view_arrange(struct view *v)
{
	int error = view_fold(v);

	for (size_t c = 0; c < v->plan.count; c++)
		for (size_t i = 0; pasta_group_is_share(&v->plan.columns[c]) && i < v->count; i++)
			v->totals[c] += pasta_group_part(&v->plan.columns[c], v->lines[i].row);
	for (size_t i = 0; !error && i < v->count; i++)
		view_numbers(v, &v->lines[i]);
	sorting = v;
	if (!error && v->count)
		qsort(v->lines, v->count, sizeof(*v->lines), view_by_order);
	return error;
}

/* -- The table -- */

/* Returns whether a cell has a value other than 0 and "". */
static bool line_has(const struct view *v, const struct line *line, size_t column)
{
	const union pasta_value *value = &line_cells(v, line)[column];
	enum pasta_column_type type = v->plan.columns[column].type;

	if (line_empty(v, line)[column])
		return false;
	return type == PASTA_COLUMN_STRING ? *value->s != '\0'
	       : type == PASTA_COLUMN_INT  ? value->i != 0
					   : value->f != 0;
}

static bool view_column_shown(const struct view *v, size_t column)
{
	uint32_t flags = v->plan.columns[column].member->flags;
	bool shown = !(flags & PASTA_MEMBER_OPTIONAL);

	if (flags & PASTA_MEMBER_HIDDEN)
		return false;
	for (size_t i = 0; !shown && i < v->count; i++)
		shown = line_has(v, &v->lines[i], column);
	return shown;
}

static struct pasta_table *view_put_table(struct view *v, struct pasta_out *out)
{
	struct pasta_column columns[PASTA_GROUP_COLUMNS];
	size_t n = 0;

	for (size_t i = 0; i < v->plan.count; i++)
		v->shown[i] = view_column_shown(v, i);
	for (size_t i = 0; i < v->plan.count; i++)
		if (v->shown[i])
			columns[n++] = (struct pasta_column){v->plan.columns[i].name,
							     v->plan.columns[i].type,
							     v->plan.columns[i].unit,
							     v->plan.columns[i].role};
	return pasta_out_table(out, v->def->table, columns, n);
}

/* Adds a line to the table, which then owns the line's texts. */
static void view_put_line(const struct view *v, struct line *line, struct pasta_table *t)
{
	for (size_t i = 0; i < v->plan.count; i++) {
		if (!v->shown[i])
			continue;
		if (line_empty(v, line)[i]) {
			pasta_cell_none(t);
		} else if (v->plan.columns[i].type == PASTA_COLUMN_STRING) {
			pasta_cell_take(t, line_cells(v, line)[i].s);
			line_cells(v, line)[i].s = NULL;
		} else if (v->plan.columns[i].type == PASTA_COLUMN_INT)
			pasta_cell_int(t, line_cells(v, line)[i].i);
		else
			pasta_cell_float(t, line_cells(v, line)[i].f);
	}
}

/* Returns whether two lines count towards the same limit, because their limit_per columns are
 * equal. */
static bool view_same_part(const struct view *v, const struct line *x, const struct line *y)
{
	for (size_t i = 0; i < v->def->limit_per; i++)
		if (view_compare(v, x, y, v->plan.order[i].column))
			return false;
	return true;
}

static bool view_column_is_part(const struct view *v, size_t column)
{
	for (size_t i = 0; i < v->def->limit_per; i++)
		if (v->plan.order[i].column == column)
			return true;
	return false;
}

/* Returns whether a row that was merged from several rows has a value in the column. */
static bool view_column_adds_up(const struct pasta_group_column *c)
{
	return pasta_member_is_measure(c->member) || pasta_group_is_share(c) ||
	       c->member->flags & PASTA_MEMBER_REST;
}

/* Adds one line that stands for the lines from `from` to `to`. Merges the measures, copies the
 * limit_per columns, and leaves all other cells empty. */
static int view_put_rest(const struct view *v, size_t from, size_t to, struct pasta_table *t)
{
	struct line *rest = &v->lines[from];
	char label[200];
	bool named = false;
	int error = line_own(v, rest);

	for (size_t i = from + 1; !error && i < to; i++)
		error = pasta_group_merge_row(v->def, rest->own, v->lines[i].row);
	if (error)
		return error;
	view_numbers(v, rest);
	snprintf(label, sizeof(label), "(%zu %s)", to - from,
		 v->def->rest ? v->def->rest : "others");
	for (size_t i = 0; i < v->plan.count; i++) {
		const struct pasta_group_column *c = &v->plan.columns[i];

		if (view_column_is_part(v, i))
			continue;
		if (c->type == PASTA_COLUMN_STRING && !named && v->shown[i]) {
			free(line_cells(v, rest)[i].s);
			line_cells(v, rest)[i].s = strdup(label);
			line_empty(v, rest)[i] = false;
			named = true;
		} else if (!view_column_adds_up(c)) {
			line_empty(v, rest)[i] = true;
		}
	}
	view_put_line(v, rest, t);
	return 0;
}

static int view_put_lines(const struct view *v, size_t limit, struct pasta_table *t)
{
	size_t from = 0, to, i;
	int error = 0;

	for (; !error && from < v->count; from = to) {
		for (to = from + 1;
		     to < v->count && view_same_part(v, &v->lines[from], &v->lines[to]);)
			to++;
		for (i = from; i < to && (!limit || i - from < limit); i++)
			view_put_line(v, &v->lines[i], t);
		if (i < to && v->def->flags & PASTA_GROUP_REST)
			error = view_put_rest(v, i, to, t);
	}
	return error;
}

static size_t view_limit(const struct view *v)
{
	return v->def->limit_option ? pasta_opt_u64(v->group->opts, v->def->limit_option)
				    : v->def->limit;
}

/* -- A group as a whole -- */

static int view_open(struct view *v, struct pasta_error *err)
{
	int error = pasta_group_plan(v->def, &v->plan, err);

	if (!error)
		error = v->group->error ? v->group->error : view_fill(v);
	return error ? error : view_arrange(v);
}

static void view_close(struct view *v)
{
	for (size_t i = 0; i < v->count; i++)
		line_free(v, &v->lines[i]);
	free(v->lines);
	free(v->cells);
	free(v->empty);
	sorting = NULL;
}

void *pasta_group_sorted(struct pasta_group *group, const char *order, size_t *count)
{
	struct pasta_group_def def = *group->def;
	struct view v = {.group = group, .def = &def};
	const void **rows = NULL;
	int error;

	def.order = order ? order : def.order;
	def.flags &= ~(uint32_t)PASTA_GROUP_FOLD;
	def.keep = NULL;
	error = view_open(&v, NULL);
	if (!error)
		rows = calloc(v.count + 1, sizeof(*rows));
	for (size_t i = 0; rows && i < v.count; i++)
		rows[i] = v.lines[i].row;
	*count = rows ? v.count : 0;
	if (!rows && !group->error)
		group->error = error ? error : -ENOMEM;
	view_close(&v);
	return rows;
}

int pasta_out_group(struct pasta_out *out, const struct pasta_group *group)
{
	struct view v = {.group = group, .def = group->def};
	struct pasta_error err = {0};
	struct pasta_table *t;
	int error = view_open(&v, &err);

	if (!error && (v.count || !(v.def->flags & PASTA_GROUP_OPTIONAL))) {
		t = view_put_table(&v, out);
		error = t ? view_put_lines(&v, view_limit(&v), t) : out->err.code;
	}
	view_close(&v);
	if (error)
		pasta_out_fail(out, error, "table %s: %s", v.def->table,
			       *err.text ? err.text : strerror(-error));
	return error;
}

/* Returns whether one of the first `tables` tables has this name. */
static bool view_is_among(const struct pasta_out *out, size_t tables, const char *name)
{
	while (tables > 0 && strcmp(out->tables[tables - 1]->name, name) != 0)
		tables--;
	return tables;
}

int pasta_out_groups(struct pasta_out *out, const void *state, struct pasta_error *err)
{
	const struct pasta_group_def *def;
	size_t shown = out->table_count;
	int error = 0;

	for (def = out->tool->groups; !error && def && def->size; def++)
		if (def->table && !view_is_among(out, shown, def->table))
			error = pasta_out_group(out, *pasta_group_in(def, state));
	return error ? pasta_fail(err, error, "%s", out->err.text) : 0;
}
