/* test_topk.c - the SDK's heaviest keys, against an array of true counts. */
/* labels: onethread */
#include "unit/support.h"

enum { KEYS = 500, SHARDS = 6 };

static uint64_t truth[KEYS], truth_total;

static void forget(void)
{
	memset(truth, 0, sizeof(truth));
	truth_total = 0;
}

/* Keys as programs have them: few are heavy. */
static uint64_t any_key(void)
{
	return random_below(1 + random_below(1 + random_below(KEYS)));
}

static void add_random(struct pasta_topk *t, size_t count, uint64_t heaviest)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t key = any_key(), weight = random_below(heaviest + 1);

		assert_int_equal(pasta_topk_add(t, key, weight), 0);
		truth[key] += weight;
		truth_total += weight;
	}
}

static int by_weight(const void *a, const void *b)
{
	const struct pasta_topk_item *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

/* All that have weight, in order. */
static size_t true_items(struct pasta_topk_item *items)
{
	size_t n = 0;

	for (uint64_t key = 0; key < KEYS; key++)
		if (truth[key])
			items[n++] = (struct pasta_topk_item){key, truth[key], 0};
	if (n)
		qsort(items, n, sizeof(*items), by_weight);
	return n;
}

static void assert_items(const struct pasta_topk *t, const struct pasta_topk_item *wanted,
			 size_t count)
{
	struct pasta_topk_item got[KEYS];

	assert_property(pasta_topk_count(t) == count);
	assert_property(pasta_topk_items(t, got, KEYS) == count);
	for (size_t i = 0; i < count; i++)
		assert_property(got[i].key == wanted[i].key && got[i].count == wanted[i].count &&
				got[i].error == wanted[i].error);
}

static void assert_exact(const struct pasta_topk *t)
{
	struct pasta_topk_item wanted[KEYS];
	size_t count = true_items(wanted);

	assert_items(t, wanted, count);
	assert_property(pasta_topk_total(t) == truth_total);
}

/* What the header says of a bounded one. */
static void assert_bounds(const struct pasta_topk *t, size_t capacity)
{
	struct pasta_topk_item items[KEYS];
	size_t n = pasta_topk_items(t, items, KEYS);
	uint64_t lightest = n == capacity ? items[n - 1].count : 0;
	bool present[KEYS] = {false};

	assert_property(n <= capacity && n == pasta_topk_count(t));
	assert_property(pasta_topk_total(t) == truth_total);
	assert_property(lightest <= truth_total / capacity);
	for (size_t i = 0; i < n; i++) {
		present[items[i].key] = true;
		assert_property(items[i].count >= truth[items[i].key]);
		assert_property(items[i].count - items[i].error <= truth[items[i].key]);
		assert_property(items[i].error <= truth_total / capacity);
		assert_property(!i || by_weight(&items[i - 1], &items[i]) < 0);
	}
	for (size_t key = 0; key < KEYS; key++)
		assert_property(present[key] || truth[key] <= lightest);
}

static void exact_counts_agree_with_an_array(void **state)
{
	(void)state;
	for (int round = 0; round < 200; round++) {
		struct pasta_topk *t = pasta_topk_new(0);

		forget();
		add_random(t, random_below(5000), 1 + random_below(1000));
		assert_exact(t);
		pasta_topk_free(t);
	}
}

static void merging_exact_ones_in_any_order_is_adding_all_to_one(void **state)
{
	(void)state;
	for (int round = 0; round < 200; round++) {
		struct pasta_topk *shards[SHARDS];
		size_t left = SHARDS;

		forget();
		for (size_t i = 0; i < SHARDS; i++) {
			shards[i] = pasta_topk_new(0);
			add_random(shards[i], random_below(300), 100);
		}
		while (left > 1) {
			size_t a = random_below(left), b = (a + 1 + random_below(left - 1)) % left;

			assert_int_equal(pasta_topk_merge(shards[a], shards[b]), 0);
			pasta_topk_free(shards[b]);
			shards[b] = shards[--left];
		}
		assert_exact(shards[0]);
		pasta_topk_free(shards[0]);
	}
}

/* Space-Saving, as it is written down: the lightest of all, the largest key of these, goes. */
struct plain {
	struct pasta_topk_item items[KEYS];
	size_t count, capacity;
};

static void plain_add(struct plain *p, uint64_t key, uint64_t weight)
{
	size_t last = 0;

	for (size_t i = 0; i < p->count; i++) {
		if (p->items[i].key == key) {
			p->items[i].count += weight;
			return;
		}
		if (by_weight(&p->items[last], &p->items[i]) < 0)
			last = i;
	}
	if (p->count < p->capacity) {
		p->items[p->count++] = (struct pasta_topk_item){key, weight, 0};
		return;
	}
	p->items[last].key = key;
	p->items[last].error = p->items[last].count;
	p->items[last].count += weight;
}

static void bounded_counts_agree_with_plain_space_saving_and_its_bounds(void **state)
{
	(void)state;
	for (int round = 0; round < (support_slow ? 60 : 300); round++) {
		struct plain p = {.capacity = 1 + random_below(round % 2 ? 20 : 200)};
		struct pasta_topk *t = pasta_topk_new(p.capacity);
		size_t count = random_below(3000);

		forget();
		for (size_t i = 0; i < count; i++) {
			uint64_t key = any_key(), weight = 1 + random_below(round % 3 ? 50 : 1);

			assert_int_equal(pasta_topk_add(t, key, weight), 0);
			plain_add(&p, key, weight);
			truth[key] += weight;
			truth_total += weight;
		}
		if (p.count)
			qsort(p.items, p.count, sizeof(p.items[0]), by_weight);
		assert_items(t, p.items, p.count);
		assert_bounds(t, p.capacity);
		pasta_topk_free(t);
	}
}

/* Also when more is added after a merge, and merged again. */
static void merged_bounded_ones_keep_the_bounds_of_the_sum(void **state)
{
	(void)state;
	for (int round = 0; round < (support_slow ? 60 : 300); round++) {
		size_t capacity = 1 + random_below(round % 2 ? 20 : 200), left = SHARDS;
		struct pasta_topk *shards[SHARDS];

		forget();
		for (size_t i = 0; i < SHARDS; i++) {
			shards[i] = pasta_topk_new(capacity);
			add_random(shards[i], random_below(1000), 1 + random_below(100));
		}
		while (left > 1) {
			size_t a = random_below(left), b = (a + 1 + random_below(left - 1)) % left;

			assert_int_equal(pasta_topk_merge(shards[a], shards[b]), 0);
			add_random(shards[a], random_below(200), 100);
			pasta_topk_free(shards[b]);
			shards[b] = shards[--left];
		}
		assert_bounds(shards[0], capacity);
		pasta_topk_free(shards[0]);
	}
}

static void with_room_for_all_keys_a_bounded_one_is_exact_and_merges_exactly(void **state)
{
	struct pasta_topk *a = pasta_topk_new(KEYS), *b = pasta_topk_new(KEYS);

	(void)state;
	forget();
	add_random(a, 2000, 10);
	add_random(b, 2000, 10);
	assert_int_equal(pasta_topk_merge(a, b), 0);
	assert_exact(a);
	pasta_topk_free(a);
	pasta_topk_free(b);
}

static void the_first_few_are_those_of_all(void **state)
{
	struct pasta_topk_item all[KEYS], few[KEYS];
	struct pasta_topk *t = pasta_topk_new(0);
	size_t n;

	(void)state;
	forget();
	add_random(t, 3000, 5);
	n = true_items(all);
	for (size_t max = 0; max < n; max++) {
		assert_int_equal(pasta_topk_items(t, few, max), n);
		assert_true(!max || !memcmp(few, all, max * sizeof(*few)));
	}
	pasta_topk_free(t);
}

static void weights_stay_at_the_most_there_is(void **state)
{
	for (size_t capacity = 0; capacity < 3; capacity++) {
		struct pasta_topk *t = pasta_topk_new(capacity), *u = pasta_topk_new(capacity);
		struct pasta_topk_item items[4];

		pasta_topk_add(t, 1, UINT64_MAX - 1);
		pasta_topk_add(t, 1, 5);
		pasta_topk_add(t, 2, 5);
		pasta_topk_add(u, 1, 7);
		pasta_topk_add(u, 3, 7);
		assert_int_equal(pasta_topk_merge(t, u), 0);
		assert_int_equal(pasta_topk_total(t), UINT64_MAX);
		pasta_topk_items(t, items, 4);
		assert_int_equal(items[0].count, UINT64_MAX);
		pasta_topk_free(t);
		pasta_topk_free(u);
	}
	(void)state;
}

static void no_weight_is_no_key_and_different_capacities_do_not_merge(void **state)
{
	struct pasta_topk *exact = pasta_topk_new(0), *bounded = pasta_topk_new(4), *later;

	(void)state;
	assert_int_equal(pasta_topk_add(exact, 1, 0), 0);
	assert_int_equal(pasta_topk_add(bounded, 1, 0), 0);
	assert_int_equal(pasta_topk_count(exact), 0);
	assert_int_equal(pasta_topk_count(bounded), 0);
	assert_int_equal(pasta_topk_items(exact, NULL, 0), 0);
	assert_int_equal(pasta_topk_error(bounded), 0);
	assert_int_equal(pasta_topk_merge(bounded, exact), -EINVAL);
	assert_int_equal(pasta_topk_error(bounded), -EINVAL);
	later = pasta_topk_new(4);
	assert_int_equal(pasta_topk_merge(later, bounded), 0);
	assert_int_equal(pasta_topk_error(later), -EINVAL);
	pasta_topk_free(exact);
	pasta_topk_free(bounded);
	pasta_topk_free(later);
	pasta_topk_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_counts_agree_with_an_array),
		cmocka_unit_test(merging_exact_ones_in_any_order_is_adding_all_to_one),
		cmocka_unit_test(bounded_counts_agree_with_plain_space_saving_and_its_bounds),
		cmocka_unit_test(merged_bounded_ones_keep_the_bounds_of_the_sum),
		cmocka_unit_test(with_room_for_all_keys_a_bounded_one_is_exact_and_merges_exactly),
		cmocka_unit_test(the_first_few_are_those_of_all),
		cmocka_unit_test(weights_stay_at_the_most_there_is),
		cmocka_unit_test(no_weight_is_no_key_and_different_capacities_do_not_merge),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
