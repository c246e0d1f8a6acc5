/*
 * lane.h - states of tools, at work on one feed of events.
 *
 * A tool that fails in open or in report is closed and says so in its place of the result; the
 * others go on. One thread at a time. All that a lane must remember is in it: when a tool does not
 * come back from a call, another thread gives up that tool with pasta_lane_lose, calls the same
 * function again, and the lane goes on behind it.
 */
#ifndef PASTA_PROCESS_LANE_H
#define PASTA_PROCESS_LANE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "process/feed.h"
#include "process/result.h"
#include "process/tool.h"

/* A tool in a lane. */
struct pasta_seat {
	const struct pasta_tool *tool;
	const struct pasta_opts *opts;
	struct pasta_out *out; /* shared with the tool's seats in other lanes */
	void *state;	       /* NULL: closed */
	bool failed;	       /* before it began: it is never opened */
	uint64_t ledger_kinds; /* that its ledger takes */
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

/* The call that the lane is in, for who watches it: any thread. The seat is NULL between calls, and
 * calls counts them; doing is "open", "event", "merge", "report" or "close". */
struct pasta_lane_call {
	const struct pasta_seat *seat;
	uint64_t calls;
	const char *doing;
};
struct pasta_lane_call pasta_lane_call(const struct pasta_lane *l);
/* Give up the tool whose call does not come back: its state is left as it is. */
void pasta_lane_lose(struct pasta_lane *l);

#endif
