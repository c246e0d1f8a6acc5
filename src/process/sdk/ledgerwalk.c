/* ledgerwalk.c - creates, merges, queries and frees ledgers. */
#include <errno.h>
#include <stdlib.h>

#include "process/sdk/ledger.h"
#include "process/sdk/owned.h"

/* -- Making and freeing -- */

uint64_t pasta_ledger_kinds(const struct pasta_ledger_def *def)
{
	uint64_t kinds = PASTA_LEDGER_MUST;

	if (!def)
		return 0;
	kinds |= def->levels & PASTA_LEVEL_MASK(TENSOR) ? PASTA_MASK(TENSOR) : 0;
	kinds |= def->levels & PASTA_LEVEL_MASK(SEGMENT) ? PASTA_MASK(COUNTER) : 0;
	return kinds;
}

struct pasta_ledger *pasta_ledger_new(const struct pasta_ledger_def *def, void *state)
{
	struct pasta_ledger *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->def = def;
	l->state = state;
	l->procs = pasta_map_new(sizeof(struct ledger_proc *));
	if (l->procs)
		return l;
	pasta_ledger_free(l);
	return NULL;
}

static void ledger_device_free(struct ledger_device *d)
{
	for (size_t level = 0; level < PASTA_LEVEL_COUNT; level++) {
		struct ledger_sum *sum = &d->sums[level];

		while (sum->peak_freed_count) {
			struct ledger_alloc *x = sum->peak_freed[--sum->peak_freed_count];

			if (!--x->refs && !x->live)
				free(x);
		}
		free(sum->peak_freed);
	}
	for (size_t level = 0; level < PASTA_LEVEL_HELD; level++)
		pasta_ranges_free(d->index[level]);
}

void ledger_proc_free(struct ledger_proc *p)
{
	struct ledger_alloc **slot, *x, *under;
	struct ledger_device *d;
	size_t at = 0;

	if (!p)
		return;
	while (p->devices && (d = pasta_map_next(p->devices, &at, NULL)))
		ledger_device_free(d);
	for (at = 0; p->at && (slot = pasta_map_next(p->at, &at, NULL));)
		for (x = *slot; x; x = under) {
			under = x->under;
			free(x);
		}
	for (at = 0; p->storages && (slot = pasta_map_next(p->storages, &at, NULL));)
		free(*slot);
	pasta_map_free(p->devices);
	pasta_map_free(p->at);
	pasta_map_free(p->numbered);
	pasta_map_free(p->storages);
	free(p);
}

void pasta_ledger_free(struct pasta_ledger *l)
{
	struct ledger_proc **p;
	struct ledger_alloc *under;
	size_t at = 0;

	if (!l)
		return;
	while (l->procs && (p = pasta_map_next(l->procs, &at, NULL)))
		ledger_proc_free(*p);
	for (; l->spare; l->spare = under) {
		under = l->spare->under;
		free(l->spare);
	}
	pasta_map_free(l->procs);
	free(l->walk);
	free(l);
}

int pasta_ledger_merge(struct pasta_ledger *into, struct pasta_ledger *from)
{
	struct ledger_proc **p, **to;
	uint64_t proc;
	size_t at = 0;

	if (!into->error)
		into->error = from->error;
	while ((p = pasta_map_next(from->procs, &at, &proc))) {
		to = *p ? pasta_map_add(into->procs, proc) : NULL;
		if (*p && !to)
			into->error = -ENOMEM;
		else if (*p && *to)
			into->error = -EEXIST;
		if (into->error)
			return into->error;
		if (!*p)
			continue;
		*to = *p;
		*p = NULL;
	}
	from->last = NULL;
	for (size_t level = 0; level < PASTA_LEVEL_COUNT; level++) {
		into->unknown[level] += from->unknown[level];
		into->missing[level] += from->missing[level];
	}
	return into->error;
}

/* -- In a tool's state -- */

struct pasta_ledger *pasta_ledger_in(const struct pasta_tool *tool, const void *state)
{
	return tool->ledger
		       ? *(struct pasta_ledger **)((uintptr_t)state + tool->ledger->state_offset)
		       : NULL;
}

int pasta_ledger_check(const struct pasta_tool *tool, struct pasta_error *err)
{
	const struct pasta_ledger_def *def = tool->ledger;

	if (def->size != sizeof(*def))
		return pasta_fail(err, -EINVAL,
				  "the tool's ledger declaration has the wrong .size %u: declare "
				  "the ledger with PASTA_LEDGER",
				  def->size);
	if (!pasta_owned_fits(tool, def->state_offset))
		return pasta_fail(err, -EINVAL,
				  "the pointer to the ledger is outside of the tool's state: set "
				  ".state_size to the size of the struct that PASTA_LEDGER names");
	return 0;
}

/* -- Asking -- */

const char *pasta_level_text(uint32_t level)
{
	static const char *const texts[PASTA_LEVEL_COUNT] = {"driver", "reserved", "allocated",
							     "tensors", "held"};

	return level < PASTA_LEVEL_COUNT ? texts[level] : "";
}

struct ledger_proc *ledger_proc_find(const struct pasta_ledger *l, uint32_t proc)
{
	struct ledger_proc **p;

	if (l->last && l->last->proc == proc)
		return l->last;
	p = pasta_map_find(l->procs, proc);
	return p ? *p : NULL;
}

struct ledger_device *ledger_device_find(const struct pasta_ledger *l, uint32_t proc,
					 uint32_t device)
{
	struct ledger_proc *p = ledger_proc_find(l, proc);

	return p ? pasta_map_find(p->devices, device) : NULL;
}

static const struct ledger_sum *ledger_sum(const struct pasta_ledger *l, uint32_t proc,
					   uint32_t device, uint32_t level)
{
	static const struct ledger_sum none;
	struct ledger_device *d =
		level < PASTA_LEVEL_COUNT ? ledger_device_find(l, proc, device) : NULL;

	return d ? &d->sums[level] : &none;
}

uint64_t pasta_ledger_live(const struct pasta_ledger *l, uint32_t proc, uint32_t device,
			   uint32_t level)
{
	return ledger_sum(l, proc, device, level)->live;
}

uint64_t pasta_ledger_peak(const struct pasta_ledger *l, uint32_t proc, uint32_t device,
			   uint32_t level, uint64_t *time)
{
	const struct ledger_sum *sum = ledger_sum(l, proc, device, level);

	if (time)
		*time = sum->peak_time;
	return sum->peak;
}

bool pasta_ledger_has(const struct pasta_ledger *l, uint32_t proc, uint32_t device, uint32_t level)
{
	return ledger_sum(l, proc, device, level)->known;
}

static const struct pasta_allocation *ledger_tensor_in(const struct ledger_alloc *block)
{
	const struct ledger_alloc *x = block->children;

	while (x && !(x->live && x->a.level == PASTA_LEVEL_TENSOR))
		x = x->next;
	return x ? &x->a : NULL;
}

static struct ledger_alloc *ledger_find(const struct ledger_proc *p, uint32_t level, uint64_t addr)
{
	struct ledger_alloc **x = NULL;
	struct ledger_device *d;
	size_t at = 0;

	while (!x && (d = pasta_map_next(p->devices, &at, NULL)))
		x = d->index[level] ? pasta_ranges_find(d->index[level], addr, NULL, NULL) : NULL;
	return x ? *x : NULL;
}

const struct pasta_allocation *pasta_ledger_at(const struct pasta_ledger *l, uint32_t proc,
					       uint32_t level, uint64_t addr)
{
	const struct ledger_proc *p = ledger_proc_find(l, proc);
	const struct ledger_alloc *x =
		p && level < PASTA_LEVEL_HELD ? ledger_find(p, level, addr) : NULL;

	if (!x && p && level == PASTA_LEVEL_TENSOR) {
		x = ledger_find(p, PASTA_LEVEL_BLOCK, addr);
		return x ? ledger_tensor_in(x) : NULL;
	}
	return x ? &x->a : NULL;
}

const struct pasta_allocation *pasta_ledger_get(const struct pasta_ledger *l, uint32_t proc,
						uint32_t level, uint64_t number)
{
	const struct ledger_proc *p = ledger_proc_find(l, proc);
	struct ledger_alloc **x =
		p ? pasta_map_find(level == PASTA_LEVEL_TENSOR ? p->storages : p->numbered, number)
		  : NULL;

	return x && *x && (*x)->a.level == level ? &(*x)->a : NULL;
}

struct pasta_allocation *pasta_ledger_latest(const struct pasta_ledger *l, uint32_t proc,
					     uint64_t addr)
{
	const struct ledger_proc *p = ledger_proc_find(l, proc);
	struct ledger_alloc *x = p ? ledger_top(p, addr) : NULL;

	return x ? &x->a : NULL;
}

uint64_t pasta_ledger_held(const struct pasta_ledger *l, uint32_t proc)
{
	const struct ledger_proc *p = ledger_proc_find(l, proc);
	const struct ledger_device *d;
	uint64_t held = 0;
	size_t at = 0;

	while (p && (d = pasta_map_next(p->devices, &at, NULL)))
		held += d->device == PASTA_HOST ? 0 : d->sums[PASTA_LEVEL_HELD].live;
	return held;
}

uint64_t pasta_ledger_unknown_frees(const struct pasta_ledger *l, uint32_t level)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < PASTA_LEVEL_HELD; i++)
		sum += level == i || level == PASTA_LEVEL_HELD ? l->unknown[i] : 0;
	return sum;
}

uint64_t pasta_ledger_missing_frees(const struct pasta_ledger *l, uint32_t level)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < PASTA_LEVEL_HELD; i++)
		sum += level == i || level == PASTA_LEVEL_HELD ? l->missing[i] : 0;
	return sum;
}

void pasta_ledger_findings(const struct pasta_ledger *l, uint32_t level, struct pasta_out *out)
{
	pasta_out_report(
		out, .severity = PASTA_SEVERITY_NOTE,
		PASTA_COUNT(pasta_ledger_unknown_frees(l, level)),
		.what = "frees of unknown memory",
		.evidence =
			"the memory was allocated before the recording started, or the event of "
			"its allocation was dropped");
	pasta_out_report(out, .severity = PASTA_SEVERITY_WARNING,
			 PASTA_COUNT(pasta_ledger_missing_frees(l, level)),
			 .what = "allocations at addresses that were not free",
			 .evidence = "the event that freed the earlier allocation was probably "
				     "dropped; that allocation counts as freed");
}

int pasta_ledger_error(const struct pasta_ledger *l)
{
	return l->error;
}

/* -- Walks over a set of allocations, in sorted order -- */

static void ledger_walk_add(struct pasta_ledger *l, const struct ledger_alloc *x)
{
	if (l->walk_count == l->walk_room) {
		size_t room = l->walk_room ? 2 * l->walk_room : 64;
		const struct ledger_alloc **walk =
			reallocarray(l->walk, room, sizeof(const struct ledger_alloc *));

		if (!walk) {
			l->error = -ENOMEM;
			return;
		}
		l->walk = walk;
		l->walk_room = room;
	}
	l->walk[l->walk_count++] = x;
}

static bool ledger_is_in(const struct ledger_alloc *x, enum pasta_ledger_set set, uint32_t level)
{
	if (level == PASTA_LEVEL_HELD ? !(x->a.flags & PASTA_ALLOCATION_HELD) : x->a.level != level)
		return false;
	return set == PASTA_LEDGER_LIVE || (!(x->a.flags & PASTA_ALLOCATION_ALIAS) &&
					    x->order <= x->device->sums[level].peak_order);
}

static void ledger_walk_proc(struct pasta_ledger *l, const struct ledger_proc *p,
			     enum pasta_ledger_set set, uint32_t level)
{
	struct ledger_alloc **slot;
	const struct ledger_alloc *x;
	struct ledger_device *d;
	size_t at = 0;

	while (level != PASTA_LEVEL_TENSOR && (slot = pasta_map_next(p->at, &at, NULL)))
		for (x = *slot; x; x = x->under)
			if (ledger_is_in(x, set, level))
				ledger_walk_add(l, x);
	while (level == PASTA_LEVEL_TENSOR && (slot = pasta_map_next(p->storages, &at, NULL)))
		if (*slot && ledger_is_in(*slot, set, level))
			ledger_walk_add(l, *slot);
	for (at = 0; set == PASTA_LEDGER_PEAK && (d = pasta_map_next(p->devices, &at, NULL));)
		for (size_t i = 0; i < d->sums[level].peak_freed_count; i++)
			ledger_walk_add(l, d->sums[level].peak_freed[i]);
}

static int ledger_by_order(const void *a, const void *b)
{
	const struct ledger_alloc *x = *(const struct ledger_alloc *const *)a,
				  *y = *(const struct ledger_alloc *const *)b;

	if (x->a.proc != y->a.proc)
		return x->a.proc < y->a.proc ? -1 : 1;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return x->a.addr < y->a.addr ? -1 : x->a.addr > y->a.addr;
}

const struct pasta_allocation *pasta_ledger_next(struct pasta_ledger *l, enum pasta_ledger_set set,
						 uint32_t level, size_t *at)
{
	struct ledger_proc **p;
	size_t i = 0;

	if (level >= PASTA_LEVEL_COUNT)
		return NULL;
	if (!*at) {
		l->walk_count = 0;
		while ((p = pasta_map_next(l->procs, &i, NULL)))
			if (*p)
				ledger_walk_proc(l, *p, set, level);
		if (l->walk_count)
			qsort(l->walk, l->walk_count, sizeof(*l->walk), ledger_by_order);
	}
	return *at < l->walk_count ? &l->walk[(*at)++]->a : NULL;
}
