/*
 * handover.c - stops using CUPTI when the program starts to use it.
 *
 * CUPTI serves one user in a process and refuses a second one. A program with its own profiler,
 * such as that of PyTorch or Triton, would get no trace while the agent uses CUPTI. So the agent
 * places detours on the CUPTI functions that every user of CUPTI calls first. When other code calls
 * one of these functions, the agent stops using CUPTI, removes the detours, and lets the call
 * through.
 *
 * Triton's profiler loads its own copy of CUPTI, which does not work while the agent's copy is in
 * use. So the Python package makes Triton's profiler load the agent's copy (pasta_cupti_path).
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/lock.h"
#include "handlers/cuda/detour.h"
#include "handlers/cupti/cupti.h"

/* The type of the functions that have detours. Each of these functions has at most six arguments,
 * all in registers, so forwarding six arguments is correct for all functions. */
typedef int (*handover_function)(void *, void *, void *, void *, void *, void *);

#define HANDOVER_FUNCTIONS(F)                                                                      \
	F(cuptiSubscribe)                                                                          \
	F(cuptiSubscribe_v2)                                                                       \
	F(cuptiActivityRegisterCallbacks)                                                          \
	F(cuptiActivityRegisterCallbacks_v2)

enum {
#define F(name) AT_##name,
	HANDOVER_FUNCTIONS(F)
#undef F
		DETOURS
};

static struct detour detours[DETOURS];
static handover_function originals[DETOURS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_over, is_recording;
static pid_t owner;

/* Returns the path of the CUPTI library that the agent uses, so that other libraries in the program
 * can load the same one. Returns NULL if the agent does not use CUPTI. Exported for the Python
 * package. Any thread may call this function. */
__attribute__((visibility("default"))) const char *pasta_cupti_path(void);

static void handover_stop(const char *who)
{
	char why[300];

	if (is_recording) {
		cupti_activity_stop();
		cupti_callbacks_stop();
	}
	snprintf(why, sizeof(why),
		 "%s began to use CUPTI itself. Because CUPTI serves only one profiler at a "
		 "time, the trace of that profiler is complete, but CUDA is %s in this run",
		 who, is_recording ? "recorded only until then" : "not recorded");
	pasta_agent_log("cupti", why);
}

/* Returns the name of the file that contains this code address. The string is static or belongs to
 * the dynamic loader. */
static const char *handover_caller(const void *caller)
{
	const char *slash;
	Dl_info info;

	if (!dladdr(caller, &info) || !info.dli_fname)
		return "the program";
	slash = strrchr(info.dli_fname, '/');
	return slash ? slash + 1 : info.dli_fname;
}

/* Returns whether CUPTI itself made the call. A call by CUPTI itself does not mean that the program
 * uses CUPTI. */
static bool handover_is_cupti(const void *caller)
{
	Dl_info info, ours;

	return dladdr(caller, &info) && dladdr((void *)cupti.Subscribe, &ours) &&
	       info.dli_fbase == ours.dli_fbase;
}

static void handover_undo(void)
{
	for (int i = 0; i < DETOURS; i++)
		detour_undo(&detours[i]);
}

/* In a forked child the agent does not use CUPTI, so only the detours that the child has inherited
 * are removed. */
static void handover_entered(const void *caller)
{
	pasta_lock(&lock);
	if (!is_over) {
		handover_undo();
		is_over = true;
		if (getpid() == owner && !handover_is_cupti(caller))
			handover_stop(handover_caller(caller));
	}
	pasta_unlock(&lock);
}

const char *pasta_cupti_path(void)
{
	const char *path;

	pasta_lock(&lock);
	path = is_recording && getpid() == owner ? cupti.path : NULL;
	pasta_unlock(&lock);
	return path;
}

#define F(name)                                                                                    \
	static int on_##name(void *a, void *b, void *c, void *d, void *e, void *f)                 \
	{                                                                                          \
		handover_entered(__builtin_return_address(0));                                     \
		return detours[AT_##name].at ? CUPTI_MULTIPLE_SUBSCRIBERS                          \
					     : originals[AT_##name](a, b, c, d, e, f);             \
	}
HANDOVER_FUNCTIONS(F)
#undef F

void cupti_handover_watch(bool recording)
{
	void *lib = dlopen(cupti.path, RTLD_LAZY | RTLD_NOLOAD);

	if (!lib)
		return;
	owner = getpid();
	is_recording = recording;
#define F(name)                                                                                    \
	*(void **)&originals[AT_##name] = dlsym(lib, #name);                                       \
	detour_set(&detours[AT_##name], (void *)originals[AT_##name], (void *)on_##name);
	HANDOVER_FUNCTIONS(F)
#undef F
	dlclose(lib);
}

bool cupti_handover_end(void)
{
	bool over;

	pasta_lock(&lock);
	handover_undo();
	over = is_over;
	pasta_unlock(&lock);
	return over;
}
