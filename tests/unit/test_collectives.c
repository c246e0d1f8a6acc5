/* test_collectives.c - tests tool collectives with made-up events. */
/* labels: onethread */
#include "../../tools/collectives.c"

#include "unit/tooltest.h"

static uint64_t next_corr;

static int setup_anew(void **state)
{
	next_corr = 0;
	return setup(state);
}

#define FRESH(name) cmocka_unit_test_setup_teardown(name, setup_anew, teardown)

static void process(uint32_t proc, uint32_t rank, const char *host, uint32_t pid)
{
	struct pasta_event ev = EVENT(process, PROCESS, proc, 0, 1);

	ev.process.rank = rank;
	ev.process.host = id(host);
	ev.process.pid = pid;
	send_event(&ev);
}

/* Ranks 0 to count - 1, on one host. */
static void ranks(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		process(i, i + 1, "here", 100 + i);
}

struct record {
	const char *name;
	uint64_t bytes, comm, seq;
	uint32_t ranks, device;
};

static struct pasta_event collective_event(uint32_t proc, uint64_t time, uint64_t corr,
					   const struct record *record)
{
	struct pasta_event ev = EVENT(collective, COLLECTIVE, proc, 1, time);

	ev.collective.corr = corr;
	ev.collective.name = id(record->name);
	ev.collective.dtype = id("f32");
	ev.collective.bytes_in = record->bytes;
	ev.collective.comm = record->comm;
	ev.collective.seq = record->seq;
	ev.collective.ranks = record->ranks;
	return ev;
}

static void kernel_on(uint32_t proc, uint32_t device, uint64_t time, uint64_t dur, uint64_t corr)
{
	struct pasta_event ev = kernel_event(proc, time, corr, "k", dur);

	ev.kernel.device = device;
	send_event(&ev);
}

/* Emits a collective right before its kernel, like an imported trace. */
static void emit_collective(uint32_t proc, uint64_t time, uint64_t dur, const struct record *record)
{
	struct pasta_event ev = collective_event(proc, time, ++next_corr, record);

	send_event(&ev);
	kernel_on(proc, record->device, time, dur, next_corr);
}

#define COLLECTIVE(proc, time, dur, ...)                                                           \
	emit_collective(proc, time, dur, &(struct record){__VA_ARGS__})

static void kernel(uint32_t proc, uint64_t time, uint64_t dur)
{
	kernel_on(proc, 0, time, dur, ++next_corr);
}

/* -- Table collectives --------------------------------------------------------------------------
 */

static void rows_are_by_rank_kind_type_bytes_and_group(void **state)
{
	(void)state;
	ranks(2);
	COLLECTIVE(0, 1000, 100, .name = "all_reduce", .bytes = 4000, .ranks = 2);
	COLLECTIVE(1, 1000, 50, .name = "all_reduce", .bytes = 4000, .ranks = 2);
	COLLECTIVE(0, 2000, 300, .name = "all_reduce", .bytes = 4000, .ranks = 2);
	COLLECTIVE(0, 3000, 40, .name = "all_reduce", .bytes = 4000, .ranks = 4);
	COLLECTIVE(0, 4000, 30, .name = "all_reduce", .bytes = 8000, .ranks = 2);
	COLLECTIVE(0, 5000, 20, .name = "all_gather", .bytes = 4000, .ranks = 2);
	kernel(0, 6000, 5000);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("collectives"),
			    "rank 0 all_reduce f32 4000 2 2 400 200 100 300 20000000000.00 81.63\n"
			    "rank 1 all_reduce f32 4000 2 1 50 50 50 50 80000000000.00 100.00\n"
			    "rank 0 all_reduce f32 4000 4 1 40 40 40 40 100000000000.00 8.16\n"
			    "rank 0 all_reduce f32 8000 2 1 30 30 30 30 266666666666.67 6.12\n"
			    "rank 0 all_gather f32 4000 2 1 20 20 20 20 200000000000.00 4.08\n");
}

static void without_bytes_or_time_there_is_no_bandwidth(void **state)
{
	struct pasta_event ev = collective_event(0, 10, 900, &(struct record){.name = "broadcast"});

	(void)state;
	ranks(1);
	ev.collective.bytes_out = 700; /* and no input */
	ev.collective.dtype = 0;
	send_event(&ev);
	kernel_on(0, 0, 10, 7, 900);
	COLLECTIVE(0, 100, 5, .name = NULL);
	COLLECTIVE(0, 200, 0, .name = "all_reduce", .bytes = 4);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("collectives"),
			    "rank 0 broadcast (unknown) 700 0 1 7 7 7 7 100000000000.00 58.33\n"
			    "rank 0 (unnamed) f32 0 0 1 5 5 5 5 - 41.67\n"
			    "rank 0 all_reduce f32 4 0 1 0 0 0 0 - 0.00\n");
}

static void a_process_without_a_rank_is_shown_by_host_and_number_and_comes_last(void **state)
{
	(void)state;
	process(1, 0, "there", 42);
	process(2, 11, "there", 43);
	process(3, 3, "there", 44);
	COLLECTIVE(0, 10, 5, .name = "a");
	COLLECTIVE(1, 10, 5, .name = "a");
	COLLECTIVE(2, 10, 5, .name = "a");
	COLLECTIVE(3, 10, 5, .name = "a");
	assert_int_equal(finish(), 0);
	assert_string_equal(table("exposed"), "there-44 0 1 5 5 100.00 5 100.00\n"
					      "there-43 0 1 5 5 100.00 5 100.00\n"
					      "#0 0 1 5 5 100.00 5 100.00\n"
					      "there-42 0 1 5 5 100.00 5 100.00\n");
}

static void only_kernels_with_a_collective_event_are_collectives(void **state)
{
	struct pasta_event ev;

	(void)state;
	ranks(2);
	ev = collective_event(0, 10, 1,
			      &(struct record){.name = "all_reduce"}); /* long before its kernel */
	send_event(&ev);
	kernel_on(1, 0, 20, 100, 1); /* in another process */
	kernel_on(0, 0, 500, 7, 1);
	kernel_on(0, 0, 600, 100, 1); /* the same id again, as with kernels of a graph */
	ev = collective_event(0, 700, 1, &(struct record){.name = "all_reduce"});
	send_event(&ev);
	kernel_on(0, 0, 700, 9, 1);
	ev = collective_event(0, 800, 2, &(struct record){.name = "all_reduce"});
	send_event(&ev); /* its kernel never arrives */
	ev = collective_event(0, 900, 0, &(struct record){.name = "all_reduce"});
	send_event(&ev); /* without an id, and nothing at that time */
	kernel_on(0, 0, 901, 50, 0);
	ev = collective_event(0, 1000, 0, &(struct record){.name = "all_reduce"});
	send_event(&ev);
	kernel_on(0, 0, 1000, 3, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("collectives"),
			    "rank 0 all_reduce f32 0 0 3 19 6 3 9 - 100.00\n");
	assert_string_equal(finding(0), "collectives without a kernel: 2");
	assert_string_equal(finding(1), "");
}

static void a_run_without_collectives_has_empty_tables(void **state)
{
	(void)state;
	ranks(2);
	kernel(0, 10, 10);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("collectives"), "");
	assert_string_equal(table("exposed"), "");
	assert_null(table("last"));
	assert_string_equal(finding(0), "");
}

/* -- Table exposed ------------------------------------------------------------------------------
 */

struct interval {
	bool communication;
	uint64_t begin, dur;
};

static void expect_exposed(const char *want, const struct interval *intervals, size_t count)
{
	start_over(NULL);
	ranks(1);
	for (size_t i = 0; i < count; i++)
		if (intervals[i].communication)
			COLLECTIVE(0, intervals[i].begin, intervals[i].dur, .name = "all_reduce");
		else
			kernel(0, intervals[i].begin, intervals[i].dur);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("exposed"), want);
}

#define EXPECT(want, ...)                                                                          \
	expect_exposed(want, (struct interval[]){__VA_ARGS__},                                     \
		       sizeof((struct interval[]){__VA_ARGS__}) / sizeof(struct interval))

/* rank, device, calls, communication, exposed, exposed_share, span, span_share */
static void exposed_is_what_no_other_kernel_covers(void **state)
{
	(void)state;
	EXPECT("rank 0 0 1 20 20 100.00 60 33.33\n", {false, 100, 10}, {true, 140, 20}); /* apart */
	EXPECT("rank 0 0 1 20 20 100.00 30 66.67\n", {false, 100, 10},
	       {true, 110, 20});						     /* adjacent */
	EXPECT("rank 0 0 1 20 0 0.00 20 0.00\n", {false, 100, 20}, {true, 100, 20}); /* the same */
	EXPECT("rank 0 0 1 20 0 0.00 50 0.00\n", {false, 100, 50}, {true, 110, 20}); /* inside */
	EXPECT("rank 0 0 1 50 30 60.00 50 60.00\n", {true, 100, 50}, {false, 110, 20}); /* around */
	EXPECT("rank 0 0 1 20 15 75.00 35 42.86\n", {false, 100, 20},
	       {true, 115, 20}); /* its begin */
	EXPECT("rank 0 0 1 20 15 75.00 35 42.86\n", {true, 100, 20},
	       {false, 115, 20}); /* its end */
	EXPECT("rank 0 0 1 30 20 66.67 40 50.00\n", {false, 100, 10}, {true, 105, 30},
	       {false, 130, 10}); /* both sides */
}

static void overlapping_kernels_count_once_on_any_stream(void **state)
{
	(void)state;
	EXPECT("rank 0 0 3 40 40 100.00 40 100.00\n", {true, 100, 20}, {true, 110, 20},
	       {true, 120, 20});
	EXPECT("rank 0 0 2 40 10 25.00 60 16.67\n", {false, 100, 30}, {false, 105, 10},
	       {true, 110, 40}, {true, 115, 5}, {false, 140, 20});
	EXPECT("rank 0 0 2 20 20 100.00 120 16.67\n", {true, 100, 10}, {true, 210, 10});
}

static void a_kernel_without_duration_covers_no_time(void **state)
{
	(void)state;
	EXPECT("rank 0 0 1 0 0 0.00 0 0.00\n", {true, 100, 0});
	EXPECT("rank 0 0 1 0 0 0.00 50 0.00\n", {false, 100, 50}, {true, 120, 0});
	EXPECT("rank 0 0 1 50 50 100.00 50 100.00\n", {true, 100, 50}, {false, 120, 0});
}

static void each_process_has_its_own_devices(void **state)
{
	(void)state;
	ranks(2);
	COLLECTIVE(0, 100, 10, .name = "all_reduce", .device = 1);
	COLLECTIVE(1, 100, 30, .name = "all_reduce", .device = 1);
	COLLECTIVE(0, 100, 10, .name = "all_reduce", .device = 0);
	kernel_on(0, 0, 100, 40, 5000);
	kernel_on(1, 1, 120, 20, 5000);
	kernel_on(1, 2, 100, 20, 5001); /* no collective: no row */
	assert_int_equal(finish(), 0);
	assert_string_equal(table("exposed"), "rank 0 0 1 10 0 0.00 40 0.00\n"
					      "rank 0 1 1 10 10 100.00 10 100.00\n"
					      "rank 1 1 1 30 20 66.67 40 50.00\n");
}

static void exposed_communication_is_found_where_it_is_worst(void **state)
{
	const struct pasta_finding *f;

	(void)state;
	ranks(3);
	for (uint32_t i = 0; i < 3; i++) {
		COLLECTIVE(i, 1000, 50 + 60 * i, .name = "all_reduce"); /* 5, 11 and 17 % */
		kernel(i, 1050 + 60 * i, 950 - 60 * i);
	}
	assert_int_equal(finish(), 0);
	f = &result.outs[0]->findings[0];
	assert_string_equal(f->what, "computation waits for communication");
	assert_int_equal(f->severity, PASTA_SEVERITY_WARNING);
	assert_string_equal(f->where, "rank 2, device 0");
	assert_string_equal(
		f->evidence,
		"for 17.0% of the time, only collectives run; this share exceeds 10% on 2 devices");
	assert_string_equal(finding(1), "");
}

static void little_exposed_communication_is_not_a_finding(void **state)
{
	(void)state;
	ranks(1);
	COLLECTIVE(0, 1000, 100, .name = "all_reduce");
	kernel(0, 1100, 900);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("exposed"), "rank 0 0 1 100 100 100.00 1000 10.00\n");
	assert_string_equal(finding(0), "");
}

/* -- Table last ---------------------------------------------------------------------------------
 */

/* No device waits. */
static void cover_all(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		kernel(i, 0, 1000000000);
}

static void the_rank_that_begins_last_is_last_and_the_first_waits_for_it(void **state)
{
	(void)state;
	ranks(3);
	cover_all(3);
	for (uint32_t round = 0; round < 4; round++)
		for (uint32_t i = 0; i < 3;
		     i++) /* rank 2 is late by 20; in the last round, rank 1 */
			COLLECTIVE(i,
				   1000 * (round + 1) + (round < 3 ? 10 * i
							 : i == 1  ? 30
								   : 7),
				   100, .name = "all_reduce", .comm = 5, .ranks = 8);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("last"), "all_reduce rank 2 4 3 75.00 20 20\n"
					   "all_reduce rank 1 4 1 25.00 23 23\n"
					   "all_reduce rank 0 4 0 0.00 0 0\n");
	assert_string_equal(finding(0), "");
}

static void ranks_that_are_last_together_are_all_last_unless_that_is_every_rank(void **state)
{
	(void)state;
	ranks(3);
	cover_all(3);
	for (uint32_t i = 0; i < 3; i++)
		COLLECTIVE(i, 1000 + (i ? 5 : 0), 100, .name = "all_reduce", .ranks = 3);
	for (uint32_t i = 0; i < 3; i++)
		COLLECTIVE(i, 2000, 100, .name = "all_reduce", .ranks = 3);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("last"), "all_reduce rank 1 2 1 50.00 5 5\n"
					   "all_reduce rank 2 2 1 50.00 5 5\n"
					   "all_reduce rank 0 2 0 0.00 0 0\n");
}

static void equal_sequence_numbers_mean_the_same_collective(void **state)
{
	(void)state;
	ranks(2);
	cover_all(2);
	/* Rank 0 recorded one that rank 1 did not; sequence number 8 occurs twice, as with
	 * coalesced calls. */
	COLLECTIVE(0, 1000, 10, .name = "all_gather", .seq = 6);
	COLLECTIVE(0, 2000, 10, .name = "all_gather", .seq = 7);
	COLLECTIVE(1, 2040, 10, .name = "all_gather", .seq = 7);
	COLLECTIVE(0, 3000, 10, .name = "all_gather", .seq = 8);
	COLLECTIVE(1, 3001, 10, .name = "all_gather", .seq = 8);
	COLLECTIVE(0, 3002, 10, .name = "all_gather", .seq = 8);
	COLLECTIVE(1, 3004, 10, .name = "all_gather", .seq = 8);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("last"), "all_gather rank 1 3 3 100.00 14 40\n"
					   "all_gather rank 0 3 0 0.00 0 0\n");
	assert_string_equal(finding(0),
			    "collectives that only some ranks of their group recorded: 1");
	assert_string_equal(finding(1), "");
}

static void groups_names_and_sizes_are_counted_apart(void **state)
{
	(void)state;
	ranks(4);
	cover_all(4);
	/* Groups {0, 1} and {2, 3}; the names interleave differently on each rank. */
	COLLECTIVE(0, 1000, 100, .name = "a", .comm = 1, .ranks = 2);
	COLLECTIVE(1, 1001, 100, .name = "a", .comm = 1, .ranks = 2);
	COLLECTIVE(3, 1002, 100, .name = "a", .comm = 2, .ranks = 2);
	COLLECTIVE(2, 1005, 100, .name = "a", .comm = 2, .ranks = 2);
	COLLECTIVE(0, 2000, 100, .name = "b", .comm = 1, .ranks = 2);
	COLLECTIVE(1, 2002, 100, .name = "c", .comm = 1, .ranks = 2);
	COLLECTIVE(1, 2010, 100, .name = "b", .comm = 1, .ranks = 2);
	COLLECTIVE(0, 2030, 100, .name = "c", .comm = 1, .ranks = 2);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("last"), "a rank 1 1 1 100.00 1 1\n"
					   "a rank 2 1 1 100.00 3 3\n"
					   "a rank 0 1 0 0.00 0 0\n"
					   "a rank 3 1 0 0.00 0 0\n"
					   "b rank 1 1 1 100.00 10 10\n"
					   "b rank 0 1 0 0.00 0 0\n"
					   "c rank 0 1 1 100.00 28 28\n"
					   "c rank 1 1 0 0.00 0 0\n");
}

static void calls_that_do_not_overlap_are_not_the_same_collective(void **state)
{
	(void)state;
	ranks(2);
	cover_all(2);
	COLLECTIVE(0, 1000, 10, .name = "send_recv");
	COLLECTIVE(1, 1011, 10, .name = "send_recv"); /* too late by one */
	COLLECTIVE(0, 2000, 10, .name = "send_recv");
	COLLECTIVE(1, 2010, 10, .name = "send_recv");
	COLLECTIVE(0, 3000, UINT64_C(6000000000),
		   .name = "send_recv"); /* longer than an arrival can store */
	COLLECTIVE(1, UINT64_C(5000000000), 10, .name = "send_recv");
	assert_int_equal(finish(), 0);
	assert_string_equal(table("last"), "send_recv rank 1 2 2 100.00 2499998505 4999997000\n"
					   "send_recv rank 0 2 0 0.00 0 0\n");
	assert_string_equal(finding(1),
			    "collectives that match by order, but don't overlap in time: 2");
}

static void groups_of_too_many_ranks_are_not_matched(void **state)
{
	(void)state;
	ranks(3);
	cover_all(3);
	for (uint32_t i = 0; i < 3; i++)
		COLLECTIVE(i, 1000 + i, 100, .name = "all_reduce", .ranks = 2);
	assert_int_equal(finish(), 0);
	assert_null(table("last"));
	assert_string_equal(finding(0), "collectives of groups that cannot be distinguished: 3");
}

static void one_rank_is_not_compared(void **state)
{
	(void)state;
	ranks(1);
	cover_all(1);
	COLLECTIVE(0, 1000, 10, .name = "all_reduce", .ranks = 2);
	COLLECTIVE(0, 2000, 10, .name = "all_reduce", .ranks = 2);
	assert_int_equal(finish(), 0);
	assert_null(table("last"));
	assert_string_equal(finding(0), "");
}

static void send_rounds(int count, int late_rounds, uint64_t late)
{
	cover_all(4);
	for (int round = 0; round < count; round++)
		for (uint32_t i = 0; i < 4; i++)
			COLLECTIVE(i,
				   UINT64_C(1000000) * (uint64_t)(round + 1) +
					   ((i == 2) == (round < late_rounds) ? late : 0),
				   late + 100, .name = "all_reduce", .seq = (uint64_t)round + 1,
				   .ranks = 4);
}

static void a_rank_that_is_last_most_of_the_time_is_found(void **state)
{
	(void)state;
	ranks(4);
	send_rounds(ROUNDS, ROUNDS * 3 / 4, 900000);
	assert_int_equal(finish(), 0);
	assert_string_equal(finding(0), "one rank is last in most collectives");
	assert_string_equal(result.outs[0]->findings[0].where, "rank 2");
	assert_string_equal(
		result.outs[0]->findings[0].evidence,
		"the rank starts last in 75.0% of 20 rounds; the ranks that started first waited "
		"13.500 ms in total");
	assert_string_equal(finding(1), "");
}

static void a_rank_that_is_last_less_often_or_by_little_is_not(void **state)
{
	(void)state;
	ranks(4);
	send_rounds(ROUNDS, ROUNDS * 3 / 4 - 1, 900000);
	assert_int_equal(finish(), 0);
	assert_string_equal(finding(0), "");
	start_over(NULL);
	ranks(4);
	send_rounds(ROUNDS - 1, ROUNDS - 1, 900000);
	assert_int_equal(finish(), 0);
	assert_string_equal(finding(0), "");
	start_over(NULL);
	ranks(4);
	send_rounds(ROUNDS, ROUNDS, 400000); /* 8 ms of 1 s */
	assert_int_equal(finish(), 0);
	assert_string_equal(finding(0), "");
}

static void ranks_on_different_hosts_or_on_unknown_ones_have_different_clocks(void **state)
{
	static const char *const hosts[][2] = {{"a", "b"}, {"a", NULL}, {NULL, NULL}};

	(void)state;
	for (int i = 0; i < 3; i++) {
		start_over(NULL);
		for (uint32_t k = 0; k < 2; k++)
			process(k, k + 1, hosts[i][k], 7);
		cover_all(2);
		COLLECTIVE(0, 1000, 10, .name = "all_reduce");
		COLLECTIVE(1, 1001, 10, .name = "all_reduce");
		assert_int_equal(finish(), 0);
		assert_string_equal(
			finding(0),
			"the accuracy of table 'last' depends on the clocks of the hosts");
		assert_string_equal(finding(1), "");
	}
}

static void past_a_limit_arrivals_are_counted_and_not_stored(void **state)
{
	char want[200];

	(void)state;
	ranks(2);
	cover_all(2);
	for (uint64_t i = 0; i < PASTA_ARRIVALS + 5; i++)
		for (uint32_t proc = 0; proc < 2; proc++)
			if (!proc || i <= PASTA_ARRIVALS)
				COLLECTIVE(proc, 10 * i, 1, .name = "all_reduce");
	assert_int_equal(finish(), 0);
	snprintf(want, sizeof(want),
		 "all_reduce rank 0 %d 0 0.00 0 0\nall_reduce rank 1 %d 0 0.00 0 0\n",
		 PASTA_ARRIVALS, PASTA_ARRIVALS);
	assert_string_equal(table("last"), want);
	assert_string_equal(finding(0), "collectives beyond the limit of 262144 per process: 6");
	assert_string_equal(finding(1), "");
	assert_int_equal(pasta_table_cell(table_of("collectives"), 0, 5)->i, PASTA_ARRIVALS + 5);
	assert_int_equal(pasta_table_cell(table_of("collectives"), 1, 5)->i, PASTA_ARRIVALS + 1);
}

/* Returns the state's report as text, which the caller frees. */
static char *reported(struct pasta_toolset *from)
{
	static const char *const names[] = {"collectives", "exposed", "last"};
	char *text = calloc(1, 1 << 20);

	assert_non_null(text);
	pasta_toolset_report(from);
	assert_int_equal(pasta_out_end(result.outs[0]), 0);
	for (int i = 0; i < 3; i++)
		strcat(text, table(names[i]) ? table(names[i]) : "none");
	for (size_t i = 0; *finding(i); i++)
		strcat(strcat(text, finding(i)), "\n");
	return text;
}

static void send_random(struct pasta_toolset **parts, struct pasta_toolset *whole, uint32_t procs)
{
	for (uint64_t i = 0; i < 3000; i++) {
		uint32_t proc = (uint32_t)random_below(procs);
		struct record record = {.name = "a",
					.bytes = random_below(3),
					.comm = random_below(3),
					.seq = random_below(2) * random_below(9),
					.ranks = 50};
		struct pasta_event k =
			kernel_event(proc, 20 * i + random_below(20), i, "k", random_below(400));
		struct pasta_event ev = collective_event(proc, k.time, i, &record);

		k.kernel.device = (uint32_t)random_below(2);
		for (int both = 0; both < 2; both++) {
			struct pasta_toolset *l = both ? whole : parts[proc];

			if (i % 3)
				pasta_toolset_event(l, &ev, NULL);
			pasta_toolset_event(l, &k, NULL);
		}
	}
}

static void merged_states_report_like_a_single_one(void **state)
{
	enum { PROCS = 5 };

	(void)state;
	for (int run = 0; run < 20; run++) {
		struct pasta_toolset *parts[PROCS];
		struct pasta_result own = {0};
		char *want, *got;

		start_over(NULL);
		for (uint32_t i = 0; i < PROCS; i++) {
			parts[i] = another_toolset(&own);
			process(i, i % 2 ? 10 - i : 0, NULL, 0);
		}
		send_random(parts, toolset, PROCS);
		pasta_toolset_merge(parts[3], parts[4]); /* and into a state that is not empty */
		for (uint32_t i = 1; i < 4; i++)
			pasta_toolset_merge(parts[0], parts[i]);
		want = reported(toolset);
		pasta_result_free(&result);
		result = own;
		got = reported(parts[0]);
		assert_string_equal(got, want);
		assert_non_null(strstr(want, "a #0 "));
		free(want);
		free(got);
		for (uint32_t i = 0; i < PROCS; i++)
			pasta_toolset_free(parts[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FRESH(rows_are_by_rank_kind_type_bytes_and_group),
		FRESH(without_bytes_or_time_there_is_no_bandwidth),
		FRESH(a_process_without_a_rank_is_shown_by_host_and_number_and_comes_last),
		FRESH(only_kernels_with_a_collective_event_are_collectives),
		FRESH(a_run_without_collectives_has_empty_tables),
		FRESH(exposed_is_what_no_other_kernel_covers),
		FRESH(overlapping_kernels_count_once_on_any_stream),
		FRESH(a_kernel_without_duration_covers_no_time),
		FRESH(each_process_has_its_own_devices),
		FRESH(exposed_communication_is_found_where_it_is_worst),
		FRESH(little_exposed_communication_is_not_a_finding),
		FRESH(the_rank_that_begins_last_is_last_and_the_first_waits_for_it),
		FRESH(ranks_that_are_last_together_are_all_last_unless_that_is_every_rank),
		FRESH(equal_sequence_numbers_mean_the_same_collective),
		FRESH(groups_names_and_sizes_are_counted_apart),
		FRESH(calls_that_do_not_overlap_are_not_the_same_collective),
		FRESH(groups_of_too_many_ranks_are_not_matched),
		FRESH(one_rank_is_not_compared),
		FRESH(a_rank_that_is_last_most_of_the_time_is_found),
		FRESH(a_rank_that_is_last_less_often_or_by_little_is_not),
		FRESH(ranks_on_different_hosts_or_on_unknown_ones_have_different_clocks),
		FRESH(past_a_limit_arrivals_are_counted_and_not_stored),
		FRESH(merged_states_report_like_a_single_one),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
