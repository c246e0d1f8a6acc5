/* kernel_gaps - times in which a device runs no kernel: how often, how long, between which kernels.
 */
#include <stdio.h>
#include <stdlib.h>

#include <pasta/tool.h>

#define LONGEST_MAX 1000

struct gap {
	struct gap_key {
		uint32_t proc, device;
		uint64_t begin;
	} key;
	uint64_t length;	/* ns */
	uint32_t before, after; /* names of the kernels on both sides */
};

/* A device, in one process. Kernels arrive in order of their begin. */
struct device {
	struct {
		uint32_t proc, number;
	} key;
	uint64_t kernels, begin, end; /* end: of the kernel that ended last */
	uint64_t busy, idle, span;    /* ns with a running kernel, without one, in total */
	struct pasta_hist *gaps;
	struct pasta_list longest; /* struct gap, unordered */
	uint32_t last, reserved;
};

struct state {
	struct pasta_group *devices;
	struct pasta_group *longest; /* of all devices; report only */
	uint64_t longest_max;	     /* option longest */
};

static const struct pasta_option options[] = {
	{"longest", "10", "number of longest gaps to list, at most 1000", PASTA_OPTION_NUMBER},
	{0},
};

static int64_t since_begin(const void *row, const void *state)
{
	const struct state *s = state;
	const struct gap *g = row;

	return (int64_t)(g->key.begin -
			 PASTA_ROW(s->devices, struct device, g->key.proc, g->key.device)->begin);
}

/* The histogram's own columns would be empty without a gap; these are 0. */
static int64_t gaps_quantile(const struct device *d, double q)
{
	return d->gaps ? (int64_t)pasta_hist_quantile(d->gaps, q) : 0;
}

static int64_t gaps_p50(const void *row, const void *state)
{
	return gaps_quantile(row, 0.5);
}

static int64_t gaps_p99(const void *row, const void *state)
{
	return gaps_quantile(row, 0.99);
}

static int64_t gaps_max(const void *row, const void *state)
{
	return gaps_quantile(row, 1);
}

/* A process is in one shard, so that no two states have the same device. */
static const struct pasta_member device_members[] = {
	PASTA_MEMBER(U32, struct device, key.proc, .column = "process"),
	PASTA_MEMBER(U32, struct device, key.number, .column = "device"),
	PASTA_MEMBER(SUM, struct device, kernels, .column = "kernels"),
	PASTA_MEMBER(MIN, struct device, begin),
	PASTA_MEMBER(SUM, struct device, busy, .column = "busy", .unit = "ns"),
	PASTA_MEMBER(SUM, struct device, idle, .column = "idle", .unit = "ns"),
	PASTA_MEMBER(SUM, struct device, span),
	PASTA_MEMBER_OF(PERCENT, struct device, idle, span, .column = "share", .unit = "%"),
	PASTA_MEMBER(HIST, struct device, gaps, .column = "count=gaps"),
	PASTA_MEMBER_BY(CALL, .column = "p50", .unit = "ns", .call = gaps_p50),
	PASTA_MEMBER_BY(CALL, .column = "p99", .unit = "ns", .call = gaps_p99),
	PASTA_MEMBER_BY(CALL, .column = "max", .unit = "ns", .call = gaps_max),
	PASTA_MEMBER(LIST, struct device, longest, .item_size = sizeof(struct gap)),
	{0},
};
static const struct pasta_member gap_members[] = {
	PASTA_MEMBER(U32, struct gap, key.proc, .column = "process"),
	PASTA_MEMBER(U32, struct gap, key.device, .column = "device"),
	PASTA_MEMBER(U64, struct gap, key.begin, .column = "begin", .flags = PASTA_MEMBER_HIDDEN),
	PASTA_MEMBER_BY(CALL, .column = "at", .unit = "ns", .call = since_begin),
	PASTA_MEMBER(U64, struct gap, length, .column = "length", .unit = "ns"),
	PASTA_MEMBER(NAME, struct gap, before, .column = "before", .none = ""),
	PASTA_MEMBER(NAME, struct gap, after, .column = "after", .none = ""),
	{0},
};
static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct state, devices, struct device, device_members, .table = "gaps",
		    .order = "process device"),
	PASTA_GROUP(struct state, longest, struct gap, gap_members, .table = "longest_gaps",
		    .order = "-length begin process device", .limit_option = "longest"),
	{0},
};

static int gaps_open(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	struct state *s = state;

	s->longest_max = pasta_opt_u64(opts, "longest");
	if (s->longest_max <= LONGEST_MAX)
		return 0;
	return pasta_fail(err, -EINVAL, "longest is at most %d, not %llu", LONGEST_MAX,
			  (unsigned long long)s->longest_max);
}

/* Returns the shortest of a device's longest gaps; of equal ones, the latest. */
static struct gap *gaps_shortest(const struct pasta_list *list)
{
	struct gap *gaps = list->items, *least = gaps;

	for (uint32_t i = 1; i < list->count; i++)
		if (gaps[i].length < least->length ||
		    (gaps[i].length == least->length && gaps[i].key.begin > least->key.begin))
			least = &gaps[i];
	return least;
}

static void gaps_add(struct state *s, struct device *d, const struct gap *gap)
{
	struct gap *to = NULL;

	pasta_group_hist(s->devices, &d->gaps, gap->length);
	d->idle += gap->length;
	d->span += gap->length;
	if (d->longest.count < s->longest_max)
		to = pasta_group_append(s->devices, &d->longest, sizeof(*gap));
	else if (s->longest_max)
		to = gaps_shortest(&d->longest);
	if (to && gap->length > to->length)
		*to = *gap;
}

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	struct state *s = state;
	struct device *d = PASTA_ROW(s->devices, struct device, ev->proc, ev->kernel.device);
	uint64_t end = ev->time + ev->kernel.dur;

	if (!d->kernels++) {
		d->begin = d->end = ev->time;
		d->last = ev->kernel.name;
	}
	if (ev->time > d->end) {
		const struct gap gap = {{ev->proc, ev->kernel.device, d->end},
					ev->time - d->end,
					d->last,
					ev->kernel.name};

		gaps_add(s, d, &gap);
		d->end = ev->time;
		d->last = ev->kernel.name;
	}
	if (end > d->end) {
		d->busy += end - d->end;
		d->span += end - d->end;
		d->end = end;
		d->last = ev->kernel.name;
	}
}

static void find_idle(struct pasta_out *out, const struct device *d)
{
	char where[60], evidence[160];

	if (d->idle <= d->span / 2)
		return;
	snprintf(where, sizeof(where), "process %u, device %u", d->key.proc, d->key.number);
	snprintf(evidence, sizeof(evidence),
		 "no kernel runs for %.0f%% of the time between the first and "
		 "the last kernel; half of the gaps are longer than %.1f us",
		 100 * pasta_ratio(d->idle, d->span), (double)gaps_quantile(d, 0.5) / 1000);
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING,
			 .what = "the device waits for the program most of the time",
			 .where = where, .evidence = evidence,
			 .action = "launch more work at once, or move the work between launches to "
				   "other threads");
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct state *s = state;
	size_t count;
	struct device **devices = pasta_group_sorted(s->devices, NULL, &count);

	for (size_t i = 0; i < count; i++) {
		const struct pasta_list *list = &devices[i]->longest;

		find_idle(out, devices[i]);
		for (const struct gap *g = list->items;
		     g && g < (struct gap *)list->items + list->count; g++)
			*(struct gap *)pasta_group_row(s->longest, &g->key) = *g;
	}
	free(devices);
	return pasta_out_groups(out, state, err);
}

PASTA_TOOL(.name = "kernel_gaps",
	   .summary = "times in which devices run no kernel, and between which kernels",
	   .events = PASTA_MASK(KERNEL), .flags = PASTA_TOOL_SHARDED,
	   .state_size = sizeof(struct state), .options = options, .groups = groups,
	   .open = gaps_open, .event = on_event, .report = report);
