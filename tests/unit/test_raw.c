/* test_raw.c - the host's side of raw accesses; threads play the device, by the patches' protocol.
 * timeout: 120
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "unit/support.h"

#include "handlers/sanitizer/raw.h"

enum { PATIENT = 60000 }; /* ms: checkers make all slow, and a busy machine more so */
enum { HALF = 1024, LAUNCHES = 5, WARPS = 4, RECORDS = 1 << 20, SITE_FIRST = 1000 };
#define MAPPED (2 * HALF * sizeof(struct pasta_access) + sizeof(struct pasta_gpu_ring))
#define BASE UINT64_C(0x7f0000010000)

/* A launch, as the driver would have it. */
struct fake {
	uint32_t number;
	_Atomic uint64_t came, dropped;
};

static struct pasta_gpu_ring *ring; /* behind the records */
static struct pasta_access *records;
static struct {
	_Atomic uint64_t head, dropped;
	bool waits;
} device;

static struct fake fakes[LAUNCHES];
static _Atomic uint8_t *seen; /* by the number of the record */
static _Atomic uint64_t last_record, last_request, wrong, asked, strays;
static _Atomic bool held; /* the driver takes nothing */
static _Atomic bool slow;

static void pause_us(long us)
{
	struct timespec t = {0, us * 1000};

	nanosleep(&t, NULL);
}

/* -- The device. -- */

static bool has_room(uint64_t end)
{
	return end <= __atomic_load_n(&ring->consumed, __ATOMIC_ACQUIRE) + 2 * HALF;
}

/* Returns false if the ring is full: the records are dropped. A lossy device reserves only slots
 * that it can fill. */
static bool reserve_slots(uint64_t n, uint64_t *at)
{
	*at = atomic_load(&device.head);
	if (!device.waits) {
		do
			if (!has_room(*at + n))
				return false;
		while (!atomic_compare_exchange_weak(&device.head, at, *at + n));
		return true;
	}
	*at = atomic_fetch_add(&device.head, n);
	while (!has_room(*at + n)) {
		if (__atomic_load_n(&ring->stop, __ATOMIC_ACQUIRE))
			return false;
		sched_yield();
	}
	return true;
}

static void put_one(uint64_t at, const struct pasta_access *a)
{
	struct pasta_access *to = &records[at % (2 * HALF)];

	to->addr = a->addr;
	to->size = a->size;
	to->site = a->site;
	to->group = a->group;
	to->turn = a->turn;
	to->thread = a->thread;
	to->kind = a->kind;
	to->space = a->space;
	__atomic_store_n(&to->launch, a->launch, __ATOMIC_RELAXED);
}

/* Makes a request of n threads. A record's addr encodes its number and launch, size the number of
 * records in its request, group the site. */
static void request(uint32_t launch, uint32_t n, uint32_t site)
{
	uint64_t at, turn = atomic_fetch_add(&last_request, 1), in_first;

	if (!reserve_slots(n, &at)) {
		atomic_fetch_add(&device.dropped, n);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		put_one(at + i, &(struct pasta_access){.addr = atomic_fetch_add(&last_record, 1) |
							       (uint64_t)launch << 32,
						       .size = n,
						       .site = (uint32_t)(((int32_t)site - 8) * 16),
						       .launch = fakes[launch].number,
						       .group = site,
						       .turn = (uint32_t)turn,
						       .thread = (uint16_t)(32 - n + i),
						       .kind = PASTA_ACCESS_LOAD});
	in_first = HALF - at % HALF < n ? HALF - at % HALF : n;
	__atomic_fetch_add(&ring->filled[at / HALF & 1], in_first, __ATOMIC_ACQ_REL);
	if (in_first < n)
		__atomic_fetch_add(&ring->filled[(at / HALF + 1) & 1], n - in_first,
				   __ATOMIC_ACQ_REL);
}

struct warp {
	pthread_t thread;
	uint32_t launch, records, seed;
	_Atomic bool *until; /* or NULL: so many records */
};

static void *run_warp(void *arg)
{
	struct warp *w = arg;
	uint32_t left = w->records, n;

	while (left && !(w->until && atomic_load(w->until))) {
		w->seed = w->seed * 1664525 + 1013904223;
		n = 1 + (w->seed >> 8) % 32;
		n = n < left ? n : left;
		request(w->launch, n, (w->seed >> 16) % 40);
		left -= n;
	}
	return NULL;
}

static void start_warp(struct warp *w, uint32_t launch, uint32_t count, uint32_t seed)
{
	*w = (struct warp){.launch = launch, .records = count, .seed = seed};
	assert_int_equal(pthread_create(&w->thread, NULL, run_warp, w), 0);
}

/* -- What the handler and the driver do. -- */

static int read_device(void *ctx, uint64_t *head, uint64_t *dropped)
{
	(void)ctx;
	*head = atomic_load(&device.head);
	*dropped = atomic_load(&device.dropped);
	return 0;
}

static int rewind_device(void *ctx)
{
	(void)ctx;
	atomic_store(&device.head, 0);
	atomic_store(&device.dropped, 0);
	return 0;
}

static uint32_t site_at(void *ctx, void *data, uint64_t addr, uint32_t flags)
{
	(void)ctx;
	atomic_fetch_add(&asked, 1);
	if (data != ring || flags != PASTA_ACCESS_LOAD)
		atomic_fetch_add(&wrong, 1);
	return SITE_FIRST + (uint32_t)((int64_t)(addr - BASE) / 16 + 8);
}

/* Whole requests of this launch, in the order of their threads. */
static void take(struct pasta_accesses_launch *launch, const struct pasta_access *a, size_t count,
		 uint32_t group_size, bool counts)
{
	struct fake *f = (struct fake *)(void *)launch;
	size_t i, n;

	while (atomic_load(&held))
		pause_us(1000);
	if (atomic_load(&slow))
		pause_us(500);
	for (i = 0; i < count; i += n) {
		for (n = 0; n < a[i].size && i + n < count; n++) {
			const struct pasta_access *x = &a[i + n];

			if (x->turn != a[i].turn || x->thread != 32 - a[i].size + n ||
			    x->site != SITE_FIRST + x->group ||
			    x->addr >> 32 != (uint64_t)(f - fakes) ||
			    atomic_fetch_add(&seen[(uint32_t)x->addr], 1))
				atomic_fetch_add(&wrong, 1);
		}
		if (n != a[i].size || group_size != 96 || !counts)
			atomic_fetch_add(&wrong, 1);
	}
	atomic_fetch_add(&f->came, count);
}

static void count_dropped(struct pasta_accesses_launch *launch, uint64_t count)
{
	atomic_fetch_add(&((struct fake *)(void *)launch)->dropped, count);
}

static void stray(uint64_t count)
{
	atomic_fetch_add(&strays, count);
}

static struct pasta_raw *begin(uint32_t workers, uint32_t stuck_ms)
{
	struct pasta_raw_ops ops = {.read = read_device,
				    .rewind = rewind_device,
				    .site = site_at,
				    .batch = take,
				    .dropped = count_dropped,
				    .stray = stray};
	struct pasta_raw_config config = {.ring = ring,
					  .records = records,
					  .half = HALF,
					  .counts = true,
					  .workers = workers,
					  .stuck_ms = stuck_ms ? stuck_ms : PATIENT};
	struct pasta_error err = {0};
	struct pasta_raw *r = pasta_raw_new(&config, &ops, &err);

	assert_non_null(r);
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		fakes[i].number = pasta_raw_begin(r, (void *)&fakes[i], 96, BASE, ring);
		assert_int_not_equal(fakes[i].number, 0);
	}
	return r;
}

static int set_up(void **state)
{
	(void)state;
	memset(fakes, 0, sizeof(fakes));
	records = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ring = (struct pasta_gpu_ring *)(records + 2 * (size_t)HALF);
	seen = calloc(RECORDS, sizeof(*seen));
	atomic_store(&device.head, 0);
	atomic_store(&device.dropped, 0);
	device.waits = true;
	atomic_store(&last_record, 0);
	atomic_store(&last_request, 0);
	atomic_store(&wrong, 0);
	atomic_store(&asked, 0);
	atomic_store(&strays, 0);
	atomic_store(&held, false);
	atomic_store(&slow, false);
	return records != MAP_FAILED && seen ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	munmap(records, MAPPED);
	free((void *)seen);
	return 0;
}

static uint64_t all_came(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < LAUNCHES; i++)
		sum += atomic_load(&fakes[i].came);
	return sum;
}

static uint64_t all_dropped(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < LAUNCHES; i++)
		sum += atomic_load(&fakes[i].dropped);
	return sum;
}

static void flush_all(struct pasta_raw *r)
{
	for (uint32_t i = 0; i < LAUNCHES; i++)
		assert_int_equal(pasta_raw_flush(r, fakes[i].number, 20000), 0);
}

static void run_all(uint32_t count, uint32_t seed)
{
	struct warp warps[LAUNCHES][WARPS];

	for (uint32_t i = 0; i < LAUNCHES; i++)
		for (uint32_t j = 0; j < WARPS; j++)
			start_warp(&warps[i][j], i, count, seed + i * WARPS + j);
	for (uint32_t i = 0; i < LAUNCHES; i++)
		for (uint32_t j = 0; j < WARPS; j++)
			pthread_join(warps[i][j].thread, NULL);
}

/* Of a launch that was flushed: no record of it is missing, be it stopped or not. */
static void assert_came(uint32_t launch, uint64_t count)
{
	uint64_t came = atomic_load(&fakes[launch].came);

	if (came != count || ring->stop || atomic_load(&wrong))
		fail_msg(
			"launch %u: %llu of %llu records came; stopped: %u; the device dropped %llu, "
			"reported %llu; strays %llu; wrong %llu",
			launch, (unsigned long long)came, (unsigned long long)count, ring->stop,
			(unsigned long long)atomic_load(&device.dropped),
			(unsigned long long)all_dropped(), (unsigned long long)atomic_load(&strays),
			(unsigned long long)atomic_load(&wrong));
}

static void begin_one(struct pasta_raw *r, uint32_t launch)
{
	fakes[launch].number = pasta_raw_begin(r, (void *)&fakes[launch], 96, BASE, ring);
	assert_int_not_equal(fakes[launch].number, 0);
}

/* Who begins waits for nobody who takes just now: then the ring stays stopped, for this time. */
static void begin_again(struct pasta_raw *r)
{
	for (begin_one(r, 0); ring->stop; begin_one(r, 0)) {
		assert_int_equal(pasta_raw_abandon(r, fakes[0].number, 20000), 0);
		pause_us(1000);
	}
	for (uint32_t i = 1; i < LAUNCHES; i++)
		begin_one(r, i);
}

/* A worker is at launch 0, and goes no further. The half is full and no more: who writes on may
 * wait for a ring that nobody takes from, and then who would let the worker go? */
static void hold_a_worker(void)
{
	atomic_store(&held, true);
	for (uint32_t i = 0; i < HALF / 16; i++)
		request(0, 16, 1);
	while (!atomic_load(&asked))
		pause_us(100);
}

/* -- Tests. -- */

static void all_records_of_mixed_launches_arrive_once_in_whole_requests(void **state)
{
	struct pasta_raw *r = begin(3, 0);

	(void)state;
	run_all(9000 + 17, 1);
	flush_all(r);
	for (uint32_t i = 0; i < LAUNCHES; i++)
		assert_int_equal(atomic_load(&fakes[i].came), WARPS * 9017);
	assert_int_equal(atomic_load(&last_record), LAUNCHES * WARPS * 9017);
	assert_int_equal(atomic_load(&wrong), 0);
	assert_int_equal(all_dropped(), 0);
	/* Sites are asked for once a launch, or by some workers at once. */
	assert_in_range(atomic_load(&asked), LAUNCHES * 40, LAUNCHES * 40 * 3);
	assert_int_equal(pasta_raw_free(r), 0);
}

static void random_sizes_and_numbers_of_workers_drop_nothing(void **state)
{
	(void)state;
	for (uint32_t turn = 0; turn < 12; turn++) {
		struct pasta_raw *r = begin(1 + turn % 4, 0);
		uint64_t before = all_came();
		uint32_t count = 1 + (uint32_t)random_below(2500);

		atomic_store(&device.head, 0);
		run_all(count, turn * 100);
		flush_all(r);
		assert_int_equal(all_came() - before, LAUNCHES * WARPS * count);
		assert_int_equal(pasta_raw_free(r), 0);
	}
	assert_int_equal(atomic_load(&wrong), 0);
	assert_int_equal(all_dropped(), 0);
}

static void a_launch_that_has_run_is_flushed_while_others_write_on(void **state)
{
	struct pasta_raw *r = begin(2, 0);
	_Atomic bool enough = false;
	struct warp one, other;

	(void)state;
	other = (struct warp){.launch = 1, .records = RECORDS / 2, .seed = 9, .until = &enough};
	assert_int_equal(pthread_create(&other.thread, NULL, run_warp, &other), 0);
	start_warp(&one, 0, 5000, 3);
	pthread_join(one.thread, NULL);
	assert_int_equal(pasta_raw_flush(r, fakes[0].number, 20000), 0);
	assert_int_equal(atomic_load(&fakes[0].came), 5000);
	atomic_store(&enough, true);
	pthread_join(other.thread, NULL);
	flush_all(r); /* of one that was flushed nothing is left */
	assert_int_equal(atomic_load(&fakes[0].came), 5000);
	assert_int_equal(all_came(), atomic_load(&last_record));
	assert_int_equal(atomic_load(&wrong), 0);
	assert_int_equal(pasta_raw_free(r), 0);
}

static void accesses_dropped_by_a_lossy_device_are_counted(void **state)
{
	struct pasta_raw *r;

	(void)state;
	device.waits = false;
	atomic_store(&slow, true);
	r = begin(1, 0);
	run_all(10000, 5);
	flush_all(r);
	assert_true(all_dropped() > 0);
	assert_int_equal(all_dropped(), atomic_load(&device.dropped));
	assert_int_equal(all_came() + all_dropped(), LAUNCHES * WARPS * 10000);
	assert_int_equal(all_came(), atomic_load(&last_record));
	assert_int_equal(atomic_load(&wrong), 0);
	assert_int_equal(pasta_raw_free(r), 0);
}

static void kernels_do_not_wait_for_ever_for_a_driver_that_is_stuck(void **state)
{
	struct pasta_raw *r = begin(1, 30);
	uint64_t dropped, came;

	(void)state;
	atomic_store(&held, true);
	run_all(3000, 7); /* it ends, or the test does not */
	assert_int_equal(ring->stop, 1);
	dropped = atomic_load(&device.dropped);
	assert_true(dropped > 0);
	assert_int_equal(pasta_raw_flush(r, fakes[0].number, 20), -ETIMEDOUT);
	atomic_store(&held, false);
	flush_all(r);
	assert_int_equal(all_dropped(), dropped);
	assert_int_equal(all_came() + dropped, LAUNCHES * WARPS * 3000);
	assert_int_equal(atomic_load(&wrong), 0);

	/* Nothing is open: the ring is good again. So few have room in any case. */
	came = all_came();
	begin_again(r);
	run_all(2 * HALF / (LAUNCHES * WARPS), 8);
	flush_all(r);
	assert_int_equal(all_came() - came, 2 * HALF / (LAUNCHES * WARPS) * LAUNCHES * WARPS);
	assert_int_equal(all_dropped(), dropped);
	/* Later records may be dropped as well on a slow machine, but each is counted. */
	came = all_came() + all_dropped();
	begin_again(r);
	run_all(2000, 9);
	flush_all(r);
	assert_int_equal(all_came() + all_dropped() - came, LAUNCHES * WARPS * 2000);
	assert_int_equal(atomic_load(&wrong), 0);
	assert_int_equal(pasta_raw_free(r), 0);
}

static void records_of_no_open_launch_are_nobodys(void **state)
{
	struct pasta_raw *r = begin(2, 0);
	uint32_t old = fakes[0].number;

	(void)state;
	assert_int_equal(pasta_raw_flush(r, old, 20000), 0);
	fakes[0].number = pasta_raw_begin(r, (void *)&fakes[0], 96, BASE, ring);
	assert_int_not_equal(fakes[0].number, old);
	fakes[2].number = old;
	for (uint32_t i = 0; i < 3 * HALF / 32; i++) {
		request(2, 16, 1);
		request(1, 16, 1);
	}
	assert_int_equal(pasta_raw_flush(r, fakes[1].number, 20000), 0);
	assert_int_equal(atomic_load(&fakes[1].came), 3 * HALF / 2);
	assert_int_equal(all_came(), 3 * HALF / 2);
	/* Of halves that were full: of one at least, or the device had no room for the third. */
	assert_in_range(atomic_load(&strays), HALF / 2 - 16, 3 * HALF / 2);
	assert_int_equal(pasta_raw_free(r), 0);
}

static void a_launch_that_is_abandoned_is_nobodys_when_it_may_be_ended(void **state)
{
	struct pasta_raw *r = begin(2, 0);
	uint64_t came;

	(void)state;
	hold_a_worker();
	assert_int_equal(pasta_raw_abandon(r, fakes[0].number, 20), -ETIMEDOUT);
	atomic_store(&held, false);
	assert_int_equal(pasta_raw_flush(r, fakes[1].number, 20000), 0);
	came = atomic_load(&fakes[0].came);
	for (uint32_t i = 0; i < 2 * HALF / 32; i++) {
		request(0, 32, 1);
		request(2, 32, 1);
	}
	assert_int_equal(pasta_raw_flush(r, fakes[2].number, 20000), 0);
	assert_came(2, 2 * HALF);
	assert_came(0, came);
	assert_int_equal(all_dropped(), 0);
	/* All halves are full, and of one request at most nobody knows yet whether it goes on. */
	while (atomic_load(&strays) < 3 * HALF - 32 - came)
		pause_us(100);
	assert_in_range(atomic_load(&strays), 3 * HALF - 32 - came, 3 * HALF - came);
	assert_int_equal(pasta_raw_abandon(r, fakes[3].number, 20000), 0);
	assert_int_equal(pasta_raw_free(r), 0);
}

/* As when a context ends during a callback: both threads may call. */
static void a_launch_may_not_be_ended_while_it_is_handed_on_however_often_one_asks(void **state)
{
	struct pasta_raw *r = begin(2, 0);
	uint32_t old = fakes[0].number, more;

	(void)state;
	hold_a_worker();
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pasta_raw_abandon(r, old, 20), -ETIMEDOUT);
		assert_int_equal(pasta_raw_flush(r, old, 20), -ETIMEDOUT);
	}
	atomic_store(&held, false);
	assert_int_equal(pasta_raw_flush(r, old, 20000), 0);
	assert_came(0, HALF - 16); /* the last request may go on */
	/* Another launch has its slot now. */
	more = pasta_raw_begin(r, (void *)&fakes[0], 96, BASE, ring);
	assert_int_equal(more % 256, old % 256);
	assert_int_equal(pasta_raw_abandon(r, old, 20000), 0);
	fakes[0].number = more;
	request(0, 16, 1);
	assert_int_equal(pasta_raw_flush(r, more, 20000), 0);
	assert_came(0, HALF);
	assert_int_equal(pasta_raw_free(r), 0);
}

/* -- The ring goes. -- */

static void *flush_first(void *arg)
{
	static int result;

	result = pasta_raw_flush(arg, fakes[0].number, PATIENT);
	return &result;
}

/* Whoever looks at it from now on is killed. */
static void cut(struct pasta_raw *r)
{
	pasta_raw_cut(r);
	assert_int_equal(mprotect(records, MAPPED, PROT_NONE), 0);
}

static void a_detached_ring_is_not_read(void **state)
{
	struct pasta_raw *r = begin(1, 0);
	pthread_t flusher;
	void *result;

	(void)state;
	hold_a_worker();
	for (uint32_t i = 0; i < HALF / 16; i++)
		request(0, 16, 1); /* nobody will copy them */
	assert_int_equal(pthread_create(&flusher, NULL, flush_first, r), 0);
	pause_us(20000);
	cut(r);
	assert_int_equal(pasta_raw_begin(r, (void *)&fakes[1], 96, BASE, ring), 0);
	atomic_store(&held, false);
	pthread_join(flusher, &result);
	assert_int_equal(*(int *)result, -ENODEV);
	assert_int_equal(pasta_raw_flush(r, fakes[0].number, 20000), -ENODEV);
	assert_int_equal(pasta_raw_abandon(r, fakes[0].number, 20000), 0);
	assert_int_equal(pasta_raw_flush(r, fakes[0].number, 20000), -ENODEV);
	assert_int_equal(atomic_load(&fakes[0].came), HALF - 16); /* what was copied */
	assert_int_equal(atomic_load(&wrong), 0);
	assert_int_equal(pasta_raw_free(r), 0);
}

static void a_ring_can_be_detached_at_any_time(void **state)
{
	struct pasta_raw *r;
	pthread_t flusher;
	void *result;

	for (uint32_t turn = 0; turn < 40; turn++) {
		r = begin(1 + turn % 4, 0);
		atomic_store(&slow, turn & 1);
		atomic_store(&device.head, 0);
		run_all(1 + (uint32_t)random_below(300), turn * 100);
		assert_int_equal(pthread_create(&flusher, NULL, flush_first, r), 0);
		pause_us((long)random_below(2000));
		cut(r);
		pthread_join(flusher, &result);
		assert_true(*(int *)result == 0 || *(int *)result == -ENODEV);
		for (uint32_t i = 0; i < LAUNCHES; i++)
			assert_int_equal(pasta_raw_abandon(r, fakes[i].number, 20000), 0);
		assert_int_equal(pasta_raw_free(r), 0);
		assert_int_equal(atomic_load(&wrong), 0);
		tear_down(state);
		assert_int_equal(set_up(state), 0);
	}
}

static void there_is_room_for_256_launches_at_once(void **state)
{
	struct pasta_raw *r = begin(1, 0);
	struct fake more;

	(void)state;
	for (uint32_t i = LAUNCHES; i < 256; i++)
		assert_int_not_equal(pasta_raw_begin(r, (void *)&more, 1, 0, NULL), 0);
	assert_int_equal(pasta_raw_begin(r, (void *)&more, 1, 0, NULL), 0);
	assert_int_equal(pasta_raw_flush(r, fakes[3].number, 1000), 0);
	assert_int_not_equal(pasta_raw_begin(r, (void *)&more, 1, 0, NULL), 0);
	assert_int_equal(pasta_raw_free(r), 0);
}

static void a_ring_of_the_wrong_size_is_refused(void **state)
{
	struct pasta_raw_ops ops = {.site = site_at, .batch = take, .dropped = count_dropped};
	struct pasta_raw_config config = {.ring = ring, .records = records, .half = 1000};
	struct pasta_error err = {0};

	(void)state;
	assert_null(pasta_raw_new(&config, &ops, &err));
	assert_string_equal(
		err.text, "the number of accesses in each half of the raw-access buffer must be a "
			  "power of two and at least 1024, not 1000");
	assert_int_equal(pasta_raw_free(NULL), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_records_of_mixed_launches_arrive_once_in_whole_requests),
		TEST(random_sizes_and_numbers_of_workers_drop_nothing),
		TEST(a_launch_that_has_run_is_flushed_while_others_write_on),
		TEST(accesses_dropped_by_a_lossy_device_are_counted),
		TEST(kernels_do_not_wait_for_ever_for_a_driver_that_is_stuck),
		TEST(records_of_no_open_launch_are_nobodys),
		TEST(a_launch_that_is_abandoned_is_nobodys_when_it_may_be_ended),
		TEST(a_launch_may_not_be_ended_while_it_is_handed_on_however_often_one_asks),
		TEST(a_detached_ring_is_not_read),
		TEST(a_ring_can_be_detached_at_any_time),
		TEST(there_is_room_for_256_launches_at_once),
		TEST(a_ring_of_the_wrong_size_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
