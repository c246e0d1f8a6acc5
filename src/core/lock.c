/* lock.c - locks that defer cancellation of the program's threads. */
#include "core/lock.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The number of locks that this thread holds. When the thread acquires the first lock, its
 * cancellation state and type are saved here. */
static _Thread_local int lock_depth, lock_state, lock_type;

/* A signal handler may interrupt this function at any point, and may itself call this function. The
 * inner call saves the state again only if the depth is still 0. */
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

/* Restores the cancellation state first, and then the type. A pending asynchronous cancellation
 * then takes effect when the type is restored. If the cancellation took effect when the state is
 * restored, glibc would not report the cancellation to pthread_join. */
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

/* Use a system call, because nanosleep is a cancellation point. */
void pasta_nap(const struct timespec *time)
{
	syscall(SYS_nanosleep, time, NULL);
}
