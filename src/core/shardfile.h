/* shardfile.h - appends frames to the file of a shard. */
#ifndef PASTA_CORE_SHARDFILE_H
#define PASTA_CORE_SHARDFILE_H

#include "core/frame.h"

struct pasta_shardfile {
	int fd;
	uint64_t end; /* offset after the last complete frame, where the next frame starts */
};

/* Appends all bytes. On error, returns a negative errno, and `end` does not change, so that the
 * next append overwrites a partial write. */
int pasta_shardfile_append(struct pasta_shardfile *f, const void *bytes, size_t size);

/* Writes the start of a shard: the head, which this function seals, and a frame with the schema.
 * Returns 0 or a negative errno. */
int pasta_shardfile_begin(struct pasta_shardfile *f, struct pasta_shard_head *head,
			  struct pasta_encoder *encoder);

#endif
