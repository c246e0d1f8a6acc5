/*
 * workrules.c - the rules about kernels.
 *
 * What a rule could save of a kernel's time is claimed once: first by products without tensor
 * cores, then by conversions of the layout, by chains that could be fused, and by tails.
 */
#include <string.h>

#include "process/diagnosis/answers.h"

/* A kernel with fewer FLOPs per launch is too small for tensor cores to matter: 64 x 64 x 64. */
#define TENSOR_FLOPS_LEAST (2.0 * 64 * 64 * 64)

static bool work_is_here(const struct answer_device *device, uint32_t proc, uint32_t number)
{
	return proc == device->usage->proc && number == device->usage->device;
}

static double work_time(double amount, double peak)
{
	return amount > 0 && peak > 0 ? 1e9 * amount / peak : 0;
}

/* Returns the ns that a float32 product takes longer than it could on tensor cores. */
static double work_without_tensor_cores(const struct answer_device *device,
					const struct pasta_work *w)
{
	double compute = work_time(w->flops, device->peaks.tf32);
	double memory = work_time(w->bytes, device->peaks.memory);
	double least = compute > memory ? compute : memory;
	const char *type = pasta_str(w->dtype);

	if (!(w->flags & PASTA_WORK_MATRIX) || w->flags & PASTA_WORK_TENSOR_CORE)
		return 0;
	if (strcmp(type, "float32") && strcmp(type, "float"))
		return 0;
	if (!(compute > 0) || !w->launches || w->flops / (double)w->launches < TENSOR_FLOPS_LEAST)
		return 0;
	return (double)w->ns > least ? (double)w->ns - least : 0;
}

/* Returns whether a chain of this layer and phase claims the time of a kernel. */
static bool work_is_in_chain(const struct answer_device *device, const struct pasta_work *w)
{
	const struct pasta_chain *c;

	if (!(w->flags & PASTA_WORK_ELEMENTWISE))
		return false;
	for (size_t at = 0; (c = pasta_diagnosis_chain(device->d, &at));)
		if (work_is_here(device, c->proc, c->device) && c->layer == w->layer &&
		    c->phase == w->phase)
			return true;
	return false;
}

static void work_draft(const struct answer_device *device, const struct pasta_work *w)
{
	struct answer_draft draft = {
		.detail = w->layer ? w->layer : w->op,
		.count = w->launches,
		.steps = w->steps,
		.saving = work_without_tensor_cores(device, w),
		.least = w->flops,
		.most = (double)w->ns,
	};

	if (draft.saving > 0) {
		draft.rule = PASTA_RULE_TENSOR_CORES;
	} else if (w->flags & PASTA_WORK_LAYOUT) {
		draft.rule = PASTA_RULE_LAYOUT;
		draft.saving = (double)w->ns;
	} else if (w->tail > 0 && !work_is_in_chain(device, w)) {
		draft.rule = PASTA_RULE_TAIL;
		draft.subject = w->kernel;
		draft.saving = w->tail < (double)w->ns ? w->tail : (double)w->ns;
		if (w->roof > 0 && (double)w->ns - w->roof < draft.saving)
			draft.saving = (double)w->ns - w->roof;
		draft.least = (double)w->grid[0] * w->grid[1] * w->grid[2];
	}
	if (draft.rule)
		pasta_answers_draft(device, draft);
}

static void chain_drafts(const struct answer_device *device)
{
	const struct pasta_chain *c;

	for (size_t at = 0; (c = pasta_diagnosis_chain(device->d, &at));)
		if (work_is_here(device, c->proc, c->device) && c->roof > 0)
			pasta_answers_draft(device, (struct answer_draft){
							    .rule = PASTA_RULE_UNFUSED,
							    .subject = c->ops,
							    .detail = c->layer,
							    .saving = (double)c->ns - c->roof,
							    .count = c->chains,
							    .steps = c->steps,
							    .least = (double)c->kernels,
						    });
}

void pasta_rules_of_work(const struct answer_device *device)
{
	const struct pasta_work *w;

	for (size_t at = 0; (w = pasta_diagnosis_work(device->d, &at));)
		if (work_is_here(device, w->proc, w->device))
			work_draft(device, w);
	chain_drafts(device);
}
