/* sink.h - output formats: each writes a result, or all events, in one format. */
#ifndef PASTA_SINK_SINK_H
#define PASTA_SINK_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <pasta/pasta.h>

#include "process/read/input.h"
#include "process/sdk/result.h"

#define PASTA_REPORT_SCHEMA "accelprof-report/2"

struct pasta_sink_opts {
	size_t rows;  /* format text: maximum number of rows of a table or chart; 0: all */
	size_t width; /* format text: width of the terminal in columns */
	bool color;   /* format text: use colors */
	bool ascii;   /* format text: draw charts without Unicode */
	bool brief;   /* format text: show only the first table of each tool */
	/* formats csv and folded: write only the table or chart NAME or TOOL.NAME; NULL: all */
	const char *table;
};

/*
 * An output format. It has one of the functions `write` and `events`. Both return 0, or a negative
 * errno with *err if the output is not complete. They flush the file and do not close it. `events`
 * reads the input to its end. It calls go_on, which may be NULL, every few thousand events. If
 * go_on returns false, `events` completes the output with the events read so far and returns
 * -EINTR.
 */
struct pasta_sink {
	const char *name, *summary;
	bool one; /* accepts --table, which selects one table or chart */
	int (*write)(FILE *file, const struct pasta_result *result,
		     const struct pasta_sink_opts *opts, struct pasta_error *err);
	int (*events)(FILE *file, struct pasta_input *in, bool (*go_on)(void *ctx), void *ctx,
		      struct pasta_error *err);
};

/* Return a format by name or by number; NULL for an unknown name, or a number past the last
 * format. */
const struct pasta_sink *pasta_sink_find(const char *name);
const struct pasta_sink *pasta_sink_at(size_t i);

/* All formats besides text, which is the default: formats of results, and formats of events. */
#define PASTA_SINKS_RESULT(SINK) SINK(csv) SINK(json) SINK(folded)
#define PASTA_SINKS_MORE(SINK) PASTA_SINKS_RESULT(SINK) SINK(perfetto)
#define PASTA_SINK_TEXT_(name) ", " #name
#define PASTA_SINK_RESULT_NAMES PASTA_SINKS_RESULT(PASTA_SINK_TEXT_)
#define PASTA_SINK_NAMES                                                                           \
	PASTA_SINKS_MORE(PASTA_SINK_TEXT_) /* the names as text: ", csv, json", ... */

extern const struct pasta_sink pasta_sink_text, pasta_sink_csv, pasta_sink_json, pasta_sink_folded,
	pasta_sink_perfetto;

/* Returns whether --table selects this table or chart of the tool. If `selected` is NULL, all are
 * selected. */
bool pasta_sink_select(const struct pasta_out *out, const char *name, const char *selected);

/* Flush the file. Returns 0, or a negative errno with *err if a write has failed. */
int pasta_sink_flush(FILE *file, struct pasta_error *err);

/* The text that replaces an empty name. */
#define PASTA_UNNAMED "(unnamed)"
/* Format a stack of a flame chart as "a;b;c": semicolons and control characters in names are
 * replaced. Returns a text that the caller frees; NULL when out of memory. */
char *pasta_folded_text(const union pasta_item *stack);

#endif
