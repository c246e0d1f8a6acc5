/* state.h - the agent's inside: its state, and the rooms' functions for each other. */
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

/* From the environment, once. Ordinary memory: a forked child keeps it. */
struct pasta_config {
	char run[3072];
	uint64_t kinds, asked, memory;
	struct pasta_control *control; /* NULL: there is none */
	bool keep;		       /* modules */
	bool vendor;		       /* one of its handlers is attached */
	uint32_t stacks;	       /* of enum pasta_stack_types */
	uint32_t stack_period;	       /* of native ones; 0: as many as are cheap */
};
extern struct pasta_config pasta_config;

/* A file that must stay ours: the program may close any descriptor, and open another with its
 * number. Ordinary memory: the child closes what it inherits. */
struct pasta_file {
	int fd; /* -1: closed */
	dev_t dev;
	ino_t ino;
	char path[4096];
};
extern struct pasta_file pasta_shard_file, pasta_ring_file;

struct pasta_intern_slot {
	uint32_t hash, id;
	const struct pasta_string *entry; /* in a block of strings */
};

/* The objects (program, libraries) that the dynamic loader has, as far as the shard knows them. */
struct pasta_host_modules {
	_Atomic uint32_t busy;	     /* someone is comparing */
	_Atomic uint64_t adds, subs; /* the loader's counters, then */
	struct pasta_host_module *list;
	size_t count, room;
	uint64_t last_id;
	uint32_t round;
};

/* Everything else. It lies in pages that fork wipes: a child finds all zero, locks included. */
struct pasta_state {
	_Atomic uint32_t gen;	 /* 0: this process does not record yet */
	_Atomic uint32_t failed; /* it cannot: count and go on */
	_Atomic uint32_t closed; /* the program is at its end: no writer is started any more */
	_Atomic uint32_t lone;	 /* likewise: the main thread has ended before the others */
	_Atomic uint32_t sync;	 /* nor is there another thread: each event is written at once */
	_Atomic uint32_t stall;
	_Atomic uint32_t wake, stop; /* for the writer; wake is its futex */
	pthread_mutex_t begin_lock;  /* for becoming a recording process */
	pthread_mutex_t lock;	     /* for what follows, up to the writer's own */
	struct pasta_ringfile *file;
	uint64_t file_end, used;
	uint32_t sources;
	void *segment[PASTA_SEGMENTS_MAX]; /* where each is mapped */
	struct pasta_strings *strings;	   /* the block that is being filled */
	struct pasta_intern_slot *slots;
	size_t slot_count, strings_count;
	struct pasta_clock_record pairs[64]; /* of handlers' clocks, for the writer */
	uint32_t pair_count;
	uint64_t stack_bytes; /* of the strings that are stacks */
	struct pasta_host_modules modules;
	_Atomic uint32_t running; /* there is a writer; changed under begin_lock */
	pthread_t thread;
	_Atomic uint32_t writer_tid;
	_Atomic uint32_t apart; /* the writer has descriptors of its own; a futex */
	/* The writer's own, or of who drains the rings where there is none. */
	pthread_mutex_t drain_lock;
	bool last_written; /* the writer's last drain wrote all */
	struct pasta_encoder *encoder;
	const struct pasta_event **events; /* PASTA_FRAME_EVENTS of them */
	unsigned char *text;		   /* PASTA_FRAME_BYTES, for strings */
	struct pasta_shardfile shard;	   /* its descriptor is set anew for each frame */
	uint64_t state_seq;		   /* events of source 0 so far */
	uint64_t next_clock;		   /* when to write the next clock event */
	uint32_t strings_segment;	   /* what of the strings is written: up to here */
	uint64_t strings_used, strings_id;
	uint64_t lost_reported[PASTA_LOSS_COUNT];
	struct pasta_event own[256]; /* of the writer's, until they are written */
	uint32_t own_count;
};
extern struct pasta_state *pasta_state;

/* file.c: with a descriptor table of its own, or aside. */
int pasta_file_create(struct pasta_file *f, const char *path);
int pasta_file_fd(struct pasta_file *f); /* the descriptor, or -1 with errno set */
void pasta_file_close(struct pasta_file *f);
/* The same file, not opened yet. */
void pasta_file_same(struct pasta_file *to, const struct pasta_file *from);
/* Says to recover that the process lives. */
void pasta_file_lock(struct pasta_file *f);

/* segment.c */
void *pasta_memory_new(size_t size); /* zeroed pages; NULL with errno set */
void pasta_memory_free(void *p, size_t size);
int pasta_ringfile_create(const char *path);
/* Under the lock. A segment is filled in, then published: the writer and recover see it whole. */
void *pasta_segment_add(enum pasta_segment_type type, uint64_t size);
void pasta_segment_publish(void);
struct pasta_ring *pasta_ring_pop(uint32_t tid, uint32_t clock, bool port);

/* intern.c, under the lock. */
uint32_t pasta_intern_locked(const void *bytes, size_t size, const struct pasta_string **entry);

/* emit.c: the id of a call path, or 0: paths must not take the room of names. */
uint32_t pasta_intern_stack(const void *bytes, size_t size);

/* modules.c: have what was loaded or unloaded since in the shard. Returns how many objects have
 * ever been unloaded, which is all that the other one does. */
uint64_t pasta_modules_update(void);
uint64_t pasta_modules_unloaded(void);

/* unwind.c */
void pasta_unwind_bind(void); /* once, while the agent attaches */
/* Return addresses of the calling thread, innermost first, from caller on and without the agent's
 * own; unloaded is from pasta_modules_update. At most max, which is at most PASTA_STACK_FRAMES. */
size_t pasta_unwind(uint64_t *pcs, size_t max, const void *caller, uint64_t unloaded);

/* regions.c */
int pasta_regions_bind(void); /* once, likewise; 0 or an errno */

/* stack.c */
void pasta_stack_bind(void); /* once, likewise */

/* accesses.c */
void pasta_accesses_bind(void);	 /* once, likewise: from the environment */
void pasta_accesses_close(void); /* before the writer ends: have raw ones written */

/* writer.c */
int pasta_writer_open(void);  /* under a guard: make the shard and its first frames */
int pasta_writer_start(void); /* under a guard, and the begin_lock */
void pasta_writer_wake(void);
/* Whether there is a writer that empties the rings. */
static inline bool pasta_writer_attended(void)
{
	return atomic_load_explicit(&pasta_state->running, memory_order_relaxed);
}
/* There is none: start it, if the calling thread may; else write what is in the rings here, if it
 * is needed. True: there is a writer now, or there will never be one. */
bool pasta_writer_drain(bool needed);
/* Under a guard and the begin_lock: end it; false if it did not end in time. */
bool pasta_writer_stop(int seconds);
/* The main thread has ended, or does now: the process ends with the last of its threads, which must
 * not be the writer. From now on each thread empties the rings itself. */
void pasta_writer_retire(void);
/* The same, if it has. */
void pasta_writer_look_for_main(void);
/* The same where there is none: empty the rings for good; false: not all was written. */
bool pasta_writer_finish(void);

/* window.c */
/* Once, while the agent attaches: "OPENS-CLOSES", or NULL. */
void pasta_window_begin(const char *text, bool paused);
void pasta_window_forked(void); /* in the child, which has no writer */
/* The writer's: open or close the window if it is time. Returns ns until it has to look again. */
uint64_t pasta_window_tick(void);

/* agent.c */
/* Why the process cannot record: accelprof shows it. */
void pasta_agent_fail(int error, const char *what, const char *path);
/* Under a guard: begin to record, if that is still to be done. False: the process cannot. */
bool pasta_agent_begin(void);
/* Counted where there is a ring file, and else on the page that all processes share. */
void pasta_count_lost(enum pasta_loss_sub reason, uint64_t n);

/* emit.c */
int pasta_emit_bind(void); /* once, while the agent attaches; 0 or an errno */
/* On any thread: if it is the main one, its end will be seen from now on. */
void pasta_emit_watch_main(void);
void pasta_emit_look_soon(void); /* the calling thread sees to the writer at its next event */

#endif
