/*
 * rawfile.h - raw accesses, read back from the files of a run. pasta.h has what tools call.
 *
 * Who reads a stream says so here, whatever its tools want. One stream at a time; any thread.
 */
#ifndef PASTA_PROCESS_RAWFILE_H
#define PASTA_PROCESS_RAWFILE_H

#include <stdbool.h>

#include <pasta/pasta.h>

#include "core/rawblock.h"
#include "process/read/stream.h"

/* The processes of events are those of this stream from now on. 0 or -ENOMEM: then no raw accesses
 * are found. */
int pasta_rawfile_reset(const struct pasta_stream *s);

/* Whether raw accesses that somebody asked for since then could not be read, and why the first. */
bool pasta_rawfile_failed(struct pasta_error *err);
/* It was so in another process. */
void pasta_rawfile_note_failed(const struct pasta_error *err);

/* The accesses of a block whose head and bytes are whole, to be freed; NULL, with *error: -EINVAL
 * if they are not what the head says, or -ENOMEM. */
struct pasta_access *pasta_rawfile_decode(const struct pasta_raw_block *head, const void *bytes,
					  int *error);

#endif
