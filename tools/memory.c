/* memory - reports memory by level: live bytes over time, peaks, and what was never freed. */
#include <pasta/tool.h>

/* The memory of a device or of the host at one level, in one process. */
struct pool {
	struct pool_key {
		uint32_t proc, device, level;
	} key;
	uint64_t allocations, frees, bytes, peak, peak_at, left;
};

/* An allocation site: a call path that allocates memory. If the path is unknown, a name replaces
 * it. */
struct site {
	struct {
		struct pasta_stack_ref stack;
		uint32_t name, level;
	} key;
	uint64_t count, bytes;
	/* bytes that were live at peaks of the level: from this site, and from all sites */
	uint64_t peak, all;
};

/* An allocation that was live at a peak, or that was never freed. */
struct entry {
	struct {
		struct pool_key pool;
		uint32_t name;
		struct pasta_stack_ref stack;
		uint64_t number, addr;
	} key;
	uint64_t bytes;
	int64_t age; /* ns, or PASTA_NO_VALUE if unknown */
	uint32_t type;
};

struct memory {
	struct pasta_ledger *ledger;
	struct pasta_group *pools, *peak, *never_freed, *sites;
	struct pasta_series_set *live; /* live bytes over time, by process, device and level */
	uint64_t start, now;	       /* times of the first and the latest event so far */
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

/* Call paths differ by process, because the same address may belong to different functions. */
static struct site *site_of(const struct memory *m, const struct pasta_allocation *a)
{
	return PASTA_ROW(m->sites, struct site, {a->stack ? a->proc : 0, a->stack}, a->name,
			 a->level);
}

/* Updates the live bytes and the peak of a device's memory at one level. Returns the struct pool
 * that stores them. */
static struct pool *pool_of(const struct memory *m, uint32_t proc, uint32_t device, uint32_t level)
{
	struct pool *p = PASTA_ROW(m->pools, struct pool, proc, device, level);

	p->left = pasta_ledger_live(m->ledger, proc, device, level);
	p->peak = pasta_ledger_peak(m->ledger, proc, device, level, &p->peak_at);
	p->peak_at -= p->peak ? m->start : p->peak_at;
	pasta_series_add(m->live, &p->key, m->now - m->start, p->left);
	return p;
}

/* Handles an allocation or a free: updates the bytes of the allocation's level, and the held
 * bytes. */
static void on_change(void *state, struct pasta_allocation *a, const struct pasta_event *ev,
		      const struct pasta_where *where)
{
	struct memory *m = state;
	bool held = a->flags & PASTA_ALLOCATION_HELD;

	if (a->flags & PASTA_ALLOCATION_ALIAS)
		return;
	on_event(m, ev, NULL); /* the ledger calls on_change before the tool's own on_event */
	for (size_t i = 0; i < 2; i++) {
		struct pool *p = pool_of(m, a->proc, a->device, i ? a->level : PASTA_LEVEL_HELD);

		p->frees += a->freed && (i || held);
		p->allocations += !a->freed && (i || held);
		p->bytes += !a->freed && (i || held) ? a->bytes : 0;
	}
	site_of(m, a)->count += !a->freed;
	site_of(m, a)->bytes += a->freed ? 0 : a->bytes;
}

static void on_reserved(void *state, uint32_t device, const struct pasta_event *ev,
			const struct pasta_where *where)
{
	on_event(state, ev, NULL);
	pool_of(state, ev->proc, device, PASTA_LEVEL_HELD);
	pool_of(state, ev->proc, device, PASTA_LEVEL_SEGMENT);
}

/* -- Tables -- */

/* Returns whether a table shows a level of a device. `row` begins with a struct pool_key. If a
 * device has only one level, the row "held" replaces the row of that level. */
static bool is_shown(const void *row, const void *state)
{
	const struct pasta_ledger *l = ((const struct memory *)state)->ledger;
	const struct pool_key *key = row;
	uint32_t have = 0;

	for (uint32_t level = 0; level < PASTA_LEVEL_HELD; level++)
		have += pasta_ledger_has(l, key->proc, key->device, level);
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
	PASTA_MEMBER_OF(STACK, struct entry, key.stack, key.name, .column = "site",
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
	ENTRIES(peak),
	ENTRIES(never_freed),
	PASTA_GROUP(struct memory, sites, struct site, site_members, .table = "sites",
		    .order = "level -peak -bytes site", .flags = PASTA_GROUP_FOLD),
	{0},
};

/* -- Reporting -- */

/* Adds a set of allocations to its table. Returns how many of these allocations were made during
 * the recording. */
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
			      {a->proc, a->stack}, a->number, a->addr);
		e->type = a->type;
		e->bytes = a->bytes;
		e->age = earlier ? PASTA_NO_VALUE : (int64_t)(until - a->time);
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

	for (uint32_t level = 0; level <= PASTA_LEVEL_HELD; level++) {
		collect(m, PASTA_LEDGER_PEAK, level);
		live += level < PASTA_LEVEL_HELD ? collect(m, PASTA_LEDGER_LIVE, level) : 0;
	}
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, PASTA_COUNT(live),
			 .what = "allocations that were never freed",
			 .evidence = "table never_freed lists them");
	pasta_ledger_findings(m->ledger, PASTA_LEVEL_HELD, out);
	pasta_out_group(out, m->pools);
	pasta_out_series(out, m->live, m->pools, .rows = 200, .points = 4000, .table = "live",
			 .last = "live", .max = "peak", .unit = "bytes", .chart = "live_bytes");
	return pasta_out_groups(out, state, err);
}

static const struct pasta_series_def series[] = {
	PASTA_SERIES(struct memory, live, LEVEL, struct pool_key, 200, .width = 1024),
	{0},
};

static const struct pasta_ledger_def ledger =
	PASTA_LEDGER(struct memory, ledger, .levels = PASTA_LEVEL_MASK(SEGMENT),
		     .peaks = PASTA_LEVEL_MASK(HELD) | PASTA_LEVEL_MASK(DRIVER) |
			      PASTA_LEVEL_MASK(SEGMENT) | PASTA_LEVEL_MASK(BLOCK),
		     .on_alloc = on_change, .on_free = on_change, .on_reserved = on_reserved);

static const struct pasta_option options[] = {
	{"rows", "1000", "maximum number of allocations in tables 'peak' and 'never_freed'; 0: all",
	 PASTA_OPTION_NUMBER},
	{0},
};

PASTA_TOOL(.name = "memory", .summary = "live bytes over time, the peak, and what is never freed",
	   .events = PASTA_MASK(PROCESS) | PASTA_MASK(ALLOC) | PASTA_MASK(FREE),
	   .state_size = sizeof(struct memory), .options = options, .event = on_event,
	   .report = report, .charts = PASTA_CHART_MASK(LINE), .groups = groups, .ledger = &ledger,
	   .series = series);
