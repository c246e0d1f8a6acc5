/* clock.c - the rate of the processor's counter, learnt from the system's clock. */
#include "handlers/torch/clock.h"

#ifdef __x86_64__
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define LEARN_NS 20000000u /* the longer, the more exact: a reading is off by some 20 ns */
#define REACH_NS 1000000u

_Atomic uint64_t torch_clock_rate, torch_clock_reach;
static uint64_t first_raw, first_count;
static bool is_trusted;

/* Counters of several processors may differ: the kernel has compared them. */
static bool trusted(void)
{
	char name[8] = "";
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		      O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (read(fd, name, sizeof(name) - 1) < 0)
		name[0] = '\0';
	close(fd);
	return !strcmp(name, "tsc\n");
}

void torch_clock_open(void)
{
	is_trusted = trusted();
	first_raw = pasta_now();
	first_count = __rdtsc();
}

static void learn(uint64_t raw, uint64_t count)
{
	uint64_t ns = raw - first_raw, counts = count - first_count;

	if (!is_trusted || ns < LEARN_NS || ns >= UINT64_C(1) << 32 || !counts)
		return;
	atomic_store_explicit(&torch_clock_rate, (ns << 32) / counts, memory_order_relaxed);
	atomic_store_explicit(&torch_clock_reach, REACH_NS * counts / ns, memory_order_release);
}

uint64_t torch_clock_read(struct torch_clock *c)
{
	c->raw = pasta_now();
	c->count = __rdtsc();
	if (!atomic_load_explicit(&torch_clock_reach, memory_order_relaxed))
		learn(c->raw, c->count);
	if (c->raw > c->last)
		c->last = c->raw;
	return c->last;
}
#endif
