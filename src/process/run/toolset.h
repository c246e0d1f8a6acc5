/*
 * toolset.h - states of tools, at work on one reader of events.
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

/* A tool in a toolset. */
struct pasta_tool_instance {
	const struct pasta_tool *tool;
	uint32_t number; /* in the choice, from 1 */
	const struct pasta_opts *opts;
	struct pasta_out *out;		   /* shared with the tool's instances in other toolsets */
	void *state;			   /* NULL: closed */
	bool failed;			   /* before it began: it is never opened */
	bool located;			   /* it asks where events belong */
	uint64_t messages;		   /* of its own, that it wrote */
	uint64_t ledger_kinds, index_kinds; /* that its ledger and its book take */
	uint64_t shared_kinds;		   /* that either takes */
};

struct pasta_toolset;

/* Seats for the tools that have merge, for those that do not, or for all. outs: a place in the
 * result for each tool of the choice. All must outlive it. NULL when out of memory. */
enum pasta_toolset_select { PASTA_TOOLSET_ALL, PASTA_TOOLSET_MERGING, PASTA_TOOLSET_WHOLE };
struct pasta_toolset *pasta_toolset_new(const struct pasta_choice *choice, struct pasta_out *const *outs,
				  enum pasta_toolset_select who);
/* Closes the tools that are still open. */
void pasta_toolset_free(struct pasta_toolset *l);
size_t pasta_toolset_instances(const struct pasta_toolset *l);

/* What its open tools want. */
uint64_t pasta_toolset_kinds(const struct pasta_toolset *l);
uint64_t pasta_toolset_needs(const struct pasta_toolset *l);

void pasta_toolset_open(struct pasta_toolset *l);
/* One event, to those who want its kind. */
void pasta_toolset_event(struct pasta_toolset *l, const struct pasta_event *ev,
		      const struct pasta_where *where);
/* All events of a reader. */
void pasta_toolset_read(struct pasta_toolset *l, struct pasta_reader *reader);
/* Add the states of another toolset of the same tools. */
void pasta_toolset_merge(struct pasta_toolset *into, const struct pasta_toolset *from);
void pasta_toolset_report(struct pasta_toolset *l);
void pasta_toolset_close(struct pasta_toolset *l);

/* Each call is noted in a slot from now on, which is the calling thread's; NULL: nowhere. */
void pasta_toolset_watch(struct pasta_toolset *l, struct pasta_call_slot *slot);

#endif
