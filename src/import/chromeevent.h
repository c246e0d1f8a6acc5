/* chromeevent.h - an event of Chrome's trace format, which others have built theirs on. */
#ifndef PASTA_IMPORT_CHROMEEVENT_H
#define PASTA_IMPORT_CHROMEEVENT_H

#include "import/trace.h"

/* What reading events of one file needs. Zero it before use, with t and c set. */
struct pasta_chromeread {
	struct pasta_trace *t;
	struct pasta_cursor *c;
	struct pasta_track *track; /* of the event before: mostly the next one's as well */
	char ids[64];		   /* its names, as they were written */
	size_t pid_size, tid_size;
	struct pasta_map *processes; /* uint32_t, a name's id of the process, by hash of the pid */
};
void pasta_chromeread_free(struct pasta_chromeread *r);

/* An event. Tokens are 0 where there is none. Times are in ns. */
struct pasta_chromeevent {
	const struct pasta_jsontape *tape;
	uint64_t ts, dur;
	uint32_t cat, name, pid, tid, args, id, scope; /* id: or id2, an object */
	char ph;				       /* 0: none */
	bool timed;
};

/* The event on the cursor's tape. 0; 1: it is wrong, was counted, and is to be passed over; or a
 * negative errno. */
int pasta_chromeread_event(struct pasta_chromeread *r, struct pasta_chromeevent *e);
/* It is wrong, at a token of its tape: 1 and counted, with recover; else a negative errno. */
int pasta_chromeread_bad(struct pasta_chromeread *r, uint32_t token, const char *what);
/* For the cursor: whether an object may be an event. */
bool pasta_chromeevent_is(const struct pasta_jsontape *tape);

/* A number that is whole and not less than 0: 0, -EINVAL, -EDOM, -ERANGE. */
int pasta_chromeevent_uint(const struct pasta_jsontape *tape, uint32_t token, uint64_t *value);
/* The argument of that name; 0: none. */
uint32_t pasta_chromeevent_arg(const struct pasta_chromeevent *e, const char *name);
/* The thread that it names; NULL: the trace's error says why. */
struct pasta_track *pasta_chromeevent_track(struct pasta_chromeread *r,
					    const struct pasta_chromeevent *e);

/* A region of its thread, in the domain of its category. */
int pasta_chromeevent_region(struct pasta_chromeread *r, const struct pasta_chromeevent *e);
/* A moment: a mark. */
int pasta_chromeevent_mark(struct pasta_chromeread *r, const struct pasta_chromeevent *e);
/* "M": names of processes and threads. */
int pasta_chromeevent_meta(struct pasta_chromeread *r, const struct pasta_chromeevent *e);
/* The name of a process by its pid, as it is written; NULL: none. It lives as long as we do. */
const char *pasta_chromeread_process(const struct pasta_chromeread *r, struct pasta_slice pid);

/*
 * Read a file whose events are those: an array of them, or an object that has one as traceEvents.
 * event gets each, member each other member of the object, whose value comes, and reads or skips
 * it. event returns 0 or more to go on; member 0, or 1 if the cursor found damage.
 */
struct pasta_chromefile {
	struct pasta_chromeread *read;
	void *ctx;
	int (*event)(void *ctx, const struct pasta_chromeevent *e);
	int (*member)(void *ctx, struct pasta_slice name);
};
int pasta_chromefile_read(const struct pasta_chromefile *file);

#endif
