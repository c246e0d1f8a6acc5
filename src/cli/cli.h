/* cli.h - verbs, their options, and what accelprof says for itself. */
#ifndef PASTA_CLI_CLI_H
#define PASTA_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include <pasta/pasta.h>

#include "handlers/handler.h"

/* Exit statuses of our own. run has the program's, and those of env(1) before it starts. */
enum pasta_cli_status {
	PASTA_CLI_OK = 0,
	PASTA_CLI_FAILED = 1,
	PASTA_CLI_USAGE = 2,
	PASTA_CLI_LOSS = 3, /* with --strict */
	PASTA_CLI_NOT_STARTED = 125,
	PASTA_CLI_NOT_EXECUTABLE = 126,
	PASTA_CLI_NOT_FOUND = 127,
	PASTA_CLI_INTERRUPTED = 130,
};

/* id is the short option's letter, or more than 255. A table ends with a NULL name. */
struct pasta_cli_option {
	int id;
	const char *name, *arg, *help; /* arg: NULL if it takes none */
};

struct pasta_verb {
	const char *name, *summary, *usage;
	const char *more; /* help after the options, or NULL */
	const struct pasta_cli_option *options;
	bool stop_early; /* options end at the first argument that is none */
	int (*main)(int argc, char **argv);
};

extern const struct pasta_verb pasta_verb_run, pasta_verb_report, pasta_verb_import,
	pasta_verb_export, pasta_verb_tools, pasta_verb_doctor, pasta_verb_new_tool;

/* Options of a verb, one a call: its id, with the argument in *arg; 0 after the last, with the
 * first argument that is no option in *first. -1: stop, with this exit status in *first, for help
 * was asked for, or an option was wrong; either has been said. */
int pasta_cli_next(const struct pasta_verb *verb, int argc, char **argv, const char **arg,
		   int *first);
/* Usage is wrong: one line, with a hint. Returns PASTA_CLI_USAGE. */
int pasta_cli_usage(const struct pasta_verb *verb, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* One line on stderr, "accelprof: ...", in one write, with nothing that a terminal would obey. */
void pasta_cli_message(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* "20". -EINVAL, -ERANGE. */
int pasta_cli_count(const char *text, size_t *count);

/* A file or folder that came with accelprof: in the folder of the executable, or the one above, by
 * its name there ("lib/libpasta-agent.so"). To be freed; NULL if it is absent. */
char *pasta_cli_own(const char *name);
/* The executable's folder. Returns dir; "" if it is not known. */
char *pasta_cli_dir(char *dir, size_t size);

/* Load plug-ins: from the folders of --tool-path as given, of PASTA_TOOL_PATH, and accelprof's own.
 * warn gets a line for each that cannot be used. */
void pasta_cli_plugins(const char *const *paths, size_t count, void (*warn)(const char *line));
/* This executable, to be started again. */
#define PASTA_CLI_SELF "/proc/self/exe"
/* A line for pasta_cli_plugins, said. */
void pasta_cli_warn(const char *line);

/* The agent's library: $PASTA_AGENT, or beside accelprof. To be freed; NULL and *err if absent. */
char *pasta_cli_agent(struct pasta_error *err);
/* A function of the agent at path, which is loaded for that and stays so; NULL, with *err. */
void *pasta_cli_agent_symbol(const char *path, const char *name, struct pasta_error *err);
/* Its handlers, likewise. */
const struct pasta_handler *const *pasta_cli_handlers(const char *path, struct pasta_error *err);

#endif
