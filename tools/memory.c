/* memory - device memory: live bytes over time, what made the peak, what was never freed. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pasta/pasta.h>

#define BINS 200	 /* the rows of table live, at most, or one a place */
#define POINTS 4000	 /* of the chart, likewise */
#define FIRST_WIDTH 1024 /* ns of a bin, doubled whenever the bins are too few */
#define HOST UINT32_MAX	 /* in place of a device */

static const char *const sorts[] = {
	[0] = "unspecified",
	[PASTA_ALLOC_DEVICE] = "device",
	[PASTA_ALLOC_HOST] = "host",
	[PASTA_ALLOC_MANAGED] = "managed",
	[PASTA_ALLOC_POOL] = "pool",
	[PASTA_ALLOC_SEGMENT] = "segment",
	[PASTA_ALLOC_IMAGE] = "image",
	[PASTA_ALLOC_PHYSICAL] = "physical",
	[PASTA_ALLOC_MAPPED] = "mapped",
};
#define SORTS (sizeof(sorts) / sizeof(sorts[0]))

/* An interval of time. */
struct bin {
	uint64_t live; /* at its end */
	uint64_t peak; /* the most in it */
};

/* Where memory is: a device or the host, of one process. */
struct place {
	uint32_t proc, device;
	uint64_t allocations, frees, bytes;
	uint64_t live, peak;
	uint64_t peak_time, peak_number; /* of the allocation that made it */
	struct alloc *gone;		 /* what was live at the peak and was freed since */
	size_t gone_count, gone_room;
	size_t last; /* the bin of its last event */
	struct bin bins[BINS];
};

/* Where the program allocates: a call path, or else a name. */
struct site {
	uint32_t proc, stack, name;
	uint64_t count, bytes;
	uint64_t peak; /* bytes of it that were live at the peaks */
};

struct alloc {
	struct place *place;
	struct site *site;
	uint64_t number; /* from 1, in order of time */
	uint64_t addr, bytes, time;
	uint32_t name;
	unsigned int sort;
	bool earlier; /* it was there before recording began */
};

/* The addresses of one process and pool: what a pool gives out may begin where the pool does. */
struct space {
	struct pasta_map *whole; /* struct alloc, by address */
	struct pasta_map *parts; /* addresses of what is a part of another */
};

struct process {
	uint32_t host, pid; /* 0: not known */
};

struct memory {
	struct pasta_map *spaces, *places; /* by process and pool, device */
	struct pasta_map *sites;	   /* by call path and process, or by name */
	struct pasta_map *processes;
	uint64_t start, now, width; /* of time, and of a bin */
	uint64_t numbers;
	uint64_t unknown, again; /* frees of what is not known; allocations of what is not free */
	size_t rows;
	bool started, failed;
};

static int open_(void *state, const struct pasta_opts *opts, struct pasta_err *err)
{
	struct memory *m = state;

	m->rows = pasta_opt_u64(opts, "rows");
	m->width = FIRST_WIDTH;
	m->spaces = pasta_map_new(sizeof(struct space));
	m->places = pasta_map_new(sizeof(struct place));
	m->sites = pasta_map_new(sizeof(struct site));
	m->processes = pasta_map_new(sizeof(struct process));
	if (!m->spaces || !m->places || !m->sites || !m->processes)
		return pasta_fail(err, -ENOMEM, "out of memory");
	return 0;
}

static void close_(void *state)
{
	struct memory *m = state;
	struct space *space;
	struct place *place;
	size_t at = 0;

	while (m->spaces && (space = pasta_map_next(m->spaces, &at, NULL))) {
		pasta_map_free(space->whole);
		pasta_map_free(space->parts);
	}
	at = 0;
	while (m->places && (place = pasta_map_next(m->places, &at, NULL)))
		free(place->gone);
	pasta_map_free(m->spaces);
	pasta_map_free(m->places);
	pasta_map_free(m->sites);
	pasta_map_free(m->processes);
}

/* -- Live bytes over time: all places have the same bins, from the start on. -- */

/* Nothing has changed since the last event, up to and with this bin. */
static void bins_fill(struct place *p, size_t bin)
{
	while (p->last < bin)
		p->bins[++p->last] = (struct bin){p->live, p->live};
}

/* Two bins become one. */
static void bins_fold(struct place *p)
{
	size_t i;

	bins_fill(p, BINS - 1);
	for (i = 0; i < BINS / 2; i++) {
		const struct bin *a = &p->bins[2 * i], *b = a + 1;

		p->bins[i] = (struct bin){b->live, a->peak > b->peak ? a->peak : b->peak};
	}
	p->last = BINS / 2 - 1;
}

static void fold(struct memory *m)
{
	struct place *place;
	size_t at = 0;

	while ((place = pasta_map_next(m->places, &at, NULL)))
		bins_fold(place);
	m->width *= 2;
}

static size_t bin_now(const struct memory *m)
{
	return (size_t)((m->now - m->start) / m->width);
}

/* Time goes on. An event that comes late comes now. */
static void tick(struct memory *m, uint64_t time)
{
	if (!m->started)
		m->start = m->now = time;
	m->started = true;
	if (time > m->now)
		m->now = time;
	while (bin_now(m) >= BINS)
		fold(m);
}

static void change(struct memory *m, struct place *p, uint64_t live)
{
	struct bin *bin;

	bins_fill(p, bin_now(m));
	bin = &p->bins[p->last];
	p->live = bin->live = live;
	if (live > bin->peak)
		bin->peak = live;
}

/* -- Collecting. Where memory runs out, failed is set, and the report will say so. -- */

static struct space *space_of(struct memory *m, uint32_t proc, uint32_t pool)
{
	struct space *space = pasta_map_add(m->spaces, pasta_pair(proc, pool));

	if (space && !space->whole)
		space->whole = pasta_map_new(sizeof(struct alloc));
	if (space && !space->parts)
		space->parts = pasta_map_new(0);
	if (space && space->whole && space->parts)
		return space;
	m->failed = true;
	return NULL;
}

static struct place *place_of(struct memory *m, uint32_t proc, uint32_t device)
{
	struct place *place = pasta_map_add(m->places, pasta_pair(proc, device));

	if (place) {
		place->proc = proc;
		place->device = device;
	}
	return place;
}

/* A call path is of its process: in another the same addresses may be other functions. */
static struct site *site_of(struct memory *m, uint32_t proc, uint32_t stack, uint32_t name)
{
	struct site *site = pasta_map_add(m->sites, pasta_pair(stack, stack ? proc : name));

	if (site) {
		site->proc = proc;
		site->stack = stack;
		site->name = name;
	}
	return site;
}

/*
 * The peak's set, without a copy of it at every new peak: it is what is live now and is not younger
 * than the peak, and what was so when it was freed. A new peak forgets the latter.
 */
static void keep_gone(struct memory *m, struct place *p, const struct alloc *a)
{
	if (a->number > p->peak_number)
		return;
	if (p->gone_count == p->gone_room) {
		size_t room = p->gone_room ? 2 * p->gone_room : 16;
		struct alloc *gone = realloc(p->gone, room * sizeof(*gone));

		if (!gone) {
			m->failed = true;
			return;
		}
		p->gone = gone;
		p->gone_room = room;
	}
	p->gone[p->gone_count++] = *a;
}

static void release(struct memory *m, struct space *space, const struct alloc *a)
{
	struct place *p = a->place;

	keep_gone(m, p, a);
	change(m, p, p->live - a->bytes);
	p->frees++;
	pasta_map_remove(space->whole, a->addr);
}

static void raise(struct memory *m, const struct alloc *a)
{
	struct place *p = a->place;

	p->allocations++;
	p->bytes += a->bytes;
	a->site->count++;
	a->site->bytes += a->bytes;
	change(m, p, p->live + a->bytes);
	if (p->live <= p->peak)
		return;
	p->peak = p->live;
	p->peak_time = m->now;
	p->peak_number = a->number;
	p->gone_count = 0;
}

static void on_alloc(struct memory *m, struct space *space, const struct pasta_event *ev)
{
	const struct pasta_alloc *r = &ev->alloc;
	struct alloc *a = pasta_map_find(space->whole, r->addr);

	if (r->parent) {
		m->failed |= !pasta_map_add(space->parts, r->addr);
		return;
	}
	if (a) {
		m->again++;
		release(m, space, a);
	}
	a = pasta_map_add(space->whole, r->addr);
	if (!a) {
		m->failed = true;
		return;
	}
	*a = (struct alloc){.number = ++m->numbers,
			    .addr = r->addr,
			    .bytes = r->bytes,
			    .time = m->now,
			    .name = r->name,
			    .earlier = r->flags & PASTA_ALLOC_EARLIER,
			    .sort = ev->sub < SORTS ? ev->sub : 0};
	a->place = place_of(m, ev->proc, ev->sub == PASTA_ALLOC_HOST ? HOST : r->device);
	a->site = site_of(m, ev->proc, r->stack, r->name);
	if (a->place && a->site)
		raise(m, a);
	else
		m->failed = true;
}

/* A part may begin where the whole does: it is the part's end that comes first. */
static void on_free(struct memory *m, struct space *space, uint64_t addr)
{
	const struct alloc *a = pasta_map_find(space->whole, addr);

	if (pasta_map_find(space->parts, addr))
		pasta_map_remove(space->parts, addr);
	else if (a)
		release(m, space, a);
	else
		m->unknown++;
}

static void on_process(struct memory *m, const struct pasta_event *ev)
{
	struct process *process = pasta_map_add(m->processes, ev->proc);

	if (!process) {
		m->failed = true;
		return;
	}
	process->host = ev->process.host;
	process->pid = ev->process.pid;
}

/* After a failure what is known is not whole: nothing more is looked at. */
static void on_event(void *state, const struct pasta_event *ev)
{
	bool alloc = ev->kind == PASTA_ALLOC;
	struct memory *m = state;
	struct space *space;

	if (m->failed)
		return;
	tick(m, ev->time);
	if (ev->kind == PASTA_PROCESS) {
		on_process(m, ev);
		return;
	}
	space = space_of(m, ev->proc, alloc ? ev->alloc.pool : ev->free.pool);
	if (space && alloc)
		on_alloc(m, space, ev);
	else if (space)
		on_free(m, space, ev->free.addr);
}

/* -- Reporting. -- */

#define TEXT 300  /* bytes of a label */
#define FRAMES 16 /* of a call path, from the innermost, that are looked at */

static const char *process_text(const struct memory *m, uint32_t proc, char *text)
{
	const struct process *process = pasta_map_find(m->processes, proc);

	return pasta_process_text(pasta_str(process ? process->host : 0),
				  process ? process->pid : 0, proc, text, TEXT);
}

static const char *place_text(const struct place *p, char *text)
{
	if (p->device == HOST)
		return "host";
	snprintf(text, TEXT, "device %u", p->device);
	return text;
}

/* The innermost function whose source is known, or else the innermost; "" for what is no path. */
static const char *stack_text(const struct site *site, char *text)
{
	struct pasta_stack_frame frames[FRAMES];
	size_t i = 0, count = pasta_stack_frames(site->proc, site->stack, frames, FRAMES);

	count = count < FRAMES ? count : FRAMES;
	while (i < count && !*frames[i].file)
		i++;
	return count ? pasta_stack_frame_text(&frames[i < count ? i : 0], text, TEXT) : "";
}

static const char *site_text(const struct site *site, char *text)
{
	const char *from = stack_text(site, text);

	if (*from)
		return from;
	return site->name ? pasta_str(site->name) : "(unknown)";
}

static void put_place(const struct memory *m, const struct place *p, struct pasta_table *t)
{
	char text[TEXT];

	pasta_cell_str(t, place_text(p, text));
	pasta_cell_str(t, process_text(m, p->proc, text));
}

static void report_places(const struct memory *m, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"memory", PASTA_STRING, NULL},	  {"process", PASTA_STRING, NULL},
		{"allocations", PASTA_INT, NULL}, {"frees", PASTA_INT, NULL},
		{"bytes", PASTA_INT, "bytes"},	  {"peak", PASTA_INT, "bytes"},
		{"peak_at", PASTA_INT, "ns"},	  {"left", PASTA_INT, "bytes"},
	};
	struct pasta_table *t = pasta_out_table(out, "memory", columns, 8);
	const struct place *p;
	size_t at = 0;

	while ((p = pasta_map_next(m->places, &at, NULL))) {
		put_place(m, p, t);
		pasta_cell_int(t, (int64_t)p->allocations);
		pasta_cell_int(t, (int64_t)p->frees);
		pasta_cell_int(t, (int64_t)p->bytes);
		pasta_cell_int(t, (int64_t)p->peak);
		pasta_cell_int(t, p->peak ? (int64_t)(p->peak_time - m->start) : 0);
		pasta_cell_int(t, (int64_t)p->live);
	}
}

/* Fewer and longer bins, until those of all places are at most so many, or one each. */
static void fold_to(struct memory *m, size_t limit)
{
	while (bin_now(m) && (bin_now(m) + 1) * pasta_map_count(m->places) > limit)
		fold(m);
}

/* What the table says of peaks, finer; and what is live at the end. */
static void report_chart(struct memory *m, struct pasta_out *out)
{
	static const struct pasta_axis time = {"time", "ns"}, live = {"live", "bytes"};
	struct pasta_chart *c = pasta_out_chart(out, "live_bytes", PASTA_CHART_LINE, &time, &live);
	char name[2 * TEXT + 2], text[TEXT], process[TEXT];
	size_t i, at = 0;
	struct place *p;

	fold_to(m, POINTS);
	while ((p = pasta_map_next(m->places, &at, NULL))) {
		snprintf(name, sizeof(name), "%s, %s", place_text(p, text),
			 process_text(m, p->proc, process));
		pasta_chart_series(c, name);
		bins_fill(p, bin_now(m));
		for (i = 0; i <= bin_now(m); i++)
			pasta_chart_point(c, (double)(i * m->width), (double)p->bins[i].peak);
		pasta_chart_point(c, (double)(m->now - m->start), (double)p->live);
	}
}

static void report_live(struct memory *m, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"time", PASTA_INT, "ns"},	 {"memory", PASTA_STRING, NULL},
		{"process", PASTA_STRING, NULL}, {"live", PASTA_INT, "bytes"},
		{"peak", PASTA_INT, "bytes"},
	};
	struct pasta_table *t = pasta_out_table(out, "live", columns, 5);
	struct place *p;
	size_t i, at = 0;

	fold_to(m, BINS);
	while ((p = pasta_map_next(m->places, &at, NULL))) {
		bins_fill(p, bin_now(m));
		for (i = 0; i <= bin_now(m); i++) {
			pasta_cell_int(t, (int64_t)(i * m->width));
			put_place(m, p, t);
			pasta_cell_int(t, (int64_t)p->bins[i].live);
			pasta_cell_int(t, (int64_t)p->bins[i].peak);
		}
	}
}

/* Allocations: those that are live, or those that were at the peak of their place. */
struct list {
	const struct alloc **items;
	size_t count, room;
	bool at_peak;
};

static void list_free(struct list *list)
{
	free(list->items);
}

static int list_add(struct list *list, const struct alloc *a)
{
	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : 64;
		const struct alloc **items = reallocarray(list->items, room, sizeof(*items));

		if (!items)
			return -ENOMEM;
		list->items = items;
		list->room = room;
	}
	list->items[list->count++] = a;
	return 0;
}

/* By place, the largest first, the older before the younger. */
static int by_bytes(const void *a, const void *b)
{
	const struct alloc *x = *(const struct alloc *const *)a,
			   *y = *(const struct alloc *const *)b;

	if (x->place->proc != y->place->proc)
		return x->place->proc < y->place->proc ? -1 : 1;
	if (x->place->device != y->place->device)
		return x->place->device < y->place->device ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

static int list_fill(struct list *list, const struct memory *m)
{
	const struct space *space;
	const struct place *place;
	const struct alloc *a;
	size_t i, at = 0, inner;
	int error = 0;

	while (!error && (space = pasta_map_next(m->spaces, &at, NULL)))
		for (inner = 0; !error && (a = pasta_map_next(space->whole, &inner, NULL));)
			if (!list->at_peak || a->number <= a->place->peak_number)
				error = list_add(list, a);
	at = 0;
	while (!error && list->at_peak && (place = pasta_map_next(m->places, &at, NULL)))
		for (i = 0; !error && i < place->gone_count; i++)
			error = list_add(list, &place->gone[i]);
	if (!error && list->count)
		qsort(list->items, list->count, sizeof(*list->items), by_bytes);
	return error;
}

static void put_alloc(const struct memory *m, const struct alloc *a, bool at_peak,
		      struct pasta_table *t)
{
	uint64_t until = at_peak ? a->place->peak_time : m->now;
	char text[TEXT];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)a->addr);
	pasta_cell_str(t, a->name ? pasta_str(a->name) : text);
	pasta_cell_str(t, sorts[a->sort]);
	pasta_cell_int(t, (int64_t)a->bytes);
	pasta_cell_str(t, site_text(a->site, text));
	if (a->earlier)
		pasta_cell_none(t);
	else
		pasta_cell_int(t, (int64_t)(until - a->time));
	put_place(m, a->place, t);
}

/* The small ones that there are no rows for, in one. */
static void put_rest(const struct memory *m, const struct place *p, uint64_t count, uint64_t bytes,
		     struct pasta_table *t)
{
	char text[TEXT];

	if (!count)
		return;
	snprintf(text, sizeof(text), "(%llu smaller ones)", (unsigned long long)count);
	pasta_cell_str(t, text);
	pasta_cell_str(t, "");
	pasta_cell_int(t, (int64_t)bytes);
	pasta_cell_str(t, "");
	pasta_cell_int(t, 0);
	put_place(m, p, t);
}

static void put_list(const struct memory *m, const struct list *list, const char *name,
		     struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"allocation", PASTA_STRING, NULL}, {"sort", PASTA_STRING, NULL},
		{"bytes", PASTA_INT, "bytes"},	    {"site", PASTA_STRING, NULL},
		{"age", PASTA_INT, "ns"},	    {"memory", PASTA_STRING, NULL},
		{"process", PASTA_STRING, NULL},
	};
	struct pasta_table *t = pasta_out_table(out, name, columns, 7);
	size_t i = 0;

	while (i < list->count) {
		const struct place *place = list->items[i]->place;
		uint64_t rows = 0, rest = 0, bytes = 0;

		for (; i < list->count && list->items[i]->place == place; i++) {
			if (!m->rows || rows++ < m->rows) {
				put_alloc(m, list->items[i], list->at_peak, t);
				continue;
			}
			rest++;
			bytes += list->items[i]->bytes;
		}
		put_rest(m, place, rest, bytes, t);
	}
}

/* Sites that read the same are one: call paths differ in more than their innermost function. */
struct line {
	char *text;
	struct site sum;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

static int by_peak(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->sum.peak != y->sum.peak)
		return x->sum.peak > y->sum.peak ? -1 : 1;
	if (x->sum.bytes != y->sum.bytes)
		return x->sum.bytes > y->sum.bytes ? -1 : 1;
	return by_text(a, b);
}

/* Lines of the sites, sorted and added up; returns how many are left. */
static size_t add_up(struct line *lines, size_t count)
{
	size_t i, kept = 0;

	qsort(lines, count, sizeof(*lines), by_text);
	for (i = 0; i < count; i++) {
		struct line *into = kept ? &lines[kept - 1] : NULL;

		if (!into || by_text(into, &lines[i])) {
			lines[kept++] = lines[i];
			continue;
		}
		into->sum.count += lines[i].sum.count;
		into->sum.bytes += lines[i].sum.bytes;
		into->sum.peak += lines[i].sum.peak;
		free(lines[i].text);
	}
	qsort(lines, kept, sizeof(*lines), by_peak);
	return kept;
}

static void put_sites(const struct line *lines, size_t count, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"site", PASTA_STRING, NULL},  {"count", PASTA_INT, NULL},
		{"bytes", PASTA_INT, "bytes"}, {"peak", PASTA_INT, "bytes"},
		{"share", PASTA_FLOAT, "%"},
	};
	struct pasta_table *t = pasta_out_table(out, "sites", columns, 5);
	uint64_t all = 0;
	size_t i;

	for (i = 0; i < count; i++)
		all += lines[i].sum.peak;
	for (i = 0; i < count; i++) {
		const struct site *sum = &lines[i].sum;

		pasta_cell_str(t, lines[i].text);
		pasta_cell_int(t, (int64_t)sum->count);
		pasta_cell_int(t, (int64_t)sum->bytes);
		pasta_cell_int(t, (int64_t)sum->peak);
		pasta_cell_float(t, all ? 100.0 * (double)sum->peak / (double)all : 0.0);
	}
}

static int report_sites(const struct memory *m, struct pasta_out *out)
{
	size_t i, at = 0, count = pasta_map_count(m->sites);
	struct line *lines = calloc(count + 1, sizeof(*lines));
	int error = lines ? 0 : -ENOMEM;
	const struct site *site;
	char text[TEXT];

	for (i = 0; !error && (site = pasta_map_next(m->sites, &at, NULL)); i++) {
		lines[i].text = strdup(site_text(site, text));
		lines[i].sum = *site;
		error = lines[i].text ? 0 : -ENOMEM;
	}
	count = error ? i : add_up(lines, count);
	if (!error)
		put_sites(lines, count, out);
	for (i = 0; lines && i < count; i++)
		free(lines[i].text);
	free(lines);
	return error;
}

static int report_allocations(const struct memory *m, struct pasta_out *out)
{
	struct list peak = {.at_peak = true}, live = {0};
	int error = list_fill(&peak, m);
	size_t i, left = 0;

	if (!error)
		error = list_fill(&live, m);
	if (!error) {
		put_list(m, &peak, "peak", out);
		put_list(m, &live, "never_freed", out);
		for (i = 0; i < peak.count; i++)
			peak.items[i]->site->peak += peak.items[i]->bytes;
		for (i = 0; i < live.count; i++)
			left += !live.items[i]->earlier;
		pasta_out_count(out, PASTA_NOTE, left, "allocations that were never freed",
				"table never_freed has them", NULL);
	}
	list_free(&peak);
	list_free(&live);
	return error;
}

static int report(void *state, struct pasta_out *out)
{
	struct memory *m = state;
	int error = m->failed ? -ENOMEM : 0;

	if (error)
		return error;
	report_places(m, out);
	report_chart(m, out);
	report_live(m, out);
	error = report_allocations(m, out);
	if (!error)
		error = report_sites(m, out);
	pasta_out_count(out, PASTA_NOTE, m->unknown, "frees of memory that is not known",
			"recording began after it was allocated, or that was dropped", NULL);
	pasta_out_count(out, PASTA_WARNING, m->again, "allocations of memory that was not freed",
			"what was there counts as freed by then; its free was dropped", NULL);
	return error;
}

static const struct pasta_option options[] = {
	{"rows", "1000", "how many of a peak, or never freed, have a row each; 0: all",
	 PASTA_OPTION_NUMBER},
	{0},
};

PASTA_TOOL(.name = "memory", .summary = "live bytes over time, the peak, and what is never freed",
	   .events = PASTA_BIT(ALLOC) | PASTA_BIT(FREE) | PASTA_BIT(PROCESS),
	   .state_size = sizeof(struct memory), .options = options, .open = open_,
	   .event = on_event, .report = report, .close = close_, .charts = PASTA_BIT(CHART_LINE));
