/* timeline.c - manages the state of a timeline while events are read. */
#include "sink/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/sdk/ledger.h"

enum { LANES = 64 }; /* of a stream */

/* A slice that has begun and not ended. */
struct slice {
	uint64_t op; /* an operator's id */
	uint32_t name;
	bool is_region;
};

struct thread {
	struct slice *open;
	size_t depth, room, regions; /* `regions`: how many of the open slices are regions */
	uint64_t last;		     /* time of the thread's last begin or end */
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

	while (p->threads && (th = pasta_map_next(p->threads, &at, NULL)))
		free(th->open);
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

static const char *timeline_name(const struct slice *s)
{
	return pasta_str(s->name);
}

/* Returns the given time; or, if the thread's last event is later, the time of that event. Slices
 * must stay nested even if an event arrives late. */
static uint64_t timeline_in_order(struct thread *th, uint64_t time)
{
	th->last = time > th->last ? time : th->last;
	return th->last;
}

static void timeline_push(struct pasta_timeline *t, struct thread *th, const struct pasta_event *ev,
			  struct slice s)
{
	if (th->depth == th->room) {
		size_t room = th->room ? 2 * th->room : 16;
		struct slice *open = reallocarray(th->open, room, sizeof(*open));

		if (!open) {
			t->failed = true;
			return;
		}
		th->open = open;
		th->room = room;
	}
	th->open[th->depth++] = s;
	th->regions += s.is_region;
	t->ops->begin(t->ctx, ev, timeline_name(&s), timeline_in_order(th, ev->time));
}

/* End the innermost slices until only `depth` slices are open. */
static void timeline_pop_to(struct pasta_timeline *t, struct thread *th, uint32_t proc,
			    uint32_t tid, size_t depth, uint64_t time, bool supplied)
{
	while (th->depth > depth) {
		bool is_region = th->open[--th->depth].is_region;

		th->regions -= is_region;
		t->ops->end(t->ctx, proc, tid, timeline_in_order(th, time), supplied && !is_region);
	}
}

/* Returns the index of the innermost open region. If no region is open, returns the depth. */
static size_t timeline_innermost_region(const struct thread *th)
{
	size_t i = th->depth;

	while (i && !th->open[i - 1].is_region)
		i--;
	return i ? i - 1 : th->depth;
}

static void timeline_op_end(struct pasta_timeline *t, struct thread *th,
			    const struct pasta_event *ev)
{
	size_t at = th->depth;

	while (at && (th->open[at - 1].is_region || th->open[at - 1].op != ev->op_end.id))
		at--;
	if (at)
		timeline_pop_to(t, th, ev->proc, ev->tid, at - 1, ev->time,
				ev->sub == PASTA_OP_END_SUPPLIED);
}

void pasta_timeline_slice(struct pasta_timeline *t, const struct pasta_event *ev)
{
	struct proc *p = timeline_proc(t, ev->proc);
	struct thread *th = p ? pasta_map_add(p->threads, ev->tid) : NULL;

	if (!th)
		t->failed = true;
	else if (ev->kind == PASTA_KIND_OP_BEGIN)
		timeline_push(t, th, ev,
			      (struct slice){.op = ev->op_begin.id, .name = ev->op_begin.name});
	else if (ev->kind == PASTA_KIND_OP_END)
		timeline_op_end(t, th, ev);
	else if (ev->sub == PASTA_REGION_BEGIN)
		timeline_push(t, th, ev,
			      (struct slice){.name = ev->region.name, .is_region = true});
	else if (ev->sub == PASTA_REGION_END)
		timeline_pop_to(t, th, ev->proc, ev->tid, timeline_innermost_region(th), ev->time,
				false);
}

void pasta_timeline_finish(struct pasta_timeline *t)
{
	size_t at = 0, below;
	uint64_t proc, tid;
	struct thread *th;
	struct proc *p;

	while ((p = pasta_map_next(t->procs, &at, &proc))) {
		below = 0;
		while (p->threads && (th = pasta_map_next(p->threads, &below, &tid)))
			timeline_pop_to(t, th, (uint32_t)proc, (uint32_t)tid, 0, p->last, true);
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
