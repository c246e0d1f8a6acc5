/*
 * reportrun.h - runs tools over recorded runs and prints reports, for the commands run and report.
 */
#ifndef PASTA_CLI_REPORTRUN_H
#define PASTA_CLI_REPORTRUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/cli.h"
#include "process/join/filter.h"
#include "process/read/input.h"
#include "process/sdk/result.h"
#include "process/run/tool.h"
#include "sink/sink.h"

/* Ids of the options that accelprof run and accelprof report share. */
enum {
	PASTA_REPORTRUN_OPT = 1000,
	PASTA_REPORTRUN_FORMAT,
	PASTA_REPORTRUN_ROWS,
	PASTA_REPORTRUN_WIDTH,
	PASTA_REPORTRUN_TABLE,
	PASTA_REPORTRUN_STRICT,
	PASTA_REPORTRUN_TOOL_PATH,
	PASTA_REPORTRUN_THREADS,
	PASTA_REPORTRUN_TOOL_TIMEOUT,
	PASTA_REPORTRUN_TOOL_MEMORY,
	PASTA_REPORTRUN_IN_PROCESS,
	PASTA_REPORTRUN_LINES,
	PASTA_REPORTRUN_FILTER, /* the first of PASTA_FILTER_TYPES */
};

#define PASTA_REPORTRUN_TOOL_PATH_HELP "search these folders for plug-ins first"
/* The options that accelprof run and accelprof report share. FORMATS is the list of the command's
 * formats other than text, such as PASTA_SINK_NAMES. */
#define PASTA_REPORTRUN_OPTIONS(FORMATS)                                                           \
	{'t', "tool", "TOOL,...", "run these tools ('accelprof tools' lists them)"},               \
		{PASTA_REPORTRUN_TOOL_PATH, "tool-path", "DIR:...",                                \
		 PASTA_REPORTRUN_TOOL_PATH_HELP},                                                  \
		{PASTA_REPORTRUN_OPT, "opt", "TOOL.OPTION=VALUE", "set an option of a tool"},      \
		{PASTA_REPORTRUN_FORMAT, "format", "FORMAT", "text (default)" FORMATS},            \
		{PASTA_REPORTRUN_ROWS, "rows", "N",                                                \
		 "in the format text: show at most N rows of a table or chart; 0: all"},           \
		{PASTA_REPORTRUN_WIDTH, "width", "N",                                              \
		 "in the format text: use N columns (default: the terminal's width)"},             \
		{PASTA_REPORTRUN_TABLE, "table", "NAME",                                           \
		 "in the formats csv and folded: write only this table or chart"},                 \
		{PASTA_REPORTRUN_LINES, "lines", "user|library",                                   \
		 "show lines of the program (default), or the innermost lines of Python"},         \
		{PASTA_REPORTRUN_STRICT, "strict", NULL,                                           \
		 "exit with status 3 if events were dropped"},                                     \
		{PASTA_REPORTRUN_THREADS, "threads", "N", "use at most N threads"},                \
		{PASTA_REPORTRUN_TOOL_TIMEOUT, "tool-timeout", "SECONDS",                          \
		 "kill a plug-in if a call takes longer than SECONDS (default: 60; 0: never)"},    \
		{PASTA_REPORTRUN_TOOL_MEMORY, "tool-memory", "SIZE",                               \
		 "limit the memory of each plug-in's process (e.g. 8G)"},                          \
		{PASTA_REPORTRUN_IN_PROCESS, "in-process", NULL,                                   \
		 "run plug-ins in accelprof's own process, for debuggers"},                        \
		PASTA_REPORTRUN_FILTERS

/* The options that filter events. The commands run, report and export have them. */
#define PASTA_REPORTRUN_FILTERS                                                                    \
	{PASTA_REPORTRUN_FILTER + PASTA_FILTER_KERNEL, "kernel", "REGEX",                          \
	 "select kernels whose name matches REGEX"},                                               \
		{PASTA_REPORTRUN_FILTER + PASTA_FILTER_EXCLUDE, "exclude", "REGEX",                \
		 "exclude kernels whose name matches REGEX"},                                      \
		{PASTA_REPORTRUN_FILTER + PASTA_FILTER_DEVICE, "device", "N,N-N",                  \
		 "select work on these devices"},                                                  \
		{PASTA_REPORTRUN_FILTER + PASTA_FILTER_STREAM, "stream", "N,N-N",                  \
		 "select work on these streams"},                                                  \
		{PASTA_REPORTRUN_FILTER + PASTA_FILTER_RANK, "rank", "N,N-N",                      \
		 "select these ranks"},                                                            \
		{PASTA_REPORTRUN_FILTER + PASTA_FILTER_REGION, "region", "REGEX",                  \
		 "select events in regions whose path matches REGEX"},                             \
		{PASTA_REPORTRUN_FILTER + PASTA_FILTER_ITERATION, "iteration", "N,N-N",            \
		 "select events in these iterations"},                                             \
	{                                                                                          \
		PASTA_REPORTRUN_FILTER + PASTA_FILTER_TIME, "time", "FROM-TO",                     \
			"select events that begin in this span, such as 1.5s-2s, 200ms- or -3s"    \
	}

#define PASTA_REPORTRUN_MAX 64 /* how many times an option can be given */

struct pasta_reportrun {
	const char *tools[PASTA_REPORTRUN_MAX], *opts[PASTA_REPORTRUN_MAX]; /* -t, --opt */
	const char *paths[PASTA_REPORTRUN_MAX];				    /* --tool-path */
	size_t tool_count, opt_count, path_count;
	const struct pasta_sink *sink;
	struct pasta_sink_opts sink_opts;
	bool strict;
	struct pasta_choice choice;
	struct pasta_filter *filter; /* NULL: all events */
	size_t threads;
	uint64_t tool_timeout, tool_memory; /* s, bytes; 0: no limit */
	bool in_process;
	/* while plug-ins are loaded, this function is called, and loading stops if it returns true;
	 * NULL: never stop */
	bool (*stop)(void *ctx);
};

/* Set the default values of all options. `rows` is the default value of --rows. */
void pasta_reportrun_init(struct pasta_reportrun *report, size_t rows);
void pasta_reportrun_free(struct pasta_reportrun *report);
/* Apply an option. Returns 0. If the commands run and report do not share the option, returns
 * -ENOENT. On failure returns another negative errno with *err. */
int pasta_reportrun_option(struct pasta_reportrun *report, int id, const char *arg,
			   struct pasta_error *err);
/* Apply an option of PASTA_REPORTRUN_FILTERS. If *filter is NULL, creates the filter. Returns the
 * same values as pasta_reportrun_option. */
int pasta_reportrun_filter(struct pasta_filter **filter, int id, const char *arg,
			   struct pasta_error *err);
/* Check that the options do not contradict each other. Returns 0, or -EINVAL with *err. */
int pasta_reportrun_check(const struct pasta_reportrun *report, struct pasta_error *err);
/* Load plug-ins and choose the tools. Call after all options have been applied. Without -t, chooses
 * the tools in the NULL-terminated list `tools`. If the list is NULL, or none of its tools is
 * available, chooses the default tools. Returns 0, or a negative errno with *err. */
int pasta_reportrun_choose(struct pasta_reportrun *report, char *const *tools,
			   struct pasta_error *err);

/* Read the input, run the tools over it, and show the progress if stderr is a terminal. Calls
 * `stop`, which may be NULL, from time to time. Returns 0, or a negative errno with *err. If `stop`
 * returned true, returns -EINTR; the result then covers the input that was read until then. */
int pasta_reportrun_read(struct pasta_reportrun *report, struct pasta_input *in,
			 struct pasta_result *result, bool (*stop)(void *ctx), void *ctx,
			 struct pasta_error *err);
/* Write all events in the chosen format, without tools. Returns the same values as
 * pasta_reportrun_read. */
int pasta_reportrun_events(struct pasta_reportrun *report, struct pasta_input *in, FILE *file,
			   bool (*stop)(void *ctx), void *ctx, struct pasta_error *err);
/* Print the error of each tool that failed. Returns the number of these tools. */
size_t pasta_reportrun_failures(const struct pasta_result *result);

/* Write the result in the chosen format. fd is the descriptor in which the report finally appears.
 * If it is a terminal, the report has colors, and the terminal's width
 * unless --width or the environment variable COLUMNS sets another one. Returns 0, or a negative
 * errno with *err. */
int pasta_reportrun_print(const struct pasta_reportrun *report, FILE *file, int fd,
			  const struct pasta_result *result, struct pasta_error *err);

#endif
