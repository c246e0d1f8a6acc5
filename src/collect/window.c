/*
 * window.c - decides whether activity is recorded at the moment. The program starts and stops
 * recording, and the user may set a window of time.
 */
#include <stdio.h>
#include <stdlib.h>

#include "collect/agent.h"
#include "collect/state.h"

/* The bits of pasta_window_off state why activity is not recorded. */
enum {
	STOPPED = 1, /* the program called pasta_stop */
	CLOSED = 2,  /* the current time is outside of the window of time */
	/* The window of time may have begun in the meantime, so the window must be compared with
	 * the clock. */
	TIMED = 4,
};

_Atomic uint32_t pasta_window_off;
/* The start and the end of the window of time in which activity is recorded, in
 * CLOCK_MONOTONIC_RAW. A forked child inherits the window. */
static uint64_t opens, closes = UINT64_MAX;

/* Returns whether activity is recorded, and updates pasta_window_off. The writer notices when the
 * window of time ends. Before the process has a writer, each call compares the window with the
 * clock. */
bool pasta_window_check(void)
{
	bool unattended = closes != UINT64_MAX && !pasta_agent_gen();
	uint64_t now;

	if (!(atomic_load_explicit(&pasta_window_off, memory_order_relaxed) & TIMED))
		return !atomic_load_explicit(&pasta_window_off, memory_order_relaxed);
	now = pasta_now();
	if (now < opens)
		return false;
	if (now >= closes)
		atomic_fetch_and(&pasta_window_off, ~(uint32_t)TIMED);
	else if (unattended)
		return !(atomic_load(&pasta_window_off) & STOPPED);
	else
		atomic_fetch_and(&pasta_window_off, ~(uint32_t)(CLOSED | TIMED));
	return !atomic_load(&pasta_window_off);
}

void pasta_agent_set_active(bool active)
{
	if (active)
		atomic_fetch_and(&pasta_window_off, ~(uint32_t)STOPPED);
	else
		atomic_fetch_or(&pasta_window_off, STOPPED);
}

void pasta_window_begin(const char *text, bool paused)
{
	unsigned long long from = 0, to = 0;

	if (text && sscanf(text, "%llu-%llu", &from, &to) == 2) {
		opens = from;
		closes = to ? to : UINT64_MAX;
	}
	atomic_store(&pasta_window_off,
		     (paused ? STOPPED : 0) | (opens || closes != UINT64_MAX ? CLOSED | TIMED : 0));
}

void pasta_window_forked(void)
{
	if (closes != UINT64_MAX)
		atomic_fetch_or(&pasta_window_off, CLOSED | TIMED);
}

uint64_t pasta_window_tick(void)
{
	uint64_t now = pasta_now(), next = UINT64_MAX;

	if (atomic_load(&pasta_window_off) & TIMED)
		pasta_window_check();
	if (now >= closes)
		atomic_fetch_or(&pasta_window_off, CLOSED);
	if (now < opens)
		next = opens - now;
	else if (now < closes && closes != UINT64_MAX)
		next = closes - now;
	return next;
}
