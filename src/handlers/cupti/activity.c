/* activity.c - what devices did: CUPTI's buffers, turned into events on its own thread. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "handlers/cupti/cupti.h"

enum { BUFFER = 4 << 20, SPARE_MAX = 16, BATCH = 1 << 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *spare[SPARE_MAX];
static unsigned int spares;

/* Threads have buffers of their own, and may bring them at the same time. */
static pthread_mutex_t taking = PTHREAD_MUTEX_INITIALIZER;
static struct pasta_port *port;
static uint32_t port_gen;

/* Events that wait to be pushed together. */
static struct {
	_Alignas(8) uint8_t data[BATCH];
	size_t size, count;
} batch;

static atomic_bool stopped;
static pthread_mutex_t turning = PTHREAD_MUTEX_INITIALIZER;
atomic_bool cupti_resting;

static uint64_t now(void)
{
	return pasta_now();
}

/* -- Buffers: pages, used again -- */

static void request(uint8_t **buffer, size_t *size, size_t *records)
{
	void *p = NULL;

	pthread_mutex_lock(&lock);
	if (spares)
		p = spare[--spares];
	pthread_mutex_unlock(&lock);
	if (!p)
		p = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*buffer = p == MAP_FAILED ? NULL : p; /* then CUPTI drops, and says how many */
	*size = p == MAP_FAILED ? 0 : BUFFER;
	*records = 0;
}

static void give_back(uint8_t *buffer)
{
	pthread_mutex_lock(&lock);
	if (spares < SPARE_MAX) {
		spare[spares++] = buffer;
		buffer = NULL;
	}
	pthread_mutex_unlock(&lock);
	if (buffer)
		munmap(buffer, BUFFER);
}

/* -- Records to events -- */

static void push(void)
{
	if (port && port_gen != pasta_agent_gen())
		port = NULL; /* of the process that we were forked from */
	if (!port) {
		port = pasta_port_open(0);
		port_gen = pasta_agent_gen();
	}
	if (batch.size && port)
		pasta_port_push(port, batch.data, batch.size);
	else if (batch.size)
		pasta_emit_lost(PASTA_LOSS_MEMORY, batch.count);
	batch.size = batch.count = 0;
}

/* Room for an event, to be filled in now; NULL: nobody wants it. */
static struct pasta_event *add(enum pasta_kind kind, size_t size, uint64_t time)
{
	struct pasta_event *ev;

	if (!pasta_agent_wants(kind))
		return NULL;
	if (batch.size + size > BATCH)
		push();
	ev = (void *)(batch.data + batch.size);
	pasta_event_init(ev, kind, 0, size);
	ev->time = time;
	batch.size += size;
	batch.count++;
	return ev;
}

#define ADD(type, KIND_, time) add(PASTA_##KIND_, PASTA_EVENT_SIZE(type), time)
/* Activity, which is recorded only between start and stop. */
#define ADD_WORK(type, KIND_, r)                                                                   \
	(cupti_recorded((r)->correlation) ? ADD(type, KIND_, (r)->start) : NULL)

static uint64_t span(uint64_t start, uint64_t end)
{
	return end > start ? end - start : 0;
}

static void take_kernel(const struct cupti_kernel *k)
{
	struct pasta_event *ev = ADD_WORK(kernel, KERNEL, k);

	if (!ev)
		return;
	ev->kernel.dur = span(k->start, k->end);
	ev->kernel.corr = k->correlation;
	ev->kernel.node = k->node;
	ev->kernel.name = k->name ? pasta_intern_str(k->name) : 0;
	ev->kernel.context = k->context;
	ev->kernel.stream = k->stream;
	ev->kernel.device = k->device;
	ev->kernel.grid_x = (uint32_t)k->grid[0];
	ev->kernel.grid_y = (uint32_t)k->grid[1];
	ev->kernel.grid_z = (uint32_t)k->grid[2];
	ev->kernel.block_x = (uint32_t)k->block[0];
	ev->kernel.block_y = (uint32_t)k->block[1];
	ev->kernel.block_z = (uint32_t)k->block[2];
	ev->kernel.registers = k->registers;
	ev->kernel.shared_static = (uint32_t)k->shared_static;
	ev->kernel.shared_dynamic = (uint32_t)k->shared_dynamic;
	ev->kernel.local_bytes = k->local;
}

static void take_copy(const struct cupti_memcpy *m)
{
	static const uint8_t subs[] = {0,
				       PASTA_COPY_H2D,
				       PASTA_COPY_D2H,
				       PASTA_COPY_H2D,
				       PASTA_COPY_D2H,
				       PASTA_COPY_D2D,
				       PASTA_COPY_D2D,
				       PASTA_COPY_D2D,
				       PASTA_COPY_D2D,
				       PASTA_COPY_H2H,
				       PASTA_COPY_P2P};
	struct pasta_event *ev = ADD_WORK(copy, COPY, m);

	if (!ev)
		return;
	ev->sub = m->copy < sizeof(subs) ? subs[m->copy] : 0;
	ev->copy.dur = span(m->start, m->end);
	ev->copy.corr = m->correlation;
	ev->copy.node = m->node;
	ev->copy.bytes = m->bytes;
	ev->copy.context = m->context;
	ev->copy.stream = m->stream;
	ev->copy.device = m->device;
}

static void take_p2p(const struct cupti_memcpy_p2p *m)
{
	struct pasta_event *ev = ADD_WORK(copy, COPY, m);

	if (!ev)
		return;
	ev->sub = PASTA_COPY_P2P;
	ev->copy.dur = span(m->start, m->end);
	ev->copy.corr = m->correlation;
	ev->copy.node = m->node;
	ev->copy.bytes = m->bytes;
	ev->copy.context = m->context;
	ev->copy.stream = m->stream;
	ev->copy.device = m->from;
	ev->copy.peer = m->to;
}

static void take_set(const struct cupti_memset *m)
{
	struct pasta_event *ev = ADD_WORK(set, SET, m);

	if (!ev)
		return;
	ev->set.dur = span(m->start, m->end);
	ev->set.corr = m->correlation;
	ev->set.node = m->node;
	ev->set.bytes = m->bytes;
	ev->set.context = m->context;
	ev->set.stream = m->stream;
	ev->set.device = m->device;
	ev->set.value = m->value;
}

static uint8_t sort_of(uint32_t memory)
{
	static const uint8_t subs[] = {0,
				       PASTA_ALLOC_HOST,
				       PASTA_ALLOC_HOST,
				       PASTA_ALLOC_DEVICE,
				       PASTA_ALLOC_IMAGE,
				       PASTA_ALLOC_MANAGED,
				       PASTA_ALLOC_DEVICE,
				       PASTA_ALLOC_MANAGED};

	return memory < sizeof(subs) ? subs[memory] : 0;
}

static void take_memory(const struct cupti_memory *m)
{
	struct pasta_event *ev;

	if (m->operation == 1) {
		ev = ADD(alloc, ALLOC, m->time);
		if (!ev)
			return;
		ev->sub = sort_of(m->sort);
		ev->alloc.addr = m->address;
		ev->alloc.bytes = m->bytes;
		ev->alloc.context = m->context;
		ev->alloc.device = m->device;
	} else if (m->operation == 2) {
		ev = ADD(free, FREE, m->time);
		if (!ev)
			return;
		ev->free.addr = m->address;
		ev->free.bytes = m->bytes;
		ev->free.context = m->context;
		ev->free.device = m->device;
	}
}

static void take_sync(const struct cupti_sync *s)
{
	struct pasta_event *ev = ADD_WORK(sync, SYNC, s);

	if (!ev)
		return;
	ev->sync.dur = span(s->start, s->end);
	ev->sync.corr = s->correlation;
	ev->sync.context = s->context;
	ev->sync.stream = s->stream;
	ev->sync.event = s->event;
}

static void take_api(const struct cupti_api *a, int domain)
{
	struct pasta_event *ev = ADD_WORK(api, API, a);
	const char *name = NULL;

	if (!ev)
		return;
	ev->sub = domain == CUPTI_RUNTIME_API ? PASTA_API_RUNTIME : PASTA_API_DRIVER;
	ev->tid = a->thread;
	ev->api.dur = span(a->start, a->end);
	ev->api.corr = a->correlation;
	if (cupti.GetCallbackName(domain, a->id, &name) == CUPTI_OK && name)
		ev->api.name = pasta_intern_str(name);
	ev->api.status = a->status;
}

static void take(const struct cupti_record *r)
{
	switch (r->kind) {
	case CUPTI_KERNEL:
		take_kernel((const void *)r);
		break;
	case CUPTI_MEMCPY:
		take_copy((const void *)r);
		break;
	case CUPTI_MEMCPY_P2P:
		take_p2p((const void *)r);
		break;
	case CUPTI_MEMSET:
		take_set((const void *)r);
		break;
	case CUPTI_MEMORY:
		take_memory((const void *)r);
		break;
	case CUPTI_SYNC:
		take_sync((const void *)r);
		break;
	case CUPTI_DRIVER:
		take_api((const void *)r, CUPTI_DRIVER_API);
		break;
	case CUPTI_RUNTIME:
		take_api((const void *)r, CUPTI_RUNTIME_API);
		break;
	default:
		break;
	}
}

void cupti_activity_take(uint8_t *buffer, size_t valid)
{
	struct cupti_record *r = NULL;

	pthread_mutex_lock(&taking);
	while (cupti.ActivityGetNextRecord(buffer, valid, &r) == CUPTI_OK)
		take(r);
	push();
	pthread_mutex_unlock(&taking);
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	size_t dropped = 0;

	(void)size;
	if (buffer) {
		if (valid)
			cupti_activity_take(buffer, valid);
		give_back(buffer);
	}
	if (cupti.ActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_OK && dropped)
		pasta_emit_lost(PASTA_LOSS_SOURCE, dropped);
}

/* -- Beginning and end -- */

static bool wants_any(uint64_t kinds)
{
	for (unsigned int k = 0; k < PASTA_KINDS_MAX; k++)
		if (kinds >> k & 1 && pasta_agent_wants((enum pasta_kind)k))
			return true;
	return false;
}

static const struct {
	int kind;
	uint64_t for_;
	bool is_work; /* which is recorded between start and stop */
} kinds[] = {
	{CUPTI_KERNEL, PASTA_BIT(KERNEL), true},
	{CUPTI_MEMCPY, PASTA_BIT(COPY), true},
	{CUPTI_MEMCPY_P2P, PASTA_BIT(COPY), true},
	{CUPTI_MEMSET, PASTA_BIT(SET), true},
	{CUPTI_MEMORY, PASTA_BIT(ALLOC) | PASTA_BIT(FREE), false},
	{CUPTI_SYNC, PASTA_BIT(SYNC), true},
	{CUPTI_DRIVER, PASTA_BIT(API), true},
	{CUPTI_RUNTIME, PASTA_BIT(API), true},
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

/* One kind that cannot be had is no reason to go without the others. */
static int turn(bool on, bool work)
{
	int first = CUPTI_OK;

	for (size_t i = 0; i < KINDS; i++) {
		int r = CUPTI_OK;

		if (kinds[i].is_work == work && wants_any(kinds[i].for_))
			r = (on ? cupti.ActivityEnable : cupti.ActivityDisable)(kinds[i].kind);
		first = first == CUPTI_OK ? r : first;
	}
	return first;
}

int cupti_activity_start(void)
{
	int r = cupti.ActivityRegisterTimestampCallback(now), work = CUPTI_OK;

	if (r == CUPTI_OK)
		r = cupti.ActivityRegisterCallbacks(request, complete);
	if (r != CUPTI_OK)
		return r;
	cupti.SetThreadIdType(1); /* the system's, as events of threads have it */
	if (pasta_agent_active())
		work = turn(true, true);
	else
		atomic_store(&cupti_resting, true);
	r = turn(true, false);
	return work == CUPTI_OK ? r : work;
}

static void told(int result)
{
	if (result != CUPTI_OK)
		cupti_trouble("what devices do cannot be seen, or not all of it", result);
}

/* turning is held. */
static int work_on(void)
{
	int r = CUPTI_OK;

	if (!atomic_load(&stopped) && atomic_load(&cupti_resting)) {
		r = turn(true, true);
		atomic_store(&cupti_resting, false);
	}
	return r;
}

/* Says that it rests before it looks: a start that it does not see sees that, and goes on. */
void cupti_activity_rest(void)
{
	int r = CUPTI_OK;

	pthread_mutex_lock(&turning);
	if (!atomic_load(&stopped) && !atomic_exchange(&cupti_resting, true)) {
		atomic_thread_fence(memory_order_seq_cst);
		if (pasta_agent_active())
			atomic_store(&cupti_resting, false);
		else
			turn(false, true);
		if (pasta_agent_active())
			r = work_on();
	}
	pthread_mutex_unlock(&turning);
	told(r);
}

/* In a callback, for whose end CUPTI might wait before it turns work off: that is never waited for
 * here. Whoever turns it off looks again. */
void cupti_activity_go_on(void)
{
	int r;

	if (pthread_mutex_trylock(&turning))
		return;
	r = work_on();
	pthread_mutex_unlock(&turning);
	told(r);
}

void cupti_activity_flush(bool all)
{
	if (!atomic_load(&stopped))
		cupti.ActivityFlushAll(all);
}

void cupti_activity_stop(void)
{
	cupti_activity_flush(true);
	pthread_mutex_lock(&turning);
	atomic_store(&stopped, true);
	atomic_store(&cupti_resting, false);
	turn(false, true);
	turn(false, false);
	pthread_mutex_unlock(&turning);
}
