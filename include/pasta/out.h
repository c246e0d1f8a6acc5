/*
 * out.h - what a tool reports: tables, and findings for people. chart.h has the charts.
 *
 * Functions are called from the tool's report, on one thread. Texts are copied. What is wrong makes
 * the report fail as a whole, with an error that names the table; it never crashes.
 */
#ifndef PASTA_OUT_H
#define PASTA_OUT_H

#include <pasta/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pasta_out;
struct pasta_table;

enum pasta_column_type { PASTA_COLUMN_STRING, PASTA_COLUMN_INT, PASTA_COLUMN_FLOAT };

/* What a column is for: links, bars, and the keys by which two reports are compared. */
enum pasta_role {
	PASTA_ROLE_NONE,
	PASTA_ROLE_KEY,	    /* names the row, if no other role does */
	PASTA_ROLE_TIME,    /* a duration in ns */
	PASTA_ROLE_SHARE,   /* a percentage of a whole */
	PASTA_ROLE_KERNEL,  /* a kernel's name */
	PASTA_ROLE_OP,	    /* an operator's name */
	PASTA_ROLE_LINE,    /* a place in a source: "function (file.c:12)" */
	PASTA_ROLE_ADDRESS, /* "0x7f00" */
};

/* unit: "ns", "bytes", "bytes/s", "%", "events" and so on, or NULL. Times are integers in ns. Its
 * size never changes: what is reserved is 0. */
struct pasta_column {
	const char *name;
	enum pasta_column_type type;
	const char *unit;
	uint32_t role; /* of enum pasta_role; 0: by the unit, "ns" is TIME and "%" SHARE */
	uint32_t reserved;
};

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

#define PASTA_NO_ROW UINT64_MAX

/* Where a finding's evidence is: a row of a table, or a part of a chart's x axis, of the same tool.
 * One of table and chart is NULL; both: the finding refers to nothing. The table or chart may be
 * reported later. */
struct pasta_ref {
	const char *table, *chart;
	uint64_t row;	      /* from 0 on; PASTA_NO_ROW: the whole table */
	double from, to;      /* both 0: the whole chart */
	uint64_t reserved[3]; /* 0 */
};

/* A part of a device's time, in ns: [begin, end). */
struct pasta_claim {
	uint32_t proc, device; /* as events have them */
	uint64_t begin, end;
};

/*
 * Something a person should know: what, where, the evidence for it, what to do. where, evidence and
 * action may be NULL. Members that are added come last.
 *
 * With a count the text is "what: count", and what is cut at 200 bytes. A count of 0 is none,
 * unless counted is true: then the finding is not reported.
 */
struct pasta_finding {
	uint32_t size;	   /* of this struct; set by pasta_out_report */
	uint32_t severity; /* of enum pasta_severity */
	uint64_t count;
	bool counted;
	const char *what, *where, *evidence, *action;
	struct pasta_ref ref;
	/* The most time in ns that the action can save; 0: not known. The claims are the device's
	 * time that it is a part of. Where findings claim the same time, it counts for the one with
	 * the greatest saving. */
	uint64_t saving;
	const struct pasta_claim *claims;
	size_t claim_count;
};
PASTA_EXPORT void pasta_out_finding(struct pasta_out *out, const struct pasta_finding *finding);
/* A text for a finding, cut at 1023 bytes: .what = pasta_out_text(out, "%u of them", n). It lives
 * as long as the process: for a limited number of texts. "" when out of memory, and the report
 * fails.
 */
PASTA_EXPORT const char *pasta_out_text(struct pasta_out *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The members of a finding about a number of things, which is not reported where that is 0. */
#define PASTA_COUNT(number) .count = (number), .counted = true
/* One from initializers: pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .what = "..."). */
/* clang-format off */
#define pasta_out_report(out, ...)                                                                 \
	do {                                                                                       \
		_Pragma("GCC diagnostic push")                                                     \
		_Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"")                 \
		const struct pasta_finding pasta_finding_ = {                                      \
			.size = sizeof(struct pasta_finding), __VA_ARGS__};                        \
		_Pragma("GCC diagnostic pop")                                                      \
		pasta_out_finding((out), &pasta_finding_);                                         \
	} while (0)
/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif
