/*
 * toolset.h - states of tools, at work on one feed of events.
 *
 * A tool that fails in open or in report is closed, and its place in the result has the error; the
 * others go on. One thread at a time.
 */
#ifndef PASTA_PROCESS_TOOLSET_H
#define PASTA_PROCESS_TOOLSET_H

#include <stdbool.h>

#include "process/run/calls.h"
#include "process/join/reader.h"
#include "process/sdk/result.h"
#include "process/run/tool.h"

/* A tool in a lane. */
struct pasta_seat {
	const struct pasta_tool *tool;
	uint32_t number; /* in the choice, from 1 */
	const struct pasta_opts *opts;
	struct pasta_out *out;		   /* shared with the tool's seats in other lanes */
	void *state;			   /* NULL: closed */
	bool failed;			   /* before it began: it is never opened */
	bool located;			   /* it asks where events belong */
	uint64_t messages;		   /* of its own, that it wrote */
	uint64_t ledger_kinds, book_kinds; /* that its ledger and its book take */
	uint64_t shared_kinds;		   /* that either takes */
};

struct pasta_lane;

/* Seats for the tools that have merge, for those that do not, or for all. outs: a place in the
 * result for each tool of the choice. All must outlive it. NULL when out of memory. */
enum pasta_lane_who { PASTA_LANE_ALL, PASTA_LANE_MERGING, PASTA_LANE_WHOLE };
struct pasta_lane *pasta_lane_new(const struct pasta_choice *choice, struct pasta_out *const *outs,
				  enum pasta_lane_who who);
/* Closes the tools that are still open. */
void pasta_lane_free(struct pasta_lane *l);
size_t pasta_lane_seats(const struct pasta_lane *l);

/* What its open tools want. */
uint64_t pasta_lane_kinds(const struct pasta_lane *l);
uint64_t pasta_lane_needs(const struct pasta_lane *l);

void pasta_lane_open(struct pasta_lane *l);
/* One event, to those who want its kind. */
void pasta_lane_event(struct pasta_lane *l, const struct pasta_event *ev,
		      const struct pasta_where *where);
/* All events of a feed. */
void pasta_lane_read(struct pasta_lane *l, struct pasta_feed *feed);
/* Add the states of another lane of the same tools. */
void pasta_lane_merge(struct pasta_lane *into, const struct pasta_lane *from);
void pasta_lane_report(struct pasta_lane *l);
void pasta_lane_close(struct pasta_lane *l);

/* Each call is noted in a slot from now on, which is the calling thread's; NULL: nowhere. */
void pasta_lane_watch(struct pasta_lane *l, struct pasta_call_slot *slot);

#endif
