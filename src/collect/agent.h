/*
 * agent.h - the collector's interface for handlers. Each process has one collector.
 *
 * No function of this header prints, exits, raises a signal or blocks a thread of the program,
 * except for the bounded wait of pasta_port_push. Recording starts with the first event. Until
 * then, the collector has no file, no thread and no memory. A forked child starts a new recording.
 * Events that cannot be recorded are counted as loss.
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

/* Prepares the recording, as configured by the environment that accelprof run sets. Later calls
 * have no effect. Any thread may call this function, but not a signal handler. Returns false if no
 * run is configured, or if the process has another user's rights (AT_SECURE). In that case no other
 * function of this header may be called. */
bool pasta_agent_attach(void);
/* Does the same as pasta_agent_attach, for a vendor's handler. A vendor's library never calls its
 * handler in a signal handler. */
bool pasta_agent_attach_vendor(void);

/* Writes all events in the rings to the shard, and ends the writer. If the process has only one
 * thread left, later events are written at once; if not, accelprof recovers them. The agent calls
 * this function when the program exits. */
void pasta_agent_close(void);

/* Starts or stops the recording of activity. Activity is recorded only while recording is started,
 * and within the run's window of time. Events that describe state, such as names, are always
 * recorded. Any thread or signal handler may call this function. */
void pasta_agent_set_active(bool active);
/* If pasta_window_off is 0, activity is recorded. If it is not 0, pasta_window_check decides
 * whether to record. The file window.c defines pasta_window_off and pasta_window_check. */
extern _Atomic uint32_t pasta_window_off;
bool pasta_window_check(void);
static inline bool pasta_agent_active(void)
{
	return !atomic_load_explicit(&pasta_window_off, memory_order_relaxed) ||
	       pasta_window_check();
}

/* Returns the process's generation, a number that changes when the process starts to record. The
 * number is 0 before the process starts to record. In a forked child, the number is 0 until the
 * child starts to record. */
uint32_t pasta_agent_gen(void);
/* Returns whether the run records this kind. */
bool pasta_agent_records(enum pasta_kind kind);
/* Returns whether a tool or the user requested this kind. Handlers record expensive kinds only on
 * request. */
bool pasta_agent_requested(enum pasta_kind kind);

/* Initializes a record of this kind and size, with all fields zero. The function is faster than an
 * initializer, which would zero the whole union. */
static inline void pasta_event_init(struct pasta_event *ev, enum pasta_kind kind, unsigned int sub,
				    size_t size)
{
	memset(ev, 0, size);
	ev->size = (uint16_t)size;
	ev->kind = (uint8_t)kind;
	ev->sub = (uint8_t)sub;
}

/* Returns the value of a launch record's field `work`. `kind` is the kind of the record that
 * describes the work. */
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

/* Copies a record into the calling thread's ring, without waiting. Threads of the program call this
 * function. The caller sets size, kind, sub, time and the fields; this function sets tid. The times
 * of a thread's records must not decrease. */
void pasta_emit(struct pasta_event *ev);

/* Emits an event of another thread, or of a track; the rest is as for pasta_emit. A track is a
 * sequence of events that belongs to no thread; its id is at least PASTA_TRACK. The times of events
 * with the same tid must not decrease, even if several threads emit the events. */
#define PASTA_TRACK (UINT32_C(1) << 30)
void pasta_emit_for(struct pasta_event *ev, uint32_t tid);
/* Emits a thread's name. `name` is the id of an interned string. If tid is 0, the name belongs to
 * the calling thread. */
void pasta_emit_name(uint32_t tid, uint32_t name);

/* The regions of a thread are nested, and each region event contains its depth. The owner of a
 * region is the interface through which the program started the region, such as annotate.h or a
 * domain of NVTX. An interface can end only its own regions. If a region ends while a region of
 * another interface inside of it is open, the inner region ends at the same time, with the flag
 * PASTA_REGION_SUPPLIED_OUTER. The later end of the inner region is ignored. While 1,024 regions
 * are open, new regions are dropped and counted. These functions are safe in signal handlers. */
enum pasta_region_owner {
	PASTA_OWNER_ANNOTATE,
	PASTA_OWNER_TORCH,
	/* the number of the first NVTX domain; other domains have the numbers that follow */
	PASTA_OWNER_NVTX,
};
/* Returns whether to record a region that starts now. Pass the result to pasta_region_push, and
 * intern the region's name only if the result is true. */
bool pasta_region_enabled(void);
/* pasta_region_push starts a region, and pasta_region_pop ends a region. Both functions return the
 * region's nesting level among the regions of the same interface (`owner`). Levels count from 0.
 * The result is -1 if memory is exhausted, or if the interface has no open region to end. */
int pasta_region_push(uint32_t owner, bool enabled, uint32_t name, uint32_t domain);
int pasta_region_pop(uint32_t owner);
void pasta_region_mark(uint32_t name, uint32_t domain);

/* Returns the calling thread's id, which is also the tid of the thread's events. */
uint32_t pasta_agent_tid(void);

/* Reports two readings of the same moment: `value` is the time of another clock, and `raw` is the
 * time in CLOCK_MONOTONIC_RAW, exact to within `error`. Any thread may call this function, a few
 * times per second. Among readings that are close together, the reader uses the most exact one. */
void pasta_agent_clock(uint32_t clock, uint64_t value, uint64_t raw, uint64_t error);

/* Reports to the user what a handler cannot do, and what the user can do about the problem.
 * accelprof prints a message only once, even if many processes report the message, and at most two
 * messages of a handler. */
void pasta_agent_log(const char *handler, const char *what);
/* Reports information that is not a warning; the rest is as for pasta_agent_log. */
void pasta_agent_announce(const char *handler, const char *what);

/* A batch consists of records that are created directly in the calling thread's ring, instead of
 * being copied one by one. Close a batch soon, because events that a signal handler emits between
 * open and close are dropped and counted. While a batch is open, call pasta_intern, not
 * pasta_intern_str. `size` is the size of all records, at most PASTA_BATCH_MAX. Records that do not
 * fit are dropped and counted. The caller may modify the records until the batch is closed. The
 * other rules of pasta_emit apply to batches too. */
#define PASTA_BATCH_MAX 4096
struct pasta_batch {
	void *producer;
	char *begin, *at, *end; /* NULL if the ring has no room */
	uint64_t pad;
	uint32_t tid, count, dropped;
	uint32_t why; /* reason for which records were dropped (enum pasta_loss_sub) */
	/* The caller fills this record instead of a record that is dropped. */
	struct pasta_event none;
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

/* pasta_record_open and pasta_record_close create a single record directly in the ring. If
 * pasta_record_open returns NULL, the record is dropped and counted, and must not be closed. */
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

/* Counts events of the calling thread that a handler could not emit. */
void pasta_emit_loss(enum pasta_loss_sub reason, uint64_t count);

/* A port is a ring for the thread on which a vendor's library delivers events. These events have
 * times of another clock and ids of other threads. A port exists until the process ends.
 * pasta_port_push copies a sequence of whole records into the ring, and returns the number of
 * dropped events. If the ring is full, a push waits for at most 100 ms. While the ring stays full,
 * all pushes together wait for at most a second. Any thread may push events, because a lock
 * serializes the pushes. */
struct pasta_port;
struct pasta_port *pasta_port_open(uint32_t clock);
size_t pasta_port_push(struct pasta_port *port, const void *records, size_t size);
/* Announces that all later events of the port have times that are not before `time`. `time` is a
 * time of the port's clock. */
void pasta_port_watermark(struct pasta_port *port, uint64_t time);

/* pasta_intern interns bytes, pasta_intern_str interns a string, and both functions return an id.
 * Equal bytes have the same id until the process forks. Bytes after the first 32 KiB are ignored.
 * When the memory limit is reached, the functions return the id of "(too many names)". */
uint32_t pasta_intern(const void *bytes, size_t size);
uint32_t pasta_intern_str(const char *text);
/* Interns a text of which there may be many, such as the arguments of an operator. Returns 0 if
 * such texts have used up their share of memory. */
uint32_t pasta_intern_text(const void *bytes, size_t size);

/* Copies device code into the run's folder, if the user has enabled such copies. Returns the id of
 * the file's path in the run's folder, or 0 if copying is disabled or has failed. accelprof reports
 * a failure to the user. The function writes a file, unless a file with the same content exists, so
 * do not call it on hot paths. Any thread may call this function. errno is preserved. */
uint32_t pasta_agent_save_code(const void *bytes, size_t size, const char *suffix);

/* Ends the writer thread, and waits for a second at most until the thread has ended. The next event
 * starts the writer again. Interpreters that warn if a process with threads forks need this
 * function. */
void pasta_agent_pause(void);

/* Prevents the writer from draining the rings, or lets the writer continue. Only tests call this
 * function. */
void pasta_agent_stall(bool stall);

#endif
