/* savings.c - computes the savings of findings, so that each ns of device time counts only once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/sdk/result.h"

/* A claim, and the rank of its finding. The finding with the greatest saving has rank 0. */
struct savings_claim {
	struct pasta_claim claim;
	size_t rank;
};

struct savings_entry {
	const struct pasta_finding *finding;
	uint64_t *disjoint;
	size_t number; /* number of the claim, in the order in which claims were reported */
};

/* The claims that cover the current time. They are a heap with the lowest rank at the top. A claim
 * that has ended is removed when it reaches the top. */
struct savings_heap {
	const struct savings_claim **heap;
	size_t count;
};

static int savings_by_saving(const void *a, const void *b)
{
	const struct savings_entry *x = a, *y = b;

	if (x->finding->saving != y->finding->saving)
		return x->finding->saving > y->finding->saving ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

static bool savings_same_device(const struct pasta_claim *a, const struct pasta_claim *b)
{
	return a->proc == b->proc && a->device == b->device;
}

static int savings_by_begin(const void *a, const void *b)
{
	/* Struct savings_claim begins with a struct pasta_claim. */
	const struct pasta_claim *x = a, *y = b;

	if (x->proc != y->proc)
		return x->proc < y->proc ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void heap_push(struct savings_heap *a, const struct savings_claim *claim)
{
	size_t i = a->count++;

	for (; i && a->heap[(i - 1) / 2]->rank > claim->rank; i = (i - 1) / 2)
		a->heap[i] = a->heap[(i - 1) / 2];
	a->heap[i] = claim;
}

static void heap_pop(struct savings_heap *a)
{
	const struct savings_claim *last = a->heap[--a->count];
	size_t i = 0, child;

	for (; (child = 2 * i + 1) < a->count; i = child) {
		child += child + 1 < a->count && a->heap[child + 1]->rank < a->heap[child]->rank;
		if (a->heap[child]->rank >= last->rank)
			break;
		a->heap[i] = a->heap[child];
	}
	a->heap[i] = last;
}

/* Counts the time from *now to `until`, or to the end of the last claim. Each ns counts for the
 * claim that has the lowest rank at that time. */
static void heap_run(struct savings_heap *a, uint64_t *now, uint64_t until, uint64_t *claimed)
{
	while (a->count && *now < until) {
		const struct savings_claim *first = a->heap[0];
		uint64_t end = first->claim.end < until ? first->claim.end : until;

		if (end > *now) {
			claimed[first->rank] += end - *now;
			*now = end;
		}
		if (first->claim.end <= *now)
			heap_pop(a);
	}
}

/* Computes the device time that counts for each rank, that is, for each finding. */
static void savings_sweep(struct savings_claim *claims_by_time, size_t count,
			  struct savings_heap *a, uint64_t *claimed)
{
	uint64_t now = 0;
	size_t i;

	qsort(claims_by_time, count, sizeof(*claims_by_time), savings_by_begin);
	for (i = 0; i < count; i++) {
		if (i &&
		    !savings_same_device(&claims_by_time[i - 1].claim, &claims_by_time[i].claim))
			heap_run(a, &now, UINT64_MAX, claimed);
		if (!i ||
		    !savings_same_device(&claims_by_time[i - 1].claim, &claims_by_time[i].claim))
			a->count = 0;
		else
			heap_run(a, &now, claims_by_time[i].claim.begin, claimed);
		now = claims_by_time[i].claim.begin;
		heap_push(a, &claims_by_time[i]);
	}
	heap_run(a, &now, UINT64_MAX, claimed);
}

/* Allocates the array `disjoint` of each tool, and counts all findings and claims. */
static int savings_prepare(struct pasta_result *result, size_t *findings, size_t *claims)
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

static void savings_collect(const struct pasta_result *result, struct savings_entry *entries)
{
	size_t i, k, n = 0;

	for (i = 0; i < result->count; i++)
		for (k = 0; k < result->outs[i]->finding_count; k++, n++)
			entries[n] = (struct savings_entry){&result->outs[i]->findings[k],
							    &result->outs[i]->disjoint[k], n};
	qsort(entries, n, sizeof(*entries), savings_by_saving);
}

static void savings_store(const struct savings_entry *entries, size_t count,
			  const uint64_t *claimed)
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
	int error = savings_prepare(result, &findings, &claims);
	struct savings_entry *entries = calloc(findings + 1, sizeof(*entries));
	struct savings_claim *claims_by_time = calloc(claims + 1, sizeof(*claims_by_time));
	uint64_t *claimed = calloc(findings + 1, sizeof(*claimed));
	struct savings_heap active = {.heap = calloc(claims + 1, sizeof(*active.heap))};

	if (!error && (!entries || !claims_by_time || !claimed || !active.heap))
		error = -ENOMEM;
	if (!error) {
		savings_collect(result, entries);
		for (i = 0; i < findings; i++)
			for (k = 0; k < entries[i].finding->claim_count; k++)
				claims_by_time[n++] =
					(struct savings_claim){entries[i].finding->claims[k], i};
		savings_sweep(claims_by_time, n, &active, claimed);
		savings_store(entries, findings, claimed);
	}
	free(entries);
	free(claims_by_time);
	free(claimed);
	free(active.heap);
	return error;
}
