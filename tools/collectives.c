/* collectives - reports communication between ranks: its time, exposed time, and late ranks. */
#include <math.h>
#include <stdio.h>

#include <pasta/tool.h>

/* maximum number of collectives that are stored until their kernel is read */
#define WAITING (1 << 20)
#define EXPOSED 10 /* report devices if more than this % of their time is exposed communication */
#define ROUNDS 20  /* report a late rank only after this many rounds */
#define MOSTLY 75  /* report a rank that is last in at least this % of the rounds */
/* report a rank only if others wait for it for at least this % of the time between first and last
 * kernel */
#define WORTH 1

enum { OTHER, COMMUNICATION }; /* the two types of work whose times a struct pasta_cover measures */

/* A collective whose kernel record has not been read yet. */
struct waiting {
	uint64_t time;
	struct pasta_collective_record call;
};

/* Collectives of one process with the same name, group, data type and size. */
struct alike {
	struct {
		uint32_t proc, name, dtype, ranks;
		uint64_t bytes;
	} key;
	struct pasta_stat time;
	/* ns that the process's collectives take; computed when the tool reports */
	uint64_t of_rank;
};

struct device {
	struct {
		uint32_t proc, device;
	} key;
	struct pasta_cover cover;
	uint64_t calls; /* number of collectives that ran on the device */
	/* ns, computed when the tool reports: the time of collectives, the exposed part of that
	 * time, and the time from the first to the last kernel */
	uint64_t communication, exposed, span;
};

struct rank {
	uint32_t key; /* the process */
	/* number of all collectives, and of collectives whose kernel was read */
	uint64_t seen, joined;
	uint64_t time; /* ns that the process's collectives take */
};

/* How often a process was the last to arrive at a collective, and how long the first process waited
 * for the last one. A tally covers the collectives of one name, or all collectives. Computed when
 * the tool reports. */
struct tally {
	struct {
		uint32_t name, proc;
	} key;
	uint64_t rounds;
	struct pasta_stat wait; /* ns that the first process waited for the last process */
};

struct collectives {
	struct pasta_pending *waiting;
	struct pasta_rounds *rounds;
	struct pasta_group *alike, *devices, *ranks, *tallies, *totals;
	struct pasta_rounds_lost lost; /* set when the tool reports */
};

/* -- Table collectives -- */

static double bandwidth(const void *row, const void *state)
{
	const struct alike *a = row;
	double bytes = (double)a->key.bytes * (double)a->time.count;

	return a->key.bytes && a->time.sum ? bytes * 1e9 / (double)a->time.sum : NAN;
}

static const struct pasta_member alike_members[] = {
	PASTA_MEMBER(PROCESS, struct alike, key.proc, .column = "rank"),
	PASTA_MEMBER(NAME, struct alike, key.name, .column = "collective"),
	PASTA_MEMBER(NAME, struct alike, key.dtype, .column = "dtype", .none = "(unknown)"),
	PASTA_MEMBER(U64, struct alike, key.bytes, .unit = "bytes", .column = "bytes"),
	PASTA_MEMBER(U32, struct alike, key.ranks, .column = "group"),
	PASTA_MEMBER(STAT, struct alike, time, .unit = "ns",
		     .column = "count=calls,total,mean,min,max"),
	PASTA_MEMBER_BY(RATIO, .ratio = bandwidth, .unit = "bytes/s", .column = "bandwidth"),
	PASTA_MEMBER_OF(PERCENT, struct alike, time.sum, of_rank, .column = "share"),
	{0},
};

/* -- Table exposed -- */

static bool communicates(const void *row, const void *state)
{
	return ((const struct device *)row)->calls;
}

static const struct pasta_member device_members[] = {
	PASTA_MEMBER(PROCESS, struct device, key.proc, .column = "rank"),
	PASTA_MEMBER(U32, struct device, key.device, .column = "device"),
	PASTA_MEMBER(SUM, struct device, calls, .column = "calls"),
	PASTA_MEMBER(COVER, struct device, cover),
	PASTA_MEMBER(U64, struct device, communication, .unit = "ns", .column = "communication"),
	PASTA_MEMBER(U64, struct device, exposed, .unit = "ns", .column = "exposed"),
	PASTA_MEMBER_OF(PERCENT, struct device, exposed, communication, .column = "exposed_share"),
	PASTA_MEMBER(U64, struct device, span, .unit = "ns", .column = "span"),
	PASTA_MEMBER_OF(PERCENT, struct device, exposed, span, .column = "span_share"),
	{0},
};

/* -- Table last -- */

static int64_t mean_wait(const void *row, const void *state)
{
	const struct pasta_stat *wait = &((const struct tally *)row)->wait;

	return (int64_t)(wait->count ? wait->sum / wait->count : 0);
}

static const struct pasta_member tally_members[] = {
	PASTA_MEMBER(NAME, struct tally, key.name, .column = "collective"),
	PASTA_MEMBER(PROCESS, struct tally, key.proc, .column = "rank"),
	PASTA_MEMBER(SUM, struct tally, rounds, .column = "rounds"),
	PASTA_MEMBER(U64, struct tally, wait.count, .column = "last"),
	PASTA_MEMBER_OF(PERCENT, struct tally, wait.count, rounds, .column = "share"),
	PASTA_MEMBER_BY(CALL, .call = mean_wait, .unit = "ns", .column = "mean_wait"),
	PASTA_MEMBER(U64, struct tally, wait.max, .unit = "ns", .column = "max_wait"),
	PASTA_MEMBER(U64, struct tally, wait.sum, .column = "wait", .flags = PASTA_MEMBER_HIDDEN),
	{0},
};

static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct collectives, alike, struct alike, alike_members, .table = "collectives",
		    .order = "-total rank collective dtype bytes group"),
	PASTA_GROUP(struct collectives, devices, struct device, device_members, .table = "exposed",
		    .order = "rank device", .keep = communicates),
	PASTA_GROUP(struct collectives, tallies, struct tally, tally_members, .table = "last",
		    .order = "collective -last rank", .flags = PASTA_GROUP_OPTIONAL),
	PASTA_GROUP(struct collectives, totals, struct tally, tally_members),
	PASTA_GROUP_HIDDEN(struct collectives, ranks, struct rank,
			   PASTA_SUMS(struct rank, seen, time)),
	{0},
};

/* -- Collecting -- */

static int open_(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	struct collectives *c = state;

	c->waiting = pasta_pending_new(sizeof(struct waiting), WAITING);
	c->rounds = pasta_rounds_new();
	return c->waiting && c->rounds ? 0 : pasta_fail(err, -ENOMEM, "out of memory");
}

static void close_(void *state)
{
	struct collectives *c = state;

	pasta_pending_free(c->waiting);
	pasta_rounds_free(c->rounds);
}

static int merge(void *into, const void *from, struct pasta_error *err)
{
	const struct collectives *other = from;

	return pasta_rounds_merge(((struct collectives *)into)->rounds, other->rounds)
		       ? pasta_fail(err, -ENOMEM, "out of memory")
		       : 0;
}

static void on_kernel(struct collectives *c, const struct pasta_event *ev)
{
	const struct pasta_kernel_record *r = &ev->kernel;
	struct device *d = PASTA_ROW(c->devices, struct device, ev->proc, r->device);
	const struct waiting *w = pasta_collective_find(c->waiting, ev);
	struct alike *alike;
	struct rank *rank;

	pasta_cover_add(&d->cover, w ? COMMUNICATION : OTHER, ev->time, r->dur);
	if (!w)
		return;
	d->calls++;
	alike = PASTA_ROW(c->alike, struct alike, ev->proc, w->call.name, w->call.dtype,
			  w->call.ranks, w->call.bytes_in ? w->call.bytes_in : w->call.bytes_out);
	pasta_stat_add(&alike->time, r->dur);
	rank = PASTA_ROW(c->ranks, struct rank, ev->proc);
	rank->joined++;
	rank->time += r->dur;
	if (pasta_rounds_add(c->rounds, &w->call, ev))
		pasta_group_fail(c->ranks, -ENOMEM);
	pasta_collective_done(c->waiting, ev);
}

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	struct collectives *c = state;
	struct waiting *w;

	if (ev->kind == PASTA_KIND_KERNEL) {
		on_kernel(c, ev);
		return;
	}
	PASTA_ROW(c->ranks, struct rank, ev->proc)->seen++;
	w = pasta_collective_wait(c->waiting, ev);
	if (w) /* if memory runs out, the collective counts as a collective without a kernel */
		w->call = ev->collective;
}

/* -- The last rank of each round -- */

/* If several ranks arrive last at the same time, all of them are last. If all ranks arrive at the
 * same time, none is last. */
static void judge(struct collectives *c, const struct pasta_round *round)
{
	for (uint32_t i = 0; i < round->count; i++) {
		const struct pasta_arrival *a = &round->arrivals[i];
		struct tally *of[] = {PASTA_ROW(c->tallies, struct tally, round->name, a->proc),
				      PASTA_ROW(c->totals, struct tally, 0, a->proc)};

		for (size_t k = 0; k < 2; k++) {
			of[k]->rounds++;
			if (a->begin == round->last && round->last != round->first)
				pasta_stat_add(&of[k]->wait, round->last - round->first);
		}
	}
}

/* -- Findings -- */

static void find_exposed(const struct collectives *c, struct pasta_out *out)
{
	const struct device *d, *worst = NULL;
	char where[400], device[32], evidence[200];
	size_t at = 0, above = 0;

	while ((d = pasta_group_next_by(c->devices, "-span_share rank device", &at))) {
		worst = worst ? worst : d;
		above += pasta_percent(d->exposed, d->span) > EXPOSED;
	}
	if (!above)
		return;
	snprintf(where, sizeof(where), "%s, %s", pasta_process(worst->key.proc)->text,
		 pasta_device_text(worst->key.device, device, sizeof(device)));
	snprintf(evidence, sizeof(evidence),
		 "for %.1f%% of the time, only collectives run; this share exceeds %d%% on %zu "
		 "device%s",
		 pasta_percent(worst->exposed, worst->span), EXPOSED, above, above == 1 ? "" : "s");
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING,
			 .what = "computation waits for communication", .where = where,
			 .evidence = evidence,
			 .action = "start collectives earlier, so that they overlap other kernels; "
				   "send fewer bytes; check table 'last' for a late rank");
}

/* Reports the rank for which others wait longest, if the rank is often last and the waits are
 * long. */
static void find_straggler(const struct collectives *c, uint64_t span, struct pasta_out *out)
{
	const struct tally *t;
	char evidence[200];
	size_t at = 0;

	while ((t = pasta_group_next_by(c->totals, "-wait rank", &at)))
		if (t->rounds >= ROUNDS && pasta_percent(t->wait.count, t->rounds) >= MOSTLY &&
		    pasta_percent(t->wait.sum, span) >= WORTH)
			break;
	if (!t)
		return;
	snprintf(evidence, sizeof(evidence),
		 "the rank starts last in %.1f%% of %llu rounds; the ranks that started first "
		 "waited %.3f ms in total",
		 pasta_percent(t->wait.count, t->rounds), (unsigned long long)t->rounds,
		 (double)t->wait.sum / 1e6);
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING,
			 .what = "one rank is last in most collectives",
			 .where = pasta_process(t->key.proc)->text, .evidence = evidence,
			 .action = "find out why this rank is slower than others: more work, "
				   "slower input, or a slower device");
}

/* Reports that clocks may differ if the ranks run on several hosts. */
static void find_clocks(const struct collectives *c, struct pasta_out *out)
{
	const char *host = NULL;
	const struct tally *t;
	bool one = true;

	for (size_t at = 0; (t = pasta_group_next(c->totals, &at));) {
		const char *own = pasta_process(t->key.proc)->host;

		one &= *own && (!host || !strcmp(host, own));
		host = own;
	}
	if (!one)
		pasta_out_report(
			out, .severity = PASTA_SEVERITY_NOTE,
			.what = "the accuracy of table 'last' depends on the clocks of the hosts",
			.evidence = "the ranks may be on different hosts",
			.action = "trust only waits that are longer than the clocks' difference");
}

static void find_unmatched(const struct collectives *c, struct pasta_out *out)
{
	const struct {
		uint64_t count;
		const char *what, *evidence;
	} found[] = {
		{c->lost.alone, "collectives that only some ranks of their group recorded",
		 "table 'last' shows only collectives that all ranks of their group recorded"},
		{c->lost.apart, "collectives that match by order, but don't overlap in time",
		 "table 'last' omits collectives that do not overlap: ranks began to record at "
		 "different times, or the hosts' clocks differ"},
		{c->lost.mixed, "collectives of groups that cannot be distinguished",
		 "table 'last' omits collectives in which more ranks took part than the group has"},
		{c->lost.over, "collectives beyond the limit of 262144 per process",
		 "table 'last' shows only the first 262144 collectives of each process"},
		{PASTA_SUM(c->ranks, struct rank, seen) - PASTA_SUM(c->ranks, struct rank, joined),
		 "collectives without a kernel",
		 "no table shows collectives without a kernel: the program ended before the "
		 "kernels, or the kernels were dropped or filtered out"},
	};

	for (size_t i = 0; i < sizeof(found) / sizeof(*found); i++)
		pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, PASTA_COUNT(found[i].count),
				 .what = found[i].what, .evidence = found[i].evidence);
}

/* Returns the longest time between the first and the last kernel of a device, over all devices that
 * ran collectives. */
static uint64_t measure(const struct collectives *c)
{
	uint64_t longest = 0;
	struct device *d;

	for (size_t at = 0; (d = pasta_group_next(c->devices, &at));) {
		pasta_cover_finish(&d->cover);
		d->exposed = d->cover.time[1 << COMMUNICATION];
		d->communication = d->exposed + d->cover.time[1 << COMMUNICATION | 1 << OTHER];
		d->span = d->cover.time[0] + d->cover.time[1 << OTHER] + d->communication;
		longest = d->calls && d->span > longest ? d->span : longest;
	}
	return longest;
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct collectives *c = state;
	uint64_t span = measure(c);
	struct pasta_round round;
	struct alike *alike;

	if (pasta_rounds_match(c->rounds, &c->lost))
		return pasta_fail(err, -ENOMEM, "out of memory");
	for (size_t at = 0; pasta_rounds_next(c->rounds, &at, &round);)
		judge(c, &round);
	for (size_t at = 0; (alike = pasta_group_next(c->alike, &at));)
		alike->of_rank = PASTA_ROW(c->ranks, struct rank, alike->key.proc)->time;
	find_exposed(c, out);
	find_straggler(c, span, out);
	find_clocks(c, out);
	find_unmatched(c, out);
	return pasta_out_groups(out, c, err);
}

PASTA_TOOL(.name = "collectives",
	   .summary = "communication between ranks: time, exposed time, late ranks",
	   .events = PASTA_MASK(COLLECTIVE) | PASTA_MASK(KERNEL),
	   .state_size = sizeof(struct collectives), .open = open_, .event = on_event,
	   .merge = merge, .report = report, .close = close_, .flags = PASTA_TOOL_SHARDED,
	   .groups = groups);
