/* steps.c - the steps of a process. */
#include <stdlib.h>

#include "process/diagnosis/timing.h"

uint64_t timing_step_at(const struct timing_proc *p, uint64_t time)
{
	uint64_t low = 0, high = p->step_count;

	if (!high || p->steps[high - 1].begin <= time)
		return high;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (p->steps[middle].begin <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Replaces the sums of the process by those of the later window. */
static void steps_replace(struct timing_proc *p)
{
	struct pasta_hist *old = p->periods[0];

	p->periods[0] = p->periods[1];
	p->launches[0] = p->launches[1];
	p->periods[1] = NULL;
	p->launches[1] = 0;
	pasta_hist_free(old);
}

static void steps_confirm(struct timing_proc *p, size_t count)
{
	p->confirmed = count > p->confirmed ? count : p->confirmed;
	if (p->confirmed >= 1 && !p->replaced[0]) {
		p->replaced[0] = true;
		steps_replace(p);
	}
	if (p->confirmed >= TIMING_STEPS_MANY && !p->replaced[1]) {
		p->replaced[1] = true;
		steps_replace(p);
	}
}

static void steps_begin(struct timing_proc *p, uint64_t time, uint64_t iteration)
{
	size_t count = p->step_count;
	struct timing_step *steps;

	if (count == TIMING_STEPS_MAX)
		return;
	if (count == p->step_room) {
		size_t room = count ? 2 * count : 16;

		steps = timing_need(p->timing, reallocarray(p->steps, room, sizeof(*steps)));
		if (!steps)
			return;
		p->steps = steps;
		p->step_room = room;
	}
	/* A step must not begin in time that is already divided. */
	if (count && p->steps[count - 1].begin > time)
		time = p->steps[count - 1].begin;
	if (p->any_work && p->last_work > time)
		time = p->last_work;
	steps_confirm(p, count);
	p->steps[p->step_count++] = (struct timing_step){.begin = time, .iteration = iteration};
	if (count == 0 || count == TIMING_STEPS_SKIPPED) {
		pasta_hist_free(p->periods[1]);
		p->periods[1] = timing_need(p->timing, pasta_hist_new());
		p->launches[1] = 0;
	}
}

/* Starts the steps again: those of the optimizer do not count if there are iterations. */
static void steps_restart(struct timing_proc *p)
{
	p->epoch++;
	p->step_count = 0;
	p->confirmed = 0;
	p->rows = 0;
	p->replaced[0] = p->replaced[1] = false;
}

bool timing_steps_iteration(struct timing_proc *p, const struct pasta_event *ev)
{
	bool restart = p->source == PASTA_STEPS_OPTIMIZER && p->step_count;

	if (p->source != PASTA_STEPS_ITERATIONS) {
		if (restart)
			steps_restart(p);
		p->source = PASTA_STEPS_ITERATIONS;
		p->loop_name = ev->iteration.name;
		p->loop_tid = ev->tid;
	}
	if (ev->iteration.name != p->loop_name || ev->tid != p->loop_tid)
		return false;
	steps_begin(p, ev->time, ev->iteration.index);
	/* The earlier sums are incomplete, so the window must not go back to the time before. */
	if (restart)
		steps_confirm(p, 1);
	return restart;
}

/* The call of an optimizer's step function begins or ends. A step ends with the call. */
static void steps_optimizer(struct timing_proc *p, struct timing_thread *th, uint64_t time,
			    uint32_t name, bool begins, bool supplied)
{
	bool outermost = begins ? !th->optimizers++ : th->optimizers && !--th->optimizers;

	if (!outermost || p->source == PASTA_STEPS_ITERATIONS)
		return;
	if (p->source == PASTA_STEPS_NONE) {
		p->source = PASTA_STEPS_OPTIMIZER;
		p->loop_name = name;
		p->loop_tid = th->tid;
	}
	if (name != p->loop_name || th->tid != p->loop_tid)
		return;
	if (begins)
		steps_confirm(p, p->step_count);
	else if (!supplied)
		steps_begin(p, time, PASTA_NO_ITERATION);
}

void timing_steps_region(struct timing_proc *p, struct timing_thread *th,
			 const struct pasta_event *ev, const struct pasta_where *where)
{
	const uint32_t flags = PASTA_REGION_SUPPLIED_OPEN | PASTA_REGION_SUPPLIED_LOSS;
	bool region = ev->kind == PASTA_KIND_REGION;
	bool begins = region ? ev->sub == PASTA_REGION_BEGIN : ev->kind == PASTA_KIND_OP_BEGIN;
	bool supplied = region ? ev->region.flags & flags : ev->sub == PASTA_OP_END_SUPPLIED;
	uint32_t name = where->scope ? where->scope->name : 0;

	if (timing_name(p->timing, name) == TIMING_NAME_OPTIMIZER)
		steps_optimizer(p, th, ev->time, name, begins, !begins && supplied);
}

void timing_steps_active(struct timing_proc *p, bool launch)
{
	if (p->source == PASTA_STEPS_ITERATIONS && (launch || !p->any_launch))
		steps_confirm(p, p->step_count);
	if (launch && p->step_count)
		p->steps[p->step_count - 1].launches++;
}
