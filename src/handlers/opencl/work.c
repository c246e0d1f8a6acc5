/* work.c - a piece of work for a device: its launch now, its times when it is done. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/frame.h"
#include "handlers/opencl/opencl.h"

enum { SLAB = 1024, OUTSTANDING = 1 << 20, CLOCKS = 64, CLOCK_FIRST = 16 };
#define PAIR_NS UINT64_C(1000000000) /* between two pairs of a device's clock */

/* Work that was given to a queue and is not done. */
struct pending {
	struct pending *next;
	struct pasta_event ev; /* all of it but the times */
	uint64_t begin, end;   /* of the call that enqueued it */
	uint32_t device;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pending *spare;
static size_t made;
static _Atomic uint64_t last_corr;

/* By device: which clock its times are in, and where its events go. */
static struct {
	struct pasta_port *port;
	bool known, own; /* own: not CLOCK_MONOTONIC_RAW */
	uint64_t paired;
} clocks[CLOCKS];
static uint32_t gen; /* of the ports: a forked child has none */

/* -- Memory for what is outstanding: pages, never given back, used again -- */

static struct pending *pending_new(void)
{
	struct pending *p;

	pthread_mutex_lock(&lock);
	if (!spare && made < OUTSTANDING) {
		struct pending *slab = mmap(NULL, SLAB * sizeof(*slab), PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (int i = 0; slab != MAP_FAILED && i < SLAB; i++) {
			slab[i].next = spare;
			spare = &slab[i];
		}
		made += slab != MAP_FAILED ? SLAB : 0;
	}
	p = spare;
	if (p)
		spare = p->next;
	pthread_mutex_unlock(&lock);
	return p;
}

static void pending_free(struct pending *p)
{
	pthread_mutex_lock(&lock);
	p->next = spare;
	spare = p;
	pthread_mutex_unlock(&lock);
}

/* -- When it is done -- */

/* Is the device's clock the host's? Its times of the call then lie within the call. */
static struct pasta_port *port_for(const struct pending *p, uint64_t queued)
{
	uint32_t d = p->device % CLOCKS;
	struct pasta_port *port;
	uint64_t pair = 0;

	pthread_mutex_lock(&lock);
	if (gen != pasta_agent_gen())
		memset(clocks, 0, sizeof(clocks));
	if (!clocks[d].known) {
		clocks[d].own = queued < p->begin || queued > p->end;
		clocks[d].known = true;
	}
	if (!clocks[d].port) {
		clocks[d].port = pasta_port_open(clocks[d].own ? CLOCK_FIRST + d : PASTA_CLOCK_RAW);
		gen = pasta_agent_gen();
	}
	if (clocks[d].own && p->end - clocks[d].paired > PAIR_NS) {
		clocks[d].paired = p->end;
		pair = p->begin + (p->end - p->begin) / 2;
	}
	port = clocks[d].port;
	pthread_mutex_unlock(&lock);
	if (pair)
		pasta_agent_clock(CLOCK_FIRST + d, queued, pair);
	return port;
}

static bool times(cl_event event, uint64_t *queued, uint64_t *start, uint64_t *end)
{
	cl_ulong q = 0, s = 0, e = 0;

	if (cl_below.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED, sizeof(q), &q,
					     NULL) != CL_SUCCESS ||
	    cl_below.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(s), &s,
					     NULL) != CL_SUCCESS ||
	    cl_below.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(e), &e,
					     NULL) != CL_SUCCESS)
		return false;
	*queued = q;
	*start = s;
	*end = e;
	return true;
}

static void set_duration(struct pasta_event *ev, uint64_t dur)
{
	if (ev->kind == PASTA_KERNEL)
		ev->kernel.dur = dur;
	else if (ev->kind == PASTA_COPY)
		ev->copy.dur = dur;
	else
		ev->set.dur = dur;
}

/* Work that failed has no times: its launch stays without a partner, and counts as lost. */
static void CL_CALLBACK done(cl_event event, cl_int status, void *arg)
{
	struct pending *p = arg;
	uint64_t queued, start, end;
	struct pasta_port *port = NULL;

	if (status == CL_COMPLETE && times(event, &queued, &start, &end)) {
		port = port_for(p, queued);
		p->ev.time = start;
		set_duration(&p->ev, end > start ? end - start : 0);
	}
	if (port)
		pasta_port_push(port, &p->ev, p->ev.size);
	else
		pasta_emit_lost(PASTA_LOSS_SOURCE, 1);
	cl_below.clReleaseEvent(event);
	pending_free(p);
}

/* -- When it is given -- */

static void fill(struct pasta_event *ev, const struct cl_work *w, const struct cl_queue *q,
		 uint64_t corr)
{
	if (w->kind == PASTA_KERNEL) {
		ev->kernel =
			(struct pasta_kernel){.corr = corr,
					      .context = q->context,
					      .stream = q->number,
					      .device = q->device,
					      .name = pasta_intern_str(cl_kernel_name(w->kernel)),
					      .grid_x = w->grid[0],
					      .grid_y = w->grid[1],
					      .grid_z = w->grid[2],
					      .block_x = w->block[0],
					      .block_y = w->block[1],
					      .block_z = w->block[2]};
	} else if (w->kind == PASTA_COPY) {
		ev->copy = (struct pasta_copy){.corr = corr,
					       .bytes = w->bytes,
					       .src = w->src,
					       .dst = w->dst,
					       .context = q->context,
					       .stream = q->number,
					       .device = q->device};
	} else {
		ev->set = (struct pasta_set){.corr = corr,
					     .bytes = w->bytes,
					     .addr = w->addr,
					     .context = q->context,
					     .stream = q->number,
					     .device = q->device,
					     .value = w->value};
	}
}

static void launch_event(const struct cl_work *w, const struct cl_queue *q, uint64_t corr)
{
	struct pasta_event ev;

	if (!pasta_agent_wants(PASTA_LAUNCH))
		return;
	pasta_event_init(&ev, PASTA_LAUNCH, 0, PASTA_EVENT_SIZE(launch));
	ev.launch.corr = corr;
	ev.launch.name = w->kind == PASTA_KERNEL ? pasta_intern_str(cl_kernel_name(w->kernel)) : 0;
	ev.launch.context = q->context;
	ev.launch.stream = q->number;
	ev.launch.device = q->device;
	ev.launch.flags = (uint32_t)w->kind;
	ev.time = w->begin;
	pasta_emit(&ev);
}

static void track(struct cl_work *w, uint64_t corr, const struct cl_queue *q)
{
	struct pending *p = pending_new();

	if (p) {
		pasta_event_init(&p->ev, w->kind, w->sub, pasta_kinds[w->kind].size);
		fill(&p->ev, w, q, corr);
		p->ev.tid = (uint32_t)pasta_agent_tid();
		p->device = q->device;
		p->begin = w->begin;
		p->end = pasta_now();
		/* The callback gives back one reference: ours, or one more of the program's. */
		if (w->event != &w->own)
			cl_below.clRetainEvent(*w->event);
		if (cl_below.clSetEventCallback(*w->event, CL_COMPLETE, done, p) == CL_SUCCESS)
			return;
		pending_free(p);
		cl_below.clReleaseEvent(*w->event);
	} else if (w->event == &w->own) {
		cl_below.clReleaseEvent(w->own);
	}
	pasta_emit_lost(PASTA_LOSS_SOURCE, 1);
}

void cl_work_begin(struct cl_work *w, const char *function, cl_event *event)
{
	w->function = function;
	w->own = NULL;
	w->active = pasta_agent_active() && w->kind && pasta_agent_wants(w->kind) &&
		    cl_below.clSetEventCallback;
	w->event = event || !w->active ? event : &w->own;
	w->begin = pasta_now();
}

cl_int cl_work_end(struct cl_work *w, cl_int status)
{
	if (status == CL_SUCCESS && w->active && *w->event) {
		struct cl_queue q = cl_queue_of(w->queue);
		uint64_t corr = atomic_fetch_add_explicit(&last_corr, 1, memory_order_relaxed) + 1;

		launch_event(w, &q, corr);
		track(w, corr, &q);
	}
	if (w->blocking)
		cl_sync(w->function, w->begin, w->queue, status);
	else
		cl_api(w->function, w->begin, status);
	return status;
}

void cl_api(const char *function, uint64_t begin, cl_int status)
{
	struct pasta_event ev;

	if (!pasta_agent_active() || !pasta_agent_wants(PASTA_API))
		return;
	pasta_event_init(&ev, PASTA_API, 0, PASTA_EVENT_SIZE(api));
	ev.api.dur = pasta_now() - begin;
	ev.api.name = pasta_intern_str(function);
	ev.api.status = (uint32_t)status;
	ev.time = begin;
	pasta_emit(&ev);
}

void cl_sync(const char *function, uint64_t begin, cl_command_queue queue, cl_int status)
{
	struct pasta_event ev;

	if (pasta_agent_active() && pasta_agent_wants(PASTA_SYNC)) {
		struct cl_queue q = cl_queue_of(queue);

		pasta_event_init(&ev, PASTA_SYNC, 0, PASTA_EVENT_SIZE(sync));
		ev.sync.dur = pasta_now() - begin;
		ev.sync.context = q.context;
		ev.sync.stream = q.number;
		ev.sync.device = q.device;
		ev.time = begin;
		pasta_emit(&ev);
	}
	cl_api(function, begin, status);
}
