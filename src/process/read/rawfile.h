/*
 * rawfile.h - reads raw accesses from the files of a run. pasta.h has the functions for tools.
 *
 * The caller that opens a stream calls pasta_rawfile_reset. There is one stream at a time. Any
 * thread may call these functions.
 */
#ifndef PASTA_PROCESS_RAWFILE_H
#define PASTA_PROCESS_RAWFILE_H

#include <stdbool.h>

#include <pasta/pasta.h>

#include "core/rawblock.h"
#include "process/read/stream.h"

/* Sets the stream that delivers the events. Returns 0 or -ENOMEM. After -ENOMEM, no raw accesses
 * can be read. */
int pasta_rawfile_reset(const struct pasta_stream *s);

/* Returns whether reading raw accesses has failed since the last reset, and sets *err to the first
 * failure. */
bool pasta_rawfile_failed(struct pasta_error *err);
/* Stores a failure to read raw accesses that happened in another process, such as a worker. */
void pasta_rawfile_note_failed(const struct pasta_error *err);

/* Decodes a block of accesses whose head and bytes are intact. The caller frees the result. On
 * failure, returns NULL and sets *error to -EINVAL if the bytes do not match the head, or to
 * -ENOMEM. */
struct pasta_access *pasta_rawfile_decode(const struct pasta_raw_block *head, const void *bytes,
					  int *error);

#endif
