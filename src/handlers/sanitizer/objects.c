/* objects.c - memory that kernels may access: told when it comes and goes. */
#include <stdlib.h>

#include "collect/stack.h"
#include "core/lock.h"
#include "handlers/sanitizer/sanitizer.h"

/* Addresses are the process's: no two contexts have different memory at the same one. */
struct live {
	uint64_t bytes, object;
	uint32_t context, device;
	bool shared; /* other contexts were told of it as well */
};

static struct pasta_map *lives; /* by address */
/* This thread destroys a context, whose memory has gone: that of others stays, whatever is told. */
static _Thread_local bool destroys;

static enum pasta_alloc_sub sort_of(uint32_t id, const struct san_memory_data *m)
{
	if (m->flags & SAN_MEMORY_MANAGED)
		return PASTA_ALLOC_MANAGED;
	if (id == SAN_HOST_ALLOC || m->flags & SAN_MEMORY_HOST)
		return PASTA_ALLOC_HOST;
	return m->pool ? PASTA_ALLOC_POOL : PASTA_ALLOC_DEVICE;
}

static void emit_alloc(enum pasta_alloc_sub sub, const struct san_memory_data *m,
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

static void emit_free(uint64_t addr, const struct live *l)
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

/* What is told twice is one: it must not come over the pieces that a framework has made of it. */
static bool add(const struct san_memory_data *m, struct live *l)
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

static void on_alloc(uint32_t id, const struct san_memory_data *m)
{
	struct san_context *c = san_context(m->context, -1);
	struct live l = {.bytes = m->bytes,
			 .context = c ? c->number : 0,
			 .device = m->device >= 0 ? (uint32_t)m->device : 0};
	struct live *at;

	destroys = false;
	if (!add(m, &l))
		return;
	emit_alloc(sort_of(id, m), m, &l);
	l.object = pasta_accesses_object(m->addr, m->addr, m->bytes, l.context, l.device);
	pasta_lock(&san.lock);
	at = lives ? pasta_map_find(lives, m->addr) : NULL;
	if (at && at->bytes == m->bytes)
		at->object = l.object;
	pasta_unlock(&san.lock);
}

static void tell_gone(uint64_t addr, const struct live *l)
{
	emit_free(addr, l);
	if (l->object)
		pasta_accesses_unregister(addr, l->object);
}

/* Under the lock. Contexts may be told of each other's memory, and that they see it no longer. What
 * is a pool's any stream may free. */
static bool is_gone(const struct live *l, uint32_t id, const void *handle, uint32_t context)
{
	if (destroys)
		return !l->context;
	if (id == SAN_ASYNC_FREE || !handle || !l->context || context == l->context)
		return true;
	return context && !l->shared;
}

static void on_free(uint32_t id, const struct san_memory_data *m)
{
	uint32_t context = san_context_number(m->context);
	struct live *at, l = {0};
	bool gone;

	pasta_lock(&san.lock);
	at = lives ? pasta_map_find(lives, m->addr) : NULL;
	gone = at && is_gone(at, id, m->context, context);
	if (gone) {
		l = *at;
		pasta_map_remove(lives, m->addr);
	}
	pasta_unlock(&san.lock);
	if (gone)
		tell_gone(m->addr, &l);
}

/* Of a context, count of them; NULL: there is no memory. */
static uint64_t *list(uint32_t context, size_t *count)
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
	uint64_t *addrs = list(context, &count);
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
			tell_gone(addrs[i], &l);
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
		on_free(id, m);
	else if (m->bytes)
		on_alloc(id, m);
}
