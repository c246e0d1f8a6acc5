/* output.h - writes a file completely or not at all: writes a temporary file, then renames it. */
#ifndef PASTA_PROCESS_OUTPUT_H
#define PASTA_PROCESS_OUTPUT_H

#include <stdio.h>

#include <pasta/pasta.h>

struct pasta_output;

/* Creates the temporary file. Returns NULL and sets *err on failure. */
struct pasta_output *pasta_output_open(const char *path, struct pasta_error *err);
/* Like pasta_output_open, for a path relative to a run's folder. Does not follow links within the
 * run. */
struct pasta_output *pasta_output_open_in(const char *run, const char *path,
					  struct pasta_error *err);
FILE *pasta_output_file(struct pasta_output *out);
/* Returns the path of the temporary file, for callers that cannot write to a FILE. */
const char *pasta_output_path(const struct pasta_output *out);
/* Renames the temporary file to its final name, replacing any existing file, and frees `out`.
 * `error`: the caller's error so far, or 0. After any error the existing file is unchanged. Returns
 * the first error, or 0. */
int pasta_output_close(struct pasta_output *out, int error, struct pasta_error *err);

#endif
