/* correlate.c - events joined: work to its launch, everything to its regions and iteration. */
#include "process/correlate.h"

#include <stdlib.h>
#include <string.h>

#include "core/strings.h"
#include "process/scope.h"

#define REGION_KINDS (PASTA_BIT(REGION) | PASTA_BIT(ITERATION) | PASTA_BIT(LAUNCH))
#define OP_KINDS (PASTA_BIT(OP_BEGIN) | PASTA_BIT(OP_END))

/* A region or operator that has begun and not ended. */
struct frame {
	const struct pasta_scope *scope;
	uint64_t op;	    /* id of the operator, or of the innermost one around the region */
	uint64_t iteration; /* when it began */
	uint32_t name;
	bool is_op, hidden;
};

struct thread {
	struct frame *frames;
	size_t depth, room;
	size_t regions; /* how many of the frames are */
	uint64_t owed;	/* ends to come, of regions that an outer one's end has ended */
	uint32_t tid;
};

/* Work whose launch has not come. */
struct held {
	struct pasta_event ev;
	struct held *next;
};

struct proc {
	struct pasta_map *threads;  /* struct thread, by tid */
	struct thread *thread;	    /* of the last event */
	struct pasta_map *captured; /* const struct pasta_scope *, by graph node; NULL: none */
	struct held *oldest, *youngest;
	size_t held;
	struct pasta_where *recent; /* launches that have their work; or NULL */
	uint64_t *recent_corr;
	uint64_t last;	    /* the latest time of what its threads did */
	uint64_t iteration; /* now */
	uint32_t number;
	bool no_launches;
};

/* What next will give: the event that was taken, or one of our own. */
struct given {
	const struct pasta_event *ev; /* NULL: own */
	struct pasta_event own;
	struct pasta_where where;
	bool hidden;
};

struct pasta_correlate {
	bool ops, failed;
	struct pasta_map *procs;	/* struct proc, by number */
	struct proc *proc;		/* of the last event */
	struct pasta_map *scopes;	/* const struct pasta_scope *, by key */
	struct pasta_pending *launches; /* struct pasta_where */
	struct given *given;
	size_t given_count, given_room, given_at;
	uint32_t lost; /* the name of regions whose begin was dropped */
};

uint64_t pasta_correlate_kinds(bool ops)
{
	return REGION_KINDS | (ops ? OP_KINDS : 0) | PASTA_BIT(GRAPH);
}

struct pasta_correlate *pasta_correlate_new(bool ops)
{
	struct pasta_correlate *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->ops = ops;
	c->procs = pasta_map_new(sizeof(struct proc));
	c->scopes = pasta_map_new(sizeof(struct pasta_scope *));
	c->launches = pasta_pending_new(sizeof(struct pasta_where), PASTA_CORRELATE_LAUNCHES);
	c->lost = pasta_strings_add("(lost)", 6);
	if (c->procs && c->scopes && c->launches && c->lost)
		return c;
	pasta_correlate_free(c);
	return NULL;
}

static void proc_free(struct proc *p)
{
	struct thread *thread;
	struct held *held;
	size_t at = 0;

	while (p->threads && (thread = pasta_map_next(p->threads, &at, NULL)))
		free(thread->frames);
	while ((held = p->oldest)) {
		p->oldest = held->next;
		free(held);
	}
	pasta_map_free(p->threads);
	pasta_map_free(p->captured);
	free(p->recent);
	free(p->recent_corr);
}

void pasta_correlate_free(struct pasta_correlate *c)
{
	struct proc *p;
	size_t at = 0;

	if (!c)
		return;
	while (c->procs && (p = pasta_map_next(c->procs, &at, NULL)))
		proc_free(p);
	pasta_map_free(c->procs);
	pasta_map_free(c->scopes);
	pasta_pending_free(c->launches);
	free(c->given);
	free(c);
}

bool pasta_correlate_failed(const struct pasta_correlate *c)
{
	return c->failed;
}

/* -- What is given on. -- */

static struct given *give(struct pasta_correlate *c)
{
	struct given *g;

	if (c->given_count == c->given_room) {
		size_t room = c->given_room ? 2 * c->given_room : 16;

		g = realloc(c->given, room * sizeof(*g));
		if (!g) {
			c->failed = true;
			return NULL;
		}
		c->given = g;
		c->given_room = room;
	}
	g = &c->given[c->given_count++];
	g->ev = NULL;
	g->where = (struct pasta_where){.iteration = PASTA_NO_ITERATION};
	g->hidden = false;
	return g;
}

static void give_taken(struct pasta_correlate *c, const struct pasta_event *ev,
		       const struct pasta_where *where)
{
	struct given *g = give(c);

	if (!g)
		return;
	g->ev = ev;
	g->where = *where;
}

const struct pasta_event *pasta_correlate_next(struct pasta_correlate *c,
					       const struct pasta_where **where)
{
	struct given *g;

	if (c->given_at == c->given_count)
		return NULL;
	g = &c->given[c->given_at++];
	*where = &g->where;
	return g->ev ? g->ev : &g->own;
}

bool pasta_correlate_hidden(const struct pasta_correlate *c)
{
	return c->given_at && c->given[c->given_at - 1].hidden;
}

/* -- Who it is of. -- */

static struct proc *proc_of(struct pasta_correlate *c, uint32_t number)
{
	struct proc *p = c->proc;

	if (p && p->number == number)
		return p;
	p = pasta_map_find(c->procs, number);
	if (!p && (p = pasta_map_add(c->procs, number))) {
		p->number = number;
		p->iteration = PASTA_NO_ITERATION;
	}
	if (p && !p->threads)
		p->threads = pasta_map_new(sizeof(struct thread));
	if (!p || !p->threads) {
		c->failed = true;
		return NULL;
	}
	c->proc = p;
	return p;
}

static struct thread *thread_of(struct pasta_correlate *c, struct proc *p, uint32_t tid)
{
	struct thread *thread = p->thread;

	if (thread && thread->tid == tid)
		return thread;
	thread = pasta_map_add(p->threads, tid);
	if (!thread) {
		c->failed = true;
		return NULL;
	}
	thread->tid = tid;
	p->thread = thread;
	return thread;
}

void pasta_correlate_no_launches(struct pasta_correlate *c, uint32_t proc)
{
	struct proc *p = proc_of(c, proc);

	if (p)
		p->no_launches = true;
}

/* -- Regions and operators. -- */

static const struct pasta_scope *below(struct pasta_correlate *c, const struct pasta_scope *up,
				       unsigned int kind, uint32_t name)
{
	uint64_t key = pasta_scope_key(up, kind, name);
	const struct pasta_scope **known = pasta_map_add(c->scopes, key);

	if (known && !*known)
		*known = pasta_scope_below(up, kind, name);
	/* Past the limit, places are those around them. */
	return known && *known ? *known : up;
}

static const struct frame *top(const struct thread *thread)
{
	return thread->depth ? &thread->frames[thread->depth - 1] : NULL;
}

static struct pasta_where where_now(const struct proc *p, const struct thread *thread)
{
	const struct frame *f = top(thread);

	return (struct pasta_where){.scope = f ? f->scope : NULL,
				    .op = f ? f->op : 0,
				    .iteration = p->iteration,
				    .tid = thread->tid};
}

static struct frame *push(struct pasta_correlate *c, struct proc *p, struct thread *thread,
			  unsigned int kind, uint32_t name, uint64_t op)
{
	const struct frame *around = top(thread);
	const struct pasta_scope *up = around ? around->scope : NULL;
	uint64_t outer = around ? around->op : 0;
	struct frame *f;

	if (thread->depth == thread->room) {
		size_t room = thread->room ? 2 * thread->room : 16;

		f = realloc(thread->frames, room * sizeof(*f));
		if (!f) {
			c->failed = true;
			return NULL;
		}
		thread->frames = f;
		thread->room = room;
	}
	f = &thread->frames[thread->depth++];
	*f = (struct frame){.scope = below(c, up, kind, name),
			    .op = kind == PASTA_OP_BEGIN ? op : outer,
			    .iteration = p->iteration,
			    .name = name,
			    .is_op = kind == PASTA_OP_BEGIN};
	thread->regions += kind == PASTA_REGION;
	return f;
}

/* Take a frame out; those above it, if they stay, are somewhere else now. */
static void pull(struct pasta_correlate *c, struct thread *thread, size_t at)
{
	size_t i;

	thread->regions -= !thread->frames[at].is_op;
	thread->depth--;
	for (i = at; i < thread->depth; i++) {
		const struct frame *around = i ? &thread->frames[i - 1] : NULL;
		struct frame *f = &thread->frames[i];

		*f = thread->frames[i + 1];
		f->scope = below(c, around ? around->scope : NULL,
				 f->is_op ? PASTA_OP_BEGIN : PASTA_REGION, f->name);
		if (!f->is_op)
			f->op = around ? around->op : 0;
	}
}

/* The place of the region of this depth, from 1. */
static size_t place_of(const struct thread *thread, size_t depth)
{
	size_t at = thread->depth, n = thread->regions;

	while (at-- > 0)
		if (!thread->frames[at].is_op && n-- == depth)
			break;
	return at;
}

static void fill_head(struct pasta_event *own, const struct pasta_event *ev, unsigned int kind,
		      unsigned int sub, size_t size)
{
	memset(own, 0, size);
	own->size = (uint16_t)size;
	own->kind = (uint8_t)kind;
	own->sub = (uint8_t)sub;
	own->tid = ev->tid;
	own->time = ev->time;
	own->proc = ev->proc;
	own->source = ev->source;
}

static void give_region(struct pasta_correlate *c, const struct thread *thread, size_t at,
			const struct pasta_event *ev, unsigned int sub, uint32_t flags)
{
	const struct frame *f = &thread->frames[at];
	struct given *g = give(c);

	if (!g)
		return;
	fill_head(&g->own, ev, PASTA_REGION, sub, PASTA_EVENT_SIZE(region));
	g->own.region = (struct pasta_region){
		.name = f->name, .depth = (uint32_t)thread->regions, .flags = flags};
	if (ev->kind == PASTA_REGION) {
		g->own.region.domain = ev->region.domain;
		g->own.region.flags |= ev->region.flags;
	}
	g->where = (struct pasta_where){
		.scope = f->scope, .op = f->op, .iteration = f->iteration, .tid = ev->tid};
	g->hidden = f->hidden;
}

/* End the innermost region. */
static void end_region(struct pasta_correlate *c, struct thread *thread,
		       const struct pasta_event *ev, uint32_t flags)
{
	size_t at = place_of(thread, thread->regions);

	give_region(c, thread, at, ev, PASTA_REGION_END, flags);
	pull(c, thread, at);
}

static void begin_region(struct pasta_correlate *c, struct proc *p, struct thread *thread,
			 const struct pasta_event *ev, uint32_t name, uint32_t flags)
{
	if (push(c, p, thread, PASTA_REGION, name, 0))
		give_region(c, thread, thread->depth - 1, ev, PASTA_REGION_BEGIN, flags);
}

/* Events were dropped: the source says how many regions are open here. Ends that are missing come
 * at the latest now; begins that are missing get a region without a name. */
static void get_in_step(struct pasta_correlate *c, struct proc *p, struct thread *thread,
			const struct pasta_event *ev, size_t depth)
{
	while (thread->regions > depth)
		end_region(c, thread, ev, PASTA_REGION_LOST);
	while (thread->regions < depth && !c->failed)
		begin_region(c, p, thread, ev, c->lost, PASTA_REGION_LOST);
}

static void give_stray(struct pasta_correlate *c, const struct proc *p, const struct thread *thread,
		       const struct pasta_event *ev, uint32_t flags)
{
	struct given *g = give(c);

	if (!g)
		return;
	memcpy(&g->own, ev, PASTA_EVENT_SIZE(region));
	g->own.sub = PASTA_REGION_STRAY;
	g->own.region.flags |= flags;
	g->where = where_now(p, thread);
}

/* The depth of the innermost region that an end ends, from 1; 0: there is none. */
static size_t ended(const struct thread *thread, uint32_t name)
{
	size_t at = thread->depth, depth = thread->regions;

	while (at-- > 0) {
		const struct frame *f = &thread->frames[at];

		if (f->is_op)
			continue;
		if (!name || f->name == name)
			return depth;
		depth--;
	}
	return 0;
}

static void on_region_end(struct pasta_correlate *c, struct proc *p, struct thread *thread,
			  const struct pasta_event *ev)
{
	size_t depth = ev->region.depth ? ev->region.depth : ended(thread, ev->region.name);

	if (ev->region.depth && thread->regions < depth) {
		give_stray(c, p, thread, ev, PASTA_REGION_LOST);
		return;
	}
	if (ev->region.depth)
		get_in_step(c, p, thread, ev, depth);
	if (!depth && ev->region.name && thread->owed) {
		thread->owed--;
		return;
	}
	if (!depth) {
		give_stray(c, p, thread, ev, 0);
		return;
	}
	thread->owed += thread->regions - depth;
	while (thread->regions > depth)
		end_region(c, thread, ev, PASTA_REGION_OUTER);
	end_region(c, thread, ev, 0);
}

static void on_region(struct pasta_correlate *c, struct proc *p, struct thread *thread,
		      const struct pasta_event *ev)
{
	uint32_t depth = ev->region.depth;
	struct pasta_where where;

	if (ev->sub == PASTA_REGION_END) {
		on_region_end(c, p, thread, ev);
		return;
	}
	if (depth && depth <= PASTA_CORRELATE_DEPTH)
		get_in_step(c, p, thread, ev, depth - 1);
	if (ev->sub == PASTA_REGION_BEGIN) {
		begin_region(c, p, thread, ev, ev->region.name, 0);
		return;
	}
	where = where_now(p, thread);
	give_taken(c, ev, &where);
}

static void on_op_begin(struct pasta_correlate *c, struct proc *p, struct thread *thread,
			const struct pasta_event *ev)
{
	struct pasta_where where;

	if (!push(c, p, thread, PASTA_OP_BEGIN, ev->op_begin.name, ev->op_begin.id))
		return;
	where = where_now(p, thread);
	give_taken(c, ev, &where);
}

/* End the operator at a place. */
static void end_op(struct pasta_correlate *c, struct thread *thread, size_t at,
		   const struct pasta_event *ev, unsigned int sub)
{
	const struct frame *f = &thread->frames[at];
	struct given *g = give(c);

	if (g) {
		fill_head(&g->own, ev, PASTA_OP_END, sub, PASTA_EVENT_SIZE(op_end));
		g->own.op_end.id = f->op;
		g->where = (struct pasta_where){
			.scope = f->scope, .op = f->op, .iteration = f->iteration, .tid = ev->tid};
		g->hidden = f->hidden;
	}
	pull(c, thread, at);
}

/* An operator's end ends those inside it; one without a begin ends nothing. */
static void on_op_end(struct pasta_correlate *c, struct thread *thread,
		      const struct pasta_event *ev)
{
	size_t at = thread->depth, i;

	while (at && (!thread->frames[at - 1].is_op || thread->frames[at - 1].op != ev->op_end.id))
		at--;
	if (!at)
		return;
	for (i = thread->depth; i > at; i--)
		if (thread->frames[i - 1].is_op)
			end_op(c, thread, i - 1, ev, PASTA_OP_SUPPLIED);
	end_op(c, thread, at - 1, ev, ev->sub);
}

void pasta_correlate_hide(struct pasta_correlate *c)
{
	const struct given *g = c->given_at ? &c->given[c->given_at - 1] : NULL;
	const struct pasta_event *ev = g && g->ev ? g->ev : &g->own;
	struct thread *thread;
	size_t at;

	if (!g || !c->proc || !(thread = c->proc->thread))
		return;
	if (ev->kind == PASTA_REGION)
		at = place_of(thread, ev->region.depth);
	else
		for (at = thread->depth; at-- > 0;)
			if (thread->frames[at].is_op && thread->frames[at].op == ev->op_begin.id)
				break;
	if (at < thread->depth)
		thread->frames[at].hidden = true;
}

/* -- Work and its launches. -- */

struct work {
	uint64_t corr, node;
	bool uses; /* it is the launch's work, not something said of it */
};

static bool work_of(const struct pasta_event *ev, struct work *w)
{
	*w = (struct work){0};
	switch (ev->kind) {
	case PASTA_KERNEL:
		*w = (struct work){ev->kernel.corr, ev->kernel.node, true};
		return true;
	case PASTA_COPY:
		*w = (struct work){ev->copy.corr, ev->copy.node, true};
		return true;
	case PASTA_SET:
		*w = (struct work){ev->set.corr, ev->set.node, true};
		return true;
	case PASTA_ACCESS_SUM:
		w->corr = ev->access_sum.corr;
		return true;
	case PASTA_ACCESS_BATCH:
		w->corr = ev->access_batch.corr;
		return true;
	case PASTA_PC_SAMPLE:
		w->corr = ev->pc_sample.corr;
		return true;
	default:
		return false;
	}
}

/* A launch whose work has come, for what comes again. */
static void remember(struct pasta_correlate *c, struct proc *p, uint64_t corr,
		     const struct pasta_where *where)
{
	size_t slot = corr % PASTA_CORRELATE_RECENT;

	if (!p->recent) {
		p->recent = calloc(PASTA_CORRELATE_RECENT, sizeof(*p->recent));
		p->recent_corr = calloc(PASTA_CORRELATE_RECENT, sizeof(*p->recent_corr));
	}
	if (!p->recent || !p->recent_corr) {
		c->failed = true;
		return;
	}
	p->recent[slot] = *where;
	p->recent_corr[slot] = corr;
}

static const struct pasta_where *recall(const struct proc *p, uint64_t corr)
{
	size_t slot = corr % PASTA_CORRELATE_RECENT;

	return p->recent && p->recent_corr && p->recent_corr[slot] == corr ? &p->recent[slot]
									   : NULL;
}

static const struct pasta_scope *capture_of(const struct proc *p, uint64_t node)
{
	const struct pasta_scope **scope =
		node && p->captured ? pasta_map_find(p->captured, node) : NULL;

	return scope ? *scope : NULL;
}

/* Whether the launch is known, and then where the work belongs. */
static bool find_launch(struct pasta_correlate *c, struct proc *p, const struct work *w,
			struct pasta_where *where)
{
	const struct pasta_where *launch = pasta_pending_find(c->launches, p->number, w->corr);
	bool again = !launch;

	if (!launch)
		launch = recall(p, w->corr);
	if (!launch)
		return false;
	*where = *launch;
	where->flags = PASTA_WHERE_LAUNCH | (again && w->uses && !w->node ? PASTA_WHERE_AGAIN : 0);
	where->capture = capture_of(p, w->node);
	if (!again && w->uses && !w->node) {
		remember(c, p, w->corr, where);
		pasta_pending_remove(c->launches, p->number, w->corr);
	}
	return true;
}

static void give_held(struct pasta_correlate *c, struct proc *p, const struct held *h)
{
	struct given *g = give(c);
	struct work w;

	if (!g)
		return;
	memcpy(&g->own, &h->ev, h->ev.size);
	work_of(&h->ev, &w);
	if (!find_launch(c, p, &w, &g->where))
		g->where.capture = capture_of(p, w.node);
}

/* Take out of the list what is of the correlation (0: all) or began before a time, and give it. */
static void release(struct pasta_correlate *c, struct proc *p, uint64_t corr, uint64_t before)
{
	struct held **at = &p->oldest, *h, *last = NULL;
	struct work w;

	while ((h = *at)) {
		work_of(&h->ev, &w);
		if (corr ? w.corr != corr : h->ev.time >= before) {
			last = h;
			at = &h->next;
			if (!corr)
				break; /* they are in order of time */
			continue;
		}
		*at = h->next;
		p->held--;
		give_held(c, p, h);
		free(h);
	}
	if (!p->oldest)
		p->youngest = NULL;
	else if (!h)
		p->youngest = last;
}

/* Work that comes late, out of order, waits behind the others: the oldest is then not the first,
 * and waits a little longer. */
static void hold(struct pasta_correlate *c, struct proc *p, const struct pasta_event *ev)
{
	struct held *h = malloc(sizeof(*h));

	if (!h) {
		c->failed = true;
		return;
	}
	memcpy(&h->ev, ev, ev->size);
	h->next = NULL;
	*(p->youngest ? &p->youngest->next : &p->oldest) = h;
	p->youngest = h;
	if (++p->held <= PASTA_CORRELATE_HELD)
		return;
	h = p->oldest;
	p->oldest = h->next;
	p->held--;
	give_held(c, p, h);
	free(h);
}

static void on_work(struct pasta_correlate *c, struct proc *p, const struct pasta_event *ev,
		    const struct work *w)
{
	struct pasta_where where = {.iteration = PASTA_NO_ITERATION};

	if (!w->corr || (!find_launch(c, p, w, &where) && p->no_launches)) {
		where.capture = capture_of(p, w->node);
		give_taken(c, ev, &where);
	} else if (where.flags) {
		give_taken(c, ev, &where);
	} else {
		hold(c, p, ev);
	}
}

static void on_launch(struct pasta_correlate *c, struct proc *p, struct thread *thread,
		      const struct pasta_event *ev)
{
	struct pasta_where where = where_now(p, thread), *launch;

	where.launched = ev->time;
	where.name = ev->launch.name;
	where.stack = ev->launch.stack;
	give_taken(c, ev, &where);
	if (!ev->launch.corr)
		return;
	launch = pasta_pending_add(c->launches, ev->proc, ev->launch.corr);
	if (!launch) {
		c->failed = true;
		return;
	}
	*launch = where;
	if (p->held)
		release(c, p, ev->launch.corr, 0);
}

static void on_graph(struct pasta_correlate *c, struct proc *p, const struct pasta_event *ev,
		     const struct pasta_scope *here)
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
	if (ev->graph.original && capture_of(p, ev->graph.original))
		*scope = capture_of(p, ev->graph.original);
}

/* -- Events. -- */

static void on_thread(struct pasta_correlate *c, struct proc *p, const struct pasta_event *ev)
{
	struct thread *thread = thread_of(c, p, ev->tid);
	struct pasta_where where;

	if (!thread)
		return;
	if (REGION_KINDS >> ev->kind & 1 && ev->time > p->last)
		p->last = ev->time;
	if (ev->kind == PASTA_REGION) {
		on_region(c, p, thread, ev);
	} else if (ev->kind == PASTA_OP_BEGIN && c->ops) {
		on_op_begin(c, p, thread, ev);
	} else if (ev->kind == PASTA_OP_END && c->ops) {
		on_op_end(c, thread, ev);
	} else if (ev->kind == PASTA_LAUNCH) {
		on_launch(c, p, thread, ev);
	} else {
		if (ev->kind == PASTA_ITERATION)
			p->iteration = ev->iteration.index;
		where = where_now(p, thread);
		if (ev->kind == PASTA_GRAPH)
			on_graph(c, p, ev, where.scope);
		give_taken(c, ev, &where);
	}
}

void pasta_correlate_take(struct pasta_correlate *c, const struct pasta_event *ev)
{
	struct proc *p = proc_of(c, ev->proc);
	struct work w;

	c->given_count = c->given_at = 0;
	if (!p)
		return;
	if (p->held && ev->time > PASTA_CORRELATE_WAIT)
		release(c, p, 0, ev->time - PASTA_CORRELATE_WAIT);
	if (work_of(ev, &w))
		on_work(c, p, ev, &w);
	else
		on_thread(c, p, ev);
}

/* Ends for all that is open. */
static void end_thread(struct pasta_correlate *c, struct proc *p, struct thread *thread)
{
	struct pasta_event ev = {.proc = p->number, .tid = thread->tid, .time = p->last};

	while (thread->depth)
		if (top(thread)->is_op)
			end_op(c, thread, thread->depth - 1, &ev, PASTA_OP_SUPPLIED);
		else
			end_region(c, thread, &ev, PASTA_REGION_OPEN);
}

void pasta_correlate_end(struct pasta_correlate *c)
{
	struct thread *thread;
	struct proc *p;
	size_t at = 0, below_at;

	c->given_count = c->given_at = 0;
	while ((p = pasta_map_next(c->procs, &at, NULL))) {
		if (p->held)
			release(c, p, 0, UINT64_MAX);
		below_at = 0;
		while ((thread = pasta_map_next(p->threads, &below_at, NULL)))
			end_thread(c, p, thread);
	}
}
