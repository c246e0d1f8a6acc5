/*
 * series.h - numbers over time: series by key, and windows by key and position.
 *
 * A tool names its series and windows in the descriptor. The framework makes them before open,
 * merges those of shards, and frees them after close, as it does with groups:
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
 * Keys have no padding and hold ids, never pointers, as those of groups. No function returns an
 * error: where memory runs out, report is not called, and the tool's result is -ENOMEM. Each set
 * from one thread at a time.
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
 * A set has a series for each key. All of them share their bins, which are intervals of one width:
 * bin n is [n * width, (n + 1) * width). The bins of a set reach from the earliest time to the
 * latest. Where that takes more bins than declared, the width doubles, and two bins become one.
 * When sets are merged, the one with the shorter bins gets the longer ones.
 */
enum pasta_series_type {
	/* What is added in a bin is summed up. Merging adds. */
	PASTA_SERIES_SUM = 1,
	/* A value holds from its time on, until the next one; before the first it is 0. A value
	 * that comes late, in an earlier bin, counts for the last bin of its series. The key should
	 * name the process: of a key in two shards the greater level counts. */
	PASTA_SERIES_LEVEL,
};

struct pasta_series_def {
	uint32_t size, type, state_offset;
	uint32_t key_size; /* a multiple of 4 */
	uint32_t bins;	   /* 2 to 2^20; each takes 16 bytes a key */
	uint32_t width;	   /* of a bin at first; 0: 1 */
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
	uint64_t time, width; /* of the bin; a width past UINT64_MAX is that */
	uint64_t last, max;   /* LEVEL: at its end, and the most in it, its begin included */
	uint64_t sum;	      /* SUM; past UINT64_MAX it stays there */
};

PASTA_EXPORT void pasta_series_add(struct pasta_series_set *set, const void *key, uint64_t time,
				   uint64_t value);
/* Have the bins reach to a time, without a value. */
PASTA_EXPORT void pasta_series_reach(struct pasta_series_set *set, uint64_t time);
/* Walk the keys in the order of adding: start with *at 0; NULL at the end. */
PASTA_EXPORT const void *pasta_series_next(const struct pasta_series_set *set, size_t *at);
/* All bins of the set for a key, in order, folded until there are at most max of them, which is at
 * least 1. Returns how many there are. A key that was never added is 0 in all of them. */
PASTA_EXPORT size_t pasta_series_points(struct pasta_series_set *set, const void *key,
					struct pasta_series_point *points, size_t max);
/* A series of a line chart: the max of each point of a LEVEL, and its value at the set's latest
 * time; the sum of each point of a SUM. At most max points, and one. Times count from the first
 * point on: a chart's numbers do not hold ns since 1970. */
PASTA_EXPORT void pasta_chart_add_series(struct pasta_chart *chart, const char *name,
					 struct pasta_series_set *set, const void *key, size_t max);
/*
 * The series of a group's rows, whose keys are those of the set, as a table and a line chart. Rows
 * come in the group's order, without those that its keep hides. What is wrong makes the report
 * fail.
 */
struct pasta_series_view {
	uint32_t size;	       /* pasta_out_series sets it */
	uint32_t rows, points; /* at most, of all series together; each series has at least one */
	uint32_t reserved;
	/* The table has a row for each bin: its begin as "time", the texts of the group's row, and
	 * columns of these names. A LEVEL has last and max, a SUM has sum. NULL: no such column. */
	const char *table;
	const char *last, *max, *sum, *unit;
	/* The chart has a series for each row of the group, named by the row's texts. NULL: there
	 * is no chart. */
	const char *chart;
};
PASTA_EXPORT void pasta_out_series_view(struct pasta_out *out, struct pasta_series_set *set,
					struct pasta_group *group,
					const struct pasta_series_view *view);
/* From initializers: pasta_out_series(out, s->busy, s->kernels, .rows = 200, .table = "busy"). */
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
/* -ENOMEM if something found no memory. */
PASTA_EXPORT int pasta_series_error(const struct pasta_series_set *set);

/*
 * -- Windows --
 *
 * Each key has windows, and each window has a value. Window n, from 0 on, has the positions from
 * n * step to n * step + length. With step equal to length they tumble: a position is in one
 * window. Otherwise they slide, and it is in length / step of them, or fewer near 0. Values are
 * plain data, stored by pane of one step: at most 2^20 panes of all keys.
 */
struct pasta_window_def {
	uint32_t size, state_offset; /* PASTA_WINDOWS sets these and value_size */
	uint32_t value_size;	     /* a value is aligned to 8, and zero at first */
	uint32_t key_size;	     /* a multiple of 4; 0: there is one key, NULL */
	uint64_t length;	     /* a multiple of step, at most 2^16 times as much */
	uint64_t step;		     /* 0: length */
	/* Make one value of two. The order must not matter, and zeroes must change nothing. It may
	 * be NULL where windows tumble, if the tool has one state. */
	void (*merge)(void *into, const void *from);
	const char *length_option; /* an option of the tool that is the length, or NULL */
};

/* clang-format off */
#define PASTA_WINDOWS(state_type, member, value, ...)                                              \
	{.size = sizeof(struct pasta_window_def), .state_offset = offsetof(state_type, member),    \
	 .value_size = sizeof(value), __VA_ARGS__}
/* clang-format on */

struct pasta_windows;

/* The value of the position's pane. Never NULL: a position without a pane gets a value that nobody
 * sees. UINT64_MAX is such a position. Past the most panes, and without memory, the call is also
 * counted as dropped. */
PASTA_EXPORT void *pasta_windows_at(struct pasta_windows *windows, const void *key,
				    uint64_t position);
/* Visit all windows that have a pane: key by key, in the order in which the keys came, and by
 * position. The value is valid until visit returns. A result other than 0 ends the walk and is
 * returned. end is past the last position, and at most UINT64_MAX. -ENOMEM. */
PASTA_EXPORT int pasta_windows_each(const struct pasta_windows *windows,
				    int (*visit)(void *ctx, const void *key, uint64_t begin,
						 uint64_t end, const void *value),
				    void *ctx);
PASTA_EXPORT uint64_t pasta_windows_dropped(const struct pasta_windows *windows);
/* -ENOMEM if a pane found no memory. */
PASTA_EXPORT int pasta_windows_error(const struct pasta_windows *windows);

/*
 * The position of an event. LAUNCH and ITERATION need PASTA_NEED_SCOPES, and where that came with
 * the event; for TIME it may be NULL. Launches and iterations count from 0 in each process, so
 * windows of several processes show the same part of each.
 *
 *	TIME       ev->time
 *	LAUNCH     the number of the launch that the event belongs to: its own, for a launch and its
 *		   work; otherwise the latest of its process
 *	ITERATION  the index of the iteration that the event belongs to
 *
 * UINT64_MAX: it has none. It is before the first launch or iteration, or its launch is not known.
 */
enum pasta_position { PASTA_POSITION_TIME = 1, PASTA_POSITION_LAUNCH, PASTA_POSITION_ITERATION };
PASTA_EXPORT uint64_t pasta_event_position(const struct pasta_event *ev,
					   const struct pasta_where *where,
					   enum pasta_position position);

#ifdef __cplusplus
}
#endif
#endif
