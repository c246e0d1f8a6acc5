/* test_sanitizer.c - the Compute Sanitizer's handler, without a GPU: rows, and streams of threads.
 * timeout: 120
 */
#include "collect/rawwriter.h"
#include "unit/sanitizertest.h"

enum { THREADS = 4, TURNS = 60, SITES_MANY = 20000 };

/* -- Rows -- */

static void use_one_object(void)
{
	void *context, *stream, *module;
	struct fake_access a[4] = {{0}};
	uint64_t addr;

	begin(&context, &stream, &module);
	addr = fake_alloc(context, 10000, 0);
	a[0] = (struct fake_access){fake_pc(module) + 16, addr, 32, 4, PASTA_ACCESS_LOAD};
	a[1] = (struct fake_access){fake_pc(module) + 32, addr + 8192, 8, 8, PASTA_ACCESS_ATOMIC};
	a[2] = (struct fake_access){fake_pc(module) + 48, addr + 9996, 2, 16, PASTA_ACCESS_STORE};
	a[3] = (struct fake_access){fake_pc(module) + 64, 64, 1, 1, PASTA_ACCESS_STORE};
	launch_one(stream, module, a, 4);
	end();
}

static void rows_of_all_tables_are_what_a_kernel_did(void **state)
{
	struct pasta_access_sum_record r;

	(void)state;
	run_and_read("0x9e,launches=0", use_one_object);
	r = sum(PASTA_REDUCER_OBJECT, object_of_size(10000));
	assert_int_equal(r.loads, 40);
	assert_int_equal(r.stores, 10);
	assert_int_equal(r.bytes, 32 * 4 + 8 * 16 + 2 * 16);
	assert_int_equal(r.extra, 2); /* accesses that reach beyond it */
	r = sum(PASTA_REDUCER_OBJECT, PASTA_OBJECT_NONE);
	assert_int_equal(r.stores, 1);
	assert_int_equal(sum(PASTA_REDUCER_PAGE, ANY).key0, 3);
	assert_int_equal(sum(PASTA_REDUCER_SITE, ANY).key0, 4);
	r = sum(PASTA_REDUCER_SITE_OBJECT, ANY);
	assert_int_equal(r.key0, 4);
	assert_int_equal(r.loads, 40);
	for (size_t i = 0; i < row_count; i++)
		assert_true(rows[i].reducer != PASTA_REDUCER_SITE_OBJECT ||
			    rows[i].key1 == PASTA_OBJECT_NONE ||
			    rows[i].key1 == object_of_size(10000));
	/* 100 to 103 ns. */
	r = sum(PASTA_REDUCER_BLOCK, 96);
	assert_int_equal(r.loads, 4);
	assert_int_equal(r.bytes, 406);
}

/* A copy instruction from shared memory to an object. */
static void use_a_copy(void)
{
	void *context, *stream, *module;
	struct fake_access a[3] = {{0}};

	begin(&context, &stream, &module);
	a[0] = (struct fake_access){fake_pc(module), 64, 5, 16,
				    PASTA_ACCESS_LOAD | PASTA_SPACE_LOCAL << 8};
	a[1] = (struct fake_access){fake_pc(module), fake_alloc(context, 4096, 0), 5, 16,
				    PASTA_ACCESS_STORE};
	a[2] = (struct fake_access){fake_pc(module) + 16, 64, 3, 4,
				    PASTA_ACCESS_ATOMIC | PASTA_SPACE_LOCAL << 8};
	launch_one(stream, module, a, 3);
	end();
}

static void a_site_has_its_kinds_and_its_space(void **state)
{
	(void)state;
	run_and_read("0x8,launches=0", use_a_copy);
	assert_int_equal(site_count, 2);
	assert_int_equal(sites[0].flags, PASTA_ACCESS_STORE);
	assert_int_equal(sites[1].flags, PASTA_ACCESS_ATOMIC | PASTA_SPACE_LOCAL << 8);
	assert_int_equal(row_count, 2);
	assert_int_equal(sum(PASTA_REDUCER_SITE, sites[0].id).loads, 5);
	assert_int_equal(sum(PASTA_REDUCER_SITE, sites[0].id).stores, 5);
	assert_int_equal(sum(PASTA_REDUCER_SITE, sites[1].id).loads, 3);
}

/* 4 blocks of two warps: three times at one barrier, and half of each warp at another. */
static void synchronise(void)
{
	void *context, *stream, *module;
	struct fake_access a[3] = {{0}};

	begin(&context, &stream, &module);
	a[0] = (struct fake_access){fake_pc(module), 64, 5, 16, PASTA_ACCESS_LOAD};
	a[1] = (struct fake_access){fake_pc(module) + 16, 0, 24, 32, PASTA_ACCESS_BARRIER};
	a[2] = (struct fake_access){fake_pc(module) + 32, 1, 8, 16, PASTA_ACCESS_BARRIER};
	launch_one(stream, module, a, 3);
	end();
}

static void must_be_arrivals(void)
{
	assert_int_equal(sum(PASTA_REDUCER_BARRIER, ANY).key0, 2);
	for (size_t i = 0; i < row_count; i++) {
		const struct pasta_access_sum_record *r = &rows[i];

		if (r->reducer != PASTA_REDUCER_BARRIER)
			continue;
		assert_in_range(r->key1, 0, 1);
		assert_int_equal(r->loads, r->key1 ? 8 : 24);
		assert_int_equal(r->stores, r->key1 ? 8 * 16 : 24 * 32);
		assert_int_equal(r->extra, 32 * r->loads);
		assert_int_equal(r->bytes, 0);
	}
}

static void barriers_are_counted_by_site_and_are_not_accesses(void **state)
{
	(void)state;
	run_and_read("0x402,launches=0", synchronise); /* also count by object */
	must_be_arrivals();
	assert_int_equal(row_count, 3);
	assert_int_equal(sum(PASTA_REDUCER_OBJECT, ANY).loads, 5);
	assert_int_equal(site_count, 2);
	assert_int_equal(sites[0].flags, PASTA_ACCESS_BARRIER);
	assert_int_equal(sites[1].flags, PASTA_ACCESS_BARRIER);
}

static void barriers_are_patched_only_if_a_tool_needs_them(void **state)
{
	(void)state;
	run_and_read("0xa,launches=0", synchronise);
	assert_int_equal(sum(PASTA_REDUCER_BARRIER, ANY).key0, 0);
	assert_int_equal(site_count, 1);
	assert_int_equal(refused, 0);
}

static void barriers_are_counted_on_devices_where_the_host_counts_accesses(void **state)
{
	(void)state;
	run_and_read("0x402,launches=0,host", synchronise);
	must_be_arrivals();
	assert_int_equal(row_count, 3);
	assert_int_equal(sum(PASTA_REDUCER_OBJECT, ANY).loads, 5);
}

/* Names end with a 0, as in a fat binary. */
static void run_own(const char *names, size_t size)
{
	FILE *f;

	snprintf(own_path, sizeof(own_path), "%.250s/own.fatbin", run_dir);
	f = fopen(own_path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(names, 1, size, f), size);
	fclose(f);
	run_and_read("0x200,launches=0", use_one_object);
	own_path[0] = '\0';
}

#define TEXT(x) #x
#define TEXT_OF(x) TEXT(x)
#define LAYOUT TEXT_OF(PASTA_GPU_LAYOUT)

static void rows_of_a_tools_own_reducer_are_by_site_if_it_declares_so(void **state)
{
	static const char names[] = "pasta_own_SITES_" LAYOUT "_global\0"
				    "pasta_own_SITES_" LAYOUT "_shared";
	struct pasta_access_sum_record r;

	(void)state;
	run_own(names, sizeof(names));
	r = sum(PASTA_REDUCER_OWN, ANY);
	assert_int_equal(r.key0, 4);
	assert_int_equal(r.loads, 40);
	assert_int_equal(r.stores, 11);
	assert_int_equal(row_count, 4);
	for (size_t i = 0; i < row_count; i++)
		assert_in_range(rows[i].key0, 1, 4);
}

static void rows_of_a_tools_own_reducer_have_its_keys_by_default(void **state)
{
	static const char names[] = "pasta_own_KEYS_" LAYOUT "_global";

	(void)state;
	run_own(names, sizeof(names));
	assert_int_equal(sum(PASTA_REDUCER_OWN, ANY).loads, 40);
	for (size_t i = 0; i < row_count; i++)
		assert_true(rows[i].key0 >= 0x100000); /* an unchanged address */
}

static void a_reducer_of_another_layout_is_not_run(void **state)
{
	static const char names[] = "pasta_own_SITES_1_global\0pasta_own_KEYS_999_global";

	(void)state;
	run_own(names, sizeof(names));
	assert_int_equal(row_count, 0);
	assert_int_equal(refused, 1);
}

static void use_many_sites(void)
{
	struct fake_access *a = calloc(SITES_MANY, sizeof(*a));
	void *context, *stream, *module;
	uint64_t addr;

	begin(&context, &stream, &module);
	addr = fake_alloc(context, 4096, 0);
	for (uint32_t i = 0; i < SITES_MANY; i++)
		a[i] = (struct fake_access){fake_pc(module) + 16 * i, addr, 1, 4,
					    PASTA_ACCESS_LOAD};
	launch_one(stream, module, a, SITES_MANY);
	end();
	free(a);
}

static void keys_without_room_in_a_table_are_counted_in_one_row(void **state)
{
	(void)state;
	run_and_read("0xa,launches=0", use_many_sites);
	assert_int_equal(sum(PASTA_REDUCER_SITE, ANY).loads, SITES_MANY);
	assert_int_equal(sum(PASTA_REDUCER_SITE, PASTA_KEY_OTHER).loads, SITES_MANY - 16384);
}

/* -- Threads and streams -- */

static void *work(void *context)
{
	void *stream = fake_stream(context), *module = fake_module(context);
	struct fake_access a = {fake_pc(module), 0, 3, 4, PASTA_ACCESS_STORE};

	for (uint32_t i = 0; i < TURNS; i++) {
		a.addr = fake_alloc(context, 4096, 0);
		launch_one(stream, module, &a, 1);
		fake_free(context, a.addr);
	}
	fake_synchronize(stream);
	fake_module_unload(module);
	fake_stream_destroy(stream);
	return NULL;
}

/* Raises the handler's time limits: a busy machine must not exceed them. In a deadlock, the test's
 * timeout ends it. */
static void raise_time_limits(void)
{
	san_limits.wait_ns = UINT64_C(600000000000);
	san_limits.flush_ms = san_limits.stuck_ms = 600000;
	pasta_rawwriter_wait_ms = UINT32_MAX;
}

static void use_threads(void)
{
	pthread_t threads[THREADS];
	void *contexts[2];

	raise_time_limits();
	start();
	for (uint32_t i = 0; i < 2; i++)
		contexts[i] = fake_context((int)i);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, contexts[i % 2]);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 0; i < 2; i++)
		fake_context_destroy(contexts[i]);
	end();
}

static void threads_with_their_own_streams_are_counted_completely(void **state)
{
	struct pasta_access_sum_record r;

	(void)state;
	run_and_read("0xa,launches=0", use_threads);
	r = sum(PASTA_REDUCER_OBJECT, ANY);
	assert_int_equal(r.stores, THREADS * TURNS * 3);
	assert_int_equal(sum(PASTA_REDUCER_OBJECT, PASTA_OBJECT_NONE).stores, 0);
	assert_int_equal(sum(PASTA_REDUCER_SITE, ANY).stores, THREADS * TURNS * 3);
	assert_int_equal(refused, 0);
	assert_int_equal(drop_records, 0);
}

/* The host counts each access or stores it; nothing is dropped. */
static void accesses_that_the_host_counts_are_complete(void **state)
{
	(void)state;
	run_and_read("0xa,launches=0,host", use_threads);
	assert_int_equal(sum(PASTA_REDUCER_OBJECT, ANY).stores, THREADS * TURNS * 3);
	assert_int_equal(sum(PASTA_REDUCER_OBJECT, PASTA_OBJECT_NONE).stores, 0);
	assert_int_equal(sum(PASTA_REDUCER_SITE, ANY).stores, THREADS * TURNS * 3);
	assert_int_equal(refused, 0);
	assert_int_equal(drop_records, 0);
}

static void raw_accesses_of_several_threads_are_complete(void **state)
{
	(void)state;
	run_and_read("0xa,launches=0,raw", use_threads);
	assert_int_equal(sum(PASTA_REDUCER_OBJECT, ANY).stores, THREADS * TURNS * 3);
	assert_int_equal(batched, THREADS * TURNS * 3);
	assert_int_equal(refused, 0);
	assert_int_equal(drop_records, 0);
}

static void raw_accesses_are_complete_while_calls_block(void **state)
{
	setenv("FAKE_SANITIZER_HELD", "1", 1);
	raw_accesses_of_several_threads_are_complete(state);
	unsetenv("FAKE_SANITIZER_HELD");
}

static void threads_that_block_each_others_calls_are_counted_completely(void **state)
{
	setenv("FAKE_SANITIZER_HELD", "1", 1);
	threads_with_their_own_streams_are_counted_completely(state);
	unsetenv("FAKE_SANITIZER_HELD");
}

static void *launch_on(void *of)
{
	void **stream_and_module = of;
	struct fake_access a = {fake_pc(stream_and_module[1]), 0, 1, 4, PASTA_ACCESS_LOAD};

	launch_one(stream_and_module[0], stream_and_module[1], &a, 1);
	return NULL;
}

/* Both threads wait for the stream's first kernel. */
static void destroy_streams_that_are_launched_on(void)
{
	void *context, *of[2];
	struct fake_access a = {0, 0, 1, 4, PASTA_ACCESS_LOAD};
	pthread_t thread;

	start();
	context = fake_context(0);
	of[1] = fake_module(context);
	a.pc = fake_pc(of[1]);
	for (uint32_t i = 0; i < TURNS; i++) {
		of[0] = fake_stream(context);
		fake_launch(of[0], &(struct fake_kernel){of[1], "kernel", 1, 1, &a, 1, 20});
		pthread_create(&thread, NULL, launch_on, of);
		usleep(5000);
		fake_stream_destroy(of[0]);
		pthread_join(thread, NULL);
	}
	end();
}

static void a_stream_is_destroyed_while_a_thread_is_about_to_launch_on_it(void **state)
{
	(void)state;
	run_and_read("0x2,launches=0", destroy_streams_that_are_launched_on);
	assert_int_equal(sum(PASTA_REDUCER_OBJECT, ANY).loads, 2 * TURNS);
	assert_int_equal(drop_records, 0);
}

/* A kernel that runs longer than one wait and writes raw accesses all the time, with more launches
 * behind it than there are sums. */
enum { LONG = 12, EACH = 1 << 18, BEHIND = 80 };

static void launch_behind_a_long_one(void)
{
	struct fake_access a[LONG];
	void *context, *stream, *module;
	uint64_t addr;

	begin(&context, &stream, &module);
	addr = fake_alloc(context, 4096, 0);
	for (uint32_t i = 0; i < LONG; i++)
		a[i] = (struct fake_access){fake_pc(module), addr, EACH, 4, PASTA_ACCESS_LOAD};
	fake_launch(stream, &(struct fake_kernel){module, "long", 4, 64, a, LONG, 3000});
	a[0].times = 10;
	for (uint32_t i = 0; i < BEHIND; i++)
		launch_one(stream, module, a, 1);
	end();
}

static void a_kernel_whose_accesses_arrive_is_waited_for(void **state)
{
	(void)state;
	run_and_read("0x2,launches=0,host", launch_behind_a_long_one);
	assert_int_equal(sum(PASTA_REDUCER_OBJECT, ANY).loads, LONG * EACH + 10 * BEHIND);
	assert_int_equal(refused, 0);
	assert_int_equal(drop_records, 0);
}

static atomic_bool begun, enough;

static void *launch_on_and_on(void *context)
{
	struct fake_access *a = calloc(2000, sizeof(*a));
	void *stream = fake_stream(context), *module = fake_module(context);
	uint64_t addr = fake_alloc(context, 2000 * 4096, 0);

	for (uint32_t i = 0; i < 2000; i++)
		a[i] = (struct fake_access){fake_pc(module), addr + UINT64_C(4096) * i, 1, 4,
					    PASTA_ACCESS_LOAD};
	while (!atomic_load(&enough)) {
		launch_one(stream, module, a, 2000);
		atomic_store(&begun, true);
	}
	free(a);
	return NULL;
}

/* The program may destroy the stream, whatever runs on it and beside it. */
static void destroy_a_stream_that_is_stuck(void)
{
	void *context, *stream, *module;
	pthread_t thread;

	alarm(60);
	begin(&context, &stream, &module);
	assert_int_equal(pthread_create(&thread, NULL, launch_on_and_on, context), 0);
	while (!atomic_load(&begun)) /* no module can be loaded while a kernel does not end */
		usleep(1000);
	fake_launch(stream, &(struct fake_kernel){module, "never", 1, 32, NULL, 0, FAKE_NEVER});
	san_stream_end(stream);
	atomic_store(&enough, true);
	pthread_join(thread, NULL);
	end();
}

static void emitting_rows_does_not_block_a_stream(void **state)
{
	(void)state;
	run_and_read("0x6,launches=0", destroy_a_stream_that_is_stuck);
	assert_int_equal(drop_records, 1);
	assert_int_equal(counted, ended);
}

/* Ends neither by exit nor by a signal. */
static void end_before_a_kernel_does(void)
{
	void *context, *stream, *module;
	struct fake_access a = {0, 64, 5, 4, PASTA_ACCESS_LOAD};

	begin(&context, &stream, &module);
	a.pc = fake_pc(module);
	launch_one(stream, module, &a, 1);
	launch_one(stream, module, &a, 1);
	san_completion_wait_emitted(NULL);
	fake_launch(stream, &(struct fake_kernel){module, "long", 4, 64, &a, 1, 60000});
	pasta_agent_close();
}

static void a_launch_that_has_ended_is_recorded_as_ended(void **state)
{
	(void)state;
	run_and_read("0x2,launches=0", end_before_a_kernel_does);
	assert_int_equal(counted, 3);
	assert_int_equal(ended, 2);
	assert_int_equal(sum(PASTA_REDUCER_OBJECT, ANY).loads, 10);
}

/* Each module has a function with the same handle, but other names. */
static void launch_what_is_called_anew(void)
{
	static char name[16] = "first";
	void *context, *stream, *module;
	struct fake_access a = {.times = 1, .size = 4, .kind = PASTA_ACCESS_LOAD};
	struct fake_kernel k = {.name = name, .grid = 4, .block = 64, .accesses = &a, .count = 1};

	begin(&context, &stream, &module);
	a.addr = fake_alloc(context, 4096, 0);
	for (uint32_t i = 0; i < 4; i++) {
		k.module = module;
		a.pc = fake_pc(module);
		fake_launch(stream, &k);
		if (i == 2)
			fake_graph(stream, &k, 1);
		fake_launch(stream, &k);
		snprintf(name, sizeof(name), "next %u", i);
		fake_synchronize(stream);
		fake_module_unload(module);
		module = fake_module(context);
	}
	end();
}

static void functions_are_recorded_with_their_own_names(void **state)
{
	static const uint32_t launches[] = {0, 0, 1, 1, 2, 3, 2, 4, 4}; /* 3 is a graph's */
	enum { COUNT = sizeof(launches) / sizeof(*launches) };
	uint32_t names[COUNT] = {0};

	(void)state;
	run_and_read("0x2,launches=0", launch_what_is_called_anew);
	assert_int_equal(row_count, COUNT);
	for (size_t i = 0; i < COUNT; i++) { /* in any order: several threads emit them */
		assert_in_range(rows[i].corr, 1, COUNT);
		names[rows[i].corr - 1] = rows[i].name;
	}
	for (size_t i = 0; i < COUNT; i++)
		for (size_t j = 0; j < i; j++)
			assert_int_equal(names[i] == names[j], launches[i] == launches[j]);
}

/* Kernels with the same name, grid and block: of two modules, and of the first module loaded again.
 */
static void launch_of_modules(const char *first, const char *second, const char *third)
{
	const char *const code[] = {first, second, third};
	struct fake_access a = {.times = 1, .size = 4, .kind = PASTA_ACCESS_LOAD};
	void *context, *stream, *module;

	start();
	context = fake_context(0);
	stream = fake_stream(context);
	for (uint32_t i = 0; i < 3; i++) {
		module = fake_module_of(context, code[i]);
		a.addr = fake_alloc(context, 4096 << i, 0);
		a.pc = fake_pc(module);
		for (uint32_t k = 0; k < 5; k++)
			launch_one(stream, module, &a, 1);
		fake_synchronize(stream);
		fake_module_unload(module);
	}
	end();
}

static void launch_of_two_codes(void)
{
	launch_of_modules("\177ELF, of one", "\177ELF, of two", "\177ELF, of one");
}

static void launch_of_unknown_code(void)
{
	launch_of_modules(NULL, NULL, NULL);
}

static void kernels_with_one_name_are_distinguished_by_their_modules_code(void **state)
{
	(void)state;
	run_and_read("0x2,launches=3", launch_of_two_codes);
	assert_int_equal(counted, 2 * 3);
	assert_int_equal(sum(PASTA_REDUCER_OBJECT, object_of_size(4096)).key0, 3);
	assert_int_equal(sum(PASTA_REDUCER_OBJECT, object_of_size(8192)).key0, 3);
	assert_int_equal(sum(PASTA_REDUCER_OBJECT, object_of_size(16384)).key0, 0);
}

static void unknown_code_differs_from_that_of_other_modules(void **state)
{
	(void)state;
	run_and_read("0x2,launches=3", launch_of_unknown_code);
	assert_int_equal(counted, 3 * 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rows_of_all_tables_are_what_a_kernel_did),
		TEST(a_site_has_its_kinds_and_its_space),
		TEST(barriers_are_counted_by_site_and_are_not_accesses),
		TEST(barriers_are_patched_only_if_a_tool_needs_them),
		TEST(barriers_are_counted_on_devices_where_the_host_counts_accesses),
		TEST(rows_of_a_tools_own_reducer_are_by_site_if_it_declares_so),
		TEST(rows_of_a_tools_own_reducer_have_its_keys_by_default),
		TEST(a_reducer_of_another_layout_is_not_run),
		TEST(keys_without_room_in_a_table_are_counted_in_one_row),
		TEST(threads_with_their_own_streams_are_counted_completely),
		TEST(threads_that_block_each_others_calls_are_counted_completely),
		TEST(accesses_that_the_host_counts_are_complete),
		TEST(raw_accesses_of_several_threads_are_complete),
		TEST(raw_accesses_are_complete_while_calls_block),
		TEST(a_stream_is_destroyed_while_a_thread_is_about_to_launch_on_it),
		TEST(a_kernel_whose_accesses_arrive_is_waited_for),
		TEST(emitting_rows_does_not_block_a_stream),
		TEST(a_launch_that_has_ended_is_recorded_as_ended),
		TEST(functions_are_recorded_with_their_own_names),
		TEST(kernels_with_one_name_are_distinguished_by_their_modules_code),
		TEST(unknown_code_differs_from_that_of_other_modules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
