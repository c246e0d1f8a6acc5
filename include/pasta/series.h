/*
 * series.h - numbers over time: series by key, and windows by key and position.
 *
 * A tool declares its series and windows in the descriptor. The framework creates them before the
 * tool's `open`, merges the series and windows of shards, and frees them after the tool's `close`,
 * as it does with groups:
 *
 *	struct key { uint32_t proc, device; };
 *	struct state { struct pasta_series_set *copied; };
 *
 *	static const struct pasta_series_def series[] = {
 *		PASTA_SERIES(struct state, copied, SUM, struct key, 200), {0}};
 *
 *	pasta_series_add(s->copied, &(struct key){ev->proc, ev->copy.dst}, ev->time,
 *			 ev->copy.bytes);
 *
 *	PASTA_TOOL(..., .series = series);
 *
 * As in groups, keys have no padding, and hold ids, never pointers. Functions that add values
 * return no error: when memory runs out, `report` is not called, and the tool fails with -ENOMEM.
 * Only one thread at a time may use a set.
 */
#ifndef PASTA_SERIES_H
#define PASTA_SERIES_H

#include <pasta/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pasta_chart;
struct pasta_event;
struct pasta_group;
struct pasta_out;
struct pasta_where;

/*
 * -- Series --
 *
 * A set has a series for each key. All series of a set have the same bins, which are intervals of
 * one width: bin n is [n * width, (n + 1) * width). The bins reach from the earliest time to the
 * latest. If this range needs more bins than declared, the width doubles, and pairs of bins are
 * merged. When sets are merged, the result has the wider bins.
 */
enum pasta_series_type {
	/* The value of a bin is the sum of the values added to it. When bins are merged, their
	 * values are added. */
	PASTA_SERIES_SUM = 1,
	/* An added value is the level until the next value is added; before the first value, the
	 * level is 0. A value that arrives late, for an earlier bin, counts for the last bin of its
	 * series. The key should include the process: if two shards have the same key, the greater
	 * level counts. */
	PASTA_SERIES_LEVEL,
};

struct pasta_series_def {
	uint32_t size, type, state_offset;
	uint32_t key_size; /* a multiple of 4 */
	uint32_t bins;	   /* number of bins, 2 to 2^20; a bin takes 16 bytes for each key */
	uint32_t width;	   /* initial width of a bin; 0: 1 */
};

/* clang-format off */
#define PASTA_SERIES(state_type, member, TYPE, key, ...)                                           \
	PASTA_SERIES_(state_type, member, TYPE, key, __VA_ARGS__, )
#define PASTA_SERIES_(state_type, member, TYPE, key, count, ...)                                   \
	{.size = sizeof(struct pasta_series_def), .type = PASTA_SERIES_##TYPE,                     \
	 .state_offset = offsetof(state_type, member), .key_size = sizeof(key), .bins = (count),   \
	 __VA_ARGS__}
/* clang-format on */

struct pasta_series_set;

struct pasta_series_point {
	/* start and width of the bin in ns; the width is capped at UINT64_MAX */
	uint64_t time, width;
	/* for a LEVEL: `last` is the value at the end of the bin; `max` is the maximum in the bin,
	 * including the value at its start */
	uint64_t last, max;
	uint64_t sum; /* SUM; capped at UINT64_MAX */
};

PASTA_EXPORT void pasta_series_add(struct pasta_series_set *set, const void *key, uint64_t time,
				   uint64_t value);
/* Extends the bins of all series to a time, without adding a value. */
PASTA_EXPORT void pasta_series_reach(struct pasta_series_set *set, uint64_t time);
/* Returns the next key, in the order in which keys were added, or NULL at the end. Set *at to 0
 * before the first call. */
PASTA_EXPORT const void *pasta_series_next(const struct pasta_series_set *set, size_t *at);
/* Writes the bins of a key's series to `points`, in order of time, and returns their number. Merges
 * bins until there are at most `max`, which must be at least 1. If the key is unknown, all values
 * are 0. */
PASTA_EXPORT size_t pasta_series_points(struct pasta_series_set *set, const void *key,
					struct pasta_series_point *points, size_t max);
/* Adds a series to a line chart, with at most max + 1 points. A LEVEL has a point for the
 * maximum of each bin, and one for the value at the set's latest time. A SUM has a point for the
 * sum of each bin. Times are relative to the first point, because a double cannot hold ns since
 * 1970 exactly. */
PASTA_EXPORT void pasta_chart_add_series(struct pasta_chart *chart, const char *name,
					 struct pasta_series_set *set, const void *key, size_t max);
/*
 * Shows the series of a group's rows as a table and a line chart. The keys of the group must have
 * the same type as the keys of the set. Rows come in the group's order, without the rows that the
 * group's function `keep` hides. An error fails the report.
 */
struct pasta_series_view {
	uint32_t size; /* set by pasta_out_series */
	/* maximum number of table rows, and of chart points, over all series; each series has at
	 * least one of each */
	uint32_t rows, points;
	uint32_t reserved;
	/* The table has a row for each bin. Its columns are the start of the bin ("time"), the
	 * texts of the group's row, and columns with these names: `last` and `max` for a LEVEL,
	 * `sum` for a SUM. A column whose name is NULL is not shown. */
	const char *table;
	const char *last, *max, *sum, *unit;
	/* Name of the chart, which has a series for each row of the group, named by the texts of
	 * that row. NULL: there is no chart. */
	const char *chart;
};
PASTA_EXPORT void pasta_out_series_view(struct pasta_out *out, struct pasta_series_set *set,
					struct pasta_group *group,
					const struct pasta_series_view *view);
/* Shows series: pasta_out_series(out, s->busy, s->kernels, .rows = 200, .table = "busy"). */
/* clang-format off */
#define pasta_out_series(out, set, group, ...)                                                     \
	do {                                                                                       \
		_Pragma("GCC diagnostic push")                                                     \
		_Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"")                 \
		const struct pasta_series_view pasta_view_ = {                                     \
			.size = sizeof(struct pasta_series_view), __VA_ARGS__};                    \
		_Pragma("GCC diagnostic pop")                                                      \
		pasta_out_series_view((out), (set), (group), &pasta_view_);                        \
	} while (0)
/* clang-format on */
/* Returns 0, or -ENOMEM if memory ran out. */
PASTA_EXPORT int pasta_series_error(const struct pasta_series_set *set);

/*
 * -- Windows --
 *
 * Each key has windows, and each window has a value. Window n, from 0 on, covers the positions from
 * n * step to n * step + length. If `step` equals `length`, windows tumble: each position is in one
 * window. If not, windows slide: each position is in length / step windows, or in fewer near 0.
 * Values are plain data. Each key stores one value for each step that has data; all keys together
 * store at most 2^20 values.
 */
struct pasta_window_def {
	uint32_t size, state_offset; /* PASTA_WINDOWS sets these and value_size */
	uint32_t value_size;	     /* size of a value, which is aligned to 8 and initially zero */
	/* size of a key, a multiple of 4; 0: there is only one key, which is NULL */
	uint32_t key_size;
	uint64_t length; /* length of a window: a multiple of step, at most 2^16 steps */
	uint64_t step;	 /* 0: length */
	/* Merges two values. The result must not depend on their order, and merging a zeroed
	 * value must change nothing. May be NULL if windows do not overlap and the tool is not
	 * sharded. */
	void (*merge)(void *into, const void *from);
	const char *length_option; /* the tool's option that sets the length, or NULL */
};

/* clang-format off */
#define PASTA_WINDOWS(state_type, member, value, ...)                                              \
	{.size = sizeof(struct pasta_window_def), .state_offset = offsetof(state_type, member),    \
	 .value_size = sizeof(value), __VA_ARGS__}
/* clang-format on */

struct pasta_windows;

/* Returns the value of the step that contains a position, and adds a zeroed value if the step has
 * none. Never NULL: if the position is UINT64_MAX, if there are too many values, or if memory runs
 * out, the function returns a spare value that is never shown. In the last two cases,
 * pasta_windows_dropped counts the call. */
PASTA_EXPORT void *pasta_windows_at(struct pasta_windows *windows, const void *key,
				    uint64_t position);
/* Calls `visit` for each window that has data, key by key in the order in which keys were added,
 * and by position. The value is valid until `visit` returns. `end` is the position after the
 * window's last position, capped at UINT64_MAX. If `visit` returns a value other than 0, the
 * function stops and returns that value. Returns -ENOMEM when out of memory. */
PASTA_EXPORT int pasta_windows_each(const struct pasta_windows *windows,
				    int (*visit)(void *ctx, const void *key, uint64_t begin,
						 uint64_t end, const void *value),
				    void *ctx);
PASTA_EXPORT uint64_t pasta_windows_dropped(const struct pasta_windows *windows);
/* Returns 0, or -ENOMEM if memory ran out. */
PASTA_EXPORT int pasta_windows_error(const struct pasta_windows *windows);

/*
 * Returns the position of an event. LAUNCH and ITERATION need PASTA_NEED_SCOPES, and the `where`
 * that came with the event; for TIME, `where` may be NULL. Launches and iterations are numbered
 * from 0 in each process: if the key does not name the process, launch 5 of one process is in the
 * same windows as launch 5 of another process.
 *
 * 	TIME:      ev->time.
 * 	LAUNCH:    for a launch and its work, the number of the launch; for other events, the number
 * 		   of the latest launch of the process.
 * 	ITERATION: the index of the iteration that the event belongs to.
 *
 * Returns UINT64_MAX if the event is before the first launch or iteration, or if its launch is not
 * known.
 */
enum pasta_position { PASTA_POSITION_TIME = 1, PASTA_POSITION_LAUNCH, PASTA_POSITION_ITERATION };
PASTA_EXPORT uint64_t pasta_event_position(const struct pasta_event *ev,
					   const struct pasta_where *where,
					   enum pasta_position position);

#ifdef __cplusplus
}
#endif
#endif
