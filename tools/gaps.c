/* gaps - reports what each device did in the steps, how long it was idle, and why. */
#include <stdio.h>

#include <pasta/tool.h>

enum { DETAILS = PASTA_PART_COUNT }; /* rows of causes follow the rows of parts */

/* A process, and the time that the tables cover. */
struct window {
	struct {
		uint32_t proc;
	} key;
	uint32_t source, steps_known, devices;
	uint64_t steps, all, time, launches, p50, p95, max;
};

/* A part or a cause of idle time of a device. */
struct part {
	struct {
		uint32_t proc, device, part; /* DETAILS + cause: a cause */
	} key;
	uint64_t time, window, gaps;
};

struct wait {
	struct {
		uint32_t proc, device, cause, line, op, region, module, api;
	} key;
	uint64_t time, window, gaps, longest, steps;
};

struct gap {
	struct {
		uint64_t begin;
		uint32_t proc, device;
	} key;
	uint32_t cause, line, op, region, api, work, kind;
	uint64_t time, step, after;
};

struct step {
	struct {
		uint64_t number;
		uint32_t proc, device;
	} key;
	uint32_t cause, in_window;
	uint64_t iteration, time, part[PASTA_PART_COUNT], most, kernels, launches;
};

/* What a device ran, or waited for, on the critical path. */
struct path {
	struct {
		uint32_t proc, device, part; /* as in struct part */
		uint32_t kind, kernel, direction, op, line;
	} key;
	uint64_t time, window, steps, count;
};

struct gaps {
	struct pasta_diagnosis *diagnosis;
	struct pasta_group *windows, *parts, *path, *waits, *longest, *steps;
};

static const char *const sources[] = {"none", "iterations", "optimizer", NULL};
static const char *const yes_no[] = {"no", "yes", NULL};
/* The names of parts and causes; in table 'devices', the causes follow the parts. */
static const char *const parts[] = {"compute",
				    "communication",
				    "copy",
				    "idle",
				    "idle: sync",
				    "idle: data",
				    "idle: allocator",
				    "idle: loading",
				    "idle: dispatch",
				    "idle: host",
				    "idle: dependency",
				    "idle: kernels",
				    "idle: unknown",
				    NULL};
static const char *const causes[] = {"sync", "data",	   "allocator", "loading", "dispatch",
				     "host", "dependency", "kernels",	"unknown", NULL};

/* -- Tables -- */

static bool has_steps(const void *row, const void *state)
{
	return ((const struct window *)row)->steps_known;
}

static const struct pasta_member window_members[] = {
	PASTA_MEMBER(PROCESS, struct window, key.proc, .column = "rank"),
	PASTA_MEMBER(U64, struct window, steps, .column = "steps"),
	PASTA_MEMBER(U64, struct window, all, .column = "all_steps"),
	PASTA_MEMBER(ENUM, struct window, source, .names = sources, .column = "source"),
	PASTA_MEMBER(U64, struct window, time, .unit = "ns", .column = "window"),
	PASTA_MEMBER(U64, struct window, p50, .unit = "ns", .column = "step_p50", .has = has_steps),
	PASTA_MEMBER(U64, struct window, p95, .unit = "ns", .column = "step_p95", .has = has_steps),
	PASTA_MEMBER(U64, struct window, max, .unit = "ns", .column = "step_max", .has = has_steps),
	PASTA_MEMBER(U64, struct window, launches, .column = "launches"),
	PASTA_MEMBER(U32, struct window, devices, .column = "devices"),
	PASTA_MEMBER(U32, struct window, steps_known),
	{0},
};

static bool is_idle(const void *row, const void *state)
{
	return ((const struct part *)row)->key.part >= PASTA_PART_IDLE;
}

static const struct pasta_member part_members[] = {
	PASTA_MEMBER(PROCESS, struct part, key.proc, .column = "rank"),
	PASTA_MEMBER(U32, struct part, key.device, .column = "device"),
	PASTA_MEMBER(ENUM, struct part, key.part, .names = parts, .column = "part"),
	PASTA_MEMBER(U64, struct part, time, .unit = "ns", .column = "time"),
	PASTA_MEMBER_OF(PERCENT, struct part, time, window, .column = "share"),
	PASTA_MEMBER(U64, struct part, gaps, .column = "gaps", .has = is_idle),
	PASTA_MEMBER(U64, struct part, window),
	{0},
};

static const struct pasta_member wait_members[] = {
	PASTA_MEMBER(PROCESS, struct wait, key.proc, .column = "rank"),
	PASTA_MEMBER(U32, struct wait, key.device, .column = "device"),
	PASTA_MEMBER(ENUM, struct wait, key.cause, .names = causes, .column = "cause"),
	PASTA_MEMBER(LINE, struct wait, key.line, .column = "line", .none = "",
		     .flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER(NAME, struct wait, key.op, .column = "op", .role = PASTA_ROLE_OP, .none = "",
		     .flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER(NAME, struct wait, key.region, .column = "region", .none = "",
		     .flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER(NAME, struct wait, key.module, .column = "layer", .none = "",
		     .flags = PASTA_MEMBER_OPTIONAL | PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER(NAME, struct wait, key.api, .column = "call", .none = "",
		     .flags = PASTA_MEMBER_OPTIONAL | PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER(U64, struct wait, time, .unit = "ns", .column = "time"),
	PASTA_MEMBER_OF(PERCENT, struct wait, time, window, .column = "share"),
	PASTA_MEMBER(U64, struct wait, gaps, .column = "gaps"),
	PASTA_MEMBER(U64, struct wait, longest, .unit = "ns", .column = "longest"),
	PASTA_MEMBER(U64, struct wait, steps, .column = "steps"),
	PASTA_MEMBER(U64, struct wait, window),
	{0},
};

static bool has_step(const void *row, const void *state)
{
	return ((const struct gap *)row)->step != PASTA_NO_STEP;
}

static const char *work_name(const void *row, const void *state, char *text, size_t size)
{
	const struct gap *g = row;

	return g->work ? pasta_str(g->work) : g->kind ? pasta_kind_name(g->kind) : "";
}

static const struct pasta_member gap_members[] = {
	PASTA_MEMBER(PROCESS, struct gap, key.proc, .column = "rank"),
	PASTA_MEMBER(U32, struct gap, key.device, .column = "device"),
	PASTA_MEMBER(U64, struct gap, after, .unit = "ns", .column = "after"),
	PASTA_MEMBER(U64, struct gap, time, .unit = "ns", .column = "time"),
	PASTA_MEMBER(ENUM, struct gap, cause, .names = causes, .column = "cause"),
	PASTA_MEMBER(U64, struct gap, step, .column = "step", .has = has_step),
	PASTA_MEMBER(LINE, struct gap, line, .column = "line", .none = "",
		     .flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER(NAME, struct gap, op, .column = "op", .role = PASTA_ROLE_OP, .none = "",
		     .flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER(NAME, struct gap, region, .column = "region", .none = "",
		     .flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER(NAME, struct gap, api, .column = "call", .none = "",
		     .flags = PASTA_MEMBER_OPTIONAL | PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER_BY(TEXT, .text = work_name, .column = "next"),
	PASTA_MEMBER(U64, struct gap, key.begin),
	PASTA_MEMBER(U32, struct gap, work),
	PASTA_MEMBER(U32, struct gap, kind),
	{0},
};

static bool has_iteration(const void *row, const void *state)
{
	return ((const struct step *)row)->iteration != PASTA_NO_ITERATION;
}

static bool has_idle(const void *row, const void *state)
{
	return ((const struct step *)row)->most;
}

static const char *main_cause(const void *row, const void *state, char *text, size_t size)
{
	const struct step *s = row;

	return s->most ? causes[s->cause] : "";
}

static const struct pasta_member step_members[] = {
	PASTA_MEMBER(PROCESS, struct step, key.proc, .column = "rank"),
	PASTA_MEMBER(U32, struct step, key.device, .column = "device"),
	PASTA_MEMBER(U64, struct step, key.number, .column = "step"),
	PASTA_MEMBER(U64, struct step, iteration, .column = "iteration", .has = has_iteration),
	PASTA_MEMBER(ENUM, struct step, in_window, .names = yes_no, .column = "window"),
	PASTA_MEMBER(U64, struct step, time, .unit = "ns", .column = "time"),
	PASTA_MEMBER(U64, struct step, part[PASTA_PART_COMPUTE], .unit = "ns", .column = "compute"),
	PASTA_MEMBER(U64, struct step, part[PASTA_PART_COMMUNICATION], .unit = "ns",
		     .column = "communication"),
	PASTA_MEMBER(U64, struct step, part[PASTA_PART_COPY], .unit = "ns", .column = "copy"),
	PASTA_MEMBER(U64, struct step, part[PASTA_PART_IDLE], .unit = "ns", .column = "idle"),
	PASTA_MEMBER_BY(TEXT, .text = main_cause, .column = "cause"),
	PASTA_MEMBER(U64, struct step, most, .unit = "ns", .column = "cause_time", .has = has_idle),
	PASTA_MEMBER(U64, struct step, kernels, .column = "kernels"),
	PASTA_MEMBER(U64, struct step, launches, .column = "launches"),
	PASTA_MEMBER(U32, struct step, cause),
	{0},
};

static const char *path_part(const void *row, const void *state, char *text, size_t size)
{
	const struct path *p = row;

	if (p->key.kind == PASTA_KIND_SET)
		return "fill";
	if (p->key.kind != PASTA_KIND_COPY)
		return parts[p->key.part];
	snprintf(text, size, "copy %s", pasta_subtype_name(PASTA_KIND_COPY, p->key.direction));
	return text;
}

static int64_t per_step(const void *row, const void *state)
{
	const struct path *p = row;

	return p->steps ? (int64_t)(p->time / p->steps) : PASTA_NO_VALUE;
}

static const struct pasta_member path_members[] = {
	PASTA_MEMBER(PROCESS, struct path, key.proc, .column = "rank"),
	PASTA_MEMBER(U32, struct path, key.device, .column = "device"),
	PASTA_MEMBER_BY(TEXT, .text = path_part, .column = "part"),
	PASTA_MEMBER(NAME, struct path, key.kernel, .column = "kernel", .role = PASTA_ROLE_KERNEL,
		     .none = "", .flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER(NAME, struct path, key.op, .column = "op", .role = PASTA_ROLE_OP, .none = "",
		     .flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER(LINE, struct path, key.line, .column = "line", .none = "",
		     .flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER(SUM, struct path, time, .unit = "ns", .column = "time"),
	PASTA_MEMBER_OF(PERCENT, struct path, time, window, .column = "share"),
	PASTA_MEMBER_BY(CALL, .call = per_step, .unit = "ns", .column = "per_step"),
	PASTA_MEMBER(SUM, struct path, count, .column = "count"),
	PASTA_MEMBER(U32, struct path, key.part),
	PASTA_MEMBER(U32, struct path, key.kind),
	PASTA_MEMBER(U32, struct path, key.direction),
	PASTA_MEMBER(U64, struct path, window),
	PASTA_MEMBER(U64, struct path, steps),
	{0},
};

static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct gaps, windows, struct window, window_members, .table = "windows",
		    .order = "rank"),
	PASTA_GROUP(struct gaps, parts, struct part, part_members, .table = "devices",
		    .order = "rank device part"),
	PASTA_GROUP(struct gaps, path, struct path, path_members, .table = "path",
		    .order = "-time rank device part kernel op line", .limit_option = "rows",
		    .flags = PASTA_GROUP_REST, .rest = "other rows"),
	PASTA_GROUP(struct gaps, waits, struct wait, wait_members, .table = "gaps",
		    .order = "-time rank device cause", .limit_option = "rows",
		    .flags = PASTA_GROUP_REST, .rest = "other rows"),
	PASTA_GROUP(struct gaps, longest, struct gap, gap_members, .table = "longest",
		    .order = "-time rank device after", .limit_option = "longest"),
	PASTA_GROUP(struct gaps, steps, struct step, step_members, .table = "steps",
		    .order = "rank device step", .limit_option = "steps", .limit_per = 2,
		    .flags = PASTA_GROUP_OPTIONAL),
	{0},
};

/* -- Rows -- */

static void add_windows(const struct gaps *g)
{
	const struct pasta_window *w;

	for (size_t at = 0; (w = pasta_diagnosis_window(g->diagnosis, &at));) {
		struct window *row = PASTA_ROW(g->windows, struct window, w->proc);

		row->source = w->source;
		row->steps_known = w->steps != 0;
		row->devices = w->devices;
		row->steps = w->steps;
		row->all = w->all;
		row->time = w->end - w->begin;
		row->launches = w->launches;
		row->p50 = w->step_p50;
		row->p95 = w->step_p95;
		row->max = w->step_max;
	}
}

static void add_part(const struct gaps *g, const struct pasta_usage *u, uint32_t part,
		     uint64_t time, uint64_t count)
{
	struct part *row = PASTA_ROW(g->parts, struct part, u->proc, u->device, part);

	row->time = time;
	row->window = u->time;
	row->gaps = count;
}

static void add_parts(const struct gaps *g)
{
	const struct pasta_usage *u;

	for (size_t at = 0; (u = pasta_diagnosis_usage(g->diagnosis, &at));) {
		uint64_t count = 0;

		for (uint32_t i = 0; i < PASTA_CAUSE_COUNT; i++) {
			if (u->gaps[i])
				add_part(g, u, DETAILS + i, u->cause[i], u->gaps[i]);
			count += u->gaps[i];
		}
		for (uint32_t i = 0; i < PASTA_PART_COUNT; i++)
			add_part(g, u, i, u->part[i], count);
	}
}

static const struct window *window_of(const struct gaps *g, uint32_t proc)
{
	return PASTA_ROW(g->windows, struct window, proc);
}

static void add_path_row(const struct gaps *g, struct path *row, uint64_t time, uint64_t count)
{
	const struct window *w = window_of(g, row->key.proc);

	row->time += time;
	row->count += count;
	row->window = w->time;
	row->steps = w->steps;
}

static void add_path(const struct gaps *g)
{
	const struct pasta_busy *b;
	const struct pasta_wait *w;

	for (size_t at = 0; (b = pasta_diagnosis_busy(g->diagnosis, &at));)
		add_path_row(g,
			     PASTA_ROW(g->path, struct path, b->proc, b->device, b->part, b->kind,
				       b->kernel, b->direction, 0, 0),
			     b->ns, b->count);
	for (size_t at = 0; (w = pasta_diagnosis_wait(g->diagnosis, &at));)
		add_path_row(g,
			     PASTA_ROW(g->path, struct path, w->proc, w->device, DETAILS + w->cause,
				       0, 0, 0, w->op, w->line),
			     w->ns, w->gaps);
}

static void add_waits(const struct gaps *g)
{
	const struct pasta_wait *w;

	for (size_t at = 0; (w = pasta_diagnosis_wait(g->diagnosis, &at));) {
		struct wait *row = PASTA_ROW(g->waits, struct wait, w->proc, w->device, w->cause,
					     w->line, w->op, w->region, w->module, w->api);

		row->time = w->ns;
		row->window = window_of(g, w->proc)->time;
		row->gaps = w->gaps;
		row->longest = w->max;
		row->steps = w->steps;
	}
}

static void add_longest(const struct gaps *g)
{
	const struct pasta_gap *x;

	for (size_t at = 0; (x = pasta_diagnosis_gap(g->diagnosis, &at));) {
		struct gap *row = PASTA_ROW(g->longest, struct gap, x->begin, x->proc, x->device);
		const struct pasta_window *w;
		size_t next = 0;

		while ((w = pasta_diagnosis_window(g->diagnosis, &next)) && w->proc != x->proc)
			;
		row->after = w ? x->begin - w->begin : 0;
		row->cause = x->cause;
		row->line = x->line;
		row->op = x->op;
		row->region = x->region;
		row->api = x->api;
		row->work = x->work;
		row->kind = x->kind;
		row->time = x->end - x->begin;
		row->step = x->step;
	}
}

static void add_steps(const struct gaps *g)
{
	const struct pasta_step *s;

	for (size_t at = 0; (s = pasta_diagnosis_step(g->diagnosis, &at));) {
		struct step *row = PASTA_ROW(g->steps, struct step, s->number, s->proc, s->device);

		row->in_window = s->in_window;
		row->iteration = s->iteration;
		row->time = s->end - s->begin;
		row->kernels = s->kernels;
		row->launches = s->launches;
		for (uint32_t i = 0; i < PASTA_PART_COUNT; i++)
			row->part[i] = s->part[i];
		for (uint32_t i = 0; i < PASTA_CAUSE_COUNT; i++) {
			if (s->cause[i] <= row->most)
				continue;
			row->most = s->cause[i];
			row->cause = i;
		}
	}
}

/* -- Report -- */

static void note_window(const struct gaps *g, struct pasta_out *out)
{
	const struct window *w;
	size_t at = 0, skipped = 0, none = 0, few = 0;

	while ((w = pasta_group_next(g->windows, &at))) {
		skipped += w->steps < w->all;
		none += !w->steps;
		few += w->steps && w->steps == w->all;
	}
	if (skipped)
		pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
				 .what = "times and shares exclude the first two steps",
				 .evidence = "column 'share' is in percent of the window, which "
					     "lasts from the third step to the end of the last; "
					     "table 'steps' has all steps");
	if (few)
		pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
				 .what = "the run has fewer than five steps, so times and shares "
					 "include the first steps",
				 .evidence = "column 'share' is in percent of the time of all "
					     "steps");
	if (none)
		pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
				 .what = "steps are not known",
				 .evidence = "column 'share' is in percent of the time from the "
					     "first work on a device to the end of the last",
				 .action = "report steps with pasta_iteration or "
					   "accelprof.step");
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	const struct gaps *g = state;

	add_windows(g);
	add_parts(g);
	add_path(g);
	add_waits(g);
	add_longest(g);
	add_steps(g);
	note_window(g, out);
	return pasta_out_groups(out, state, err);
}

static const struct pasta_option options[] = {
	{"rows", "100", "maximum number of rows of tables 'path' and 'gaps'; 0: all",
	 PASTA_OPTION_NUMBER},
	{"longest", "20", "maximum number of rows of table 'longest'; 0: all", PASTA_OPTION_NUMBER},
	{"steps", "100", "maximum number of steps of each device in table 'steps'; 0: all",
	 PASTA_OPTION_NUMBER},
	{0},
};

static const struct pasta_diagnosis_def diagnosis = PASTA_DIAGNOSIS(struct gaps, diagnosis);

PASTA_TOOL(.name = "gaps", .summary = "idle time of devices in each step, and its causes",
	   .needs = PASTA_NEED_SCOPES | PASTA_NEED_OPS | PASTA_NEED_PYTHON,
	   .flags = PASTA_TOOL_SHARDED, .state_size = sizeof(struct gaps), .options = options,
	   .groups = groups, .report = report, .diagnosis = &diagnosis);
