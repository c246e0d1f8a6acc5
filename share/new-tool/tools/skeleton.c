/* skeleton - kernels by name: how often they ran, and for how long. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pasta/tool.h>

/* What is known of one kernel. Change this to what you want to know. */
struct kernel {
	uint32_t name; /* an interned string: pasta_str() has its text */
	uint64_t count, total;
};

/* All that the tool remembers. It is zeroed before open, and there is nothing static beside it:
 * several of these may be filled at the same time, each from a part of the run. */
struct state {
	struct pasta_map *kernels; /* struct kernel, by name */
	size_t top;		   /* the option */
	bool failed;
};

static const struct pasta_option options[] = {
	{"top", "10", "rows of the table; 0: all", PASTA_OPTION_NUMBER},
	{0},
};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	struct state *s = state;

	s->top = pasta_opt_u64(opts, "top");
	s->kernels = pasta_map_new(sizeof(struct kernel));
	return s->kernels ? 0 : pasta_fail(err, -ENOMEM, "out of memory");
}

static void add(struct state *s, uint32_t name, uint64_t count, uint64_t total)
{
	struct kernel *k = pasta_map_add(s->kernels, name);

	if (!k) {
		s->failed = true; /* there is nobody to tell now: report does */
		return;
	}
	k->name = name;
	k->count += count;
	k->total += total;
}

/* Every event of the kinds in .events, below. ev->kind says which it is, and the member of that
 * name has the rest: <pasta/events.def> lists them. This is called millions of times. */
static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	add(state, ev->kernel.name, 1, ev->kernel.dur);
}

/* Add what another state has seen. Leave it out, here and below, if the tool has to see the whole
 * run in one piece. */
static int merge(void *into, const void *from, struct pasta_error *err)
{
	const struct state *other = from;
	struct state *s = into;
	const struct kernel *k;
	size_t at = 0;

	s->failed |= other->failed;
	while ((k = pasta_map_next(other->kernels, &at, NULL)))
		add(s, k->name, k->count, k->total);
	return 0;
}

/* Texts, unlike the numbers of interned strings, are the same whenever a run is read. */
static int by_total(const void *a, const void *b)
{
	const struct kernel *x = *(struct kernel *const *)a, *y = *(struct kernel *const *)b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return strcmp(pasta_str(x->name), pasta_str(y->name));
}

/* A finding is what a person should know: what, where, why you think so, and what to do. */
static void find(struct pasta_out *out, const struct kernel *k, uint64_t all)
{
	char evidence[100];

	if (k->total <= all / 2)
		return;
	snprintf(evidence, sizeof(evidence), "%.0f%% of it, in %llu runs",
		 100.0 * (double)k->total / (double)all, (unsigned long long)k->count);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
			 .what = "most device time is in one kernel", .where = pasta_str(k->name),
			 .evidence = evidence, .action = "begin with that one");
}

static void put_rows(struct state *s, struct pasta_out *out, struct kernel **kernels, size_t count)
{
	static const struct pasta_column columns[] = {
		{.name = "kernel", .type = PASTA_COLUMN_STRING, .role = PASTA_ROLE_KERNEL},
		{.name = "count", .type = PASTA_COLUMN_INT},
		{.name = "total", .type = PASTA_COLUMN_INT, .unit = "ns"},
	};
	struct pasta_table *t = pasta_out_table(out, "skeleton", columns, 3);
	uint64_t all = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		all += kernels[i]->total;
		if (s->top && i >= s->top)
			continue;
		pasta_cell_str(t, pasta_str(kernels[i]->name));
		pasta_cell_int(t, (int64_t)kernels[i]->count);
		pasta_cell_int(t, (int64_t)kernels[i]->total);
	}
	if (count)
		find(out, kernels[0], all);
}

/* Once, at the end. What is put here comes out as text, CSV, JSON and all else. */
static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct state *s = state;
	size_t i = 0, at = 0, count = pasta_map_count(s->kernels);
	struct kernel **kernels = calloc(count + 1, sizeof(*kernels)), *k;

	if (!kernels || s->failed) {
		free(kernels);
		return -ENOMEM;
	}
	while ((k = pasta_map_next(s->kernels, &at, NULL)))
		kernels[i++] = k;
	qsort(kernels, count, sizeof(*kernels), by_total);
	put_rows(s, out, kernels, count);
	free(kernels);
	return 0;
}

/* Once for each state, also if open failed half-way. */
static void close_(void *state)
{
	pasta_map_free(((struct state *)state)->kernels);
}

PASTA_TOOL(.name = "skeleton", .summary = "kernels by name: how often and how long",
	   .events = PASTA_MASK(KERNEL), .state_size = sizeof(struct state), .options = options,
	   .open = open_, .event = on_event, .merge = merge, .report = report, .close = close_);
