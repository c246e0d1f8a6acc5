/*
 * timeline.h - the state of a timeline while events are read: the open slices of each thread, the
 * lanes of each stream, and the live memory. Memory use grows with the number of threads, open
 * slices, streams and live allocations, not with the number of events. Only one thread at a time
 * may use a timeline.
 */
#ifndef PASTA_SINK_TIMELINE_H
#define PASTA_SINK_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/pasta.h>

/* A lane: a row of slices of one stream, which do not overlap. */
struct pasta_timeline_lane {
	uint32_t number; /* within the process, from 0 */
	uint32_t index;	 /* within the stream, from 0 */
	bool is_new;	 /* whether the slice is the first slice of its lane */
};

/* A slice of a thread: a region, an operator or a call. */
struct pasta_timeline_slice {
	struct pasta_event ev; /* the event that began the slice */
	uint64_t begin, end;
	bool supplied; /* the end of the operator was not recorded, so the reader added it */
};

/* Callbacks. `slice` reports a slice after its end. A slice is reported before a slice that
 * contains it, unless both begin and end at the same times. Slices of a thread are always nested: a
 * call that overlaps another slice only partially has a lane instead, which is NULL for other
 * slices. `memory` reports a change of the live memory of a device and level. */
struct pasta_timeline_ops {
	void (*slice)(void *ctx, const struct pasta_timeline_slice *slice,
		      const struct pasta_timeline_lane *lane);
	void (*memory)(void *ctx, const struct pasta_event *ev, uint32_t device, uint32_t level,
		       uint64_t bytes);
};

struct pasta_timeline {
	const struct pasta_timeline_ops *ops;
	void *ctx;
	struct pasta_map *procs; /* by ev->proc */
	struct pasta_ledger *ledger;
	bool failed; /* memory ran out, so the timeline is incomplete */
};

/* Returns 0 or -ENOMEM. In both cases the caller must call pasta_timeline_close. */
int pasta_timeline_open(struct pasta_timeline *t, const struct pasta_timeline_ops *ops, void *ctx);
void pasta_timeline_close(struct pasta_timeline *t);

/* Add the begin or end of a region or operator. The reader delivers begins and ends in pairs. If a
 * region ends before an operator that began in it, or vice versa, the end of the outer slice also
 * ends the inner slice. */
void pasta_timeline_slice(struct pasta_timeline *t, const struct pasta_event *ev);
/* Add a call, which begins at the time of the event and takes `dur` ns. If `cut` is true, the call
 * is shortened instead of overlapping another slice partially. */
void pasta_timeline_call(struct pasta_timeline *t, const struct pasta_event *ev, uint64_t dur,
			 bool cut);
/* Note the time of an event. Call this function for every event: a slice without an end lasts until
 * the last event of its process. */
void pasta_timeline_saw(struct pasta_timeline *t, uint32_t proc, uint64_t time);
/* End all open slices, at the time of the last event of their process. */
void pasta_timeline_finish(struct pasta_timeline *t);

/* Returns the first lane of the stream that is free from `begin` to `end`. A stream has at most 64
 * lanes; in the last lane, slices may overlap. */
struct pasta_timeline_lane pasta_timeline_lane(struct pasta_timeline *t, uint32_t proc,
					       uint32_t device, uint32_t stream, uint64_t begin,
					       uint64_t end);

/* Add an allocation or a free to the live memory. */
void pasta_timeline_memory(struct pasta_timeline *t, const struct pasta_event *ev);

#endif
