/* python_flame - reports device time by Python call path, operator and kernel, or host time by
 * Python call path and operator. */
#include <pasta/tool.h>

/* Flags of work in the backward pass whose forward operator is unknown, because the operator has
 * expired. */
#define EXPIRED (PASTA_WHERE_BACKWARD | PASTA_WHERE_EXPIRED)
#ifndef LEAVES		 /* tests set a lower limit */
#define LEAVES (1 << 20) /* maximum number of leaves (struct leaf) per shard */
#endif
#define OPS 256	    /* maximum number of operators in a stack; the outermost ones are left out */
#define FRAMES 4096 /* maximum number of frames in a call path */
#define STACK (FRAMES + OPS + 3)
#define TEXT 300 /* maximum size of a frame's text in bytes */

/* How much is known about the origin of work. OTHER stands for work whose path is not among the
 * first LEAVES paths of its shard. */
enum known { LINED, NO_LINE, NO_OP, NO_LAUNCH, OTHER, OUTSIDE, KNOWNS };

static const char *const known_names[KNOWNS] = {
	"",	   "(no Python line)",	 "(no operator)", "(launch not known)",
	"(other)", "(outside operators)"};

/*
 * Device work with the same name, Python call path and path of operators; or, for host time, the
 * time of operators with the same two paths, or the time that threads spend in a region and outside
 * of operators.
 */
struct leaf {
	struct {
		/* 0: unknown. `path` is the scope of the operators, or of the region. */
		uint32_t python, path, name;
		/* kind of the work, or of the event for host time; 0 stands for everything whose
		 * path is not among the first LEAVES paths of the shard */
		uint32_t kind;
		uint32_t sub;	/* subtype of copies */
		uint32_t flags; /* PASTA_WHERE_LAUNCH and PASTA_WHERE_BACKWARD */
	} key;
	uint64_t count, ns, expired;
	/* the struct python of the leaf's call path; set when the tool reports */
	const struct python *from;
};
static const struct leaf other_leaf;

/* Host time of a thread outside of operators and regions. It counts only if the thread has a region
 * or an operator of the forward pass: a thread of autograd waits between operators. */
struct thread {
	uint32_t key[2]; /* process, thread */
	uint64_t outside, counts;
};

/* A row of the table `lines`: a line of Python, or a label such as "(no operator)" if the line is
 * unknown. Like struct python, it is computed when the tool reports. */
struct row {
	uint32_t key; /* id of the line, or of an interned label */
	uint32_t function, file, line;
	uint64_t self, total, backward, kernels;
	const struct leaf *last; /* the last leaf whose time was added to `total` */
};

struct frame {
	uint32_t text;
	struct row *line; /* NULL: not in a file */
};

struct python {
	uint32_t key, known;
	struct pasta_list frames; /* innermost first */
	struct row *line;	  /* the innermost line of the path, or NULL */
};

struct flame {
	/* `lines` has the rows for device time and `host_lines` the rows for host time; `rows` is
	 * one of them */
	struct pasta_group *leaves, *lines, *host_lines, *rows, *pythons, *threads;
	bool copies, host;
	/* ns of work or operators whose line is known, of those in an operator, and of everything;
	 * computed when the tool reports */
	uint64_t lined, with_op, all;
	struct pasta_stack_frame frames[FRAMES];
};

/* -- Stacks of the chart -- */

static enum known known_of(const struct leaf *leaf)
{
	if (!leaf->key.kind)
		return OTHER;
	if (leaf->key.kind == PASTA_KIND_REGION)
		return OUTSIDE;
	if (leaf->key.kind == PASTA_KIND_OP_BEGIN)
		return leaf->from->line ? LINED : NO_LINE;
	if (!(leaf->key.flags & PASTA_WHERE_LAUNCH))
		return NO_LAUNCH;
	return leaf->from->line ? LINED : leaf->key.path ? NO_LINE : NO_OP;
}

static const char *work_text(const struct leaf *leaf)
{
	static const char *const ways[] = {[0] = "[copy]",
					   [PASTA_COPY_H2D] = "[copy h2d]",
					   [PASTA_COPY_D2H] = "[copy d2h]",
					   [PASTA_COPY_D2D] = "[copy d2d]",
					   [PASTA_COPY_H2H] = "[copy h2h]",
					   [PASTA_COPY_P2P] = "[copy p2p]"};

	if (leaf->key.kind == PASTA_KIND_SET)
		return "[fill]";
	if (leaf->key.kind == PASTA_KIND_COPY)
		return ways[leaf->key.sub < sizeof(ways) / sizeof(*ways) ? leaf->key.sub : 0];
	return pasta_name(leaf->key.name);
}

/* Writes the frames of a leaf to `stack`, outermost first. Returns the number of frames. */
static size_t fill_stack(const struct leaf *leaf, const char **stack)
{
	const struct pasta_scope *op = pasta_scope_find(leaf->key.path);
	const struct frame *frames = leaf->from->frames.items;
	enum known known = known_of(leaf);
	size_t n = 0, ops = op && op->depth < OPS ? op->depth : op ? OPS : 0, at;

	if (known != LINED)
		stack[n++] = known_names[known];
	if (known == OTHER)
		return n;
	for (at = leaf->from->frames.count; at-- > 0;)
		stack[n++] = pasta_str(frames[at].text);
	if (leaf->key.flags & PASTA_WHERE_BACKWARD)
		stack[n++] = "(backward)";
	for (at = ops; at-- > 0; op = op->up)
		stack[n + at] = pasta_name(op->name);
	n += ops;
	if (leaf->key.kind != PASTA_KIND_REGION && leaf->key.kind != PASTA_KIND_OP_BEGIN)
		stack[n++] = work_text(leaf);
	return n;
}

/* Returns the stack as one text. Rows are sorted by this text, because ids depend on the order of
 * reading. */
static const char *stack_text(const void *row, const void *state, char *buffer, size_t size)
{
	const char *stack[STACK];
	size_t n = fill_stack(row, stack);
	char *p = buffer, *last = buffer + size - 1;

	for (size_t i = 0; i < n && p != last; i++) {
		char *end = memccpy(p, stack[i], '\0', (size_t)(last - p));

		p = end ? end : last;
		p[-1] = end ? '\n' : p[-1];
	}
	*p = '\0';
	return buffer;
}

/* -- Tables -- */

#define LINE_MEMBERS(self_column, total_column, count_column)                                      \
	PASTA_MEMBER(U32, struct row, key),                                                        \
		PASTA_MEMBER(NAME, struct row, function, .column = "function"),                    \
		PASTA_MEMBER(NAME, struct row, file, .column = "file"),                            \
		PASTA_MEMBER(U32, struct row, line, .column = "line",                              \
			     .flags = PASTA_MEMBER_BLANK_ZERO),                                    \
		PASTA_MEMBER(SUM, struct row, self, .column = self_column, .unit = "ns"),          \
		PASTA_MEMBER(SUM, struct row, total, .column = total_column, .unit = "ns"),        \
		PASTA_MEMBER(SUM, struct row, backward, .column = "backward", .unit = "ns"),       \
		PASTA_MEMBER(SUM, struct row, kernels, .column = count_column),                    \
		PASTA_MEMBER(SHARE, struct row, self, .column = "share")
static const struct pasta_member line_members[] = {
	LINE_MEMBERS("device_self", "device_total", "kernels"), {0}};
static const struct pasta_member host_members[] = {LINE_MEMBERS("host_self", "host_total", "calls"),
						   {0}};
static const struct pasta_member leaf_members[] = {
	PASTA_KEY(struct leaf),
	PASTA_SUMS(struct leaf, count, expired),
	PASTA_MEMBER_BY(TEXT, .text = stack_text, .column = "stack"),
	{0},
};

static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct flame, lines, struct row, line_members, .table = "lines",
		    .order = "-device_self -device_total file line function"),
	PASTA_GROUP(struct flame, host_lines, struct row, host_members, .table = "lines",
		    .order = "-host_self -host_total file line function"),
	PASTA_GROUP(struct flame, leaves, struct leaf, leaf_members, .order = "stack"),
	PASTA_GROUP_HIDDEN(struct flame, pythons, struct python,
			   PASTA_MEMBER(LIST, struct python, frames,
					.item_size = sizeof(struct frame))),
	PASTA_GROUP_HIDDEN(struct flame, threads, struct thread,
			   PASTA_SUMS(struct thread, outside, counts)),
	{0},
};

/* -- Collecting -- */

static int open_(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	const char *time = pasta_opt(opts, "time");
	struct flame *f = state;

	f->copies = pasta_opt_yes(opts, "copies");
	f->host = !strcmp(time, "host");
	f->rows = f->host ? f->host_lines : f->lines;
	if (!f->host && strcmp(time, "device"))
		return pasta_fail(err, -EINVAL, "option 'time' is 'device' or 'host', not '%s'",
				  time);
	return 0;
}

static struct leaf *leaf_of(struct flame *f, const struct leaf *like)
{
	struct leaf *leaf = pasta_group_count(f->leaves) < LEAVES
				    ? pasta_group_row(f->leaves, &like->key)
				    : pasta_group_find(f->leaves, &like->key);

	return leaf ? leaf : pasta_group_row(f->leaves, &other_leaf.key);
}

static void add_work(struct flame *f, const struct pasta_event *ev, const struct pasta_where *where)
{
	const struct pasta_scope *path = where->scope ? where->scope->ops : NULL;
	const struct leaf like = {
		.key = {.python = pasta_python_of(ev, where),
			.path = path ? path->id : 0,
			.name = ev->kind == PASTA_KIND_KERNEL ? ev->kernel.name : 0,
			.kind = ev->kind,
			.sub = ev->kind == PASTA_KIND_COPY ? ev->sub : 0,
			.flags = where->flags & (PASTA_WHERE_LAUNCH | PASTA_WHERE_BACKWARD)}};
	struct leaf *leaf;

	if (ev->kind != PASTA_KIND_KERNEL && !f->copies)
		return;
	leaf = leaf_of(f, &like);
	leaf->count++;
	leaf->ns += pasta_work_ns(ev);
	leaf->expired += (where->flags & EXPIRED) == EXPIRED;
}

/* Adds the host time of an operator or region that ended, if its true end is known. */
static void add_end(struct flame *f, const struct pasta_event *ev, const struct pasta_where *where)
{
	bool op = ev->kind == PASTA_KIND_OP_END;
	const struct pasta_scope *scope = where->scope, *path = NULL;
	struct leaf *leaf;

	if (!op && !where->self)
		return;
	if (op ? ev->sub == PASTA_OP_END_SUPPLIED
	       : ev->region.flags & (PASTA_REGION_SUPPLIED_OPEN | PASTA_REGION_SUPPLIED_LOSS))
		return;
	if (scope)
		path = op ? scope->ops : scope->path;
	leaf = leaf_of(
		f, &(struct leaf){.key = {.python = op ? where->python : 0,
					  .path = path ? path->id : 0,
					  .kind = op ? PASTA_KIND_OP_BEGIN : PASTA_KIND_REGION,
					  .flags = op ? where->flags & PASTA_WHERE_BACKWARD : 0}});
	leaf->count += op;
	leaf->ns += where->self;
	leaf->expired += (where->flags & EXPIRED) == EXPIRED;
}

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	struct flame *f = state;
	struct thread *thread;

	if (f->host != (ev->kind == PASTA_KIND_OP_BEGIN || ev->kind == PASTA_KIND_OP_END ||
			ev->kind == PASTA_KIND_REGION))
		return;
	if (!f->host) {
		add_work(f, ev, where);
	} else if (ev->kind == PASTA_KIND_OP_END ||
		   (ev->kind == PASTA_KIND_REGION && ev->sub == PASTA_REGION_END)) {
		add_end(f, ev, where);
	} else {
		thread = PASTA_ROW(f->threads, struct thread, ev->proc, ev->tid);
		thread->outside += where->self;
		thread->counts +=
			ev->kind == PASTA_KIND_REGION || !(where->flags & PASTA_WHERE_BACKWARD);
	}
}

/* -- Reporting -- */

static uint32_t intern(struct flame *f, const char *text)
{
	return pasta_group_intern(f->rows, text, strlen(text));
}

static struct row *row_of(struct flame *f, uint32_t key, const char *function, const char *file,
			  uint32_t line)
{
	struct row *row = PASTA_ROW(f->rows, struct row, key);

	if (!row->function) {
		row->function = intern(f, function);
		row->file = intern(f, file);
		row->line = line;
	}
	return row;
}

static struct python *look_up(struct flame *f, uint32_t path)
{
	struct python *python = PASTA_ROW(f->pythons, struct python, path);
	size_t count = python->known ? 0 : pasta_stack_frames(0, path, f->frames, FRAMES);
	struct pasta_stack_frame line;
	char text[TEXT];

	for (size_t i = 0; i < count && i < FRAMES; i++) {
		const struct pasta_stack_frame *from = &f->frames[i];
		struct frame *frame =
			pasta_group_append(f->pythons, &python->frames, sizeof(*frame));
		uint32_t source_line = pasta_stack_frame_line(from);

		frame->text = intern(f, pasta_stack_frame_text(from, text, sizeof(text)));
		if (source_line)
			frame->line =
				row_of(f, source_line, from->function, from->file, from->line);
	}
	if (!python->known && pasta_python_frame(0, path, &line))
		python->line = row_of(f, pasta_stack_frame_line(&line), line.function, line.file,
				      line.line);
	python->known = 1;
	return python;
}

static void add_leaf(struct flame *f, struct leaf *leaf)
{
	const struct python *python = leaf->from = look_up(f, leaf->key.python);
	enum known known = known_of(leaf);
	const char *name = known_names[known];
	struct row *row = known == LINED ? python->line : row_of(f, intern(f, name), name, "", 0);

	f->lined += known == LINED ? leaf->ns : 0;
	f->with_op += leaf->key.path && known != OUTSIDE ? leaf->ns : 0;
	f->all += leaf->ns;
	row->self += leaf->ns;
	row->total += known == LINED ? 0 : leaf->ns;
	row->backward += leaf->key.flags & PASTA_WHERE_BACKWARD ? leaf->ns : 0;
	row->kernels += leaf->count;
	/* A recursive function counts once. */
	for (uint32_t i = 0; known == LINED && i < python->frames.count; i++) {
		row = ((const struct frame *)python->frames.items)[i].line;
		if (!row || row->last == leaf)
			continue;
		row->last = leaf;
		row->total += leaf->ns;
	}
}

static void report_flame(const struct flame *f, struct pasta_out *out)
{
	static const struct pasta_chart_def device =
		PASTA_CHART_DEF(.type = PASTA_CHART_FLAME, .name = "flame",
				.x = {"call path", NULL}, .y = {"device time", "ns"});
	static const struct pasta_chart_def host =
		PASTA_CHART_DEF(.type = PASTA_CHART_FLAME, .name = "flame",
				.x = {"call path", NULL}, .y = {"host time", "ns"});
	struct pasta_chart *chart = pasta_out_chart(out, f->host ? &host : &device);
	const char *stack[STACK];
	const struct leaf *leaf;
	size_t at = 0;

	while ((leaf = pasta_group_next_by(f->leaves, NULL, &at)))
		pasta_chart_stack(chart, stack, fill_stack(leaf, stack), (int64_t)leaf->ns);
}

/* Reports which part of the time has a known origin. */
static void report_known(const struct flame *f, struct pasta_out *out)
{
	double with_op = pasta_percent(f->with_op, f->all);
	double lined = pasta_percent(f->lined, f->all);
	const char *host =
		pasta_out_text(out, "%.1f%% of host time is in operators, %.1f%% has a Python line",
			       with_op, lined);
	const char *device = pasta_out_text(out,
					    "%.1f%% of device time is attributed to an operator, "
					    "%.1f%% to a Python line",
					    with_op, lined);
	const char *of = f->host     ? "host time of threads with operators or regions"
			 : f->copies ? "device time of kernels, copies and fills"
				     : "device time of kernels";

	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .what = f->host ? host : device,
			 .evidence = pasta_out_text(out, "the %s is %.3f ms", of,
						    (double)f->all / 1e6));
}

static void report_findings(const struct flame *f, struct pasta_out *out)
{
	const struct leaf *other = pasta_group_find(f->leaves, &other_leaf.key);

	if (!f->all && f->host) {
		pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .what = "no host time",
				 .evidence = "the run has no operators and no regions");
		return;
	}
	if (!f->all) {
		pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .what = "no device time",
				 .evidence = "the run has no record of work on a device",
				 .action = "use --opt python_flame.time=host for the host time of "
					   "operators");
		return;
	}
	report_known(f, out);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
			 PASTA_COUNT(PASTA_SUM(f->leaves, struct leaf, expired)),
			 .what = f->host ? "backward operators whose forward operator is no longer "
					   "known"
					 : "backward work whose forward operator is no longer "
					   "known",
			 .evidence =
				 "more than a million operators ran between forward and backward");
	pasta_out_report(
		out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(other ? other->count : 0),
		.what = f->host ? "operators that are counted as (other)"
				: "work that is counted as (other)",
		.evidence = "there are too many different paths: the time of new paths counts as "
			    "(other)",
		.action = "select a part of the run with --iteration or --time");
}

/* Adds the time of threads outside of operators and regions. */
static void add_outside(struct flame *f)
{
	const struct leaf like = {.key.kind = PASTA_KIND_REGION};
	const struct thread *thread;

	for (size_t at = 0; (thread = pasta_group_next(f->threads, &at));)
		if (thread->counts && thread->outside)
			leaf_of(f, &like)->ns += thread->outside;
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct flame *f = state;
	struct leaf *leaf;
	size_t at = 0;

	add_outside(f);
	while ((leaf = pasta_group_next(f->leaves, &at)))
		add_leaf(f, leaf);
	report_flame(f, out);
	report_findings(f, out);
	return pasta_out_group(out, f->rows);
}

static const struct pasta_option options[] = {
	{"copies", "no", "include the time of copies and fills", PASTA_OPTION_YES_NO},
	{"time", "device", "the time to show: device, or host for the host time of operators",
	 PASTA_OPTION_TEXT},
	{0},
};

PASTA_TOOL(.name = "python_flame",
	   .summary = "device or host time by Python call path, operator and kernel",
	   .events = PASTA_MASK(KERNEL) | PASTA_MASK(COPY) | PASTA_MASK(SET) |
		     PASTA_MASK(OP_BEGIN) | PASTA_MASK(OP_END) | PASTA_MASK(REGION),
	   .needs = PASTA_NEED_SCOPES | PASTA_NEED_OPS | PASTA_NEED_PYTHON,
	   .state_size = sizeof(struct flame), .options = options, .open = open_, .event = on_event,
	   .report = report, .charts = PASTA_CHART_MASK(FLAME), .flags = PASTA_TOOL_SHARDED,
	   .groups = groups);
