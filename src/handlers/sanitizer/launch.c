/* launch.c - launches, on their threads: told, chosen, and given a slot to count in. */
#include <stdio.h>
#include <string.h>

#include "collect/stack.h"
#include "core/lock.h"
#include "handlers/sanitizer/sanitizer.h"

/* One that begins. */
struct work {
	const struct san_launch_data *data;
	struct san_context *context;
	struct san_stream *stream;
	struct san_module *module;
	const char *symbol, *kernel; /* the function's name, and the launch's */
	void *handle;		     /* of the stream that its slot is filled on */
	uint64_t corr, time;
	struct san_function function;
	bool node;	/* of a graph */
	uint64_t graph; /* a number of it */
};

static _Atomic uint64_t correlations;
/* Slots of the launch, or of the graph, that this thread is about to give to a device. */
static _Thread_local struct san_slot *begun;
/* Whose nodes are told of. All of them have one slot: the last one that a node was given is what
 * the others count in. */
static _Thread_local struct {
	bool begun, chosen;
	struct san_slot *slot;
} in_graph;

static void emit_launch(const struct work *w, void *graph)
{
	struct pasta_event ev;

	if (!pasta_agent_records(PASTA_KIND_LAUNCH))
		return;
	pasta_event_init(&ev, PASTA_KIND_LAUNCH, 0, PASTA_EVENT_SIZE(launch));
	ev.launch.corr = w->corr;
	ev.launch.graph = (uintptr_t)graph;
	ev.launch.name = w->function.name;
	ev.launch.stack = pasta_stack_capture();
	ev.launch.context = w->context->number;
	ev.launch.stream = w->stream->number;
	ev.launch.device = w->context->device;
	ev.launch.flags = PASTA_KIND_KERNEL;
	ev.launch.work = graph ? PASTA_LAUNCH_WORK_GRAPH : PASTA_LAUNCH_WORK_KERNEL;
	ev.time = w->time;
	pasta_emit(&ev);
}

/* -- Counting -- */

/* Where the function's code is; 0: that is not known. */
static uint64_t learn_code(const struct work *w, struct san_module *m)
{
	uint64_t pc = 0, size = 0;

	if (SAN_CALL(GetFunctionPcAndSize, w->data->module, w->symbol, &pc, &size) != SAN_OK)
		return 0;
	san_code(m, w->symbol, pc, size);
	return pc;
}

static void name_slot(struct san_slot *s, const struct work *w)
{
	const uint32_t *grid = w->data->grid;

	s->stream = w->stream;
	s->lane = w->stream->number % SAN_LANES;
	s->module = w->module;
	s->blocks = w->node ? 0 : (uint64_t)grid[0] * grid[1] * grid[2];
	s->handle = w->node && w->data->api_handle ? w->data->api_handle : w->handle;
	s->pc = learn_code(w, w->module);
}

static uint32_t threads_of(const struct work *w)
{
	const uint32_t *block = w->data->block;

	return block[0] * block[1] * block[2];
}

static const char *hand_over(const struct work *w, struct san_slot *s)
{
	const char *why;

	name_slot(s, w);
	s->threads = threads_of(w);
	why = san_ring_begin(s, s->threads);
	if (!why && (san_slot_fill(s, s->handle) != SAN_OK ||
		     SAN_CALL(SetLaunchCallbackData, w->data->launch, w->data->function, w->handle,
			      s->memory) != SAN_OK))
		why = "its device's memory cannot be written";
	return why;
}

static void give_back(struct san_slot *s)
{
	san_ring_cancel(s);
	pasta_lock(&san.lock);
	san_slot_release(s);
	pasta_unlock(&san.lock);
}

/* What tensor copies are about, where they can be: nobody sees the copies. */
static void tell_tensors(const struct work *w, const struct pasta_version *version,
			 struct pasta_accesses_launch *launch)
{
	struct pasta_tensormap maps[PASTA_TENSORMAPS];
	const struct pasta_cubin_function *f =
		w->module->cubin ? pasta_cubin_find(w->module->cubin, w->symbol) : NULL;
	size_t count;

	if (!(pasta_accesses_config.reducers & PASTA_REDUCER_MASK(TENSOR)) || w->node ||
	    (f && f->mix_known && !f->mix.tensor_copies &&
	     !pasta_cubin_called(w->module->cubin)->tensor_copies))
		return;
	count = san_call_tensors(f, maps);
	for (size_t i = 0; i < count; i++) {
		struct pasta_object_part at = pasta_version_find(version, maps[i].addr);
		struct pasta_row row = {.key0 = at.object, .loads = 1, .bytes = maps[i].bytes};

		if (at.object != PASTA_OBJECT_NONE && maps[i].last <= at.last)
			pasta_accesses_add(launch, PASTA_REDUCER_TENSOR, &row);
	}
}

static const char *take_slot(struct work *w, struct pasta_accesses_launch *launch)
{
	const struct pasta_version *version = pasta_accesses_pin(launch);
	const char *why = "there is no memory";
	struct san_slot *s;

	if (!version)
		return why;
	s = san_slot_acquire(w->context, version, &why);
	if (!s)
		return why;
	s->launch = launch;
	pasta_accesses_compare(launch, w->kernel);
	tell_tensors(w, version, launch);
	san_coverage(w->module, w->data->function, w->symbol);
	why = hand_over(w, s);
	if (why) {
		give_back(s);
		return why;
	}
	san_completion_begin(s);
	w->module = NULL; /* it is the slot's */
	s->next = begun;
	begun = s;
	return NULL;
}

/* NULL, or why it cannot be counted. */
static const char *count(struct work *w, uint64_t shape)
{
	struct pasta_accesses_launch *launch;
	const char *why;

	if (w->context->broken)
		return "a kernel of its context has failed";
	if (w->node && atomic_load(&san.device_graphs))
		return "kernels of the program may launch graphs, and those cannot be counted";
	if (!san.reducers && !san_ring_enabled())
		return "nothing of what is wanted is counted on devices";
	why = san_module_count(w->module);
	if (why) {
		if (!w->module->refused)
			pasta_accesses_unchoose(shape);
		return why;
	}
	launch = pasta_accesses_begin(w->corr, w->function.name, pasta_agent_tid(), NULL);
	if (!launch)
		return "too many launches are under way, or there is no memory";
	why = take_slot(w, launch);
	if (why)
		pasta_accesses_cancel(launch);
	return why;
}

/* Whether its module is patched or not: another thread may be at it. */
static void leave_out(const struct work *w)
{
	SAN_CALL(SetLaunchCallbackData, w->data->launch, w->data->function, w->handle, NULL);
}

static void choose(struct work *w)
{
	uint64_t shape =
		pasta_accesses_shape(w->function.kernel, w->data->grid, w->data->block) ^ w->graph;
	enum pasta_access_launch_sub what = pasta_accesses_choose(w->kernel, shape);
	const uint32_t *grid = w->data->grid;
	uint64_t blocks = w->node ? 0 : (uint64_t)grid[0] * grid[1] * grid[2];
	const char *why = NULL;

	if (what == PASTA_ACCESS_LAUNCH_COUNTED) {
		why = count(w, shape);
		if (why) {
			what = PASTA_ACCESS_LAUNCH_REFUSED;
			leave_out(w);
		}
	} else {
		san_module_pass(w->module);
		leave_out(w);
	}
	pasta_accesses_registered(w->corr, w->time, shape, what, w->function.name,
			    why ? pasta_intern_str(why) : 0, pasta_accesses_one_in(blocks));
}

/* A graph is not called as its kernel is. */
static void name(struct work *w)
{
	struct san_function *f = &w->function;

	if (f->name)
		return;
	f->name = pasta_intern_str(w->kernel);
	f->kernel = pasta_accesses_kernel(w->kernel, w->module->identity);
	if (f->name && w->kernel == w->data->name)
		san_module_named(w->module, w->data->function, f->name, f->kernel);
}

static void begin(struct work *w, void *graph)
{
	bool active = pasta_agent_active();

	if (active) {
		w->corr = atomic_fetch_add(&correlations, 1) + 1;
		w->time = pasta_now();
		name(w);
		emit_launch(w, graph);
		choose(w);
	} else {
		san_module_pass(w->module);
		leave_out(w);
	}
}

/* False: there is no memory. */
static bool know(struct work *w, const struct san_launch_data *d)
{
	void *handle = d->handle;

	w->data = d;
	w->symbol = w->kernel = d->name ? d->name : "(unknown)";
	w->context = san_context(d->context, d->device);
	if (!handle && w->node)
		handle = d->api_handle;
	else if (!handle && SAN_CALL(GetStreamHandle, d->context, d->stream, &handle) != SAN_OK)
		handle = NULL;
	w->handle = handle;
	if (!w->context)
		return false;
	w->stream = san_stream(w->context, w->node && d->api_handle ? d->api_handle : w->handle);
	w->module =
		w->stream ? san_module_get(w->context, d->module, d->function, &w->function) : NULL;
	if (w->module && !w->node && !san_entered.known)
		san_module_learn(w->module, san_entered.function);
	return w->module;
}

static void forget(const struct work *w)
{
	if (w->module)
		san_module_put(w->module);
	san_stream_put(w->stream);
}

/* It is patched, perhaps. */
static void forgo(const struct work *w)
{
	pasta_emit_loss(PASTA_LOSS_MEMORY, 1);
	leave_out(w);
}

/* -- What CUDA tells -- */

static void queue(void)
{
	struct san_slot *s = begun, *next;

	for (begun = NULL; s; s = next) {
		next = s->next;
		san_completion_queue(s);
	}
}

void san_launch_begin(const struct san_launch_data *d)
{
	struct work w = {0};

	if (!know(&w, d)) {
		forgo(&w);
		forget(&w);
		return;
	}
	begin(&w, NULL);
	forget(&w);
}

/* One that failed has counted nothing. */
void san_launch_over(void)
{
	memset(&in_graph, 0, sizeof(in_graph));
	queue();
}

void san_launch_end(void)
{
	if (!in_graph.begun)
		queue();
}

/* The first node that is told of stands for the graph. */
static void begin_graph(struct work *w, void *which)
{
	struct san_slot *others = begun;
	char graph[512];

	snprintf(graph, sizeof(graph), "graph: %s", w->symbol);
	w->kernel = graph;
	w->function.name = 0;
	w->graph = (uintptr_t)which * UINT64_C(0x9e3779b97f4a7c15);
	begin(w, which);
	w->kernel = w->symbol;
	in_graph.slot = begun != others ? begun : NULL;
	in_graph.chosen = true;
}

/* Another device cannot write to the slot. */
static void leave_graph(const struct work *w)
{
	if (!in_graph.slot || in_graph.slot->context == w->context)
		return;
	pasta_accesses_dropped(in_graph.slot->launch, 1);
	in_graph.slot = NULL;
}

static void learn_node(const struct work *w)
{
	struct san_module *first = in_graph.slot->module;

	learn_code(w, w->module);
	if (first == w->module)
		return;
	learn_code(w, first);
	pasta_lock(&san.lock);
	first->foreign = true;
	pasta_unlock(&san.lock);
}

static void go_on(const struct work *w)
{
	leave_graph(w);
	if (!in_graph.slot) {
		san_module_pass(w->module);
		leave_out(w);
		return;
	}
	if (san_module_count(w->module)) /* it is counted from the next time on, perhaps */
		pasta_accesses_dropped(in_graph.slot->launch, 1);
	/* From raw accesses alone nobody knows how many threads its warps have. */
	if (threads_of(w) != in_graph.slot->threads)
		pasta_accesses_partial(in_graph.slot->launch);
	learn_node(w);
	san_coverage(w->module, w->data->function, w->symbol);
	SAN_CALL(SetLaunchCallbackData, w->data->launch, w->data->function, w->handle,
		 in_graph.slot->memory);
}

/* It may be launched by a kernel, and then nobody is told; but only by one that was uploaded. */
static void upload(const struct san_launch_data *d)
{
	if (atomic_load(&san.device_graphs))
		SAN_CALL(SetLaunchCallbackData, d->launch, d->function,
			 d->handle ? d->handle : d->api_handle, NULL);
}

void san_node_begin(const struct san_node_data *d)
{
	struct work w = {.node = true};

	if (d->type != SAN_NODE_KERNEL)
		return;
	if (d->upload) {
		upload(&d->launch);
		return;
	}
	if (!know(&w, &d->launch)) {
		forgo(&w);
		forget(&w);
		return;
	}
	if (in_graph.chosen)
		go_on(&w);
	else
		begin_graph(&w, d->graph);
	forget(&w);
}

void san_graph_begin(const struct san_graph_data *d)
{
	if (d->upload)
		return;
	queue();
	memset(&in_graph, 0, sizeof(in_graph));
	in_graph.begun = true;
}

void san_graph_end(const struct san_graph_data *d)
{
	if (d->upload)
		return;
	memset(&in_graph, 0, sizeof(in_graph));
	queue();
}
