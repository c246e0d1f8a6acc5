/*
 * tool.h - registers tools, and stores which tools the user chose and with which options.
 *
 * Tools are registered while accelprof starts and while it loads plug-ins. After that, the user's
 * choice is read, and the list of tools no longer changes. Only one thread at a time may call these
 * functions.
 */
#ifndef PASTA_PROCESS_TOOL_H
#define PASTA_PROCESS_TOOL_H

#include <stdbool.h>
#include <stddef.h>

#include <pasta/pasta.h>

/* Names of the tools that a run uses without the option -t. */
#define PASTA_TOOLS_DEFAULT "summary"

/* Returns tool number i, or NULL if i is too large. The tools are numbered in the order of their
 * names. */
const struct pasta_tool *pasta_tool_at(size_t i);
/* Returns whether the tool has one state for each shard. */
bool pasta_tool_is_sharded(const struct pasta_tool *tool);
/* pasta_tool_own_kinds returns the kinds that are read by the tool itself, by its ledger, and by
 * its access index. pasta_tool_kinds adds the kinds that its diagnosis reads. */
uint64_t pasta_tool_own_kinds(const struct pasta_tool *tool);
uint64_t pasta_tool_kinds(const struct pasta_tool *tool);
/* Returns the kinds to record for the tool. They are the kinds of pasta_tool_kinds, but with
 * launches in place of UNMATCHED, which the reader derives from launches, and without API calls
 * that only the diagnosis reads. */
uint64_t pasta_tool_recorded(const struct pasta_tool *tool);
/* Returns the kinds that must be recorded for a complete report of the tool. A ledger also reads
 * counters and tensors, but does not need them. The same applies to some kinds that a diagnosis
 * reads. */
uint64_t pasta_tool_subscribed(const struct pasta_tool *tool);
/* Returns the tool with this name, or NULL. */
const struct pasta_tool *pasta_tool_find(const char *name);
/* Returns the path of the tool's library, or NULL if the tool is built in. The text lives as long
 * as the process. */
const char *pasta_tool_file(const struct pasta_tool *tool);
/* Returns 0, or the error of the first built-in tool that could not be registered. */
int pasta_tool_check(struct pasta_error *err);

/* The library that is being loaded. `refuse` is called for each tool of the library that cannot be
 * registered, with the tool's name or "(unknown)". */
struct pasta_tool_source {
	const char *file; /* file name of the library; lives as long as the process */
	void (*refuse)(void *ctx, const char *name, const struct pasta_error *why);
	void *ctx;
	size_t accepted, refused;
};
/* Sets the library of all tools that are registered from now on. NULL means accelprof itself. */
void pasta_tool_from(struct pasta_tool_source *from);

/* The values that the user set for a tool's options, in the order of the descriptor. */
struct pasta_opts {
	const struct pasta_tool *tool;
	char *chosen_as; /* the text of -t that chose the tool: its name, or its library's path */
	char **values;	 /* an entry is NULL if the option has its default value */
};

/* The tools that the user chose. Zero the struct before use. */
struct pasta_choice {
	struct pasta_opts *tools;
	size_t count;
};

void pasta_choice_free(struct pasta_choice *choice);
/* Chooses the tools of a list such as "regions,launches,./mine.so". A path stands for all tools of
 * the library at this path, which is loaded if necessary. Ignores tools that are already chosen.
 * Returns 0, -ENOENT for an unknown tool, or an error of pasta_plugin_load. */
int pasta_choice_add(struct pasta_choice *choice, const char *names, struct pasta_error *err);
/* Returns the text of -t that chose the tool, as the user wrote it, such as "./mine.so". If the
 * tool was not chosen, returns its name. */
const char *pasta_choice_name(const struct pasta_choice *choice, const struct pasta_tool *tool);
/* Sets an option of a chosen tool, from a text such as "regions.iterations=no". Returns -EINVAL if
 * the value has the wrong type. */
int pasta_choice_set(struct pasta_choice *choice, const char *text, struct pasta_error *err);
/* Returns the kinds to record for the chosen tools. These are the kinds that the tools read, and
 * the kinds that are needed to attribute events to scopes. */
uint64_t pasta_choice_events(const struct pasta_choice *choice);
/* PASTA_NEEDS_TABLES is the mask of the needs for tables of memory accesses. PASTA_NEEDS_ACCESSES
 * adds the need for raw accesses. */
#define PASTA_NEEDS_TABLES                                                                         \
	(PASTA_NEED_ACCESS_OBJECT | PASTA_NEED_ACCESS_PAGE | PASTA_NEED_ACCESS_SITE |              \
	 PASTA_NEED_ACCESS_SITE_OBJECT | PASTA_NEED_ACCESS_COALESCE | PASTA_NEED_ACCESS_DIVERGE |  \
	 PASTA_NEED_ACCESS_BLOCK | PASTA_NEED_ACCESS_TENSOR | PASTA_NEED_ACCESS_OWN |              \
	 PASTA_NEED_ACCESS_BARRIER)
#define PASTA_NEEDS_ACCESSES (PASTA_NEEDS_TABLES | PASTA_NEED_ACCESS_RAW)

/* Returns a mask of enum pasta_need with the needs of all chosen tools. */
uint64_t pasta_choice_needs(const struct pasta_choice *choice);

#endif
