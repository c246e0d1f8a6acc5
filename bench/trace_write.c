/* trace_write.c - writes the text of a generated trace in the layout of Kineto's output_json.cpp.
 * An event is a few copies of texts and numbers. */
#include "trace_text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "process/io/json.h"

enum { RESERVED_STEP = 2 << 20 };
#define WEIGHTS UINT64_C(1526726656) /* allocated before the first step */

static void drain(struct trace_writer *w)
{
	const char *p = w->buffer;

	w->bytes += (uint64_t)(w->at - p);
	while (w->fd >= 0 && !w->error && p < w->at) {
		ssize_t n = write(w->fd, p, (size_t)(w->at - p));

		if (n >= 0)
			p += n;
		else if (errno != EINTR)
			w->error = -errno;
	}
	w->at = w->buffer;
}

/* Makes room for an event of any size. */
static char *begin(struct trace_writer *w)
{
	if (w->at + TRACE_EVENT_MAX > w->buffer + TRACE_BUFFER)
		drain(w);
	w->events++;
	return w->at;
}

static inline char *put(char *p, struct text t)
{
	memcpy(p, t.p, t.n);
	return p + t.n;
}

static inline char *put_uint(char *p, uint64_t v)
{
	char digits[20], *d = digits + sizeof(digits);

	do
		*--d = (char)('0' + v % 10);
	while (v /= 10);
	memcpy(p, d, (size_t)(digits + sizeof(digits) - d));
	return p + (digits + sizeof(digits) - d);
}

static inline char *put_int(char *p, int64_t v)
{
	if (v < 0)
		*p++ = '-';
	return put_uint(p, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

static inline char *put_time(char *p, uint64_t ns)
{
	uint64_t us = ns / 1000, rest = ns % 1000;

	p = put_uint(p, us);
	*p++ = '.';
	*p++ = (char)('0' + rest / 100);
	*p++ = (char)('0' + rest / 10 % 10);
	*p++ = (char)('0' + rest % 10);
	return p;
}

static char *put_span(const struct trace_writer *w, char *p, struct text on,
		      const struct trace_event *ev)
{
	p = put_time(put(p, on), ev->ts);
	p = put_time(put(p, w->dur), ev->dur);
	return put(p, w->args);
}

static char *put_name(const struct trace_writer *w, char *p, const struct trace_event *ev)
{
	const struct text *name = &w->names[ev->node];

	p = put(put(p, w->open[ev->cat]), *name);
	if (name->p[name->n - 1] == '"')
		return p;
	p = put_uint(p, ev->number);
	*p++ = '"';
	return p;
}

static void write_flow(struct trace_writer *w, const struct trace_event *ev, struct text on,
		       uint64_t id, unsigned int kind)
{
	char *p = begin(w);

	p = put_uint(put(p, w->flow_open[ev->flow == 'f']), id);
	p = put_time(put(p, on), ev->ts);
	w->at = put(p, ev->flow == 'f' ? w->flow_end[kind] : w->flow_begin[kind]);
}

static void write_op(struct trace_writer *w, const struct trace_event *ev)
{
	const struct trace_node *n = &trace_nodes[ev->node];
	char *p = put_span(w, put_name(w, begin(w), ev), w->on_thread[ev->thread], ev);

	p = put(put_uint(put(p, w->external), ev->id), w->record);
	if (n->kind == TRACE_GRAD_OP) {
		p = put_uint(put(p, w->sequence), ev->seq);
		p = put_uint(put(p, w->forward), ev->thread);
		p = put(p, w->comma);
	} else if (n->kind == TRACE_OP && n->number) {
		p = put_uint(put(p, w->seq), ev->seq);
		p = put(put(p, w->comma), w->group[n->number - 1]);
	}
	if (w->inputs[ev->node][ev->length].p)
		p = put(p, w->inputs[ev->node][ev->length]);
	w->at = put(put_uint(put(p, w->at_index), w->index++), w->close);
	if (ev->flow)
		write_flow(w, ev, w->flow_thread[ev->thread], ev->seq + 1, 1);
}

static void write_memory(struct trace_writer *w, const struct trace_event *ev)
{
	char *p = put(begin(w), w->instant[ev->thread]);
	uint64_t total = WEIGHTS + ev->total;

	w->peak = total > w->peak ? total : w->peak;
	p = put(put_time(p, ev->ts), w->args);
	p = put_uint(put(p, w->reserved), (w->peak | (RESERVED_STEP - 1)) + 1);
	p = put_uint(put(p, w->allocated), total);
	p = put_int(put(p, w->size), ev->bytes);
	p = put_uint(put(p, w->address), ev->id);
	w->at = put(put_uint(put(put(p, w->memory), w->at_index), w->index++), w->close);
}

static void write_python(struct trace_writer *w, const struct trace_event *ev)
{
	char *p = put_span(w, put_name(w, begin(w), ev), w->on_thread[ev->thread], ev);

	p = put_uint(put(p, w->parent), ev->parent);
	p = put_uint(put(p, w->python), ev->id);
	if (trace_nodes[ev->node].kind == TRACE_MODULE)
		p = put_uint(put(p, w->module), ev->number);
	p = put(p, w->comma);
	w->at = put(put_uint(put(p, w->at_index), w->index++), w->close);
}

static char *put_external(const struct trace_writer *w, char *p, uint64_t id)
{
	return id ? put(put_uint(put(p, w->external), id), w->after_external) : p;
}

static void write_call(struct trace_writer *w, const struct trace_event *ev)
{
	char *p = put(put(begin(w), w->open[ev->cat]), w->call_names[ev->number]);

	p = put_external(w, put_span(w, p, w->on_thread[ev->thread], ev), ev->parent);
	w->at = put(put_uint(put(p, w->calls[ev->number]), ev->id), w->close);
	if (ev->flow)
		write_flow(w, ev, w->flow_thread[ev->thread], ev->id, 0);
}

static void write_kernel(struct trace_writer *w, const struct trace_event *ev)
{
	char *p = put(put(begin(w), w->open[ev->cat]), w->kernel_names[ev->number]);

	p = put_external(w, put_span(w, p, w->on_stream[ev->thread], ev), ev->parent);
	p = put_uint(put(p, w->stream[ev->thread]), ev->id);
	p = put(p, w->kernels[ev->number][ev->length]);
	if (ev->number >= GEN_KERNELS_MAX) {
		p = put(p, w->kernel_group[ev->number - GEN_KERNELS_MAX]);
		p = put_uint(put(p, w->kernel_seq), ev->seq);
	}
	w->at = put(p, w->close);
	write_flow(w, ev, w->flow_stream[ev->thread], ev->id, 0);
}

static void write_copy(struct trace_writer *w, const struct trace_event *ev)
{
	char *p = put(begin(w), w->open[ev->cat]);

	p = put(p, ev->cat == TRACE_CAT_SET ? w->set_name : w->copy_names[ev->number]);
	p = put_external(w, put_span(w, p, w->on_stream[ev->thread], ev), ev->parent);
	p = put_uint(put(p, w->stream_copy[ev->thread]), ev->id);
	p = put_int(put(p, w->copied), ev->bytes);
	p = put(p, w->speed);
	pasta_json_float_text(p, 32, (double)ev->bytes / (double)ev->dur);
	w->at = put(p + strlen(p), w->close);
	write_flow(w, ev, w->flow_stream[ev->thread], ev->id, 0);
}

static void write_region(struct trace_writer *w, const struct trace_event *ev)
{
	bool gpu = ev->cat == TRACE_CAT_GPU_REGION;
	char *p = put_name(w, begin(w), ev);

	p = put_span(w, p, gpu ? w->on_stream[ev->thread] : w->on_thread[ev->thread], ev);
	p = put_uint(put(p, w->external), ev->id);
	if (!gpu)
		p = put_uint(put(put(p, w->record), w->at_index), w->index++);
	w->at = put(p, w->close);
}

static enum trace_section section_of(const struct trace_event *ev)
{
	switch (ev->cat) {
	case TRACE_CAT_OP:
	case TRACE_CAT_REGION:
		return ev->thread ? TRACE_SECTION_GRAD_OPS : TRACE_SECTION_OPS;
	case TRACE_CAT_MEMORY:
		return ev->thread ? TRACE_SECTION_GRAD_MEMORY : TRACE_SECTION_MEMORY;
	case TRACE_CAT_PYTHON:
		return TRACE_SECTION_PYTHON;
	default:
		return TRACE_SECTION_DEVICE;
	}
}

static void write_event(struct trace_writer *w, const struct trace_event *ev)
{
	switch (ev->cat) {
	case TRACE_CAT_OP:
		write_op(w, ev);
		break;
	case TRACE_CAT_MEMORY:
		write_memory(w, ev);
		break;
	case TRACE_CAT_PYTHON:
		if (w->o->stacks)
			write_python(w, ev);
		break;
	case TRACE_CAT_KERNEL:
		write_kernel(w, ev);
		break;
	case TRACE_CAT_COPY:
	case TRACE_CAT_SET:
		write_copy(w, ev);
		break;
	case TRACE_CAT_RUNTIME:
	case TRACE_CAT_DRIVER:
		write_call(w, ev);
		break;
	default:
		write_region(w, ev);
	}
}

void trace_writer_step(struct trace_writer *w, enum trace_section section,
		       const struct trace_event *events, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (section_of(&events[i]) == section)
			write_event(w, &events[i]);
}

/* -- Start and end -- */

/* Prints any text that is not longer than an event. Its strings must be complete. */
__attribute__((format(printf, 2, 3))) static void print(struct trace_writer *w, const char *fmt,
							...)
{
	char line[TRACE_TEXT_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (w->o->compact)
		trace_squeeze(line);
	if (w->at + TRACE_EVENT_MAX > w->buffer + TRACE_BUFFER)
		drain(w);
	w->at = put(w->at, (struct text){line, strlen(line)});
}

void trace_writer_head(struct trace_writer *w)
{
	uint32_t world = trace_world(w->o);
	char ranks[512] = "";

	trace_list_ranks(ranks, sizeof(ranks), world);
	print(w, "\n  {\n    \"schemaVersion\": 1,\n    \"deviceProperties\": [");
	for (uint32_t i = 0; i < GEN_HOST_RANKS; i++)
		print(w,
		      "%s\n    {\n      \"id\": %u, \"name\": \"NVIDIA H100 80GB HBM3\", "
		      "\"totalGlobalMem\": 85018279936,\n      \"computeMajor\": 9, \"computeMinor\": 0,\n"
		      "      \"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 2048,\n"
		      "      \"regsPerBlock\": 65536, \"warpSize\": 32,\n"
		      "      \"sharedMemPerBlock\": 49152, \"numSms\": 132\n"
		      "    , \"regsPerMultiprocessor\": 65536, \"sharedMemPerBlockOptin\": 232448, "
		      "\"sharedMemPerMultiprocessor\": 233472\n    }",
		      i ? "," : "", i);
	print(w, "\n    ],\n      \"cuda_runtime_version\": 12040,\n      \"cupti_version\": 22,\n"
		 "      \"cuda_driver_version\": 12090,");
	print(w,
	      "\n      \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %u, \"world_size\": %u, "
	      "\"pg_count\": 1, \"pg_config\": [{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", "
	      "\"backend_config\": \"cuda:nccl\", \"pg_size\": %u, \"ranks\": %s}], "
	      "\"nccl_version\": \"2.21.5\"},",
	      w->rank, world, world, ranks);
	print(w, "\n      \"profile_memory\": 1,");
	if (w->o->shapes)
		print(w, "\n      \"record_shapes\": 1,");
	if (w->o->stacks)
		print(w, "\n      \"with_stack\": 1,\n      \"with_modules\": 1,");
	print(w,
	      "\n      \"trace_id\": \"%016llX%016llX\",\n  \"displayTimeUnit\": \"ms\",\n"
	      "  \"baseTimeNanoseconds\": %llu,\n  \"traceEvents\": [",
	      (unsigned long long)w->o->seed, (unsigned long long)w->rank,
	      (unsigned long long)GEN_REAL);
}

void trace_writer_roots(struct trace_writer *w, uint64_t first, uint64_t last)
{
	for (uint64_t i = 0; w->o->stacks && trace_roots[i]; i++) {
		struct trace_event ev = {.ts = first + 1000 * i - 20000};
		char parent[24] = "null";

		if (i)
			snprintf(parent, sizeof(parent), "%llu", (unsigned long long)i);
		ev.dur = last + 60000 - 1000 * i - ev.ts;
		w->events++;
		print(w,
		      "\n  {\n    \"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"%s\", "
		      "\"pid\": %u, \"tid\": %u,\n    \"ts\": %llu.%03llu, \"dur\": %llu.%03llu,\n"
		      "    \"args\": {\n      \"Python parent id\": %s, \"Python id\": %llu, "
		      "\"Ev Idx\": %llu\n    }\n  },",
		      trace_roots[i], w->pid, w->pid, (unsigned long long)ev.ts / 1000,
		      (unsigned long long)ev.ts % 1000, (unsigned long long)ev.dur / 1000,
		      (unsigned long long)ev.dur % 1000, parent, (unsigned long long)i + 1,
		      (unsigned long long)w->index++);
	}
}

static void write_process(struct trace_writer *w, const char *ts, uint32_t pid, const char *label,
			  uint32_t sort)
{
	static const char *const keys[] = {"name", "labels", "sort_index"};
	char values[3][24] = {"\"python3\"", "", ""};

	snprintf(values[1], sizeof(values[1]), "\"%s\"", label);
	snprintf(values[2], sizeof(values[2]), "%u", sort);
	for (int i = 0; i < 3; i++) {
		w->events++;
		print(w,
		      "\n  {\n    \"name\": \"process_%s\", \"ph\": \"M\", \"ts\": %s, \"pid\": %u, "
		      "\"tid\": 0,\n    \"args\": {\n      \"%s\": %s\n    }\n  },",
		      keys[i], ts, pid, keys[i], values[i]);
	}
}

static void write_thread(struct trace_writer *w, const char *ts, uint32_t pid, uint32_t tid,
			 const char *name)
{
	w->events += 2;
	print(w,
	      "\n  {\n    \"name\": \"thread_name\", \"ph\": \"M\", \"ts\": %s, \"pid\": %u, "
	      "\"tid\": %u,\n    \"args\": {\n      \"name\": \"%s\"\n    }\n  },"
	      "\n  {\n    \"name\": \"thread_sort_index\", \"ph\": \"M\", \"ts\": %s, \"pid\": %u, "
	      "\"tid\": %u,\n    \"args\": {\n      \"sort_index\": %u\n    }\n  },",
	      ts, pid, tid, name, ts, pid, tid, tid);
}

static void write_tracks(struct trace_writer *w, const char *ts)
{
	char name[40];

	write_process(w, ts, w->pid, "CPU", w->pid);
	for (uint32_t i = 0; i < GEN_HOST_RANKS; i++) {
		snprintf(name, sizeof(name), "GPU %u", i);
		write_process(w, ts, i, name, 5000000 + i);
	}
	for (uint32_t i = 0; i < TRACE_STREAMS; i++) {
		snprintf(name, sizeof(name), "stream %u ", trace_streams[i]);
		write_thread(w, ts, w->device, trace_streams[i], name);
	}
	for (uint32_t i = 0; i < TRACE_THREADS; i++) {
		snprintf(name, sizeof(name), "thread %u (%s)", w->pid + i * TRACE_GRAD_TID,
			 i ? "pt_autograd_0" : "python3");
		write_thread(w, ts, w->pid, w->pid + i * TRACE_GRAD_TID, name);
	}
}

uint64_t trace_tail_events(void)
{
	return 3 * (1 + GEN_HOST_RANKS) + 2 * (TRACE_STREAMS + TRACE_THREADS) + 4;
}

void trace_writer_tail(struct trace_writer *w, uint64_t first, uint64_t last, const char *name)
{
	char ts[32], end[32], dur[32], sane[1024];

	snprintf(sane, sizeof(sane), "%s", name);
	for (char *p = sane; *p; p++)
		if (*p == '"' || *p == '\\' || (unsigned char)*p < ' ')
			*p = '_';
	first -= 30000;
	last += 90000;
	*put_time(ts, first) = '\0';
	*put_time(end, last) = '\0';
	*put_time(dur, last - first) = '\0';
	write_tracks(w, ts);
	w->events += 4;
	print(w,
	      "\n  {\n    \"ph\": \"X\", \"cat\": \"Trace\", \"ts\": %s, \"dur\": %s,\n"
	      "    \"pid\": \"Spans\", \"tid\": \"PyTorch Profiler\",\n"
	      "    \"name\": \"PyTorch Profiler (0)\",\n    \"args\": {\n      \"Op count\": 0\n"
	      "    }\n  },\n  {\n    \"name\": \"process_sort_index\", \"ph\": \"M\", \"ts\": %s,\n"
	      "    \"pid\": \"Spans\", \"tid\": 0,\n    \"args\": {\n      \"sort_index\": 536870912\n"
	      "    }\n  },",
	      ts, dur, ts);
	print(w,
	      "\n  {\n    \"name\": \"Iteration Start: PyTorch Profiler\", \"ph\": \"i\", "
	      "\"s\": \"g\",\n    \"pid\": \"Traces\", \"tid\": \"Trace PyTorch Profiler\", "
	      "\"ts\": %s\n  },\n  {\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n"
	      "    \"pid\": \"\", \"tid\": \"\", \"ts\": %s\n  }\n  ],",
	      ts, end);
	print(w, "\n  \"traceName\": \"%s\"\n}", sane);
	drain(w);
}

uint64_t trace_writer_bytes(const struct trace_writer *w)
{
	return w->bytes + (uint64_t)(w->at - w->buffer);
}

uint64_t trace_writer_events(const struct trace_writer *w)
{
	return w->events;
}
