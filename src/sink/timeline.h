/*
 * timeline.h - what of a process a timeline must remember while events go by: slices that are open
 * on a thread, how far a device's streams are taken, and how much memory is live.
 *
 * It grows with threads, depth, streams and live allocations, not with events. One thread at a
 * time.
 */
#ifndef PASTA_SINK_TIMELINE_H
#define PASTA_SINK_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

/* Called when a slice begins or ends on a thread: they are always nested; and when what is live of
 * a level on a device has changed. */
struct pasta_timeline_ops {
	void (*begin)(void *ctx, const struct pasta_event *ev, const char *name, uint64_t time);
	/* supplied: an operator's, whose end is missing */
	void (*end)(void *ctx, uint32_t proc, uint32_t tid, uint64_t time, bool supplied);
	void (*memory)(void *ctx, const struct pasta_event *ev, uint32_t device, uint32_t level,
		       uint64_t bytes);
};

struct pasta_timeline {
	const struct pasta_timeline_ops *ops;
	void *ctx;
	struct pasta_map *procs; /* by ev->proc */
	struct pasta_ledger *ledger;
	bool failed; /* memory ran out: the timeline is not whole */
};

int pasta_timeline_open(struct pasta_timeline *t, const struct pasta_timeline_ops *ops, void *ctx);
void pasta_timeline_close(struct pasta_timeline *t);

/* A region, or a framework's operator, begins or ends, as a feed gives them: in pairs. Where the
 * two sorts cross, the end of an outer slice ends those inside it. */
void pasta_timeline_slice(struct pasta_timeline *t, const struct pasta_event *ev);
/* Every event, for the end of what never ends. */
void pasta_timeline_saw(struct pasta_timeline *t, uint32_t proc, uint64_t time);
/* End all that is open, at the last time of its process. */
void pasta_timeline_finish(struct pasta_timeline *t);

/* A row for slices of a stream that do not overlap. */
struct pasta_timeline_lane {
	uint32_t number; /* in its process, from 0 */
	uint32_t index;	 /* in its stream, from 0 */
	bool is_new;
};

/* The first lane of the stream that is free from begin to end. Past 64 of them, which no device
 * has, they overlap after all. */
struct pasta_timeline_lane pasta_timeline_lane(struct pasta_timeline *t, uint32_t proc,
					       uint32_t device, uint32_t stream, uint64_t begin,
					       uint64_t end);

/* An allocation or a free. */
void pasta_timeline_memory(struct pasta_timeline *t, const struct pasta_event *ev);

#endif
