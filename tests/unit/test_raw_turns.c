/* test_raw_turns.c - raw accesses of launches one after the other, as of one stream.
 * timeout: 120
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "unit/support.h"

#include "handlers/sanitizer/raw.h"

enum { HALF = 1024, LAUNCHES = 400, GROUP = 64, PATIENT = 60000 };

static struct pasta_gpu_ring ring;
static struct pasta_access records[2 * HALF];
static struct {
	uint64_t head, filled[2];
} device;
static _Atomic uint64_t came, wrong, next_id, launches;
static uint8_t seen[LAUNCHES * 6 * HALF]; /* by the number of the record; each is one worker's */
static _Atomic uint64_t asked;
static _Atomic bool held;
static bool siteless;

static void pause_us(long us)
{
	struct timespec t = {0, us * 1000};

	nanosleep(&t, NULL);
}

/* -- The device: one thread, and it notifies the host of full halves only. -- */

static void add_filled(uint32_t which, uint64_t n)
{
	device.filled[which] += n;
	if (device.filled[which] % HALF == 0)
		__atomic_store_n(&ring.filled[which], device.filled[which], __ATOMIC_RELEASE);
}

static bool write_request(uint32_t number, uint32_t n)
{
	uint64_t at = device.head, left = HALF - at % HALF, turn = at;

	while (at + n > __atomic_load_n(&ring.consumed, __ATOMIC_ACQUIRE) + 2 * HALF) {
		if (__atomic_load_n(&ring.stop, __ATOMIC_RELAXED))
			return false;
		pause_us(10);
	}
	device.head += n;
	for (uint32_t i = 0; i < n; i++)
		records[(at + i) % (2 * HALF)] =
			(struct pasta_access){.addr = atomic_fetch_add(&next_id, 1),
					      .size = n,
					      .launch = number,
					      .turn = (uint32_t)turn,
					      .thread = (uint16_t)i,
					      .kind = PASTA_ACCESS_LOAD};
	add_filled(at / HALF & 1, n < left ? n : left);
	if (n > left)
		add_filled((at / HALF + 1) & 1, n - left);
	return true;
}

static void write_launch(uint32_t number, uint64_t count)
{
	while (count) {
		uint32_t n = 1 + (uint32_t)random_below(PASTA_WARP);

		n = n < count ? n : (uint32_t)count;
		assert_true(write_request(number, n));
		count -= n;
	}
}

/* -- What the handler and the driver do. -- */

static int read_device(void *ctx, uint64_t *head, uint64_t *lost)
{
	(void)ctx;
	*head = device.head;
	*lost = 0;
	return 0;
}

static uint32_t site_at(void *ctx, void *data, uint64_t addr, uint32_t flags)
{
	(void)ctx, (void)data, (void)addr, (void)flags;
	atomic_fetch_add(&asked, 1);
	return 1;
}

static void take(struct pasta_accesses_launch *launch, const struct pasta_access *a, size_t count,
		 uint32_t group_size, bool counts)
{
	size_t i, n;

	while (atomic_load(&held))
		pause_us(1000);
	for (i = 0; i < count; i += n) {
		for (n = 0; n < a[i].size && i + n < count; n++)
			if (a[i + n].turn != a[i].turn || a[i + n].thread != n ||
			    (!siteless && a[i + n].site != 1) || seen[a[i + n].addr]++)
				atomic_fetch_add(&wrong, 1);
		if (n != a[i].size || group_size != GROUP || !counts || launch != (void *)&launches)
			atomic_fetch_add(&wrong, 1);
	}
	atomic_fetch_add(&came, count);
}

static void lose(struct pasta_accesses_launch *launch, uint64_t count)
{
	(void)launch, (void)count;
	atomic_fetch_add(&wrong, 1);
}

static struct pasta_raw *begin(uint32_t workers, uint32_t stuck_ms)
{
	struct pasta_raw_ops ops = {
		.read = read_device, .site = site_at, .batch = take, .dropped = lose};
	struct pasta_raw_config config = {.ring = &ring,
					  .records = records,
					  .half = HALF,
					  .counts = true,
					  .siteless = siteless,
					  .workers = workers,
					  .stuck_ms = stuck_ms};
	struct pasta_error err = {0};
	struct pasta_raw *r;

	memset(&device, 0, sizeof(device));
	memset(seen, 0, sizeof(seen));
	atomic_store(&came, 0);
	atomic_store(&wrong, 0);
	atomic_store(&next_id, 0);
	atomic_store(&asked, 0);
	atomic_store(&held, false);
	r = pasta_raw_new(&config, &ops, &err);
	assert_non_null(r);
	return r;
}

static uint32_t begin_launch(struct pasta_raw *r)
{
	uint32_t number = pasta_raw_begin(r, (void *)&launches, GROUP, 0, NULL);

	assert_int_not_equal(number, 0);
	return number;
}

/* -- Tests. -- */

/* Many to a half, some that end where it ends, and some that go round. */
static void each_launch_has_all_its_records_when_it_is_flushed(void **state)
{
	(void)state;
	for (uint32_t workers = 1; workers <= 4; workers++) {
		struct pasta_raw *r = begin(workers, PATIENT);

		for (uint32_t i = 0; i < LAUNCHES; i++) {
			uint32_t number = begin_launch(r);
			uint64_t to_the_end = HALF - device.head % HALF;

			write_launch(number, i % 7 == 0	   ? to_the_end
					     : i % 31 == 0 ? random_below(5 * HALF)
							   : random_below(200));
			assert_int_equal(pasta_raw_flush(r, number, PATIENT), 0);
			assert_int_equal(atomic_load(&came), atomic_load(&next_id));
		}
		assert_int_equal(atomic_load(&wrong), 0);
		assert_int_equal(pasta_raw_free(r), 0);
	}
}

/* Two are open: what is left of one is found between those of the other. */
static void launches_that_overlap_and_those_that_are_alone_take_turns(void **state)
{
	struct pasta_raw *r = begin(3, PATIENT);

	(void)state;
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		uint32_t one = begin_launch(r), other = i % 3 ? begin_launch(r) : 0;

		for (uint32_t k = 0; k < 4; k++) {
			write_launch(one, random_below(100));
			if (other)
				write_launch(other, random_below(100));
		}
		assert_int_equal(pasta_raw_flush(r, one, PATIENT), 0);
		if (other) {
			write_launch(other, random_below(700));
			assert_int_equal(pasta_raw_flush(r, other, PATIENT), 0);
		}
		assert_int_equal(atomic_load(&came), atomic_load(&next_id));
	}
	assert_int_equal(atomic_load(&wrong), 0);
	assert_int_equal(pasta_raw_free(r), 0);
}

static void a_flush_that_took_too_long_is_asked_again_and_hands_on_nothing_twice(void **state)
{
	struct pasta_raw *r = begin(2, PATIENT);
	uint32_t number = begin_launch(r);

	(void)state;
	atomic_store(&held, true);
	write_launch(number, HALF / 2);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pasta_raw_flush(r, number, 20), -ETIMEDOUT);
	assert_int_equal(atomic_load(&came), 0);
	atomic_store(&held, false);
	assert_int_equal(pasta_raw_flush(r, number, PATIENT), 0);
	assert_int_equal(atomic_load(&came), HALF / 2);
	assert_int_equal(atomic_load(&wrong), 0);
	assert_int_equal(pasta_raw_free(r), 0);
}

/* The device waits for nothing but room, however slow workers are: two halves, and what each of
 * them has copied. */
static void halves_are_free_when_they_are_copied_and_the_ring_stops_when_they_are_not(void **state)
{
	struct pasta_raw *r = begin(1, 50);
	uint32_t number = begin_launch(r);

	(void)state;
	atomic_store(&held, true);
	while (write_request(number, 1))
		assert_true(device.head <= 5 * HALF);
	/* The worker has the first, or what it found of it. */
	assert_true(device.head >= 2 * HALF + 1);
	atomic_store(&held, false);
	assert_int_equal(pasta_raw_flush(r, number, PATIENT), 0);
	assert_int_equal(atomic_load(&came), atomic_load(&next_id));
	assert_int_equal(atomic_load(&wrong), 0);
	assert_int_equal(pasta_raw_free(r), 0);
}

/* Workers begin together, and the same site is new to all. */
static void sites_are_requested_once_per_launch_and_only_if_enabled(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct pasta_raw *r;

		siteless = i;
		r = begin(4, PATIENT);
		for (int k = 0; k < 3; k++) {
			uint32_t number = begin_launch(r);

			write_launch(number, 5 * HALF);
			assert_int_equal(pasta_raw_flush(r, number, PATIENT), 0);
		}
		assert_int_equal(atomic_load(&came), 15 * HALF);
		assert_int_equal(atomic_load(&asked), siteless ? 0 : 3);
		assert_int_equal(atomic_load(&wrong), 0);
		assert_int_equal(pasta_raw_free(r), 0);
	}
	siteless = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_launch_has_all_its_records_when_it_is_flushed),
		cmocka_unit_test(launches_that_overlap_and_those_that_are_alone_take_turns),
		cmocka_unit_test(
			a_flush_that_took_too_long_is_asked_again_and_hands_on_nothing_twice),
		cmocka_unit_test(
			halves_are_free_when_they_are_copied_and_the_ring_stops_when_they_are_not),
		cmocka_unit_test(sites_are_requested_once_per_launch_and_only_if_enabled),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
