/* test_stream.c - many shards as one stream: order, memory, growing files, clocks. */
/* timeout: 120 */
/* labels: onethread */
#include "support.h"

#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

/* -- Random shards, compared with a plain sort ------------------------------------------------- */

struct item {
	uint64_t time, number; /* number: in the order of its source */
	uint32_t shard, source;
};

struct model {
	struct item *items;
	size_t count, capacity;
	size_t shards;
};

static int compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->shard != y->shard)
		return x->shard < y->shard ? -1 : 1;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static const char *shard_path(size_t i)
{
	char name[32];

	snprintf(name, sizeof(name), "%zu.pst", i);
	return in_dir(name);
}

static void model_add(struct model *m, struct item item)
{
	if (m->count == m->capacity) {
		m->capacity = m->capacity ? m->capacity * 2 : 1024;
		m->items = realloc(m->items, m->capacity * sizeof(*m->items));
		assert_non_null(m->items);
	}
	m->items[m->count++] = item;
}

/* Makes shards with the given numbers of sources and frames. The times of a frame are within
 * spread, and the source's next frame begins at most step later. */
static void make_shards(struct model *m, size_t shards, uint32_t sources, size_t frames,
			size_t events, uint64_t spread, uint64_t step)
{
	struct pasta_event *list = calloc(events, sizeof(*list));

	m->shards = shards;
	for (uint32_t shard = 0; shard < shards; shard++) {
		struct bytes b = {0};
		uint64_t seq[64] = {0}, base[64];

		put_head(
			&b, 1,
			REAL_0 +
				shard); /* one boot: the offset of the first shard applies to all */
		put_schema(&b, NULL, 0);
		for (uint32_t i = 0; i < sources; i++)
			base[i] = RAW_0 + random_below(spread);
		for (size_t frame = 0; frame < frames; frame++) {
			uint32_t source = 1 + (uint32_t)random_below(sources);
			size_t n = 1 + random_below(events);
			uint64_t *at = &base[source - 1];

			for (size_t i = 0; i < n; i++) {
				uint64_t time = *at + random_below(spread);

				list[i] = numbered(seq[source - 1] + i, time);
				model_add(m, (struct item){time + OFFSET, seq[source - 1] + i,
							   shard, source});
			}
			put_frame(&b, list, n,
				  (struct pasta_frame_meta){.source = source,
							    .seq = seq[source - 1]});
			seq[source - 1] += n;
			*at += random_below(step);
		}
		save(&b, b.size, shard_path(shard));
		free(b.data);
	}
	free(list);
	qsort(m->items, m->count, sizeof(*m->items), compare_items);
}

static struct pasta_stream *open_model(const struct model *m, size_t budget)
{
	struct pasta_stream *s = pasta_stream_new(budget);

	for (size_t i = 0; i < m->shards; i++)
		assert_int_equal(pasta_stream_add(s, shard_path(i), NULL), 0);
	return s;
}

static size_t in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* Reads the stream and compares it. Returns the peak memory. */
static size_t check_model(const struct model *m, struct pasta_stream *s)
{
	size_t i = 0, most = 0, before = in_use();
	const struct pasta_event *ev;
	struct pasta_loss_summary a;

	for (; (ev = pasta_stream_next(s)); i++) {
		assert_property(i < m->count);
		assert_property(ev->time == m->items[i].time && ev->proc == m->items[i].shard);
		assert_property(ev->source == m->items[i].source);
		assert_property(ev->link.from == m->items[i].number);
		if (i % 256 == 0 && in_use() - before < SIZE_MAX / 2 && in_use() - before > most)
			most = in_use() - before;
	}
	assert_property(i == m->count);
	a = account_of(s);
	assert_int_equal(a.captured, m->count);
	assert_int_equal(a.dropped, 0);
	assert_int_equal(a.late, 0);
	return most;
}

static void many_shards_are_merged_as_by_a_stable_sort(void **state)
{
	static const struct {
		size_t shards;
		uint32_t sources;
		size_t frames, events;
		uint64_t spread;
	} cases[] = {
		{1, 1, 1, 1, 1},	   {1, 1, 50, 20, 10},	 {2, 1, 50, 20, 5},
		{7, 5, 60, 50, 1000},	   {3, 64, 500, 10, 40}, {40, 3, 20, 10, 300},
		{2, 2, 3000, 3, 1u << 20}, {3, 8, 40, 1, 1},
	};

	random_begin();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct model m = {0};
		struct pasta_stream *s;

		make_shards(&m, cases[i].shards, cases[i].sources, cases[i].frames, cases[i].events,
			    cases[i].spread, cases[i].spread + cases[i].spread / 4);
		s = open_model(&m, 0);
		check_model(&m, s);
		pasta_stream_free(s);
		free(m.items);
	}
}

/* The frames of each source overlap all others: all are open at once, but few may be in memory. */
static void a_small_budget_makes_the_same_stream_in_little_memory(void **state)
{
	const size_t budget = 1 << 20;
	struct model m = {0};
	struct pasta_stream *s;
	size_t most;

	random_begin();
	make_shards(&m, 6, 10, 150, 1500, UINT64_C(1) << 40, 1);
	s = open_model(&m, 0);
	most = check_model(&m, s);
	pasta_stream_free(s);
	s = open_model(&m, budget);
	/* The budget bounds decoded events; each open frame has a window in addition. */
	assert_in_range(check_model(&m, s), 0, 8 * budget);
	pasta_stream_free(s);
	s = open_model(&m, 1);
	check_model(&m, s);
	pasta_stream_free(s);
	if (most) /* a sanitizer's allocator does not report it */
		assert_true(most > 16 * budget);
	free(m.items);
}

static void without_a_temporary_file_the_stream_is_the_same_but_in_memory(void **state)
{
	struct rlimit old, none;
	struct model m = {0};
	struct pasta_stream *s;

	random_begin();
	make_shards(&m, 2, 5, 40, 1000, UINT64_C(1) << 40, 1);
	s = open_model(&m, 1);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	none = old;
	none.rlim_cur = 0;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &none);
	check_model(&m, s);
	setrlimit(RLIMIT_FSIZE, &old);
	signal(SIGXFSZ, SIG_DFL);
	pasta_stream_free(s);
	free(m.items);
}

static void a_frame_that_lies_about_its_first_time_is_delivered_late_and_counted(void **state)
{
	const char *path = in_dir("lies.pst");
	struct bytes b = {0};
	uint64_t got[32];
	struct pasta_stream *s;
	size_t at;

	put_head(&b, 1, REAL_0);
	put_numbered(&b, 1, 0, 0, 10, RAW_0 + 100);
	at = put_numbered(&b, 2, 0, 10, 10, RAW_0);
	((struct pasta_frame *)(void *)(b.data + at))->first = RAW_0 + 105;
	reseal(&b, at);
	save(&b, b.size, path);
	s = open_stream(path);
	assert_int_equal(read_numbers(s, got, 32), 20);
	assert_int_equal(account_of(s).late, 10);
	pasta_stream_free(s);
	free(b.data);
}

static void only_selected_kinds_are_delivered_but_all_are_captured(void **state)
{
	const char *path = in_dir("want.pst");
	struct bytes b = {0};
	struct pasta_event mixed[6];
	struct pasta_stream *s;
	const struct pasta_event *ev;
	size_t seen = 0;

	for (uint64_t i = 0; i < 6; i++)
		mixed[i] = i % 2 ? clock_at(0, i, RAW_0 + i) : numbered(i, RAW_0 + i);
	put_head(&b, 1, REAL_0);
	put_schema(&b, NULL, 0);
	put_frame(&b, mixed, 6, (struct pasta_frame_meta){.source = 1});
	put_numbered(&b, 2, 0, 0, 5, RAW_0);
	save(&b, b.size, path);
	s = open_stream(path);
	pasta_stream_set_kinds(s, PASTA_MASK(CLOCK));
	while ((ev = pasta_stream_next(s))) {
		assert_int_equal(ev->kind, PASTA_KIND_CLOCK);
		seen++;
	}
	assert_int_equal(seen, 3);
	assert_int_equal(account_of(s).captured, 11);
	pasta_stream_free(s);
	s = open_stream(path);
	pasta_stream_set_kinds(s, 0);
	assert_null(pasta_stream_next(s));
	assert_int_equal(account_of(s).captured, 11);
	pasta_stream_free(s);
	free(b.data);
}

/* -- Growing files ----------------------------------------------------------------------------- */

/* Two sources in turns, and sometimes a clock event: the shard then has all earlier events. */
static uint64_t make_growing(struct bytes *b, size_t rounds, size_t events)
{
	uint64_t number = 0, states = 0, seq[2] = {0};

	put_head(b, 1, REAL_0);
	put_schema(b, NULL, 0);
	for (size_t i = 0; i < rounds; i++) {
		struct pasta_event clock = clock_at(0, 0, RAW_0 + number * 10 + 9);

		put_numbered(b, 1 + i % 2, seq[i % 2], number, events, RAW_0 + number * 10);
		seq[i % 2] += events;
		number += events;
		clock.clock.raw = RAW_0 + number * 10 - 1;
		if (i % 3 == 2)
			put_state(b, states++, &clock);
	}
	return number;
}

static void grow(int fd, const struct bytes *b, size_t *size, size_t by)
{
	by = by < b->size - *size ? by : b->size - *size;
	assert_int_equal(pwrite(fd, b->data + *size, by, (off_t)*size), by);
	*size += by;
}

/* Reads the events so far; each number once, and in order. */
static void follow_numbers(struct pasta_stream *s, uint64_t *next)
{
	const struct pasta_event *ev;

	while ((ev = pasta_stream_next(s)))
		if (ev->kind == PASTA_KIND_LINK)
			assert_int_equal(ev->link.from, (*next)++);
}

static void follow(size_t rounds, size_t events, size_t step)
{
	const char *path = in_dir("grows.pst");
	struct bytes b = {0};
	uint64_t total = make_growing(&b, rounds, events), next = 0, before_end;
	size_t size = 0;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	struct pasta_stream *s;
	struct pasta_loss_summary a;

	grow(fd, &b, &size, sizeof(struct pasta_shard_head));
	s = open_stream(path);
	pasta_stream_follow(s, true);
	while (size < b.size) {
		grow(fd, &b, &size, step ? step : 1 + random_below(3000));
		pasta_stream_refresh(s);
		follow_numbers(s, &next);
	}
	before_end = next;
	pasta_stream_follow(s, false);
	follow_numbers(s, &next);
	assert_int_equal(next, total);
	assert_true(before_end >= total - 2 * events);
	a = account_of(s);
	assert_int_equal(a.captured, total);
	assert_int_equal(a.dropped + a.late + a.damaged_bytes, 0);
	pasta_stream_free(s);
	close(fd);
	free(b.data);
}

static void a_file_that_grows_byte_by_byte_is_delivered_once_and_in_order(void **state)
{
	follow(12, 7, 1);
}

static void a_file_that_grows_by_leaps_is_delivered_once_and_in_order(void **state)
{
	random_begin();
	for (int i = 0; i < 10; i++)
		follow(100, 40, 0);
}

static void events_wait_for_a_clock_event_that_excludes_older_ones(void **state)
{
	const char *path = in_dir("waits.pst");
	struct bytes b = {0};
	struct pasta_event clock = clock_at(0, 0, RAW_0 + 100);
	uint64_t got[64];
	struct pasta_stream *s;

	put_head(&b, 1, REAL_0);
	put_schema(&b, NULL, 0);
	put_numbered(&b, 1, 0, 10, 10, RAW_0 + 50);
	save(&b, b.size, path);
	s = open_stream(path);
	pasta_stream_follow(s, true);
	assert_int_equal(read_numbers(s, got, 64), 0);
	put_numbered(&b, 2, 0, 0, 5, RAW_0 + 10); /* earlier, but comes later */
	put_numbered(&b, 2, 5, 20, 5, RAW_0 + 98);
	put_state(&b, 0, &clock);
	save(&b, b.size, path);
	assert_int_equal(pasta_stream_refresh(s), 3);
	assert_int_equal(read_numbers(s, got, 64), 18);
	assert_int_equal(got[0], 0);
	assert_int_equal(got[17], 22);
	pasta_stream_follow(s, false);
	assert_int_equal(read_numbers(s, got, 64), 2);
	assert_int_equal(account_of(s).late, 0);
	pasta_stream_free(s);
	free(b.data);
}

static void a_shard_that_has_stopped_growing_does_not_delay_others(void **state)
{
	const char *path = in_dir("stops.pst");
	const struct timespec nap = {.tv_sec = 2, .tv_nsec = 600000000};
	struct bytes b = {0};
	uint64_t got[16];
	struct pasta_stream *s;

	put_head(&b, 1, REAL_0);
	put_numbered(&b, 1, 0, 0, 10, RAW_0 + 50);
	save(&b, b.size, path);
	s = open_stream(path);
	pasta_stream_follow(s, true);
	assert_int_equal(read_numbers(s, got, 16), 0);
	nanosleep(&nap, NULL);
	pasta_stream_refresh(s);
	assert_int_equal(read_numbers(s, got, 16), 10);
	pasta_stream_free(s);
	free(b.data);
}

/* -- Clocks ------------------------------------------------------------------------------------ */

static void shards_of_two_hosts_are_merged_by_the_time_of_the_wall(void **state)
{
	struct bytes a = {0}, b = {0};
	struct pasta_stream *s = pasta_stream_new(0);
	uint64_t got[40];

	/* The second host booted later: its raw clock is behind at the same time. */
	put_head(&a, 1, REAL_0);
	put_head(&b, 2, REAL_0 + 10000);
	for (uint64_t i = 0; i < 10; i++) {
		put_numbered(&a, 1, i, i * 2, 1, RAW_0 + 20000 + i * 100);
		put_numbered(&b, 1, i, i * 2 + 1, 1, RAW_0 + 10050 + i * 100);
	}
	save(&a, a.size, shard_path(0));
	save(&b, b.size, shard_path(1));
	assert_int_equal(pasta_stream_add(s, shard_path(0), NULL), 0);
	assert_int_equal(pasta_stream_add(s, shard_path(1), NULL), 0);
	assert_int_equal(read_numbers(s, got, 40), 20);
	for (uint64_t i = 0; i < 20; i++)
		assert_int_equal(got[i], i);
	pasta_stream_free(s);
	free(a.data);
	free(b.data);
}

static void shards_whose_boot_is_unknown_do_not_share_a_clock(void **state)
{
	struct bytes a = {0}, b = {0};
	struct pasta_stream *s = pasta_stream_new(0);
	const struct pasta_event *ev;

	put_head(&a, 0, REAL_0);
	put_numbered(&a, 1, 0, 0, 1, RAW_0);
	put_head(&b, 0, REAL_0 + 77);
	put_numbered(&b, 1, 0, 1, 1, RAW_0);
	save(&a, a.size, shard_path(0));
	save(&b, b.size, shard_path(1));
	assert_int_equal(pasta_stream_add(s, shard_path(0), NULL), 0);
	assert_int_equal(pasta_stream_add(s, shard_path(1), NULL), 0);
	ev = pasta_stream_next(s);
	assert_int_equal(ev->time, REAL_0);
	ev = pasta_stream_next(s);
	assert_int_equal(ev->time, REAL_0 + 77);
	pasta_stream_free(s);
	free(a.data);
	free(b.data);
}

/* A device whose clock runs at twice the speed. When its first frames are found, only one pair of
 * clocks is known; events are delivered according to the pairs known at the end. */
static void a_device_clock_is_converted_by_all_its_pairs_whenever_they_came(void **state)
{
	enum { CLOCK = 7, EVENTS = 200 };
	const char *path = in_dir("device.pst");
	struct pasta_event pairs[3], events[EVENTS];
	struct bytes b = {0};
	struct pasta_stream *s;
	const struct pasta_event *ev;
	uint64_t next = 0;

	for (uint64_t i = 0; i < 3; i++) {
		pairs[i] = clock_at(CLOCK, 1000 + i * 40000, RAW_0 + i * 20000);
		pairs[i].time = RAW_0 + i * 20000;
	}
	for (uint64_t i = 0; i < EVENTS; i++)
		events[i] = numbered(i * 2, 1000 + i * 200 * 2);
	put_head(&b, 1, REAL_0);
	put_schema(&b, NULL, 0);
	put_state(&b, 0, &pairs[0]);
	for (uint64_t i = 0; i < EVENTS; i += 20)
		put_frame(&b, events + i, 20,
			  (struct pasta_frame_meta){.source = 1, .clock = CLOCK, .seq = i});
	for (uint64_t i = 0; i < EVENTS;
	     i++) /* events of the host, each between two of the device */
		put_numbered(&b, 2, i, i * 2 + 1, 1, RAW_0 + i * 200 + 100);
	put_state(&b, 1, &pairs[1]);
	put_state(&b, 2, &pairs[2]);
	save(&b, b.size, path);
	s = open_stream(path);
	while ((ev = pasta_stream_next(s))) {
		if (ev->kind != PASTA_KIND_LINK)
			continue;
		assert_int_equal(ev->link.from, next);
		assert_int_equal(ev->time, REAL_0 + next * 100);
		next++;
	}
	assert_int_equal(next, 2 * EVENTS);
	assert_int_equal(account_of(s).late, 0);
	pasta_stream_free(s);
	free(b.data);
}

static void progress_goes_from_nothing_to_all(void **state)
{
	struct model m = {0};
	struct pasta_stream *s;
	uint64_t done, total, last = 0;

	random_begin();
	make_shards(&m, 3, 2, 20, 50, 1000, 1000);
	s = open_model(&m, 0);
	pasta_stream_progress(s, &done, &total);
	assert_int_equal(done, 0);
	while (pasta_stream_next(s)) {
		pasta_stream_progress(s, &done, &total);
		assert_true(done >= last && done <= total);
		last = done;
	}
	assert_true(last > total / 2);
	pasta_stream_free(s);
	free(m.items);
}

static void a_thousand_shards_are_open_at_once(void **state)
{
	struct model m = {0};
	struct pasta_stream *s;
	size_t before;

	random_begin();
	make_shards(&m, 1000, 1, 2, 3, 100, 100);
	before = in_use();
	s = open_model(&m, 0);
	assert_in_range(in_use() - before, 0, 32 << 20);
	check_model(&m, s);
	pasta_stream_free(s);
	free(m.items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_shards_are_merged_as_by_a_stable_sort),
		cmocka_unit_test(a_small_budget_makes_the_same_stream_in_little_memory),
		cmocka_unit_test(without_a_temporary_file_the_stream_is_the_same_but_in_memory),
		cmocka_unit_test(
			a_frame_that_lies_about_its_first_time_is_delivered_late_and_counted),
		cmocka_unit_test(only_selected_kinds_are_delivered_but_all_are_captured),
		cmocka_unit_test(a_file_that_grows_byte_by_byte_is_delivered_once_and_in_order),
		cmocka_unit_test(a_file_that_grows_by_leaps_is_delivered_once_and_in_order),
		cmocka_unit_test(events_wait_for_a_clock_event_that_excludes_older_ones),
		cmocka_unit_test(a_shard_that_has_stopped_growing_does_not_delay_others),
		cmocka_unit_test(shards_of_two_hosts_are_merged_by_the_time_of_the_wall),
		cmocka_unit_test(shards_whose_boot_is_unknown_do_not_share_a_clock),
		cmocka_unit_test(a_device_clock_is_converted_by_all_its_pairs_whenever_they_came),
		cmocka_unit_test(progress_goes_from_nothing_to_all),
		cmocka_unit_test(a_thousand_shards_are_open_at_once),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
