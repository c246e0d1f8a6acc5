/* test_cupti.c - the CUPTI handler on a fake CUPTI, without a GPU. */
#include "programs/fake_cupti.c"

#include "handlers/cupti/cupti.h"
#include "unit/agent_run.h"

enum { MANY = 2000, READ_MAX = 64, THREADS = 4 };

/* -- A buffer, as CUPTI delivers it -- */

static _Alignas(8) uint8_t buffer[MANY * 256];
static size_t used;

static void put_record(const void *head, size_t known)
{
	size_t size = fake_size(((const struct cupti_record *)head)->kind);

	memset(buffer + used, 0xa5, size);
	memcpy(buffer + used, head, known < size ? known : size);
	used += size;
}

#define PUT(...) put_record(&(__VA_ARGS__), sizeof(__VA_ARGS__))

static void bind_fake(void)
{
#define F(name, args) cupti.name = cupti##name;
	CUPTI_FUNCTIONS(F)
#undef F
	cupti.ActivityConfigureUnifiedMemoryCounter = cuptiActivityConfigureUnifiedMemoryCounter;
	cuptiGetVersion(&cupti.version);
}

static void take_buffer(void)
{
	bind_fake();
	cupti_activity_consume(buffer, used);
	pasta_agent_close();
}

/* -- The records -- */

static struct {
	struct pasta_event ev[READ_MAX];
	char name[READ_MAX][32];
	size_t count, launches, kernels;
	size_t works[PASTA_LAUNCH_WORK_HOST + 1]; /* launches by type of work */
	struct pasta_loss_summary account;
} got;

static const uint64_t KINDS = PASTA_MASK(KERNEL) | PASTA_MASK(COPY) | PASTA_MASK(SET) |
			      PASTA_MASK(ALLOC) | PASTA_MASK(FREE) | PASTA_MASK(SYNC) |
			      PASTA_MASK(API) | PASTA_MASK(UVM) | PASTA_MASK(LINK) |
			      PASTA_MASK(QUEUE) | PASTA_MASK(EVENT_RECORD);

static uint32_t name_in(const struct pasta_event *ev)
{
	return ev->kind == PASTA_KIND_KERNEL ? ev->kernel.name
	       : ev->kind == PASTA_KIND_API  ? ev->api.name
					     : 0;
}

static void read_back(void)
{
	struct pasta_stream *s = open_run(NULL);
	const struct pasta_event *ev;

	memset(&got, 0, sizeof(got));
	while ((ev = pasta_stream_next(s))) {
		got.launches += ev->kind == PASTA_KIND_LAUNCH;
		got.kernels += ev->kind == PASTA_KIND_KERNEL;
		if (ev->kind == PASTA_KIND_LAUNCH && ev->launch.work <= PASTA_LAUNCH_WORK_HOST)
			got.works[ev->launch.work]++;
		if (!(KINDS >> ev->kind & 1) || got.count == READ_MAX)
			continue;
		memcpy(&got.ev[got.count], ev, ev->size);
		snprintf(got.name[got.count], sizeof(got.name[0]), "%s", pasta_str(name_in(ev)));
		got.count++;
	}
	pasta_stream_loss(s, &got.account);
	pasta_stream_free(s);
}

/* Convert the buffer's records in a child process. The buffer is built before. */
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
		const struct pasta_kernel_record *k = &got.ev[1].kernel;

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

static void a_record_that_ends_before_it_starts_has_no_duration(void **state)
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
		assert_int_equal(got.ev[i].kernel.dur, 0); /* dur is the first field of each kind */
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
		const struct pasta_copy_record *c = &got.ev[i].copy;

		assert_int_equal(got.ev[i].sub, subs[i]);
		assert_int_equal(c->bytes, (UINT64_C(1) << 40) + i);
		assert_int_equal(c->dur, 5);
		assert_int_equal(c->device * 100 + c->context * 10 + c->stream, 123);
		assert_int_equal(c->corr * 10 + c->node, 45);
	}
}

static void a_peer_copy_names_both_devices(void **state)
{
	const struct pasta_copy_record *c = &got.ev[0].copy;
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
	const struct pasta_set_record *m = &got.ev[0].set;
	const struct pasta_sync_record *s = &got.ev[1].sync;
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

static void memory_records_are_allocations_or_frees(void **state)
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
		for (m.type = 0; m.type < sizeof(subs); m.type++, m.time++)
			PUT(m);
	convert();
	assert_int_equal(got.count, 2 * sizeof(subs));
	for (size_t i = 0; i < sizeof(subs); i++) {
		const struct pasta_event *a = &got.ev[i], *f = &got.ev[sizeof(subs) + i];

		assert_int_equal(a->kind, PASTA_KIND_ALLOC);
		assert_int_equal(a->sub, subs[i]);
		assert_int_equal(a->alloc.addr, 0x7f0000000000);
		assert_int_equal(a->alloc.bytes, 512);
		assert_int_equal(a->alloc.device * 10 + a->alloc.context, 12);
		assert_int_equal(f->kind, PASTA_KIND_FREE);
		assert_int_equal(f->free.addr, 0x7f0000000000);
		assert_int_equal(f->free.bytes, 512);
		assert_int_equal(f->free.device * 10 + f->free.context, 12);
	}
}

static void memory_of_a_pool_has_the_pools_address(void **state)
{
	struct cupti_memory m = {.kind = CUPTI_MEMORY,
				 .operation = 1,
				 .type = 3,
				 .address = 0x1000,
				 .bytes = 512,
				 .pool = 0xabcdef000};

	(void)state;
	m.time = pasta_now();
	for (m.pool_type = 0; m.pool_type < 4; m.pool_type++, m.time++)
		PUT(m);
	m.type = 5; /* managed memory has no pool */
	m.pool_type = 1;
	PUT(m);
	convert();
	assert_int_equal(got.count, 5);
	for (size_t i = 0; i < 4; i++) {
		bool pool = i == 1 || i == 2;

		assert_int_equal(got.ev[i].sub, pool ? PASTA_ALLOC_POOL : PASTA_ALLOC_DEVICE);
		assert_int_equal(got.ev[i].alloc.origin, pool ? 0xabcdef000 : 0);
		assert_int_equal(got.ev[i].alloc.pool, 0); /* addresses, not handles */
	}
	assert_int_equal(got.ev[4].sub, PASTA_ALLOC_MANAGED);
	assert_int_equal(got.ev[4].alloc.origin, 0xabcdef000);
}

static void waits_have_a_type(void **state)
{
	static const uint8_t subs[] = {
		0, PASTA_SYNC_EVENT, PASTA_SYNC_STREAM_WAIT, PASTA_SYNC_STREAM, PASTA_SYNC_CONTEXT,
		0};
	struct cupti_sync s = {.kind = CUPTI_SYNC, .start = pasta_now()};

	(void)state;
	for (s.type = 0; s.type < sizeof(subs); s.type++, s.start++)
		PUT(s);
	s.type = 256 + 3;
	PUT(s);
	convert();
	assert_int_equal(got.count, sizeof(subs) + 1);
	for (size_t i = 0; i < sizeof(subs); i++)
		assert_int_equal(got.ev[i].sub, subs[i]);
	assert_int_equal(got.ev[sizeof(subs)].sub, 0);
}

/* CUPTI's counters, numbered from 1, with the fields that are valid for each. */
static const struct {
	uint8_t sub;
	uint64_t bytes, count, dur;
	uint32_t src, dst;
} uvm[] = {
	{PASTA_UVM_TO_DEVICE, 77, 0, 9, PASTA_UVM_HOST, 5},
	{PASTA_UVM_TO_HOST, 77, 0, 9, 4, PASTA_UVM_HOST},
	{PASTA_UVM_CPU_FAULT, 0, 1, 0, PASTA_UVM_HOST, PASTA_UVM_HOST},
	{PASTA_UVM_GPU_FAULT, 0, 77, 9, 4, 4},
	{PASTA_UVM_THRASHING, 77, 0, 0, 4, 4},
	{PASTA_UVM_THROTTLING, 0, 0, 9, 4, 4},
	{PASTA_UVM_REMOTE_MAP, 77, 0, 0, 4, 5},
	{PASTA_UVM_BETWEEN, 77, 0, 9, 4, 5},
};
enum { UVM_TYPES = sizeof(uvm) / sizeof(*uvm) };

static void unified_memory_has_the_fields_of_its_type_in_every_version(void **state)
{
	static const char *const versions[] = {"19", "28", "130001", "130401"};

	for (size_t v = 0; v < 4; v++) {
		struct cupti_uvm u = {.kind = CUPTI_UVM,
				      .value = 77,
				      .start = pasta_now(),
				      .address = UINT64_C(0x7f0000001000),
				      .from = 4,
				      .to = 5,
				      .flags = 3};

		setenv("FAKE_CUPTI_VERSION", versions[v], 1);
		for (u.type = 0; u.type <= UVM_TYPES + 1; u.type++, u.start++) {
			u.end = u.start + 9;
			PUT(u);
		}
		convert();
		assert_int_equal(got.count, UVM_TYPES); /* unknown types are skipped */
		for (size_t i = 0; i < UVM_TYPES; i++) {
			const struct pasta_uvm_record *r = &got.ev[i].uvm;

			assert_int_equal(got.ev[i].sub, uvm[i].sub);
			assert_int_equal(r->bytes, uvm[i].bytes);
			assert_int_equal(r->count, uvm[i].count);
			assert_int_equal(r->dur, uvm[i].dur);
			assert_int_equal(r->src, uvm[i].src);
			assert_int_equal(r->dst, uvm[i].dst);
			assert_int_equal(r->addr, UINT64_C(0x7f0000001000));
			assert_int_equal(r->flags, 3);
			assert_int_equal(got.ev[i].time - got.ev[0].time, i);
		}
		remove_run(state);
		assert_int_equal(make_run(state), 0);
	}
	unsetenv("FAKE_CUPTI_VERSION");
}

static void map_and_take(void)
{
	struct cu_mem_map map = {.address = 0x1000, .size = 0x1000, .handle = 7};
	struct cupti_call call = {.function = "cuMemMap", .params = &map, .correlation = 1234};

	cupti_vmm_call(&call);
	take_buffer();
}

static void mapped_addresses_are_skipped(void **state)
{
	(void)state;
	for (uint32_t correlation = 1233; correlation < 1236; correlation++)
		PUT((struct cupti_memory){.kind = CUPTI_MEMORY,
					  .operation = 1,
					  .type = 3,
					  .correlation = correlation,
					  .address = correlation,
					  .time = pasta_now()});
	assert_int_equal(in_child(map_and_take), 0);
	read_back();
	used = 0;
	assert_int_equal(got.count, 2);
	assert_int_equal(got.ev[0].alloc.addr, 1233);
	assert_int_equal(got.ev[1].alloc.addr, 1235);
}

static void a_stream_is_recorded_once(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 6; i++)
		PUT((struct cupti_stream){.kind = CUPTI_STREAM, .context = 1 + i % 2, .stream = 7});
	convert();
	assert_int_equal(got.count, 2);
	assert_int_equal(got.ev[0].queue.context + got.ev[1].queue.context, 3);
}

static void streams_events_and_links_have_their_fields(void **state)
{
	const struct pasta_queue_record *q = &got.ev[0].queue;
	const struct pasta_event_record_record *e = &got.ev[1].event_record;
	const struct pasta_link_record *l = &got.ev[2].link;

	(void)state;
	PUT((struct cupti_stream){.kind = CUPTI_STREAM,
				  .context = 1,
				  .stream = 2,
				  .priority = (uint32_t)-5,
				  .flags = 3,
				  .correlation = 4});
	PUT((struct cupti_event){
		.kind = CUPTI_EVENT, .correlation = 5, .context = 6, .stream = 7, .event = 8});
	PUT((struct cupti_external){
		.kind = CUPTI_EXTERNAL, .id = UINT64_C(1) << 40, .correlation = UINT32_MAX});
	convert();
	assert_int_equal(got.count, 3);
	assert_int_equal(got.ev[0].kind, PASTA_KIND_QUEUE);
	assert_int_equal(q->context * 1000 + q->stream * 100 + q->flags * 10 + q->corr, 1234);
	assert_int_equal((int32_t)q->priority, -5);
	assert_int_equal(got.ev[1].kind, PASTA_KIND_EVENT_RECORD);
	assert_int_equal(e->corr * 1000 + e->context * 100 + e->stream * 10 + e->event, 5678);
	assert_int_equal(got.ev[2].kind, PASTA_KIND_LINK);
	assert_int_equal(got.ev[2].sub, PASTA_LINK_EXTERNAL);
	assert_int_equal(l->from, UINT64_C(1) << 40);
	assert_int_equal(l->to, UINT32_MAX);
}

static void an_event_has_a_device_where_its_version_has(void **state)
{
	static const struct {
		const char *version;
		uint32_t device;
	} cases[] = {{"19", 0}, {"25", 0}, {"26", 3}, {"130401", 3}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		setenv("FAKE_CUPTI_VERSION", cases[i].version, 1);
		PUT((struct cupti_event){.kind = CUPTI_EVENT, .event = 8, .device = 3});
		PUT((struct cupti_event){.kind = CUPTI_EVENT, .event = 9, .device = 3});
		convert();
		assert_int_equal(got.count, 2);
		assert_int_equal(got.ev[0].event_record.device, cases[i].device);
		assert_int_equal(got.ev[1].event_record.device, cases[i].device);
		assert_int_equal(got.ev[0].event_record.event + got.ev[1].event_record.event, 17);
		remove_run(state);
		assert_int_equal(make_run(state), 0);
	}
	unsetenv("FAKE_CUPTI_VERSION");
}

static void records_of_unknown_kinds_are_skipped(void **state)
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
		cupti_activity_consume(buffer, used);
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

static void buffers_that_several_threads_deliver_at_once_are_all_consumed(void **state)
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

static void disabled_kinds_are_not_recorded(void **state)
{
	char kinds[24];

	(void)state;
	PUT((struct cupti_kernel){.kind = CUPTI_KERNEL, .start = pasta_now()});
	PUT((struct cupti_memset){.kind = CUPTI_MEMSET, .start = pasta_now()});
	snprintf(kinds, sizeof(kinds), "%llx", (unsigned long long)PASTA_MASK(SET));
	setenv(PASTA_ENV_KINDS, kinds, 1);
	convert();
	unsetenv(PASTA_ENV_KINDS);
	assert_int_equal(got.count, 1);
	assert_int_equal(got.ev[0].kind, PASTA_KIND_SET);
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
		cupti_activity_flush(true); /* while the threads launch */
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	end_recording();
}

static void launches_of_all_threads_and_their_kernels_are_recorded(void **state)
{
	(void)state;
	assert_int_equal(in_child(launch_in_threads), 0);
	read_back();
	assert_int_equal(got.launches, THREADS * MANY);
	assert_int_equal(got.kernels, THREADS * MANY);
	assert_int_equal(got.account.dropped, 0);
}

static void records_that_cupti_drops_are_counted_as_loss(void **state)
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

static void a_kernel_is_recorded_if_its_launch_was(void **state)
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

static void calls_that_launch_no_work_are_not_launches(void **state)
{
	(void)state;
	assert_int_equal(in_child(make_nodes), 0);
	read_back();
	assert_int_equal(got.launches, 1);
}

static void launch_each_work(void)
{
	static const struct fake_work works[] = {
		{.function = "cuMemcpyHtoDAsync_v2", .kind = CUPTI_MEMCPY, .context = 1},
		{.function = "cuMemcpyDtoHAsync_v2", .kind = CUPTI_MEMCPY, .context = 1},
		{.function = "cuMemsetD8Async", .kind = CUPTI_MEMSET, .context = 1},
		{.function = "cuGraphLaunch", .kind = CUPTI_KERNEL, .context = 1, .nodes = 3},
	};

	begin_recording();
	for (size_t i = 0; i < sizeof(works) / sizeof(*works); i++)
		fake_call(&works[i]);
	for (int i = 0; i < 3; i++)
		launch_one(i ? "cuLaunchKernel" : "cuLaunchKernelEx");
	end_recording();
}

static void launches_state_what_they_start(void **state)
{
	(void)state;
	assert_int_equal(in_child(launch_each_work), 0);
	read_back();
	assert_int_equal(got.launches, 7);
	assert_int_equal(got.works[PASTA_LAUNCH_WORK_KERNEL], 3);
	assert_int_equal(got.works[PASTA_LAUNCH_WORK_COPY], 2);
	assert_int_equal(got.works[PASTA_LAUNCH_WORK_FILL], 1);
	assert_int_equal(got.works[PASTA_LAUNCH_WORK_GRAPH], 1);
}

/* -- The times and threads of calls -- */

enum { CALL_NS = 2000000 };

static void wait_a_little(void)
{
	const struct timespec t = {.tv_nsec = CALL_NS};

	nanosleep(&t, NULL);
}

/* A call in which the driver does `work`, and lasts at least CALL_NS. */
static uint32_t long_call(const char *function, int status, void (*work)(uint32_t correlation))
{
	uint64_t data = 0;
	struct cupti_call call = {.function = function,
				  .ret = &status,
				  .context_id = 3,
				  .data = &data,
				  .correlation = ++fake_correlations};

	call_back(CUPTI_DRIVER_API, id_of(function), &call);
	wait_a_little();
	if (work)
		work(call.correlation);
	call.site = 1;
	call_back(CUPTI_DRIVER_API, id_of(function), &call);
	return call.correlation;
}

static void consume_call(uint32_t alloc, uint32_t unknown)
{
	uint64_t t = pasta_now();

	PUT((struct cupti_memory){.kind = CUPTI_MEMORY,
				  .operation = 1,
				  .type = 3,
				  .correlation = alloc,
				  .address = 0x1000,
				  .time = t});
	PUT((struct cupti_memory){.kind = CUPTI_MEMORY,
				  .operation = 2,
				  .correlation = alloc + 1,
				  .address = 0x1000,
				  .time = t + 1});
	PUT((struct cupti_sync){.kind = CUPTI_SYNC,
				.type = 4,
				.start = t + 2,
				.end = t + 7,
				.correlation = alloc + 2});
	PUT((struct cupti_memory){.kind = CUPTI_MEMORY,
				  .operation = 1,
				  .type = 3,
				  .correlation = unknown,
				  .address = 0x2000,
				  .time = t + 3});
	cupti_activity_consume(buffer, used);
}

static void *call_for_long(void *arg)
{
	uint32_t first = long_call("cuMemAlloc_v2", 0, NULL);

	long_call("cuMemFree_v2", 0, NULL);
	long_call("cuCtxSynchronize", 0, NULL);
	long_call("cuMemcpyDtoH_v2", 0, NULL);
	long_call("cuMemcpyDtoH_v2", 700, NULL);    /* failed */
	long_call("cuMemcpyDtoHAsync_v2", 0, NULL); /* returns at once */
	*(uint32_t *)arg = first;
	return NULL;
}

static void long_calls(void)
{
	uint32_t first;
	pthread_t thread;

	begin_recording();
	if (pthread_create(&thread, NULL, call_for_long, &first))
		_exit(92);
	pthread_join(thread, NULL);
	consume_call(first, first + (1 << 16));
	end_recording();
}

/* Allocations, frees and waits belong to the thread of their call. A copy that returns when it is
 * done is a wait, too. */
static void calls_have_a_duration_and_a_thread(void **state)
{
	static const struct pasta_event none;
	const struct pasta_event *alloc = &none, *freed = &none, *sync = &none, *copied = &none;
	const struct pasta_event *unknown = &none;
	size_t waits = 0;

	(void)state;
	assert_int_equal(in_child(long_calls), 0);
	used = 0;
	read_back();
	for (size_t i = 0; i < got.count; i++) {
		const struct pasta_event *ev = &got.ev[i];

		if (ev->kind == PASTA_KIND_ALLOC)
			*(ev->alloc.addr == 0x1000 ? &alloc : &unknown) = ev;
		if (ev->kind == PASTA_KIND_FREE)
			freed = ev;
		if (ev->kind == PASTA_KIND_SYNC) {
			*(ev->sub == PASTA_SYNC_CONTEXT ? &sync : &copied) = ev;
			waits++;
		}
	}
	assert_true(alloc->kind && unknown->kind && freed->kind && sync->kind && copied->kind);
	assert_int_equal(waits, 2);
	assert_in_range(alloc->alloc.dur, CALL_NS, CALL_NS * UINT64_C(1000));
	assert_in_range(freed->free.dur, CALL_NS, CALL_NS * UINT64_C(1000));
	assert_in_range(copied->sync.dur, CALL_NS, CALL_NS * UINT64_C(1000));
	assert_int_equal(copied->sub, PASTA_SYNC_STREAM);
	assert_int_equal(copied->sync.corr, alloc->tid ? sync->sync.corr + 1 : 0);
	assert_int_equal(copied->sync.context, 3);
	assert_true(copied->time + copied->sync.dur <= alloc->time); /* when it is delivered */
	assert_int_equal(sync->sync.dur, 5);			     /* CUPTI's own */
	assert_true(alloc->tid && alloc->tid == freed->tid && alloc->tid == sync->tid &&
		    alloc->tid == copied->tid);
	assert_int_equal(unknown->alloc.dur, 0);
	assert_int_equal(unknown->tid, 0);
}

static void copies_between_types_of_memory(void **state)
{
	static const uint32_t expected[] = {PASTA_MEMORY_UNKNOWN, PASTA_MEMORY_PAGEABLE,
					    PASTA_MEMORY_PINNED,  PASTA_MEMORY_DEVICE,
					    PASTA_MEMORY_ARRAY,	  PASTA_MEMORY_MANAGED,
					    PASTA_MEMORY_DEVICE,  PASTA_MEMORY_MANAGED,
					    PASTA_MEMORY_UNKNOWN};
	const size_t n = sizeof(expected) / sizeof(*expected);
	uint64_t t = pasta_now();

	(void)state;
	for (size_t i = 0; i < n; i++)
		PUT((struct cupti_memcpy){.kind = CUPTI_MEMCPY,
					  .copy = 1,
					  .source = (uint8_t)i,
					  .target = (uint8_t)(n - 1 - i),
					  .start = t + i});
	PUT((struct cupti_memcpy_p2p){
		.kind = CUPTI_MEMCPY_P2P, .copy = 10, .source = 3, .target = 4, .start = t + n});
	convert();
	assert_int_equal(got.count, n + 1);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(got.ev[i].copy.src_memory, expected[i]);
		assert_int_equal(got.ev[i].copy.dst_memory, expected[n - 1 - i]);
	}
	assert_int_equal(got.ev[n].copy.src_memory, PASTA_MEMORY_DEVICE);
	assert_int_equal(got.ev[n].copy.dst_memory, PASTA_MEMORY_ARRAY);
}

/* The configuration succeeds at the second try: the first was too early. */
static void start_unified_late(void)
{
	begin_recording();
	setenv("FAKE_CUPTI_FAIL", "ActivityConfigureUnifiedMemoryCounter=15", 1);
	cupti_uvm_start(false);
	if (fake_enabled() >> CUPTI_UVM & 1)
		_exit(93);
	unsetenv("FAKE_CUPTI_FAIL");
	cupti_uvm_start(true);
	if (!(fake_enabled() >> CUPTI_UVM & 1))
		_exit(94);
	fake_uvm(&(struct fake_work){.type = 8, .bytes = 1});
	fake_uvm(&(struct fake_work){.type = 1, .bytes = 2});
	cupti_activity_stop();
	if (fake_enabled())
		_exit(95);
	fake_uvm(&(struct fake_work){.type = 1, .bytes = 4});
	end_recording();
}

static void unified_memory_is_enabled_when_cuda_is_initialized(void **state)
{
	(void)state;
	assert_int_equal(in_child(start_unified_late), 0);
	read_back();
	assert_int_equal(got.count, 2);
	assert_int_equal(got.ev[0].uvm.bytes + got.ev[1].uvm.bytes, 3);
}

/* An older CUPTI refuses the whole configuration if it does not know one counter. */
static void an_older_cupti_records_the_counters_that_it_has(void **state)
{
	(void)state;
	setenv("FAKE_CUPTI_VERSION", "19", 1);
	assert_int_equal(in_child(start_unified_late), 0);
	unsetenv("FAKE_CUPTI_VERSION");
	read_back();
	assert_int_equal(got.count, 1);
	assert_int_equal(got.ev[0].uvm.bytes, 2);
}

static void migrate_off_and_on(void)
{
	pasta_agent_set_active(false);
	begin_recording();
	cupti_uvm_start(true);
	for (uint64_t i = 0; i < 20; i++) {
		pasta_agent_set_active(i / 5 % 2);
		launch_one("cuLaunchKernel");
		fake_uvm(&(struct fake_work){.type = 1, .bytes = UINT64_C(1) << i});
	}
	pasta_agent_set_active(false);
	end_recording();
}

static void migrations_while_recording_was_off_are_not_recorded(void **state)
{
	uint64_t sum = 0;

	(void)state;
	assert_int_equal(in_child(migrate_off_and_on), 0);
	read_back();
	for (size_t i = 0; i < got.count; i++)
		sum += got.ev[i].kind == PASTA_KIND_UVM ? got.ev[i].uvm.bytes : 0;
	assert_int_equal(sum, 0x1f << 5 | 0x1f << 15);
}

static uint64_t event_from, event_to;

static void record_events(void)
{
	struct timespec pause = {.tv_nsec = 20000000};

	begin_recording();
	event_from = pasta_now();
	for (uint32_t i = 0; i < 3; i++)
		fake_call(&(struct fake_work){
			.function = "cuEventRecord", .kind = CUPTI_EVENT, .event = i});
	event_to = pasta_now();
	nanosleep(&pause, NULL); /* CUPTI delivers the records later */
	cupti_activity_flush(true);
	if (cupti_call_time(UINT32_MAX, &(uint32_t){0}) < event_to + (uint64_t)pause.tv_nsec)
		_exit(93); /* for an unknown call: the current time */
	fake_call(&(struct fake_work){.function = "cuEventRecord",
				      .kind = CUPTI_EVENT,
				      .event = (uint32_t)(event_to - event_from)});
	end_recording();
}

static void an_event_has_the_time_and_thread_of_its_call(void **state)
{
	size_t n = 0;
	struct pasta_event ev[4];

	(void)state;
	assert_int_equal(in_child(record_events), 0);
	read_back();
	for (size_t i = 0; i < got.count; i++)
		if (got.ev[i].kind == PASTA_KIND_EVENT_RECORD && n < 4)
			ev[n++] = got.ev[i];
	assert_int_equal(n, 4);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(ev[i].event_record.event, i);
		assert_true(ev[i].tid != 0 && ev[i].tid == ev[0].tid);
	}
	assert_true(ev[2].time - ev[0].time <= ev[3].event_record.event);
	assert_true(ev[3].time - ev[2].time >= 20000000);
}

/* -- Errors -- */

static void fail_to_start(void)
{
	bind_fake();
	setenv("FAKE_CUPTI_FAIL", "EnableCallback=35", 1);
	if (cupti_callbacks_start() != CUPTI_INSUFFICIENT_PRIVILEGES)
		_exit(93);
	cupti_callbacks_stop();
	setenv("FAKE_CUPTI_FAIL", "ActivityEnable=15", 1);
	if (cupti_callbacks_start() != CUPTI_OK) /* the failed start unsubscribed */
		_exit(94);
	if (cupti_activity_start() != CUPTI_NOT_INITIALIZED || fake_enabled())
		_exit(95);
	if (strcmp(cupti_text(CUPTI_NOT_INITIALIZED), "CUPTI_ERROR_NOT_INITIALIZED") != 0)
		_exit(96);
	launch_one("cuLaunchKernel");
	cupti_activity_flush(true);
	pasta_agent_close();
}

static void a_start_that_fails_unsubscribes_and_prints_why(void **state)
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
		T(a_record_that_ends_before_it_starts_has_no_duration),
		T(a_kernel_without_a_name_has_none),
		T(copies_have_their_direction_and_unknown_ones_have_none),
		T(a_peer_copy_names_both_devices),
		T(sets_syncs_and_calls_have_their_fields),
		T(calls_have_a_duration_and_a_thread),
		T(copies_between_types_of_memory),
		T(memory_records_are_allocations_or_frees),
		T(memory_of_a_pool_has_the_pools_address),
		T(waits_have_a_type),
		T(unified_memory_has_the_fields_of_its_type_in_every_version),
		T(streams_events_and_links_have_their_fields),
		T(mapped_addresses_are_skipped),
		T(a_stream_is_recorded_once),
		T(an_event_has_a_device_where_its_version_has),
		T(records_of_unknown_kinds_are_skipped),
		T(a_buffer_may_hold_more_than_is_pushed_at_once),
		T(buffers_that_several_threads_deliver_at_once_are_all_consumed),
		T(disabled_kinds_are_not_recorded),
		T(launches_of_all_threads_and_their_kernels_are_recorded),
		T(records_that_cupti_drops_are_counted_as_loss),
		T(a_kernel_is_recorded_if_its_launch_was),
		T(calls_that_launch_no_work_are_not_launches),
		T(launches_state_what_they_start),
		T(unified_memory_is_enabled_when_cuda_is_initialized),
		T(an_older_cupti_records_the_counters_that_it_has),
		T(migrations_while_recording_was_off_are_not_recorded),
		T(an_event_has_the_time_and_thread_of_its_call),
		T(a_start_that_fails_unsubscribes_and_prints_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
