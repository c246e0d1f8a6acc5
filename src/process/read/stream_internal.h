/* stream_internal.h - struct pasta_stream, shared by stream.c and streamshards.c. */
#ifndef PASTA_PROCESS_STREAM_INTERNAL_H
#define PASTA_PROCESS_STREAM_INTERNAL_H

#include <stdatomic.h>

#include "process/read/shard.h"
#include "process/read/stream.h"

/* A frame that has not been opened yet. */
struct stream_pending {
	uint64_t first; /* time of the frame's first event, in the run's clock */
	uint32_t shard, frame;
};

/* An open frame. Its records are in `block`; if they need too much memory, some of them are in the
 * temporary file. */
struct stream_cursor {
	uint32_t shard, source;
	uint64_t seq;
	size_t pos; /* offset of the next record in `block` */
	struct pasta_block block;
	uint64_t spill_at, spill_end; /* the cursor's part of the temporary file, which is empty if
				       * both offsets are equal */
};

/* An entry of the heap: a cursor, and the time of its next record. The time is stored here so that
 * most comparisons need not read the cursor. */
struct stream_active {
	uint64_t time; /* time of the cursor's next record */
	struct stream_cursor *cursor;
};

struct stream_follower {
	/* Size of the shard at the last scan, and the time in CLOCK_MONOTONIC_RAW at which it last
	 * grew. */
	uint64_t size, grown;
};

struct pasta_stream {
	size_t budget, used;
	uint64_t kinds;
	bool following;
	bool part;   /* whether pasta_stream_part made the stream; a part does not own its shards */
	size_t only; /* number of the only shard to read; SIZE_MAX: read all shards */
	bool silent; /* the stream's events do not count in the loss summary */
	struct pasta_shard_tally ignored;
	struct pasta_decoder *decoder;
	struct pasta_shard **shards;
	struct stream_follower *followers;
	size_t shard_count;
	struct stream_pending *pending; /* a heap, by time */
	size_t pending_count, pending_capacity;
	struct stream_active *active; /* a heap, by time */
	size_t active_count, active_capacity;
	struct stream_cursor *spare; /* a finished cursor to reuse */
	/* The cursor of the last event that was returned; it is not in the heap. */
	struct stream_active current;
	/* If a record of the current cursor is earlier than this time, it is also earlier than the
	 * records of all other cursors. */
	uint64_t limit;
	int spill; /* -1: none yet */
	uint64_t spill_end;
	uint64_t safe; /* time up to which events may be delivered */
	uint64_t last, late;
	uint64_t excluded; /* number of bytes in excluded shards */
	_Atomic uint64_t done, *progress;
};

/* Queues the frames of a shard, starting with frame number `from`. Returns 0 or -ENOMEM. */
int pasta_stream_add_frames(struct pasta_stream *s, uint32_t shard, size_t from);

#endif
