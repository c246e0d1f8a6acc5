/* ops - operators: calls, host time and device time, by name, inputs, line of Python and module. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pasta/pasta.h>

#define RECENT (1 << 18) /* operators that have ended, and whose work may still come */
#define EARLY (1 << 14)	 /* operators whose work came before they began */
#ifndef NODES		 /* tests have fewer */
#define NODES (1 << 20)	 /* paths that are told apart by inputs and lines */
#endif
#define NODES_MAX (NODES + NODES / 4)
#define OTHER UINT32_MAX /* the inputs and the line of calls past that */
#define FRAMES 64	 /* of a call path, in which a line is looked for */
#define DEPTH 128	 /* of modules in one another */
#define LAST 64		 /* call paths that were there last, a power of two */
#define TEXT 1000

enum sort { KERNELS, COPIES, SORTS };

struct tally {
	uint64_t count, ns;
};

/* A place in a source. The texts live for ever. */
struct line {
	const char *function, *file;
	uint32_t line, number; /* numbers are from 1 */
};

/* A path of operators, from the outermost. Numbers are from 1; 0 is above the outermost. */
struct node {
	struct node *up, *child, *sibling; /* child and sibling are set by arrange */
	struct node *last;		   /* the one below it that began last, or NULL */
	uint32_t number, name, inputs, line;
	uint64_t calls, host;
	uint64_t self[SORTS];  /* ns of what was launched in it, and in none below it */
	uint64_t total[SORTS]; /* with what is below it, by arrange */
	struct row *row;
};

/* A module of the model, by its path: "net.0" is in "net". */
struct module {
	struct module *up; /* NULL: it is in none */
	char *name;
	size_t length; /* of the name */
	uint32_t depth;
	uint64_t calls, host; /* with those in it */
	uint64_t ops;	      /* with those in it, by add_up_modules */
	uint64_t self, total; /* ns of kernels: its own; with those in it, likewise */
	uint64_t backward;    /* of total */
};

/* An operator that has begun and not ended. */
struct frame {
	struct node *node;
	struct module *module;
	uint64_t id, begin;
	bool part; /* it is a part of the one around it: there are too many paths */
};

struct thread {
	struct frame *frames;
	size_t depth, room;
	const struct module *module; /* of its last operator; NULL: none, or backward */
	uint64_t iteration;	     /* that one's */
};

/* Work whose operator has not begun yet, for clocks differ. */
struct early {
	struct tally work[SORTS];
	uint64_t launched; /* the first of it */
};

/* The line of a call path. */
struct site {
	uint64_t key;
	uint32_t line;
};

struct ops {
	struct pasta_map *threads; /* by ev->proc and tid */
	struct pasta_map *nodes;   /* by hash, or the next number that is free */
	struct pasta_map *lines;   /* the same */
	struct pasta_map *sites;   /* uint32_t: line's number, by ev->proc and stack */
	struct pasta_map *modules; /* by hash of the path, or the next number that is free */
	struct pasta_map *paths;   /* struct module *, by the path's id */
	struct site last_sites[LAST];
	struct pasta_pending *recent; /* struct node *, by ev->proc and the operator's id */
	struct pasta_pending *early;  /* struct early, by the same */
	struct node root;
	struct thread *thread; /* of the last event */
	uint64_t thread_key;
	struct tally all[SORTS], joined[SORTS], orphans[SORTS], outside[SORTS];
	uint64_t open, parts;
	bool by_inputs, by_line, failed;
};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	struct ops *o = state;

	o->by_inputs = pasta_opt_yes(opts, "inputs");
	o->by_line = pasta_opt_yes(opts, "lines");
	o->threads = pasta_map_new(sizeof(struct thread));
	o->nodes = pasta_map_new(sizeof(struct node));
	o->lines = pasta_map_new(sizeof(struct line));
	o->sites = pasta_map_new(sizeof(uint32_t));
	o->modules = pasta_map_new(sizeof(struct module));
	o->paths = pasta_map_new(sizeof(struct module *));
	o->recent = pasta_pending_new(sizeof(struct node *), RECENT);
	o->early = pasta_pending_new(sizeof(struct early), EARLY);
	if (!o->threads || !o->nodes || !o->lines || !o->sites || !o->recent || !o->early ||
	    !o->modules || !o->paths)
		return pasta_fail(err, -ENOMEM, "out of memory");
	return 0;
}

static void close_(void *state)
{
	struct ops *o = state;
	struct thread *thread;
	struct module *module;
	size_t at = 0;

	while (o->threads && (thread = pasta_map_next(o->threads, &at, NULL)))
		free(thread->frames);
	at = 0;
	while (o->modules && (module = pasta_map_next(o->modules, &at, NULL)))
		free(module->name);
	pasta_map_free(o->threads);
	pasta_map_free(o->nodes);
	pasta_map_free(o->lines);
	pasta_map_free(o->sites);
	pasta_map_free(o->modules);
	pasta_map_free(o->paths);
	pasta_pending_free(o->recent);
	pasta_pending_free(o->early);
}

/* -- Lines. Where memory runs out, here and below, failed is set, and the report will say so. -- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = mix(hash, (unsigned char)*text);
	return mix(hash, 256);
}

/* Those whose hash is the same have the numbers after it, as nodes have: none is ever removed. */
static uint32_t line_number(struct ops *o, const char *function, const char *file, uint32_t number)
{
	uint64_t key = mix_text(mix_text(number, function), file);
	struct line *line;

	while ((line = pasta_map_add(o->lines, key)) && line->number &&
	       (line->line != number || strcmp(line->function, function) ||
		strcmp(line->file, file)))
		key++;
	if (!line) {
		o->failed = true;
		return 0;
	}
	if (!line->number)
		*line = (struct line){function, file, number, (uint32_t)pasta_map_count(o->lines)};
	return line->number;
}

/* Interpreters write "<string>" and the like for what is in no file. */
static bool in_file(const struct pasta_stack_frame *f)
{
	return *f->file && *f->file != '<' && strncmp(f->function, "<built-in", 9);
}

/* The innermost function that is in a file; 0: there is none. */
static uint32_t find_line(struct ops *o, uint32_t proc, uint32_t stack)
{
	struct pasta_stack_frame frames[FRAMES];
	size_t i, count = pasta_stack_frames(proc, stack, frames, FRAMES);

	for (i = 0; i < count && i < FRAMES; i++)
		if (in_file(&frames[i]))
			return line_number(o, frames[i].function, frames[i].file, frames[i].line);
	return 0;
}

static uint32_t line_of(struct ops *o, uint32_t proc, uint32_t stack)
{
	uint64_t key = pasta_pair(proc, stack);
	struct site *last = &o->last_sites[stack % LAST];
	uint32_t *line;

	if (!stack || !o->by_line)
		return 0;
	if (last->key == key)
		return last->line;
	line = pasta_map_find(o->sites, key);
	if (!line) {
		line = pasta_map_add(o->sites, key);
		if (!line) {
			o->failed = true;
			return 0;
		}
		*line = find_line(o, proc, stack);
	}
	*last = (struct site){key, *line};
	return *line;
}

/* -- Modules. -- */

static struct module *module_below(struct ops *o, struct module *up, const char *text,
				   size_t length)
{
	uint64_t key = length;
	struct module *module;
	size_t i;

	for (i = 0; i < length; i++)
		key = mix(key, (unsigned char)text[i]);
	while ((module = pasta_map_add(o->modules, key)) && module->name &&
	       (module->length != length || memcmp(module->name, text, length) != 0))
		key++;
	if (module && !module->name)
		*module = (struct module){.up = up,
					  .name = strndup(text, length),
					  .length = length,
					  .depth = up ? up->depth + 1 : 1};
	o->failed |= !module || !module->name;
	return module && module->name ? module : NULL;
}

/* The module of a path, and those that it is in. Past DEPTH the rest is one name: each of them has
 * a copy of the path. */
static struct module *make_module(struct ops *o, const char *text)
{
	struct module *module = NULL;
	size_t end = 0, length = strlen(text);

	while (end < length && !o->failed) {
		bool deep = module && module->depth == DEPTH - 1;

		end += deep ? length - end : strcspn(text + end, ".");
		module = module_below(o, module, text, end++);
	}
	return module;
}

static struct module *module_of(struct ops *o, uint32_t path)
{
	struct module **known = path ? pasta_map_add(o->paths, path) : NULL;

	if (!path)
		return NULL;
	if (known && !*known)
		*known = make_module(o, pasta_str(path));
	o->failed |= !known;
	return known ? *known : NULL;
}

/* It is the other, or in it. */
static bool is_in(const struct module *module, const struct module *other)
{
	while (module && module->depth > other->depth)
		module = module->up;
	return module == other;
}

/* The thread comes to a module by its operators, from others or in a new iteration. */
static void come_to(struct thread *thread, struct module *module, const struct pasta_where *where)
{
	const struct module *from = thread->iteration == where->iteration ? thread->module : NULL;
	bool backward = where->flags & PASTA_WHERE_BACKWARD;
	struct module *m;

	for (m = backward ? NULL : module; m && !is_in(from, m); m = m->up)
		m->calls++;
	thread->module = backward ? NULL : module;
	thread->iteration = where->iteration;
}

/* -- Paths. -- */

static bool is_node(const struct node *node, const struct node *up, uint32_t name, uint32_t inputs,
		    uint32_t line)
{
	return node->up == up && node->name == name && node->inputs == inputs && node->line == line;
}

/* NULL: it is new, and there are limit of them already; or there is no memory. */
static struct node *find_node(struct ops *o, struct node *up, uint32_t name, uint32_t inputs,
			      uint32_t line, size_t limit)
{
	uint64_t key = mix(mix(pasta_pair(up->number, name), inputs), line);
	struct node *node = up->last;

	if (node && is_node(node, up, name, inputs, line))
		return node;
	while ((node = pasta_map_find(o->nodes, key)) && !is_node(node, up, name, inputs, line))
		key++;
	if (!node && pasta_map_count(o->nodes) < limit) {
		node = pasta_map_add(o->nodes, key);
		if (node)
			*node = (struct node){.up = up,
					      .number = (uint32_t)pasta_map_count(o->nodes),
					      .name = name,
					      .inputs = inputs,
					      .line = line};
		o->failed |= !node;
	}
	if (node)
		up->last = node;
	return node;
}

/* Past the limits inputs and lines are not told apart any more; then calls become parts of what is
 * around them: NULL. */
static struct node *node_below(struct ops *o, struct node *up, uint32_t name, uint32_t inputs,
			       uint32_t line)
{
	struct node *node = find_node(o, up, name, inputs, line, NODES);

	return node ? node : find_node(o, up, name, OTHER, OTHER, NODES_MAX);
}

static struct thread *thread_of(struct ops *o, uint32_t proc, uint32_t tid)
{
	uint64_t key = pasta_pair(proc, tid);

	if (o->thread && o->thread_key == key)
		return o->thread;
	o->thread = pasta_map_add(o->threads, key);
	o->thread_key = key;
	o->failed |= !o->thread;
	return o->thread;
}

static struct frame *push(struct thread *thread)
{
	if (thread->depth == thread->room) {
		size_t room = thread->room ? 2 * thread->room : 16;
		struct frame *frames = realloc(thread->frames, room * sizeof(*frames));

		if (!frames)
			return NULL;
		thread->frames = frames;
		thread->room = room;
	}
	return &thread->frames[thread->depth++];
}

static void add(struct tally *into, uint64_t count, uint64_t ns)
{
	into->count += count;
	into->ns += ns;
}

/* -- Work on devices. -- */

static void assign(struct ops *o, struct node *node, enum sort sort, uint64_t count, uint64_t ns)
{
	node->self[sort] += ns;
	add(&o->joined[sort], count, ns);
}

static void know(struct ops *o, uint32_t proc, uint64_t id, struct node *node)
{
	struct node **known = pasta_pending_add(o->recent, proc, id);

	if (known)
		*known = node;
	o->failed |= !known;
}

/* The work of an operator that begins now, if it came before. An older one of the same id, which is
 * not known any more, was launched earlier. */
static void assign_early(struct ops *o, const struct pasta_event *ev, struct node *node)
{
	const struct early *early = pasta_pending_find(o->early, ev->proc, ev->op_begin.id);
	unsigned int i;

	if (!early)
		return;
	for (i = 0; i < SORTS && early->launched >= ev->time; i++)
		assign(o, node, i, early->work[i].count, early->work[i].ns);
	pasta_pending_remove(o->early, ev->proc, ev->op_begin.id);
}

/* It is not among the recent ones; but what is open is never forgotten. NULL: not open. */
static struct node *find_open(struct ops *o, uint32_t proc, uint32_t tid, uint64_t id)
{
	const struct thread *thread = pasta_map_find(o->threads, pasta_pair(proc, tid));
	size_t at = thread ? thread->depth : 0;

	while (at-- > 0)
		if (thread->frames[at].id == id) {
			know(o, proc, id, thread->frames[at].node);
			return thread->frames[at].node;
		}
	return NULL;
}

static void wait_for_op(struct ops *o, uint32_t proc, const struct pasta_where *where,
			enum sort sort, uint64_t ns)
{
	struct early *early = pasta_pending_add(o->early, proc, where->op);

	if (!early) {
		o->failed = true;
		return;
	}
	if (!early->launched || where->launched < early->launched)
		early->launched = where->launched;
	add(&early->work[sort], 1, ns);
}

static void assign_module(struct ops *o, const struct pasta_where *where, uint64_t ns)
{
	struct module *module = module_of(o, where->module);

	if (!module)
		return;
	module->self += ns;
	module->backward += where->flags & PASTA_WHERE_BACKWARD ? ns : 0;
}

/* Work belongs to the operator that its launch is in, whenever it runs. */
static void on_work(struct ops *o, const struct pasta_event *ev, enum sort sort, uint64_t ns)
{
	const struct pasta_where *where = pasta_where_of(ev);
	struct node **known, *node;

	add(&o->all[sort], 1, ns);
	if (where->module && sort == KERNELS)
		assign_module(o, where, ns);
	if (!(where->flags & PASTA_WHERE_LAUNCH)) {
		add(&o->orphans[sort], 1, ns);
		return;
	}
	if (!where->op) {
		/* An operator without an id cannot be found. */
		if (!where->scope || !where->scope->op)
			add(&o->outside[sort], 1, ns);
		return;
	}
	known = pasta_pending_find(o->recent, ev->proc, where->op);
	node = known ? *known : find_open(o, ev->proc, where->tid, where->op);
	if (!node)
		wait_for_op(o, ev->proc, where, sort, ns);
	else if (node != &o->root)
		assign(o, node, sort, 1, ns);
}

/* -- Events. -- */

static void on_begin(struct ops *o, const struct pasta_event *ev)
{
	const struct pasta_op_begin_record *op = &ev->op_begin;
	const struct pasta_where *where = pasta_where_of(ev);
	struct module *module = module_of(o, where->module);
	struct thread *thread = thread_of(o, ev->proc, ev->tid);
	uint32_t inputs = o->by_inputs ? op->inputs : 0;
	bool backward = where->flags & PASTA_WHERE_BACKWARD;
	uint32_t line = line_of(o, ev->proc, backward ? where->python : op->stack);
	struct node *up, *node;
	struct frame *frame;

	if (!thread)
		return;
	up = thread->depth ? thread->frames[thread->depth - 1].node : &o->root;
	node = node_below(o, up, op->name, inputs, line);
	frame = push(thread);
	if (!frame) {
		o->failed = true;
		return;
	}
	*frame = (struct frame){node ? node : up, module, op->id, ev->time, !node};
	come_to(thread, module, where);
	o->parts += !node;
	if (!op->id)
		return;
	know(o, ev->proc, op->id, frame->node);
	if (pasta_pending_count(o->early) && frame->node != &o->root)
		assign_early(o, ev, frame->node);
}

/* Its time is that of all modules that the operator around it is not in. */
static void end_in_modules(const struct frame *frame, const struct module *around, uint64_t ns)
{
	struct module *m;

	for (m = frame->module; m && !is_in(around, m); m = m->up)
		m->host += ns;
}

/* When an operator ended whose end is missing, nobody knows. */
static void on_end(struct ops *o, const struct pasta_event *ev)
{
	struct thread *thread = thread_of(o, ev->proc, ev->tid);
	const struct frame *frame;

	if (!thread || !thread->depth)
		return;
	frame = &thread->frames[--thread->depth];
	if (ev->sub == PASTA_OP_END_SUPPLIED) {
		o->open++;
		return;
	}
	if (frame->module)
		frame->module->ops++;
	if (!frame->part)
		frame->node->calls++;
	/* An event that comes late, out of order, must not make a time negative. */
	if (ev->time <= frame->begin)
		return;
	if (!frame->part)
		frame->node->host += ev->time - frame->begin;
	end_in_modules(frame, thread->depth ? frame[-1].module : NULL, ev->time - frame->begin);
}

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	switch (ev->kind) {
	case PASTA_KIND_OP_BEGIN:
		on_begin(state, ev);
		break;
	case PASTA_KIND_OP_END:
		on_end(state, ev);
		break;
	case PASTA_KIND_KERNEL:
		on_work(state, ev, KERNELS, ev->kernel.dur);
		break;
	case PASTA_KIND_COPY:
		on_work(state, ev, COPIES, ev->copy.dur);
		break;
	default:
		on_work(state, ev, COPIES, ev->set.dur);
	}
}

/* -- Merging. -- */

/* The other's lines, by their numbers, as ours. NULL when out of memory. */
static uint32_t *merge_lines(struct ops *a, const struct ops *b)
{
	uint32_t *ours = calloc(pasta_map_count(b->lines) + 1, sizeof(*ours));
	const struct line *line;
	size_t at = 0;

	while (ours && (line = pasta_map_next(b->lines, &at, NULL)))
		ours[line->number] = line_number(a, line->function, line->file, line->line);
	return ours;
}

static void merge_node(struct ops *a, struct node *into, const struct node *from, bool part)
{
	unsigned int i;

	for (i = 0; i < SORTS; i++)
		into->self[i] += from->self[i];
	if (part) {
		a->parts += from->calls;
		return;
	}
	into->calls += from->calls;
	into->host += from->host;
}

/* Those above are before those below. */
static void merge_nodes(struct ops *a, const struct ops *b, const uint32_t *lines)
{
	struct node **ours = calloc(pasta_map_count(b->nodes) + 1, sizeof(*ours)), *up, *into;
	const struct node *node;
	size_t at = 0;

	if (!ours) {
		a->failed = true;
		return;
	}
	ours[0] = &a->root;
	while ((node = pasta_map_next(b->nodes, &at, NULL))) {
		up = ours[node->up->number];
		into = node_below(a, up, node->name, node->inputs,
				  node->line == OTHER ? OTHER : lines[node->line]);
		ours[node->number] = into ? into : up;
		merge_node(a, ours[node->number], node, !into);
	}
	free(ours);
}

static void merge_modules(struct ops *a, const struct ops *b)
{
	const struct module *module;
	struct module *ours;
	size_t at = 0;

	while ((module = pasta_map_next(b->modules, &at, NULL))) {
		ours = module->name ? make_module(a, module->name) : NULL;
		if (!ours)
			continue;
		ours->calls += module->calls;
		ours->ops += module->ops;
		ours->host += module->host;
		ours->self += module->self;
		ours->backward += module->backward;
	}
}

static int merge(void *into, const void *from, struct pasta_error *err)
{
	const struct ops *b = from;
	struct ops *a = into;
	uint32_t *lines = merge_lines(a, b);
	unsigned int i;

	a->failed |= b->failed || !lines;
	if (lines)
		merge_nodes(a, b, lines);
	merge_modules(a, b);
	for (i = 0; i < SORTS; i++) {
		add(&a->all[i], b->all[i].count, b->all[i].ns);
		add(&a->joined[i], b->joined[i].count, b->joined[i].ns);
		add(&a->orphans[i], b->orphans[i].count, b->orphans[i].ns);
		add(&a->outside[i], b->outside[i].count, b->outside[i].ns);
	}
	a->open += b->open;
	a->parts += b->parts;
	free(lines);
}

/* -- Reporting. -- */

enum by { BY_NAME, BY_INPUTS, BY_LINE };

/* All calls of one key. */
struct row {
	const char *texts[2]; /* its first cells; the second may be NULL */
	uint64_t calls, host, self, total, copies;
	uint32_t around; /* calls of this key that are around the place where the walk is */
};

/* Children below their parents, and what is launched in them added up. */
static int arrange(struct ops *o)
{
	size_t i, at = 0, count = pasta_map_count(o->nodes);
	struct node **nodes = calloc(count + 1, sizeof(*nodes)), *node;
	unsigned int k;

	if (!nodes)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		nodes[i] = pasta_map_next(o->nodes, &at, NULL);
	while (i--) {
		node = nodes[i];
		node->sibling = node->up->child;
		node->up->child = node;
		for (k = 0; k < SORTS; k++) {
			node->total[k] += node->self[k];
			node->up->total[k] += node->total[k];
		}
	}
	free(nodes);
	return 0;
}

static const char *name_text(uint32_t name)
{
	return name ? pasta_str(name) : "(unnamed)";
}

static const char *inputs_text(uint32_t inputs)
{
	return inputs == OTHER ? "(other)" : pasta_str(inputs);
}

static const char *line_text(uint32_t line, char *const *lines)
{
	return line == OTHER ? "(other)" : line ? lines[line] : "(unknown)";
}

static uint64_t key_of(const struct node *node, enum by by)
{
	if (by == BY_LINE)
		return pasta_pair(node->line, node->name);
	return pasta_pair(node->name, by == BY_INPUTS ? node->inputs : 0);
}

/* The walk is at this node: what is of a key counts once, at its outermost call. */
static bool enter(struct pasta_map *rows, struct node *node, enum by by, char *const *lines)
{
	const char *name = name_text(node->name);
	struct row *row = node->row = pasta_map_add(rows, key_of(node, by));

	if (!row)
		return false;
	row->texts[0] = by == BY_LINE ? line_text(node->line, lines) : name;
	row->texts[1] = by == BY_LINE ? name : by == BY_INPUTS ? inputs_text(node->inputs) : NULL;
	row->calls += node->calls;
	row->self += node->self[KERNELS];
	if (row->around++)
		return true;
	row->host += node->host;
	row->total += node->total[KERNELS];
	row->copies += node->total[COPIES];
	return true;
}

static bool fill_rows(struct ops *o, struct pasta_map *rows, enum by by, char *const *lines)
{
	struct node *node = o->root.child;

	while (node) {
		if (!enter(rows, node, by, lines))
			return false;
		if (node->child) {
			node = node->child;
			continue;
		}
		for (node->row->around--; node != &o->root && !node->sibling;) {
			node = node->up;
			if (node != &o->root)
				node->row->around--;
		}
		node = node == &o->root ? NULL : node->sibling;
	}
	return true;
}

static int compare(uint64_t x, uint64_t y)
{
	return x < y ? 1 : x > y ? -1 : 0;
}

/* By all that is shown: nothing depends on who was first. */
static int by_time(const void *a, const void *b)
{
	const struct row *x = *(struct row *const *)a, *y = *(struct row *const *)b;
	int order = compare(x->self, y->self);

	order = order ? order : compare(x->host, y->host);
	order = order ? order : strcmp(x->texts[0], y->texts[0]);
	order = order || !x->texts[1] ? order : strcmp(x->texts[1], y->texts[1]);
	order = order ? order : compare(x->total, y->total);
	order = order ? order : compare(x->copies, y->copies);
	return order ? order : compare(x->calls, y->calls);
}

static void put_row(struct pasta_table *t, const struct row *row, uint64_t all)
{
	pasta_cell_str(t, row->texts[0]);
	if (row->texts[1])
		pasta_cell_str(t, row->texts[1]);
	pasta_cell_int(t, (int64_t)row->calls);
	pasta_cell_int(t, (int64_t)row->host);
	pasta_cell_int(t, (int64_t)row->self);
	pasta_cell_int(t, (int64_t)row->total);
	pasta_cell_int(t, (int64_t)row->copies);
	pasta_cell_float(t, all ? 100.0 * (double)row->self / (double)all : 0.0);
}

#define NUMBERS                                                                                    \
	{"calls", PASTA_COLUMN_INT, NULL}, {"host", PASTA_COLUMN_INT, "ns"},                       \
		{"device_self", PASTA_COLUMN_INT, "ns"}, {"device_total", PASTA_COLUMN_INT, "ns"}, \
		{"copies", PASTA_COLUMN_INT, "ns"},                                                \
	{                                                                                          \
		"share", PASTA_COLUMN_FLOAT, "%"                                                   \
	}

static struct pasta_table *table_for(struct pasta_out *out, enum by by)
{
	static const struct pasta_column ops[] = {{"op", PASTA_COLUMN_STRING, NULL, PASTA_ROLE_OP},
						  NUMBERS};
	static const struct pasta_column shapes[] = {{"op", PASTA_COLUMN_STRING, NULL,
						      PASTA_ROLE_OP},
						     {"inputs", PASTA_COLUMN_STRING, NULL},
						     NUMBERS};
	static const struct pasta_column lines[] = {
		{"line", PASTA_COLUMN_STRING, NULL, PASTA_ROLE_LINE},
		{"op", PASTA_COLUMN_STRING, NULL, PASTA_ROLE_OP},
		NUMBERS};

	if (by == BY_NAME)
		return pasta_out_table(out, "ops", ops, 7);
	return by == BY_INPUTS ? pasta_out_table(out, "ops_shapes", shapes, 8)
			       : pasta_out_table(out, "ops_lines", lines, 8);
}

static int report_by(struct ops *o, struct pasta_out *out, enum by by, char *const *lines)
{
	struct pasta_map *map = pasta_map_new(sizeof(struct row));
	struct row **rows = NULL;
	struct pasta_table *t;
	size_t i;

	if (map && fill_rows(o, map, by, lines))
		rows = pasta_map_sorted(map, by_time);
	if (!rows) {
		pasta_map_free(map);
		return -ENOMEM;
	}
	t = table_for(out, by);
	for (i = 0; rows[i]; i++)
		if (rows[i]->calls || rows[i]->total || rows[i]->copies)
			put_row(t, rows[i], o->all[KERNELS].ns);
	free(rows);
	pasta_map_free(map);
	return 0;
}

static int by_depth(const void *a, const void *b)
{
	const struct module *x = *(struct module *const *)a, *y = *(struct module *const *)b;

	return compare(x->depth, y->depth);
}

/* What is in a module is the module's, too. */
static int add_up_modules(struct ops *o)
{
	struct module **modules = pasta_map_sorted(o->modules, by_depth);
	size_t i;

	if (!modules)
		return -ENOMEM;
	for (i = 0; modules[i]; i++) {
		struct module *m = modules[i];

		m->total += m->self;
		if (!m->up)
			continue;
		m->up->total += m->total;
		m->up->ops += m->ops;
		m->up->backward += m->backward;
	}
	free(modules);
	return 0;
}

static int by_total(const void *a, const void *b)
{
	const struct module *x = *(struct module *const *)a, *y = *(struct module *const *)b;
	int order = compare(x->total, y->total);

	order = order ? order : compare(x->host, y->host);
	return order ? order : strcmp(x->name, y->name);
}

static int report_modules(struct ops *o, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"module", PASTA_COLUMN_STRING, NULL},	 {"calls", PASTA_COLUMN_INT, NULL},
		{"ops", PASTA_COLUMN_INT, NULL},	 {"host", PASTA_COLUMN_INT, "ns"},
		{"device_self", PASTA_COLUMN_INT, "ns"}, {"device_total", PASTA_COLUMN_INT, "ns"},
		{"backward", PASTA_COLUMN_INT, "ns"},	 {"share", PASTA_COLUMN_FLOAT, "%"},
	};
	uint64_t all = o->all[KERNELS].ns;
	struct module **modules;
	struct pasta_table *t;
	size_t i;

	if (!pasta_map_count(o->modules))
		return 0;
	modules = add_up_modules(o) ? NULL : pasta_map_sorted(o->modules, by_total);
	if (!modules)
		return -ENOMEM;
	t = pasta_out_table(out, "modules", columns, 8);
	for (i = 0; modules[i]; i++) {
		const struct module *m = modules[i];

		pasta_cell_str(t, m->name);
		pasta_cell_int(t, (int64_t)m->calls);
		pasta_cell_int(t, (int64_t)m->ops);
		pasta_cell_int(t, (int64_t)m->host);
		pasta_cell_int(t, (int64_t)m->self);
		pasta_cell_int(t, (int64_t)m->total);
		pasta_cell_int(t, (int64_t)m->backward);
		pasta_cell_float(t, all ? 100.0 * (double)m->total / (double)all : 0.0);
	}
	free(modules);
	return 0;
}

static void free_texts(char **texts, size_t count)
{
	while (texts && count--)
		free(texts[count]);
	free(texts);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(**(char **const *)a, **(char **const *)b);
}

static char *place_text(const struct line *line, bool whole)
{
	struct pasta_stack_frame frame = {
		.function = line->function, .file = line->file, .module = "", .line = line->line};
	char text[TEXT];

	if (whole)
		snprintf(text, sizeof(text), "%s (%s:%u)", line->function, line->file, line->line);
	else
		pasta_stack_frame_text(&frame, text, sizeof(text));
	return strdup(text);
}

/* Different files of one name are told apart by their paths. sorted has a place for each line. */
static bool tell_apart(char **texts, char ***sorted, const struct line **lines, size_t count)
{
	size_t i, k, end;

	for (i = 0; i < count; i++)
		sorted[i] = &texts[i + 1];
	qsort(sorted, count, sizeof(*sorted), by_text);
	for (i = 0; i < count; i = end) {
		for (end = i + 1; end < count && !strcmp(*sorted[i], *sorted[end]);)
			end++;
		for (k = i; end > i + 1 && k < end; k++) {
			char *text = place_text(lines[sorted[k] - texts], true);

			if (!text)
				return false;
			free(*sorted[k]);
			*sorted[k] = text;
		}
	}
	return true;
}

/* The texts of lines, by their numbers. NULL when out of memory. */
static char **line_texts(const struct ops *o)
{
	size_t at = 0, count = pasta_map_count(o->lines);
	char **texts = calloc(count + 1, sizeof(*texts));
	char ***sorted = calloc(count + 1, sizeof(*sorted));
	const struct line **lines = calloc(count + 1, sizeof(*lines)), *line;
	bool ok = texts && sorted && lines;

	while (ok && (line = pasta_map_next(o->lines, &at, NULL))) {
		lines[line->number] = line;
		texts[line->number] = place_text(line, false);
		ok = texts[line->number];
	}
	ok = ok && tell_apart(texts, sorted, lines, count);
	free(sorted);
	free(lines);
	if (!ok)
		free_texts(texts, count + 1);
	return ok ? texts : NULL;
}

static void find_outside(struct pasta_out *out, const struct tally *tally, uint64_t all,
			 const char *what, const char *action)
{
	char evidence[100];

	snprintf(evidence, sizeof(evidence), "their time, %.3f ms (%.1f%% of all), is in no row",
		 (double)tally->ns / 1e6, all ? 100.0 * (double)tally->ns / (double)all : 0.0);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .count = tally->count,
			 .counted = true, .what = what, .evidence = evidence, .action = action);
}

static void find_missing(const struct ops *o, struct pasta_out *out)
{
	const struct tally *all = o->all, *in = o->joined, *no = o->orphans, *off = o->outside;
	struct tally unknown = {all->count - in->count - no->count - off->count,
				all->ns - in->ns - no->ns - off->ns};
	struct tally copies = {all[COPIES].count - in[COPIES].count,
			       all[COPIES].ns - in[COPIES].ns};

	find_outside(out, off, all->ns, "kernels that were launched in no operator", NULL);
	find_outside(out, no, all->ns, "kernels whose launch is not known", NULL);
	find_outside(out, &unknown, all->ns, "kernels whose operator is not known",
		     "a filter left it out, or too many began between it and its kernel");
	find_outside(out, &copies, all[COPIES].ns, "copies and fills that belong to no operator",
		     NULL);
}

static void find_limits(const struct ops *o, uint64_t others, struct pasta_out *out)
{
	static const char *const action =
		"tell fewer apart: --opt ops.inputs=no, or --opt ops.lines=no";

	pasta_out_report(
		out, .severity = PASTA_SEVERITY_NOTE, .count = o->open, .counted = true,
		.what = "operators whose end is missing",
		.evidence =
			"their calls and host time are in no row; kernels launched in them are");
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .count = others, .counted = true,
			 .what = "calls of operators that are not told apart by inputs and line",
			 .evidence = "there are too many different ones: (other) stands for theirs",
			 .action = action);
	pasta_out_report(
		out, .severity = PASTA_SEVERITY_WARNING, .count = o->parts, .counted = true,
		.what = "calls of operators that count as a part of what is around them",
		.evidence = "there are too many different ones: they have no rows of their own",
		.action = action);
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct ops *o = state;
	char **lines = o->failed || arrange(o) ? NULL : line_texts(o);
	bool inputs = false, stacks = false;
	const struct node *node;
	uint64_t others = 0;
	size_t at = 0;
	int error;

	if (!lines)
		return -ENOMEM;
	while ((node = pasta_map_next(o->nodes, &at, NULL))) {
		inputs |= node->inputs && node->inputs != OTHER;
		stacks |= node->line && node->line != OTHER;
		others += node->inputs == OTHER ? node->calls : 0;
	}
	error = report_by(o, out, BY_NAME, lines);
	if (!error && inputs)
		error = report_by(o, out, BY_INPUTS, lines);
	if (!error && stacks)
		error = report_by(o, out, BY_LINE, lines);
	if (!error)
		error = report_modules(o, out);
	free_texts(lines, pasta_map_count(o->lines) + 1);
	find_missing(o, out);
	find_limits(o, others, out);
	return error;
}

static const struct pasta_option options[] = {
	{"inputs", "yes", "also a table by types and shapes of inputs", PASTA_OPTION_YES_NO},
	{"lines", "yes", "also a table by line of Python", PASTA_OPTION_YES_NO},
	{0},
};

PASTA_TOOL(.name = "ops", .summary = "operators: calls, host and device time, by line and module",
	   .events = PASTA_MASK(OP_BEGIN) | PASTA_MASK(OP_END) | PASTA_MASK(KERNEL) |
		     PASTA_MASK(COPY) | PASTA_MASK(SET),
	   .needs = PASTA_NEED_SCOPES | PASTA_NEED_OPS, .state_size = sizeof(struct ops),
	   .options = options, .open = open_, .event = on_event, .merge = merge, .report = report,
	   .close = close_);
