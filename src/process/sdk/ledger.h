/*
 * ledger.h - the framework's functions for ledgers. They create, fill, merge and free ledgers.
 *
 * Only one thread at a time may use a ledger.
 */
#ifndef PASTA_PROCESS_LEDGER_H
#define PASTA_PROCESS_LEDGER_H

#include <errno.h>

#include <pasta/pasta.h>

/* Returns the kinds that a ledger with this declaration reads. */
uint64_t pasta_ledger_kinds(const struct pasta_ledger_def *def);
#define PASTA_LEDGER_MUST (PASTA_MASK(ALLOC) | PASTA_MASK(FREE))

/* Creates a ledger. `def` and `state` must outlive the ledger; `state` is passed to the callbacks.
 * Returns NULL when out of memory. */
struct pasta_ledger *pasta_ledger_new(const struct pasta_ledger_def *def, void *state);
void pasta_ledger_free(struct pasta_ledger *l);
/* Adds an event. Ignores kinds that a ledger does not read. The events of a process must come in
 * order of time. When memory runs out, the ledger's error becomes -ENOMEM, and the ledger ignores
 * all further events. */
void pasta_ledger_event(struct pasta_ledger *l, const struct pasta_event *ev,
			const struct pasta_where *where);
/* Moves the processes of `from` into another ledger, which must not have any of these processes.
 * Returns 0, -ENOMEM or -EEXIST. */
int pasta_ledger_merge(struct pasta_ledger *into, struct pasta_ledger *from);

/* Returns the latest live allocation that starts at an address, or NULL. Ignores tensors. */
struct pasta_allocation *pasta_ledger_latest(const struct pasta_ledger *l, uint32_t proc,
					     uint64_t addr);
/* Returns the bytes that a process holds on all of its devices, without host memory. */
uint64_t pasta_ledger_held(const struct pasta_ledger *l, uint32_t proc);

/* Returns the ledger in a tool's state, or NULL if the tool has none. */
struct pasta_ledger *pasta_ledger_in(const struct pasta_tool *tool, const void *state);
/* Checks the declaration of a tool's ledger. The tool must have one. Returns 0, or -EINVAL with the
 * reason in err. */
int pasta_ledger_check(const struct pasta_tool *tool, struct pasta_error *err);

/* -- For ledger.c, ledgeralloc.c and ledgerwalk.c only -- */

struct ledger_alloc {
	struct pasta_allocation a;  /* must be first */
	struct ledger_alloc *under; /* the previous allocation at the same address */
	/* the first child of the allocation; children include freed allocations that a peak refers
	 * to */
	struct ledger_alloc *children;
	/* `next` is the parent's next child; `to_this` is the address of the pointer to this
	 * allocation */
	struct ledger_alloc *next, **to_this;
	struct ledger_device *device;
	/* Serial number in the process; if a segment is split, all its pieces have the same
	 * number. */
	uint64_t order;
	uint64_t named; /* address of the parent that the event names, or 0 */
	uint32_t refs;	/* if the allocation is freed, the number of peaks that include it */
	bool live, indexed;
	bool waits; /* whether the parent that the event names is not known yet */
		    /* The tool's data follow. */
};

/*
 * The sum of a level, and the set of allocations that were live at the level's peak. So that the
 * set need not be copied at every new peak, it has two parts: the live allocations that are at
 * least as old as the peak, and peak_freed, the allocations that were freed after the peak. A new
 * peak empties peak_freed.
 */
struct ledger_sum {
	uint64_t live, peak, peak_time, peak_order;
	struct ledger_alloc **peak_freed;
	size_t peak_freed_count, peak_freed_room;
	bool known; /* whether there was an allocation of this level */
};

struct ledger_device {
	struct ledger_proc *proc;
	uint32_t device;
	/* Whether the reserved bytes are the sum of the segments, rather than the value of a
	 * counter. */
	bool segments;
	struct ledger_sum sums[PASTA_LEVEL_COUNT];
	/* Maps from addresses to struct ledger_alloc *, one for each level. A driver's address may
	 * be a handle, so ranges may overlap. In that case, the map has the latest allocation. */
	struct pasta_ranges *index[PASTA_LEVEL_HELD];
};

struct ledger_proc {
	uint32_t proc;
	bool imported;
	uint64_t now, numbers, orders;
	/* Number of live allocations whose parent is named in their events but not known yet. */
	size_t waiting;
	struct pasta_map *devices;
	/* the latest allocation (struct ledger_alloc *) at each address */
	struct pasta_map *at;
	struct pasta_map *numbered; /* struct ledger_alloc *, by number */
	struct pasta_map *storages; /* struct ledger_alloc *, by storage */
};

struct pasta_ledger {
	const struct pasta_ledger_def *def;
	void *state;
	const struct pasta_where *where; /* attribution of the current event */
	struct pasta_map *procs;	 /* struct ledger_proc *, by number */
	struct ledger_proc *last;	 /* the process that was used last */
	/* Freed entries that can be used again, linked by `under`. */
	struct ledger_alloc *spare;
	const struct ledger_alloc **walk;
	size_t walk_count, walk_room;
	uint64_t unknown[PASTA_LEVEL_COUNT], missing[PASTA_LEVEL_COUNT];
	/* Cached ids of two names of counters: "reserved", and the last other name. */
	uint32_t reserved, other;
	int error;
};

/* Returns `memory` unchanged. If it is NULL, sets the ledger's error to -ENOMEM. */
static inline void *ledger_need(struct pasta_ledger *l, void *memory)
{
	if (!memory)
		l->error = -ENOMEM;
	return memory;
}

static inline bool ledger_is_alias(const struct ledger_alloc *x)
{
	return x->a.flags & PASTA_ALLOCATION_ALIAS;
}

/* ledger_put and ledger_index register a new allocation under its address. When out of memory,
 * ledger_put drops the allocation and returns false. ledgeralloc.c defines these functions. */
struct ledger_alloc *ledger_alloc_new(struct pasta_ledger *l);
bool ledger_put(struct pasta_ledger *l, struct ledger_alloc *x);
void ledger_index(struct pasta_ledger *l, struct ledger_alloc *x);
/* Makes `x` a child of `parent`, which may be NULL. */
void ledger_link(struct ledger_alloc *x, struct ledger_alloc *parent);
/* Returns the innermost allocation of a lower level that contains an address, or NULL. */
struct ledger_alloc *ledger_container(const struct ledger_device *d, uint32_t level, uint64_t addr);
/* ledger_top returns the latest allocation at an address. ledger_named returns the parent that the
 * event of x names. ledger_freed returns the allocation that a free event ends. All return NULL if
 * there is none. */
struct ledger_alloc *ledger_top(const struct ledger_proc *p, uint64_t addr);
struct ledger_alloc *ledger_named(const struct ledger_alloc *x);
struct ledger_alloc *ledger_freed(const struct ledger_proc *p, const struct pasta_event *ev);
/* ledger_raise adds an allocation to the sum of a level, which may be HELD. ledger_hold_no_more
 * subtracts an allocation from the sum of HELD. */
void ledger_raise(struct pasta_ledger *l, const struct ledger_alloc *x, uint32_t level);
void ledger_hold_no_more(struct pasta_ledger *l, struct ledger_alloc *x);
/* ledger_end ends one allocation. ledger_end_tensors ends the tensors in a block, and
 * ledger_end_found ends the tensors in a range without a known block. ledger_cut ends the parts of
 * segments that are in a range, and returns whether there were any. */
void ledger_end(struct pasta_ledger *l, struct ledger_alloc *x, const struct pasta_event *ev,
		uint32_t flags);
void ledger_end_tensors(struct pasta_ledger *l, struct ledger_alloc *block,
			const struct pasta_event *ev, uint32_t flags);
void ledger_end_found(struct pasta_ledger *l, const struct ledger_device *d, uint64_t addr,
		      uint64_t room, const struct pasta_event *ev);
bool ledger_cut(struct pasta_ledger *l, const struct ledger_device *d, uint64_t from, uint64_t to,
		const struct pasta_event *ev, uint32_t flags);
/* ledgerwalk.c. */
struct ledger_proc *ledger_proc_find(const struct pasta_ledger *l, uint32_t proc);
struct ledger_device *ledger_device_find(const struct pasta_ledger *l, uint32_t proc,
					 uint32_t device);
void ledger_proc_free(struct ledger_proc *p);

#endif
