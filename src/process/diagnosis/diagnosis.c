/* diagnosis.c - creates, fills, merges and frees the diagnosis that all tools of a toolset share.
 */
#include "process/diagnosis/diagnosis.h"

#include <errno.h>
#include <stdlib.h>

#include "process/diagnosis/anomalies.h"
#include "process/diagnosis/lateness.h"
#include "process/sdk/owned.h"

struct pasta_diagnosis *pasta_diagnosis_new(void)
{
	struct pasta_diagnosis *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->timing = pasta_timing_new();
	d->work = pasta_workset_new();
	d->lateness = pasta_lateness_new();
	d->step = PASTA_NO_STEP;
	if (d->timing && d->work && d->lateness)
		return d;
	pasta_diagnosis_free(d);
	return NULL;
}

void pasta_diagnosis_free(struct pasta_diagnosis *d)
{
	if (!d)
		return;
	pasta_answers_free(d->answers);
	pasta_anomalies_free(d->anomalies);
	pasta_lateness_free(d->lateness);
	pasta_workset_free(d->work);
	pasta_timing_free(d->timing);
	free(d);
}

void pasta_diagnosis_event(struct pasta_diagnosis *d, const struct pasta_event *ev,
			   const struct pasta_where *where)
{
	bool restart = false;
	uint64_t step;

	if (ev->kind >= PASTA_KIND_MAX || !(PASTA_DIAGNOSIS_KINDS >> ev->kind & 1))
		return;
	step = pasta_timing_event(d->timing, ev, where, &restart);
	if (restart)
		pasta_workset_restart(d->work, ev->proc);
	pasta_workset_event(d->work, ev, where, step);
	if (PASTA_LATENESS_KINDS >> ev->kind & 1)
		pasta_lateness_event(d->lateness, ev);
	d->step = step;
}

int pasta_diagnosis_error(const struct pasta_diagnosis *d)
{
	int error = d->error ? d->error : pasta_timing_error(d->timing);

	error = error ? error : pasta_lateness_error(d->lateness);
	return error ? error : pasta_workset_error(d->work);
}

void pasta_diagnosis_fail(struct pasta_diagnosis *d)
{
	d->error = -ENOMEM;
}

int pasta_diagnosis_merge(struct pasta_diagnosis *into, struct pasta_diagnosis *from)
{
	int error = pasta_diagnosis_error(from);

	if (!error)
		error = pasta_timing_merge(into->timing, from->timing);
	if (!error)
		error = pasta_workset_merge(into->work, from->work);
	if (!error)
		error = pasta_lateness_merge(into->lateness, from->lateness);
	if (error)
		into->error = error;
	return pasta_diagnosis_error(into);
}

static uint64_t diagnosis_first_step(void *timing, uint32_t proc)
{
	return pasta_timing_first_step(timing, proc);
}

int pasta_diagnosis_finish(struct pasta_diagnosis *d)
{
	int error = pasta_diagnosis_error(d);

	if (error || d->finished)
		return error;
	d->finished = true;
	error = pasta_timing_finish(d->timing);
	if (!error)
		error = pasta_workset_finish(d->work, diagnosis_first_step, d->timing);
	if (!error)
		error = pasta_lateness_finish(d->lateness, d);
	if (error)
		d->error = error;
	return pasta_diagnosis_error(d);
}

int pasta_diagnosis_check(const struct pasta_tool *tool, struct pasta_error *err)
{
	uint64_t needs = PASTA_NEED_SCOPES | PASTA_NEED_OPS;

	if (tool->diagnosis->size != sizeof(*tool->diagnosis))
		return pasta_fail(err, -EINVAL,
				  "the tool must declare its diagnosis with PASTA_DIAGNOSIS");
	if (!pasta_owned_fits(tool, tool->diagnosis->state_offset))
		return pasta_fail(err, -EINVAL,
				  "the pointer to the diagnosis is outside of the tool's state");
	if ((tool->needs & needs) != needs)
		return pasta_fail(err, -EINVAL,
				  "a tool with a diagnosis must have the needs PASTA_NEED_SCOPES "
				  "and PASTA_NEED_OPS");
	return 0;
}

void pasta_diagnosis_share(struct pasta_diagnosis *d, const struct pasta_tool *tool, void *state)
{
	if (tool->diagnosis)
		memcpy((char *)state + tool->diagnosis->state_offset, &d, sizeof(d));
}

const struct pasta_late *pasta_diagnosis_late(struct pasta_diagnosis *d, size_t *at)
{
	return pasta_lateness_next(d->lateness, at);
}

const struct pasta_anomaly *pasta_diagnosis_anomaly(struct pasta_diagnosis *d, size_t *at)
{
	if (!d->anomalies && !pasta_diagnosis_error(d))
		d->anomalies = pasta_anomalies_new(d);
	if (!d->anomalies)
		pasta_diagnosis_fail(d);
	return d->anomalies ? pasta_anomalies_next(d->anomalies, at) : NULL;
}

uint64_t pasta_diagnosis_current(const struct pasta_diagnosis *d)
{
	return d->step;
}

/* -- Names -- */

const char *pasta_part_name(uint32_t part)
{
	static const char *const names[] = {"compute", "communication", "copy", "idle"};

	return part < PASTA_PART_COUNT ? names[part] : NULL;
}

const char *pasta_cause_name(uint32_t cause)
{
	static const char *const names[] = {"sync",	  "data",     "allocator",
					    "loading",	  "dispatch", "host",
					    "dependency", "kernels",  "unknown"};

	return cause < PASTA_CAUSE_COUNT ? names[cause] : NULL;
}
