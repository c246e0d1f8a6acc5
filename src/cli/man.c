/* man.c - accelprof man: prints manual pages, which are made from the option tables. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "process/io/output.h"
#include "process/run/tool.h"

/* Print a text as roff: a dash is a minus, and a line may begin with any character. */
static void man_text(FILE *f, const char *text)
{
	bool begins = true;

	for (; *text; text++) {
		if (begins && (*text == '.' || *text == '\''))
			fputs("\\&", f);
		if (*text == '-')
			fputs("\\-", f);
		else if (*text == '\\')
			fputs("\\e", f);
		else
			fputc(*text, f);
		begins = *text == '\n';
	}
}

static void man_title(FILE *f, const char *command)
{
	fputs(".TH \"ACCELPROF", f);
	if (command)
		fputc('-', f);
	for (; command && *command; command++)
		fputc(*command >= 'a' && *command <= 'z' ? *command - 'a' + 'A' : *command, f);
	fputs("\" 1 \"\" \"AccelProf " PASTA_VERSION_STRING "\" \"AccelProf Manual\"\n", f);
}

static void man_option(FILE *f, const struct pasta_cli_option *o)
{
	fputs(".TP\n", f);
	if (o->id < 256)
		fprintf(f, "\\fB\\-%c\\fR, ", o->id);
	fputs("\\fB\\-\\-", f);
	man_text(f, o->name);
	fputs("\\fR", f);
	if (o->arg) {
		fputs(" \\fI", f);
		man_text(f, o->arg);
		fputs("\\fR", f);
	}
	fputc('\n', f);
	man_text(f, o->help);
	fputs(".\n", f);
}

/* Print the text after the options: lines that end a sentence end a paragraph. */
static void man_more(FILE *f, const char *more)
{
	const char *end;

	fputs(".SH NOTES\n", f);
	for (; *more; more = end + (*end == '\n')) {
		char *line;

		end = strchrnul(more, '\n');
		line = strndup(more, (size_t)(end - more));
		if (line)
			man_text(f, line);
		fputs(end > more && end[-1] == '.' && *end && end[1] ? "\n.PP\n" : "\n", f);
		free(line);
	}
}

static void man_command(FILE *f, const struct pasta_verb *verb)
{
	const struct pasta_cli_option *o;

	man_title(f, verb->name);
	fputs(".SH NAME\naccelprof\\-", f);
	man_text(f, verb->name);
	fputs(" \\- ", f);
	man_text(f, verb->summary);
	fputs("\n.SH SYNOPSIS\n\\fBaccelprof ", f);
	man_text(f, verb->name);
	fputs("\\fR ", f);
	man_text(f, verb->usage);
	fputs("\n.SH OPTIONS\n", f);
	for (o = verb->options; o->name; o++)
		man_option(f, o);
	man_option(f, &pasta_cli_help_option);
	if (verb->more)
		man_more(f, verb->more);
	fputs(".SH SEE ALSO\n.BR accelprof (1)\n", f);
}

static void man_commands(FILE *f)
{
	const struct pasta_verb *verb;
	size_t i;

	fputs(".SH COMMANDS\n", f);
	for (i = 0; (verb = pasta_verb_at(i)); i++) {
		if (verb->hidden)
			continue;
		fputs(".TP\n\\fBaccelprof\\-", f);
		man_text(f, verb->name);
		fputs("\\fR(1)\n", f);
		man_text(f, verb->summary);
		fputs(".\n", f);
	}
}

static void man_tools(FILE *f)
{
	const struct pasta_tool *tool;
	size_t i;

	fputs(".SH TOOLS\nA tool is one analysis of a run. 'accelprof tools NAME' describes a "
	      "tool.\n",
	      f);
	for (i = 0; (tool = pasta_tool_at(i)); i++) {
		fputs(".TP\n\\fB", f);
		man_text(f, tool->name);
		fputs("\\fR\n", f);
		man_text(f, tool->summary);
		fputs(".\n", f);
	}
}

static void man_main_page(FILE *f)
{
	man_title(f, NULL);
	fputs(".SH NAME\naccelprof \\- profile programs on GPUs and other accelerators\n"
	      ".SH SYNOPSIS\n\\fBaccelprof\\fR COMMAND [OPTIONS] ...\n"
	      ".SH DESCRIPTION\n"
	      "AccelProf records what a program does on GPUs and other accelerators, and shows\n"
	      "where the time and the memory go. The program need not be changed.\n"
	      "Start with: accelprof run \\-\\- PROGRAM ARGS...\n",
	      f);
	man_commands(f);
	man_tools(f);
	fputs(".SH OPTIONS\n", f);
	man_option(f, &pasta_cli_help_option);
	man_option(f, &(struct pasta_cli_option){'V', "version", NULL, "show the version"});
}

static int man_write(const char *folder, const struct pasta_verb *verb, struct pasta_error *err)
{
	struct pasta_output *out;
	char *path;

	if (asprintf(&path, "%s/accelprof%s%s.1", folder, verb ? "-" : "", verb ? verb->name : "") <
	    0)
		return pasta_fail(err, -ENOMEM, "out of memory");
	out = pasta_output_open(path, err);
	free(path);
	if (!out)
		return err->code;
	if (verb)
		man_command(pasta_output_file(out), verb);
	else
		man_main_page(pasta_output_file(out));
	return pasta_output_close(out, 0, err);
}

/* Write all pages into a folder. */
static int man_write_all(const char *folder)
{
	struct pasta_error err = {0};
	const struct pasta_verb *verb;
	int error = man_write(folder, NULL, &err);
	size_t i;

	for (i = 0; !error && (verb = pasta_verb_at(i)); i++)
		if (!verb->hidden)
			error = man_write(folder, verb, &err);
	if (!error)
		return PASTA_CLI_OK;
	pasta_cli_message("%s", err.text);
	return PASTA_CLI_FAILED;
}

static int man_main(int argc, char **argv)
{
	const struct pasta_verb *verb;
	const char *arg, *folder = NULL;
	int first, id;

	while ((id = pasta_cli_next(&pasta_verb_man, argc, argv, &arg, &first)) > 0)
		folder = arg;
	if (id < 0)
		return first;
	if (argc - first > (folder ? 0 : 1))
		return pasta_cli_usage(&pasta_verb_man, "name one command, or a folder with -o");
	if (folder)
		return man_write_all(folder);
	if (first == argc) {
		man_main_page(stdout);
		return PASTA_CLI_OK;
	}
	verb = pasta_verb_find(argv[first]);
	if (!verb)
		return pasta_cli_unknown_command(argv[first]);
	man_command(stdout, verb);
	return PASTA_CLI_OK;
}

static const struct pasta_cli_option options[] = {
	{'o', "output", "DIR", "write all pages into DIR"},
	{0, NULL, NULL, NULL},
};

const struct pasta_verb pasta_verb_man = {
	.name = "man",
	.summary = "print a manual page",
	.usage = "[COMMAND | -o DIR]",
	.args = PASTA_CLI_ARGS_COMMAND,
	.hidden = true,
	.options = options,
	.main = man_main,
};
