/* timeline.c - manages the state of a timeline while events are read. */
#include "sink/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/sdk/ledger.h"

enum { LANES = 64 }; /* of a stream */

/* the stream of calls that overlap other slices of their thread: this device, and the tid */
#define OVERLAPS (UINT32_MAX - 1)
/* maximum number of slices that wait for a slice that began at the same time */
enum { HELD_MAX = 64 };

/* A slice that has not been reported. */
struct slice {
	struct pasta_timeline_slice as;
	bool is_region;
	bool is_call; /* the end is known */
	bool cut;     /* as for pasta_timeline_call */
	/* if the slice is held: the number of open slices up to the one for which it waits */
	size_t owner;
};

struct slices {
	struct slice *all;
	size_t count, room;
};

struct thread {
	/* The open slices, the innermost last; and slices that have ended, but began at the same
	 * time as an open slice that contains them. They are held until that slice has ended, so
	 * that the outer of two equal slices is reported first. */
	struct slices open, held;
	uint64_t last; /* time of the thread's last begin or end */
};

struct stream {
	uint32_t count;
	uint32_t number[LANES];
	uint64_t end[LANES];
};

struct proc {
	struct pasta_map *threads; /* struct thread, by tid */
	/* map of struct stream, by the numbers of the device and the stream */
	struct pasta_map *streams;
	uint32_t lanes;
	uint64_t last;
};

/* -- Memory: one counter for each device and level -- */

static void timeline_memory_changed(struct pasta_timeline *t, const struct pasta_allocation *a,
				    const struct pasta_event *ev)
{
	if (!(a->flags & PASTA_ALLOCATION_ALIAS))
		t->ops->memory(t->ctx, ev, a->device, a->level,
			       pasta_ledger_live(t->ledger, a->proc, a->device, a->level));
}

static void timeline_on_alloc(void *state, struct pasta_allocation *a, const struct pasta_event *ev,
			      const struct pasta_where *where)
{
	timeline_memory_changed(state, a, ev);
}

/* If an allocation ends without a free, another allocation has reused its address. The ledger
 * reports the new allocation next, and timeline_on_alloc then reports the changed memory. */
static void timeline_on_free(void *state, struct pasta_allocation *a, const struct pasta_event *ev,
			     const struct pasta_where *where)
{
	if (!(a->flags & PASTA_ALLOCATION_NO_FREE))
		timeline_memory_changed(state, a, ev);
}

static const struct pasta_ledger_def ledger = {
	.size = sizeof(ledger), .on_alloc = timeline_on_alloc, .on_free = timeline_on_free};

void pasta_timeline_memory(struct pasta_timeline *t, const struct pasta_event *ev)
{
	pasta_ledger_event(t->ledger, ev, NULL);
	t->failed |= pasta_ledger_error(t->ledger) != 0;
}

int pasta_timeline_open(struct pasta_timeline *t, const struct pasta_timeline_ops *ops, void *ctx)
{
	*t = (struct pasta_timeline){.ops = ops, .ctx = ctx};
	t->procs = pasta_map_new(sizeof(struct proc));
	t->ledger = pasta_ledger_new(&ledger, t);
	return t->procs && t->ledger ? 0 : -ENOMEM;
}

static void timeline_proc_free(struct proc *p)
{
	struct thread *th;
	size_t at = 0;

	while (p->threads && (th = pasta_map_next(p->threads, &at, NULL))) {
		free(th->open.all);
		free(th->held.all);
	}
	pasta_map_free(p->threads);
	pasta_map_free(p->streams);
}

void pasta_timeline_close(struct pasta_timeline *t)
{
	struct proc *p;
	size_t at = 0;

	while (t->procs && (p = pasta_map_next(t->procs, &at, NULL)))
		timeline_proc_free(p);
	pasta_map_free(t->procs);
	pasta_ledger_free(t->ledger);
	t->procs = NULL;
	t->ledger = NULL;
}

static struct proc *timeline_proc(struct pasta_timeline *t, uint32_t number)
{
	struct proc *p = pasta_map_add(t->procs, number);

	if (p && !p->threads) {
		p->threads = pasta_map_new(sizeof(struct thread));
		p->streams = pasta_map_new(sizeof(struct stream));
	}
	if (p && p->threads && p->streams)
		return p;
	t->failed = true;
	return NULL;
}

void pasta_timeline_saw(struct pasta_timeline *t, uint32_t proc, uint64_t time)
{
	struct proc *p = timeline_proc(t, proc);

	if (p && time > p->last)
		p->last = time;
}

/* -- Slices of threads -- */

/* Insert a slice at a position. */
static void slices_insert(struct pasta_timeline *t, struct slices *s, size_t at,
			  const struct slice *slice)
{
	if (s->count == s->room) {
		size_t room = s->room ? 2 * s->room : 16;
		struct slice *all = reallocarray(s->all, room, sizeof(*all));

		if (!all) {
			t->failed = true;
			return;
		}
		s->all = all;
		s->room = room;
	}
	memmove(&s->all[at + 1], &s->all[at], (s->count - at) * sizeof(*s->all));
	s->all[at] = *slice;
	s->count++;
}

/* Returns the innermost open slice, or NULL. */
static struct slice *timeline_top(const struct thread *th)
{
	return th->open.count ? &th->open.all[th->open.count - 1] : NULL;
}

/* Returns the given time; or, if the thread's last event is later, the time of that event. Slices
 * must stay nested even if an event arrives late. */
static uint64_t timeline_in_order(struct thread *th, uint64_t time)
{
	th->last = time > th->last ? time : th->last;
	return th->last;
}

/* Report held slices, until only `count` are left. */
static void timeline_report_held(struct pasta_timeline *t, struct thread *th, size_t count)
{
	for (size_t i = count; i < th->held.count; i++)
		t->ops->slice(t->ctx, &th->held.all[i].as, NULL);
	th->held.count = count < th->held.count ? count : th->held.count;
}

/* Report a slice that was the innermost open one, or hold it. */
static void timeline_close(struct pasta_timeline *t, struct thread *th, struct slice slice)
{
	const struct slice *outer = timeline_top(th);
	size_t depth = th->open.count, first = th->held.count;

	while (first && th->held.all[first - 1].owner == depth + 1)
		first--;
	if (outer && outer->as.begin == slice.as.begin && th->held.count - first < HELD_MAX) {
		slice.owner = depth;
		slices_insert(t, &th->held, first, &slice);
		for (size_t i = first; i < th->held.count; i++)
			th->held.all[i].owner = depth;
		return;
	}
	t->ops->slice(t->ctx, &slice.as, NULL);
	timeline_report_held(t, th, first);
}

/* Report a call that overlaps another slice of its thread partially. */
static void timeline_overlap(struct pasta_timeline *t, const struct slice *slice)
{
	const struct pasta_event *ev = &slice->as.ev;
	struct pasta_timeline_lane lane =
		pasta_timeline_lane(t, ev->proc, OVERLAPS, ev->tid, slice->as.begin, slice->as.end);

	t->ops->slice(t->ctx, &slice->as, &lane);
}

static struct slice timeline_pop(struct thread *th)
{
	return th->open.all[--th->open.count];
}

/* End the calls that have ended, and the calls that are shortened because a slice begins. */
static void timeline_end_calls(struct pasta_timeline *t, struct thread *th, uint64_t time)
{
	const struct slice *top;

	while ((top = timeline_top(th)) && top->is_call && (top->as.end <= time || top->cut)) {
		struct slice slice = timeline_pop(th);

		slice.as.end = slice.as.end < time ? slice.as.end : time;
		timeline_close(t, th, slice);
	}
}

/* Returns whether a call overlaps another slice partially. `time` is the end of the slices around
 * the call, or of a slice that began in the call (`inner`). */
static bool timeline_is_partial(const struct slice *s, uint64_t time, bool inner)
{
	return s->is_call && ((inner && s->as.end < time) || (s->as.end > time && !s->cut));
}

/* Returns whether the innermost open slice ends when slices end at `time` until `depth` slices are
 * open. A call in which one of these slices began, but that ended earlier, ends, too. */
static bool timeline_ends(const struct thread *th, size_t depth, uint64_t time, bool inner)
{
	const struct slice *top = timeline_top(th);

	return th->open.count > depth || (top && inner && top->is_call && top->as.end < time);
}

/* End the innermost slices until only `depth` slices are open. */
static void timeline_pop_to(struct pasta_timeline *t, struct thread *th, size_t depth,
			    uint64_t time, bool supplied)
{
	bool inner = false;

	time = timeline_in_order(th, time);
	while (timeline_ends(th, depth, time, inner)) {
		struct slice slice = timeline_pop(th);

		if (timeline_is_partial(&slice, time, inner)) {
			timeline_report_held(t, th, 0);
			timeline_overlap(t, &slice);
			continue;
		}
		if (!slice.is_call || slice.as.end > time)
			slice.as.end = time;
		slice.as.supplied = supplied && !slice.is_call && !slice.is_region;
		inner |= !slice.is_call;
		timeline_close(t, th, slice);
	}
}

static void timeline_push(struct pasta_timeline *t, struct thread *th, const struct pasta_event *ev,
			  struct slice slice)
{
	pasta_event_copy(&slice.as.ev, ev);
	slices_insert(t, &th->open, th->open.count, &slice);
}

static void timeline_begin(struct pasta_timeline *t, struct thread *th,
			   const struct pasta_event *ev, bool is_region)
{
	uint64_t time = timeline_in_order(th, ev->time);

	timeline_end_calls(t, th, time);
	timeline_push(t, th, ev, (struct slice){.as.begin = time, .is_region = is_region});
}

/* Returns the index of the innermost open region. If no region is open, returns the depth. */
static size_t timeline_innermost_region(const struct thread *th)
{
	size_t i = th->open.count;

	while (i && !th->open.all[i - 1].is_region)
		i--;
	return i ? i - 1 : th->open.count;
}

static void timeline_op_end(struct pasta_timeline *t, struct thread *th,
			    const struct pasta_event *ev)
{
	size_t at = th->open.count;

	while (at && (th->open.all[at - 1].is_region || th->open.all[at - 1].is_call ||
		      th->open.all[at - 1].as.ev.op_begin.id != ev->op_end.id))
		at--;
	if (at)
		timeline_pop_to(t, th, at - 1, ev->time, ev->sub == PASTA_OP_END_SUPPLIED);
}

static struct thread *timeline_thread(struct pasta_timeline *t, const struct pasta_event *ev)
{
	struct proc *p = timeline_proc(t, ev->proc);
	struct thread *th = p ? pasta_map_add(p->threads, ev->tid) : NULL;

	t->failed |= !th;
	return th;
}

void pasta_timeline_slice(struct pasta_timeline *t, const struct pasta_event *ev)
{
	struct thread *th = timeline_thread(t, ev);

	if (!th)
		return;
	if (ev->kind == PASTA_KIND_OP_BEGIN)
		timeline_begin(t, th, ev, false);
	else if (ev->kind == PASTA_KIND_OP_END)
		timeline_op_end(t, th, ev);
	else if (ev->sub == PASTA_REGION_BEGIN)
		timeline_begin(t, th, ev, true);
	else if (ev->sub == PASTA_REGION_END && timeline_innermost_region(th) < th->open.count)
		timeline_pop_to(t, th, timeline_innermost_region(th), ev->time, false);
}

void pasta_timeline_call(struct pasta_timeline *t, const struct pasta_event *ev, uint64_t dur,
			 bool cut)
{
	struct slice slice = {.as = {.begin = ev->time}, .is_call = true, .cut = cut};
	struct thread *th = timeline_thread(t, ev);
	const struct slice *top;

	slice.as.end = ev->time + dur < dur ? UINT64_MAX : ev->time + dur;
	pasta_timeline_saw(t, ev->proc, slice.as.end);
	if (!th)
		return;
	pasta_event_copy(&slice.as.ev, ev);
	if (ev->time < th->last) {
		timeline_overlap(t, &slice);
		return;
	}
	timeline_end_calls(t, th, ev->time);
	top = timeline_top(th);
	if (top && top->is_call && slice.as.end > top->as.end) {
		if (!cut) {
			timeline_overlap(t, &slice);
			return;
		}
		slice.as.end = top->as.end;
	}
	timeline_in_order(th, ev->time);
	timeline_push(t, th, ev, slice);
}

void pasta_timeline_finish(struct pasta_timeline *t)
{
	size_t at = 0, below;
	struct thread *th;
	struct proc *p;

	while ((p = pasta_map_next(t->procs, &at, NULL))) {
		below = 0;
		while (p->threads && (th = pasta_map_next(p->threads, &below, NULL))) {
			timeline_pop_to(t, th, 0, p->last, true);
			timeline_report_held(t, th, 0);
		}
	}
}

/* -- Lanes of streams -- */

struct pasta_timeline_lane pasta_timeline_lane(struct pasta_timeline *t, uint32_t proc,
					       uint32_t device, uint32_t stream, uint64_t begin,
					       uint64_t end)
{
	struct pasta_timeline_lane lane = {0};
	struct proc *p = timeline_proc(t, proc);
	struct stream *s = p ? pasta_map_add(p->streams, (uint64_t)device << 32 | stream) : NULL;

	if (!s) {
		t->failed = true;
		return lane;
	}
	while (lane.index < s->count && s->end[lane.index] > begin && lane.index + 1 < LANES)
		lane.index++;
	if (lane.index == s->count) {
		s->number[s->count++] = p->lanes++;
		lane.is_new = true;
	}
	lane.number = s->number[lane.index];
	if (end > s->end[lane.index])
		s->end[lane.index] = end;
	return lane;
}
