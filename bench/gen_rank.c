/* gen_rank.c - generates one rank of a run: a loop of training steps, in one shard. */
#include "gen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/pathnode.h"
#include "core/shardwriter.h"

enum {
	STREAMS = 4, /* compute, copies, collectives, and one more */
	SLOTS = 256,
	REGION_DEPTH = 8,
	DEVICE_CLOCK = 1,
};
#define SECOND UINT64_C(1000000000)
#define BOOTED (1000 * SECOND)		       /* a host's CLOCK_MONOTONIC_RAW at GEN_REAL */
#define DEVICE_BASE UINT64_C(5000000000000000) /* the device's clock at the same time */

/* A thread of the program; its number is also its source. Thread 1 runs the steps. */
struct thread {
	uint32_t source, tid;
	uint64_t now;
	struct {
		enum gen_region region;
		uint64_t begin, children;
	} open[REGION_DEPTH];
	unsigned int depth;
};

struct rank {
	const struct gen_options *o;
	struct gen_totals *t;
	struct pasta_shardwriter *w;
	struct gen_random random;
	struct thread main, loader;
	uint32_t rank, device, device_source;
	uint64_t raw; /* the host's clock when the run began */
	uint64_t next_clock;
	uint64_t free_at[STREAMS];
	uint64_t corr, op, collectives, step, made;
	uint64_t length; /* of this step's sequences, in eighths */
	struct {
		uint64_t addr, bytes;
	} slots[SLOTS];
	unsigned int slot_count;
	uint64_t live, peak; /* bytes */
	/* For the profile torch: the operator that runs, and the ids of its records. */
	struct {
		int line, layer; /* -1: none */
		bool backward;
		uint64_t seq;
	} at;
	uint32_t paths[GEN_LINES], modules[GEN_LAYERS][GEN_FORWARD_LINES];
	uint64_t seqs[GEN_LAYERS][GEN_FORWARD_LINES]; /* of this step's forward operators */
	uint64_t seq, tensors;
	uint32_t kernel_names[GEN_KERNELS_MAX], region_names[GEN_REGIONS];
};

static const uint32_t stream_ids[STREAMS] = {7, 14, 20, 24};

#define EVENT(type, KIND_, tid_, time_)                                                            \
	{                                                                                          \
		.size = PASTA_EVENT_SIZE(type), .kind = PASTA_KIND_##KIND_, .tid = (tid_),         \
		.time = (time_)                                                                    \
	}

static void put(struct rank *r, uint32_t source, const struct pasta_event *ev)
{
	if (!(r->o->kinds >> ev->kind & 1))
		return;
	r->t->kinds[ev->kind]++;
	r->t->events++;
	r->made++;
	pasta_shardwriter_event(r->w, source, ev);
}

static bool records(const struct rank *r, enum pasta_kind kind)
{
	return r->o->kinds >> kind & 1;
}

static uint32_t str(struct rank *r, const char *text)
{
	return pasta_shardwriter_str(r->w, text);
}

static uint64_t real_of(const struct rank *r, uint64_t raw)
{
	return GEN_REAL + (raw - r->raw);
}

/* The device's clock runs 20 ppm fast. */
static uint64_t device_time(const struct rank *r, uint64_t raw)
{
	return DEVICE_BASE + (raw - r->raw) + (raw - r->raw) / 50000;
}

static void put_state(struct rank *r, const struct pasta_event *ev)
{
	r->t->state[ev->kind]++;
	pasta_shardwriter_state(r->w, ev);
}

static void put_clocks(struct rank *r, uint64_t raw)
{
	struct pasta_event ev = EVENT(clock, CLOCK, 0, raw);

	ev.clock.raw = ev.clock.value = raw;
	ev.clock.real = real_of(r, raw);
	put_state(r, &ev);
	ev.clock.id = DEVICE_CLOCK;
	ev.clock.value = device_time(r, raw);
	put_state(r, &ev);
}

/* -- Regions and operators, on a thread of the program -- */

static void region_begin(struct rank *r, struct thread *th, enum gen_region region)
{
	struct pasta_event ev = EVENT(region, REGION, th->tid, th->now);

	ev.sub = PASTA_REGION_BEGIN;
	ev.region.name = r->region_names[region];
	ev.region.depth = th->depth + 1;
	th->open[th->depth].region = region;
	th->open[th->depth].begin = th->now;
	th->open[th->depth++].children = 0;
	put(r, th->source, &ev);
	th->now += gen_around(&r->random, 900, 12000);
}

static void region_end(struct rank *r, struct thread *th)
{
	struct pasta_event ev = EVENT(region, REGION, th->tid, th->now);
	uint64_t ns = th->now - th->open[--th->depth].begin;
	enum gen_region region = th->open[th->depth].region;

	ev.sub = PASTA_REGION_END;
	ev.region.depth = th->depth + 1;
	put(r, th->source, &ev);
	th->now += gen_around(&r->random, 700, 12000);
	if (th->depth)
		th->open[th->depth - 1].children += ns;
	if (!records(r, PASTA_KIND_REGION))
		return;
	r->t->regions[region].calls++;
	r->t->regions[region].ns += ns;
	r->t->regions[region].exclusive_ns += ns - th->open[th->depth].children;
}

/* Fills in PyTorch's fields of an operator. The first operator of a line has the call path; the
 * backward pass has that of its thread, and the sequence number of its forward operator. */
static void set_torch_fields(struct rank *r, struct pasta_op_begin_record *op, bool inner)
{
	op->seq = r->at.seq;
	op->flags = r->at.backward ? PASTA_OP_BACKWARD : 0;
	if (inner)
		op->flags |= PASTA_OP_STACK_SAME;
	else if (r->at.line >= 0)
		op->stack = r->paths[r->at.backward ? GEN_LINE_BACKWARD : r->at.line];
	if (r->at.layer < 0)
		return;
	r->t->layer_ops[r->at.layer] += records(r, PASTA_KIND_OP_BEGIN);
	if (!r->at.backward && !inner)
		op->module = r->modules[r->at.layer][r->at.line];
}

static uint64_t op_begin(struct rank *r, const char *name, bool inner)
{
	struct pasta_event ev = EVENT(op_begin, OP_BEGIN, r->main.tid, r->main.now);

	ev.op_begin.id = ++r->op;
	ev.op_begin.seq = r->op;
	ev.op_begin.name = str(r, name);
	ev.op_begin.depth = inner ? 2 : 1;
	if (r->o->torch)
		set_torch_fields(r, &ev.op_begin, inner);
	put(r, r->main.source, &ev);
	r->main.now += gen_around(&r->random, 1400, 14000);
	return r->op;
}

static void op_end(struct rank *r, uint64_t id)
{
	struct pasta_event ev = EVENT(op_end, OP_END, r->main.tid, r->main.now);

	ev.op_end.id = id;
	put(r, r->main.source, &ev);
	r->main.now += gen_around(&r->random, 800, 14000);
}

static void counter(struct rank *r, struct thread *th, const char *name, double value)
{
	struct pasta_event ev = EVENT(counter, COUNTER, th->tid, th->now);

	ev.counter.name = str(r, name);
	ev.counter.value = value;
	ev.counter.device = r->device;
	put(r, th->source, &ev);
	th->now += gen_around(&r->random, 400, 9000);
}

/* -- Memory: a caching allocator returns the same addresses in every step -- */

static void count_alloc(struct rank *r, uint64_t bytes)
{
	if (!records(r, PASTA_KIND_ALLOC))
		return;
	r->t->alloc_bytes += bytes;
	if (r->at.line < 0)
		return;
	r->t->lines[r->at.line].allocs++;
	r->t->lines[r->at.line].alloc_bytes += bytes;
}

/* Emits a tensor; parameters existed before the run. */
static uint64_t put_tensor(struct rank *r, uint64_t addr, uint64_t bytes, unsigned int sub)
{
	struct pasta_event ev = EVENT(tensor, TENSOR, r->main.tid, r->main.now);
	int64_t shape[1] = {(int64_t)bytes / 2}, strides[1] = {1};

	ev.sub = (uint8_t)sub;
	ev.tensor.id = ev.tensor.storage = ++r->tensors;
	ev.tensor.addr = addr;
	ev.tensor.bytes = bytes;
	ev.tensor.shape = pasta_shardwriter_intern(r->w, shape, sizeof(shape));
	ev.tensor.strides = pasta_shardwriter_intern(r->w, strides, sizeof(strides));
	ev.tensor.dtype = str(r, "bfloat16");
	ev.tensor.device = r->device + 1;
	put(r, r->main.source, &ev);
	return ev.tensor.id;
}

static void put_arg(struct rank *r, unsigned int sub, uint64_t tensor, uint32_t index)
{
	struct pasta_event ev = EVENT(op_arg, OP_ARG, r->main.tid, r->main.now);

	ev.sub = (uint8_t)sub;
	ev.op_arg.op = r->op;
	ev.op_arg.tensor = tensor;
	ev.op_arg.index = index;
	put(r, r->main.source, &ev);
}

/* Emits the arguments of a line's operator: its parameter and the last tensor as inputs, and an
 * output. */
static void put_args(struct rank *r, uint64_t addr, uint64_t bytes)
{
	uint64_t before = r->tensors;

	if (r->at.line >= 0 && r->at.line < GEN_FORWARD_LINES)
		put_arg(r, PASTA_OP_ARG_IN, 1 + (uint64_t)r->at.line, 0);
	put_arg(r, PASTA_OP_ARG_IN, before, 1);
	put_arg(r, PASTA_OP_ARG_OUT, put_tensor(r, addr, bytes, PASTA_TENSOR_NEW), 0);
}

static void alloc(struct rank *r, uint64_t bytes)
{
	struct pasta_event ev = EVENT(alloc, ALLOC, r->main.tid, r->main.now);
	unsigned int slot = r->slot_count++;

	bytes = (bytes * r->length / 8 + 511) & ~UINT64_C(511);
	r->slots[slot].addr = UINT64_C(0x7f2a00000000) + ((uint64_t)slot << 27);
	r->slots[slot].bytes = bytes;
	ev.sub = PASTA_ALLOC_POOL;
	ev.alloc.addr = r->slots[slot].addr;
	ev.alloc.bytes = bytes;
	ev.alloc.context = 1;
	ev.alloc.device = r->device;
	put(r, r->main.source, &ev);
	count_alloc(r, bytes);
	r->live += bytes;
	r->peak = r->live > r->peak ? r->live : r->peak;
	if (r->o->torch)
		put_args(r, ev.alloc.addr, bytes);
	r->main.now += gen_around(&r->random, 600, 11000);
}

static void free_last(struct rank *r)
{
	struct pasta_event ev = EVENT(free, FREE, r->main.tid, r->main.now);
	unsigned int slot = --r->slot_count;

	ev.sub = PASTA_ALLOC_POOL;
	ev.free.addr = r->slots[slot].addr;
	ev.free.bytes = r->slots[slot].bytes;
	ev.free.context = 1;
	ev.free.device = r->device;
	put(r, r->main.source, &ev);
	r->t->free_bytes += records(r, PASTA_KIND_FREE) ? r->slots[slot].bytes : 0;
	r->live -= r->slots[slot].bytes;
	r->main.now += gen_around(&r->random, 350, 11000);
}

/* -- Work for the device -- */

/* Emits a launch. Returns when its work begins: after the launch, and after the last work of the
 * stream. */
static uint64_t launch(struct rank *r, unsigned int stream, uint32_t name,
		       enum pasta_launch_work work)
{
	struct pasta_event ev = EVENT(launch, LAUNCH, r->main.tid, r->main.now);
	uint64_t begin = r->main.now + gen_around(&r->random, 3100, 14000);
	uint64_t after = r->free_at[stream] + gen_around(&r->random, 1100, 12000);

	r->corr +=
		gen_below(&r->random, 64) ? 1 : 2; /* calls in between use correlation ids, too */
	ev.launch.corr = r->corr;
	ev.launch.name = name;
	ev.launch.context = 1;
	ev.launch.stream = stream_ids[stream];
	ev.launch.device = r->device;
	ev.launch.work = work;
	put(r, r->main.source, &ev);
	r->main.now += gen_around(&r->random, 4300, 13000);
	return begin > after ? begin : after;
}

/* Adds device time to the regions in which the work was launched. */
static void count_work(struct rank *r, enum pasta_kind kind, struct gen_sum *sum, uint64_t bytes,
		       uint64_t ns)
{
	const struct thread *th = &r->main;

	if (!records(r, kind))
		return;
	sum->count++;
	sum->bytes += bytes;
	sum->ns += ns;
	if (!records(r, PASTA_KIND_LAUNCH) || !records(r, PASTA_KIND_REGION))
		return;
	for (unsigned int i = 0; i < th->depth; i++)
		r->t->regions[th->open[i].region].device_ns += ns;
	r->t->regions[th->open[th->depth - 1].region].device_self_ns += ns;
}

static void count_line(struct rank *r, uint64_t ns)
{
	if (r->at.line < 0 || !records(r, PASTA_KIND_KERNEL))
		return;
	r->t->lines[r->at.line].kernels++;
	r->t->lines[r->at.line].ns += ns;
	r->t->lines[r->at.line].backward_ns += r->at.backward ? ns : 0;
	if (r->at.layer >= 0)
		r->t->layer_ns[r->at.layer] += ns;
}

static void run_kernel(struct rank *r, unsigned int stream, unsigned int number)
{
	const struct gen_kernel *k = &gen_kernels[number];
	uint64_t begin = launch(r, stream, r->kernel_names[number], PASTA_LAUNCH_WORK_KERNEL);
	uint64_t mean = k->scales ? k->mean * r->length / 8 : k->mean;
	struct pasta_event ev = EVENT(kernel, KERNEL, r->main.tid, device_time(r, begin));

	ev.kernel.dur = gen_around(&r->random, mean, k->spread);
	ev.kernel.corr = r->corr;
	ev.kernel.name = r->kernel_names[number];
	ev.kernel.context = 1;
	ev.kernel.stream = stream_ids[stream];
	ev.kernel.device = r->device;
	ev.kernel.grid_x = k->scales ? (uint32_t)(k->grid[0] * r->length + 7) / 8 : k->grid[0];
	ev.kernel.grid_y = k->grid[1];
	ev.kernel.grid_z = k->grid[2];
	ev.kernel.block_x = k->block[0];
	ev.kernel.block_y = k->block[1];
	ev.kernel.block_z = k->block[2];
	ev.kernel.registers = k->registers;
	ev.kernel.shared_static = k->shared_static;
	ev.kernel.shared_dynamic = k->shared_dynamic;
	put(r, r->device_source, &ev);
	r->t->kernel_ns += records(r, PASTA_KIND_KERNEL) ? ev.kernel.dur : 0;
	count_work(r, PASTA_KIND_KERNEL, &r->t->kernels[number], 0, ev.kernel.dur);
	count_line(r, ev.kernel.dur);
	r->free_at[stream] = begin + ev.kernel.dur;
}

static void run_copy(struct rank *r, unsigned int sub, uint64_t bytes)
{
	uint64_t begin = launch(r, 1, 0, PASTA_LAUNCH_WORK_COPY);
	struct pasta_event ev = EVENT(copy, COPY, r->main.tid, device_time(r, begin));

	ev.sub = (uint8_t)sub;
	ev.copy.dur = 1800 + gen_around(&r->random, bytes / 24, 4000);
	ev.copy.corr = r->corr;
	ev.copy.bytes = bytes;
	ev.copy.src = UINT64_C(0x7f1000000000) + (r->step % 4 << 24);
	ev.copy.dst = UINT64_C(0x7f2a00000000);
	ev.copy.context = 1;
	ev.copy.stream = stream_ids[1];
	ev.copy.device = r->device;
	put(r, r->device_source, &ev);
	r->t->copy_bytes += records(r, PASTA_KIND_COPY) ? bytes : 0;
	count_work(r, PASTA_KIND_COPY, &r->t->copies[sub], bytes, ev.copy.dur);
	r->free_at[1] = begin + ev.copy.dur;
}

static void run_set(struct rank *r, uint64_t bytes)
{
	uint64_t begin = launch(r, 0, 0, PASTA_LAUNCH_WORK_FILL);
	struct pasta_event ev = EVENT(set, SET, r->main.tid, device_time(r, begin));

	ev.set.dur = 1200 + gen_around(&r->random, bytes / 1500, 5000);
	ev.set.corr = r->corr;
	ev.set.bytes = bytes;
	ev.set.addr = UINT64_C(0x7f2900000000);
	ev.set.context = 1;
	ev.set.stream = stream_ids[0];
	ev.set.device = r->device;
	put(r, r->device_source, &ev);
	count_work(r, PASTA_KIND_SET, &r->t->copies[0], bytes, ev.set.dur);
	r->free_at[0] = begin + ev.set.dur;
}

/* The record's number is that of the launch. */
static void allreduce(struct rank *r, uint64_t bytes)
{
	struct pasta_event ev = EVENT(collective, COLLECTIVE, r->main.tid, r->main.now);

	run_kernel(r, 2, GEN_KERNEL_ALLREDUCE);
	ev.collective.corr = r->corr;
	ev.collective.bytes_in = ev.collective.bytes_out = bytes;
	ev.collective.comm = 1;
	ev.collective.seq = ++r->collectives;
	ev.collective.name = str(r, "all_reduce");
	ev.collective.dtype = str(r, "bfloat16");
	ev.collective.ranks = r->o->ranks;
	ev.collective.rank = r->rank + 1;
	put(r, r->main.source, &ev);
}

/* The host waits until all streams are empty. */
static void sync(struct rank *r)
{
	struct pasta_event ev = EVENT(sync, SYNC, r->main.tid, r->main.now);
	uint64_t until = r->main.now + gen_around(&r->random, 2500, 9000);

	for (unsigned int i = 0; i < STREAMS; i++)
		until = r->free_at[i] > until ? r->free_at[i] : until;
	ev.sync.dur = until - r->main.now;
	ev.sync.corr = ++r->corr;
	ev.sync.context = 1;
	ev.sync.device = r->device;
	put(r, r->main.source, &ev);
	r->main.now = until + gen_around(&r->random, 5000, 9000);
}

static void run_op(struct rank *r, const struct gen_op *op, unsigned int layer, bool retain)
{
	uint64_t outer = op_begin(r, op->name, false);
	uint64_t inner = op->inner ? op_begin(r, op->inner, true) : 0;

	if (op->bytes)
		alloc(r, op->bytes);
	for (size_t i = 0; i < sizeof(op->kernel) && op->kernel[i]; i++) {
		unsigned int k = op->kernel[i];

		run_kernel(r, 0, k + (layer % 2 && gen_kernels[k].alternates));
	}
	if (op->bytes && !retain)
		free_last(r);
	if (inner)
		op_end(r, inner);
	op_end(r, outer);
}

/* -- The profile torch -- */

/* Moves to a line's operator. The backward pass begins with the last layer. */
static void go_to(struct rank *r, int line, int layer, bool backward)
{
	if (!r->o->torch)
		return;
	r->at.line = line;
	r->at.layer = layer;
	r->at.backward = backward;
	r->at.seq = 0;
	if (line >= GEN_FORWARD_LINES || layer < 0)
		r->at.layer = -1;
	else if (backward)
		r->at.seq = r->seqs[layer][line];
	else
		r->at.seq = r->seqs[layer][line] = ++r->seq;
}

static void leave(struct rank *r)
{
	r->at.line = r->at.layer = -1;
	r->at.backward = false;
}

/* The program retains the loss of every step, as many programs do. */
static void retain_loss(struct rank *r)
{
	struct pasta_event ev = EVENT(alloc, ALLOC, r->main.tid, r->main.now);
	uint64_t op;

	if (!r->o->torch)
		return;
	go_to(r, GEN_LINE_LOSS, -1, false);
	op = op_begin(r, "aten::clone", false);
	ev.time = r->main.now;
	ev.sub = PASTA_ALLOC_POOL;
	ev.alloc.addr = UINT64_C(0x7f2800000000) + r->step * GEN_LOSS_BYTES;
	ev.alloc.bytes = GEN_LOSS_BYTES;
	ev.alloc.name = str(r, "torch");
	ev.alloc.device = r->device;
	put(r, r->main.source, &ev);
	count_alloc(r, GEN_LOSS_BYTES);
	r->live += GEN_LOSS_BYTES;
	r->t->loss_bytes += records(r, PASTA_KIND_ALLOC) ? GEN_LOSS_BYTES : 0;
	put_args(r, ev.alloc.addr, GEN_LOSS_BYTES);
	op_end(r, op);
	leave(r);
}

static uint32_t path_of(struct rank *r, unsigned int line)
{
	struct gen_line path[GEN_PATH];
	size_t n = gen_line_path(line, path);
	uint8_t bytes[PASTA_PATHNODE_SIZE];
	uint32_t ref = 0;

	for (size_t i = 0; i < n; i++) {
		pasta_pathnode_encode(&(struct pasta_pathnode){ref, str(r, path[i].function),
							       str(r, path[i].file), path[i].line},
				      bytes);
		ref = pasta_shardwriter_intern(r->w, bytes, sizeof(bytes));
	}
	return ref;
}

/* Emits the allocator's segment, the parameters, of which the last one is never used, and the
 * names. */
static void begin_torch(struct rank *r)
{
	struct pasta_event ev = EVENT(alloc, ALLOC, r->main.tid, r->main.now);
	char text[64];

	for (unsigned int i = 0; i < GEN_LINES; i++)
		r->paths[i] = path_of(r, i);
	for (unsigned int layer = 0; layer < GEN_LAYERS; layer++)
		for (unsigned int i = 0; i < GEN_FORWARD_LINES; i++) {
			const char *name = gen_lines[i].module;

			snprintf(text, sizeof(text), "layers.%u%s%s", layer, name ? "." : "",
				 name ? name : "");
			r->modules[layer][i] = str(r, text);
		}
	for (uint64_t i = 0; i <= GEN_FORWARD_LINES; i++)
		put_tensor(r, UINT64_C(0x7f2700000000) + (i << 24), 1 << 20, PASTA_TENSOR_FOUND);
	ev.sub = PASTA_ALLOC_SEGMENT;
	ev.alloc.addr = UINT64_C(0x7f2a00000000);
	ev.alloc.bytes = UINT64_C(8) << 30;
	ev.alloc.name = str(r, "torch");
	ev.alloc.device = r->device;
	put(r, r->main.source, &ev);
}

/* -- Rare events -- */

static void put_modules(struct rank *r, unsigned int sub)
{
	struct pasta_event ev = EVENT(module, MODULE, r->main.tid, r->main.now);

	ev.sub = (uint8_t)sub;
	for (uint64_t i = 1; i <= 3; i++) {
		ev.module.id = i;
		ev.module.addr = UINT64_C(0x7f3000000000) + (i << 28);
		ev.module.bytes = 4000000 * i;
		ev.module.crc = UINT64_C(0x1d872b41) * i;
		ev.module.name = str(r, "fatbin");
		ev.module.context = 1;
		ev.module.device = r->device;
		put(r, r->main.source, &ev);
	}
}

static void put_graph(struct rank *r)
{
	struct pasta_event ev = EVENT(graph, GRAPH, r->main.tid, r->main.now);

	for (uint64_t i = 1; i <= 20; i++) {
		ev.graph.graph = 1;
		ev.graph.node = i;
		ev.graph.name = r->kernel_names[1 + i];
		ev.graph.scope = str(r, "step/forward");
		put(r, r->main.source, &ev);
	}
}

static void put_accesses(struct rank *r)
{
	struct pasta_event sum = EVENT(access_sum, ACCESS_SUM, 0, r->main.now);
	struct pasta_event batch = EVENT(access_batch, ACCESS_BATCH, 0, r->main.now);
	struct pasta_event pc = EVENT(pc_sample, PC_SAMPLE, 0, r->main.now);

	for (uint64_t i = 0; i < 4; i++) {
		sum.access_sum.corr = pc.pc_sample.corr = r->corr;
		sum.access_sum.key0 = i;
		sum.access_sum.loads = gen_around(&r->random, 500000, 20000);
		sum.access_sum.stores = gen_around(&r->random, 200000, 20000);
		sum.access_sum.bytes = 4 * (sum.access_sum.loads + sum.access_sum.stores);
		sum.access_sum.name = r->kernel_names[1 + i];
		put(r, r->device_source + 1, &sum);
		pc.pc_sample.pc = 16 * gen_below(&r->random, 4000);
		pc.pc_sample.samples = gen_around(&r->random, 40, 60000);
		pc.pc_sample.function = r->kernel_names[1 + gen_below(&r->random, 40)];
		pc.pc_sample.stall = str(r, i % 2 ? "long_scoreboard" : "math_pipe_throttle");
		put(r, r->device_source + 1, &pc);
	}
	batch.access_batch.corr = r->corr;
	batch.access_batch.count = 1 + gen_below(&r->random, 4096);
	batch.access_batch.bytes = 3 * batch.access_batch.count;
	put(r, r->device_source + 1, &batch);
}

static void put_tensors(struct rank *r)
{
	struct pasta_event t = EVENT(tensor, TENSOR, r->main.tid, r->main.now);
	struct pasta_event a = EVENT(op_arg, OP_ARG, r->main.tid, r->main.now);
	struct pasta_event l = EVENT(link, LINK, r->main.tid, r->main.now);
	int64_t shape[3] = {8, (int64_t)(128 * r->length), 768},
		strides[3] = {shape[1] * 768, 768, 1};

	t.tensor.id = t.tensor.storage = r->op;
	t.tensor.addr = UINT64_C(0x7f2a00000000);
	t.tensor.bytes = (uint64_t)(shape[0] * shape[1] * shape[2]) * 2;
	t.tensor.shape = pasta_shardwriter_intern(r->w, shape, sizeof(shape));
	t.tensor.strides = pasta_shardwriter_intern(r->w, strides, sizeof(strides));
	t.tensor.dtype = str(r, "bfloat16");
	t.tensor.device = r->device;
	put(r, r->main.source, &t);
	for (uint32_t i = 0; i < 3; i++) {
		a.sub = i < 2 ? PASTA_OP_ARG_IN : PASTA_OP_ARG_OUT;
		a.op_arg.op = r->op;
		a.op_arg.tensor = r->op - i;
		a.op_arg.index = i;
		put(r, r->main.source, &a);
	}
	l.link.from = r->op;
	l.link.to = r->corr;
	put(r, r->main.source, &l);
}

static void put_rare(struct rank *r)
{
	struct pasta_event api = EVENT(api, API, r->main.tid, r->main.now);
	struct pasta_event uvm = EVENT(uvm, UVM, 0, device_time(r, r->main.now));
	struct pasta_event mark = EVENT(region, REGION, r->main.tid, r->main.now);

	for (unsigned int i = 0; i < 4; i++) {
		api.api.dur = gen_around(&r->random, 2600, 16000);
		api.api.corr = r->corr;
		api.api.name = str(r, i ? "cudaLaunchKernel" : "cudaMemcpyAsync");
		put(r, r->main.source, &api);
	}
	uvm.sub = 1;
	uvm.uvm.dur = gen_around(&r->random, 12000, 20000);
	uvm.uvm.addr = UINT64_C(0x7e0000000000) + (gen_below(&r->random, 4096) << 16);
	uvm.uvm.bytes = 65536;
	uvm.uvm.count = 1;
	put(r, r->device_source, &uvm);
	mark.sub = PASTA_REGION_MARK;
	mark.region.name = str(r, "checkpoint");
	mark.region.domain = str(r, "trainer");
	mark.region.depth = r->main.depth + 1;
	put(r, r->main.source, &mark);
	if (!r->o->torch)
		put_tensors(r);
	put_accesses(r);
	if (r->step % 100 == 99) {
		put_modules(r, PASTA_MODULE_UNLOAD);
		put_modules(r, PASTA_MODULE_LOAD);
	}
	if (r->o->drops && r->step % 64 == 63) {
		pasta_shardwriter_drop(r->w, r->main.source, PASTA_LOSS_FULL, 3);
		pasta_shardwriter_drop(r->w, r->device_source, PASTA_LOSS_SOURCE, 2);
		r->t->dropped += 5;
	}
}

/* -- A step -- */

static void layers(struct rank *r, enum gen_region region, const struct gen_op *ops, size_t count,
		   bool forward)
{
	for (unsigned int layer = 0; layer < GEN_LAYERS; layer++) {
		region_begin(r, &r->main, region);
		for (size_t i = 0; i < count; i++) {
			if (forward)
				go_to(r, (int)i, (int)layer, false);
			else
				go_to(r, gen_backward_lines[i], (int)(GEN_LAYERS - 1 - layer),
				      true);
			run_op(r, &ops[i], layer, forward);
		}
		leave(r);
		if (!forward) {
			for (size_t i = 0; i < gen_forward_count; i++)
				free_last(r); /* stored by the forward pass */
			allreduce(r, 14155776);
		}
		region_end(r, &r->main);
	}
}

static void data(struct rank *r)
{
	region_begin(r, &r->main, GEN_DATA);
	run_copy(r, PASTA_COPY_H2D, 65536 * r->length);
	run_copy(r, PASTA_COPY_H2D, 65536 * r->length);
	run_kernel(r, 3, 42);
	region_end(r, &r->main);
}

static void kernels(struct rank *r, unsigned int first, unsigned int last)
{
	for (unsigned int k = first; k <= last; k++)
		run_kernel(r, 0, k);
}

static void train(struct rank *r)
{
	region_begin(r, &r->main, GEN_FORWARD);
	kernels(r, 29, 30);
	layers(r, GEN_FORWARD_LAYER, gen_forward, gen_forward_count, true);
	kernels(r, 31, 32);
	region_end(r, &r->main);
	region_begin(r, &r->main, GEN_BACKWARD);
	kernels(r, 33, 34);
	layers(r, GEN_BACKWARD_LAYER, gen_backward, gen_backward_count, false);
	kernels(r, 35, 36);
	region_end(r, &r->main);
	region_begin(r, &r->main, GEN_OPTIMIZER);
	go_to(r, GEN_LINE_OPTIMIZER, -1, false);
	for (size_t i = 0; i < gen_optimizer_count; i++)
		run_op(r, &gen_optimizer[i], 0, false);
	leave(r);
	run_set(r, 67108864);
	region_end(r, &r->main);
}

/* The other threads meanwhile prepare the next step's data. */
static void load(struct rank *r, uint64_t begin)
{
	struct thread *th = &r->loader;

	for (uint32_t i = 2; i <= r->o->threads; i++) {
		th->source = i;
		th->tid = r->main.tid + i - 1;
		th->now = begin + gen_around(&r->random, 20000, 30000);
		region_begin(r, th, GEN_LOAD);
		for (int k = 0; k < 4; k++) {
			region_begin(r, th, GEN_LOAD_DECODE);
			th->now += gen_around(&r->random, 180000, 16000);
			region_end(r, th);
		}
		counter(r, th, "queue", (double)gen_below(&r->random, 16));
		region_end(r, th);
	}
}

static void step(struct rank *r)
{
	struct pasta_event ev = EVENT(iteration, ITERATION, r->main.tid, r->main.now);
	uint64_t begin = r->main.now;

	r->length = 5 + gen_below(&r->random, 4);
	ev.iteration.index = r->step;
	put(r, r->main.source, &ev);
	region_begin(r, &r->main, GEN_STEP);
	data(r);
	train(r);
	sync(r);
	run_copy(r, PASTA_COPY_D2H, 4);
	retain_loss(r);
	counter(r, &r->main, "loss", 2.0 + (double)gen_below(&r->random, 1000) / 1000);
	counter(r, &r->main, "memory", (double)(r->length << 30));
	region_end(r, &r->main);
	load(r, begin);
	put_rare(r);
	while (r->next_clock <= r->main.now) {
		put_clocks(r, r->next_clock);
		r->next_clock += SECOND;
	}
	r->step++;
}

/* -- The shard -- */

void gen_shard_name(char *name, size_t size, uint32_t rank)
{
	snprintf(name, size, "gen%u-%u.pst", rank / GEN_HOST_RANKS, 1000 + rank);
}

static void put_device(struct rank *r)
{
	struct pasta_event ev = EVENT(device, DEVICE, r->main.tid, r->main.now);

	ev.device.memory = UINT64_C(80) << 30;
	ev.device.uuid_hi = r->o->seed;
	ev.device.uuid_lo = r->rank;
	ev.device.name = str(r, "Generated Device 80GB");
	ev.device.vendor = str(r, "accelprof-gen");
	ev.device.id = r->device;
	ev.device.units = 132;
	ev.device.clock_mhz = 1980;
	put(r, r->main.source, &ev);
}

static void put_names(struct rank *r)
{
	struct pasta_event process = EVENT(process, PROCESS, 0, r->main.now);
	struct pasta_event thread = EVENT(thread, THREAD, 0, r->main.now);
	char host[32];

	snprintf(host, sizeof(host), "gen%u", r->rank / GEN_HOST_RANKS);
	process.process.kinds = r->o->kinds;
	process.process.command = str(r, "accelprof-gen");
	process.process.host = str(r, host);
	process.process.version = str(r, PASTA_VERSION_STRING);
	process.process.pid = 1000 + r->rank;
	process.process.rank = r->rank + 1;
	process.process.world = r->o->ranks;
	put_state(r, &process);
	for (uint32_t i = 0; i < r->o->threads; i++) {
		thread.tid = r->main.tid + i;
		thread.thread.name = str(r, i ? "loader" : "train");
		put_state(r, &thread);
	}
	for (size_t i = 1; i < gen_kernel_count; i++)
		r->kernel_names[i] = str(r, gen_kernels[i].name);
	for (size_t i = 0; i < GEN_REGIONS; i++) {
		const char *name = strrchr(gen_region_paths[i], '/');

		r->region_names[i] = str(r, name ? name + 1 : gen_region_paths[i]);
	}
}

static void fill(uint8_t id[16], uint64_t seed, uint64_t number)
{
	struct gen_random random = {seed ^ number << 32};
	uint64_t words[2] = {gen_next(&random), gen_next(&random)};

	memcpy(id, words, 16);
}

static void begin(struct rank *r)
{
	r->main = (struct thread){.source = 1, .tid = 100000 + r->rank * 1000};
	r->main.now = r->raw + gen_below(&r->random, 3000000);
	r->device = r->rank % GEN_HOST_RANKS;
	r->device_source = r->o->threads + 1;
	r->next_clock = r->main.now + SECOND;
	pasta_shardwriter_clock(r->w, r->device_source, DEVICE_CLOCK);
	put_names(r);
	put_clocks(r, r->main.now);
	put_device(r);
	put_modules(r, PASTA_MODULE_LOAD);
	put_graph(r);
	leave(r);
	if (r->o->torch)
		begin_torch(r);
}

int gen_rank(const struct gen_options *o, uint32_t number, const char *path,
	     struct gen_totals *totals, struct pasta_error *err)
{
	struct pasta_shard_head head = {.real = GEN_REAL, .pid = 1000 + number};
	uint32_t host = number / GEN_HOST_RANKS;
	struct rank r = {
		.o = o, .t = totals, .rank = number, .random = {o->seed ^ (uint64_t)number << 40}};
	uint64_t target = o->events / o->ranks + (number < o->events % o->ranks);
	struct stat st;
	int error;

	head.raw = r.raw = BOOTED + host * 77 * SECOND;
	fill(head.guid, o->seed, number + 1);
	fill(head.boot, o->seed, (uint64_t)host << 20);
	r.w = pasta_shardwriter_new(path, &head, err);
	if (!r.w)
		return err->code;
	begin(&r);
	do {
		step(&r);
		if (!(r.step & 15))
			gen_progress(totals->events);
	} while (r.made < target);
	put_clocks(&r, r.main.now);
	totals->peak_bytes += records(&r, PASTA_KIND_ALLOC) ? r.peak : 0;
	if (real_of(&r, r.main.now) > totals->last)
		totals->last = real_of(&r, r.main.now);
	error = pasta_shardwriter_close(r.w, err);
	if (!error && !stat(path, &st))
		totals->bytes += (uint64_t)st.st_size;
	return error;
}
