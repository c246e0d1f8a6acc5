/* main.c - runs the command that the command line of accelprof names. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "process/io/files.h"
#include "process/run/tool.h"
#include "process/run/toolworker.h"

static const struct pasta_verb *const verbs[] = {&pasta_verb_run,     &pasta_verb_report,
						 &pasta_verb_import,  &pasta_verb_export,
						 &pasta_verb_tools,   &pasta_verb_doctor,
						 &pasta_verb_new_tool};
#define VERBS (sizeof(verbs) / sizeof(*verbs))

static void main_help(void)
{
	size_t i;

	printf("usage: accelprof COMMAND [OPTIONS] ...\n\n");
	for (i = 0; i < VERBS; i++)
		printf("  %-9s %s\n", verbs[i]->name, verbs[i]->summary);
	printf("\n  -h, --help     show this help; after a command, that command's help\n"
	       "  -V, --version  show the version\n\n"
	       "Start with: accelprof run -- PROGRAM ARGS...\n");
}

static int main_dispatch(int argc, char **argv)
{
	size_t i;

	if (argc < 2) {
		pasta_cli_message("no command given; try 'accelprof --help'");
		return PASTA_CLI_USAGE;
	}
	for (i = 0; i < VERBS; i++)
		if (!strcmp(argv[1], verbs[i]->name))
			return verbs[i]->main(argc - 1, argv + 1);
	if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "help")) {
		main_help();
		return PASTA_CLI_OK;
	}
	if (!strcmp(argv[1], "-V") || !strcmp(argv[1], "--version")) {
		printf("accelprof %s\n", PASTA_VERSION_STRING);
		return PASTA_CLI_OK;
	}
	pasta_cli_message("unknown %s '%s'; try 'accelprof --help'",
			  argv[1][0] == '-' ? "option" : "command", argv[1]);
	return PASTA_CLI_USAGE;
}

/*
 * If stdin, stdout or stderr is closed, open /dev/null in its place. Without this, the next file
 * that accelprof opens would become the program's stdin or stdout. The descriptor is read-only, and
 * the program does not inherit it.
 */
static void main_fill_standard_fds(void)
{
	int fd;

	for (fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			if (pasta_files_open_system("/dev/null", O_RDONLY) != fd)
				_exit(PASTA_CLI_NOT_STARTED);
}

int main(int argc, char **argv)
{
	struct pasta_error err = {0};
	size_t socket;
	int status;

	main_fill_standard_fds();
	setlocale(LC_CTYPE, "C.UTF-8"); /* for wcwidth */
	/* accelprof itself uses the option --tool-worker: for each plug-in, worker.c executes
	 * accelprof with this option. */
	if (argc == 3 && !strcmp(argv[1], "--tool-worker") && !pasta_cli_count(argv[2], &socket) &&
	    socket <= INT_MAX)
		pasta_toolworker_main((int)socket);
	if (pasta_tool_check(&err))
		pasta_cli_message("%s", err.text);
	status = main_dispatch(argc, argv);
	errno = 0;
	if (fflush(stdout) || ferror(stdout)) {
		pasta_cli_message("cannot write to stdout: %s", strerror(errno ? errno : EIO));
		status = status ? status : PASTA_CLI_FAILED;
	}
	return status;
}
