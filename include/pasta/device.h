/*
 * device.h - memory accesses, as C, C++ and CUDA see them: the record, and the reducers' numbers.
 *
 * It needs nothing but <stdint.h>. docs/memory-accesses.md has the definitions.
 */
#ifndef PASTA_DEVICE_H
#define PASTA_DEVICE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an access does: bits, so that an atomic is both. */
enum pasta_access_kind {
	PASTA_ACCESS_LOAD = 1,
	PASTA_ACCESS_STORE = 2,
	PASTA_ACCESS_ATOMIC = PASTA_ACCESS_LOAD | PASTA_ACCESS_STORE,
	PASTA_ACCESS_BARRIER = 4, /* of a site alone: none at all, threads wait there */
};

/* Where. Addresses of those from PASTA_SPACE_LOCAL on are not those of objects. */
enum pasta_space {
	PASTA_SPACE_GLOBAL = 0,
	PASTA_SPACE_CONSTANT,
	PASTA_SPACE_GENERIC, /* not known: its address is looked for among the objects */
	PASTA_SPACE_LOCAL,   /* a group's: local in OpenCL, shared in CUDA */
	PASTA_SPACE_PRIVATE, /* a thread's: private in OpenCL, local in CUDA */
	PASTA_SPACE_REMOTE,  /* another group's */
	PASTA_SPACE_COUNT,
};

/*
 * An access of one thread, as raw batches have it: 32 bytes, no pointers, no holes.
 *
 * Threads of a group are numbered in one line, x fastest; so are groups. 32 threads that begin at
 * a multiple of 32 are a warp, whatever the device has; the accesses that they make together are
 * a request. Records of a request have the same launch, group, site and turn, and their threads
 * are in ascending order; turn is how often the thread was at the site before, or any number that
 * tells apart the requests that follow one another.
 */
struct pasta_access {
	uint64_t addr;
	uint32_t size;	 /* bytes; 0 where they are not known */
	uint32_t site;	 /* the instruction: an offset in its function, or a number */
	uint32_t launch; /* the caller's number of it */
	uint32_t group;
	uint32_t turn;
	uint16_t thread; /* in its group */
	uint8_t kind;	 /* enum pasta_access_kind */
	uint8_t space;	 /* enum pasta_space */
};

/* Whose table a row of accesses is of: the field reducer of PASTA_KIND_ACCESS_SUM. A site is
 * PASTA_SITE_KEY(function, site). */
enum pasta_reducer {
	PASTA_REDUCER_OBJECT = 1, /* key0 object; extra: accesses that reach out of it */
	PASTA_REDUCER_PAGE, /* key0 the page's address; extra: accesses that reach out of it */
	PASTA_REDUCER_SITE, /* key0 site; extra: accesses that reach out of an object */
	PASTA_REDUCER_SITE_OBJECT, /* key0 site, key1 object; extra as above */
	/* key0 site. loads and stores are requests; extra: sectors that they touch. */
	PASTA_REDUCER_COALESCE,
	/* key0 site, key1 active threads of a warp. loads and stores are requests; extra: threads
	 * that those warps have. */
	PASTA_REDUCER_DIVERGE,
	/* key0 how long blocks ran, ns: the least of their bucket of a log-linear scale with 8
	 * buckets an octave (pasta_block_bucket). loads: blocks; bytes: ns, all together; extra:
	 * those that the launch has and that were not seen. On GPUs. */
	PASTA_REDUCER_BLOCK,
	/* key0 object. loads: descriptors of tensors that a launch was given, by which instructions
	 * copy that cannot be seen; bytes: what they describe, each byte once. On GPUs. */
	PASTA_REDUCER_TENSOR,
	/* A tool's own, on GPUs: keys and sums are what its author says (<pasta/reducer.cuh>);
	 * where key0 is an instruction, it is a site as above. */
	PASTA_REDUCER_OWN,
	/* key0 site, key1 the barrier's number in its block. loads: arrivals of warps, however many
	 * of their threads come together; stores: arrivals of threads; extra: threads that those
	 * warps have. On GPUs. */
	PASTA_REDUCER_BARRIER,
	PASTA_REDUCER_COUNT,
};

enum pasta_sum_flags {
	PASTA_SUM_SPLIT = 1, /* written is known: bytes of stores, and once those of atomics */
};

#define PASTA_REDUCER_MASK(NAME) (1u << PASTA_REDUCER_##NAME)
#define PASTA_SITE_KEY(function, site) ((uint64_t)(function) << 32 | (uint32_t)(site))

/* Keys that are no object's: outside of all objects; spaces, by their number; and, in any table,
 * what the table had no room for. Objects are numbered from PASTA_OBJECT_FIRST. */
#define PASTA_OBJECT_NONE UINT64_C(0)
#define PASTA_OBJECT_FIRST UINT64_C(16)
#define PASTA_KEY_OTHER UINT64_MAX

#define PASTA_WARP 32u	 /* threads */
#define PASTA_SECTOR 32u /* bytes */

#ifdef __cplusplus
}
static_assert(sizeof(struct pasta_access) == 32, "a raw record is 32 bytes");
#else
_Static_assert(sizeof(struct pasta_access) == 32, "a raw record is 32 bytes");
#endif
#endif
