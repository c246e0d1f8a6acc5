/*
 * sanitizer.h - the Compute Sanitizer's handler, inside: memory accesses of CUDA's kernels.
 *
 * Where a run wants accesses this handler is in CUPTI's place. Modules are patched when they are
 * loaded, and no longer when nothing of theirs is counted for a while. A launch that is counted has
 * a slot, a piece of its device's memory, where the patches count; when its stream is through with
 * it, a thread of ours reads the slot back and tells the rows.
 *
 * Each launch of a module that is patched is given a slot, or NULL: patches of one that is given
 * nothing fault.
 *
 * san.lock is for all that is declared here, and is never held while the vendor's library is
 * called: it may call us back, on any thread.
 */
#ifndef PASTA_HANDLERS_SANITIZER_H
#define PASTA_HANDLERS_SANITIZER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <pasta/pasta.h>

#include "collect/accesses.h"
#include "collect/agent.h"
#include "handlers/sanitizer/abi.h"
#include "handlers/sanitizer/cubin.h"
#include "handlers/sanitizer/raw.h"
#include "handlers/sanitizer/tensormap.h"
#include "reduce/gpu.h"

/* The library's functions: its names, without "sanitizer" in front. */
#define SANITIZER_FUNCTIONS(F)                                                                     \
	F(GetResultString, (int, const char **))                                                   \
	F(Subscribe, (san_subscriber *, san_callback, void *))                                     \
	F(Unsubscribe, (san_subscriber))                                                           \
	F(EnableCallback, (uint32_t, san_subscriber, int, uint32_t))                               \
	F(EnableDomain, (uint32_t, san_subscriber, int))                                           \
	F(AddPatchesFromFile, (const char *, void *))                                              \
	F(PatchInstructions, (int, void *, const char *))                                          \
	F(PatchModule, (void *))                                                                   \
	F(UnpatchModule, (void *))                                                                 \
	F(SetLaunchCallbackData, (void *, void *, void *, const void *))                           \
	F(GetFunctionPcAndSize, (void *, const char *, uint64_t *, uint64_t *))                    \
	F(Alloc, (void *, void **, size_t))                                                        \
	F(Free, (void *, void *))                                                                  \
	F(AllocHost, (void *, void **, size_t))                                                    \
	F(MemcpyHostToDeviceAsync, (void *, void *, size_t, void *))                               \
	F(MemcpyDeviceToHost, (void *, void *, size_t, void *))                                    \
	F(Memset, (void *, int, size_t, void *))                                                   \
	F(GetStreamHandle, (void *, void *, void **))                                              \
	F(StreamSynchronize, (void *))

struct sanitizer {
#define F(name, args) int(*name) args;
	SANITIZER_FUNCTIONS(F)
#undef F
	/* The driver's, but for tests. A stream of ours that waits for no other, by its handle; and
	 * all that a context runs is waited for, of streams that are gone, too. 0, or an error. */
	int (*NewStream)(void *context, void **handle);
	int (*ContextSynchronize)(void *context);
	bool bound;
	char path[512]; /* of the library */
};
extern struct sanitizer sanitizer;

/* No wait of ours for a device is longer, but for those of quiet.c, and for raw accesses that come.
 */
#define SAN_WAIT UINT64_C(2000000000)
enum { SAN_SLOTS = 128, SAN_LANES = 32, SAN_ASIDE = 512 };
/* Pages with sums of their own: 512 MiB of them, of 64 GiB where pages have 4 KiB. */
#define SAN_PAGES_MOST (UINT32_C(1) << 24)

/* Raw accesses of a context's launches. */
struct san_ring {
	struct pasta_raw *raw;
	struct pasta_access *records; /* pinned, with the host's side behind them */
	struct pasta_gpu_ring *host;
	struct pasta_gpu_raw *device; /* in the device's memory */
	bool made;
	const char *trouble;	      /* why it is not, or is used no more; static */
	const struct san_slot *first; /* it is set up before this one, on its stream; NULL: it is
					 set up */
	uint64_t lost;		      /* accesses, as the device had it when it was last read */
};

/* Memory of slots that have other by now. */
struct san_aside {
	char *memory;
	size_t size;
};

struct san_context {
	struct san_context *next;
	void *handle; /* NULL: it is gone */
	uint32_t number, device;
	void *own;	     /* a stream of ours, by its handle; NULL: there is none */
	atomic_bool broken;  /* it has failed: it is not touched any more */
	bool added;	     /* the patches are there */
	const char *trouble; /* why they are not; static */
	struct san_slot *slots[SAN_SLOTS];
	uint32_t count;
	struct san_aside aside[SAN_ASIDE];
	uint32_t aside_count;
	size_t bytes;		     /* of slots, and of what is aside */
	size_t cramped;		     /* that a slot has found no room for; 0: all have */
	bool wasteful;		     /* slots may have far more than they need */
	size_t queued;		     /* bytes of places that may wait in streams */
	_Atomic uint32_t pages_most; /* that a slot may have sums of */
	struct san_ring ring;
};

struct san_stream {
	struct san_context *context;
	void *handle;
	uint32_t number;
	uint32_t pending;  /* slots that are not read back */
	uint32_t waiting;  /* who waits for them, and reads them then */
	uint32_t users;	   /* threads that have it from san_stream */
	bool gone;	   /* its handle is none of its any more */
	atomic_bool stuck; /* one of them took too long; until one is */
};

/* A function of a module, by its handle. */
struct san_function {
	uint64_t kernel; /* pasta_accesses_kernel of its name and its module's code */
	uint32_t name;	 /* 0: neither is known yet */
	bool told;	 /* its coverage */
};

/* The same, where its device has it. */
struct san_code {
	char *name;
	uint64_t pc, size;
};

/* Kept as long as the program has it loaded or a slot points to it. */
struct san_module {
	struct san_context *context;
	void *handle; /* NULL: it is unloaded */
	uint32_t number, refs;
	uint64_t identity; /* pasta_accesses_code of its cubin; without one, no other has it */
	struct san_module *next;
	atomic_bool patched, stays;    /* stays: it cannot be unpatched */
	bool wanted, unwanted;	       /* what the next call is to make of it */
	bool loading;		       /* its load is being told */
	bool lies_bare;		       /* it may be patched, and is not: it is in san.unpatched */
	_Atomic(const char *) refused; /* static; it is not tried again */
	_Atomic uint32_t idle,
		patience;	 /* launches in a row that were not counted, and how many may be */
	struct pasta_map *sites; /* numbers, by the instruction's address */
	struct san_code *code;	 /* functions that ran, code_count of them */
	uint32_t code_count;
	bool foreign;		     /* code and sites are other modules', too: of graphs */
	struct pasta_map *functions; /* those that were launched, by their handles */
	struct pasta_cubin *cubin;   /* NULL: it cannot be read */
};

/* A launch that is counted. Its memory is a struct pasta_gpu_launch and what that points to. */
struct san_slot {
	struct san_context *context;
	struct san_stream *stream;
	struct san_module *module;
	struct san_slot *next, *next_under_way;
	struct pasta_accesses_launch *launch;
	uint64_t pc;	  /* where its function is; 0: that is not known */
	uint64_t blocks;  /* of its grid; 0: it is a graph's */
	uint32_t threads; /* of a block; of a graph, its first kernel's */
	uint32_t number;  /* in raw accesses; 0: there are none */
	uint64_t lost;	  /* of them, before it began */
	void *handle;	  /* of the stream to wait for */
	bool busy;	  /* it is a launch's */
	bool queued;	  /* which is on its stream; else it is the launching thread's alone */
	bool synced;	  /* which is through */
	bool done;	  /* and told, or given up */
	bool left;	  /* to who waits for its stream */
	uint32_t lane;
	uint32_t readers;	     /* who may still look at it: the queue is one */
	struct san_reading *reading; /* that the teller has */
	char *memory;
	size_t size, zero, sums;    /* where what is to be zero begins, and the pages' sums */
	uint32_t room, page_room;   /* for places, and pages that have sums */
	size_t sent;		    /* of places, that may wait in its stream */
	uint64_t version;	    /* whose places are on the device */
	uint64_t known;		    /* whose are here */
	struct pasta_object_part *places; /* count of them, room for listed */
	uint32_t *bases;	    /* of their pages' numbers */
	uint32_t listed, count, pages;
	bool cut; /* there are more places */
	struct pasta_gpu_launch image;
};

struct san {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* a slot was read back; CLOCK_MONOTONIC */
	atomic_bool ended;	/* nothing is touched any more: the process ends, or is a child */
	_Atomic uint32_t pending;
	_Atomic uint32_t asked;	    /* modules that a call is to make something of */
	_Atomic uint32_t unpatched; /* those that may be patched, and are not */
	atomic_bool cramped;	    /* what lies aside is to be freed */
	uint32_t reducers;	    /* that devices count */
	atomic_bool device_graphs;  /* kernels may launch some: none is counted */
	atomic_bool own_sites;	    /* rows of a tool's own reducer are by instruction */
};
extern struct san san;

/* Calls of the library's that we make ourselves are none of the program's: its callbacks are not
 * heard on this thread meanwhile. */
extern _Thread_local uint32_t san_own;
#define SAN_CALL(function, ...)                                                                    \
	__extension__({                                                                            \
		int result_;                                                                       \
		san_own++;                                                                         \
		result_ = sanitizer.function(__VA_ARGS__);                                         \
		san_own--;                                                                         \
		result_;                                                                           \
	})

/* bind.c: find the library, and the patches. 0, or a negative errno, with one line that says what
 * to do. */
int san_bind(char *why, size_t size);
const char *san_patches_path(void);
const char *san_text(int result);

/* inject.c: in CUPTI's place, where the run wants accesses. If it cannot start, it says so. */
void san_start(void);

/* contexts.c. Any thread; NULL: no memory. */
void san_context_begin(void *handle, int device);
struct san_context *san_context(void *handle, int device);
struct san_stream *san_stream(struct san_context *context, void *handle);
/* One that san_stream returned, which is used no more; it may be NULL. */
void san_stream_put(struct san_stream *s);
/* 0: there is none, or it is gone. */
uint32_t san_context_number(const void *handle);
/* It is about to go: what is on its way is waited for, within bounds, and then given up. */
void san_stream_end(void *handle);
void san_context_end(void *handle);
/* One that is known; NULL: there is none, or it is gone. */
struct san_context *san_context_find(const void *handle);
/* Under the lock: those that have not failed, max of them at most; how many there are. */
size_t san_contexts(struct san_context **list, size_t max);
/* While nothing runs: memory that nobody needs is freed. */
void san_contexts_tidy(void);
/* As pasta_now's clock has it, for pthread_cond_timedwait. */
struct timespec san_deadline(uint64_t ns);

/* objects.c: memory that comes and goes, of one context (its number) as well: until it has ended no
 * other context's goes on this thread. */
void san_objects_end(uint32_t context);
void san_objects_ended(void);
void san_object(uint32_t id, const struct san_memory_data *m);

/* modules.c */
void san_module_loaded(const struct san_module_data *m);
void san_module_unloaded(const struct san_module_data *m);
/* To be let go; and what is known of a function of it. NULL: no memory. */
struct san_module *san_module_get(struct san_context *context, void *handle, const void *function,
				  struct san_function *known);
void san_module_put(struct san_module *m);
/* A launch of it is to be counted: NULL, or why it cannot be; static. */
const char *san_module_count(struct san_module *m);
/* One is not. Whether it is patched all the same. */
bool san_module_pass(struct san_module *m);
/* Whether patches see memory that has no objects as well. */
bool san_modules_spaces(void);
/* Whether they know of counters that are spread. */
bool san_modules_spread(void);
/* What a function of it is called: names are long, and each launch would look at them again. */
void san_module_named(struct san_module *m, const void *function, uint32_t name, uint64_t kernel);
/* Whether its coverage is still to be told; it is, then. */
bool san_module_emits(struct san_module *m, const void *function);
/* That the function which the program calls by this handle is the module's. */
void san_module_learn(const struct san_module *m, const void *function);
/* Before a call that launches it, while the driver holds nothing: patch, and unpatch. NULL: which
 * one, or its name, is not known. */
void san_modules_turn(const void *function, const char *name);
/* A context goes, and its modules with it. */
void san_modules_end(const struct san_context *context);
/* The process ends: whoever patches just now is waited for, within bounds. */
void san_modules_settle(void);

/* calls.c: the call that this thread is in, if it is one that launches. */
struct san_entered {
	void *function, *stream; /* as the program has them */
	void **params, **extra;
	bool inside; /* san_quiet_enter */
	bool known;  /* san_module_learn was told of the function */
};
extern _Thread_local struct san_entered san_entered;
void san_call(uint32_t id, const struct san_call *call);
/* The tensors that its arguments describe; f may be NULL. How many there are. */
size_t san_call_tensors(const struct pasta_cubin_function *f, struct pasta_tensormap *maps);

/* quiet.c */
/* Around each call that launches. */
void san_quiet_enter(void);
void san_quiet_leave(void);
/* A stream of the program's is captured, and is not any more. */
void san_quiet_capture(const void *context, const void *stream, bool begins);
/* A stream, or a context with all of its streams (NULL), goes, and so does its capture. */
void san_quiet_uncapture(const void *context, const void *stream);
/* Before such a call: nobody launches from here on, and nothing runs, until the end. False: that
 * cannot be had just now. */
bool san_quiet_begin(void);
void san_quiet_end(void);
/* While it is: whether somebody has launched all the same. */
bool san_quiet_breached(void);
/* Under the lock: a context is about to go, or all. */
void san_quiet_stop(void);

/* launch.c */
void san_launch_begin(const struct san_launch_data *d);
void san_launch_end(void);
/* The program's call that launched comes back, whatever has become of the launch. */
void san_launch_over(void);
void san_node_begin(const struct san_node_data *d);
void san_graph_begin(const struct san_graph_data *d);
void san_graph_end(const struct san_graph_data *d);

/* slots.c: one that is nobody's, with room for the version's objects. NULL: *why, static. */
struct san_slot *san_slot_acquire(struct san_context *context, const struct pasta_version *version,
			       const char **why);
/* Make it the launch's, on this stream. 0, or what the library returned. */
int san_slot_fill(struct san_slot *s, void *stream);
/* Under the lock: nothing of it waits in its stream any more. */
void san_slot_sent(struct san_slot *s);
/* Under the lock: nobody has it. */
void san_slot_release(struct san_slot *s);
/* Under the lock: whether so much waits to be sent that it is better waited for. */
bool san_slots_wait(const struct san_context *context);
/* While nothing runs: free what lies aside. */
void san_slots_tidy(struct san_context *context);
/* Under the lock: the context is gone, and with it their memory on the device. */
void san_slots_end(struct san_context *context);

/* drain.c */
/* Wait until the stream's slots are read back, within bounds. */
void san_completion_wait(struct san_stream *stream);
/* Until the ring of raw accesses is set up, or on this stream, within bounds. */
void san_completion_wait_ring(const struct san_ring *ring, const void *stream);
/* Likewise all slots. */
void san_completion_wait_all(void);
/* The same, where much waits to be sent to a context's device. */
void san_completion_wait_sent(const struct san_context *context);
/* Until those of a context are told, within bounds. */
void san_completion_wait_emitted(const struct san_context *context);
bool san_completion_start(void);
/* A thread of ours, which ends with the process. False: there is none. */
bool san_thread(void *(*run)(void *), void *arg);
/* The slot is the launch's, which is not on its stream yet. */
void san_completion_begin(struct san_slot *s);
/* The launch is on its stream: its slot is read back when it is done. */
void san_completion_queue(struct san_slot *s);
/* Those of a context, or of a stream, or all (NULL, NULL): wait within bounds, then give them up.
 */
void san_completion_end(const struct san_context *context, const struct san_stream *stream);

/* rings.c */
bool san_ring_enabled(void);
/* The slot is a launch's, of blocks of so many threads: its image has what raw accesses need. NULL,
 * or why it cannot be; then, and where it is not launched after all, it is cancelled. */
const char *san_ring_begin(struct san_slot *s, uint32_t threads);
void san_ring_cancel(struct san_slot *s);
/* It is through; NULL: it is given up. False: some of its accesses are still on their way, and it
 * cannot be ended. */
bool san_ring_end(const struct san_slot *s, const struct pasta_gpu_raw *read);
/* No launch of its context is waited for any more. */
void san_ring_close(struct san_context *c);

/* fold.c: what the device has counted is read, and told. */
struct san_reading;
/* NULL: *result is the library's, or SAN_OK: there is no memory. */
struct san_reading *san_read(const struct san_slot *s, int *result);
/* All but rows of san_pages_each. */
void san_fold(const struct san_slot *s, const struct san_reading *r);
/* Pages, where nothing else has rows of pages: each once, by address. */
struct san_told {
	const struct san_slot *slot;
	const struct san_reading *reading; /* NULL: there are none */
};
int san_pages_each(void *told, pasta_sums_fn fn, void *arg);
/* Where raw accesses are. */
const struct pasta_gpu_raw *san_reading_raw(const struct san_reading *r);
void san_reading_free(struct san_reading *r);

/* sites.c: the number of an instruction, told when it is new; 0: there are none left. flags
 * are the SITE's: what it was seen to do, and where. */
uint32_t san_site(const struct san_slot *s, uint64_t pc, uint32_t flags);
/* Where a function is. */
void san_code(struct san_module *m, const char *name, uint64_t pc, uint64_t size);
/* Under the lock: one module's code is gone, and another's may be at its addresses. */
void san_code_forget(struct san_module *m, const struct san_module *gone);
/* Once a kernel: name what it does to memory and that cannot be seen. */
void san_coverage(struct san_module *m, const void *function, const char *kernel);

#endif
