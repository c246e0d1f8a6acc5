/* test_blocks.c - the buckets of block durations. */
/* labels: onethread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reduce/gpu.h"

static void times_below_eight_have_buckets_of_their_own(void **state)
{
	(void)state;
	for (uint64_t ns = 0; ns < 8; ns++)
		assert_int_equal(pasta_block_bucket(ns), ns);
}

static void an_octave_has_eight_buckets_named_by_their_least(void **state)
{
	uint64_t last = 0;

	(void)state;
	for (uint32_t octave = 3; octave < 20; octave++) {
		uint32_t buckets = 0;

		for (uint64_t ns = UINT64_C(1) << octave; ns < UINT64_C(2) << octave; ns++) {
			uint64_t bucket = pasta_block_bucket(ns);

			assert_true(bucket <= ns && ns - bucket < UINT64_C(1) << (octave - 3));
			assert_int_equal(pasta_block_bucket(bucket), bucket);
			buckets += bucket != last;
			last = bucket;
		}
		assert_int_equal(buckets, 8);
	}
}

static void the_longest_time_has_a_bucket(void **state)
{
	(void)state;
	assert_true(pasta_block_bucket(UINT64_MAX) == UINT64_C(0xf) << 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_below_eight_have_buckets_of_their_own),
		cmocka_unit_test(an_octave_has_eight_buckets_named_by_their_least),
		cmocka_unit_test(the_longest_time_has_a_bucket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
