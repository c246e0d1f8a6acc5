/* annotate.c - the handler for programs that include annotate.h. The handler records regions,
 * iterations, counters and names of threads. */
#include <stdio.h>

/* This macro prevents annotate.h from defining its constructor in this file, because the agent must
 * not attach to itself. */
#define PASTA_ANNOTATE_LATE
#include <pasta/annotate.h>

#include "collect/agent.h"
#include "handlers/handler.h"

static bool annotate_records(enum pasta_kind kind)
{
	return pasta_agent_active() && pasta_agent_records(kind);
}

static void annotate_region_begin(const char *name)
{
	bool recorded = pasta_region_enabled();

	pasta_region_push(PASTA_OWNER_ANNOTATE, recorded, recorded ? pasta_intern_str(name) : 0, 0);
}

static void annotate_region_end(void)
{
	pasta_region_pop(PASTA_OWNER_ANNOTATE);
}

static void annotate_mark(const char *name)
{
	if (pasta_region_enabled())
		pasta_region_mark(pasta_intern_str(name), 0);
}

static void annotate_iteration(uint64_t index)
{
	struct pasta_event ev;

	if (!annotate_records(PASTA_KIND_ITERATION))
		return;
	pasta_event_init(&ev, PASTA_KIND_ITERATION, 0, PASTA_EVENT_SIZE(iteration));
	ev.time = pasta_now();
	ev.iteration.index = index;
	pasta_emit(&ev);
}

static void annotate_counter(const char *name, double value)
{
	struct pasta_event ev;

	if (!annotate_records(PASTA_KIND_COUNTER))
		return;
	pasta_event_init(&ev, PASTA_KIND_COUNTER, 0, PASTA_EVENT_SIZE(counter));
	ev.time = pasta_now();
	ev.counter.value = value;
	ev.counter.name = pasta_intern_str(name);
	pasta_emit(&ev);
}

/* The names of threads are recorded even while recording is off, because a named thread may emit
 * records later. */
static void annotate_thread_name(const char *name)
{
	if (pasta_agent_records(PASTA_KIND_THREAD))
		pasta_emit_name(0, pasta_intern_str(name));
}

static void annotate_start(void)
{
	pasta_agent_set_active(true);
}

static void annotate_stop(void)
{
	pasta_agent_set_active(false);
}

static void annotate_missed(uint64_t calls)
{
	if (pasta_region_enabled())
		pasta_emit_loss(PASTA_LOSS_CLOSED, calls);
}

static const struct pasta_annotate_ops ops = {
	.size = sizeof(ops),
	.start = annotate_start,
	.stop = annotate_stop,
	.region_begin = annotate_region_begin,
	.region_end = annotate_region_end,
	.mark = annotate_mark,
	.iteration = annotate_iteration,
	.counter = annotate_counter,
	.thread_name = annotate_thread_name,
	.missed = annotate_missed,
};

/* Returns the functions that annotate.h calls, or NULL if the process does not belong to a run.
 * annotate.h finds this function by its name. */
__attribute__((visibility("default"))) const struct pasta_annotate_ops *pasta_annotate_attach(void);

const struct pasta_annotate_ops *pasta_annotate_attach(void)
{
	return pasta_agent_attach() ? &ops : NULL;
}

/* Returns whether activity is recorded. The function is exported for languages that cannot include
 * annotate.h. */
__attribute__((visibility("default"))) int pasta_annotate_active(void);

int pasta_annotate_active(void)
{
	return pasta_agent_attach() && pasta_agent_active();
}

static int annotate_probe(char *why, size_t size)
{
	snprintf(why, size, "records programs that include <pasta/annotate.h>");
	return 0;
}

const struct pasta_handler pasta_annotate_handler = {
	.name = "annotate",
	.summary = "regions, iterations and counters that the program defines",
	.probe = annotate_probe,
};
