/*
 * reference.h - a simple reference for correlate.c: it stores all events and searches linearly.
 *
 * Written from the rules in pasta.h, event.h and correlate.h.
 */
#ifndef PASTA_TESTS_REFERENCE_H
#define PASTA_TESTS_REFERENCE_H

#include "unit/support.h"

#include "core/strings.h"
#include "process/join/correlate.h"
#include "process/join/launchtable.h"
#include "process/join/nesting.h"

enum { NO_SCOPE = -1, SUPPLIED = -1 };

/* A scope, with the index of the one around it. */
struct ref_scope {
	int up;
	unsigned int kind;
	uint32_t name;
	const struct pasta_scope *real; /* once it was seen */
};

struct ref_where {
	int scope, capture;
	uint64_t iteration, op, launched, launch;
	uint32_t tid, name, stack, flags;
};

/* An output event: an input event, or one that was supplied. */
struct ref_out {
	int in;
	struct pasta_event ev;
	struct ref_where where;
};

struct ref_open {
	unsigned int kind;
	uint32_t name, domain;
	uint64_t id;		/* of operators */
	struct ref_where where; /* of its begin and its end */
};

struct ref_thread {
	uint32_t proc, tid;
	struct ref_open open[96];
	size_t count, regions;
	uint64_t owed; /* named ends that have not come yet, of regions that an outer end has ended
			*/
};

struct ref_launch {
	uint32_t proc;
	uint64_t corr, graph;
	struct ref_where where; /* of its work */
	int in;			/* its event */
	bool due;		/* its work should have a record, which has not come */
	bool used;
	uint64_t used_at; /* the number of launches of its process that had their work by then */
};

struct ref_node {
	uint32_t proc;
	uint64_t node;
	int scope;
};

struct ref_proc {
	uint32_t proc;
	uint64_t iteration, used;
	uint64_t launches;	/* so far */
	uint64_t last, last_op; /* of regions, iterations and launches; of operators */
	uint64_t recorded;	/* kinds; 0: unknown */
};

/* Work whose launch has not come. */
struct ref_early {
	uint32_t proc;
	uint64_t corr;
	size_t out;
};

#define REF_LIST(type, name)                                                                       \
	struct type *name;                                                                         \
	size_t name##_count, name##_room

struct ref {
	const struct pasta_event *in;
	bool ops, unmatched;
	REF_LIST(ref_scope, scopes);
	REF_LIST(ref_out, outs);
	REF_LIST(ref_thread, threads);
	REF_LIST(ref_launch, launches);
	REF_LIST(ref_node, nodes);
	REF_LIST(ref_proc, procs);
	REF_LIST(ref_early, early);
};

/* Adds a zeroed element at the end. */
#define ref_add(r, name)                                                                           \
	(ref_room((void **)&(r)->name, &(r)->name##_room, (r)->name##_count, sizeof(*(r)->name)),  \
	 &(r)->name[(r)->name##_count++])

static void ref_room(void **list, size_t *room, size_t count, size_t size)
{
	if (count == *room) {
		*room = *room ? 2 * *room : 64;
		*list = realloc(*list, *room * size);
		assert_non_null(*list);
	}
	memset((char *)*list + count * size, 0, size);
}

__attribute__((unused)) static void ref_free(struct ref *r)
{
	free(r->scopes);
	free(r->outs);
	free(r->threads);
	free(r->launches);
	free(r->nodes);
	free(r->procs);
	free(r->early);
}

static struct ref_proc *ref_proc(struct ref *r, uint32_t proc)
{
	struct ref_proc *p;

	for (size_t i = 0; i < r->procs_count; i++)
		if (r->procs[i].proc == proc)
			return &r->procs[i];
	p = ref_add(r, procs);
	p->proc = proc;
	p->iteration = PASTA_NO_ITERATION;
	return p;
}

static struct ref_thread *ref_thread(struct ref *r, uint32_t proc, uint32_t tid)
{
	struct ref_thread *t;

	for (size_t i = 0; i < r->threads_count; i++)
		if (r->threads[i].proc == proc && r->threads[i].tid == tid)
			return &r->threads[i];
	t = ref_add(r, threads);
	t->proc = proc;
	t->tid = tid;
	return t;
}

static int ref_below(struct ref *r, int up, unsigned int kind, uint32_t name)
{
	for (size_t i = 0; i < r->scopes_count; i++)
		if (r->scopes[i].up == up && r->scopes[i].kind == kind && r->scopes[i].name == name)
			return (int)i;
	*ref_add(r, scopes) = (struct ref_scope){.up = up, .kind = kind, .name = name};
	return (int)r->scopes_count - 1;
}

/* -- Scopes ------------------------------------------------------------------------------------ */

/* The current attribution of a thread. */
static struct ref_where ref_here(struct ref *r, uint32_t proc, uint32_t tid)
{
	const struct ref_thread *t = ref_thread(r, proc, tid);
	struct ref_where where = {.scope = NO_SCOPE, .capture = NO_SCOPE, .tid = tid};

	for (size_t i = 0; i < t->count; i++) {
		where.scope = ref_below(r, where.scope, t->open[i].kind, t->open[i].name);
		if (t->open[i].kind == PASTA_KIND_OP_BEGIN)
			where.op = t->open[i].id;
	}
	where.iteration = ref_proc(r, proc)->iteration;
	where.launch = ref_proc(r, proc)->launches - 1;
	return where;
}

/* Adds an output event. The pointer is valid until the next one. */
static struct ref_out *ref_output(struct ref *r, int in, const struct pasta_event *ev,
				  struct ref_where where)
{
	struct ref_out *out = ref_add(r, outs);

	*out = (struct ref_out){.in = in, .ev = *ev, .where = where};
	return out;
}

static void ref_push(struct ref *r, struct ref_thread *t, unsigned int kind,
		     const struct pasta_event *ev)
{
	struct ref_open *open = &t->open[t->count++];

	assert_true(t->count <= sizeof(t->open) / sizeof(t->open[0]));
	*open = (struct ref_open){.kind = kind};
	if (kind == PASTA_KIND_REGION) {
		t->regions++;
		open->name = ev->region.name;
		open->domain = ev->region.domain;
	} else {
		open->name = ev->op_begin.name;
		open->id = ev->op_begin.id;
	}
	open->where = ref_here(r, t->proc, t->tid);
}

/* The position of the innermost frame of a kind, with this name or id if not 0. From 1; 0: none. */
static size_t ref_find(const struct ref_thread *t, unsigned int kind, uint32_t name, uint64_t op)
{
	size_t at = t->count;

	while (at && (t->open[at - 1].kind != kind || (name && t->open[at - 1].name != name) ||
		      (kind == PASTA_KIND_OP_BEGIN && t->open[at - 1].id != op)))
		at--;
	return at;
}

/* Ends a frame. Frames inside it that do not end get the scope around it. in: the event that ends
 * it, or SUPPLIED with flags. */
static void ref_pop(struct ref *r, struct ref_thread *t, size_t at, int in, uint64_t time,
		    uint32_t flags)
{
	struct ref_open open = t->open[at];
	struct pasta_event ev = {.proc = t->proc, .tid = t->tid, .time = time};

	memmove(&t->open[at], &t->open[at + 1], (t->count - at - 1) * sizeof(open));
	t->count--;
	if (open.kind == PASTA_KIND_REGION) {
		ev.kind = PASTA_KIND_REGION;
		ev.sub = PASTA_REGION_END;
		ev.size = PASTA_EVENT_SIZE(region);
		ev.region.name = open.name;
		ev.region.domain = open.domain;
		ev.region.depth = (uint32_t)t->regions--;
		ev.region.flags = flags;
	} else {
		ev.kind = PASTA_KIND_OP_END;
		ev.sub = in == SUPPLIED ? PASTA_OP_END_SUPPLIED : 0;
		ev.size = PASTA_EVENT_SIZE(op_end);
		ev.op_end.id = open.id;
	}
	ref_output(r, in, &ev, open.where);
}

/* -- Regions and operators --------------------------------------------------------------------- */

/* Adjusts the open regions to the depth that the source recorded. */
static void ref_resync(struct ref *r, struct ref_thread *t, size_t depth, uint64_t time,
		       uint32_t domain)
{
	struct pasta_event ev = {.size = PASTA_EVENT_SIZE(region),
				 .kind = PASTA_KIND_REGION,
				 .sub = PASTA_REGION_BEGIN,
				 .proc = t->proc,
				 .tid = t->tid,
				 .time = time};

	while (t->regions > depth)
		ref_pop(r, t, ref_find(t, PASTA_KIND_REGION, 0, 0) - 1, SUPPLIED, time,
			PASTA_REGION_SUPPLIED_LOSS);
	while (t->regions < depth) {
		ev.region.name = pasta_strings_add("(lost)", 6);
		ev.region.domain = domain;
		ev.region.flags = PASTA_REGION_SUPPLIED_LOSS;
		ref_push(r, t, PASTA_KIND_REGION, &ev);
		ev.region.depth = (uint32_t)t->regions;
		ref_output(r, SUPPLIED, &ev, t->open[t->count - 1].where);
	}
}

static void ref_stray(struct ref *r, struct ref_thread *t, int in, uint32_t flags)
{
	struct pasta_event ev = r->in[in];

	ev.sub = PASTA_REGION_UNMATCHED_END;
	ev.region.flags |= flags;
	ref_output(r, in, &ev, ref_here(r, t->proc, t->tid));
}

static void ref_region_end(struct ref *r, struct ref_thread *t, int in)
{
	const struct pasta_event *ev = &r->in[in];
	size_t at;

	if (ev->region.depth > t->regions) {
		ref_stray(r, t, in, PASTA_REGION_SUPPLIED_LOSS);
		return;
	}
	if (ev->region.depth)
		ref_resync(r, t, ev->region.depth, ev->time, 0);
	at = ref_find(t, PASTA_KIND_REGION, ev->region.depth ? 0 : ev->region.name, 0);
	if (!at && ev->region.name && t->owed) {
		t->owed--;
		return;
	}
	if (!at) {
		ref_stray(r, t, in, 0);
		return;
	}
	while (ref_find(t, PASTA_KIND_REGION, 0, 0) > at) {
		t->owed++;
		ref_pop(r, t, ref_find(t, PASTA_KIND_REGION, 0, 0) - 1, SUPPLIED, ev->time,
			PASTA_REGION_SUPPLIED_OUTER);
	}
	ref_pop(r, t, at - 1, in, ev->time, 0);
}

static void ref_region(struct ref *r, int in)
{
	struct pasta_event ev = r->in[in];
	struct ref_thread *t = ref_thread(r, ev.proc, ev.tid);

	if (ev.sub == PASTA_REGION_END) {
		ref_region_end(r, t, in);
		return;
	}
	if (ev.region.depth && ev.region.depth <= PASTA_NEST_DEPTH)
		ref_resync(r, t, ev.region.depth - 1, ev.time, ev.region.domain);
	if (ev.sub == PASTA_REGION_BEGIN) {
		ref_push(r, t, PASTA_KIND_REGION, &ev);
		ev.region.depth = (uint32_t)t->regions;
	}
	ref_output(r, in, &ev, ref_here(r, t->proc, t->tid));
	if (ev.sub == PASTA_REGION_BEGIN)
		r->outs[r->outs_count - 1].where = t->open[t->count - 1].where;
}

static void ref_op(struct ref *r, int in)
{
	const struct pasta_event *ev = &r->in[in];
	struct ref_thread *t = ref_thread(r, ev->proc, ev->tid);
	size_t at;

	if (ev->kind == PASTA_KIND_OP_BEGIN) {
		ref_push(r, t, PASTA_KIND_OP_BEGIN, ev);
		ref_output(r, in, ev, t->open[t->count - 1].where);
		return;
	}
	at = ref_find(t, PASTA_KIND_OP_BEGIN, 0, ev->op_end.id);
	for (size_t i = t->count; at && i > at; i--)
		if (t->open[i - 1].kind == PASTA_KIND_OP_BEGIN)
			ref_pop(r, t, i - 1, SUPPLIED, ev->time, 0);
	if (at)
		ref_pop(r, t, at - 1, in, ev->time, 0);
}

/* -- Launches and work ------------------------------------------------------------------------- */

static bool ref_work(const struct pasta_event *ev, uint64_t *corr, uint64_t *node, bool *measured)
{
	*node = 0;
	*measured = ev->kind != PASTA_KIND_KERNEL && ev->kind != PASTA_KIND_COPY &&
		    ev->kind != PASTA_KIND_SET;
	switch (ev->kind) {
	case PASTA_KIND_KERNEL:
		*corr = ev->kernel.corr;
		*node = ev->kernel.node;
		return true;
	case PASTA_KIND_COPY:
		*corr = ev->copy.corr;
		*node = ev->copy.node;
		return true;
	case PASTA_KIND_SET:
		*corr = ev->set.corr;
		*node = ev->set.node;
		return true;
	case PASTA_KIND_ACCESS_SUM:
		*corr = ev->access_sum.corr;
		return true;
	case PASTA_KIND_ACCESS_BATCH:
		*corr = ev->access_batch.corr;
		return true;
	case PASTA_KIND_PC_SAMPLE:
		*corr = ev->pc_sample.corr;
		return true;
	default:
		return false;
	}
}

static int ref_capture(const struct ref *r, uint32_t proc, uint64_t node)
{
	for (size_t i = r->nodes_count; node && i; i--)
		if (r->nodes[i - 1].proc == proc && r->nodes[i - 1].node == node)
			return r->nodes[i - 1].scope;
	return NO_SCOPE;
}

/* The latest launch, unless it has expired. */
static struct ref_launch *ref_launch_of(struct ref *r, uint32_t proc, uint64_t corr)
{
	for (size_t i = r->launches_count; i; i--) {
		struct ref_launch *l = &r->launches[i - 1];
		uint64_t most = l->used ? ref_proc(r, proc)->used - l->used_at : 0;

		if (l->proc != proc || l->corr != corr)
			continue;
		return most <= PASTA_LAUNCHTABLE_RECENT ? l : NULL;
	}
	return NULL;
}

/* Attributes work, now that its launch is known or will not come. */
static void ref_settle(struct ref *r, struct ref_out *out, struct ref_launch *l)
{
	const struct pasta_event *ev = &r->in[out->in];
	uint64_t corr, node;
	bool measured, one;

	ref_work(ev, &corr, &node, &measured);
	if (l)
		out->where = l->where;
	else
		out->where = (struct ref_where){.scope = NO_SCOPE,
						.iteration = PASTA_NO_ITERATION,
						.launch = PASTA_NO_LAUNCH,
						.tid = ev->tid};
	out->where.capture = ref_capture(r, ev->proc, node);
	one = l && !l->graph && !node && !measured;
	if (l && !measured)
		l->due = false;
	if (one && l->used)
		out->where.flags |= PASTA_WHERE_REPEATED;
	if (one && !l->used) {
		l->used = true;
		l->used_at = ref_proc(r, ev->proc)->used++;
	}
}

/* The kind of record that a launch should have; 0: none, or any number. */
static uint64_t ref_record(const struct pasta_launch_record *l)
{
	if (l->graph)
		return 0;
	switch (l->work) {
	case PASTA_LAUNCH_WORK_UNKNOWN:
		return l->name ? PASTA_MASK(KERNEL) : 0;
	case PASTA_LAUNCH_WORK_KERNEL:
		return PASTA_MASK(KERNEL);
	case PASTA_LAUNCH_WORK_COPY:
		return PASTA_MASK(COPY);
	case PASTA_LAUNCH_WORK_FILL:
		return PASTA_MASK(SET);
	default:
		return 0;
	}
}

static void ref_unmatched(struct ref *r, int in, struct ref_where where)
{
	struct pasta_event ev = r->in[in];

	ev.kind = PASTA_KIND_UNMATCHED;
	where.flags = 0;
	where.capture = NO_SCOPE;
	if (r->unmatched)
		ref_output(r, SUPPLIED, &ev, where);
}

/* The launch that had the same id can no longer be found. */
static void ref_replace(struct ref *r, const struct pasta_event *ev)
{
	struct ref_launch *old = ref_launch_of(r, ev->proc, ev->launch.corr);

	if (old && old->due && r->in[old->in].tid != ev->tid)
		ref_unmatched(r, old->in, old->where);
	if (old)
		old->due = false;
}

static void ref_launch(struct ref *r, int in)
{
	const struct pasta_event *ev = &r->in[in];
	struct ref_where where = ref_here(r, ev->proc, ev->tid);
	uint64_t record = ref_record(&ev->launch), known = ref_proc(r, ev->proc)->recorded;
	bool host = !ev->launch.graph && ev->launch.work == PASTA_LAUNCH_WORK_HOST;
	bool never = host || (record && known && !(known & record));
	struct ref_launch *l;
	size_t left = 0;

	where.launched = ev->time;
	where.name = ev->launch.name;
	where.stack = ev->launch.stack;
	if (ev->launch.corr)
		ref_replace(r, ev);
	ref_output(r, in, ev, where);
	if (never)
		ref_unmatched(r, in, where);
	if (!ev->launch.corr)
		return;
	where.flags = PASTA_WHERE_LAUNCH;
	l = ref_add(r, launches);
	*l = (struct ref_launch){.proc = ev->proc,
				 .corr = ev->launch.corr,
				 .graph = ev->launch.graph ||
					  ev->launch.work == PASTA_LAUNCH_WORK_GRAPH,
				 .in = in,
				 .due = record && !never,
				 .where = where};
	for (size_t i = 0; i < r->early_count; i++) {
		struct ref_early early = r->early[i];

		if (early.proc == ev->proc && early.corr == l->corr)
			ref_settle(r, &r->outs[early.out], l);
		else
			r->early[left++] = early;
	}
	r->early_count = left;
}

/* Ends the wait for launches that would be too late. */
static void ref_expire(struct ref *r, uint64_t now)
{
	size_t left = 0;

	for (size_t i = 0; i < r->early_count; i++) {
		struct ref_early early = r->early[i];
		uint64_t time = r->outs[early.out].ev.time;

		if (now > time && now - time > PASTA_CORRELATE_WAIT)
			ref_settle(r, &r->outs[early.out], NULL);
		else
			r->early[left++] = early;
	}
	r->early_count = left;
}

static void ref_work_comes(struct ref *r, int in, uint64_t corr)
{
	const struct pasta_event *ev = &r->in[in];
	struct ref_launch *l = corr ? ref_launch_of(r, ev->proc, corr) : NULL;
	struct ref_out *out = ref_output(r, in, ev, (struct ref_where){0});
	uint64_t known;

	known = ref_proc(r, ev->proc)->recorded;
	if (l || !corr || (known && !(known & PASTA_MASK(LAUNCH))))
		ref_settle(r, out, l);
	else
		*ref_add(r, early) = (struct ref_early){ev->proc, corr, r->outs_count - 1};
}

static void ref_graph(struct ref *r, int in)
{
	const struct pasta_event *ev = &r->in[in];
	struct ref_where here = ref_here(r, ev->proc, ev->tid);
	int scope = here.scope;

	ref_output(r, in, ev, here);
	if (ev->graph.original && ref_capture(r, ev->proc, ev->graph.original) != NO_SCOPE)
		scope = ref_capture(r, ev->proc, ev->graph.original);
	*ref_add(r, nodes) =
		(struct ref_node){.proc = ev->proc, .node = ev->graph.node, .scope = scope};
}

/* -- All events -------------------------------------------------------------------------------- */

__attribute__((unused)) static void ref_input(struct ref *r, int in)
{
	const struct pasta_event *ev = &r->in[in];
	struct ref_proc *p = ref_proc(r, ev->proc);
	uint64_t corr, node;
	bool measured;

	ref_expire(r, ev->time);
	if (ev->time > p->last &&
	    (ev->kind == PASTA_KIND_REGION || ev->kind == PASTA_KIND_ITERATION ||
	     ev->kind == PASTA_KIND_LAUNCH))
		p->last = ev->time;
	if (ev->time > p->last_op &&
	    (ev->kind == PASTA_KIND_OP_BEGIN || ev->kind == PASTA_KIND_OP_END))
		p->last_op = ev->time;
	if (ref_work(ev, &corr, &node, &measured)) {
		ref_work_comes(r, in, corr);
	} else if (ev->kind == PASTA_KIND_REGION) {
		ref_region(r, in);
	} else if (r->ops && (ev->kind == PASTA_KIND_OP_BEGIN || ev->kind == PASTA_KIND_OP_END)) {
		ref_op(r, in);
	} else if (ev->kind == PASTA_KIND_LAUNCH) {
		p->launches++;
		ref_launch(r, in);
	} else if (ev->kind == PASTA_KIND_GRAPH) {
		ref_graph(r, in);
	} else {
		if (ev->kind == PASTA_KIND_ITERATION)
			p->iteration = ev->iteration.index;
		ref_output(r, in, ev, ref_here(r, ev->proc, ev->tid));
	}
}

static int ref_by_tid(const void *a, const void *b)
{
	const struct ref_thread *x = a, *y = b;

	if (x->proc != y->proc)
		return x->proc < y->proc ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

__attribute__((unused)) static void ref_end(struct ref *r)
{
	qsort(r->threads, r->threads_count, sizeof(*r->threads), ref_by_tid);
	for (size_t i = 0; i < r->early_count; i++)
		ref_settle(r, &r->outs[r->early[i].out], NULL);
	for (size_t i = 0; i < r->threads_count; i++) {
		struct ref_thread *t = &r->threads[i];
		const struct ref_proc *p = ref_proc(r, t->proc);

		while (t->count) {
			bool op = t->open[t->count - 1].kind == PASTA_KIND_OP_BEGIN;
			uint64_t last = op && p->last_op > p->last ? p->last_op : p->last;

			ref_pop(r, t, t->count - 1, SUPPLIED, last, PASTA_REGION_SUPPLIED_OPEN);
		}
	}
	for (size_t i = 0; i < r->launches_count; i++)
		if (r->launches[i].due)
			ref_unmatched(r, r->launches[i].in, r->launches[i].where);
}

#endif
