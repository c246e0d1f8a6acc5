/*
 * drain.h - functions that move events from the rings into the shard. Only drain.c, shardopen.c and
 * writer.c call these functions.
 *
 * The caller of these functions holds drain_lock, or is the only thread that records.
 */
#ifndef PASTA_COLLECT_DRAIN_H
#define PASTA_COLLECT_DRAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <pasta/event.h>

/* Writes the events that are in the rings to the shard. If `last` is true, the function also writes
 * the number of events of each source, and nothing may be written later. Returns false if some
 * events could not be written. */
bool pasta_drain(bool last);

/* Returns a new event of the agent itself (source 0), which the caller fills in. Returns NULL if
 * earlier events could not be written. In that case the caller tries again at the next drain. */
struct pasta_event *pasta_drain_event(enum pasta_kind kind, unsigned int sub);
/* Emits a clock event. Readers assume that the shard contains all events before the time `raw`, so
 * `raw` must be read before the heads of the rings. */
void pasta_drain_clock(uint64_t raw, uint64_t real);
/* Writes the agent's own events to the shard. Returns false on failure. */
bool pasta_drain_flush(void);

/* Interns a string. The caller must not hold pasta_state->lock. */
uint32_t pasta_drain_intern(const char *text);
/* Reports a failed write to accelprof. `r` is the result of the write, 0 or a negative errno.
 * Returns true if `r` is 0. */
bool pasta_drain_check(int r);
uint64_t pasta_drain_clock_ns(clockid_t id);

#endif
