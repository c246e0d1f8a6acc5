/* test_windows.c - the SDK's windows, against all events looked at again for each window. */
/* labels: onethread */
#include "unit/support.h"

enum { EVENTS = 3000, PROCS = 5, WINDOWS = 1 << 20 };

struct value {
	uint64_t count, sum, most;
};

static void combine(void *into, const void *from)
{
	const struct value *b = from;
	struct value *a = into;

	a->count += b->count;
	a->sum += b->sum;
	a->most = b->most > a->most ? b->most : a->most;
}

/* An event, where it is, and what it weighs. */
static struct {
	struct pasta_event ev;
	bool placed;
	uint64_t position, weight;
} events[EVENTS];
static size_t count;

static struct pasta_event any_event(uint64_t time)
{
	struct pasta_event ev = {.time = time, .proc = (uint32_t)random_below(PROCS)};
	uint64_t what = random_below(10);

	ev.kind = what < 3   ? PASTA_KIND_LAUNCH
		  : what < 5 ? PASTA_KIND_ITERATION
			     : PASTA_KIND_KERNEL;
	return ev;
}

/* Where the events are, by the definition of each unit. */
static void make_events(enum pasta_window_unit unit, uint64_t step)
{
	uint64_t launches[PROCS] = {0}, index[PROCS] = {0}, time = random_below(1000);
	bool begun[PROCS] = {false};

	count = 1 + random_below(EVENTS);
	for (size_t i = 0; i < count; i++) {
		uint32_t p;

		/* Mostly close together, and now and then far apart. */
		time += random_below(10) ? random_below(step / 4 + 2) : random_below(20 * step);
		events[i].ev = any_event(time);
		events[i].weight = random_below(1000);
		p = events[i].ev.proc;
		if (events[i].ev.kind == PASTA_KIND_LAUNCH)
			launches[p]++;
		if (events[i].ev.kind == PASTA_KIND_ITERATION) {
			index[p] = random_below(20) ? index[p] + 1 : random_below(500);
			begun[p] = true;
			events[i].ev.iteration.index = index[p];
		}
		events[i].placed = unit != PASTA_WINDOW_ITERATIONS || begun[p];
		events[i].position = unit == PASTA_WINDOW_TIME ? time
				     : unit == PASTA_WINDOW_LAUNCHES
					     ? launches[p] - (launches[p] != 0)
					     : index[p];
	}
}

static void give(struct pasta_windows *w, size_t i)
{
	struct value *v = pasta_windows_at(w, &events[i].ev);

	assert_property(!v == !events[i].placed);
	if (!v)
		return;
	assert_property((uintptr_t)v % 8 == 0);
	combine(v, &(struct value){1, events[i].weight, events[i].weight});
}

/* One after the other, the windows that were visited and those that there should be. */
struct check {
	struct pasta_window_spec spec;
	uint64_t next; /* the first window that was not looked at */
	size_t visited;
};

static struct value of_window(uint64_t begin, uint64_t end)
{
	struct value v = {0};

	for (size_t i = 0; i < count; i++)
		if (events[i].placed && events[i].position >= begin && events[i].position < end)
			combine(&v, &(struct value){1, events[i].weight, events[i].weight});
	return v;
}

static int visit(void *ctx, uint64_t begin, uint64_t end, const void *value)
{
	const struct value *v = value;
	struct check *c = ctx;
	struct value wanted = of_window(begin, end);

	assert_property(begin % c->spec.step == 0 && end == begin + c->spec.size);
	assert_property(begin >= c->next); /* in order, each once */
	assert_property(wanted.count > 0);
	assert_property(v->count == wanted.count && v->sum == wanted.sum && v->most == wanted.most);
	c->next = begin + c->spec.step;
	c->visited++;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* How many windows have an event: each event names those that it is in. */
static size_t windows_with_events(const struct pasta_window_spec *spec)
{
	static uint64_t numbers[WINDOWS];
	size_t n = 0, different = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t last = events[i].position / spec->step, parts = spec->size / spec->step;

		for (uint64_t k = 0; events[i].placed && k < parts && k <= last; k++) {
			assert_true(n < WINDOWS);
			numbers[n++] = last - k;
		}
	}
	qsort(numbers, n, sizeof(*numbers), by_number);
	for (size_t i = 0; i < n; i++)
		different += !i || numbers[i] != numbers[i - 1];
	return different;
}

static struct pasta_windows *windows_of(const struct pasta_window_spec *spec)
{
	struct pasta_error err = {0};
	struct pasta_windows *w = pasta_windows_new(spec, &err);

	assert_string_equal(err.text, "");
	assert_non_null(w);
	return w;
}

static void check(const struct pasta_windows *w, const struct pasta_window_spec *spec)
{
	struct check c = {.spec = *spec};

	assert_int_equal(pasta_windows_each(w, combine, visit, &c), 0);
	assert_property(c.visited == windows_with_events(spec));
	assert_property(pasta_windows_lost(w) == 0);
}

static struct pasta_window_spec any_spec(enum pasta_window_unit unit, bool sliding)
{
	uint64_t step = 1 + random_below(unit == PASTA_WINDOW_TIME ? 1000 : 10);

	return (struct pasta_window_spec){.unit = unit,
					  .step = step,
					  .size = step * (sliding ? 2 + random_below(40) : 1),
					  .value_size = sizeof(struct value)};
}

static void against_brute_force(bool sliding, bool merged)
{
	for (int round = 0; round < (support_slow ? 15 : 60); round++) {
		enum pasta_window_unit unit = PASTA_WINDOW_TIME + round % 3;
		struct pasta_window_spec spec = any_spec(unit, sliding);
		struct pasta_windows *parts[PROCS];
		size_t i;

		make_events(unit, spec.step);
		for (i = 0; i < PROCS; i++)
			parts[i] = windows_of(&spec);
		for (i = 0; i < count; i++)
			give(parts[merged ? events[i].ev.proc : 0], i);
		for (i = 1; i < PROCS; i++)
			assert_int_equal(pasta_windows_merge(parts[0], parts[i], combine), 0);
		check(parts[0], &spec);
		for (i = 0; i < PROCS; i++)
			pasta_windows_free(parts[i]);
	}
}

static void tumbling_windows_agree_with_looking_at_all_events_again(void **state)
{
	(void)state;
	against_brute_force(false, false);
}

static void sliding_windows_agree_with_looking_at_all_events_again(void **state)
{
	(void)state;
	against_brute_force(true, false);
}

static void windows_of_each_process_merge_into_those_of_all(void **state)
{
	(void)state;
	against_brute_force(false, true);
	against_brute_force(true, true);
}

static void events_go_on_after_a_merge_where_they_were(void **state)
{
	struct pasta_window_spec spec = {
		.unit = PASTA_WINDOW_LAUNCHES, .size = 4, .value_size = sizeof(struct value)};
	struct pasta_windows *a = windows_of(&spec), *b = windows_of(&spec);
	struct pasta_event launch = {.kind = PASTA_KIND_LAUNCH, .proc = 1};
	struct value *v;

	(void)state;
	for (int i = 0; i < 5; i++)
		v = pasta_windows_at(b, &launch);
	v->count = 42;
	assert_int_equal(pasta_windows_merge(a, b, combine), 0);
	v = pasta_windows_at(a, &launch); /* the sixth: in the second window */
	assert_int_equal(v->count, 42);
	pasta_windows_free(a);
	pasta_windows_free(b);
}

struct seen {
	uint64_t begin[8], end[8], count[8];
	int visits, stop;
};

static int note(void *ctx, uint64_t begin, uint64_t end, const void *value)
{
	struct seen *s = ctx;

	s->begin[s->visits % 8] = begin;
	s->end[s->visits % 8] = end;
	s->count[s->visits % 8] = ((const struct value *)value)->count;
	return ++s->visits == s->stop ? -EINTR : 0;
}

static void the_end_of_time_is_no_trap_and_gaps_are_not_walked(void **state)
{
	struct pasta_window_spec spec = {.unit = PASTA_WINDOW_TIME,
					 .size = 30,
					 .step = 10,
					 .value_size = sizeof(struct value)};
	struct pasta_windows *w = windows_of(&spec);
	struct pasta_event ev = {.kind = PASTA_KIND_KERNEL, .time = UINT64_MAX};
	struct seen seen = {.stop = 0};

	(void)state;
	((struct value *)pasta_windows_at(w, &ev))->count = 7;
	ev.time = 0;
	((struct value *)pasta_windows_at(w, &ev))->count = 8;
	assert_int_equal(pasta_windows_each(w, combine, note, &seen), 0);
	assert_int_equal(seen.visits, 4);
	assert_int_equal(seen.begin[0], 0);
	assert_int_equal(seen.count[0], 8);
	assert_int_equal(seen.begin[3], UINT64_MAX / 10 * 10);
	assert_int_equal(seen.end[3], UINT64_MAX);
	assert_int_equal(seen.count[3], 7);
	seen = (struct seen){.stop = 2};
	assert_int_equal(pasta_windows_each(w, combine, note, &seen), -EINTR);
	assert_int_equal(seen.visits, 2);
	pasta_windows_free(w);
}

static void past_the_most_panes_events_are_counted_as_lost(void **state)
{
	enum { MOST = 1 << 20 };
	struct pasta_window_spec spec = {.unit = PASTA_WINDOW_TIME, .size = 2, .value_size = 8};
	struct pasta_windows *w = windows_of(&spec), *other = windows_of(&spec);
	struct pasta_event ev = {.kind = PASTA_KIND_KERNEL};

	(void)state;
	for (uint64_t i = 0; i < MOST; i++) {
		ev.time = 2 * i;
		assert_property(pasta_windows_at(w, &ev));
	}
	ev.time = 2 * MOST;
	for (int i = 0; i < 3; i++)
		assert_null(pasta_windows_at(w, &ev));
	assert_int_equal(pasta_windows_lost(w), 3);
	for (int i = 0; i < 4; i++)
		assert_non_null(pasta_windows_at(other, &ev));
	ev.time = 5;
	assert_non_null(pasta_windows_at(w, &ev));
	assert_non_null(pasta_windows_at(other, &ev));
	assert_int_equal(pasta_windows_merge(w, other, combine), -ENOSPC);
	assert_int_equal(pasta_windows_lost(w), 7);
	pasta_windows_free(w);
	pasta_windows_free(other);
}

static void what_cannot_be_a_window_is_explained(void **state)
{
	static const struct {
		struct pasta_window_spec spec;
		const char *why;
	} bad[] = {
		{{.unit = 0, .size = 1}, "windows: 0 is no unit"},
		{{.unit = PASTA_WINDOW_TIME},
		 "windows: the size must be a multiple of the step, and more than 0: it is 0, "
		 "the step 0"},
		{{.unit = PASTA_WINDOW_TIME, .size = 10, .step = 4},
		 "windows: the size must be a multiple of the step, and more than 0: it is 10, "
		 "the step 4"},
		{{.unit = PASTA_WINDOW_TIME, .size = 100000, .step = 1},
		 "windows: the size may be 65536 steps at most, and is 100000: take a longer step"},
	};
	struct pasta_window_spec spec = {.unit = PASTA_WINDOW_TIME, .size = 4, .value_size = 8};
	struct pasta_windows *a = windows_of(&spec), *b;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct pasta_error err = {0};

		assert_null(pasta_windows_new(&bad[i].spec, &err));
		assert_int_equal(err.code, -EINVAL);
		assert_string_equal(err.text, bad[i].why);
	}
	spec.step = 2;
	b = windows_of(&spec);
	assert_int_equal(pasta_windows_merge(a, b, combine), -EINVAL);
	pasta_windows_free(a);
	pasta_windows_free(b);
	pasta_windows_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tumbling_windows_agree_with_looking_at_all_events_again),
		cmocka_unit_test(sliding_windows_agree_with_looking_at_all_events_again),
		cmocka_unit_test(windows_of_each_process_merge_into_those_of_all),
		cmocka_unit_test(events_go_on_after_a_merge_where_they_were),
		cmocka_unit_test(the_end_of_time_is_no_trap_and_gaps_are_not_walked),
		cmocka_unit_test(past_the_most_panes_events_are_counted_as_lost),
		cmocka_unit_test(what_cannot_be_a_window_is_explained),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
