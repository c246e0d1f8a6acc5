/*
 * pasta.h - the SDK: all that a tool sees.
 *
 * A tool is one file with one PASTA_TOOL descriptor. It gets events, in order of time, and
 * reports tables and findings; every output format is made from those.
 *
 * Unless a function says otherwise: strings that are passed in are copied; pointers that are
 * returned live until the tool's close; functions are called from the tool's own callbacks only,
 * which never run at the same time for one state; 0 or a negative errno is returned.
 */
#ifndef PASTA_PASTA_H
#define PASTA_PASTA_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include <pasta/event.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PASTA_EXPORT __attribute__((visibility("default")))

/* Version of this interface. 0: may change freely. */
#define PASTA_API_VERSION 0

/* What went wrong, in one line that says what to do. Zero it before use. */
struct pasta_err {
	int code;
	char text[500];
};

/* Describe an error and return code. err may be NULL. An earlier description is replaced. */
PASTA_EXPORT int pasta_fail(struct pasta_err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The text of an interned string or bytes, and its length. Never NULL: "" for 0 or unknown. It
 * ends in a NUL that the length does not count, and lives as long as the process. Any thread. */
PASTA_EXPORT const char *pasta_str(uint32_t id);
PASTA_EXPORT const char *pasta_bytes(uint32_t id, size_t *size);

/*
 * A call path: what an event's stack field refers to, of the process ev->proc. A place is a
 * function that was running, innermost first; one that was inlined is a place of its own. Texts
 * live as long as the process, and are "" where they are not known.
 */
struct pasta_stack_frame {
	const char *function; /* C++ names as people write them, where libstdc++ is here */
	const char *file;     /* of the source */
	const char *module;   /* the program's or library's file */
	uint64_t offset;      /* of the call in that file; the address itself without a module */
	uint32_t line;	      /* 0: not known */
	uint32_t inlined;     /* 1: its code is part of the next one's */
};

/* The places of a path: at most max are filled in, and how many there are is returned; 0 for what
 * is no path. What a file is not there for any more, or another one now, is a module and an offset.
 * The first answer for a file reads its debugging information, which may take a second. */
PASTA_EXPORT size_t pasta_stack_frames(uint32_t proc, uint32_t ref,
				       struct pasta_stack_frame *frames, size_t max);
/* "function (file.c:12)", or as much as is known: "libfoo.so+0x1234"; returns text. */
PASTA_EXPORT const char *pasta_stack_frame_text(const struct pasta_stack_frame *frame, char *text,
						size_t size);

/* A kind's name ("kernel"), or NULL for a number that is no kind. */
PASTA_EXPORT const char *pasta_kind_name(unsigned int kind);

enum pasta_column_type { PASTA_STRING, PASTA_INT, PASTA_FLOAT };

/* unit: "ns", "bytes", "bytes/s", "%", "events" and so on, or NULL. Times are integers in ns. */
struct pasta_column {
	const char *name;
	enum pasta_column_type type;
	const char *unit;
};

struct pasta_out;
struct pasta_table;

/* A new table; NULL when out of memory (the report then fails as a whole). */
PASTA_EXPORT struct pasta_table *pasta_out_table(struct pasta_out *out, const char *name,
						 const struct pasta_column *columns, size_t count);
/* Cells, left to right and row after row. A cell of the wrong type, or on a NULL table, makes the
 * report fail with an error that names the column; it never crashes. */
PASTA_EXPORT void pasta_cell_str(struct pasta_table *table, const char *text);
PASTA_EXPORT void pasta_cell_int(struct pasta_table *table, int64_t value);
PASTA_EXPORT void pasta_cell_float(struct pasta_table *table, double value);

enum pasta_severity { PASTA_NOTE, PASTA_WARNING, PASTA_PROBLEM };

/* Something a person should know: what, where, the evidence for it, what to do. where, evidence
 * and action may be NULL. */
struct pasta_finding {
	enum pasta_severity severity;
	const char *what, *where, *evidence, *action;
};
PASTA_EXPORT void pasta_out_finding(struct pasta_out *out, const struct pasta_finding *finding);
/* The same about a number of things: "what: count". Nothing if count is 0. */
PASTA_EXPORT void pasta_out_count(struct pasta_out *out, enum pasta_severity severity,
				  uint64_t count, const char *what, const char *evidence,
				  const char *action);

/* What an option's value looks like. It is checked before the tool is opened. */
enum pasta_option_type {
	PASTA_OPTION_TEXT = 0,
	PASTA_OPTION_NUMBER, /* "20" */
	PASTA_OPTION_YES_NO, /* "yes", "no" */
	PASTA_OPTION_TIME,   /* "10ms", "2s", "1h", "0": in ns, us, ms, s, min or h */
	PASTA_OPTION_SIZE,   /* "64M", "1GiB", "4096": in bytes, or 1024, 1024^2, ... of them */
};

/* A tool's options, and its help. value is the default, of the option's type; NULL: none. */
struct pasta_option {
	const char *name, *value, *summary;
	enum pasta_option_type type;
};
struct pasta_opts;
/* The value as text, for every type; NULL if there is no such option, or no value. */
PASTA_EXPORT const char *pasta_opt(const struct pasta_opts *opts, const char *name);
/* A number, a time in ns, a size in bytes; whether it is "yes". 0 if there is no such option, no
 * value, or it is of another type. */
PASTA_EXPORT uint64_t pasta_opt_u64(const struct pasta_opts *opts, const char *name);
PASTA_EXPORT int pasta_opt_yes(const struct pasta_opts *opts, const char *name);

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
						     struct pasta_err *err);
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

/*
 * A tool. state is state_size zeroed bytes. open may be NULL, as may merge and close. events is a
 * mask of PASTA_BIT(KIND). Without merge one state gets the whole run in order; with it, there may
 * be a state a shard, each in that shard's order, merged before report. close is called once for
 * each state that was made, also after open failed. options ends with a NULL name, or is NULL.
 */
struct pasta_tool {
	size_t size; /* of this struct; set by PASTA_TOOL */
	int api;     /* PASTA_API_VERSION; set by PASTA_TOOL */
	const char *name, *summary;
	uint64_t events;
	size_t state_size;
	const struct pasta_option *options;
	int (*open)(void *state, const struct pasta_opts *opts, struct pasta_err *err);
	void (*event)(void *state, const struct pasta_event *ev);
	void (*merge)(void *into, const void *from);
	int (*report)(void *state, struct pasta_out *out);
	void (*close)(void *state);
};

/* Make the descriptor known, when the file is loaded. It must live for ever. */
PASTA_EXPORT void pasta_tool_register(const struct pasta_tool *tool);

#define PASTA_TOOL(...)                                                                            \
	static const struct pasta_tool pasta_tool_ = {                                             \
		.size = sizeof(struct pasta_tool), .api = PASTA_API_VERSION, __VA_ARGS__};         \
	__attribute__((constructor)) static void pasta_tool_register_(void)                        \
	{                                                                                          \
		pasta_tool_register(&pasta_tool_);                                                 \
	}

#ifdef __cplusplus
}
#endif
#endif
