/* torch.c - converts the reports of the PyTorch shim into records. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/accesses.h"
#include "collect/stack.h"
#include "collect/state.h"
#include "core/lock.h"
#include "handlers/handler.h"
#include "handlers/torch/module.h"
#include "handlers/torch/pystack.h"
#include "handlers/torch/torch.h"

/* Values of the field `pool` of an allocation. A block, its segment and the driver's allocation may
 * have the same address; the field `pool` distinguishes them. */
#define POOL 0x746f7263u
#define SEGMENTS 0x746f7264u
#define THREAD_BITS 40 /* in an id, the bits from this bit upwards are the thread's number */
#define FORWARD_BITS 40
enum { PART = 16 }; /* maximum number of tensors in one batch of records */

const struct pasta_torch_shim *torch_shim;

/* What the handler records; set once, at the start. */
static struct {
	bool ops, values, args, tensors, allocs, frees, objects, counters, stacks, modules;
} enabled;

static pthread_key_t thread_end;
static _Atomic uint64_t threads;
/* Only a pointer is thread-local, because the agent is loaded late, when little room is left for
 * initial-exec variables. */
static _Thread_local struct torch_thread *self;

/* -- Threads -- */

static void torch_thread_free(void *arg)
{
	self = NULL;
	pasta_memory_free(arg, sizeof(struct torch_thread));
}

/* Set up the state of the calling thread. A forked child does this again, because open operators
 * and interned ids of the parent process are invalid there. */
__attribute__((noinline)) static struct torch_thread *torch_thread_open(void)
{
	uint64_t number;

	if (!self) {
		self = pasta_memory_new(sizeof(*self));
		if (!self)
			return NULL;
		pthread_setspecific(thread_end, self);
	}
	pasta_agent_tid(); /* sets the generation */
	memset(self, 0, sizeof(*self));
	number = atomic_fetch_add(&threads, 1);
	self->id = number << THREAD_BITS;
	self->gen = pasta_agent_gen();
	self->torch = pasta_intern_str("torch");
	self->annotation = pasta_intern_str("annotation");
	self->profiler_step = pasta_intern_str("ProfilerStep");
	self->allocated = pasta_intern_str("allocated");
	self->reserved = pasta_intern_str("reserved");
	return self;
}

static inline struct torch_thread *torch_thread_get(void)
{
	struct torch_thread *t = self;

	if (__builtin_expect(t && t->gen == atomic_load_explicit(&pasta_state->gen,
								 memory_order_relaxed),
			     1))
		return t;
	t = torch_thread_open();
	if (!t)
		pasta_emit_loss(PASTA_LOSS_MEMORY, 1);
	return t;
}

/* Add newly allocated memory to the table. The handler calls this function only when the memory is
 * looked up, so that the prefetch of the table entry is done by then. The call happens at the
 * latest when the operator ends, because other threads can use the memory afterwards. */
static inline void torch_thread_add_fresh(struct torch_thread *t)
{
	if (t->fresh)
		torch_storage_add_fresh(t);
}

/* -- Operators -- */

/* Open a batch with room for the operator's next tensors and for `size` more bytes. Each tensor may
 * need two TENSOR records, because the tensor's base may be new as well. Returns the index after
 * the last tensor that fits. */
static uint32_t op_batch_open(struct pasta_batch *b, const struct pasta_torch_op *op,
			      uint32_t emitted, size_t size)
{
	uint32_t left = enabled.tensors ? op->count - emitted : 0, n = left < PART ? left : PART;

	pasta_batch_open(b, size + n * (2 * PASTA_EVENT_SIZE(tensor) + PASTA_EVENT_SIZE(op_arg)));
	return emitted + n;
}

/* Returns the id for the operator's OP_ARG records; 0 if arguments are not recorded. */
static inline uint64_t op_of_args(uint64_t id)
{
	return enabled.args ? id : 0;
}

/* Emit the operator's tensors, starting at the index `emitted`. */
static void op_emit_args(struct torch_thread *t, const struct pasta_torch_op *op, uint32_t emitted,
			 uint64_t id, enum pasta_op_arg_sub sub, uint64_t since)
{
	struct pasta_batch b;

	while (enabled.tensors && emitted < op->count) {
		uint32_t end = op_batch_open(&b, op, emitted, 0);

		torch_args_add(t, &b, op, emitted, end, op_of_args(id), sub, since);
		pasta_batch_close(&b);
		emitted = end;
	}
}

/* Autograd's sequence numbers are unique only within a thread, so the result includes the thread's
 * number. */
static inline uint64_t op_seq(int64_t seq, uint64_t thread)
{
	return seq < 0 ? 0 : (thread ? thread - 1 : 0) << FORWARD_BITS | (uint64_t)(seq + 1);
}

static void op_add_end(struct pasta_batch *b, uint64_t id, uint64_t time, uint32_t outputs)
{
	struct pasta_event *ev = pasta_batch_add(b, PASTA_KIND_OP_END, 0, PASTA_EVENT_SIZE(op_end));

	ev->time = time;
	ev->op_end.id = id;
	ev->op_end.outputs = outputs;
}

static void op_emit_end(uint64_t id, uint64_t time, uint32_t outputs)
{
	struct pasta_batch b;

	pasta_batch_open(&b, PASTA_EVENT_SIZE(op_end));
	op_add_end(&b, id, time, outputs);
	pasta_batch_close(&b);
}

/* Returns the id of the results' description. */
static inline uint32_t op_outputs(struct torch_thread *t, const struct pasta_torch_op *op)
{
	return op->values_hash ? torch_texts_get(t, op, true)->ids[PASTA_TORCH_SHAPES] : 0;
}

/* Emit the start of an operator together with its first tensors. Returns the number of tensors
 * emitted. */
static uint32_t op_emit_begin(struct torch_thread *t, const struct pasta_torch_op *op,
			      const struct torch_open *o, bool deep)
{
	const struct torch_texts *texts = torch_texts_get(t, op, false);
	uint32_t name = pasta_intern_str(op->name), emitted;
	uint32_t stack = enabled.stacks ? pasta_pystack_capture() : 0;
	uint32_t module = enabled.modules ? pasta_torch_module_now() : 0;
	struct pasta_event *ev;
	struct pasta_batch b;

	emitted = op_batch_open(&b, op, 0, PASTA_EVENT_SIZE(op_begin) + PASTA_EVENT_SIZE(op_end));
	ev = pasta_batch_add(&b, PASTA_KIND_OP_BEGIN, 0, PASTA_EVENT_SIZE(op_begin));
	ev->time = op->time;
	ev->op_begin.id = o->id;
	ev->op_begin.seq = o->seq;
	ev->op_begin.name = name;
	ev->op_begin.stack = stack;
	ev->op_begin.module = module;
	ev->op_begin.flags = o->backward ? PASTA_OP_BACKWARD : 0;
	ev->op_begin.depth = o->ops;
	ev->op_begin.inputs = texts->ids[PASTA_TORCH_SHAPES];
	ev->op_begin.scalars = texts->ids[PASTA_TORCH_SCALARS];
	ev->op_begin.strides = texts->ids[PASTA_TORCH_STRIDES];
	if (deep) /* an operator that is nested too deeply has no duration */
		op_add_end(&b, o->id, op->time, 0);
	torch_args_add(t, &b, op, 0, emitted, op_of_args(o->id), PASTA_OP_ARG_IN, 0);
	pasta_batch_close(&b);
	return emitted;
}

/* An operator inside a backward operator gets the sequence number of the backward operator. */
static void op_set_backward(const struct torch_thread *t, const struct pasta_torch_op *op,
			    struct torch_open *o)
{
	const struct torch_open *outer = t->depth ? &t->open[t->depth - 1] : NULL;

	o->backward = op->forward || op->scope == PASTA_TORCH_BACKWARD;
	o->seq = op_seq(op->seq, op->forward ? op->forward : op->thread);
	if (outer && outer->backward && !o->backward) {
		o->backward = true;
		o->seq = outer->seq;
	}
}

/* Record the start of an operator. Returns the number of tensors emitted. */
static uint32_t op_begin_first(struct torch_thread *t, struct pasta_torch_op *op)
{
	struct torch_open *o = &t->open[t->depth];
	bool deep = t->depth == TORCH_DEPTH, recorded;

	o->key = op->key;
	o->id = 0;
	o->region = op->scope == PASTA_TORCH_USER;
	o->compiles = false;
	t->freed_segment = false;
	op_set_backward(t, op, o);
	if (o->region) {
		recorded = pasta_region_enabled();
		o->compiles = torch_derive_compiles(op->name);
		torch_derive_step(t, op->name);
		pasta_region_push(PASTA_OWNER_TORCH, recorded,
				  recorded ? pasta_intern_str(op->name) : 0, t->annotation);
	} else if (enabled.ops && pasta_agent_active()) {
		op->id = o->id = torch_id(t);
	}
	o->ops = (t->depth ? o[-1].ops : 0) + (o->id != 0);
	/* The clock is read after pasta_region_push, which also reads the clock, so that times
	 * never decrease. */
	o->time = op->time = pasta_now();
	if (!deep)
		t->depth++;
	else if (o->region)
		pasta_region_pop(PASTA_OWNER_TORCH);
	return o->id ? op_emit_begin(t, op, o, deep) : 0;
}

static void torch_on_begin(struct pasta_torch_op *op)
{
	struct torch_thread *t = torch_thread_get();
	uint32_t emitted = 0;

	if (!t)
		return;
	torch_thread_add_fresh(t);
	if (!op->time)
		emitted = op_begin_first(t, op);
	if (emitted < op->count)
		op_emit_args(t, op, emitted, op->id, PASTA_OP_ARG_IN, 0);
}

static struct torch_open *op_find_open(struct torch_thread *t, const void *key)
{
	for (uint32_t i = t->depth; i-- > 0;)
		if (t->open[i].key == key)
			return &t->open[i];
	return NULL;
}

/* End the operator o and all operators that are still open inside it. Such inner operators have
 * ended on another thread, or never end. */
static void op_end_down_to(struct torch_thread *t, const struct torch_open *o, uint64_t time,
			   uint32_t outputs)
{
	bool is_last = false;

	while (!is_last) {
		const struct torch_open *last = &t->open[--t->depth];

		is_last = last == o;
		if (last->region) {
			pasta_region_pop(PASTA_OWNER_TORCH);
			time = pasta_now();
			if (last->compiles)
				torch_derive_compiled(t, last->time, time);
		} else if (last->id) {
			op_emit_end(last->id, time, is_last ? outputs : 0);
		}
	}
}

/* Returns whether one batch of records can end the operator. If so, the operator has few tensors,
 * and no operator inside of the operator is open. */
static bool op_is_plain(const struct torch_thread *t, const struct pasta_torch_op *op,
			const struct torch_open *o)
{
	return o == &t->open[t->depth - 1] && o->id && !op->more && op->count <= PART;
}

static void op_end_plain(struct torch_thread *t, const struct pasta_torch_op *op,
			 const struct torch_open *o)
{
	struct pasta_batch b;
	uint32_t outputs = op_outputs(t, op);
	uint32_t end = op_batch_open(&b, op, 0, PASTA_EVENT_SIZE(op_end));

	torch_args_add(t, &b, op, 0, end, op_of_args(o->id), PASTA_OP_ARG_OUT, o->time);
	op_add_end(&b, o->id, op->time, outputs);
	pasta_batch_close(&b);
	t->depth--;
}

static void torch_on_end(struct pasta_torch_op *op)
{
	struct torch_thread *t = torch_thread_get();
	const struct torch_open *o = t ? op_find_open(t, op->key) : NULL;

	if (!o) {
		if (t)
			torch_thread_add_fresh(t);
		return;
	}
	for (uint32_t i = 0; enabled.tensors && i < op->count; i++)
		torch_tensor_prefetch(&op->tensors[i]);
	if (!op->time)
		op->time = pasta_now();
	if (op_is_plain(t, op, o)) {
		op_end_plain(t, op, o);
	} else {
		op_emit_args(t, op, 0, o->id, PASTA_OP_ARG_OUT, o->time);
		if (!op->more)
			op_end_down_to(t, o, op->time, o->id ? op_outputs(t, op) : 0);
	}
	torch_thread_add_fresh(t);
}

/* -- Memory -- */

static void memory_emit_counter(uint32_t name, uint64_t value, uint32_t device, uint64_t time)
{
	struct pasta_event ev;

	pasta_event_init(&ev, PASTA_KIND_COUNTER, 0, PASTA_EVENT_SIZE(counter));
	ev.time = time;
	ev.counter.value = (double)value;
	ev.counter.name = name;
	ev.counter.device = device;
	pasta_emit(&ev);
}

/* Returns the device's number; the host has the same number as in imported runs. */
static uint32_t memory_device(const struct pasta_torch_memory *m)
{
	return m->device ? m->device - 1 : UINT32_MAX;
}

static void memory_emit_alloc(const struct torch_thread *t, const struct pasta_torch_memory *m,
			      enum pasta_alloc_sub sub, uint32_t pool, uint64_t time)
{
	struct pasta_event *ev = pasta_record_open(PASTA_KIND_ALLOC, sub, PASTA_EVENT_SIZE(alloc));

	if (!ev)
		return;
	ev->time = time;
	ev->alloc.addr = (uintptr_t)m->addr;
	ev->alloc.bytes = (uint64_t)m->bytes;
	ev->alloc.name = t->torch;
	ev->alloc.device = memory_device(m);
	ev->alloc.pool = pool;
	pasta_record_close(ev);
}

static void memory_emit_free(const struct pasta_torch_memory *m, enum pasta_alloc_sub sub,
			     uint32_t pool, uint64_t time)
{
	struct pasta_event *ev = pasta_record_open(PASTA_KIND_FREE, sub, PASTA_EVENT_SIZE(free));

	if (!ev)
		return;
	ev->time = time;
	ev->free.addr = (uintptr_t)m->addr;
	ev->free.bytes = 0 - (uint64_t)m->bytes;
	ev->free.device = memory_device(m);
	ev->free.pool = pool;
	pasta_record_close(ev);
}

static void memory_emit(const struct torch_thread *t, const struct pasta_torch_memory *m,
			enum pasta_alloc_sub sub, uint32_t pool, uint64_t time)
{
	if (m->bytes > 0 && enabled.allocs)
		memory_emit_alloc(t, m, sub, pool, time);
	else if (m->bytes < 0 && enabled.frees)
		memory_emit_free(m, sub, pool, time);
}

static inline void memory_note_storage(struct torch_thread *t, const struct pasta_torch_memory *m)
{
	torch_thread_add_fresh(t);
	if (m->bytes < 0) {
		torch_storage_end(m->addr);
		return;
	}
	t->fresh = m->addr;
	if (!t->depth)
		torch_thread_add_fresh(t);
}

/* Register or unregister a block of PyTorch's allocator as an object. Memory accesses are counted
 * by block, not by the driver's allocation that PyTorch divides into blocks. The first block
 * replaces that allocation as an object, so freeing the allocation later has no effect on the
 * blocks. */
static void memory_register_object(const struct pasta_torch_memory *m)
{
	uint64_t addr = (uintptr_t)m->addr;

	if (m->bytes > 0)
		pasta_accesses_object(addr, addr, (uint64_t)m->bytes, 0, memory_device(m));
	else
		pasta_accesses_unregister(addr, 0);
}

static void torch_on_memory(const struct pasta_torch_memory *m)
{
	struct torch_thread *t = torch_thread_get();
	uint64_t now;

	if (!t || !m->addr || !m->bytes)
		return;
	if (enabled.tensors)
		torch_storage_prefetch(m->addr);
	now = pasta_now();
	memory_emit(t, m, m->device ? PASTA_ALLOC_POOL : PASTA_ALLOC_HOST, POOL, now);
	if (enabled.objects && m->device)
		memory_register_object(m);
	if (enabled.tensors)
		memory_note_storage(t, m);
	if (enabled.counters && pasta_agent_active()) {
		memory_emit_counter(t->allocated, m->allocated, memory_device(m), now);
		if (m->device) /* PyTorch's host allocator reserves no memory */
			memory_emit_counter(t->reserved, m->reserved, memory_device(m), now);
	}
}

static void torch_on_segment(const struct pasta_torch_memory *m)
{
	struct torch_thread *t = torch_thread_get();

	if (!t || !m->bytes)
		return;
	memory_emit(t, m, PASTA_ALLOC_SEGMENT, SEGMENTS, pasta_now());
	torch_derive_retry(t, m->bytes < 0, memory_device(m));
}

/* The shim calls this function for each operator while another profiler is active. */
static void torch_on_blind(void)
{
	static atomic_flag reported = ATOMIC_FLAG_INIT;

	torch_tensors_blind();
	if (atomic_flag_test_and_set_explicit(&reported, memory_order_relaxed))
		return;
	pasta_agent_log("torch", "the program's own torch.profiler is running: until it stops, "
				 "allocations and frees are not recorded");
}

static void torch_on_dropped(uint64_t count)
{
	pasta_emit_loss(PASTA_LOSS_SOURCE, count);
}

/* -- Start -- */

static uint32_t torch_read_enabled(void)
{
	bool (*records)(enum pasta_kind);

	enabled.ops = pasta_agent_records(PASTA_KIND_OP_BEGIN);
	enabled.values = enabled.ops;
	enabled.args = pasta_agent_records(PASTA_KIND_OP_ARG);
	enabled.tensors = enabled.args || pasta_agent_records(PASTA_KIND_TENSOR);
	/* Memory reports need a callback at each operator, which is expensive. So allocations and
	 * frees are recorded only on request, unless the handler observes operators for another
	 * reason. */
	records = enabled.ops || enabled.tensors || pasta_accesses_config.on
			  ? pasta_agent_records
			  : pasta_agent_requested;
	enabled.allocs = records(PASTA_KIND_ALLOC);
	enabled.frees = records(PASTA_KIND_FREE);
	enabled.objects = pasta_accesses_config.on;
	enabled.counters = pasta_agent_records(PASTA_KIND_COUNTER);
	enabled.stacks = pasta_stack_types() & PASTA_STACKS_PYTHON;
	enabled.modules = pasta_stack_types() & PASTA_STACKS_MODULES;
	return (enabled.ops ? PASTA_TORCH_OPS : 0u) | (enabled.values ? PASTA_TORCH_VALUES : 0u) |
	       (enabled.tensors ? PASTA_TORCH_TENSORS : 0u) |
	       (enabled.allocs || enabled.frees || enabled.objects ? PASTA_TORCH_MEMORY : 0u);
}

int torch_start(pasta_torch_entry entry, char *why, size_t size)
{
	static struct pasta_torch_agent agent = {
		.abi = PASTA_TORCH_ABI,
		.size = sizeof(agent),
		.begin = torch_on_begin,
		.end = torch_on_end,
		.memory = torch_on_memory,
		.segment = torch_on_segment,
		.blind = torch_on_blind,
		.dropped = torch_on_dropped,
	};
	const struct pasta_torch_shim *shim;

	agent.records = torch_read_enabled();
	if (pthread_key_create(&thread_end, torch_thread_free) ||
	    (enabled.tensors && !torch_tensors_open())) {
		snprintf(why, size, "out of memory");
		return -ENOMEM;
	}
	shim = entry(&agent, why, size);
	if (!shim)
		return -EPROTO;
	if (shim->abi != PASTA_TORCH_ABI || shim->size < sizeof(*shim)) {
		snprintf(why, size,
			 "the PyTorch shim has ABI version %u, but the agent has "
			 "version %d",
			 shim->abi, PASTA_TORCH_ABI);
		return -EPROTO;
	}
	torch_shim = shim; /* set torch_shim before the shim reports anything */
	if (!shim->start(why, size))
		return 0;
	torch_shim = NULL;
	return -EIO;
}

#define EXPORT __attribute__((visibility("default")))

EXPORT int pasta_torch_enabled(void)
{
	return pasta_agent_attach_vendor() && torch_read_enabled();
}

EXPORT void pasta_torch_log(const char *what)
{
	if (pasta_agent_attach_vendor())
		pasta_agent_log("torch", what);
}

EXPORT void pasta_torch_yield(void)
{
	if (torch_shim)
		torch_shim->yield();
}

EXPORT int pasta_torch_attach(const char *path, char *why, size_t size)
{
	static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
	pasta_torch_entry entry = NULL;
	void *lib = NULL;
	int r = 0;

	if (!pasta_torch_enabled())
		return 0;
	pasta_lock(&once);
	if (!torch_shim) {
		lib = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
		if (lib)
			*(void **)&entry = dlsym(lib, PASTA_TORCH_ENTRY);
		if (!entry)
			snprintf(why, size, "%s", dlerror());
		r = entry ? torch_start(entry, why, size) : -ENOEXEC;
	}
	pasta_unlock(&once);
	return r;
}

static int torch_probe(char *why, size_t size)
{
	snprintf(why, size,
		 "records PyTorch 1.13 and later; the first run with each version of PyTorch needs "
		 "a C++ compiler");
	return 0;
}

const struct pasta_handler pasta_torch_handler = {
	.name = "torch",
	.summary = "operators, tensors and memory of PyTorch programs",
	.probe = torch_probe,
};
