/*
 * stream.h - reads many shards as one stream of events in order of time.
 *
 * Damaged parts are skipped and counted. Functions return an error only if nothing can be read. One
 * thread at a time.
 */
#ifndef PASTA_PROCESS_STREAM_H
#define PASTA_PROCESS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

struct pasta_stream;

/* Counts of captured and dropped events of a shard or a run. expected = captured + dropped. */
struct pasta_loss_summary {
	uint64_t expected;		      /* events that producers tried to emit */
	uint64_t captured;		      /* events that the reader has read */
	uint64_t dropped;		      /* expected events that were not read */
	uint64_t by_reason[PASTA_LOSS_COUNT]; /* events that producers dropped, by reason */
	uint64_t damaged;	/* events in frames that are missing or cannot be read */
	uint64_t damaged_bytes; /* bytes that are not part of a valid frame */
	uint64_t unknown;	/* events of kinds that this build does not know (not dropped) */
	uint64_t late;		/* events that came after later ones were delivered (not dropped) */
};

/* Describes a shard. Lives as long as the stream. */
struct pasta_shard_info {
	const char *path;
	uint8_t guid[16], boot[16];
	uint32_t pid;
	uint64_t created; /* CLOCK_REALTIME, ns */
	uint64_t bytes, frames;
	uint64_t kinds;		    /* mask of recorded kinds; 0 if unknown */
	const char *command, *host; /* "" if unknown */
	uint32_t rank;		    /* rank plus 1; 0: none */
	uint32_t parent, world;	    /* 0 if unknown */
	bool imported;		    /* another profiler recorded it */
	const char *source;	    /* format that the shard was imported from, or "" */
	/* Records of devices and threads that were found when the shard was opened; their times are
	 * in the source's clock. all_names: the shard has no others. */
	const struct pasta_event *names;
	size_t name_count;
	bool all_names;
	bool ends;	  /* the shard has its end record */
	uint64_t missing; /* missing strings and missing records of the writer itself */
	struct pasta_loss_summary loss; /* complete after the last event of the stream */
};

/* budget: bytes of decoded events in memory, beyond which events are moved to temporary files; 0:
 * 256 MiB. Returns NULL when out of memory. */
struct pasta_stream *pasta_stream_new(size_t budget);
void pasta_stream_free(struct pasta_stream *s);

/* Adds a shard, whose number (ev->proc) is its position in the order of additions. Add all shards
 * before the first call of pasta_stream_next. -ENOENT, -EACCES, -EINVAL (not a shard),
 * -EPROTONOSUPPORT (a newer version) and others. */
int pasta_stream_add(struct pasta_stream *s, const char *path, struct pasta_error *err);
/* Like pasta_stream_add, for an open shard of one or two files. The stream then owns the
 * descriptors, even on failure. */
struct pasta_shard_parts;
int pasta_stream_add_open(struct pasta_stream *s, const struct pasta_shard_parts *parts,
			  struct pasta_error *err);

/* The files of a shard as of the last scan, to pass them to another process. The stream owns the
 * descriptors. */
void pasta_stream_parts(const struct pasta_stream *s, size_t shard,
			struct pasta_shard_parts *parts);

/* Returns the next event, valid until the next call. NULL at the end or, when following, if shards
 * may still add earlier events. */
const struct pasta_event *pasta_stream_next(struct pasta_stream *s);

/* Decodes only these kinds from now on (a mask). Other events still count as captured. */
void pasta_stream_set_kinds(struct pasta_stream *s, uint64_t kinds);

/* Excludes a shard from the events and from the loss summary. Call it before the first
 * pasta_stream_next. */
void pasta_stream_exclude(struct pasta_stream *s, size_t shard);
bool pasta_stream_excluded(const struct pasta_stream *s, size_t shard);

/* Returns a stream of the same shards, or of one of them (shard: its number, or SIZE_MAX), from
 * their start, for another thread. silent: its events do not count in the loss summary, because
 * another part reads them as well. s must outlive the part, and must not be read or refreshed while
 * a part is read. pasta_stream_join adds a part's counts to s; the progress of parts is part of
 * s's. NULL when out of memory. */
struct pasta_stream *pasta_stream_part(struct pasta_stream *s, size_t shard, bool silent,
				       size_t budget);
void pasta_stream_join(struct pasta_stream *s, const struct pasta_stream *part);

/* Follow shards that grow: pasta_stream_next returns NULL when it has caught up;
 * pasta_stream_refresh then looks for appended frames and returns their number. follow(false)
 * delivers all remaining events. */
void pasta_stream_follow(struct pasta_stream *s, bool follow);
size_t pasta_stream_refresh(struct pasta_stream *s);

/* Sets *done to the number of bytes read so far, and *total to the size of all shards. */
void pasta_stream_progress(const struct pasta_stream *s, uint64_t *done, uint64_t *total);

size_t pasta_stream_shards(const struct pasta_stream *s);
const struct pasta_shard_info *pasta_stream_shard(const struct pasta_stream *s, size_t i);
/* The kinds that a shard recorded; 0 if unknown, or if the shard is not in this stream. Any thread.
 */
uint64_t pasta_stream_kinds(const struct pasta_stream *s, size_t i);
/* Sums up all shards that are not excluded. */
void pasta_stream_loss(const struct pasta_stream *s, struct pasta_loss_summary *loss);

#endif
