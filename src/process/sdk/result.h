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

#include "process/read/stream.h"

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
	} point; /* line, area */
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
	struct {
		uint32_t lane, name;
		int64_t start, dur;
		double value;
	} slice;
	struct {
		double x, y, size;
		char *label;
	} spot;
	uint64_t count; /* histogram */
	struct {
		char *label;
		double value, cost;
		uint32_t parent; /* an item before it, or PASTA_NO_NODE */
	} node;
};

/* Items of the chart: count of them, from first on. */
struct pasta_series {
	char *name;
	size_t first, count;
};

struct pasta_lane_row {
	char *name, *group; /* group may be NULL */
	uint32_t depth;
	int64_t last; /* where its last slice starts */
};
struct pasta_slice_name {
	char *text;
	enum pasta_category category;
};
struct pasta_limit {
	char *name;
	bool slope; /* else a level */
	double value;
};
struct pasta_edge {
	uint32_t from, to;
	double value;
};

/* The most of a grid: what is more is folded. */
enum { PASTA_GRID_ROWS = 1024, PASTA_GRID_COLUMNS = 4096 };

/* A heat map's grid as it is stored: nx * ny cells, row after row from y0 on; NAN: no value. */
struct pasta_chart_grid {
	struct pasta_grid as; /* folded */
	double *cells;
	size_t filled;
};
/* The cell of a number, row by row, as an item of the chart. */
union pasta_item pasta_chart_grid_item(const struct pasta_chart_grid *grid, size_t number);

struct pasta_chart {
	struct pasta_out *out;
	char *name;
	enum pasta_chart_type type;
	struct pasta_axis x, y, value;
	struct pasta_series *series;
	size_t series_count, series_room;
	union pasta_item *items;
	size_t used, room;
	struct pasta_chart_grid *grid; /* heat, or NULL: its cells are items */
	double *bins;		       /* histogram: edges */
	size_t bin_edges;
	struct pasta_lane_row *lanes; /* timeline */
	size_t lane_count, lane_room;
	struct pasta_slice_name *names;
	size_t name_count, name_room;
	struct pasta_limit *limits; /* scatter */
	size_t limit_count, limit_room;
	struct pasta_edge *edges; /* graph */
	size_t edge_count, edge_room;
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
	/* A finding each, once all tools have reported: the part of its saving that no other
	 * finding claims; UINT64_MAX: it has no claims. NULL: not known yet. */
	uint64_t *disjoint;
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
	struct pasta_loss_summary loss;
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

/* As pasta_out_finding, but what has its count in it already. */
void pasta_out_finding_take(struct pasta_out *out, const struct pasta_finding *finding);
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

/* As outputs have them: "string", "line", "kernel", "log", "note". */
enum {
	PASTA_CHART_TYPES = PASTA_CHART_GRAPH + 1,
	PASTA_ROLES = PASTA_ROLE_ADDRESS + 1,
	PASTA_CATEGORIES = PASTA_CATEGORY_COLLECTIVE + 1,
};
const char *pasta_column_type_name(enum pasta_column_type type);
const char *pasta_role_name(uint32_t role); /* NULL for none */
const char *pasta_chart_type_name(enum pasta_chart_type type);
const char *pasta_category_name(enum pasta_category category);
const char *pasta_scale_name(uint32_t scale);
const char *pasta_severity_name(uint32_t severity);

/* Whether the chart's items are divided into series. */
bool pasta_chart_has_series(enum pasta_chart_type type);
/* Whether there is nothing in it. */
bool pasta_chart_is_empty(const struct pasta_chart *chart);

/* All tools have reported: fill in disjoint of each. Findings come in order of saving, the greatest
 * first; each ns of a device is claimed by the first that wants it. 0 or -ENOMEM. */
int pasta_result_savings(struct pasta_result *result);

/* -- For result.c and chart*.c -- */

/* Room for one more in an array of anything. */
bool pasta_result_grow(void **array, size_t used, size_t *room, size_t each);
/* Whether a table or a chart of the tool has this name: they are chosen by it. */
bool pasta_out_has(const struct pasta_out *out, const char *name);
/* Whether a name, which may be NULL, can be shown as it is. Else the report has failed, with an
 * error that begins with what. */
bool pasta_out_plain(struct pasta_out *out, const char *what, const char *name);
void pasta_chart_free(struct pasta_chart *chart);
/* Whether the chart is of this type, and the report has not failed: else it has, for want of what.
 */
bool pasta_chart_can(struct pasta_chart *chart, enum pasta_chart_type type, const char *what);
/* The report has failed: "chart NAME: why". */
void pasta_chart_fail(struct pasta_chart *chart, const char *why);
void pasta_chart_no_memory(struct pasta_chart *chart);
/* Whether a number is a place on an axis; else the report has failed. */
bool pasta_chart_place(struct pasta_chart *chart, const struct pasta_axis *axis, double place,
		       const char *what);
/* Add what was made. What cannot be added is the caller's again, and the report has failed. */
bool pasta_chart_add(struct pasta_chart *chart, union pasta_item item);
/* A copy of a text, "" for NULL; NULL: the report has failed. */
char *pasta_chart_text(struct pasta_chart *chart, const char *text);
/* The last series; NULL: there is none, and the report has failed. */
struct pasta_series *pasta_chart_last(struct pasta_chart *chart, const char *what);

#endif
