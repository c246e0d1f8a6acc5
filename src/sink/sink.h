/* sink.h - the output formats. A format is a sink, which writes a result or all events. */
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
	/* only for the format text: maximum number of rows of a table or chart; 0: no limit */
	size_t rows;
	size_t width; /* only for the format text: width of the terminal in columns */
	bool color;   /* format text: use colors */
	bool ascii;   /* only for the format text: draw charts without Unicode characters */
	bool brief;   /* only for the format text: show only the first table of each tool */
	/* only for the formats csv and folded: write only the table or chart with this name, NAME
	 * or TOOL.NAME; NULL: write all */
	const char *table;
};

/*
 * An output format. It has either the function `write` or the function `events`. Both return 0, or
 * a negative errno with *err if the output is not complete. Both flush the file, but do not close
 * it. `events` reads the input to its end. It calls go_on, which may be NULL, every few thousand
 * events. If go_on returns false, `events` completes the output with the events read so far and
 * returns -EINTR.
 */
struct pasta_sink {
	const char *name, *summary;
	bool one; /* whether the format supports --table, which selects one table or chart */
	int (*write)(FILE *file, const struct pasta_result *result,
		     const struct pasta_sink_opts *opts, struct pasta_error *err);
	int (*events)(FILE *file, struct pasta_input *in, bool (*go_on)(void *ctx), void *ctx,
		      struct pasta_error *err);
};

/* pasta_sink_find returns the format with a name, and pasta_sink_at the format with a number. Both
 * return NULL if there is no such format. */
const struct pasta_sink *pasta_sink_find(const char *name);
const struct pasta_sink *pasta_sink_at(size_t i);

/* PASTA_SINKS_RESULT lists the formats that write results, except text, which is the default.
 * PASTA_SINKS_MORE adds the formats that write events. */
#define PASTA_SINKS_RESULT(SINK) SINK(csv) SINK(json) SINK(folded)
#define PASTA_SINKS_MORE(SINK) PASTA_SINKS_RESULT(SINK) SINK(perfetto)
#define PASTA_SINK_TEXT_(name) ", " #name
#define PASTA_SINK_RESULT_NAMES PASTA_SINKS_RESULT(PASTA_SINK_TEXT_)
#define PASTA_SINK_NAMES                                                                           \
	PASTA_SINKS_MORE(PASTA_SINK_TEXT_) /* the formats' names: ", csv, json", ... */

extern const struct pasta_sink pasta_sink_text, pasta_sink_csv, pasta_sink_json, pasta_sink_folded,
	pasta_sink_perfetto;

/* Returns whether the argument of --table selects this table or chart of the tool. If `selected` is
 * NULL, everything is selected. */
bool pasta_sink_select(const struct pasta_out *out, const char *name, const char *selected);

/* Flush the file. Returns 0, or a negative errno with *err if a write has failed. */
int pasta_sink_flush(FILE *file, struct pasta_error *err);

/* The text that is shown for an empty name. */
#define PASTA_UNNAMED "(unnamed)"
/* Format a stack of a flame chart as "a;b;c". Semicolons and control characters in names are
 * replaced. The caller frees the text. Returns NULL when out of memory. */
char *pasta_folded_text(const union pasta_item *stack);

#endif
