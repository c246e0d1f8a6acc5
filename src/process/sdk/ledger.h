/*
 * ledger.h - the framework's functions for ledgers: creates, fills, merges and frees them.
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

/* Creates a ledger. `def` must outlive it, and so must `state`, which is passed to the callbacks.
 * Returns NULL when out of memory. */
struct pasta_ledger *pasta_ledger_new(const struct pasta_ledger_def *def, void *state);
void pasta_ledger_free(struct pasta_ledger *l);
/* Adds an event; ignores kinds that a ledger does not read. The events of a process must come in
 * order of time. When memory runs out, the ledger's error becomes -ENOMEM, and it ignores all
 * further events. */
void pasta_ledger_event(struct pasta_ledger *l, const struct pasta_event *ev,
			const struct pasta_where *where);
/* Moves the processes of `from` into another ledger, which must not have any of them. Returns 0,
 * -ENOMEM or -EEXIST. */
int pasta_ledger_merge(struct pasta_ledger *into, struct pasta_ledger *from);

/* Returns the latest live allocation that starts at an address, or NULL. Ignores tensors. */
struct pasta_allocation *pasta_ledger_latest(const struct pasta_ledger *l, uint32_t proc,
					     uint64_t addr);
/* Returns the bytes that a process holds on all of its devices, without host memory. */
uint64_t pasta_ledger_held(const struct pasta_ledger *l, uint32_t proc);

/* Returns the ledger in a tool's state, or NULL if the tool has none. */
struct pasta_ledger *pasta_ledger_in(const struct pasta_tool *tool, const void *state);
/* Checks a tool's declaration, which must exist. Returns 0, or -EINVAL with the reason in err. */
int pasta_ledger_check(const struct pasta_tool *tool, struct pasta_error *err);

/* -- For ledger.c, ledgeralloc.c and ledgerwalk.c only -- */

struct ledger_alloc {
	struct pasta_allocation a;  /* must be first */
	struct ledger_alloc *under; /* an older allocation at the same address */
	/* the first child; children include freed allocations that a peak refers to */
	struct ledger_alloc *children;
	/* the parent's next child; the address of the pointer to this allocation */
	struct ledger_alloc *next, **to_this;
	struct ledger_device *device;
	uint64_t order; /* serial number in the process; the pieces of a split segment share it */
	uint64_t named; /* address of the parent that the event names, or 0 */
	uint32_t refs;	/* number of peaks that include this freed allocation */
	bool live, indexed;
	bool waits; /* the parent that the event names is not known yet */
		    /* The tool's data follow. */
};

/*
 * The sum of a level, and the set of allocations that were live at its peak. The set is not copied
 * at every new peak. It consists of the live allocations that are at least as old as the peak, and
 * of peak_freed, the allocations that were freed after the peak. A new peak empties peak_freed.
 */
struct ledger_sum {
	uint64_t live, peak, peak_time, peak_order;
	struct ledger_alloc **peak_freed;
	size_t peak_freed_count, peak_freed_room;
	bool known; /* whether the level has had an allocation */
};

struct ledger_device {
	struct ledger_proc *proc;
	uint32_t device;
	bool segments; /* whether segments, rather than a counter, define the reserved bytes */
	struct ledger_sum sums[PASTA_LEVEL_COUNT];
	/* struct ledger_alloc *, by address, for each level. A driver's address may be a handle, so
	 * ranges may overlap; then the index has the latest allocation. */
	struct pasta_ranges *index[PASTA_LEVEL_HELD];
};

struct ledger_proc {
	uint32_t proc;
	bool imported;
	uint64_t now, numbers, orders;
	size_t waiting; /* number of live allocations whose named parent is not known yet */
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
	struct ledger_alloc *spare;	 /* freed entries for reuse, linked by `under` */
	const struct ledger_alloc **walk;
	size_t walk_count, walk_room;
	uint64_t unknown[PASTA_LEVEL_COUNT], missing[PASTA_LEVEL_COUNT];
	uint32_t reserved, other; /* ids of counter names: "reserved", and one other name */
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

/* Defined in ledgeralloc.c. ledger_put and ledger_index register a new allocation under its
 * address. When out of memory, ledger_put drops the allocation and returns false. */
struct ledger_alloc *ledger_alloc_new(struct pasta_ledger *l);
bool ledger_put(struct pasta_ledger *l, struct ledger_alloc *x);
void ledger_index(struct pasta_ledger *l, struct ledger_alloc *x);
/* Makes `x` a child of `parent`, which may be NULL. */
void ledger_link(struct ledger_alloc *x, struct ledger_alloc *parent);
/* Returns the innermost allocation of a lower level that contains an address, or NULL. */
struct ledger_alloc *ledger_container(const struct ledger_device *d, uint32_t level, uint64_t addr);
/* Return an allocation or NULL. The first returns the latest allocation at an address, the second
 * the parent that the event of x names, the third the allocation that a free event ends. */
struct ledger_alloc *ledger_top(const struct ledger_proc *p, uint64_t addr);
struct ledger_alloc *ledger_named(const struct ledger_alloc *x);
struct ledger_alloc *ledger_freed(const struct ledger_proc *p, const struct pasta_event *ev);
/* ledger_raise adds an allocation to the sum of a level, which may be HELD; ledger_hold_no_more
 * subtracts it from the sum of HELD. */
void ledger_raise(struct pasta_ledger *l, const struct ledger_alloc *x, uint32_t level);
void ledger_hold_no_more(struct pasta_ledger *l, struct ledger_alloc *x);
/* End one allocation; the tensors in a block; the tensors in a range without a known block; or the
 * parts of segments in a range. ledger_cut returns whether there were any. */
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
