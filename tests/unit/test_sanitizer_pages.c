/* test_sanitizer_pages.c - rows of pages, of the Compute Sanitizer's handler.
 * timeout: 120
 */
#include "unit/sanitizertest.h"

enum { PAGES = 100000 };

/* As if the device had little memory left. */
static int alloc_little(void *context, void **memory, size_t size)
{
	return size > 8 << 20 ? SAN_INVALID_PARAMETER : sanitizerAlloc(context, memory, size);
}

/* Reads page i of an object with PAGES pages 1 + i % 3 times; a second launch reads every 1,000th
 * page. */
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

/* As if the device had memory for only one slot with many pages. */
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

/* A slot is released a little after its rows are emitted. */
static void wait_until_idle(void *context)
{
	struct san_context *c = san_context(context, 0);
	bool busy = true;

	for (int i = 0; busy && i < 10000; i++) {
		usleep(1000);
		pthread_mutex_lock(&san.lock);
		busy = c->slots[0]->state != SAN_SLOT_FREE;
		pthread_mutex_unlock(&san.lock);
	}
}

/* The second launch has more objects than the first slot has room for. */
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
	san_completion_end(NULL, NULL);
	wait_until_idle(context);
	for (uint32_t i = 0; i < 1100; i++)
		fake_alloc(context, 512, 0);
	launch_one(stream, module, a, 1); /* freeing memory would wait for kernels while one runs */
	launch_one(stream, module, a, PAGES);
	end();
	free(a);
}

static void memory_of_a_free_slot_is_used_for_pages(void **state)
{
	(void)state;
	run_and_read("0x6,launches=0", use_many_pages_then_more_objects);
	assert_int_equal(refused, 0);
	assert_int_equal(sum(PASTA_REDUCER_PAGE, ANY).key0, 2 + PAGES);
	assert_int_equal(sum(PASTA_REDUCER_PAGE, PASTA_KEY_OTHER).key0, 0);
}

static void a_launch_has_a_row_for_each_page_that_it_touches(void **state)
{
	uint64_t page, first = 0, before = UINT64_MAX;
	size_t falls = 0;

	(void)state;
	run_and_read("0x6,launches=0", use_many_pages);
	assert_int_equal(sum(PASTA_REDUCER_PAGE, ANY).key0, PAGES + PAGES / 1000);
	assert_int_equal(sum(PASTA_REDUCER_PAGE, PASTA_KEY_OTHER).key0, 0);
	for (size_t i = 0; i < row_count; i++) {
		if (rows[i].reducer != PASTA_REDUCER_PAGE)
			continue;
		first = first ? first : rows[i].key0;
		page = (rows[i].key0 - first) / 4096;
		assert_int_equal(rows[i].loads, 1 + page % 3);
		assert_int_equal(rows[i].bytes, 4 * rows[i].loads);
		falls += rows[i].key0 <= before;
		before = rows[i].key0;
	}
	assert_int_equal(falls, 2); /* addresses ascend within each launch */
}

static void pages_without_sums_of_their_own_are_rows_of_a_table(void **state)
{
	struct pasta_access_sum_record all, other;

	(void)state;
	run_and_read("0x6,launches=0", use_many_pages_with_little_memory);
	all = sum(PASTA_REDUCER_PAGE, ANY);
	other = sum(PASTA_REDUCER_PAGE, PASTA_KEY_OTHER);
	assert_int_equal(refused, 0);
	assert_int_equal(all.key0, 65536 + 1 + PAGES / 1000);
	assert_int_equal(other.key0, 1);
	assert_int_equal(all.loads, sum(PASTA_REDUCER_OBJECT, ANY).loads);
}

/* Emitting takes longer than any wait. */
static void capture_while_rows_are_emitted(void)
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
	fake_deliver_api(SAN_CAPTURE, stream, NULL, 0);
	fake_deliver_api(SAN_CAPTURE_END, stream, NULL, 1);
	pasta_agent_stall(false);
	launch_one(stream, module, a, 1);
	end();
	free(a);
}

static void a_capture_begins_while_rows_are_emitted(void **state)
{
	(void)state;
	run_and_read("0x6,launches=0", capture_while_rows_are_emitted);
	assert_int_equal(sum(PASTA_REDUCER_OBJECT, ANY).loads, PAGES + 1);
	assert_int_equal(refused, 0);
}

/* Pages of 64 KiB, which several objects share with memory outside of objects. */
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
	struct pasta_access_sum_record r;

	(void)state;
	run_and_read("0x6,launches=0,page=16", share_pages);
	r = sum(PASTA_REDUCER_PAGE, ANY);
	assert_int_equal(r.key0, 2); /* one for each launch */
	assert_int_equal(r.loads, 2 * 60);
	assert_int_equal(r.stores, 1);
	assert_int_equal(sum(PASTA_REDUCER_OBJECT, ANY).key0, 3 + 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_launch_has_a_row_for_each_page_that_it_touches),
		TEST(pages_without_sums_of_their_own_are_rows_of_a_table),
		TEST(a_page_that_objects_share_is_one_row),
		TEST(memory_of_a_free_slot_is_used_for_pages),
		TEST(a_capture_begins_while_rows_are_emitted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
