/* test_objects.c - the versioned table of objects, against arrays with a place for each address. */
#include "unit/support.h"

#include <pthread.h>

#include "reduce/objects.h"
#include <pasta/device.h>

enum { SPACE = 20000, PINS = 6 };

/* The object of each address: now, and when each version was pinned. */
static uint64_t owner[SPACE], then[PINS][SPACE];
static const struct pasta_version *pins[PINS];
static uint64_t next_object = PASTA_OBJECT_FIRST;

static uint64_t size_at(const uint64_t *map, uint64_t addr)
{
	uint64_t end = addr;

	while (end < SPACE && map[end] == map[addr])
		end++;
	return end - addr;
}

static void drop(uint64_t object)
{
	for (uint64_t i = 0; i < SPACE; i++)
		if (owner[i] == object)
			owner[i] = 0;
}

static void add(struct pasta_objects *t, uint64_t addr, uint64_t size)
{
	assert_property(!pasta_objects_add(t, addr, size, next_object));
	for (uint64_t i = addr; i < addr + size; i++) {
		if (owner[i] && owner[i] != next_object)
			drop(owner[i]);
		owner[i] = next_object;
	}
	next_object++;
}

static void remove_at(struct pasta_objects *t, uint64_t addr)
{
	bool begins = owner[addr] && (!addr || owner[addr - 1] != owner[addr]);

	assert_property(pasta_objects_remove(t, addr) == (begins ? 0 : -ENOENT));
	if (begins)
		drop(owner[addr]);
}

static void check(const struct pasta_version *v, const uint64_t *map, uint64_t addr)
{
	struct pasta_object_part p = pasta_version_find(v, addr);

	assert_property(p.object == map[addr]);
	assert_property(p.begin <= addr && addr <= p.last);
	assert_property(!p.begin || map[p.begin - 1] != map[addr]);
	if (p.last < SPACE)
		assert_property(p.last == addr + size_at(map, addr) - 1);
	else
		assert_property(p.last == UINT64_MAX && addr + size_at(map, addr) == SPACE);
}

static void pin_again(struct pasta_objects *t, size_t i)
{
	pasta_objects_unpin(pins[i]);
	pins[i] = pasta_objects_pin(t);
	memcpy(then[i], owner, sizeof(owner));
}

static void versions_stay_as_they_were_when_they_were_pinned(void **state)
{
	struct pasta_objects *t = pasta_objects_new(0);
	struct pasta_objects_stats stats;
	size_t live = 0;

	random_begin();
	assert_non_null(t);
	memset(owner, 0, sizeof(owner));
	for (size_t i = 0; i < PINS; i++)
		pin_again(t, i);
	for (int n = 0; n < (support_slow ? 1500 : 12000); n++) {
		uint64_t addr = random_below(SPACE - 200);
		size_t i = random_below(PINS);

		if (random_below(3))
			add(t, addr, 1 + random_below(random_below(40) ? 6 : 200));
		else
			remove_at(t, addr);
		if (!random_below(10))
			pin_again(t, random_below(PINS));
		for (int k = 0; k < 4; k++)
			check(pins[i], then[i], random_below(SPACE));
	}
	for (size_t i = 0; i < PINS; i++)
		for (uint64_t addr = 0; addr < SPACE; addr++)
			check(pins[i], then[i], addr);
	pasta_objects_stats(t, &stats);
	for (uint64_t addr = 0; addr < SPACE; addr++)
		live += owner[addr] && (!addr || owner[addr - 1] != owner[addr]);
	assert_property(stats.live == live && live > 300); /* some leaves */
	assert_property(stats.replaced && !stats.refused);
	for (size_t i = 0; i < PINS; i++) {
		pasta_objects_unpin(pins[i]);
		pins[i] = NULL;
	}
	pasta_objects_free(t);
}

static void a_version_outlives_its_table(void **state)
{
	struct pasta_objects *t = pasta_objects_new(0);
	const struct pasta_version *v;

	assert_int_equal(pasta_objects_add(t, 1000, 10, 20), 0);
	v = pasta_objects_pin(t);
	pasta_objects_free(t);
	assert_int_equal(pasta_version_find(v, 1009).object, 20);
	assert_int_equal(pasta_version_find(v, 1010).object, PASTA_OBJECT_NONE);
	pasta_objects_unpin(v);
}

static void a_reused_address_is_another_object_for_later_launches_only(void **state)
{
	struct pasta_objects *t = pasta_objects_new(0);
	const struct pasta_version *first, *second, *third;

	assert_int_equal(pasta_objects_add(t, 4096, 4096, 16), 0);
	first = pasta_objects_pin(t);
	assert_int_equal(pasta_objects_remove(t, 4096), 0);
	second = pasta_objects_pin(t);
	assert_int_equal(pasta_objects_add(t, 4096, 100, 17), 0);
	third = pasta_objects_pin(t);
	assert_int_equal(pasta_version_find(first, 5000).object, 16);
	assert_int_equal(pasta_version_find(second, 4100).object, PASTA_OBJECT_NONE);
	assert_int_equal(pasta_version_find(third, 4100).object, 17);
	assert_int_equal(pasta_version_find(third, 5000).object, PASTA_OBJECT_NONE);
	assert_int_not_equal(pasta_version_number(first), pasta_version_number(third));
	pasta_objects_unpin(first);
	pasta_objects_unpin(second);
	pasta_objects_unpin(third);
	pasta_objects_free(t);
}

static void hostile_ranges_are_refused_and_the_ends_of_memory_are_not(void **state)
{
	struct pasta_objects *t = pasta_objects_new(0);
	const struct pasta_version *v;

	assert_int_equal(pasta_objects_add(t, 100, 0, 16), -EINVAL);
	assert_int_equal(pasta_objects_add(t, UINT64_MAX, 2, 16), -EINVAL);
	assert_int_equal(pasta_objects_add(t, 100, UINT64_MAX, 16), -EINVAL);
	assert_int_equal(pasta_objects_add(t, 100, 8, PASTA_OBJECT_FIRST - 1), -EINVAL);
	assert_int_equal(pasta_objects_add(t, 100, 8, PASTA_KEY_OTHER), -EINVAL);
	assert_int_equal(pasta_objects_remove(t, 100), -ENOENT);
	assert_int_equal(pasta_objects_add(t, UINT64_MAX - 7, 8, 16), 0);
	assert_int_equal(pasta_objects_add(t, 0, 8, 17), 0);
	v = pasta_objects_pin(t);
	assert_int_equal(pasta_version_find(v, UINT64_MAX).object, 16);
	assert_int_equal(pasta_version_find(v, 0).object, 17);
	assert_int_equal(pasta_version_find(v, 8).last, UINT64_MAX - 8);
	pasta_objects_unpin(v);
	assert_int_equal(pasta_objects_add(t, 0, UINT64_MAX, 18), 0);
	v = pasta_objects_pin(t);
	assert_int_equal(pasta_version_find(v, UINT64_MAX - 1).object, 18);
	assert_int_equal(pasta_version_find(v, UINT64_MAX).object, PASTA_OBJECT_NONE);
	pasta_objects_unpin(v);
	pasta_objects_free(t);
}

static void memory_is_bounded_and_what_is_refused_is_counted(void **state)
{
	struct pasta_objects *t = pasta_objects_new(100000);
	const struct pasta_version *v;
	struct pasta_objects_stats stats;
	uint64_t added = 0;

	for (uint64_t i = 0; i < 100000; i++)
		added += !pasta_objects_add(t, i * 16, 16, 16 + i);
	pasta_objects_stats(t, &stats);
	assert_true(added > 1000 && stats.live == added && stats.refused == 100000 - added);
	assert_true(stats.bytes < 120000);
	v = pasta_objects_pin(t);
	/* What is freed goes, limit or not. */
	for (uint64_t i = 0; i < added; i++)
		assert_int_equal(pasta_objects_remove(t, i * 16), 0);
	assert_int_equal(pasta_version_find(v, 16).object, 17);
	pasta_objects_unpin(v);
	pasta_objects_stats(t, &stats);
	assert_true(!stats.live && stats.bytes < 4000);
	assert_int_equal(pasta_objects_add(t, 0, 16, 16), 0);
	pasta_objects_free(t);
}

/* Objects come and go, always in pairs of neighbours, while others look. */
static void *come_and_go(void *arg)
{
	for (uint64_t i = 0; i < 3000; i++) {
		assert_int_equal(pasta_objects_add(arg, 1000, 2000, 16 + i), 0);
		assert_int_equal(pasta_objects_remove(arg, 1000), 0);
	}
	return NULL;
}

static void *look(void *arg)
{
	for (int i = 0; i < 3000; i++) {
		const struct pasta_version *v = pasta_objects_pin(arg);
		struct pasta_object_part a = pasta_version_find(v, 1000);
		struct pasta_object_part b = pasta_version_find(v, 2999);

		assert_int_equal(a.object, b.object);
		assert_int_equal(a.begin, b.begin);
		pasta_objects_unpin(v);
	}
	return NULL;
}

static void threads_look_while_objects_come_and_go(void **state)
{
	struct pasta_objects *t = pasta_objects_new(0);
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, i ? look : come_and_go, t), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	pasta_objects_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_stay_as_they_were_when_they_were_pinned),
		cmocka_unit_test(a_version_outlives_its_table),
		cmocka_unit_test(a_reused_address_is_another_object_for_later_launches_only),
		cmocka_unit_test(hostile_ranges_are_refused_and_the_ends_of_memory_are_not),
		cmocka_unit_test(memory_is_bounded_and_what_is_refused_is_counted),
		cmocka_unit_test(threads_look_while_objects_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
