/* trial.c - run: the chosen tools, opened before the program starts, to hear what they refuse. */
#include "cli/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/files.h"
#include "process/lane.h"
#include "process/result.h"

#define PATIENCE 5000 /* ms for all tools: the report will say more of one that takes longer */

static void open_all(const struct pasta_choice *choice, struct pasta_err *err)
{
	struct pasta_result result = {0};
	struct pasta_lane *lane;
	size_t i;

	for (i = 0; i < choice->count; i++)
		if (!pasta_result_out(&result, choice->tools[i].tool->name))
			return;
	lane = pasta_lane_new(choice, result.outs, PASTA_LANE_ALL);
	if (!lane)
		return;
	pasta_lane_open(lane);
	pasta_lane_free(lane);
	for (i = 0; i < choice->count && !err->code; i++)
		if (result.outs[i]->err.code)
			pasta_fail(err, result.outs[i]->err.code, "tool %s: %s",
				   result.outs[i]->name, result.outs[i]->err.text);
}

/* In the child, which says nothing else and leaves no core. */
static _Noreturn void child(const struct pasta_choice *choice, int fd)
{
	int nowhere = pasta_files_open_system("/dev/null", O_RDWR);
	struct pasta_err err = {0};

	dup2(nowhere, STDOUT_FILENO);
	dup2(nowhere, STDERR_FILENO);
	prctl(PR_SET_DUMPABLE, 0);
	open_all(choice, &err);
	if (err.code && write(fd, &err, sizeof(err)) < 0)
		_exit(1);
	_exit(0);
}

int pasta_cli_trial(const struct pasta_choice *choice, struct pasta_err *err)
{
	struct pasta_err told = {0};
	struct pollfd end = {.events = POLLIN};
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return 0;
	pid = fork();
	if (pid == 0)
		child(choice, fds[1]);
	close(fds[1]);
	end.fd = fds[0];
	while (pid > 0 && poll(&end, 1, PATIENCE) < 0 && errno == EINTR)
		;
	if (pid > 0) {
		if (end.revents && read(fds[0], &told, sizeof(told)) != sizeof(told))
			told.code = 0;
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(fds[0]);
	return told.code ? pasta_fail(err, told.code, "%s", told.text) : 0;
}
