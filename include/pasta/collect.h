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
 * A map from 64-bit keys (an id, an address, a pair of 32-bit numbers) to values of one size,
 * aligned to 8. A value does not move until it is removed. One thread at a time for each map.
 * pasta_map_new returns NULL when out of memory.
 */
struct pasta_map;
PASTA_EXPORT struct pasta_map *pasta_map_new(size_t value_size);
PASTA_EXPORT void pasta_map_free(struct pasta_map *map);
/* Return the key's value. If there is none, find returns NULL, and add adds a zeroed value; NULL:
 * out of memory. */
PASTA_EXPORT void *pasta_map_find(const struct pasta_map *map, uint64_t key);
PASTA_EXPORT void *pasta_map_add(struct pasta_map *map, uint64_t key);
PASTA_EXPORT void pasta_map_remove(struct pasta_map *map, uint64_t key);
PASTA_EXPORT size_t pasta_map_count(const struct pasta_map *map);
/* Walks the values: start with *at 0; NULL at the end. key may be NULL. The order is that of adding
 * if nothing was removed. Do not add or remove during a walk. */
PASTA_EXPORT void *pasta_map_next(const struct pasta_map *map, size_t *at, uint64_t *key);
/* Returns an array of pointers to all values, sorted by qsort, with a NULL at the end. order gets
 * pointers to two of these pointers. Free the array; the map owns the values. NULL: out of
 * memory. */
PASTA_EXPORT void *pasta_map_sorted(const struct pasta_map *map,
				    int (*order)(const void *, const void *));

/* Returns two numbers as one key. */
static inline uint64_t pasta_pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

/*
 * Values that wait for a matching event, such as launches for their kernels: of one size, aligned
 * to 8, by process and correlation id. At most limit values wait: another one replaces the oldest,
 * so events that never come don't fill the memory. A value does not move until it is removed or
 * replaced. One thread at a time for each. pasta_pending_new returns NULL when out of memory.
 */
struct pasta_pending;
PASTA_EXPORT struct pasta_pending *pasta_pending_new(size_t value_size, size_t limit);
PASTA_EXPORT void pasta_pending_free(struct pasta_pending *pending);
/* Return the value. If there is none, find returns NULL, and add adds a zeroed value as the
 * youngest; NULL: out of memory. */
PASTA_EXPORT void *pasta_pending_find(struct pasta_pending *pending, uint32_t proc, uint64_t corr);
PASTA_EXPORT void *pasta_pending_add(struct pasta_pending *pending, uint32_t proc, uint64_t corr);
PASTA_EXPORT void pasta_pending_remove(struct pasta_pending *pending, uint32_t proc, uint64_t corr);
PASTA_EXPORT size_t pasta_pending_count(const struct pasta_pending *pending);

/*
 * Collectives that wait for their kernels. A collective event comes before its kernel's, and has
 * the same process and correlation id. A collective without a correlation id, 0, has the time of
 * its kernel. The values of waiting must begin with a uint64_t, in which these functions store the
 * time of the collective.
 */
/* Returns the value of a collective event: a new one, or the one of an earlier collective with the
 * same correlation id that still waits. NULL: out of memory. */
PASTA_EXPORT void *pasta_collective_wait(struct pasta_pending *waiting,
					 const struct pasta_event *collective);
/* Returns the value of a kernel's collective; NULL: the kernel belongs to none. */
PASTA_EXPORT void *pasta_collective_find(struct pasta_pending *waiting,
					 const struct pasta_event *kernel);
/* Removes the value that find returned for the kernel. Call it for each kernel: all kernels of a
 * graph share one correlation id, and each collective has an event of its own. */
PASTA_EXPORT void pasta_collective_done(struct pasta_pending *waiting,
					const struct pasta_event *kernel);

/*
 * A log-linear histogram of 64-bit numbers. count, sum, min and max are exact (a sum is capped at
 * UINT64_MAX); quantiles are at most 1/64 off the true value, and exact below 64. A histogram needs
 * at most 16 KiB, and usually 256 bytes for each power of two between the numbers. One thread at a
 * time for each.
 */
struct pasta_hist;
PASTA_EXPORT struct pasta_hist *pasta_hist_new(void); /* NULL when out of memory */
PASTA_EXPORT void pasta_hist_free(struct pasta_hist *hist);
/* Add a value count times; add everything in from. Return 0, -ENOMEM, or -EOVERFLOW past UINT64_MAX
 * numbers; after an error, nothing was added. */
PASTA_EXPORT int pasta_hist_add(struct pasta_hist *hist, uint64_t value, uint64_t count);
PASTA_EXPORT int pasta_hist_merge(struct pasta_hist *into, const struct pasta_hist *from);
/* For an empty histogram all of these are 0. */
PASTA_EXPORT uint64_t pasta_hist_count(const struct pasta_hist *hist);
PASTA_EXPORT uint64_t pasta_hist_sum(const struct pasta_hist *hist);
PASTA_EXPORT uint64_t pasta_hist_min(const struct pasta_hist *hist);
PASTA_EXPORT uint64_t pasta_hist_max(const struct pasta_hist *hist);
/* Returns the ceil(q * count)-th value in order: 0.5 is the median; q <= 0 is min, 1 is max. */
PASTA_EXPORT uint64_t pasta_hist_quantile(const struct pasta_hist *hist, double q);

/*
 * A map from ranges of addresses, [begin, begin + size), to values of one size, aligned to 8. No
 * two ranges overlap. A value does not move until it is removed. All functions are O(log count).
 * One thread at a time for each.
 */
struct pasta_ranges;
PASTA_EXPORT struct pasta_ranges *pasta_ranges_new(size_t value_size); /* NULL: out of memory */
PASTA_EXPORT void pasta_ranges_free(struct pasta_ranges *ranges);
/* Adds a range, and returns its zeroed value. Removes the ranges that it overlaps, which must have
 * been freed without an event; *gone, which may be NULL, is their number. Returns NULL when out of
 * memory, and for a range that is empty or reaches past UINT64_MAX; then nothing has changed. */
PASTA_EXPORT void *pasta_ranges_add(struct pasta_ranges *ranges, uint64_t begin, uint64_t size,
				    size_t *gone);
/* Returns the value of the range that contains addr, or NULL. begin and size may be NULL. */
PASTA_EXPORT void *pasta_ranges_find(const struct pasta_ranges *ranges, uint64_t addr,
				     uint64_t *begin, uint64_t *size);
/* Removes the range that begins at an address. -ENOENT: there is none. */
PASTA_EXPORT int pasta_ranges_remove(struct pasta_ranges *ranges, uint64_t begin);
PASTA_EXPORT size_t pasta_ranges_count(const struct pasta_ranges *ranges);
/* Returns the range that contains addr, or else the first one after it; NULL at the end. Ranges may
 * be added and removed during a walk. To visit all ranges that overlap [a, b), where a < b:
 *	for (at = a; (v = pasta_ranges_next(r, at, &begin, &size)) && begin < b; at = begin + size)
 */
PASTA_EXPORT void *pasta_ranges_next(const struct pasta_ranges *ranges, uint64_t addr,
				     uint64_t *begin, uint64_t *size);

/*
 * The time that intervals of two types, such as kernels and collectives, cover alone and together.
 * Plain data: zero it before use. Add intervals in order of their begins; the part of an interval
 * that lies before the begin of the previous one is ignored. An interval that reaches past
 * UINT64_MAX ends there. One thread at a time for each; no function fails.
 */
struct pasta_cover {
	uint64_t at, end[2];
	uint64_t time[4]; /* ns by mask: 1 only the first type, 2 only the second, 3 both; 0
			   * neither, between the first interval and the last */
	uint64_t count;	  /* intervals added */
};
/* type: 0 or 1. */
PASTA_EXPORT void pasta_cover_add(struct pasta_cover *cover, unsigned int type, uint64_t begin,
				  uint64_t dur);
/* Completes time up to the end of the last interval; call it before you read time. Later intervals
 * count only from there on: to add overlapping ones afterwards, finish a copy instead. */
PASTA_EXPORT void pasta_cover_finish(struct pasta_cover *cover);

#ifdef __cplusplus
}
#endif
#endif
