/*
 * toolbook.h - the book of memory accesses that a tool declares: made, fed, merged and freed.
 *
 * A tool that declares none has none: then these do nothing, and return 0.
 */
#ifndef PASTA_PROCESS_TOOLBOOK_H
#define PASTA_PROCESS_TOOLBOOK_H

#include <pasta/pasta.h>

/* 0, or -EINVAL, and in err what is wrong with the declaration. */
int pasta_toolbook_check(const struct pasta_tool *tool, struct pasta_error *err);

/* The kinds that it takes. */
uint64_t pasta_toolbook_kinds(const struct pasta_tool *tool);

/* -ENOMEM. */
int pasta_toolbook_open(const struct pasta_tool *tool, void *state);
/* Also of a state that has no book yet, or no more. */
void pasta_toolbook_close(const struct pasta_tool *tool, void *state);
/* Only where there is one, and of a kind that it takes. */
void pasta_toolbook_event(const struct pasta_tool *tool, void *state, const struct pasta_event *ev);
int pasta_toolbook_merge(const struct pasta_tool *tool, void *into, const void *from);
int pasta_toolbook_error(const struct pasta_tool *tool, const void *state);

#endif
