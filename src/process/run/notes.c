/* notes.c - adds notes to a report. The notes describe data that the numbers of the report do not
 * include, and explain how to record this data. */
#include "process/run/notes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "collect/control.h"
#include "process/join/symbols.h"
#include "process/read/rawfile.h"
#include "process/read/stream.h"

/* Kinds that every agent emits, whether or not a tool requests them. */
#define NOTES_OWN (PASTA_MASK(PROCESS) | PASTA_MASK(THREAD) | PASTA_MASK(CLOCK) | PASTA_MASK(LOSS))

/* Kinds of work on devices, which `--level count` does not record. */
#define NOTES_WORK (PASTA_MASK(KERNEL) | PASTA_MASK(COPY) | PASTA_MASK(SET))

int pasta_notes_check_filter(const struct pasta_filter *filter, uint64_t needs,
			     struct pasta_error *err)
{
	if (!(needs & PASTA_NEEDS_ACCESSES) || !pasta_filter_by_device(filter))
		return 0;
	return pasta_fail(err, -EINVAL,
			  "--device and --stream cannot select memory accesses: remove these "
			  "options");
}

int pasta_notes_check(const struct pasta_tool *tool, const struct pasta_choice *choice,
		      const struct pasta_input *in, struct pasta_error *err)
{
	switch (pasta_input_counted(in, tool)) {
	case PASTA_COUNTED_NONE:
		return pasta_fail(err, -ENODATA,
				  "the run did not count the memory accesses that the tool needs: "
				  "record again with -t %s",
				  pasta_choice_name(choice, tool));
	case PASTA_COUNTED_OTHER:
		return pasta_fail(err, -ENODATA,
				  "some of the runs did not count the memory accesses that the "
				  "tool needs: record these runs again with -t %s, or report each "
				  "run separately",
				  pasta_choice_name(choice, tool));
	default:
		break;
	}
	if (tool->needs & PASTA_NEED_EVERY_LAUNCH && pasta_input_sampled(in))
		return pasta_fail(err, -ENODATA,
				  "the run counted the memory accesses of only some launches, but "
				  "the tool needs every launch: record again with -t %s, or with "
				  "--all",
				  pasta_choice_name(choice, tool));
	return pasta_notes_check_filter(in->filter, tool->needs, err);
}

/* Writes the names of the kinds into text, separated by commas. Returns text. */
static const char *notes_kind_names(uint64_t kinds, char *text, size_t size)
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

/* Adds a note if some processes did not record kinds that the tool subscribes to. */
static void notes_kinds(const struct pasta_stream *s, const struct pasta_opts *chosen,
			struct pasta_out *out)
{
	const struct pasta_tool *tool = chosen->tool;
	size_t i, without = 0, count = pasta_stream_shards(s);
	char what[400], action[400], names[300];
	uint64_t subscribed = pasta_tool_subscribed(tool), missing = 0;
	bool imported = false, level_count = false;

	for (i = 0; i < count; i++) {
		const struct pasta_shard_info *info = pasta_stream_shard(s, i);
		uint64_t absent = info->kinds ? subscribed & ~(info->kinds | NOTES_OWN) : 0;

		missing |= absent;
		without += absent != 0;
		imported = imported || info->imported;
		level_count =
			level_count || (absent & NOTES_WORK && info->kinds & PASTA_MASK(LAUNCH) &&
					!(info->kinds & NOTES_WORK));
	}
	if (!missing)
		return;
	snprintf(what, sizeof(what),
		 "%zu of %zu processes did not record some kinds of events "
		 "that %s needs: %s",
		 without, count, tool->name, notes_kind_names(missing, names, sizeof(names)));
	if (level_count)
		snprintf(action, sizeof(action), "record again without '--level count'");
	else
		snprintf(action, sizeof(action), "record again with -t %s%s", chosen->chosen_as,
			 tool->needs & PASTA_NEEDS_ACCESSES ? "" : ", or with --record all");
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .what = what,
			 .action = imported ? NULL : action);
}

/* Adds a note if several runs are read together and some of these runs did not count accesses. */
static void notes_uncounted(const struct pasta_input *in, const struct pasta_opts *chosen,
			    struct pasta_out *out)
{
	const struct pasta_tool *tool = chosen->tool;
	char what[200], action[400];

	if (pasta_input_counted(in, tool) != PASTA_COUNTED_SOME)
		return;
	snprintf(what, sizeof(what),
		 "some of the runs did not count the memory accesses that %s needs: the tool's "
		 "numbers exclude these runs",
		 tool->name);
	snprintf(action, sizeof(action), "record the excluded runs again with -t %s",
		 chosen->chosen_as);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .what = what, .action = action);
}

/* Adds a note that the counting of memory accesses changes the device times that other tools
 * show. */
static void notes_times(const struct pasta_input *in, const struct pasta_tool *tool,
			struct pasta_out *out)
{
	uint64_t counted = in->run.counted;
	size_t i;

	for (i = 0; i < in->other_count; i++)
		counted |= in->others[i].counted;
	if (!counted || tool->needs & PASTA_NEEDS_ACCESSES || !(tool->events & PASTA_MASK(KERNEL)))
		return;
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
			 .what = "kernel times are distorted (OpenCL) or missing (CUDA), because "
				 "the run also counted memory accesses",
			 .action = "record device times in a separate run, without memory "
				   "accesses");
}

/* Adds a note on dropped events. Raw accesses that were dropped are still counted in the sums, so
 * only tools that read raw accesses need a note on dropped raw accesses. */
static void notes_loss(const struct pasta_loss_summary *loss, const struct pasta_tool *tool,
		       struct pasta_out *out)
{
	bool raw = tool->needs & PASTA_NEED_ACCESS_RAW;
	uint64_t dropped = loss->dropped - (raw ? 0 : loss->by_reason[PASTA_LOSS_RAW]);
	char what[160];

	if (!dropped)
		return;
	snprintf(what, sizeof(what),
		 "%llu events were dropped: numbers are too low, and events recorded near a "
		 "dropped event may be attributed to the wrong region",
		 (unsigned long long)dropped);
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, .what = what,
			 .action = loss->by_reason[PASTA_LOSS_FULL]
					   ? "record again with a larger --memory"
					   : NULL);
}

static void notes_interrupted(const struct pasta_stream *s, struct pasta_out *out)
{
	uint64_t done, total;
	char what[120];

	if (out->elsewhere) {
		done = out->read;
		total = out->to_read;
	} else {
		pasta_stream_progress(s, &done, &total);
	}
	snprintf(what, sizeof(what),
		 "reading was interrupted: the report covers the first %.0f%% of the recorded data",
		 total ? 100.0 * (double)done / (double)total : 0);
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, .what = what);
}

/* Adds a note if files have changed since the recording. In a file that was rebuilt, the recorded
 * addresses belong to other functions. */
static void notes_changed(struct pasta_out *out)
{
	const char *first = out->changed_file;
	size_t n = out->elsewhere ? out->changed : pasta_symbols_changed(&first);
	char what[160];

	if (!n)
		return;
	snprintf(what, sizeof(what),
		 "files that changed since the run was recorded: %zu; functions in these files "
		 "are shown as offsets",
		 n);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .what = what, .where = first,
			 .action = "restore the original files, or record the run again");
}

static void notes_filter(const struct pasta_filter *filter, struct pasta_out *out)
{
	char text[300], what[400];

	if (!pasta_filter_any(filter))
		return;
	snprintf(what, sizeof(what),
		 "the report covers only the part of the run that matches "
		 "the filter: %s",
		 pasta_filter_text(filter, text, sizeof(text)));
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .what = what);
}

void pasta_notes_add(struct pasta_result *result, const struct pasta_choice *choice,
		     const struct pasta_input *in)
{
	size_t i;

	for (i = 0; i < result->count; i++) {
		const struct pasta_opts *chosen = &choice->tools[i];
		struct pasta_out *out = result->outs[i];

		notes_filter(in->filter, out);
		if (!out->err.code) {
			notes_kinds(in->stream, chosen, out);
			notes_uncounted(in, chosen, out);
			notes_times(in, chosen->tool, out);
		}
		notes_loss(&result->loss, chosen->tool, out);
		notes_changed(out);
		if (out->stopped)
			notes_interrupted(in->stream, out);
	}
}

/* -- Warnings about a run -- */

__attribute__((format(printf, 2, 3))) static void notes_warn(void (*warn)(const char *line),
							     const char *fmt, ...)
{
	char line[600];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	warn(line);
}

void pasta_notes_unrecorded(const struct pasta_input *in, void (*warn)(const char *line))
{
	size_t i;

	if (in->failed)
		notes_warn(warn, "processes that could not record: %llu (%s)",
			   (unsigned long long)in->failed, in->why);
	else if (*in->why)
		notes_warn(warn, "the recording is incomplete: %s", in->why);
	for (i = 0; i < PASTA_RUN_NOTES && *in->notes[i]; i++)
		if (*in->notes[i] == PASTA_CONTROL_NEWS)
			warn(in->notes[i] + 1);
		else
			notes_warn(warn, "the recording is incomplete: %s", in->notes[i]);
}

/* Returns whether the shards have fewer events than run.json states. If they do, shards are missing
 * or outdated. Damaged events count as present. Processes that were still running when run.json was
 * written can only have added events. */
static bool notes_lacks_events(const struct pasta_input *in, const struct pasta_loss_summary *loss,
			       bool stopped)
{
	return in->expected > loss->expected && !pasta_filter_any(in->filter) && !stopped;
}

bool pasta_notes_incomplete(const struct pasta_input *in, const struct pasta_loss_summary *loss,
			    const char *what, bool stopped, void (*warn)(const char *line))
{
	bool lacks = notes_lacks_events(in, loss, stopped), unread;
	struct pasta_error err;

	if (in->alive)
		notes_warn(warn,
			   "processes of the program that are still running: %llu; the %s covers "
			   "what these processes have written so far",
			   (unsigned long long)in->alive, what);
	if (in->unsure)
		notes_warn(warn,
			   "%llu processes may still be running, here or on another host; the %s "
			   "covers what these processes have recorded so far",
			   (unsigned long long)in->unsure, what);
	if (loss->damaged_bytes || loss->damaged)
		notes_warn(warn,
			   "%llu bytes of the shards are damaged, so %llu events were dropped; the "
			   "%s covers all other events (back up the folder of the run)",
			   (unsigned long long)loss->damaged_bytes,
			   (unsigned long long)loss->damaged, what);
	unread = pasta_rawfile_failed(&err);
	if (unread)
		notes_warn(warn, "cannot read memory accesses: %s", err.text);
	if (lacks)
		notes_warn(warn,
			   "run.json counts %llu events, but the shards have only %llu: some "
			   "shards are missing or belong to another run",
			   (unsigned long long)in->expected, (unsigned long long)loss->expected);
	return lacks || loss->damaged_bytes || loss->damaged || in->refused || unread;
}
