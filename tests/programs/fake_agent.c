/*
 * fake_agent - as much of the agent as the Python package calls: it has a thread from the first
 * region on, until pasta_agent_fork_pause ends it.
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <pasta/annotate.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT const struct pasta_annotate_ops *pasta_annotate_attach(void);
EXPORT int pasta_annotate_active(void);
EXPORT int pasta_python_attach(void);
EXPORT void pasta_python_log(const char *what);
EXPORT void pasta_agent_fork_pause(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static bool running, ending;
static long tid;

static void *wait_for_end(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	tid = syscall(SYS_gettid);
	pthread_cond_signal(&changed);
	while (!ending)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void region_begin(const char *name)
{
	(void)name;
	ending = false;
	tid = running ? tid : 0;
	if (!running)
		running = !pthread_create(&thread, NULL, wait_for_end, NULL);
	pthread_mutex_lock(&lock);
	while (running && !tid)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

void pasta_agent_fork_pause(void)
{
	pthread_mutex_lock(&lock);
	ending = true;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	if (running)
		pthread_join(thread, NULL);
	/* The kernel counts it a moment longer than pthread_join waits. */
	while (running && !syscall(SYS_tgkill, getpid(), tid, 0))
		sched_yield();
	running = false;
}

static void nothing(void)
{
}

static void no_iteration(uint64_t index)
{
	(void)index;
}

static void no_counter(const char *name, double value)
{
	(void)name;
	(void)value;
}

static const struct pasta_annotate_ops ops = {
	.size = sizeof(ops),
	.start = nothing,
	.stop = nothing,
	.region_begin = region_begin,
	.region_end = nothing,
	.iteration = no_iteration,
	.counter = no_counter,
};

const struct pasta_annotate_ops *pasta_annotate_attach(void)
{
	return &ops;
}

int pasta_annotate_active(void)
{
	return 1;
}

int pasta_python_attach(void)
{
	return 0;
}

void pasta_python_log(const char *what)
{
	(void)what;
}
