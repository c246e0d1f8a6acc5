/* instrumented.c - launches whose accesses are counted: chosen, run as their twins, told and ended. */
#include "handlers/opencl/instrumented.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Sites by number: a block of them is one program's. */
enum { BLOCK = 1 << 18, BLOCKS = 1 << 14, NOBODY = UINT32_MAX };
enum { TURNS = 1 << 13 };

struct site {
	uint32_t bytes;
	uint8_t kind, space;
};

static _Atomic(struct site *) sites[BLOCKS];

/* The work-group that this thread runs. */
static _Thread_local struct {
	uint64_t token, group;
	struct pasta_accesses_launch *launch;
	struct cl_count *count;
	struct pasta_cpu *cpu; /* NULL: not asked for yet */
	uint32_t item, group_size;
	struct turn *turns; /* where raw accesses are wanted */
	uint32_t stamp;
} here;

/* How often the work-item was at a site. */
struct turn {
	uint32_t site, stamp, n;
};

/* -- Sites -- */

static struct site known(const struct pasta_trace_site *s)
{
	static const uint8_t spaces[] = {
		[PASTA_TRACE_UNKNOWN] = PASTA_SPACE_GENERIC,
		[PASTA_TRACE_GLOBAL] = PASTA_SPACE_GLOBAL,
		[PASTA_TRACE_CONSTANT] = PASTA_SPACE_CONSTANT,
		[PASTA_TRACE_LOCAL] = PASTA_SPACE_LOCAL,
		[PASTA_TRACE_PRIVATE] = PASTA_SPACE_PRIVATE,
	};

	return (struct site){.bytes = s->bytes,
			     .kind = s->does == PASTA_TRACE_ATOMIC ? PASTA_ACCESS_ATOMIC : s->does,
			     .space = spaces[s->space]};
}

uint32_t cl_count_flags(const struct pasta_trace_site *site)
{
	struct site s = known(site);

	return s.kind | (uint32_t)s.space << 8;
}

uint32_t cl_count_block(void)
{
	uint32_t first = pasta_accesses_sites(2 * BLOCK);

	return first ? (first + BLOCK - 1) / BLOCK * BLOCK : 0;
}

bool cl_count_sites(const struct pasta_trace_module *m, uint32_t first)
{
	struct site *block;

	if (m->site_count > BLOCK)
		return false;
	block = calloc(m->site_count + 1, sizeof(*block));
	if (!block)
		return false;
	for (size_t i = 0; i < m->site_count; i++)
		block[i] = known(&m->sites[i]);
	atomic_store_explicit(&sites[first / BLOCK], block, memory_order_release);
	return true;
}

/* -- On the driver's threads -- */

static void on_enter(uint64_t token, uint32_t kernel, uint32_t item, uint64_t group,
		     uint32_t group_size)
{
	if (here.token == token && here.group == group && item)
		return;
	if (here.token != token) {
		here.token = token;
		here.launch = pasta_accesses_of(token);
		here.count = here.launch ? pasta_accesses_data(here.launch) : NULL;
		here.cpu = NULL;
	}
	if (here.group_size != group_size)
		here.cpu = NULL;
	here.group = group;
	here.group_size = group_size;
	here.item = NOBODY;
}

/* A buffer's address is known from here on: to all, before the group's first access. */
static void on_argument(uint64_t token, uint32_t index, uint64_t addr)
{
	struct cl_count *c = here.count;
	struct cl_place place;
	uint64_t object;

	if (!c || index >= c->count ||
	    atomic_load_explicit(&c->arguments[index].told, memory_order_acquire))
		return;
	if (addr && cl_mem_place(c->arguments[index].mem, &place)) {
		object = pasta_accesses_object((uintptr_t)place.root, addr - place.offset,
					       place.bytes, c->context, c->device);
		cl_mem_object(place.root, addr - place.offset, object);
	}
	atomic_store_explicit(&c->arguments[index].told, true, memory_order_release);
}

static uint32_t next_turn(uint32_t site)
{
	struct turn *t;

	if (!here.turns)
		here.turns = calloc(TURNS, sizeof(*here.turns));
	if (!here.turns)
		return 0;
	t = &here.turns[site % TURNS];
	if (t->site != site || t->stamp != here.stamp)
		*t = (struct turn){site, here.stamp, 0};
	return t->n++;
}

static void put(uint64_t addr, uint32_t site, const struct site *s)
{
	struct pasta_access a = {
		.addr = addr,
		.size = s->bytes,
		.site = site,
		.group = (uint32_t)here.group,
		.turn = next_turn(site),
		.thread = (uint16_t)here.item,
		.kind = s->kind,
		.space = s->space,
	};

	pasta_accesses_put(here.launch, &a);
}

/* The work-item is another one than that of the access before. False: nothing counts n of them. */
static bool turn_to(uint32_t item, uint64_t n)
{
	if (!here.cpu && here.launch)
		here.cpu = pasta_accesses_thread(here.launch, here.group_size);
	if (!here.cpu) {
		pasta_accesses_dropped(here.launch, n);
		return false;
	}
	here.item = item;
	here.stamp++;
	pasta_cpu_thread(here.cpu, (uint32_t)here.group, item);
	return true;
}

static inline const struct site *site_of(uint32_t number)
{
	return &atomic_load_explicit(&sites[number / BLOCK], memory_order_acquire)[number % BLOCK];
}

static inline void count(uint64_t addr, uint32_t site, const struct site *s)
{
	pasta_cpu_access(here.cpu, addr, s->bytes, s->kind, s->space, site);
	if (pasta_accesses_config.raw)
		put(addr, site, s);
}

static void on_access(uint64_t addr, uint32_t site, uint32_t item)
{
	if ((item == here.item && here.cpu) || turn_to(item, 1))
		count(addr, site, site_of(site));
}

/* All work-items tell of a group's copy, which is one. */
static void on_range(uint64_t addr, uint32_t site, uint32_t item, uint64_t n, uint64_t stride)
{
	const struct site *s = site_of(site);

	if (item || ((here.item || !here.cpu) && !turn_to(item, n)))
		return;
	for (uint64_t i = 0; i < n; i++)
		count(addr + i * stride, site, s);
}

const struct pasta_trace_hooks cl_count_hooks = {on_enter, on_argument, on_access, on_range};

/* -- Launches -- */

static void CL_CALLBACK done(cl_event event, cl_int status, void *arg)
{
	struct cl_count *c = arg;

	pasta_accesses_end(c->launch, status == CL_COMPLETE);
	cl_flow_came(c->flow);
	free(c);
}

static struct cl_count *count_new(const struct cl_work *w, const struct cl_queue *q)
{
	uint32_t n = cl_kernel_arguments(w->kernel);
	struct cl_count *c = calloc(1, sizeof(*c) + n * sizeof(c->arguments[0]));

	if (!c)
		return NULL;
	c->count = n;
	c->context = q->context;
	c->device = q->device;
	c->launch = pasta_accesses_begin(w->corr, pasta_intern_str(cl_kernel_name(w->kernel)),
					 pasta_agent_tid(), c);
	if (!c->launch) {
		free(c);
		return NULL;
	}
	c->token = pasta_accesses_token(c->launch);
	return c;
}

static cl_device_id device_of(const struct cl_work *w)
{
	cl_device_id device = NULL;

	cl_below.clGetCommandQueueInfo(w->queue, CL_QUEUE_DEVICE, sizeof(device), &device, NULL);
	return device;
}

static void refuse(struct cl_work *w, const char *why)
{
	if (w->count) {
		pasta_accesses_cancel(w->count->launch);
		free(w->count);
	}
	w->count = NULL;
	w->twin = NULL;
	w->counted = PASTA_ACCESS_LAUNCH_REFUSED;
	w->why = why;
}

static uint64_t shape_of(const struct cl_work *w, const struct cl_queue *q)
{
	uint64_t code = pasta_accesses_code(cl_kernel_code(w->kernel), &q->model, sizeof(q->model));

	return pasta_accesses_shape(pasta_accesses_kernel(cl_kernel_name(w->kernel), code), w->grid,
				    w->block);
}

void cl_count_begin(struct cl_work *w)
{
	struct cl_queue q = cl_queue_of(w->queue);
	const char *why = "too many launches are under way, or there is no memory";

	w->twin = NULL;
	w->count = NULL;
	w->counted = 0;
	if (!w->active || !cl_counts())
		return;
	w->shape = shape_of(w, &q);
	w->counted = pasta_accesses_choose(cl_kernel_name(w->kernel), w->shape);
	if (w->counted != PASTA_ACCESS_LAUNCH_COUNTED)
		return;
	if (!q.number)
		why = "its queue is not known"; /* or none: the driver says so */
	else
		w->count = count_new(w, &q);
	if (w->count)
		w->twin = cl_clone_acquire(w->kernel, device_of(w), w->count, &why);
	if (!w->twin)
		refuse(w, why);
	else if (!w->event)
		w->event = &w->own;
}

bool cl_count_again(struct cl_work *w, cl_int status)
{
	struct cl_flow *flow;

	if (!w->twin)
		return false;
	if (status == CL_SUCCESS) {
		cl_clone_release(w->kernel, device_of(w), w->twin);
		flow = w->count->flow = cl_queue_flow(w->queue);
		cl_flow_submitted(flow);
		if (cl_below.clSetEventCallback(*w->event, CL_COMPLETE, done, w->count)) {
			cl_flow_came(flow);
			pasta_emit_loss(PASTA_LOSS_SOURCE, 1); /* when it ends is not known */
		}
		return false;
	}
	cl_below.clReleaseKernel(w->twin);
	refuse(w, "the driver does not take what was instrumented");
	return true;
}

void cl_count_registered(const struct cl_work *w, uint32_t name)
{
	if (w->counted)
		pasta_accesses_registered(w->corr, w->begin, w->shape, w->counted, name,
				    w->why ? pasta_intern_str(w->why) : 0, 1);
}
