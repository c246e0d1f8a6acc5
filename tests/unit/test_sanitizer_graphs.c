/* test_sanitizer_graphs.c - graphs, captures and modules that come and go, on a fake of the Compute
 * Sanitizer.
 * timeout: 120
 */
#include "unit/sanitizertest.h"

/* Reports a kernel node to the subscriber; returns where the kernel counts. */
static const void *report_node(void *graph, struct stream *on, const struct fake_kernel *k,
			       void *api)
{
	struct launch l = {NULL, false};
	struct san_node_data n = {.graph = graph, .type = SAN_NODE_KERNEL};

	n.launch = (struct san_launch_data){.context = on->context,
					    .stream = on,
					    .module = k->module,
					    .function = (void *)k->name,
					    .name = k->name,
					    .grid = {k->grid, 1, 1},
					    .block = {k->block, 1, 1},
					    .launch = &l,
					    .device = on->context->device,
					    .api_handle = api};
	fake_deliver(SAN_GRAPHS, SAN_NODE_LAUNCH_BEGIN, &n);
	assert_true(l.set);
	return l.data;
}

/* -- Graphs -- */

/* The graph's first kernel is on the first device. */
static void launch_on_two_devices(void)
{
	struct fake_access a = {0, 64, 1, 4, PASTA_ACCESS_LOAD};
	struct fake_kernel k[2];
	void *streams[2];
	struct san_graph_data g = {.graph = k};
	struct {
		void *graph, *stream;
	} arguments = {k, NULL};

	start();
	for (int i = 0; i < 2; i++) {
		void *context = fake_context(i);

		streams[i] = fake_stream(context);
		k[i] = (struct fake_kernel){
			fake_module(context), i ? "second" : "first", 1, 32, &a, 1, 0};
	}
	arguments.stream = g.stream = g.handle = streams[0];
	fake_deliver_api(SAN_GRAPH_LAUNCH, streams[0], &arguments, 0);
	fake_deliver(SAN_GRAPHS, SAN_GRAPH_LAUNCH_BEGIN, &g);
	assert_non_null(report_node(k, streams[0], &k[0], streams[0]));
	assert_null(report_node(k, streams[1], &k[1], streams[0]));
	assert_null(report_node(k, streams[0], &k[0],
				streams[0])); /* the last value is valid for all kernels */
	fake_deliver(SAN_GRAPHS, SAN_GRAPH_LAUNCH_END, &g);
	fake_deliver_api(SAN_GRAPH_LAUNCH, streams[0], &arguments, 1);
	end();
}

static void a_graph_of_two_devices_is_not_counted_but_reported(void **state)
{
	(void)state;
	run_and_read("0x2,launches=0", launch_on_two_devices);
	assert_int_equal(drop_records, 1);
	assert_int_equal(row_count, 0);
}

static void *end_all(void *arg)
{
	san_completion_end(NULL, NULL);
	return arg;
}

/* As if another thread calls exit. */
static void end_while_a_graph_is_launched(void)
{
	struct fake_access a = {0, 64, 1, 4, PASTA_ACCESS_LOAD};
	void *context, *stream, *module;
	struct fake_kernel k[2];
	struct san_graph_data g = {.graph = k};
	pthread_t thread;

	begin(&context, &stream, &module);
	for (uint32_t i = 0; i < 2; i++) /* of other blocks, which makes the launch partial */
		k[i] = (struct fake_kernel){module, i ? "second" : "first", 1, 32 << i, &a, 1, 0};
	fake_deliver(SAN_GRAPHS, SAN_GRAPH_LAUNCH_BEGIN, &g);
	report_node(k, stream, &k[0], stream);
	assert_int_equal(pthread_create(&thread, NULL, end_all, NULL), 0);
	pthread_join(thread, NULL);
	report_node(k, stream, &k[1], stream);
	fake_deliver(SAN_GRAPHS, SAN_GRAPH_LAUNCH_END, &g);
	end();
}

static void a_graph_that_is_about_to_be_launched_belongs_to_its_thread(void **state)
{
	(void)state;
	run_and_read("0x2,launches=0", end_while_a_graph_is_launched);
	assert_int_equal(refused, 0);
}

/* Unloads a module that is not the graph's first, and loads another one at its addresses. */
static void launch_code_at_old_addresses(void)
{
	void *context, *stream, *module, *other;
	struct fake_access a[2] = {{.addr = 64, .times = 1, .size = 4, .kind = PASTA_ACCESS_LOAD}};
	struct fake_kernel k[2];

	begin(&context, &stream, &module);
	other = fake_module(context);
	a[1] = a[0];
	a[0].pc = fake_pc(module);
	a[1].pc = fake_pc(other);
	k[0] = (struct fake_kernel){module, "first", 1, 32, &a[0], 1, 0};
	k[1] = (struct fake_kernel){other, "old", 1, 32, &a[1], 1, 0};
	fake_graph(stream, k, 2);
	fake_graph(stream, k, 2);
	fake_synchronize(stream);
	fake_module_unload(other);
	k[1] = (struct fake_kernel){fake_module(context), "new", 1, 32, &a[1], 1, 0};
	((struct module *)k[1].module)->pc = a[1].pc;
	fake_graph(stream, k, 2);
	end();
}

static void code_of_graphs_is_removed_with_its_module(void **state)
{
	uint32_t functions[4] = {0}; /* by number of launches: the first, old, new */

	(void)state;
	run_and_read("0x8,launches=0", launch_code_at_old_addresses);
	assert_int_equal(site_count, 3);
	for (size_t i = 0; i < site_count; i++) {
		uint64_t loads = sum(PASTA_REDUCER_SITE, sites[i].id).loads;

		assert_in_range(loads, 1, 3);
		functions[loads] = sites[i].function;
	}
	assert_true(functions[1] && functions[2] && functions[3]);
	assert_int_not_equal(functions[1], functions[2]);
	assert_int_not_equal(functions[2], functions[3]);
}

/* -- Captures -- */

static void launch_after_a_capture(void *context, void *stream, void *captured, bool goes)
{
	struct fake_access a = {0, 64, 1, 4, PASTA_ACCESS_LOAD};
	void *module = fake_module(context);

	fake_deliver_api(SAN_CAPTURE, captured, &captured, 0);
	fake_deliver_api(SAN_CAPTURE, captured, &captured, 1);
	if (goes)
		fake_stream_destroy(captured);
	for (int i = 0; i < 500; i++)
		launch_one(stream, module, &a, 1);
	assert_int_equal(fake_unpatched(), goes);
}

/* The program does not end the capture, but destroys its stream. */
static void abandon_a_capture(void)
{
	void *context, *stream;

	start();
	context = fake_context(0);
	stream = fake_stream(context);
	launch_after_a_capture(context, stream, fake_stream(context), true);
	end();
}

static void capture_on_and_on(void)
{
	void *context, *stream;

	start();
	context = fake_context(0);
	stream = fake_stream(context);
	launch_after_a_capture(context, stream, fake_stream(context), false);
	end();
}

static void modules_do_not_change_during_a_capture(void **state)
{
	(void)state;
	run_and_read("0x2,launches=1", capture_on_and_on);
}

static void a_capture_ends_with_its_stream(void **state)
{
	(void)state;
	run_and_read("0x2,launches=1", abandon_a_capture);
}

/* -- Modules -- */

enum { CUBIN = 5 << 20 };

static struct {
	struct module module;
	char *cubin;
	atomic_bool is_loaded;
} late;

static void *load(void *context)
{
	struct san_module_data data = {context, &late.module, CUBIN, late.cubin, NULL};

	fake_deliver(SAN_RESOURCE, SAN_MODULE_LOADED, &data);
	atomic_store(&late.is_loaded, true);
	return NULL;
}

/* While other threads launch new functions. */
static void load_one_that_launches(void)
{
	struct fake_access a = {0, 64, 1, 4, PASTA_ACCESS_LOAD};
	void *context, *stream, *module;
	static char names[1 << 16][12];
	pthread_t thread;

	begin(&context, &stream, &module);
	late.module.context = context;
	late.cubin = calloc(1, CUBIN);
	memcpy(late.cubin, "\177ELF", 4);
	memcpy(late.cubin + CUBIN - 40, "cudaLaunchDevice", 17);
	atomic_fetch_add(&san.unpatched,
			 1); /* as if a module without these functions were unpatched */
	assert_int_equal(pthread_create(&thread, NULL, load, context), 0);
	for (uint32_t i = 0; i < 1 << 16 && !atomic_load(&late.is_loaded); i++) {
		snprintf(names[i], sizeof(names[i]), "k%u", i);
		fake_launch(stream, &(struct fake_kernel){module, names[i], 1, 32, &a, 1, 0});
	}
	pthread_join(thread, NULL);
	assert_false(late.module.patched);
	free(late.cubin);
	end();
}

static void a_module_that_launches_kernels_is_never_patched(void **state)
{
	(void)state;
	run_and_read("0x2,launches=1", load_one_that_launches);
	assert_int_equal(refused, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_graph_of_two_devices_is_not_counted_but_reported),
		TEST(a_graph_that_is_about_to_be_launched_belongs_to_its_thread),
		TEST(code_of_graphs_is_removed_with_its_module),
		TEST(modules_do_not_change_during_a_capture),
		TEST(a_capture_ends_with_its_stream),
		TEST(a_module_that_launches_kernels_is_never_patched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
