/* sink.h - output formats: each makes a file of a result, or of the events themselves. */
#ifndef PASTA_SINK_SINK_H
#define PASTA_SINK_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <pasta/pasta.h>

#include "process/input.h"
#include "process/result.h"

#define PASTA_REPORT_SCHEMA "accelprof-report/1"

struct pasta_sink_opts {
	size_t rows;	   /* of a table, at most; 0: all. text */
	size_t width;	   /* columns of the terminal. text */
	bool color;	   /* text */
	bool brief;	   /* the first table of a tool only. text */
	const char *table; /* NAME or TOOL.NAME: this one only; NULL: all. csv */
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
	int (*write)(FILE *file, const struct pasta_result *result,
		     const struct pasta_sink_opts *opts, struct pasta_err *err);
	int (*events)(FILE *file, struct pasta_input *in, bool (*go_on)(void *ctx), void *ctx,
		      struct pasta_err *err);
};

/* NULL if there is none of that name, or past the last. */
const struct pasta_sink *pasta_sink_find(const char *name);
const struct pasta_sink *pasta_sink_at(size_t i);

extern const struct pasta_sink pasta_sink_text, pasta_sink_csv, pasta_sink_json,
	pasta_sink_perfetto;

/* Flush, and say whether all has been written. */
int pasta_sink_flush(FILE *file, struct pasta_err *err);

#endif
