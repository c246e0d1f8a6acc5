/*
 * directory.h - fills the directory of <pasta/directory.h> from the shards that are read.
 *
 * There is one directory, for the run that is being read. One thread fills it before the other
 * threads start; then it is only read.
 */
#ifndef PASTA_PROCESS_DIRECTORY_H
#define PASTA_PROCESS_DIRECTORY_H

#include <pasta/pasta.h>

#include "process/read/stream.h"

/* Clears the directory, and adds the processes of a stream, or none (NULL). 0 or -ENOMEM. */
int pasta_directory_fill(const struct pasta_stream *s);
/* Adds a device or thread record that was read. Names from a shard's complete list are newer and
 * stay. 0 or -ENOMEM. */
int pasta_directory_event(const struct pasta_event *ev);
/* Adds one process by its number. Copies info, except text, which is generated. 0 or -ENOMEM. */
int pasta_directory_add(const struct pasta_process_info *info);

#endif
