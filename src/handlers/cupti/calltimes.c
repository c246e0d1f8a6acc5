/* calltimes.c - stores the times and threads of calls, because CUPTI's records of streams, events,
 * waits and memory lack some of them. */
#include "handlers/cupti/cupti.h"

enum { CALLS = 1 << 16 }; /* number of slots; CUPTI delivers records within about a second */

static struct {
	_Atomic uint64_t who; /* correlation id << 32 | thread */
	_Atomic uint64_t time;
	_Atomic uint64_t end; /* 0: the call has not returned, or its end is not stored */
} calls[CALLS];

/* The time since which the calling thread is in a call that may load code; 0: it is in none. */
static _Thread_local uint64_t loading;

static bool call_begins(const char *function, const char *with)
{
	return !strncmp(function, with, strlen(with));
}

static bool call_waits(const char *function)
{
	return call_begins(function, "cuStreamSynchronize") ||
	       call_begins(function, "cuCtxSynchronize") ||
	       call_begins(function, "cuEventSynchronize");
}

/* cuMemcpy and cuMemset launch work, and vmm.c handles cuMemCreate and cuMemMap. */
static bool call_allocates(const char *function)
{
	return call_begins(function, "cuMemAlloc") || call_begins(function, "cuMemFree") ||
	       call_begins(function, "cuMemHostAlloc") || call_begins(function, "cuArrayCreate") ||
	       call_begins(function, "cuArray3DCreate") ||
	       call_begins(function, "cuArrayDestroy") || call_begins(function, "cuMipmappedArray");
}

static bool call_loads(const char *function)
{
	return call_begins(function, "cuModuleLoad") || call_begins(function, "cuLibraryLoad") ||
	       call_begins(function, "cuLibraryGet") || call_begins(function, "cuModuleGet") ||
	       call_begins(function, "cuKernelGetFunction") || call_begins(function, "cuFuncLoad");
}

enum cupti_timed cupti_call_timed(const char *function)
{
	if ((call_begins(function, "cuEventRecord") &&
	     pasta_agent_records(PASTA_KIND_EVENT_RECORD)) ||
	    (call_begins(function, "cuStreamCreate") && pasta_agent_records(PASTA_KIND_QUEUE)))
		return CUPTI_TIMED_BEGIN;
	if ((call_waits(function) && pasta_agent_records(PASTA_KIND_SYNC)) ||
	    (call_allocates(function) &&
	     (pasta_agent_records(PASTA_KIND_ALLOC) || pasta_agent_records(PASTA_KIND_FREE))))
		return CUPTI_TIMED_SPAN;
	return call_loads(function) && pasta_agent_records(PASTA_KIND_MODULE) ? CUPTI_TIMED_LOAD
									      : CUPTI_TIMED_NOT;
}

void cupti_call_note(const struct cupti_call *call)
{
	uint32_t at = call->correlation % CALLS;

	if (call->site)
		return;
	atomic_store_explicit(&calls[at].end, 0, memory_order_relaxed);
	atomic_store_explicit(&calls[at].time, pasta_now(), memory_order_relaxed);
	atomic_store_explicit(&calls[at].who, (uint64_t)call->correlation << 32 | pasta_agent_tid(),
			      memory_order_release);
}

void cupti_call_note_end(const struct cupti_call *call)
{
	uint32_t at = call->correlation % CALLS;
	uint64_t who = (uint64_t)call->correlation << 32 | pasta_agent_tid();

	if (atomic_load_explicit(&calls[at].who, memory_order_relaxed) == who)
		atomic_store_explicit(&calls[at].end, pasta_now(), memory_order_relaxed);
}

uint64_t cupti_call_time(uint32_t correlation, uint32_t *tid)
{
	uint32_t at = correlation % CALLS;
	uint64_t who = atomic_load_explicit(&calls[at].who, memory_order_acquire);
	uint64_t time = atomic_load_explicit(&calls[at].time, memory_order_relaxed);

	if (who >> 32 != correlation || !time)
		return pasta_now();
	*tid = (uint32_t)who;
	return time;
}

uint64_t cupti_call_span(uint32_t correlation, uint32_t *tid)
{
	uint32_t at = correlation % CALLS;
	uint64_t who = atomic_load_explicit(&calls[at].who, memory_order_acquire);
	uint64_t time = atomic_load_explicit(&calls[at].time, memory_order_relaxed);
	uint64_t end = atomic_load_explicit(&calls[at].end, memory_order_relaxed);

	if (!correlation || who >> 32 != correlation)
		return 0;
	*tid = (uint32_t)who;
	return end > time ? end - time : 0;
}

void cupti_loading_set(uint64_t since)
{
	loading = since;
}

uint64_t cupti_loading_since(void)
{
	return loading;
}
