/*
 * out.h - lets a tool report tables and findings. Charts are in chart.h.
 *
 * Call these functions from the tool's report, on one thread. Texts are copied. An invalid call
 * never crashes: it fails the whole report, with an error that names the table.
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

/* The meaning of a column. Reports use it for links and bars, and to match the rows of two
 * reports. */
enum pasta_role {
	PASTA_ROLE_NONE,
	PASTA_ROLE_KEY,	    /* the name of the row, unless a column with another role names it */
	PASTA_ROLE_TIME,    /* a duration in ns */
	PASTA_ROLE_SHARE,   /* a percentage of a whole */
	PASTA_ROLE_KERNEL,  /* a kernel's name */
	PASTA_ROLE_OP,	    /* an operator's name */
	PASTA_ROLE_LINE,    /* a position in source code: "function (file.c:12)" */
	PASTA_ROLE_ADDRESS, /* "0x7f00" */
};

/* A column. `unit`: "ns", "bytes", "bytes/s", "%", "events" and so on, or NULL. Times are integers
 * in ns. The struct's size never changes; set reserved members to 0. */
struct pasta_column {
	const char *name;
	enum pasta_column_type type;
	const char *unit;
	uint32_t role; /* enum pasta_role; 0: TIME if the unit is "ns", SHARE if it is "%" */
	uint32_t reserved;
};

/* Adds a table. Returns NULL if the report has failed. The report fails if memory runs out, if the
 * table has no columns, if the table's name is empty or is that of another table or chart of the
 * tool, or if a name has control characters. */
PASTA_EXPORT struct pasta_table *pasta_out_table(struct pasta_out *out, const char *name,
						 const struct pasta_column *columns, size_t count);
/* Each function adds the next cell of a table: from left to right, row by row. A cell of the wrong
 * type fails the report, with an error that names the column. If the table is NULL, the function
 * does nothing. */
PASTA_EXPORT void pasta_cell_str(struct pasta_table *table, const char *text);
PASTA_EXPORT void pasta_cell_int(struct pasta_table *table, int64_t value);
PASTA_EXPORT void pasta_cell_float(struct pasta_table *table, double value);
/* Adds a cell without a value, in a column of any type: null in JSON, an empty field in CSV, a
 * blank in text. */
PASTA_EXPORT void pasta_cell_none(struct pasta_table *table);

enum pasta_severity { PASTA_SEVERITY_NOTE, PASTA_SEVERITY_WARNING, PASTA_SEVERITY_PROBLEM };

#define PASTA_NO_ROW UINT64_MAX

/* The evidence of a finding: a row of a table, or a range of a chart's x axis. The table or chart
 * must be of the same tool, and may be reported after the finding. At least one of `table` and
 * `chart` is NULL. */
struct pasta_ref {
	const char *table, *chart;
	/* number of the row, from 0; PASTA_NO_ROW: the evidence is the whole table */
	uint64_t row;
	double from, to;      /* both 0: the whole chart */
	uint64_t reserved[3]; /* 0 */
};

/* An interval of a device's time, in ns: [begin, end). */
struct pasta_claim {
	uint32_t proc, device; /* as events have them */
	uint64_t begin, end;
};

/*
 * A conclusion for the user: what was found, where, the evidence for it, and what to do. `where`,
 * `evidence` and `action` may be NULL. New members are added at the end. A finding with a count is
 * shown as "what: count", with `what` truncated to 200 bytes. A finding with the count 0 is not
 * reported if `counted` is true, and is shown without a count if `counted` is false.
 */
struct pasta_finding {
	uint32_t size;	   /* size of this struct; set by pasta_out_report */
	uint32_t severity; /* of enum pasta_severity */
	uint64_t count;
	bool counted;
	const char *what, *where, *evidence, *action;
	struct pasta_ref ref;
	/* The most time in ns that the action can save; 0: not known. `claims` are the intervals of
	 * device time in which this time could be saved. If the claims of several findings overlap,
	 * the common time counts only for the finding with the greatest saving. */
	uint64_t saving;
	const struct pasta_claim *claims;
	size_t claim_count;
};
PASTA_EXPORT void pasta_out_finding(struct pasta_out *out, const struct pasta_finding *finding);
/* Formats a text for a finding, truncated to 1023 bytes: .what = pasta_out_text(out, "%u of them",
 * n). The text is never freed, so format only a limited number of texts. When out of memory, the
 * function returns "", and the report fails. */
PASTA_EXPORT const char *pasta_out_text(struct pasta_out *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Initializes the count of a finding. The finding is not reported if the count is 0. */
#define PASTA_COUNT(number) .count = (number), .counted = true
/* Reports a finding: pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .what = "..."). */
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
