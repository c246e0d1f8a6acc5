/* clock.c - CLOCK_MONOTONIC_RAW by the processor's counter, where the kernel does so, too. */
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
	TOGETHER = 400,	    /* ticks: the kernel's clock and the counter were read at once */
	SPAN = 1 << 21,	    /* about a millisecond */
	BASELINE = 1 << 25, /* ticks that the rate is made of: 10 ms at least */
	WRONG_NS = 1000,    /* so far off is no error of reading */
	RATE_SHIFT = 32,
};

_Thread_local struct pasta_ticks pasta_ticks_here;

static atomic_bool usable;
/* Where the rate is counted from: the first reading. first_raw is written before it, once. */
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

/* It ticks at one rate, whatever the processor does. */
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

/* ns of 2^32 ticks; 0: not known yet. */
static uint64_t rate_at(uint64_t ticks, uint64_t raw)
{
	uint64_t passed = ticks - atomic_load_explicit(&first_ticks, memory_order_relaxed);
	uint64_t ns = raw - atomic_load_explicit(&first_raw, memory_order_relaxed);

	if (passed < BASELINE || passed >> 62 || ns >> 62)
		return 0;
	return (uint64_t)(((unsigned __int128)ns << RATE_SHIFT) / passed);
}

/* At least what has been said on this thread. Handlers change nothing while it asks. */
static uint64_t said(const struct pasta_ticks *c, uint64_t ticks)
{
	uint64_t passed = ticks > c->ticks ? ticks - c->ticks : 0;

	return c->raw + ((passed < SPAN ? passed : SPAN) * c->rate >> RATE_SHIFT);
}

static inline void fence(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

static void set(struct pasta_ticks *c, uint64_t ticks, uint64_t raw, uint64_t rate)
{
	c->least = raw;
	fence();
	c->ticks = ticks;
	c->raw = raw;
	c->rate = rate;
	fence();
	c->least = 0;
	fence();
	c->span = rate ? SPAN : 0;
	fence();
	/* A handler was told the kernel's time since, and this is some ns behind it. */
	if (c->nested)
		c->span = 0;
}

/* A signal handler that came while this thread asks: it is told, and leaves all as it is. */
static uint64_t ask_nested(struct pasta_ticks *c)
{
	uint64_t least = c->least ? c->least : said(c, __rdtsc()), raw = pasta_now_exact();

	c->nested = true;
	return raw > least ? raw : least;
}

static uint64_t ask_alone(struct pasta_ticks *c)
{
	uint64_t before, raw, after, least, now;

	before = __rdtsc();
	raw = pasta_now_exact();
	after = __rdtsc();
	least = said(c, before);
	now = raw > least ? raw : least;
	/* The counter was set anew, as when a machine sleeps or moves: no more of it. */
	if (least > raw + WRONG_NS)
		atomic_store(&usable, false);
	fence();
	/* after: never ahead, so that a launch is before its work */
	if (atomic_load_explicit(&usable, memory_order_relaxed) && after - before <= TOGETHER &&
	    !c->nested)
		set(c, after, now, rate_at(before, raw));
	return now;
}

/*
 * What the kernel says is some ns later than what is counted: from here on the count is at least
 * that, or the next one asks, too. A handler that jumps out of here leaves its thread asking
 * always.
 */
__attribute__((noinline)) uint64_t pasta_clock_sample(void)
{
	struct pasta_ticks *c = &pasta_ticks_here;
	uint64_t now;

	if (c->asking)
		return ask_nested(c);
	c->asking = true;
	fence();
	c->span = 0;
	c->nested = false;
	fence();
	now = ask_alone(c);
	fence();
	c->asking = false;
	return now;
}

#else

void pasta_clock_begin(void)
{
}

#endif
