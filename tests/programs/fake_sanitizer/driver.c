/* driver.c - CUDA's driver, as far as the fake of the Compute Sanitizer needs one: what there is in
 * it, and what its streams run. */
#define _GNU_SOURCE
#include "inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS_MAX = 4096, STAGED_MOST = 3800000 };

static _Atomic uint64_t next_pc = 0x100000;
static pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;
static struct context *all_contexts;
static struct block {
	uint64_t addr, bytes;
	const struct context *owner;
	bool used;
} blocks[BLOCKS_MAX];
static uint32_t block_count;
static uint64_t next_addr = UINT64_C(0x7f0000000000);
/* The driver's, which is recursive. */
static pthread_mutex_t held = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void fake_hold(void)
{
	if (getenv("FAKE_SANITIZER_HELD"))
		pthread_mutex_lock(&held);
}

void fake_let_go(void)
{
	if (getenv("FAKE_SANITIZER_HELD"))
		pthread_mutex_unlock(&held);
}

/* -- Streams -- */

static _Atomic uint32_t endless; /* kernels that run, and do not end */
static _Atomic uint64_t staged;	 /* bytes that wait to be copied */

static void run_kernel(struct stream *s, const struct op *op)
{
	if (op->kernel.ms == FAKE_NEVER)
		atomic_fetch_add(&endless, 1);
	while (op->kernel.ms == FAKE_NEVER)
		pause();
	if (op->kernel.ms == FAKE_FAULTS)
		atomic_store(&s->context->failed, true);
	else if (!op->data || !op->kernel.count)
		usleep((useconds_t)op->kernel.ms * 1000);
	if (op->data && !atomic_load(&s->context->failed))
		fake_run_patches(op->data, &op->kernel);
	free((void *)op->kernel.accesses);
}

static void *run_stream(void *arg)
{
	struct stream *s = arg;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		struct op *op = s->first;

		if (!op) {
			pthread_cond_wait(&s->changed, &s->lock);
			continue;
		}
		s->first = op->next;
		if (!s->first)
			s->last = &s->first;
		pthread_mutex_unlock(&s->lock);
		if (op->what == COPY) {
			memcpy(op->to, op->bytes, op->size);
			atomic_fetch_sub(&staged, op->size);
		} else if (op->what == SET)
			memset(op->to, op->value, op->size);
		else
			run_kernel(s, op);
		free(op);
		pthread_mutex_lock(&s->lock);
		s->done++;
		pthread_cond_broadcast(&s->changed);
	}
	return NULL;
}

void fake_give(struct stream *s, struct op *op)
{
	op->next = NULL;
	pthread_mutex_lock(&s->lock);
	*s->last = op;
	s->last = &op->next;
	s->given++;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void *fake_stream(void *context)
{
	struct stream *s = calloc(1, sizeof(*s));
	pthread_t thread;

	s->context = context;
	s->last = &s->first;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	s->next = atomic_load(&s->context->streams);
	while (!atomic_compare_exchange_weak(&s->context->streams, &s->next, s))
		;
	pthread_create(&thread, NULL, run_stream, s);
	pthread_detach(thread);
	fake_deliver(SAN_RESOURCE, SAN_STREAM_CREATED, &(struct san_stream_data){context, s, s});
	return s;
}

void fake_stream_destroy(void *stream)
{
	struct stream *s = stream;

	fake_deliver(SAN_RESOURCE, SAN_STREAM_DESTROYING,
		     &(struct san_stream_data){s->context, stream, stream});
}

int fake_synchronize(void *stream)
{
	struct stream *s = stream;
	uint64_t until;

	pthread_mutex_lock(&s->lock);
	for (until = s->given; s->done < until;)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
	return atomic_load(&s->context->failed) ? FAILED : SAN_OK;
}

int fake_context_synchronize(void *context)
{
	int r = SAN_OK;

	if (atomic_load(&((struct context *)context)->destroyed)) {
		fprintf(stderr, "fake_sanitizer: a context that is destroyed is waited for\n");
		abort();
	}
	for (struct stream *s = atomic_load(&((struct context *)context)->streams); s; s = s->next)
		r |= fake_synchronize(s);
	return r;
}

/* -- The driver's, by its names -- */

static _Thread_local void *current;

int cuCtxPushCurrent_v2(void *context)
{
	current = context;
	return 0;
}

int cuCtxPopCurrent_v2(void **context)
{
	*context = current;
	current = NULL;
	return 0;
}

int cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	*least = 0;
	*greatest = -5;
	return 0;
}

int cuStreamCreateWithPriority(void **stream, unsigned int flags, int priority)
{
	(void)flags;
	(void)priority;
	*stream = fake_stream(current);
	return 0;
}

int cuCtxSynchronize(void)
{
	return fake_context_synchronize(current);
}

/* -- What there is -- */

void *fake_module(void *context)
{
	return fake_module_of(context, "\177ELF, or so");
}

void *fake_module_of(void *context, const char *cubin)
{
	struct module *m = calloc(1, sizeof(*m));

	m->context = context;
	m->pc = atomic_fetch_add(&next_pc, 0x10000);
	m->next = atomic_load(&m->context->modules);
	while (!atomic_compare_exchange_weak(&m->context->modules, &m->next, m))
		;
	fake_deliver(SAN_RESOURCE, SAN_MODULE_LOADED,
		     &(struct san_module_data){context, m, cubin ? strlen(cubin) + 1 : 0, cubin,
					       NULL});
	return m;
}

void fake_module_unload(void *module)
{
	struct module *m = module;

	m->unloaded = true;
	fake_deliver(SAN_RESOURCE, SAN_MODULE_UNLOADING,
		     &(struct san_module_data){m->context, m, 0, NULL, NULL});
}

uint64_t fake_pc(const void *module)
{
	return ((const struct module *)module)->pc;
}

static struct block *find_block(uint64_t bytes)
{
	for (uint32_t i = 0; i < block_count; i++)
		if (!blocks[i].used && blocks[i].bytes == bytes)
			return &blocks[i];
	if (block_count == BLOCKS_MAX)
		abort();
	blocks[block_count] = (struct block){.addr = next_addr, .bytes = bytes};
	next_addr += (bytes + 511) & ~UINT64_C(511);
	return &blocks[block_count++];
}

static void tell_memory(uint32_t id, struct context *c, const struct block *b, uint32_t flags)
{
	struct san_memory_data d = {.addr = b->addr,
				    .bytes = b->bytes,
				    .context = c,
				    .device = c->device,
				    .flags = flags};

	fake_deliver(SAN_RESOURCE, id, &d);
}

/* The device's other contexts. */
static void tell_others(uint32_t id, const struct block *b, uint32_t flags)
{
	if (!getenv("FAKE_SANITIZER_SHARED"))
		return;
	for (struct context *c = all_contexts; c; c = c->next)
		if (c != b->owner && c->device == b->owner->device)
			tell_memory(id, c, b, flags);
}

static void tell_all_memory(uint32_t id, struct context *c)
{
	for (uint32_t i = 0; i < block_count; i++)
		if (blocks[i].used && blocks[i].owner->device == c->device)
			tell_memory(id, c, &blocks[i], 0);
}

uint64_t fake_alloc(void *context, uint64_t bytes, uint32_t flags)
{
	struct block *b;

	pthread_mutex_lock(&memory_lock);
	b = find_block(bytes);
	b->used = true;
	b->owner = context;
	pthread_mutex_unlock(&memory_lock);
	tell_memory(SAN_DEVICE_ALLOC, context, b, flags);
	tell_others(SAN_DEVICE_ALLOC, b, flags);
	return b->addr;
}

/* Report the free before the address can be reused. */
void fake_free(void *context, uint64_t addr)
{
	struct block *b = blocks;

	pthread_mutex_lock(&memory_lock);
	while (b->addr != addr)
		b++;
	pthread_mutex_unlock(&memory_lock);
	tell_others(SAN_DEVICE_FREE, b, 0);
	tell_memory(SAN_DEVICE_FREE, context, b, 0);
	pthread_mutex_lock(&memory_lock);
	b->used = false;
	pthread_mutex_unlock(&memory_lock);
}

void *fake_context(int device)
{
	struct context *c = calloc(1, sizeof(*c));

	c->device = device;
	c->next = all_contexts;
	all_contexts = c;
	fake_deliver(SAN_RESOURCE, SAN_CONTEXT_CREATED, &(struct san_context_data){c, device, 0});
	if (getenv("FAKE_SANITIZER_SHARED"))
		tell_all_memory(SAN_DEVICE_ALLOC, c);
	return c;
}

void fake_context_destroy(void *context)
{
	struct context **at = &all_contexts;

	fake_deliver(SAN_RESOURCE, SAN_CONTEXT_DESTROYING,
		     &(struct san_context_data){context, 0, 0});
	atomic_store(&((struct context *)context)->destroyed, true);
	for (struct module *m = atomic_load(&((struct context *)context)->modules); m; m = m->next)
		if (!m->unloaded)
			fake_module_unload(m);
	if (getenv("FAKE_SANITIZER_SHARED"))
		tell_all_memory(SAN_DEVICE_FREE, context);
	while (*at != context)
		at = &(*at)->next;
	*at = (*at)->next;
	for (uint32_t i = 0; i < block_count; i++)
		if (blocks[i].owner == context)
			blocks[i].used = false;
	fake_deliver(SAN_RESOURCE, SAN_CONTEXT_DESTROYED,
		     &(struct san_context_data){context, 0, 0});
}

/* -- Launches -- */

static struct op *kernel_op(const struct fake_kernel *k, const struct launch *l)
{
	const struct module *m = k->module;
	size_t size = k->count * sizeof(*k->accesses);
	struct fake_access *copy = malloc(size + 1);
	struct op *op = calloc(1, sizeof(*op));

	if (size)
		memcpy(copy, k->accesses, size);
	op->what = KERNEL;
	op->kernel = *k;
	op->kernel.accesses = copy;
	op->data = m->patched ? l->data : NULL;
	return op;
}

static struct san_launch_data launch_data(const struct fake_kernel *k, struct stream *s,
					  struct launch *l)
{
	return (struct san_launch_data){.context = s->context,
					.stream = s,
					.handle = s,
					.module = k->module,
					.function = (void *)k->name,
					.name = k->name,
					.grid = {k->grid, 1, 1},
					.block = {k->block, 1, 1},
					.launch = l,
					.device = s->context->device};
}

/* As the driver does: a thread that patches a module while a launch begins, or a kernel does not
 * end, waits for ever. */
static _Thread_local int launching;

void fake_must_not_hang(const char *function)
{
	if (launching)
		fprintf(stderr, "fake_sanitizer: %s hangs while a launch begins\n", function);
	if (atomic_load(&endless))
		fprintf(stderr, "fake_sanitizer: %s waits for a kernel\n", function);
	if (launching || atomic_load(&endless))
		abort();
}

/* As the driver: where there is too much, who copies waits for the streams. */
void fake_stage(size_t size)
{
	if (atomic_fetch_add(&staged, size) + size <= STAGED_MOST || !atomic_load(&endless))
		return;
	fprintf(stderr, "fake_sanitizer: a copy waits for a kernel\n");
	abort();
}

static void must_be_set(const struct fake_kernel *k, const struct launch *l)
{
	if (((const struct module *)k->module)->patched && !l->set)
		fprintf(stderr, "fake_sanitizer: %s is patched, and given nothing\n", k->name);
}

void fake_launch(void *stream, const struct fake_kernel *k)
{
	struct launch l = {NULL};
	struct san_launch_data d = launch_data(k, stream, &l);
	struct {
		const void *function;
		uint32_t grid[3], block[3], shared;
		void *stream, **params, **extra;
	} arguments = {.function = k->name, .stream = stream};

	fake_deliver_api(SAN_LAUNCH_KERNEL, stream, &arguments, 0);
	fake_hold();
	launching++;
	fake_deliver(SAN_LAUNCH, SAN_LAUNCH_BEGIN, &d);
	must_be_set(k, &l);
	fake_give(stream, kernel_op(k, &l));
	fake_deliver(SAN_LAUNCH, SAN_LAUNCH_END, &d);
	launching--;
	fake_let_go();
	fake_deliver_api(SAN_LAUNCH_KERNEL, stream, &arguments, 1);
}

void fake_graph(void *stream, const struct fake_kernel *k, uint32_t count)
{
	struct stream *s = stream;
	struct san_graph_data g = {s->context, s, s, (void *)k, 0, 0};
	struct op **ops = calloc(count, sizeof(*ops));
	struct {
		const void *graph;
		void *stream;
	} arguments = {k, stream};

	fake_deliver_api(SAN_GRAPH_LAUNCH, stream, &arguments, 0);
	fake_hold();
	launching++;
	fake_deliver(SAN_GRAPHS, SAN_GRAPH_LAUNCH_BEGIN, &g);
	for (uint32_t i = 0; i < count; i++) {
		struct launch l = {NULL};
		struct san_node_data n = {.graph = (void *)k, .type = SAN_NODE_KERNEL};

		n.launch = launch_data(&k[i], s, &l);
		n.launch.handle = NULL;
		n.launch.api_handle = s;
		fake_deliver(SAN_GRAPHS, SAN_NODE_LAUNCH_BEGIN, &n);
		must_be_set(&k[i], &l);
		ops[i] = kernel_op(&k[i], &l);
	}
	for (uint32_t i = 0; i < count; i++)
		fake_give(s, ops[i]);
	fake_deliver(SAN_GRAPHS, SAN_GRAPH_LAUNCH_END, &g);
	launching--;
	fake_let_go();
	fake_deliver_api(SAN_GRAPH_LAUNCH, stream, &arguments, 1);
	free(ops);
}
