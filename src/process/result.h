/*
 * result.h - what tools reported: tables, charts and findings, which every sink reads.
 *
 * Owned by who made it; the pointers in it live as long. One thread at a time.
 */
#ifndef PASTA_PROCESS_RESULT_H
#define PASTA_PROCESS_RESULT_H

#include <stdbool.h>
#include <stddef.h>

#include <pasta/pasta.h>

#include "process/stream.h"

struct pasta_runinfo;

/* A cell; the column's type says which. */
union pasta_value {
	char *s;
	int64_t i;
	double f;
};

struct pasta_table {
	struct pasta_out *out;
	char *name;
	struct pasta_column *columns;
	size_t count;		  /* columns */
	union pasta_value *cells; /* row after row */
	bool *empty;		  /* a cell each */
	size_t used, room, empty_room;
};

/* One thing in a chart; the chart's type says which. */
union pasta_item {
	struct {
		double x, y;
	} point;
	struct {
		char *label;
		double value;
	} bar;
	struct {
		double x, y, value;
	} cell;
	struct {
		char **frames; /* and their texts, in one piece */
		size_t count;
		int64_t value;
	} stack;
};

/* A line's points: count items of the chart, from first on. */
struct pasta_series {
	char *name;
	size_t first, count;
};

struct pasta_chart {
	struct pasta_out *out;
	char *name;
	enum pasta_chart_type type;
	struct pasta_axis x, y;
	struct pasta_axis value; /* of a heat map */
	struct pasta_series *series;
	size_t series_count, series_room;
	union pasta_item *items;
	size_t used, room;
};

/* What one tool reported. */
struct pasta_out {
	char *name;
	const struct pasta_tool *tool; /* while it reports */
	struct pasta_table **tables;
	size_t table_count, table_room;
	struct pasta_chart **charts;
	size_t chart_count, chart_room;
	struct pasta_finding *findings;
	size_t finding_count, finding_room;
	struct pasta_error
		err;  /* the first; code 0: none. Who failed has no tables and no charts */
	bool stopped; /* by an interrupt, before all was read */
	/* Of a tool that ran in another process: what that one has read, and files that are not
	 * what was recorded. */
	bool elsewhere;
	uint64_t read, to_read; /* bytes */
	size_t changed;
	char *changed_file; /* the first of them */
};

struct pasta_result {
	const struct pasta_runinfo *run; /* the caller's */
	struct pasta_account loss;
	struct pasta_out **outs;
	size_t count, room;
};

void pasta_result_free(struct pasta_result *result); /* what is in it; it is zeroed */

/* A place for a tool's report; NULL when out of memory. */
struct pasta_out *pasta_result_out(struct pasta_result *result, const char *tool);
/* The tool failed: keep the first description, and none of its tables and charts. Any thread. */
void pasta_out_fail(struct pasta_out *out, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* No more is coming: checks that all rows are whole. 0, or the first error. */
int pasta_out_end(struct pasta_out *out);

/* As pasta_cell_str, but the text, NULL when out of memory, is the table's from now on. */
void pasta_cell_take(struct pasta_table *table, char *text);

static inline size_t pasta_table_rows(const struct pasta_table *table)
{
	return table->count ? table->used / table->count : 0;
}

/* NULL: the cell has no value. */
static inline const union pasta_value *pasta_table_cell(const struct pasta_table *table, size_t row,
							size_t column)
{
	size_t i = row * table->count + column;

	return table->empty[i] ? NULL : &table->cells[i];
}

/* "string", "int", "float"; "line", "bar", "heat", "flame"; "note", "warning", "problem". */
const char *pasta_column_type_name(enum pasta_column_type type);
const char *pasta_chart_type_name(enum pasta_chart_type type);
const char *pasta_severity_name(enum pasta_severity severity);

/* For result.c and chart.c: room for one more in an array of anything. */
bool pasta_result_grow(void **array, size_t used, size_t *room, size_t each);
/* Whether a table or a chart of the tool has this name: they are chosen by it. */
bool pasta_out_has(const struct pasta_out *out, const char *name);
/* Whether a name, which may be NULL, can be shown as it is. Else the report has failed, with an
 * error that begins with what. */
bool pasta_out_plain(struct pasta_out *out, const char *what, const char *name);
void pasta_chart_free(struct pasta_chart *chart);

#endif
