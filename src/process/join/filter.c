/* filter.c - which events a report is of. */
#include "process/join/filter.h"

#include <errno.h>
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/io/parse.h"

enum { OTHERS = 3, OTHER_TEXT = 80 }; /* that a message names, and bytes of each */

/* From low to high, both within; times to below high. */
struct range {
	uint64_t low, high;
};

/* One that was said. */
struct term {
	enum pasta_filter_type sort;
	char *text;
	regex_t regex;
	struct range *ranges;
	size_t range_count;
	bool is_regex; /* and it is compiled */
};

/* Sorts of which it is looked after whether they match anything. */
#define LOOKED_AFTER                                                                               \
	(1u << PASTA_FILTER_KERNEL | 1u << PASTA_FILTER_REGION | 1u << PASTA_FILTER_DEVICE)

/* Things that did not match: the first in order. */
struct others {
	char *texts[OTHERS];
	size_t count;
	bool more; /* there are others behind them */
};

/* What was matched, and what there is where nothing was. */
struct found {
	bool looked;	  /* at any event */
	uint32_t matched; /* mask of sorts */
	struct others others[PASTA_FILTER_TYPES];
};

struct pasta_filter {
	struct term *terms;
	size_t count;
	uint64_t start;
	uint32_t sorts;	       /* mask of those that there are */
	pthread_mutex_t *lock; /* of found */
	struct found *found;   /* of all sieves that are gone */
};

static const char *const names[PASTA_FILTER_TYPES] = {
	[PASTA_FILTER_KERNEL] = "kernel",	[PASTA_FILTER_EXCLUDE] = "exclude",
	[PASTA_FILTER_DEVICE] = "device",	[PASTA_FILTER_STREAM] = "stream",
	[PASTA_FILTER_RANK] = "rank",		[PASTA_FILTER_REGION] = "region",
	[PASTA_FILTER_ITERATION] = "iteration", [PASTA_FILTER_TIME] = "time",
};

static const uint64_t has_device = PASTA_MASK(LAUNCH) | PASTA_MASK(KERNEL) | PASTA_MASK(COPY) |
				   PASTA_MASK(SET) | PASTA_MASK(ALLOC) | PASTA_MASK(FREE) |
				   PASTA_MASK(SYNC) | PASTA_MASK(TENSOR) | PASTA_MASK(COUNTER) |
				   PASTA_MASK(PC_SAMPLE) | PASTA_MASK(QUEUE) |
				   PASTA_MASK(EVENT_RECORD) | PASTA_MASK(UNMATCHED);
static const uint64_t has_stream = PASTA_MASK(LAUNCH) | PASTA_MASK(UNMATCHED) | PASTA_MASK(KERNEL) |
				   PASTA_MASK(COPY) | PASTA_MASK(SET) | PASTA_MASK(SYNC) |
				   PASTA_MASK(UVM) | PASTA_MASK(QUEUE) | PASTA_MASK(EVENT_RECORD);
/* What devices do, and what is on them: these say which there are. */
static const uint64_t on_device = PASTA_MASK(LAUNCH) | PASTA_MASK(KERNEL) | PASTA_MASK(COPY) |
				  PASTA_MASK(SET) | PASTA_MASK(ALLOC);
/* What is there, not what is done. */
static const uint64_t is_state = PASTA_MASK(ALLOC) | PASTA_MASK(FREE) | PASTA_MASK(TENSOR) |
				 PASTA_MASK(MODULE) | PASTA_MASK(GRAPH) | PASTA_MASK(LINK) |
				 PASTA_MASK(DEVICE) | PASTA_MASK(PROCESS) | PASTA_MASK(THREAD) |
				 PASTA_MASK(CLOCK) | PASTA_MASK(LOSS) | PASTA_MASK(QUEUE) |
				 PASTA_MASK(OBJECT) | PASTA_MASK(SITE);

/* -- What was matched. -- */

static void others_free(struct found *found)
{
	size_t sort, i;

	for (sort = 0; found && sort < PASTA_FILTER_TYPES; sort++)
		for (i = 0; i < found->others[sort].count; i++)
			free(found->others[sort].texts[i]);
}

static int compare_others(const char *a, const char *b)
{
	size_t x = strlen(a), y = strlen(b);
	bool numbers = strspn(a, "0123456789") == x && strspn(b, "0123456789") == y;

	return numbers && x != y ? (x < y ? -1 : 1) : strcmp(a, b);
}

/* Keep a text if it is among the first, whoever comes first. */
static void others_add(struct others *o, const char *text)
{
	size_t at = 0;
	char *copy;
	int order = 1;

	while (at < o->count && (order = compare_others(text, o->texts[at])) > 0)
		at++;
	o->more |= at == OTHERS || (o->count == OTHERS && order);
	if (at == OTHERS || (at < o->count && !order))
		return;
	copy = strndup(text, OTHER_TEXT + 1); /* one more says that it is cut */
	if (!copy)
		return;
	if (o->count == OTHERS)
		free(o->texts[--o->count]);
	memmove(&o->texts[at + 1], &o->texts[at], (o->count - at) * sizeof(*o->texts));
	o->texts[at] = copy;
	o->count++;
}

static void found_add(struct found *into, const struct found *from)
{
	size_t sort, i;

	into->looked |= from->looked;
	into->matched |= from->matched;
	for (sort = 0; sort < PASTA_FILTER_TYPES; sort++)
		for (i = 0; i < from->others[sort].count; i++)
			others_add(&into->others[sort], from->others[sort].texts[i]);
	for (sort = 0; sort < PASTA_FILTER_TYPES; sort++)
		into->others[sort].more |= from->others[sort].more;
}

struct pasta_filter *pasta_filter_new(void)
{
	struct pasta_filter *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->found = calloc(1, sizeof(*f->found));
	f->lock = malloc(sizeof(*f->lock));
	if (f->found && f->lock && !pthread_mutex_init(f->lock, NULL))
		return f;
	free(f->found);
	free(f->lock);
	free(f);
	return NULL;
}

static void term_free(struct term *t)
{
	if (t->is_regex)
		regfree(&t->regex);
	free(t->ranges);
	free(t->text);
}

void pasta_filter_free(struct pasta_filter *f)
{
	size_t i;

	if (!f)
		return;
	for (i = 0; i < f->count; i++)
		term_free(&f->terms[i]);
	others_free(f->found);
	pthread_mutex_destroy(f->lock);
	free(f->found);
	free(f->lock);
	free(f->terms);
	free(f);
}

/* -- Reading what was said. -- */

static bool is_pattern(enum pasta_filter_type sort)
{
	return sort == PASTA_FILTER_KERNEL || sort == PASTA_FILTER_EXCLUDE ||
	       sort == PASTA_FILTER_REGION;
}

static int compile(struct term *t, struct pasta_error *err)
{
	char why[200];
	int error = regcomp(&t->regex, t->text, REG_EXTENDED | REG_NOSUB);

	if (error) {
		regerror(error, &t->regex, why, sizeof(why));
		return pasta_fail(err, -EINVAL, "--%s '%s' is no regular expression: %s",
				  names[t->sort], t->text, why);
	}
	t->is_regex = true;
	return 0;
}

/* A number or a time, up to a '-', a ',' or the end, and where it ends; NULL if it is none. */
static const char *read_one(const char *text, bool time, uint64_t *value)
{
	size_t size = strcspn(text, "-,");
	char one[64];
	int error;

	if (size >= sizeof(one))
		return NULL;
	memcpy(one, text, size);
	one[size] = '\0';
	error = time ? pasta_parse_time(one, value) : pasta_parse_number(one, value);
	return error ? NULL : text + size;
}

/* "3", "3-7", "3-", "-7"; a time needs the "-". */
static const char *read_range(const char *p, bool time, struct range *r)
{
	bool from = *p != '-';

	*r = (struct range){0, UINT64_MAX};
	if (from)
		p = read_one(p, time, &r->low);
	if (!p || (*p != '-' && time))
		return NULL;
	if (*p != '-') {
		r->high = r->low;
		return p;
	}
	p++;
	if (!*p || *p == ',')
		return from ? p : NULL;
	p = read_one(p, time, &r->high);
	return p && r->low <= r->high ? p : NULL;
}

static int read_ranges(struct term *t, struct pasta_error *err)
{
	bool time = t->sort == PASTA_FILTER_TIME;
	const char *p = t->text;
	struct range *more;

	for (;; p++) {
		more = reallocarray(t->ranges, t->range_count + 1, sizeof(*more));
		if (!more)
			return pasta_fail(err, -ENOMEM, "out of memory");
		t->ranges = more;
		p = read_range(p, time, &more[t->range_count++]);
		if (!p || (*p && *p != ','))
			break;
		if (!*p)
			return 0;
	}
	return pasta_fail(err, -EINVAL,
			  time ? "--%s '%s' is no span of time: say 1.5s-2s, 200ms- or -3s"
			       : "--%s '%s' is no list of numbers: say 0, 0-3, 5- or 1,4-6",
			  names[t->sort], t->text);
}

int pasta_filter_add(struct pasta_filter *f, enum pasta_filter_type sort, const char *text,
		     struct pasta_error *err)
{
	struct term *more = reallocarray(f->terms, f->count + 1, sizeof(*more)), *t;
	int error;

	if (!more)
		return pasta_fail(err, -ENOMEM, "out of memory");
	f->terms = more;
	t = &f->terms[f->count];
	*t = (struct term){.sort = sort, .text = strdup(text)};
	if (!t->text)
		return pasta_fail(err, -ENOMEM, "out of memory");
	error = is_pattern(sort) ? compile(t, err) : read_ranges(t, err);
	if (error) {
		term_free(t);
		return error;
	}
	f->count++;
	f->sorts |= 1u << sort;
	return 0;
}

void pasta_filter_start(struct pasta_filter *f, uint64_t start)
{
	f->start = start;
}

const char *pasta_filter_said(const struct pasta_filter *f, size_t i, enum pasta_filter_type *sort)
{
	if (!f || i >= f->count)
		return NULL;
	*sort = f->terms[i].sort;
	return f->terms[i].text;
}

uint64_t pasta_filter_started(const struct pasta_filter *f)
{
	return f ? f->start : 0;
}

/* -- Asking it. -- */

static bool has(const struct pasta_filter *f, enum pasta_filter_type sort)
{
	return f->sorts >> sort & 1;
}

bool pasta_filter_any(const struct pasta_filter *f)
{
	return f && f->sorts;
}

bool pasta_filter_by_device(const struct pasta_filter *f)
{
	return f && (has(f, PASTA_FILTER_DEVICE) || has(f, PASTA_FILTER_STREAM));
}

uint64_t pasta_filter_needs(const struct pasta_filter *f)
{
	if (!f)
		return 0;
	/* The ends of regions and operators pass if their begins did: both must be known. */
	return (has(f, PASTA_FILTER_REGION) || has(f, PASTA_FILTER_ITERATION) ||
		has(f, PASTA_FILTER_TIME))
		       ? PASTA_NEED_SCOPES | PASTA_NEED_OPS
		       : 0;
}

/* Whether a number is in one of the ranges of a sort. */
static bool in_ranges(const struct pasta_filter *f, enum pasta_filter_type sort, uint64_t value)
{
	size_t i, k;

	for (i = 0; i < f->count; i++) {
		const struct term *t = &f->terms[i];

		for (k = 0; t->sort == sort && k < t->range_count; k++) {
			const struct range *r = &t->ranges[k];
			bool below = sort == PASTA_FILTER_TIME && r->high != UINT64_MAX
					     ? value < r->high
					     : value <= r->high;

			if (value >= r->low && below)
				return true;
		}
	}
	return false;
}

static bool matches(const struct pasta_filter *f, enum pasta_filter_type sort, const char *text)
{
	size_t i;

	for (i = 0; i < f->count; i++)
		if (f->terms[i].sort == sort && !regexec(&f->terms[i].regex, text, 0, NULL, 0))
			return true;
	return false;
}

bool pasta_filter_rank(const struct pasta_filter *f, uint32_t rank)
{
	return !f || !has(f, PASTA_FILTER_RANK) ||
	       (rank && in_ranges(f, PASTA_FILTER_RANK, rank - 1));
}

int pasta_filter_patterns(const struct pasta_filter *f, enum pasta_filter_type sort, char **lines)
{
	char *more;

	*lines = NULL;
	for (size_t i = 0; f && i < f->count; i++) {
		if (f->terms[i].sort != sort)
			continue;
		if (asprintf(&more, "%s%s%s", *lines ? *lines : "", *lines ? "\n" : "",
			     f->terms[i].text) < 0) {
			free(*lines);
			*lines = NULL;
			return -ENOMEM;
		}
		free(*lines);
		*lines = more;
	}
	return 0;
}

const char *pasta_filter_text(const struct pasta_filter *f, char *text, size_t size)
{
	size_t i, at = 0;

	text[0] = '\0';
	for (i = 0; f && i < f->count && at < size; i++)
		at += (size_t)snprintf(text + at, size - at, "%s--%s %s", i ? " " : "",
				       names[f->terms[i].sort], f->terms[i].text);
	return text;
}

uint64_t pasta_filter_kinds(const struct pasta_filter *f)
{
	uint64_t kinds = 0;

	if (f && has(f, PASTA_FILTER_KERNEL))
		kinds |= PASTA_MASK(KERNEL) | PASTA_MASK(LAUNCH);
	if (f && has(f, PASTA_FILTER_DEVICE))
		kinds |= on_device;
	return kinds;
}

/* "--kernel 'a' or 'b' matches nothing: the run has 'c', 'd', ..." */
static int missed(const struct pasta_filter *f, enum pasta_filter_type sort,
		  struct pasta_error *err)
{
	const struct others *o = &f->found->others[sort];
	char said[120] = "", there[OTHERS * (OTHER_TEXT + 8)] = "";
	size_t i, at = 0;

	for (i = 0; i < f->count && at < sizeof(said); i++)
		if (f->terms[i].sort == sort)
			at += (size_t)snprintf(said + at, sizeof(said) - at, "%s'%s'",
					       at ? " or " : "", f->terms[i].text);
	for (i = at = 0; i < o->count && at < sizeof(there); i++)
		at += (size_t)snprintf(there + at, sizeof(there) - at, "%s'%.*s%s'", i ? ", " : "",
				       OTHER_TEXT, o->texts[i],
				       strlen(o->texts[i]) > OTHER_TEXT ? "..." : "");
	if (!o->count)
		return pasta_fail(err, -ENOENT, "--%s %s matches nothing: the run has no %s",
				  names[sort], said, names[sort]);
	return pasta_fail(err, -ENOENT, "--%s %s matches nothing: the run has %s%s", names[sort],
			  said, there, o->more ? ", ..." : "");
}

int pasta_filter_missed(const struct pasta_filter *f, struct pasta_error *err)
{
	uint32_t missing = f && f->found->looked ? f->sorts & LOOKED_AFTER & ~f->found->matched : 0;

	return missing ? missed(f, (enum pasta_filter_type)__builtin_ctz(missing), err) : 0;
}

/* -- At work. -- */

/* Answers by number: 0: not asked yet, 1: no, 2: yes. */
struct answers {
	uint8_t *known;
	size_t count;
};

struct pasta_sieve {
	const struct pasta_filter *filter;
	struct answers kernels, regions;
	struct found found;
	uint32_t device; /* the last that was looked at, plus 1 */
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
	found_add(s->filter->found, &s->found);
	pthread_mutex_unlock(s->filter->lock);
	others_free(&s->found);
	free(s->kernels.known);
	free(s->regions.known);
	free(s);
}

/* Where an answer is kept; NULL when out of memory: then it is asked for again. */
static uint8_t *answer(struct answers *a, uint32_t id)
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

/* Whether a sort's patterns match a name, which is noted. */
static bool match(struct pasta_sieve *s, enum pasta_filter_type sort, const char *name)
{
	bool is = matches(s->filter, sort, name);

	if (is)
		s->found.matched |= 1u << sort;
	else if (*name)
		others_add(&s->found.others[sort], name);
	return is;
}

static bool kernel_passes(struct pasta_sieve *s, const char *name)
{
	const struct pasta_filter *f = s->filter;

	return (!has(f, PASTA_FILTER_KERNEL) || match(s, PASTA_FILTER_KERNEL, name)) &&
	       !(has(f, PASTA_FILTER_EXCLUDE) && matches(f, PASTA_FILTER_EXCLUDE, name));
}

static bool pass_kernel(struct pasta_sieve *s, uint32_t name)
{
	uint8_t *known = answer(&s->kernels, name);
	bool passes;

	if (known && *known)
		return *known == 2;
	passes = kernel_passes(s, pasta_str(name));
	if (known)
		*known = passes ? 2 : 1;
	return passes;
}

/* The path is matched, of any length. */
static bool region_passes(struct pasta_sieve *s, const struct pasta_scope *region)
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
	passes = match(s, PASTA_FILTER_REGION, pasta_scope_regions(region, path, size));
	free(path);
	return passes;
}

static bool pass_region(struct pasta_sieve *s, const struct pasta_scope *scope)
{
	const struct pasta_scope *region = scope ? scope->region : NULL;
	uint8_t *known = region ? answer(&s->regions, region->id) : NULL;
	bool passes;

	if (!region)
		return false;
	if (known && *known)
		return *known == 2;
	passes = region_passes(s, region);
	if (known)
		*known = passes ? 2 : 1;
	return passes;
}

/* The kernel's name; 0: it is of none, or not known which. */
static uint32_t kernel_of(const struct pasta_event *ev)
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

static uint32_t device_of(const struct pasta_event *ev)
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

static uint32_t stream_of(const struct pasta_event *ev)
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

/* What the run's filters left uncounted is told, whoever filters: else nothing says so. */
static bool is_left_out(const struct pasta_event *ev)
{
	return ev->kind == PASTA_KIND_ACCESS_LAUNCH && ev->sub == PASTA_ACCESS_LAUNCH_FILTERED;
}

static bool pass_fields(struct pasta_sieve *s, const struct pasta_event *ev)
{
	const struct pasta_filter *f = s->filter;
	bool kernels =
		(has(f, PASTA_FILTER_KERNEL) || has(f, PASTA_FILTER_EXCLUDE)) && !is_left_out(ev);
	bool is_kernel = ev->kind == PASTA_KIND_KERNEL || ev->kind == PASTA_KIND_PC_SAMPLE;

	if (kernels && (is_kernel || kernel_of(ev)) && !pass_kernel(s, kernel_of(ev)))
		return false;
	if (has(f, PASTA_FILTER_DEVICE) && has_device >> ev->kind & 1 &&
	    !in_ranges(f, PASTA_FILTER_DEVICE, device_of(ev)))
		return false;
	return !has(f, PASTA_FILTER_STREAM) || !(has_stream >> ev->kind & 1) ||
	       in_ranges(f, PASTA_FILTER_STREAM, stream_of(ev));
}

static void look_at_device(struct pasta_sieve *s, uint32_t device)
{
	char text[12];

	if (s->device == device + 1)
		return;
	s->device = device + 1;
	if (in_ranges(s->filter, PASTA_FILTER_DEVICE, device))
		s->found.matched |= 1u << PASTA_FILTER_DEVICE;
	snprintf(text, sizeof(text), "%u", device);
	if (device != UINT32_MAX) /* the host */
		others_add(&s->found.others[PASTA_FILTER_DEVICE], text);
}

/* Each sort by itself, as long as it has matched nothing: another may let nothing pass. */
static void look(struct pasta_sieve *s, const struct pasta_event *ev,
		 const struct pasta_where *where)
{
	uint32_t wanted = s->filter->sorts & LOOKED_AFTER & ~s->found.matched;

	s->found.looked = true;
	if (!wanted || ev->kind >= PASTA_KIND_MAX)
		return;
	if (wanted >> PASTA_FILTER_KERNEL & 1 && kernel_of(ev))
		pass_kernel(s, kernel_of(ev));
	if (wanted >> PASTA_FILTER_REGION & 1)
		pass_region(s, where->scope);
	if (wanted >> PASTA_FILTER_DEVICE & 1 && on_device >> ev->kind & 1)
		look_at_device(s, device_of(ev));
}

bool pasta_sieve_pass(struct pasta_sieve *s, const struct pasta_event *ev,
		      const struct pasta_where *where)
{
	const struct pasta_filter *f = s->filter;

	look(s, ev, where);
	if (ev->kind >= PASTA_KIND_MAX || !pass_fields(s, ev))
		return false;
	if (is_state >> ev->kind & 1)
		return true;
	if (has(f, PASTA_FILTER_TIME) &&
	    (ev->time < f->start || !in_ranges(f, PASTA_FILTER_TIME, ev->time - f->start)))
		return false;
	if (has(f, PASTA_FILTER_REGION) && !pass_region(s, where->scope))
		return false;
	return !has(f, PASTA_FILTER_ITERATION) ||
	       (where->iteration != PASTA_NO_ITERATION &&
		in_ranges(f, PASTA_FILTER_ITERATION, where->iteration));
}
