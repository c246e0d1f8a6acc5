/* toolbook.c - the book of memory accesses that a tool declares. */
#include "process/toolbook.h"

#include <errno.h>

static struct pasta_access_index **toolbook_in(const struct pasta_tool *tool, const void *state)
{
	return (struct pasta_access_index **)((uintptr_t)state + tool->book->state_offset);
}

int pasta_toolbook_check(const struct pasta_tool *tool, struct pasta_error *err)
{
	const struct pasta_access_index_def *def = tool->book;

	if (!def)
		return 0;
	if (def->size != sizeof(*def))
		return pasta_fail(err, -EINVAL, "its book: use PASTA_ACCESS_INDEX");
	if (def->state_offset % sizeof(void *) ||
	    def->state_offset + sizeof(void *) > tool->state_size)
		return pasta_fail(err, -EINVAL, "its book is not within the state");
	if (def->reducers >> PASTA_REDUCER_COUNT)
		return pasta_fail(err, -EINVAL, "its book has a reducer that is unknown");
	return 0;
}

uint64_t pasta_toolbook_kinds(const struct pasta_tool *tool)
{
	if (!tool->book)
		return 0;
	return tool->book->kinds ? tool->book->kinds : PASTA_ACCESS_KINDS;
}

int pasta_toolbook_open(const struct pasta_tool *tool, void *state)
{
	if (!tool->book)
		return 0;
	*toolbook_in(tool, state) = pasta_access_index_new(tool->book->reducers);
	return *toolbook_in(tool, state) ? 0 : -ENOMEM;
}

void pasta_toolbook_close(const struct pasta_tool *tool, void *state)
{
	if (!tool->book)
		return;
	pasta_access_index_free(*toolbook_in(tool, state));
	*toolbook_in(tool, state) = NULL;
}

void pasta_toolbook_event(const struct pasta_tool *tool, void *state, const struct pasta_event *ev)
{
	pasta_access_index_event(*toolbook_in(tool, state), ev);
}

int pasta_toolbook_merge(const struct pasta_tool *tool, void *into, const void *from)
{
	return tool->book ? pasta_access_index_merge(*toolbook_in(tool, into),
						     *toolbook_in(tool, from))
			  : 0;
}

int pasta_toolbook_error(const struct pasta_tool *tool, const void *state)
{
	return tool->book ? pasta_access_index_error(*toolbook_in(tool, state)) : 0;
}
