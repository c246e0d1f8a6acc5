/*
 * calls.h - which call of which tool each thread is in, on a page that another process watches.
 *
 * The page is shared with code of tools: who watches believes no number on it, and shows none that
 * is out of range. Each slot is written by one thread.
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

/* "open", "event"; "a callback" for what is no phase. */
const char *pasta_phase_name(uint32_t phase);

struct pasta_call_slot {
	_Atomic uint64_t calls; /* that began */
	_Atomic uint32_t tool;	/* whose: its number in the choice, from 1; 0: in none */
	_Atomic uint32_t phase;
	uint64_t room[6]; /* no two threads write one cache line */
};

#define PASTA_CALL_SLOTS 72 /* the first is the main thread's */

struct pasta_calls {
	_Atomic uint32_t stop;	      /* read no more, and report */
	_Atomic uint32_t ended;	      /* the slot whose thread crashed or called exit, from 1 */
	_Atomic uint64_t done, total; /* bytes read, and to be read */
	_Atomic uint64_t beats;	      /* other signs of life */
	uint64_t room[4];
	struct pasta_call_slot slots[PASTA_CALL_SLOTS];
};

/* slot may be NULL: nobody watches. */
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

/* This thread's slot, which must be there; calls may be NULL: then it is NULL. What the thread
 * needs for pasta_calls_mark_ends lives as long as the process. */
struct pasta_call_slot *pasta_calls_thread(struct pasta_calls *calls, size_t slot);
/* From now on a thread that crashes, or calls exit, leaves its slot in ended, and the process ends
 * as it would have. Once in a process. */
void pasta_calls_mark_ends(struct pasta_calls *calls);

#endif
