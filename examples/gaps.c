/* gaps - when a device has no kernel to run: how often, how long, and between which kernels. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pasta/tool.h>

#define LONGEST_MAX 1000

struct gap {
	uint64_t begin, length; /* ns */
	uint32_t proc, device;
	uint32_t before, after; /* names of the kernels on both sides */
};

/* A device, as a process sees it. Kernels come in the order in which they began. */
struct device {
	uint32_t proc, number;
	uint64_t kernels, begin, end; /* end: of the kernel that ended last, which is last */
	uint32_t last;
	uint64_t busy; /* ns with at least one kernel */
	struct pasta_hist *gaps;
};

struct state {
	struct pasta_map *devices; /* by process and number */
	struct gap *longest;	   /* the longest first */
	size_t longest_count, longest_max;
	bool failed;
};

static const struct pasta_option options[] = {
	{"longest", "10", "how many of the longest gaps to list, up to 1000", PASTA_OPTION_NUMBER},
	{0},
};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	struct state *s = state;

	s->longest_max = pasta_opt_u64(opts, "longest");
	if (s->longest_max > LONGEST_MAX)
		return pasta_fail(err, -EINVAL, "longest is a number up to %d, not %zu",
				  LONGEST_MAX, s->longest_max);
	s->devices = pasta_map_new(sizeof(struct device));
	s->longest = calloc(s->longest_max + 1, sizeof(*s->longest));
	return s->devices && s->longest ? 0 : pasta_fail(err, -ENOMEM, "out of memory");
}

static void close_(void *state)
{
	struct state *s = state;
	struct device *d;
	size_t at = 0;

	while (s->devices && (d = pasta_map_next(s->devices, &at, NULL)))
		pasta_hist_free(d->gaps);
	pasta_map_free(s->devices);
	free(s->longest);
}

/* -- Collecting. Where memory runs out, failed is set, and the report will say so. -- */

static struct device *device_of(struct state *s, uint32_t proc, uint32_t number)
{
	struct device *d = pasta_map_add(s->devices, pasta_pair(proc, number));

	if (d && !d->gaps) {
		d->proc = proc;
		d->number = number;
		d->gaps = pasta_hist_new();
	}
	if (d && d->gaps)
		return d;
	s->failed = true;
	return NULL;
}

static bool before(const struct gap *a, const struct gap *b)
{
	if (a->length != b->length)
		return a->length > b->length;
	if (a->begin != b->begin)
		return a->begin < b->begin;
	return pasta_pair(a->proc, a->device) < pasta_pair(b->proc, b->device);
}

static void keep(struct state *s, const struct gap *gap)
{
	size_t i = s->longest_count;

	if (i == s->longest_max && (!i || !before(gap, &s->longest[i - 1])))
		return;
	if (i < s->longest_max)
		s->longest_count++;
	else
		i--;
	for (; i > 0 && before(gap, &s->longest[i - 1]); i--)
		s->longest[i] = s->longest[i - 1];
	s->longest[i] = *gap;
}

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	struct device *d = device_of(state, ev->proc, ev->kernel.device);
	uint64_t end = ev->time + ev->kernel.dur;

	if (!d)
		return;
	if (!d->kernels++) {
		d->begin = d->end = ev->time;
		d->last = ev->kernel.name;
	}
	if (ev->time > d->end) {
		const struct gap gap = {d->end,	   ev->time - d->end, d->proc,
					d->number, d->last,	      ev->kernel.name};

		if (pasta_hist_add(d->gaps, gap.length, 1))
			((struct state *)state)->failed = true;
		keep(state, &gap);
	}
	if (end > d->end) {
		d->busy += end - (ev->time > d->end ? ev->time : d->end);
		d->end = end;
		d->last = ev->kernel.name;
	}
}

/* A process is in one shard: no device of one state is in another. */
static int merge(void *into, const void *from, struct pasta_error *err)
{
	const struct state *other = from;
	struct state *s = into;
	const struct device *d;
	size_t i, at = 0;

	s->failed |= other->failed;
	while ((d = pasta_map_next(other->devices, &at, NULL))) {
		struct device *mine = device_of(s, d->proc, d->number);
		struct pasta_hist *gaps = mine ? mine->gaps : NULL;

		if (!mine || pasta_hist_merge(gaps, d->gaps)) {
			s->failed = true;
			return -ENOMEM;
		}
		*mine = *d;
		mine->gaps = gaps;
	}
	for (i = 0; i < other->longest_count; i++)
		keep(s, &other->longest[i]);
	return 0;
}

/* -- Reporting. -- */

static void put_device(struct pasta_table *t, const struct device *d)
{
	uint64_t span = d->end - d->begin, idle = span - d->busy;

	pasta_cell_int(t, d->proc);
	pasta_cell_int(t, d->number);
	pasta_cell_int(t, (int64_t)d->kernels);
	pasta_cell_int(t, (int64_t)d->busy);
	pasta_cell_int(t, (int64_t)idle);
	pasta_cell_float(t, span ? 100.0 * (double)idle / (double)span : 0);
	pasta_cell_int(t, (int64_t)pasta_hist_count(d->gaps));
	pasta_cell_int(t, (int64_t)pasta_hist_quantile(d->gaps, 0.5));
	pasta_cell_int(t, (int64_t)pasta_hist_quantile(d->gaps, 0.99));
	pasta_cell_int(t, (int64_t)pasta_hist_max(d->gaps));
}

static void find_idle(struct pasta_out *out, const struct device *d)
{
	uint64_t span = d->end - d->begin, idle = span - d->busy;
	char where[60], evidence[160];

	if (idle <= span / 2)
		return;
	snprintf(where, sizeof(where), "process %u, device %u", d->proc, d->number);
	snprintf(evidence, sizeof(evidence),
		 "no kernel runs for %.0f%% of the time from its first to its last; half of the "
		 "gaps are longer than %.1f us",
		 100.0 * (double)idle / (double)span,
		 (double)pasta_hist_quantile(d->gaps, 0.5) / 1000);
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING,
			 .what = "the device waits for the program most of the time",
			 .where = where, .evidence = evidence,
			 .action = "launch more at once, or do on other threads what is "
				   "between the launches");
}

static int by_number(const void *a, const void *b)
{
	const struct device *x = *(struct device *const *)a, *y = *(struct device *const *)b;
	uint64_t p = pasta_pair(x->proc, x->number), q = pasta_pair(y->proc, y->number);

	return p < q ? -1 : p > q;
}

static int report_devices(const struct state *s, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{.name = "process", .type = PASTA_COLUMN_INT},
		{.name = "device", .type = PASTA_COLUMN_INT},
		{.name = "kernels", .type = PASTA_COLUMN_INT},
		{.name = "busy", .type = PASTA_COLUMN_INT, .unit = "ns"},
		{.name = "idle", .type = PASTA_COLUMN_INT, .unit = "ns"},
		{.name = "share", .type = PASTA_COLUMN_FLOAT, .unit = "%"},
		{.name = "gaps", .type = PASTA_COLUMN_INT},
		{.name = "p50", .type = PASTA_COLUMN_INT, .unit = "ns"},
		{.name = "p99", .type = PASTA_COLUMN_INT, .unit = "ns"},
		{.name = "max", .type = PASTA_COLUMN_INT, .unit = "ns"},
	};
	size_t i = 0, at = 0, count = pasta_map_count(s->devices);
	struct device **devices = calloc(count + 1, sizeof(*devices)), *d;
	struct pasta_table *t;

	if (!devices)
		return -ENOMEM;
	while ((d = pasta_map_next(s->devices, &at, NULL)))
		devices[i++] = d;
	qsort(devices, count, sizeof(*devices), by_number);
	t = pasta_out_table(out, "gaps", columns, 10);
	for (i = 0; i < count; i++) {
		put_device(t, devices[i]);
		find_idle(out, devices[i]);
	}
	free(devices);
	return 0;
}

static void report_longest(const struct state *s, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{.name = "process", .type = PASTA_COLUMN_INT},
		{.name = "device", .type = PASTA_COLUMN_INT},
		{.name = "at", .type = PASTA_COLUMN_INT, .unit = "ns"},
		{.name = "length", .type = PASTA_COLUMN_INT, .unit = "ns"},
		{.name = "before", .type = PASTA_COLUMN_STRING},
		{.name = "after", .type = PASTA_COLUMN_STRING},
	};
	struct pasta_table *t = pasta_out_table(out, "longest_gaps", columns, 6);
	size_t i;

	for (i = 0; i < s->longest_count; i++) {
		const struct gap *g = &s->longest[i];
		const struct device *d = pasta_map_find(s->devices, pasta_pair(g->proc, g->device));

		pasta_cell_int(t, g->proc);
		pasta_cell_int(t, g->device);
		pasta_cell_int(t, (int64_t)(g->begin - (d ? d->begin : 0)));
		pasta_cell_int(t, (int64_t)g->length);
		pasta_cell_str(t, pasta_str(g->before));
		pasta_cell_str(t, pasta_str(g->after));
	}
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	const struct state *s = state;
	int error = s->failed ? -ENOMEM : report_devices(s, out);

	if (!error)
		report_longest(s, out);
	return error;
}

PASTA_TOOL(.name = "gaps", .summary = "when devices have no kernel to run, and between which",
	   .events = PASTA_MASK(KERNEL), .state_size = sizeof(struct state), .options = options,
	   .open = open_, .event = on_event, .merge = merge, .report = report, .close = close_);
