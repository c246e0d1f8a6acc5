/* running.c - divides the time of a part among the work that runs at the same time: each ns counts
 * for the work that began first. */
#include "process/diagnosis/timing.h"

static struct timing_running *running_at(struct timing_queue *q, uint32_t i)
{
	return &q->items[(q->first + i) % TIMING_RUNNING_MAX];
}

static void running_pop(struct timing_queue *q)
{
	q->first = (q->first + 1) % TIMING_RUNNING_MAX;
	q->count--;
}

void running_push(struct timing_queue *q, uint64_t now, const struct timing_running *work)
{
	while (q->count && running_at(q, 0)->end <= now)
		running_pop(q);
	if (q->count == TIMING_RUNNING_MAX)
		running_at(q, q->count - 1)->end = work->end;
	else
		*running_at(q, q->count++) = *work;
}

static void running_count(const struct timing_running *work, uint64_t ns)
{
	for (size_t i = 0; i < 2; i++) {
		if (work->busy[i])
			work->busy[i]->ns += ns;
		if (!work->transfer[i])
			continue;
		work->transfer[i]->exposed += ns;
		work->transfer[i]->small_exposed += work->small ? ns : 0;
	}
}

void running_add(struct timing_queue *q, uint64_t from, uint64_t to)
{
	while (from < to && q->count) {
		const struct timing_running *work = running_at(q, 0);
		uint64_t stop = work->end < to ? work->end : to;

		if (stop > from) {
			running_count(work, stop - from);
			from = stop;
		}
		if (work->end > to)
			return;
		running_pop(q);
	}
}

void running_shift(struct timing_queue *q)
{
	for (uint32_t i = 0; i < q->count; i++) {
		struct timing_running *work = running_at(q, i);

		work->busy[0] = work->busy[1];
		work->transfer[0] = work->transfer[1];
		work->busy[1] = NULL;
		work->transfer[1] = NULL;
	}
}

void running_renew(struct timing_queue *q, struct tally *t)
{
	for (uint32_t i = 0; i < q->count; i++) {
		struct timing_running *work = running_at(q, i);

		work->transfer[1] = NULL;
		work->busy[1] = t && work->busy[0] ? tally_busy(t, work->busy[0]) : NULL;
	}
}
