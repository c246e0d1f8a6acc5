/* test_scope.c - places in the nesting of regions and operators. */
/* labels: onethread */
#include "unit/support.h"

#include "core/strings.h"
#include "process/scope.h"

static const struct pasta_scope *below(const struct pasta_scope *up, unsigned int kind,
				       const char *name)
{
	const struct pasta_scope *scope =
		pasta_scope_below(up, kind, pasta_strings_add(name, strlen(name)));

	assert_non_null(scope);
	return scope;
}

static void a_place_is_one_object_and_found_by_its_id(void **state)
{
	const struct pasta_scope *a = below(NULL, PASTA_KIND_REGION, "a"),
				 *op = below(a, PASTA_KIND_OP_BEGIN, "a");

	assert_ptr_equal(below(NULL, PASTA_KIND_REGION, "a"), a);
	assert_ptr_not_equal(op, a);
	assert_ptr_equal(pasta_scope_find(a->id), a);
	assert_ptr_equal(pasta_scope_find(op->id), op);
	assert_null(pasta_scope_find(0));
	assert_null(pasta_scope_find(UINT32_MAX));
}

static void a_path_has_the_regions_whatever_operators_are_between(void **state)
{
	const struct pasta_scope *op = below(NULL, PASTA_KIND_OP_BEGIN, "first"),
				 *inside = below(op, PASTA_KIND_REGION, "b"),
				 *deeper = below(below(inside, PASTA_KIND_OP_BEGIN, "x"),
						 PASTA_KIND_REGION, "c"),
				 *b = below(NULL, PASTA_KIND_REGION, "b"),
				 *c = below(b, PASTA_KIND_REGION, "c");

	assert_null(op->path);
	assert_ptr_equal(b->path, b);
	assert_ptr_equal(c->path, c);
	assert_ptr_not_equal(inside, b);
	assert_ptr_equal(inside->path, b);
	assert_ptr_equal(deeper->path, c);
	assert_ptr_equal(below(deeper, PASTA_KIND_OP_BEGIN, "y")->path, c);
	assert_ptr_equal(pasta_scope_find(deeper->id), deeper);
	assert_ptr_equal(pasta_scope_find(c->id), c);
}

static void an_operators_path_has_the_operators_whatever_regions_are_between(void **state)
{
	const struct pasta_scope *region = below(NULL, PASTA_KIND_REGION, "step 1"),
				 *inside = below(region, PASTA_KIND_OP_BEGIN, "linear"),
				 *deeper = below(below(inside, PASTA_KIND_REGION, "gemm"),
						 PASTA_KIND_OP_BEGIN, "addmm"),
				 *linear = below(NULL, PASTA_KIND_OP_BEGIN, "linear"),
				 *addmm = below(linear, PASTA_KIND_OP_BEGIN, "addmm");

	assert_null(region->op_path);
	assert_ptr_equal(linear->op_path, linear);
	assert_ptr_equal(addmm->op_path, addmm);
	assert_ptr_not_equal(inside, linear);
	assert_ptr_equal(inside->op_path, linear);
	assert_ptr_equal(deeper->op_path, addmm);
	assert_ptr_equal(below(deeper, PASTA_KIND_REGION, "y")->op_path, addmm);
	assert_ptr_equal(pasta_scope_find(addmm->id), addmm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_place_is_one_object_and_found_by_its_id),
		cmocka_unit_test(a_path_has_the_regions_whatever_operators_are_between),
		cmocka_unit_test(an_operators_path_has_the_operators_whatever_regions_are_between),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
