/*
 * clock.h - CLOCK_MONOTONIC_RAW, from the processor's counter between two readings of it.
 *
 * An operator takes four times, and reading the clock is the dearest part of each. Where the kernel
 * trusts the counter, a thread reads the clock once in a while and counts on from there. It lags by
 * what lies between the two readings, some 10 ns, so that who reads the clock itself comes later.
 */
#ifndef PASTA_HANDLERS_TORCH_CLOCK_H
#define PASTA_HANDLERS_TORCH_CLOCK_H

#include "collect/agent.h"

struct torch_clock {
	uint64_t raw, count; /* at the last reading */
	uint64_t last;	     /* time that was given */
};

#ifdef __x86_64__
#include <x86intrin.h>

#include <stdatomic.h>

extern _Atomic uint64_t torch_clock_rate;  /* ns a count, times 2^32 */
extern _Atomic uint64_t torch_clock_reach; /* counts that may be added; 0: the rate is not known */

/* Reads the clock; learns the rate. */
uint64_t torch_clock_read(struct torch_clock *c);
void torch_clock_open(void);

static inline uint64_t torch_now(struct torch_clock *c)
{
	uint64_t since = __rdtsc() - c->count, t;

	if (__builtin_expect(
		    since >= atomic_load_explicit(&torch_clock_reach, memory_order_acquire), 0))
		return torch_clock_read(c);
	t = c->raw + (since * atomic_load_explicit(&torch_clock_rate, memory_order_relaxed) >> 32);
	if (t > c->last)
		c->last = t;
	return c->last;
}
#else
static inline void torch_clock_open(void)
{
}

static inline uint64_t torch_clock_read(struct torch_clock *c)
{
	(void)c;
	return pasta_now();
}

static inline uint64_t torch_now(struct torch_clock *c)
{
	return torch_clock_read(c);
}
#endif
#endif
