/*
 * annotate.h - tell AccelProf what your program is doing. For the program under study.
 *
 *	pasta_region_begin("forward");
 *	...
 *	pasta_region_end();
 *
 * Header only: nothing to link. Without AccelProf each call is a load and a branch. Under
 * `accelprof run` the agent is loaded before main, and before the constructors of the program or
 * library that includes this. Every call is safe from every thread, in signal handlers, at exit and
 * after fork; names are copied. A call that comes before the agent is loaded is counted as dropped.
 * Nothing here fails, prints or sets errno. Set-user-ID programs, and others that run with more
 * rights than who started them, never load an agent. C and C++; with another compiler than gcc or
 * clang, or another system than Linux, it is empty.
 */
#ifndef PASTA_ANNOTATE_H
#define PASTA_ANNOTATE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__linux__) && defined(__GNUC__) && !defined(PASTA_ANNOTATE_OFF)

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the agent offers. Appended to, never changed: size says how much of it there is. */
struct pasta_annotate_ops {
	size_t size;
	void (*start)(void);
	void (*stop)(void);
	void (*region_begin)(const char *name);
	void (*region_end)(void);
	void (*mark)(const char *name);
	void (*iteration)(uint64_t index);
	void (*counter)(const char *name, double value);
	void (*thread_name)(const char *name);
	void (*missed)(uint64_t calls); /* that came before the agent */
};

/* Absent from static programs and, before glibc 2.34, without -ldl: then there is no agent. */
#pragma weak dlopen
#pragma weak dlsym

/* One a program or library, whatever number of its files include this. 1: not looked for yet. */
__attribute__((weak, visibility("hidden"))) const struct pasta_annotate_ops *pasta_annotate_ops_ =
	(const struct pasta_annotate_ops *)1;
__attribute__((weak, visibility("hidden"))) uint64_t pasta_annotate_missed_ = 0;
__attribute__((weak, visibility("hidden"))) int pasta_annotate_stopped_ = 0;

const struct pasta_annotate_ops *pasta_annotate_load_(void);
__attribute__((weak, visibility("hidden"), noinline, cold)) const struct pasta_annotate_ops *
pasta_annotate_load_(void)
{
	union {
		void *symbol;
		const struct pasta_annotate_ops *(*call)(void);
	} attach = {NULL};
	const struct pasta_annotate_ops *ops = NULL;
	const char *path = getenv("PASTA_AGENT");
	void *agent;

	/* Who started a program with AT_SECURE does not choose what code it runs. AT_BASE is the
	 * dynamic loader's: a static program has none, and must not load anything. */
	if (!path || !*path || getauxval(AT_SECURE) || !dlopen || !dlsym || !getauxval(AT_BASE))
		return NULL;
	agent = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (agent)
		attach.symbol = dlsym(agent, "pasta_annotate_attach");
	if (attach.symbol)
		ops = attach.call();
	return ops && ops->size >= sizeof(*ops) ? ops : NULL;
}

#ifndef PASTA_ANNOTATE_LATE
/* The only place that loads the agent: a call may come from a signal handler, where nothing can be
 * loaded. */
__attribute__((weak, visibility("hidden"), constructor(101))) void pasta_annotate_attach_(void);
void pasta_annotate_attach_(void)
{
	const struct pasta_annotate_ops *ops;
	uint64_t missed;
	int saved = errno;

	if (__atomic_load_n(&pasta_annotate_ops_, __ATOMIC_ACQUIRE) !=
	    (const struct pasta_annotate_ops *)1)
		return; /* each file that includes this has a constructor */
	ops = pasta_annotate_load_();
	if (ops && __atomic_load_n(&pasta_annotate_stopped_, __ATOMIC_RELAXED))
		ops->stop();
	__atomic_store_n(&pasta_annotate_ops_, ops, __ATOMIC_RELEASE);
	missed = __atomic_exchange_n(&pasta_annotate_missed_, 0, __ATOMIC_RELAXED);
	if (ops && missed)
		ops->missed(missed);
	errno = saved;
}
#endif

static inline const struct pasta_annotate_ops *pasta_annotate_(void)
{
	const struct pasta_annotate_ops *ops =
		__atomic_load_n(&pasta_annotate_ops_, __ATOMIC_ACQUIRE);

	if (__builtin_expect(ops != (const struct pasta_annotate_ops *)1, 1))
		return ops;
	__atomic_fetch_add(&pasta_annotate_missed_, 1, __ATOMIC_RELAXED);
	return NULL;
}

#define PASTA_ANNOTATE_(call)                                                                      \
	do {                                                                                       \
		const struct pasta_annotate_ops *ops_ = pasta_annotate_();                         \
		if (__builtin_expect(ops_ != NULL, 0))                                             \
			ops_->call;                                                                \
	} while (0)

/* Start and stop: no event, but what they say holds from the beginning. */
#define PASTA_ANNOTATE_ACTIVE_(call, stopped)                                                      \
	do {                                                                                       \
		if (__atomic_load_n(&pasta_annotate_ops_, __ATOMIC_ACQUIRE) !=                     \
		    (const struct pasta_annotate_ops *)1)                                          \
			PASTA_ANNOTATE_(call);                                                     \
		else                                                                               \
			__atomic_store_n(&pasta_annotate_stopped_, stopped, __ATOMIC_RELAXED);     \
	} while (0)

#ifdef __cplusplus
}
#endif
#else
#define PASTA_ANNOTATE_(call) ((void)0)
#define PASTA_ANNOTATE_ACTIVE_(call, stopped) ((void)0)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Record activity from now on / no more, in this process. It is on from the beginning, unless the
 * program was run with --paused. Regions that began before a stop are still ended. */
static inline void pasta_start(void)
{
	PASTA_ANNOTATE_ACTIVE_(start(), 0);
}

static inline void pasta_stop(void)
{
	PASTA_ANNOTATE_ACTIVE_(stop(), 1);
}

/* A region of the calling thread. Regions nest; end ends the innermost. */
static inline void pasta_region_begin(const char *name)
{
	(void)name;
	PASTA_ANNOTATE_(region_begin(name));
}

static inline void pasta_region_end(void)
{
	PASTA_ANNOTATE_(region_end());
}

/* Something happened, now. */
static inline void pasta_mark(const char *name)
{
	(void)name;
	PASTA_ANNOTATE_(mark(name));
}

/* Iteration index of the program's main loop begins; the one before it ends. */
static inline void pasta_iteration(uint64_t index)
{
	(void)index;
	PASTA_ANNOTATE_(iteration(index));
}

/* A value that changes over time: a loss, a queue's length. */
static inline void pasta_counter(const char *name, double value)
{
	(void)name;
	(void)value;
	PASTA_ANNOTATE_(counter(name, value));
}

/* What to call the calling thread. */
static inline void pasta_thread_name(const char *name)
{
	(void)name;
	PASTA_ANNOTATE_(thread_name(name));
}

#ifdef __cplusplus
}
#endif
#endif
