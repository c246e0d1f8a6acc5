/*
 * guard.h - protects the agent's work on the program's threads.
 *
 * A signal handler may interrupt a thread of the program at any point, and the thread may be
 * cancelled at any point. The fast path (pasta_emit with room in the ring) makes no system call,
 * acquires no lock and reaches no cancellation point, so signals and cancellation are harmless on
 * the fast path. All other work acquires locks, allocates memory or enters the kernel, and runs
 * under a guard. Without a guard, a cancelled thread could leave a lock held forever, or end
 * earlier than it does without AccelProf. Handlers use core/lock.h instead: their work is part of a
 * call that the program makes, and may be interrupted.
 */
#ifndef PASTA_COLLECT_GUARD_H
#define PASTA_COLLECT_GUARD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* A guard blocks signals and defers cancellation until the guard ends. The end of a guard restores
 * errno. Guards nest. */
struct pasta_guard {
	sigset_t signals;
	int cancel, type, error;
};
void pasta_guard_enter(struct pasta_guard *g);
void pasta_guard_leave(const struct pasta_guard *g);

/*
 * Runs work on files for a thread of the program, on a helper thread with its own descriptor table.
 * The agent's descriptors never appear in the program's table. The program therefore cannot close,
 * replace or inherit these descriptors, and the next file that the program opens has the expected
 * number. A write past the file-size limit is an error, not a signal. The helper thread has a
 * separate stack and allocates nothing from the heap, so a signal handler may call this function.
 * The caller holds a guard, and waits until the work is done. If the helper thread cannot be
 * created, the work runs on the calling thread. Returns the result of the work.
 */
int pasta_aside(int (*work)(void *arg), void *arg);

/* Determines whether the program was built with ThreadSanitizer. The agent calls this function
 * once, when it attaches. ThreadSanitizer treats each call of clone() as a fork, after which no
 * thread may be started, and identifies files only by their descriptor numbers. In a program with
 * ThreadSanitizer, all work on files therefore runs on the calling thread. */
void pasta_guard_bind(void);
extern bool pasta_guard_tsan;

/* Replaces the descriptor table of the calling thread, which must be one of the agent's threads,
 * with an empty table. On failure, returns false, and the thread shares the program's descriptor
 * table. */
bool pasta_files_own(void);

/* Returns whether the calling thread may allocate from the heap and start threads. A signal handler
 * must not allocate, because it may have interrupted malloc. This function unwinds the stack, so
 * call this function only on slow paths. */
bool pasta_may_allocate(void);

/* Determines the state of a function that was called earlier on the calling thread's stack. Either
 * a signal handler has interrupted the function and still runs, or siglongjmp has left the
 * function. `frame` is the function's stack frame. This function unwinds the stack. */
enum pasta_frame_state { PASTA_FRAME_UNKNOWN, PASTA_FRAME_INTERRUPTED, PASTA_FRAME_LEFT };
enum pasta_frame_state pasta_frame_check(uintptr_t frame);

/* Calls pthread_setspecific. Does nothing if the call would allocate memory on a thread that must
 * not allocate. */
void pasta_thread_key_set(pthread_key_t key, const void *value);

#endif
