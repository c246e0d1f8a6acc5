/* ledger.c - handles the events of a ledger, and finds the level and the parent of each allocation.
 * */
#include "process/sdk/ledger.h"

#include <stdlib.h>
#include <string.h>

/* -- Finding -- */

static struct ledger_proc *ledger_proc_new(uint32_t number)
{
	struct ledger_proc *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->proc = number;
	p->imported = *pasta_process(number)->source != '\0';
	p->devices = pasta_map_new(sizeof(struct ledger_device));
	p->at = pasta_map_new(sizeof(struct ledger_alloc *));
	p->numbered = pasta_map_new(sizeof(struct ledger_alloc *));
	p->storages = pasta_map_new(sizeof(struct ledger_alloc *));
	if (p->devices && p->at && p->numbered && p->storages)
		return p;
	ledger_proc_free(p);
	return NULL;
}

static struct ledger_proc *ledger_proc_of(struct pasta_ledger *l, uint32_t number)
{
	struct ledger_proc **slot;

	if (l->last && l->last->proc == number)
		return l->last;
	slot = ledger_need(l, pasta_map_add(l->procs, number));
	if (!slot)
		return NULL;
	if (!*slot)
		*slot = ledger_need(l, ledger_proc_new(number));
	l->last = *slot;
	return *slot;
}

static struct ledger_device *ledger_device_of(struct pasta_ledger *l, struct ledger_proc *p,
					      uint32_t device)
{
	struct ledger_device *d = ledger_need(l, pasta_map_add(p->devices, device));

	if (d) {
		d->proc = p;
		d->device = device;
	}
	return d;
}

/* -- Allocations -- */

static uint32_t ledger_level(const struct ledger_proc *p, const struct pasta_event *ev)
{
	const struct pasta_alloc_record *r = &ev->alloc;

	switch (ev->sub) {
	case PASTA_ALLOC_SEGMENT:
		return PASTA_LEVEL_SEGMENT;
	case PASTA_ALLOC_PHYSICAL:
	case PASTA_ALLOC_MAPPED:
		return PASTA_LEVEL_DRIVER;
	case PASTA_ALLOC_POOL:
		return r->origin ? PASTA_LEVEL_DRIVER : PASTA_LEVEL_BLOCK;
	}
	if (r->parent || (p->imported && !(r->flags & PASTA_ALLOC_BY_DRIVER)))
		return PASTA_LEVEL_BLOCK;
	if (ev->sub == PASTA_ALLOC_HOST && r->pool && r->pool != PASTA_ALLOC_HANDLES &&
	    !p->imported)
		return PASTA_LEVEL_BLOCK;
	return PASTA_LEVEL_DRIVER;
}

/* Ends the allocations that overlap a new allocation, because the records of their frees are
 * missing. */
static void ledger_evict(struct pasta_ledger *l, const struct ledger_device *d, uint32_t level,
			 const struct pasta_event *ev)
{
	const struct pasta_alloc_record *r = &ev->alloc;
	struct pasta_ranges *index = r->parent ? NULL : d->index[level];
	uint64_t begin, size, room = r->bytes ? r->bytes : 1;
	struct ledger_alloc *x, **slot;

	if (level == PASTA_LEVEL_SEGMENT && r->addr <= UINT64_MAX - room)
		l->missing[level] +=
			ledger_cut(l, d, r->addr, r->addr + room, ev, PASTA_ALLOCATION_NO_FREE);
	while (level == PASTA_LEVEL_BLOCK && index &&
	       (slot = pasta_ranges_next(index, r->addr, &begin, &size)) &&
	       (begin <= r->addr || begin - r->addr < room)) {
		l->missing[level]++;
		ledger_end(l, *slot, ev, PASTA_ALLOCATION_NO_FREE);
	}
	x = ledger_top(d->proc, r->addr);
	while (x && (x->a.pool != r->pool || x->a.level != level || !x->named != !r->parent))
		x = x->under;
	if (x) {
		l->missing[level]++;
		ledger_end(l, x, ev, PASTA_ALLOCATION_NO_FREE);
	}
	if (level == PASTA_LEVEL_BLOCK && !r->parent)
		ledger_end_found(l, d, r->addr, room, ev);
}

/* Links an allocation as the parent of allocations that are inside it and were reported earlier. */
static void ledger_adopt(struct pasta_ledger *l, struct ledger_alloc *x)
{
	uint64_t begin, size, at, end = x->a.addr + x->a.bytes;
	struct ledger_alloc **slot, *child;
	uint32_t level;

	for (level = x->a.level + 1; x->indexed && level < PASTA_LEVEL_HELD; level++) {
		struct pasta_ranges *index = x->device->index[level];

		if (!index || !pasta_ranges_count(index))
			continue;
		for (at = x->a.addr;
		     at < end && (slot = pasta_ranges_next(index, at, &begin, &size)) &&
		     begin < end;
		     at = begin + size) {
			child = *slot;
			if (begin < x->a.addr ||
			    (child->a.parent && child->a.parent->level >= x->a.level))
				continue;
			ledger_link(child, x);
			ledger_hold_no_more(l, child);
		}
	}
}

/* Links an allocation as the parent of allocations whose events named it before it was reported. */
static void ledger_adopt_named(struct ledger_proc *p, struct ledger_alloc *x)
{
	struct ledger_alloc **slot;
	size_t at = 0;

	while (p->waiting && (slot = pasta_map_next(p->numbered, &at, NULL))) {
		struct ledger_alloc *child = *slot;

		if (!child->waits || child->named != x->a.addr || ledger_named(child) != x)
			continue;
		child->waits = false;
		p->waiting--;
		ledger_link(child, x);
	}
}

static void ledger_find_parent(struct ledger_alloc *x)
{
	struct ledger_alloc *parent = NULL;

	if (x->named) {
		parent = ledger_named(x);
		x->waits = !parent;
		x->device->proc->waiting += x->waits;
	} else if (x->a.level != PASTA_LEVEL_DRIVER) {
		parent = ledger_container(x->device, x->a.level, x->a.addr);
	}
	ledger_link(x, parent);
}

static struct ledger_alloc *ledger_make(struct pasta_ledger *l, struct ledger_device *d,
					uint32_t level, const struct pasta_event *ev)
{
	const struct pasta_alloc_record *r = &ev->alloc;
	struct ledger_alloc *x = ledger_alloc_new(l), **slot;

	if (!x)
		return NULL;
	x->a.level = level;
	x->a.number = d->proc->numbers;
	x->a.addr = r->addr;
	x->a.bytes = r->bytes;
	x->a.time = d->proc->now;
	x->a.proc = ev->proc;
	x->a.device = d->device;
	x->a.name = r->name;
	x->a.stack = r->stack;
	x->a.type = ev->sub;
	x->a.pool = r->pool;
	x->a.flags = (ev->sub == PASTA_ALLOC_MAPPED ? PASTA_ALLOCATION_ALIAS : 0u) |
		     (r->parent ? PASTA_ALLOCATION_PART : 0u) |
		     (r->flags & PASTA_ALLOC_EARLIER ? PASTA_ALLOCATION_EARLIER : 0u);
	x->named = r->parent;
	x->device = d;
	x->order = ++d->proc->orders;
	x->live = true;
	if (!ledger_put(l, x))
		return NULL;
	slot = ledger_need(l, pasta_map_add(d->proc->numbered, x->a.number));
	if (slot)
		*slot = x;
	return x;
}

/* Returns whether the event reports a segment that the ledger already has. */
static bool ledger_is_known(const struct ledger_device *d, const struct pasta_event *ev)
{
	struct pasta_ranges *index = d->index[PASTA_LEVEL_SEGMENT];
	uint64_t begin, size;

	return ev->sub == PASTA_ALLOC_SEGMENT && index &&
	       pasta_ranges_find(index, ev->alloc.addr, &begin, &size) && begin == ev->alloc.addr &&
	       size == ev->alloc.bytes;
}

static void ledger_on_alloc(struct pasta_ledger *l, struct ledger_proc *p,
			    const struct pasta_event *ev)
{
	uint32_t level = ledger_level(p, ev);
	struct ledger_device *d =
		ledger_device_of(l, p, ev->sub == PASTA_ALLOC_HOST ? PASTA_HOST : ev->alloc.device);
	struct ledger_alloc *x;

	p->numbers++;
	if (!d || ledger_is_known(d, ev))
		return;
	if (level == PASTA_LEVEL_SEGMENT && !d->segments) {
		d->segments = true;
		d->sums[level].live = 0;
	}
	ledger_evict(l, d, level, ev);
	x = l->error ? NULL : ledger_make(l, d, level, ev);
	if (!x || l->error)
		return;
	ledger_find_parent(x);
	ledger_index(l, x);
	ledger_adopt(l, x);
	ledger_adopt_named(p, x);
	if (!ledger_is_alias(x))
		ledger_raise(l, x, level);
	if (!x->named && !x->a.parent) {
		x->a.flags |= PASTA_ALLOCATION_HELD;
		ledger_raise(l, x, PASTA_LEVEL_HELD);
	}
	if (l->def->on_alloc)
		l->def->on_alloc(l->state, &x->a, ev, l->where);
}

/* -- Other events -- */

static uint32_t ledger_level_freed(const struct ledger_proc *p, const struct pasta_event *ev)
{
	if (ev->sub == PASTA_ALLOC_SEGMENT)
		return PASTA_LEVEL_SEGMENT;
	return ev->sub == PASTA_ALLOC_POOL || p->imported ? PASTA_LEVEL_BLOCK : PASTA_LEVEL_DRIVER;
}

static void ledger_on_free(struct pasta_ledger *l, struct ledger_proc *p,
			   const struct pasta_event *ev)
{
	const struct pasta_free_record *r = &ev->free;
	const struct ledger_device *d =
		pasta_map_find(p->devices, ev->sub == PASTA_ALLOC_HOST ? PASTA_HOST : r->device);
	struct ledger_alloc *x;

	if (ev->sub == PASTA_ALLOC_SEGMENT && d && r->bytes && r->addr <= UINT64_MAX - r->bytes &&
	    ledger_cut(l, d, r->addr, r->addr + r->bytes, ev, 0))
		return;
	x = ledger_freed(p, ev);
	if (x) {
		ledger_end(l, x, ev, 0);
		return;
	}
	l->unknown[ledger_level_freed(p, ev)]++;
	if (d)
		ledger_end_found(l, d, r->addr, r->bytes ? r->bytes : 1, ev);
}

static void ledger_on_tensor(struct pasta_ledger *l, struct ledger_proc *p,
			     const struct pasta_event *ev)
{
	const struct pasta_tensor_record *r = &ev->tensor;
	struct ledger_device *d;
	struct ledger_alloc *x, *parent, **slot;

	if (!r->storage || !r->addr || pasta_map_find(p->storages, r->storage))
		return;
	d = ledger_device_of(l, p, r->device ? r->device - 1 : PASTA_HOST);
	slot = ledger_need(l, pasta_map_add(p->storages, r->storage));
	x = d && slot ? ledger_alloc_new(l) : NULL;
	if (!x)
		return;
	*slot = x;
	parent = ledger_container(d, PASTA_LEVEL_TENSOR, r->addr);
	if (parent && parent->a.level == PASTA_LEVEL_BLOCK)
		ledger_end_tensors(l, parent, ev, PASTA_ALLOCATION_NO_FREE);
	else
		ledger_end_found(l, d, r->addr, 1, ev);
	x->a.level = PASTA_LEVEL_TENSOR;
	x->a.number = r->storage;
	x->a.addr = r->addr;
	x->a.bytes = r->bytes;
	x->a.time = p->now;
	x->a.proc = ev->proc;
	x->a.device = d->device;
	x->device = d;
	x->order = ++p->orders;
	x->live = true;
	ledger_link(x, parent);
	if (!parent || parent->a.level != PASTA_LEVEL_BLOCK)
		ledger_index(l, x);
	ledger_raise(l, x, PASTA_LEVEL_TENSOR);
	if (l->def->on_alloc)
		l->def->on_alloc(l->state, &x->a, ev, l->where);
}

static bool ledger_is_reserved(struct pasta_ledger *l, uint32_t name)
{
	if (name == l->reserved || name == l->other)
		return name && name == l->reserved;
	*(strcmp(pasta_str(name), "reserved") ? &l->other : &l->reserved) = name;
	return name == l->reserved;
}

/* Sets the reserved bytes of a device from a counter, unless they are the sum of the device's
 * segments. */
static void ledger_on_counter(struct pasta_ledger *l, struct ledger_proc *p,
			      const struct pasta_event *ev)
{
	double value = ev->counter.value;
	struct ledger_device *d;
	struct ledger_sum *sum;

	if (!ledger_is_reserved(l, ev->counter.name) || !(value >= 0 && value < 0x1p63))
		return;
	d = ledger_device_of(l, p, ev->counter.device);
	if (!d || d->segments)
		return;
	sum = &d->sums[PASTA_LEVEL_SEGMENT];
	sum->known |= value > 0;
	sum->live = (uint64_t)value;
	if (sum->live > sum->peak) {
		sum->peak = sum->live;
		sum->peak_time = p->now;
	}
	if (l->def->on_reserved)
		l->def->on_reserved(l->state, d->device, ev, l->where);
}

/* Adds an event. If the event is earlier than the previous event, it gets the time of the previous
 * event. */
void pasta_ledger_event(struct pasta_ledger *l, const struct pasta_event *ev,
			const struct pasta_where *where)
{
	static void (*const on[PASTA_KIND_MAX])(struct pasta_ledger *, struct ledger_proc *,
						const struct pasta_event *) = {
		[PASTA_KIND_ALLOC] = ledger_on_alloc,
		[PASTA_KIND_FREE] = ledger_on_free,
		[PASTA_KIND_TENSOR] = ledger_on_tensor,
		[PASTA_KIND_COUNTER] = ledger_on_counter,
	};
	struct ledger_proc *p;

	if (l->error || ev->kind >= PASTA_KIND_MAX || !on[ev->kind])
		return;
	p = ledger_proc_of(l, ev->proc);
	if (!p)
		return;
	p->now = ev->time > p->now ? ev->time : p->now;
	l->where = where;
	on[ev->kind](l, p, ev);
}
