/* records.c - converts CUPTI's activity records into records of the run. */
#include <pasta/map.h>
#include <pasta/event.h>

#include "handlers/cupti/cupti.h"

enum { BATCH = 1 << 16 };

static struct pasta_port *port;
static uint32_t port_gen;

/* Converted records that are pushed to the ring together. */
static struct {
	_Alignas(8) uint8_t data[BATCH];
	size_t size, count;
} batch;

void cupti_records_push(void)
{
	if (port && port_gen != pasta_agent_gen())
		port = NULL; /* after a fork, the port still belongs to the parent process */
	if (!port) {
		port = pasta_port_open(0);
		port_gen = pasta_agent_gen();
	}
	if (batch.size && port)
		pasta_port_push(port, batch.data, batch.size);
	else if (batch.size)
		pasta_emit_loss(PASTA_LOSS_MEMORY, batch.count);
	batch.size = batch.count = 0;
}

/* Returns a new record for the caller to fill in; NULL if the kind is not recorded. */
static struct pasta_event *record_add(enum pasta_kind kind, size_t size, uint64_t time)
{
	struct pasta_event *ev;

	if (!pasta_agent_records(kind))
		return NULL;
	if (batch.size + size > BATCH)
		cupti_records_push();
	ev = (void *)(batch.data + batch.size);
	pasta_event_init(ev, kind, 0, size);
	ev->time = time;
	batch.size += size;
	batch.count++;
	return ev;
}

#define ADD(type, KIND_, time) record_add(PASTA_KIND_##KIND_, PASTA_EVENT_SIZE(type), time)
/* Adds a record of work, if recording was on when the work was launched. */
#define ADD_WORK(type, KIND_, r)                                                                   \
	(cupti_recorded((r)->correlation) ? ADD(type, KIND_, (r)->start) : NULL)

static uint64_t record_span(uint64_t start, uint64_t end)
{
	return end > start ? end - start : 0;
}

static void convert_kernel(const struct cupti_kernel *k)
{
	struct pasta_event *ev = ADD_WORK(kernel, KERNEL, k);

	if (!ev)
		return;
	ev->kernel.dur = record_span(k->start, k->end);
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

/* Returns the type of memory by CUPTI's number. The last two are static variables of modules. */
static uint32_t copy_memory(uint8_t type)
{
	static const uint8_t types[] = {PASTA_MEMORY_UNKNOWN, PASTA_MEMORY_PAGEABLE,
					PASTA_MEMORY_PINNED,  PASTA_MEMORY_DEVICE,
					PASTA_MEMORY_ARRAY,   PASTA_MEMORY_MANAGED,
					PASTA_MEMORY_DEVICE,  PASTA_MEMORY_MANAGED};

	return type < sizeof(types) ? types[type] : PASTA_MEMORY_UNKNOWN;
}

static void convert_copy(const struct cupti_memcpy *m)
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
	ev->copy.src_memory = copy_memory(m->source);
	ev->copy.dst_memory = copy_memory(m->target);
	ev->copy.dur = record_span(m->start, m->end);
	ev->copy.corr = m->correlation;
	ev->copy.node = m->node;
	ev->copy.bytes = m->bytes;
	ev->copy.context = m->context;
	ev->copy.stream = m->stream;
	ev->copy.device = m->device;
}

static void convert_p2p(const struct cupti_memcpy_p2p *m)
{
	struct pasta_event *ev = ADD_WORK(copy, COPY, m);

	if (!ev)
		return;
	ev->sub = PASTA_COPY_P2P;
	ev->copy.src_memory = copy_memory(m->source);
	ev->copy.dst_memory = copy_memory(m->target);
	ev->copy.dur = record_span(m->start, m->end);
	ev->copy.corr = m->correlation;
	ev->copy.node = m->node;
	ev->copy.bytes = m->bytes;
	ev->copy.context = m->context;
	ev->copy.stream = m->stream;
	ev->copy.device = m->from;
	ev->copy.peer = m->to;
}

static void convert_set(const struct cupti_memset *m)
{
	struct pasta_event *ev = ADD_WORK(set, SET, m);

	if (!ev)
		return;
	ev->set.dur = record_span(m->start, m->end);
	ev->set.corr = m->correlation;
	ev->set.node = m->node;
	ev->set.bytes = m->bytes;
	ev->set.context = m->context;
	ev->set.stream = m->stream;
	ev->set.device = m->device;
	ev->set.value = m->value;
}

/* CUPTI's pool type is 1 for a pool of this process, and 2 for a pool imported from another
 * process. */
static bool memory_has_pool(const struct cupti_memory *m)
{
	return m->pool_type == 1 || m->pool_type == 2;
}

static uint8_t memory_type(const struct cupti_memory *m)
{
	static const uint8_t subs[] = {0,
				       PASTA_ALLOC_HOST,
				       PASTA_ALLOC_HOST,
				       PASTA_ALLOC_DEVICE,
				       PASTA_ALLOC_IMAGE,
				       PASTA_ALLOC_MANAGED,
				       PASTA_ALLOC_DEVICE,
				       PASTA_ALLOC_MANAGED};
	uint8_t sub = m->type < sizeof(subs) ? subs[m->type] : 0;

	return sub == PASTA_ALLOC_DEVICE && memory_has_pool(m) ? PASTA_ALLOC_POOL : sub;
}

static void convert_memory(const struct cupti_memory *m)
{
	struct pasta_event *ev;

	if (cupti_vmm_has(m->correlation))
		return;
	if (m->operation == 1) {
		ev = ADD(alloc, ALLOC, m->time);
		if (!ev)
			return;
		ev->sub = memory_type(m);
		ev->alloc.origin = memory_has_pool(m) ? m->pool : 0;
		ev->alloc.dur = cupti_call_span(m->correlation, &ev->tid);
		ev->alloc.addr = m->address;
		ev->alloc.bytes = m->bytes;
		ev->alloc.context = m->context;
		ev->alloc.device = m->device;
	} else if (m->operation == 2) {
		ev = ADD(free, FREE, m->time);
		if (!ev)
			return;
		ev->free.dur = cupti_call_span(m->correlation, &ev->tid);
		ev->free.addr = m->address;
		ev->free.bytes = m->bytes;
		ev->free.context = m->context;
		ev->free.device = m->device;
	}
}

static void convert_sync(const struct cupti_sync *s)
{
	struct pasta_event *ev = ADD_WORK(sync, SYNC, s);

	if (!ev)
		return;
	ev->sub = s->type <= PASTA_SYNC_CONTEXT
			  ? (uint8_t)s->type
			  : 0; /* the subtypes have the same numbers as CUPTI's types */
	cupti_call_span(s->correlation, &ev->tid); /* CUPTI's record has no thread */
	ev->sync.dur = record_span(s->start, s->end);
	ev->sync.corr = s->correlation;
	ev->sync.context = s->context;
	ev->sync.stream = s->stream;
	ev->sync.event = s->event;
}

static void convert_api(const struct cupti_api *a, int domain)
{
	struct pasta_event *ev = ADD_WORK(api, API, a);
	const char *name = NULL;

	if (!ev)
		return;
	ev->sub = domain == CUPTI_RUNTIME_API ? PASTA_API_RUNTIME : PASTA_API_DRIVER;
	ev->tid = a->thread;
	ev->api.dur = record_span(a->start, a->end);
	ev->api.corr = a->correlation;
	if (cupti.GetCallbackName(domain, a->id, &name) == CUPTI_OK && name)
		ev->api.name = pasta_intern_str(name);
	ev->api.status = a->status;
}

/* The type of the unified memory counter decides which fields of CUPTI's record are valid. */
static void convert_uvm(const struct cupti_uvm *u)
{
	static const struct {
		uint8_t sub;
		bool bytes, timed;
		bool from, to; /* these fields are devices */
	} types[] = {
		[1] = {PASTA_UVM_TO_DEVICE, true, true, false, true},
		[2] = {PASTA_UVM_TO_HOST, true, true, true, false},
		[3] = {PASTA_UVM_CPU_FAULT, false, false, false, false},
		[4] = {PASTA_UVM_GPU_FAULT, false, true, true, false},
		[5] = {PASTA_UVM_THRASHING, true, false, true, false},
		[6] = {PASTA_UVM_THROTTLING, false, true, true, false},
		[7] = {PASTA_UVM_REMOTE_MAP, true, false, true, true},
		[8] = {PASTA_UVM_BETWEEN, true, true, true, true},
	};
	uint32_t i = u->type < sizeof(types) / sizeof(*types) ? u->type : 0;
	struct pasta_event *ev = i && cupti_recorded_at(u->start) ? ADD(uvm, UVM, u->start) : NULL;

	if (!ev)
		return;
	ev->sub = types[i].sub;
	ev->uvm.dur = types[i].timed ? record_span(u->start, u->end) : 0;
	ev->uvm.addr = u->address;
	ev->uvm.bytes = types[i].bytes ? u->value : 0;
	ev->uvm.flags = u->flags;
	ev->uvm.src = types[i].from ? u->from : PASTA_UVM_HOST;
	ev->uvm.dst = types[i].to ? u->to : ev->uvm.src;
	if (ev->sub == PASTA_UVM_TO_HOST)
		ev->uvm.dst = PASTA_UVM_HOST;
	else if (ev->sub == PASTA_UVM_GPU_FAULT)
		ev->uvm.count = u->value;
	else if (ev->sub == PASTA_UVM_CPU_FAULT)
		ev->uvm.count = 1; /* for faults of the CPU, this field of CUPTI's record is the
				      program counter */
}

/* Returns whether this stream is reported for the first time. CUPTI may report a stream more than
 * once. */
static bool stream_is_new(const struct cupti_stream *s)
{
	static struct pasta_map *known;
	uint64_t key = (uint64_t)s->context << 32 | s->stream;
	uint32_t *seen;

	if (!known)
		known = pasta_map_new(sizeof(*seen));
	seen = known ? pasta_map_add(known, key) : NULL;
	return !seen || !(*seen)++;
}

/* CUPTI's records of streams, events and external ids have no time. Records of streams and events
 * get the time of the call that created the stream or recorded the event. Records of external ids
 * get the current time. */
static void convert_stream(const struct cupti_stream *s)
{
	struct pasta_event *ev;
	uint32_t tid = 0;

	if (!pasta_agent_records(PASTA_KIND_QUEUE) || !stream_is_new(s))
		return;
	ev = ADD(queue, QUEUE, cupti_call_time(s->correlation, &tid));
	ev->tid = tid;
	ev->queue.corr = s->correlation;
	ev->queue.context = s->context;
	ev->queue.stream = s->stream;
	ev->queue.priority = s->priority;
	ev->queue.flags = s->flags;
}

static void convert_event(const struct cupti_event *e)
{
	struct pasta_event *ev;
	uint32_t tid = 0;

	if (!pasta_agent_records(PASTA_KIND_EVENT_RECORD) || !cupti_recorded(e->correlation))
		return;
	ev = ADD(event_record, EVENT_RECORD, cupti_call_time(e->correlation, &tid));
	ev->tid = tid;
	ev->event_record.corr = e->correlation;
	ev->event_record.context = e->context;
	ev->event_record.stream = e->stream;
	ev->event_record.event = e->event;
	if (cupti.version >= CUPTI_EVENT_HAS_DEVICE)
		ev->event_record.device = e->device;
}

static void convert_external(const struct cupti_external *x)
{
	struct pasta_event *ev =
		cupti_recorded(x->correlation) ? ADD(link, LINK, pasta_now()) : NULL;

	if (!ev)
		return;
	ev->sub = PASTA_LINK_EXTERNAL;
	ev->link.from = x->id;
	ev->link.to = x->correlation;
}

void cupti_record_convert(const struct cupti_record *r)
{
	switch (r->kind) {
	case CUPTI_KERNEL:
		convert_kernel((const void *)r);
		break;
	case CUPTI_MEMCPY:
		convert_copy((const void *)r);
		break;
	case CUPTI_MEMCPY_P2P:
		convert_p2p((const void *)r);
		break;
	case CUPTI_MEMSET:
		convert_set((const void *)r);
		break;
	case CUPTI_MEMORY:
		convert_memory((const void *)r);
		break;
	case CUPTI_SYNC:
		convert_sync((const void *)r);
		break;
	case CUPTI_DRIVER:
		convert_api((const void *)r, CUPTI_DRIVER_API);
		break;
	case CUPTI_RUNTIME:
		convert_api((const void *)r, CUPTI_RUNTIME_API);
		break;
	case CUPTI_UVM:
		convert_uvm((const void *)r);
		break;
	case CUPTI_STREAM:
		convert_stream((const void *)r);
		break;
	case CUPTI_EVENT:
		convert_event((const void *)r);
		break;
	case CUPTI_EXTERNAL:
		convert_external((const void *)r);
		break;
	default:
		break;
	}
}
