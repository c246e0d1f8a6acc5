/* writer.c - runs the thread that drains the rings. If that thread does not run, this file drains
 * the rings on other threads. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/agent.h"
#include "collect/drain.h"
#include "collect/guard.h"
#include "collect/state.h"
#include "core/lock.h"

#define TICK_NS 100000000L /* maximum time in ns that an event waits in a ring */
enum { RETIRE_WAIT_S = 1, END_WAIT_MS = 100, APART_MS = 1000, STACK = 256 << 10 };

static long writer_futex(_Atomic uint32_t *word, int op, uint32_t value,
			 const struct timespec *wait)
{
	return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, wait, NULL, 0);
}

/* Wakes the writer. One system call sets the word and wakes the writer. If there were two system
 * calls, a signal handler that jumps out between the two calls would leave the writer asleep,
 * although the word states that the writer is awake. */
void pasta_writer_wake(void)
{
	_Atomic uint32_t *word = &pasta_state->wake;

	if (!atomic_load(word))
		syscall(SYS_futex, word, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 1, NULL, word,
			FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_EQ, 0));
}

/* Drains the rings once. Only one thread at a time drains the rings. */
static bool writer_drain_once(bool last)
{
	bool complete;

	pthread_mutex_lock(&pasta_state->drain_lock);
	complete = pasta_drain(last);
	pthread_mutex_unlock(&pasta_state->drain_lock);
	return complete;
}

/* Returns whether the main thread has ended. If so, the process ends when its last thread ends.
 * *status is the main thread's exit status, which is the last field of /proc/self/stat. The check
 * itself does not need /proc, because the kernel clears a thread's robust list when the thread
 * ends. */
static bool writer_main_ended(int *status)
{
	char text[1024];
	const char *state, *last;
	void *list = NULL;
	size_t size;
	bool known = !syscall(SYS_get_robust_list, getpid(), &list, &size);

	*status = 0;
	if (known && list)
		return false;
	pasta_file_read_text("/proc/self/stat", text, sizeof(text));
	if (!*text)
		return known;
	state = strrchr(text, ')');
	last = strrchr(text, ' ');
	*status = last ? WEXITSTATUS(atoi(last)) : 0;
	return state && state[1] == ' ' && state[2] == 'Z';
}

/* Returns whether the calling thread is the last one besides the main thread. If so, the folder
 * /proc/self/task has four links: ".", "..", the main thread, which stays listed after its end, and
 * the calling thread. */
static bool writer_is_last(void)
{
	struct stat st;

	return !stat("/proc/self/task", &st) && st.st_nlink == 4;
}

/* Ends the writer after the main thread has ended. The program's other threads drain the rings from
 * now on. If there are no other threads, the process ends here, with the main thread's exit
 * status. */
static void writer_leave(struct pasta_state *s, int status)
{
	bool last;

	atomic_store(&s->lone, 1);
	last = writer_is_last();
	writer_drain_once(last);
	pasta_file_close(&pasta_shard_file);
	pasta_file_close(&pasta_ring_file);
	if (last)
		syscall(SYS_exit, status);
}

/* The main function of the writer. The writer has its own descriptor table and blocks all signals,
 * so that the program sees neither the writer's files nor its signals. */
static void *writer_main(void *arg)
{
	struct pasta_state *s = arg;
	int status;

	pthread_setname_np(pthread_self(), "pasta-writer");
	atomic_store(&s->writer_tid, (uint32_t)syscall(SYS_gettid));
	unshare(CLONE_FS); /* setns(CLONE_NEWNS) fails while threads share a root directory */
	pasta_files_own();
	atomic_store(&s->apart, 1);
	writer_futex(&s->apart, FUTEX_WAKE, INT_MAX, NULL);
	pasta_file_lock(&pasta_ring_file);
	while (!atomic_load(&s->stop)) {
		uint64_t next = pasta_window_tick();
		const struct timespec tick = {.tv_nsec = next < TICK_NS ? (long)next : TICK_NS};

		if (!atomic_load(&s->stall))
			writer_drain_once(false);
		writer_futex(&s->wake, FUTEX_WAIT, 0, &tick);
		atomic_store(&s->wake, 0);
		if (writer_main_ended(&status) && !atomic_load(&s->stop)) {
			writer_leave(s, status);
			atomic_store(&s->running, 0);
			return NULL;
		}
	}
	s->last_written = writer_drain_once(atomic_load(&s->closed));
	pasta_file_close(&pasta_shard_file);
	pasta_file_close(&pasta_ring_file);
	/* clear the flag, because pasta_writer_stop may have timed out */
	atomic_store(&s->running, 0);
	return NULL;
}

/* Waits until the writer has its own descriptor table. Until then, the writer shares the program's
 * files, and a file that the program closes in the meantime would stay open and locked. */
static void writer_wait_apart(struct pasta_state *s)
{
	const struct timespec ms = {.tv_nsec = 1000000};

	for (int i = 0; i < APART_MS && !atomic_load(&s->apart); i++)
		writer_futex(&s->apart, FUTEX_WAIT, 0, &ms);
}

/* The caller's guard blocks signals, and the new thread inherits the signal mask. */
int pasta_writer_start(void)
{
	struct pasta_state *s = pasta_state;
	pthread_attr_t attr;
	int r;

	atomic_store(&s->stop, 0);
	atomic_store(&s->apart, 0);
	atomic_store(&s->running, 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	r = pthread_create(&s->thread, &attr, writer_main, s);
	pthread_attr_destroy(&attr);
	if (r)
		atomic_store(&s->running, 0);
	else
		writer_wait_apart(s);
	return -r;
}

bool pasta_writer_stop(int seconds)
{
	struct pasta_state *s = pasta_state;
	const struct timespec ms = {.tv_nsec = 1000000};
	struct timespec until;

	atomic_store(&s->stop, 1);
	pasta_writer_wake();
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	if (pthread_timedjoin_np(s->thread, NULL, &until))
		return false;
	/* The kernel still lists the thread for a moment after it has ended. */
	for (int i = 0; i < END_WAIT_MS && !syscall(SYS_tgkill, getpid(), s->writer_tid, 0); i++)
		pasta_nap(&ms);
	return true;
}

/* Drains the rings. pasta_aside runs this function with a descriptor table that exists only during
 * the call. */
static int writer_aside(void *last)
{
	bool complete = writer_drain_once(last != NULL);

	pasta_file_close(&pasta_shard_file);
	return complete ? 0 : -EIO;
}

bool pasta_writer_finish(void)
{
	return !pasta_aside(writer_aside, pasta_state);
}

static void writer_restart(void)
{
	struct pasta_state *s = pasta_state;

	pthread_mutex_lock(&s->begin_lock);
	if (!atomic_load(&s->closed) && !atomic_load(&s->lone) && !pasta_writer_running())
		pasta_writer_start();
	pthread_mutex_unlock(&s->begin_lock);
}

void pasta_writer_retire(void)
{
	struct pasta_state *s = pasta_state;
	struct pasta_guard guard;

	pasta_guard_enter(&guard);
	pthread_mutex_lock(&s->begin_lock);
	if (!atomic_exchange(&s->lone, 1) && pasta_writer_running())
		pasta_writer_stop(RETIRE_WAIT_S);
	pthread_mutex_unlock(&s->begin_lock);
	pasta_guard_leave(&guard);
}

static int writer_query_main(void *arg)
{
	int status;

	return writer_main_ended(&status);
}

void pasta_writer_check_main(void)
{
	struct pasta_guard guard;
	int ended;

	if (atomic_load(&pasta_state->lone))
		return;
	pasta_guard_enter(&guard);
	ended = pasta_aside(writer_query_main, NULL);
	pasta_guard_leave(&guard);
	if (ended > 0)
		pasta_writer_retire();
}

bool pasta_writer_drain(bool needed)
{
	struct pasta_state *s = pasta_state;
	struct pasta_guard guard;
	bool closed = atomic_load(&s->closed), sync = atomic_load(&s->sync);

	if (closed && !sync)
		/* accelprof recovers events that are emitted after the end of the recording */
		return true;
	pasta_guard_enter(&guard);
	if (!closed && !atomic_load(&s->lone) && pasta_may_allocate())
		writer_restart();
	else if (sync || (needed && !atomic_load(&s->stall)))
		pasta_aside(writer_aside, sync ? s : NULL);
	pasta_guard_leave(&guard);
	return pasta_writer_running();
}
