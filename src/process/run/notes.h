/*
 * notes.h - adds notes to a report. The notes describe data that the numbers of the report do not
 * include: dropped events, kinds that were not recorded, and events that a filter rejected.
 *
 * Each note has advice such as "record again with more --memory". A command calls pasta_notes_check
 * while it runs the tools, pasta_notes_add before it writes the result, and the other functions for
 * warnings about the run.
 */
#ifndef PASTA_PROCESS_NOTES_H
#define PASTA_PROCESS_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include <pasta/pasta.h>

#include "process/join/filter.h"
#include "process/read/input.h"
#include "process/run/tool.h"
#include "process/sdk/result.h"

/* Checks that the input has the memory accesses that a tool needs, because accesses that were not
 * counted must not be reported as 0. Returns 0, or -ENODATA or -EINVAL with *err, which explains
 * how to record again. */
int pasta_notes_check(const struct pasta_tool *tool, const struct pasta_choice *choice,
		      const struct pasta_input *in, struct pasta_error *err);
/* Checks that tools with these needs can be used with the filter, which may be NULL. Returns 0, or
 * -EINVAL with *err. */
int pasta_notes_check_filter(const struct pasta_filter *filter, uint64_t needs,
			     struct pasta_error *err);

/* Adds notes to the findings of each tool. `result` must contain the loss summary, and an entry for
 * each chosen tool, in the order of the choice. */
void pasta_notes_add(struct pasta_result *result, const struct pasta_choice *choice,
		     const struct pasta_input *in);

/* Calls `warn` with one line for each type of data that the program's processes could not
 * record. */
void pasta_notes_unrecorded(const struct pasta_input *in, void (*warn)(const char *line));
/* Calls `warn` for running processes, for damaged data and for missing events, with one line each.
 * `what` is the name of the output in these lines, such as "report". `stopped` is whether the user
 * interrupted the reading. Returns whether some data could not be read. */
bool pasta_notes_incomplete(const struct pasta_input *in, const struct pasta_loss_summary *loss,
			    const char *what, bool stopped, void (*warn)(const char *line));

#endif
