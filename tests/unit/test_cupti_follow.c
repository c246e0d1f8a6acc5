/* test_cupti_follow.c - CUPTI's activity starts and stops with recording, by a CUPTI of our own. */
#include "unit/agent_run.h"

#include <signal.h>

#include "handlers/cupti/cupti.h"

enum { PROFILER_START = 1, PROFILER_STOP, NAMES };
static const char *const names[NAMES] = {
	[PROFILER_START] = "cuProfilerStart",
	[PROFILER_STOP] = "cuProfilerStop",
};
static cupti_callback callback;
static _Atomic uint64_t on; /* kinds, as bits */
static _Atomic int flushes, locked;

/* What CUPTI does while one of its own locks is taken. */
static void lock(void)
{
	while (atomic_load(&locked))
		usleep(1000);
}

static int enable(int kind)
{
	lock();
	atomic_fetch_or(&on, UINT64_C(1) << kind);
	return CUPTI_OK;
}

static int disable(int kind)
{
	lock();
	atomic_fetch_and(&on, ~(UINT64_C(1) << kind));
	return CUPTI_OK;
}

static int flush(uint32_t flag)
{
	(void)flag;
	atomic_fetch_add(&flushes, 1);
	return CUPTI_OK;
}

static int get_name(int domain, uint32_t id, const char **name)
{
	*name = domain == CUPTI_DRIVER_API && id < NAMES ? names[id] : NULL;
	return *name ? CUPTI_OK : 1;
}

static int subscribe(cupti_subscriber *s, cupti_callback call, void *user)
{
	(void)s;
	(void)user;
	callback = call;
	return CUPTI_OK;
}

static int enable_callback(uint32_t yes, cupti_subscriber s, int domain, uint32_t id)
{
	(void)yes;
	(void)s;
	(void)domain;
	(void)id;
	return CUPTI_OK;
}

static int timestamps(uint64_t (*now)(void))
{
	(void)now;
	return CUPTI_OK;
}

static int buffers(cupti_request request, cupti_complete complete)
{
	(void)request;
	(void)complete;
	return CUPTI_OK;
}

static int thread_ids(int type)
{
	(void)type;
	return CUPTI_OK;
}

/* In a child: it must not fail an assertion of cmocka's. */
#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what))                                                                       \
			_exit(__LINE__ % 97 + 1);                                                  \
	} while (0)

#define BIT(kind) (UINT64_C(1) << (kind))
#define ACTIVITY                                                                                   \
	(BIT(CUPTI_KERNEL) | BIT(CUPTI_MEMCPY) | BIT(CUPTI_MEMCPY_P2P) | BIT(CUPTI_MEMSET) |       \
	 BIT(CUPTI_SYNC) | BIT(CUPTI_DRIVER) | BIT(CUPTI_RUNTIME))

static void start(void)
{
	cupti.GetCallbackName = get_name;
	cupti.Subscribe = subscribe;
	cupti.EnableCallback = enable_callback;
	cupti.ActivityEnable = enable;
	cupti.ActivityDisable = disable;
	cupti.ActivityFlushAll = flush;
	cupti.ActivityRegisterTimestampCallback = timestamps;
	cupti.ActivityRegisterCallbacks = buffers;
	cupti.SetThreadIdType = thread_ids;
	CHECK(cupti_callbacks_start() == CUPTI_OK);
	CHECK(cupti_activity_start(pasta_agent_active()) == CUPTI_OK);
	CHECK(!cupti_follow_start(pasta_agent_active()));
}

static bool soon(_Atomic uint64_t *word, uint64_t value)
{
	for (int i = 0; i < 5000 && atomic_load(word) != value; i++)
		usleep(1000);
	return atomic_load(word) == value;
}

static void stops_and_starts(void)
{
	start();
	CHECK(on == (ACTIVITY | BIT(CUPTI_MEMORY)));
	pasta_agent_set_active(false);
	CHECK(on == BIT(CUPTI_MEMORY)); /* when it returns, not some time later */
	for (int i = 0; i < 5000 && !flushes; i++)
		usleep(1000);
	CHECK(flushes == 1);
	pasta_agent_set_active(false);
	pasta_agent_set_active(true);
	CHECK(on == (ACTIVITY | BIT(CUPTI_MEMORY)));
	cupti_follow_end();
	CHECK(flushes == 1);
}

static void activity_stops_with_recording_and_state_goes_on(void **state)
{
	(void)state;
	assert_int_equal(in_child(stops_and_starts), 0);
}

static void paused(void)
{
	start();
	CHECK(on == BIT(CUPTI_MEMORY));
	pasta_agent_set_active(true);
	CHECK(on == (ACTIVITY | BIT(CUPTI_MEMORY)));
}

static void a_paused_run_asks_for_no_activity_until_it_is_started(void **state)
{
	(void)state;
	setenv(PASTA_ENV_PAUSED, "1", 1);
	assert_int_equal(in_child(paused), 0);
	unsetenv(PASTA_ENV_PAUSED);
}

static void call(uint32_t id)
{
	struct cupti_call c = {.function = names[id]};

	callback(NULL, CUPTI_DRIVER_API, id, &c);
	c.site = 1;
	callback(NULL, CUPTI_DRIVER_API, id, &c);
}

static void profiler(void)
{
	start();
	call(PROFILER_STOP);
	CHECK(on == BIT(CUPTI_MEMORY));
	CHECK(!pasta_agent_active());
	call(PROFILER_START);
	CHECK(on == (ACTIVITY | BIT(CUPTI_MEMORY)));
	CHECK(pasta_agent_active());
}

static void cudas_own_calls_start_and_stop(void **state)
{
	(void)state;
	assert_int_equal(in_child(profiler), 0);
}

static void on_signal(int sig)
{
	(void)sig;
	pasta_agent_set_active(false);
}

/* The thread that holds CUPTI's lock is the one that the signal interrupts. */
static void interrupted(void)
{
	uint64_t begin;

	start();
	usleep(50000); /* its thread waits */
	signal(SIGUSR1, on_signal);
	atomic_store(&locked, 1);
	begin = pasta_now();
	raise(SIGUSR1);
	CHECK(pasta_now() - begin < UINT64_C(5000000000));
	CHECK(on & ACTIVITY);
	atomic_store(&locked, 0);
	CHECK(soon(&on, BIT(CUPTI_MEMORY)));
}

static void a_stop_in_a_signal_handler_does_not_wait_for_what_it_interrupted(void **state)
{
	(void)state;
	assert_int_equal(in_child(interrupted), 0);
}

static void in_a_fork(void)
{
	uint64_t begin;
	int status;
	pid_t pid;

	start();
	pid = fork();
	if (!pid) {
		begin = pasta_now();
		pasta_agent_set_active(false);
		_exit(pasta_now() - begin > UINT64_C(90000000));
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	CHECK(on == (ACTIVITY | BIT(CUPTI_MEMORY)));
}

static void a_forked_child_waits_for_nobody(void **state)
{
	(void)state;
	assert_int_equal(in_child(in_a_fork), 0);
}

static void windowed(void)
{
	start();
	CHECK(!(on & ACTIVITY));
	pasta_emit_lost(PASTA_LOSS_SOURCE, 1); /* what begins a recording, and with it the writer */
	CHECK(soon(&on, ACTIVITY | BIT(CUPTI_MEMORY)));
	CHECK(soon(&on, BIT(CUPTI_MEMORY)));
}

static void activity_is_asked_for_within_the_window_only(void **state)
{
	uint64_t now = pasta_now();
	char text[64];

	(void)state;
	snprintf(text, sizeof(text), "%llu-%llu", (unsigned long long)now + 300000000,
		 (unsigned long long)now + 900000000);
	setenv(PASTA_ENV_WINDOW, text, 1);
	assert_int_equal(in_child(windowed), 0);
	unsetenv(PASTA_ENV_WINDOW);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_run, remove_run)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(activity_stops_with_recording_and_state_goes_on),
		CASE(a_paused_run_asks_for_no_activity_until_it_is_started),
		CASE(cudas_own_calls_start_and_stop),
		CASE(a_stop_in_a_signal_handler_does_not_wait_for_what_it_interrupted),
		CASE(a_forked_child_waits_for_nobody),
		CASE(activity_is_asked_for_within_the_window_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
