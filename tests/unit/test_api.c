/* test_api.c - tests tool api with made-up events. */
/* labels: onethread */
#include "../../tools/api.c"

#include "unit/tooltest.h"

#include "core/pathnode.h"

struct made_call {
	uint32_t proc, tid;
	const char *name;
	uint64_t begin, dur, corr;
	uint32_t status;
};

static struct pasta_event call_event(const struct made_call *c)
{
	struct pasta_event ev = EVENT(api, API, c->proc, c->tid, c->begin);

	ev.sub = PASTA_API_RUNTIME;
	ev.api.dur = c->dur;
	ev.api.corr = c->corr;
	ev.api.name = id(c->name);
	ev.api.status = c->status;
	return ev;
}

static void send_call(const struct made_call *c)
{
	struct pasta_event ev = call_event(c);

	send_event(&ev);
}

#define CALL(...) send_call(&(struct made_call){__VA_ARGS__})

static void sync_of(unsigned int sub, uint32_t tid, uint64_t begin, uint64_t dur, uint64_t corr)
{
	struct pasta_event ev = EVENT(sync, SYNC, 0, tid, begin);

	ev.sub = (uint8_t)sub;
	ev.sync.dur = dur;
	ev.sync.corr = corr;
	send_event(&ev);
}

/* Returns the call path of one Python function. */
static uint32_t python_path(const char *function, uint32_t line)
{
	struct pasta_pathnode node = {
		.function = id(function), .file = id("/p/t.py"), .line = line};
	uint8_t bytes[PASTA_PATHNODE_SIZE];

	pasta_pathnode_encode(&node, bytes);
	return pasta_strings_add(bytes, sizeof(bytes));
}

static void begin_op(uint32_t tid, uint64_t time, uint64_t number, const char *name, uint32_t line)
{
	struct pasta_event ev = EVENT(op_begin, OP_BEGIN, 0, tid, time);

	ev.op_begin.id = number;
	ev.op_begin.name = id(name);
	ev.op_begin.stack = line ? python_path("f", line) : 0;
	send_event(&ev);
}

static void end_op(uint32_t tid, uint64_t time, uint64_t number)
{
	struct pasta_event ev = EVENT(op_end, OP_END, 0, tid, time);

	ev.op_end.id = number;
	send_event(&ev);
}

/* function, calls, total, mean, p50, p95, max, share */
static void functions_have_counts_times_and_shares(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 20; i++)
		CALL(0, 1, "launch", 100 * i, i + 1);
	CALL(0, 1, "wait", 2000, 1000);
	CALL(0, 2, "wait", 2500, 500);
	assert_int_equal(finish(), 0);
	/* Thread 1 has 3000 ns, and thread 2 has 500 ns. */
	assert_string_equal(table("api"), "wait 2 1500 750 500 1000 1000 42.86\n"
					  "launch 20 210 10 10 19 20 7.00\n");
	assert_string_equal(table("threads"), "thread 1 21 1210 3000 40.33 0 0 0.00\n"
					      "thread 2 1 500 500 100.00 0 0 0.00\n");
	assert_string_equal(finding(0), "");
	assert_null(table("waits"));
	assert_null(table("builds"));
}

static void calls_inside_calls_count_once_for_the_thread(void **state)
{
	(void)state;
	CALL(0, 1, "runtime", 0, 100);
	CALL(0, 1, "driver", 10, 30);
	CALL(0, 1, "inner", 15, 5);
	CALL(0, 1, "driver", 60, 40);
	CALL(0, 2, "runtime", 60, 40); /* another thread */
	CALL(0, 1, "runtime", 100, 10);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("api"), "runtime 3 150 50 40 100 100 70 100.00\n"
					  "driver 2 70 35 30 40 40 5 63.64\n"
					  "inner 1 5 5 5 5 5 0 4.55\n");
	assert_string_equal(table("threads"), "thread 1 5 110 110 100.00 0 0 0.00\n"
					      "thread 2 1 40 40 100.00 0 0 0.00\n");
}

static void lines_are_those_of_operators(void **state)
{
	(void)state;
	begin_op(1, 100, 1, "aten::mm", 7);
	CALL(0, 1, "launch", 110, 5, .corr = 1);
	end_op(1, 120, 1);
	begin_op(1, 130, 2, "aten::mm", 8);
	CALL(0, 1, "launch", 140, 7, .corr = 2);
	CALL(0, 1, "launch", 150, 9, .corr = 3);
	end_op(1, 170, 2);
	CALL(0, 1, "sync", 200, 50, .corr = 4);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("api_lines"), "(unknown)  sync 1 50 50 50 50 70.42\n"
						"f (t.py:8) aten::mm launch 2 16 8 9 9 22.54\n"
						"f (t.py:7) aten::mm launch 1 5 5 5 5 7.04\n");
}

static void a_launch_gives_its_line_to_the_calls_that_make_it(void **state)
{
	struct pasta_event launch = EVENT(launch, LAUNCH, 0, 1, 120);

	(void)state;
	launch.launch.corr = 1;
	launch.launch.stack = python_path("g", 3);
	CALL(0, 1, "before", 50, 10, .corr = 9);
	CALL(0, 1, "runtime", 100, 50, .corr = 1);
	CALL(0, 1, "driver", 110, 30, .corr = 1);
	send_event(&launch);
	CALL(0, 1, "after", 160, 5, .corr = 2);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("api_lines"), "g (t.py:3) runtime 1 50 50 50 50 52.63\n"
						"g (t.py:3) driver 1 30 30 30 30 31.58\n"
						"(unknown) before 1 10 10 10 10 10.53\n"
						"(unknown) after 1 5 5 5 5 5.26\n");
}

static void a_launch_right_before_its_call_gives_its_line_too(void **state)
{
	struct pasta_event launch = EVENT(launch, LAUNCH, 0, 1, 100);

	(void)state;
	launch.launch.corr = 1;
	launch.launch.stack = python_path("g", 3);
	send_event(&launch);
	CALL(0, 1, "clEnqueueNDRangeKernel", 100, 10);
	CALL(0, 1, "clFinish", 110, 10);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("api_lines"), "(unknown) clFinish 1 10 10 10 10 50.00\n"
						"g (t.py:3) clEnqueueNDRangeKernel 1 10 10 10 10 "
						"50.00\n");
}

static void waits_are_by_kind_and_by_the_line_of_their_call(void **state)
{
	(void)state;
	begin_op(5, 100, 1, "aten::item", 7);
	CALL(0, 5, "cudaStreamSynchronize", 110, 100, .corr = 1);
	sync_of(PASTA_SYNC_STREAM, 99, 115, 90, 1); /* recorded on a thread of the vendor */
	end_op(5, 220, 1);
	CALL(0, 5, "cudaEventSynchronize", 300, 50, .corr = 2);
	sync_of(PASTA_SYNC_EVENT, 99, 310, 30, 2);
	CALL(0, 5, "cudaStreamWaitEvent", 400, 10, .corr = 3);
	sync_of(PASTA_SYNC_STREAM_WAIT, 99, 401, 5, 3);
	sync_of(PASTA_SYNC_CONTEXT, 6, 500, 1000, 0); /* without a call: its own thread */
	assert_int_equal(finish(), 0);
	assert_string_equal(table("waits"), "context 1 1000 1000 1000 1000 1000 100.00\n"
					    "stream 1 90 90 90 90 90 30.00\n"
					    "event 1 30 30 30 30 30 10.00\n"
					    "stream_wait 1 5 5 5 5 5 1.67\n");
	assert_string_equal(table("wait_lines"), "(unknown)  context 1 1000 1000 1000 88.89\n"
						 "f (t.py:7) aten::item stream 1 90 90 90 8.00\n"
						 "(unknown)  event 1 30 30 30 2.67\n"
						 "(unknown)  stream_wait 1 5 5 5 0.44\n");
	assert_string_equal(table("threads"), "thread 5 3 160 300 53.33 2 120 40.00\n"
					      "thread 6 0 0 1000 0.00 1 1000 100.00\n");
}

static void build(const char *name, unsigned int sub, uint32_t device, uint64_t dur)
{
	struct pasta_event ev = EVENT(module, MODULE, 0, 1, 10);

	ev.sub = (uint8_t)sub;
	ev.module.name = id(name);
	ev.module.device = device;
	ev.module.bytes = 1000;
	ev.module.dur = dur;
	send_event(&ev);
}

static void builds_are_loads_that_took_time(void **state)
{
	(void)state;
	build("p.cl", PASTA_MODULE_LOAD, 0, 500);
	build("p.cl", PASTA_MODULE_LOAD, 0, 700);
	build("p.cl", PASTA_MODULE_UNLOAD, 0, 900);
	build("q.cl", PASTA_MODULE_LOAD, 1, 100);
	build("r.cl", PASTA_MODULE_LOAD, 1, 0);
	build("libc.so", PASTA_MODULE_LOAD, PASTA_MODULE_HOST, 100);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("builds"), "p.cl device 0 2 2000 1200 600 700\n"
					     "q.cl device 1 1 1000 100 100 100\n");
	assert_string_equal(finding(0), "the run has no calls of a vendor's API");
}

static void errors_are_findings_but_answers_of_queries_are_not(void **state)
{
	const struct pasta_finding *f = NULL;

	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		CALL(0, 1, "clBuildProgram", 10 * i, 1,
		     .status = i < 3   ? (uint32_t)-11
			       : i < 4 ? (uint32_t)-30
				       : 0);
	for (uint64_t i = 0; i < 10; i++)
		CALL(0, 1, "cudaEventQuery", 100 + i, 1, .status = i ? 600 : 709);
	CALL(0, 1, "cudaFree", 200, 1, .status = 600);
	assert_int_equal(finish(), 0);
	assert_string_equal(finding(0), "calls that return an error: 4");
	f = &result.outs[0]->findings[0];
	assert_string_equal(f->where, "clBuildProgram");
	assert_string_equal(f->evidence,
			    "the most frequent status is -11; 40.0% of the calls fail");
	assert_string_equal(finding(1), "calls that return an error: 1");
	assert_string_equal(result.outs[0]->findings[1].where, "cudaEventQuery");
	assert_string_equal(result.outs[0]->findings[1].evidence,
			    "the most frequent status is 709; 10.0% of the calls fail");
	assert_string_equal(finding(2), "calls that return an error: 1");
	assert_string_equal(result.outs[0]->findings[2].where, "cudaFree");
	assert_string_equal(finding(3), "");
}

static void errors_of_many_functions_are_added_up(void **state)
{
	char name[20];

	(void)state;
	for (uint64_t i = 0; i < FUNCTIONS + 3; i++) {
		snprintf(name, sizeof(name), "f%d", (int)i);
		for (uint64_t k = 0; k <= i; k++)
			CALL(0, 1, name, 100 * i + k, 1, .status = 1);
	}
	assert_int_equal(finish(), 0);
	assert_string_equal(finding(0), "calls that return an error: 8");
	assert_string_equal(finding(FUNCTIONS), "calls of other functions that return an error: 6");
	assert_string_equal(result.outs[0]->findings[FUNCTIONS].evidence, "3 more functions");
	assert_string_equal(finding(FUNCTIONS + 1), "");
}

static void a_run_without_calls_explains_how_to_record_them(void **state)
{
	(void)state;
	send_kernel(0, 10, 1, "k", 10);
	assert_int_equal(finish(), 0);
	assert_string_equal(table("api"), "");
	assert_string_equal(finding(0), "the run has no calls of a vendor's API");
	assert_string_equal(result.outs[0]->findings[0].action,
			    "record the program with: accelprof run -t api -- PROGRAM");
}

static void times_at_the_end_of_time_do_not_overflow(void **state)
{
	(void)state;
	CALL(0, 1, "a", 10, UINT64_MAX);
	CALL(0, 1, "b", 20, UINT64_MAX);
	CALL(0, 1, "b", UINT64_MAX - 1, 7);
	sync_of(PASTA_SYNC_CONTEXT, 1, UINT64_MAX - 1, UINT64_MAX, 0);
	sync_of(PASTA_SYNC_CONTEXT, 1, UINT64_MAX - 1, UINT64_MAX, 0);
	assert_int_equal(finish(), 0);
	assert_int_equal(pasta_table_rows(table_of("api")), 2);
}

enum { CALLS = 400, THREADS = 3, NAMES = 4 };

/* Compares totals, counts and the time of each thread with a count of every ns. */
static void random_calls_match_a_brute_force_count(void **state)
{
	(void)state;
	for (int run = 0; run < 20; run++) {
		static const char *const names[] = {"a", "b", "c", "d"};
		static unsigned char busy[THREADS][20000];
		uint64_t total[NAMES] = {0}, calls[NAMES] = {0}, api[THREADS] = {0}, time = 0;
		const struct pasta_table *t;

		start_over(NULL);
		memset(busy, 0, sizeof(busy));
		for (int i = 0; i < CALLS; i++) {
			size_t name = random_below(NAMES), thread = random_below(THREADS);
			uint64_t dur = random_below(100);

			CALL(0, (uint32_t)thread + 1, names[name], time, dur);
			memset(busy[thread] + time, 1, dur);
			total[name] += dur;
			calls[name]++;
			time += random_below(40);
		}
		assert_int_equal(finish(), 0);
		t = table_of("api");
		for (size_t row = 0; row < pasta_table_rows(t); row++) {
			size_t name = (size_t)(*pasta_table_cell(t, row, 0)->s - 'a');

			assert_int_equal(pasta_table_cell(t, row, 1)->i, calls[name]);
			assert_int_equal(pasta_table_cell(t, row, 2)->i, total[name]);
		}
		for (size_t thread = 0; thread < THREADS; thread++)
			for (size_t ns = 0; ns < sizeof(busy[0]); ns++)
				api[thread] += busy[thread][ns];
		t = table_of("threads");
		for (size_t row = 0; row < pasta_table_rows(t); row++) {
			int thread = pasta_table_cell(t, row, 0)->s[7] - '1';

			assert_int_equal(pasta_table_cell(t, row, 2)->i, api[thread]);
		}
	}
}

/* Returns the tables as text, which the caller frees. */
static char *all_tables(void)
{
	static const char *const names[] = {"api", "api_lines", "threads"};
	char *text = calloc(3, 1 << 18);

	assert_non_null(text);
	for (size_t i = 0; i < 3; i++)
		strcat(text, table(names[i]) ? table(names[i]) : "none");
	return text;
}

static void merged_shards_equal_a_single_one(void **state)
{
	static const char *const names[] = {"a", "b", "c", "d"};
	struct pasta_result own = {0};
	struct pasta_toolset *parts[3];
	char *want, *got;

	(void)state;
	for (int i = 0; i < 3; i++)
		parts[i] = another_toolset(&own);
	for (uint64_t i = 0; i < 3000; i++) {
		struct made_call call = {.proc = (uint32_t)random_below(3),
					 .tid = (uint32_t)random_below(3),
					 .name = names[random_below(4)],
					 .begin = 10 * i,
					 .dur = random_below(100),
					 .status = !random_below(5)};
		struct pasta_event ev = call_event(&call);

		pasta_toolset_event(parts[call.proc], &ev, NULL);
		pasta_toolset_event(toolset, &ev, NULL);
	}
	pasta_toolset_merge(parts[0], parts[1]);
	pasta_toolset_merge(parts[0], parts[2]);
	assert_int_equal(finish(), 0);
	want = all_tables();
	pasta_result_free(&result);
	result = own;
	pasta_toolset_report(parts[0]);
	assert_int_equal(pasta_out_end(result.outs[0]), 0);
	got = all_tables();
	assert_string_equal(got, want);
	free(want);
	free(got);
	for (int i = 0; i < 3; i++)
		pasta_toolset_free(parts[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(functions_have_counts_times_and_shares),
		TEST(calls_inside_calls_count_once_for_the_thread),
		TEST(lines_are_those_of_operators),
		TEST(a_launch_gives_its_line_to_the_calls_that_make_it),
		TEST(a_launch_right_before_its_call_gives_its_line_too),
		TEST(waits_are_by_kind_and_by_the_line_of_their_call),
		TEST(builds_are_loads_that_took_time),
		TEST(errors_are_findings_but_answers_of_queries_are_not),
		TEST(errors_of_many_functions_are_added_up),
		TEST(a_run_without_calls_explains_how_to_record_them),
		TEST(times_at_the_end_of_time_do_not_overflow),
		TEST(random_calls_match_a_brute_force_count),
		TEST(merged_shards_equal_a_single_one),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
