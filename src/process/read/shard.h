/*
 * shard.h - one shard: its frames found, its strings, clocks and account read.
 *
 * Frames are found by their heads; those that are damaged are passed over, and what is missing is
 * known from the numbers that the others carry.
 */
#ifndef PASTA_PROCESS_SHARD_H
#define PASTA_PROCESS_SHARD_H

#include "core/frame.h"
#include "process/read/clockmap.h"
#include "process/read/decode.h"
#include "process/read/stream.h"

/* A frame of events, not read yet. */
struct pasta_shard_frame {
	uint64_t offset;
	uint64_t first; /* in its clock */
	uint32_t clock;
};

/* A ring, as its frames and its account tell of it. */
struct pasta_source {
	uint64_t next;	/* the number of the event that comes next, if none is missing */
	uint64_t pos;	/* the ring's position after its last frame */
	uint64_t found; /* events in its frames */
	uint64_t pushed, dropped[PASTA_LOSS_COUNT]; /* what its producer says */
};

/* What was read of a shard. Bytes are those of frames that turned out to be damaged. */
struct pasta_shard_tally {
	uint64_t captured, unreadable, unknown; /* events */
	uint64_t damaged;			/* bytes */
};

/* Where a shard's bytes are: in its file, and then, from the next multiple of 8 on, in another one,
 * which has what recover found in the rings. */
struct pasta_shard_parts {
	const char *path; /* of the file, for messages and for who looks beside it */
	int file;	  /* -1: there is none, and the tail is all of it */
	uint64_t end; /* the file's part ends here; UINT64_MAX: where the file ends, it may grow */
	int tail;     /* -1: there is none, and end does not matter */
	uint64_t limit; /* what has been appended from here on is left alone; 0: no limit */
};

struct pasta_shard {
	struct pasta_shard_info info;
	struct pasta_shard_head head;
	struct pasta_shard_parts parts; /* its own descriptors */
	int error;	  /* of the last read that failed: there may be more than was found */
	uint64_t at;	  /* scanned up to here */
	uint64_t size;	  /* of the file, when it was last looked at */
	uint64_t skipped; /* bytes before at that are no frame */
	uint32_t number;
	int64_t offset; /* from CLOCK_MONOTONIC_RAW to the times of events that are read; 0 at first
			 */
	struct pasta_plan *plan; /* of schema */
	uint32_t schema;
	uint32_t *strings; /* ids of the run, by the shard's */
	size_t string_count, string_capacity;
	uint64_t string_bytes;
	struct pasta_map *sources; /* struct pasta_source, by number */
	struct pasta_map *clocks;  /* struct pasta_clockmap, by number */
	uint64_t last_clock;	   /* raw; all that is older is in the file */
	struct pasta_shard_frame *frames;
	size_t frame_count, frame_capacity;
	uint64_t own_found;	   /* events of its writer's own that are in frames */
	uint64_t own, texts;	   /* how many of them, and strings, its end says there are */
	uint64_t texts_missing;	   /* strings between those that were found */
	struct pasta_event *names; /* info's */
	size_t name_capacity;
	bool excluded;			/* the report is not of it */
	struct pasta_shard_tally tally; /* of who reads it for the account */
};

/* Open and scan. See pasta_stream_add for the errors. The descriptors are its own from now on,
 * whatever happens. */
struct pasta_shard *pasta_shard_open(const struct pasta_shard_parts *parts, uint32_t number,
				     struct pasta_decoder *d, struct pasta_error *err);
void pasta_shard_close(struct pasta_shard *sh);

/* Find the frames that are new since the last scan; returns how many. */
size_t pasta_shard_scan(struct pasta_shard *sh, struct pasta_decoder *d);

/* When a frame begins, in CLOCK_MONOTONIC_RAW, by the clock events that are known by now. */
uint64_t pasta_shard_first(const struct pasta_shard *sh, size_t frame);

/* Read a frame's events; times are then in CLOCK_MONOTONIC_RAW, plus offset. What is read is added
 * to the tally; a damaged frame gives an empty block and -EBADMSG. Several threads may read, each
 * with its own decoder and tally, while nobody scans. */
int pasta_shard_read(const struct pasta_shard *sh, struct pasta_decoder *d, uint64_t offset,
		     uint64_t kinds, struct pasta_frame *frame, struct pasta_block *block,
		     struct pasta_shard_tally *tally);

/* Whether it has its end: all that its writer wrote is before it. Older ones have none, and are
 * taken to be whole. */
bool pasta_shard_has_end(const struct pasta_shard *sh);
/* How many of the writer's own events (clocks, names, the process) and of its strings are missing.
 */
uint64_t pasta_shard_missing(const struct pasta_shard *sh);

/* How it adds up, by what was read until now. */
void pasta_shard_loss(const struct pasta_shard *sh, struct pasta_loss_summary *loss);

#endif
