/*
 * device.h - memory accesses for C, C++ and CUDA: the record, and the numbers of the reducers.
 *
 * Needs only <stdint.h>. docs/memory-accesses.md has the definitions.
 */
#ifndef PASTA_DEVICE_H
#define PASTA_DEVICE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an access does. The values are bits: an atomic is both. */
enum pasta_access_kind {
	PASTA_ACCESS_LOAD = 1,
	PASTA_ACCESS_STORE = 2,
	PASTA_ACCESS_ATOMIC = PASTA_ACCESS_LOAD | PASTA_ACCESS_STORE,
	PASTA_ACCESS_BARRIER = 4, /* only for a site: not an access, threads wait there */
};

/* The memory space. From PASTA_SPACE_LOCAL on, addresses do not belong to objects. */
enum pasta_space {
	PASTA_SPACE_GLOBAL = 0,
	PASTA_SPACE_CONSTANT,
	PASTA_SPACE_GENERIC, /* unknown: the address is looked up among the objects */
	PASTA_SPACE_LOCAL,   /* of a group: local in OpenCL, shared in CUDA */
	PASTA_SPACE_PRIVATE, /* of a thread: private in OpenCL, local in CUDA */
	PASTA_SPACE_REMOTE,  /* of another group */
	PASTA_SPACE_COUNT,
};

/*
 * An access of one thread, as in raw batches: 32 bytes, without pointers or padding.
 *
 * Threads of a group have consecutive numbers, x varying fastest; so do groups. A warp is 32
 * threads that begin at a multiple of 32, on any device. The accesses of a warp by one instruction
 * are a request. Records of a request have the same launch, group, site and turn, and ascending
 * threads. turn is the number of previous visits of the thread to the site, or any number that
 * distinguishes successive requests.
 */
struct pasta_access {
	uint64_t addr;
	uint32_t size;	 /* bytes; 0: unknown */
	uint32_t site;	 /* the instruction: an offset in its function, or a number */
	uint32_t launch; /* the caller's number of the launch */
	uint32_t group;
	uint32_t turn;
	uint16_t thread; /* number in its group */
	uint8_t kind;	 /* enum pasta_access_kind */
	uint8_t space;	 /* enum pasta_space */
};

/* The table of a row: the field reducer of PASTA_KIND_ACCESS_SUM. A site is
 * PASTA_SITE_KEY(function, site). */
enum pasta_reducer {
	PASTA_REDUCER_OBJECT = 1, /* key0 object; extra: accesses that reach beyond it */
	PASTA_REDUCER_PAGE, /* key0 address of the page; extra: accesses that reach beyond it */
	PASTA_REDUCER_SITE, /* key0 site; extra: accesses that reach beyond an object */
	PASTA_REDUCER_SITE_OBJECT, /* key0 site, key1 object; extra as for SITE */
	/* key0 site. loads and stores are requests; extra: sectors that the requests touch. */
	PASTA_REDUCER_COALESCE,
	/* key0 site, key1 active threads of a warp. loads and stores are requests; extra: threads
	 * of these warps. */
	PASTA_REDUCER_DIVERGE,
	/* key0 run time of blocks in ns: the lower bound of a bucket, with 8 buckets for each power
	 * of two (pasta_block_bucket). loads: blocks; bytes: total ns; extra: blocks of the launch
	 * without times. GPUs only. */
	PASTA_REDUCER_BLOCK,
	/* key0 object. loads: tensor descriptors in the arguments of a launch, for copies that
	 * cannot be counted; bytes: size of the described tensors, each byte once. GPUs only. */
	PASTA_REDUCER_TENSOR,
	/* A tool's own reducer: its author defines keys and sums (<pasta/reducer.cuh>). If key0 is
	 * an instruction, it is a site as above. GPUs only. */
	PASTA_REDUCER_OWN,
	/* key0 site, key1 number of the barrier in its block. loads: arrivals of warps; threads
	 * that arrive together are one arrival. stores: arrivals of threads; extra: threads of
	 * these warps. GPUs only. */
	PASTA_REDUCER_BARRIER,
	PASTA_REDUCER_COUNT,
};

enum pasta_sum_flags {
	PASTA_SUM_SPLIT = 1, /* written is known: bytes of stores, and of atomics once */
};

#define PASTA_REDUCER_MASK(NAME) (1u << PASTA_REDUCER_##NAME)
#define PASTA_SITE_KEY(function, site) ((uint64_t)(function) << 32 | (uint32_t)(site))

/* Keys that do not denote an object: outside of objects; a memory space, by its number; and, in any
 * table, keys that found no room. Objects are numbered from PASTA_OBJECT_FIRST. */
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
