/*
 * flush.c - what devices did, handed over once a second, and when the program leaves.
 *
 * CUPTI gives its buffers when they are full, or asked for. A program that ends by _exit, as
 * workers of Python's multiprocessing do, runs no handlers: libc's function comes by here first.
 * One that is killed has lost a second's records at most.
 */
#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "handlers/cupti/cupti.h"
#include "core/lock.h"
#include "handlers/cupti/detour.h"

enum { STACK = 256 << 10 };
#define SECOND UINT64_C(1000000000)

/* Times that all was asked for, and the last of them that has been answered. */
static _Atomic uint32_t asked, answered;
static pid_t owner;
/* Held while CUPTI is asked. After the end it is not asked any more: it goes before the process. */
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool ended; /* all has been asked for at the end */
static struct detour leaving;

/* Nothing else may be used here in a signal handler, which may call _exit. */
static void wait_for(_Atomic uint32_t *word, uint32_t while_, uint64_t ns)
{
	const struct timespec t = {.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)};

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, while_, &t, NULL, 0);
}

static void wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void ask(bool all)
{
	pasta_lock(&asking);
	if (!atomic_load(&ended)) {
		cupti_activity_flush(all);
		if (!all)
			cupti_activity_rest();
	}
	pasta_unlock(&asking);
}

static void *main_(void *arg)
{
	uint32_t seen = 0, now;

	(void)arg;
	pthread_setname_np(pthread_self(), "pasta-cupti");
	for (;;) {
		wait_for(&asked, seen, SECOND);
		now = atomic_load(&asked);
		ask(now != seen);
		seen = now;
		atomic_store(&answered, now);
		wake(&answered);
	}
	return NULL;
}

/* On the thread of ours: this one may have been interrupted while CUPTI held a lock of its own. */
static void flush_all(void)
{
	uint32_t mine = atomic_fetch_add(&asked, 1) + 1, now;
	uint64_t until = pasta_now() + SECOND, t;

	wake(&asked);
	while (now = atomic_load(&answered), t = pasta_now(),
	       (int32_t)(now - mine) < 0 && t < until)
		wait_for(&answered, now, until - t);
}

/* A vfork's child runs this on its parent's memory. */
static void leave(int status)
{
	if (getpid() == owner && !atomic_load(&ended))
		flush_all();
	for (;;)
		syscall(SYS_exit_group, status);
}

/* Of libc itself: a program may have one of that name, or a stub in its place. */
static void watch_exit(void)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

	if (!libc)
		return;
	detour_set(&leaving, dlsym(libc, "_exit"), (void *)leave);
	dlclose(libc);
}

void cupti_flush_end(void)
{
	/* CUPTI's threads are not in a forked child, which would wait for them. */
	if (getpid() != owner)
		return;
	pasta_lock(&asking);
	cupti_activity_flush(true);
	atomic_store(&ended, true);
	pasta_unlock(&asking);
}

void cupti_flush_start(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;
	bool runs;

	owner = getpid();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are the program's */
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	/* Without it buffers come when they are full, and at the end. */
	runs = !pthread_create(&thread, &attr, main_, NULL);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (runs)
		watch_exit();
}
