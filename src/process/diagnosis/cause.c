/* cause.c - finds the cause of a gap, and what the launching thread did. */
#include "process/diagnosis/timing.h"

/* The launch that ends a gap, and the log of its thread. */
struct cause_launch {
	const struct timing_next *next;
	const struct hostlog *log; /* NULL: no events of the thread */
	uint64_t time;
};

static const struct hostlog cause_no_log;

static void cause_set_scope(struct pasta_gap *gap, const struct pasta_scope *scope)
{
	gap->op = scope && scope->op ? scope->op->name : 0;
	gap->region = scope && scope->region ? scope->region->name : 0;
}

/* Sets the origin of the gap to that of the launch. */
static void cause_from_launch(const struct timing_device *d, struct pasta_gap *gap,
			      const struct timing_next *next)
{
	const struct pasta_where *w = next->where;

	gap->tid = w->tid;
	gap->kind = next->ev->kind;
	gap->work = next->ev->kind == PASTA_KIND_KERNEL ? next->ev->kernel.name : 0;
	gap->module = w->module;
	gap->line = timing_line(d->proc, pasta_python_of(next->ev, w));
	cause_set_scope(gap, w->scope);
}

static void cause_from_entry(const struct timing_device *d, struct pasta_gap *gap,
			     const struct hostlog_entry *e)
{
	if (!e)
		return;
	gap->module = e->module;
	gap->api = e->api;
	gap->line = timing_line(d->proc, e->python);
	cause_set_scope(gap, e->scope);
}

/* -- Synchronization -- */

/* Returns whether a wait whose thread is not known can be one of the launching thread. */
static bool cause_in_sync(const struct timing_proc *p, const struct hostlog *log, uint64_t time)
{
	uint32_t count = p->sync_count < TIMING_SYNCS ? p->sync_count : TIMING_SYNCS;

	for (uint32_t i = 0; i < count; i++) {
		const struct timing_sync *s = &p->syncs[i];

		if (s->begin <= time && s->end > time && hostlog_is_quiet(log, s->begin, s->end))
			return true;
	}
	return false;
}

static bool cause_is_item(const struct pasta_scope *scope)
{
	const char *name = scope && scope->op ? pasta_str(scope->op->name) : "";

	return !strcmp(name, "aten::_local_scalar_dense") || !strcmp(name, "aten::item");
}

/* Returns whether the copy that ended last blocked its thread until it ended: the thread recorded
 * nothing after the launch, and the operator that launched the copy was still open. */
static bool cause_in_copy(const struct timing_device *d, const struct cause_launch *l,
			  const struct hostlog_entry *e)
{
	bool to_host = d->last.sub == PASTA_COPY_D2H, pinned, pageable;

	if (d->last.kind != PASTA_KIND_COPY || !d->last.known ||
	    d->last.tid != l->next->where->tid || e->begin > d->last.launched ||
	    e->op != d->last.op)
		return false;
	pinned = (to_host ? d->last.target : d->last.source) == PASTA_MEMORY_PINNED;
	pageable = (to_host ? d->last.target : d->last.source) == PASTA_MEMORY_PAGEABLE;
	if (!to_host)
		return d->last.sub == PASTA_COPY_H2D && pageable;
	return pageable || cause_is_item(d->last.scope) || (d->last.op && !pinned);
}

static const struct hostlog_entry *cause_sync(const struct timing_device *d,
					      const struct cause_launch *l, uint64_t time)
{
	const struct hostlog_entry *e = hostlog_find(l->log, time);

	if (e && (e->activity == HOSTLOG_SYNC || cause_in_sync(d->proc, l->log, time) ||
		  cause_in_copy(d, l, e)))
		return e;
	return NULL;
}

/* -- Late launches -- */

/* Finds the cause of a gap whose next work was launched after the gap had begun. */
static void cause_late(const struct timing_device *d, struct pasta_gap *gap,
		       const struct cause_launch *l)
{
	static const uint32_t causes[] = {[HOSTLOG_SYNC] = PASTA_CAUSE_SYNC,
					  [HOSTLOG_ALLOCATOR] = PASTA_CAUSE_ALLOCATOR,
					  [HOSTLOG_LOADING] = PASTA_CAUSE_LOADING,
					  [HOSTLOG_DATA] = PASTA_CAUSE_DATA,
					  [HOSTLOG_DISPATCH] = PASTA_CAUSE_DISPATCH,
					  [HOSTLOG_HOST] = PASTA_CAUSE_HOST};
	const struct hostlog_entry *sync = cause_sync(d, l, gap->begin), *longest;
	uint64_t sums[HOSTLOG_ACTIVITIES];
	uint32_t most = 0;

	hostlog_sums(l->log, gap->begin, l->time, sums);
	for (uint32_t i = 1; i < HOSTLOG_ACTIVITIES; i++)
		most = sums[i] > sums[most] ? i : most;
	if (sync && (most == HOSTLOG_SYNC || most >= HOSTLOG_DISPATCH ||
		     sums[most] <= (l->time - gap->begin) / 2)) {
		gap->cause = PASTA_CAUSE_SYNC;
		cause_from_entry(d, gap, sync);
		return;
	}
	gap->cause = causes[most];
	longest = hostlog_longest(l->log, gap->begin, l->time, most);
	if (most < HOSTLOG_DISPATCH) {
		cause_from_entry(d, gap, longest);
	} else if (most == HOSTLOG_HOST) {
		gap->op = gap->module = 0;
		gap->region = longest && longest->scope && longest->scope->region
				      ? longest->scope->region->name
				      : 0;
	}
}

/* Returns whether work on another device of the process ended in the gap. */
static bool cause_other_device(const struct timing_device *d, const struct pasta_gap *gap)
{
	struct timing_device **other;
	size_t at = 0;

	while ((other = pasta_map_next(d->proc->devices, &at, NULL))) {
		const uint64_t *end = (*other)->end;
		uint64_t last = end[0] > end[1] ? end[0] : end[1];

		last = end[2] > last ? end[2] : last;
		if (*other != d && last >= gap->begin && last <= gap->end)
			return true;
	}
	return false;
}

void timing_cause(struct timing_device *d, struct pasta_gap *gap, const struct timing_next *next)
{
	const struct pasta_where *where = next->where;
	bool known = where->flags & PASTA_WHERE_LAUNCH;
	struct cause_launch l = {next, &cause_no_log, where->launched};
	const struct timing_thread *th =
		known ? pasta_map_find(d->proc->threads, where->tid) : NULL;

	l.log = th ? &th->log : l.log;
	l.time = l.time < gap->end ? l.time : gap->end;
	cause_from_launch(d, gap, next);
	if (known && l.time > gap->begin) {
		cause_late(d, gap, &l);
	} else if (next->waited && (d->last.stream != next->stream || cause_other_device(d, gap))) {
		gap->cause = PASTA_CAUSE_DEPENDENCY;
	} else {
		timing_device_defer(d, gap,
				    known && d->last.kind == PASTA_KIND_KERNEL &&
					    next->ev->kind == PASTA_KIND_KERNEL);
		return;
	}
	timing_device_gap(d, gap);
}
