/* agent_run.h - a run folder for a test, with an agent in a child process. */
#ifndef PASTA_TESTS_AGENT_RUN_H
#define PASTA_TESTS_AGENT_RUN_H

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/agent.h"
#include "collect/control.h"
#include "core/ringfile.h"
#include "process/read/run.h"
#include "process/read/recover.h"
#include "process/read/stream.h"

static char run_dir[128];

static int make_run(void **state)
{
	char path[160];

	(void)state;
	snprintf(run_dir, sizeof(run_dir), "/tmp/test-agent-XXXXXX");
	if (!mkdtemp(run_dir))
		return -1;
	snprintf(path, sizeof(path), "%s/shards", run_dir);
	setenv(PASTA_ENV_RUN, run_dir, 1);
	unsetenv(PASTA_ENV_MEMORY);
	return mkdir(path, 0777);
}

static int remove_run(void **state)
{
	char command[192];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", run_dir);
	return system(command);
}

__attribute__((unused)) static void make_control(void)
{
	struct pasta_control control = {.magic = PASTA_CONTROL_MAGIC,
					.size = PASTA_CONTROL_SIZE,
					.shards = pasta_seal(0, PASTA_CONTROL_SHARDS),
					.failed = pasta_seal(0, PASTA_CONTROL_FAILED),
					.lost = pasta_seal(0, PASTA_CONTROL_LOST)};
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "%s/control", run_dir);
	fd = open(path, O_RDWR | O_CREAT, 0666);
	assert_int_equal(ftruncate(fd, PASTA_CONTROL_SIZE), 0);
	assert_int_equal(pwrite(fd, &control, sizeof(control), 0), sizeof(control));
	close(fd);
}

/* Runs body in a child that attaches to the run. Returns the child's wait status. */
static int in_child(void (*body)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (!pasta_agent_attach())
			_exit(99);
		body();
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

__attribute__((unused)) static struct pasta_stream *open_run(struct pasta_recovered *recovered)
{
	struct pasta_stream *s = pasta_stream_new(0);
	struct pasta_recovered own = {0};
	struct pasta_error err = {0};
	char path[512];
	struct dirent *e;
	DIR *d;

	assert_non_null(s);
	snprintf(path, sizeof(path), "%s/shards", run_dir);
	if (pasta_recover_sweep(path, recovered ? recovered : &own, &err))
		fail_msg("%s", err.text);
	d = opendir(path);
	assert_non_null(d);
	while ((e = readdir(d))) {
		if (!strstr(e->d_name, ".pst"))
			continue;
		snprintf(path, sizeof(path), "%s/shards/%s", run_dir, e->d_name);
		if (pasta_stream_add(s, path, &err))
			fail_msg("%s", err.text);
	}
	closedir(d);
	return s;
}

#endif
