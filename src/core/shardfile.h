/* shardfile.h - a shard's file, as those see it who append frames to it. */
#ifndef PASTA_CORE_SHARDFILE_H
#define PASTA_CORE_SHARDFILE_H

#include "core/frame.h"

struct pasta_shardfile {
	int fd;
	uint64_t end; /* of what is whole: the next frame begins here */
};

/* All of it, or a negative errno; then end has not moved, and the next append writes over it. */
int pasta_shardfile_append(struct pasta_shardfile *f, const void *bytes, size_t size);

/* What every shard begins with: the head, which is sealed here, and the schema. */
int pasta_shardfile_begin(struct pasta_shardfile *f, struct pasta_shard_head *head,
			  struct pasta_encoder *encoder);

#endif
