/*
 * gpu.cu - the patches, which the Compute Sanitizer calls for each instruction of a class.
 *
 * The sanitizer's API defines the parameters of the patches for each class. All lanes that execute
 * an instruction call its patch together. gpu.h describes the callback data and lists the patches.
 */
#include "reduce/gpu_count.cuh"
#include "reduce/gpu_raw.cuh"

enum variant {
	VARIANT_all,
	VARIANT_object,
	VARIANT_page,
	VARIANT_raw,
	VARIANT_floor,
	VARIANT_naive
};

/* Flags of the Compute Sanitizer's API. An instruction with neither READ nor WRITE does not access
 * memory. */
enum { FLAG_READ = 1, FLAG_WRITE = 2, FLAG_PREFETCH = 8 };

enum {
	BY_PART = PASTA_REDUCER_MASK(OBJECT) | PASTA_REDUCER_MASK(PAGE) | PASTA_REDUCER_MASK(SITE) |
		  PASTA_REDUCER_MASK(SITE_OBJECT),
	BULK = 16, /* number of bytes in a block of a bulk copy */
};
static_assert((int)FLAG_READ == (int)PASTA_ACCESS_LOAD, "FLAG_* must equal PASTA_ACCESS_*");
static_assert((int)FLAG_WRITE == (int)PASTA_ACCESS_STORE, "FLAG_* must equal PASTA_ACCESS_*");

/* -- Accesses -- */

INLINE const struct pasta_gpu_launch *launch_of(const void *data)
{
	return global((const struct pasta_gpu_launch *)data);
}

/* Returns whether accesses of this launch and this thread block are counted. */
INLINE bool is_on(enum variant variant, const void *data)
{
	if (variant == VARIANT_floor || !data)
		return false;
	return variant != VARIANT_all || launch_of(data)->every == 1 ||
	       !((uint32_t)block_number() % launch_of(data)->every);
}

INLINE void count_by_mask(const struct access *a)
{
	const struct pasta_gpu_launch *l = a->launch;
	uint32_t reducers = l->reducers;
	struct location w = {0, a->mask, 0};

	if (reducers & BY_PART)
		w = location_of(a);
	if (reducers & PASTA_REDUCER_MASK(OBJECT))
		count_parts(a, &w);
#pragma unroll 1
	for (uint32_t i = PASTA_REDUCER_PAGE; i <= PASTA_REDUCER_DIVERGE; i++)
		if (reducers >> i & 1)
			count_row(a, i, &w);
	if (l->raw)
		put_raw(a, global(l->raw));
}

/* Counts an access by object, and returns the number of the object that the lane accesses. The
 * common case is in a function of its own, which needs few registers. */
INLINE uint32_t count_object(const struct access *a)
{
	bool apart = a->space >= PASTA_SPACE_LOCAL;
	uint32_t part = apart ? PASTA_GPU_SPACE(a->launch->count, a->space) : *hint_of(a);

	if (apart || is_as_hinted(a, part)) {
		if (a->lane == leader_of(a->mask))
			add_counts(a, counters_of(a, part), __popc(a->mask), 0);
	} else {
		struct access b = {afresh(a->launch), a->pc,	a->addr, afresh(a->size),
				   a->kind,	      a->space, a->mask, a->lane};
		struct location w = locate_lanes(&b);

		count_parts(&b, &w);
		part = w.part;
	}
	return part;
}

INLINE void count_alone(const struct access *a)
{
	uint32_t part = PASTA_GPU_SPACE(a->launch->count, a->space);
	bool crosses = false;

	if (a->space < PASTA_SPACE_LOCAL)
		part = search(a->launch, a->addr, a->size, &crosses);
	add_counts(a, part, 1, crosses);
}

/* Returns whether this lane is in the access's mask. A lane that is not in the mask returns from
 * the patch. */
INLINE bool is_of(const struct access *a)
{
	return a->mask >> a->lane & 1;
}

INLINE void count(enum variant variant, const struct access *a)
{
	if (variant == VARIANT_all) {
		count_by_mask(a);
	} else if (variant == VARIANT_object) {
		count_object(a);
	} else if (variant == VARIANT_page) {
		uint32_t part = count_object(a);

		if (a->space < PASTA_SPACE_LOCAL)
			count_page(a, part);
	} else if (variant == VARIANT_raw) {
		put_raw(a, global(a->launch->raw));
	} else {
		count_alone(a);
	}
}

/* Handles an instruction that accesses memory. `lanes` is the mask of the lanes that may access
 * memory. */
INLINE int memory(enum variant variant, const void *data, uint64_t pc, uint64_t addr, uint32_t size,
		  uint32_t flags, uint32_t space, uint32_t lanes)
{
	uint32_t kind = afresh(flags & (FLAG_READ | FLAG_WRITE));

	if (is_on(variant, data) && kind && !(flags & FLAG_PREFETCH)) {
		struct access a = {launch_of(data),	   pc,	     addr, size, kind, space,
				   __activemask() & lanes, lane_id()};

		if (lanes == ~0u || is_of(&a))
			count(variant, &a);
	}
	return 0;
}

/*
 * One side of a copy, which is the copy's load or the copy's store. `mask` contains the lanes that
 * take part. An access to memory without objects is counted only if all other instructions that
 * access such memory are patched too. The variant `object` never counts it.
 */
struct side {
	uint64_t addr;
	uint32_t kind, space, mask;
};

INLINE bool is_counted(enum variant variant, const struct pasta_gpu_launch *l, uint32_t space)
{
	return space < PASTA_SPACE_LOCAL ||
	       ((variant == VARIANT_all || variant == VARIANT_raw) && l->spaces);
}

INLINE void copy(enum variant variant, const struct pasta_gpu_launch *l, uint64_t pc, uint32_t size,
		 const struct side *first, const struct side *second)
{
	bool is_short = variant != VARIANT_all && variant != VARIANT_raw;

	/* The function `count` is long and inlined. The loop contains it only once, for both the
	 * load and the store. The other variants of the patches count at most one of the two, and
	 * the code below the loop shows this to the compiler. */
#pragma unroll 1
	for (uint32_t i = 0; !is_short && i < 2; i++) {
		struct access a = {l,
				   pc,
				   i ? second->addr : first->addr,
				   size,
				   i ? second->kind : first->kind,
				   i ? second->space : first->space,
				   i ? second->mask : first->mask,
				   lane_id()};

		if (is_counted(variant, l, a.space) && is_of(&a))
			count(variant, &a);
	}
	if (is_short) {
		struct access a = {l,		pc,	      first->addr, size,
				   first->kind, first->space, first->mask, lane_id()};
		struct access b = {
			l,	  pc, second->addr, size, second->kind, second->space, second->mask,
			lane_id()};

		if (is_counted(variant, l, a.space) && is_of(&a))
			count(variant, &a);
		if (is_counted(variant, l, b.space) && is_of(&b))
			count(variant, &b);
	}
}

/* Counts one thread's asynchronous copy to shared memory. A copy without a source writes zeros and
 * is not a load. */
INLINE int memcpy_async(enum variant variant, const void *data, uint64_t pc, uint64_t src,
			uint32_t dst, uint32_t size)
{
	if (is_on(variant, data)) {
		uint32_t mask = __activemask();
		struct side from = {src, PASTA_ACCESS_LOAD, PASTA_SPACE_GLOBAL,
				    __ballot_sync(mask, src != 0)};
		struct side to = {dst, PASTA_ACCESS_STORE, PASTA_SPACE_LOCAL, mask};

		copy(variant, launch_of(data), pc, size, &from, &to);
	}
	return 0;
}

/* Counts a bulk copy of a warp. All lanes have the same arguments, and the first lane counts the
 * copy. The copy counts as one load and one store, even if it writes to several blocks of a
 * cluster. */
INLINE int bulk(enum variant variant, const void *data, uint64_t pc, uint64_t src,
		uint32_t src_space, uint64_t dst, uint32_t dst_space, uint32_t dst_kind,
		uint32_t blocks)
{
	if (is_on(variant, data)) {
		const struct pasta_gpu_launch *l = launch_of(data);
		uint32_t mask = __activemask(), one = mask & (0u - mask);
		struct side from = {src, PASTA_ACCESS_LOAD, src_space, one};
		struct side to = {dst, dst_kind, dst_space, one};

		/* The access to memory with objects is counted first, because it identifies the
		 * site of raw accesses. */
		if (dst_space == PASTA_SPACE_GLOBAL)
			copy(variant, l, pc, blocks * BULK, &to, &from);
		else
			copy(variant, l, pc, blocks * BULK, &from, &to);
	}
	return 0;
}

/* -- Blocks -- */

/* Returns the address at which to store the start time or the end time of this thread block, or
 * NULL if the time is not recorded. */
INLINE unsigned long long *time_of(enum variant variant, const void *data, bool end)
{
	const struct pasta_gpu_launch *l;
	uint64_t block = block_number();

	if (variant != VARIANT_all || !is_on(variant, data))
		return NULL;
	l = launch_of(data);
	if (!(l->reducers & PASTA_REDUCER_MASK(BLOCK)))
		return NULL;
	if (block >= l->blocks.max || lane_id() != leader_of(__activemask()))
		return NULL;
	return (unsigned long long *)global(end ? l->blocks.end : l->blocks.begin) + block;
}

INLINE int block_enter(enum variant variant, const void *data)
{
	unsigned long long *begin = time_of(variant, data, false);

	if (begin) {
		unsigned long long now = device_time(), was = atomicCAS(begin, 0ull, now);

		if (was > now)
			atomicMin(begin, now);
	}
	return 0;
}

INLINE int block_exit(enum variant variant, const void *data)
{
	unsigned long long *end = time_of(variant, data, true);

	if (end)
		atomicMax(end, (unsigned long long)device_time());
	return 0;
}

/* -- Barriers -- */

INLINE int barrier(const void *data, uint64_t pc, uint32_t number)
{
	const struct pasta_gpu_table *t;

	if (!is_on(VARIANT_all, data))
		return 0;
	t = &launch_of(data)->tables[PASTA_REDUCER_BARRIER];
	if (t->index) {
		uint32_t mask = __activemask(), group = __match_any_sync(mask, number);
		struct access a = {launch_of(data),   pc, 0,	0,
				   PASTA_ACCESS_LOAD, 0,  mask, lane_id()};
		struct addition add = {
			pc, number, group, 1, 0, warp_threads(), (uint32_t)__popc(group)};

		add_row(&a, (struct pasta_gpu_table *)t, &add);
		/* The lanes must arrive at the barrier together, as they do without the patch. */
		__syncwarp(mask);
	}
	return 0;
}

/* -- The patches -- */

#define PATCH(variant, name, ...)                                                                  \
	extern "C" __device__ __noinline__ int pasta_##variant##_##name(void *data, uint64_t pc,   \
									##__VA_ARGS__)
#define SHARED PASTA_SPACE_LOCAL
#define REMOTE PASTA_SPACE_REMOTE
#define GLOBAL PASTA_SPACE_GLOBAL

#define MEMORY_PATCH(v, name, space)                                                               \
	PATCH(v, name, void *ptr, uint32_t size, uint32_t flags, const void *value)                \
	{                                                                                          \
		return memory(VARIANT_##v, data, pc, (uint64_t)ptr, size, flags, space, ~0u);      \
	}

#define GLOBAL_PATCHES(v)                                                                          \
	MEMORY_PATCH(v, global, GLOBAL)                                                            \
	PATCH(v, memcpy_async, void *src, uint32_t dst, uint32_t size)                             \
	{                                                                                          \
		return memcpy_async(VARIANT_##v, data, pc, (uint64_t)src, dst, size);              \
	}                                                                                          \
	/* The lower half of `what` is the number of blocks, and the upper half contains the       \
	 * receivers. */                                                                           \
	PATCH(v, bulk_to_shared, uint64_t src, uint32_t dst, uint32_t barrier, uint32_t what,      \
	      uint32_t multicast)                                                                  \
	{                                                                                          \
		return bulk(VARIANT_##v, data, pc, src, GLOBAL, dst, multicast ? REMOTE : SHARED,  \
			    PASTA_ACCESS_STORE, what & 0xffff);                                    \
	}                                                                                          \
	PATCH(v, bulk_to_global, uint64_t dst, uint32_t src, uint32_t blocks)                      \
	{                                                                                          \
		return bulk(VARIANT_##v, data, pc, src, SHARED, dst, GLOBAL, PASTA_ACCESS_STORE,   \
			    blocks);                                                               \
	}                                                                                          \
	PATCH(v, bulk_reduce_global, uint64_t dst, uint32_t src, uint32_t blocks)                  \
	{                                                                                          \
		return bulk(VARIANT_##v, data, pc, src, SHARED, dst, GLOBAL, PASTA_ACCESS_ATOMIC,  \
			    blocks);                                                               \
	}

#define OTHER_PATCHES(v)                                                                           \
	PATCH(v, block_enter)                                                                      \
	{                                                                                          \
		return block_enter(VARIANT_##v, data);                                             \
	}                                                                                          \
	PATCH(v, block_exit)                                                                       \
	{                                                                                          \
		return block_exit(VARIANT_##v, data);                                              \
	}                                                                                          \
	MEMORY_PATCH(v, shared, SHARED)                                                            \
	MEMORY_PATCH(v, local, PASTA_SPACE_PRIVATE)                                                \
	MEMORY_PATCH(v, remote, REMOTE)                                                            \
	/* A row of a matrix counts as an access of one lane. Lanes 8n to 8n+7 have the row        \
	 * addresses of matrix n. */                                                               \
	PATCH(v, matrix, uint32_t addr, uint32_t size, uint32_t flags, uint32_t matrices,          \
	      const void *value)                                                                   \
	{                                                                                          \
		return memory(VARIANT_##v, data, pc, addr, size, flags, SHARED,                    \
			      matrices < 4 ? lanes_below(8 * matrices) : ~0u);                     \
	}                                                                                          \
	PATCH(v, async_store, uint32_t addr, uint32_t barrier, void *value, uint32_t size)         \
	{                                                                                          \
		return memory(VARIANT_##v, data, pc, addr, size, FLAG_WRITE, REMOTE, ~0u);         \
	}                                                                                          \
	PATCH(v, async_reduction, uint32_t addr, uint32_t barrier, uint32_t size)                  \
	{                                                                                          \
		return memory(VARIANT_##v, data, pc, addr, size, FLAG_READ | FLAG_WRITE, REMOTE,   \
			      ~0u);                                                                \
	}                                                                                          \
	PATCH(v, bulk_shared, uint32_t src, uint32_t dst, uint32_t barrier, uint32_t blocks)       \
	{                                                                                          \
		return bulk(VARIANT_##v, data, pc, src, SHARED, dst, REMOTE, PASTA_ACCESS_STORE,   \
			    blocks);                                                               \
	}                                                                                          \
	PATCH(v, bulk_reduce_shared, uint32_t src, uint32_t dst, uint32_t barrier,                 \
	      uint32_t blocks)                                                                     \
	{                                                                                          \
		return bulk(VARIANT_##v, data, pc, src, SHARED, dst, REMOTE, PASTA_ACCESS_ATOMIC,  \
			    blocks);                                                               \
	}

PATCH(all, barrier, uint32_t number, uint32_t threads, uint32_t flags)
{
	return barrier(data, pc, number);
}
GLOBAL_PATCHES(all)
OTHER_PATCHES(all)
GLOBAL_PATCHES(object)
OTHER_PATCHES(object)
GLOBAL_PATCHES(page)
OTHER_PATCHES(page)
GLOBAL_PATCHES(raw)
OTHER_PATCHES(raw)
GLOBAL_PATCHES(floor)
GLOBAL_PATCHES(naive)

/* The compiler reports an error if a patch that gpu.h lists does not exist. */
#define IS_THERE(id, name, classes) static_assert(sizeof(&pasta_all_##name), "the patch exists");
PASTA_GPU_PATCHES(IS_THERE)
