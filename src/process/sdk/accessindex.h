/*
 * accessindex.h - the parts of an access index, which joins memory accesses to kernels and objects.
 *
 * accessindex.c handles launches and sites, accessrows.c rows, accessobjects.c objects, and
 * accesstext.c what a tool reports. An index whose allocation of memory fails sets failed and
 * ignores all further events.
 */
#ifndef PASTA_PROCESS_ACCESSINDEX_H
#define PASTA_PROCESS_ACCESSINDEX_H

#include <stdbool.h>

#include <pasta/device.h>
#include <pasta/pasta.h>

#include "process/sdk/ledger.h"

#define PASTA_ACCIDX_LAUNCHES ((size_t)1 << 20) /* counted launches that may wait for rows */
#define PASTA_ACCIDX_UNREGISTERED UINT64_MAX	/* the shape of rows without a known launch */
#define PASTA_ACCIDX_RECENT 16 /* launches of a process whose rows may arrive interleaved */

/* What the index adds to each allocation of its ledger. */
struct pasta_accidx_alloc {
	uint64_t object; /* key of its object; 0: not registered as one */
	bool counts;	 /* its bytes are in the process's host_live */
};

/* A range of addresses of an object. */
struct pasta_accidx_part {
	uint64_t addr, bytes;
	uint64_t object; /* key */
	bool live;	 /* the object's allocation is known */
};

/* A counted launch, until its rows arrive. */
struct pasta_accidx_counted {
	uint64_t shape, number; /* shape is a key */
	uint64_t blocks;	/* one block in this many is counted */
};

struct pasta_accidx_shape {
	struct pasta_access_shape shape;
	struct pasta_map *rows[PASTA_REDUCER_COUNT]; /* struct pasta_access_row, by key; or NULL */
};

/* A launch whose rows are arriving. */
struct pasta_accidx_launch {
	struct pasta_accidx_shape *shape; /* NULL: the slot is free */
	uint64_t corr, number, stamp;
	uint64_t blocks; /* one block in this many was counted */
	uint64_t objects, footprint;
	struct pasta_accidx_part *parts; /* ranges of the objects that the launch accesses */
	size_t count, room;
	bool sorted;
};

struct pasta_accidx_proc {
	struct pasta_map *parts;  /* struct pasta_accidx_part, by the id that rows use */
	struct pasta_map *sites;  /* keys, by the id that rows use */
	struct pasta_map *shapes; /* keys, by a hash of name and shape */
	struct pasta_accidx_launch recent[PASTA_ACCIDX_RECENT];
	uint64_t stamp;
	uint64_t host_live;	   /* bytes of host memory that is registered as objects */
	uint64_t launches;	   /* so far */
	uint64_t cold, cold_bytes; /* live allocations that are not objects yet */
	uint64_t untouched, untouched_bytes; /* freed allocations that never were objects */
	uint32_t number;
	uint32_t objects, site_count, shape_count; /* serial numbers */
};

struct pasta_accidx_object {
	struct pasta_access_object object;
	uint64_t launch; /* stamp of the last launch that accesses the object */
};

struct pasta_access_index {
	uint32_t reducers;
	struct pasta_ledger *ledger; /* its data: struct pasta_accidx_alloc */
	struct pasta_map *procs;
	struct pasta_map *objects;	 /* struct pasta_accidx_object, by key */
	struct pasta_map *sites;	 /* struct pasta_access_site, by key */
	struct pasta_map *shapes;	 /* struct pasta_accidx_shape, by key */
	struct pasta_map *refused;	 /* struct pasta_accidx_refused, by name and detail */
	struct pasta_pending *launches;	 /* struct pasta_accidx_counted */
	struct pasta_access_part *parts; /* the answer of pasta_access_index_page */
	size_t part_room;
	uint64_t dropped, page_other;
	uint64_t begun, ended; /* launches that will report their end; that have done so */
	bool failed;
};

struct pasta_accidx_refused {
	uint32_t name, detail;
	uint64_t count;
};

/* Returns a new key. Keys below PASTA_OBJECT_FIRST stand for memory spaces: serial numbers start
 * after them. */
static inline uint64_t pasta_accidx_key(const struct pasta_accidx_proc *p, uint32_t *serial)
{
	return pasta_pair(p->number, (uint32_t)PASTA_OBJECT_FIRST + (*serial)++);
}

/* accessindex.c. Each returns the entry, added if it is new; NULL: out of memory, and failed is
 * set. */
struct pasta_accidx_proc *pasta_accidx_proc_of(struct pasta_access_index *index, uint32_t number);
struct pasta_access_site *pasta_accidx_site_of(struct pasta_access_index *index,
					       struct pasta_accidx_proc *p, uint64_t id);
struct pasta_accidx_shape *pasta_accidx_shape_of(struct pasta_access_index *index,
						 struct pasta_accidx_proc *p, uint32_t name,
						 uint64_t shape);

/* accessrows.c. Adds a reducer's record to the sums of its launch's shape. */
void pasta_accidx_on_row(struct pasta_access_index *index, struct pasta_accidx_proc *p,
			 const struct pasta_access_sum_record *r);
/* Adds a row to the shape's sums. */
void pasta_accidx_add_row(struct pasta_access_index *index, struct pasta_accidx_shape *s,
			  uint32_t reducer, const struct pasta_access_row *row);

/* accessobjects.c. */
extern const struct pasta_ledger_def pasta_accidx_ledger;
void pasta_accidx_on_object(struct pasta_access_index *index, struct pasta_accidx_proc *p,
			    const struct pasta_object_record *r);
/* Returns the part that a row names; without bytes if its object was never registered. */
const struct pasta_accidx_part *pasta_accidx_part_of(struct pasta_access_index *index,
						     struct pasta_accidx_proc *p, uint64_t id);
/* Counts the allocations, live or freed, that never became objects. */
void pasta_accidx_untouched(const struct pasta_accidx_proc *p, uint64_t *count, uint64_t *bytes);

#endif
