/* lock.c - locks on the program's threads, and waits that are no cancellation points. */
#include "core/lock.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How many locks a thread holds, and its cancellation state and type before the first. */
static _Thread_local int lock_depth, lock_state, lock_type;

/* A handler may come between any two lines, and do the same: it changes what was saved only while
 * the depth is 0. */
void pasta_cancel_defer(void)
{
	int state, type;

	if (lock_depth) {
		lock_depth++;
		return;
	}
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
	lock_depth = 1;
	atomic_signal_fence(memory_order_seq_cst);
	lock_state = state;
	lock_type = type;
}

/* A cancellation that is to act at once acts when the type is restored: when the state is, glibc
 * forgets to tell pthread_join of it. */
void pasta_cancel_restore(void)
{
	int state = lock_state, type = lock_type;

	atomic_signal_fence(memory_order_seq_cst);
	if (--lock_depth)
		return;
	pthread_setcancelstate(state, NULL);
	pthread_setcanceltype(type, NULL);
}

void pasta_lock(pthread_mutex_t *lock)
{
	pasta_cancel_defer();
	pthread_mutex_lock(lock);
}

int pasta_trylock(pthread_mutex_t *lock)
{
	int error;

	pasta_cancel_defer();
	error = pthread_mutex_trylock(lock);
	if (error)
		pasta_cancel_restore();
	return error;
}

void pasta_unlock(pthread_mutex_t *lock)
{
	pthread_mutex_unlock(lock);
	pasta_cancel_restore();
}

/* The C library's nanosleep is a cancellation point. */
void pasta_nap(const struct timespec *time)
{
	syscall(SYS_nanosleep, time, NULL);
}
