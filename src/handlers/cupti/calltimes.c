/* calltimes.c - stores the time and thread of calls that create streams or record events, because
 * CUPTI's records of these calls contain neither time nor thread. */
#include "handlers/cupti/cupti.h"

enum { CALLS = 1 << 16 }; /* number of slots; CUPTI delivers records within about a second */

static struct {
	_Atomic uint64_t who; /* correlation id << 32 | thread */
	_Atomic uint64_t time;
} calls[CALLS];

bool cupti_call_timed(const char *function)
{
	return (!strncmp(function, "cuEventRecord", 13) &&
		pasta_agent_records(PASTA_KIND_EVENT_RECORD)) ||
	       (!strncmp(function, "cuStreamCreate", 14) && pasta_agent_records(PASTA_KIND_QUEUE));
}

void cupti_call_note(const struct cupti_call *call)
{
	uint32_t at = call->correlation % CALLS;

	if (call->site)
		return;
	atomic_store_explicit(&calls[at].time, pasta_now(), memory_order_relaxed);
	atomic_store_explicit(&calls[at].who, (uint64_t)call->correlation << 32 | pasta_agent_tid(),
			      memory_order_release);
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
