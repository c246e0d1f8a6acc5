/* toolworker.c - the code that runs in a worker: loads a plug-in, opens its tools, or runs them. */
#include "process/run/toolworker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "process/run/engine.h"
#include "process/io/files.h"
#include "process/run/toolset.h"
#include "process/run/parcel.h"
#include "process/run/plugin.h"
#include "process/read/rawfile.h"
#include "process/read/shard.h"
#include "process/join/sourceline.h"
#include "process/join/symbols.h"
#include "process/run/worker.h"

#define UNABLE 120 /* exit status of a worker that cannot answer */
#define LINES_MAX PASTA_PARCEL_TOOLS

struct toolworker {
	int socket;
	pid_t pid;
	enum pasta_worker_verb verb;
	struct pasta_wire_in request;
	struct pasta_calls *calls;
	struct pasta_choice choice;
	struct pasta_result result;
	struct pasta_stream *stream;
	struct pasta_filter *filter;
	size_t threads;
	bool stopped;
	struct pasta_error err; /* an error that makes all tools of the worker fail */
	/* The errors of the library and its tools, as part of the answer. */
	struct pasta_wire lines;
	size_t line_count;
};

/* -- Requests -- */

static size_t toolworker_options_set(const struct pasta_opts *opts)
{
	size_t i, n = 0;

	for (i = 0; opts->tool->options && opts->tool->options[i].name; i++)
		n += opts->values && opts->values[i];
	return n;
}

void pasta_toolworker_put_tools(struct pasta_wire *w, const char *file,
				const struct pasta_opts *const *tools, size_t count)
{
	size_t i, k;

	pasta_wire_bytes(w, file);
	pasta_wire_number(w, count);
	for (i = 0; i < count; i++) {
		const struct pasta_option *options = tools[i]->tool->options;

		pasta_wire_text(w, tools[i]->tool->name);
		pasta_wire_number(w, toolworker_options_set(tools[i]));
		for (k = 0; options && options[k].name; k++) {
			if (!tools[i]->values || !tools[i]->values[k])
				continue;
			pasta_wire_text(w, options[k].name);
			pasta_wire_bytes(w, tools[i]->values[k]);
		}
	}
}

static void toolworker_put_filter(struct pasta_wire *w, const struct pasta_filter *filter)
{
	enum pasta_filter_type type;
	const char *text;
	size_t i, n = 0;

	while (pasta_filter_term(filter, n, &type))
		n++;
	pasta_wire_number(w, pasta_filter_started(filter));
	pasta_wire_number(w, n);
	for (i = 0; (text = pasta_filter_term(filter, i, &type)); i++) {
		pasta_wire_number(w, (uint64_t)type);
		pasta_wire_bytes(w, text);
	}
}

void pasta_toolworker_fds_free(struct pasta_toolworker_fds *f)
{
	while (f->made_count)
		close(f->made[--f->made_count]);
	free(f->fds);
	free(f->made);
	*f = (struct pasta_toolworker_fds){0};
}

/* Adds a file descriptor to the request. If accelprof opened a recovered or imported shard for
 * writing, the worker gets a read-only descriptor of it. */
static int toolworker_put_fd(struct pasta_wire *w, int fd, struct pasta_toolworker_fds *f)
{
	if (fd >= 0 && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY) {
		fd = pasta_files_for_reading(fd);
		if (fd < 0)
			return fd;
		f->made[f->made_count++] = fd;
	}
	pasta_wire_number(w, (uint64_t)(int64_t)fd);
	if (fd >= 0)
		f->fds[f->count++] = fd;
	return 0;
}

static int toolworker_put_shard(struct pasta_wire *w, const struct pasta_stream *s, size_t i,
				struct pasta_toolworker_fds *f)
{
	struct pasta_shard_parts parts;
	int error;

	pasta_stream_parts(s, i, &parts);
	pasta_wire_bytes(w, parts.path);
	error = toolworker_put_fd(w, parts.file, f);
	error = error ? error : toolworker_put_fd(w, parts.tail, f);
	pasta_wire_number(w, parts.end);
	pasta_wire_number(w, parts.limit);
	pasta_wire_number(w, pasta_stream_excluded(s, i));
	return error;
}

int pasta_toolworker_put_run(struct pasta_wire *w, const struct pasta_stream *s,
			     const struct pasta_filter *filter, size_t threads,
			     struct pasta_toolworker_fds *f)
{
	size_t i, n = pasta_stream_shards(s);
	const char *held;
	int folder, error;

	f->fds = calloc(2 * n + 1, sizeof(*f->fds));
	f->made = calloc(2 * n + 1, sizeof(*f->made));
	if (!f->fds || !f->made)
		return -ENOMEM;
	pasta_wire_number(w, threads);
	pasta_wire_number(w, pasta_sourceline_prefers_library());
	toolworker_put_filter(w, filter);
	held = pasta_files_held(&folder);
	pasta_wire_bytes(w, held ? held : "");
	error = toolworker_put_fd(w, folder, f);
	pasta_wire_number(w, n);
	for (i = 0; i < n && !error; i++)
		error = toolworker_put_shard(w, s, i, f);
	return error;
}

static _Noreturn void toolworker_fail(void)
{
	_exit(UNABLE);
}

/* Receives the request, and maps the shared page. */
static void toolworker_receive(struct toolworker *t)
{
	struct pasta_worker_message message = {0};
	struct iovec iov = {&message, sizeof(message)};
	int fds[2];
	union {
		char room[CMSG_SPACE(sizeof(fds))];
		struct cmsghdr head;
	} control;
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	uint8_t *bytes;
	void *page;

	if (recvmsg(t->socket, &msg, MSG_CMSG_CLOEXEC) != sizeof(message) ||
	    message.magic != PASTA_WORKER_MAGIC || !CMSG_FIRSTHDR(&msg) ||
	    CMSG_FIRSTHDR(&msg)->cmsg_len != CMSG_LEN(sizeof(fds)))
		toolworker_fail();
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fds));
	page = mmap(NULL, sizeof(*t->calls), PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0);
	if (page == MAP_FAILED || pasta_wire_open(fds[0], &bytes, &t->request))
		toolworker_fail();
	t->verb = message.verb;
	t->calls = page;
	close(fds[0]);
	close(fds[1]);
}

/* -- The answer -- */

static int toolworker_send(int socket, uint32_t verb, int fd)
{
	struct pasta_worker_message message = {PASTA_WORKER_MAGIC, verb};
	struct iovec iov = {&message, sizeof(message)};
	union {
		char room[CMSG_SPACE(sizeof(fd))];
		struct cmsghdr head;
	} control = {.room = {0}};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};

	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	return sendmsg(socket, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void toolworker_answer(const struct toolworker *t, struct pasta_wire *w)
{
	int fd = pasta_wire_seal(w);

	/* A process that a tool forked may also reach this code, but only the worker itself may
	 * send an answer. */
	if (fd < 0 || getpid() != t->pid || toolworker_send(t->socket, t->verb, fd))
		toolworker_fail();
	close(fd);
	free(w->data);
	*w = (struct pasta_wire){0};
}

/* Sends the result. If the answer would be too large, all tools fail. */
static void toolworker_answer_result(struct toolworker *t)
{
	struct pasta_parcel parcel = {.stopped = t->stopped};
	struct pasta_loss_summary loss;
	struct pasta_wire w = {0};
	size_t i;

	if (t->stream) {
		pasta_stream_loss(t->stream, &loss);
		parcel.captured = loss.captured;
		pasta_stream_progress(t->stream, &parcel.read, &parcel.to_read);
	}
	parcel.changed = pasta_symbols_changed(&parcel.changed_file);
	if (!pasta_rawfile_failed(&parcel.unread))
		parcel.unread.code = 0;
	pasta_parcel_put(&w, &parcel, t->result.outs, t->result.count);
	if (w.error) {
		int error = w.error;

		free(w.data);
		w = (struct pasta_wire){0};
		for (i = 0; i < t->result.count; i++) {
			pasta_out_fail(t->result.outs[i], error,
				       "the tool's report is too large: %s", strerror(-error));
			t->result.outs[i]->finding_count = 0;
		}
		pasta_parcel_put(&w, &parcel, t->result.outs, t->result.count);
	}
	toolworker_answer(t, &w);
}

/* -- Loading -- */

static void toolworker_add_line(void *ctx, int code, const char *text)
{
	struct toolworker *t = ctx;

	if (!t->err.code)
		pasta_fail(&t->err, code, "%s", text);
	if (t->line_count == LINES_MAX)
		return;
	t->line_count++;
	pasta_wire_number(&t->lines, (uint64_t)(int64_t)code);
	pasta_wire_text(&t->lines, text);
}

static void toolworker_load(struct toolworker *t, const char *file)
{
	struct pasta_call_slot *slot = &t->calls->slots[0];

	pasta_call_phase(slot, PASTA_PHASE_LOAD);
	pasta_plugin_load_here(file, toolworker_add_line, t);
	pasta_call_phase(slot, PASTA_PHASE_NONE);
}

static void toolworker_answer_tools(struct toolworker *t)
{
	const struct pasta_tool *tool;
	struct pasta_wire w = {0};
	size_t i, n = 0;

	pasta_wire_number(&w, t->line_count);
	pasta_wire_put(&w, t->lines.data, t->lines.size);
	for (i = 0; (tool = pasta_tool_at(i)); i++)
		n += pasta_tool_file(tool) != NULL;
	pasta_wire_number(&w, n);
	for (i = 0; (tool = pasta_tool_at(i)); i++)
		if (pasta_tool_file(tool))
			pasta_parcel_put_tool(&w, tool);
	w.error = w.error ? w.error : t->lines.error;
	toolworker_answer(t, &w);
}

/* -- Running -- */

static void toolworker_choose_option(struct toolworker *t, const char *tool, const char *option,
				     const char *value, struct pasta_error *err)
{
	char *text;

	if (asprintf(&text, "%s.%s=%s", tool, option, value) < 0)
		toolworker_fail();
	pasta_choice_set(&t->choice, text, err);
	free(text);
}

/* Reads the chosen tools and their options. If the library has changed since accelprof loaded it,
 * and a tool is missing, all tools fail. */
static void toolworker_choose(struct toolworker *t)
{
	uint64_t i, k, count = pasta_wire_get_below(&t->request, PASTA_PARCEL_TOOLS);

	for (i = 0; i < count && !t->request.bad; i++) {
		const char *name = pasta_wire_get_text(&t->request);
		uint64_t options = pasta_wire_get_below(&t->request, PASTA_PARCEL_OPTIONS);
		struct pasta_error err = {0};

		if (!pasta_result_out(&t->result, name))
			toolworker_fail();
		pasta_choice_add(&t->choice, name, &err);
		for (k = 0; k < options && !t->request.bad; k++) {
			const char *option = pasta_wire_get_text(&t->request);
			const char *value = pasta_wire_get_bytes(&t->request);

			if (!err.code)
				toolworker_choose_option(t, name, option, value, &err);
		}
		if (err.code)
			t->err = t->err.code ? t->err : err;
	}
	if (t->choice.count == t->result.count && !t->err.code)
		return;
	for (i = 0; i < t->result.count; i++)
		pasta_out_fail(t->result.outs[i], t->err.code ? t->err.code : -ENOENT, "%s",
			       t->err.code ? t->err.text
					   : "the plug-in library has changed, and no "
					     "longer has this tool");
}

static int toolworker_get_fd(struct pasta_wire_in *in)
{
	int64_t fd = (int64_t)pasta_wire_get_number(in);

	return fd >= 0 && fd <= INT32_MAX ? (int)fd : -1;
}

static void toolworker_get_filter(struct toolworker *t)
{
	uint64_t i, start = pasta_wire_get_number(&t->request);
	uint64_t count = pasta_wire_get_number(&t->request);

	t->filter = count ? pasta_filter_new() : NULL;
	if (count && !t->filter)
		toolworker_fail();
	for (i = 0; i < count && !t->request.bad; i++) {
		enum pasta_filter_type type = (enum pasta_filter_type)pasta_wire_get_below(
			&t->request, PASTA_FILTER_TYPES - 1);
		const char *text = pasta_wire_get_bytes(&t->request);

		pasta_filter_add(t->filter, type, text, &t->err);
	}
	if (t->filter)
		pasta_filter_start(t->filter, start);
}

/* Opens the shards. They have the same numbers and the same sizes as in accelprof. */
static void toolworker_get_shards(struct toolworker *t)
{
	uint64_t i, count = pasta_wire_get_number(&t->request);

	t->stream = pasta_stream_new(0);
	if (!t->stream)
		toolworker_fail();
	for (i = 0; i < count && !t->request.bad; i++) {
		struct pasta_shard_parts parts = {.path = pasta_wire_get_bytes(&t->request)};
		bool excluded;

		parts.file = toolworker_get_fd(&t->request);
		parts.tail = toolworker_get_fd(&t->request);
		parts.end = pasta_wire_get_number(&t->request);
		parts.limit = pasta_wire_get_number(&t->request);
		excluded = pasta_wire_get_below(&t->request, 1);
		if (pasta_stream_add_open(t->stream, &parts, t->err.code ? NULL : &t->err))
			return;
		if (excluded)
			pasta_stream_exclude(t->stream, (size_t)i);
		atomic_fetch_add(&t->calls->beats, 1);
	}
}

static void toolworker_get_run(struct toolworker *t)
{
	const char *held;
	int folder;

	t->threads = (size_t)pasta_wire_get_number(&t->request);
	pasta_sourceline_prefer_library(pasta_wire_get_below(&t->request, 1));
	toolworker_get_filter(t);
	held = pasta_wire_get_bytes(&t->request);
	folder = toolworker_get_fd(&t->request);
	if (*held && folder >= 0)
		pasta_files_hold(held, folder);
	if (!t->err.code)
		toolworker_get_shards(t);
	if (t->request.bad)
		toolworker_fail();
}

static bool toolworker_goes_on(void *ctx)
{
	struct toolworker *t = ctx;
	uint64_t done, total;

	pasta_stream_progress(t->stream, &done, &total);
	atomic_store(&t->calls->total, total);
	atomic_store(&t->calls->done, done);
	t->stopped = t->stopped || atomic_load(&t->calls->stop);
	return !t->stopped;
}

/* Sends the result before the tools are closed, so that the result is complete even if a tool
 * crashes in `close`. */
static void toolworker_reported(void *ctx)
{
	toolworker_answer_result(ctx);
}

static void toolworker_fail_all(struct toolworker *t, int error, const char *text)
{
	size_t i;

	for (i = 0; i < t->result.count; i++) {
		pasta_out_fail(t->result.outs[i], error, "cannot read the run: %s", text);
		pasta_out_end(t->result.outs[i]);
	}
}

static void toolworker_run(struct toolworker *t)
{
	struct pasta_engine_opts opts = {
		.go_on = toolworker_goes_on, .reported = toolworker_reported, .ctx = t};
	int error;

	toolworker_get_run(t);
	opts.threads = t->threads;
	opts.filter = t->filter;
	opts.calls = t->calls;
	if (t->err.code) {
		toolworker_fail_all(t, t->err.code, t->err.text);
		toolworker_answer_result(t);
		return;
	}
	error = pasta_engine_run_into(&t->choice, t->stream, t->result.outs, &opts);
	if (!error || error == -EINTR)
		return;
	toolworker_fail_all(t, error, strerror(-error));
	toolworker_answer_result(t);
}

static void toolworker_open_all(struct toolworker *t)
{
	struct pasta_toolset *toolset =
		pasta_toolset_new(&t->choice, t->result.outs, PASTA_TOOLSET_ALL);

	if (!toolset) {
		toolworker_fail();
		return;
	}
	pasta_toolset_watch(toolset, &t->calls->slots[0]);
	pasta_toolset_open(toolset);
	pasta_toolset_free(toolset);
	toolworker_answer_result(t);
}

_Noreturn void pasta_toolworker_main(int socket)
{
	struct toolworker t = {.socket = socket, .pid = getpid()};
	const char *file;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	toolworker_receive(&t);
	pasta_calls_mark_ends(t.calls);
	pasta_calls_thread(t.calls, 0);
	file = pasta_wire_get_bytes(&t.request);
	toolworker_load(&t, file);
	if (t.verb == PASTA_WORKER_LOAD) {
		toolworker_answer_tools(&t);
	} else {
		/* not an error here: when accelprof loaded the library, it reported the tools that
		 * cannot be registered */
		t.err = (struct pasta_error){0};
		toolworker_choose(&t);
		if (t.err.code || t.choice.count != t.result.count)
			toolworker_answer_result(&t);
		else if (t.verb == PASTA_WORKER_OPEN)
			toolworker_open_all(&t);
		else
			toolworker_run(&t);
	}
	fflush(stdout);
	_exit(0);
}
