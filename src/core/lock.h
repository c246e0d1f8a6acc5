/*
 * lock.h - locks that the agent's code uses in threads of the program.
 *
 * The program may cancel its threads. A thread that is cancelled while it holds a lock of the agent
 * would never release the lock. These functions therefore defer cancellation from a thread's first
 * lock to its last unlock. The cancellation then takes effect as it would without AccelProf.
 */
#ifndef PASTA_CORE_LOCK_H
#define PASTA_CORE_LOCK_H

#include <pthread.h>
#include <time.h>

/* Defer cancellation without a lock. Use these functions around calls of vendor functions that may
 * be cancellation points, unless the program itself made the call. The calls may be nested. */
void pasta_cancel_defer(void);
void pasta_cancel_restore(void);

void pasta_lock(pthread_mutex_t *lock);
/* Returns 0 if the lock was acquired, like pthread_mutex_trylock. */
int pasta_trylock(pthread_mutex_t *lock);
void pasta_unlock(pthread_mutex_t *lock);

/* Sleeps for the given time, or until a signal arrives. This function is not a cancellation
 * point. */
void pasta_nap(const struct timespec *time);

#endif
