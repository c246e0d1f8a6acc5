/* test_hostlog.c - the log of a thread's activities against an array of all ns. */
#include "unit/support.h"

#include "process/diagnosis/hostlog.h"

enum { TIME = 3000 };

static uint8_t activity[TIME + 200];

/* Fills a log with random calls and operators, and `activity` with what it must contain. */
static void make_log(struct hostlog *log)
{
	uint64_t end[HOSTLOG_ACTIVITIES] = {0}, time = 0, filled = 0;
	bool op = false;

	while (time < TIME) {
		uint32_t what = (uint32_t)random_below(HOSTLOG_ACTIVITIES);

		assert_int_equal(hostlog_advance(log, time), 0);
		if (what == HOSTLOG_HOST || what == HOSTLOG_DATA) {
			op = !op;
			log->open[HOSTLOG_DISPATCH] = op;
		} else {
			uint64_t stop = time + random_below(60);

			hostlog_call(log, what, stop, what + 1);
			end[what] = stop > end[what] ? stop : end[what];
		}
		assert_int_equal(hostlog_add(log), 0);
		time += 1 + random_below(20);
		for (; filled < time; filled++) {
			uint8_t a = HOSTLOG_SYNC;

			while (a <= HOSTLOG_LOADING && end[a] <= filled)
				a++;
			if (a > HOSTLOG_LOADING)
				a = op || end[HOSTLOG_DISPATCH] > filled ? HOSTLOG_DISPATCH
									 : HOSTLOG_HOST;
			activity[filled] = a;
		}
	}
	assert_int_equal(hostlog_advance(log, TIME), 0);
}

static void sums_equal_a_count_of_all_ns(void **state)
{
	for (int run = 0; run < 50; run++) {
		struct hostlog log = {.max = TIME};

		make_log(&log);
		for (int i = 0; i < 100; i++) {
			uint64_t from = random_below(TIME), to = from + random_below(TIME - from);
			uint64_t sums[HOSTLOG_ACTIVITIES], want[HOSTLOG_ACTIVITIES] = {0};

			for (uint64_t time = from; time < to; time++)
				want[activity[time]]++;
			hostlog_sums(&log, from, to, sums);
			assert_memory_equal(sums, want, sizeof(sums));
			assert_int_equal(hostlog_find(&log, from)->activity, activity[from]);
		}
		hostlog_clear(&log);
	}
}

static void the_longest_interval_is_found(void **state)
{
	for (int run = 0; run < 50; run++) {
		struct hostlog log = {.max = TIME};

		make_log(&log);
		for (int i = 0; i < 50; i++) {
			uint64_t from = random_below(TIME), to = from + random_below(TIME - from);
			uint32_t what = (uint32_t)random_below(HOSTLOG_ACTIVITIES);
			const struct hostlog_entry *e = hostlog_longest(&log, from, to, what);
			uint64_t sums[HOSTLOG_ACTIVITIES], most = 0, length = 0;

			hostlog_sums(&log, from, to, sums);
			assert_int_equal(!e, !sums[what]);
			for (uint32_t k = 0; k < log.count; k++) {
				const struct hostlog_entry *x = &log.entries[k];
				uint64_t begin = x->begin > from ? x->begin : from;
				uint64_t end =
					k + 1 < log.count && x[1].begin < to ? x[1].begin : to;

				if (x->activity == what && end > begin && end - begin > most)
					most = end - begin;
				if (x == e)
					length = end - begin;
			}
			assert_int_equal(length, most);
		}
		hostlog_clear(&log);
	}
}

static void a_full_log_merges_old_intervals_but_not_their_sums(void **state)
{
	for (int run = 0; run < 50; run++) {
		struct hostlog log = {.max = 16};
		uint64_t sums[HOSTLOG_ACTIVITIES], want[HOSTLOG_ACTIVITIES] = {0};
		uint64_t from, to = TIME;

		make_log(&log);
		assert_in_range(log.count, 8, 16);
		assert_int_equal(log.entries[0].begin, 0);
		from = log.entries[random_below(log.count)].begin;
		for (uint64_t time = from; time < to; time++)
			want[activity[time]]++;
		hostlog_sums(&log, from, to, sums);
		assert_memory_equal(sums, want, sizeof(sums));
		hostlog_clear(&log);
	}
}

static void time_before_the_log_is_host(void **state)
{
	struct hostlog log = {.max = 16};
	uint64_t sums[HOSTLOG_ACTIVITIES];

	hostlog_sums(&log, 10, 30, sums);
	assert_int_equal(sums[HOSTLOG_HOST], 20);
	assert_null(hostlog_find(&log, 10));
	assert_null(hostlog_longest(&log, 10, 30, HOSTLOG_HOST));
	assert_true(hostlog_is_quiet(&log, 10, 30));
	assert_int_equal(hostlog_advance(&log, 100), 0);
	hostlog_call(&log, HOSTLOG_SYNC, 150, 3);
	assert_int_equal(hostlog_add(&log), 0);
	assert_int_equal(hostlog_advance(&log, 200), 0);
	hostlog_sums(&log, 50, 200, sums);
	assert_int_equal(sums[HOSTLOG_HOST], 50 + 50);
	assert_int_equal(sums[HOSTLOG_SYNC], 50);
	assert_int_equal(hostlog_find(&log, 149)->api, 3);
	assert_int_equal(hostlog_find(&log, 150)->api, 0);
	assert_true(hostlog_is_quiet(&log, 100, 150));
	assert_false(hostlog_is_quiet(&log, 100, 151));
	assert_false(hostlog_is_quiet(&log, 99, 101));
	hostlog_clear(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_equal_a_count_of_all_ns),
		cmocka_unit_test(the_longest_interval_is_found),
		cmocka_unit_test(a_full_log_merges_old_intervals_but_not_their_sums),
		cmocka_unit_test(time_before_the_log_is_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
