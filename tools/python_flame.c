/* python_flame - reports device time by Python call path, operator and kernel. */
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
enum known { LINED, NO_LINE, NO_OP, NO_LAUNCH, OTHER, KNOWNS };

static const char *const known_names[KNOWNS] = {"", "(no Python line)", "(no operator)",
						"(launch not known)", "(other)"};

/* Device work with the same name, Python call path and path of operators. */
struct leaf {
	struct {
		uint32_t python, path, name; /* 0: unknown */
		/* kind of the work; 0 stands for all work whose path is not among the first LEAVES
		 * paths of the shard */
		uint32_t kind;
		uint32_t sub;	/* subtype of copies */
		uint32_t flags; /* PASTA_WHERE_LAUNCH and PASTA_WHERE_BACKWARD */
	} key;
	uint64_t count, ns, expired;
	/* the struct python of the leaf's call path; set when the tool reports */
	const struct python *from;
};
static const struct leaf other_leaf;

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
	struct pasta_group *leaves, *lines, *pythons;
	bool copies;
	/* ns of device work whose line is known, of work in an operator, and of all work; computed
	 * when the tool reports */
	uint64_t lined, with_op, all;
	struct pasta_stack_frame frames[FRAMES];
};

/* -- Stacks of the chart -- */

static enum known known_of(const struct leaf *leaf)
{
	if (!leaf->key.kind)
		return OTHER;
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

static const struct pasta_member line_members[] = {
	PASTA_MEMBER(U32, struct row, key),
	PASTA_MEMBER(NAME, struct row, function, .column = "function"),
	PASTA_MEMBER(NAME, struct row, file, .column = "file"),
	PASTA_MEMBER(U32, struct row, line, .column = "line", .flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER(SUM, struct row, self, .column = "device_self", .unit = "ns"),
	PASTA_MEMBER(SUM, struct row, total, .column = "device_total", .unit = "ns"),
	PASTA_MEMBER(SUM, struct row, backward, .column = "backward", .unit = "ns"),
	PASTA_MEMBER(SUM, struct row, kernels, .column = "kernels"),
	PASTA_MEMBER(SHARE, struct row, self, .column = "share"),
	{0},
};
static const struct pasta_member leaf_members[] = {
	PASTA_KEY(struct leaf),
	PASTA_SUMS(struct leaf, count, expired),
	PASTA_MEMBER_BY(TEXT, .text = stack_text, .column = "stack"),
	{0},
};

static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct flame, lines, struct row, line_members, .table = "lines",
		    .order = "-device_self -device_total file line function"),
	PASTA_GROUP(struct flame, leaves, struct leaf, leaf_members, .order = "stack"),
	PASTA_GROUP_HIDDEN(struct flame, pythons, struct python,
			   PASTA_MEMBER(LIST, struct python, frames,
					.item_size = sizeof(struct frame))),
	{0},
};

/* -- Collecting -- */

static int open_(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	((struct flame *)state)->copies = pasta_opt_yes(opts, "copies");
	return 0;
}

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	const struct pasta_scope *path = where->scope ? where->scope->ops : NULL;
	const struct leaf like = {
		.key = {.python = pasta_python_of(ev, where),
			.path = path ? path->id : 0,
			.name = ev->kind == PASTA_KIND_KERNEL ? ev->kernel.name : 0,
			.kind = ev->kind,
			.sub = ev->kind == PASTA_KIND_COPY ? ev->sub : 0,
			.flags = where->flags & (PASTA_WHERE_LAUNCH | PASTA_WHERE_BACKWARD)}};
	struct flame *f = state;
	struct leaf *leaf;

	if (ev->kind != PASTA_KIND_KERNEL && !f->copies)
		return;
	leaf = pasta_group_count(f->leaves) < LEAVES ? pasta_group_row(f->leaves, &like.key)
						     : pasta_group_find(f->leaves, &like.key);
	leaf = leaf ? leaf : pasta_group_row(f->leaves, &other_leaf.key);
	leaf->count++;
	leaf->ns += pasta_work_ns(ev);
	leaf->expired += (where->flags & EXPIRED) == EXPIRED;
}

/* -- Reporting -- */

static uint32_t intern(struct flame *f, const char *text)
{
	return pasta_group_intern(f->lines, text, strlen(text));
}

static struct row *row_of(struct flame *f, uint32_t key, const char *function, const char *file,
			  uint32_t line)
{
	struct row *row = PASTA_ROW(f->lines, struct row, key);

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
		python->line = python->line ? python->line : frame->line;
	}
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
	f->with_op += leaf->key.path ? leaf->ns : 0;
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
	static const struct pasta_chart_def def =
		PASTA_CHART_DEF(.type = PASTA_CHART_FLAME, .name = "flame",
				.x = {"call path", NULL}, .y = {"device time", "ns"});
	struct pasta_chart *chart = pasta_out_chart(out, &def);
	const char *stack[STACK];
	const struct leaf *leaf;
	size_t at = 0;

	while ((leaf = pasta_group_next_by(f->leaves, NULL, &at)))
		pasta_chart_stack(chart, stack, fill_stack(leaf, stack), (int64_t)leaf->ns);
}

static void report_findings(const struct flame *f, struct pasta_out *out)
{
	const struct leaf *other = pasta_group_find(f->leaves, &other_leaf.key);

	if (!f->all) {
		pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .what = "no device time",
				 .evidence = "the run has no record of work on a device",
				 .action = "use the tool 'ops' for the host time of operators");
		return;
	}
	pasta_out_report(
		out, .severity = PASTA_SEVERITY_NOTE,
		.what = pasta_out_text(
			out,
			"%.1f%% of device time is attributed to an operator, %.1f%% to a Python "
			"line",
			pasta_percent(f->with_op, f->all), pasta_percent(f->lined, f->all)),
		.evidence = pasta_out_text(out, "the device time of %s is %.3f ms",
					   f->copies ? "kernels, copies and fills" : "kernels",
					   (double)f->all / 1e6));
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
			 PASTA_COUNT(PASTA_SUM(f->leaves, struct leaf, expired)),
			 .what = "backward work whose forward operator is no longer known",
			 .evidence =
				 "more than a million operators ran between forward and backward");
	pasta_out_report(
		out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(other ? other->count : 0),
		.what = "work that is counted as (other)",
		.evidence = "there are too many different paths: work with new paths counts as "
			    "(other)",
		.action = "select a part of the run with --iteration or --time");
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct flame *f = state;
	struct leaf *leaf;
	size_t at = 0;

	while ((leaf = pasta_group_next(f->leaves, &at)))
		add_leaf(f, leaf);
	report_flame(f, out);
	report_findings(f, out);
	return pasta_out_group(out, f->lines);
}

static const struct pasta_option options[] = {
	{"copies", "no", "include the time of copies and fills", PASTA_OPTION_YES_NO},
	{0},
};

PASTA_TOOL(.name = "python_flame",
	   .summary = "device time by Python call path, operator and kernel",
	   .events = PASTA_MASK(KERNEL) | PASTA_MASK(COPY) | PASTA_MASK(SET),
	   .needs = PASTA_NEED_SCOPES | PASTA_NEED_OPS | PASTA_NEED_PYTHON,
	   .state_size = sizeof(struct flame), .options = options, .open = open_, .event = on_event,
	   .report = report, .charts = PASTA_CHART_MASK(FLAME), .flags = PASTA_TOOL_SHARDED,
	   .groups = groups);
