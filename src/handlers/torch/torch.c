/* torch.c - the PyTorch handler: what the shim says becomes operators, tensors and memory. */
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

/* Its pieces begin where the driver's allocations do: they are told apart by the pool. */
#define POOL 0x746f7263u
#define SEGMENTS 0x746f7264u
#define THREAD_BITS 40 /* the rest of an id is the thread's number */
#define FORWARD_BITS 40
enum { PART = 16 }; /* tensors in a batch */

const struct pasta_torch_shim *torch_shim;

/* What is wanted, once. */
static struct {
	bool ops, args, tensors, allocs, frees, objects, counters, stacks, modules;
} wants;

static pthread_key_t thread_end;
static _Atomic uint64_t threads;
/* Small, and of the initial-exec kind: the agent is loaded late. */
static _Thread_local struct torch_thread *self;

/* -- Threads -- */

static void thread_free(void *arg)
{
	self = NULL;
	pasta_memory_free(arg, sizeof(struct torch_thread));
}

/* In a forked child what the parent's thread had is none of its own, and names are new ones. */
__attribute__((noinline)) static struct torch_thread *thread_settle(void)
{
	uint64_t number;

	if (!self) {
		self = pasta_memory_new(sizeof(*self));
		if (!self)
			return NULL;
		pthread_setspecific(thread_end, self);
	}
	pasta_agent_tid(); /* from here on there is a gen */
	memset(self, 0, sizeof(*self));
	number = atomic_fetch_add(&threads, 1);
	self->id = number << THREAD_BITS;
	self->gen = pasta_agent_gen();
	self->torch = pasta_intern_str("torch");
	self->annotation = pasta_intern_str("annotation");
	self->allocated = pasta_intern_str("allocated");
	self->reserved = pasta_intern_str("reserved");
	return self;
}

static inline struct torch_thread *thread_get(void)
{
	struct torch_thread *t = self;

	if (__builtin_expect(t && t->gen == atomic_load_explicit(&pasta_state->gen,
								 memory_order_relaxed),
			     1))
		return t;
	t = thread_settle();
	if (!t)
		pasta_emit_loss(PASTA_LOSS_MEMORY, 1);
	return t;
}

/* What an operator allocates waits until it is looked for, while its place in the table is fetched:
 * at the latest when the operator ends, before which no other thread has it. */
static inline void settle_fresh(struct torch_thread *t)
{
	if (t->fresh)
		torch_storage_settle(t);
}

/* -- Operators -- */

/* Room for the next tensors of an operator, each perhaps new, as may be its base; and for size
 * bytes more. Returns how many there are in all, up to the last of them. */
static uint32_t batch_open(struct pasta_batch *b, const struct pasta_torch_op *op, uint32_t told,
			   size_t size)
{
	uint32_t left = wants.tensors ? op->count - told : 0, n = left < PART ? left : PART;

	pasta_batch_open(b, size + n * (2 * PASTA_EVENT_SIZE(tensor) + PASTA_EVENT_SIZE(op_arg)));
	return told + n;
}

/* The operator that its arguments name; 0: they are not wanted. */
static inline uint64_t arg_op(uint64_t id)
{
	return wants.args ? id : 0;
}

/* Those past the first so many. */
static void emit_args(struct torch_thread *t, const struct pasta_torch_op *op, uint32_t told,
		      uint64_t id, enum pasta_op_arg_sub sub, uint64_t since)
{
	struct pasta_batch b;

	while (wants.tensors && told < op->count) {
		uint32_t end = batch_open(&b, op, told, 0);

		torch_args_add(t, &b, op, told, end, arg_op(id), sub, since);
		pasta_batch_close(&b);
		told = end;
	}
}

/* Numbers of autograd count a thread's operators, each for itself. */
static inline uint64_t seq_of(int64_t seq, uint64_t thread)
{
	return seq < 0 ? 0 : (thread ? thread - 1 : 0) << FORWARD_BITS | (uint64_t)(seq + 1);
}

static void add_end(struct pasta_batch *b, uint64_t id, uint64_t time)
{
	struct pasta_event *ev = pasta_batch_add(b, PASTA_KIND_OP_END, 0, PASTA_EVENT_SIZE(op_end));

	ev->time = time;
	ev->op_end.id = id;
}

static void emit_end(uint64_t id, uint64_t time)
{
	struct pasta_batch b;

	pasta_batch_open(&b, PASTA_EVENT_SIZE(op_end));
	add_end(&b, id, time);
	pasta_batch_close(&b);
}

/* With its first tensors: returns how many. */
static uint32_t emit_begin(struct torch_thread *t, const struct pasta_torch_op *op,
			   const struct torch_open *o, bool deep)
{
	uint32_t name = pasta_intern_str(op->name), told;
	uint32_t stack = wants.stacks ? pasta_pystack_capture() : 0;
	uint32_t module = wants.modules ? pasta_torch_module_now() : 0;
	struct pasta_event *ev;
	struct pasta_batch b;

	told = batch_open(&b, op, 0, PASTA_EVENT_SIZE(op_begin) + PASTA_EVENT_SIZE(op_end));
	ev = pasta_batch_add(&b, PASTA_KIND_OP_BEGIN, 0, PASTA_EVENT_SIZE(op_begin));
	ev->time = op->time;
	ev->op_begin.id = o->id;
	ev->op_begin.seq = o->seq;
	ev->op_begin.name = name;
	ev->op_begin.stack = stack;
	ev->op_begin.module = module;
	ev->op_begin.flags = o->backward ? PASTA_OP_BACKWARD : 0;
	ev->op_begin.depth = o->ops;
	if (deep) /* these have no length */
		add_end(&b, o->id, op->time);
	torch_args_add(t, &b, op, 0, told, arg_op(o->id), PASTA_OP_ARG_IN, 0);
	pasta_batch_close(&b);
	return told;
}

/* What runs inside a backward operator belongs to it, whatever number it has itself. */
static void place(const struct torch_thread *t, const struct pasta_torch_op *op,
		  struct torch_open *o)
{
	const struct torch_open *outer = t->depth ? &t->open[t->depth - 1] : NULL;

	o->backward = op->forward || op->scope == PASTA_TORCH_BACKWARD;
	o->seq = seq_of(op->seq, op->forward ? op->forward : op->thread);
	if (outer && outer->backward && !o->backward) {
		o->backward = true;
		o->seq = outer->seq;
	}
}

/* Returns how many of its tensors are told. */
static uint32_t begin_first(struct torch_thread *t, struct pasta_torch_op *op)
{
	struct torch_open *o = &t->open[t->depth];
	bool deep = t->depth == TORCH_DEPTH, wanted;

	o->key = op->key;
	o->id = 0;
	o->region = op->scope == PASTA_TORCH_USER;
	place(t, op, o);
	if (o->region) {
		wanted = pasta_region_enabled();
		pasta_region_push(PASTA_OWNER_TORCH, wanted,
				  wanted ? pasta_intern_str(op->name) : 0, t->annotation);
	} else if (wants.ops && pasta_agent_active()) {
		op->id = o->id = torch_id(t);
	}
	o->ops = (t->depth ? o[-1].ops : 0) + (o->id != 0);
	/* A region has read the clock itself, and this must not come before it. */
	o->time = op->time = pasta_now();
	if (!deep)
		t->depth++;
	else if (o->region)
		pasta_region_pop(PASTA_OWNER_TORCH);
	return o->id ? emit_begin(t, op, o, deep) : 0;
}

static void on_begin(struct pasta_torch_op *op)
{
	struct torch_thread *t = thread_get();
	uint32_t told = 0;

	if (!t)
		return;
	settle_fresh(t);
	if (!op->time)
		told = begin_first(t, op);
	if (told < op->count)
		emit_args(t, op, told, op->id, PASTA_OP_ARG_IN, 0);
}

static struct torch_open *find_open(struct torch_thread *t, const void *key)
{
	for (uint32_t i = t->depth; i-- > 0;)
		if (t->open[i].key == key)
			return &t->open[i];
	return NULL;
}

/* Those inside that have not ended have ended on another thread, or never will. */
static void close_down_to(struct torch_thread *t, const struct torch_open *o, uint64_t time)
{
	bool is_last = false;

	while (!is_last) {
		const struct torch_open *last = &t->open[--t->depth];

		is_last = last == o;
		if (last->region) {
			pasta_region_pop(PASTA_OWNER_TORCH);
			time = pasta_now();
		} else if (last->id) {
			emit_end(last->id, time);
		}
	}
}

/* All of its end in one: nothing is open inside, and it has few tensors. */
static bool is_plain(const struct torch_thread *t, const struct pasta_torch_op *op,
		     const struct torch_open *o)
{
	return o == &t->open[t->depth - 1] && o->id && !op->more && op->count <= PART;
}

static void end_plain(struct torch_thread *t, const struct pasta_torch_op *op,
		      const struct torch_open *o)
{
	struct pasta_batch b;
	uint32_t end = batch_open(&b, op, 0, PASTA_EVENT_SIZE(op_end));

	torch_args_add(t, &b, op, 0, end, arg_op(o->id), PASTA_OP_ARG_OUT, o->time);
	add_end(&b, o->id, op->time);
	pasta_batch_close(&b);
	t->depth--;
}

static void on_end(struct pasta_torch_op *op)
{
	struct torch_thread *t = thread_get();
	const struct torch_open *o = t ? find_open(t, op->key) : NULL;

	if (!o) {
		if (t)
			settle_fresh(t);
		return;
	}
	for (uint32_t i = 0; wants.tensors && i < op->count; i++)
		torch_tensor_soon(&op->tensors[i]);
	if (!op->time)
		op->time = pasta_now();
	if (is_plain(t, op, o)) {
		end_plain(t, op, o);
	} else {
		emit_args(t, op, 0, o->id, PASTA_OP_ARG_OUT, o->time);
		if (!op->more)
			close_down_to(t, o, op->time);
	}
	settle_fresh(t);
}

/* -- Memory -- */

static void emit_counter(uint32_t name, uint64_t value, uint32_t device, uint64_t time)
{
	struct pasta_event ev;

	pasta_event_init(&ev, PASTA_KIND_COUNTER, 0, PASTA_EVENT_SIZE(counter));
	ev.time = time;
	ev.counter.value = (double)value;
	ev.counter.name = name;
	ev.counter.device = device;
	pasta_emit(&ev);
}

/* The host has the device that the importers give it. */
static uint32_t device_of(const struct pasta_torch_memory *m)
{
	return m->device ? m->device - 1 : UINT32_MAX;
}

static void emit_alloc(const struct torch_thread *t, const struct pasta_torch_memory *m,
		       enum pasta_alloc_sub sub, uint32_t pool, uint64_t time)
{
	struct pasta_event *ev = pasta_record_open(PASTA_KIND_ALLOC, sub, PASTA_EVENT_SIZE(alloc));

	if (!ev)
		return;
	ev->time = time;
	ev->alloc.addr = (uintptr_t)m->addr;
	ev->alloc.bytes = (uint64_t)m->bytes;
	ev->alloc.name = t->torch;
	ev->alloc.device = device_of(m);
	ev->alloc.pool = pool;
	pasta_record_close(ev);
}

static void emit_free(const struct pasta_torch_memory *m, enum pasta_alloc_sub sub, uint32_t pool,
		      uint64_t time)
{
	struct pasta_event *ev = pasta_record_open(PASTA_KIND_FREE, sub, PASTA_EVENT_SIZE(free));

	if (!ev)
		return;
	ev->time = time;
	ev->free.addr = (uintptr_t)m->addr;
	ev->free.bytes = 0 - (uint64_t)m->bytes;
	ev->free.device = device_of(m);
	ev->free.pool = pool;
	pasta_record_close(ev);
}

static void emit_memory(const struct torch_thread *t, const struct pasta_torch_memory *m,
			enum pasta_alloc_sub sub, uint32_t pool, uint64_t time)
{
	if (m->bytes > 0 && wants.allocs)
		emit_alloc(t, m, sub, pool, time);
	else if (m->bytes < 0 && wants.frees)
		emit_free(m, sub, pool, time);
}

static inline void note_storage(struct torch_thread *t, const struct pasta_torch_memory *m)
{
	settle_fresh(t);
	if (m->bytes < 0) {
		torch_storage_end(m->addr);
		return;
	}
	t->fresh = m->addr;
	if (!t->depth)
		settle_fresh(t);
}

/* What accesses are counted for: pieces, not the segment of the driver's that they are cut from.
 * The first of them takes its place, whose own end means nothing to them. */
static void tell_object(const struct pasta_torch_memory *m)
{
	uint64_t addr = (uintptr_t)m->addr;

	if (m->bytes > 0)
		pasta_accesses_object(addr, addr, (uint64_t)m->bytes, 0, device_of(m));
	else
		pasta_accesses_unregister(addr, 0);
}

static void on_memory(const struct pasta_torch_memory *m)
{
	struct torch_thread *t = thread_get();
	uint64_t now;

	if (!t || !m->addr || !m->bytes)
		return;
	if (wants.tensors)
		torch_storage_soon(m->addr);
	now = pasta_now();
	emit_memory(t, m, m->device ? PASTA_ALLOC_POOL : PASTA_ALLOC_HOST, POOL, now);
	if (wants.objects && m->device)
		tell_object(m);
	if (wants.tensors)
		note_storage(t, m);
	if (wants.counters && pasta_agent_active()) {
		emit_counter(t->allocated, m->allocated, device_of(m), now);
		if (m->device) /* the host has no pool */
			emit_counter(t->reserved, m->reserved, device_of(m), now);
	}
}

static void on_segment(const struct pasta_torch_memory *m)
{
	struct torch_thread *t = thread_get();

	if (t && m->bytes)
		emit_memory(t, m, PASTA_ALLOC_SEGMENT, SEGMENTS, pasta_now());
}

/* For each operator as long as it is so. */
static void on_blind(void)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	torch_tensors_blind();
	if (atomic_flag_test_and_set_explicit(&said, memory_order_relaxed))
		return;
	pasta_agent_log("torch", "the program's own torch.profiler is running: memory that is "
				 "allocated and freed meanwhile is not recorded");
}

static void on_lost(uint64_t count)
{
	pasta_emit_loss(PASTA_LOSS_SOURCE, count);
}

/* -- The way in -- */

static uint32_t read_wants(void)
{
	bool (*asks)(enum pasta_kind);

	wants.ops = pasta_agent_records(PASTA_KIND_OP_BEGIN);
	wants.args = pasta_agent_records(PASTA_KIND_OP_ARG);
	wants.tensors = wants.args || pasta_agent_records(PASTA_KIND_TENSOR);
	/* To hear of memory, each operator has to be looked at: as state it is too dear. */
	asks = wants.ops || wants.tensors || pasta_accesses_config.on ? pasta_agent_records
								     : pasta_agent_requested;
	wants.allocs = asks(PASTA_KIND_ALLOC);
	wants.frees = asks(PASTA_KIND_FREE);
	wants.objects = pasta_accesses_config.on;
	wants.counters = pasta_agent_records(PASTA_KIND_COUNTER);
	wants.stacks = pasta_stack_types() & PASTA_STACKS_PYTHON;
	wants.modules = pasta_stack_types() & PASTA_STACKS_MODULES;
	return (wants.ops ? PASTA_TORCH_OPS : 0u) | (wants.tensors ? PASTA_TORCH_TENSORS : 0u) |
	       (wants.allocs || wants.frees || wants.objects ? PASTA_TORCH_MEMORY : 0u);
}

int torch_start(pasta_torch_entry entry, char *why, size_t size)
{
	static struct pasta_torch_agent agent = {
		.abi = PASTA_TORCH_ABI,
		.size = sizeof(agent),
		.begin = on_begin,
		.end = on_end,
		.memory = on_memory,
		.segment = on_segment,
		.blind = on_blind,
		.lost = on_lost,
	};
	const struct pasta_torch_shim *shim;

	agent.wants = read_wants();
	if (pthread_key_create(&thread_end, thread_free) ||
	    (wants.tensors && !torch_tensors_open())) {
		snprintf(why, size, "out of memory");
		return -ENOMEM;
	}
	shim = entry(&agent, why, size);
	if (!shim)
		return -EPROTO;
	if (shim->abi != PASTA_TORCH_ABI || shim->size < sizeof(*shim)) {
		snprintf(why, size, "the shim is of ABI %u and the agent of %d", shim->abi,
			 PASTA_TORCH_ABI);
		return -EPROTO;
	}
	torch_shim = shim; /* before anything is reported */
	if (!shim->start(why, size))
		return 0;
	torch_shim = NULL;
	return -EIO;
}

#define EXPORT __attribute__((visibility("default")))

EXPORT int pasta_torch_enabled(void)
{
	return pasta_agent_attach_vendor() && read_wants();
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

static int probe(char *why, size_t size)
{
	snprintf(why, size,
		 "of PyTorch 1.13 and later; needs a C++ compiler, once for each PyTorch");
	return 0;
}

const struct pasta_handler pasta_torch_handler = {
	.name = "torch",
	.summary = "operators, tensors and memory of PyTorch programs",
	.probe = probe,
};
