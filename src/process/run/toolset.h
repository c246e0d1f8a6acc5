/*
 * toolset.h - a set of open tools that share one reader of events.
 *
 * If a tool's `open` or `report` fails, the tool is closed, and its entry in the result gets the
 * error. The other tools continue. Only one thread at a time may use a toolset.
 */
#ifndef PASTA_PROCESS_TOOLSET_H
#define PASTA_PROCESS_TOOLSET_H

#include <stdbool.h>

#include "process/run/calls.h"
#include "process/join/reader.h"
#include "process/sdk/result.h"
#include "process/run/tool.h"

/* A tool of a toolset, with its state. */
struct pasta_tool_instance {
	const struct pasta_tool *tool;
	uint32_t number; /* number of the tool among the chosen tools; numbers start at 1 */
	const struct pasta_opts *opts;
	/* the tool's entry in the result; the tool's instances in all toolsets share this entry */
	struct pasta_out *out;
	void *state;	   /* NULL: closed */
	bool failed;	   /* if this is set before the call of `open`, the tool is not opened */
	bool located;	   /* whether the tool's event callback gets a struct pasta_where */
	uint64_t messages; /* number of messages that pasta_log has written */
	/* Kinds that the tool's ledger reads, and kinds that its access index reads. */
	uint64_t ledger_kinds, index_kinds;
	/* Kinds that the tool's ledger or its access index reads. */
	uint64_t shared_kinds;
};

struct pasta_toolset;

/* Makes a set of all chosen tools, of only the sharded tools, or of only the tools that are not
 * sharded. `outs` has one entry for each chosen tool. `choice` and `outs` must outlive the set.
 * Returns NULL when out of memory. */
enum pasta_toolset_select { PASTA_TOOLSET_ALL, PASTA_TOOLSET_SHARDED, PASTA_TOOLSET_WHOLE };
struct pasta_toolset *pasta_toolset_new(const struct pasta_choice *choice,
					struct pasta_out *const *outs,
					enum pasta_toolset_select select);
/* Closes the tools that are still open. */
void pasta_toolset_free(struct pasta_toolset *set);
size_t pasta_toolset_instances(const struct pasta_toolset *set);

/* Return the kinds of events that the open tools read, and the other needs of these tools. */
uint64_t pasta_toolset_kinds(const struct pasta_toolset *set);
uint64_t pasta_toolset_needs(const struct pasta_toolset *set);

void pasta_toolset_open(struct pasta_toolset *set);
/* Delivers one event to the tools that subscribe to its kind. `where` may be NULL. */
void pasta_toolset_event(struct pasta_toolset *set, const struct pasta_event *ev,
			 const struct pasta_where *where);
/* Delivers all events of a reader. */
void pasta_toolset_read(struct pasta_toolset *set, struct pasta_reader *reader);
/* Merges the states of another set into this set. Both sets must have the same tools. */
void pasta_toolset_merge(struct pasta_toolset *into, const struct pasta_toolset *from);
void pasta_toolset_report(struct pasta_toolset *set);
void pasta_toolset_close(struct pasta_toolset *set);

/* Makes `slot` show the callbacks of the set's tools from now on. `slot` must belong to the calling
 * thread. If it is NULL, callbacks are not shown. */
void pasta_toolset_watch(struct pasta_toolset *set, struct pasta_call_slot *slot);

#endif
