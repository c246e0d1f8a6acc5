/* test_annotate.c - the records of annotate.h: nesting, stop and start, fork, depth. */
#include "unit/agent_run.h"

#include <pasta/annotate.h>

/* The agent is linked into this test; end-to-end tests cover how the header loads it. */
const struct pasta_annotate_ops *pasta_annotate_attach(void);

/* All regions of the run, in order: "+name", "-" and "!name", with their depth, in one line. */
static const char *regions(char *text, size_t size)
{
	struct pasta_stream *s = open_run(NULL);
	const struct pasta_event *ev;
	size_t at = 0;

	text[0] = '\0';
	while ((ev = pasta_stream_next(s))) {
		if (ev->kind == PASTA_KIND_REGION)
			at += (size_t)snprintf(text + at, size - at, "%s%c%s%u", at ? " " : "",
					       " +-!"[ev->sub], pasta_str(ev->region.name),
					       ev -> region.depth);
		else if (ev->kind == PASTA_KIND_ITERATION)
			at += (size_t)snprintf(text + at, size - at, "%s#%llu", at ? " " : "",
					       (unsigned long long)ev->iteration.index);
		else if (ev->kind == PASTA_KIND_COUNTER)
			at += (size_t)snprintf(text + at, size - at, "%s%s=%g", at ? " " : "",
					       pasta_str(ev->counter.name), ev->counter.value);
		if (at >= size)
			break;
	}
	pasta_stream_free(s);
	return text;
}

static const struct pasta_annotate_ops *ops;

static void nested(void)
{
	ops = pasta_annotate_attach();
	ops->region_begin("a");
	ops->iteration(7);
	ops->region_begin("b");
	ops->mark("m");
	ops->region_end();
	ops->counter("c", 0.5);
	ops->region_end();
	ops->region_end(); /* an end without a begin */
	pasta_agent_close();
}

static void regions_nest_and_an_end_without_a_begin_is_ignored(void **state)
{
	char text[512];

	(void)state;
	assert_int_equal(in_child(nested), 0);
	assert_string_equal(regions(text, sizeof(text)), "+a1 #7 +b2 !m3 -2 c=0.5 -1");
}

static void stop_and_start(void)
{
	ops = pasta_annotate_attach();
	ops->region_begin("a");
	ops->stop();
	ops->region_begin("hidden");
	ops->mark("hidden");
	ops->start();
	ops->region_begin("b");
	ops->stop();
	ops->region_end(); /* ends b, which was recorded */
	ops->start();
	ops->region_end(); /* ends hidden, which was not */
	ops->region_begin("c");
	ops->region_end();
	ops->region_end();
	pasta_agent_close();
}

static void an_end_is_recorded_if_its_begin_was(void **state)
{
	char text[512];

	(void)state;
	assert_int_equal(in_child(stop_and_start), 0);
	assert_string_equal(regions(text, sizeof(text)), "+a1 +b2 -2 +c2 -2 -1");
}

static void paused(void)
{
	ops = pasta_annotate_attach();
	ops->region_begin("before");
	ops->start();
	ops->region_begin("after");
	ops->region_end();
	ops->region_end();
	pasta_agent_close();
}

static void a_paused_run_records_from_start_on(void **state)
{
	char text[512];

	(void)state;
	setenv(PASTA_ENV_PAUSED, "1", 1);
	assert_int_equal(in_child(paused), 0);
	unsetenv(PASTA_ENV_PAUSED);
	assert_string_equal(regions(text, sizeof(text)), "+after1 -1");
}

static void disabled_kinds_are_not_recorded(void **state)
{
	char text[512];

	(void)state;
	setenv(PASTA_ENV_KINDS, "4000", 1); /* iterations */
	assert_int_equal(in_child(nested), 0);
	unsetenv(PASTA_ENV_KINDS);
	assert_string_equal(regions(text, sizeof(text)), "#7");
}

static void fork_inside(void)
{
	int status;
	pid_t pid;

	ops = pasta_annotate_attach();
	ops->region_begin("parent");
	pid = fork();
	if (!pid) {
		ops->region_end(); /* of the parent's region */
		ops->region_begin("child");
		ops->region_end();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	ops->region_end();
	pasta_agent_close();
}

static void a_child_does_not_end_its_parents_regions(void **state)
{
	char text[512];

	(void)state;
	assert_int_equal(in_child(fork_inside), 0);
	assert_string_equal(regions(text, sizeof(text)), "+parent1 +child1 -1 -1");
}

static void deep(void)
{
	ops = pasta_annotate_attach();
	for (int i = 0; i < 1500; i++)
		ops->region_begin("deep");
	for (int i = 0; i < 1500; i++)
		ops->region_end();
	ops->region_begin("shallow");
	ops->region_end();
	pasta_agent_close();
}

static void regions_too_deep_are_counted_in_pairs(void **state)
{
	struct pasta_stream *s;
	const struct pasta_event *ev;
	struct pasta_loss_summary a;
	uint64_t begins = 0, ends = 0;
	uint32_t last = 0;

	(void)state;
	assert_int_equal(in_child(deep), 0);
	s = open_run(NULL);
	while ((ev = pasta_stream_next(s))) {
		if (ev->kind != PASTA_KIND_REGION)
			continue;
		begins += ev->sub == PASTA_REGION_BEGIN;
		ends += ev->sub == PASTA_REGION_END;
		last = ev->region.depth;
	}
	pasta_stream_loss(s, &a);
	pasta_stream_free(s);
	assert_int_equal(begins, 1025);
	assert_int_equal(ends, 1025);
	assert_int_equal(last, 1);
	assert_int_equal(a.by_reason[PASTA_LOSS_DEPTH], 2 * 476);
	assert_int_equal(a.expected, 2 * 1501);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, make_run, remove_run)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(regions_nest_and_an_end_without_a_begin_is_ignored),
		CASE(an_end_is_recorded_if_its_begin_was),
		CASE(a_paused_run_records_from_start_on),
		CASE(disabled_kinds_are_not_recorded),
		CASE(a_child_does_not_end_its_parents_regions),
		CASE(regions_too_deep_are_counted_in_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
