/* fake_sanitizer - the Compute Sanitizer without a GPU: see fake_sanitizer.h. */
#define _GNU_SOURCE
#include "fake_sanitizer.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/reduce/gpu.h"

enum { FAILED = 999, BLOCKS_MAX = 4096, DOMAINS = 13, CALLS = 1024 };

struct context {
	struct context *next;
	int device;
	atomic_bool failed, patches;
	char path[4096]; /* of those */
};

struct module {
	struct context *context;
	uint64_t pc;
	bool marked[64], patched;
};

/* What a stream does, in order. */
struct op {
	struct op *next;
	enum { COPY, SET, KERNEL } what;
	void *to;
	size_t size;
	int value;
	struct fake_kernel kernel;
	struct pasta_gpu_launch *data; /* NULL: it does not count */
	char bytes[];
};

struct stream {
	struct context *context;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct op *first, **last;
	uint64_t given, done;
};

struct launch {
	struct pasta_gpu_launch *data;
	bool set;
};

static san_callback callback;
static void *user;
static bool on[DOMAINS];
static bool enabled[CALLS];
static _Atomic uint64_t patched, unpatched, own_bytes, next_pc = 0x100000;
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

static int result_of(const char *function)
{
	const char *text = getenv("FAKE_SANITIZER_FAIL");
	size_t size = strlen(function);

	if (!text || strncmp(text, function, size) != 0 || text[size] != '=')
		return SAN_OK;
	return atoi(text + size + 1);
}

static void hold(void)
{
	if (getenv("FAKE_SANITIZER_HELD"))
		pthread_mutex_lock(&held);
}

static void let_go(void)
{
	if (getenv("FAKE_SANITIZER_HELD"))
		pthread_mutex_unlock(&held);
}

static void call(int domain, uint32_t id, const void *data)
{
	if (callback && on[domain])
		callback(user, domain, id, data);
}

/* -- What patches do -- */

static uint32_t kind_of(const struct fake_access *a)
{
	return a->kind & 0xff;
}

static uint32_t space_of(const struct fake_access *a)
{
	return a->kind >> 8;
}

static uint32_t place_of(const struct pasta_gpu_launch *l, const struct fake_access *a)
{
	if (space_of(a) >= PASTA_SPACE_LOCAL)
		return PASTA_GPU_SPACE(l->count, space_of(a));
	for (uint32_t i = 0; i < l->count; i++)
		if (a->addr >= PASTA_GPU_PLACES_OF(l)[i].begin &&
		    a->addr <= PASTA_GPU_PLACES_OF(l)[i].last)
			return i;
	return PASTA_GPU_NOWHERE(l->count);
}

static void count_object(struct pasta_gpu_launch *l, const struct fake_access *a)
{
	uint32_t place = place_of(l, a);
	uint32_t which = (place << l->spread) + (uint32_t)(a->pc >> 4) % (1u << l->spread);
	uint64_t *c = l->counts + (size_t)which * PASTA_GPU_COUNTERS;
	uint32_t log2 = (uint32_t)__builtin_ctz(a->size);

	if (a->size & (a->size - 1) || log2 >= PASTA_GPU_SIZES) {
		c[PASTA_GPU_LOADS] += kind_of(a) & PASTA_ACCESS_LOAD ? a->times : 0;
		c[PASTA_GPU_STORES] += kind_of(a) & PASTA_ACCESS_STORE ? a->times : 0;
		c[PASTA_GPU_BYTES] +=
			a->times * a->size * (kind_of(a) == PASTA_ACCESS_ATOMIC ? 2 : 1);
	} else {
		c[PASTA_GPU_OF(kind_of(a), log2)] += a->times;
	}
	if (place < l->count && a->addr + a->size - 1 > PASTA_GPU_PLACES_OF(l)[place].last)
		c[PASTA_GPU_CROSS] += a->times;
}

/* The row of a key, made if there is none; where there is no room, the last one. */
static struct pasta_gpu_row *find_row(struct pasta_gpu_table *t, uint64_t key0, uint64_t key1)
{
	uint64_t hash = (key0 ^ key1 << 40) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t i = (uint32_t)(hash >> 32) & t->mask;

	for (; t->index[i]; i = (i + 1) & t->mask) {
		struct pasta_gpu_row *row = &t->rows[t->index[i] - 1];

		if (row->key0 == key0 && row->key1 == key1)
			return row;
	}
	if (t->count++ >= t->max)
		return &t->rows[t->max];
	t->index[i] = t->count;
	t->rows[t->count - 1].key0 = key0;
	t->rows[t->count - 1].key1 = key1;
	return &t->rows[t->count - 1];
}

/* Its row; NULL: the table is not wanted. */
static struct pasta_gpu_row *count_row(struct pasta_gpu_table *t, uint64_t key0, uint64_t key1,
				       const struct fake_access *a)
{
	struct pasta_gpu_row *row;

	if (!t->index)
		return NULL;
	row = find_row(t, key0, key1);
	row->loads += kind_of(a) & PASTA_ACCESS_LOAD ? a->times : 0;
	row->stores += kind_of(a) & PASTA_ACCESS_STORE ? a->times : 0;
	row->bytes += a->times * a->size * (kind_of(a) == PASTA_ACCESS_ATOMIC ? 2 : 1);
	return row;
}

/* Where its object's pages have sums, they are there. */
static void count_page(struct pasta_gpu_launch *l, const struct fake_access *a)
{
	struct pasta_gpu_pages *p = &l->pages;
	uint32_t base = PASTA_GPU_PLACES_OF(l)[place_of(l, a)].base;
	uint32_t page = (uint32_t)(a->addr >> l->page_shift) + base;

	if (!l->tables[PASTA_REDUCE_PAGE].index)
		return;
	if (base == PASTA_GPU_FAR) {
		count_row(&l->tables[PASTA_REDUCE_PAGE], a->addr >> l->page_shift << l->page_shift,
			  0, a);
		return;
	}
	if (page >= l->page_count)
		abort();
	p->sums[page].loads += kind_of(a) & PASTA_ACCESS_LOAD ? a->times : 0;
	p->sums[page].stores += kind_of(a) & PASTA_ACCESS_STORE ? a->times : 0;
	p->sums[page].bytes += a->times * a->size * (kind_of(a) == PASTA_ACCESS_ATOMIC ? 2 : 1);
	p->marks[page >> PASTA_GPU_STRETCH] = 1;
}

/* Of so many threads, which all access the same. */
static void count_request(struct pasta_gpu_launch *l, const struct fake_access *a, uint32_t count,
			  uint32_t lanes)
{
	struct fake_access one = {a->pc, a->addr, 1, count * a->size, a->kind};
	struct pasta_gpu_row *row = count_row(&l->tables[PASTA_REDUCE_COALESCE], a->pc, 0, &one);

	if (row)
		row->extra += (a->addr + a->size - 1) / PASTA_SECTOR - a->addr / PASTA_SECTOR + 1;
	row = count_row(&l->tables[PASTA_REDUCE_DIVERGE], a->pc, count, &one);
	if (row)
		row->extra += lanes;
}

/* As gpu_raw.cuh has it. False: there is no room. */
static bool reserve(struct pasta_gpu_raw *raw, uint32_t count, uint64_t *at)
{
	uint64_t room = 2 * (uint64_t)raw->half;

	*at = __atomic_fetch_add(&raw->head, count, __ATOMIC_RELAXED);
	while (*at + count > __atomic_load_n(&raw->ring->taken, __ATOMIC_ACQUIRE) + room) {
		if (__atomic_load_n(&raw->ring->stop, __ATOMIC_ACQUIRE)) {
			__atomic_fetch_add(&raw->lost, count, __ATOMIC_RELAXED);
			return false;
		}
		sched_yield();
	}
	return true;
}

static void put(const struct pasta_gpu_launch *l, const struct fake_access *a, uint64_t at,
		uint32_t turn, uint32_t group, uint32_t thread)
{
	struct pasta_access *to = &l->raw->records[at & (2 * (uint64_t)l->raw->half - 1)];

	to->addr = a->addr;
	to->size = a->size;
	to->site = (uint32_t)(a->pc - l->base);
	to->group = group;
	to->turn = turn;
	to->thread = (uint16_t)thread;
	to->kind = (uint8_t)kind_of(a);
	to->space = (uint8_t)space_of(a);
	__atomic_store_n(&to->launch, l->number, __ATOMIC_RELAXED);
}

static void add_filled(struct pasta_gpu_raw *raw, uint64_t which, uint64_t count)
{
	uint64_t now = __atomic_add_fetch(&raw->filled[which], count, __ATOMIC_ACQ_REL);

	if (!(now & (raw->half - 1)))
		__atomic_store_n(&raw->ring->filled[which], now, __ATOMIC_RELEASE);
}

static void put_request(const struct pasta_gpu_launch *l, const struct fake_access *a,
			uint32_t group, uint32_t thread, uint32_t count)
{
	struct pasta_gpu_raw *raw = l->raw;
	uint64_t at, half = raw->half, first;

	if (!reserve(raw, count, &at))
		return;
	for (uint32_t i = 0; i < count; i++)
		put(l, a, at + i, (uint32_t)at, group, thread + i);
	first = half - (at & (half - 1)) < count ? half - (at & (half - 1)) : count;
	add_filled(raw, at / half & 1, first);
	if (first < count)
		add_filled(raw, (at / half + 1) & 1, count - first);
}

/* Thread after thread, block after block, a warp at a time. */
static void each_request(struct pasta_gpu_launch *l, const struct fake_kernel *k,
			 const struct fake_access *a)
{
	uint64_t threads = (uint64_t)k->grid * k->block, i = 0;

	while (i < a->times) {
		uint64_t at = i % threads, left = a->times - i;
		uint32_t thread = (uint32_t)(at % k->block), count = k->block - thread;
		uint32_t lanes = k->block - thread / 32 * 32;

		count = count < 32 - thread % 32 ? count : 32 - thread % 32;
		count = left < count ? (uint32_t)left : count;
		count_request(l, a, count, lanes < 32 ? lanes : 32);
		if (l->raw)
			put_request(l, a, (uint32_t)(at / k->block), thread, count);
		i += count;
	}
}

static void count_barrier(struct pasta_gpu_table *t, const struct fake_access *a)
{
	struct fake_access warps = {a->pc, a->addr, a->times, 0, PASTA_ACCESS_LOAD};
	struct fake_access threads = {a->pc, a->addr, a->times * a->size, 0, PASTA_ACCESS_STORE};

	count_row(t, a->pc, a->addr, &warps);
	count_row(t, a->pc, a->addr, &threads);
	for (uint32_t i = 0; t->index && i < t->count && i < t->max; i++)
		if (t->rows[i].key0 == a->pc && t->rows[i].key1 == a->addr)
			t->rows[i].extra += 32 * a->times;
}

static void run_patches(struct pasta_gpu_launch *l, const struct fake_kernel *k)
{
	for (uint32_t i = 0; i < k->count; i++) {
		const struct fake_access *a = &k->accesses[i];

		if (k->ms > 0)
			usleep((useconds_t)k->ms * 1000 / k->count);
		if (kind_of(a) == PASTA_ACCESS_BARRIER) {
			if (((const struct module *)k->module)->marked[6])
				count_barrier(&l->tables[PASTA_REDUCE_BARRIER], a);
			continue;
		}
		if (l->reducers & PASTA_REDUCE_BIT(OBJECT))
			count_object(l, a);
		if (space_of(a) < PASTA_SPACE_LOCAL)
			count_page(l, a);
		count_row(&l->tables[PASTA_REDUCE_SITE], a->pc, a->kind, a);
		count_row(&l->tables[PASTA_REDUCE_SITE_OBJECT], a->pc, place_of(l, a), a);
		count_row(&l->tables[PASTA_REDUCE_OWN], a->pc, 0, a);
		each_request(l, k, a);
	}
	if (getenv("FAKE_SANITIZER_WRONG") && l->reducers & PASTA_REDUCE_BIT(OBJECT))
		l->counts[PASTA_GPU_LOADS]++;
	for (uint32_t i = 0; l->blocks.begin && i < k->grid && i < l->blocks.max; i++) {
		l->blocks.begin[i] = 1000;
		l->blocks.end[i] = 1100 + i;
	}
}

/* -- Streams -- */

static _Atomic uint32_t endless; /* kernels that run, and do not end */

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
		run_patches(op->data, &op->kernel);
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
		if (op->what == COPY)
			memcpy(op->to, op->bytes, op->size);
		else if (op->what == SET)
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

static void give(struct stream *s, struct op *op)
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
	pthread_create(&thread, NULL, run_stream, s);
	pthread_detach(thread);
	call(SAN_RESOURCE, SAN_STREAM_CREATED, &(struct san_stream_data){context, s, s});
	return s;
}

void fake_stream_destroy(void *stream)
{
	struct stream *s = stream;

	call(SAN_RESOURCE, SAN_STREAM_DESTROYING,
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

/* -- What there is -- */

void *fake_module(void *context)
{
	static const char cubin[] = "\177ELF, or so";
	struct module *m = calloc(1, sizeof(*m));

	m->context = context;
	m->pc = atomic_fetch_add(&next_pc, 0x10000);
	call(SAN_RESOURCE, SAN_MODULE_LOADED,
	     &(struct san_module_data){context, m, sizeof(cubin), cubin, NULL});
	return m;
}

void fake_module_unload(void *module)
{
	struct module *m = module;

	call(SAN_RESOURCE, SAN_MODULE_UNLOADING,
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

	call(SAN_RESOURCE, id, &d);
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

/* It is told before the address can be another's. */
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
	call(SAN_RESOURCE, SAN_CONTEXT_CREATED, &(struct san_context_data){c, device, 0});
	if (getenv("FAKE_SANITIZER_SHARED"))
		tell_all_memory(SAN_DEVICE_ALLOC, c);
	return c;
}

void fake_context_destroy(void *context)
{
	struct context **at = &all_contexts;

	call(SAN_RESOURCE, SAN_CONTEXT_DESTROYING, &(struct san_context_data){context, 0, 0});
	if (getenv("FAKE_SANITIZER_SHARED"))
		tell_all_memory(SAN_DEVICE_FREE, context);
	while (*at != context)
		at = &(*at)->next;
	*at = (*at)->next;
	for (uint32_t i = 0; i < block_count; i++)
		if (blocks[i].owner == context)
			blocks[i].used = false;
	call(SAN_RESOURCE, SAN_CONTEXT_DESTROYED, &(struct san_context_data){context, 0, 0});
}

/* -- Launches -- */

static struct op *kernel_op(const struct fake_kernel *k, const struct launch *l)
{
	const struct module *m = k->module;
	size_t size = k->count * sizeof(*k->accesses);
	struct fake_access *copy = malloc(size + 1);
	struct op *op = calloc(1, sizeof(*op));

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

/* As the driver does: whoever patches a module while a launch begins, or a kernel does not end,
 * waits for ever. */
static _Thread_local int launching;

static void must_not_hang(const char *function)
{
	if (launching)
		fprintf(stderr, "fake_sanitizer: %s hangs while a launch begins\n", function);
	if (atomic_load(&endless))
		fprintf(stderr, "fake_sanitizer: %s waits for a kernel\n", function);
}

static void must_be_set(const struct fake_kernel *k, const struct launch *l)
{
	if (((const struct module *)k->module)->patched && !l->set)
		fprintf(stderr, "fake_sanitizer: %s is patched, and given nothing\n", k->name);
}

static void api(uint32_t id, void *stream, const void *arguments, uint32_t site)
{
	struct san_call c = {.site = site,
			     .arguments = arguments,
			     .context = ((struct stream *)stream)->context};

	if (callback && enabled[id])
		callback(user, SAN_DRIVER_API, id, &c);
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

	api(SAN_LAUNCH_KERNEL, stream, &arguments, 0);
	hold();
	launching++;
	call(SAN_LAUNCH, SAN_LAUNCH_BEGIN, &d);
	must_be_set(k, &l);
	give(stream, kernel_op(k, &l));
	call(SAN_LAUNCH, SAN_LAUNCH_END, &d);
	launching--;
	let_go();
	api(SAN_LAUNCH_KERNEL, stream, &arguments, 1);
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

	api(SAN_GRAPH_LAUNCH, stream, &arguments, 0);
	hold();
	launching++;
	call(SAN_GRAPHS, SAN_GRAPH_LAUNCH_BEGIN, &g);
	for (uint32_t i = 0; i < count; i++) {
		struct launch l = {NULL};
		struct san_node_data n = {.graph = (void *)k, .type = SAN_NODE_KERNEL};

		n.launch = launch_data(&k[i], s, &l);
		n.launch.handle = NULL;
		n.launch.api_handle = s;
		call(SAN_GRAPHS, SAN_NODE_LAUNCH_BEGIN, &n);
		must_be_set(&k[i], &l);
		ops[i] = kernel_op(&k[i], &l);
	}
	for (uint32_t i = 0; i < count; i++)
		give(s, ops[i]);
	call(SAN_GRAPHS, SAN_GRAPH_LAUNCH_END, &g);
	launching--;
	let_go();
	api(SAN_GRAPH_LAUNCH, stream, &arguments, 1);
	free(ops);
}

uint64_t fake_patched(void)
{
	return atomic_load(&patched);
}

uint64_t fake_unpatched(void)
{
	return atomic_load(&unpatched);
}

uint64_t fake_own_bytes(void)
{
	return atomic_load(&own_bytes);
}

/* -- The library's -- */

FAKE_EXPORT int sanitizerGetResultString(int result, const char **text);
FAKE_EXPORT int sanitizerGetResultString(int result, const char **text)
{
	*text = result == FAILED ? "the fake has failed" : "the fake says no";
	return SAN_OK;
}

FAKE_EXPORT int sanitizerSubscribe(san_subscriber *subscriber, san_callback f, void *arg);
FAKE_EXPORT int sanitizerSubscribe(san_subscriber *subscriber, san_callback f, void *arg)
{
	int r = result_of("sanitizerSubscribe");

	if (r != SAN_OK)
		return r;
	callback = f;
	user = arg;
	*subscriber = (san_subscriber)&callback;
	return SAN_OK;
}

FAKE_EXPORT int sanitizerUnsubscribe(san_subscriber subscriber);
FAKE_EXPORT int sanitizerUnsubscribe(san_subscriber subscriber)
{
	(void)subscriber;
	callback = NULL;
	return SAN_OK;
}

FAKE_EXPORT int sanitizerEnableCallback(uint32_t is, san_subscriber s, int domain, uint32_t id);
FAKE_EXPORT int sanitizerEnableCallback(uint32_t is, san_subscriber s, int domain, uint32_t id)
{
	(void)s;
	if (domain == SAN_DRIVER_API && id < CALLS)
		enabled[id] = is;
	return SAN_OK;
}

FAKE_EXPORT int sanitizerEnableDomain(uint32_t is, san_subscriber s, int domain);
FAKE_EXPORT int sanitizerEnableDomain(uint32_t is, san_subscriber s, int domain)
{
	(void)s;
	on[domain] = is;
	return result_of("sanitizerEnableDomain");
}

FAKE_EXPORT int sanitizerAddPatchesFromFile(const char *path, void *context);
FAKE_EXPORT int sanitizerAddPatchesFromFile(const char *path, void *context)
{
	struct context *c = context;
	int r = result_of("sanitizerAddPatchesFromFile");

	must_not_hang("sanitizerAddPatchesFromFile");
	if (r == SAN_OK && (access(path, R_OK) || atomic_exchange(&c->patches, true)))
		r = SAN_INVALID_PARAMETER;
	snprintf(c->path, sizeof(c->path), "%s", path);
	return r;
}

/* Of a tool's own patches there are those whose names the file has. */
static bool is_there(const struct context *c, const char *name)
{
	static char bytes[1 << 20];
	size_t n;
	FILE *f;

	if (strncmp(name, "pasta_own_", 10) != 0)
		return !strncmp(name, "pasta_", 6);
	f = fopen(c->path, "r");
	n = f ? fread(bytes, 1, sizeof(bytes), f) : 0;
	if (f)
		fclose(f);
	return memmem(bytes, n, name, strlen(name) + 1) != NULL;
}

FAKE_EXPORT int sanitizerPatchInstructions(int id, void *module, const char *name);
FAKE_EXPORT int sanitizerPatchInstructions(int id, void *module, const char *name)
{
	struct module *m = module;
	int r = result_of(name);

	if (r != SAN_OK)
		return r;
	if (!atomic_load(&m->context->patches) || !is_there(m->context, name))
		return SAN_INVALID_PARAMETER;
	m->marked[id] = true;
	return SAN_OK;
}

FAKE_EXPORT int sanitizerPatchModule(void *module);
FAKE_EXPORT int sanitizerPatchModule(void *module)
{
	struct module *m = module;
	int r = result_of("sanitizerPatchModule");

	must_not_hang("sanitizerPatchModule");
	if (r == SAN_OK && (m->marked[1] || m->marked[3] || m->marked[4])) {
		m->patched = true;
		atomic_fetch_add(&patched, 1);
	}
	return r;
}

FAKE_EXPORT int sanitizerUnpatchModule(void *module);
FAKE_EXPORT int sanitizerUnpatchModule(void *module)
{
	struct module *m = module;

	must_not_hang("sanitizerUnpatchModule");
	memset(m->marked, 0, sizeof(m->marked));
	m->patched = false;
	atomic_fetch_add(&unpatched, 1);
	return SAN_OK;
}

FAKE_EXPORT int sanitizerSetLaunchCallbackData(void *launch, void *f, void *stream,
					       const void *data);
FAKE_EXPORT int sanitizerSetLaunchCallbackData(void *launch, void *f, void *stream,
					       const void *data)
{
	(void)f;
	(void)stream;
	((struct launch *)launch)->data = (void *)data;
	((struct launch *)launch)->set = true;
	return SAN_OK;
}

FAKE_EXPORT int sanitizerGetFunctionPcAndSize(void *module, const char *name, uint64_t *pc,
					      uint64_t *size);
FAKE_EXPORT int sanitizerGetFunctionPcAndSize(void *module, const char *name, uint64_t *pc,
					      uint64_t *size)
{
	(void)name;
	*pc = fake_pc(module);
	*size = 0x1000;
	return SAN_OK;
}

FAKE_EXPORT int sanitizerAlloc(void *context, void **memory, size_t size);
FAKE_EXPORT int sanitizerAlloc(void *context, void **memory, size_t size)
{
	struct san_memory_data d = {.bytes = size, .context = context};
	int r = result_of("sanitizerAlloc");

	if (r != SAN_OK)
		return r;
	*memory = malloc(size);
	memset(*memory, 0xa5, size);
	atomic_fetch_add(&own_bytes, size);
	d.addr = (uintptr_t)*memory;
	call(SAN_RESOURCE, SAN_DEVICE_ALLOC, &d); /* as the library does, perhaps */
	return SAN_OK;
}

FAKE_EXPORT int sanitizerFree(void *context, void *memory);
FAKE_EXPORT int sanitizerFree(void *context, void *memory)
{
	(void)context;
	free(memory);
	return SAN_OK;
}

FAKE_EXPORT int sanitizerAllocHost(void *context, void **memory, size_t size);
FAKE_EXPORT int sanitizerAllocHost(void *context, void **memory, size_t size)
{
	struct san_memory_data d = {.bytes = size, .context = context, .flags = SAN_MEMORY_HOST};
	int r = result_of("sanitizerAllocHost");

	if (r != SAN_OK)
		return r;
	*memory = malloc(size);
	memset(*memory, 0xa5, size);
	d.addr = (uintptr_t)*memory;
	call(SAN_RESOURCE, SAN_HOST_ALLOC, &d);
	return SAN_OK;
}

FAKE_EXPORT int sanitizerFreeHost(void *context, void *memory);
FAKE_EXPORT int sanitizerFreeHost(void *context, void *memory)
{
	(void)context;
	free(memory);
	return SAN_OK;
}

FAKE_EXPORT int sanitizerMemcpyHostToDeviceAsync(void *to, void *from, size_t size, void *stream);
FAKE_EXPORT int sanitizerMemcpyHostToDeviceAsync(void *to, void *from, size_t size, void *stream)
{
	struct stream *s = stream;
	struct op *op;

	if (atomic_load(&s->context->failed))
		return FAILED;
	op = calloc(1, sizeof(*op) + size);
	op->what = COPY;
	op->to = to;
	op->size = size;
	memcpy(op->bytes, from, size);
	hold();
	give(s, op);
	let_go();
	return SAN_OK;
}

FAKE_EXPORT int sanitizerMemset(void *to, int value, size_t size, void *stream);
FAKE_EXPORT int sanitizerMemset(void *to, int value, size_t size, void *stream)
{
	struct stream *s = stream;
	struct op *op;

	if (atomic_load(&s->context->failed))
		return FAILED;
	op = calloc(1, sizeof(*op));
	op->what = SET;
	op->to = to;
	op->size = size;
	op->value = value;
	hold();
	give(s, op);
	let_go();
	return SAN_OK;
}

/* Kernels of other streams may be adding there: words are whole. */
static void read_words(uint64_t *to, const uint64_t *from, size_t size)
{
	for (size_t i = 0; i < size / sizeof(*to); i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	for (size_t i = size / sizeof(*to) * sizeof(*to); i < size; i++)
		((char *)to)[i] = __atomic_load_n((const char *)from + i, __ATOMIC_RELAXED);
}

FAKE_EXPORT int sanitizerMemcpyDeviceToHost(void *to, void *from, size_t size, void *stream);
FAKE_EXPORT int sanitizerMemcpyDeviceToHost(void *to, void *from, size_t size, void *stream)
{
	int r;

	hold();
	r = fake_synchronize(stream);
	if (r == SAN_OK)
		read_words(to, from, size);
	let_go();
	return r;
}

FAKE_EXPORT int sanitizerGetStreamHandle(void *context, void *stream, void **handle);
FAKE_EXPORT int sanitizerGetStreamHandle(void *context, void *stream, void **handle)
{
	(void)context;
	*handle = stream;
	return SAN_OK;
}

FAKE_EXPORT int sanitizerStreamSynchronize(void *stream);
FAKE_EXPORT int sanitizerStreamSynchronize(void *stream)
{
	return fake_synchronize(stream);
}
