/*
 * notes.h - notes on what a report's numbers leave out: dropped events, kinds that were not
 * recorded, filters. Each note has advice such as "record again with more --memory".
 *
 * Any front end calls pasta_notes_check while it runs the tools, and pasta_notes_add before it
 * writes the result.
 */
#ifndef PASTA_PROCESS_NOTES_H
#define PASTA_PROCESS_NOTES_H

#include <stdint.h>

#include <pasta/pasta.h>

#include "process/join/filter.h"
#include "process/read/input.h"
#include "process/run/tool.h"
#include "process/sdk/result.h"

/* Check that the input has the memory accesses that a tool needs: a value that was not counted is
 * not zero. Returns 0; -ENODATA or -EINVAL with *err, which includes how to record again. */
int pasta_notes_check(const struct pasta_tool *tool, const struct pasta_choice *choice,
		      const struct pasta_input *in, struct pasta_error *err);
/* Check that the filter, which may be NULL, can select events for tools with these needs. Returns
 * 0, or -EINVAL with *err. */
int pasta_notes_check_filter(const struct pasta_filter *filter, uint64_t needs,
			     struct pasta_error *err);

/* Add the notes to the findings of each tool. The result has the tools of the choice, in the same
 * order, and its loss. */
void pasta_notes_add(struct pasta_result *result, const struct pasta_choice *choice,
		     const struct pasta_input *in);

#endif
