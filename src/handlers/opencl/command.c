/* command.c - a piece of work for a device: its launch now, its times when it is done. */
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
enum { STEP_NS = 50000, STEPS = 2000 }; /* 100 ms at least */
#define PAIR_NS UINT64_C(1000000000)	/* for so long two clocks are taken to go alike */

/* Work that was given to a queue and is not done. Two cache lines: it goes from one thread to
 * another and back. */
struct pending {
	union {
		struct pending *next; /* while it is spare */
		uint64_t end;	      /* of the call that enqueued it; 0: not of interest */
	};
	struct pasta_event ev; /* its time is that of the call until that of the work is known */
	struct cl_flow *flow;
	uint32_t device;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pending *spare;
static _Atomic(struct pending *) returned;
static size_t made;
static _Atomic uint64_t last_corr;

/* By device: which clock its times are in, and where its events go. */
static struct device {
	_Atomic(struct pasta_port *) port;
	_Atomic uint32_t gen; /* of the port: a forked child has none */
	_Atomic bool own;     /* not CLOCK_MONOTONIC_RAW */
	/* How much later the host's clock is, by all calls since: between low and high. */
	int64_t low, high;
	uint64_t since, told; /* told: how far apart they were when the agent was told; 0: never */
} clocks[CLOCKS];

/* -- Memory for what is outstanding: pages, never given back, used again -- */

static void slab_new(void)
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
		slab_new();
	p = spare;
	if (p)
		spare = p->next;
	pasta_unlock(&lock);
	return p;
}

/* The driver's threads do not wait for the program's. */
static void pending_free(struct pending *p)
{
	p->next = atomic_load_explicit(&returned, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&returned, &p->next, p, memory_order_release,
						      memory_order_relaxed))
		;
}

/* -- Callbacks that are to come -- */

void cl_flow_submitted(struct cl_flow *flow)
{
	if (flow)
		atomic_fetch_add(&flow->given, 1);
}

void cl_flow_came(struct cl_flow *flow)
{
	if (flow)
		atomic_fetch_add(&flow->came, 1);
}

uint32_t cl_flow_mark(const struct cl_flow *flow)
{
	return flow ? atomic_load(&flow->given) : 0;
}

static int32_t to_come(const struct cl_flow *flow, uint32_t mark)
{
	return (int32_t)(mark - atomic_load(&flow->came));
}

void cl_flow_settle(struct cl_flow *flow, uint32_t mark)
{
	const struct timespec step = {.tv_nsec = STEP_NS};
	int32_t left;

	if (!flow)
		return;
	for (int i = 0; (left = to_come(flow, mark)) > 0 && i < STEPS; i++)
		pasta_nap(&step);
	/* Some drivers call nobody back when a command fails: these are not waited for again. */
	if (left > 0)
		atomic_fetch_add(&flow->came, (uint32_t)left);
}

/* -- When it is done -- */

static bool event_time(cl_event event, cl_profiling_info what, uint64_t *time)
{
	cl_ulong t = 0;

	if (cl_below.clGetEventProfilingInfo(event, what, sizeof(t), &t, NULL) != CL_SUCCESS)
		return false;
	*time = t;
	return true;
}

static bool known(const struct device *d)
{
	return atomic_load_explicit(&d->port, memory_order_acquire) &&
	       atomic_load_explicit(&d->gen, memory_order_relaxed) == pasta_agent_gen();
}

/* Does anybody need to know when a call ended? */
static bool wants_end(const struct device *d)
{
	return !known(d) || atomic_load_explicit(&d->own, memory_order_relaxed);
}

/* Is the device's clock the host's? Its times of the call then lie within the call. */
static void device_open(struct device *d, const struct pending *p, uint64_t queued)
{
	bool own = queued < p->ev.time || queued > p->end;
	struct pasta_port *port;

	pasta_lock(&lock);
	if (!known(d)) {
		port = pasta_port_open(own ? CLOCK_FIRST + p->device % CLOCKS : PASTA_CLOCK_RAW);
		atomic_store(&d->own, own);
		d->told = 0;
		atomic_store(&d->gen, pasta_agent_gen());
		atomic_store_explicit(&d->port, port, memory_order_release);
	}
	pasta_unlock(&lock);
}

/* Work is queued within its call, sooner or later: each call says how far apart the two clocks can
 * be, and all of them together, of a second at most, say it well. */
static bool narrow_down(struct device *d, const struct pending *p, uint64_t queued)
{
	int64_t low = (int64_t)(p->ev.time - queued), high = (int64_t)(p->end - queued);

	if (!d->told || p->end - d->since > PAIR_NS || low > d->high || high < d->low) {
		d->since = p->end;
		d->told = UINT64_MAX;
		d->low = low;
		d->high = high;
	}
	d->low = low > d->low ? low : d->low;
	d->high = high < d->high ? high : d->high;
	if ((uint64_t)(d->high - d->low) > d->told / 2)
		return false;
	d->told = (uint64_t)(d->high - d->low) + 1;
	return true;
}

static void pair(struct device *d, const struct pending *p, uint64_t queued)
{
	uint64_t half = 0, raw = 0;
	bool better;

	pasta_lock(&lock);
	better = narrow_down(d, p, queued);
	if (better) {
		half = (uint64_t)(d->high - d->low) / 2;
		raw = queued + (uint64_t)d->low + half;
	}
	pasta_unlock(&lock);
	if (better)
		pasta_agent_clock(CLOCK_FIRST + p->device % CLOCKS, queued, raw, half + 1);
}

static struct pasta_port *port_for(const struct pending *p, cl_event event)
{
	struct device *d = &clocks[p->device % CLOCKS];
	uint64_t queued;

	if (p->end && wants_end(d)) {
		if (!event_time(event, CL_PROFILING_COMMAND_QUEUED, &queued))
			return NULL;
		if (!known(d))
			device_open(d, p, queued);
		if (atomic_load(&d->own))
			pair(d, p, queued);
	}
	return known(d) ? atomic_load(&d->port) : NULL;
}

static void set_duration(struct pasta_event *ev, uint64_t dur)
{
	if (ev->kind == PASTA_KIND_KERNEL)
		ev->kernel.dur = dur;
	else if (ev->kind == PASTA_KIND_COPY)
		ev->copy.dur = dur;
	else
		ev->set.dur = dur;
}

/* Work that failed has no times: its launch stays without a partner, and counts as lost. */
static void CL_CALLBACK done(cl_event event, cl_int status, void *arg)
{
	struct pending *p = arg;
	uint64_t start, end;
	struct pasta_port *port = NULL;

	if (status == CL_COMPLETE && event_time(event, CL_PROFILING_COMMAND_START, &start) &&
	    event_time(event, CL_PROFILING_COMMAND_END, &end) && start) {
		port = port_for(p, event);
		p->ev.time = start;
		set_duration(&p->ev, end > start ? end - start : 0);
	}
	if (port)
		pasta_port_push(port, &p->ev, p->ev.size);
	else
		pasta_emit_loss(PASTA_LOSS_SOURCE, 1);
	cl_flow_came(p->flow);
	pending_free(p);
}

/* -- When it is given -- */

static void fill(struct pasta_event *ev, const struct cl_work *w, const struct cl_queue *q,
		 uint32_t name, uint64_t corr)
{
	if (w->kind == PASTA_KIND_KERNEL) {
		ev->kernel = (struct pasta_kernel_record){.corr = corr,
							  .context = q->context,
							  .stream = q->number,
							  .device = q->device,
							  .name = name,
							  .grid_x = w->grid[0],
							  .grid_y = w->grid[1],
							  .grid_z = w->grid[2],
							  .block_x = w->block[0],
							  .block_y = w->block[1],
							  .block_z = w->block[2]};
	} else if (w->kind == PASTA_KIND_COPY) {
		ev->copy = (struct pasta_copy_record){.corr = corr,
						      .bytes = w->bytes,
						      .src = w->src,
						      .dst = w->dst,
						      .context = q->context,
						      .stream = q->number,
						      .device = q->device};
	} else {
		ev->set = (struct pasta_set_record){.corr = corr,
						    .bytes = w->bytes,
						    .addr = w->addr,
						    .context = q->context,
						    .stream = q->number,
						    .device = q->device,
						    .value = w->value};
	}
}

static void launch_event(const struct cl_work *w, const struct cl_queue *q, uint32_t name,
			 uint64_t corr)
{
	struct pasta_event ev;

	if (!pasta_agent_records(PASTA_KIND_LAUNCH))
		return;
	pasta_event_init(&ev, PASTA_KIND_LAUNCH, 0, PASTA_EVENT_SIZE(launch));
	ev.launch.corr = corr;
	ev.launch.name = name;
	ev.launch.stack = w->stack;
	ev.launch.context = q->context;
	ev.launch.stream = q->number;
	ev.launch.device = q->device;
	ev.launch.flags = (uint32_t)w->kind;
	ev.launch.work = pasta_launch_work_of((unsigned int)w->kind);
	ev.time = w->begin;
	pasta_emit(&ev);
}

/* No reference of ours is needed: callbacks come before the end of an event (and a program that
 * counts references counts its own). */
static void track(struct cl_work *w, const struct cl_queue *q, uint32_t name, uint64_t corr)
{
	struct pending *p = pending_new();

	if (p) {
		pasta_event_init(&p->ev, w->kind, w->sub, pasta_kinds[w->kind].size);
		fill(&p->ev, w, q, name, corr);
		p->ev.tid = pasta_agent_tid();
		p->ev.time = w->begin;
		p->device = q->device;
		p->flow = cl_queue_flow(w->queue);
		p->end = wants_end(&clocks[q->device % CLOCKS]) ? pasta_now() : 0;
		cl_flow_submitted(p->flow);
		if (cl_below.clSetEventCallback(*w->event, CL_COMPLETE, done, p) == CL_SUCCESS)
			return;
		cl_flow_came(p->flow);
		pending_free(p);
	}
	pasta_emit_loss(PASTA_LOSS_SOURCE, 1);
}

static void given(struct cl_work *w)
{
	struct cl_queue q = cl_queue_of(w->queue);
	uint32_t name =
		w->kind == PASTA_KIND_KERNEL ? pasta_intern_str(cl_kernel_name(w->kernel)) : 0;

	launch_event(w, &q, name, w->corr);
	cl_count_registered(w, name);
	if (w->timed)
		track(w, &q, name, w->corr);
	/* Here, and not in the callback: NVIDIA's driver hangs if it is given back there. */
	if (w->event == &w->own)
		cl_below.clReleaseEvent(w->own);
}

void cl_work_begin(struct cl_work *w, const char *function, cl_event *event)
{
	w->function = function;
	w->own = NULL;
	w->timed = pasta_agent_active() && w->kind && pasta_agent_records(w->kind) &&
		   cl_below.clSetEventCallback;
	/* Where no times are wanted, launches are counted, and events are the program's alone. */
	w->active = w->timed ||
		    (!cl_times_enabled() && w->kind && pasta_agent_active() &&
		     pasta_agent_records(PASTA_KIND_LAUNCH)) ||
		    (w->kind == PASTA_KIND_KERNEL && pasta_agent_active() && cl_counts());
	w->event = event || !w->timed ? event : &w->own;
	w->stack = w->active ? pasta_stack_capture() : 0;
	w->corr =
		w->active ? atomic_fetch_add_explicit(&last_corr, 1, memory_order_relaxed) + 1 : 0;
	w->mark = w->blocking ? cl_flow_mark(cl_queue_flow(w->queue)) : 0;
	w->begin = pasta_now();
}

/* In a queue without order, what came before may still run. Its own callback is one of those that
 * come. */
static void settle_blocking(const struct cl_work *w)
{
	struct cl_flow *flow = cl_queue_flow(w->queue);

	if (flow && flow->ordered)
		cl_flow_settle(flow, w->mark + w->timed);
}

cl_int cl_work_end(struct cl_work *w, cl_int status)
{
	if (status == CL_SUCCESS && w->active && (!w->timed || *w->event))
		given(w);
	if (w->blocking && status == CL_SUCCESS)
		settle_blocking(w);
	if (w->blocking)
		cl_sync(w->function, w->begin, w->queue, status);
	else
		cl_api(w->function, w->begin, status);
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

void cl_sync(const char *function, uint64_t begin, cl_command_queue queue, cl_int status)
{
	struct pasta_event ev;

	if (pasta_agent_active() && pasta_agent_records(PASTA_KIND_SYNC)) {
		struct cl_queue q = cl_queue_of(queue);

		pasta_event_init(&ev, PASTA_KIND_SYNC, 0, PASTA_EVENT_SIZE(sync));
		ev.sync.dur = pasta_now() - begin;
		ev.sync.context = q.context;
		ev.sync.stream = q.number;
		ev.sync.device = q.device;
		ev.time = begin;
		pasta_emit(&ev);
	}
	cl_api(function, begin, status);
}
