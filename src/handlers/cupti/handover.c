/*
 * handover.c - hand CUPTI over to a program that starts to use it itself.
 *
 * CUPTI serves one user in a process and refuses the second. A program with its own profiler, such
 * as PyTorch or Triton, would get no trace while the agent uses CUPTI. So the agent sets detours on
 * the functions with which a user of CUPTI starts. At the first call from elsewhere, the agent
 * stops using CUPTI, removes the detours, and lets the call through.
 *
 * Triton's profiler loads its own copy of CUPTI, which CUPTI refuses beside the agent's: the
 * Python package makes it load the agent's copy (pasta_cupti_path).
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/lock.h"
#include "handlers/cuda/detour.h"
#include "handlers/cupti/cupti.h"

/* All arguments of these functions are in registers; passing six of them on covers each one. */
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

/* Returns the path of the CUPTI that the agent records with, for others in the program to load;
 * NULL if the agent does not record with CUPTI. Exported, for Python. Any thread. */
__attribute__((visibility("default"))) const char *pasta_cupti_path(void);

static void handover_stop(const char *who)
{
	char why[300];

	if (is_recording) {
		cupti_activity_stop();
		cupti_callbacks_stop();
	}
	snprintf(why, sizeof(why),
		 "%s began to use CUPTI itself, which serves one user at a time: its own trace is "
		 "complete, and CUDA is %s",
		 who, is_recording ? "recorded until then" : "not recorded");
	pasta_agent_log("cupti", why);
}

/* Returns the name of the file with this code; the string is static or the loader's. */
static const char *handover_caller(const void *caller)
{
	const char *slash;
	Dl_info info;

	if (!dladdr(caller, &info) || !info.dli_fname)
		return "the program";
	slash = strrchr(info.dli_fname, '/');
	return slash ? slash + 1 : info.dli_fname;
}

/* A call that CUPTI makes itself is not the program's. */
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

/* A forked child has inherited the detours only: nothing of the agent's runs there. */
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
