/* regions - host and device time by region: inclusive and exclusive, by path and by iteration. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pasta/pasta.h>

/* Deeper paths are shown by their ends: 64 names at most, whatever the depth. */
#define PATH_HEAD 32
#define PATH_TAIL 31

#define LOST UINT32_MAX /* the name of a region whose begin was dropped */
#define DEPTH_MAX 65536 /* deeper ones are not believed */

/* What waits for its other half. A launch waits as long as its device is busy, that of a graph for
 * ever; work is before its launch only where clocks differ, by little. */
#define LAUNCHES_MAX (1 << 21)
#define EARLY_MAX (1 << 13)

struct sum {
	uint64_t calls, inclusive, exclusive;
};

/* A path of names, from the outermost region. Numbers are from 1; 0 is above the outermost. */
struct node {
	struct node *up, *child, *sibling; /* child and sibling are set by arrange */
	char *path;
	uint32_t name, number, depth;
	uint32_t rank; /* its place in the report */
	struct sum sum;
	uint64_t min, max, open;
	uint64_t device,
		device_self; /* ns of what was launched in it; with what is below, without */
};

struct mark {
	struct node *up;
	uint32_t name;
	uint64_t count;
};

/* A region that has begun and not ended. */
struct frame {
	struct node *node;
	uint32_t iteration; /* its number; 0: none */
	uint64_t begin, children;
};

/* Work on a device whose launch has not come yet. */
struct early {
	uint64_t count, ns;
	bool graph;
};

struct proc {
	uint64_t last;	    /* the latest time that is known of it */
	uint32_t iteration; /* now */
};

struct thread {
	struct proc *proc;
	struct frame *frames;
	size_t depth, room;
	uint64_t owed; /* ends to come, of regions that an outer one's end has ended */
};

struct regions {
	struct pasta_map *procs, *threads; /* by ev->proc; by that and tid */
	struct pasta_map *nodes, *marks;   /* by the parent's number and name */
	struct pasta_map *iterations;	   /* by index; its number, from 1 */
	struct pasta_map *cells;	   /* by the iteration's number and the node's */
	struct pasta_pending *launched;	   /* launches, each its struct node * */
	struct pasta_pending *early;	   /* ns of work whose launch has not come */
	struct node root;
	struct thread *thread; /* of the last event */
	uint64_t thread_key;
	uint64_t strays, overlaps, open, lost;
	uint64_t outside; /* launches in no region */
	uint64_t orphans; /* work on a device without a launch */
	uint32_t deepest;
	bool by_iteration, failed;
};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_err *err)
{
	struct regions *r = state;

	r->by_iteration = pasta_opt_yes(opts, "iterations");
	r->procs = pasta_map_new(sizeof(struct proc));
	r->threads = pasta_map_new(sizeof(struct thread));
	r->nodes = pasta_map_new(sizeof(struct node));
	r->marks = pasta_map_new(sizeof(struct mark));
	r->iterations = pasta_map_new(sizeof(uint32_t));
	r->cells = pasta_map_new(sizeof(struct sum));
	r->launched = pasta_pending_new(sizeof(struct node *), LAUNCHES_MAX);
	r->early = pasta_pending_new(sizeof(struct early), EARLY_MAX);
	if (!r->procs || !r->threads || !r->nodes || !r->marks || !r->iterations || !r->cells ||
	    !r->launched || !r->early)
		return pasta_fail(err, -ENOMEM, "out of memory");
	return 0;
}

static void close_(void *state)
{
	struct regions *r = state;
	struct thread *thread;
	struct node *node;
	size_t at = 0;

	while (r->threads && (thread = pasta_map_next(r->threads, &at, NULL)))
		free(thread->frames);
	at = 0;
	while (r->nodes && (node = pasta_map_next(r->nodes, &at, NULL)))
		free(node->path);
	pasta_map_free(r->procs);
	pasta_map_free(r->threads);
	pasta_map_free(r->nodes);
	pasta_map_free(r->marks);
	pasta_map_free(r->iterations);
	pasta_map_free(r->cells);
	pasta_pending_free(r->launched);
	pasta_pending_free(r->early);
}

/* -- Collecting. Where memory runs out, failed is set, and the report will say so. -- */

static struct thread *thread_of(struct regions *r, const struct pasta_event *ev)
{
	uint64_t key = pasta_pair(ev->proc, ev->tid);
	struct thread *thread;

	if (r->thread && r->thread_key == key)
		return r->thread;
	thread = pasta_map_add(r->threads, key);
	if (thread && !thread->proc)
		thread->proc = pasta_map_add(r->procs, ev->proc);
	if (!thread || !thread->proc)
		return NULL;
	r->thread = thread;
	r->thread_key = key;
	return thread;
}

static struct node *node_below(struct regions *r, struct node *up, uint32_t name)
{
	struct node *node = pasta_map_add(r->nodes, pasta_pair(up->number, name));

	if (!node || node->number)
		return node;
	node->number = (uint32_t)pasta_map_count(r->nodes);
	node->name = name;
	node->up = up;
	node->depth = up->depth + 1;
	node->min = UINT64_MAX;
	if (node->depth > r->deepest)
		r->deepest = node->depth;
	return node;
}

static struct node *innermost(struct regions *r, const struct thread *thread)
{
	return thread->depth ? thread->frames[thread->depth - 1].node : &r->root;
}

static void begin(struct regions *r, struct thread *thread, uint32_t name, uint64_t now)
{
	struct node *node = node_below(r, innermost(r, thread), name);

	if (node && thread->depth == thread->room) {
		size_t room = thread->room ? 2 * thread->room : 16;
		struct frame *frames = realloc(thread->frames, room * sizeof(*frames));

		if (frames) {
			thread->frames = frames;
			thread->room = room;
		}
	}
	if (!node || thread->depth == thread->room) {
		r->failed = true;
		return;
	}
	thread->frames[thread->depth++] =
		(struct frame){.node = node, .iteration = thread->proc->iteration, .begin = now};
}

static void add(struct sum *sum, uint64_t inclusive, uint64_t exclusive)
{
	sum->calls++;
	sum->inclusive += inclusive;
	sum->exclusive += exclusive;
}

/* End the innermost region of the thread. */
static struct node *end_one(struct regions *r, struct thread *thread, uint64_t now)
{
	const struct frame *frame = &thread->frames[--thread->depth];
	/* An event that comes late, out of order, must not make a time negative. */
	uint64_t inclusive = now > frame->begin ? now - frame->begin : 0;
	uint64_t exclusive = inclusive > frame->children ? inclusive - frame->children : 0;
	struct node *node = frame->node;
	struct sum *cell;

	add(&node->sum, inclusive, exclusive);
	if (inclusive < node->min)
		node->min = inclusive;
	if (inclusive > node->max)
		node->max = inclusive;
	if (thread->depth)
		thread->frames[thread->depth - 1].children += inclusive;
	if (frame->iteration && r->by_iteration) {
		cell = pasta_map_add(r->cells, pasta_pair(frame->iteration, node->number));
		if (cell)
			add(cell, inclusive, exclusive);
		else
			r->failed = true;
	}
	return node;
}

/* Events were dropped: the source says how many regions are open here. Ends that are missing come
 * at the latest now; begins that are missing get a region without a name. */
static void get_in_step(struct regions *r, struct thread *thread, size_t depth, uint64_t now)
{
	while (thread->depth > depth) {
		end_one(r, thread, now)->open++;
		r->lost++;
	}
	while (thread->depth < depth && !r->failed) {
		begin(r, thread, LOST, now);
		r->lost++;
	}
}

/* The depth of the innermost region that an end ends, from 1; 0: there is none. */
static size_t ended(const struct thread *thread, uint32_t name)
{
	size_t depth = thread->depth;

	while (name && depth && thread->frames[depth - 1].node->name != name)
		depth--;
	return depth;
}

static void end(struct regions *r, struct thread *thread, const struct pasta_event *ev)
{
	size_t depth = ended(thread, ev->region.name);

	if (ev->region.depth)
		depth = ev->region.depth;
	if (ev->region.depth && thread->depth < depth) {
		r->lost++;
		return;
	}
	if (ev->region.depth)
		get_in_step(r, thread, depth, ev->time);
	if (!depth && ev->region.name && thread->owed) {
		thread->owed--;
		return;
	}
	if (!depth) {
		r->strays++;
		return;
	}
	r->overlaps += thread->depth - depth;
	thread->owed += thread->depth - depth;
	while (thread->depth >= depth)
		end_one(r, thread, ev->time);
}

static void mark(struct regions *r, struct thread *thread, const struct pasta_event *ev)
{
	struct node *up = innermost(r, thread);
	struct mark *m = pasta_map_add(r->marks, pasta_pair(up->number, ev->region.name));

	if (!m) {
		r->failed = true;
		return;
	}
	m->up = up;
	m->name = ev->region.name;
	m->count++;
}

static void iteration(struct regions *r, struct proc *proc, uint64_t index)
{
	uint32_t *number = pasta_map_add(r->iterations, index);

	if (!number) {
		r->failed = true;
		return;
	}
	if (!*number)
		*number = (uint32_t)pasta_map_count(r->iterations);
	proc->iteration = *number;
}

/* Work belongs to the region that its launch is in, whenever it runs. */
static void launch(struct regions *r, struct thread *thread, const struct pasta_event *ev)
{
	const struct early *early = pasta_pending_find(r->early, ev->proc, ev->launch.corr);
	struct node *node = innermost(r, thread), **waiting;
	bool whole = early && !early->graph;

	r->outside += node == &r->root;
	if (early) {
		node->device_self += early->ns;
		r->orphans -= early->count;
		pasta_pending_remove(r->early, ev->proc, ev->launch.corr);
	}
	if (whole)
		return;
	waiting = pasta_pending_add(r->launched, ev->proc, ev->launch.corr);
	if (waiting)
		*waiting = node;
	else
		r->failed = true;
}

/* A launch starts one thing, unless it is of a graph. */
static void work(struct regions *r, uint32_t proc, uint64_t corr, bool graph, uint64_t ns)
{
	struct node **node = pasta_pending_find(r->launched, proc, corr);
	struct early *early = node ? NULL : pasta_pending_add(r->early, proc, corr);

	if (early) {
		early->ns += ns;
		early->count++;
		early->graph |= graph;
		r->orphans++;
	} else if (node) {
		(*node)->device_self += ns;
		if (!graph)
			pasta_pending_remove(r->launched, proc, corr);
	} else {
		r->failed = true;
	}
}

static void on_region(struct regions *r, struct thread *thread, const struct pasta_event *ev)
{
	if (ev->sub != PASTA_REGION_END && ev->region.depth && ev->region.depth <= DEPTH_MAX)
		get_in_step(r, thread, ev->region.depth - 1, ev->time);
	if (ev->sub == PASTA_REGION_BEGIN)
		begin(r, thread, ev->region.name, ev->time);
	else if (ev->sub == PASTA_REGION_END)
		end(r, thread, ev);
	else if (ev->sub == PASTA_REGION_MARK)
		mark(r, thread, ev);
}

/* What a thread of the program did. */
static void on_host(struct regions *r, const struct pasta_event *ev)
{
	struct thread *thread = thread_of(r, ev);

	if (!thread) {
		r->failed = true;
		return;
	}
	if (ev->time > thread->proc->last)
		thread->proc->last = ev->time;
	if (ev->kind == PASTA_REGION)
		on_region(r, thread, ev);
	else if (ev->kind == PASTA_LAUNCH)
		launch(r, thread, ev);
	else
		iteration(r, thread->proc, ev->iteration.index);
}

static void on_event(void *state, const struct pasta_event *ev)
{
	switch (ev->kind) {
	case PASTA_KERNEL:
		work(state, ev->proc, ev->kernel.corr, ev->kernel.node != 0, ev->kernel.dur);
		break;
	case PASTA_COPY:
		work(state, ev->proc, ev->copy.corr, ev->copy.node != 0, ev->copy.dur);
		break;
	case PASTA_SET:
		work(state, ev->proc, ev->set.corr, ev->set.node != 0, ev->set.dur);
		break;
	default:
		on_host(state, ev);
	}
}

/* -- Reporting. -- */

/* What has not ended has lasted, for all we know, until its process's last event. */
static void end_open(struct regions *r)
{
	struct thread *thread;
	size_t at = 0;

	while ((thread = pasta_map_next(r->threads, &at, NULL)))
		while (thread->depth) {
			end_one(r, thread, thread->proc->last)->open++;
			r->open++;
		}
}

static int by_inclusive(const void *a, const void *b)
{
	const struct node *x = *(struct node *const *)a, *y = *(struct node *const *)b;

	if (x->sum.inclusive != y->sum.inclusive)
		return x->sum.inclusive < y->sum.inclusive ? -1 : 1;
	return strcmp(pasta_str(y->name), pasta_str(x->name));
}

static struct node *next_node(struct node *node)
{
	if (node->child)
		return node->child;
	while (node && !node->sibling)
		node = node->up;
	return node ? node->sibling : NULL;
}

static const char *label(uint32_t name)
{
	return name == LOST ? "(lost)" : name ? pasta_str(name) : "(unnamed)";
}

/* The path of names, of which trail has count, joined by "/". NULL when out of memory. */
static char *join(const uint32_t *trail, size_t count)
{
	size_t i, size = 64, at = 0;
	bool cut = count > PATH_HEAD + PATH_TAIL;
	char *path;

	for (i = 0; i < count; i++)
		if (!cut || i < PATH_HEAD || i >= count - PATH_TAIL)
			size += strlen(label(trail[i])) + 1;
	path = malloc(size);
	for (i = 0; path && i < count; i++) {
		if (cut && i == PATH_HEAD) {
			at += (size_t)sprintf(path + at, "/…(%zu)…", count - PATH_HEAD - PATH_TAIL);
			i = count - PATH_TAIL;
		}
		at += (size_t)sprintf(path + at, "%s%s", i ? "/" : "", label(trail[i]));
	}
	return path;
}

/* Device time of a region is also that of the regions around it, which are before it here. */
static void roll_up(struct node **nodes, size_t count)
{
	while (count--) {
		nodes[count]->device += nodes[count]->device_self;
		nodes[count]->up->device += nodes[count]->device;
	}
}

/* Children below their parents, the longest first; ranks and paths. */
static int arrange(struct regions *r)
{
	size_t i, at = 0, count = pasta_map_count(r->nodes);
	struct node **nodes = calloc(count + 1, sizeof(*nodes)), *node;
	uint32_t *trail = calloc((size_t)r->deepest + 1, sizeof(*trail)), rank = 0;
	int error = nodes && trail ? 0 : -ENOMEM;

	for (i = 0; !error && (node = pasta_map_next(r->nodes, &at, NULL)); i++)
		nodes[i] = node;
	if (!error) {
		roll_up(nodes, count);
		qsort(nodes, count, sizeof(*nodes), by_inclusive);
	}
	for (i = 0; !error && i < count; i++) {
		nodes[i]->sibling = nodes[i]->up->child;
		nodes[i]->up->child = nodes[i];
	}
	for (node = r->root.child; !error && node; node = next_node(node)) {
		trail[node->depth - 1] = node->name;
		node->rank = rank++;
		node->path = join(trail, node->depth);
		error = node->path ? 0 : -ENOMEM;
	}
	free(nodes);
	free(trail);
	return error;
}

static void report_regions(struct regions *r, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"region", PASTA_STRING, NULL}, {"calls", PASTA_INT, NULL},
		{"inclusive", PASTA_INT, "ns"}, {"exclusive", PASTA_INT, "ns"},
		{"mean", PASTA_INT, "ns"},	{"min", PASTA_INT, "ns"},
		{"max", PASTA_INT, "ns"},	{"open", PASTA_INT, NULL},
		{"device", PASTA_INT, "ns"},	{"device_self", PASTA_INT, "ns"},
	};
	struct pasta_table *t = pasta_out_table(out, "regions", columns, 10);
	struct node *node;

	for (node = r->root.child; node; node = next_node(node)) {
		pasta_cell_str(t, node->path);
		pasta_cell_int(t, (int64_t)node->sum.calls);
		pasta_cell_int(t, (int64_t)node->sum.inclusive);
		pasta_cell_int(t, (int64_t)node->sum.exclusive);
		pasta_cell_int(t, (int64_t)(node->sum.inclusive / node->sum.calls));
		pasta_cell_int(t, (int64_t)node->min);
		pasta_cell_int(t, (int64_t)node->max);
		pasta_cell_int(t, (int64_t)node->open);
		pasta_cell_int(t, (int64_t)node->device);
		pasta_cell_int(t, (int64_t)node->device_self);
	}
}

struct row {
	uint64_t iteration;
	const struct node *node;
	const struct sum *sum;
};

static int by_iteration(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->iteration != y->iteration)
		return x->iteration < y->iteration ? -1 : 1;
	return x->node->rank < y->node->rank ? -1 : x->node->rank > y->node->rank;
}

/* The cells, with their numbers turned into what they stand for. NULL when out of memory. */
static struct row *rows_of(struct regions *r)
{
	size_t i, at = 0, count = pasta_map_count(r->cells);
	struct row *rows = calloc(count + 1, sizeof(*rows));
	uint64_t *indices = calloc(pasta_map_count(r->iterations) + 1, sizeof(*indices)), key;
	const struct node **nodes = calloc(pasta_map_count(r->nodes) + 1, sizeof(*nodes)), *node;
	const uint32_t *number;

	if (!rows || !indices || !nodes) {
		free(rows);
		rows = NULL;
		goto out;
	}
	while ((number = pasta_map_next(r->iterations, &at, &key)))
		indices[*number] = key;
	at = 0;
	while ((node = pasta_map_next(r->nodes, &at, NULL)))
		nodes[node->number] = node;
	for (i = 0, at = 0; i < count; i++) {
		rows[i].sum = pasta_map_next(r->cells, &at, &key);
		rows[i].iteration = indices[key >> 32];
		rows[i].node = nodes[(uint32_t)key];
	}
	qsort(rows, count, sizeof(*rows), by_iteration);
out:
	free(indices);
	free(nodes);
	return rows;
}

static int report_iterations(struct regions *r, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"iteration", PASTA_INT, NULL}, {"region", PASTA_STRING, NULL},
		{"calls", PASTA_INT, NULL},	{"inclusive", PASTA_INT, "ns"},
		{"exclusive", PASTA_INT, "ns"},
	};
	size_t i, count = pasta_map_count(r->cells);
	struct pasta_table *t;
	struct row *rows;

	if (!r->by_iteration || !pasta_map_count(r->iterations))
		return 0;
	rows = rows_of(r);
	if (!rows)
		return -ENOMEM;
	t = pasta_out_table(out, "regions_by_iteration", columns, 5);
	for (i = 0; i < count; i++) {
		pasta_cell_int(t, (int64_t)rows[i].iteration);
		pasta_cell_str(t, rows[i].node->path);
		pasta_cell_int(t, (int64_t)rows[i].sum->calls);
		pasta_cell_int(t, (int64_t)rows[i].sum->inclusive);
		pasta_cell_int(t, (int64_t)rows[i].sum->exclusive);
	}
	free(rows);
	return 0;
}

static int report_marks(struct regions *r, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {{"mark", PASTA_STRING, NULL},
						      {"region", PASTA_STRING, NULL},
						      {"count", PASTA_INT, NULL}};
	struct pasta_table *t;
	struct mark *m;
	size_t at = 0;

	if (!pasta_map_count(r->marks))
		return 0;
	t = pasta_out_table(out, "marks", columns, 3);
	while ((m = pasta_map_next(r->marks, &at, NULL))) {
		pasta_cell_str(t, label(m->name));
		pasta_cell_str(t, m->up->path);
		pasta_cell_int(t, (int64_t)m->count);
	}
	return 0;
}

/* Where nothing has a name, nobody asked. */
static void find_outside(const struct regions *r, struct pasta_out *out)
{
	char evidence[100];

	if (!pasta_map_count(r->nodes))
		return;
	snprintf(evidence, sizeof(evidence), "their device time, %.3f ms, is in no row",
		 (double)r->root.device_self / 1e6);
	pasta_out_count(out, PASTA_NOTE, r->outside, "launches in no region", evidence, NULL);
	pasta_out_count(out, PASTA_NOTE, r->orphans, "device work whose launch is not known",
			"its time is in no row", NULL);
}

static int report(void *state, struct pasta_out *out)
{
	struct regions *r = state;
	int error;

	end_open(r);
	error = r->failed ? -ENOMEM : arrange(r);
	if (error)
		return error;
	report_regions(r, out);
	error = report_iterations(r, out);
	if (!error)
		error = report_marks(r, out);
	pasta_out_count(
		out, PASTA_NOTE, r->open, "regions that never ended",
		"their time counts until the last event of their process; column open has them",
		NULL);
	pasta_out_count(
		out, PASTA_WARNING, r->lost, "begins or ends of regions that were dropped",
		"times of the regions around them are too long or too short; (lost) stands for names",
		"give the rings more room with --memory, or mark fewer regions");
	pasta_out_count(
		out, PASTA_WARNING, r->strays, "region ends without a begin", NULL,
		"give every end a begin, on the same thread; or recording began inside a region");
	pasta_out_count(out, PASTA_NOTE, r->overlaps, "regions that the end of an outer one ended",
			NULL, "end regions in the opposite order of their begin");
	find_outside(r, out);
	return error;
}

static const struct pasta_option options[] = {
	{"iterations", "yes", "also a table by iteration", PASTA_OPTION_YES_NO},
	{0},
};

PASTA_TOOL(.name = "regions", .summary = "host and device time by region, inclusive and exclusive",
	   .events = PASTA_BIT(REGION) | PASTA_BIT(ITERATION) | PASTA_BIT(LAUNCH) |
		     PASTA_BIT(KERNEL) | PASTA_BIT(COPY) | PASTA_BIT(SET),
	   .state_size = sizeof(struct regions), .options = options, .open = open_,
	   .event = on_event, .report = report, .close = close_);
