/* test_nomem.c - the SDK's helpers when memory runs out, at each place where it may. */
/* labels: onethread */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pasta/tool.h>

static int until = -1; /* requests until one is refused; -1: none is */

static bool refused(void)
{
	return until >= 0 && until-- == 0;
}

/* The helpers themselves, with these. */
#define malloc(size) (refused() ? NULL : malloc(size))
#define calloc(count, size) (refused() ? NULL : calloc(count, size))
#define reallocarray(old, count, size) (refused() ? NULL : reallocarray(old, count, size))
#define pasta_map_new(size) (refused() ? NULL : pasta_map_new(size))
#define pasta_map_add(map, key) (refused() ? NULL : pasta_map_add(map, key))
#include "../../src/core/ranges.c"
#define pasta_ranges_add(ranges, begin, size, gone)                                                \
	(refused() ? NULL : pasta_ranges_add(ranges, begin, size, gone))
#include "../../src/process/sdk/ledger.c"
#include "../../src/process/sdk/ledgeralloc.c"
#include "../../src/process/sdk/ledgerwalk.c"
#undef pasta_ranges_add
#undef malloc
#undef calloc
#undef reallocarray
#undef pasta_map_new
#undef pasta_map_add

static void an_add_that_finds_no_memory_leaves_the_ranges_as_they_were(void **state)
{
	struct pasta_ranges *r = pasta_ranges_new(8);
	int failures = 0;

	for (uint64_t i = 0; i < 20000; i++) {
		uint64_t begin, size, at = i * 7919 % 20000 * 10;
		size_t gone = 99;
		void *value;

		until = 0;
		value = pasta_ranges_add(r, at, 5, &gone);
		if (!value) {
			failures++;
			assert_int_equal(gone, 0);
			assert_null(pasta_ranges_find(r, at, NULL, NULL));
			until = 0;
			assert_null(pasta_ranges_add(r, 0, 200000, &gone)); /* it overlaps all */
			assert_int_equal(pasta_ranges_count(r), i);
			until = -1;
			value = pasta_ranges_add(r, at, 5, &gone);
		}
		assert_non_null(value);
		assert_ptr_equal(pasta_ranges_find(r, at + 4, &begin, &size), value);
		assert_int_equal(pasta_ranges_count(r), i + 1);
	}
	assert_true(failures > 100);
	until = -1;
	pasta_ranges_free(r);
}

static void new_ranges_that_find_no_memory_are_null_and_leak_nothing(void **state)
{
	for (int i = 0; i < 3; i++) {
		until = i;
		assert_null(pasta_ranges_new(8));
	}
	until = -1;
}

/* Memory of all levels, at addresses that are used again. */
static void take_random(struct pasta_ledger *l, unsigned int i)
{
	static const uint8_t subs[] = {PASTA_ALLOC_DEVICE, PASTA_ALLOC_SEGMENT, PASTA_ALLOC_POOL,
				       PASTA_ALLOC_MAPPED};
	unsigned int n = i * 2654435761u >> 8;
	struct pasta_event ev = {.size = sizeof(ev), .time = i};

	if (i % 3 == 2) {
		ev.kind = PASTA_KIND_FREE;
		ev.sub = n & 1 ? PASTA_ALLOC_SEGMENT : 0;
		ev.free.addr = 16 * (n / 2 % 8);
		ev.free.bytes = 24;
		ev.free.pool = n / 16 % 4;
	} else if (i % 7 == 0) {
		ev.kind = PASTA_KIND_TENSOR;
		ev.tensor.addr = 16 * (n % 8);
		ev.tensor.storage = i + 1;
		ev.tensor.device = 1;
	} else {
		ev.kind = PASTA_KIND_ALLOC;
		ev.sub = subs[n % 4];
		ev.alloc.pool = n % 4;
		ev.alloc.addr = 16 * (n / 4 % 8);
		ev.alloc.bytes = n / 32 % 64;
		ev.alloc.parent = n % 4 == 3 ? 16 : 0;
	}
	pasta_ledger_event(l, &ev, NULL);
}

static void a_ledger_without_memory_returns_an_error_and_leaks_nothing(void **state)
{
	static const struct pasta_ledger_def def = {
		.size = sizeof(def), .peaks = (1u << PASTA_LEVEL_COUNT) - 1, .data_size = 8};
	int failures = 0;

	(void)state;
	for (int n = 0; n < 2000; n++) {
		struct pasta_ledger *l;

		until = n;
		l = pasta_ledger_new(&def, NULL);
		for (unsigned int i = 0; l && i < 150; i++)
			take_random(l, i);
		failures += !l || pasta_ledger_error(l) == -ENOMEM;
		assert_true(!l || until == -1 || !pasta_ledger_error(l));
		until = -1;
		pasta_ledger_free(l);
	}
	assert_in_range(failures, 100, 1999);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_add_that_finds_no_memory_leaves_the_ranges_as_they_were),
		cmocka_unit_test(new_ranges_that_find_no_memory_are_null_and_leak_nothing),
		cmocka_unit_test(a_ledger_without_memory_returns_an_error_and_leaks_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
