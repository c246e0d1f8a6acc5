/* test_clock.c - pasta_now agrees with the kernel's clock. */
#include "unit/support.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "collect/clock.h"

enum { READINGS = 3000000, THREADS = 4, SLACK = 1000 /* ns */ };

/* Between two readings of the kernel's clock, and never back. */
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

static void the_clock_agrees_with_the_kernels_and_never_goes_back(void **state)
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

#ifdef __x86_64__
static void on_signal_ask(int number)
{
	(void)number;
	seen_by_handler = pasta_clock_sample();
}
#endif

/* A signal handler reads the clock at any point of the program's reading. Readings never go back,
 * are at least what a handler read before, and are not ahead. ask: every other reading samples the
 * kernel's clock. */
static void read_under_signals(void (*handler)(int), uint64_t (*ask)(void))
{
	const struct itimerval often = {{0, 50}, {0, 50}}, off = {{0, 0}, {0, 0}};
	struct sigaction sa = {.sa_handler = handler}, old;
	uint64_t last = 0, now = 0, handled = 0, exact = 0;

	seen_by_handler = 0;
	sigaction(SIGALRM, &sa, &old);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < READINGS; i++) {
		handled = seen_by_handler;
		now = ask && i % 2 ? ask() : pasta_now();
		exact = i % 16 ? UINT64_MAX - SLACK : pasta_now_exact();
		if (now < last || now + SLACK < handled || now > exact + SLACK)
			break;
		last = now;
	}
	setitimer(ITIMER_REAL, &off, NULL);
	sigaction(SIGALRM, &old, NULL);
	assert_true(now >= last);
	assert_true(now + SLACK >= handled);
	assert_true(now <= exact + SLACK);
	assert_true(seen_by_handler > 0);
}

static void a_signal_handler_may_read_the_clock_at_any_moment(void **state)
{
	(void)state;
	read_under_signals(on_signal, NULL);
#ifdef __x86_64__
	read_under_signals(on_signal_ask, pasta_clock_sample);
	read_under_signals(on_signal, pasta_clock_sample);
	read_under_signals(on_signal_ask, NULL);
#endif
}

#ifdef __x86_64__
/* The state that a handler finds when it interrupts a sample: with complete values, and with half-
 * written ones. */
static void a_handler_does_not_change_an_interrupted_sample(void **state)
{
	struct pasta_ticks *c = &pasta_ticks_here, before;
	uint64_t latest, future;

	(void)state;
	pasta_clock_begin();
	latest = pasta_now();
	c->sampling = true;
	c->nested = false;
	for (int half = 0; half < 2; half++) {
		future = pasta_now_exact() + 1000 * SLACK;
		c->least = half ? future : 0;
		before = *c;
		assert_true(pasta_clock_sample() >= (half ? future : latest));
		assert_true(c->nested);
		assert_int_equal(c->span, before.span);
		assert_int_equal(c->ticks, before.ticks);
		assert_int_equal(c->raw, before.raw);
		assert_int_equal(c->rate, before.rate);
		c->nested = false;
	}
	c->least = 0;
	c->sampling = false;
}

static void on_signal_idle(int number)
{
	(void)number;
}

/* The sample took too long to extrapolate from, and the previous values are older than its
 * result. */
static void after_a_sample_the_clock_does_not_return_older_times(void **state)
{
	const struct itimerval often = {{0, 50}, {0, 50}}, off = {{0, 0}, {0, 0}};
	struct sigaction sa = {.sa_handler = on_signal_idle}, old;
	const struct pasta_ticks *c = &pasta_ticks_here;
	uint64_t ticks, wrong = 0;

	(void)state;
	pasta_clock_begin();
	sigaction(SIGALRM, &sa, &old);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < READINGS / 4; i++) {
		ticks = c->ticks;
		pasta_clock_sample();
		wrong += c->span && c->ticks == ticks;
	}
	setitimer(ITIMER_REAL, &off, NULL);
	sigaction(SIGALRM, &old, NULL);
	assert_int_equal(wrong, 0);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_clock_agrees_with_the_kernels_and_never_goes_back),
		cmocka_unit_test(a_signal_handler_may_read_the_clock_at_any_moment),
#ifdef __x86_64__
		cmocka_unit_test(a_handler_does_not_change_an_interrupted_sample),
		cmocka_unit_test(after_a_sample_the_clock_does_not_return_older_times),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
