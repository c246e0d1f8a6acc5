/* kineto.c - traces of the PyTorch Profiler (Kineto), of CUDA and of ROCm. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/chromeevent.h"
#include "import/collective.h"
#include "import/digits.h"
#include "import/trace.h"

struct kineto;

/* A category of events, and who takes its events that have a duration. */
struct category {
	const char *name;
	int (*take)(struct kineto *k, const struct pasta_chromeevent *e);
	uint64_t kinds; /* that are made of it */
	uint8_t sub;
};

struct kineto {
	struct pasta_trace *t;
	struct pasta_cursor *c;
	struct pasta_chromeread read;
	const struct category *category; /* of the event at hand */
	struct pasta_trace_world world;
	uint64_t found[64];		       /* by category */
	uint32_t annotation;		       /* the domain of annotations */
	uint32_t allocated, reserved;	       /* names of counters */
	uint32_t vendor, driver;	       /* of the devices */
	uint64_t kernels, shapes, grids, host; /* seen */
	bool base;			       /* it says what its times are counted from */
	uint64_t devices;		       /* that it describes */
};

#define EVENT(type, KIND_, time_)                                                                  \
	{                                                                                          \
		.size = PASTA_EVENT_SIZE(type), .kind = PASTA_##KIND_, .time = (time_)             \
	}

/* -- What devices did -- */

/* The arguments of kernels, copies and fills; what is not there is 0. */
struct work {
	uint64_t device, context, stream, corr, node, registers, shared, bytes;
	uint64_t grid[3], block[3];
	uint32_t collective; /* token of its name, if it is one */
};

static void triple(const struct pasta_jsontape *tape, uint32_t array, uint64_t to[3])
{
	uint32_t i = array + 1;

	if (tape->tokens[array].type != PASTA_JSON_ARRAY)
		return;
	for (int n = 0; n < 3 && i < tape->tokens[array].next; n++, i = tape->tokens[i].next)
		pasta_chromeevent_uint(tape, i, &to[n]);
}

static void read_work(const struct pasta_chromeevent *e, struct work *w)
{
	const struct pasta_jsontape *tape = e->tape;
	static const struct {
		const char *name;
		size_t size, at;
	} numbers[] = {
#define NUMBER(name, field) {name, sizeof(name) - 1, offsetof(struct work, field)}
		NUMBER("device", device),
		NUMBER("context", context),
		NUMBER("stream", stream),
		NUMBER("correlation", corr),
		NUMBER("registers per thread", registers),
		NUMBER("shared memory", shared),
		NUMBER("bytes", bytes),
		NUMBER("graph node id", node),
#undef NUMBER
	};

	memset(w, 0, sizeof(*w));
	PASTA_JSON_EACH(tape, e->args, key, value)
	{
		struct pasta_slice name = pasta_jsontape_text(tape, key);

		if (name.size == 4 && !memcmp(name.at, "grid", 4)) {
			triple(tape, value, w->grid);
		} else if (name.size == 5 && !memcmp(name.at, "block", 5)) {
			triple(tape, value, w->block);
		} else if (pasta_slice_is(name, "Collective name")) {
			w->collective = value;
		} else {
			for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
				if (name.size == numbers[i].size &&
				    !memcmp(name.at, numbers[i].name, name.size))
					pasta_chromeevent_uint(
						tape, value,
						(uint64_t *)(void *)((char *)w + numbers[i].at));
		}
	}
}

static int take_kernel(struct kineto *k, const struct pasta_chromeevent *e)
{
	struct pasta_event ev = EVENT(kernel, KERNEL, e->ts);
	struct work w;

	read_work(e, &w);
	k->kernels++;
	k->grids += w.grid[0] != 0;
	if (!pasta_trace_wants(k->t, PASTA_BIT(KERNEL) | PASTA_BIT(COLLECTIVE)))
		return 0;
	ev.kernel.dur = e->dur;
	ev.kernel.corr = w.corr;
	ev.kernel.node = w.node;
	ev.kernel.name = pasta_trace_token(k->t, e->tape, e->name);
	ev.kernel.context = (uint32_t)w.context;
	ev.kernel.stream = (uint32_t)w.stream;
	ev.kernel.device = (uint32_t)w.device;
	ev.kernel.grid_x = (uint32_t)w.grid[0];
	ev.kernel.grid_y = (uint32_t)w.grid[1];
	ev.kernel.grid_z = (uint32_t)w.grid[2];
	ev.kernel.block_x = (uint32_t)w.block[0];
	ev.kernel.block_y = (uint32_t)w.block[1];
	ev.kernel.block_z = (uint32_t)w.block[2];
	ev.kernel.registers = (uint32_t)w.registers;
	ev.kernel.shared_static = (uint32_t)w.shared;
	if (!pasta_collective_kernel(k->t, e, &ev, w.collective))
		pasta_trace_event(k->t, PASTA_TRACE_DEVICE, &ev, e->dur);
	return 0;
}

/* "Memcpy DtoH (Device -> Pinned)": the first word after Memcpy. */
static uint8_t direction(struct pasta_slice name)
{
	static const struct {
		const char *word;
		uint8_t sub;
	} words[] = {{"HtoD", PASTA_COPY_H2D}, {"DtoH", PASTA_COPY_D2H}, {"DtoD", PASTA_COPY_D2D},
		     {"HtoH", PASTA_COPY_H2H}, {"PtoP", PASTA_COPY_P2P}, {"HtoA", PASTA_COPY_H2D},
		     {"AtoH", PASTA_COPY_D2H}};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (memmem(name.at, name.size, words[i].word, 4))
			return words[i].sub;
	return 0;
}

static int take_copy(struct kineto *k, const struct pasta_chromeevent *e)
{
	struct pasta_event ev = EVENT(copy, COPY, e->ts);
	struct work w;

	read_work(e, &w);
	ev.sub = direction(pasta_jsontape_text(e->tape, e->name));
	ev.copy.dur = e->dur;
	ev.copy.corr = w.corr;
	ev.copy.node = w.node;
	ev.copy.bytes = w.bytes;
	ev.copy.context = (uint32_t)w.context;
	ev.copy.stream = (uint32_t)w.stream;
	ev.copy.device = (uint32_t)w.device;
	pasta_trace_event(k->t, PASTA_TRACE_DEVICE, &ev, e->dur);
	return 0;
}

static int take_set(struct kineto *k, const struct pasta_chromeevent *e)
{
	struct pasta_event ev = EVENT(set, SET, e->ts);
	struct work w;

	read_work(e, &w);
	ev.set.dur = e->dur;
	ev.set.corr = w.corr;
	ev.set.node = w.node;
	ev.set.bytes = w.bytes;
	ev.set.context = (uint32_t)w.context;
	ev.set.stream = (uint32_t)w.stream;
	ev.set.device = (uint32_t)w.device;
	pasta_trace_event(k->t, PASTA_TRACE_DEVICE, &ev, e->dur);
	return 0;
}

/* "Context Sync", "Stream Wait Event": what the device's library says of waiting. */
static int take_sync(struct kineto *k, const struct pasta_chromeevent *e)
{
	struct pasta_event ev = EVENT(sync, SYNC, e->ts);
	struct work w;

	read_work(e, &w);
	ev.sync.dur = e->dur;
	ev.sync.corr = w.corr;
	ev.sync.context = (uint32_t)w.context;
	ev.sync.stream = (uint32_t)w.stream;
	ev.sync.device = (uint32_t)w.device;
	pasta_trace_event(k->t, PASTA_TRACE_DEVICE, &ev, e->dur);
	return 0;
}

/* -- What the host did -- */

/* A span on the event's thread. */
static int put_span(struct kineto *k, const struct pasta_chromeevent *e, struct pasta_span *span)
{
	span->begin = e->ts;
	span->end = e->ts + e->dur;
	pasta_trace_span(k->t, pasta_chromeevent_track(&k->read, e), span);
	return 0;
}

/* The process is whoever runs operators and calls APIs. */
static void is_host(struct kineto *k, const struct pasta_chromeevent *e)
{
	uint64_t pid;

	if (!k->host++ && !pasta_chromeevent_uint(e->tape, e->pid, &pid))
		k->world.pid = (uint32_t)pid;
}

static int take_call(struct kineto *k, const struct pasta_chromeevent *e)
{
	struct pasta_span span = {.what = PASTA_SPAN_CALL, .sub = k->category->sub};
	uint32_t corr = pasta_chromeevent_arg(e, "correlation");

	is_host(k, e);
	if (corr)
		pasta_chromeevent_uint(e->tape, corr, &span.a);
	span.b = pasta_trace_launches(pasta_jsontape_text(e->tape, e->name));
	if (pasta_trace_wants(k->t, PASTA_BIT(API)))
		span.name = pasta_trace_token(k->t, e->tape, e->name);
	else if (!span.b)
		return 0;
	return put_span(k, e, &span);
}

/* Types and dimensions side by side: "float[16,559], long int[16], Scalar". Dimensions are copied
 * as they are written, without white space. */
static uint32_t inputs_of(struct kineto *k, const struct pasta_jsontape *tape, uint32_t types,
			  uint32_t dims)
{
	uint32_t type = types + 1, dim = dims + 1, end, dim_end;
	char *start, *p;

	if (!types || tape->tokens[types].type != PASTA_JSON_ARRAY)
		types = type = end = 0;
	else
		end = tape->tokens[types].next;
	if (!dims || tape->tokens[dims].type != PASTA_JSON_ARRAY)
		dims = dim = dim_end = 0;
	else
		dim_end = tape->tokens[dims].next;
	/* Elements may be a character and a comma, of which three are made. */
	start = p = pasta_trace_scratch(k->t, 2 * ((size_t)tape->tokens[types].size * !!types +
						   (size_t)tape->tokens[dims].size * !!dims) +
						      8);
	if (!p || (type >= end && dim >= dim_end))
		return 0;
	while (type < end || dim < dim_end) {
		if (p > start) {
			*p++ = ',';
			*p++ = ' ';
		}
		if (type < end) {
			struct pasta_slice s = pasta_jsontape_text(tape, type);

			if (tape->tokens[type].type == PASTA_JSON_STRING && s.size) {
				memcpy(p, s.at, s.size);
				p += s.size;
			} else {
				*p++ = '-';
			}
			type = tape->tokens[type].next;
		}
		if (dim < dim_end) {
			struct pasta_slice s = pasta_jsontape_text(tape, dim);

			for (size_t i = 0; i < s.size && tape->tokens[dim].next > dim + 1; i++)
				if ((uint8_t)s.at[i] > ' ')
					*p++ = s.at[i];
			dim = tape->tokens[dim].next;
		}
	}
	return pasta_trace_str(k->t, start, (size_t)(p - start));
}

static int take_op(struct kineto *k, const struct pasta_chromeevent *e)
{
	struct pasta_span span = {.what = PASTA_SPAN_OP};
	uint32_t types = 0, dims = 0;

	is_host(k, e);
	if (!pasta_trace_wants(k->t, PASTA_BIT(OP_BEGIN)))
		return 0;
	PASTA_JSON_EACH(e->tape, e->args, key, value)
	{
		struct pasta_slice name = pasta_jsontape_text(e->tape, key);

		if (pasta_slice_is(name, "Input type"))
			types = value;
		else if (pasta_slice_is(name, "Input Dims") || pasta_slice_is(name, "Input dims"))
			dims = value;
		else if (pasta_slice_is(name, "Sequence number"))
			pasta_chromeevent_uint(e->tape, value, &span.a);
	}
	span.name = pasta_trace_token(k->t, e->tape, e->name);
	span.extra = types || dims ? inputs_of(k, e->tape, types, dims) : 0;
	k->shapes += span.extra != 0;
	return put_span(k, e, &span);
}

/* The product of the first input's dimensions, times the size of its elements. */
static uint64_t first_input(const struct pasta_chromeevent *e, uint32_t type)
{
	uint32_t dims = pasta_chromeevent_arg(e, "Input Dims"), first = dims + 1;
	const struct pasta_json_token *k = e->tape->tokens;
	uint64_t bytes = pasta_collective_element(pasta_jsontape_text(e->tape, type)), n;

	if (!dims || k[dims].type != PASTA_JSON_ARRAY || first >= k[dims].next ||
	    k[first].type != PASTA_JSON_ARRAY)
		return 0;
	for (uint32_t i = first + 1; i < k[first].next; i = k[i].next)
		if (pasta_chromeevent_uint(e->tape, i, &n) ||
		    __builtin_mul_overflow(bytes, n, &bytes))
			return 0;
	return bytes;
}

/* "nccl:all_reduce": what is launched in it is one. */
static void collective(struct kineto *k, const struct pasta_chromeevent *e, struct pasta_slice name,
		       struct pasta_span *span)
{
	uint32_t types = pasta_chromeevent_arg(e, "Input type"), type = types + 1;
	const struct pasta_json_token *t = e->tape->tokens;
	uint32_t dtype = 0;

	if (types && t[types].type == PASTA_JSON_ARRAY && type < t[types].next &&
	    t[type].type == PASTA_JSON_STRING) {
		dtype = pasta_trace_token(k->t, e->tape, type);
		span->a = first_input(e, type);
	}
	span->sub = PASTA_REGION_COLLECTIVE;
	span->b = pasta_pair(pasta_trace_str(k->t, name.at, name.size), dtype);
}

static bool begins(struct pasta_slice *s, const char *with)
{
	size_t n = strlen(with);

	if (s->size <= n || memcmp(s->at, with, n) != 0)
		return false;
	s->at += n;
	s->size -= n;
	return true;
}

static int take_annotation(struct kineto *k, const struct pasta_chromeevent *e)
{
	struct pasta_slice name = pasta_jsontape_text(e->tape, e->name);
	struct pasta_span span = {.what = PASTA_SPAN_REGION};

	is_host(k, e);
	if (!pasta_trace_wants(k->t,
			       PASTA_BIT(REGION) | PASTA_BIT(ITERATION) | PASTA_BIT(COLLECTIVE)))
		return 0;
	if (begins(&name, "ProfilerStep#")) {
		if (strspn(name.at, "0123456789") == name.size &&
		    !pasta_digits(name.at, name.size, 0, &span.a))
			span.sub = PASTA_REGION_ITERATION;
	} else if (begins(&name, "nccl:")) {
		collective(k, e, name, &span);
	}
	if (!k->annotation)
		k->annotation = pasta_trace_str(k->t, "annotation", strlen("annotation"));
	span.extra = k->annotation;
	span.name = pasta_trace_token(k->t, e->tape, e->name);
	return put_span(k, e, &span);
}

/* "torch/nn/modules/module.py(1540): _call_impl": file, line and function. Others have no file. */
static int take_python(struct kineto *k, const struct pasta_chromeevent *e)
{
	struct pasta_slice name = pasta_jsontape_text(e->tape, e->name);
	struct pasta_span span = {.what = PASTA_SPAN_FRAME};
	const char *colon = memmem(name.at, name.size, "): ", 3), *open = NULL;

	if (k->t->options->no_stacks ||
	    !pasta_trace_wants(k->t, PASTA_BIT(OP_BEGIN) | PASTA_BIT(LAUNCH)))
		return 0;
	if (colon)
		open = memrchr(name.at, '(', (size_t)(colon - name.at));
	if (open && open > name.at && colon > open + 1 &&
	    !(e->tape->tokens[e->name].flags & PASTA_JSON_ESCAPED) &&
	    strspn(open + 1, "0123456789") == (size_t)(colon - open - 1) &&
	    !pasta_digits(open + 1, (size_t)(colon - open - 1), 0, &span.a)) {
		span.extra = pasta_trace_str(k->t, name.at, (size_t)(open - name.at));
		span.name =
			pasta_trace_str(k->t, colon + 3, (size_t)(name.at + name.size - colon - 3));
	} else {
		span.name = pasta_trace_token(k->t, e->tape, e->name);
	}
	return put_span(k, e, &span);
}

/* New to us: it has a time and a thread, which is a region. */
static int take_unknown(struct kineto *k, const struct pasta_chromeevent *e)
{
	return pasta_chromeevent_region(&k->read, e);
}

static int leave_out(struct kineto *k, const struct pasta_chromeevent *e)
{
	return 0;
}

/* -- Memory -- */

static void put_counter(struct kineto *k, const struct pasta_chromeevent *e, uint32_t value,
			uint32_t *name, const char *text, uint32_t device)
{
	struct pasta_event ev = EVENT(counter, COUNTER, e->ts);
	uint64_t n;

	if (!value || pasta_chromeevent_uint(e->tape, value, &n))
		return;
	if (!*name)
		*name = pasta_trace_str(k->t, text, strlen(text));
	ev.counter.value = (double)n;
	ev.counter.name = *name;
	ev.counter.device = device;
	pasta_trace_event(k->t, PASTA_TRACE_MEMORY, &ev, 0);
}

/* "[memory]": bytes were allocated, or freed where they are less than 0. Device type 0 is the host.
 */
static int take_memory(struct kineto *k, const struct pasta_chromeevent *e)
{
	uint32_t bytes = pasta_chromeevent_arg(e, "Bytes");
	uint32_t addr = pasta_chromeevent_arg(e, "Addr");
	uint32_t type = pasta_chromeevent_arg(e, "Device Type");
	uint32_t id = pasta_chromeevent_arg(e, "Device Id");
	const struct pasta_track *track = pasta_chromeevent_track(&k->read, e);
	struct pasta_event alloc = EVENT(alloc, ALLOC, e->ts), freed = EVENT(free, FREE, e->ts);
	uint64_t size = 0, where = 0, device = 0, sort = 1;
	struct pasta_slice text = pasta_jsontape_text(e->tape, bytes);
	bool host;
	int r = -ERANGE;

	if (!bytes || !track)
		return pasta_chromeread_bad(&k->read, e->args, "a memory record without Bytes");
	if (e->tape->tokens[bytes].type == PASTA_JSON_NUMBER)
		r = pasta_digits(text.at, text.size, 0, &size);
	if (r == -ERANGE)
		return pasta_chromeread_bad(&k->read, bytes, "a size that is none");
	if (addr)
		pasta_chromeevent_uint(e->tape, addr, &where);
	if (type)
		pasta_chromeevent_uint(e->tape, type, &sort);
	host = !sort;
	if (host)
		device = UINT32_MAX;
	else if (id)
		pasta_chromeevent_uint(e->tape, id, &device);
	alloc.sub = host ? PASTA_ALLOC_HOST : PASTA_ALLOC_DEVICE;
	alloc.tid = freed.tid = track->tid;
	alloc.alloc.addr = freed.free.addr = where;
	alloc.alloc.bytes = freed.free.bytes = size;
	alloc.alloc.device = freed.free.device = (uint32_t)device;
	pasta_trace_event(k->t, PASTA_TRACE_MEMORY, r ? &freed : &alloc, 0);
	put_counter(k, e, pasta_chromeevent_arg(e, "Total Allocated"), &k->allocated, "allocated",
		    (uint32_t)device);
	put_counter(k, e, pasta_chromeevent_arg(e, "Total Reserved"), &k->reserved, "reserved",
		    (uint32_t)device);
	return 0;
}

/* -- Links -- */

static int take_flow(struct kineto *k, const struct pasta_chromeevent *e)
{
	struct pasta_span span = {.what = PASTA_SPAN_FLOW, .sub = e->ph == 'f'};
	struct pasta_chromeevent here = *e;

	if (!pasta_trace_wants(k->t, PASTA_BIT(LINK)) || e->ph == 't' ||
	    pasta_chromeevent_uint(e->tape, e->id, &span.a))
		return 0;
	here.dur = 0;
	return put_span(k, &here, &span);
}

/* -- What it says of itself -- */

static uint32_t text(struct kineto *k, const char *text)
{
	return pasta_trace_str(k->t, text, strlen(text));
}

static void take_device(struct kineto *k, const struct pasta_jsontape *tape, uint32_t device)
{
	struct pasta_event ev = EVENT(device, DEVICE, 0);
	uint64_t id = 0, units = 0, major, minor;
	char arch[48];

	PASTA_JSON_EACH(tape, device, key, value)
	{
		struct pasta_slice name = pasta_jsontape_text(tape, key);

		if (pasta_slice_is(name, "id"))
			pasta_chromeevent_uint(tape, value, &id);
		else if (pasta_slice_is(name, "name"))
			ev.device.name = pasta_trace_token(k->t, tape, value);
		else if (pasta_slice_is(name, "totalGlobalMem"))
			pasta_chromeevent_uint(tape, value, &ev.device.memory);
		else if (pasta_slice_is(name, "numSms"))
			pasta_chromeevent_uint(tape, value, &units);
	}
	ev.device.id = (uint32_t)id;
	ev.device.units = (uint32_t)units;
	if (!pasta_chromeevent_uint(tape, pasta_jsontape_get(tape, device, "computeMajor"),
				    &major) &&
	    !pasta_chromeevent_uint(tape, pasta_jsontape_get(tape, device, "computeMinor"),
				    &minor)) {
		snprintf(arch, sizeof(arch), "%" PRIu64 ".%" PRIu64, major, minor);
		ev.device.arch = text(k, arch);
	}
	k->devices++;
	pasta_trace_state(k->t, &ev);
}

static void take_devices(struct kineto *k)
{
	const struct pasta_jsontape *tape = &k->c->tape;

	if (tape->tokens[0].type != PASTA_JSON_ARRAY)
		return;
	for (uint32_t i = 1; i < tape->tokens[0].next; i = tape->tokens[i].next)
		take_device(k, tape, i);
}

static void take_distributed(struct kineto *k)
{
	const struct pasta_jsontape *tape = &k->c->tape;
	uint64_t rank, world;

	if (!pasta_chromeevent_uint(tape, pasta_jsontape_get(tape, 0, "rank"), &rank))
		k->world.rank = (uint32_t)rank + 1;
	if (!pasta_chromeevent_uint(tape, pasta_jsontape_get(tape, 0, "world_size"), &world))
		k->world.world = (uint32_t)world;
}

static void take_base(struct kineto *k)
{
	const struct pasta_json_token *token = &k->c->tape.tokens[0];
	uint64_t base;

	k->base = token->type == PASTA_JSON_NUMBER &&
		  !pasta_digits(k->c->tape.text + token->at, token->size, 0, &base) &&
		  base <= INT64_MAX;
	k->world.offset = k->base ? base : 0;
}

/* Which library observed the devices. */
static void take_version(struct kineto *k, const char *vendor)
{
	const struct pasta_json_token *token = &k->c->tape.tokens[0];

	k->vendor = text(k, vendor);
	if (token->type == PASTA_JSON_NUMBER)
		k->driver = pasta_trace_str(k->t, k->c->tape.text + token->at, token->size);
}

static int take_member(void *ctx, struct pasta_slice name)
{
	struct kineto *k = ctx;
	bool devices = pasta_slice_is(name, "deviceProperties");
	bool distributed = pasta_slice_is(name, "distributedInfo");
	bool base = pasta_slice_is(name, "baseTimeNanoseconds");
	bool cuda = pasta_slice_is(name, "cuda_driver_version");
	bool hip = pasta_slice_is(name, "hip_driver_version");
	int r;

	if (!devices && !distributed && !base && !cuda && !hip)
		return pasta_cursor_skip(k->c);
	r = pasta_cursor_value(k->c);
	if (r)
		return r;
	if (devices)
		take_devices(k);
	else if (distributed)
		take_distributed(k);
	else if (base)
		take_base(k);
	else
		take_version(k, cuda ? "NVIDIA" : "AMD");
	return 0;
}

/* -- Events -- */

#define HOST (PASTA_BIT(API) | PASTA_BIT(LAUNCH))
#define KERNELS PASTA_BIT(KERNEL)
#define OPS (PASTA_BIT(OP_BEGIN) | PASTA_BIT(OP_END))
#define MEMORY (PASTA_BIT(ALLOC) | PASTA_BIT(FREE) | PASTA_BIT(COUNTER))

/* Those that are most are first. Names of other accelerators, and of older versions, come after. */
static const struct category categories[] = {
	{"cpu_op", take_op, OPS, 0},
	{"python_function", take_python, 0, 0},
	{"cuda_runtime", take_call, HOST, PASTA_API_RUNTIME},
	{"kernel", take_kernel, PASTA_BIT(KERNEL), 0},
	{"ac2g", leave_out, 0, 0},
	{"cpu_instant_event", take_memory, MEMORY, 0},
	{"fwdbwd", take_flow, PASTA_BIT(LINK), 0},
	{"user_annotation", take_annotation, PASTA_BIT(REGION), 0},
	{"gpu_memcpy", take_copy, PASTA_BIT(COPY), 0},
	{"gpu_memset", take_set, PASTA_BIT(SET), 0},
	{"cuda_driver", take_call, HOST, PASTA_API_DRIVER},
	{"gpu_user_annotation", leave_out, 0, 0},
	{"cuda_sync", take_sync, PASTA_BIT(SYNC), 0},
	{"overhead", leave_out, 0, 0},
	{"Trace", leave_out, 0, 0},
	{"hip_runtime", take_call, HOST, PASTA_API_RUNTIME},
	{"xpu_runtime", take_call, HOST, PASTA_API_RUNTIME},
	{"xpu_driver", take_call, HOST, PASTA_API_DRIVER},
	{"privateuse1_runtime", take_call, HOST, PASTA_API_RUNTIME},
	{"privateuse1_driver", take_call, HOST, PASTA_API_DRIVER},
	{"async_cpu_gpu", leave_out, 0, 0},
	{"async_gpu", leave_out, 0, 0},
	{"forward_backward", take_flow, PASTA_BIT(LINK), 0},
	{"Operator", take_op, OPS, 0},
	{"Kernel", take_kernel, PASTA_BIT(KERNEL), 0},
	{"Memcpy", take_copy, PASTA_BIT(COPY), 0},
	{"Memset", take_set, PASTA_BIT(SET), 0},
	{"Runtime", take_call, HOST, PASTA_API_RUNTIME},
};
#define CATEGORIES (sizeof(categories) / sizeof(*categories))
_Static_assert(CATEGORIES <= 64, "a count each");

static const struct category *category_of(struct kineto *k, const struct pasta_chromeevent *e)
{
	struct pasta_slice cat = pasta_jsontape_text(e->tape, e->cat);

	for (size_t i = 0; e->cat && i < CATEGORIES; i++)
		if (pasta_slice_is(cat, categories[i].name))
			return &categories[i];
	return NULL;
}

static void count_unknown(struct kineto *k, const struct pasta_chromeevent *e,
			  enum pasta_import_list list)
{
	struct pasta_slice cat = pasta_jsontape_text(e->tape, e->cat);
	char name[32];

	if (!e->cat) {
		snprintf(name, sizeof(name), "(%s)", e->ph == 'M' ? "names" : "no category");
		cat = (struct pasta_slice){name, strlen(name)};
	}
	pasta_trace_count(k->t, list, cat.at, cat.size, 1);
}

static int take_event(void *ctx, const struct pasta_chromeevent *e)
{
	struct kineto *k = ctx;
	const struct category *category = category_of(k, e);
	bool memory = category && category->take == take_memory;
	bool flow = category && (category->take == take_flow || category->take == leave_out);

	if (!category)
		count_unknown(k, e, PASTA_IMPORT_FOUND);
	else
		k->found[category - categories]++;
	if (e->ph == 'M')
		return pasta_chromeevent_meta(&k->read, e);
	if (category && (e->ph == 'X' || (memory && e->ph == 'i') ||
			 (flow && (e->ph == 's' || e->ph == 't' || e->ph == 'f')))) {
		k->category = category;
		return category->take(k, e);
	}
	/* Marks without a category are the profiler's own. */
	if (e->ph == 'i' && !e->cat)
		return 0;
	count_unknown(k, e, PASTA_IMPORT_UNKNOWN);
	if (e->ph == 'X')
		return take_unknown(k, e);
	return e->ph == 'i' || e->ph == 'I' ? pasta_chromeevent_mark(&k->read, e) : 0;
}

/* -- The end -- */

/* Say what is not there, if anybody wants it. */
static void lacks(struct pasta_trace *t, bool there, uint64_t kinds, const char *what)
{
	if (!there && pasta_trace_wants(t, kinds))
		pasta_trace_lacks(t, what);
}

static void tell(struct kineto *k)
{
	struct pasta_trace *t = k->t;
	uint64_t found[3] = {0};

	/* These it has whenever the program does them. */
	k->world.kinds = HOST | PASTA_BIT(KERNEL) | PASTA_BIT(COPY) | PASTA_BIT(SET) |
			 PASTA_BIT(SYNC) | PASTA_BIT(COLLECTIVE) | PASTA_BIT(REGION) |
			 PASTA_BIT(ITERATION) | PASTA_BIT(DEVICE);

	for (size_t i = 0; i < CATEGORIES; i++) {
		const struct category *c = &categories[i];

		pasta_trace_count(t, PASTA_IMPORT_FOUND, c->name, strlen(c->name), k->found[i]);
		if (c->take == leave_out)
			pasta_trace_count(t, PASTA_IMPORT_LEFT_OUT, c->name, strlen(c->name),
					  k->found[i]);
		if (k->found[i])
			k->world.kinds |= c->kinds;
		found[0] += c->take == take_op ? k->found[i] : 0;
		found[1] += c->take == take_python ? k->found[i] : 0;
		found[2] += c->take == take_memory ? k->found[i] : 0;
	}
	lacks(t, k->kernels, KERNELS, "kernels: the profiler saw the host alone");
	lacks(t, !k->kernels || k->host, KERNELS,
	      "launches: kernels are not joined to what launched them");
	lacks(t, found[0], OPS, "operators");
	lacks(t, !found[0] || k->shapes, OPS, "shapes of operators' inputs (record_shapes)");
	lacks(t, found[1] || t->options->no_stacks, OPS | HOST, "Python call paths (with_stack)");
	lacks(t, found[2], MEMORY, "memory (profile_memory)");
	lacks(t, !k->kernels || k->grids, KERNELS, "sizes of grids and blocks");
	lacks(t, k->devices, PASTA_BIT(DEVICE), "what devices there are");
}

/* What is only known at the end. */
static void complete(struct kineto *k)
{
	char pid[16];
	int n = snprintf(pid, sizeof(pid), "%" PRIu32, k->world.pid);

	k->world.command = pasta_chromeread_process(&k->read, (struct pasta_slice){pid, (size_t)n});
	/* Times are of the day: from a base, or as they are in older versions. */
	k->world.dated = k->base || k->t->first > UINT64_C(1000000000000000000);
	for (size_t i = 0; i < k->t->state_count; i++) {
		k->t->states[i].device.vendor = k->vendor;
		k->t->states[i].device.driver = k->driver;
	}
}

static int parse(struct pasta_trace *t, struct pasta_cursor *c)
{
	struct kineto k = {.t = t, .c = c, .read = {.t = t, .c = c}};
	struct pasta_chromefile file = {&k.read, &k, take_event, take_member};
	int r = pasta_chromefile_read(&file);

	if (!r) {
		tell(&k);
		complete(&k);
		r = pasta_trace_close(t, &k.world);
	}
	pasta_chromeread_free(&k.read);
	return r;
}

/* All versions write their schema's number first, or what the user added with add_metadata; events
 * have these categories. */
static bool sniff(const char *text, size_t size)
{
	static const char *const marks[] = {"\"schemaVersion\"",    "\"baseTimeNanoseconds\"",
					    "\"deviceProperties\"", "\"distributedInfo\"",
					    "\"cpu_op\"",	    "\"cuda_runtime\"",
					    "\"python_function\"",  "\"user_annotation\"",
					    "\"External id\"",	    "\"correlation\""};

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (memmem(text, size, marks[i], strlen(marks[i])))
			return true;
	return false;
}

const struct pasta_format pasta_format_kineto = {
	.name = "kineto",
	.summary = "PyTorch Profiler (Kineto), JSON",
	.sniff = sniff,
	.parse = parse,
};
