/* mem_trace - memory accesses one by one: how many each launch made, and the first of them. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <pasta/pasta.h>

enum { HEAD_MOST = 10000000 };

/* A launch whose accesses were recorded. */
struct launch {
	uint64_t corr, order;
	uint64_t accesses, loads, stores, bytes, lost;
	uint64_t all; /* that it made, once that is told */
	uint32_t name;
	bool used;
	bool ends, ended; /* that it has ended is told; and was */
};

struct site {
	uint32_t function, file, line;
};

struct object {
	uint64_t id;
};

/* What a process told of. */
struct process {
	struct pasta_map *launches, *sites; /* by their numbers */
	struct pasta_ranges *objects;
};

/* An access that is shown. */
struct shown {
	struct pasta_access access;
	struct site site;
	uint64_t corr, object, offset;
	uint32_t name;
	bool has_object;
};

struct trace {
	struct pasta_map *processes;
	struct pasta_access_book *book; /* of launches alone */
	struct shown *head;
	size_t head_count, head_max;
	uint64_t order, lost;
	uint64_t missing; /* accesses that could not be read */
	struct pasta_err why;
	bool failed;
};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_err *err)
{
	struct trace *t = state;
	uint64_t head = pasta_opt_u64(opts, "head");

	if (head > HEAD_MOST)
		return pasta_fail(err, -EINVAL,
				  "mem_trace.head is at most %d: read the file itself", HEAD_MOST);
	t->head_max = head;
	t->head = calloc(head ? head : 1, sizeof(*t->head));
	t->processes = pasta_map_new(sizeof(struct process));
	t->book = pasta_access_book_new(0);
	if (!t->head || !t->processes || !t->book)
		return pasta_fail(err, -ENOMEM, "out of memory");
	return 0;
}

static void close_(void *state)
{
	struct trace *t = state;
	struct process *p;
	size_t at = 0;

	while (t->processes && (p = pasta_map_next(t->processes, &at, NULL))) {
		pasta_map_free(p->launches);
		pasta_map_free(p->sites);
		pasta_ranges_free(p->objects);
	}
	pasta_map_free(t->processes);
	pasta_access_book_free(t->book);
	free(t->head);
}

/* -- What is there. -- */

static struct process *process_of(struct trace *t, uint32_t proc)
{
	struct process *p = pasta_map_add(t->processes, proc);

	if (p && !p->launches)
		p->launches = pasta_map_new(sizeof(struct launch));
	if (p && !p->sites)
		p->sites = pasta_map_new(sizeof(struct site));
	if (p && !p->objects)
		p->objects = pasta_ranges_new(sizeof(struct object));
	if (p && p->launches && p->sites && p->objects)
		return p;
	t->failed = true;
	return NULL;
}

static struct launch *launch_of(struct trace *t, struct process *p, uint64_t corr, uint32_t name)
{
	struct launch *l = pasta_map_add(p->launches, corr);

	if (!l) {
		t->failed = true;
		return NULL;
	}
	if (!l->used)
		*l = (struct launch){.corr = corr, .order = t->order++, .used = true};
	l->name = name ? name : l->name;
	return l;
}

static void on_launch(struct trace *t, struct process *p, const struct pasta_event *ev)
{
	const struct pasta_access_launch *e = &ev->access_launch;
	struct launch *l = NULL;

	pasta_access_book_event(t->book, ev);
	if (ev->sub == PASTA_LAUNCH_ENDED)
		l = pasta_map_find(p->launches, e->corr);
	else if (ev->sub == PASTA_LAUNCH_COUNTED || ev->sub == PASTA_LAUNCH_LOST)
		l = launch_of(t, p, e->corr, e->name);
	if (l) {
		l->lost += e->lost;
		l->all += e->accesses;
		l->ends |= e->flags & PASTA_LAUNCH_ENDS;
		l->ended |= ev->sub == PASTA_LAUNCH_ENDED;
	}
	t->lost += e->lost;
}

static void on_site(struct trace *t, struct process *p, const struct pasta_site *e)
{
	struct site *s = pasta_map_add(p->sites, e->id);

	if (s)
		*s = (struct site){.function = e->function, .file = e->file, .line = e->line};
	t->failed |= !s;
}

static void on_object(struct trace *t, struct process *p, const struct pasta_object *e)
{
	struct object *o = pasta_ranges_add(p->objects, e->addr, e->bytes, NULL);

	if (o)
		o->id = e->id;
	t->failed |= !o && e->bytes && e->addr + e->bytes > e->addr;
}

/* -- Accesses. -- */

struct reading {
	struct trace *trace;
	const struct process *process;
	struct launch *launch;
};

static void show(const struct reading *r, const struct pasta_access *a)
{
	struct shown *s = &r->trace->head[r->trace->head_count++];
	const struct site *site = pasta_map_find(r->process->sites, a->site);
	const struct object *o = NULL;
	uint64_t begin = 0;

	if (a->space < PASTA_SPACE_LOCAL)
		o = pasta_ranges_find(r->process->objects, a->addr, &begin, NULL);
	*s = (struct shown){.access = *a, .corr = r->launch->corr, .name = r->launch->name};
	if (site)
		s->site = *site;
	s->has_object = o;
	s->object = o ? o->id : 0;
	s->offset = o ? a->addr - begin : 0;
}

static int on_access(void *arg, const struct pasta_access *a)
{
	const struct reading *r = arg;
	struct launch *l = r->launch;

	l->accesses++;
	l->loads += a->kind & PASTA_ACCESS_LOAD;
	l->stores += (a->kind & PASTA_ACCESS_STORE) != 0;
	l->bytes += (uint64_t)a->size << (a->kind == PASTA_ACCESS_ATOMIC);
	if (r->trace->head_count < r->trace->head_max)
		show(r, a);
	return 0;
}

/* A launch that was filtered out has no name here: its accesses are not asked for. */
static void on_batch(struct trace *t, struct process *p, const struct pasta_event *ev)
{
	struct reading r = {.trace = t, .process = p};
	struct pasta_err err = {0};

	r.launch = pasta_map_find(p->launches, ev->access_batch.corr);
	if (!r.launch || !pasta_accesses_each(ev, on_access, &r, &err))
		return;
	if (!t->missing)
		t->why = err;
	t->missing += ev->access_batch.count;
	r.launch->lost += ev->access_batch.count;
}

static void on_event(void *state, const struct pasta_event *ev)
{
	struct trace *t = state;
	struct process *p = process_of(t, ev->proc);

	if (!p)
		return;
	switch (ev->kind) {
	case PASTA_ACCESS_LAUNCH:
		on_launch(t, p, ev);
		break;
	case PASTA_ACCESS_BATCH:
		on_batch(t, p, ev);
		break;
	case PASTA_OBJECT:
		on_object(t, p, &ev->object);
		break;
	case PASTA_SITE:
		on_site(t, p, &ev->site);
		break;
	default:
		break;
	}
}

/* -- The report. -- */

static int by_order(const void *a, const void *b)
{
	const struct launch *x = *(const struct launch *const *)a;
	const struct launch *y = *(const struct launch *const *)b;

	return x->order < y->order ? -1 : x->order > y->order;
}

/* Made, but neither written nor told as lost: its process was gone before. */
static uint64_t unwritten(const struct launch *l)
{
	return l->all > l->accesses + l->lost ? l->all - l->accesses - l->lost : 0;
}

static uint64_t cut_off(const struct trace *t)
{
	const struct process *p;
	const struct launch *l;
	size_t at = 0, in;
	uint64_t count = 0;

	while ((p = pasta_map_next(t->processes, &at, NULL)))
		for (in = 0; p->launches && (l = pasta_map_next(p->launches, &in, NULL));)
			count += (l->ends && !l->ended) || unwritten(l);
	return count;
}

/* All of the run, in the order in which they were launched. */
static const struct launch **launches(const struct trace *t)
{
	const struct launch **list, *l;
	const struct process *p;
	size_t count = 0, at = 0, in;

	list = calloc(t->order + 1, sizeof(const struct launch *));
	while (list && (p = pasta_map_next(t->processes, &at, NULL)))
		for (in = 0; p->launches && (l = pasta_map_next(p->launches, &in, NULL));)
			list[count++] = l;
	if (list)
		qsort(list, count, sizeof(const struct launch *), by_order);
	return list;
}

static int report_launches(const struct trace *t, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"kernel", PASTA_STRING, NULL}, {"launch", PASTA_INT, NULL},
		{"accesses", PASTA_INT, NULL},	{"loads", PASTA_INT, NULL},
		{"stores", PASTA_INT, NULL},	{"bytes", PASTA_INT, "bytes"},
		{"lost", PASTA_INT, NULL},
	};
	struct pasta_table *table = pasta_out_table(out, "launches", columns, 7);
	const struct launch **list = launches(t);

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; list[i]; i++) {
		pasta_cell_str(table, pasta_str(list[i]->name));
		pasta_cell_int(table, (int64_t)list[i]->corr);
		pasta_cell_int(table, (int64_t)list[i]->accesses);
		pasta_cell_int(table, (int64_t)list[i]->loads);
		pasta_cell_int(table, (int64_t)list[i]->stores);
		pasta_cell_int(table, (int64_t)list[i]->bytes);
		pasta_cell_int(table, (int64_t)(list[i]->lost + unwritten(list[i])));
	}
	free(list);
	return 0;
}

static void cell_text(struct pasta_table *table, uint32_t id)
{
	if (id)
		pasta_cell_str(table, pasta_str(id));
	else
		pasta_cell_none(table);
}

static void cell_number(struct pasta_table *table, bool known, uint64_t value)
{
	if (known)
		pasta_cell_int(table, (int64_t)value);
	else
		pasta_cell_none(table);
}

static void report_access(struct pasta_table *table, const struct shown *s)
{
	static const char *const kinds[] = {"none", "load", "store", "atomic"};
	static const char *const spaces[] = {"global", "constant", "generic",
					     "local",  "private",  "remote"};
	const struct pasta_access *a = &s->access;
	char addr[32];

	snprintf(addr, sizeof(addr), "0x%" PRIx64, a->addr);
	pasta_cell_int(table, (int64_t)s->corr);
	pasta_cell_str(table, pasta_str(s->name));
	pasta_cell_int(table, a->group);
	pasta_cell_int(table, a->thread);
	pasta_cell_int(table, a->turn);
	cell_text(table, s->site.function);
	cell_text(table, s->site.file);
	cell_number(table, s->site.line, s->site.line);
	pasta_cell_str(table, a->kind < 4 ? kinds[a->kind] : "unknown");
	pasta_cell_str(table, a->space < PASTA_SPACES ? spaces[a->space] : "unknown");
	pasta_cell_str(table, addr);
	cell_number(table, s->has_object, s->object);
	cell_number(table, s->has_object, s->offset);
	pasta_cell_int(table, a->size);
}

static void report_head(const struct trace *t, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"launch", PASTA_INT, NULL},	 {"kernel", PASTA_STRING, NULL},
		{"group", PASTA_INT, NULL},	 {"thread", PASTA_INT, NULL},
		{"turn", PASTA_INT, NULL},	 {"function", PASTA_STRING, NULL},
		{"file", PASTA_STRING, NULL},	 {"line", PASTA_INT, NULL},
		{"kind", PASTA_STRING, NULL},	 {"space", PASTA_STRING, NULL},
		{"address", PASTA_STRING, NULL}, {"object", PASTA_INT, NULL},
		{"offset", PASTA_INT, "bytes"},	 {"size", PASTA_INT, "bytes"},
	};
	struct pasta_table *table = pasta_out_table(out, "head", columns, 14);

	for (size_t i = 0; i < t->head_count; i++)
		report_access(table, &t->head[i]);
}

static void find_partial(const struct pasta_access_totals *totals, struct pasta_out *out)
{
	char what[100];

	if (!totals->partial)
		return;
	snprintf(what, sizeof(what), "recorded one block in %llu of %llu launches",
		 (unsigned long long)totals->blocks, (unsigned long long)totals->partial);
	pasta_out_finding(out, &(struct pasta_finding){PASTA_NOTE, what, NULL,
						       "accesses of other blocks are not here, and "
						       "nothing is scaled",
						       "run without --sample blocks to record all "
						       "of them"});
}

static int report(void *state, struct pasta_out *out)
{
	struct trace *t = state;
	struct pasta_access_totals totals = pasta_access_book_totals(t->book);
	int error = t->failed ? -ENOMEM : pasta_access_book_error(t->book);

	if (!error)
		error = report_launches(t, out);
	if (error)
		return error;
	report_head(t, out);
	pasta_out_count(out, PASTA_NOTE, totals.sampled,
			"launches whose accesses were not recorded",
			"enough others of their kernel and shape were",
			"run again with --all, or --sample launches=K");
	find_partial(&totals, out);
	pasta_access_book_left_out(t->book, out);
	pasta_out_count(out, PASTA_WARNING, cut_off(t), "launches whose accesses are not all there",
			"the process ended, or was killed, before all of them were written, or a "
			"filter cut there",
			NULL);
	pasta_out_count(out, PASTA_WARNING, t->lost, "accesses that were lost",
			"with --lossy, kernels do not wait for the host; without, its disk is too "
			"slow, or full, or a launch never ended",
			"run without --lossy, choose kernels with --kernel, or a faster disk with "
			"-o");
	pasta_out_count(out, PASTA_WARNING, t->missing, "accesses that cannot be read", t->why.text,
			NULL);
	return 0;
}

static const struct pasta_option options[] = {
	{"head", "20", "how many of the first accesses are shown; 10000000 at most",
	 PASTA_OPTION_NUMBER},
	{0},
};

PASTA_TOOL(.name = "mem_trace", .summary = "memory accesses one by one, in a file",
	   .events = PASTA_BIT(ACCESS_LAUNCH) | PASTA_BIT(ACCESS_BATCH) | PASTA_BIT(OBJECT) |
		     PASTA_BIT(SITE),
	   .needs = PASTA_NEED_ACCESS_RAW, .state_size = sizeof(struct trace), .options = options,
	   .open = open_, .event = on_event, .report = report, .close = close_);
