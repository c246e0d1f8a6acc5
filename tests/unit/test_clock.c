/* test_clock.c - the clock that is read often says what the kernel's says. */
#include "unit/support.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "collect/clock.h"

enum { READINGS = 3000000, THREADS = 4, SLACK = 1000 /* ns */ };

/* Between two readings of the kernel's, and never back. */
static void *read_often(void *arg)
{
	uint64_t last = 0, before, now, after;
	uintptr_t wrong = 0;

	(void)arg;
	for (int i = 0; i < READINGS / THREADS; i++) {
		before = pasta_now_exact();
		now = pasta_now();
		after = pasta_now_exact();
		wrong += now < last || now + SLACK < before || now > after + SLACK;
		last = now;
	}
	return (void *)wrong;
}

static void it_agrees_with_the_kernels_and_never_goes_back(void **state)
{
	pthread_t threads[THREADS];
	void *wrong;

	(void)state;
	pasta_clock_begin();
	pasta_clock_begin();
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_often, NULL), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &wrong);
		assert_int_equal((uintptr_t)wrong, 0);
	}
}

static volatile uint64_t seen_by_handler;

static void on_signal(int number)
{
	(void)number;
	seen_by_handler = pasta_now();
}

static void a_signal_handler_may_read_it_at_any_moment(void **state)
{
	const struct itimerval often = {{0, 50}, {0, 50}}, off = {{0, 0}, {0, 0}};
	struct sigaction sa = {.sa_handler = on_signal}, old;
	uint64_t last = 0, now = 0, handled = 0;

	(void)state;
	sigaction(SIGALRM, &sa, &old);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < READINGS; i++) {
		handled = seen_by_handler;
		now = pasta_now();
		if (now < last || now + SLACK < handled)
			break;
		last = now;
	}
	setitimer(ITIMER_REAL, &off, NULL);
	sigaction(SIGALRM, &old, NULL);
	assert_true(now >= last);
	assert_true(now + SLACK >= handled);
	assert_true(seen_by_handler > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_agrees_with_the_kernels_and_never_goes_back),
		cmocka_unit_test(a_signal_handler_may_read_it_at_any_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
