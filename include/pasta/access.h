/* access.h - lets a tool read memory accesses: one by one, or as sums by kernel, object and
 * site. */
#ifndef PASTA_ACCESS_H
#define PASTA_ACCESS_H

#include <pasta/base.h>
#include <pasta/device.h>
#include <pasta/event.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pasta_out;

/*
 * Calls fn for each raw access of an access_batch event. A batch has accesses of one launch, in the
 * order in which one host thread or one part of a device made them. If fn returns a value other
 * than 0, the function stops and returns that value. The function reads up to 64 Ki accesses from a
 * file of the run, which takes about a millisecond. The member `launch` of an access has the lowest
 * 32 bits of ev->access_batch.corr. Any thread may call the function during the event, or later
 * with a copy of ev, but before the tool's `report` returns. Returns -EINVAL if ev is of another
 * kind or the file is damaged, -ENODATA if the file is truncated, -ENOENT, -EACCES and so on if the
 * file cannot be read, or -ENOMEM. In all these cases the function has not called fn, and *err
 * states what to do. err may be NULL.
 */
typedef int (*pasta_access_fn)(void *arg, const struct pasta_access *access);
PASTA_EXPORT int pasta_accesses_each(const struct pasta_event *ev, pasta_access_fn fn, void *arg,
				     struct pasta_error *err);

/*
 * An access index: the sums of memory accesses by kernel, object and site, for tools that need
 * PASTA_NEED_ACCESS_*. The index receives events, sums their accesses by shape (kernel, grid and
 * block size), and answers queries when the tool reports. Only some launches of a shape are
 * counted; the answers are scaled to all launches of the shape. Sums are capped at INT64_MAX;
 * pasta_access_index_findings reports a capped sum. Only one thread at a time may use an index.
 * Returned pointers are valid as long as the index exists.
 */
struct pasta_access_index;
/* The kinds of events that an access index reads. The index ignores all other kinds. */
#define PASTA_ACCESS_KINDS                                                                         \
	(PASTA_MASK(ALLOC) | PASTA_MASK(FREE) | PASTA_MASK(OBJECT) | PASTA_MASK(SITE) |            \
	 PASTA_MASK(ACCESS_LAUNCH) | PASTA_MASK(ACCESS_SUM) | PASTA_MASK(PROCESS))
/* size in bytes of the pages in rows of the reducer PAGE */
#define PASTA_ACCESS_PAGE UINT64_C(4096)

/* A shape: all launches of one kernel with the same grid and block size in one process. AccelProf
 * counts the accesses of only some launches of each shape. The sums and maxima in this struct cover
 * the counted launches; they are not scaled to all launches. */
struct pasta_access_shape {
	uint64_t key; /* unique key of the shape, the same in all access indexes */
	uint64_t shape;
	uint32_t proc, name; /* of the kernel */
	/* whether the run has a launch record of this shape; a shape without one may still have
	 * rows */
	uint32_t registered;
	/* why the last refused launch could not be counted; 0: no launch was refused */
	uint32_t detail;
	uint64_t counted, sampled, filtered, refused;
	/* number of counted launches in which only one thread block in N was counted */
	uint64_t partial;
	/* the largest N of the launches in which only one thread block in N was counted; 1: all
	 * thread blocks of all counted launches were counted */
	uint64_t blocks;
	uint64_t bytes;			   /* accessed in objects */
	uint64_t footprint, footprint_max; /* bytes of the objects that lie in accessed pages: in
					    * total, and the maximum of one launch */
	/* number of accessed objects: in total, and the maximum of one launch */
	uint64_t objects, objects_max;
	/* allocated bytes at the time of the launch, summed over the launches */
	uint64_t live;
	/* allocated bytes that lie in the pages that a launch accessed, summed over the launches */
	uint64_t live_touched;
};

/* An object: memory whose accesses are counted. Usually an object is an allocation, with all its
 * addresses on devices. If the allocation is unknown, the object is the memory with one id in
 * OBJECT events. */
struct pasta_access_object {
	/* unique key of the object, the same in all access indexes; never the number of a memory
	 * space */
	uint64_t key;
	uint64_t parent; /* key of the object that contains this one, or 0 */
	uint64_t number; /* number of the allocation in its process, from 1; 0: unknown */
	/* the object's first id in OBJECT events; 0: only parts of the object have ids */
	uint64_t id;
	uint64_t addr;	/* the object's first address in OBJECT events, or 0 */
	uint64_t bytes; /* 0: not known */
	uint32_t proc, name, stack;
	uint32_t type; /* enum pasta_alloc_sub */
	uint32_t part; /* whether the object is a part of another allocation */
	uint32_t reserved;
};

/* A site: an instruction or source line that accesses memory. If the run has no SITE record for it,
 * `known` is 0, and only `proc`, `key` and `id` are set. */
struct pasta_access_site {
	uint64_t key, id;
	uint32_t proc;
	uint32_t known;
	struct pasta_site_record site;
};

/*
 * The sums for a shape and an object, or for a shape and a site, scaled to all launches of the
 * shape and to all thread blocks of these launches. `key` is the key of the object or site,
 * PASTA_OBJECT_NONE, a memory space, or PASTA_KEY_OTHER. Rows of some reducers (enum pasta_reducer)
 * differ:
 *
 *	COALESCE, DIVERGE (5, 6): `loads` and `stores` count requests. In rows of DIVERGE, `active`
 *				  is the number of active threads of these requests.
 *	BLOCK (7):                `key` is the key of a bucket. Rows are not scaled to all thread
 *				  blocks.
 *	TENSOR (8):               Rows are not scaled to all thread blocks.
 *	OWN (9):                  Rows of a tool's own reducer count as sites, whatever key1 is.
 *	BARRIER (10):             Rows count as sites; `stores` is the number of threads.
 *
 * `most` is the number of bytes in the largest row, not scaled. bytes_read and bytes_written divide
 * `bytes` into loads and stores; an atomic operation counts in both. Both are UINT64_MAX if they
 * are unknown: for reducers 7 to 10, for runs of an older accelprof, and if a GPU's table was full.
 */
struct pasta_access_row {
	uint64_t key, loads, stores, bytes, extra, active, most;
	uint64_t bytes_read, bytes_written;
};

/* The part of an object that lies in one page. */
struct pasta_access_part {
	const struct pasta_access_object *object;
	uint64_t page;	/* in the object, from 0 */
	uint64_t bytes; /* bytes of the object that lie in this page */
};

/* Totals over all launches. If no launch of a shape could be counted, all launches of the shape
 * count as refused, even those that sampling left out. */
struct pasta_access_totals {
	uint64_t counted, sampled, filtered, refused;
	uint64_t partial, blocks; /* as in struct pasta_access_shape */
	uint64_t unregistered;	  /* number of shapes that have rows, but no launch record */
	uint64_t lost;		  /* number of accesses that were not counted */
	/* number of accesses to pages that did not fit into a reducer's table */
	uint64_t page_other;
	/* number of allocations that were never registered as objects, not including host memory
	 * and images */
	uint64_t untouched, untouched_bytes;
	uint64_t unended; /* number of counted launches whose sums are incomplete */
	/* number of uncounted launches that are represented by counted launches of the same
	 * shape */
	uint64_t scaled;
};

/* Creates an access index. `reducers` is a mask (PASTA_REDUCER_MASK) of the reducers whose rows the
 * index stores. From rows of PAGE, the index computes only the memory that each launch touches. The
 * index ignores rows of SITE_OBJECT. Returns NULL when out of memory. */
PASTA_EXPORT struct pasta_access_index *pasta_access_index_new(uint32_t reducers);
PASTA_EXPORT void pasta_access_index_free(struct pasta_access_index *index);
/* Adds an event to the index. The events of one process must come in order. If memory runs out,
 * pasta_access_index_error returns -ENOMEM from then on. */
PASTA_EXPORT void pasta_access_index_event(struct pasta_access_index *index,
					   const struct pasta_event *ev);
PASTA_EXPORT int pasta_access_index_error(const struct pasta_access_index *index);
/* Adds the contents of the index `from` to the index `into`. The events of one process must not be
 * divided between the two indexes. Returns 0 or -ENOMEM. */
PASTA_EXPORT int pasta_access_index_merge(struct pasta_access_index *into,
					  const struct pasta_access_index *from);
/* `ev` is an ACCESS_SUM event of the reducer PAGE, and was just added to the index. Finds the
 * objects that the event's launch accesses and that have bytes in the event's page. Sets *parts to
 * these objects, ordered by address, and returns their number. *parts is valid until the next
 * event. If `launch` is not NULL, sets *launch to the number of the launch among the recorded
 * launches of its process, from 0. */
PASTA_EXPORT size_t pasta_access_index_page(struct pasta_access_index *index,
					    const struct pasta_event *ev,
					    const struct pasta_access_part **parts,
					    uint64_t *launch);

/* Return the next shape, object or site, in no particular order, or NULL at the end. Set *at to 0
 * before the first call. */
PASTA_EXPORT const struct pasta_access_shape *
pasta_access_index_shapes(const struct pasta_access_index *index, size_t *at);
PASTA_EXPORT const struct pasta_access_object *
pasta_access_index_objects(const struct pasta_access_index *index, size_t *at);
PASTA_EXPORT const struct pasta_access_site *
pasta_access_index_sites(const struct pasta_access_index *index, size_t *at);
/* Return the object or site with a key, or NULL. */
PASTA_EXPORT const struct pasta_access_object *
pasta_access_index_object(const struct pasta_access_index *index, uint64_t key);
PASTA_EXPORT const struct pasta_access_site *
pasta_access_index_site(const struct pasta_access_index *index, uint64_t key);
/* Calls `visit` for each row of a reducer, with sums scaled to all launches. If `visit` returns a
 * value other than 0, the function stops and returns that value. */
PASTA_EXPORT int pasta_access_index_rows(const struct pasta_access_index *index, uint32_t reducer,
					 int (*visit)(void *ctx,
						      const struct pasta_access_shape *shape,
						      const struct pasta_access_row *row),
					 void *ctx);
PASTA_EXPORT struct pasta_access_totals
pasta_access_index_totals(const struct pasta_access_index *index);

/* Returns the number of launches to which the shape's sums are scaled: all launches that no filter
 * excludes. Returns 0 if no launch was counted. */
PASTA_EXPORT uint64_t pasta_access_launches(const struct pasta_access_shape *shape);
/* Scales a sum over the counted launches of a shape to all launches of the shape, and rounds the
 * result. */
PASTA_EXPORT uint64_t pasta_access_scale(const struct pasta_access_shape *shape, uint64_t sum);
/* Returns a sum, capped at INT64_MAX. */
static inline uint64_t pasta_access_add(uint64_t a, uint64_t b)
{
	return a > INT64_MAX || b > (uint64_t)INT64_MAX - a ? (uint64_t)INT64_MAX : a + b;
}
static inline void pasta_access_add_to(uint64_t *sum, uint64_t more)
{
	*sum = pasta_access_add(*sum, more);
}

/* Writes an object's name, such as "buffer 3 at main (a.c:12)", "sub-buffer 4 of buffer 3" or
 * "object 17 (unknown)", to `text`, truncated to `size` bytes. Returns `text`. */
PASTA_EXPORT const char *pasta_access_object_text(const struct pasta_access_index *index,
						  const struct pasta_access_object *object,
						  char *text, size_t size);
/* Returns the name of a row that belongs to no object, such as "(local)" or "(outside of
 * objects)". */
PASTA_EXPORT const char *pasta_access_space_text(uint64_t key);
/* Writes a site's name, such as "scale (a.cl:12)", to `text`, truncated to `size` bytes. Returns
 * `text`. */
PASTA_EXPORT const char *pasta_access_site_text(const struct pasta_site_record *site, char *text,
						size_t size);
/* Reports findings about the counting, with the same text in all tools. The findings state whether
 * sums are scaled, which kernels and sites could not be counted and why, and how many accesses were
 * dropped, belong to unknown objects, or did not fit into a table. */
PASTA_EXPORT void pasta_access_index_findings(const struct pasta_access_index *index,
					      struct pasta_out *out);
/* Reports only findings about accesses that were not counted: kernels and sites that cannot be
 * counted, and kernels that a filter excluded. */
PASTA_EXPORT void pasta_access_index_exclusions(const struct pasta_access_index *index,
						struct pasta_out *out);

/*
 * The access index of a tool, declared in its descriptor. The framework creates it before the
 * tool's `open`, delivers each event to it before the tool's own event function, merges the indexes
 * of shards, and frees them after the tool's `close`. If memory runs out, `report` is not called,
 * and the tool fails with -ENOMEM.
 */
struct pasta_access_index_def {
	uint32_t size;
	uint32_t state_offset; /* offset of a struct pasta_access_index * in the tool's state */
	uint32_t reducers;     /* as in pasta_access_index_new */
	uint32_t reserved;
	uint64_t kinds; /* mask of the kinds of events to deliver to the index; 0:
			   PASTA_ACCESS_KINDS */
};
/* clang-format off */
#define PASTA_ACCESS_INDEX(state_type, member, mask)                                                       \
	{.size = sizeof(struct pasta_access_index_def), .state_offset = offsetof(state_type, member),      \
	 .reducers = (mask)}
/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif
