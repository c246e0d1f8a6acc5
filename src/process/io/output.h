/* output.h - a file that is there whole or not at all: written beside its place, then renamed. */
#ifndef PASTA_PROCESS_OUTPUT_H
#define PASTA_PROCESS_OUTPUT_H

#include <stdio.h>

#include <pasta/pasta.h>

struct pasta_output;

/* NULL and *err if it cannot be made. */
struct pasta_output *pasta_output_open(const char *path, struct pasta_error *err);
/* The same within a run: path is relative to its folder, and leads through no link. */
struct pasta_output *pasta_output_open_in(const char *run, const char *path,
					  struct pasta_error *err);
FILE *pasta_output_file(struct pasta_output *out);
/* Where the file is until it is closed: for those who write it by name, and not through FILE. */
const char *pasta_output_path(const struct pasta_output *out);
/* Put it in its place, over what was there; frees it. error: what went wrong so far, if anything
 * did; then, as after a write error, nothing is put in place. Returns that error, or 0. */
int pasta_output_close(struct pasta_output *out, int error, struct pasta_error *err);

#endif
