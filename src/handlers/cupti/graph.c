/*
 * graph.c - device graphs: their nodes, and launches that run nothing but become a node.
 *
 * A launch into a stream that is captured is seen as any other, and no kernel follows. CUPTI tells
 * of the new node within that call, on its thread: such a launch is held back until the call ends,
 * and given up if there was a node. Held back only while anything in the process is captured, which
 * calls that begin and end captures tell: an ordinary launch costs one load more, whereas asking
 * the driver about its stream would be a call each.
 */
#include "handlers/cupti/cupti.h"

/* As cuda.h has it: the capture is over, though there is no graph of it. */
enum { CU_CAPTURE_INVALIDATED = 901 };

static _Thread_local struct {
	const char *symbol; /* of the kernel whose launch is held back */
	uint64_t begin;	    /* of it; 0: it is not recorded */
	uint64_t clone;	    /* the last */
	bool node, cloning;
} here;

/* -- Captures -- */

static int status_of(const struct cupti_call *call)
{
	return call->ret ? *(const int *)call->ret : 0;
}

/* One too many only holds launches back for longer; one too few would count nodes as launches. */
void cupti_graph_capture(const struct cupti_call *call, bool begins)
{
	uint32_t n = atomic_load(&cupti_hot.captures);
	int status;

	if (!call->site)
		return;
	status = status_of(call);
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
	here.symbol = symbol;
	here.begin = begin;
	here.node = false;
}

uint64_t cupti_graph_release(const struct cupti_call *call)
{
	uint64_t begin = here.begin;

	if (begin && (here.node || status_of(call)))
		begin = 0;
	here.symbol = NULL;
	here.begin = 0;
	return begin;
}

/* -- Nodes -- */

void cupti_graph_clones(const struct cupti_call *call)
{
	here.cloning = !call->site;
}

static uint64_t node_id(void *node)
{
	uint64_t id = 0;

	return node && cupti.GetGraphNodeId && cupti.GetGraphNodeId(node, &id) == CUPTI_OK ? id : 0;
}

/* A handle, as a number. */
static uint64_t handle(const void *of)
{
	return (uint64_t)(uintptr_t)of;
}

static void node_event(const struct cupti_graph *g, uint64_t node)
{
	struct pasta_event ev;

	pasta_event_init(&ev, PASTA_KIND_GRAPH, 0, PASTA_EVENT_SIZE(graph));
	ev.graph.graph = handle(g->graph);
	ev.graph.node = node;
	ev.graph.original = handle(g->original_node);
	if (here.symbol)
		ev.graph.name = pasta_intern_str(here.symbol);
	ev.time = pasta_now();
	pasta_emit(&ev);
}

/*
 * Clones are told of as created, too, in no certain order: where they were cloned says nothing. A
 * node goes by its handle until it is part of an executable graph, where kernels know it by
 * CUPTI's number.
 */
void cupti_graph_created(const struct cupti_resource_data *data)
{
	const struct cupti_graph *g = data->descriptor;

	here.node = true;
	if (!g || !g->node || here.cloning || !pasta_agent_records(PASTA_KIND_GRAPH) ||
	    handle(g->node) == here.clone)
		return;
	node_event(&(struct cupti_graph){.graph = g->graph, .node = g->node}, handle(g->node));
}

void cupti_graph_cloned(const struct cupti_resource_data *data)
{
	const struct cupti_graph *g = data->descriptor;
	uint64_t id;

	if (!g || !g->node || !g->original_node || !pasta_agent_records(PASTA_KIND_GRAPH))
		return;
	here.clone = handle(g->node);
	node_event(g, here.clone); /* it may be cloned again */
	id = node_id(g->node);
	if (id && id != here.clone)
		node_event(g, id);
}

/* Its handle, where CUPTI has no number for it: any number says that it is a graph. */
uint64_t cupti_graph_launched(const struct cupti_call *call)
{
	void *exec = call->params ? *(void *const *)call->params : NULL;
	uint32_t id = 0;

	if (exec && cupti.GetGraphExecId && cupti.GetGraphExecId(exec, &id) == CUPTI_OK && id)
		return id;
	return (uint64_t)(uintptr_t)exec;
}
