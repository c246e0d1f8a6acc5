/* lock.c - locks on the program's threads, and waits that are no cancellation points. */
#include "core/lock.h"

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How many locks a thread holds, and what its cancellation state was before the first. */
static _Thread_local int32_t lock_depth, lock_state;

static void lock_enter(void)
{
	int state;

	if (!lock_depth) {
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
		lock_state = state;
	}
	lock_depth++;
}

static void lock_leave(void)
{
	if (!--lock_depth)
		pthread_setcancelstate(lock_state, NULL);
}

void pasta_lock(pthread_mutex_t *lock)
{
	lock_enter();
	pthread_mutex_lock(lock);
}

int pasta_trylock(pthread_mutex_t *lock)
{
	int error;

	lock_enter();
	error = pthread_mutex_trylock(lock);
	if (error)
		lock_leave();
	return error;
}

void pasta_unlock(pthread_mutex_t *lock)
{
	pthread_mutex_unlock(lock);
	lock_leave();
}

/* The C library's nanosleep is a cancellation point. */
void pasta_nap(const struct timespec *time)
{
	syscall(SYS_nanosleep, time, NULL);
}
