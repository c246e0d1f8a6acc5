/* collectives - communication between ranks: how long, how much of it is exposed, who is late. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pasta/pasta.h>

#define WAITING (1 << 20) /* collectives that wait for their kernel, at most */
#define ARRIVALS 262144	  /* of a process, that are kept: a finding and the docs say so */
#define NO_END UINT32_MAX /* of an arrival: 4 s and more */

#define EXPOSED 10 /* % of the span, before a finding says so */
#define ROUNDS 20  /* before a rank may be called the last one */
#define MOSTLY 75  /* % of the rounds */
#define WORTH 1	   /* % of the span that the others wait for it */

enum { OTHER, COMMUNICATION }; /* sorts of a cover */

/* A collective whose kernel has not come. */
struct waiting {
	uint64_t time, bytes, comm, seq;
	uint32_t name, dtype, ranks;
};

/* Collectives that are alike, of one process. */
struct row {
	uint64_t place; /* in the report's order of processes */
	uint32_t proc, name, dtype, ranks;
	uint64_t bytes;
	uint64_t calls, total, min, max;
};

struct device {
	uint64_t place;
	uint32_t proc, device;
	struct pasta_cover cover;
	uint64_t calls; /* collectives that ran on it */
};

/* A rank comes to a collective: its kernel begins. */
struct arrival {
	uint64_t begin, seq;
	uint32_t proc, dur;
};

/* Collectives of which the n-th of one rank is the n-th of the others. */
struct group {
	uint64_t comm;
	uint32_t name, ranks, number; /* number: from 1 */
	struct arrival *arrivals;
	size_t count, room;
};

/* How often a process was the last, and how long the others waited for it. */
struct lateness {
	uint64_t rounds, last, wait, max;
};

struct process {
	uint32_t rank; /* plus 1; 0: none */
	uint32_t host, pid;
	uint32_t group; /* the last one that it was found in */
	uint64_t kept;	/* arrivals */
	uint64_t time;	/* of all its collectives */
	struct lateness sum;
};

/* Of a process, in collectives of one name. */
struct tally {
	uint64_t place;
	uint32_t name, proc;
	struct lateness sum;
};

struct collectives {
	struct pasta_pending *waiting;
	struct pasta_map *rows, *groups; /* by hash, or the next number that is free */
	struct pasta_map *devices;	 /* by process and number */
	struct pasta_map *processes;
	struct pasta_map *tallies; /* by name and process; in the report only */
	struct device *device;	   /* of the last kernel */
	uint64_t seen, joined;	   /* collectives; those whose kernel came */
	uint64_t over;		   /* arrivals that are not kept */
	uint64_t alone, apart;	   /* arrivals: not of every rank; not at one time */
	uint64_t mixed;		   /* arrivals in groups of more ranks than they can have */
	bool failed;
};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_err *err)
{
	struct collectives *c = state;

	(void)opts;
	c->waiting = pasta_pending_new(sizeof(struct waiting), WAITING);
	c->rows = pasta_map_new(sizeof(struct row));
	c->groups = pasta_map_new(sizeof(struct group));
	c->devices = pasta_map_new(sizeof(struct device));
	c->processes = pasta_map_new(sizeof(struct process));
	c->tallies = pasta_map_new(sizeof(struct tally));
	if (!c->waiting || !c->rows || !c->groups || !c->devices || !c->processes || !c->tallies)
		return pasta_fail(err, -ENOMEM, "out of memory");
	return 0;
}

static void close_(void *state)
{
	struct collectives *c = state;
	struct group *group;
	size_t at = 0;

	while (c->groups && (group = pasta_map_next(c->groups, &at, NULL)))
		free(group->arrivals);
	pasta_pending_free(c->waiting);
	pasta_map_free(c->rows);
	pasta_map_free(c->groups);
	pasta_map_free(c->devices);
	pasta_map_free(c->processes);
	pasta_map_free(c->tallies);
}

/* -- Collecting. Where memory runs out, failed is set, and the report will say so. -- */

static uint64_t mix(uint64_t h, uint64_t number)
{
	h = (h ^ number) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

static bool alike(const struct row *a, const struct row *b)
{
	return a->proc == b->proc && a->name == b->name && a->dtype == b->dtype &&
	       a->ranks == b->ranks && a->bytes == b->bytes;
}

/* Rows whose hash is the same have the numbers after it: none is ever removed. */
static void add_row(struct collectives *c, const struct row *from)
{
	uint64_t key = mix(mix(mix(0, pasta_pair(from->proc, from->name)),
			       pasta_pair(from->dtype, from->ranks)),
			   from->bytes);
	struct row *row;

	while ((row = pasta_map_add(c->rows, key)) && row->calls && !alike(row, from))
		key++;
	if (!row) {
		c->failed = true;
	} else if (!row->calls) {
		*row = *from;
	} else {
		row->calls += from->calls;
		row->total += from->total;
		row->min = from->min < row->min ? from->min : row->min;
		row->max = from->max > row->max ? from->max : row->max;
	}
}

static struct group *group_of(struct collectives *c, uint64_t comm, uint32_t name, uint32_t ranks)
{
	uint64_t key = mix(mix(0, comm), pasta_pair(name, ranks));
	struct group *g;

	while ((g = pasta_map_add(c->groups, key)) && g->number &&
	       (g->comm != comm || g->name != name || g->ranks != ranks))
		key++;
	if (!g) {
		c->failed = true;
	} else if (!g->number) {
		g->comm = comm;
		g->name = name;
		g->ranks = ranks;
		g->number = (uint32_t)pasta_map_count(c->groups);
	}
	return g;
}

/* Room for so many more. */
static bool reserve(struct collectives *c, struct group *g, size_t more)
{
	size_t room = g->room ? g->room : 16;
	struct arrival *arrivals;

	if (g->count + more <= g->room)
		return true;
	while (room < g->count + more)
		room *= 2;
	arrivals = reallocarray(g->arrivals, room, sizeof(*arrivals));
	if (!arrivals) {
		c->failed = true;
		return false;
	}
	g->arrivals = arrivals;
	g->room = room;
	return true;
}

/* The bound is a process's, so that what is kept does not depend on how states are merged. */
static void arrive(struct collectives *c, struct process *process, const struct waiting *w,
		   const struct pasta_event *ev)
{
	uint64_t dur = ev->kernel.dur;
	struct group *g;

	if (process->kept == ARRIVALS) {
		c->over++;
		return;
	}
	g = group_of(c, w->comm, w->name, w->ranks);
	if (!g || !reserve(c, g, 1))
		return;
	g->arrivals[g->count++] = (struct arrival){.begin = ev->time,
						   .seq = w->seq,
						   .proc = ev->proc,
						   .dur = dur < NO_END ? (uint32_t)dur : NO_END};
	process->kept++;
}

static struct process *process_of(struct collectives *c, uint32_t proc)
{
	struct process *process = pasta_map_add(c->processes, proc);

	c->failed |= !process;
	return process;
}

static struct device *device_of(struct collectives *c, uint32_t proc, uint32_t number)
{
	struct device *d = c->device;

	if (d && d->proc == proc && d->device == number)
		return d;
	d = pasta_map_add(c->devices, pasta_pair(proc, number));
	if (d) {
		d->proc = proc;
		d->device = number;
	}
	c->failed |= !d;
	return c->device = d;
}

static void on_collective(struct collectives *c, const struct pasta_event *ev)
{
	const struct pasta_collective *r = &ev->collective;
	struct waiting *w = pasta_collective_wait(c->waiting, ev);

	c->seen++;
	if (!w) {
		c->failed = true;
		return;
	}
	*w = (struct waiting){.time = ev->time,
			      .bytes = r->bytes_in ? r->bytes_in : r->bytes_out,
			      .comm = r->comm,
			      .seq = r->seq,
			      .name = r->name,
			      .dtype = r->dtype,
			      .ranks = r->ranks};
}

static void join(struct collectives *c, const struct waiting *w, const struct pasta_event *ev)
{
	struct process *process = process_of(c, ev->proc);
	uint64_t dur = ev->kernel.dur;

	c->joined++;
	add_row(c, &(struct row){.proc = ev->proc,
				 .name = w->name,
				 .dtype = w->dtype,
				 .ranks = w->ranks,
				 .bytes = w->bytes,
				 .calls = 1,
				 .total = dur,
				 .min = dur,
				 .max = dur});
	if (process)
		arrive(c, process, w, ev);
}

static void on_kernel(struct collectives *c, const struct pasta_event *ev)
{
	struct device *d = device_of(c, ev->proc, ev->kernel.device);
	const struct waiting *w = pasta_collective_find(c->waiting, ev);

	if (!d)
		return;
	pasta_cover_add(&d->cover, w ? COMMUNICATION : OTHER, ev->time, ev->kernel.dur);
	if (!w)
		return;
	d->calls++;
	join(c, w, ev);
	pasta_collective_done(c->waiting, ev);
}

static void on_process(struct collectives *c, const struct pasta_event *ev)
{
	struct process *process = process_of(c, ev->proc);

	if (!process)
		return;
	process->rank = ev->process.rank;
	process->host = ev->process.host;
	process->pid = ev->process.pid;
}

static void on_event(void *state, const struct pasta_event *ev)
{
	if (ev->kind == PASTA_KERNEL)
		on_kernel(state, ev);
	else if (ev->kind == PASTA_COLLECTIVE)
		on_collective(state, ev);
	else
		on_process(state, ev);
}

/* -- Merging: all that is of a process is in one of the states. -- */

static void merge_groups(struct collectives *a, const struct collectives *b)
{
	const struct group *from;
	size_t at = 0;

	while ((from = pasta_map_next(b->groups, &at, NULL))) {
		struct group *g = group_of(a, from->comm, from->name, from->ranks);

		if (!g || !from->count || !reserve(a, g, from->count))
			continue;
		memcpy(g->arrivals + g->count, from->arrivals, from->count * sizeof(*g->arrivals));
		g->count += from->count;
	}
}

static void merge_places(struct collectives *a, const struct collectives *b)
{
	const struct process *process;
	const struct device *device;
	uint64_t key;
	size_t at = 0;

	while ((process = pasta_map_next(b->processes, &at, &key))) {
		struct process *ours = process_of(a, (uint32_t)key);

		if (ours)
			*ours = *process;
	}
	at = 0;
	while ((device = pasta_map_next(b->devices, &at, NULL))) {
		struct device *ours = device_of(a, device->proc, device->device);

		if (ours)
			*ours = *device;
	}
}

static void merge(void *into, const void *from)
{
	const struct collectives *b = from;
	struct collectives *a = into;
	const struct row *row;
	size_t at = 0;

	a->failed |= b->failed;
	a->seen += b->seen;
	a->joined += b->joined;
	a->over += b->over;
	while ((row = pasta_map_next(b->rows, &at, NULL)))
		add_row(a, row);
	merge_groups(a, b);
	merge_places(a, b);
}

/* -- Reporting. -- */

#define TEXT 300 /* bytes of a label */

static const char *label(uint32_t name)
{
	return name ? pasta_str(name) : "(unnamed)";
}

static const char *rank_text(const struct collectives *c, uint32_t proc, char *text)
{
	const struct process *process = pasta_map_find(c->processes, proc);

	if (!process || !process->rank)
		return pasta_process_text(pasta_str(process ? process->host : 0),
					  process ? process->pid : 0, proc, text, TEXT);
	snprintf(text, TEXT, "%u", process->rank - 1);
	return text;
}

/* By rank; those that have none last. */
static uint64_t place_of(const struct collectives *c, uint32_t proc)
{
	const struct process *process = pasta_map_find(c->processes, proc);

	return pasta_pair(process && process->rank ? process->rank - 1 : UINT32_MAX, proc);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

static int ascending(uint64_t x, uint64_t y)
{
	return x < y ? -1 : x > y;
}

static int by_total(const void *a, const void *b)
{
	const struct row *x = *(struct row *const *)a, *y = *(struct row *const *)b;
	int order = ascending(y->total, x->total);

	order = order ? order : ascending(x->place, y->place);
	order = order ? order : strcmp(label(x->name), label(y->name));
	order = order ? order : strcmp(pasta_str(x->dtype), pasta_str(y->dtype));
	order = order ? order : ascending(x->bytes, y->bytes);
	return order ? order : ascending(x->ranks, y->ranks);
}

static void put_row(const struct collectives *c, const struct row *row, struct pasta_table *t)
{
	const struct process *process = pasta_map_find(c->processes, row->proc);
	double bytes = (double)row->bytes * (double)row->calls;
	char text[TEXT];

	pasta_cell_str(t, rank_text(c, row->proc, text));
	pasta_cell_str(t, label(row->name));
	pasta_cell_str(t, row->dtype ? pasta_str(row->dtype) : "(unknown)");
	pasta_cell_int(t, (int64_t)row->bytes);
	pasta_cell_int(t, (int64_t)row->ranks);
	pasta_cell_int(t, (int64_t)row->calls);
	pasta_cell_int(t, (int64_t)row->total);
	pasta_cell_int(t, (int64_t)(row->total / row->calls));
	pasta_cell_int(t, (int64_t)row->min);
	pasta_cell_int(t, (int64_t)row->max);
	pasta_cell_float(t, row->bytes && row->total ? bytes * 1e9 / (double)row->total : NAN);
	pasta_cell_float(t, percent(row->total, process ? process->time : 0));
}

static int report_rows(struct collectives *c, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"rank", PASTA_STRING, NULL},
		{"collective", PASTA_STRING, NULL},
		{"dtype", PASTA_STRING, NULL},
		{"bytes", PASTA_INT, "bytes"},
		{"group", PASTA_INT, NULL},
		{"calls", PASTA_INT, NULL},
		{"total", PASTA_INT, "ns"},
		{"mean", PASTA_INT, "ns"},
		{"min", PASTA_INT, "ns"},
		{"max", PASTA_INT, "ns"},
		{"bandwidth", PASTA_FLOAT, "bytes/s"},
		{"share", PASTA_FLOAT, "%"},
	};
	size_t i, at = 0, count = pasta_map_count(c->rows);
	struct process *process;
	struct pasta_table *t;
	struct row **rows, *row;

	while ((row = pasta_map_next(c->rows, &at, NULL))) {
		row->place = place_of(c, row->proc);
		process = pasta_map_find(c->processes, row->proc);
		if (process)
			process->time += row->total;
	}
	rows = pasta_map_sorted(c->rows, by_total);
	if (!rows)
		return -ENOMEM;
	t = pasta_out_table(out, "collectives", columns, 12);
	for (i = 0; i < count; i++)
		put_row(c, rows[i], t);
	free(rows);
	return 0;
}

/* -- What is exposed. -- */

static int by_place(const void *a, const void *b)
{
	const struct device *x = *(struct device *const *)a, *y = *(struct device *const *)b;
	int order = ascending(x->place, y->place);

	return order ? order : ascending(x->device, y->device);
}

static uint64_t exposed_of(const struct device *d)
{
	return d->cover.time[1 << COMMUNICATION];
}

static uint64_t communication_of(const struct device *d)
{
	return exposed_of(d) + d->cover.time[1 << COMMUNICATION | 1 << OTHER];
}

static uint64_t span_of(const struct device *d)
{
	return d->cover.time[0] + d->cover.time[1 << OTHER] + communication_of(d);
}

static void put_device(const struct collectives *c, const struct device *d, struct pasta_table *t)
{
	char text[TEXT];

	pasta_cell_str(t, rank_text(c, d->proc, text));
	pasta_cell_int(t, d->device);
	pasta_cell_int(t, (int64_t)d->calls);
	pasta_cell_int(t, (int64_t)communication_of(d));
	pasta_cell_int(t, (int64_t)exposed_of(d));
	pasta_cell_float(t, percent(exposed_of(d), communication_of(d)));
	pasta_cell_int(t, (int64_t)span_of(d));
	pasta_cell_float(t, percent(exposed_of(d), span_of(d)));
}

static void find_exposed(const struct collectives *c, struct device **devices, size_t count,
			 struct pasta_out *out)
{
	char where[TEXT + 40], text[TEXT], evidence[200];
	const struct device *worst = NULL;
	double most = EXPOSED;
	size_t i, above = 0;

	for (i = 0; i < count; i++) {
		double share = percent(exposed_of(devices[i]), span_of(devices[i]));

		above += share > EXPOSED;
		if (share <= most)
			continue;
		worst = devices[i];
		most = share;
	}
	if (!worst)
		return;
	snprintf(where, sizeof(where), "rank %s, device %u", rank_text(c, worst->proc, text),
		 worst->device);
	snprintf(evidence, sizeof(evidence),
		 "for %.1f%% of the time only collectives run; so it is above %d%% on %zu device%s",
		 most, EXPOSED, above, above == 1 ? "" : "s");
	pasta_out_finding(
		out, &(struct pasta_finding){
			     .severity = PASTA_WARNING,
			     .what = "computation waits for communication",
			     .where = where,
			     .evidence = evidence,
			     .action = "begin collectives earlier, so that other kernels run "
				       "beside them; send fewer bytes; see in table last whether "
				       "a rank is late"});
}

/* Devices without a collective have no row. */
static int report_exposed(struct collectives *c, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"rank", PASTA_STRING, NULL}, {"device", PASTA_INT, NULL},
		{"calls", PASTA_INT, NULL},   {"communication", PASTA_INT, "ns"},
		{"exposed", PASTA_INT, "ns"}, {"exposed_share", PASTA_FLOAT, "%"},
		{"span", PASTA_INT, "ns"},    {"span_share", PASTA_FLOAT, "%"},
	};
	size_t i, at = 0, count = pasta_map_count(c->devices);
	struct device **devices, *device;
	struct pasta_table *t;

	while ((device = pasta_map_next(c->devices, &at, NULL))) {
		device->place = place_of(c, device->proc);
		pasta_cover_finish(&device->cover);
	}
	devices = pasta_map_sorted(c->devices, by_place);
	if (!devices)
		return -ENOMEM;
	t = pasta_out_table(out, "exposed", columns, 8);
	for (i = 0; i < count; i++)
		if (devices[i]->calls)
			put_device(c, devices[i], t);
	find_exposed(c, devices, count, out);
	free(devices);
	return 0;
}

/* -- Who is last. -- */

static int by_round(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;
	int order = ascending(x->seq, y->seq);

	order = order ? order : ascending(x->proc, y->proc);
	order = order ? order : ascending(x->begin, y->begin);
	return order ? order : ascending(x->dur, y->dur);
}

/* How many processes are in it. */
static size_t members(const struct collectives *c, const struct group *g)
{
	size_t i, count = 0;

	for (i = 0; i < g->count; i++) {
		struct process *process = pasta_map_find(c->processes, g->arrivals[i].proc);

		if (!process || process->group == g->number)
			continue;
		process->group = g->number;
		count++;
	}
	return count;
}

static void count_late(struct lateness *sum, bool last, uint64_t wait)
{
	sum->rounds++;
	if (!last)
		return;
	sum->last++;
	sum->wait += wait;
	sum->max = wait > sum->max ? wait : sum->max;
}

static void add_tally(struct collectives *c, uint32_t name, uint32_t proc, bool last, uint64_t wait)
{
	struct process *process = pasta_map_find(c->processes, proc);
	struct tally *tally = pasta_map_add(c->tallies, pasta_pair(name, proc));

	if (!tally || !process) {
		c->failed = true;
		return;
	}
	tally->name = name;
	tally->proc = proc;
	count_late(&tally->sum, last, wait);
	count_late(&process->sum, last, wait);
}

static uint64_t end_of(const struct arrival *a)
{
	return a->dur == NO_END || a->begin > UINT64_MAX - a->dur ? UINT64_MAX : a->begin + a->dur;
}

/* The n-th arrivals of all members. Those that come at the same time are last together; if all do,
 * none is. */
static void judge(struct collectives *c, const struct group *g, struct arrival *const *runs,
		  size_t count, size_t n)
{
	uint64_t first = UINT64_MAX, last = 0, end = UINT64_MAX;
	size_t i;

	for (i = 0; i < count; i++) {
		const struct arrival *a = &runs[i][n];

		first = a->begin < first ? a->begin : first;
		last = a->begin > last ? a->begin : last;
		end = end_of(a) < end ? end_of(a) : end;
	}
	/* By order alone, and one has ended before another began: it is not the same one. */
	if (!runs[0][n].seq && last > end) {
		c->apart += count;
		return;
	}
	for (i = 0; i < count; i++)
		add_tally(c, g->name, runs[i][n].proc, runs[i][n].begin == last && last > first,
			  last - first);
}

/* Arrivals of one sequence number, or of none, by process and time; runs has room for all members
 * and one more. */
static void judge_all(struct collectives *c, const struct group *g, struct arrival *from,
		      size_t count, struct arrival **runs, size_t all)
{
	size_t i, n, rounds = SIZE_MAX, processes = 0;

	for (i = 0; i < count; i++)
		if (!i || from[i].proc != from[i - 1].proc)
			runs[processes++] = &from[i];
	runs[processes] = from + count;
	for (i = 0; i < processes; i++) {
		n = (size_t)(runs[i + 1] - runs[i]);
		rounds = n < rounds ? n : rounds;
	}
	if (processes < all)
		rounds = 0;
	for (n = 0; n < rounds; n++)
		judge(c, g, runs, processes, n);
	c->alone += count - rounds * processes;
}

static int match(struct collectives *c, struct group *g)
{
	size_t i, k, all = members(c, g);
	struct arrival **runs;

	if (all < 2)
		return 0;
	if (g->ranks && all > g->ranks) {
		c->mixed += g->count;
		return 0;
	}
	runs = calloc(all + 1, sizeof(*runs));
	if (!runs)
		return -ENOMEM;
	qsort(g->arrivals, g->count, sizeof(*g->arrivals), by_round);
	for (i = 0; i < g->count; i = k) {
		for (k = i + 1; k < g->count && g->arrivals[k].seq == g->arrivals[i].seq;)
			k++;
		judge_all(c, g, g->arrivals + i, k - i, runs, all);
	}
	free(runs);
	return c->failed ? -ENOMEM : 0;
}

static int by_last(const void *a, const void *b)
{
	const struct tally *x = *(struct tally *const *)a, *y = *(struct tally *const *)b;
	int order = x->name == y->name ? 0 : strcmp(label(x->name), label(y->name));

	order = order ? order : ascending(y->sum.last, x->sum.last);
	return order ? order : ascending(x->place, y->place);
}

static void put_tally(const struct collectives *c, const struct tally *tally, struct pasta_table *t)
{
	const struct lateness *sum = &tally->sum;
	char text[TEXT];

	pasta_cell_str(t, label(tally->name));
	pasta_cell_str(t, rank_text(c, tally->proc, text));
	pasta_cell_int(t, (int64_t)sum->rounds);
	pasta_cell_int(t, (int64_t)sum->last);
	pasta_cell_float(t, percent(sum->last, sum->rounds));
	pasta_cell_int(t, (int64_t)(sum->last ? sum->wait / sum->last : 0));
	pasta_cell_int(t, (int64_t)sum->max);
}

static int put_tallies(struct collectives *c, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"collective", PASTA_STRING, NULL}, {"rank", PASTA_STRING, NULL},
		{"rounds", PASTA_INT, NULL},	    {"last", PASTA_INT, NULL},
		{"share", PASTA_FLOAT, "%"},	    {"mean_wait", PASTA_INT, "ns"},
		{"max_wait", PASTA_INT, "ns"},
	};
	size_t i, at = 0, count = pasta_map_count(c->tallies);
	struct tally **tallies, *tally;
	struct pasta_table *t;

	while ((tally = pasta_map_next(c->tallies, &at, NULL)))
		tally->place = place_of(c, tally->proc);
	tallies = pasta_map_sorted(c->tallies, by_last);
	if (!tallies)
		return -ENOMEM;
	t = pasta_out_table(out, "last", columns, 7);
	for (i = 0; i < count; i++)
		put_tally(c, tallies[i], t);
	free(tallies);
	return 0;
}

static uint64_t longest_span(const struct collectives *c)
{
	const struct device *device;
	uint64_t span = 0;
	size_t at = 0;

	while ((device = pasta_map_next(c->devices, &at, NULL)))
		if (device->calls && span_of(device) > span)
			span = span_of(device);
	return span;
}

/* The one for which the others wait longest, if it is no accident and costs something. */
static void find_straggler(const struct collectives *c, struct pasta_out *out)
{
	const struct process *process, *worst = NULL;
	char where[TEXT + 8], text[TEXT], evidence[200];
	uint64_t key, proc = 0, span = longest_span(c);
	size_t at = 0;

	while ((process = pasta_map_next(c->processes, &at, &key))) {
		const struct lateness *sum = &process->sum;

		if (sum->rounds < ROUNDS || percent(sum->last, sum->rounds) < MOSTLY ||
		    percent(sum->wait, span) < WORTH)
			continue;
		if (worst && (sum->wait < worst->sum.wait ||
			      (sum->wait == worst->sum.wait &&
			       place_of(c, (uint32_t)key) > place_of(c, (uint32_t)proc))))
			continue;
		worst = process;
		proc = key;
	}
	if (!worst)
		return;
	snprintf(where, sizeof(where), "rank %s", rank_text(c, (uint32_t)proc, text));
	snprintf(evidence, sizeof(evidence),
		 "the last in %.1f%% of %llu rounds; the first waited %.3f ms for it in all",
		 percent(worst->sum.last, worst->sum.rounds), (unsigned long long)worst->sum.rounds,
		 (double)worst->sum.wait / 1e6);
	pasta_out_finding(out, &(struct pasta_finding){
				       .severity = PASTA_WARNING,
				       .what = "one rank comes last to most collectives",
				       .where = where,
				       .evidence = evidence,
				       .action = "see what it does before them that others do not: "
						 "more work, slower input, a slower device"});
}

/* Times of different hosts are of different clocks. */
static void find_clocks(const struct collectives *c, struct pasta_out *out)
{
	const struct process *process;
	uint32_t host = 0;
	bool one = true;
	size_t at = 0;

	while ((process = pasta_map_next(c->processes, &at, NULL))) {
		if (!process->sum.rounds)
			continue;
		one &= process->host && (!host || host == process->host);
		host = process->host;
	}
	if (one)
		return;
	pasta_out_finding(
		out, &(struct pasta_finding){
			     .severity = PASTA_NOTE,
			     .what = "who is last is only as certain as the clocks of the hosts",
			     .evidence = "not all ranks are known to be on one host",
			     .action = "trust waits that are longer than the clocks differ"});
}

static void find_unmatched(const struct collectives *c, struct pasta_out *out)
{
	pasta_out_count(out, PASTA_NOTE, c->alone,
			"collectives that not every rank of their group recorded",
			"they are in no round of table last", NULL);
	pasta_out_count(out, PASTA_NOTE, c->apart,
			"collectives that are the same by their order, but not by their time",
			"they are in no round of table last: ranks began to record at different "
			"ones, or the clocks of their hosts differ",
			NULL);
	pasta_out_count(out, PASTA_NOTE, c->mixed,
			"collectives of groups that cannot be told apart",
			"more ranks take part than the group has: they are in no round of table "
			"last",
			NULL);
	pasta_out_count(out, PASTA_NOTE, c->over,
			"collectives past the first 262144 of their process",
			"they are in no round of table last", NULL);
}

/* Only where there are at least two ranks. */
static int report_last(struct collectives *c, struct pasta_out *out)
{
	struct group *g;
	size_t at = 0;
	int error = 0;

	while (!error && (g = pasta_map_next(c->groups, &at, NULL)))
		error = match(c, g);
	if (!error && pasta_map_count(c->tallies)) {
		error = put_tallies(c, out);
		find_straggler(c, out);
		find_clocks(c, out);
	}
	if (!error)
		find_unmatched(c, out);
	return error;
}

static int report(void *state, struct pasta_out *out)
{
	struct collectives *c = state;
	int error = c->failed ? -ENOMEM : report_rows(c, out);

	if (!error)
		error = report_exposed(c, out);
	if (!error)
		error = report_last(c, out);
	pasta_out_count(out, PASTA_NOTE, c->seen - c->joined, "collectives without a kernel",
			"they are in no table: the program ended before they ran, their kernels "
			"were dropped, or a filter left them out",
			NULL);
	return error;
}

PASTA_TOOL(.name = "collectives",
	   .summary = "communication between ranks: time, what is exposed, who is last",
	   .events = PASTA_BIT(COLLECTIVE) | PASTA_BIT(KERNEL) | PASTA_BIT(PROCESS),
	   .state_size = sizeof(struct collectives), .open = open_, .event = on_event,
	   .merge = merge, .report = report, .close = close_);
