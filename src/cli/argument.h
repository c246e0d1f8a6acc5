/* argument.h - what the arguments of options can be, for shell completion. The option tables state
 * it: the name of an argument is its type. */
#ifndef PASTA_CLI_ARGUMENT_H
#define PASTA_CLI_ARGUMENT_H

#include <stdbool.h>

#include "cli/cli.h"

enum pasta_argument_type {
	PASTA_ARGUMENT_NONE, /* the option has no argument */
	PASTA_ARGUMENT_TEXT, /* anything */
	PASTA_ARGUMENT_FILE,
	PASTA_ARGUMENT_FOLDER,
	PASTA_ARGUMENT_TOOLS,	/* tools, separated by commas */
	PASTA_ARGUMENT_SETTING, /* an option of a tool, and its value */
	PASTA_ARGUMENT_CHOICE,	/* a word */
	PASTA_ARGUMENT_LIST,	/* words, separated by commas */
};

enum pasta_argument_type pasta_argument_type(const struct pasta_cli_option *option);
/* Calls `each` with each word that the argument can be, if its type is CHOICE or LIST. */
void pasta_argument_words(const struct pasta_cli_option *option,
			  void (*each)(void *ctx, const char *word), void *ctx);
/* Calls `each` with each of the words in a text such as "[bash|zsh|fish]". */
void pasta_argument_choices(const char *text, void (*each)(void *ctx, const char *word), void *ctx);

#endif
