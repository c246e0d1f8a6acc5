/*
 * sanfloor.c - measures the cost of the Compute Sanitizer itself without patched code: a library
 * for CUDA_INJECTION64_PATH that lets it call an empty function for all callbacks that the agent
 * enables.
 *
 * FLOOR_SANITIZER is the library. At the end it writes a line to FLOOR_FILE: the number of calls,
 * or the error.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "handlers/sanitizer/abi.h"

int InitializeInjection(void);

static struct {
	int (*sanitizerSubscribe)(san_subscriber *, san_callback, void *);
	int (*sanitizerEnableDomain)(uint32_t, san_subscriber, int);
	int (*sanitizerEnableCallback)(uint32_t, san_subscriber, int, uint32_t);
} sanitizer;

static const char *failed;
static unsigned long calls; /* approximate if several threads launch */

static void on_call(void *user, int domain, uint32_t id, const void *data)
{
	(void)user, (void)domain, (void)id, (void)data;
	calls++;
}

static const char *subscribe(void)
{
	static const uint32_t launches[] = {SAN_LAUNCH_KERNEL,	  SAN_LAUNCH_KERNEL_PTSZ,
					    SAN_LAUNCH_KERNEL_EX, SAN_LAUNCH_KERNEL_EX_PTSZ,
					    SAN_GRAPH_LAUNCH,	  SAN_GRAPH_LAUNCH_PTSZ};
	static const int domains[] = {SAN_RESOURCE, SAN_LAUNCH, SAN_GRAPHS};
	san_subscriber subscriber;

	if (sanitizer.sanitizerSubscribe(&subscriber, on_call, NULL) != SAN_OK)
		return "sanitizerSubscribe";
	for (size_t i = 0; i < sizeof(domains) / sizeof(*domains); i++)
		if (sanitizer.sanitizerEnableDomain(1, subscriber, domains[i]) != SAN_OK)
			return "sanitizerEnableDomain";
	for (size_t i = 0; i < sizeof(launches) / sizeof(*launches); i++)
		if (sanitizer.sanitizerEnableCallback(1, subscriber, SAN_DRIVER_API, launches[i]) !=
		    SAN_OK)
			return "sanitizerEnableCallback";
	return NULL;
}

static const char *start(void)
{
	const char *path = getenv("FLOOR_SANITIZER");
	void *lib = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

	if (!lib)
		return "no libsanitizer-public.so";
#define BIND(name)                                                                                 \
	*(void **)&sanitizer.name = dlsym(lib, #name);                                             \
	if (!sanitizer.name)                                                                       \
		return "no " #name;
	BIND(sanitizerSubscribe)
	BIND(sanitizerEnableDomain)
	BIND(sanitizerEnableCallback)
#undef BIND
	return subscribe();
}

static void at_exit(void)
{
	const char *path = getenv("FLOOR_FILE");
	FILE *f = path ? fopen(path, "w") : NULL;

	if (!f)
		return;
	if (failed)
		fprintf(f, "failed: %s\n", failed);
	else
		fprintf(f, "%lu\n", calls);
	fclose(f);
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
