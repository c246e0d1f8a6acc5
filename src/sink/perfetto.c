/* perfetto.c - writes all events as a timeline for Perfetto and Chrome. docs/timeline.md describes
 * it. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "process/read/loss.h"
#include "process/join/directory.h"
#include "process/join/reader.h"
#include "process/join/symbols.h"
#include "sink/sink.h"
#include "sink/timeline.h"
#include "sink/traceevent.h"

#define KINDS                                                                                      \
	(PASTA_MASK(LAUNCH) | PASTA_MASK(KERNEL) | PASTA_MASK(COPY) | PASTA_MASK(SET) |            \
	 PASTA_MASK(ALLOC) | PASTA_MASK(FREE) | PASTA_MASK(SYNC) | PASTA_MASK(API) |               \
	 PASTA_MASK(OP_BEGIN) | PASTA_MASK(OP_END) | PASTA_MASK(REGION) | PASTA_MASK(ITERATION) |  \
	 PASTA_MASK(COUNTER) | PASTA_MASK(MODULE) | PASTA_MASK(DEVICE) | PASTA_MASK(THREAD) |      \
	 PASTA_MASK(UVM) | PASTA_MASK(EVENT_RECORD))

#define DEVICE_TID 0x40000000u /* tid of a device's first lane, above any tid of Linux */
/* duration in ns of the slice that is drawn for a launch, because an arrow must start at a slice */
#define LAUNCH_NS 1
enum { FRAMES = 128 };

struct perfetto {
	struct pasta_traceevent out;
	struct pasta_timeline timeline;
	const struct pasta_stream *stream;
};

/* The pid of the track is the number of the shard, because processes of different hosts may have
 * the same pid. */
static struct pasta_track perfetto_thread_track(uint32_t proc, uint32_t tid)
{
	return (struct pasta_track){.pid = proc + 1, .tid = tid};
}

/* -- Slices on threads -- */

static void perfetto_live_memory(void *ctx, const struct pasta_event *ev, uint32_t device,
				 uint32_t level, uint64_t bytes)
{
	struct perfetto *p = ctx;
	char name[64], where[32];

	snprintf(name, sizeof(name), "live %s memory, %s", pasta_level_text(level),
		 pasta_device_text(device, where, sizeof(where)));
	pasta_traceevent_begin(&p->out, 'C', name, perfetto_thread_track(ev->proc, ev->tid),
			       ev->time);
	pasta_traceevent_uint(&p->out, "bytes", bytes);
	pasta_traceevent_end(&p->out);
}

static void perfetto_instant(struct perfetto *p, const struct pasta_event *ev, const char *name,
			     const char *scope)
{
	pasta_traceevent_begin(&p->out, 'i', name, perfetto_thread_track(ev->proc, ev->tid),
			       ev->time);
	pasta_traceevent_member(&p->out, "s", scope);
	pasta_traceevent_end(&p->out);
}

static void perfetto_region(struct perfetto *p, const struct pasta_event *ev)
{
	if (ev->sub == PASTA_REGION_MARK)
		perfetto_instant(p, ev, pasta_str(ev->region.name), "t");
	else
		pasta_timeline_slice(&p->timeline, ev);
}

static void perfetto_iteration(struct perfetto *p, const struct pasta_event *ev)
{
	char name[40];

	snprintf(name, sizeof(name), "iteration %" PRIu64, ev->iteration.index);
	perfetto_instant(p, ev, name, "p");
}

/* -- Devices -- */

static uint64_t perfetto_flow(uint32_t proc, uint32_t context, uint64_t corr)
{
	return corr ^ (uint64_t)context << 40 ^ (uint64_t)proc << 48;
}

static void perfetto_stack(struct perfetto *p, uint32_t proc, uint32_t ref)
{
	struct pasta_stack_frame frames[FRAMES];
	size_t n = pasta_stack_frames(proc, ref, frames, FRAMES);
	char text[1000];

	if (!n)
		return;
	pasta_traceevent_list(&p->out, "stack");
	for (size_t i = 0; i < n && i < FRAMES; i++)
		pasta_json_str(p->out.json, pasta_stack_frame_text(&frames[i], text, sizeof(text)));
	pasta_json_list_end(p->out.json);
}

/* Write the arguments of a region or operator. */
static void perfetto_scope_args(struct perfetto *p, const struct pasta_timeline_slice *slice)
{
	const struct pasta_op_begin_record *op = &slice->ev.op_begin;

	if (slice->ev.kind != PASTA_KIND_OP_BEGIN)
		return;
	if (op->seq)
		pasta_traceevent_uint(&p->out, "seq", op->seq);
	if (op->module)
		pasta_traceevent_text(&p->out, "module", pasta_str(op->module));
	if (op->inputs)
		pasta_traceevent_text(&p->out, "inputs", pasta_str(op->inputs));
	if (op->scalars)
		pasta_traceevent_text(&p->out, "scalars", pasta_str(op->scalars));
	if (slice->supplied)
		pasta_traceevent_text(&p->out, "end", "not recorded");
}

/* Returns the name of a slice, and sets *cat to its category and *corr to its correlation id. */
static const char *perfetto_slice_name(const struct pasta_event *ev, const char **cat,
				       uint64_t *corr)
{
	*corr = 0;
	switch (ev->kind) {
	case PASTA_KIND_OP_BEGIN:
		*cat = "op";
		return pasta_str(ev->op_begin.name);
	case PASTA_KIND_API:
		*cat = "api";
		*corr = ev->api.corr;
		return pasta_str(ev->api.name);
	case PASTA_KIND_SYNC:
		*cat = "sync";
		*corr = ev->sync.corr;
		return "sync";
	case PASTA_KIND_MODULE:
		*cat = "module";
		return pasta_str(ev->module.name);
	case PASTA_KIND_LAUNCH:
		*cat = "launch";
		*corr = ev->launch.corr;
		return ev->launch.name ? pasta_str(ev->launch.name) : "launch";
	default:
		*cat = "region";
		return pasta_str(ev->region.name);
	}
}

/* Returns the track of a slice: that of its thread, or of calls of this thread that overlap other
 * slices. */
static struct pasta_track perfetto_slice_track(struct perfetto *p, const struct pasta_event *ev,
					       const struct pasta_timeline_lane *lane)
{
	struct pasta_track track = perfetto_thread_track(ev->proc, ev->tid);
	char name[64];

	if (!lane)
		return track;
	track.tid = DEVICE_TID + lane->number;
	snprintf(name, sizeof(name), "overlapping calls of thread %" PRIu32 " (%" PRIu32 ")",
		 ev->tid, lane->index + 1);
	if (lane->is_new)
		pasta_traceevent_name(&p->out, "thread_name", track, name);
	return track;
}

static void perfetto_slice(void *ctx, const struct pasta_timeline_slice *slice,
			   const struct pasta_timeline_lane *lane)
{
	const struct pasta_event *ev = &slice->ev;
	struct perfetto *p = ctx;
	struct pasta_track track = perfetto_slice_track(p, ev, lane);
	const char *cat, *name;
	char load[200];
	uint64_t corr;

	name = perfetto_slice_name(ev, &cat, &corr);
	if (ev->kind == PASTA_KIND_MODULE) {
		snprintf(load, sizeof(load), "load %s", name);
		name = load;
	}
	pasta_traceevent_begin(&p->out, 'X', name, track, slice->begin);
	pasta_traceevent_dur(&p->out, slice->end - slice->begin);
	pasta_traceevent_member(&p->out, "cat", cat);
	perfetto_scope_args(p, slice);
	if (corr || ev->kind == PASTA_KIND_LAUNCH)
		pasta_traceevent_uint(&p->out, "corr", corr);
	if (ev->kind == PASTA_KIND_API && ev->api.status)
		pasta_traceevent_uint(&p->out, "status", ev->api.status);
	if (ev->kind == PASTA_KIND_SYNC && ev->sub && pasta_subtype_name(ev->kind, ev->sub))
		pasta_traceevent_text(&p->out, "of", pasta_subtype_name(ev->kind, ev->sub));
	if (ev->kind == PASTA_KIND_LAUNCH)
		perfetto_stack(p, ev->proc,
			       ev->launch.stack ? ev->launch.stack : ev->launch.python);
	pasta_traceevent_end(&p->out);
	if (ev->kind == PASTA_KIND_LAUNCH && corr)
		pasta_traceevent_flow(&p->out, false,
				      perfetto_flow(ev->proc, ev->launch.context, corr), track,
				      slice->begin);
}

static const struct pasta_timeline_ops ops = {.slice = perfetto_slice,
					      .memory = perfetto_live_memory};

/* The number of the stream for migrations and faults, which belong to no stream of the program. */
#define UNIFIED UINT32_MAX

static void perfetto_name_lane(struct perfetto *p, struct pasta_track track, uint32_t proc,
			       uint32_t device, uint32_t stream, uint32_t index)
{
	const char *name = pasta_device(proc, device)->name;
	char text[400], where[32], row[32], more[24] = "";

	if (index)
		snprintf(more, sizeof(more), " (%" PRIu32 ")", index + 1);
	if (stream == UNIFIED)
		snprintf(row, sizeof(row), "unified memory");
	else
		snprintf(row, sizeof(row), "stream %" PRIu32, stream);
	snprintf(text, sizeof(text), "%s%s%.200s, %s%s",
		 pasta_device_text(device, where, sizeof(where)), *name ? " " : "", name, row,
		 more);
	pasta_traceevent_name(&p->out, "thread_name", track, text);
	pasta_traceevent_order(&p->out, "thread_sort_index", track, track.tid);
}

/* The fields that records of kernels, copies and fills have in common. */
struct work {
	const char *cat, *name;
	uint64_t dur, corr;
	uint32_t context, stream, device;
};

/* Begin a slice on a device. The caller adds the arguments, and then calls perfetto_work_end.
 * Returns the track of the slice. */
static struct pasta_track perfetto_work_begin(struct perfetto *p, const struct pasta_event *ev,
					      const struct work *w)
{
	uint64_t end = ev->time + w->dur;
	struct pasta_timeline_lane lane =
		pasta_timeline_lane(&p->timeline, ev->proc, w->device, w->stream, ev->time, end);
	struct pasta_track track = perfetto_thread_track(ev->proc, DEVICE_TID + lane.number);

	pasta_timeline_saw(&p->timeline, ev->proc, end);
	if (lane.is_new)
		perfetto_name_lane(p, track, ev->proc, w->device, w->stream, lane.index);
	pasta_traceevent_begin(&p->out, 'X', w->name, track, ev->time);
	pasta_traceevent_dur(&p->out, w->dur);
	pasta_traceevent_member(&p->out, "cat", w->cat);
	pasta_traceevent_uint(&p->out, "corr", w->corr);
	return track;
}

/* End the slice. If launches were recorded, end the arrow from the slice's launch, too. */
static void perfetto_work_end(struct perfetto *p, const struct pasta_event *ev,
			      const struct work *w, struct pasta_track track)
{
	uint64_t kinds = pasta_stream_shard(p->stream, ev->proc)->kinds;

	pasta_traceevent_end(&p->out);
	if (w->corr && (!kinds || kinds & PASTA_MASK(LAUNCH)))
		pasta_traceevent_flow(&p->out, true, perfetto_flow(ev->proc, w->context, w->corr),
				      track, ev->time);
}

static void perfetto_three(struct perfetto *p, const char *key, uint32_t x, uint32_t y, uint32_t z)
{
	pasta_traceevent_list(&p->out, key);
	pasta_json_uint(p->out.json, x);
	pasta_json_uint(p->out.json, y);
	pasta_json_uint(p->out.json, z);
	pasta_json_list_end(p->out.json);
}

static void perfetto_kernel(struct perfetto *p, const struct pasta_event *ev)
{
	const struct pasta_kernel_record *k = &ev->kernel;
	struct work w = {"kernel",   pasta_str(k->name), k->dur,   k->corr,
			 k->context, k->stream,		 k->device};
	struct pasta_track track = perfetto_work_begin(p, ev, &w);

	perfetto_three(p, "grid", k->grid_x, k->grid_y, k->grid_z);
	perfetto_three(p, "block", k->block_x, k->block_y, k->block_z);
	if (k->registers)
		pasta_traceevent_uint(&p->out, "registers", k->registers);
	if (k->shared_static || k->shared_dynamic)
		pasta_traceevent_uint(&p->out, "shared",
				      (uint64_t)k->shared_static + k->shared_dynamic);
	perfetto_work_end(p, ev, &w, track);
}

static void perfetto_copy(struct perfetto *p, const struct pasta_event *ev)
{
	static const char *const names[] = {
		[0] = "copy",
		[PASTA_COPY_H2D] = "copy to device",
		[PASTA_COPY_D2H] = "copy to host",
		[PASTA_COPY_D2D] = "copy on device",
		[PASTA_COPY_H2H] = "copy on host",
		[PASTA_COPY_P2P] = "copy to peer",
	};
	const struct pasta_copy_record *c = &ev->copy;
	struct work w = {"copy",     names[ev->sub <= PASTA_COPY_P2P ? ev->sub : 0],
			 c->dur,     c->corr,
			 c->context, c->stream,
			 c->device};
	struct pasta_track track = perfetto_work_begin(p, ev, &w);

	pasta_traceevent_uint(&p->out, "bytes", c->bytes);
	if (c->src_memory && pasta_memory_name(c->src_memory))
		pasta_traceevent_text(&p->out, "from", pasta_memory_name(c->src_memory));
	if (c->dst_memory && pasta_memory_name(c->dst_memory))
		pasta_traceevent_text(&p->out, "to", pasta_memory_name(c->dst_memory));
	perfetto_work_end(p, ev, &w, track);
}

static void perfetto_set(struct perfetto *p, const struct pasta_event *ev)
{
	const struct pasta_set_record *s = &ev->set;
	struct work w = {"set", "set", s->dur, s->corr, s->context, s->stream, s->device};
	struct pasta_track track = perfetto_work_begin(p, ev, &w);

	pasta_traceevent_uint(&p->out, "bytes", s->bytes);
	perfetto_work_end(p, ev, &w, track);
}

/* Write a migration, or page faults of a device, as work of the device. The timeline does not show
 * page faults of the host and decisions of the driver. */
static void perfetto_uvm(struct perfetto *p, const struct pasta_event *ev)
{
	static const char *const names[PASTA_UVM_GPU_FAULT + 1] = {
		[PASTA_UVM_TO_DEVICE] = "migration to device",
		[PASTA_UVM_TO_HOST] = "migration to host",
		[PASTA_UVM_BETWEEN] = "migration to peer",
		[PASTA_UVM_GPU_FAULT] = "page faults",
	};
	const struct pasta_uvm_record *u = &ev->uvm;
	struct work w = {.cat = "uvm", .dur = u->dur, .stream = UNIFIED};
	struct pasta_track track;

	w.name = ev->sub <= PASTA_UVM_GPU_FAULT ? names[ev->sub] : NULL;
	if (!w.name)
		return;
	w.device = ev->sub == PASTA_UVM_TO_HOST ? u->src : u->dst;
	track = perfetto_work_begin(p, ev, &w);
	pasta_traceevent_uint(&p->out, ev->sub == PASTA_UVM_GPU_FAULT ? "count" : "bytes",
			      ev->sub == PASTA_UVM_GPU_FAULT ? u->count : u->bytes);
	perfetto_work_end(p, ev, &w, track);
}

/* -- Values over time -- */

static void perfetto_counter(struct perfetto *p, const struct pasta_event *ev)
{
	if (!isfinite(ev->counter.value))
		return; /* a value that is NaN or infinite cannot be drawn */
	pasta_traceevent_begin(&p->out, 'C', pasta_str(ev->counter.name),
			       perfetto_thread_track(ev->proc, ev->tid), ev->time);
	pasta_traceevent_float(&p->out, "value", ev->counter.value);
	pasta_traceevent_end(&p->out);
}

/* -- All events -- */

static void perfetto_event(struct perfetto *p, const struct pasta_event *ev)
{
	switch (ev->kind) {
	case PASTA_KIND_LAUNCH:
		pasta_timeline_call(&p->timeline, ev, LAUNCH_NS, true);
		break;
	case PASTA_KIND_KERNEL:
		perfetto_kernel(p, ev);
		break;
	case PASTA_KIND_COPY:
		perfetto_copy(p, ev);
		break;
	case PASTA_KIND_SET:
		perfetto_set(p, ev);
		break;
	case PASTA_KIND_UVM:
		perfetto_uvm(p, ev);
		break;
	case PASTA_KIND_EVENT_RECORD:
		perfetto_instant(p, ev, "event record", "t");
		break;
	case PASTA_KIND_ALLOC:
	case PASTA_KIND_FREE:
		pasta_timeline_memory(&p->timeline, ev);
		break;
	case PASTA_KIND_SYNC:
		pasta_timeline_call(&p->timeline, ev, ev->sync.dur, false);
		break;
	case PASTA_KIND_API:
		pasta_timeline_call(&p->timeline, ev, ev->api.dur, false);
		break;
	case PASTA_KIND_MODULE:
		if (ev->sub == PASTA_MODULE_LOAD && ev->module.dur)
			pasta_timeline_call(&p->timeline, ev, ev->module.dur, false);
		break;
	case PASTA_KIND_OP_BEGIN:
	case PASTA_KIND_OP_END:
		pasta_timeline_slice(&p->timeline, ev);
		break;
	case PASTA_KIND_REGION:
		perfetto_region(p, ev);
		break;
	case PASTA_KIND_ITERATION:
		perfetto_iteration(p, ev);
		break;
	case PASTA_KIND_COUNTER:
		perfetto_counter(p, ev);
		break;
	case PASTA_KIND_THREAD:
		pasta_traceevent_name(&p->out, "thread_name",
				      perfetto_thread_track(ev->proc, ev->tid),
				      pasta_str(ev->thread.name));
		break;
	default:
		break;
	}
}

static void perfetto_name_process(struct perfetto *p, uint32_t number,
				  const struct pasta_shard_info *info)
{
	struct pasta_track track = perfetto_thread_track(number, 0);
	char text[700];

	snprintf(text, sizeof(text), "%.300s (%s)", *info->command ? info->command : "process",
		 pasta_process(number)->text);
	pasta_traceevent_name(&p->out, "process_name", track, text);
	pasta_traceevent_order(&p->out, "process_sort_index", track,
			       info->rank ? info->rank - 1 : number);
}

static int perfetto_read(struct perfetto *p, const struct pasta_input *in, bool (*go_on)(void *ctx),
			 void *ctx)
{
	struct pasta_reader *reader = pasta_reader_new(in->stream, KINDS, 0, in->filter);
	const struct pasta_where *where;
	const struct pasta_event *ev;
	int error = reader ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < pasta_stream_shards(in->stream); i++)
		if (!pasta_stream_excluded(in->stream, i))
			perfetto_name_process(p, i, pasta_stream_shard(in->stream, i));
	if (reader)
		pasta_reader_set_cancel(reader, go_on, ctx);
	while (reader && (ev = pasta_reader_next(reader, &where))) {
		/* Slices are written after their end, so the first one may not be the earliest. */
		p->out.start = p->out.start ? p->out.start : ev->time;
		pasta_timeline_saw(&p->timeline, ev->proc, ev->time);
		perfetto_event(p, ev);
	}
	if (reader && pasta_reader_stopped(reader))
		error = -EINTR;
	if (reader && pasta_reader_error(reader))
		error = -ENOMEM;
	pasta_reader_free(reader);
	return error;
}

static int perfetto_write(FILE *file, struct pasta_input *in, bool (*go_on)(void *ctx), void *ctx,
			  struct pasta_error *err)
{
	struct perfetto p = {.stream = in->stream};
	struct pasta_loss_summary loss;
	int error = pasta_directory_fill(in->stream), stopped = 0, flushed;

	pasta_symbols_reset();
	if (!error)
		error = pasta_timeline_open(&p.timeline, &ops, &p);
	if (!error)
		error = pasta_traceevent_open(&p.out, file);
	if (!error) {
		stopped = perfetto_read(&p, in, go_on, ctx);
		pasta_timeline_finish(&p.timeline);
		pasta_stream_loss(in->stream, &loss);
		pasta_loss_add_closed(&loss, in->dropped);
		error = pasta_traceevent_close(&p.out, &loss);
	}
	if (!error && (p.timeline.failed || stopped == -ENOMEM))
		error = -ENOMEM;
	pasta_timeline_close(&p.timeline);
	flushed = pasta_sink_flush(file, err);
	if (flushed)
		return flushed;
	return error ? pasta_fail(err, error, "cannot write the timeline: %s", strerror(-error))
		     : stopped;
}

const struct pasta_sink pasta_sink_perfetto = {
	.name = "perfetto",
	.summary = "a timeline for ui.perfetto.dev and chrome://tracing (only with accelprof "
		   "report)",
	.events = perfetto_write,
};
