/*
 * gpu.h - describes the memory that the host shares with the patches of reducers on NVIDIA devices.
 *
 * C and CUDA code include the same file. The host fills a struct pasta_gpu_launch in device memory,
 * and the data to which it points. Patches in the kernel's code add their counts to this memory.
 * When the kernel has finished, the host reads the counts back. The patches are in gpu.cu.
 *
 * Counts belong to parts. A part is an object, which is a range of addresses, or a set of addresses
 * outside of all objects. The first parts are the objects, in the order of their addresses. One
 * part follows for all addresses outside of objects, and then one part for each memory space.
 */
#ifndef PASTA_REDUCE_GPU_H
#define PASTA_REDUCE_GPU_H

#include <stddef.h>

#include <pasta/device.h>

/* the number of entries in the cache of hints; must be a power of two */
#define PASTA_GPU_HINTS 256u
#define PASTA_GPU_NOWHERE(count) (count)
#define PASTA_GPU_SPACE(count, space) ((count) + 1u + (space))
#define PASTA_GPU_PARTS(count) ((count) + 1u + PASTA_SPACE_COUNT)

/* The address range of a part; `last` is the address of the last byte. */
struct pasta_gpu_part {
	uint64_t begin, last;
	/* The number of a page minus (address >> page_shift). The difference is the same for all
	 * pages of an object. */
	uint32_t base;
	uint32_t reserved[3];
};

/* The counters of a part, which is an object or a set of addresses outside of objects. Accesses of
 * 1, 2, 4, 8 and 16 bytes have one counter for each kind and size, so that counting an access is a
 * single addition. PASTA_GPU_OF is the number of that counter. */
enum {
	PASTA_GPU_SIZES = 5,
	PASTA_GPU_LOADS = 3 * PASTA_GPU_SIZES, /* number of loads of other sizes */
	PASTA_GPU_STORES,
	PASTA_GPU_BYTES, /* bytes of accesses of other sizes; an atomic operation counts twice */
	/* number of accesses of any size that begin in the part and end outside of the part */
	PASTA_GPU_CROSS,
	PASTA_GPU_WRITTEN, /* number of written bytes, which PASTA_GPU_BYTES includes */
	PASTA_GPU_COUNTERS = 20,
};
#define PASTA_GPU_OF(kind, log2_of_size) (((kind)-1u) * PASTA_GPU_SIZES + (log2_of_size))

struct pasta_gpu_row {
	uint64_t key0, key1;
	uint64_t loads, stores, bytes, extra;
};

/* A table of rows. Rows are allocated in sequence. The hash table `index` finds rows with open
 * addressing, and has `mask` + 1 slots. An empty slot is 0, and a slot is UINT32_MAX while its row
 * is being created. Any other slot is the row's number + 1. */
struct pasta_gpu_table {
	uint32_t *index;
	/* An array of `max` + 1 rows. The last row counts accesses whose keys did not fit. */
	struct pasta_gpu_row *rows;
	uint32_t mask, max;
	/* `count` is the number of rows that were requested, which can exceed `max` */
	uint32_t count, reserved;
};

/*
 * The sums of pages, without keys. The pages of an object are adjacent. A page's number is (its
 * address >> page_shift) plus the base of the object, modulo 2^32. If several objects share a page,
 * the page has separate sums for each object. If the base is PASTA_GPU_FAR, the pages are rows of a
 * table; this applies to addresses outside of objects.
 */
#define PASTA_GPU_FAR 0u
#define PASTA_GPU_STRETCH 8 /* log2 of the number of pages that share a mark */
struct pasta_gpu_sums {
	uint64_t loads, stores, bytes, extra;
};
struct pasta_gpu_pages {
	struct pasta_gpu_sums *sums;
	uint8_t *marks; /* one mark for each stretch of pages; 0 if the stretch was not accessed */
};

/*
 * The ring for raw accesses. The records are in host memory, in two halves. Lanes reserve slots by
 * incrementing `head`. A lane writes a record when the host has consumed the slot's previous
 * record, with the other records of its half. The device reports a half only when the half is full,
 * because host memory is slow to access.
 */
struct pasta_gpu_ring { /* this struct is in pinned host memory */
	/* For each half: the number of records that had been written to the half when the half was
	 * last full. */
	uint64_t filled[2];
	/* The number of records that the host has consumed since the start. The host consumes only
	 * whole halves. */
	uint64_t consumed;
	/* If `stop` is not 0, the host does not consume records, and the device drops records for
	 * which there is no room. */
	uint64_t stop;
};
struct pasta_gpu_raw {		      /* this struct is in device memory */
	struct pasta_access *records; /* array of 2 * half records, in host memory */
	struct pasta_gpu_ring *ring;
	uint32_t half; /* number of records in a half; a power of two, 1,024 or more */
	uint32_t wait; /* if 0, the device drops records instead of waiting for room */
	uint64_t head, dropped;
	/* The device's copy of pasta_gpu_ring.consumed. The copy's initial value is the same, or
	 * 0. */
	uint64_t seen;
	uint64_t filled[2]; /* number of records written to each half since the start */
	uint32_t looking;   /* whether a lane is reading the ring */
	uint32_t stopped;   /* the device's copy of pasta_gpu_ring.stop */
};

/* The start and end times of thread blocks, in ns of the device's timer. A time is 0 if it was not
 * recorded. */
struct pasta_gpu_blocks {
	/* The start time and the end time of each thread block, by the block's number. The arrays
	 * have `max` entries. */
	uint64_t *begin, *end;
	uint32_t max, reserved;
};

struct pasta_gpu_launch {
	/* The mask of the enabled reducers. The reducer OBJECT uses the member `counts`, BLOCK uses
	 * `blocks`, and the others use `tables`. */
	uint32_t reducers;
	uint32_t page_shift;
	uint32_t count; /* number of objects */
	/* N if one thread block in N is counted, or 1 for all thread blocks; never 0 */
	uint32_t every;
	uint32_t number; /* number of the launch in the records of raw accesses */
	uint32_t spaces; /* if not 0, a copy's access to memory without objects is counted too */
	/* The site of a raw access is the instruction's address minus `base`, as an int32. */
	uint64_t base;
	/* Each object has 2^spread sets of counters, so that multiprocessors do not compete for one
	 * set. */
	uint32_t spread;
	uint32_t page_count; /* number of pages with sums */
	uint64_t *counts; /* PASTA_GPU_COUNTERS counters for each of PASTA_GPU_PARTS(count) parts */
	struct pasta_gpu_raw *raw; /* NULL if raw accesses are not stored */
	struct pasta_gpu_blocks blocks;
	struct pasta_gpu_pages pages;
	/* One table for each reducer. The member `index` is NULL for reducers without a table. For
	 * reducers by site, key0 is the instruction's address. The meaning of key1 depends on the
	 * reducer. For SITE, key1 contains the flags of the SITE event, so a copy has two rows. For
	 * SITE_OBJECT, key1 is the number of a part (an object, or a set of addresses outside of
	 * objects). For COALESCE, key1 is the kind of access. For DIVERGE, key1 is PASTA_GPU_LANES
	 * of the number of active threads and the kind. For BARRIER, key1 is the barrier's
	 * number. */
	struct pasta_gpu_table tables[PASTA_REDUCER_COUNT];
	/* A cache of the object that each instruction accessed last, by the instruction's address.
	 * Initially, all entries are 0. The cache is a member and not behind a pointer, because
	 * each access starts with a look-up in the cache. */
	uint32_t hints[PASTA_GPU_HINTS];
};

/* The address ranges of objects follow the struct directly, so that a look-up does not load a
 * pointer. An empty range for PASTA_GPU_NOWHERE, with the base PASTA_GPU_FAR, follows the last
 * range. */
#define PASTA_GPU_PARTS_OF(launch) ((struct pasta_gpu_part *)((launch) + 1))

#define PASTA_GPU_LANES(threads, kind) ((threads) | (kind) << 8)
#define PASTA_GPU_THREADS(key1) ((key1)&0xff)
#define PASTA_GPU_UNSPLIT UINT64_MAX

/* Returns the kind of all accesses of a row, or 0 if their kinds may differ. An instruction makes
 * the same kind of access to an object each time. Only the host calls this function. */
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

/* Returns the number of bytes of a row that were written, or PASTA_GPU_UNSPLIT if that number is
 * unknown. `reducer` is 0 for the row of accesses whose keys did not fit. Only the host calls this
 * function. */
static inline uint64_t pasta_gpu_written(uint32_t reducer, const struct pasta_gpu_row *row)
{
	uint32_t kind = pasta_gpu_kind(reducer, row);

	if (!kind)
		return PASTA_GPU_UNSPLIT;
	return kind == PASTA_ACCESS_LOAD ? 0 : row->bytes >> (kind == PASTA_ACCESS_ATOMIC);
}

/* Returns the number of written bytes, which the function computes from the counters of an
 * object. */
static inline uint64_t pasta_gpu_part_written(const uint64_t *counters)
{
	uint64_t written = counters[PASTA_GPU_WRITTEN];

	for (uint32_t i = 0; i < PASTA_GPU_SIZES; i++)
		written += (counters[PASTA_GPU_OF(PASTA_ACCESS_STORE, i)] +
			    counters[PASTA_GPU_OF(PASTA_ACCESS_ATOMIC, i)])
			   << i;
	return written;
}

/* Returns the key of a thread block that ran for `ns` nanoseconds. The key is the lower bound of a
 * bucket. There are 8 buckets for each power of two, and one bucket for each value below 8. Only
 * the host calls this function. */
static inline uint64_t pasta_block_bucket(uint64_t ns)
{
	uint32_t shift = ns < 8 ? 0 : 60u - (uint32_t)__builtin_clzll(ns);

	return ns >> shift << shift;
}

/*
 * The list of patches. An entry contains the number of an instruction class in the sanitizer's API,
 * the name of the class, and the enum pasta_gpu_class that needs the patch. A patch is a function
 * with the name pasta_VARIANT_NAME. The variants are:
 *
 *   `all`     counts for the reducers in the launch's mask;
 *   `object`  counts only for reducer OBJECT, in all blocks, without raw accesses;
 *   `page`    counts only for reducers OBJECT and PAGE, in all blocks, without raw accesses;
 *   `raw`     only stores raw accesses, in all blocks;
 *   `floor`   does nothing, and lets benchmarks measure the cost of the API itself;
 *   `naive`   lets each thread search for its object and count there, for benchmarks with spread 0.
 *
 * The variants `floor` and `naive` exist only for GLOBAL classes. Patches of BARRIER exist only in
 * the variant `all`. If the callback data of a launch is NULL, patches do not count the launch.
 */
enum pasta_gpu_class {
	PASTA_GPU_GLOBAL = 1, /* the instruction accesses memory that contains objects */
	/* The instruction accesses shared memory, and possibly other memory. */
	PASTA_GPU_SHARED = 2,
	PASTA_GPU_LOCAL = 4,
	PASTA_GPU_BLOCK = 8, /* patches at the start and the end of thread blocks */
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
 * The patches of a tool's own reducer are in the tool's fat binary. Their VARIANT is
 * own_KEYS_LAYOUT. The part KEYS of the name describes the meaning of key0 in rows of
 * PASTA_REDUCER_OWN. This part is SITES, or KEYS if the author of the reducer defines the meaning.
 * PASTA_GPU_LAYOUT changes whenever the layout of a launch changes, so that functions for another
 * layout are not found and never run.
 */
#define PASTA_GPU_LAYOUT 3

/* These checks ensure that the compilers of host and device lay out the structs in the same way. */
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
