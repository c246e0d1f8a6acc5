/*
 * lock.h - locks on the program's threads, and waits that are no cancellation points.
 *
 * The program may cancel its threads. One that is cancelled while it holds a lock of the agent's
 * would leave it taken for ever: cancellation is deferred from the first lock to the last unlock,
 * and acts where it would without AccelProf.
 */
#ifndef PASTA_CORE_LOCK_H
#define PASTA_CORE_LOCK_H

#include <pthread.h>
#include <time.h>

/* Without a lock: around functions of vendors that the program did not call, and that may wait. */
void pasta_cancel_defer(void);
void pasta_cancel_restore(void);

void pasta_lock(pthread_mutex_t *lock);
/* As pthread_mutex_trylock: 0 if it is taken now. */
int pasta_trylock(pthread_mutex_t *lock);
void pasta_unlock(pthread_mutex_t *lock);

/* Sleep, or less where a signal comes. */
void pasta_nap(const struct timespec *time);

#endif
