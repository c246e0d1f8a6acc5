/* callbacks.c - handles CUPTI's callbacks for driver calls that launch work, capture graphs, or
 * start and stop recording. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "collect/stack.h"
#include "core/lock.h"
#include "handlers/cuda/devices.h"
#include "handlers/cupti/cupti.h"

_Alignas(64) struct cupti_hot cupti_hot = {.recording = true};

enum { IDS_MAX = 4096 }; /* the driver has fewer than 1,000 functions */

static cupti_subscriber subscriber;
/* The roles of driver functions, by the number that CUPTI assigns to each function. A role is the
 * kind of work that the function launches, or one of the values below; 0: not handled. */
static uint8_t roles[IDS_MAX];
enum { GRAPH_LAUNCH = PASTA_KIND_MAX, CAPTURE_BEGIN, CAPTURE_END, CLONES, START, STOP };
/* roles of calls that calltimes.c and vmm.c handle; the first ones are TIMED + enum cupti_timed */
enum { TIMED = STOP + 32, VMM = TIMED + CUPTI_TIMED_LOAD + 1 };
/* Whether a copy waits until it is done, by the number of the function. */
static bool blocking[IDS_MAX];

/* A history of recent changes of the recording state (on or off), each with the correlation id
 * of the first launch after the change. */
enum { CHANGES = 1024 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	uint64_t time;
	uint32_t from;
	bool on;
} changes[CHANGES];
static _Atomic uint32_t change_count;

static bool name_begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

static uint8_t call_role_of_graph(const char *name)
{
	if (name_begins(name, "cuGraphLaunch"))
		return GRAPH_LAUNCH;
	return name_begins(name, "cuGraphInstantiate") || name_begins(name, "cuGraphClone") ? CLONES
											    : 0;
}

static uint8_t call_role(const char *name)
{
	if (name_begins(name, "cuGraph")) /* first: cuGraphAddMemcpyNode copies nothing */
		return call_role_of_graph(name);
	if (name_begins(name, "cuStreamBeginCapture"))
		return CAPTURE_BEGIN;
	if (name_begins(name, "cuStreamEndCapture"))
		return CAPTURE_END;
	if (!strcmp(name, "cuProfilerStart"))
		return START;
	if (!strcmp(name, "cuProfilerStop"))
		return STOP;
	if (cupti_call_timed(name))
		return (uint8_t)(TIMED + cupti_call_timed(name));
	if (cupti_vmm_is(name))
		return VMM;
	if (strstr(name, "HostFunc"))
		return 0;
	if (strstr(name, "Launch"))
		return PASTA_KIND_KERNEL;
	if (strstr(name, "Memcpy"))
		return PASTA_KIND_COPY;
	return strstr(name, "Memset") ? PASTA_KIND_SET : 0;
}

/* Copies within a device and between devices may return before they are done. */
static bool call_blocks(const char *name)
{
	return !strstr(name, "Async") && !strstr(name, "Batch") &&
	       (strstr(name, "HtoD") || strstr(name, "DtoH") || strstr(name, "HtoA") ||
		strstr(name, "AtoH") || !strcmp(name, "cuMemcpy") ||
		name_begins(name, "cuMemcpy_") || strstr(name, "cuMemcpy2D") ||
		strstr(name, "cuMemcpy3D_"));
}

/* For calls that launch no kernel, CUPTI leaves call->symbol undefined. */
static const char *launch_symbol(const struct cupti_call *call, uint8_t role)
{
	return role == PASTA_KIND_KERNEL ? call->symbol : NULL;
}

static uint32_t launch_name(const struct cupti_call *call, uint8_t role)
{
	const char *symbol = launch_symbol(call, role);

	return symbol ? pasta_intern_str(symbol) : 0;
}

static void recording_changed(uint32_t correlation, bool on)
{
	pasta_lock(&lock);
	if (atomic_load(&cupti_hot.recording) != on) {
		changes[change_count % CHANGES].time = pasta_now();
		changes[change_count % CHANGES].from = correlation;
		changes[change_count % CHANGES].on = on;
		change_count++;
		atomic_store(&cupti_hot.recording, on);
	}
	pasta_unlock(&lock);
}

/* Returns whether recording was on at this time. If `time` is 0, returns whether recording was on
 * when the call with this correlation id was made. */
static bool recording_was_on(uint32_t correlation, uint64_t time)
{
	uint32_t last = atomic_load(&change_count), first = last > CHANGES ? last - CHANGES : 0;
	bool on;

	if (!last)
		return atomic_load(&cupti_hot.recording);
	pasta_lock(&lock);
	on = !changes[first % CHANGES].on;
	while (last-- > first) {
		if (time ? time < changes[last % CHANGES].time
			 : (int32_t)(correlation - changes[last % CHANGES].from) < 0)
			continue;
		on = changes[last % CHANGES].on;
		break;
	}
	pasta_unlock(&lock);
	return on;
}

bool cupti_recorded(uint32_t correlation)
{
	return recording_was_on(correlation, 0);
}

bool cupti_recorded_at(uint64_t time)
{
	return recording_was_on(0, time);
}

static void launch_emit(uint8_t role, const struct cupti_call *call, uint64_t time)
{
	struct pasta_event ev;

	pasta_event_init(&ev, PASTA_KIND_LAUNCH, 0, PASTA_EVENT_SIZE(launch));
	ev.launch.stack = pasta_stack_capture();
	ev.launch.python = pasta_stack_python();
	ev.launch.corr = call->correlation;
	ev.launch.name = launch_name(call, role);
	ev.launch.context = call->context_id;
	ev.launch.flags = role;
	ev.launch.work = pasta_launch_work_of(role);
	if (role == GRAPH_LAUNCH) {
		ev.launch.work = PASTA_LAUNCH_WORK_GRAPH;
		ev.launch.flags = PASTA_KIND_KERNEL;
		ev.launch.graph = cupti_graph_launched(call);
	}
	ev.time = time ? time : pasta_now();
	pasta_emit(&ev);
}

static void callback_launch(uint8_t role, const struct cupti_call *call)
{
	bool on, recorded;
	uint64_t begin;

	if (call->site) {
		if (cupti_hot.modules_enabled)
			cupti_loading_set(0);
		if (!atomic_load_explicit(&cupti_hot.has_captured, memory_order_relaxed))
			return; /* launch records are held back only after a first stream capture */
		begin = cupti_graph_release(call);
		if (begin)
			launch_emit(role, call, begin);
		return;
	}
	on = pasta_agent_active();
	recorded = on && cupti_hot.launches_enabled;
	if (on != atomic_load_explicit(&cupti_hot.recording, memory_order_relaxed))
		recording_changed(call->correlation, on);
	if (on && atomic_load(&cupti_hot.resting))
		cupti_activity_resume();
	if (atomic_load_explicit(&cupti_hot.captures, memory_order_relaxed))
		cupti_graph_hold(launch_symbol(call, role), recorded ? pasta_now() : 0);
	else if (recorded)
		launch_emit(role, call, 0);
	/* A launch loads code that no earlier call has loaded. */
	if (cupti_hot.modules_enabled)
		cupti_loading_set(pasta_now());
}

/* Emits a wait for a copy that returns only when it is done, such as cuMemcpyDtoH. CUPTI has no
 * record of such waits. */
static void callback_copied(const struct cupti_call *call)
{
	struct pasta_event ev;
	uint32_t tid = 0;

	if (!call->site) {
		cupti_call_note(call);
		return;
	}
	if (!cupti_recorded(call->correlation) || (call->ret && *(const int *)call->ret))
		return;
	pasta_event_init(&ev, PASTA_KIND_SYNC, PASTA_SYNC_STREAM, PASTA_EVENT_SIZE(sync));
	cupti_call_note_end(call);
	ev.sync.dur = cupti_call_span(call->correlation, &tid);
	ev.sync.corr = call->correlation;
	ev.sync.context = call->context_id;
	ev.time = cupti_call_time(call->correlation, &tid);
	if (tid)
		pasta_emit(&ev);
}

static void callback_driver(uint32_t id, const struct cupti_call *call)
{
	uint8_t role = id < IDS_MAX ? roles[id] : 0;

	switch (role) {
	case 0:
		break;
	case CAPTURE_BEGIN:
	case CAPTURE_END:
		cupti_graph_capture(call, role == CAPTURE_BEGIN);
		break;
	case CLONES:
		cupti_graph_clones(call);
		break;
	case START:
		if (!call->site)
			break;
		pasta_agent_set_active(true);
		if (pasta_agent_active() && atomic_load(&cupti_hot.resting))
			cupti_activity_resume();
		break;
	case STOP:
		if (!call->site)
			pasta_agent_set_active(false);
		break;
	case TIMED + CUPTI_TIMED_BEGIN:
		cupti_call_note(call);
		break;
	case TIMED + CUPTI_TIMED_SPAN:
		if (call->site)
			cupti_call_note_end(call);
		else
			cupti_call_note(call);
		break;
	case TIMED + CUPTI_TIMED_LOAD:
		cupti_loading_set(call->site ? 0 : pasta_now());
		break;
	case VMM:
		cupti_vmm_call(call);
		break;
	default:
		callback_launch(role, call);
		if (blocking[id])
			callback_copied(call);
	}
}

static void callback_context(void)
{
	cuda_devices_emit();
	cupti_uvm_start(true);
}

static void callback_resource(uint32_t id, const void *data)
{
	if (id == CUPTI_INIT_FINISHED)
		cupti_uvm_start(false);
	else if (id == CUPTI_CONTEXT_CREATED)
		callback_context();
	else if (id == CUPTI_GRAPHNODE_CREATED)
		cupti_graph_created(data);
	else if (id == CUPTI_GRAPHNODE_CLONED)
		cupti_graph_cloned(data);
	else if (id == CUPTI_MODULE_LOADED || id == CUPTI_MODULE_UNLOADING)
		cupti_module(data, id == CUPTI_MODULE_LOADED);
}

static void callback_any(void *user, int domain, uint32_t id, const void *data)
{
	(void)user;
	if (domain == CUPTI_DRIVER_API)
		callback_driver(id, data);
	else if (domain == CUPTI_RESOURCE)
		callback_resource(id, data);
}

/* Driver functions are found by name, because their numbers differ between versions of CUPTI. */
static int callbacks_enable(void)
{
	int r = CUPTI_OK;

	for (uint32_t id = 1; id < IDS_MAX && r == CUPTI_OK; id++) {
		const char *name = NULL;

		if (cupti.GetCallbackName(CUPTI_DRIVER_API, id, &name) != CUPTI_OK || !name)
			break;
		roles[id] = call_role(name);
		blocking[id] = roles[id] == PASTA_KIND_COPY && call_blocks(name) &&
			       pasta_agent_records(PASTA_KIND_SYNC);
		if (roles[id])
			r = cupti.EnableCallback(1, subscriber, CUPTI_DRIVER_API, id);
	}
	return r;
}

int cupti_callbacks_start(void)
{
	int r = cupti.Subscribe(&subscriber, callback_any, NULL);

	atomic_store(&cupti_hot.recording, pasta_agent_active());
	cupti_hot.launches_enabled = pasta_agent_records(PASTA_KIND_LAUNCH);
	cupti_hot.modules_enabled = pasta_agent_records(PASTA_KIND_MODULE);
	if (r == CUPTI_OK)
		r = cupti.EnableCallback(1, subscriber, CUPTI_RESOURCE, CUPTI_CONTEXT_CREATED);
	if (r == CUPTI_OK)
		r = callbacks_enable();
	/* Errors in enabling the callbacks that follow are ignored. Without these callbacks,
	 * kernels in CUDA graphs have no scope, and launches that are captured into a graph are
	 * recorded as launches; everything else is recorded correctly. */
	if (r == CUPTI_OK) {
		cupti.EnableCallback(1, subscriber, CUPTI_RESOURCE, CUPTI_GRAPHNODE_CREATED);
		cupti.EnableCallback(1, subscriber, CUPTI_RESOURCE, CUPTI_GRAPHNODE_CLONED);
		cupti_modules_start(subscriber);
		cupti.EnableCallback(1, subscriber, CUPTI_RESOURCE, CUPTI_INIT_FINISHED);
	}
	return r;
}

void cupti_callbacks_stop(void)
{
	if (subscriber)
		cupti.Unsubscribe(subscriber);
	subscriber = NULL;
}
