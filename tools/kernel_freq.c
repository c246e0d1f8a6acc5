/* kernel_freq - kernels by name and by shape: how often they run, and for how long. */
#include <pasta/pasta.h>

static __thread const struct pasta_where *where_now;
#define pasta_where_of(ev) where_now

struct kernel {
	struct {
		uint32_t name;
	} key;
	struct pasta_hist *time; /* of its records */
	uint64_t launches;	 /* events of launches that name it */
	uint64_t joined;	 /* those of them whose kernel has a record */
	uint64_t counted;	 /* those of processes that record no kernels */
};

struct shape {
	struct {
		uint32_t name, grid[3], block[3];
	} key;
	struct pasta_stat time;
};

/* Where launches come from, of processes that record no kernels. */
struct origin {
	struct {
		uint32_t name, scope;
		struct pasta_stack_ref stack;
	} key;
	uint64_t launches;
};

struct state {
	struct pasta_group *kernels, *shapes, *origins;
};

/* Executions that should have a record and have none; more records than launches is no loss: a
 * filter may have left out their launches. */
static uint64_t missing(const struct kernel *k)
{
	uint64_t others = k->launches - k->counted;

	return others > k->joined ? others - k->joined : 0;
}

static int64_t launches(const void *row, const void *state)
{
	const struct kernel *k = row;
	uint64_t records = k->time ? pasta_hist_count(k->time) : 0;

	return (int64_t)(records + missing(k) + k->counted);
}

static const struct pasta_member kernel_members[] = {
	PASTA_MEMBER(NAME, struct kernel, key.name, .column = "kernel", .role = PASTA_ROLE_KERNEL),
	PASTA_MEMBER_BY(CALL, .call = launches, .column = "launches"),
	PASTA_MEMBER(HIST, struct kernel, time, .unit = "ns",
		     .column = "total,mean,min,max,p50,p95,p99,share"),
	PASTA_MEMBER(SUM, struct kernel, launches),
	PASTA_MEMBER(SUM, struct kernel, joined),
	PASTA_MEMBER(SUM, struct kernel, counted),
	{0},
};

static const struct pasta_member shape_members[] = {
	PASTA_MEMBER(NAME, struct shape, key.name, .column = "kernel", .role = PASTA_ROLE_KERNEL),
	PASTA_MEMBER(DIM3, struct shape, key.grid, .column = "grid"),
	PASTA_MEMBER(DIM3, struct shape, key.block, .column = "block"),
	PASTA_MEMBER(STAT, struct shape, time, .unit = "ns",
		     .column = "count=launches,total,mean,min,max"),
	{0},
};

static const struct pasta_member origin_members[] = {
	PASTA_MEMBER(NAME, struct origin, key.name, .column = "kernel", .role = PASTA_ROLE_KERNEL),
	PASTA_MEMBER(SCOPE, struct origin, key.scope, .column = "region"),
	PASTA_MEMBER(STACK, struct origin, key.stack, .column = "from"),
	PASTA_MEMBER(SUM, struct origin, launches, .column = "launches"),
	{0},
};

/* Origins only where launches were counted: else the kernels' own tables say more. */
static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct state, kernels, struct kernel, kernel_members, .table = "kernels",
		    .order = "-total -launches kernel"),
	PASTA_GROUP(struct state, shapes, struct shape, shape_members, .table = "kernels_by_shape",
		    .order = "-total kernel"),
	PASTA_GROUP(struct state, origins, struct origin, origin_members,
		    .table = "launches_by_place", .order = "-launches kernel region from",
		    .flags = PASTA_GROUP_FOLD | PASTA_GROUP_OPTIONAL),
	{0},
};

/* A launch of a graph names no kernel; one without a name may be a copy. Their kernels, if they
 * are kernels, count by their records. */
static void on_launch(struct state *s, const struct pasta_event *ev)
{
	const struct pasta_launch_record *r = &ev->launch;
	const struct pasta_scope *scope = pasta_where_of(ev)->scope;
	struct kernel *k;

	if (!r->name || r->graph)
		return;
	k = PASTA_ROW(s->kernels, struct kernel, r->name);
	k->launches++;
	if (pasta_process_records(ev->proc, PASTA_MASK(KERNEL)))
		return;
	k->counted++;
	PASTA_ROW(s->origins, struct origin, r->name, scope ? scope->id : 0, {ev->proc, r->stack})
		->launches++;
}

static void on_kernel(struct state *s, const struct pasta_event *ev)
{
	const struct pasta_kernel_record *r = &ev->kernel;
	const struct pasta_where *where = pasta_where_of(ev);
	struct kernel *k = PASTA_ROW(s->kernels, struct kernel, r->name);

	pasta_group_hist(s->kernels, &k->time, r->dur);
	pasta_stat_add(
		&PASTA_ROW(s->shapes, struct shape, r->name, PASTA_GRID(r), PASTA_BLOCK(r))->time,
		r->dur);
	/* The launch has the name that the record has, mostly. */
	if (!r->node && where->flags & PASTA_WHERE_LAUNCH &&
	    !(where->flags & PASTA_WHERE_REPEATED) && where->name)
		(where->name == r->name ? k : PASTA_ROW(s->kernels, struct kernel, where->name))
			->joined++;
}

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	where_now = where;
	if (ev->kind == PASTA_KIND_LAUNCH)
		on_launch(state, ev);
	else
		on_kernel(state, ev);
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	const struct state *s = state;
	const struct kernel *k;
	uint64_t count = 0;
	size_t at = 0;

	while ((k = pasta_group_next(s->kernels, &at)))
		count += missing(k);
	pasta_out_report(
		out, .severity = PASTA_SEVERITY_WARNING, PASTA_COUNT(count),
		.what = "launches that have no record of their kernel",
		.evidence = "they count as launches, but have no time, grid and block",
		.action =
			"the program ended before they did, their records were dropped, or memory "
			"accesses were counted, which leaves CUDA's kernels without times");
	return pasta_out_groups(out, state, err);
}

PASTA_TOOL(.name = "kernel_freq", .summary = "kernels by name and shape: launches and device time",
	   .events = PASTA_MASK(LAUNCH) | PASTA_MASK(KERNEL), .needs = PASTA_NEED_SCOPES,
	   .state_size = sizeof(struct state), .event = on_event, .report = report,
	   .flags = PASTA_TOOL_SHARDED, .groups = groups);
