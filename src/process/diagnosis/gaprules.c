/* gaprules.c - the rules about idle time and copies. */
#include "process/diagnosis/answers.h"

/* What recording adds to a launch that the device waits for, in ns: docs/results/cupti.md. */
#define LAUNCH_COST 2000.0

/* A gap of launch-bound code is shorter than this number of usual intervals between launches. */
#define LAUNCH_PERIODS 2

enum { SMALL_COPIES_LEAST = 10, BIG_COPY = 1 << 20 };

/* Returns whether launches limit the device in these gaps: kernels end before the next one is
 * launched, and the thread either launches, or does nothing else for long. */
static bool gap_launch_bound(const struct pasta_usage *u, const struct pasta_wait *wait)
{
	bool brief = wait->ns < LAUNCH_PERIODS * u->launch_p50 * wait->gaps;

	return u->kernel_p50 < u->launch_p50 && (wait->cause == PASTA_CAUSE_DISPATCH || brief);
}

static uint32_t gap_rule(const struct answer_device *device, const struct pasta_wait *wait)
{
	switch (wait->cause) {
	case PASTA_CAUSE_SYNC:
		return PASTA_RULE_SYNC;
	case PASTA_CAUSE_DATA:
		return PASTA_RULE_DATA;
	case PASTA_CAUSE_ALLOCATOR:
		return PASTA_RULE_ALLOCATOR;
	case PASTA_CAUSE_LOADING:
		return PASTA_RULE_RECOMPILATION;
	case PASTA_CAUSE_DISPATCH:
	case PASTA_CAUSE_HOST:
		return gap_launch_bound(device->usage, wait) ? PASTA_RULE_LAUNCH_BOUND
							     : PASTA_RULE_HOST;
	default: /* the program cannot avoid gaps of other causes */
		return PASTA_RULE_NONE;
	}
}

/* Returns what recording added to the gaps of a row. Imported traces have another profiler's cost,
 * which is not known. */
static double gap_cost(const struct answer_device *device, const struct pasta_wait *wait)
{
	bool launched = wait->cause == PASTA_CAUSE_DISPATCH || wait->cause == PASTA_CAUSE_HOST;

	return launched && !*device->process->source ? LAUNCH_COST * (double)wait->gaps : 0;
}

/* The line is the best subject; without one, the region or the operator. */
static uint32_t gap_subject(uint32_t rule, const struct pasta_wait *wait)
{
	if (rule == PASTA_RULE_LAUNCH_BOUND)
		return 0;
	if (rule == PASTA_RULE_DATA)
		return wait->region ? wait->region : wait->line;
	if (wait->line)
		return wait->line;
	return wait->region ? wait->region : wait->op;
}

/* How to launch less depends on the operator. Otherwise the API call explains more. */
static uint32_t gap_detail(uint32_t rule, const struct pasta_wait *wait)
{
	bool operator= rule == PASTA_RULE_LAUNCH_BOUND ? wait->op != 0 : !wait->api;

	return operator? wait->op : wait->api;
}

void pasta_rules_of_gaps(const struct answer_device *device)
{
	const struct pasta_wait *wait;

	for (size_t at = 0; (wait = pasta_diagnosis_wait(device->d, &at));) {
		uint32_t rule = gap_rule(device, wait);

		if (wait->proc != device->usage->proc || wait->device != device->usage->device ||
		    rule == PASTA_RULE_NONE)
			continue;
		pasta_answers_draft(device,
				    (struct answer_draft){
					    .rule = rule,
					    .subject = gap_subject(rule, wait),
					    .detail = gap_detail(rule, wait),
					    .saving = (double)wait->ns - gap_cost(device, wait),
					    .count = wait->gaps,
					    .steps = wait->steps,
					    .most = (double)wait->max,
				    });
	}
}

/* Returns the ns that copies of pageable memory take longer than copies of pinned memory would,
 * while the device does nothing else. Returns 0 if the bandwidth is not known. */
static double copy_excess(const struct answer_device *device, const struct pasta_transfer *t)
{
	bool to_device = t->direction == PASTA_COPY_H2D;
	double bandwidth = to_device ? device->peaks.h2d : device->peaks.d2h;
	double least = bandwidth > 0 ? 1e9 * (double)t->bytes / bandwidth : 0;

	if (!(least > 0) || !t->ns || (double)t->ns <= least)
		return 0;
	return ((double)t->ns - least) * ((double)t->exposed / (double)t->ns);
}

static bool copy_is_pageable(const struct pasta_transfer *t)
{
	return t->source == PASTA_MEMORY_PAGEABLE || t->target == PASTA_MEMORY_PAGEABLE;
}

void pasta_rules_of_copies(const struct answer_device *device)
{
	uint64_t steps = device->window && device->window->steps ? device->window->steps : 1;
	const struct pasta_transfer *t;

	for (size_t at = 0; (t = pasta_diagnosis_transfer(device->d, &at));) {
		struct answer_draft draft = {
			.subject = t->line ? t->line : t->op,
			.detail = t->api ? t->api : t->op,
			.steps = t->steps,
			.least = (double)t->bytes,
		};

		if (t->proc != device->usage->proc || t->device != device->usage->device)
			continue;
		if (t->small > SMALL_COPIES_LEAST * steps) {
			draft.rule = PASTA_RULE_SMALL_COPIES;
			draft.saving = (double)t->small_exposed;
			draft.count = t->small;
			pasta_answers_draft(device, draft);
		} else if (copy_is_pageable(t) && t->copies && t->bytes / t->copies > BIG_COPY) {
			draft.rule = PASTA_RULE_PAGEABLE;
			draft.saving = copy_excess(device, t);
			draft.count = t->copies;
			draft.most = (double)t->ns;
			pasta_answers_draft(device, draft);
		}
	}
}
