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

#include <pasta/pasta.h>

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
#include "../../src/core/topk.c"
#include "../../src/core/windows.c"
#define pasta_ranges_add(ranges, begin, size, gone)                                                \
	(refused() ? NULL : pasta_ranges_add(ranges, begin, size, gone))
#include "../../src/process/ledger.c"
#include "../../src/process/ledgeralloc.c"
#include "../../src/process/ledgerwalk.c"
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

static void new_ones_that_find_no_memory_are_null_and_leak_nothing(void **state)
{
	struct pasta_window_spec spec = {.unit = PASTA_WINDOW_TIME, .size = 1};
	struct pasta_error err = {0};

	for (int i = 0; i < 3; i++) {
		until = i;
		assert_null(pasta_ranges_new(8));
	}
	for (int i = 0; i < 2; i++) {
		until = i;
		assert_null(pasta_topk_new(0));
	}
	for (int i = 0; i < 3; i++) {
		until = i;
		assert_null(pasta_windows_new(&spec, &err));
		assert_string_equal(err.text, "windows: out of memory");
	}
	until = -1;
}

static void assert_same(const struct pasta_topk *t, const struct pasta_topk_item *wanted, size_t n)
{
	struct pasta_topk_item got[64];

	assert_int_equal(pasta_topk_items(t, got, 64), n);
	assert_memory_equal(got, wanted, n * sizeof(*got));
}

static void what_topk_could_not_add_or_merge_is_not_there_and_not_forgotten(void **state)
{
	struct pasta_topk *t = pasta_topk_new(16), *other = pasta_topk_new(16);
	struct pasta_topk_item before[64];
	int i;

	until = 0;
	assert_int_equal(pasta_topk_add(t, 99, 1), -ENOMEM);
	until = -1;
	assert_int_equal(pasta_topk_count(t), 0);
	assert_int_equal(pasta_topk_error(t), -ENOMEM);
	for (i = 0; i < 20; i++) {
		assert_int_equal(pasta_topk_add(t, (uint64_t)i, 1 + (uint64_t)i), 0);
		assert_int_equal(pasta_topk_add(other, (uint64_t)i + 10, 5), 0);
	}
	pasta_topk_items(t, before, 64);
	until = 0;
	assert_int_equal(pasta_topk_add(t, 1000, 7), -ENOMEM); /* in another's place */
	assert_same(t, before, 16);
	for (i = 0;; i++) {
		until = i;
		if (!pasta_topk_merge(t, other))
			break;
		until = -1;
		assert_same(t, before, 16);
		assert_int_equal(pasta_topk_total(t), 210);
	}
	until = -1;
	assert_true(i > 16); /* two for both, one for each counter, and the heap */
	assert_int_equal(pasta_topk_total(t), 310);
	pasta_topk_free(t);
	pasta_topk_free(other);
}

static void combine(void *into, const void *from)
{
	*(uint64_t *)into += *(const uint64_t *)from;
}

static int sum_up(void *ctx, uint64_t begin, uint64_t end, const void *value)
{
	*(uint64_t *)ctx += *(const uint64_t *)value;
	return 0;
}

static void windows_count_the_events_that_found_no_memory(void **state)
{
	struct pasta_window_spec spec = {
		.unit = PASTA_WINDOW_LAUNCHES, .size = 4, .step = 2, .value_size = 8};
	struct pasta_windows *w = pasta_windows_new(&spec, NULL);
	struct pasta_windows *into = pasta_windows_new(&spec, NULL);
	struct pasta_event ev = {.kind = PASTA_KIND_LAUNCH};
	uint64_t sum = 0;
	int i;

	for (i = 0; i < 2; i++) { /* for the process, for the pane */
		until = i;
		assert_null(pasta_windows_at(w, &ev));
	}
	until = -1;
	assert_int_equal(pasta_windows_lost(w), 2);
	for (i = 0; i < 6; i++)
		++*(uint64_t *)pasta_windows_at(w, &ev);
	for (i = 0; i < 4; i++) {
		until = i;
		assert_int_equal(pasta_windows_each(w, combine, sum_up, &sum), -ENOMEM);
	}
	assert_int_equal(sum, 0);
	until = 0;
	assert_int_equal(pasta_windows_merge(into, w, combine), -ENOMEM);
	until = -1;
	assert_int_equal(pasta_windows_lost(into), 3); /* the first pane's one, and w's own */
	assert_int_equal(pasta_windows_each(into, combine, sum_up, &sum), 0);
	assert_int_equal(sum, 10);
	pasta_windows_free(w);
	pasta_windows_free(into);
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
	pasta_ledger_event(l, &ev);
}

static void a_ledger_that_found_no_memory_says_so_and_leaks_nothing(void **state)
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
		cmocka_unit_test(new_ones_that_find_no_memory_are_null_and_leak_nothing),
		cmocka_unit_test(what_topk_could_not_add_or_merge_is_not_there_and_not_forgotten),
		cmocka_unit_test(windows_count_the_events_that_found_no_memory),
		cmocka_unit_test(a_ledger_that_found_no_memory_says_so_and_leaks_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
