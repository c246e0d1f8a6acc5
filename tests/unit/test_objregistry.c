/* test_objregistry.c - registers driver segments and the blocks of a framework in them. */
/* labels: onethread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pasta/device.h>

#include "collect/objregistry.h"

enum { SEGMENT = 0x10000, BYTES = 0x4000, BLOCK = 0x1000 };

static uint32_t added;

static void on_new(const struct pasta_objreg_object *object)
{
	assert_true(object->id >= PASTA_OBJECT_FIRST);
	added++;
}

static uint64_t add_object(struct pasta_objreg *t, uint64_t addr, uint64_t bytes)
{
	struct pasta_objreg_object o = {.alloc = addr, .addr = addr, .bytes = bytes};

	assert_int_equal(pasta_objreg_add(t, &o, on_new), 0);
	return o.id;
}

static uint64_t at(struct pasta_objreg *t, uint64_t addr)
{
	const struct pasta_version *v = pasta_objreg_acquire(t);
	struct pasta_object_part place = pasta_version_find(v, addr);

	pasta_objects_unpin(v);
	return place.object;
}

static struct pasta_objreg *made(void)
{
	struct pasta_objreg *t = pasta_objreg_new();

	assert_non_null(t);
	added = 0;
	return t;
}

static void a_block_replaces_the_segment_that_contains_it(void **state)
{
	struct pasta_objreg *t = made();
	uint64_t segment = add_object(t, SEGMENT, BYTES), block;

	(void)state;
	assert_int_equal(at(t, SEGMENT + BLOCK), segment);
	block = add_object(t, SEGMENT + BLOCK, BLOCK);
	assert_int_not_equal(block, segment);
	assert_int_equal(at(t, SEGMENT + BLOCK), block);
	assert_int_equal(at(t, SEGMENT), PASTA_OBJECT_NONE);
	assert_int_equal(added, 2);
	pasta_objreg_free(t);
}

static void unregistering_a_segment_does_not_unregister_its_blocks(void **state)
{
	struct pasta_objreg *t = made();
	uint64_t segment = add_object(t, SEGMENT, BYTES);
	uint64_t first = add_object(t, SEGMENT, BLOCK),
		 second = add_object(t, SEGMENT + BLOCK, BLOCK);

	(void)state;
	pasta_objreg_unregister(t, SEGMENT, segment);
	assert_int_equal(at(t, SEGMENT), first);
	assert_int_equal(at(t, SEGMENT + BLOCK), second);
	pasta_objreg_free(t);
}

static void unregistering_a_replaced_segment_does_nothing(void **state)
{
	struct pasta_objreg *t = made();
	uint64_t segment = add_object(t, SEGMENT, BYTES),
		 block = add_object(t, SEGMENT + BLOCK, BLOCK);

	(void)state;
	pasta_objreg_unregister(t, SEGMENT, segment);
	assert_int_equal(at(t, SEGMENT + BLOCK), block);
	pasta_objreg_free(t);
}

static void a_block_as_long_as_its_segment_is_the_same_object_until_it_is_unregistered(void **state)
{
	struct pasta_objreg *t = made();
	uint64_t segment = add_object(t, SEGMENT, BYTES), again;

	(void)state;
	assert_int_equal(add_object(t, SEGMENT, BYTES), segment);
	pasta_objreg_unregister(t, SEGMENT, 0);
	assert_int_equal(at(t, SEGMENT), PASTA_OBJECT_NONE);
	again = add_object(t, SEGMENT, BYTES);
	assert_int_not_equal(again, segment);
	pasta_objreg_unregister(t, SEGMENT, segment);
	assert_int_equal(at(t, SEGMENT), again);
	pasta_objreg_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_replaces_the_segment_that_contains_it),
		cmocka_unit_test(unregistering_a_segment_does_not_unregister_its_blocks),
		cmocka_unit_test(unregistering_a_replaced_segment_does_nothing),
		cmocka_unit_test(
			a_block_as_long_as_its_segment_is_the_same_object_until_it_is_unregistered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
