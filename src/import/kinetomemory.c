/*
 * kinetomemory.c - imports memory records of the PyTorch Profiler.
 *
 * The trace has no records of allocations that were made before its start. But it has records of
 * their frees, and each record has the total of allocated bytes. So the importer adds allocations
 * at the start of the trace: one for each block that the trace frees but does not allocate, and one
 * for the rest of the first record's total.
 */
#include <stdlib.h>
#include <string.h>

#include "import/digits.h"
#include "import/kineto.h"

/* A record is stored as a span without a duration. */
/* Bits of the member `sub`: the record is a free; the record has the total of allocated bytes. */
enum { FREED = 1, TOTAL = 2 };

/* First address of the allocations that the importer adds. This address is higher than all
 * addresses of devices and processors. */
#define NOWHERE (UINT64_C(1) << 59)

struct record {
	uint64_t bytes, addr, total;
	uint32_t device;
	bool freed, has_total;
};

/* The state of the memory of one device, or of the host. */
struct pool {
	/* map from an address to a bool: whether a block at this address is allocated */
	struct pasta_map *blocks;
	/* bytes that were allocated before the trace and that the trace does not free */
	uint64_t before;
	bool seen;
};

static void put_counter(struct pasta_kineto *k, const struct pasta_chromeevent *e, uint32_t *name,
			const char *text, uint32_t device, uint64_t value)
{
	struct pasta_event ev = PASTA_TRACE_EVENT(counter, COUNTER, 0, e->ts);

	if (!*name)
		*name = pasta_trace_str(k->t, text, strlen(text));
	ev.counter.value = (double)value;
	ev.counter.name = *name;
	ev.counter.device = device;
	pasta_trace_event(k->t, PASTA_TRACE_MEMORY, &ev, 0);
}

static void put_event(struct pasta_kineto *k, const struct record *r, uint64_t time, uint32_t tid)
{
	struct pasta_event alloc = PASTA_TRACE_EVENT(alloc, ALLOC, tid, time),
			   freed = PASTA_TRACE_EVENT(free, FREE, tid, time);

	alloc.sub = r->device == UINT32_MAX ? PASTA_ALLOC_HOST : PASTA_ALLOC_DEVICE;
	alloc.alloc.addr = freed.free.addr = r->addr;
	alloc.alloc.bytes = freed.free.bytes = r->bytes;
	alloc.alloc.device = freed.free.device = r->device;
	pasta_trace_event(k->t, PASTA_TRACE_MEMORY, r->freed ? &freed : &alloc, 0);
}

/* Stores a memory record until all records are read, because they may be in any order. */
static void memory_store(struct pasta_kineto *k, const struct record *r, uint64_t time)
{
	struct pasta_span span = {.begin = time,
				  .end = time,
				  .a = r->addr,
				  .b = r->bytes,
				  .track = (uint32_t)(r->total >> 32),
				  .name = (uint32_t)r->total,
				  .extra = r->device,
				  .sub = (uint8_t)((r->freed ? FREED : 0) |
						   (r->has_total ? TOTAL : 0))};

	if (!pasta_trace_enabled(k->t, PASTA_MASK(ALLOC)))
		return;
	if (!k->memory)
		k->memory = pasta_trace_sort(k->t);
	if (k->memory)
		pasta_spansort_add(k->memory, &span, k->t->err);
}

static bool memory_number(const struct pasta_chromeevent *e, const char *name, uint64_t *value)
{
	uint32_t token = pasta_chromeevent_arg(e, name);

	return token && !pasta_chromeevent_uint(e->tape, token, value);
}

/* Returns the device of a record. Device type 0 is the host. */
static uint32_t memory_device(const struct pasta_chromeevent *e)
{
	uint64_t type = 1, id = 0;

	memory_number(e, "Device Type", &type);
	memory_number(e, "Device Id", &id);
	return type ? (uint32_t)id : UINT32_MAX;
}

/* Imports a "[memory]" event: an allocation, or a free if the number of bytes is negative. */
int pasta_kineto_memory(struct pasta_kineto *k, const struct pasta_chromeevent *e)
{
	uint32_t bytes = pasta_chromeevent_arg(e, "Bytes");
	const struct pasta_track *track = pasta_chromeevent_track(&k->read, e);
	struct pasta_slice text = pasta_jsontape_text(e->tape, bytes);
	struct record r = {.device = memory_device(e)};
	uint64_t reserved;
	int error = -ERANGE;

	if (!bytes || !track)
		return pasta_chromeread_bad(&k->read, e->args,
					    "a memory record has no member Bytes");
	if (e->tape->tokens[bytes].type == PASTA_JSON_NUMBER)
		error = pasta_digits(text.at, text.size, 0, &r.bytes);
	if (error == -ERANGE)
		return pasta_chromeread_bad(&k->read, bytes, "an invalid size");
	r.freed = error;
	r.has_total = memory_number(e, "Total Allocated", &r.total);
	memory_number(e, "Addr", &r.addr);
	put_event(k, &r, e->ts, track->tid);
	memory_store(k, &r, e->ts);
	if (r.has_total)
		put_counter(k, e, &k->allocated, "allocated", r.device, r.total);
	if (memory_number(e, "Total Reserved", &reserved))
		put_counter(k, e, &k->reserved, "reserved", r.device, reserved);
	return 0;
}

/* -- Allocations from before the trace -- */

static void put_earlier(struct pasta_kineto *k, uint32_t device, uint64_t addr, uint64_t bytes)
{
	static const char name[] = "(allocated before the trace)";
	struct pasta_event ev = PASTA_TRACE_EVENT(alloc, ALLOC, 0, k->t->first);

	ev.sub = device == UINT32_MAX ? PASTA_ALLOC_HOST : PASTA_ALLOC_DEVICE;
	ev.alloc.addr = addr;
	ev.alloc.bytes = bytes;
	ev.alloc.device = device;
	ev.alloc.name = pasta_trace_str(k->t, name, strlen(name));
	ev.alloc.flags = PASTA_ALLOC_EARLIER;
	pasta_trace_event(k->t, PASTA_TRACE_EARLIER, &ev, 0);
}

static struct pool *memory_pool(struct pasta_kineto *k, struct pasta_map *pools, uint32_t device)
{
	struct pool *p = pasta_map_add(pools, device);

	if (p && !p->blocks)
		p->blocks = pasta_map_new(sizeof(bool));
	if (p && p->blocks)
		return p;
	pasta_fail(k->t->err, -ENOMEM, "out of memory");
	return NULL;
}

static struct record record_of(const struct pasta_span *s)
{
	return (struct record){.bytes = s->b,
			       .addr = s->a,
			       .total = pasta_pair(s->track, s->name),
			       .device = s->extra,
			       .freed = s->sub & FREED,
			       .has_total = s->sub & TOTAL};
}

static uint64_t memory_before(const struct record *r)
{
	if (r->freed)
		return r->total + r->bytes >= r->total ? r->total + r->bytes : 0;
	return r->total >= r->bytes ? r->total - r->bytes : 0;
}

/* Handles a free of a block that is not allocated. If this is the first free of the block, the
 * block was allocated before the trace; if not, the record of its allocation is missing. */
static void memory_apply(struct pasta_kineto *k, struct pasta_map *pools, const struct record *r)
{
	struct pool *p = memory_pool(k, pools, r->device);
	bool known = p && pasta_map_find(p->blocks, r->addr);
	bool *allocated = p ? pasta_map_add(p->blocks, r->addr) : NULL;

	if (!allocated) {
		pasta_fail(k->t->err, -ENOMEM, "out of memory");
		return;
	}
	if (!p->seen && r->has_total)
		p->before = memory_before(r);
	p->seen = true;
	if (r->freed && !known) {
		put_earlier(k, r->device, r->addr, r->bytes);
		p->before -= r->bytes < p->before ? r->bytes : p->before;
	}
	*allocated = !r->freed;
}

static void put_rest(struct pasta_kineto *k, struct pasta_map *pools)
{
	const struct pool *p;
	uint64_t device;
	size_t at = 0;

	while ((p = pasta_map_next(pools, &at, &device))) {
		if (p->before && !k->t->err->code)
			put_earlier(k, (uint32_t)device, NOWHERE + (device << 8), p->before);
		pasta_map_free(p->blocks);
	}
}

int pasta_kineto_earlier(struct pasta_kineto *k)
{
	struct pasta_map *pools = k->memory ? pasta_map_new(sizeof(struct pool)) : NULL;
	const struct pasta_span *span;

	if (k->memory && !pools)
		return pasta_fail(k->t->err, -ENOMEM, "out of memory");
	while (pools && !k->t->err->code && pasta_spansort_next(k->memory, &span, k->t->err) > 0) {
		struct record r = record_of(span);

		memory_apply(k, pools, &r);
	}
	if (pools)
		put_rest(k, pools);
	pasta_map_free(pools);
	return k->t->err->code;
}
