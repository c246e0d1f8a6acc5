/* completion.c - accelprof completion: prints a script that completes command lines in a shell. The
 * script is made from the option tables. */
#include <stdio.h>
#include <string.h>

#include "cli/argument.h"
#include "cli/cli.h"
#include "process/io/suggest.h"

/* The names of the built-in tools and plug-ins, in a shell. */
#define TOOLS "\"$accelprof\" tools 2>/dev/null | sed 's/ .*//'"

static void completion_word(void *ctx, const char *word)
{
	const char **before = ctx;

	printf("%s%s", *before, word);
	*before = " ";
}

static void completion_words(const struct pasta_cli_option *option)
{
	const char *before = "";

	pasta_argument_words(option, completion_word, &before);
}

static void completion_commands(const char *between)
{
	const struct pasta_verb *verb;
	size_t i;

	for (i = 0; (verb = pasta_verb_at(i)); i++)
		if (!verb->hidden)
			printf("%s%s", i ? between : "", verb->name);
}

/* -- bash -- */

/* Print the names of an option, such as "-t --tool". */
static void bash_names(const struct pasta_cli_option *o, const char *between)
{
	if (o->id < 256)
		printf("-%c%s", o->id, between);
	printf("--%s", o->name);
}

/* Print a branch that completes the argument of an option. */
static void bash_argument(const struct pasta_cli_option *o)
{
	enum pasta_argument_type type = pasta_argument_type(o);

	if (type == PASTA_ARGUMENT_NONE)
		return;
	printf("\t\t");
	bash_names(o, " | ");
	printf(") ");
	switch (type) {
	case PASTA_ARGUMENT_FILE:
		printf("_accelprof_files -f");
		break;
	case PASTA_ARGUMENT_FOLDER:
		printf("_accelprof_files -d");
		break;
	case PASTA_ARGUMENT_TOOLS:
		printf("_accelprof_list \"$(_accelprof_tools)\"");
		break;
	case PASTA_ARGUMENT_LIST:
	case PASTA_ARGUMENT_CHOICE:
		printf("%s \"",
		       type == PASTA_ARGUMENT_LIST ? "_accelprof_list" : "_accelprof_words");
		completion_words(o);
		printf("\"");
		break;
	default:
		printf("COMPREPLY=()");
	}
	printf("; return ;;\n");
}

static void bash_choices(const char *usage)
{
	const char *before = "";

	printf("_accelprof_words \"");
	pasta_argument_choices(usage, completion_word, &before);
	printf("\"");
}

static void bash_operands(const struct pasta_verb *verb)
{
	switch (verb->args) {
	case PASTA_CLI_ARGS_FILES:
		printf("_accelprof_files -f");
		break;
	case PASTA_CLI_ARGS_PROGRAM:
		printf("_accelprof_program \"$COMP_CWORD\"");
		break;
	case PASTA_CLI_ARGS_TOOL:
		printf("_accelprof_words \"$(_accelprof_tools)\"");
		break;
	case PASTA_CLI_ARGS_COMMAND:
		printf("_accelprof_words \"$commands\"");
		break;
	case PASTA_CLI_ARGS_CHOICE:
		bash_choices(verb->usage);
		break;
	default:
		printf("COMPREPLY=()");
	}
}

/* For a command that runs a program, find the program, and complete the rest like any command line.
 * Before the program, only the arguments of options do not begin with a dash. */
static void bash_program(const struct pasta_verb *verb)
{
	const struct pasta_cli_option *o;
	const char *before = "\t\t\t";

	printf("\t\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	       "\t\t\tcase ${COMP_WORDS[i]} in\n");
	for (o = verb->options; o->name; o++)
		if (o->arg) {
			printf("%s", before);
			bash_names(o, " | ");
			before = " | ";
		}
	printf(") i=$((i + 1)) ;;\n"
	       "\t\t\t--) i=$((i + 1)); _accelprof_program $i; return ;;\n"
	       "\t\t\t-*) ;;\n"
	       "\t\t\t*) _accelprof_program $i; return ;;\n"
	       "\t\t\tesac\n"
	       "\t\tdone\n");
}

static void bash_verb(const struct pasta_verb *verb)
{
	const struct pasta_cli_option *o;

	printf("\t%s)\n", verb->name);
	if (verb->args == PASTA_CLI_ARGS_PROGRAM)
		bash_program(verb);
	printf("\t\tcase $previous in\n");
	for (o = verb->options; o->name; o++)
		bash_argument(o);
	printf("\t\tesac\n"
	       "\t\tcase $current in\n"
	       "\t\t-*) _accelprof_words \"");
	for (o = verb->options; o->name; o++) {
		bash_names(o, " ");
		printf(" ");
	}
	bash_names(&pasta_cli_help_option, " ");
	printf("\" ;;\n"
	       "\t\t*) ");
	bash_operands(verb);
	printf(" ;;\n"
	       "\t\tesac ;;\n");
}

static void completion_bash(void)
{
	const struct pasta_verb *verb;
	size_t i;

	printf("# bash completion for accelprof, made by 'accelprof completion bash'\n\n"
	       "_accelprof_tools() {\n"
	       "\tlocal accelprof=${COMP_WORDS[0]}\n"
	       "\t" TOOLS "\n"
	       "}\n\n"
	       "_accelprof_words() {\n"
	       "\tmapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$current\")\n"
	       "}\n\n"
	       "# The last word of a list that commas separate.\n"
	       "_accelprof_list() {\n"
	       "\tlocal last=${current##*,} before=\n"
	       "\t[[ $current != *,* ]] || before=${current%%,*},\n"
	       "\tmapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$1\" -- \"$last\")\n"
	       "\tcompopt -o nospace 2>/dev/null\n"
	       "}\n\n"
	       "_accelprof_files() {\n"
	       "\tcompopt -o filenames 2>/dev/null\n"
	       "\tmapfile -t COMPREPLY < <(compgen \"$1\" -- \"$current\")\n"
	       "}\n\n"
	       "_accelprof_program() {\n"
	       "\tif [[ $COMP_CWORD = \"$1\" ]]; then\n"
	       "\t\tmapfile -t COMPREPLY < <(compgen -c -- \"$current\"; compgen -f -- "
	       "\"$current\")\n"
	       "\telif declare -F _command_offset >/dev/null; then\n"
	       "\t\t_command_offset \"$1\"\n"
	       "\telse\n"
	       "\t\t_accelprof_files -f\n"
	       "\tfi\n"
	       "}\n\n"
	       "_accelprof() {\n"
	       "\tlocal current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} "
	       "i\n"
	       "\tlocal commands=\"");
	completion_commands(" ");
	printf("\"\n"
	       "\tCOMPREPLY=()\n"
	       "\tif ((COMP_CWORD == 1)); then\n"
	       "\t\t_accelprof_words \"$commands --help --version\"\n"
	       "\t\treturn\n"
	       "\tfi\n"
	       "\tcase ${COMP_WORDS[1]} in\n");
	for (i = 0; (verb = pasta_verb_at(i)); i++)
		if (!verb->hidden)
			bash_verb(verb);
	printf("\tesac\n"
	       "}\n\n"
	       "complete -F _accelprof accelprof\n");
}

/* -- zsh and fish -- */

/* Print a text between single quotes. `special` has the characters to escape with a backslash. */
static void completion_quoted(const char *text, const char *special)
{
	for (; *text; text++)
		if (*text == '\'')
			printf("'\\''");
		else
			printf("%s%c", strchr(special, *text) ? "\\" : "", *text);
}

static void zsh_argument(const struct pasta_cli_option *o)
{
	enum pasta_argument_type type = pasta_argument_type(o);

	if (type == PASTA_ARGUMENT_NONE)
		return;
	printf(":");
	completion_quoted(o->arg, ":[]\\");
	printf(":");
	switch (type) {
	case PASTA_ARGUMENT_FILE:
		printf("_files");
		break;
	case PASTA_ARGUMENT_FOLDER:
		printf("_files -/");
		break;
	case PASTA_ARGUMENT_TOOLS:
		printf("_accelprof_tools");
		break;
	case PASTA_ARGUMENT_LIST:
		printf("_values -s , word ");
		completion_words(o);
		break;
	case PASTA_ARGUMENT_CHOICE:
		printf("(");
		completion_words(o);
		printf(")");
		break;
	default:
		printf(" ");
	}
}

static void zsh_option(const struct pasta_cli_option *o)
{
	printf("\t\t\t'");
	if (o->id < 256)
		printf("(-%c --%s)'{-%c,--%s}'", o->id, o->name, o->id, o->name);
	else
		printf("--%s", o->name);
	printf("[");
	completion_quoted(o->help, ":[]\\");
	printf("]");
	zsh_argument(o);
	printf("' \\\n");
}

static void zsh_operands(const struct pasta_verb *verb)
{
	const char *before = "";

	switch (verb->args) {
	case PASTA_CLI_ARGS_FILES:
		printf("'*:file:_files'\n");
		break;
	case PASTA_CLI_ARGS_PROGRAM:
		printf("'(-)1:program:_command_names -e' '*::argument:_normal'\n");
		break;
	case PASTA_CLI_ARGS_TOOL:
		printf("'1:tool:_accelprof_tools'\n");
		break;
	case PASTA_CLI_ARGS_COMMAND:
		printf("\"1:command:($commands)\"\n");
		break;
	case PASTA_CLI_ARGS_CHOICE:
		printf("'1:word:(");
		pasta_argument_choices(verb->usage, completion_word, &before);
		printf(")'\n");
		break;
	default:
		printf("'*: :'\n");
	}
}

static void completion_zsh(void)
{
	const struct pasta_cli_option *o;
	const struct pasta_verb *verb;
	size_t i;

	printf("#compdef accelprof\n"
	       "# zsh completion for accelprof, made by 'accelprof completion zsh'\n\n"
	       "_accelprof_tools() {\n"
	       "\tlocal accelprof=$service\n"
	       "\t_values -s , tool $(" TOOLS ")\n"
	       "}\n\n"
	       "_accelprof() {\n"
	       "\tlocal commands='");
	completion_commands(" ");
	printf("'\n"
	       "\tlocal -a described=(\n");
	for (i = 0; (verb = pasta_verb_at(i)); i++)
		if (!verb->hidden) {
			printf("\t\t'%s:", verb->name);
			completion_quoted(verb->summary, ":\\");
			printf("'\n");
		}
	printf("\t)\n"
	       "\tif ((CURRENT == 2)); then\n"
	       "\t\t_describe command described\n"
	       "\t\treturn\n"
	       "\tfi\n"
	       "\tshift words\n"
	       "\t((CURRENT--))\n"
	       "\tcase $words[1] in\n");
	for (i = 0; (verb = pasta_verb_at(i)); i++) {
		if (verb->hidden)
			continue;
		printf("\t%s)\n\t\t_arguments -S \\\n", verb->name);
		for (o = verb->options; o->name; o++)
			zsh_option(o);
		zsh_option(&pasta_cli_help_option);
		printf("\t\t\t");
		zsh_operands(verb);
		printf("\t\t;;\n");
	}
	printf("\tesac\n"
	       "}\n\n"
	       "_accelprof \"$@\"\n");
}

static void fish_option(const struct pasta_verb *verb, const struct pasta_cli_option *o)
{
	enum pasta_argument_type type = pasta_argument_type(o);

	printf("complete -c accelprof -n '__fish_seen_subcommand_from %s'", verb->name);
	if (o->id < 256)
		printf(" -s %c", o->id);
	printf(" -l %s", o->name);
	if (type == PASTA_ARGUMENT_FILE || type == PASTA_ARGUMENT_FOLDER)
		printf(" -r -F");
	else if (type != PASTA_ARGUMENT_NONE)
		printf(" -x");
	if (type == PASTA_ARGUMENT_TOOLS) {
		printf(" -a '(__fish_complete_list , __accelprof_tools)'");
	} else if (type == PASTA_ARGUMENT_CHOICE || type == PASTA_ARGUMENT_LIST) {
		printf(" -a '");
		completion_words(o);
		printf("'");
	}
	printf(" -d '");
	/* In single quotes, fish knows two escapes: \' and \\. */
	for (const char *p = o->help; *p; p++)
		printf("%s%c", *p == '\'' || *p == '\\' ? "\\" : "", *p);
	printf("'\n");
}

static void fish_operands(const struct pasta_verb *verb)
{
	const char *before = "";

	printf("complete -c accelprof -n '__fish_seen_subcommand_from %s' ", verb->name);
	switch (verb->args) {
	case PASTA_CLI_ARGS_FILES:
		printf("-F\n");
		break;
	case PASTA_CLI_ARGS_PROGRAM:
		printf("-x -a '(__fish_complete_subcommand --fcs-skip=2)'\n");
		break;
	case PASTA_CLI_ARGS_TOOL:
		printf("-f -a '(__accelprof_tools)'\n");
		break;
	case PASTA_CLI_ARGS_COMMAND:
		printf("-f -a '");
		completion_commands(" ");
		printf("'\n");
		break;
	case PASTA_CLI_ARGS_CHOICE:
		printf("-f -a '");
		pasta_argument_choices(verb->usage, completion_word, &before);
		printf("'\n");
		break;
	default:
		printf("-f\n");
	}
}

static void completion_fish(void)
{
	const struct pasta_cli_option *o;
	const struct pasta_verb *verb;
	size_t i;

	printf("# fish completion for accelprof, made by 'accelprof completion fish'\n\n"
	       "function __accelprof_tools\n"
	       "\taccelprof tools 2>/dev/null | string replace -r ' .*' ''\n"
	       "end\n\n"
	       "complete -c accelprof -f\n"
	       "complete -c accelprof -n __fish_use_subcommand -s h -l help -d 'show this help'\n"
	       "complete -c accelprof -n __fish_use_subcommand -s V -l version -d 'show the "
	       "version'\n");
	for (i = 0; (verb = pasta_verb_at(i)); i++) {
		if (verb->hidden)
			continue;
		printf("complete -c accelprof -n __fish_use_subcommand -a %s -d '", verb->name);
		for (const char *p = verb->summary; *p; p++)
			printf("%s%c", *p == '\'' || *p == '\\' ? "\\" : "", *p);
		printf("'\n");
		for (o = verb->options; o->name; o++)
			fish_option(verb, o);
		fish_option(verb, &pasta_cli_help_option);
		fish_operands(verb);
	}
}

static int completion_main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*print)(void);
	} shells[] = {
		{"bash", completion_bash}, {"zsh", completion_zsh}, {"fish", completion_fish}};
	const struct pasta_verb *verb = &pasta_verb_completion;
	struct pasta_suggest suggest = {0};
	char text[PASTA_SUGGEST_SIZE];
	const char *arg;
	int first, id = pasta_cli_next(verb, argc, argv, &arg, &first);

	if (id < 0)
		return first;
	if (argc - first != 1)
		return pasta_cli_usage(verb, "name one shell: bash, zsh or fish");
	suggest.word = argv[first];
	for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++) {
		pasta_suggest_add(&suggest, shells[i].name);
		if (strcmp(argv[first], shells[i].name) != 0)
			continue;
		shells[i].print();
		return PASTA_CLI_OK;
	}
	return pasta_cli_usage(verb, "unknown shell '%s'%s", argv[first],
			       pasta_suggest_text(&suggest, text, sizeof(text)));
}

static const struct pasta_cli_option options[] = {{0, NULL, NULL, NULL}};

const struct pasta_verb pasta_verb_completion = {
	.name = "completion",
	.summary = "print a script that completes command lines in a shell",
	.usage = "bash|zsh|fish",
	.more = "For bash: source <(accelprof completion bash)\n"
		"For zsh: write the script to a file named _accelprof in a folder of $fpath\n"
		"For fish: accelprof completion fish | source\n",
	.args = PASTA_CLI_ARGS_CHOICE,
	.options = options,
	.main = completion_main,
};
