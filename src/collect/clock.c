/* clock.c - computes CLOCK_MONOTONIC_RAW from the processor's counter, if the kernel bases this
 * clock on that counter. */
#include "collect/clock.h"

#ifdef __x86_64__

#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum {
	TRIES = 100,
	/* two readings count as simultaneous if at most this many ticks lie between them */
	TOGETHER = 400,
	SPAN = 1 << 21, /* number of ticks in about a millisecond */
	/* minimum number of ticks from which to compute the rate; that number of ticks takes at
	 * least 10 ms */
	BASELINE = 1 << 25,
	WRONG_NS = 1000, /* a larger difference in ns means that the counter was reset */
	RATE_SHIFT = 32,
};

_Thread_local struct pasta_ticks pasta_ticks_here;

static atomic_bool usable;
/* The first reading of the clock, from which the rate is computed. Both variables are written once,
 * first_raw before first_ticks. */
static _Atomic uint64_t first_ticks, first_raw;

static bool is_kernels_clock(void)
{
	int saved = errno, fd;
	char name[8] = "";
	ssize_t n;

	fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		  O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, name, sizeof(name) - 1);
	if (fd >= 0)
		close(fd);
	errno = saved;
	return n == 4 && !strcmp(name, "tsc\n");
}

/* Returns whether the counter ticks at a constant rate, independent of the processor's
 * frequency. */
static bool is_invariant(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && d >> 8 & 1;
}

void pasta_clock_begin(void)
{
	uint64_t none = 0, ticks, raw, after;

	if (atomic_load(&first_raw) || !is_invariant() || !is_kernels_clock())
		return;
	for (int i = 0; i < TRIES; i++) {
		ticks = __rdtsc();
		raw = pasta_now_exact();
		after = __rdtsc();
		if (after - ticks > TOGETHER)
			continue;
		if (atomic_compare_exchange_strong(&first_raw, &none, raw)) {
			atomic_store(&first_ticks, ticks);
			atomic_store(&usable, true);
		}
		return;
	}
}

/* Returns the number of ns in 2^32 ticks, or 0 if the rate is not known yet. */
static uint64_t rate_at(uint64_t ticks, uint64_t raw)
{
	uint64_t passed = ticks - atomic_load_explicit(&first_ticks, memory_order_relaxed);
	uint64_t ns = raw - atomic_load_explicit(&first_raw, memory_order_relaxed);

	if (passed < BASELINE || passed >> 62 || ns >> 62)
		return 0;
	return (uint64_t)(((unsigned __int128)ns << RATE_SHIFT) / passed);
}

/* Returns the latest time that the clock may have returned on this thread so far. A signal handler
 * does not change the thread's values while the thread samples. */
static uint64_t clock_latest(const struct pasta_ticks *c, uint64_t ticks)
{
	uint64_t passed = ticks > c->ticks ? ticks - c->ticks : 0;

	return c->raw + ((passed < SPAN ? passed : SPAN) * c->rate >> RATE_SHIFT);
}

static inline void clock_fence(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

static void clock_set(struct pasta_ticks *c, uint64_t ticks, uint64_t raw, uint64_t rate)
{
	c->least = raw;
	clock_fence();
	c->ticks = ticks;
	c->raw = raw;
	c->rate = rate;
	clock_fence();
	c->least = 0;
	clock_fence();
	c->span = rate ? SPAN : 0;
	clock_fence();
	/* A signal handler has read the kernel's clock in the meantime, so the values that this
	 * function has read are a few ns older than the signal handler's reading. */
	if (c->nested)
		c->span = 0;
}

/* Reads the clock in a signal handler that interrupts a reading of the clock, and leaves the
 * thread's values unchanged. */
static uint64_t clock_sample_nested(struct pasta_ticks *c)
{
	uint64_t least = c->least ? c->least : clock_latest(c, __rdtsc()), raw = pasta_now_exact();

	c->nested = true;
	return raw > least ? raw : least;
}

static uint64_t clock_sample_alone(struct pasta_ticks *c)
{
	uint64_t before, raw, after, least, now;

	before = __rdtsc();
	raw = pasta_now_exact();
	after = __rdtsc();
	least = clock_latest(c, before);
	now = raw > least ? raw : least;
	/* The counter was reset, for example when the machine was suspended or migrated, and must
	 * not be used any more. */
	if (least > raw + WRONG_NS)
		atomic_store(&usable, false);
	clock_fence();
	/* The thread stores the counter's value after the reading, not before it. Later results are
	 * therefore never ahead of the clock, so a launch precedes its work. */
	if (atomic_load_explicit(&usable, memory_order_relaxed) && after - before <= TOGETHER &&
	    !c->nested)
		clock_set(c, after, now, rate_at(before, raw));
	return now;
}

/*
 * Reads the kernel's clock. The kernel's time usually is a few ns later than the extrapolated time.
 * The thread therefore continues from the later of these two times, or samples again at the next
 * call. If a signal handler jumps out of this function, the thread samples at every call from then
 * on.
 */
__attribute__((noinline)) uint64_t pasta_clock_sample(void)
{
	struct pasta_ticks *c = &pasta_ticks_here;
	uint64_t now;

	if (c->sampling)
		return clock_sample_nested(c);
	c->sampling = true;
	clock_fence();
	c->span = 0;
	c->nested = false;
	clock_fence();
	now = clock_sample_alone(c);
	clock_fence();
	c->sampling = false;
	return now;
}

#else

void pasta_clock_begin(void)
{
}

#endif
