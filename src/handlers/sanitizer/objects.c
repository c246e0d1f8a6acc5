/* objects.c - emits the program's allocations of device memory and registers them as objects. */
#include <stdlib.h>

#include "collect/stack.h"
#include "core/lock.h"
#include "handlers/sanitizer/contexts.h"
#include "handlers/sanitizer/objects.h"

/* An allocation. Its address is unique in the process, even across contexts. */
struct live {
	uint64_t bytes, object;
	uint32_t context, device;
	bool shared; /* whether the library has also reported the allocation for other contexts */
};

static struct pasta_map *lives; /* by address */
/* Set while this thread destroys a context whose objects are already removed. During such a call,
 * the library also reports frees of other contexts' memory, which in fact remains allocated. */
static _Thread_local bool destroys;

static enum pasta_alloc_sub object_type(uint32_t id, const struct san_memory_data *m)
{
	if (m->flags & SAN_MEMORY_MANAGED)
		return PASTA_ALLOC_MANAGED;
	if (id == SAN_HOST_ALLOC || m->flags & SAN_MEMORY_HOST)
		return PASTA_ALLOC_HOST;
	return m->pool ? PASTA_ALLOC_POOL : PASTA_ALLOC_DEVICE;
}

static void object_emit_alloc(enum pasta_alloc_sub sub, const struct san_memory_data *m,
			      const struct live *l)
{
	struct pasta_event ev;

	if (!pasta_agent_records(PASTA_KIND_ALLOC))
		return;
	pasta_event_init(&ev, PASTA_KIND_ALLOC, sub, PASTA_EVENT_SIZE(alloc));
	ev.alloc.addr = m->addr;
	ev.alloc.bytes = m->bytes;
	ev.alloc.origin = (uintptr_t)m->pool;
	ev.alloc.name = m->flags & SAN_MEMORY_MODULE ? pasta_intern_str("module") : 0;
	ev.alloc.context = l->context;
	ev.alloc.device = l->device;
	ev.alloc.stack = pasta_stack_capture_at(PASTA_STACK_ALLOC);
	ev.time = pasta_now();
	pasta_emit(&ev);
}

static void object_emit_free(uint64_t addr, const struct live *l)
{
	struct pasta_event ev;

	if (!pasta_agent_records(PASTA_KIND_FREE))
		return;
	pasta_event_init(&ev, PASTA_KIND_FREE, 0, PASTA_EVENT_SIZE(free));
	ev.free.addr = addr;
	ev.free.bytes = l->bytes;
	ev.free.context = l->context;
	ev.free.device = l->device;
	ev.time = pasta_now();
	pasta_emit(&ev);
}

/* Records an allocation. Returns false if the allocation is known already. The caller must not
 * register a known allocation again, because that would replace the blocks that a framework has
 * registered within the allocation. */
static bool object_add(const struct san_memory_data *m, struct live *l)
{
	struct live *at;
	bool is_new;

	pasta_lock(&san.lock);
	if (!lives)
		lives = pasta_map_new(sizeof(struct live));
	at = lives ? pasta_map_add(lives, m->addr) : NULL;
	is_new = !at || at->bytes != m->bytes;
	if (at && is_new)
		*at = *l;
	else if (at && at->context != l->context)
		at->shared = true;
	pasta_unlock(&san.lock);
	return is_new;
}

static void object_alloc(uint32_t id, const struct san_memory_data *m)
{
	struct san_context *c = san_context(m->context, -1);
	struct live l = {.bytes = m->bytes,
			 .context = c ? c->number : 0,
			 .device = m->device >= 0 ? (uint32_t)m->device : 0};
	struct live *at;

	destroys = false;
	if (!object_add(m, &l))
		return;
	object_emit_alloc(object_type(id, m), m, &l);
	l.object = pasta_accesses_object(m->addr, m->addr, m->bytes, l.context, l.device);
	pasta_lock(&san.lock);
	at = lives ? pasta_map_find(lives, m->addr) : NULL;
	if (at && at->bytes == m->bytes)
		at->object = l.object;
	pasta_unlock(&san.lock);
}

static void object_removed(uint64_t addr, const struct live *l)
{
	object_emit_free(addr, l);
	if (l->object)
		pasta_accesses_unregister(addr, l->object);
}

/* Returns whether a free that the library reports frees the allocation. The library also reports a
 * free when a context loses access to another context's memory. Memory of a CUDA memory pool can be
 * freed on any stream. The caller holds san.lock. */
static bool object_is_removed(const struct live *l, uint32_t id, const void *handle,
			      uint32_t context)
{
	if (destroys)
		return !l->context;
	if (id == SAN_ASYNC_FREE || !handle || !l->context || context == l->context)
		return true;
	return context && !l->shared;
}

static void object_free(uint32_t id, const struct san_memory_data *m)
{
	uint32_t context = san_context_number(m->context);
	struct live *at, l = {0};
	bool removed;

	pasta_lock(&san.lock);
	at = lives ? pasta_map_find(lives, m->addr) : NULL;
	removed = at && object_is_removed(at, id, m->context, context);
	if (removed) {
		l = *at;
		pasta_map_remove(lives, m->addr);
	}
	pasta_unlock(&san.lock);
	if (removed)
		object_removed(m->addr, &l);
}

/* Returns the addresses of a context's allocations, and stores their number in *count. Returns NULL
 * if out of memory. */
static uint64_t *objects_list(uint32_t context, size_t *count)
{
	const struct live *l;
	uint64_t *addrs, addr;
	size_t at = 0;

	pasta_lock(&san.lock);
	addrs = malloc(((lives ? pasta_map_count(lives) : 0) + 1) * sizeof(*addrs));
	while (addrs && lives && (l = pasta_map_next(lives, &at, &addr)))
		if (l->context == context)
			addrs[(*count)++] = addr;
	pasta_unlock(&san.lock);
	return addrs;
}

void san_objects_end(uint32_t context)
{
	size_t count = 0;
	uint64_t *addrs = objects_list(context, &count);
	struct live *at, l = {0};

	for (size_t i = 0; i < count; i++) {
		pasta_lock(&san.lock);
		at = pasta_map_find(lives, addrs[i]);
		if (at && at->context != context)
			at = NULL;
		if (at) {
			l = *at;
			pasta_map_remove(lives, addrs[i]);
		}
		pasta_unlock(&san.lock);
		if (at)
			object_removed(addrs[i], &l);
	}
	free(addrs);
	destroys = true;
}

void san_objects_ended(void)
{
	destroys = false;
}

void san_object(uint32_t id, const struct san_memory_data *m)
{
	if (!m->addr || m->flags & SAN_MEMORY_PEER)
		return;
	if (id == SAN_DEVICE_FREE || id == SAN_HOST_FREE || id == SAN_ASYNC_FREE)
		object_free(id, m);
	else if (m->bytes)
		object_alloc(id, m);
}
