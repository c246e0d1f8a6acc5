/*
 * threads.c - writes the spans of threads as nested events, in order of time.
 *
 * If the time of a span is within the time of another span of the same thread, the first span is
 * nested in the other one; spansort.h defines which of two equal spans is the outer one. A span
 * that extends past the end of the span around it is shortened to that end, and counted.
 */
#include <stdlib.h>
#include <string.h>

#include "core/pathnode.h"
#include "import/collective.h"
#include "import/trace.h"

enum { FLOWS = 1 << 20, ASK = 1 << 14, DEPTH_MAX = 1 << 14 };

/* A span that has begun and not ended. */
struct open {
	uint64_t begin, end;
	uint64_t id;   /* the id of an operator; the line of a frame */
	uint32_t name; /* of a region or frame */
	/* the file of a frame; the domain of a region; for an operator, whether it has a sequence
	 * number */
	uint32_t file;
	uint32_t node; /* id of a frame's path in the shard; 0: not written yet */
	bool collective;
	struct pasta_collective_desc desc; /* if the region is a collective, its description */
};

struct stack {
	struct open *items;
	uint32_t count, capacity;
};

struct pasta_nest {
	struct stack ops, regions, frames;
};

struct threads {
	struct pasta_trace *t;
	struct pasta_pending *flows; /* map from flow ids to operator ids */
	/* map from the correlation ids of calls that may wait to the numbers of their tracks */
	struct pasta_pending *calls;
};

void pasta_threads_free(struct pasta_nest *n)
{
	if (!n)
		return;
	free(n->ops.items);
	free(n->regions.items);
	free(n->frames.items);
	free(n);
}

static struct open *threads_top(const struct stack *s)
{
	return s->count ? &s->items[s->count - 1] : NULL;
}

/* Pushes a span. If it extends past the end of the enclosing span, shortens it. Returns NULL when
 * out of memory, or if spans are nested too deeply. */
static struct open *threads_push(struct pasta_trace *t, struct stack *s,
				 const struct pasta_span *span)
{
	const struct open *in = threads_top(s);
	struct open *o;

	if (s->count == s->capacity) {
		uint32_t n = s->capacity ? 2 * s->capacity : 32;
		void *more = n > DEPTH_MAX ? NULL : reallocarray(s->items, n, sizeof(*o));

		if (!more) {
			pasta_fail(t->err, n > DEPTH_MAX ? -EFBIG : -ENOMEM,
				   n > DEPTH_MAX ? "the spans of a thread are nested more than %d "
						   "deep"
						 : "out of memory",
				   DEPTH_MAX);
			return NULL;
		}
		s->items = more;
		s->capacity = n;
		in = threads_top(s);
	}
	o = &s->items[s->count++];
	*o = (struct open){.begin = span->begin, .end = span->end, .name = span->name};
	if (in && in->end < o->end) {
		o->end = in->end;
		t->info->crossed++;
	}
	return o;
}

static void threads_emit(struct pasta_trace *t, const struct pasta_track *track,
			 struct pasta_event *ev)
{
	pasta_trace_event(t, PASTA_TRACE_TRACKS + track->number, ev, 0);
}

/* -- Ends -- */

static void end_op(struct pasta_trace *t, const struct pasta_track *track, const struct open *o)
{
	struct pasta_event ev = PASTA_TRACE_EVENT(op_end, OP_END, track->tid, o->end);

	ev.op_end.id = o->id;
	threads_emit(t, track, &ev);
}

static void end_region(struct pasta_trace *t, const struct pasta_track *track, const struct open *o,
		       uint32_t depth)
{
	struct pasta_event ev = PASTA_TRACE_EVENT(region, REGION, track->tid, o->end);

	ev.sub = PASTA_REGION_END;
	ev.region.name = o->name;
	ev.region.domain = o->file;
	ev.region.depth = depth;
	threads_emit(t, track, &ev);
}

/* Returns whether an open span is over at the time when another span begins. `instant`: the other
 * span has no duration. A span that ends at the time of an instant still contains the instant. */
static bool is_over(const struct open *o, uint64_t time, bool instant)
{
	return o && (o->end < time || (o->end == time && !instant));
}

/* Ends all spans that are over, in order of their ends. */
static void threads_finish(struct pasta_trace *t, const struct pasta_track *track, uint64_t time,
			   bool instant)
{
	struct pasta_nest *n = track->nest;

	for (;;) {
		const struct open *op = threads_top(&n->ops), *region = threads_top(&n->regions);
		bool op_over = is_over(op, time, instant);
		bool region_over = is_over(region, time, instant);

		if (op_over && (!region_over || op->end <= region->end)) {
			end_op(t, track, op);
			n->ops.count--;
		} else if (region_over) {
			end_region(t, track, region, n->regions.count--);
		} else {
			break;
		}
	}
	while (is_over(threads_top(&n->frames), time, instant))
		n->frames.count--;
}

/* -- Begins -- */

/* Returns the path of the innermost frame. Frames are written only when a record needs them. */
static uint32_t path_of(struct pasta_trace *t, struct pasta_nest *n)
{
	struct stack *s = &n->frames;
	uint32_t known = s->count, node;

	while (known && !s->items[known - 1].node)
		known--;
	node = known ? s->items[known - 1].node : 0;
	for (; known < s->count; known++) {
		struct open *o = &s->items[known];
		struct pasta_pathnode path = {.parent = node,
					      .function = o->name,
					      .file = o->file,
					      .line = (uint32_t)o->id};
		uint8_t bytes[PASTA_PATHNODE_SIZE];

		pasta_pathnode_encode(&path, bytes);
		node = pasta_trace_str(t, (const char *)bytes, sizeof(bytes));
		o->node = node;
	}
	return node;
}

static void begin_op(struct threads *th, const struct pasta_track *track,
		     const struct pasta_span *s)
{
	struct pasta_event ev = PASTA_TRACE_EVENT(op_begin, OP_BEGIN, track->tid, s->begin);
	struct open *o = threads_push(th->t, &track->nest->ops, s);

	if (!o)
		return;
	o->id = ++th->t->ops;
	o->file = s->a != 0;
	ev.op_begin.id = o->id;
	ev.op_begin.seq = s->a;
	ev.op_begin.name = s->name;
	ev.op_begin.inputs = s->extra;
	ev.op_begin.scalars = (uint32_t)(s->b >> 32);
	ev.op_begin.strides = (uint32_t)s->b;
	ev.op_begin.flags = s->sub ? PASTA_OP_BACKWARD : 0;
	ev.op_begin.stack = path_of(th->t, track->nest);
	threads_emit(th->t, track, &ev);
}

static void begin_region(struct threads *th, const struct pasta_track *track,
			 const struct pasta_span *s)
{
	struct pasta_event ev = PASTA_TRACE_EVENT(region, REGION, track->tid, s->begin);
	struct pasta_event iteration =
		PASTA_TRACE_EVENT(iteration, ITERATION, track->tid, s->begin);
	struct open *o = threads_push(th->t, &track->nest->regions, s);

	if (!o)
		return;
	o->file = s->extra;
	o->collective = s->sub == PASTA_REGION_COLLECTIVE;
	if (o->collective)
		o->desc = (struct pasta_collective_desc){(uint32_t)(s->b >> 32), (uint32_t)s->b,
							 s->a};
	if (s->sub == PASTA_REGION_ITERATION) {
		iteration.iteration.index = s->a;
		threads_emit(th->t, track, &iteration);
	}
	ev.sub = PASTA_REGION_BEGIN;
	ev.region.name = s->name;
	ev.region.domain = s->extra;
	ev.region.depth = track->nest->regions.count;
	threads_emit(th->t, track, &ev);
}

/* -- Calls -- */

static void threads_load(struct threads *th, const struct pasta_track *track,
			 const struct pasta_span *s)
{
	struct pasta_event ev = PASTA_TRACE_EVENT(module, MODULE, track->tid, s->begin);

	ev.sub = PASTA_MODULE_LOAD;
	ev.module.id = ++th->t->modules;
	ev.module.name = s->name;
	ev.module.dur = s->end - s->begin;
	threads_emit(th->t, track, &ev);
}

/* Writes the wait of a call, or remembers the call's thread if the source reports waits apart. */
static void threads_wait(struct threads *th, const struct pasta_track *track,
			 const struct pasta_span *s, uint8_t sub)
{
	struct pasta_event ev = PASTA_TRACE_EVENT(sync, SYNC, track->tid, s->begin);
	uint32_t *number;

	if (th->t->waits) {
		number = s->a ? pasta_pending_add(th->calls, 0, s->a) : NULL;
		if (number)
			*number = track->number;
		return;
	}
	ev.sub = sub;
	ev.sync.dur = s->end - s->begin;
	ev.sync.corr = s->a;
	threads_emit(th->t, track, &ev);
}

/* Writes a wait that the source reports apart from its call. */
static void threads_sync(struct threads *th, const struct pasta_span *s)
{
	const uint32_t *number = s->a ? pasta_pending_find(th->calls, 0, s->a) : NULL;
	const struct pasta_track *track = number ? th->t->by_number[*number] : NULL;
	struct pasta_event ev = PASTA_TRACE_EVENT(sync, SYNC, track ? track->tid : 0, s->begin);

	ev.sub = s->sub;
	ev.sync.dur = s->end - s->begin;
	ev.sync.corr = s->a;
	ev.sync.context = s->name;
	ev.sync.stream = s->extra;
	ev.sync.device = (uint32_t)(s->b >> 32);
	ev.sync.event = (uint32_t)s->b;
	pasta_trace_event(th->t, track ? PASTA_TRACE_TRACKS + track->number : PASTA_TRACE_DEVICE,
			  &ev, 0);
}

static void threads_call(struct threads *th, const struct pasta_track *track,
			 const struct pasta_span *s)
{
	struct pasta_event api = PASTA_TRACE_EVENT(api, API, track->tid, s->begin);
	struct pasta_event launch = PASTA_TRACE_EVENT(launch, LAUNCH, track->tid, s->begin);
	const struct open *region = threads_top(&track->nest->regions);
	uint32_t work = (uint32_t)s->b, other = (uint32_t)(s->b >> 32);

	api.sub = s->sub;
	api.api.dur = s->end - s->begin;
	api.api.corr = s->a;
	api.api.name = s->name;
	api.api.status = s->extra;
	threads_emit(th->t, track, &api);
	if (other == PASTA_CALL_LOAD)
		threads_load(th, track, s);
	else if (other)
		threads_wait(th, track, s, (uint8_t)other);
	if (work && region && region->collective)
		pasta_collective_describe(th->t, s->a, &region->desc);
	if (!work || !pasta_trace_enabled(th->t, PASTA_MASK(LAUNCH)))
		return;
	launch.launch.corr = s->a;
	launch.launch.work = work;
	launch.launch.stack = path_of(th->t, track->nest);
	threads_emit(th->t, track, &launch);
}

static void begin_frame(struct threads *th, const struct pasta_track *track,
			const struct pasta_span *s)
{
	struct open *o = threads_push(th->t, &track->nest->frames, s);

	if (!o)
		return;
	o->id = s->a;
	o->file = s->extra;
}

/* Returns the id of the operator that has a sequence number and begins at the same time as the
 * flow, or 0. */
static uint64_t op_of_flow(const struct stack *ops, uint64_t time)
{
	for (uint32_t i = ops->count; i-- > 0 && ops->items[i].begin == time;)
		if (ops->items[i].file)
			return ops->items[i].id;
	return ops->count ? ops->items[ops->count - 1].id : 0;
}

static void threads_flow(struct threads *th, const struct pasta_track *track,
			 const struct pasta_span *s)
{
	struct pasta_event ev = PASTA_TRACE_EVENT(link, LINK, track->tid, s->begin);
	uint64_t op = op_of_flow(&track->nest->ops, s->begin), *from;

	if (!op)
		return;
	if (!s->sub) {
		from = pasta_pending_add(th->flows, 0, s->a);
		if (from)
			*from = op;
		return;
	}
	from = pasta_pending_find(th->flows, 0, s->a);
	if (!from)
		return;
	ev.sub = PASTA_LINK_BACKWARD;
	ev.link.from = *from;
	ev.link.to = op;
	threads_emit(th->t, track, &ev);
}

static void threads_span(struct threads *th, const struct pasta_span *s)
{
	struct pasta_track *track = NULL;

	if (s->what == PASTA_SPAN_SYNC) {
		threads_sync(th, s);
		return;
	}
	track = th->t->by_number[s->track];
	if (!track->nest)
		track->nest = calloc(1, sizeof(*track->nest));
	if (!track->nest) {
		pasta_fail(th->t->err, -ENOMEM, "out of memory");
		return;
	}
	threads_finish(th->t, track, s->begin, s->begin == s->end);
	switch (s->what) {
	case PASTA_SPAN_OP:
		begin_op(th, track, s);
		break;
	case PASTA_SPAN_REGION:
		begin_region(th, track, s);
		break;
	case PASTA_SPAN_CALL:
		threads_call(th, track, s);
		break;
	case PASTA_SPAN_FRAME:
		begin_frame(th, track, s);
		break;
	case PASTA_SPAN_FLOW:
		threads_flow(th, track, s);
		break;
	default:
		break;
	}
}

static int threads_walk(struct threads *th)
{
	const struct pasta_import_options *o = th->t->options;
	uint64_t total = pasta_spansort_count(th->t->spans), done = 0;
	const struct pasta_span *span;
	int r;

	while ((r = pasta_spansort_next(th->t->spans, &span, th->t->err)) > 0) {
		threads_span(th, span);
		if (th->t->err->code)
			return th->t->err->code;
		if (!(++done % ASK) && o->go_on && !o->go_on(o->ctx, done, total))
			return pasta_fail(th->t->err, -EINTR, "interrupted");
	}
	return r;
}

int pasta_threads_write(struct pasta_trace *t)
{
	struct threads th = {.t = t,
			     .flows = pasta_pending_new(sizeof(uint64_t), FLOWS),
			     .calls = pasta_pending_new(sizeof(uint32_t), FLOWS)};
	const struct pasta_track *track;
	size_t at = 0;

	if (th.flows && th.calls)
		threads_walk(&th);
	else
		pasta_fail(t->err, -ENOMEM, "out of memory");
	while (!t->err->code && (track = pasta_map_next(t->tracks, &at, NULL)))
		if (track->nest)
			threads_finish(t, track, UINT64_MAX, false);
	pasta_pending_free(th.flows);
	pasta_pending_free(th.calls);
	return t->err->code;
}
