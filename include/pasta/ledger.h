/*
 * ledger.h - the ledger: the list of allocations that all tools, outputs and timelines share.
 *
 * The same bytes are allocated several times: a driver hands out memory, a framework's allocator
 * reserves a segment in it and divides it into blocks, and a tensor's storage is a block. These are
 * levels. Bytes of different levels are never added. HELD, the memory that a process holds, is the
 * sum over all allocations that are not inside another allocation.
 *
 *	20 MiB of cudaMalloc, a segment of 20 MiB in it, and blocks of 12 MiB in that:
 *	DRIVER 20, SEGMENT 20, BLOCK 12, HELD 20 MiB.
 *
 * A tool declares its ledger in the descriptor. The framework creates it before open, delivers
 * ALLOC, FREE, COUNTER and TENSOR events to it before the tool's event function, merges the ledgers
 * of shards, and frees them after close:
 *
 *	struct state { struct pasta_ledger *ledger; };
 *
 *	static const struct pasta_ledger_def ledger =
 *		PASTA_LEDGER(struct state, ledger, .levels = PASTA_LEVEL_MASK(SEGMENT),
 *			     .on_alloc = on_alloc);
 *
 *	PASTA_TOOL(..., .ledger = &ledger);
 *
 * The level of an allocation depends on who hands it out:
 *
 *	DRIVER   memory of devices, the host and images, managed and physical memory; also memory
 *		 of a driver's own pool, which is its origin
 *	SEGMENT  PASTA_ALLOC_SEGMENT; for sources without segments, the counter "reserved"
 *	BLOCK    PASTA_ALLOC_POOL, host memory of a pool, a part that names another allocation as
 *		 its parent, and all memory in a trace of a framework's profiler
 *	TENSOR   a storage, from its first TENSOR event on. It ends with its block
 *
 * The parent of an allocation is the one that the source names, or else the innermost live
 * allocation of a lower level, in the same process and on the same device, that contains its first
 * byte. An allocation that is reported before its container gets its parent when the container is
 * reported. If a container ends first, its children move to the next container, or have no parent;
 * they do not count for HELD again, because their memory was freed. Addresses of drivers may be
 * handles: only a new segment or block ends the allocations that it overlaps. A counter is not an
 * allocation: reserved memory that only a counter reports does not count for HELD.
 */
#ifndef PASTA_LEDGER_H
#define PASTA_LEDGER_H

#include <pasta/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pasta_event;
struct pasta_where;
struct pasta_ledger;
struct pasta_out;

enum pasta_level {
	PASTA_LEVEL_DRIVER,
	PASTA_LEVEL_SEGMENT, /* reserved by a framework's allocator */
	PASTA_LEVEL_BLOCK,   /* handed out by a framework's allocator, or part of another allocation
			      */
	PASTA_LEVEL_TENSOR,  /* a tensor's storage */
	/* For queries only: the allocations of DRIVER, SEGMENT and BLOCK that are not inside
	 * another allocation. */
	PASTA_LEVEL_HELD,
	PASTA_LEVEL_COUNT,
};
#define PASTA_LEVEL_MASK(LEVEL) (1u << PASTA_LEVEL_##LEVEL)

/* "driver", "reserved", "allocated", "tensors", "held". */
PASTA_EXPORT const char *pasta_level_text(uint32_t level);

enum pasta_allocation_flags {
	PASTA_ALLOCATION_NO_FREE = 1, /* ended when its address was reused: its free is missing */
	/* A mapped address range. Its bytes belong to its parent and do not count for any level. */
	PASTA_ALLOCATION_ALIAS = 2,
	PASTA_ALLOCATION_HELD = 4, /* not inside another allocation, so it counts for HELD */
	PASTA_ALLOCATION_PART = 8, /* the source names its parent, which may be unknown */
	/* Allocated before the recording; time is the start of the recording. */
	PASTA_ALLOCATION_EARLIER = 16,
};

struct pasta_allocation {
	uint32_t size, level;
	/* Position of the allocation among the ALLOC events of its process, from 1. It is the same
	 * in all ledgers. For a tensor, the number of its storage. */
	uint64_t number;
	uint64_t addr, bytes;
	uint64_t time, freed; /* freed is 0 while the allocation is live */
	const struct pasta_allocation *parent;
	uint32_t proc;
	uint32_t device; /* UINT32_MAX: the host */
	uint32_t name, stack, freed_stack;
	uint32_t type; /* enum pasta_alloc_sub; 0: a tensor */
	uint32_t flags, pool;
	void *data; /* data_size bytes for the tool, initially zero */
};

/* The ledger of a tool. Callbacks may be NULL. The ledger calls them after it has changed its sums,
 * with the event that began or ended the allocation, and with where, which is NULL unless the tool
 * needs it. A segment that is freed in parts ends in parts: on_free is called for each part, with
 * the data and the number of the whole segment. */
struct pasta_ledger_def {
	uint32_t size, state_offset;
	/* Mask of PASTA_LEVEL_MASK: TENSOR subscribes to TENSOR events, SEGMENT to COUNTER events.
	 * A ledger always reads ALLOC and FREE events. */
	uint32_t levels;
	uint32_t peaks; /* mask of levels whose PASTA_LEDGER_PEAK set is available */
	uint32_t data_size, reserved;
	void (*on_alloc)(void *state, struct pasta_allocation *a, const struct pasta_event *ev,
			 const struct pasta_where *where);
	void (*on_free)(void *state, struct pasta_allocation *a, const struct pasta_event *ev,
			const struct pasta_where *where);
	/* A counter has changed the reserved bytes of the device. */
	void (*on_reserved)(void *state, uint32_t device, const struct pasta_event *ev,
			    const struct pasta_where *where);
};

/* clang-format off */
#define PASTA_LEDGER(state_type, member, ...)                                                      \
	{.size = sizeof(struct pasta_ledger_def), .state_offset = offsetof(state_type, member),    \
	 __VA_ARGS__}
/* clang-format on */

/* Return the live bytes of a level, and their peak; *time, which may be NULL, is when the peak was
 * first reached. 0 if nothing is known. The peaks of SEGMENT and BLOCK equal PyTorch's
 * max_memory_reserved and max_memory_allocated, as far as the recording goes back. */
PASTA_EXPORT uint64_t pasta_ledger_live(const struct pasta_ledger *ledger, uint32_t proc,
					uint32_t device, uint32_t level);
PASTA_EXPORT uint64_t pasta_ledger_peak(const struct pasta_ledger *ledger, uint32_t proc,
					uint32_t device, uint32_t level, uint64_t *time);
/* Returns whether the device ever had memory of this level. */
PASTA_EXPORT bool pasta_ledger_has(const struct pasta_ledger *ledger, uint32_t proc,
				   uint32_t device, uint32_t level);

/* Return the live allocation of a level other than HELD that contains an address, or that has a
 * number; NULL if there is none. pasta_ledger_at does not find host memory of drivers, nor parts
 * whose source names the parent, because their address may be a handle. */
PASTA_EXPORT const struct pasta_allocation *
pasta_ledger_at(const struct pasta_ledger *ledger, uint32_t proc, uint32_t level, uint64_t addr);
PASTA_EXPORT const struct pasta_allocation *
pasta_ledger_get(const struct pasta_ledger *ledger, uint32_t proc, uint32_t level, uint64_t number);
/* Returns the next allocation of a set, ordered by process and time of allocation, or NULL at the
 * end. Set *at to 0 before the first call. LIVE is the set of live allocations; PEAK is the set
 * that was live when the level first reached its peak on each device. Only one walk at a time is
 * possible, and no events may be added during it. */
enum pasta_ledger_set { PASTA_LEDGER_LIVE = 1, PASTA_LEDGER_PEAK };
PASTA_EXPORT const struct pasta_allocation *pasta_ledger_next(struct pasta_ledger *ledger,
							      enum pasta_ledger_set set,
							      uint32_t level, size_t *at);
/* Return the number of frees of unknown memory, and the number of allocations that ended without a
 * free. For HELD, the numbers are totals over all levels. */
PASTA_EXPORT uint64_t pasta_ledger_unknown_frees(const struct pasta_ledger *ledger, uint32_t level);
PASTA_EXPORT uint64_t pasta_ledger_missing_frees(const struct pasta_ledger *ledger, uint32_t level);
/* Reports the numbers of unknown and missing frees as findings, worded alike in all tools. */
PASTA_EXPORT void pasta_ledger_findings(const struct pasta_ledger *ledger, uint32_t level,
					struct pasta_out *out);
/* Returns 0, or -ENOMEM if memory ran out: the tool's report then fails as a whole. */
PASTA_EXPORT int pasta_ledger_error(const struct pasta_ledger *ledger);

#ifdef __cplusplus
}
#endif
#endif
