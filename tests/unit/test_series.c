/* test_series.c - series by key, against all values looked at again; and in a tool's state. */
/* labels: onethread */
#include <pasta/tool.h>

struct key {
	uint32_t proc, device, kind;
};

struct state {
	struct pasta_series_set *busy, *level;
	struct pasta_windows *windows;
};

static void add_up(void *into, const void *from)
{
	*(uint64_t *)into += *(const uint64_t *)from;
}

static const struct pasta_series_def series[] = {
	PASTA_SERIES(struct state, busy, SUM, struct key, 16),
	PASTA_SERIES(struct state, level, LEVEL, uint32_t, 8, .width = 10),
	{0},
};
static const struct pasta_window_def windows[] = {
	PASTA_WINDOWS(struct state, windows, uint64_t, .length = 2, .merge = add_up),
	{0},
};

static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	struct key key = {ev->proc, ev->kernel.device, ev->kind};
	struct state *s = state;
	uint64_t *count = pasta_windows_at(s->windows, NULL,
					   pasta_event_position(ev, where, PASTA_POSITION_LAUNCH));

	++*count;
	if (ev->kind == PASTA_KIND_KERNEL) {
		pasta_series_add(s->busy, &key, ev->time, ev->kernel.dur);
		pasta_series_add(s->level, &ev->proc, ev->time, ev->kernel.dur);
	}
}

static int put_window(void *ctx, const void *key, uint64_t begin, uint64_t end, const void *value)
{
	pasta_cell_int(ctx, (int64_t)begin);
	pasta_cell_int(ctx, (int64_t) * (const uint64_t *)value);
	return 0;
}

static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	static const struct pasta_column columns[] = {{"time", PASTA_COLUMN_INT, NULL},
						      {"value", PASTA_COLUMN_INT, NULL}};
	struct state *s = state;
	static const struct pasta_chart_def def =
		PASTA_CHART_DEF(.type = PASTA_CHART_LINE, .name = "level");
	struct pasta_chart *chart = pasta_out_chart(out, &def);
	struct pasta_table *busy = pasta_out_table(out, "busy", columns, 2);
	struct pasta_series_point points[16];
	const void *key;
	size_t at = 0;

	while ((key = pasta_series_next(s->busy, &at))) {
		size_t n = pasta_series_points(s->busy, key, points, 4);

		for (size_t i = 0; i < n; i++) {
			pasta_cell_int(busy, (int64_t)points[i].time);
			pasta_cell_int(busy, (int64_t)points[i].sum);
		}
	}
	at = 0;
	while ((key = pasta_series_next(s->level, &at)))
		pasta_chart_add_series(chart, "a", s->level, key, 8);
	return pasta_windows_each(s->windows, put_window,
				  pasta_out_table(out, "windows", columns, 2));
}

PASTA_TOOL(.name = "over_time", .summary = "a test",
	   .events = PASTA_MASK(KERNEL) | PASTA_MASK(LAUNCH), .needs = PASTA_NEED_SCOPES,
	   .state_size = sizeof(struct state), .event = on_event, .report = report,
	   .flags = PASTA_TOOL_SHARDED, .charts = PASTA_CHART_MASK(LINE), .series = series,
	   .windows = windows);

/* What is above sees the SDK alone; what is below tests it. */
#include "unit/tooltest.h"

#include "process/sdk/owned.h"
#include "process/sdk/series.h"

/* -- Against all values, looked at again -- */

enum { VALUES = 2000, KEYS = 4, SETS = 4 };

static struct value {
	uint32_t key, set;
	uint64_t time, value;
} values[VALUES];
static size_t count;
static uint64_t reached; /* a time without a value, in set 0 */

/* In order of time but for a few; a key of a LEVEL is of one set. */
static void make_values(enum pasta_series_type type)
{
	uint64_t time = random_below(2) ? random_below(1000) : UINT64_MAX / 3;
	uint64_t gap = UINT64_C(1) << random_below(40);

	count = random_below(VALUES);
	for (size_t i = 0; i < count; i++) {
		struct value *v = &values[i];

		time += random_below(gap);
		v->key = (uint32_t)random_below(KEYS);
		v->set = (uint32_t)random_below(SETS);
		v->time = random_below(20) ? time : time - random_below(time < gap ? time : gap);
		v->value = random_below(30) ? random_below(1000) : UINT64_MAX;
		if (type == PASTA_SERIES_LEVEL && random_below(2))
			v->set = v->key;
	}
	reached = random_below(2) ? time + random_below(gap) : 0;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* What a key's level is at the end of [begin, end), and the most in it, in one set. A value that is
 * late is as late as the one before it. */
static void level_of(uint32_t key, uint32_t set, uint64_t begin, uint64_t last_time, uint64_t *last,
		     uint64_t *max)
{
	uint64_t level = 0, latest = 0, most = 0;

	for (size_t i = 0; i < count; i++) {
		if (values[i].key != key || values[i].set != set)
			continue;
		latest = values[i].time > latest ? values[i].time : latest;
		if (latest > last_time)
			break;
		level = values[i].value;
		most = latest < begin || level > most ? level : most;
	}
	*max = most > *max ? most : *max;
	*last = level > *last ? level : *last;
}

static struct pasta_series_point wanted(enum pasta_series_type type, uint32_t key, uint64_t time,
					uint64_t width)
{
	uint64_t last_time = time + (width - 1);
	struct pasta_series_point p = {.time = time, .width = width};

	for (size_t i = 0; type == PASTA_SERIES_SUM && i < count; i++)
		if (values[i].key == key && values[i].time >= time && values[i].time <= last_time)
			p.sum = plus(p.sum, values[i].value);
	for (uint32_t set = 0; type == PASTA_SERIES_LEVEL && set < SETS; set++)
		level_of(key, set, time, last_time, &p.last, &p.max);
	return p;
}

/* The bins that a set of all these values has. */
static void bins_of(uint32_t bins, uint64_t *width, uint64_t *first, uint64_t *last)
{
	uint64_t from = UINT64_MAX, to = 0;

	for (size_t i = 0; i < count; i++) {
		from = values[i].time < from ? values[i].time : from;
		to = values[i].time > to ? values[i].time : to;
	}
	if (reached || !count) {
		from = reached < from ? reached : from;
		to = reached > to ? reached : to;
	}
	while (to / *width - from / *width >= bins)
		*width *= 2;
	*first = from / *width;
	*last = to / *width;
}

static void check_set(struct pasta_series_set *s, const struct pasta_series_def *def)
{
	uint64_t width = def->width ? def->width : 1, first, last,
		 max = 1 + random_below(def->bins);
	struct pasta_series_point *points = calloc(def->bins, sizeof(*points));

	assert_non_null(points);
	bins_of(def->bins, &width, &first, &last);
	if (random_below(2))
		max = def->bins;
	for (; last - first >= max; width *= 2, first /= 2, last /= 2)
		;
	for (uint32_t key = 0; key <= KEYS; key++) { /* the last one was never added */
		struct key own = {key, key % 2, 5};
		size_t n = pasta_series_points(s, &own, points, max);

		assert_property(n == last - first + 1);
		for (size_t i = 0; i < n; i++) {
			struct pasta_series_point p =
				wanted(def->type, key, (first + i) * width, width);

			assert_memory_equal(&points[i], &p, sizeof(p));
		}
	}
	free(points);
}

static void against_all_values(enum pasta_series_type type, uint32_t sets)
{
	for (int round = 0; round < (support_slow ? 20 : 100); round++) {
		struct pasta_series_def def = {.size = sizeof(def),
					       .type = type,
					       .key_size = sizeof(struct key),
					       .bins = (uint32_t)(2 + random_below(40)),
					       .width = (uint32_t)random_below(3) * 500};
		struct pasta_series_set *parts[SETS];
		uint32_t left = sets;

		make_values(type);
		for (uint32_t i = 0; i < sets; i++)
			assert_non_null(parts[i] = pasta_series_new(&def));
		for (size_t i = 0; i < count; i++) {
			struct key own = {values[i].key, values[i].key % 2, 5};

			values[i].set %= sets;
			pasta_series_add(parts[values[i].set], &own, values[i].time,
					 values[i].value);
		}
		if (reached || !count)
			pasta_series_reach(parts[0], reached);
		while (left > 1) {
			uint32_t from = 1 + (uint32_t)random_below(left - 1),
				 into = (uint32_t)random_below(from);

			assert_int_equal(pasta_series_merge(parts[into], parts[from]), 0);
			pasta_series_free(parts[from]);
			parts[from] = parts[--left];
		}
		check_set(parts[0], &def);
		pasta_series_free(parts[0]);
	}
}

static void sums_agree_with_all_values_looked_at_again(void **state)
{
	against_all_values(PASTA_SERIES_SUM, 1);
}

static void levels_agree_with_all_values_looked_at_again(void **state)
{
	against_all_values(PASTA_SERIES_LEVEL, 1);
}

static void sets_merge_into_one_of_all_values_in_any_order(void **state)
{
	against_all_values(PASTA_SERIES_SUM, SETS);
	against_all_values(PASTA_SERIES_LEVEL, SETS);
}

/* -- By hand -- */

static void a_level_lasts_and_what_comes_late_comes_last(void **state)
{
	const struct pasta_series_def def = {.size = sizeof(def),
					     .type = PASTA_SERIES_LEVEL,
					     .key_size = 4,
					     .bins = 8,
					     .width = 10};
	struct pasta_series_set *s = pasta_series_new(&def);
	struct pasta_series_point p[8];
	uint32_t key = 3;

	assert_int_equal(pasta_series_points(s, &key, p, 8), 0); /* no time yet */
	pasta_series_add(s, &key, 5, 100);
	pasta_series_add(s, &key, 7, 20);
	pasta_series_add(s, &key, 41, 30);
	pasta_series_add(s, &key, 1, 25); /* late */
	pasta_series_reach(s, 55);
	assert_int_equal(pasta_series_points(s, &key, p, 8), 6);
	assert_int_equal(p[0].max, 100);
	assert_int_equal(p[0].last, 20);
	assert_int_equal(p[3].max, 20);
	assert_int_equal(p[4].max, 30);
	assert_int_equal(p[4].last, 25);
	assert_int_equal(p[5].time, 50);
	assert_int_equal(p[5].last, 25);
	assert_int_equal(pasta_series_points(s, &key, p, 2), 2);
	assert_int_equal(p[1].time, 40);
	assert_int_equal(p[1].width, 40);
	assert_int_equal(p[0].last, 20);
	pasta_series_free(s);
}

static void the_whole_of_time_fits_in_two_bins_or_one(void **state)
{
	const struct pasta_series_def def = {
		.size = sizeof(def), .type = PASTA_SERIES_SUM, .key_size = 4, .bins = 2};
	struct pasta_series_set *s = pasta_series_new(&def);
	struct pasta_series_point p[2];
	uint32_t key = 3;

	pasta_series_add(s, &key, UINT64_MAX, 1);
	pasta_series_add(s, &key, 0, 2);
	assert_int_equal(pasta_series_points(s, &key, p, 2), 2);
	assert_int_equal(p[0].sum, 2);
	assert_true(p[1].time == UINT64_C(1) << 63 && p[1].width == UINT64_C(1) << 63);
	assert_int_equal(p[1].sum, 1);
	assert_int_equal(pasta_series_points(s, &key, p, 1), 1);
	assert_int_equal(p[0].sum, 3);
	assert_true(p[0].time == 0 && p[0].width == UINT64_MAX);
	pasta_series_free(s);
	pasta_series_free(NULL);
}

/* -- In a tool -- */

static void send_run(uint32_t proc, uint64_t from)
{
	for (uint64_t i = 0; i < 3; i++) {
		struct pasta_event ev = {.kind = PASTA_KIND_LAUNCH,
					 .size = PASTA_EVENT_SIZE(launch),
					 .proc = proc,
					 .time = from + i};

		ev.launch.corr = i + 1;
		send_event(&ev);
	}
	send_kernel(proc, from + 40, 3, "k", 7);
	send_kernel(proc, from + 41, 1, "k", 8);
}

static void check_run(void)
{
	const struct pasta_chart *chart = result.outs[0]->charts[0];

	assert_string_equal(table("busy"), "128 15\n192 0\n256 0\n128 0\n192 0\n256 15\n");
	assert_string_equal(table("windows"), "0 6\n2 4\n");
	/* 8 bins, and the level at the end. */
	assert_int_equal(chart->series_count, 2);
	assert_int_equal(chart->used, 2 * (8 + 1));
	assert_true(chart->items[7].point.y == 8 && chart->items[8].point.y == 8);
	assert_true(chart->items[8].point.x == 291 - 140 && chart->items[9].point.y == 0);
}

static void series_and_windows_are_made_for_a_tool(void **state)
{
	send_run(0, 100);
	send_run(1, 250);
	assert_int_equal(finish(), 0);
	check_run();
}

static void series_and_windows_of_shards_are_merged(void **state)
{
	struct pasta_toolset *whole = toolset, *other = another_toolset(&result);

	send_run(0, 100);
	toolset = other;
	send_run(1, 250);
	toolset = whole;
	pasta_toolset_merge(toolset, other);
	pasta_toolset_free(other);
	assert_int_equal(finish(), 0);
	check_run();
}

struct refusal {
	char name[40], text[600];
};

static void refuse(void *ctx, const char *name, const struct pasta_error *why)
{
	struct refusal *r = ctx;

	snprintf(r->name, sizeof(r->name), "%s", name);
	snprintf(r->text, sizeof(r->text), "%s", why->text);
}

static void assert_refused(const struct pasta_series_def *defs, const char *why)
{
	static struct pasta_tool tool; /* it lives on */
	struct refusal r = {{0}, {0}};
	struct pasta_tool_source from = {.file = "x.so", .refuse = refuse, .ctx = &r};

	tool = pasta_tool_;
	tool.name = "misused";
	tool.series = defs;
	pasta_tool_from(&from);
	pasta_tool_register(&tool);
	pasta_tool_from(NULL);
	assert_int_equal(from.refused, 1);
	assert_string_equal(r.name, "misused");
	if (!strstr(r.text, why))
		fail_msg("'%s' is not in '%s'", why, r.text);
}

static void misuse_is_refused_at_registration_with_the_name_of_the_tool(void **state)
{
	static struct pasta_series_def bad[3];

#define BAD(member_, value_, why)                                                                  \
	memcpy(bad, series, sizeof(bad));                                                          \
	bad[1].member_ = value_;                                                                   \
	assert_refused(bad, why)
	BAD(size, 1, "series 2: declare the series with PASTA_SERIES");
	BAD(type, 3, "series 2 of the tool has the unknown type 3");
	BAD(key_size, 0, "a multiple of 4 bytes");
	BAD(key_size, 6, "a multiple of 4 bytes");
	BAD(bins, 1, "bins must be 2 to 1048576, but is 1");
	BAD(state_offset, 4, "outside of the tool's state");
	BAD(state_offset, sizeof(struct state), "outside of the tool's state");
	BAD(state_offset, 0, "two declarations of the tool refer to the same pointer, at byte 0");
	BAD(state_offset, offsetof(struct state, windows), "refer to the same pointer, at byte 16");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_agree_with_all_values_looked_at_again),
		cmocka_unit_test(levels_agree_with_all_values_looked_at_again),
		cmocka_unit_test(sets_merge_into_one_of_all_values_in_any_order),
		cmocka_unit_test(a_level_lasts_and_what_comes_late_comes_last),
		cmocka_unit_test(the_whole_of_time_fits_in_two_bins_or_one),
		TEST(series_and_windows_are_made_for_a_tool),
		TEST(series_and_windows_of_shards_are_merged),
		TEST(misuse_is_refused_at_registration_with_the_name_of_the_tool),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
