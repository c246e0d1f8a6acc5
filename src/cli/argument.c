/* argument.c - what the arguments of options can be, for shell completion. */
#include "cli/argument.h"

#include <stdio.h>
#include <string.h>

static bool argument_is(const struct pasta_cli_option *option, const char *name)
{
	return !strcmp(option->arg, name);
}

enum pasta_argument_type pasta_argument_type(const struct pasta_cli_option *option)
{
	if (!option->arg)
		return PASTA_ARGUMENT_NONE;
	if (argument_is(option, "FILE"))
		return PASTA_ARGUMENT_FILE;
	if (argument_is(option, "DIR") || argument_is(option, "DIR:..."))
		return PASTA_ARGUMENT_FOLDER;
	if (argument_is(option, "TOOL,..."))
		return PASTA_ARGUMENT_TOOLS;
	if (argument_is(option, "TOOL.OPTION=VALUE"))
		return PASTA_ARGUMENT_SETTING;
	if (strstr(option->arg, "KIND,..."))
		return PASTA_ARGUMENT_LIST;
	if (argument_is(option, "FORMAT") || argument_is(option, "TARGET") ||
	    strchr(option->arg, '|'))
		return PASTA_ARGUMENT_CHOICE;
	return PASTA_ARGUMENT_TEXT;
}

void pasta_argument_choices(const char *text, void (*each)(void *ctx, const char *word), void *ctx)
{
	char word[64];

	while (*text) {
		size_t size = strcspn(text, "[]| ");

		if (size && size < sizeof(word)) {
			snprintf(word, sizeof(word), "%.*s", (int)size, text);
			each(ctx, word);
		}
		text += size + (text[size] != '\0');
	}
}

/* The help of FORMAT and TARGET lists the words: "text (default), csv or json", "format of FILE:
 * sqlite". */
static void argument_listed(const char *help, void (*each)(void *ctx, const char *word), void *ctx)
{
	const char *colon = strstr(help, ": ");
	char word[64];

	help = colon ? colon + 2 : help;
	while (*help) {
		size_t size = strcspn(help, ", ");

		snprintf(word, sizeof(word), "%.*s", (int)size, help);
		if (size && *word != '(' && strcmp(word, "or") != 0)
			each(ctx, word);
		help += size + (help[size] != '\0');
	}
}

void pasta_argument_words(const struct pasta_cli_option *option,
			  void (*each)(void *ctx, const char *word), void *ctx)
{
	enum pasta_argument_type type = pasta_argument_type(option);

	if (type == PASTA_ARGUMENT_LIST) {
		if (!strncmp(option->arg, "all|", 4))
			each(ctx, "all");
		for (unsigned int kind = 0; kind < PASTA_KIND_MAX; kind++)
			if (pasta_kind_name(kind))
				each(ctx, pasta_kind_name(kind));
	} else if (type == PASTA_ARGUMENT_CHOICE) {
		if (strchr(option->arg, '|'))
			pasta_argument_choices(option->arg, each, ctx);
		else
			argument_listed(option->help, each, ctx);
	}
}
