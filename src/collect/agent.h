/*
 * agent.h - the collector, as handlers see it. One a process.
 *
 * Nothing here prints, exits, raises or waits in the program's threads, but for the bounded wait
 * of pasta_port_push. Recording begins with the first event: until then there is no file, no
 * thread and no memory. After a fork the child begins anew. What cannot be recorded is counted.
 */
#ifndef PASTA_COLLECT_AGENT_H
#define PASTA_COLLECT_AGENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <pasta/event.h>

#include "collect/clock.h"

/* Be ready to record, from the environment that accelprof run made. Idempotent; any thread, but not
 * in a signal handler. False: there is no run to record into, or the process runs with the rights
 * of another user (AT_SECURE); then nothing else here may be called. */
bool pasta_agent_attach(void);
/* The same for a vendor's handler: its calls never come from signal handlers. */
bool pasta_agent_attach_vendor(void);

/* Write out all that is there and end the writer; what is emitted later is written at once where
 * no other thread is left, and else left to recover. Called by itself when the program exits. */
void pasta_agent_close(void);

/* Activity is recorded only between start and stop, and within the window of time that the run may
 * have; state always. Any thread, signal handlers included. */
void pasta_agent_set_active(bool active);
/* window.c: 0 while it is recorded; otherwise whether it is now. */
extern _Atomic uint32_t pasta_window_off;
bool pasta_window_look(void);
static inline bool pasta_agent_active(void)
{
	return !atomic_load_explicit(&pasta_window_off, memory_order_relaxed) ||
	       pasta_window_look();
}

/* A number that changes when the process begins to record; 0 before, and again after a fork. */
uint32_t pasta_agent_gen(void);
/* Whether a kind is to be recorded at all. */
bool pasta_agent_records(enum pasta_kind kind);
/* Whether a tool or the user asked for it: where it is dear, it is not recorded as state. */
bool pasta_agent_asked(enum pasta_kind kind);

/* A record of this kind and size, its fields zero. Cheaper than an initializer, which would zero
 * the longest kind's record. */
static inline void pasta_event_init(struct pasta_event *ev, enum pasta_kind kind, unsigned int sub,
				    size_t size)
{
	memset(ev, 0, size);
	ev->size = (uint16_t)size;
	ev->kind = (uint8_t)kind;
	ev->sub = (uint8_t)sub;
}

/* What a launch starts, by the kind of record that its work has. */
static inline enum pasta_launch_work pasta_launch_work_of(unsigned int kind)
{
	switch (kind) {
	case PASTA_KIND_KERNEL:
		return PASTA_LAUNCH_WORK_KERNEL;
	case PASTA_KIND_COPY:
		return PASTA_LAUNCH_WORK_COPY;
	case PASTA_KIND_SET:
		return PASTA_LAUNCH_WORK_FILL;
	default:
		return PASTA_LAUNCH_WORK_UNKNOWN;
	}
}

/* From a thread of the program: copies the record, never waits. size, kind, sub, time and the
 * fields are the caller's; tid is set here. Times of one thread must not go back. */
void pasta_emit(struct pasta_event *ev);

/* The same for an event that is another thread's, or of a track that is no thread of the system's:
 * ids from PASTA_TRACK on are free for those. Times of one tid must not go back, whoever emits. */
#define PASTA_TRACK (UINT32_C(1) << 30)
void pasta_emit_for(struct pasta_event *ev, uint32_t tid);
/* A thread's name, an interned one; tid 0 is the calling thread. */
void pasta_emit_name(uint32_t tid, uint32_t name);

/* The regions of the calling thread are in one order, which their depth tells; yet each owner, one
 * who names regions, knows of its own alone. When a region ends inside of which another owner's has
 * begun and not ended, the inner one ends there, flagged PASTA_REGION_SUPPLIED_OUTER, and its own
 * end is none. Past 1,024 open ones they are dropped and counted. Safe in signal handlers. */
enum pasta_region_owner {
	PASTA_OWNER_ANNOTATE,
	PASTA_OWNER_TORCH,
	PASTA_OWNER_NVTX, /* and those that follow */
};
/* Whether a region that begins now is recorded: what to tell the functions below, and whether to
 * intern names for them. */
bool pasta_region_enabled(void);
/* Both return the owner's level of the region, from 0, whether it is recorded or not; -1: there is
 * no memory, or the owner has no region to end. */
int pasta_region_push(uint32_t owner, bool wanted, uint32_t name, uint32_t domain);
int pasta_region_pop(uint32_t owner);
void pasta_region_mark(uint32_t name, uint32_t domain);

/* The calling thread's id, as its events have it. */
uint32_t pasta_agent_tid(void);

/* One moment in a source's clock and in CLOCK_MONOTONIC_RAW, which is off by error at most: a few a
 * second, from any thread; of those that come close together the reader takes the best. */
void pasta_agent_clock(uint32_t clock, uint64_t value, uint64_t raw, uint64_t error);

/* What a handler cannot do, and what to do about it: accelprof tells the user, once for all
 * processes; of what one handler says, the first two. */
void pasta_agent_log(const char *handler, const char *what);
/* Likewise what it has found out, and that is no trouble. */
void pasta_agent_announce(const char *handler, const char *what);

/* Records that belong together, made where the calling thread's events go: what pasta_emit would
 * copy one by one. What a signal handler emits between open and close is lost, and counted: so they
 * are close together, and nothing but bytes is interned there. size is of all records, at most
 * PASTA_BATCH_MAX; those that find no room are dropped, and counted. The other rules are
 * pasta_emit's; a record can be written to until the batch is closed. */
#define PASTA_BATCH_MAX 4096
struct pasta_batch {
	void *producer;
	char *begin, *at, *end; /* NULL: there is no room */
	uint64_t pad;
	uint32_t tid, count, lost, why;
	struct pasta_event none; /* for those that are dropped */
};
void pasta_batch_open(struct pasta_batch *b, size_t size);
void pasta_batch_close(struct pasta_batch *b);
static inline struct pasta_event *pasta_batch_add(struct pasta_batch *b, enum pasta_kind kind,
						  unsigned int sub, size_t size)
{
	struct pasta_event *ev = &b->none;

	if (__builtin_expect((size_t)(b->end - b->at) >= size, 1)) {
		ev = (void *)b->at;
		b->at += size;
		b->count++;
	} else {
		b->lost++;
	}
	pasta_event_init(ev, kind, sub, size);
	ev->tid = b->tid;
	return ev;
}

/* The same for one record alone. NULL: it is dropped, and counted, and there is none to close. */
void *pasta_record_room(size_t size);
void pasta_record_close(struct pasta_event *ev);
static inline struct pasta_event *pasta_record_open(enum pasta_kind kind, unsigned int sub,
						    size_t size)
{
	struct pasta_event *ev = pasta_record_room(size);

	if (__builtin_expect(ev != NULL, 1))
		pasta_event_init(ev, kind, sub, size);
	return ev;
}

/* Events that a handler itself had to drop, on this thread. */
void pasta_emit_loss(enum pasta_loss_sub reason, uint64_t count);

/* From a vendor's delivery thread, whose events have another clock and other threads' ids. Ports
 * live until the process ends. A push is whole records back to back; it waits at most 100 ms for
 * room, a second in all until there is some, and returns how many events it had to drop. Any
 * thread, one at a time. */
struct pasta_port;
struct pasta_port *pasta_port_open(uint32_t clock);
size_t pasta_port_push(struct pasta_port *port, const void *records, size_t size);
/* Events from now on begin no earlier than this, in the port's clock. */
void pasta_port_watermark(struct pasta_port *port, uint64_t time);

/* The id of some bytes, or of a string. The same bytes have the same id until the process forks.
 * More than 32 KiB are cut; past the memory limit the id is that of "(too many names)". */
uint32_t pasta_intern(const void *bytes, size_t size);
uint32_t pasta_intern_str(const char *text);

/* A module's bytes, kept in the run's folder where the user wants that: the interned path below
 * that folder. 0: it is not kept; where it cannot be, accelprof tells the user. Writes a file,
 * unless there is one of the same content: not for hot paths. Any thread; errno stays. */
uint32_t pasta_agent_save_code(const void *bytes, size_t size, const char *suffix);

/* End the writer, which counts as a thread of the program, until something is emitted again. Waits
 * for a second at most. For interpreters that warn of a fork with threads. */
void pasta_agent_pause(void);

/* For tests: keep the writer from writing. */
void pasta_agent_stall(bool stall);

#endif
