/*
 * isolate.h - runs the built-in tools in this process, and each plug-in library in a worker.
 *
 * If a plug-in crashes, hangs or sends garbage, the tools of its library fail; all others report as
 * usual. Call these functions from the main thread.
 */
#ifndef PASTA_PROCESS_ISOLATE_H
#define PASTA_PROCESS_ISOLATE_H

#include "process/run/engine.h"

/* As pasta_engine_run. -EINTR: the entries of tools that have not read everything are marked as
 * stopped. */
int pasta_isolate_run(const struct pasta_choice *choice, struct pasta_stream *s,
		      struct pasta_result *result, const struct pasta_engine_opts *opts);
/* For go_on during pasta_isolate_run: the bytes that the slowest process has read, and all bytes.
 */
void pasta_isolate_progress(const struct pasta_stream *s, uint64_t *done, uint64_t *total);

/* Opens the tools and closes them again, before the program is recorded. Returns 0, or the error of
 * the first tool whose open fails, with *err. Ignores a tool that crashes or does not return within
 * seconds: the report shows it as failed. */
int pasta_isolate_try(const struct pasta_choice *choice, struct pasta_error *err);

#endif
