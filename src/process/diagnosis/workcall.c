/* workcall.c - calls of operators: which kernels belong to a call, and how the work of the call is
 * divided among them. */
#include <errno.h>
#include <stdlib.h>

#include "core/pending.h"
#include "process/diagnosis/workset.h"

/* maximum number of calls whose work is not divided yet, because kernels may still arrive */
#define RECENT (1 << 17)
/* maximum number of operators that have not begun although their work arrived, and maximum of this
 * work */
#define EARLY (1 << 14)
#define EARLY_ITEMS (1 << 16)
#define SHARES_MAX (1 << 20)

/* The time of a call's kernels in one row. */
struct share {
	struct share *next;
	struct pasta_workrow *row;
	uint64_t ns;
};

struct call {
	const struct pasta_workop *op;
	/* The id of the innermost call, from this call outwards, whose operator has a formula, and
	 * the same for the enclosing call; 0: none. */
	uint64_t anchor, above;
	struct share *shares;
	/* the highest rank of a formula of an operator that this call contains */
	uint32_t inner_rank;
};

/* Work whose operator has not begun. */
struct early {
	struct early *next;
	struct pasta_workitem item;
};

/* The ids of a thread's open operators. */
struct callstack {
	uint64_t *ids;
	size_t count, room;
};

struct pasta_workcalls {
	struct pasta_workset *w;
	struct pasta_group *ops;
	struct pasta_pending *recent; /* struct call, by process and operator id */
	struct pasta_pending *early;  /* struct early *, by process and operator id */
	struct pasta_map *stacks;     /* struct callstack, by process and thread */
	struct share *free;
	size_t shares, early_items;
};

static const struct pasta_member call_members[] = {PASTA_KEY(struct pasta_workop), {0}};
static const struct pasta_group_def call_ops = {
	.size = sizeof(struct pasta_group_def),
	.row_size = sizeof(struct pasta_workop),
	.key_size = sizeof(((struct pasta_workop *)0)->key),
	.member_size = sizeof(struct pasta_member),
	.members = call_members,
};

struct pasta_workcalls *pasta_workcalls_new(struct pasta_workset *w)
{
	struct pasta_workcalls *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->w = w;
	c->ops = pasta_group_new(&call_ops, NULL, NULL);
	c->recent = pasta_pending_new(sizeof(struct call), RECENT);
	c->early = pasta_pending_new(sizeof(struct early *), EARLY);
	c->stacks = pasta_map_new(sizeof(struct callstack));
	if (c->ops && c->recent && c->early && c->stacks)
		return c;
	pasta_workcalls_free(c);
	return NULL;
}

static void call_free_shares(struct share *share)
{
	while (share) {
		struct share *next = share->next;

		free(share);
		share = next;
	}
}

void pasta_workcalls_free(struct pasta_workcalls *c)
{
	struct callstack *stack;
	uint32_t proc;
	uint64_t id;

	if (!c)
		return;
	for (struct call *call;
	     c->recent && (call = pasta_pending_oldest(c->recent, &proc, &id));) {
		call_free_shares(call->shares);
		pasta_pending_drop(c->recent, call);
	}
	for (struct early **e; c->early && (e = pasta_pending_oldest(c->early, &proc, &id));) {
		for (struct early *next, *item = *e; item; item = next) {
			next = item->next;
			free(item);
		}
		pasta_pending_drop(c->early, e);
	}
	for (size_t at = 0; c->stacks && (stack = pasta_map_next(c->stacks, &at, NULL));)
		free(stack->ids);
	call_free_shares(c->free);
	pasta_map_free(c->stacks);
	pasta_pending_free(c->early);
	pasta_pending_free(c->recent);
	pasta_group_free(c->ops);
	free(c);
}

/* -- Operators -- */

const struct pasta_workop *pasta_workcalls_op(struct pasta_workcalls *c, uint32_t name,
					      uint32_t inputs, uint32_t scalars, uint32_t strides,
					      uint32_t outputs)
{
	size_t before = pasta_group_count(c->ops);
	struct pasta_workop *op =
		PASTA_ROW(c->ops, struct pasta_workop, name, inputs, scalars, strides, outputs);

	if (pasta_group_error(c->ops)) {
		pasta_workset_fail(c->w);
		return NULL;
	}
	if (pasta_group_count(c->ops) == before)
		return op;
	pasta_formula_of(&op->f, &(struct pasta_formula_texts){
					 .name = pasta_str(name),
					 .inputs = pasta_str(inputs),
					 .scalars = pasta_str(scalars),
					 .outputs = pasta_str(outputs),
					 .strides = pasta_str(strides),
				 });
	if (op->f.dtype) {
		op->dtype = pasta_strings_add(op->f.dtype->name, strlen(op->f.dtype->name));
		if (!op->dtype)
			pasta_workset_fail(c->w);
	}
	return op;
}

static struct call *call_find(struct pasta_workcalls *c, uint32_t proc, uint64_t id)
{
	return id ? pasta_pending_find(c->recent, proc, id) : NULL;
}

const struct pasta_workop *pasta_workcalls_find(struct pasta_workcalls *c, uint32_t proc,
						uint64_t id)
{
	const struct call *call = call_find(c, proc, id);

	return call ? call->op : NULL;
}

/* -- Division of work -- */

/* Divides the work of a call among its kernels by time. The last kernel receives the rest, so that
 * the sum is exact. A call that contains an operator of its own rank has no work of its own. */
static void call_divide(struct pasta_workcalls *c, struct call *call)
{
	const struct pasta_formula *f = &call->op->f;
	bool counts = f->rank != PASTA_FORMULA_NONE && call->inner_rank < f->rank;
	double flops = counts ? f->flops : 0, bytes = counts ? f->bytes : 0, total = 0;
	struct share *next;

	for (struct share *s = call->shares; s; s = s->next)
		total += (double)s->ns;
	for (struct share *s = call->shares; s; s = next) {
		double part = total > 0 ? (double)s->ns / total : 0;
		double own_flops = s->next ? f->flops * counts * part : flops;
		double own_bytes = s->next ? f->bytes * counts * part : bytes;

		s->row->flops += own_flops;
		s->row->bytes += own_bytes;
		flops = flops > own_flops ? flops - own_flops : 0;
		bytes = bytes > own_bytes ? bytes - own_bytes : 0;
		next = s->next;
		s->next = c->free;
		c->free = s;
		c->shares--;
	}
	call->shares = NULL;
}

static void call_divide_oldest(struct pasta_workcalls *c)
{
	uint32_t proc;
	uint64_t id;
	struct call *call = pasta_pending_oldest(c->recent, &proc, &id);

	if (!call)
		return;
	call_divide(c, call);
	pasta_pending_drop(c->recent, call);
}

static struct share *call_new_share(struct pasta_workcalls *c)
{
	struct share *s;

	while (c->shares >= SHARES_MAX && pasta_pending_count(c->recent) > 1)
		call_divide_oldest(c);
	s = c->free;
	if (s)
		c->free = s->next;
	else
		s = malloc(sizeof(*s));
	c->shares += s != NULL;
	return s;
}

/* Adds time to the call's share for a row. Returns whether the share is new. */
static bool call_share(struct pasta_workcalls *c, uint32_t proc, uint64_t id,
		       struct pasta_workrow *row, uint64_t ns)
{
	struct call *call = call_find(c, proc, id);
	struct share *s;

	if (!call)
		return true;
	for (s = call->shares; s && s->row != row;)
		s = s->next;
	if (s) {
		s->ns += ns;
		return false;
	}
	s = call_new_share(c);
	if (!s) {
		pasta_workset_fail(c->w);
		return false;
	}
	call = call_find(c, proc, id); /* making room for the share may have removed the call */
	if (!call) {
		s->next = c->free;
		c->free = s;
		c->shares--;
		return true;
	}
	*s = (struct share){.next = call->shares, .row = row, .ns = ns};
	call->shares = s;
	return true;
}

/* Adds work that belongs to a call. */
static void call_add(struct pasta_workcalls *c, const struct pasta_workitem *item,
		     const struct call *call)
{
	uint64_t id = call->anchor ? call->anchor : item->op;
	const struct call *owner = call_find(c, item->key.proc, id);
	struct pasta_workrow *row;

	if (!owner) { /* the enclosing call has expired */
		id = item->op;
		owner = call;
	}
	row = pasta_workset_add(c->w, item, owner->op);
	if (row)
		row->calls += call_share(c, item->key.proc, id, row, item->ns);
}

/* Adds work whose operator is not known, or known only by name. */
static void call_add_unknown(struct pasta_workcalls *c, const struct pasta_workitem *item)
{
	const struct pasta_workop *op =
		item->scope_op ? pasta_workcalls_op(c, item->scope_op, 0, 0, 0, 0) : NULL;

	pasta_workset_add(c->w, item, op);
}

/* -- Early work -- */

static void call_add_early(struct pasta_workcalls *c, struct early *list, const struct call *call,
			   uint64_t begin)
{
	while (list) {
		struct early *next = list->next;

		/* Work that was launched before the operator began belongs to an older operator
		 * with the same id. */
		if (call && list->item.launched >= begin)
			call_add(c, &list->item, call);
		else
			call_add_unknown(c, &list->item);
		free(list);
		c->early_items--;
		list = next;
	}
}

static void call_drop_early(struct pasta_workcalls *c)
{
	uint32_t proc;
	uint64_t id;
	struct early **e = pasta_pending_oldest(c->early, &proc, &id), *list = e ? *e : NULL;

	if (!e)
		return;
	pasta_pending_drop(c->early, e);
	call_add_early(c, list, NULL, 0);
}

static void call_wait(struct pasta_workcalls *c, const struct pasta_workitem *item)
{
	struct early **head, *e;

	if (c->early_items >= EARLY_ITEMS) {
		call_add_unknown(c, item);
		return;
	}
	if (pasta_pending_full(c->early))
		call_drop_early(c);
	head = pasta_pending_add(c->early, item->key.proc, item->op);
	e = head ? malloc(sizeof(*e)) : NULL;
	if (!e) {
		pasta_workset_fail(c->w);
		return;
	}
	*e = (struct early){.next = *head, .item = *item};
	*head = e;
	c->early_items++;
}

void pasta_workcalls_work(struct pasta_workcalls *c, const struct pasta_workitem *item)
{
	const struct call *call = call_find(c, item->key.proc, item->op);

	if (call)
		call_add(c, item, call);
	else if (item->op)
		call_wait(c, item);
	else
		call_add_unknown(c, item);
}

/* -- Events -- */

static struct callstack *call_stack(struct pasta_workcalls *c, const struct pasta_event *ev)
{
	struct callstack *stack = pasta_map_add(c->stacks, (uint64_t)ev->proc << 32 | ev->tid);

	if (!stack)
		pasta_workset_fail(c->w);
	return stack;
}

static void call_push(struct pasta_workcalls *c, struct callstack *stack, uint64_t id)
{
	if (stack->count == stack->room) {
		size_t room = stack->room ? 2 * stack->room : 16;
		uint64_t *ids = reallocarray(stack->ids, room, sizeof(*ids));

		if (!ids) {
			pasta_workset_fail(c->w);
			return;
		}
		stack->ids = ids;
		stack->room = room;
	}
	stack->ids[stack->count++] = id;
}

/* Registers a formula with the enclosing calls. If a call already contains a formula of this rank,
 * the calls around it do so, too. */
static void call_cover(struct pasta_workcalls *c, uint32_t proc, uint64_t above, uint32_t rank)
{
	struct call *call;

	while ((call = call_find(c, proc, above)) && call->inner_rank < rank) {
		call->inner_rank = rank;
		above = call->above;
	}
}

void pasta_workcalls_begin(struct pasta_workcalls *c, const struct pasta_event *ev)
{
	const struct pasta_op_begin_record *r = &ev->op_begin;
	const struct pasta_workop *op =
		pasta_workcalls_op(c, r->name, r->inputs, r->scalars, r->strides, 0);
	struct callstack *stack = call_stack(c, ev);
	const struct call *up;
	struct call *call;
	struct early **early;

	if (!op || !stack || !r->id)
		return;
	call = call_find(c, ev->proc, r->id);
	if (call)
		call_divide(c, call);
	else if (pasta_pending_full(c->recent))
		call_divide_oldest(c);
	up = stack->count ? call_find(c, ev->proc, stack->ids[stack->count - 1]) : NULL;
	call = pasta_pending_renew(c->recent, ev->proc, r->id);
	if (!call) {
		pasta_workset_fail(c->w);
		return;
	}
	*call = (struct call){.op = op, .above = up && up != call ? up->anchor : 0};
	call->anchor = op->f.rank != PASTA_FORMULA_NONE ? r->id : call->above;
	if (op->f.rank != PASTA_FORMULA_NONE && call->above != r->id)
		call_cover(c, ev->proc, call->above, op->f.rank);
	call_push(c, stack, r->id);
	if (!pasta_pending_count(c->early))
		return;
	early = pasta_pending_find(c->early, ev->proc, r->id);
	if (early) {
		struct early *list = *early;

		pasta_pending_drop(c->early, early);
		call_add_early(c, list, call, ev->time);
	}
}

void pasta_workcalls_end(struct pasta_workcalls *c, const struct pasta_event *ev)
{
	struct callstack *stack = call_stack(c, ev);
	struct call *call = call_find(c, ev->proc, ev->op_end.id);

	if (stack && stack->count && stack->ids[stack->count - 1] == ev->op_end.id)
		stack->count--;
	if (call && ev->op_end.outputs) {
		const struct pasta_workop *op =
			pasta_workcalls_op(c, call->op->key.name, call->op->key.inputs,
					   call->op->key.scalars, call->op->key.strides,
					   ev->op_end.outputs);

		if (op)
			call->op = op;
		if (op && op->f.rank != PASTA_FORMULA_NONE && call->anchor != ev->op_end.id)
			call->anchor = ev->op_end.id;
	}
}

void pasta_workcalls_flush(struct pasta_workcalls *c)
{
	while (pasta_pending_count(c->early))
		call_drop_early(c);
	while (pasta_pending_count(c->recent))
		call_divide_oldest(c);
}
