/*
 * trace.h - what importers of all formats share: the shard that they make of a file.
 *
 * Times that are given here are in ns of the trace's own clock; close says how that relates to the
 * time of day. Spans on threads may come in any order: they are sorted, nested, and written as
 * events by close. The first error is kept: from then on nothing is done, and pasta_trace_error
 * tells it. One thread at a time.
 */
#ifndef PASTA_IMPORT_TRACE_H
#define PASTA_IMPORT_TRACE_H

#include "core/shardwriter.h"
#include "import/cursor.h"
#include "import/import.h"
#include "import/spansort.h"

/* Sources of the shard; those of threads follow. */
enum pasta_trace_source {
	PASTA_TRACE_EARLIER =
		1,	    /* what was there when the trace began: first of what has its time */
	PASTA_TRACE_DEVICE, /* what devices did */
	PASTA_TRACE_MEMORY,
	PASTA_TRACE_OTHER,
	PASTA_TRACE_COLLECTIVE, /* and its kernels */
	PASTA_TRACE_TRACKS = 16,
};

/* What a span on a thread is. */
enum pasta_span_what {
	PASTA_SPAN_OP = 1, /* a: its sequence number plus 1, or 0; extra: inputs;
			    * sub 1: of the backward pass */
	PASTA_SPAN_REGION, /* extra: domain; sub: of enum pasta_region_is. a: an iteration's
			    * index, a collective's bytes; b: pasta_pair of its name and type */
	PASTA_SPAN_CALL,   /* of an API. a: its correlation; sub: enum pasta_api_sub; extra: what
			    * it returned; b: what it launches, enum pasta_launch_work, or 0 */
	PASTA_SPAN_FRAME,  /* a function of an interpreter. extra: file; a: line */
	PASTA_SPAN_FLOW,   /* from one operator to another. a: its id; sub 0: begin, 1: end */
};

enum pasta_region_is { PASTA_REGION_ITERATION = 1, PASTA_REGION_COLLECTIVE };

/* A thread, or whatever a source draws as one. */
struct pasta_track {
	uint32_t number;
	uint32_t tid; /* its own, or one of ours where that is no number or not the only one */
	uint32_t name, group; /* its own and its process's, as pasta_str has them; 0: none */
	struct pasta_nest *nest;
};

struct pasta_trace {
	struct pasta_shardwriter *w;
	const struct pasta_import_options *options;
	struct pasta_import_info *info;
	const struct pasta_cursor *cursor; /* that reads the file */
	uint64_t kinds, seen;		   /* wanted; emitted */
	uint64_t first, last;		   /* times */
	struct pasta_spansort *spans;
	const char *folder;	  /* for temporary files */
	struct pasta_map *tracks; /* struct pasta_track, by hash of its names */
	struct pasta_track **by_number;
	struct pasta_map *tids; /* those that are given: nothing else is known of them */
	struct pasta_map *lists[PASTA_IMPORT_LISTS]; /* uint64_t, by the name's id of the process */
	struct pasta_collectives *collectives;	     /* that wait */
	struct pasta_event *states;		     /* that wait for the first time to be known */
	size_t state_count;
	char *scratch;
	size_t scratch_size;
	uint32_t strings; /* that are interned */
	uint64_t string_bytes;
	uint64_t ops; /* ids that are given */
	struct pasta_error *err;
};

/* Zero it before use. fd: the shard's file, which is its own from now on; shard: its name in
 * messages. folder: for temporary files; NULL: where TMPDIR says; it
 * lives as long as the trace. */
int pasta_trace_open(struct pasta_trace *t, int fd, const char *shard, const char *folder,
		     const struct pasta_import_options *options, struct pasta_import_info *info,
		     struct pasta_error *err);

/* What relates the trace to the world. offset is added to its times to get the time of day. */
struct pasta_trace_world {
	uint64_t offset;
	bool dated;
	uint64_t kinds; /* that the source has recorded; of those without events */
	uint32_t pid, rank, world;
	const char *command, *host; /* which live as long as the process; or NULL */
};
/* Write the spans, and all else. 0, or the first error. */
int pasta_trace_close(struct pasta_trace *t, const struct pasta_trace_world *world);
/* Free it; unless it was closed without an error, nothing of the shard is to be used. */
void pasta_trace_free(struct pasta_trace *t);

static inline int pasta_trace_error(const struct pasta_trace *t)
{
	return t->err->code;
}
static inline bool pasta_trace_enabled(const struct pasta_trace *t, uint64_t kinds)
{
	return t->kinds & kinds;
}

/* A new event, for an initializer. */
#define PASTA_TRACE_EVENT(type, KIND_, tid_, time_)                                                \
	{                                                                                          \
		.size = PASTA_EVENT_SIZE(type), .kind = PASTA_KIND_##KIND_, .tid = (tid_),         \
		.time = (time_)                                                                    \
	}

/* The shard's id of a text; 0 for none. */
uint32_t pasta_trace_str(struct pasta_trace *t, const char *text, size_t size);
/* Of a string of the tape, its escapes resolved; 0 if it is none, or empty. */
uint32_t pasta_trace_token(struct pasta_trace *t, const struct pasta_jsontape *tape,
			   uint32_t token);
/* Likewise, but as pasta_str has it. */
uint32_t pasta_trace_copy(struct pasta_trace *t, const struct pasta_jsontape *tape, uint32_t token);
/* Room for text that is put together; NULL when out of memory, which is then the trace's error. */
char *pasta_trace_scratch(struct pasta_trace *t, size_t size);

/* The track of these names, until close; NULL when there are too many, which is then the trace's
 * error. group is a process's, or empty. */
struct pasta_track *pasta_trace_track(struct pasta_trace *t, struct pasta_slice group,
				      struct pasta_slice name);
void pasta_trace_span(struct pasta_trace *t, const struct pasta_track *track,
		      struct pasta_span *span);
/* Spans of the caller's own to be sorted, and freed by it; NULL when out of memory, which is then
 * the trace's error. */
struct pasta_spansort *pasta_trace_sort(struct pasta_trace *t);
/* An event, if its kind is wanted. dur counts for the trace's end. */
void pasta_trace_event(struct pasta_trace *t, uint32_t source, struct pasta_event *ev,
		       uint64_t dur);
/* An event that says how things are: it is written by close, with the first time of all. At most
 * 4096; more are left out. */
void pasta_trace_state(struct pasta_trace *t, struct pasta_event *ev);

/* Count one of a sort. */
void pasta_trace_count(struct pasta_trace *t, enum pasta_import_list list, const char *name,
		       size_t size, uint64_t count);
/* Say what the source does not. text lives for ever. */
void pasta_trace_lacks(struct pasta_trace *t, const char *text);

/* What an API's function launches on a device, by its name; UNKNOWN: nothing. */
enum pasta_launch_work pasta_trace_work(struct pasta_slice name);

/* threads.c: write the spans, sorted, as events. */
int pasta_threads_write(struct pasta_trace *t);
void pasta_threads_free(struct pasta_nest *nest);

/* A format. Sniffing sees the file's first window; parse reads all of it. */
struct pasta_format {
	const char *name, *summary;
	bool (*sniff)(const char *text, size_t size);
	int (*parse)(struct pasta_trace *t, struct pasta_cursor *c);
};
extern const struct pasta_format pasta_format_kineto, pasta_format_rocprof, pasta_format_chrome;

#endif
