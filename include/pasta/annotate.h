/*
 * annotate.h - annotate a program for AccelProf: regions, iterations, counters, names.
 *
 *	pasta_region_begin("forward");
 *	...
 *	pasta_region_end();
 *
 * Include this header in the program under study; there is nothing to link. Without AccelProf, each
 * call costs a load and a branch. Under `accelprof run` the agent is loaded before main, and before
 * the constructors of the program or library that includes this header. All calls are safe from any
 * thread, in signal handlers, at exit and after fork; names are copied. A call before the agent is
 * loaded counts as dropped. Nothing here fails, prints or sets errno. Set-user-ID programs, and
 * others with more privileges than their user, never load an agent. For C and C++; with compilers
 * other than gcc and clang, and on systems other than Linux, all functions are empty.
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

/* The functions of the agent. New members are added only at the end; `size` is the size of the
 * struct in the agent's version. */
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
	void (*missed)(uint64_t calls); /* number of calls before the agent was loaded */
};

/* dlopen and dlsym are missing in static programs, and before glibc 2.34 in programs linked without
 * -ldl. Such programs load no agent. */
#pragma weak dlopen
#pragma weak dlsym

/* The table of the agent's functions, shared by all files of a program or library. The value 1
 * means that no constructor has looked for the agent yet. */
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

	/* The kernel sets AT_SECURE for a privileged program, into which its user must not load
	 * code. AT_BASE is the address of the dynamic loader; it is 0 in a static program, which
	 * must not load anything. */
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
/* Only this constructor loads the agent. The other functions may be called from a signal handler,
 * where loading a library is not safe. */
__attribute__((weak, visibility("hidden"), constructor(101))) void pasta_annotate_attach_(void);
void pasta_annotate_attach_(void)
{
	const struct pasta_annotate_ops *ops;
	uint64_t missed;
	int saved = errno;

	if (__atomic_load_n(&pasta_annotate_ops_, __ATOMIC_ACQUIRE) !=
	    (const struct pasta_annotate_ops *)1)
		return; /* the constructor of another file of the program has already run */
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

/* A call of pasta_start or pasta_stop before the agent is loaded is not dropped: the call takes
 * effect when the agent is loaded. */
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

/* Start and stop recording in this process. Recording is on at the start of the program, unless the
 * program was run with --paused. The ends of regions that began before a stop are still
 * recorded. */
static inline void pasta_start(void)
{
	PASTA_ANNOTATE_ACTIVE_(start(), 0);
}

static inline void pasta_stop(void)
{
	PASTA_ANNOTATE_ACTIVE_(stop(), 1);
}

/* Begin and end a region of the calling thread. Regions nest: pasta_region_end ends the innermost
 * region. */
static inline void pasta_region_begin(const char *name)
{
	(void)name;
	PASTA_ANNOTATE_(region_begin(name));
}

static inline void pasta_region_end(void)
{
	PASTA_ANNOTATE_(region_end());
}

/* Marks a point in time. */
static inline void pasta_mark(const char *name)
{
	(void)name;
	PASTA_ANNOTATE_(mark(name));
}

/* Begins an iteration of the program's main loop, and ends the previous one. */
static inline void pasta_iteration(uint64_t index)
{
	(void)index;
	PASTA_ANNOTATE_(iteration(index));
}

/* Records a value that changes over time, such as a loss or the length of a queue. */
static inline void pasta_counter(const char *name, double value)
{
	(void)name;
	(void)value;
	PASTA_ANNOTATE_(counter(name, value));
}

/* Names the calling thread. */
static inline void pasta_thread_name(const char *name)
{
	(void)name;
	PASTA_ANNOTATE_(thread_name(name));
}

#ifdef __cplusplus
}
#endif
#endif
