/* correlate.c - matches work with its launch, and attributes every event to a scope and an
 * iteration. */
#include "process/join/correlate.h"

#include <stdlib.h>
#include <string.h>

#include "process/join/corrproc.h"
#include "process/join/launchtable.h"
#include "process/join/nesting.h"
#include "process/join/outqueue.h"

#define REGION_KINDS (PASTA_MASK(REGION) | PASTA_MASK(ITERATION) | PASTA_MASK(LAUNCH))
#define OP_KINDS (PASTA_MASK(OP_BEGIN) | PASTA_MASK(OP_END))
#define WORK_KINDS                                                                                 \
	(PASTA_MASK(KERNEL) | PASTA_MASK(COPY) | PASTA_MASK(SET) | PASTA_MASK(ACCESS_SUM) |        \
	 PASTA_MASK(ACCESS_BATCH) | PASTA_MASK(PC_SAMPLE))

/* A list of queue entries whose work waits for the same launch. The members are the numbers of the
 * first and the last entry. */
struct correlate_early {
	uint64_t first, last;
};

struct pasta_correlate {
	bool ops, failed;
	/* `unmatched`: whether to deliver unmatched launches; `ended`: whether all events were
	 * pushed. */
	bool unmatched, ended;
	struct pasta_corrprocs procs;
	struct pasta_outqueue out;
	struct pasta_nesting nesting;
	struct pasta_launchtable launches;
	struct pasta_pending *early; /* struct correlate_early */
	/* Number of the first queue entry that may be waiting; no earlier entry waits. */
	uint64_t settled;
	struct pasta_where here; /* attribution of an event that is delivered at once */
};

uint64_t pasta_correlate_kinds(bool ops)
{
	return REGION_KINDS | (ops ? OP_KINDS : 0) | PASTA_MASK(GRAPH);
}

struct pasta_correlate *pasta_correlate_new(bool ops)
{
	struct pasta_correlate *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->ops = ops;
	c->early = pasta_pending_new(sizeof(struct correlate_early), PASTA_CORRELATE_QUEUE);
	if (c->early && !pasta_outqueue_open(&c->out) &&
	    !pasta_launchtable_open(&c->launches, false) &&
	    !pasta_nesting_open(&c->nesting, &c->out))
		return c;
	pasta_correlate_free(c);
	return NULL;
}

void pasta_correlate_free(struct pasta_correlate *c)
{
	if (!c)
		return;
	pasta_corrprocs_close(&c->procs);
	pasta_nesting_close(&c->nesting);
	pasta_launchtable_close(&c->launches);
	pasta_pending_free(c->early);
	pasta_outqueue_close(&c->out);
	free(c);
}

bool pasta_correlate_failed(const struct pasta_correlate *c)
{
	return c->failed || c->nesting.failed;
}

uint64_t pasta_correlate_pair(const struct pasta_correlate *c)
{
	return c->out.last ? c->out.last->pair : 0;
}

void pasta_correlate_recorded(struct pasta_correlate *c, uint32_t proc, uint64_t kinds)
{
	struct pasta_corrproc *p = pasta_corrprocs_get(&c->procs, proc);

	if (p)
		p->recorded = kinds;
	else
		c->failed = true;
}

/* Appends a copy of an event to the output queue. */
static void correlate_queue(struct pasta_correlate *c, const struct pasta_event *ev,
			    const struct pasta_where *where)
{
	struct pasta_outqueue_entry *e = pasta_outqueue_push(&c->out, ev);

	if (e)
		e->where = *where;
	else
		c->failed = true;
}

/* -- Unmatched launches -- */

/* Queues an UNMATCHED event for a launch, with the scope of the launch. */
static void correlate_queue_unmatched(struct pasta_correlate *c, const struct pasta_event *launch,
				      const struct pasta_where *where)
{
	struct pasta_outqueue_entry *e = pasta_outqueue_push(&c->out, launch);

	if (!e) {
		c->failed = true;
		return;
	}
	e->own.kind = PASTA_KIND_UNMATCHED;
	e->where = *where;
	e->where.flags &= PASTA_WHERE_BACKWARD | PASTA_WHERE_EXPIRED;
	e->where.capture = NULL;
}

/* Reports a launch as unmatched or expired if the launch that is about to be added replaces it. The
 * new launch replaces the oldest launch of a full table, or a launch with the same correlation id.
 * Two launches with the same id and thread are one launch: a call of the CUDA runtime, and the
 * driver call that it makes. */
static void correlate_evict(struct pasta_correlate *c, const struct pasta_event *ev)
{
	uint64_t corr = ev->launch.corr;
	uint32_t proc = ev->proc;
	const struct pasta_launched *old = pasta_launchtable_next_out(&c->launches, &proc, &corr);
	bool same = proc == ev->proc && corr == ev->launch.corr;

	if (!old || !old->due || (same && old->where.tid == ev->tid))
		return;
	if (c->unmatched)
		correlate_queue_unmatched(c, (const void *)old->event, &old->where);
	if (!same && pasta_expired_add(&c->procs.by_number[proc]->expired, corr))
		c->failed = true;
}

int pasta_correlate_unmatched(struct pasta_correlate *c)
{
	c->unmatched = true;
	pasta_launchtable_close(&c->launches);
	return pasta_launchtable_open(&c->launches, true);
}

/* After the last event, queues the oldest remaining launch as unmatched. Queues only one launch in
 * each call, because there may be millions. */
static void correlate_queue_leftover(struct pasta_correlate *c)
{
	const struct pasta_launched *launch;

	while (pasta_outqueue_empty(&c->out) && (launch = pasta_launchtable_oldest(&c->launches))) {
		if (launch->due)
			correlate_queue_unmatched(c, (const void *)launch->event, &launch->where);
		pasta_launchtable_drop_oldest(&c->launches);
	}
}

const struct pasta_event *pasta_correlate_next(struct pasta_correlate *c,
					       const struct pasta_where **where)
{
	const struct pasta_outqueue_entry *e;

	if (c->ended)
		correlate_queue_leftover(c);
	e = pasta_outqueue_next(&c->out);
	if (!e)
		return NULL;
	*where = &e->where;
	return &e->own;
}

/* -- Work and its launches -- */

struct correlate_work {
	uint64_t corr, node;
	bool uses; /* whether the event is the work itself, rather than a sample or an access of it
		    */
};

/* Returns how an event of WORK_KINDS refers to its launch. */
static inline struct correlate_work correlate_work_of(const struct pasta_event *ev)
{
	switch (ev->kind) {
	case PASTA_KIND_KERNEL:
		return (struct correlate_work){ev->kernel.corr, ev->kernel.node, true};
	case PASTA_KIND_COPY:
		return (struct correlate_work){ev->copy.corr, ev->copy.node, true};
	case PASTA_KIND_SET:
		return (struct correlate_work){ev->set.corr, ev->set.node, true};
	case PASTA_KIND_ACCESS_SUM:
		return (struct correlate_work){.corr = ev->access_sum.corr};
	case PASTA_KIND_ACCESS_BATCH:
		return (struct correlate_work){.corr = ev->access_batch.corr};
	default:
		return (struct correlate_work){.corr = ev->pc_sample.corr};
	}
}

static const struct pasta_scope *correlate_capture(const struct pasta_corrproc *p, uint64_t node)
{
	const struct pasta_scope **scope =
		node && p->captured ? pasta_map_find(p->captured, node) : NULL;

	return scope ? *scope : NULL;
}

static void correlate_use(struct pasta_correlate *c, struct pasta_corrproc *p, uint64_t corr,
			  struct pasta_launched *launch)
{
	if (!p->uses)
		p->uses = calloc(1, sizeof(*p->uses));
	if (p->uses)
		pasta_launchtable_use(&c->launches, p->uses, p->number, corr, launch);
	else
		c->failed = true;
}

/* Attributes work to its launch. On entry, *where is the attribution of the launch, or a copy of
 * it; this function changes it to the attribution of the work. */
static inline void correlate_join(struct pasta_correlate *c, struct pasta_corrproc *p,
				  const struct correlate_work *w, struct pasta_launched *launch,
				  struct pasta_where *where)
{
	bool one = w->uses && !w->node;

	where->flags &= PASTA_WHERE_BACKWARD | PASTA_WHERE_EXPIRED;
	where->flags |= PASTA_WHERE_LAUNCH | (launch->used && one ? PASTA_WHERE_REPEATED : 0);
	where->capture = correlate_capture(p, w->node);
	launch->due = launch->due && !w->uses;
	if (one && !launch->used && !launch->graph)
		correlate_use(c, p, w->corr, launch);
}

/* Attributes work whose launch has no record. */
static void correlate_orphan(const struct pasta_corrproc *p, const struct pasta_event *ev,
			     const struct correlate_work *w, struct pasta_where *where)
{
	*where = (struct pasta_where){
		.size = sizeof(*where),
		.iteration = PASTA_NO_ITERATION,
		.launch = PASTA_NO_LAUNCH,
		.tid = ev->tid,
		.capture = correlate_capture(p, w->node),
		.flags = pasta_expired_has(p->expired, w->corr) ? PASTA_WHERE_EXPIRED : 0};
}

/* Makes a queue entry ready for delivery, even if its launch is still unknown. */
static void correlate_settle(struct pasta_correlate *c, struct pasta_outqueue_entry *e)
{
	struct pasta_corrproc *p = c->procs.by_number[e->own.proc];
	struct correlate_work w = correlate_work_of(&e->own);
	struct pasta_launched *launch = pasta_launchtable_find(&c->launches, p->number, w.corr);

	e->waits = false;
	if (!launch) {
		correlate_orphan(p, &e->own, &w, &e->where);
		return;
	}
	e->where = launch->where;
	correlate_join(c, p, &w, launch, &e->where);
}

/* Makes all queue entries that wait for this launch ready for delivery. */
static void correlate_settle_early(struct pasta_correlate *c, uint32_t proc, uint64_t corr)
{
	const struct correlate_early *early = pasta_pending_find(c->early, proc, corr);
	uint64_t number = early ? early->first : 0;

	for (; number; number = pasta_outqueue_at(&c->out, number)->same)
		correlate_settle(c, pasta_outqueue_at(&c->out, number));
	if (early)
		pasta_pending_remove(c->early, proc, corr);
}

/* Makes one queue entry ready for delivery without its launch. Later entries that wait for the same
 * launch continue to wait. */
static void correlate_expire(struct pasta_correlate *c, struct pasta_outqueue_entry *e)
{
	struct correlate_work w = correlate_work_of(&e->own);
	struct correlate_early *early = pasta_pending_find(c->early, e->own.proc, w.corr);

	if (early && e->same)
		early->first = e->same;
	else
		pasta_pending_remove(c->early, e->own.proc, w.corr);
	correlate_settle(c, e);
}

/* Makes the queue entries that have waited for PASTA_CORRELATE_WAIT ready for delivery. If the
 * queue is full, also makes its first entry ready. */
static void correlate_expire_before(struct pasta_correlate *c, uint64_t now)
{
	bool full = c->out.tail - c->out.head >= PASTA_CORRELATE_QUEUE - 1;

	for (c->settled = c->settled > c->out.head ? c->settled : c->out.head;
	     c->settled < c->out.tail; c->settled++) {
		struct pasta_outqueue_entry *e = pasta_outqueue_at(&c->out, c->settled);
		bool late = now > PASTA_CORRELATE_WAIT && e->own.time < now - PASTA_CORRELATE_WAIT;

		if (!e->waits)
			continue;
		if (!late && !full)
			break;
		full = false;
		correlate_expire(c, e);
	}
}

static void correlate_wait(struct pasta_correlate *c, const struct pasta_event *ev,
			   const struct correlate_work *w)
{
	struct pasta_outqueue_entry *e = pasta_outqueue_push(&c->out, ev);
	uint64_t number = c->out.tail - 1;
	struct correlate_early *early = e ? pasta_pending_add(c->early, ev->proc, w->corr) : NULL;

	if (e)
		e->waits = true;
	if (!early) {
		c->failed = true;
		if (e)
			correlate_settle(c, e);
		return;
	}
	if (early->first)
		pasta_outqueue_at(&c->out, early->last)->same = number;
	else
		early->first = number;
	early->last = number;
}

/* Like correlate_on_launch and correlate_on_thread, returns the attribution of an event. Returns
 * NULL if the function has put the event, or events that replace it, into the queue. */
static const struct pasta_where *
correlate_on_work(struct pasta_correlate *c, struct pasta_corrproc *p, const struct pasta_event *ev)
{
	struct correlate_work w = correlate_work_of(ev);
	struct pasta_launched *launch =
		w.corr ? pasta_launchtable_find(&c->launches, p->number, w.corr) : NULL;

	if (launch) {
		correlate_join(c, p, &w, launch, &launch->where);
		return &launch->where;
	}
	if (w.corr && (!p->recorded || p->recorded & PASTA_MASK(LAUNCH))) {
		correlate_wait(c, ev, &w);
		return NULL;
	}
	correlate_orphan(p, ev, &w, &c->here);
	return &c->here;
}

/* Adds a launch to the table. Returns NULL when out of memory. */
static struct pasta_launched *correlate_add_launch(struct pasta_correlate *c,
						   struct pasta_corrproc *p,
						   const struct pasta_event *ev, enum pasta_due due)
{
	uint64_t corr = ev->launch.corr;
	struct pasta_launched *launch;

	/* Correlation ids usually increase. If an id is higher than all ids before it, no launch in
	 * the table has this id. */
	if ((c->unmatched && corr <= p->highest) || pasta_launchtable_full(&c->launches))
		correlate_evict(c, ev);
	p->highest = corr > p->highest ? corr : p->highest;
	launch = pasta_launchtable_add(&c->launches, ev->proc, corr);
	if (!launch)
		return NULL;
	launch->graph = ev->launch.graph || ev->launch.work == PASTA_LAUNCH_WORK_GRAPH;
	launch->due = due == PASTA_DUE_LATER;
	if (launch->due && c->unmatched) {
		if (ev->size ==
		    PASTA_EVENT_SIZE(launch)) /* a constant size, so that memcpy is inlined */
			memcpy(launch->event, ev, PASTA_EVENT_SIZE(launch));
		else
			memcpy(launch->event, ev, ev->size);
	}
	if (p->expired)
		pasta_expired_remove(p->expired, corr);
	return launch;
}

static const struct pasta_where *correlate_on_launch(struct pasta_correlate *c,
						     struct pasta_corrproc *p,
						     const struct pasta_nest *thread,
						     const struct pasta_event *ev)
{
	uint64_t corr = ev->launch.corr;
	enum pasta_due due = pasta_launch_due(&ev->launch, p->recorded);
	struct pasta_launched *launch = corr ? correlate_add_launch(c, p, ev, due) : NULL;
	struct pasta_where *where = launch ? &launch->where : &c->here;

	/* The first launch gets number 0, because PASTA_NO_LAUNCH + 1 wraps to 0. */
	p->now.launch++;
	pasta_nest_here(thread, &p->now, where);
	where->launched = ev->time;
	where->name = ev->launch.name;
	where->stack = ev->launch.stack;
	/* In the backward pass, the line of the forward operator says more than the line that
	 * called backward(). */
	if (ev->launch.python && !(where->flags & PASTA_WHERE_BACKWARD && where->python))
		where->python = ev->launch.python;
	if (launch && !pasta_outqueue_empty(&c->out))
		correlate_settle_early(c, ev->proc, corr);
	c->failed |= corr && !launch;
	if (!c->unmatched || due != PASTA_DUE_NOW)
		return where;
	correlate_queue(c, ev, where);
	correlate_queue_unmatched(c, ev, where);
	return NULL;
}

static void correlate_on_graph(struct pasta_correlate *c, struct pasta_corrproc *p,
			       const struct pasta_event *ev, const struct pasta_scope *here)
{
	const struct pasta_scope **scope;

	if (!p->captured)
		p->captured = pasta_map_new(sizeof(struct pasta_scope *));
	scope = p->captured ? pasta_map_add(p->captured, ev->graph.node) : NULL;
	if (!scope) {
		c->failed = true;
		return;
	}
	*scope = here;
	if (ev->graph.original && correlate_capture(p, ev->graph.original))
		*scope = correlate_capture(p, ev->graph.original);
}

/* -- Events -- */

static const struct pasta_where *correlate_on_thread(struct pasta_correlate *c,
						     struct pasta_corrproc *p,
						     const struct pasta_event *ev)
{
	struct pasta_nest *thread = pasta_corrproc_thread(p, ev->tid);

	if (!thread) {
		c->failed = true;
		return NULL;
	}
	if (REGION_KINDS >> ev->kind & 1 && ev->time > p->last)
		p->last = ev->time;
	if ((REGION_KINDS | OP_KINDS) >> ev->kind & 1 && ev->time > p->last_op)
		p->last_op = ev->time;
	if (ev->kind == PASTA_KIND_LAUNCH)
		return correlate_on_launch(c, p, thread, ev);
	if (ev->kind == PASTA_KIND_REGION) {
		pasta_nest_region(&c->nesting, thread, &p->now, ev);
		return NULL;
	}
	if (ev->kind == PASTA_KIND_OP_BEGIN && c->ops) {
		pasta_nest_op_begin(&c->nesting, thread, &p->forwards, &p->now, ev);
		return NULL;
	}
	if (ev->kind == PASTA_KIND_OP_END && c->ops) {
		pasta_nest_op_end(&c->nesting, thread, ev);
		return NULL;
	}
	if (ev->kind == PASTA_KIND_ITERATION)
		p->now.iteration = ev->iteration.index;
	pasta_nest_here(thread, &p->now, &c->here);
	if (ev->kind == PASTA_KIND_GRAPH)
		correlate_on_graph(c, p, ev, c->here.scope);
	return &c->here;
}

bool pasta_correlate_push(struct pasta_correlate *c, const struct pasta_event *ev,
			  const struct pasta_where **where)
{
	struct pasta_corrproc *p = pasta_corrprocs_get(&c->procs, ev->proc);
	const struct pasta_where *at;

	if (!p) {
		c->failed = true;
		return false;
	}
	c->out.last = NULL;
	if (!pasta_outqueue_empty(&c->out))
		correlate_expire_before(c, ev->time);
	else
		c->settled = 0;
	at = WORK_KINDS >> ev->kind & 1 ? correlate_on_work(c, p, ev)
					: correlate_on_thread(c, p, ev);
	if (!at)
		return false;
	if (!pasta_outqueue_empty(&c->out)) {
		correlate_queue(c, ev, at);
		return false;
	}
	*where = at;
	return true;
}

/* Supplies the missing ends of a process's regions and operators, in the order of thread ids, so
 * that the result does not depend on which events were read. */
static void correlate_end_proc(struct pasta_correlate *c, struct pasta_corrproc *p,
			       struct pasta_event ev)
{
	size_t i, count = pasta_map_count(p->threads);
	struct pasta_nest **threads = pasta_corrproc_threads(p);

	if (!threads) {
		c->failed = true;
		return;
	}
	for (i = 0; i < count; i++)
		pasta_nest_end(&c->nesting, threads[i], ev, p->last, p->last_op);
	free(threads);
}

void pasta_correlate_end(struct pasta_correlate *c)
{
	uint64_t n;
	size_t i;

	for (n = c->out.head; n < c->out.tail; n++)
		if (pasta_outqueue_at(&c->out, n)->waits)
			correlate_expire(c, pasta_outqueue_at(&c->out, n));
	for (i = 0; i < c->procs.count; i++)
		if (c->procs.by_number[i])
			correlate_end_proc(c, c->procs.by_number[i],
					   (struct pasta_event){.proc = (uint32_t)i});
	c->ended = c->unmatched;
}
