/* tally.c - sums about a device from a time on: parts, causes, gaps, waits and transfers. */
#include <stdlib.h>

#include "process/diagnosis/timing.h"
#include "process/sdk/group.h"

static const struct pasta_member tally_members[] = {{0}};
static const struct pasta_group_def tally_waits = {
	.size = sizeof(tally_waits),
	.key_size = sizeof(((struct timing_wait *)0)->key),
	.row_size = sizeof(struct timing_wait),
	.members = tally_members,
};
static const struct pasta_group_def tally_transfers = {
	.size = sizeof(tally_transfers),
	.key_size = sizeof(((struct timing_transfer *)0)->key),
	.row_size = sizeof(struct timing_transfer),
	.members = tally_members,
};

static const struct pasta_group_def tally_busies = {
	.size = sizeof(tally_busies),
	.key_size = sizeof(((struct timing_busy *)0)->key),
	.row_size = sizeof(struct timing_busy),
	.members = tally_members,
};

struct tally *tally_new(uint64_t begin)
{
	struct tally *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->begin = begin;
	t->kernels = pasta_hist_new();
	t->waits = pasta_group_new(&tally_waits, NULL, NULL);
	t->transfers = pasta_group_new(&tally_transfers, NULL, NULL);
	t->gaps = calloc(TIMING_GAPS, sizeof(*t->gaps));
	t->busy = pasta_group_new(&tally_busies, NULL, NULL);
	if (t->kernels && t->waits && t->transfers && t->busy && t->gaps)
		return t;
	tally_free(t);
	return NULL;
}

void tally_free(struct tally *t)
{
	if (!t)
		return;
	pasta_hist_free(t->kernels);
	pasta_group_free(t->waits);
	pasta_group_free(t->transfers);
	pasta_group_free(t->busy);
	free(t->gaps);
	free(t);
}

int tally_error(const struct tally *t)
{
	int error = pasta_group_error(t->waits);

	error = error ? error : pasta_group_error(t->transfers);
	return error ? error : pasta_group_error(t->busy);
}

int tally_kernel(struct tally *t, uint64_t ns)
{
	t->usage.kernels++;
	t->usage.kernel_ns = timing_add(t->usage.kernel_ns, ns);
	return pasta_hist_add(t->kernels, ns, 1);
}

/* -- The longest gaps -- */

/* Returns whether gap `a` is to be dropped before gap `b`. */
static bool tally_is_less(const struct pasta_gap *a, const struct pasta_gap *b)
{
	uint64_t x = a->end - a->begin, y = b->end - b->begin;

	return x != y ? x < y : a->begin > b->begin;
}

static void tally_list_gap(struct tally *t, const struct pasta_gap *gap)
{
	size_t i, child;

	if (t->gap_count < TIMING_GAPS) {
		for (i = t->gap_count++; i && tally_is_less(gap, &t->gaps[(i - 1) / 2]);
		     i = (i - 1) / 2)
			t->gaps[i] = t->gaps[(i - 1) / 2];
		t->gaps[i] = *gap;
		return;
	}
	if (tally_is_less(gap, t->gaps))
		return;
	for (i = 0; (child = 2 * i + 1) < t->gap_count; i = child) {
		if (child + 1 < t->gap_count && tally_is_less(&t->gaps[child + 1], &t->gaps[child]))
			child++;
		if (tally_is_less(gap, &t->gaps[child]))
			break;
		t->gaps[i] = t->gaps[child];
	}
	t->gaps[i] = *gap;
}

/* -- Rows -- */

/* Returns the row of a key. If there are too many rows, the key `rest` replaces a new key. */
static void *tally_row(struct pasta_group *group, const void *key, const void *rest)
{
	if (pasta_group_count(group) >= TIMING_TALLY_ROWS && !pasta_group_find(group, key))
		key = rest;
	return pasta_group_row(group, key);
}

int tally_gap(struct tally *t, const struct pasta_gap *gap, uint32_t layer)
{
	struct pasta_gap cut = *gap;
	const struct timing_wait key = {
		.key = {gap->cause, gap->line, gap->op, gap->region, gap->api, layer}};
	const struct timing_wait rest = {.key = {.cause = gap->cause}};
	struct timing_wait *w;
	uint64_t ns;

	if (gap->end <= t->begin)
		return 0;
	cut.begin = gap->begin > t->begin ? gap->begin : t->begin;
	ns = cut.end - cut.begin;
	t->usage.part[PASTA_PART_IDLE] += ns;
	t->usage.cause[gap->cause] += ns;
	t->usage.gaps[gap->cause]++;
	tally_list_gap(t, &cut);
	w = tally_row(t->waits, &key.key, &rest.key);
	w->ns += ns;
	w->gaps++;
	w->max = ns > w->max ? ns : w->max;
	if (gap->step != PASTA_NO_STEP && w->next_step != gap->step + 1) {
		w->steps++;
		w->next_step = gap->step + 1;
	}
	return pasta_group_error(t->waits);
}

struct timing_transfer *tally_copy(struct tally *t, const struct pasta_event *ev,
				   const struct timing_transfer *key, uint64_t step)
{
	const struct timing_transfer rest = {.key = {.direction = key->key.direction}};
	struct timing_transfer *row = tally_row(t->transfers, &key->key, &rest.key);

	if (pasta_group_error(t->transfers))
		return NULL;
	row->copies++;
	row->bytes = timing_add(row->bytes, ev->copy.bytes);
	row->ns = timing_add(row->ns, ev->copy.dur);
	row->small += ev->copy.bytes < TIMING_SMALL_COPY;
	if (step && row->next_step != step) {
		row->steps++;
		row->next_step = step;
	}
	return row;
}

struct timing_busy *tally_busy(struct tally *t, const struct timing_busy *key)
{
	const struct timing_busy rest = {.key = {.part = key->key.part, .kind = key->key.kind}};
	struct timing_busy *row = tally_row(t->busy, &key->key, &rest.key);

	return pasta_group_error(t->busy) ? NULL : row;
}

struct timing_busy *tally_work(struct tally *t, const struct timing_busy *key, uint64_t step)
{
	struct timing_busy *row = tally_busy(t, key);

	if (!row)
		return NULL;
	row->count++;
	if (step && row->next_step != step) {
		row->steps++;
		row->next_step = step;
	}
	return row;
}
