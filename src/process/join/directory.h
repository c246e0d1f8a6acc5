/*
 * directory.h - fills the directory of processes, devices and threads (<pasta/directory.h>) from
 * shards.
 *
 * There is one directory, for the run that is being read. One thread fills it before the other
 * threads start; then it is only read.
 */
#ifndef PASTA_PROCESS_DIRECTORY_H
#define PASTA_PROCESS_DIRECTORY_H

#include <pasta/pasta.h>

#include "process/read/stream.h"

/* Clears the directory, then adds the processes of a stream, unless s is NULL. Returns 0 or
 * -ENOMEM. */
int pasta_directory_fill(const struct pasta_stream *s);
/* Adds a device or thread record from the stream. Does not replace a name from a shard's complete
 * list of names, which is newer. Returns 0 or -ENOMEM. */
int pasta_directory_event(const struct pasta_event *ev);
/* Adds one process by its number. Copies *info, except for `text`, which this function generates.
 * Returns 0 or -ENOMEM. */
int pasta_directory_add(const struct pasta_process_info *info);

#endif
