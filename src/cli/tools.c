/* tools.c - accelprof tools: which there are, and what they can do. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "process/parse.h"
#include "process/tool.h"

static void list(void)
{
	const struct pasta_tool *tool;
	size_t i;

	for (i = 0; (tool = pasta_tool_at(i)); i++)
		printf("%-16s %s\n", tool->name, tool->summary);
}

static void describe(const struct pasta_tool *tool)
{
	const struct pasta_option *o;
	unsigned int kind;

	printf("%s - %s\n\nkinds:", tool->name, tool->summary);
	for (kind = 0; kind < PASTA_KINDS_MAX; kind++)
		if (tool->events >> kind & 1 && pasta_kind_name(kind))
			printf(" %s", pasta_kind_name(kind));
	printf("\n");
	if (!tool->options || !tool->options->name)
		return;
	printf("\noptions (--opt %s.NAME=VALUE):\n", tool->name);
	for (o = tool->options; o->name; o++)
		printf("  %-16s %-6s  %s (default: %s)\n", o->name, pasta_option_type_name(o->type),
		       o->summary ? o->summary : "", o->value ? o->value : "none");
}

static int main_(int argc, char **argv)
{
	const struct pasta_tool *tool;
	const char *arg;
	int id, first;

	while ((id = pasta_cli_next(&pasta_verb_tools, argc, argv, &arg, &first)) > 0)
		;
	if (id < 0)
		return first;
	if (argc - first > 1)
		return pasta_cli_usage(&pasta_verb_tools, "say one tool");
	if (first == argc) {
		list();
		return PASTA_CLI_OK;
	}
	tool = pasta_tool_find(argv[first]);
	if (!tool) {
		pasta_cli_say("there is no tool '%s': 'accelprof tools' lists them", argv[first]);
		return PASTA_CLI_FAILED;
	}
	describe(tool);
	return PASTA_CLI_OK;
}

static const struct pasta_cli_option options[] = {{0, NULL, NULL, NULL}};

const struct pasta_verb pasta_verb_tools = {
	.name = "tools",
	.summary = "list the tools, or describe one",
	.usage = "[NAME]",
	.options = options,
	.main = main_,
};
