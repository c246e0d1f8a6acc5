/*
 * reduce_cases.h - kernels that call the patches as instructions would, and what must come of it.
 *
 * One text for a device and for an emulated one. The file that includes it defines memory_new, for
 * all that a kernel touches, zeroed, and the host's where it is the ring; kernel_run, which returns
 * when all blocks are done, and calls host_turn now and then; and together, by which an emulated
 * warp learns who is at an instruction.
 */
#ifndef PASTA_TESTS_REDUCE_CASES_H
#define PASTA_TESTS_REDUCE_CASES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/reduce_oracle.h"
#include "reduce/gpu.cu"

enum { OBJECTS = 200, HALF = 1024, LAUNCH = 77, SHIFT = 12 };
enum { ROWS = 1 << 16, ROWS_FEW = 16, THREADS = 74 };
#define BASE UINT64_C(0x7fff00001000)
enum {
	TABLES = PASTA_REDUCER_MASK(PAGE) | PASTA_REDUCER_MASK(SITE) |
		 PASTA_REDUCER_MASK(SITE_OBJECT) | PASTA_REDUCER_MASK(COALESCE) |
		 PASTA_REDUCER_MASK(DIVERGE),
	REDUCERS = TABLES | PASTA_REDUCER_MASK(OBJECT),
};

struct job {
	struct pasta_gpu_launch *launch; /* what patches are given */
	enum variant variant;
	uint32_t steps, blocks;
	bool global;	/* instructions of GLOBAL classes alone */
	uint64_t *sums; /* what was done: accesses, and a sum over all their fields */
	const struct pasta_gpu_part *parts;
	uint32_t count;
};

void *memory_new(size_t bytes, bool host);
void kernel_run(const struct job *job);

/* -- Instructions -- */

struct instruction {
	uint8_t patch, size, flags, count;
};
static __device__ const struct instruction instructions[] = {
	{3, 1, 1, 0},	{3, 2, 2, 0},	{3, 4, 1, 0},	{3, 8, 3, 0},  {3, 16, 1, 0},
	{3, 16, 2, 0},	{3, 32, 1, 0},	{3, 4, 7, 0},	{3, 4, 9, 0},  {3, 4, 2, 0},
	{14, 4, 0, 0},	{14, 16, 0, 0}, {30, 0, 0, 0},	{35, 0, 0, 0}, {37, 0, 0, 0},
	{30, 1, 0, 0},	{4, 4, 1, 0},	{4, 16, 2, 0},	{5, 8, 3, 0},  {17, 4, 3, 0},
	{19, 16, 1, 1}, {19, 16, 1, 2}, {19, 16, 2, 4}, {26, 8, 0, 0}, {27, 4, 0, 0},
	{36, 0, 0, 0},	{38, 0, 0, 0},
};
enum { INSTRUCTIONS = sizeof(instructions) / sizeof(instructions[0]), GLOBALS = 16, PATTERNS = 7 };
enum { COPIES = 10, OTHER_COPIES = 25 }; /* up to GLOBALS, and to the end */

static __host__ __device__ uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* Where a thread is at a step: r is random, of the thread; w is of its warp. */
static __device__ uint64_t address(const struct job *job, uint32_t pattern, uint64_t r, uint64_t w,
				   uint32_t size)
{
	const struct pasta_gpu_part *own = &job->parts[r % (job->count ? job->count : 1)];
	const struct pasta_gpu_part *warps = &job->parts[w % (job->count ? job->count : 1)];

	if (!job->count || pattern == 0)
		return r % 4 ? r >> 44 : UINT64_MAX - (r >> 32) % 40;
	switch (pattern) {
	case 1: /* side by side */
		return warps->begin + thread_number() * size;
	case 2:
		return warps->begin + (w >> 32) % 5;
	case 3: /* anywhere in any object */
		return own->begin + (r >> 20) % (own->last - own->begin + 1);
	case 4: /* beyond an end */
		return own->last - (r >> 20) % 20 + 4;
	case 5: /* before a beginning */
		return warps->begin - (r >> 20) % 40;
	default: /* not aligned */
		return warps->begin + lane_id() * 7 + (w >> 32) % 3;
	}
}

/* The tests' own word on what an access is. */
static __host__ __device__ uint64_t print_of(uint64_t addr, uint32_t size, uint32_t site,
					     uint32_t group, uint32_t thread, uint32_t kind,
					     uint32_t space)
{
	uint64_t h = mix(addr + 1) + mix((uint64_t)size << 32 | site);

	return mix(h + mix((uint64_t)group << 32 | thread << 8 | kind << 4 | space));
}

struct done {
	const struct job *job;
	uint32_t site;
};

static __device__ void did(const struct done *d, uint64_t addr, uint32_t size, uint32_t kind,
			   uint32_t space)
{
	uint64_t print = print_of(addr, size, d->site, (uint32_t)block_number(), thread_number(),
				  kind, space);

	atomicAdd((unsigned long long *)&d->job->sums[0], 1ull);
	atomicAdd((unsigned long long *)&d->job->sums[1], (unsigned long long)print);
}

#define CALLS(v, name, ...)                                                                        \
	do {                                                                                       \
		if (job->variant == VARIANT_all)                                                   \
			pasta_all_##name(job->launch, pc, __VA_ARGS__);                            \
		else if (job->variant == VARIANT_object)                                           \
			pasta_object_##name(job->launch, pc, __VA_ARGS__);                         \
		else if (job->variant == VARIANT_page)                                             \
			pasta_page_##name(job->launch, pc, __VA_ARGS__);                           \
		else if (job->variant == VARIANT_raw)                                              \
			pasta_raw_##name(job->launch, pc, __VA_ARGS__);                            \
		v(name, __VA_ARGS__)                                                               \
	} while (0)
#define GLOBAL_ONE(name, ...)                                                                      \
	else if (job->variant == VARIANT_naive) pasta_naive_##name(job->launch, pc, __VA_ARGS__);  \
	else pasta_floor_##name(job->launch, pc, __VA_ARGS__);
#define OTHER_ONE(name, ...) ;

/* Accesses of one thread each. */
static __device__ void do_memory(const struct job *job, const struct instruction *i, uint64_t pc,
				 uint64_t addr)
{
	struct done d = {job, (uint32_t)(pc - BASE)};
	uint32_t kind = i->flags & 3;

	if (i->patch == 3) {
		CALLS(GLOBAL_ONE, global, (void *)addr, i->size, i->flags, NULL);
		if (!(i->flags & 8))
			did(&d, addr, i->size, kind, PASTA_SPACE_GLOBAL);
	} else if (i->patch == 4) {
		CALLS(OTHER_ONE, shared, (void *)addr, i->size, i->flags, NULL);
		did(&d, addr, i->size, kind, PASTA_SPACE_LOCAL);
	} else if (i->patch == 5) {
		CALLS(OTHER_ONE, local, (void *)addr, i->size, i->flags, NULL);
		did(&d, addr, i->size, kind, PASTA_SPACE_PRIVATE);
	} else {
		CALLS(OTHER_ONE, remote, (void *)addr, i->size, i->flags, NULL);
		did(&d, addr, i->size, kind, PASTA_SPACE_REMOTE);
	}
}

static __device__ void do_more(const struct job *job, const struct instruction *i, uint64_t pc,
			       uint64_t addr, uint64_t r)
{
	struct done d = {job, (uint32_t)(pc - BASE)};
	uint32_t near = (uint32_t)(r >> 40) * 4;

	if (i->patch == 14) {
		addr = r % 5 ? addr : 0;
		CALLS(GLOBAL_ONE, memcpy_async, (void *)addr, near, i->size);
		if (addr)
			did(&d, addr, i->size, 1, PASTA_SPACE_GLOBAL);
		did(&d, near, i->size, 2, PASTA_SPACE_LOCAL);
	} else if (i->patch == 19) {
		CALLS(OTHER_ONE, matrix, near, i->size, i->flags, i->count, NULL);
		if (lane_id() / 8 < i->count)
			did(&d, near, i->size, i->flags, PASTA_SPACE_LOCAL);
	} else if (i->patch == 26) {
		CALLS(OTHER_ONE, async_store, near, 0, NULL, i->size);
		did(&d, near, i->size, 2, PASTA_SPACE_REMOTE);
	} else {
		CALLS(OTHER_ONE, async_reduction, near, 0, i->size);
		did(&d, near, i->size, 3, PASTA_SPACE_REMOTE);
	}
}

/* Of a warp: all lanes have the same value, and the first one adds it. */
static __device__ void do_bulk(const struct job *job, const struct instruction *i, uint64_t pc,
			       uint64_t addr, uint64_t w, bool first)
{
	struct done d = {job, (uint32_t)(pc - BASE)};
	uint32_t near = (uint32_t)(w >> 40) * 16, far = near + 4096;
	uint32_t blocks = (uint32_t)(w >> 20) % (w % 3 ? 5 : 4096), size = 16 * blocks;
	uint32_t from = PASTA_SPACE_LOCAL, to = PASTA_SPACE_GLOBAL, kind = 2;

	addr = addr / 16 * 16;
	if (i->patch == 30) {
		CALLS(GLOBAL_ONE, bulk_to_shared, addr, near, 0, blocks | 3u << 16, i->size);
		from = PASTA_SPACE_GLOBAL;
		to = i->size ? PASTA_SPACE_REMOTE : PASTA_SPACE_LOCAL;
	} else if (i->patch == 35) {
		CALLS(GLOBAL_ONE, bulk_to_global, addr, near, blocks);
	} else if (i->patch == 37) {
		CALLS(GLOBAL_ONE, bulk_reduce_global, addr, near, blocks);
		kind = 3;
	} else {
		if (i->patch == 36)
			CALLS(OTHER_ONE, bulk_shared, near, far, 0, blocks);
		else
			CALLS(OTHER_ONE, bulk_reduce_shared, near, far, 0, blocks);
		to = PASTA_SPACE_REMOTE;
		kind = i->patch == 36 ? 2 : 3;
	}
	if (!first)
		return;
	did(&d, from == PASTA_SPACE_GLOBAL ? addr : near, size, 1, from);
	did(&d,
	    to == PASTA_SPACE_GLOBAL	   ? addr
	    : to == from || i->patch >= 36 ? far
					   : near,
	    size, kind, to);
}

static __device__ void do_step(const struct job *job, uint32_t step, uint32_t all)
{
	uint32_t n = mix(step) % (job->global ? GLOBALS : INSTRUCTIONS);
	const struct instruction i = instructions[n];
	uint64_t w = mix(block_number() << 32 | thread_number() / 32 << 20 | step);
	uint64_t r = mix(w + lane_id()), pc = BASE + 16 * n;
	bool bulk = i.patch >= 30, on = step % 3 ? true : step % 2 ? r >> 8 & 1 : r % 9 == 0;
	uint64_t addr = address(job, step / 3 % PATTERNS, bulk ? w : r, w, i.size);
	uint32_t mask = __ballot_sync(all, on);

	together(mask);
	if (on) {
		if (bulk)
			do_bulk(job, &i, pc, bulk && step / 3 % PATTERNS == 6 ? 4096 : addr, w,
				lane_id() == leader_of(mask));
		else if (i.patch == 14 || i.patch >= 19)
			do_more(job, &i, pc, addr, r);
		else
			do_memory(job, &i, pc, addr);
	}
	__syncwarp(all);
}

/* By turns: all lanes, every other one, and each half of them at a barrier of its own. */
enum { BARRIER_SITES = 3, BARRIER_ROWS = 4 };
static __device__ void do_barrier(const struct job *job, uint32_t step, uint32_t all)
{
	uint32_t which = step % 4, odd = lane_id() % 2;
	uint64_t pc = BASE + 16 * (INSTRUCTIONS + which);
	bool on = which < BARRIER_SITES && (which != 1 || odd);
	uint32_t mask = __ballot_sync(all, on);

	together(mask);
	if (on)
		pasta_all_barrier(job->launch, pc, which == 2 ? 2 + odd : which, 0, 0);
	__syncwarp(all);
}

static __device__ void do_all(const struct job *job)
{
	uint32_t threads = warp_threads(), all = threads < 32 ? lanes_below(threads) : ~0u;

	together(all);
	pasta_all_block_enter(job->launch, BASE);
	for (uint32_t step = 0; step < job->steps; step++) {
		do_step(job, step, all);
		do_barrier(job, step, all);
	}
	together(all);
	pasta_all_block_exit(job->launch, BASE);
}

/* -- The host's side -- */

struct records {
	struct pasta_access *all;
	size_t count, room;
	uint64_t halves; /* that were taken */
};
static struct records got;
static const struct pasta_gpu_raw *reading; /* NULL: no reader */
static int failures;

static void check(bool what, const char *name, const char *claim)
{
	if (what)
		return;
	printf("FAILED %s: %s\n", name, claim);
	failures++;
}

static void take(const struct pasta_gpu_raw *raw, uint64_t from, uint64_t count)
{
	for (uint64_t i = from; i < from + count; i++) {
		if (got.count == got.room) {
			got.room = got.room ? 2 * got.room : 1 << 16;
			got.all = (struct pasta_access *)realloc(got.all,
								 got.room * sizeof(*got.all));
			if (!got.all)
				abort();
		}
		got.all[got.count++] = raw->records[i & (2 * (uint64_t)raw->half - 1)];
	}
}

/* Takes what is full. The half and the ring are the host's memory; raw's other fields are not to be
 * looked at while a kernel runs. */
static struct pasta_gpu_raw reader;
static void host_turn(void)
{
	struct pasta_gpu_ring *ring = reader.ring;

	while (reading) {
		uint64_t full = (got.halves / 2 + 1) * HALF;

		if (__atomic_load_n(&ring->filled[got.halves % 2], __ATOMIC_ACQUIRE) < full)
			return;
		take(&reader, got.halves * HALF, HALF);
		got.halves++;
		__atomic_store_n(&ring->consumed, got.halves * HALF, __ATOMIC_RELEASE);
	}
}

static struct pasta_gpu_raw *raw_new(bool wait)
{
	struct pasta_gpu_raw *raw = (struct pasta_gpu_raw *)memory_new(sizeof(*raw), false);

	raw->records = (struct pasta_access *)memory_new(2 * HALF * sizeof(*raw->records), true);
	raw->ring = (struct pasta_gpu_ring *)memory_new(sizeof(*raw->ring), true);
	raw->half = HALF;
	raw->wait = wait;
	return raw;
}

/* Some parts have pages of the table; others begin with any number. */
enum { FAR_EVERY = 7 };
static void pages_new(struct pasta_gpu_launch *l)
{
	struct pasta_gpu_part *parts = PASTA_GPU_PARTS_OF(l);
	struct pasta_gpu_pages *p = &l->pages;

	for (uint32_t i = 0; i < l->count; i++) {
		uint64_t first = parts[i].begin >> SHIFT, last = parts[i].last >> SHIFT;

		if (i % FAR_EVERY == 3)
			continue;
		parts[i].base = l->page_count - (uint32_t)first;
		l->page_count += (uint32_t)(last - first) + 1;
	}
	p->sums = (struct pasta_gpu_sums *)memory_new(l->page_count * sizeof(*p->sums) + 1, false);
	p->marks = (uint8_t *)memory_new((l->page_count >> PASTA_GPU_STRETCH) + 1, false);
}

static struct pasta_gpu_launch *launch_new(const struct oracle *o, uint32_t count,
					   uint32_t reducers, uint32_t rows, uint32_t blocks)
{
	struct pasta_gpu_launch *l = (struct pasta_gpu_launch *)memory_new(
		sizeof(*l) + (count + 1) * sizeof(struct pasta_gpu_part), false);
	struct pasta_gpu_part *parts = PASTA_GPU_PARTS_OF(l);

	oracle_parts(o, parts);
	parts[count] = (struct pasta_gpu_part){1, 0, PASTA_GPU_FAR, {0}};
	l->reducers = reducers | PASTA_REDUCER_MASK(BLOCK);
	l->page_shift = SHIFT;
	l->count = count;
	l->every = 1;
	l->spaces = 1;
	l->number = LAUNCH;
	l->base = BASE;
	l->spread = 1;
	l->counts = (uint64_t *)memory_new(
		2 * PASTA_GPU_PARTS(count) * PASTA_GPU_COUNTERS * sizeof(*l->counts), false);
	l->blocks.begin = (uint64_t *)memory_new(blocks * sizeof(uint64_t), false);
	l->blocks.end = (uint64_t *)memory_new(blocks * sizeof(uint64_t), false);
	l->blocks.max = blocks;
	pages_new(l);
	for (uint32_t i = PASTA_REDUCER_PAGE; i < PASTA_REDUCER_COUNT; i++) {
		struct pasta_gpu_table *t = &l->tables[i];

		if (!((TABLES | PASTA_REDUCER_MASK(BARRIER)) >> i & 1))
			continue;
		t->max = rows;
		t->mask = 2 * rows - 1;
		t->index = (uint32_t *)memory_new(2 * rows * sizeof(*t->index), false);
		t->rows = (struct pasta_gpu_row *)memory_new((rows + 1) * sizeof(*t->rows), false);
	}
	return l;
}

static struct job job_new(const struct oracle *o, uint32_t count, uint32_t rows, uint32_t steps,
			  uint32_t blocks)
{
	struct job job = {};

	job.launch = launch_new(o, count, REDUCERS, rows, blocks);
	job.variant = VARIANT_all;
	job.steps = steps;
	job.blocks = blocks;
	job.sums = (uint64_t *)memory_new(2 * sizeof(*job.sums), false);
	job.parts = PASTA_GPU_PARTS_OF(job.launch);
	job.count = count;
	return job;
}

/* The host knows of whole halves, and of all of them. */
static void check_told(const struct pasta_gpu_raw *raw, const char *name)
{
	bool good = true;

	for (int i = 0; i < 2; i++)
		good = good && raw->ring->filled[i] == raw->filled[i] / HALF * HALF;
	check(good, name, "the host is notified of full halves");
}

/* Runs it with raw accesses on; they are in got. */
static void run_raw(struct job *job, const char *name)
{
	struct pasta_gpu_raw *raw = raw_new(true);
	uint64_t sum = 0, turns = 0;

	got.count = got.halves = 0;
	reader = *raw;
	reading = raw;
	job->launch->raw = raw;
	kernel_run(job);
	host_turn();
	check(raw->head == raw->filled[0] + raw->filled[1], name, "all that was taken was written");
	check_told(raw, name);
	take(raw, got.halves * HALF, raw->head - got.halves * HALF);
	reading = NULL;
	for (size_t i = 0; i < got.count; i++) {
		const struct pasta_access *a = &got.all[i];

		sum += print_of(a->addr, a->size, a->site, a->group, a->thread, a->kind, a->space);
		turns += a->launch != LAUNCH;
	}
	check(!raw->dropped && got.count == job->sums[0], name, "each access is a record");
	check(sum == job->sums[1], name, "each record is the access that was made");
	check(!turns, name, "records are of the launch");
}

static void compare_with(struct oracle *o, const struct job *job, uint32_t reducers,
			 const char *name, bool totals, const struct records *with)
{
	size_t found =
		oracle_compare(o, job->launch, reducers, with->all, with->count, THREADS, totals);

	check(!found, name, "the device counts as the host does");
	printf("%s: %zu accesses, %zu differences\n", name, with->count, found);
}

static void compare(struct oracle *o, const struct job *job, uint32_t reducers, const char *name,
		    bool totals)
{
	compare_with(o, job, reducers, name, totals, &got);
}

/* Those in got, less copies' sides in memory that has no objects. */
static struct records far_sides(void)
{
	struct records r = {(struct pasta_access *)malloc(got.count * sizeof(*got.all) + 1), 0, 0,
			    0};

	if (!r.all)
		abort();
	for (size_t i = 0; i < got.count; i++) {
		uint32_t n = got.all[i].site / 16;
		bool copies = (n >= COPIES && n < GLOBALS) || n >= OTHER_COPIES;

		if (!copies || got.all[i].space < PASTA_SPACE_LOCAL)
			r.all[r.count++] = got.all[i];
	}
	return r;
}

static void check_blocks(const struct job *job, const char *name)
{
	bool good = true;

	for (uint32_t i = 0; i < job->blocks; i++)
		good = good && job->launch->blocks.begin[i] &&
		       job->launch->blocks.begin[i] <= job->launch->blocks.end[i];
	check(good, name, "blocks begin before they end");
}

/* do_barrier's, in closed form; blocks: that count. */
static void check_barriers(const struct job *job, uint32_t blocks, const char *name)
{
	const struct pasta_gpu_table *t = &job->launch->tables[PASTA_REDUCER_BARRIER];
	uint32_t warps = (THREADS + 31) / 32, good = 0;

	for (uint32_t i = 0; i < t->count && i < t->max; i++) {
		const struct pasta_gpu_row *row = &t->rows[i];
		uint32_t which = row->key1 < 2 ? (uint32_t)row->key1 : 2;
		uint64_t times = (uint64_t)blocks * ((job->steps + 3 - which) / 4);

		good += row->key0 == BASE + 16 * (INSTRUCTIONS + which) && row->key1 < 4 &&
			row->loads == times * warps &&
			row->stores == times * (which ? THREADS / 2 : THREADS) && !row->bytes &&
			row->extra == times * THREADS;
	}
	check(t->count == (blocks ? BARRIER_ROWS : 0) && good == t->count, name,
	      "arrivals at barriers are counted");
}

/* Another variant, or none of copies' other sides, with the same accesses as those in got. */
static void case_variant(struct oracle *o, enum variant variant, bool global, uint32_t steps,
			 uint32_t blocks, const char *name)
{
	bool pages = variant == VARIANT_page;
	struct job job = job_new(o, OBJECTS, pages ? ROWS : ROWS_FEW, steps, blocks);
	struct records sides = far_sides();

	job.variant = variant;
	job.global = global;
	job.launch->spaces = 0;
	if (variant == VARIANT_naive)
		job.launch->spread = 0;
	kernel_run(&job);
	check(sides.count < got.count, name, "there are copies");
	compare_with(o, &job, PASTA_REDUCER_MASK(OBJECT) | (pages ? PASTA_REDUCER_MASK(PAGE) : 0),
		     name, false, &sides);
	free(sides.all);
}

static void case_all(struct oracle *o, uint32_t count, uint32_t rows, bool global, uint32_t steps,
		     uint32_t blocks, const char *name)
{
	struct job job = job_new(o, count, rows, steps, blocks);

	job.global = global;
	run_raw(&job, name);
	compare(o, &job, REDUCERS, name, rows < ROWS);
	check_blocks(&job, name);
	check_barriers(&job, blocks, name);
}

/* Nothing but raw accesses. */
static void case_raw(struct oracle *o, uint32_t steps, uint32_t blocks, const char *name)
{
	struct job job = job_new(o, OBJECTS, ROWS_FEW, steps, blocks);

	job.variant = VARIANT_raw;
	run_raw(&job, name);
	printf("%s: %zu accesses\n", name, got.count);
}

/* One block in three: the accesses in got, less those of other blocks. */
static void case_every(struct oracle *o, uint32_t steps, uint32_t blocks, const char *name)
{
	struct job job = job_new(o, OBJECTS, ROWS, steps, blocks);
	size_t copied = 0;

	for (size_t i = 0; i < got.count; i++)
		if (got.all[i].group % 3 == 0)
			got.all[copied++] = got.all[i];
	got.count = copied;
	job.launch->every = 3;
	kernel_run(&job);
	compare(o, &job, REDUCERS, name, false);
	check_barriers(&job, (blocks + 2) / 3, name);
	check(job.launch->blocks.begin[0] && !job.launch->blocks.begin[1], name,
	      "other blocks are not timed");
}

static void case_lossy(struct oracle *o, uint32_t steps, uint32_t blocks, const char *name)
{
	struct job job = job_new(o, OBJECTS, ROWS, steps, blocks);
	struct pasta_gpu_raw *raw = raw_new(false);

	job.launch->raw = raw;
	kernel_run(&job);
	check(raw->head <= 2 * HALF && raw->head > 2 * HALF - 32, name,
	      "there is room for two halves");
	check(raw->head + raw->dropped == job.sums[0], name, "dropped accesses are counted");
	check(raw->filled[0] + raw->filled[1] == raw->head, name, "halves have no holes");
	check_told(raw, name);
	printf("%s: %llu copied, %llu dropped\n", name, (unsigned long long)raw->head,
	       (unsigned long long)raw->dropped);
}

/* The host takes no more: those who wait give up. */
static void case_stop(struct oracle *o, uint32_t steps, uint32_t blocks, const char *name)
{
	struct job job = job_new(o, OBJECTS, ROWS, steps, blocks);
	struct pasta_gpu_raw *raw = raw_new(true);

	job.launch->raw = raw;
	raw->ring->stop = 1;
	kernel_run(&job);
	check(raw->head == job.sums[0] &&
		      raw->filled[0] + raw->filled[1] + raw->dropped == raw->head,
	      name, "accesses without room are dropped, and counted");
	printf("%s: %llu dropped\n", name, (unsigned long long)raw->dropped);
}

static void case_none(struct oracle *o, uint32_t steps, uint32_t blocks, const char *name)
{
	struct job job = job_new(o, OBJECTS, ROWS, steps, blocks);
	struct pasta_gpu_launch *launch = job.launch;

	job.launch = NULL;
	kernel_run(&job);
	job.launch = launch;
	got.count = 0;
	compare(o, &job, REDUCERS, name, false);
	check_barriers(&job, 0, name);
	check(job.sums[0] > 0, name, "accesses were made");
}

static int run_cases(uint32_t steps, uint32_t blocks)
{
	struct oracle *o = oracle_new(OBJECTS), *empty = oracle_new(0);

	case_none(o, steps, blocks, "no launch");
	case_all(empty, 0, ROWS, false, steps, blocks, "no objects");
	case_all(o, OBJECTS, ROWS_FEW, false, steps, blocks, "full tables");
	case_all(o, OBJECTS, ROWS, true, steps, blocks, "global");
	case_variant(o, VARIANT_naive, true, steps, blocks, "naive");
	case_variant(o, VARIANT_all, true, steps, blocks, "no spaces");
	case_all(o, OBJECTS, ROWS, false, steps, blocks, "all");
	case_variant(o, VARIANT_object, false, steps, blocks, "object");
	case_variant(o, VARIANT_page, false, steps, blocks, "page");
	case_raw(o, steps, blocks, "raw");
	case_every(o, steps, blocks, "one block in three");
	case_lossy(o, steps, blocks, "lossy");
	case_stop(o, steps, blocks, "stop");
	oracle_free(empty);
	oracle_free(o);
	free(got.all);
	printf(failures ? "%d FAILED\n" : "all good\n", failures);
	return failures != 0;
}

#endif
