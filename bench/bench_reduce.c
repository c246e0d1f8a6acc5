/*
 * bench_reduce.c - the cost of counting an access, by object and by page together, on one core.
 *
 * There are 200 objects, accessed in the order of memory or at random. Objects of 8 MiB have more
 * pages than there are cells, so that cells are spilled. Addresses are generated before the
 * measurement. The counts are compared with the accesses.
 */
#include "bench.h"

#include "reduce/cpu.h"

enum { RUNS = 5, OBJECTS = 200, SITES = 64, ACCESSES = 1 << 22, TIMES = 4, BATCH = 1 << 12 };
#define BASE (UINT64_C(1) << 40)
#define BY_BOTH (PASTA_REDUCER_MASK(OBJECT) | PASTA_REDUCER_MASK(PAGE))
#define BY_ALL ((1u << PASTA_REDUCER_COUNT) - 2)

struct work {
	uint64_t object; /* bytes */
	uint32_t reducers;
	struct pasta_cpu *cpu;
	struct pasta_sums *sums;
	struct pasta_objects *objects;
	const struct pasta_version *version;
};

static uint64_t addrs[ACCESSES];
static struct pasta_access records[BATCH];

static uint64_t random_u64(void)
{
	static uint64_t state;
	uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* CPU time, so that other programs do not count. */
static double core_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Objects are an eighth of their size apart. */
static uint64_t address(const struct work *w, uint64_t object, uint64_t offset)
{
	return BASE + object * (w->object + w->object / 8) + offset;
}

static bool spill(void *arg)
{
	struct work *w = arg;

	pasta_cpu_spill(w->cpu, w->sums);
	return true;
}

static void begin(struct work *w)
{
	struct pasta_cpu_config config = {.reducers = w->reducers, .full = spill, .arg = w};
	struct pasta_error err;

	w->cpu = pasta_cpu_new(&config, &err);
	w->sums = pasta_sums_new(w->reducers, 0);
	w->objects = pasta_objects_new(0);
	if (!w->cpu || !w->sums || !w->objects)
		bench_die("out of memory");
	for (uint64_t i = 0; i < OBJECTS; i++)
		if (pasta_objects_add(w->objects, address(w, i, 0), w->object,
				      PASTA_OBJECT_FIRST + i))
			bench_die("cannot register an object");
	w->version = pasta_objects_pin(w->objects);
	pasta_cpu_launch(w->cpu, w->version, 1, 256);
}

static int add_loads(void *loads, enum pasta_reducer reducer, const struct pasta_row *row)
{
	if (row->key0 == PASTA_KEY_OTHER && reducer == PASTA_REDUCER_PAGE)
		bench_die("pages have no rows");
	if (reducer == PASTA_REDUCER_OBJECT && row->key0 >= PASTA_OBJECT_FIRST &&
	    row->bytes == 4 * row->loads)
		*(uint64_t *)loads += row->loads;
	return 0;
}

static void end(struct work *w, uint64_t accesses)
{
	uint64_t loads = 0;

	pasta_cpu_drain(w->cpu, w->sums);
	if (pasta_sums_each(w->sums, add_loads, &loads) || loads != accesses)
		bench_die("%llu accesses were made, but %llu counted", (unsigned long long)accesses,
			  (unsigned long long)loads);
	pasta_cpu_free(w->cpu);
	pasta_sums_free(w->sums);
	pasta_objects_unpin(w->version);
	pasta_objects_free(w->objects);
}

/* -- Access patterns -- */

static void stream(const struct work *w)
{
	for (uint64_t i = 0; i < ACCESSES; i++)
		addrs[i] = address(w, i / (w->object / 4) % OBJECTS, 4 * i % w->object);
}

/* Columns of a matrix one after the other; each row has 1,040 bytes. */
static void stride(const struct work *w)
{
	uint64_t lines = w->object / 1040, i, at;

	for (i = 0; i < ACCESSES; i++) {
		at = i % (lines * 256);
		addrs[i] =
			address(w, i / (lines * 256) % OBJECTS, at % lines * 1040 + at / lines * 4);
	}
}

/* Cache line by cache line, 16 of them per page. */
static void lines(const struct work *w)
{
	uint64_t each = w->object / 256;

	for (uint64_t i = 0; i < ACCESSES; i++)
		addrs[i] = address(w, i / each % OBJECTS, 256 * i % w->object);
}

/* Three objects in turn, as in c[i] = a[i] + b[i]. */
static void three(const struct work *w)
{
	for (uint64_t i = 0; i < ACCESSES; i++) {
		uint64_t at = i / 3;

		addrs[i] = address(w, (at / (w->object / 4) * 3 + i % 3) % OBJECTS,
				   4 * at % w->object);
	}
}

static void anywhere(const struct work *w)
{
	for (uint64_t i = 0; i < ACCESSES; i++)
		addrs[i] = address(w, random_u64() % OBJECTS, random_u64() % (w->object / 4) * 4);
}

/* -- Input -- */

static double direct(struct work *w)
{
	double start = core_now();

	for (int n = 0; n < TIMES; n++)
		for (uint32_t i = 0; i < ACCESSES; i++)
			pasta_cpu_access(w->cpu, addrs[i], 4, PASTA_ACCESS_LOAD, PASTA_SPACE_GLOBAL,
					 i % SITES);
	return core_now() - start;
}

/* Records are generated in batches; only counting them is measured. */
static double batches(struct work *w)
{
	double took = 0, start;

	for (uint32_t i = 0; i < ACCESSES * TIMES; i += BATCH) {
		for (uint32_t k = 0; k < BATCH; k++)
			records[k] = (struct pasta_access){.addr = addrs[(i + k) % ACCESSES],
							   .size = 4,
							   .site = (i + k) / 32 % SITES,
							   .launch = 1,
							   .group = (i + k) / 256,
							   .thread = (i + k) % 256,
							   .turn = (i + k) / 32,
							   .kind = PASTA_ACCESS_LOAD};
		start = core_now();
		if (pasta_cpu_batch(w->cpu, records, BATCH, NULL) != BATCH)
			bench_die("cannot count a batch");
		took += core_now() - start;
	}
	return took;
}

static void figure(const char *what, uint64_t object, uint32_t reducers,
		   void (*make)(const struct work *), double (*feed)(struct work *))
{
	struct work w = {.object = object, .reducers = reducers};
	struct bench b = {0};

	make(&w);
	for (int run = 0; run < RUNS; run++) {
		begin(&w);
		bench_add(&b, (double)ACCESSES * TIMES / feed(&w) / 1e6);
		end(&w, (uint64_t)ACCESSES * TIMES);
	}
	bench_report(&b, what, "M/s");
}

/* Shows whether the time grows linearly with the number of accesses. */
static void linear(void)
{
	struct work w = {.object = 1 << 20, .reducers = BY_BOTH};

	anywhere(&w);
	begin(&w);
	for (int n = 1; n <= 16; n *= 4) {
		double start = core_now();

		for (int i = 0; i < n; i++)
			direct(&w);
		printf("  %4d M accesses at random: %.2f ns each\n", n * TIMES * (ACCESSES >> 20),
		       (core_now() - start) * 1e9 / n / TIMES / ACCESSES);
		fflush(stdout);
	}
	end(&w, UINT64_C(21) * TIMES * ACCESSES);
}

int main(void)
{
	figure("by object and page, streaming", 1 << 20, BY_BOTH, stream, direct);
	figure("by object and page, strided", 1 << 20, BY_BOTH, stride, direct);
	figure("by object and page, three arrays in turn", 1 << 20, BY_BOTH, three, direct);
	figure("by object and page, random, objects of 64 KiB", 1 << 16, BY_BOTH, anywhere, direct);
	figure("by object and page, random, objects of 1 MiB", 1 << 20, BY_BOTH, anywhere, direct);
	figure("by object and page, lines, objects of 8 MiB", 8 << 20, BY_BOTH, lines, direct);
	figure("by object and page, random, objects of 8 MiB", 8 << 20, BY_BOTH, anywhere, direct);
	figure("the same in records, streaming", 1 << 20, BY_BOTH, stream, batches);
	figure("the same in records, random, objects of 1 MiB", 1 << 20, BY_BOTH, anywhere,
	       batches);
	figure("all reducers, in records, streaming", 1 << 20, BY_ALL, stream, batches);
	figure("all reducers, in records, random", 1 << 20, BY_ALL, anywhere, batches);
	linear();
	return 0;
}
