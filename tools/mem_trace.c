/* mem_trace - memory accesses one by one: how many each launch made, and the first of them. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <pasta/tool.h>

enum { HEAD_MOST = 10000000 };

/* A launch whose accesses were recorded. */
struct launch {
	uint64_t key[2]; /* the process, the launch's number in it */
	uint64_t order;	 /* of launching, in the run, from 1 */
	uint64_t accesses, loads, stores, bytes, lost;
	uint64_t all; /* that it made, once that is told */
	uint32_t name;
	bool ends, ended; /* that it has ended is told; and was */
};

struct site {
	uint64_t key[2]; /* likewise */
	uint32_t function, file, line;
};

struct process {
	uint32_t key;		      /* its number */
	struct pasta_ranges *objects; /* their ids, uint64_t, by address */
};

/* An access that is shown. */
struct shown {
	struct pasta_access access;
	const struct launch *launch;
	uint64_t object, offset;
	uint32_t function, file, line;
	bool has_object;
};

struct trace {
	struct pasta_access_index *book; /* of launches alone */
	struct pasta_group *launches, *sites, *processes;
	struct shown *head;
	size_t head_count, head_max;
	uint64_t lost;
	uint64_t missing; /* accesses that could not be read */
	struct pasta_error why;
	int error; /* of objects */
};

/* Made, but neither written nor told as lost: its process was gone before. */
static uint64_t unwritten(const struct launch *l)
{
	return l->all > l->accesses + l->lost ? l->all - l->accesses - l->lost : 0;
}

static int64_t lost_of(const void *row, const void *state)
{
	const struct launch *l = row;

	return (int64_t)(l->lost + unwritten(l));
}

static const struct pasta_member launch_members[] = {
	PASTA_MEMBER(NAME, struct launch, name, .column = "kernel", .role = PASTA_ROLE_KERNEL),
	PASTA_MEMBER(U64, struct launch, key[0]),
	PASTA_MEMBER(U64, struct launch, key[1], .column = "launch"),
	PASTA_MEMBER(SUM, struct launch, accesses, .column = "accesses"),
	PASTA_MEMBER(SUM, struct launch, loads, .column = "loads"),
	PASTA_MEMBER(SUM, struct launch, stores, .column = "stores"),
	PASTA_MEMBER(SUM, struct launch, bytes, .column = "bytes", .unit = "bytes"),
	PASTA_MEMBER_BY(CALL, .call = lost_of, .column = "lost"),
	PASTA_MEMBER(U64, struct launch, order, .column = "order", .flags = PASTA_MEMBER_HIDDEN),
	{0},
};

static const struct pasta_member site_members[] = {
	PASTA_MEMBER(U64, struct site, key[0]), PASTA_MEMBER(U64, struct site, key[1]), {0}};
static const struct pasta_member process_members[] = {PASTA_MEMBER(U32, struct process, key), {0}};

static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct trace, launches, struct launch, launch_members, .table = "launches",
		    .order = "order"),
	PASTA_GROUP(struct trace, sites, struct site, site_members, .table = NULL),
	PASTA_GROUP(struct trace, processes, struct process, process_members, .table = NULL),
	{0},
};

static const struct pasta_access_index_def book = {.size = sizeof(book),
						   .state_offset = offsetof(struct trace, book),
						   .kinds = PASTA_MASK(ACCESS_LAUNCH)};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	struct trace *t = state;
	uint64_t head = pasta_opt_u64(opts, "head");

	if (head > HEAD_MOST)
		return pasta_fail(err, -EINVAL,
				  "mem_trace.head is at most %d: read the file itself", HEAD_MOST);
	t->head_max = head;
	t->head = calloc(head ? head : 1, sizeof(*t->head));
	return t->head ? 0 : pasta_fail(err, -ENOMEM, "out of memory");
}

static void close_(void *state)
{
	struct trace *t = state;
	const struct process *p;
	size_t at = 0;

	while (t->processes && (p = pasta_group_next(t->processes, &at)))
		pasta_ranges_free(p->objects);
	free(t->head);
}

/* -- What is there -- */

static void on_launch(struct trace *t, const struct pasta_event *ev)
{
	const struct pasta_access_launch_record *e = &ev->access_launch;
	struct launch *l = NULL;

	if (ev->sub == PASTA_ACCESS_LAUNCH_ENDED) {
		l = pasta_group_find(t->launches, (const uint64_t[2]){ev->proc, e->corr});
	} else if (ev->sub == PASTA_ACCESS_LAUNCH_COUNTED || ev->sub == PASTA_ACCESS_LAUNCH_LOST) {
		l = PASTA_ROW(t->launches, struct launch, ev->proc, e->corr);
		l->order = l->order ? l->order : pasta_group_count(t->launches);
		l->name = e->name ? e->name : l->name;
	}
	if (l) {
		l->lost += e->lost;
		l->all += e->accesses;
		l->ends |= e->flags & PASTA_ACCESS_LAUNCH_ENDS;
		l->ended |= ev->sub == PASTA_ACCESS_LAUNCH_ENDED;
	}
	t->lost += e->lost;
}

static void on_site(struct trace *t, const struct pasta_event *ev)
{
	struct site *s = PASTA_ROW(t->sites, struct site, ev->proc, ev->site.id);

	s->function = ev->site.function;
	s->file = ev->site.file;
	s->line = ev->site.line;
}

static void on_object(struct trace *t, const struct pasta_event *ev)
{
	const struct pasta_object_record *e = &ev->object;
	struct process *p = PASTA_ROW(t->processes, struct process, ev->proc);
	uint64_t *id;

	if (!p->objects)
		p->objects = pasta_ranges_new(sizeof(*id));
	id = p->objects ? pasta_ranges_add(p->objects, e->addr, e->bytes, NULL) : NULL;
	if (id)
		*id = e->id;
	else if (!p->objects || (e->bytes && e->addr + e->bytes > e->addr))
		t->error = -ENOMEM;
}

/* -- Accesses -- */

struct reading {
	struct trace *trace;
	struct launch *launch;
};

static void show(const struct reading *r, const struct pasta_access *a)
{
	struct trace *t = r->trace;
	uint32_t proc = (uint32_t)r->launch->key[0];
	struct shown *s = &t->head[t->head_count++];
	const struct site *site = pasta_group_find(t->sites, (const uint64_t[2]){proc, a->site});
	const struct process *p = pasta_group_find(t->processes, &proc);
	const uint64_t *id = NULL;
	uint64_t begin = 0;

	if (a->space < PASTA_SPACE_LOCAL && p && p->objects)
		id = pasta_ranges_find(p->objects, a->addr, &begin, NULL);
	*s = (struct shown){.access = *a,
			    .launch = r->launch,
			    .function = site ? site->function : 0,
			    .file = site ? site->file : 0,
			    .line = site ? site->line : 0,
			    .has_object = id,
			    .object = id ? *id : 0,
			    .offset = id ? a->addr - begin : 0};
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
static void on_batch(struct trace *t, const struct pasta_event *ev)
{
	const uint64_t key[2] = {ev->proc, ev->access_batch.corr};
	struct reading r = {t, pasta_group_find(t->launches, key)};
	struct pasta_error err = {0};

	if (!r.launch || !pasta_accesses_each(ev, on_access, &r, &err))
		return;
	if (!t->missing)
		t->why = err;
	t->missing += ev->access_batch.count;
	r.launch->lost += ev->access_batch.count;
}

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	struct trace *t = state;

	switch (ev->kind) {
	case PASTA_KIND_ACCESS_LAUNCH:
		on_launch(t, ev);
		break;
	case PASTA_KIND_ACCESS_BATCH:
		on_batch(t, ev);
		break;
	case PASTA_KIND_OBJECT:
		on_object(t, ev);
		break;
	case PASTA_KIND_SITE:
		on_site(t, ev);
		break;
	default:
		break;
	}
}

/* -- The report -- */

static uint64_t cut_off(const struct trace *t)
{
	const struct launch *l;
	uint64_t count = 0;
	size_t at = 0;

	while ((l = pasta_group_next(t->launches, &at)))
		count += (l->ends && !l->ended) || unwritten(l);
	return count;
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
	pasta_cell_int(table, (int64_t)s->launch->key[1]);
	pasta_cell_str(table, pasta_str(s->launch->name));
	pasta_cell_int(table, a->group);
	pasta_cell_int(table, a->thread);
	pasta_cell_int(table, a->turn);
	cell_text(table, s->function);
	cell_text(table, s->file);
	cell_number(table, s->line, s->line);
	pasta_cell_str(table, a->kind < 4 ? kinds[a->kind] : "unknown");
	pasta_cell_str(table, a->space < PASTA_SPACE_COUNT ? spaces[a->space] : "unknown");
	pasta_cell_str(table, addr);
	cell_number(table, s->has_object, s->object);
	cell_number(table, s->has_object, s->offset);
	pasta_cell_int(table, a->size);
}

static void report_head(const struct trace *t, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"launch", PASTA_COLUMN_INT, NULL},
		{"kernel", PASTA_COLUMN_STRING, NULL, PASTA_ROLE_KERNEL},
		{"group", PASTA_COLUMN_INT, NULL},
		{"thread", PASTA_COLUMN_INT, NULL},
		{"turn", PASTA_COLUMN_INT, NULL},
		{"function", PASTA_COLUMN_STRING, NULL},
		{"file", PASTA_COLUMN_STRING, NULL},
		{"line", PASTA_COLUMN_INT, NULL},
		{"kind", PASTA_COLUMN_STRING, NULL},
		{"space", PASTA_COLUMN_STRING, NULL},
		{"address", PASTA_COLUMN_STRING, NULL},
		{"object", PASTA_COLUMN_INT, NULL},
		{"offset", PASTA_COLUMN_INT, "bytes"},
		{"size", PASTA_COLUMN_INT, "bytes"},
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
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .what = what,
			 .evidence = "accesses of other blocks are not here, and nothing is scaled",
			 .action = "run without --sample blocks to record all of them");
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct trace *t = state;
	struct pasta_access_totals totals = pasta_access_index_totals(t->book);
	int error = t->error ? t->error : pasta_out_groups(out, t, err);

	if (error)
		return error;
	report_head(t, out);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, PASTA_COUNT(totals.sampled),
			 .what = "launches whose accesses were not recorded",
			 .evidence = "enough others of their kernel and shape were",
			 .action = "run again with --all, or --sample launches=K");
	find_partial(&totals, out);
	pasta_access_index_exclusions(t->book, out);
	pasta_out_report(
		out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(cut_off(t)),
		.what = "launches whose accesses are not all there",
		.evidence =
			"the process ended, or was killed, before all of them were written, or a "
			"filter cut there");
	pasta_out_report(
		out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(t->lost),
		.what = "accesses that were lost",
		.evidence =
			"with --lossy, kernels do not wait for the host; without, its disk is too "
			"slow, or full, or a launch never ended",
		.action =
			"run without --lossy, choose kernels with --kernel, or a faster disk with "
			"-o");
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(t->missing),
			 .what = "accesses that cannot be read", .evidence = t->why.text);
	return 0;
}

static const struct pasta_option options[] = {
	{"head", "20", "how many of the first accesses are shown; 10000000 at most",
	 PASTA_OPTION_NUMBER},
	{0},
};

PASTA_TOOL(.name = "mem_trace", .summary = "memory accesses one by one, in a file",
	   .events = PASTA_MASK(ACCESS_LAUNCH) | PASTA_MASK(ACCESS_BATCH) | PASTA_MASK(OBJECT) |
		     PASTA_MASK(SITE),
	   .needs = PASTA_NEED_ACCESS_RAW, .state_size = sizeof(struct trace), .options = options,
	   .open = open_, .event = on_event, .report = report, .close = close_, .groups = groups,
	   .accesses = &book);
