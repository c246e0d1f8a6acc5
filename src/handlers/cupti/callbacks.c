/* callbacks.c - launches, on their threads, as CUDA's driver is called. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "collect/stack.h"
#include "handlers/cupti/cupti.h"
#include "handlers/cupti/names.h"

enum { IDS_MAX = 4096 }; /* functions of an API: there are under a thousand */

static cupti_subscriber subscriber;
/* What a function gives to a device, by its number: a kind, or 0. */
static uint8_t gives[IDS_MAX];

/* Where recording was turned on or off, by the correlation of the launch that saw it first. */
enum { TURNS = 1024 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	uint32_t from;
	bool on;
} turn[TURNS];
static _Atomic uint32_t turns;
static _Atomic bool recording = true;

static uint8_t kind_of(const char *name)
{
	if (strstr(name, "HostFunc"))
		return 0;
	/* Functions that make and change nodes (cuGraphAddMemcpyNode) give nothing to a device. */
	if (strstr(name, "Graph") && !strstr(name, "Launch"))
		return 0;
	if (strstr(name, "Launch"))
		return PASTA_KERNEL;
	if (strstr(name, "Memcpy"))
		return PASTA_COPY;
	return strstr(name, "Memset") ? PASTA_SET : 0;
}

/* The kernel's record brings its name; where there will be none, the launch does. */
static uint32_t name_of(const struct cupti_call *call, uint8_t kind)
{
	static _Thread_local struct cupti_names *names;

	if (kind != PASTA_KERNEL || !call->symbol || pasta_agent_wants(PASTA_KERNEL))
		return 0;
	if (!names)
		names = calloc(1, sizeof(*names)); /* once a thread, and for good */
	return names ? cupti_name(names, call->symbol) : pasta_intern_str(call->symbol);
}

static void see_turn(uint32_t correlation, bool on)
{
	pthread_mutex_lock(&lock);
	if (atomic_load(&recording) != on) {
		turn[turns % TURNS].from = correlation;
		turn[turns % TURNS].on = on;
		turns++;
		atomic_store(&recording, on);
	}
	pthread_mutex_unlock(&lock);
}

bool cupti_recorded(uint32_t correlation)
{
	uint32_t last = atomic_load(&turns), first = last > TURNS ? last - TURNS : 0;
	bool on;

	if (!last)
		return atomic_load(&recording);
	pthread_mutex_lock(&lock);
	on = !turn[first % TURNS].on;
	while (last-- > first) {
		if ((int32_t)(correlation - turn[last % TURNS].from) < 0)
			continue;
		on = turn[last % TURNS].on;
		break;
	}
	pthread_mutex_unlock(&lock);
	return on;
}

static void on_launch(uint32_t id, const struct cupti_call *call)
{
	uint8_t kind = id < IDS_MAX ? gives[id] : 0;
	bool on = pasta_agent_active();
	struct pasta_event ev;

	if (call->site || !kind)
		return;
	if (on != atomic_load_explicit(&recording, memory_order_relaxed))
		see_turn(call->correlation, on);
	if (!on || !pasta_agent_wants(PASTA_LAUNCH))
		return;
	pasta_event_init(&ev, PASTA_LAUNCH, 0, PASTA_EVENT_SIZE(launch));
	ev.launch.stack = pasta_stack_capture();
	ev.launch.corr = call->correlation;
	ev.launch.name = name_of(call, kind);
	ev.launch.context = call->context_id;
	ev.launch.flags = kind;
	ev.time = pasta_now();
	pasta_emit(&ev);
}

static void on_call(void *user, int domain, uint32_t id, const void *data)
{
	(void)user;
	if (domain == CUPTI_DRIVER_API)
		on_launch(id, data);
	else if (domain == CUPTI_RESOURCE && id == CUPTI_CONTEXT_CREATED)
		cupti_devices();
}

/* Numbers differ between versions: functions are known by their names. */
static int enable_launches(void)
{
	int r = CUPTI_OK;

	for (uint32_t id = 1; id < IDS_MAX && r == CUPTI_OK; id++) {
		const char *name = NULL;

		if (cupti.GetCallbackName(CUPTI_DRIVER_API, id, &name) != CUPTI_OK || !name)
			break;
		gives[id] = kind_of(name);
		if (gives[id])
			r = cupti.EnableCallback(1, subscriber, CUPTI_DRIVER_API, id);
	}
	return r;
}

int cupti_callbacks_start(void)
{
	int r = cupti.Subscribe(&subscriber, on_call, NULL);

	atomic_store(&recording, pasta_agent_active());
	if (r == CUPTI_OK)
		r = cupti.EnableCallback(1, subscriber, CUPTI_RESOURCE, CUPTI_CONTEXT_CREATED);
	return r == CUPTI_OK ? enable_launches() : r;
}

void cupti_callbacks_stop(void)
{
	if (subscriber)
		cupti.Unsubscribe(subscriber);
	subscriber = NULL;
}
