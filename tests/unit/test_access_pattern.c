/* test_access_pattern.c - tests tool access_pattern with made-up events, and against a recount. */
/* labels: onethread */
#include "../../tools/access_pattern.c"

#include "unit/accesstest.h"

static void send_diverge(uint64_t corr, const char *name, uint64_t site, uint64_t active,
			 uint64_t loads, uint64_t stores, uint64_t threads)
{
	struct pasta_event ev =
		row_event(corr, name, PASTA_REDUCER_DIVERGE, site, loads, stores, 0, threads);

	ev.access_sum.key1 = active;
	deliver(&ev);
}

/* Emits a site with n requests whose threads load 4 bytes each; sectors is the total. */
static void send_loads(uint64_t corr, const char *name, uint64_t site, uint64_t n, uint64_t threads,
		       uint64_t sectors)
{
	send_row(corr, name, PASTA_REDUCER_SITE, site, n * threads, 0, 4 * n * threads, 0);
	send_row(corr, name, PASTA_REDUCER_COALESCE, site, n, 0, 4 * n * threads, sectors);
	send_diverge(corr, name, site, threads, n, 0, 32 * n);
}

static void a_line_adds_up_its_sites_and_has_its_class(void **state)
{
	(void)state;
	send_site(1, "a.cl", 10, PASTA_ACCESS_LOAD, PASTA_SPACE_GLOBAL, NULL);
	send_site(2, "a.cl", 10, PASTA_ACCESS_LOAD, PASTA_SPACE_GLOBAL, NULL);
	send_site(3, "a.cl", 11, PASTA_ACCESS_LOAD, PASTA_SPACE_CONSTANT, NULL);
	send_site(4, "a.cl", 12, PASTA_ACCESS_LOAD, PASTA_SPACE_GLOBAL, NULL);
	send_site(5, "a.cl", 13, PASTA_ACCESS_LOAD, PASTA_SPACE_LOCAL, NULL);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_loads(1, "k", 1, 100, 32, 400);  /* adjacent */
	send_loads(1, "k", 2, 100, 32, 500);  /* adjacent, not at the begin of a sector */
	send_loads(1, "k", 3, 50, 32, 50);    /* all the same address */
	send_loads(1, "k", 4, 10, 32, 320);   /* a sector each */
	send_loads(1, "k", 5, 5, 32, 5 * 16); /* two threads share a sector */
	assert_int_equal(finish(), 0);
	assert_string_equal(table("lines"),
			    "k a.cl 10 f global 6400 0 25600 4.50 coalesced 100.00 100.00\n"
			    "k a.cl 11 f constant 1600 0 6400 1.00 broadcast 100.00 100.00\n"
			    "k a.cl 12 f global 320 0 1280 32.00 scattered 100.00 100.00\n"
			    "k a.cl 13 f local 160 0 640 16.00 strided 100.00 100.00\n");
	assert_string_equal(finding(0),
			    "requests touch 8.0 times as many sectors as their bytes need");
	assert_string_equal(result.outs[0]->findings[0].where, "f (a.cl:12)");
	assert_string_equal(result.outs[0]->findings[0].evidence,
			    "8960 bytes were transferred but not requested, in k");
	assert_string_equal(finding(1), ""); /* sectors of local memory cost nothing */
}

static void sites_that_differ_are_mixed_and_their_spaces_listed(void **state)
{
	(void)state;
	send_site(1, "a.cl", 10, PASTA_ACCESS_LOAD, PASTA_SPACE_GLOBAL, NULL);
	send_site(2, "a.cl", 10, PASTA_ACCESS_LOAD, PASTA_SPACE_LOCAL, NULL);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_loads(1, "k", 1, 10, 32, 40);
	send_loads(1, "k", 2, 10, 32, 320);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("lines"),
			    "k a.cl 10 f global,local 640 0 2560 18.00 mixed 100.00 100.00\n");
	assert_string_equal(finding(0), ""); /* sectors of local memory cost nothing */
}

static void one_thread_alone_has_no_stride(void **state)
{
	(void)state;
	send_site(1, "a.cl", 10, PASTA_ACCESS_LOAD, PASTA_SPACE_GLOBAL, NULL);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_loads(1, "k", 1, 10, 1, 10);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("lines"), "k a.cl 10 f global 10 0 40 1.00 - 3.12 100.00\n");
	assert_non_null(find("only 3% of the threads in each warp are active"));
	assert_string_equal(find("only 3% of the threads")->where, "f (a.cl:10)");
	assert_null(find("requests touch")); /* a request has at least one sector */
}

static void lines_that_hardly_count_are_not_a_finding(void **state)
{
	(void)state;
	send_site(1, "a.cl", 10, PASTA_ACCESS_LOAD, PASTA_SPACE_GLOBAL, NULL);
	send_site(2, "a.cl", 11, PASTA_ACCESS_LOAD, PASTA_SPACE_GLOBAL, NULL);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_loads(1, "k", 1, 100000, 32, 400000);
	send_loads(1, "k", 2, 10, 8, 80);
	assert_int_equal(finish(), 0);
	assert_string_equal(finding(0), "");
}

static void an_atomic_is_one_request_with_its_bytes_once(void **state)
{
	(void)state;
	send_site(1, "a.cl", 10, PASTA_ACCESS_ATOMIC, PASTA_SPACE_GLOBAL, "atomic_add");
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_row(1, "k", PASTA_REDUCER_SITE, 1, 320, 320, 2560, 0);
	send_row(1, "k", PASTA_REDUCER_COALESCE, 1, 10, 10, 2560, 40);
	send_diverge(1, "k", 1, 32, 10, 10, 320);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("lines"),
			    "k a.cl 10 f global 320 320 2560 4.00 coalesced 100.00 100.00\n");
}

static void divergence_is_active_threads_by_those_of_their_warps(void **state)
{
	(void)state;
	send_site(1, "a.cl", 10, PASTA_ACCESS_STORE, PASTA_SPACE_GLOBAL, NULL);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_row(1, "k", PASTA_REDUCER_SITE, 1, 0, 3 * 32 + 8, 416, 0);
	send_row(1, "k", PASTA_REDUCER_COALESCE, 1, 0, 4, 416, 13);
	send_diverge(1, "k", 1, 32, 0, 3, 96);
	send_diverge(1, "k", 1, 8, 0, 1, 8); /* the group's last warp has only 8 threads */
	assert_int_equal(finish(), 0);
	assert_string_equal(table("lines"),
			    "k a.cl 10 f global 0 104 416 3.25 coalesced 100.00 100.00\n");
	assert_string_equal(finding(0), "");
}

static void kernels_are_apart_and_programs_that_are_built_again_are_not(void **state)
{
	(void)state;
	send_site(1, "a.cl", 10, PASTA_ACCESS_LOAD, PASTA_SPACE_GLOBAL, NULL);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 2, "j", 5, NULL);
	send_loads(1, "k", 1, 1, 32, 4);
	send_loads(2, "j", 1, 2, 32, 8);
	now_proc = 1;
	send_site(900, "a.cl", 10, PASTA_ACCESS_LOAD, PASTA_SPACE_GLOBAL, NULL);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_loads(1, "k", 900, 5, 32, 20);
	now_proc = 0;
	assert_int_equal(finish(), 0);
	assert_string_equal(table("lines"),
			    "k a.cl 10 f global 192 0 768 4.00 coalesced 100.00 100.00\n"
			    "j a.cl 10 f global 64 0 256 4.00 coalesced 100.00 100.00\n");
}

static void sites_that_are_not_counted_are_named_once(void **state)
{
	(void)state;
	send_site(1, "a.cl", 10, 0, PASTA_SPACE_GLOBAL, "read_imagef");
	send_site(2, "a.cl", 10, 0, PASTA_SPACE_GLOBAL, "read_imagef");
	send_site(3, "a.cl", 11, 0, PASTA_SPACE_GLOBAL, "write_imagef");
	assert_int_equal(finish(), 0);
	assert_string_equal(finding(0), "not counted: accesses by read_imagef");
	assert_string_equal(result.outs[0]->findings[0].where, "f (a.cl:10)");
	assert_string_equal(finding(1), "not counted: accesses by write_imagef");
	assert_string_equal(finding(2), "");
	assert_string_equal(table("lines"), "");
}

static void missing_sites_and_launches_are_unknown_and_not_an_error(void **state)
{
	(void)state;
	send_row(9, "k", PASTA_REDUCER_SITE, 77, 5, 0, 20, 0);
	send_row(9, "k", PASTA_REDUCER_SITE, PASTA_KEY_OTHER, 3, 0, 12, 0);
	send_row(9, "k", PASTA_REDUCER_COALESCE, PASTA_KEY_OTHER, 6, 1, 28, 0);
	send_diverge(9, NULL, PASTA_KEY_OTHER, UINT64_MAX, 6, 1, 0);
	send_row(9, "k", PASTA_REDUCER_SITE_OBJECT, 77, 5, 0, 20, 0);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("lines"), "k (unknown, site 77) -   5 0 20 - - - -\n"
					    "k (no room in tables) -   3 0 12 - - - -\n");
	assert_non_null(find("accesses that could not be grouped into warp requests: 7"));
	assert_non_null(find("unknown sites in kernels: 1"));
	assert_non_null(find("kernels with accesses of unknown launches: 1"));
}

static void sampled_counts_are_scaled_and_ratios_stay(void **state)
{
	(void)state;
	send_site(1, "a.cl", 10, PASTA_ACCESS_LOAD, PASTA_SPACE_GLOBAL, NULL);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	send_access_launch(PASTA_ACCESS_LAUNCH_SAMPLED, 2, "k", 5, NULL);
	send_access_launch(PASTA_ACCESS_LAUNCH_SAMPLED, 3, "k", 5, NULL);
	send_access_launch(PASTA_ACCESS_LAUNCH_SAMPLED, 4, "k", 5, NULL);
	send_loads(1, "k", 1, 10, 16, 20);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("lines"),
			    "k a.cl 10 f global 640 0 2560 2.00 coalesced 50.00 25.00\n");
	assert_non_null(find("counted 1 of 4 launches"));
}

static void sums_past_2_63_stay_there_and_are_reported(void **state)
{
	(void)state;
	send_site(1, "a.cl", 10, PASTA_ACCESS_LOAD, PASTA_SPACE_GLOBAL, NULL);
	send_site(2, "a.cl", 10, PASTA_ACCESS_LOAD, PASTA_SPACE_GLOBAL, NULL);
	send_access_launch(PASTA_ACCESS_LAUNCH_COUNTED, 1, "k", 5, NULL);
	for (uint64_t i = 1; i <= 2; i++) {
		send_row(1, "k", PASTA_REDUCER_SITE, i, UINT64_C(1) << 62, 0, UINT64_MAX, 0);
		send_row(1, "k", PASTA_REDUCER_COALESCE, i, UINT64_MAX, 0, UINT64_MAX, UINT64_MAX);
		send_diverge(1, "k", i, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX);
	}
	assert_int_equal(finish(), 0);
	assert_int_equal(pasta_table_cell(table_of("lines"), 0, 5)->i, INT64_MAX);
	assert_int_equal(pasta_table_cell(table_of("lines"), 0, 7)->i, INT64_MAX);
	assert_non_null(find("some sums exceed 2^63 - 1, and are shown as 2^63 - 1"));
}

/* -- Against a recount: requests made and counted one by one -- */

enum { SITES = 8, LINES = 4, REQUESTS = 30 };

struct r_site {
	uint64_t loads, bytes, requests, sectors, active, threads;
};

static struct r_site r_sites[R_PROCS][R_KERNELS][R_SHAPES][SITES];

/* Makes a request of n of 32 threads at random addresses. Counts its sectors one by one. */
static uint64_t sectors_of(uint64_t n)
{
	uint64_t seen[32], count = 0;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t sector = random_below(64), at = 0;

		while (at < count && seen[at] != sector)
			at++;
		if (at == count)
			seen[count++] = sector;
	}
	return count;
}

static void send_requests(struct r_site *sum, uint64_t corr, const char *name, uint64_t site)
{
	uint64_t by_active[33] = {0}, n = 1 + random_below(REQUESTS), loads = 0, sectors = 0;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t active = 1 + random_below(32);

		by_active[active]++;
		loads += active;
		sectors += sectors_of(active);
	}
	send_row(corr, name, PASTA_REDUCER_SITE, site, loads, 0, 4 * loads, 0);
	send_row(corr, name, PASTA_REDUCER_COALESCE, site, n, 0, 4 * loads, sectors);
	for (uint64_t a = 1; a <= 32; a++)
		if (by_active[a])
			send_diverge(corr, name, site, a, by_active[a], 0, 32 * by_active[a]);
	sum->loads += loads;
	sum->bytes += 4 * loads;
	sum->requests += n;
	sum->sectors += sectors;
	sum->active += loads;
	sum->threads += 32 * n;
}

/* Makes launches like the other tests, with rows by site instead of rows by object. */
static void make(void)
{
	memset(r_sites, 0, sizeof(r_sites));
	memset(r_procs, 0, sizeof(r_procs));
	r_count = 0;
	deliver = r_store;
	for (now_proc = 0; now_proc < R_PROCS; now_proc++) {
		for (uint64_t i = 0; i < SITES; i++)
			send_site(1 + i, "a.cl", 10 + (uint32_t)i % LINES, PASTA_ACCESS_LOAD,
				  PASTA_SPACE_GLOBAL, NULL);
		for (uint64_t corr = 1; corr <= 20; corr++) {
			uint64_t k = random_below(R_KERNELS), shape = random_below(R_SHAPES);
			struct r_shape *s = &r_procs[now_proc].shapes[k][shape];
			bool counted = !s->counted || !random_below(2);

			send_access_launch(counted ? PASTA_ACCESS_LAUNCH_COUNTED
						   : PASTA_ACCESS_LAUNCH_SAMPLED,
					   corr, r_names[k], shape, NULL);
			s->launches++;
			s->counted += counted;
			for (uint64_t i = 0; counted && i < SITES; i++)
				if (random_below(2))
					send_requests(&r_sites[now_proc][k][shape][i], corr,
						      r_names[k], 1 + i);
		}
	}
	now_proc = 0;
	deliver = send_event;
}

static struct r_site line_sum(int k, int line)
{
	struct r_site sum = {0};

	for (int p = 0; p < R_PROCS; p++)
		for (int shape = 0; shape < R_SHAPES; shape++)
			for (int i = line; i < SITES; i += LINES) {
				const struct r_shape *s = &r_procs[p].shapes[k][shape];
				const struct r_site *r = &r_sites[p][k][shape][i];

				sum.loads += r_scale(s, r->loads);
				sum.bytes += r_scale(s, r->bytes);
				sum.requests += r_scale(s, r->requests);
				sum.sectors += r_scale(s, r->sectors);
				sum.active += r_scale(s, r->active);
				sum.threads += r_scale(s, r->threads);
			}
	return sum;
}

/* Each row is a kernel and line of the recount, none is missing, and rows are sorted. */
static void check(void)
{
	const struct pasta_table *t = table_of("lines");
	int64_t last = INT64_MAX;
	size_t rows = 0;

	for (size_t row = 0; row < pasta_table_rows(t); row++) {
		const char *name = pasta_table_cell(t, row, 0)->s;
		int line = (int)pasta_table_cell(t, row, 2)->i - 10, k = 0;
		struct r_site sum;

		while (strcmp(r_names[k], name))
			k++;
		sum = line_sum(k, line);
		assert_true(pasta_table_cell(t, row, 5)->i <= last);
		last = pasta_table_cell(t, row, 5)->i;
		assert_int_equal(last, sum.loads);
		assert_int_equal(pasta_table_cell(t, row, 7)->i, sum.bytes);
		assert_true(pasta_table_cell(t, row, 8)->f ==
			    (double)sum.sectors / (double)sum.requests);
		assert_true(pasta_table_cell(t, row, 10)->f ==
			    100.0 * (double)sum.active / (double)sum.threads);
	}
	for (int k = 0; k < R_KERNELS; k++)
		for (int line = 0; line < LINES; line++)
			rows += line_sum(k, line).loads != 0;
	assert_int_equal(pasta_table_rows(t), rows);
}

static void random_runs_equal_a_plain_recount(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		make();
		r_send_all(send_event);
		assert_int_equal(finish(), 0);
		check();
		start_over(NULL);
	}
}

static void states_merged_in_any_order_equal_a_single_one(void **state)
{
	char *whole;

	(void)state;
	for (int i = 0; i < 10; i++) {
		make();
		r_send_all(send_event);
		assert_int_equal(finish(), 0);
		whole = strdup(table("lines"));
		start_over(NULL);
		merged(0, 1, 2);
		assert_string_equal(table("lines"), whole);
		start_over(NULL);
		merged(1, 2, 0);
		assert_string_equal(table("lines"), whole);
		start_over(NULL);
		free(whole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_line_adds_up_its_sites_and_has_its_class),
		TEST(sites_that_differ_are_mixed_and_their_spaces_listed),
		TEST(one_thread_alone_has_no_stride),
		TEST(lines_that_hardly_count_are_not_a_finding),
		TEST(an_atomic_is_one_request_with_its_bytes_once),
		TEST(divergence_is_active_threads_by_those_of_their_warps),
		TEST(kernels_are_apart_and_programs_that_are_built_again_are_not),
		TEST(sites_that_are_not_counted_are_named_once),
		TEST(missing_sites_and_launches_are_unknown_and_not_an_error),
		TEST(sampled_counts_are_scaled_and_ratios_stay),
		TEST(sums_past_2_63_stay_there_and_are_reported),
		TEST(random_runs_equal_a_plain_recount),
		TEST(states_merged_in_any_order_equal_a_single_one),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
