/* test_pending.c - compares the table of pending values with an array in order of age. */
/* labels: onethread */
#include "unit/support.h"

#include "core/pending.h"

static void processes_do_not_share_correlations(void **state)
{
	struct pasta_pending *p = pasta_pending_new(sizeof(uint64_t), 100);
	uint64_t *value = pasta_pending_add(p, 1, 7);

	(void)state;
	assert_int_equal(*value, 0);
	*value = 42;
	assert_null(pasta_pending_find(p, 2, 7));
	assert_null(pasta_pending_find(p, 1, 8));
	*(uint64_t *)pasta_pending_add(p, 2, 7) = 43;
	assert_ptr_equal(pasta_pending_find(p, 1, 7), value);
	assert_ptr_equal(pasta_pending_add(p, 1, 7), value);
	assert_int_equal(*value, 42);
	pasta_pending_remove(p, 1, 7);
	pasta_pending_remove(p, 1, 7);
	pasta_pending_remove(p, 3, 7);
	assert_null(pasta_pending_find(p, 1, 7));
	assert_int_equal(*(uint64_t *)pasta_pending_find(p, 2, 7), 43);
	assert_int_equal(pasta_pending_count(p), 1);
	pasta_pending_free(p);
	pasta_pending_free(NULL);
}

static void a_removed_value_differs_from_a_live_one(void **state)
{
	struct pasta_pending *p = pasta_pending_new(sizeof(uint64_t), 100);
	void *value = pasta_pending_add(p, 1, 7), *other;

	(void)state;
	assert_true(pasta_pending_is(value, 1, 7));
	assert_false(pasta_pending_is(value, 2, 7));
	assert_false(pasta_pending_is(value, 1, 8));
	pasta_pending_drop(p, value);
	assert_false(pasta_pending_is(value, 1, 7));
	other = pasta_pending_renew(p, 1, 8);
	assert_ptr_equal(other, value); /* its memory was reused */
	assert_false(pasta_pending_is(value, 1, 7));
	assert_true(pasta_pending_is(value, 1, 8));
	pasta_pending_free(p);
}

enum { LIMIT = 20 };
static struct {
	uint32_t proc;
	uint64_t corr, value;
} expected[LIMIT + 1]; /* the oldest first */
static size_t count;

static void forget(size_t i)
{
	memmove(&expected[i], &expected[i + 1], (--count - i) * sizeof(*expected));
}

static size_t find(uint32_t proc, uint64_t corr)
{
	size_t i = 0;

	while (i < count && (expected[i].proc != proc || expected[i].corr != corr))
		i++;
	return i;
}

static void a_full_table_drops_the_oldest_as_an_array_does(void **state)
{
	struct pasta_pending *p = pasta_pending_new(sizeof(uint64_t), LIMIT);

	(void)state;
	for (uint64_t step = 1; step < 100000; step++) {
		uint32_t proc = (uint32_t)random_below(3);
		uint64_t corr = random_below(15), *value = pasta_pending_find(p, proc, corr);
		uint64_t what = random_below(5);
		size_t i = find(proc, corr);

		assert_property(value ? i < count && *value == expected[i].value : i == count);
		if (!what) {
			if (i < count)
				forget(i);
			else if (count == LIMIT)
				forget(0);
			value = pasta_pending_renew(p, proc, corr);
			*value = expected[count].value = step;
			expected[count].proc = proc;
			expected[count++].corr = corr;
		} else if (what == 1) {
			if (!value)
				continue;
			pasta_pending_drop(p, value);
			forget(i);
		} else if (what < 4) {
			if (i == count && count == LIMIT)
				forget(0);
			i = find(proc, corr);
			value = pasta_pending_add(p, proc, corr);
			assert_property(*value == (i < count ? expected[i].value : 0));
			*value = expected[i].value = step;
			expected[i].proc = proc;
			expected[i].corr = corr;
			count += i == count;
		} else {
			pasta_pending_remove(p, proc, corr);
			if (i < count)
				forget(i);
		}
		assert_property(pasta_pending_count(p) == count);
	}
	pasta_pending_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_do_not_share_correlations),
		cmocka_unit_test(a_removed_value_differs_from_a_live_one),
		cmocka_unit_test(a_full_table_drops_the_oldest_as_an_array_does),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
