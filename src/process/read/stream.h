/*
 * stream.h - many shards, read as one stream of events in order of time.
 *
 * Damaged parts are passed over and counted, never fatal: an error is returned only where nothing
 * at all can be read. One thread at a time.
 */
#ifndef PASTA_PROCESS_STREAM_H
#define PASTA_PROCESS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

struct pasta_stream;

/* How a shard, or a run, adds up. expected = captured + dropped. */
struct pasta_loss_summary {
	uint64_t expected;		      /* events that producers tried to emit */
	uint64_t captured;		      /* events that the reader has read */
	uint64_t dropped;		      /* the rest */
	uint64_t by_reason[PASTA_LOSS_COUNT]; /* what producers dropped, and why */
	uint64_t damaged;	/* events in frames that are missing or cannot be read */
	uint64_t damaged_bytes; /* bytes that are no valid frame */
	uint64_t unknown;	/* events of kinds that this build does not know (not dropped) */
	uint64_t late;		/* events that came after their time had passed (not dropped) */
};

/* What is known of a shard, beside its events. Lives as long as the stream. */
struct pasta_shard_info {
	const char *path;
	uint8_t guid[16], boot[16];
	uint32_t pid;
	uint64_t created; /* CLOCK_REALTIME, ns */
	uint64_t bytes, frames;
	uint64_t kinds;		    /* mask of kinds that were recorded; 0 if unknown */
	const char *command, *host; /* "" if unknown */
	uint32_t rank;		    /* plus 1; 0: none */
	uint32_t parent, world;	    /* 0 if unknown */
	bool imported;		    /* another profiler recorded it */
	const char *source;	    /* the format that it was imported from, or "" */
	/* Records of devices and threads that were found when it was opened; their times are the
	 * source's. all_names: there are no others. */
	const struct pasta_event *names;
	size_t name_count;
	bool all_names;
	bool ends;			/* all that its process wrote is before its end */
	uint64_t missing;		/* records of its writer's own, and strings */
	struct pasta_loss_summary loss; /* whole once the stream has ended */
};

/* budget: bytes of decoded events to keep in memory; 0 is the default of 256 MiB. Past it, events
 * go to temporary files. NULL when out of memory. */
struct pasta_stream *pasta_stream_new(size_t budget);
void pasta_stream_free(struct pasta_stream *s);

/* Add a shard. -ENOENT, -EACCES, -EINVAL (not a shard), -EPROTONOSUPPORT (a newer version)...
 * Add all shards before the first next; a shard's number (ev->proc) is the order of its adding. */
int pasta_stream_add(struct pasta_stream *s, const char *path, struct pasta_error *err);
/* The same with a shard that is open already, in one part or two; its descriptors are the stream's
 * from now on, whatever happens. */
struct pasta_shard_parts;
int pasta_stream_add_open(struct pasta_stream *s, const struct pasta_shard_parts *parts,
			  struct pasta_error *err);

/* Where a shard's bytes are, as they were when it was last looked at: its descriptors stay the
 * stream's. For another process that is to read the same. */
void pasta_stream_parts(const struct pasta_stream *s, size_t shard,
			struct pasta_shard_parts *parts);

/* The next event, until the next call; NULL at the end, or, when following, at the end of what can
 * be said to be in order by now. */
const struct pasta_event *pasta_stream_next(struct pasta_stream *s);

/* Only these kinds are decoded from now on (a mask); the others still count as captured. */
void pasta_stream_set_kinds(struct pasta_stream *s, uint64_t kinds);

/* Read nothing of a shard, and leave it out of the account. Before the first next. */
void pasta_stream_exclude(struct pasta_stream *s, size_t shard);
bool pasta_stream_excluded(const struct pasta_stream *s, size_t shard);

/* The same shards, or one of them (its number; SIZE_MAX: all), to be read by another thread, from
 * their begin. silent: what it reads does not count in the account, for another reads it too. s
 * must outlive it, and must not be read or refreshed while parts are. join adds what a part has
 * counted; progress is that of s. NULL when out of memory. */
struct pasta_stream *pasta_stream_part(struct pasta_stream *s, size_t shard, bool silent,
				       size_t budget);
void pasta_stream_join(struct pasta_stream *s, const struct pasta_stream *part);

/* Follow growing shards: next returns NULL when it has caught up; then refresh looks for what has
 * been appended since and returns how many frames there were. follow(false) ends it: all that is
 * there is delivered. */
void pasta_stream_follow(struct pasta_stream *s, bool follow);
size_t pasta_stream_refresh(struct pasta_stream *s);

/* Bytes read and to be read, for progress. */
void pasta_stream_progress(const struct pasta_stream *s, uint64_t *done, uint64_t *total);

size_t pasta_stream_shards(const struct pasta_stream *s);
const struct pasta_shard_info *pasta_stream_shard(const struct pasta_stream *s, size_t i);
/* The kinds that a shard recorded; 0 if unknown, or it is not part of this stream. Any thread. */
uint64_t pasta_stream_kinds(const struct pasta_stream *s, size_t i);
/* The sum over all shards. */
void pasta_stream_loss(const struct pasta_stream *s, struct pasta_loss_summary *loss);

#endif
