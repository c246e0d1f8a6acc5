/*
 * traceevent.h - writes Chrome's trace-event format, a JSON document, event by event.
 *
 * 	pasta_traceevent_begin(t, 'X', "gemm", track, time);
 * 	pasta_traceevent_dur(t, dur);
 * 	pasta_traceevent_uint(t, "bytes", bytes);	any number of arguments
 * 	pasta_traceevent_end(t);
 *
 * Times are in µs since the first event, with three decimals. They are therefore exact to the ns,
 * even in programs that read them as doubles. Only one thread at a time may use a document.
 */
#ifndef PASTA_SINK_TRACEEVENT_H
#define PASTA_SINK_TRACEEVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "process/io/json.h"
#include "process/read/stream.h"

/* A row of the timeline. */
struct pasta_track {
	uint32_t pid, tid;
};

struct pasta_traceevent {
	struct pasta_json *json;
	uint64_t start; /* time of the first event; 0: not known yet */
	bool in_args;
};

/* Begin the document. Returns 0 or -ENOMEM. */
int pasta_traceevent_open(struct pasta_traceevent *t, FILE *file);
/* Write the number of dropped events, and end the document. Returns 0, or the first error as a
 * negative errno. */
int pasta_traceevent_close(struct pasta_traceevent *t, const struct pasta_loss_summary *loss);

/* Begin an event. `phase` is a letter that the format defines. For the end of the innermost slice,
 * `name` is NULL. */
void pasta_traceevent_begin(struct pasta_traceevent *t, char phase, const char *name,
			    struct pasta_track track, uint64_t time);
/* Add a member to the event. Call these functions before you add arguments. */
void pasta_traceevent_dur(struct pasta_traceevent *t, uint64_t ns);
void pasta_traceevent_member(struct pasta_traceevent *t, const char *key, const char *value);
/* Add an argument to the event. pasta_traceevent_list begins a list; the caller writes the items to
 * t->json, and ends the list there. */
void pasta_traceevent_uint(struct pasta_traceevent *t, const char *key, uint64_t value);
void pasta_traceevent_float(struct pasta_traceevent *t, const char *key, double value);
void pasta_traceevent_text(struct pasta_traceevent *t, const char *key, const char *value);
void pasta_traceevent_list(struct pasta_traceevent *t, const char *key);
void pasta_traceevent_end(struct pasta_traceevent *t);

/* Set the name or the position of a track or process. To set a name, pass "thread_name" or
 * "process_name" as `what`. */
void pasta_traceevent_name(struct pasta_traceevent *t, const char *what, struct pasta_track track,
			   const char *name);
void pasta_traceevent_order(struct pasta_traceevent *t, const char *what, struct pasta_track track,
			    uint32_t order);
/* Write the start or the end of an arrow between two slices. On each track, the arrow is attached
 * to the slice at this time. */
void pasta_traceevent_flow(struct pasta_traceevent *t, bool ends, uint64_t id,
			   struct pasta_track track, uint64_t time);

#endif
