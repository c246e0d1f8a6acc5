/* anomalies.c - steps that take longer than the other steps of their process, and what grew. */
#include "process/diagnosis/answers.h"
#include "process/diagnosis/anomalies.h"

#include <stdlib.h>

enum {
	ANOMALIES_STEPS = 5, /* with fewer steps, there is no distribution to leave */
	/* The time of a step is divided into the parts except idle, and the causes of idle time. */
	ANOMALIES_KINDS = PASTA_PART_IDLE + PASTA_CAUSE_COUNT,
};

struct pasta_anomalies {
	struct pasta_anomaly *rows;
	size_t count, room;
};

/* The steps of the window of one device. */
struct anomalies_device {
	const struct pasta_step **steps;
	size_t count;
	uint64_t *values; /* scratch */
	/* the median time of each part and cause over the steps, computed for the first anomaly */
	uint64_t medians[ANOMALIES_KINDS];
	bool has_medians;
};

static uint64_t anomalies_time(const struct pasta_step *s, uint32_t kind)
{
	return kind < PASTA_PART_IDLE ? s->part[kind] : s->cause[kind - PASTA_PART_IDLE];
}

static int anomalies_medians(struct anomalies_device *d)
{
	struct pasta_robust r;

	for (uint32_t kind = 0; !d->has_medians && kind < ANOMALIES_KINDS; kind++) {
		for (size_t i = 0; i < d->count; i++)
			d->values[i] = anomalies_time(d->steps[i], kind);
		if (pasta_robust_of(d->values, d->count, &r))
			return -ENOMEM;
		d->medians[kind] = r.median;
	}
	d->has_medians = true;
	return 0;
}

static int anomalies_add(struct pasta_anomalies *a, struct anomalies_device *d,
			 const struct pasta_step *s, const struct pasta_robust *r)
{
	struct pasta_anomaly row = {.size = sizeof(row),
				    .proc = s->proc,
				    .device = s->device,
				    .number = s->number,
				    .iteration = s->iteration,
				    .begin = s->begin,
				    .end = s->end,
				    .median = r->median,
				    .excess = s->end - s->begin - r->median,
				    .score = pasta_robust_score(r, s->end - s->begin)};
	uint32_t most = 0;

	if (anomalies_medians(d))
		return -ENOMEM;
	for (uint32_t kind = 0; kind < ANOMALIES_KINDS; kind++) {
		uint64_t time = anomalies_time(s, kind), median = d->medians[kind];

		if (time > median && time - median > row.grew) {
			row.grew = time - median;
			most = kind;
		}
	}
	row.part = most < PASTA_PART_IDLE ? most : PASTA_PART_IDLE;
	row.cause = most < PASTA_PART_IDLE ? PASTA_CAUSE_COUNT : most - PASTA_PART_IDLE;
	if (a->count == a->room) {
		size_t room = a->room ? 2 * a->room : 64;
		struct pasta_anomaly *rows = reallocarray(a->rows, room, sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		a->rows = rows;
		a->room = room;
	}
	a->rows[a->count++] = row;
	return 0;
}

static int anomalies_of_device(struct pasta_anomalies *a, struct anomalies_device *d)
{
	struct pasta_robust r;

	if (d->count < ANOMALIES_STEPS)
		return 0;
	for (size_t i = 0; i < d->count; i++)
		d->values[i] = d->steps[i]->end - d->steps[i]->begin;
	if (pasta_robust_of(d->values, d->count, &r))
		return -ENOMEM;
	for (size_t i = 0; i < d->count; i++)
		if (pasta_robust_score(&r, d->steps[i]->end - d->steps[i]->begin) >
			    PASTA_ROBUST_ODD &&
		    anomalies_add(a, d, d->steps[i], &r))
			return -ENOMEM;
	return 0;
}

struct pasta_anomalies *pasta_anomalies_new(struct pasta_diagnosis *d)
{
	struct pasta_anomalies *a = calloc(1, sizeof(*a));
	struct anomalies_device device = {0};
	const struct pasta_step *s, *next;
	const struct pasta_window *w;
	size_t at = 0, count = 0;
	int error = 0;

	while (pasta_diagnosis_step(d, &at))
		count++;
	device.steps = calloc(count + 1, sizeof(struct pasta_step *));
	device.values = calloc(count + 1, sizeof(*device.values));
	if (!a || !device.steps || !device.values)
		error = -ENOMEM;
	at = 0;
	s = error ? NULL : pasta_diagnosis_step(d, &at);
	for (; !error && s; s = next) {
		next = pasta_diagnosis_step(d, &at);
		if (s->in_window && s->end >= s->begin)
			device.steps[device.count++] = s;
		if (next && next->proc == s->proc && next->device == s->device)
			continue;
		w = pasta_answers_window(d, s->proc);
		error = w && w->ahead ? 0 : anomalies_of_device(a, &device);
		device.count = 0;
		device.has_medians = false;
	}
	free(device.steps);
	free(device.values);
	if (!error)
		return a;
	pasta_anomalies_free(a);
	return NULL;
}

void pasta_anomalies_free(struct pasta_anomalies *a)
{
	if (!a)
		return;
	free(a->rows);
	free(a);
}

const struct pasta_anomaly *pasta_anomalies_next(const struct pasta_anomalies *a, size_t *at)
{
	return *at < a->count ? &a->rows[(*at)++] : NULL;
}
