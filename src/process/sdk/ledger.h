/*
 * ledger.h - ledgers as the framework sees them: it makes, feeds, merges and frees them.
 *
 * Each ledger from one thread at a time.
 */
#ifndef PASTA_PROCESS_LEDGER_H
#define PASTA_PROCESS_LEDGER_H

#include <errno.h>

#include <pasta/pasta.h>

/* The kinds that a ledger takes, and those without which it knows nothing. */
uint64_t pasta_ledger_kinds(const struct pasta_ledger_def *def);
#define PASTA_LEDGER_MUST (PASTA_MASK(ALLOC) | PASTA_MASK(FREE))

/* def and state, which the callbacks get, must outlive it. NULL when out of memory. */
struct pasta_ledger *pasta_ledger_new(const struct pasta_ledger_def *def, void *state);
void pasta_ledger_free(struct pasta_ledger *l);
/* Events of a process in its order; other kinds are left alone. Where memory runs out, error is
 * -ENOMEM from then on, and no more events are taken. */
void pasta_ledger_event(struct pasta_ledger *l, const struct pasta_event *ev,
			const struct pasta_where *where);
/* Move over the processes of from, which are none of into's. -ENOMEM. */
int pasta_ledger_merge(struct pasta_ledger *into, struct pasta_ledger *from);

/* The latest live one that begins at an address, of any level but TENSOR; or NULL. */
struct pasta_allocation *pasta_ledger_latest(const struct pasta_ledger *l, uint32_t proc,
					     uint64_t addr);
/* What a process holds on all its devices, the host left out. */
uint64_t pasta_ledger_held(const struct pasta_ledger *l, uint32_t proc);

/* The ledger of a tool, in its state; NULL: it has none. */
struct pasta_ledger *pasta_ledger_in(const struct pasta_tool *tool, const void *state);
/* 0, or -EINVAL, and in err what is wrong with the declaration, which must be there. */
int pasta_ledger_check(const struct pasta_tool *tool, struct pasta_error *err);

/* -- For ledger.c, ledgeralloc.c and ledgerwalk.c -- */

struct ledger_alloc {
	struct pasta_allocation a;	      /* first */
	struct ledger_alloc *under;	      /* at the same address, and older */
	struct ledger_alloc *children;	      /* the first; also those that ended, while kept */
	struct ledger_alloc *next, **to_this; /* of the same parent */
	struct ledger_device *device;
	uint64_t order; /* of all in its process; parts of one segment share it */
	uint64_t named; /* address of the parent that its source names, or 0 */
	uint32_t refs;	/* sets at a peak that have it, though it ended */
	bool live, indexed;
	bool waits; /* its named parent has not come yet */
		    /* The tool's data follow. */
};

/* The set at the peak, without a copy of it at every new peak: it is what is live now and is not
 * younger than the peak, and what was so when it was freed. A new peak forgets the latter. */
struct ledger_sum {
	uint64_t live, peak, peak_time, peak_order;
	struct ledger_alloc **gone;
	size_t gone_count, gone_room;
	bool known; /* there ever was any */
};

struct ledger_device {
	struct ledger_proc *proc;
	uint32_t device;
	bool segments; /* reserved is known by them, not by a counter */
	struct ledger_sum sums[PASTA_LEVEL_COUNT];
	/* struct ledger_alloc * by address, of each level. Of drivers, whose addresses may be
	 * handles, it has the latest of those that overlap. */
	struct pasta_ranges *index[PASTA_LEVEL_HELD];
};

struct ledger_proc {
	uint32_t proc;
	bool imported;
	uint64_t now, numbers, orders;
	size_t waiting; /* live ones whose named parent is not known */
	struct pasta_map *devices;
	struct pasta_map *at;	    /* struct ledger_alloc *, the latest, by address */
	struct pasta_map *numbered; /* struct ledger_alloc *, by number */
	struct pasta_map *storages; /* struct ledger_alloc *, by storage */
};

struct pasta_ledger {
	const struct pasta_ledger_def *def;
	void *state;
	const struct pasta_where *where; /* of the event that it is given */
	struct pasta_map *procs;	 /* struct ledger_proc *, by number */
	struct ledger_proc *last;	 /* that was looked for */
	struct ledger_alloc *spare;	 /* that were freed, linked by under */
	const struct ledger_alloc **walk;
	size_t walk_count, walk_room;
	uint64_t unknown[PASTA_LEVEL_COUNT], missing[PASTA_LEVEL_COUNT];
	uint32_t reserved, other; /* names of counters: the one that is looked for, or not */
	int error;
};

/* Where memory runs out, error is set, and nothing more is taken. */
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

/* Of ledgeralloc.c. A new one is nobody's; put and index make it known by its address, and where
 * that finds no memory it is dropped. */
struct ledger_alloc *ledger_alloc_new(struct pasta_ledger *l);
bool ledger_put(struct pasta_ledger *l, struct ledger_alloc *x);
void ledger_index(struct pasta_ledger *l, struct ledger_alloc *x);
/* Make it a child of parent, or of none. */
void ledger_link(struct ledger_alloc *x, struct ledger_alloc *parent);
/* The innermost of a lower level that contains an address, or NULL. */
struct ledger_alloc *ledger_container(const struct ledger_device *d, uint32_t level, uint64_t addr);
/* The latest at an address; the one that a part names; the one that a free ends; or NULL. */
struct ledger_alloc *ledger_top(const struct ledger_proc *p, uint64_t addr);
struct ledger_alloc *ledger_named(const struct ledger_alloc *x);
struct ledger_alloc *ledger_freed(const struct ledger_proc *p, const struct pasta_event *ev);
/* Add it to the sum of a level, or of what is held; take it out of what is held. */
void ledger_raise(struct pasta_ledger *l, const struct ledger_alloc *x, uint32_t level);
void ledger_hold_no_more(struct pasta_ledger *l, struct ledger_alloc *x);
/* End it, or the tensors in it; those whose allocation nobody saw, in a range; or what segments
 * have in a range, where false is nothing. */
void ledger_end(struct pasta_ledger *l, struct ledger_alloc *x, const struct pasta_event *ev,
		uint32_t flags);
void ledger_end_tensors(struct pasta_ledger *l, struct ledger_alloc *block,
			const struct pasta_event *ev, uint32_t flags);
void ledger_end_found(struct pasta_ledger *l, const struct ledger_device *d, uint64_t addr,
		      uint64_t room, const struct pasta_event *ev);
bool ledger_cut(struct pasta_ledger *l, const struct ledger_device *d, uint64_t from, uint64_t to,
		const struct pasta_event *ev, uint32_t flags);
/* Of ledgerwalk.c. */
struct ledger_proc *ledger_proc_find(const struct pasta_ledger *l, uint32_t proc);
struct ledger_device *ledger_device_find(const struct pasta_ledger *l, uint32_t proc,
					 uint32_t device);
void ledger_proc_free(struct ledger_proc *p);

#endif
