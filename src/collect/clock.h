/*
 * clock.h - CLOCK_MONOTONIC_RAW, read often.
 *
 * The kernel makes it of the processor's counter, by a factor that never changes, and takes 25 to
 * 40 ns to say so, with a dozen cache lines. Each thread therefore counts on from the last time it
 * asked, for a millisecond at most: at most some tens of ns behind, and never back on one thread.
 * Where the kernel's clock is not that counter, the kernel is asked each time.
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
	uint64_t span;	/* ticks for which the rest holds; 0: it does not */
	uint64_t ticks; /* when the kernel was asked */
	uint64_t raw;	/* what it said */
	uint64_t rate;	/* ns of 2^32 ticks */
	/* While the kernel is asked, for signal handlers that ask, too. */
	uint64_t least; /* all that has been said; 0: ticks, raw and rate say so */
	bool asking;
	bool nested; /* one has */
};

extern _Thread_local struct pasta_ticks pasta_ticks_here;
/* Ask the kernel. */
uint64_t pasta_clock_sample(void);

/* Any thread, signal handlers included. */
static inline uint64_t pasta_now(void)
{
	const struct pasta_ticks *c = &pasta_ticks_here;
	uint64_t ticks = c->ticks, passed, now;

	/* A signal handler may ask in between. */
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

/* Find out whether the counter can be used. Idempotent. */
void pasta_clock_begin(void);

#endif
