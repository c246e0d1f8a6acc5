/* savings.c - what findings can save: each ns of a device is claimed by one of them alone. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/sdk/result.h"

/* A claim, and whose it is: the rank of its finding in the order of savings. */
struct want {
	struct pasta_claim claim;
	size_t rank;
};

struct entry {
	const struct pasta_finding *finding;
	uint64_t *disjoint;
	size_t number; /* in the order in which they were reported */
};

/* The ranks of the wants that an instant is in: a heap, the lowest rank first. Wants that have
 * ended are dropped when they come to its top. */
struct active {
	const struct want **heap;
	size_t count;
};

static int by_saving(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->finding->saving != y->finding->saving)
		return x->finding->saving > y->finding->saving ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

static bool one_device(const struct pasta_claim *a, const struct pasta_claim *b)
{
	return a->proc == b->proc && a->device == b->device;
}

static int by_begin(const void *a, const void *b)
{
	const struct pasta_claim *x = a, *y = b; /* the first member of a want */

	if (x->proc != y->proc)
		return x->proc < y->proc ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void active_push(struct active *a, const struct want *want)
{
	size_t i = a->count++;

	for (; i && a->heap[(i - 1) / 2]->rank > want->rank; i = (i - 1) / 2)
		a->heap[i] = a->heap[(i - 1) / 2];
	a->heap[i] = want;
}

static void active_pop(struct active *a)
{
	const struct want *last = a->heap[--a->count];
	size_t i = 0, child;

	for (; (child = 2 * i + 1) < a->count; i = child) {
		child += child + 1 < a->count && a->heap[child + 1]->rank < a->heap[child]->rank;
		if (a->heap[child]->rank >= last->rank)
			break;
		a->heap[i] = a->heap[child];
	}
	a->heap[i] = last;
}

/* Give the time from *now to until, or to where all wants have ended, to the first of them. */
static void active_run(struct active *a, uint64_t *now, uint64_t until, uint64_t *claimed)
{
	while (a->count && *now < until) {
		const struct want *first = a->heap[0];
		uint64_t end = first->claim.end < until ? first->claim.end : until;

		if (end > *now) {
			claimed[first->rank] += end - *now;
			*now = end;
		}
		if (first->claim.end <= *now)
			active_pop(a);
	}
}

/* How much each rank gets. */
static void sweep(struct want *wants, size_t count, struct active *a, uint64_t *claimed)
{
	uint64_t now = 0;
	size_t i;

	qsort(wants, count, sizeof(*wants), by_begin);
	for (i = 0; i < count; i++) {
		if (i && !one_device(&wants[i - 1].claim, &wants[i].claim))
			active_run(a, &now, UINT64_MAX, claimed);
		if (!i || !one_device(&wants[i - 1].claim, &wants[i].claim))
			a->count = 0;
		else
			active_run(a, &now, wants[i].claim.begin, claimed);
		now = wants[i].claim.begin;
		active_push(a, &wants[i]);
	}
	active_run(a, &now, UINT64_MAX, claimed);
}

/* A place for each finding's answer; how many findings and claims there are. */
static int make_room(struct pasta_result *result, size_t *findings, size_t *claims)
{
	size_t i, k;

	*findings = *claims = 0;
	for (i = 0; i < result->count; i++) {
		struct pasta_out *out = result->outs[i];

		free(out->disjoint);
		out->disjoint = calloc(out->finding_count + 1, sizeof(*out->disjoint));
		if (!out->disjoint)
			return -ENOMEM;
		*findings += out->finding_count;
		for (k = 0; k < out->finding_count; k++)
			*claims += out->findings[k].claim_count;
	}
	return 0;
}

static void collect(const struct pasta_result *result, struct entry *entries)
{
	size_t i, k, n = 0;

	for (i = 0; i < result->count; i++)
		for (k = 0; k < result->outs[i]->finding_count; k++, n++)
			entries[n] = (struct entry){&result->outs[i]->findings[k],
						    &result->outs[i]->disjoint[k], n};
	qsort(entries, n, sizeof(*entries), by_saving);
}

static void answer(const struct entry *entries, size_t count, const uint64_t *claimed)
{
	size_t i;

	for (i = 0; i < count; i++) {
		uint64_t saving = entries[i].finding->saving;

		*entries[i].disjoint = !entries[i].finding->claim_count ? UINT64_MAX
				       : claimed[i] < saving		? claimed[i]
									: saving;
	}
}

int pasta_result_savings(struct pasta_result *result)
{
	size_t findings, claims, i, k, n = 0;
	int error = make_room(result, &findings, &claims);
	struct entry *entries = calloc(findings + 1, sizeof(*entries));
	struct want *wants = calloc(claims + 1, sizeof(*wants));
	uint64_t *claimed = calloc(findings + 1, sizeof(*claimed));
	struct active active = {.heap = calloc(claims + 1, sizeof(*active.heap))};

	if (!error && (!entries || !wants || !claimed || !active.heap))
		error = -ENOMEM;
	if (!error) {
		collect(result, entries);
		for (i = 0; i < findings; i++)
			for (k = 0; k < entries[i].finding->claim_count; k++)
				wants[n++] = (struct want){entries[i].finding->claims[k], i};
		sweep(wants, n, &active, claimed);
		answer(entries, findings, claimed);
	}
	free(entries);
	free(wants);
	free(claimed);
	free(active.heap);
	return error;
}
