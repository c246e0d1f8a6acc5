/*
 * ledger.h - the framework's side of ledgers: creates, feeds, merges and frees them.
 *
 * One thread at a time for each ledger.
 */
#ifndef PASTA_PROCESS_LEDGER_H
#define PASTA_PROCESS_LEDGER_H

#include <errno.h>

#include <pasta/pasta.h>

/* The kinds that a ledger reads; and the ones that it cannot work without. */
uint64_t pasta_ledger_kinds(const struct pasta_ledger_def *def);
#define PASTA_LEDGER_MUST (PASTA_MASK(ALLOC) | PASTA_MASK(FREE))

/* Creates a ledger. def, and state for the callbacks, must outlive it. NULL: out of memory. */
struct pasta_ledger *pasta_ledger_new(const struct pasta_ledger_def *def, void *state);
void pasta_ledger_free(struct pasta_ledger *l);
/* Adds an event; ignores other kinds. The events of a process must come in order. When memory runs
 * out, the error is -ENOMEM, and the ledger ignores all further events. */
void pasta_ledger_event(struct pasta_ledger *l, const struct pasta_event *ev,
			const struct pasta_where *where);
/* Moves the processes of from; into must have none of them. Returns 0, -ENOMEM or -EEXIST. */
int pasta_ledger_merge(struct pasta_ledger *into, struct pasta_ledger *from);

/* Returns the latest live allocation that begins at an address, except tensors; or NULL. */
struct pasta_allocation *pasta_ledger_latest(const struct pasta_ledger *l, uint32_t proc,
					     uint64_t addr);
/* Returns the bytes that a process holds on all its devices, without the host. */
uint64_t pasta_ledger_held(const struct pasta_ledger *l, uint32_t proc);

/* Returns the ledger in a tool's state; NULL: the tool has none. */
struct pasta_ledger *pasta_ledger_in(const struct pasta_tool *tool, const void *state);
/* Checks a tool's declaration, which must exist. Returns 0, or -EINVAL with the reason in err. */
int pasta_ledger_check(const struct pasta_tool *tool, struct pasta_error *err);

/* -- For ledger.c, ledgeralloc.c and ledgerwalk.c -- */

struct ledger_alloc {
	struct pasta_allocation a;	      /* must be first */
	struct ledger_alloc *under;	      /* an older one at the same address */
	struct ledger_alloc *children;	      /* the first; includes freed ones that a peak needs */
	struct ledger_alloc *next, **to_this; /* the next child of the parent; the link to this */
	struct ledger_device *device;
	uint64_t order; /* serial number in the process; pieces of one segment share it */
	uint64_t named; /* address of the parent according to the event, or 0 */
	uint32_t refs;	/* peaks that include this freed allocation */
	bool live, indexed;
	bool waits; /* the named parent is not known yet */
		    /* The tool's data follow. */
};

/*
 * The sum of a level, and the set of allocations at its peak. The set is not copied at every new
 * peak: it consists of the live allocations that are not younger than the peak, and of peak_freed,
 * the ones that were freed since. A new peak empties peak_freed.
 */
struct ledger_sum {
	uint64_t live, peak, peak_time, peak_order;
	struct ledger_alloc **peak_freed;
	size_t peak_freed_count, peak_freed_room;
	bool known; /* the level has had an allocation */
};

struct ledger_device {
	struct ledger_proc *proc;
	uint32_t device;
	bool segments; /* segments, not a counter, define what is reserved */
	struct ledger_sum sums[PASTA_LEVEL_COUNT];
	/* struct ledger_alloc * by address, for each level. Addresses of drivers may be handles:
	 * of overlapping ones it has the latest. */
	struct pasta_ranges *index[PASTA_LEVEL_HELD];
};

struct ledger_proc {
	uint32_t proc;
	bool imported;
	uint64_t now, numbers, orders;
	size_t waiting; /* live allocations whose named parent is not known yet */
	struct pasta_map *devices;
	struct pasta_map *at;	    /* the latest struct ledger_alloc *, by address */
	struct pasta_map *numbered; /* struct ledger_alloc *, by number */
	struct pasta_map *storages; /* struct ledger_alloc *, by storage */
};

struct pasta_ledger {
	const struct pasta_ledger_def *def;
	void *state;
	const struct pasta_where *where; /* of the current event */
	struct pasta_map *procs;	 /* struct ledger_proc *, by number */
	struct ledger_proc *last;	 /* the most recently used */
	struct ledger_alloc *spare;	 /* to be reused, linked by under */
	const struct ledger_alloc **walk;
	size_t walk_count, walk_room;
	uint64_t unknown[PASTA_LEVEL_COUNT], missing[PASTA_LEVEL_COUNT];
	uint32_t reserved, other; /* names of counters: "reserved", and any other one */
	int error;
};

/* Returns memory; sets the error if it is NULL. */
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

/* ledgeralloc.c. ledger_put and ledger_index make a new allocation known by its address. Without
 * memory, ledger_put drops the allocation and returns false. */
struct ledger_alloc *ledger_alloc_new(struct pasta_ledger *l);
bool ledger_put(struct pasta_ledger *l, struct ledger_alloc *x);
void ledger_index(struct pasta_ledger *l, struct ledger_alloc *x);
/* Makes it a child of parent, which may be NULL. */
void ledger_link(struct ledger_alloc *x, struct ledger_alloc *parent);
/* Returns the innermost allocation below a level that contains an address, or NULL. */
struct ledger_alloc *ledger_container(const struct ledger_device *d, uint32_t level, uint64_t addr);
/* Each returns an allocation or NULL: the latest at an address; the parent that x names; the one
 * that a free ends. */
struct ledger_alloc *ledger_top(const struct ledger_proc *p, uint64_t addr);
struct ledger_alloc *ledger_named(const struct ledger_alloc *x);
struct ledger_alloc *ledger_freed(const struct ledger_proc *p, const struct pasta_event *ev);
/* Adds it to the sum of a level, which may be HELD; removes it from HELD. */
void ledger_raise(struct pasta_ledger *l, const struct ledger_alloc *x, uint32_t level);
void ledger_hold_no_more(struct pasta_ledger *l, struct ledger_alloc *x);
/* Ends an allocation; the tensors in a block; the tensors without a known block in a range; the
 * parts of segments in a range, and returns whether there were any. */
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
