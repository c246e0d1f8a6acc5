/*
 * guard.h - what the agent needs around its own work on the program's threads.
 *
 * A thread of the program may be interrupted by a signal handler, or cancelled, anywhere. The fast
 * path (pasta_emit with a ring that has room) makes no system call, takes no lock and reaches no
 * cancellation point, so both are harmless there. Everything else, whatever takes a lock, allocates
 * or enters the kernel, runs under a guard. Without one a cancelled thread would leave a lock taken
 * for ever, or would end earlier than it does without AccelProf. Handlers, whose work is part of
 * the program's call and may be interrupted, have core/lock.h.
 */
#ifndef PASTA_COLLECT_GUARD_H
#define PASTA_COLLECT_GUARD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Signals blocked, cancellation deferred, errno restored. Guards nest. */
struct pasta_guard {
	sigset_t signals;
	int cancel, type, error;
};
void pasta_guard_enter(struct pasta_guard *g);
void pasta_guard_leave(const struct pasta_guard *g);

/*
 * File work of a thread of the program, with a descriptor table of its own: descriptors that the
 * agent opens never appear in the program's table, so that the program cannot close, replace or
 * inherit them, and its own next descriptor has the number that it expects. A file-size
 * limit is an error there, not a signal. The work runs on a stack of its own while the caller
 * waits; no memory is allocated from the heap, so a signal handler may be the caller. Under a guard
 * only. Where no such thread can be made, the work runs in place.
 */
int pasta_aside(int (*work)(void *arg), void *arg);

/* Once, while the agent attaches: whether the program was built with ThreadSanitizer. It takes each
 * clone for a fork, after which it lets nobody start threads, and knows files by their numbers
 * alone: there, all file work is in place. */
void pasta_guard_bind(void);
extern bool pasta_guard_tsan;

/* The calling thread, one of the agent's own, gets an empty descriptor table. False: it cannot, and
 * shares the program's. */
bool pasta_files_own(void);

/* Whether the calling thread may allocate from the heap and start threads: not in a signal handler,
 * which may have interrupted malloc. Unwinds the stack: for slow paths. */
bool pasta_may_allocate(void);

/* Of a frame further out on the calling thread's stack: was its function interrupted by a handler
 * that calls now, or has the program left it by siglongjmp? Unwinds, too. */
enum pasta_frame_state { PASTA_FRAME_UNKNOWN, PASTA_FRAME_INTERRUPTED, PASTA_FRAME_LEFT };
enum pasta_frame_state pasta_frame_look(uintptr_t frame);

/* pthread_setspecific, where that does not allocate or may. */
void pasta_thread_key_set(pthread_key_t key, const void *value);

#endif
