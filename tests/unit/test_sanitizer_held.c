/* test_sanitizer_held.c - programs that a device waits for, under the Compute Sanitizer's handler:
 * no call of theirs may wait for the device. Where it would, the fake kills the process. */
/* timeout: 240 */
#include "unit/sanitizertest.h"

enum { OBJECTS = 3000, LAUNCHES = 60 };

/* The access belongs to the module, and accesses an object of 4 KiB. */
static void begin_with(void **context, void **stream, void **module, struct fake_access *a)
{
	begin(context, stream, module);
	a->pc = fake_pc(*module);
	a->addr = fake_alloc(*context, 4096, 0);
}

static void launch(void *stream, void *module, const struct fake_access *a, int ms)
{
	fake_launch(stream, &(struct fake_kernel){module, "kernel", 4, 64, a, 1, ms});
}

/* Launches a kernel that never ends, and waits until it runs. */
static void launch_endless(void *stream, void *module, const struct fake_access *a)
{
	launch(stream, module, a, FAKE_NEVER);
	usleep(100000);
}

/* -- Reading -- */

static void *held;
static atomic_bool is_held;

/* Just before the slot is read, puts work on its stream that waits for the program. */
static int read_held(void *to, void *from, size_t size, void *stream)
{
	if (!atomic_exchange(&is_held, true)) {
		struct op *op = calloc(1, sizeof(*op));

		op->what = KERNEL;
		op->kernel.ms = FAKE_NEVER;
		fake_give(held, op);
	}
	return sanitizerMemcpyDeviceToHost(to, from, size, stream);
}

static void launch_on_a_stream_that_is_held_up(void)
{
	void *context, *module;
	struct fake_access a = {0, 0, 5, 4, PASTA_ACCESS_LOAD};

	alarm(30);
	begin_with(&context, &held, &module, &a);
	sanitizer.MemcpyDeviceToHost = read_held;
	launch_one(held, module, &a, 1);
	san_completion_wait_all();
	launch_one(held, module, &a, 1);
	end();
}

static void a_slot_is_read_although_its_stream_is_blocked(void **state)
{
	(void)state;
	run_and_read("0x6,launches=0", launch_on_a_stream_that_is_held_up);
	assert_int_equal(counted, 2);
	assert_int_equal(sum(PASTA_REDUCER_OBJECT, ANY).loads, 5);
}

/* -- Code -- */

/* Enough uncounted launches for the module to be unpatched, beside work that waits. */
static void launch_many(void *context, void *module, const struct fake_access *a)
{
	void *stream = fake_stream(context);

	usleep(100000);
	for (uint32_t i = 0; i < 200; i++)
		launch(stream, module, a, 0);
	if (fake_unpatched())
		_exit(7);
	_exit(0);
}

static void destroy_a_stream_whose_kernel_never_ends(void)
{
	void *context, *stream, *module;
	struct fake_access a = {0, 0, 1, 4, PASTA_ACCESS_LOAD};

	begin_with(&context, &stream, &module, &a);
	for (uint32_t i = 0; i < 3; i++)
		launch(stream, module, &a, 0);
	launch(stream, module, &a, FAKE_NEVER);
	fake_stream_destroy(stream);
	launch_many(context, module, &a);
}

/* On a stream without launches. */
static void wait_on_a_stream_without_kernels(void)
{
	void *context, *stream, *module;
	struct fake_access a = {0, 0, 1, 4, PASTA_ACCESS_LOAD};
	struct op *op = calloc(1, sizeof(*op));

	begin_with(&context, &stream, &module, &a);
	op->what = KERNEL;
	op->kernel.ms = FAKE_NEVER;
	fake_give(stream, op);
	launch_many(context, module, &a);
}

static void code_does_not_change_while_a_destroyed_stream_runs(void **state)
{
	(void)state;
	run_and_read("0x2,launches=3", destroy_a_stream_whose_kernel_never_ends);
	assert_int_equal(counted, 3);
}

static void code_does_not_change_while_work_waits(void **state)
{
	(void)state;
	run_and_read("0x2,launches=3", wait_on_a_stream_without_kernels);
	assert_int_equal(counted, 3);
}

static atomic_bool unpatching, waited;

static int unpatch_slowly(void *module)
{
	atomic_store(&unpatching, true);
	usleep(300000);
	atomic_store(&unpatching, false);
	return sanitizerUnpatchModule(module);
}

static void *wait_on_a_stream(void *stream)
{
	while (!atomic_load(&unpatching))
		usleep(1000);
	fake_deliver_api(SAN_WAIT_VALUE32_2, stream, &stream, 0);
	atomic_store(&waited, !atomic_load(&unpatching));
	fake_deliver_api(SAN_WAIT_VALUE32_2, stream, &stream, 1);
	return NULL;
}

/* Puts work that may wait for the program on a stream while code is unpatched. */
static void wait_while_code_is_unpatched(void)
{
	void *context, *stream, *module;
	struct fake_access a = {0, 0, 1, 4, PASTA_ACCESS_LOAD};
	pthread_t thread;

	begin_with(&context, &stream, &module, &a);
	sanitizer.UnpatchModule = unpatch_slowly;
	if (pthread_create(&thread, NULL, wait_on_a_stream, stream))
		_exit(8);
	for (uint32_t i = 0; i < 200; i++)
		launch(stream, module, &a, 0);
	pthread_join(thread, NULL);
	if (!fake_unpatched() || !atomic_load(&waited))
		_exit(7);
	end();
}

static void no_work_that_may_wait_is_added_while_code_is_unpatched(void **state)
{
	(void)state;
	run_and_read("0x2,launches=3", wait_while_code_is_unpatched);
	assert_int_equal(counted, 3);
}

/* -- Contexts -- */

enum { GOES, FAILS };

/* Launches in another context after the first one was destroyed, or has failed unnoticed. */
static void launch_after(int how)
{
	void *contexts[2], *streams[2], *modules[2];
	struct fake_access a = {0, 0, 1, 4, PASTA_ACCESS_LOAD};

	begin_with(&contexts[0], &streams[0], &modules[0], &a);
	contexts[1] = fake_context(1);
	streams[1] = fake_stream(contexts[1]);
	modules[1] = fake_module(contexts[1]);
	for (uint32_t i = 0; i < 3; i++)
		launch(streams[0], modules[0], &a, 0);
	san_completion_wait_all();
	if (how == FAILS)
		launch(streams[0], modules[0], &a, FAKE_FAULTS);
	else
		fake_context_destroy(contexts[0]);
	for (uint32_t i = 0; i < 200; i++)
		launch(streams[1], modules[1], &a, 0);
	if (!fake_unpatched())
		_exit(7);
	end();
}

static void launch_after_one_goes(void)
{
	launch_after(GOES);
}

static void launch_after_one_fails(void)
{
	launch_after(FAILS);
}

static void a_destroyed_context_is_not_waited_for(void **state)
{
	(void)state;
	run_and_read("0x2,launches=3", launch_after_one_goes);
	assert_int_equal(counted, 3); /* of the process */
}

static void a_failed_context_does_not_block_another(void **state)
{
	(void)state;
	run_and_read("0x2,launches=3", launch_after_one_fails);
	assert_int_equal(counted, 3); /* of the process */
}

/* -- Device memory -- */

/* Slots with few pages, and a kernel that never ends; then there are more pages. */
static void grow_beside_a_kernel_that_never_ends(void)
{
	void *context, *streams[2], *module;
	struct fake_access a = {0, 0, 1, 4, PASTA_ACCESS_LOAD};

	begin_with(&context, &streams[0], &module, &a);
	streams[1] = fake_stream(context);
	launch(streams[0], module, &a, 100);
	launch(streams[1], module, &a, 100);
	san_completion_wait_all();
	launch_endless(streams[0], module, &a);
	for (uint64_t gib = 1; gib < 5; gib++) {
		fake_alloc(context, gib << 30, 0);
		launch(streams[1], module, &a, 0);
	}
	san_completion_end(NULL, NULL);
	_exit(0); /* the kernel still runs */
}

static void memory_is_not_freed_while_a_kernel_runs(void **state)
{
	(void)state;
	run_and_read("0x6,launches=0", grow_beside_a_kernel_that_never_ends);
	assert_int_equal(counted, 7);
	assert_int_equal(refused, 0);
	assert_int_equal(sum(PASTA_REDUCER_OBJECT, ANY).loads, 6);
}

/* The same without such a kernel: memory is freed before a launch. On a busy machine the handler
 * may postpone this to a later launch. */
static void grow(void)
{
	void *context, *stream, *module;
	struct fake_access a = {0, 0, 1, 4, PASTA_ACCESS_LOAD};
	const struct san_context *c;

	begin_with(&context, &stream, &module, &a);
	c = san_context(context, 0);
	for (uint64_t i = 1; i < 13 || (i < 200 && c->pages_most < SAN_PAGES_MOST); i++) {
		if (i < 13)
			fake_alloc(context, i << 30, 0);
		launch(stream, module, &a, 0);
		san_completion_wait_all();
	}
	if (c->bytes > UINT64_C(1) << 30)
		_exit(7);
	if (c->pages_most < SAN_PAGES_MOST) /* not all pages had room, and still have not */
		_exit(8);
	end();
}

static void spare_memory_is_freed_eventually(void **state)
{
	(void)state;
	run_and_read("0x6,launches=0", grow);
	assert_in_range(counted, 12, 199);
	assert_int_equal(refused, 0);
	assert_int_equal(sum(PASTA_REDUCER_PAGE, ANY).loads, counted);
}

/* -- Object lists -- */

static void launch_behind_a_kernel_that_never_ends(void)
{
	void *context, *stream, *module;
	struct fake_access a = {0, 0, 1, 4, PASTA_ACCESS_LOAD};

	begin_with(&context, &stream, &module, &a);
	for (uint32_t i = 0; i < OBJECTS; i++)
		fake_alloc(context, 512, 0);
	launch_endless(stream, module, &a);
	for (uint32_t i = 0; i < LAUNCHES; i++)
		launch(stream, module, &a, 0);
	_exit(0);
}

static void launches_behind_a_kernel_that_never_ends_return(void **state)
{
	(void)state;
	run_and_read("0x2,launches=0", launch_behind_a_kernel_that_never_ends);
	assert_int_equal(counted + refused, 1 + LAUNCHES);
	assert_in_range(counted, 10,
			LAUNCHES / 2); /* the other launches would have to wait for the kernel */
}

/* Without such a kernel all launches are counted, although each one has new objects. */
static void launch_with_many_objects(void)
{
	void *context, *streams[4], *module;
	struct fake_access a = {0, 0, 1, 4, PASTA_ACCESS_LOAD};

	begin_with(&context, &streams[0], &module, &a);
	for (uint32_t i = 1; i < 4; i++)
		streams[i] = fake_stream(context);
	for (uint32_t i = 0; i < OBJECTS; i++)
		fake_alloc(context, 512, 0);
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		fake_alloc(context, 256, 0);
		launch(streams[i % 4], module, &a, 2);
	}
	end();
}

static void launches_with_many_objects_are_all_counted(void **state)
{
	(void)state;
	run_and_read("0x2,launches=0", launch_with_many_objects);
	assert_int_equal(counted, LAUNCHES);
	assert_int_equal(refused, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_slot_is_read_although_its_stream_is_blocked),
		TEST(code_does_not_change_while_a_destroyed_stream_runs),
		TEST(code_does_not_change_while_work_waits),
		TEST(no_work_that_may_wait_is_added_while_code_is_unpatched),
		TEST(a_destroyed_context_is_not_waited_for),
		TEST(a_failed_context_does_not_block_another),
		TEST(memory_is_not_freed_while_a_kernel_runs),
		TEST(spare_memory_is_freed_eventually),
		TEST(launches_behind_a_kernel_that_never_ends_return),
		TEST(launches_with_many_objects_are_all_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
