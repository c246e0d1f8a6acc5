/*
 * reducer.cuh - defines a tool's own reducer for NVIDIA devices: a function that runs for each
 * access.
 *
 *	#include <pasta/reducer.cuh>
 *
 *	PASTA_REDUCER(KEYS, SPACES)
 *	{
 *		pasta_reducer_add(a, a->mask, a->pc, 0, 1, 0, a->size, 0);
 *	}
 *
 * The macro defines everything that a fat binary needs; a file has one reducer. The body is a
 * function that receives `a`, a const struct pasta_reducer_access *, and returns nothing.
 *
 * KEYS states what key0 of a row means. SITES: key0 is the address of an instruction, a->pc, and
 * tools receive the site. KEYS: key0 is any number. SPACES is GLOBAL, SHARED (including other
 * blocks of a cluster), LOCAL or ALL; accesses to other memory are not patched and cost nothing.
 *
 * The lanes of a->mask call the body together, within the program's kernel. The body must end soon,
 * must not touch memory of the program, and can call only inlined functions, because there is no
 * stack. docs/writing-a-reducer.md shows how to build a reducer, and how to test it on the host
 * with <pasta/reducer_host.h>.
 */
#ifndef PASTA_REDUCER_CUH
#define PASTA_REDUCER_CUH

#include <stddef.h>
#include <stdint.h>

#include <pasta/device.h>
#include <pasta/gpu/accumulate.h>
#include <pasta/gpu/gpu.h>

namespace pasta_gpu
{
#include <pasta/gpu/gpu_count.cuh>
}
#undef INLINE

#define PASTA_REDUCER_INLINE static __device__ __forceinline__

/* An access of a warp: what one instruction accesses in the lanes of `mask`. A matrix load or store
 * accesses one row for each lane that has an address. A bulk copy is an access of one lane. A copy
 * is a load followed by a store. */
struct pasta_reducer_access {
	uint64_t pc; /* the instruction's address */
	/* the address that this lane accesses; an address in shared memory is an offset from the
	 * start of that memory */
	uint64_t addr;
	uint32_t size;	/* bytes of each lane */
	uint32_t kind;	/* enum pasta_access_kind */
	uint32_t space; /* enum pasta_space: GLOBAL, LOCAL (shared), PRIVATE or REMOTE */
	uint32_t mask, lane;
	uint64_t block;	 /* number of the thread block; x varies fastest, as for threads */
	uint32_t thread; /* in its block */
	struct pasta_gpu_table *table;
};

/* Returns the number of the first lane in a mask. */
PASTA_REDUCER_INLINE uint32_t pasta_reducer_leader(uint32_t mask)
{
	return pasta_gpu::leader_of(mask);
}

namespace pasta_gpu
{
struct sums {
	uint64_t loads, stores, bytes, extra;
};

PASTA_REDUCER_INLINE void add_from(struct sums *s, uint32_t lanes, uint32_t from, bool there)
{
	uint64_t loads = __shfl_sync(lanes, (unsigned long long)s->loads, (int)from);
	uint64_t stores = __shfl_sync(lanes, (unsigned long long)s->stores, (int)from);
	uint64_t bytes = __shfl_sync(lanes, (unsigned long long)s->bytes, (int)from);
	uint64_t extra = __shfl_sync(lanes, (unsigned long long)s->extra, (int)from);

	s->loads += there ? loads : 0;
	s->stores += there ? stores : 0;
	s->bytes += there ? bytes : 0;
	s->extra += there ? extra : 0;
}

/* Computes the sums over all lanes of a group, in the group's first lane. In each round, the
 * remaining lanes form pairs: the first lane of a pair adds the sums of the second lane, and the
 * second lane takes no further part. */
PASTA_REDUCER_INLINE void add_up(struct sums *s, uint32_t lanes, uint32_t group, uint32_t lane)
{
	uint32_t place = __popc(group & lanes_below(lane));
	uint32_t after = group & ~lanes_below(lane) & ~(1u << lane);

	while (__any_sync(lanes, after != 0)) {
		add_from(s, lanes, after ? leader_of(after) : lane, after != 0);
		after &= ~__ballot_sync(lanes, place & 1);
		place >>= 1;
	}
}

PASTA_REDUCER_INLINE void add_sums(struct pasta_gpu_row *row, const struct sums *s)
{
	if (s->loads)
		add64(&row->loads, s->loads);
	if (s->stores)
		add64(&row->stores, s->stores);
	if (s->bytes)
		add64(&row->bytes, s->bytes);
	if (s->extra)
		add64(&row->extra, s->extra);
}
} // namespace pasta_gpu

/*
 * Adds values to the row of two keys. `lanes` is the mask of the lanes that call the function
 * together: a->mask, or a part of it, such as 1u << a->lane for the calling lane alone. Each lane
 * passes its own keys and values. The function first adds up the values of lanes with equal keys. A
 * table has 65,536 rows; keys that do not fit are counted in one more row, with the keys
 * PASTA_KEY_OTHER.
 */
PASTA_REDUCER_INLINE void pasta_reducer_add(const struct pasta_reducer_access *a, uint32_t lanes,
					    uint64_t key0, uint64_t key1, uint64_t loads,
					    uint64_t stores, uint64_t bytes, uint64_t extra)
{
	struct pasta_gpu::sums s = {loads, stores, bytes, extra};
	uint32_t group = __match_any_sync(lanes, (unsigned long long)key0) &
			 __match_any_sync(lanes, (unsigned long long)key1);
	bool mine = a->lane == pasta_gpu::leader_of(group);
	struct pasta_gpu_row *row = NULL;
	uint32_t tries = 0;

	pasta_gpu::add_up(&s, lanes, group, a->lane);
	do {
		if (mine && !row)
			row = pasta_gpu::try_row(a->table, key0, key1, &tries);
	} while (__any_sync(lanes, mine && !row));
	if (mine)
		pasta_gpu::add_sums(row, &s);
}

/* The body that follows PASTA_REDUCER. */
PASTA_REDUCER_INLINE void pasta_reducer_body(const struct pasta_reducer_access *a);

/* -- The patch functions that src/reduce/gpu.h lists -- */

namespace pasta_gpu
{
enum { KEYS_SITES = 1, KEYS_KEYS = 1 };
enum { SEES_GLOBAL = 1, SEES_SHARED = 2, SEES_LOCAL = 4, SEES_ALL = 7 };
/* Flags that the Sanitizer API passes for an instruction. Prefetches are not counted, because they
 * are not accesses. */
enum { OWN_KINDS = PASTA_ACCESS_ATOMIC, OWN_PREFETCH = 8, OWN_BULK = 16 };

/* The access for the source or destination of a copy, or for a plain load or store. `mask` has the
 * lanes that take part. */
struct own_side {
	uint64_t addr;
	uint32_t kind, space, mask;
	bool seen;
};

/* Returns the reducer's table; NULL if the launch or the thread block is not counted. */
PASTA_REDUCER_INLINE struct pasta_gpu_table *own_table(void *data)
{
	struct pasta_gpu_launch *l = (struct pasta_gpu_launch *)data;

	if (!l || !l->tables[PASTA_REDUCER_OWN].index ||
	    (l->every > 1 && (uint32_t)block_number() % l->every))
		return NULL;
	return &l->tables[PASTA_REDUCER_OWN];
}

PASTA_REDUCER_INLINE void own_access(struct pasta_gpu_table *table, uint64_t pc, uint32_t size,
				     const struct own_side *s)
{
	struct pasta_reducer_access a;

	a.pc = pc;
	a.addr = s->addr;
	a.size = size;
	a.kind = s->kind;
	a.space = s->space;
	a.mask = s->mask;
	a.lane = lane_id();
	a.block = block_number();
	a.thread = thread_number();
	a.table = table;
	if (s->seen && a.mask >> a.lane & 1)
		pasta_reducer_body(&a);
}

/* Counts an access. `lanes` is the mask of the lanes that may access memory. */
PASTA_REDUCER_INLINE int own_memory(void *data, uint64_t pc, uint64_t addr, uint32_t size,
				    uint32_t flags, uint32_t space, uint32_t lanes)
{
	struct pasta_gpu_table *table = own_table(data);

	if (table && flags & OWN_KINDS && !(flags & OWN_PREFETCH)) {
		struct own_side s = {addr, flags & OWN_KINDS, space, __activemask() & lanes, true};

		own_access(table, pc, size, &s);
	}
	return 0;
}

/* The reducer's body may be long. A loop over the load and the store expands the body only once. */
PASTA_REDUCER_INLINE void own_copy(struct pasta_gpu_table *table, uint64_t pc, uint32_t size,
				   const struct own_side *from, const struct own_side *to)
{
	if (from->seen && to->seen) {
#ifdef __CUDACC__
#pragma unroll 1
#endif
		for (uint32_t i = 0; i < 2; i++) {
			struct own_side s = {i ? to->addr : from->addr, i ? to->kind : from->kind,
					     i ? to->space : from->space, i ? to->mask : from->mask,
					     true};

			own_access(table, pc, size, &s);
		}
	} else if (from->seen) {
		own_access(table, pc, size, from);
	} else {
		own_access(table, pc, size, to);
	}
}

/* If src is 0, there is no load: the copy writes zeros. */
PASTA_REDUCER_INLINE int own_memcpy_async(uint32_t sees, void *data, uint64_t pc, uint64_t src,
					  uint32_t dst, uint32_t size)
{
	struct pasta_gpu_table *table = own_table(data);

	if (table) {
		uint32_t mask = __activemask();
		struct own_side from = {src, PASTA_ACCESS_LOAD, PASTA_SPACE_GLOBAL,
					__ballot_sync(mask, src != 0), (sees & SEES_GLOBAL) != 0};
		struct own_side to = {dst, PASTA_ACCESS_STORE, PASTA_SPACE_LOCAL, mask,
				      (sees & SEES_SHARED) != 0};

		own_copy(table, pc, size, &from, &to);
	}
	return 0;
}

PASTA_REDUCER_INLINE struct own_side own_side_of(uint64_t addr, uint32_t kind, uint32_t space,
						 bool seen)
{
	struct own_side s = {addr, kind, space, 0, seen};

	return s;
}

/* All lanes pass the same arguments, so only the first lane is counted. */
PASTA_REDUCER_INLINE int own_bulk(void *data, uint64_t pc, uint32_t blocks, struct own_side from,
				  struct own_side to)
{
	struct pasta_gpu_table *table = own_table(data);

	if (table) {
		uint32_t mask = __activemask();

		from.mask = to.mask = mask & (0u - mask);
		own_copy(table, pc, blocks * OWN_BULK, &from, &to);
	}
	return 0;
}
} // namespace pasta_gpu

#define PASTA_OWN(prefix, name, ...)                                                               \
	extern "C" __device__ __noinline__ int prefix##name(void *data, uint64_t pc, __VA_ARGS__)
#define PASTA_OWN_MEMORY(prefix, name, space)                                                      \
	PASTA_OWN(prefix, name, void *ptr, uint32_t size, uint32_t flags, const void *value)       \
	{                                                                                          \
		return pasta_gpu::own_memory(data, pc, (uint64_t)ptr, size, flags, space, ~0u);    \
	}
/* Returns the access for the source or destination of a bulk copy. The caller own_bulk sets the
 * mask of the access. */
#define PASTA_OWN_SIDE(addr, KIND, space, sees, SPACE)                                             \
	pasta_gpu::own_side_of(addr, PASTA_ACCESS_##KIND, space,                                   \
			       (sees & pasta_gpu::SEES_##SPACE) != 0)
#define PASTA_OWN_BULK(count, from, to)                                                            \
	{                                                                                          \
		return pasta_gpu::own_bulk(data, pc, count, from, to);                             \
	}

/* Counts copies between global and shared memory. The lower half of the argument "what" is the
 * number of 16-byte blocks to copy. */
#define PASTA_OWN_COPIES(prefix, sees)                                                             \
	PASTA_OWN(prefix, memcpy_async, void *src, uint32_t dst, uint32_t size)                    \
	{                                                                                          \
		return pasta_gpu::own_memcpy_async(sees, data, pc, (uint64_t)src, dst, size);      \
	}                                                                                          \
	PASTA_OWN(prefix, bulk_to_shared, uint64_t src, uint32_t dst, uint32_t barrier,            \
		  uint32_t what, uint32_t multicast)                                               \
	PASTA_OWN_BULK(what & 0xffff, PASTA_OWN_SIDE(src, LOAD, PASTA_SPACE_GLOBAL, sees, GLOBAL), \
		       PASTA_OWN_SIDE(dst, STORE,                                                  \
				      (multicast ? PASTA_SPACE_REMOTE : PASTA_SPACE_LOCAL), sees,  \
				      SHARED))                                                     \
	PASTA_OWN(prefix, bulk_to_global, uint64_t dst, uint32_t src, uint32_t blocks)             \
	PASTA_OWN_BULK(blocks, PASTA_OWN_SIDE(src, LOAD, PASTA_SPACE_LOCAL, sees, SHARED),         \
		       PASTA_OWN_SIDE(dst, STORE, PASTA_SPACE_GLOBAL, sees, GLOBAL))               \
	PASTA_OWN(prefix, bulk_reduce_global, uint64_t dst, uint32_t src, uint32_t blocks)         \
	PASTA_OWN_BULK(blocks, PASTA_OWN_SIDE(src, LOAD, PASTA_SPACE_LOCAL, sees, SHARED),         \
		       PASTA_OWN_SIDE(dst, ATOMIC, PASTA_SPACE_GLOBAL, sees, GLOBAL))

#define PASTA_OWN_GLOBAL(prefix) PASTA_OWN_MEMORY(prefix, global, PASTA_SPACE_GLOBAL)
#define PASTA_OWN_LOCAL(prefix) PASTA_OWN_MEMORY(prefix, local, PASTA_SPACE_PRIVATE)
/* Lanes 8 * n to 8 * n + 7 have the addresses of the rows of matrix n. */
#define PASTA_OWN_SHARED(prefix)                                                                   \
	PASTA_OWN_MEMORY(prefix, shared, PASTA_SPACE_LOCAL)                                        \
	PASTA_OWN_MEMORY(prefix, remote, PASTA_SPACE_REMOTE)                                       \
	PASTA_OWN(prefix, matrix, uint32_t addr, uint32_t size, uint32_t flags, uint32_t matrices, \
		  const void *value)                                                               \
	{                                                                                          \
		return pasta_gpu::own_memory(data, pc, addr, size, flags, PASTA_SPACE_LOCAL,       \
					     matrices < 4 ? pasta_gpu::lanes_below(8 * matrices)   \
							  : ~0u);                                  \
	}                                                                                          \
	PASTA_OWN(prefix, async_store, uint32_t addr, uint32_t barrier, void *value,               \
		  uint32_t size)                                                                   \
	{                                                                                          \
		return pasta_gpu::own_memory(data, pc, addr, size, PASTA_ACCESS_STORE,             \
					     PASTA_SPACE_REMOTE, ~0u);                             \
	}                                                                                          \
	PASTA_OWN(prefix, async_reduction, uint32_t addr, uint32_t barrier, uint32_t size)         \
	{                                                                                          \
		return pasta_gpu::own_memory(data, pc, addr, size, PASTA_ACCESS_ATOMIC,            \
					     PASTA_SPACE_REMOTE, ~0u);                             \
	}                                                                                          \
	PASTA_OWN(prefix, bulk_shared, uint32_t src, uint32_t dst, uint32_t barrier,               \
		  uint32_t blocks)                                                                 \
	PASTA_OWN_BULK(blocks, PASTA_OWN_SIDE(src, LOAD, PASTA_SPACE_LOCAL, ~0, SHARED),           \
		       PASTA_OWN_SIDE(dst, STORE, PASTA_SPACE_REMOTE, ~0, SHARED))                 \
	PASTA_OWN(prefix, bulk_reduce_shared, uint32_t src, uint32_t dst, uint32_t barrier,        \
		  uint32_t blocks)                                                                 \
	PASTA_OWN_BULK(blocks, PASTA_OWN_SIDE(src, LOAD, PASTA_SPACE_LOCAL, ~0, SHARED),           \
		       PASTA_OWN_SIDE(dst, ATOMIC, PASTA_SPACE_REMOTE, ~0, SHARED))

#define PASTA_OWN_OF_GLOBAL(prefix)                                                                \
	PASTA_OWN_GLOBAL(prefix)                                                                   \
	PASTA_OWN_COPIES(prefix, pasta_gpu::SEES_GLOBAL)
#define PASTA_OWN_OF_SHARED(prefix)                                                                \
	PASTA_OWN_SHARED(prefix)                                                                   \
	PASTA_OWN_COPIES(prefix, pasta_gpu::SEES_SHARED)
#define PASTA_OWN_OF_LOCAL(prefix) PASTA_OWN_LOCAL(prefix)
#define PASTA_OWN_OF_ALL(prefix)                                                                   \
	PASTA_OWN_GLOBAL(prefix)                                                                   \
	PASTA_OWN_SHARED(prefix)                                                                   \
	PASTA_OWN_LOCAL(prefix)                                                                    \
	PASTA_OWN_COPIES(prefix, pasta_gpu::SEES_ALL)

/* <pasta/reducer_host.h> defines this macro before it includes this header, to get the memory
 * spaces that PASTA_REDUCER names. */
#ifndef PASTA_REDUCER_SEES
#define PASTA_REDUCER_SEES(spaces)
#endif

static_assert(PASTA_GPU_LAYOUT == 3,
	      "the names that PASTA_REDUCER defines must contain the value of PASTA_GPU_LAYOUT");
#define PASTA_REDUCER(keys, spaces)                                                                \
	static_assert(pasta_gpu::KEYS_##keys,                                                      \
		      "the first argument of PASTA_REDUCER must be SITES or KEYS");                \
	PASTA_REDUCER_SEES(spaces)                                                                 \
	PASTA_OWN_OF_##spaces(pasta_own_##keys##_3_) PASTA_REDUCER_INLINE void pasta_reducer_body( \
		const struct pasta_reducer_access *a)

#endif
