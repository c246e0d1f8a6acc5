/* stream_internal.h - struct pasta_stream, for stream.c and streamshards.c alone. */
#ifndef PASTA_PROCESS_STREAM_INTERNAL_H
#define PASTA_PROCESS_STREAM_INTERNAL_H

#include <stdatomic.h>

#include "process/read/shard.h"
#include "process/read/stream.h"

/* A frame that waits for its time. */
struct stream_pending {
	uint64_t first; /* in the run's time */
	uint32_t shard, frame;
};

/* A frame that is being delivered: its records are in the block or, spilled, in the file. */
struct stream_cursor {
	uint32_t shard, source;
	uint64_t seq;
	size_t pos; /* in the block */
	struct pasta_block block;
	uint64_t spill_at, spill_end; /* what of it is still in the file; at == end: nothing */
};

/* The time is here, too, for most comparisons need no more. */
struct stream_active {
	uint64_t time; /* of the record at the cursor's pos */
	struct stream_cursor *cursor;
};

struct stream_follower {
	uint64_t size, grown; /* when it grew to that size, CLOCK_MONOTONIC_RAW */
};

struct pasta_stream {
	size_t budget, used;
	uint64_t kinds;
	bool following;
	bool part;   /* of another: the shards are not ours */
	size_t only; /* of them this one; SIZE_MAX: all */
	bool silent; /* what is read does not count */
	struct pasta_shard_tally ignored;
	struct pasta_decoder *decoder;
	struct pasta_shard **shards;
	struct stream_follower *followers;
	size_t shard_count;
	struct stream_pending *pending; /* a heap */
	size_t pending_count, pending_capacity;
	struct stream_active *active; /* a heap */
	size_t active_count, active_capacity;
	struct stream_cursor *spare;  /* one that ended, for the next frame */
	struct stream_active current; /* whose event was returned last, if any: not in the heap */
	uint64_t limit; /* what it has before this time comes before all that others have */
	int spill;	/* -1: none yet */
	uint64_t spill_end;
	uint64_t safe; /* events up to here may be delivered */
	uint64_t last, late;
	uint64_t excluded; /* bytes of shards that are not read */
	_Atomic uint64_t done, *progress;
};

/* Queues the shard's frames from number from on, to be read when their time comes. 0 or -ENOMEM. */
int pasta_stream_add_frames(struct pasta_stream *s, uint32_t shard, size_t from);

#endif
