/* collective.c - finds the collective operations in a trace and writes them to the shard. */
#include "import/collective.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "import/chromeevent.h"

enum {
	WAITING_MAX = 1 << 18
}; /* maximum number of stored collectives; further ones are written without annotations */

/* Some kernels have names such as ncclKernel_AllReduce_RING_LL_Sum_float,
 * ncclDevKernel_SendRecv(...), or ncclDevKernel_Generic, which does not name its operation. The
 * names of other kernels only begin with nccl or rccl. */
const char *pasta_collective_name(struct pasta_slice kernel)
{
	static const char *const heads[] = {"ncclKernel_", "ncclDevKernel_", "rcclKernel_",
					    "rcclDevKernel_", "ncclDevFunc_"};
	static const struct {
		const char *word, *name;
	} kinds[] = {{"AllReduce", "all_reduce"},
		     {"AllGather", "all_gather"},
		     {"ReduceScatter", "reduce_scatter"},
		     {"AllToAll", "all_to_all"},
		     {"SendRecv", "send_recv"},
		     {"Broadcast", "broadcast"},
		     {"Reduce", "reduce"},
		     {"Generic", "generic"}};
	size_t head = 0;

	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads) && !head; i++) {
		size_t n = strlen(heads[i]);

		if (kernel.size > n && !memcmp(kernel.at, heads[i], n))
			head = n;
	}
	for (size_t i = 0; head && i < sizeof(kinds) / sizeof(*kinds); i++) {
		size_t n = strlen(kinds[i].word);

		if (kernel.size >= head + n && !memcmp(kernel.at + head, kinds[i].word, n))
			return kinds[i].name;
	}
	return head ? "unknown" : NULL;
}

uint64_t pasta_collective_element(struct pasta_slice dtype)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} types[] = {{"Float", 4}, {"float", 4},	 {"Double", 8},	       {"double", 8},
		     {"Half", 2},  {"BFloat16", 2},	 {"c10::BFloat16", 2}, {"c10::Half", 2},
		     {"Int", 4},   {"int", 4},		 {"Long", 8},	       {"long int", 8},
		     {"Short", 2}, {"Char", 1},		 {"signed char", 1},   {"unsigned char", 1},
		     {"long", 8},  {"short", 2},	 {"bool", 1},	       {"Byte", 1},
		     {"Bool", 1},  {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1},   {"ComplexFloat", 8}};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (pasta_slice_is(dtype, types[i].name))
			return types[i].bytes;
	return 0;
}

static uint64_t collective_number(const struct pasta_chromeevent *e, const char *name)
{
	uint64_t v = 0;

	pasta_chromeevent_uint(e->tape, pasta_chromeevent_arg(e, name), &v);
	return v;
}

/* Returns the event's rank plus 1; 0 if the event has no rank. */
static uint32_t rank_of(const struct pasta_chromeevent *e)
{
	uint64_t rank;

	if (pasta_chromeevent_uint(e->tape, pasta_chromeevent_arg(e, "Rank"), &rank) ||
	    rank >= UINT32_MAX)
		return 0;
	return (uint32_t)rank + 1;
}

static uint64_t multiply(uint64_t a, uint64_t b)
{
	return __builtin_mul_overflow(a, b, &a) ? UINT64_MAX : a;
}

static void read_arguments(struct pasta_trace *t, const struct pasta_chromeevent *e,
			   struct pasta_collective_record *to)
{
	uint32_t dtype = pasta_chromeevent_arg(e, "dtype");
	uint32_t group = pasta_chromeevent_arg(e, "Process Group Name");
	uint64_t bytes = 0;
	struct pasta_slice s;

	if (dtype) {
		bytes = pasta_collective_element(pasta_jsontape_text(e->tape, dtype));
		to->dtype = pasta_trace_token(t, e->tape, dtype);
	}
	to->bytes_in = multiply(collective_number(e, "In msg nelems"), bytes);
	to->bytes_out = multiply(collective_number(e, "Out msg nelems"), bytes);
	to->ranks = (uint32_t)collective_number(e, "Group size");
	to->seq = collective_number(e, "Seq");
	to->rank = rank_of(e);
	if (group) {
		s = pasta_jsontape_text(e->tape, group);
		to->comm = s.size ? XXH3_64bits(s.at, s.size) : 0;
	}
}

/* -- Waiting collectives -- */

struct waiting {
	struct pasta_event collective, kernel;
	uint64_t next; /* index of the next collective with the same correlation id, plus 1 */
	bool named;    /* the arguments have a name */
};

struct pasta_collectives {
	struct waiting *items;
	size_t count, capacity;
	/* Map from a correlation id to the index of its last collective plus 1 (uint64_t). */
	struct pasta_map *by_corr;
};

static struct pasta_collectives *collectives_of(struct pasta_trace *t)
{
	struct pasta_collectives *c = t->collectives;

	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (c)
		c->by_corr = pasta_map_new(sizeof(uint64_t));
	if (!c || !c->by_corr) {
		free(c);
		return NULL;
	}
	t->collectives = c;
	return c;
}

static struct waiting *collective_wait(struct pasta_trace *t, uint64_t corr)
{
	struct pasta_collectives *c = collectives_of(t);
	uint64_t *last = c ? pasta_map_add(c->by_corr, corr) : NULL;

	if (last && c->count == c->capacity) {
		size_t n = c->capacity ? 2 * c->capacity : 64;
		void *items = reallocarray(c->items, n, sizeof(*c->items));

		if (items)
			c->items = items;
		c->capacity = items ? n : c->capacity;
	}
	if (!last || c->count == c->capacity) {
		pasta_fail(t->err, -ENOMEM, "out of memory");
		return NULL;
	}
	c->items[c->count] = (struct waiting){.next = *last};
	*last = ++c->count;
	return &c->items[c->count - 1];
}

bool pasta_collective_kernel(struct pasta_trace *t, const struct pasta_chromeevent *e,
			     const struct pasta_event *kernel, uint32_t token)
{
	const char *by_name = pasta_collective_name(pasta_jsontape_text(e->tape, e->name));
	struct pasta_event ev = {
		.size = PASTA_EVENT_SIZE(collective), .kind = PASTA_KIND_COLLECTIVE, .time = e->ts};
	struct waiting *w;

	if ((!token && !by_name) || !pasta_trace_enabled(t, PASTA_MASK(COLLECTIVE)))
		return false;
	if (t->collectives && t->collectives->count == WAITING_MAX)
		pasta_collective_write(t);
	w = collective_wait(t, kernel->kernel.corr);
	if (!w)
		return true;
	ev.collective.corr = kernel->kernel.corr;
	ev.collective.name = pasta_trace_token(t, e->tape, token);
	w->named = ev.collective.name;
	if (!w->named && by_name)
		ev.collective.name = pasta_trace_str(t, by_name, strlen(by_name));
	read_arguments(t, e, &ev.collective);
	w->collective = ev;
	w->kernel = *kernel;
	return true;
}

void pasta_collective_describe(struct pasta_trace *t, uint64_t corr,
			       const struct pasta_collective_desc *desc)
{
	struct pasta_collectives *c = t->collectives;
	/* Id 0 means that the event has no correlation id, so two events with id 0 do not match. */
	uint64_t *last = c && corr ? pasta_map_find(c->by_corr, corr) : NULL;

	for (uint64_t i = last ? *last : 0; i; i = c->items[i - 1].next) {
		struct waiting *w = &c->items[i - 1];

		if (w->named)
			continue;
		w->collective.collective.name = desc->name;
		if (!w->collective.collective.dtype) {
			w->collective.collective.dtype = desc->dtype;
			w->collective.collective.bytes_in = desc->bytes;
		}
	}
	/* the second call with a correlation id is a driver call that the runtime call made */
	if (last)
		*last = 0;
}

void pasta_collective_write(struct pasta_trace *t)
{
	struct pasta_collectives *c = t->collectives;

	for (size_t i = 0; c && i < c->count; i++) {
		struct waiting *w = &c->items[i];

		pasta_trace_event(t, PASTA_TRACE_COLLECTIVE, &w->collective, 0);
		pasta_trace_event(t, PASTA_TRACE_COLLECTIVE, &w->kernel, w->kernel.kernel.dur);
	}
	pasta_collective_free(t);
}

void pasta_collective_free(struct pasta_trace *t)
{
	struct pasta_collectives *c = t->collectives;

	if (!c)
		return;
	pasta_map_free(c->by_corr);
	free(c->items);
	free(c);
	t->collectives = NULL;
}
