/* ledgeralloc.c - looks up, nests, sums and ends the allocations of a ledger. */
#include <stdlib.h>
#include <string.h>

#include "process/sdk/ledger.h"

/* -- Allocations and their parents -- */

struct ledger_alloc *ledger_alloc_new(struct pasta_ledger *l)
{
	size_t size = sizeof(struct ledger_alloc) + l->def->data_size;
	struct ledger_alloc *x = l->spare;

	if (x) {
		l->spare = x->under;
		memset(x, 0, size);
	} else {
		x = ledger_need(l, calloc(1, size));
	}
	if (x) {
		x->a.size = sizeof(x->a);
		x->a.data = l->def->data_size ? x + 1 : NULL;
	}
	return x;
}

static void ledger_unlink(struct ledger_alloc *x)
{
	if (x->to_this)
		*x->to_this = x->next;
	if (x->next)
		x->next->to_this = x->to_this;
	x->next = NULL;
	x->to_this = NULL;
	x->a.parent = NULL;
}

void ledger_link(struct ledger_alloc *x, struct ledger_alloc *parent)
{
	ledger_unlink(x);
	if (!parent)
		return;
	x->a.parent = &parent->a;
	x->next = parent->children;
	x->to_this = &parent->children;
	if (x->next)
		x->next->to_this = &x->next;
	parent->children = x;
}

static void ledger_drop(struct pasta_ledger *l, struct ledger_alloc *x)
{
	while (x->children)
		ledger_unlink(x->children);
	ledger_unlink(x);
	x->under = l->spare;
	l->spare = x;
}

struct ledger_alloc *ledger_container(const struct ledger_device *d, uint32_t level, uint64_t addr)
{
	while (level--) {
		struct ledger_alloc **x =
			d->index[level] ? pasta_ranges_find(d->index[level], addr, NULL, NULL)
					: NULL;

		if (x)
			return *x;
	}
	return NULL;
}

/* Returns whether the allocation is a range that can contain other allocations, or that another
 * allocation can contain. Host memory of a driver is not such a range: it contains no known
 * allocations, and its addresses may be handles. */
static bool ledger_is_range(const struct ledger_alloc *x)
{
	if (x->a.level == PASTA_LEVEL_DRIVER)
		return x->a.type == PASTA_ALLOC_MANAGED ||
		       (x->a.type != PASTA_ALLOC_PHYSICAL && x->a.device != PASTA_HOST);
	return !x->named;
}

/* Returns the size of the range that the index has for an allocation. The address of a tensor is
 * somewhere in its storage, and the end of the storage is unknown, so the index has only the first
 * byte of a tensor. */
static uint64_t ledger_room(const struct ledger_alloc *x)
{
	return x->a.level == PASTA_LEVEL_TENSOR || !x->a.bytes ? 1 : x->a.bytes;
}

void ledger_index(struct pasta_ledger *l, struct ledger_alloc *x)
{
	struct pasta_ranges **index = &x->device->index[x->a.level];
	struct ledger_alloc **slot;

	if (!ledger_is_range(x) || x->a.addr > UINT64_MAX - ledger_room(x))
		return;
	if (!*index)
		*index = ledger_need(l, pasta_ranges_new(sizeof(x)));
	if (!*index)
		return;
	slot = ledger_need(l, pasta_ranges_add(*index, x->a.addr, ledger_room(x), NULL));
	if (slot)
		*slot = x;
	x->indexed = slot;
}

/* Removes an allocation from the index, unless the index has another allocation in its place. */
static void ledger_unindex(struct ledger_alloc *x)
{
	struct pasta_ranges *index = x->device->index[x->a.level];
	struct ledger_alloc **slot =
		x->indexed ? pasta_ranges_find(index, x->a.addr, NULL, NULL) : NULL;

	if (slot && *slot == x)
		pasta_ranges_remove(index, x->a.addr);
	x->indexed = false;
}

/* -- By address -- */

bool ledger_put(struct pasta_ledger *l, struct ledger_alloc *x)
{
	struct ledger_alloc **top = ledger_need(l, pasta_map_add(x->device->proc->at, x->a.addr));

	if (!top) {
		ledger_drop(l, x);
		return false;
	}
	x->under = *top;
	*top = x;
	return true;
}

static void ledger_remove(struct ledger_alloc *x)
{
	struct pasta_map *at = x->device->proc->at;
	struct ledger_alloc **top = pasta_map_find(at, x->a.addr), **to = top;

	while (to && *to && *to != x)
		to = &(*to)->under;
	if (!to || !*to)
		return;
	*to = x->under;
	if (!*top)
		pasta_map_remove(at, x->a.addr);
}

struct ledger_alloc *ledger_top(const struct ledger_proc *p, uint64_t addr)
{
	struct ledger_alloc **top = pasta_map_find(p->at, addr);

	return top ? *top : NULL;
}

/* Returns the parent that an allocation's event names. Prefers a parent with the same value of the
 * field `pool`, and a parent that is not itself a part of another allocation. If the address is
 * mapped, the event names a handle as the parent. */
struct ledger_alloc *ledger_named(const struct ledger_alloc *x)
{
	bool alias = ledger_is_alias(x);
	uint32_t pool = alias ? PASTA_ALLOC_HANDLES : x->a.pool, most = 0;
	struct ledger_alloc *at = ledger_top(x->device->proc, x->named), *best = NULL;

	for (; at; at = at->under) {
		uint32_t rank =
			at->a.pool == pool ? (at->named ? 1 : 3) : (at->named || alias ? 0 : 2);

		if (at == x || rank <= most)
			continue;
		best = at;
		most = rank;
	}
	return best;
}

/* Returns the allocation that a free event ends. Prefers an allocation of the type that the event
 * names, and then the innermost allocation. If a part starts at its parent's address, the event
 * ends the part. */
struct ledger_alloc *ledger_freed(const struct ledger_proc *p, const struct pasta_event *ev)
{
	struct ledger_alloc *at = ledger_top(p, ev->free.addr), *best = NULL;
	uint32_t most = 0;

	for (; at; at = at->under) {
		uint32_t rank = 1 + 2 * at->a.level + (at->named != 0);

		rank += ev->sub && at->a.type == ev->sub ? 100 : 0;
		if (at->a.pool == ev->free.pool && rank > most) {
			best = at;
			most = rank;
		}
	}
	return best;
}

/* -- Sums and peaks -- */

static void ledger_clear_peak(struct pasta_ledger *l, struct ledger_sum *sum)
{
	while (sum->peak_freed_count) {
		struct ledger_alloc *x = sum->peak_freed[--sum->peak_freed_count];

		if (!--x->refs && !x->live)
			ledger_drop(l, x);
	}
}

void ledger_raise(struct pasta_ledger *l, const struct ledger_alloc *x, uint32_t level)
{
	struct ledger_sum *sum = &x->device->sums[level];

	sum->known = true;
	sum->live += x->a.bytes;
	if (sum->live <= sum->peak)
		return;
	sum->peak = sum->live;
	sum->peak_time = x->device->proc->now;
	sum->peak_order = x->order;
	ledger_clear_peak(l, sum);
}

static void ledger_add_to_peak(struct pasta_ledger *l, struct ledger_sum *sum,
			       struct ledger_alloc *x)
{
	if (sum->peak_freed_count == sum->peak_freed_room) {
		size_t room = sum->peak_freed_room ? 2 * sum->peak_freed_room : 16;
		struct ledger_alloc **freed = ledger_need(
			l, reallocarray(sum->peak_freed, room, sizeof(struct ledger_alloc *)));

		if (!freed)
			return;
		sum->peak_freed = freed;
		sum->peak_freed_room = room;
	}
	sum->peak_freed[sum->peak_freed_count++] = x;
	x->refs++;
}

static void ledger_lower(struct pasta_ledger *l, struct ledger_alloc *x, uint32_t level)
{
	struct ledger_sum *sum = &x->device->sums[level];

	sum->live -= x->a.bytes;
	if (l->def->peaks >> level & 1 && x->order <= sum->peak_order)
		ledger_add_to_peak(l, sum, x);
}

void ledger_hold_no_more(struct pasta_ledger *l, struct ledger_alloc *x)
{
	if (!(x->a.flags & PASTA_ALLOCATION_HELD))
		return;
	x->a.flags &= ~(uint32_t)PASTA_ALLOCATION_HELD;
	ledger_lower(l, x, PASTA_LEVEL_HELD);
}

/* -- Ends -- */

void ledger_end_tensors(struct pasta_ledger *l, struct ledger_alloc *block,
			const struct pasta_event *ev, uint32_t flags)
{
	struct ledger_alloc *x = block->children, *next;

	for (; x; x = next) {
		next = x->next;
		if (x->live && x->a.level == PASTA_LEVEL_TENSOR)
			ledger_end(l, x, ev, flags);
	}
}

void ledger_end_found(struct pasta_ledger *l, const struct ledger_device *d, uint64_t addr,
		      uint64_t room, const struct pasta_event *ev)
{
	struct pasta_ranges *index = d->index[PASTA_LEVEL_TENSOR];
	uint64_t begin, size, end = addr + room > addr ? addr + room : UINT64_MAX;
	struct ledger_alloc **x;

	while (index && pasta_ranges_count(index) &&
	       (x = pasta_ranges_next(index, addr, &begin, &size)) && begin < end)
		ledger_end(l, *x, ev, PASTA_ALLOCATION_NO_FREE);
}

static void ledger_orphan(struct ledger_alloc *container)
{
	struct ledger_alloc *x = container->children, *next;

	for (; x; x = next) {
		next = x->next;
		if (x->live)
			ledger_link(x, ledger_is_range(x)
					       ? ledger_container(x->device, x->a.level, x->a.addr)
					       : NULL);
	}
}

static void ledger_unnumber(struct ledger_alloc *x)
{
	struct ledger_proc *p = x->device->proc;
	struct pasta_map *map = x->a.level == PASTA_LEVEL_TENSOR ? p->storages : p->numbered;
	struct ledger_alloc **known = pasta_map_find(map, x->a.number);

	if (known && *known == x)
		pasta_map_remove(map, x->a.number);
	p->waiting -= x->waits;
}

void ledger_end(struct pasta_ledger *l, struct ledger_alloc *x, const struct pasta_event *ev,
		uint32_t flags)
{
	if (x->a.level == PASTA_LEVEL_BLOCK)
		ledger_end_tensors(l, x, ev, flags);
	x->live = false;
	x->a.freed = x->device->proc->now ? x->device->proc->now : 1; /* 0 means live */
	x->a.freed_stack = ev->kind == PASTA_KIND_FREE ? ev->free.stack : 0;
	x->a.flags |= flags;
	if (!ledger_is_alias(x))
		ledger_lower(l, x, x->a.level);
	if (x->a.flags & PASTA_ALLOCATION_HELD)
		ledger_lower(l, x, PASTA_LEVEL_HELD);
	if (x->a.level != PASTA_LEVEL_TENSOR)
		ledger_remove(x);
	ledger_unnumber(x);
	ledger_unindex(x);
	ledger_orphan(x);
	if (l->def->on_free)
		l->def->on_free(l->state, &x->a, ev, l->where);
	if (!x->refs)
		ledger_drop(l, x);
}

/* -- Segments, which can be freed in parts -- */

/* Splits a segment in two. The bytes from `addr` on become a separate allocation. */
static void ledger_split(struct pasta_ledger *l, struct ledger_alloc *x, uint64_t addr)
{
	struct ledger_alloc *y = ledger_alloc_new(l), *child, *next;
	void *data = y ? y->a.data : NULL;

	if (!y)
		return;
	y->a = x->a;
	y->a.parent = NULL;
	y->a.data = data;
	y->a.addr = addr;
	y->a.bytes = x->a.addr + x->a.bytes - addr;
	if (data)
		memcpy(data, x->a.data, l->def->data_size);
	y->device = x->device;
	y->order = x->order;
	y->live = true;
	if (!ledger_put(l, y))
		return;
	ledger_unindex(x);
	x->a.bytes = addr - x->a.addr;
	ledger_index(l, x);
	ledger_index(l, y);
	ledger_link(y, ledger_container(y->device, y->a.level, addr));
	for (child = x->children; child; child = next) {
		next = child->next;
		if (child->a.addr >= addr)
			ledger_link(child, y);
	}
	/* At the peak, the segment counted as HELD, although it has a parent now. */
	if (x->refs)
		ledger_add_to_peak(l, &x->device->sums[PASTA_LEVEL_HELD], y);
}

bool ledger_cut(struct pasta_ledger *l, const struct ledger_device *d, uint64_t from, uint64_t to,
		const struct pasta_event *ev, uint32_t flags)
{
	struct pasta_ranges *index = d->index[PASTA_LEVEL_SEGMENT];
	uint64_t begin, size;
	struct ledger_alloc **x;
	bool any = false;

	while (!l->error && index && from < to &&
	       (x = pasta_ranges_next(index, from, &begin, &size)) && begin < to) {
		if (begin < from) {
			ledger_split(l, *x, from);
			continue;
		}
		if (begin + size > to)
			ledger_split(l, *x, to);
		x = l->error ? NULL : pasta_ranges_find(index, begin, NULL, NULL);
		if (x)
			ledger_end(l, *x, ev, flags);
		from = begin + size;
		any = true;
	}
	return any;
}
