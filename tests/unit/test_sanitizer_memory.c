/* test_sanitizer_memory.c - memory that comes and goes under the Compute Sanitizer's handler.
 * timeout: 120
 */
#include "unit/sanitizertest.h"

/* Registers blocks within a segment as PyTorch's allocator does; then the driver reports the
 * segment again. */
static void use_pieces(void)
{
	void *context, *stream, *module;
	struct fake_access a = {0, 0, 5, 4, PASTA_ACCESS_LOAD};
	struct san_memory_data again = {.bytes = 1 << 20};

	begin(&context, &stream, &module);
	again.addr = fake_alloc(context, again.bytes, 0);
	again.context = context;
	pasta_accesses_object(again.addr + 512, again.addr + 512, 1024, 0, 0);
	fake_deliver(SAN_RESOURCE, SAN_DEVICE_ALLOC, &again);
	a.addr = again.addr + 600;
	launch_one(stream, module, &a, 1);
	fake_free(context, again.addr);
	launch_one(stream, module, &a, 1);
	end();
}

static void a_block_stays_when_its_segment_is_reported_again_or_freed(void **state)
{
	(void)state;
	run_and_read("0x2,launches=0", use_pieces);
	assert_int_equal(sum(PASTA_REDUCER_OBJECT, object_of_size(1024)).loads, 10);
	assert_int_equal(sum(PASTA_REDUCER_OBJECT, ANY).loads, 10);
}

/* One launch with the first context's memory, and another one after between has run with the second
 * context. */
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

static void memory_stays_when_another_context_that_saw_it_is_destroyed(void **state)
{
	(void)state;
	setenv("FAKE_SANITIZER_SHARED", "1", 1);
	run_and_read("0x2,launches=0", use_beside_one_that_goes);
	unsetenv("FAKE_SANITIZER_SHARED");
	assert_int_equal(sum(PASTA_REDUCER_OBJECT, object_of_size(4096)).loads, 10);
	assert_int_equal(sum(PASTA_REDUCER_OBJECT, ANY).loads, 10);
}

/* As if in its own context, and in none. */
static void free_while_other_goes(struct san_memory_data *m, void *other)
{
	struct san_context_data goes = {other, 0, 0};

	fake_deliver(SAN_RESOURCE, SAN_CONTEXT_DESTROYING, &goes);
	fake_deliver(SAN_RESOURCE, SAN_DEVICE_FREE, m);
	m->context = NULL;
	fake_deliver(SAN_RESOURCE, SAN_DEVICE_FREE, m);
	fake_deliver(SAN_RESOURCE, SAN_CONTEXT_DESTROYED, &goes);
}

static void use_what_is_freed_while_another_goes(void)
{
	use_two_contexts(free_while_other_goes);
}

static void memory_stays_when_its_free_is_reported_while_another_context_is_destroyed(void **state)
{
	(void)state;
	run_and_read("0x2,launches=0", use_what_is_freed_while_another_goes);
	assert_int_equal(sum(PASTA_REDUCER_OBJECT, object_of_size(4096)).loads, 10);
	assert_int_equal(sum(PASTA_REDUCER_OBJECT, ANY).loads, 10);
}

static void free_nobodys_while_other_goes(struct san_memory_data *m, void *other)
{
	struct san_memory_data nobodys = {.addr = m->addr, .bytes = 2048};

	fake_free(m->context, m->addr);
	fake_deliver(SAN_RESOURCE, SAN_DEVICE_ALLOC, &nobodys);
	fake_deliver(SAN_RESOURCE, SAN_CONTEXT_DESTROYING, &(struct san_context_data){other, 0, 0});
	fake_deliver(SAN_RESOURCE, SAN_DEVICE_FREE, &nobodys);
	fake_deliver(SAN_RESOURCE, SAN_CONTEXT_DESTROYED, &(struct san_context_data){other, 0, 0});
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

static void free_in_a_destroyed_context(struct san_memory_data *m, void *other)
{
	fake_context_destroy(other);
	m->context = other;
	fake_deliver(SAN_RESOURCE, SAN_DEVICE_FREE, m);
}

static void use_memory_freed_in_a_destroyed_context(void)
{
	use_two_contexts(free_in_a_destroyed_context);
}

static void memory_stays_when_a_destroyed_context_reports_its_free(void **state)
{
	(void)state;
	run_and_read("0x2,launches=0", use_memory_freed_in_a_destroyed_context);
	assert_int_equal(sum(PASTA_REDUCER_OBJECT, object_of_size(4096)).loads, 10);
	assert_int_equal(sum(PASTA_REDUCER_OBJECT, ANY).loads, 10);
}

static void free_in_other(struct san_memory_data *m, void *other)
{
	m->context = other;
	fake_deliver(SAN_RESOURCE, SAN_DEVICE_FREE, m);
}

static void free_in_none(struct san_memory_data *m, void *other)
{
	(void)other;
	m->context = NULL;
	fake_deliver(SAN_RESOURCE, SAN_DEVICE_FREE, m);
}

static void free_in_stream_of_other(struct san_memory_data *m, void *other)
{
	m->context = other;
	fake_deliver(SAN_RESOURCE, SAN_ASYNC_FREE, m);
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
	assert_int_equal(sum(PASTA_REDUCER_OBJECT, object_of_size(4096)).loads, 5);
	assert_int_equal(sum(PASTA_REDUCER_OBJECT, PASTA_OBJECT_NONE).loads, 5);
}

static void memory_is_freed_after_another_context_was_destroyed(void **state)
{
	(void)state;
	run_and_read("0x2,launches=0", use_what_is_freed_after_another_went);
	must_be_freed();
}

static void memory_without_context_may_be_freed_with_any(void **state)
{
	(void)state;
	run_and_read("0x2,launches=0", use_nobodys);
	must_be_freed();
}

static void memory_that_only_its_context_saw_is_freed_by_another(void **state)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_block_stays_when_its_segment_is_reported_again_or_freed),
		TEST(memory_stays_when_another_context_that_saw_it_is_destroyed),
		TEST(memory_stays_when_its_free_is_reported_while_another_context_is_destroyed),
		TEST(memory_stays_when_a_destroyed_context_reports_its_free),
		TEST(memory_without_context_may_be_freed_with_any),
		TEST(memory_is_freed_after_another_context_was_destroyed),
		TEST(memory_that_only_its_context_saw_is_freed_by_another),
		TEST(memory_that_contexts_share_is_freed_for_all_of_them),
		TEST(memory_that_contexts_share_is_freed_in_a_stream_of_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
