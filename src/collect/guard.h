/*
 * guard.h - protects the agent's work on the program's threads.
 *
 * A signal handler may interrupt a thread of the program, and the thread may be cancelled,
 * anywhere. The fast path (pasta_emit with room in the ring) makes no system call, acquires no
 * lock and reaches no cancellation point, so both are harmless there. All other work acquires
 * locks, allocates or enters the kernel, and runs under a guard. Without one, a cancelled thread
 * could leave a lock held forever, or end earlier than it does without AccelProf. Handlers,
 * whose work is part of the program's call and may be interrupted, use core/lock.h.
 */
#ifndef PASTA_COLLECT_GUARD_H
#define PASTA_COLLECT_GUARD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Blocks signals, defers cancellation and restores errno. Guards nest. */
struct pasta_guard {
	sigset_t signals;
	int cancel, type, error;
};
void pasta_guard_enter(struct pasta_guard *g);
void pasta_guard_leave(const struct pasta_guard *g);

/*
 * Runs file work for a thread of the program with a descriptor table of its own. The agent's
 * descriptors never appear in the program's table: the program cannot close, replace or inherit
 * them, and its own next descriptor has the number that it expects. A file-size limit is an
 * error there, not a signal. The work runs on a separate stack while the caller waits, and
 * allocates nothing from the heap, so a signal handler may be the caller. The caller holds a
 * guard. If no such thread can be made, the work runs on the calling thread. Returns what work
 * returns.
 */
int pasta_aside(int (*work)(void *arg), void *arg);

/* Once, when the agent attaches: finds out whether the program was built with ThreadSanitizer.
 * ThreadSanitizer treats each clone as a fork, after which no thread may be started, and identifies
 * files by their numbers alone: so all file work runs on the calling thread. */
void pasta_guard_bind(void);
extern bool pasta_guard_tsan;

/* Replaces the descriptor table of the calling thread, one of the agent's own, by an empty one.
 * Returns false if it cannot; the thread then shares the program's. */
bool pasta_files_own(void);

/* Whether the calling thread may allocate from the heap and start threads. A signal handler may
 * not: it may have interrupted malloc. Unwinds the stack: for slow paths. */
bool pasta_may_allocate(void);

/* Finds out whether a function further out on the calling thread's stack was interrupted by a
 * signal handler that still runs, or was left by siglongjmp. frame is its frame. Unwinds the
 * stack. */
enum pasta_frame_state { PASTA_FRAME_UNKNOWN, PASTA_FRAME_INTERRUPTED, PASTA_FRAME_LEFT };
enum pasta_frame_state pasta_frame_check(uintptr_t frame);

/* Calls pthread_setspecific, unless that would allocate where the thread may not. */
void pasta_thread_key_set(pthread_key_t key, const void *value);

#endif
