/*
 * ledger.h - what is allocated: one answer for all tools, outputs and timelines.
 *
 * The same bytes are allocated several times: a driver hands out memory, a framework's allocator
 * reserves a segment in it, cuts that into blocks, and a tensor's storage takes a block. These are
 * levels. Bytes of different levels are never added; what a process holds is a question of its own,
 * HELD: the sum over all that lies in nothing else.
 *
 *	20 MiB of cudaMalloc, a segment of 20 MiB in it, and blocks of 12 MiB in that:
 *	DRIVER 20, SEGMENT 20, BLOCK 12, HELD 20 MiB.
 *
 * A tool names its ledger in the descriptor. The framework makes it before open, gives it ALLOC,
 * FREE, COUNTER and TENSOR events before the tool's own event sees them, merges those of shards and
 * frees it after close:
 *
 *	struct state { struct pasta_ledger *ledger; };
 *
 *	static const struct pasta_ledger_def ledger =
 *		PASTA_LEDGER(struct state, ledger, .levels = PASTA_LEVEL_MASK(SEGMENT),
 *			     .on_alloc = on_alloc);
 *
 *	PASTA_TOOL(..., .ledger = &ledger);
 *
 * An allocation's level is that of who hands it out:
 *
 *	DRIVER   memory of devices, the host and images, managed and physical memory; also what a
 *		 driver's own pool hands out, which names that pool as its origin
 *	SEGMENT  PASTA_ALLOC_SEGMENT. Where a source has no segments, its counter "reserved"
 *	BLOCK    PASTA_ALLOC_POOL, host memory of a pool, a part of another allocation
 *		 that names it as its parent, and all memory of a trace that a framework's
 *		 profiler recorded
 *	TENSOR   a storage that a TENSOR event names first. It ends with its block
 *
 * Its parent is the one that the source names, or else the innermost live allocation of a lower
 * level, in the same process and on the same device, that contains its first byte. What arrives
 * before its container is adopted when that arrives. Where a container ends first, what was in it
 * gets the next one, or no parent; it is not held again, for its memory has gone. Addresses of
 * drivers may be handles: only those of segments and blocks are taken for ranges that end what they
 * overlap. A counter is no allocation: what it says is reserved is not held.
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
	PASTA_LEVEL_BLOCK,   /* what that allocator hands out; parts of others */
	PASTA_LEVEL_TENSOR,  /* a tensor's storage */
	/* A query, no level: all of DRIVER, SEGMENT and BLOCK that lies in nothing else. */
	PASTA_LEVEL_HELD,
	PASTA_LEVEL_COUNT,
};
#define PASTA_LEVEL_MASK(LEVEL) (1u << PASTA_LEVEL_##LEVEL)

/* "driver", "reserved", "allocated", "tensors", "held". */
PASTA_EXPORT const char *pasta_level_text(uint32_t level);

enum pasta_allocation_flags {
	PASTA_ALLOCATION_NO_FREE = 1, /* ended by reuse of its address: its free was not seen */
	/* A mapped address: the bytes are its parent's, and count for no level. */
	PASTA_ALLOCATION_ALIAS = 2,
	PASTA_ALLOCATION_HELD = 4, /* it lies in nothing else: it counts for HELD */
	PASTA_ALLOCATION_PART = 8, /* its source names what it is a part of, known or not */
	/* It was there before recording began: its time is that of the begin, not its own. */
	PASTA_ALLOCATION_EARLIER = 16,
};

struct pasta_allocation {
	uint32_t size, level;
	/* Position among the ALLOC events of its process, from 1, and so the same in every ledger;
	 * for a tensor, the number of its storage. */
	uint64_t number;
	uint64_t addr, bytes;
	uint64_t time, freed; /* freed: 0 while it is live */
	const struct pasta_allocation *parent;
	uint32_t proc;
	uint32_t device; /* UINT32_MAX: the host */
	uint32_t name, stack, freed_stack;
	uint32_t type; /* enum pasta_alloc_sub; 0: a tensor */
	uint32_t flags, pool;
	void *data; /* data_size bytes of the tool's own, zeroed at first */
};

/* Callbacks may be NULL. They run when the ledger's sums have changed, with the event that began or
 * ended the allocation, and where, which is NULL unless the tool asked for it. A segment that is
 * given back in parts ends in parts: on_free is called for each, with the data and the number of
 * the whole. */
struct pasta_ledger_def {
	uint32_t size, state_offset;
	/* Mask of PASTA_LEVEL_MASK: TENSOR asks for TENSOR events, SEGMENT for COUNTER events.
	 * Allocations and frees are always taken. */
	uint32_t levels;
	uint32_t peaks; /* mask of levels whose set at the peak can be walked */
	uint32_t data_size, reserved;
	void (*on_alloc)(void *state, struct pasta_allocation *a, const struct pasta_event *ev,
			 const struct pasta_where *where);
	void (*on_free)(void *state, struct pasta_allocation *a, const struct pasta_event *ev,
			const struct pasta_where *where);
	/* A counter has changed what the device has reserved. */
	void (*on_reserved)(void *state, uint32_t device, const struct pasta_event *ev,
			    const struct pasta_where *where);
};

/* clang-format off */
#define PASTA_LEDGER(state_type, member, ...)                                                      \
	{.size = sizeof(struct pasta_ledger_def), .state_offset = offsetof(state_type, member),    \
	 __VA_ARGS__}
/* clang-format on */

/* Bytes that are live; the most that were, and, in *time, which may be NULL, when that was first
 * so. 0 for what is not known. A peak is equal to what PyTorch's max_memory_reserved (SEGMENT) and
 * max_memory_allocated (BLOCK) count, as far as the recording goes back. */
PASTA_EXPORT uint64_t pasta_ledger_live(const struct pasta_ledger *ledger, uint32_t proc,
					uint32_t device, uint32_t level);
PASTA_EXPORT uint64_t pasta_ledger_peak(const struct pasta_ledger *ledger, uint32_t proc,
					uint32_t device, uint32_t level, uint64_t *time);
/* Whether the device ever had memory of this level. */
PASTA_EXPORT bool pasta_ledger_has(const struct pasta_ledger *ledger, uint32_t proc,
				   uint32_t device, uint32_t level);

/* The live allocation of a level, not HELD, that contains an address; or that has this number. NULL
 * if there is none. Host memory of drivers and parts that name their parent are not found by
 * address, for theirs may be handles. */
PASTA_EXPORT const struct pasta_allocation *
pasta_ledger_at(const struct pasta_ledger *ledger, uint32_t proc, uint32_t level, uint64_t addr);
PASTA_EXPORT const struct pasta_allocation *
pasta_ledger_get(const struct pasta_ledger *ledger, uint32_t proc, uint32_t level, uint64_t number);
/* Walk what is live, or what was when the level's peak on its device was first reached, by process
 * and in the order of allocation: start with *at 0; NULL at the end. One walk at a time, and no
 * events on the way. */
enum pasta_ledger_set { PASTA_LEDGER_LIVE = 1, PASTA_LEDGER_PEAK };
PASTA_EXPORT const struct pasta_allocation *pasta_ledger_next(struct pasta_ledger *ledger,
							      enum pasta_ledger_set set,
							      uint32_t level, size_t *at);
/* Frees of memory that is not known, and allocations that ended without a free; HELD: of all
 * levels. */
PASTA_EXPORT uint64_t pasta_ledger_unknown_frees(const struct pasta_ledger *ledger, uint32_t level);
PASTA_EXPORT uint64_t pasta_ledger_missing_frees(const struct pasta_ledger *ledger, uint32_t level);
/* Report both as findings, in the words that all tools use. */
PASTA_EXPORT void pasta_ledger_findings(const struct pasta_ledger *ledger, uint32_t level,
					struct pasta_out *out);
/* -ENOMEM if something found no memory: the tool's report then fails as a whole. */
PASTA_EXPORT int pasta_ledger_error(const struct pasta_ledger *ledger);

#ifdef __cplusplus
}
#endif
#endif
