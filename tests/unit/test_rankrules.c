/* test_rankrules.c - tests the findings about late ranks, communication and anomalous steps. */
/* labels: onethread */
#include "unit/support.h"

#include "core/strings.h"
#include "process/diagnosis/diagnosis.h"
#include "process/join/reader.h"

static struct pasta_diagnosis *d;
static uint64_t next_corr;

static int setup(void **state)
{
	(void)state;
	d = pasta_diagnosis_new();
	return d ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	pasta_diagnosis_free(d);
	return 0;
}

static void send_event(struct pasta_event ev, unsigned int kind, uint32_t proc, uint64_t time)
{
	const struct pasta_where where = {.size = sizeof(where), .iteration = PASTA_NO_ITERATION};

	ev.size = sizeof(ev);
	ev.kind = (uint8_t)kind;
	ev.proc = proc;
	ev.tid = 1;
	ev.time = time;
	pasta_diagnosis_event(d, &ev, &where);
}

static void iteration(uint32_t proc, uint64_t time, uint64_t index)
{
	send_event((struct pasta_event){.iteration.index = index}, PASTA_KIND_ITERATION, proc,
		   time);
}

static void kernel(uint32_t proc, uint64_t time, uint64_t dur, uint64_t seq)
{
	if (seq)
		send_event((struct pasta_event){.collective.corr = ++next_corr,
						.collective.seq = seq},
			   PASTA_KIND_COLLECTIVE, proc, time);
	send_event((struct pasta_event){.kernel.corr = seq ? next_corr : 0, .kernel.dur = dur},
		   PASTA_KIND_KERNEL, proc, time);
}

/* Returns the answer of a rule about a device, or NULL. */
static const struct pasta_answer *answer(uint32_t rule, uint32_t proc)
{
	const struct pasta_answer *a;

	for (size_t at = 0; (a = pasta_diagnosis_answer(d, &at));)
		if (a->rule == rule && a->proc == proc)
			return a;
	return NULL;
}

/* Two ranks; rank 1 arrives 200 ns after rank 0 at each collective, which then takes 100 ns. */
static void a_late_rank_claims_the_waits_and_communication_claims_the_rest(void **state)
{
	const struct pasta_answer *a;

	(void)state;
	for (uint64_t i = 0; i < 40; i++)
		for (uint32_t proc = 0; proc < 2; proc++) {
			uint64_t time = 1000 * (i + 1);

			iteration(proc, time, i);
			kernel(proc, time, proc ? 700 : 500, 0);
			kernel(proc, time + (proc ? 700 : 500), proc ? 100 : 300, i + 1);
			kernel(proc, time + 800, 200, 0);
		}
	assert_int_equal(pasta_diagnosis_finish(d), 0);
	/* The window has 38 steps of 1000 ns. */
	a = answer(PASTA_RULE_STRAGGLER, 0);
	assert_non_null(a);
	assert_int_equal(a->saving, 38 * 200);
	assert_true(a->share > 19.99 && a->share < 20.01);
	assert_string_equal(a->where, "#1");
	assert_string_equal(a->evidence, "late in 38 of 38 collectives");
	assert_int_equal(a->steps, 38);
	assert_null(answer(PASTA_RULE_STRAGGLER, 1));
	/* Both devices communicate for 100 ns in each step. */
	a = answer(PASTA_RULE_COMMUNICATION, 0);
	a = a ? a : answer(PASTA_RULE_COMMUNICATION, 1);
	assert_non_null(a);
	assert_int_equal(a->saving, 38 * 100);
	assert_null(answer(PASTA_RULE_ANOMALY, 0));
}

static void anomalous_steps_claim_the_time_that_kernels_take_longer(void **state)
{
	const struct pasta_answer *a;
	uint64_t time = 1000000;

	(void)state;
	for (uint64_t i = 0; i < 40; i++) {
		uint64_t dur = i == 20 ? 5000 : i == 30 ? 3000 : 1000;

		iteration(0, time, i);
		kernel(0, time, dur, 0);
		time += dur;
	}
	assert_int_equal(pasta_diagnosis_finish(d), 0);
	a = answer(PASTA_RULE_ANOMALY, 0);
	assert_non_null(a);
	assert_int_equal(a->saving, 6000);
	assert_string_equal(a->evidence,
			    "2 of 38 steps, the longest by 4.00 us, mostly in compute");
}

/* The gap is before the kernel of step 20, and no other step has a gap. */
static void anomalous_steps_claim_rare_idle_time(void **state)
{
	const struct pasta_answer *a;
	uint64_t time = 1000000;

	(void)state;
	for (uint64_t i = 0; i < 40; i++) {
		iteration(0, time, i);
		time += i == 20 ? 7000 : 0;
		kernel(0, time, 1000, 0);
		time += 1000;
	}
	assert_int_equal(pasta_diagnosis_finish(d), 0);
	a = answer(PASTA_RULE_ANOMALY, 0);
	assert_non_null(a);
	assert_int_equal(a->saving, 7000);
	assert_string_equal(a->evidence,
			    "1 of 38 steps, the longest by 7.00 us, mostly in idle: unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_late_rank_claims_the_waits_and_communication_claims_the_rest, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			anomalous_steps_claim_the_time_that_kernels_take_longer, setup, teardown),
		cmocka_unit_test_setup_teardown(anomalous_steps_claim_rare_idle_time, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
