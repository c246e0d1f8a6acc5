/* skeleton - kernels by name: how often they ran, and for how long. */
#include <stdio.h>
#include <stdlib.h>

#include <pasta/tool.h>

/* A row: the values of one kernel. Replace them with the values that your tool counts. */
struct kernel {
	struct {
		uint32_t name; /* an interned string: pasta_str() has its text */
	} key;
	uint64_t count, total;
};

/* The tool's state. Do not use static variables: threads may fill several states at the same time,
 * each from a part of the run. */
struct state {
	struct pasta_group *kernels; /* struct kernel; the framework creates, merges and frees it */
};

static const struct pasta_option options[] = {
	{"top", "10", "rows of the table; 0: all", PASTA_OPTION_NUMBER},
	{0},
};

/* The columns of the table, and how to merge two rows of one kernel: see <pasta/group.h>. */
static const struct pasta_member members[] = {
	PASTA_MEMBER(NAME, struct kernel, key.name, .column = "kernel", .role = PASTA_ROLE_KERNEL),
	PASTA_MEMBER(SUM, struct kernel, count, .column = "count"),
	PASTA_MEMBER(SUM, struct kernel, total, .column = "total", .unit = "ns"),
	{0},
};

static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct state, kernels, struct kernel, members, .order = "-total kernel",
		    .limit_option = "top", .table = "skeleton"),
	{0},
};

/* Called for each event of the kinds in .events, below; perhaps millions of times. The member with
 * the name of the kind, such as ev->kernel, has its fields: see <pasta/events.def>. */
static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	struct state *s = state;
	struct kernel *k = PASTA_ROW(s->kernels, struct kernel, ev->kernel.name);

	k->count++;
	k->total += ev->kernel.dur;
}

/* Called once, at the end: reports findings, then the tables. A finding is a conclusion for the
 * user: what, where, the evidence for it, and what to do. */
static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct state *s = state;
	uint64_t all = PASTA_SUM(s->kernels, struct kernel, total);
	size_t count;
	struct kernel **sorted = pasta_group_sorted(s->kernels, NULL, &count);
	char evidence[100];

	if (count && sorted[0]->total > all / 2) {
		snprintf(evidence, sizeof(evidence), "%.0f%% of device time, in %llu launches",
			 100 * pasta_ratio(sorted[0]->total, all),
			 (unsigned long long)sorted[0]->count);
		pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
				 .what = "most device time is in one kernel",
				 .where = pasta_name(sorted[0]->key.name), .evidence = evidence,
				 .action = "optimize this kernel first");
	}
	free(sorted);
	return pasta_out_groups(out, state, err);
}

PASTA_TOOL(.name = "skeleton", .summary = "kernels by name: how often and how long",
	   .events = PASTA_MASK(KERNEL), .flags = PASTA_TOOL_SHARDED,
	   .state_size = sizeof(struct state), .options = options, .groups = groups,
	   .event = on_event, .report = report);
