/* timing.c - divides the time of the devices of all processes, and finds why they were idle. */
#include "process/diagnosis/timing.h"

#include <stdlib.h>

#include <pasta/pending.h>

enum { TIMING_COLLECTIVES = 1 << 20 }; /* collectives that wait for their kernel */

/* -- Making and freeing -- */

struct pasta_timing *pasta_timing_new(void)
{
	struct pasta_timing *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->procs = pasta_map_new(sizeof(struct timing_proc *));
	t->names[0] = pasta_map_new(sizeof(uint32_t));
	t->names[1] = pasta_map_new(sizeof(uint32_t));
	t->collectives = pasta_pending_new(sizeof(uint64_t), TIMING_COLLECTIVES);
	t->layers = pasta_map_new(sizeof(uint32_t));
	if (t->procs && t->names[0] && t->names[1] && t->collectives && t->layers)
		return t;
	pasta_timing_free(t);
	return NULL;
}

static void timing_free_threads(struct timing_proc *p)
{
	struct timing_thread *th;
	size_t at = 0;

	while (p->threads && (th = pasta_map_next(p->threads, &at, NULL)))
		hostlog_clear(&th->log);
	pasta_map_free(p->threads);
	p->threads = NULL;
	p->last_thread = NULL;
}

static void timing_free_proc(struct timing_proc *p)
{
	struct timing_device **d;
	size_t at = 0;

	if (!p)
		return;
	timing_free_threads(p);
	while (p->devices && (d = pasta_map_next(p->devices, &at, NULL)))
		timing_device_free(*d);
	pasta_map_free(p->devices);
	pasta_map_free(p->lines);
	pasta_hist_free(p->periods[0]);
	pasta_hist_free(p->periods[1]);
	free(p->steps);
	free(p);
}

void pasta_timing_free(struct pasta_timing *t)
{
	struct timing_proc **p;
	size_t at = 0;

	if (!t)
		return;
	timing_results_free(t->results);
	while (t->procs && (p = pasta_map_next(t->procs, &at, NULL)))
		timing_free_proc(*p);
	pasta_map_free(t->procs);
	pasta_map_free(t->names[0]);
	pasta_map_free(t->names[1]);
	pasta_map_free(t->layers);
	pasta_pending_free(t->collectives);
	free(t);
}

int pasta_timing_error(const struct pasta_timing *t)
{
	return t->error;
}

/* -- Finding -- */

static struct timing_proc *timing_new_proc(struct pasta_timing *t, uint32_t number)
{
	struct timing_proc *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->timing = t;
	p->proc = number;
	p->threads = pasta_map_new(sizeof(struct timing_thread));
	p->devices = pasta_map_new(sizeof(struct timing_device *));
	p->lines = pasta_map_new(sizeof(uint32_t));
	p->periods[0] = pasta_hist_new();
	if (p->threads && p->devices && p->lines && p->periods[0])
		return p;
	timing_free_proc(p);
	return NULL;
}

static struct timing_proc *timing_proc_of(struct pasta_timing *t, uint32_t number)
{
	struct timing_proc **slot;

	if (t->last && t->last->proc == number)
		return t->last;
	slot = timing_need(t, pasta_map_add(t->procs, number));
	if (!slot)
		return NULL;
	if (!*slot)
		*slot = timing_need(t, timing_new_proc(t, number));
	t->last = *slot;
	return *slot;
}

struct timing_thread *timing_thread_find(struct timing_proc *p, uint32_t tid)
{
	struct timing_thread *th = p->last_thread;

	if (th && th->tid == tid)
		return th;
	th = pasta_map_find(p->threads, tid);
	if (!th && pasta_map_count(p->threads) >= TIMING_THREADS_MAX)
		return NULL;
	if (!th)
		th = timing_need(p->timing, pasta_map_add(p->threads, tid));
	if (!th)
		return NULL;
	th->tid = tid;
	if (!th->log.max)
		th->log.max = pasta_map_count(p->threads) <= TIMING_LOG_THREADS ? TIMING_LOG
										: TIMING_LOG_SMALL;
	p->last_thread = th;
	return th;
}

/* Returns a device of a process; NULL if there are too many, or when out of memory. */
static struct timing_device *timing_device_of(struct timing_proc *p, uint32_t number)
{
	struct timing_device **slot;

	if (p->last_device && p->last_device->device == number)
		return p->last_device;
	slot = pasta_map_find(p->devices, number);
	if (!slot && pasta_map_count(p->devices) >= TIMING_DEVICES_MAX)
		return NULL;
	if (!slot) {
		struct timing_device *d = timing_need(p->timing, timing_device_new(p, number));

		slot = d ? timing_need(p->timing, pasta_map_add(p->devices, number)) : NULL;
		if (!slot) {
			timing_device_free(d);
			return NULL;
		}
		*slot = d;
	}
	p->last_device = *slot;
	return *slot;
}

uint32_t timing_line(struct timing_proc *p, uint32_t python)
{
	struct pasta_stack_frame frame;
	uint32_t *line = python ? pasta_map_find(p->lines, python) : NULL;

	if (line || !python)
		return line ? *line : 0;
	line = timing_need(p->timing, pasta_map_add(p->lines, python));
	if (!line || !pasta_python_frame(p->proc, python, &frame))
		return 0;
	*line = pasta_stack_frame_line(&frame);
	return *line;
}

uint32_t timing_layer(struct pasta_timing *t, uint32_t module)
{
	uint32_t *layer = module ? timing_need(t, pasta_map_add(t->layers, module)) : NULL;

	if (layer && !*layer)
		*layer = pasta_layer_fold(pasta_str(module));
	return layer ? *layer : 0;
}

/* -- Events -- */

static bool timing_is_collective(struct pasta_timing *t, const struct pasta_event *ev)
{
	bool found = pasta_collective_find(t->collectives, ev);

	if (found)
		pasta_collective_done(t->collectives, ev);
	return found || timing_name(t, ev->kernel.name) == TIMING_NAME_COLLECTIVE;
}

static uint64_t timing_on_work(struct pasta_timing *t, struct timing_proc *p,
			       const struct pasta_event *ev, const struct pasta_where *where)
{
	bool kernel = ev->kind == PASTA_KIND_KERNEL, collective = false;
	uint64_t end = timing_add(ev->time, pasta_work_ns(ev)), step = timing_step_at(p, ev->time);
	uint32_t number = kernel			? ev->kernel.device
			  : ev->kind == PASTA_KIND_COPY ? ev->copy.device
							: ev->set.device;
	struct timing_device *d;

	if (kernel)
		collective = timing_is_collective(t, ev);
	if (ev->kind == PASTA_KIND_COPY && ev->sub == PASTA_COPY_H2H)
		return step ? step - 1 : PASTA_NO_STEP;
	if (!p->any_work)
		p->first_work = ev->time;
	p->any_work = true;
	p->last_work = ev->time > p->last_work ? ev->time : p->last_work;
	p->last_end = end > p->last_end ? end : p->last_end;
	if (!(where->flags & PASTA_WHERE_LAUNCH))
		timing_steps_active(p, false);
	d = timing_device_of(p, number);
	if (!d)
		return step ? step - 1 : PASTA_NO_STEP;
	return timing_device_work(d, ev, where,
				  collective ? PASTA_PART_COMMUNICATION
				  : kernel   ? PASTA_PART_COMPUTE
					     : PASTA_PART_COPY);
}

static void timing_on_wait(struct timing_proc *p, const struct pasta_event *ev)
{
	struct timing_device **d = pasta_map_find(p->devices, ev->sync.device);

	if (d)
		timing_device_wait(*d, pasta_pair(ev->sync.context, ev->sync.stream), ev->time);
}

uint64_t pasta_timing_event(struct pasta_timing *t, const struct pasta_event *ev,
			    const struct pasta_where *where, bool *restart)
{
	struct timing_proc *p = t->error ? NULL : timing_proc_of(t, ev->proc);

	if (!p)
		return PASTA_NO_STEP;
	switch (ev->kind) {
	case PASTA_KIND_KERNEL:
	case PASTA_KIND_COPY:
	case PASTA_KIND_SET:
		return timing_on_work(t, p, ev, where);
	case PASTA_KIND_COLLECTIVE:
		timing_need(t, pasta_collective_wait(t->collectives, ev));
		break;
	case PASTA_KIND_ITERATION:
		*restart = timing_steps_iteration(p, ev);
		break;
	case PASTA_KIND_UNMATCHED:
		break;
	case PASTA_KIND_SYNC:
		if (ev->sub == PASTA_SYNC_STREAM_WAIT) {
			timing_on_wait(p, ev);
			break;
		}
		/* fallthrough */
	default:
		timing_host_event(p, ev, where);
	}
	return p->step_count ? p->step_count - 1 : PASTA_NO_STEP;
}

int pasta_timing_merge(struct pasta_timing *t, struct pasta_timing *from)
{
	struct timing_proc **p, **slot;
	size_t at = 0;
	uint64_t number;

	while ((p = pasta_map_next(from->procs, &at, &number))) {
		if (!*p)
			continue;
		slot = timing_need(t, pasta_map_add(t->procs, number));
		if (!slot)
			return -ENOMEM;
		if (*slot)
			return -EEXIST;
		(*p)->timing = t;
		*slot = *p;
		*p = NULL;
	}
	from->last = NULL;
	return 0;
}

/* -- Results -- */

/* Adds a last step that does not count to its predecessor. */
static void timing_drop_step(struct timing_proc *p)
{
	struct timing_device **d;
	size_t at = 0, count = p->confirmed;

	if (p->step_count <= count)
		return;
	while ((d = pasta_map_next(p->devices, &at, NULL)))
		timing_device_drop_step(*d, count);
	if (count)
		p->steps[count - 1].launches += p->steps[count].launches;
	p->step_count = count;
}

static int timing_by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void timing_durations(struct timing_proc *p)
{
	struct pasta_window *w = &p->window;
	uint64_t *ns = timing_need(p->timing, calloc(w->steps + 1, sizeof(*ns)));
	size_t first = p->step_count - w->steps;

	for (size_t i = 0; ns && i < w->steps; i++)
		ns[i] = (first + i + 1 < p->step_count ? p->steps[first + i + 1].begin : w->end) -
			p->steps[first + i].begin;
	if (ns && w->steps) {
		qsort(ns, w->steps, sizeof(*ns), timing_by_value);
		w->step_p50 = ns[(w->steps - 1) / 2];
		w->step_p95 = ns[(w->steps * 95 + 99) / 100 - 1];
		w->step_max = ns[w->steps - 1];
		/* Most steps are much shorter than their work: the host began them far too early.
		 */
		w->ahead = w->step_p50 < (w->end - w->begin) / w->steps / 2;
	}
	free(ns);
}

static void timing_finish_proc(struct timing_proc *p)
{
	struct pasta_window *w = &p->window;
	uint64_t skip = p->confirmed >= TIMING_STEPS_MANY ? TIMING_STEPS_SKIPPED : 0;
	struct timing_device **d;
	size_t at = 0;

	*w = (struct pasta_window){.size = sizeof(*w), .proc = p->proc};
	w->devices = (uint32_t)pasta_map_count(p->devices);
	w->source = p->confirmed ? p->source : PASTA_STEPS_NONE;
	w->all = p->confirmed;
	w->steps = p->confirmed - skip;
	w->begin = p->confirmed ? p->steps[skip].begin : p->first_work;
	w->end = p->last_end;
	if (p->confirmed) {
		uint64_t last = p->steps[p->confirmed - 1].begin;

		w->end = w->end > p->last_launch ? w->end : p->last_launch;
		w->end = w->end > last ? w->end : last;
	}
	w->launches = p->launches[0];
	while ((d = pasta_map_next(p->devices, &at, NULL)))
		timing_device_finish(*d, w->end);
	timing_drop_step(p);
	timing_durations(p);
	timing_free_threads(p);
}

int pasta_timing_finish(struct pasta_timing *t)
{
	struct timing_proc **p;
	size_t at = 0;

	while (!t->error && (p = pasta_map_next(t->procs, &at, NULL)))
		if (*p)
			timing_finish_proc(*p);
	if (!t->error)
		t->results = timing_need(t, timing_results_new(t));
	return t->error;
}

uint64_t pasta_timing_first_step(const struct pasta_timing *t, uint32_t proc)
{
	struct timing_proc *const *p = pasta_map_find(t->procs, proc);

	if (!p || !*p || !(*p)->confirmed)
		return PASTA_NO_STEP;
	return (*p)->confirmed >= TIMING_STEPS_MANY ? TIMING_STEPS_SKIPPED : 0;
}
