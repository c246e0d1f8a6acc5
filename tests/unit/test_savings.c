/* test_savings.c - what findings save: each ns of a device counts once. */
/* labels: onethread */
#include "unit/support.h"

#include "unit/sample.h"

#define SAVES(r, out, ns, ...)                                                                     \
	do {                                                                                       \
		static const struct pasta_claim claims_[] = {__VA_ARGS__};                         \
		pasta_out_report((r).outs[out], .what = "w", .saving = (ns), .claims = claims_,    \
				 .claim_count = sizeof(claims_) / sizeof(*claims_));               \
	} while (0)

static void begin(struct pasta_result *r)
{
	memset(r, 0, sizeof(*r));
	pasta_result_out(r, "one");
	pasta_result_out(r, "two");
}

static void the_greatest_saving_claims_first_whatever_the_tool(void **state)
{
	struct pasta_result r;

	begin(&r);
	SAVES(r, 0, 100, {0, 0, 0, 100}, {0, 0, 200, 300});
	SAVES(r, 1, 150, {0, 0, 50, 250});
	SAVES(r, 1, 100, {0, 0, 90, 120}, {0, 0, 0, 10}, {0, 0, 290, 310});
	assert_int_equal(pasta_result_savings(&r), 0);
	assert_int_equal(r.outs[1]->disjoint[0], 150); /* of 200 claimed */
	assert_int_equal(r.outs[0]->disjoint[0], 100); /* 0-50 and 250-300 */
	assert_int_equal(r.outs[1]->disjoint[1], 10);  /* 300-310 */
	pasta_result_free(&r);
}

static void devices_and_processes_have_times_of_their_own(void **state)
{
	struct pasta_result r;

	begin(&r);
	SAVES(r, 0, 100, {0, 0, 0, 100});
	SAVES(r, 0, 90, {0, 1, 0, 100});
	SAVES(r, 0, 80, {1, 0, 0, 100});
	SAVES(r, 0, 70, {1, 0, 0, 100}, {0, 1, UINT64_MAX - 5, UINT64_MAX});
	assert_int_equal(pasta_result_savings(&r), 0);
	assert_int_equal(r.outs[0]->disjoint[0], 100);
	assert_int_equal(r.outs[0]->disjoint[1], 90);
	assert_int_equal(r.outs[0]->disjoint[2], 80);
	assert_int_equal(r.outs[0]->disjoint[3], 5);
	pasta_result_free(&r);
}

static void claims_of_one_finding_that_overlap_count_once(void **state)
{
	struct pasta_result r;

	begin(&r);
	SAVES(r, 0, 1000, {0, 0, 0, 60}, {0, 0, 50, 100}, {0, 0, 0, 10});
	pasta_out_report(r.outs[0], .what = "no claims", .saving = 5);
	pasta_out_report(r.outs[0], .what = "nothing");
	assert_int_equal(pasta_result_savings(&r), 0);
	assert_int_equal(r.outs[0]->disjoint[0], 100);
	assert_true(r.outs[0]->disjoint[1] == UINT64_MAX);
	assert_true(r.outs[0]->disjoint[2] == UINT64_MAX);
	pasta_result_free(&r);
}

/* Against ns that are given away one by one. */
static void random_claims_are_as_if_each_ns_were_given_away(void **state)
{
	enum { FINDINGS = 8, CLAIMS = 5, TIME = 64 };
	struct pasta_result r;

	for (int turn = 0; turn < 200; turn++) {
		bool taken[2][TIME] = {{0}};

		begin(&r);
		for (int i = 0; i < FINDINGS; i++) {
			struct pasta_claim claims[CLAIMS];

			for (int k = 0; k < CLAIMS; k++) {
				uint64_t begins = random_below(TIME - 1);

				claims[k] = (struct pasta_claim){
					0, (uint32_t)random_below(2), begins,
					begins + 1 + random_below(TIME - 1 - begins)};
			}
			pasta_out_report(r.outs[i % 2], .what = "w", .saving = (uint64_t)(1000 - i),
					 .claims = claims, .claim_count = CLAIMS);
		}
		assert_int_equal(pasta_result_savings(&r), 0);
		for (int i = 0; i < FINDINGS; i++) {
			const struct pasta_finding *f = &r.outs[i % 2]->findings[i / 2];
			uint64_t own = 0;

			for (int k = 0; k < CLAIMS; k++)
				for (uint64_t t = f->claims[k].begin; t < f->claims[k].end; t++) {
					own += !taken[f->claims[k].device][t];
					taken[f->claims[k].device][t] = true;
				}
			assert_int_equal(r.outs[i % 2]->disjoint[i / 2], own);
		}
		pasta_result_free(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_greatest_saving_claims_first_whatever_the_tool),
		cmocka_unit_test(devices_and_processes_have_times_of_their_own),
		cmocka_unit_test(claims_of_one_finding_that_overlap_count_once),
		cmocka_unit_test(random_claims_are_as_if_each_ns_were_given_away),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
