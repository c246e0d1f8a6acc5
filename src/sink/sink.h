/* sink.h - output formats: each makes a file of a result, or of the events themselves. */
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
	size_t rows;	   /* of a table or chart, at most; 0: all. text */
	size_t width;	   /* columns of the terminal. text */
	bool color;	   /* text */
	bool ascii;	   /* charts are drawn without Unicode. text */
	bool brief;	   /* the first table of a tool only. text */
	const char *table; /* NAME or TOOL.NAME: this one only; NULL: all. csv, folded */
};

/*
 * A sink has one of the two. 0, or a negative errno: then *err says what to do, and what was
 * written is not whole. The file is flushed, not closed.
 *
 * events reads the input's stream to its end. go_on, which may be NULL, is asked every few thousand
 * events; when it says no, what was read is written whole, and -EINTR returned.
 */
struct pasta_sink {
	const char *name, *summary;
	bool one; /* it can be of one table or chart: --table */
	int (*write)(FILE *file, const struct pasta_result *result,
		     const struct pasta_sink_opts *opts, struct pasta_error *err);
	int (*events)(FILE *file, struct pasta_input *in, bool (*go_on)(void *ctx), void *ctx,
		      struct pasta_error *err);
};

/* NULL if there is none of that name, or past the last. */
const struct pasta_sink *pasta_sink_find(const char *name);
const struct pasta_sink *pasta_sink_at(size_t i);

/* All of them: text, which is the default, and these, of results and of events. */
#define PASTA_SINKS_RESULT(SINK) SINK(csv) SINK(json) SINK(folded)
#define PASTA_SINKS_MORE(SINK) PASTA_SINKS_RESULT(SINK) SINK(perfetto)
#define PASTA_SINK_TEXT_(name) ", " #name
#define PASTA_SINK_RESULT_NAMES PASTA_SINKS_RESULT(PASTA_SINK_TEXT_)
#define PASTA_SINK_NAMES PASTA_SINKS_MORE(PASTA_SINK_TEXT_) /* ", csv, json" and so on */

extern const struct pasta_sink pasta_sink_text, pasta_sink_csv, pasta_sink_json, pasta_sink_folded,
	pasta_sink_perfetto;

/* Whether a table or chart of the tool is the one that --table asks for; NULL asks for all. */
bool pasta_sink_select(const struct pasta_out *out, const char *name, const char *wanted);

/* Flush, and say whether all has been written. */
int pasta_sink_flush(FILE *file, struct pasta_error *err);

/* Stands for a frame without a name, which would be none to who reads it. */
#define PASTA_UNNAMED "(unnamed)"
/* "a;b;c" of a flame chart's stack, to be freed: no frame has a ; or a control character in it, and
 * none is empty. NULL when out of memory. */
char *pasta_folded_text(const union pasta_item *stack);

#endif
