/* sieve.c - applies a filter to events, and caches which names match. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/join/filter_internal.h"

static const uint64_t has_device = PASTA_MASK(LAUNCH) | PASTA_MASK(KERNEL) | PASTA_MASK(COPY) |
				   PASTA_MASK(SET) | PASTA_MASK(ALLOC) | PASTA_MASK(FREE) |
				   PASTA_MASK(SYNC) | PASTA_MASK(TENSOR) | PASTA_MASK(COUNTER) |
				   PASTA_MASK(PC_SAMPLE) | PASTA_MASK(QUEUE) |
				   PASTA_MASK(EVENT_RECORD) | PASTA_MASK(UNMATCHED);
static const uint64_t has_stream = PASTA_MASK(LAUNCH) | PASTA_MASK(UNMATCHED) | PASTA_MASK(KERNEL) |
				   PASTA_MASK(COPY) | PASTA_MASK(SET) | PASTA_MASK(SYNC) |
				   PASTA_MASK(UVM) | PASTA_MASK(QUEUE) | PASTA_MASK(EVENT_RECORD);
/* Kinds of events that describe what exists, such as allocations, rather than activity. */
static const uint64_t is_state = PASTA_MASK(ALLOC) | PASTA_MASK(FREE) | PASTA_MASK(TENSOR) |
				 PASTA_MASK(MODULE) | PASTA_MASK(GRAPH) | PASTA_MASK(LINK) |
				 PASTA_MASK(DEVICE) | PASTA_MASK(PROCESS) | PASTA_MASK(THREAD) |
				 PASTA_MASK(CLOCK) | PASTA_MASK(LOSS) | PASTA_MASK(QUEUE) |
				 PASTA_MASK(OBJECT) | PASTA_MASK(SITE);

static bool sieve_matches(const struct pasta_filter *f, enum pasta_filter_type type,
			  const char *text)
{
	size_t i;

	for (i = 0; i < f->count; i++)
		if (f->terms[i].type == type && !regexec(&f->terms[i].regex, text, 0, NULL, 0))
			return true;
	return false;
}

/* Whether each name matches, by the id of the name: 0 unknown, 1 no match, 2 match. */
struct answers {
	uint8_t *known;
	size_t count;
};

struct pasta_sieve {
	const struct pasta_filter *filter;
	struct answers kernels, regions;
	struct filter_found found;
	/* Number of the device that was checked last, plus 1; 0 if none was checked yet. */
	uint32_t device;
};

struct pasta_sieve *pasta_sieve_new(const struct pasta_filter *f)
{
	struct pasta_sieve *s = calloc(1, sizeof(*s));

	if (s)
		s->filter = f;
	return s;
}

void pasta_sieve_free(struct pasta_sieve *s)
{
	if (!s)
		return;
	pthread_mutex_lock(s->filter->lock);
	pasta_filter_found_add(s->filter->found, &s->found);
	pthread_mutex_unlock(s->filter->lock);
	pasta_filter_found_free(&s->found);
	free(s->kernels.known);
	free(s->regions.known);
	free(s);
}

/* Returns the cache slot of an id. When out of memory, returns NULL; the caller then matches the
 * name each time. */
static uint8_t *sieve_answer(struct answers *a, uint32_t id)
{
	if (id >= a->count) {
		size_t count = a->count ? a->count : 1024;
		uint8_t *known;

		while (count <= id)
			count *= 2;
		known = realloc(a->known, count);
		if (!known)
			return NULL;
		memset(known + a->count, 0, count - a->count);
		a->known = known;
		a->count = count;
	}
	return &a->known[id];
}

/* Returns whether a pattern of this filter type matches a name. Records the result for
 * pasta_filter_missed. */
static bool sieve_match(struct pasta_sieve *s, enum pasta_filter_type type, const char *name)
{
	bool is = sieve_matches(s->filter, type, name);

	if (is)
		s->found.matched |= 1u << type;
	else if (*name)
		pasta_filter_others_add(&s->found.others[type], name);
	return is;
}

static bool sieve_kernel_passes(struct pasta_sieve *s, const char *name)
{
	const struct pasta_filter *f = s->filter;

	return (!filter_has(f, PASTA_FILTER_KERNEL) || sieve_match(s, PASTA_FILTER_KERNEL, name)) &&
	       !(filter_has(f, PASTA_FILTER_EXCLUDE) &&
		 sieve_matches(f, PASTA_FILTER_EXCLUDE, name));
}

static bool sieve_pass_kernel(struct pasta_sieve *s, uint32_t name)
{
	uint8_t *known = sieve_answer(&s->kernels, name);
	bool passes;

	if (known && *known)
		return *known == 2;
	passes = sieve_kernel_passes(s, pasta_str(name));
	if (known)
		*known = passes ? 2 : 1;
	return passes;
}

/* Matches the full path of a region, however long it is. */
static bool sieve_region_passes(struct pasta_sieve *s, const struct pasta_scope *region)
{
	const struct pasta_scope *r;
	size_t size = 1;
	char *path;
	bool passes;

	for (r = region; r; r = r->up ? r->up->region : NULL)
		size += strlen(pasta_str(r->name)) + sizeof("(unnamed)/");
	path = malloc(size);
	if (!path)
		return false;
	passes = sieve_match(s, PASTA_FILTER_REGION, pasta_scope_regions(region, path, size));
	free(path);
	return passes;
}

static bool sieve_pass_region(struct pasta_sieve *s, const struct pasta_scope *scope)
{
	const struct pasta_scope *region = scope ? scope->region : NULL;
	uint8_t *known = region ? sieve_answer(&s->regions, region->id) : NULL;
	bool passes;

	if (!region)
		return false;
	if (known && *known)
		return *known == 2;
	passes = sieve_region_passes(s, region);
	if (known)
		*known = passes ? 2 : 1;
	return passes;
}

/* Returns the id of the name of the event's kernel; 0 if there is no kernel or its name is
 * unknown. */
static uint32_t sieve_kernel(const struct pasta_event *ev)
{
	switch (ev->kind) {
	case PASTA_KIND_KERNEL:
		return ev->kernel.name;
	case PASTA_KIND_LAUNCH:
	case PASTA_KIND_UNMATCHED:
		return ev->launch.graph ? 0 : ev->launch.name;
	case PASTA_KIND_PC_SAMPLE:
		return ev->pc_sample.function;
	case PASTA_KIND_ACCESS_SUM:
		return ev->access_sum.name;
	case PASTA_KIND_ACCESS_BATCH:
		return ev->access_batch.name;
	case PASTA_KIND_ACCESS_LAUNCH:
		return ev->access_launch.name;
	default:
		return 0;
	}
}

static uint32_t sieve_device(const struct pasta_event *ev)
{
	switch (ev->kind) {
	case PASTA_KIND_LAUNCH:
	case PASTA_KIND_UNMATCHED:
		return ev->launch.device;
	case PASTA_KIND_KERNEL:
		return ev->kernel.device;
	case PASTA_KIND_COPY:
		return ev->copy.device;
	case PASTA_KIND_SET:
		return ev->set.device;
	case PASTA_KIND_ALLOC:
		return ev->alloc.device;
	case PASTA_KIND_FREE:
		return ev->free.device;
	case PASTA_KIND_SYNC:
		return ev->sync.device;
	case PASTA_KIND_TENSOR:
		return ev->tensor.device;
	case PASTA_KIND_COUNTER:
		return ev->counter.device;
	case PASTA_KIND_QUEUE:
		return ev->queue.device;
	case PASTA_KIND_EVENT_RECORD:
		return ev->event_record.device;
	default:
		return ev->pc_sample.device;
	}
}

static uint32_t sieve_stream(const struct pasta_event *ev)
{
	switch (ev->kind) {
	case PASTA_KIND_LAUNCH:
	case PASTA_KIND_UNMATCHED:
		return ev->launch.stream;
	case PASTA_KIND_KERNEL:
		return ev->kernel.stream;
	case PASTA_KIND_COPY:
		return ev->copy.stream;
	case PASTA_KIND_SET:
		return ev->set.stream;
	case PASTA_KIND_SYNC:
		return ev->sync.stream;
	case PASTA_KIND_QUEUE:
		return ev->queue.stream;
	case PASTA_KIND_EVENT_RECORD:
		return ev->event_record.stream;
	default:
		return ev->uvm.stream;
	}
}

/* Returns whether a record reports a kernel that the filters of `accelprof run` excluded. Such a
 * record always passes, because it is the only report of that kernel. */
static bool sieve_is_exempt(const struct pasta_event *ev)
{
	return ev->kind == PASTA_KIND_ACCESS_LAUNCH && ev->sub == PASTA_ACCESS_LAUNCH_FILTERED;
}

static bool sieve_pass_fields(struct pasta_sieve *s, const struct pasta_event *ev)
{
	const struct pasta_filter *f = s->filter;
	bool kernels =
		(filter_has(f, PASTA_FILTER_KERNEL) || filter_has(f, PASTA_FILTER_EXCLUDE)) &&
		!sieve_is_exempt(ev);
	bool is_kernel = ev->kind == PASTA_KIND_KERNEL || ev->kind == PASTA_KIND_PC_SAMPLE;

	if (kernels && (is_kernel || sieve_kernel(ev)) && !sieve_pass_kernel(s, sieve_kernel(ev)))
		return false;
	if (filter_has(f, PASTA_FILTER_DEVICE) && has_device >> ev->kind & 1 &&
	    !filter_in_ranges(f, PASTA_FILTER_DEVICE, sieve_device(ev)))
		return false;
	return !filter_has(f, PASTA_FILTER_STREAM) || !(has_stream >> ev->kind & 1) ||
	       filter_in_ranges(f, PASTA_FILTER_STREAM, sieve_stream(ev));
}

static void sieve_check_device(struct pasta_sieve *s, uint32_t device)
{
	char text[12];

	if (s->device == device + 1)
		return;
	s->device = device + 1;
	if (filter_in_ranges(s->filter, PASTA_FILTER_DEVICE, device))
		s->found.matched |= 1u << PASTA_FILTER_DEVICE;
	snprintf(text, sizeof(text), "%u", device);
	if (device != UINT32_MAX) /* the host */
		pasta_filter_others_add(&s->found.others[PASTA_FILTER_DEVICE], text);
}

/* Records which filter types match the event. Checks each type by itself, because otherwise a type
 * whose events all fail another type would seem to match nothing. */
static void sieve_check(struct pasta_sieve *s, const struct pasta_event *ev,
			const struct pasta_where *where)
{
	uint32_t open = s->filter->types & PASTA_FILTER_CHECKED & ~s->found.matched;

	s->found.looked = true;
	if (!open || ev->kind >= PASTA_KIND_MAX)
		return;
	if (open >> PASTA_FILTER_KERNEL & 1 && sieve_kernel(ev))
		sieve_pass_kernel(s, sieve_kernel(ev));
	if (open >> PASTA_FILTER_REGION & 1)
		sieve_pass_region(s, where->scope);
	if (open >> PASTA_FILTER_DEVICE & 1 && PASTA_FILTER_ON_DEVICE >> ev->kind & 1)
		sieve_check_device(s, sieve_device(ev));
}

bool pasta_sieve_pass(struct pasta_sieve *s, const struct pasta_event *ev,
		      const struct pasta_where *where)
{
	const struct pasta_filter *f = s->filter;

	sieve_check(s, ev, where);
	if (ev->kind >= PASTA_KIND_MAX || !sieve_pass_fields(s, ev))
		return false;
	if (is_state >> ev->kind & 1)
		return true;
	if (filter_has(f, PASTA_FILTER_TIME) &&
	    (ev->time < f->start || !filter_in_ranges(f, PASTA_FILTER_TIME, ev->time - f->start)))
		return false;
	if (filter_has(f, PASTA_FILTER_REGION) && !sieve_pass_region(s, where->scope))
		return false;
	return !filter_has(f, PASTA_FILTER_ITERATION) ||
	       (where->iteration != PASTA_NO_ITERATION &&
		filter_in_ranges(f, PASTA_FILTER_ITERATION, where->iteration));
}
