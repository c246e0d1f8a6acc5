/* test_window.c - when activity is recorded: start, stop, and a window of time. */
#include "unit/agent_run.h"

#include <pasta/annotate.h>

const struct pasta_annotate_ops *pasta_annotate_attach(void);

enum { MS = 1000000 };

/* Runs in a child, where cmocka's assertions do not work. */
#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what))                                                                       \
			_exit(__LINE__ % 97 + 1);                                                  \
	} while (0)

/* A window relative to now, in ms; to 0: it does not close. */
static void set_window(uint64_t opens, uint64_t closes)
{
	uint64_t now = pasta_now();
	char text[64];

	snprintf(text, sizeof(text), "%llu-%llu", (unsigned long long)(now + opens * MS),
		 closes ? (unsigned long long)(now + closes * MS) : 0);
	setenv(PASTA_ENV_WINDOW, text, 1);
}

static int clear_window(void **state)
{
	unsetenv(PASTA_ENV_WINDOW);
	unsetenv(PASTA_ENV_PAUSED);
	return remove_run(state);
}

static bool soon(bool active)
{
	for (int i = 0; i < 5000 && pasta_agent_active() != active; i++)
		usleep(1000);
	return pasta_agent_active() == active;
}

static void changes(void)
{
	pasta_agent_set_active(true);
	CHECK(pasta_agent_active());
	pasta_agent_set_active(false);
	pasta_agent_set_active(false);
	CHECK(!pasta_agent_active());
	pasta_agent_set_active(true);
	CHECK(pasta_agent_active());
}

static void one_start_undoes_any_number_of_stops(void **state)
{
	(void)state;
	assert_int_equal(in_child(changes), 0);
}

static void delayed(void)
{
	CHECK(!pasta_agent_active());
	pasta_agent_set_active(true);
	CHECK(!pasta_agent_active());
	CHECK(soon(true)); /* there is no writer: each call compares with the clock */
}

static void a_window_opens_though_nothing_was_recorded_yet(void **state)
{
	(void)state;
	set_window(200, 0);
	assert_int_equal(in_child(delayed), 0);
}

static void limited(void)
{
	CHECK(pasta_agent_active());
	CHECK(soon(false)); /* nothing was recorded, so there is no writer */
	pasta_agent_set_active(true);
	CHECK(!pasta_agent_active());
}

static void a_window_that_has_closed_stays_closed(void **state)
{
	(void)state;
	set_window(0, 300);
	assert_int_equal(in_child(limited), 0);
}

static void emit(void)
{
	const struct pasta_annotate_ops *ops = pasta_annotate_attach();

	ops->mark("m");
}

static void closed_by_the_writer(void)
{
	emit();
	CHECK(pasta_agent_active());
	usleep(1000000); /* no call checks the clock */
	CHECK(!pasta_agent_active());
}

static void the_writer_closes_the_window_in_time(void **state)
{
	(void)state;
	set_window(0, 400);
	assert_int_equal(in_child(closed_by_the_writer), 0);
}

static void paused(void)
{
	CHECK(!pasta_agent_active());
	usleep(200 * 1000);
	CHECK(!pasta_agent_active());
	pasta_agent_set_active(true);
	CHECK(pasta_agent_active());
}

static void a_window_that_is_open_does_not_start_what_is_paused(void **state)
{
	(void)state;
	set_window(100, 0);
	setenv(PASTA_ENV_PAUSED, "1", 1);
	assert_int_equal(in_child(paused), 0);
}

static void fork_within(void)
{
	int status;
	pid_t pid;

	emit();
	CHECK(pasta_agent_active());
	pid = fork();
	if (!pid) {
		CHECK(pasta_agent_active()); /* the window is open in the child too, */
		CHECK(soon(false));	     /* and closes without a writer */
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
}

static void a_forked_child_has_the_same_window(void **state)
{
	(void)state;
	set_window(0, 1000);
	assert_int_equal(in_child(fork_within), 0);
}

static void bad_text(void)
{
	CHECK(pasta_agent_active());
}

static void a_malformed_window_is_ignored(void **state)
{
	(void)state;
	setenv(PASTA_ENV_WINDOW, "soon", 1);
	assert_int_equal(in_child(bad_text), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_run, clear_window)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(one_start_undoes_any_number_of_stops),
		CASE(a_window_opens_though_nothing_was_recorded_yet),
		CASE(a_window_that_has_closed_stays_closed),
		CASE(the_writer_closes_the_window_in_time),
		CASE(a_window_that_is_open_does_not_start_what_is_paused),
		CASE(a_forked_child_has_the_same_window),
		CASE(a_malformed_window_is_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
