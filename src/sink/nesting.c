/* nesting.c - a stream's events with where each belongs: its regions, operator and iteration. */
#include "sink/nesting.h"

#include <stdlib.h>

/* What waits for its work: that of a graph does so for ever. */
#define LAUNCHES_MAX (1 << 20)

/* A region or an operator that has begun and not ended. */
struct frame {
	const struct pasta_nesting_scope *scope;
	uint64_t op;	/* id of the innermost operator here */
	uint32_t depth; /* a region's, as its source counts; an operator's is its region's */
};

struct proc {
	uint32_t root; /* a number among the scopes' ids */
	bool iterating;
	uint64_t iteration;
};

struct thread {
	struct proc *proc;
	struct frame *frames;
	size_t depth, room;
};

struct pasta_nesting {
	struct pasta_stream *stream;
	struct pasta_map *procs, *threads; /* by ev->proc; by that and tid */
	struct pasta_map *regions, *ops;   /* scopes, by what is around them and name */
	struct pasta_pending *launched;	   /* struct pasta_nesting_where */
	struct thread *thread;		   /* of the last event */
	uint64_t thread_key;
	uint32_t ids;
	const struct pasta_event *held; /* comes after the ends that it brings */
	struct thread *ending;		/* whose frames end, down to so many */
	size_t until;
	struct pasta_event end; /* the end that was made last; its time and thread stay */
	struct pasta_nesting_where where;
	bool failed;
};

struct pasta_nesting *pasta_nesting_new(struct pasta_stream *stream)
{
	struct pasta_nesting *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->stream = stream;
	n->procs = pasta_map_new(sizeof(struct proc));
	n->threads = pasta_map_new(sizeof(struct thread));
	n->regions = pasta_map_new(sizeof(struct pasta_nesting_scope));
	n->ops = pasta_map_new(sizeof(struct pasta_nesting_scope));
	n->launched = pasta_pending_new(sizeof(struct pasta_nesting_where), LAUNCHES_MAX);
	if (n->procs && n->threads && n->regions && n->ops && n->launched)
		return n;
	pasta_nesting_free(n);
	return NULL;
}

void pasta_nesting_free(struct pasta_nesting *n)
{
	struct thread *thread;
	size_t at = 0;

	if (!n)
		return;
	while (n->threads && (thread = pasta_map_next(n->threads, &at, NULL)))
		free(thread->frames);
	pasta_map_free(n->procs);
	pasta_map_free(n->threads);
	pasta_map_free(n->regions);
	pasta_map_free(n->ops);
	pasta_pending_free(n->launched);
	free(n);
}

bool pasta_nesting_failed(const struct pasta_nesting *n)
{
	return n->failed;
}

static struct thread *thread_of(struct pasta_nesting *n, const struct pasta_event *ev)
{
	uint64_t key = pasta_pair(ev->proc, ev->tid);
	struct thread *thread = n->thread;

	if (thread && n->thread_key == key)
		return thread;
	thread = pasta_map_add(n->threads, key);
	if (thread && !thread->proc) {
		thread->proc = pasta_map_add(n->procs, ev->proc);
		if (thread->proc && !thread->proc->root)
			thread->proc->root = ++n->ids;
	}
	if (!thread || !thread->proc) {
		n->failed = true;
		return NULL;
	}
	n->thread = thread;
	n->thread_key = key;
	return thread;
}

static const struct frame *innermost(const struct thread *thread)
{
	return thread->depth ? &thread->frames[thread->depth - 1] : NULL;
}

/* -- Beginning -- */

static const struct pasta_nesting_scope *
scope_below(struct pasta_nesting *n, const struct thread *thread, uint32_t kind, uint32_t name)
{
	const struct frame *frame = innermost(thread);
	const struct pasta_nesting_scope *up = frame ? frame->scope : NULL;
	struct pasta_map *map = kind == PASTA_REGION ? n->regions : n->ops;
	struct pasta_nesting_scope *scope =
		pasta_map_add(map, pasta_pair(up ? up->id : thread->proc->root, name));

	if (!scope || scope->id)
		return scope;
	*scope = (struct pasta_nesting_scope){.up = up,
					      .region = up ? up->region : NULL,
					      .op = up ? up->op : NULL,
					      .name = name,
					      .depth = up ? up->depth + 1 : 1,
					      .id = ++n->ids,
					      .kind = kind};
	*(kind == PASTA_REGION ? &scope->region : &scope->op) = scope;
	return scope;
}

static void push(struct pasta_nesting *n, struct thread *thread, struct frame frame)
{
	if (!thread->frames || thread->depth == thread->room) {
		size_t room = thread->room ? 2 * thread->room : 16;
		struct frame *frames = reallocarray(thread->frames, room, sizeof(*frames));

		if (!frames) {
			n->failed = true;
			return;
		}
		thread->frames = frames;
		thread->room = room;
	}
	if (frame.scope)
		thread->frames[thread->depth++] = frame;
	else
		n->failed = true;
}

static void begin_region(struct pasta_nesting *n, struct thread *thread,
			 const struct pasta_region *r)
{
	const struct frame *up = innermost(thread);
	uint32_t around = up ? up->depth : 0;

	push(n, thread,
	     (struct frame){.scope = scope_below(n, thread, PASTA_REGION, r->name),
			    .op = up ? up->op : 0,
			    .depth = r->depth ? r->depth : around + 1});
}

static void begin_op(struct pasta_nesting *n, struct thread *thread,
		     const struct pasta_op_begin *op)
{
	const struct frame *up = innermost(thread);

	push(n, thread,
	     (struct frame){.scope = scope_below(n, thread, PASTA_OP_BEGIN, op->name),
			    .op = op->id,
			    .depth = up ? up->depth : 0});
}

/* -- Ending -- */

/* How many frames are left once all regions so deep have ended. */
static size_t place_of(const struct thread *thread, uint32_t depth)
{
	size_t i, place = thread->depth;

	for (i = thread->depth; i && thread->frames[i - 1].depth >= depth; i--)
		if (thread->frames[i - 1].scope->kind == PASTA_REGION)
			place = i - 1;
	return place;
}

/* The place of what a region's end ends; the top: its begin was dropped. */
static size_t ended_region(const struct thread *thread, const struct pasta_region *r)
{
	size_t i;

	if (r->depth)
		return place_of(thread, r->depth);
	for (i = thread->depth; i; i--) {
		const struct pasta_nesting_scope *scope = thread->frames[i - 1].scope;

		if (scope->kind == PASTA_REGION && (!r->name || scope->name == r->name))
			return i - 1;
	}
	return thread->depth;
}

static size_t ended_op(const struct thread *thread, uint64_t id)
{
	size_t i;

	for (i = thread->depth; i; i--)
		if (thread->frames[i - 1].scope->kind == PASTA_OP_BEGIN &&
		    thread->frames[i - 1].op == id)
			return i - 1;
	return thread->depth;
}

/* End the innermost of the thread that is ending. */
static const struct pasta_event *end_one(struct pasta_nesting *n)
{
	const struct frame *frame = &n->ending->frames[--n->ending->depth];

	n->where = (struct pasta_nesting_where){.scope = frame->scope,
						.iteration = UINT64_MAX,
						.op_id = frame->op,
						.tid = n->end.tid};
	if (frame->scope->kind == PASTA_REGION) {
		n->end.kind = PASTA_REGION;
		n->end.sub = PASTA_REGION_END;
		n->end.size = PASTA_EVENT_SIZE(region);
		n->end.region =
			(struct pasta_region){.name = frame->scope->name, .depth = frame->depth};
	} else {
		n->end.kind = PASTA_OP_END;
		n->end.sub = 0;
		n->end.size = PASTA_EVENT_SIZE(op_end);
		n->end.op_end = (struct pasta_op_end){.id = frame->op};
	}
	return &n->end;
}

/* Let the thread's frames end that the event says have ended. */
static void end_to(struct pasta_nesting *n, struct thread *thread, const struct pasta_event *ev,
		   size_t until)
{
	n->ending = thread;
	n->until = until;
	n->end.tid = ev->tid;
	n->end.time = ev->time;
	n->end.proc = ev->proc;
	n->end.source = ev->source;
}

/* True: the event is an end, and ends take its place. */
static bool brings_ends(struct pasta_nesting *n, const struct pasta_event *ev)
{
	bool op = ev->kind == PASTA_OP_END;
	struct thread *thread;

	if (!op && (ev->kind != PASTA_REGION || (ev->sub != PASTA_REGION_END && !ev->region.depth)))
		return false;
	thread = thread_of(n, ev);
	if (!thread)
		return false;
	if (op)
		end_to(n, thread, ev, ended_op(thread, ev->op_end.id));
	else if (ev->sub == PASTA_REGION_END)
		end_to(n, thread, ev, ended_region(thread, &ev->region));
	else
		end_to(n, thread, ev, place_of(thread, ev->region.depth));
	return op || ev->sub == PASTA_REGION_END;
}

/* -- Where it is -- */

static void here(struct pasta_nesting *n, const struct thread *thread, uint32_t tid)
{
	const struct frame *frame = innermost(thread);

	n->where = (struct pasta_nesting_where){
		.scope = frame ? frame->scope : NULL,
		.iteration = thread->proc->iterating ? thread->proc->iteration : UINT64_MAX,
		.op_id = frame ? frame->op : 0,
		.tid = tid};
}

static void launch(struct pasta_nesting *n, const struct pasta_event *ev)
{
	struct pasta_nesting_where *w =
		ev->launch.corr ? pasta_pending_add(n->launched, ev->proc, ev->launch.corr) : NULL;

	if (w) {
		*w = n->where;
		w->launch_time = ev->time;
	} else if (ev->launch.corr) {
		n->failed = true;
	}
}

/* A launch starts one thing, unless it is of a graph. */
static void work(struct pasta_nesting *n, const struct pasta_event *ev, uint64_t corr,
		 uint64_t node)
{
	const struct pasta_nesting_where *w = pasta_pending_find(n->launched, ev->proc, corr);

	n->where = w ? *w : (struct pasta_nesting_where){.iteration = UINT64_MAX, .tid = ev->tid};
	if (w && !node)
		pasta_pending_remove(n->launched, ev->proc, corr);
}

static void on_host(struct pasta_nesting *n, const struct pasta_event *ev)
{
	struct thread *thread = thread_of(n, ev);

	if (!thread)
		return;
	if (ev->kind == PASTA_REGION && ev->sub == PASTA_REGION_BEGIN)
		begin_region(n, thread, &ev->region);
	else if (ev->kind == PASTA_OP_BEGIN)
		begin_op(n, thread, &ev->op_begin);
	else if (ev->kind == PASTA_ITERATION)
		thread->proc->iteration = ev->iteration.index;
	thread->proc->iterating |= ev->kind == PASTA_ITERATION;
	here(n, thread, ev->tid);
	if (ev->kind == PASTA_LAUNCH)
		launch(n, ev);
}

static void place(struct pasta_nesting *n, const struct pasta_event *ev)
{
	switch (ev->kind) {
	case PASTA_KERNEL:
		work(n, ev, ev->kernel.corr, ev->kernel.node);
		break;
	case PASTA_COPY:
		work(n, ev, ev->copy.corr, ev->copy.node);
		break;
	case PASTA_SET:
		work(n, ev, ev->set.corr, ev->set.node);
		break;
	default:
		on_host(n, ev);
	}
}

const struct pasta_event *pasta_nesting_next(struct pasta_nesting *n,
					     const struct pasta_nesting_where **where)
{
	const struct pasta_event *ev;

	*where = &n->where;
	for (;;) {
		if (n->failed)
			return NULL;
		if (n->ending && n->ending->depth > n->until)
			return end_one(n);
		n->ending = NULL;
		if (n->held)
			break;
		ev = pasta_stream_next(n->stream);
		if (!ev)
			return NULL;
		if (!brings_ends(n, ev))
			n->held = ev;
	}
	ev = n->held;
	n->held = NULL;
	place(n, ev);
	return n->failed ? NULL : ev;
}
