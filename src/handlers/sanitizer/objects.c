/* objects.c - memory that kernels may access: told when it comes and goes. */
#include "handlers/sanitizer/sanitizer.h"

struct live {
	uint64_t bytes, object;
	uint32_t context, device;
};

static struct pasta_map *lives; /* by address */

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

	if (!pasta_agent_wants(PASTA_ALLOC))
		return;
	pasta_event_init(&ev, PASTA_ALLOC, sub, PASTA_EVENT_SIZE(alloc));
	ev.alloc.addr = m->addr;
	ev.alloc.bytes = m->bytes;
	ev.alloc.origin = (uintptr_t)m->pool;
	ev.alloc.name = m->flags & SAN_MEMORY_MODULE ? pasta_intern_str("module") : 0;
	ev.alloc.context = l->context;
	ev.alloc.device = l->device;
	ev.time = pasta_now();
	pasta_emit(&ev);
}

static void emit_free(uint64_t addr, const struct live *l)
{
	struct pasta_event ev;

	if (!pasta_agent_wants(PASTA_FREE))
		return;
	pasta_event_init(&ev, PASTA_FREE, 0, PASTA_EVENT_SIZE(free));
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

	pthread_mutex_lock(&san.lock);
	if (!lives)
		lives = pasta_map_new(sizeof(struct live));
	at = lives ? pasta_map_add(lives, m->addr) : NULL;
	is_new = !at || at->bytes != m->bytes;
	if (at && is_new)
		*at = *l;
	pthread_mutex_unlock(&san.lock);
	return is_new;
}

static void on_alloc(uint32_t id, const struct san_memory_data *m)
{
	struct san_context *c = san_context(m->context, -1);
	struct live l = {.bytes = m->bytes,
			 .context = c ? c->number : 0,
			 .device = m->device >= 0 ? (uint32_t)m->device : 0};
	struct live *at;

	if (!add(m, &l))
		return;
	emit_alloc(sort_of(id, m), m, &l);
	l.object = pasta_accesses_object(m->addr, m->addr, m->bytes, l.context, l.device);
	pthread_mutex_lock(&san.lock);
	at = lives ? pasta_map_find(lives, m->addr) : NULL;
	if (at && at->bytes == m->bytes)
		at->object = l.object;
	pthread_mutex_unlock(&san.lock);
}

static void on_free(uint64_t addr)
{
	struct live *at, l = {0};

	pthread_mutex_lock(&san.lock);
	at = lives ? pasta_map_find(lives, addr) : NULL;
	if (at) {
		l = *at;
		pasta_map_remove(lives, addr);
	}
	pthread_mutex_unlock(&san.lock);
	if (!at)
		return;
	emit_free(addr, &l);
	if (l.object)
		pasta_accesses_gone(addr, l.object);
}

void san_objects_end(uint32_t context)
{
	struct live *l;
	uint64_t addr;
	size_t at;

	do {
		pthread_mutex_lock(&san.lock);
		at = 0;
		do
			l = lives ? pasta_map_next(lives, &at, &addr) : NULL;
		while (l && l->context != context);
		pthread_mutex_unlock(&san.lock);
		if (l)
			on_free(addr);
	} while (l);
}

void san_object(uint32_t id, const struct san_memory_data *m)
{
	if (!m->addr || m->flags & SAN_MEMORY_PEER)
		return;
	if (id == SAN_DEVICE_FREE || id == SAN_HOST_FREE || id == SAN_ASYNC_FREE)
		on_free(m->addr);
	else if (m->bytes)
		on_alloc(id, m);
}
