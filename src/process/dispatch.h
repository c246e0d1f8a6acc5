/*
 * dispatch.h - one stream of events, given to the chosen tools.
 *
 * A tool that fails, in open or in report, is closed and says so in its place of the result; the
 * others go on. One thread at a time.
 */
#ifndef PASTA_PROCESS_DISPATCH_H
#define PASTA_PROCESS_DISPATCH_H

#include <stdbool.h>

#include "process/result.h"
#include "process/stream.h"
#include "process/tool.h"

struct pasta_dispatch;

/* Open the tools. Both must outlive it. NULL when out of memory. */
struct pasta_dispatch *pasta_dispatch_new(const struct pasta_choice *choice,
					  struct pasta_result *result);
/* Closes the tools that are still open. */
void pasta_dispatch_free(struct pasta_dispatch *d);

/* One event, to those who want its kind. */
void pasta_dispatch_event(struct pasta_dispatch *d, const struct pasta_event *ev);
/* All events to the end. go_on, which may be NULL, is asked every few thousand events; when it
 * says no the rest is left, and -EINTR returned. */
int pasta_dispatch_read(struct pasta_dispatch *d, struct pasta_stream *s, bool (*go_on)(void *ctx),
			void *ctx);
/* Let every tool report, and close it. Returns how many failed, since the beginning. */
size_t pasta_dispatch_report(struct pasta_dispatch *d);

#endif
