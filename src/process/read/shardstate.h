/*
 * shardstate.h - the state of a shard: its schema, strings, clocks, loss counts and names.
 *
 * The scan of a shard reads these frames at once, because decoding the others depends on them. One
 * thread at a time.
 */
#ifndef PASTA_PROCESS_SHARDSTATE_H
#define PASTA_PROCESS_SHARDSTATE_H

#include "process/read/shard.h"

#define PASTA_SHARDSTATE_NAMES (PASTA_MASK(DEVICE) | PASTA_MASK(THREAD))
#define PASTA_SHARDSTATE_ALL                                                                       \
	(PASTA_MASK(LOSS) | PASTA_MASK(CLOCK) | PASTA_MASK(PROCESS) | PASTA_SHARDSTATE_NAMES)

/* Replaces the plan by which the shard's events are decoded. 0, or -EBADMSG for a damaged schema.
 */
int pasta_shardstate_schema(struct pasta_shard *sh, const char *text, size_t size);

/* Adds the strings of frame f, whose uncompressed payload is p, to the process-wide string table.
 * 0, or -EBADMSG for a damaged frame or one past the limits. */
int pasta_shardstate_strings(struct pasta_shard *sh, const struct pasta_frame *f, const uint8_t *p);

/* Reads the events of frame f that are in kinds, a mask within PASTA_SHARDSTATE_ALL. 0, -EBADMSG or
 * -ENOMEM. */
int pasta_shardstate_events(struct pasta_shard *sh, struct pasta_decoder *d,
			    const struct pasta_frame *f, const void *payload, uint64_t kinds);

#endif
