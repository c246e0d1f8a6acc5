/* test_cupti_graphs.c - captures, nodes and graphs, on a fake CUPTI. */
#include "unit/agent_run.h"

#include <pasta/annotate.h>

#include "handlers/cupti/cupti.h"
#include "process/join/correlate.h"

const struct pasta_annotate_ops *pasta_annotate_attach(void);

/* -- The fake CUPTI -- */

enum { LAUNCH = 1, GRAPH_LAUNCH, BEGIN_CAPTURE, END_CAPTURE, INSTANTIATE, ADD_COPY, COPY, NAMES };
static const char *const names[NAMES] = {
	[LAUNCH] = "cuLaunchKernel",
	[GRAPH_LAUNCH] = "cuGraphLaunch",
	[BEGIN_CAPTURE] = "cuStreamBeginCapture_v2",
	[END_CAPTURE] = "cuStreamEndCapture",
	[INSTANTIATE] = "cuGraphInstantiateWithFlags",
	[ADD_COPY] = "cuGraphAddMemcpyNode",
	[COPY] = "cuMemcpyHtoDAsync_v2",
};
static cupti_callback callback;
static bool enabled[4][64];
static uint32_t correlation;

static int get_name(int domain, uint32_t id, const char **name)
{
	*name = domain == CUPTI_DRIVER_API && id < NAMES ? names[id] : NULL;
	return *name ? CUPTI_OK : 1;
}

static int subscribe(cupti_subscriber *s, cupti_callback call, void *user)
{
	(void)s;
	(void)user;
	callback = call;
	return CUPTI_OK;
}

static int enable(uint32_t on, cupti_subscriber s, int domain, uint32_t id)
{
	(void)s;
	enabled[domain][id] = on;
	return CUPTI_OK;
}

/* A handle is the number itself. */
static int node_id(void *node, uint64_t *id)
{
	*id = (uintptr_t)node;
	return CUPTI_OK;
}

static int graph_id(void *graph, uint32_t *id)
{
	*id = (uint32_t)(uintptr_t)graph;
	return CUPTI_OK;
}

static void start(void)
{
	cupti.GetCallbackName = get_name;
	cupti.Subscribe = subscribe;
	cupti.EnableCallback = enable;
	cupti.GetGraphNodeId = node_id;
	cupti.GetGraphExecId = graph_id;
	if (cupti_callbacks_start() != CUPTI_OK)
		_exit(98);
}

static void report_node(uint32_t id, uintptr_t graph, uintptr_t node, uintptr_t original)
{
	struct cupti_graph g = {
		.graph = (void *)graph, .node = (void *)node, .original_node = (void *)original};
	struct cupti_resource_data data = {.descriptor = &g};

	if (enabled[CUPTI_RESOURCE][id])
		callback(NULL, CUPTI_RESOURCE, id, &data);
}

static void created(uintptr_t graph, uintptr_t node)
{
	report_node(CUPTI_GRAPHNODE_CREATED, graph, node, 0);
}

static void cloned(uintptr_t graph, uintptr_t node, uintptr_t original)
{
	report_node(CUPTI_GRAPHNODE_CLONED, graph, node, original);
}

/* A driver call: it begins, runs inside(), and ends with a status. */
static void call_(uint32_t id, const char *symbol, void *param, int status, void (*inside)(void))
{
	struct cupti_call call = {.function = names[id],
				  .params = &param,
				  .symbol = symbol,
				  .correlation = correlation + 1};

	correlation++;
	if (enabled[CUPTI_DRIVER_API][id])
		callback(NULL, CUPTI_DRIVER_API, id, &call);
	if (inside)
		inside();
	call.site = 1;
	call.ret = &status;
	if (enabled[CUPTI_DRIVER_API][id])
		callback(NULL, CUPTI_DRIVER_API, id, &call);
}

static void call(uint32_t id, const char *symbol)
{
	call_(id, symbol, NULL, 0, NULL);
}

/* -- What was recorded -- */

static size_t put(char *text, size_t size, const struct pasta_event *ev)
{
	if (ev->kind == PASTA_KIND_LAUNCH)
		return (size_t)snprintf(text, size, "L%llu:%s/%llu/%u ",
					(unsigned long long)ev->launch.corr,
					pasta_str(ev->launch.name),
					(unsigned long long)ev->launch.graph, ev->launch.flags);
	if (ev->kind == PASTA_KIND_GRAPH)
		return (size_t)snprintf(text, size, "N%llu.%llu<%llu:%s ",
					(unsigned long long)ev->graph.graph,
					(unsigned long long)ev->graph.node,
					(unsigned long long)ev->graph.original,
					pasta_str(ev->graph.name));
	return 0;
}

static const char *recorded(void)
{
	static char text[2048];
	struct pasta_stream *s = open_run(NULL);
	const struct pasta_event *ev;
	size_t at = 0;

	text[0] = '\0';
	while ((ev = pasta_stream_next(s)) && at < sizeof(text))
		at += put(text + at, sizeof(text) - at, ev);
	pasta_stream_free(s);
	return text;
}

/* -- Captures -- */

static void first_node(void)
{
	created(1, 11);
}

static void copy_node(void)
{
	created(1, 12);
}

static void capture(void)
{
	start();
	call(LAUNCH, "before");
	call(BEGIN_CAPTURE, NULL);
	call_(LAUNCH, "node", NULL, 0, first_node);
	call_(COPY, (const char *)1, NULL, 0, copy_node); /* symbol is undefined for copies */
	call(LAUNCH, "eager"); /* into another stream, during the capture */
	call_(LAUNCH, "failed", NULL, 1, NULL);
	call(END_CAPTURE, NULL);
	call(LAUNCH, "after");
	pasta_agent_close();
}

static void a_launch_that_becomes_a_node_is_not_recorded(void **state)
{
	(void)state;
	assert_int_equal(in_child(capture), 0);
	assert_string_equal(recorded(),
			    "L1:before/0/2 N1.11<0:node N1.12<0: L5:eager/0/2 L8:after/0/2 ");
}

static void bad_captures(void)
{
	start();
	call_(BEGIN_CAPTURE, NULL, NULL, 1, NULL); /* the capture did not begin */
	if (cupti_hot.captures)
		_exit(1);
	call(BEGIN_CAPTURE, NULL);
	call_(END_CAPTURE, NULL, NULL, 1, NULL); /* the stream is not under capture */
	if (cupti_hot.captures != 1)
		_exit(2);
	call_(END_CAPTURE, NULL, NULL, 901, NULL); /* the capture was invalidated, and is over */
	if (cupti_hot.captures)
		_exit(3);
	call(END_CAPTURE, NULL);
	if (cupti_hot.captures)
		_exit(4);
}

static void captures_are_counted_by_the_status_of_their_calls(void **state)
{
	(void)state;
	assert_int_equal(in_child(bad_captures), 0);
}

static void other_calls(void)
{
	start();
	call(ADD_COPY, NULL);
	call(COPY, NULL);
	pasta_agent_close();
}

static void adding_a_copy_node_is_not_a_copy(void **state)
{
	(void)state;
	assert_int_equal(in_child(other_calls), 0);
	assert_string_equal(recorded(), "L2:/0/3 ");
}

static void stopped(void)
{
	start();
	pasta_agent_set_active(false);
	call(BEGIN_CAPTURE, NULL);
	call_(LAUNCH, "node", NULL, 0, first_node);
	call(LAUNCH, "eager");
	call(END_CAPTURE, NULL);
	pasta_agent_close();
}

static void nodes_are_state_and_recorded_while_stopped(void **state)
{
	(void)state;
	assert_int_equal(in_child(stopped), 0);
	assert_string_equal(recorded(), "N1.11<0:node ");
}

/* -- Graphs -- */

/* CUPTI may report a clone before or after its creation: test both. */
static void clones(void)
{
	created(2, 21);
	cloned(2, 21, 11);
	cloned(2, 22, 12);
	created(2, 22);
}

static void second_node(void)
{
	created(1, 12);
}

static void kernel_of(uint64_t node)
{
	struct pasta_port *port = pasta_port_open(0);
	struct pasta_event ev;

	pasta_event_init(&ev, PASTA_KIND_KERNEL, 0, PASTA_EVENT_SIZE(kernel));
	ev.time = pasta_now();
	ev.kernel.corr = correlation;
	ev.kernel.node = node;
	pasta_port_push(port, &ev, ev.size);
}

static void replay(void)
{
	const struct pasta_annotate_ops *ops = pasta_annotate_attach();

	start();
	ops->region_begin("capture");
	call(BEGIN_CAPTURE, NULL);
	call_(LAUNCH, "k1", NULL, 0, first_node);
	call_(LAUNCH, "k2", NULL, 0, second_node);
	call(END_CAPTURE, NULL);
	ops->region_end();
	ops->region_begin("replay");
	call_(INSTANTIATE, NULL, NULL, 0, clones);
	call_(GRAPH_LAUNCH, NULL, (void *)2, 0, NULL);
	kernel_of(21);
	kernel_of(22);
	ops->region_end();
	pasta_agent_close();
}

static void a_graphs_kernels_belong_to_its_launch_and_to_the_scope_of_their_capture(void **state)
{
	struct pasta_correlate *c = pasta_correlate_new(false);
	const struct pasta_where *where = NULL;
	struct pasta_stream *s;
	const struct pasta_event *ev;
	unsigned int kernels = 0;

	(void)state;
	assert_int_equal(in_child(replay), 0);
	assert_string_equal(recorded(), "N1.11<0:k1 N1.12<0:k2 N2.21<11: N2.22<12: L6:/2/2 ");
	s = open_run(NULL);
	while ((ev = pasta_stream_next(s))) {
		bool now = pasta_correlate_push(c, ev, &where);

		while (!now && pasta_correlate_next(c, &where))
			;
		if (ev->kind != PASTA_KIND_KERNEL)
			continue;
		assert_true(now); /* the launch has a record */
		assert_string_equal(pasta_str(where->capture->name), "capture");
		assert_string_equal(pasta_str(where->scope->name), "replay");
		assert_int_equal(where->flags, PASTA_WHERE_LAUNCH);
		kernels++;
	}
	assert_int_equal(kernels, 2);
	pasta_stream_free(s);
	pasta_correlate_free(c);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_run, remove_run)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_launch_that_becomes_a_node_is_not_recorded),
		CASE(captures_are_counted_by_the_status_of_their_calls),
		CASE(adding_a_copy_node_is_not_a_copy),
		CASE(nodes_are_state_and_recorded_while_stopped),
		CASE(a_graphs_kernels_belong_to_its_launch_and_to_the_scope_of_their_capture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
