/*
 * toolset.h - a set of open tools that share one reader of events.
 *
 * A tool that fails in open or in report is closed, and its entry in the result gets the error; the
 * other tools continue. One thread at a time.
 */
#ifndef PASTA_PROCESS_TOOLSET_H
#define PASTA_PROCESS_TOOLSET_H

#include <stdbool.h>

#include "process/run/calls.h"
#include "process/join/reader.h"
#include "process/sdk/result.h"
#include "process/run/tool.h"

/* A tool with its state in a toolset. */
struct pasta_tool_instance {
	const struct pasta_tool *tool;
	uint32_t number; /* in the choice, from 1 */
	const struct pasta_opts *opts;
	struct pasta_out *out;		    /* shared with the tool's instances in other toolsets */
	void *state;			    /* NULL: closed */
	bool failed;			    /* before open: it is never opened */
	bool located;			    /* needs to know where events belong */
	uint64_t messages;		    /* written by pasta_log so far */
	uint64_t ledger_kinds, index_kinds; /* kinds for its ledger and its access index */
	uint64_t shared_kinds;		    /* kinds for either of them */
};

struct pasta_toolset;

/* Makes a set of all chosen tools, of the sharded ones, or of the others. outs has an entry of the
 * result for each tool of the choice. choice and outs must outlive the set. NULL: out of memory. */
enum pasta_toolset_select { PASTA_TOOLSET_ALL, PASTA_TOOLSET_SHARDED, PASTA_TOOLSET_WHOLE };
struct pasta_toolset *pasta_toolset_new(const struct pasta_choice *choice,
					struct pasta_out *const *outs,
					enum pasta_toolset_select select);
/* Closes the tools that are still open. */
void pasta_toolset_free(struct pasta_toolset *set);
size_t pasta_toolset_instances(const struct pasta_toolset *set);

/* The kinds of events, and the other needs, of all open tools. */
uint64_t pasta_toolset_kinds(const struct pasta_toolset *set);
uint64_t pasta_toolset_needs(const struct pasta_toolset *set);

void pasta_toolset_open(struct pasta_toolset *set);
/* Delivers one event to the tools that subscribe to its kind. where may be NULL. */
void pasta_toolset_event(struct pasta_toolset *set, const struct pasta_event *ev,
			 const struct pasta_where *where);
/* Delivers all events of a reader. */
void pasta_toolset_read(struct pasta_toolset *set, struct pasta_reader *reader);
/* Merges the states of another set of the same tools. */
void pasta_toolset_merge(struct pasta_toolset *into, const struct pasta_toolset *from);
void pasta_toolset_report(struct pasta_toolset *set);
void pasta_toolset_close(struct pasta_toolset *set);

/* Shows all further calls in a slot, which must be the calling thread's; NULL: in none. */
void pasta_toolset_watch(struct pasta_toolset *set, struct pasta_call_slot *slot);

#endif
