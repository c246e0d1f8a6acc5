/* tools.c - accelprof tools: lists the tools, or describes one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/reportrun.h"
#include "process/io/parse.h"
#include "process/run/plugin.h"
#include "process/sdk/result.h"
#include "process/run/tool.h"
#include "process/run/worker.h"
#include "sink/cell.h"

/* Print the path of a plug-in's file, with control characters escaped. For a built-in tool, print
 * nothing. */
static void tools_print_file(const char *before, const char *file, const char *after)
{
	char *safe = file ? pasta_cell_safe(file) : NULL;

	if (safe)
		printf("%s%s%s", before, safe, after);
	else if (file)
		pasta_cli_message("out of memory");
	free(safe);
}

static void tools_list(void)
{
	const struct pasta_tool *tool;
	size_t i;

	for (i = 0; (tool = pasta_tool_at(i)); i++) {
		printf("%-16s %s", tool->name, tool->summary);
		tools_print_file(" (", pasta_tool_file(tool), ")");
		printf("\n");
	}
}

static void tools_describe(const struct pasta_tool *tool)
{
	const struct pasta_option *o;
	unsigned int kind, type;

	printf("%s - %s\n\n", tool->name, tool->summary);
	tools_print_file("from: ", pasta_tool_file(tool), "\n");
	printf("kinds:");
	for (kind = 0; kind < PASTA_KIND_MAX; kind++)
		if (pasta_tool_recorded(tool) >> kind & 1 && pasta_kind_name(kind))
			printf(" %s", pasta_kind_name(kind));
	printf("\n%s", tool->charts ? "charts:" : "");
	for (type = 0; type < PASTA_CHART_TYPES; type++)
		if (tool->charts >> type & 1)
			printf(" %s", pasta_chart_type_name(type));
	printf("%s", tool->charts ? "\n" : "");
	if (!tool->options || !tool->options->name)
		return;
	printf("\noptions (--opt %s.NAME=VALUE):\n", tool->name);
	for (o = tool->options; o->name; o++)
		printf("  %-16s %-6s  %s (default: %s)\n", o->name, pasta_option_type_name(o->type),
		       o->summary ? o->summary : "", o->value ? o->value : "none");
}

/* Describe the tool that has this name; or, if the argument is a path, all tools of that
 * library. */
static int tools_describe_all(const char *name)
{
	struct pasta_choice choice = {0};
	struct pasta_error err = {0};
	int error = pasta_choice_add(&choice, name, &err);
	size_t i;

	if (error)
		pasta_cli_message("%s", err.text);
	for (i = 0; !error && i < choice.count; i++) {
		printf("%s", i ? "\n" : "");
		tools_describe(choice.tools[i].tool);
	}
	pasta_choice_free(&choice);
	return error ? PASTA_CLI_FAILED : PASTA_CLI_OK;
}

static int tools_main(int argc, char **argv)
{
	const struct pasta_worker_setup setup = {.program = PASTA_CLI_SELF,
						 .timeout = PASTA_WORKER_TIMEOUT,
						 .notify = pasta_cli_warn};
	const char *arg, *paths[PASTA_REPORTRUN_MAX];
	struct pasta_error err = {0};
	int id, first;
	size_t count = 0;

	while ((id = pasta_cli_next(&pasta_verb_tools, argc, argv, &arg, &first)) > 0) {
		if (count == PASTA_REPORTRUN_MAX)
			return pasta_cli_usage(&pasta_verb_tools,
					       "--tool-path may be given at most %d times",
					       PASTA_REPORTRUN_MAX);
		paths[count++] = arg;
	}
	if (id < 0)
		return first;
	if (argc - first > 1)
		return pasta_cli_usage(&pasta_verb_tools,
				       "more than one tool was given: name one tool, or none");
	pasta_worker_set_up(&setup);
	/* Before all other plug-ins, load the library that the user named, as the commands run and
	 * report do. */
	if (first < argc && pasta_plugin_load_named(argv[first], &err)) {
		pasta_cli_message("%s", err.text);
		return PASTA_CLI_FAILED;
	}
	pasta_cli_plugins(paths, count, pasta_cli_warn);
	if (first < argc)
		return tools_describe_all(argv[first]);
	tools_list();
	return PASTA_CLI_OK;
}

static const struct pasta_cli_option options[] = {
	{PASTA_REPORTRUN_TOOL_PATH, "tool-path", "DIR:...", PASTA_REPORTRUN_TOOL_PATH_HELP},
	{0, NULL, NULL, NULL},
};

const struct pasta_verb pasta_verb_tools = {
	.name = "tools",
	.summary = "list the tools, or describe one",
	.usage = "[OPTIONS] [NAME|FILE.so]",
	.args = PASTA_CLI_ARGS_TOOL,
	.options = options,
	.main = tools_main,
};
