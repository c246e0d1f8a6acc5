/* test_diagnosis_nomem.c - the timing when memory runs out, at each allocation. */
/* labels: onethread */
#include "unit/support.h"

#include <pasta/pending.h>

#include "process/join/reader.h"

static int requests_left = -1; /* requests until one is refused; -1: none is */

static bool refused(void)
{
	return requests_left >= 0 && requests_left-- == 0;
}

/* The code itself, with these. */
#define calloc(count, size) (refused() ? NULL : calloc(count, size))
#define reallocarray(old, count, size) (refused() ? NULL : reallocarray(old, count, size))
#define pasta_map_new(size) (refused() ? NULL : pasta_map_new(size))
#define pasta_map_add(map, key) (refused() ? NULL : pasta_map_add(map, key))
#define pasta_map_sorted(map, order) (refused() ? NULL : pasta_map_sorted(map, order))
#define pasta_hist_new() (refused() ? NULL : pasta_hist_new())
#define pasta_hist_add(hist, value, count)                                                         \
	(refused() ? -ENOMEM : pasta_hist_add(hist, value, count))
#define pasta_pending_new(size, limit) (refused() ? NULL : pasta_pending_new(size, limit))
#include "../../src/process/sdk/group.c"

#include "../../src/process/diagnosis/cause.c"
#include "../../src/process/diagnosis/devicetime.c"
#include "../../src/process/diagnosis/diagnosis.c"
#include "../../src/process/diagnosis/hostevents.c"
#include "../../src/process/diagnosis/hostlog.c"
#include "../../src/process/diagnosis/results.c"
#include "../../src/process/diagnosis/running.c"
#include "../../src/process/diagnosis/steps.c"
#include "../../src/process/diagnosis/tally.c"
#include "../../src/process/diagnosis/threshold.c"
#include "../../src/process/diagnosis/timing.c"
#undef calloc
#undef reallocarray
#undef pasta_map_new
#undef pasta_map_add
#undef pasta_map_sorted
#undef pasta_hist_new
#undef pasta_hist_add
#undef pasta_pending_new

static void send(struct pasta_diagnosis *d, uint8_t kind, uint64_t time, uint64_t launched)
{
	struct pasta_where where = pasta_nowhere;
	struct pasta_event ev = {.size = sizeof(ev), .kind = kind, .time = time, .tid = 7};

	where.tid = 7;
	where.launched = launched;
	where.flags = launched ? PASTA_WHERE_LAUNCH : 0;
	if (kind == PASTA_KIND_KERNEL) {
		ev.kernel.dur = 5 + time % 7;
		ev.kernel.stream = (uint32_t)(time % 3);
		ev.kernel.device = (uint32_t)(time % 2);
		ev.kernel.name = (uint32_t)(time % 5);
	} else if (kind == PASTA_KIND_COPY) {
		ev.sub = PASTA_COPY_H2D;
		ev.copy.dur = 3;
	} else if (kind == PASTA_KIND_API) {
		ev.api.dur = 4;
		ev.api.name = 1;
	} else if (kind == PASTA_KIND_SYNC) {
		ev.sub = PASTA_SYNC_STREAM_WAIT;
	}
	pasta_diagnosis_event(d, &ev, &where);
}

/* Ten steps, each with queued kernels, late kernels, copies, calls and waits. */
static void fill(struct pasta_diagnosis *d)
{
	for (uint64_t step = 0; step < 10; step++) {
		uint64_t time = 1000 + step * 1000;

		send(d, PASTA_KIND_ITERATION, time, 0);
		for (uint64_t i = 0; i < 20; i++) {
			send(d, PASTA_KIND_LAUNCH, time + i * 40, 0);
			send(d, PASTA_KIND_API, time + i * 40 + 1, 0);
			send(d, PASTA_KIND_SYNC, time + i * 40 + 2, 0);
			send(d, PASTA_KIND_KERNEL, time + i * 40 + 5, time + (i / 4) * 40);
			send(d, PASTA_KIND_COPY, time + i * 40 + 12, time + i * 40);
		}
	}
}

static uint64_t sum_of(struct pasta_diagnosis *d)
{
	const struct pasta_usage *u;
	uint64_t sum = 0;

	for (size_t at = 0; (u = pasta_diagnosis_usage(d, &at));)
		for (size_t i = 0; i < PASTA_CAUSES; i++)
			sum += u->part[PASTA_PART_COMPUTE] + (i + 2) * u->cause[i];
	return sum;
}

static void a_diagnosis_without_memory_returns_an_error_and_leaks_nothing(void **state)
{
	uint64_t whole = 0;
	int failures = 0;

	for (int n = -1; n < 12000; n++) {
		struct pasta_diagnosis *d, *into;
		int error = 0;

		requests_left = n;
		d = pasta_diagnosis_new();
		into = d ? pasta_diagnosis_new() : NULL;
		if (into) {
			fill(d);
			error = pasta_diagnosis_merge(into, d);
			error = error ? error : pasta_diagnosis_finish(into);
			assert_true(!error || error == -ENOMEM);
			assert_int_equal(error, pasta_diagnosis_error(into));
			if (!error && !whole)
				whole = sum_of(into);
			if (!error)
				assert_int_equal(sum_of(into), whole);
		}
		failures += !into || error;
		if (n >= 0 && requests_left >= 0)
			n = 12000; /* all allocations were refused once */
		requests_left = -1;
		pasta_diagnosis_free(d);
		pasta_diagnosis_free(into);
	}
	assert_in_range(failures, 100, 12000);
	assert_true(whole > 0);
}

static void the_same_process_is_merged_only_once(void **state)
{
	struct pasta_diagnosis *a = pasta_diagnosis_new(), *b = pasta_diagnosis_new();

	fill(a);
	fill(b);
	assert_int_equal(pasta_diagnosis_merge(a, b), -EEXIST);
	assert_int_equal(pasta_diagnosis_finish(a), -EEXIST);
	pasta_diagnosis_free(a);
	pasta_diagnosis_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_diagnosis_without_memory_returns_an_error_and_leaks_nothing),
		cmocka_unit_test(the_same_process_is_merged_only_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
