/*
 * clock.h - reads CLOCK_MONOTONIC_RAW fast.
 *
 * The kernel computes this clock from the processor's counter, by a constant factor. A reading
 * takes 25 to 40 ns and uses a dozen cache lines. Each thread therefore extrapolates from its last
 * reading, for a millisecond at most. The result is behind the kernel's clock by some tens of ns at
 * most, and never decreases on a thread. If the kernel's clock is not based on that counter, every
 * call reads the kernel's clock.
 */
#ifndef PASTA_COLLECT_CLOCK_H
#define PASTA_COLLECT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t pasta_now_exact(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#ifdef __x86_64__

#include <x86intrin.h>

struct pasta_ticks {
	uint64_t span; /* number of ticks for which extrapolation is valid; 0 if it is not valid */
	/* value of the processor's counter at the last reading of the kernel's clock */
	uint64_t ticks;
	uint64_t raw;  /* value of the kernel's clock when the counter had the value `ticks` */
	uint64_t rate; /* number of ns in 2^32 ticks */
	/* The members that follow serve signal handlers that interrupt a reading. */
	/* The latest time that was returned on this thread. If the member is 0, the time must be
	 * computed from the members above. */
	uint64_t least;
	bool sampling;
	bool nested; /* whether a signal handler has interrupted the reading */
};

extern _Thread_local struct pasta_ticks pasta_ticks_here;
/* Reads the kernel's clock and returns its time. */
uint64_t pasta_clock_sample(void);

/* Returns the time of CLOCK_MONOTONIC_RAW. Any thread or signal handler may call this function. */
static inline uint64_t pasta_now(void)
{
	const struct pasta_ticks *c = &pasta_ticks_here;
	uint64_t ticks = c->ticks, passed, now;

	/* A signal handler may change the thread's values at any time, so the compiler must not
	 * reorder the reads. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	passed = __rdtsc() - ticks;
	now = c->raw + (passed * c->rate >> 32);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(passed < c->span && c->ticks == ticks, 1))
		return now;
	return pasta_clock_sample();
}

#else

static inline uint64_t pasta_now(void)
{
	return pasta_now_exact();
}

#endif

/* Determines whether the processor's counter can be used. Only the first successful call has an
 * effect. */
void pasta_clock_begin(void);

#endif
