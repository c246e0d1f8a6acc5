/*
 * result.h - stores the result of a report for the sinks: the tables, charts and findings of each
 * tool.
 *
 * The function that creates a result owns it. Pointers into the result are valid until it is freed.
 * Only one thread at a time may use a result.
 */
#ifndef PASTA_PROCESS_RESULT_H
#define PASTA_PROCESS_RESULT_H

#include <stdbool.h>
#include <stddef.h>

#include <pasta/pasta.h>

#include "process/read/stream.h"

struct pasta_runinfo;

/* The value of a cell. The type of the column determines which member is valid. */
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
	union pasta_value *cells; /* cells of the table, row by row */
	bool *empty;		  /* for each cell: whether it is empty */
	size_t used, room, empty_room;
};

/* One item of a chart. The type of the chart determines which member is valid. */
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
		char **frames; /* the pointers and the texts are in a single allocation */
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
		uint32_t parent; /* number of an earlier item, or PASTA_NO_NODE */
	} node;
};

/* A series of a chart. It consists of `count` items; the first one is item number `first`. */
struct pasta_series {
	char *name;
	size_t first, count;
};

struct pasta_lane_row {
	char *name, *group; /* `group` may be NULL */
	uint32_t depth;
	int64_t last; /* start time of the lane's last slice */
};
struct pasta_slice_name {
	char *text;
	enum pasta_category category;
};
struct pasta_limit {
	char *name;
	bool slope; /* false: a level */
	double value;
};
struct pasta_edge {
	uint32_t from, to;
	double value;
};

/* The maximum size of a stored grid. The cells of larger grids are combined. */
enum { PASTA_GRID_ROWS = 1024, PASTA_GRID_COLUMNS = 4096 };

/* The grid of a heat map: nx * ny cells, row by row, starting with row y0. An empty cell is NAN. */
struct pasta_chart_grid {
	struct pasta_grid as; /* folded */
	double *cells;
	size_t filled;
};
/* Returns a cell of the grid as an item of the chart. Cells are numbered row by row. */
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
	/* Grid of a heat map; NULL if the cells are stored as items. */
	struct pasta_chart_grid *grid;
	double *bins; /* edges of a histogram */
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

/* The entry of one tool in a result. */
struct pasta_out {
	char *name;
	const struct pasta_tool *tool; /* the tool; set only while it reports */
	struct pasta_table **tables;
	size_t table_count, table_room;
	struct pasta_chart **charts;
	size_t chart_count, chart_room;
	struct pasta_finding *findings;
	size_t finding_count, finding_room;
	/* For each finding, the part of its saving that is not claimed by findings with a greater
	 * saving. UINT64_MAX if the finding has no claims. NULL until all tools have reported. */
	uint64_t *disjoint;
	/* The tool's first error; its code is 0 if there is none. If the tool failed, it has no
	 * tables or charts. */
	struct pasta_error err;
	bool stopped; /* the user interrupted the tool before it had read all events */
	/* Whether the tool ran in a worker. Only then are the members below set: the bytes that the
	 * worker read, and the files that have changed since the recording. */
	bool elsewhere;
	uint64_t read, to_read; /* bytes */
	size_t changed;
	char *changed_file; /* name of the first file that has changed */
};

struct pasta_result {
	const struct pasta_runinfo *run; /* the caller's */
	struct pasta_loss_summary loss;
	struct pasta_out **outs;
	size_t count, room;
};

/* Frees the contents of *result and sets them to zero. */
void pasta_result_free(struct pasta_result *result);

/* Adds an entry for a tool. Returns NULL when out of memory. */
struct pasta_out *pasta_result_out(struct pasta_result *result, const char *tool);
/* Marks the tool as failed, unless it is already marked. The tool's tables and charts will be
 * dropped. Any thread may call this function. */
void pasta_out_fail(struct pasta_out *out, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Ends a tool's report, and checks that all rows of its tables are complete. Returns 0 or the first
 * error. */
int pasta_out_end(struct pasta_out *out);

/* Like pasta_out_finding, for a finding whose text already includes the count. */
void pasta_out_finding_take(struct pasta_out *out, const struct pasta_finding *finding);
/* Like pasta_cell_str, but the table then owns `text`. If `text` is NULL, the report fails because
 * memory ran out. */
void pasta_cell_take(struct pasta_table *table, char *text);

static inline size_t pasta_table_rows(const struct pasta_table *table)
{
	return table->count ? table->used / table->count : 0;
}

/* Returns the value of a cell, or NULL if the cell is empty. */
static inline const union pasta_value *pasta_table_cell(const struct pasta_table *table, size_t row,
							size_t column)
{
	size_t i = row * table->count + column;

	return table->empty[i] ? NULL : &table->cells[i];
}

/* Functions that return names for output formats, such as "string", "line", "kernel", "log" or
 * "note". */
enum {
	PASTA_CHART_TYPES = PASTA_CHART_GRAPH + 1,
	PASTA_ROLES = PASTA_ROLE_ADDRESS + 1,
	PASTA_CATEGORIES = PASTA_CATEGORY_COLLECTIVE + 1,
};
const char *pasta_column_type_name(enum pasta_column_type type);
const char *pasta_role_name(uint32_t role); /* returns NULL if the column has no role */
const char *pasta_chart_type_name(enum pasta_chart_type type);
const char *pasta_category_name(enum pasta_category category);
const char *pasta_scale_name(uint32_t scale);
const char *pasta_severity_name(uint32_t severity);

/* Returns whether charts of this type divide their items into series. */
bool pasta_chart_has_series(enum pasta_chart_type type);
/* Returns whether the chart has no items. */
bool pasta_chart_is_empty(const struct pasta_chart *chart);

/* Computes `disjoint` after all tools have reported. If several findings claim the same device
 * time, the time counts for the finding with the greatest saving. Returns 0 or -ENOMEM. */
int pasta_result_savings(struct pasta_result *result);

/* -- For result.c and chart*.c only -- */

/* Makes room for one more entry in an array. Returns false when out of memory. */
bool pasta_result_grow(void **array, size_t used, size_t *room, size_t each);
/* Returns whether the tool already has a table or chart with this name. */
bool pasta_out_has(const struct pasta_out *out, const char *name);
/* Returns whether a name has no control characters. `name` may be NULL. If the name has control
 * characters, the report fails; `what` is the type of the named thing, such as "table". */
bool pasta_out_plain(struct pasta_out *out, const char *what, const char *name);
void pasta_chart_free(struct pasta_chart *chart);
/* Returns whether the chart has this type and the report has not failed. If the chart has another
 * type, the report fails with "type TYPE has no WHAT". */
bool pasta_chart_can(struct pasta_chart *chart, enum pasta_chart_type type, const char *what);
/* Makes the report fail, with the message "chart NAME: why". */
void pasta_chart_fail(struct pasta_chart *chart, const char *why);
void pasta_chart_no_memory(struct pasta_chart *chart);
/* Returns whether a number is a valid position on an axis. If it is not, the report fails. */
bool pasta_chart_position(struct pasta_chart *chart, const struct pasta_axis *axis, double position,
			  const char *what);
/* Adds an item, whose texts the chart then owns. If the report has failed, returns false, and the
 * caller still owns the texts. */
bool pasta_chart_add(struct pasta_chart *chart, union pasta_item item);
/* Returns a copy of `text`, or of "" if `text` is NULL. Returns NULL if the report has failed. */
char *pasta_chart_text(struct pasta_chart *chart, const char *text);
/* Returns the last series of a chart. If the chart has no series, returns NULL, and the report
 * fails. */
struct pasta_series *pasta_chart_last(struct pasta_chart *chart, const char *what);

#endif
