/* report.c - accelprof report: runs tools over a recorded run and prints their results. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/openrun.h"
#include "cli/reportrun.h"
#include "process/read/loss.h"
#include "process/io/files.h"
#include "process/io/output.h"

/* Write the content of the report. The content is the results of the tools; or, if the sink
 * reads all events itself, the events. */
struct content {
	struct pasta_reportrun *report;
	struct pasta_input *in;
	struct pasta_result result;
	/* after an interrupt, the report covers the events that were read until then */
	bool stopped;
};

static int report_print(struct content *c, FILE *file, int fd, struct pasta_error *err)
{
	int error;

	if (!c->report->sink->events)
		return pasta_reportrun_print(c->report, file, fd, &c->result, err);
	error = pasta_reportrun_events(c->report, c->in, file, pasta_openrun_stop, NULL, err);
	c->stopped = error == -EINTR;
	if (!error)
		error = pasta_filter_missed(c->report->filter, err);
	pasta_stream_loss(c->in->stream, &c->result.loss);
	pasta_loss_add_closed(&c->result.loss, c->in->dropped);
	return c->stopped ? 0 : error;
}

static int report_print_to_stdout(struct content *c, struct pasta_error *err)
{
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), error;
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (!file) {
		error = pasta_fail(err, -errno, "cannot write the report: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return error;
	}
	error = report_print(c, file, STDOUT_FILENO, err);
	if (fclose(file) && !error)
		error = pasta_fail(err, -errno, "cannot write the report: %s", strerror(errno));
	return error;
}

/* Write the report to a file. A regular file is written completely or not at all. A device, pipe or
 * link is written directly. */
static int report_print_to(struct content *c, const char *path, struct pasta_error *err)
{
	struct pasta_output *out;
	struct stat st;
	FILE *file;
	int error, fd;

	if (!strcmp(path, "-"))
		return report_print_to_stdout(c, err);
	if (lstat(path, &st) || S_ISREG(st.st_mode)) {
		out = pasta_output_open(path, err);
		if (!out)
			return err->code;
		error = report_print(c, pasta_output_file(out), -1, err);
		/* If the sink has failed, print the sink's error instead of the error of closing
		 * the file. */
		return pasta_output_close(out, error, error ? NULL : err);
	}
	fd = pasta_files_open_output(path);
	file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file) {
		error = pasta_fail(err, fd < 0 ? fd : -errno, "cannot write %s: %s", path,
				   fd < 0 ? pasta_files_why(fd) : strerror(errno));
		if (fd >= 0)
			close(fd);
		return error;
	}
	error = report_print(c, file, fileno(file), err);
	if (fclose(file) && !error)
		error = pasta_fail(err, -errno, "cannot write %s: %s", path, strerror(errno));
	return error;
}

/* Print warnings about the input. Returns whether something could not be read. */
static bool report_remarks(const struct pasta_reportrun *report, const struct pasta_input *in,
			   const struct pasta_loss_summary *loss)
{
	char line[400];

	if ((report->sink == &pasta_sink_csv || report->sink == &pasta_sink_folded ||
	     report->sink->events) &&
	    loss->dropped)
		pasta_cli_message("%s", pasta_loss_line(loss, line, sizeof(line)));
	return pasta_openrun_remarks(in, loss, "report");
}

/* If a tool has failed, print the tool's error instead of the message that a filter selected no
 * events. */
static bool report_has_failed(const struct pasta_result *result)
{
	size_t i;

	for (i = 0; i < result->count; i++)
		if (result->outs[i]->err.code)
			return true;
	return false;
}

static int report_run(struct pasta_reportrun *report, struct pasta_input *in, const char *to)
{
	struct content c = {.report = report, .in = in};
	struct pasta_error err = {0};
	int error = 0, status = PASTA_CLI_OK;

	if (!report->sink->events)
		error = pasta_reportrun_read(report, in, &c.result, pasta_openrun_stop, NULL, &err);
	c.stopped = error == -EINTR;
	if (!error && !report_has_failed(&c.result))
		error = pasta_filter_missed(report->filter, &err);
	if (error && !c.stopped) {
		pasta_cli_message("%s", err.text);
		pasta_result_free(&c.result);
		return PASTA_CLI_FAILED;
	}
	if (report_print_to(&c, to, &err)) {
		pasta_cli_message("%s", err.text);
		status = PASTA_CLI_FAILED;
	}
	if (pasta_reportrun_failures(&c.result))
		status = PASTA_CLI_FAILED;
	if (report_remarks(report, in, &c.result.loss))
		status = PASTA_CLI_FAILED;
	if (!status && report->strict && c.result.loss.dropped)
		status = PASTA_CLI_LOSS;
	if (c.stopped) {
		pasta_cli_message("interrupted: the report covers only the events that were read "
				  "before the interrupt");
		status = PASTA_CLI_INTERRUPTED;
	}
	pasta_result_free(&c.result);
	return status;
}

static int report_main(int argc, char **argv)
{
	struct pasta_input in = {0};
	struct pasta_error err = {0};
	struct pasta_reportrun report;
	const char *arg, *to = "-";
	int id, first, failed, status = PASTA_CLI_FAILED;

	/* with SIGXFSZ ignored, exceeding the file-size limit is an error */
	signal(SIGXFSZ, SIG_IGN);
	pasta_reportrun_init(&report, 20);
	while ((id = pasta_cli_next(&pasta_verb_report, argc, argv, &arg, &first)) > 0) {
		if (id == 'o')
			to = arg;
		else if (pasta_reportrun_option(&report, id, arg, &err))
			return pasta_cli_usage(&pasta_verb_report, "%s", err.text);
	}
	if (id < 0)
		return first;
	if (first == argc)
		return pasta_cli_usage(&pasta_verb_report, "no run given");
	if (report.sink->events && report.tool_count)
		return pasta_cli_usage(
			&pasta_verb_report,
			"format %s shows events, not the results of tools: remove -t",
			report.sink->name);
	if (pasta_reportrun_check(&report, &err)) {
		status = pasta_cli_usage(&pasta_verb_report, "%s", err.text);
		goto out;
	}
	report.stop = pasta_openrun_stop;
	pasta_openrun_catch_interrupt();
	failed = pasta_openrun_open(&in, argv + first);
	if (!in.shards) {
		status = pasta_openrun_stop(NULL) ? PASTA_CLI_INTERRUPTED : PASTA_CLI_FAILED;
		goto out;
	}
	if (pasta_reportrun_choose(&report, in.run.tools, &err)) {
		status = pasta_cli_usage(&pasta_verb_report, "%s", err.text);
		goto out;
	}
	status = report_run(&report, &in, to);
	if (failed && !status)
		status = PASTA_CLI_FAILED;
out:
	pasta_reportrun_free(&report);
	pasta_input_free(&in);
	return status;
}

static const struct pasta_cli_option options[] = {
	PASTA_REPORTRUN_OPTIONS(PASTA_SINK_NAMES),
	{'o', "output", "FILE", "write the report to FILE (default: stdout)"},
	{0, NULL, NULL, NULL},
};

const struct pasta_verb pasta_verb_report = {
	.name = "report",
	.summary = "analyze a recorded run with tools",
	.usage = "[OPTIONS] RUN|FILE...",
	.more = "Without -t, runs the tools that the run was recorded with.\n"
		"Exit status: 0; 1 if something could not be read or a tool failed; 2 for wrong usage;\n"
		"with --strict, 3 if events were dropped; 130 if interrupted.\n",
	.args = PASTA_CLI_ARGS_FILES,
	.options = options,
	.main = report_main,
};
