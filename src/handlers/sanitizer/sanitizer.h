/*
 * sanitizer.h - declarations that all files of the Compute Sanitizer handler share.
 *
 * The handler counts memory accesses of CUDA kernels. In runs that count accesses, this handler
 * replaces the CUPTI handler. The handler patches a module when the program loads the module, and
 * removes the patches when no launch of the module has been counted for a while. A counted launch
 * owns a slot: device memory in which the patches count. When the launch's stream has finished the
 * kernel, a thread of the handler reads the slot back and emits its rows.
 *
 * Each launch of a patched module receives a slot or NULL as its callback data. If
 * SetLaunchCallbackData is not called for a launch, the patches fault.
 *
 * san.lock protects everything that the headers of this folder declare. No thread may hold san.lock
 * while it calls the library, because the library may call back on any thread.
 */
#ifndef PASTA_HANDLERS_SANITIZER_H
#define PASTA_HANDLERS_SANITIZER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <pasta/event.h>
#include <pasta/map.h>
#include <pasta/ranges.h>

#include "collect/accesses.h"
#include "collect/agent.h"
#include "handlers/sanitizer/abi.h"
#include "reduce/gpu.h"

/* Functions of the library, named without the prefix "sanitizer". */
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
	/* Wrappers of driver functions, which tests replace. NewStream creates a stream that does
	 * not synchronize with other streams, and returns its handle. ContextSynchronize waits for
	 * all work of a context, including work on destroyed streams. Both return 0 or an error. */
	int (*NewStream)(void *context, void **handle);
	int (*ContextSynchronize)(void *context);
	bool bound;
	char path[512]; /* of the library */
};
extern struct sanitizer sanitizer;

/* Time limits of waits. Tests increase these limits, so that results do not depend on the machine's
 * load. */
struct san_limits {
	uint64_t wait_ns;  /* limit of waits for a device, except in idle.c */
	uint32_t flush_ms; /* limit of each attempt to flush the raw accesses of a launch */
	uint32_t stuck_ms; /* pasta_raw_config has it */
};
extern struct san_limits san_limits;

struct san {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* broadcast when a slot is read back; uses CLOCK_MONOTONIC */
	/* whether the process exits or is a forked child, so that the handler does nothing */
	atomic_bool ended;
	_Atomic uint32_t pending;
	_Atomic uint32_t
		requests; /* number of modules that the next launch must patch or unpatch */
	_Atomic uint32_t unpatched; /* number of modules that can be patched and are not patched */
	atomic_bool trim_requested; /* whether the next launch must free spare device memory */
	uint32_t reducers;	    /* PASTA_REDUCER_MASK of reducers that run on the device */
	/* whether kernels may launch graphs, so that graphs are not counted */
	atomic_bool device_graphs;
	/* whether key0 in rows of the tool's own reducer is an instruction */
	atomic_bool own_sites;
};
extern struct san san;

/* The number of nested calls of the library that the handler is making on this thread. While the
 * number is not 0, the handler ignores the library's callbacks on this thread. */
extern _Thread_local uint32_t san_own;
#define SAN_CALL(function, ...)                                                                    \
	__extension__({                                                                            \
		int result_;                                                                       \
		san_own++;                                                                         \
		result_ = sanitizer.function(__VA_ARGS__);                                         \
		san_own--;                                                                         \
		result_;                                                                           \
	})

/* Finds the library and the patches. Returns 0, or a negative errno with one line of advice in
 * `why`. */
int san_bind(char *why, size_t size);
const char *san_patches_path(void);
const char *san_text(int result);

/* Starts the handler in runs that count accesses. Logs a message if the handler cannot start. */
void san_start(void);

#endif
