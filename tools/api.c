/* api - reports calls of the vendor's APIs: by function and line, waits by kind, program builds. */
#include <inttypes.h>
#include <stdio.h>

#include <pasta/tool.h>

/* maximum number of calls that are stored because a wait with their correlation id may follow */
#define RECENT (1 << 14)
/* number of frames of a call path that are searched for a line */
#define FRAMES 16
#define FUNCTIONS 5 /* report the errors of at most this many functions, each as a finding */
/* cudaErrorNotReady, hipErrorNotReady and CUDA_ERROR_NOT_READY: the answer of a query, not an
 * error */
#define NOT_READY 600

/* Calls of one function. */
struct call {
	uint32_t key; /* name */
	struct pasta_hist *time;
	/* ns of calls inside calls of this function, such as calls of the driver that the runtime
	 * makes */
	uint64_t nested;
	uint64_t errors;
	uint64_t of; /* ns of the threads that call the function; computed when the tool reports */
};

/* Calls of one function by one line, in one operator. */
struct line {
	struct {
		uint32_t line, op, name;
	} key;
	struct pasta_hist *time;
};

/* Waits of one kind. */
struct wait {
	uint32_t key; /* enum pasta_sync_sub */
	struct pasta_hist *time;
	uint64_t of; /* as in struct call */
};

struct wait_line {
	struct {
		uint32_t line, op, sub;
	} key;
	struct pasta_stat time;
};

/* Code that was built or loaded. */
struct build {
	struct {
		uint32_t name, device;
	} key;
	uint64_t loads, bytes;
	struct pasta_stat time; /* of loads whose duration is known */
};

struct failure {
	struct {
		uint32_t name, status;
	} key;
	uint64_t calls;
};

/* A call that has not ended when a later event of the thread begins. */
struct frame {
	uint64_t begin, end, corr;
	uint32_t name, line, op, reserved;
};

struct thread {
	struct {
		uint32_t proc, tid;
	} key;
	struct pasta_list frames;
	uint64_t calls, busy, waits, waited;
	uint64_t launched; /* time of the last launch with a call path */
	uint32_t line;	   /* of that launch */
	uint32_t reserved;
	/* start of the first event, end of the last event, and end of the last call */
	uint64_t begin, end, busy_end;
	uint64_t span; /* computed when the tool reports */
};

/* A function or a kind of wait in one thread. */
struct part {
	struct {
		uint32_t proc, tid, wait, id;
	} key;
	uint64_t calls;
};

/* A cache entry: the source line of a call path. */
struct site {
	uint32_t key[2]; /* process, call path */
	uint32_t line, known;
};

/* The line and thread of a recent call. */
struct recent {
	uint32_t tid, line, op, reserved;
};

struct api {
	struct pasta_group *calls, *lines, *waits, *wait_lines, *builds, *failures, *threads;
	struct pasta_group *parts, *sites;
	struct pasta_pending *recent;
	bool located; /* the line or operator of a call is known; computed when the tool reports */
};

/* -- Tables -- */

static uint64_t hist_total(const struct pasta_hist *time)
{
	return time ? pasta_hist_sum(time) : 0;
}

static double call_share(const void *row, const void *state)
{
	const struct call *c = row;

	return pasta_percent(hist_total(c->time), c->of);
}

static double wait_share(const void *row, const void *state)
{
	const struct wait *w = row;

	return pasta_percent(hist_total(w->time), w->of);
}

static const char *thread_text(const void *row, const void *state, char *text, size_t size)
{
	const struct thread *t = row;

	snprintf(text, size, "%s", pasta_thread(t->key.proc, t->key.tid)->text);
	return text;
}

static const struct pasta_member call_members[] = {
	PASTA_MEMBER(NAME, struct call, key, .column = "function"),
	PASTA_MEMBER(HIST, struct call, time, .unit = "ns",
		     .column = "count=calls,total,mean,p50,p95,max"),
	PASTA_MEMBER(SUM, struct call, nested, .unit = "ns", .column = "nested",
		     .flags = PASTA_MEMBER_OPTIONAL),
	PASTA_MEMBER(SUM, struct call, errors, .column = "errors", .flags = PASTA_MEMBER_OPTIONAL),
	PASTA_MEMBER_BY(RATIO, .ratio = call_share, .unit = "%", .column = "share"),
	{0},
};

static const struct pasta_member line_members[] = {
	PASTA_MEMBER(LINE, struct line, key.line, .column = "line", .none = "(unknown)"),
	PASTA_MEMBER(NAME, struct line, key.op, .column = "op", .none = "",
		     .flags = PASTA_MEMBER_OPTIONAL),
	PASTA_MEMBER(NAME, struct line, key.name, .column = "function"),
	PASTA_MEMBER(HIST, struct line, time, .unit = "ns",
		     .column = "count=calls,total,mean,p95,max,share"),
	{0},
};

static const struct pasta_member wait_members[] = {
	PASTA_MEMBER(SUBTYPE, struct wait, key, .of = PASTA_KIND_SYNC, .column = "wait"),
	PASTA_MEMBER(HIST, struct wait, time, .unit = "ns",
		     .column = "count=calls,total,mean,p50,p95,max"),
	PASTA_MEMBER_BY(RATIO, .ratio = wait_share, .unit = "%", .column = "share"),
	{0},
};

static const struct pasta_member wait_line_members[] = {
	PASTA_MEMBER(LINE, struct wait_line, key.line, .column = "line", .none = "(unknown)"),
	PASTA_MEMBER(NAME, struct wait_line, key.op, .column = "op", .none = "",
		     .flags = PASTA_MEMBER_OPTIONAL),
	PASTA_MEMBER(SUBTYPE, struct wait_line, key.sub, .of = PASTA_KIND_SYNC, .column = "wait"),
	PASTA_MEMBER(STAT, struct wait_line, time, .unit = "ns",
		     .column = "count=calls,total,mean,max,share"),
	{0},
};

static const struct pasta_member build_members[] = {
	PASTA_MEMBER(NAME, struct build, key.name, .column = "module"),
	PASTA_MEMBER(DEVICE, struct build, key.device, .column = "device"),
	PASTA_MEMBER(SUM, struct build, loads, .column = "loads"),
	PASTA_MEMBER(SUM, struct build, bytes, .unit = "bytes", .column = "bytes"),
	PASTA_MEMBER(STAT, struct build, time, .unit = "ns", .column = "total,mean,max"),
	{0},
};

static const struct pasta_member thread_members[] = {
	PASTA_MEMBER(PROCESS, struct thread, key.proc),
	PASTA_MEMBER(U32, struct thread, key.tid),
	PASTA_MEMBER_BY(TEXT, .text = thread_text, .column = "thread"),
	PASTA_MEMBER(SUM, struct thread, calls, .column = "calls"),
	PASTA_MEMBER(SUM, struct thread, busy, .unit = "ns", .column = "api"),
	PASTA_MEMBER(U64, struct thread, span, .unit = "ns", .column = "span"),
	PASTA_MEMBER_OF(PERCENT, struct thread, busy, span, .column = "share"),
	PASTA_MEMBER(SUM, struct thread, waits, .column = "waits"),
	PASTA_MEMBER(SUM, struct thread, waited, .unit = "ns", .column = "waited"),
	PASTA_MEMBER_OF(PERCENT, struct thread, waited, span, .column = "waited_share"),
	PASTA_MEMBER(MIN, struct thread, begin),
	PASTA_MEMBER(MAX, struct thread, end),
	PASTA_MEMBER(MAX, struct thread, busy_end),
	PASTA_MEMBER(LIST, struct thread, frames, .item_size = sizeof(struct frame)),
	{0},
};

static bool thread_called(const void *row, const void *state)
{
	const struct thread *t = row;

	return t->calls || t->waits;
}

static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct api, calls, struct call, call_members, .table = "api",
		    .order = "-total function"),
	PASTA_GROUP(struct api, lines, struct line, line_members, .table = "api_lines",
		    .order = "-total line op function", .flags = PASTA_GROUP_OPTIONAL),
	PASTA_GROUP(struct api, waits, struct wait, wait_members, .table = "waits",
		    .order = "-total wait", .flags = PASTA_GROUP_OPTIONAL),
	PASTA_GROUP(struct api, wait_lines, struct wait_line, wait_line_members,
		    .table = "wait_lines", .order = "-total line op wait",
		    .flags = PASTA_GROUP_OPTIONAL),
	PASTA_GROUP(struct api, builds, struct build, build_members, .table = "builds",
		    .order = "-total -loads module device", .flags = PASTA_GROUP_OPTIONAL),
	PASTA_GROUP(struct api, threads, struct thread, thread_members, .table = "threads",
		    .order = "-api -waited thread", .keep = thread_called,
		    .flags = PASTA_GROUP_OPTIONAL),
	PASTA_GROUP_HIDDEN(struct api, failures, struct failure,
			   PASTA_MEMBER(SUM, struct failure, calls)),
	PASTA_GROUP_HIDDEN(struct api, parts, struct part, PASTA_MEMBER(SUM, struct part, calls)),
	PASTA_GROUP_HIDDEN(struct api, sites, struct site, {0}),
	{0},
};

/* -- Collecting -- */

static int open_(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	struct api *a = state;

	a->recent = pasta_pending_new(sizeof(struct recent), RECENT);
	return a->recent ? 0 : pasta_fail(err, -ENOMEM, "out of memory");
}

static void close_(void *state)
{
	pasta_pending_free(((struct api *)state)->recent);
}

/* Returns the innermost line of a call path or, without one, the name of its innermost function. */
static uint32_t line_of(struct api *a, uint32_t proc, uint32_t stack, bool python)
{
	struct pasta_stack_frame frames[FRAMES];
	struct site *site;
	size_t count, i = 0;
	char text[400];

	if (!stack)
		return 0;
	site = PASTA_ROW(a->sites, struct site, proc, stack);
	if (site->known)
		return site->line;
	site->known = 1;
	if (python) {
		if (pasta_python_frame(proc, stack, frames))
			site->line = pasta_stack_frame_line(frames);
		return site->line;
	}
	count = pasta_stack_frames(proc, stack, frames, FRAMES);
	count = count < FRAMES ? count : FRAMES;
	while (i < count && !*frames[i].file)
		i++;
	if (i < count)
		site->line = pasta_stack_frame_line(&frames[i]);
	else if (*pasta_stack_line(proc, stack, text, sizeof(text)))
		site->line = pasta_group_intern(a->sites, text, strlen(text));
	return site->line;
}

static uint32_t op_of(const struct pasta_where *where)
{
	return where->scope && where->scope->op ? where->scope->op->name : 0;
}

static uint64_t end_of(uint64_t begin, uint64_t dur)
{
	return begin + dur < begin ? UINT64_MAX : begin + dur;
}

/* Extends the time of a thread. */
static struct thread *thread_at(struct api *a, uint32_t proc, uint32_t tid, uint64_t begin,
				uint64_t end)
{
	struct thread *t = PASTA_ROW(a->threads, struct thread, proc, tid);

	if (!t->end || begin < t->begin)
		t->begin = begin;
	t->end = end > t->end ? end : t->end;
	return t;
}

/* Counts the calls of a thread that ended before `time` by line. */
static void end_calls(struct api *a, struct thread *t, uint64_t time)
{
	const struct frame *frames = t->frames.items;

	while (t->frames.count && frames[t->frames.count - 1].end <= time) {
		const struct frame *f = &frames[--t->frames.count];
		struct line *l = PASTA_ROW(a->lines, struct line, f->line, f->op, f->name);

		pasta_group_hist(a->lines, &l->time, f->end - f->begin);
	}
}

/* Subtracts a call from the time that belongs to the enclosing call alone. */
static void nest_call(const struct api *a, const struct thread *t, uint64_t begin, uint64_t end)
{
	const struct frame *outer = t->frames.items;

	if (!t->frames.count)
		return;
	outer += t->frames.count - 1;
	PASTA_ROW(a->calls, struct call, outer->name)->nested +=
		(end < outer->end ? end : outer->end) - begin;
}

static void on_failure(struct api *a, struct call *call, const struct pasta_api_record *r)
{
	bool answer = r->status == NOT_READY && strstr(pasta_str(r->name), "Query");

	if (!r->status || answer)
		return;
	call->errors++;
	PASTA_ROW(a->failures, struct failure, r->name, r->status)->calls++;
}

static void on_call(struct api *a, const struct pasta_event *ev, const struct pasta_where *where)
{
	const struct pasta_api_record *r = &ev->api;
	uint64_t end = end_of(ev->time, r->dur), busy_from;
	struct thread *t = thread_at(a, ev->proc, ev->tid, ev->time, end);
	struct call *call = PASTA_ROW(a->calls, struct call, r->name);
	uint32_t line = line_of(a, ev->proc, pasta_python_of(ev, where), true);
	struct frame *frame;

	/* OpenCL's launches come before their calls, with the same time. */
	if (!line && t->launched == ev->time)
		line = t->line;
	end_calls(a, t, ev->time);
	nest_call(a, t, ev->time, end);
	frame = pasta_group_append(a->threads, &t->frames, sizeof(*frame));
	*frame = (struct frame){ev->time, end, r->corr, r->name, line, op_of(where), 0};
	pasta_group_hist(a->calls, &call->time, r->dur);
	busy_from = t->busy_end > ev->time ? t->busy_end : ev->time;
	t->busy += end > busy_from ? end - busy_from : 0;
	t->busy_end = end > t->busy_end ? end : t->busy_end;
	t->calls++;
	PASTA_ROW(a->parts, struct part, ev->proc, ev->tid, 0, r->name)->calls++;
	on_failure(a, call, r);
	if (r->corr) {
		struct recent *recent = pasta_pending_add(a->recent, ev->proc, r->corr);

		/* The runtime and the driver call that it makes have one correlation id. */
		if (recent && !recent->tid)
			*recent = (struct recent){ev->tid, line, op_of(where), 0};
		else if (!recent)
			pasta_group_fail(a->calls, -ENOMEM);
	}
}

/* Sets the line of the calls that make a launch, if the launch has a call path and the calls have
 * no line. */
static void on_launch(struct api *a, const struct pasta_event *ev, const struct pasta_where *where)
{
	uint32_t stack = ev->launch.stack, line;
	struct thread *t = thread_at(a, ev->proc, ev->tid, ev->time, ev->time);
	struct frame *frames = t->frames.items;

	end_calls(a, t, ev->time);
	if (!stack)
		return;
	line = line_of(a, ev->proc, stack, pasta_python_of(ev, where) == stack);
	t->launched = ev->time;
	t->line = line;
	for (uint32_t i = 0; i < t->frames.count; i++)
		if (!frames[i].line)
			frames[i].line = line;
}

/* A wait has the line and thread of the call with its correlation id. */
static void on_wait(struct api *a, const struct pasta_event *ev, const struct pasta_where *where)
{
	struct recent own = {ev->tid, 0, op_of(where), 0};
	const struct recent *from =
		ev->sync.corr ? pasta_pending_find(a->recent, ev->proc, ev->sync.corr) : NULL;
	struct wait *w = PASTA_ROW(a->waits, struct wait, ev->sub);
	uint32_t tid = from ? from->tid : ev->tid;
	struct thread *t = thread_at(a, ev->proc, tid, ev->time, end_of(ev->time, ev->sync.dur));

	if (!from) {
		own.line = line_of(a, ev->proc, pasta_python_of(ev, where), true);
		if (!own.line && t->launched == ev->time)
			own.line = t->line;
		from = &own;
	}
	pasta_group_hist(a->waits, &w->time, ev->sync.dur);
	pasta_stat_add(
		&PASTA_ROW(a->wait_lines, struct wait_line, from->line, from->op, ev->sub)->time,
		ev->sync.dur);
	PASTA_ROW(a->parts, struct part, ev->proc, tid, 1, ev->sub)->calls++;
	/* A stream that waits for an event does not keep the thread. */
	if (ev->sub == PASTA_SYNC_STREAM_WAIT)
		return;
	t->waits++;
	t->waited = t->waited + ev->sync.dur < t->waited ? UINT64_MAX : t->waited + ev->sync.dur;
}

static void on_build(struct api *a, const struct pasta_event *ev)
{
	const struct pasta_module_record *r = &ev->module;
	struct build *b;

	if (ev->sub != PASTA_MODULE_LOAD || r->device == PASTA_MODULE_HOST || !r->dur)
		return;
	b = PASTA_ROW(a->builds, struct build, r->name, r->device);
	b->loads++;
	b->bytes += r->bytes;
	pasta_stat_add(&b->time, r->dur);
}

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	if (ev->kind == PASTA_KIND_API)
		on_call(state, ev, where);
	else if (ev->kind == PASTA_KIND_LAUNCH)
		on_launch(state, ev, where);
	else if (ev->kind == PASTA_KIND_SYNC)
		on_wait(state, ev, where);
	else
		on_build(state, ev);
}

/* -- Reporting -- */

/* Computes the time of the threads that call each function. */
static void measure(struct api *a)
{
	const struct wait_line *wait;
	const struct part *part;
	const struct line *line;
	struct thread *t;

	for (size_t at = 0; (t = pasta_group_next(a->threads, &at));) {
		end_calls(a, t, UINT64_MAX);
		t->span = t->end > t->begin ? t->end - t->begin : 0;
	}
	for (size_t at = 0; (line = pasta_group_next(a->lines, &at));)
		a->located |= line->key.line || line->key.op;
	for (size_t at = 0; (wait = pasta_group_next(a->wait_lines, &at));)
		a->located |= wait->key.line || wait->key.op;
	for (size_t at = 0; (part = pasta_group_next(a->parts, &at));) {
		uint64_t span =
			PASTA_ROW(a->threads, struct thread, part->key.proc, part->key.tid)->span;
		uint64_t *of = part->key.wait ? &PASTA_ROW(a->waits, struct wait, part->key.id)->of
					      : &PASTA_ROW(a->calls, struct call, part->key.id)->of;

		*of = *of + span < *of ? UINT64_MAX : *of + span;
	}
}

/* Returns the most frequent status among the failed calls of a function. */
static uint32_t usual_status(const struct api *a, uint32_t name)
{
	const struct failure *f, *most = NULL;

	for (size_t at = 0; (f = pasta_group_next(a->failures, &at));)
		if (f->key.name == name &&
		    (!most || f->calls > most->calls ||
		     (f->calls == most->calls && f->key.status < most->key.status)))
			most = f;
	return most ? most->key.status : 0;
}

static void find_failures(struct api *a, struct pasta_out *out)
{
	uint64_t others = 0, rest = 0;
	const struct call *c;
	char evidence[100];

	for (size_t at = 0, n = 0; (c = pasta_group_next_by(a->calls, "-errors function", &at));) {
		if (!c->errors)
			break;
		if (n++ >= FUNCTIONS) {
			others++;
			rest += c->errors;
			continue;
		}
		snprintf(evidence, sizeof(evidence),
			 "the most frequent status is %" PRId32 "; %.1f%% of the calls fail",
			 (int32_t)usual_status(a, c->key),
			 pasta_percent(c->errors, pasta_hist_count(c->time)));
		pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, .count = c->errors,
				 .what = "calls that return an error", .where = pasta_name(c->key),
				 .evidence = evidence,
				 .action = "check the status of this function in the program");
	}
	snprintf(evidence, sizeof(evidence), "%" PRIu64 " more functions", others);
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(rest),
			 .what = "calls of other functions that return an error",
			 .evidence = evidence);
}

static void find_nothing(const struct api *a, struct pasta_out *out)
{
	if (pasta_group_count(a->calls))
		return;
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
			 .what = "the run has no calls of a vendor's API",
			 .evidence = "accelprof records these calls only for tools that read them",
			 .action = "record the program with: accelprof run -t api -- PROGRAM");
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct api *a = state;

	measure(a);
	find_nothing(a, out);
	find_failures(a, out);
	pasta_out_group(out, a->calls);
	if (a->located) {
		pasta_out_group(out, a->lines);
		pasta_out_group(out, a->wait_lines);
	}
	pasta_out_group(out, a->waits);
	pasta_out_group(out, a->builds);
	pasta_out_group(out, a->threads);
	return 0;
}

PASTA_TOOL(.name = "api", .summary = "calls of the vendor's APIs and waits, by function and line",
	   .events = PASTA_MASK(API) | PASTA_MASK(SYNC) | PASTA_MASK(LAUNCH) | PASTA_MASK(MODULE),
	   .needs = PASTA_NEED_SCOPES | PASTA_NEED_OPS, .state_size = sizeof(struct api),
	   .open = open_, .event = on_event, .report = report, .close = close_,
	   .flags = PASTA_TOOL_SHARDED, .groups = groups);
