/* reportrun.c - events read, tools run, a report printed: what run and report have in common. */
#include "cli/reportrun.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/progress.h"
#include "collect/control.h"
#include "process/read/loss.h"
#include "process/run/isolate.h"
#include "process/io/parse.h"
#include "process/run/plugin.h"
#include "process/join/symbols.h"
#include "process/run/worker.h"

#define WIDTH 100 /* where there is no terminal */

void pasta_reportrun_init(struct pasta_show *show, size_t rows)
{
	memset(show, 0, sizeof(*show));
	show->sink = &pasta_sink_text;
	show->sink_opts.rows = rows;
	show->tool_timeout = PASTA_WORKER_TIMEOUT;
}

void pasta_reportrun_free(struct pasta_show *show)
{
	pasta_choice_free(&show->choice);
	pasta_filter_free(show->filter);
}

static int keep(const char **list, size_t *count, const char *arg, struct pasta_error *err)
{
	if (*count == PASTA_SHOW_MAX)
		return pasta_fail(err, -E2BIG, "more than %d of one option", PASTA_SHOW_MAX);
	list[(*count)++] = arg;
	return 0;
}

int pasta_reportrun_filter(struct pasta_filter **filter, int id, const char *arg,
			   struct pasta_error *err)
{
	if (id < PASTA_SHOW_FILTER || id >= PASTA_SHOW_FILTER + PASTA_FILTER_TYPES)
		return -ENOENT;
	if (!*filter)
		*filter = pasta_filter_new();
	return *filter ? pasta_filter_add(*filter, (enum pasta_filter_type)(id - PASTA_SHOW_FILTER),
					  arg, err)
		       : pasta_fail(err, -ENOMEM, "out of memory");
}

static int parse_timeout(struct pasta_show *show, const char *arg, struct pasta_error *err)
{
	size_t seconds;

	if (pasta_cli_count(arg, &seconds) || seconds > INT32_MAX)
		return pasta_fail(err, -EINVAL,
				  "--tool-timeout needs a number of seconds, not '%s'", arg);
	show->tool_timeout = seconds;
	return 0;
}

static int parse_memory(struct pasta_show *show, const char *arg, struct pasta_error *err)
{
	if (pasta_parse_size(arg, &show->tool_memory) || !show->tool_memory)
		return pasta_fail(err, -EINVAL, "--tool-memory needs a size like 8G, not '%s'",
				  arg);
	return 0;
}

int pasta_reportrun_option(struct pasta_show *show, int id, const char *arg,
			   struct pasta_error *err)
{
	switch (id) {
	case 't':
		return keep(show->tools, &show->tool_count, arg, err);
	case PASTA_SHOW_TOOL_PATH:
		return keep(show->paths, &show->path_count, arg, err);
	case PASTA_SHOW_OPT:
		return keep(show->opts, &show->opt_count, arg, err);
	case PASTA_SHOW_FORMAT:
		show->sink = pasta_sink_find(arg);
		return show->sink
			       ? 0
			       : pasta_fail(
					 err, -EINVAL,
					 "unknown format '%s': it is one of text" PASTA_SINK_NAMES,
					 arg);
	case PASTA_SHOW_ROWS:
		return pasta_cli_count(arg, &show->sink_opts.rows)
			       ? pasta_fail(err, -EINVAL, "--rows needs a number, not '%s'", arg)
			       : 0;
	case PASTA_SHOW_TABLE:
		show->sink_opts.table = arg;
		return 0;
	case PASTA_SHOW_STRICT:
		show->strict = true;
		return 0;
	case PASTA_SHOW_THREADS:
		return pasta_cli_count(arg, &show->threads) || !show->threads
			       ? pasta_fail(err, -EINVAL,
					    "--threads needs a number from 1, not '%s'", arg)
			       : 0;
	case PASTA_SHOW_TOOL_TIMEOUT:
		return parse_timeout(show, arg, err);
	case PASTA_SHOW_TOOL_MEMORY:
		return parse_memory(show, arg, err);
	case PASTA_SHOW_IN_PROCESS:
		show->in_process = true;
		return 0;
	default:
		return pasta_reportrun_filter(&show->filter, id, arg, err);
	}
}

int pasta_reportrun_check(const struct pasta_show *show, struct pasta_error *err)
{
	const struct pasta_sink *sink;
	char names[100] = "";
	size_t i, at = 0;

	if (!show->sink_opts.table || show->sink->one)
		return 0;
	for (i = 0; (sink = pasta_sink_at(i)); i++)
		if (sink->one && at < sizeof(names))
			at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s",
					       at ? " or " : "", sink->name);
	return pasta_fail(err, -EINVAL, "--table is not for %s: leave it out, or say --format %s",
			  show->sink->name, names);
}

/* Libraries that the user named come first: their tools win over others of the same name. */
static int load_plugins(const struct pasta_show *show, struct pasta_error *err)
{
	int error = 0;
	size_t i;
	const struct pasta_worker_setup setup = {.program =
							 show->in_process ? NULL : PASTA_CLI_SELF,
						 .timeout = show->tool_timeout,
						 .memory = show->tool_memory,
						 .stop = show->stop,
						 .notify = pasta_cli_warn};

	if (show->sink->events)
		return 0; /* no tool will run */
	pasta_worker_set_up(&setup);
	for (i = 0; !error && i < show->tool_count; i++)
		error = pasta_plugin_load_named(show->tools[i], err);
	if (!error)
		pasta_cli_plugins(show->paths, show->path_count, pasta_cli_warn);
	return error;
}

/* A tool that the run was made with. Whoever made it does not choose the code that runs here: a
 * path is no name. */
static void choose_again(struct pasta_show *show, const char *name)
{
	struct pasta_error err = {0};

	if (strchr(name, '/'))
		pasta_cli_message("the run names a tool '%s', which is a path: it is left out",
				  name);
	else if (pasta_choice_add(&show->choice, name, &err) && !show->sink->events)
		pasta_cli_message("of the run's tools: %s", err.text);
}

int pasta_reportrun_choose(struct pasta_show *show, char *const *tools, struct pasta_error *err)
{
	int error = load_plugins(show, err);
	size_t i;

	for (i = 0; !error && i < show->tool_count; i++)
		error = pasta_choice_add(&show->choice, show->tools[i], err);
	for (i = 0; !show->tool_count && tools && tools[i]; i++)
		choose_again(show, tools[i]);
	if (!show->tool_count && !show->choice.count)
		error = pasta_choice_add(&show->choice, PASTA_TOOLS_DEFAULT, err);
	for (i = 0; !error && i < show->opt_count; i++)
		error = pasta_choice_set(&show->choice, show->opts[i], err);
	return error;
}

/* -- Reading -- */

/* What the watch over a long reading needs. */
struct reading {
	struct pasta_progress progress;
	const struct pasta_choice *choice; /* NULL: no tools */
	const struct pasta_input *in;
	bool (*stop)(void *ctx);
	void *ctx;
};

static struct reading reading_of(const struct pasta_input *in, bool (*stop)(void *ctx), void *ctx)
{
	return (struct reading){
		.progress = pasta_progress_begin(), .in = in, .stop = stop, .ctx = ctx};
}

static bool go_on(void *ctx)
{
	struct reading *r = ctx;
	uint64_t done, total;

	if (r->stop && r->stop(r->ctx))
		return false;
	pasta_isolate_progress(r->in->stream, &done, &total);
	pasta_progress_show(&r->progress, "reading", done, total);
	return true;
}

int pasta_reportrun_check_filter(const struct pasta_filter *filter, uint64_t needs,
				 struct pasta_error *err)
{
	if (!(needs & PASTA_NEEDS_ACCESSES) || !pasta_filter_by_device(filter))
		return 0;
	return pasta_fail(err, -EINVAL,
			  "--device and --stream do not choose memory accesses: leave them out");
}

/* What is not counted is not zero. */
static int check(const struct pasta_tool *tool, struct pasta_error *err, void *ctx)
{
	const struct reading *r = ctx;

	switch (pasta_input_counted(r->in, tool)) {
	case PASTA_COUNTED_NONE:
		return pasta_fail(err, -ENODATA,
				  "the run did not count what it needs of memory accesses: record "
				  "again with -t %s",
				  pasta_choice_name(r->choice, tool));
	case PASTA_COUNTED_OTHER:
		return pasta_fail(
			err, -ENODATA,
			"some of the runs did not count what it needs of memory accesses, "
			"but something else: record them again with -t %s, or report on "
			"them apart",
			pasta_choice_name(r->choice, tool));
	default:
		break;
	}
	if (tool->needs & PASTA_NEED_EVERY_LAUNCH && pasta_input_sampled(r->in))
		return pasta_fail(err, -ENODATA,
				  "it needs the memory accesses of every launch, and the run "
				  "sampled launches: record again with -t %s, or with --all",
				  pasta_choice_name(r->choice, tool));
	return pasta_reportrun_check_filter(r->in->filter, tool->needs, err);
}

/* The kinds' names, with commas; returns text. */
static const char *kind_names(uint64_t kinds, char *text, size_t size)
{
	unsigned int kind;
	size_t at = 0;

	text[0] = '\0';
	for (kind = 0; kind < PASTA_KIND_MAX && at < size; kind++)
		if (kinds >> kind & 1 && pasta_kind_name(kind))
			at += (size_t)snprintf(text + at, size - at, "%s%s", at ? ", " : "",
					       pasta_kind_name(kind));
	return text;
}

/* What every agent says for itself, asked or not. */
#define OWN (PASTA_MASK(PROCESS) | PASTA_MASK(THREAD) | PASTA_MASK(CLOCK) | PASTA_MASK(LOSS))

/* What devices did: not recorded with --level count. */
#define TIMES (PASTA_MASK(KERNEL) | PASTA_MASK(COPY) | PASTA_MASK(SET))

/* A tool that wants kinds that were not recorded says less than it could. */
static void note_kinds(const struct pasta_stream *s, const struct pasta_opts *chosen,
		       struct pasta_out *out)
{
	const struct pasta_tool *tool = chosen->tool;
	size_t i, without = 0, count = pasta_stream_shards(s);
	char what[400], action[400], names[300];
	uint64_t wants = pasta_tool_subscribed(tool), missing = 0;
	bool imported = false, counted = false;

	for (i = 0; i < count; i++) {
		const struct pasta_shard_info *info = pasta_stream_shard(s, i);
		uint64_t not_there = info->kinds ? wants & ~(info->kinds | OWN) : 0;

		missing |= not_there;
		without += not_there != 0;
		imported = imported || info->imported;
		counted = counted || (not_there & TIMES && info->kinds & PASTA_MASK(LAUNCH) &&
				      !(info->kinds & TIMES));
	}
	if (!missing)
		return;
	snprintf(what, sizeof(what), "%zu of %zu processes did not record what %s wants: %s",
		 without, count, tool->name, kind_names(missing, names, sizeof(names)));
	if (counted)
		snprintf(action, sizeof(action), "record again without --level count");
	else
		snprintf(action, sizeof(action), "record again with -t %s%s", chosen->chosen_as,
			 tool->needs & PASTA_NEEDS_ACCESSES ? "" : ", or with --record all");
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .what = what,
			 .action = imported ? NULL : action);
}

/* Of runs that are read together. */
static void note_uncounted(const struct pasta_input *in, const struct pasta_opts *chosen,
			   struct pasta_out *out)
{
	const struct pasta_tool *tool = chosen->tool;
	char what[200], action[400];

	if (pasta_input_counted(in, tool) != PASTA_COUNTED_SOME)
		return;
	snprintf(what, sizeof(what),
		 "some of the runs did not count what %s needs: they are not in its numbers",
		 tool->name);
	snprintf(action, sizeof(action), "record them again with -t %s", chosen->chosen_as);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .what = what, .action = action);
}

/* What is asked for device times is told that counting has changed them. */
static void note_times(const struct pasta_input *in, const struct pasta_tool *tool,
		       struct pasta_out *out)
{
	uint64_t counted = in->run.counted;
	size_t i;

	for (i = 0; i < in->other_count; i++)
		counted |= in->others[i].counted;
	if (!counted || tool->needs & PASTA_NEEDS_ACCESSES || !(tool->events & PASTA_MASK(KERNEL)))
		return;
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
			 .what = "memory accesses were counted, too: kernels take longer "
				 "(OpenCL) or have no times (CUDA)",
			 .action = "record times in a run of their own");
}

/* Single accesses that are counted are missing for those who want each one, and for nobody else. */
static void note_loss(const struct pasta_loss_summary *loss, const struct pasta_tool *tool,
		      struct pasta_out *out)
{
	bool each = tool->needs & PASTA_NEED_ACCESS_RAW;
	uint64_t dropped = loss->dropped - (each ? 0 : loss->by_reason[PASTA_LOSS_RAW]);
	char what[160];

	if (!dropped)
		return;
	snprintf(what, sizeof(what),
		 "%llu events were dropped: numbers are too low, and what they "
		 "began or ended may be in the wrong place",
		 (unsigned long long)dropped);
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, .what = what,
			 .action = loss->by_reason[PASTA_LOSS_FULL]
					   ? "record again with more --memory"
					   : NULL);
}

static void note_stopped(const struct pasta_stream *s, struct pasta_out *out)
{
	uint64_t done, total;
	char what[120];

	if (out->elsewhere) {
		done = out->read;
		total = out->to_read;
	} else {
		pasta_stream_progress(s, &done, &total);
	}
	snprintf(what, sizeof(what), "reading was interrupted: this is of the first %.0f%%",
		 total ? 100.0 * (double)done / (double)total : 0);
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, .what = what);
}

/* What a rebuilt file says of old addresses would be wrong. */
static void note_changed(struct pasta_out *out)
{
	const char *first = out->changed_file;
	size_t n = out->elsewhere ? out->changed : pasta_symbols_changed(&first);
	char what[160];

	if (!n)
		return;
	snprintf(what, sizeof(what),
		 "files that are not what was recorded: %zu; their functions are shown as offsets",
		 n);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .what = what, .where = first,
			 .action = "put back the file, or record again");
}

/* What is not all must say so. */
static void note_filter(const struct pasta_filter *filter, struct pasta_out *out)
{
	char text[300], what[400];

	if (!pasta_filter_any(filter))
		return;
	snprintf(what, sizeof(what), "this is of a part of the run: %s",
		 pasta_filter_text(filter, text, sizeof(text)));
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .what = what);
}

int pasta_reportrun_events(struct pasta_show *show, struct pasta_input *in, FILE *file,
			   bool (*stop)(void *ctx), void *ctx, struct pasta_error *err)
{
	struct reading r = reading_of(in, stop, ctx);
	int error = pasta_input_filter(in, show->filter, err);

	if (!error)
		error = show->sink->events(file, in, go_on, &r, err);
	pasta_progress_erase(&r.progress);
	return error;
}

static void say(const char *line)
{
	pasta_cli_message("%s", line);
}

int pasta_reportrun_read(struct pasta_show *show, struct pasta_input *in,
			 struct pasta_result *result, bool (*stop)(void *ctx), void *ctx,
			 struct pasta_error *err)
{
	struct reading r = reading_of(in, stop, ctx);
	struct pasta_engine_opts opts = {.threads = show->threads,
					 .filter = show->filter,
					 .go_on = go_on,
					 .notify = say,
					 .check = check,
					 .ctx = &r};
	size_t i;
	int error = pasta_input_filter(in, show->filter, err);

	if (error)
		return error;
	r.choice = &show->choice;
	error = pasta_isolate_run(&show->choice, in->stream, result, &opts);
	pasta_progress_erase(&r.progress);
	if (error && error != -EINTR)
		return pasta_fail(err, error, "cannot read the run: %s", strerror(-error));
	result->run = &in->run;
	pasta_stream_loss(in->stream, &result->loss);
	pasta_loss_add_closed(&result->loss, in->dropped);
	for (i = 0; i < result->count; i++) {
		note_filter(show->filter, result->outs[i]);
		if (!result->outs[i]->err.code) {
			note_kinds(in->stream, &show->choice.tools[i], result->outs[i]);
			note_uncounted(in, &show->choice.tools[i], result->outs[i]);
			note_times(in, show->choice.tools[i].tool, result->outs[i]);
		}
		note_loss(&result->loss, show->choice.tools[i].tool, result->outs[i]);
		note_changed(result->outs[i]);
		if (result->outs[i]->stopped)
			note_stopped(in->stream, result->outs[i]);
	}
	if (pasta_result_savings(result))
		return pasta_fail(err, -ENOMEM, "cannot read the run: %s", strerror(ENOMEM));
	return error;
}

void pasta_reportrun_trouble(const struct pasta_input *in)
{
	size_t i;

	if (in->failed)
		pasta_cli_message("processes that could not record: %" PRIu64 ": %s", in->failed,
				  in->why);
	else if (*in->why)
		pasta_cli_message("not all is recorded: %s", in->why);
	for (i = 0; i < PASTA_RUN_NOTES && *in->notes[i]; i++)
		if (*in->notes[i] == PASTA_CONTROL_NEWS)
			pasta_cli_message("%s", in->notes[i] + 1);
		else
			pasta_cli_message("not all is recorded: %s", in->notes[i]);
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

/* Whether the user's terminal is one of UTF-8: by the first of these that is set, as locale(7). */
static bool is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	const char *value = NULL;
	size_t i;

	for (i = 0; i < 3 && (!value || !*value); i++)
		value = getenv(names[i]);
	return value && (strcasestr(value, "UTF-8") || strcasestr(value, "UTF8"));
}

int pasta_reportrun_print(const struct pasta_show *show, FILE *file, int fd,
			  const struct pasta_result *result, struct pasta_error *err)
{
	struct pasta_sink_opts opts = show->sink_opts;
	const char *no_color = getenv("NO_COLOR");
	struct winsize size = {0};

	opts.width = WIDTH;
	opts.ascii = !is_utf8();
	if (isatty(fd)) {
		if (!ioctl(fd, TIOCGWINSZ, &size) && size.ws_col)
			opts.width = size.ws_col;
		opts.color = !no_color || !*no_color;
	}
	return show->sink->write(file, result, &opts, err);
}
