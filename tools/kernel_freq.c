/* kernel_freq - reports kernels by name and by shape: how often they run, and for how long. */
#include <pasta/tool.h>

struct kernel {
	struct {
		uint32_t name;
	} key;
	struct pasta_hist *time; /* device times from the records of the kernel */
	uint64_t launches,
		/* number of launches without a kernel record, in processes that record kernels */
		missing;
};

struct shape {
	struct {
		uint32_t name, grid[3], block[3];
	} key;
	struct pasta_stat time;
};

/* Launches of a kernel from one region and call path, in processes that record no kernels. */
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

static const struct pasta_member kernel_members[] = {
	PASTA_MEMBER(NAME, struct kernel, key.name, .column = "kernel", .role = PASTA_ROLE_KERNEL),
	PASTA_MEMBER(SUM, struct kernel, launches, .column = "launches"),
	PASTA_MEMBER(HIST, struct kernel, time, .unit = "ns",
		     .column = "total,mean,min,max,p50,p95,p99,share"),
	PASTA_MEMBER(SUM, struct kernel, missing),
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

/* The table `launches_by_origin` appears only if a process recorded launches without kernels. */
static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct state, kernels, struct kernel, kernel_members, .table = "kernels",
		    .order = "-total -launches kernel"),
	PASTA_GROUP(struct state, shapes, struct shape, shape_members, .table = "kernels_by_shape",
		    .order = "-total kernel"),
	PASTA_GROUP(struct state, origins, struct origin, origin_members,
		    .table = "launches_by_origin", .order = "-launches kernel region from",
		    .flags = PASTA_GROUP_FOLD | PASTA_GROUP_OPTIONAL),
	{0},
};

/* Counts a kernel. If its launch has expired, on_event has already counted the launch. */
static void on_kernel(struct state *s, const struct pasta_event *ev, uint32_t flags)
{
	const struct pasta_kernel_record *r = &ev->kernel;
	struct kernel *k = PASTA_ROW(s->kernels, struct kernel, r->name);

	k->launches += flags & PASTA_WHERE_LAUNCH || !(flags & PASTA_WHERE_EXPIRED);
	pasta_group_hist(s->kernels, &k->time, r->dur);
	pasta_stat_add(
		&PASTA_ROW(s->shapes, struct shape, r->name, PASTA_GRID(r), PASTA_BLOCK(r))->time,
		r->dur);
}

/* Handles a kernel or an unmatched launch. In older shards, only launches of kernels have a name
 * and can be unmatched. */
static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	const struct pasta_launch_record *r = &ev->launch;
	struct state *s = state;
	struct kernel *k;

	if (ev->kind == PASTA_KIND_KERNEL)
		on_kernel(s, ev, where->flags);
	if (ev->kind == PASTA_KIND_KERNEL ||
	    (r->work != PASTA_LAUNCH_WORK_KERNEL && r->work != PASTA_LAUNCH_WORK_UNKNOWN))
		return;
	k = PASTA_ROW(s->kernels, struct kernel, r->name);
	k->launches++;
	if (pasta_process_records(ev->proc, PASTA_MASK(KERNEL)))
		k->missing++;
	else
		PASTA_ROW(s->origins, struct origin, r->name, where->scope_id,
			  {ev->proc, r->stack ? r->stack : where->python})
			->launches++;
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	pasta_out_report(
		out, .severity = PASTA_SEVERITY_WARNING,
		PASTA_COUNT(PASTA_SUM(((struct state *)state)->kernels, struct kernel, missing)),
		.what = "launches without a record of their kernel",
		.evidence = "the table counts launches without a kernel record, but shows no "
			    "time, grid or block for these launches",
		.action = "possible reasons: the program ended before the kernels, records of "
			  "kernels were dropped, or the run counted memory accesses and therefore "
			  "has no times of CUDA kernels");
	return pasta_out_groups(out, state, err);
}

PASTA_TOOL(.name = "kernel_freq", .summary = "kernels by name and shape: launches and device time",
	   .events = PASTA_MASK(KERNEL) | PASTA_MASK(UNMATCHED), .needs = PASTA_NEED_SCOPES,
	   .state_size = sizeof(struct state), .event = on_event, .report = report,
	   .flags = PASTA_TOOL_SHARDED, .groups = groups);
