/* cli.h - parses options and prints help and messages for all commands, and finds the agent. */
#ifndef PASTA_CLI_CLI_H
#define PASTA_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include <pasta/pasta.h>

#include "handlers/handler.h"

/* Exit statuses of accelprof. The command run exits with the program's status; if the program
 * cannot be started, it exits with the same status as env(1). */
enum pasta_cli_status {
	PASTA_CLI_OK = 0,
	PASTA_CLI_FAILED = 1,
	PASTA_CLI_USAGE = 2,
	PASTA_CLI_LOSS = 3, /* exit status with --strict if events were dropped */
	PASTA_CLI_NOT_STARTED = 125,
	PASTA_CLI_NOT_EXECUTABLE = 126,
	PASTA_CLI_NOT_FOUND = 127,
	PASTA_CLI_INTERRUPTED = 130,
};

/* An option. `id` is the letter of the short option, or a number above 255 if there is no short
 * option. A table ends with a NULL name. */
struct pasta_cli_option {
	int id;
	/* name of the argument in the help text; NULL if the option has no argument */
	const char *name, *arg, *help;
};

/* What the arguments of a command are that are not options. */
enum pasta_cli_args {
	PASTA_CLI_ARGS_NONE,
	PASTA_CLI_ARGS_FILES,	/* files and folders */
	PASTA_CLI_ARGS_PROGRAM, /* a program and its arguments */
	PASTA_CLI_ARGS_TOOL,	/* a tool, or a library with tools */
	PASTA_CLI_ARGS_COMMAND, /* a command of accelprof */
	PASTA_CLI_ARGS_CHOICE,	/* one of the words in the usage, which "|" separates */
};

struct pasta_verb {
	const char *name, *summary, *usage;
	const char *more; /* text that follows the options in the help, or NULL */
	const struct pasta_cli_option *options;
	enum pasta_cli_args args;
	bool stop_early; /* options end at the first argument that is not an option */
	bool hidden;	 /* lists of commands omit the command */
	int (*main)(int argc, char **argv);
};

extern const struct pasta_verb pasta_verb_run, pasta_verb_report, pasta_verb_import,
	pasta_verb_export, pasta_verb_tools, pasta_verb_doctor, pasta_verb_new_tool,
	pasta_verb_help, pasta_verb_completion, pasta_verb_man;

/* Returns command number i, or NULL if i is too large. */
const struct pasta_verb *pasta_verb_at(size_t i);
/* Returns the command with this name, or NULL. */
const struct pasta_verb *pasta_verb_find(const char *name);

/* The option --help, which every command has. */
extern const struct pasta_cli_option pasta_cli_help_option;
/* pasta_cli_help prints the help of a command, and pasta_cli_help_commands a list of all
 * commands. */
void pasta_cli_help(const struct pasta_verb *verb);
void pasta_cli_help_commands(void);
/* Print an error about an unknown command. Returns PASTA_CLI_USAGE. */
int pasta_cli_unknown_command(const char *name);

/* Parse the next option of a command. Returns the option's id, with its argument in *arg. After the
 * last option, returns 0, with the index of the first remaining argument in *first. Returns -1
 * after printing the help or an error; the command must then exit with the status *first. */
int pasta_cli_next(const struct pasta_verb *verb, int argc, char **argv, const char **arg,
		   int *first);
/* Print an error about the command line and refer to --help. Returns PASTA_CLI_USAGE. */
int pasta_cli_usage(const struct pasta_verb *verb, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Print a line that begins with "accelprof: " on stderr, with a single write. Control characters
 * are escaped. */
void pasta_cli_message(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Parse a decimal number. Returns 0, -EINVAL or -ERANGE. */
int pasta_cli_count(const char *text, size_t *count);

/* Find a file that belongs to accelprof, such as "lib/libpasta-agent.so", in the folder of the
 * executable or in the parent of that folder. Returns the absolute path, which the caller frees;
 * NULL if the file does not exist. */
char *pasta_cli_own(const char *name);
/* Write the path of the executable's folder into `dir`; write "" if the path is not known. Returns
 * `dir`. */
char *pasta_cli_dir(char *dir, size_t size);

/* Load plug-ins from the folders of --tool-path, of PASTA_TOOL_PATH and of the installation, in
 * this order. Calls `warn` with one line of text for each plug-in that cannot be used. */
void pasta_cli_plugins(const char *const *paths, size_t count, void (*warn)(const char *line));
/* The path of this executable. Worker processes execute it. */
#define PASTA_CLI_SELF "/proc/self/exe"
/* Print a line, as pasta_cli_message does. This function can be passed as a callback for
 * warnings. */
void pasta_cli_warn(const char *line);

/* Returns the path of the agent: $PASTA_AGENT, or the agent of this installation. The caller frees
 * the path. Returns NULL with *err if there is no agent. */
char *pasta_cli_agent(struct pasta_error *err);
/* Load the agent at `path`, and return the function `name` of the agent; NULL with *err. The agent
 * stays loaded. */
void *pasta_cli_agent_symbol(const char *path, const char *name, struct pasta_error *err);
/* Load the agent at `path`, and return the list of its handlers; NULL with *err. */
const struct pasta_handler *const *pasta_cli_handlers(const char *path, struct pasta_error *err);

#endif
