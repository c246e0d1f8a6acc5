/* test_batch.c - raw accesses: their encoding, and buffers that are dropped or waited for. */
#include "unit/support.h"

#include <pthread.h>
#include <time.h>

#include "reduce/batch.h"

enum { COUNT = 20000 };

static struct pasta_access in[COUNT], out[COUNT];

/* Accesses of a few sites, with a random one now and then. */
static struct pasta_access any_access(uint32_t i)
{
	struct pasta_access a = {.addr = 0x7f0000001000 + i * 4,
				 .size = 4,
				 .site = i % 3,
				 .launch = i / 5000,
				 .group = i / 100,
				 .turn = i % 7,
				 .thread = (uint16_t)(i / 3 % 256),
				 .kind = PASTA_ACCESS_LOAD,
				 .space = PASTA_SPACE_GLOBAL};
	uint64_t wild[4] = {random_u64(), random_u64(), random_u64(), random_u64()};

	if (!random_below(20))
		memcpy(&a, wild, sizeof(a));
	return a;
}

static void accesses_come_back_from_bytes_as_they_were(void **state)
{
	static uint8_t bytes[32768];
	size_t at, size, n, all = 0;

	random_begin();
	for (uint32_t i = 0; i < COUNT; i++)
		in[i] = any_access(i);
	for (at = 0; at < COUNT; at += n, all += size) {
		n = pasta_raw_encode(in + at, COUNT - at, bytes, sizeof(bytes), &size);
		assert_property(n && size <= sizeof(bytes));
		assert_property(pasta_raw_decode(bytes, size, out + at, COUNT - at) == (ssize_t)n);
		assert_property(pasta_raw_decode(bytes, size, out + at, n - 1) == -ENOSPC);
	}
	assert_memory_equal(in, out, sizeof(in));
	assert_true(all < sizeof(in) / 4);
}

static void damaged_bytes_are_refused_or_read_within_bounds(void **state)
{
	uint8_t bytes[4096], bad[4096];
	size_t size, n;
	ssize_t count;

	random_begin();
	for (uint32_t i = 0; i < 200; i++)
		in[i] = any_access(i);
	n = pasta_raw_encode(in, 200, bytes, sizeof(bytes), &size);
	assert_true(n > 50);
	assert_int_equal(pasta_raw_decode(bytes, 0, out, COUNT), -EINVAL);
	assert_int_equal(pasta_raw_decode((const uint8_t *)"\x02", 1, out, COUNT), -EINVAL);
	assert_int_equal(pasta_raw_decode((const uint8_t *)"\x01\x80\x00", 3, out, COUNT), -EINVAL);
	assert_int_equal(pasta_raw_decode((const uint8_t *)"\x01\x30\x00", 3, out, COUNT), -EINVAL);
	for (size_t cut = 1; cut < size; cut++) {
		count = pasta_raw_decode(bytes, cut, out, COUNT);
		assert_true(count == -EINVAL || (count >= 0 && (size_t)count < n));
		if (count > 0)
			assert_memory_equal(in, out, (size_t)count * sizeof(in[0]));
	}
	for (int i = 0; i < 20000; i++) {
		uint8_t *copy;

		memcpy(bad, bytes, size);
		for (int k = 0; k < 3; k++)
			bad[random_below(size)] = (uint8_t)random_u64();
		copy = malloc(size); /* exactly this size, so that a sanitizer sees its end */
		assert_non_null(copy);
		memcpy(copy, bad, size);
		count = pasta_raw_decode(copy, size, out, COUNT);
		assert_property(count == -EINVAL || (count >= 0 && (size_t)count <= size));
		free(copy);
	}
}

static void a_buffer_without_room_for_an_access_stores_none(void **state)
{
	uint8_t byte[1];
	size_t size = 9;

	assert_int_equal(pasta_raw_encode(in, 1, byte, 0, &size), 0);
	assert_int_equal(size, 0);
	assert_int_equal(pasta_raw_encode(in, 1, byte, 1, &size), 0);
	assert_int_equal(size, 1);
	assert_int_equal(pasta_raw_decode(byte, 1, out, COUNT), 0);
}

static void a_producer_that_does_not_wait_drops_accesses_and_counts_them(void **state)
{
	struct pasta_batches *q = pasta_batches_new(2, 10, 0);
	struct pasta_batches_stats stats;
	struct pasta_buffer *buffer;
	struct pasta_filler b;

	assert_non_null(q);
	pasta_filler_begin(&b, q);
	for (uint32_t i = 0; i < 35; i++)
		pasta_filler_put(&b, &(struct pasta_access){.addr = i});
	buffer = pasta_batches_acquire(q, false);
	assert_true(buffer && buffer->count == 10 && buffer->accesses[9].addr == 9);
	pasta_batches_release(q, buffer);
	pasta_filler_put(&b, &(struct pasta_access){.addr = 35});
	pasta_filler_end(&b);
	buffer = pasta_batches_acquire(q, false);
	assert_true(buffer && buffer->count == 10 && buffer->accesses[0].addr == 10);
	pasta_batches_release(q, buffer);
	buffer = pasta_batches_acquire(q, false);
	assert_true(buffer && buffer->count == 1 && buffer->accesses[0].addr == 35);
	pasta_batches_release(q, buffer);
	assert_null(pasta_batches_acquire(q, false));
	pasta_batches_stats(q, &stats);
	assert_int_equal(stats.pushed, 36);
	assert_int_equal(stats.consumed, 21);
	assert_int_equal(stats.dropped, 15);
	pasta_batches_free(q);
}

static void a_wait_ends_after_its_time_limit(void **state)
{
	struct pasta_batches *q = pasta_batches_new(1, 1, 20);
	struct pasta_batches_stats stats;
	struct pasta_filler b;

	pasta_filler_begin(&b, q);
	for (uint32_t i = 0; i < 3; i++)
		pasta_filler_put(&b, &(struct pasta_access){.addr = i});
	pasta_batches_close(q);
	pasta_filler_put(&b, &(struct pasta_access){.addr = 3});
	pasta_filler_end(&b);
	pasta_batches_release(q, pasta_batches_acquire(q, true));
	assert_null(pasta_batches_acquire(q, true));
	pasta_batches_stats(q, &stats);
	assert_int_equal(stats.pushed, 4);
	assert_int_equal(stats.consumed, 1);
	assert_int_equal(stats.dropped, 3);
	pasta_batches_free(q);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void a_producer_that_timed_out_waits_again_only_after_a_buffer_is_released(void **state)
{
	struct pasta_batches *q = pasta_batches_new(1, 1, 100);
	const struct pasta_access access = {0};
	struct pasta_buffer *buffer;
	struct pasta_filler b;
	double from = seconds();

	assert_non_null(q);
	pasta_filler_begin(&b, q);
	for (int i = 0; i < 1001; i++) /* the first access has a buffer, the second waits */
		pasta_filler_put(&b, &access);
	assert_true(seconds() - from >= 0.1 && seconds() - from < 10);
	buffer = pasta_batches_acquire(q, false);
	assert_non_null(buffer);
	pasta_batches_release(q, buffer);
	pasta_filler_put(&b, &access);
	assert_non_null(b.buffer);
	from = seconds();
	pasta_filler_put(&b, &access);
	assert_true(seconds() - from >= 0.1);
	pasta_filler_end(&b);
	while ((buffer = pasta_batches_acquire(q, false)))
		pasta_batches_release(q, buffer);
	pasta_batches_free(q);
}

static void *produce(void *arg)
{
	struct pasta_filler b;

	pasta_filler_begin(&b, arg);
	for (uint32_t i = 1; i <= COUNT; i++)
		pasta_filler_put(&b, &(struct pasta_access){.addr = i});
	pasta_filler_end(&b);
	return NULL;
}

static void *consume(void *arg)
{
	struct pasta_buffer *buffer;
	uint64_t sum = 0;

	while ((buffer = pasta_batches_acquire(arg, true))) {
		for (size_t i = 0; i < buffer->count; i++)
			sum += buffer->accesses[i].addr;
		pasta_batches_release(arg, buffer);
	}
	return (void *)(uintptr_t)sum;
}

/* Runs three producers. Returns the sum of the accesses that were consumed. */
static uint64_t run_threads(uint32_t wait_ms, struct pasta_batches_stats *stats)
{
	struct pasta_batches *q = pasta_batches_new(4, 64, wait_ms);
	pthread_t producers[3], consumers[2];
	uint64_t sum = 0;
	void *part;

	assert_non_null(q);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&consumers[i], NULL, consume, q), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&producers[i], NULL, produce, q), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(producers[i], NULL);
	pasta_batches_close(q);
	for (int i = 0; i < 2; i++) {
		pthread_join(consumers[i], &part);
		sum += (uintptr_t)part;
	}
	pasta_batches_stats(q, stats);
	pasta_batches_free(q);
	return sum;
}

static void threads_that_wait_drop_no_access(void **state)
{
	struct pasta_batches_stats stats;

	assert_int_equal(run_threads(UINT32_MAX, &stats), UINT64_C(3) * COUNT * (COUNT + 1) / 2);
	assert_int_equal(stats.pushed, 3 * COUNT);
	assert_int_equal(stats.consumed, 3 * COUNT);
	assert_int_equal(stats.dropped, 0);
}

static void threads_count_the_accesses_that_they_drop(void **state)
{
	struct pasta_batches_stats stats;

	run_threads(0, &stats);
	assert_int_equal(stats.pushed, 3 * COUNT);
	assert_int_equal(stats.consumed + stats.dropped, 3 * COUNT);
	assert_true(stats.consumed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accesses_come_back_from_bytes_as_they_were),
		cmocka_unit_test(damaged_bytes_are_refused_or_read_within_bounds),
		cmocka_unit_test(a_buffer_without_room_for_an_access_stores_none),
		cmocka_unit_test(a_producer_that_does_not_wait_drops_accesses_and_counts_them),
		cmocka_unit_test(a_wait_ends_after_its_time_limit),
		cmocka_unit_test(
			a_producer_that_timed_out_waits_again_only_after_a_buffer_is_released),
		cmocka_unit_test(threads_that_wait_drop_no_access),
		cmocka_unit_test(threads_count_the_accesses_that_they_drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
