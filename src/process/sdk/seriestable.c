/* seriestable.c - shows the series of a group's rows as a table and a chart. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/sdk/groupcell.h"
#include "process/sdk/result.h"
#include "process/sdk/series.h"

struct series_table {
	struct pasta_series_set *set;
	struct pasta_group *group;
	const struct pasta_series_view *view;
	struct pasta_group_plan plan;
	struct pasta_series_point *points;
	size_t rows, chart_points; /* limits for one series */
	struct pasta_table *table;
	struct pasta_chart *chart; /* or NULL */
};

static bool series_is_text(const struct pasta_group_column *c)
{
	return c->type == PASTA_COLUMN_STRING && !(c->member->flags & PASTA_MEMBER_HIDDEN);
}

static bool series_is_shown(const struct series_table *t, const void *row)
{
	const struct pasta_group *g = t->group;

	return !g->def->keep || g->def->keep(row, g->state);
}

/* Returns the maximum number of points of one series, so that all `count` series together have at
 * most `all` points. */
static size_t series_each(size_t all, size_t count)
{
	return count && all > count ? all / count : 1;
}

static struct pasta_table *series_columns(const struct series_table *t, struct pasta_out *out)
{
	const struct pasta_series_view *v = t->view;
	struct pasta_column columns[PASTA_GROUP_COLUMNS + 4] = {{"time", PASTA_COLUMN_INT, "ns"}};
	const char *const values[] = {v->last, v->max, v->sum};
	size_t n = 1;

	for (size_t i = 0; i < t->plan.count; i++) {
		const struct pasta_group_column *c = &t->plan.columns[i];

		if (series_is_text(c))
			columns[n++] =
				(struct pasta_column){c->name, PASTA_COLUMN_STRING, NULL, c->role};
	}
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		if (values[i])
			columns[n++] = (struct pasta_column){values[i], PASTA_COLUMN_INT, v->unit};
	return pasta_out_table(out, v->table, columns, n);
}

static int series_open(struct series_table *t, struct pasta_out *out, size_t count)
{
	const struct pasta_series_view *v = t->view;
	const struct pasta_chart_def chart =
		PASTA_CHART_DEF(.type = PASTA_CHART_LINE, .name = v->chart, .x = {"time", "ns"},
				.y = {v->sum	? v->sum
				      : v->last ? v->last
						: v->max,
				      v->unit});

	t->rows = series_each(v->rows, count);
	t->chart_points = series_each(v->points, count);
	t->points = calloc(t->rows, sizeof(*t->points));
	if (!t->points)
		return -ENOMEM;
	t->table = series_columns(t, out);
	t->chart = v->chart ? pasta_out_chart(out, &chart) : NULL;
	return t->table && (t->chart || !v->chart) ? 0 : out->err.code;
}

static int series_put(const struct series_table *t, const void *row,
		      const struct pasta_series_point *p)
{
	const struct pasta_series_view *v = t->view;

	pasta_cell_int(t->table, (int64_t)p->time);
	for (size_t i = 0; i < t->plan.count; i++) {
		bool empty;
		char *text;

		if (!series_is_text(&t->plan.columns[i]))
			continue;
		text = pasta_group_text(t->group, t->plan.columns[i].member, row, &empty);
		if (!text)
			return -ENOMEM;
		pasta_cell_take(t->table, text);
	}
	if (v->last)
		pasta_cell_int(t->table, (int64_t)p->last);
	if (v->max)
		pasta_cell_int(t->table, (int64_t)p->max);
	if (v->sum)
		pasta_cell_int(t->table, (int64_t)p->sum);
	return 0;
}

/* Returns a name such as "device 0, rank 3, held", which the caller frees. Returns NULL when out of
 * memory. */
static char *series_name(const struct series_table *t, const void *row)
{
	char *name = NULL;
	size_t size;
	FILE *f = open_memstream(&name, &size);
	bool ok = f, empty;
	const char *between = "";

	for (size_t i = 0; ok && i < t->plan.count; i++) {
		char *text;

		if (!series_is_text(&t->plan.columns[i]))
			continue;
		text = pasta_group_text(t->group, t->plan.columns[i].member, row, &empty);
		ok = text && fprintf(f, "%s%s", between, text) >= 0;
		between = ", ";
		free(text);
	}
	if (f && fclose(f))
		ok = false;
	if (ok)
		return name;
	free(name);
	return NULL;
}

static int series_show(const struct series_table *t, const void *row)
{
	/* The key of a series is the first member of the row. */
	size_t count = pasta_series_points(t->set, row, t->points, t->rows);
	int error = 0;
	char *name;

	for (size_t i = 0; !error && i < count; i++)
		error = series_put(t, row, &t->points[i]);
	if (error || !t->chart)
		return error;
	name = series_name(t, row);
	if (!name)
		return -ENOMEM;
	pasta_chart_add_series(t->chart, name, t->set, row, t->chart_points);
	free(name);
	return 0;
}

void pasta_out_series_view(struct pasta_out *out, struct pasta_series_set *set,
			   struct pasta_group *group, const struct pasta_series_view *view)
{
	struct series_table t = {.set = set, .group = group, .view = view};
	struct pasta_error err = {.size = sizeof(err)};
	size_t count, shown = 0;
	void **rows;
	int error;

	if (view->size < sizeof(*view) || !view->table) {
		pasta_out_fail(out, -EINVAL, "series: use pasta_out_series, with .table");
		return;
	}
	rows = pasta_group_sorted(group, NULL, &count);
	if (!rows) {
		pasta_out_fail(out, group->error, "table %s: %s", view->table,
			       strerror(-group->error));
		return;
	}
	error = pasta_group_plan(group->def, &t.plan, &err);
	for (size_t i = 0; i < count; i++)
		shown += series_is_shown(&t, rows[i]);
	if (!error)
		error = series_open(&t, out, shown);
	for (size_t i = 0; !error && i < count; i++)
		if (series_is_shown(&t, rows[i]))
			error = series_show(&t, rows[i]);
	free(t.points);
	free(rows);
	if (error)
		pasta_out_fail(out, error, "table %s: %s", view->table,
			       *err.text ? err.text : strerror(-error));
}
