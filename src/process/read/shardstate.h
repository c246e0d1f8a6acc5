/*
 * shardstate.h - stores the schema, the strings, the clocks, the loss counts and the names of a
 * shard.
 *
 * When the scan of a shard finds a frame with such data, the scan decodes this frame at once,
 * because other frames cannot be decoded without the data. Only one thread at a time may call these
 * functions.
 */
#ifndef PASTA_PROCESS_SHARDSTATE_H
#define PASTA_PROCESS_SHARDSTATE_H

#include "process/read/shard.h"

#define PASTA_SHARDSTATE_NAMES (PASTA_MASK(DEVICE) | PASTA_MASK(THREAD))
#define PASTA_SHARDSTATE_ALL                                                                       \
	(PASTA_MASK(LOSS) | PASTA_MASK(CLOCK) | PASTA_MASK(PROCESS) | PASTA_SHARDSTATE_NAMES)

/* Replaces the plan that describes how to decode the shard's events. Returns 0, or -EBADMSG for a
 * damaged schema. */
int pasta_shardstate_schema(struct pasta_shard *sh, const char *text, size_t size);

/* Adds the strings of frame f, whose uncompressed payload is p, to the process-wide string table.
 * Returns 0, or -EBADMSG if the frame is damaged or exceeds a limit. */
int pasta_shardstate_strings(struct pasta_shard *sh, const struct pasta_frame *f, const uint8_t *p);

/* Reads, from frame f, the events whose kinds are in the mask `kinds`, which must be a subset of
 * PASTA_SHARDSTATE_ALL. Returns 0, -EBADMSG or -ENOMEM. */
int pasta_shardstate_events(struct pasta_shard *sh, struct pasta_decoder *d,
			    const struct pasta_frame *f, const void *payload, uint64_t kinds);

#endif
