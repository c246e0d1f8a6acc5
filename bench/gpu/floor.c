/*
 * floor.c - measures the cost of CUPTI itself: a library for CUDA_INJECTION64_PATH that only lets
 * CUPTI fill buffers.
 *
 * FLOOR_KINDS has the activity kinds to enable, as numbers ("10,1,2"), or "callbacks": no
 * activities, but calls of an empty function at each launch. FLOOR_CUPTI is the library, if the
 * program has not loaded it itself. At the end the library writes a line to FLOOR_FILE: buffers (or
 * calls), bytes and dropped records, or the error.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "handlers/cupti/cuptiabi.h"

enum { BUFFER = 4 << 20 }; /* the agent's size */

int InitializeInjection(void);

static struct {
	int (*cuptiActivityRegisterCallbacks)(cupti_request, cupti_complete);
	int (*cuptiActivityEnable)(int);
	int (*cuptiActivityFlushAll)(uint32_t);
	int (*cuptiActivityGetNumDroppedRecords)(void *, uint32_t, size_t *);
	int (*cuptiSubscribe)(cupti_subscriber *, cupti_callback, void *);
	int (*cuptiEnableCallback)(uint32_t, cupti_subscriber, int, uint32_t);
	int (*cuptiGetCallbackName)(int, uint32_t, const char **);
} cupti;

static _Atomic(void *) spare;
static atomic_ullong buffers, bytes, dropped_records;
static const char *failed;
static unsigned long calls; /* not atomic: loops have one thread */
static bool has_callbacks;

static void request(uint8_t **buffer, size_t *size, size_t *records)
{
	void *p = atomic_exchange(&spare, NULL);

	if (!p)
		p = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*buffer = p == MAP_FAILED ? NULL : p;
	*size = p == MAP_FAILED ? 0 : BUFFER;
	*records = 0;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	size_t dropped = 0;

	(void)size;
	atomic_fetch_add(&buffers, 1);
	atomic_fetch_add(&bytes, valid);
	if (cupti.cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_OK)
		atomic_fetch_add(&dropped_records, dropped);
	buffer = atomic_exchange(&spare, buffer);
	if (buffer)
		munmap(buffer, BUFFER);
}

static void at_exit(void)
{
	const char *path = getenv("FLOOR_FILE");
	FILE *f;

	if (!failed && !has_callbacks)
		cupti.cuptiActivityFlushAll(1);
	f = path ? fopen(path, "w") : NULL;
	if (!f)
		return;
	if (failed)
		fprintf(f, "failed: %s\n", failed);
	else
		fprintf(f, "%llu %llu %llu\n", has_callbacks ? calls : buffers, bytes,
			dropped_records);
	fclose(f);
}

/* A second copy would see none of the program's contexts: reuse the loaded one. */
static void *find(void)
{
	static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
	const char *path = getenv("FLOOR_CUPTI");
	void *lib = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !lib; i++)
		lib = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
	if (!lib && path && *path)
		lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !lib; i++)
		lib = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
	return lib;
}

static void on_call(void *user, int domain, uint32_t id, const void *data)
{
	(void)user, (void)domain, (void)id, (void)data;
	calls++;
}

static const char *start_callbacks(void)
{
	cupti_subscriber subscriber;
	const char *name = NULL;

	has_callbacks = true;
	if (cupti.cuptiSubscribe(&subscriber, on_call, NULL) != CUPTI_OK)
		return "cuptiSubscribe";
	for (uint32_t id = 1; cupti.cuptiGetCallbackName(CUPTI_DRIVER_API, id, &name) == CUPTI_OK;
	     id++)
		if (name && strstr(name, "LaunchKernel") &&
		    cupti.cuptiEnableCallback(1, subscriber, CUPTI_DRIVER_API, id) != CUPTI_OK)
			return "cuptiEnableCallback";
	return NULL;
}

static const char *start(void)
{
	const char *kinds = getenv("FLOOR_KINDS");
	void *lib = find();
	char *end;

	if (!lib)
		return "no libcupti.so";
#define BIND(name)                                                                                 \
	*(void **)&cupti.name = dlsym(lib, #name);                                                 \
	if (!cupti.name)                                                                           \
		return "no " #name;
	BIND(cuptiActivityRegisterCallbacks)
	BIND(cuptiActivityEnable)
	BIND(cuptiActivityFlushAll)
	BIND(cuptiActivityGetNumDroppedRecords)
	BIND(cuptiSubscribe)
	BIND(cuptiEnableCallback)
	BIND(cuptiGetCallbackName)
#undef BIND
	if (kinds && !strcmp(kinds, "callbacks"))
		return start_callbacks();
	if (cupti.cuptiActivityRegisterCallbacks(request, complete) != CUPTI_OK)
		return "cuptiActivityRegisterCallbacks";
	for (kinds = kinds ? kinds : "10"; *kinds; kinds = *end ? end + 1 : end) {
		long kind = strtol(kinds, &end, 10);

		if (end == kinds || cupti.cuptiActivityEnable((int)kind) != CUPTI_OK)
			return "cuptiActivityEnable";
	}
	return NULL;
}

__attribute__((visibility("default"))) int InitializeInjection(void)
{
	static atomic_flag done = ATOMIC_FLAG_INIT;

	if (atomic_flag_test_and_set(&done))
		return 1;
	failed = start();
	atexit(at_exit);
	return 1;
}
