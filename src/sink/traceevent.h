/*
 * traceevent.h - Chrome's trace-event format, one event after the other, as a JSON document.
 *
 *	pasta_traceevent_begin(t, 'X', "gemm", track, time);
 *	pasta_traceevent_dur(t, dur);
 *	pasta_traceevent_uint(t, "bytes", bytes);	any number of arguments
 *	pasta_traceevent_end(t);
 *
 * Times are written in µs since the first event, exact to the ns: as many digits as the format's
 * readers, which use doubles, can keep apart. One thread at a time.
 */
#ifndef PASTA_SINK_TRACEEVENT_H
#define PASTA_SINK_TRACEEVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "process/io/json.h"
#include "process/read/stream.h"

/* A row of the picture. */
struct pasta_track {
	uint32_t pid, tid;
};

struct pasta_traceevent {
	struct pasta_json *json;
	uint64_t start; /* of the trace; 0: not known yet */
	bool in_args;
};

/* -ENOMEM. */
int pasta_traceevent_open(struct pasta_traceevent *t, FILE *file);
/* End the document, with the account. 0, or the first error. */
int pasta_traceevent_close(struct pasta_traceevent *t, const struct pasta_loss_summary *loss);

/* name: NULL at the end of a slice, which ends the innermost. */
void pasta_traceevent_begin(struct pasta_traceevent *t, char phase, const char *name,
			    struct pasta_track track, uint64_t time);
/* Members of an event, which come before its arguments. */
void pasta_traceevent_dur(struct pasta_traceevent *t, uint64_t ns);
void pasta_traceevent_member(struct pasta_traceevent *t, const char *key, const char *value);
/* Its arguments. A list is filled in with the json's functions, and ended there. */
void pasta_traceevent_uint(struct pasta_traceevent *t, const char *key, uint64_t value);
void pasta_traceevent_float(struct pasta_traceevent *t, const char *key, double value);
void pasta_traceevent_text(struct pasta_traceevent *t, const char *key, const char *value);
void pasta_traceevent_list(struct pasta_traceevent *t, const char *key);
void pasta_traceevent_end(struct pasta_traceevent *t);

/* What to call a track or a process: "thread_name", "process_name"; or its place. */
void pasta_traceevent_name(struct pasta_traceevent *t, const char *what, struct pasta_track track,
			   const char *name);
void pasta_traceevent_order(struct pasta_traceevent *t, const char *what, struct pasta_track track,
			    uint32_t order);
/* An arrow from the slice that is at this time on one track to that on another. */
void pasta_traceevent_flow(struct pasta_traceevent *t, bool ends, uint64_t id,
			   struct pasta_track track, uint64_t time);

#endif
