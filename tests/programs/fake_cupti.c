/* fake_cupti - CUPTI without a GPU: see fake_cupti.h. */
#define _GNU_SOURCE
#include "fake_cupti.h"
#include "fake_size.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	FAKE_INVALID_PARAMETER = 1,
	FAKE_MAX_LIMIT = 12,
	FAKE_NOT_READY = 13,
	FAKE_INVALID_KIND = 21
};
enum { FAKE_IDS = 32, FAKE_FULL = 64 };

struct cupti_subscriber {
	cupti_callback callback;
	void *user;
	uint8_t on[4][FAKE_IDS];
};

struct fake_buffer {
	uint8_t *data;
	size_t size, valid, records;
};

static struct cupti_subscriber fake_subscriber;
static cupti_request fake_request;
static cupti_complete fake_complete;
static uint64_t (*fake_now)(void);
static _Atomic uint64_t fake_kinds;
static _Atomic uint32_t fake_uvm_types;
static _Atomic uint32_t fake_correlations;

/* Buffers: one is filled, the full ones wait for the thread that delivers. */
static pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t fake_wake = PTHREAD_COND_INITIALIZER, fake_idle = PTHREAD_COND_INITIALIZER;
static struct fake_buffer fake_filling, fake_full[FAKE_FULL];
static unsigned int fake_fulls;
static bool fake_flush, fake_busy, fake_thread;
static uint32_t fake_period;
static uint64_t fake_count_made, fake_count_delivered, fake_count_dropped, fake_dropped_new;

/* -- Settings -- */

static uint32_t version(void)
{
	const char *text = getenv("FAKE_CUPTI_VERSION");

	return text ? (uint32_t)atoi(text) : 130401;
}

/* What the environment wants this function to return. */
static int result_of(const char *function)
{
	const char *text = getenv("FAKE_CUPTI_FAIL");
	size_t size = strlen(function);

	if (!text || strncmp(text, function, size) != 0 || text[size] != '=')
		return CUPTI_OK;
	return atoi(text + size + 1);
}

size_t fake_size(uint32_t kind)
{
	return fake_size_in(version(), kind);
}

static uint64_t clock_now(void)
{
	struct timespec t;

	if (fake_now)
		return fake_now();
	clock_gettime(CLOCK_BOOTTIME, &t); /* a clock of its own, far from the program's */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + (UINT64_C(1) << 60);
}

/* -- Buffers, filled and delivered -- */

static void hand_over(void)
{
	if (fake_filling.valid && fake_fulls < FAKE_FULL) {
		fake_full[fake_fulls++] = fake_filling;
		fake_filling = (struct fake_buffer){0};
	}
}

/* Wait for something to do; true: the time is over. */
static bool sleep_a_while(void)
{
	struct timespec t;

	if (!fake_period) {
		pthread_cond_wait(&fake_wake, &fake_lock);
		return false;
	}
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += fake_period / 1000;
	return pthread_cond_timedwait(&fake_wake, &fake_lock, &t) == ETIMEDOUT;
}

static void *deliver(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&fake_lock);
	for (;;) {
		struct fake_buffer b;

		while (!fake_fulls && !fake_flush)
			fake_flush = sleep_a_while() || fake_flush;
		if (!fake_fulls)
			hand_over();
		if (!fake_fulls) {
			fake_flush = false;
			pthread_cond_broadcast(&fake_idle);
			continue;
		}
		b = fake_full[0];
		memmove(fake_full, fake_full + 1, --fake_fulls * sizeof(*fake_full));
		fake_busy = true;
		pthread_mutex_unlock(&fake_lock);
		fake_complete(NULL, 0, b.data, b.size, b.valid);
		pthread_mutex_lock(&fake_lock);
		fake_busy = false;
		fake_count_delivered += b.records;
	}
	return NULL;
}

static bool drops(void)
{
	const char *text = getenv("FAKE_CUPTI_DROP");
	uint64_t n = text ? strtoull(text, NULL, 10) : 0;

	return n && fake_count_made % n == 0;
}

static bool has_room(size_t size)
{
	if (fake_filling.data && fake_filling.valid + size <= fake_filling.size)
		return true;
	hand_over();
	pthread_cond_signal(&fake_wake);
	if (fake_filling.data)
		return false;
	fake_request(&fake_filling.data, &fake_filling.size, &fake_filling.records);
	return fake_filling.data && size <= fake_filling.size;
}

/* A record, if its kind is wanted: what we know of it, and then what we do not. */
static void record(const void *head, size_t known)
{
	uint32_t kind = ((const struct cupti_record *)head)->kind;
	size_t size = fake_size(kind);

	if (!(fake_kinds >> kind & 1) || !fake_request)
		return;
	pthread_mutex_lock(&fake_lock);
	if (!fake_thread) {
		pthread_t thread;

		fake_thread = !pthread_create(&thread, NULL, deliver, NULL);
		if (fake_thread)
			pthread_detach(thread);
	}
	fake_count_made++;
	if (drops() || !has_room(size)) {
		fake_count_dropped++;
		fake_dropped_new++;
	} else {
		uint8_t *to = fake_filling.data + fake_filling.valid;

		memset(to, 0xa5, size);
		memcpy(to, head, known < size ? known : size);
		fake_filling.valid += size;
		fake_filling.records++;
	}
	pthread_mutex_unlock(&fake_lock);
}

/* -- What a device does -- */

static void run_kernel(const struct fake_work *w, uint32_t correlation, uint32_t node)
{
	struct cupti_kernel k = {.kind = CUPTI_KERNEL,
				 .registers = 32,
				 .device = w->device,
				 .context = w->context,
				 .stream = w->stream,
				 .grid = {4, 2, 1},
				 .block = {128, 1, 1},
				 .shared_static = 48,
				 .shared_dynamic = 1024,
				 .local = 16,
				 .correlation = correlation,
				 .name = w->name};

	k.start = clock_now();
	k.end = k.start + FAKE_KERNEL_NS;
	if (w->nodes) {
		k.node = UINT64_C(7) << 32 | node;
		k.graph = 7;
	}
	record(&k, sizeof(k));
}

static void run_copy(const struct fake_work *w, uint32_t correlation)
{
	struct cupti_memcpy m = {.kind = CUPTI_MEMCPY,
				 .copy = w->copy,
				 .bytes = w->bytes,
				 .device = w->device,
				 .context = w->context,
				 .stream = w->stream,
				 .correlation = correlation};

	m.start = clock_now();
	m.end = m.start + FAKE_KERNEL_NS;
	record(&m, sizeof(m));
}

static void run_p2p(const struct fake_work *w, uint32_t correlation)
{
	struct cupti_memcpy_p2p m = {.kind = CUPTI_MEMCPY_P2P,
				     .copy = 10,
				     .bytes = w->bytes,
				     .device = w->device,
				     .context = w->context,
				     .stream = w->stream,
				     .from = w->device,
				     .from_context = w->context,
				     .to = w->peer,
				     .to_context = w->context + 1,
				     .correlation = correlation};

	m.start = clock_now();
	m.end = m.start + FAKE_KERNEL_NS;
	record(&m, sizeof(m));
}

static void run_set(const struct fake_work *w, uint32_t correlation)
{
	struct cupti_memset m = {.kind = CUPTI_MEMSET,
				 .value = 0x5a,
				 .bytes = w->bytes,
				 .device = w->device,
				 .context = w->context,
				 .stream = w->stream,
				 .correlation = correlation};

	m.start = clock_now();
	m.end = m.start + FAKE_KERNEL_NS;
	record(&m, sizeof(m));
}

static void run_memory(const struct fake_work *w, uint32_t correlation)
{
	struct cupti_memory m = {.kind = CUPTI_MEMORY,
				 .operation = w->operation,
				 .type = w->type,
				 .correlation = correlation,
				 .address = w->address,
				 .bytes = w->bytes,
				 .time = clock_now(),
				 .process = (uint32_t)getpid(),
				 .device = w->device,
				 .context = w->context,
				 .async = w->pool != 0,
				 .pool_type = w->pool != 0,
				 .pool = w->pool};

	record(&m, sizeof(m));
}

static void run_sync(const struct fake_work *w, uint32_t correlation)
{
	struct cupti_sync s = {.kind = CUPTI_SYNC,
			       .type = w->type,
			       .correlation = correlation,
			       .context = w->context,
			       .stream = w->stream,
			       .event = w->event};

	s.start = clock_now();
	s.end = s.start + FAKE_KERNEL_NS;
	record(&s, sizeof(s));
}

static void run_stream(const struct fake_work *w, uint32_t correlation)
{
	struct cupti_stream s = {.kind = CUPTI_STREAM,
				 .context = w->context,
				 .stream = w->stream,
				 .priority = (uint32_t)w->priority,
				 .flags = w->type,
				 .correlation = correlation};

	record(&s, sizeof(s));
}

static void run_event(const struct fake_work *w, uint32_t correlation)
{
	struct cupti_event e = {.kind = CUPTI_EVENT,
				.correlation = correlation,
				.context = w->context,
				.stream = w->stream,
				.event = w->event,
				.device = w->device};

	record(&e, sizeof(e));
}

static void run(const struct fake_work *w, uint32_t correlation)
{
	switch (w->kind) {
	case CUPTI_KERNEL:
		for (uint32_t i = 0; i < (w->nodes ? w->nodes : 1); i++)
			run_kernel(w, correlation, i + 1);
		break;
	case CUPTI_MEMCPY:
		run_copy(w, correlation);
		break;
	case CUPTI_MEMCPY_P2P:
		run_p2p(w, correlation);
		break;
	case CUPTI_MEMSET:
		run_set(w, correlation);
		break;
	case CUPTI_MEMORY:
		run_memory(w, correlation);
		break;
	case CUPTI_SYNC:
		run_sync(w, correlation);
		break;
	case CUPTI_STREAM:
		run_stream(w, correlation);
		break;
	case CUPTI_EVENT:
		run_event(w, correlation);
		break;
	default:
		break;
	}
}

void fake_uvm(const struct fake_work *w)
{
	struct cupti_uvm u = {.kind = CUPTI_UVM,
			      .type = w->type,
			      .value = w->bytes,
			      .address = w->address,
			      .from = w->device,
			      .to = w->peer};

	u.start = clock_now();
	u.end = u.start + FAKE_KERNEL_NS;
	if (fake_uvm_types >> w->type & 1)
		record(&u, sizeof(u));
}

/* -- Calls -- */

/* Newer versions have other numbers. */
static const char *driver_function(uint32_t id)
{
	static const char *const names[] = {"cuInit",
					    "cuDriverGetVersion",
					    "cuLaunchKernel",
					    "cuMemcpyHtoDAsync_v2",
					    "cuMemcpyDtoHAsync_v2",
					    "cuMemcpyPeerAsync",
					    "cuMemsetD8Async",
					    "cuGraphAddMemcpyNode",
					    "cuGraphExecMemsetNodeSetParams",
					    "cuGraphLaunch",
					    "cuLaunchHostFunc",
					    "cuStreamSynchronize",
					    "cuMemAlloc_v2",
					    "cuMemFree_v2",
					    "cuLaunchKernelEx",
					    "cuStreamCreate",
					    "cuEventRecord",
					    "cuMemAllocAsync",
					    "cuMemFreeAsync",
					    "cuMemCreate",
					    "cuMemRetainAllocationHandle",
					    "cuMemMap",
					    "cuMemUnmap",
					    "cuMemRelease",
					    "cuMemcpyDtoH_v2",
					    "cuCtxSynchronize",
					    "cuModuleLoadData"};
	uint32_t at = id + (version() >= 130000 ? 0 : 1) - 1;

	return id && at < sizeof(names) / sizeof(*names) ? names[at] : NULL;
}

static uint32_t id_of(const char *function)
{
	const char *name;

	for (uint32_t id = 1; (name = driver_function(id)); id++)
		if (!strcmp(name, function))
			return id;
	fprintf(stderr, "fake_cupti: no function %s\n", function);
	abort();
}

static void call_back(int domain, uint32_t id, const void *data)
{
	if (fake_subscriber.callback && fake_subscriber.on[domain][id])
		fake_subscriber.callback(fake_subscriber.user, domain, id, data);
}

static void record_api(int kind, uint32_t id, uint32_t correlation, uint64_t start)
{
	struct cupti_api a = {.kind = (uint32_t)kind,
			      .id = id,
			      .start = start,
			      .end = clock_now(),
			      .process = (uint32_t)getpid(),
			      .thread = (uint32_t)syscall(SYS_gettid),
			      .correlation = correlation};

	record(&a, sizeof(a));
}

uint32_t fake_call(const struct fake_work *w)
{
	uint64_t start = clock_now(), data = 0;
	uint32_t id = id_of(w->function);
	int status = w->status;
	struct cupti_call call = {.function = w->function,
				  .symbol = w->nodes ? NULL : w->name,
				  .params = w->params,
				  .ret = &status,
				  .context_id = w->context,
				  .data = &data,
				  .correlation = ++fake_correlations};

	call_back(CUPTI_DRIVER_API, id, &call);
	run(w, call.correlation);
	call.site = 1;
	call_back(CUPTI_DRIVER_API, id, &call);
	if (w->external)
		record(&(struct cupti_external){.kind = CUPTI_EXTERNAL,
						.id = w->external,
						.correlation = call.correlation},
		       sizeof(struct cupti_external));
	record_api(CUPTI_DRIVER, id, call.correlation, start);
	if (w->kind == CUPTI_KERNEL && !w->nodes)
		record_api(CUPTI_RUNTIME, 1, call.correlation, start);
	return call.correlation;
}

void fake_context(void)
{
	static atomic_flag ready = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&ready))
		call_back(CUPTI_RESOURCE, CUPTI_INIT_FINISHED, NULL);
	call_back(CUPTI_RESOURCE, CUPTI_CONTEXT_CREATED, NULL);
}

/* Bytes of what is unloaded are not to be read. */
void fake_module(uint32_t context, const struct cupti_module *module, int loads)
{
	struct cupti_module m = *module;
	struct cupti_resource_data data = {.context = (void *)(uintptr_t)context, .descriptor = &m};

	if (!loads)
		m.cubin = (const void *)1;
	call_back(CUPTI_RESOURCE, loads ? CUPTI_MODULE_LOADED : CUPTI_MODULE_UNLOADING, &data);
}

static uint64_t counted(const uint64_t *count)
{
	uint64_t n;

	pthread_mutex_lock(&fake_lock);
	n = *count;
	pthread_mutex_unlock(&fake_lock);
	return n;
}

uint64_t fake_made(void)
{
	return counted(&fake_count_made);
}

uint64_t fake_delivered(void)
{
	return counted(&fake_count_delivered);
}

uint64_t fake_dropped(void)
{
	return counted(&fake_count_dropped);
}

uint64_t fake_enabled(void)
{
	return fake_kinds;
}

/* -- CUPTI -- */

int cuptiGetVersion(uint32_t *v)
{
	*v = version();
	return result_of("GetVersion");
}

int cuptiGetResultString(int result, const char **text)
{
	*text = result == CUPTI_NOT_INITIALIZED		  ? "CUPTI_ERROR_NOT_INITIALIZED"
		: result == CUPTI_INSUFFICIENT_PRIVILEGES ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
		: result == CUPTI_MULTIPLE_SUBSCRIBERS
			? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
			: "CUPTI_ERROR_UNKNOWN";
	return CUPTI_OK;
}

int cuptiGetCallbackName(int domain, uint32_t id, const char **name)
{
	if (domain == CUPTI_DRIVER_API)
		*name = driver_function(id);
	else
		*name = domain == CUPTI_RUNTIME_API && id == 1 ? "cudaLaunchKernel_v7000" : NULL;
	return *name ? CUPTI_OK : FAKE_INVALID_PARAMETER;
}

int cuptiSubscribe(cupti_subscriber *subscriber, cupti_callback callback, void *user)
{
	int r = result_of("Subscribe");

	if (r == CUPTI_OK && fake_subscriber.callback)
		r = CUPTI_MULTIPLE_SUBSCRIBERS;
	if (r != CUPTI_OK)
		return r;
	fake_subscriber.callback = callback;
	fake_subscriber.user = user;
	*subscriber = &fake_subscriber;
	return CUPTI_OK;
}

int cuptiUnsubscribe(cupti_subscriber subscriber)
{
	memset(subscriber, 0, sizeof(*subscriber));
	return CUPTI_OK;
}

int cuptiEnableCallback(uint32_t on, cupti_subscriber subscriber, int domain, uint32_t id)
{
	if (domain < 1 || domain > 3 || id >= FAKE_IDS)
		return FAKE_INVALID_PARAMETER;
	subscriber->on[domain][id] = (uint8_t)on;
	return result_of("EnableCallback");
}

int cuptiActivityEnable(int kind)
{
	int r = result_of("ActivityEnable");

	if (!fake_size((uint32_t)kind))
		return FAKE_INVALID_KIND;
	if (kind == CUPTI_UVM && !fake_uvm_types)
		return FAKE_NOT_READY;
	if (r == CUPTI_OK)
		fake_kinds |= UINT64_C(1) << kind;
	return r;
}

int cuptiActivityDisable(int kind)
{
	fake_kinds &= ~(UINT64_C(1) << kind);
	return CUPTI_OK;
}

/* Those of CUDA 12.0 know fewer types. */
int cuptiActivityConfigureUnifiedMemoryCounter(struct cupti_uvm_config *config, uint32_t count)
{
	int r = result_of("ActivityConfigureUnifiedMemoryCounter");

	for (uint32_t i = 0; i < count; i++)
		if (!config[i].type || config[i].type > (version() >= 28 ? 8u : 7u))
			return FAKE_INVALID_PARAMETER;
	for (uint32_t i = 0; i < count && r == CUPTI_OK; i++)
		if (config[i].enable)
			fake_uvm_types |= 1u << config[i].type;
	return r;
}

int cuptiActivityRegisterCallbacks(cupti_request request, cupti_complete complete)
{
	int r = result_of("ActivityRegisterCallbacks");

	if (r == CUPTI_OK) {
		fake_request = request;
		fake_complete = complete;
	}
	return r;
}

/* Contexts are numbers, on the two devices by turns. */
int cuptiGetContextId(void *context, uint32_t *id)
{
	*id = (uint32_t)(uintptr_t)context;
	return *id ? CUPTI_OK : FAKE_INVALID_PARAMETER;
}

int cuptiGetDeviceId(void *context, uint32_t *id)
{
	*id = ((uint32_t)(uintptr_t)context - 1) % FAKE_DEVICES;
	return context ? CUPTI_OK : FAKE_INVALID_PARAMETER;
}

/* As CUPTI's: not of all bytes. */
int cuptiGetCubinCrc(struct cupti_crc *crc)
{
	const unsigned char *bytes = crc->cubin;

	if (crc->size < sizeof(*crc) || !bytes || !crc->cubin_size)
		return FAKE_INVALID_PARAMETER;
	crc->crc = 5381 + crc->cubin_size;
	for (size_t i = 0; i < crc->cubin_size && i < 64; i++)
		crc->crc = (crc->crc * 33 + bytes[i]) & UINT32_MAX;
	return result_of("GetCubinCrc");
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, struct cupti_record **r)
{
	uint8_t *next = *r ? (uint8_t *)*r + fake_size((*r)->kind) : buffer;

	if (next >= buffer + valid)
		return FAKE_MAX_LIMIT;
	if (!fake_size(((struct cupti_record *)next)->kind))
		return FAKE_INVALID_KIND;
	*r = (struct cupti_record *)next;
	return CUPTI_OK;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped)
{
	(void)context;
	(void)stream;
	pthread_mutex_lock(&fake_lock);
	*dropped = fake_dropped_new;
	fake_dropped_new = 0;
	pthread_mutex_unlock(&fake_lock);
	return CUPTI_OK;
}

/* As CUPTI goes when the program ends; with FAKE_CUPTI_LINGER the program takes its time then. */
static atomic_bool fake_gone;

__attribute__((destructor)) static void go(void)
{
	const char *ms = getenv("FAKE_CUPTI_LINGER");

	if (!ms)
		return;
	atomic_store(&fake_gone, true);
	usleep(1000 * (useconds_t)strtoul(ms, NULL, 10));
}

/* Another thread delivers: in a child that was forked this would wait for ever. */
int cuptiActivityFlushAll(uint32_t flag)
{
	(void)flag;
	if (atomic_load(&fake_gone))
		abort();
	pthread_mutex_lock(&fake_lock);
	fake_flush = fake_thread;
	pthread_cond_signal(&fake_wake);
	while (fake_flush || fake_fulls || fake_busy)
		pthread_cond_wait(&fake_idle, &fake_lock);
	pthread_mutex_unlock(&fake_lock);
	return CUPTI_OK;
}

#ifndef FAKE_CUPTI_OLD
int cuptiActivityFlushPeriod(uint32_t ms)
{
	pthread_mutex_lock(&fake_lock);
	fake_period = ms;
	pthread_mutex_unlock(&fake_lock);
	return CUPTI_OK;
}

int cuptiActivityRegisterTimestampCallback(uint64_t (*now)(void))
{
	fake_now = now;
	return result_of("ActivityRegisterTimestampCallback");
}
#endif

int cuptiSetThreadIdType(int type)
{
	return type == 1 ? CUPTI_OK : FAKE_INVALID_PARAMETER;
}

/* -- The driver -- */

int cuDeviceGetCount(int *count)
{
	*count = FAKE_DEVICES;
	return 0;
}

int cuDeviceGet(int *device, int number)
{
	*device = number;
	return number >= FAKE_DEVICES;
}

int cuDeviceGetName(char *name, int size, int device)
{
	snprintf(name, (size_t)size, "Fake GPU %d", device);
	return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	(void)device;
	*value = attribute == 16 ? 132 : attribute == 13 ? 1980000 : attribute == 75 ? 9 : 0;
	return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	(void)device;
	*bytes = (size_t)141 << 30;
	return 0;
}

int cuDriverGetVersion(int *v)
{
	*v = 13000;
	return 0;
}
