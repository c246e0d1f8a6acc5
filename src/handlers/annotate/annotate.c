/* annotate.c - the handler behind annotate.h: regions, iterations, counters, names. */
#include <stdio.h>
#include <string.h>

#include <pasta/annotate.h>

#include "collect/agent.h"
#include "handlers/handler.h"

enum { DEPTH = 1024 };

/* Which of the thread's open regions were recorded, in the process of gen: only those are ended,
 * and counted in the events' depth, by which tools find their place again after a loss. */
static _Thread_local struct {
	uint32_t depth, gen, recorded_depth;
	uint64_t recorded[DEPTH / 64];
} open_regions;

/* A forked child has begun anew: its parent's regions are not its own. */
static void settle(void)
{
	if (open_regions.gen == pasta_agent_gen())
		return;
	memset(open_regions.recorded, 0, sizeof(open_regions.recorded));
	open_regions.recorded_depth = 0;
	open_regions.gen = pasta_agent_gen();
}

static void emit_region(unsigned int sub, const char *name)
{
	struct pasta_event ev;

	pasta_event_init(&ev, PASTA_REGION, sub, PASTA_EVENT_SIZE(region));
	ev.region.name = pasta_intern_str(name);
	ev.region.depth = open_regions.recorded_depth + 1;
	ev.time = pasta_now();
	pasta_emit(&ev);
	open_regions.gen = pasta_agent_gen(); /* the first event makes it */
}

static bool records(enum pasta_kind kind)
{
	return pasta_agent_active() && pasta_agent_wants(kind);
}

static void region_begin(const char *name)
{
	uint32_t depth = open_regions.depth++;
	uint64_t bit = UINT64_C(1) << (depth % 64), *word;
	bool recorded = records(PASTA_REGION);

	if (depth >= DEPTH) {
		if (recorded)
			pasta_emit_lost(PASTA_LOSS_DEPTH, 1);
		return;
	}
	settle();
	word = &open_regions.recorded[depth / 64];
	*word &= ~bit;
	if (!recorded)
		return;
	emit_region(PASTA_REGION_BEGIN, name);
	open_regions.recorded_depth++;
	*word |= bit;
}

static void region_end(void)
{
	uint64_t now = pasta_now();
	uint32_t depth = open_regions.depth;
	struct pasta_event ev;

	if (!depth)
		return;
	open_regions.depth = --depth;
	if (depth >= DEPTH) {
		if (records(PASTA_REGION))
			pasta_emit_lost(PASTA_LOSS_DEPTH, 1);
		return;
	}
	settle();
	if (!(open_regions.recorded[depth / 64] >> (depth % 64) & 1))
		return;
	pasta_event_init(&ev, PASTA_REGION, PASTA_REGION_END, PASTA_EVENT_SIZE(region));
	ev.region.depth = open_regions.recorded_depth--;
	ev.time = now;
	pasta_emit(&ev);
}

static void mark(const char *name)
{
	settle();
	if (records(PASTA_REGION))
		emit_region(PASTA_REGION_MARK, name);
}

static void iteration(uint64_t index)
{
	struct pasta_event ev;

	if (!records(PASTA_ITERATION))
		return;
	pasta_event_init(&ev, PASTA_ITERATION, 0, PASTA_EVENT_SIZE(iteration));
	ev.time = pasta_now();
	ev.iteration.index = index;
	pasta_emit(&ev);
}

static void counter(const char *name, double value)
{
	struct pasta_event ev;

	if (!records(PASTA_COUNTER))
		return;
	pasta_event_init(&ev, PASTA_COUNTER, 0, PASTA_EVENT_SIZE(counter));
	ev.time = pasta_now();
	ev.counter.value = value;
	ev.counter.name = pasta_intern_str(name);
	pasta_emit(&ev);
}

/* State: recorded whether or not activity is. */
static void thread_name(const char *name)
{
	if (pasta_agent_wants(PASTA_THREAD))
		pasta_emit_name(0, pasta_intern_str(name));
}

static void start(void)
{
	pasta_agent_set_active(true);
}

static void stop(void)
{
	pasta_agent_set_active(false);
}

static const struct pasta_annotate_ops ops = {
	.size = sizeof(ops),
	.start = start,
	.stop = stop,
	.region_begin = region_begin,
	.region_end = region_end,
	.mark = mark,
	.iteration = iteration,
	.counter = counter,
	.thread_name = thread_name,
};

/* What annotate.h looks up. NULL: there is no run to record into. */
__attribute__((visibility("default"))) const struct pasta_annotate_ops *pasta_annotate_attach(void);

const struct pasta_annotate_ops *pasta_annotate_attach(void)
{
	return pasta_agent_attach() ? &ops : NULL;
}

static int probe(char *why, size_t size)
{
	snprintf(why, size, "programs that include <pasta/annotate.h> are recorded");
	return 0;
}

const struct pasta_handler pasta_annotate_handler = {
	.name = "annotate",
	.summary = "regions, iterations and counters that the program names itself",
	.probe = probe,
};
