/* test_sanitizer.c - the Compute Sanitizer's handler on a fake of its library, without a GPU.
 * timeout: 120
 */
#include "programs/fake_sanitizer.c"

#include "handlers/sanitizer/sanitizer.h"
#include "unit/agent_run.h"

enum { THREADS = 4, TURNS = 60, PLACES = 20000, ROWS_MAX = 1 << 17, PAGES = 100000 };

static struct pasta_access_sum rows[ROWS_MAX];
static size_t row_count;
static struct pasta_object objects[64];
static struct pasta_site sites[64];
static size_t site_count, object_count, refused, lost, batched;

/* -- In a child -- */

static char own_path[300]; /* a file with the names of a reducer's functions; or "" */

static int accept_patches(const char *path, void *context)
{
	snprintf(((struct context *)context)->path, 4096, "%s", own_path);
	(void)path;
	atomic_store(&((struct context *)context)->patches, true);
	return SAN_OK;
}

static int (*alloc)(void *, void **, size_t) = sanitizerAlloc;

static void start(void)
{
#define F(name, args) sanitizer.name = sanitizer##name;
	SANITIZER_FUNCTIONS(F)
#undef F
	sanitizer.Alloc = alloc;
	sanitizer.AddPatchesFromFile = accept_patches;
	sanitizer.bound = true;
	san_start();
}

/* With one of each. */
static void begin(void **context, void **stream, void **module)
{
	start();
	*context = fake_context(0);
	*stream = fake_stream(*context);
	*module = fake_module(*context);
}

static void end(void)
{
	san_drain_end(NULL, NULL);
	pasta_agent_close();
}

static void launch_one(void *stream, void *module, const struct fake_access *a, uint32_t count)
{
	fake_launch(stream, &(struct fake_kernel){module, "kernel", 4, 64, a, count, 0});
}

/* -- What it left -- */

static void take(const struct pasta_event *ev)
{
	if (ev->kind == PASTA_ACCESS_SUM && row_count < ROWS_MAX)
		rows[row_count++] = ev->access_sum;
	else if (ev->kind == PASTA_OBJECT && object_count < 64)
		objects[object_count++] = ev->object;
	else if (ev->kind == PASTA_SITE && site_count < 64)
		sites[site_count++] = ev->site;
	else if (ev->kind == PASTA_ACCESS_LAUNCH && ev->sub == PASTA_LAUNCH_REFUSED)
		refused++;
	else if (ev->kind == PASTA_ACCESS_LAUNCH && ev->sub == PASTA_LAUNCH_LOST)
		lost++;
	else if (ev->kind == PASTA_ACCESS_BATCH)
		batched += ev->access_batch.count;
}

static void run_and_read(const char *words, void (*body)(void))
{
	const struct pasta_event *ev;
	struct pasta_stream *s;

	setenv(PASTA_ENV_ACCESSES, words, 1);
	row_count = site_count = object_count = refused = lost = batched = 0;
	assert_int_equal(in_child(body), 0);
	s = open_run(NULL);
	while ((ev = pasta_stream_next(s)))
		take(ev);
	pasta_stream_free(s);
	unsetenv(PASTA_ENV_ACCESSES);
}

/* Of a reducer; key0 PASTA_KEY_OTHER - 1: of any. */
#define ANY (PASTA_KEY_OTHER - 1)
static struct pasta_access_sum sum(uint32_t reducer, uint64_t key0)
{
	struct pasta_access_sum all = {0};

	for (size_t i = 0; i < row_count; i++) {
		if (rows[i].reducer != reducer || (key0 != ANY && rows[i].key0 != key0))
			continue;
		all.key0++; /* how many rows there are */
		all.loads += rows[i].loads;
		all.stores += rows[i].stores;
		all.bytes += rows[i].bytes;
		all.extra += rows[i].extra;
	}
	return all;
}

static uint64_t object_of_size(uint64_t bytes)
{
	for (size_t i = 0; i < object_count; i++)
		if (objects[i].bytes == bytes)
			return objects[i].id;
	fail_msg("no object of %llu bytes", (unsigned long long)bytes);
	return 0;
}

/* -- Tests -- */

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
	struct pasta_access_sum r;

	(void)state;
	run_and_read("0x9e,launches=0", use_one_object);
	r = sum(PASTA_REDUCE_OBJECT, object_of_size(10000));
	assert_int_equal(r.loads, 40);
	assert_int_equal(r.stores, 10);
	assert_int_equal(r.bytes, 32 * 4 + 8 * 16 + 2 * 16);
	assert_int_equal(r.extra, 2); /* they reach out of it */
	r = sum(PASTA_REDUCE_OBJECT, PASTA_OBJECT_NONE);
	assert_int_equal(r.stores, 1);
	assert_int_equal(sum(PASTA_REDUCE_PAGE, ANY).key0, 3);
	assert_int_equal(sum(PASTA_REDUCE_SITE, ANY).key0, 4);
	r = sum(PASTA_REDUCE_SITE_OBJECT, ANY);
	assert_int_equal(r.key0, 4);
	assert_int_equal(r.loads, 40);
	for (size_t i = 0; i < row_count; i++)
		assert_true(rows[i].reducer != PASTA_REDUCE_SITE_OBJECT ||
			    rows[i].key1 == PASTA_OBJECT_NONE ||
			    rows[i].key1 == object_of_size(10000));
	/* 100 to 103 ns. */
	r = sum(PASTA_REDUCE_BLOCK, 96);
	assert_int_equal(r.loads, 4);
	assert_int_equal(r.bytes, 406);
}

/* An instruction that copies: from the memory of its block to an object. */
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

static void a_site_is_told_with_what_it_does_and_where(void **state)
{
	(void)state;
	run_and_read("0x8,launches=0", use_a_copy);
	assert_int_equal(site_count, 2);
	assert_int_equal(sites[0].flags, PASTA_ACCESS_STORE);
	assert_int_equal(sites[1].flags, PASTA_ACCESS_ATOMIC | PASTA_SPACE_LOCAL << 8);
	assert_int_equal(row_count, 2);
	assert_int_equal(sum(PASTA_REDUCE_SITE, sites[0].id).loads, 5);
	assert_int_equal(sum(PASTA_REDUCE_SITE, sites[0].id).stores, 5);
	assert_int_equal(sum(PASTA_REDUCE_SITE, sites[1].id).loads, 3);
}

/* 4 blocks of two warps, three times at one barrier, and half of each warp at another. */
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
	assert_int_equal(sum(PASTA_REDUCE_BARRIER, ANY).key0, 2);
	for (size_t i = 0; i < row_count; i++) {
		const struct pasta_access_sum *r = &rows[i];

		if (r->reducer != PASTA_REDUCE_BARRIER)
			continue;
		assert_in_range(r->key1, 0, 1);
		assert_int_equal(r->loads, r->key1 ? 8 : 24);
		assert_int_equal(r->stores, r->key1 ? 8 * 16 : 24 * 32);
		assert_int_equal(r->extra, 32 * r->loads);
		assert_int_equal(r->bytes, 0);
	}
}

static void barriers_are_told_by_site_and_are_no_accesses(void **state)
{
	(void)state;
	run_and_read("0x402,launches=0", synchronise); /* by object as well */
	must_be_arrivals();
	assert_int_equal(row_count, 3);
	assert_int_equal(sum(PASTA_REDUCE_OBJECT, ANY).loads, 5);
	assert_int_equal(site_count, 2);
	assert_int_equal(sites[0].flags, PASTA_ACCESS_BARRIER);
	assert_int_equal(sites[1].flags, PASTA_ACCESS_BARRIER);
}

static void barriers_are_not_patched_unless_they_are_wanted(void **state)
{
	(void)state;
	run_and_read("0xa,launches=0", synchronise);
	assert_int_equal(sum(PASTA_REDUCE_BARRIER, ANY).key0, 0);
	assert_int_equal(site_count, 1);
	assert_int_equal(refused, 0);
}

static void barriers_are_counted_on_devices_where_the_host_counts_accesses(void **state)
{
	(void)state;
	run_and_read("0x402,launches=0,host", synchronise);
	must_be_arrivals();
	assert_int_equal(row_count, 3);
	assert_int_equal(sum(PASTA_REDUCE_OBJECT, ANY).loads, 5);
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

static void rows_of_a_tools_own_reducer_are_by_site_where_it_says_so(void **state)
{
	static const char names[] = "pasta_own_SITES_" LAYOUT "_global\0"
				    "pasta_own_SITES_" LAYOUT "_shared";
	struct pasta_access_sum r;

	(void)state;
	run_own(names, sizeof(names));
	r = sum(PASTA_REDUCE_OWN, ANY);
	assert_int_equal(r.key0, 4);
	assert_int_equal(r.loads, 40);
	assert_int_equal(r.stores, 11);
	assert_int_equal(row_count, 4);
	for (size_t i = 0; i < row_count; i++)
		assert_in_range(rows[i].key0, 1, 4);
}

static void rows_of_a_tools_own_reducer_have_its_keys_else(void **state)
{
	static const char names[] = "pasta_own_KEYS_" LAYOUT "_global";

	(void)state;
	run_own(names, sizeof(names));
	assert_int_equal(sum(PASTA_REDUCE_OWN, ANY).loads, 40);
	for (size_t i = 0; i < row_count; i++)
		assert_true(rows[i].key0 >= 0x100000); /* an address, as it was given */
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
	struct fake_access *a = calloc(PLACES, sizeof(*a));
	void *context, *stream, *module;
	uint64_t addr;

	begin(&context, &stream, &module);
	addr = fake_alloc(context, 4096, 0);
	for (uint32_t i = 0; i < PLACES; i++)
		a[i] = (struct fake_access){fake_pc(module) + 16 * i, addr, 1, 4,
					    PASTA_ACCESS_LOAD};
	launch_one(stream, module, a, PLACES);
	end();
	free(a);
}

static void what_a_table_has_no_room_for_is_in_one_row_more(void **state)
{
	(void)state;
	run_and_read("0xa,launches=0", use_many_sites);
	assert_int_equal(sum(PASTA_REDUCE_SITE, ANY).loads, PLACES);
	assert_int_equal(sum(PASTA_REDUCE_SITE, PASTA_KEY_OTHER).loads, PLACES - 16384);
}

/* As PyTorch's allocator does; and the driver tells of its memory once more. */
static void use_pieces(void)
{
	void *context, *stream, *module;
	struct fake_access a = {0, 0, 5, 4, PASTA_ACCESS_LOAD};
	struct san_memory_data again = {.bytes = 1 << 20};

	begin(&context, &stream, &module);
	again.addr = fake_alloc(context, again.bytes, 0);
	again.context = context;
	pasta_accesses_object(again.addr + 512, again.addr + 512, 1024, 0, 0);
	call(SAN_RESOURCE, SAN_DEVICE_ALLOC, &again);
	a.addr = again.addr + 600;
	launch_one(stream, module, &a, 1);
	fake_free(context, again.addr);
	launch_one(stream, module, &a, 1);
	end();
}

static void a_piece_stays_when_its_segment_is_told_again_or_freed(void **state)
{
	(void)state;
	run_and_read("0x2,launches=0", use_pieces);
	assert_int_equal(sum(PASTA_REDUCE_OBJECT, object_of_size(1024)).loads, 10);
	assert_int_equal(sum(PASTA_REDUCE_OBJECT, ANY).loads, 10);
}

/* A launch with the first one's memory, and one more after what is done with the second. */
static void use_two_contexts(void (*between)(struct san_memory_data *m, void *other))
{
	void *first, *second, *stream, *module;
	struct fake_access a = {0, 0, 5, 4, PASTA_ACCESS_LOAD};
	struct san_memory_data m = {.bytes = 4096};

	start();
	first = fake_context(0);
	stream = fake_stream(first);
	module = fake_module(first);
	m.addr = a.addr = fake_alloc(first, m.bytes, 0);
	m.context = first;
	second = fake_context(0);
	launch_one(stream, module, &a, 1);
	between(&m, second);
	launch_one(stream, module, &a, 1);
	end();
}

static void destroy(struct san_memory_data *m, void *other)
{
	(void)m;
	fake_context_destroy(other);
}

static void use_beside_one_that_goes(void)
{
	use_two_contexts(destroy);
}

static void memory_stays_when_a_context_goes_that_was_told_of_it(void **state)
{
	(void)state;
	setenv("FAKE_SANITIZER_SHARED", "1", 1);
	run_and_read("0x2,launches=0", use_beside_one_that_goes);
	unsetenv("FAKE_SANITIZER_SHARED");
	assert_int_equal(sum(PASTA_REDUCE_OBJECT, object_of_size(4096)).loads, 10);
	assert_int_equal(sum(PASTA_REDUCE_OBJECT, ANY).loads, 10);
}

/* As of its own context, and of none. */
static void free_while_other_goes(struct san_memory_data *m, void *other)
{
	struct san_context_data goes = {other, 0, 0};

	call(SAN_RESOURCE, SAN_CONTEXT_DESTROYING, &goes);
	call(SAN_RESOURCE, SAN_DEVICE_FREE, m);
	m->context = NULL;
	call(SAN_RESOURCE, SAN_DEVICE_FREE, m);
	call(SAN_RESOURCE, SAN_CONTEXT_DESTROYED, &goes);
}

static void use_what_is_freed_while_another_goes(void)
{
	use_two_contexts(free_while_other_goes);
}

static void memory_stays_when_its_end_is_told_while_another_context_goes(void **state)
{
	(void)state;
	run_and_read("0x2,launches=0", use_what_is_freed_while_another_goes);
	assert_int_equal(sum(PASTA_REDUCE_OBJECT, object_of_size(4096)).loads, 10);
	assert_int_equal(sum(PASTA_REDUCE_OBJECT, ANY).loads, 10);
}

static void free_nobodys_while_other_goes(struct san_memory_data *m, void *other)
{
	struct san_memory_data nobodys = {.addr = m->addr, .bytes = 2048};

	fake_free(m->context, m->addr);
	call(SAN_RESOURCE, SAN_DEVICE_ALLOC, &nobodys);
	call(SAN_RESOURCE, SAN_CONTEXT_DESTROYING, &(struct san_context_data){other, 0, 0});
	call(SAN_RESOURCE, SAN_DEVICE_FREE, &nobodys);
	call(SAN_RESOURCE, SAN_CONTEXT_DESTROYED, &(struct san_context_data){other, 0, 0});
}

static void use_nobodys(void)
{
	use_two_contexts(free_nobodys_while_other_goes);
}

static void free_after_other_went(struct san_memory_data *m, void *other)
{
	fake_context_destroy(other);
	fake_free(m->context, m->addr);
}

static void use_what_is_freed_after_another_went(void)
{
	use_two_contexts(free_after_other_went);
}

static void free_in_one_that_is_gone(struct san_memory_data *m, void *other)
{
	fake_context_destroy(other);
	m->context = other;
	call(SAN_RESOURCE, SAN_DEVICE_FREE, m);
}

static void use_what_one_that_is_gone_frees(void)
{
	use_two_contexts(free_in_one_that_is_gone);
}

static void memory_stays_when_a_context_that_is_gone_says_it_is_freed(void **state)
{
	(void)state;
	run_and_read("0x2,launches=0", use_what_one_that_is_gone_frees);
	assert_int_equal(sum(PASTA_REDUCE_OBJECT, object_of_size(4096)).loads, 10);
	assert_int_equal(sum(PASTA_REDUCE_OBJECT, ANY).loads, 10);
}

static void free_in_other(struct san_memory_data *m, void *other)
{
	m->context = other;
	call(SAN_RESOURCE, SAN_DEVICE_FREE, m);
}

static void free_in_none(struct san_memory_data *m, void *other)
{
	(void)other;
	m->context = NULL;
	call(SAN_RESOURCE, SAN_DEVICE_FREE, m);
}

static void free_in_stream_of_other(struct san_memory_data *m, void *other)
{
	m->context = other;
	call(SAN_RESOURCE, SAN_ASYNC_FREE, m);
}

static void use_what_another_frees(void)
{
	use_two_contexts(free_in_other);
}

static void use_what_no_context_frees(void)
{
	use_two_contexts(free_in_none);
}

static void use_what_a_stream_frees(void)
{
	use_two_contexts(free_in_stream_of_other);
}

static void must_be_freed(void)
{
	assert_int_equal(sum(PASTA_REDUCE_OBJECT, object_of_size(4096)).loads, 5);
	assert_int_equal(sum(PASTA_REDUCE_OBJECT, PASTA_OBJECT_NONE).loads, 5);
}

static void memory_goes_when_it_is_freed_after_another_context_went(void **state)
{
	(void)state;
	run_and_read("0x2,launches=0", use_what_is_freed_after_another_went);
	must_be_freed();
}

static void memory_of_no_context_may_go_with_any(void **state)
{
	(void)state;
	run_and_read("0x2,launches=0", use_nobodys);
	must_be_freed();
}

static void memory_that_only_its_context_was_told_of_is_freed_by_another(void **state)
{
	(void)state;
	run_and_read("0x2,launches=0", use_what_another_frees);
	must_be_freed();
}

static void memory_that_contexts_share_is_freed_for_all_of_them(void **state)
{
	(void)state;
	setenv("FAKE_SANITIZER_SHARED", "1", 1);
	run_and_read("0x2,launches=0", use_what_no_context_frees);
	must_be_freed();
	unsetenv("FAKE_SANITIZER_SHARED");
}

static void memory_that_contexts_share_is_freed_in_a_stream_of_any(void **state)
{
	(void)state;
	setenv("FAKE_SANITIZER_SHARED", "1", 1);
	run_and_read("0x2,launches=0", use_what_a_stream_frees);
	must_be_freed();
	unsetenv("FAKE_SANITIZER_SHARED");
}

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

static void use_threads(void)
{
	pthread_t threads[THREADS];
	void *contexts[2];

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

static void threads_with_streams_of_their_own_lose_nothing(void **state)
{
	struct pasta_access_sum r;

	(void)state;
	run_and_read("0xa,launches=0", use_threads);
	r = sum(PASTA_REDUCE_OBJECT, ANY);
	assert_int_equal(r.stores, THREADS * TURNS * 3);
	assert_int_equal(sum(PASTA_REDUCE_OBJECT, PASTA_OBJECT_NONE).stores, 0);
	assert_int_equal(sum(PASTA_REDUCE_SITE, ANY).stores, THREADS * TURNS * 3);
	assert_int_equal(refused, 0);
	assert_int_equal(lost, 0);
}

/* Each access is counted by the host, or kept: none is lost. */
static void threads_whose_accesses_the_host_counts_lose_nothing(void **state)
{
	(void)state;
	run_and_read("0xa,launches=0,host", use_threads);
	assert_int_equal(sum(PASTA_REDUCE_OBJECT, ANY).stores, THREADS * TURNS * 3);
	assert_int_equal(sum(PASTA_REDUCE_OBJECT, PASTA_OBJECT_NONE).stores, 0);
	assert_int_equal(sum(PASTA_REDUCE_SITE, ANY).stores, THREADS * TURNS * 3);
	assert_int_equal(refused, 0);
	assert_int_equal(lost, 0);
}

static void threads_whose_accesses_are_kept_lose_nothing(void **state)
{
	(void)state;
	run_and_read("0xa,launches=0,raw", use_threads);
	assert_int_equal(sum(PASTA_REDUCE_OBJECT, ANY).stores, THREADS * TURNS * 3);
	assert_int_equal(batched, THREADS * TURNS * 3);
	assert_int_equal(refused, 0);
	assert_int_equal(lost, 0);
}

static void accesses_are_kept_where_calls_are_held_up(void **state)
{
	setenv("FAKE_SANITIZER_HELD", "1", 1);
	threads_whose_accesses_are_kept_lose_nothing(state);
	unsetenv("FAKE_SANITIZER_HELD");
}

static void threads_that_hold_up_others_calls_lose_nothing(void **state)
{
	setenv("FAKE_SANITIZER_HELD", "1", 1);
	threads_with_streams_of_their_own_lose_nothing(state);
	unsetenv("FAKE_SANITIZER_HELD");
}

static void *launch_on(void *of)
{
	void **stream_and_module = of;
	struct fake_access a = {fake_pc(stream_and_module[1]), 0, 1, 4, PASTA_ACCESS_LOAD};

	launch_one(stream_and_module[0], stream_and_module[1], &a, 1);
	return NULL;
}

/* Both wait for its first kernel. */
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

static void a_stream_goes_while_a_thread_is_about_to_launch_on_it(void **state)
{
	(void)state;
	run_and_read("0x2,launches=0", destroy_streams_that_are_launched_on);
	assert_int_equal(sum(PASTA_REDUCE_OBJECT, ANY).loads, 2 * TURNS);
	assert_int_equal(lost, 0);
}

/* A kernel that takes longer than one is waited for, and whose accesses come all the while; and
 * more launches behind it than there are sums. */
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

static void a_kernel_whose_accesses_come_is_waited_for(void **state)
{
	(void)state;
	run_and_read("0x2,launches=0,host", launch_behind_a_long_one);
	assert_int_equal(sum(PASTA_REDUCE_OBJECT, ANY).loads, LONG * EACH + 10 * BEHIND);
	assert_int_equal(refused, 0);
	assert_int_equal(lost, 0);
}

/* -- Pages -- */

/* As if the device had little memory left. */
static int alloc_little(void *context, void **memory, size_t size)
{
	return size > 8 << 20 ? SAN_INVALID_PARAMETER : sanitizerAlloc(context, memory, size);
}

/* Page i of one object is read 1 + i % 3 times, of PAGES; a second launch reads every 1,000th. */
static void use_many_pages(void)
{
	struct fake_access *a = calloc(PAGES, sizeof(*a));
	void *context, *stream, *module;
	uint64_t addr;

	begin(&context, &stream, &module);
	fake_alloc(context, 5000, 0);
	addr = fake_alloc(context, UINT64_C(2) << 30, 0);
	for (uint32_t i = 0; i < PAGES; i++)
		a[i] = (struct fake_access){fake_pc(module), addr + i * UINT64_C(4096) + i % 99,
					    1 + i % 3, 4, PASTA_ACCESS_LOAD};
	launch_one(stream, module, a, PAGES);
	for (uint32_t i = 0; i < PAGES; i += 1000)
		a[i / 1000] = a[i];
	launch_one(stream, module, a, PAGES / 1000);
	end();
	free(a);
}

static void use_many_pages_with_little_memory(void)
{
	alloc = alloc_little;
	use_many_pages();
}

/* As if the device had memory for one slot of many pages. */
static struct {
	const void *memory;
	size_t size;
} large;

static int alloc_one(void *context, void **memory, size_t size)
{
	int r = large.size && size > 8 << 20 ? SAN_INVALID_PARAMETER
					     : sanitizerAlloc(context, memory, size);

	if (r == SAN_OK && size > 8 << 20) {
		large.memory = *memory;
		large.size = size;
	}
	return r;
}

static int free_one(void *context, void *memory)
{
	if (memory == large.memory)
		large.size = 0;
	return sanitizerFree(context, memory);
}

/* It is told a little before it is nobody's. */
static void wait_until_idle(void *context)
{
	struct san_context *c = san_context(context, 0);
	bool busy = true;

	for (int i = 0; busy && i < 10000; i++) {
		usleep(1000);
		pthread_mutex_lock(&san.lock);
		busy = c->slots[0]->busy;
		pthread_mutex_unlock(&san.lock);
	}
}

/* The second launch has more objects than the first one's slot has places. */
static void use_many_pages_then_more_objects(void)
{
	struct fake_access *a = calloc(PAGES, sizeof(*a));
	void *context, *stream, *module;
	uint64_t addr;

	alloc = alloc_one;
	start();
	sanitizer.Free = free_one;
	context = fake_context(0);
	stream = fake_stream(context);
	module = fake_module(context);
	addr = fake_alloc(context, UINT64_C(2) << 30, 0);
	for (uint32_t i = 0; i < PAGES; i++)
		a[i] = (struct fake_access){fake_pc(module), addr + i * UINT64_C(4096), 1, 4,
					    PASTA_ACCESS_LOAD};
	launch_one(stream, module, a, 1);
	san_drain_end(NULL, NULL);
	wait_until_idle(context);
	for (uint32_t i = 0; i < 1100; i++)
		fake_alloc(context, 512, 0);
	launch_one(stream, module, a, PAGES);
	end();
	free(a);
}

static void a_slot_that_is_nobodys_gives_its_memory_to_pages(void **state)
{
	(void)state;
	run_and_read("0x6,launches=0", use_many_pages_then_more_objects);
	assert_int_equal(refused, 0);
	assert_int_equal(sum(PASTA_REDUCE_PAGE, ANY).key0, 1 + PAGES);
	assert_int_equal(sum(PASTA_REDUCE_PAGE, PASTA_KEY_OTHER).key0, 0);
}

static void a_launch_has_a_row_for_each_page_that_it_touches(void **state)
{
	uint64_t page, first = 0, before = UINT64_MAX;
	size_t falls = 0;

	(void)state;
	run_and_read("0x6,launches=0", use_many_pages);
	assert_int_equal(sum(PASTA_REDUCE_PAGE, ANY).key0, PAGES + PAGES / 1000);
	assert_int_equal(sum(PASTA_REDUCE_PAGE, PASTA_KEY_OTHER).key0, 0);
	for (size_t i = 0; i < row_count; i++) {
		if (rows[i].reducer != PASTA_REDUCE_PAGE)
			continue;
		first = first ? first : rows[i].key0;
		page = (rows[i].key0 - first) / 4096;
		assert_int_equal(rows[i].loads, 1 + page % 3);
		assert_int_equal(rows[i].bytes, 4 * rows[i].loads);
		falls += rows[i].key0 <= before;
		before = rows[i].key0;
	}
	assert_int_equal(falls, 2); /* each launch's rise */
}

static void pages_without_sums_of_their_own_are_rows_of_a_table(void **state)
{
	struct pasta_access_sum all, other;

	(void)state;
	run_and_read("0x6,launches=0", use_many_pages_with_little_memory);
	all = sum(PASTA_REDUCE_PAGE, ANY);
	other = sum(PASTA_REDUCE_PAGE, PASTA_KEY_OTHER);
	assert_int_equal(refused, 0);
	assert_int_equal(all.key0, 65536 + 1 + PAGES / 1000);
	assert_int_equal(other.key0, 1);
	assert_int_equal(all.loads, sum(PASTA_REDUCE_OBJECT, ANY).loads);
}

/* Telling takes longer than anyone waits. */
static void capture_while_rows_are_told(void)
{
	struct fake_access *a = calloc(PAGES, sizeof(*a));
	void *context, *stream, *module;
	uint64_t addr;

	begin(&context, &stream, &module);
	addr = fake_alloc(context, UINT64_C(2) << 30, 0);
	for (uint32_t i = 0; i < PAGES; i++)
		a[i] = (struct fake_access){fake_pc(module), addr + i * UINT64_C(4096), 1, 4,
					    PASTA_ACCESS_LOAD};
	pasta_agent_stall(true);
	launch_one(stream, module, a, PAGES);
	api(SAN_CAPTURE, stream, NULL, 0);
	api(SAN_CAPTURE_END, stream, NULL, 1);
	pasta_agent_stall(false);
	launch_one(stream, module, a, 1);
	end();
	free(a);
}

static void a_capture_begins_while_rows_are_told(void **state)
{
	(void)state;
	run_and_read("0x6,launches=0", capture_while_rows_are_told);
	assert_int_equal(sum(PASTA_REDUCE_OBJECT, ANY).loads, PAGES + 1);
	assert_int_equal(refused, 0);
}

/* Pages of 64 KiB: objects share them, and with what is in no object. */
static void share_pages(void)
{
	void *context, *stream, *module;
	struct fake_access a[7] = {{0}};
	uint64_t addrs[3];

	begin(&context, &stream, &module);
	for (uint32_t i = 0; i < 3; i++)
		addrs[i] = fake_alloc(context, 1000, 0);
	for (uint32_t i = 0; i < 6; i++)
		a[i] = (struct fake_access){fake_pc(module), addrs[i % 3] + i, 10, 1,
					    PASTA_ACCESS_LOAD};
	a[6] = (struct fake_access){fake_pc(module), addrs[2] + 3000, 1, 1, PASTA_ACCESS_STORE};
	launch_one(stream, module, a, 6);
	launch_one(stream, module, a, 7);
	end();
}

static void a_page_that_objects_share_is_one_row(void **state)
{
	struct pasta_access_sum r;

	(void)state;
	run_and_read("0x6,launches=0,page=16", share_pages);
	r = sum(PASTA_REDUCE_PAGE, ANY);
	assert_int_equal(r.key0, 2); /* one a launch */
	assert_int_equal(r.loads, 2 * 60);
	assert_int_equal(r.stores, 1);
	assert_int_equal(sum(PASTA_REDUCE_OBJECT, ANY).key0, 3 + 4);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_run, remove_run)
	const struct CMUnitTest tests[] = {
		TEST(rows_of_all_tables_are_what_a_kernel_did),
		TEST(a_site_is_told_with_what_it_does_and_where),
		TEST(barriers_are_told_by_site_and_are_no_accesses),
		TEST(barriers_are_not_patched_unless_they_are_wanted),
		TEST(barriers_are_counted_on_devices_where_the_host_counts_accesses),
		TEST(rows_of_a_tools_own_reducer_are_by_site_where_it_says_so),
		TEST(rows_of_a_tools_own_reducer_have_its_keys_else),
		TEST(a_reducer_of_another_layout_is_not_run),
		TEST(what_a_table_has_no_room_for_is_in_one_row_more),
		TEST(a_launch_has_a_row_for_each_page_that_it_touches),
		TEST(pages_without_sums_of_their_own_are_rows_of_a_table),
		TEST(a_page_that_objects_share_is_one_row),
		TEST(a_slot_that_is_nobodys_gives_its_memory_to_pages),
		TEST(a_capture_begins_while_rows_are_told),
		TEST(a_piece_stays_when_its_segment_is_told_again_or_freed),
		TEST(memory_stays_when_a_context_goes_that_was_told_of_it),
		TEST(memory_stays_when_its_end_is_told_while_another_context_goes),
		TEST(memory_stays_when_a_context_that_is_gone_says_it_is_freed),
		TEST(memory_of_no_context_may_go_with_any),
		TEST(memory_goes_when_it_is_freed_after_another_context_went),
		TEST(memory_that_only_its_context_was_told_of_is_freed_by_another),
		TEST(memory_that_contexts_share_is_freed_for_all_of_them),
		TEST(memory_that_contexts_share_is_freed_in_a_stream_of_any),
		TEST(threads_with_streams_of_their_own_lose_nothing),
		TEST(threads_that_hold_up_others_calls_lose_nothing),
		TEST(threads_whose_accesses_the_host_counts_lose_nothing),
		TEST(threads_whose_accesses_are_kept_lose_nothing),
		TEST(accesses_are_kept_where_calls_are_held_up),
		TEST(a_stream_goes_while_a_thread_is_about_to_launch_on_it),
		TEST(a_kernel_whose_accesses_come_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
