/* kineto.c - imports traces of the PyTorch Profiler (Kineto) from CUDA and ROCm. */
#include "import/kineto.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "import/digits.h"

/* -- Metadata -- */

static uint32_t kineto_str(struct pasta_kineto *k, const char *text)
{
	return pasta_trace_str(k->t, text, strlen(text));
}

static void read_device(struct pasta_kineto *k, const struct pasta_jsontape *tape, uint32_t device)
{
	struct pasta_event ev = PASTA_TRACE_EVENT(device, DEVICE, 0, 0);
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
		ev.device.arch = kineto_str(k, arch);
	}
	k->devices++;
	pasta_trace_state(k->t, &ev);
}

static void read_devices(struct pasta_kineto *k)
{
	const struct pasta_jsontape *tape = &k->c->tape;

	if (tape->tokens[0].type != PASTA_JSON_ARRAY)
		return;
	for (uint32_t i = 1; i < tape->tokens[0].next; i = tape->tokens[i].next)
		read_device(k, tape, i);
}

static void read_distributed(struct pasta_kineto *k)
{
	const struct pasta_jsontape *tape = &k->c->tape;
	uint64_t rank, world;

	if (!pasta_chromeevent_uint(tape, pasta_jsontape_get(tape, 0, "rank"), &rank))
		k->world.rank = (uint32_t)rank + 1;
	if (!pasta_chromeevent_uint(tape, pasta_jsontape_get(tape, 0, "world_size"), &world))
		k->world.world = (uint32_t)world;
}

static int read_base(struct pasta_kineto *k)
{
	const struct pasta_json_token *token = &k->c->tape.tokens[0];
	uint64_t base;

	if (token->type != PASTA_JSON_NUMBER ||
	    pasta_digits(k->c->tape.text + token->at, token->size, 0, &base) || base > INT64_MAX)
		return pasta_chromeread_bad(&k->read, 0,
					    "the value of baseTimeNanoseconds is "
					    "invalid");
	k->world.offset = base;
	k->base = true;
	return 0;
}

/* Reads the version of the library that observed the devices. */
static void read_version(struct pasta_kineto *k, const char *vendor)
{
	const struct pasta_json_token *token = &k->c->tape.tokens[0];

	k->vendor = kineto_str(k, vendor);
	if (token->type == PASTA_JSON_NUMBER)
		k->driver = pasta_trace_str(k->t, k->c->tape.text + token->at, token->size);
}

static int kineto_member(void *ctx, struct pasta_slice name)
{
	struct pasta_kineto *k = ctx;
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
		read_devices(k);
	else if (distributed)
		read_distributed(k);
	else if (base && (r = read_base(k)) < 0)
		return r;
	else if (cuda || hip)
		read_version(k, cuda ? "NVIDIA" : "AMD");
	return 0;
}

/* -- Events -- */

/* Imports an event of an unknown category as a region, because the event has a time and a
 * thread. */
static int kineto_unknown(struct pasta_kineto *k, const struct pasta_chromeevent *e)
{
	return pasta_chromeevent_region(&k->read, e);
}

static int kineto_exclude(struct pasta_kineto *k, const struct pasta_chromeevent *e)
{
	return 0;
}

#define HOST (PASTA_MASK(API) | PASTA_MASK(LAUNCH))
#define KERNELS PASTA_MASK(KERNEL)
#define OPS (PASTA_MASK(OP_BEGIN) | PASTA_MASK(OP_END))
#define MEMORY (PASTA_MASK(ALLOC) | PASTA_MASK(FREE) | PASTA_MASK(COUNTER))

/* The most frequent categories come first. Categories of other accelerators and older versions
 * follow. */
static const struct pasta_kineto_category categories[] = {
	{"cpu_op", pasta_kineto_op, OPS, 0},
	{"python_function", pasta_kineto_python, 0, 0},
	{"cuda_runtime", pasta_kineto_call, HOST, PASTA_API_RUNTIME},
	{"kernel", pasta_kineto_kernel, PASTA_MASK(KERNEL), 0},
	{"ac2g", kineto_exclude, 0, 0},
	{"cpu_instant_event", pasta_kineto_memory, MEMORY, 0},
	{"fwdbwd", pasta_kineto_flow, PASTA_MASK(LINK), 0},
	{"user_annotation", pasta_kineto_annotation, PASTA_MASK(REGION), 0},
	{"gpu_memcpy", pasta_kineto_copy, PASTA_MASK(COPY), 0},
	{"gpu_memset", pasta_kineto_set, PASTA_MASK(SET), 0},
	{"cuda_driver", pasta_kineto_call, HOST, PASTA_API_DRIVER},
	{"gpu_user_annotation", kineto_exclude, 0, 0},
	{"cuda_sync", pasta_kineto_sync, PASTA_MASK(SYNC), 0},
	{"overhead", kineto_exclude, 0, 0},
	{"Trace", kineto_exclude, 0, 0},
	{"hip_runtime", pasta_kineto_call, HOST, PASTA_API_RUNTIME},
	{"xpu_runtime", pasta_kineto_call, HOST, PASTA_API_RUNTIME},
	{"xpu_driver", pasta_kineto_call, HOST, PASTA_API_DRIVER},
	{"privateuse1_runtime", pasta_kineto_call, HOST, PASTA_API_RUNTIME},
	{"privateuse1_driver", pasta_kineto_call, HOST, PASTA_API_DRIVER},
	{"async_cpu_gpu", kineto_exclude, 0, 0},
	{"async_gpu", kineto_exclude, 0, 0},
	{"forward_backward", pasta_kineto_flow, PASTA_MASK(LINK), 0},
	{"Operator", pasta_kineto_op, OPS, 0},
	{"Kernel", pasta_kineto_kernel, PASTA_MASK(KERNEL), 0},
	{"Memcpy", pasta_kineto_copy, PASTA_MASK(COPY), 0},
	{"Memset", pasta_kineto_set, PASTA_MASK(SET), 0},
	{"Runtime", pasta_kineto_call, HOST, PASTA_API_RUNTIME},
};
#define CATEGORIES (sizeof(categories) / sizeof(*categories))
_Static_assert(CATEGORIES <= 64, "the array 'found' must have an entry for each category");

static const struct pasta_kineto_category *category_of(struct pasta_kineto *k,
						       const struct pasta_chromeevent *e)
{
	struct pasta_slice cat = pasta_jsontape_text(e->tape, e->cat);

	for (size_t i = 0; e->cat && i < CATEGORIES; i++)
		if (pasta_slice_is(cat, categories[i].name))
			return &categories[i];
	return NULL;
}

static void count_unknown(struct pasta_kineto *k, const struct pasta_chromeevent *e,
			  enum pasta_import_list list)
{
	struct pasta_slice cat = pasta_jsontape_text(e->tape, e->cat);
	char name[32];

	if (!e->cat || !cat.size) {
		snprintf(name, sizeof(name), "(%s)", e->ph == 'M' ? "names" : "no category");
		cat = (struct pasta_slice){name, strlen(name)};
	}
	pasta_trace_count(k->t, list, cat.at, cat.size, 1);
}

static int kineto_event(void *ctx, const struct pasta_chromeevent *e)
{
	struct pasta_kineto *k = ctx;
	const struct pasta_kineto_category *category = category_of(k, e);
	bool memory = category && category->take == pasta_kineto_memory;
	bool flow = category &&
		    (category->take == pasta_kineto_flow || category->take == kineto_exclude);

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
	/* Skip instant events without a category, which are the profiler's own. */
	if (e->ph == 'i' && !e->cat)
		return 0;
	count_unknown(k, e, PASTA_IMPORT_UNKNOWN);
	if (e->ph == 'X')
		return kineto_unknown(k, e);
	return e->ph == 'i' || e->ph == 'I' ? pasta_chromeevent_mark(&k->read, e) : 0;
}

/* -- The end -- */

/* Adds `what` to the list of missing data, unless the data is there or its kinds are not
 * imported. */
static void kineto_lacks(struct pasta_trace *t, bool there, uint64_t kinds, const char *what)
{
	if (!there && pasta_trace_enabled(t, kinds))
		pasta_trace_lacks(t, what);
}

static void kineto_report(struct pasta_kineto *k)
{
	struct pasta_trace *t = k->t;
	uint64_t found[3] = {0};

	/* Kinds that the profiler always records */
	k->world.kinds = HOST | PASTA_MASK(KERNEL) | PASTA_MASK(COPY) | PASTA_MASK(SET) |
			 PASTA_MASK(SYNC) | PASTA_MASK(COLLECTIVE) | PASTA_MASK(REGION) |
			 PASTA_MASK(ITERATION) | PASTA_MASK(DEVICE);

	for (size_t i = 0; i < CATEGORIES; i++) {
		const struct pasta_kineto_category *c = &categories[i];

		pasta_trace_count(t, PASTA_IMPORT_FOUND, c->name, strlen(c->name), k->found[i]);
		if (c->take == kineto_exclude)
			pasta_trace_count(t, PASTA_IMPORT_LEFT_OUT, c->name, strlen(c->name),
					  k->found[i]);
		if (k->found[i])
			k->world.kinds |= c->kinds;
		found[0] += c->take == pasta_kineto_op ? k->found[i] : 0;
		found[1] += c->take == pasta_kineto_python ? k->found[i] : 0;
		found[2] += c->take == pasta_kineto_memory ? k->found[i] : 0;
	}
	kineto_lacks(t, k->kernels, KERNELS, "kernels (the profiler recorded only the host)");
	kineto_lacks(t, !k->kernels || k->host, KERNELS,
		     "launches of kernels (kernels cannot be correlated with the host)");
	kineto_lacks(t, found[0], OPS, "operators");
	kineto_lacks(t, !found[0] || k->shapes, OPS, "shapes of operators' inputs (record_shapes)");
	kineto_lacks(t, found[1] || t->options->no_stacks, OPS | HOST,
		     "Python call paths (with_stack)");
	kineto_lacks(t, found[2], MEMORY, "memory (profile_memory)");
	kineto_lacks(t, !k->kernels || k->grids, KERNELS, "sizes of grids and blocks");
	kineto_lacks(t, k->devices, PASTA_MASK(DEVICE), "descriptions of devices");
}

/* Sets the data that is known only at the end of the file: the command, and the vendor and driver
 * of the devices. */
static void kineto_complete(struct pasta_kineto *k)
{
	char pid[16];
	int n = snprintf(pid, sizeof(pid), "%" PRIu32, k->world.pid);

	k->world.command = pasta_chromeread_process(&k->read, (struct pasta_slice){pid, (size_t)n});
	/* Times in the file are times of day: relative to a base time or, in older versions,
	 * absolute. */
	k->world.dated = k->base || k->t->first > UINT64_C(1000000000000000000);
	for (size_t i = 0; i < k->t->state_count; i++) {
		k->t->states[i].device.vendor = k->vendor;
		k->t->states[i].device.driver = k->driver;
	}
}

static int kineto_parse(struct pasta_trace *t, struct pasta_cursor *c)
{
	struct pasta_kineto k = {.t = t, .c = c, .read = {.t = t, .c = c}};
	struct pasta_chromefile file = {&k.read, &k, kineto_event, kineto_member};
	int r = pasta_chromefile_read(&file);

	if (!r)
		r = pasta_kineto_earlier(&k);
	if (!r) {
		kineto_report(&k);
		kineto_complete(&k);
		r = pasta_trace_close(t, &k.world);
	}
	pasta_spansort_free(k.memory);
	pasta_chromeread_free(&k.read);
	return r;
}

/* Returns whether the file is from the PyTorch Profiler. The file begins with the schema version,
 * or with metadata that the user added with add_metadata. If there is no schema version, known
 * members of the events identify the format. */
static bool kineto_sniff(const char *text, size_t size)
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
	.sniff = kineto_sniff,
	.parse = kineto_parse,
};
