/*
 * device.h - defines the record of a memory access, and the numbers of the reducers, for C, C++ and
 * CUDA.
 *
 * This header needs only <stdint.h>. docs/memory-accesses.md defines the terms.
 */
#ifndef PASTA_DEVICE_H
#define PASTA_DEVICE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an access does. The values are bits; an atomic operation has the bits of a load and of a
 * store. */
enum pasta_access_kind {
	PASTA_ACCESS_LOAD = 1,
	PASTA_ACCESS_STORE = 2,
	PASTA_ACCESS_ATOMIC = PASTA_ACCESS_LOAD | PASTA_ACCESS_STORE,
	/* a flag of sites, not of accesses: at this instruction, threads wait for each
	 * other */
	PASTA_ACCESS_BARRIER = 4,
};

/* The memory space of an access. Addresses in PASTA_SPACE_LOCAL and the spaces after it do not
 * belong to objects. */
enum pasta_space {
	PASTA_SPACE_GLOBAL = 0,
	PASTA_SPACE_CONSTANT,
	/* the space is not known; a reducer looks for an object at the address */
	PASTA_SPACE_GENERIC,
	PASTA_SPACE_LOCAL,   /* memory of a thread block: local in OpenCL, shared in CUDA */
	PASTA_SPACE_PRIVATE, /* memory of a thread: private in OpenCL, local in CUDA */
	PASTA_SPACE_REMOTE,  /* shared memory of another thread block */
	PASTA_SPACE_COUNT,
};

/*
 * An access of one thread, as files of raw accesses store it: 32 bytes, without pointers or
 * padding.
 *
 * A group is a thread block (OpenCL: a work-group). The threads of a group have consecutive
 * numbers, with x varying fastest; the groups of a launch are numbered likewise. On every device, a
 * warp is 32 threads with consecutive numbers, starting with a multiple of 32. A request is all
 * accesses of one warp by one execution of an instruction. The records of a request have equal
 * `launch`, `group`, `site` and `turn`, and ascending `thread`. `turn` is the number of times that
 * the thread has executed the instruction before, or any other number that distinguishes successive
 * requests.
 */
struct pasta_access {
	uint64_t addr;
	uint32_t size; /* bytes; 0: unknown */
	uint32_t site; /* the accessing instruction: its offset in the function, or a number */
	/* number of the launch, chosen by the source of the accesses */
	uint32_t launch;
	uint32_t group;
	uint32_t turn;
	uint16_t thread; /* number in its group */
	uint8_t kind;	 /* enum pasta_access_kind */
	uint8_t space;	 /* enum pasta_space */
};

/* The reducer that produced a row: the field `reducer` of an ACCESS_SUM event. The comments on the
 * enumerators define the row's fields key0, key1, `loads`, `stores`, `bytes` and `extra`. The key
 * of a site is PASTA_SITE_KEY(function, site). */
enum pasta_reducer {
	/* key0 is an object. `extra` counts the accesses that reach beyond the object. */
	PASTA_REDUCER_OBJECT = 1,
	/* key0 is the address of a page. `extra` counts the accesses that reach beyond the page. */
	PASTA_REDUCER_PAGE,
	/* key0 is a site. `extra` counts the accesses that reach beyond an object. */
	PASTA_REDUCER_SITE,
	/* key0 is a site, and key1 an object. `extra` counts the accesses that reach beyond the
	 * object. */
	PASTA_REDUCER_SITE_OBJECT,
	/* key0 is a site. `loads` and `stores` count requests, not accesses. `extra` counts the
	 * memory sectors that the requests touch. */
	PASTA_REDUCER_COALESCE,
	/* key0 is a site, and key1 the number of active threads of a warp. `loads` and `stores`
	 * count requests, not accesses. `extra` counts all threads of these warps, active or
	 * not. */
	PASTA_REDUCER_DIVERGE,
	/* GPUs only. key0 is a bucket of run times of thread blocks: the bucket's lower bound in
	 * ns. Each power of two has 8 buckets (pasta_block_bucket). `loads` is the number of thread
	 * blocks, and `bytes` their total run time in ns. `extra` counts the thread blocks of the
	 * launch that were not timed. */
	PASTA_REDUCER_BLOCK,
	/* GPUs only. Tensor descriptors in the arguments of launches. The copies that use these
	 * descriptors cannot be counted. key0 is an object. `loads` is the number of descriptors.
	 * `bytes` is the size of the described tensors, in which each byte counts once. */
	PASTA_REDUCER_TENSOR,
	/* GPUs only. A reducer that is part of a tool. The tool's author defines keys and sums
	 * (<pasta/reducer.cuh>). If key0 stands for an instruction, it is the key of a site. */
	PASTA_REDUCER_OWN,
	/* GPUs only. Barriers. key0 is a site, and key1 the number of the barrier in its thread
	 * block. `loads` counts arrivals of warps; threads of a warp that arrive together are one
	 * arrival. `stores` counts arrivals of threads, and `extra` all threads of these warps. */
	PASTA_REDUCER_BARRIER,
	PASTA_REDUCER_COUNT,
};

enum pasta_sum_flags {
	/* a flag of the event: its field `written` is valid, and has the bytes of stores and atomic
	 * operations */
	PASTA_SUM_SPLIT = 1,
};

#define PASTA_REDUCER_MASK(NAME) (1u << PASTA_REDUCER_##NAME)
#define PASTA_SITE_KEY(function, site) ((uint64_t)(function) << 32 | (uint32_t)(site))

/* Keys of objects start at PASTA_OBJECT_FIRST. The key PASTA_OBJECT_NONE stands for addresses
 * outside of all objects. The other keys below PASTA_OBJECT_FIRST are numbers of memory spaces. In
 * the tables of all reducers, PASTA_KEY_OTHER stands for the keys that did not fit into the
 * table. */
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
