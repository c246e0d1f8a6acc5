/*
 * agent.h - the collector's interface for handlers. One collector a process.
 *
 * No function here prints, exits, raises or waits in the program's threads, except for the
 * bounded wait of pasta_port_push. Recording begins with the first event: until then there is no
 * file, no thread and no memory. After a fork the child begins anew. What cannot be recorded is
 * counted as loss.
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

/* Prepares to record, as configured by the environment that accelprof run sets. Idempotent; any
 * thread, but not in a signal handler. Returns false if no run is configured, or if the
 * process has another user's rights (AT_SECURE); then no other function here may be called. */
bool pasta_agent_attach(void);
/* The same for a vendor's handler, whose calls never come from signal handlers. */
bool pasta_agent_attach_vendor(void);

/* Writes everything that is in the rings and ends the writer. Events that follow are written at
 * once if no other thread is left; otherwise accelprof recovers them. Called automatically when the
 * program exits. */
void pasta_agent_close(void);

/* Starts or stops the recording of activity, which is recorded only while started and within the
 * run's window of time. State is always recorded. Any thread, signal handlers included. */
void pasta_agent_set_active(bool active);
/* window.c: pasta_window_off is 0 while activity is recorded. If it is not, pasta_window_check
 * decides whether to record now. */
extern _Atomic uint32_t pasta_window_off;
bool pasta_window_check(void);
static inline bool pasta_agent_active(void)
{
	return !atomic_load_explicit(&pasta_window_off, memory_order_relaxed) ||
	       pasta_window_check();
}

/* A number that changes when the process begins to record. 0 before that, and again after a
 * fork. */
uint32_t pasta_agent_gen(void);
/* Whether to record a kind at all. */
bool pasta_agent_records(enum pasta_kind kind);
/* Whether a tool or the user requested the kind. Handlers record expensive kinds only on request.
 */
bool pasta_agent_requested(enum pasta_kind kind);

/* Initializes a record of this kind and size, with its fields zero. Cheaper than an initializer,
 * which would zero the size of the largest kind. */
static inline void pasta_event_init(struct pasta_event *ev, enum pasta_kind kind, unsigned int sub,
				    size_t size)
{
	memset(ev, 0, size);
	ev->size = (uint16_t)size;
	ev->kind = (uint8_t)kind;
	ev->sub = (uint8_t)sub;
}

/* Returns the type of work that a launch starts, given the kind of record that its work has. */
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

/* Copies a record into the calling thread's ring; never waits. For threads of the program. The
 * caller sets size, kind, sub, time and the fields; tid is set here. Times of one thread must not
 * go back. */
void pasta_emit(struct pasta_event *ev);

/* The same for an event of another thread, or of a track that is not a thread of the system: ids
 * from PASTA_TRACK on are free for tracks. Times of one tid must not go back, whichever thread
 * emits. */
#define PASTA_TRACK (UINT32_C(1) << 30)
void pasta_emit_for(struct pasta_event *ev, uint32_t tid);
/* Emits a thread's name, which is interned; tid 0 is the calling thread. */
void pasta_emit_name(uint32_t tid, uint32_t name);

/* Regions of the calling thread nest in one another; their depth in events shows how. Each owner,
 * such as NVTX, knows only its own regions. If a region ends while another owner's region inside of
 * it is open, the inner region ends there, flagged PASTA_REGION_SUPPLIED_OUTER, and its own end is
 * ignored. Regions are dropped and counted if 1,024 are open. Safe in signal handlers. */
enum pasta_region_owner {
	PASTA_OWNER_ANNOTATE,
	PASTA_OWNER_TORCH,
	PASTA_OWNER_NVTX, /* the first of NVTX's domains; the others follow */
};
/* Whether to record a region that begins now: pass the result to pasta_region_push, and intern
 * names only if it is true. */
bool pasta_region_enabled(void);
/* Both return the region's level among its owner's regions, from 0, recorded or not. -1: no memory,
 * or the owner has no region to end. */
int pasta_region_push(uint32_t owner, bool enabled, uint32_t name, uint32_t domain);
int pasta_region_pop(uint32_t owner);
void pasta_region_mark(uint32_t name, uint32_t domain);

/* Returns the calling thread's id, as its events have it. */
uint32_t pasta_agent_tid(void);

/* Reports one moment in a source's clock and in CLOCK_MONOTONIC_RAW, which is off by error at most.
 * A few a second; any thread. Of readings that are close together the reader uses the best. */
void pasta_agent_clock(uint32_t clock, uint64_t value, uint64_t raw, uint64_t error);

/* Reports what a handler cannot do, and what the user can do about it. accelprof prints it once for
 * all processes, and at most two messages of a handler. */
void pasta_agent_log(const char *handler, const char *what);
/* The same for information that is not a warning. */
void pasta_agent_announce(const char *handler, const char *what);

/* A batch: records that belong together, made directly in the calling thread's ring instead of
 * copied one by one. A signal handler's events between open and close are dropped and counted, so
 * close the batch soon; in between, intern bytes only, not strings. size is the size of all
 * records, at most PASTA_BATCH_MAX. Records without room are dropped and counted. A record may be
 * written to until the batch is closed. The other rules are those of pasta_emit. */
#define PASTA_BATCH_MAX 4096
struct pasta_batch {
	void *producer;
	char *begin, *at, *end; /* NULL: no room */
	uint64_t pad;
	uint32_t tid, count, dropped;
	uint32_t why;		 /* enum pasta_loss_sub of the dropped records */
	struct pasta_event none; /* stands in for dropped records */
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
		b->dropped++;
	}
	pasta_event_init(ev, kind, sub, size);
	ev->tid = b->tid;
	return ev;
}

/* The same for a single record. NULL: the record is dropped and counted, and must not be closed. */
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

/* Counts events that a handler had to drop on the calling thread. */
void pasta_emit_loss(enum pasta_loss_sub reason, uint64_t count);

/* A port: for a vendor's delivery thread, whose events have another clock and other threads' ids.
 * Ports live until the process ends. A push is a sequence of whole records. It waits at most 100 ms
 * for room, and all pushes together a second until there is room again; it returns the number of
 * dropped events. Any thread; pushes are serialized. */
struct pasta_port;
struct pasta_port *pasta_port_open(uint32_t clock);
size_t pasta_port_push(struct pasta_port *port, const void *records, size_t size);
/* Events from now on begin no earlier than time, in the port's clock. */
void pasta_port_watermark(struct pasta_port *port, uint64_t time);

/* Returns the id of some bytes, or of a string. Equal bytes have the same id until the process
 * forks. Only the first 32 KiB count. Past the memory limit the id is that of "(too many
 * names)". */
uint32_t pasta_intern(const void *bytes, size_t size);
uint32_t pasta_intern_str(const char *text);

/* Copies device code into the run's folder, if the user enabled that. Returns the interned path
 * below that folder. 0: off, or it failed, which accelprof reports to the user. Writes a file,
 * unless one with the same content exists: not for hot paths. Any thread; preserves errno. */
uint32_t pasta_agent_save_code(const void *bytes, size_t size, const char *suffix);

/* Ends the writer thread until the next event, and waits for its end for a second at most. For
 * interpreters that warn if a process with threads forks. */
void pasta_agent_pause(void);

/* For tests: stop the writer from draining the rings. */
void pasta_agent_stall(bool stall);

#endif
