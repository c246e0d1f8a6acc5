/* test_sumpool.c - sums that are acquired, released and acquired again. */
/* labels: onethread */
#include "unit/support.h"

#include "collect/sumpool.h"

#define REDUCERS (PASTA_REDUCER_MASK(OBJECT) | PASTA_REDUCER_MASK(PAGE))
enum { PAGES = 100000 };

static void free_pool(struct pasta_sumpool *p)
{
	assert_int_equal(p->pooled, p->count);
	for (uint32_t i = 0; i < p->pooled; i++)
		pasta_sums_free(p->sums[i]);
}

static void the_pool_is_limited(void **state)
{
	struct pasta_sumpool pool = {.reducers = REDUCERS};
	struct pasta_sums *acquired[PASTA_SUMPOOL];

	for (int i = 0; i < PASTA_SUMPOOL; i++) {
		acquired[i] = pasta_sumpool_acquire(&pool);
		assert_non_null(acquired[i]);
		assert_int_equal(acquired[i]->reducers, REDUCERS);
	}
	assert_null(pasta_sumpool_acquire(&pool));
	pasta_sumpool_release(&pool, acquired[7]);
	pasta_sumpool_release(&pool, NULL);
	assert_ptr_equal(pasta_sumpool_acquire(&pool), acquired[7]);
	assert_null(pasta_sumpool_acquire(&pool));
	for (int i = 0; i < PASTA_SUMPOOL; i++)
		pasta_sumpool_release(&pool, acquired[i]);
	free_pool(&pool);
}

static void large_sums_are_reused_empty_and_small(void **state)
{
	struct pasta_sumpool pool = {.reducers = REDUCERS};
	struct pasta_sums *s = pasta_sumpool_acquire(&pool), *again;
	uint32_t room = s->tables[PASTA_REDUCER_PAGE].room;

	for (uint64_t i = 0; i < PAGES; i++)
		pasta_rows_at(&s->tables[PASTA_REDUCER_PAGE], i << 12, 0)->loads++;
	assert_true(s->tables[PASTA_REDUCER_PAGE].room >= PAGES);
	pasta_sumpool_release(&pool, s);
	again = pasta_sumpool_acquire(&pool);
	assert_ptr_equal(again, s);
	assert_int_equal(again->tables[PASTA_REDUCER_PAGE].count, 0);
	assert_int_equal(again->tables[PASTA_REDUCER_PAGE].room, room);
	assert_null(pasta_rows_find(&again->tables[PASTA_REDUCER_PAGE], 5 << 12, 0));
	pasta_sumpool_release(&pool, again);
	free_pool(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_pool_is_limited),
		cmocka_unit_test(large_sums_are_reused_empty_and_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
