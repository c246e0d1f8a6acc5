/* cli.c - parses options and prints help and messages for all commands, and finds the agent. */
#include "cli/cli.h"

#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/control.h"
#include "process/io/parse.h"
#include "process/io/suggest.h"
#include "sink/cell.h"

#define OPTIONS_MAX 64

void pasta_cli_message(const char *fmt, ...)
{
	char *text, *safe = NULL;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	if (n < 0)
		return;
	safe = pasta_cell_safe(text);
	/* dprintf writes the whole line at once, so lines of several processes do not mix. */
	if (safe)
		dprintf(STDERR_FILENO, "accelprof: %s\n", safe);
	free(safe);
	free(text);
}

int pasta_cli_usage(const struct pasta_verb *verb, const char *fmt, ...)
{
	char text[400];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	pasta_cli_message("%s: %s%s try 'accelprof %s --help'", verb->name, text,
			  *text && text[strlen(text) - 1] == '?' ? "" : ";", verb->name);
	return PASTA_CLI_USAGE;
}

static void cli_help_option(const struct pasta_cli_option *o)
{
	char text[80];
	int n = o->id < 256 ? snprintf(text, sizeof(text), "-%c, ", o->id)
			    : snprintf(text, sizeof(text), "    ");

	snprintf(text + n, sizeof(text) - (size_t)n, "--%s%s%s", o->name, o->arg ? " " : "",
		 o->arg ? o->arg : "");
	printf("  %-28s %s\n", text, o->help);
}

const struct pasta_cli_option pasta_cli_help_option = {'h', "help", NULL,
						       "show this help and exit"};

void pasta_cli_help(const struct pasta_verb *verb)
{
	const struct pasta_cli_option *o;

	printf("usage: accelprof %s %s\n%s\n\n", verb->name, verb->usage, verb->summary);
	for (o = verb->options; o->name; o++)
		cli_help_option(o);
	cli_help_option(&pasta_cli_help_option);
	if (verb->more)
		printf("\n%s", verb->more);
}

/* Fill in the tables of options that getopt_long needs. */
static void cli_getopt_tables(const struct pasta_verb *verb, char *letters, struct option *longs)
{
	const struct pasta_cli_option *o;

	if (verb->stop_early)
		*letters++ = '+';
	*letters++ = ':';
	for (o = verb->options; o->name; o++) {
		*longs++ = (struct option){o->name, o->arg ? required_argument : no_argument, NULL,
					   o->id};
		if (o->id >= 256)
			continue;
		*letters++ = (char)o->id;
		if (o->arg)
			*letters++ = ':';
	}
	*letters++ = 'h';
	*letters = '\0';
	longs[0] = (struct option){"help", no_argument, NULL, 'h'};
	longs[1] = (struct option){0};
}

/* Print an error about an unknown option, with a suggestion if a long option has a similar name. */
static int cli_unknown_option(const struct pasta_verb *verb, const char *name)
{
	size_t size = strcspn(name, "=");
	const struct pasta_cli_option *o;
	char word[80], text[PASTA_SUGGEST_SIZE];
	struct pasta_suggest suggest = {.word = word};

	if (size < sizeof(word) && !strncmp(name, "--", 2)) {
		snprintf(word, sizeof(word), "%.*s", (int)(size - 2), name + 2);
		for (o = verb->options; o->name; o++)
			pasta_suggest_add(&suggest, o->name);
		pasta_suggest_add(&suggest, pasta_cli_help_option.name);
	}
	if (!suggest.best)
		return pasta_cli_usage(verb, "unknown option '%s'", name);
	snprintf(text, sizeof(text), "--%s", suggest.best);
	pasta_cli_message("%s: unknown option '%.*s'; did you mean '%s'?", verb->name, (int)size,
			  name, text);
	return PASTA_CLI_USAGE;
}

/* Print an error about the option that getopt has rejected. */
static int cli_bad_option(const struct pasta_verb *verb, int got, char **argv)
{
	char letter[] = {'-', (char)optopt, '\0'};
	/* A short option may be part of a group such as -qt; a long option is a whole argument. */
	const char *name = optopt > 0 && optopt < 256 ? letter : argv[optind - 1];

	return got == ':' ? pasta_cli_usage(verb, "option '%s' needs an argument", name)
			  : cli_unknown_option(verb, name);
}

int pasta_cli_next(const struct pasta_verb *verb, int argc, char **argv, const char **arg,
		   int *first)
{
	struct option longs[OPTIONS_MAX + 2];
	char letters[2 * OPTIONS_MAX + 4];
	int got;

	cli_getopt_tables(verb, letters, longs);
	opterr = 0;
	got = getopt_long(argc, argv, letters, longs, NULL);
	*arg = optarg;
	*first = optind;
	if (got == -1)
		return 0;
	if (got == 'h') {
		pasta_cli_help(verb);
		*first = PASTA_CLI_OK;
		return -1;
	}
	if (got == '?' || got == ':') {
		*first = cli_bad_option(verb, got, argv);
		return -1;
	}
	return got;
}

int pasta_cli_count(const char *text, size_t *count)
{
	uint64_t value;
	int error = pasta_parse_number(text, &value);

	if (!error && value > SIZE_MAX)
		error = -ERANGE;
	if (!error)
		*count = (size_t)value;
	return error;
}

char *pasta_cli_dir(char *dir, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", dir, size - 1);
	char *slash;

	dir[n > 0 ? n : 0] = '\0';
	slash = strrchr(dir, '/');
	if (slash)
		*slash = '\0';
	return dir;
}

char *pasta_cli_own(const char *name)
{
	static const char *const folders[] = {"", "../"};
	char self[PATH_MAX], *path, *real;
	size_t i;

	if (!*pasta_cli_dir(self, sizeof(self)))
		return NULL;
	for (i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		if (asprintf(&path, "%s/%s%s", self, folders[i], name) < 0)
			return NULL;
		real = realpath(path, NULL);
		free(path);
		if (real)
			return real;
	}
	return NULL;
}

char *pasta_cli_agent(struct pasta_error *err)
{
	const char *own = getenv(PASTA_ENV_AGENT);
	char self[PATH_MAX], *real;

	if (own && *own) {
		real = realpath(own, NULL);
		if (!real)
			pasta_fail(err, -errno,
				   "%s is set to %s, which cannot be used as the agent (%s): set "
				   "the variable to the path of libpasta-agent.so",
				   PASTA_ENV_AGENT, own, strerror(errno));
		return real;
	}
	real = pasta_cli_own("lib/libpasta-agent.so");
	if (!real)
		pasta_fail(err, -ENOENT,
			   "cannot find lib/libpasta-agent.so in %s or its parent folder: "
			   "install it there, or set %s to its path",
			   *pasta_cli_dir(self, sizeof(self)) ? self : "accelprof's folder",
			   PASTA_ENV_AGENT);
	return real;
}

void *pasta_cli_agent_symbol(const char *path, const char *name, struct pasta_error *err)
{
	void *agent = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void *symbol = agent ? dlsym(agent, name) : NULL;

	if (!symbol)
		pasta_fail(err, -ENOENT, "cannot load the agent (%s): install accelprof again",
			   dlerror());
	return symbol;
}

const struct pasta_handler *const *pasta_cli_handlers(const char *path, struct pasta_error *err)
{
	const struct pasta_handler *const *(*handlers)(void) = NULL;

	*(void **)&handlers = pasta_cli_agent_symbol(path, "pasta_agent_handlers", err);
	return handlers ? handlers() : NULL;
}
