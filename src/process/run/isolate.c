/* isolate.c - runs the built-in tools in this process, and each plug-in library in a worker. */
#include "process/run/isolate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/run/toolset.h"
#include "process/run/parcel.h"
#include "process/read/rawfile.h"
#include "process/run/toolworker.h"
#include "process/run/worker.h"

/* Maximum time in seconds that a tool's `open` may take when it is tried before the program
 * starts. */
#define TRY_PATIENCE 5

/* A plug-in library, and the tools that were chosen from it. */
struct library {
	const char *file;
	const struct pasta_opts **tools;
	const char **names;
	struct pasta_out **outs;
	size_t count;
	struct pasta_worker *worker;
	bool started, ended;
	uint64_t captured; /* number of events that the worker read */
	bool whole;	   /* whether the worker sent an answer after it had read all events */
};

struct isolate {
	struct library *libraries;
	size_t count;
	struct pasta_choice local;
	struct pasta_out **local_outs;
	struct pasta_stream *stream;
	const struct pasta_engine_opts *opts;
	size_t threads; /* number of threads of each process */
	bool stopped;
};

static struct isolate *running; /* for progress */

static bool isolate_is_elsewhere(const struct pasta_tool *tool)
{
	return pasta_worker_used() && pasta_tool_file(tool);
}

/* -- Dividing the tools -- */

static void isolate_clear(struct isolate *iso)
{
	size_t i;

	for (i = 0; i < iso->count; i++) {
		pasta_worker_free(iso->libraries[i].worker);
		free(iso->libraries[i].tools);
		free(iso->libraries[i].names);
		free(iso->libraries[i].outs);
	}
	free(iso->libraries);
	free(iso->local.tools);
	free(iso->local_outs);
}

static struct library *library_of(struct isolate *iso, const char *file, size_t room)
{
	struct library *lib = iso->libraries;

	while (lib < iso->libraries + iso->count && lib->file != file)
		lib++;
	if (lib < iso->libraries + iso->count)
		return lib;
	lib->file = file;
	lib->tools = calloc(room, sizeof(*lib->tools));
	lib->names = calloc(room, sizeof(*lib->names));
	lib->outs = calloc(room, sizeof(*lib->outs));
	iso->count++;
	return lib->tools && lib->names && lib->outs ? lib : NULL;
}

/* outs may be NULL. */
static int isolate_divide(struct isolate *iso, const struct pasta_choice *choice,
			  struct pasta_out **outs)
{
	struct library *lib;
	size_t i;

	iso->libraries = calloc(choice->count + 1, sizeof(*iso->libraries));
	iso->local.tools = calloc(choice->count + 1, sizeof(*iso->local.tools));
	iso->local_outs = calloc(choice->count + 1, sizeof(*iso->local_outs));
	if (!iso->libraries || !iso->local.tools || !iso->local_outs)
		return -ENOMEM;
	for (i = 0; i < choice->count; i++) {
		const struct pasta_tool *tool = choice->tools[i].tool;

		if (!isolate_is_elsewhere(tool)) {
			iso->local_outs[iso->local.count] = outs ? outs[i] : NULL;
			iso->local.tools[iso->local.count++] = choice->tools[i];
			continue;
		}
		if (outs && outs[i]->err.code)
			continue;
		lib = library_of(iso, pasta_tool_file(tool), choice->count);
		if (!lib)
			return -ENOMEM;
		lib->tools[lib->count] = &choice->tools[i];
		lib->names[lib->count] = tool->name;
		lib->outs[lib->count++] = outs ? outs[i] : NULL;
	}
	return 0;
}

/* -- Workers -- */

static void library_fail(const struct library *lib, int code, const char *text)
{
	size_t i;

	for (i = 0; i < lib->count; i++) {
		pasta_out_fail(lib->outs[i], code, "%s", text);
		pasta_out_end(lib->outs[i]);
	}
}

static void library_start(const struct isolate *iso, struct library *lib)
{
	struct pasta_wire request = {0};
	struct pasta_worker_start start = {.verb = PASTA_WORKER_RUN,
					   .file = lib->file,
					   .tools = lib->names,
					   .tool_count = lib->count,
					   .request = &request};
	struct pasta_toolworker_fds fds = {0};
	struct pasta_error err = {0};
	int error;

	lib->started = true;
	pasta_toolworker_put_tools(&request, lib->file, lib->tools, lib->count);
	error = pasta_toolworker_put_run(&request, iso->stream, iso->opts->filter, iso->threads,
					 &fds);
	start.fds = fds.fds;
	start.fd_count = fds.count;
	if (error)
		pasta_fail(&err, error, "cannot start a process for %s: %s", lib->file,
			   strerror(-error));
	else
		lib->worker = pasta_worker_start(&start, &err);
	pasta_toolworker_fds_free(&fds);
	free(request.data);
	if (lib->worker)
		return;
	lib->ended = true;
	library_fail(lib, err.code, err.text);
}

/* Marks all tools of the library as failed. If one tool caused the failure, the errors of the other
 * tools name that tool. */
static void library_failed(const struct library *lib)
{
	int code = pasta_worker_code(lib->worker);
	char why[200];
	size_t i, tool;

	pasta_worker_why(lib->worker, why, sizeof(why), &tool);
	for (i = 0; i < lib->count; i++)
		if (tool && tool != i + 1)
			pasta_out_fail(lib->outs[i], code,
				       "the plug-in has no results, because "
				       "its tool %s failed: %s",
				       lib->names[tool - 1], why);
	library_fail(lib, code, why);
}

/* Warns the user of a worker that crashed or hung after its tools had reported. */
static void isolate_notify_late(const struct isolate *iso, const struct library *lib)
{
	char why[200], line[400];
	size_t tool;

	pasta_worker_why(lib->worker, why, sizeof(why), &tool);
	if (!*why || !iso->opts->notify)
		return;
	snprintf(line, sizeof(line), "tool %s: %s, after the tool's report was complete",
		 tool ? lib->names[tool - 1] : lib->names[0], why);
	iso->opts->notify(line);
}

static void library_read_answer(const struct isolate *iso, struct library *lib)
{
	struct pasta_parcel parcel;
	struct pasta_wire_in in;
	uint8_t *bytes;
	int error = pasta_worker_answer(lib->worker, &bytes, &in);
	size_t i;

	error = error ? error : pasta_parcel_get(&in, &parcel, lib->outs, lib->count);
	if (error) {
		free(bytes);
		library_fail(lib, error,
			     error == -ENOMEM ? "out of memory while reading the tool's report"
					      : "the tool's report is damaged: check whether the "
						"tool writes out of bounds");
		return;
	}
	for (i = 0; i < lib->count; i++) {
		struct pasta_out *out = lib->outs[i];

		out->elsewhere = true;
		out->stopped = parcel.stopped;
		out->read = parcel.read;
		out->to_read = parcel.to_read;
		out->changed = parcel.changed;
		out->changed_file = parcel.changed_file ? strdup(parcel.changed_file) : NULL;
	}
	if (parcel.unread.code)
		pasta_rawfile_note_failed(&parcel.unread);
	lib->captured = parcel.captured;
	lib->whole = !parcel.stopped;
	free(bytes);
	isolate_notify_late(iso, lib);
}

static void library_ended(const struct isolate *iso, struct library *lib)
{
	lib->ended = true;
	if (pasta_worker_failed(lib->worker))
		library_failed(lib);
	else
		library_read_answer(iso, lib);
	pasta_worker_free(lib->worker);
	lib->worker = NULL;
}

/* Checks the running workers, and starts more workers up to the limit. Returns the number of
 * libraries whose worker has not ended. */
static size_t isolate_check(struct isolate *iso)
{
	size_t i, runs = 0, waits = 0;

	for (i = 0; i < iso->count; i++) {
		struct library *lib = &iso->libraries[i];

		if (lib->worker && iso->stopped)
			pasta_worker_stop(lib->worker);
		if (lib->worker && pasta_worker_check(lib->worker))
			library_ended(iso, lib);
		runs += lib->worker != NULL;
	}
	for (i = 0; i < iso->count; i++) {
		struct library *lib = &iso->libraries[i];

		if (!lib->started && runs < PASTA_WORKERS_MAX) {
			library_start(iso, lib);
			runs += lib->worker != NULL;
		}
		waits += !lib->ended;
	}
	return waits;
}

static bool isolate_goes_on(void *ctx)
{
	struct isolate *iso = ctx;

	iso->stopped = iso->stopped || (iso->opts->go_on && !iso->opts->go_on(iso->opts->ctx));
	isolate_check(iso);
	return !iso->stopped;
}

/* Waits briefly for the first running worker. isolate_goes_on then checks all workers. */
static void isolate_wait(const struct isolate *iso)
{
	size_t i;

	for (i = 0; i < iso->count; i++)
		if (iso->libraries[i].worker) {
			pasta_worker_wait(iso->libraries[i].worker, 20);
			return;
		}
}

/* Marks tools as failed if their worker did not read the same number of events as this process. In
 * that case, a tool has closed or replaced the descriptors of shards. */
static void isolate_compare(const struct isolate *iso)
{
	struct pasta_loss_summary loss;
	char text[200];
	size_t i;

	pasta_stream_loss(iso->stream, &loss);
	for (i = 0; i < iso->count; i++) {
		const struct library *lib = &iso->libraries[i];

		if (!lib->whole || lib->captured == loss.captured)
			continue;
		snprintf(text, sizeof(text),
			 "the plug-in's worker read only %llu of %llu events: check whether the "
			 "plug-in closes file descriptors that it did not open",
			 (unsigned long long)lib->captured, (unsigned long long)loss.captured);
		library_fail(lib, -EBADF, text);
	}
}

static int isolate_run(struct isolate *iso)
{
	struct pasta_engine_opts opts = *iso->opts;
	size_t i, at_once = iso->count < PASTA_WORKERS_MAX ? iso->count : PASTA_WORKERS_MAX;
	int error;

	iso->threads = pasta_engine_threads(opts.threads) / (at_once + (iso->local.count != 0));
	iso->threads = iso->threads ? iso->threads : 1;
	opts.threads = iso->local.count ? iso->threads : 1;
	opts.go_on = isolate_goes_on;
	opts.ctx = iso;
	running = iso;
	isolate_check(iso);
	error = pasta_engine_run_into(&iso->local, iso->stream, iso->local_outs, &opts);
	for (i = 0; error == -EINTR && i < iso->local.count; i++)
		iso->local_outs[i]->stopped = true;
	while ((!error || error == -EINTR) && isolate_check(iso)) {
		isolate_goes_on(iso);
		isolate_wait(iso);
	}
	running = NULL;
	if (!error && !iso->stopped)
		isolate_compare(iso);
	return error ? error : iso->stopped ? -EINTR : 0;
}

int pasta_isolate_run(const struct pasta_choice *choice, struct pasta_stream *s,
		      struct pasta_result *result, const struct pasta_engine_opts *opts)
{
	struct isolate iso = {.stream = s, .opts = opts};
	size_t i, first = result->count;
	int error = pasta_engine_outs(choice, result, opts);

	if (!error)
		error = isolate_divide(&iso, choice, result->outs + first);
	if (!error && iso.count) {
		error = isolate_run(&iso);
	} else if (!error) {
		error = pasta_engine_run_into(choice, s, result->outs + first, opts);
		for (i = first; error == -EINTR && i < result->count; i++)
			result->outs[i]->stopped = true;
	}
	isolate_clear(&iso);
	return error;
}

void pasta_isolate_progress(const struct pasta_stream *s, uint64_t *done, uint64_t *total)
{
	size_t i;

	pasta_stream_progress(s, done, total);
	for (i = 0; running && i < running->count; i++) {
		const struct library *lib = &running->libraries[i];
		uint64_t there = 0, all = 0;

		if (lib->worker)
			pasta_worker_progress(lib->worker, &there, &all);
		if (!lib->ended && there < *done)
			*done = there;
	}
}

/* -- Before a run -- */

static int isolate_first_error(struct pasta_out *const *outs, size_t count, struct pasta_error *err)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (outs[i]->err.code)
			return pasta_fail(err, outs[i]->err.code, "tool %s: %s", outs[i]->name,
					  outs[i]->err.text);
	return 0;
}

static int isolate_try_here(const struct pasta_choice *choice, struct pasta_out *const *outs,
			    struct pasta_error *err)
{
	struct pasta_toolset *toolset = pasta_toolset_new(choice, outs, PASTA_TOOLSET_ALL);

	if (!toolset)
		return pasta_fail(err, -ENOMEM, "out of memory");
	pasta_toolset_open(toolset);
	pasta_toolset_free(toolset);
	return isolate_first_error(outs, choice->count, err);
}

static int isolate_try_elsewhere(const struct library *lib, struct pasta_error *err)
{
	struct pasta_wire request = {0};
	struct pasta_worker_start start = {.verb = PASTA_WORKER_OPEN,
					   .file = lib->file,
					   .tools = lib->names,
					   .tool_count = lib->count,
					   .request = &request,
					   .patience = TRY_PATIENCE,
					   .quiet = true};
	struct pasta_parcel parcel;
	struct pasta_worker *w;
	struct pasta_wire_in in;
	uint8_t *bytes = NULL;
	int error = 0;

	pasta_toolworker_put_tools(&request, lib->file, lib->tools, lib->count);
	w = pasta_worker_start(&start, err);
	free(request.data);
	if (!w)
		return err->code;
	while (!pasta_worker_wait(w, 1000))
		;
	if (!pasta_worker_answer(w, &bytes, &in) &&
	    !pasta_parcel_get(&in, &parcel, lib->outs, lib->count))
		error = isolate_first_error(lib->outs, lib->count, err);
	free(bytes);
	pasta_worker_free(w);
	return error;
}

int pasta_isolate_try(const struct pasta_choice *choice, struct pasta_error *err)
{
	struct pasta_result result = {0};
	struct isolate iso = {0};
	int error = 0;
	size_t i;

	for (i = 0; i < choice->count && !error; i++)
		if (!pasta_result_out(&result, choice->tools[i].tool->name))
			error = -ENOMEM;
	error = error ? error : isolate_divide(&iso, choice, result.outs);
	if (error)
		pasta_fail(err, error, "out of memory");
	error = error ? error : isolate_try_here(&iso.local, iso.local_outs, err);
	for (i = 0; i < iso.count && !error; i++)
		error = isolate_try_elsewhere(&iso.libraries[i], err);
	isolate_clear(&iso);
	pasta_result_free(&result);
	return error;
}
