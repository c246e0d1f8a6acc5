/* answers.c - collects, filters and ranks the findings of all rules. */
#include "process/diagnosis/answers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/diagnosis/diagnosis.h"

/* A finding must save at least this percentage of the window. */
#define SHARE_LEAST 1.0
/* If a run has at least STEPS_TESTED steps, a finding must occur in at least STEPS_LEAST of them.
 */
enum { STEPS_TESTED = 5, STEPS_LEAST = 3 };

struct pasta_answers {
	struct pasta_diagnosis *d;
	struct answer_draft *drafts;
	size_t count, room;
	struct pasta_answer *items;
	bool failed;
};

struct pasta_diagnosis *pasta_answers_diagnosis(const struct pasta_answers *as)
{
	return as->d;
}

const struct pasta_window *pasta_answers_window(struct pasta_diagnosis *d, uint32_t proc)
{
	const struct pasta_window *w;
	size_t at = 0;

	while ((w = pasta_diagnosis_window(d, &at)) && w->proc != proc)
		;
	return w;
}

const struct pasta_usage *pasta_answers_usage(struct pasta_diagnosis *d, uint32_t proc,
					      uint32_t device)
{
	const struct pasta_usage *u;
	size_t at = 0;

	while ((u = pasta_diagnosis_usage(d, &at)) && (u->proc != proc || u->device != device))
		;
	return u;
}

void pasta_answers_draft(const struct answer_device *device, struct answer_draft draft)
{
	struct pasta_answers *as = device->answers;

	if (!(draft.saving > 0) || !device->usage->time || as->failed)
		return;
	if (as->count == as->room) {
		size_t room = as->room ? 2 * as->room : 64;
		struct answer_draft *more = reallocarray(as->drafts, room, sizeof(*more));

		as->failed = !more;
		if (!more)
			return;
		as->drafts = more;
		as->room = room;
	}
	draft.proc = device->usage->proc;
	draft.device = device->usage->device;
	draft.devices = 1;
	draft.share = 100 * draft.saving / (double)device->usage->time;
	as->drafts[as->count++] = draft;
}

double pasta_answers_of_kernels(const struct answer_device *device)
{
	const struct pasta_answers *as = device->answers;
	double ns = 0;

	for (size_t i = 0; i < as->count; i++) {
		const struct answer_draft *draft = &as->drafts[i];
		bool kernels = draft->rule == PASTA_RULE_TENSOR_CORES ||
			       draft->rule == PASTA_RULE_LAYOUT ||
			       draft->rule == PASTA_RULE_UNFUSED || draft->rule == PASTA_RULE_TAIL;

		if (kernels && draft->proc == device->usage->proc &&
		    draft->device == device->usage->device)
			ns += draft->saving;
	}
	return ns;
}

/* -- Combining drafts -- */

static int draft_by_number(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

static int draft_by_subject(const void *a, const void *b)
{
	const struct answer_draft *x = a, *y = b;
	int order = draft_by_number(x->rule, y->rule);

	order = order ? order : draft_by_number(x->subject, y->subject);
	order = order ? order : draft_by_number(x->proc, y->proc);
	order = order ? order : draft_by_number(x->device, y->device);
	/* The greatest draft comes first, so that its detail describes the sum. */
	return order ? order : x->saving > y->saving ? -1 : x->saving < y->saving;
}

static int draft_by_share(const void *a, const void *b)
{
	const struct answer_draft *x = a, *y = b;

	if (x->share != y->share)
		return x->share > y->share ? -1 : 1;
	return draft_by_subject(a, b);
}

static bool draft_same(const struct answer_draft *a, const struct answer_draft *b)
{
	return a->rule == b->rule && a->subject == b->subject;
}

/* Adds up the drafts of each rule, subject and device. */
static void answers_add_up(struct pasta_answers *as)
{
	size_t n = 0;

	for (size_t i = 0; i < as->count; i++) {
		const struct answer_draft *from = &as->drafts[i];
		struct answer_draft *to = n ? &as->drafts[n - 1] : NULL;

		if (!to || !draft_same(to, from) || to->proc != from->proc ||
		    to->device != from->device) {
			as->drafts[n++] = *from;
			continue;
		}
		to->saving += from->saving;
		to->share += from->share;
		to->count += from->count;
		to->steps = from->steps > to->steps ? from->steps : to->steps;
		to->least += from->least;
		to->most = from->most > to->most ? from->most : to->most;
	}
	as->count = n;
}

/* Returns whether the run has enough steps to test whether a finding is stable. */
static bool answers_are_tested(const struct pasta_window *w)
{
	return w && w->all >= STEPS_TESTED && !w->ahead;
}

static bool draft_counts(const struct pasta_answers *as, const struct answer_draft *draft)
{
	const struct pasta_window *w = pasta_answers_window(as->d, draft->proc);
	/* New code appears in few steps, and costs much there. */
	bool rare = draft->rule == PASTA_RULE_RECOMPILATION || draft->rule == PASTA_RULE_ANOMALY;

	if (draft->share < SHARE_LEAST)
		return false;
	return rare || !answers_are_tested(w) || draft->steps >= STEPS_LEAST;
}

/* Removes drafts that do not count. Of the drafts of several devices, retains the one with the
 * greatest share. */
static void answers_filter(struct pasta_answers *as)
{
	size_t n = 0;

	for (size_t i = 0; i < as->count; i++) {
		const struct answer_draft *from = &as->drafts[i];
		struct answer_draft *to = n ? &as->drafts[n - 1] : NULL;

		if (!draft_counts(as, from))
			continue;
		if (!to || !draft_same(to, from)) {
			as->drafts[n++] = *from;
			continue;
		}
		if (from->share > to->share) {
			uint32_t devices = to->devices;

			*to = *from;
			to->devices = devices;
		}
		to->devices++;
	}
	as->count = n;
}

/* -- Rules and texts -- */

static void answers_of_device(struct pasta_answers *as, const struct pasta_usage *u)
{
	struct answer_device device = {
		.d = as->d,
		.answers = as,
		.usage = u,
		.window = pasta_answers_window(as->d, u->proc),
		.process = pasta_process(u->proc),
		.info = pasta_device(u->proc, u->device),
	};
	const struct pasta_peaks *peaks = pasta_device_peaks(u->proc, u->device);

	if (peaks)
		device.peaks = *peaks;
	pasta_rules_of_gaps(&device);
	pasta_rules_of_copies(&device);
	pasta_rules_of_work(&device);
	pasta_rules_of_ranks(&device);
}

static bool answers_finish_items(struct pasta_answers *as)
{
	as->items = calloc(as->count + 1, sizeof(*as->items));
	for (size_t i = 0; as->items && i < as->count; i++) {
		const struct answer_draft *draft = &as->drafts[i];
		const struct pasta_window *w = pasta_answers_window(as->d, draft->proc);

		as->items[i] = (struct pasta_answer){
			.size = sizeof(struct pasta_answer),
			.rule = draft->rule,
			.saving = (uint64_t)draft->saving,
			.share = draft->share,
			.proc = draft->proc,
			.device = draft->device,
			.steps = (uint32_t)(draft->steps < UINT32_MAX ? draft->steps : UINT32_MAX),
			.untested = !answers_are_tested(w),
		};
		if (!pasta_answer_texts(as, draft, &as->items[i]))
			return false;
	}
	return as->items;
}

struct pasta_answers *pasta_answers_new(struct pasta_diagnosis *d)
{
	struct pasta_answers *as = calloc(1, sizeof(*as));
	const struct pasta_usage *u;

	if (!as)
		return NULL;
	as->d = d;
	for (size_t at = 0; (u = pasta_diagnosis_usage(d, &at));)
		answers_of_device(as, u);
	if (as->count) {
		qsort(as->drafts, as->count, sizeof(*as->drafts), draft_by_subject);
		answers_add_up(as);
		answers_filter(as);
		qsort(as->drafts, as->count, sizeof(*as->drafts), draft_by_share);
	}
	if (as->failed || !answers_finish_items(as)) {
		pasta_answers_free(as);
		return NULL;
	}
	return as;
}

void pasta_answers_free(struct pasta_answers *as)
{
	if (!as)
		return;
	free(as->drafts);
	free(as->items);
	free(as);
}

const struct pasta_answer *pasta_answers_next(const struct pasta_answers *as, size_t *at)
{
	return *at < as->count ? &as->items[(*at)++] : NULL;
}

const struct pasta_answer *pasta_diagnosis_answer(struct pasta_diagnosis *d, size_t *at)
{
	if (!d->answers && !pasta_diagnosis_error(d))
		d->answers = pasta_answers_new(d);
	if (!d->answers)
		pasta_diagnosis_fail(d);
	return d->answers ? pasta_answers_next(d->answers, at) : NULL;
}
