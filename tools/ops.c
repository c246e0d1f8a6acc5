/* ops - reports operators: calls, host and device time, by name, inputs, Python line and module. */
#include <pasta/tool.h>

/* maximum number of operators that are stored because work launched in them may still arrive */
#define RECENT (1 << 18)
/* maximum number of operators that are stored because they begin after their work arrived */
#define EARLY (1 << 14)
#ifndef NODES /* tests set a lower limit */
/* maximum number of paths, in one shard, that are split by inputs and line */
#define NODES (1 << 20)
#endif
#define NODES_MAX (NODES + NODES / 4)
#define DEPTH 128 /* maximum depth of nested modules */

enum work { KERNELS, COPIES, WORKS };
/* Why work is in no row (ORPHAN to UNKNOWN), and why calls are in no row or in a less detailed one
 * (from OPEN on). ALL counts all work. */
enum fate { ALL, ORPHAN, OUTSIDE, UNKNOWN, OPEN, OTHERS, PART, FATES };
enum by { BY_NAME, BY_INPUTS, BY_LINE, BYS };

/* Counts and times of the whole run, in a group with one row. */
struct totals {
	uint64_t key;
	uint64_t count[FATES][WORKS], ns[FATES][WORKS];
};

/* A cache entry: the innermost source line of a call path. */
struct site {
	uint32_t key[2]; /* process, call path */
	uint32_t line, known;
};

/* A path of nested operators, stored as the innermost operator and the id of the path of the
 * enclosing operators. */
struct node {
	struct {
		uint32_t up, name, inputs, line;
	} key;
	uint32_t id; /* id of the interned key, the same in all shards */
	/* `host_self` is ns on the host without nested operators */
	uint64_t calls, host, host_self;
	/* ns of work that was launched directly in the operator, not in a nested one */
	uint64_t self[WORKS];
	uint64_t total[WORKS]; /* ns, including nested operators; computed when the tool reports */
	/* the node of the latest call inside the operator of this node, or NULL */
	struct node *last;
	/* the rows to which the times of this node are added; set when the tool reports */
	struct row *rows[BYS];
};

/* A PyTorch module, identified by its path: "net.0" is in "net". Computed when the tool reports. */
struct module {
	uint32_t key;
	/* totals including nested modules; `total` is in ns */
	uint64_t calls, ops, host, total, backward;
	uint64_t self, all; /* ns of the module's own kernels, and of all kernels of the run */
};

/* Counts and times of a PyTorch module, for entries from one previous module of the thread. The
 * path 0 stands for no module. */
struct step {
	uint32_t key[2]; /* path of the previous module, and path of the entered module */
	/* counted only if the entered module does not contain the previous one */
	uint64_t calls, host;
	uint64_t ops;
	uint64_t ns, backward; /* ns of kernels, and of kernels in the backward pass */
};

/* An operator that has begun but not ended. */
struct frame {
	/* node of the operator; if there are NODES_MAX nodes, the node of the enclosing operator */
	struct node *node;
	/* the struct step from the enclosing operator's module to this operator's module */
	struct step *step;
	uint64_t id, begin;
};

/* A thread and its open operators. When states are merged, no operator is open, because the reader
 * has added missing ends. */
struct thread {
	uint32_t key[2]; /* process, thread */
	struct pasta_list frames;
	/* module of the last operator; 0: the operator has no module, or is a backward operator */
	uint32_t module;
	uint64_t iteration; /* iteration in which the last operator began */
};

/* Work that arrives before its operator, because the device's clock differs from the host's. */
struct early {
	uint64_t count[WORKS], ns[WORKS];
	uint64_t launched; /* time of the first launch of work that arrived early */
};

/* A row of a table: calls with the same name, with the same name and inputs, or with the same line
 * and name. */
struct row {
	struct {
		uint32_t name, inputs, line;
	} key;
	uint64_t calls, host, host_self, self, total, copies;
	uint64_t all;	   /* ns of all kernels of the run */
	uint64_t host_all; /* host self time of all operators of the run, in ns */
	uint64_t around;   /* number of nodes of this row on the current path of the walk */
};

struct ops {
	struct pasta_group *tables[BYS], *modules, *steps;
	struct pasta_group *threads, *nodes, *sites, *sums;
	/* the values are struct node *, found by process and operator id */
	struct pasta_pending *recent;
	/* the values are struct early, found by process and operator id */
	struct pasta_pending *early;
	struct node root;
	/* the frame of the node `root`, which encloses all outermost operators */
	struct frame outside;
	struct totals *totals;
	/* "(other)" replaces `inputs` and `line` in calls that exceed the limit of paths */
	uint32_t other;
	uint32_t unknown;		     /* "(unknown)" replaces a missing line in the report */
	uint64_t host_all;		     /* as in struct row; set when the tool reports */
	bool by_inputs, by_line, shown[BYS]; /* the member `shown` is set when the tool reports */
};

/* -- Tables -- */

/* Hides a row if a filter excludes all calls and work of its operators. */
static bool row_shown(const void *row, const void *state)
{
	const struct row *r = row;

	return r->calls || r->total || r->copies;
}

/* The columns that all three tables have. Empty columns are not shown. */
static const struct pasta_member row_members[] = {
	PASTA_MEMBER(LINE, struct row, key.line, .column = "line", .none = "",
		     .flags = PASTA_MEMBER_OPTIONAL),
	PASTA_MEMBER(NAME, struct row, key.name, .column = "op"),
	PASTA_MEMBER(NAME, struct row, key.inputs, .column = "inputs", .none = "",
		     .flags = PASTA_MEMBER_OPTIONAL),
	PASTA_MEMBER(SUM, struct row, calls, .column = "calls"),
	PASTA_MEMBER(SUM, struct row, host, .column = "host", .unit = "ns"),
	PASTA_MEMBER(SUM, struct row, host_self, .column = "host_self", .unit = "ns"),
	PASTA_MEMBER_OF(PERCENT, struct row, host_self, host_all, .column = "host_share"),
	PASTA_MEMBER(SUM, struct row, self, .column = "device_self", .unit = "ns"),
	PASTA_MEMBER(SUM, struct row, total, .column = "device_total", .unit = "ns"),
	PASTA_MEMBER(SUM, struct row, copies, .column = "copies", .unit = "ns"),
	PASTA_MEMBER_OF(PERCENT, struct row, self, all, .column = "share"),
	{0},
};

static const struct pasta_member module_members[] = {
	PASTA_MEMBER(NAME, struct module, key, .column = "module"),
	PASTA_MEMBER(SUM, struct module, calls, .column = "calls"),
	PASTA_MEMBER(SUM, struct module, ops, .column = "ops"),
	PASTA_MEMBER(SUM, struct module, host, .column = "host", .unit = "ns"),
	PASTA_MEMBER(SUM, struct module, self, .column = "device_self", .unit = "ns"),
	PASTA_MEMBER(SUM, struct module, total, .column = "device_total", .unit = "ns"),
	PASTA_MEMBER(SUM, struct module, backward, .column = "backward", .unit = "ns"),
	PASTA_MEMBER_OF(PERCENT, struct module, total, all, .column = "share"),
	{0},
};

#define ROWS(by, name)                                                                             \
	PASTA_GROUP(struct ops, tables[by], struct row, row_members, .table = (name),              \
		    .order = "-device_self -host_self -host line op inputs", .keep = row_shown)
static const struct pasta_group_def groups[] = {
	ROWS(BY_NAME, "ops"),
	ROWS(BY_INPUTS, "ops_shapes"),
	ROWS(BY_LINE, "ops_lines"),
	PASTA_GROUP(struct ops, modules, struct module, module_members, .table = "modules",
		    .order = "-device_total -host module", .flags = PASTA_GROUP_OPTIONAL),
	PASTA_GROUP_HIDDEN(struct ops, steps, struct step,
			   PASTA_SUMS(struct step, calls, backward)),
	PASTA_GROUP_HIDDEN(struct ops, threads, struct thread,
			   PASTA_MEMBER(LIST, struct thread, frames,
					.item_size = sizeof(struct frame))),
	PASTA_GROUP_HIDDEN(struct ops, nodes, struct node, PASTA_MEMBER(U32, struct node, id),
			   PASTA_SUMS(struct node, calls, self[COPIES])),
	PASTA_GROUP_HIDDEN(struct ops, sites, struct site, {0}),
	PASTA_GROUP_HIDDEN(struct ops, sums, struct totals,
			   PASTA_SUMS(struct totals, count, ns[PART][COPIES])),
	{0},
};

/* -- Opening -- */

static void tally(struct ops *o, enum fate fate, enum work work, uint64_t count, uint64_t ns)
{
	o->totals->count[fate][work] += count;
	o->totals->ns[fate][work] += ns;
}

static int open_(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	struct ops *o = state;

	o->totals = PASTA_ROW(o->sums, struct totals, 0);
	o->outside.node = &o->root;
	o->by_inputs = pasta_opt_yes(opts, "inputs");
	o->by_line = pasta_opt_yes(opts, "lines");
	o->other = pasta_group_intern(o->nodes, "(other)", 7);
	o->unknown = pasta_group_intern(o->nodes, "(unknown)", 9);
	o->recent = pasta_pending_new(sizeof(struct node *), RECENT);
	o->early = pasta_pending_new(sizeof(struct early), EARLY);
	return o->recent && o->early ? 0 : pasta_fail(err, -ENOMEM, "out of memory");
}

static void close_(void *state)
{
	struct ops *o = state;

	pasta_pending_free(o->recent);
	pasta_pending_free(o->early);
}

/* -- Lines and modules -- */

/* Returns the innermost line of a call path, or 0 if no function of the path is in a file. */
static uint32_t line_of(struct ops *o, uint32_t proc, uint32_t stack)
{
	struct site *site = PASTA_ROW(o->sites, struct site, proc, stack);
	struct pasta_stack_frame frame;

	if (!site->known && pasta_python_frame(proc, stack, &frame))
		site->line = pasta_stack_frame_line(&frame);
	site->known = 1;
	return site->line;
}

/* Returns the struct step for entering `module` from the module of the struct step `around`; NULL
 * if `module` is 0. */
static struct step *step_of(struct ops *o, struct step *around, uint32_t module)
{
	if (!module || (around && around->key[1] == module))
		return module ? around : NULL;
	return PASTA_ROW(o->steps, struct step, around ? around->key[1] : 0, module);
}

/* Counts a call of the PyTorch module, unless the thread's last operator was in the same module and
 * iteration. */
static void enter_module(struct ops *o, struct thread *thread, const struct pasta_where *where)
{
	uint32_t from = thread->iteration == where->iteration ? thread->module : 0;

	thread->module = where->flags & PASTA_WHERE_BACKWARD ? 0 : where->module;
	thread->iteration = where->iteration;
	if (thread->module && thread->module != from)
		PASTA_ROW(o->steps, struct step, from, thread->module)->calls++;
}

/* -- Paths of operators -- */

/* Returns the path for a call inside the operator `up`. If there are NODES paths, the new path has
 * "(other)" as `inputs` and `line`. If there are NODES_MAX paths, returns NULL: the call counts as
 * part of the enclosing operator. */
static struct node *node_below(struct ops *o, struct node *up, uint32_t name, uint32_t inputs,
			       uint32_t line)
{
	const uint32_t key[4] = {up->id, name, inputs, line};
	const uint32_t other[4] = {up->id, name, o->other, o->other};
	size_t count = pasta_group_count(o->nodes);
	struct node *node = up->last;

	if (node && !memcmp(&node->key, key, sizeof(key)))
		return node;
	node = count < NODES ? pasta_group_row(o->nodes, key) : pasta_group_find(o->nodes, key);
	if (!node)
		node = count < NODES_MAX ? pasta_group_row(o->nodes, other)
					 : pasta_group_find(o->nodes, other);
	if (node && !node->id)
		node->id = pasta_group_intern(o->nodes, &node->key, sizeof(node->key));
	up->last = node ? node : up->last;
	return node;
}

/* -- Work on devices -- */

static void assign(struct ops *o, struct node *node, enum work work, uint64_t count, uint64_t ns)
{
	node->self[work] += ns;
	tally(o, UNKNOWN, work, -count, -ns);
}

static void add_recent(struct ops *o, uint32_t proc, uint64_t id, struct node *node)
{
	struct node **known = pasta_pending_add(o->recent, proc, id);

	if (known)
		*known = node;
	else
		pasta_group_fail(o->nodes, -ENOMEM);
}

/* Assigns work that arrived before its operator. Work that was launched before the operator began
 * belongs to an older operator with the same id, which has expired. */
static void assign_early(struct ops *o, const struct pasta_event *ev, struct node *node)
{
	const struct early *early = pasta_pending_find(o->early, ev->proc, ev->op_begin.id);

	if (!early)
		return;
	for (unsigned int i = 0; i < WORKS && early->launched >= ev->time; i++)
		assign(o, node, i, early->count[i], early->ns[i]);
	pasta_pending_remove(o->early, ev->proc, ev->op_begin.id);
}

/* Finds an open operator whose entry in `recent` has expired. Returns NULL if the operator has
 * ended. */
static struct node *find_open(struct ops *o, uint32_t proc, uint32_t tid, uint64_t id)
{
	const struct thread *thread = pasta_group_find(o->threads, &(uint32_t[2]){proc, tid});
	const struct frame *frames = thread ? thread->frames.items : NULL;
	size_t at = thread ? thread->frames.count : 0;

	while (at > 0 && frames[at - 1].id != id)
		at--;
	if (at)
		add_recent(o, proc, id, frames[at - 1].node);
	return at ? frames[at - 1].node : NULL;
}

static void wait_for_op(struct ops *o, uint32_t proc, const struct pasta_where *where,
			enum work work, uint64_t ns)
{
	struct early *early = pasta_pending_add(o->early, proc, where->op);

	if (!early) {
		pasta_group_fail(o->nodes, -ENOMEM);
		return;
	}
	if (!early->launched || where->launched < early->launched)
		early->launched = where->launched;
	early->count[work]++;
	early->ns[work] += ns;
}

/* Adds device work to the operator in which a thread launched the work. */
static void on_work(struct ops *o, const struct pasta_event *ev, const struct pasta_where *where,
		    enum work work)
{
	uint64_t ns = pasta_work_ns(ev);
	bool launched = where->flags & PASTA_WHERE_LAUNCH;
	/* If the scope has an operator but where->op is 0, the operator has no id, and cannot be
	 * found. */
	bool outside = !where->op && (!where->scope || !where->scope->op);
	enum fate fate = !launched ? ORPHAN : outside ? OUTSIDE : UNKNOWN;
	struct step *step = work == KERNELS ? step_of(o, NULL, where->module) : NULL;
	struct node **known, *node;

	tally(o, ALL, work, 1, ns);
	tally(o, work == COPIES ? UNKNOWN : fate, work, 1, ns);
	if (step) {
		step->ns += ns;
		step->backward += where->flags & PASTA_WHERE_BACKWARD ? ns : 0;
	}
	if (!launched || !where->op)
		return;
	known = pasta_pending_find(o->recent, ev->proc, where->op);
	node = known ? *known : find_open(o, ev->proc, where->tid, where->op);
	if (!node)
		wait_for_op(o, ev->proc, where, work, ns);
	else if (node != &o->root)
		assign(o, node, work, 1, ns);
}

/* -- Events -- */

static void on_begin(struct ops *o, const struct pasta_event *ev, const struct pasta_where *where)
{
	const struct pasta_op_begin_record *op = &ev->op_begin;
	struct thread *thread = PASTA_ROW(o->threads, struct thread, ev->proc, ev->tid);
	uint32_t stack = where->flags & PASTA_WHERE_BACKWARD ? where->python : op->stack;
	uint32_t line = stack && o->by_line ? line_of(o, ev->proc, stack) : 0;
	struct frame *frame = pasta_group_append(o->threads, &thread->frames, sizeof(*frame));
	const struct frame *up = thread->frames.count > 1 ? frame - 1 : &o->outside;
	struct node *node = node_below(o, up->node, op->name, o->by_inputs ? op->inputs : 0, line);

	*frame = (struct frame){node ? node : up->node, step_of(o, up->step, where->module), op->id,
				ev->time};
	enter_module(o, thread, where);
	tally(o, PART, 0, !node, 0);
	if (!op->id)
		return;
	add_recent(o, ev->proc, op->id, frame->node);
	if (pasta_pending_count(o->early) && frame->node != &o->root)
		assign_early(o, ev, frame->node);
}

/* Counts a call that ended. If the reader added a missing end, the end time is unknown. */
static void on_end(struct ops *o, const struct pasta_event *ev, const struct pasta_where *where)
{
	struct thread *thread = PASTA_ROW(o->threads, struct thread, ev->proc, ev->tid);
	const struct frame *frame, *up;
	uint64_t ns;

	if (!thread->frames.count)
		return;
	frame = (const struct frame *)thread->frames.items + --thread->frames.count;
	up = thread->frames.count ? frame - 1 : &o->outside;
	if (ev->sub == PASTA_OP_END_SUPPLIED) {
		tally(o, OPEN, 0, 1, 0);
		return;
	}
	/* An event that arrives out of order must not make a duration negative. */
	ns = ev->time > frame->begin ? ev->time - frame->begin : 0;
	if (frame->node != up->node) {
		frame->node->calls++;
		frame->node->host += ns;
	}
	frame->node->host_self += where->self;
	if (frame->step) {
		frame->step->ops++;
		/* If this operator and the enclosing operator have the same struct step, the time
		 * of the enclosing operator already includes the time of this operator. */
		frame->step->host += frame->step != up->step ? ns : 0;
	}
}

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	if (ev->kind == PASTA_KIND_OP_BEGIN)
		on_begin(state, ev, where);
	else if (ev->kind == PASTA_KIND_OP_END)
		on_end(state, ev, where);
	else
		on_work(state, ev, where, ev->kind == PASTA_KIND_KERNEL ? KERNELS : COPIES);
}

/* -- Reporting -- */

static void *node_up(const void *row, const void *ctx)
{
	uint32_t up = ((const struct node *)row)->key.up;
	size_t size;

	return up ? pasta_group_find(((const struct ops *)ctx)->nodes, pasta_bytes(up, &size))
		  : NULL;
}

static void enter_node(void *row, void *up, void *ctx)
{
	struct node *node = row;
	struct ops *o = ctx;
	uint32_t line = node->key.line ? node->key.line : o->unknown;

	o->shown[BY_INPUTS] |= node->key.inputs && node->key.inputs != o->other;
	o->shown[BY_LINE] |= node->key.line && node->key.line != o->other;
	tally(o, OTHERS, 0, node->key.inputs == o->other ? node->calls : 0, 0);
	for (unsigned int by = 0; by < BYS; by++) {
		node->rows[by] =
			PASTA_ROW(o->tables[by], struct row, node->key.name,
				  by == BY_INPUTS ? node->key.inputs : 0, by == BY_LINE ? line : 0);
		node->rows[by]->around++;
	}
}

/* Adds a path's times to its rows. Times of recursive calls count once, at the outermost call. */
static void leave_node(void *row, void *up, void *ctx)
{
	struct node *node = row, *parent = up;
	struct ops *o = ctx;

	for (unsigned int i = 0; i < WORKS; i++) {
		node->total[i] += node->self[i];
		if (parent)
			parent->total[i] += node->total[i];
	}
	for (unsigned int by = 0; by < BYS; by++) {
		struct row *r = node->rows[by];

		r->all = o->totals->ns[ALL][KERNELS];
		r->host_all = o->host_all;
		r->calls += node->calls;
		r->host_self += node->host_self;
		r->self += node->self[KERNELS];
		if (--r->around)
			continue;
		r->host += node->host;
		r->total += node->total[KERNELS];
		r->copies += node->total[COPIES];
	}
}

/* Returns whether `other` is the path of the module, or of a module inside the module. */
static bool is_in(const char *other, const char *module, size_t length)
{
	return *other && !strncmp(other, module, length) &&
	       (!other[length] || other[length] == '.');
}

/* Adds the counts of a struct step to the step's module and to all enclosing modules. The names
 * after the first DEPTH names of a path count as one name, because each level stores a copy of its
 * path. */
static void add_step(struct ops *o, const struct step *step)
{
	const char *other = pasta_str(step->key[0]), *text = pasta_str(step->key[1]);
	size_t end = 0, length = strlen(text);
	struct module *m = NULL;

	for (unsigned int depth = 1; end < length; depth++, end++) {
		end += depth == DEPTH ? length - end : strcspn(text + end, ".");
		m = PASTA_ROW(o->modules, struct module, pasta_group_intern(o->modules, text, end));
		m->all = o->totals->ns[ALL][KERNELS];
		m->ops += step->ops;
		m->total += step->ns;
		m->backward += step->backward;
		if (is_in(other, text, end))
			continue;
		m->calls += step->calls;
		m->host += step->host;
	}
	if (m)
		m->self += step->ns;
}

static void find_missing(const struct ops *o, struct pasta_out *out)
{
	static const char fewer[] = "merge more calls into one row: use --opt ops.inputs=no or "
				    "--opt ops.lines=no";
	static const struct {
		enum fate fate;
		enum work work;
		/* evidence of the finding; NULL: its time is the evidence */
		const char *what, *action, *evidence;
	} missing[] = {
		{OUTSIDE, KERNELS, "kernels launched outside of all operators"},
		{ORPHAN, KERNELS, "kernels without a known launch"},
		{UNKNOWN, KERNELS, "kernels without a known operator",
		 "a filter excludes the operator, or too many operators began before the kernel"},
		{UNKNOWN, COPIES, "copies and fills without an operator"},
		{OPEN, 0, "operators whose end is missing", NULL,
		 "rows include the kernels of operators without an end, but not the operators' "
		 "calls and host time"},
		{OTHERS, 0, "calls of operators that are not split by inputs and line", fewer,
		 "too many paths of operators: columns 'inputs' and 'line' show (other) for "
		 "further calls"},
		{PART, 0, "calls of operators that count as part of the enclosing operator", fewer,
		 "too many paths of operators: further calls have no rows of their own"},
	};

	for (size_t i = 0; i < sizeof(missing) / sizeof(*missing); i++) {
		enum fate fate = missing[i].fate;
		enum work work = missing[i].work;
		uint32_t severity = fate == PART ? PASTA_SEVERITY_WARNING : PASTA_SEVERITY_NOTE;
		uint64_t ns = o->totals->ns[fate][work], all = o->totals->ns[ALL][work];
		const char *time =
			pasta_out_text(out, "%.3f ms (%.1f%% of the total time) are in no row",
				       (double)ns / 1e6, pasta_percent(ns, all));

		pasta_out_report(out, .severity = severity,
				 PASTA_COUNT(o->totals->count[fate][work]), .what = missing[i].what,
				 .action = missing[i].action,
				 .evidence = missing[i].evidence ? missing[i].evidence : time);
	}
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct ops *o = state;
	const struct pasta_walk walk = {
		.up = node_up, .enter = enter_node, .leave = leave_node, .ctx = o};
	const struct step *step;

	o->shown[BY_NAME] = true;
	o->host_all = PASTA_SUM(o->nodes, struct node, host_self);
	pasta_group_walk(o->nodes, &walk);
	for (size_t at = 0; (step = pasta_group_next(o->steps, &at));)
		add_step(o, step);
	for (unsigned int by = 0; by < BYS; by++)
		if (o->shown[by])
			pasta_out_group(out, o->tables[by]);
	pasta_out_group(out, o->modules);
	find_missing(o, out);
	return 0;
}

static const struct pasta_option options[] = {
	{"inputs", "yes", "add a table of operators by types and shapes of inputs",
	 PASTA_OPTION_YES_NO},
	{"lines", "yes", "add a table of operators by line of Python", PASTA_OPTION_YES_NO},
	{0},
};

PASTA_TOOL(.name = "ops", .summary = "operators: calls, host and device time, by line and module",
	   .events = PASTA_MASK(OP_BEGIN) | PASTA_MASK(OP_END) | PASTA_MASK(KERNEL) |
		     PASTA_MASK(COPY) | PASTA_MASK(SET),
	   .needs = PASTA_NEED_SCOPES | PASTA_NEED_OPS, .state_size = sizeof(struct ops),
	   .options = options, .open = open_, .event = on_event, .report = report, .close = close_,
	   .flags = PASTA_TOOL_SHARDED, .groups = groups);
