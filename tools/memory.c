/* memory - memory by level: live bytes over time, what made the peaks, what was never freed. */
#include <stdio.h>

#include <pasta/pasta.h>

#define BINS 200	 /* the rows of table live, at most, or one a place */
#define POINTS 4000	 /* of the chart, likewise */
#define FIRST_WIDTH 1024 /* ns of a bin, doubled whenever the bins are too few */
#define TEXT 300

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

/* In the order in which they are shown. */
static const uint32_t levels[] = {PASTA_LEVEL_HELD, PASTA_LEVEL_DRIVER, PASTA_LEVEL_SEGMENT,
				  PASTA_LEVEL_BLOCK};
enum { LEVELS = sizeof(levels) / sizeof(*levels) };

/* An interval of time. */
struct bin {
	uint64_t live; /* at its end */
	uint64_t peak; /* the most in it */
};

/* A level of a device's memory, or of the host's, of one process. */
struct place {
	struct {
		uint32_t proc, device, rank; /* rank: the place in levels */
	} key;
	uint64_t allocations, frees, bytes;
	uint64_t live; /* in the last of its bins */
	struct pasta_list bins;
	bool known; /* its device's other levels are there */
};

/* Where the program allocates: a call path, or else a name. */
struct site {
	struct {
		struct pasta_stack_ref stack;
		uint32_t name, rank;
	} key;
	uint64_t count, bytes;
	uint64_t peak; /* bytes of it that were live at the level's peaks */
};

/* Of a peak, or never freed. */
struct entry {
	struct {
		uint32_t proc, device, rank, name;
		uint64_t number, addr;
	} key;
	uint64_t bytes;
	int64_t age; /* or PASTA_NO_VALUE */
	uint32_t stack, sort;
};

struct memory {
	struct pasta_ledger *ledger;
	struct pasta_group *places, *peak, *never_freed, *sites;
	uint64_t start, now, width; /* of time, and of a bin */
	uint64_t peaks[LEVELS];	    /* bytes of all entries of a peak */
	bool started;
};

/* -- Live bytes over time: all places have the same bins, from the start on. -- */

/* Nothing has changed since the last event, up to and with this bin. */
static void bins_fill(const struct memory *m, struct place *p, size_t bin)
{
	while (p->bins.count <= bin && !pasta_group_error(m->places))
		*(struct bin *)pasta_group_append(m->places, &p->bins, sizeof(struct bin)) =
			(struct bin){p->live, p->live};
}

/* Two bins become one. */
static void fold(struct memory *m)
{
	struct place *p;
	size_t at = 0;

	while ((p = pasta_group_next(m->places, &at))) {
		struct bin *bins;

		bins_fill(m, p, BINS - 1);
		if (p->bins.count < BINS)
			return;
		bins = p->bins.items;
		for (size_t i = 0; i < BINS / 2; i++) {
			const struct bin *a = &bins[2 * i], *b = a + 1;

			bins[i] = (struct bin){b->live, a->peak > b->peak ? a->peak : b->peak};
		}
		p->bins.count = BINS / 2;
	}
	m->width *= 2;
}

static size_t bin_now(const struct memory *m)
{
	return (size_t)((m->now - m->start) / m->width);
}

/* Time goes on. An event that comes late comes now. */
static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	struct memory *m = state;

	if (!m->started) {
		m->start = m->now = ev->time;
		m->width = FIRST_WIDTH;
	}
	m->started = true;
	if (ev->time > m->now)
		m->now = ev->time;
	while (bin_now(m) >= BINS && !pasta_group_error(m->places))
		fold(m);
}

static void change(const struct memory *m, struct place *p)
{
	struct bin *bin;

	bins_fill(m, p, bin_now(m));
	if (pasta_group_error(m->places))
		return;
	bin = (struct bin *)p->bins.items + p->bins.count - 1;
	p->live = bin->live =
		pasta_ledger_live(m->ledger, p->key.proc, p->key.device, levels[p->key.rank]);
	if (p->live > bin->peak)
		bin->peak = p->live;
}

/* -- Collecting -- */

static uint32_t rank_of(uint32_t level)
{
	return level == PASTA_LEVEL_HELD ? 0 : 1 + level;
}

/* A device comes with all its levels, so that they are shown side by side. */
static struct place *place_of(const struct memory *m, uint32_t proc, uint32_t device,
			      uint32_t level)
{
	struct place *held = PASTA_ROW(m->places, struct place, proc, device, 0);

	for (uint32_t i = 1; !held->known && i < LEVELS; i++)
		PASTA_ROW(m->places, struct place, proc, device, i);
	held->known = true;
	return PASTA_ROW(m->places, struct place, proc, device, rank_of(level));
}

/* A call path is of its process: in another the same addresses may be other functions. */
static struct site *site_of(const struct memory *m, const struct pasta_allocation *a)
{
	if (a->stack)
		return PASTA_ROW(m->sites, struct site, {a->proc, a->stack}, a->name,
				 rank_of(a->level));
	return PASTA_ROW(m->sites, struct site, {0, 0}, a->name, rank_of(a->level));
}

/* What is held changes also when others are adopted. */
static void on_change(struct memory *m, const struct pasta_allocation *a,
		      const struct pasta_event *ev, uint64_t begun)
{
	struct place *place = place_of(m, a->proc, a->device, a->level),
		     *held = place_of(m, a->proc, a->device, PASTA_LEVEL_HELD);
	uint64_t of_held = a->flags & PASTA_ALLOCATION_HELD ? 1 : 0;

	on_event(m, ev); /* the ledger comes before the tool */
	place->allocations += begun;
	place->frees += !begun;
	place->bytes += begun * a->bytes;
	held->allocations += begun * of_held;
	held->frees += !begun * of_held;
	held->bytes += begun * of_held * a->bytes;
	change(m, place);
	change(m, held);
}

static void on_alloc(void *state, struct pasta_allocation *a, const struct pasta_event *ev)
{
	struct memory *m = state;
	struct site *site;

	if (a->flags & PASTA_ALLOCATION_ALIAS)
		return;
	on_change(m, a, ev, 1);
	site = site_of(m, a);
	site->count++;
	site->bytes += a->bytes;
}

static void on_free(void *state, struct pasta_allocation *a, const struct pasta_event *ev)
{
	if (!(a->flags & PASTA_ALLOCATION_ALIAS))
		on_change(state, a, ev, 0);
}

static void on_reserved(void *state, uint32_t device, const struct pasta_event *ev)
{
	on_event(state, ev);
	change(state, place_of(state, ev->proc, device, PASTA_LEVEL_SEGMENT));
}

/* -- Tables -- */

/* Where all is of one level, that is what is held. */
static bool is_shown(const struct memory *m, uint32_t proc, uint32_t device, uint32_t rank)
{
	uint32_t have = 0;

	for (uint32_t i = 1; i < LEVELS; i++)
		have += pasta_ledger_has(m->ledger, proc, device, levels[i]);
	return !rank || (have > 1 && pasta_ledger_has(m->ledger, proc, device, levels[rank]));
}

static bool place_shown(const void *row, const void *state)
{
	const struct place *p = row;

	return is_shown(state, p->key.proc, p->key.device, p->key.rank);
}

static uint64_t place_peak(const struct memory *m, const struct place *p, uint64_t *time)
{
	return pasta_ledger_peak(m->ledger, p->key.proc, p->key.device, levels[p->key.rank], time);
}

static int64_t peak_bytes(const void *row, const void *state)
{
	return (int64_t)place_peak(state, row, NULL);
}

static int64_t peak_at(const void *row, const void *state)
{
	const struct memory *m = state;
	uint64_t time;

	return place_peak(m, row, &time) ? (int64_t)(time - m->start) : 0;
}

static int64_t left(const void *row, const void *state)
{
	return (int64_t)((const struct place *)row)->live;
}

static const char *place_level(const void *row, const void *state, char *text, size_t size)
{
	return pasta_level_text(levels[((const struct place *)row)->key.rank]);
}

static const char *site_level(const void *row, const void *state, char *text, size_t size)
{
	return pasta_level_text(levels[((const struct site *)row)->key.rank]);
}

static const char *entry_level(const void *row, const void *state, char *text, size_t size)
{
	return pasta_level_text(levels[((const struct entry *)row)->key.rank]);
}

static const char *line_text(uint32_t proc, uint32_t stack, uint32_t name, char *text, size_t size)
{
	if (*pasta_stack_line(proc, stack, text, size))
		return text;
	return name ? pasta_str(name) : "(unknown)";
}

static const char *site_line(const void *row, const void *state, char *text, size_t size)
{
	const struct site *s = row;

	return line_text(s->key.stack.proc, s->key.stack.stack, s->key.name, text, size);
}

static double site_share(const void *row, const void *state)
{
	const struct memory *m = state;
	const struct site *s = row;
	uint64_t all = m->peaks[s->key.rank];

	return all ? 100.0 * (double)s->peak / (double)all : 0.0;
}

static const char *entry_name(const void *row, const void *state, char *text, size_t size)
{
	const struct entry *e = row;

	if (e->key.name)
		return pasta_str(e->key.name);
	snprintf(text, size, "0x%llx", (unsigned long long)e->key.addr);
	return text;
}

static const char *entry_sort(const void *row, const void *state, char *text, size_t size)
{
	uint32_t sort = ((const struct entry *)row)->sort;

	return sorts[sort < sizeof(sorts) / sizeof(*sorts) ? sort : 0];
}

static int64_t entry_age(const void *row, const void *state)
{
	return ((const struct entry *)row)->age;
}

static const char *entry_line(const void *row, const void *state, char *text, size_t size)
{
	const struct entry *e = row;

	return line_text(e->key.proc, e->stack, e->key.name, text, size);
}

static const struct pasta_member place_members[] = {
	PASTA_MEMBER(DEVICE, struct place, key.device, .column = "memory"),
	PASTA_MEMBER(PROCESS, struct place, key.proc, .column = "process"),
	PASTA_MEMBER_BY(TEXT, .text = place_level, .column = "level"),
	PASTA_MEMBER(SUM, struct place, allocations, .column = "allocations"),
	PASTA_MEMBER(SUM, struct place, frees, .column = "frees"),
	PASTA_MEMBER(SUM, struct place, bytes, .column = "bytes", .unit = "bytes"),
	PASTA_MEMBER_BY(CALL, .call = peak_bytes, .column = "peak", .unit = "bytes"),
	PASTA_MEMBER_BY(CALL, .call = peak_at, .column = "peak_at", .unit = "ns"),
	PASTA_MEMBER_BY(CALL, .call = left, .column = "left", .unit = "bytes"),
	PASTA_MEMBER(U32, struct place, key.proc, .column = "#", .flags = PASTA_MEMBER_HIDDEN),
	PASTA_MEMBER(U32, struct place, key.device, .column = "d", .flags = PASTA_MEMBER_HIDDEN),
	PASTA_MEMBER(U32, struct place, key.rank, .column = "rank", .flags = PASTA_MEMBER_HIDDEN),
	PASTA_MEMBER(LIST, struct place, bins, .item_size = sizeof(struct bin)),
	{0},
};

static const struct pasta_member site_members[] = {
	PASTA_MEMBER_BY(TEXT, .text = site_line, .column = "site"),
	PASTA_MEMBER_BY(TEXT, .text = site_level, .column = "level"),
	PASTA_MEMBER(SUM, struct site, count, .column = "count"),
	PASTA_MEMBER(SUM, struct site, bytes, .column = "bytes", .unit = "bytes"),
	PASTA_MEMBER(SUM, struct site, peak, .column = "peak", .unit = "bytes"),
	PASTA_MEMBER_BY(RATIO, .ratio = site_share, .column = "share", .unit = "%"),
	PASTA_MEMBER(U32, struct site, key.rank, .column = "rank", .flags = PASTA_MEMBER_HIDDEN),
	PASTA_MEMBER(STACK, struct site, key.stack),
	PASTA_MEMBER(NAME, struct site, key.name),
	{0},
};

static const struct pasta_member entry_members[] = {
	PASTA_MEMBER_BY(TEXT, .text = entry_name, .column = "allocation"),
	PASTA_MEMBER_BY(TEXT, .text = entry_sort, .column = "sort"),
	PASTA_MEMBER(SUM, struct entry, bytes, .column = "bytes", .unit = "bytes"),
	PASTA_MEMBER_BY(TEXT, .text = entry_line, .column = "site"),
	PASTA_MEMBER_BY(CALL, .call = entry_age, .column = "age", .unit = "ns"),
	PASTA_MEMBER(DEVICE, struct entry, key.device, .column = "memory"),
	PASTA_MEMBER(PROCESS, struct entry, key.proc, .column = "process"),
	PASTA_MEMBER_BY(TEXT, .text = entry_level, .column = "level"),
	PASTA_MEMBER(U32, struct entry, key.proc, .column = "#", .flags = PASTA_MEMBER_HIDDEN),
	PASTA_MEMBER(U32, struct entry, key.device, .column = "d", .flags = PASTA_MEMBER_HIDDEN),
	PASTA_MEMBER(U32, struct entry, key.rank, .column = "rank", .flags = PASTA_MEMBER_HIDDEN),
	PASTA_MEMBER(U64, struct entry, key.number, .column = "n", .flags = PASTA_MEMBER_HIDDEN),
	PASTA_MEMBER(NAME, struct entry, key.name),
	PASTA_MEMBER(ADDRESS, struct entry, key.addr),
	{0},
};

#define ENTRIES(member)                                                                            \
	PASTA_GROUP(struct memory, member, struct entry, entry_members, .table = #member,          \
		    .order = "# process d memory rank level -bytes n", .limit_per = 6,             \
		    .limit_option = "rows", .flags = PASTA_GROUP_REST, .rest = "smaller ones")

static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct memory, places, struct place, place_members, .table = "memory",
		    .order = "# d rank", .keep = place_shown),
	ENTRIES(peak),
	ENTRIES(never_freed),
	PASTA_GROUP(struct memory, sites, struct site, site_members, .table = "sites",
		    .order = "rank -peak -bytes site", .flags = PASTA_GROUP_FOLD),
	{0},
};

/* -- Reporting -- */

/* Fewer and longer bins, until those of all places are at most so many, or one each. */
static void fold_to(struct memory *m, size_t limit)
{
	const struct place *p;
	size_t at = 0, shown = 0;

	while ((p = pasta_group_next(m->places, &at)))
		shown += place_shown(p, m);
	while (shown && bin_now(m) && (bin_now(m) + 1) * shown > limit)
		fold(m);
}

/* What the table says of peaks, finer; and what is live at the end. */
static void report_chart(struct memory *m, struct pasta_out *out)
{
	static const struct pasta_chart_def def =
		PASTA_CHART_DEF(.type = PASTA_CHART_LINE, .name = "live_bytes",
				.x = {.name = "time", .unit = "ns"},
				.y = {.name = "live", .unit = "bytes"});
	struct pasta_chart *c = pasta_out_chart(out, &def);
	char name[2 * TEXT], text[TEXT];
	size_t i, at = 0;
	struct place *p;

	fold_to(m, POINTS);
	while ((p = pasta_group_next(m->places, &at))) {
		if (!place_shown(p, m))
			continue;
		snprintf(name, sizeof(name), "%s, %s%s%s",
			 pasta_device_text(p->key.device, text, sizeof(text)),
			 pasta_process(p->key.proc)->text, p->key.rank ? ", " : "",
			 p->key.rank ? pasta_level_text(levels[p->key.rank]) : "");
		pasta_chart_series(c, name);
		bins_fill(m, p, bin_now(m));
		for (i = 0; i <= bin_now(m); i++)
			pasta_chart_point(c, (double)(i * m->width),
					  (double)((struct bin *)p->bins.items)[i].peak);
		pasta_chart_point(c, (double)(m->now - m->start), (double)p->live);
	}
}

static void report_live(struct memory *m, struct pasta_out *out)
{
	static const struct pasta_column columns[] = {
		{"time", PASTA_COLUMN_INT, "ns"},	{"memory", PASTA_COLUMN_STRING, NULL},
		{"process", PASTA_COLUMN_STRING, NULL}, {"level", PASTA_COLUMN_STRING, NULL},
		{"live", PASTA_COLUMN_INT, "bytes"},	{"peak", PASTA_COLUMN_INT, "bytes"},
	};
	struct pasta_table *t = pasta_out_table(out, "live", columns, 6);
	char text[TEXT];
	struct place *p;
	size_t i, at = 0;

	fold_to(m, BINS);
	while ((p = pasta_group_next(m->places, &at))) {
		bins_fill(m, p, bin_now(m));
		for (i = 0; place_shown(p, m) && i <= bin_now(m); i++) {
			const struct bin *bin = (const struct bin *)p->bins.items + i;

			pasta_cell_int(t, (int64_t)(i * m->width));
			pasta_cell_str(t, pasta_device_text(p->key.device, text, sizeof(text)));
			pasta_cell_str(t, pasta_process(p->key.proc)->text);
			pasta_cell_str(t, pasta_level_text(levels[p->key.rank]));
			pasta_cell_int(t, (int64_t)bin->live);
			pasta_cell_int(t, (int64_t)bin->peak);
		}
	}
}

static void add_entry(struct pasta_group *group, const struct pasta_allocation *a, uint32_t rank,
		      uint64_t until)
{
	struct entry *e = PASTA_ROW(group, struct entry, a->proc, a->device, rank, a->name,
				    a->number, a->addr);

	e->bytes = a->bytes;
	e->age = a->flags & PASTA_ALLOCATION_EARLIER ? PASTA_NO_VALUE : (int64_t)(until - a->time);
	e->stack = a->stack;
	e->sort = a->type;
}

static void collect_peak(struct memory *m, uint32_t rank)
{
	const struct pasta_allocation *a;
	uint64_t time;
	size_t at = 0;

	while ((a = pasta_ledger_next(m->ledger, PASTA_LEDGER_PEAK, levels[rank], &at))) {
		pasta_ledger_peak(m->ledger, a->proc, a->device, levels[rank], &time);
		if (is_shown(m, a->proc, a->device, rank))
			add_entry(m->peak, a, rank, time);
		if (!rank)
			continue;
		site_of(m, a)->peak += a->bytes;
		m->peaks[rank] += a->bytes;
	}
}

/* Returns how many the program has allocated itself, since recording began. */
static uint64_t collect_live(struct memory *m, uint32_t rank)
{
	const struct pasta_allocation *a;
	uint64_t own = 0;
	size_t at = 0;

	while ((a = pasta_ledger_next(m->ledger, PASTA_LEDGER_LIVE, levels[rank], &at))) {
		if (a->flags & PASTA_ALLOCATION_ALIAS)
			continue;
		add_entry(m->never_freed, a, rank, m->now);
		own += !(a->flags & PASTA_ALLOCATION_EARLIER);
	}
	return own;
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct memory *m = state;
	uint64_t live = 0;
	int error;

	for (uint32_t i = 0; i < LEVELS; i++) {
		collect_peak(m, i);
		live += i ? collect_live(m, i) : 0;
	}
	error = pasta_out_group(out, m->places);
	report_chart(m, out);
	report_live(m, out);
	error = error ? error : pasta_out_group(out, m->peak);
	error = error ? error : pasta_out_group(out, m->never_freed);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .count = live, .counted = true,
			 .what = "allocations that were never freed",
			 .evidence = "table never_freed has them");
	error = error ? error : pasta_out_group(out, m->sites);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
			 .count = pasta_ledger_unknown_frees(m->ledger, PASTA_LEVEL_HELD),
			 .counted = true, .what = "frees of memory that is not known",
			 .evidence = "recording began after it was allocated, or that was dropped");
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING,
			 .count = pasta_ledger_missing_frees(m->ledger, PASTA_LEVEL_HELD),
			 .counted = true, .what = "allocations of memory that was not freed",
			 .evidence =
				 "what was there counts as freed by then; its free was dropped");
	return error;
}

static const struct pasta_ledger_def ledger =
	PASTA_LEDGER(struct memory, ledger, .levels = PASTA_LEVEL_MASK(SEGMENT),
		     .peaks = PASTA_LEVEL_MASK(HELD) | PASTA_LEVEL_MASK(DRIVER) |
			      PASTA_LEVEL_MASK(SEGMENT) | PASTA_LEVEL_MASK(BLOCK),
		     .on_alloc = on_alloc, .on_free = on_free, .on_reserved = on_reserved);

static const struct pasta_option options[] = {
	{"rows", "1000", "how many of a peak, or never freed, have a row each; 0: all",
	 PASTA_OPTION_NUMBER},
	{0},
};

PASTA_TOOL(.name = "memory", .summary = "live bytes over time, the peak, and what is never freed",
	   .events = PASTA_MASK(PROCESS) | PASTA_MASK(ALLOC) | PASTA_MASK(FREE),
	   .state_size = sizeof(struct memory), .options = options, .event = on_event,
	   .report = report, .charts = PASTA_CHART_MASK(LINE), .groups = groups, .ledger = &ledger);
