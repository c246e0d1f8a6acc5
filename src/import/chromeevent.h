/* chromeevent.h - reads events in Chrome's trace format, which other formats extend. */
#ifndef PASTA_IMPORT_CHROMEEVENT_H
#define PASTA_IMPORT_CHROMEEVENT_H

#include "import/trace.h"

/* State for reading the events of one file. Zero the struct before use, then set `t` and `c`. */
struct pasta_chromeread {
	struct pasta_trace *t;
	struct pasta_cursor *c;
	struct pasta_track
		*track; /* track of the previous event; usually also the track of the next event */
	char ids[64];	/* the track's pid and tid as written in the file */
	size_t pid_size, tid_size;
	/* map from the hash of a pid to the string id of the process's name (uint32_t) */
	struct pasta_map *processes;
};
void pasta_chromeread_free(struct pasta_chromeread *r);

/* An event. A missing member has token 0. Times are in ns. */
struct pasta_chromeevent {
	const struct pasta_jsontape *tape;
	uint64_t ts, dur;
	uint32_t cat, name, pid, tid, args, id, scope; /* tokens of the event's members; `id` is the
							  member "id", or the object "id2" */
	char ph;				       /* phase; 0: none */
	bool timed;
};

/* Reads the event on the cursor's tape. Returns 0, a negative errno, or 1 if the event is invalid.
 * An invalid event was counted, and the caller must skip it. */
int pasta_chromeread_event(struct pasta_chromeread *r, struct pasta_chromeevent *e);
/* Reports, with the position of `token`, that an event is invalid. With `recover`, counts the event
 * and returns 1; without `recover`, returns a negative errno. */
int pasta_chromeread_bad(struct pasta_chromeread *r, uint32_t token, const char *what);
/* Returns whether a JSON object may be an event. The cursor calls this function for each object
 * that it finds after damage. */
bool pasta_chromeevent_is(const struct pasta_jsontape *tape);

/* Reads a non-negative integer. Returns 0; -EINVAL if the token is not a number; or -EDOM or
 * -ERANGE, like pasta_digits. */
int pasta_chromeevent_uint(const struct pasta_jsontape *tape, uint32_t token, uint64_t *value);
/* Returns the token of the argument with this name, or 0 if the event has no such argument. */
uint32_t pasta_chromeevent_arg(const struct pasta_chromeevent *e, const char *name);
/* Returns the event's thread. On failure, sets the trace's error and returns NULL. */
struct pasta_track *pasta_chromeevent_track(struct pasta_chromeread *r,
					    const struct pasta_chromeevent *e);

/* Adds a region to the event's thread; the domain is the event's category. */
int pasta_chromeevent_region(struct pasta_chromeread *r, const struct pasta_chromeevent *e);
/* Adds a mark for an instant event. */
int pasta_chromeevent_mark(struct pasta_chromeread *r, const struct pasta_chromeevent *e);
/* Reads a metadata event (phase "M"): names of processes and threads. */
int pasta_chromeevent_meta(struct pasta_chromeread *r, const struct pasta_chromeevent *e);
/* Returns the name of a process by its pid as written in the file, or NULL. The text has static
 * lifetime. */
const char *pasta_chromeread_process(const struct pasta_chromeread *r, struct pasta_slice pid);

/*
 * Reads a file of trace events, which is a JSON array, or a JSON object with the array traceEvents.
 * Calls `event` for each event, and `member` for each other member of the object. `event` returns 0
 * or more to continue. `member` must read or skip the value that follows, and returns 0, or 1 if
 * the cursor found damage.
 */
struct pasta_chromefile {
	struct pasta_chromeread *read;
	void *ctx;
	int (*event)(void *ctx, const struct pasta_chromeevent *e);
	int (*member)(void *ctx, struct pasta_slice name);
};
int pasta_chromefile_read(const struct pasta_chromefile *file);

#endif
