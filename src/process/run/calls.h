/*
 * calls.h - the page on which a worker publishes the call that each of its threads is in.
 *
 * accelprof reads the page to find out which tool hangs or crashed. The code of tools can overwrite
 * it: the reader ignores values out of range. One thread writes each slot.
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

/* Returns "open", "event", ...; "a callback" for PASTA_PHASE_NONE and unknown values. */
const char *pasta_phase_name(uint32_t phase);

struct pasta_call_slot {
	_Atomic uint64_t calls; /* begun so far */
	_Atomic uint32_t tool;	/* number in the choice, from 1; 0: the thread is in no call */
	_Atomic uint32_t phase;
	uint64_t room[6]; /* padding to a cache line: no two threads write the same one */
};

#define PASTA_CALL_SLOTS 72 /* the first is the main thread's */

struct pasta_calls {
	_Atomic uint32_t stop;	      /* set by accelprof: stop reading, and report */
	_Atomic uint32_t ended;	      /* the slot whose thread crashed or called exit, from 1 */
	_Atomic uint64_t done, total; /* bytes read so far, and in all */
	_Atomic uint64_t beats;	      /* other signs of life */
	uint64_t room[4];
	struct pasta_call_slot slots[PASTA_CALL_SLOTS];
};

/* The thread enters a call of a tool. slot may be NULL: no process watches. */
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

/* Makes a slot this thread's own and returns it; NULL if calls is NULL or the page has no such
 * slot. The thread's signal stack, for pasta_calls_mark_ends, lives as long as the process. */
struct pasta_call_slot *pasta_calls_thread(struct pasta_calls *calls, size_t slot);
/* From now on, a thread that crashes or calls exit stores its slot in ended; then the process ends
 * as usual. Call it once. */
void pasta_calls_mark_ends(struct pasta_calls *calls);

#endif
