/* trace_step.c - simulates a step of a trace: what the threads and the device do, and when. */
#include "trace.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 32, SLOTS = 512, BUCKET_LAYERS = 3, SYNC_STEPS = 8, ROUND_BELOW = 8192 };
#define BEGIN UINT64_C(1209600123456789) /* start of the first step, ns since the base */
#define HEAP UINT64_C(0x7f2a00000000)
#define STEP_FRAME 40000 /* ns of the profiler's own function between steps */

struct frame {
	uint32_t event; /* index in the step */
	uint64_t children;
};

struct thread {
	uint64_t now;
	struct frame open[DEPTH];
	unsigned int depth;
};

struct trace_sim {
	const struct trace_options *o;
	struct trace_truth *t; /* may be NULL */
	struct gen_random random;
	struct thread threads[TRACE_THREADS];
	uint64_t free_at[TRACE_STREAMS];
	uint64_t external, python, corr, collective, step;
	uint64_t seq, grad_seq;
	uint8_t length;
	uint64_t slots[SLOTS]; /* bytes */
	unsigned int slot_count;
	uint64_t live;
	struct trace_event *events;
	size_t count, room;
	uint16_t parts[TRACE_PARTS + 1]; /* index of each part's marker */
};

uint32_t trace_world(const struct trace_options *o)
{
	return o->ranks > GEN_HOST_RANKS ? o->ranks : GEN_HOST_RANKS;
}

uint16_t trace_first_named(uint16_t node)
{
	static uint16_t first[TRACE_NODES_MAX]; /* index + 1 */
	uint16_t i = 0;

	if (first[node])
		return first[node] - 1;
	while (!trace_nodes[i].name || strcmp(trace_nodes[i].name, trace_nodes[node].name))
		i++;
	first[node] = i + 1;
	return i;
}

static uint64_t around(struct trace_sim *s, uint64_t mean)
{
	return 1 + gen_around(&s->random, mean, 14000);
}

static uint64_t scaled(const struct trace_sim *s, uint64_t bytes)
{
	bytes = bytes > ROUND_BELOW ? bytes * trace_lengths[s->length] / 1024 : bytes;
	return bytes > 512 ? (bytes + 511) & ~UINT64_C(511) : bytes;
}

static struct trace_event *push(struct trace_sim *s, enum trace_category cat, unsigned int thread,
				uint64_t ts, uint16_t node)
{
	struct trace_event *ev;

	if (s->count == s->room) {
		s->room = s->room ? 2 * s->room : 8192;
		s->events = realloc(s->events, s->room * sizeof(*s->events));
		if (!s->events)
			abort();
	}
	ev = &s->events[s->count++];
	*ev = (struct trace_event){.ts = ts,
				   .node = node,
				   .cat = (uint8_t)cat,
				   .thread = (uint8_t)thread,
				   .length = s->length};
	if (s->t)
		s->t->categories[cat]++;
	return ev;
}

static void flow(struct trace_sim *s, struct trace_event *ev, enum trace_category cat, char which)
{
	ev->flow = which;
	if (s->t)
		s->t->categories[cat]++;
}

/* The id of the innermost open operator or Python function; 0: none. */
static uint64_t innermost(const struct trace_sim *s, const struct thread *th,
			  enum trace_category cat)
{
	for (unsigned int i = th->depth; i-- > 0;)
		if (s->events[th->open[i].event].cat == cat)
			return s->events[th->open[i].event].id;
	return 0;
}

/* -- Frames with a begin and an end on a thread -- */

static void open_python(struct trace_sim *s, unsigned int t, uint16_t node, uint32_t layer)
{
	const struct trace_node *n = &trace_nodes[node];
	uint64_t parent = innermost(s, &s->threads[t], TRACE_CAT_PYTHON);
	struct trace_event *ev = push(s, TRACE_CAT_PYTHON, t, s->threads[t].now, node);

	ev->id = ++s->python;
	ev->parent = parent;
	for (size_t i = 0; !ev->parent && trace_roots[i]; i++)
		ev->parent = trace_roots[i + 1] ? 0 : i + 1;
	ev->number = n->number + n->of * layer;
}

static void open_op(struct trace_sim *s, unsigned int t, uint16_t node)
{
	const struct trace_node *n = &trace_nodes[node];
	struct trace_event *ev = push(s, TRACE_CAT_OP, t, s->threads[t].now, node);

	ev->id = ++s->external;
	if (n->number)
		ev->seq = ++s->collective;
	if (n->kind != TRACE_GRAD_OP)
		return;
	if (!t) {
		ev->seq = s->seq++;
		flow(s, ev, TRACE_CAT_FWDBWD, 's');
	} else {
		ev->seq = n->depth ? s->grad_seq : --s->grad_seq;
		if (!n->depth)
			flow(s, ev, TRACE_CAT_FWDBWD, 'f');
	}
}

static void open_node(struct trace_sim *s, unsigned int t, uint16_t node, uint32_t layer)
{
	const struct trace_node *n = &trace_nodes[node];
	struct thread *th = &s->threads[t];
	bool python = n->kind == TRACE_PYTHON || n->kind == TRACE_MODULE;

	assert(th->depth < DEPTH);
	if (python)
		open_python(s, t, node, layer);
	else if (n->kind == TRACE_REGION)
		push(s, TRACE_CAT_REGION, t, th->now, node)->id = ++s->external;
	else
		open_op(s, t, node);
	th->open[th->depth++] = (struct frame){.event = (uint32_t)(s->count - 1)};
	/* Sometimes the clock does not advance between two begins. */
	if (gen_below(&s->random, 64))
		th->now += around(s, python ? 500 : 900);
}

static void count_call(struct trace_sim *s, const struct trace_event *ev, uint64_t children)
{
	uint16_t name = trace_first_named(ev->node);

	if (!s->t)
		return;
	s->t->nodes[name].calls++;
	s->t->nodes[name].ns += ev->dur;
	s->t->nodes[name].self_ns += ev->dur - children;
}

/* An operator's self time excludes the operators inside it. */
static void close_top(struct trace_sim *s, struct thread *th)
{
	struct frame *f = &th->open[--th->depth];
	struct trace_event *ev = &s->events[f->event];
	bool op = ev->cat == TRACE_CAT_OP;

	th->now += around(s, 250);
	ev->dur = th->now - ev->ts;
	count_call(s, ev, f->children);
	th->now += around(s, 350);
	if (th->depth)
		th->open[th->depth - 1].children += op ? ev->dur : f->children;
}

static void close_to(struct trace_sim *s, struct thread *th, unsigned int depth)
{
	while (th->depth &&
	       trace_nodes[s->events[th->open[th->depth - 1].event].node].depth >= depth)
		close_top(s, th);
}

/* -- Memory: the last allocation is freed first -- */

static void memory(struct trace_sim *s, unsigned int t, uint16_t node, int64_t bytes)
{
	struct trace_event *ev = push(s, TRACE_CAT_MEMORY, t, s->threads[t].now, node);

	if (bytes < 0)
		s->live += (uint64_t)bytes;
	ev->id = HEAP + s->live;
	if (bytes > 0)
		s->live += (uint64_t)bytes;
	ev->bytes = bytes;
	ev->total = s->live;
	s->threads[t].now += around(s, 300);
	if (!s->t)
		return;
	s->t->allocs += bytes > 0;
	s->t->frees += bytes < 0;
	*(bytes > 0 ? &s->t->alloc_bytes : &s->t->free_bytes) +=
		(uint64_t)(bytes > 0 ? bytes : -bytes);
}

static void allocate(struct trace_sim *s, unsigned int t, uint16_t node)
{
	uint64_t bytes = (scaled(s, trace_nodes[node].bytes) + 511) & ~UINT64_C(511);

	assert(s->slot_count < SLOTS);
	s->slots[s->slot_count++] = bytes;
	memory(s, t, node, (int64_t)bytes);
}

static void release(struct trace_sim *s, unsigned int t, uint16_t node)
{
	unsigned int n = trace_nodes[node].number;

	for (n = n && n < s->slot_count ? n : s->slot_count; n; n--)
		memory(s, t, node, -(int64_t)s->slots[--s->slot_count]);
}

/* -- Work for the device -- */

static struct trace_event *call(struct trace_sim *s, unsigned int t, uint16_t node,
				enum trace_call what)
{
	struct thread *th = &s->threads[t];
	uint64_t external = innermost(s, th, TRACE_CAT_OP);
	struct trace_event *ev =
		push(s, trace_calls[what].driver ? TRACE_CAT_DRIVER : TRACE_CAT_RUNTIME, t, th->now,
		     node);

	s->corr += gen_below(&s->random, 32) ? 1 : 2; /* some calls are not recorded */
	ev->id = s->corr;
	ev->parent = external;
	ev->number = what;
	ev->dur = around(s, what <= TRACE_CALL_SET ? 4200 : 900);
	if (trace_calls[what].flows)
		flow(s, ev, TRACE_CAT_AC2G, 's');
	th->now += ev->dur + around(s, 400);
	if (s->t)
		s->t->calls[what]++;
	return ev;
}

static void wait_for_device(struct trace_sim *s, unsigned int t, uint16_t node)
{
	struct trace_event *ev = call(s, t, node, trace_nodes[node].number);
	struct thread *th = &s->threads[t];

	for (unsigned int i = 0; i < TRACE_STREAMS; i++)
		if (s->free_at[i] > ev->ts + ev->dur)
			ev->dur = s->free_at[i] - ev->ts;
	ev->dur += around(s, 2000);
	th->now = ev->ts + ev->dur + around(s, 400);
}

/* Adds device time to the operators in which the work was launched. */
static void count_device(struct trace_sim *s, const struct thread *th, uint64_t ns)
{
	bool self = true;

	for (unsigned int i = th->depth; i-- > 0;) {
		const struct trace_event *ev = &s->events[th->open[i].event];
		uint16_t name = trace_first_named(ev->node);

		if (ev->cat != TRACE_CAT_OP)
			continue;
		s->t->nodes[name].device_ns += ns;
		s->t->nodes[name].device_self_ns += self ? ns : 0;
		self = false;
	}
}

static void sum(struct gen_sum *to, const struct trace_event *ev)
{
	to->count++;
	to->ns += ev->dur;
	to->bytes += (uint64_t)ev->bytes;
}

static void count_kernel(struct trace_truth *t, const struct trace_event *ev)
{
	unsigned int c = ev->number - GEN_KERNELS_MAX;

	sum(&t->kernels[ev->number], ev);
	t->kernel_ns += ev->dur;
	if (ev->number < GEN_KERNELS_MAX)
		return;
	t->collectives[c].count++;
	t->collectives[c].ns += ev->dur;
	t->collectives[c].in += (uint64_t)trace_collectives[c].in * trace_collectives[c].element;
	t->collectives[c].out += (uint64_t)trace_collectives[c].out * trace_collectives[c].element;
}

static unsigned int kernel_of(const struct trace_node *n, uint32_t layer)
{
	return n->number + (trace_kernel(n->number)->alternates && layer % 2);
}

/* Work begins after its launch, and after the last work of its stream. */
static void work(struct trace_sim *s, unsigned int t, uint16_t node, enum trace_category cat,
		 unsigned int stream, uint32_t number, uint64_t mean, uint32_t spread)
{
	const struct trace_node *n = &trace_nodes[node];
	const struct trace_event *launch = call(s, t, node, n->of);
	uint64_t begin = launch->ts + around(s, 5200), id = launch->id, parent = launch->parent;
	uint64_t after = s->free_at[stream] + around(s, 900);
	struct trace_event *ev = push(s, cat, stream, begin > after ? begin : after, node);

	ev->id = id;
	ev->parent = parent;
	ev->number = number;
	ev->dur = 1 + gen_around(&s->random, mean, spread);
	ev->bytes = cat == TRACE_CAT_KERNEL ? 0 : (int64_t)scaled(s, n->bytes);
	ev->seq = s->collective;
	flow(s, ev, TRACE_CAT_AC2G, 'f');
	s->free_at[stream] = ev->ts + ev->dur;
	if (!s->t)
		return;
	s->t->launches++;
	count_device(s, &s->threads[t], ev->dur);
	if (cat == TRACE_CAT_KERNEL)
		count_kernel(s->t, ev);
	else
		sum(cat == TRACE_CAT_COPY ? &s->t->copies[number] : &s->t->sets, ev);
}

static void run_kernel(struct trace_sim *s, unsigned int t, uint16_t node, uint32_t layer)
{
	unsigned int number = kernel_of(&trace_nodes[node], layer);
	const struct gen_kernel *k = trace_kernel(number);
	uint64_t mean = k->scales ? (uint64_t)k->mean * trace_lengths[s->length] / 1024 : k->mean;
	bool nccl = number >= GEN_KERNELS_MAX;

	/* A collective waits for the data that it sends. */
	if (nccl && s->free_at[TRACE_STREAM_NCCL] < s->free_at[TRACE_STREAM_COMPUTE])
		s->free_at[TRACE_STREAM_NCCL] = s->free_at[TRACE_STREAM_COMPUTE];
	work(s, t, node, TRACE_CAT_KERNEL, nccl ? TRACE_STREAM_NCCL : TRACE_STREAM_COMPUTE, number,
	     mean, k->spread);
}

static void run_copy(struct trace_sim *s, unsigned int t, uint16_t node)
{
	const struct trace_node *n = &trace_nodes[node];
	uint64_t bytes = scaled(s, n->bytes);
	/* 1.3 TB/s within the device, 24 GB/s to and from it. */
	uint64_t mean = 900 + (n->number == TRACE_D2D ? bytes / 1300 : bytes / 24);

	work(s, t, node, TRACE_CAT_COPY,
	     n->number == TRACE_H2D ? TRACE_STREAM_COPY : TRACE_STREAM_COMPUTE, n->number, mean,
	     6000);
}

/* -- A step -- */

static void walk(struct trace_sim *s, unsigned int t, enum trace_part part, uint32_t layer)
{
	for (uint16_t i = s->parts[part] + 1; i < s->parts[part + 1]; i++) {
		const struct trace_node *n = &trace_nodes[i];

		close_to(s, &s->threads[t], n->depth);
		switch (n->kind) {
		case TRACE_CALL:
			call(s, t, i, n->number);
			break;
		case TRACE_WAIT:
			wait_for_device(s, t, i);
			break;
		case TRACE_KERNEL:
			run_kernel(s, t, i, layer);
			break;
		case TRACE_COPY:
			run_copy(s, t, i);
			break;
		case TRACE_SET:
			work(s, t, i, TRACE_CAT_SET, TRACE_STREAM_COMPUTE, 0,
			     700 + scaled(s, n->bytes) / 2100, 6000);
			break;
		case TRACE_ALLOC:
			allocate(s, t, i);
			break;
		case TRACE_FREE:
			release(s, t, i);
			break;
		default:
			open_node(s, t, i, layer);
		}
	}
}

/* The thread of the autograd engine runs while the main thread waits. */
static void backward(struct trace_sim *s)
{
	struct thread *main = &s->threads[0], *grad = &s->threads[1];

	walk(s, 0, TRACE_BACKWARD, 0);
	grad->now = main->now + around(s, 9000);
	s->grad_seq = s->seq;
	walk(s, 1, TRACE_GRAD_HEAD, 0);
	for (uint32_t layer = TRACE_LAYERS; layer-- > 0;) {
		walk(s, 1, TRACE_GRAD_LAYER, layer);
		if (layer % BUCKET_LAYERS == 0)
			walk(s, 1, TRACE_BUCKET, 0);
	}
	walk(s, 1, TRACE_GRAD_EMBED, 0);
	close_to(s, grad, 0);
	main->now = grad->now + around(s, 9000);
}

static void forward(struct trace_sim *s)
{
	walk(s, 0, TRACE_DATA, 0);
	walk(s, 0, TRACE_EMBED, 0);
	for (uint32_t layer = 0; layer < TRACE_LAYERS; layer++)
		walk(s, 0, TRACE_LAYER, layer);
	walk(s, 0, TRACE_HEAD, 0);
}

static void optimize(struct trace_sim *s)
{
	walk(s, 0, TRACE_CLIP, 0);
	for (uint32_t i = 0; i < TRACE_LAYERS / 2; i++)
		walk(s, 0, TRACE_UPDATE, 0);
	walk(s, 0, TRACE_GATHER, 0);
	walk(s, 0, TRACE_LOSS, 0);
	if (s->step % SYNC_STEPS == 0)
		walk(s, 0, TRACE_SYNC, 0);
}

/* The region of a step begins and ends within the profiler's own function, so that they overlap. */
static void end_step(struct trace_sim *s, uint16_t region)
{
	struct thread *th = &s->threads[0];
	struct trace_event *ev;

	open_python(s, 0, region + 1, 0);
	ev = &s->events[s->count - 1];
	ev->dur = STEP_FRAME;
	count_call(s, ev, 0);
	s->events[0].dur = th->now + STEP_FRAME / 4 - s->events[0].ts;
	count_call(s, &s->events[0], 0);
	th->now += STEP_FRAME / 2;
}

/* A region on the device lasts from the first to the last work that was launched in it; Kineto adds
 * a little on both sides. */
static void gpu_region(struct trace_sim *s, uint16_t region)
{
	uint64_t first = UINT64_MAX, last = 0;
	struct trace_event *ev;

	for (size_t i = 0; i < s->count; i++) {
		ev = &s->events[i];
		if (ev->cat < TRACE_CAT_KERNEL || ev->cat > TRACE_CAT_SET ||
		    ev->thread != TRACE_STREAM_COMPUTE)
			continue;
		first = ev->ts < first ? ev->ts : first;
		last = ev->ts + ev->dur > last ? ev->ts + ev->dur : last;
	}
	ev = push(s, TRACE_CAT_GPU_REGION, TRACE_STREAM_COMPUTE, first - 1, region);
	ev->dur = last - first + 2;
	ev->id = s->events[0].id;
	ev->number = s->events[0].number;
}

static void count_step(struct trace_sim *s)
{
	s->t->steps++;
	if (!s->o->stacks)
		s->t->categories[TRACE_CAT_PYTHON] = 0;
	s->t->last = s->threads[0].now;
	for (unsigned int i = 0; i < TRACE_STREAMS; i++)
		s->t->last = s->free_at[i] > s->t->last ? s->free_at[i] : s->t->last;
}

const struct trace_event *trace_sim_step(struct trace_sim *s, size_t *count,
					 struct trace_truth *truth)
{
	uint16_t region = s->parts[TRACE_STEP] + 1;
	uint64_t seq = s->seq;
	struct trace_event *ev;

	s->t = truth;
	s->count = 0;
	s->step++;
	s->length = (uint8_t)gen_below(&s->random, TRACE_LENGTHS);
	if (truth && !truth->first)
		truth->first = s->threads[0].now;
	ev = push(s, TRACE_CAT_REGION, 0, s->threads[0].now, region);
	ev->id = ++s->external;
	ev->number = (uint32_t)s->step;
	s->threads[0].now += STEP_FRAME;
	forward(s);
	backward(s);
	assert(s->grad_seq == seq); /* each flow arrow that begins also ends */
	optimize(s);
	close_to(s, &s->threads[0], 0);
	end_step(s, region);
	gpu_region(s, region);
	if (truth)
		count_step(s);
	*count = s->count;
	return s->events;
}

struct trace_sim *trace_sim_new(const struct trace_options *o, uint32_t rank)
{
	struct trace_sim *s = calloc(1, sizeof(*s));
	unsigned int part = 0;

	if (!s)
		return NULL;
	assert(trace_node_count < TRACE_NODES_MAX);
	for (uint16_t i = 0; i < trace_node_count; i++)
		if (trace_nodes[i].kind == TRACE_PART)
			s->parts[part++] = i;
	assert(part == TRACE_PARTS);
	s->parts[TRACE_PARTS] = (uint16_t)trace_node_count;
	s->o = o;
	/* Mixes twice, so that neither consecutive seeds nor consecutive ranks share random
	 * numbers. */
	s->random.state = o->seed;
	s->random.state = gen_next(&s->random) + rank;
	s->random.state = gen_next(&s->random);
	s->threads[0].now = BEGIN + gen_below(&s->random, 1000000);
	s->corr = 1000;
	while (trace_roots[s->python])
		s->python++;
	return s;
}

void trace_sim_free(struct trace_sim *s)
{
	if (s)
		free(s->events);
	free(s);
}
