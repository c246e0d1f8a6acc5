/*
 * gpu.h - describes the memory that the host and the patches of reducers on NVIDIA devices share.
 *
 * C and CUDA code include the same file. The host fills a struct pasta_gpu_launch and the data it
 * points to in device memory. Patches in the kernel's code add their counts to this memory. When
 * the kernel has finished, the host reads the counts back. The patches are in gpu.cu.
 *
 * A part is a range of addresses. Parts are numbered: first the parts of objects, in the order of
 * their addresses; then one part for all addresses outside of objects; then one for each memory
 * space.
 */
#ifndef PASTA_REDUCE_GPU_H
#define PASTA_REDUCE_GPU_H

#include <stddef.h>

#include <pasta/device.h>

#define PASTA_GPU_HINTS 256u /* a power of two */
#define PASTA_GPU_NOWHERE(count) (count)
#define PASTA_GPU_SPACE(count, space) ((count) + 1u + (space))
#define PASTA_GPU_PARTS(count) ((count) + 1u + PASTA_SPACE_COUNT)

/* A range of addresses; "last" is its last byte. */
struct pasta_gpu_part {
	uint64_t begin, last;
	/* number of a page minus (address >> page_shift), the same for all pages of the part */
	uint32_t base;
	uint32_t reserved[3];
};

/* Counters of a part. Accesses of 1, 2, 4, 8 and 16 bytes have one counter for each kind and size,
 * so that an access is a single addition. PASTA_GPU_OF is the number of that counter. */
enum {
	PASTA_GPU_SIZES = 5,
	PASTA_GPU_LOADS = 3 * PASTA_GPU_SIZES, /* of other sizes */
	PASTA_GPU_STORES,
	PASTA_GPU_BYTES,   /* bytes of accesses of other sizes; an atomic counts twice */
	PASTA_GPU_CROSS,   /* accesses of any size that reach beyond their part */
	PASTA_GPU_WRITTEN, /* written bytes among PASTA_GPU_BYTES */
	PASTA_GPU_COUNTERS = 20,
};
#define PASTA_GPU_OF(kind, log2_of_size) (((kind)-1u) * PASTA_GPU_SIZES + (log2_of_size))

struct pasta_gpu_row {
	uint64_t key0, key1;
	uint64_t loads, stores, bytes, extra;
};

/* Rows are allocated in sequence and found with open addressing in `index`, which has `mask` + 1
 * slots. A slot is 0 if it is empty, UINT32_MAX while its row is being made, or the row's number
 * + 1. */
struct pasta_gpu_table {
	uint32_t *index;
	/* array of `max` + 1 rows; the last row counts accesses whose keys did not fit */
	struct pasta_gpu_row *rows;
	uint32_t mask, max;
	uint32_t count, reserved; /* `count`: number of requested rows, which can exceed `max` */
};

/*
 * Sums of pages, without keys. The pages of a part are adjacent: a page's number is its address >>
 * page_shift plus the base of its part, modulo 2^32. A page that several parts share has sums in
 * each of them. If a part's base is PASTA_GPU_FAR, its pages are rows of a table. This applies to
 * addresses outside of objects.
 */
#define PASTA_GPU_FAR 0u
#define PASTA_GPU_STRETCH 8 /* log2 of the number of pages that share a mark */
struct pasta_gpu_sums {
	uint64_t loads, stores, bytes, extra;
};
struct pasta_gpu_pages {
	struct pasta_gpu_sums *sums;
	uint8_t *marks; /* one mark for each stretch of pages; 0: no access */
};

/*
 * Raw accesses. The records are in host memory, in two halves. Lanes reserve slots by incrementing
 * `head`, and write when the host has consumed the half that used these slots before. The device
 * reports a half only when it is full, because host memory is slow to access.
 */
struct pasta_gpu_ring { /* in pinned host memory */
	/* number of records written to each half at the time when it was last full */
	uint64_t filled[2];
	/* number of records that the host has consumed since the start; whole halves only */
	uint64_t consumed;
	/* if not 0, the host does not consume records, and the device drops records without room */
	uint64_t stop;
};
struct pasta_gpu_raw {		      /* in device memory */
	struct pasta_access *records; /* 2 * half, in host memory */
	struct pasta_gpu_ring *ring;
	uint32_t half; /* a power of two, 1,024 or more */
	uint32_t wait; /* 0: the device drops records instead of waiting for room */
	uint64_t head, dropped;
	/* the device's copy of pasta_gpu_ring.consumed; initially the same value, or 0 */
	uint64_t seen;
	uint64_t filled[2]; /* number of records written to each half since the start */
	uint32_t looking;   /* a lane reads the ring */
	uint32_t stopped;   /* the device's copy of pasta_gpu_ring.stop */
};

/* Start and end times of blocks, in ns of the device's timer. 0: the time was not recorded. */
struct pasta_gpu_blocks {
	uint64_t *begin, *end; /* start and end time of each block, by its number; `max` entries */
	uint32_t max, reserved;
};

struct pasta_gpu_launch {
	/* mask of the enabled reducers. OBJECT uses "counts", BLOCK "blocks", the others
	 * "tables" */
	uint32_t reducers;
	uint32_t page_shift;
	uint32_t count;	 /* parts of objects */
	uint32_t every;	 /* N if one block in N is counted; 1: all blocks; never 0 */
	uint32_t number; /* the launch's number in raw records */
	uint32_t spaces; /* if not 0, a copy's access to memory without objects is counted, too */
	uint64_t base;	 /* a raw record's site is the instruction's address minus `base` (int32) */
	/* each part has 2^spread sets of counters, so that multiprocessors do not compete for
	 * one */
	uint32_t spread;
	uint32_t page_count;	   /* pages with sums */
	uint64_t *counts;	   /* PASTA_GPU_COUNTERS for each of PASTA_GPU_PARTS(count) */
	struct pasta_gpu_raw *raw; /* NULL: no raw accesses */
	struct pasta_gpu_blocks blocks;
	struct pasta_gpu_pages pages;
	/* One table for each reducer; `index` is NULL for reducers without a table. For reducers
	 * by site, key0 is the instruction's address. The meaning of key1 depends on the
	 * reducer. SITE: the flags of the SITE event, so a copy has two rows. SITE_OBJECT:
	 * a part. COALESCE: the kind of access. DIVERGE: PASTA_GPU_LANES of the active threads
	 * and the kind. BARRIER: the barrier's number. */
	struct pasta_gpu_table tables[PASTA_REDUCER_COUNT];
	/* A cache: the part of an instruction's last access, by the instruction's address;
	 * initially 0. The cache is inside of the struct and not behind a pointer, because each
	 * access starts with a look-up in it. */
	uint32_t hints[PASTA_GPU_HINTS];
};

/* The parts follow the struct directly, so that a look-up does not load a pointer. After the last
 * part there is an empty one for PASTA_GPU_NOWHERE, whose base is PASTA_GPU_FAR. */
#define PASTA_GPU_PARTS_OF(launch) ((struct pasta_gpu_part *)((launch) + 1))

#define PASTA_GPU_LANES(threads, kind) ((threads) | (kind) << 8)
#define PASTA_GPU_THREADS(key1) ((key1)&0xff)
#define PASTA_GPU_UNSPLIT UINT64_MAX

/* For the host: returns the kind of all accesses of a row; 0 if they may differ. An instruction
 * always accesses a part in the same way. */
static inline uint32_t pasta_gpu_kind(uint32_t reducer, const struct pasta_gpu_row *row)
{
	if (reducer == PASTA_REDUCER_SITE || reducer == PASTA_REDUCER_COALESCE)
		return (uint32_t)row->key1 & PASTA_ACCESS_ATOMIC;
	if (reducer == PASTA_REDUCER_DIVERGE)
		return (uint32_t)(row->key1 >> 8) & PASTA_ACCESS_ATOMIC;
	if (!row->loads || !row->stores)
		return row->stores ? PASTA_ACCESS_STORE : PASTA_ACCESS_LOAD;
	return reducer == PASTA_REDUCER_SITE_OBJECT && row->loads == row->stores
		       ? PASTA_ACCESS_ATOMIC
		       : 0;
}

/* For the host: returns how many bytes of a row were written; PASTA_GPU_UNSPLIT if that is
 * unknown. `reducer` is 0 for the row of accesses whose keys did not fit. */
static inline uint64_t pasta_gpu_written(uint32_t reducer, const struct pasta_gpu_row *row)
{
	uint32_t kind = pasta_gpu_kind(reducer, row);

	if (!kind)
		return PASTA_GPU_UNSPLIT;
	return kind == PASTA_ACCESS_LOAD ? 0 : row->bytes >> (kind == PASTA_ACCESS_ATOMIC);
}

/* Returns the number of written bytes, computed from the counters of a part. */
static inline uint64_t pasta_gpu_part_written(const uint64_t *counters)
{
	uint64_t written = counters[PASTA_GPU_WRITTEN];

	for (uint32_t i = 0; i < PASTA_GPU_SIZES; i++)
		written += (counters[PASTA_GPU_OF(PASTA_ACCESS_STORE, i)] +
			    counters[PASTA_GPU_OF(PASTA_ACCESS_ATOMIC, i)])
			   << i;
	return written;
}

/* For the host: returns the key of a block that ran ns nanoseconds, which is the lower bound of its
 * bucket. There are 8 buckets for each power of two, and one bucket for each value below 8. */
static inline uint64_t pasta_block_bucket(uint64_t ns)
{
	uint32_t shift = ns < 8 ? 0 : 60u - (uint32_t)__builtin_clzll(ns);

	return ns >> shift << shift;
}

/*
 * The list of patches. An entry has the API's number of an instruction class, the name of the
 * class, and the enum pasta_gpu_class that needs the patch. A patch is a function
 * pasta_VARIANT_NAME. The variants are:
 *
 *   `all`     counts for the reducers in the launch's mask;
 *   `object`  counts only for reducer OBJECT, in all blocks, without raw accesses;
 *   `page`    counts only for reducers OBJECT and PAGE, in all blocks, without raw accesses;
 *   `raw`     only stores raw accesses, in all blocks;
 *   `floor`   does nothing, and lets benchmarks measure the cost of the API itself;
 *   `naive`   lets each thread search for its part and add to it, for benchmarks with spread 0.
 *
 * The variants `floor` and `naive` exist only for GLOBAL classes. Patches of BARRIER exist only in
 * the variant `all`. If the callback data of a launch is NULL, patches do not count the launch.
 */
enum pasta_gpu_class {
	PASTA_GPU_GLOBAL = 1, /* the instruction accesses memory with objects */
	/* the instruction accesses shared memory, and possibly other memory */
	PASTA_GPU_SHARED = 2,
	PASTA_GPU_LOCAL = 4,
	PASTA_GPU_BLOCK = 8, /* patches at the start and the end of blocks */
	PASTA_GPU_BARRIER = 16,
};
#define PASTA_GPU_PATCHES(F)                                                                       \
	F(1, block_enter, PASTA_GPU_BLOCK)                                                         \
	F(2, block_exit, PASTA_GPU_BLOCK)                                                          \
	F(3, global, PASTA_GPU_GLOBAL)                                                             \
	F(4, shared, PASTA_GPU_SHARED)                                                             \
	F(5, local, PASTA_GPU_LOCAL)                                                               \
	F(6, barrier, PASTA_GPU_BARRIER)                                                           \
	F(14, memcpy_async, PASTA_GPU_GLOBAL)                                                      \
	F(17, remote, PASTA_GPU_SHARED)                                                            \
	F(19, matrix, PASTA_GPU_SHARED)                                                            \
	F(26, async_store, PASTA_GPU_SHARED)                                                       \
	F(27, async_reduction, PASTA_GPU_SHARED)                                                   \
	F(30, bulk_to_shared, PASTA_GPU_GLOBAL)                                                    \
	F(35, bulk_to_global, PASTA_GPU_GLOBAL)                                                    \
	F(36, bulk_shared, PASTA_GPU_SHARED)                                                       \
	F(37, bulk_reduce_global, PASTA_GPU_GLOBAL)                                                \
	F(38, bulk_reduce_shared, PASTA_GPU_SHARED)

/*
 * Patches of a tool's own reducer are in the tool's fat binary. Their VARIANT is own_KEYS_LAYOUT.
 * KEYS is the meaning of key0 in rows of PASTA_REDUCER_OWN: SITES, or KEYS if the author defines
 * it. PASTA_GPU_LAYOUT changes whenever the layout of a launch changes, so that functions for
 * another layout are not found and never run.
 */
#define PASTA_GPU_LAYOUT 3

/* These checks ensure that the compilers of host and device agree on the layout. */
#ifdef __cplusplus
#define PASTA_GPU_HOLDS(what) static_assert(what, #what)
#else
#define PASTA_GPU_HOLDS(what) _Static_assert(what, #what)
#endif
#define PASTA_GPU_AT(type, field, offset) PASTA_GPU_HOLDS(offsetof(struct type, field) == (offset))

PASTA_GPU_HOLDS(PASTA_GPU_LAYOUT == 3 && PASTA_REDUCER_COUNT == 11);
PASTA_GPU_HOLDS(sizeof(struct pasta_gpu_part) == 32);
PASTA_GPU_HOLDS(sizeof(struct pasta_gpu_row) == 48);
PASTA_GPU_HOLDS(sizeof(struct pasta_gpu_table) == 32);
PASTA_GPU_HOLDS(sizeof(struct pasta_gpu_sums) == 32);
PASTA_GPU_HOLDS(sizeof(struct pasta_gpu_pages) == 16);
PASTA_GPU_HOLDS(sizeof(struct pasta_gpu_ring) == 32);
PASTA_GPU_HOLDS(sizeof(struct pasta_gpu_raw) == 72);
PASTA_GPU_HOLDS(sizeof(struct pasta_gpu_blocks) == 24);
PASTA_GPU_HOLDS(sizeof(struct pasta_gpu_launch) ==
		96 + 32 * PASTA_REDUCER_COUNT + 4 * PASTA_GPU_HINTS);
PASTA_GPU_AT(pasta_gpu_part, last, 8);
PASTA_GPU_AT(pasta_gpu_part, base, 16);
PASTA_GPU_AT(pasta_gpu_row, loads, 16);
PASTA_GPU_AT(pasta_gpu_row, extra, 40);
PASTA_GPU_AT(pasta_gpu_table, rows, 8);
PASTA_GPU_AT(pasta_gpu_table, mask, 16);
PASTA_GPU_AT(pasta_gpu_table, count, 24);
PASTA_GPU_AT(pasta_gpu_pages, marks, 8);
PASTA_GPU_AT(pasta_gpu_ring, consumed, 16);
PASTA_GPU_AT(pasta_gpu_ring, stop, 24);
PASTA_GPU_AT(pasta_gpu_raw, half, 16);
PASTA_GPU_AT(pasta_gpu_raw, head, 24);
PASTA_GPU_AT(pasta_gpu_raw, seen, 40);
PASTA_GPU_AT(pasta_gpu_raw, filled, 48);
PASTA_GPU_AT(pasta_gpu_raw, stopped, 68);
PASTA_GPU_AT(pasta_gpu_blocks, max, 16);
PASTA_GPU_AT(pasta_gpu_launch, number, 16);
PASTA_GPU_AT(pasta_gpu_launch, base, 24);
PASTA_GPU_AT(pasta_gpu_launch, page_count, 36);
PASTA_GPU_AT(pasta_gpu_launch, counts, 40);
PASTA_GPU_HOLDS(sizeof(struct pasta_gpu_launch) % sizeof(struct pasta_gpu_part) == 0);
PASTA_GPU_AT(pasta_gpu_launch, raw, 48);
PASTA_GPU_AT(pasta_gpu_launch, blocks, 56);
PASTA_GPU_AT(pasta_gpu_launch, pages, 80);
PASTA_GPU_AT(pasta_gpu_launch, tables, 96);
PASTA_GPU_AT(pasta_gpu_launch, hints, 96 + 32 * PASTA_REDUCER_COUNT);

#endif
