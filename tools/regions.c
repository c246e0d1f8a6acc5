/* regions - reports inclusive and exclusive host and device time of regions, also by iteration. */
#include <stdio.h>

#include <pasta/tool.h>

/* A path with more than PATH_NAMES names is shown as its first names, the number of omitted names,
 * and its last names. */
enum { PATH_HEAD = 32, PATH_TAIL = 31, PATH_NAMES = PATH_HEAD + 1 + PATH_TAIL };

/* Times of one path of nested regions. Path 0 is the root. */
struct region {
	struct {
		uint32_t path;
	} key;
	/* computed when the tool reports; `position` is the row's number in a depth-first walk,
	 * from 1 */
	uint32_t name, position;
	struct pasta_stat time;
	uint64_t exclusive, open;
	/* ns of work that was launched directly in the region, not in a nested one */
	uint64_t device_self;
	/* ns of work that was launched in the region or in nested regions; computed when the tool
	 * reports */
	uint64_t device;
};

struct cell {
	struct {
		uint32_t path, zero;
		uint64_t iteration;
	} key;
	uint64_t calls, inclusive, exclusive;
};

struct mark {
	struct {
		uint32_t path, name;
	} key;
	uint64_t count;
};

/* A region that has begun but not ended. */
struct frame {
	uint64_t begin, children;
};

struct thread {
	struct {
		uint32_t proc, tid;
	} key;
	struct pasta_list frames;
	uint64_t strays, overlaps, open, dropped, iterations;
	uint64_t outside; /* number of launches outside of all regions */
	uint64_t orphans; /* device work whose launch is not known */
};

struct regions {
	struct pasta_group *regions, *cells, *marks, *threads;
	bool by_iteration;
	uint32_t positions; /* number of rows that have a position; counted when the tool reports */
};

/* -- Paths -- */

/* Writes the names of a path to `names`. In a long path, the number of the names in the middle
 * replaces these names. */
static size_t path_names(const struct pasta_scope *path, const char *names[PATH_NAMES],
			 char between[32])
{
	uint32_t depth = path ? path->depth : 0;
	uint32_t cut = depth > PATH_HEAD + PATH_TAIL ? depth - PATH_TAIL : 0;
	size_t count = cut ? PATH_NAMES : depth, at = count;

	for (; path; path = path->up) {
		if (!cut || path->depth > cut)
			names[--at] = pasta_name(path->name);
		else if (path->depth <= PATH_HEAD)
			names[path->depth - 1] = pasta_name(path->name);
	}
	if (cut) {
		snprintf(between, 32, "…(%u)…", depth - PATH_HEAD - PATH_TAIL);
		names[PATH_HEAD] = between;
	}
	return count;
}

static const char *row_text(const void *row, const void *state, char *text, size_t size)
{
	const char *names[PATH_NAMES];
	char between[32];
	size_t count = path_names(pasta_scope_find(*(const uint32_t *)row), names, between), at = 0;

	for (size_t i = 0; i < count && at < size - 1; i++) {
		size_t n = strlen(names[i]);

		if (i)
			text[at++] = '/';
		n = n < size - 1 - at ? n : size - 1 - at;
		memcpy(text + at, names[i], n);
		at += n;
	}
	text[at] = '\0';
	return text;
}

static int64_t row_position(const void *row, const void *state)
{
	const struct regions *s = state;

	return ((const struct region *)pasta_group_find(s->regions, row))->position;
}

/* -- Tables -- */

/* Hides a region that a filter excludes. Such a region has a row only if it is the parent of
 * another region. */
static bool region_shown(const void *row, const void *state)
{
	const struct region *r = row;

	return r->key.path && (r->time.count || r->device_self);
}

static const struct pasta_member region_members[] = {
	PASTA_MEMBER(U32, struct region, key.path),
	PASTA_MEMBER_BY(TEXT, .text = row_text, .column = "region"),
	PASTA_MEMBER(STAT, struct region, time, .unit = "ns",
		     .column = "count=calls,total=inclusive"),
	PASTA_MEMBER(SUM, struct region, exclusive, .unit = "ns", .column = "exclusive"),
	PASTA_MEMBER(STAT, struct region, time, .unit = "ns", .column = "mean,min,max",
		     .flags = PASTA_MEMBER_MORE),
	PASTA_MEMBER(SUM, struct region, open, .column = "open"),
	PASTA_MEMBER(U64, struct region, device, .unit = "ns", .column = "device"),
	PASTA_MEMBER(SUM, struct region, device_self, .unit = "ns", .column = "device_self"),
	PASTA_MEMBER(NAME, struct region, name, .column = "name", .flags = PASTA_MEMBER_HIDDEN),
	PASTA_MEMBER(U32, struct region, position, .column = "position",
		     .flags = PASTA_MEMBER_HIDDEN),
	{0},
};

static const struct pasta_member cell_members[] = {
	PASTA_MEMBER(U64, struct cell, key.iteration, .column = "iteration"),
	PASTA_KEY(struct cell),
	PASTA_MEMBER_BY(TEXT, .text = row_text, .column = "region"),
	PASTA_MEMBER(SUM, struct cell, calls, .column = "calls"),
	PASTA_MEMBER(SUM, struct cell, inclusive, .unit = "ns", .column = "inclusive"),
	PASTA_MEMBER(SUM, struct cell, exclusive, .unit = "ns", .column = "exclusive"),
	PASTA_MEMBER_BY(CALL, .call = row_position, .column = "position",
			.flags = PASTA_MEMBER_HIDDEN),
	{0},
};

static const struct pasta_member mark_members[] = {
	PASTA_MEMBER(NAME, struct mark, key.name, .column = "mark"),
	PASTA_MEMBER(U32, struct mark, key.path),
	PASTA_MEMBER_BY(TEXT, .text = row_text, .column = "region"),
	PASTA_MEMBER(SUM, struct mark, count, .column = "count"),
	PASTA_MEMBER_BY(CALL, .call = row_position, .column = "position",
			.flags = PASTA_MEMBER_HIDDEN),
	{0},
};

static const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct regions, regions, struct region, region_members, .table = "regions",
		    .order = "position", .keep = region_shown),
	PASTA_GROUP(struct regions, cells, struct cell, cell_members,
		    .table = "regions_by_iteration", .order = "iteration position"),
	PASTA_GROUP(struct regions, marks, struct mark, mark_members, .table = "marks",
		    .order = "position mark", .flags = PASTA_GROUP_OPTIONAL),
	PASTA_GROUP_HIDDEN(struct regions, threads, struct thread,
			   PASTA_MEMBER(LIST, struct thread, frames,
					.item_size = sizeof(struct frame)),
			   PASTA_SUMS(struct thread, strays, orphans)),
	{0},
};

/* -- Collecting -- */

static int open_(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	((struct regions *)state)->by_iteration = pasta_opt_yes(opts, "iterations");
	return 0;
}

/* Returns the path of the regions that are open when an event occurs. */
static uint32_t path_at(const struct pasta_where *where)
{
	return where->scope && where->scope->path ? where->scope->path->id : 0;
}

/* Handles the end of the thread's innermost region. */
static void on_end(struct regions *s, struct thread *t, const struct pasta_event *ev,
		   const struct pasta_where *where)
{
	struct frame *frame = (struct frame *)t->frames.items + --t->frames.count;
	/* An event that arrives out of order must not make a duration negative. */
	uint64_t inclusive = ev->time > frame->begin ? ev->time - frame->begin : 0;
	uint64_t exclusive = inclusive > frame->children ? inclusive - frame->children : 0;
	uint32_t path = path_at(where);
	struct region *r = PASTA_ROW(s->regions, struct region, path);
	struct cell *cell;

	pasta_stat_add(&r->time, inclusive);
	r->exclusive += exclusive;
	r->open += ev->region.flags & (PASTA_REGION_SUPPLIED_LOSS | PASTA_REGION_SUPPLIED_OPEN) ? 1
												: 0;
	if (t->frames.count)
		frame[-1].children += inclusive;
	if (where->iteration == PASTA_NO_ITERATION || !s->by_iteration)
		return;
	cell = PASTA_ROW(s->cells, struct cell, path, 0, where->iteration);
	cell->calls++;
	cell->inclusive += inclusive;
	cell->exclusive += exclusive;
}

static void on_region(struct regions *s, const struct pasta_event *ev,
		      const struct pasta_where *where)
{
	struct thread *t = PASTA_ROW(s->threads, struct thread, ev->proc, ev->tid);
	uint32_t flags = ev->region.flags;

	t->dropped += flags & PASTA_REGION_SUPPLIED_LOSS ? 1 : 0;
	t->overlaps += flags & PASTA_REGION_SUPPLIED_OUTER ? 1 : 0;
	t->open += flags & PASTA_REGION_SUPPLIED_OPEN ? 1 : 0;
	if (ev->sub == PASTA_REGION_BEGIN) {
		((struct frame *)pasta_group_append(s->threads, &t->frames, sizeof(struct frame)))
			->begin = ev->time;
	} else if (ev->sub == PASTA_REGION_END && t->frames.count) {
		on_end(s, t, ev, where);
	} else if (ev->sub == PASTA_REGION_UNMATCHED_END) {
		t->strays += flags & PASTA_REGION_SUPPLIED_LOSS ? 0 : 1;
	} else if (ev->sub == PASTA_REGION_MARK) {
		PASTA_ROW(s->regions, struct region, path_at(where)); /* adds the region's row */
		PASTA_ROW(s->marks, struct mark, path_at(where), ev->region.name)->count++;
	}
}

/* Adds device work to the region in which a thread launched the work. */
static void on_work(struct regions *s, const struct pasta_event *ev,
		    const struct pasta_where *where)
{
	if (where->flags & PASTA_WHERE_LAUNCH)
		PASTA_ROW(s->regions, struct region, path_at(where))->device_self +=
			pasta_work_ns(ev);
	else
		PASTA_ROW(s->threads, struct thread, ev->proc, ev->tid)->orphans++;
}

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	struct regions *s = state;

	if (ev->kind == PASTA_KIND_REGION)
		on_region(s, ev, where);
	else if (ev->kind == PASTA_KIND_ITERATION)
		PASTA_ROW(s->threads, struct thread, ev->proc, ev->tid)->iterations++;
	else if (ev->kind != PASTA_KIND_LAUNCH)
		on_work(s, ev, where);
	else if (!path_at(where))
		PASTA_ROW(s->threads, struct thread, ev->proc, ev->tid)->outside++;
}

/* -- Report the tree of regions -- */

/* Adds rows for parent regions that a filter excluded. The loop also visits the rows that it
 * adds. */
static void add_parents(const struct regions *s)
{
	struct region *r;
	size_t at = 0;

	PASTA_ROW(s->regions, struct region, 0);
	while ((r = pasta_group_next(s->regions, &at))) {
		const struct pasta_scope *path = pasta_scope_find(r->key.path);

		r->name = path ? path->name : 0;
		if (path && path->up)
			PASTA_ROW(s->regions, struct region, path->up->id);
	}
}

static void *region_up(const void *row, const void *ctx)
{
	const struct regions *s = ctx;
	const struct pasta_scope *path = pasta_scope_find(((const struct region *)row)->key.path);

	return path && path->up ? PASTA_ROW(s->regions, struct region, path->up->id) : NULL;
}

static void enter_region(void *row, void *up, void *ctx)
{
	struct regions *s = ctx;
	struct region *r = row;

	if (r->key.path)
		r->position = ++s->positions;
}

/* Adds the device time of a region to the time of its parent. */
static void leave_region(void *row, void *up, void *ctx)
{
	struct region *r = row, *outer = up;

	r->device += r->device_self;
	if (outer)
		outer->device += r->device;
}

static void put_flame(const struct regions *s, struct pasta_out *out, const char *name,
		      size_t offset)
{
	const struct pasta_chart_def def =
		PASTA_CHART_DEF(.type = PASTA_CHART_FLAME, .name = name, .x = {.name = "region"},
				.y = {.name = "time", .unit = "ns"});
	struct pasta_chart *chart = NULL;
	const char *names[PATH_NAMES];
	const struct region *r;
	char between[32];
	size_t n, at = 0;

	while ((r = pasta_group_next_by(s->regions, "position", &at))) {
		uint64_t value = *(const uint64_t *)((const char *)r + offset);

		if (!r->key.path || !value)
			continue;
		if (!chart)
			chart = pasta_out_chart(out, &def);
		n = path_names(pasta_scope_find(r->key.path), names, between);
		pasta_chart_stack(chart, names, n, (int64_t)value);
	}
}

static void put_findings(const struct regions *s, struct pasta_out *out)
{
	const struct region *none = PASTA_ROW(s->regions, struct region, 0);

	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
			 PASTA_COUNT(PASTA_SUM(s->threads, struct thread, open)),
			 .what = "regions that never ended",
			 .evidence = "the time of an open region ends at the last event of its "
				     "process; column 'open' counts open regions");
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING,
			 PASTA_COUNT(PASTA_SUM(s->threads, struct thread, dropped)),
			 .what = "dropped events that begin or end a region",
			 .evidence = "times of the enclosing regions are too long or too short; "
				     "missing names are shown as (lost)",
			 .action = "enlarge the rings with --memory, or annotate fewer regions");
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING,
			 PASTA_COUNT(PASTA_SUM(s->threads, struct thread, strays)),
			 .what = "region ends without a begin",
			 .action = "pair every end with a begin on the same thread; a missing "
				   "begin is harmless if recording began inside a region");
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
			 PASTA_COUNT(PASTA_SUM(s->threads, struct thread, overlaps)),
			 .what = "regions that did not end before their enclosing region",
			 .action = "end regions in the reverse order in which they began");
	/* If the program has no regions, the tool reports no findings about regions. */
	if (pasta_group_count(s->regions) == 1)
		return;
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
			 PASTA_COUNT(PASTA_SUM(s->threads, struct thread, outside)),
			 .what = "launches outside of all regions",
			 .evidence = pasta_out_text(out,
						    "no row includes the device time of launches "
						    "outside of regions (%.3f ms)",
						    (double)none->device_self / 1e6));
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE,
			 PASTA_COUNT(PASTA_SUM(s->threads, struct thread, orphans)),
			 .what = "device work without a known launch",
			 .evidence = "no row includes the time of work without a launch");
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	struct regions *s = state;
	const struct pasta_walk walk = {.order = "-inclusive name",
					.up = region_up,
					.enter = enter_region,
					.leave = leave_region,
					.ctx = s};

	add_parents(s);
	pasta_group_walk(s->regions, &walk);
	pasta_out_group(out, s->regions);
	put_flame(s, out, "host_time", offsetof(struct region, exclusive));
	put_flame(s, out, "device_time", offsetof(struct region, device_self));
	if (s->by_iteration &&
	    (pasta_group_count(s->cells) || PASTA_SUM(s->threads, struct thread, iterations)))
		pasta_out_group(out, s->cells);
	pasta_out_group(out, s->marks);
	put_findings(s, out);
	return 0;
}

static const struct pasta_option options[] = {
	{"iterations", "yes", "add a table by iteration", PASTA_OPTION_YES_NO},
	{0},
};

PASTA_TOOL(.name = "regions", .summary = "host and device time by region, inclusive and exclusive",
	   .events = PASTA_MASK(REGION) | PASTA_MASK(ITERATION) | PASTA_MASK(LAUNCH) |
		     PASTA_MASK(KERNEL) | PASTA_MASK(COPY) | PASTA_MASK(SET),
	   .needs = PASTA_NEED_SCOPES, .state_size = sizeof(struct regions), .options = options,
	   .open = open_, .event = on_event, .report = report, .charts = PASTA_CHART_MASK(FLAME),
	   .flags = PASTA_TOOL_SHARDED, .groups = groups);
