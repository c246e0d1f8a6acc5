/* access.h - memory accesses: raw batches, and sums by kernel, object and site. */
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
 * Calls fn for each raw access of an access_batch event. A batch has the accesses of one launch, in
 * the order in which one thread of the host, or one part of a device, made them. If fn returns a
 * value other than 0, the function stops and returns it. It reads up to 64 Ki accesses from a file
 * of the run, which takes about a millisecond. The member launch of an access has the lowest 32
 * bits of ev->access_batch.corr. Any thread: during the event, or later with a copy of ev, but
 * before report returns. Returns -EINVAL: ev is of another kind, or the file is damaged; -ENODATA:
 * the file is truncated; -ENOENT, -EACCES and so on: it cannot be read; -ENOMEM. After these errors
 * fn was not called, and err, which may be NULL, describes what to do.
 */
typedef int (*pasta_access_fn)(void *arg, const struct pasta_access *access);
PASTA_EXPORT int pasta_accesses_each(const struct pasta_event *ev, pasta_access_fn fn, void *arg,
				     struct pasta_error *err);

/*
 * An access index: the sums of memory accesses by kernel, object and site, for tools that need
 * PASTA_NEED_ACCESS_*. It receives events, sums accesses by kernel and range of launches, and
 * answers queries when the tool reports. Only some launches are counted: answers are scaled to all
 * launches, by kernel and range. Sums are capped at INT64_MAX; pasta_access_index_findings reports
 * that. One thread at a time for each index; returned pointers live as long as the index.
 */
struct pasta_access_index;
/* The kinds that an index reads; it ignores all others. */
#define PASTA_ACCESS_KINDS                                                                         \
	(PASTA_MASK(ALLOC) | PASTA_MASK(FREE) | PASTA_MASK(OBJECT) | PASTA_MASK(SITE) |            \
	 PASTA_MASK(ACCESS_LAUNCH) | PASTA_MASK(ACCESS_SUM) | PASTA_MASK(PROCESS))
#define PASTA_ACCESS_PAGE UINT64_C(4096) /* bytes of a page in PAGE rows */

/* A shape: a kernel over one range, in one process. Launches are sampled by shape. Sums and maxima
 * are those of the counted launches, not scaled. */
struct pasta_access_shape {
	uint64_t key; /* unique; the same in all indexes */
	uint64_t shape;
	uint32_t proc, name; /* of the kernel */
	uint32_t registered; /* 0: it has rows, but no launch record */
	uint32_t detail;     /* why the last refused launch was refused, or 0 */
	uint64_t counted, sampled, filtered, refused;
	uint64_t partial; /* counted launches of which only one block in N was counted */
	uint64_t blocks;  /* the greatest such N; 1: none was partial */
	uint64_t bytes;	  /* accessed in objects */
	uint64_t footprint,
		footprint_max;	       /* bytes of objects in accessed pages; most of a launch */
	uint64_t objects, objects_max; /* objects that launches access; most of a launch */
	uint64_t live;		       /* bytes that were allocated, summed over launches */
	uint64_t live_touched;	       /* the part of live in the footprint */
};

/* An object, whose accesses are counted: an allocation with all its addresses on devices; or, if
 * the allocation is not known, the memory with one id. */
struct pasta_access_object {
	uint64_t key;	 /* unique; the same in all indexes; not a memory space's */
	uint64_t parent; /* key of the object that contains it, or 0 */
	uint64_t number; /* of the allocation in its process, from 1; 0: not known */
	uint64_t id;	 /* its first id in OBJECT events; 0: only its parts have one */
	uint64_t addr;	 /* its first address in OBJECT events, or 0 */
	uint64_t bytes;	 /* 0: not known */
	uint32_t proc, name, stack;
	uint32_t type; /* enum pasta_alloc_sub */
	uint32_t part; /* 1: part of another allocation */
	uint32_t reserved;
};

/* An instruction or line that accesses memory. Without a site record, known is 0, and only proc,
 * key and id are set. */
struct pasta_access_site {
	uint64_t key, id;
	uint32_t proc;
	uint32_t known;
	struct pasta_site_record site;
};

/*
 * The sums of a shape and an object or a site, scaled to all launches of the shape and to all their
 * blocks. key is the object's or site's, or PASTA_OBJECT_NONE, a memory space, or PASTA_KEY_OTHER.
 * By reducer (enum pasta_reducer):
 *
 *	5, 6   COALESCE and DIVERGE: loads and stores count requests. active, for DIVERGE, is the
 *	       sum of their active threads
 *	7      BLOCK: key is the key of a bucket; not scaled to all blocks
 *	8      TENSOR: not scaled to all blocks
 *	9      OWN: rows of a tool's own reducer count as sites, whatever key1 is
 *	10     BARRIER: rows count as sites; stores are threads
 *
 * most is not scaled: it is the bytes of the largest row. bytes_read and bytes_written split bytes;
 * an atomic reads and writes its bytes. Both are UINT64_MAX if not known: for reducers 7 to 10, for
 * runs of an older accelprof, and if a GPU's table had no room.
 */
struct pasta_access_row {
	uint64_t key, loads, stores, bytes, extra, active, most;
	uint64_t bytes_read, bytes_written;
};

/* The part of an object in a page. */
struct pasta_access_part {
	const struct pasta_access_object *object;
	uint64_t page;	/* in the object, from 0 */
	uint64_t bytes; /* of the object in the page */
};

/* Totals over all launches. The sampled launches of a shape of which no launch could be counted
 * count as refused. */
struct pasta_access_totals {
	uint64_t counted, sampled, filtered, refused;
	uint64_t partial, blocks;	     /* as in struct pasta_access_shape */
	uint64_t unregistered;		     /* shapes with rows, but no launch record */
	uint64_t lost;			     /* accesses that were not counted */
	uint64_t page_other;		     /* accesses to pages that a table had no room for */
	uint64_t untouched, untouched_bytes; /* allocations that are not objects, without host
						memory and images */
	uint64_t unended;		     /* counted launches with incomplete sums */
	uint64_t scaled; /* launches that were not counted, but others of their shape were */
};

/* Creates an index. reducers is the mask (PASTA_REDUCER_MASK) of the reducers whose rows it stores;
 * for PAGE it stores only footprints, and for SITE_OBJECT nothing. NULL: out of memory. */
PASTA_EXPORT struct pasta_access_index *pasta_access_index_new(uint32_t reducers);
PASTA_EXPORT void pasta_access_index_free(struct pasta_access_index *index);
/* Adds an event. The events of a process must come in order. When memory runs out, the error is
 * -ENOMEM from then on. */
PASTA_EXPORT void pasta_access_index_event(struct pasta_access_index *index,
					   const struct pasta_event *ev);
PASTA_EXPORT int pasta_access_index_error(const struct pasta_access_index *index);
/* Merges from. All events of a process must be in one of the two. Returns 0 or -ENOMEM. */
PASTA_EXPORT int pasta_access_index_merge(struct pasta_access_index *into,
					  const struct pasta_access_index *from);
/* For a PAGE row that was just added: returns the objects that the row's launch accesses and that
 * have bytes in the page, by address, and their number; valid until the next event. *launch, which
 * may be NULL, is the number of the launch among the recorded ones of its process, from 0. */
PASTA_EXPORT size_t pasta_access_index_page(struct pasta_access_index *index,
					    const struct pasta_event *ev,
					    const struct pasta_access_part **parts,
					    uint64_t *launch);

/* Walk all shapes, objects or sites, in no particular order: start with *at 0; NULL at the end. */
PASTA_EXPORT const struct pasta_access_shape *
pasta_access_index_shapes(const struct pasta_access_index *index, size_t *at);
PASTA_EXPORT const struct pasta_access_object *
pasta_access_index_objects(const struct pasta_access_index *index, size_t *at);
PASTA_EXPORT const struct pasta_access_site *
pasta_access_index_sites(const struct pasta_access_index *index, size_t *at);
/* Return an object or a site by its key, or NULL. */
PASTA_EXPORT const struct pasta_access_object *
pasta_access_index_object(const struct pasta_access_index *index, uint64_t key);
PASTA_EXPORT const struct pasta_access_site *
pasta_access_index_site(const struct pasta_access_index *index, uint64_t key);
/* Visits the scaled rows of a reducer. If visit returns a value other than 0, the function stops
 * and returns it. */
PASTA_EXPORT int pasta_access_index_rows(const struct pasta_access_index *index, uint32_t reducer,
					 int (*visit)(void *ctx,
						      const struct pasta_access_shape *shape,
						      const struct pasta_access_row *row),
					 void *ctx);
PASTA_EXPORT struct pasta_access_totals
pasta_access_index_totals(const struct pasta_access_index *index);

/* Returns the number of launches that the shape's sums are scaled to: all except the filtered ones;
 * 0: none was counted. */
PASTA_EXPORT uint64_t pasta_access_launches(const struct pasta_access_shape *shape);
/* Scales a sum over the shape's counted launches to all launches, rounded. */
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

/* Writes "buffer 3 at main (a.c:12)", "sub-buffer 4 of buffer 3", "object 17 (unknown)". Truncates
 * it to size. Returns text. */
PASTA_EXPORT const char *pasta_access_object_text(const struct pasta_access_index *index,
						  const struct pasta_access_object *object,
						  char *text, size_t size);
/* Returns "(local)", "(outside of objects)": the name of a row without an object. */
PASTA_EXPORT const char *pasta_access_space_text(uint64_t key);
/* Writes "scale (a.cl:12)". Truncates it to size. Returns text. */
PASTA_EXPORT const char *pasta_access_site_text(const struct pasta_site_record *site, char *text,
						size_t size);
/* Reports findings about the counting, in the words of all tools: scaling; kernels and sites that
 * could not be counted, and why; what was dropped, is not known, or did not fit. */
PASTA_EXPORT void pasta_access_index_findings(const struct pasta_access_index *index,
					      struct pasta_out *out);
/* Reports only the exclusions: kernels and sites that could not be counted, and filters. */
PASTA_EXPORT void pasta_access_index_exclusions(const struct pasta_access_index *index,
						struct pasta_out *out);

/*
 * The access index of a tool, declared in its descriptor. The framework creates it before open,
 * delivers each event to it before the tool's own event function, merges the indexes of shards, and
 * frees them after close. If memory runs out, report is not called, and the tool fails with
 * -ENOMEM.
 */
struct pasta_access_index_def {
	uint32_t size;
	uint32_t state_offset; /* of a struct pasta_access_index * in the state */
	uint32_t reducers;     /* as in pasta_access_index_new */
	uint32_t reserved;
	uint64_t kinds; /* mask of the kinds to deliver; 0: PASTA_ACCESS_KINDS */
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
