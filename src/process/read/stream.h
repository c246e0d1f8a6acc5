/*
 * stream.h - reads many shards as one stream of events in order of time.
 *
 * Damaged parts are skipped and counted. Functions return an error only if nothing can be read.
 * Only one thread at a time may call these functions, except where noted.
 */
#ifndef PASTA_PROCESS_STREAM_H
#define PASTA_PROCESS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

struct pasta_stream;

/* Counts of captured and dropped events of a shard or a run. `expected` = `captured` + `dropped`.
 */
struct pasta_loss_summary {
	uint64_t expected; /* number of events that producers tried to emit */
	uint64_t captured; /* number of events that the reader has read */
	uint64_t dropped;  /* number of expected events that were not read */
	/* Number of events that producers dropped, by reason. */
	uint64_t by_reason[PASTA_LOSS_COUNT];
	uint64_t damaged;	/* number of events in frames that are missing or cannot be read */
	uint64_t damaged_bytes; /* number of bytes that are not part of a valid frame */
	/* Number of events of kinds that this build does not know. They do not count as dropped. */
	uint64_t unknown;
	/* Number of events that were found only after later events had been delivered. They do not
	 * count as dropped. */
	uint64_t late;
};

/* A description of a shard, which is valid as long as the stream exists. */
struct pasta_shard_info {
	const char *path;
	uint8_t guid[16], boot[16];
	uint32_t pid;
	uint64_t created; /* CLOCK_REALTIME, ns */
	uint64_t bytes, frames;
	uint64_t kinds;		    /* mask of recorded kinds; 0 if unknown */
	const char *command, *host; /* "" if unknown */
	uint32_t rank;		    /* rank plus 1; 0 if the process has no rank */
	uint32_t parent, world;	    /* 0 if unknown */
	bool imported;		    /* the events come from another profiler */
	const char *source;	    /* format that the shard was imported from, or "" */
	/* Device and thread records that were found when the shard was opened. Their times are in
	 * the clock of their source. If all_names is true, the shard has no further such
	 * records. */
	const struct pasta_event *names;
	size_t name_count;
	bool all_names;
	bool ends; /* the shard has an end record */
	/* Number of missing strings and of missing records of the writer itself. */
	uint64_t missing;
	struct pasta_loss_summary loss; /* complete after the last event of the stream */
};

/* Creates a stream. `budget` is the maximum size of decoded events in memory, in bytes; 0 means 256
 * MiB. Further events are moved to temporary files. Returns NULL when out of memory. */
struct pasta_stream *pasta_stream_new(size_t budget);
void pasta_stream_free(struct pasta_stream *s);

/* Adds a shard. Shards are numbered in the order in which they are added; the number of an event's
 * shard is ev->proc. Add all shards before the first call of pasta_stream_next. Returns 0, -ENOENT,
 * -EACCES, -EINVAL (not a shard), -EPROTONOSUPPORT (a newer version) or another error. */
int pasta_stream_add(struct pasta_stream *s, const char *path, struct pasta_error *err);
/* Like pasta_stream_add, but adds a shard that is already open, and consists of one or two files.
 * The stream then owns the descriptors, even on failure. */
struct pasta_shard_parts;
int pasta_stream_add_open(struct pasta_stream *s, const struct pasta_shard_parts *parts,
			  struct pasta_error *err);

/* Returns the files of a shard, up to the end of the last scan, so that they can be passed to
 * another process. The stream still owns the descriptors. */
void pasta_stream_parts(const struct pasta_stream *s, size_t shard,
			struct pasta_shard_parts *parts);

/* Returns the next event, which is valid until the next call. Returns NULL at the end. If the
 * stream follows growing shards, also returns NULL while a shard may still add earlier events. */
const struct pasta_event *pasta_stream_next(struct pasta_stream *s);

/* Limits decoding to the kinds in this mask, from now on. Other events still count as captured. */
void pasta_stream_set_kinds(struct pasta_stream *s, uint64_t kinds);

/* Excludes a shard from the events and from the loss summary. Call this function before the first
 * call of pasta_stream_next. */
void pasta_stream_exclude(struct pasta_stream *s, size_t shard);
bool pasta_stream_excluded(const struct pasta_stream *s, size_t shard);

/* Returns a stream that another thread can read; it is called a part of s. A part reads the shard
 * with the number `shard` from its start, or all shards if `shard` is SIZE_MAX. If `silent` is
 * true, the part's events do not count in the loss summary, because another part reads them as
 * well. s must outlive the part, and must not be read or refreshed while a part is read.
 * pasta_stream_join adds the part's counts to s. The progress of s includes the progress of its
 * parts. Returns NULL when out of memory. */
struct pasta_stream *pasta_stream_part(struct pasta_stream *s, size_t shard, bool silent,
				       size_t budget);
void pasta_stream_join(struct pasta_stream *s, const struct pasta_stream *part);

/* Follow shards that grow. After pasta_stream_follow(s, true), pasta_stream_next returns NULL when
 * it has read all events so far. pasta_stream_refresh then looks for appended frames and returns
 * their number. After pasta_stream_follow(s, false), pasta_stream_next delivers all remaining
 * events. */
void pasta_stream_follow(struct pasta_stream *s, bool follow);
size_t pasta_stream_refresh(struct pasta_stream *s);

/* Sets *done to the number of bytes read so far, and *total to the size of all shards. */
void pasta_stream_progress(const struct pasta_stream *s, uint64_t *done, uint64_t *total);

size_t pasta_stream_shards(const struct pasta_stream *s);
const struct pasta_shard_info *pasta_stream_shard(const struct pasta_stream *s, size_t i);
/* Returns the kinds that a shard recorded. Returns 0 if they are unknown, or if the shard is not in
 * this stream. Any thread may call this function. */
uint64_t pasta_stream_kinds(const struct pasta_stream *s, size_t i);
/* Computes the loss summary of all shards that are not excluded. */
void pasta_stream_loss(const struct pasta_stream *s, struct pasta_loss_summary *loss);

#endif
