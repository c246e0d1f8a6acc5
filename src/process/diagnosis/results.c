/* results.c - the rows that the functions of <pasta/diagnosis.h> return. */
#include <stdlib.h>

#include "process/diagnosis/timing.h"
#include "process/sdk/group.h"

/* An array of rows, all of one type. */
struct results_list {
	char *rows;
	size_t count, room, size;
};

struct timing_results {
	struct results_list windows, usages, steps, gaps, waits, transfers, busy;
};

/* Returns a new row, which is zeroed except for its size; NULL when out of memory. */
static void *results_add(struct results_list *list, size_t size)
{
	uint32_t *row;

	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : 16;
		char *rows = reallocarray(list->rows, room, size);

		if (!rows)
			return NULL;
		list->rows = rows;
		list->room = room;
	}
	list->size = size;
	row = (uint32_t *)(list->rows + size * list->count++);
	memset(row, 0, size);
	*row = (uint32_t)size;
	return row;
}

/* -- Devices -- */

static bool results_usage(struct timing_results *r, const struct timing_device *d)
{
	const struct pasta_window *w = &d->proc->window;
	struct pasta_usage *u = results_add(&r->usages, sizeof(*u));
	const struct timing_stream *s;
	size_t at = 0;

	if (!u)
		return false;
	*u = d->tally[0]->usage;
	u->size = sizeof(*u);
	u->proc = w->proc;
	u->device = d->device;
	u->time = w->end - w->begin;
	u->kernel_p50 = pasta_hist_quantile(d->tally[0]->kernels, 0.5);
	u->launch_p50 = d->proc->periods[0] ? pasta_hist_quantile(d->proc->periods[0], 0.5) : 0;
	while ((s = pasta_map_next(d->streams, &at, NULL)))
		u->streams += s->last > w->begin;
	return true;
}

static bool results_steps(struct timing_results *r, const struct timing_device *d)
{
	const struct timing_proc *p = d->proc;
	size_t first = p->step_count - p->window.steps;

	for (size_t i = 0; i < d->row_count; i++) {
		struct pasta_step *row = results_add(&r->steps, sizeof(*row));

		if (!row)
			return false;
		*row = d->rows[i];
		row->end = i + 1 < p->step_count ? p->steps[i + 1].begin : p->window.end;
		row->launches = p->steps[i].launches;
		row->in_window = i >= first;
	}
	return true;
}

static bool results_gaps(struct timing_results *r, const struct timing_device *d)
{
	const struct tally *t = d->tally[0];
	uint64_t steps = d->proc->step_count;

	for (size_t i = 0; i < t->gap_count; i++) {
		struct pasta_gap *row = results_add(&r->gaps, sizeof(*row));

		if (!row)
			return false;
		*row = t->gaps[i];
		if (row->step >= steps)
			row->step = steps ? steps - 1 : PASTA_NO_STEP;
	}
	return true;
}

static bool results_waits(struct timing_results *r, const struct timing_device *d)
{
	const struct pasta_group *group = d->tally[0]->waits;
	uint64_t steps = d->proc->window.steps;
	const struct timing_wait *w;
	size_t at = 0;

	while ((w = pasta_group_next(group, &at))) {
		struct pasta_wait *row = results_add(&r->waits, sizeof(*row));

		if (!row)
			return false;
		*row = (struct pasta_wait){.size = sizeof(*row),
					   .proc = d->proc->proc,
					   .device = d->device,
					   .cause = w->key.cause,
					   .line = w->key.line,
					   .op = w->key.op,
					   .region = w->key.region,
					   .api = w->key.api,
					   .module = w->key.layer,
					   .ns = w->ns,
					   .gaps = w->gaps,
					   .steps = w->steps < steps ? w->steps : steps,
					   .max = w->max};
	}
	return true;
}

static bool results_transfers(struct timing_results *r, const struct timing_device *d)
{
	const struct pasta_group *group = d->tally[0]->transfers;
	uint64_t steps = d->proc->window.steps;
	const struct timing_transfer *x;
	size_t at = 0;

	while ((x = pasta_group_next(group, &at))) {
		struct pasta_transfer *row = results_add(&r->transfers, sizeof(*row));

		if (!row)
			return false;
		*row = (struct pasta_transfer){.size = sizeof(*row),
					       .proc = d->proc->proc,
					       .device = d->device,
					       .direction = x->key.direction,
					       .source = x->key.source,
					       .target = x->key.target,
					       .line = x->key.line,
					       .op = x->key.op,
					       .api = x->key.api,
					       .copies = x->copies,
					       .bytes = x->bytes,
					       .ns = x->ns,
					       .exposed = x->exposed,
					       .small = x->small,
					       .small_exposed = x->small_exposed,
					       .steps = x->steps < steps ? x->steps : steps};
	}
	return true;
}

static bool results_busy(struct timing_results *r, const struct timing_device *d)
{
	uint64_t steps = d->proc->window.steps;
	const struct timing_busy *b;
	size_t at = 0;

	while ((b = pasta_group_next(d->tally[0]->busy, &at))) {
		struct pasta_busy *row = results_add(&r->busy, sizeof(*row));

		if (!row)
			return false;
		*row = (struct pasta_busy){.size = sizeof(*row),
					   .proc = d->proc->proc,
					   .device = d->device,
					   .part = b->key.part,
					   .kind = b->key.kind,
					   .kernel = b->key.name,
					   .direction = b->key.direction,
					   .ns = b->ns,
					   .count = b->count,
					   .steps = b->steps < steps ? b->steps : steps};
	}
	return true;
}

/* -- Order -- */

static int results_compare(uint64_t x, uint64_t y)
{
	return x < y ? -1 : x > y;
}

static int results_by_length(const void *a, const void *b)
{
	const struct pasta_gap *x = a, *y = b;
	int order = results_compare(y->end - y->begin, x->end - x->begin);

	order = order ? order : results_compare(x->begin, y->begin);
	order = order ? order : results_compare(x->proc, y->proc);
	return order ? order : results_compare(x->device, y->device);
}

static int results_by_ns(const void *a, const void *b)
{
	const struct pasta_wait *x = a, *y = b;
	int order = results_compare(x->proc, y->proc);

	order = order ? order : results_compare(x->device, y->device);
	order = order ? order : results_compare(y->ns, x->ns);
	order = order ? order : results_compare(y->gaps, x->gaps);
	return order ? order : memcmp(&x->cause, &y->cause, 6 * sizeof(uint32_t));
}

static int results_by_bytes(const void *a, const void *b)
{
	const struct pasta_transfer *x = a, *y = b;
	int order = results_compare(x->proc, y->proc);

	order = order ? order : results_compare(x->device, y->device);
	order = order ? order : results_compare(y->ns, x->ns);
	order = order ? order : results_compare(y->bytes, x->bytes);
	return order ? order : memcmp(&x->direction, &y->direction, 6 * sizeof(uint32_t));
}

static int results_by_time(const void *a, const void *b)
{
	const struct pasta_busy *x = a, *y = b;
	int order = results_compare(x->proc, y->proc);

	order = order ? order : results_compare(x->device, y->device);
	order = order ? order : results_compare(y->ns, x->ns);
	order = order ? order : results_compare(y->count, x->count);
	return order ? order : memcmp(&x->part, &y->part, 4 * sizeof(uint32_t));
}

static int results_by_proc(const void *a, const void *b)
{
	const struct timing_proc *const *x = *(void *const *)a, *const *y = *(void *const *)b;

	return *x && *y ? results_compare((*x)->proc, (*y)->proc) : !*x - !*y;
}

static int results_by_device(const void *a, const void *b)
{
	const struct timing_device *const *x = *(void *const *)a, *const *y = *(void *const *)b;

	return results_compare((*x)->device, (*y)->device);
}

static void results_sort(struct results_list *list, int (*order)(const void *, const void *))
{
	if (list->count)
		qsort(list->rows, list->count, list->size, order);
}

/* -- All -- */

static bool results_proc(struct timing_results *r, const struct timing_proc *p)
{
	struct timing_device ***devices = pasta_map_sorted(p->devices, results_by_device);
	bool fine = devices;
	struct pasta_window *w;

	if (fine && (p->any_work || p->confirmed)) {
		w = results_add(&r->windows, sizeof(*w));
		fine = w;
		if (w)
			*w = p->window;
	}
	for (size_t i = 0; fine && devices[i]; i++) {
		const struct timing_device *d = *devices[i];

		fine = results_usage(r, d) && results_steps(r, d) && results_gaps(r, d) &&
		       results_waits(r, d) && results_transfers(r, d) && results_busy(r, d);
	}
	free(devices);
	return fine;
}

struct timing_results *timing_results_new(struct pasta_timing *t)
{
	struct timing_results *r = calloc(1, sizeof(*r));
	struct timing_proc ***procs = pasta_map_sorted(t->procs, results_by_proc);
	bool fine = r && procs;

	for (size_t i = 0; fine && procs[i]; i++)
		if (*procs[i])
			fine = results_proc(r, *procs[i]);
	free(procs);
	if (!fine) {
		timing_results_free(r);
		return NULL;
	}
	results_sort(&r->gaps, results_by_length);
	results_sort(&r->waits, results_by_ns);
	results_sort(&r->transfers, results_by_bytes);
	results_sort(&r->busy, results_by_time);
	return r;
}

void timing_results_free(struct timing_results *r)
{
	if (!r)
		return;
	free(r->windows.rows);
	free(r->usages.rows);
	free(r->steps.rows);
	free(r->gaps.rows);
	free(r->waits.rows);
	free(r->transfers.rows);
	free(r->busy.rows);
	free(r);
}

static const void *results_next(const struct results_list *list, size_t *at)
{
	return *at < list->count ? list->rows + list->size * (*at)++ : NULL;
}

#define RESULTS(function, type, list)                                                              \
	const struct type *function(struct pasta_diagnosis *d, size_t *at)                         \
	{                                                                                          \
		const struct timing_results *r = d->timing->results;                               \
                                                                                                   \
		return r ? results_next(&r->list, at) : NULL;                                      \
	}
RESULTS(pasta_diagnosis_window, pasta_window, windows)
RESULTS(pasta_diagnosis_usage, pasta_usage, usages)
RESULTS(pasta_diagnosis_step, pasta_step, steps)
RESULTS(pasta_diagnosis_gap, pasta_gap, gaps)
RESULTS(pasta_diagnosis_wait, pasta_wait, waits)
RESULTS(pasta_diagnosis_transfer, pasta_transfer, transfers)
RESULTS(pasta_diagnosis_busy, pasta_busy, busy)
