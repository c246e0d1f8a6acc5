/* rocrecords.c - converts the records of a rocprofv3 trace into events. */
#include "import/rocrecords.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "import/chromeevent.h"
#include "import/collective.h"

void pasta_rocread_free(struct pasta_rocread *p)
{
	pasta_rccl_free(&p->rccl);
	free(p->scratch);
}

static bool contains(struct pasta_slice s, const char *word)
{
	return memmem(s.at, s.size, word, strlen(word));
}

/* -- Members shared by all records -- */

struct head {
	uint64_t begin, end, corr;
	uint32_t tid, thread; /* the thread's id, and the token that contains it */
	struct pasta_roctext *operation;
	struct pasta_slice name; /* of the operation */
};

static const char *read_head(struct pasta_rocread *p, struct head *h)
{
	const struct pasta_jsontape *tape = p->tape;
	uint32_t corr = pasta_jsontape_get(tape, 0, "correlation_id");
	uint64_t kind = pasta_roc_u32(tape, 0, "kind");

	*h = (struct head){.thread = pasta_jsontape_get(tape, 0, "thread_id")};
	if (!pasta_roc_number(tape, 0, "start_timestamp", &h->begin) ||
	    !pasta_roc_number(tape, 0, "end_timestamp", &h->end))
		return "a record has no begin or end time";
	if (h->end < h->begin)
		return "a record ends before it begins";
	if (corr)
		pasta_roc_number(tape, corr, "internal", &h->corr);
	h->tid = pasta_roc_u32(tape, 0, "thread_id");
	h->operation = pasta_map_find(p->tables->operations,
				      kind << 32 | pasta_roc_u32(tape, 0, "operation"));
	h->name = pasta_roctables_slice(p->tables, h->operation);
	return NULL;
}

/* Returns the stream of the record on the tape. If the file has no streams, returns the queue. */
static uint32_t stream_of(const struct pasta_jsontape *tape, uint32_t queue_in)
{
	uint64_t stream = 0;

	if (!pasta_roc_handle(tape, 0, "stream_id", &stream))
		pasta_roc_handle(tape, queue_in, "queue_id", &stream);
	return (uint32_t)stream;
}

/* -- Work on devices -- */

static uint32_t groups(uint32_t items, uint32_t size)
{
	return size ? items / size + (items % size != 0) : 0;
}

static void read_grid(const struct pasta_jsontape *tape, uint32_t info,
		      struct pasta_kernel_record *k)
{
	uint32_t group = pasta_jsontape_get(tape, info, "workgroup_size");
	uint32_t grid = pasta_jsontape_get(tape, info, "grid_size");

	if (!group || !grid)
		return;
	k->block_x = pasta_roc_u32(tape, group, "x");
	k->block_y = pasta_roc_u32(tape, group, "y");
	k->block_z = pasta_roc_u32(tape, group, "z");
	k->grid_x = groups(pasta_roc_u32(tape, grid, "x"), k->block_x);
	k->grid_y = groups(pasta_roc_u32(tape, grid, "y"), k->block_y);
	k->grid_z = groups(pasta_roc_u32(tape, grid, "z"), k->block_z);
}

/* Reads the name and the number of registers of a kernel, by the kernel's id. Returns the name of
 * the kernel's collective, or NULL. */
static const char *read_symbol(struct pasta_rocread *p, uint64_t id, struct pasta_kernel_record *k)
{
	struct pasta_rocsymbol *symbol = pasta_map_find(p->tables->symbols, id);
	char text[40];
	int n;

	if (!symbol) {
		p->unnamed = true;
		n = snprintf(text, sizeof(text), "kernel_id %llu", (unsigned long long)id);
		k->name = pasta_trace_str(p->t, text, (size_t)n);
		return NULL;
	}
	k->name = pasta_roctables_str(p->tables, &symbol->name);
	k->registers = symbol->registers;
	return pasta_collective_name(pasta_roctables_slice(p->tables, &symbol->name));
}

const char *pasta_rocread_dispatch(struct pasta_rocread *p)
{
	const struct pasta_jsontape *tape = p->tape;
	struct pasta_event ev = PASTA_TRACE_EVENT(kernel, KERNEL, 0, 0);
	const struct pasta_rocagent *agent;
	const char *wrong, *collective;
	uint64_t handle, id;
	struct head h;
	uint32_t info;

	wrong = read_head(p, &h);
	if (wrong)
		return wrong;
	/* The first versions had no dispatch_info: its members were in the record itself. */
	info = pasta_jsontape_get(tape, 0, "dispatch_info");
	if (!pasta_roc_handle(tape, info, "agent_id", &handle) ||
	    !pasta_roc_number(tape, info, "kernel_id", &id))
		return "a dispatch has no agent_id or no kernel_id";
	agent = pasta_roctables_gpu(p->tables, handle);
	if (!agent)
		return NULL;
	ev.time = h.begin;
	ev.tid = h.tid;
	ev.kernel.dur = h.end - h.begin;
	ev.kernel.corr = h.corr;
	ev.kernel.device = agent->device;
	ev.kernel.stream = stream_of(tape, info);
	ev.kernel.shared_static = pasta_roc_u32(tape, info, "group_segment_size");
	ev.kernel.local_bytes = pasta_roc_u32(tape, info, "private_segment_size");
	read_grid(tape, info, &ev.kernel);
	collective = read_symbol(p, id, &ev.kernel);
	if (collective && pasta_trace_enabled(p->t, PASTA_MASK(COLLECTIVE)))
		pasta_rccl_kernel(&p->rccl, &ev, collective);
	else
		pasta_trace_event(p->t, PASTA_TRACE_DEVICE, &ev, ev.kernel.dur);
	p->work = true;
	return NULL;
}

static uint8_t direction(struct pasta_slice name, bool from_gpu, bool to_gpu, bool same)
{
	if (contains(name, "HOST_TO_HOST"))
		return PASTA_COPY_H2H;
	if (contains(name, "HOST_TO_DEVICE"))
		return PASTA_COPY_H2D;
	if (contains(name, "DEVICE_TO_HOST"))
		return PASTA_COPY_D2H;
	if (contains(name, "DEVICE_TO_DEVICE") || (from_gpu && to_gpu))
		return same ? PASTA_COPY_D2D : PASTA_COPY_P2P;
	return from_gpu ? PASTA_COPY_D2H : to_gpu ? PASTA_COPY_H2D : PASTA_COPY_H2H;
}

const char *pasta_rocread_copy(struct pasta_rocread *p)
{
	const struct pasta_jsontape *tape = p->tape;
	struct pasta_event ev = PASTA_TRACE_EVENT(copy, COPY, 0, 0);
	const struct pasta_rocagent *from, *to;
	uint64_t source, target;
	const char *wrong;
	struct head h;

	wrong = read_head(p, &h);
	if (wrong)
		return wrong;
	if (!pasta_roc_handle(tape, 0, "src_agent_id", &source) ||
	    !pasta_roc_handle(tape, 0, "dst_agent_id", &target) ||
	    !pasta_roc_number(tape, 0, "bytes", &ev.copy.bytes))
		return "a copy has no src_agent_id, no dst_agent_id or no bytes";
	from = pasta_roctables_gpu(p->tables, source);
	to = pasta_roctables_gpu(p->tables, target);
	if (!from || !to)
		return NULL;
	ev.sub = direction(h.name, from->gpu, to->gpu, from == to);
	ev.time = h.begin;
	ev.tid = h.tid;
	ev.copy.dur = h.end - h.begin;
	ev.copy.corr = h.corr;
	ev.copy.stream = stream_of(tape, 0);
	ev.copy.device = from->gpu ? from->device : to->device;
	/* The file does not contain whether the host's memory is pinned. */
	ev.copy.src_memory = from->gpu ? PASTA_MEMORY_DEVICE : PASTA_MEMORY_UNKNOWN;
	ev.copy.dst_memory = to->gpu ? PASTA_MEMORY_DEVICE : PASTA_MEMORY_UNKNOWN;
	if (ev.sub == PASTA_COPY_P2P)
		ev.copy.peer = to->device;
	pasta_trace_event(p->t, PASTA_TRACE_DEVICE, &ev, ev.copy.dur);
	p->work = true;
	return NULL;
}

/* Shortens "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_WAITCNT" to "waitcnt". */
static uint32_t stall_of(struct pasta_rocread *p, uint32_t record)
{
	static const char before[] = "NOT_ISSUED_REASON_";
	const struct pasta_jsontape *tape = p->tape;
	uint32_t snapshot = pasta_jsontape_get(tape, record, "snapshot"), reason;
	struct pasta_slice s;
	const char *from;
	char text[64];
	size_t n = 0;

	reason = snapshot ? pasta_jsontape_get(tape, snapshot, "stall_reason") : 0;
	if (!reason || pasta_roc_u32(tape, record, "wave_issued"))
		return 0;
	s = pasta_jsontape_text(tape, reason);
	from = memmem(s.at, s.size, before, sizeof(before) - 1);
	from = from ? from + sizeof(before) - 1 : s.at;
	for (; from < s.at + s.size && n < sizeof(text); n++)
		text[n] = (char)tolower((unsigned char)*from++);
	return n == 4 && !memcmp(text, "none", 4) ? 0 : pasta_trace_str(p->t, text, n);
}

const char *pasta_rocread_sample(struct pasta_rocread *p)
{
	const struct pasta_jsontape *tape = p->tape;
	uint32_t record = pasta_jsontape_get(tape, 0, "record");
	uint32_t pc = pasta_jsontape_get(tape, record, "pc");
	uint32_t corr = pasta_jsontape_get(tape, record, "corr_id");
	struct pasta_event ev = PASTA_TRACE_EVENT(pc_sample, PC_SAMPLE, 0, 0);
	struct pasta_rocsymbol *symbol;
	const struct pasta_rocobject *object;
	const struct pasta_rocagent *agent;
	uint64_t id;

	if (!record || !pc || !pasta_roc_number(tape, record, "timestamp", &ev.time) ||
	    !pasta_roc_number(tape, pc, "code_object_id", &id) ||
	    !pasta_roc_number(tape, pc, "code_object_offset", &ev.pc_sample.pc))
		return "a sample has no time or no program counter";
	if (corr)
		pasta_roc_number(tape, corr, "internal", &ev.pc_sample.corr);
	ev.pc_sample.samples = 1;
	ev.pc_sample.stall = stall_of(p, record);
	object = pasta_map_find(p->tables->objects, id);
	agent = object ? pasta_map_find(p->tables->agents, object->agent) : NULL;
	symbol = pasta_roctables_symbol_at(p->tables, id, ev.pc_sample.pc);
	ev.pc_sample.crc = object ? object->hash : 0;
	ev.pc_sample.device = agent ? agent->device : 0;
	if (symbol && object) {
		ev.pc_sample.function = pasta_roctables_str(p->tables, &symbol->name);
		ev.pc_sample.pc -= symbol->address - object->base;
	}
	pasta_trace_event(p->t, PASTA_TRACE_OTHER, &ev, 0);
	return NULL;
}

/* -- Events of the host -- */

static void put_span(struct pasta_rocread *p, const struct head *h, struct pasta_span *span)
{
	struct pasta_slice thread = {"0", 1};

	if (h->thread)
		thread = pasta_jsontape_text(p->tape, h->thread);
	span->begin = h->begin;
	span->end = h->end;
	pasta_trace_span(p->t, pasta_trace_track(p->t, (struct pasta_slice){"", 0}, thread), span);
}

/* Returns a call's status, which the file contains in the form {"hipError_t_retval": 0}. A value of
 * more than 32 bits is not a status, but a pointer. */
static uint32_t status_of(const struct pasta_jsontape *tape)
{
	uint32_t retval = pasta_jsontape_get(tape, 0, "retval");
	uint64_t status = 0;

	PASTA_JSON_EACH(tape, retval, key, value)
	return !pasta_chromeevent_uint(tape, value, &status) && status <= UINT32_MAX
		       ? (uint32_t)status
		       : 0;
	return 0;
}

/* Returns what a call does, like pasta_trace_call. The names of HSA's functions differ in style
 * from those of HIP. Loads of code have records of their own (code_objects). */
static uint64_t call_of(struct pasta_slice name)
{
	uint64_t call = pasta_trace_call(name);

	if (contains(name, "hsa_amd_memory_async_copy") || contains(name, "hsa_memory_copy"))
		return PASTA_LAUNCH_WORK_COPY;
	return contains(name, "hsa_amd_memory_fill") ? PASTA_LAUNCH_WORK_FILL
	       : call >> 32 == PASTA_CALL_LOAD	     ? 0
						     : call;
}

static uint32_t operation_name(struct pasta_rocread *p, const struct head *h)
{
	const struct pasta_jsontape *tape = p->tape;
	char text[80];
	int n;

	if (h->name.size)
		return pasta_roctables_str(p->tables, h->operation);
	n = snprintf(text, sizeof(text), "%s %u.%u", p->name, pasta_roc_u32(tape, 0, "kind"),
		     pasta_roc_u32(tape, 0, "operation"));
	return pasta_trace_str(p->t, text, (size_t)n);
}

const char *pasta_rocread_call(struct pasta_rocread *p)
{
	struct pasta_span span = {.what = PASTA_SPAN_CALL, .sub = p->sub};
	struct head h;
	const char *wrong = read_head(p, &h);

	if (wrong)
		return wrong;
	span.a = h.corr;
	span.b = call_of(h.name);
	span.extra = status_of(p->tape);
	if ((uint32_t)span.b)
		pasta_rccl_launch(&p->rccl, h.tid, h.corr, h.begin);
	p->calls = true;
	if (pasta_trace_enabled(p->t, PASTA_MASK(API)))
		span.name = operation_name(p, &h);
	if (span.name ||
	    (span.b && pasta_trace_enabled(p->t, PASTA_MASK(LAUNCH) | PASTA_MASK(SYNC))))
		put_span(p, &h, &span);
	return NULL;
}

/* Imports an RCCL call. If the file has no other calls, kernels have the correlation ids of RCCL
 * calls. */
const char *pasta_rocread_rccl(struct pasta_rocread *p)
{
	struct pasta_span span = {.what = PASTA_SPAN_CALL, .sub = p->sub};
	struct head h;
	const char *wrong = read_head(p, &h);

	if (wrong)
		return wrong;
	pasta_rccl_call(&p->rccl, h.name, h.tid, h.corr, h.begin, h.end);
	if (!pasta_trace_enabled(p->t, PASTA_MASK(API)))
		return NULL;
	span.a = h.corr;
	span.name = operation_name(p, &h);
	put_span(p, &h, &span);
	return NULL;
}

static void put_mark(struct pasta_rocread *p, const struct head *h, uint32_t name)
{
	struct pasta_event ev = PASTA_TRACE_EVENT(region, REGION, 0, h->begin);

	ev.sub = PASTA_REGION_MARK;
	ev.tid = h->tid;
	ev.region.name = name;
	ev.region.domain = p->roctx;
	pasta_trace_event(p->t, PASTA_TRACE_OTHER, &ev, 0);
}

/* Imports a ROCTX record. A range is one record, whichever functions started and ended it. All
 * other records are imported as calls. */
const char *pasta_rocread_marker(struct pasta_rocread *p)
{
	struct pasta_span span = {.what = PASTA_SPAN_REGION};
	struct pasta_roctext *message;
	struct head h;
	const char *wrong = read_head(p, &h);
	bool mark, range;

	if (wrong)
		return wrong;
	mark = contains(h.name, "roctxMark");
	range = contains(h.name, "Range");
	if (!mark && !range)
		return pasta_rocread_call(p);
	if (!pasta_trace_enabled(p->t, PASTA_MASK(REGION)))
		return NULL;
	if (!p->roctx)
		p->roctx = pasta_trace_str(p->t, "roctx", 5);
	message = pasta_map_find(p->tables->messages, h.corr);
	span.name = pasta_roctables_str(p->tables, message);
	span.extra = p->roctx;
	if (!span.name)
		span.name = operation_name(p, &h);
	if (mark)
		put_mark(p, &h, span.name);
	else
		put_span(p, &h, &span);
	return NULL;
}

/* -- Memory -- */

/* Imports an allocation or a free. An address counts as allocated from the end of the allocating
 * call to the start of the freeing call, so that the next allocation of the address follows the
 * free. hsa_amd_vmem_handle_create returns handles, not addresses. */
const char *pasta_rocread_allocation(struct pasta_rocread *p)
{
	const struct pasta_jsontape *tape = p->tape;
	struct pasta_event alloc = PASTA_TRACE_EVENT(alloc, ALLOC, 0, 0),
			   freed = PASTA_TRACE_EVENT(free, FREE, 0, 0);
	uint64_t address, size = 0, handle = 0;
	const struct pasta_rocagent *agent;
	const char *wrong;
	struct head h;

	wrong = read_head(p, &h);
	if (wrong)
		return wrong;
	if (!pasta_roc_handle(tape, 0, "address", &address))
		return "an allocation has no address";
	pasta_roc_number(tape, 0, "allocation_size", &size);
	pasta_roc_handle(tape, 0, "agent_id", &handle);
	alloc.tid = freed.tid = h.tid;
	alloc.alloc.addr = freed.free.addr = address;
	alloc.alloc.pool = freed.free.pool = contains(h.name, "VMEM");
	if (contains(h.name, "FREE")) {
		freed.time = h.begin;
		freed.free.bytes = size;
		freed.free.dur = h.end - h.begin;
		if (address)
			pasta_trace_event(p->t, PASTA_TRACE_MEMORY, &freed, 0);
		else
			p->null_frees++;
		return NULL;
	}
	agent = pasta_roctables_gpu(p->tables, handle);
	if (!agent)
		return NULL;
	alloc.sub = agent->gpu ? PASTA_ALLOC_DEVICE : PASTA_ALLOC_HOST;
	alloc.time = h.end;
	alloc.alloc.bytes = size;
	alloc.alloc.dur = h.end - h.begin;
	alloc.alloc.device = agent->device;
	alloc.alloc.flags = PASTA_ALLOC_BY_DRIVER;
	pasta_trace_event(p->t, PASTA_TRACE_MEMORY, &alloc, 0);
	return NULL;
}

const char *pasta_rocread_scratch(struct pasta_rocread *p)
{
	const struct pasta_jsontape *tape = p->tape;
	const struct pasta_rocagent *agent;
	uint64_t handle = 0;
	struct pasta_rocscratch s = {0};
	const char *wrong;
	struct head h;

	wrong = read_head(p, &h);
	if (wrong)
		return wrong;
	if (!pasta_roc_handle(tape, 0, "agent_id", &handle))
		return "a record of scratch memory has no agent_id";
	agent = pasta_roctables_gpu(p->tables, handle);
	if (!agent || !pasta_trace_enabled(p->t, PASTA_MASK(COUNTER)))
		return NULL;
	if (p->scratch_count == p->scratch_capacity) {
		size_t n = p->scratch_capacity ? 2 * p->scratch_capacity : 256;
		void *more = reallocarray(p->scratch, n, sizeof(*p->scratch));

		if (!more) {
			pasta_fail(p->t->err, -ENOMEM, "out of memory");
			return NULL;
		}
		p->scratch = more;
		p->scratch_capacity = n;
	}
	pasta_roc_handle(tape, 0, "queue_id", &s.queue);
	pasta_roc_number(tape, 0, "allocation_size", &s.bytes);
	s.time = h.end;
	s.device = agent->device;
	p->scratch[p->scratch_count++] = s;
	return NULL;
}

static int by_time(const void *a, const void *b)
{
	const struct pasta_rocscratch *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->queue > y->queue) - (x->queue < y->queue);
}

/* Emits the scratch memory of a device: the sum over all of its queues. */
static void put_scratch(struct pasta_rocread *p)
{
	struct pasta_map *queues = pasta_map_new(sizeof(uint64_t));
	struct pasta_map *devices = pasta_map_new(sizeof(uint64_t));
	uint32_t name = p->scratch_count ? pasta_trace_str(p->t, "scratch", 7) : 0;

	if (p->scratch_count)
		qsort(p->scratch, p->scratch_count, sizeof(*p->scratch), by_time);
	for (size_t i = 0; queues && devices && i < p->scratch_count; i++) {
		const struct pasta_rocscratch *s = &p->scratch[i];
		struct pasta_event ev = PASTA_TRACE_EVENT(counter, COUNTER, 0, s->time);
		uint64_t *of_queue = pasta_map_add(queues, s->queue);
		uint64_t *of_device = pasta_map_add(devices, s->device);

		if (!of_queue || !of_device) {
			pasta_fail(p->t->err, -ENOMEM, "out of memory");
			break;
		}
		*of_device += s->bytes - *of_queue;
		*of_queue = s->bytes;
		ev.counter.name = name;
		ev.counter.device = s->device;
		ev.counter.value = (double)*of_device;
		pasta_trace_event(p->t, PASTA_TRACE_MEMORY, &ev, 0);
	}
	pasta_map_free(queues);
	pasta_map_free(devices);
}

void pasta_rocread_end(struct pasta_rocread *p)
{
	pasta_rccl_put(&p->rccl);
	put_scratch(p);
}
