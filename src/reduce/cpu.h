/*
 * cpu.h - reducers on the host: one thread's tables, fed access by access or by records.
 *
 * A state is one thread's at a time and takes no lock. By object and by page are counted in cells:
 * a cell is what one page and one object have in common, so that one look-up and one line of
 * memory do for both; where pages are not wanted, a cell is wide, all of an object. What counts
 * allocates nothing: when cells are used up, they are spilled, or what is new is counted in one
 * row.
 */
#ifndef PASTA_REDUCE_CPU_H
#define PASTA_REDUCE_CPU_H

#include <stdbool.h>

#include "core/err.h"
#include "reduce/objects.h"
#include "reduce/sums.h"

struct pasta_cpu_config {
	uint32_t reducers;   /* PASTA_REDUCER_MASK of those that are wanted */
	uint32_t page_shift; /* log2 of a page's bytes, 5 to 30; 0: 12 */
	uint32_t cells;	     /* 0: 65,535, the most there can be. Up to 96 bytes each */
	uint32_t rows;	     /* of each other table; 0: 16,384. Up to 88 bytes each */
	uint32_t requests;   /* that may be open at once; 0: 4,096. 448 bytes each */
	uint32_t turns;	     /* of a thread at a site that are looked at; 0: 64 */
	/* By who counts, when cells are used up, or rows by site and object: is to call
	 * pasta_cpu_spill and return true; false: it cannot, and is not asked again until the next
	 * drain. NULL: as if it never could. */
	bool (*full)(void *arg);
	void *arg;
};

/* What an access touches: half a line. size is 0 if it was made for another version of the objects,
 * and in the first one, which is nobody's. */
struct pasta_cell {
	uint64_t begin;
	uint64_t counts; /* stores above loads, each below 2^31 */
	uint64_t bytes;
	uint32_t size;
	uint32_t slot; /* where a wide one is found by its key */
};

/* The rest of it. */
struct pasta_cell_rest {
	uint64_t object;
	uint64_t loads, stores; /* that the cell could not hold */
	uint64_t crosses, page_crosses;
	uint64_t written; /* of the cell's bytes */
};

/* Spaces there is room for: a power of two, so that none is out of bounds. */
enum { PASTA_CPU_APART = 8 };

/* What is in it is for the inline functions below. */
struct pasta_cpu {
	struct pasta_cell *cells;
	struct pasta_cell_rest *rests;
	uint16_t *index; /* cells by their pages; 0: none. Small, to stay in the caches */
	uint32_t mask;	 /* of the index, as much as is used of it */
	uint32_t page_shift;
	uint32_t more; /* reducers beyond those by object and by page */
	uint32_t function;
	struct pasta_row apart[PASTA_CPU_APART]; /* spaces that have no objects */
	struct pasta_cpu_inside *in;
};

/* NULL: err says why. */
struct pasta_cpu *pasta_cpu_new(const struct pasta_cpu_config *config, struct pasta_error *err);
void pasta_cpu_free(struct pasta_cpu *c);

/* What follows is of this launch: the version that it pinned, which must stay pinned until the
 * next call or pasta_cpu_free, the caller's number of its function, and the threads of a group. */
void pasta_cpu_launch(struct pasta_cpu *c, const struct pasta_version *version, uint32_t function,
		      uint32_t group_size);
/* What follows is of this thread of a group. Threads of a warp come in ascending order; one that
 * comes again, or goes back, begins anew. Only requests need it. */
void pasta_cpu_thread(struct pasta_cpu *c, uint32_t group, uint32_t thread);

/* Accesses of one launch, the one that pasta_cpu_launch was told: stops at the first of another,
 * and returns how many it took. Kinds and spaces that are none are counted as none: *bad, if it is
 * given, is how many of them there were. */
size_t pasta_cpu_batch(struct pasta_cpu *c, const struct pasta_access *accesses, size_t count,
		       size_t *bad);

/* Add to sums what was counted, and begin anew. */
void pasta_cpu_drain(struct pasta_cpu *c, struct pasta_sums *sums);
/* The same of what may run out while a thread counts: by object, by page, and by site and object.
 * Requests stay open, and turns go on. */
void pasta_cpu_spill(struct pasta_cpu *c, struct pasta_sums *sums);

/* For the inline functions. */
void pasta_cpu_slow(struct pasta_cpu *c, uint64_t addr, uint32_t size, uint32_t kind,
		    uint32_t site);
void pasta_cpu_more(struct pasta_cpu *c, uint64_t object, uint32_t crosses, uint64_t addr,
		    uint32_t size, uint32_t kind, uint32_t site);
void pasta_cpu_carry(struct pasta_cpu *c, struct pasta_cell *cell);

/* Pages that are neighbours have neighbouring places, and as many of them as the index has never
 * share one; those that are 2 MiB or so apart do not meet either. */
static inline uint32_t pasta_cell_home(const struct pasta_cpu *c, uint64_t addr)
{
	uint64_t page = addr >> c->page_shift;

	return (uint32_t)(page ^ page >> 9 ^ page >> 21) & c->mask;
}

/* Both ends; the first one by itself as well, for the sum may wrap. */
static inline bool pasta_cell_has(const struct pasta_cell *cell, uint64_t addr, uint32_t size)
{
	uint64_t offset = addr - cell->begin;

	return (offset < cell->size) & (offset + size <= cell->size);
}

static inline void pasta_cell_count(struct pasta_cpu *c, struct pasta_cell *cell, uint32_t kind,
				    uint32_t size)
{
	cell->counts += (kind & PASTA_ACCESS_LOAD) | (uint64_t)(kind & PASTA_ACCESS_STORE) << 31;
	cell->bytes += pasta_access_bytes(kind, size);
	if (kind & PASTA_ACCESS_STORE)
		c->rests[cell - c->cells].written += size;
	if (__builtin_expect((cell->counts & UINT64_C(0x8000000080000000)) != 0, 0))
		pasta_cpu_carry(c, cell);
}

/* An access. kind and space are best constants, and must be of their enums. */
static inline void pasta_cpu_access(struct pasta_cpu *c, uint64_t addr, uint32_t size,
				    uint32_t kind, uint32_t space, uint32_t site)
{
	struct pasta_cell *cell;

	if (space >= PASTA_SPACE_LOCAL) {
		pasta_row_count(&c->apart[space % PASTA_CPU_APART], kind,
				pasta_access_bytes(kind, size), 0);
		if (c->more)
			pasta_cpu_more(c, space, 0, addr, size, kind, site);
		return;
	}
	cell = &c->cells[c->index[pasta_cell_home(c, addr)]];
	if (__builtin_expect(!pasta_cell_has(cell, addr, size), 0)) {
		pasta_cpu_slow(c, addr, size, kind, site);
		return;
	}
	pasta_cell_count(c, cell, kind, size);
	if (c->more)
		pasta_cpu_more(c, c->rests[cell - c->cells].object, 0, addr, size, kind, site);
}

#endif
