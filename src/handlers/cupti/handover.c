/*
 * handover.c - give way to a program that begins to use CUPTI itself.
 *
 * CUPTI has one user in a process, and refuses the second: a program that brings its own profiler
 * (PyTorch and Triton do) would lose its trace to us. So those functions of CUPTI that others begin
 * with come by here first, however they were found; then they are as they were. Triton's comes with
 * a CUPTI of its own, which would be refused for ever: the Python package has it use ours.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "handlers/cupti/cupti.h"
#include "core/lock.h"
#include "handlers/cupti/detour.h"

/* All that these functions are given fits into registers, of which the most are handed on. */
typedef int (*any_function)(void *, void *, void *, void *, void *, void *);

#define BEGINNINGS(F)                                                                              \
	F(cuptiSubscribe)                                                                          \
	F(cuptiSubscribe_v2)                                                                       \
	F(cuptiActivityRegisterCallbacks)                                                          \
	F(cuptiActivityRegisterCallbacks_v2)

enum {
#define F(name) AT_##name,
	BEGINNINGS(F)
#undef F
		DETOURS
};

static struct detour detours[DETOURS];
static any_function originals[DETOURS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_over, is_recording;
static pid_t owner;

/* The file of the CUPTI that others can have from us; NULL: we have none. Any thread. */
__attribute__((visibility("default"))) const char *pasta_cupti_path(void);

static void give_way(const char *who)
{
	char why[300];

	if (is_recording) {
		cupti_activity_stop();
		cupti_callbacks_stop();
	}
	snprintf(why, sizeof(why),
		 "%s began to use CUPTI itself, which serves one at a time: its own trace goes on, "
		 "and CUDA is %s",
		 who, is_recording ? "recorded until then" : "not recorded");
	pasta_agent_log("cupti", why);
}

/* The file's name; static, or the loader's. */
static const char *name_of(const void *caller)
{
	const char *slash;
	Dl_info info;

	if (!dladdr(caller, &info) || !info.dli_fname)
		return "the program";
	slash = strrchr(info.dli_fname, '/');
	return slash ? slash + 1 : info.dli_fname;
}

/* CUPTI may call its own functions: it is not the program then. */
static bool is_cupti(const void *caller)
{
	Dl_info info, ours;

	return dladdr(caller, &info) && dladdr((void *)cupti.Subscribe, &ours) &&
	       info.dli_fbase == ours.dli_fbase;
}

static void undo(void)
{
	for (int i = 0; i < DETOURS; i++)
		detour_undo(&detours[i]);
}

/* In a forked child there is nothing of ours to stop. */
static void entered(const void *caller)
{
	pasta_lock(&lock);
	if (!is_over) {
		undo();
		is_over = true;
		if (getpid() == owner && !is_cupti(caller))
			give_way(name_of(caller));
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
		entered(__builtin_return_address(0));                                              \
		return detours[AT_##name].at ? CUPTI_MULTIPLE_SUBSCRIBERS                          \
					     : originals[AT_##name](a, b, c, d, e, f);             \
	}
BEGINNINGS(F)
#undef F

void cupti_yield_watch(bool recording)
{
	void *lib = dlopen(cupti.path, RTLD_LAZY | RTLD_NOLOAD);

	if (!lib)
		return;
	owner = getpid();
	is_recording = recording;
#define F(name)                                                                                    \
	*(void **)&originals[AT_##name] = dlsym(lib, #name);                                       \
	detour_set(&detours[AT_##name], (void *)originals[AT_##name], (void *)on_##name);
	BEGINNINGS(F)
#undef F
	dlclose(lib);
}

bool cupti_yield_end(void)
{
	bool over;

	pasta_lock(&lock);
	undo();
	over = is_over;
	pasta_unlock(&lock);
	return over;
}
