/* test_scope.c - scopes: paths of nested regions and operators. */
/* labels: onethread */
#include "unit/support.h"

#include "core/strings.h"
#include "process/join/scope.h"

static const struct pasta_scope *below(const struct pasta_scope *up, unsigned int kind,
				       const char *name)
{
	const struct pasta_scope *scope =
		pasta_scope_below(up, kind, pasta_strings_add(name, strlen(name)));

	assert_non_null(scope);
	return scope;
}

static void a_scope_is_one_object_and_found_by_its_id(void **state)
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

static void operators_are_one_scope_whatever_regions_are_between(void **state)
{
	const struct pasta_scope *region = below(NULL, PASTA_KIND_REGION, "step 1"),
				 *linear = below(region, PASTA_KIND_OP_BEGIN, "linear"),
				 *deeper = below(below(linear, PASTA_KIND_REGION, "r"),
						 PASTA_KIND_OP_BEGIN, "addmm"),
				 *alone = below(NULL, PASTA_KIND_OP_BEGIN, "linear"),
				 *addmm = below(alone, PASTA_KIND_OP_BEGIN, "addmm");
	char text[64], few[8];

	assert_null(region->ops);
	assert_ptr_equal(alone->ops, alone);
	assert_ptr_not_equal(linear, alone);
	assert_ptr_equal(linear->ops, alone);
	assert_ptr_equal(deeper->ops, addmm);
	assert_ptr_equal(below(deeper, PASTA_KIND_REGION, "s")->ops, addmm);
	assert_ptr_equal(pasta_scope_find(deeper->id), deeper);
	assert_string_equal(pasta_scope_ops(deeper, text, sizeof(text)), "linear/addmm");
	assert_string_equal(pasta_scope_ops(addmm, few, sizeof(few)), "linear/");
	assert_string_equal(pasta_scope_regions(deeper, text, sizeof(text)), "step 1/r");
	assert_string_equal(pasta_scope_ops(region, text, sizeof(text)), "");
	assert_string_equal(pasta_scope_ops(NULL, text, sizeof(text)), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_scope_is_one_object_and_found_by_its_id),
		cmocka_unit_test(a_path_has_the_regions_whatever_operators_are_between),
		cmocka_unit_test(operators_are_one_scope_whatever_regions_are_between),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
