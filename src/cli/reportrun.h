/* reportrun.h - events read, tools run, a report printed: what run and report have in common. */
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

/* Options that both verbs have. Ids as in PASTA_REPORTRUN_OPTIONS. */
enum {
	PASTA_REPORTRUN_OPT = 1000,
	PASTA_REPORTRUN_FORMAT,
	PASTA_REPORTRUN_ROWS,
	PASTA_REPORTRUN_TABLE,
	PASTA_REPORTRUN_STRICT,
	PASTA_REPORTRUN_TOOL_PATH,
	PASTA_REPORTRUN_THREADS,
	PASTA_REPORTRUN_TOOL_TIMEOUT,
	PASTA_REPORTRUN_TOOL_MEMORY,
	PASTA_REPORTRUN_IN_PROCESS,
	PASTA_REPORTRUN_FILTER, /* the first of PASTA_FILTER_TYPES */
};

#define PASTA_REPORTRUN_TOOL_PATH_HELP "look for plug-in tools in these folders first"
/* FORMATS: those that the verb has beside text, as PASTA_SINK_NAMES. */
#define PASTA_REPORTRUN_OPTIONS(FORMATS)                                                           \
	{'t', "tool", "TOOL,...", "tools to run ('accelprof tools' lists them)"},                  \
		{PASTA_REPORTRUN_TOOL_PATH, "tool-path", "DIR:...",                                \
		 PASTA_REPORTRUN_TOOL_PATH_HELP},                                                  \
		{PASTA_REPORTRUN_OPT, "opt", "TOOL.OPTION=VALUE", "set an option of a tool"},      \
		{PASTA_REPORTRUN_FORMAT, "format", "FORMAT", "text (default)" FORMATS},            \
		{PASTA_REPORTRUN_ROWS, "rows", "N",                                                \
		 "text: show N rows of a table or chart; 0: all"},                                 \
		{PASTA_REPORTRUN_TABLE, "table", "NAME", "csv, folded: this table or chart only"}, \
		{PASTA_REPORTRUN_STRICT, "strict", NULL,                                           \
		 "exit with status 3 if events were dropped"},                                     \
		{PASTA_REPORTRUN_THREADS, "threads", "N", "use at most N threads"},                \
		{PASTA_REPORTRUN_TOOL_TIMEOUT, "tool-timeout", "SECONDS",                          \
		 "end a plug-in whose callback takes longer (default: 60; 0: never)"},             \
		{PASTA_REPORTRUN_TOOL_MEMORY, "tool-memory", "SIZE",                               \
		 "limit the memory of each plug-in's process (such as 8G)"},                       \
		{PASTA_REPORTRUN_IN_PROCESS, "in-process", NULL,                                   \
		 "load plug-ins into accelprof itself, unprotected: for debuggers"},               \
		PASTA_REPORTRUN_FILTERS

/* Filters, which export has as well. */
#define PASTA_REPORTRUN_FILTERS                                                                    \
	{PASTA_REPORTRUN_FILTER + PASTA_FILTER_KERNEL, "kernel", "REGEX",                          \
	 "only kernels whose name matches"},                                                       \
		{PASTA_REPORTRUN_FILTER + PASTA_FILTER_EXCLUDE, "exclude", "REGEX",                \
		 "no kernels whose name matches"},                                                 \
		{PASTA_REPORTRUN_FILTER + PASTA_FILTER_DEVICE, "device", "N,N-N",                  \
		 "only what is on these devices"},                                                 \
		{PASTA_REPORTRUN_FILTER + PASTA_FILTER_STREAM, "stream", "N,N-N",                  \
		 "only what is on these streams"},                                                 \
		{PASTA_REPORTRUN_FILTER + PASTA_FILTER_RANK, "rank", "N,N-N", "only these ranks"}, \
		{PASTA_REPORTRUN_FILTER + PASTA_FILTER_REGION, "region", "REGEX",                  \
		 "only what is done in regions whose path matches"},                               \
		{PASTA_REPORTRUN_FILTER + PASTA_FILTER_ITERATION, "iteration", "N,N-N",            \
		 "only what is done in these iterations"},                                         \
	{                                                                                          \
		PASTA_REPORTRUN_FILTER + PASTA_FILTER_TIME, "time", "FROM-TO",                     \
			"only what begins in this time of the run: 1.5s-2s, 200ms-, -3s"           \
	}

#define PASTA_REPORTRUN_MAX 64 /* of each option that may be given again */

struct pasta_reportrun {
	const char *tools[PASTA_REPORTRUN_MAX], *opts[PASTA_REPORTRUN_MAX]; /* as given */
	const char *paths[PASTA_REPORTRUN_MAX];				    /* of --tool-path */
	size_t tool_count, opt_count, path_count;
	const struct pasta_sink *sink;
	struct pasta_sink_opts sink_opts;
	bool strict;
	struct pasta_choice choice;
	struct pasta_filter *filter; /* NULL: none was said */
	size_t threads;
	uint64_t tool_timeout, tool_memory; /* s, bytes; 0: no limit */
	bool in_process;
	bool (*stop)(void *ctx); /* asked while plug-ins are loaded, or NULL */
};

/* With the defaults; rows: of a table. */
void pasta_reportrun_init(struct pasta_reportrun *report, size_t rows);
void pasta_reportrun_free(struct pasta_reportrun *report);
/* Take an option: 0, -ENOENT if it is none of these, or another error with *err. */
int pasta_reportrun_option(struct pasta_reportrun *report, int id, const char *arg,
			   struct pasta_error *err);
/* The same for PASTA_REPORTRUN_FILTERS alone; *filter, NULL at first, is made when there is one. */
int pasta_reportrun_filter(struct pasta_filter **filter, int id, const char *arg,
			   struct pasta_error *err);
/* Whether the options go together, once all are known. 0, or -EINVAL with *err. */
int pasta_reportrun_check(const struct pasta_reportrun *report, struct pasta_error *err);
/* Load plug-ins and choose the tools, once all options are known. tools: what to use if nobody
 * chose, ended by NULL; NULL, or none of them known: the defaults. */
int pasta_reportrun_choose(struct pasta_reportrun *report, char *const *tools,
			   struct pasta_error *err);

/* Read all and let the tools report. stop, which may be NULL, is asked now and then; progress is
 * shown on a terminal. 0; -EINTR: it was stopped, and the result is of what was read; another
 * error, with *err. */
int pasta_reportrun_read(struct pasta_reportrun *report, struct pasta_input *in,
			 struct pasta_result *result, bool (*stop)(void *ctx), void *ctx,
			 struct pasta_error *err);
/* The same for a format of the events, written as they are read: no tools run. Also -EIO and the
 * like, with *err. */
int pasta_reportrun_events(struct pasta_reportrun *report, struct pasta_input *in, FILE *file,
			   bool (*stop)(void *ctx), void *ctx, struct pasta_error *err);
/* Say what went wrong in the program's processes while they recorded, if anything. */
void pasta_reportrun_trouble(const struct pasta_input *in);
/* How many tools failed; each is said. */
size_t pasta_reportrun_failures(const struct pasta_result *result);

/* Print in the chosen format. fd is where it will end: a terminal has a width and colours. */
int pasta_reportrun_print(const struct pasta_reportrun *report, FILE *file, int fd,
			  const struct pasta_result *result, struct pasta_error *err);

#endif
