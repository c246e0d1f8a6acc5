/* shardfile.h - appends frames to the file of a shard. */
#ifndef PASTA_CORE_SHARDFILE_H
#define PASTA_CORE_SHARDFILE_H

#include "core/frame.h"

struct pasta_shardfile {
	int fd;
	/* offset of the end of the last complete frame, at which the next frame starts */
	uint64_t end;
};

/* Appends all bytes. On error, returns a negative errno. `end` then remains the same, so that the
 * next append overwrites the partial write. */
int pasta_shardfile_append(struct pasta_shardfile *f, const void *bytes, size_t size);

/* Writes the start of a shard, which is the head and a frame with the schema. Seals the head.
 * Returns 0 or a negative errno. */
int pasta_shardfile_begin(struct pasta_shardfile *f, struct pasta_shard_head *head,
			  struct pasta_encoder *encoder);

#endif
