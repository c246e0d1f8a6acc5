/*
 * accessindex.h - the internal structs and functions of an access index, which joins memory
 * accesses to kernels and objects.
 *
 * accessindex.c handles launches and sites, accessrows.c handles rows, accessobjects.c handles
 * objects, and accesstext.c makes names and findings for reports. If an index runs out of memory,
 * it sets `failed` and ignores all further events.
 */
#ifndef PASTA_PROCESS_ACCESSINDEX_H
#define PASTA_PROCESS_ACCESSINDEX_H

#include <stdbool.h>

#include <pasta/device.h>
#include <pasta/pasta.h>

#include "process/sdk/ledger.h"

/* maximum number of counted launches whose rows have not arrived yet */
#define PASTA_ACCIDX_LAUNCHES ((size_t)1 << 20)
/* Key of the shape that has the rows of unknown launches. */
#define PASTA_ACCIDX_UNREGISTERED UINT64_MAX
/* maximum number of launches of a process whose rows may arrive interleaved */
#define PASTA_ACCIDX_RECENT 16

/* Data that the index attaches to each allocation of its ledger. */
struct pasta_accidx_alloc {
	uint64_t object; /* key of the allocation's object; 0 if the allocation is not an object */
	bool counts;	 /* whether the process's host_live includes the allocation */
};

/* A range of addresses that belongs to an object. */
struct pasta_accidx_part {
	uint64_t addr, bytes;
	uint64_t object; /* key */
	bool live;	 /* whether the allocation of the object is known */
};

/* A counted launch whose rows have not arrived yet. */
struct pasta_accidx_counted {
	uint64_t shape, number; /* `shape` is the key of the launch's shape */
	uint64_t blocks;	/* if only one of N thread blocks is counted, the number N */
};

struct pasta_accidx_shape {
	struct pasta_access_shape shape;
	/* For each reducer: NULL, or a map from a row's key to its struct pasta_access_row. */
	struct pasta_map *rows[PASTA_REDUCER_COUNT];
};

/* A launch whose rows are arriving. */
struct pasta_accidx_launch {
	struct pasta_accidx_shape *shape; /* NULL if the entry is unused */
	uint64_t corr, number, stamp;
	uint64_t blocks; /* if only one of N thread blocks was counted, the number N */
	uint64_t objects, footprint;
	/* address ranges of the objects that the launch accesses */
	struct pasta_accidx_part *parts;
	size_t count, room;
	bool sorted;
};

struct pasta_accidx_proc {
	/* Map from the id that rows use to the struct pasta_accidx_part. */
	struct pasta_map *parts;
	struct pasta_map *sites; /* map from the id that rows use to the key of the site */
	/* Map from a hash of the kernel's name and the shape to the key of the shape. */
	struct pasta_map *shapes;
	struct pasta_accidx_launch recent[PASTA_ACCIDX_RECENT];
	uint64_t stamp;
	uint64_t host_live; /* number of live bytes of host memory in registered objects */
	uint64_t launches;  /* so far */
	/* Number and bytes of live allocations that have not become objects yet. */
	uint64_t cold, cold_bytes;
	/* Number and bytes of freed allocations that never became objects. */
	uint64_t untouched, untouched_bytes;
	uint32_t number;
	uint32_t objects, site_count, shape_count; /* serial numbers */
};

struct pasta_accidx_object {
	struct pasta_access_object object;
	uint64_t launch; /* stamp of the last launch that accessed the object */
};

struct pasta_access_index {
	uint32_t reducers;
	/* In each ledger entry, the tool's data is a struct pasta_accidx_alloc. */
	struct pasta_ledger *ledger;
	struct pasta_map *procs;
	struct pasta_map *objects; /* struct pasta_accidx_object, by key */
	struct pasta_map *sites;   /* struct pasta_access_site, by key */
	struct pasta_map *shapes;  /* struct pasta_accidx_shape, by key */
	/* Map from a hash of name and detail to the struct pasta_accidx_refused. */
	struct pasta_map *refused;
	struct pasta_pending *launches; /* struct pasta_accidx_counted */
	/* The array that the last call of pasta_access_index_page returned. */
	struct pasta_access_part *parts;
	size_t part_room;
	uint64_t dropped, page_other;
	/* number of launches for which a record of the end was announced, and number of records of
	 * ends that have arrived */
	uint64_t begun, ended;
	bool failed;
};

struct pasta_accidx_refused {
	uint32_t name, detail;
	uint64_t count;
};

/* Returns a new key. Keys below PASTA_OBJECT_FIRST stand for memory spaces, so the serial numbers
 * in new keys start at PASTA_OBJECT_FIRST. */
static inline uint64_t pasta_accidx_key(const struct pasta_accidx_proc *p, uint32_t *serial)
{
	return pasta_pair(p->number, (uint32_t)PASTA_OBJECT_FIRST + (*serial)++);
}

/* Each function returns an entry of the index, and adds the entry if it is new. When out of memory,
 * the function returns NULL and sets `failed`. accessindex.c defines these functions. */
struct pasta_accidx_proc *pasta_accidx_proc_of(struct pasta_access_index *index, uint32_t number);
struct pasta_access_site *pasta_accidx_site_of(struct pasta_access_index *index,
					       struct pasta_accidx_proc *p, uint64_t id);
struct pasta_accidx_shape *pasta_accidx_shape_of(struct pasta_access_index *index,
						 struct pasta_accidx_proc *p, uint32_t name,
						 uint64_t shape);

/* Adds the record of a reducer to the sums of its launch's shape. accessrows.c defines this
 * function. */
void pasta_accidx_on_row(struct pasta_access_index *index, struct pasta_accidx_proc *p,
			 const struct pasta_access_sum_record *r);
/* Adds a row to the sums of a shape. */
void pasta_accidx_add_row(struct pasta_access_index *index, struct pasta_accidx_shape *s,
			  uint32_t reducer, const struct pasta_access_row *row);

/* accessobjects.c. */
extern const struct pasta_ledger_def pasta_accidx_ledger;
void pasta_accidx_on_object(struct pasta_access_index *index, struct pasta_accidx_proc *p,
			    const struct pasta_object_record *r);
/* Returns the part of an object that was registered under this id. If nothing was registered under
 * the id, the part has 0 bytes. */
const struct pasta_accidx_part *pasta_accidx_part_of(struct pasta_access_index *index,
						     struct pasta_accidx_proc *p, uint64_t id);
/* Counts the allocations that have never become objects, whether they are live or freed. */
void pasta_accidx_untouched(const struct pasta_accidx_proc *p, uint64_t *count, uint64_t *bytes);

#endif
