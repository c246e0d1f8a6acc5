/*
 * directory.h - fills the directory of <pasta/directory.h> from the shards that are read.
 *
 * There is one directory, that of the run which is read now. It is filled by one thread before the
 * others start; from then on it is only read.
 */
#ifndef PASTA_PROCESS_DIRECTORY_H
#define PASTA_PROCESS_DIRECTORY_H

#include <pasta/pasta.h>

#include "process/read/stream.h"

/* Forget all, and know the processes of a stream, or none (NULL). -ENOMEM. */
int pasta_directory_fill(const struct pasta_stream *s);
/* A record of a device or a thread that was read. What is known of it from the list of its shard is
 * newer. -ENOMEM. */
int pasta_directory_event(const struct pasta_event *ev);
/* Know one process, by its number: text is made, and all else is copied. -ENOMEM. */
int pasta_directory_add(const struct pasta_process_info *info);

#endif
