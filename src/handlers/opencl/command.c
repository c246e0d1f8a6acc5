/* command.c - emits a launch record when a command is enqueued, and a record with device times when
 * the command completes. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "collect/stack.h"
#include "core/frame.h"
#include "core/lock.h"
#include "handlers/opencl/instrumented.h"
#include "handlers/opencl/opencl.h"

enum { SLAB = 1024, OUTSTANDING = 1 << 20, CLOCKS = 64, CLOCK_FIRST = 16 };
enum { STEP_NS = 50000, STEPS = 2000 }; /* 2000 steps of 50 us each: 100 ms, or a little more */
/* Time in ns over which two clocks are assumed not to drift. */
#define PAIR_NS UINT64_C(1000000000)

/* A command that was enqueued and hasn't completed. The struct has only two cache lines, because
 * threads of the application and threads of the driver access the struct. */
struct pending {
	union {
		struct pending *next; /* next entry of the free list */
		uint64_t end; /* time at which the enqueuing call returned; 0 if it is not needed */
	};
	/* Until the command completes, ev.time is the time of the enqueuing call. */
	struct pasta_event ev;
	struct cl_callbacks *callbacks;
	uint32_t device;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pending *spare;
static _Atomic(struct pending *) returned;
static size_t made;
static _Atomic uint64_t last_corr;

/* For each device: the clock of the device's times, and the port into which the device's records
 * are pushed. */
static struct device {
	_Atomic(struct pasta_port *) port;
	_Atomic uint32_t gen; /* generation of the port; a forked child must open its own port */
	_Atomic bool own;     /* not CLOCK_MONOTONIC_RAW */
	/* Bounds of the difference between the host's and the device's clock, derived from all
	 * calls since the time `since`. */
	int64_t low, high;
	/* `reported`: `high` - `low` + 1 at the last clock record; 0 if there is none. */
	uint64_t since, reported;
} clocks[CLOCKS];

/* -- Memory for pending commands, in pages that are reused and never freed -- */

static void pending_slab_new(void)
{
	struct pending *slab = mmap(NULL, SLAB * sizeof(*slab), PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (slab == MAP_FAILED)
		return;
	for (int i = 0; i < SLAB; i++) {
		slab[i].next = spare;
		spare = &slab[i];
	}
	made += SLAB;
}

static struct pending *pending_new(void)
{
	struct pending *p;

	pasta_lock(&lock);
	if (!spare)
		spare = atomic_exchange_explicit(&returned, NULL, memory_order_acquire);
	if (!spare && made < OUTSTANDING)
		pending_slab_new();
	p = spare;
	if (p)
		spare = p->next;
	pasta_unlock(&lock);
	return p;
}

/* The free list is lock-free, because the driver's threads must not wait for the application's
 * threads. */
static void pending_free(struct pending *p)
{
	p->next = atomic_load_explicit(&returned, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&returned, &p->next, p, memory_order_release,
						      memory_order_relaxed))
		;
}

/* -- Waiting for callbacks -- */

void cl_callbacks_expect(struct cl_callbacks *callbacks)
{
	if (callbacks)
		atomic_fetch_add(&callbacks->expected, 1);
}

void cl_callbacks_received(struct cl_callbacks *callbacks)
{
	if (callbacks)
		atomic_fetch_add(&callbacks->received, 1);
}

uint32_t cl_callbacks_mark(const struct cl_callbacks *callbacks)
{
	return callbacks ? atomic_load(&callbacks->expected) : 0;
}

static int32_t callbacks_missing(const struct cl_callbacks *callbacks, uint32_t mark)
{
	return (int32_t)(mark - atomic_load(&callbacks->received));
}

void cl_callbacks_wait(struct cl_callbacks *callbacks, uint32_t mark)
{
	const struct timespec step = {.tv_nsec = STEP_NS};
	int32_t left;

	if (!callbacks)
		return;
	for (int i = 0; (left = callbacks_missing(callbacks, mark)) > 0 && i < STEPS; i++)
		pasta_nap(&step);
	/* Some drivers don't call back when a command fails. After a timeout, threads no longer
	 * wait for the missing callbacks. */
	if (left > 0)
		atomic_fetch_add(&callbacks->received, (uint32_t)left);
}

/* -- Completion -- */

static bool command_event_time(cl_event event, cl_profiling_info what, uint64_t *time)
{
	cl_ulong t = 0;

	if (cl_below.clGetEventProfilingInfo(event, what, sizeof(t), &t, NULL) != CL_SUCCESS)
		return false;
	*time = t;
	return true;
}

static bool clock_known(const struct device *d)
{
	return atomic_load_explicit(&d->port, memory_order_acquire) &&
	       atomic_load_explicit(&d->gen, memory_order_relaxed) == pasta_agent_gen();
}

/* Returns whether the time at which the enqueuing call returns is needed to convert device times to
 * host times. */
static bool clock_needs_end(const struct device *d)
{
	return !clock_known(d) || atomic_load_explicit(&d->own, memory_order_relaxed);
}

/* Opens the device's port. If the driver reports that a command was queued at a time within the
 * enqueuing call, the device uses the host's clock. If not, the device has a clock of its own. */
static void clock_open(struct device *d, const struct pending *p, uint64_t queued)
{
	bool own = queued < p->ev.time || queued > p->end;
	struct pasta_port *port;

	pasta_lock(&lock);
	if (!clock_known(d)) {
		port = pasta_port_open(own ? CLOCK_FIRST + p->device % CLOCKS : PASTA_CLOCK_RAW);
		atomic_store(&d->own, own);
		d->reported = 0;
		atomic_store(&d->gen, pasta_agent_gen());
		atomic_store_explicit(&d->port, port, memory_order_release);
	}
	pasta_unlock(&lock);
}

/* Narrows the bounds of the offset between the host's and the device's clock. The driver queues a
 * command at some time within the enqueuing call, so each call limits the offset, and all calls of
 * one second together limit the offset closely. Returns whether the bounds are now less than half
 * as far apart as in the last clock record. The caller holds `lock`. */
static bool clock_narrow(struct device *d, const struct pending *p, uint64_t queued)
{
	int64_t low = (int64_t)(p->ev.time - queued), high = (int64_t)(p->end - queued);

	if (!d->reported || p->end - d->since > PAIR_NS || low > d->high || high < d->low) {
		d->since = p->end;
		d->reported = UINT64_MAX;
		d->low = low;
		d->high = high;
	}
	d->low = low > d->low ? low : d->low;
	d->high = high < d->high ? high : d->high;
	if ((uint64_t)(d->high - d->low) > d->reported / 2)
		return false;
	d->reported = (uint64_t)(d->high - d->low) + 1;
	return true;
}

static void clock_pair(struct device *d, const struct pending *p, uint64_t queued)
{
	uint64_t half = 0, raw = 0;
	bool better;

	pasta_lock(&lock);
	better = clock_narrow(d, p, queued);
	if (better) {
		half = (uint64_t)(d->high - d->low) / 2;
		raw = queued + (uint64_t)d->low + half;
	}
	pasta_unlock(&lock);
	if (better)
		pasta_agent_clock(CLOCK_FIRST + p->device % CLOCKS, queued, raw, half + 1);
}

/* Returns the port for the command's records, or NULL if the device's clock cannot be
 * determined. */
static struct pasta_port *clock_port(const struct pending *p, cl_event event)
{
	struct device *d = &clocks[p->device % CLOCKS];
	uint64_t queued;

	if (p->end && clock_needs_end(d)) {
		if (!command_event_time(event, CL_PROFILING_COMMAND_QUEUED, &queued))
			return NULL;
		if (!clock_known(d))
			clock_open(d, p, queued);
		if (atomic_load(&d->own))
			clock_pair(d, p, queued);
	}
	return clock_known(d) ? atomic_load(&d->port) : NULL;
}

static void command_set_duration(struct pasta_event *ev, uint64_t dur)
{
	if (ev->kind == PASTA_KIND_KERNEL)
		ev->kernel.dur = dur;
	else if (ev->kind == PASTA_KIND_COPY)
		ev->copy.dur = dur;
	else
		ev->set.dur = dur;
}

/* The driver calls this function on one of its threads. A command that failed has no device times.
 * Its work counts as dropped, and its launch stays unmatched. */
static void CL_CALLBACK command_done(cl_event event, cl_int status, void *arg)
{
	struct pending *p = arg;
	uint64_t start, end;
	struct pasta_port *port = NULL;

	if (status == CL_COMPLETE &&
	    command_event_time(event, CL_PROFILING_COMMAND_START, &start) &&
	    command_event_time(event, CL_PROFILING_COMMAND_END, &end) && start) {
		port = clock_port(p, event);
		p->ev.time = start;
		command_set_duration(&p->ev, end > start ? end - start : 0);
	}
	if (port)
		pasta_port_push(port, &p->ev, p->ev.size);
	else
		pasta_emit_loss(PASTA_LOSS_SOURCE, 1);
	cl_callbacks_received(p->callbacks);
	pending_free(p);
}

/* -- Submission -- */

static uint32_t command_memory(uint64_t at, bool is_object)
{
	return is_object ? cl_memory_object((cl_mem)(uintptr_t)at)
			 : cl_memory_pointer((const void *)(uintptr_t)at);
}

static void command_fill(struct pasta_event *ev, const struct cl_command *cmd,
			 const struct cl_queue *q, uint32_t name, uint64_t corr)
{
	if (cmd->kind == PASTA_KIND_KERNEL) {
		ev->kernel = (struct pasta_kernel_record){.corr = corr,
							  .context = q->context,
							  .stream = q->number,
							  .device = q->device,
							  .name = name,
							  .grid_x = cmd->grid[0],
							  .grid_y = cmd->grid[1],
							  .grid_z = cmd->grid[2],
							  .block_x = cmd->block[0],
							  .block_y = cmd->block[1],
							  .block_z = cmd->block[2]};
	} else if (cmd->kind == PASTA_KIND_COPY) {
		ev->copy = (struct pasta_copy_record){
			.corr = corr,
			.bytes = cmd->bytes,
			.src = cmd->src,
			.dst = cmd->dst,
			.src_memory = command_memory(cmd->src, cmd->src_is_object),
			.dst_memory = command_memory(cmd->dst, cmd->dst_is_object),
			.context = q->context,
			.stream = q->number,
			.device = q->device};
	} else {
		ev->set = (struct pasta_set_record){.corr = corr,
						    .bytes = cmd->bytes,
						    .addr = cmd->addr,
						    .context = q->context,
						    .stream = q->number,
						    .device = q->device,
						    .value = cmd->value};
	}
}

static void command_launch_event(const struct cl_command *cmd, const struct cl_queue *q,
				 uint32_t name, uint64_t corr)
{
	struct pasta_event ev;

	if (!pasta_agent_records(PASTA_KIND_LAUNCH))
		return;
	pasta_event_init(&ev, PASTA_KIND_LAUNCH, 0, PASTA_EVENT_SIZE(launch));
	ev.launch.corr = corr;
	ev.launch.name = name;
	ev.launch.stack = cmd->stack;
	ev.launch.python = cmd->python;
	ev.launch.context = q->context;
	ev.launch.stream = q->number;
	ev.launch.device = q->device;
	ev.launch.flags = (uint32_t)cmd->kind;
	ev.launch.work = pasta_launch_work_of((unsigned int)cmd->kind);
	ev.time = cmd->begin;
	pasta_emit(&ev);
}

/* Sets the completion callback. The event is not retained, because the driver calls back before it
 * frees the event, and the application could notice a changed reference count. */
static void command_track(struct cl_command *cmd, const struct cl_queue *q, uint32_t name,
			  uint64_t corr)
{
	struct pending *p = pending_new();

	if (p) {
		pasta_event_init(&p->ev, cmd->kind, cmd->sub, pasta_kinds[cmd->kind].size);
		command_fill(&p->ev, cmd, q, name, corr);
		p->ev.tid = pasta_agent_tid();
		p->ev.time = cmd->begin;
		p->device = q->device;
		p->callbacks = cl_queue_callbacks(cmd->queue);
		p->end = clock_needs_end(&clocks[q->device % CLOCKS]) ? pasta_now() : 0;
		cl_callbacks_expect(p->callbacks);
		if (cl_below.clSetEventCallback(*cmd->event, CL_COMPLETE, command_done, p) ==
		    CL_SUCCESS)
			return;
		cl_callbacks_received(p->callbacks);
		pending_free(p);
	}
	pasta_emit_loss(PASTA_LOSS_SOURCE, 1);
}

static void command_submitted(struct cl_command *cmd)
{
	struct cl_queue q = cl_queue_of(cmd->queue);
	uint32_t name =
		cmd->kind == PASTA_KIND_KERNEL ? pasta_intern_str(cl_kernel_name(cmd->kernel)) : 0;

	command_launch_event(cmd, &q, name, cmd->corr);
	cl_instrumented_emit(cmd, name);
	if (cmd->timed)
		command_track(cmd, &q, name, cmd->corr);
	/* NVIDIA's driver hangs if the callback releases the event. */
	if (cmd->event == &cmd->own)
		cl_below.clReleaseEvent(cmd->own);
}

void cl_command_begin(struct cl_command *cmd, const char *function, cl_event *event)
{
	cmd->function = function;
	cmd->own = NULL;
	cmd->timed = pasta_agent_active() && cmd->kind && pasta_agent_records(cmd->kind) &&
		     cl_below.clSetEventCallback;
	/* If no tool needs device times, the handler records only the launch, and requests no
	 * OpenCL event of its own from the driver. */
	cmd->active =
		cmd->timed ||
		(!cl_times_enabled() && cmd->kind && pasta_agent_active() &&
		 pasta_agent_records(PASTA_KIND_LAUNCH)) ||
		(cmd->kind == PASTA_KIND_KERNEL && pasta_agent_active() && cl_counts_accesses());
	cmd->event = event || !cmd->timed ? event : &cmd->own;
	cmd->stack = cmd->active ? pasta_stack_capture() : 0;
	cmd->python = cmd->active ? pasta_stack_python() : 0;
	cmd->corr = cmd->active ? atomic_fetch_add_explicit(&last_corr, 1, memory_order_relaxed) + 1
				: 0;
	cmd->mark = cmd->blocking ? cl_callbacks_mark(cl_queue_callbacks(cmd->queue)) : 0;
	cmd->begin = pasta_now();
}

/* When a blocking call in an in-order queue returns, all earlier commands are complete. Wait for
 * their callbacks, and for the callback of this command. In an out-of-order queue, earlier commands
 * may still run, so the function does not wait. */
static void command_wait_blocking(const struct cl_command *cmd)
{
	struct cl_callbacks *callbacks = cl_queue_callbacks(cmd->queue);

	if (callbacks && callbacks->ordered)
		cl_callbacks_wait(callbacks, cmd->mark + cmd->timed);
}

cl_int cl_command_end(struct cl_command *cmd, cl_int status)
{
	if (status == CL_SUCCESS && cmd->active && (!cmd->timed || *cmd->event))
		command_submitted(cmd);
	if (cmd->blocking && status == CL_SUCCESS)
		command_wait_blocking(cmd);
	if (cmd->blocking)
		cl_sync(cmd->function, PASTA_SYNC_STREAM, cmd->begin, cmd->queue, status);
	else
		cl_api(cmd->function, cmd->begin, status);
	return status;
}

void cl_api(const char *function, uint64_t begin, cl_int status)
{
	struct pasta_event ev;

	if (!pasta_agent_active() || !pasta_agent_records(PASTA_KIND_API))
		return;
	pasta_event_init(&ev, PASTA_KIND_API, 0, PASTA_EVENT_SIZE(api));
	ev.api.dur = pasta_now() - begin;
	ev.api.name = pasta_intern_str(function);
	ev.api.status = (uint32_t)status;
	ev.time = begin;
	pasta_emit(&ev);
}

void cl_sync(const char *function, enum pasta_sync_sub sub, uint64_t begin, cl_command_queue queue,
	     cl_int status)
{
	struct pasta_event ev;

	if (pasta_agent_active() && pasta_agent_records(PASTA_KIND_SYNC)) {
		struct cl_queue q = cl_queue_of(queue);

		pasta_event_init(&ev, PASTA_KIND_SYNC, sub, PASTA_EVENT_SIZE(sync));
		ev.sync.dur = pasta_now() - begin;
		ev.sync.context = q.context;
		ev.sync.stream = q.number;
		ev.sync.device = q.device;
		ev.time = begin;
		pasta_emit(&ev);
	}
	cl_api(function, begin, status);
}
