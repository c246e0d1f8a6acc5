/* output.h - writes a file completely or not at all: under a temporary name, which is then renamed.
 */
#ifndef PASTA_PROCESS_OUTPUT_H
#define PASTA_PROCESS_OUTPUT_H

#include <stdio.h>

#include <pasta/pasta.h>

struct pasta_output;

/* Creates the temporary file. Returns NULL and sets *err on failure. */
struct pasta_output *pasta_output_open(const char *path, struct pasta_error *err);
/* The same for a path relative to a run's folder. Links within the run are not followed. */
struct pasta_output *pasta_output_open_in(const char *run, const char *path,
					  struct pasta_error *err);
FILE *pasta_output_file(struct pasta_output *out);
/* The path of the temporary file, for writers that need a name rather than a FILE. */
const char *pasta_output_path(const struct pasta_output *out);
/* Renames the file to its final name, replacing what has that name, and frees out. error: the
 * caller's error so far, or 0. After any error nothing is replaced. Returns the error, or 0. */
int pasta_output_close(struct pasta_output *out, int error, struct pasta_error *err);

#endif
