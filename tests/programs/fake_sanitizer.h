/*
 * fake_sanitizer.h - the fake of CUDA's driver and of the Compute Sanitizer, as the program that
 * plays on it sees it.
 *
 * No GPU is used: memory of devices is the heap, a stream is a thread, a kernel is a list of
 * accesses, and patches do in C what those for devices do. The environment controls it:
 *	FAKE_SANITIZER_FAIL	FUNCTION=RESULT: what this function of the library returns
 *	FAKE_SANITIZER_HELD	while a launch begins, no other thread's calls come back
 *	FAKE_SANITIZER_SHARED	contexts are notified of all memory of their device, and of its end
 *when they go themselves FAKE_SANITIZER_WRONG	patches count one load of the first object that
 *there is not
 */
#ifndef FAKE_SANITIZER_H
#define FAKE_SANITIZER_H

#include <stddef.h>
#include <stdint.h>

#include "../../src/handlers/sanitizer/abi.h"

#define FAKE_EXPORT __attribute__((visibility("default")))

/* So many accesses of one instruction to one address; of PASTA_ACCESS_BARRIER, so many arrivals of
 * warps at the barrier of that number, with size of their 32 threads each. */
struct fake_access {
	uint64_t pc, addr, times;
	uint32_t size, kind; /* kind, and 256 times the space */
};

enum { FAKE_NEVER = -1, FAKE_FAULTS = -2 };
struct fake_kernel {
	void *module;
	const char *name;
	uint32_t grid, block;
	const struct fake_access *accesses;
	uint32_t count;
	int ms; /* that it takes, before and between its accesses, or one of the above */
};

/* Any thread, but for contexts: no other one is here when they come and go. Handles are pointers.
 */
FAKE_EXPORT void *fake_context(int device);
FAKE_EXPORT void fake_context_destroy(void *context);
FAKE_EXPORT void *fake_stream(void *context);
FAKE_EXPORT void fake_stream_destroy(void *stream);
/* Until all that a stream, or a context, was given is done: 0, or what a device's failure is. */
FAKE_EXPORT int fake_synchronize(void *stream);
FAKE_EXPORT int fake_context_synchronize(void *context);
FAKE_EXPORT void *fake_module(void *context);
/* The code of which this is the text; NULL: unknown. */
FAKE_EXPORT void *fake_module_of(void *context, const char *cubin);
FAKE_EXPORT void fake_module_unload(void *module);
/* Addresses are used again as soon as they are free. flags as the library has them. */
FAKE_EXPORT uint64_t fake_alloc(void *context, uint64_t bytes, uint32_t flags);
FAKE_EXPORT void fake_free(void *context, uint64_t addr);
FAKE_EXPORT void fake_launch(void *stream, const struct fake_kernel *k);
/* A graph of so many kernels, one after the other. */
FAKE_EXPORT void fake_graph(void *stream, const struct fake_kernel *k, uint32_t count);
/* How often modules were patched, and unpatched; memory that is allocated for us. */
FAKE_EXPORT uint64_t fake_patched(void);
FAKE_EXPORT uint64_t fake_unpatched(void);
FAKE_EXPORT uint64_t fake_own_bytes(void);
/* Where a module's functions begin. */
FAKE_EXPORT uint64_t fake_pc(const void *module);

/* -- The library's -- */

FAKE_EXPORT int sanitizerGetResultString(int result, const char **text);
FAKE_EXPORT int sanitizerSubscribe(san_subscriber *subscriber, san_callback f, void *arg);
FAKE_EXPORT int sanitizerUnsubscribe(san_subscriber subscriber);
FAKE_EXPORT int sanitizerEnableCallback(uint32_t is, san_subscriber s, int domain, uint32_t id);
FAKE_EXPORT int sanitizerEnableDomain(uint32_t is, san_subscriber s, int domain);
FAKE_EXPORT int sanitizerAddPatchesFromFile(const char *path, void *context);
FAKE_EXPORT int sanitizerPatchInstructions(int id, void *module, const char *name);
FAKE_EXPORT int sanitizerPatchModule(void *module);
FAKE_EXPORT int sanitizerUnpatchModule(void *module);
FAKE_EXPORT int sanitizerSetLaunchCallbackData(void *launch, void *f, void *stream,
					       const void *data);
FAKE_EXPORT int sanitizerGetFunctionPcAndSize(void *module, const char *name, uint64_t *pc,
					      uint64_t *size);
FAKE_EXPORT int sanitizerAlloc(void *context, void **memory, size_t size);
FAKE_EXPORT int sanitizerFree(void *context, void *memory);
FAKE_EXPORT int sanitizerAllocHost(void *context, void **memory, size_t size);
FAKE_EXPORT int sanitizerMemcpyHostToDeviceAsync(void *to, void *from, size_t size, void *stream);
FAKE_EXPORT int sanitizerMemset(void *to, int value, size_t size, void *stream);
FAKE_EXPORT int sanitizerMemcpyDeviceToHost(void *to, void *from, size_t size, void *stream);
FAKE_EXPORT int sanitizerGetStreamHandle(void *context, void *stream, void **handle);
FAKE_EXPORT int sanitizerStreamSynchronize(void *stream);

/* -- The driver's -- */

FAKE_EXPORT int cuCtxPushCurrent_v2(void *context);
FAKE_EXPORT int cuCtxPopCurrent_v2(void **context);
FAKE_EXPORT int cuCtxGetStreamPriorityRange(int *least, int *greatest);
FAKE_EXPORT int cuStreamCreateWithPriority(void **stream, unsigned int flags, int priority);
FAKE_EXPORT int cuCtxSynchronize(void);

#endif
