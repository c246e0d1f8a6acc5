/* memory - memory by level: live bytes over time, what made the peaks, what was never freed. */
#include <stdio.h>

#include <pasta/tool.h>

#define BINS 200    /* rows of table live, at most, or one a pool */
#define POINTS 4000 /* of the chart, likewise */
#define TEXT 300

/* In the order in which they are shown. */
static const uint32_t levels[] = {PASTA_LEVEL_HELD, PASTA_LEVEL_DRIVER, PASTA_LEVEL_SEGMENT,
				  PASTA_LEVEL_BLOCK};
enum { LEVELS = sizeof(levels) / sizeof(*levels) };

/* A level of a device's memory, or of the host's, of one process. */
struct pool {
	struct pool_key {
		uint32_t proc, device, level;
	} key;
	uint32_t order; /* of adding */
	uint64_t allocations, frees, bytes, peak, peak_at, left;
};

/* What a pool has in an interval of time: live bytes at its end, and the most in it. */
struct bin {
	struct {
		struct pool_key pool;
		uint32_t order; /* of the pool */
		uint64_t time;
	} key;
	uint64_t live, peak;
};

/* Where the program allocates: a call path, or else a name. */
struct site {
	struct {
		struct pasta_stack_ref stack;
		uint32_t name, level;
	} key;
	uint64_t count, bytes;
	uint64_t peak, all; /* bytes at the level's peaks: of it, and of all sites */
};

/* Of a peak, or never freed. */
struct entry {
	struct {
		struct pool_key pool;
		uint32_t name;
		uint64_t number, addr;
	} key;
	struct pasta_stack_ref stack;
	uint64_t bytes;
	int64_t age; /* or PASTA_NO_VALUE */
	uint32_t type;
};

struct memory {
	struct pasta_ledger *ledger;
	struct pasta_group *pools, *bins, *peak, *never_freed, *sites;
	struct pasta_series_set *live; /* by pool, since the start */
	uint64_t start, now;	       /* now is the latest time: an event that is late comes now */
	bool started;
};

/* -- Collecting -- */

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	struct memory *m = state;

	m->start = m->started ? m->start : ev->time;
	m->started = true;
	m->now = ev->time > m->now ? ev->time : m->now;
	pasta_series_reach(m->live, m->now - m->start);
}

/* A call path is of its process: in another the same addresses may be other functions. */
static struct site *site_of(const struct memory *m, const struct pasta_allocation *a)
{
	return PASTA_ROW(m->sites, struct site, {a->stack ? a->proc : 0, a->stack}, a->name,
			 a->level);
}

/* What is held comes first, then all levels: they are shown side by side. */
static void count(const struct memory *m, struct pool_key key, uint64_t begun, uint64_t ended,
		  uint64_t bytes)
{
	uint64_t live = pasta_ledger_live(m->ledger, key.proc, key.device, key.level);
	size_t before = pasta_group_count(m->pools);
	struct pool *p = pasta_group_row(m->pools, &key);

	for (size_t i = 1; pasta_group_count(m->pools) > before && i < LEVELS; i++)
		PASTA_ROW(m->pools, struct pool, key.proc, key.device, levels[i]);
	p->allocations += begun;
	p->frees += ended;
	p->bytes += begun * bytes;
	p->left = live;
	pasta_series_add(m->live, &key, m->now - m->start, live);
}

/* What is held changes also when others are adopted. */
static void on_change(struct memory *m, const struct pasta_allocation *a,
		      const struct pasta_event *ev, uint64_t begun)
{
	uint64_t held = a->flags & PASTA_ALLOCATION_HELD ? 1 : 0;

	if (a->flags & PASTA_ALLOCATION_ALIAS)
		return;
	on_event(m, ev, NULL); /* the ledger comes before the tool */
	count(m, (struct pool_key){a->proc, a->device, PASTA_LEVEL_HELD}, begun * held,
	      !begun * held, a->bytes);
	count(m, (struct pool_key){a->proc, a->device, a->level}, begun, !begun, a->bytes);
	if (begun) {
		struct site *site = site_of(m, a);

		site->count++;
		site->bytes += a->bytes;
	}
}

static void on_alloc(void *state, struct pasta_allocation *a, const struct pasta_event *ev,
		     const struct pasta_where *where)
{
	on_change(state, a, ev, 1);
}

static void on_free(void *state, struct pasta_allocation *a, const struct pasta_event *ev,
		    const struct pasta_where *where)
{
	on_change(state, a, ev, 0);
}

static void on_reserved(void *state, uint32_t device, const struct pasta_event *ev,
			const struct pasta_where *where)
{
	on_event(state, ev, NULL);
	count(state, (struct pool_key){ev->proc, device, PASTA_LEVEL_HELD}, 0, 0, 0);
	count(state, (struct pool_key){ev->proc, device, PASTA_LEVEL_SEGMENT}, 0, 0, 0);
}

/* -- Tables -- */

/* Of a pool, or its key. Where all is of one level, that is what is held. */
static bool is_shown(const void *row, const void *state)
{
	const struct pasta_ledger *l = ((const struct memory *)state)->ledger;
	const struct pool_key *key = row;
	uint32_t have = 0;

	for (size_t i = 1; i < LEVELS; i++)
		have += pasta_ledger_has(l, key->proc, key->device, levels[i]);
	return key->level == PASTA_LEVEL_HELD ||
	       (have > 1 && pasta_ledger_has(l, key->proc, key->device, key->level));
}

#define POOL_MEMBERS(row, pool)                                                                    \
	PASTA_MEMBER(DEVICE, row, pool.device, .column = "memory"),                                \
		PASTA_MEMBER(PROCESS, row, pool.proc, .column = "process"),                        \
		PASTA_MEMBER(LEVEL, row, pool.level, .column = "level")

static const struct pasta_member pool_members[] = {
	POOL_MEMBERS(struct pool, key),
	PASTA_MEMBER(SUM, struct pool, allocations, .column = "allocations"),
	PASTA_MEMBER(SUM, struct pool, frees, .column = "frees"),
	PASTA_MEMBER(SUM, struct pool, bytes, .column = "bytes", .unit = "bytes"),
	PASTA_MEMBER(U64, struct pool, peak, .column = "peak", .unit = "bytes"),
	PASTA_MEMBER(U64, struct pool, peak_at, .column = "peak_at", .unit = "ns"),
	PASTA_MEMBER(U64, struct pool, left, .column = "left", .unit = "bytes"),
	{0},
};

static const struct pasta_member bin_members[] = {
	PASTA_MEMBER(U64, struct bin, key.time, .column = "time", .unit = "ns"),
	POOL_MEMBERS(struct bin, key.pool),
	PASTA_MEMBER(MAX, struct bin, live, .column = "live", .unit = "bytes"),
	PASTA_MEMBER(MAX, struct bin, peak, .column = "peak", .unit = "bytes"),
	PASTA_MEMBER(U32, struct bin, key.order, .column = "#", .flags = PASTA_MEMBER_HIDDEN),
	{0},
};

static const struct pasta_member site_members[] = {
	PASTA_MEMBER_OF(STACK, struct site, key.stack, key.name, .column = "site",
			.none = "(unknown)"),
	PASTA_MEMBER(LEVEL, struct site, key.level, .column = "level"),
	PASTA_MEMBER(SUM, struct site, count, .column = "count"),
	PASTA_MEMBER(SUM, struct site, bytes, .column = "bytes", .unit = "bytes"),
	PASTA_MEMBER(SUM, struct site, peak, .column = "peak", .unit = "bytes"),
	PASTA_MEMBER_OF(PERCENT, struct site, peak, all, .column = "share", .unit = "%"),
	PASTA_MEMBER(NAME, struct site, key.name),
	{0},
};

static const struct pasta_member entry_members[] = {
	PASTA_MEMBER_OF(NAME, struct entry, key.name, key.addr, .column = "allocation"),
	PASTA_MEMBER(SUBTYPE, struct entry, type, .of = PASTA_KIND_ALLOC, .column = "type"),
	PASTA_MEMBER(SUM, struct entry, bytes, .column = "bytes", .unit = "bytes"),
	PASTA_MEMBER_OF(STACK, struct entry, stack, key.name, .column = "site",
			.none = "(unknown)"),
	PASTA_MEMBER(I64, struct entry, age, .column = "age", .unit = "ns"),
	POOL_MEMBERS(struct entry, key.pool),
	PASTA_MEMBER(U64, struct entry, key.number, .column = "n", .flags = PASTA_MEMBER_HIDDEN),
	PASTA_MEMBER(ADDRESS, struct entry, key.addr),
	{0},
};

#define ENTRIES(member)                                                                            \
	PASTA_GROUP(struct memory, member, struct entry, entry_members, .table = #member,          \
		    .order = "process memory level -bytes n", .limit_per = 3,                      \
		    .limit_option = "rows", .flags = PASTA_GROUP_REST, .rest = "smaller ones")

static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct memory, pools, struct pool, pool_members, .table = "memory",
		    .order = "process memory level", .keep = is_shown),
	PASTA_GROUP(struct memory, bins, struct bin, bin_members, .table = "live",
		    .order = "# time"),
	ENTRIES(peak),
	ENTRIES(never_freed),
	PASTA_GROUP(struct memory, sites, struct site, site_members, .table = "sites",
		    .order = "level -peak -bytes site", .flags = PASTA_GROUP_FOLD),
	{0},
};

/* -- Reporting -- */

static size_t fit(size_t all, size_t pools)
{
	return pools && all > pools ? all / pools : 1;
}

static void report_live(const struct memory *m, struct pasta_chart *chart, const struct pool *p,
			uint32_t shown)
{
	bool held = p->key.level == PASTA_LEVEL_HELD;
	struct pasta_series_point points[BINS];
	size_t count = pasta_series_points(m->live, &p->key, points, fit(BINS, shown));
	char name[2 * TEXT], text[TEXT];

	snprintf(name, sizeof(name), "%s, %s%s%s",
		 pasta_device_text(p->key.device, text, sizeof(text)),
		 pasta_process(p->key.proc)->text, held ? "" : ", ",
		 held ? "" : pasta_level_text(p->key.level));
	pasta_chart_add_series(chart, name, m->live, &p->key, fit(POINTS, shown));
	for (size_t i = 0; i < count; i++) {
		struct bin *b = PASTA_ROW(m->bins, struct bin, p->key, p->order, points[i].time);

		b->live = points[i].last;
		b->peak = points[i].max;
	}
}

/* The peaks of pools, and their live bytes over time. */
static void report_pools(const struct memory *m, struct pasta_out *out)
{
	static const struct pasta_chart_def def =
		PASTA_CHART_DEF(.type = PASTA_CHART_LINE, .name = "live_bytes", .x = {"time", "ns"},
				.y = {"live", "bytes"});
	struct pasta_chart *chart = pasta_out_chart(out, &def);
	uint32_t shown = 0, order = 0;
	struct pool *p;

	for (size_t at = 0; (p = pasta_group_next(m->pools, &at));) {
		p->peak = pasta_ledger_peak(m->ledger, p->key.proc, p->key.device, p->key.level,
					    &p->peak_at);
		p->peak_at -= p->peak ? m->start : p->peak_at;
		p->order = order++;
		shown += is_shown(p, m);
	}
	for (size_t at = 0; (p = pasta_group_next(m->pools, &at));)
		if (is_shown(p, m))
			report_live(m, chart, p, shown);
}

/* Returns how many the program has allocated itself, since recording began. */
static uint64_t collect(struct memory *m, enum pasta_ledger_set set, uint32_t level)
{
	bool peak = set == PASTA_LEDGER_PEAK;
	const struct pasta_allocation *a;
	uint64_t own = 0, all = 0, until = m->now;
	struct site *site;
	struct entry *e;

	for (size_t at = 0; (a = pasta_ledger_next(m->ledger, set, level, &at));) {
		struct pool_key key = {a->proc, a->device, level};
		bool earlier = a->flags & PASTA_ALLOCATION_EARLIER;

		if (peak && level != PASTA_LEVEL_HELD) {
			site_of(m, a)->peak += a->bytes;
			all += a->bytes;
		}
		if (peak ? !is_shown(&key, m) : a->flags & PASTA_ALLOCATION_ALIAS)
			continue;
		if (peak)
			pasta_ledger_peak(m->ledger, a->proc, a->device, level, &until);
		e = PASTA_ROW(peak ? m->peak : m->never_freed, struct entry, key, a->name,
			      a->number, a->addr);
		e->stack = (struct pasta_stack_ref){a->proc, a->stack};
		e->bytes = a->bytes;
		e->age = earlier ? PASTA_NO_VALUE : (int64_t)(until - a->time);
		e->type = a->type;
		own += !earlier;
	}
	for (size_t at = 0; (site = pasta_group_next(m->sites, &at));)
		site->all += site->key.level == level ? all : 0;
	return own;
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct memory *m = state;
	uint64_t live = 0;

	for (size_t i = 0; i < LEVELS; i++) {
		collect(m, PASTA_LEDGER_PEAK, levels[i]);
		live += i ? collect(m, PASTA_LEDGER_LIVE, levels[i]) : 0;
	}
	report_pools(m, out);
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, PASTA_COUNT(live),
			 .what = "allocations that were never freed",
			 .evidence = "table never_freed has them");
	pasta_ledger_findings(m->ledger, PASTA_LEVEL_HELD, out);
	return pasta_out_groups(out, state, err);
}

static const struct pasta_series_def series[] = {
	PASTA_SERIES(struct memory, live, LEVEL, struct pool_key, BINS, .width = 1024),
	{0},
};

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
	   .report = report, .charts = PASTA_CHART_MASK(LINE), .groups = groups, .ledger = &ledger,
	   .series = series);
