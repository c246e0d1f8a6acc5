/* runend.c - ends accelprof run after the program has ended: saves the run, and prints the
 * report. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/runjob.h"
#include "process/io/output.h"
#include "process/read/input.h"
#include "process/read/recover.h"
#include "process/run/notes.h"

/* for this number of seconds after the program's end, accelprof ignores Ctrl-C, because the user
 * probably meant to stop the program */
#define REPORT_GRACE 2

/* Ignore errors here: the final report reads the run again, and prints the errors. */
void pasta_runend_sweep(void *ctx)
{
	struct pasta_recovered recovered = {0};
	struct pasta_error err = {0};
	struct pasta_runjob *job = ctx;

	pasta_recover_sweep(job->shards, &recovered, &err);
}

static void runend_save_info(struct pasta_runjob *job)
{
	struct pasta_error err = {0};

	if (!pasta_runinfo_save(&job->info, job->info_file, &err) || job->unsaved)
		return;
	job->unsaved = true;
	pasta_cli_message("%s", err.text);
}

static void runend_save_report(const struct pasta_runjob *job, const struct pasta_result *result)
{
	struct pasta_sink_opts opts = {0};
	struct pasta_error err = {0};
	struct pasta_output *out =
		pasta_output_open_in(job->run.path, PASTA_RUN_RESULTS "/report.json", &err);
	int error;

	if (out) {
		error = pasta_sink_json.write(pasta_output_file(out), result, &opts, &err);
		pasta_output_close(out, error, error ? NULL : &err);
	}
	if (err.code)
		pasta_cli_message("%s", err.text);
}

/* Print the report with one write, because children of the program may still write to the same
 * terminal. If the write to stderr fails, there is no way to report the error. */
static void runend_print(const struct pasta_runjob *job, const struct pasta_result *result)
{
	struct pasta_error err = {0};
	size_t size = 0, at = 0;
	char *text = NULL;
	FILE *file = open_memstream(&text, &size);

	if (file)
		pasta_reportrun_print(&job->report, file, STDERR_FILENO, result, &err);
	if ((!file || fclose(file)) && !err.code)
		pasta_fail(&err, -errno, "cannot print the report: %s", strerror(errno));
	while (!err.code && at < size) {
		ssize_t n = write(STDERR_FILENO, text + at, size - at);

		if (n < 0 && errno != EINTR)
			break;
		at += n > 0 ? (size_t)n : 0;
	}
	if (err.code)
		pasta_cli_message("%s", err.text);
	free(text);
}

static bool runend_is_interrupted(void *ctx)
{
	const struct pasta_runjob *job = ctx;
	struct timespec now;

	/* Read pending signals even while accelprof ignores Ctrl-C. */
	bool ended = pasta_child_got_end_signal(&job->child);

	clock_gettime(CLOCK_MONOTONIC, &now);
	return ended && now.tv_sec > job->ended + REPORT_GRACE;
}

/* Processes that cannot write into the run send the number of events that they dropped. Add these
 * numbers to the run's control page, where later reports find them. */
static void runend_add_unrecorded(struct pasta_runjob *job)
{
	struct pasta_listener_totals totals;
	int error;

	pasta_listener_read(job->listener, &totals);
	error = pasta_run_add_failed(job->run.path, totals.processes, totals.dropped, totals.why);
	if (error)
		pasta_cli_message("processes that could not record: %u (%llu events dropped: %s); "
				  "these counts could not be stored in %s: %s",
				  (unsigned)totals.processes, (unsigned long long)totals.dropped,
				  totals.why, job->run.path, strerror(-error));
}

/* Read the run and print the report. Returns the number of dropped events. */
static uint64_t runend_report(struct pasta_runjob *job)
{
	struct pasta_input in = {.warn = pasta_cli_warn};
	struct pasta_result result = {0};
	struct pasta_error err = {0};
	uint64_t dropped = 0;
	int error = pasta_input_add(&in, job->run.path, &err);

	job->info.shards = in.shards;
	job->alive = in.alive;
	job->failed = in.failed;
	job->has_notes = *in.notes[0];
	pasta_notes_unrecorded(&in, pasta_cli_warn);
	if (!error) {
		error = pasta_reportrun_read(&job->report, &in, &result, runend_is_interrupted, job,
					     &err);
		dropped = result.loss.dropped;
	}
	result.run = &job->info;
	job->info.has_loss = !error;
	job->info.loss = result.loss;
	runend_save_info(job);
	if (!error)
		runend_save_report(job, &result);
	if (error && error != -EINTR)
		pasta_cli_message("cannot report: %s", err.text);
	else if (!error && pasta_filter_missed(job->report.filter, &err))
		pasta_cli_message("%s", err.text);
	else if (!job->quiet && in.shards)
		runend_print(job, &result);
	pasta_reportrun_failures(&result);
	pasta_result_free(&result);
	pasta_input_free(&in);
	return dropped;
}

/* Returns the run's path: a relative path if the run is below the current folder, else an absolute
 * one. */
static const char *runend_short_path(const struct pasta_runjob *job)
{
	size_t size = job->info.cwd ? strlen(job->info.cwd) : 0;
	const char *path = job->run.path;

	return size > 1 && !strncmp(path, job->info.cwd, size) && path[size] == '/'
		       ? path + size + 1
		       : path;
}

static void runend_print_summary(const struct pasta_runjob *job)
{
	if (job->child.unrecorded)
		pasta_cli_message(
			"the program ran unrecorded: its arguments and environment leave no room "
			"for AccelProf's environment variables; unset variables, pass fewer "
			"arguments, or raise the limit ('ulimit -s')");
	if (job->quiet)
		return;
	if (job->alive)
		pasta_cli_message("processes of the program that are still running and recording: "
				  "%llu; run 'accelprof report %s' later to see their events",
				  (unsigned long long)job->alive, runend_short_path(job));
	else if (!job->info.shards && !job->failed && !job->has_notes && !job->child.unrecorded)
		pasta_cli_message(
			"nothing was recorded: the program used no device and called no function "
			"of <pasta/annotate.h>; 'accelprof doctor' shows what can be recorded on "
			"this machine");
	pasta_cli_message("run saved in %s", runend_short_path(job));
}

int pasta_runend_finish(struct pasta_runjob *job, int status)
{
	struct timespec now;
	uint64_t dropped;

	clock_gettime(CLOCK_MONOTONIC, &now);
	job->ended = now.tv_sec;
	job->info.end = pasta_runjob_realtime();
	job->info.exited = WIFEXITED(status);
	job->info.signaled = WIFSIGNALED(status);
	job->info.status = job->info.exited ? WEXITSTATUS(status) : 0;
	job->info.signal = job->info.signaled ? WTERMSIG(status) : 0;
	/* save run.json before printing the report, because the report may fail */
	runend_save_info(job);
	runend_add_unrecorded(job);
	dropped = runend_report(job);
	runend_print_summary(job);
	if (!job->info.signaled && !job->info.status && job->report.strict && dropped)
		return PASTA_CLI_LOSS;
	return job->info.status;
}
