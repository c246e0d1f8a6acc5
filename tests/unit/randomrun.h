/*
 * randomrun.h - random runs: events of every kind, as programs make them, some dropped.
 *
 * Events are in order of time. Strings are numbers from 1 to RUN_NAMES, 0 for none, which
 * run_strings turns into ids; call paths of operators likewise, up to RUN_PATHS.
 */
#ifndef PASTA_TESTS_RANDOMRUN_H
#define PASTA_TESTS_RANDOMRUN_H

#include "unit/support.h"

#include "process/join/correlate.h"
#include "process/join/nesting.h"

enum { RUN_NAMES = 12, RUN_THREADS = 3, RUN_OPEN = 24, RUN_NODES = 40, RUN_PATHS = 6 };

struct run_opts {
	uint32_t procs;
	size_t events;		   /* approximately */
	unsigned int depth;	   /* how many of 4 threads record their depth */
	uint32_t streams, devices; /* 0: one */
	bool calm;		   /* no wrapped ids, and no duplicates */
};

struct run_thread {
	uint32_t recorded[RUN_OPEN]; /* names of the open regions */
	uint64_t ops[RUN_OPEN];
	size_t regions, op_count;
	bool depth;
};

struct run_later {
	struct pasta_event ev;
	uint64_t due; /* in steps */
};

struct random_run {
	struct run_opts opts;
	struct pasta_event *events;
	size_t count, room;
	struct run_later *later;
	size_t later_count, later_room;
	struct run_thread *threads;
	uint64_t *corrs; /* the last one of each process */
	uint64_t now, step, next_op, next_node;
};

static inline size_t run_size(unsigned int kind)
{
	switch (kind) {
#define KIND(number, NAME, name, summary, ...)                                                     \
	case number:                                                                               \
		return PASTA_EVENT_SIZE(name);
#define FIELD(...)
#include <pasta/events.def>
#undef KIND
#undef FIELD
	default:
		return PASTA_EVENT_HEAD;
	}
}

static inline struct pasta_event run_event(unsigned int kind, uint32_t proc, uint32_t tid)
{
	return (struct pasta_event){
		.size = (uint16_t)run_size(kind), .kind = (uint8_t)kind, .proc = proc, .tid = tid};
}

static inline void run_put(struct random_run *r, struct pasta_event ev)
{
	if (r->count == r->room) {
		r->room = r->room ? 2 * r->room : 1024;
		r->events = realloc(r->events, r->room * sizeof(*r->events));
		assert_non_null(r->events);
	}
	ev.time = r->now;
	r->events[r->count++] = ev;
}

static inline void run_put_later(struct random_run *r, struct pasta_event ev, uint64_t steps)
{
	if (r->later_count == r->later_room) {
		r->later_room = r->later_room ? 2 * r->later_room : 64;
		r->later = realloc(r->later, r->later_room * sizeof(*r->later));
		assert_non_null(r->later);
	}
	r->later[r->later_count++] = (struct run_later){ev, r->step + steps};
}

static inline void run_put_due(struct random_run *r, bool all)
{
	size_t left = 0;

	for (size_t i = 0; i < r->later_count; i++)
		if (all || r->later[i].due <= r->step)
			run_put(r, r->later[i].ev);
		else
			r->later[left++] = r->later[i];
	r->later_count = left;
}

static inline bool one_in(uint64_t n)
{
	return random_below(n) == 0;
}

static inline uint32_t run_name(void)
{
	return (uint32_t)random_below(RUN_NAMES + 1);
}

/* -- Regions and operators --------------------------------------------------------------------- */

static inline void run_region_begin(struct random_run *r, struct run_thread *t, uint32_t proc,
				    uint32_t tid)
{
	struct pasta_event ev = run_event(PASTA_KIND_REGION, proc, tid);

	if (t->regions == RUN_OPEN)
		return;
	ev.sub = PASTA_REGION_BEGIN;
	ev.region.name = t->recorded[t->regions++] = run_name();
	ev.region.domain = (uint32_t)random_below(3);
	ev.region.depth = t->depth ? (uint32_t)t->regions : 0;
	if (t->depth && one_in(500))
		ev.region.depth = PASTA_NEST_DEPTH + 1;
	if (!one_in(12)) /* or it is dropped */
		run_put(r, ev);
}

static inline void run_region_end(struct random_run *r, struct run_thread *t, uint32_t proc,
				  uint32_t tid)
{
	struct pasta_event ev = run_event(PASTA_KIND_REGION, proc, tid);

	ev.sub = PASTA_REGION_END;
	if (!t->regions || one_in(20)) { /* an unmatched end, or one with a random name */
		ev.region.name = run_name();
		run_put(r, ev);
		return;
	}
	ev.region.depth = t->depth ? (uint32_t)t->regions : 0;
	t->regions--;
	if (one_in(3))
		ev.region.name = t->recorded[t->regions];
	if (!t->depth && one_in(6)) /* the end of an outer region */
		ev.region.name = t->recorded[random_below(t->regions + 1)];
	if (!one_in(12))
		run_put(r, ev);
}

static inline void run_mark(struct random_run *r, struct run_thread *t, uint32_t proc, uint32_t tid)
{
	struct pasta_event ev = run_event(PASTA_KIND_REGION, proc, tid);

	ev.sub = one_in(10) ? 0 : PASTA_REGION_MARK;
	ev.region.name = run_name();
	ev.region.depth = t->depth ? (uint32_t)t->regions + 1 : 0;
	run_put(r, ev);
}

static inline void run_op(struct random_run *r, struct run_thread *t, uint32_t proc, uint32_t tid)
{
	struct pasta_event ev = run_event(PASTA_KIND_OP_END, proc, tid);
	size_t at;

	if (t->op_count && one_in(2)) {
		at = one_in(8) ? random_below(t->op_count) : t->op_count - 1;
		ev.op_end.id = one_in(30) ? r->next_op + 5 : t->ops[at];
		memmove(&t->ops[at], &t->ops[at + 1], (t->op_count - at - 1) * sizeof(t->ops[0]));
		t->op_count--;
		if (!one_in(15))
			run_put(r, ev);
		return;
	}
	if (t->op_count == RUN_OPEN)
		return;
	ev = run_event(PASTA_KIND_OP_BEGIN, proc, tid);
	ev.op_begin.id = t->ops[t->op_count++] = ++r->next_op;
	ev.op_begin.seq = random_below(1000);
	ev.op_begin.name = run_name();
	ev.op_begin.inputs = one_in(3) ? run_name() : 0;
	ev.op_begin.stack = one_in(3) ? 1 + (uint32_t)random_below(RUN_PATHS) : 0;
	run_put(r, ev);
}

/* -- Launches and work ------------------------------------------------------------------------- */

static inline struct pasta_event run_work(struct random_run *r, uint32_t proc, uint64_t corr,
					  uint64_t node)
{
	static const uint8_t kinds[] = {PASTA_KIND_KERNEL, PASTA_KIND_KERNEL, PASTA_KIND_COPY,
					PASTA_KIND_SET};
	struct pasta_event ev = run_event(kinds[random_below(4)], proc, (uint32_t)random_below(9));
	uint32_t stream = r->opts.streams ? (uint32_t)random_below(r->opts.streams) : 0;
	uint32_t device = r->opts.devices ? (uint32_t)random_below(r->opts.devices) : 0;
	uint64_t dur = random_below(5000);

	switch (ev.kind) {
	case PASTA_KIND_KERNEL:
		ev.kernel = (struct pasta_kernel_record){.dur = dur,
							 .corr = corr,
							 .node = node,
							 .name = run_name(),
							 .stream = stream,
							 .device = device,
							 .grid_x = 1 + (uint32_t)random_below(4),
							 .grid_y = 1,
							 .grid_z = 1,
							 .block_x = (uint32_t)random_below(3) * 64};
		break;
	case PASTA_KIND_COPY:
		ev.sub = (uint8_t)random_below(9);
		ev.copy = (struct pasta_copy_record){.dur = dur,
						     .corr = corr,
						     .node = node,
						     .bytes = random_below(1 << 20),
						     .stream = stream,
						     .device = device};
		break;
	default:
		ev.set = (struct pasta_set_record){.dur = dur,
						   .corr = corr,
						   .node = node,
						   .bytes = random_below(1 << 20),
						   .stream = stream,
						   .device = device};
	}
	return ev;
}

/* Returns a random record of accesses or samples. */
static inline struct pasta_event run_access_record(uint32_t proc, uint64_t corr)
{
	/* Most of these records belong to a launch, as rows do. */
	static const uint8_t kinds[] = {
		PASTA_KIND_ACCESS_SUM,	 PASTA_KIND_ACCESS_SUM,	   PASTA_KIND_ACCESS_SUM,
		PASTA_KIND_ACCESS_SUM,	 PASTA_KIND_ACCESS_BATCH,  PASTA_KIND_PC_SAMPLE,
		PASTA_KIND_ACCESS_BATCH, PASTA_KIND_PC_SAMPLE,	   PASTA_KIND_ACCESS_BATCH,
		PASTA_KIND_PC_SAMPLE,	 PASTA_KIND_ACCESS_LAUNCH, PASTA_KIND_ACCESS_LAUNCH,
		PASTA_KIND_ACCESS_BATCH, PASTA_KIND_PC_SAMPLE,	   PASTA_KIND_OBJECT,
		PASTA_KIND_SITE,
	};
	struct pasta_event ev = run_event(kinds[random_below(16)], proc, (uint32_t)random_below(9));

	if (ev.kind == PASTA_KIND_PC_SAMPLE) {
		ev.pc_sample.corr = corr;
		ev.pc_sample.function = run_name();
		ev.pc_sample.samples = random_below(100);
		ev.pc_sample.device = (uint32_t)random_below(3);
	} else if (ev.kind == PASTA_KIND_ACCESS_SUM) {
		ev.access_sum.corr = corr;
		ev.access_sum.loads = random_below(100);
		ev.access_sum.bytes = 4 * ev.access_sum.loads;
		ev.access_sum.extra = random_below(50);
		ev.access_sum.reducer = (uint32_t)random_below(8);
		ev.access_sum.key0 = random_below(12) << (ev.access_sum.reducer == 2 ? 12 : 2);
		ev.access_sum.name = run_name();
	} else if (ev.kind == PASTA_KIND_ACCESS_LAUNCH) {
		ev.sub = (uint8_t)random_below(6);
		ev.access_launch.corr = corr;
		ev.access_launch.shape = random_below(2);
		ev.access_launch.name = run_name();
	} else if (ev.kind == PASTA_KIND_OBJECT) {
		ev.object.id = random_below(12) << 2;
		ev.object.alloc = random_below(4);
		ev.object.addr = random_below(12) << 12;
		ev.object.bytes = random_below(10000);
	} else if (ev.kind == PASTA_KIND_SITE) {
		ev.site.id = random_below(12) << 2;
		ev.site.line = (uint32_t)random_below(3);
		ev.site.flags = (uint32_t)(random_below(4) | random_below(7) << 8);
	} else {
		ev.access_batch.corr = corr;
		ev.access_batch.name = one_in(2) ? run_name() : 0;
	}
	return ev;
}

/* Groups with sizes that are large enough, unknown, or too small for the processes of a run. */
static inline struct pasta_event run_collective(uint32_t proc, uint32_t tid, uint64_t corr)
{
	static const uint32_t ranks[] = {1000, 0, 2};
	struct pasta_event ev = run_event(PASTA_KIND_COLLECTIVE, proc, tid);
	uint64_t comm = one_in(2) ? random_below(3)
				  : random_below(60); /* rare communicators have few collectives */

	ev.collective.corr = corr;
	ev.collective.bytes_in = random_below(3) << 20;
	ev.collective.bytes_out = random_below(2) << 21;
	ev.collective.comm = comm;
	ev.collective.seq = one_in(3) ? 0 : 1 + random_below(2);
	ev.collective.name = (uint32_t)random_below(3);
	ev.collective.dtype = (uint32_t)random_below(3);
	ev.collective.ranks = ranks[comm % 3];
	ev.collective.rank = proc;
	return ev;
}

/* How many steps later the work comes. */
static inline uint64_t run_delay(void)
{
	switch (random_below(8)) {
	case 0:
		return 0;
	case 1:
		return random_below(4000);
	default:
		return random_below(30);
	}
}

static inline void run_launch(struct random_run *r, uint32_t proc, uint32_t tid)
{
	struct pasta_event ev = run_event(PASTA_KIND_LAUNCH, proc, tid);
	uint64_t corr = ++r->corrs[proc], works = 1, node = 0, lead;

	if (!r->opts.calm && one_in(20)) /* the id is used again */
		corr = 1 + random_below(corr);
	if (one_in(50))
		corr = 0;
	ev.launch.corr = corr;
	ev.launch.name = run_name();
	ev.launch.stack = 0;
	ev.launch.work = one_in(3) ? 0 : (uint32_t)random_below(PASTA_LAUNCH_WORK_HOST + 2);
	ev.launch.stream = r->opts.streams ? (uint32_t)random_below(r->opts.streams) : 0;
	ev.launch.device = r->opts.devices ? (uint32_t)random_below(r->opts.devices) : 0;
	if (one_in(12)) {
		works = random_below(one_in(5) ? 200 : 6);
		ev.launch.graph = one_in(4) ? 0 : 1 + random_below(9);
		node = 1;
	} else if (one_in(12)) {
		works = r->opts.calm ? 0 : random_below(4);
	}
	lead = one_in(6) ? random_below(one_in(3) ? 400 : 20) : 0;
	for (uint64_t i = 0; i < works; i++) {
		uint64_t delay = lead ? (one_in(2) ? 0 : random_below(lead)) : run_delay();

		if (node)
			node = 1 + random_below(RUN_NODES);
		if (!r->opts.calm && one_in(40)) /* again, much later */
			run_put_later(r, run_work(r, proc, corr, node), 1500 + random_below(4000));
		if (one_in(4)) /* with the work or before it; or the work is not a kernel */
			run_put_later(r, run_collective(proc, tid, corr),
				      one_in(2) ? delay : random_below(delay + 1));
		run_put_later(r, run_work(r, proc, corr, node), delay);
	}
	while (one_in(4))
		run_put_later(r, run_access_record(proc, corr),
			      lead ? random_below(lead) : run_delay());
	if (!one_in(15))
		run_put_later(r, ev, lead);
	if (!lead) {
		r->step++;
		run_put_due(r, false);
	}
}

static inline void run_graph(struct random_run *r, uint32_t proc, uint32_t tid)
{
	struct pasta_event ev = run_event(PASTA_KIND_GRAPH, proc, tid);

	ev.graph.graph = 1 + random_below(9);
	ev.graph.node = 1 + random_below(RUN_NODES);
	ev.graph.original = one_in(3) ? 1 + ev.graph.node % RUN_NODES : 0;
	ev.graph.name = run_name();
	run_put(r, ev);
}

/* -- The rest ---------------------------------------------------------------------------------- */

static inline void run_other(struct random_run *r, uint32_t proc, uint32_t tid)
{
	static const uint8_t kinds[] = {
		PASTA_KIND_API,	   PASTA_KIND_SYNC,  PASTA_KIND_COUNTER,     PASTA_KIND_ALLOC,
		PASTA_KIND_FREE,   PASTA_KIND_UVM,   PASTA_KIND_TENSOR,	     PASTA_KIND_OP_ARG,
		PASTA_KIND_MODULE, PASTA_KIND_LINK,  PASTA_KIND_THREAD,	     PASTA_KIND_COLLECTIVE,
		PASTA_KIND_DEVICE, PASTA_KIND_QUEUE, PASTA_KIND_EVENT_RECORD};
	struct pasta_event ev = run_event(kinds[random_below(sizeof(kinds))], proc, tid);
	uint32_t device = (uint32_t)random_below(3), stream = (uint32_t)random_below(5);

	switch (ev.kind) {
	case PASTA_KIND_API:
		ev.api.name = run_name();
		ev.api.corr = random_below(1000);
		ev.api.dur = random_below(1000);
		break;
	case PASTA_KIND_SYNC:
		ev.sync.stream = stream;
		ev.sync.device = device;
		break;
	case PASTA_KIND_COUNTER:
		ev.counter.name = run_name();
		ev.counter.value = (double)random_below(100);
		ev.counter.device = device;
		break;
	case PASTA_KIND_ALLOC:
		ev.sub = (uint8_t)random_below(8);
		ev.alloc.addr = (1 + random_below(50)) << 12;
		ev.alloc.bytes = 1 + random_below(1 << 14);
		ev.alloc.name = run_name();
		ev.alloc.device = device;
		break;
	case PASTA_KIND_FREE:
		ev.free.addr = (1 + random_below(50)) << 12;
		ev.free.device = device;
		break;
	case PASTA_KIND_UVM:
		ev.uvm.stream = stream;
		break;
	case PASTA_KIND_QUEUE:
		ev.queue.stream = stream;
		ev.queue.device = device;
		break;
	case PASTA_KIND_EVENT_RECORD:
		ev.event_record.stream = stream;
		ev.event_record.device = device;
		break;
	case PASTA_KIND_TENSOR:
		ev.tensor.id = random_below(100);
		ev.tensor.device = device;
		break;
	case PASTA_KIND_OP_ARG:
		ev.op_arg.op = random_below(100);
		break;
	case PASTA_KIND_MODULE:
		ev.module.id = random_below(100);
		ev.module.name = run_name();
		ev.module.device = device;
		break;
	case PASTA_KIND_COLLECTIVE:
		ev = run_collective(proc, tid, random_below(r->corrs[proc] + 2));
		break;
	case PASTA_KIND_DEVICE:
		ev.device.id = device;
		ev.device.name = run_name();
		break;
	default:
		break;
	}
	run_put(r, ev);
}

static inline void run_iteration(struct random_run *r, uint32_t proc, uint32_t tid)
{
	struct pasta_event ev = run_event(PASTA_KIND_ITERATION, proc, tid);

	ev.iteration.index = random_below(20);
	ev.iteration.name = run_name();
	run_put(r, ev);
}

static inline void run_step(struct random_run *r)
{
	uint32_t proc = (uint32_t)random_below(r->opts.procs), tid;
	struct run_thread *t;

	tid = (uint32_t)random_below(RUN_THREADS);
	t = &r->threads[proc * RUN_THREADS + tid];
	r->step++;
	if (!one_in(3))
		r->now += random_below(1000);
	if (one_in(60))
		r->now += random_below(2 * PASTA_CORRELATE_WAIT);
	if (one_in(400)) /* exactly at the limit */
		r->now += PASTA_CORRELATE_WAIT + random_below(2);
	run_put_due(r, false);
	switch (random_below(16)) {
	case 0:
	case 1:
	case 2:
		run_region_begin(r, t, proc, tid);
		break;
	case 3:
	case 4:
	case 5:
		run_region_end(r, t, proc, tid);
		break;
	case 6:
		run_mark(r, t, proc, tid);
		break;
	case 7:
	case 8:
		run_op(r, t, proc, tid);
		break;
	case 9:
		if (one_in(4))
			run_iteration(r, proc, tid);
		else if (one_in(2))
			run_graph(r, proc, tid);
		else
			run_put(r, run_access_record(proc, random_below(r->corrs[proc] + 2)));
		break;
	case 10:
		run_other(r, proc, tid);
		break;
	default:
		run_launch(r, proc, tid);
	}
}

__attribute__((unused)) static void random_run(struct random_run *r, const struct run_opts *opts)
{
	*r = (struct random_run){.opts = *opts, .now = UINT64_C(1000000000)};
	r->threads = calloc((size_t)opts->procs * RUN_THREADS, sizeof(*r->threads));
	r->corrs = calloc(opts->procs, sizeof(*r->corrs));
	assert_non_null(r->threads);
	assert_non_null(r->corrs);
	for (size_t i = 0; i < (size_t)opts->procs * RUN_THREADS; i++)
		r->threads[i].depth = random_below(4) < opts->depth;
	while (r->count < opts->events)
		run_step(r);
	run_put_due(r, true);
}

__attribute__((unused)) static void random_run_free(struct random_run *r)
{
	free(r->events);
	free(r->later);
	free(r->threads);
	free(r->corrs);
}

/* Turns the numbers of strings into ids. */
__attribute__((unused)) static void run_strings(struct pasta_event *ev, const uint32_t *ids)
{
#define run_field_u32(x) (void)0
#define run_field_u64(x) (void)0
#define run_field_i64(x) (void)0
#define run_field_f64(x) (void)0
#define run_field_ref(x) (void)0
#define run_field_str(x) (x) = ids[(x)]
	switch (ev->kind) {
#define KIND(number, NAME, name, summary, ...)                                                     \
	case number:                                                                               \
		__VA_ARGS__ break;
#define FIELD(kind, type, name, summary) run_field_##type(ev->kind.name);
#include <pasta/events.def>
#undef KIND
#undef FIELD
	default:
		break;
	}
}

#endif
