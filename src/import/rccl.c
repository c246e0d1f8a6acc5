/* rccl.c - finds the collective that an RCCL kernel belongs to, by the calls around its launch. */
#include "import/rccl.h"

#include <stdlib.h>

#include "import/collective.h"

/* Types of calls. FIRST and all later types are collectives, or one half of a transfer (send,
 * receive). */
enum { OTHER, GROUP_START, GROUP_END, FIRST };

static const struct {
	const char *call, *name;
} whats[] = {{"", NULL},
	     {"ncclGroupStart", NULL},
	     {"ncclGroupEnd", NULL},
	     {"ncclAllGather", "all_gather"},
	     {"ncclAllReduce", "all_reduce"},
	     {"ncclAllToAll", "all_to_all"},
	     {"ncclAllToAllv", "all_to_all"},
	     {"ncclBcast", "broadcast"},
	     {"ncclBroadcast", "broadcast"},
	     {"ncclGather", "gather"},
	     {"ncclReduce", "reduce"},
	     {"ncclReduceScatter", "reduce_scatter"},
	     {"ncclScatter", "scatter"},
	     {"ncclSend", "send_recv"},
	     {"ncclRecv", "send_recv"}};

enum { WHATS = sizeof(whats) / sizeof(*whats), INNER_MAX = 64 };
enum {
	WAITING_MAX = 1 << 18
}; /* maximum number of stored kernels; further ones are written without their collective */

void pasta_rccl_free(struct pasta_rccl *r)
{
	free(r->kernels);
	pasta_map_free(r->waiting);
	free(r->calls);
	free(r->launches);
	*r = (struct pasta_rccl){0};
}

/* Makes room for one more entry. Returns NULL when out of memory. */
static void *rccl_grow(struct pasta_rccl *r, void **array, size_t count, size_t *capacity,
		       size_t size)
{
	size_t n = *capacity ? 2 * *capacity : 256;
	void *more;

	if (count == *capacity) {
		more = reallocarray(*array, n, size);
		if (!more) {
			pasta_fail(r->t->err, -ENOMEM, "out of memory");
			return NULL;
		}
		*array = more;
		*capacity = n;
	}
	return (char *)*array + count * size;
}

#define MORE(r, array, what)                                                                       \
	rccl_grow(r, (void **)&(r)->array, (r)->what##_count, &(r)->what##_capacity,               \
		  sizeof(*(r)->array))

static void rccl_put(struct pasta_rccl *r, struct pasta_event *kernel, const char *name)
{
	struct pasta_event ev = {.size = PASTA_EVENT_SIZE(collective),
				 .kind = PASTA_KIND_COLLECTIVE,
				 .time = kernel->time};

	ev.collective.corr = kernel->kernel.corr;
	ev.collective.name = pasta_trace_str(r->t, name, strlen(name));
	pasta_trace_event(r->t, PASTA_TRACE_COLLECTIVE, &ev, 0);
	pasta_trace_event(r->t, PASTA_TRACE_COLLECTIVE, kernel, kernel->kernel.dur);
}

void pasta_rccl_kernel(struct pasta_rccl *r, const struct pasta_event *ev, const char *name)
{
	struct pasta_event kernel = *ev;
	struct pasta_rccl_kernel *to;

	if (r->kernel_count == WAITING_MAX) {
		rccl_put(r, &kernel, name);
		return;
	}
	if (!r->waiting)
		r->waiting = pasta_map_new(1);
	if (!r->waiting || !pasta_map_add(r->waiting, ev->kernel.corr)) {
		pasta_fail(r->t->err, -ENOMEM, "out of memory");
		return;
	}
	to = MORE(r, kernels, kernel);
	if (!to)
		return;
	*to = (struct pasta_rccl_kernel){kernel, name};
	r->kernel_count++;
}

void pasta_rccl_call(struct pasta_rccl *r, struct pasta_slice name, uint32_t tid, uint64_t corr,
		     uint64_t begin, uint64_t end)
{
	struct pasta_rccl_call *to = MORE(r, calls, call);

	if (!to)
		return;
	*to = (struct pasta_rccl_call){.begin = begin, .end = end, .corr = corr, .tid = tid};
	for (uint8_t i = GROUP_START; i < WHATS && !to->what; i++)
		if (pasta_slice_is(name, whats[i].call))
			to->what = i;
	r->call_count++;
}

void pasta_rccl_launch(struct pasta_rccl *r, uint32_t tid, uint64_t corr, uint64_t begin)
{
	struct pasta_rccl_launch *to;

	/* Skip a launch to which no RCCL kernel belongs. */
	if (r->kernels_read && (!r->waiting || !pasta_map_find(r->waiting, corr)))
		return;
	to = MORE(r, launches, launch);
	if (!to)
		return;
	*to = (struct pasta_rccl_launch){corr, begin, tid};
	r->launch_count++;
}

/* -- Matching kernels with calls -- */

static int by_corr(const void *a, const void *b)
{
	const struct pasta_rccl_launch *x = a, *y = b;

	return (x->corr > y->corr) - (x->corr < y->corr);
}

static int by_thread(const void *a, const void *b)
{
	const struct pasta_rccl_call *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Returns the name that all collectives of a group share, or NULL if their names differ. `end` is
 * the index of the call that ends the group. */
static const char *group_name(const struct pasta_rccl *r, size_t end)
{
	const char *name = NULL;
	unsigned int depth = 1;

	for (size_t i = end; i-- > 0 && r->calls[i].tid == r->calls[end].tid;) {
		const struct pasta_rccl_call *call = &r->calls[i];

		depth += call->what == GROUP_END;
		depth -= call->what == GROUP_START;
		if (!depth)
			break;
		if (call->what < FIRST)
			continue;
		if (name && strcmp(name, whats[call->what].name))
			return NULL;
		name = whats[call->what].name;
	}
	return name;
}

static const char *call_name(const struct pasta_rccl *r, size_t call)
{
	unsigned int what = r->calls[call].what;

	return what == GROUP_END ? group_name(r, call) : what < FIRST ? NULL : whats[what].name;
}

/* Returns the name of a thread's innermost call at the given time. Calls may be nested. */
static const char *name_at(const struct pasta_rccl *r, uint32_t tid, uint64_t time)
{
	size_t low = 0, high = r->call_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct pasta_rccl_call *c = &r->calls[middle];

		if (c->tid < tid || (c->tid == tid && c->begin <= time))
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i-- > 0 && low - i <= INNER_MAX && r->calls[i].tid == tid;)
		if (r->calls[i].end >= time)
			return call_name(r, i);
	return NULL;
}

/* Returns the name of the collective of the kernel with this correlation id. In files without HIP
 * calls, the kernel has the correlation id of its RCCL call. */
static const char *rccl_name(const struct pasta_rccl *r, const struct pasta_map *calls,
			     uint64_t corr)
{
	const struct pasta_rccl_launch key = {.corr = corr}, *launch = NULL;
	const size_t *call = pasta_map_find(calls, corr);

	if (call)
		return call_name(r, *call);
	if (r->launch_count)
		launch = bsearch(&key, r->launches, r->launch_count, sizeof(key), by_corr);
	return launch ? name_at(r, launch->tid, launch->begin) : NULL;
}

/* Returns a map from correlation ids to the indices of calls, or NULL when out of memory. */
static struct pasta_map *index_calls(const struct pasta_rccl *r)
{
	struct pasta_map *calls = pasta_map_new(sizeof(size_t));

	for (size_t i = 0; calls && i < r->call_count; i++) {
		size_t *place = pasta_map_add(calls, r->calls[i].corr);

		if (!place) {
			pasta_map_free(calls);
			return NULL;
		}
		*place = i;
	}
	return calls;
}

void pasta_rccl_put(struct pasta_rccl *r)
{
	struct pasta_map *calls;

	if (r->call_count)
		qsort(r->calls, r->call_count, sizeof(*r->calls), by_thread);
	if (r->launch_count)
		qsort(r->launches, r->launch_count, sizeof(*r->launches), by_corr);
	calls = index_calls(r);
	if (!calls) {
		pasta_fail(r->t->err, -ENOMEM, "out of memory");
		return;
	}
	for (size_t i = 0; i < r->kernel_count; i++) {
		struct pasta_rccl_kernel *k = &r->kernels[i];
		const char *name = NULL;

		if (!strcmp(k->name, "generic") || !strcmp(k->name, "unknown"))
			name = rccl_name(r, calls, k->ev.kernel.corr);
		rccl_put(r, &k->ev, name ? name : k->name);
	}
	pasta_map_free(calls);
}
