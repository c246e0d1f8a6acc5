/*
 * state.h - the agent's state in this process, and the functions that the agent's files share. Only
 * src/collect and the torch handler include this header.
 */
#ifndef PASTA_COLLECT_STATE_H
#define PASTA_COLLECT_STATE_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "collect/control.h"
#include "core/frame.h"
#include "core/ringfile.h"
#include "core/shardfile.h"

/* The agent's configuration. The agent reads the configuration from the environment once, and a
 * forked child inherits the configuration. */
struct pasta_config {
	char run[3072];
	uint64_t kinds, requested; /* masks of kinds, from PASTA_KINDS and PASTA_ASKED */
	uint64_t memory;
	struct pasta_control *control; /* NULL if the control page cannot be mapped */
	bool save_code;		       /* whether to copy device code into the run's folder */
	bool vendor;		       /* whether a vendor's handler attached the agent */
	uint32_t stacks;	       /* mask of enum pasta_stack_types */
	/* N if the native call path of every Nth call is captured; 0 if a time budget limits
	 * captures */
	uint32_t stack_period;
};
extern struct pasta_config pasta_config;

/* A file of the agent. Device and inode identify the file, because the program may close any
 * descriptor and reuse its number. A forked child inherits the struct, and closes the file. */
struct pasta_file {
	int fd; /* -1 if the file is closed */
	dev_t dev;
	ino_t ino;
	char path[4096];
};
extern struct pasta_file pasta_shard_file, pasta_ring_file;

struct pasta_intern_slot {
	uint32_t hash, id;
	const struct pasta_string *entry; /* the string's entry in a segment of strings */
};

/* The modules that have MODULE events in the shard. These are the program and its libraries. */
struct pasta_host_modules {
	/* whether a thread is comparing the list of modules with the loader's list */
	_Atomic uint32_t busy;
	/* The loader's counters of loaded and unloaded libraries at the last comparison. */
	_Atomic uint64_t adds, subs;
	struct pasta_host_module *list;
	size_t count, room;
	uint64_t last_id;
	uint32_t round;
};

/* The agent's state, except for its configuration. The kernel clears the pages of this struct in a
 * forked child. The child therefore finds zeros, even in locks. */
struct pasta_state {
	_Atomic uint32_t gen; /* the process's generation; 0 while the process does not record */
	/* whether the process cannot record events and only counts them */
	_Atomic uint32_t failed;
	_Atomic uint32_t closed; /* whether the program is exiting, so that no writer may start */
	_Atomic uint32_t lone;	 /* whether the main thread has ended, so that no writer may run */
	/* whether to write each event at once, because the process exits and has no other thread */
	_Atomic uint32_t sync;
	_Atomic uint32_t stall;
	_Atomic uint32_t wake, stop; /* requests to the writer, which waits for the futex `wake` */
	pthread_mutex_t begin_lock;  /* held while the recording starts or ends */
	pthread_mutex_t lock;	     /* protects the members that follow, up to `modules` */
	struct pasta_ringfile *file;
	uint64_t file_end, used;
	uint32_t sources;
	void *segment[PASTA_SEGMENTS_MAX]; /* addresses at which the segments are mapped */
	struct pasta_strings *strings;	   /* the segment to which new strings are added */
	struct pasta_intern_slot *slots;
	size_t slot_count, strings_count;
	/* Readings of clocks that handlers reported and the writer has not written yet. */
	struct pasta_clock_record pairs[64];
	uint32_t pair_count;
	uint64_t stack_bytes; /* number of bytes of strings that are call paths */
	uint64_t text_bytes;  /* the same, of pasta_intern_text */
	struct pasta_host_modules modules;
	_Atomic uint32_t running; /* whether a writer runs; changes only under begin_lock */
	pthread_t thread;
	_Atomic uint32_t writer_tid;
	/* a futex that is not 0 when the writer has its own descriptor table */
	_Atomic uint32_t apart;
	/* Only the thread that drains the rings uses the following members. */
	pthread_mutex_t drain_lock;
	bool last_written; /* whether the last drain by the writer wrote all events */
	struct pasta_encoder *encoder;
	const struct pasta_event **events; /* array of PASTA_FRAME_EVENTS entries */
	unsigned char *text;		   /* buffer of PASTA_FRAME_BYTES for strings */
	/* the member `fd` of the shard is set before each frame is written */
	struct pasta_shardfile shard;
	uint64_t state_seq;  /* number of the agent's own events (source 0) so far */
	uint64_t next_clock; /* time at which to write the next clock event */
	/* Index of the segment whose strings are written next. */
	uint32_t strings_segment;
	/* Offset of the next string to write in the segment `strings_segment`, and the id of the
	 * last string that is written. */
	uint64_t strings_used, strings_id;
	uint64_t loss_reported[PASTA_LOSS_COUNT];
	/* the agent's own events (source 0) that are not written yet */
	struct pasta_event own[256];
	uint32_t own_count;
};
extern struct pasta_state *pasta_state;

/* -- Functions of file.c -- */
/* All functions of file.c run on a thread with its own descriptor table, which is the writer or a
 * helper thread of pasta_aside. */
/* Creates a file. Returns 0 or a negative errno, which is -EEXIST if the file exists already. */
int pasta_file_create(struct pasta_file *f, const char *path);
/* Returns a descriptor for the file, and opens the file again if the program closed it. Returns -1
 * on error, with errno set. */
int pasta_file_fd(struct pasta_file *f);
void pasta_file_close(struct pasta_file *f);
/* Makes *to refer to the same file as *from, without opening the file. */
void pasta_file_same(struct pasta_file *to, const struct pasta_file *from);
/* Locks the file. The lock shows recovery that the process is still running. */
void pasta_file_lock(struct pasta_file *f);
/* Reads the start of a file as text. NULs become spaces, and a newline at the end is removed. The
 * text is empty if the file cannot be read. */
void pasta_file_read_text(const char *path, char *text, size_t size);

/* -- Functions of segment.c -- */
/* Returns zeroed pages. On failure, returns NULL and sets errno. */
void *pasta_memory_new(size_t size);
void pasta_memory_free(void *p, size_t size);
int pasta_ringfile_create(const char *path);
/* The caller of pasta_segment_add and pasta_segment_publish holds pasta_state->lock. The new
 * segment is initialized before it is published, so that the writer and recovery see only complete
 * segments. */
void *pasta_segment_add(enum pasta_segment_type type, uint64_t size);
void pasta_segment_publish(void);
/* Returns a ring for a thread or a port. The ring is new, or belonged to a thread that has ended.
 * Returns NULL if memory is exhausted. The caller holds pasta_state->lock. */
struct pasta_ring *pasta_ring_pop(uint32_t tid, uint32_t clock, bool port);

/* Interns bytes. If they cannot be stored, *entry is NULL. The caller holds pasta_state->lock. This
 * function is in intern.c. */
uint32_t pasta_intern_locked(const void *bytes, size_t size, const struct pasta_string **entry);
/* Like pasta_intern_locked, but returns 0 if the string has no id. */
uint32_t pasta_intern_known_locked(const void *bytes, size_t size,
				   const struct pasta_string **entry);

/* Interns a call path. Returns 0 if call paths have used up their share of memory. This function is
 * in names.c. */
uint32_t pasta_intern_stack(const void *bytes, size_t size);

/* pasta_modules_update emits MODULE events for modules that were loaded or unloaded since the last
 * call. pasta_modules_update and pasta_modules_unloaded return the number of modules that have ever
 * been unloaded. Both functions are in modules.c. */
uint64_t pasta_modules_update(void);
uint64_t pasta_modules_unloaded(void);

/* -- Functions of unwind.c -- */
void pasta_unwind_bind(void); /* The agent calls this function once, when it attaches. */
/* Stores the calling thread's return addresses, innermost first, starting with `caller` and without
 * the agent's own frames. `unloaded` is the result of pasta_modules_update. Stores at most `max`
 * addresses, and returns their number. `max` is at most PASTA_STACK_FRAMES. */
size_t pasta_unwind(uint64_t *pcs, size_t max, const void *caller, uint64_t unloaded);

/* -- Function of regions.c -- */
/* The agent calls this function once, when it attaches. Returns 0 or an errno. */
int pasta_regions_bind(void);

/* -- Function of stack.c -- */
void pasta_stack_bind(void); /* The agent calls this function once, when it attaches. */

/* -- Functions of accesses.c -- */
void pasta_accesses_bind(void);	 /* The agent calls this function once, when it attaches. */
void pasta_accesses_close(void); /* Writes the raw accesses. Called before the writer ends. */

/* -- Function of shardopen.c -- */
/* Creates the shard and its first frames. The caller holds a guard. Returns 0 or a negative
 * errno. */
int pasta_writer_open(void);

/* -- Functions of writer.c -- */
/* Starts the writer. The caller holds a guard and begin_lock. Returns 0 or a negative errno. */
int pasta_writer_start(void);
void pasta_writer_wake(void);
static inline bool pasta_writer_running(void)
{
	return atomic_load_explicit(&pasta_state->running, memory_order_relaxed);
}
/* The caller has found that no writer runs. If the calling thread may start threads, this function
 * starts the writer. If not, and if `needed` is true, this function drains the rings on the calling
 * thread. Returns true if a writer runs now, or if no writer will run any more. */
bool pasta_writer_drain(bool needed);
/* Ends the writer. Returns false on a timeout. The caller holds a guard and begin_lock. */
bool pasta_writer_stop(int seconds);
/* Ends the writer permanently, when the main thread ends. The process ends with its last thread,
 * and the writer must not be that thread. After the writer's end, each thread drains the rings
 * itself. */
void pasta_writer_retire(void);
/* Calls pasta_writer_retire if the main thread has ended. */
void pasta_writer_check_main(void);
/* Drains the rings for the last time, without a writer. Returns false if some events could not
 * be written. */
bool pasta_writer_finish(void);

/* -- Functions of window.c -- */
/* Sets the window of time in which activity is recorded. The agent calls this function once, when
 * it attaches. `text` is "OPENS-CLOSES", or NULL. */
void pasta_window_begin(const char *text, bool paused);
/* If the window of time has an end, makes a forked child compare the window with the clock at each
 * call, because the child has no writer yet. */
void pasta_window_forked(void);
/* Opens or closes the window of time if the window begins or ends now. The writer calls this
 * function. Returns the time in ns until the next change. */
uint64_t pasta_window_tick(void);

/* -- Functions of agent.c -- */
/* Reports to accelprof why the process cannot record; accelprof prints the reason. */
void pasta_agent_fail(int error, const char *what, const char *path);
/* Starts the recording, unless the process records already. The caller holds a guard. Returns false
 * if the process cannot record. */
bool pasta_agent_begin(void);
/* Counts dropped events in the ring file, or on the control page if there is no ring file. */
void pasta_count_loss(enum pasta_loss_sub reason, uint64_t n);

/* -- Functions of emit.c -- */
/* The agent calls this function once, when it attaches. Returns 0 or an errno. */
int pasta_emit_bind(void);
/* If the calling thread is the main thread, arranges for the agent to be notified when that thread
 * ends. */
void pasta_emit_watch_main(void);
/* Makes the calling thread's next event call pasta_pusher_check. */
void pasta_emit_check_soon(void);

#endif
