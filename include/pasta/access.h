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
 * Raw memory accesses: those of an access_batch, which are of one launch, and in the order in which
 * one thread of the host, or one part of a device, made them. fn is called for each; what it
 * returns, if it is not 0, ends that, and is returned. They are read from a file of the run's that
 * ev names, 64 Ki accesses at most: it takes a millisecond or so. launch has the lowest 32 bits of
 * ev->access_batch.corr. Any thread, while the stream that ev is of is read: at once, or later with
 * a copy of ev, but before report returns. -EINVAL: ev is another kind, or the file is damaged
 * there; -ENODATA: it was cut short; -ENOENT, -EACCES and so on: it cannot be read; -ENOMEM. fn was
 * not called then, and err, which may be NULL, says what to do.
 */
typedef int (*pasta_access_fn)(void *arg, const struct pasta_access *access);
PASTA_EXPORT int pasta_accesses_each(const struct pasta_event *ev, pasta_access_fn fn, void *arg,
				     struct pasta_error *err);

/*
 * A book of memory accesses: whose they are, for tools that need PASTA_NEED_ACCESS_*. It is given
 * events, keeps sums by kernel and range of launches, and is asked when the tool reports. Launches
 * are counted or sampled out; what is asked for is scaled to all, by kernel and range. Sums stay
 * below 2^63: what is more is INT64_MAX, and pasta_access_index_findings says so. Each from one
 * thread at a time; what it returns lives as long as the book.
 */
struct pasta_access_index;
/* The kinds that it takes; others are left alone. */
#define PASTA_ACCESS_KINDS                                                                         \
	(PASTA_MASK(ALLOC) | PASTA_MASK(FREE) | PASTA_MASK(OBJECT) | PASTA_MASK(SITE) |            \
	 PASTA_MASK(ACCESS_LAUNCH) | PASTA_MASK(ACCESS_SUM) | PASTA_MASK(PROCESS))
#define PASTA_ACCESS_PAGE UINT64_C(4096) /* bytes of a page that rows are of */

/* A kernel over one range, in one process: launches are sampled by it. Sums and maxima are of the
 * launches that were counted, as they were. */
struct pasta_access_shape {
	uint64_t key; /* the same in all books, and no other shape's */
	uint64_t shape;
	uint32_t proc, name; /* the kernel's */
	uint32_t registered; /* 0: it has rows, but no launch record */
	uint32_t detail;     /* why the last one was refused, or 0 */
	uint64_t counted, sampled, filtered, refused;
	uint64_t partial; /* of those that were counted: only one block in some was */
	uint64_t blocks;  /* the most such some; 1: none was partial */
	uint64_t bytes;	  /* accessed in objects */
	uint64_t footprint, footprint_max; /* bytes of pages that are objects', of a launch */
	uint64_t objects, objects_max;	   /* that a launch accesses */
	uint64_t live;			   /* bytes that are allocated at a launch */
	uint64_t live_touched;		   /* bytes of footprint that are some of those */
};

/* Memory that accesses are counted for: an allocation, wherever its devices have it; or, where that
 * is not known, what has a number as rows name it. */
struct pasta_access_object {
	uint64_t key;	 /* the same in all books, and no other object's; never a row's special */
	uint64_t parent; /* key of what it is a part of, or 0 */
	uint64_t number; /* of the allocation, in its process, from 1; 0: it is not known */
	uint64_t id;	 /* of the first object that is it, as rows name it; 0: a part is one */
	uint64_t addr;	 /* that accesses had first, or 0 */
	uint64_t bytes;	 /* 0: not known */
	uint32_t proc, name, stack;
	uint32_t type; /* enum pasta_alloc_sub */
	uint32_t part; /* 1: of another allocation */
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

/* Sums of a shape and an object or a site, scaled to all its launches, and to all their blocks. key
 * is the object's or site's, or PASTA_OBJECT_NONE, a space, or PASTA_KEY_OTHER. Of by-site tables 5
 * and 6 loads and stores are requests; active, of 6, is the sum of their active threads. Of table 7
 * key is that of a bucket; it and 8 are not scaled to all blocks. Those of 9, a tool's own, are
 * taken for sites, whatever key1 is; so are those of 10, whose stores are threads. most is not
 * scaled: bytes of the row that has most of them. bytes_read and bytes_written are bytes, split: an
 * atomic reads its bytes and writes them. Both are UINT64_MAX where that is not known: of tables 7
 * to 10, of runs of an older accelprof, and where a GPU's table had no room. */
struct pasta_access_row {
	uint64_t key, loads, stores, bytes, extra, active, most;
	uint64_t bytes_read, bytes_written;
};

/* What a page has of an object. */
struct pasta_access_part {
	const struct pasta_access_object *object;
	uint64_t page;	/* in the object, from 0 */
	uint64_t bytes; /* of the page that are the object's */
};

/* Of all launches. Those that were sampled out of shapes of which none could be counted are
 * refused. */
struct pasta_access_totals {
	uint64_t counted, sampled, filtered, refused;
	uint64_t partial, blocks; /* as a shape's */
	uint64_t unregistered;	  /* shapes with rows, but no launch record */
	uint64_t lost;		  /* accesses that were not counted */
	uint64_t page_other;	  /* accesses to pages that a table had no room for */
	uint64_t untouched,
		untouched_bytes; /* allocations that are no objects; but host's and images */
	uint64_t unended;	 /* counted, but their sums are not all there */
	uint64_t scaled;	 /* not counted, but others of their shape stand for them */
};

/* reducers: mask of PASTA_REDUCER_MASK of those whose rows are kept; by page nothing is kept but
 * footprints, and SITE_OBJECT not at all. NULL when out of memory. */
PASTA_EXPORT struct pasta_access_index *pasta_access_index_new(uint32_t reducers);
PASTA_EXPORT void pasta_access_index_free(struct pasta_access_index *book);
/* Events of a process in its order. Where memory runs out, error is -ENOMEM from then on. */
PASTA_EXPORT void pasta_access_index_event(struct pasta_access_index *book,
					   const struct pasta_event *ev);
PASTA_EXPORT int pasta_access_index_error(const struct pasta_access_index *book);
/* All that is in from; a process's events must all be in one of them. -ENOMEM. */
PASTA_EXPORT int pasta_access_index_merge(struct pasta_access_index *into,
					  const struct pasta_access_index *from);
/* Of a row by page that the book was just given: the objects that its launch accesses and that have
 * bytes in the page, by address, and how many; until the next event. *launch, which may be NULL, is
 * the number of the row's launch among the recorded ones of its process, from 0. */
PASTA_EXPORT size_t pasta_access_index_page(struct pasta_access_index *book,
					    const struct pasta_event *ev,
					    const struct pasta_access_part **parts,
					    uint64_t *launch);

/* Walks, with *at 0 at first and NULL at the end, in no order that means anything. */
PASTA_EXPORT const struct pasta_access_shape *
pasta_access_index_shapes(const struct pasta_access_index *book, size_t *at);
PASTA_EXPORT const struct pasta_access_object *
pasta_access_index_objects(const struct pasta_access_index *book, size_t *at);
PASTA_EXPORT const struct pasta_access_site *
pasta_access_index_sites(const struct pasta_access_index *book, size_t *at);
/* By their keys; NULL if there is none. */
PASTA_EXPORT const struct pasta_access_object *
pasta_access_index_object(const struct pasta_access_index *book, uint64_t key);
PASTA_EXPORT const struct pasta_access_site *
pasta_access_index_site(const struct pasta_access_index *book, uint64_t key);
/* Visit the rows of a reducer, scaled. Not 0 ends it, and is returned. */
PASTA_EXPORT int pasta_access_index_rows(const struct pasta_access_index *book, uint32_t reducer,
					 int (*visit)(void *ctx,
						      const struct pasta_access_shape *shape,
						      const struct pasta_access_row *row),
					 void *ctx);
PASTA_EXPORT struct pasta_access_totals
pasta_access_index_totals(const struct pasta_access_index *book);

/* How many launches the shape's sums are scaled to: all but those that a filter left out; 0: none
 * was counted. */
PASTA_EXPORT uint64_t pasta_access_launches(const struct pasta_access_shape *shape);
/* A sum of the shape's counted launches, scaled to all of them, rounded. */
PASTA_EXPORT uint64_t pasta_access_scale(const struct pasta_access_shape *shape, uint64_t sum);
/* A sum that stays at INT64_MAX when it gets there. */
static inline uint64_t pasta_access_add(uint64_t a, uint64_t b)
{
	return a > INT64_MAX || b > (uint64_t)INT64_MAX - a ? (uint64_t)INT64_MAX : a + b;
}
static inline void pasta_access_add_to(uint64_t *sum, uint64_t more)
{
	*sum = pasta_access_add(*sum, more);
}

/* "buffer 3 at main (a.c:12)", "sub-buffer 4 of buffer 3", "object 17 (unknown)".
 * Cut at size, and returned. */
PASTA_EXPORT const char *pasta_access_object_text(const struct pasta_access_index *book,
						  const struct pasta_access_object *object,
						  char *text, size_t size);
/* "(local)", "(outside of objects)": of a row whose key is none of an object's. */
PASTA_EXPORT const char *pasta_access_space_text(uint64_t key);
/* "scale (a.cl:12)". Cut at size, and returned. */
PASTA_EXPORT const char *pasta_access_site_text(const struct pasta_site_record *site, char *text,
						size_t size);
/* What all tools say of how it was counted: that numbers are scaled; kernels, and places in them,
 * that could not be, and why; what was lost, is not known, or does not fit. */
PASTA_EXPORT void pasta_access_index_findings(const struct pasta_access_index *book,
					      struct pasta_out *out);
/* Of these only what is left out: kernels and places that could not be counted, and what filters
 * chose. */
PASTA_EXPORT void pasta_access_index_exclusions(const struct pasta_access_index *book,
						struct pasta_out *out);

/*
 * The book of a tool, named in its descriptor. The framework makes it before open, gives it each
 * event before the tool's own event, merges those of shards, and frees it after close. If it runs
 * out of memory, report is not called, and the tool's result is -ENOMEM.
 */
struct pasta_access_index_def {
	uint32_t size;
	uint32_t state_offset; /* of a struct pasta_access_index * in the state */
	uint32_t reducers;     /* as of pasta_access_index_new */
	uint32_t reserved;
	uint64_t kinds; /* mask of the kinds that it is given; 0: PASTA_ACCESS_KINDS */
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
