/* test_pending.c - what waits for its other half, against an array in order of age. */
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

static void a_value_that_went_is_known_from_one_that_is_there(void **state)
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
	assert_ptr_equal(other, value); /* its memory is another's */
	assert_false(pasta_pending_is(value, 1, 7));
	assert_true(pasta_pending_is(value, 1, 8));
	pasta_pending_free(p);
}

enum { LIMIT = 20 };
static struct {
	uint32_t proc;
	uint64_t corr, value;
} wanted[LIMIT + 1]; /* the oldest first */
static size_t count;

static void forget(size_t i)
{
	memmove(&wanted[i], &wanted[i + 1], (--count - i) * sizeof(*wanted));
}

static size_t find(uint32_t proc, uint64_t corr)
{
	size_t i = 0;

	while (i < count && (wanted[i].proc != proc || wanted[i].corr != corr))
		i++;
	return i;
}

static void the_oldest_goes_when_it_is_full_as_in_an_array(void **state)
{
	struct pasta_pending *p = pasta_pending_new(sizeof(uint64_t), LIMIT);

	(void)state;
	for (uint64_t step = 1; step < 100000; step++) {
		uint32_t proc = (uint32_t)random_below(3);
		uint64_t corr = random_below(15), *value = pasta_pending_find(p, proc, corr);
		uint64_t what = random_below(5);
		size_t i = find(proc, corr);

		assert_property(value ? i < count && *value == wanted[i].value : i == count);
		if (!what) {
			if (i < count)
				forget(i);
			else if (count == LIMIT)
				forget(0);
			value = pasta_pending_renew(p, proc, corr);
			*value = wanted[count].value = step;
			wanted[count].proc = proc;
			wanted[count++].corr = corr;
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
			assert_property(*value == (i < count ? wanted[i].value : 0));
			*value = wanted[i].value = step;
			wanted[i].proc = proc;
			wanted[i].corr = corr;
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
		cmocka_unit_test(a_value_that_went_is_known_from_one_that_is_there),
		cmocka_unit_test(the_oldest_goes_when_it_is_full_as_in_an_array),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
