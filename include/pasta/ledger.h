/*
 * ledger.h - the list of a program's allocations, which all tools, outputs and timelines read.
 *
 * The same bytes are often allocated at several levels: a driver hands out memory, a framework's
 * allocator reserves a segment in that memory and divides the segment into blocks, and a block is
 * the storage of a tensor. Bytes of different levels are never added. HELD, the memory that a
 * process holds, is the sum over all allocations that are not inside another allocation.
 *
 * For example, a framework allocates a segment of 20 MiB with cudaMalloc, and hands out 12 MiB of
 * it as blocks. Then DRIVER is 20 MiB, SEGMENT 20 MiB, BLOCK 12 MiB and HELD 20 MiB.
 *
 * A tool declares its ledger in the descriptor. The framework creates it before the tool's `open`,
 * delivers ALLOC, FREE, COUNTER and TENSOR events to it before the tool's event function, merges
 * the ledgers of shards, and frees them after the tool's `close`:
 *
 * 	struct state { struct pasta_ledger *ledger; };
 *
 * 	static const struct pasta_ledger_def ledger =
 * 		PASTA_LEDGER(struct state, ledger, .levels = PASTA_LEVEL_MASK(SEGMENT),
 * 			     .on_alloc = on_alloc);
 *
 * 	PASTA_TOOL(..., .ledger = &ledger);
 *
 * The level of an allocation depends on who hands it out:
 *
 * 	DRIVER:  memory of devices, the host and images, managed and physical memory; also memory
 * 		 of a driver's own pool.
 * 	SEGMENT: PASTA_ALLOC_SEGMENT; for sources without segments, the counter "reserved".
 * 	BLOCK:   PASTA_ALLOC_POOL, host memory of a pool, allocations for which the source names a
 * 		 parent, and all memory in a trace of a framework's profiler.
 * 	TENSOR:  a storage, from its first TENSOR event until its block is freed.
 *
 * The source of an allocation may name its parent. If not, the parent is the innermost live
 * allocation of a lower level, in the same process and on the same device, that contains the first
 * byte. If an allocation is reported before its parent, it gets the parent when the parent is
 * reported. If a parent ends before its children, their new parent is the next allocation that
 * contains them. If there is none, the children have no parent, but do not count for HELD, because
 * their memory was freed. A new segment or block ends the allocations that it overlaps; an
 * allocation of DRIVER does not, because its address may be a handle. Reserved memory that only a
 * counter reports does not count for HELD.
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
	/* For queries only: all allocations of the levels DRIVER, SEGMENT and BLOCK that are not
	 * inside another allocation. */
	PASTA_LEVEL_HELD,
	PASTA_LEVEL_COUNT,
};
#define PASTA_LEVEL_MASK(LEVEL) (1u << PASTA_LEVEL_##LEVEL)

/* Returns the name of a level: "driver", "reserved", "allocated", "tensors" or "held". */
PASTA_EXPORT const char *pasta_level_text(uint32_t level);

enum pasta_allocation_flags {
	/* the allocation ended when its address was reused: its free is missing */
	PASTA_ALLOCATION_NO_FREE = 1,
	/* A mapped address range. Its bytes belong to its parent and do not count for any level. */
	PASTA_ALLOCATION_ALIAS = 2,
	/* the allocation is not inside another allocation, so it counts for HELD */
	PASTA_ALLOCATION_HELD = 4,
	/* the source names the parent of the allocation, but the parent may be unknown */
	PASTA_ALLOCATION_PART = 8,
	/* The memory was allocated before the recording; `time` is the start of the recording. */
	PASTA_ALLOCATION_EARLIER = 16,
};

struct pasta_allocation {
	uint32_t size, level;
	/* Position of the allocation among the ALLOC events of its process, from 1; for a tensor,
	 * the number of its storage. All ledgers use the same numbers. */
	uint64_t number;
	uint64_t addr, bytes;
	uint64_t time, freed; /* while the allocation is live, `freed` is 0 */
	const struct pasta_allocation *parent;
	uint32_t proc;
	uint32_t device; /* UINT32_MAX: the host */
	uint32_t name, stack, freed_stack;
	uint32_t type; /* enum pasta_alloc_sub; 0: a tensor */
	uint32_t flags, pool;
	/* data_size bytes, initially zero, in which the tool can store data about the allocation */
	void *data;
};

/* The ledger of a tool. Callbacks may be NULL. The ledger updates its sums and then calls a
 * callback with the event that began or ended the allocation. `where` is NULL unless the tool
 * needs PASTA_NEED_SCOPES or PASTA_NEED_OPS. If a segment is freed in parts, the ledger calls
 * on_free for each part, with the data and the number of the whole segment. */
struct pasta_ledger_def {
	uint32_t size, state_offset;
	/* Mask of levels (PASTA_LEVEL_MASK). TENSOR makes the ledger read TENSOR events, and
	 * SEGMENT makes it read COUNTER events. A ledger always reads ALLOC and FREE events. */
	uint32_t levels;
	uint32_t peaks; /* mask of the levels for which the set PASTA_LEDGER_PEAK is available */
	uint32_t data_size, reserved;
	void (*on_alloc)(void *state, struct pasta_allocation *a, const struct pasta_event *ev,
			 const struct pasta_where *where);
	void (*on_free)(void *state, struct pasta_allocation *a, const struct pasta_event *ev,
			const struct pasta_where *where);
	/* Called when a counter has changed the reserved bytes of the device. */
	void (*on_reserved)(void *state, uint32_t device, const struct pasta_event *ev,
			    const struct pasta_where *where);
};

/* clang-format off */
#define PASTA_LEDGER(state_type, member, ...)                                                      \
	{.size = sizeof(struct pasta_ledger_def), .state_offset = offsetof(state_type, member),    \
	 __VA_ARGS__}
/* clang-format on */

/* pasta_ledger_live returns the live bytes of a level, and pasta_ledger_peak returns their peak.
 * Both return 0 if the ledger has no data about the level. *time, which may be NULL, receives the
 * time at which the peak was first reached. The peaks of SEGMENT and BLOCK equal PyTorch's
 * max_memory_reserved and max_memory_allocated, unless the program allocated memory before the
 * recording. */
PASTA_EXPORT uint64_t pasta_ledger_live(const struct pasta_ledger *ledger, uint32_t proc,
					uint32_t device, uint32_t level);
PASTA_EXPORT uint64_t pasta_ledger_peak(const struct pasta_ledger *ledger, uint32_t proc,
					uint32_t device, uint32_t level, uint64_t *time);
/* Returns whether the device ever had memory of this level. */
PASTA_EXPORT bool pasta_ledger_has(const struct pasta_ledger *ledger, uint32_t proc,
				   uint32_t device, uint32_t level);

/* pasta_ledger_at returns the live allocation that contains an address, and pasta_ledger_get the
 * one with a number. Both return NULL if there is none. The level must not be HELD. pasta_ledger_at
 * does not find host memory of drivers, nor allocations whose source names the parent, because the
 * address of such an allocation may be a handle. */
PASTA_EXPORT const struct pasta_allocation *
pasta_ledger_at(const struct pasta_ledger *ledger, uint32_t proc, uint32_t level, uint64_t addr);
PASTA_EXPORT const struct pasta_allocation *
pasta_ledger_get(const struct pasta_ledger *ledger, uint32_t proc, uint32_t level, uint64_t number);
/* Returns the next allocation of a set, ordered by process and time of allocation, or NULL at the
 * end. Set *at to 0 before the first call. LIVE is the set of live allocations. PEAK is the set of
 * allocations that were live when the level first reached its peak on their device. Only one walk
 * at a time is possible, and no events may be added during the walk. */
enum pasta_ledger_set { PASTA_LEDGER_LIVE = 1, PASTA_LEDGER_PEAK };
PASTA_EXPORT const struct pasta_allocation *pasta_ledger_next(struct pasta_ledger *ledger,
							      enum pasta_ledger_set set,
							      uint32_t level, size_t *at);
/* Return the number of frees of unknown memory, and the number of allocations that ended without a
 * free. Pass HELD for the totals of all levels. */
PASTA_EXPORT uint64_t pasta_ledger_unknown_frees(const struct pasta_ledger *ledger, uint32_t level);
PASTA_EXPORT uint64_t pasta_ledger_missing_frees(const struct pasta_ledger *ledger, uint32_t level);
/* Reports the numbers of unknown and missing frees as findings, with the same text in all tools. */
PASTA_EXPORT void pasta_ledger_findings(const struct pasta_ledger *ledger, uint32_t level,
					struct pasta_out *out);
/* Returns 0, or -ENOMEM if memory ran out; the tool's whole report then fails. */
PASTA_EXPORT int pasta_ledger_error(const struct pasta_ledger *ledger);

#ifdef __cplusplus
}
#endif
#endif
