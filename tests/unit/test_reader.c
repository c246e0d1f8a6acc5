/* test_reader.c - shards as tools see them: correlated like a linear search, filtered like a plain
 * test of each event. */
/* labels: onethread */
#include "unit/reference.h"

#include <errno.h>
#include <regex.h>

#include "process/join/reader.h"
#include "unit/shardrun.h"

#define ALL_KINDS (~UINT64_C(0))
#define NO_LAUNCHES (ALL_KINDS & ~PASTA_MASK(LAUNCH))
#define EVERYTHING (PASTA_NEED_SCOPES | PASTA_NEED_OPS)

struct got {
	struct pasta_event ev;
	struct pasta_where where;
	size_t begin; /* of an end: the index of its begin */
};

struct list {
	struct got *got;
	size_t count, room;
};

static void list_add(struct list *l, const struct pasta_event *ev, const struct pasta_where *where)
{
	if (l->count == l->room) {
		l->room = l->room ? 2 * l->room : 1024;
		l->got = realloc(l->got, l->room * sizeof(*l->got));
		assert_non_null(l->got);
	}
	memset(&l->got[l->count], 0, sizeof(*l->got));
	memcpy(&l->got[l->count].ev, ev, ev->size);
	l->got[l->count++].where = *where;
}

/* Reads only these kinds. */
static struct list read_kinds(uint32_t procs, uint64_t kinds, const struct pasta_filter *filter)
{
	struct pasta_stream *s = shardrun_open(procs);
	struct pasta_reader *f = pasta_reader_new(s, kinds, EVERYTHING, filter);
	const struct pasta_where *where;
	const struct pasta_event *ev;
	struct list l = {0};

	assert_non_null(f);
	while ((ev = pasta_reader_next(f, &where)))
		if (kinds >> ev->kind & 1)
			list_add(&l, ev, where);
	assert_int_equal(pasta_reader_error(f), 0);
	pasta_reader_free(f);
	pasta_stream_free(s);
	return l;
}

static struct list read_events(uint32_t procs, const struct pasta_filter *filter)
{
	return read_kinds(procs, ALL_KINDS, filter);
}

/* -- Correlation ------------------------------------------------------------------------------- */

/* The events of the shards, in order of time. */
static struct pasta_event *read_stream(uint32_t procs, size_t *count)
{
	struct pasta_stream *s = shardrun_open(procs);
	struct pasta_event *events = NULL, *more;
	const struct pasta_event *ev;
	size_t room = 0;

	*count = 0;
	while ((ev = pasta_stream_next(s))) {
		if (*count == room) {
			room = room ? 2 * room : 1024;
			more = realloc(events, room * sizeof(*events));
			assert_non_null(more);
			events = more;
		}
		memset(&events[*count], 0, sizeof(*events));
		memcpy(&events[(*count)++], ev, ev->size);
	}
	pasta_stream_free(s);
	return events;
}

/* The names of a scope's path, as a text. */
static void ref_path(const struct ref *r, int scope, char *text, size_t size)
{
	const struct ref_scope *s = scope == NO_SCOPE ? NULL : &r->scopes[scope];
	size_t n;

	*text = '\0';
	if (!s)
		return;
	ref_path(r, s->up, text, size);
	n = strlen(text);
	snprintf(text + n, size - n, "/%c%u", s->kind == PASTA_KIND_REGION ? 'r' : 'o', s->name);
}

static void scope_path(const struct pasta_scope *s, char *text, size_t size)
{
	size_t n;

	*text = '\0';
	if (!s)
		return;
	scope_path(s->up, text, size);
	n = strlen(text);
	snprintf(text + n, size - n, "/%c%u", s->kind == PASTA_KIND_REGION ? 'r' : 'o', s->name);
}

static bool same_scope(const struct ref *r, int expected, const struct pasta_scope *got)
{
	char a[2000], b[2000];

	if (expected == NO_SCOPE || !got)
		return expected == NO_SCOPE && !got;
	if (r->scopes[expected].real)
		return r->scopes[expected].real == got;
	ref_path(r, expected, a, sizeof(a));
	scope_path(got, b, sizeof(b));
	r->scopes[expected].real = got;
	return !strcmp(a, b);
}

/* test_python.c tests which operators belong to a backward pass. */
#define OF_PYTHON (PASTA_WHERE_BACKWARD | PASTA_WHERE_EXPIRED)

static bool same_where(const struct ref *r, const struct ref_where *expected,
		       const struct pasta_where *got)
{
	return same_scope(r, expected->scope, got->scope) &&
	       same_scope(r, expected->capture, got->capture) &&
	       expected->iteration == got->iteration && expected->op == got->op &&
	       expected->launched == got->launched && expected->tid == got->tid &&
	       expected->name == got->name && expected->flags == (got->flags & ~OF_PYTHON);
}

static void compare(const struct ref *r, const struct list *l)
{
	assert_property(l->count == r->outs_count);
	for (size_t i = 0; i < l->count; i++) {
		const struct ref_out *expected = &r->outs[i];
		struct pasta_event ev = l->got[i].ev;

		ev.source = expected->ev.source; /* supplied events may have any source */
		assert_property(ev.size == expected->ev.size &&
				!memcmp(&ev, &expected->ev, ev.size));
		assert_property(same_where(r, &expected->where, &l->got[i].where));
	}
}

/* How much work is matched, so that a test of nothing is noticed. */
static size_t count_joined(const struct list *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->count; i++)
		n += l->got[i].where.flags & PASTA_WHERE_LAUNCH ? 1 : 0;
	return n;
}

static void compare_shards(const struct run_opts *opts, uint32_t no_launches)
{
	struct random_run run;
	struct ref r = {.ops = true, .unmatched = true};
	struct pasta_event *events;
	struct list l;
	size_t count;

	random_run(&run, opts);
	for (uint32_t i = 0; i < opts->procs; i++) {
		bool without = no_launches && i % no_launches == no_launches - 1;
		uint64_t kinds = without ? NO_LAUNCHES : ALL_KINDS;

		if (one_in(3))
			kinds &= ~(PASTA_MASK(KERNEL) | (one_in(2) ? PASTA_MASK(COPY) : 0));
		shardrun_write(&run, i, kinds);
		ref_proc(&r, i)->recorded = kinds;
	}
	events = read_stream(opts->procs, &count);
	r.in = events;
	for (size_t i = 0; i < count; i++)
		ref_input(&r, (int)i);
	ref_end(&r);
	l = read_events(opts->procs, NULL);
	compare(&r, &l);
	assert_true(count_joined(&l) > opts->events / 10);
	free(l.got);
	free(events);
	ref_free(&r);
	random_run_free(&run);
}

static void work_of_a_device_with_its_own_clock_is_matched_as_by_a_linear_search(void **state)
{
	(void)state;
	for (int i = 0; i < (support_slow ? 3 : 12); i++) {
		struct run_opts opts = {.procs = 1 + (uint32_t)random_below(6),
					.events = 1000 + random_below(6000),
					.depth = (unsigned int)random_below(5),
					.streams = 4,
					.devices = 3};

		compare_shards(&opts, one_in(2) ? 2 : 0);
	}
}

static void a_thousand_small_shards_are_correlated_independently(void **state)
{
	struct run_opts opts = {.procs = 1000, .events = 12000, .depth = 2};

	(void)state;
	compare_shards(&opts, 7);
}

static void ten_thousand_streams_on_one_device_are_correlated(void **state)
{
	struct run_opts opts = {.procs = 1, .events = 20000, .depth = 2, .streams = 10000};

	(void)state;
	compare_shards(&opts, 0);
}

/* -- Filters ----------------------------------------------------------------------------------- */

enum { TERMS = 3 };

/* A filter, in the words of the test. */
struct options {
	enum pasta_filter_type type;
	char pattern[40];
	uint64_t low, high;
};

struct filters {
	struct options options[PASTA_FILTER_TYPES * TERMS];
	size_t count;
	uint64_t start;
	struct pasta_filter *filter;
};

static bool is_pattern(enum pasta_filter_type type)
{
	return type == PASTA_FILTER_KERNEL || type == PASTA_FILTER_EXCLUDE ||
	       type == PASTA_FILTER_REGION;
}

static void add_option(struct filters *f, enum pasta_filter_type type, uint64_t span)
{
	static const char *const patterns[] = {"n1",	  "^n[2-5]$", "n3|n7", "n1?2",	   "^$",
					       "unnamed", "n4/n",     "^n",    "n9$|lost", "zzz"};
	struct options *s = &f->options[f->count++];
	struct pasta_error err = {0};
	char text[100];

	s->type = type;
	if (is_pattern(type)) {
		strcpy(s->pattern, patterns[random_below(sizeof(patterns) / sizeof(*patterns))]);
		strcpy(text, s->pattern);
	} else if (type == PASTA_FILTER_TIME) {
		s->low = one_in(4) ? 0 : random_below(span);
		s->high = one_in(4) ? UINT64_MAX : s->low + random_below(span / 2);
		if (s->high == UINT64_MAX)
			snprintf(text, sizeof(text), "%llu.%06llums-",
				 (unsigned long long)(s->low / 1000000),
				 (unsigned long long)(s->low % 1000000));
		else
			snprintf(text, sizeof(text), "%lluns-%llu.%09llus",
				 (unsigned long long)s->low,
				 (unsigned long long)(s->high / 1000000000),
				 (unsigned long long)(s->high % 1000000000));
	} else {
		s->low = random_below(type == PASTA_FILTER_ITERATION ? 20 : 4);
		s->high = one_in(4) ? UINT64_MAX : s->low + random_below(3);
		if (s->high == UINT64_MAX)
			snprintf(text, sizeof(text), "%llu-", (unsigned long long)s->low);
		else if (s->high == s->low)
			snprintf(text, sizeof(text), "%llu", (unsigned long long)s->low);
		else
			snprintf(text, sizeof(text), "%llu-%llu", (unsigned long long)s->low,
				 (unsigned long long)s->high);
	}
	if (pasta_filter_add(f->filter, type, text, &err))
		fail_msg("%s", err.text);
}

static bool has(const struct filters *f, enum pasta_filter_type type)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->options[i].type == type)
			return true;
	return false;
}

static bool matches(const struct filters *f, enum pasta_filter_type type, const char *text)
{
	bool any = false;

	for (size_t i = 0; i < f->count; i++) {
		regex_t regex;

		if (f->options[i].type != type)
			continue;
		assert_int_equal(regcomp(&regex, f->options[i].pattern, REG_EXTENDED), 0);
		any |= !regexec(&regex, text, 0, NULL, 0);
		regfree(&regex);
	}
	return any;
}

static bool in_range(const struct filters *f, enum pasta_filter_type type, uint64_t value)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct options *s = &f->options[i];

		if (s->type != type || value < s->low)
			continue;
		if (type == PASTA_FILTER_TIME ? value < s->high : value <= s->high)
			return true;
	}
	return false;
}

/* The name of its kernel; NULL: none. */
static const char *kernel_name(const struct pasta_event *ev)
{
	if (ev->kind == PASTA_KIND_KERNEL)
		return pasta_str(ev->kernel.name);
	if (ev->kind == PASTA_KIND_PC_SAMPLE)
		return pasta_str(ev->pc_sample.function);
	if ((ev->kind == PASTA_KIND_LAUNCH || ev->kind == PASTA_KIND_UNMATCHED) &&
	    ev->launch.name && !ev->launch.graph)
		return pasta_str(ev->launch.name);
	if (ev->kind == PASTA_KIND_ACCESS_SUM && ev->access_sum.name)
		return pasta_str(ev->access_sum.name);
	if (ev->kind == PASTA_KIND_ACCESS_LAUNCH && ev->sub == PASTA_ACCESS_LAUNCH_FILTERED)
		return NULL;
	if (ev->kind == PASTA_KIND_ACCESS_LAUNCH && ev->access_launch.name)
		return pasta_str(ev->access_launch.name);
	if (ev->kind == PASTA_KIND_ACCESS_BATCH && ev->access_batch.name)
		return pasta_str(ev->access_batch.name);
	return NULL;
}

/* -1: it has none, or is a module. */
static void fields(const struct pasta_event *ev, int64_t *device, int64_t *stream)
{
	*device = *stream = -1;
	switch (ev->kind) {
	case PASTA_KIND_LAUNCH:
	case PASTA_KIND_UNMATCHED:
		*device = ev->launch.device;
		*stream = ev->launch.stream;
		break;
	case PASTA_KIND_KERNEL:
		*device = ev->kernel.device;
		*stream = ev->kernel.stream;
		break;
	case PASTA_KIND_COPY:
		*device = ev->copy.device;
		*stream = ev->copy.stream;
		break;
	case PASTA_KIND_SET:
		*device = ev->set.device;
		*stream = ev->set.stream;
		break;
	case PASTA_KIND_SYNC:
		*device = ev->sync.device;
		*stream = ev->sync.stream;
		break;
	case PASTA_KIND_ALLOC:
		*device = ev->alloc.device;
		break;
	case PASTA_KIND_FREE:
		*device = ev->free.device;
		break;
	case PASTA_KIND_TENSOR:
		*device = ev->tensor.device;
		break;
	case PASTA_KIND_COUNTER:
		*device = ev->counter.device;
		break;
	case PASTA_KIND_PC_SAMPLE:
		*device = ev->pc_sample.device;
		break;
	case PASTA_KIND_UVM:
		*stream = ev->uvm.stream;
		break;
	case PASTA_KIND_QUEUE:
		*device = ev->queue.device;
		*stream = ev->queue.stream;
		break;
	case PASTA_KIND_EVENT_RECORD:
		*device = ev->event_record.device;
		*stream = ev->event_record.stream;
		break;
	default:
		break;
	}
}

static bool is_state(const struct pasta_event *ev)
{
	switch (ev->kind) {
	case PASTA_KIND_ALLOC:
	case PASTA_KIND_FREE:
	case PASTA_KIND_TENSOR:
	case PASTA_KIND_MODULE:
	case PASTA_KIND_GRAPH:
	case PASTA_KIND_LINK:
	case PASTA_KIND_DEVICE:
	case PASTA_KIND_PROCESS:
	case PASTA_KIND_THREAD:
	case PASTA_KIND_CLOCK:
	case PASTA_KIND_LOSS:
	case PASTA_KIND_QUEUE:
	case PASTA_KIND_OBJECT:
	case PASTA_KIND_SITE:
		return true;
	default:
		return false;
	}
}

static bool passes(const struct filters *f, const struct got *g)
{
	const struct pasta_event *ev = &g->ev;
	const char *kernel = kernel_name(ev);
	int64_t device, stream;
	char path[1000];

	fields(ev, &device, &stream);
	if (kernel && has(f, PASTA_FILTER_KERNEL) && !matches(f, PASTA_FILTER_KERNEL, kernel))
		return false;
	if (kernel && has(f, PASTA_FILTER_EXCLUDE) && matches(f, PASTA_FILTER_EXCLUDE, kernel))
		return false;
	if (device >= 0 && has(f, PASTA_FILTER_DEVICE) &&
	    !in_range(f, PASTA_FILTER_DEVICE, (uint64_t)device))
		return false;
	if (stream >= 0 && has(f, PASTA_FILTER_STREAM) &&
	    !in_range(f, PASTA_FILTER_STREAM, (uint64_t)stream))
		return false;
	if (is_state(ev))
		return true;
	if (has(f, PASTA_FILTER_TIME) &&
	    (ev->time < f->start || !in_range(f, PASTA_FILTER_TIME, ev->time - f->start)))
		return false;
	if (has(f, PASTA_FILTER_ITERATION) &&
	    (g->where.iteration == PASTA_NO_ITERATION ||
	     !in_range(f, PASTA_FILTER_ITERATION, g->where.iteration)))
		return false;
	if (!has(f, PASTA_FILTER_REGION))
		return true;
	return g->where.scope && g->where.scope->region &&
	       matches(f, PASTA_FILTER_REGION,
		       pasta_scope_regions(g->where.scope, path, sizeof(path)));
}

static bool is_begin_or_end(const struct pasta_event *ev, bool end)
{
	return ev->kind == (end ? PASTA_KIND_OP_END : PASTA_KIND_OP_BEGIN) ||
	       (ev->kind == PASTA_KIND_REGION &&
		ev->sub == (end ? PASTA_REGION_END : PASTA_REGION_BEGIN));
}

/* Finds each end's begin: the latest of its type on its thread that has no end yet. */
static void find_begins(struct list *l)
{
	bool *ended = calloc(l->count + 1, sizeof(*ended));

	assert_non_null(ended);
	for (size_t i = 0; i < l->count; i++) {
		const struct pasta_event *ev = &l->got[i].ev;
		size_t at = i;

		if (!is_begin_or_end(ev, true))
			continue;
		while (at-- > 0)
			if (!ended[at] && is_begin_or_end(&l->got[at].ev, false) &&
			    l->got[at].ev.proc == ev->proc && l->got[at].ev.tid == ev->tid &&
			    (l->got[at].ev.kind == PASTA_KIND_REGION) ==
				    (ev->kind == PASTA_KIND_REGION))
				break;
		assert_property(at < i);
		ended[at] = true;
		l->got[i].begin = at;
	}
	free(ended);
}

static void compare_filtered(const struct filters *f, const struct list *all, uint32_t procs)
{
	struct list got = read_events(procs, f->filter);
	size_t n = 0;
	char text[200];

	for (size_t i = 0; i < all->count; i++) {
		const struct got *g = &all->got[i];
		bool pass = passes(f, is_begin_or_end(&g->ev, true) ? &all->got[g->begin] : g);

		if (!pass)
			continue;
		if (n >= got.count || memcmp(&got.got[n].ev, &g->ev, g->ev.size) ||
		    memcmp(&got.got[n].where, &g->where, sizeof(g->where)))
			fail_msg("%s: event %zu (%s) of %zu is wrong, with SEED=%llu",
				 pasta_filter_text(f->filter, text, sizeof(text)), n,
				 pasta_kind_name(g->ev.kind), got.count,
				 (unsigned long long)support_seed_);
		n++;
	}
	assert_property(n == got.count);
	free(got.got);
}

static void what_passes_is_what_a_plain_test_of_each_event_lets_pass(void **state)
{
	struct run_opts opts = {.procs = 3, .events = 4000, .depth = 2, .streams = 5, .devices = 3};
	struct random_run run;
	struct list all;
	uint64_t span;

	(void)state;
	random_run(&run, &opts);
	span = run.now - run.events[0].time;
	for (uint32_t i = 0; i < opts.procs; i++)
		shardrun_write(&run, i, ALL_KINDS);
	all = read_events(opts.procs, NULL);
	find_begins(&all);
	for (int i = 0; i < (support_slow ? 40 : 200); i++) {
		struct filters f = {.start = run.events[0].time + random_below(1000)};

		f.filter = pasta_filter_new();
		pasta_filter_start(f.filter, f.start);
		for (unsigned int n = 1 + (unsigned int)random_below(4); n; n--) {
			unsigned int type = (unsigned int)random_below(PASTA_FILTER_TYPES);

			if (type == PASTA_FILTER_RANK)
				continue;
			for (unsigned int k = 1 + (unsigned int)random_below(2); k; k--)
				if (f.count < sizeof(f.options) / sizeof(*f.options))
					add_option(&f, type, span);
		}
		compare_filtered(&f, &all, opts.procs);
		pasta_filter_free(f.filter);
	}
	free(all.got);
	random_run_free(&run);
}

/* A tool's result must not depend on the kinds of other tools. */
static void the_attribution_of_an_event_does_not_depend_on_the_selected_kinds(void **state)
{
	struct run_opts opts = {.procs = 2, .events = 12000, .depth = 2, .streams = 5};
	struct random_run run;
	struct list all;

	(void)state;
	random_run(&run, &opts);
	for (uint32_t i = 0; i < opts.procs; i++)
		shardrun_write(&run, i, ALL_KINDS);
	all = read_events(opts.procs, NULL);
	for (int i = 0; i < (support_slow ? 8 : 40); i++) {
		uint64_t kinds = random_u64() & random_u64() & ~UINT64_C(1);
		struct list some = read_kinds(opts.procs, kinds, NULL);
		size_t n = 0;

		for (size_t k = 0; k < all.count; k++) {
			const struct got *g = &all.got[k];

			if (!(kinds >> g->ev.kind & 1))
				continue;
			assert_property(n < some.count);
			assert_property(!memcmp(&g->ev, &some.got[n].ev, g->ev.size));
			assert_property(!memcmp(&g->where, &some.got[n].where, sizeof(g->where)));
			n++;
		}
		assert_property(n == some.count);
		free(some.got);
	}
	free(all.got);
	random_run_free(&run);
}

static bool some_times_more(void *left)
{
	return (*(int *)left)-- > 0;
}

/* go_on is called every few thousand events. */
static void a_stopped_reader_delivers_the_missing_ends(void **state)
{
	struct run_opts opts = {.procs = 2, .events = 30000, .depth = 2};
	struct random_run run;

	(void)state;
	random_run(&run, &opts);
	for (uint32_t i = 0; i < opts.procs; i++)
		shardrun_write(&run, i, ALL_KINDS);
	for (int i = 0; i < 20; i++) {
		struct pasta_stream *s = shardrun_open(opts.procs);
		struct pasta_reader *f = pasta_reader_new(s, ALL_KINDS, EVERYTHING, NULL);
		int left = (int)random_below(4);
		const struct pasta_where *where;
		const struct pasta_event *ev;
		int64_t open = 0;

		pasta_reader_set_cancel(f, some_times_more, &left);
		while ((ev = pasta_reader_next(f, &where))) {
			open += is_begin_or_end(ev, false);
			open -= is_begin_or_end(ev, true);
		}
		assert_property(open == 0);
		assert_property(pasta_reader_stopped(f));
		pasta_reader_free(f);
		pasta_stream_free(s);
	}
	random_run_free(&run);
}

/* -- Options ----------------------------------------------------------------------------------- */

static bool passes_text(enum pasta_filter_type type, const char *text, uint64_t value)
{
	struct pasta_filter *f = pasta_filter_new();
	struct pasta_where where = {.iteration = value};
	struct pasta_event ev = run_event(PASTA_KIND_API, 0, 1);
	struct pasta_error err = {0};
	struct pasta_sieve *s;
	bool pass;

	if (pasta_filter_add(f, type, text, &err))
		fail_msg("%s", err.text);
	pasta_filter_start(f, 1000);
	ev.time = 1000 + value;
	s = pasta_sieve_new(f);
	pass = pasta_sieve_pass(s, &ev, &where);
	pasta_sieve_free(s);
	pasta_filter_free(f);
	return pass;
}

static void times_are_exact_to_the_last_digit(void **state)
{
	static const struct {
		const char *text;
		uint64_t low, high; /* high is excluded */
	} cases[] = {
		{"1.000000001s-", 1000000001, 0},
		{"1.000000001s-1.000000002s", 1000000001, 1000000002},
		{"0.1s-0.3s", 100000000, 300000000},
		{"-200ms", 0, 200000000},
		{"9007199.254740993s-", 9007199254740993, 0}, /* no double has this value */
		{"1.5us-2us", 1500, 2000},
		{"7ns-8ns", 7, 8},
		{"0.0000015ms-", 1, 0},
		{"1ms-2ms,5ms-6ms", 1000000, 2000000},
		{"5s-6s,1ms-2ms", 1000000, 2000000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t low = cases[i].low, high = cases[i].high;

		assert_true(passes_text(PASTA_FILTER_TIME, cases[i].text, low));
		assert_true(!low || !passes_text(PASTA_FILTER_TIME, cases[i].text, low - 1));
		if (high) {
			assert_true(passes_text(PASTA_FILTER_TIME, cases[i].text, high - 1));
			assert_false(passes_text(PASTA_FILTER_TIME, cases[i].text, high));
		} else {
			assert_true(passes_text(PASTA_FILTER_TIME, cases[i].text, UINT64_MAX / 2));
		}
	}
}

static void numbers_are_lists_of_ranges_with_both_ends(void **state)
{
	static const struct {
		const char *text, *yes, *no;
	} cases[] = {
		{"3", "3", "2 4"},
		{"0,2-3", "0 2 3", "1 4"},
		{"5-", "5 6 18446744073709551614", "4 0"},
		{"-2", "0 1 2", "3"},
		{"1,4-6,9-", "1 4 5 6 9 100", "0 2 3 7 8"},
		{"0-18446744073709551615", "0 7", ""},
		{"007", "7", "0"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (int no = 0; no < 2; no++) {
			const char *p = no ? cases[i].no : cases[i].yes;
			char *end;

			while (*p) {
				uint64_t value = strtoull(p, &end, 10);

				assert_int_equal(passes_text(PASTA_FILTER_ITERATION, cases[i].text,
							     value),
						 !no);
				p = *end ? end + 1 : end;
			}
		}
}

static bool passes_event(enum pasta_filter_type type, const char *text,
			 const struct pasta_event *ev)
{
	struct pasta_filter *f = pasta_filter_new();
	struct pasta_where where = {.iteration = PASTA_NO_ITERATION};
	struct pasta_error err = {0};
	struct pasta_sieve *s;
	bool pass;

	if (pasta_filter_add(f, type, text, &err))
		fail_msg("%s", err.text);
	pasta_filter_start(f, 1000);
	s = pasta_sieve_new(f);
	pass = pasta_sieve_pass(s, ev, &where);
	pasta_sieve_free(s);
	pasta_filter_free(f);
	return pass;
}

static void accesses_are_filtered_as_their_kernels_are(void **state)
{
	uint32_t name = pasta_strings_add("gemm", 4);
	struct pasta_event evs[] = {run_event(PASTA_KIND_ACCESS_SUM, 0, 1),
				    run_event(PASTA_KIND_ACCESS_LAUNCH, 0, 1),
				    run_event(PASTA_KIND_ACCESS_BATCH, 0, 1)};

	(void)state;
	evs[0].access_sum.name = evs[1].access_launch.name = evs[2].access_batch.name = name;
	for (size_t i = 0; i < 3; i++) {
		evs[i].time = 1500;
		assert_true(passes_event(PASTA_FILTER_KERNEL, "^gemm$", &evs[i]));
		assert_false(passes_event(PASTA_FILTER_KERNEL, "conv", &evs[i]));
		assert_false(passes_event(PASTA_FILTER_EXCLUDE, "gemm", &evs[i]));
		assert_true(passes_event(PASTA_FILTER_EXCLUDE, "conv", &evs[i]));
		assert_true(passes_event(PASTA_FILTER_TIME, "500ns-501ns", &evs[i]));
		assert_false(passes_event(PASTA_FILTER_TIME, "501ns-", &evs[i]));
		assert_false(passes_event(PASTA_FILTER_ITERATION, "0-", &evs[i]));
	}
	evs[1].sub = PASTA_ACCESS_LAUNCH_FILTERED; /* excluded by the run's own filter, which is
						      always reported */
	assert_true(passes_event(PASTA_FILTER_KERNEL, "conv", &evs[1]));
	assert_true(passes_event(PASTA_FILTER_EXCLUDE, "gemm", &evs[1]));
	assert_false(passes_event(PASTA_FILTER_TIME, "501ns-", &evs[1]));
	evs[0].access_sum.name = 0; /* the kernel is unknown, as for launches */
	assert_true(passes_event(PASTA_FILTER_KERNEL, "gemm", &evs[0]));
}

static void objects_and_sites_of_accesses_always_pass(void **state)
{
	struct pasta_event evs[] = {run_event(PASTA_KIND_OBJECT, 0, 1),
				    run_event(PASTA_KIND_SITE, 0, 1)};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		evs[i].time = 1500;
		assert_true(passes_event(PASTA_FILTER_KERNEL, "gemm", &evs[i]));
		assert_true(passes_event(PASTA_FILTER_TIME, "501ns-", &evs[i]));
		assert_true(passes_event(PASTA_FILTER_REGION, "step", &evs[i]));
		assert_true(passes_event(PASTA_FILTER_DEVICE, "7", &evs[i]));
	}
}

static void an_invalid_option_is_an_error_that_shows_the_syntax(void **state)
{
	static const struct {
		enum pasta_filter_type type;
		const char *text, *error;
	} cases[] = {
		{PASTA_FILTER_DEVICE, "", "not a list of numbers"},
		{PASTA_FILTER_DEVICE, "x", "not a list of numbers"},
		{PASTA_FILTER_DEVICE, "-", "not a list of numbers"},
		{PASTA_FILTER_DEVICE, "3-1", "not a list of numbers"},
		{PASTA_FILTER_DEVICE, "1,", "not a list of numbers"},
		{PASTA_FILTER_DEVICE, ",1", "not a list of numbers"},
		{PASTA_FILTER_DEVICE, "1,,2", "not a list of numbers"},
		{PASTA_FILTER_STREAM, "1-2-3", "not a list of numbers"},
		{PASTA_FILTER_STREAM, "1 2", "not a list of numbers"},
		{PASTA_FILTER_STREAM, "+1", "not a list of numbers"},
		{PASTA_FILTER_RANK, "1.5", "not a list of numbers"},
		{PASTA_FILTER_ITERATION, "18446744073709551616", "not a list of numbers"},
		{PASTA_FILTER_TIME, "", "not a time span"},
		{PASTA_FILTER_TIME, "-", "not a time span"},
		{PASTA_FILTER_TIME, "1s", "not a time span"},
		{PASTA_FILTER_TIME, "1-2", "not a time span"},
		{PASTA_FILTER_TIME, "2s-1s", "not a time span"},
		{PASTA_FILTER_TIME, "1s-2", "not a time span"},
		{PASTA_FILTER_TIME, "1d-", "not a time span"},
		{PASTA_FILTER_TIME, "1ss-", "not a time span"},
		{PASTA_FILTER_TIME, ".5s-", "not a time span"},
		{PASTA_FILTER_TIME, "1s--", "not a time span"},
		{PASTA_FILTER_TIME, "18446744073709551615s-", "not a time span"},
		{PASTA_FILTER_KERNEL, "(", "not a regular expression"},
		{PASTA_FILTER_EXCLUDE, "a[", "not a regular expression"},
		{PASTA_FILTER_REGION, "*{", "not a regular expression"},
		{PASTA_FILTER_KERNEL, "a{2,1}", "not a regular expression"},
	};
	struct pasta_filter *f = pasta_filter_new();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct pasta_error err = {0};
		int error;

		error = pasta_filter_add(f, cases[i].type, cases[i].text, &err);
		if (error != -EINVAL || !strstr(err.text, cases[i].error) ||
		    !strstr(err.text, cases[i].text))
			fail_msg("'%s': %d, %s", cases[i].text, error, err.text);
	}
	assert_false(pasta_filter_any(f)); /* nothing of it remains */
	pasta_filter_free(f);
}

static void ranks_are_of_whole_shards(void **state)
{
	struct pasta_filter *f = pasta_filter_new();
	char text[100];

	(void)state;
	assert_true(pasta_filter_rank(NULL, 0) && pasta_filter_rank(f, 0));
	assert_int_equal(pasta_filter_add(f, PASTA_FILTER_RANK, "0,2-3", NULL), 0);
	assert_int_equal(pasta_filter_add(f, PASTA_FILTER_RANK, "7", NULL), 0);
	assert_false(pasta_filter_rank(f, 0)); /* it has none */
	for (uint32_t rank = 0; rank < 10; rank++)
		assert_int_equal(pasta_filter_rank(f, rank + 1),
				 rank == 0 || rank == 2 || rank == 3 || rank == 7);
	assert_string_equal(pasta_filter_text(f, text, sizeof(text)), "--rank 0,2-3 --rank 7");
	assert_string_equal(pasta_filter_text(f, text, 8), "--rank ");
	pasta_filter_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			work_of_a_device_with_its_own_clock_is_matched_as_by_a_linear_search),
		cmocka_unit_test(a_thousand_small_shards_are_correlated_independently),
		cmocka_unit_test(ten_thousand_streams_on_one_device_are_correlated),
		cmocka_unit_test(what_passes_is_what_a_plain_test_of_each_event_lets_pass),
		cmocka_unit_test(the_attribution_of_an_event_does_not_depend_on_the_selected_kinds),
		cmocka_unit_test(a_stopped_reader_delivers_the_missing_ends),
		cmocka_unit_test(times_are_exact_to_the_last_digit),
		cmocka_unit_test(numbers_are_lists_of_ranges_with_both_ends),
		cmocka_unit_test(accesses_are_filtered_as_their_kernels_are),
		cmocka_unit_test(objects_and_sites_of_accesses_always_pass),
		cmocka_unit_test(an_invalid_option_is_an_error_that_shows_the_syntax),
		cmocka_unit_test(ranks_are_of_whole_shards),
	};

	random_begin();
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
