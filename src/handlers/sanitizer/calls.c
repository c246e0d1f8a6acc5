/*
 * calls.c - processes the program's calls of launch functions before the driver does.
 *
 * During the Compute Sanitizer's launch callback the driver may hold the lock of the context, and
 * patching a module there would deadlock. When the program enters a driver function, the driver
 * holds no lock. The handler therefore patches modules when they are loaded. The handler unpatches
 * modules, or patches them again, when the program enters a launch function.
 */
#include <string.h>

#include "handlers/sanitizer/calls.h"
#include "handlers/sanitizer/completion.h"
#include "handlers/sanitizer/contexts.h"
#include "handlers/sanitizer/idle.h"
#include "handlers/sanitizer/launch.h"
#include "handlers/sanitizer/modules.h"

/* The layouts of the arguments of the driver's launch functions. */
struct plain {
	void *function;
	uint32_t grid[3], block[3], shared;
	void *stream;
	void **params, **extra; /* cooperative launches have no `extra` */
};
struct config {
	uint32_t grid[3], block[3], shared;
	void *stream;
};
struct extended {
	const struct config *config;
	void *function;
	void **params, **extra;
};
struct graph {
	void *graph, *stream;
};
struct instantiate {
	void *exec, *graph;
	union {
		uint64_t flags;
		const uint64_t *params; /* begins with the flags */
	};
};

/* Values of cuda.h. */
enum { INSTANTIATE_DEVICE_LAUNCH = 4 };
enum { EXTRA_END, EXTRA_POINTER, EXTRA_SIZE };
/* If cuStreamEndCapture returns one of these two errors, the capture continues, because the call
 * was for the wrong stream or on the wrong thread. */
enum { CAPTURE_UNMATCHED = 903, CAPTURE_WRONG_THREAD = 908 };
#define PER_THREAD ((void *)2)

_Thread_local struct san_entered san_entered;

static void call_read_plain(const struct plain *p, bool cooperative)
{
	san_entered = (struct san_entered){
		p->function, p->stream, p->params, cooperative ? NULL : p->extra, false, false};
}

static void call_read_extended(const struct extended *p)
{
	san_entered = (struct san_entered){p->function, p->config ? p->config->stream : NULL,
					   p->params,	p->extra,
					   false,	false};
}

static void call_read_arguments(uint32_t id, const void *arguments)
{
	switch (id) {
	case SAN_LAUNCH_KERNEL:
	case SAN_LAUNCH_KERNEL_PTSZ:
		call_read_plain(arguments, false);
		break;
	case SAN_LAUNCH_COOPERATIVE:
	case SAN_LAUNCH_COOPERATIVE_PTSZ:
		call_read_plain(arguments, true);
		break;
	case SAN_LAUNCH_KERNEL_EX:
	case SAN_LAUNCH_KERNEL_EX_PTSZ:
		call_read_extended(arguments);
		break;
	default:
		san_entered =
			(struct san_entered){.stream = ((const struct graph *)arguments)->stream};
	}
}

/* Reads back all slots of the stream before other work runs on the stream. */
static void call_wait_for_stream(void *context, void *stream)
{
	struct san_context *c;
	struct san_stream *s;
	void *handle = NULL;

	if (!atomic_load_explicit(&san.pending, memory_order_relaxed) || !context)
		return;
	if (SAN_CALL(GetStreamHandle, context, stream, &handle) != SAN_OK || !handle)
		return;
	c = san_context_find(context);
	s = c ? san_stream(c, handle) : NULL;
	if (s) {
		san_completion_wait(s);
		san_completion_wait_sent(c);
	}
	san_stream_put(s);
}

/* Returns whether stream NULL denotes the calling thread's own default stream in this driver
 * function. */
static bool call_is_per_thread(uint32_t id)
{
	return id == SAN_LAUNCH_KERNEL_PTSZ || id == SAN_LAUNCH_COOPERATIVE_PTSZ ||
	       id == SAN_LAUNCH_KERNEL_EX_PTSZ || id == SAN_GRAPH_LAUNCH_PTSZ;
}

/* Returns whether the driver function starts a stream capture. During a capture, no thread of the
 * handler may call functions that affect streams. */
static bool call_is_capture(uint32_t id)
{
	return id == SAN_CAPTURE || id == SAN_CAPTURE_PTSZ || id == SAN_CAPTURE_2 ||
	       id == SAN_CAPTURE_2_PTSZ || id == SAN_CAPTURE_GRAPH || id == SAN_CAPTURE_GRAPH_PTSZ;
}

static bool call_is_capture_end(uint32_t id)
{
	return id == SAN_CAPTURE_END || id == SAN_CAPTURE_END_PTSZ;
}

static bool capture_has_ended(int result)
{
	return !result || (result >= SAN_CAPTURE_ERRORS && result != CAPTURE_UNMATCHED &&
			   result != CAPTURE_WRONG_THREAD);
}

/* Tracks which streams the program captures. If the start of a capture fails, no capture begins. If
 * the end of a capture fails, the capture is over nevertheless. */
static void call_capture(uint32_t id, const struct san_call *call)
{
	int result = call->site && call->result ? *(const int *)call->result : 0;
	/* The stream is the first argument of all functions that begin or end captures. */
	const void *stream = call->arguments ? *(void *const *)call->arguments : NULL;

	if (!call->site && call_is_capture(id)) {
		san_completion_wait_all();
		san_idle_capture(call->context, stream, true);
	} else if (call->site && (call_is_capture(id) ? result != 0 : capture_has_ended(result))) {
		san_idle_capture(call->context, stream, false);
	}
}

static bool call_is_instantiate(uint32_t id)
{
	return id == SAN_INSTANTIATE || id == SAN_INSTANTIATE_PARAMS ||
	       id == SAN_INSTANTIATE_PARAMS_PTSZ;
}

/* Detects graphs that kernels can launch. If a kernel launched such a graph, the graph would write
 * to the slot of its last launch from the host. Another launch may use that slot by then. */
static void call_instantiate(uint32_t id, const struct instantiate *i)
{
	if (i && (id == SAN_INSTANTIATE ? i->flags
		  : i->params		? *i->params
					: 0) &
			 INSTANTIATE_DEVICE_LAUNCH)
		atomic_store(&san.device_graphs, true);
}

/* Returns whether the driver function enqueues work that may wait for the program. Modules are not
 * patched in calls of such a function, because patching would wait for earlier work of this
 * type. */
static bool call_is_wait(uint32_t id)
{
	switch (id) {
	case SAN_ADD_CALLBACK:
	case SAN_ADD_CALLBACK_PTSZ:
	case SAN_WAIT_VALUE32:
	case SAN_WAIT_VALUE32_PTSZ:
	case SAN_BATCH_MEM_OP:
	case SAN_BATCH_MEM_OP_PTSZ:
	case SAN_WAIT_VALUE64:
	case SAN_WAIT_VALUE64_PTSZ:
	case SAN_WAIT_EXTERNAL:
	case SAN_WAIT_EXTERNAL_PTSZ:
	case SAN_LAUNCH_HOST:
	case SAN_LAUNCH_HOST_PTSZ:
	case SAN_WAIT_VALUE32_2:
	case SAN_WAIT_VALUE32_2_PTSZ:
	case SAN_WAIT_VALUE64_2:
	case SAN_WAIT_VALUE64_2_PTSZ:
	case SAN_BATCH_MEM_OP_2:
	case SAN_BATCH_MEM_OP_2_PTSZ:
		return true;
	default:
		return false;
	}
}

/* Returns whether this is a legacy launch function, which does not have a stream among its
 * arguments. */
static bool call_is_legacy(uint32_t id)
{
	return id == SAN_LAUNCH_OLD || id == SAN_LAUNCH_GRID || id == SAN_LAUNCH_GRID_ASYNC;
}

static void call_enter(uint32_t id, const struct san_call *call)
{
	if (call->arguments && !call_is_legacy(id) && !call_is_wait(id)) {
		call_read_arguments(id, call->arguments);
		if (!san_entered.stream && call_is_per_thread(id))
			san_entered.stream = PER_THREAD;
		call_wait_for_stream(call->context, san_entered.stream);
		san_modules_update(san_entered.function, call->symbol);
	}
	san_entered.inside = true;
	san_idle_enter();
}

static void call_leave(void)
{
	bool inside = san_entered.inside;

	memset(&san_entered, 0, sizeof(san_entered));
	san_launch_over();
	if (inside)
		san_idle_leave();
}

void san_call(uint32_t id, const struct san_call *call)
{
	if (call_is_instantiate(id))
		call_instantiate(id, call->arguments);
	else if (call_is_capture(id) || call_is_capture_end(id))
		call_capture(id, call);
	else if (call->site)
		call_leave();
	else
		call_enter(id, call);
}

/* Finds tensor descriptors in kernel arguments, if the program passes all arguments as one
 * buffer. */
static size_t call_find_extra(void **extra, struct pasta_tensormap *maps)
{
	const void *bytes = NULL;
	size_t size = 0;

	for (; extra && (uintptr_t)*extra != EXTRA_END; extra += 2)
		if ((uintptr_t)*extra == EXTRA_POINTER)
			bytes = extra[1];
		else if ((uintptr_t)*extra == EXTRA_SIZE)
			size = *(const size_t *)extra[1];
		else
			return 0; /* the option is unknown, and therefore so is its length */
	return bytes ? pasta_tensormap_find(bytes, size, maps, 0) : 0;
}

size_t san_call_tensors(const struct pasta_cubin_function *f, struct pasta_tensormap *maps)
{
	size_t count = 0;

	if (san_entered.extra)
		return call_find_extra(san_entered.extra, maps);
	if (!san_entered.params || !f || !f->params_known)
		return 0;
	for (uint32_t i = 0; i < f->params_count; i++)
		count = pasta_tensormap_find(san_entered.params[i], f->params[i].size, maps, count);
	return count;
}
