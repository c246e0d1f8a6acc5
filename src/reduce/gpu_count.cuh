/*
 * gpu_count.cuh - device functions that count accesses in counters and tables.
 *
 * All lanes in the mask of an access call these functions together, and no other lanes call them.
 * All functions are inlined. A patch cannot call functions, because the kernel has no stack for
 * them. Size, kind and space belong to the instruction and are equal in all lanes.
 */
#ifndef PASTA_REDUCE_GPU_COUNT_CUH
#define PASTA_REDUCE_GPU_COUNT_CUH

#include "reduce/accumulate.h"
#include "reduce/gpu.h"
#include "reduce/gpu_device.cuh"

#define INLINE static __device__ __forceinline__

struct keys {
	/* these members are the same as the first members of struct pasta_gpu_row */
	uint64_t key0, key1;
};
struct ends {
	/* these members are the same as the first members of struct pasta_gpu_part */
	uint64_t begin, last;
};

enum { BUSY = -1 }; /* value of an index slot whose row is being created */

/* An access by all lanes in the mask `mask`. */
struct access {
	const struct pasta_gpu_launch *launch;
	uint64_t pc, addr; /* `addr` is the address that this lane accesses */
	uint32_t size, kind, space;
	uint32_t mask, lane;
};

/* The number of the object that this lane accesses, the lanes that access the same object, and the
 * lanes whose accesses reach beyond their object. Numbers past the last object stand for addresses
 * outside of objects. */
struct location {
	uint32_t part, group, crossing;
};

INLINE uint32_t lanes_below(uint32_t lane)
{
	return (1u << lane) - 1;
}

INLINE uint32_t leader_of(uint32_t mask)
{
	return (uint32_t)__ffs((int)mask) - 1;
}

/* -- The numbers of thread blocks and threads in struct pasta_access -- */

INLINE uint64_t block_number(void)
{
	return ((uint64_t)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
}

INLINE uint32_t thread_number(void)
{
	return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}

/* Returns the number of threads in this warp. The last warp of a block may have fewer than 32
 * threads. */
INLINE uint32_t warp_threads(void)
{
	uint32_t left =
		blockDim.x * blockDim.y * blockDim.z - thread_number() / PASTA_WARP * PASTA_WARP;

	return left < PASTA_WARP ? left : PASTA_WARP;
}

/* -- Parts -- */

/* Returns the distance between the first and the last byte of an access. */
INLINE uint32_t reach_of(uint32_t size)
{
	return size ? size - 1 : 0;
}

/* Returns whether the first and the last byte of the access are within the range. The function does
 * not add address and size, because the sum may overflow. */
INLINE bool is_within(const struct ends *p, uint64_t addr, uint32_t reach)
{
	return addr >= p->begin && addr <= p->last && p->last - addr >= reach;
}

INLINE struct ends ends_of(const struct pasta_gpu_launch *l, uint32_t part)
{
	return read_whole((const struct ends *)(PASTA_GPU_PARTS_OF(l) + part));
}

/* Returns the number of objects that begin at addr or before. Registers are scarce, so the function
 * recomputes values instead of retaining them across iterations. */
INLINE uint32_t parts_up_to(const struct pasta_gpu_launch *l, uint64_t addr)
{
	uint32_t low = 0, high = l->count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (PASTA_GPU_PARTS_OF(afresh(l))[middle].begin <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

INLINE uint32_t search(const struct pasta_gpu_launch *l, uint64_t addr, uint32_t size,
		       bool *crosses)
{
	uint32_t part = parts_up_to(l, addr), count = afresh(l)->count;
	uint64_t last = UINT64_MAX;

	if (part && addr <= PASTA_GPU_PARTS_OF(afresh(l))[part - 1].last) {
		last = PASTA_GPU_PARTS_OF(afresh(l))[--part].last;
	} else {
		if (part < count)
			last = PASTA_GPU_PARTS_OF(afresh(l))[part].begin - 1;
		part = PASTA_GPU_NOWHERE(count);
	}
	*crosses = last - addr < reach_of(afresh(size));
	return part;
}

/* Returns the cache's entry for an instruction, which contains the number of the object that the
 * instruction accessed last. Addresses of instructions are multiples of 16. */
INLINE uint32_t *hint_of(const struct access *a)
{
	uint32_t n = (uint32_t)(a->pc >> 4);

	return (uint32_t *)&a->launch->hints[(n ^ n >> 8) % PASTA_GPU_HINTS];
}

/* Returns whether all lanes access the object that the instruction accessed last. In most cases
 * they do. */
INLINE bool is_as_hinted(const struct access *a, uint32_t hint)
{
	const struct ends part = ends_of(a->launch, hint);

	return __all_sync(a->mask, is_within(&part, a->addr, reach_of(a->size)));
}

/* Finds the objects that the lanes access. Each lane searches for its own object, which takes no
 * longer than a search by one lane. */
INLINE struct location locate_lanes(const struct access *a)
{
	struct location w;
	bool crosses;

	w.part = search(a->launch, a->addr, a->size, &crosses);
	w.crossing = __ballot_sync(a->mask, crosses);
	w.group = __match_any_sync(a->mask, w.part);
	if (a->lane == leader_of(a->mask) && w.part < a->launch->count)
		*hint_of(a) = w.part;
	return w;
}

INLINE struct location locate(const struct access *a)
{
	struct location w = {*hint_of(a), a->mask, 0};

	return is_as_hinted(a, w.part) ? w : locate_lanes(a);
}

INLINE struct location location_of(const struct access *a)
{
	struct location w = {PASTA_GPU_SPACE(a->launch->count, a->space), a->mask, 0};

	return a->space < PASTA_SPACE_LOCAL ? locate(a) : w;
}

/* -- Counters of parts -- */

/* Returns the number of the set of an object's counters to which this multiprocessor adds. */
INLINE uint32_t counters_of(const struct access *a, uint32_t part)
{
	uint32_t spread = a->launch->spread;

	return (part << spread) + (processor_id() & lanes_below(spread));
}

INLINE void add_counts(const struct access *a, uint32_t which, uint32_t count, uint32_t crossing)
{
	uint64_t *c = global(a->launch->counts) + which * PASTA_GPU_COUNTERS;

	if (a->size - 1 < 16 && !(a->size & (a->size - 1))) {
		add64(c + PASTA_GPU_OF(a->kind, leader_of(a->size)), count);
	} else {
		if (a->kind & PASTA_ACCESS_LOAD)
			add64(c + PASTA_GPU_LOADS, count);
		if (a->kind & PASTA_ACCESS_STORE) {
			add64(c + PASTA_GPU_STORES, count);
			add64(c + PASTA_GPU_WRITTEN, (uint64_t)count * a->size);
		}
		add64(c + PASTA_GPU_BYTES, count * pasta_access_bytes(a->kind, a->size));
	}
	if (crossing)
		add64(c + PASTA_GPU_CROSS, crossing);
}

INLINE void count_parts(const struct access *a, const struct location *w)
{
	if (a->lane == leader_of(w->group))
		add_counts(a, counters_of(a, w->part), __popc(w->group),
			   __popc(w->group & w->crossing));
}

/* -- Tables -- */

/* Returns a hash of 32 bits. The hash is small because registers are scarce. Addresses are
 * multiples of at least 16, and an index has at most 2^20 slots. The hash consists of the upper
 * bits of a product, because these bits are mixed best. */
INLINE uint32_t home_of(uint64_t key0, uint64_t key1)
{
	uint32_t h = (uint32_t)(key0 >> 4) ^ (uint32_t)(key0 >> 36);

	return (h ^ (uint32_t)key1 * 0x85ebca6bu) * 0x9e3779b1u >> 12;
}

/* Creates a row, writes its keys, and then publishes its slot. When the table is full, each attempt
 * still increments `count`, and all lanes use the last row. */
INLINE struct pasta_gpu_row *make_row(struct pasta_gpu_table *t, uint32_t *slot, uint64_t key0,
				      uint64_t key1)
{
	uint32_t number = atomicAdd(&t->count, 1u);
	struct pasta_gpu_row *row;

	if (number >= t->max)
		number = t->max;
	row = global(t->rows) + number;
	if (number < t->max) {
		*(volatile uint64_t *)&row->key0 = key0;
		*(volatile uint64_t *)&row->key1 = key1;
	}
	__threadfence();
	*(volatile uint32_t *)slot = number + 1;
	return row;
}

/* Returns the value of an index slot. A value in a multiprocessor's cache may be stale but not
 * wrong, because a slot with a row's number does not change any more, and keys are written once.
 * The function therefore tries the cached value first. */
INLINE uint32_t read_slot(const uint32_t *slot)
{
	uint32_t number = *slot;

	return number && number != (uint32_t)BUSY ? number : PASTA_READ32(slot);
}

INLINE bool has_keys(const struct pasta_gpu_row *row, uint64_t key0, uint64_t key1)
{
	const struct keys near = read_whole((const struct keys *)row);

	/* Keys are 0 before they are written, so the cached keys are valid only if key0 is not
	 * 0. */
	if (key0 && near.key0 == key0 && near.key1 == key1)
		return true;
	return PASTA_READ64(&row->key0) == key0 && PASTA_READ64(&row->key1) == key1;
}

/*
 * Returns the row of a key, and creates the row if necessary. Returns the last row if there is no
 * room. Returns NULL if another lane is creating the row at probe *tries; in that case the caller
 * must try again. The function does not wait, because that lane may be in the same warp.
 *
 * There is no fence between the reads of the slot and of the keys. The address of the keys depends
 * on the slot, and both are read past the first-level cache before they are considered different.
 * If the function does not find an existing key even so, the key has two rows.
 */
INLINE struct pasta_gpu_row *try_row(struct pasta_gpu_table *t, uint64_t key0, uint64_t key1,
				     uint32_t *tries)
{
	uint32_t home = home_of(key0, key1), mask = t->mask, max = t->max;

	for (; *tries <= mask; ++*tries) {
		uint32_t *slot = global(t->index) + ((home + *tries) & mask);
		uint32_t number = read_slot(slot);

		if (!number) {
			if (PASTA_READ32(&t->count) >= max)
				break;
			number = atomicCAS(slot, 0u, (uint32_t)BUSY);
			if (!number)
				return make_row(t, slot, key0, key1);
		}
		if (number == (uint32_t)BUSY)
			return NULL;
		if (number <= max && has_keys(global(t->rows) + number - 1, key0, key1))
			return global(t->rows) + number - 1;
	}
	return global(t->rows) + max;
}

/* The values that several lanes together add to one row: the values of `times` accesses of one
 * kind, and additional stores. */
struct addition {
	uint64_t key0, key1;
	uint32_t group, times;
	uint64_t bytes, extra;
	uint32_t stores;
};

/* Adds values to a row of a table, or to the sums of a page. */
template <typename T>
INLINE void add_sums(const struct access *a, T *to, uint32_t times, uint64_t bytes, uint64_t extra)
{
	if (a->kind & PASTA_ACCESS_LOAD)
		add64(&to->loads, times);
	if (a->kind & PASTA_ACCESS_STORE)
		add64(&to->stores, times);
	if (bytes)
		add64(&to->bytes, bytes);
	if (extra)
		add64(&to->extra, extra);
}

INLINE void add_row(const struct access *a, struct pasta_gpu_table *t, const struct addition *add)
{
	bool mine = a->lane == leader_of(add->group);
	struct pasta_gpu_row *row = NULL;
	uint32_t tries = 0;

	do {
		if (mine && !row)
			row = try_row(t, add->key0, add->key1, &tries);
	} while (__any_sync(a->mask, mine && !row));
	if (mine)
		add_sums(a, row, add->times, add->bytes, add->extra);
	if (mine && add->stores)
		add64(&row->stores, add->stores);
}

/* -- Requests -- */

/* Returns the number of sectors that are the last sector of at least one lane's access, but not the
 * first sector of any lane's access. */
INLINE uint32_t last_sectors(const struct access *a, uint64_t first, uint64_t last)
{
	uint32_t straddling = __ballot_sync(a->mask, first != last), left = straddling, count = 0;

	while (left) {
		uint32_t lane = leader_of(left);
		uint64_t sector = __shfl_sync(a->mask, (unsigned long long)last, (int)lane);
		uint32_t same = __ballot_sync(a->mask, last == sector) & straddling;

		count += !__any_sync(a->mask, first == sector);
		left &= ~same;
	}
	return count;
}

/* Returns the number of distinct sectors of the request. A request whose accesses have more than 32
 * bytes has only one thread. */
INLINE uint64_t sectors_of(const struct access *a)
{
	uint64_t end = a->addr + reach_of(a->size), first = a->addr / PASTA_SECTOR;
	uint64_t last = (end < a->addr ? UINT64_MAX : end) / PASTA_SECTOR;
	uint32_t group;

	if (!a->size)
		return 0;
	if (a->size > PASTA_SECTOR)
		return last - first + 1;
	group = __match_any_sync(a->mask, (unsigned long long)first);
	return __popc(__ballot_sync(a->mask, a->lane == leader_of(group))) +
	       last_sectors(a, first, last);
}

/* -- Pages -- */

INLINE bool crosses_page(const struct access *a)
{
	uint32_t shift = a->launch->page_shift;

	return (a->addr + reach_of(a->size)) >> shift != a->addr >> shift;
}

/* Counts an access by page, in the table of reducer PAGE. */
INLINE void count_far_page(const struct access *a)
{
	uint32_t shift = a->launch->page_shift, crossing = __ballot_sync(a->mask, crosses_page(a));
	struct addition add = {a->addr >> shift << shift, 0, 0, 0, 0, 0, 0};

	add.group = __match_any_sync(a->mask, (unsigned long long)add.key0);
	add.times = __popc(add.group);
	add.bytes = add.times * pasta_access_bytes(a->kind, a->size);
	add.extra = __popc(add.group & crossing);
	add_row(a, (struct pasta_gpu_table *)&a->launch->tables[PASTA_REDUCER_PAGE], &add);
}

INLINE uint8_t *mark_of(const struct pasta_gpu_pages *p, uint32_t page)
{
	return global(p->marks) + (page >> PASTA_GPU_STRETCH);
}

/* Counts the page that contains the access's first byte. `part` is the number of the object that
 * this lane accesses. */
INLINE void count_page(const struct access *a, uint32_t part)
{
	const struct pasta_gpu_pages *p = &a->launch->pages;
	uint32_t base = PASTA_GPU_PARTS_OF(a->launch)[part].base, shift = a->launch->page_shift;
	uint32_t group, page, marked;
	/* One warp vote detects two rare cases. In one case, the pages of the object are rows of a
	 * table; in the other, the access crosses a page boundary. */
	uint32_t odd = __ballot_sync(a->mask, base == PASTA_GPU_FAR || crosses_page(a));

	if (odd && __any_sync(a->mask, base == PASTA_GPU_FAR)) {
		count_far_page(a);
		return;
	}
	page = (uint32_t)(a->addr >> shift) + base;
	/* The mark is read early, to hide the latency. If the value is stale, the mark is set
	 * again. */
	marked = *mark_of(p, page);
	group = __match_any_sync(a->mask, page);
	if (a->lane != leader_of(group))
		return;
	add_sums(a, global(p->sums) + page, __popc(group),
		 __popc(group) * pasta_access_bytes(a->kind, a->size), __popc(group & odd));
	if (!marked)
		*mark_of(p, page) = 1;
}

/* -- Rows of each table -- */

INLINE void of_requests(const struct access *a, uint32_t reducer, struct addition *add)
{
	add->times = 1;
	if (reducer == PASTA_REDUCER_COALESCE) {
		add->key1 = a->kind;
		add->extra = sectors_of(a);
		return;
	}
	add->key1 = PASTA_GPU_LANES(__popc(a->mask), a->kind);
	add->extra = warp_threads();
}

INLINE void count_row(const struct access *a, uint32_t reducer, const struct location *w)
{
	struct addition add = {a->pc, 0, a->mask, 0, 0, 0, 0};
	const struct pasta_gpu_table *t = &a->launch->tables[reducer];

	if (!t->index)
		return;
	if (reducer == PASTA_REDUCER_PAGE) {
		if (a->space < PASTA_SPACE_LOCAL)
			count_page(a, w->part);
		return;
	}
	if (reducer == PASTA_REDUCER_SITE)
		add.key1 = a->kind | a->space << 8;
	else if (reducer == PASTA_REDUCER_SITE_OBJECT)
		add.key1 = w->part, add.group = w->group;
	if (reducer == PASTA_REDUCER_SITE || reducer == PASTA_REDUCER_SITE_OBJECT)
		add.extra = __popc(add.group & w->crossing);
	add.times = __popc(add.group);
	add.bytes = add.times * pasta_access_bytes(a->kind, a->size);
	if (reducer >= PASTA_REDUCER_COALESCE)
		of_requests(a, reducer, &add);
	/* The device changes no members of a launch except the counts of its tables. */
	add_row(a, (struct pasta_gpu_table *)t, &add);
}

#endif
