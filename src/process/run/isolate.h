/*
 * isolate.h - runs the built-in tools in this process, and each plug-in library in a worker.
 *
 * If a plug-in crashes, hangs or sends invalid data, only the tools of its library fail. Call these
 * functions from the main thread.
 */
#ifndef PASTA_PROCESS_ISOLATE_H
#define PASTA_PROCESS_ISOLATE_H

#include "process/run/engine.h"

/* Like pasta_engine_run. If it returns -EINTR, tools that have not read all events are marked as
 * stopped in their entries. */
int pasta_isolate_run(const struct pasta_choice *choice, struct pasta_stream *s,
		      struct pasta_result *result, const struct pasta_engine_opts *opts);
/* Returns the number of bytes that the slowest process has read, and the total number of bytes to
 * read. Call this function from go_on during pasta_isolate_run. */
void pasta_isolate_progress(const struct pasta_stream *s, uint64_t *done, uint64_t *total);

/* Opens and closes the tools once, before the program is recorded. Returns 0, or the error of the
 * first tool whose `open` fails, with *err. Ignores a tool that crashes, or whose `open` takes too
 * long, because the report shows that tool as failed. */
int pasta_isolate_try(const struct pasta_choice *choice, struct pasta_error *err);

#endif
