/* test_accesses.c - counts memory accesses in a child process, and checks the rows that it emits.
 * timeout: 120
 */
#include <pthread.h>
#include <sched.h>

#include "unit/agent_run.h"

#include "collect/accesses.h"
#include "handlers/sanitizer/raw.h"

enum { OBJECTS = 40, LAUNCHES = 6, THREADS = 4, TURNS = 300, ACCESSES = 60, GROUP = 64 };
enum { PAGE = 4096, SPACING = 3 * PAGE, LINES = 1 << 20 };
#define BASE UINT64_C(0x10000000)
#define SITES                                                                                      \
	(PASTA_REDUCER_MASK(OBJECT) | PASTA_REDUCER_MASK(PAGE) | PASTA_REDUCER_MASK(SITE) |        \
	 PASTA_REDUCER_MASK(SITE_OBJECT))

/* Assertions do not work in the child, which reports by its exit status. */
#define must(what)                                                                                 \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #what);             \
			_exit(97);                                                                 \
		}                                                                                  \
	} while (0)

static void set_accesses(const char *words, const char *kernel, const char *exclude)
{
	setenv(PASTA_ENV_ACCESSES, words, 1);
	setenv(PASTA_ENV_ACCESS_KERNEL, kernel ? kernel : "", 1);
	setenv(PASTA_ENV_ACCESS_EXCLUDE, exclude ? exclude : "", 1);
}

/* -- Rows, actual and expected -- */

struct line {
	uint64_t corr, reducer, key0, key1, loads, stores, bytes, extra;
};

static struct line *expected, *got;
static size_t expected_count, got_count;

static int by_key(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->corr != y->corr)
		return x->corr < y->corr ? -1 : 1;
	if (x->reducer != y->reducer)
		return x->reducer < y->reducer ? -1 : 1;
	if (x->key0 != y->key0)
		return x->key0 < y->key0 ? -1 : 1;
	return x->key1 < y->key1 ? -1 : x->key1 > y->key1;
}

static void expect(struct line line)
{
	assert_true(expected_count < LINES);
	expected[expected_count++] = line;
}

static void add_up(void)
{
	size_t n = 0;

	qsort(expected, expected_count, sizeof(expected[0]), by_key);
	for (size_t i = 0; i < expected_count; i++) {
		if (!n || by_key(&expected[n - 1], &expected[i])) {
			expected[n++] = expected[i];
			continue;
		}
		expected[n - 1].loads += expected[i].loads;
		expected[n - 1].stores += expected[i].stores;
		expected[n - 1].bytes += expected[i].bytes;
		expected[n - 1].extra += expected[i].extra;
	}
	expected_count = n;
}

/* Numbers of events of each kind; rows go into got. */
struct found {
	uint64_t objects, last_object, launches[8], blocks[8], sums_dropped, raw_dropped, dropped;
	uint32_t tid;
	char name[32];
};

static void count_event(struct found *f, const struct pasta_event *ev)
{
	const struct pasta_access_sum_record *row = &ev->access_sum;

	if (ev->kind == PASTA_KIND_OBJECT) {
		f->objects++;
		f->last_object = ev->object.id;
	} else if (ev->kind == PASTA_KIND_ACCESS_LAUNCH) {
		f->launches[ev->sub]++;
		f->blocks[ev->sub] += ev->access_launch.blocks;
		if (ev->access_launch.flags & PASTA_ACCESS_LAUNCH_RAW_DROPPED)
			f->raw_dropped += ev->access_launch.lost;
		else
			f->sums_dropped += ev->access_launch.lost;
	} else if (ev->kind == PASTA_KIND_ACCESS_SUM) {
		assert_true(got_count < LINES);
		got[got_count++] = (struct line){row->corr,  row->reducer, row->key0,  row->key1,
						 row->loads, row->stores,  row->bytes, row->extra};
		f->tid = ev->tid;
		snprintf(f->name, sizeof(f->name), "%s", pasta_str(row->name));
	}
}

static struct found read_run(void)
{
	struct pasta_stream *s = open_run(NULL);
	const struct pasta_event *ev;
	struct pasta_loss_summary account;
	struct found f = {0};

	got_count = 0;
	while ((ev = pasta_stream_next(s)))
		count_event(&f, ev);
	pasta_stream_loss(s, &account);
	f.dropped = account.dropped;
	pasta_stream_free(s);
	qsort(got, got_count, sizeof(got[0]), by_key);
	return f;
}

/* -- Random accesses: the child counts them, and the test computes the same rows -- */

static uint64_t step(uint64_t *seed)
{
	uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static struct pasta_access random_access(uint64_t *seed)
{
	uint64_t r = step(seed);

	return (struct pasta_access){
		.addr = BASE - PAGE + step(seed) % (OBJECTS * SPACING + 2 * PAGE),
		.size = 1u << r % 5,
		.site = 100 + (uint32_t)(r >> 8 & 31),
		.kind = (uint8_t)(1 + (r >> 16) % 3),
		.space = (uint8_t)((r >> 24) % 8 ? PASTA_SPACE_GLOBAL : PASTA_SPACE_PRIVATE),
	};
}

static uint64_t size_of(uint64_t object)
{
	return 100 + object * 301;
}

/* Returns the index of the object at an address, and where it ends; -1: outside of all objects. */
static int object_at(uint64_t addr, uint64_t *end)
{
	uint64_t i = (addr - BASE) / SPACING;

	*end = 0;
	if (addr < BASE || i >= OBJECTS)
		*end = addr < BASE ? BASE : UINT64_MAX;
	else if (addr - BASE - i * SPACING < size_of(i))
		*end = BASE + i * SPACING + size_of(i);
	else
		*end = i + 1 < OBJECTS ? BASE + (i + 1) * SPACING : UINT64_MAX;
	return addr >= BASE && i < OBJECTS && addr - BASE - i * SPACING < size_of(i) ? (int)i : -1;
}

static void expect_access(uint64_t corr, const struct pasta_access *a)
{
	struct line l = {.corr = corr, .loads = a->kind & 1, .stores = a->kind >> 1};
	uint64_t end, page = a->addr / PAGE * PAGE, object, cross;
	int i = object_at(a->addr, &end);
	bool global = a->space == PASTA_SPACE_GLOBAL;

	l.bytes = (uint64_t)a->size << (a->kind == PASTA_ACCESS_ATOMIC);
	object = !global ? a->space : i < 0 ? 0 : PASTA_OBJECT_FIRST + (uint64_t)i;
	cross = global && a->addr + a->size > end;
	l.extra = cross;
	l.reducer = PASTA_REDUCER_OBJECT;
	l.key0 = object;
	expect(l);
	l.reducer = PASTA_REDUCER_SITE;
	l.key0 = a->site;
	expect(l);
	l.reducer = PASTA_REDUCER_SITE_OBJECT;
	l.key1 = object;
	expect(l);
	l.reducer = PASTA_REDUCER_PAGE;
	l.key0 = page;
	l.key1 = 0;
	l.extra = a->addr + a->size > page + PAGE;
	if (global)
		expect(l);
}

static uint64_t tokens[LAUNCHES];

static void count_one(struct pasta_cpu *c, const struct pasta_access *a)
{
	pasta_cpu_access(c, a->addr, a->size, a->kind, a->space, a->site);
}

static void *work(void *arg)
{
	uint64_t seed = (uintptr_t)arg;
	struct pasta_cpu *c;
	struct pasta_access a;

	for (uint32_t turn = 0; turn < TURNS; turn++) {
		uint64_t token = tokens[step(&seed) % LAUNCHES];

		for (uint32_t i = 0; i < ACCESSES; i++) {
			c = pasta_accesses_thread(pasta_accesses_of(token), GROUP);
			must(c);
			a = random_access(&seed);
			if (i % 8 == 0)
				pasta_cpu_thread(c, turn, i);
			count_one(c, &a);
		}
	}
	return NULL;
}

static void expect_work(uint64_t seed)
{
	for (uint32_t turn = 0; turn < TURNS; turn++) {
		uint64_t corr = 1 + step(&seed) % LAUNCHES;

		for (uint32_t i = 0; i < ACCESSES; i++) {
			struct pasta_access a = random_access(&seed);

			expect_access(corr, &a);
		}
	}
}

static void register_objects(void)
{
	for (uint64_t i = 0; i < OBJECTS; i++)
		must(pasta_accesses_object(1000 + i, BASE + i * SPACING, size_of(i), 1, 0) ==
		     PASTA_OBJECT_FIRST + i);
}

/* Threads end and new ones replace them, twice, while the launches go on. */
static void many_threads(void)
{
	pthread_t threads[THREADS];
	struct pasta_accesses_launch *l[LAUNCHES];

	must(pasta_accesses_config.on);
	register_objects();
	for (uint64_t i = 0; i < LAUNCHES; i++) {
		l[i] = pasta_accesses_begin(i + 1, pasta_intern_str("kernel"), 4711, NULL);
		must(l[i]);
		tokens[i] = pasta_accesses_token(l[i]);
		must(tokens[i] && pasta_accesses_of(tokens[i]) == l[i]);
	}
	for (uintptr_t round = 0; round < 2; round++) {
		for (uintptr_t i = 0; i < THREADS; i++)
			must(!pthread_create(&threads[i], NULL, work,
					     (void *)(round * THREADS + i + 1)));
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
	for (int i = 0; i < LAUNCHES; i++)
		pasta_accesses_end(l[i], true);
	pasta_agent_close();
}

static void rows_are_those_of_all_threads_accesses(void **state)
{
	struct found f;

	set_accesses("0x1e", NULL, NULL);
	assert_int_equal(in_child(many_threads), 0);
	expected_count = 0;
	for (uintptr_t seed = 1; seed <= 2 * THREADS; seed++)
		expect_work(seed);
	add_up();
	f = read_run();
	assert_int_equal(f.dropped, 0);
	assert_int_equal(f.objects, OBJECTS);
	assert_int_equal(f.tid, 4711);
	assert_string_equal(f.name, "kernel");
	assert_int_equal(got_count, expected_count);
	for (size_t i = 0; i < got_count; i++)
		assert_memory_equal(&got[i], &expected[i], sizeof(got[i]));
}

/* -- Consecutive launches on the same threads -- */

enum { ROUNDS = 400 };
static pthread_barrier_t barrier;
static struct pasta_accesses_launch *current;

static void *stay(void *arg)
{
	uint64_t seed = (uintptr_t)arg;

	for (int round = 0; round < ROUNDS; round++) {
		struct pasta_access a = random_access(&seed);

		pthread_barrier_wait(&barrier);
		count_one(pasta_accesses_thread(current, GROUP), &a);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void one_after_the_other(void)
{
	pthread_t threads[THREADS];

	register_objects();
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (uintptr_t i = 0; i < THREADS; i++)
		must(!pthread_create(&threads[i], NULL, stay, (void *)(i + 1)));
	for (uint64_t round = 0; round < ROUNDS; round++) {
		current = pasta_accesses_begin(round + 1, 0, 1, NULL);
		must(current);
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		pasta_accesses_end(current, round % 4 != 3);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pasta_agent_close();
}

static void each_launch_has_its_own_rows_and_one_that_never_ran_has_none(void **state)
{
	set_accesses("30,launches=0", NULL, NULL);
	assert_int_equal(in_child(one_after_the_other), 0);
	expected_count = 0;
	for (uintptr_t i = 1; i <= THREADS; i++) {
		uint64_t seed = i;

		for (uint64_t round = 0; round < ROUNDS; round++) {
			struct pasta_access a = random_access(&seed);

			if (round % 4 != 3)
				expect_access(round + 1, &a);
		}
	}
	add_up();
	assert_int_equal(read_run().dropped, 0);
	assert_int_equal(got_count, expected_count);
	for (size_t i = 0; i < got_count; i++)
		assert_memory_equal(&got[i], &expected[i], sizeof(got[i]));
}

/* -- More pages than a thread has cells -- */

enum { PAGES = 300000 };

/* Accesses each page once, in a mixed order, singly or in batches. */
static void *touch_all(void *arg)
{
	uint64_t first = (uintptr_t)arg;
	struct pasta_access a = {.size = 4, .site = 7, .kind = PASTA_ACCESS_LOAD};

	for (uint64_t i = first; i < first + PAGES; i++) {
		a.addr = BASE + i * 7919 % PAGES * PAGE;
		if (first % 2)
			pasta_accesses_batch(current, &a, 1, GROUP, true);
		else
			count_one(pasta_accesses_thread(current, GROUP), &a);
	}
	return NULL;
}

/* One thread runs the first launch, all threads run the second. */
static void touch_many_pages(void)
{
	pthread_t threads[THREADS];

	must(pasta_accesses_object(1, BASE, (uint64_t)PAGES * PAGE, 1, 0) == PASTA_OBJECT_FIRST);
	for (uint64_t corr = 1; corr <= 2; corr++) {
		current = pasta_accesses_begin(corr, 0, 1, NULL);
		must(current && pasta_accesses_pin(current));
		touch_all(NULL);
		for (uintptr_t i = 0; corr == 2 && i < THREADS; i++)
			must(!pthread_create(&threads[i], NULL, touch_all, (void *)(i * 5555)));
		for (int i = 0; corr == 2 && i < THREADS; i++)
			pthread_join(threads[i], NULL);
		pasta_accesses_end(current, true);
	}
	pasta_agent_close();
}

static void a_launch_of_300000_pages_has_a_row_for_each(void **state)
{
	set_accesses("6,launches=0", NULL, NULL);
	assert_int_equal(in_child(touch_many_pages), 0);
	assert_int_equal(read_run().dropped, 0);
	assert_int_equal(got_count, 2 * (PAGES + 1));
	for (uint64_t corr = 1; corr <= 2; corr++) {
		const struct line *l = &got[(corr - 1) * (PAGES + 1)];
		uint64_t times = corr == 1 ? 1 : THREADS + 1;

		assert_int_equal(l->reducer, PASTA_REDUCER_OBJECT);
		assert_int_equal(l->key0, PASTA_OBJECT_FIRST);
		assert_int_equal(l->loads, times * PAGES);
		for (uint64_t i = 0; i < PAGES; i++) {
			l++;
			assert_true(l->corr == corr && l->reducer == PASTA_REDUCER_PAGE);
			assert_true(l->key0 == BASE + i * PAGE);
			assert_true(l->loads == times && l->bytes == 4 * times && !l->extra);
		}
	}
}

/* -- Tokens -- */

static void use_tokens(void)
{
	struct pasta_accesses_launch *l = pasta_accesses_begin(1, 0, 1, NULL), *m;
	uint64_t token = pasta_accesses_token(l);

	must(!pasta_accesses_of(0) && !pasta_accesses_of(token + 1));
	must(pasta_accesses_of(token) == l);
	pasta_accesses_end(l, true);
	must(!pasta_accesses_of(token));
	m = pasta_accesses_begin(2, 0, 1, NULL); /* most likely in the same slot */
	must(m && pasta_accesses_token(m) != token);
	must(!pasta_accesses_of(token) && pasta_accesses_of(pasta_accesses_token(m)) == m);
	pasta_accesses_end(m, true);
	must(!pasta_accesses_thread(m, GROUP));
}

static void a_token_is_invalid_once_its_launch_has_ended(void **state)
{
	set_accesses("2", NULL, NULL);
	assert_int_equal(in_child(use_tokens), 0);
}

static void begin_all(void)
{
	static struct pasta_accesses_launch *l[1 << 17];
	size_t n = 0;

	while (n < 1 << 17 && (l[n] = pasta_accesses_begin(n + 1, 0, 1, NULL)))
		n++;
	must(n == 1 << 16);
	pasta_accesses_end(l[77], true);
	must(pasta_accesses_begin(1, 0, 1, NULL) && !pasta_accesses_begin(1, 0, 1, NULL));
}

static void no_more_than_65536_launches_are_open_at_once(void **state)
{
	set_accesses("2", NULL, NULL);
	assert_int_equal(in_child(begin_all), 0);
}

/* -- Which launches are counted -- */

static void launch_them(void)
{
	const uint32_t block[3] = {64, 1, 1};

	for (uint32_t i = 0; i < 20; i++)
		for (uint32_t g = 1; g <= 5; g++) {
			const uint32_t grid[3] = {g, 1, 1};
			const char *names[] = {"gemm_a", "gemm_b", "gemm_small", "other"};

			for (int k = 0; k < 4; k++) {
				uint64_t shape = pasta_accesses_shape(
					pasta_accesses_kernel(names[k], 0), grid, block);

				pasta_accesses_registered(1, pasta_now(), shape,
							  pasta_accesses_choose(names[k], shape),
							  pasta_intern_str(names[k]), 0, 1);
			}
		}
	pasta_agent_close();
}

static uint64_t shape_of(const char *name, const char *code)
{
	const uint32_t grid[3] = {4, 1, 1}, block[3] = {64, 1, 1};
	uint64_t number = code ? pasta_accesses_code(0, code, strlen(code)) : 0;

	return pasta_accesses_shape(pasta_accesses_kernel(name, number), grid, block);
}

static void a_shape_depends_on_name_and_code(void **state)
{
	(void)state;
	assert_true(shape_of("sum", "one") == shape_of("sum", "one"));
	assert_true(shape_of("sum", "one") != shape_of("sum", "two"));
	assert_true(shape_of("sum", "one") != shape_of("max", "one"));
	assert_true(shape_of("sum", "one") != shape_of("sum", NULL));
	assert_true(pasta_accesses_code(pasta_accesses_code(0, "ab", 2), "c", 1) !=
		    pasta_accesses_code(pasta_accesses_code(0, "a", 1), "bc", 2));
}

static struct found launches_with(const char *words, const char *kernel, const char *exclude)
{
	set_accesses(words, kernel, exclude);
	remove_run(NULL);
	make_run(NULL);
	assert_int_equal(in_child(launch_them), 0);
	return read_run();
}

static void the_first_launches_of_each_shape_are_counted(void **state)
{
	struct found f = launches_with("2", NULL, NULL);

	assert_int_equal(f.launches[PASTA_ACCESS_LAUNCH_COUNTED], 4 * 5 * 3);
	assert_int_equal(f.launches[PASTA_ACCESS_LAUNCH_SAMPLED], 4 * 5 * 17);
	f = launches_with("2,launches=7", NULL, NULL);
	assert_int_equal(f.launches[PASTA_ACCESS_LAUNCH_COUNTED], 4 * 5 * 7);
	f = launches_with("2,launches=0", NULL, NULL);
	assert_int_equal(f.launches[PASTA_ACCESS_LAUNCH_COUNTED], 4 * 5 * 20);
}

static void register_both_ways(void)
{
	uint32_t one_in = pasta_accesses_one_in(0);

	pasta_accesses_registered(1, pasta_now(), 5, PASTA_ACCESS_LAUNCH_COUNTED,
				  pasta_intern_str("k"), 0, one_in);
	pasta_accesses_registered(2, pasta_now(), 5, PASTA_ACCESS_LAUNCH_SAMPLED,
				  pasta_intern_str("k"), 0, one_in);
	pasta_accesses_registered(3, pasta_now(), 5, PASTA_ACCESS_LAUNCH_REFUSED, 0, 0, 1);
	pasta_accesses_registered(4, pasta_now(), 5, PASTA_ACCESS_LAUNCH_COUNTED, 0, 0, 1);
	/* One block in 64, of a launch that has fewer. */
	must(pasta_accesses_one_in(1) == 1);
	must(pasta_accesses_one_in(one_in) == one_in);
	must(pasta_accesses_one_in(one_in + 1) == (one_in + 2) / 2);
	must(pasta_accesses_one_in(UINT64_C(1000) * one_in) == one_in);
	pasta_agent_close();
}

static void a_counted_launch_states_how_many_blocks_are_counted(void **state)
{
	struct found f;

	set_accesses("2,blocks=8", NULL, NULL);
	remove_run(NULL);
	make_run(NULL);
	assert_int_equal(in_child(register_both_ways), 0);
	f = read_run();
	assert_int_equal(f.launches[PASTA_ACCESS_LAUNCH_COUNTED], 2);
	assert_int_equal(f.blocks[PASTA_ACCESS_LAUNCH_COUNTED], 8 + 1);
	assert_int_equal(f.blocks[PASTA_ACCESS_LAUNCH_SAMPLED], 1);
	assert_int_equal(f.blocks[PASTA_ACCESS_LAUNCH_REFUSED], 1);
}

static void kernels_are_chosen_as_reports_choose_them(void **state)
{
	struct found f = launches_with("2,launches=1", "^gemm", "small$");

	assert_int_equal(f.launches[PASTA_ACCESS_LAUNCH_COUNTED], 2 * 5);
	assert_int_equal(f.launches[PASTA_ACCESS_LAUNCH_SAMPLED], 2 * 5 * 19);
	assert_int_equal(f.launches[PASTA_ACCESS_LAUNCH_FILTERED], 2 * 5 * 20);
	f = launches_with("2,launches=0", "gemm_a\nother", NULL);
	assert_int_equal(f.launches[PASTA_ACCESS_LAUNCH_COUNTED], 2 * 5 * 20);
	assert_int_equal(f.launches[PASTA_ACCESS_LAUNCH_FILTERED], 2 * 5 * 20);
}

static void too_many_shapes(void)
{
	uint64_t counted = 0;

	for (uint64_t i = 0; i < 100000; i++)
		counted += pasta_accesses_choose("kernel", i) == PASTA_ACCESS_LAUNCH_COUNTED;
	must(counted == 49152);
	must(pasta_accesses_choose("kernel", 5) == PASTA_ACCESS_LAUNCH_COUNTED);
	must(pasta_accesses_choose("kernel", 99999) == PASTA_ACCESS_LAUNCH_SAMPLED);
}

static void choose_again(void)
{
	must(pasta_accesses_choose("kernel", 7) == PASTA_ACCESS_LAUNCH_COUNTED);
	must(pasta_accesses_choose("kernel", 7) == PASTA_ACCESS_LAUNCH_SAMPLED);
	pasta_accesses_unchoose(7);
	pasta_accesses_unchoose(8);
	must(pasta_accesses_choose("kernel", 7) == PASTA_ACCESS_LAUNCH_COUNTED);
	must(pasta_accesses_choose("kernel", 7) == PASTA_ACCESS_LAUNCH_SAMPLED);
}

static void another_launch_replaces_one_that_could_not_be_counted(void **state)
{
	set_accesses("2,launches=1", NULL, NULL);
	assert_int_equal(in_child(choose_again), 0);
}

static void launches_of_shapes_without_room_are_not_counted(void **state)
{
	set_accesses("2", NULL, NULL);
	assert_int_equal(in_child(too_many_shapes), 0);
}

static void not_enabled(void)
{
	must(!pasta_accesses_config.on);
	must(!pasta_accesses_object(1, BASE, 100, 0, 0));
	must(!pasta_accesses_begin(1, 0, 1, NULL));
	must(pasta_accesses_choose("kernel", 1) == PASTA_ACCESS_LAUNCH_FILTERED);
}

static void a_malformed_option_turns_counting_off(void **state)
{
	static const char *const bad[] = {
		"",   "x", "1",	   "2,page=4", "2,page=31", "2,page=", "2,launches=-1", "2,raw,",
		"2 ", "0", "2048", "2,cooked", "2,page=0x", "-2",      "2,blocks=0"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		set_accesses(bad[i], NULL, NULL);
		assert_int_equal(in_child(not_enabled), 0);
	}
	set_accesses("2", "(", NULL);
	assert_int_equal(in_child(not_enabled), 0);
	set_accesses("2", NULL, "a\n[");
	assert_int_equal(in_child(not_enabled), 0);
}

/* -- Objects -- */

static void register_again(void)
{
	uint64_t a = pasta_accesses_object(7, BASE, 1000, 1, 0), b, c;

	must(a == PASTA_OBJECT_FIRST);
	must(pasta_accesses_object(7, BASE, 1000, 1, 0) == a);
	b = pasta_accesses_object(8, BASE + 500, 100, 1, 0); /* overlaps the first */
	must(b == a + 1);
	must(pasta_accesses_object(7, BASE, 1000, 1, 0) == a); /* registered again, over b */
	must(pasta_accesses_object(8, BASE + 500, 100, 1, 0) == b);
	pasta_accesses_unregister(BASE + 500, 0);
	c = pasta_accesses_object(8, BASE + 500, 100, 1, 0); /* it was unregistered: a new number */
	must(c == b + 1);
	must(pasta_accesses_object(9, BASE + 500, 100, 1, 0) == c + 1); /* of another allocation */
	must(pasta_accesses_object(9, BASE + 500, 200, 1, 0) == c + 2); /* of another size */
	must(!pasta_accesses_object(9, BASE, 0, 1, 0));
	must(!pasta_accesses_object(9, UINT64_MAX, 100, 1, 0));
	pasta_agent_close();
}

static void an_object_that_is_registered_again_is_the_same_one(void **state)
{
	struct found f;

	set_accesses("2", NULL, NULL);
	assert_int_equal(in_child(register_again), 0);
	f = read_run();
	assert_int_equal(f.objects, 5);
	assert_int_equal(f.last_object, PASTA_OBJECT_FIRST + 4);
}

static void many_objects(void)
{
	enum { MANY = 20000 };

	for (uint64_t i = 0; i < MANY; i++)
		must(pasta_accesses_object(i + 1, BASE + i * 64, 64, 0, 0) ==
		     PASTA_OBJECT_FIRST + i);
	for (uint64_t i = 0; i < MANY; i += 2)
		pasta_accesses_unregister(BASE + i * 64, 0);
	for (uint64_t i = 1; i < MANY; i += 2)
		must(pasta_accesses_object(i + 1, BASE + i * 64, 64, 0, 0) ==
		     PASTA_OBJECT_FIRST + i);
	must(pasta_accesses_object(1, BASE, 64, 0, 0) == PASTA_OBJECT_FIRST + MANY);
}

static void objects_are_found_again_among_many(void **state)
{
	set_accesses("2", NULL, NULL);
	assert_int_equal(in_child(many_objects), 0);
}

/* A launch's thread sees the objects that were registered when it began; pasta_accesses_renew adds
 * those registered since. */
static void put_over(void)
{
	struct pasta_accesses_launch *l = pasta_accesses_begin(1, 0, 1, NULL);
	struct pasta_cpu *c;

	pasta_accesses_object(1, BASE, 100, 0, 0);
	c = pasta_accesses_thread(l, GROUP);
	pasta_cpu_access(c, BASE, 4, PASTA_ACCESS_LOAD, 0, 1);
	pasta_accesses_unregister(BASE, 0);
	pasta_accesses_object(2, BASE, 100, 0, 0);
	pasta_cpu_access(c, BASE, 4, PASTA_ACCESS_LOAD, 0, 1);
	pasta_accesses_renew(l);
	pasta_cpu_access(pasta_accesses_thread(l, GROUP), BASE, 4, PASTA_ACCESS_LOAD, 0, 1);
	pasta_accesses_dropped(l, 5);
	pasta_accesses_end(l, true);
	pasta_agent_close();
}

static void a_thread_sees_the_objects_it_began_with_until_they_are_renewed(void **state)
{
	struct found f;

	set_accesses("2", NULL, NULL);
	assert_int_equal(in_child(put_over), 0);
	f = read_run();
	assert_int_equal(got_count, 2);
	assert_int_equal(got[0].key0, PASTA_OBJECT_FIRST);
	assert_int_equal(got[0].loads, 2);
	assert_int_equal(got[1].key0, PASTA_OBJECT_FIRST + 1);
	assert_int_equal(got[1].loads, 1);
	assert_int_equal(f.launches[PASTA_ACCESS_LAUNCH_LOST], 1);
	assert_int_equal(f.sums_dropped, 5);
	assert_int_equal(f.dropped, 5);
}

static void drop_both_ways(void)
{
	struct pasta_accesses_launch *l = pasta_accesses_begin(1, 0, 1, NULL);
	struct pasta_access a = {.addr = BASE, .size = 4, .kind = PASTA_ACCESS_LOAD};

	pasta_accesses_batch(l, &a, 1, GROUP, true);
	pasta_accesses_put(l, &a); /* no reference is left */
	pasta_accesses_put(l, &a);
	pasta_accesses_dropped(l, 5);
	pasta_accesses_end(l, true);
	pasta_agent_close();
}

static void dropped_accesses_and_dropped_raw_accesses_are_reported_separately(void **state)
{
	struct found f;

	set_accesses("2", NULL, NULL);
	assert_int_equal(in_child(drop_both_ways), 0);
	f = read_run();
	assert_int_equal(f.launches[PASTA_ACCESS_LAUNCH_LOST], 2);
	assert_int_equal(f.sums_dropped, 5);
	assert_int_equal(f.raw_dropped, 2);
	assert_int_equal(f.dropped, 7);
}

/* More launches at once than there are sums: the last one's counts are dropped, and so is its set
 * of objects. */
static void crowd(void)
{
	enum { CROWD = 65 };
	struct pasta_accesses_launch *l[CROWD + 1], *after;

	must(pasta_accesses_object(1, BASE, 100, 0, 0) == PASTA_OBJECT_FIRST);
	for (int i = 0; i <= CROWD; i++)
		l[i] = pasta_accesses_begin((uint64_t)i + 1, 0, 1, NULL);
	for (int i = 0; i < CROWD; i++)
		pasta_cpu_access(pasta_accesses_thread(l[i], GROUP), BASE, 4, PASTA_ACCESS_LOAD, 0,
				 1);
	must(!pasta_accesses_thread(l[CROWD], GROUP));
	pasta_accesses_end(l[CROWD - 1], true);
	pasta_accesses_end(l[0], true);
	must(pasta_accesses_object(2, BASE + PAGE, 100, 0, 0) == PASTA_OBJECT_FIRST + 1);
	after = pasta_accesses_begin(1000, 0, 1, NULL);
	pasta_cpu_access(pasta_accesses_thread(after, GROUP), BASE + PAGE, 4, PASTA_ACCESS_LOAD, 0,
			 1);
	pasta_accesses_end(after, true);
	pasta_agent_close();
}

static void a_thread_whose_counts_were_dropped_sees_the_objects_of_its_next_launch(void **state)
{
	struct found f;

	set_accesses("2", NULL, NULL);
	assert_int_equal(in_child(crowd), 0);
	f = read_run();
	assert_int_equal(f.dropped, 1);
	assert_int_equal(got_count, 2);
	assert_int_equal(got[0].corr, 1);
	assert_int_equal(got[0].key0, PASTA_OBJECT_FIRST);
	assert_int_equal(got[1].corr, 1000);
	assert_int_equal(got[1].key0, PASTA_OBJECT_FIRST + 1);
}

static void number_all_sites(void)
{
	must(pasta_accesses_sites(UINT32_C(1) << 31) == 1);
	must(!pasta_accesses_sites(UINT32_C(1) << 31));
	must(pasta_accesses_sites(5) == (UINT32_C(1) << 31) + 1);
	must(pasta_accesses_sites(UINT32_MAX - (UINT32_C(1) << 31) - 5));
	must(!pasta_accesses_sites(1));
	must(!pasta_accesses_sites(1));
}

static void site_numbers_are_unique(void **state)
{
	set_accesses("2", NULL, NULL);
	assert_int_equal(in_child(number_all_sites), 0);
}

/* -- Fork -- */

static void count_alone(uint64_t corr, uint64_t loads)
{
	struct pasta_accesses_launch *l = pasta_accesses_begin(corr, 0, 1, NULL);

	must(pasta_accesses_object(1, BASE, 100, 0, 0) == PASTA_OBJECT_FIRST);
	for (uint64_t i = 0; i < loads; i++)
		pasta_cpu_access(pasta_accesses_thread(l, GROUP), BASE, 4, PASTA_ACCESS_LOAD, 0, 1);
	pasta_accesses_end(l, true);
}

static void fork_while_counting(void)
{
	struct pasta_accesses_launch *l = pasta_accesses_begin(1, 0, 1, NULL);
	struct pasta_cpu *c;
	int status;
	pid_t pid;

	must(pasta_accesses_object(1, BASE, 100, 0, 0) == PASTA_OBJECT_FIRST);
	c = pasta_accesses_thread(l, GROUP);
	pasta_cpu_access(c, BASE, 4, PASTA_ACCESS_LOAD, 0, 1);
	pid = fork();
	if (!pid) {
		must(!pasta_accesses_of(pasta_accesses_token(l)));
		must(!pasta_accesses_thread(l, GROUP + 1));
		pasta_accesses_end(l, true); /* the parent's: ignored */
		count_alone(2, 3);
		pasta_agent_close();
		_exit(0);
	}
	must(pid > 0 && waitpid(pid, &status, 0) == pid && !status);
	pasta_cpu_access(pasta_accesses_thread(l, GROUP), BASE, 4, PASTA_ACCESS_LOAD, 0, 1);
	pasta_accesses_end(l, true);
	pasta_agent_close();
}

static void a_forked_child_begins_anew(void **state)
{
	struct found f;

#ifdef __SANITIZE_THREAD__
	skip(); /* ThreadSanitizer confuses the child's writer with its parent's */
#endif
	set_accesses("2", NULL, NULL);
	assert_int_equal(in_child(fork_while_counting), 0);
	f = read_run();
	assert_int_equal(f.objects, 2);
	assert_int_equal(f.dropped, 0);
	assert_int_equal(got_count, 2);
	assert_int_equal(got[0].corr, 1);
	assert_int_equal(got[0].loads, 2);
	assert_int_equal(got[1].corr, 2);
	assert_int_equal(got[1].loads, 3);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_run, remove_run)

/* -- Raw accesses of a device, counted by several workers and by one thread -- */

enum { RAW_HALF = 1024, RAW_REQUESTS = 6000 };
static struct pasta_access raw_list[RAW_REQUESTS * 32];

static size_t make_requests(void)
{
	uint64_t seed = 77;
	size_t n = 0;

	for (uint32_t turn = 0; turn < RAW_REQUESTS; turn++) {
		struct pasta_access same = random_access(&seed);
		uint32_t group = (uint32_t)(step(&seed) % 9), warp = (uint32_t)(step(&seed) % 2);

		same.addr = BASE + step(&seed) % (OBJECTS * SPACING);
		for (uint32_t lane = (uint32_t)(step(&seed) % 8); lane < 32; lane++) {
			raw_list[n] = same;
			raw_list[n].addr += (uint64_t)lane * same.size * (1 + turn % 3);
			raw_list[n].group = group;
			raw_list[n].turn = turn;
			raw_list[n++].thread = (uint16_t)(32 * warp + lane);
		}
	}
	return n;
}

static uint32_t same_site(void *ctx, void *data, uint64_t addr, uint32_t flags)
{
	(void)ctx;
	(void)data;
	return (uint32_t)addr;
}

static void write_ring(struct pasta_gpu_ring *ring, struct pasta_access *records, size_t count,
		       uint32_t number)
{
	for (size_t i = 0; i < count; i++) {
		while (i >= __atomic_load_n(&ring->consumed, __ATOMIC_ACQUIRE) + 2 * RAW_HALF)
			sched_yield();
		records[i % (2 * RAW_HALF)] = raw_list[i];
		records[i % (2 * RAW_HALF)].launch = number;
		__atomic_fetch_add(&ring->filled[i / RAW_HALF & 1], 1, __ATOMIC_RELEASE);
	}
}

static void count_both_ways(void)
{
	static struct pasta_access records[2 * RAW_HALF];
	static struct pasta_gpu_ring ring;
	struct pasta_raw_config config = {.ring = &ring,
					  .records = records,
					  .half = RAW_HALF,
					  .counts = pasta_accesses_config.on_host,
					  .workers = 3};
	struct pasta_raw_ops ops = {.site = same_site,
				    .batch = pasta_accesses_batch,
				    .dropped = pasta_accesses_dropped};
	struct pasta_accesses_launch *one, *two;
	struct pasta_error err = {0};
	struct pasta_raw *r = pasta_raw_new(&config, &ops, &err);
	size_t count = make_requests();
	uint32_t number;

	must(r);
	register_objects();
	one = pasta_accesses_begin(1, 0, 1, NULL);
	two = pasta_accesses_begin(2, 0, 1, NULL);
	must(one && two && pasta_accesses_pin(one) && pasta_accesses_pin(two));
	number = pasta_raw_begin(r, one, GROUP, 0, NULL);
	must(number);
	write_ring(&ring, records, count, number);
	must(!pasta_raw_flush(r, number, 20000));
	pasta_accesses_end(one, true);
	pasta_accesses_batch(two, raw_list, count, GROUP, true);
	pasta_accesses_end(two, true);
	must(!pasta_raw_free(r));
	pasta_agent_close();
}

static void workers_of_a_device_count_as_one_thread_does(void **state)
{
	struct found f;
	size_t half;

	set_accesses("0x7e,host", NULL, NULL);
	assert_int_equal(in_child(count_both_ways), 0);
	f = read_run();
	assert_int_equal(f.dropped, 0);
	assert_int_equal(f.sums_dropped, 0);
	half = got_count / 2;
	assert_true(half > OBJECTS + 3 * 32);
	for (size_t i = 0; i < half; i++) {
		assert_int_equal(got[i].corr, 1);
		got[i].corr = 2;
		assert_memory_equal(&got[i], &got[half + i], sizeof(got[i]));
	}
}

/* -- Counted by a device and by the host -- */

static uint64_t device_adds; /* loads, to the first row */
static bool device_omits, host_drops, device_is_full;

/* Runs three launches. The device adds the rows that the host counts, except for the
 * differences above, in the last launch. */
static void count_twice(void)
{
	struct pasta_access a = {.size = 4, .kind = PASTA_ACCESS_LOAD, .site = 7};
	struct pasta_row row = {.loads = 2, .bytes = 8};

	must(pasta_accesses_config.both && !pasta_accesses_config.on_host);
	a.addr = BASE + 8;
	row.key0 = pasta_accesses_object(1, BASE, PAGE, 0, 0);
	for (uint64_t i = 1; i <= 3; i++) {
		struct pasta_accesses_launch *l = pasta_accesses_begin(i, 0, 1, NULL);

		must(l);
		pasta_accesses_compare(l, "kernel");
		row.loads = 2 + (i == 3 ? device_adds : 0);
		if (i < 3 || !device_omits)
			pasta_accesses_add(l, PASTA_REDUCER_OBJECT, &row);
		if (i == 3 && device_is_full)
			pasta_accesses_add(l, PASTA_REDUCER_OBJECT,
					   &(struct pasta_row){.key0 = PASTA_KEY_OTHER,
							       .loads = 1});
		pasta_accesses_batch(l, &a, 1, GROUP, true);
		pasta_accesses_batch(l, &a, 1, GROUP, true);
		if (i == 3 && host_drops)
			pasta_accesses_dropped(l, 1);
		pasta_accesses_end(l, true);
	}
	pasta_agent_close();
}

static void clear_differences(void)
{
	device_adds = 0;
	device_omits = host_drops = device_is_full = false;
}

/* Checks the note that the child left on the control page. */
static void expect_note(const char *text)
{
	struct pasta_run_health health;

	make_control();
	set_accesses("0x2,both", NULL, NULL);
	assert_int_equal(in_child(count_twice), 0);
	assert_int_equal(pasta_run_health(run_dir, &health), 0);
	assert_string_equal(health.notes[0], text);
	assert_string_equal(health.notes[1], "");
	clear_differences();
}

#define NOTE "=accesses: device and host counted the same accesses "

static void equal_rows_of_device_and_host_are_reported_as_equal(void **state)
{
	expect_note(NOTE "(launches: 3, rows: 3)");
	read_run();
	assert_int_equal(got_count, 3);
	for (size_t i = 0; i < got_count; i++)
		assert_int_equal(got[i].loads, 2);
}

static void a_row_that_differs_is_reported_and_the_devices_is_emitted(void **state)
{
	device_adds = 1;
	expect_note(
		"=accesses differ: device and host counted differently (launches: 1 of 3, rows: "
		"1 of 3); kernel kernel, row 0x10 0 by object: loads, stores, bytes and extra "
		"are 3 0 8 0 on the device, and 2 0 8 0 on the host");
	read_run();
	assert_int_equal(got_count, 3);
	assert_int_equal(got[2].loads, 3);
}

static void a_row_that_only_the_host_has_is_reported(void **state)
{
	device_omits = true;
	expect_note(
		"=accesses differ: device and host counted differently (launches: 1 of 3, rows: "
		"1 of 3); kernel kernel, row 0x10 0 by object: loads, stores, bytes and extra "
		"are 0 0 0 0 on the device, and 2 0 8 0 on the host");
	read_run();
	assert_int_equal(got_count, 2);
}

static void a_launch_with_dropped_accesses_or_a_full_table_is_not_compared(void **state)
{
	host_drops = true;
	device_adds = 5;
	expect_note(NOTE "(launches: 2, rows: 2); launches not compared, because counts are "
			 "incomplete: 1");
	assert_int_equal(remove_run(state), 0);
	assert_int_equal(make_run(state), 0);
	device_is_full = true;
	device_adds = 5;
	expect_note(NOTE "(launches: 2, rows: 2); launches not compared, because counts are "
			 "incomplete: 1");
}

static void count_on_threads(void)
{
	struct pasta_accesses_launch *l = pasta_accesses_begin(1, 0, 1, NULL);
	struct pasta_access a = {.addr = BASE, .size = 4, .kind = PASTA_ACCESS_LOAD};

	must(l);
	pasta_accesses_batch(l, &a, 1, GROUP, true);
	pasta_accesses_end(l, true);
	pasta_agent_close();
}

static void without_a_device_the_hosts_rows_are_emitted(void **state)
{
	struct pasta_run_health health;

	make_control();
	set_accesses("0x2,both", NULL, NULL);
	assert_int_equal(in_child(count_on_threads), 0);
	read_run();
	assert_int_equal(got_count, 1);
	assert_int_equal(got[0].loads, 1);
	assert_int_equal(pasta_run_health(run_dir, &health), 0);
	assert_string_equal(health.notes[0], "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(rows_are_those_of_all_threads_accesses),
		CASE(each_launch_has_its_own_rows_and_one_that_never_ran_has_none),
		CASE(a_launch_of_300000_pages_has_a_row_for_each),
		CASE(a_token_is_invalid_once_its_launch_has_ended),
		CASE(no_more_than_65536_launches_are_open_at_once),
		cmocka_unit_test(a_shape_depends_on_name_and_code),
		CASE(the_first_launches_of_each_shape_are_counted),
		CASE(a_counted_launch_states_how_many_blocks_are_counted),
		CASE(kernels_are_chosen_as_reports_choose_them),
		CASE(workers_of_a_device_count_as_one_thread_does),
		CASE(equal_rows_of_device_and_host_are_reported_as_equal),
		CASE(a_row_that_differs_is_reported_and_the_devices_is_emitted),
		CASE(a_row_that_only_the_host_has_is_reported),
		CASE(a_launch_with_dropped_accesses_or_a_full_table_is_not_compared),
		CASE(without_a_device_the_hosts_rows_are_emitted),
		CASE(launches_of_shapes_without_room_are_not_counted),
		CASE(another_launch_replaces_one_that_could_not_be_counted),
		CASE(a_malformed_option_turns_counting_off),
		CASE(an_object_that_is_registered_again_is_the_same_one),
		CASE(objects_are_found_again_among_many),
		CASE(a_thread_sees_the_objects_it_began_with_until_they_are_renewed),
		CASE(dropped_accesses_and_dropped_raw_accesses_are_reported_separately),
		CASE(a_thread_whose_counts_were_dropped_sees_the_objects_of_its_next_launch),
		CASE(site_numbers_are_unique),
		CASE(a_forked_child_begins_anew),
	};

	expected = calloc(LINES, sizeof(*expected));
	got = calloc(LINES, sizeof(*got));
	if (!expected || !got)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
