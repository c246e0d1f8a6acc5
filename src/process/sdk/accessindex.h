/* accessindex.h - what a book of memory accesses is made of: collected in one file, told in another.
 */
#ifndef PASTA_PROCESS_ACCESSINDEX_H
#define PASTA_PROCESS_ACCESSINDEX_H

#include <stdbool.h>

#include <pasta/device.h>
#include <pasta/pasta.h>

#include "process/sdk/ledger.h"

#define PASTA_BOOK_LAUNCHES ((size_t)1 << 20) /* counted ones that may wait for their rows */
#define PASTA_BOOK_UNTOLD UINT64_MAX	      /* the shape of launches that nobody told of */
#define PASTA_BOOK_RECENT 16		      /* launches of a process whose rows come at once */

/* The book's own of an allocation. */
struct pasta_accidx_alloc {
	uint64_t object; /* its key; 0: no device was seen to have it */
	bool counts;	 /* in its process's host_live */
};

/* Where a device has an object. */
struct pasta_accidx_part {
	uint64_t addr, bytes;
	uint64_t object; /* key */
	bool live;	 /* its allocation is known */
};

struct pasta_accidx_shape {
	struct pasta_access_shape shape;
	struct pasta_map *rows[PASTA_REDUCER_COUNT]; /* struct pasta_access_row, by key; or NULL */
};

/* A launch whose rows come just now. */
struct pasta_accidx_launch {
	struct pasta_accidx_shape *shape; /* NULL: the slot is free */
	uint64_t corr, number, stamp;
	uint64_t blocks; /* one in so many was counted */
	uint64_t objects, footprint;
	struct pasta_accidx_part *places; /* of the objects that it accesses */
	size_t count, room;
	bool sorted;
};

struct pasta_accidx_proc {
	struct pasta_map *places; /* struct pasta_accidx_part, by the object's number */
	struct pasta_map *sites;  /* key, by the site's number */
	struct pasta_map *shapes; /* key, by a mix of name and shape */
	struct pasta_accidx_launch recent[PASTA_BOOK_RECENT];
	uint64_t stamp;
	uint64_t host_live;	     /* bytes of host memory that kernels were given */
	uint64_t launches;	     /* so far */
	uint64_t cold, cold_bytes;   /* live, and no object yet */
	uint64_t never, never_bytes; /* freed, and never an object */
	uint32_t number;
	uint32_t objects, site_count, shape_count; /* serial numbers */
};

struct pasta_accidx_object {
	struct pasta_access_object object;
	uint64_t launch; /* stamp of the last one that accesses it */
};

struct pasta_access_index {
	uint32_t reducers;
	struct pasta_ledger *ledger; /* with a struct pasta_accidx_alloc each */
	struct pasta_map *procs;
	struct pasta_map *objects; /* struct pasta_accidx_object, by key; so are the others */
	struct pasta_map *sites;   /* struct pasta_access_site */
	struct pasta_map *shapes;  /* struct pasta_accidx_shape */
	struct pasta_map *refused; /* struct pasta_accidx_refused, by name and detail */
	struct pasta_pending *launches;
	struct pasta_access_part *parts;
	size_t part_room;
	uint64_t lost, page_other;
	uint64_t begun, ended; /* launches whose ends are told; whose are */
	bool failed;
};

struct pasta_accidx_refused {
	uint32_t name, detail;
	uint64_t count;
};

/* Keys are not those that rows have for spaces and the like: serial numbers begin after them. */
static inline uint64_t pasta_accidx_key(const struct pasta_accidx_proc *p, uint32_t *serial)
{
	return pasta_pair(p->number, (uint32_t)PASTA_OBJECT_FIRST + (*serial)++);
}

/* Of accessobjects.c. What cannot be kept sets failed. */
extern const struct pasta_ledger_def pasta_accidx_ledger;
void pasta_accidx_on_object(struct pasta_access_index *b, struct pasta_accidx_proc *p,
			  const struct pasta_object_record *r);
/* The place of an object that a row names; one without bytes if nobody told of it. */
const struct pasta_accidx_part *pasta_accidx_part_of(struct pasta_access_index *b,
						   struct pasta_accidx_proc *p, uint64_t id);
/* Live allocations that are no objects, and those that were freed. */
void pasta_accidx_untouched(const struct pasta_accidx_proc *p, uint64_t *count, uint64_t *bytes);

#endif
