/* mem_trace - reports raw memory accesses: how many each launch made, and the first ones. */
#include <inttypes.h>
#include <stdio.h>

#include <pasta/tool.h>

enum { HEAD_MOST = 10000000 };

/* A launch with recorded accesses. */
struct launch {
	uint64_t key[2]; /* process, correlation id */
	uint64_t order;	 /* number of the launch in the run, from 1 */
	uint64_t accesses, loads, stores, bytes, lost;
	/* number of accesses that the launch made; 0 until the process of the launch reports the
	 * number */
	uint64_t all;
	uint32_t name;
	/* whether the process reports the ends of launches, and whether the end of this launch was
	 * read */
	bool ends, ended;
};

struct site {
	uint64_t key[2]; /* process, the site's id */
	uint32_t function, file, line;
};

struct process {
	uint32_t key;		      /* the process's number */
	struct pasta_ranges *objects; /* object ids (uint64_t) by address */
};

/* A row of table head. */
struct shown {
	uint64_t key; /* index of the row in the table, from 0 */
	const struct launch *launch;
	struct pasta_access access;
	uint64_t object, offset;
	uint32_t function, file, line;
	uint32_t thread, kind,
		/* The highest value of `kind` stands for unknown kinds, and the highest value of
		 * `space` for unknown spaces. */
		space;
	bool has_object;
};

struct trace {
	struct pasta_access_index *access_index; /* used only for launches */
	struct pasta_group *launches, *sites, *processes, *head;
	uint64_t head_max;
	uint64_t lost;
	uint64_t missing; /* number of accesses that could not be read */
	struct pasta_error why;
};

/* Returns the number of accesses that the process neither stored nor reported as dropped, because
 * the process ended too early. */
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

/* -- Columns of the head -- */

static const char *const kinds[] = {"none", "load", "store", "atomic", "unknown", NULL};
static const char *const spaces[] = {
	[PASTA_SPACE_GLOBAL] = "global",   [PASTA_SPACE_CONSTANT] = "constant",
	[PASTA_SPACE_GENERIC] = "generic", [PASTA_SPACE_LOCAL] = "local",
	[PASTA_SPACE_PRIVATE] = "private", [PASTA_SPACE_REMOTE] = "remote",
	[PASTA_SPACE_COUNT] = "unknown",   NULL,
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) - 2 };

static int64_t launch_of(const void *row, const void *state)
{
	return (int64_t)((const struct shown *)row)->launch->key[1];
}

static const char *kernel_of(const void *row, const void *state, char *text, size_t size)
{
	return pasta_str(((const struct shown *)row)->launch->name);
}

static const char *address_of(const void *row, const void *state, char *text, size_t size)
{
	snprintf(text, size, "0x%" PRIx64, ((const struct shown *)row)->access.addr);
	return text;
}

static bool has_object(const void *row, const void *state)
{
	return ((const struct shown *)row)->has_object;
}

static const struct pasta_member head_members[] = {
	PASTA_MEMBER_BY(CALL, .call = launch_of, .column = "launch"),
	PASTA_MEMBER_BY(TEXT, .text = kernel_of, .column = "kernel", .role = PASTA_ROLE_KERNEL),
	PASTA_MEMBER(U32, struct shown, access.group, .column = "group"),
	PASTA_MEMBER(U32, struct shown, thread, .column = "thread"),
	PASTA_MEMBER(U32, struct shown, access.turn, .column = "turn"),
	PASTA_MEMBER(NAME, struct shown, function, .column = "function",
		     .flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER(NAME, struct shown, file, .column = "file", .flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER(U32, struct shown, line, .column = "line", .flags = PASTA_MEMBER_BLANK_ZERO),
	PASTA_MEMBER(ENUM, struct shown, kind, .column = "kind", .names = kinds),
	PASTA_MEMBER(ENUM, struct shown, space, .column = "space", .names = spaces),
	PASTA_MEMBER_BY(TEXT, .text = address_of, .column = "address"),
	PASTA_MEMBER(U64, struct shown, object, .column = "object", .has = has_object),
	PASTA_MEMBER(U64, struct shown, offset, .column = "offset", .unit = "bytes",
		     .has = has_object),
	PASTA_MEMBER(U32, struct shown, access.size, .column = "size", .unit = "bytes"),
	PASTA_MEMBER(U64, struct shown, key, .column = "number", .flags = PASTA_MEMBER_HIDDEN),
	{0},
};

static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct trace, launches, struct launch, launch_members, .table = "launches",
		    .order = "order"),
	PASTA_GROUP(struct trace, head, struct shown, head_members, .table = "head",
		    .order = "number"),
	PASTA_GROUP_HIDDEN(struct trace, sites, struct site, {0}),
	PASTA_GROUP_HIDDEN(struct trace, processes, struct process, {0}),
	{0},
};

static const struct pasta_access_index_def access_index = {.size = sizeof(access_index),
							   .state_offset = offsetof(struct trace,
										    access_index),
							   .kinds = PASTA_MASK(ACCESS_LAUNCH)};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	struct trace *t = state;

	t->head_max = pasta_opt_u64(opts, "head");
	return t->head_max <= HEAD_MOST
		       ? 0
		       : pasta_fail(err, -EINVAL,
				    "mem_trace.head must be at most %d: to see more accesses, read "
				    "the file of raw accesses",
				    HEAD_MOST);
}

static void close_(void *state)
{
	struct trace *t = state;
	const struct process *p;
	size_t at = 0;

	while (t->processes && (p = pasta_group_next(t->processes, &at)))
		pasta_ranges_free(p->objects);
}

/* -- Launches, sites and objects -- */

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
		pasta_group_fail(t->processes, -ENOMEM);
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
	struct shown *s = PASTA_ROW(t->head, struct shown, pasta_group_count(t->head));
	const struct site *site = pasta_group_find(t->sites, (const uint64_t[2]){proc, a->site});
	const struct process *p = pasta_group_find(t->processes, &proc);
	const uint64_t *id = NULL;
	uint64_t begin = 0;

	if (a->space < PASTA_SPACE_LOCAL && p && p->objects)
		id = pasta_ranges_find(p->objects, a->addr, &begin, NULL);
	*s = (struct shown){.key = s->key,
			    .launch = r->launch,
			    .access = *a,
			    .thread = a->thread,
			    .function = site ? site->function : 0,
			    .file = site ? site->file : 0,
			    .line = site ? site->line : 0,
			    .kind = a->kind < KINDS ? a->kind : KINDS,
			    .space = a->space < PASTA_SPACE_COUNT ? a->space : PASTA_SPACE_COUNT,
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
	if (pasta_group_count(r->trace->head) < r->trace->head_max)
		show(r, a);
	return 0;
}

/* Reads a batch of accesses. If a filter excludes the launch of the batch, the group has no row for
 * the launch, and the function skips the batch. */
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

static void find_partial(const struct pasta_access_totals *totals, struct pasta_out *out)
{
	if (!totals->partial)
		return;
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
			 .what = pasta_out_text(out,
						"in %llu launches, only one thread block in %llu "
						"was recorded",
						(unsigned long long)totals->partial,
						(unsigned long long)totals->blocks),
			 .evidence = "numbers cover only the recorded thread blocks, and are not "
				     "scaled",
			 .action = "run without '--sample blocks' to record all thread blocks");
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct trace *t = state;
	struct pasta_access_totals totals = pasta_access_index_totals(t->access_index);

	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, PASTA_COUNT(totals.sampled),
			 .what = "launches whose accesses were not recorded",
			 .evidence = "enough launches of the same kernel and shape were recorded",
			 .action = "run again with --all, or with '--sample launches=K'");
	find_partial(&totals, out);
	pasta_access_index_exclusions(t->access_index, out);
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(cut_off(t)),
			 .what = "launches with incomplete accesses",
			 .evidence = "the process ended or was killed before it wrote all "
				     "accesses, or a filter excludes some");
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(t->lost),
			 .what = "dropped accesses",
			 .evidence = "possible reasons: a launch never ended, the disk is too slow "
				     "or full, or kernels did not wait for the host because of "
				     "--lossy",
			 .action = "run without --lossy, select kernels with --kernel, or write to "
				   "a faster disk with -o");
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(t->missing),
			 .what = "accesses that cannot be read", .evidence = t->why.text);
	return pasta_out_groups(out, t, err);
}

static const struct pasta_option options[] = {
	{"head", "20", "number of accesses in table 'head', at most 10000000", PASTA_OPTION_NUMBER},
	{0},
};

PASTA_TOOL(.name = "mem_trace", .summary = "raw memory accesses, stored in a file",
	   .events = PASTA_MASK(ACCESS_LAUNCH) | PASTA_MASK(ACCESS_BATCH) | PASTA_MASK(OBJECT) |
		     PASTA_MASK(SITE),
	   .needs = PASTA_NEED_ACCESS_RAW, .state_size = sizeof(struct trace), .options = options,
	   .open = open_, .event = on_event, .report = report, .close = close_, .groups = groups,
	   .accesses = &access_index);
