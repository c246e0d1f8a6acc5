/*
 * vmm.c - records the driver's virtual memory management: cuMemCreate, cuMemMap and their
 * counterparts.
 *
 * A handle identifies physical memory. The memory is freed when its last reference is released and
 * no address is mapped to it. A mapped address range is recorded as an allocation whose parent is
 * the handle. Some versions of CUPTI also report mapped ranges as allocated memory; records.c skips
 * these reports (cupti_vmm_has).
 */
#include <pthread.h>

#include <pasta/map.h>
#include <pasta/ranges.h>

#include "collect/stack.h"
#include "core/lock.h"
#include "handlers/cupti/cupti.h"

enum { ON_DEVICE = 1, NUMBERS = 1 << 16 };

struct vmm_memory {
	uint64_t bytes, serial;
	uint32_t refs, maps, device, context;
	uint8_t type;
};

struct vmm_mapping {
	uint64_t handle, serial; /* `serial` is 0 if another process created the memory */
	uint32_t device, context;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pasta_map *blocks;      /* by handle */
static struct pasta_ranges *mappings; /* by address */
static uint64_t serials;
static uint64_t took; /* duration of the current call; 0: the call has not ended */
/* The correlation ids of recent virtual memory management calls, indexed by their low bits. CUPTI
 * delivers the records of a call long before the call's slot is reused. */
static _Atomic uint32_t numbers[NUMBERS];

static bool vmm_open_tables(void)
{
	if (!blocks)
		blocks = pasta_map_new(sizeof(struct vmm_memory));
	if (!mappings)
		mappings = pasta_ranges_new(sizeof(struct vmm_mapping));
	return blocks && mappings;
}

static void vmm_emit_alloc(uint64_t addr, const struct vmm_memory *b, uint8_t type, uint64_t bytes,
			   uint64_t parent)
{
	struct pasta_event ev;

	if (!pasta_agent_records(PASTA_KIND_ALLOC))
		return;
	pasta_event_init(&ev, PASTA_KIND_ALLOC, type, PASTA_EVENT_SIZE(alloc));
	ev.alloc.addr = addr;
	ev.alloc.bytes = bytes;
	ev.alloc.parent = parent;
	ev.alloc.stack = pasta_stack_capture();
	ev.alloc.context = b->context;
	ev.alloc.device = b->device;
	ev.alloc.pool = parent ? 0 : PASTA_ALLOC_HANDLES;
	ev.alloc.dur = took;
	ev.time = pasta_now();
	pasta_emit(&ev);
}

static void vmm_emit_free(uint64_t addr, uint64_t bytes, uint32_t device, uint32_t context,
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
	ev.free.dur = took;
	ev.time = pasta_now();
	pasta_emit(&ev);
}

/* Emit a free record for physical memory that has no reference and no mapping left. */
static void vmm_end_unused(uint64_t handle, const struct vmm_memory *b)
{
	if (b->refs || b->maps)
		return;
	vmm_emit_free(handle, b->bytes, b->device, b->context, PASTA_ALLOC_HANDLES);
	pasta_map_remove(blocks, handle);
}

static void vmm_create(const struct cupti_call *call)
{
	const struct cu_mem_create *p = call->params;
	struct vmm_memory *b;

	if (!p->handle || !p->prop)
		return;
	b = pasta_map_find(blocks, *p->handle);
	if (b) /* the driver reused the handle before another thread's cuMemUnmap returned */
		vmm_emit_free(*p->handle, b->bytes, b->device, b->context, PASTA_ALLOC_HANDLES);
	b = pasta_map_add(blocks, *p->handle);
	if (!b) {
		pasta_emit_loss(PASTA_LOSS_MEMORY, 1);
		return;
	}
	*b = (struct vmm_memory){.bytes = p->size, .serial = ++serials, .refs = 1};
	b->context = call->context_id;
	b->type = PASTA_ALLOC_HOST;
	if (p->prop->location == ON_DEVICE) {
		b->type = PASTA_ALLOC_PHYSICAL;
		b->device = p->prop->id;
	}
	vmm_emit_alloc(*p->handle, b, b->type, b->bytes, 0);
}

static void vmm_retain(const struct cupti_call *call)
{
	const struct cu_mem_retain *p = call->params;
	struct vmm_memory *b = p->handle ? pasta_map_find(blocks, *p->handle) : NULL;

	if (b)
		b->refs++;
}

/* Runs before cuMemRelease, because the driver may reuse the handle before that call returns. */
static void vmm_release(const struct cupti_call *call)
{
	const struct cu_mem_release *p = call->params;
	struct vmm_memory *b = pasta_map_find(blocks, p->handle);

	if (!b || !b->refs)
		return;
	b->refs--;
	vmm_end_unused(p->handle, b);
}

static void vmm_map(const struct cupti_call *call)
{
	const struct cu_mem_map *p = call->params;
	struct vmm_memory *b = pasta_map_find(blocks, p->handle),
			  other = {.context = call->context_id};
	struct vmm_mapping *m = pasta_ranges_add(mappings, p->address, p->size, NULL);

	if (!m) {
		pasta_emit_loss(PASTA_LOSS_MEMORY, 1);
		return;
	}
	*m = (struct vmm_mapping){.handle = p->handle, .context = call->context_id};
	if (b) {
		m->serial = b->serial;
		m->device = b->device;
		b->maps++;
	}
	vmm_emit_alloc(p->address, b ? b : &other, PASTA_ALLOC_MAPPED, p->size, p->handle);
}

static void vmm_unmap(const struct cupti_call *call)
{
	const struct cu_mem_unmap *p = call->params;
	uint64_t at = p->address, end = at + p->size, begin, size;
	struct vmm_mapping *m;

	while ((m = pasta_ranges_next(mappings, at, &begin, &size)) && begin < end) {
		struct vmm_memory *b = pasta_map_find(blocks, m->handle);

		at = begin + size;
		vmm_emit_free(begin, size, m->device, m->context, 0);
		if (b && b->serial == m->serial && b->maps) {
			b->maps--;
			vmm_end_unused(m->handle, b);
		}
		pasta_ranges_remove(mappings, begin);
	}
}

static const struct {
	const char *name;
	void (*call)(const struct cupti_call *);
	uint32_t site; /* 0 to handle the call at its start, 1 to handle the call at its end */
} calls[] = {
	{"cuMemCreate", vmm_create, 1},	  {"cuMemRetainAllocationHandle", vmm_retain, 1},
	{"cuMemRelease", vmm_release, 0}, {"cuMemMap", vmm_map, 1},
	{"cuMemUnmap", vmm_unmap, 1},	  {"cuMemSetAccess", NULL, 0},
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
	uint32_t tid;
	size_t i = 0;

	while (i < CALLS && strcmp(call->function, calls[i].name) != 0)
		i++;
	if (call->site) {
		cupti_call_note_end(call);
	} else {
		cupti_call_note(call);
		atomic_store_explicit(&numbers[call->correlation % NUMBERS], call->correlation,
				      memory_order_relaxed);
	}
	if (i == CALLS || !calls[i].call || call->site != calls[i].site || !call->params ||
	    (call->site && call->ret && *(const int *)call->ret))
		return;
	pasta_lock(&lock);
	took = cupti_call_span(call->correlation, &tid);
	if (vmm_open_tables())
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
