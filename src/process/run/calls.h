/*
 * calls.h - maintains the shared page that shows which callback of a tool each thread of a worker
 * is in.
 *
 * accelprof reads the page to find out which tool hangs or crashed. A tool's code can overwrite the
 * page, so accelprof ignores values that are out of range. Each slot is written by only one thread.
 */
#ifndef PASTA_PROCESS_CALLS_H
#define PASTA_PROCESS_CALLS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum pasta_phase {
	PASTA_PHASE_NONE,
	PASTA_PHASE_LOAD,
	PASTA_PHASE_OPEN,
	PASTA_PHASE_EVENT,
	PASTA_PHASE_MERGE,
	PASTA_PHASE_REPORT,
	PASTA_PHASE_CLOSE,
	PASTA_PHASES,
};

/* Returns the name of a phase, such as "open" or "event". Returns "a callback" for PASTA_PHASE_NONE
 * and unknown values. */
const char *pasta_phase_name(uint32_t phase);

struct pasta_call_slot {
	_Atomic uint64_t calls; /* number of calls of callbacks that the thread has begun */
	/* number of the tool among the chosen tools; numbers start at 1; 0 if the thread is in no
	 * callback */
	_Atomic uint32_t tool;
	_Atomic uint32_t phase;
	uint64_t room[6]; /* padding to a cache line, to avoid false sharing */
};

#define PASTA_CALL_SLOTS 72 /* number of slots; slot 0 belongs to the main thread */

struct pasta_calls {
	/* set by accelprof, to make the worker stop reading events and report */
	_Atomic uint32_t stop;
	/* number of the slot whose thread crashed or called exit, plus 1; 0 if no thread did */
	_Atomic uint32_t ended;
	_Atomic uint64_t done, total; /* number of bytes read so far, and number of bytes to read */
	_Atomic uint64_t beats;	      /* counter that grows with other signs of progress */
	uint64_t room[4];
	struct pasta_call_slot slots[PASTA_CALL_SLOTS];
};

/* Records that the thread enters a callback of a tool. `slot` may be NULL if no process watches the
 * calls. */
static inline void pasta_call_begin(struct pasta_call_slot *slot, uint32_t tool)
{
	uint64_t calls;

	if (!slot)
		return;
	calls = atomic_load_explicit(&slot->calls, memory_order_relaxed);
	atomic_store_explicit(&slot->calls, calls + 1, memory_order_relaxed);
	atomic_store_explicit(&slot->tool, tool, memory_order_relaxed);
}

static inline void pasta_call_end(struct pasta_call_slot *slot)
{
	if (slot)
		atomic_store_explicit(&slot->tool, 0, memory_order_relaxed);
}

static inline void pasta_call_phase(struct pasta_call_slot *slot, enum pasta_phase phase)
{
	if (slot)
		atomic_store_explicit(&slot->phase, phase, memory_order_relaxed);
}

/* Assigns a slot to the calling thread and returns the slot. Returns NULL if `calls` is NULL or the
 * page has no such slot. Also sets up the signal stack that the thread needs for
 * pasta_calls_mark_ends; this stack is never freed. */
struct pasta_call_slot *pasta_calls_thread(struct pasta_calls *calls, size_t slot);
/* After this call, a thread that crashes or calls exit first stores the number of its slot in
 * `ended`. Call this function only once. */
void pasta_calls_mark_ends(struct pasta_calls *calls);

#endif
