/*
 * shard.h - reads one shard: finds its frames and decodes their events.
 *
 * Frames are found by their heads. Damaged frames are skipped; the sequence numbers in the other
 * frames show what is missing.
 */
#ifndef PASTA_PROCESS_SHARD_H
#define PASTA_PROCESS_SHARD_H

#include "core/frame.h"
#include "process/read/clockmap.h"
#include "process/read/decode.h"
#include "process/read/stream.h"

/* A frame of events that has not been read yet. */
struct pasta_shard_frame {
	uint64_t offset;
	uint64_t first; /* time of the frame's first event, in the frame's clock */
	uint32_t clock;
};

/* A ring, as described by its frames and its loss records. */
struct pasta_source {
	uint64_t next;	/* the sequence number that the next frame should have */
	uint64_t pos;	/* the ring's position after its last frame */
	uint64_t found; /* events in its frames */
	uint64_t pushed, dropped[PASTA_LOSS_COUNT]; /* counts of its producer */
};

/* What was read of a shard. damaged counts the bytes of damaged frames. */
struct pasta_shard_tally {
	uint64_t captured, unreadable, unknown; /* events */
	uint64_t damaged;			/* bytes */
};

/* The files of a shard: its own and, from the next multiple of 8 on, a tail with recovered events.
 */
struct pasta_shard_parts {
	const char *path; /* path of the shard's file, for messages and to find related files */
	int file;	  /* -1: the shard has no file of its own, only the tail */
	uint64_t end;	  /* end of the part in file; UINT64_MAX: the file's end, which may grow */
	int tail;	  /* -1: the shard has no tail, and end is not used */
	uint64_t limit;	  /* ignore bytes from this offset on; 0: no limit */
};

struct pasta_shard {
	struct pasta_shard_info info;
	struct pasta_shard_head head;
	struct pasta_shard_parts parts; /* owns the descriptors */
	int error;			/* error of the last failed read; frames may be missing */
	uint64_t at;			/* scanned up to here */
	uint64_t size;			/* size of the shard at the last scan */
	uint64_t skipped;		/* bytes before at that are not part of a valid frame */
	uint32_t number;
	int64_t offset; /* added to CLOCK_MONOTONIC_RAW for the times of events; 0 at first */
	struct pasta_plan *plan; /* how to decode records of this shard's schema */
	uint32_t schema;
	uint32_t *strings; /* string ids of the run, by string id of the shard */
	size_t string_count, string_capacity;
	uint64_t string_bytes;
	struct pasta_map *sources; /* struct pasta_source, by number */
	struct pasta_map *clocks;  /* struct pasta_clockmap, by number */
	uint64_t last_clock; /* time in CLOCK_MONOTONIC_RAW up to which the shard has all events */
	struct pasta_shard_frame *frames;
	size_t frame_count, frame_capacity;
	uint64_t own_found;  /* events of the writer itself in frames */
	uint64_t own, texts; /* number of the writer's own events, and of strings, according to the
				shard's end record */
	uint64_t texts_missing;	   /* strings that are missing between others */
	struct pasta_event *names; /* storage of info.names */
	size_t name_capacity;
	bool excluded;			/* the report does not include this shard */
	struct pasta_shard_tally tally; /* counts for the loss summary */
};

/* Opens and scans a shard. pasta_stream_add lists the errors. The shard owns the descriptors, even
 * on failure. */
struct pasta_shard *pasta_shard_open(const struct pasta_shard_parts *parts, uint32_t number,
				     struct pasta_decoder *d, struct pasta_error *err);
void pasta_shard_close(struct pasta_shard *sh);

/* Finds frames that were appended since the last scan, and returns their number. */
size_t pasta_shard_scan(struct pasta_shard *sh, struct pasta_decoder *d);

/* The time of a frame's first event in CLOCK_MONOTONIC_RAW, according to the clock events so far.
 */
uint64_t pasta_shard_first(const struct pasta_shard *sh, size_t frame);

/* Reads a frame's events of these kinds. Times are CLOCK_MONOTONIC_RAW plus the shard's offset.
 * Adds to the tally. For a damaged frame, block is empty and -EBADMSG is returned. Several threads
 * may read at once, each with its own decoder and tally, while no thread scans. */
int pasta_shard_read(const struct pasta_shard *sh, struct pasta_decoder *d, uint64_t offset,
		     uint64_t kinds, struct pasta_frame *frame, struct pasta_block *block,
		     struct pasta_shard_tally *tally);

/* Whether the shard has its end record, so that nothing is missing behind its last frame. Shards of
 * older versions have none and count as complete. */
bool pasta_shard_has_end(const struct pasta_shard *sh);
/* The number of missing strings and missing events of the writer itself (clocks, names, the
 * process). */
uint64_t pasta_shard_missing(const struct pasta_shard *sh);

/* Computes the loss summary from what was read so far. */
void pasta_shard_loss(const struct pasta_shard *sh, struct pasta_loss_summary *loss);

#endif
