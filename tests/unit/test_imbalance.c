/* test_imbalance.c - tests tool imbalance and the lateness of ranks with made-up events. */
/* labels: onethread */
#include "../../tools/imbalance.c"

#include "unit/tooltest.h"

static uint64_t next_corr;

static void process(uint32_t proc, uint32_t rank, const char *host)
{
	struct pasta_event ev = EVENT(process, PROCESS, proc, 0, 1);

	ev.process.rank = rank;
	ev.process.host = id(host);
	ev.process.pid = 100 + proc;
	send_event(&ev);
}

static void ranks(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		process(i, i + 1, "here");
}

static void clock_error(uint32_t proc, uint64_t error)
{
	struct pasta_event ev = EVENT(clock, CLOCK, proc, 0, 1);

	ev.clock.error = error;
	send_event(&ev);
}

static void iteration(uint32_t proc, uint64_t time, uint64_t index)
{
	struct pasta_event ev = EVENT(iteration, ITERATION, proc, 1, time);

	ev.iteration.index = index;
	ev.iteration.name = id("step");
	send_event(&ev);
}

static void work_on(uint32_t proc, uint32_t device, uint32_t stream, uint64_t time, uint64_t dur,
		    bool collective, uint64_t seq)
{
	struct pasta_event ev = EVENT(collective, COLLECTIVE, proc, 1, time), k;

	k = kernel_event(proc, time, ++next_corr, collective ? "ncclDevKernel_x" : "gemm", dur);
	k.kernel.device = device;
	k.kernel.stream = stream;
	ev.collective.corr = next_corr;
	ev.collective.name = id("all_reduce");
	ev.collective.seq = seq;
	if (collective)
		send_event(&ev);
	send_event(&k);
}

static void compute(uint32_t proc, uint64_t time, uint64_t dur)
{
	work_on(proc, proc, 7, time, dur, false, 0);
}

static const char *evidence(void)
{
	return result.outs[0]->findings[0].evidence;
}

/* Sends `rounds` collectives of four ranks, one each ms, which end on all ranks at the same time.
 * Rank 2 begins `late` ns after the others in the first late_rounds rounds. */
static void send_rounds(uint64_t rounds, uint64_t late_rounds, uint64_t late)
{
	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t time = 1000000 * (i + 1);

		for (uint32_t proc = 0; proc < 4; proc++) {
			uint64_t by = proc == 2 && i < late_rounds ? late : 0;

			work_on(proc, proc, 1, time + by, late + 1000 - by, true, i + 1);
		}
	}
}

/* rank, launches, collectives, last, late, late_share, late_by, mean, max, waited */
static void a_straggler_is_the_verdict(void **state)
{
	const struct pasta_finding *f;

	(void)state;
	ranks(4);
	send_rounds(40, 30, 200000);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("ranks"), "rank 0 0 40 0 0 0.00 0 0 0 6000000\n"
					    "rank 1 0 40 0 0 0.00 0 0 0 6000000\n"
					    "rank 2 0 40 30 30 75.00 6000000 200000 200000 0\n"
					    "rank 3 0 40 0 0 0.00 0 0 0 6000000\n");
	f = &result.outs[0]->findings[0];
	assert_string_equal(f->what, "the ranks wait for one late rank");
	assert_string_equal(f->where, "rank 2");
	/* The window lasts from the first collective to the end of the last: 39,001,000 ns on
	 * rank 2. */
	assert_string_equal(f->evidence,
			    "rank 2 is late in 30 of 40 collectives, by 6.000 ms in total (15.4% "
			    "of the window); its device is idle for 5.800 ms longer than the "
			    "median device");
	assert_int_equal(f->saving, 6000000);
	assert_string_equal(finding(1), "");
}

static void a_straggler_that_computes_longer_is_explained(void **state)
{
	(void)state;
	ranks(2);
	for (uint64_t i = 0; i < 20; i++)
		for (uint32_t proc = 0; proc < 2; proc++) {
			uint64_t time = 1000000 * (i + 1), dur = proc ? 600000 : 500000;

			compute(proc, time, dur);
			work_on(proc, proc, 1, time + dur, 700000 - dur, true, i + 1);
		}
	assert_int_equal(finish(), 0);
	assert_string_equal(evidence(),
			    "rank 1 is late in 20 of 20 collectives, by 2.000 ms in total (10.2% "
			    "of the window); its device computes 20.0% longer than the median "
			    "device");
}

static void lateness_below_the_error_of_clocks_does_not_count(void **state)
{
	(void)state;
	ranks(4);
	clock_error(0, 120000);
	clock_error(2, 80000);
	send_rounds(40, 30, 200000);
	assert_int_equal(finish(), 0);
	assert_non_null(strstr(table("ranks"), "rank 2 0 40 30 0 0.00 0 0 0 0\n"));
	start_over(NULL);
	ranks(4);
	clock_error(0, 120000);
	clock_error(2, 78000);
	send_rounds(40, 30, 200000);
	assert_int_equal(finish(), 0);
	assert_non_null(
		strstr(table("ranks"), "rank 2 0 40 30 30 75.00 6000000 200000 200000 0\n"));
}

/* The clocks of hosts differ by at least as much as the ends of a collective. */
static void ranks_on_different_hosts_are_late_by_more_than_their_ends_differ(void **state)
{
	(void)state;
	for (int run = 0; run < 2; run++) {
		start_over(NULL);
		process(0, 1, "a");
		process(1, 2, "b");
		for (uint64_t i = 0; i < 20; i++) {
			uint64_t time = 1000000 * (i + 1);

			work_on(0, 0, 1, time, 300000, true, i + 1);
			work_on(1, 1, 1, time + 100000, 200000 + (run ? 100000 : 99999), true,
				i + 1);
		}
		assert_int_equal(finish(), 0);
		assert_non_null(strstr(table("ranks"), run ? "rank 1 0 20 20 0 "
							   : "rank 1 0 20 20 20 100.00 2000000 "));
	}
}

/* A collective whose root does not wait: the other ranks wait only while their kernels run. */
static void a_rank_does_not_wait_longer_than_its_kernel_runs(void **state)
{
	(void)state;
	ranks(2);
	for (uint64_t i = 0; i < 3; i++) {
		work_on(0, 0, 1, 1000000 * (i + 1), 500, true, i + 1);
		work_on(1, 1, 1, 1000000 * (i + 1) + 200000, 500, true, i + 1);
	}
	assert_int_equal(finish(), 0);
	assert_string_equal(table("ranks"), "rank 0 0 3 0 0 0.00 0 0 0 1500\n"
					    "rank 1 0 3 3 3 100.00 1500 500 500 0\n");
}

static void ranks_that_are_late_in_turn_are_no_stragglers(void **state)
{
	(void)state;
	ranks(4);
	for (uint64_t i = 0; i < 40; i++)
		for (uint32_t proc = 0; proc < 4; proc++) {
			uint64_t by = i % 4 == proc ? 100000 : 0;

			work_on(proc, proc, 1, 1000000 * (i + 1) + by, 101000 - by, true, i + 1);
		}
	assert_int_equal(finish(), 0);
	assert_string_equal(finding(0), "the ranks wait for each other in turn");
	assert_non_null(strstr(evidence(), "in 40 collectives, a rank is late, by 3.040 ms"));
}

static void only_rounds_of_the_window_count(void **state)
{
	(void)state;
	ranks(2);
	for (uint64_t i = 0; i < 8; i++) {
		uint64_t time = 1000000 * (i + 1);

		for (uint32_t proc = 0; proc < 2; proc++) {
			iteration(proc, time - 1000, i);
			work_on(proc, proc, 7, time, 1000, false, 0);
		}
		/* Rank 1 is late in steps 0, 1 and 3. */
		for (uint32_t proc = 0; proc < 2; proc++) {
			uint64_t by = proc && (i < 2 || i == 3) ? 5000 : 0;

			work_on(proc, proc, 1, time + 20000 + by, 10000 - by, true, i + 1);
		}
	}
	assert_int_equal(finish(), 0);
	assert_string_equal(table("ranks"), "rank 0 0 6 1000000 6 0 0 0.00 0 0 0 5000\n"
					    "rank 1 0 6 1000000 6 1 1 16.67 5000 5000 5000 0\n");
	assert_string_equal(table("streams"), "rank 0 device 0 0 1 6 0 60000 1.19\n"
					      "rank 0 device 0 0 7 6 0 6000 0.12\n"
					      "rank 1 device 1 0 1 6 0 55000 1.09\n"
					      "rank 1 device 1 0 7 6 0 6000 0.12\n");
}

static void exposed_communication_is_the_verdict_if_no_rank_is_late(void **state)
{
	(void)state;
	ranks(2);
	for (uint32_t proc = 0; proc < 2; proc++)
		compute(proc, 1000, 800);
	for (uint32_t proc = 0; proc < 2; proc++)
		work_on(proc, proc, 1, 1700, 300, true, 1);
	assert_int_equal(finish(), 0);
	assert_string_equal(finding(0), "computation waits for communication");
	assert_string_equal(result.outs[0]->findings[0].where, "rank 0, device 0");
	assert_string_equal(evidence(),
			    "for 20.0% of the window, the device does nothing but communicate; "
			    "this share exceeds 10% on 2 devices");
	assert_int_equal(result.outs[0]->findings[0].saving, 200);
	assert_string_equal(table("devices"), "rank 0 device 0 2 2 1000 100.00 800 200 0 0 100\n"
					      "rank 1 device 1 2 2 1000 100.00 800 200 0 0 100\n");
}

static void a_device_that_computes_longer_is_the_verdict(void **state)
{
	(void)state;
	ranks(3);
	for (uint32_t proc = 0; proc < 3; proc++) {
		compute(proc, 1000, proc == 1 ? 500 : 300);
		compute(proc, 1900, 100);
	}
	assert_int_equal(finish(), 0);
	assert_string_equal(finding(0), "one device computes longer than others");
	assert_string_equal(result.outs[0]->findings[0].where, "rank 1, device 1");
	assert_int_equal(result.outs[0]->findings[0].saving, 200);
}

static void streams_that_never_overlap_are_found(void **state)
{
	(void)state;
	ranks(1);
	for (uint64_t i = 0; i < 10; i++)
		work_on(0, 0, 1 + (uint32_t)(i & 1), 1000 * i, 900, false, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("streams"), "rank 0 device 0 0 1 5 0 4500 45.45\n"
					      "rank 0 device 0 0 2 5 0 4500 45.45\n");
	assert_string_equal(finding(0), "streams run one after another");
	assert_string_equal(evidence(), "2 streams are busy for 0.009 ms in total, of which they "
					"overlap for 0.000 ms");
	start_over(NULL);
	ranks(1);
	for (uint64_t i = 0; i < 10; i++)
		work_on(0, 0, 1 + (uint32_t)(i & 1), 500 * i, 900, false, 0);
	assert_int_equal(finish(), 0);
	/* Nine of the ten kernels overlap their predecessor by 400 ns. */
	assert_string_equal(table("devices"), "rank 0 device 0 2 10 5400 100.00 5400 0 0 0 3600\n");
	assert_string_equal(finding(0), "no stream, device or rank makes others wait");
	assert_string_equal(evidence(), "1 device, busy for 100.0% to 100.0% of the window");
}

static void a_run_without_devices_has_no_verdict(void **state)
{
	(void)state;
	ranks(2);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("devices"), "");
	assert_string_equal(finding(0), "");
}

static void times_at_the_end_of_time_do_not_overflow(void **state)
{
	(void)state;
	ranks(2);
	for (uint32_t proc = 0; proc < 2; proc++)
		work_on(proc, 0, 1, 10 + 5 * proc, UINT64_MAX, true, 1);
	for (uint32_t proc = 0; proc < 2; proc++) {
		clock_error(proc, UINT64_MAX);
		work_on(proc, 0, 1, UINT64_MAX - 5 - proc, UINT64_MAX, true, 2);
	}
	assert_int_equal(finish(), 0);
	assert_int_equal(pasta_table_rows(table_of("ranks")), 2);
}

enum { PROCS = 5, COUNT = 60 };

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Counts lateness with loops over all rounds. */
static void count_late(uint64_t begin[COUNT][PROCS], uint64_t end[COUNT][PROCS],
		       uint64_t late[PROCS], uint64_t by[PROCS], uint64_t waited[PROCS])
{
	for (int i = 0; i < COUNT; i++) {
		uint64_t waits[PROCS], last = 0;

		for (int p = 0; p < PROCS; p++)
			last = begin[i][p] > last ? begin[i][p] : last;
		for (int p = 0; p < PROCS; p++)
			waits[p] = (last < end[i][p] ? last : end[i][p]) - begin[i][p];
		for (int p = 0; p < PROCS; p++)
			waited[p] += waits[p];
		qsort(waits, PROCS, sizeof(*waits), by_value);
		for (int p = 0; p < PROCS && waits[PROCS / 2]; p++) {
			late[p] += begin[i][p] == last;
			by[p] += begin[i][p] == last ? waits[PROCS / 2] : 0;
		}
		if (!waits[PROCS / 2])
			for (int p = 0; p < PROCS; p++)
				waited[p] -= (last < end[i][p] ? last : end[i][p]) - begin[i][p];
	}
}

static void random_rounds_match_a_brute_force_count(void **state)
{
	(void)state;
	for (int run = 0; run < 20; run++) {
		static uint64_t begin[COUNT][PROCS], end[COUNT][PROCS];
		uint64_t late[PROCS] = {0}, by[PROCS] = {0}, waited[PROCS] = {0};
		const struct pasta_table *t;

		start_over(NULL);
		ranks(PROCS);
		for (uint64_t i = 0; i < COUNT; i++)
			for (uint32_t p = 0; p < PROCS; p++) {
				uint64_t dur = 1 + random_below(30);

				begin[i][p] = 1000 * i + random_below(20);
				end[i][p] = begin[i][p] + dur;
				work_on(p, p, 1, begin[i][p], dur, true, i + 1);
			}
		assert_int_equal(finish(), 0);
		count_late(begin, end, late, by, waited);
		t = table_of("ranks");
		assert_int_equal(pasta_table_rows(t), PROCS);
		for (size_t p = 0; p < PROCS; p++) {
			assert_int_equal(pasta_table_cell(t, p, 2)->i, COUNT);
			assert_int_equal(pasta_table_cell(t, p, 4)->i, late[p]);
			assert_int_equal(pasta_table_cell(t, p, 6)->i, by[p]);
			assert_int_equal(pasta_table_cell(t, p, 9)->i, waited[p]);
		}
	}
}

/* Returns the state's report as text, which the caller frees. */
static char *reported(struct pasta_toolset *from)
{
	static const char *const names[] = {"ranks", "devices", "streams"};
	char *text = calloc(3, 1 << 18);

	assert_non_null(text);
	pasta_toolset_report(from);
	assert_int_equal(pasta_out_end(result.outs[0]), 0);
	for (int i = 0; i < 3; i++)
		strcat(text, table(names[i]) ? table(names[i]) : "none");
	return strcat(text, finding(0));
}

static void merged_states_report_like_a_single_one(void **state)
{
	struct pasta_toolset *parts[PROCS];
	struct pasta_result own = {0};
	char *want, *got;

	(void)state;
	ranks(PROCS);
	for (uint32_t i = 0; i < PROCS; i++)
		parts[i] = another_toolset(&own);
	for (uint64_t i = 0; i < 3000; i++) {
		uint32_t proc = (uint32_t)random_below(PROCS);
		struct pasta_event k =
			kernel_event(proc, 20 * i + random_below(20), i, "k", random_below(400));
		struct pasta_event ev = EVENT(collective, COLLECTIVE, proc, 1, k.time);
		struct pasta_event step = EVENT(iteration, ITERATION, proc, 1, k.time);

		ev.collective.corr = i;
		ev.collective.seq = i / 20;
		k.kernel.device = (uint32_t)random_below(2);
		step.iteration.index = i;
		for (int both = 0; both < 2; both++) {
			struct pasta_toolset *l = both ? toolset : parts[proc];

			if (i % 200 == proc)
				pasta_toolset_event(l, &step, NULL);
			if (i % 3)
				pasta_toolset_event(l, &ev, NULL);
			pasta_toolset_event(l, &k, NULL);
		}
	}
	for (uint32_t i = 1; i < PROCS; i++)
		pasta_toolset_merge(parts[0], parts[i]);
	want = reported(toolset);
	pasta_result_free(&result);
	result = own;
	got = reported(parts[0]);
	assert_string_equal(got, want);
	assert_non_null(strstr(want, "rank 4"));
	free(want);
	free(got);
	for (uint32_t i = 0; i < PROCS; i++)
		pasta_toolset_free(parts[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_straggler_is_the_verdict),
		TEST(a_straggler_that_computes_longer_is_explained),
		TEST(lateness_below_the_error_of_clocks_does_not_count),
		TEST(ranks_on_different_hosts_are_late_by_more_than_their_ends_differ),
		TEST(a_rank_does_not_wait_longer_than_its_kernel_runs),
		TEST(ranks_that_are_late_in_turn_are_no_stragglers),
		TEST(only_rounds_of_the_window_count),
		TEST(exposed_communication_is_the_verdict_if_no_rank_is_late),
		TEST(a_device_that_computes_longer_is_the_verdict),
		TEST(streams_that_never_overlap_are_found),
		TEST(a_run_without_devices_has_no_verdict),
		TEST(times_at_the_end_of_time_do_not_overflow),
		TEST(random_rounds_match_a_brute_force_count),
		TEST(merged_states_report_like_a_single_one),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
