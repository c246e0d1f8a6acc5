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
	struct sum *cell;    /* its last one, and of which iteration; NULL: none */
	uint64_t iteration;
};

struct mark {
	struct node *up;
	uint32_t name;
	uint64_t count;
};

/* A region that has begun and not ended. */
struct frame {
	uint64_t begin, children;
};

struct thread {
	struct frame *frames;
	size_t depth, room;
};

struct regions {
	struct pasta_map *threads;	 /* by ev->proc and tid */
	struct pasta_map *nodes, *marks; /* by the parent's number and name */
	struct pasta_map *places;	 /* struct node *, by the scope's id */
	const struct pasta_scope *last_place;
	struct node *last_node;	      /* at it */
	struct pasta_map *iterations; /* by index; its number, from 1 */
	struct pasta_map *cells;      /* by the iteration's number and the node's */
	struct node root;
	struct thread *thread; /* of the last event */
	uint64_t thread_key;
	uint64_t strays, overlaps, open, lost;
	uint64_t outside; /* launches in no region */
	uint64_t orphans; /* work on a device without a launch */
	bool by_iteration, failed;
};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_err *err)
{
	struct regions *r = state;

	r->by_iteration = pasta_opt_yes(opts, "iterations");
	r->threads = pasta_map_new(sizeof(struct thread));
	r->nodes = pasta_map_new(sizeof(struct node));
	r->marks = pasta_map_new(sizeof(struct mark));
	r->iterations = pasta_map_new(sizeof(uint32_t));
	r->cells = pasta_map_new(sizeof(struct sum));
	r->places = pasta_map_new(sizeof(struct node *));
	if (!r->threads || !r->nodes || !r->marks || !r->iterations || !r->cells || !r->places)
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
	pasta_map_free(r->threads);
	pasta_map_free(r->nodes);
	pasta_map_free(r->marks);
	pasta_map_free(r->iterations);
	pasta_map_free(r->cells);
	pasta_map_free(r->places);
}

/* -- Collecting. Where memory runs out, failed is set, and the report will say so. -- */

static struct thread *thread_of(struct regions *r, const struct pasta_event *ev)
{
	uint64_t key = pasta_pair(ev->proc, ev->tid);
	struct thread *thread;

	if (r->thread && r->thread_key == key)
		return r->thread;
	thread = pasta_map_add(r->threads, key);
	if (!thread)
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
	return node;
}

static const struct pasta_scope *region_above(const struct pasta_scope *region)
{
	return region->up ? region->up->region : NULL;
}

/* Make the node of a region, and those of the regions around it that are new, from the outermost
 * on, without recursion: paths may be deep. NULL when out of memory. */
static struct node *make_node(struct regions *r, const struct pasta_scope *region)
{
	struct node **known = NULL, *node = NULL;

	while (!r->failed && !(known = pasta_map_find(r->places, region->id))) {
		const struct pasta_scope *first = region, *above;

		node = &r->root;
		while ((above = region_above(first))) {
			known = pasta_map_find(r->places, above->id);
			if (known)
				break;
			first = above;
		}
		node = node_below(r, known ? *known : node, first->name);
		known = node ? pasta_map_add(r->places, first->id) : NULL;
		if (known)
			*known = node;
		else
			r->failed = true;
	}
	return known ? *known : NULL;
}

/* The node of the region around or at a place; the root if there is none. */
static struct node *node_at(struct regions *r, const struct pasta_scope *scope)
{
	const struct pasta_scope *region = scope ? scope->region : NULL;

	if (!region)
		return &r->root;
	if (region != r->last_place) {
		r->last_node = make_node(r, region);
		r->last_place = r->last_node ? region : NULL;
	}
	return r->last_node;
}

static void begin(struct regions *r, struct thread *thread, uint64_t now)
{
	if (thread->depth == thread->room) {
		size_t room = thread->room ? 2 * thread->room : 16;
		struct frame *frames = realloc(thread->frames, room * sizeof(*frames));

		if (!frames) {
			r->failed = true;
			return;
		}
		thread->frames = frames;
		thread->room = room;
	}
	thread->frames[thread->depth++] = (struct frame){.begin = now};
}

static void add(struct sum *sum, uint64_t inclusive, uint64_t exclusive)
{
	sum->calls++;
	sum->inclusive += inclusive;
	sum->exclusive += exclusive;
}

static uint32_t iteration_number(struct regions *r, uint64_t index)
{
	uint32_t *number = pasta_map_add(r->iterations, index);

	if (!number) {
		r->failed = true;
		return 0;
	}
	if (!*number)
		*number = (uint32_t)pasta_map_count(r->iterations);
	return *number;
}

/* Mostly there is one iteration at a time, and the cells of all would not fit into a cache. */
static struct sum *cell_of(struct regions *r, uint64_t iteration, struct node *node)
{
	uint32_t number;

	if (node->cell && node->iteration == iteration)
		return node->cell;
	number = iteration_number(r, iteration);
	node->cell = number ? pasta_map_add(r->cells, pasta_pair(number, node->number)) : NULL;
	node->iteration = iteration;
	r->failed |= !node->cell;
	return node->cell;
}

/* End the innermost region of the thread. */
static void end(struct regions *r, struct thread *thread, const struct pasta_event *ev,
		const struct pasta_where *where)
{
	const struct frame *frame = &thread->frames[--thread->depth];
	/* An event that comes late, out of order, must not make a time negative. */
	uint64_t inclusive = ev->time > frame->begin ? ev->time - frame->begin : 0;
	uint64_t exclusive = inclusive > frame->children ? inclusive - frame->children : 0;
	struct node *node = node_at(r, where->scope);
	struct sum *cell = NULL;

	if (!node)
		return;
	add(&node->sum, inclusive, exclusive);
	node->open += ev->region.flags & (PASTA_REGION_LOST | PASTA_REGION_OPEN) ? 1 : 0;
	if (inclusive < node->min)
		node->min = inclusive;
	if (inclusive > node->max)
		node->max = inclusive;
	if (thread->depth)
		thread->frames[thread->depth - 1].children += inclusive;
	if (where->iteration != PASTA_NO_ITERATION && r->by_iteration)
		cell = cell_of(r, where->iteration, node);
	if (cell)
		add(cell, inclusive, exclusive);
}

static struct mark *mark_of(struct regions *r, struct node *up, uint32_t name)
{
	struct mark *m = up ? pasta_map_add(r->marks, pasta_pair(up->number, name)) : NULL;

	if (!m) {
		r->failed = true;
		return NULL;
	}
	m->up = up;
	m->name = name;
	return m;
}

static void on_region(struct regions *r, struct thread *thread, const struct pasta_event *ev,
		      const struct pasta_where *where)
{
	struct mark *m;

	r->lost += ev->region.flags & PASTA_REGION_LOST ? 1 : 0;
	r->overlaps += ev->region.flags & PASTA_REGION_OUTER ? 1 : 0;
	r->open += ev->region.flags & PASTA_REGION_OPEN ? 1 : 0;
	if (ev->sub == PASTA_REGION_BEGIN) {
		node_at(r, where->scope); /* now, while the one above it is the last */
		begin(r, thread, ev->time);
	} else if (ev->sub == PASTA_REGION_END && thread->depth) {
		end(r, thread, ev, where);
	} else if (ev->sub == PASTA_REGION_STRAY) {
		r->strays += ev->region.flags & PASTA_REGION_LOST ? 0 : 1;
	} else if (ev->sub == PASTA_REGION_MARK) {
		m = mark_of(r, node_at(r, where->scope), ev->region.name);
		if (m)
			m->count++;
	}
}

/* Work belongs to the region that its launch is in, whenever it runs. */
static void on_work(struct regions *r, const struct pasta_where *where, uint64_t ns)
{
	struct node *node = node_at(r, where->scope);

	if (!(where->flags & PASTA_WHERE_LAUNCH))
		r->orphans++;
	else if (node)
		node->device_self += ns;
}

static void on_event(void *state, const struct pasta_event *ev)
{
	const struct pasta_where *where = pasta_where_of(ev);
	struct regions *r = state;
	struct thread *thread;

	switch (ev->kind) {
	case PASTA_KERNEL:
		on_work(r, where, ev->kernel.dur);
		break;
	case PASTA_COPY:
		on_work(r, where, ev->copy.dur);
		break;
	case PASTA_SET:
		on_work(r, where, ev->set.dur);
		break;
	case PASTA_LAUNCH:
		r->outside += !where->scope || !where->scope->region;
		break;
	case PASTA_ITERATION:
		iteration_number(r, ev->iteration.index);
		break;
	default:
		thread = thread_of(r, ev);
		if (thread)
			on_region(r, thread, ev, where);
		else
			r->failed = true;
	}
}

/* -- Merging. -- */

static void merge_node(struct node *into, const struct node *from)
{
	into->sum.calls += from->sum.calls;
	into->sum.inclusive += from->sum.inclusive;
	into->sum.exclusive += from->sum.exclusive;
	into->min = from->min < into->min ? from->min : into->min;
	into->max = from->max > into->max ? from->max : into->max;
	into->open += from->open;
	into->device_self += from->device_self;
}

/* The other's nodes, by their numbers, as ours. Those above are before those below. NULL when out
 * of memory. */
static struct node **merge_nodes(struct regions *a, const struct regions *b)
{
	struct node **ours = calloc(pasta_map_count(b->nodes) + 1, sizeof(*ours));
	const struct node *node;
	size_t at = 0;

	if (!ours)
		return NULL;
	ours[0] = &a->root;
	a->root.device_self += b->root.device_self;
	while ((node = pasta_map_next(b->nodes, &at, NULL))) {
		struct node *up = ours[node->up->number];

		ours[node->number] = up ? node_below(a, up, node->name) : NULL;
		if (ours[node->number])
			merge_node(ours[node->number], node);
		else
			a->failed = true;
	}
	return ours;
}

static void merge_cells(struct regions *a, const struct regions *b, struct node **ours)
{
	uint64_t *indices = calloc(pasta_map_count(b->iterations) + 1, sizeof(*indices)), key;
	const uint32_t *number;
	const struct sum *cell;
	size_t at = 0;

	if (!indices) {
		a->failed = true;
		return;
	}
	while ((number = pasta_map_next(b->iterations, &at, &key))) {
		indices[*number] = key;
		iteration_number(a, key);
	}
	at = 0;
	while ((cell = pasta_map_next(b->cells, &at, &key))) {
		struct node *node = ours[(uint32_t)key];
		struct sum *sum = node ? cell_of(a, indices[key >> 32], node) : NULL;

		if (!sum)
			continue;
		sum->calls += cell->calls;
		sum->inclusive += cell->inclusive;
		sum->exclusive += cell->exclusive;
	}
	free(indices);
}

static void merge(void *into, const void *from)
{
	const struct regions *b = from;
	struct regions *a = into;
	struct node **ours = merge_nodes(a, b);
	const struct mark *mark;
	size_t at = 0;

	a->failed |= b->failed || !ours;
	a->strays += b->strays;
	a->overlaps += b->overlaps;
	a->open += b->open;
	a->lost += b->lost;
	a->outside += b->outside;
	a->orphans += b->orphans;
	if (!ours)
		return;
	while ((mark = pasta_map_next(b->marks, &at, NULL))) {
		struct mark *m = mark_of(a, ours[mark->up->number], mark->name);

		if (m)
			m->count += mark->count;
	}
	merge_cells(a, b, ours);
	free(ours);
}

/* -- Reporting. -- */

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
	return name ? pasta_str(name) : "(unnamed)";
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
	uint32_t *trail, rank = 0, deepest = 0;
	int error;

	for (i = 0; nodes && (node = pasta_map_next(r->nodes, &at, NULL)); i++) {
		nodes[i] = node;
		deepest = node->depth > deepest ? node->depth : deepest;
	}
	trail = calloc((size_t)deepest + 1, sizeof(*trail));
	error = nodes && trail ? 0 : -ENOMEM;
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
		uint64_t calls = node->sum.calls;

		/* A filter has left it out, and only what is below it is of the report. */
		if (!calls && !node->device_self)
			continue;
		pasta_cell_str(t, node->path);
		pasta_cell_int(t, (int64_t)calls);
		pasta_cell_int(t, (int64_t)node->sum.inclusive);
		pasta_cell_int(t, (int64_t)node->sum.exclusive);
		pasta_cell_int(t, (int64_t)(calls ? node->sum.inclusive / calls : 0));
		pasta_cell_int(t, (int64_t)(calls ? node->min : 0));
		pasta_cell_int(t, (int64_t)node->max);
		pasta_cell_int(t, (int64_t)node->open);
		pasta_cell_int(t, (int64_t)node->device);
		pasta_cell_int(t, (int64_t)node->device_self);
	}
}

/* A path's names, cut in its middle as the table's paths are, and its value. */
static void put_stack(struct pasta_chart *chart, const struct node *node, uint64_t value)
{
	const char *frames[PATH_HEAD + PATH_TAIL + 1];
	uint32_t depth = node->depth, cut = depth > PATH_HEAD + PATH_TAIL ? depth - PATH_TAIL : 0;
	size_t count = cut ? PATH_HEAD + 1 + PATH_TAIL : depth, at = count;
	char between[32];

	for (; node && node->depth; node = node->up) {
		if (!cut || node->depth > cut)
			frames[--at] = label(node->name);
		else if (node->depth <= PATH_HEAD)
			frames[node->depth - 1] = label(node->name);
	}
	if (cut) {
		snprintf(between, sizeof(between), "…(%u)…", depth - PATH_HEAD - PATH_TAIL);
		frames[PATH_HEAD] = between;
	}
	pasta_chart_stack(chart, frames, count, (int64_t)value);
}

static void report_flames(struct regions *r, struct pasta_out *out)
{
	static const struct pasta_axis frames = {"region", NULL}, time = {"time", "ns"};
	struct pasta_chart *host = NULL, *device = NULL;
	struct node *node;

	for (node = r->root.child; node; node = next_node(node)) {
		if (node->sum.exclusive && !host)
			host = pasta_out_chart(out, "host_time", PASTA_CHART_FLAME, &frames, &time);
		if (node->device_self && !device)
			device = pasta_out_chart(out, "device_time", PASTA_CHART_FLAME, &frames,
						 &time);
		if (node->sum.exclusive)
			put_stack(host, node, node->sum.exclusive);
		if (node->device_self)
			put_stack(device, node, node->device_self);
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

static int by_place(const void *a, const void *b)
{
	const struct mark *x = *(struct mark *const *)a, *y = *(struct mark *const *)b;

	/* The root has no rank, and is before all that have. */
	if (x->up != y->up && (!x->up->number || !y->up->number))
		return x->up->number ? 1 : -1;
	if (x->up != y->up)
		return x->up->rank < y->up->rank ? -1 : 1;
	return strcmp(label(x->name), label(y->name));
}

static int report_marks(struct regions *r, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {{"mark", PASTA_STRING, NULL},
						      {"region", PASTA_STRING, NULL},
						      {"count", PASTA_INT, NULL}};
	struct mark **marks = pasta_map_sorted(r->marks, by_place);
	struct pasta_table *t;
	size_t i;

	if (!marks)
		return -ENOMEM;
	t = *marks ? pasta_out_table(out, "marks", columns, 3) : NULL;
	for (i = 0; marks[i]; i++) {
		pasta_cell_str(t, label(marks[i]->name));
		pasta_cell_str(t, marks[i]->up->path);
		pasta_cell_int(t, (int64_t)marks[i]->count);
	}
	free(marks);
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

	error = r->failed ? -ENOMEM : arrange(r);
	if (error)
		return error;
	report_regions(r, out);
	report_flames(r, out);
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
	   .needs = PASTA_NEED_WHERE, .state_size = sizeof(struct regions), .options = options,
	   .open = open_, .event = on_event, .merge = merge, .report = report, .close = close_,
	   .charts = PASTA_BIT(CHART_FLAME));
