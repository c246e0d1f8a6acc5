/* toolindex.c - checks the access index that a tool declares, and delivers events to it. */
#include "process/sdk/toolindex.h"

#include <errno.h>

#include "process/sdk/owned.h"

int pasta_toolindex_check(const struct pasta_tool *tool, struct pasta_error *err)
{
	const struct pasta_access_index_def *def = tool->accesses;

	if (def->size != sizeof(*def))
		return pasta_fail(err, -EINVAL,
				  "the tool must declare its access index with PASTA_ACCESS_INDEX");
	if (!pasta_owned_fits(tool, def->state_offset))
		return pasta_fail(err, -EINVAL,
				  "the pointer to the access index is outside of "
				  "the tool's state");
	if (def->reducers >> PASTA_REDUCER_COUNT)
		return pasta_fail(err, -EINVAL,
				  "the tool's access index has an unknown reducer "
				  "in .reducers");
	return 0;
}

uint64_t pasta_toolindex_kinds(const struct pasta_tool *tool)
{
	if (!tool->accesses)
		return 0;
	return tool->accesses->kinds ? tool->accesses->kinds : PASTA_ACCESS_KINDS;
}

void pasta_toolindex_event(const struct pasta_tool *tool, void *state, const struct pasta_event *ev)
{
	struct pasta_access_index **index =
		(struct pasta_access_index **)((char *)state + tool->accesses->state_offset);

	pasta_access_index_event(*index, ev);
}
