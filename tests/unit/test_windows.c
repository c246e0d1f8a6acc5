/* test_windows.c - windows by key and position, against all events looked at again for each. */
/* labels: onethread */
#include "unit/support.h"

#include "process/join/reader.h"
#include "process/run/tool.h"
#include "process/sdk/windows.h"

enum { EVENTS = 3000, KEYS = 5, PARTS = 4, WINDOWS = 1 << 20 };

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

struct key {
	uint32_t a, b, c;
};

struct one_windows {
	struct pasta_windows *windows;
};

/* Where each event is, and what it weighs. */
static struct {
	uint32_t key;
	uint64_t position, weight;
} events[EVENTS];
static size_t count;

static struct key key_of(uint32_t number)
{
	return (struct key){number, 7, number % 2};
}

static void make_events(uint64_t step)
{
	uint64_t position = random_below(1000);

	count = 1 + random_below(EVENTS);
	for (size_t i = 0; i < count; i++) {
		/* Mostly close together, and now and then far apart, or none at all. */
		position += random_below(10) ? random_below(step / 4 + 2) : random_below(20 * step);
		events[i].key = (uint32_t)random_below(KEYS);
		events[i].position = random_below(30) ? position : UINT64_MAX;
		events[i].weight = random_below(1000);
	}
}

static void send_event(struct pasta_windows *w, size_t i)
{
	struct key key = key_of(events[i].key);
	struct value *v = pasta_windows_at(w, &key, events[i].position);

	assert_property((uintptr_t)v % 8 == 0);
	assert_property(events[i].position != UINT64_MAX || !v->count);
	combine(v, &(struct value){1, events[i].weight, events[i].weight});
}

/* One after the other, the windows that were visited and those that there should be. */
struct check {
	struct pasta_window_def def;
	const void *key; /* of the last one */
	uint64_t next;	 /* the first window of that key that was not looked at */
	size_t visited, keys;
};

static struct value of_window(uint32_t key, uint64_t begin, uint64_t end)
{
	struct value v = {0};

	for (size_t i = 0; i < count; i++)
		if (events[i].key == key && events[i].position >= begin && events[i].position < end)
			combine(&v, &(struct value){1, events[i].weight, events[i].weight});
	return v;
}

static int visit(void *ctx, const void *key, uint64_t begin, uint64_t end, const void *value)
{
	struct key own = key_of(((const struct key *)key)->a);
	const struct value *v = value;
	struct check *c = ctx;
	struct value wanted = of_window(own.a, begin, end);

	assert_memory_equal(key, &own, sizeof(own));
	if (key != c->key)
		c->next = 0;
	c->keys += key != c->key;
	c->key = key;
	assert_property(begin % c->def.step == 0 && end == begin + c->def.length);
	assert_property(begin >= c->next); /* in order, each once */
	assert_property(wanted.count > 0);
	assert_property(v->count == wanted.count && v->sum == wanted.sum && v->most == wanted.most);
	c->next = begin + c->def.step;
	c->visited++;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* How many windows have an event: each event names those that it is in. */
static size_t windows_with_events(const struct pasta_window_def *def, uint32_t key)
{
	static uint64_t numbers[WINDOWS];
	size_t n = 0, different = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t last = events[i].position / def->step, parts = def->length / def->step;
		bool placed = events[i].key == key && events[i].position != UINT64_MAX;

		for (uint64_t k = 0; placed && k < parts && k <= last; k++) {
			assert_true(n < WINDOWS);
			numbers[n++] = last - k;
		}
	}
	qsort(numbers, n, sizeof(*numbers), by_number);
	for (size_t i = 0; i < n; i++)
		different += !i || numbers[i] != numbers[i - 1];
	return different;
}

static struct pasta_windows *windows_of(const struct pasta_window_def *def)
{
	struct pasta_error err = {0};
	struct pasta_windows *w = pasta_windows_new(def, NULL, &err);

	assert_string_equal(err.text, "");
	assert_non_null(w);
	return w;
}

static void check(const struct pasta_windows *w, const struct pasta_window_def *def)
{
	struct check c = {.def = *def};
	size_t windows = 0, keys = 0;

	assert_int_equal(pasta_windows_each(w, visit, &c), 0);
	for (uint32_t i = 0; i < KEYS; i++) {
		windows += windows_with_events(def, i);
		keys += windows_with_events(def, i) > 0;
	}
	assert_property(c.visited == windows && c.keys == keys);
	assert_property(pasta_windows_dropped(w) == 0 && pasta_windows_error(w) == 0);
}

static struct pasta_window_def any_def(bool sliding)
{
	uint64_t step = 1 + random_below(random_below(2) ? 1000 : 10);

	return (struct pasta_window_def){.size = sizeof(struct pasta_window_def),
					 .step = step,
					 .length = step * (sliding ? 2 + random_below(40) : 1),
					 .key_size = sizeof(struct key),
					 .value_size = sizeof(struct value),
					 .merge = combine};
}

/* Events in any of several sets, which are merged in any order. */
static void against_brute_force(bool sliding, size_t sets)
{
	for (int round = 0; round < (support_slow ? 10 : 40); round++) {
		struct pasta_window_def def = any_def(sliding);
		struct pasta_windows *parts[PARTS];
		size_t left = sets;

		make_events(def.step);
		for (size_t i = 0; i < sets; i++)
			parts[i] = windows_of(&def);
		for (size_t i = 0; i < count; i++)
			send_event(parts[random_below(sets)], i);
		while (left > 1) {
			size_t from = 1 + random_below(left - 1), into = random_below(from);

			assert_int_equal(pasta_windows_merge(parts[into], parts[from]), 0);
			pasta_windows_free(parts[from]);
			parts[from] = parts[--left];
		}
		check(parts[0], &def);
		pasta_windows_free(parts[0]);
	}
}

static void tumbling_windows_agree_with_looking_at_all_events_again(void **state)
{
	against_brute_force(false, 1);
}

static void sliding_windows_agree_with_looking_at_all_events_again(void **state)
{
	against_brute_force(true, 1);
}

static void windows_of_shards_merge_into_those_of_all_in_any_order(void **state)
{
	against_brute_force(false, PARTS);
	against_brute_force(true, PARTS);
}

struct seen {
	const void *key[8];
	uint64_t begin[8], end[8], count[8];
	int visits, stop;
};

static int note(void *ctx, const void *key, uint64_t begin, uint64_t end, const void *value)
{
	struct seen *s = ctx;

	s->key[s->visits % 8] = key;
	s->begin[s->visits % 8] = begin;
	s->end[s->visits % 8] = end;
	s->count[s->visits % 8] = ((const struct value *)value)->count;
	return ++s->visits == s->stop ? -EINTR : 0;
}

static void windows_without_a_key_reach_to_the_end_and_gaps_are_not_walked(void **state)
{
	const struct pasta_window_def def = {.size = sizeof(def),
					     .length = 30,
					     .step = 10,
					     .value_size = sizeof(struct value),
					     .merge = combine};
	struct pasta_windows *w = windows_of(&def);
	struct seen seen = {.stop = 0};

	((struct value *)pasta_windows_at(w, NULL, UINT64_MAX - 1))->count = 7;
	((struct value *)pasta_windows_at(w, NULL, 0))->count = 8;
	assert_int_equal(pasta_windows_each(w, note, &seen), 0);
	assert_int_equal(seen.visits, 4);
	assert_null(seen.key[0]);
	assert_int_equal(seen.begin[0], 0);
	assert_int_equal(seen.count[0], 8);
	assert_int_equal(seen.begin[3], UINT64_MAX / 10 * 10);
	assert_int_equal(seen.end[3], UINT64_MAX);
	assert_int_equal(seen.count[3], 7);
	seen = (struct seen){.stop = 2};
	assert_int_equal(pasta_windows_each(w, note, &seen), -EINTR);
	assert_int_equal(seen.visits, 2);
	pasta_windows_free(w);
}

static void keys_come_in_the_order_in_which_they_were_added(void **state)
{
	const struct pasta_window_def def = {.size = sizeof(def),
					     .length = 10,
					     .key_size = 4,
					     .value_size = sizeof(struct value),
					     .merge = combine};
	struct pasta_windows *w = windows_of(&def), *other = windows_of(&def);
	struct seen seen = {.stop = 0};

	pasta_windows_at(other, &(uint32_t){2}, 50);
	pasta_windows_at(other, &(uint32_t){9}, 5);
	pasta_windows_at(w, &(uint32_t){9}, 25);
	assert_int_equal(pasta_windows_merge(w, other), 0);
	assert_int_equal(pasta_windows_each(w, note, &seen), 0);
	assert_int_equal(seen.visits, 3);
	assert_int_equal(*(const uint32_t *)seen.key[0], 9);
	assert_int_equal(seen.begin[0], 0);
	assert_int_equal(seen.begin[1], 20);
	assert_int_equal(*(const uint32_t *)seen.key[2], 2);
	pasta_windows_free(w);
	pasta_windows_free(other);
}

static void past_the_most_panes_calls_are_counted_as_dropped(void **state)
{
	enum { MOST = PASTA_WINDOWS_PANES };
	const struct pasta_window_def def = {.size = sizeof(def),
					     .length = 2,
					     .key_size = 4,
					     .value_size = sizeof(struct value),
					     .merge = combine};
	struct pasta_windows *w = windows_of(&def), *other = windows_of(&def);
	uint32_t one = 1, two = 2;

	for (uint64_t i = 0; i < MOST; i++)
		((struct value *)pasta_windows_at(w, &one, 2 * i))->count++;
	assert_int_equal(pasta_windows_dropped(w), 0);
	for (int i = 0; i < 3; i++) {
		struct value *v = pasta_windows_at(w, &one, 2 * MOST);

		assert_int_equal(v->count++, 0); /* the spare value */
	}
	pasta_windows_at(w, &two, 0);
	assert_int_equal(pasta_windows_dropped(w), 4);
	for (int i = 0; i < 4; i++)
		pasta_windows_at(other, &one, 2 * MOST);
	((struct value *)pasta_windows_at(other, &one, 5))->count = 41;
	assert_int_equal(pasta_windows_merge(w, other), 0);
	assert_int_equal(pasta_windows_dropped(w), 8);
	assert_int_equal(((struct value *)pasta_windows_at(w, &one, 4))->count, 42);
	pasta_windows_free(w);
	pasta_windows_free(other);
}

static void the_length_may_be_an_option_and_is_checked_when_the_tool_opens(void **state)
{
	static const struct pasta_option options[] = {
		{"window", "30", "its length", PASTA_OPTION_NUMBER}, {0}};
	static const struct pasta_window_def defs[] = {
		PASTA_WINDOWS(struct one_windows, windows, struct value, .step = 10,
			      .merge = combine, .length_option = "window"),
		{0}};
	static const struct pasta_tool tool = {
		.options = options, .windows = defs, .state_size = sizeof(void *)};
	struct pasta_opts opts = {.tool = &tool};
	struct pasta_error err = {0};
	struct pasta_windows *w;
	struct seen seen = {.stop = 0};
	char number[] = "25", *value = number;

	assert_int_equal(pasta_windows_check(&tool, defs, &err), 0);
	w = pasta_windows_new(defs, &opts, &err);
	assert_non_null(w);
	pasta_windows_at(w, NULL, 0);
	assert_int_equal(pasta_windows_each(w, note, &seen), 0);
	assert_int_equal(seen.end[0], 30);
	pasta_windows_free(w);
	opts.values = &value;
	assert_null(pasta_windows_new(defs, &opts, &err));
	assert_string_equal(err.text,
			    "the length of windows must be a multiple of the step, and above 0, "
			    "but the length is 25 and the step is 10");
}

static void what_cannot_be_a_window_is_explained(void **state)
{
	static const struct pasta_window_def good =
		PASTA_WINDOWS(struct one_windows, windows, struct value, .length = 20, .step = 10,
			      .merge = combine);
	struct pasta_tool tool = {.state_size = sizeof(struct one_windows)};
	struct pasta_window_def bad;
	struct pasta_error err;

#define REFUSED(member_, value_, why)                                                              \
	do {                                                                                       \
		bad = good;                                                                        \
		bad.member_ = value_;                                                              \
		err = (struct pasta_error){0};                                                     \
		assert_int_equal(pasta_windows_check(&tool, &bad, &err), -EINVAL);                 \
		if (!strstr(err.text, why))                                                        \
			fail_msg("'%s' is not in '%s'", why, err.text);                            \
	} while (0)
	assert_int_equal(pasta_windows_check(&tool, &good, NULL), 0);
	REFUSED(size, 1, "declare them with PASTA_WINDOWS");
	REFUSED(state_offset, 4, "outside of the tool's state");
	REFUSED(state_offset, 8, "outside of the tool's state");
	REFUSED(key_size, 6, "a multiple of 4 bytes");
	REFUSED(value_size, 0, "must be 1 to");
	REFUSED(length, 0, "the length is 0");
	REFUSED(length, 25, "a multiple of the step");
	REFUSED(length, 10 * 100000, "at most 65536 steps");
	REFUSED(merge, NULL, "need the function .merge");
	REFUSED(length_option, "window", "unknown option 'window'");
	pasta_windows_free(NULL);
	bad = good;
	bad.merge = NULL;
	bad.step = 0;
	assert_int_equal(pasta_windows_check(&tool, &bad, NULL), 0);
	tool.flags = PASTA_TOOL_SHARDED;
	assert_int_equal(pasta_windows_check(&tool, &bad, NULL), -EINVAL);
}

static void positions_are_those_of_the_event_and_of_where_it_belongs(void **state)
{
	const struct pasta_event ev = {.kind = PASTA_KIND_KERNEL, .time = 5};
	const struct pasta_where where = {.iteration = 6, .launch = 7};

	assert_int_equal(pasta_event_position(&ev, &where, PASTA_POSITION_TIME), 5);
	assert_int_equal(pasta_event_position(&ev, &where, PASTA_POSITION_ITERATION), 6);
	assert_int_equal(pasta_event_position(&ev, &where, PASTA_POSITION_LAUNCH), 7);
	assert_true(pasta_event_position(&ev, &where, 0) == UINT64_MAX);
	assert_true(pasta_event_position(&ev, &pasta_nowhere, PASTA_POSITION_LAUNCH) == UINT64_MAX);
	assert_true(pasta_event_position(&ev, &pasta_nowhere, PASTA_POSITION_ITERATION) ==
		    UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tumbling_windows_agree_with_looking_at_all_events_again),
		cmocka_unit_test(sliding_windows_agree_with_looking_at_all_events_again),
		cmocka_unit_test(windows_of_shards_merge_into_those_of_all_in_any_order),
		cmocka_unit_test(windows_without_a_key_reach_to_the_end_and_gaps_are_not_walked),
		cmocka_unit_test(keys_come_in_the_order_in_which_they_were_added),
		cmocka_unit_test(past_the_most_panes_calls_are_counted_as_dropped),
		cmocka_unit_test(the_length_may_be_an_option_and_is_checked_when_the_tool_opens),
		cmocka_unit_test(what_cannot_be_a_window_is_explained),
		cmocka_unit_test(positions_are_those_of_the_event_and_of_where_it_belongs),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
