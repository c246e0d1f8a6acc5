/* toolindex.h - the access index that a tool declares: checks it, and delivers its events. */
#ifndef PASTA_PROCESS_TOOLINDEX_H
#define PASTA_PROCESS_TOOLINDEX_H

#include <pasta/pasta.h>

/* Checks a tool's declaration, which must exist. Returns 0, or -EINVAL with the reason in err. */
int pasta_toolindex_check(const struct pasta_tool *tool, struct pasta_error *err);

/* Returns the kinds that the index reads; 0 without a declaration. */
uint64_t pasta_toolindex_kinds(const struct pasta_tool *tool);

/* Delivers an event of these kinds to the tool's index, which must exist. */
void pasta_toolindex_event(const struct pasta_tool *tool, void *state,
			   const struct pasta_event *ev);

#endif
