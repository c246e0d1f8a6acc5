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
 * The heaviest keys. With capacity 0 all keys are kept, and counts are exact. Else there are at
 * most capacity of them, and a key that is new takes the place of the lightest: a count is never
 * too low, and too high by at most its error, which is at most total/capacity; a key that weighs
 * more than that is always there. Numbers past UINT64_MAX stay there, and what is said here of the
 * bounded ones holds until the total does. Each from one thread at a time.
 */
struct pasta_topk;
struct pasta_topk_item {
	uint64_t key, count;
	uint64_t error; /* count - error is never too high; 0 in exact ones */
};
PASTA_EXPORT struct pasta_topk *pasta_topk_new(size_t capacity); /* NULL when out of memory */
PASTA_EXPORT void pasta_topk_free(struct pasta_topk *topk);
/* In O(1) for exact ones, O(log capacity) for others. -ENOMEM: then nothing was added. */
PASTA_EXPORT int pasta_topk_add(struct pasta_topk *topk, uint64_t key, uint64_t weight);
/* All that is in from. Exact ones do not depend on the order of merging. Of bounded ones all that
 * is said above holds for the sum of both; which of the light keys are there, and their counts, may
 * depend on the order. -EINVAL if their capacities are different; -ENOMEM: then a bounded one is
 * as before, and an exact one has some of from. */
PASTA_EXPORT int pasta_topk_merge(struct pasta_topk *into, const struct pasta_topk *from);
PASTA_EXPORT size_t pasta_topk_count(const struct pasta_topk *topk);   /* keys */
PASTA_EXPORT uint64_t pasta_topk_total(const struct pasta_topk *topk); /* of all weights */
/* The first error of add and merge, also of what was merged into it; 0 if all is there. */
PASTA_EXPORT int pasta_topk_error(const struct pasta_topk *topk);
/* The heaviest first, of those that weigh the same the smaller key: at most max are filled in, and
 * how many there are is returned. */
PASTA_EXPORT size_t pasta_topk_items(const struct pasta_topk *topk, struct pasta_topk_item *items,
				     size_t max);
/* A table of interned strings, which the keys are: the text in a column of this name, count, and
 * share of the total in %. Those that weigh the same are in order of their texts. A note says how
 * far the counts of a bounded one may be off. The first error of add and merge is its own. */
PASTA_EXPORT int pasta_out_topk(struct pasta_out *out, const char *table, const char *column,
				const struct pasta_topk *topk);

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
 * How long intervals of two sorts, such as kernels and collectives, cover a line of time: alone and
 * together. Plain data, zeroed: empty. Intervals are given in the order in which they begin; of one
 * that begins before another that was given earlier, what lies before that is left out. One that
 * reaches past UINT64_MAX ends there. Each from one thread at a time; nothing fails.
 */
struct pasta_cover {
	uint64_t at, end[2];
	uint64_t time[4]; /* ns by mask: 1 only the first sort, 2 only the second, 3 both; 0 none,
			   * between the first interval and the last */
	uint64_t count;	  /* intervals that were given */
};
/* sort: 0 or 1. */
PASTA_EXPORT void pasta_cover_add(struct pasta_cover *cover, unsigned int sort, uint64_t begin,
				  uint64_t dur);
/* Count what is given up to the end of the last interval, before time is read. What follows counts
 * from there on only: to go on with intervals that overlap, finish a copy. */
PASTA_EXPORT void pasta_cover_finish(struct pasta_cover *cover);

/*
 * Windows, each with a value. An event has a position, and window n, from 0 on, has the positions
 * from n * step to n * step + size. With step == size they tumble: each event is in one window.
 * Else they slide, and it is in size/step of them, or fewer near 0. Values are kept by pane of
 * step, at most 2^20 panes. They are plain data: zeroed at first, copied, and forgotten. Each from
 * one thread at a time.
 *
 * The position by time is ev->time, in ns; by launches, the number of its process's last launch,
 * from 0, which is also that of what is before the first; by iterations, the index of its process's
 * last iteration. So positions of different processes are the same ones, and their windows add up.
 */
enum pasta_window_unit {
	PASTA_WINDOW_TIME = 1,
	PASTA_WINDOW_LAUNCHES,
	PASTA_WINDOW_ITERATIONS,
};
struct pasta_window_spec {
	enum pasta_window_unit unit;
	uint64_t size; /* a multiple of step, at most 2^16 times as much */
	uint64_t step; /* 0: size */
	size_t value_size;
};
struct pasta_windows;
/* NULL, with *err, for a spec that does not hold, or when out of memory. */
PASTA_EXPORT struct pasta_windows *pasta_windows_new(const struct pasta_window_spec *spec,
						     struct pasta_error *err);
PASTA_EXPORT void pasta_windows_free(struct pasta_windows *windows);
/* The value of this event's pane, aligned to 8. It stays where it is. Launches and iterations are
 * counted here: give it each LAUNCH or ITERATION event of a process once, with the others, in that
 * process's order. NULL before a process's first iteration; and, counted by pasta_windows_lost,
 * when there are too many panes, or no memory. */
PASTA_EXPORT void *pasta_windows_at(struct pasta_windows *windows, const struct pasta_event *ev);
PASTA_EXPORT uint64_t pasta_windows_lost(const struct pasta_windows *windows);
/* All that is in from, as if its events had been given to into; a process's must all be in one of
 * them. combine makes one value of two: it must not matter in which order, and zeroes must change
 * nothing. -EINVAL if they were not made alike; -ENOSPC and -ENOMEM if panes found no place: their
 * events are counted as lost, and all others are there. */
PASTA_EXPORT int pasta_windows_merge(struct pasta_windows *into, const struct pasta_windows *from,
				     void (*combine)(void *into, const void *from));
/* Visit the windows that have events, in order. The value is the visitor's until it returns; not 0
 * ends the walk, and is returned. end is past the last position, and at most UINT64_MAX. combine
 * may be NULL where windows tumble. -ENOMEM. */
PASTA_EXPORT int pasta_windows_each(
	const struct pasta_windows *windows, void (*combine)(void *into, const void *from),
	int (*visit)(void *ctx, uint64_t begin, uint64_t end, const void *value), void *ctx);

#ifdef __cplusplus
}
#endif
#endif
