/* test_cupti_vmm.c - virtual memory management: cuMemCreate, cuMemMap and their counterparts. */
#include <pthread.h>

#include "handlers/cupti/cupti.h"
#include "unit/agent_run.h"

enum { READ_MAX = 64, SIZE = 2 << 20, MANY = 20000 };

/* -- Driver calls, as CUPTI reports them -- */

static void call(const char *function, const void *params, int status)
{
	struct cupti_call c = {
		.function = function, .params = params, .ret = &status, .context_id = 9};

	cupti_vmm_call(&c);
	c.site = 1;
	cupti_vmm_call(&c);
}

static void create_on(uint64_t handle, uint32_t location, uint32_t device, int status)
{
	struct cu_mem_prop prop = {.type = 1, .location = location, .id = device};

	call("cuMemCreate", &(struct cu_mem_create){.handle = &handle, .size = SIZE, .prop = &prop},
	     status);
}

static void create(uint64_t handle)
{
	create_on(handle, 1, 3, 0);
}

static void map(uint64_t at, uint64_t handle)
{
	call("cuMemMap", &(struct cu_mem_map){.address = at, .size = SIZE, .handle = handle}, 0);
}

static void unmap(uint64_t at, uint64_t count)
{
	call("cuMemUnmap", &(struct cu_mem_unmap){.address = at, .size = count * SIZE}, 0);
}

static void retain(uint64_t handle)
{
	call("cuMemRetainAllocationHandle", &(struct cu_mem_retain){.handle = &handle}, 0);
}

static void release(uint64_t handle)
{
	call("cuMemRelease", &(struct cu_mem_release){handle}, 0);
}

/* -- The records, in order, one line each -- */

static char text[READ_MAX * 80];
static size_t events;

static void read_back(void)
{
	struct pasta_stream *s = open_run(NULL);
	const struct pasta_event *ev;
	size_t at = 0;

	text[0] = '\0';
	events = 0;
	while ((ev = pasta_stream_next(s))) {
		if (ev->kind != PASTA_KIND_ALLOC && ev->kind != PASTA_KIND_FREE)
			continue;
		if (++events > READ_MAX)
			continue;
		if (ev->kind == PASTA_KIND_ALLOC)
			at += (size_t)snprintf(text + at, sizeof(text) - at,
					       "%u %llx of %llx, %u, %u\n", ev->sub,
					       (unsigned long long)ev->alloc.addr,
					       (unsigned long long)ev->alloc.parent,
					       ev->alloc.device, ev->alloc.pool != 0);
		else
			at += (size_t)snprintf(text + at, sizeof(text) - at, "free %llx, %u\n",
					       (unsigned long long)ev->free.addr,
					       ev->free.pool != 0);
	}
	pasta_stream_free(s);
}

static const char *recorded(void (*work)(void))
{
	assert_int_equal(in_child(work), 0);
	read_back();
	return text;
}

static void release_then_unmap(void)
{
	create(0xa);
	map(0x10000000, 0xa);
	map(0x20000000, 0xa);
	release(0xa);
	unmap(0x20000000, 1);
	unmap(0x10000000, 1);
	pasta_agent_close();
}

static void memory_ends_when_its_last_address_is_unmapped(void **state)
{
	(void)state;
	assert_string_equal(recorded(release_then_unmap), "7 a of 0, 3, 1\n"
							  "8 10000000 of a, 3, 0\n"
							  "8 20000000 of a, 3, 0\n"
							  "free 20000000, 0\n"
							  "free 10000000, 0\n"
							  "free a, 1\n");
}

static void release_twice(void)
{
	create(0xa);
	map(0x10000000, 0xa);
	retain(0xa);
	release(0xa);
	unmap(0x10000000, 1);
	release(0xa);
	release(0xa); /* the handle has ended */
	pasta_agent_close();
}

static void memory_ends_with_its_last_reference(void **state)
{
	(void)state;
	assert_string_equal(recorded(release_twice), "7 a of 0, 3, 1\n"
						     "8 10000000 of a, 3, 0\n"
						     "free 10000000, 0\n"
						     "free a, 1\n");
}

static void unmap_several(void)
{
	for (uint64_t i = 0; i < 3; i++) {
		create(0xa + i);
		map(0x10000000 + i * SIZE, 0xa + i);
		release(0xa + i);
	}
	unmap(0x10000000 + SIZE, 2);
	pasta_agent_close();
}

static void each_range_of_one_unmap_ends_separately(void **state)
{
	(void)state;
	assert_string_equal(recorded(unmap_several), "7 a of 0, 3, 1\n"
						     "8 10000000 of a, 3, 0\n"
						     "7 b of 0, 3, 1\n"
						     "8 10200000 of b, 3, 0\n"
						     "7 c of 0, 3, 1\n"
						     "8 10400000 of c, 3, 0\n"
						     "free 10200000, 0\n"
						     "free b, 1\n"
						     "free 10400000, 0\n"
						     "free c, 1\n");
}

static void fail_and_be_foreign(void)
{
	create_on(0xa, 1, 3, 2);
	create_on(0xb, 2, 0, 0);
	map(0x10000000, 0xdead); /* created by another process */
	release(0xdead);
	unmap(0x10000000, 1);
	call("cuMemMap", &(struct cu_mem_map){.address = 1, .size = SIZE, .handle = 0xb}, 1);
	call("cuMemCreate", NULL, 0);
	call("cuMemAlloc_v2", &(struct cu_mem_release){0xb}, 0);
	pasta_agent_close();
}

static void failed_calls_record_nothing_and_host_memory_is_of_type_host(void **state)
{
	(void)state;
	assert_string_equal(recorded(fail_and_be_foreign), "2 b of 0, 0, 1\n"
							   "8 10000000 of dead, 0, 0\n"
							   "free 10000000, 0\n");
}

/* The driver may reuse a handle before the unmap that ended it has returned. */
static void reuse_handle(void)
{
	create(0xa);
	map(0x10000000, 0xa);
	release(0xa);
	create(0xa);
	unmap(0x10000000, 1);
	release(0xa);
	pasta_agent_close();
}

static void a_reused_handle_is_new_memory(void **state)
{
	(void)state;
	assert_string_equal(recorded(reuse_handle), "7 a of 0, 3, 1\n"
						    "8 10000000 of a, 3, 0\n"
						    "free a, 1\n"
						    "7 a of 0, 3, 1\n"
						    "free 10000000, 0\n"
						    "free a, 1\n");
}

static void *make_many(void *arg)
{
	uint64_t base = (uint64_t)(uintptr_t)arg << 40;

	for (uint64_t i = 0; i < MANY; i++) {
		create(base + i + 1);
		map(base + (i + 1) * SIZE, base + i + 1);
	}
	unmap(base + SIZE, MANY);
	for (uint64_t i = 0; i < MANY; i++)
		release(base + i + 1);
	return NULL;
}

static void make_in_threads(void)
{
	pthread_t threads[2];

	for (uintptr_t i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, make_many, (void *)(i + 1)))
			_exit(92);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	pasta_agent_close();
}

static void many_handles_are_all_recorded(void **state)
{
	struct pasta_loss_summary account;
	struct pasta_stream *s;

	(void)state;
	recorded(make_in_threads);
	s = open_run(NULL);
	while (pasta_stream_next(s))
		;
	pasta_stream_loss(s, &account);
	pasta_stream_free(s);
	assert_int_equal(events + account.dropped, 2 * 4 * MANY);
}

static void ask_for_functions(void)
{
	static const char *const own[] = {"cuMemCreate",  "cuMemRetainAllocationHandle",
					  "cuMemRelease", "cuMemMap",
					  "cuMemUnmap",	  "cuMemSetAccess"};
	static const char *const others[] = {"cuMemMapArrayAsync", "cuMemAddressReserve", "cuMem"};

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (!cupti_vmm_is(own[i]))
			_exit(90);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (cupti_vmm_is(others[i]))
			_exit(91);
}

static void only_vmm_functions_are_enabled(void **state)
{
	(void)state;
	assert_int_equal(in_child(ask_for_functions), 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, make_run, remove_run)
	const struct CMUnitTest tests[] = {
		T(memory_ends_when_its_last_address_is_unmapped),
		T(memory_ends_with_its_last_reference),
		T(each_range_of_one_unmap_ends_separately),
		T(failed_calls_record_nothing_and_host_memory_is_of_type_host),
		T(a_reused_handle_is_new_memory),
		T(many_handles_are_all_recorded),
		T(only_vmm_functions_are_enabled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
