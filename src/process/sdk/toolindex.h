/* toolindex.h - checks the access index that a tool declares, and delivers events to it. */
#ifndef PASTA_PROCESS_TOOLINDEX_H
#define PASTA_PROCESS_TOOLINDEX_H

#include <pasta/pasta.h>

/* Checks the declaration of a tool's access index. The tool must have one. Returns 0, or -EINVAL
 * with the reason in err. */
int pasta_toolindex_check(const struct pasta_tool *tool, struct pasta_error *err);

/* Returns the kinds that the tool's access index reads; 0 if the tool has none. */
uint64_t pasta_toolindex_kinds(const struct pasta_tool *tool);

/* Delivers an event of one of these kinds to the tool's access index, which must exist. */
void pasta_toolindex_event(const struct pasta_tool *tool, void *state,
			   const struct pasta_event *ev);

#endif
