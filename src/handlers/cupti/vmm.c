/*
 * vmm.c - the driver's virtual memory management: cuMemCreate, cuMemMap and their ends.
 *
 * Memory is a handle; it ends when its last reference is released and nothing is mapped to it. An
 * address that it is mapped to is a part of it. Some versions of CUPTI have records of addresses
 * that are mapped, as if they were memory of their own: those of such calls are left out.
 */
#include <pthread.h>

#include <pasta/pasta.h>

#include "collect/stack.h"
#include "core/lock.h"
#include "handlers/cupti/cupti.h"

enum { ON_DEVICE = 1, NUMBERS = 1 << 16 };

struct block {
	uint64_t bytes, serial;
	uint32_t refs, maps, device, context;
	uint8_t sort;
};

struct mapping {
	uint64_t handle, serial; /* serial 0: the memory is another process's */
	uint32_t device, context;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pasta_map *blocks;      /* by handle */
static struct pasta_ranges *mappings; /* by address */
static uint64_t serials;
/* Correlations of calls, by their lowest bits: a record comes long before as many have passed. */
static _Atomic uint32_t numbers[NUMBERS];

static bool open_tables(void)
{
	if (!blocks)
		blocks = pasta_map_new(sizeof(struct block));
	if (!mappings)
		mappings = pasta_ranges_new(sizeof(struct mapping));
	return blocks && mappings;
}

static void alloc_event(uint64_t addr, const struct block *b, uint8_t sort, uint64_t bytes,
			uint64_t parent)
{
	struct pasta_event ev;

	if (!pasta_agent_records(PASTA_KIND_ALLOC))
		return;
	pasta_event_init(&ev, PASTA_KIND_ALLOC, sort, PASTA_EVENT_SIZE(alloc));
	ev.alloc.addr = addr;
	ev.alloc.bytes = bytes;
	ev.alloc.parent = parent;
	ev.alloc.stack = pasta_stack_capture();
	ev.alloc.context = b->context;
	ev.alloc.device = b->device;
	ev.alloc.pool = parent ? 0 : PASTA_ALLOC_HANDLES;
	ev.time = pasta_now();
	pasta_emit(&ev);
}

static void free_event(uint64_t addr, uint64_t bytes, uint32_t device, uint32_t context,
		       uint32_t pool)
{
	struct pasta_event ev;

	if (!pasta_agent_records(PASTA_KIND_FREE))
		return;
	pasta_event_init(&ev, PASTA_KIND_FREE, 0, PASTA_EVENT_SIZE(free));
	ev.free.addr = addr;
	ev.free.bytes = bytes;
	ev.free.context = context;
	ev.free.device = device;
	ev.free.pool = pool;
	ev.time = pasta_now();
	pasta_emit(&ev);
}

/* What has no reference and no address any more is no more. */
static void settle(uint64_t handle, const struct block *b)
{
	if (b->refs || b->maps)
		return;
	free_event(handle, b->bytes, b->device, b->context, PASTA_ALLOC_HANDLES);
	pasta_map_remove(blocks, handle);
}

static void create(const struct cupti_call *call)
{
	const struct cu_mem_create *p = call->params;
	struct block *b;

	if (!p->handle || !p->prop)
		return;
	b = pasta_map_find(blocks, *p->handle);
	if (b) /* it is gone: another thread's unmap has not returned yet */
		free_event(*p->handle, b->bytes, b->device, b->context, PASTA_ALLOC_HANDLES);
	b = pasta_map_add(blocks, *p->handle);
	if (!b) {
		pasta_emit_loss(PASTA_LOSS_MEMORY, 1);
		return;
	}
	*b = (struct block){.bytes = p->size, .serial = ++serials, .refs = 1};
	b->context = call->context_id;
	b->sort = PASTA_ALLOC_HOST;
	if (p->prop->location == ON_DEVICE) {
		b->sort = PASTA_ALLOC_PHYSICAL;
		b->device = p->prop->id;
	}
	alloc_event(*p->handle, b, b->sort, b->bytes, 0);
}

static void retain(const struct cupti_call *call)
{
	const struct cu_mem_retain *p = call->params;
	struct block *b = p->handle ? pasta_map_find(blocks, *p->handle) : NULL;

	if (b)
		b->refs++;
}

/* As it begins: when it has ended, the handle may be another's already. */
static void release(const struct cupti_call *call)
{
	const struct cu_mem_release *p = call->params;
	struct block *b = pasta_map_find(blocks, p->handle);

	if (!b || !b->refs)
		return;
	b->refs--;
	settle(p->handle, b);
}

static void map(const struct cupti_call *call)
{
	const struct cu_mem_map *p = call->params;
	struct block *b = pasta_map_find(blocks, p->handle), other = {.context = call->context_id};
	struct mapping *m = pasta_ranges_add(mappings, p->address, p->size, NULL);

	if (!m) {
		pasta_emit_loss(PASTA_LOSS_MEMORY, 1);
		return;
	}
	*m = (struct mapping){.handle = p->handle, .context = call->context_id};
	if (b) {
		m->serial = b->serial;
		m->device = b->device;
		b->maps++;
	}
	alloc_event(p->address, b ? b : &other, PASTA_ALLOC_MAPPED, p->size, p->handle);
}

static void unmap(const struct cupti_call *call)
{
	const struct cu_mem_unmap *p = call->params;
	uint64_t at = p->address, end = at + p->size, begin, size;
	struct mapping *m;

	while ((m = pasta_ranges_next(mappings, at, &begin, &size)) && begin < end) {
		struct block *b = pasta_map_find(blocks, m->handle);

		at = begin + size;
		free_event(begin, size, m->device, m->context, 0);
		if (b && b->serial == m->serial && b->maps) {
			b->maps--;
			settle(m->handle, b);
		}
		pasta_ranges_remove(mappings, begin);
	}
}

static const struct {
	const char *name;
	void (*call)(const struct cupti_call *);
	uint32_t site; /* where it is done: as it begins, or when it has ended */
} calls[] = {
	{"cuMemCreate", create, 1},   {"cuMemRetainAllocationHandle", retain, 1},
	{"cuMemRelease", release, 0}, {"cuMemMap", map, 1},
	{"cuMemUnmap", unmap, 1},     {"cuMemSetAccess", NULL, 0},
};

#define CALLS (sizeof(calls) / sizeof(*calls))

bool cupti_vmm_is(const char *function)
{
	if (!pasta_agent_records(PASTA_KIND_ALLOC) && !pasta_agent_records(PASTA_KIND_FREE))
		return false;
	for (size_t i = 0; i < CALLS; i++)
		if (!strcmp(function, calls[i].name))
			return true;
	return false;
}

void cupti_vmm_call(const struct cupti_call *call)
{
	size_t i = 0;

	while (i < CALLS && strcmp(call->function, calls[i].name) != 0)
		i++;
	if (!call->site)
		atomic_store_explicit(&numbers[call->correlation % NUMBERS], call->correlation,
				      memory_order_relaxed);
	if (i == CALLS || !calls[i].call || call->site != calls[i].site || !call->params ||
	    (call->site && call->ret && *(const int *)call->ret))
		return;
	pasta_lock(&lock);
	if (open_tables())
		calls[i].call(call);
	else
		pasta_emit_loss(PASTA_LOSS_MEMORY, 1);
	pasta_unlock(&lock);
}

bool cupti_vmm_has(uint32_t correlation)
{
	return correlation && atomic_load_explicit(&numbers[correlation % NUMBERS],
						   memory_order_relaxed) == correlation;
}
