/*
 * pasta.h - the SDK: all that a tool sees.
 *
 * A tool is one file with one PASTA_TOOL descriptor. It gets events, in order of time, and
 * reports tables, charts and findings; every output format is made from those.
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
#include <string.h>

#include <pasta/device.h>
#include <pasta/directory.h>
#include <pasta/event.h>
#include <pasta/group.h>
#include <pasta/ledger.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. 0: may change freely. */
#define PASTA_API_VERSION 0

/* What went wrong, in one line that says what to do. Zero it before use. */
struct pasta_error {
	int code;
	char text[500];
};

/* Describe an error and return code. err may be NULL. An earlier description is replaced. */
PASTA_EXPORT int pasta_fail(struct pasta_error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The text of an interned string or bytes, and its length. Never NULL: "" for 0 or unknown. It
 * ends in a NUL that the length does not count, and lives as long as the process. Any thread. */
PASTA_EXPORT const char *pasta_str(uint32_t id);
PASTA_EXPORT const char *pasta_bytes(uint32_t id, size_t *size);
/* The same of a name, for people: "(unnamed)" for 0. */
static inline const char *pasta_name(uint32_t id)
{
	return id ? pasta_str(id) : "(unnamed)";
}

/*
 * A call path: what an event's stack field refers to, of the process ev->proc. A place is a
 * function that was running, innermost first; one that was inlined is a place of its own. Paths are
 * of native code, or of an interpreter's functions, as Python's: these have no module and offset,
 * those that are built in have no file, and the innermost 4096 places are given. Equal paths of an
 * interpreter have equal refs, whatever the process. Texts live as long as the process, and are ""
 * where they are not known.
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
/* "function (file.c:12)", or as much as is known: "function", "libfoo.so+0x1234"; returns text. */
PASTA_EXPORT const char *pasta_stack_frame_text(const struct pasta_stack_frame *frame, char *text,
						size_t size);

/* Keep an event, which is ev->size bytes long and gone after the call: the rest of *to is zeroed.
 * What its ids stand for lives on. Any thread. */
static inline void pasta_event_copy(struct pasta_event *to, const struct pasta_event *ev)
{
	size_t size = ev->size < sizeof(*to) ? ev->size : sizeof(*to);

	memcpy(to, ev, size);
	memset((char *)to + size, 0, sizeof(*to) - size);
}

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

/* A kind's name ("kernel"), or NULL for a number that is no kind. */
PASTA_EXPORT const char *pasta_kind_name(unsigned int kind);

/* What a process is called: "host-4711"; "pid 4711" where the host is not known (NULL or ""); "#3",
 * by its number, which is ev->proc, where the pid is not known either (0). Cut at size, and
 * returned. Any thread. */
PASTA_EXPORT const char *pasta_process_text(const char *host, uint32_t pid, uint32_t number,
					    char *text, size_t size);

enum pasta_column_type { PASTA_COLUMN_STRING, PASTA_COLUMN_INT, PASTA_COLUMN_FLOAT };

/* unit: "ns", "bytes", "bytes/s", "%", "events" and so on, or NULL. Times are integers in ns. */
struct pasta_column {
	const char *name;
	enum pasta_column_type type;
	const char *unit;
};

struct pasta_out;
struct pasta_table;

/* A new table; NULL when out of memory (the report then fails as a whole). So it does if the name
 * is empty, or that of another table or chart of the tool, if there are no columns, or if there are
 * control characters in the name or a column's. */
PASTA_EXPORT struct pasta_table *pasta_out_table(struct pasta_out *out, const char *name,
						 const struct pasta_column *columns, size_t count);
/* Cells, left to right and row after row. A cell of the wrong type, or on a NULL table, makes the
 * report fail with an error that names the column; it never crashes. */
PASTA_EXPORT void pasta_cell_str(struct pasta_table *table, const char *text);
PASTA_EXPORT void pasta_cell_int(struct pasta_table *table, int64_t value);
PASTA_EXPORT void pasta_cell_float(struct pasta_table *table, double value);
/* No value, in a column of any type: null in JSON, an empty field in CSV, a blank for people. */
PASTA_EXPORT void pasta_cell_none(struct pasta_table *table);

enum pasta_severity { PASTA_SEVERITY_NOTE, PASTA_SEVERITY_WARNING, PASTA_SEVERITY_PROBLEM };

/* Something a person should know: what, where, the evidence for it, what to do. where, evidence
 * and action may be NULL. */
struct pasta_finding {
	enum pasta_severity severity;
	const char *what, *where, *evidence, *action;
};
PASTA_EXPORT void pasta_out_finding(struct pasta_out *out, const struct pasta_finding *finding);
/* One from initializers: pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, .what = "..."). */
#define pasta_out_report(out, ...)                                                                 \
	pasta_out_finding((out), &(const struct pasta_finding){__VA_ARGS__})
/* The same about a number of things: "what: count". Nothing if count is 0. what is cut at 200
 * bytes. */
PASTA_EXPORT void pasta_out_count(struct pasta_out *out, enum pasta_severity severity,
				  uint64_t count, const char *what, const char *evidence,
				  const char *action);

/*
 * Charts, typed as tables are. A line chart has series of points, a bar chart labels with values, a
 * heat map cells with a value at numeric places, a flame graph stacks of frames with a value.
 */
enum pasta_chart_type { PASTA_CHART_LINE, PASTA_CHART_BAR, PASTA_CHART_HEAT, PASTA_CHART_FLAME };

/* unit as a column has it. */
struct pasta_axis {
	const char *name;
	const char *unit;
};

struct pasta_chart;

/*
 * A new chart; NULL when out of memory (the report then fails as a whole). Its name must not be
 * empty, have no control characters, and be that of no other chart or table of the tool. x is the
 * axis of a line's and a heat map's places, of the labels, or of the frames; y that of the values,
 * or of a heat map's rows. An axis that is NULL, or has no name, gets a plain one.
 */
PASTA_EXPORT struct pasta_chart *pasta_out_chart(struct pasta_out *out, const char *name,
						 enum pasta_chart_type type,
						 const struct pasta_axis *x,
						 const struct pasta_axis *y);
/*
 * What is in it, in the order in which it is to be shown. A call that does not suit the chart's
 * type, or on a NULL chart, makes the report fail with an error that names the chart; it never
 * crashes. So does a place (x, and a cell's y) that is not finite. A value that is not finite
 * stands for none: a gap. Doubles hold whole numbers up to 2^53 exactly, which are 104 days in ns.
 */
/* Line: the points that follow are of this series. Names may be there twice. */
PASTA_EXPORT void pasta_chart_series(struct pasta_chart *chart, const char *name);
/* Line: x must not go down within a series. */
PASTA_EXPORT void pasta_chart_point(struct pasta_chart *chart, double x, double y);
PASTA_EXPORT void pasta_chart_bar(struct pasta_chart *chart, const char *label, double value);
/* Heat map: what its values are; without it they are plain numbers. */
PASTA_EXPORT void pasta_chart_value(struct pasta_chart *chart, const struct pasta_axis *value);
PASTA_EXPORT void pasta_chart_cell(struct pasta_chart *chart, double x, double y, double value);
/* Flame graph: frames, the outermost first, and a value, at least 0, that is this stack's own, not
 * that of longer ones. At least one frame. A stack that is there twice adds up. */
PASTA_EXPORT void pasta_chart_stack(struct pasta_chart *chart, const char *const *frames,
				    size_t count, int64_t value);

/* What an option's value looks like. It is checked before the tool is opened. */
enum pasta_option_type {
	PASTA_OPTION_TEXT = 0,
	PASTA_OPTION_NUMBER, /* "20" */
	PASTA_OPTION_YES_NO, /* "yes", "no" */
	PASTA_OPTION_TIME,   /* "10ms", "1.5s", "1h", "0": in ns, us, ms, s, min or h */
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

/*
 * A place in the nesting of a thread's regions and operators. There is one object for each path of
 * names, whatever the process and thread, so that places are compared by their address, and id is
 * a key for maps. They live as long as the process; any thread.
 */
struct pasta_scope {
	const struct pasta_scope *up;	       /* around it; NULL: it is the outermost */
	const struct pasta_scope *region, *op; /* the innermost, itself included; or NULL */
	/* The same regions without the operators between them, which is one place whatever those
	 * are; or NULL. What is up of it is a path, too. */
	const struct pasta_scope *path;
	uint32_t id;	/* from 1; in no order */
	uint32_t name;	/* interned; 0: it has none */
	uint32_t depth; /* from 1, up to 16384: what is deeper is there */
	uint32_t kind;	/* PASTA_KIND_REGION or PASTA_KIND_OP_BEGIN */
};

/* By its id; NULL if there is none. Any thread. */
PASTA_EXPORT const struct pasta_scope *pasta_scope_find(uint32_t id);
/* The names of the regions around and at a place, "train/forward"; "" for NULL. Cut at size, and
 * returned. Any thread. */
PASTA_EXPORT const char *pasta_scope_regions(const struct pasta_scope *scope, char *text,
					     size_t size);

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
	uint32_t told;	     /* 0: rows came that no launch was told of */
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
	uint32_t sort; /* enum pasta_alloc_sub */
	uint32_t part; /* 1: of another allocation */
	uint32_t reserved;
};

/* A place that accesses memory; only proc, key and id are known of one nobody told of. */
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
	uint64_t partial, blocks;    /* as a shape's */
	uint64_t untold;	     /* shapes with rows that no launch was told of */
	uint64_t lost;		     /* accesses that were not counted */
	uint64_t page_other;	     /* accesses to pages that a table had no room for */
	uint64_t never, never_bytes; /* allocations that are no objects; but host's and images */
	uint64_t unended;	     /* counted, but their sums are not all there */
	uint64_t scaled;	     /* not counted, but others of their shape stand for them */
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
 * the number of the row's launch in its process, from 0, of those that were told of. */
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

/* "buffer 3 at main (a.c:12)", "sub-buffer 4 of buffer 3", "object 17 (unknown)"; a process
 * as pasta_process_text has it. Cut at size, and returned. */
PASTA_EXPORT const char *pasta_access_object_text(const struct pasta_access_index *book,
						  const struct pasta_access_object *object,
						  char *text, size_t size);
PASTA_EXPORT const char *pasta_access_process_text(const struct pasta_access_index *book,
						   uint32_t proc, char *text, size_t size);
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

#define PASTA_NO_ITERATION UINT64_MAX

enum pasta_where_flags {
	PASTA_WHERE_LAUNCH = 1,	  /* the launch of this work is known */
	PASTA_WHERE_REPEATED = 2, /* the launch has other work already, and is not of a graph */
	/* An operator of the backward pass: python and module are its forward operator's. */
	PASTA_WHERE_BACKWARD = 4,
	PASTA_WHERE_EXPIRED = 8, /* but that one is not known any more: too many came since */
};

/*
 * Where an event belongs: work on a device (kernels, copies, fills, and what is said of them) to
 * where it was launched, all else to where its thread was. The end of a region or an operator
 * belongs to what it ends, as did its begin.
 */
struct pasta_where {
	const struct pasta_scope *scope; /* NULL: in no region or operator, or not known */
	const struct pasta_scope
		*capture;   /* work of a graph: where its node was captured, or NULL */
	uint64_t iteration; /* its index, or PASTA_NO_ITERATION */
	uint64_t op;	    /* id of the innermost operator, or 0 */
	uint64_t launched;  /* when its launch was, or 0; of a launch, its own time */
	uint32_t tid;	    /* the thread that it belongs to; the event's, if no launch is known */
	uint32_t name;	    /* of the launch, or 0 */
	uint32_t stack;	    /* of the launch, or 0 */
	uint32_t flags;	    /* of enum pasta_where_flags */
	uint32_t python;    /* call path of the innermost operator that has one, or 0 */
	uint32_t module; /* interned path of the innermost operator's module that is known, or 0 */
};

/* Where the event belongs that the tool is given just now. The tool's needs must have
 * PASTA_NEED_SCOPES; of other events nothing is known. Never NULL; until event returns. */
PASTA_EXPORT const struct pasta_where *pasta_where_of(const struct pasta_event *ev);

/*
 * The call path in Python that the event which the tool is given just now comes from, for
 * pasta_stack_frames; 0: not known. It is the event's own, or that of its launch, if that is an
 * interpreter's; or else its operator's, pasta_where.python. In the backward pass it is where the
 * forward operator was called, if that is known, whatever the thread was doing: an operator belongs
 * to it by its sequence number, which is one process's, and of which the last 2^20 are kept, of 16
 * processes or more fewer. The tool's needs must have PASTA_NEED_SCOPES and PASTA_NEED_OPS. Until
 * event returns.
 */
PASTA_EXPORT uint32_t pasta_python_of(const struct pasta_event *ev);

/* What a tool needs, beside its kinds of events. */
enum pasta_need {
	PASTA_NEED_SCOPES = 1, /* pasta_where: launches, regions, iterations */
	PASTA_NEED_OPS = 2,    /* and operators in it; without it, there may be some or none */
	/* What run is to record that costs more; in a run without it there may be some or none. */
	PASTA_NEED_PYTHON = 4,	/* Python's functions and lines, as run --stacks python */
	PASTA_NEED_MODULES = 8, /* modules of models, as run --stacks modules */
	/* Memory accesses: a table of enum pasta_reducer each, in the order of that; or each access
	 * by itself (access_batch). With any of them come object, site and access_launch. */
	PASTA_NEED_ACCESS_OBJECT = 16,
	PASTA_NEED_ACCESS_PAGE = 32,
	PASTA_NEED_ACCESS_SITE = 64,
	PASTA_NEED_ACCESS_SITE_OBJECT = 128,
	PASTA_NEED_ACCESS_COALESCE = 256,
	PASTA_NEED_ACCESS_DIVERGE = 512,
	PASTA_NEED_ACCESS_BLOCK = 1024,
	PASTA_NEED_ACCESS_TENSOR = 2048,
	PASTA_NEED_ACCESS_OWN = 4096, /* by the tool's own reducer; none but it */
	PASTA_NEED_ACCESS_BARRIER = 8192,
	PASTA_NEED_ACCESS_RAW = 16384,
	/* Accesses of every launch are counted, not sampled; only with a PASTA_NEED_ACCESS_*. run
	 * turns sampling of launches off; a run that sampled them is refused. What run --kernel
	 * leaves out, and blocks that --sample blocks=1/N leaves out, are the user's choice. */
	PASTA_NEED_EVERY_LAUNCH = 32768,
};

enum pasta_tool_flags {
	/* A state a shard, merged in the order of shards. What is in no group has to be merged by
	 * the tool's merge, which is called when the groups have been. A tool with merge need not
	 * say so. */
	PASTA_TOOL_SHARDED = 1,
};

/*
 * A tool. Its name is of a-z, 0-9, _ and -, its summary one line. state is state_size zeroed bytes,
 * 1 GiB at most. event is a must, but with a ledger or a book alone; and report, where there are no
 * groups: without it all groups are shown, in their order. open, merge and close may be NULL.
 * events is a mask of PASTA_MASK(KIND), of one at least where there is event; what a ledger or a
 * book takes need not be in it, and comes to them first. ev is valid only during the call, and
 * ev->size bytes long: pasta_event_copy keeps it. Without merge one state gets the whole run in
 * order; with it, there may be a state a shard, each in that shard's order, merged before report,
 * in the order of shards. merge must keep nothing that is from's: it is closed soon after.
 * Different states are used by different threads at the same time: what they share must not be
 * written. close is called once for each state that was made, also after open failed, but not after
 * a crash. accelprof run opens and closes a state before the program starts, in a process of its
 * own: if open fails there, the program is not started. A tool must not call exit, nor start
 * threads that use the SDK. options ends with a NULL name, or is NULL; there are 64 at most, with
 * names like the tool's. Summaries and defaults have no control characters. charts is a mask, such
 * as PASTA_CHART_MASK(FLAME), of the types that it may report: help says so. Plug-ins run in
 * processes of their own: one that crashes, calls exit or does not return is left out and named;
 * the others go on.
 *
 * Events come in order of time; but where some were written too late to be put in order, time goes
 * back a little, within a shard too: the account says how many ("late"). And the ends of what never
 * ended come last of all, with the last time of their process. Work on a device that seems to begin
 * before its launch, for clocks differ, knows it all the same, if the launch is at most 10 ms
 * later. Regions and operators come as pairs: an end that is missing is supplied, ends come from
 * the inside out, and each end has the name, the domain, the depth and the flags of PASTA_REGION_*
 * in event.h. Regions nest in regions and operators in operators, but a region may end before an
 * operator that began in it, or the other way round. Two sorts of ends do not come: that of an
 * operator which has not begun; and, by name, that of a region which the end of an outer one has
 * ended.
 */
struct pasta_tool {
	/* These two are first in every version: nothing else is read where they differ. */
	size_t size; /* of this struct; set by PASTA_TOOL */
	int api;     /* PASTA_API_VERSION; set by PASTA_TOOL */
	const char *name, *summary;
	uint64_t events;
	uint64_t needs; /* of enum pasta_need */
	size_t state_size;
	const struct pasta_option *options;
	int (*open)(void *state, const struct pasta_opts *opts, struct pasta_error *err);
	void (*event)(void *state, const struct pasta_event *ev);
	void (*merge)(void *into, const void *from);
	int (*report)(void *state, struct pasta_out *out);
	void (*close)(void *state);
	uint64_t charts;
	/* The file of its reducer, beside the tool's own (docs/writing-a-reducer.md); a value of
	 * its option reducer, if it has one, is a path instead. A must with PASTA_NEED_ACCESS_OWN,
	 * else NULL. */
	const char *reducer;
	uint32_t flags; /* of enum pasta_tool_flags */
	/* Rows by key, in the tool's state; ends with size 0, or is NULL (group.h). */
	const struct pasta_group_def *groups;
	/* What is allocated, in the tool's state; or NULL (ledger.h). */
	const struct pasta_ledger_def *ledger;
	const struct pasta_access_index_def *book; /* of memory accesses, in its state; or NULL */
};

/* Make the descriptor known, when the file is loaded. It must live for ever. What is wrong with it
 * is told by accelprof, and the tool is left out. Any number of them in a library. */
PASTA_EXPORT void pasta_tool_register(const struct pasta_tool *tool);

/* In C++, from C++20 on, fields are given in the order of the struct; those that are left out are
 * 0 in both languages, which g++ alone finds worth a warning. Ends with a semicolon. */
/* clang-format off */
#define PASTA_TOOL(...)                                                                            \
	_Pragma("GCC diagnostic push")                                                             \
	_Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"")                         \
	static const struct pasta_tool pasta_tool_ = {                                             \
		PASTA_TOOL_HEAD, __VA_ARGS__};         \
	_Pragma("GCC diagnostic pop")                                                              \
	__attribute__((constructor)) static void pasta_tool_register_(void)                        \
	{                                                                                          \
		pasta_tool_register(&pasta_tool_);                                                 \
	}                                                                                          \
	struct pasta_tool
/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif
