/* kinetodevice.c - imports kernels, copies, fills and waits of the PyTorch Profiler. */
#include <string.h>

#include "import/collective.h"
#include "import/kineto.h"

/* Arguments of kernels, copies and fills; 0 if missing. */
struct work {
	uint64_t device, context, stream, corr, node, registers, shared, bytes;
	uint64_t grid[3], block[3];
	uint32_t collective; /* token of the collective's name; 0: not a collective */
};

static void read_triple(const struct pasta_jsontape *tape, uint32_t array, uint64_t to[3])
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
			read_triple(tape, value, w->grid);
		} else if (name.size == 5 && !memcmp(name.at, "block", 5)) {
			read_triple(tape, value, w->block);
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

/* Clamps a value to 32 bits. */
static uint32_t clamp_u32(uint64_t n)
{
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* Folds an id to 32 bits. A small number stays the same. For an address, combines both halves. */
static uint32_t fold_id(uint64_t n)
{
	return (uint32_t)(n ^ n >> 32);
}

int pasta_kineto_kernel(struct pasta_kineto *k, const struct pasta_chromeevent *e)
{
	struct pasta_event ev = PASTA_TRACE_EVENT(kernel, KERNEL, 0, e->ts);
	struct work w;

	read_work(e, &w);
	k->kernels++;
	k->grids += w.grid[0] != 0;
	if (!pasta_trace_enabled(k->t, PASTA_MASK(KERNEL) | PASTA_MASK(COLLECTIVE)))
		return 0;
	ev.kernel.dur = e->dur;
	ev.kernel.corr = w.corr;
	ev.kernel.node = w.node;
	ev.kernel.name = pasta_trace_token(k->t, e->tape, e->name);
	ev.kernel.context = fold_id(w.context);
	ev.kernel.stream = fold_id(w.stream);
	ev.kernel.device = clamp_u32(w.device);
	ev.kernel.grid_x = clamp_u32(w.grid[0]);
	ev.kernel.grid_y = clamp_u32(w.grid[1]);
	ev.kernel.grid_z = clamp_u32(w.grid[2]);
	ev.kernel.block_x = clamp_u32(w.block[0]);
	ev.kernel.block_y = clamp_u32(w.block[1]);
	ev.kernel.block_z = clamp_u32(w.block[2]);
	ev.kernel.registers = clamp_u32(w.registers);
	ev.kernel.shared_static = clamp_u32(w.shared);
	if (!pasta_collective_kernel(k->t, e, &ev, w.collective))
		pasta_trace_event(k->t, PASTA_TRACE_DEVICE, &ev, e->dur);
	return 0;
}

/* Returns the direction of a copy by the first word after "Memcpy", as in "Memcpy DtoH (Device
 * -> Pinned)". */
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

/* Returns the type of memory that begins a text such as "Pageable -> Device)". ROCm reports "Host"
 * for both types of host memory, so their type is unknown. */
static uint32_t memory_of(struct pasta_slice text)
{
	static const struct {
		const char *word;
		enum pasta_memory memory;
	} words[] = {{"Pageable", PASTA_MEMORY_PAGEABLE},
		     {"Pinned", PASTA_MEMORY_PINNED},
		     {"Device", PASTA_MEMORY_DEVICE},
		     {"Array", PASTA_MEMORY_ARRAY},
		     {"Managed", PASTA_MEMORY_MANAGED}};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (text.size >= strlen(words[i].word) &&
		    !memcmp(text.at, words[i].word, strlen(words[i].word)))
			return words[i].memory;
	return PASTA_MEMORY_UNKNOWN;
}

/* Sets the types of memory from the name of a copy, such as "Memcpy DtoH (Device -> Pinned)". */
static void copy_memory(struct pasta_copy_record *copy, struct pasta_slice name)
{
	const char *end = name.at + name.size, *open = memchr(name.at, '(', name.size);
	const char *arrow = open ? memmem(open, (size_t)(end - open), " -> ", 4) : NULL;

	if (!arrow)
		return;
	open++;
	arrow += strlen(" -> ");
	copy->src_memory = memory_of((struct pasta_slice){open, (size_t)(end - open)});
	copy->dst_memory = memory_of((struct pasta_slice){arrow, (size_t)(end - arrow)});
}

int pasta_kineto_copy(struct pasta_kineto *k, const struct pasta_chromeevent *e)
{
	struct pasta_event ev = PASTA_TRACE_EVENT(copy, COPY, 0, e->ts);
	struct work w;

	read_work(e, &w);
	ev.sub = direction(pasta_jsontape_text(e->tape, e->name));
	copy_memory(&ev.copy, pasta_jsontape_text(e->tape, e->name));
	ev.copy.dur = e->dur;
	ev.copy.corr = w.corr;
	ev.copy.node = w.node;
	ev.copy.bytes = w.bytes;
	ev.copy.context = fold_id(w.context);
	ev.copy.stream = fold_id(w.stream);
	ev.copy.device = clamp_u32(w.device);
	pasta_trace_event(k->t, PASTA_TRACE_DEVICE, &ev, e->dur);
	return 0;
}

int pasta_kineto_set(struct pasta_kineto *k, const struct pasta_chromeevent *e)
{
	struct pasta_event ev = PASTA_TRACE_EVENT(set, SET, 0, e->ts);
	struct work w;

	read_work(e, &w);
	ev.set.dur = e->dur;
	ev.set.corr = w.corr;
	ev.set.node = w.node;
	ev.set.bytes = w.bytes;
	ev.set.context = fold_id(w.context);
	ev.set.stream = fold_id(w.stream);
	ev.set.device = clamp_u32(w.device);
	pasta_trace_event(k->t, PASTA_TRACE_DEVICE, &ev, e->dur);
	return 0;
}

/* Returns the subtype of a wait with this name. */
static uint8_t sync_of(struct pasta_slice name)
{
	static const struct {
		const char *name;
		uint8_t sub;
	} names[] = {{"Event Sync", PASTA_SYNC_EVENT},
		     {"Stream Wait Event", PASTA_SYNC_STREAM_WAIT},
		     {"Stream Sync", PASTA_SYNC_STREAM},
		     {"Context Sync", PASTA_SYNC_CONTEXT}};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (memmem(name.at, name.size, names[i].name, strlen(names[i].name)))
			return names[i].sub;
	return 0;
}

/* Imports waits, such as "Context Sync" and "Stream Wait Event". A wait has no thread of its own:
 * it belongs to the thread of the call with the same correlation id. */
int pasta_kineto_sync(struct pasta_kineto *k, const struct pasta_chromeevent *e)
{
	struct pasta_span span = {.what = PASTA_SPAN_SYNC, .begin = e->ts, .end = e->ts + e->dur};
	struct work w;

	k->t->waits = true;
	if (!pasta_trace_enabled(k->t, PASTA_MASK(SYNC)))
		return 0;
	read_work(e, &w);
	span.sub = sync_of(pasta_jsontape_text(e->tape, e->name));
	span.a = w.corr;
	span.b = pasta_pair(clamp_u32(w.device), 0);
	span.name = fold_id(w.context);
	span.extra = fold_id(w.stream);
	pasta_trace_wait(k->t, &span);
	return 0;
}
