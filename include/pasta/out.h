/* out.h - what a tool reports: tables and findings. chart.h has charts. */
#ifndef PASTA_OUT_H
#define PASTA_OUT_H

#include <pasta/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pasta_column_type { PASTA_COLUMN_STRING, PASTA_COLUMN_INT, PASTA_COLUMN_FLOAT };

/* unit: "ns", "bytes", "bytes/s", "%", "events" and so on, or NULL. Times are integers in ns. */
struct pasta_column {
	const char *name;
	enum pasta_column_type type;
	const char *unit;
};

struct pasta_out;
struct pasta_table;

/* A new table; NULL when out of memory (the report then fails as a whole). So it does if the name
 * is empty, or that of another table or chart of the tool, if there are no columns, or if there are
 * control characters in the name or a column's. */
PASTA_EXPORT struct pasta_table *pasta_out_table(struct pasta_out *out, const char *name,
						 const struct pasta_column *columns, size_t count);
/* Cells, left to right and row after row. A cell of the wrong type, or on a NULL table, makes the
 * report fail with an error that names the column; it never crashes. */
PASTA_EXPORT void pasta_cell_str(struct pasta_table *table, const char *text);
PASTA_EXPORT void pasta_cell_int(struct pasta_table *table, int64_t value);
PASTA_EXPORT void pasta_cell_float(struct pasta_table *table, double value);
/* No value, in a column of any type: null in JSON, an empty field in CSV, a blank for people. */
PASTA_EXPORT void pasta_cell_none(struct pasta_table *table);

enum pasta_severity { PASTA_SEVERITY_NOTE, PASTA_SEVERITY_WARNING, PASTA_SEVERITY_PROBLEM };

/* Something a person should know: what, where, the evidence for it, what to do. where, evidence
 * and action may be NULL. */
struct pasta_finding {
	enum pasta_severity severity;
	const char *what, *where, *evidence, *action;
};
PASTA_EXPORT void pasta_out_finding(struct pasta_out *out, const struct pasta_finding *finding);
/* One from initializers: pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .what = "..."). */
#define pasta_out_report(out, ...)                                                                 \
	pasta_out_finding((out), &(const struct pasta_finding){__VA_ARGS__})
/* The same about a number of things: "what: count". Nothing if count is 0. what is cut at 200
 * bytes. */
PASTA_EXPORT void pasta_out_count(struct pasta_out *out, enum pasta_severity severity,
				  uint64_t count, const char *what, const char *evidence,
				  const char *action);

#ifdef __cplusplus
}
#endif
#endif
