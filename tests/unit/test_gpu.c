/* test_gpu.c - the patches and counters of gpu.h, in C. The header asserts its own layout.
 */
/* labels: onethread */
#include "unit/support.h"

#include "reduce/gpu.h"

struct patch {
	uint32_t id;
	const char *name;
	uint32_t classes;
};
#define PATCH(id, name, classes) {id, #name, classes},
static const struct patch patches[] = {PASTA_GPU_PATCHES(PATCH)};
enum { PATCHES = sizeof(patches) / sizeof(patches[0]) };

static void each_patch_has_a_number_and_a_name_of_its_own(void **state)
{
	for (int i = 0; i < PATCHES; i++) {
		assert_true(i == 0 || patches[i].id > patches[i - 1].id);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(patches[i].name, patches[k].name);
	}
}

static void each_patch_is_of_one_class(void **state)
{
	for (int i = 0; i < PATCHES; i++) {
		uint32_t classes = patches[i].classes;

		assert_true(classes && classes <= PASTA_GPU_BARRIER && !(classes & (classes - 1)));
	}
}

static void each_kind_and_size_has_a_counter_of_its_own(void **state)
{
	uint32_t seen = 0;

	for (uint32_t kind = PASTA_ACCESS_LOAD; kind <= PASTA_ACCESS_ATOMIC; kind++)
		for (uint32_t size = 0; size < PASTA_GPU_SIZES; size++) {
			uint32_t bit = 1u << PASTA_GPU_OF(kind, size);

			assert_false(seen & bit);
			seen |= bit;
		}
	assert_int_equal(seen, (1u << PASTA_GPU_LOADS) - 1);
	assert_true((int)PASTA_GPU_WRITTEN < (int)PASTA_GPU_COUNTERS);
}

static void slots_of_objects_of_no_object_and_of_spaces_are_distinct(void **state)
{
	for (uint32_t count = 0; count < 3; count++) {
		assert_int_equal(PASTA_GPU_NOWHERE(count), count);
		assert_true(PASTA_GPU_SPACE(count, 0) > PASTA_GPU_NOWHERE(count));
		assert_true(PASTA_GPU_SPACE(count, PASTA_SPACE_COUNT - 1) < PASTA_GPU_PARTS(count));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_patch_has_a_number_and_a_name_of_its_own),
		cmocka_unit_test(each_patch_is_of_one_class),
		cmocka_unit_test(each_kind_and_size_has_a_counter_of_its_own),
		cmocka_unit_test(slots_of_objects_of_no_object_and_of_spaces_are_distinct),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
