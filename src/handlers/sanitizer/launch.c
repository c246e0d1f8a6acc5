/* launch.c - emits a record for each launch, decides which launches are counted, and prepares their
 * slots. */
#include <stdio.h>
#include <string.h>

#include "collect/stack.h"
#include "core/lock.h"
#include "handlers/sanitizer/calls.h"
#include "handlers/sanitizer/completion.h"
#include "handlers/sanitizer/contexts.h"
#include "handlers/sanitizer/launch.h"
#include "handlers/sanitizer/modules.h"
#include "handlers/sanitizer/rings.h"
#include "handlers/sanitizer/sites.h"
#include "handlers/sanitizer/slots.h"

/* A launch that a thread of the program is making. */
struct work {
	const struct san_launch_data *data;
	struct san_context *context;
	struct san_stream *stream;
	struct san_module *module;
	/* the function's mangled name, and its name in the launch record */
	const char *symbol, *kernel;
	void *handle; /* the stream on which the slot is initialized */
	uint64_t corr, time;
	struct san_function function;
	bool node;	/* the launch is a node of a graph */
	uint64_t graph; /* a hash of the graph's handle */
};

static _Atomic uint64_t correlations;
/* The slots of the launch or graph that this thread is submitting to a device. */
static _Thread_local struct san_slot *begun;
/* The graph that this thread launches. All of its nodes share one slot. */
static _Thread_local struct {
	bool begun, chosen;
	struct san_slot *slot;
} in_graph;

static void launch_emit(const struct work *w, void *graph)
{
	struct pasta_event ev;

	if (!pasta_agent_records(PASTA_KIND_LAUNCH))
		return;
	pasta_event_init(&ev, PASTA_KIND_LAUNCH, 0, PASTA_EVENT_SIZE(launch));
	ev.launch.corr = w->corr;
	ev.launch.graph = (uintptr_t)graph;
	ev.launch.name = w->function.name;
	ev.launch.stack = pasta_stack_capture();
	ev.launch.python = pasta_stack_python();
	ev.launch.context = w->context->number;
	ev.launch.stream = w->stream->number;
	ev.launch.device = w->context->device;
	ev.launch.flags = PASTA_KIND_KERNEL;
	ev.launch.work = graph ? PASTA_LAUNCH_WORK_GRAPH : PASTA_LAUNCH_WORK_KERNEL;
	ev.time = w->time;
	pasta_emit(&ev);
}

/* -- Counting -- */

/* Returns the address of the function's code, or 0 if the address is unknown. */
static uint64_t launch_learn_code(const struct work *w, struct san_module *m)
{
	uint64_t pc = 0, size = 0;

	if (SAN_CALL(GetFunctionPcAndSize, w->data->module, w->symbol, &pc, &size) != SAN_OK)
		return 0;
	san_code(m, w->symbol, pc, size);
	return pc;
}

static void launch_name_slot(struct san_slot *s, const struct work *w)
{
	const uint32_t *grid = w->data->grid;

	s->stream = w->stream;
	s->lane = w->stream->number % SAN_LANES;
	s->module = w->module;
	s->blocks = w->node ? 0 : (uint64_t)grid[0] * grid[1] * grid[2];
	s->handle = w->node && w->data->api_handle ? w->data->api_handle : w->handle;
	s->pc = launch_learn_code(w, w->module);
}

static uint32_t launch_threads(const struct work *w)
{
	const uint32_t *block = w->data->block;

	return block[0] * block[1] * block[2];
}

static const char *launch_fill_slot(const struct work *w, struct san_slot *s)
{
	const char *why;

	launch_name_slot(s, w);
	s->threads = launch_threads(w);
	why = san_ring_begin(s, s->threads);
	if (!why && (san_slot_fill(s, s->handle) != SAN_OK ||
		     SAN_CALL(SetLaunchCallbackData, w->data->launch, w->data->function, w->handle,
			      s->memory) != SAN_OK))
		why = "cannot initialize the launch's counters in device memory";
	return why;
}

static void launch_release_slot(struct san_slot *s)
{
	san_ring_cancel(s);
	pasta_lock(&san.lock);
	san_slot_release(s);
	pasta_unlock(&san.lock);
}

/* Counts the tensors that the kernel's arguments describe, because patches cannot count tensor
 * copies. */
static void launch_add_tensors(const struct work *w, const struct pasta_version *version,
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

static const char *launch_acquire_slot(struct work *w, struct pasta_accesses_launch *launch)
{
	const struct pasta_version *version = pasta_accesses_pin(launch);
	const char *why = "out of memory";
	struct san_slot *s;

	if (!version)
		return why;
	s = san_slot_acquire(w->context, version, &why);
	if (!s)
		return why;
	s->launch = launch;
	pasta_accesses_compare(launch, w->kernel);
	launch_add_tensors(w, version, launch);
	san_coverage(w->module, w->data->function, w->symbol);
	why = launch_fill_slot(w, s);
	if (why) {
		launch_release_slot(s);
		return why;
	}
	san_completion_begin(s);
	w->module = NULL; /* the slot owns the module's reference now */
	s->next = begun;
	begun = s;
	return NULL;
}

/* Prepares the launch to be counted. Returns NULL, or a static string that explains why the launch
 * cannot be counted. */
static const char *launch_count(struct work *w, uint64_t shape)
{
	struct pasta_accesses_launch *launch;
	const char *why;

	if (w->context->broken)
		return "an earlier kernel of the same CUDA context failed";
	if (w->node && atomic_load(&san.device_graphs))
		return "the launch belongs to a CUDA graph, and the program may launch graphs "
		       "from the device";
	if (!san.reducers && !san_ring_enabled())
		return "none of the reducers that the tools need runs on a device";
	why = san_module_count(w->module);
	if (why) {
		if (!w->module->refused)
			pasta_accesses_unchoose(shape);
		return why;
	}
	launch = pasta_accesses_begin(w->corr, w->function.name, pasta_agent_tid(), NULL);
	if (!launch)
		return "too many launches are in progress, or out of memory";
	why = launch_acquire_slot(w, launch);
	if (why)
		pasta_accesses_cancel(launch);
	return why;
}

/* Passes NULL instead of a slot to the patches, so that the patches do not count the launch. The
 * call is necessary even if the module is not patched, because another thread may be patching the
 * module. */
static void launch_exclude(const struct work *w)
{
	SAN_CALL(SetLaunchCallbackData, w->data->launch, w->data->function, w->handle, NULL);
}

static void launch_choose(struct work *w)
{
	uint64_t shape =
		pasta_accesses_shape(w->function.kernel, w->data->grid, w->data->block) ^ w->graph;
	enum pasta_access_launch_sub what = pasta_accesses_choose(w->kernel, shape);
	const uint32_t *grid = w->data->grid;
	uint64_t blocks = w->node ? 0 : (uint64_t)grid[0] * grid[1] * grid[2];
	const char *why = NULL;

	if (what == PASTA_ACCESS_LAUNCH_COUNTED) {
		why = launch_count(w, shape);
		if (why) {
			what = PASTA_ACCESS_LAUNCH_REFUSED;
			launch_exclude(w);
		}
	} else {
		san_module_skip(w->module);
		launch_exclude(w);
	}
	pasta_accesses_registered(w->corr, w->time, shape, what, w->function.name,
				  why ? pasta_intern_str(why) : 0, pasta_accesses_one_in(blocks));
}

/* Stores the kernel's name. Not called for a graph, whose name differs from its kernel's name. */
static void launch_name(struct work *w)
{
	struct san_function *f = &w->function;

	if (f->name)
		return;
	f->name = pasta_intern_str(w->kernel);
	f->kernel = pasta_accesses_kernel(w->kernel, w->module->identity);
	if (f->name && w->kernel == w->data->name)
		san_module_named(w->module, w->data->function, f->name, f->kernel);
}

static void launch_process(struct work *w, void *graph)
{
	bool active = pasta_agent_active();

	if (active) {
		w->corr = atomic_fetch_add(&correlations, 1) + 1;
		w->time = pasta_now();
		launch_name(w);
		launch_emit(w, graph);
		launch_choose(w);
	} else {
		san_module_skip(w->module);
		launch_exclude(w);
	}
}

/* Looks up the context, stream and module of a launch. Returns false if out of memory. */
static bool launch_resolve(struct work *w, const struct san_launch_data *d)
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

static void launch_unref(const struct work *w)
{
	if (w->module)
		san_module_put(w->module);
	san_stream_put(w->stream);
}

/* Drops the record of a launch when out of memory. The launch still needs callback data, because
 * its module may be patched. */
static void launch_drop(const struct work *w)
{
	pasta_emit_loss(PASTA_LOSS_MEMORY, 1);
	launch_exclude(w);
}

/* -- Callbacks -- */

static void launch_queue_slots(void)
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

	if (!launch_resolve(&w, d)) {
		launch_drop(&w);
		launch_unref(&w);
		return;
	}
	launch_process(&w, NULL);
	launch_unref(&w);
}

/* A launch that failed has counted nothing. */
void san_launch_over(void)
{
	memset(&in_graph, 0, sizeof(in_graph));
	launch_queue_slots();
}

void san_launch_end(void)
{
	if (!in_graph.begun)
		launch_queue_slots();
}

/* The first kernel node that the library reports represents the whole graph. */
static void graph_first_node(struct work *w, void *which)
{
	struct san_slot *others = begun;
	char graph[512];

	snprintf(graph, sizeof(graph), "graph: %s", w->symbol);
	w->kernel = graph;
	w->function.name = 0;
	w->graph = (uintptr_t)which * UINT64_C(0x9e3779b97f4a7c15);
	launch_process(w, which);
	w->kernel = w->symbol;
	in_graph.slot = begun != others ? begun : NULL;
	in_graph.chosen = true;
}

/* A graph's kernel on another device cannot write to the graph's slot. */
static void graph_check_device(const struct work *w)
{
	if (!in_graph.slot || in_graph.slot->context == w->context)
		return;
	pasta_accesses_dropped(in_graph.slot->launch, 1);
	in_graph.slot = NULL;
}

static void graph_learn_node(const struct work *w)
{
	struct san_module *first = in_graph.slot->module;

	launch_learn_code(w, w->module);
	if (first == w->module)
		return;
	launch_learn_code(w, first);
	pasta_lock(&san.lock);
	first->foreign = true;
	pasta_unlock(&san.lock);
}

static void graph_next_node(const struct work *w)
{
	graph_check_device(w);
	if (!in_graph.slot) {
		san_module_skip(w->module);
		launch_exclude(w);
		return;
	}
	if (san_module_count(w->module)) /* this node is not counted, but a later launch of its
					    module may be */
		pasta_accesses_dropped(in_graph.slot->launch, 1);
	/* The ring has the thread-block size of the graph's first kernel. For a kernel with another
	 * size, the number of threads in a warp is unknown. */
	if (launch_threads(w) != in_graph.slot->threads)
		pasta_accesses_partial(in_graph.slot->launch);
	graph_learn_node(w);
	san_coverage(w->module, w->data->function, w->symbol);
	SAN_CALL(SetLaunchCallbackData, w->data->launch, w->data->function, w->handle,
		 in_graph.slot->memory);
}

/* A kernel can launch an uploaded graph later, and such a launch has no callback. */
static void graph_upload(const struct san_launch_data *d)
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
		graph_upload(&d->launch);
		return;
	}
	if (!launch_resolve(&w, &d->launch)) {
		launch_drop(&w);
		launch_unref(&w);
		return;
	}
	if (in_graph.chosen)
		graph_next_node(&w);
	else
		graph_first_node(&w, d->graph);
	launch_unref(&w);
}

void san_graph_begin(const struct san_graph_data *d)
{
	if (d->upload)
		return;
	launch_queue_slots();
	memset(&in_graph, 0, sizeof(in_graph));
	in_graph.begun = true;
}

void san_graph_end(const struct san_graph_data *d)
{
	if (d->upload)
		return;
	memset(&in_graph, 0, sizeof(in_graph));
	launch_queue_slots();
}
