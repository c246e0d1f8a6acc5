/* nesting.c - tracks the open regions and operators of each thread, and delivers a start and an end
 * for each. */
#include "process/join/nesting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/strings.h"
#include "process/join/scope.h"

int pasta_nesting_open(struct pasta_nesting *n, struct pasta_outqueue *out)
{
	n->out = out;
	n->scopes = pasta_map_new(sizeof(struct pasta_scope *));
	n->dropped_name = pasta_strings_add("(lost)", 6);
	return n->scopes && n->dropped_name ? 0 : -ENOMEM;
}

void pasta_nesting_close(struct pasta_nesting *n)
{
	pasta_map_free(n->scopes);
	n->scopes = NULL;
}

void pasta_nest_free(struct pasta_nest *nest)
{
	free(nest->frames);
	nest->frames = NULL;
}

static struct pasta_outqueue_entry *nesting_deliver(struct pasta_nesting *n)
{
	struct pasta_outqueue_entry *e = pasta_outqueue_add(n->out);

	n->failed |= !e;
	return e;
}

static struct pasta_outqueue_entry *nesting_deliver_copy(struct pasta_nesting *n,
							 const struct pasta_event *ev)
{
	struct pasta_outqueue_entry *e = pasta_outqueue_push(n->out, ev);

	n->failed |= !e;
	return e;
}

/* -- Open frames -- */

static const struct pasta_scope *nesting_scope_below(struct pasta_nesting *n,
						     const struct pasta_scope *up,
						     unsigned int kind, uint32_t name)
{
	uint64_t key = pasta_scope_key(up, kind, name);
	const struct pasta_scope *const *known = pasta_map_find(n->scopes, key), **slot, *scope;

	if (known)
		return *known;
	/* If regions and operators are nested too deeply, or there are too many scopes, a region or
	 * an operator has the scope of the region or operator around it. */
	scope = up && up->depth >= PASTA_NEST_SCOPES ? NULL : pasta_scope_below(up, kind, name);
	slot = scope ? pasta_map_add(n->scopes, key) : NULL;
	if (slot)
		*slot = scope;
	return scope ? scope : up;
}

static const struct pasta_nest_frame *nesting_top(const struct pasta_nest *nest)
{
	return nest->depth ? &nest->frames[nest->depth - 1] : NULL;
}

static void nesting_inherit(struct pasta_nest_frame *f, const struct pasta_nest_frame *around)
{
	f->python = around ? around->python : 0;
	f->module = around ? around->module : 0;
	f->flags = around ? around->flags : 0;
}

/* Assigns a thread's time up to `time` to the innermost open region or operator, or to the time
 * outside of both. Calling this function before each change of the open regions and operators
 * assigns each ns of the thread once, even if regions and operators overlap instead of nesting. An
 * event with an earlier time than its predecessor adds nothing. */
static void nesting_assign_time(struct pasta_nest *nest, uint64_t time)
{
	bool later = !nest->timed || time > nest->assigned;
	uint64_t ns = nest->timed && later ? time - nest->assigned : 0;

	nest->assigned = later ? time : nest->assigned;
	nest->timed = true;
	if (nest->frames && nest->depth)
		nest->frames[nest->depth - 1].self += ns;
	else
		nest->outside += ns;
}

/* Returns the time of a region or operator that ends. Time in regions that are inside an operator
 * is time of the operator. Such regions may still be open when the operator ends. */
static uint64_t nesting_collect_time(struct pasta_nest *nest, size_t at, uint64_t time)
{
	struct pasta_nest_frame *f = &nest->frames[at];
	uint64_t self;

	nesting_assign_time(nest, time);
	self = f->self;
	for (size_t i = at + 1; f->is_op && i < nest->depth; i++) {
		self += nest->frames[i].self;
		nest->frames[i].self = 0;
	}
	if (f->is_op || !f->inside_op)
		return self;
	f[-1].self += self;
	return 0;
}

static struct pasta_nest_frame *nesting_push(struct pasta_nesting *n, struct pasta_nest *nest,
					     const struct pasta_progress *now,
					     const struct pasta_event *ev, unsigned int kind,
					     uint32_t name, uint64_t op)
{
	const struct pasta_nest_frame *around = nesting_top(nest);
	const struct pasta_scope *up = around ? around->scope : NULL;
	uint64_t outer = around ? around->op : 0;
	bool inside_op = around && (around->is_op || around->inside_op);
	struct pasta_nest_frame *f;

	nesting_assign_time(nest, ev->time);
	if (!nest->frames || nest->depth == nest->room) {
		size_t room = nest->room ? 2 * nest->room : 16;

		f = realloc(nest->frames, room * sizeof(*f));
		if (!f) {
			n->failed = true;
			return NULL;
		}
		nest->frames = f;
		nest->room = room;
	}
	f = &nest->frames[nest->depth++];
	*f = (struct pasta_nest_frame){.scope = nesting_scope_below(n, up, kind, name),
				       .op = kind == PASTA_KIND_OP_BEGIN ? op : outer,
				       .pair = ++n->pairs,
				       .name = name,
				       .is_op = kind == PASTA_KIND_OP_BEGIN,
				       .inside_op = inside_op};
	nesting_inherit(f, around ? f - 1 : NULL);
	pasta_nest_here(nest, now, &f->began);
	f->began.self = nest->outside;
	nest->outside = 0;
	nest->regions += kind == PASTA_KIND_REGION;
	return f;
}

/* Removes an open region or operator. The regions and operators inside it get new scopes. */
static void nesting_remove(struct pasta_nesting *n, struct pasta_nest *nest, size_t at)
{
	size_t i;

	nest->regions -= !nest->frames[at].is_op;
	nest->depth--;
	for (i = at; i < nest->depth; i++) {
		const struct pasta_nest_frame *around = i ? &nest->frames[i - 1] : NULL;
		struct pasta_nest_frame *f = &nest->frames[i];

		*f = nest->frames[i + 1];
		f->inside_op = around && (around->is_op || around->inside_op);
		f->scope = nesting_scope_below(n, around ? around->scope : NULL,
					       f->is_op ? PASTA_KIND_OP_BEGIN : PASTA_KIND_REGION,
					       f->name);
		if (f->is_op)
			continue;
		f->op = around ? around->op : 0;
		nesting_inherit(f, around);
	}
}

/* Returns the index of the open region with this depth. Depths start at 1. */
static size_t nesting_position(const struct pasta_nest *nest, size_t depth)
{
	size_t at = nest->depth, n = nest->regions;

	while (at-- > 0)
		if (!nest->frames[at].is_op && n-- == depth)
			break;
	return at;
}

/* -- Delivery -- */

static void nesting_fill_head(struct pasta_event *own, const struct pasta_event *ev,
			      unsigned int kind, unsigned int sub, size_t size)
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

static void nesting_deliver_region(struct pasta_nesting *n, const struct pasta_nest *nest,
				   size_t at, const struct pasta_event *ev, unsigned int sub,
				   uint32_t flags)
{
	const struct pasta_nest_frame *f = &nest->frames[at];
	struct pasta_outqueue_entry *e = nesting_deliver(n);

	if (!e)
		return;
	nesting_fill_head(&e->own, ev, PASTA_KIND_REGION, sub, PASTA_EVENT_SIZE(region));
	e->own.region = (struct pasta_region_record){.name = f->name,
						     .domain = f->domain,
						     .depth = (uint32_t)nest->regions,
						     .flags = flags};
	if (ev->kind == PASTA_KIND_REGION)
		e->own.region.flags |= ev->region.flags;
	e->where = f->began;
	e->pair = f->pair;
}

/* Ends the innermost region. */
static void nesting_end_region(struct pasta_nesting *n, struct pasta_nest *nest,
			       const struct pasta_event *ev, uint32_t flags)
{
	size_t at = nesting_position(nest, nest->regions);

	nest->frames[at].began.self = nesting_collect_time(nest, at, ev->time);
	nesting_deliver_region(n, nest, at, ev, PASTA_REGION_END, flags);
	nesting_remove(n, nest, at);
}

static void nesting_begin_region(struct pasta_nesting *n, struct pasta_nest *nest,
				 const struct pasta_progress *now, const struct pasta_event *ev,
				 uint32_t name, uint32_t flags)
{
	struct pasta_nest_frame *f = nesting_push(n, nest, now, ev, PASTA_KIND_REGION, name, 0);

	if (!f)
		return;
	f->domain = ev->region.domain;
	nesting_deliver_region(n, nest, nest->depth - 1, ev, PASTA_REGION_BEGIN, flags);
}

/* Adjusts the number of open regions to the depth in the record. The two differ if events were
 * dropped. Supplies missing ends and missing starts; a region whose start is missing is called
 * "(lost)". */
static void nesting_resync(struct pasta_nesting *n, struct pasta_nest *nest,
			   const struct pasta_progress *now, const struct pasta_event *ev,
			   size_t depth)
{
	while (nest->regions > depth)
		nesting_end_region(n, nest, ev, PASTA_REGION_SUPPLIED_LOSS);
	while (nest->regions < depth && !n->failed)
		nesting_begin_region(n, nest, now, ev, n->dropped_name, PASTA_REGION_SUPPLIED_LOSS);
}

static void nesting_deliver_unmatched_end(struct pasta_nesting *n, const struct pasta_nest *nest,
					  const struct pasta_progress *now,
					  const struct pasta_event *ev, uint32_t flags)
{
	struct pasta_outqueue_entry *e = nesting_deliver(n);

	if (!e)
		return;
	memcpy(&e->own, ev, PASTA_EVENT_SIZE(region));
	e->own.sub = PASTA_REGION_UNMATCHED_END;
	e->own.region.flags |= flags;
	pasta_nest_here(nest, now, &e->where);
}

/* Returns the depth of the innermost open region with this name, or 0 if there is none. Depths
 * start at 1. */
static size_t nesting_ended_depth(const struct pasta_nest *nest, uint32_t name)
{
	size_t at = nest->depth, depth = nest->regions;

	while (at-- > 0) {
		const struct pasta_nest_frame *f = &nest->frames[at];

		if (f->is_op)
			continue;
		if (!name || f->name == name)
			return depth;
		depth--;
	}
	return 0;
}

static void nesting_on_region_end(struct pasta_nesting *n, struct pasta_nest *nest,
				  const struct pasta_progress *now, const struct pasta_event *ev)
{
	size_t depth =
		ev->region.depth ? ev->region.depth : nesting_ended_depth(nest, ev->region.name);

	if (ev->region.depth && nest->regions < depth) {
		nesting_deliver_unmatched_end(n, nest, now, ev, PASTA_REGION_SUPPLIED_LOSS);
		return;
	}
	if (ev->region.depth)
		nesting_resync(n, nest, now, ev, depth);
	if (!depth && ev->region.name && nest->owed) {
		nest->owed--;
		return;
	}
	if (!depth) {
		nesting_deliver_unmatched_end(n, nest, now, ev, 0);
		return;
	}
	nest->owed += nest->regions - depth;
	while (nest->regions > depth)
		nesting_end_region(n, nest, ev, PASTA_REGION_SUPPLIED_OUTER);
	nesting_end_region(n, nest, ev, 0);
}

void pasta_nest_region(struct pasta_nesting *n, struct pasta_nest *nest,
		       const struct pasta_progress *now, const struct pasta_event *ev)
{
	uint32_t depth = ev->region.depth;
	struct pasta_outqueue_entry *e;

	if (ev->sub == PASTA_REGION_END) {
		nesting_on_region_end(n, nest, now, ev);
		return;
	}
	if (depth && depth <= PASTA_NEST_DEPTH)
		nesting_resync(n, nest, now, ev, depth - 1);
	if (ev->sub == PASTA_REGION_BEGIN) {
		nesting_begin_region(n, nest, now, ev, ev->region.name, 0);
		return;
	}
	e = nesting_deliver_copy(n, ev);
	if (e)
		pasta_nest_here(nest, now, &e->where);
}

/* If an operator may belong to the backward pass, attributes the operator like its forward
 * operator. Returns false if the forward operator is unknown. */
static bool nesting_find_forward(struct pasta_nest_frame *f,
				 const struct pasta_forward_ops *forwards,
				 const struct pasta_op_begin_record *op)
{
	bool expired;
	const struct pasta_forward_op *forward =
		pasta_forward_ops_find(forwards, op->seq, &expired);

	if (forward) {
		f->python = forward->python ? forward->python : f->python;
		f->module = forward->module ? forward->module : f->module;
		f->flags = PASTA_WHERE_BACKWARD;
		f->joined = true;
	} else if (expired && !(f->flags & PASTA_WHERE_BACKWARD)) {
		f->flags = PASTA_WHERE_BACKWARD | PASTA_WHERE_EXPIRED;
	}
	return forward;
}

/* Attributes an operator of the backward pass like its forward operator. If the forward operator is
 * unknown, attributes the operator like the operator around it. */
static void nesting_locate_backward(struct pasta_nest_frame *f,
				    const struct pasta_forward_ops *forwards,
				    const struct pasta_op_begin_record *op, uint32_t stack)
{
	bool inside = f->flags & PASTA_WHERE_BACKWARD;

	if (nesting_find_forward(f, forwards, op))
		return;
	if (stack && !(inside && f->python))
		f->python = stack;
	f->module = op->module ? op->module : f->module;
	f->flags |= op->flags & PASTA_OP_BACKWARD ? PASTA_WHERE_BACKWARD : 0;
}

/* Attributes an operator. On entry, f has the attribution of the region or operator around this
 * operator. If a source does not mark the backward pass, operators on threads without Python count
 * as part of it. */
static void nesting_locate(struct pasta_nesting *n, struct pasta_nest *nest,
			   struct pasta_forward_ops *forwards, struct pasta_nest_frame *f,
			   const struct pasta_op_begin_record *op, uint32_t stack)
{
	bool backward = (op->flags & PASTA_OP_BACKWARD) || (f->flags & PASTA_WHERE_BACKWARD);

	nest->stack = stack;
	nest->forward |= !backward && (stack || op->module);
	if (backward || (op->seq && !nest->forward)) {
		nesting_locate_backward(f, forwards, op, stack);
		return;
	}
	f->python = stack ? stack : f->python;
	f->module = op->module ? op->module : f->module;
	if (op->seq && (f->python || f->module) &&
	    pasta_forward_ops_add(forwards,
				  &(struct pasta_forward_op){op->seq, f->python, f->module},
				  &n->forwards))
		n->failed = true;
}

/* When a backward function ends, passes its attribution to the operator around it. autograd then
 * runs further operators in that outer operator, such as sums of gradients, which belong to the
 * same forward operator. These further operators run without Python, or in the Python call of
 * backward(). */
static void nesting_pass_on(struct pasta_nest *nest, size_t at)
{
	const struct pasta_nest_frame *f = &nest->frames[at];
	struct pasta_nest_frame *around = at ? &nest->frames[at - 1] : NULL;

	if (!f->joined || !around || !around->is_op || around->joined)
		return;
	nesting_inherit(around, f);
}

/* Ends the operator at an index of the array of open regions and operators. */
static void nesting_end_op(struct pasta_nesting *n, struct pasta_nest *nest, size_t at,
			   const struct pasta_event *ev, unsigned int sub)
{
	const struct pasta_nest_frame *f = &nest->frames[at];
	uint64_t self = nesting_collect_time(nest, at, ev->time);
	struct pasta_outqueue_entry *e = nesting_deliver(n);

	if (e) {
		nesting_fill_head(&e->own, ev, PASTA_KIND_OP_END, sub, PASTA_EVENT_SIZE(op_end));
		e->own.op_end.id = f->op;
		if (ev->kind == PASTA_KIND_OP_END && ev->op_end.id == f->op)
			e->own.op_end.outputs = ev->op_end.outputs;
		e->where = f->began;
		e->where.self = self;
		e->pair = f->pair;
	}
	nesting_pass_on(nest, at);
	nesting_remove(n, nest, at);
}

/* Before an operator starts, ends the open operators of the same or a greater depth, because their
 * end events were dropped. */
static void nesting_end_dropped_ops(struct pasta_nesting *n, struct pasta_nest *nest,
				    const struct pasta_event *ev)
{
	uint32_t depth = ev->op_begin.depth;
	size_t at = depth ? nest->depth : 0;

	while (at-- > 0) {
		if (!nest->frames[at].is_op)
			continue;
		if (nest->frames[at].depth < depth)
			break;
		nesting_end_op(n, nest, at, ev, PASTA_OP_END_SUPPLIED);
	}
}

void pasta_nest_op_begin(struct pasta_nesting *n, struct pasta_nest *nest,
			 struct pasta_forward_ops *forwards, const struct pasta_progress *now,
			 const struct pasta_event *ev)
{
	const struct pasta_op_begin_record *op = &ev->op_begin;
	bool same = !op->stack && op->flags & PASTA_OP_STACK_SAME;
	struct pasta_nest_frame *f;
	struct pasta_outqueue_entry *e;

	nesting_end_dropped_ops(n, nest, ev);
	f = nesting_push(n, nest, now, ev, PASTA_KIND_OP_BEGIN, op->name, op->id);
	if (!f)
		return;
	f->depth = op->depth;
	nesting_locate(n, nest, forwards, f, op, same ? nest->stack : op->stack);
	f->began.flags = f->flags;
	f->began.python = f->python;
	f->began.module = f->module;
	e = nesting_deliver_copy(n, ev);
	if (!e)
		return;
	e->own.op_begin.stack = nest->stack;
	e->where = f->began;
	e->pair = f->pair;
}

/* Ends an operator and all operators inside it. Ignores the end of an operator that is not open. */
void pasta_nest_op_end(struct pasta_nesting *n, struct pasta_nest *nest,
		       const struct pasta_event *ev)
{
	size_t at = nest->depth, i;

	while (at && (!nest->frames[at - 1].is_op || nest->frames[at - 1].op != ev->op_end.id))
		at--;
	if (!at)
		return;
	for (i = nest->depth; i > at; i--)
		if (nest->frames[i - 1].is_op)
			nesting_end_op(n, nest, i - 1, ev, PASTA_OP_END_SUPPLIED);
	nesting_end_op(n, nest, at - 1, ev, ev->sub);
}

void pasta_nest_end(struct pasta_nesting *n, struct pasta_nest *nest, struct pasta_event ev,
		    uint64_t last, uint64_t last_op)
{
	ev.tid = nest->tid;
	while (nest->depth) {
		bool is_op = nesting_top(nest)->is_op;

		ev.time = is_op ? last_op : last;
		if (is_op)
			nesting_end_op(n, nest, nest->depth - 1, &ev, PASTA_OP_END_SUPPLIED);
		else
			nesting_end_region(n, nest, &ev, PASTA_REGION_SUPPLIED_OPEN);
	}
}
