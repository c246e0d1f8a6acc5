/*
 * bench_sdk.c - the cost of a call of the SDK's helpers in a tool.
 *
 * Keys, addresses and numbers are random and generated before the measurement, so that branch
 * predictors and caches do not do better than in a tool. Times are in order where a tool's would
 * be.
 */
#include "bench.h"

#include <pasta/pasta.h>

#include "process/sdk/series.h"
#include "process/sdk/windows.h"

enum { RUNS = 5, CALLS = 1000000, LIVE = 1000000, SPACING = 4096, TURN = 1000 };

static uint64_t numbers[CALLS];
static volatile uint64_t sink; /* prevents the compiler from removing the lookups */

static uint64_t random_u64(void)
{
	static uint64_t state;
	uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static void make_numbers(uint64_t below)
{
	for (int i = 0; i < CALLS; i++)
		numbers[i] = random_u64() % below;
}

static void must(bool ok)
{
	if (!ok)
		bench_die("out of memory, or a range was not found");
}

/* -- Ranges: LIVE at any time, in twice as many slots -- */

struct ranges {
	struct pasta_ranges *r;
	uint8_t *live; /* by slot */
	struct bench find, add, remove, walk;
};

static void fill(struct ranges *b)
{
	size_t count = 0;

	b->r = pasta_ranges_new(16);
	b->live = calloc(2 * LIVE, 1);
	must(b->r && b->live);
	while (count < LIVE) {
		uint64_t slot = random_u64() % (2 * LIVE);

		if (b->live[slot])
			continue;
		must(pasta_ranges_add(b->r, slot * SPACING, SPACING / 2, NULL));
		b->live[slot] = 1;
		count++;
	}
}

static void time_find(struct ranges *b)
{
	uint64_t found = 0;
	double begin;

	make_numbers((uint64_t)2 * LIVE * SPACING);
	begin = bench_now();
	for (int i = 0; i < CALLS; i++)
		found += pasta_ranges_find(b->r, numbers[i], NULL, NULL) != NULL;
	bench_add(&b->find, (bench_now() - begin) * 1e9 / CALLS);
	sink = found;
}

/* Chooses up to TURN slots that are live, or that are not, and inverts their state. */
static int choose(struct ranges *b, const uint64_t *slots, uint8_t live, uint64_t *chosen)
{
	int n = 0;

	for (int i = 0; i < TURN; i++) {
		if (b->live[slots[i]] != live)
			continue;
		b->live[slots[i]] ^= 1;
		chosen[n++] = slots[i];
	}
	return n;
}

/* Removes some ranges, then adds others, in turns. */
static void time_change(struct ranges *b)
{
	double removing = 0, adding = 0, begin;
	size_t removed = 0, added = 0;
	uint64_t slots[TURN];

	make_numbers(2 * LIVE);
	for (int i = 0; i + TURN <= CALLS; i += TURN) {
		bool add = i / TURN % 2;
		int n = choose(b, numbers + i, !add, slots);

		begin = bench_now();
		for (int k = 0; k < n && add; k++)
			must(pasta_ranges_add(b->r, slots[k] * SPACING, SPACING / 2, NULL));
		for (int k = 0; k < n && !add; k++)
			must(!pasta_ranges_remove(b->r, slots[k] * SPACING));
		*(add ? &adding : &removing) += (bench_now() - begin) * 1e9;
		*(add ? &added : &removed) += (size_t)n;
	}
	bench_add(&b->add, adding / (double)added);
	bench_add(&b->remove, removing / (double)removed);
}

static void time_walk(struct ranges *b)
{
	uint64_t at = 0, begin, size;
	size_t seen = 0;
	double start = bench_now();

	for (; pasta_ranges_next(b->r, at, &begin, &size); at = begin + size)
		seen++;
	bench_add(&b->walk, (bench_now() - start) * 1e9 / (double)seen);
	must(seen == pasta_ranges_count(b->r));
}

static void ranges(void)
{
	struct ranges b = {0};

	for (int run = 0; run < RUNS; run++) {
		fill(&b);
		time_find(&b);
		time_change(&b);
		time_walk(&b);
		pasta_ranges_free(b.r);
		free(b.live);
	}
	bench_report(&b.find, "ranges: find, of 10^6, one in four found", "ns");
	bench_report(&b.add, "ranges: add, to 10^6", "ns");
	bench_report(&b.remove, "ranges: remove, from 10^6", "ns");
	bench_report(&b.walk, "ranges: next, over 10^6", "ns");
}

static void hist(void)
{
	struct bench b = {0};

	for (int run = 0; run < RUNS; run++) {
		struct pasta_hist *h = pasta_hist_new();
		double begin;

		make_numbers(10000000);
		must(h);
		begin = bench_now();
		for (int i = 0; i < CALLS; i++)
			must(!pasta_hist_add(h, numbers[i], 1));
		bench_add(&b, (bench_now() - begin) * 1e9 / CALLS);
		pasta_hist_free(h);
	}
	bench_report(&b, "hist: add", "ns");
}

/* -- Windows and series by 16 keys: events 1 us apart -- */

static void combine(void *into, const void *from)
{
	*(uint64_t *)into += *(const uint64_t *)from;
}

static int visit(void *ctx, const void *key, uint64_t begin, uint64_t end, const void *value)
{
	*(uint64_t *)ctx += *(const uint64_t *)value;
	return 0;
}

static void windows(const char *what, const char *visiting, uint64_t length, uint64_t step)
{
	const struct pasta_window_def def = {.size = sizeof(def),
					     .length = length,
					     .step = step,
					     .key_size = 4,
					     .value_size = 8,
					     .merge = combine};
	struct bench at = {0}, each = {0};

	for (int run = 0; run < RUNS; run++) {
		struct pasta_error err = {0};
		struct pasta_windows *w = pasta_windows_new(&def, NULL, &err);
		uint64_t sum = 0;
		double begin;

		make_numbers(16);
		must(w);
		begin = bench_now();
		for (uint64_t i = 0; i < CALLS; i++) {
			uint32_t key = (uint32_t)numbers[i];

			++*(uint64_t *)pasta_windows_at(w, &key, 1000 * i);
		}
		bench_add(&at, (bench_now() - begin) * 1e9 / CALLS);
		begin = bench_now();
		must(!pasta_windows_each(w, visit, &sum) && !pasta_windows_dropped(w));
		bench_add(&each, (bench_now() - begin) * 1e3);
		sink = sum;
		pasta_windows_free(w);
	}
	bench_report(&at, what, "ns");
	if (visiting)
		bench_report(&each, visiting, "ms");
}

static void series(const char *what, enum pasta_series_type type)
{
	const struct pasta_series_def def = {
		.size = sizeof(def), .type = type, .key_size = 4, .bins = 200};
	struct bench b = {0};

	for (int run = 0; run < RUNS; run++) {
		struct pasta_series_set *s = pasta_series_new(&def);
		double begin;

		make_numbers(16);
		must(s);
		begin = bench_now();
		for (uint64_t i = 0; i < CALLS; i++)
			pasta_series_add(s, &(uint32_t){(uint32_t)numbers[i]}, 1000 * i, i);
		bench_add(&b, (bench_now() - begin) * 1e9 / CALLS);
		must(!pasta_series_error(s));
		pasta_series_free(s);
	}
	bench_report(&b, what, "ns");
}

int main(void)
{
	ranges();
	hist();
	windows("windows: at, 10 ms", NULL, 10000000, 10000000);
	windows("windows: at, each event in a new pane",
		"windows: each, 10^6 windows of 1000 panes", 1000000, 1000);
	series("series: add, sum", PASTA_SERIES_SUM);
	series("series: add, level", PASTA_SERIES_LEVEL);
	return 0;
}
