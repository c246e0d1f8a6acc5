/*
 * cpu.h - counts memory accesses in the reducers' tables on the host.
 *
 * A state belongs to one thread at a time, and needs no lock. The reducers OBJECT and PAGE share a
 * table, whose rows are called cells. A cell counts the accesses to the intersection of a page and
 * an object, so that one look-up and one cache line serve both reducers. If the reducer PAGE is
 * disabled, a cell counts the accesses to a whole object, and is called wide. Counting does not
 * allocate memory. When no cell is free, the counts of all cells are added to the sums, or accesses
 * with new keys are counted in a single row.
 */
#ifndef PASTA_REDUCE_CPU_H
#define PASTA_REDUCE_CPU_H

#include <stdbool.h>

#include "core/err.h"
#include "reduce/objects.h"
#include "reduce/sums.h"

struct pasta_cpu_config {
	uint32_t reducers;   /* mask of the enabled reducers (PASTA_REDUCER_MASK) */
	uint32_t page_shift; /* log2 of a page's bytes, from 5 to 30; the default for 0 is 12 */
	/* The maximum number of rows of the table by page and object. A row has up to 96 bytes. The
	 * default for 0 is 65,535, which is also the limit. */
	uint32_t cells;
	/* The maximum number of rows of each other table. A row has up to 88 bytes. The default for
	 * 0 is 16,384. */
	uint32_t rows;
	/* The maximum number of open requests, of 448 bytes each. The default for 0 is 4,096. */
	uint32_t requests;
	/* The accesses of a thread's first `turns` visits to a site are grouped into requests. The
	 * accesses of later visits are in no request. The default for 0 is 64. */
	uint32_t turns;
	/* The counting thread calls this function when the table by page and object, or the table
	 * by site and object, is full. The function calls pasta_cpu_spill and returns true. If the
	 * function returns false, it is not called again until the next pasta_cpu_drain. The member
	 * may be NULL. */
	bool (*full)(void *arg);
	void *arg;
};

/* A cell: a row that counts the accesses to the intersection of a page and an object. This struct
 * contains the members that each access uses, in half a cache line. `size` is 0 if the cell belongs
 * to an older version of the object table. Cell 0 is unused, and its size is 0. */
struct pasta_cell {
	uint64_t begin;
	/* The number of stores is in the upper 32 bits, and the number of loads in the lower 32
	 * bits. Both numbers are below 2^31. */
	uint64_t counts;
	uint64_t bytes;
	uint32_t size;
	uint32_t slot; /* slot in the index by key, if the cell covers a whole object */
};

/* The rarely used members of a row of the table by page and object. */
struct pasta_cell_rest {
	uint64_t object;
	/* numbers of loads and stores that did not fit into the member `counts` */
	uint64_t loads, stores;
	uint64_t crosses, page_crosses;
	uint64_t written; /* number of written bytes, which the member `bytes` includes */
};

/* The number of memory spaces, rounded up to a power of two, so that a mask replaces a bounds
 * check. */
enum { PASTA_CPU_APART = 8 };

/* The state of reducers on the host. Callers use this struct only through the functions below. */
struct pasta_cpu {
	struct pasta_cell *cells;
	struct pasta_cell_rest *rests;
	/* An index by page. An entry is an index into the member `cells`, or 0. Entries have 16
	 * bits, so that this index fits into caches. */
	uint16_t *index;
	uint32_t mask; /* number of slots of the index at its present size, minus 1 */
	uint32_t page_shift;
	uint32_t more; /* mask of the enabled reducers other than OBJECT and PAGE */
	uint32_t function;
	struct pasta_row apart[PASTA_CPU_APART]; /* counts of memory spaces without objects */
	struct pasta_cpu_inside *in;
};

/* Returns a state for counting. On failure, returns NULL and sets err. */
struct pasta_cpu *pasta_cpu_new(const struct pasta_cpu_config *config, struct pasta_error *err);
void pasta_cpu_free(struct pasta_cpu *c);

/* Starts a launch. `version` must stay pinned until the next call of this function, or of
 * pasta_cpu_free. `function` is the number that the caller assigns to the kernel, and group_size is
 * the number of threads in a thread block. */
void pasta_cpu_launch(struct pasta_cpu *c, const struct pasta_version *version, uint32_t function,
		      uint32_t group_size);
/* Starts a thread of a thread block. Only reducers that group accesses into requests need this
 * call. Threads of a warp must start in ascending order. If the thread's number is not greater than
 * the previous one, a new warp starts. */
void pasta_cpu_thread(struct pasta_cpu *c, uint32_t group, uint32_t thread);

/* Counts accesses of the current launch. Stops at the first access of another launch, and returns
 * the number of accesses before that access. Ignores accesses with an invalid kind or space, and
 * stores the number of ignored accesses in *bad, unless `bad` is NULL. */
size_t pasta_cpu_batch(struct pasta_cpu *c, const struct pasta_access *accesses, size_t count,
		       size_t *bad);

/* Adds all counts of the state `c` to `sums`, and resets the state's counts. */
void pasta_cpu_drain(struct pasta_cpu *c, struct pasta_sums *sums);
/* Adds counts to `sums`, like pasta_cpu_drain, but only from tables that can fill up while a thread
 * counts. The tables that can fill up are the tables by object, by page, and by site and object.
 * Open requests do not change. */
void pasta_cpu_spill(struct pasta_cpu *c, struct pasta_sums *sums);

/* Only the inline functions of this header call the three functions that follow. */
void pasta_cpu_slow(struct pasta_cpu *c, uint64_t addr, uint32_t size, uint32_t kind,
		    uint32_t site);
void pasta_cpu_more(struct pasta_cpu *c, uint64_t object, uint32_t crosses, uint64_t addr,
		    uint32_t size, uint32_t kind, uint32_t site);
void pasta_cpu_carry(struct pasta_cpu *c, struct pasta_cell *cell);

/* Returns a page's first slot in the index. Adjacent pages have adjacent slots, and pages that are
 * about 2 MiB apart do not collide. */
static inline uint32_t pasta_cell_home(const struct pasta_cpu *c, uint64_t addr)
{
	uint64_t page = addr >> c->page_shift;

	return (uint32_t)(page ^ page >> 9 ^ page >> 21) & c->mask;
}

/* Returns whether the cell's address range contains the whole access. The first comparison is
 * necessary, because `offset + size` may overflow. */
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

/* Counts an access. `kind` and `space` must be valid. The function is fastest if they are constants
 * that the compiler knows. */
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
