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

static const struct pasta_verb *const verbs[] = {&pasta_verb_run,	 &pasta_verb_report,
						 &pasta_verb_import,	 &pasta_verb_export,
						 &pasta_verb_tools,	 &pasta_verb_doctor,
						 &pasta_verb_new_tool,	 &pasta_verb_help,
						 &pasta_verb_completion, &pasta_verb_man};
#define VERBS (sizeof(verbs) / sizeof(*verbs))

const struct pasta_verb *pasta_verb_at(size_t i)
{
	return i < VERBS ? verbs[i] : NULL;
}

static int main_dispatch(int argc, char **argv)
{
	const struct pasta_verb *verb;

	if (argc < 2) {
		pasta_cli_message("no command given; try 'accelprof --help'");
		return PASTA_CLI_USAGE;
	}
	verb = pasta_verb_find(argv[1]);
	if (verb)
		return verb->main(argc - 1, argv + 1);
	if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help")) {
		pasta_cli_help_commands();
		return PASTA_CLI_OK;
	}
	if (!strcmp(argv[1], "-V") || !strcmp(argv[1], "--version")) {
		printf("accelprof %s\n", PASTA_VERSION_STRING);
		return PASTA_CLI_OK;
	}
	if (argv[1][0] != '-')
		return pasta_cli_unknown_command(argv[1]);
	pasta_cli_message("unknown option '%s'; try 'accelprof --help'", argv[1]);
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
