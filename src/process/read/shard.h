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
	uint64_t first; /* time of the frame's first event, in the clock of the frame */
	uint32_t clock;
};

/* A ring of the recorded process, as the frames and the loss records of the shard describe it. */
struct pasta_source {
	uint64_t next;	/* sequence number that the next frame of this ring should start with */
	uint64_t pos;	/* position in the ring after the shard's last frame of this ring */
	uint64_t found; /* number of events in the ring's frames */
	/* Numbers of pushed and dropped events, according to the process that recorded them. */
	uint64_t pushed, dropped[PASTA_LOSS_COUNT];
};

/* Counts of the parts of a shard that were read. `damaged` is the number of bytes in damaged
 * frames. */
struct pasta_shard_tally {
	uint64_t captured, unreadable, unknown; /* events */
	uint64_t damaged;			/* bytes */
};

/* The parts of a shard: its file, and a tail with recovered events. The tail starts at the next
 * multiple of 8 after the used part of the file. */
struct pasta_shard_parts {
	const char *path; /* path of the shard's file, for messages and to find related files */
	int file;	  /* descriptor of the file, or -1 if the shard has only a tail */
	/* End of the used part of the file. UINT64_MAX means the whole file, which may still
	 * grow. */
	uint64_t end;
	int tail;	/* descriptor of the tail, or -1 if there is none; `end` is then not used */
	uint64_t limit; /* ignore bytes from this offset on; 0: no limit */
};

struct pasta_shard {
	struct pasta_shard_info info;
	struct pasta_shard_head head;
	struct pasta_shard_parts parts; /* owns the descriptors */
	/* Error of the last read that failed; frames may be missing. */
	int error;
	uint64_t at;	  /* offset up to which the shard has been scanned */
	uint64_t size;	  /* size of the shard at the last scan */
	uint64_t skipped; /* number of bytes before the offset `at` that are not part of a valid
			     frame */
	uint32_t number;
	/* Offset that is added to times of events in CLOCK_MONOTONIC_RAW. It is 0 at first. */
	int64_t offset;
	struct pasta_plan *plan; /* describes how to decode records with this shard's schema */
	uint32_t schema;
	uint32_t *strings; /* string ids of the run, indexed by string id of the shard */
	size_t string_count, string_capacity;
	uint64_t string_bytes;
	struct pasta_map *sources; /* struct pasta_source, by number */
	struct pasta_map *clocks;  /* struct pasta_clockmap, by number */
	uint64_t last_clock; /* time in CLOCK_MONOTONIC_RAW up to which the shard has all events */
	struct pasta_shard_frame *frames;
	size_t frame_count, frame_capacity;
	uint64_t own_found; /* number of the writer's own events that were found in frames */
	/* Number of the writer's own events, and number of strings, according to the shard's end
	 * record. */
	uint64_t own, texts;
	/* Number of strings that are missing although strings with greater ids exist. */
	uint64_t texts_missing;
	struct pasta_event *names; /* array that info.names points to */
	size_t name_capacity;
	bool excluded;			/* the report does not include this shard */
	struct pasta_shard_tally tally; /* counts for the loss summary of the shard */
};

/* Opens and scans a shard, which then owns the descriptors. On failure, closes the descriptors,
 * returns NULL, and sets *err to one of the errors of pasta_stream_add. */
struct pasta_shard *pasta_shard_open(const struct pasta_shard_parts *parts, uint32_t number,
				     struct pasta_decoder *d, struct pasta_error *err);
void pasta_shard_close(struct pasta_shard *sh);

/* Finds the frames that were appended since the last scan. Returns the number of these frames. */
size_t pasta_shard_scan(struct pasta_shard *sh, struct pasta_decoder *d);

/* Returns the time of a frame's first event in CLOCK_MONOTONIC_RAW. Converts the time with the
 * clock events that were read so far. */
uint64_t pasta_shard_first(const struct pasta_shard *sh, size_t frame);

/* Reads, from a frame, the events whose kinds are in the mask `kinds`. The times of these events
 * are CLOCK_MONOTONIC_RAW plus the shard's offset. Adds to the tally. If the frame is damaged,
 * makes *block empty and returns -EBADMSG. Several threads may read at the same time, each with its
 * own decoder and tally, but not during a scan. */
int pasta_shard_read(const struct pasta_shard *sh, struct pasta_decoder *d, uint64_t offset,
		     uint64_t kinds, struct pasta_frame *frame, struct pasta_block *block,
		     struct pasta_shard_tally *tally);

/* Returns whether the shard has an end record. If it has, no frames are missing at the end of the
 * shard. Shards of older versions have no end record, and this function returns true for them. */
bool pasta_shard_has_end(const struct pasta_shard *sh);
/* Returns the number of missing strings plus the number of missing events of the writer itself
 * (clocks, names, the process). */
uint64_t pasta_shard_missing(const struct pasta_shard *sh);

/* Computes the loss summary of the part of the shard that was read so far. */
void pasta_shard_loss(const struct pasta_shard *sh, struct pasta_loss_summary *loss);

#endif
