/* devicetime.c - divides the time of a device into parts and gaps, in the order of time. */
#include <stdlib.h>

#include "process/diagnosis/timing.h"

static struct pasta_timing *device_timing(const struct timing_device *d)
{
	return d->proc->timing;
}

static void device_check(struct timing_device *d, int error)
{
	if (error)
		device_timing(d)->error = error;
}

struct timing_device *timing_device_new(struct timing_proc *p, uint32_t device)
{
	struct timing_device *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->proc = p;
	d->device = device;
	d->epoch = p->epoch;
	d->at = p->first_work;
	d->tally[0] = tally_new(d->at);
	if (p->step_count && p->steps[0].begin < d->at)
		d->at = p->steps[0].begin;
	d->streams = pasta_map_new(sizeof(struct timing_stream));
	if (d->tally[0] && d->streams)
		return d;
	timing_device_free(d);
	return NULL;
}

void timing_device_free(struct timing_device *d)
{
	if (!d)
		return;
	tally_free(d->tally[0]);
	tally_free(d->tally[1]);
	pasta_map_free(d->streams);
	free(d->rows);
	free(d->deferred);
	free(d->samples);
	free(d);
}

/* -- Windows -- */

/* Makes tally[1], which may be NULL, the first tally. */
static void device_shift(struct timing_device *d)
{
	tally_free(d->tally[0]);
	d->tally[0] = d->tally[1];
	d->tally[1] = NULL;
	for (size_t i = 0; i < PASTA_PART_IDLE; i++)
		running_shift(&d->running[i]);
}

/* Begins a new second tally. */
static void device_renew(struct timing_device *d, uint64_t begin)
{
	tally_free(d->tally[1]);
	d->tally[1] = timing_need(device_timing(d), tally_new(begin));
	for (size_t i = 0; i < PASTA_PART_IDLE; i++)
		running_renew(&d->running[i], d->tally[1]);
	if (d->tally[1])
		device_check(d, tally_error(d->tally[1]));
}

/* Replaces the first tally if the process's window begins with the second. */
static void device_replace(struct timing_device *d)
{
	static const uint64_t first[] = {0, TIMING_STEPS_SKIPPED};

	for (size_t i = 0; i < 2; i++) {
		if (!d->proc->replaced[i] || d->replaced[i] || d->step <= first[i])
			continue;
		d->replaced[i] = true;
		device_shift(d);
	}
}

/* The steps of the process start again, later than `at`. */
static void device_restart(struct timing_device *d)
{
	device_renew(d, d->at);
	device_shift(d);
	d->epoch = d->proc->epoch;
	d->step = 0;
	d->row_count = 0;
	d->replaced[0] = d->replaced[1] = false;
}

static void device_add_row(struct timing_device *d, const struct timing_step *s)
{
	struct pasta_step *rows;

	if (d->row_count + 1 != d->step || d->proc->rows == TIMING_ROWS_MAX)
		return;
	if (d->row_count == d->row_room) {
		size_t room = d->row_room ? 2 * d->row_room : 16;

		rows = timing_need(device_timing(d), reallocarray(d->rows, room, sizeof(*rows)));
		if (!rows)
			return;
		d->rows = rows;
		d->row_room = room;
	}
	d->proc->rows++;
	d->rows[d->row_count++] = (struct pasta_step){.size = sizeof(*rows),
						      .proc = d->proc->proc,
						      .device = d->device,
						      .number = d->step - 1,
						      .iteration = s->iteration,
						      .begin = s->begin};
}

/* Begins the steps that begin at a time or earlier. */
static void device_cross(struct timing_device *d, uint64_t time)
{
	const struct timing_proc *p = d->proc;

	while (d->step < p->step_count && p->steps[d->step].begin <= time) {
		const struct timing_step *s = &p->steps[d->step];

		if (!d->step || d->step == TIMING_STEPS_SKIPPED) {
			device_replace(d);
			device_renew(d, s->begin);
		}
		d->step++;
		device_add_row(d, s);
	}
	device_replace(d);
}

static struct pasta_step *device_row(struct timing_device *d)
{
	return d->step && d->step <= d->row_count ? &d->rows[d->step - 1] : NULL;
}

/* -- Busy time -- */

static void device_add_part(struct timing_device *d, size_t part, uint64_t to)
{
	struct pasta_step *row = device_row(d);

	for (size_t i = 0; i < 2; i++)
		if (d->tally[i])
			d->tally[i]->usage.part[part] += to - d->at;
	if (row)
		row->part[part] += to - d->at;
	running_add(&d->running[part], d->at, to);
	d->at = to;
}

/* Advances to `time`, or to the end of all work if that is earlier. */
static void device_run(struct timing_device *d, uint64_t time)
{
	const struct timing_proc *p = d->proc;

	while (d->at < time) {
		uint64_t stop = time;
		size_t part = 0;

		device_cross(d, d->at);
		while (part < PASTA_PART_IDLE && d->end[part] <= d->at)
			part++;
		if (part == PASTA_PART_IDLE)
			return;
		if (d->end[part] < stop)
			stop = d->end[part];
		if (d->step < p->step_count && p->steps[d->step].begin < stop)
			stop = p->steps[d->step].begin;
		device_add_part(d, part, stop);
	}
}

/* -- Gaps -- */

void timing_device_gap(struct timing_device *d, const struct pasta_gap *gap)
{
	const struct timing_proc *p = d->proc;
	uint32_t layer = timing_layer(p->timing, gap->module);
	uint64_t step = timing_step_at(p, gap->begin);

	for (size_t i = 0; i < 2; i++)
		if (d->tally[i])
			device_check(d, tally_gap(d->tally[i], gap, layer));
	for (step = step ? step - 1 : 0; step < d->row_count && p->steps[step].begin < gap->end;
	     step++) {
		uint64_t begin = p->steps[step].begin, end = gap->end;

		begin = begin > gap->begin ? begin : gap->begin;
		if (step + 1 < p->step_count && p->steps[step + 1].begin < end)
			end = p->steps[step + 1].begin;
		if (end <= begin)
			continue;
		d->rows[step].part[PASTA_PART_IDLE] += end - begin;
		d->rows[step].cause[gap->cause] += end - begin;
	}
}

static struct pasta_gap device_new_gap(const struct timing_device *d, uint64_t end)
{
	return (struct pasta_gap){.size = sizeof(struct pasta_gap),
				  .proc = d->proc->proc,
				  .device = d->device,
				  .cause = PASTA_CAUSE_UNKNOWN,
				  .begin = d->at,
				  .end = end,
				  .step = d->step ? d->step - 1 : PASTA_NO_STEP};
}

/* -- Work -- */

/* Returns the stream of work, or NULL if there are too many streams. */
static struct timing_stream *device_stream(struct timing_device *d, uint64_t key)
{
	struct timing_stream *s = pasta_map_find(d->streams, key);

	if (s || pasta_map_count(d->streams) >= TIMING_STREAMS_MAX)
		return s;
	return timing_need(device_timing(d), pasta_map_add(d->streams, key));
}

void timing_device_wait(struct timing_device *d, uint64_t stream, uint64_t time)
{
	struct timing_stream *s = device_stream(d, stream);

	if (!s)
		return;
	if (s->count == TIMING_WAITS_MAX) {
		s->first = (s->first + 1) % TIMING_WAITS_MAX;
		s->count--;
	}
	s->waits[(s->first + s->count++) % TIMING_WAITS_MAX] = time;
}

/* Returns whether the stream was made to wait since its previous work was launched. */
static bool device_waited(struct timing_stream *s, uint64_t launched)
{
	bool waited = false;

	while (s && s->count && s->waits[s->first] <= launched) {
		s->first = (s->first + 1) % TIMING_WAITS_MAX;
		s->count--;
		waited = true;
	}
	return waited;
}

/* Adds a copy to the rows of the transfers. */
static void device_count_copy(struct timing_device *d, const struct pasta_event *ev,
			      const struct pasta_where *where, struct timing_running *work)
{
	const struct pasta_scope *op = where->scope ? where->scope->op : NULL;
	struct timing_transfer key = {0};

	work->small = ev->copy.bytes < TIMING_SMALL_COPY;
	key.key.direction = ev->sub;
	key.key.source = ev->copy.src_memory;
	key.key.target = ev->copy.dst_memory;
	key.key.line = timing_line(d->proc, pasta_python_of(ev, where));
	key.key.op = op ? op->name : 0;
	for (size_t i = 0; i < 2; i++) {
		if (!d->tally[i])
			continue;
		d->tally[i]->usage.copies++;
		work->transfer[i] =
			timing_need(device_timing(d), tally_copy(d->tally[i], ev, &key, d->step));
	}
}

static void device_count(struct timing_device *d, const struct pasta_event *ev,
			 const struct pasta_where *where, struct timing_running *work,
			 uint32_t part)
{
	bool kernel = ev->kind == PASTA_KIND_KERNEL, copy = ev->kind == PASTA_KIND_COPY;
	struct pasta_step *row = device_row(d);
	struct timing_busy key = {0};

	key.key.part = part;
	key.key.kind = ev->kind;
	key.key.name = kernel ? ev->kernel.name : 0;
	key.key.direction = copy ? ev->sub : 0;
	for (size_t i = 0; i < 2; i++) {
		if (!d->tally[i])
			continue;
		work->busy[i] =
			timing_need(device_timing(d), tally_work(d->tally[i], &key, d->step));
		if (kernel)
			device_check(d, tally_kernel(d->tally[i], ev->kernel.dur));
		d->tally[i]->usage.fills += ev->kind == PASTA_KIND_SET;
	}
	if (copy)
		device_count_copy(d, ev, where, work);
	if (kernel && row)
		row->kernels++;
}

/* Remembers the work that ends last. */
static void device_note_last(struct timing_device *d, const struct pasta_event *ev,
			     const struct pasta_where *where, uint64_t stream)
{
	d->last.stream = stream;
	d->last.op = where->op;
	d->last.scope = where->scope;
	d->last.launched = where->launched;
	d->last.tid = where->tid;
	d->last.known = where->flags & PASTA_WHERE_LAUNCH;
	d->last.kind = ev->kind;
	d->last.sub = ev->sub;
	d->last.source = ev->kind == PASTA_KIND_COPY ? ev->copy.src_memory : 0;
	d->last.target = ev->kind == PASTA_KIND_COPY ? ev->copy.dst_memory : 0;
}

static uint64_t device_stream_key(const struct pasta_event *ev)
{
	return ev->kind == PASTA_KIND_KERNEL ? pasta_pair(ev->kernel.context, ev->kernel.stream)
	       : ev->kind == PASTA_KIND_COPY ? pasta_pair(ev->copy.context, ev->copy.stream)
					     : pasta_pair(ev->set.context, ev->set.stream);
}

uint64_t timing_device_work(struct timing_device *d, const struct pasta_event *ev,
			    const struct pasta_where *where, enum pasta_part part)
{
	struct timing_next next = {.ev = ev, .where = where, .stream = device_stream_key(ev)};
	struct timing_running work = {.end = timing_add(ev->time, pasta_work_ns(ev))};
	uint64_t end = work.end, busy = 0;
	struct timing_stream *stream = device_stream(d, next.stream);

	if (d->epoch != d->proc->epoch)
		device_restart(d);
	next.waited = device_waited(stream, where->launched);
	device_run(d, ev->time);
	device_cross(d, ev->time);
	timing_device_sample(d, where);
	if (d->at < ev->time) {
		struct pasta_gap gap = device_new_gap(d, ev->time);

		timing_cause(d, &gap, &next);
		d->at = ev->time;
	}
	device_count(d, ev, where, &work, part);
	if (stream)
		stream->last = d->at + 1;
	for (size_t i = 0; i < PASTA_PART_IDLE; i++)
		busy = d->end[i] > busy ? d->end[i] : busy;
	if (end >= busy)
		device_note_last(d, ev, where, next.stream);
	if (end > d->end[part] && end > d->at)
		running_push(&d->running[part], d->at, &work);
	d->end[part] = end > d->end[part] ? end : d->end[part];
	return d->step ? d->step - 1 : PASTA_NO_STEP;
}

void timing_device_finish(struct timing_device *d, uint64_t end)
{
	if (d->epoch != d->proc->epoch)
		device_restart(d);
	device_run(d, end);
	device_cross(d, end);
	if (d->at < end) {
		struct pasta_gap gap = device_new_gap(d, end);

		timing_device_gap(d, &gap);
		d->at = end;
	}
	timing_device_flush(d);
}

void timing_device_drop_step(struct timing_device *d, size_t count)
{
	struct pasta_step *last = d->row_count > count ? &d->rows[count] : NULL;

	if (last && count) {
		struct pasta_step *into = last - 1;

		for (size_t i = 0; i < PASTA_PART_COUNT; i++)
			into->part[i] += last->part[i];
		for (size_t i = 0; i < PASTA_CAUSE_COUNT; i++)
			into->cause[i] += last->cause[i];
		into->kernels += last->kernels;
	}
	d->row_count = d->row_count < count ? d->row_count : count;
}
