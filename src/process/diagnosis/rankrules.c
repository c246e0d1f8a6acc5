/*
 * rankrules.c - the rules about communication, late ranks, and steps that take longer than others.
 *
 * Time in which a device only communicates is claimed once: first by the rank for which it waits.
 * Idle time of anomalous steps is claimed by the rules about gaps, if it occurs in enough steps.
 * The time in which these steps compute may be claimed by the rules about kernels.
 */
#include <stdio.h>
#include <string.h>

#include "process/diagnosis/answers.h"

enum {
	RANK_ROUNDS = 20,    /* a rank with fewer rounds is not judged */
	RANK_MOSTLY = 2,     /* a straggler is late in at least one of this many rounds */
	RANK_STEPS_GAPS = 3, /* the rules about gaps ignore gaps that occur in fewer steps */
};

/* Returns the process for which the other ranks wait longest, if it is late in most rounds. */
static const struct pasta_late *rank_straggler(const struct answer_device *device)
{
	const struct pasta_late *late, *most = NULL;

	for (size_t at = 0; (late = pasta_diagnosis_late(device->d, &at));)
		if (late->rounds >= RANK_ROUNDS && late->late >= late->rounds / RANK_MOSTLY &&
		    (!most || late->ns > most->ns))
			most = late;
	return most && most->proc != device->usage->proc ? most : NULL;
}

/* Returns the row of the device's process, or NULL. */
static const struct pasta_late *rank_row(const struct answer_device *device)
{
	const struct pasta_late *late;
	size_t at = 0;

	while ((late = pasta_diagnosis_late(device->d, &at)) && late->proc != device->usage->proc)
		;
	return late;
}

/* Communication while the device computes nothing, of which a part is a wait for a late rank. */
static void rank_drafts(const struct answer_device *device)
{
	uint64_t exposed = device->usage->part[PASTA_PART_COMMUNICATION], skew = 0;
	const struct pasta_late *late = rank_straggler(device);
	const struct pasta_late *own = rank_row(device);
	const struct pasta_window *w = device->window;

	if (late && own) {
		const char *text = pasta_process(late->proc)->text;

		skew = own->waited < late->ns ? own->waited : late->ns;
		skew = skew < exposed ? skew : exposed;
		pasta_answers_draft(device,
				    (struct answer_draft){
					    .rule = PASTA_RULE_STRAGGLER,
					    .subject = pasta_strings_add(text, strlen(text)),
					    .saving = (double)skew,
					    .count = late->late,
					    .steps = late->steps,
					    .least = (double)late->rounds,
				    });
	}
	pasta_answers_draft(device, (struct answer_draft){
					    .rule = PASTA_RULE_COMMUNICATION,
					    .saving = (double)(exposed - skew),
					    .steps = w ? w->steps : 0,
				    });
}

/* Returns the idle time of a cause that no rule about gaps claims. Recompilation may be rare. */
static double rank_unclaimed(const struct answer_device *device, uint32_t cause)
{
	bool rule = cause != PASTA_CAUSE_DEPENDENCY && cause != PASTA_CAUSE_KERNELS &&
		    cause != PASTA_CAUSE_UNKNOWN;
	const struct pasta_wait *wait;
	double ns = 0;

	if (cause == PASTA_CAUSE_LOADING || cause >= PASTA_CAUSE_COUNT)
		return 0;
	for (size_t at = 0; (wait = pasta_diagnosis_wait(device->d, &at));)
		if (wait->proc == device->usage->proc && wait->device == device->usage->device &&
		    wait->cause == cause && (!rule || wait->steps < RANK_STEPS_GAPS))
			ns += (double)wait->ns;
	return ns;
}

static void anomaly_draft(const struct answer_device *device)
{
	struct answer_draft draft = {.rule = PASTA_RULE_ANOMALY};
	double idle[PASTA_CAUSES] = {0}, compute = 0, claimed = pasta_answers_of_kernels(device);
	const struct pasta_anomaly *odd;
	char text[40] = "";

	for (size_t at = 0; (odd = pasta_diagnosis_anomaly(device->d, &at));) {
		double grew = (double)(odd->grew < odd->excess ? odd->grew : odd->excess);

		if (odd->proc != device->usage->proc || odd->device != device->usage->device)
			continue;
		draft.count++;
		draft.steps++;
		if ((double)odd->excess > draft.most) {
			draft.most = (double)odd->excess;
			snprintf(text, sizeof(text), "%s%s%s", pasta_part_name(odd->part),
				 odd->part == PASTA_PART_IDLE ? ": " : "",
				 odd->part == PASTA_PART_IDLE ? pasta_cause_name(odd->cause) : "");
		}
		if (odd->part == PASTA_PART_IDLE && odd->cause < PASTA_CAUSE_COUNT)
			idle[odd->cause] += grew;
		else if (odd->part == PASTA_PART_COMPUTE)
			compute += grew;
	}
	draft.saving = compute > claimed ? compute - claimed : 0;
	for (uint32_t cause = 0; cause < PASTA_CAUSE_COUNT; cause++) {
		double unclaimed = idle[cause] > 0 ? rank_unclaimed(device, cause) : 0;

		draft.saving += idle[cause] < unclaimed ? idle[cause] : unclaimed;
	}
	draft.detail = *text ? pasta_strings_add(text, strlen(text)) : 0;
	pasta_answers_draft(device, draft);
}

void pasta_rules_of_ranks(const struct answer_device *device)
{
	rank_drafts(device);
	anomaly_draft(device);
}
