/* export.c - accelprof export: writes all events of a run into a database. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/openrun.h"
#include "cli/reportrun.h"
#include "process/read/loss.h"
#include "process/io/output.h"
#include "sink/export.h"

enum { OPTION_TO = 256, OPTION_FORCE, OPTION_STRICT };

struct export
{
	const struct pasta_export *to;
	const char *file;
	bool force, strict;
	struct pasta_filter *filter; /* NULL: all events */
};

static bool export_go_on(void *ctx, const char *what, uint64_t done, uint64_t total)
{
	if (pasta_openrun_stop(NULL))
		return false;
	pasta_progress_show(ctx, what, done, total);
	return true;
}

/* -- Writing -- */

/* Overwrite an existing file only if it is a regular file and --force is given. */
static int export_check_file(const struct export *e, struct pasta_error *err)
{
	struct stat st;

	if (lstat(e->file, &st))
		return errno == ENOENT ? 0
				       : pasta_fail(err, -errno, "cannot write %s: %s", e->file,
						    strerror(errno));
	if (!S_ISREG(st.st_mode))
		return pasta_fail(
			err, -EINVAL,
			"%s exists and is not a regular file: choose another file with -o",
			e->file);
	if (!e->force)
		return pasta_fail(err, -EEXIST,
				  "%s exists: choose another file with -o, or replace it with "
				  "--force",
				  e->file);
	return 0;
}

/* Returns 0, or a negative errno with *err. After an interrupt, returns -EINTR; the file then
 * contains the events that were read before the interrupt. */
static int export_write(const struct export *e, struct pasta_input *in, struct pasta_error *err)
{
	struct pasta_progress p = pasta_progress_begin();
	const struct pasta_export_watch watch = {.go_on = export_go_on, .ctx = &p};
	struct pasta_output *out;
	int error, closed;

	if (export_check_file(e, err) || pasta_input_filter(in, e->filter, err))
		return err->code;
	out = pasta_output_open(e->file, err);
	if (!out)
		return err->code;
	error = e->to->write(pasta_output_path(out), e->file, in, &watch, err);
	pasta_progress_erase(&p);
	if (!error)
		error = pasta_filter_missed(e->filter, err);
	if (error && error != -EINTR) {
		pasta_output_close(out, error, NULL);
		return error;
	}
	closed = pasta_output_close(out, 0, err);
	return closed ? closed : error;
}

static int export_run(const struct export *e, struct pasta_input *in)
{
	struct pasta_loss_summary loss;
	struct pasta_error err = {0};
	int error = export_write(e, in, &err), status = PASTA_CLI_OK;
	char line[400];

	if (error && error != -EINTR) {
		pasta_cli_message("%s", err.text);
		return PASTA_CLI_FAILED;
	}
	pasta_stream_loss(in->stream, &loss);
	pasta_loss_add_closed(&loss, in->dropped);
	if (loss.dropped)
		pasta_cli_message("%s", pasta_loss_line(&loss, line, sizeof(line)));
	if (pasta_openrun_remarks(in, &loss, "file"))
		status = PASTA_CLI_FAILED;
	if (!status && e->strict && loss.dropped)
		status = PASTA_CLI_LOSS;
	if (error == -EINTR) {
		pasta_cli_message("interrupted: %s contains only the events that were read before "
				  "the interrupt",
				  e->file);
		status = PASTA_CLI_INTERRUPTED;
	}
	return status;
}

/* -- The command -- */

static int export_unknown_target(const char *name)
{
	char names[200] = "";
	size_t i;

	for (i = 0; pasta_export_at(i); i++) {
		strncat(names, i ? ", " : "", sizeof(names) - strlen(names) - 1);
		strncat(names, pasta_export_at(i)->name, sizeof(names) - strlen(names) - 1);
	}
	return name ? pasta_cli_usage(&pasta_verb_export, "unknown target '%s': targets are %s",
				      name, names)
		    : pasta_cli_usage(&pasta_verb_export,
				      "no target given: choose one with --to; "
				      "targets are %s",
				      names);
}

static int export_main(int argc, char **argv)
{
	struct pasta_input in = {0};
	struct export e = {0};
	struct pasta_error err = {0};
	const char *arg, *to = NULL;
	int id, first, failed, status;

	/* with SIGXFSZ ignored, exceeding the file-size limit is an error */
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN); /* a closed stderr must not kill accelprof during the export */
	while ((id = pasta_cli_next(&pasta_verb_export, argc, argv, &arg, &first)) > 0) {
		if (id == OPTION_TO)
			e.to = pasta_export_find(to = arg);
		else if (id == 'o')
			e.file = arg;
		else if (id == OPTION_FORCE)
			e.force = true;
		else if (id == OPTION_STRICT)
			e.strict = true;
		else if (pasta_reportrun_filter(&e.filter, id, arg, &err))
			return pasta_cli_usage(&pasta_verb_export, "%s", err.text);
	}
	if (id < 0)
		return first;
	if (!e.to)
		return export_unknown_target(to);
	if (!e.file || !*e.file)
		return pasta_cli_usage(&pasta_verb_export, "no output file given: use -o FILE");
	if (!strcmp(e.file, "-"))
		return pasta_cli_usage(&pasta_verb_export,
				       "format %s cannot be written to stdout: name a file with -o",
				       e.to->name);
	if (first == argc)
		return pasta_cli_usage(&pasta_verb_export, "no run given");
	pasta_openrun_catch_interrupt();
	failed = pasta_openrun_open(&in, argv + first);
	status = pasta_openrun_stop(NULL) ? PASTA_CLI_INTERRUPTED : PASTA_CLI_FAILED;
	if (in.shards)
		status = export_run(&e, &in);
	if (failed && !status)
		status = PASTA_CLI_FAILED;
	pasta_input_free(&in);
	pasta_filter_free(e.filter);
	return status;
}

static const struct pasta_cli_option options[] = {
	{OPTION_TO, "to", "TARGET", "format of FILE: sqlite"},
	{'o', "output", "FILE", "the file to write"},
	{OPTION_FORCE, "force", NULL, "replace FILE if it exists"},
	{OPTION_STRICT, "strict", NULL, "exit with status 3 if events were dropped"},
	PASTA_REPORTRUN_FILTERS,
	{0, NULL, NULL, NULL},
};

const struct pasta_verb pasta_verb_export = {
	.name = "export",
	.summary = "write a run's events into a database",
	.usage = "[OPTIONS] RUN|FILE... --to TARGET -o FILE",
	.more = "Exit status: 0; 1 if something could not be read or written; 2 for wrong usage;\n"
		"with --strict, 3 if events were dropped; 130 if interrupted.\n"
		"FILE appears when the export ends. After an interrupt, FILE has the events read so far.\n",
	.args = PASTA_CLI_ARGS_FILES,
	.options = options,
	.main = export_main,
};
