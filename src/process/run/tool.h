/*
 * tool.h - the tools there are, and those that the user chose, with their options.
 *
 * Tools are registered while the program starts and while plug-ins are loaded, before any is
 * chosen; from then on the list does not change. One thread at a time.
 */
#ifndef PASTA_PROCESS_TOOL_H
#define PASTA_PROCESS_TOOL_H

#include <stdbool.h>
#include <stddef.h>

#include <pasta/pasta.h>

/* What runs when nobody chose. */
#define PASTA_TOOLS_DEFAULT "summary"

/* By name, in order; NULL past the last. */
const struct pasta_tool *pasta_tool_at(size_t i);
/* Whether it has a state a shard. */
bool pasta_tool_is_sharded(const struct pasta_tool *tool);
/* The kinds that it, its ledger and its book take. */
uint64_t pasta_tool_kinds(const struct pasta_tool *tool);
/* What is recorded of these: UNMATCHED is made of launches. */
uint64_t pasta_tool_recorded(const struct pasta_tool *tool);
/* Those without which it knows less: a ledger does without counters and tensors. */
uint64_t pasta_tool_subscribed(const struct pasta_tool *tool);
/* NULL if there is none of that name. */
const struct pasta_tool *pasta_tool_find(const char *name);
/* The library that it came in; NULL: it is built in. Lives as long as the process. */
const char *pasta_tool_file(const struct pasta_tool *tool);
/* 0, or the error of the first built-in tool that could not be registered: it is left out. */
int pasta_tool_check(struct pasta_error *err);

/* Where tools come from, while a library is loaded. refuse is called for each that is left out,
 * with its name, or "(unknown)". */
struct pasta_tool_source {
	const char *file; /* lives as long as the process */
	void (*refuse)(void *ctx, const char *name, const struct pasta_error *why);
	void *ctx;
	size_t accepted, refused;
};
/* From now on; NULL: the program itself. */
void pasta_tool_from(struct pasta_tool_source *from);

/* The values of a tool's options, in the order of the descriptor. */
struct pasta_opts {
	const struct pasta_tool *tool;
	char *said;    /* what it was chosen by: its name, or its library's path */
	char **values; /* NULL: the default */
};

/* The chosen tools. Zero it before use. */
struct pasta_choice {
	struct pasta_opts *tools;
	size_t count;
};

void pasta_choice_free(struct pasta_choice *choice);
/* Add tools: "regions,launches,./mine.so", where a path stands for all that are in that library,
 * which is loaded if it is not yet. One that is there already is not added again. -ENOENT: unknown;
 * or what pasta_plugin_load says. */
int pasta_choice_add(struct pasta_choice *choice, const char *names, struct pasta_error *err);
/* What to say to choose a tool again: as it was said, "./mine.so"; its name if it is not chosen. */
const char *pasta_choice_said(const struct pasta_choice *choice, const struct pasta_tool *tool);
/* Set an option of a chosen tool: "regions.iterations=no". -EINVAL: not of the option's type. */
int pasta_choice_set(struct pasta_choice *choice, const char *text, struct pasta_error *err);
/* All the kinds that they want, or need to know where others belong. */
uint64_t pasta_choice_events(const struct pasta_choice *choice);
/* Of enum pasta_need: tables of memory accesses, and those or each access by itself. */
#define PASTA_NEEDS_TABLES                                                                         \
	(PASTA_NEED_ACCESS_OBJECT | PASTA_NEED_ACCESS_PAGE | PASTA_NEED_ACCESS_SITE |              \
	 PASTA_NEED_ACCESS_SITE_OBJECT | PASTA_NEED_ACCESS_COALESCE | PASTA_NEED_ACCESS_DIVERGE |  \
	 PASTA_NEED_ACCESS_BLOCK | PASTA_NEED_ACCESS_TENSOR | PASTA_NEED_ACCESS_OWN |              \
	 PASTA_NEED_ACCESS_BARRIER)
#define PASTA_NEEDS_ACCESSES (PASTA_NEEDS_TABLES | PASTA_NEED_ACCESS_RAW)

/* All that they need beside, of enum pasta_need. */
uint64_t pasta_choice_needs(const struct pasta_choice *choice);

#endif
