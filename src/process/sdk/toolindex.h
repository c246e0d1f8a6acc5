/*
 * toolindex.h - the book of memory accesses that a tool declares: checked, and given its events.
 */
#ifndef PASTA_PROCESS_TOOLINDEX_H
#define PASTA_PROCESS_TOOLINDEX_H

#include <pasta/pasta.h>

/* 0, or -EINVAL, and in err what is wrong with the declaration, which must be there. */
int pasta_toolindex_check(const struct pasta_tool *tool, struct pasta_error *err);

/* The kinds that it takes; 0 without a declaration. */
uint64_t pasta_toolindex_kinds(const struct pasta_tool *tool);

/* Only where there is one, and of a kind that it takes. */
void pasta_toolindex_event(const struct pasta_tool *tool, void *state, const struct pasta_event *ev);

#endif
