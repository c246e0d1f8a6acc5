/*
 * rawfile.h - reads raw accesses from the files of a run. pasta.h has the functions for tools.
 *
 * The caller that opens a stream calls pasta_rawfile_reset. One stream at a time; any thread.
 */
#ifndef PASTA_PROCESS_RAWFILE_H
#define PASTA_PROCESS_RAWFILE_H

#include <stdbool.h>

#include <pasta/pasta.h>

#include "core/rawblock.h"
#include "process/read/stream.h"

/* Sets the stream whose processes the events refer to. 0, or -ENOMEM: then no raw accesses are
 * found. */
int pasta_rawfile_reset(const struct pasta_stream *s);

/* Whether reading raw accesses has failed since the last reset. *err has the first failure. */
bool pasta_rawfile_failed(struct pasta_error *err);
/* Adds a failure that happened in another process. */
void pasta_rawfile_note_failed(const struct pasta_error *err);

/* Decodes a block with an intact head and intact bytes. The caller frees the result. NULL and
 * *error: -EINVAL if the bytes don't match the head, or -ENOMEM. */
struct pasta_access *pasta_rawfile_decode(const struct pasta_raw_block *head, const void *bytes,
					  int *error);

#endif
