/* patches.c - what the patches for devices do, in C. */
#include "inside.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

static uint32_t kind_of(const struct fake_access *a)
{
	return a->kind & 0xff;
}

static uint32_t space_of(const struct fake_access *a)
{
	return a->kind >> 8;
}

static uint32_t part_of(const struct pasta_gpu_launch *l, const struct fake_access *a)
{
	if (space_of(a) >= PASTA_SPACE_LOCAL)
		return PASTA_GPU_SPACE(l->count, space_of(a));
	for (uint32_t i = 0; i < l->count; i++)
		if (a->addr >= PASTA_GPU_PARTS_OF(l)[i].begin &&
		    a->addr <= PASTA_GPU_PARTS_OF(l)[i].last)
			return i;
	return PASTA_GPU_NOWHERE(l->count);
}

static void count_object(struct pasta_gpu_launch *l, const struct fake_access *a)
{
	uint32_t part = part_of(l, a);
	uint32_t which = (part << l->spread) + (uint32_t)(a->pc >> 4) % (1u << l->spread);
	uint64_t *c = l->counts + (size_t)which * PASTA_GPU_COUNTERS;
	uint32_t log2 = (uint32_t)__builtin_ctz(a->size);

	if (a->size & (a->size - 1) || log2 >= PASTA_GPU_SIZES) {
		c[PASTA_GPU_LOADS] += kind_of(a) & PASTA_ACCESS_LOAD ? a->times : 0;
		c[PASTA_GPU_STORES] += kind_of(a) & PASTA_ACCESS_STORE ? a->times : 0;
		c[PASTA_GPU_WRITTEN] += kind_of(a) & PASTA_ACCESS_STORE ? a->times * a->size : 0;
		c[PASTA_GPU_BYTES] +=
			a->times * a->size * (kind_of(a) == PASTA_ACCESS_ATOMIC ? 2 : 1);
	} else {
		c[PASTA_GPU_OF(kind_of(a), log2)] += a->times;
	}
	if (part < l->count && a->addr + a->size - 1 > PASTA_GPU_PARTS_OF(l)[part].last)
		c[PASTA_GPU_CROSS] += a->times;
}

/* The row of a key, made if there is none; where there is no room, the last one. */
static struct pasta_gpu_row *find_row(struct pasta_gpu_table *t, uint64_t key0, uint64_t key1)
{
	uint64_t hash = (key0 ^ key1 << 40) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t i = (uint32_t)(hash >> 32) & t->mask;

	for (; t->index[i]; i = (i + 1) & t->mask) {
		struct pasta_gpu_row *row = &t->rows[t->index[i] - 1];

		if (row->key0 == key0 && row->key1 == key1)
			return row;
	}
	if (t->count++ >= t->max)
		return &t->rows[t->max];
	t->index[i] = t->count;
	t->rows[t->count - 1].key0 = key0;
	t->rows[t->count - 1].key1 = key1;
	return &t->rows[t->count - 1];
}

/* Its row; NULL: the table is not wanted. */
static struct pasta_gpu_row *count_row(struct pasta_gpu_table *t, uint64_t key0, uint64_t key1,
				       const struct fake_access *a)
{
	struct pasta_gpu_row *row;

	if (!t->index)
		return NULL;
	row = find_row(t, key0, key1);
	row->loads += kind_of(a) & PASTA_ACCESS_LOAD ? a->times : 0;
	row->stores += kind_of(a) & PASTA_ACCESS_STORE ? a->times : 0;
	row->bytes += a->times * a->size * (kind_of(a) == PASTA_ACCESS_ATOMIC ? 2 : 1);
	return row;
}

/* Where its object's pages have sums, they are there. */
static void count_page(struct pasta_gpu_launch *l, const struct fake_access *a)
{
	struct pasta_gpu_pages *p = &l->pages;
	uint32_t base = PASTA_GPU_PARTS_OF(l)[part_of(l, a)].base;
	uint32_t page = (uint32_t)(a->addr >> l->page_shift) + base;

	if (!l->tables[PASTA_REDUCER_PAGE].index)
		return;
	if (base == PASTA_GPU_FAR) {
		count_row(&l->tables[PASTA_REDUCER_PAGE], a->addr >> l->page_shift << l->page_shift,
			  0, a);
		return;
	}
	if (page >= l->page_count)
		abort();
	p->sums[page].loads += kind_of(a) & PASTA_ACCESS_LOAD ? a->times : 0;
	p->sums[page].stores += kind_of(a) & PASTA_ACCESS_STORE ? a->times : 0;
	p->sums[page].bytes += a->times * a->size * (kind_of(a) == PASTA_ACCESS_ATOMIC ? 2 : 1);
	p->marks[page >> PASTA_GPU_STRETCH] = 1;
}

/* Of so many threads, which all access the same. */
static void count_request(struct pasta_gpu_launch *l, const struct fake_access *a, uint32_t count,
			  uint32_t lanes)
{
	struct fake_access one = {a->pc, a->addr, 1, count * a->size, a->kind};
	struct pasta_gpu_row *row =
		count_row(&l->tables[PASTA_REDUCER_COALESCE], a->pc, kind_of(a), &one);

	if (row)
		row->extra += (a->addr + a->size - 1) / PASTA_SECTOR - a->addr / PASTA_SECTOR + 1;
	row = count_row(&l->tables[PASTA_REDUCER_DIVERGE], a->pc,
			PASTA_GPU_LANES(count, kind_of(a)), &one);
	if (row)
		row->extra += lanes;
}

static bool has_room(const struct pasta_gpu_raw *raw, uint64_t end)
{
	return end <=
	       __atomic_load_n(&raw->ring->consumed, __ATOMIC_ACQUIRE) + 2 * (uint64_t)raw->half;
}

static bool reserve_and_wait(struct pasta_gpu_raw *raw, uint32_t count, uint64_t *at)
{
	*at = __atomic_fetch_add(&raw->head, count, __ATOMIC_RELAXED);
	while (!has_room(raw, *at + count)) {
		if (__atomic_load_n(&raw->ring->stop, __ATOMIC_ACQUIRE))
			return false;
		sched_yield();
	}
	return true;
}

static bool reserve_or_lose(struct pasta_gpu_raw *raw, uint32_t count, uint64_t *at)
{
	*at = __atomic_load_n(&raw->head, __ATOMIC_RELAXED);
	while (has_room(raw, *at + count))
		if (__atomic_compare_exchange_n(&raw->head, at, *at + count, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return true;
	return false;
}

/* As gpu_raw.cuh has it. False: there is no room. */
static bool reserve(struct pasta_gpu_raw *raw, uint32_t count, uint64_t *at)
{
	bool has = raw->wait ? reserve_and_wait(raw, count, at) : reserve_or_lose(raw, count, at);

	if (!has)
		__atomic_fetch_add(&raw->dropped, count, __ATOMIC_RELAXED);
	return has;
}

static void put(const struct pasta_gpu_launch *l, const struct fake_access *a, uint64_t at,
		uint32_t turn, uint32_t group, uint32_t thread)
{
	struct pasta_access *to = &l->raw->records[at & (2 * (uint64_t)l->raw->half - 1)];

	to->addr = a->addr;
	to->size = a->size;
	to->site = (uint32_t)(a->pc - l->base);
	to->group = group;
	to->turn = turn;
	to->thread = (uint16_t)thread;
	to->kind = (uint8_t)kind_of(a);
	to->space = (uint8_t)space_of(a);
	__atomic_store_n(&to->launch, l->number, __ATOMIC_RELAXED);
}

static void add_filled(struct pasta_gpu_raw *raw, uint64_t which, uint64_t count)
{
	uint64_t now = __atomic_add_fetch(&raw->filled[which], count, __ATOMIC_ACQ_REL);

	if (!(now & (raw->half - 1)))
		__atomic_store_n(&raw->ring->filled[which], now, __ATOMIC_RELEASE);
}

static void put_request(const struct pasta_gpu_launch *l, const struct fake_access *a,
			uint32_t group, uint32_t thread, uint32_t count)
{
	struct pasta_gpu_raw *raw = l->raw;
	uint64_t at, half = raw->half, first;

	if (!reserve(raw, count, &at))
		return;
	for (uint32_t i = 0; i < count; i++)
		put(l, a, at + i, (uint32_t)at, group, thread + i);
	first = half - (at & (half - 1)) < count ? half - (at & (half - 1)) : count;
	add_filled(raw, at / half & 1, first);
	if (first < count)
		add_filled(raw, (at / half + 1) & 1, count - first);
}

/* Thread after thread, block after block, a warp at a time. */
static void each_request(struct pasta_gpu_launch *l, const struct fake_kernel *k,
			 const struct fake_access *a)
{
	uint64_t threads = (uint64_t)k->grid * k->block, i = 0;

	while (i < a->times) {
		uint64_t at = i % threads, left = a->times - i;
		uint32_t thread = (uint32_t)(at % k->block), count = k->block - thread;
		uint32_t lanes = k->block - thread / 32 * 32;

		count = count < 32 - thread % 32 ? count : 32 - thread % 32;
		count = left < count ? (uint32_t)left : count;
		count_request(l, a, count, lanes < 32 ? lanes : 32);
		if (l->raw)
			put_request(l, a, (uint32_t)(at / k->block), thread, count);
		i += count;
	}
}

static void count_barrier(struct pasta_gpu_table *t, const struct fake_access *a)
{
	struct fake_access warps = {a->pc, a->addr, a->times, 0, PASTA_ACCESS_LOAD};
	struct fake_access threads = {a->pc, a->addr, a->times * a->size, 0, PASTA_ACCESS_STORE};

	count_row(t, a->pc, a->addr, &warps);
	count_row(t, a->pc, a->addr, &threads);
	for (uint32_t i = 0; t->index && i < t->count && i < t->max; i++)
		if (t->rows[i].key0 == a->pc && t->rows[i].key1 == a->addr)
			t->rows[i].extra += 32 * a->times;
}

void fake_run_patches(struct pasta_gpu_launch *l, const struct fake_kernel *k)
{
	for (uint32_t i = 0; i < k->count; i++) {
		const struct fake_access *a = &k->accesses[i];

		if (k->ms > 0)
			usleep((useconds_t)k->ms * 1000 / k->count);
		if (kind_of(a) == PASTA_ACCESS_BARRIER) {
			if (((const struct module *)k->module)->marked[6])
				count_barrier(&l->tables[PASTA_REDUCER_BARRIER], a);
			continue;
		}
		if (l->reducers & PASTA_REDUCER_MASK(OBJECT))
			count_object(l, a);
		if (space_of(a) < PASTA_SPACE_LOCAL)
			count_page(l, a);
		count_row(&l->tables[PASTA_REDUCER_SITE], a->pc, a->kind, a);
		count_row(&l->tables[PASTA_REDUCER_SITE_OBJECT], a->pc, part_of(l, a), a);
		count_row(&l->tables[PASTA_REDUCER_OWN], a->pc, 0, a);
		each_request(l, k, a);
	}
	if (getenv("FAKE_SANITIZER_WRONG") && l->reducers & PASTA_REDUCER_MASK(OBJECT))
		l->counts[PASTA_GPU_LOADS]++;
	for (uint32_t i = 0; l->blocks.begin && i < k->grid && i < l->blocks.max; i++) {
		l->blocks.begin[i] = 1000;
		l->blocks.end[i] = 1100 + i;
	}
}
