/* test_abi.c - the tool interface still has the layout that its releases froze. */
#include "unit/support.h"

#include <pasta/tool.h>

#define PASTA_GROWN(type, bytes)                                                                   \
	PASTA_STATIC_ASSERT(sizeof(type) >= (bytes), #type " has become smaller");
#define PASTA_NUMBERED(enumerator, number)                                                         \
	PASTA_STATIC_ASSERT((enumerator) == (number), #enumerator " has another number");
#undef PASTA_FROZEN
#define PASTA_FROZEN(type, member, offset)                                                         \
	PASTA_STATIC_ASSERT(offsetof(type, member) == (offset), #type "." #member " has moved");

#include "../../share/abi/1.0/layout.def"

static void a_member_newer_than_the_other_side_is_absent(void **state)
{
	struct pasta_where where = {.size = offsetof(struct pasta_where, launched)};

	assert_true(PASTA_HAS(&where, op));
	assert_false(PASTA_HAS(&where, launched));
	where.size = sizeof(where);
	assert_true(PASTA_HAS(&where, scope_id));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_member_newer_than_the_other_side_is_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
