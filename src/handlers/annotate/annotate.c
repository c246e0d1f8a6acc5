/* annotate.c - the handler behind annotate.h: regions, iterations, counters, names. */
#include <stdio.h>

#define PASTA_ANNOTATE_LATE /* the agent itself attaches to nothing */
#include <pasta/annotate.h>

#include "collect/agent.h"
#include "handlers/handler.h"

static bool records(enum pasta_kind kind)
{
	return pasta_agent_active() && pasta_agent_records(kind);
}

static void region_begin(const char *name)
{
	bool wanted = pasta_region_enabled();

	pasta_region_push(PASTA_OWNER_ANNOTATE, wanted, wanted ? pasta_intern_str(name) : 0, 0);
}

static void region_end(void)
{
	pasta_region_pop(PASTA_OWNER_ANNOTATE);
}

static void mark(const char *name)
{
	if (pasta_region_enabled())
		pasta_region_mark(pasta_intern_str(name), 0);
}

static void iteration(uint64_t index)
{
	struct pasta_event ev;

	if (!records(PASTA_KIND_ITERATION))
		return;
	pasta_event_init(&ev, PASTA_KIND_ITERATION, 0, PASTA_EVENT_SIZE(iteration));
	ev.time = pasta_now();
	ev.iteration.index = index;
	pasta_emit(&ev);
}

static void counter(const char *name, double value)
{
	struct pasta_event ev;

	if (!records(PASTA_KIND_COUNTER))
		return;
	pasta_event_init(&ev, PASTA_KIND_COUNTER, 0, PASTA_EVENT_SIZE(counter));
	ev.time = pasta_now();
	ev.counter.value = value;
	ev.counter.name = pasta_intern_str(name);
	pasta_emit(&ev);
}

/* State: recorded whether or not activity is. */
static void thread_name(const char *name)
{
	if (pasta_agent_records(PASTA_KIND_THREAD))
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

static void missed(uint64_t calls)
{
	if (pasta_region_enabled())
		pasta_emit_loss(PASTA_LOSS_CLOSED, calls);
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
	.missed = missed,
};

/* What annotate.h looks up. NULL: there is no run to record into. */
__attribute__((visibility("default"))) const struct pasta_annotate_ops *pasta_annotate_attach(void);

const struct pasta_annotate_ops *pasta_annotate_attach(void)
{
	return pasta_agent_attach() ? &ops : NULL;
}

/* Whether activity is recorded now; for languages that cannot include the header. */
__attribute__((visibility("default"))) int pasta_annotate_active(void);

int pasta_annotate_active(void)
{
	return pasta_agent_attach() && pasta_agent_active();
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
