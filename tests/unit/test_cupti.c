/* test_cupti.c - the CUPTI handler on a fake of CUPTI, without a GPU. */
#include "programs/fake_cupti.c"

#include "handlers/cupti/cupti.h"
#include "unit/agent_run.h"

enum { MANY = 2000, READ_MAX = 64, THREADS = 4 };

/* -- A buffer, as CUPTI gives it -- */

static _Alignas(8) uint8_t buffer[MANY * 256];
static size_t used;

static void put_record(const void *head, size_t known)
{
	size_t size = fake_size(((const struct cupti_record *)head)->kind);

	memset(buffer + used, 0xa5, size);
	memcpy(buffer + used, head, known);
	used += size;
}

#define PUT(...) put_record(&(__VA_ARGS__), sizeof(__VA_ARGS__))

static void bind_fake(void)
{
#define F(name, args) cupti.name = cupti##name;
	CUPTI_FUNCTIONS(F)
#undef F
}

static void take_buffer(void)
{
	bind_fake();
	cupti_activity_take(buffer, used);
	pasta_agent_close();
}

/* -- What was recorded -- */

static struct {
	struct pasta_event ev[READ_MAX];
	char name[READ_MAX][32];
	size_t count, launches, kernels;
	struct pasta_account account;
} got;

static uint32_t name_in(const struct pasta_event *ev)
{
	return ev->kind == PASTA_KERNEL ? ev->kernel.name
	       : ev->kind == PASTA_API	? ev->api.name
					: 0;
}

static void read_back(void)
{
	struct pasta_stream *s = open_run(NULL);
	const struct pasta_event *ev;

	memset(&got, 0, sizeof(got));
	while ((ev = pasta_stream_next(s))) {
		got.launches += ev->kind == PASTA_LAUNCH;
		got.kernels += ev->kind == PASTA_KERNEL;
		if (ev->kind < PASTA_KERNEL || ev->kind > PASTA_API || got.count == READ_MAX)
			continue;
		memcpy(&got.ev[got.count], ev, ev->size);
		snprintf(got.name[got.count], sizeof(got.name[0]), "%s", pasta_str(name_in(ev)));
		got.count++;
	}
	pasta_stream_loss(s, &got.account);
	pasta_stream_free(s);
}

/* Records to events, in a process of its own. The buffer is built before. */
static void convert(void)
{
	assert_int_equal(in_child(take_buffer), 0);
	read_back();
	used = 0;
	assert_int_equal(got.account.dropped, 0);
}

static void a_kernel_has_all_its_fields_in_every_version(void **state)
{
	static const char *const versions[] = {"19", "28", "130001", "130401"};
	uint64_t t = pasta_now();

	for (size_t i = 0; i < 4; i++) {
		const struct pasta_kernel *k = &got.ev[1].kernel;

		setenv("FAKE_CUPTI_VERSION", versions[i], 1);
		for (uint32_t n = 0; n < 3; n++)
			PUT((struct cupti_kernel){.kind = CUPTI_KERNEL,
						  .registers = 255,
						  .start = t + n * 1000,
						  .end = t + n * 1000 + 77,
						  .device = 1,
						  .context = 2,
						  .stream = 3,
						  .grid = {INT32_MAX, 5, 6},
						  .block = {7, 8, 9},
						  .shared_static = 10,
						  .shared_dynamic = 11,
						  .local = 12,
						  .correlation = UINT32_MAX - n,
						  .name = "saxpy",
						  .node = UINT64_C(1) << 40});
		convert();
		assert_int_equal(got.count, 3);
		assert_string_equal(got.name[1], "saxpy");
		assert_int_equal(k->dur, 77);
		assert_int_equal(k->corr, UINT32_MAX - 1);
		assert_int_equal(k->node, UINT64_C(1) << 40);
		assert_int_equal(k->device * 100 + k->context * 10 + k->stream, 123);
		assert_int_equal(k->grid_x, INT32_MAX);
		assert_int_equal(k->grid_y * 10 + k->grid_z, 56);
		assert_int_equal(k->block_x * 100 + k->block_y * 10 + k->block_z, 789);
		assert_int_equal(k->registers, 255);
		assert_int_equal(k->shared_static, 10);
		assert_int_equal(k->shared_dynamic, 11);
		assert_int_equal(k->local_bytes, 12);
		assert_int_equal(got.ev[1].time - got.ev[0].time, 1000);
		remove_run(state);
		assert_int_equal(make_run(state), 0);
	}
	unsetenv("FAKE_CUPTI_VERSION");
}

static void what_ends_before_it_starts_takes_no_time(void **state)
{
	uint64_t t = pasta_now();

	(void)state;
	PUT((struct cupti_kernel){.kind = CUPTI_KERNEL, .start = t, .end = t - 1});
	PUT((struct cupti_memcpy){.kind = CUPTI_MEMCPY, .start = t, .end = 0});
	PUT((struct cupti_memcpy_p2p){.kind = CUPTI_MEMCPY_P2P, .start = t, .end = t});
	PUT((struct cupti_memset){.kind = CUPTI_MEMSET, .start = t, .end = t - 1});
	PUT((struct cupti_sync){.kind = CUPTI_SYNC, .start = t, .end = 1});
	PUT((struct cupti_api){.kind = CUPTI_DRIVER, .start = t, .end = 2});
	convert();
	assert_int_equal(got.count, 6);
	for (size_t i = 0; i < got.count; i++)
		assert_int_equal(got.ev[i].kernel.dur, 0); /* the first field of all of them */
}

static void a_kernel_without_a_name_has_none(void **state)
{
	(void)state;
	PUT((struct cupti_kernel){.kind = CUPTI_KERNEL, .start = pasta_now(), .name = NULL});
	convert();
	assert_int_equal(got.count, 1);
	assert_string_equal(got.name[0], "");
}

static void copies_have_their_direction_and_unknown_ones_have_none(void **state)
{
	static const uint8_t copies[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255};
	static const uint8_t subs[] = {0,
				       PASTA_COPY_H2D,
				       PASTA_COPY_D2H,
				       PASTA_COPY_H2D,
				       PASTA_COPY_D2H,
				       PASTA_COPY_D2D,
				       PASTA_COPY_D2D,
				       PASTA_COPY_D2D,
				       PASTA_COPY_D2D,
				       PASTA_COPY_H2H,
				       PASTA_COPY_P2P,
				       0,
				       0};
	uint64_t t = pasta_now();

	(void)state;
	for (size_t i = 0; i < sizeof(copies); i++)
		PUT((struct cupti_memcpy){.kind = CUPTI_MEMCPY,
					  .copy = copies[i],
					  .bytes = (UINT64_C(1) << 40) + i,
					  .start = t + i,
					  .end = t + i + 5,
					  .device = 1,
					  .context = 2,
					  .stream = 3,
					  .correlation = 4,
					  .node = 5});
	convert();
	assert_int_equal(got.count, sizeof(copies));
	for (size_t i = 0; i < sizeof(copies); i++) {
		const struct pasta_copy *c = &got.ev[i].copy;

		assert_int_equal(got.ev[i].sub, subs[i]);
		assert_int_equal(c->bytes, (UINT64_C(1) << 40) + i);
		assert_int_equal(c->dur, 5);
		assert_int_equal(c->device * 100 + c->context * 10 + c->stream, 123);
		assert_int_equal(c->corr * 10 + c->node, 45);
	}
}

static void a_peer_copy_names_both_devices(void **state)
{
	const struct pasta_copy *c = &got.ev[0].copy;
	uint64_t t = pasta_now();

	(void)state;
	PUT((struct cupti_memcpy_p2p){.kind = CUPTI_MEMCPY_P2P,
				      .bytes = 4096,
				      .start = t,
				      .end = t + 9,
				      .device = 7,
				      .context = 2,
				      .stream = 3,
				      .from = 1,
				      .to = 5,
				      .correlation = 4,
				      .node = 6});
	convert();
	assert_int_equal(got.count, 1);
	assert_int_equal(got.ev[0].sub, PASTA_COPY_P2P);
	assert_int_equal(c->device, 1);
	assert_int_equal(c->peer, 5);
	assert_int_equal(c->bytes, 4096);
	assert_int_equal(c->dur, 9);
	assert_int_equal(c->context * 1000 + c->stream * 100 + c->corr * 10 + c->node, 2346);
}

static void sets_syncs_and_calls_have_their_fields(void **state)
{
	const struct pasta_set *m = &got.ev[0].set;
	const struct pasta_sync *s = &got.ev[1].sync;
	uint64_t t = pasta_now();

	(void)state;
	PUT((struct cupti_memset){.kind = CUPTI_MEMSET,
				  .value = 0xff,
				  .bytes = 64,
				  .start = t,
				  .end = t + 1,
				  .device = 1,
				  .context = 2,
				  .stream = 3,
				  .correlation = 4,
				  .node = 5});
	PUT((struct cupti_sync){.kind = CUPTI_SYNC,
				.start = t + 1,
				.end = t + 3,
				.correlation = 1,
				.context = 2,
				.stream = UINT32_MAX,
				.event = 9});
	PUT((struct cupti_api){.kind = CUPTI_DRIVER,
			       .id = 3,
			       .start = t + 2,
			       .end = t + 6,
			       .thread = 4242,
			       .correlation = 8,
			       .status = 700});
	PUT((struct cupti_api){.kind = CUPTI_RUNTIME, .id = 1, .start = t + 3});
	PUT((struct cupti_api){.kind = CUPTI_RUNTIME, .id = 999, .start = t + 4});
	convert();
	assert_int_equal(got.count, 5);
	assert_int_equal(m->value, 0xff);
	assert_int_equal(m->bytes, 64);
	assert_int_equal(m->device * 100 + m->context * 10 + m->stream, 123);
	assert_int_equal(m->corr * 100 + m->node * 10 + m->dur, 451);
	assert_int_equal(s->stream, UINT32_MAX);
	assert_int_equal(s->dur * 1000 + s->corr * 100 + s->context * 10 + s->event, 2129);
	assert_int_equal(got.ev[2].sub, PASTA_API_DRIVER);
	assert_int_equal(got.ev[2].tid, 4242);
	assert_int_equal(got.ev[2].api.status, 700);
	assert_int_equal(got.ev[2].api.corr * 10 + got.ev[2].api.dur, 84);
	assert_string_equal(got.name[2], "cuLaunchKernel");
	assert_int_equal(got.ev[3].sub, PASTA_API_RUNTIME);
	assert_string_equal(got.name[3], "cudaLaunchKernel_v7000");
	assert_string_equal(got.name[4], "");
}

static void memory_is_allocated_or_released_and_else_nothing(void **state)
{
	static const uint8_t subs[] = {0,
				       PASTA_ALLOC_HOST,
				       PASTA_ALLOC_HOST,
				       PASTA_ALLOC_DEVICE,
				       PASTA_ALLOC_IMAGE,
				       PASTA_ALLOC_MANAGED,
				       PASTA_ALLOC_DEVICE,
				       PASTA_ALLOC_MANAGED,
				       0};
	struct cupti_memory m = {.kind = CUPTI_MEMORY,
				 .address = 0x7f0000000000,
				 .bytes = 512,
				 .time = pasta_now(),
				 .device = 1,
				 .context = 2};

	(void)state;
	for (m.operation = 0; m.operation < 4; m.operation++)
		for (m.sort = 0; m.sort < sizeof(subs); m.sort++, m.time++)
			PUT(m);
	convert();
	assert_int_equal(got.count, 2 * sizeof(subs));
	for (size_t i = 0; i < sizeof(subs); i++) {
		const struct pasta_event *a = &got.ev[i], *f = &got.ev[sizeof(subs) + i];

		assert_int_equal(a->kind, PASTA_ALLOC);
		assert_int_equal(a->sub, subs[i]);
		assert_int_equal(a->alloc.addr, 0x7f0000000000);
		assert_int_equal(a->alloc.bytes, 512);
		assert_int_equal(a->alloc.device * 10 + a->alloc.context, 12);
		assert_int_equal(f->kind, PASTA_FREE);
		assert_int_equal(f->free.addr, 0x7f0000000000);
		assert_int_equal(f->free.bytes, 512);
		assert_int_equal(f->free.device * 10 + f->free.context, 12);
	}
}

static void records_of_kinds_that_are_not_known_are_passed_over(void **state)
{
	uint64_t t = pasta_now();

	(void)state;
	PUT((struct cupti_record){FAKE_OVERHEAD});
	PUT((struct cupti_kernel){.kind = CUPTI_KERNEL, .start = t, .correlation = 1});
	PUT((struct cupti_record){FAKE_OVERHEAD});
	PUT((struct cupti_record){FAKE_OVERHEAD});
	PUT((struct cupti_kernel){.kind = CUPTI_KERNEL, .start = t + 1, .correlation = 2});
	convert();
	assert_int_equal(got.count, 2);
	assert_int_equal(got.ev[0].kernel.corr, 1);
	assert_int_equal(got.ev[1].kernel.corr, 2);
}

static void a_buffer_may_hold_more_than_is_pushed_at_once(void **state)
{
	uint64_t t = pasta_now();

	(void)state;
	for (uint32_t i = 0; i < MANY; i++)
		PUT((struct cupti_kernel){.kind = CUPTI_KERNEL, .start = t + i, .correlation = i});
	convert();
	assert_int_equal(got.kernels, MANY);
}

static void *take_again(void *arg)
{
	(void)arg;
	for (int i = 0; i < 5; i++)
		cupti_activity_take(buffer, used);
	return NULL;
}

static void take_in_threads(void)
{
	pthread_t threads[THREADS];

	bind_fake();
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, take_again, NULL))
			_exit(92);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pasta_agent_close();
}

static void buffers_that_several_threads_bring_at_once_are_all_taken(void **state)
{
	uint64_t t = pasta_now();

	(void)state;
	for (uint32_t i = 0; i < MANY; i++)
		PUT((struct cupti_kernel){.kind = CUPTI_KERNEL, .start = t + i, .correlation = i});
	assert_int_equal(in_child(take_in_threads), 0);
	used = 0;
	read_back();
	assert_int_equal(got.kernels + got.account.dropped, MANY * THREADS * 5);
}

static void kinds_that_no_tool_wants_are_not_recorded(void **state)
{
	char kinds[24];

	(void)state;
	PUT((struct cupti_kernel){.kind = CUPTI_KERNEL, .start = pasta_now()});
	PUT((struct cupti_memset){.kind = CUPTI_MEMSET, .start = pasta_now()});
	snprintf(kinds, sizeof(kinds), "%llx", (unsigned long long)PASTA_BIT(SET));
	setenv(PASTA_ENV_KINDS, kinds, 1);
	convert();
	unsetenv(PASTA_ENV_KINDS);
	assert_int_equal(got.count, 1);
	assert_int_equal(got.ev[0].kind, PASTA_SET);
}

/* -- Launches -- */

static void begin_recording(void)
{
	bind_fake();
	if (cupti_callbacks_start() != CUPTI_OK || cupti_activity_start() != CUPTI_OK)
		_exit(90);
}

static void end_recording(void)
{
	cupti_activity_flush(true);
	if (fake_delivered() + fake_dropped() != fake_made())
		_exit(91);
	pasta_agent_close();
}

static void launch_one(const char *function)
{
	fake_call(&(struct fake_work){.function = function,
				      .kind = CUPTI_KERNEL,
				      .context = 1,
				      .stream = 2,
				      .name = "kernel"});
}

static void *launch_many(void *arg)
{
	(void)arg;
	for (int i = 0; i < MANY; i++)
		launch_one(i % 2 ? "cuLaunchKernel" : "cuLaunchKernelEx");
	return NULL;
}

static void launch_in_threads(void)
{
	pthread_t threads[THREADS];

	begin_recording();
	cuptiActivityFlushPeriod(1000);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, launch_many, NULL))
			_exit(92);
	for (int i = 0; i < 20; i++)
		cupti_activity_flush(true); /* while they launch */
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	end_recording();
}

static void launches_of_threads_and_their_kernels_are_all_there(void **state)
{
	(void)state;
	assert_int_equal(in_child(launch_in_threads), 0);
	read_back();
	assert_int_equal(got.launches, THREADS * MANY);
	assert_int_equal(got.kernels, THREADS * MANY);
	assert_int_equal(got.account.dropped, 0);
}

static void what_cupti_drops_is_in_the_account(void **state)
{
	(void)state;
	setenv("FAKE_CUPTI_DROP", "5", 1);
	setenv(PASTA_ENV_KINDS, "6", 1); /* launches and kernels */
	assert_int_equal(in_child(launch_in_threads), 0);
	unsetenv("FAKE_CUPTI_DROP");
	unsetenv(PASTA_ENV_KINDS);
	read_back();
	assert_int_equal(got.launches, THREADS * MANY);
	assert_int_equal(got.kernels, THREADS * MANY / 5 * 4);
	assert_int_equal(got.account.by_reason[PASTA_LOSS_SOURCE], THREADS * MANY / 5);
	assert_int_equal(got.account.dropped, THREADS * MANY / 5);
}

static void launch_off_and_on(void)
{
	pasta_agent_set_active(false);
	begin_recording();
	for (int i = 0; i < MANY; i++) {
		pasta_agent_set_active(i / 3 % 2);
		launch_one("cuLaunchKernel");
		if (i % 1000 == 0)
			cupti_activity_flush(true);
	}
	end_recording();
}

static void kernels_are_recorded_whose_launch_was(void **state)
{
	(void)state;
	assert_int_equal(in_child(launch_off_and_on), 0);
	read_back();
	assert_int_equal(got.launches, MANY / 2 - 1); /* from 3 to 5, ..., from 1995 to 1997 */
	assert_int_equal(got.kernels, got.launches);
}

static void make_nodes(void)
{
	static const char *const functions[] = {"cuGraphAddMemcpyNode",
						"cuGraphExecMemsetNodeSetParams",
						"cuLaunchHostFunc", "cuStreamSynchronize",
						"cuMemAlloc_v2"};

	begin_recording();
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		fake_call(&(struct fake_work){.function = functions[i], .context = 1});
	launch_one("cuLaunchKernel");
	end_recording();
}

static void calls_that_give_a_device_nothing_are_no_launches(void **state)
{
	(void)state;
	assert_int_equal(in_child(make_nodes), 0);
	read_back();
	assert_int_equal(got.launches, 1);
}

/* -- Failing -- */

static void fail_to_start(void)
{
	bind_fake();
	setenv("FAKE_CUPTI_FAIL", "EnableCallback=35", 1);
	if (cupti_callbacks_start() != CUPTI_INSUFFICIENT_PRIVILEGES)
		_exit(93);
	cupti_callbacks_stop();
	setenv("FAKE_CUPTI_FAIL", "ActivityEnable=15", 1);
	if (cupti_callbacks_start() != CUPTI_OK) /* it had let go of the subscription */
		_exit(94);
	if (cupti_activity_start() != CUPTI_NOT_INITIALIZED || fake_enabled())
		_exit(95);
	if (strcmp(cupti_text(CUPTI_NOT_INITIALIZED), "CUPTI_ERROR_NOT_INITIALIZED") != 0)
		_exit(96);
	launch_one("cuLaunchKernel");
	cupti_activity_flush(true);
	pasta_agent_close();
}

static void a_start_that_fails_lets_go_and_says_why(void **state)
{
	(void)state;
	assert_int_equal(in_child(fail_to_start), 0);
	read_back();
	assert_int_equal(got.launches, 1);
	assert_int_equal(got.kernels, 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, make_run, remove_run)
	const struct CMUnitTest tests[] = {
		T(a_kernel_has_all_its_fields_in_every_version),
		T(what_ends_before_it_starts_takes_no_time),
		T(a_kernel_without_a_name_has_none),
		T(copies_have_their_direction_and_unknown_ones_have_none),
		T(a_peer_copy_names_both_devices),
		T(sets_syncs_and_calls_have_their_fields),
		T(memory_is_allocated_or_released_and_else_nothing),
		T(records_of_kinds_that_are_not_known_are_passed_over),
		T(a_buffer_may_hold_more_than_is_pushed_at_once),
		T(buffers_that_several_threads_bring_at_once_are_all_taken),
		T(kinds_that_no_tool_wants_are_not_recorded),
		T(launches_of_threads_and_their_kernels_are_all_there),
		T(what_cupti_drops_is_in_the_account),
		T(kernels_are_recorded_whose_launch_was),
		T(calls_that_give_a_device_nothing_are_no_launches),
		T(a_start_that_fails_lets_go_and_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
