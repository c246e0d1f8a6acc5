/*
 * isolate.h - the chosen tools: those of this build here, those of plug-ins each library in a
 * worker.
 *
 * A plug-in that crashes, hangs or lies loses its own result, and that of its library's other
 * tools; all others are as they would be without it. The main thread.
 */
#ifndef PASTA_PROCESS_ISOLATE_H
#define PASTA_PROCESS_ISOLATE_H

#include "process/run/engine.h"

/* As pasta_engine_run. -EINTR: places whose tools have not seen all say so (stopped). */
int pasta_isolate_run(const struct pasta_choice *choice, struct pasta_stream *s,
		      struct pasta_result *result, const struct pasta_engine_opts *opts);
/* While that runs, for go_on: bytes read and to be read, by the one that is last. */
void pasta_isolate_progress(const struct pasta_stream *s, uint64_t *done, uint64_t *total);

/* Open the tools and close them again, before anything is recorded for them: 0, or the error of the
 * first that refuses, with *err. One that crashes, or does not return for seconds, refuses nothing:
 * the report says so. */
int pasta_isolate_try(const struct pasta_choice *choice, struct pasta_error *err);

#endif
