/*
 * tool.h - the tools of this build, and those that the user chose, with their options.
 *
 * Tools are registered while the program starts; from then on the list does not change. One
 * thread at a time.
 */
#ifndef PASTA_PROCESS_TOOL_H
#define PASTA_PROCESS_TOOL_H

#include <stddef.h>

#include <pasta/pasta.h>

/* What runs when nobody chose. */
#define PASTA_TOOLS_DEFAULT "regions,kernel_freq,copies"

/* By name, in order; NULL past the last. */
const struct pasta_tool *pasta_tool_at(size_t i);
/* NULL if there is none of that name. */
const struct pasta_tool *pasta_tool_find(const char *name);
/* 0, or the error of the first tool that could not be registered: it is left out. */
int pasta_tool_check(struct pasta_err *err);

/* The values of a tool's options, in the order of the descriptor. */
struct pasta_opts {
	const struct pasta_tool *tool;
	char **values; /* NULL: the default */
};

/* The chosen tools. Zero it before use. */
struct pasta_choice {
	struct pasta_opts *tools;
	size_t count;
};

void pasta_choice_free(struct pasta_choice *choice);
/* Add tools: "regions,launches". One that is there already is not added again. -ENOENT: unknown. */
int pasta_choice_add(struct pasta_choice *choice, const char *names, struct pasta_err *err);
/* Set an option of a chosen tool: "regions.iterations=no". -EINVAL: not of the option's type. */
int pasta_choice_set(struct pasta_choice *choice, const char *text, struct pasta_err *err);
/* All the kinds that they want. */
uint64_t pasta_choice_events(const struct pasta_choice *choice);

#endif
