/*
 * drain.h - moving events from the rings into the shard. Internal to drain.c, shardopen.c and
 * writer.c.
 *
 * Threads: the caller holds drain_lock, or is the only thread that records.
 */
#ifndef PASTA_COLLECT_DRAIN_H
#define PASTA_COLLECT_DRAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <pasta/event.h>

/* Writes what is in the rings now. last: also the number of events of each source, after which
 * nothing may follow. Returns false if not all was written. */
bool pasta_drain(bool last);

/* Returns a new event of the agent's own (source 0), to be filled in by the caller. NULL: earlier
 * events could not be written; the caller tries again at the next drain. */
struct pasta_event *pasta_drain_event(enum pasta_kind kind, unsigned int sub);
/* Emits a clock event. It also states that all older events are in the shard: raw must be from
 * before the rings' heads were read. */
void pasta_drain_clock(uint64_t raw, uint64_t real);
/* Writes the agent's own events. Returns false on failure. */
bool pasta_drain_flush(void);

/* Interns a string; not under pasta_state's lock. */
uint32_t pasta_drain_intern(const char *text);
/* Reports an error of a write, 0 or a negative errno, to accelprof. Returns true if r is 0. */
bool pasta_drain_check(int r);
uint64_t pasta_drain_clock_ns(clockid_t id);

#endif
