/* timing.h - the data of the timing, which the files of this folder share. */
#ifndef PASTA_PROCESS_TIMING_H
#define PASTA_PROCESS_TIMING_H

#include <errno.h>

#include <pasta/hist.h>
#include <pasta/map.h>

#include "process/diagnosis/diagnosis.h"
#include "process/diagnosis/hostlog.h"

enum {
	TIMING_DEVICES_MAX = 256,   /* maximum number of devices of a process */
	TIMING_STREAMS_MAX = 65536, /* maximum number of streams of a device */
	TIMING_WAITS_MAX = 32,	    /* maximum number of waits of a stream */
	TIMING_RUNNING_MAX = 64, /* maximum number of kernels or copies that run at the same time */
	TIMING_SYNCS = 64, /* number of waits without a thread that are stored for a process */
	TIMING_GAPS = 100, /* number of gaps that are listed for a device */
	TIMING_SMALL_COPY = 64 << 10, /* bytes; smaller copies are small */
	TIMING_TALLY_ROWS = 1 << 16,  /* maximum number of rows of each type in a tally */
	TIMING_NAMES_MAX = 1 << 20,   /* maximum number of names whose class is stored */
	TIMING_STEPS_MAX = 1 << 22,
	TIMING_STEPS_MANY = 5,	    /* with this number of steps, the window omits the first */
	TIMING_STEPS_SKIPPED = 2,   /* number of steps that it omits */
	TIMING_ROWS_MAX = 1 << 18,  /* steps of all devices of a process with rows */
	TIMING_DEFERRED_MAX = 4096, /* gaps that wait for the threshold of KERNELS */
	/* Capacity of the log of a thread. The first threads of a process have the larger one. */
	TIMING_LOG = 4096,
	TIMING_LOG_SMALL = 16,
	TIMING_LOG_THREADS = 256,
	TIMING_THREADS_MAX = 65536, /* maximum number of threads of a process with a log */
};

#define PASTA_TIMING_NESTS (PASTA_MASK(REGION) | PASTA_MASK(OP_BEGIN) | PASTA_MASK(OP_END))
/* Kinds that report a call only if they have a duration. */
#define PASTA_TIMING_CALLS                                                                         \
	(PASTA_MASK(ALLOC) | PASTA_MASK(FREE) | PASTA_MASK(MODULE) | PASTA_MASK(SYNC))

/* -- Sums (tally.c) -- */

/* Gaps of one cause and origin. */
struct timing_wait {
	struct {
		uint32_t cause, line, op, region, api, layer;
	} key;
	uint64_t ns, gaps, steps, max;
	uint64_t next_step; /* the latest step with such a gap, plus 1 */
};

/* Copies of one direction and origin. */
struct timing_transfer {
	struct {
		uint32_t direction, source, target, line, op, api;
	} key;
	uint64_t copies, bytes, ns, exposed, small, small_exposed, steps;
	uint64_t next_step;
};

/* Work of one kernel, copies of one direction, or fills. */
struct timing_busy {
	struct {
		uint32_t part, kind, name, direction;
	} key;
	uint64_t ns, count, steps;
	uint64_t next_step;
};

/* The sums of a device from a time on. */
struct tally {
	uint64_t begin;
	struct pasta_usage usage;
	struct pasta_hist *kernels;
	struct pasta_group *waits, *transfers, *busy;
	struct pasta_gap *gaps; /* a heap with the shortest gap at the top */
	size_t gap_count;
};

struct tally *tally_new(uint64_t begin); /* NULL when out of memory */
void tally_free(struct tally *t);
/* Add a kernel; a gap, cut at the beginning of the tally, and the layer of its module; a copy.
 * Return 0 or -ENOMEM. tally_copy returns the row, or NULL when out of memory. */
int tally_kernel(struct tally *t, uint64_t ns);
int tally_gap(struct tally *t, const struct pasta_gap *gap, uint32_t layer);
struct timing_transfer *tally_copy(struct tally *t, const struct pasta_event *ev,
				   const struct timing_transfer *key, uint64_t step);
/* Returns the row with the key of another row; NULL when out of memory. tally_work counts work. */
struct timing_busy *tally_busy(struct tally *t, const struct timing_busy *key);
struct timing_busy *tally_work(struct tally *t, const struct timing_busy *key, uint64_t step);
int tally_error(const struct tally *t);

static inline uint64_t timing_add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* -- Devices (devicetime.c) -- */

struct timing_stream {
	uint64_t last;			  /* begin of the latest work, plus 1 */
	uint64_t waits[TIMING_WAITS_MAX]; /* times of calls that make the stream wait */
	uint32_t first, count;		  /* of these calls, which are a ring */
};

/* -- Work that runs at the same time (running.c) -- */

struct timing_running {
	uint64_t end;
	/* The rows in the two tallies of the device; NULL: none. Only copies have transfers. A copy
	 * that began before a tally has no transfer in this tally. */
	struct timing_busy *busy[2];
	struct timing_transfer *transfer[2];
	bool small; /* whether it is a small copy */
};

/* The work of one part that runs, or ends later than all earlier work, in order of its begin. */
struct timing_queue {
	struct timing_running items[TIMING_RUNNING_MAX];
	uint32_t first, count;
};

/* Adds work that ends later than all earlier work. If too much work runs at once, the latest work
 * stands for the new work, too. */
void running_push(struct timing_queue *q, uint64_t now, const struct timing_running *work);
/* Adds the time [from, to) to the rows of the work that began first. */
void running_add(struct timing_queue *q, uint64_t from, uint64_t to);
/* Replaces the rows of the first tally by those of the second. */
void running_shift(struct timing_queue *q);
/* Finds the rows of the work in a new second tally, which may be NULL. */
void running_renew(struct timing_queue *q, struct tally *t);

struct timing_device {
	struct timing_proc *proc;
	uint32_t device;
	uint32_t epoch;
	uint64_t at;	 /* the time up to which the parts are complete */
	uint64_t end[3]; /* of the latest work of each part */
	/* The number of the step that contains `at`, plus 1; 0: `at` is before the first step. */
	uint64_t step;
	/* tally[0] has the sums from the beginning of the current window on. tally[1] has the sums
	 * from a later step on, which may become the beginning of the window; it may be NULL. */
	struct tally *tally[2];
	bool replaced[2]; /* whether the first or the second replacement of tally[0] is done */
	struct pasta_step *rows;
	size_t row_count, row_room;
	struct timing_queue running[3]; /* by part */
	struct pasta_map *streams;	/* struct timing_stream, by context and stream */
	/* The work that ends last. */
	struct {
		uint64_t stream, op, launched;
		const struct pasta_scope *scope;
		uint32_t tid, kind, sub, source, target;
		bool known; /* whether its launch is known */
	} last;
	/* Gaps whose cause depends on the threshold of KERNELS. */
	struct pasta_gap *deferred;
	size_t deferred_count, deferred_room;
	uint64_t *samples; /* lengths of gaps between kernels that were launched in time */
	size_t sample_count, sample_room;
	uint64_t sample, sample_begin; /* the latest such gap: its length, or 0; its begin */
	uint64_t threshold;
	bool has_threshold;
};

struct timing_device *timing_device_new(struct timing_proc *p, uint32_t device);
void timing_device_free(struct timing_device *d);
/* Adds work to a device. Returns the number of the step in which it begins, or PASTA_NO_STEP. */
uint64_t timing_device_work(struct timing_device *d, const struct pasta_event *ev,
			    const struct pasta_where *where, enum pasta_part part);
/* A call at a time makes a stream of the device wait for an event. */
void timing_device_wait(struct timing_device *d, uint64_t stream, uint64_t time);
/* Adds the time until the end of the window. */
void timing_device_finish(struct timing_device *d, uint64_t end);
/* Adds the row of step number `count`, if there is one, to the row before it. */
void timing_device_drop_step(struct timing_device *d, size_t count);
/* Adds a gap to the tallies and rows of the device. */
void timing_device_gap(struct timing_device *d, const struct pasta_gap *gap);
/* threshold.c: timing_device_defer adds a gap whose cause is KERNELS or UNKNOWN, depending on its
 * length. `sample` is whether both works are kernels, and the next one was launched before the gap.
 * timing_device_sample reports each work before its gap. timing_device_flush decides the causes of
 * the deferred gaps. */
void timing_device_defer(struct timing_device *d, const struct pasta_gap *gap, bool sample);
void timing_device_sample(struct timing_device *d, const struct pasta_where *where);
void timing_device_flush(struct timing_device *d);

/* -- Processes (timing.c, steps.c) -- */

struct timing_step {
	uint64_t begin, iteration, launches;
};

struct timing_thread {
	struct hostlog log;
	uint64_t launched; /* time of the latest launch, plus 1 */
	uint32_t tid;
	uint32_t optimizers; /* open calls of an optimizer's step function */
};

struct timing_sync {
	uint64_t begin, end;
};

struct timing_proc {
	struct pasta_timing *timing;
	uint32_t proc;
	uint32_t source; /* enum pasta_steps */
	/* the loop whose iterations are steps, or the optimizer whose calls end steps */
	uint32_t loop_name, loop_tid;
	uint32_t epoch; /* number of times that the steps started again */
	struct timing_step *steps;
	size_t step_count, step_room;
	size_t confirmed; /* number of steps that count; the rest belong to the last of these */
	size_t rows;	  /* number of rows of all devices */
	bool any_work, any_launch;
	uint64_t first_work, last_work; /* the earliest and the latest begin of work */
	uint64_t last_end, last_launch;
	/* Launches since the beginning of tally[0] and tally[1] of the devices. */
	uint64_t launches[2];
	struct pasta_hist *periods[2]; /* time between two launches of a thread */
	bool replaced[2];
	struct pasta_map *threads; /* struct timing_thread, by tid */
	struct timing_thread *last_thread;
	struct pasta_map *devices; /* struct timing_device *, by number */
	struct timing_device *last_device;
	struct pasta_map *lines; /* uint32_t, by call path */
	struct timing_sync syncs[TIMING_SYNCS];
	uint32_t sync_count;
	struct pasta_window window;
};

/* The number of the step, plus 1, that contains a time; 0: the time is before the first step. */
uint64_t timing_step_at(const struct timing_proc *p, uint64_t time);
/* Handle the events that may begin or end a step. timing_steps_iteration returns whether the
 * process had steps of another source. */
bool timing_steps_iteration(struct timing_proc *p, const struct pasta_event *ev);
void timing_steps_region(struct timing_proc *p, struct timing_thread *th,
			 const struct pasta_event *ev, const struct pasta_where *where);
/* Reports a launch, or work of a process without launches. */
void timing_steps_active(struct timing_proc *p, bool launch);

/* Returns a thread; NULL if there are too many, or when out of memory. */
struct timing_thread *timing_thread_find(struct timing_proc *p, uint32_t tid);
/* Returns the id of the source line of a Python call path. */
uint32_t timing_line(struct timing_proc *p, uint32_t python);

/* Events on threads (hostevents.c). */
void timing_host_event(struct timing_proc *p, const struct pasta_event *ev,
		       const struct pasta_where *where);

/* -- Causes (cause.c) -- */

/* The work that ends a gap. */
struct timing_next {
	const struct pasta_event *ev;
	const struct pasta_where *where;
	uint64_t stream;
	bool waited; /* whether the stream was made to wait for an event */
};
/* Finds the cause and the origin of a gap, and adds the gap to the device. */
void timing_cause(struct timing_device *d, struct pasta_gap *gap, const struct timing_next *next);

/* -- The timing -- */

/* The class of a name, found once for each name. */
enum timing_name {
	TIMING_NAME_OTHER = 1,
	TIMING_NAME_LOADER,
	TIMING_NAME_OPTIMIZER,
	TIMING_NAME_COMPILER,
	TIMING_NAME_COLLECTIVE,
	TIMING_NAME_SYNC,
	TIMING_NAME_ALLOCATOR,
	TIMING_NAME_LOADING,
};

struct pasta_timing {
	struct pasta_map *procs; /* struct timing_proc *, by number */
	struct timing_proc *last;
	struct pasta_pending *collectives;
	struct pasta_map *names[2]; /* enum timing_name, by name; of functions of an API: [1] */
	struct pasta_map *layers;   /* uint32_t, by module */
	int error;
	/* The results, after pasta_timing_finish. */
	struct timing_results *results;
};

/* Returns the layer of a module, or 0. */
uint32_t timing_layer(struct pasta_timing *t, uint32_t module);
/* Returns the class of the name of a region, operator or kernel; of a function of an API. */
enum timing_name timing_name(struct pasta_timing *t, uint32_t name);
enum timing_name timing_api_name(struct pasta_timing *t, uint32_t name);

static inline void *timing_need(struct pasta_timing *t, void *memory)
{
	if (!memory)
		t->error = -ENOMEM;
	return memory;
}

/* results.c */
struct timing_results;
struct timing_results *timing_results_new(struct pasta_timing *t); /* NULL when out of memory */
void timing_results_free(struct timing_results *r);

#endif
