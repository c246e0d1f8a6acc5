/*
 * graph.c - records the nodes of CUDA graphs, and recognizes launches that become graph nodes
 * instead of running.
 *
 * A launch into a stream that is being captured looks like any other launch, but no kernel runs.
 * CUPTI reports the new node within the launching call, on the same thread. So the handler holds
 * back the record of such a launch until the call ends, and discards the record if a node was
 * created. Launches are held back only while a stream capture is under way in the process; the
 * handler counts the calls that begin and end captures. Reading this count costs an ordinary launch
 * one load, while querying the driver for the state of the stream would cost a call.
 */
#include "handlers/cupti/cupti.h"

/* CUDA_ERROR_STREAM_CAPTURE_INVALIDATED in cuda.h: the stream capture has ended without a graph. */
enum { CU_CAPTURE_INVALIDATED = 901 };

static _Thread_local struct {
	const char *symbol; /* name of the kernel whose launch record is held back */
	uint64_t begin;	    /* the launch's time; 0: the launch is not recorded */
	uint64_t clone;	    /* the last cloned node */
	/* `node`: the call has created a node; `cloning`: the thread is in a call that clones nodes
	 */
	bool node, cloning;
} thread;

/* -- Captures -- */

static int graph_status(const struct cupti_call *call)
{
	return call->ret ? *(const int *)call->ret : 0;
}

/* The count of captures is decremented only if a capture has certainly ended. If the count is too
 * high, launch records are only delayed. If the count is too low, launches that become graph nodes
 * are wrongly recorded as launches. */
void cupti_graph_capture(const struct cupti_call *call, bool begins)
{
	uint32_t n = atomic_load(&cupti_hot.captures);
	int status;

	if (!call->site)
		return;
	status = graph_status(call);
	if (begins && !status) {
		atomic_store(&cupti_hot.has_captured, true);
		atomic_fetch_add(&cupti_hot.captures, 1);
	} else if (!begins && (!status || status == CU_CAPTURE_INVALIDATED)) {
		while (n && !atomic_compare_exchange_weak(&cupti_hot.captures, &n, n - 1))
			;
	}
}

void cupti_graph_hold(const char *symbol, uint64_t begin)
{
	thread.symbol = symbol;
	thread.begin = begin;
	thread.node = false;
}

uint64_t cupti_graph_release(const struct cupti_call *call)
{
	uint64_t begin = thread.begin;

	if (begin && (thread.node || graph_status(call)))
		begin = 0;
	thread.symbol = NULL;
	thread.begin = 0;
	return begin;
}

/* -- Nodes -- */

void cupti_graph_clones(const struct cupti_call *call)
{
	thread.cloning = !call->site;
}

static uint64_t graph_node_id(void *node)
{
	uint64_t id = 0;

	return node && cupti.GetGraphNodeId && cupti.GetGraphNodeId(node, &id) == CUPTI_OK ? id : 0;
}

static uint64_t graph_handle(const void *of)
{
	return (uint64_t)(uintptr_t)of;
}

static void graph_emit_node(const struct cupti_graph *g, uint64_t node)
{
	struct pasta_event ev;

	pasta_event_init(&ev, PASTA_KIND_GRAPH, 0, PASTA_EVENT_SIZE(graph));
	ev.graph.graph = graph_handle(g->graph);
	ev.graph.node = node;
	ev.graph.original = graph_handle(g->original_node);
	if (thread.symbol)
		ev.graph.name = pasta_intern_str(thread.symbol);
	ev.time = pasta_now();
	pasta_emit(&ev);
}

/*
 * Emits a record of a new graph node. CUPTI also reports each cloned node as created, before or
 * after it reports the cloning. This function skips cloned nodes, because the scope in which a node
 * is cloned does not matter. A node is identified by its handle until it is part of an executable
 * graph. Kernels of an executable graph carry CUPTI's number of the node.
 */
void cupti_graph_created(const struct cupti_resource_data *data)
{
	const struct cupti_graph *g = data->descriptor;

	thread.node = true;
	if (!g || !g->node || thread.cloning || !pasta_agent_records(PASTA_KIND_GRAPH) ||
	    graph_handle(g->node) == thread.clone)
		return;
	graph_emit_node(&(struct cupti_graph){.graph = g->graph, .node = g->node},
			graph_handle(g->node));
}

void cupti_graph_cloned(const struct cupti_resource_data *data)
{
	const struct cupti_graph *g = data->descriptor;
	uint64_t id;

	if (!g || !g->node || !g->original_node || !pasta_agent_records(PASTA_KIND_GRAPH))
		return;
	thread.clone = graph_handle(g->node);
	/* emit a second record with the node's handle, because a clone may be cloned again */
	graph_emit_node(g, thread.clone);
	id = graph_node_id(g->node);
	if (id && id != thread.clone)
		graph_emit_node(g, id);
}

/* Any number other than 0 marks a launch as a graph launch. If CUPTI has no number for the graph,
 * the graph's handle is used. */
uint64_t cupti_graph_launched(const struct cupti_call *call)
{
	void *exec = call->params ? *(void *const *)call->params : NULL;
	uint32_t id = 0;

	if (exec && cupti.GetGraphExecId && cupti.GetGraphExecId(exec, &id) == CUPTI_OK && id)
		return id;
	return (uint64_t)(uintptr_t)exec;
}
