/* threshold.c - the threshold below which a gap is the usual gap between two kernels. */
#include <stdlib.h>

#include "process/diagnosis/timing.h"

enum {
	THRESHOLD_SAMPLES = 10, /* with fewer samples, the threshold is THRESHOLD_LEAST */
	THRESHOLD_LEAST = 4000, /* ns */
};

/* Appends an item to an array. Returns its address, or NULL when out of memory. */
static void *threshold_append(struct timing_device *d, void **items, size_t *count, size_t *room,
			      size_t size)
{
	if (*count == *room) {
		size_t more = *room ? 2 * *room : 64;
		void *grown = timing_need(d->proc->timing, reallocarray(*items, more, size));

		if (!grown)
			return NULL;
		*items = grown;
		*room = more;
	}
	return (char *)*items + size * (*count)++;
}

static int threshold_by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Sets the threshold to twice the tenth percentile of the samples, but at least to
 * THRESHOLD_LEAST. */
static void threshold_set(struct timing_device *d)
{
	uint64_t usual;

	d->has_threshold = true;
	d->threshold = THRESHOLD_LEAST;
	if (d->sample_count < THRESHOLD_SAMPLES)
		return;
	qsort(d->samples, d->sample_count, sizeof(*d->samples), threshold_by_value);
	usual = d->samples[(d->sample_count - 1) / 10];
	usual = timing_add(usual, usual);
	d->threshold = usual > d->threshold ? usual : d->threshold;
}

static void threshold_decide(struct timing_device *d, const struct pasta_gap *gap)
{
	struct pasta_gap decided = *gap;

	decided.cause =
		gap->end - gap->begin < d->threshold ? PASTA_CAUSE_KERNELS : PASTA_CAUSE_UNKNOWN;
	timing_device_gap(d, &decided);
}

void timing_device_flush(struct timing_device *d)
{
	if (!d->has_threshold)
		threshold_set(d);
	for (size_t i = 0; i < d->deferred_count; i++)
		threshold_decide(d, &d->deferred[i]);
	free(d->deferred);
	free(d->samples);
	d->deferred = NULL;
	d->samples = NULL;
	d->deferred_count = d->deferred_room = d->sample_count = d->sample_room = 0;
}

void timing_device_defer(struct timing_device *d, const struct pasta_gap *gap, bool sample)
{
	struct pasta_gap *slot;

	if (d->has_threshold) {
		threshold_decide(d, gap);
		return;
	}
	if (sample) {
		d->sample = gap->end - gap->begin;
		d->sample_begin = gap->begin;
	}
	slot = threshold_append(d, (void **)&d->deferred, &d->deferred_count, &d->deferred_room,
				sizeof(*slot));
	if (slot)
		*slot = *gap;
	if (d->deferred_count == TIMING_DEFERRED_MAX)
		timing_device_flush(d);
}

/* A gap is a sample if the work after the next work was launched before the gap, too: two kernels
 * were in the queue. */
void timing_device_sample(struct timing_device *d, const struct pasta_where *where)
{
	uint64_t *slot;

	if (!d->sample || d->has_threshold)
		return;
	if (where->flags & PASTA_WHERE_LAUNCH && where->launched <= d->sample_begin) {
		slot = threshold_append(d, (void **)&d->samples, &d->sample_count, &d->sample_room,
					sizeof(*slot));
		if (slot)
			*slot = d->sample;
	}
	d->sample = 0;
}
