/*
 * test_reducer.cpp - a tool's own reducer on an emulated device: which instructions have it called,
 * and pasta_reducer_add against a plain sum. The example bank_conflicts tests what it counts
 * itself.
 *
 * timeout: 120
 */
#include "reduce/gpu_host.h"

#include <map>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utility>

#include "../../examples/bank_conflicts/bank_conflicts.cu"

/* Each lane has its own stack, and a sanitizer makes switching between them expensive. */
#ifdef __SANITIZE_ADDRESS__
enum { STEPS = 100 };
#else
enum { STEPS = 300 };
#endif
enum { ROWS = 256, BLOCKS = 6, THREADS = 74 };
#define PC UINT64_C(0x7fff00001000)

static int failures;

#define EXPECT(got, wanted, ...)                                                                   \
	do {                                                                                       \
		uint64_t got_ = (got), wanted_ = (wanted);                                         \
                                                                                                   \
		if (got_ != wanted_) {                                                             \
			failures++;                                                                \
			printf("FAILED: " __VA_ARGS__);                                            \
			printf(": got %llu, wanted %llu\n", (unsigned long long)got_,              \
			       (unsigned long long)wanted_);                                       \
		}                                                                                  \
	} while (0)

/* -- A launch and its counts -- */

static struct pasta_gpu_launch launch;
static struct pasta_gpu_row rows[ROWS + 1];
static uint32_t slots[2 * ROWS];

static void reset(uint32_t max)
{
	struct pasta_gpu_table *t = &launch.tables[PASTA_REDUCER_OWN];

	memset(&launch, 0, sizeof(launch));
	memset(rows, 0, sizeof(rows));
	memset(slots, 0, sizeof(slots));
	launch.every = 1;
	launch.reducers = PASTA_REDUCER_MASK(OWN);
	t->index = slots;
	t->rows = rows;
	t->mask = 2 * ROWS - 1;
	t->max = max;
}

/* Returns the sums of all rows with these keys. */
static struct pasta_gpu_row row_of(uint64_t key0, uint64_t key1)
{
	struct pasta_gpu_row all = {key0, key1, 0, 0, 0, 0};
	const struct pasta_gpu_table *t = &launch.tables[PASTA_REDUCER_OWN];

	for (uint32_t i = 0; i < t->count && i < t->max; i++) {
		if (rows[i].key0 != key0 || rows[i].key1 != key1)
			continue;
		all.loads += rows[i].loads;
		all.stores += rows[i].stores;
		all.bytes += rows[i].bytes;
		all.extra += rows[i].extra;
	}
	return all;
}

static uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint32_t all_lanes(void)
{
	uint32_t threads = pasta_gpu::warp_threads();

	return threads < 32 ? pasta_gpu::lanes_below(threads) : ~0u;
}

static uint64_t seed_of(uint32_t step)
{
	return mix(pasta_gpu::block_number() << 40 |
		   (uint64_t)(pasta_gpu::thread_number() / 32) << 32 | step);
}

static void run(void (*kernel)(void *), uint32_t threads)
{
	struct dim3 grid = {BLOCKS / 2, 2, 1}, block = {threads / 2, 2, 1};

	warp_run(grid, block, kernel, NULL);
}

/* -- Other instructions -- */

static void do_others(void *arg)
{
	uint32_t lane = lane_id();

	warp_together(~0u);
	pasta_own_SITES_3_matrix(&launch, PC, 64 * lane, 16, 1, 2, NULL);
	warp_together(~0u);
	pasta_own_SITES_3_memcpy_async(&launch, PC + 16, NULL, 128 * lane, 4);
	warp_together(~0u);
	pasta_own_SITES_3_bulk_to_shared(&launch, PC + 32, 4096, 0, 0, 64, 0);
	warp_together(~0u);
	pasta_own_SITES_3_remote(&launch, PC + 48, (void *)(uint64_t)(4 * lane), 4, 1, NULL);
	warp_together(~0u);
	pasta_own_SITES_3_shared(&launch, PC + 64, (void *)(uint64_t)(4 * lane), 4, 9, NULL);
	warp_together(~0u);
	pasta_own_SITES_3_shared(NULL, PC + 80, (void *)(uint64_t)(4 * lane), 4, 1, NULL);
}

static void matrices_and_copies_are_requests_and_prefetches_and_bulk_copies_are_none(void)
{
	reset(ROWS);
	run(do_others, 64);
	EXPECT(row_of(PC, 0).loads, 12, "matrices");
	EXPECT(row_of(PC, 0).bytes, 24, "needed, 16 rows of 16 bytes");
	EXPECT(row_of(PC, 0).extra, 12 * 8, "wavefronts of 16 rows, 64 bytes apart");
	EXPECT(row_of(PC + 16, 0).stores, 12, "copies");
	EXPECT(row_of(PC + 16, 0).loads, 0, "copies are stores of shared memory alone");
	EXPECT(row_of(PC + 16, 0).extra, 12 * 32, "wavefronts of copies");
	EXPECT(launch.tables[PASTA_REDUCER_OWN].count, 2, "instructions with rows");
}

static void one_block_in_three_is_counted(void)
{
	reset(ROWS);
	launch.every = 3;
	run(do_others, 64);
	EXPECT(row_of(PC, 0).loads, 4, "matrices of two blocks");
	EXPECT(row_of(PC + 16, 0).stores, 4, "copies of two blocks");
}

/* -- Adding: lanes with equal keys, different values -- */

typedef std::pair<uint64_t, uint64_t> keys;
static std::map<keys, struct pasta_gpu_row> added;

static void do_add(void *arg)
{
	uint32_t all = all_lanes(), lane = lane_id();
	struct pasta_reducer_access a = {};

	a.lane = lane;
	a.table = &launch.tables[PASTA_REDUCER_OWN];
	for (uint32_t step = 0; step < STEPS; step++) {
		uint64_t w = seed_of(step), r = mix(w + lane), few = 1 + w % 8;
		uint64_t key0 = r % few, key1 = (r >> 30) % (1 + w % 3);
		struct pasta_gpu_row *to = &added[keys(key0, key1)];
		bool is = step % 2 || r >> 50 & 1;
		uint32_t mask = __ballot_sync(all, is);

		if (is) {
			to->loads += r >> 60;
			to->stores += r >> 33;
			to->bytes += lane;
			to->extra += r;
			pasta_reducer_add(&a, mask, key0, key1, r >> 60, r >> 33, lane, r);
		}
		__syncwarp(all);
	}
}

static void values_that_lanes_add_are_in_the_rows_of_their_keys(void)
{
	added.clear();
	reset(ROWS);
	run(do_add, THREADS);
	EXPECT(added.size(), 24, "pairs of keys");
	for (const auto &w : added) {
		struct pasta_gpu_row r = row_of(w.first.first, w.first.second);

		EXPECT(r.loads, w.second.loads, "loads");
		EXPECT(r.stores, w.second.stores, "stores");
		EXPECT(r.bytes, w.second.bytes, "bytes");
		EXPECT(r.extra, w.second.extra, "extra");
	}
}

static void what_has_no_room_is_in_the_last_row(void)
{
	uint64_t wanted = 0, got = 0;

	added.clear();
	reset(5);
	run(do_add, THREADS);
	for (const auto &w : added)
		wanted += w.second.bytes;
	for (uint32_t i = 0; i <= 5; i++)
		got += rows[i].bytes;
	EXPECT(got, wanted, "all bytes");
	EXPECT(rows[5].bytes > 0 && rows[4].bytes > 0, 1, "some had room, others had none");
}

int main()
{
	matrices_and_copies_are_requests_and_prefetches_and_bulk_copies_are_none();
	one_block_in_three_is_counted();
	values_that_lanes_add_are_in_the_rows_of_their_keys();
	what_has_no_room_is_in_the_last_row();
	printf("%d failures\n", failures);
	return failures != 0;
}
