/* correlate.c - events joined: work to its launch, everything to its regions and iteration. */
#include "process/correlate.h"

#include <stdlib.h>
#include <string.h>

#include "core/strings.h"
#include "process/scope.h"

#define REGION_KINDS (PASTA_BIT(REGION) | PASTA_BIT(ITERATION) | PASTA_BIT(LAUNCH))
#define OP_KINDS (PASTA_BIT(OP_BEGIN) | PASTA_BIT(OP_END))
#define RING 64 /* what is given, at first: a power of two */

/* A region or operator that has begun and not ended. */
struct frame {
	const struct pasta_scope *scope;
	uint64_t op; /* id of the operator, or of the innermost one around the region */
	struct pasta_where began; /* where its begin and its end belong */
	uint64_t pair;
	uint32_t name, domain;
	bool is_op;
};

struct thread {
	struct frame *frames;
	size_t depth, room;
	size_t regions; /* how many of the frames are */
	uint64_t owed;	/* ends to come, of regions that an outer one's end has ended */
	uint32_t tid;
};

/* A launch: where its work belongs. */
struct launch {
	struct pasta_where where;
	bool graph; /* it may have any number of pieces of work */
	bool used;  /* it has its work */
};

struct proc {
	struct pasta_map *threads;    /* struct thread, by tid */
	struct thread *thread;	      /* of the last event */
	struct pasta_map *captured;   /* const struct pasta_scope *, by graph node; NULL: none */
	struct pasta_pending *recent; /* struct launch: those that have their work; or NULL */
	/* The latest time of what its threads did; and of their operators, which are not always
	 * read: other ends must not depend on them. */
	uint64_t last, last_op;
	uint64_t iteration; /* now */
	uint32_t number;
	bool no_launches;
};

/* What next will give: the event that was taken, or one of our own. */
struct given {
	const struct pasta_event *ev; /* NULL: own */
	struct pasta_event own;
	struct pasta_where where;
	uint64_t pair;
	uint64_t same; /* the next one that waits for the same launch; 0: none */
	bool waits;    /* for its launch */
};

/* Work that waits for one launch: numbers of what is given. */
struct early {
	uint64_t first, last;
};

struct pasta_correlate {
	bool ops, failed;
	struct proc **procs; /* by number */
	size_t proc_count;
	struct pasta_map *scopes;	/* const struct pasta_scope *, by key */
	struct pasta_pending *launches; /* struct launch: those that have not */
	struct pasta_pending *early;	/* struct early */
	/* A ring: numbers from head up to, but not with, tail, both from 1. */
	struct given *given;
	uint64_t head, tail, mask;
	uint64_t settled;	  /* none before it waits */
	const struct given *last; /* that next gave */
	uint64_t pairs;		  /* that there were */
	uint32_t lost;		  /* the name of regions whose begin was dropped */
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
	c->head = c->tail = 1;
	c->mask = RING - 1;
	c->given = calloc(RING, sizeof(*c->given));
	c->scopes = pasta_map_new(sizeof(struct pasta_scope *));
	c->launches = pasta_pending_new(sizeof(struct launch), PASTA_CORRELATE_LAUNCHES);
	c->early = pasta_pending_new(sizeof(struct early), PASTA_CORRELATE_QUEUE);
	c->lost = pasta_strings_add("(lost)", 6);
	if (c->given && c->scopes && c->launches && c->early && c->lost)
		return c;
	pasta_correlate_free(c);
	return NULL;
}

static void proc_free(struct proc *p)
{
	struct thread *thread;
	size_t at = 0;

	if (!p)
		return;
	while (p->threads && (thread = pasta_map_next(p->threads, &at, NULL)))
		free(thread->frames);
	pasta_map_free(p->threads);
	pasta_map_free(p->captured);
	pasta_pending_free(p->recent);
	free(p);
}

void pasta_correlate_free(struct pasta_correlate *c)
{
	size_t i;

	if (!c)
		return;
	for (i = 0; i < c->proc_count; i++)
		proc_free(c->procs[i]);
	free(c->procs);
	pasta_map_free(c->scopes);
	pasta_pending_free(c->launches);
	pasta_pending_free(c->early);
	free(c->given);
	free(c);
}

bool pasta_correlate_failed(const struct pasta_correlate *c)
{
	return c->failed;
}

/* -- What is given on. -- */

static struct given *given_at(const struct pasta_correlate *c, uint64_t number)
{
	return &c->given[number & c->mask];
}

static bool grow(struct pasta_correlate *c)
{
	uint64_t mask = c->mask * 2 + 1, i;
	struct given *given = calloc(mask + 1, sizeof(*given));

	if (!given)
		return false;
	for (i = c->head; i < c->tail; i++)
		given[i & mask] = *given_at(c, i);
	free(c->given);
	c->given = given;
	c->mask = mask;
	c->last = NULL;
	return true;
}

static struct given *give(struct pasta_correlate *c)
{
	struct given *g;

	if (c->tail - c->head > c->mask && !grow(c)) {
		c->failed = true;
		return NULL;
	}
	g = given_at(c, c->tail++);
	g->ev = NULL;
	g->where = (struct pasta_where){.iteration = PASTA_NO_ITERATION};
	g->pair = g->same = 0;
	g->waits = false;
	return g;
}

/* An event as it was taken; a copy if it will not be given at once. */
static struct given *give_taken(struct pasta_correlate *c, const struct pasta_event *ev, bool waits,
				const struct pasta_where *where)
{
	bool at_once = c->head == c->tail && !waits;
	struct given *g = give(c);

	if (!g)
		return NULL;
	if (at_once)
		g->ev = ev;
	else
		memcpy(&g->own, ev, ev->size);
	g->where = *where;
	g->waits = waits;
	return g;
}

const struct pasta_event *pasta_correlate_next(struct pasta_correlate *c,
					       const struct pasta_where **where)
{
	struct given *g = given_at(c, c->head);

	if (c->head == c->tail || g->waits)
		return NULL;
	c->head++;
	c->last = g;
	*where = &g->where;
	return g->ev ? g->ev : &g->own;
}

uint64_t pasta_correlate_pair(const struct pasta_correlate *c)
{
	return c->last ? c->last->pair : 0;
}

/* -- Who it is of. -- */

static bool make_room(struct pasta_correlate *c, uint32_t number)
{
	size_t count = c->proc_count ? c->proc_count : 16;
	struct proc **procs;

	while (count <= number)
		count *= 2;
	procs = reallocarray(c->procs, count, sizeof(*procs));
	if (!procs)
		return false;
	memset(procs + c->proc_count, 0, (count - c->proc_count) * sizeof(*procs));
	c->procs = procs;
	c->proc_count = count;
	return true;
}

/* Processes are numbered from 0, without holes. */
static struct proc *proc_of(struct pasta_correlate *c, uint32_t number)
{
	struct proc *p;

	if (number < c->proc_count && c->procs[number])
		return c->procs[number];
	if (number >= c->proc_count && !make_room(c, number))
		goto fail;
	p = calloc(1, sizeof(*p));
	if (!p)
		goto fail;
	c->procs[number] = p;
	p->number = number;
	p->iteration = PASTA_NO_ITERATION;
	p->threads = pasta_map_new(sizeof(struct thread));
	if (p->threads)
		return p;
	proc_free(p);
	c->procs[number] = NULL;
fail:
	c->failed = true;
	return NULL;
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
			    .pair = ++c->pairs,
			    .name = name,
			    .is_op = kind == PASTA_OP_BEGIN};
	f->began = where_now(p, thread);
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
	g->own.region = (struct pasta_region){.name = f->name,
					      .domain = f->domain,
					      .depth = (uint32_t)thread->regions,
					      .flags = flags};
	if (ev->kind == PASTA_REGION)
		g->own.region.flags |= ev->region.flags;
	g->where = f->began;
	g->pair = f->pair;
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
	struct frame *f = push(c, p, thread, PASTA_REGION, name, 0);

	if (!f)
		return;
	f->domain = ev->region.domain;
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
	give_taken(c, ev, false, &where);
}

static void on_op_begin(struct pasta_correlate *c, struct proc *p, struct thread *thread,
			const struct pasta_event *ev)
{
	struct pasta_where where;
	struct given *g;

	if (!push(c, p, thread, PASTA_OP_BEGIN, ev->op_begin.name, ev->op_begin.id))
		return;
	where = where_now(p, thread);
	g = give_taken(c, ev, false, &where);
	if (g)
		g->pair = top(thread)->pair;
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
		g->where = f->began;
		g->pair = f->pair;
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
		     const struct launch *launch)
{
	struct launch *recent;

	if (!p->recent)
		p->recent = pasta_pending_new(sizeof(*recent), PASTA_CORRELATE_RECENT);
	recent = p->recent ? pasta_pending_add(p->recent, p->number, corr) : NULL;
	if (recent && recent->used) { /* the number came again: it is the youngest now */
		pasta_pending_remove(p->recent, p->number, corr);
		recent = pasta_pending_add(p->recent, p->number, corr);
	}
	if (!recent) {
		c->failed = true;
		return;
	}
	*recent = *launch;
	recent->used = true;
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
	const struct launch *launch = pasta_pending_find(c->launches, p->number, w->corr);
	bool again = !launch, one = w->uses && !w->node;

	if (!launch && p->recent)
		launch = pasta_pending_find(p->recent, p->number, w->corr);
	if (!launch)
		return false;
	*where = launch->where;
	where->flags = PASTA_WHERE_LAUNCH | (again && one ? PASTA_WHERE_AGAIN : 0);
	where->capture = capture_of(p, w->node);
	if (!again && one && !launch->graph) {
		remember(c, p, w->corr, launch);
		pasta_pending_remove(c->launches, p->number, w->corr);
	}
	return true;
}

/* It need not wait any longer: its launch has come, or comes no more. */
static void settle(struct pasta_correlate *c, struct given *g)
{
	struct proc *p = c->procs[g->own.proc];
	struct work w;

	work_of(&g->own, &w);
	g->waits = false;
	if (!find_launch(c, p, &w, &g->where))
		g->where.capture = capture_of(p, w.node);
}

/* All that waits for a launch. */
static void settle_early(struct pasta_correlate *c, uint32_t proc, uint64_t corr)
{
	const struct early *early = pasta_pending_find(c->early, proc, corr);
	uint64_t number = early ? early->first : 0;

	for (; number; number = given_at(c, number)->same)
		settle(c, given_at(c, number));
	if (early)
		pasta_pending_remove(c->early, proc, corr);
}

/* It waits in vain. Those behind it for the same launch, which are younger, may still be in time.
 */
static void give_up(struct pasta_correlate *c, struct given *g)
{
	struct early *early;
	struct work w;

	work_of(&g->own, &w);
	early = pasta_pending_find(c->early, g->own.proc, w.corr);
	if (early && g->same)
		early->first = g->same;
	else
		pasta_pending_remove(c->early, g->own.proc, w.corr);
	settle(c, g);
}

/* Nothing that comes is earlier than now: what has waited too long goes on. So does the first where
 * there is no room for one more. */
static void give_up_before(struct pasta_correlate *c, uint64_t now)
{
	bool full = c->tail - c->head >= PASTA_CORRELATE_QUEUE - 1;

	for (c->settled = c->settled > c->head ? c->settled : c->head; c->settled < c->tail;
	     c->settled++) {
		struct given *g = given_at(c, c->settled);
		bool late = now > PASTA_CORRELATE_WAIT && g->own.time < now - PASTA_CORRELATE_WAIT;

		if (!g->waits)
			continue;
		if (!late && !full)
			break;
		full = false;
		give_up(c, g);
	}
}

static void wait_for_launch(struct pasta_correlate *c, const struct pasta_event *ev,
			    const struct work *w, const struct pasta_where *where)
{
	struct given *g = give_taken(c, ev, true, where);
	uint64_t number = c->tail - 1;
	struct early *early = g ? pasta_pending_add(c->early, ev->proc, w->corr) : NULL;

	if (!early) {
		c->failed = true;
		if (g)
			g->waits = false;
		return;
	}
	if (early->first)
		given_at(c, early->last)->same = number;
	else
		early->first = number;
	early->last = number;
}

static void on_work(struct pasta_correlate *c, struct proc *p, const struct pasta_event *ev,
		    const struct work *w)
{
	struct pasta_where where = {.iteration = PASTA_NO_ITERATION, .tid = ev->tid};

	if (w->corr && find_launch(c, p, w, &where)) {
		give_taken(c, ev, false, &where);
	} else if (w->corr && !p->no_launches) {
		wait_for_launch(c, ev, w, &where);
	} else {
		where.capture = capture_of(p, w->node);
		give_taken(c, ev, false, &where);
	}
}

static void on_launch(struct pasta_correlate *c, struct proc *p, struct thread *thread,
		      const struct pasta_event *ev)
{
	struct pasta_where where = where_now(p, thread);
	struct launch *launch;

	where.launched = ev->time;
	where.name = ev->launch.name;
	where.stack = ev->launch.stack;
	give_taken(c, ev, false, &where);
	if (!ev->launch.corr)
		return;
	launch = pasta_pending_add(c->launches, ev->proc, ev->launch.corr);
	if (!launch) {
		c->failed = true;
		return;
	}
	*launch = (struct launch){.where = where, .graph = ev->launch.graph != 0};
	if (pasta_pending_count(c->early))
		settle_early(c, ev->proc, ev->launch.corr);
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
	if ((REGION_KINDS | OP_KINDS) >> ev->kind & 1 && ev->time > p->last_op)
		p->last_op = ev->time;
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
		give_taken(c, ev, false, &where);
	}
}

void pasta_correlate_take(struct pasta_correlate *c, const struct pasta_event *ev)
{
	struct proc *p = proc_of(c, ev->proc);
	struct work w;

	if (!p)
		return;
	if (c->head != c->tail)
		give_up_before(c, ev->time);
	if (work_of(ev, &w))
		on_work(c, p, ev, &w);
	else
		on_thread(c, p, ev);
}

/* Ends for all that is open. */
static void end_thread(struct pasta_correlate *c, struct proc *p, struct thread *thread)
{
	struct pasta_event ev = {.proc = p->number, .tid = thread->tid};

	while (thread->depth) {
		bool is_op = top(thread)->is_op;

		ev.time = is_op ? p->last_op : p->last;
		if (is_op)
			end_op(c, thread, thread->depth - 1, &ev, PASTA_OP_SUPPLIED);
		else
			end_region(c, thread, &ev, PASTA_REGION_OPEN);
	}
}

static int by_tid(const void *a, const void *b)
{
	const struct thread *x = *(struct thread *const *)a, *y = *(struct thread *const *)b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* In an order that does not depend on which events were read. */
static void end_proc(struct pasta_correlate *c, struct proc *p)
{
	size_t i, at = 0, count = pasta_map_count(p->threads);
	struct thread **threads = calloc(count + 1, sizeof(*threads));

	if (!threads) {
		c->failed = true;
		return;
	}
	for (i = 0; i < count; i++)
		threads[i] = pasta_map_next(p->threads, &at, NULL);
	qsort(threads, count, sizeof(*threads), by_tid);
	for (i = 0; i < count; i++)
		end_thread(c, p, threads[i]);
	free(threads);
}

void pasta_correlate_end(struct pasta_correlate *c)
{
	uint64_t n;
	size_t i;

	for (n = c->head; n < c->tail; n++)
		if (given_at(c, n)->waits)
			give_up(c, given_at(c, n));
	for (i = 0; i < c->proc_count; i++)
		if (c->procs[i])
			end_proc(c, c->procs[i]);
}
