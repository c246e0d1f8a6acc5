/* help.c - accelprof help: shows the commands, or the help of one command. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "process/io/suggest.h"

void pasta_cli_help_commands(void)
{
	const struct pasta_verb *verb;
	size_t i;

	printf("usage: accelprof COMMAND [OPTIONS] ...\n\n");
	for (i = 0; (verb = pasta_verb_at(i)); i++)
		if (!verb->hidden)
			printf("  %-11s %s\n", verb->name, verb->summary);
	printf("\n  -h, --help     show this help; after a command, that command's help\n"
	       "  -V, --version  show the version\n\n"
	       "Start with: accelprof run -- PROGRAM ARGS...\n");
}

const struct pasta_verb *pasta_verb_find(const char *name)
{
	const struct pasta_verb *verb;
	size_t i;

	for (i = 0; (verb = pasta_verb_at(i)); i++)
		if (!strcmp(verb->name, name))
			return verb;
	return NULL;
}

int pasta_cli_unknown_command(const char *name)
{
	struct pasta_suggest suggest = {.word = name};
	const struct pasta_verb *verb;
	char text[PASTA_SUGGEST_SIZE];
	size_t i;

	for (i = 0; (verb = pasta_verb_at(i)); i++)
		if (!verb->hidden)
			pasta_suggest_add(&suggest, verb->name);
	pasta_cli_message("unknown command '%s'%s", name,
			  suggest.best ? pasta_suggest_text(&suggest, text, sizeof(text))
				       : "; try 'accelprof --help'");
	return PASTA_CLI_USAGE;
}

static int help_main(int argc, char **argv)
{
	const struct pasta_verb *verb;
	const char *arg;
	int first, id = pasta_cli_next(&pasta_verb_help, argc, argv, &arg, &first);

	if (id < 0)
		return first;
	if (argc - first > 1)
		return pasta_cli_usage(
			&pasta_verb_help,
			"more than one command was given: name one command, or none");
	if (first == argc) {
		pasta_cli_help_commands();
		return PASTA_CLI_OK;
	}
	verb = pasta_verb_find(argv[first]);
	if (!verb)
		return pasta_cli_unknown_command(argv[first]);
	pasta_cli_help(verb);
	return PASTA_CLI_OK;
}

static const struct pasta_cli_option options[] = {{0, NULL, NULL, NULL}};

const struct pasta_verb pasta_verb_help = {
	.name = "help",
	.summary = "show the commands, or the help of one command",
	.usage = "[COMMAND]",
	.args = PASTA_CLI_ARGS_COMMAND,
	.options = options,
	.main = help_main,
};
