/*
 * lock.h - locks for the program's threads that defer cancellation.
 *
 * The program may cancel its threads. A thread that is cancelled while it holds a lock of the agent
 * would never release the lock. These functions therefore defer cancellation from a thread's first
 * lock to its last unlock. The cancellation then takes effect as it would without AccelProf.
 */
#ifndef PASTA_CORE_LOCK_H
#define PASTA_CORE_LOCK_H

#include <pthread.h>
#include <time.h>

/* Defer cancellation without a lock, during calls of vendor functions that may be cancellation
 * points and that the program didn't call itself. Calls nest. */
void pasta_cancel_defer(void);
void pasta_cancel_restore(void);

void pasta_lock(pthread_mutex_t *lock);
/* Returns 0 if the lock was acquired, as pthread_mutex_trylock does. */
int pasta_trylock(pthread_mutex_t *lock);
void pasta_unlock(pthread_mutex_t *lock);

/* Sleeps for this time, or until a signal arrives. Not a cancellation point. */
void pasta_nap(const struct timespec *time);

#endif
