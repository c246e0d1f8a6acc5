/* instrumented.c - selects the launches to count, runs instrumented clones of their kernels, and
 * counts the accesses that the clones report. */
#include "handlers/opencl/instrumented.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Sites by id. Each program has its own range of ids. */
enum { BLOCK = 1 << 18, BLOCKS = 1 << 14, NO_ITEM = UINT32_MAX };
enum { TURNS = 1 << 13 }; /* number of slots in a thread's table of visits to sites */

struct site {
	uint32_t bytes;
	uint8_t kind, space;
};

static _Atomic(struct site *) sites[BLOCKS];

/* The work-group that this thread of the driver is running. */
static _Thread_local struct {
	uint64_t token, group;
	struct pasta_accesses_launch *launch;
	struct cl_counted_launch *count;
	/* NULL if the launch has made no access yet in a work-group of this size */
	struct pasta_cpu *cpu;
	uint32_t item, group_size;
	struct turn *turns; /* allocated for the first raw access */
	/* changes with each work-item; entries of `turns` with an older stamp are invalid */
	uint32_t stamp;
} current;

/* The number of times that the current work-item has executed a site. */
struct turn {
	uint32_t site, stamp, n;
};

/* -- Sites -- */

static struct site site_info(const struct pasta_trace_site *s)
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

uint32_t cl_site_flags(const struct pasta_trace_site *site)
{
	struct site s = site_info(site);

	return s.kind | (uint32_t)s.space << 8;
}

uint32_t cl_sites_reserve(void)
{
	uint32_t first = pasta_accesses_sites(2 * BLOCK);

	return first ? (first + BLOCK - 1) / BLOCK * BLOCK : 0;
}

bool cl_sites_add(const struct pasta_trace_module *m, uint32_t first)
{
	struct site *block;

	if (m->site_count > BLOCK)
		return false;
	block = calloc(m->site_count + 1, sizeof(*block));
	if (!block)
		return false;
	for (size_t i = 0; i < m->site_count; i++)
		block[i] = site_info(&m->sites[i]);
	atomic_store_explicit(&sites[first / BLOCK], block, memory_order_release);
	return true;
}

/* -- Hooks, which run on the driver's threads -- */

static void on_enter(uint64_t token, uint32_t kernel, uint32_t item, uint64_t group,
		     uint32_t group_size)
{
	if (current.token == token && current.group == group && item)
		return;
	if (current.token != token) {
		current.token = token;
		current.launch = pasta_accesses_of(token);
		current.count = current.launch ? pasta_accesses_data(current.launch) : NULL;
		current.cpu = NULL;
	}
	if (current.group_size != group_size)
		current.cpu = NULL;
	current.group = group;
	current.group_size = group_size;
	current.item = NO_ITEM;
}

/* Registers the buffer that an argument points to, before the work-group's first access. */
static void on_argument(uint64_t token, uint32_t index, uint64_t addr)
{
	struct cl_counted_launch *c = current.count;
	struct cl_range range;
	uint64_t object;

	if (!c || index >= c->count ||
	    atomic_load_explicit(&c->arguments[index].registered, memory_order_acquire))
		return;
	if (addr && cl_mem_range(c->arguments[index].mem, &range)) {
		object = pasta_accesses_object((uintptr_t)range.root, addr - range.offset,
					       range.bytes, c->context, c->device);
		cl_mem_set_object(range.root, addr - range.offset, object);
	}
	atomic_store_explicit(&c->arguments[index].registered, true, memory_order_release);
}

static uint32_t instrumented_turn(uint32_t site)
{
	struct turn *t;

	if (!current.turns)
		current.turns = calloc(TURNS, sizeof(*current.turns));
	if (!current.turns)
		return 0;
	t = &current.turns[site % TURNS];
	if (t->site != site || t->stamp != current.stamp)
		*t = (struct turn){site, current.stamp, 0};
	return t->n++;
}

static void instrumented_put_raw(uint64_t addr, uint32_t site, const struct site *s)
{
	struct pasta_access a = {
		.addr = addr,
		.size = s->bytes,
		.site = site,
		.group = (uint32_t)current.group,
		.turn = instrumented_turn(site),
		.thread = (uint16_t)current.item,
		.kind = s->kind,
		.space = s->space,
	};

	pasta_accesses_put(current.launch, &a);
}

/* Switches to another work-item. Returns false if the work-item's n accesses cannot be counted, and
 * counts these accesses as dropped. */
static bool instrumented_select_item(uint32_t item, uint64_t n)
{
	if (!current.cpu && current.launch)
		current.cpu = pasta_accesses_thread(current.launch, current.group_size);
	if (!current.cpu) {
		pasta_accesses_dropped(current.launch, n);
		return false;
	}
	current.item = item;
	current.stamp++;
	pasta_cpu_thread(current.cpu, (uint32_t)current.group, item);
	return true;
}

static inline const struct site *instrumented_site(uint32_t number)
{
	return &atomic_load_explicit(&sites[number / BLOCK], memory_order_acquire)[number % BLOCK];
}

static inline void instrumented_count(uint64_t addr, uint32_t site, const struct site *s)
{
	pasta_cpu_access(current.cpu, addr, s->bytes, s->kind, s->space, site);
	if (pasta_accesses_config.raw)
		instrumented_put_raw(addr, site, s);
}

static void on_access(uint64_t addr, uint32_t site, uint32_t item)
{
	if ((item == current.item && current.cpu) || instrumented_select_item(item, 1))
		instrumented_count(addr, site, instrumented_site(site));
}

/* All work-items of a group report the same copy. Count only the report of the first work-item. */
static void on_range(uint64_t addr, uint32_t site, uint32_t item, uint64_t n, uint64_t stride)
{
	const struct site *s = instrumented_site(site);

	if (item || ((current.item || !current.cpu) && !instrumented_select_item(item, n)))
		return;
	for (uint64_t i = 0; i < n; i++)
		instrumented_count(addr + i * stride, site, s);
}

const struct pasta_trace_hooks cl_instrumented_hooks = {on_enter, on_argument, on_access, on_range};

/* -- Launches -- */

static void CL_CALLBACK counted_launch_done(cl_event event, cl_int status, void *arg)
{
	struct cl_counted_launch *c = arg;

	pasta_accesses_end(c->launch, status == CL_COMPLETE);
	cl_callbacks_received(c->callbacks);
	free(c);
}

static struct cl_counted_launch *counted_launch_new(const struct cl_command *cmd,
						    const struct cl_queue *q)
{
	uint32_t n = cl_kernel_arguments(cmd->kernel);
	struct cl_counted_launch *c = calloc(1, sizeof(*c) + n * sizeof(c->arguments[0]));

	if (!c)
		return NULL;
	c->count = n;
	c->context = q->context;
	c->device = q->device;
	c->launch = pasta_accesses_begin(cmd->corr, pasta_intern_str(cl_kernel_name(cmd->kernel)),
					 pasta_agent_tid(), c);
	if (!c->launch) {
		free(c);
		return NULL;
	}
	c->token = pasta_accesses_token(c->launch);
	return c;
}

static cl_device_id instrumented_device(const struct cl_command *cmd)
{
	cl_device_id device = NULL;

	cl_below.clGetCommandQueueInfo(cmd->queue, CL_QUEUE_DEVICE, sizeof(device), &device, NULL);
	return device;
}

static void instrumented_refuse(struct cl_command *cmd, const char *why)
{
	if (cmd->launch) {
		pasta_accesses_cancel(cmd->launch->launch);
		free(cmd->launch);
	}
	cmd->launch = NULL;
	cmd->clone = NULL;
	cmd->counted = PASTA_ACCESS_LAUNCH_REFUSED;
	cmd->why = why;
}

static uint64_t instrumented_shape(const struct cl_command *cmd, const struct cl_queue *q)
{
	uint64_t code =
		pasta_accesses_code(cl_kernel_code(cmd->kernel), &q->model, sizeof(q->model));

	return pasta_accesses_shape(pasta_accesses_kernel(cl_kernel_name(cmd->kernel), code),
				    cmd->grid, cmd->block);
}

void cl_instrumented_begin(struct cl_command *cmd)
{
	struct cl_queue q = cl_queue_of(cmd->queue);
	const char *why = "too many launches are running, or memory is exhausted";

	cmd->clone = NULL;
	cmd->launch = NULL;
	cmd->counted = 0;
	if (!cmd->active || !cl_counts_accesses())
		return;
	cmd->shape = instrumented_shape(cmd, &q);
	cmd->counted = pasta_accesses_choose(cl_kernel_name(cmd->kernel), cmd->shape);
	if (cmd->counted != PASTA_ACCESS_LAUNCH_COUNTED)
		return;
	/* Let the driver refuse the invalid queue. */
	if (!q.number)
		why = "its queue is unknown";
	else
		cmd->launch = counted_launch_new(cmd, &q);
	if (cmd->launch)
		cmd->clone =
			cl_clone_acquire(cmd->kernel, instrumented_device(cmd), cmd->launch, &why);
	if (!cmd->clone)
		instrumented_refuse(cmd, why);
	else if (!cmd->event)
		cmd->event = &cmd->own;
}

bool cl_instrumented_retry(struct cl_command *cmd, cl_int status)
{
	struct cl_callbacks *callbacks;

	if (!cmd->clone)
		return false;
	if (status == CL_SUCCESS) {
		cl_clone_release(cmd->kernel, instrumented_device(cmd), cmd->clone);
		callbacks = cmd->launch->callbacks = cl_queue_callbacks(cmd->queue);
		cl_callbacks_expect(callbacks);
		if (cl_below.clSetEventCallback(*cmd->event, CL_COMPLETE, counted_launch_done,
						cmd->launch)) {
			cl_callbacks_received(callbacks);
			/* the end of the launch cannot be observed */
			pasta_emit_loss(PASTA_LOSS_SOURCE, 1);
		}
		return false;
	}
	cl_below.clReleaseKernel(cmd->clone);
	instrumented_refuse(cmd, "the driver refused to launch the instrumented kernel");
	return true;
}

void cl_instrumented_emit(const struct cl_command *cmd, uint32_t name)
{
	if (cmd->counted)
		pasta_accesses_registered(cmd->corr, cmd->begin, cmd->shape, cmd->counted, name,
					  cmd->why ? pasta_intern_str(cmd->why) : 0, 1);
}
