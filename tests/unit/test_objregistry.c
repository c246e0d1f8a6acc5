/* test_objregistry.c - objects that are told of: by the driver as segments, by a framework as pieces. */
/* labels: onethread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pasta/device.h>

#include "collect/objregistry.h"

enum { SEGMENT = 0x10000, BYTES = 0x4000, PIECE = 0x1000 };

static uint32_t told_of;

static void on_new(const struct pasta_objreg_object *object)
{
	assert_true(object->id >= PASTA_OBJECT_FIRST);
	told_of++;
}

static uint64_t tell(struct pasta_objreg *t, uint64_t addr, uint64_t bytes)
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
	told_of = 0;
	return t;
}

static void a_piece_takes_the_place_of_the_segment_that_it_lies_in(void **state)
{
	struct pasta_objreg *t = made();
	uint64_t segment = tell(t, SEGMENT, BYTES), piece;

	(void)state;
	assert_int_equal(at(t, SEGMENT + PIECE), segment);
	piece = tell(t, SEGMENT + PIECE, PIECE);
	assert_int_not_equal(piece, segment);
	assert_int_equal(at(t, SEGMENT + PIECE), piece);
	assert_int_equal(at(t, SEGMENT), PASTA_OBJECT_NONE);
	assert_int_equal(told_of, 2);
	pasta_objreg_free(t);
}

static void the_end_of_a_segment_leaves_pieces_alone(void **state)
{
	struct pasta_objreg *t = made();
	uint64_t segment = tell(t, SEGMENT, BYTES);
	uint64_t first = tell(t, SEGMENT, PIECE), second = tell(t, SEGMENT + PIECE, PIECE);

	(void)state;
	pasta_objreg_unregister(t, SEGMENT, segment);
	assert_int_equal(at(t, SEGMENT), first);
	assert_int_equal(at(t, SEGMENT + PIECE), second);
	pasta_objreg_free(t);
}

static void the_end_of_a_segment_whose_first_piece_is_not_at_its_begin_is_none(void **state)
{
	struct pasta_objreg *t = made();
	uint64_t segment = tell(t, SEGMENT, BYTES), piece = tell(t, SEGMENT + PIECE, PIECE);

	(void)state;
	pasta_objreg_unregister(t, SEGMENT, segment);
	assert_int_equal(at(t, SEGMENT + PIECE), piece);
	pasta_objreg_free(t);
}

static void a_piece_as_long_as_its_segment_is_the_same_object_once_and_then_another(void **state)
{
	struct pasta_objreg *t = made();
	uint64_t segment = tell(t, SEGMENT, BYTES), again;

	(void)state;
	assert_int_equal(tell(t, SEGMENT, BYTES), segment);
	pasta_objreg_unregister(t, SEGMENT, 0);
	assert_int_equal(at(t, SEGMENT), PASTA_OBJECT_NONE);
	again = tell(t, SEGMENT, BYTES);
	assert_int_not_equal(again, segment);
	pasta_objreg_unregister(t, SEGMENT, segment);
	assert_int_equal(at(t, SEGMENT), again);
	pasta_objreg_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_piece_takes_the_place_of_the_segment_that_it_lies_in),
		cmocka_unit_test(the_end_of_a_segment_leaves_pieces_alone),
		cmocka_unit_test(
			the_end_of_a_segment_whose_first_piece_is_not_at_its_begin_is_none),
		cmocka_unit_test(
			a_piece_as_long_as_its_segment_is_the_same_object_once_and_then_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
