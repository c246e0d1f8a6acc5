/*
 * toolworker.h - the code that runs in a worker: loads a plug-in, opens its tools, or runs them.
 *
 * The code of plug-ins runs only in workers. worker.h declares the functions with which accelprof
 * starts workers.
 */
#ifndef PASTA_PROCESS_TOOLWORKER_H
#define PASTA_PROCESS_TOOLWORKER_H

#include <stddef.h>

#include "process/join/filter.h"
#include "process/read/stream.h"
#include "process/run/tool.h"
#include "process/io/wire.h"

/* Reads one request from the socket, answers it, and exits. */
_Noreturn void pasta_toolworker_main(int socket);

/* The functions below make requests in accelprof. Each request begins with the library, its chosen
 * tools, and the options that the user set. */
void pasta_toolworker_put_tools(struct pasta_wire *w, const char *file,
				const struct pasta_opts *const *tools, size_t count);
/* File descriptors that the worker inherits, all read-only. */
struct pasta_toolworker_fds {
	/* All descriptors, and the descriptors that were opened only for the worker. */
	int *fds, *made;
	size_t count, made_count;
};
void pasta_toolworker_fds_free(struct pasta_toolworker_fds *f); /* frees the contents */
/* Adds the shards, the filter and the number of threads to the request. Zero *f before the call.
 * Returns 0 or a negative errno. */
int pasta_toolworker_put_run(struct pasta_wire *w, const struct pasta_stream *s,
			     const struct pasta_filter *filter, size_t threads,
			     struct pasta_toolworker_fds *f);

#endif
