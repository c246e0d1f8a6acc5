/* test_engine.c - all tools on random runs: results do not depend on threads; interrupts; failures.
 */
#include "unit/shardrun.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "process/run/engine.h"
#include "process/join/directory.h"
#include "process/run/toolset.h"
#include "unit/sample.h"

enum { SHARDS_MAX = 40 };

/* -- Threads that cannot be started -------------------------------------------------------------
 */

static int threads_left = INT_MAX;

/* Replaces the C library's function, so that threads can fail to start. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (threads_left <= 0)
		return EAGAIN;
	threads_left--;
	*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	return real(thread, attr, run, arg);
}

/* -- Tools of the test --------------------------------------------------------------------------
 */

static atomic_int opened, closed, reported;

struct order {
	uint64_t events, hash, last;
	uint32_t first_proc, last_proc;
	int64_t wrong;
	bool ended;
};

static void order_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	struct order *o = state;

	if (!o->events)
		o->first_proc = ev->proc;
	/* Events without an end are delivered last, with an earlier time. */
	if (ev->kind == PASTA_KIND_REGION && ev->region.flags & PASTA_REGION_SUPPLIED_OPEN)
		o->ended = true;
	else
		o->wrong += ev->time < o->last || o->ended;
	o->events++;
	o->hash = (o->hash ^ ev->time ^ (uint64_t)ev->kind << 56 ^ ev->proc) *
		  UINT64_C(0x9e3779b97f4a7c15);
	o->last = ev->time;
	o->last_proc = ev->proc > o->last_proc ? ev->proc : o->last_proc;
}

/* Each state is of one shard, and states are merged in the order of their shards. */
static int order_merge(void *into, const void *from, struct pasta_error *err)
{
	const struct order *b = from;
	struct order *a = into;

	if (!b->events)
		return 0;
	a->wrong += b->wrong + (b->first_proc != b->last_proc);
	a->wrong += a->events && b->first_proc <= a->last_proc;
	a->events += b->events;
	a->last_proc = b->last_proc;
	return 0;
}

static int order_open(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	(void)state;
	(void)opts;
	(void)err;
	atomic_fetch_add(&opened, 1);
	return 0;
}

static void order_close(void *state)
{
	(void)state;
	atomic_fetch_add(&closed, 1);
}

static void report_numbers(struct pasta_out *out, uint64_t events, uint64_t hash, int64_t wrong)
{
	static const struct pasta_column columns[] = {{"events", PASTA_COLUMN_INT, NULL},
						      {"hash", PASTA_COLUMN_INT, NULL},
						      {"wrong", PASTA_COLUMN_INT, NULL}};
	struct pasta_table *t = pasta_out_table(out, "numbers", columns, 3);

	pasta_cell_int(t, (int64_t)events);
	pasta_cell_int(t, (int64_t)(hash >> 1));
	pasta_cell_int(t, wrong);
	atomic_fetch_add(&reported, 1);
}

/* With merge, the order between shards is undefined. */
static int merged_report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	const struct order *o = state;

	report_numbers(out, o->events, 0, o->wrong);
	return 0;
}

static int whole_report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	const struct order *o = state;

	report_numbers(out, o->events, o->hash, o->wrong);
	return 0;
}

/* Some states cannot be opened: the first, the third... */
static int sometimes_open(void *state, const struct pasta_opts *opts, struct pasta_error *err)
{
	(void)state;
	(void)opts;
	return atomic_fetch_add(&opened, 1) % 2 ? 0 : pasta_fail(err, -EIO, "not this time");
}

static void slow_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	const struct timespec nap = {.tv_nsec = 200000};
	struct order *o = state;

	if (o->events % 64 == 0)
		nanosleep(&nap, NULL);
	order_event(state, ev, where);
}

#define ALL_KINDS (~UINT64_C(0))
#define WANTED                                                                                     \
	(PASTA_MASK(KERNEL) | PASTA_MASK(LAUNCH) | PASTA_MASK(REGION) | PASTA_MASK(API) |          \
	 PASTA_MASK(ALLOC))
#define TOOL(name_, ...)                                                                           \
	{                                                                                          \
		PASTA_TOOL_HEAD, .name = name_, .summary = "a test", .events = WANTED,             \
				 .state_size = sizeof(struct order), .open = order_open,           \
				 .event = order_event, .close = order_close, __VA_ARGS__           \
	}

static const struct pasta_tool test_tools[] = {
	TOOL("t-merged", .merge = order_merge, .report = merged_report),
	TOOL("t-whole", .report = whole_report, .needs = PASTA_NEED_SCOPES),
	{PASTA_TOOL_HEAD, .name = "t-sometimes", .summary = "a test", .events = WANTED,
	 .state_size = sizeof(struct order), .open = sometimes_open, .event = order_event,
	 .merge = order_merge, .report = merged_report, .close = order_close},
	{PASTA_TOOL_HEAD, .name = "t-slow", .summary = "a test", .events = WANTED,
	 .state_size = sizeof(struct order), .open = order_open, .event = slow_event,
	 .merge = order_merge, .report = merged_report, .close = order_close},
};

static bool is_test_tool(const struct pasta_tool *tool)
{
	return !strncmp(tool->name, "t-", 2);
}

/* -- Runs and results ---------------------------------------------------------------------------
 */

/* Makes shards; some are empty, and some are large. Returns their number. */
static uint32_t make_shards(uint32_t shards, size_t large)
{
	for (uint32_t i = 0; i < shards; i++) {
		struct run_opts opts = {.procs = 1,
					.events = one_in(5)    ? 0
						  : one_in(12) ? large
							       : 1 + random_below(600),
					.depth = (unsigned int)random_below(5),
					.streams = 4,
					.devices = 2};
		struct random_run run;

		random_run(&run, &opts);
		for (size_t k = 0; k < run.count; k++)
			run.events[k].proc = i;
		shardrun_write(&run, i, one_in(6) ? ALL_KINDS & ~PASTA_MASK(LAUNCH) : ALL_KINDS);
		random_run_free(&run);
	}
	return shards;
}

/* Chooses all tools of this build, and the named ones. */
static void choose(struct pasta_choice *choice, const char *others)
{
	const struct pasta_tool *tool;

	for (size_t i = 0; (tool = pasta_tool_at(i)); i++)
		if (!is_test_tool(tool))
			assert_int_equal(pasta_choice_add(choice, tool->name, NULL), 0);
	if (others)
		assert_int_equal(pasta_choice_add(choice, others, NULL), 0);
}

static char *text_of(struct pasta_result *result, const struct pasta_stream *s)
{
	static const struct pasta_runinfo run;
	struct pasta_sink_opts opts = {0};
	struct pasta_error err = {0};
	int error;
	char *text;

	result->run = &run;
	if (s)
		pasta_stream_loss(s, &result->loss);
	text = sample_write(&pasta_sink_json, result, &opts, &error, &err);
	assert_int_equal(error, 0);
	return text;
}

static char *with_threads(const struct pasta_choice *choice, uint32_t shards, size_t threads,
			  const struct pasta_filter *filter)
{
	struct pasta_engine_opts opts = {.threads = threads, .filter = filter};
	struct pasta_stream *s = shardrun_open(shards);
	struct pasta_result result = {0};
	char *text;

	assert_int_equal(pasta_engine_run(choice, s, &result, &opts), 0);
	text = text_of(&result, s);
	pasta_result_free(&result);
	pasta_stream_free(s);
	return text;
}

/* Passes all events to one toolset, one by one. */
static char *by_hand(const struct pasta_choice *choice, uint32_t shards,
		     const struct pasta_filter *filter)
{
	struct pasta_stream *s = shardrun_open(shards);
	struct pasta_result result = {0};
	const struct pasta_where *where;
	const struct pasta_event *ev;
	struct pasta_toolset *toolset;
	struct pasta_reader *reader;
	char *text;

	assert_int_equal(pasta_directory_fill(s), 0);
	for (size_t i = 0; i < choice->count; i++)
		assert_non_null(pasta_result_out(&result, choice->tools[i].tool->name));
	assert_int_equal(pasta_directory_fill(s), 0);
	toolset = pasta_toolset_new(choice, result.outs, PASTA_TOOLSET_ALL);
	pasta_toolset_open(toolset);
	reader = pasta_reader_new(s, pasta_toolset_kinds(toolset), pasta_toolset_needs(toolset),
				  filter);
	while ((ev = pasta_reader_next(reader, &where)))
		pasta_toolset_event(toolset, ev, where);
	pasta_toolset_report(toolset);
	for (size_t i = 0; i < result.count; i++)
		assert_int_equal(pasta_out_end(result.outs[i]), 0);
	pasta_toolset_free(toolset);
	pasta_reader_free(reader);
	text = text_of(&result, s);
	pasta_result_free(&result);
	pasta_stream_free(s);
	return text;
}

static void assert_same(const char *got, const char *want, size_t threads,
			const struct pasta_filter *filter)
{
	size_t at = 0;
	char text[200];

	while (got[at] && got[at] == want[at])
		at++;
	if (got[at] != want[at])
		fail_msg("with %zu threads, %s, at %zu:\n  %.300s\nnot\n  %.300s\nwith SEED=%llu",
			 threads, pasta_filter_text(filter, text, sizeof(text)), at,
			 got + (at > 150 ? at - 150 : 0), want + (at > 150 ? at - 150 : 0),
			 (unsigned long long)support_seed_);
}

static int rounds; /* runs in which ranks met in a collective */

static void compare_threads(const struct pasta_choice *choice, uint32_t shards,
			    const struct pasta_filter *filter)
{
	static const size_t threads[] = {1, 2, 3, 8};
	char *want = by_hand(choice, shards, filter);

	for (size_t i = 0; i < sizeof(threads) / sizeof(*threads); i++) {
		char *got = with_threads(choice, shards, threads[i], filter);

		assert_same(got, want, threads[i], filter);
		free(got);
	}
	assert_non_null(strstr(want, "\"wrong\""));
	rounds += strstr(want, "\"mean_wait\"") ? 1 : 0;
	free(want);
}

/* -- Tests --------------------------------------------------------------------------------------
 */

static void results_do_not_depend_on_the_number_of_threads(void **state)
{
	struct pasta_choice choice = {0};

	(void)state;
	choose(&choice, "t-merged,t-whole");
	assert_true(choice.count > 5);
	for (int i = 0; i < (support_slow ? 3 : 10); i++)
		compare_threads(&choice, make_shards(1 + (uint32_t)random_below(SHARDS_MAX), 8000),
				NULL);
	assert_true(rounds > 0);
	pasta_choice_free(&choice);
}

static void filtered_results_do_not_depend_on_the_number_of_threads(void **state)
{
	static const struct {
		enum pasta_filter_type type;
		const char *text;
	} filters[] = {
		{PASTA_FILTER_KERNEL, "n[1-4]"}, {PASTA_FILTER_EXCLUDE, "n2"},
		{PASTA_FILTER_DEVICE, "0"},	 {PASTA_FILTER_STREAM, "1-2"},
		{PASTA_FILTER_REGION, "n[3-7]"}, {PASTA_FILTER_ITERATION, "3-12"},
		{PASTA_FILTER_TIME, "10ms-1s"},
	};
	struct pasta_choice choice = {0};
	uint32_t shards = make_shards(12, 4000);

	(void)state;
	choose(&choice, "t-merged,t-whole");
	for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++) {
		struct pasta_filter *f = pasta_filter_new();

		assert_int_equal(pasta_filter_add(f, filters[i].type, filters[i].text, NULL), 0);
		pasta_filter_start(f, UINT64_C(1000000000));
		compare_threads(&choice, shards, f);
		pasta_filter_free(f);
	}
	pasta_choice_free(&choice);
}

static void every_tool_that_merges_is_tested_here(void **state)
{
	const struct pasta_tool *tool;
	size_t merging = 0;

	(void)state;
	for (size_t i = 0; (tool = pasta_tool_at(i)); i++)
		merging += !is_test_tool(tool) && pasta_tool_is_sharded(tool);
	assert_true(merging >= 3);
	assert_non_null(pasta_tool_find("kernel_freq"));
	assert_non_null(pasta_tool_find("regions"));
	assert_non_null(pasta_tool_find("copies"));
	assert_non_null(pasta_tool_find("summary"));
	assert_non_null(pasta_tool_find("ops"));
	assert_non_null(pasta_tool_find("collectives"));
}

static bool go_on_for(void *ctx)
{
	int *left = ctx;

	return (*left)-- > 0;
}

static void after_an_interrupt_every_tool_has_reported(void **state)
{
	struct pasta_choice choice = {0};
	uint32_t shards = make_shards(20, 20000);
	int interrupted = 0;

	(void)state;
	choose(&choice, "t-merged,t-whole,t-slow");
	for (int i = 0; i < (support_slow ? 6 : 12); i++) {
		int left = (int)random_below(8);
		struct pasta_engine_opts opts = {
			.threads = 1 + random_below(4), .go_on = go_on_for, .ctx = &left};
		struct pasta_stream *s = shardrun_open(shards);
		struct pasta_result result = {0};
		int error;

		opened = closed = reported = 0;
		error = pasta_engine_run(&choice, s, &result, &opts);
		assert_int_equal(error, left < 0 ? -EINTR : 0);
		interrupted += error == -EINTR;
		assert_int_equal(reported, 3);
		assert_int_equal(closed, opened);
		assert_int_equal(result.count, choice.count);
		for (size_t k = 0; k < result.count; k++)
			assert_int_equal(result.outs[k]->err.code, 0);
		pasta_result_free(&result);
		pasta_stream_free(s);
	}
	assert_true(interrupted > 0);
	pasta_choice_free(&choice);
}

static void a_tool_that_cannot_open_for_some_shards_fails_alone(void **state)
{
	struct pasta_choice choice = {0}, others = {0};
	uint32_t shards = make_shards(9, 2000);

	(void)state;
	choose(&choice, "t-sometimes,t-whole");
	choose(&others, "t-whole");
	for (size_t threads = 1; threads <= 8; threads++) {
		struct pasta_engine_opts opts = {.threads = threads};
		struct pasta_stream *s = shardrun_open(shards);
		struct pasta_result result = {0};
		char *want = with_threads(&others, shards, threads, NULL), *got;
		struct pasta_out *failed;

		opened = closed = 0;
		assert_int_equal(pasta_engine_run(&choice, s, &result, &opts), 0);
		assert_int_equal(closed, opened);
		failed = result.outs[result.count - 2];
		assert_string_equal(failed->name, "t-sometimes");
		assert_int_equal(failed->err.code, -EIO);
		assert_string_equal(failed->err.text, "not this time");
		assert_int_equal(failed->table_count, 0);
		/* The other tools report the same as without the failed one. */
		result.outs[result.count - 2] = result.outs[result.count - 1];
		result.outs[--result.count] = failed;
		got = text_of(&result, s);
		assert_same(got, want, threads, NULL);
		result.count++;
		pasta_result_free(&result);
		free(got);
		free(want);
		pasta_stream_free(s);
	}
	pasta_choice_free(&choice);
	pasta_choice_free(&others);
}

static void a_thread_that_cannot_be_started_is_an_error(void **state)
{
	struct pasta_choice choice = {0};
	uint32_t shards = make_shards(8, 1000);

	(void)state;
	choose(&choice, "t-merged,t-whole");
	for (int threads = 0; threads < 6; threads++) {
		struct pasta_engine_opts opts = {.threads = 4};
		struct pasta_stream *s = shardrun_open(shards);
		struct pasta_result result = {0};
		int error;

		opened = closed = 0;
		threads_left = threads;
		error = pasta_engine_run(&choice, s, &result, &opts);
		threads_left = INT_MAX;
		/* One thread for merging, one for the tools that do not merge, three for shards. */
		assert_int_equal(error, threads < 5 ? -EAGAIN : 0);
		assert_int_equal(closed, opened);
		pasta_result_free(&result);
		pasta_stream_free(s);
	}
	pasta_choice_free(&choice);
}

static void a_slow_tool_changes_nothing(void **state)
{
	struct pasta_choice choice = {0};
	uint32_t shards = make_shards(8, 3000);

	(void)state;
	choose(&choice, "t-slow,t-merged,t-whole");
	compare_threads(&choice, shards, NULL);
	pasta_choice_free(&choice);
}

static void excluded_shards_are_not_in_any_result(void **state)
{
	struct pasta_choice choice = {0};
	uint32_t shards = make_shards(10, 2000);
	char *first = NULL;

	(void)state;
	choose(&choice, "t-merged,t-whole");
	for (size_t threads = 1; threads <= 4; threads++) {
		struct pasta_engine_opts opts = {.threads = threads};
		struct pasta_stream *s = shardrun_open(shards);
		struct pasta_result result = {0};
		char *text;

		for (size_t i = 0; i < shards; i += 3)
			pasta_stream_exclude(s, i);
		assert_int_equal(pasta_engine_run(&choice, s, &result, &opts), 0);
		text = text_of(&result, s);
		if (first) {
			assert_same(text, first, threads, NULL);
			free(text);
		} else {
			first = text;
		}
		pasta_result_free(&result);
		pasta_stream_free(s);
	}
	free(first);
	pasta_choice_free(&choice);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_tool_that_merges_is_tested_here),
		cmocka_unit_test(results_do_not_depend_on_the_number_of_threads),
		cmocka_unit_test(filtered_results_do_not_depend_on_the_number_of_threads),
		cmocka_unit_test(after_an_interrupt_every_tool_has_reported),
		cmocka_unit_test(a_tool_that_cannot_open_for_some_shards_fails_alone),
		cmocka_unit_test(a_thread_that_cannot_be_started_is_an_error),
		cmocka_unit_test(a_slow_tool_changes_nothing),
		cmocka_unit_test(excluded_shards_are_not_in_any_result),
	};

	random_begin();
	for (size_t i = 0; i < sizeof(test_tools) / sizeof(*test_tools); i++)
		pasta_tool_register(&test_tools[i]);
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
