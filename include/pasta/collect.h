/* collect.h - containers for a tool's state: maps, pending values, histograms, ranges, cover. */
#ifndef PASTA_COLLECT_H
#define PASTA_COLLECT_H

#include <pasta/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pasta_event;
struct pasta_out;

/*
 * A map from 64-bit keys (an id, an address, two 32-bit numbers side by side) to values of one
 * size, aligned to 8. A value stays where it is until it is removed. Any number of maps; each from
 * one thread at a time. NULL when out of memory.
 */
struct pasta_map;
PASTA_EXPORT struct pasta_map *pasta_map_new(size_t value_size);
PASTA_EXPORT void pasta_map_free(struct pasta_map *map);
/* The key's value: NULL if it is not there; or added, zeroed, if it is not there. */
PASTA_EXPORT void *pasta_map_find(const struct pasta_map *map, uint64_t key);
PASTA_EXPORT void *pasta_map_add(struct pasta_map *map, uint64_t key);
PASTA_EXPORT void pasta_map_remove(struct pasta_map *map, uint64_t key);
PASTA_EXPORT size_t pasta_map_count(const struct pasta_map *map);
/* Walk: start with *at 0; NULL at the end. key may be NULL. In order of adding, as long as nothing
 * is removed; do not add or remove while walking. */
PASTA_EXPORT void *pasta_map_next(const struct pasta_map *map, size_t *at, uint64_t *key);
/* The values, pasta_map_count of them and NULL, as qsort puts them in order: it gets pointers to
 * two of these pointers. To be freed; the values stay the map's. NULL when out of memory. */
PASTA_EXPORT void *pasta_map_sorted(const struct pasta_map *map,
				    int (*order)(const void *, const void *));

/* Two numbers side by side, as a key. */
static inline uint64_t pasta_pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

/*
 * What waits for its other half, as a launch for its kernel: values of one size, aligned to 8, by
 * process and correlation. At most limit wait: then the oldest goes, so that halves which never
 * come do not fill the memory. A value stays where it is until it is removed or goes. Each from one
 * thread at a time. NULL when out of memory.
 */
struct pasta_pending;
PASTA_EXPORT struct pasta_pending *pasta_pending_new(size_t value_size, size_t limit);
PASTA_EXPORT void pasta_pending_free(struct pasta_pending *pending);
/* The value: NULL if it is not there; or added, zeroed and the youngest, if it is not there. */
PASTA_EXPORT void *pasta_pending_find(struct pasta_pending *pending, uint32_t proc, uint64_t corr);
PASTA_EXPORT void *pasta_pending_add(struct pasta_pending *pending, uint32_t proc, uint64_t corr);
PASTA_EXPORT void pasta_pending_remove(struct pasta_pending *pending, uint32_t proc, uint64_t corr);
PASTA_EXPORT size_t pasta_pending_count(const struct pasta_pending *pending);

/*
 * Collectives, which wait for the kernels that do them: a collective comes before its kernel and
 * has its process and correlation. A correlation of 0 is none: such a kernel is the collective that
 * has its time. Values of waiting begin with a uint64_t, which is the time of the collective and is
 * set here.
 */
/* The value of a collective event: a new one, or that of another one of the same correlation whose
 * kernel has not come. NULL when out of memory. */
PASTA_EXPORT void *pasta_collective_wait(struct pasta_pending *waiting,
					 const struct pasta_event *collective);
/* The value of the collective that a kernel event does; NULL: it does none. */
PASTA_EXPORT void *pasta_collective_find(struct pasta_pending *waiting,
					 const struct pasta_event *kernel);
/* Remove what find gave for the kernel: kernels of a graph have one correlation, and each
 * collective of it an event of its own. */
PASTA_EXPORT void pasta_collective_done(struct pasta_pending *waiting,
					const struct pasta_event *kernel);

/*
 * A histogram of 64-bit numbers, log-linear: count, sum, min and max are exact (a sum past
 * UINT64_MAX stays there), quantiles are at most 1/64 of the true value away from it, and exact
 * below 64. At most 16 KiB, whatever the numbers; 256 bytes for each power of two between them are
 * usual. Each from one thread at a time.
 */
struct pasta_hist;
PASTA_EXPORT struct pasta_hist *pasta_hist_new(void); /* NULL when out of memory */
PASTA_EXPORT void pasta_hist_free(struct pasta_hist *hist);
/* The value, count times; all that is in from. -ENOMEM, or -EOVERFLOW past UINT64_MAX numbers: then
 * nothing was added. */
PASTA_EXPORT int pasta_hist_add(struct pasta_hist *hist, uint64_t value, uint64_t count);
PASTA_EXPORT int pasta_hist_merge(struct pasta_hist *into, const struct pasta_hist *from);
/* Of an empty one all of these are 0. */
PASTA_EXPORT uint64_t pasta_hist_count(const struct pasta_hist *hist);
PASTA_EXPORT uint64_t pasta_hist_sum(const struct pasta_hist *hist);
PASTA_EXPORT uint64_t pasta_hist_min(const struct pasta_hist *hist);
PASTA_EXPORT uint64_t pasta_hist_max(const struct pasta_hist *hist);
/* The value that is the ceil(q * count)-th in order: 0.5 is the median; q <= 0 is min, 1 max. */
PASTA_EXPORT uint64_t pasta_hist_quantile(const struct pasta_hist *hist, double q);

/*
 * A map from ranges of addresses, [begin, begin + size), to values of one size, aligned to 8. No
 * two ranges overlap. A value stays where it is until it is removed. All is O(log count). Each from
 * one thread at a time.
 */
struct pasta_ranges;
PASTA_EXPORT struct pasta_ranges *pasta_ranges_new(size_t value_size); /* NULL: out of memory */
PASTA_EXPORT void pasta_ranges_free(struct pasta_ranges *ranges);
/* A new range's value, zeroed. What it overlaps is removed, for it must have been freed and nobody
 * said so; *gone, which may be NULL, is how many. NULL when out of memory, and for a range that is
 * empty or reaches past UINT64_MAX: then nothing has changed. */
PASTA_EXPORT void *pasta_ranges_add(struct pasta_ranges *ranges, uint64_t begin, uint64_t size,
				    size_t *gone);
/* The value of the range that contains addr, or NULL. begin and size may be NULL. */
PASTA_EXPORT void *pasta_ranges_find(const struct pasta_ranges *ranges, uint64_t addr,
				     uint64_t *begin, uint64_t *size);
/* The range that begins there. -ENOENT if there is none. */
PASTA_EXPORT int pasta_ranges_remove(struct pasta_ranges *ranges, uint64_t begin);
PASTA_EXPORT size_t pasta_ranges_count(const struct pasta_ranges *ranges);
/* Walk, in order of address: the range that contains addr, or else the first one after it; NULL at
 * the end. Ranges may be added and removed on the way. All that overlap [a, b), where a < b:
 *	for (at = a; (v = pasta_ranges_next(r, at, &begin, &size)) && begin < b; at = begin + size)
 */
PASTA_EXPORT void *pasta_ranges_next(const struct pasta_ranges *ranges, uint64_t addr,
				     uint64_t *begin, uint64_t *size);

/*
 * How long intervals of two types, such as kernels and collectives, cover a line of time: alone and
 * together. Plain data, zeroed: empty. Intervals are given in the order in which they begin; of one
 * that begins before another that was given earlier, what lies before that is left out. One that
 * reaches past UINT64_MAX ends there. Each from one thread at a time; nothing fails.
 */
struct pasta_cover {
	uint64_t at, end[2];
	uint64_t time[4]; /* ns by mask: 1 only the first type, 2 only the second, 3 both; 0 none,
			   * between the first interval and the last */
	uint64_t count;	  /* intervals that were given */
};
/* type: 0 or 1. */
PASTA_EXPORT void pasta_cover_add(struct pasta_cover *cover, unsigned int type, uint64_t begin,
				  uint64_t dur);
/* Count what is given up to the end of the last interval, before time is read. What follows counts
 * from there on only: to go on with intervals that overlap, finish a copy. */
PASTA_EXPORT void pasta_cover_finish(struct pasta_cover *cover);

#ifdef __cplusplus
}
#endif
#endif
