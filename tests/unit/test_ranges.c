/* test_ranges.c - compares the SDK's interval map with an array that has an entry per address. */
/* labels: onethread */
#include "unit/support.h"

/* The source file, to check the shape of the tree. */
#include "../../src/core/ranges.c"

enum { SPACE = 4000 };

struct value {
	uint64_t id, other;
};

/* The id of the range that contains each address; 0: none. */
static uint64_t owner[SPACE];
static struct {
	uint64_t begin, size;
	struct value *value;
} known[1 << 20];
static uint64_t ids;
static size_t live;

static void forget(void)
{
	memset(owner, 0, sizeof(owner));
	ids = live = 0;
}

static void drop(uint64_t id)
{
	for (uint64_t i = 0; i < known[id].size; i++)
		owner[known[id].begin + i] = 0;
	live--;
}

static void add(struct pasta_ranges *r, uint64_t begin, uint64_t size)
{
	size_t removed = 99, expected = 0;
	struct value *v;

	for (uint64_t i = begin; i < begin + size; i++)
		if (owner[i]) {
			drop(owner[i]);
			expected++;
		}
	v = pasta_ranges_add(r, begin, size, &removed);
	assert_property(v && (uintptr_t)v % 8 == 0 && !v->id && !v->other);
	assert_property(removed == expected);
	v->id = v->other = ++ids;
	known[ids].begin = begin;
	known[ids].size = size;
	known[ids].value = v;
	live++;
	for (uint64_t i = begin; i < begin + size; i++)
		owner[i] = ids;
}

static void remove_at(struct pasta_ranges *r, uint64_t begin)
{
	uint64_t id = owner[begin];
	bool there = id && known[id].begin == begin;

	assert_property(pasta_ranges_remove(r, begin) == (there ? 0 : -ENOENT));
	if (there)
		drop(id);
}

/* The value hasn't moved or changed. */
static void assert_is(const struct value *v, uint64_t id, uint64_t begin, uint64_t size)
{
	assert_property(v == known[id].value && v->id == id && v->other == id);
	assert_property(begin == known[id].begin && size == known[id].size);
}

static void check_address(const struct pasta_ranges *r, uint64_t addr)
{
	uint64_t begin = 0, size = 0, after = addr;
	struct value *v = pasta_ranges_find(r, addr, &begin, &size);

	assert_property(!v == !owner[addr]);
	if (v)
		assert_is(v, owner[addr], begin, size);
	while (after < SPACE && !owner[after])
		after++;
	v = pasta_ranges_next(r, addr, &begin, &size);
	assert_property(!v == (after == SPACE));
	if (v)
		assert_is(v, owner[after], begin, size);
}

/* Iterates over [a, b), and checks that each range in it occurs once. */
static void check_walk(const struct pasta_ranges *r, uint64_t a, uint64_t b)
{
	uint64_t at, begin, size, seen = 0, expected = 0, last = 0;
	struct value *v;

	for (at = a; (v = pasta_ranges_next(r, at, &begin, &size)) && begin < b; at = begin + size)
		seen++;
	for (uint64_t i = a; i < b; i++) {
		expected += owner[i] && owner[i] != last;
		last = owner[i];
	}
	assert_property(seen == expected);
}

/* Checks that all nodes have enough kids, form one list per level, and have their kids' keys. */
static void check_level(const struct pasta_ranges *r, const struct node *first, unsigned int level)
{
	const struct node *n, *kid = level ? first->kids[0] : NULL;

	for (n = first; n; n = n->next) {
		assert_property(n == r->root || n->count >= LEAST);
		assert_property(n->count <= FAN && (!level || n->count > 1));
		for (uint32_t i = 0; level && i < n->count; i++, kid = kid->next)
			assert_property(n->kids[i] == kid && n->keys[i] == kid->keys[0]);
		for (uint32_t i = 1; i < n->count; i++)
			assert_property(n->keys[i - 1] < n->keys[i]);
	}
	assert_property(!kid);
	if (level)
		check_level(r, first->kids[0], level - 1);
}

static void check_all(const struct pasta_ranges *r)
{
	check_level(r, r->root, r->height);
	assert_property(pasta_ranges_count(r) == live);
	for (uint64_t addr = 0; addr < SPACE; addr++)
		check_address(r, addr);
	check_walk(r, 0, SPACE);
}

/* Growing and shrinking phases, so that nodes split, merge and balance. */
static void adding_and_removing_agrees_with_an_array(void **state)
{
	(void)state;
	for (int round = 0; round < (support_slow ? 6 : 40); round++) {
		struct pasta_ranges *r = pasta_ranges_new(sizeof(struct value));
		uint64_t longest = round % 4 ? 3 : 1 + random_below(200);

		forget();
		for (int step = 0; step < 20000; step++) {
			bool grow = random_below(10) < (step / 4000 % 2 ? 1 : 9);
			uint64_t at = random_below(SPACE - longest);

			if (grow)
				add(r, at, 1 + random_below(longest));
			else
				remove_at(r, at);
			check_address(r, random_below(SPACE));
			assert_property(pasta_ranges_count(r) == live);
			if (step % 4000 == 3999)
				check_all(r);
			else if (step % 50 == 0)
				check_level(r, r->root, r->height);
			else if (step % 100 == 0)
				check_walk(r, at, at + 1 + random_below(SPACE - at));
		}
		pasta_ranges_free(r);
	}
}

static void filling_and_emptying_in_order_works_from_either_end(void **state)
{
	(void)state;
	for (int way = 0; way < 4; way++) {
		struct pasta_ranges *r = pasta_ranges_new(sizeof(struct value));

		forget();
		for (uint64_t i = 0; i < SPACE; i++)
			add(r, way & 1 ? SPACE - 1 - i : i, 1);
		check_all(r);
		for (uint64_t i = 0; i < SPACE; i++) {
			remove_at(r, way & 2 ? SPACE - 1 - i : i);
			if (i % 500 == 0)
				check_all(r);
		}
		check_all(r);
		add(r, 7, 7);
		check_all(r);
		pasta_ranges_free(r);
	}
}

static void a_range_that_covers_all_others_replaces_them(void **state)
{
	struct pasta_ranges *r = pasta_ranges_new(sizeof(struct value));

	(void)state;
	forget();
	for (uint64_t i = 0; i < SPACE; i += 2)
		add(r, i, 1);
	add(r, 1, SPACE - 2);
	check_all(r);
	assert_int_equal(pasta_ranges_count(r), 2);
	pasta_ranges_free(r);
}

static void invalid_ranges_are_refused_and_the_ends_of_memory_are_valid(void **state)
{
	struct pasta_ranges *r = pasta_ranges_new(0);
	uint64_t begin, size;
	size_t removed;

	(void)state;
	assert_null(pasta_ranges_next(r, 0, NULL, NULL));
	assert_null(pasta_ranges_find(r, 0, NULL, NULL));
	assert_int_equal(pasta_ranges_remove(r, 0), -ENOENT);
	assert_non_null(pasta_ranges_add(r, 10, 10, NULL));
	assert_null(pasta_ranges_add(r, 10, 0, &removed));
	assert_null(pasta_ranges_add(r, 10, UINT64_MAX - 9, &removed));
	assert_null(pasta_ranges_add(r, UINT64_MAX, 1, &removed));
	assert_int_equal(pasta_ranges_count(r), 1);
	assert_non_null(pasta_ranges_add(r, 0, 1, &removed));
	assert_non_null(pasta_ranges_add(r, UINT64_MAX - 1, 1, &removed));
	assert_int_equal(removed, 0);
	assert_non_null(pasta_ranges_find(r, UINT64_MAX - 1, &begin, &size));
	assert_null(pasta_ranges_find(r, UINT64_MAX, NULL, NULL));
	assert_null(pasta_ranges_next(r, begin + size, NULL, NULL));
	assert_non_null(pasta_ranges_add(r, 0, UINT64_MAX, &removed));
	assert_int_equal(removed, 3);
	pasta_ranges_free(r);
	pasta_ranges_free(NULL);
}

/* Ranges at n * 16; a third of them exists at any time. */
static void a_million_changing_ranges_are_all_found(void **state)
{
	const uint64_t slots = support_slow ? 100000 : 1000000;
	struct pasta_ranges *r = pasta_ranges_new(sizeof(uint64_t));
	uint8_t *is = calloc(slots, 1);
	uint64_t begin, size, at = 0, *v;
	size_t count = 0, removed;

	(void)state;
	assert_non_null(is);
	for (uint64_t i = 0; i < 3 * slots; i++) {
		uint64_t n = random_below(slots);

		if (random_below(3) == 0) {
			v = pasta_ranges_add(r, n * 16, 1 + random_below(16), &removed);
			assert_property(v && removed == is[n]);
			*v = n;
			count += !is[n];
			is[n] = 1;
		} else {
			assert_property(pasta_ranges_remove(r, n * 16) == (is[n] ? 0 : -ENOENT));
			count -= is[n];
			is[n] = 0;
		}
	}
	assert_int_equal(pasta_ranges_count(r), count);
	for (; (v = pasta_ranges_next(r, at, &begin, &size)); at = begin + size, count--)
		assert_property(is[*v] && begin == *v * 16);
	assert_int_equal(count, 0);
	free(is);
	pasta_ranges_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adding_and_removing_agrees_with_an_array),
		cmocka_unit_test(filling_and_emptying_in_order_works_from_either_end),
		cmocka_unit_test(a_range_that_covers_all_others_replaces_them),
		cmocka_unit_test(invalid_ranges_are_refused_and_the_ends_of_memory_are_valid),
		cmocka_unit_test(a_million_changing_ranges_are_all_found),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
