/* inject.c - starts and ends the sanitizer handler, and receives the library's callbacks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/lock.h"
#include "handlers/cuda/devices.h"
#include "handlers/cuda/exit.h"
#include "handlers/cuda/library.h"
#include "handlers/handler.h"
#include "handlers/sanitizer/calls.h"
#include "handlers/sanitizer/completion.h"
#include "handlers/sanitizer/contexts.h"
#include "handlers/sanitizer/idle.h"
#include "handlers/sanitizer/launch.h"
#include "handlers/sanitizer/modules.h"
#include "handlers/sanitizer/objects.h"
#include "handlers/sanitizer/patching.h"
#include "handlers/sanitizer/sanitizer.h"

struct san san = {.lock = PTHREAD_MUTEX_INITIALIZER};
_Thread_local uint32_t san_own;

static san_subscriber subscriber;
static pid_t owner;

enum { EXIT_WAIT_MS = 1000 };

/* -- Callbacks -- */

static void inject_on_context(const struct san_context_data *d)
{
	san_context_begin(d->context, d->device);
	san_own++;
	cuda_devices_emit();
	san_own--;
}

static void inject_on_stream(const struct san_stream_data *d)
{
	struct san_context *c = d->handle ? san_context(d->context, -1) : NULL;

	if (c)
		san_stream_put(san_stream(c, d->handle));
}

static void inject_on_stream_end(const struct san_stream_data *d)
{
	san_idle_uncapture(d->context, d->stream);
	san_stream_end(d->handle);
}

static void inject_on_resource(uint32_t id, const void *data)
{
	switch (id) {
	case SAN_CONTEXT_CREATED:
		inject_on_context(data);
		break;
	case SAN_CONTEXT_DESTROYING:
		san_idle_uncapture(((const struct san_context_data *)data)->context, NULL);
		san_context_end(((const struct san_context_data *)data)->context);
		break;
	case SAN_CONTEXT_DESTROYED:
		san_objects_ended();
		break;
	case SAN_STREAM_CREATED:
		inject_on_stream(data);
		break;
	case SAN_STREAM_DESTROYING:
		inject_on_stream_end(data);
		break;
	case SAN_MODULE_LOADED:
		san_module_loaded(data);
		break;
	case SAN_MODULE_UNLOADING:
		san_module_unloaded(data);
		break;
	case SAN_DEVICE_ALLOC:
	case SAN_DEVICE_FREE:
	case SAN_HOST_ALLOC:
	case SAN_HOST_FREE:
	case SAN_ASYNC_ALLOC:
	case SAN_ASYNC_FREE:
		san_object(id, data);
		break;
	default:
		break;
	}
}

static void inject_on_graphs(uint32_t id, const void *data)
{
	if (id == SAN_NODE_LAUNCH_BEGIN)
		san_node_begin(data);
	else if (id == SAN_GRAPH_LAUNCH_BEGIN)
		san_graph_begin(data);
	else if (id == SAN_GRAPH_LAUNCH_END)
		san_graph_end(data);
}

static void inject_on_driver(uint32_t id, const struct san_call *call)
{
	if (id == SAN_PROFILER_START && call->site)
		pasta_agent_set_active(true);
	else if (id == SAN_PROFILER_STOP && !call->site)
		pasta_agent_set_active(false);
	else if (id != SAN_PROFILER_START && id != SAN_PROFILER_STOP)
		san_call(id, call);
}

/* When the handler has ended, it does not count launches any more. Modules are still patched, so
 * each launch must receive NULL instead of a slot. */
static void inject_on_late_launch(int domain, uint32_t id, const void *data)
{
	const struct san_launch_data *d = NULL;

	if (domain == SAN_LAUNCH && id == SAN_LAUNCH_BEGIN)
		d = data;
	else if (domain == SAN_GRAPHS && id == SAN_NODE_LAUNCH_BEGIN &&
		 ((const struct san_node_data *)data)->type == SAN_NODE_KERNEL)
		d = &((const struct san_node_data *)data)->launch;
	if (d)
		SAN_CALL(SetLaunchCallbackData, d->launch, d->function,
			 d->handle ? d->handle : d->api_handle, NULL);
}

static void inject_on_call(void *user, int domain, uint32_t id, const void *data)
{
	int saved = errno, cancel;

	(void)user;
	if (san_own || !data)
		return;
	/* cancellation is disabled, because a cancelled thread could not release san.lock */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (atomic_load_explicit(&san.ended, memory_order_relaxed))
		inject_on_late_launch(domain, id, data);
	else if (domain == SAN_RESOURCE)
		inject_on_resource(id, data);
	else if (domain == SAN_LAUNCH && id == SAN_LAUNCH_BEGIN)
		san_launch_begin(data);
	else if (domain == SAN_LAUNCH && id == SAN_LAUNCH_END)
		san_launch_end();
	else if (domain == SAN_GRAPHS)
		inject_on_graphs(id, data);
	else if (domain == SAN_DRIVER_API)
		inject_on_driver(id, data);
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
}

/* -- Start and end -- */

/* An atexit handler. CUDA has registered a handler earlier, so this handler runs before CUDA shuts
 * down. */
static void inject_at_exit(void)
{
	if (getpid() != owner || atomic_load(&san.ended))
		return;
	san_completion_end(NULL, NULL);
	atomic_store(&san.ended, true);
	pasta_lock(&san.lock);
	san_idle_stop();
	pasta_unlock(&san.lock);
	san_patching_settle();
}

/* Runs before _exit, perhaps in a signal handler. Waits until the agent's threads have read back
 * the pending slots. */
static void inject_before_exit(void)
{
	const struct timespec ms = {.tv_nsec = 1000000};

	for (int i = 0; i < EXIT_WAIT_MS && !atomic_load(&san.ended) && atomic_load(&san.pending);
	     i++)
		pasta_nap(&ms);
}

/* A forked child cannot use the CUDA contexts of its parent process, and does not have the agent's
 * threads. */
static void inject_forked(void)
{
	atomic_store(&san.ended, true);
}

static bool inject_make_condition(void)
{
	pthread_condattr_t attr;
	bool made;

	if (pthread_condattr_init(&attr))
		return false;
	made = !pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) &&
	       !pthread_cond_init(&san.changed, &attr);
	pthread_condattr_destroy(&attr);
	return made;
}

/* The driver functions whose calls the handler observes. */
static const uint32_t inject_calls[] = {
	SAN_PROFILER_START,
	SAN_PROFILER_STOP,
	SAN_LAUNCH_OLD,
	SAN_LAUNCH_GRID,
	SAN_LAUNCH_GRID_ASYNC,
	SAN_LAUNCH_KERNEL,
	SAN_LAUNCH_KERNEL_PTSZ,
	SAN_LAUNCH_KERNEL_EX,
	SAN_LAUNCH_KERNEL_EX_PTSZ,
	SAN_LAUNCH_COOPERATIVE,
	SAN_LAUNCH_COOPERATIVE_PTSZ,
	SAN_INSTANTIATE,
	SAN_INSTANTIATE_PARAMS,
	SAN_INSTANTIATE_PARAMS_PTSZ,
	SAN_GRAPH_LAUNCH,
	SAN_GRAPH_LAUNCH_PTSZ,
	SAN_CAPTURE,
	SAN_CAPTURE_PTSZ,
	SAN_CAPTURE_END,
	SAN_CAPTURE_END_PTSZ,
	SAN_CAPTURE_2,
	SAN_CAPTURE_2_PTSZ,
	SAN_CAPTURE_GRAPH,
	SAN_CAPTURE_GRAPH_PTSZ,
	SAN_ADD_CALLBACK,
	SAN_ADD_CALLBACK_PTSZ,
	SAN_WAIT_VALUE32,
	SAN_WAIT_VALUE32_PTSZ,
	SAN_BATCH_MEM_OP,
	SAN_BATCH_MEM_OP_PTSZ,
	SAN_WAIT_VALUE64,
	SAN_WAIT_VALUE64_PTSZ,
	SAN_WAIT_EXTERNAL,
	SAN_WAIT_EXTERNAL_PTSZ,
	SAN_LAUNCH_HOST,
	SAN_LAUNCH_HOST_PTSZ,
	SAN_WAIT_VALUE32_2,
	SAN_WAIT_VALUE32_2_PTSZ,
	SAN_WAIT_VALUE64_2,
	SAN_WAIT_VALUE64_2_PTSZ,
	SAN_BATCH_MEM_OP_2,
	SAN_BATCH_MEM_OP_2_PTSZ,
};

static int inject_subscribe(void)
{
	int r = sanitizer.Subscribe(&subscriber, inject_on_call, NULL);

	if (r == SAN_OK)
		r = sanitizer.EnableDomain(1, subscriber, SAN_RESOURCE);
	if (r == SAN_OK)
		r = sanitizer.EnableDomain(1, subscriber, SAN_LAUNCH);
	if (r == SAN_OK)
		r = sanitizer.EnableDomain(1, subscriber, SAN_GRAPHS);
	if (r != SAN_OK) {
		if (subscriber)
			sanitizer.Unsubscribe(subscriber);
		return r;
	}
	/* Errors are ignored, because an older library lacks callbacks for some of these functions.
	 * Without these callbacks, cudaProfilerStart and cudaProfilerStop have no effect on the
	 * recording, and modules stay patched. */
	for (size_t i = 0; i < sizeof(inject_calls) / sizeof(*inject_calls); i++)
		sanitizer.EnableCallback(1, subscriber, SAN_DRIVER_API, inject_calls[i]);
	return SAN_OK;
}

static void inject_log(const char *why)
{
	char text[400];

	snprintf(text, sizeof(text), "memory accesses of CUDA kernels are not counted: %s", why);
	pasta_agent_log("sanitizer", text);
}

/* Returns what the user can do about an error code of the library; NULL if there is no advice. */
static const char *inject_advice(int result)
{
	if (result == SAN_MAX_LIMIT)
		return "another library in the program uses the Compute Sanitizer: run the program "
		       "without it";
	if (result == SAN_NOT_INITIALIZED)
		return "the Compute Sanitizer does not work with this driver: set PASTA_SANITIZER "
		       "to a libsanitizer-public.so of the driver's CUDA version";
	return NULL;
}

void san_start(void)
{
	char why[300] = "out of memory";
	int r;

	owner = getpid();
	san.reducers = pasta_accesses_config.reducers &
		       (pasta_accesses_config.on_host
				? PASTA_REDUCER_MASK(BLOCK) | PASTA_REDUCER_MASK(BARRIER)
				: ~PASTA_REDUCER_MASK(TENSOR));
	if (san_bind(why, sizeof(why)) || !inject_make_condition() || !san_completion_start() ||
	    pthread_atfork(NULL, NULL, inject_forked)) {
		inject_log(why);
		return;
	}
	r = inject_subscribe();
	if (r != SAN_OK) {
		snprintf(why, sizeof(why),
			 "the Compute Sanitizer reports an error (%s): run 'accelprof doctor' to "
			 "see which library is used",
			 san_text(r));
		inject_log(inject_advice(r) ? inject_advice(r) : why);
		return;
	}
	atexit(inject_at_exit);
	cuda_exit_watch(inject_before_exit);
}

static int inject_probe(char *why, size_t size)
{
	int error = cuda_library_probe_driver(why, size);

	if (error)
		return error;
	if (san_bind(why, size))
		return -ENODEV;
	snprintf(why, size, "on NVIDIA's devices, by %.200s", sanitizer.path);
	return 0;
}

const struct pasta_handler pasta_sanitizer_handler = {
	.name = "sanitizer",
	.summary = "memory accesses of CUDA programs on NVIDIA's GPUs, for tools that need them",
	.probe = inject_probe,
	.accesses = inject_probe,
};
