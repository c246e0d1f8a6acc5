/*
 * gpu.h - reducers on NVIDIA's devices: what the host gives to a launch, and what it finds after.
 *
 * One text for C and CUDA. The host fills a struct pasta_gpu_launch, with all that it points to, in
 * the device's memory; patches in the kernel's code count there; when the kernel is done, the host
 * reads it back. Patches are in gpu.cu.
 *
 * A place is a range of addresses, by its number: those of objects first, in the order of their
 * addresses; then the one of what is in none of them; then the spaces.
 */
#ifndef PASTA_REDUCE_GPU_H
#define PASTA_REDUCE_GPU_H

#include <stddef.h>

#include <pasta/device.h>

#define PASTA_GPU_HINTS 256u /* a power of two */
#define PASTA_GPU_NOWHERE(count) (count)
#define PASTA_GPU_SPACE(count, space) ((count) + 1u + (space))
#define PASTA_GPU_PLACES(count) ((count) + 1u + PASTA_SPACE_COUNT)

/* Both ends are in it. */
struct pasta_gpu_place {
	uint64_t begin, last;
	uint32_t base; /* of its pages' numbers */
	uint32_t reserved[3];
};

/* Counters of a place. Sizes of 1, 2, 4, 8 and 16 bytes have a counter for each kind, so that an
 * access is one addition; PASTA_GPU_OF is its number. */
enum {
	PASTA_GPU_SIZES = 5,
	PASTA_GPU_LOADS = 3 * PASTA_GPU_SIZES, /* of other sizes */
	PASTA_GPU_STORES,
	PASTA_GPU_BYTES,   /* of other sizes, as they count: an atomic's twice */
	PASTA_GPU_CROSS,   /* of any size: those that reach out of their place */
	PASTA_GPU_WRITTEN, /* of PASTA_GPU_BYTES */
	PASTA_GPU_COUNTERS = 20,
};
#define PASTA_GPU_OF(kind, log2_of_size) (((kind)-1u) * PASTA_GPU_SIZES + (log2_of_size))

struct pasta_gpu_row {
	uint64_t key0, key1;
	uint64_t loads, stores, bytes, extra;
};

/* Rows are taken one after the other, and found by an index of open addressing: mask + 1 of them,
 * 0: empty; UINT32_MAX: being made; a row's number + 1. */
struct pasta_gpu_table {
	uint32_t *index;
	struct pasta_gpu_row *rows; /* max + 1: the last is of what had no room */
	uint32_t mask, max;
	uint32_t count, reserved; /* of rows that were asked for: it may be more than max */
};

/*
 * Pages of objects' places have sums without keys, those of a place side by side: a page's number
 * is its address >> page_shift, plus its place's base, in 32 bits. A page that places share is one
 * of each. Where the base is PASTA_GPU_FAR, as it is of what is in no object, pages are rows of a
 * table.
 */
#define PASTA_GPU_FAR 0u
#define PASTA_GPU_STRETCH 8 /* pages that have a mark: the logarithm of how many */
struct pasta_gpu_sums {
	uint64_t loads, stores, bytes, extra;
};
struct pasta_gpu_pages {
	struct pasta_gpu_sums *sums;
	uint8_t *marks; /* of each stretch of pages; 0: nobody was there */
};

/*
 * Raw accesses: records are in the host's memory, in two halves. Those who write take a place by
 * head, and write when both halves before it were taken; the host takes a half when it is full. It
 * is told then, and not before: its memory is far.
 */
struct pasta_gpu_ring {	    /* in the host's memory, pinned */
	uint64_t filled[2]; /* records of a half, ever, when it was last full */
	uint64_t taken;	    /* records that the host has taken, ever: whole halves */
	uint64_t stop;	    /* not 0: the host takes no more; what has no room is lost */
};
struct pasta_gpu_raw {		      /* in the device's */
	struct pasta_access *records; /* 2 * half, the host's memory */
	struct pasta_gpu_ring *ring;
	uint32_t half; /* a power of two, 1,024 or more */
	uint32_t wait; /* 0: lose rather than wait */
	uint64_t head, lost;
	uint64_t seen;	    /* of the ring's taken, by the device; it begins as that, or as 0 */
	uint64_t filled[2]; /* records that were written into a half, ever */
	uint32_t looking;   /* one looks at the ring */
	uint32_t stopped;   /* as the ring's, when it was last looked at */
};

/* Times of blocks, ns of the device's timer. 0: the block was not seen, as yet. */
struct pasta_gpu_blocks {
	uint64_t *begin, *end; /* max of them, by the number of the block */
	uint32_t max, reserved;
};

struct pasta_gpu_launch {
	uint32_t reducers; /* PASTA_REDUCER_MASK. OBJECT is counts, BLOCK is blocks, others are
			    * tables
			    */
	uint32_t page_shift;
	uint32_t count;	 /* of objects' places */
	uint32_t every;	 /* only one block in so many; 1: all; never 0 */
	uint32_t number; /* of the launch, in raw records */
	uint32_t spaces; /* not 0: memory without objects counts also where a copy has it on one
			    side: all its other instructions are patched as well */
	uint64_t base;	 /* sites of raw records are differences to this address, 32 bits, signed */
	uint32_t spread; /* each place has 2^spread times its counters, side by side: who adds to
			    one at the same time gets into each other's way */
	uint32_t page_count;	   /* that have sums */
	uint64_t *counts;	   /* PASTA_GPU_COUNTERS for each, of PASTA_GPU_PLACES(count) */
	struct pasta_gpu_raw *raw; /* NULL: they are not wanted */
	struct pasta_gpu_blocks blocks;
	struct pasta_gpu_pages pages;
	/* By reducer. key0 of sites is the instruction's address; key1 of SITE is what an event
	 * SITE has as flags, so that a copy has two rows, that of SITE_OBJECT is a place, that of
	 * COALESCE the kind, that of DIVERGE PASTA_GPU_LANES of the active threads and the kind,
	 * that of BARRIER its number. Where index is NULL there is
	 * none. */
	struct pasta_gpu_table tables[PASTA_REDUCER_COUNT];
	/* Where instructions were last, by their addresses; at first 0. They are here, and not
	 * pointed to, since each access begins with one. */
	uint32_t hints[PASTA_GPU_HINTS];
};

/* They follow it, for the same reason. There is one more, in which nothing is, and whose pages are
 * far: that of PASTA_GPU_NOWHERE. */
#define PASTA_GPU_PLACES_OF(launch) ((struct pasta_gpu_place *)((launch) + 1))

#define PASTA_GPU_LANES(threads, kind) ((threads) | (kind) << 8)
#define PASTA_GPU_THREADS(key1) ((key1)&0xff)
#define PASTA_GPU_UNSPLIT UINT64_MAX

/* The kind of all accesses of a row; 0: they may be of several. One instruction does the same to
 * one place. The host's. */
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

/* How many bytes of a row are written; PASTA_GPU_UNSPLIT: that is not known. reducer is 0 for the
 * row of what had no room. The host's. */
static inline uint64_t pasta_gpu_written(uint32_t reducer, const struct pasta_gpu_row *row)
{
	uint32_t kind = pasta_gpu_kind(reducer, row);

	if (!kind)
		return PASTA_GPU_UNSPLIT;
	return kind == PASTA_ACCESS_LOAD ? 0 : row->bytes >> (kind == PASTA_ACCESS_ATOMIC);
}

/* The same of a place's counters, which always know. */
static inline uint64_t pasta_gpu_place_written(const uint64_t *counters)
{
	uint64_t written = counters[PASTA_GPU_WRITTEN];

	for (uint32_t i = 0; i < PASTA_GPU_SIZES; i++)
		written += (counters[PASTA_GPU_OF(PASTA_ACCESS_STORE, i)] +
			    counters[PASTA_GPU_OF(PASTA_ACCESS_ATOMIC, i)])
			   << i;
	return written;
}

/* The key of a block that ran so many ns: the least of its bucket, 8 an octave; below 8 each has
 * its own. The host's. */
static inline uint64_t pasta_block_bucket(uint64_t ns)
{
	uint32_t shift = ns < 8 ? 0 : 60u - (uint32_t)__builtin_clzll(ns);

	return ns >> shift << shift;
}

/*
 * The patches: the API's number of the class of instructions, its name, and what it needs.
 * A patch is the function pasta_VARIANT_NAME, VARIANT one of
 *   all     by the launch's mask
 *   object  as if the mask were PASTA_REDUCER_MASK(OBJECT), with no raw accesses and all blocks
 *   page    as if it were that and PASTA_REDUCER_MASK(PAGE), likewise
 *   raw     nothing but raw accesses, of all blocks
 *   floor   nothing, for measurements: what the API itself costs
 *   naive   each thread looks for its place and adds, for measurements; spread is 0
 * Those of floor and naive are there for GLOBAL classes only, that of BARRIER in all only. A launch
 * of NULL is not counted.
 */
enum pasta_gpu_class {
	PASTA_GPU_GLOBAL = 1, /* accesses memory that has objects */
	PASTA_GPU_SHARED = 2, /* accesses other memory, or that as well */
	PASTA_GPU_LOCAL = 4,
	PASTA_GPU_BLOCK = 8, /* beginnings and ends */
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
 * Those of a tool's own reducer, in its own fat binary: VARIANT is own_KEYS_LAYOUT, KEYS what key0
 * of PASTA_REDUCER_OWN's rows is: SITES, or KEYS, which are the author's. Functions of another
 * layout are not found, and so never run: it changes whenever a launch is laid out anew.
 */
#define PASTA_GPU_LAYOUT 3

/* The host's compiler and the device's lay them out alike. */
#ifdef __cplusplus
#define PASTA_GPU_HOLDS(what) static_assert(what, #what)
#else
#define PASTA_GPU_HOLDS(what) _Static_assert(what, #what)
#endif
#define PASTA_GPU_AT(type, field, offset) PASTA_GPU_HOLDS(offsetof(struct type, field) == (offset))

PASTA_GPU_HOLDS(PASTA_GPU_LAYOUT == 3 && PASTA_REDUCER_COUNT == 11);
PASTA_GPU_HOLDS(sizeof(struct pasta_gpu_place) == 32);
PASTA_GPU_HOLDS(sizeof(struct pasta_gpu_row) == 48);
PASTA_GPU_HOLDS(sizeof(struct pasta_gpu_table) == 32);
PASTA_GPU_HOLDS(sizeof(struct pasta_gpu_sums) == 32);
PASTA_GPU_HOLDS(sizeof(struct pasta_gpu_pages) == 16);
PASTA_GPU_HOLDS(sizeof(struct pasta_gpu_ring) == 32);
PASTA_GPU_HOLDS(sizeof(struct pasta_gpu_raw) == 72);
PASTA_GPU_HOLDS(sizeof(struct pasta_gpu_blocks) == 24);
PASTA_GPU_HOLDS(sizeof(struct pasta_gpu_launch) ==
		96 + 32 * PASTA_REDUCER_COUNT + 4 * PASTA_GPU_HINTS);
PASTA_GPU_AT(pasta_gpu_place, last, 8);
PASTA_GPU_AT(pasta_gpu_place, base, 16);
PASTA_GPU_AT(pasta_gpu_row, loads, 16);
PASTA_GPU_AT(pasta_gpu_row, extra, 40);
PASTA_GPU_AT(pasta_gpu_table, rows, 8);
PASTA_GPU_AT(pasta_gpu_table, mask, 16);
PASTA_GPU_AT(pasta_gpu_table, count, 24);
PASTA_GPU_AT(pasta_gpu_pages, marks, 8);
PASTA_GPU_AT(pasta_gpu_ring, taken, 16);
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
PASTA_GPU_HOLDS(sizeof(struct pasta_gpu_launch) % sizeof(struct pasta_gpu_place) == 0);
PASTA_GPU_AT(pasta_gpu_launch, raw, 48);
PASTA_GPU_AT(pasta_gpu_launch, blocks, 56);
PASTA_GPU_AT(pasta_gpu_launch, pages, 80);
PASTA_GPU_AT(pasta_gpu_launch, tables, 96);
PASTA_GPU_AT(pasta_gpu_launch, hints, 96 + 32 * PASTA_REDUCER_COUNT);

#endif
