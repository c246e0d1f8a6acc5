/* reportrun.c - runs tools over recorded runs and prints reports. */
#include "cli/reportrun.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/progress.h"
#include "process/join/sourceline.h"
#include "process/read/loss.h"
#include "process/run/isolate.h"
#include "process/run/notes.h"
#include "process/io/parse.h"
#include "process/io/suggest.h"
#include "process/run/plugin.h"
#include "process/run/worker.h"

/* width in columns of a report whose output is not a terminal; minimum and maximum width of a
 * report */
enum { WIDTH = 100, WIDTH_MIN = 20, WIDTH_MAX = 10000 };

void pasta_reportrun_init(struct pasta_reportrun *report, size_t rows)
{
	memset(report, 0, sizeof(*report));
	report->sink = &pasta_sink_text;
	report->sink_opts.rows = rows;
	report->tool_timeout = PASTA_WORKER_TIMEOUT;
}

void pasta_reportrun_free(struct pasta_reportrun *report)
{
	pasta_choice_free(&report->choice);
	pasta_filter_free(report->filter);
}

static int reportrun_append(const char **list, size_t *count, const char *arg,
			    struct pasta_error *err)
{
	if (*count == PASTA_REPORTRUN_MAX)
		return pasta_fail(err, -E2BIG,
				  "each of the options -t, --opt and --tool-path may be given at "
				  "most %d times",
				  PASTA_REPORTRUN_MAX);
	list[(*count)++] = arg;
	return 0;
}

int pasta_reportrun_filter(struct pasta_filter **filter, int id, const char *arg,
			   struct pasta_error *err)
{
	if (id < PASTA_REPORTRUN_FILTER || id >= PASTA_REPORTRUN_FILTER + PASTA_FILTER_TYPES)
		return -ENOENT;
	if (!*filter)
		*filter = pasta_filter_new();
	return *filter ? pasta_filter_add(*filter,
					  (enum pasta_filter_type)(id - PASTA_REPORTRUN_FILTER),
					  arg, err)
		       : pasta_fail(err, -ENOMEM, "out of memory");
}

static int reportrun_parse_timeout(struct pasta_reportrun *report, const char *arg,
				   struct pasta_error *err)
{
	size_t seconds;

	if (pasta_cli_count(arg, &seconds) || seconds > INT32_MAX)
		return pasta_fail(err, -EINVAL,
				  "--tool-timeout needs a number of seconds, not '%s'", arg);
	report->tool_timeout = seconds;
	return 0;
}

static int reportrun_parse_memory(struct pasta_reportrun *report, const char *arg,
				  struct pasta_error *err)
{
	if (pasta_parse_size(arg, &report->tool_memory) || !report->tool_memory)
		return pasta_fail(err, -EINVAL, "--tool-memory needs a size like 8G, not '%s'",
				  arg);
	return 0;
}

static int reportrun_parse_format(struct pasta_reportrun *report, const char *arg,
				  struct pasta_error *err)
{
	struct pasta_suggest suggest = {.word = arg};
	char text[PASTA_SUGGEST_SIZE];
	size_t i;

	report->sink = pasta_sink_find(arg);
	if (report->sink)
		return 0;
	for (i = 0; pasta_sink_at(i); i++)
		pasta_suggest_add(&suggest, pasta_sink_at(i)->name);
	if (suggest.best)
		return pasta_fail(err, -EINVAL, "unknown format '%s'%s", arg,
				  pasta_suggest_text(&suggest, text, sizeof(text)));
	return pasta_fail(err, -EINVAL, "unknown format '%s': formats are %s", arg,
			  "text" PASTA_SINK_NAMES);
}

static int reportrun_parse_width(struct pasta_reportrun *report, const char *arg,
				 struct pasta_error *err)
{
	size_t width;

	if (pasta_cli_count(arg, &width) || width < WIDTH_MIN || width > WIDTH_MAX)
		return pasta_fail(err, -EINVAL, "--width needs a number from %d to %d, not '%s'",
				  WIDTH_MIN, WIDTH_MAX, arg);
	report->sink_opts.width = width;
	return 0;
}

static int reportrun_parse_lines(const char *arg, struct pasta_error *err)
{
	bool library = !strcmp(arg, "library");

	if (!library && strcmp(arg, "user"))
		return pasta_fail(err, -EINVAL, "--lines needs 'user' or 'library', not '%s'", arg);
	pasta_sourceline_prefer_library(library);
	return 0;
}

int pasta_reportrun_option(struct pasta_reportrun *report, int id, const char *arg,
			   struct pasta_error *err)
{
	switch (id) {
	case 't':
		return reportrun_append(report->tools, &report->tool_count, arg, err);
	case PASTA_REPORTRUN_TOOL_PATH:
		return reportrun_append(report->paths, &report->path_count, arg, err);
	case PASTA_REPORTRUN_OPT:
		return reportrun_append(report->opts, &report->opt_count, arg, err);
	case PASTA_REPORTRUN_FORMAT:
		return reportrun_parse_format(report, arg, err);
	case PASTA_REPORTRUN_ROWS:
		return pasta_cli_count(arg, &report->sink_opts.rows)
			       ? pasta_fail(err, -EINVAL, "--rows needs a number, not '%s'", arg)
			       : 0;
	case PASTA_REPORTRUN_WIDTH:
		return reportrun_parse_width(report, arg, err);
	case PASTA_REPORTRUN_LINES:
		return reportrun_parse_lines(arg, err);
	case PASTA_REPORTRUN_TABLE:
		report->sink_opts.table = arg;
		return 0;
	case PASTA_REPORTRUN_STRICT:
		report->strict = true;
		return 0;
	case PASTA_REPORTRUN_THREADS:
		return pasta_cli_count(arg, &report->threads) || !report->threads
			       ? pasta_fail(err, -EINVAL,
					    "--threads needs a number of at least 1, not '%s'", arg)
			       : 0;
	case PASTA_REPORTRUN_TOOL_TIMEOUT:
		return reportrun_parse_timeout(report, arg, err);
	case PASTA_REPORTRUN_TOOL_MEMORY:
		return reportrun_parse_memory(report, arg, err);
	case PASTA_REPORTRUN_IN_PROCESS:
		report->in_process = true;
		return 0;
	default:
		return pasta_reportrun_filter(&report->filter, id, arg, err);
	}
}

int pasta_reportrun_check(const struct pasta_reportrun *report, struct pasta_error *err)
{
	const struct pasta_sink *sink;
	char names[100] = "";
	size_t i, at = 0;

	if (!report->sink_opts.table || report->sink->one)
		return 0;
	for (i = 0; (sink = pasta_sink_at(i)); i++)
		if (sink->one && at < sizeof(names))
			at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s",
					       at ? " or " : "", sink->name);
	return pasta_fail(err, -EINVAL,
			  "--table does not apply to format %s: remove --table, or use --format "
			  "%s",
			  report->sink->name, names);
}

/* Before all other plug-ins, load the libraries that the user named, because their tools take
 * precedence over other tools of the same name. */
static int reportrun_load_plugins(const struct pasta_reportrun *report, struct pasta_error *err)
{
	int error = 0;
	size_t i;
	const struct pasta_worker_setup setup = {.program =
							 report->in_process ? NULL : PASTA_CLI_SELF,
						 .timeout = report->tool_timeout,
						 .memory = report->tool_memory,
						 .stop = report->stop,
						 .notify = pasta_cli_warn};

	if (report->sink->events)
		return 0; /* the chosen format needs no tools */
	pasta_worker_set_up(&setup);
	for (i = 0; !error && i < report->tool_count; i++)
		error = pasta_plugin_load_named(report->tools[i], err);
	if (!error)
		pasta_cli_plugins(report->paths, report->path_count, pasta_cli_warn);
	return error;
}

/* Choose a tool that run.json lists. Reject paths: a run from another machine must not decide which
 * code is executed here. */
static void reportrun_choose_recorded(struct pasta_reportrun *report, const char *name)
{
	struct pasta_error err = {0};

	if (strchr(name, '/'))
		pasta_cli_message("did not load the tool '%s', with which the run was recorded, "
				  "because the name is a path: load the tool with -t",
				  name);
	else if (pasta_choice_add(&report->choice, name, &err) && !report->sink->events)
		pasta_cli_message("cannot use a tool that the run was recorded with: %s", err.text);
}

int pasta_reportrun_choose(struct pasta_reportrun *report, char *const *tools,
			   struct pasta_error *err)
{
	int error = reportrun_load_plugins(report, err);
	size_t i;

	for (i = 0; !error && i < report->tool_count; i++)
		error = pasta_choice_add(&report->choice, report->tools[i], err);
	for (i = 0; !report->tool_count && tools && tools[i]; i++)
		reportrun_choose_recorded(report, tools[i]);
	if (!report->tool_count && !report->choice.count)
		error = pasta_choice_add(&report->choice, PASTA_TOOLS_DEFAULT, err);
	for (i = 0; !error && i < report->opt_count; i++)
		error = pasta_choice_set(&report->choice, report->opts[i], err);
	return error;
}

/* -- Reading -- */

/* The state while the input is read: the progress, and whether to stop. */
struct reportrun_watch {
	struct pasta_progress progress;
	const struct pasta_choice *choice; /* NULL: no tools */
	const struct pasta_input *in;
	bool (*stop)(void *ctx);
	void *ctx;
};

static struct reportrun_watch reportrun_start(const struct pasta_input *in, bool (*stop)(void *ctx),
					      void *ctx)
{
	return (struct reportrun_watch){
		.progress = pasta_progress_begin(), .in = in, .stop = stop, .ctx = ctx};
}

static bool reportrun_go_on(void *ctx)
{
	struct reportrun_watch *w = ctx;
	uint64_t done, total;

	if (w->stop && w->stop(w->ctx))
		return false;
	pasta_isolate_progress(w->in->stream, &done, &total);
	pasta_progress_show(&w->progress, "reading", done, total);
	return true;
}

/* A callback of the engine: rejects a tool that needs accesses that the run did not count. */
static int reportrun_check_tool(const struct pasta_tool *tool, struct pasta_error *err, void *ctx)
{
	const struct reportrun_watch *w = ctx;

	return pasta_notes_check(tool, w->choice, w->in, err);
}

int pasta_reportrun_events(struct pasta_reportrun *report, struct pasta_input *in, FILE *file,
			   bool (*stop)(void *ctx), void *ctx, struct pasta_error *err)
{
	struct reportrun_watch w = reportrun_start(in, stop, ctx);
	int error = pasta_input_filter(in, report->filter, err);

	if (!error)
		error = report->sink->events(file, in, reportrun_go_on, &w, err);
	pasta_progress_erase(&w.progress);
	return error;
}

int pasta_reportrun_read(struct pasta_reportrun *report, struct pasta_input *in,
			 struct pasta_result *result, bool (*stop)(void *ctx), void *ctx,
			 struct pasta_error *err)
{
	struct reportrun_watch w = reportrun_start(in, stop, ctx);
	struct pasta_engine_opts opts = {.threads = report->threads,
					 .filter = report->filter,
					 .go_on = reportrun_go_on,
					 .notify = pasta_cli_warn,
					 .check = reportrun_check_tool,
					 .ctx = &w};
	int error = pasta_input_filter(in, report->filter, err);

	if (error)
		return error;
	w.choice = &report->choice;
	error = pasta_isolate_run(&report->choice, in->stream, result, &opts);
	pasta_progress_erase(&w.progress);
	if (error && error != -EINTR)
		return pasta_fail(err, error, "cannot read the run: %s", strerror(-error));
	result->run = &in->run;
	pasta_stream_loss(in->stream, &result->loss);
	pasta_loss_add_closed(&result->loss, in->dropped);
	pasta_notes_add(result, &report->choice, in);
	if (pasta_result_savings(result))
		return pasta_fail(err, -ENOMEM, "cannot read the run: %s", strerror(ENOMEM));
	return error;
}

size_t pasta_reportrun_failures(const struct pasta_result *result)
{
	size_t i, failed = 0;

	for (i = 0; i < result->count; i++) {
		if (!result->outs[i]->err.code)
			continue;
		failed++;
		pasta_cli_message("tool %s failed: %s", result->outs[i]->name,
				  result->outs[i]->err.text);
	}
	return failed;
}

/* Returns whether the terminal shows UTF-8. As in locale(7), the first of these variables that is
 * set decides. */
static bool reportrun_is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	const char *value = NULL;
	size_t i;

	for (i = 0; i < 3 && (!value || !*value); i++)
		value = getenv(names[i]);
	return value && (strcasestr(value, "UTF-8") || strcasestr(value, "UTF8"));
}

/* Returns the width for a report on this descriptor: that of COLUMNS, else that of the terminal. */
static size_t reportrun_width(int fd)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size = {0};
	size_t width = 0;

	if (!columns || pasta_cli_count(columns, &width) || !width) {
		width = isatty(fd) && !ioctl(fd, TIOCGWINSZ, &size) ? size.ws_col : 0;
		width = width ? width : WIDTH;
	}
	if (width > WIDTH_MAX)
		return WIDTH_MAX;
	return width < WIDTH_MIN ? WIDTH_MIN : width;
}

/* Returns whether to use escape sequences for colors on this descriptor. */
static bool reportrun_has_color(int fd)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fd) && (!no_color || !*no_color) && (!term || strcmp(term, "dumb") != 0);
}

int pasta_reportrun_print(const struct pasta_reportrun *report, FILE *file, int fd,
			  const struct pasta_result *result, struct pasta_error *err)
{
	struct pasta_sink_opts opts = report->sink_opts;

	if (!opts.width)
		opts.width = reportrun_width(fd);
	opts.ascii = !reportrun_is_utf8();
	opts.color = reportrun_has_color(fd);
	return report->sink->write(file, result, &opts, err);
}
