/*
 * trace.h - writes the shard of an imported trace; the importers of all formats use it.
 *
 * All times are ns of the trace's own clock; pasta_trace_close relates this clock to the time of
 * day. Spans on threads may arrive in any order: pasta_trace_close sorts and nests them, and writes
 * them as events. After the first error all calls do nothing, and pasta_trace_error returns the
 * error. Only one thread at a time may use a trace.
 */
#ifndef PASTA_IMPORT_TRACE_H
#define PASTA_IMPORT_TRACE_H

#include "core/shardwriter.h"
#include "import/cursor.h"
#include "import/import.h"
#include "import/spansort.h"

/* Numbers of the shard's sources. The numbers after these belong to the sources of threads. */
enum pasta_trace_source {
	/* events from before the trace, which precede other events of the same time */
	PASTA_TRACE_EARLIER = 1,
	PASTA_TRACE_DEVICE, /* work on devices */
	PASTA_TRACE_MEMORY,
	PASTA_TRACE_OTHER,
	PASTA_TRACE_COLLECTIVE, /* collectives and their kernels */
	PASTA_TRACE_TRACKS = 16,
};

/* Types of spans on threads. The type determines what the members `sub`, `a`, `b` and `extra` of
 * struct pasta_span store. */
enum pasta_span_what {
	/* An operator: `sub` is 1 in the backward pass, `a` is the sequence number plus 1, or 0 if
	 * there is none, `extra` is the string id of the inputs, `b` is the pasta_pair of the
	 * string ids of the values and the strides of the inputs. */
	PASTA_SPAN_OP = 1,
	/* A region: `sub` is an enum pasta_region_is, `extra` is the domain. For an iteration, `a`
	 * is its index. For a collective, `a` is its bytes and `b` is the pasta_pair of its name
	 * and type. */
	PASTA_SPAN_REGION,
	/* An API call: `sub` is an enum pasta_api_sub, `a` is the correlation id, `extra` is the
	 * status, `b` is what the call does, from pasta_trace_call. */
	PASTA_SPAN_CALL,
	/* A function of an interpreter: `extra` is the file, `a` is the line. */
	PASTA_SPAN_FRAME,
	/* One end of a flow from one operator to another: `sub` is 0 at the start and 1 at the end,
	 * `a` is the flow's id. */
	PASTA_SPAN_FLOW,
	/* A wait that the source reports apart from the call: `sub` is an enum pasta_sync_sub, `a`
	 * is the correlation id, `b` is the pasta_pair of the device and the event, `name` is the
	 * context, `extra` is the stream. Its thread is the thread of the call. */
	PASTA_SPAN_SYNC,
};

enum pasta_region_is { PASTA_REGION_ITERATION = 1, PASTA_REGION_COLLECTIVE };

/* A thread, or anything that the source presents as a thread. */
struct pasta_track {
	uint32_t number;
	uint32_t tid; /* thread id: the source's, or one that the importer assigns if the source's
			 is not a unique number */
	/* ids of the names of the thread and its process, for pasta_str; 0: no name */
	uint32_t name, group;
	struct pasta_nest *nest;
};

struct pasta_trace {
	struct pasta_shardwriter *w;
	const struct pasta_import_options *options;
	struct pasta_import_info *info;
	const struct pasta_cursor *cursor; /* reads the file */
	uint64_t kinds, seen;		   /* kinds to import; kinds emitted so far */
	uint64_t first, last;		   /* times */
	struct pasta_spansort *spans;
	const char *folder;	  /* for temporary files */
	struct pasta_map *tracks; /* map from a hash of a track's names to its struct pasta_track */
	struct pasta_track **by_number;
	struct pasta_map *tids; /* set of the thread ids in use */
	/* maps from the string id of a category's name to its number of entries (uint64_t) */
	struct pasta_map *lists[PASTA_IMPORT_LISTS];
	struct pasta_collectives *collectives; /* collectives that wait */
	/* events of pasta_trace_state, stored until the trace's first time is known */
	struct pasta_event *states;
	size_t state_count;
	char *scratch;
	size_t scratch_size;
	uint32_t strings; /* number of interned strings */
	uint64_t string_bytes;
	uint64_t ops;	  /* last operator id */
	uint64_t modules; /* last id of a module whose load is known from the call only */
	bool waits;	  /* the source reports waits apart from calls, so calls are not waits */
	struct pasta_error *err;
};

/* Opens a trace. Zero *t before use. fd is the shard's file, which the trace owns from now on;
 * `shard` is the file's name in messages. `folder` is for temporary files (NULL: TMPDIR) and must
 * outlive the trace. */
int pasta_trace_open(struct pasta_trace *t, int fd, const char *shard, const char *folder,
		     const struct pasta_import_options *options, struct pasta_import_info *info,
		     struct pasta_error *err);

/* Facts about the whole trace. A time of the trace plus `offset` is the time of day. */
struct pasta_trace_world {
	uint64_t offset;
	bool dated;
	uint64_t kinds; /* kinds of records that the source recorded, even without events */
	uint32_t pid, rank, world;
	const char *command, *host; /* static lifetime; or NULL */
};
/* Writes the spans and all other stored data, and closes the shard. Returns 0 or the first
 * error. */
int pasta_trace_close(struct pasta_trace *t, const struct pasta_trace_world *world);
/* Frees the trace. The shard is valid only after pasta_trace_close returned 0. */
void pasta_trace_free(struct pasta_trace *t);

static inline int pasta_trace_error(const struct pasta_trace *t)
{
	return t->err->code;
}
static inline bool pasta_trace_enabled(const struct pasta_trace *t, uint64_t kinds)
{
	return t->kinds & kinds;
}

/* Initializer of an event. */
#define PASTA_TRACE_EVENT(type, KIND_, tid_, time_)                                                \
	{                                                                                          \
		.size = PASTA_EVENT_SIZE(type), .kind = PASTA_KIND_##KIND_, .tid = (tid_),         \
		.time = (time_)                                                                    \
	}

/* Returns the shard's string id of a text; 0 for an empty text. */
uint32_t pasta_trace_str(struct pasta_trace *t, const char *text, size_t size);
/* Returns the shard's string id of a string token, with its escapes resolved; 0 if the string is
 * empty or the token is not a string. */
uint32_t pasta_trace_token(struct pasta_trace *t, const struct pasta_jsontape *tape,
			   uint32_t token);
/* Copies a string token's text, and returns its id for pasta_str; 0 if the string is empty or
 * the token is not a string. */
uint32_t pasta_trace_copy(struct pasta_trace *t, const struct pasta_jsontape *tape, uint32_t token);
/* Returns a buffer for composing text. When out of memory, sets the trace's error and returns NULL.
 */
char *pasta_trace_scratch(struct pasta_trace *t, size_t size);

/* Returns the track with these names, valid until pasta_trace_close. `group` names the process, or
 * is empty. If there are too many tracks, sets the trace's error and returns NULL. */
struct pasta_track *pasta_trace_track(struct pasta_trace *t, struct pasta_slice group,
				      struct pasta_slice name);
void pasta_trace_span(struct pasta_trace *t, const struct pasta_track *track,
		      struct pasta_span *span);
/* Adds a wait, a span of type PASTA_SPAN_SYNC. */
void pasta_trace_wait(struct pasta_trace *t, struct pasta_span *span);
/* Returns a new sorter for spans, which the caller frees. When out of memory, sets the trace's
 * error and returns NULL. */
struct pasta_spansort *pasta_trace_sort(struct pasta_trace *t);
/* Writes an event if its kind is imported. Extends the trace's end to the event's time plus `dur`.
 */
void pasta_trace_event(struct pasta_trace *t, uint32_t source, struct pasta_event *ev,
		       uint64_t dur);
/* Adds an event that describes something that exists from the start of the trace, such as a device.
 * pasta_trace_close writes the event with the trace's first time. After 4096 such events, further
 * ones are ignored. */
void pasta_trace_state(struct pasta_trace *t, struct pasta_event *ev);

/* Adds `count` to the number of entries of a category. */
void pasta_trace_count(struct pasta_trace *t, enum pasta_import_list list, const char *name,
		       size_t size, uint64_t count);
/* Adds a line to the list of data that the source does not record. `text` has static lifetime. */
void pasta_trace_lacks(struct pasta_trace *t, const char *text);

/* Returns the type of work that an API function launches on a device, by the function's name;
 * UNKNOWN if it launches nothing. */
enum pasta_launch_work pasta_trace_work(struct pasta_slice name);
/* What an API function does apart from launching: 0, an enum pasta_sync_sub if the host waits, or
 * PASTA_CALL_LOAD if the function loads or links device code. */
enum { PASTA_CALL_LOAD = 16 };
/* Returns what an API function does, by its name: the pasta_pair of the above and of the work that
 * it launches. Returns 0 for other functions. */
uint64_t pasta_trace_call(struct pasta_slice name);

/* threads.c: writes the sorted spans as events */
int pasta_threads_write(struct pasta_trace *t);
void pasta_threads_free(struct pasta_nest *nest);

/* A file format. `sniff` detects the format in the first window of the file; `parse` reads the
 * whole file. */
struct pasta_format {
	const char *name, *summary;
	bool (*sniff)(const char *text, size_t size);
	int (*parse)(struct pasta_trace *t, struct pasta_cursor *c);
};
extern const struct pasta_format pasta_format_kineto, pasta_format_rocprof, pasta_format_chrome;

#endif
