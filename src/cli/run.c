/* run.c - accelprof run: starts a program with the agent in it, and records the program into a
 * folder. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/runjob.h"
#include "process/join/correlate.h"

uint64_t pasta_runjob_realtime(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Returns a copy of a NULL-terminated list of texts; NULL when out of memory. */
static char **run_copy_list(char *const *list)
{
	size_t i, n = 0;
	char **copy;

	while (list[n])
		n++;
	copy = calloc(n + 1, sizeof(*copy));
	for (i = 0; copy && i < n; i++)
		copy[i] = strdup(list[i]);
	return copy;
}

/* Fill in run.json. */
static void run_describe(struct pasta_runjob *job)
{
	struct pasta_runinfo *info = &job->info;
	size_t i, n = job->report.choice.count;
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	info->path = strdup(job->run.path);
	info->command = run_copy_list(job->argv);
	info->cwd = getcwd(NULL, 0);
	info->host = strdup(host);
	info->version = strdup(PASTA_VERSION_STRING);
	info->tools = calloc(n + 1, sizeof(*info->tools));
	for (i = 0; info->tools && i < n; i++)
		info->tools[i] = strdup(job->report.choice.tools[i].tool->name);
	job->requested = pasta_choice_events(&job->report.choice) | job->record |
			 pasta_cli_accesses_kinds(&job->accesses);
	if (pasta_filter_needs(job->report.filter))
		job->requested |= pasta_correlate_kinds(true);
	info->kinds =
		(job->requested | PASTA_RUNJOB_ALWAYS | job->level->with) & ~job->level->without;
	info->has_counted = true;
	info->counted = job->accesses.needs;
	info->start = pasta_runjob_realtime();
	info->more = pasta_cli_accesses_json;
	info->more_ctx = &job->accesses;
}

/* Create the run's folder and write its run.json. */
static int run_prepare(struct pasta_runjob *job, struct pasta_error *err)
{
	int error;

	job->agent = pasta_cli_agent(err);
	if (!job->agent)
		return err->code;
	error = pasta_run_create(&job->run, job->dir, err);
	if (error)
		return error;
	job->shards = pasta_run_file(job->run.path, PASTA_RUN_SHARDS);
	job->info_file = pasta_run_file(job->run.path, PASTA_RUN_INFO);
	run_describe(job);
	if (!job->shards || !job->info_file)
		error = pasta_fail(err, -ENOMEM, "out of memory");
	else
		error = pasta_runinfo_save(&job->info, job->info_file, err);
	if (error)
		pasta_run_remove(&job->run);
	return error;
}

static void run_free(struct pasta_runjob *job)
{
	pasta_reportrun_free(&job->report);
	pasta_listener_free(job->listener);
	pasta_run_free(&job->run);
	pasta_runinfo_free(&job->info);
	pasta_cli_accesses_free(&job->accesses);
	for (size_t i = 0; i < PASTA_RUNJOB_ENV; i++)
		free(job->lists[i]);
	free(job->agent);
	free(job->shards);
	free(job->info_file);
}

static int run_program(struct pasta_runjob *job)
{
	struct pasta_error err = {0};
	int status, ended;

	pasta_child_hold(&job->child);
	job->listener = pasta_listener_new();
	if (run_prepare(job, &err)) {
		pasta_cli_message("%s", err.text);
		return PASTA_CLI_NOT_STARTED;
	}
	status = pasta_runenv_start(job, &err);
	if (status) {
		pasta_cli_message("%s", err.text);
		return status;
	}
	ended = pasta_child_wait(&job->child, pasta_runend_sweep, job);
	return pasta_runend_finish(job, ended);
}

static int run_main(int argc, char **argv)
{
	struct pasta_error err = {0};
	struct pasta_runjob job = {0};
	const char *arg;
	int id, first, status, sig;

	pasta_runoptions_init(&job);
	while ((id = pasta_cli_next(&pasta_verb_run, argc, argv, &arg, &first)) > 0)
		if (pasta_runoptions_set(&job, id, arg, &err))
			return pasta_cli_usage(&pasta_verb_run, "%s", err.text);
	if (id < 0)
		return first;
	if (first == argc)
		return pasta_cli_usage(&pasta_verb_run, "no program given");
	if (pasta_runoptions_check(&job, &err)) {
		run_free(&job);
		return pasta_cli_usage(&pasta_verb_run, "%s", err.text);
	}
	job.args = argv;
	job.argv = argv + first;
	status = run_program(&job);
	sig = job.info.signaled ? job.info.signal : 0;
	run_free(&job);
	if (sig)
		pasta_child_die(sig);
	return status;
}

static const struct pasta_cli_option options[] = {
	PASTA_REPORTRUN_OPTIONS(PASTA_SINK_RESULT_NAMES),
	{'o', "output", "DIR", "write the run into DIR (default: a new accelprof-run-N)"},
	{PASTA_RUNJOB_SHARE, "share", NULL,
	 "let other users read the run, as the umask permits (default: owner only)"},
	{PASTA_RUNJOB_RECORD, "record", "all|KIND,...", "also record these kinds of events"},
	{PASTA_RUNJOB_LEVEL, "level", "count|trace|full",
	 "what to record: count (launches only), trace (also device times; the default) or full "
	 "(also API calls)"},
	{PASTA_RUNJOB_PAUSED, "paused", NULL,
	 "record no activity until the program calls pasta_start()"},
	{PASTA_RUNJOB_DELAY, "delay", "TIME",
	 "wait this long before recording activity (e.g. 10s)"},
	{PASTA_RUNJOB_DURATION, "duration", "TIME",
	 "stop recording activity after this long (e.g. 10s)"},
	{PASTA_RUNJOB_MEMORY, "memory", "SIZE",
	 "memory for events in each process (e.g. 64M; at least 1M)"},
	{PASTA_RUNJOB_STACKS, "stacks", "LIST",
	 "record call stacks or PyTorch modules: a list of native[=PERIOD], python, modules"},
	{PASTA_RUNJOB_SAVE_MODULES, "keep-modules", NULL, "save copies of the device code"},
	{PASTA_RUNJOB_SAMPLE, "sample", "LIST",
	 "launches=K: count K launches of each kernel and shape (default: 3); blocks=1/N: count "
	 "one thread block in N"},
	{PASTA_RUNJOB_ALL, "all", NULL, "count the memory accesses of every launch"},
	{PASTA_RUNJOB_INEXACT, "inexact", NULL,
	 "also count accesses of kernels in which counting may change low-order digits of results"},
	{PASTA_RUNJOB_PROCESSOR, "processor", "gpu|cpu|both|auto",
	 "which processor counts the memory accesses of kernels (default: auto)"},
	{PASTA_RUNJOB_LOSSY, "lossy", NULL, "drop raw accesses rather than stall kernels"},
	{'q', "quiet", NULL, "print only errors"},
	{0, NULL, NULL, NULL},
};

const struct pasta_verb pasta_verb_run = {
	.name = "run",
	.summary = "run a program and record what it does",
	.usage = "[OPTIONS] [--] PROGRAM ARGS...",
	.more = "The program has the same stdin, stdout, stderr, signals and exit status as without\n"
		"accelprof. The report goes to stderr.\n"
		"Exit status: the program's; 2 for wrong usage; with --strict, 3 if events were\n"
		"dropped; 125 if accelprof failed before it started the program; 126 if the program\n"
		"cannot be executed; 127 if the program is not found.\n",
	.args = PASTA_CLI_ARGS_PROGRAM,
	.options = options,
	.stop_early = true,
	.main = run_main,
};
